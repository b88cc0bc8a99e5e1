#pragma once
/// A camera that the kernel drives (V4L2, memory-mapped streaming): USB cameras by uvcvideo, others, and vivid.
///
///   find -> open -> format, rate -> lock controls -> map buffers -> stream -> read controls back
///     ^                                                               |
///     +---- half a second ---- unplugged, broken, stalled <-----------+
///
/// * next() hands over the newest image; older ones that waited are given back and counted as overrun.
/// * Triggers are numbered by the device's sequence; what it skips is counted as lost. A sequence that goes backwards
/// or
///   jumps by more than the time stamps allow is not believed: time then says what was lost.
/// * Mid-exposure comes from the device's time stamp, the exposure read back from the device and the readout
///   (exposure_time.hpp). A stamp that is not monotonic, in the future, older than a second or not after the one before
///   is replaced by the time of arrival, counted and said.
/// * uvcvideo says that it stamps the start of exposure; it stamps the first byte received, the end of a global
/// shutter's
///   exposure, unless its module parameter `hwtimestamps` is set. StampAt::device knows.
/// * Exposure, gain and white balance are locked, automatics switched off, and read back once the stream runs, because
///   some cameras take them back then. What is refused is said and counted; the stream goes on.
#include <memory>
#include <optional>
#include <string>

#include "drivers/camera/frame_source.hpp"
#include "drivers/camera/v4l2/device_calls.hpp"
#include "drivers/camera/v4l2/device_list.hpp"
#include "drivers/camera/v4l2/exposure_time.hpp"
#include "drivers/camera/v4l2/pixels.hpp"

namespace ligature::drivers {

struct V4l2Params {
  std::string serial, path;       ///< which device (device_list.hpp); one at least
  std::string calibrated_serial;  ///< of the rig file; empty: not checked
  PixelFormat format = PixelFormat::mjpeg;
  int width_px = 640, height_px = 480;
  double rate_hz = 60;
  double exposure_ms = 4;
  std::optional<int> gain;                       ///< the device's own units; not given: as it is, automatic off
  std::optional<int> white_balance_k;            ///< colour temperature; not given: as it is, automatic off
  std::optional<int> red_balance, blue_balance;  ///< for cameras that have no temperature
  double readout_ms = 3;                         ///< from the end of the exposure until the last byte is here
  StampAt stamp = StampAt::device;
  Shutter shutter = Shutter::global;
  int buffers = 4;  ///< 2..8
};

/// FrameSource of one device.
///   next()  image | missing (corrupt image) | timeout (nothing within a tenth of a second, or no device); never `end`,
///           never `failed`: a device may always come back
/// @rt next() may wait in the kernel and in decoders, exempt by name; our own code in it neither allocates nor locks
class V4l2Camera final : public FrameSource {
 public:
  /// Tries to connect once. A device that is not there is no error: connected() is false, and next() goes on looking.
  /// Errors: usage, when the parameters are wrong, several devices match, or the device found lacks format or size;
  /// unavailable, when it cannot be opened or streamed.
  static Result<std::unique_ptr<V4l2Camera>> create(V4l2Params params, DeviceCalls& calls = kernel_calls());
  ~V4l2Camera() override;

  FrameStatus next(Frame& frame) noexcept override;
  bool live() const noexcept override { return true; }
  void begin(std::int64_t session_start_ns) noexcept override;
  bool take_event(CameraEvent& event) noexcept override;
  const CaptureCounters* counters() const noexcept override;

  bool connected() const noexcept;
  /// The newest device it was connected to; on the thread of next().
  const DeviceInfo& device() const noexcept;
  /// As read back or, where the device does not tell, as asked for [ms]; what mid-exposure times are computed with.
  double exposure_ms() const noexcept;

 private:
  struct State;
  explicit V4l2Camera(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ligature::drivers
