#pragma once
/// A ring of N records from one real-time thread to one other: never blocks, and counts what did not fit.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace ligature::rt {

/// One thread pushes, one thread pops. N is a power of two.
/// @rt push and pop: wait-free, no allocation
template <class T, std::size_t N>
class SpscRing {
  static_assert(N >= 2 && (N & (N - 1)) == 0, "capacity must be a power of two");
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static constexpr std::size_t capacity() { return N; }

  /// Producer. False, counted, and nothing stored when the consumer is N records behind.
  bool push(const T& record) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - seen_tail_ == N) {
      seen_tail_ = tail_.load(std::memory_order_acquire);
      if (head - seen_tail_ == N) {
        overflow_.store(overflow_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return false;
      }
    }
    records_[head & (N - 1)] = record;
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

  /// Consumer. False when empty.
  bool pop(T& record) noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail == seen_head_) {
      seen_head_ = head_.load(std::memory_order_acquire);
      if (tail == seen_head_) return false;
    }
    record = records_[tail & (N - 1)];
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  /// Anybody: records refused so far.
  std::uint64_t overflow() const noexcept { return overflow_.load(std::memory_order_relaxed); }

 private:
  alignas(64) std::atomic<std::uint64_t> head_{0};
  std::uint64_t seen_tail_ = 0;  // producer's
  std::atomic<std::uint64_t> overflow_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  std::uint64_t seen_head_ = 0;  // consumer's
  alignas(64) std::array<T, N> records_{};
};

}  // namespace ligature::rt
