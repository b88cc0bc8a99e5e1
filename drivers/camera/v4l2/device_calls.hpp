#pragma once
/// Everything that a V4L2 camera asks of the operating system, in one small interface: the kernel stands behind it, or
/// in the tests a device that can be made to fail in every way.
///
/// Numbers follow the kernel's own habit: negative = -errno. @rt no allocation of our own; calls may sleep in the
/// kernel, on the camera's thread only, and are exempt by name as all of FrameSource::next() is.
#include <cstddef>
#include <cstdint>

namespace ligature::drivers {

class DeviceCalls {
 public:
  virtual ~DeviceCalls() = default;
  /// @return descriptor, opened for reading and writing, not blocking
  virtual int open(const char* node) noexcept = 0;
  virtual int close(int fd) noexcept = 0;
  /// Repeats itself when a signal interrupts it.
  virtual int ioctl(int fd, unsigned long request, void* argument) noexcept = 0;
  /// @return null when it fails
  virtual void* map(int fd, std::size_t length, std::int64_t offset) noexcept = 0;
  virtual void unmap(void* memory, std::size_t length) noexcept = 0;
  /// Waits until an image is there. @param fd -1: only waits. @return poll's revents, 0 after the time
  virtual int poll(int fd, int timeout_ms) noexcept = 0;
  /// CLOCK_MONOTONIC
  virtual std::int64_t now_ns() noexcept = 0;
  /// Where a symbolic link leads, one step, ended by 0. @return length
  virtual int read_link(const char* path, char* to, std::size_t size) noexcept = 0;
  /// The first line of a small file, ended by 0. @return length
  virtual int read_line(const char* path, char* to, std::size_t size) noexcept = 0;
};

/// The kernel. One for the whole process; stateless, for any thread.
DeviceCalls& kernel_calls();

}  // namespace ligature::drivers
