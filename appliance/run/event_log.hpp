#pragma once
/// What happened in a session, one line each: to the log file, and (warnings and worse) to standard error.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/result.hpp"

namespace spdlog {
class logger;
}

namespace ligature::appliance {

struct SessionEvent {
  double time_s = 0;  ///< session time
  std::string what;
};

/// Ordinary threads only; one at a time.
class EventLog {
 public:
  /// @param file empty: standard error only
  static Result<EventLog> open(const std::string& file);
  void info(double time_s, const std::string& what);  ///< log file only
  /// Shown, and the first kMostEvents kept for the report.
  void event(double time_s, const std::string& what);
  static constexpr std::size_t kMostEvents = 10'000;
  /// Hears every line too.
  void set_listener(std::function<void(double time_s, const std::string& what)> listener) {
    listener_ = std::move(listener);
  }
  const std::vector<SessionEvent>& events() const { return events_; }

 private:
  std::shared_ptr<spdlog::logger> logger_;
  std::vector<SessionEvent> events_;
  std::function<void(double, const std::string&)> listener_;
};

}  // namespace ligature::appliance
