#include "appliance/sim/topology.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ligature::simulate {

void TopologyLog::note(double t_s, const char* what) {
  ++events_all_;
  if (events_.size() < kMostEvents) events_.push_back({t_s, what});
}

void TopologyLog::add(double t_s, double step_s, const StepReport& report, bool passed) {
  prevented_ += report.crossings_prevented;
  found_ += report.crossings_found;
  // Steps in a row are one event.
  const bool preventing = report.crossings_prevented > 0, finding = report.crossings_found > 0;
  if (preventing && !preventing_) note(t_s, "something would have passed through: motion cut short");
  if (passed)
    note(t_s, "strands may have passed through each other");
  else if (finding && !finding_)
    note(t_s, "the audit found a crossing: step undone");
  preventing_ = preventing;
  finding_ = finding;
  changed_ |= passed;
  lag_.add(report.held_lag_mm);
  lagging_s_ = report.held_lag_mm > kLagging_mm ? lagging_s_ + step_s : 0;
  lagging_longest_s_ = std::max(lagging_longest_s_, lagging_s_);
  obstacle_lag_max_mm_ = std::max(obstacle_lag_max_mm_, report.obstacle_lag_mm);
}

nlohmann::ordered_json TopologyLog::json() const {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  for (const Event& e : events_) events.push_back({{"t_s", e.t_s}, {"what", e.what}});
  return {{"audited", true},
          {"changed", changed_},
          {"events", events},
          {"events_total", events_all_},
          {"crossings_prevented", prevented_},
          {"crossings_found", found_},
          {"tool_lag_max_mm", lag_.max()},
          {"tool_lag_p99_mm", lag_.at(0.99)},
          {"tool_lag_longest_ms", 1e3 * lagging_longest_s_},
          {"obstacle_lag_max_mm", obstacle_lag_max_mm_}};
}

}  // namespace ligature::simulate
