/// [exercise].
#include <algorithm>

#include "config/scenario_parts.hpp"

namespace ligature::config {

namespace {

constexpr double kMicronewtonsPerMn = 1e3;

/// `2=1x1`: turns of each throw, and how it goes on from the one before.
bool are_throws(const std::string& text) {
  if (text.size() % 2 == 0 || text.size() > 31) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (i % 2 == 0 ? text[i] < '1' || text[i] > '9' : text[i] != '=' && text[i] != 'x') return false;
  return true;
}

}  // namespace

std::optional<ScenarioExercise> read_exercise(Table& root, const world::WorldParams& world) {
  Table t = root.get_table("exercise");
  if (!t.present()) return std::nullopt;
  std::vector<std::string> threads, tissues;
  for (const world::ThreadParams& thread : world.threads) threads.push_back(thread.name);
  for (const world::TissueParams& tissue : world.tissues) tissues.push_back(tissue.name);
  ScenarioExercise out;
  exercise::Goal& goal = out.goal;
  goal.name = t.get_string("name", "One stitch");
  goal.thread = t.need_one_of("thread", threads, "name the thread that has the needle").value_or(0);
  goal.first = t.need_one_of("first", tissues, "name the vessel that is pierced first").value_or(0);
  goal.second = t.need_one_of("second", tissues, "name the vessel that is pierced second").value_or(1);
  goal.tail_mm = t.get_number("tail_mm", goal.tail_mm, between(0.1, 1000), "thread that may be left before the stitch");
  goal.throws = t.get_string("throws", goal.throws);
  goal.ends_mm = t.get_number("ends_mm", goal.ends_mm, between(0.1, 1000), "thread that may be left once it is cut");
  goal.tear_force = kMicronewtonsPerMn * t.get_number("tear_force_mn", goal.tear_force / kMicronewtonsPerMn,
                                                      between(0.01, 1e6), "the wall of 1 mm artery bears some 500");
  goal.dropped_after_s = t.get_number("dropped_after_s", goal.dropped_after_s, between(0, 600));
  goal.settles_s = t.get_number("settles_s", goal.settles_s, between(0, 600));
  goal.at_once = t.get_choice("start", goal.at_once, {{"at-once", true}, {"when-told", false}});
  out.cuts_s = t.get_numbers("cuts_s", 0, world::kMostHandCuts, kTime, "when a scripted trainee cuts what is held");
  if (!t.clean()) return out;
  if (!are_throws(goal.throws))
    t.reject("throws", "throws as `ligature knot` names them, such as 1=1 or 2=1", "turns joined by = or x");
  if (!world.threads[goal.thread].needle) t.reject("thread", "a thread with a needle", "give it one by [[needle]]");
  for (const auto& [key, at] : {std::pair{"first", goal.first}, std::pair{"second", goal.second}})
    if (!world.tissues[at].vertices.empty()) t.reject_as(key, "a mesh", "a vessel", "only a vessel has a lumen");
  if (goal.first == goal.second) t.reject("second", "another tissue than first", "a stitch joins two vessel ends");
  // Cuts of less than a step apart would be one.
  const auto too_soon = [&](double a, double b) { return !(b - a > world.step_s); };
  if (std::adjacent_find(out.cuts_s.begin(), out.cuts_s.end(), too_soon) != out.cuts_s.end())
    t.reject("cuts_s", "growing, by more than a step", "put them in order of time, and further apart");
  return out;
}

}  // namespace ligature::config
