#include "appliance/run/loops.hpp"

namespace ligature::appliance {

CameraLoop::CameraLoop(Pipeline& pipeline, watchdog::ThreadMonitor& monitor, std::size_t index,
                       std::unique_ptr<drivers::FrameSource> source, drivers::MarkerDetector detector)
    : pipeline_(pipeline),
      monitor_(monitor),
      index_(index),
      source_(std::move(source)),
      detector_(std::move(detector)) {}

void CameraLoop::run() noexcept {
  rt::RtSection section("camera");
  auto& out = *pipeline_.markers[index_];
  const bool realtime = pipeline_.realtime();
  std::int64_t expected = INT64_MAX / 2;  // when the next image should be handed over
  const bool live = source_->live();
  source_->begin(pipeline_.start_ns);
  while (!pipeline_.stopping()) {
    drivers::FrameStatus status;
    const std::int64_t asked = rt::monotonic_now_ns();
    // Too late for the next image: a real camera would have dropped it, and making it would make the one after late.
    const bool too_late = realtime && !live && asked > expected + pipeline_.settings.camera_period_ns;
    {
      rt::RtExempt exempt("camera image");  // decoded, or rendered by the virtual rig
      status = too_late ? source_->skip(frame_) : source_->next(frame_);
    }
    const std::int64_t ready = rt::monotonic_now_ns();
    for (drivers::CameraEvent event; source_->take_event(event);) pipeline_.camera_events[index_].push(event);
    if (live) dropped_.fetch_add(frame_.lost, std::memory_order_relaxed);
    if (status == drivers::FrameStatus::failed) failed_.store(true, std::memory_order_relaxed);
    ended_ = status == drivers::FrameStatus::end;
    if (ended_ || status == drivers::FrameStatus::failed) break;
    if (status == drivers::FrameStatus::timeout) {
      monitor_.beat(ready);
      continue;
    }

    // A file and the virtual rig have no hardware that makes images wait for their time; this is it.
    const std::int64_t due = realtime ? pipeline_.start_ns + frame_.delivery_ns : asked;
    expected = due + pipeline_.settings.camera_period_ns;
    if (realtime) {
      if (frame_.delivery_ns >= pipeline_.settings.duration_ns) break;
      wait_until(due);
    }
    const std::int64_t captured = rt::monotonic_now_ns();
    if (realtime && ready > due) {  // not woken late: the image was not ready
      monitor_.begin(due, std::max(due, asked));
      monitor_.stage("camera image", captured);
    } else {
      monitor_.begin(due, realtime ? captured : asked);
      if (!realtime) monitor_.stage("camera image", ready);
    }

    const bool image = status == drivers::FrameStatus::image;
    (image ? captured_ : dropped_).fetch_add(1, std::memory_order_relaxed);
    if (pipeline_.records[index_]) hand_to_recorder(image);

    // A real camera that lost a frame hands nothing over; in lockstep the gap itself is what tracking waits for.
    bool handed_over = true;
    if (image || !realtime) {
      CameraMarkers& slot = out.back();
      detector_.detect(frame_, status, slot.markers);
      slot.markers.sequence = frame_.sequence;
      slot.markers.mid_exposure_ns = frame_.mid_exposure_ns;
      slot.captured_ns = captured;
      slot.detected_ns = rt::monotonic_now_ns();
      monitor_.stage("detect", slot.detected_ns);
      pipeline_.seen_markers[index_].back() = slot.markers;
      pipeline_.seen_markers[index_].publish();
      monitor_.end(slot.detected_ns);
      handed_over = out.publish();
    } else {
      monitor_.end(rt::monotonic_now_ns());
    }
    if (!handed_over) break;
  }
  if (pipeline_.records[index_]) pipeline_.records[index_]->close();
  // A broken camera is a silent one: in realtime the session goes on without it, and without all four.
  if (!realtime || !failed()) out.close();
  monitor_.finish();
}

/// In slices, so that a gap in a recording neither delays a stop nor looks like a stalled thread.
void CameraLoop::wait_until(std::int64_t due_ns) noexcept {
  for (std::int64_t now = rt::monotonic_now_ns(); now < due_ns && !pipeline_.stopping(); now = rt::monotonic_now_ns()) {
    rt::sleep_until(std::min(due_ns, now + rt::kNsPerS / 10));
    if (due_ns - now > rt::kNsPerS / 10) monitor_.beat(now);
  }
}

void CameraLoop::hand_to_recorder(bool image) noexcept {
  auto& link = *pipeline_.records[index_];
  RecordSlot& slot = link.back();
  slot.image = image && slot.pixels.size() == frame_.image.size() && slot.pixels.type() == frame_.image.type();
  if (slot.image)
    for (int row = 0; row < frame_.image.rows; ++row)
      std::copy_n(frame_.image.ptr(row), static_cast<std::size_t>(frame_.image.cols) * frame_.image.elemSize(),
                  slot.pixels.ptr(row));
  slot.sequence = frame_.sequence;
  slot.mid_exposure_ns = frame_.mid_exposure_ns;
  link.publish();
}

}  // namespace ligature::appliance
