#pragma once
/// Durations in fixed memory: log-linear buckets, written by one real-time thread, read by anybody while it runs.
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace ligature::watchdog {

/// Where a duration [ns] falls.
struct LogBuckets {
  static constexpr int kBits = 6;
  static constexpr std::size_t kPerOctave = std::size_t{1} << kBits;
  static constexpr std::uint64_t kLongest = 10'000'000'000;

  static constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
    if (value > kLongest) value = kLongest;
    if (value < 2 * kPerOctave) return static_cast<std::size_t>(value);
    const int shift = static_cast<int>(std::bit_width(value)) - kBits - 1;
    return static_cast<std::size_t>(shift) * kPerOctave + static_cast<std::size_t>(value >> shift);
  }
  /// Middle of the bucket [ns].
  static constexpr std::int64_t middle_of(std::size_t bucket) noexcept {
    if (bucket < 2 * kPerOctave) return static_cast<std::int64_t>(bucket);
    const std::size_t shift = bucket / kPerOctave - 1;
    const std::uint64_t low = static_cast<std::uint64_t>(bucket - shift * kPerOctave) << shift;
    return static_cast<std::int64_t>(low + ((std::uint64_t{1} << shift) - 1) / 2);
  }
};

/// Covers 0 .. 10 s in nanoseconds: exact up to 127 ns, then 64 buckets per octave, so that a percentile is within
/// 0.8 % of the true one. Longer ones land in the last bucket; the maximum is always exact.
/// One writer; readers see a recent state (relaxed atomics), whose counts never go back.
class Histogram {
 public:
  static constexpr std::size_t kBuckets = LogBuckets::bucket_of(LogBuckets::kLongest) + 1;

  /// Negative counts as 0. @rt bounded, no lock, no allocation
  void record(std::int64_t ns) noexcept {
    const auto value = static_cast<std::uint64_t>(ns < 0 ? 0 : ns);
    bump(buckets_[LogBuckets::bucket_of(value)]);
    bump(count_);
    if (value > max_.load(std::memory_order_relaxed)) max_.store(value, std::memory_order_relaxed);
  }

  std::uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  /// Exact. 0 when empty.
  std::int64_t max_ns() const noexcept { return static_cast<std::int64_t>(max_.load(std::memory_order_relaxed)); }
  /// The smallest recorded duration that at least `fraction` of all do not exceed, to within half a bucket; 0 when
  /// empty.
  /// @param fraction 0..1
  std::int64_t percentile_ns(double fraction) const noexcept;

 private:
  template <class Integer>
  static void bump(std::atomic<Integer>& counter) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // one writer: no RMW needed
  }

  std::array<std::atomic<std::uint32_t>, kBuckets> buckets_{};
  std::atomic<std::uint64_t> count_{0}, max_{0};
};

}  // namespace ligature::watchdog
