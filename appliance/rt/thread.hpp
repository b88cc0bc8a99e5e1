#pragma once
/// Threads that ask the machine for real-time treatment, read back what they got, and say so.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "sim/base/result.hpp"

namespace ligature::rt {

enum class Policy : std::uint8_t { other, fifo };
const char* name_of(Policy policy);  ///< "other" | "fifo", as in profiles and reports

struct ThreadSettings {
  std::string name;  ///< at most 15 characters reach the kernel
  Policy policy = Policy::other;
  int priority = 0;                    ///< 1..99 with fifo; ignored with other
  int core = -1;                       ///< -1 = any
  std::size_t stack_bytes = 2u << 20;  ///< touched whole at start
};

/// What was asked for and what the kernel says it gave, read back from it.
struct GrantReport {
  std::string name;
  Policy requested_policy = Policy::other, granted_policy = Policy::other;
  int requested_priority = 0, granted_priority = 0;
  int requested_core = -1, granted_core = -1;  ///< granted -1 = may run on several
  bool granted = false;                        ///< everything asked for was given
  std::string why;                             ///< empty, or what was refused, the errno and the line that mends it
};

/// A thread with a function to run. start() and join() from one thread, the owner's.
class RtThread {
 public:
  RtThread() = default;
  ~RtThread() { join(); }
  RtThread(const RtThread&) = delete;
  RtThread& operator=(const RtThread&) = delete;

  /// Creates the thread, lets it set itself up and waits for its report; `body` runs right after. A machine that
  /// grants nothing is no error: see grant(). Errors: the thread could not be created (unavailable).
  Result<void> start(const ThreadSettings& settings, std::function<void()> body);
  /// Waits for body to return. Nothing when not started.
  void join();
  bool running() const { return joinable_; }
  const GrantReport& grant() const { return grant_; }

 private:
  struct Launch;
  static void* enter(void* launch);
  unsigned long handle_ = 0;
  bool joinable_ = false;
  GrantReport grant_;
};

/// Applies policy, priority, core, name and timer slack to the calling thread and reads them back.
GrantReport apply_to_this_thread(const ThreadSettings& settings);

struct MemoryReport {
  bool locked = false;
  std::size_t heap_touched_bytes = 0;
  std::string why;  ///< empty, or why memory is not locked and the line that mends it
};

/// Keeps the heap in the process (no trimming, no mmap per block), touches `heap_bytes` of it, and locks all memory,
/// present and future, when the limit is unlimited or the privilege is there. With a finite RLIMIT_MEMLOCK it does not
/// try: locking future mappings under a limit makes later allocations fail, which is worse than a page fault.
MemoryReport lock_memory(std::size_t heap_bytes);

/// Keeps the cores out of idle states that take long to leave, while it lives: the kernel's PM QoS holds the wish as
/// long as the file stays open. Source: Documentation/power/pm_qos_interface.rst of the kernel.
class WakeLatencyHold {
 public:
  /// @param file of the kernel; another one in tests
  explicit WakeLatencyHold(const std::string& file = "/dev/cpu_dma_latency");
  ~WakeLatencyHold();
  WakeLatencyHold(const WakeLatencyHold&) = delete;
  WakeLatencyHold& operator=(const WakeLatencyHold&) = delete;
  bool held() const { return fd_ >= 0; }
  const std::string& why() const { return why_; }  ///< empty, or why not and the line that mends it

 private:
  int fd_ = -1;
  std::string why_;
};

}  // namespace ligature::rt
