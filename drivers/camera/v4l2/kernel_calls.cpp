#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "drivers/camera/v4l2/device_calls.hpp"

namespace ligature::drivers {
namespace {

int ended(char* text, std::size_t length) {
  while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' ')) --length;
  text[length] = 0;
  return static_cast<int>(length);
}

class KernelCalls final : public DeviceCalls {
 public:
  int open(const char* node) noexcept override {
    const int fd = ::open(node, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
  }
  int close(int fd) noexcept override { return ::close(fd) < 0 ? -errno : 0; }
  int ioctl(int fd, unsigned long request, void* argument) noexcept override {
    int got = -1;
    for (int again = 0; again < 100; ++again) {
      got = ::ioctl(fd, request, argument);
      if (got >= 0 || errno != EINTR) break;
    }
    return got < 0 ? -errno : got;
  }
  void* map(int fd, std::size_t length, std::int64_t offset) noexcept override {
    void* memory = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
    return memory == MAP_FAILED ? nullptr : memory;
  }
  void unmap(void* memory, std::size_t length) noexcept override { ::munmap(memory, length); }
  int poll(int fd, int timeout_ms) noexcept override {
    pollfd one{fd, POLLIN, 0};
    const int ready = ::poll(&one, 1, timeout_ms);
    if (ready < 0) return errno == EINTR ? 0 : -errno;
    return ready == 0 ? 0 : one.revents;
  }
  std::int64_t now_ns() noexcept override {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }
  int read_link(const char* path, char* to, std::size_t size) noexcept override {
    const ssize_t length = ::readlink(path, to, size - 1);
    if (length < 0) return -errno;
    to[length] = 0;
    return static_cast<int>(length);
  }
  int read_line(const char* path, char* to, std::size_t size) noexcept override {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -errno;
    const ssize_t length = ::read(fd, to, size - 1);
    const int error = errno;
    ::close(fd);
    if (length < 0) return -error;
    to[length] = 0;
    if (char* end = std::strchr(to, '\n')) *end = 0;
    return ended(to, std::strlen(to));
  }
};

}  // namespace

DeviceCalls& kernel_calls() {
  static KernelCalls calls;
  return calls;
}

}  // namespace ligature::drivers
