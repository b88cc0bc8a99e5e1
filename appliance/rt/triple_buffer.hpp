#pragma once
/// Three slots and one shared byte: the newest complete value goes from one writer to one reader, wait-free on both
/// sides.
///
///   writer owns `back`  --exchange-->  the byte names the middle slot  <--exchange--  reader owns `front`
///
/// The byte holds the index of the middle slot and a dirty bit ("newer than what the reader has"). Each side owns its
/// slot outright and trades it for the middle one in a single exchange, so back, middle and front are a permutation of
/// 0, 1, 2 at every instant and no slot ever has two owners.
///
/// Why acq_rel on both sides: the writer's exchange releases what it wrote into the slot and acquires what the reader
/// gave back (the reader must be done reading before the slot is written again); the reader's exchange is the mirror
/// image. No fence is needed, because the byte is the only thing both sides touch.
///
/// Proved in tests/appliance: every interleaving of short runs, relacy's memory model, a stress under ThreadSanitizer,
/// and the relaxed ordering, which both checkers must reject.
#include <array>
#include <atomic>
#include <cstdint>

namespace ligature::rt {

/// The shared byte in the given memory order. A template parameter so that the checkers can run the very same buffer
/// over their own atomics, and over an ordering that is known to be wrong.
template <std::memory_order order>
class OrderedByte {
 public:
  explicit OrderedByte(std::uint8_t value) : byte_(value) {}
  std::uint8_t exchange(std::uint8_t value) noexcept { return byte_.exchange(value, order); }
  std::uint8_t peek() const noexcept { return byte_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint8_t> byte_;
  static_assert(std::atomic<std::uint8_t>::is_always_lock_free);
};
using AcquireRelease = OrderedByte<std::memory_order_acq_rel>;
using BrokenRelaxed = OrderedByte<std::memory_order_relaxed>;  ///< wrong on purpose; only for the tests that must fail

/// One thread calls the writer's methods, one thread the reader's; they may be the same thread.
/// @rt all methods: wait-free, no allocation, no system call
template <class T, class Byte = AcquireRelease>
class TripleBuffer {
 public:
  TripleBuffer() : middle_(1) {}
  TripleBuffer(const TripleBuffer&) = delete;
  TripleBuffer& operator=(const TripleBuffer&) = delete;

  /// Writer: the slot to fill. Holds an old value after publish(): write it whole.
  T& back() noexcept { return slots_[back_].value; }

  /// Writer: hands back() to the reader as the newest value; back() is another slot afterwards.
  void publish() {
    back_ = static_cast<std::uint8_t>(middle_.exchange(static_cast<std::uint8_t>(back_ | kDirty)) & kIndex);
  }

  /// Reader: makes the newest value front(). False, and front() unchanged, when nothing new was published.
  bool fetch() {
    // Only the reader clears the dirty bit, so a stale peek can cost one round and never a value.
    if ((middle_.peek() & kDirty) == 0) return false;
    front_ = static_cast<std::uint8_t>(middle_.exchange(front_) & kIndex);
    return true;
  }

  /// Reader: the value of the last successful fetch(); T{} before the first.
  const T& front() const noexcept { return slots_[front_].value; }

  /// Reader: fetch() would succeed.
  bool pending() const noexcept { return (middle_.peek() & kDirty) != 0; }

  /// Start only, before the threads run: the three slots, to reserve memory inside T.
  template <class Function>
  void for_each_slot(Function&& function) {
    for (Slot& slot : slots_) function(slot.value);
  }

 private:
  static constexpr std::uint8_t kIndex = 3, kDirty = 4;
  struct alignas(64) Slot {
    T value{};
  };
  std::array<Slot, 3> slots_;
  alignas(64) std::uint8_t back_ = 0;   // writer's
  alignas(64) Byte middle_;             // shared
  alignas(64) std::uint8_t front_ = 2;  // reader's
};

}  // namespace ligature::rt
