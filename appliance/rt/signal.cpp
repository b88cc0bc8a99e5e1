#include "appliance/rt/signal.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace ligature::rt {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* until) noexcept {
  return syscall(SYS_futex, &word, operation, value, until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

}  // namespace

void Signal::notify() noexcept {
  // Both sides write their own word and read the other's in one total order: either the waiter is seen here and woken,
  // or it sees the new epoch before it sleeps.
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (waiters_.load(std::memory_order_seq_cst) != 0) futex(epoch_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr);
}

bool Signal::wait(std::uint32_t seen, std::int64_t deadline_ns) noexcept {
  // WAIT_BITSET, because plain WAIT takes a relative time, which a signal would restart.
  const timespec until{deadline_ns / kNsPerS, deadline_ns % kNsPerS};
  const bool past = deadline_ns <= 0;
  bool notified = true;
  waiters_.fetch_add(1, std::memory_order_seq_cst);
  while (epoch_.load(std::memory_order_seq_cst) == seen) {
    if (past || (futex(epoch_, FUTEX_WAIT_BITSET_PRIVATE, seen, deadline_ns == kNever ? nullptr : &until) == -1 &&
                 errno == ETIMEDOUT)) {
      notified = epoch_.load(std::memory_order_seq_cst) != seen;
      break;
    }
  }
  waiters_.fetch_sub(1, std::memory_order_seq_cst);
  return notified;
}

}  // namespace ligature::rt
