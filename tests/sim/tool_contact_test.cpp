/// Forceps on tissue, by the public door of the world: pressed, fast and slow, and held between the jaws.
#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>

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

// Jaws on either side of the free end close on it and rise: it comes along by friction, and stays behind without.
TEST(ToolOnTissue, HeldBetweenTheJawsByFrictionAndNotWithout) {
  double lifted[2] = {};
  for (const bool rough : {false, true}) {
    Scene s;
    s.p.friction.tissue_tool = rough ? 0.5 : 0.0;
    World world = make_world(s.p);
    const double apart = 2 * 0.75 / 120, near = 2 * 0.15 / 120;
    double least = 1e9;
    const auto step = [&](double z, double opening) {
      const StepReport r = s.step(world, {3.5, 0, z}, kDown, opening);
      EXPECT_EQ(r.crossings_found, 0u);
      const TissueMeasure m = world.measure_tissue(0);
      EXPECT_EQ(m.inverted, 0);
      least = std::min(least, m.tool_gap_mm);
    };
    for (int i = 0; i < 20; ++i) step(1.8 - 0.1 * i, apart);
    for (int i = 1; i <= 40; ++i) step(-0.2, apart + i / 40.0 * (near - apart));
    for (int i = 1; i <= 40; ++i) step(-0.2 + 0.01 * i, near);
    lifted[rough] = world.measure_tissue(0).displacement_mm;
    EXPECT_GT(least, -0.03) << "of 0.25 mm from an axis to its surface";
    for (int i = 1; i <= 40; ++i) step(0.2, near + i / 40.0 * (apart - near));
    for (int i = 0; i < 40; ++i) step(0.2, apart);
    EXPECT_LT(world.measure_tissue(0).displacement_mm, 1e-3) << "let go it returns";
  }
  EXPECT_GT(lifted[1], 0.3);
  EXPECT_LT(lifted[0], 0.8 * lifted[1]);
}

}  // namespace
}  // namespace ligature::world
