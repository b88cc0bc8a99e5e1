/// Forceps on tissue, by the public door of the world: pressed, fast and slow, and held between the jaws.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

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
  for (const double speed : {5.0, 50.0, 200.0}) {
    Scene s;
    s.p.tissues[0].fix_last = true;
    World world = make_world(s.p);
    const double depth = 0.35, dt = s.p.step_s;
    double z = 1.5;
    double worst = 1e9;
    int unconverged = 0, steps = 0;
    std::uint32_t found = 0;
    const auto go = [&](double to) {
      while (z != to) {
        const double by = speed * dt;
        z = z > to ? std::max(to, z - by) : std::min(to, z + by);
        const StepReport r = s.step(world, {2, 0, z}, kDown, 0);
        const TissueMeasure m = world.measure_tissue(0);
        worst = std::min(worst, m.tool_gap_mm);
        unconverged += r.flags & step_not_converged ? 1 : 0;
        found += r.crossings_found;
        EXPECT_EQ(m.inverted, 0);
        ++steps;
      }
    };
    const auto rest = [&](int count) {
      for (int i = 0; i < count; ++i) {
        const StepReport r = s.step(world, {2, 0, z}, kDown, 0);
        worst = std::min(worst, world.measure_tissue(0).tool_gap_mm);
        unconverged += r.flags & step_not_converged ? 1 : 0;
        ++steps;
      }
    };
    go(0.5 - depth);
    rest(40);
    const TissueMeasure pressed = world.measure_tissue(0);
    std::printf("speed %g: force %g %g %g displacement %g gap %g worst %g unconverged %d of %d\n", speed,
                pressed.tool_force.x, pressed.tool_force.y, pressed.tool_force.z, pressed.displacement_mm,
                pressed.tool_gap_mm, worst, unconverged, steps);
    EXPECT_LT(pressed.tool_force.z, -100);
    go(1.5);
    rest(40);
    const TissueMeasure free = world.measure_tissue(0);
    EXPECT_LT(free.displacement_mm, 1e-3);
    EXPECT_EQ(free.tool_force.z, 0);
    EXPECT_EQ(found, 0u);
    EXPECT_GT(worst, -0.02);
  }
}

}  // namespace
}  // namespace ligature::world
