#include "appliance/rt/clock.hpp"

#include <cerrno>
#include <cstdlib>
#include <ctime>

namespace ligature::rt {
namespace {

std::int64_t read_clock(clockid_t id) noexcept {
  timespec now{};
  clock_gettime(id, &now);
  return std::int64_t{now.tv_sec} * kNsPerS + now.tv_nsec;
}

}  // namespace

std::int64_t monotonic_now_ns() noexcept {
  return read_clock(CLOCK_MONOTONIC);
}
std::int64_t realtime_now_ns() noexcept {
  return read_clock(CLOCK_REALTIME);
}
std::int64_t boottime_now_ns() noexcept {
  return read_clock(CLOCK_BOOTTIME);
}
std::int64_t processor_now_ns() noexcept {
  return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void sleep_until(std::int64_t monotonic_ns) noexcept {
  if (monotonic_ns <= 0) return;
  const timespec until{monotonic_ns / kNsPerS, monotonic_ns % kNsPerS};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

std::optional<ClockWatch::Jump> ClockWatch::look() noexcept {
  // A preemption between the reads would look like a jump: bracket them and take the middle.
  const std::int64_t before = monotonic_now_ns();
  const std::int64_t wall = realtime_now_ns(), boot = boottime_now_ns();
  const std::int64_t after = monotonic_now_ns();
  if (after - before > tolerance_ns_ / 4) return std::nullopt;
  return look(before + (after - before) / 2, wall, boot);
}

std::optional<ClockWatch::Jump> ClockWatch::look(std::int64_t monotonic_ns, std::int64_t realtime_ns,
                                                 std::int64_t boottime_ns) noexcept {
  const std::int64_t wall_offset = realtime_ns - monotonic_ns, boot_offset = boottime_ns - monotonic_ns;
  Jump jump;
  if (seen_) {
    const std::int64_t slept = boot_offset - boot_offset_ns_;
    if (slept > tolerance_ns_) jump.suspended_ns = slept;
    // The wall clock runs on while the machine sleeps: only what is beyond that was set.
    const std::int64_t set = wall_offset - wall_offset_ns_ - slept;
    if (set > tolerance_ns_ || set < -tolerance_ns_) jump.wall_ns = set;
  }
  seen_ = true;
  wall_offset_ns_ = wall_offset;
  boot_offset_ns_ = boot_offset;
  if (jump.wall_ns == 0 && jump.suspended_ns == 0) return std::nullopt;
  return jump;
}

}  // namespace ligature::rt
