#include "appliance/knot/identify.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "appliance/knot/threads.hpp"
#include "sim/knot/names/name.hpp"
#include "sim/knot/tie.hpp"

namespace ligature::knot {
namespace {

constexpr int kViews = 6, kMoreViews = 24;
constexpr std::size_t kDirections = 64, kPairDirections = 24, kTieDirections = 24;

std::vector<int> linking_of(const Diagram& diagram) {
  const auto numbers = linking_numbers(diagram);
  std::vector<int> out;
  for (std::size_t j = 1; j < numbers.size(); ++j)
    for (std::size_t i = 0; i < j; ++i) out.push_back(numbers[i][j]);
  return out;
}

Found found_of(Naming naming, Diagram diagram) {
  Found out;
  out.answer.name = std::move(naming.name);
  out.answer.candidates = std::move(naming.candidates);
  out.answer.confidence = 1;
  out.answer.components = naming.components;
  out.answer.crossings = naming.crossings;
  out.answer.linking = linking_of(diagram);
  if (naming.homfly) out.answer.homfly = to_string(*naming.homfly);
  out.diagram = std::move(diagram);
  return out;
}

Result<Found> identify_loops(const Curves& curves, HomflySource& source) {
  auto projection = simplified_diagram(curves, kViews);
  if (!projection) return unexpected(projection.error());
  Naming naming = name_of(projection->diagram, source);
  if (naming.name == "unknown" && !naming.candidates.empty()) {
    // What keeps too many crossings may lose them from other sides.
    if (auto again = simplified_diagram(curves, kMoreViews)) {
      Naming other = name_of(again->diagram, source);
      if (other.name != "unknown") return found_of(std::move(other), std::move(again->diagram));
    }
  }
  return found_of(std::move(naming), std::move(projection->diagram));
}

Result<Found> identify_threads(const Curves& curves, HomflySource& source) {
  const Namer namer = [&source](const Diagram& diagram) { return name_of(diagram, source).name; };
  const auto votes = closures(curves, namer, curves.size() == 1 ? kDirections : kPairDirections);
  if (!votes) return unexpected(votes.error());
  if (votes->empty()) return usage_error("in no direction could the ends be drawn out past the threads");
  const Diagram& simplest = votes->front().simplest.diagram;
  Found out = found_of(name_of(simplest, source), simplest);
  out.answer.confidence = votes->front().share;
  return out;
}

/// "st,ts": the letters of each thread's first and last end; nothing where they are not of that form.
std::optional<std::vector<std::string>> parse_ends(const std::string& text, std::size_t threads) {
  std::vector<std::string> out{""};
  for (const char c : text) {
    if (c == ',')
      out.emplace_back();
    else
      out.back() += c;
  }
  if (out.size() != threads) return std::nullopt;
  for (const std::string& word : out)
    if (word != "st" && word != "ts" && word != "tt") return std::nullopt;
  return out;
}

/// Two tied threads as one loop: loaded end joined to loaded end and tail to tail, far away (crosswise: each loaded end
/// to the other's tail). A diagram of it that is the sum of the throws and has no crossing more than they.
std::optional<Found> joined_tie(const Curves& threads, const TieReport& tie, HomflySource& source) {
  std::size_t wanted = 0;
  for (const Throw& one : tie.throws) wanted += 2 * static_cast<std::size_t>(one.wraps) + 1;
  const auto shown = [&](const Diagram& diagram) -> std::optional<Found> {
    if (diagram.sign.size() != wanted) return std::nullopt;
    Naming naming = name_of(diagram, source);
    if (naming.name == "unknown" || naming.factors.size() != tie.throws.size()) return std::nullopt;
    return found_of(std::move(naming), diagram);
  };
  if (auto found = shown(tie.simplest)) return found;
  const auto open = prepared(threads, false);
  if (!open) return std::nullopt;
  Curve second = (*open)[1];
  if (!tie.crosswise) std::reverse(second.begin(), second.end());
  const Curve& first = (*open)[0];
  for (std::size_t i = 0; i < kTieDirections; ++i) {
    // Ends with each other go the same way, the two pairs opposite ways or not.
    const Vec3 way = direction(i);
    for (const double side : {-1.0, 1.0}) {
      Curve loop = first;
      loop.push_back(first.back() + kFar * way);
      loop.push_back(second.front() + kFar * way);
      loop.insert(loop.end(), second.begin(), second.end());
      loop.push_back(second.back() + side * kFar * way);
      loop.push_back(first.front() + side * kFar * way);
      const auto projection = simplified_diagram({loop}, 1);
      if (!projection) continue;
      if (auto found = shown(projection->diagram)) return found;
    }
  }
  return std::nullopt;
}

/// Whether two of its components cross.
bool hangs_together(const Diagram& diagram) {
  std::vector<std::size_t> first(diagram.sign.size(), diagram.components.size());
  for (std::size_t c = 0; c < diagram.components.size(); ++c)
    for (const Pass& pass : diagram.components[c]) {
      if (first[pass.crossing] < c) return true;
      first[pass.crossing] = c;
    }
  return false;
}

/// What the ends of two threads say, in place of what the threads closed one by one do.
void take_tie(Found& found, const Curves& threads, HomflySource& source) {
  const auto tie = tie_of(threads[0], threads[1], kTieDirections);
  if (!tie) return;
  found.answer.tie = name(tie->tie);
  // Of threads that do not hang together one may have a knot of its own.
  found.answer.bend = tie->throws.empty() && tie->bound > 0.5 && hangs_together(found.diagram);
  if (tie->throws.empty()) return;
  found.answer.throws = tie->notation;
  if (auto loop = joined_tie(threads, *tie, source)) {
    // The name must be that of the crossings and the polynomial beside it.
    const std::vector<int> linking = std::move(found.answer.linking);
    const std::size_t components = found.answer.components;
    found = std::move(*loop);
    found.answer.linking = linking;
    found.answer.components = components;
    found.answer.tie = name(tie->tie);
    found.answer.throws = tie->notation;
    found.answer.confidence = tie->confidence;
  }
  if (tie->tie != Tie::none) {
    found.answer.name = name(tie->tie);
    found.answer.candidates = {found.answer.name};
    found.answer.confidence = tie->confidence;
  }
  if (!tie->might_be.empty()) found.answer.candidates.push_back(tie->might_be);
}

/// Every two threads that are tied, whatever else there is.
void take_ties(Found& found, const Curves& threads) {
  found.answer.ties.emplace();
  for (std::size_t j = 1; j < threads.size(); ++j)
    for (std::size_t i = 0; i < j; ++i) {
      const auto tie = tie_of(threads[i], threads[j], kTieDirections);
      if (!tie || tie->throws.empty()) continue;
      found.answer.ties->push_back({i, j, name(tie->tie), tie->notation, tie->confidence});
    }
}

/// One thread round tissue.
void take_tie(Found& found, const Curve& thread) {
  const auto tie = tie_of(thread, kTieDirections);
  // One throw is as well a knot that has nothing to do with tissue.
  if (!tie || tie->throws.size() < 2) return;
  found.answer.tie = name(tie->tie);
  found.answer.throws = tie->notation;
  found.answer.tie_confidence = tie->confidence;
}

Result<Found> named(const Question& question, HomflySource& source) {
  if (question.curves.empty()) return usage_error("no curves");
  if (question.closed && !question.ends.empty()) return usage_error("--ends: loops have none");
  std::vector<std::string> ends(question.curves.size(), question.curves.size() == 1 ? "tt" : "st");
  if (!question.ends.empty()) {
    const auto parsed = parse_ends(question.ends, question.curves.size());
    if (!parsed)
      return usage_error("--ends is '" + question.ends + "', must be st, ts or tt for each thread, parted by commas");
    ends = *parsed;
  }
  if (question.closed) return identify_loops(question.curves, source);
  auto found = identify_threads(question.curves, source);
  if (!found) return found;
  const bool all_loaded = std::find(ends.begin(), ends.end(), "tt") == ends.end();
  if (question.curves.size() >= 2 && all_loaded) {
    // From the loaded end to the tail.
    Curves threads = question.curves;
    for (std::size_t k = 0; k < threads.size(); ++k)
      if (ends[k] == "ts") std::reverse(threads[k].begin(), threads[k].end());
    if (threads.size() == 2)
      take_tie(*found, threads, source);
    else if (threads.size() <= kMostPairedThreads)
      take_ties(*found, threads);
  }
  if (question.curves.size() == 1 && ends[0] == "tt") take_tie(*found, question.curves[0]);
  return found;
}

}  // namespace

Result<Found> identify(const Question& question, HomflySource& source) {
  auto found = named(question, source);
  if (found && found->answer.name == "unknown") found->answer.confidence = 0;  // of no name anything is believed
  return found;
}

}  // namespace ligature::knot
