#pragma once
/// One camera, wherever its images come from: a recording, the virtual rig, a device.
#include <cstdint>
#include <opencv2/core/mat.hpp>
#include <string>

#include "drivers/camera/camera_event.hpp"
#include "sim/base/result.hpp"

namespace ligature::drivers {

/// One trigger of one camera. The image buffer belongs to the caller and is reused from call to call.
struct Frame {
  std::uint64_t sequence = 0;        ///< trigger number from 0; a gap means frames were lost
  std::int64_t mid_exposure_ns = 0;  ///< session time
  std::int64_t delivery_ns = 0;      ///< session time at which a real camera would have handed this image over
  std::uint32_t lost = 0;            ///< triggers since the call before that no call answers for (devices only)
  cv::Mat image;                     ///< CV_8UC3, BGR, size of the camera model; valid only with FrameStatus::image
};

enum class FrameStatus {
  image,    ///< frame is complete
  missing,  ///< this trigger has no image (dropped frame, dead camera); sequence and times are set
  timeout,  ///< nothing within the wait; the camera may be dead (devices only)
  end,      ///< the recording is over
  failed,   ///< the source broke; it answers `failed` from now on
};

/// One reader per source. next() may allocate inside third-party decoders; it is exempt by name from the
/// allocation guard, as is everything on a camera thread before detection.
class FrameSource {
 public:
  virtual ~FrameSource() = default;
  /// The next trigger, in order, every trigger exactly once. Never sleeps for pace: the caller paces by delivery_ns.
  virtual FrameStatus next(Frame& frame) noexcept = 0;
  /// The same without the work of making the image: `missing` where next() would have answered `image`. For a caller
  /// that is too late for it, as a camera drops a frame that nobody has fetched.
  virtual FrameStatus skip(Frame& frame) noexcept {
    const FrameStatus status = next(frame);
    return status == FrameStatus::image ? FrameStatus::missing : status;
  }

  /// After `end`: it holds images that its list of triggers does not name, so that those it names may be others. May
  /// read on.
  virtual bool more() noexcept { return false; }
  /// Which of its image files could not be used, so that they count as missing: the first, why, and how many more
  /// there are; empty: none.
  virtual std::string unusable() const { return {}; }

  /// A device: its images come when they come, next() waits for them (a tenth of a second at most) and hands over the
  /// newest. Its triggers are its own; those of several cameras are matched by time (trigger_matcher.hpp).
  virtual bool live() const noexcept { return false; }
  /// CLOCK_MONOTONIC at session time 0. Once, before the first next().
  virtual void begin(std::int64_t /*session_start_ns*/) noexcept {}
  /// What happened meanwhile, oldest first; false = nothing. On the thread that calls next().
  virtual bool take_event(CameraEvent& /*event*/) noexcept { return false; }
  /// Devices only, else null; for any thread.
  virtual const CaptureCounters* counters() const noexcept { return nullptr; }
};

}  // namespace ligature::drivers
