#include "appliance/exercise/result_sheet.hpp"

#include <fmt/format.h>

#include <cmath>

#include "appliance/exercise/exercise_text.hpp"

namespace ligature::appliance {
namespace {

using exercise::Fault;
using exercise::State;
using exercise::Step;
using Tone = render::Sheet::Tone;

constexpr double kMicronewtonsPerN = 1e6;

bool over(const exercise::Progress& p) {
  return p.state == State::passed || p.state == State::failed;
}

}  // namespace

std::string frame_caption(const exercise::Progress& p, std::size_t frame) {
  if (frame >= exercise::kSteps) return fmt::format("{} {}", over(p) ? "end" : "now", clock_text(p.time_s));
  return fmt::format("{} {}", frame + 1, clock_text(p.steps[frame].passed_at_s));
}

render::Sheet result_sheet(const exercise::Progress& p, std::string_view knot, std::string_view keys) {
  render::Sheet sheet;
  if (p.state == State::failed)
    sheet.add(Tone::title, fmt::format("Failed: {}", text_of(p.fault)));
  else if (!over(p))
    sheet.add(Tone::title, exercise_line(p));
  else
    sheet.add(Tone::title, fmt::format("Done in {}", clock_text(p.time_s)));
  for (std::size_t k = 0; k < exercise::kSteps; ++k) {
    const auto& step = p.steps[k];
    const std::string again = step.undone > 0 ? fmt::format(", undone {}x", step.undone) : "";
    sheet.add(step.passed ? Tone::good : Tone::plain,
              fmt::format("{} {}  {}{}", k + 1, step.passed || step.time_s > 0 ? clock_text(step.time_s) : "-:--",
                          text_of(static_cast<Step>(k)), again));
  }
  sheet.add(Tone::plain, fmt::format("Knot: {}", knot.empty() ? "none" : knot));
  std::string measured;
  if (std::isfinite(p.gap_mm)) measured += fmt::format("Ends {:.2f} mm apart   ", p.gap_mm);
  if (std::isfinite(p.tail_mm)) measured += fmt::format("Tail {:.1f} mm   ", p.tail_mm);
  // In newtons: the sheet's letters are capitals, in which a milli reads as a mega.
  measured += fmt::format("Pull {:.4f} N", p.hole_force_most / kMicronewtonsPerN);
  sheet.add(Tone::plain, measured);
  if (p.fault_count == 0) sheet.add(Tone::good, "No mistakes");
  for (std::size_t f = 0; f < exercise::kFaults; ++f)
    if (p.faults[f] > 0) sheet.add(Tone::bad, fmt::format("{}x {}", p.faults[f], text_of(static_cast<Fault>(f))));
  if (!keys.empty() && sheet.lines.full())
    sheet.lines.resize(sheet.lines.capacity() - 1);  // what to do now is always said
  if (!keys.empty()) sheet.add(Tone::plain, keys);
  for (std::size_t k = 0; k < exercise::kSteps; ++k)
    if (p.steps[k].passed) sheet.add_frame(k, frame_caption(p, k));
  sheet.add_frame(kLastFrame, frame_caption(p, kLastFrame));
  return sheet;
}

}  // namespace ligature::appliance
