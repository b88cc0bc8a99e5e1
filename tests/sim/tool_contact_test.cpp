/// Forceps on tissue, by the public door of the world: pressed, fast and slow, and held between the jaws.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "tests/sim/thread_scene.hpp"

namespace ligature::world {
namespace {

/// A vessel along x, its axis at z = 0, and a thread that is far away.
struct Scene {
  WorldParams p = thread_world(0.005);
  InstrumentSample sample;

  Scene() {
    p.forceps_present = true;
    p.solver.iterations = 30;
    p.solver.residual_target = 1e-6;
    TissueParams t;
    t.name = "vessel";
    t.length_mm = 4;
    t.around = 20;
    t.along = 20;
    p.tissues = {t};
    p.threads = {nylon({{-20, 0, 10}, {-10, 0, 10}}, kTen0, 10, 1e-3)};
    for (ForcepsParams& f : p.forceps) f.max_speed_mm_per_s = 1e4;
  }
  StepReport step(World& world, Vec3 tip, Quat q, double opening) {
    InstrumentPose& pose = sample.instruments[0];
    pose.status = TrackStatus::tracked;
    pose.confidence = 1;
    pose.X_RT = {q, tip};
    pose.opening_rad = opening;
    ++sample.sequence;
    return world.step(sample);
  }
};

/// The jaws point down.
const Quat kDown = axis_angle({0, 1, 0}, std::numbers::pi / 2);

TEST(ToolOnTissue, PressedFastOrSlowNeverEntersAndLeavesNoTrace) {
  double slowly = 0;
  for (const double speed : {5.0, 50.0, 200.0}) {
    Scene s;
    s.p.tissues[0].fix_last = true;
    World world = make_world(s.p);
    const double depth = 0.35, dt = s.p.step_s;
    double z = 1.5;
    double worst = 1e9;
    std::uint32_t found = 0;
    const auto go = [&](double to) {
      while (z != to) {
        const double by = speed * dt;
        z = z > to ? std::max(to, z - by) : std::min(to, z + by);
        const StepReport r = s.step(world, {2, 0, z}, kDown, 0);
        const TissueMeasure m = world.measure_tissue(0);
        worst = std::min(worst, m.tool_gap_mm);
        found += r.crossings_found;
        EXPECT_EQ(m.inverted, 0);
      }
    };
    const auto rest = [&](int count) {
      for (int i = 0; i < count; ++i) {
        s.step(world, {2, 0, z}, kDown, 0);
        worst = std::min(worst, world.measure_tissue(0).tool_gap_mm);
      }
    };
    go(0.5 - depth);
    rest(40);
    const TissueMeasure pressed = world.measure_tissue(0);
    EXPECT_LT(pressed.tool_force.z, -3000);
    EXPECT_GT(pressed.tool_gap_mm, -1e-4);
    if (speed == 5)
      slowly = pressed.tool_force.z;
    else
      EXPECT_NEAR(pressed.tool_force.z, slowly, 0.05 * -slowly)
          << "friction aside, it does not matter how it came there";
    go(1.5);
    rest(40);
    const TissueMeasure free = world.measure_tissue(0);
    EXPECT_LT(free.displacement_mm, 1e-3);
    EXPECT_EQ(free.tool_force.z, 0);
    EXPECT_EQ(found, 0u);
    EXPECT_GT(worst, -0.02) << "of 0.25 mm from the axis of the tip to its surface";
  }
}

/// Height of the free end over where it lay: the mean of its rim.
double rim(const World& world) {
  const TissueSurface of = world.tissue_surfaces()[0];
  auto scene = std::make_unique<SceneSnapshot>();
  world.snapshot(*scene);
  double sum = 0;
  int count = 0;
  for (std::size_t v = 0; v < of.rest.size(); ++v)
    if (of.rest[v].x > 3.99) sum += scene->surface[v].z - of.rest[v].z, ++count;
  return sum / count;
}

/// Jaws on either side of the free end, their tips well below it, pinch it to 0.6 mm and rise by 1.2 mm, which bends
/// the vessel as a beam.
struct Rise {
  double up = 0;      ///< of the jaws [mm]
  double behind = 0;  ///< the vessel's rim, which stands a little further out, against the jaws [mm]
  double pull = 0;    ///< of the jaws, upwards [uN]
  double grip = 0;    ///< sum of what they press with [uN]
};
std::vector<Rise> pull_up(double mu) {
  Scene s;
  s.p.friction.tissue_tool = mu;
  s.p.tissues[0].around = 16, s.p.tissues[0].along = 12;
  World world = make_world(s.p);
  const double apart = 2 * 0.75 / 120, near = 2 * 0.3 / 120, low_z = -1.5;
  std::vector<Rise> out;
  double gap = 1e9;
  const auto step = [&](double z, double opening) {
    const StepReport r = s.step(world, {3.5, 0, z}, kDown, opening);
    EXPECT_EQ(r.crossings_found, 0u);
    const TissueMeasure m = world.measure_tissue(0);
    EXPECT_EQ(m.inverted, 0);
    gap = std::min(gap, m.tool_gap_mm);
    return m;
  };
  for (int i = 0; i < 12; ++i) step(1.8 - 0.3 * i, apart);
  for (int i = 1; i <= 30; ++i) step(low_z, apart + i / 30.0 * (near - apart));
  const double low = rim(world);
  for (int i = 1; i <= 120; ++i) {
    const double up = 0.01 * i;
    const TissueMeasure m = step(low_z + up, near);
    out.push_back({up, up - (rim(world) - low), m.tool_force.z, m.tool_grip});
  }
  EXPECT_GT(gap, -0.03) << "of 0.25 mm from an axis to its surface";
  for (int i = 1; i <= 30; ++i) step(low_z + 1.2, near + i / 30.0 * (apart - near));
  for (int i = 0; i < 40; ++i) step(low_z + 1.2, apart);
  EXPECT_LT(world.measure_tissue(0).displacement_mm, 2e-3) << "let go it returns";
  return out;
}

// Jaws that pinch a vessel are held apart by it: the picture has them where they are, not where the hand has them.
TEST(ToolOnTissue, APictureShowsTheArmsWhereTheyAre) {
  Scene s;
  World world = make_world(s.p);
  const double apart = 2 * 0.75 / 120, near = 2 * 0.3 / 120;
  for (int i = 0; i < 12; ++i) s.step(world, {3.5, 0, 1.8 - 0.3 * i}, kDown, apart);
  const auto scene = std::make_unique<SceneSnapshot>();
  world.snapshot(*scene);
  EXPECT_EQ(norm(scene->forceps[0].aside[0]) + norm(scene->forceps[0].aside[1]), 0) << "nothing is in their way";
  double lag = 0;
  for (int i = 1; i <= 30; ++i)
    lag = s.step(world, {3.5, 0, -1.5}, kDown, apart + i / 30.0 * (near - apart)).held_lag_mm;
  world.snapshot(*scene);
  const auto& [plus, minus] = scene->forceps[0].aside;
  const Vec3 out = rotate(kDown, {0, 1, 0});  // the side of the first
  EXPECT_GT(dot(plus, out), 0.5 * lag);
  EXPECT_LT(dot(minus, out), -0.5 * lag);
  EXPECT_GT(lag, 1e-3);
  EXPECT_NEAR(std::max(norm(plus), norm(minus)), lag, 1e-6);
}

// The grip is what Coulomb says: mu times what the jaws press with; round jaws and a round vessel add a little that is
// there without friction, too. Below it the vessel comes along, above it the jaws slide on.
TEST(ToolOnTissue, HeldBetweenTheJawsBelowTheirGripAndSlipsAboveIt) {
  double without = 0;
  for (const Rise& r : pull_up(0)) without = std::max(without, r.pull / std::max(r.grip, 1.0));
  EXPECT_LT(without, 0.06);
  for (const double mu : {0.1, 0.2}) {
    double most = 0, held_to = 0, lag = 0;
    const std::vector<Rise> rises = pull_up(mu);
    for (const Rise& r : rises) {
      EXPECT_GT(r.grip, 3000) << "they press all the time";
      most = std::max(most, r.pull / r.grip);
      if (most < 0.75 * mu) held_to = r.up, lag = std::max(lag, r.behind);
    }
    EXPECT_GT(held_to, 0.1) << mu;
    EXPECT_LT(lag, 0.05) << mu;
    EXPECT_GT(most, 0.9 * mu) << mu;
    EXPECT_LT(most, 1.1 * mu + without) << mu;
    EXPECT_GT(rises.back().behind, 0.3) << "it slid, " << mu;
  }
}

}  // namespace
}  // namespace ligature::world
