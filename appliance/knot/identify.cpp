#include "appliance/knot/identify.hpp"

#include <utility>

#include "sim/knot/names/name.hpp"
#include "sim/knot/simplify.hpp"

namespace ligature::knot {
namespace {

constexpr int kViews = 6, kMoreViews = 24;

std::vector<int> linking_of(const Diagram& diagram) {
  const auto numbers = linking_numbers(diagram);
  std::vector<int> out;
  for (std::size_t j = 1; j < numbers.size(); ++j)
    for (std::size_t i = 0; i < j; ++i) out.push_back(numbers[i][j]);
  return out;
}

Result<Found> identify_loops(const Curves& curves, HomflySource& source) {
  Found out;
  // A diagram that keeps too many crossings may lose them from other sides.
  for (const int views : {kViews, kMoreViews}) {
    auto projection = simplified_diagram(curves, views);
    if (!projection) return unexpected(projection.error());
    Naming naming = name_of(projection->diagram, source);
    if (views != kViews && naming.name == "unknown") break;
    out.answer.name = std::move(naming.name);
    out.answer.candidates = std::move(naming.candidates);
    out.answer.confidence = 1;
    out.answer.components = naming.components;
    out.answer.crossings = naming.crossings;
    out.answer.linking = linking_of(projection->diagram);
    if (naming.homfly) out.answer.homfly = to_string(*naming.homfly);
    out.diagram = std::move(projection->diagram);
    if (out.answer.name != "unknown") break;
  }
  return out;
}

}  // namespace

Result<Found> identify(const Question& question, HomflySource& source) {
  if (question.curves.empty()) return usage_error("no curves");
  if (!question.closed) return usage_error("open threads are not named yet: close them and say --closed");
  return identify_loops(question.curves, source);
}

}  // namespace ligature::knot
