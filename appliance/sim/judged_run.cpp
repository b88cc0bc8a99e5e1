#include "appliance/sim/judged_run.hpp"

#include <fmt/format.h>

#include <utility>

#include "appliance/exercise/exercise_text.hpp"
#include "appliance/sim/knot_names.hpp"

namespace ligature::simulate {
namespace {

constexpr double kGapEvery_s = 0.1;
constexpr double kKnotsEvery_s = 0.5;

}  // namespace

JudgedRun::JudgedRun(const config::ScenarioExercise& exercise, const world::World& world)
    : exercise_(exercise.goal),
      gap_(world.tissue_surfaces(), exercise.goal.first, exercise.goal.second),
      cuts_s_(exercise.cuts_s) {
  exercise_.start();
}

void JudgedRun::control(world::World& world) {
  if (next_cut_ == cuts_s_.size() || cuts_s_[next_cut_] > world.time_s() + 1e-9) return;
  ++next_cut_;
  world.cut_held();
  cutting_ = true;
}

void JudgedRun::look(const world::World& world, const world::WorldParams& params, const StepReport& report) {
  const double now = world.time_s();
  if (std::exchange(cutting_, false) && !(report.flags & step_cut))
    events_.push_back(fmt::format(
        "nothing cut at {:.2f} s: no jaws hold a thread that can be cut there, or capacity.cuts is used up", now));
  if (now >= gap_at_s_ + kGapEvery_s) {
    gap_at_s_ = now;
    world.snapshot(scene_);
    gap_mm_ = gap_.of(scene_);
  }
  const exercise::Progress& p = exercise_.progress();
  const bool may_tie = p.state == exercise::State::running && p.step > exercise::Step::pull_through;
  if (may_tie && now >= knots_at_s_ + kKnotsEvery_s) {
    knots_at_s_ = now;
    if (const auto knots = named_knots(world, params))
      exercise_.tied(appliance::throws_among(*knots, exercise_.goal().thread));
  }
  world.facts(facts_);
  exercise_.look(facts_, params.step_s, gap_mm_);
  take_events();
}

void JudgedRun::finish(const world::World& world, const std::vector<knot::ThreadKnot>& knots) {
  const std::string throws = appliance::throws_among(knots, exercise_.goal().thread);
  for (int i = 0; i < exercise::Exercise::kAnswersToTheEnd; ++i) exercise_.tied(throws);  // no other answer will come
  world.snapshot(scene_);
  gap_mm_ = gap_.of(scene_);
  world.facts(facts_);
  exercise_.look(facts_, 0, gap_mm_);
  take_events();
}

void JudgedRun::take_events() {
  for (exercise::Event event; exercise_.take_event(event);) events_.push_back(appliance::exercise_text(event));
}

}  // namespace ligature::simulate
