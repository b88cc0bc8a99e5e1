#include "appliance/rt/thread.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <semaphore>
#include <utility>

namespace ligature::rt {
namespace {

constexpr std::size_t kSmallestStack = 256u << 10;
// The C library keeps thread-local storage inside the stack; sanitizers have a lot of it.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kThreadLocal = 4u << 20;
#else
constexpr std::size_t kThreadLocal = 256u << 10;
#endif

/// "EPERM (Operation not permitted)"
std::string explain(int error) {
  const char* name = strerrorname_np(error);
  return std::string(name != nullptr ? name : "errno") + " (" + std::strerror(error) + ")";
}

void add(std::string& why, const std::string& text) {
  if (!why.empty()) why += "; ";
  why += text;
}

/// Both masks come from the kernel, so a cpuset or a container's limit shows up here.
int single_core(const cpu_set_t& mask) {
  if (CPU_COUNT(&mask) != 1) return -1;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &mask)) return core;
  return -1;
}

std::string cores_in(const cpu_set_t& mask) {
  std::string text;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &mask)) text += (text.empty() ? "" : ",") + std::to_string(core);
  return text;
}

bool has_capability(unsigned bit) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("CapEff:", 0) == 0) return ((std::strtoull(line.c_str() + 7, nullptr, 16) >> bit) & 1u) != 0;
  return false;
}

/// Touches every page of this thread's stack below the current frame, so that none faults later. The extent comes from
/// the thread library, because thread-local storage takes a part of the stack that nobody can guess.
#if defined(__SANITIZE_ADDRESS__)
__attribute__((no_sanitize_address))
#endif
__attribute__((noinline)) void
touch_stack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* lowest = nullptr;
  std::size_t bytes = 0;
  pthread_attr_getstack(&attributes, &lowest, &bytes);
  pthread_attr_destroy(&attributes);
  const auto low = reinterpret_cast<std::uintptr_t>(lowest);
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  constexpr std::uintptr_t kPage = 4096;
  if (here < low + 2 * kPage || here > low + bytes) return;
  for (std::uintptr_t page = low; page + 2 * kPage < here; page += kPage) {
    auto* byte = reinterpret_cast<volatile char*>(page);
    *byte = *byte;
  }
}

}  // namespace

const char* name_of(Policy policy) {
  return policy == Policy::fifo ? "fifo" : "other";
}

GrantReport apply_to_this_thread(const ThreadSettings& settings) {
  GrantReport report;
  report.name = settings.name;
  report.requested_policy = settings.policy;
  report.requested_priority = settings.policy == Policy::fifo ? settings.priority : 0;
  report.requested_core = settings.core;
  prctl(PR_SET_NAME, settings.name.substr(0, 15).c_str(), 0, 0, 0);
  prctl(PR_SET_TIMERSLACK, 1ul, 0, 0, 0);

  if (settings.core >= 0) {
    cpu_set_t before;
    CPU_ZERO(&before);
    sched_getaffinity(0, sizeof before, &before);
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    if (settings.core < CPU_SETSIZE) CPU_SET(settings.core, &wanted);
    if (sched_setaffinity(0, sizeof wanted, &wanted) != 0)
      add(report.why, "core " + std::to_string(settings.core) + " refused, " + explain(errno) + ": choose one of " +
                          cores_in(before) + " in the profile");
  }

  const sched_param parameter{report.requested_priority};
  const int policy = settings.policy == Policy::fifo ? SCHED_FIFO : SCHED_OTHER;
  if (sched_setscheduler(0, policy, &parameter) != 0) {
    const int error = errno;
    add(report.why, std::string(name_of(settings.policy)) + " priority " + std::to_string(report.requested_priority) +
                        " refused, " + explain(error) + ": " +
                        (error == EINVAL ? "priority must be 1..99"
                                         : "grant it with 'LimitRTPRIO=99' in the unit, or '@ligature - rtprio 99' in "
                                           "/etc/security/limits.d/ligature.conf, or run as root"));
  }

  // Read back: a call that succeeds is a promise, what the kernel answers now is the fact.
  const int granted_policy = sched_getscheduler(0);
  sched_param granted_parameter{};
  sched_getparam(0, &granted_parameter);
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  report.granted_policy = (granted_policy & ~SCHED_RESET_ON_FORK) == SCHED_FIFO ? Policy::fifo : Policy::other;
  report.granted_priority = granted_parameter.sched_priority;
  report.granted_core = single_core(mask);
  report.granted = report.granted_policy == report.requested_policy &&
                   report.granted_priority == report.requested_priority &&
                   (settings.core < 0 || report.granted_core == settings.core);
  if (!report.granted && report.why.empty())
    report.why = "the kernel accepted the settings but reads back " + std::string(name_of(report.granted_policy)) +
                 " priority " + std::to_string(report.granted_priority) + " core " +
                 std::to_string(report.granted_core) + ": look at cgroups and cpusets";
  return report;
}

struct RtThread::Launch {
  ThreadSettings settings;
  std::function<void()> body;
  GrantReport grant;
  std::binary_semaphore ready{0};
};

void* RtThread::enter(void* launch_pointer) {
  Launch& launch = *static_cast<Launch*>(launch_pointer);
  launch.grant = apply_to_this_thread(launch.settings);
  touch_stack();
  const std::function<void()> body = std::move(launch.body);
  launch.ready.release();  // `launch` belongs to start() again
  body();
  return nullptr;
}

Result<void> RtThread::start(const ThreadSettings& settings, std::function<void()> body) {
  if (joinable_) return failure("thread '" + settings.name + "' runs already: join it first");
  Launch launch{settings, std::move(body), {}};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::max(settings.stack_bytes, kSmallestStack) + kThreadLocal);
  pthread_t handle{};
  const int error = pthread_create(&handle, &attributes, &RtThread::enter, &launch);
  pthread_attr_destroy(&attributes);
  if (error != 0)
    return unavailable("thread '" + settings.name + "' cannot be created, " + explain(error) +
                       ": raise the limit on threads or memory (ulimit -u, ulimit -l)");
  handle_ = handle;
  joinable_ = true;
  launch.ready.acquire();
  grant_ = std::move(launch.grant);
  return {};
}

void RtThread::join() {
  if (!joinable_) return;
  pthread_join(handle_, nullptr);
  joinable_ = false;
}

MemoryReport lock_memory(std::size_t heap_bytes) {
  MemoryReport report;
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_MMAP_MAX, 0);

  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  constexpr unsigned kCapIpcLock = 14;
  if (limit.rlim_cur != RLIM_INFINITY && !has_capability(kCapIpcLock)) {
    report.why = "memory is not locked, ENOMEM to come: RLIMIT_MEMLOCK is " + std::to_string(limit.rlim_cur >> 20) +
                 " MiB: grant it with 'LimitMEMLOCK=infinity' in the unit, or '@ligature - memlock unlimited' in "
                 "/etc/security/limits.d/ligature.conf";
  } else if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    report.why = "memory is not locked, " + explain(errno) + ": free memory or grant CAP_IPC_LOCK ('ligature doctor')";
  } else {
    report.locked = true;
  }
  if (heap_bytes > 0) {
    if (char* heap = static_cast<char*>(std::malloc(heap_bytes)); heap != nullptr) {
      for (std::size_t i = 0; i < heap_bytes; i += 4096) *const_cast<volatile char*>(heap + i) = 0;
      std::free(heap);
      report.heap_touched_bytes = heap_bytes;
    }
  }
  return report;
}

WakeLatencyHold::WakeLatencyHold(const std::string& file) : fd_(open(file.c_str(), O_WRONLY | O_CLOEXEC)) {
  const std::int32_t microseconds = 0;
  int error = errno;
  if (fd_ >= 0) {
    if (write(fd_, &microseconds, sizeof microseconds) == static_cast<ssize_t>(sizeof microseconds)) return;
    error = errno;
    close(std::exchange(fd_, -1));
  }
  why_ = file + " is not ours to hold, " + explain(error) + ": chgrp ligature " + file + " && chmod g+rw " + file +
         ", or idle cores wake late";
}

WakeLatencyHold::~WakeLatencyHold() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace ligature::rt
