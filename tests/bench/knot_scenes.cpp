#include "tests/bench/knot_scenes.hpp"

#include <cmath>
#include <filesystem>
#include <numbers>

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
  scene.params.schedule.clear();
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

void pull(ThreadParams& thread, Place at, Vec3 force) {
  thread.forces.push_back({at, force, 0.2, 0, world::kForever});
}

/// A stitch: both ends of one thread of 600 vertices tied in a reef, its loop held where it would go through tissue.
KnotScene anastomosis() {
  constexpr double kDiameter = 0.2, kLoop = 100, kTail = 75;  // the latter two in diameters
  const auto points = scaled(reef_of_one_thread(kLoop, kTail), kDiameter);
  const double length = length_of(points);
  KnotScene scene =
      one_thread("anastomosis-600", "0.2 mm thread of 600 vertices, a stitch tied in a reef, tails pulled", points,
                 length / 599, kDiameter);
  ThreadParams& thread = scene.params.threads[0];
  ClampParams held;
  for (const double aside : {-1.0, 1.0}) {
    held.at = {Place::Kind::arc, 0, length / 2 + aside};
    thread.clamps.push_back(held);
  }
  pull(thread, {Place::Kind::first}, {-1e6, 0, 0});
  pull(thread, {Place::Kind::last}, {1e6, 0, 0});
  scene.params.friction.thread_thread = 0.3;
  scene.budget_ms = 8;
  return scene;
}

KnotScene overhand_10_0() {
  constexpr double kDiameter = 0.025;
  KnotScene scene = one_thread("overhand-10-0", "10-0 nylon, 0.025 mm, 60 mm long, an overhand pulled with 0.15 N",
                               scaled(overhand(60 / kDiameter), kDiameter), 0.025, kDiameter);
  ThreadParams& thread = scene.params.threads[0];
  thread.clamps.push_back({});
  pull(thread, {Place::Kind::last}, {150e3, 0, 0});
  scene.params.friction.thread_thread = 0.25;
  scene.budget_ms = 16;
  return scene;
}

KnotScene two_knots() {
  constexpr double kDiameter = 0.2;
  const auto points = scaled(two_overhands(300), kDiameter);
  KnotScene scene = one_thread("two-locked", "0.2 mm thread, two overhands one after the other, both pulled tight",
                               points, 0.1, kDiameter);
  ThreadParams& thread = scene.params.threads[0];
  thread.clamps.push_back({});
  pull(thread, {Place::Kind::last}, {1e6, 0, 0});
  return scene;
}

/// Thesis 4.2.3, with the numbers of its table as METHOD reads them, spun faster: the state at the end is what counts.
KnotScene torsion() {
  constexpr double kLength = 19.9, kTurns = 20, kSpun_s = 3;
  KnotScene scene =
      one_thread("torsion-200", "torsion test at its end: 200 vertices, 20 turns put in, plectonemes", {}, 0.1, 0.2);
  ThreadParams& thread = scene.params.threads[0];
  // A slack of a quarter, as a shallow arc, so that it may coil.
  constexpr int kSteps = 200;
  for (int k = 0; k <= kSteps; ++k) {
    const double u = -1 + 2.0 * k / kSteps;
    thread.points.push_back({u * 0.4 * kLength, 0, 0});
  }
  thread.material = {100.5e3, 39.8e3, 796e3, 1.14e-3 * std::numbers::pi * 0.01, 10.7};
  thread.points = scaled(thread.points, 1.25);
  for (const double side : {-1.0, 1.0}) {
    ClampParams clamp;
    clamp.at.kind = side < 0 ? Place::Kind::first : Place::Kind::last;
    clamp.hold = ClampParams::Hold::frame;
    clamp.spin_rad_per_s = side * kTurns * std::numbers::pi / kSpun_s;
    clamp.velocity = {-side * 0.1 * kLength / kSpun_s, 0, 0};
    clamp.until_s = kSpun_s;
    thread.clamps.push_back(clamp);
    clamp.spin_rad_per_s = 0;
    clamp.velocity = {};
    clamp.from_s = kSpun_s;
    clamp.until_s = world::kForever;
    thread.clamps.push_back(clamp);
  }
  scene.params.friction.thread_thread = 0.95;
  scene.prepare_s = kSpun_s + 1;
  return scene;
}

}  // namespace

Result<std::vector<KnotScene>> knot_scenes(const std::string& config) {
  std::vector<KnotScene> scenes;
  auto reef = shipped(config, "knot/reef_thesis.toml", "reef-388",
                      "the thesis's reef: 388 segments, 1 mm thick, 1 N on each thread", 0.8);
  if (!reef) return unexpected(reef.error());
  reef->tails = {{0, true}, {1, true}};
  scenes.push_back(std::move(*reef));
  scenes.push_back(anastomosis());
  scenes.push_back(overhand_10_0());
  auto fine = shipped(config, "knot/reef_10_0.toml", "reef-10-0",
                      "10-0 nylon, 0.025 mm, a reef of two threads pulled with 0.15 N each", 0.25);
  if (!fine) return unexpected(fine.error());
  fine->tails = {{0, true}, {1, true}};
  fine->budget_ms = 16;
  scenes.push_back(std::move(*fine));
  scenes.push_back(two_knots());
  scenes.push_back(torsion());
  return scenes;
}

}  // namespace ligature::bench
