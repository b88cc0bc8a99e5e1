#include <algorithm>

#include "appliance/run/loops.hpp"

namespace ligature::appliance {
namespace {

/// Gathers one trigger's images.
struct Trigger {
  std::array<const drivers::MarkerSet*, kCameras> sets{};
  watchdog::FrameRecord record;
  std::int64_t mid_sum_ns = 0;
  int images = 0;

  void add(std::size_t camera, const CameraMarkers& m) {
    record.captured_ns = std::max(record.captured_ns, m.captured_ns);
    record.detected_ns = std::max(record.detected_ns, m.detected_ns);
    if (!m.markers.image) return;
    sets[camera] = &m.markers;
    mid_sum_ns += m.markers.mid_exposure_ns;
    ++images;
    record.cameras_alive = static_cast<std::uint8_t>(record.cameras_alive | (1u << camera));
  }

  /// Never all of them: those that are left are the most that lie near each other.
  void leave_out(std::uint8_t cameras) {
    for (std::size_t c = 0; c < kCameras; ++c) {
      if ((cameras >> c & 1u) == 0 || !sets[c]) continue;
      mid_sum_ns -= sets[c]->mid_exposure_ns;
      sets[c] = nullptr;
      --images;
    }
  }
};

}  // namespace

TrackingLoop::TrackingLoop(Pipeline& pipeline, watchdog::ThreadMonitor& monitor, drivers::Tracker tracker)
    : pipeline_(pipeline),
      monitor_(monitor),
      tracker_(std::move(tracker)),
      matcher_(std::max<std::int64_t>(1, pipeline.settings.camera_period_ns)),
      timeout_ns_(pipeline.settings.tracking_timeout_ns) {}

void TrackingLoop::run() noexcept {
  rt::RtSection section("tracking");
  if (pipeline_.realtime())
    run_realtime();
  else
    run_lockstep();
  pipeline_.samples.close();
  monitor_.finish();
}

/// Every trigger, from every camera whose stream has not ended.
void TrackingLoop::run_lockstep() noexcept {
  std::uint64_t next = 0;
  while (!pipeline_.stopping()) {
    Trigger trigger;
    bool any = false;
    std::int64_t stamp = 0;  // of a trigger that no camera has an image of
    for (std::size_t c = 0; c < kCameras; ++c) {
      const rt::Take took = pipeline_.markers[c]->take();
      if (took == rt::Take::stopped) return;
      if (took != rt::Take::value) continue;
      const CameraMarkers& m = pipeline_.markers[c]->front();
      trigger.add(c, m);
      any = true;
      next = m.markers.sequence;
      stamp = m.markers.mid_exposure_ns;
    }
    if (!any) return;
    const std::int64_t mid = trigger.images > 0 ? trigger.mid_sum_ns / trigger.images : stamp;
    (void)note_skew(trigger.sets, mid);
    if (!publish(trigger.sets, next, mid, rt::monotonic_now_ns(), trigger.record)) return;
  }
}

/// A trigger is complete when every camera whose stream goes on has delivered it or a later one, or
/// `tracking_timeout` after its first image. When nothing comes at all the estimate is carried on at the cameras'
/// rate until it is lost; no further, because images that come late must still lie after it in time.
void TrackingLoop::run_realtime() noexcept {
  const std::int64_t period = pipeline_.settings.camera_period_ns;
  std::int64_t timeout = timeout_ns_.load(std::memory_order_relaxed);
  std::uint64_t next = 0;           // the first trigger that has not been used
  std::int64_t first_image_ns = 0;  // when its first image came; 0 = not yet
  std::int64_t last_mid = -1;       // of the newest sample
  std::int64_t silence_at = pipeline_.start_ns + 4 * period + timeout;
  std::uint32_t silent = 0;  // triggers in a row without any image
  const auto usable = [&](std::size_t c) {
    const rt::Link<CameraMarkers>& link = *pipeline_.markers[c];
    return link.consumed() > 0 && matched_[c] && trigger_of_[c] >= next &&
           link.front().markers.mid_exposure_ns > last_mid;
  };
  while (!pipeline_.stopping()) {
    const std::uint32_t seen = pipeline_.markers_arrived.prepare();
    timeout = timeout_ns_.load(std::memory_order_relaxed);
    bool all_drained = true, present = false;
    std::size_t running = 0, delivered = 0;
    std::uint64_t oldest = 0;
    for (std::size_t c = 0; c < kCameras; ++c) {
      const auto& link = pipeline_.markers[c];
      // An image of a camera that was lost, even one too late for its trigger: the next trigger waits for it again.
      if (link->fetch()) {
        match(c);
        if (const bool image = link->front().markers.image; image && matched_[c] && trigger_of_[c] < next)
          late_of_[c].fetch_add(1, std::memory_order_relaxed);
        if (missed_[c] >= kLostAfter) missed_[c] = kLostAfter - 1;
      }
      const bool drained = link->drained();
      const bool awaited = !drained && missed_[c] < kLostAfter;  // a lost camera is not waited for
      all_drained = all_drained && drained;
      if (awaited) ++running;
      if (!usable(c)) continue;
      if (awaited) ++delivered;
      oldest = present ? std::min(oldest, trigger_of_[c]) : trigger_of_[c];
      present = true;
    }
    const std::int64_t now = rt::monotonic_now_ns();
    if (present && first_image_ns == 0) first_image_ns = now;
    const bool hopeless = silent >= kLostAfter && all_lost();
    const std::int64_t deadline = present ? first_image_ns + timeout : hopeless ? rt::kNever : silence_at;
    const bool complete = present && running > 0 && delivered >= running;
    if (!complete && now < deadline) {
      if (all_drained && !present) return;
      monitor_.beat(now);
      pipeline_.markers_arrived.wait(seen, std::min(deadline, now + rt::kNsPerS / 10));
      continue;
    }

    Trigger trigger;
    if (present)
      for (std::size_t c = 0; c < kCameras; ++c)
        if (usable(c) && trigger_of_[c] == oldest) trigger.add(c, pipeline_.markers[c]->front());
    first_image_ns = 0;
    if (trigger.images > 0) {
      if (const std::uint8_t refused = note_skew(trigger.sets, trigger.mid_sum_ns / trigger.images); refused != 0)
        trigger.leave_out(refused);
      // Its budget runs from what the trigger waited for: the last image, or the time-out.
      const std::int64_t due = complete ? trigger.record.detected_ns : std::max(deadline, trigger.record.detected_ns);
      last_mid = trigger.mid_sum_ns / trigger.images;
      next = oldest + 1;
      silent = 0;
      silence_at = now + period + timeout;
      if (!publish(trigger.sets, oldest, last_mid, due, trigger.record)) return;
    } else {
      ++silent;
      silence_at = now + period;
      if (last_mid < 0) continue;  // nothing was ever seen: nothing to carry on
      last_mid += period;
      trigger.record.captured_ns = trigger.record.detected_ns = now;
      if (!publish(trigger.sets, next > 0 ? next - 1 : 0, last_mid, now, trigger.record)) return;
    }
  }
}

/// Which trigger the newest image of camera c belongs to. The cameras of a rig that has a common trigger number count
/// alike; devices count each for itself.
void TrackingLoop::match(std::size_t c) noexcept {
  const drivers::MarkerSet& set = pipeline_.markers[c]->front().markers;
  if (!pipeline_.settings.live) {
    trigger_of_[c] = set.sequence;
    matched_[c] = true;
    return;
  }
  const auto trigger = matcher_.assign(c, set.mid_exposure_ns);
  matched_[c] = trigger.has_value();
  if (trigger) trigger_of_[c] = *trigger;
  constexpr std::int64_t kSayAgain_ns = 10 * rt::kNsPerS;  // the report has their number
  if (matcher_.regrouped() != regrouped_seen_ && set.mid_exposure_ns - regrouped_said_ns_ > kSayAgain_ns) {
    regrouped_seen_ = matcher_.regrouped();
    regrouped_said_ns_ = set.mid_exposure_ns;
    pipeline_.tracking_events.push({LoopEvent::Kind::regrouped, 0, set.mid_exposure_ns});
  }
}

/// Measures how far apart the trigger's images were taken. The tracker compensates with each image's own time.
/// @return bit c: camera c is too far from the others for that
std::uint8_t TrackingLoop::note_skew(const Sets& sets, std::int64_t time_ns) noexcept {
  using Kind = LoopEvent::Kind;
  std::array<std::int64_t, kCameras> mid{};
  std::uint8_t present = 0;
  for (std::size_t c = 0; c < kCameras; ++c)
    if (sets[c] && sets[c]->image)
      mid[c] = sets[c]->mid_exposure_ns, present = static_cast<std::uint8_t>(present | 1u << c);
  const bool live = pipeline_.settings.live;
  const drivers::TriggerSkew skew =
      drivers::measure_skew(mid, present, live ? pipeline_.settings.max_skew_ns : INT64_MAX);
  if (skew.images < 2) return skew.refused;
  skews_.record(skew.spread_ns);
  const bool skewed = skew.spread_ns > drivers::kSkewIgnored_ns;
  if (skewed) compensated_.fetch_add(1, std::memory_order_relaxed);
  skew_streak_ = skewed == skewed_ ? 0 : skew_streak_ + 1;
  if (live && skew_streak_ == kLostAfter) {
    skewed_ = skewed;
    skew_streak_ = 0;
    pipeline_.tracking_events.push(
        {skewed ? Kind::skew_compensated : Kind::skew_gone, 0, time_ns, static_cast<double>(skew.spread_ns) * 1e-6});
  }
  for (std::size_t c = 0; c < kCameras; ++c) {
    if ((present >> c & 1u) == 0) continue;
    const bool refused = (skew.refused >> c & 1u) != 0;
    const auto offset = static_cast<double>(skew.offset_ns[c]);
    const double before = skew_of_[c].load(std::memory_order_relaxed);
    skew_of_[c].store(before == 0 ? offset : before + (offset - before) / 64, std::memory_order_relaxed);
    if (refused) refused_of_[c].fetch_add(1, std::memory_order_relaxed);
    refusal_streak_[c] = refused == camera_refused_[c] ? 0 : refusal_streak_[c] + 1;
    if (refusal_streak_[c] != kLostAfter) continue;
    camera_refused_[c] = refused;
    refusal_streak_[c] = 0;
    pipeline_.tracking_events.push(
        {refused ? Kind::camera_refused : Kind::camera_accepted, static_cast<std::uint8_t>(c), time_ns, offset * 1e-6});
  }
  return skew.refused;
}

bool TrackingLoop::all_lost() const noexcept {
  for (const auto& status : status_)
    if (status.load(std::memory_order_relaxed) != TrackStatus::lost) return false;
  return true;
}

void TrackingLoop::note_instrument(std::size_t k, TrackStatus status, std::int64_t time_ns) noexcept {
  using Kind = LoopEvent::Kind;
  const TrackStatus before = status_[k].load(std::memory_order_relaxed);
  status_[k].store(status, std::memory_order_relaxed);
  if (status == TrackStatus::lost && before != TrackStatus::lost)
    pipeline_.tracking_events.push({Kind::instrument_lost, static_cast<std::uint8_t>(k), time_ns});
  if (status == TrackStatus::tracked && before == TrackStatus::lost)
    pipeline_.tracking_events.push({Kind::instrument_back, static_cast<std::uint8_t>(k), time_ns});
}

void TrackingLoop::note_camera(std::size_t c, bool image, std::int64_t time_ns) noexcept {
  using Kind = LoopEvent::Kind;
  const auto index = static_cast<std::uint8_t>(c);
  missed_[c] = image ? 0 : missed_[c] + 1;
  if (image && lost_[c]) pipeline_.tracking_events.push({Kind::camera_back, index, time_ns});
  const std::uint64_t late = late_of_[c].load(std::memory_order_relaxed);
  if (!lost_[c] && missed_[c] == kLostAfter)
    pipeline_.tracking_events.push(
        {late > late_before_[c] ? Kind::camera_late : Kind::camera_lost, index, time_ns, static_cast<double>(late)});
  if (image) late_before_[c] = late;
  lost_[c] = !image && (lost_[c] || missed_[c] >= kLostAfter);
}

/// Cameras whose images show no marker for long while those of others do.
void TrackingLoop::note_sight(const Sets& sets, std::int64_t time_ns) noexcept {
  using Kind = LoopEvent::Kind;
  std::uint8_t shown = 0, images = 0;
  for (std::size_t c = 0; c < kCameras; ++c) {
    if (sets[c] == nullptr || !sets[c]->image) continue;
    const auto bit = static_cast<std::uint8_t>(1u << c);
    images = static_cast<std::uint8_t>(images | bit);
    if (std::ranges::any_of(sets[c]->count, [](std::uint8_t n) { return n > 0; }))
      shown = static_cast<std::uint8_t>(shown | bit);
  }
  const std::int64_t passed_ns = std::clamp<std::int64_t>(time_ns - looked_ns_, 0, kBlindAfter_ns / 4);
  looked_ns_ = time_ns;
  for (std::size_t c = 0; c < kCameras; ++c) {
    const auto bit = static_cast<std::uint8_t>(1u << c), index = static_cast<std::uint8_t>(c);
    if ((shown & bit) != 0) {
      blank_ns_[c] = 0;
      if ((blind_ & bit) != 0) pipeline_.tracking_events.push({Kind::camera_sees, index, time_ns});
      blind_ = static_cast<std::uint8_t>(blind_ & ~bit);
    } else if ((images & bit) != 0 && shown != 0) {
      blank_ns_[c] += passed_ns;
      if (blank_ns_[c] < kBlindAfter_ns || (blind_ & bit) != 0) continue;
      blind_ = static_cast<std::uint8_t>(blind_ | bit);
      pipeline_.tracking_events.push({Kind::camera_blind, index, time_ns});
    }
  }
}

bool TrackingLoop::publish(const Sets& sets, std::uint64_t sequence, std::int64_t mid_exposure_ns, std::int64_t due_ns,
                           const watchdog::FrameRecord& record) noexcept {
  monitor_.begin(due_ns, rt::monotonic_now_ns());
  if (const double ms = prediction_ms_.load(std::memory_order_relaxed); ms >= 0) tracker_.set_prediction_ms(ms);
  TrackedSample& out = pipeline_.samples.back();
  out.sample = tracker_.track(sets, sequence, mid_exposure_ns);
  out.sample.captured_ns = record.captured_ns;
  note_sight(sets, mid_exposure_ns);
  out.record = record;
  out.record.cameras_blind = blind_;
  out.record.trigger = sequence;
  out.record.mid_exposure_session_ns = mid_exposure_ns;
  // In lockstep session time runs at its own speed: what is measured there is the way from the image handed over.
  out.record.mid_exposure_ns = pipeline_.realtime() ? pipeline_.start_ns + mid_exposure_ns : record.captured_ns;
  out.record.tracked_ns = rt::monotonic_now_ns();
  monitor_.stage("fit", out.record.tracked_ns);
  for (std::size_t k = 0; k < kInstruments; ++k) {
    const TrackStatus status = out.sample.instruments[k].status;
    counts_[static_cast<std::size_t>(status)].fetch_add(1, std::memory_order_relaxed);
    if (status == TrackStatus::tracked) tracked_of_[k].fetch_add(1, std::memory_order_relaxed);
    note_instrument(k, status, mid_exposure_ns);
  }
  for (std::size_t c = 0; c < kCameras; ++c) note_camera(c, (record.cameras_alive >> c & 1u) != 0, mid_exposure_ns);
  monitor_.end(rt::monotonic_now_ns());
  pipeline_.seen_sample.back() = out.sample;
  pipeline_.seen_sample.publish();
  return pipeline_.samples.publish();
}

}  // namespace ligature::appliance
