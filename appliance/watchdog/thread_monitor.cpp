#include "appliance/watchdog/thread_monitor.hpp"

#include <algorithm>
#include <cstring>

namespace ligature::watchdog {
namespace {

constexpr const char* kLateWake = "late wake";
constexpr const char* kWaited = "waited for";
constexpr const char* kStage = "stage";
constexpr const char* kInjected = "injected";
constexpr const char* kBehind = "behind after";
constexpr const char* kOther = "other";

std::string spell(const char* kind, const char* name) {
  return *name == '\0' ? std::string(kind) : std::string(kind) + " " + name;
}
/// Literals of one text may live at several addresses.
bool same(const char* a, const char* b) noexcept {
  return a == b || std::strcmp(a, b) == 0;
}

template <class Integer>
void bump(std::atomic<Integer>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

std::string cause_name(const MissRecord& miss) {
  return spell(miss.kind, miss.part);
}

void ThreadMonitor::begin(std::int64_t due_ns, std::int64_t now_ns) noexcept {
  due_ns_ = due_ns < now_ns ? due_ns : now_ns;
  begin_ns_ = mark_ns_ = now_ns;
  // The one before ran until then: so late it could not but be.
  const std::int64_t free_ns = std::clamp(end_ns_, due_ns_, begin_ns_);
  worst_ = {kLateWake, "", begin_ns_ - free_ns};
  if (free_ns > due_ns_) consider(kBehind, behind_, free_ns - due_ns_);
  injected_ = {};
  contacts_ = iterations_ = 0;
}

void ThreadMonitor::consider(const char* kind, const char* name, std::int64_t ns) noexcept {
  if (ns > worst_.ns) worst_ = {kind, name, ns};
}

void ThreadMonitor::stage(const char* name, std::int64_t now_ns) noexcept {
  const std::int64_t ns = now_ns - mark_ns_;
  mark_ns_ = now_ns;
  stage_of(name, ns);
}

void ThreadMonitor::stage_of(const char* name, std::int64_t duration_ns) noexcept {
  record_stage(name, duration_ns);
  consider(kStage, name, duration_ns);
}

void ThreadMonitor::waited(const char* whom, std::int64_t now_ns) noexcept {
  consider(kWaited, whom, now_ns - mark_ns_);
  mark_ns_ = now_ns;
}

void ThreadMonitor::note_work(std::uint32_t contacts, std::uint32_t iterations) noexcept {
  contacts_ = contacts;
  iterations_ = iterations;
}

void ThreadMonitor::note_injected(const char* what, std::int64_t now_ns) noexcept {
  injected_ = {kInjected, what, now_ns - mark_ns_};
  mark_ns_ = now_ns;
}

bool ThreadMonitor::end(std::int64_t now_ns) noexcept {
  const std::int64_t lateness = begin_ns_ - due_ns_, execution = now_ns - begin_ns_;
  lateness_.record(lateness);
  execution_.record(execution);
  bump(passes_);
  const bool met = settings_.deadline_ns <= 0 || lateness + execution <= settings_.deadline_ns;
  if (!met) {
    // What ran after the last named part is a part too.
    consider(kStage, "unnamed", now_ns - mark_ns_);
    if (*injected_.name != '\0') worst_ = injected_;
    count_cause(worst_.kind, worst_.name);
    bump(misses_);
    miss_ring_.push(
        {passes(), due_ns_, lateness, execution, worst_.kind, worst_.name, worst_.ns, contacts_, iterations_});
  }
  end_ns_ = now_ns;
  if (!same(worst_.kind, kBehind)) behind_ = *worst_.name == '\0' ? worst_.kind : worst_.name;
  beat(now_ns);
  return met;
}

void ThreadMonitor::beat(std::int64_t now_ns) noexcept {
  last_beat_ns_.store(now_ns, std::memory_order_release);
  progress_.store(progress_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void ThreadMonitor::count_cause(const char* kind, const char* name) noexcept {
  for (std::size_t i = 0; i < kMaxCauses; ++i) {
    Cause& cause = causes_[i];
    if (cause.kind.load(std::memory_order_relaxed) == nullptr) {
      const bool last = i + 1 == kMaxCauses;  // the last row takes all names that find no row of their own
      cause.name.store(last ? "" : name, std::memory_order_relaxed);
      cause.kind.store(last ? kOther : kind, std::memory_order_release);
    }
    if (i + 1 == kMaxCauses || (same(cause.kind.load(std::memory_order_relaxed), kind) &&
                                same(cause.name.load(std::memory_order_relaxed), name))) {
      bump(cause.count);
      return;
    }
  }
}

void ThreadMonitor::record_stage(const char* name, std::int64_t ns) noexcept {
  for (Stage& stage : stages_) {
    const char* there = stage.name.load(std::memory_order_relaxed);
    if (there == nullptr) {
      stage.name.store(name, std::memory_order_release);
      there = name;
    }
    if (same(there, name)) {
      stage.histogram.record(ns);
      return;
    }
  }
}

std::size_t ThreadMonitor::cause_count() const noexcept {
  std::size_t n = 0;
  while (n < kMaxCauses && causes_[n].kind.load(std::memory_order_acquire) != nullptr) ++n;
  return n;
}

ThreadMonitor::CauseCount ThreadMonitor::cause(std::size_t i) const {
  const char* kind = causes_[i].kind.load(std::memory_order_acquire);
  const char* name = causes_[i].name.load(std::memory_order_relaxed);
  return {spell(kind, name), causes_[i].count.load(std::memory_order_relaxed)};
}

std::size_t ThreadMonitor::stage_count() const noexcept {
  std::size_t n = 0;
  while (n < kMaxStages && stages_[n].name.load(std::memory_order_acquire) != nullptr) ++n;
  return n;
}

const char* ThreadMonitor::stage_name(std::size_t i) const noexcept {
  return stages_[i].name.load(std::memory_order_acquire);
}

}  // namespace ligature::watchdog
