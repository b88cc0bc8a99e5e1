#pragma once
/// Watches every thread's monitor from the service thread: who stalls, what to write into the log, the final table.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "appliance/watchdog/sd_notifier.hpp"
#include "appliance/watchdog/thread_monitor.hpp"

namespace ligature::watchdog {

/// Not for real-time threads; one thread calls it, the monitors are written by theirs meanwhile.
class Watchdog {
 public:
  /// @param line_period_ns  how often poll() adds the line about all threads
  explicit Watchdog(std::int64_t line_period_ns = 10'000'000'000) : line_period_ns_(line_period_ns) {}

  /// Before the threads start; the monitor must outlive the watchdog.
  void add(ThreadMonitor& monitor) { watched_.push_back({&monitor}); }

  struct Verdict {
    bool started = false;              ///< every thread has made progress at least once
    bool alive = false;                ///< no thread that still runs is stalled
    std::vector<std::string> lines;    ///< for the log: stalls, recoveries, misses, the regular line
    std::vector<std::string> stalled;  ///< names
  };
  /// Looks at every thread. Call it a few times a second.
  Verdict poll(std::int64_t now_ns);
  /// poll(), and what follows from it for systemd: READY once all have started, WATCHDOG only while all are alive.
  Verdict poll(std::int64_t now_ns, SdNotifier& notifier);

  /// Aligned text, one row a thread, the causes of misses under it.
  std::string table() const;
  /// The `threads` array of `ligature run --json` and report.json.
  nlohmann::json report() const;
  /// One thread's object in that array.
  static nlohmann::json report_of(const ThreadMonitor& monitor);

 private:
  struct Watched {
    ThreadMonitor* monitor;
    std::uint64_t seen_progress = 0;
    std::int64_t seen_ns = 0;                        // when progress was seen last
    std::uint64_t line_passes = 0, line_misses = 0;  // at the last regular line
    std::uint64_t miss_lines = 0;                    // since the last regular line
    bool stalled = false;
  };
  std::string regular_line(std::int64_t now_ns);

  std::int64_t line_period_ns_;
  std::int64_t first_ns_ = -1, line_ns_ = 0;
  std::vector<Watched> watched_;
};

}  // namespace ligature::watchdog
