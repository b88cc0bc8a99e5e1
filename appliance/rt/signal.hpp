#pragma once
/// How a real-time thread waits for a neighbour without a lock: an event count on a futex, and a Link that joins it
/// with a triple buffer.
#include <atomic>
#include <cstdint>

#include "appliance/rt/clock.hpp"
#include "appliance/rt/triple_buffer.hpp"

namespace ligature::rt {

/// Event count. Any thread notifies; any thread waits. A notification between prepare() and wait() is never lost:
///
///   for (;;) {
///     const std::uint32_t seen = signal.prepare();
///     if (condition) break;
///     if (!signal.wait(seen, deadline)) break;   // time-out
///   }
class Signal {
 public:
  Signal() = default;
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  /// Wakes every waiter. @rt wait-free; one system call, and only when somebody waits
  void notify() noexcept;
  /// What to hand to wait(). Look at the condition after this, never before.
  std::uint32_t prepare() const noexcept { return epoch_.load(std::memory_order_seq_cst); }
  /// Sleeps until notified since prepare(), or until the absolute CLOCK_MONOTONIC deadline. False = deadline passed.
  bool wait(std::uint32_t seen, std::int64_t deadline_ns = kNever) noexcept;

 private:
  std::atomic<std::uint32_t> epoch_{0};
  std::atomic<std::uint32_t> waiters_{0};
};

enum class LinkMode : std::uint8_t {
  newest,    ///< realtime: publish never waits, the reader gets the newest and may miss some
  lossless,  ///< lockstep: publish waits until the reader has taken the value before, so the reader gets every one
};

enum class Take : std::uint8_t { value, timeout, closed, stopped };

/// One writer thread, one reader thread. A triple buffer that can be waited for, that ends, and that can be made
/// lossless.
template <class T, class Byte = AcquireRelease>
class Link {
 public:
  /// @param reader_signal  notified on publish, close and stop; give several links one signal to wait for all of them
  explicit Link(LinkMode mode, Signal* reader_signal = nullptr)
      : mode_(mode), readable_(reader_signal != nullptr ? reader_signal : &own_readable_) {}

  // Writer's methods: one thread.

  /// The slot to fill, whole, before publish().
  T& back() noexcept { return buffer_.back(); }
  /// Hands back() over. Lossless: waits first until the reader has taken the value before.
  /// False = stopped (or the deadline passed, lossless only): nothing was handed over, back() is still the same slot.
  bool publish(std::int64_t deadline_ns = kNever) noexcept {
    if (mode_ == LinkMode::lossless && !wait_until_taken(deadline_ns)) return false;
    if (stopped()) return false;
    published_.store(published_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    buffer_.publish();
    readable_->notify();
    return true;
  }
  /// End of the stream: the reader gets what was published, then Take::closed.
  void close() noexcept {
    closed_.store(true, std::memory_order_release);
    readable_->notify();
  }

  // Reader's methods: one thread.

  /// Takes the newest value without waiting; false = nothing new.
  bool fetch() noexcept {
    if (!buffer_.fetch()) return false;
    consumed_.store(consumed_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    if (mode_ == LinkMode::lossless) writable_.notify();
    return true;
  }
  /// Waits for a value until the absolute CLOCK_MONOTONIC deadline. `stopped` wins over a waiting value.
  Take take(std::int64_t deadline_ns = kNever) noexcept {
    for (;;) {
      const std::uint32_t seen = readable_->prepare();
      if (stopped()) return Take::stopped;
      if (fetch()) return Take::value;
      // close() comes after the last publish(): once it is seen, one more fetch() sees that value too.
      if (closed_.load(std::memory_order_acquire)) return fetch() ? Take::value : Take::closed;
      if (!readable_->wait(seen, deadline_ns)) return fetch() ? Take::value : Take::timeout;
    }
  }
  /// The value taken last; T{} before the first.
  const T& front() const noexcept { return buffer_.front(); }
  /// Nothing is left: closed, and the last value was taken. For readers that fetch() several links.
  bool drained() const noexcept { return closed_.load(std::memory_order_acquire) && !buffer_.pending(); }
  /// For a reader that waits for several links: prepare() before looking, wait() after finding nothing.
  Signal& readable() noexcept { return *readable_; }

  // Anybody's methods.

  /// Wakes both sides; publish() and take() fail from now on.
  void stop() noexcept {
    stopped_.store(true, std::memory_order_release);
    readable_->notify();
    writable_.notify();
  }
  bool stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }
  bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  std::uint64_t published() const noexcept { return published_.load(std::memory_order_relaxed); }
  std::uint64_t consumed() const noexcept { return consumed_.load(std::memory_order_relaxed); }
  LinkMode mode() const noexcept { return mode_; }
  TripleBuffer<T, Byte>& buffer() noexcept { return buffer_; }  ///< start only: for_each_slot

 private:
  bool wait_until_taken(std::int64_t deadline_ns) noexcept {
    for (;;) {
      const std::uint32_t seen = writable_.prepare();
      if (stopped()) return false;
      if (consumed_.load(std::memory_order_acquire) == published_.load(std::memory_order_relaxed)) return true;
      if (!writable_.wait(seen, deadline_ns)) return false;
    }
  }

  TripleBuffer<T, Byte> buffer_;
  const LinkMode mode_;
  Signal* const readable_;
  Signal own_readable_, writable_;
  alignas(64) std::atomic<std::uint64_t> published_{0};
  alignas(64) std::atomic<std::uint64_t> consumed_{0};
  std::atomic<bool> closed_{false}, stopped_{false};
};

}  // namespace ligature::rt
