#include "appliance/exercise/exercise_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace ligature::appliance {
namespace {

using exercise::Event;
using exercise::State;

constexpr double kMicronewtonsPerMn = 1e3;

nlohmann::json known(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

}  // namespace

std::string clock_text(double time_s) {
  const auto seconds = static_cast<int>(time_s);
  return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
}

std::string exercise_line(const exercise::Progress& p) {
  const std::string clock = clock_text(p.time_s);
  if (p.state == State::waiting) return "Ready: start when you are";
  if (p.state == State::passed) return fmt::format("Done in {}, {} mistakes", clock, p.fault_count);
  if (p.state == State::failed) return fmt::format("Failed: {}. Reset to begin anew", text_of(p.fault));
  std::string line = fmt::format("{}/{} {}", static_cast<std::size_t>(p.step) + 1, exercise::kSteps, text_of(p.step));
  const double left = p.step == exercise::Step::pull_through ? p.tail_mm
                      : p.step == exercise::Step::cut        ? p.ends_mm
                                                             : std::numeric_limits<double>::quiet_NaN();
  if (std::isfinite(left)) line += fmt::format(": {:.1f} mm", left);
  if (p.wrong) line = fmt::format("Undo: {}", text_of(p.fault));
  return line + "  " + (p.state == State::paused ? "paused" : clock);
}

std::string tie_text(std::string_view throws) {
  const std::string_view name = throws == "1=1"   ? "reef"
                                : throws == "1x1" ? "granny"
                                : throws == "2=1" ? "surgeon"
                                                  : "";
  return name.empty() ? std::string(throws) : fmt::format("{} ({})", name, throws);
}

std::string exercise_text(const Event& e) {
  switch (e.kind) {
    case Event::Kind::step_passed:
      return fmt::format("{} passed at {:.2f} s", name_of(e.step), e.time_s);
    case Event::Kind::step_undone:
      return fmt::format("{} undone at {:.2f} s", name_of(e.step), e.time_s);
    case Event::Kind::fault:
      return fmt::format("{} in {} at {:.2f} s", name_of(e.fault), name_of(e.step), e.time_s);
    case Event::Kind::passed:
      return fmt::format("passed in {:.2f} s", e.time_s);
    case Event::Kind::failed:
      return fmt::format("failed at {:.2f} s: {}", e.time_s, text_of(e.fault));
  }
  return "";
}

nlohmann::json exercise_report(const exercise::Goal& goal, const exercise::Progress& p, std::string_view throws) {
  nlohmann::json out{{"name", goal.name},
                     {"state", name_of(p.state)},
                     {"time_s", p.time_s},
                     {"throws_asked", goal.throws},
                     {"throws", throws},
                     {"tail_mm", known(p.tail_mm)},
                     {"ends_mm", known(p.ends_mm)},
                     {"gap_mm", known(p.gap_mm)},
                     {"gap_at_end_mm", known(p.gap_at_end_mm)},
                     {"hole_force_most_mn", p.hole_force_most / kMicronewtonsPerMn}};
  for (std::size_t k = 0; k < exercise::kSteps; ++k) {
    const auto& s = p.steps[k];
    out["steps"].push_back({{"step", name_of(static_cast<exercise::Step>(k))},
                            {"passed", s.passed},
                            {"time_s", s.time_s},
                            {"passed_at_s", s.passed ? nlohmann::json(s.passed_at_s) : nlohmann::json(nullptr)},
                            {"undone", s.undone}});
  }
  out["faults"] = nlohmann::json::object();
  for (std::size_t f = 0; f < exercise::kFaults; ++f)
    if (p.faults[f] > 0) out["faults"][std::string(name_of(static_cast<exercise::Fault>(f)))] = p.faults[f];
  return out;
}

std::string throws_among(const std::vector<knot::ThreadKnot>& knots, std::size_t origin) {
  for (const knot::ThreadKnot& k : knots) {
    if (std::find(k.origins.begin(), k.origins.end(), origin) == k.origins.end()) continue;
    if (k.answer.throws && !k.answer.throws->empty()) return *k.answer.throws;
    if (std::string of_name = exercise::throws_of(k.answer.name); !of_name.empty()) return of_name;
  }
  return "";
}

}  // namespace ligature::appliance
