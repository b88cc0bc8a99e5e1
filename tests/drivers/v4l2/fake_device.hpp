#pragma once
/// A machine with cameras at the system-call boundary, with its own clock: poll() moves time on, nothing ever waits.
/// Every camera can be made to misbehave in the ways that real ones do.
#include <linux/videodev2.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "drivers/camera/v4l2/device_calls.hpp"

namespace ligature::drivers::testing {

struct FakeControl {
  std::int32_t value = 0, minimum = 0, maximum = 10000;
  int refuse = 0;                ///< errno of setting it
  bool stuck = false;            ///< takes the value and keeps its own
  bool reset_by_stream = false;  ///< forgets it at STREAMON
};

/// Image k of a camera's life begins its exposure at phase + k period.
struct FakeCamera {
  // What it is.
  int number = 0;  ///< /dev/videoN
  std::string name = "Fake Camera", serial, port, bus = "usb-0000:00:14.0-1", driver = "fake";
  std::uint32_t capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
  std::set<std::uint32_t> formats{V4L2_PIX_FMT_YUYV, V4L2_PIX_FMT_MJPEG, V4L2_PIX_FMT_GREY, V4L2_PIX_FMT_SRGGB8};
  std::uint32_t width = 0, height = 0;  ///< 0: whatever is asked for
  std::uint32_t stride_extra = 0;       ///< bytes behind every row
  std::uint32_t colorspace = V4L2_COLORSPACE_SRGB, ycbcr_enc = 0, quantization = 0, field = V4L2_FIELD_NONE;
  std::map<std::uint32_t, FakeControl> controls;
  std::map<unsigned long, int> refuses;  ///< ioctl -> errno
  std::uint32_t buffers_most = 8;
  int open_error = 0;
  // When it exposes.
  std::int64_t phase_ns = 0, period_ns = 16'666'667, exposure_ns = 4'000'000, readout_ns = 3'000'000;
  double rate_granted_hz = 0;  ///< 0: what is asked for
  std::uint32_t stamp_flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC | V4L2_BUF_FLAG_TSTAMP_SRC_EOF;
  enum class Stamp { exposure_start, exposure_end, frame_end } stamp = Stamp::frame_end;
  // What goes wrong, by image.
  std::set<std::uint64_t> lose, flag_error, truncate, corrupt;
  std::map<std::uint64_t, int> dequeue_error;            ///< errno instead of this image
  std::map<std::uint64_t, std::int64_t> stamp_error_ns;  ///< added to its stamp
  std::map<std::uint64_t, std::int64_t> sequence_jump;   ///< added to the sequence from this image on
  bool counts = true;                                    ///< false: its sequence is always 0
  bool always_poll_error = false;
  std::int64_t stall_from_ns = INT64_MAX, stall_until_ns = INT64_MAX;
  std::int64_t unplug_ns = INT64_MAX, replug_ns = INT64_MAX;
  int number_after_replug = -1;
  /// The bytes of image k; by default a picture of the wanted format whose every pixel is `grey_level(k)`.
  std::function<std::vector<std::uint8_t>(const FakeCamera&, std::uint64_t k)> picture;

  // As configured by the driver.
  std::uint32_t fourcc = 0, set_width = 0, set_height = 0, stride = 0;
  std::size_t image_size = 0;
  bool streaming = false;
  std::uint64_t streams = 0;  ///< times STREAMON succeeded
  std::uint64_t image_base = 0;
  std::uint64_t opened = 0, closed = 0, mapped = 0, unmapped = 0;
};

/// Mid grey of image k, different from its neighbours'.
inline std::uint8_t grey_level(std::uint64_t k) {
  return static_cast<std::uint8_t>(60 + (k * 37) % 120);
}

class FakeMachine final : public DeviceCalls {
 public:
  FakeMachine() { cameras.reserve(8); }
  /// Stays where it is.
  FakeCamera& add(FakeCamera camera);

  std::vector<FakeCamera> cameras;
  std::map<std::string, std::string> files, links;  ///< beside those of the cameras
  std::int64_t time_ns = 10'000'000'000;
  std::int64_t work_ns = 0;  ///< time that passes at every dequeued image, as if somebody were slow
  std::uint64_t calls = 0;

  int open(const char* node) noexcept override;
  int close(int fd) noexcept override;
  int ioctl(int fd, unsigned long request, void* argument) noexcept override;
  void* map(int fd, std::size_t length, std::int64_t offset) noexcept override;
  void unmap(void* memory, std::size_t length) noexcept override;
  int poll(int fd, int timeout_ms) noexcept override;
  std::int64_t now_ns() noexcept override { return time_ns; }
  int read_link(const char* path, char* to, std::size_t size) noexcept override;
  int read_line(const char* path, char* to, std::size_t size) noexcept override;

  int descriptors() const { return static_cast<int>(handles_.size()); }

 private:
  struct Handle {
    FakeCamera* camera = nullptr;
    std::int64_t plugged_ns = 0;  ///< opened then; gone for ever once it was unplugged
    std::vector<std::vector<std::uint8_t>> memory;
    std::deque<std::uint32_t> queued;
    std::deque<v4l2_buffer> done;
    std::uint64_t next_image = 0;
  };
  bool present(const FakeCamera& camera, std::int64_t at_ns) const;
  bool alive(const Handle& handle) const;
  int number_of(const FakeCamera& camera) const;
  std::int64_t delivered_ns(const FakeCamera& camera, std::uint64_t image) const;
  void produce(Handle& handle);
  int set_format(FakeCamera& camera, v4l2_format& format);
  int dequeue(Handle& handle, v4l2_buffer& buffer);

  std::map<int, Handle> handles_;
  int next_fd_ = 100;
};

/// A solid picture in the device's bytes, with its padding filled with rubbish.
std::vector<std::uint8_t> solid(const FakeCamera& camera, std::uint8_t level);

}  // namespace ligature::drivers::testing
