#pragma once
/// What a run says about strands passing through each other: what was prevented, what the audit found, and how far what
/// is held, and what else moves, fell behind for it. In memory that does not grow.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "appliance/sim/quantiles.hpp"
#include "sim/contract/step_report.hpp"

namespace ligature::simulate {

class TopologyLog {
 public:
  static constexpr std::size_t kMostEvents = 100;
  static constexpr double kLagging_mm = 0.05;  ///< a held vertex further behind than this lags

  /// @param passed of a step in which the audit found something: whether, in what became of it, anything may have
  /// passed through (see may_have_passed); else false
  void add(double t_s, double step_s, const StepReport& report, bool passed);

  std::uint64_t prevented() const { return prevented_; }
  std::uint64_t found() const { return found_; }
  bool changed() const { return changed_; }
  nlohmann::ordered_json json() const;

 private:
  struct Event {
    double t_s = 0;
    const char* what = "";
  };
  void note(double t_s, const char* what);

  std::vector<Event> events_;
  std::uint64_t events_all_ = 0, prevented_ = 0, found_ = 0;
  bool preventing_ = false, finding_ = false, changed_ = false;
  Quantiles lag_;
  double lagging_s_ = 0, lagging_longest_s_ = 0;
  double obstacle_lag_max_mm_ = 0;
};

}  // namespace ligature::simulate
