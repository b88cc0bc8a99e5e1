#include "tests/bench/knot_scenes.hpp"

#include <filesystem>

#include "config/scenario_file.hpp"
#include "tests/bench/knot_curves.hpp"

namespace ligature::bench {
namespace {

using world::ClampParams;
using world::Place;
using world::ThreadParams;

/// A shipped scenario with its friction held instead of lowered.
Result<KnotScene> shipped(const std::string& config, const std::string& file, const std::string& name,
                          const std::string& title, double friction) {
  auto scenario = config::load_scenario(std::filesystem::path(config) / "scenarios" / file);
  if (!scenario) return unexpected(scenario.error());
  KnotScene scene;
  scene.name = name;
  scene.title = title;
  scene.params = scenario->params;
  std::erase_if(scene.params.schedule, [](const world::ScheduleEntry& entry) {
    return entry.key == world::ScheduleEntry::Key::friction_thread_thread;
  });
  scene.params.friction.thread_thread = friction;
  scene.params.forceps_present = false;
  scene.capacity = scenario->capacity;
  return scene;
}

world::ThreadMaterial nylon(double diameter_mm) {
  return world::round_thread(2.5e9, 0.4, 1.14e-3, diameter_mm, 3e-3);
}

KnotScene one_thread(const std::string& name, const std::string& title, std::vector<Vec3> points, double segment_mm,
                     double diameter_mm) {
  KnotScene scene;
  scene.name = name;
  scene.title = title;
  scene.params.forceps_present = false;
  ThreadParams thread;
  thread.name = "thread";
  thread.points = std::move(points);
  thread.segment_mm = segment_mm;
  thread.diameter_mm = diameter_mm;
  thread.inertial = false;
  thread.material = nylon(diameter_mm);
  scene.params.threads.push_back(std::move(thread));
  scene.capacity = {4096, 2048};
  return scene;
}

/// What holds and what pulls at the start of the scenario does so for ever, and nothing moves.
void keep_loaded(world::WorldParams& params) {
  for (ThreadParams& thread : params.threads) {
    std::erase_if(thread.clamps, [](const ClampParams& clamp) { return clamp.from_s > 0; });
    for (ClampParams& clamp : thread.clamps) clamp.velocity = {}, clamp.until_s = world::kForever;
    for (auto& force : thread.forces) force.until_s = world::kForever;
  }
}

/// Turns as many times in `spun_s` as the scenario does in `scenario_s`, then holds.
void spin_faster(world::WorldParams& params, double scenario_s, double spun_s) {
  for (ThreadParams& thread : params.threads) {
    std::vector<ClampParams> then;
    for (ClampParams& clamp : thread.clamps) {
      clamp.spin_rad_per_s *= scenario_s / spun_s;
      clamp.until_s = spun_s;
      then.push_back(clamp);
      then.back().spin_rad_per_s = 0;
      then.back().from_s = spun_s;
      then.back().until_s = world::kForever;
    }
    thread.clamps.insert(thread.clamps.end(), then.begin(), then.end());
  }
}

void pull(ThreadParams& thread, Place at, Vec3 force) {
  thread.forces.push_back({at, force, 0.2, 0, world::kForever});
}

/// Makes the standing part longer, so that both threads together are `length_mm` long.
void lengthen(world::WorldParams& params, double length_mm) {
  for (ThreadParams& thread : params.threads) {
    const double missing = length_mm / static_cast<double>(params.threads.size()) - length_of(thread.points);
    const Vec3 along = thread.points[0] - thread.points[1];
    thread.points.insert(thread.points.begin(), thread.points[0] + (missing / norm(along)) * along);
  }
}

/// A stitch: both ends of one thread of 600 vertices tied in a reef, its loop held where it would go through tissue.
KnotScene anastomosis() {
  constexpr double kDiameter = 0.2, kLoop = 100, kTail = 75;  // the latter two in diameters
  const auto points = scaled(reef_of_one_thread(kLoop, kTail), kDiameter);
  const double length = length_of(points);
  KnotScene scene =
      one_thread("anastomosis-600", "0.2 mm thread of 600 vertices, a stitch tied in a reef, tails pulled with 6 N",
                 points, length / 599, kDiameter);
  ThreadParams& thread = scene.params.threads[0];
  ClampParams held;
  for (const double aside : {-1.0, 1.0}) {
    held.at = {Place::Kind::arc, 0, length / 2 + aside};
    thread.clamps.push_back(held);
  }
  constexpr double kPull = 6e6;  // T h^2/EI = 0.3: tight; a third of what breaks it
  pull(thread, {Place::Kind::first}, {-kPull, 0, 0});
  pull(thread, {Place::Kind::last}, {kPull, 0, 0});
  scene.params.friction.thread_thread = 0.3;
  scene.budget_ms = 8;
  return scene;
}

}  // namespace

void work(world::WorldParams& params, double spin_rad_per_s, double from_s, double lasting_s) {
  constexpr double kHalf = kWorkPeriod_s / 2;
  // Corners of the swing: up a quarter, then down and up by halves.
  std::vector<double> corners;
  for (double t = from_s + kHalf / 2; t < from_s + lasting_s; t += kHalf) corners.push_back(t);
  for (ThreadParams& thread : params.threads) {
    const auto lasting = thread.forces;
    for (const auto& force : lasting) {
      if (force.until_s < world::kForever) continue;
      double share = kWorkShare;
      thread.forces.push_back({force.at, share * force.force, kHalf / 2, from_s, world::kForever});
      for (const double corner : corners) {
        share = share > 0 ? -2 * kWorkShare : 2 * kWorkShare;
        thread.forces.push_back({force.at, share * force.force, kHalf, corner, world::kForever});
      }
    }
    if (spin_rad_per_s == 0) continue;
    std::vector<ClampParams> then;
    for (ClampParams& clamp : thread.clamps) {
      if (clamp.until_s < world::kForever || clamp.hold != ClampParams::Hold::frame) continue;
      clamp.until_s = from_s;
      ClampParams turn = clamp;
      turn.spin_rad_per_s = clamp.at.kind == Place::Kind::first ? -spin_rad_per_s : spin_rad_per_s;
      turn.from_s = from_s;
      for (const double corner : corners) {
        turn.until_s = corner;
        then.push_back(turn);
        turn.spin_rad_per_s = -turn.spin_rad_per_s;
        turn.from_s = corner;
      }
      turn.until_s = world::kForever;
      then.push_back(turn);
    }
    thread.clamps.insert(thread.clamps.end(), then.begin(), then.end());
  }
}

Result<std::vector<KnotScene>> knot_scenes(const std::string& config) {
  std::vector<KnotScene> scenes;
  auto reef = shipped(config, "knot/reef_thesis.toml", "reef-388",
                      "the thesis's reef: 388 segments, 1 mm thick, 1 N on each thread", 0.8);
  auto overhand = shipped(config, "knot/overhand_10_0.toml", "overhand-10-0",
                          "60 mm of 10-0 nylon, 0.025 mm thick, an overhand pulled with 0.15 N", 0.25);
  auto fine = shipped(config, "knot/reef_10_0.toml", "reef-10-0",
                      "60 mm of 10-0 nylon, 0.025 mm thick, a reef of two threads pulled with 0.15 N each", 0.25);
  auto two = shipped(config, "knot/two_squares_02mm.toml", "two-locked",
                     "0.2 mm thread, two square knots on one another, tails pulled with 2 N", 0.3);
  auto torsion = shipped(config, "knot/torsion_thesis.toml", "torsion",
                         "the thesis's torsion test at its end, both ends held", 0.95);
  for (const auto* scene : {&reef, &overhand, &fine, &two, &torsion})
    if (!*scene) return unexpected(scene->error());

  reef->tails = fine->tails = {{0, true}, {1, true}};
  overhand->budget_ms = fine->budget_ms = 16;
  // Longer than what its scenario ties; and both in segments of half a diameter where it is tied.
  constexpr double kLength_mm = 60, kSegment_mm = 0.0125, kCoarsest_mm = 0.4;
  lengthen(fine->params, kLength_mm);
  for (KnotScene* scene : {&*overhand, &*fine}) {
    for (ThreadParams& thread : scene->params.threads)
      thread.segment_mm = kSegment_mm, thread.coarsest_mm = kCoarsest_mm;
    scene->capacity.vertices = 8192;
  }
  keep_loaded(two->params);
  // Slippery at first, or the outer knot would jam before the inner one is tight.
  two->params.friction.thread_thread = 0.02;
  two->params.schedule.push_back({1.5, world::ScheduleEntry::Key::friction_thread_thread, 0, 0.3, {}});
  constexpr double kScenario_s = 30, kSpun_s = 3;
  spin_faster(torsion->params, kScenario_s, kSpun_s);
  torsion->prepare_s = kSpun_s + 1;
  torsion->work_spin_rad_per_s = 0.4;

  scenes.push_back(std::move(*reef));
  scenes.push_back(anastomosis());
  scenes.push_back(std::move(*overhand));
  scenes.push_back(std::move(*fine));
  scenes.push_back(std::move(*two));
  scenes.push_back(std::move(*torsion));
  return scenes;
}

}  // namespace ligature::bench
