#include <bit>

#include "appliance/run/loops.hpp"

namespace ligature::appliance {

RenderLoop::RenderLoop(Pipeline& pipeline, watchdog::ThreadMonitor& monitor, std::unique_ptr<render::Renderer> renderer)
    : pipeline_(pipeline), monitor_(monitor), renderer_(std::move(renderer)) {}

RenderLoop::~RenderLoop() {
  delete incoming_.load();
  delete discarded_.load();
}

void RenderLoop::give_renderer(std::unique_ptr<render::Renderer> renderer) {
  drop_lost();
  wanted_.store(false, std::memory_order_relaxed);
  delete incoming_.exchange(renderer.release(), std::memory_order_acq_rel);
}

bool RenderLoop::set_message(std::string_view text) {
  Message& message = messages_.back();
  message.size = std::min(text.size(), message.text.size());
  std::copy_n(text.data(), message.size, message.text.data());
  return messages_.publish();
}

void RenderLoop::hand_to_writer(std::int64_t time_ns) noexcept {
  const render::PictureView view = renderer_->picture();
  PictureSlot& slot = pipeline_.pictures->back();
  const std::size_t row_bytes = static_cast<std::size_t>(view.width_px) * 4;
  if (!view || slot.bgra.size() != row_bytes * static_cast<std::size_t>(view.height_px)) return;
  for (int row = 0; row < view.height_px; ++row)
    std::copy_n(view.bgra + static_cast<std::size_t>(row) * view.stride_bytes, row_bytes,
                slot.bgra.data() + static_cast<std::size_t>(row) * row_bytes);
  slot.time_ns = time_ns;
  slot.width_px = view.width_px;
  slot.height_px = view.height_px;
  pipeline_.pictures->publish();
}

void RenderLoop::run() noexcept {
  rt::RtSection section("render");
  const bool realtime = pipeline_.realtime();
  const std::int64_t refresh = pipeline_.settings.refresh_ns;
  const auto& lost_at = pipeline_.settings.faults.presenter_lost_at_ns;
  std::size_t next_lost = 0;
  bool redraw = false;  // lockstep: the scene that was lost with its renderer is still to be shown
  for (;;) {
    const std::int64_t due = realtime ? rt::next_on_grid(pipeline_.start_ns, refresh, rt::monotonic_now_ns()) : 0;
    if (realtime) rt::sleep_until(due);
    const std::int64_t asked = rt::monotonic_now_ns();
    if (renderer_ != nullptr && renew_.exchange(false, std::memory_order_acq_rel)) {
      delete discarded_.exchange(renderer_.release(), std::memory_order_acq_rel);
      wanted_.store(true, std::memory_order_release);
    }
    if (render::Renderer* const made = incoming_.exchange(nullptr, std::memory_order_acq_rel)) {
      delete discarded_.exchange(renderer_.release(), std::memory_order_acq_rel);
      renderer_.reset(made);
    }
    if (renderer_ == nullptr && !realtime) {
      if (pipeline_.abandoned()) break;
      monitor_.beat(asked);
      rt::sleep_until(asked + rt::kNsPerMs);
      continue;
    }
    if (!redraw) {
      const rt::Take took = pipeline_.scenes.take(realtime ? asked : rt::kNever);
      if (took == rt::Take::closed || took == rt::Take::stopped) break;
      if (took == rt::Take::timeout || renderer_ == nullptr) {  // in realtime snapshots pass while there is no renderer
        monitor_.beat(asked);
        continue;
      }
    }
    redraw = false;

    const StampedScene& in = pipeline_.scenes.front();
    const std::int64_t begin = rt::monotonic_now_ns();
    monitor_.begin(realtime ? due : begin, begin);
    messages_.fetch();
    if (microscopes_.fetch()) (void)renderer_->set_microscope(microscopes_.front());
    const Message& message = messages_.front();
    if (next_lost < lost_at.size() && in.scene.time_ns >= lost_at[next_lost]) {
      ++next_lost;
      renderer_->inject_lost();
    }
    sheets_.fetch();
    render::Words words{{message.text.data(), message.size}, &sheets_.front()};
    if (const unsigned wanted = keep_.load(std::memory_order_relaxed); wanted != 0) {
      words.keep = std::countr_zero(wanted);
    }
    render::Outcome outcome;
    {
      rt::RtExempt exempt("vulkan");
      outcome = renderer_->render(in.scene, words);
    }
    const std::int64_t presented = rt::monotonic_now_ns();
    monitor_.stage("render", presented);
    // Of a minimised window nothing is drawn: then it is the next picture that is kept.
    const render::FrameTiming drawn = renderer_->timing();
    if (words.keep >= 0 && outcome == render::Outcome::presented && drawn.submit_ns > drawn.begin_ns)
      keep_.fetch_and(~(1U << words.keep), std::memory_order_relaxed);
    if (outcome == render::Outcome::lost) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      // Destroying it is the service thread's work too.
      delete discarded_.exchange(renderer_.release(), std::memory_order_acq_rel);
      wanted_.store(true, std::memory_order_release);
      redraw = !realtime;
      monitor_.end(presented);
      continue;
    }
    watchdog::FrameRecord record = in.record;
    record.picture = presented_.fetch_add(1, std::memory_order_relaxed);
    record.render_start_ns = begin;
    record.presented_ns = presented;
    pipeline_.frame_log.push(record);
    if (const unsigned keys = renderer_->take_keys(); keys != 0) keys_.fetch_or(keys, std::memory_order_relaxed);
    if (renderer_->close_requested()) close_requested_.store(true, std::memory_order_relaxed);
    if (pipeline_.pictures) {
      hand_to_writer(in.scene.time_ns);
      monitor_.stage("hand to writer", rt::monotonic_now_ns());
    }
    monitor_.end(rt::monotonic_now_ns());
  }
  pipeline_.scenes.stop();  // nobody reads any more: physics must not wait
  if (pipeline_.pictures) pipeline_.pictures->close();
  monitor_.finish();
}

}  // namespace ligature::appliance
