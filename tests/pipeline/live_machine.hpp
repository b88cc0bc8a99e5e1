#pragma once
/// The fake machine of tests/drivers/v4l2 on the real clock: its cameras expose, wait and are unplugged as time passes,
/// and camera threads of a whole appliance may call it at once.
#include <mutex>

#include "appliance/rt/clock.hpp"
#include "appliance/rt/thread.hpp"
#include "tests/drivers/v4l2/fake_device.hpp"

namespace ligature::appliance::testing {

class LiveMachine final : public drivers::DeviceCalls {
  std::mutex mutex_;
  template <class F>
  auto locked(F f) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    fake.time_ns = rt::monotonic_now_ns();
    return f();
  }

 public:
  drivers::testing::FakeMachine fake;

  int open(const char* node) noexcept override {
    return locked([&] { return fake.open(node); });
  }
  int close(int fd) noexcept override {
    return locked([&] { return fake.close(fd); });
  }
  int ioctl(int fd, unsigned long request, void* argument) noexcept override {
    return locked([&] { return fake.ioctl(fd, request, argument); });
  }
  void* map(int fd, std::size_t length, std::int64_t offset) noexcept override {
    return locked([&] { return fake.map(fd, length, offset); });
  }
  void unmap(void* memory, std::size_t length) noexcept override {
    locked([&] { return fake.unmap(memory, length), 0; });
  }
  std::int64_t now_ns() noexcept override { return rt::monotonic_now_ns(); }
  int read_link(const char* path, char* to, std::size_t size) noexcept override {
    return locked([&] { return fake.read_link(path, to, size); });
  }
  int read_line(const char* path, char* to, std::size_t size) noexcept override {
    return locked([&] { return fake.read_line(path, to, size); });
  }
  int poll(int fd, int timeout_ms) noexcept override {
    const std::int64_t until = now_ns() + std::int64_t{timeout_ms} * 1'000'000;
    for (;;) {
      if (fd >= 0)
        if (const int ready = locked([&] { return fake.poll(fd, 0); }); ready != 0) return ready;
      const std::int64_t now = now_ns();
      if (now >= until) return 0;
      rt::sleep_until(std::min(until, now + 1'000'000));
    }
  }
};

}  // namespace ligature::appliance::testing
