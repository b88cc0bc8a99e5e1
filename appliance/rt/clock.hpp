#pragma once
/// The one clock of the real-time threads: CLOCK_MONOTONIC in nanoseconds, a watch on the clocks that may jump,
/// and what a thread spends.
#include <cstdint>
#include <optional>

namespace ligature::rt {

inline constexpr std::int64_t kNever = INT64_MAX;  ///< a deadline that never comes
inline constexpr std::int64_t kNsPerUs = 1'000, kNsPerMs = 1'000'000, kNsPerS = 1'000'000'000;

/// CLOCK_MONOTONIC [ns]. @rt vDSO, no system call
std::int64_t monotonic_now_ns() noexcept;
std::int64_t realtime_now_ns() noexcept;
std::int64_t boottime_now_ns() noexcept;
/// What the calling thread has had of its core: waiting for others does not lengthen it, sharing caches with them does.
std::int64_t processor_now_ns() noexcept;

/// Sleeps until the absolute CLOCK_MONOTONIC time; at once when it is past. Signals do not cut it short.
void sleep_until(std::int64_t monotonic_ns) noexcept;

/// The next point of the phase grid start + n * period after `now`: an overrun loses points, never the phase.
constexpr std::int64_t next_on_grid(std::int64_t start_ns, std::int64_t period_ns, std::int64_t now_ns) {
  if (now_ns < start_ns) return start_ns;
  return start_ns + ((now_ns - start_ns) / period_ns + 1) * period_ns;
}

/// Notices that the wall clock was set, or that the machine slept, between two looks. Used by one thread.
class ClockWatch {
 public:
  struct Jump {
    std::int64_t wall_ns = 0;       ///< the wall clock moved by this much more than time passed; 0 = it did not
    std::int64_t suspended_ns = 0;  ///< the machine slept this long; 0 = it did not
  };
  /// @param tolerance_ns slower drift than this between two looks is a disciplined clock, not a jump
  explicit ClockWatch(std::int64_t tolerance_ns = 50 * kNsPerMs) : tolerance_ns_(tolerance_ns) {}

  /// Looks at the real clocks.
  std::optional<Jump> look() noexcept;
  /// The same with given clock values, for replay and tests.
  std::optional<Jump> look(std::int64_t monotonic_ns, std::int64_t realtime_ns, std::int64_t boottime_ns) noexcept;

 private:
  std::int64_t tolerance_ns_;
  bool seen_ = false;
  std::int64_t wall_offset_ns_ = 0, boot_offset_ns_ = 0;
};

}  // namespace ligature::rt
