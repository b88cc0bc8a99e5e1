#pragma once
/// One connection to one V4L2 device: from open to close. What images and stamps mean is v4l2_camera.cpp's.
#include <linux/videodev2.h>

#include <array>
#include <cstdint>

#include "drivers/camera/camera_event.hpp"
#include "drivers/camera/v4l2/device_calls.hpp"
#include "drivers/camera/v4l2/device_list.hpp"
#include "drivers/camera/v4l2/pixels.hpp"
#include "drivers/camera/v4l2/v4l2_camera.hpp"

namespace ligature::drivers {

/// Events on their way out; the oldest gives way.
class EventQueue {
 public:
  void push(const CameraEvent& event) noexcept {
    if (count_ == events_.size()) first_ = (first_ + 1) % events_.size(), --count_;
    events_[(first_ + count_++) % events_.size()] = event;
  }
  bool pop(CameraEvent& event) noexcept {
    if (count_ == 0) return false;
    event = events_[first_];
    first_ = (first_ + 1) % events_.size(), --count_;
    return true;
  }

 private:
  std::array<CameraEvent, 32> events_{};
  std::size_t first_ = 0, count_ = 0;
};

/// @rt no allocation, no lock
class V4l2Stream {
 public:
  static constexpr std::size_t kMaxBuffers = 8;

  V4l2Stream(const V4l2Params& params, DeviceCalls& calls) : params_(params), calls_(calls) {}
  ~V4l2Stream() { disconnect(); }
  V4l2Stream(const V4l2Stream&) = delete;
  V4l2Stream& operator=(const V4l2Stream&) = delete;

  /// Finds the device and starts it. On false `why` tells (not_found, ambiguous, refused) and nothing is left open.
  /// @param said  gets what was found different from what was asked for
  bool connect(CameraEvent& why, EventQueue& said) noexcept;
  void disconnect() noexcept;
  bool connected() const noexcept { return fd_ >= 0; }

  /// poll's revents; 0 after the time; negative: -errno
  int wait(int timeout_ms) noexcept { return calls_.poll(fd_, timeout_ms); }
  /// The oldest image that waits. @return 0, -EAGAIN when none does, or what broke
  int take(v4l2_buffer& buffer) noexcept;
  int give_back(v4l2_buffer& buffer) noexcept { return calls_.ioctl(fd_, VIDIOC_QBUF, &buffer); }
  const std::uint8_t* bytes(const v4l2_buffer& buffer) const noexcept {
    return static_cast<const std::uint8_t*>(buffers_[buffer.index].memory);
  }
  /// As the driver says, within what is mapped.
  std::size_t size(const v4l2_buffer& buffer) const noexcept;

  const DeviceInfo& device() const noexcept { return device_; }
  const PixelLayout& layout() const noexcept { return layout_; }
  std::int64_t period_ns() const noexcept { return period_ns_; }
  std::int64_t exposure_ns() const noexcept { return exposure_ns_; }
  /// What the stamps of this driver are, when its flags are not to be trusted; else `device`.
  StampAt stamp_at() const noexcept { return stamp_at_; }
  std::uint32_t controls_refused() const noexcept { return controls_refused_; }

 private:
  struct Control;
  struct Buffer {
    void* memory = nullptr;
    std::size_t length = 0;
  };
  bool refuse(CameraEvent& why, const char* what, int error, double wanted = 0, double got = 0) noexcept;
  bool set_format(CameraEvent& why) noexcept;
  void set_rate(EventQueue& said) noexcept;
  void set_controls() noexcept;
  void check_controls(EventQueue& said) noexcept;
  bool map_buffers(CameraEvent& why) noexcept;
  std::array<Control, 9> wanted_controls() const noexcept;

  const V4l2Params& params_;
  DeviceCalls& calls_;
  int fd_ = -1;
  DeviceInfo device_;
  PixelLayout layout_;
  std::array<Buffer, kMaxBuffers> buffers_{};
  std::array<int, 9> control_errors_{};
  std::int64_t period_ns_ = 0, exposure_ns_ = 0;
  StampAt stamp_at_ = StampAt::device;
  std::uint32_t controls_refused_ = 0;
};

}  // namespace ligature::drivers
