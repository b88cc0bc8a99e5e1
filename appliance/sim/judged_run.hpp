#pragma once
/// A run of `ligature sim` that is an exercise: cut where the script says so, judged step by step.
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "appliance/knot/threads.hpp"
#include "config/scenario_file.hpp"
#include "sim/contract/scene_facts.hpp"
#include "sim/contract/scene_snapshot.hpp"
#include "sim/exercise/exercise.hpp"
#include "sim/exercise/gap.hpp"
#include "sim/world/world.hpp"

namespace ligature::simulate {

class JudgedRun {
 public:
  /// The exercise begins with the run, whenever a session would.
  JudgedRun(const config::ScenarioExercise& exercise, const world::World& world);

  /// Before a step: cuts what the jaws hold, where that is due.
  void control(world::World& world);
  /// After it, with what it reported. Knots are asked for every half second of simulated time while they matter.
  void look(const world::World& world, const world::WorldParams& params, const StepReport& report);
  /// With the knots as they are at the end.
  void finish(const world::World& world, const std::vector<knot::ThreadKnot>& knots);

  const exercise::Exercise& judged() const { return exercise_; }
  /// What happened, one line each: "pick_up passed at 3.20 s".
  const std::vector<std::string>& events() const { return events_; }

 private:
  void take_events();

  exercise::Exercise exercise_;
  exercise::EndGap gap_;
  std::vector<double> cuts_s_;
  std::size_t next_cut_ = 0;
  bool cutting_ = false;  ///< in the step that comes
  double gap_at_s_ = -1, knots_at_s_ = 0;
  double gap_mm_ = std::numeric_limits<double>::quiet_NaN();
  SceneFacts facts_;
  SceneSnapshot scene_;
  std::vector<std::string> events_;
};

}  // namespace ligature::simulate
