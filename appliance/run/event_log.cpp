#include "appliance/run/event_log.hpp"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace ligature::appliance {

Result<EventLog> EventLog::open(const std::string& file) {
  EventLog log;
  try {
    auto screen = std::make_shared<spdlog::sinks::stderr_color_sink_st>();
    screen->set_level(spdlog::level::warn);
    screen->set_pattern("%v");
    std::vector<spdlog::sink_ptr> sinks{screen};
    if (!file.empty()) sinks.push_back(std::make_shared<spdlog::sinks::basic_file_sink_st>(file, true));
    log.logger_ = std::make_shared<spdlog::logger>("ligature", sinks.begin(), sinks.end());
    log.logger_->set_error_handler([](const std::string&) {});  // a full disk must not end the session
    log.logger_->flush_on(spdlog::level::warn);
  } catch (const spdlog::spdlog_ex& wrong) {
    return unavailable(file + ": the log cannot be written: " + wrong.what());
  }
  return log;
}

void EventLog::info(double time_s, const std::string& what) {
  logger_->info("{:9.3f} s  {}", time_s, what);
  if (listener_) listener_(time_s, what);
}

void EventLog::event(double time_s, const std::string& what) {
  logger_->warn("{:9.3f} s  {}", time_s, what);
  // A session may last for days, and somebody may commit all the while.
  if (events_.size() < kMostEvents)
    events_.push_back({time_s, what});
  else if (events_.size() == kMostEvents)
    events_.push_back({time_s, "further events are in the log only"});
  if (listener_) listener_(time_s, what);
}

}  // namespace ligature::appliance
