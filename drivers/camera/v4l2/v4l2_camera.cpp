#include "drivers/camera/v4l2/v4l2_camera.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "drivers/camera/v4l2/v4l2_stream.hpp"

namespace ligature::drivers {
namespace {

using Kind = CameraEvent::Kind;
constexpr std::int64_t kNsPerMs = 1'000'000, kNsPerS = 1'000'000'000;
constexpr int kSlice_ms = 100;                       // the longest that next() waits
constexpr std::int64_t kRetry_ns = kNsPerS / 2;      // between looks for a device that is not there
constexpr std::int64_t kStall_ns = kNsPerS;          // without an image: start the stream again
constexpr std::int64_t kFuture_ns = kNsPerMs;        // a stamp may be so far ahead of our clock
constexpr std::int64_t kOldest_ns = kNsPerS;         // ... and so far behind our last look
constexpr std::int64_t kSayAgain_ns = 10 * kNsPerS;  // what goes on is said so often
constexpr int kBadCost = 8, kDistrust = 64;          // a wrong stamp is worth eight right ones; so much is too much

}  // namespace

struct V4l2Camera::State {
  State(V4l2Params given, DeviceCalls& os) : params(std::move(given)), calls(os), stream(params, os) {}

  const V4l2Params params;
  DeviceCalls& calls;
  V4l2Stream stream;
  PixelDecoder decoder;
  EventQueue events;
  CaptureCounters counters;
  std::int64_t start_ns = 0;

  // Of the connection.
  Kind refused_with = Kind::connected;  ///< last reason for not connecting that was said
  int refused_error = 0;
  std::int64_t retry_at_ns = 0;
  std::int64_t image_at_ns = 0;  ///< when something last came, or the stream began

  // Of the newest image.
  bool seen = false;
  std::uint64_t number = 0;  ///< trigger number given to it
  std::uint32_t device_sequence = 0;
  std::int64_t mid_ns = 0;
  std::int64_t taken_mid_ns = INT64_MIN;  ///< of the newest that was handed over
  std::int64_t period_ns = 0;
  int bad_stamps = 0;  ///< score; kDistrust: arrival counts until the next connection
  bool by_arrival = false, no_stamp_said = false, corrupt = false, restart_said = false;
  std::int64_t bad_said_ns = INT64_MIN / 2, lost_said_ns = INT64_MIN / 2;
  std::uint64_t lost_unsaid = 0;

  void say(Kind kind, int error = 0, double wanted = 0, double got = 0) noexcept {
    CameraEvent event;
    event.kind = kind;
    event.error = error;
    event.wanted = wanted;
    event.got = got;
    say(event);
  }
  void say(CameraEvent event) noexcept {
    event.time_ns = start_ns == 0 ? 0 : calls.now_ns() - start_ns;
    events.push(event);
  }

  bool connect() noexcept {
    CameraEvent why;
    EventQueue said;
    const std::int64_t now = calls.now_ns();
    const bool connected = stream.connect(why, said);
    for (CameraEvent event; connected && said.pop(event);) say(event);
    if (!connected) {
      retry_at_ns = calls.now_ns() + kRetry_ns;
      if (why.kind != refused_with || why.error != refused_error) say(why);
      refused_with = why.kind, refused_error = why.error;
      return false;
    }
    refused_with = Kind::connected, refused_error = 0;
    image_at_ns = std::max(now, calls.now_ns());
    period_ns = stream.period_ns();
    no_stamp_said = by_arrival = corrupt = false;
    bad_stamps = 0;
    counters.connections.fetch_add(1, std::memory_order_relaxed);
    counters.controls_refused.store(stream.controls_refused(), std::memory_order_relaxed);
    counters.exposure_ns.store(stream.exposure_ns(), std::memory_order_relaxed);
    counters.period_ns.store(period_ns, std::memory_order_relaxed);
    counters.streaming.store(true, std::memory_order_relaxed);
    fresh_connection = true;
    return true;
  }
  bool fresh_connection = false;  ///< the next image is its first

  void drop(Kind kind, int error, double got = 0) noexcept {
    say(kind, error, 0, got);
    stream.disconnect();
    counters.streaming.store(false, std::memory_order_relaxed);
    if (kind == Kind::stalled) counters.restarts.fetch_add(1, std::memory_order_relaxed);
    // A stream that broke while the device stands is tried again at once, one that was unplugged when it may be back.
    retry_at_ns = calls.now_ns() + (error == ENODEV ? kRetry_ns : kRetry_ns / 5);
  }

  /// When an image was taken and when it was there: by the device's stamp, or by arrival where that cannot be believed.
  struct Moment {
    std::int64_t mid_ns, ready_ns;
  };
  /// @param looked_ns  when images were fetched before: they may have waited since then, which is no fault of the stamp
  Moment moment_of(const v4l2_buffer& buffer, std::int64_t now, std::int64_t looked_ns) noexcept {
    StampAt at = params.stamp;
    if (at == StampAt::device) at = stream.stamp_at();
    if (at == StampAt::device)
      at = (buffer.flags & V4L2_BUF_FLAG_TSTAMP_SRC_MASK) == V4L2_BUF_FLAG_TSTAMP_SRC_SOE ? StampAt::exposure_start
                                                                                          : StampAt::frame_end;
    const std::int64_t readout = std::llround(params.readout_ms * 1e6);
    const auto mid_of = [&](StampAt moment, std::int64_t stamp) {
      return stamp + to_mid_exposure_ns(moment, params.shutter, stream.exposure_ns(), readout);
    };
    const std::int64_t stamp =
        std::int64_t{buffer.timestamp.tv_sec} * kNsPerS + std::int64_t{buffer.timestamp.tv_usec} * 1000;
    by_arrival = true;
    if ((buffer.flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) != V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC) {
      if (!no_stamp_said) say(Kind::no_device_time), no_stamp_said = true;
    } else if (bad_stamps < kDistrust) {
      // Until the session has begun images may lie and wait for any time.
      by_arrival =
          stamp > now + kFuture_ns || (seen && (stamp < looked_ns - kOldest_ns || mid_of(at, stamp) <= mid_ns));
      if (by_arrival) note_bad_stamp(stamp, now);
      if (!by_arrival && bad_stamps > 0) --bad_stamps;
    }
    if (by_arrival) return {mid_of(StampAt::frame_end, now), now};
    return {mid_of(at, stamp), at == StampAt::frame_end ? std::min(stamp, now) : now};
  }
  void note_bad_stamp(std::int64_t stamp, std::int64_t now) noexcept {
    counters.bad_time.fetch_add(1, std::memory_order_relaxed);
    bad_stamps += kBadCost;
    if (bad_stamps >= kDistrust) {
      say(Kind::distrusted);
    } else if (now - bad_said_ns > kSayAgain_ns) {
      say(Kind::bad_time, 0, 0, static_cast<double>(stamp - now) * 1e-6);
      bad_said_ns = now;
    }
  }

  /// Numbers the trigger. @return triggers lost before it
  std::uint64_t count(const v4l2_buffer& buffer, std::int64_t mid) noexcept {
    const bool first = !seen, anew = fresh_connection;
    const std::int64_t between = mid - mid_ns;
    const auto by_device = static_cast<std::int64_t>(static_cast<std::int32_t>(buffer.sequence - device_sequence));
    fresh_connection = false;
    device_sequence = buffer.sequence, mid_ns = mid;
    seen = mid >= start_ns;
    if (first) return 0;
    const double periods = static_cast<double>(between) / static_cast<double>(period_ns);
    const std::int64_t by_time = std::max<std::int64_t>(1, std::llround(std::min(periods, 1e9)));
    std::int64_t step = by_device;
    if (anew) {
      step = by_time;
    } else if (by_device < 1 || by_device > by_time + 2 + by_time / 4) {
      step = by_time;
      if (!restart_said) say(Kind::sequence_restart, 0, static_cast<double>(by_time), static_cast<double>(by_device));
      restart_said = true;  // a driver that does not count at all is said once
    } else {
      restart_said = false;
      const std::int64_t one = between / by_device;
      if (!by_arrival && one > period_ns / 2 && one < 4 * period_ns) period_ns += (one - period_ns) / 16;
      counters.period_ns.store(period_ns, std::memory_order_relaxed);
    }
    number += static_cast<std::uint64_t>(step);
    const auto lost = static_cast<std::uint64_t>(step - 1);
    if (anew) return lost;  // while it was away: missing triggers, but nothing got lost on the way
    counters.lost.fetch_add(lost, std::memory_order_relaxed);
    lost_unsaid += lost;
    if (lost_unsaid > 0 && mid - lost_said_ns > kSayAgain_ns) {
      say(Kind::frames_lost, 0, 0, static_cast<double>(lost_unsaid));
      lost_said_ns = mid, lost_unsaid = 0;
    }
    return lost;
  }

  FrameStatus next(Frame& frame) noexcept;
  FrameStatus look_for_device() noexcept;
};

FrameStatus V4l2Camera::State::look_for_device() noexcept {
  const std::int64_t now = calls.now_ns();
  if (now >= retry_at_ns && connect()) return FrameStatus::timeout;
  const std::int64_t left_ms = (retry_at_ns - calls.now_ns()) / kNsPerMs + 1;
  calls.poll(-1, static_cast<int>(std::clamp<std::int64_t>(left_ms, 1, kSlice_ms)));
  return FrameStatus::timeout;
}

FrameStatus V4l2Camera::State::next(Frame& frame) noexcept {
  frame.lost = 0;
  if (!stream.connected()) return look_for_device();
  const int ready = stream.wait(kSlice_ms);
  if (ready < 0) {
    drop(ready == -ENODEV ? Kind::gone : Kind::stalled, -ready);
    return FrameStatus::timeout;
  }
  if (ready == 0) {
    if (const std::int64_t silent = calls.now_ns() - image_at_ns; silent > kStall_ns)
      drop(Kind::stalled, 0, static_cast<double>(silent) * 1e-9);
    return FrameStatus::timeout;
  }

  v4l2_buffer newest{}, buffer{};
  Moment moment{};
  std::uint64_t lost = 0, fetched = 0;
  const std::int64_t looked_ns = image_at_ns;
  int broke = 0;
  // As many as can wait, and what comes meanwhile.
  for (std::size_t i = 0; i < 2 * V4l2Stream::kMaxBuffers; ++i) {
    broke = stream.take(buffer);
    if (broke != 0) break;
    const std::int64_t now = calls.now_ns();
    if (fetched > 0) {
      const bool spoilt = (newest.flags & V4L2_BUF_FLAG_ERROR) != 0;
      (spoilt ? counters.corrupt : counters.overrun).fetch_add(1, std::memory_order_relaxed);
      ++lost;
      if ((broke = stream.give_back(newest)) != 0) break;
    }
    newest = buffer;
    ++fetched;
    image_at_ns = now;
    moment = moment_of(newest, now, looked_ns);
    lost += count(newest, moment.mid_ns);
  }
  if (broke != 0 && broke != -EAGAIN) {
    drop(broke == -ENODEV ? Kind::gone : Kind::stalled, -broke);
    return FrameStatus::timeout;
  }
  if (fetched == 0) {
    // Woken without an image: an error or a hang-up that the queue does not know of.
    if ((ready & (POLLERR | POLLHUP | POLLNVAL)) != 0)
      drop((ready & POLLHUP) != 0 ? Kind::gone : Kind::stalled, (ready & POLLHUP) != 0 ? ENODEV : EIO);
    return FrameStatus::timeout;
  }

  const bool whole =
      (newest.flags & V4L2_BUF_FLAG_ERROR) == 0 &&
      decoder.decode(stream.layout(), stream.bytes(newest), stream.size(newest), frame.image) == Decoded::done;
  const int returned = stream.give_back(newest);
  if (!whole) {
    counters.corrupt.fetch_add(1, std::memory_order_relaxed);
    if (!corrupt) say(Kind::corrupt);
  }
  corrupt = !whole;
  if (returned != 0) drop(returned == -ENODEV ? Kind::gone : Kind::stalled, -returned);

  frame.sequence = number;
  frame.lost = static_cast<std::uint32_t>(std::min<std::uint64_t>(lost, UINT32_MAX));
  frame.mid_exposure_ns = moment.mid_ns - start_ns;
  frame.delivery_ns = moment.ready_ns - start_ns;
  // From before the session, or not after the one before because stamps and arrival changed places.
  if (frame.mid_exposure_ns < 0 || moment.mid_ns <= taken_mid_ns) return FrameStatus::timeout;
  taken_mid_ns = moment.mid_ns;
  if (whole) counters.images.fetch_add(1, std::memory_order_relaxed);
  return whole ? FrameStatus::image : FrameStatus::missing;
}

V4l2Camera::V4l2Camera(std::unique_ptr<State> state) : state_(std::move(state)) {}
V4l2Camera::~V4l2Camera() = default;

Result<std::unique_ptr<V4l2Camera>> V4l2Camera::create(V4l2Params params, DeviceCalls& calls) {
  if (params.serial.empty() && params.path.empty())
    return usage_error("a camera needs a serial or a path: `ligature doctor` lists those that are plugged in");
  if (params.width_px < 16 || params.height_px < 16 || params.width_px > 8192 || params.height_px > 8192 ||
      !(params.rate_hz >= 1 && params.rate_hz <= 1000) || !(params.exposure_ms > 0 && params.exposure_ms <= 1000) ||
      !(params.readout_ms >= 0 && params.readout_ms <= 1000) || params.buffers < 2 ||
      params.buffers > static_cast<int>(V4l2Stream::kMaxBuffers))
    return usage_error("camera parameters are out of range");
  auto state = std::make_unique<State>(std::move(params), calls);
  if (!state->connect()) {
    CameraEvent why;
    Kind kind = state->refused_with;
    while (state->events.pop(why) && why.kind != kind) {
    }
    if (kind == Kind::ambiguous) return usage_error(describe(why));
    if (kind == Kind::refused && why.error == 0) return usage_error(describe(why));
    if (kind == Kind::refused) return unavailable(describe(why));
    state->events.push(why);
  }
  return std::unique_ptr<V4l2Camera>(new V4l2Camera(std::move(state)));
}

FrameStatus V4l2Camera::next(Frame& frame) noexcept {
  return state_->next(frame);
}

void V4l2Camera::begin(std::int64_t session_start_ns) noexcept {
  state_->start_ns = session_start_ns;
  // What waits since the stream was started is of no use, and its gaps are nobody's loss.
  state_->seen = false;
  state_->image_at_ns = state_->calls.now_ns();
}

bool V4l2Camera::take_event(CameraEvent& event) noexcept {
  return state_->events.pop(event);
}

const CaptureCounters* V4l2Camera::counters() const noexcept {
  return &state_->counters;
}

bool V4l2Camera::connected() const noexcept {
  return state_->stream.connected();
}

const DeviceInfo& V4l2Camera::device() const noexcept {
  return state_->stream.device();
}

double V4l2Camera::exposure_ms() const noexcept {
  return state_->stream.connected() ? static_cast<double>(state_->stream.exposure_ns()) * 1e-6
                                    : state_->params.exposure_ms;
}

}  // namespace ligature::drivers
