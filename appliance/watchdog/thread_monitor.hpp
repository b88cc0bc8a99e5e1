#pragma once
/// What one real-time thread tells about itself: heartbeat, passes against their deadline, the cause of every miss.
///
/// A pass is one round of the thread's loop. It is due at a time (of its period, or when its input arrived), begins
/// late by the lateness and runs for the execution time:
///
///        due          begin                                    end
///         |--lateness--|--stage--|--wait--|--stage--|--stage----|          miss: lateness + execution > deadline
///
/// The cause of a miss is the largest of those parts, because that is the one worth mending: "late wake", "waited for
/// X" or the stage's name; or "injected X" when the pass said so. A pass that was due while the one before still ran is
/// late by that: "behind after X", X what made the first of such passes late.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "appliance/rt/spsc_ring.hpp"
#include "appliance/rt/thread.hpp"
#include "appliance/watchdog/histogram.hpp"

namespace ligature::watchdog {

struct MonitorSettings {
  std::string name;
  std::int64_t period_ns = 0;             ///< 0 = driven by events
  std::int64_t deadline_ns = 0;           ///< lateness + execution of one pass; 0 = none, nothing is ever a miss
  std::int64_t stall_ns = 1'000'000'000;  ///< no heartbeat for longer: the thread is called stalled
};

/// One miss, for the log. Names are string literals.
struct MissRecord {
  std::uint64_t pass = 0;
  std::int64_t due_ns = 0;  ///< CLOCK_MONOTONIC
  std::int64_t lateness_ns = 0;
  std::int64_t execution_ns = 0;
  const char* kind = "";       ///< "late wake" | "waited for" | "stage" | "injected" | "behind after"
  const char* part = "";       ///< whom it waited for, the stage, what was injected
  std::int64_t part_ns = 0;    ///< how long that part took
  std::uint32_t contacts = 0;  ///< as given to note_work()
  std::uint32_t iterations = 0;
};
/// "late wake", "waited for X", "stage X", "injected X", "behind after X": the name under which a miss is counted.
std::string cause_name(const MissRecord& miss);

/// Written by its own thread between start and end of it; the methods below "anybody" may be called from any thread.
/// @rt every method of the owner: bounded, no lock, no allocation, no system call
class ThreadMonitor {
 public:
  static constexpr std::size_t kMaxCauses = 24;
  static constexpr std::size_t kMaxStages = 12;

  explicit ThreadMonitor(MonitorSettings settings) : settings_(std::move(settings)) {}
  ThreadMonitor(const ThreadMonitor&) = delete;
  ThreadMonitor& operator=(const ThreadMonitor&) = delete;

  // The owner's thread. Times are CLOCK_MONOTONIC [ns]; names are string literals.

  /// A pass begins that was due at due_ns.
  void begin(std::int64_t due_ns, std::int64_t now_ns) noexcept;
  /// What ran since begin() or the last stage() or waited() was this stage.
  void stage(const char* name, std::int64_t now_ns) noexcept;
  /// A stage whose duration was measured elsewhere, such as inside a library that has no clock of its own. Call mark()
  /// after the last of them, or the span that held them counts again as one part.
  void stage_of(const char* name, std::int64_t duration_ns) noexcept;
  /// What ran since begin() or the last part has been told through stage_of().
  void mark(std::int64_t now_ns) noexcept { mark_ns_ = now_ns; }
  /// What passed since begin() or the last stage() or waited() was a wait for this neighbour.
  void waited(const char* whom, std::int64_t now_ns) noexcept;
  /// What the pass had to do, for the log of a miss.
  void note_work(std::uint32_t contacts, std::uint32_t iterations) noexcept;
  /// What ran since begin() or the last part was a fault put in on purpose; if this pass misses, that is the cause.
  void note_injected(const char* what, std::int64_t now_ns) noexcept;
  /// The pass is over: counts it, and the miss if it is one. True = deadline met.
  bool end(std::int64_t now_ns) noexcept;
  /// Alive, with nothing to do: for loops that wait for input with a time-out.
  void beat(std::int64_t now_ns) noexcept;
  /// The thread leaves its loop: silence is no stall from here on.
  void finish() noexcept { finished_.store(true, std::memory_order_release); }

  // Before the thread runs, or the owner's thread.

  void set_grant(const rt::GrantReport& grant) { grant_ = grant; }

  // Anybody.

  const MonitorSettings& settings() const { return settings_; }
  const rt::GrantReport& grant() const { return grant_; }  ///< after start
  std::uint64_t progress() const noexcept { return progress_.load(std::memory_order_acquire); }
  std::int64_t last_beat_ns() const noexcept { return last_beat_ns_.load(std::memory_order_acquire); }
  bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }
  std::uint64_t passes() const noexcept { return passes_.load(std::memory_order_relaxed); }
  std::uint64_t misses() const noexcept { return misses_.load(std::memory_order_relaxed); }
  const Histogram& lateness() const { return lateness_; }
  const Histogram& execution() const { return execution_; }

  struct CauseCount {
    std::string name;
    std::uint64_t count = 0;
  };
  /// Causes in the order in which they first came; their counts add up to misses().
  std::size_t cause_count() const noexcept;
  CauseCount cause(std::size_t i) const;
  /// Stages in the order in which they first ran.
  std::size_t stage_count() const noexcept;
  const char* stage_name(std::size_t i) const noexcept;
  const Histogram& stage_histogram(std::size_t i) const { return stages_[i].histogram; }

  /// The service thread only: the next miss not yet read. False = none.
  bool pop_miss(MissRecord& miss) noexcept { return miss_ring_.pop(miss); }

 private:
  struct Part {
    const char* kind = "";
    const char* name = "";
    std::int64_t ns = 0;
  };
  struct Cause {
    std::atomic<const char*> kind{nullptr};
    std::atomic<const char*> name{nullptr};
    std::atomic<std::uint64_t> count{0};
  };
  struct Stage {
    std::atomic<const char*> name{nullptr};
    Histogram histogram;
  };
  void consider(const char* kind, const char* name, std::int64_t ns) noexcept;
  void count_cause(const char* kind, const char* name) noexcept;
  void record_stage(const char* name, std::int64_t ns) noexcept;

  const MonitorSettings settings_;
  rt::GrantReport grant_;
  // the pass that runs now
  std::int64_t due_ns_ = 0, begin_ns_ = 0, mark_ns_ = 0, end_ns_ = 0;  ///< the last of the pass before
  Part worst_, injected_;
  const char* behind_ = "";  ///< what the last pass that was not behind itself took longest for
  std::uint32_t contacts_ = 0, iterations_ = 0;
  // since start
  std::atomic<std::uint64_t> progress_{0}, passes_{0}, misses_{0};
  std::atomic<std::int64_t> last_beat_ns_{0};
  std::atomic<bool> finished_{false};
  Histogram lateness_, execution_;
  std::array<Cause, kMaxCauses> causes_;
  std::array<Stage, kMaxStages> stages_;
  rt::SpscRing<MissRecord, 64> miss_ring_;
};

}  // namespace ligature::watchdog
