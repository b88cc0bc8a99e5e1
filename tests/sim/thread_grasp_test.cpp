/// A thread in the jaws: held below the grip, slipping above it, and grasped in flight without a jerk.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tests/sim/scene.hpp"
#include "tests/sim/thread_scene.hpp"

namespace ligature::world {
namespace {

using Kind = Place::Kind;

WorldParams with_jaws() {
  WorldParams p = thread_world(0.005);
  p.forceps_present = true;
  p.solver.iterations = 60;
  for (ForcepsParams& f : p.forceps) {
    f.max_speed_mm_per_s = 1e4;
    f.grasp_opening_rad = 0.005;
    f.release_opening_rad = 0.009;
  }
  return p;
}

struct Hand {
  InstrumentSample sample;
  StepReport step(World& world, Vec3 tip, double opening) {
    sample.instruments[0] = hand(tip, opening);
    ++sample.sequence;
    return world.step(sample);
  }
};

double fastest(const std::vector<Vec3>& before, const std::vector<Vec3>& now, double dt) {
  double most = 0;
  for (std::size_t i = 0; i < now.size(); ++i) most = std::max(most, norm(now[i] - before[i]) / dt);
  return most;
}

// Pulled along by less than the grip it stays, by more it runs through the jaws.
TEST(ThreadInJaws, HoldsBelowTheGripAndSlipsAboveIt) {
  for (const double grip : {2e4, 1e5})
    for (const double part : {0.5, 0.9, 0.97, 1.03, 1.2}) {
      WorldParams p = with_jaws();
      for (ForcepsParams& f : p.forceps) f.grip_force = grip;
      ThreadParams t = nylon({{-8, 0, 0}, {8, 0, 0}}, 0.1, 160, 1e-3);
      ForceParams pull = force_at(Kind::last, {part * grip, 0, 0}, 0.1);
      pull.from_s = 0.3;
      t.forces = {pull};
      p.threads = {t};
      World world = make_world(p);
      Hand jaws;
      for (int k = 0; k < 50; ++k) jaws.step(world, {0, 0, -1}, 0.04 * std::max(0.0, 1 - k / 30.0));
      const auto middle = [&] { return world.shape(0).x[80]; };
      const Vec3 held = middle();
      for (int k = 0; k < 60; ++k) jaws.step(world, {0, 0, -1}, 0);  // the pull comes, and is full after 20
      const Vec3 pulled = middle();
      for (int k = 0; k < 40; ++k) jaws.step(world, {0, 0, -1}, 0);
      const double slid = norm(middle() - pulled);
      if (part < 1) {
        EXPECT_LT(norm(pulled - held), 0.05) << "the give of the pads and the thread's own, " << part;
        EXPECT_LT(slid, 1e-4) << part << " of " << grip;
      } else {
        EXPECT_GT(slid, 0.2) << part << " of " << grip;
      }
    }
}

// Drawn along a thread that is held at its end, jaws that slide have what they hold it by in a few linearisations, and
// no more than that pulls at the end.
TEST(ThreadInJaws, SlideAlongATautThreadInFewLinearisations) {
  constexpr double kGrip = 2e4;
  WorldParams p = with_jaws();
  for (ForcepsParams& f : p.forceps) f.grip_force = kGrip;
  ThreadParams t = nylon({{-8, 0, 0}, {8, 0, 0}}, kTen0, 160, 1e-4);
  t.clamps = {clamp_at(Kind::first, ClampParams::Hold::position)};
  p.threads = {t};
  World world = make_world(p);
  Hand jaws;
  for (int k = 0; k < 50; ++k) jaws.step(world, {0, 0, -1}, 0.04 * std::max(0.0, 1 - k / 30.0));
  std::uint32_t spent = 0;
  int unconverged = 0;
  constexpr int kSteps = 60, kSliding = 20;
  for (int k = 1; k <= kSteps; ++k) {
    const StepReport r = jaws.step(world, {5 * p.step_s * k, 0, -1}, 0);
    if (k <= kSliding) continue;
    spent += r.iterations;
    unconverged += (r.flags & step_not_converged) != 0;
    EXPECT_NEAR(norm(world.shape(0).x[20] - world.shape(0).x[0]), 2 * (1 + kGrip / t.material.stretch_stiffness), 1e-3);
  }
  std::printf("%.1f linearisations a step that slides\n", spent / double(kSteps - kSliding));
  EXPECT_EQ(unconverged, 0);
  EXPECT_LT(spent, 20 * (kSteps - kSliding)) << "by the secant alone 60 did not do";
}

// A thread that flies between closing jaws: nothing of it ever goes faster than it flew, it gains no energy.
TEST(ThreadInJaws, GraspedInFlightItIsNotJerked) {
  for (const double diameter : {kTen0, 0.1})
    for (const double speed : {20.0, 100.0, 200.0})
      for (const Vec3 direction : {Vec3{1, 0, 0}, Vec3{0, 0, 1}, Vec3{0.8, 0, -0.6}}) {
        WorldParams p = with_jaws();
        ThreadParams t = nylon({{-8, 0.02, 0}, {8, 0.02, 0}}, diameter, 80, 1e-7);
        t.inertial = true;
        t.velocity = speed * direction;
        p.threads = {t};
        World world = make_world(p);
        Hand jaws;
        // The tip waits where the thread will be after ten steps, wide enough not to touch it, then closes at once.
        const Vec3 at = (speed * 10 * p.step_s) * direction + Vec3{0, 0, -1};
        const double wide = 0.0095;
        int grasped = 0;
        double most = 0, energy = 1e300;
        auto before = world.shape(0).x;
        for (int k = 0; k < 50; ++k) {
          const StepReport r = jaws.step(world, at, k < 10 ? wide : 0.0045);
          grasped += (r.flags & step_grasped) != 0;
          const auto now = world.shape(0).x;
          most = std::max(most, fastest(before, now, p.step_s));
          before = now;
          const ThreadMeasure m = world.measure(0, false);
          const double sum = m.kinetic_energy + m.bend_energy + m.twist_energy + m.stretch_energy;
          EXPECT_LT(sum, 1.001 * energy + 1e-6) << "step " << k << " at " << speed << " along " << direction.x << " "
                                                << direction.y << " " << direction.z;
          energy = sum;
        }
        EXPECT_EQ(grasped, 1) << speed;
        EXPECT_LT(most, 1.01 * speed) << "along " << direction.x << " " << direction.y << " " << direction.z;
      }
}

// Drawn through open jaws by its end, they close on it: in no step does any of it go faster than it is drawn, what they
// hold stops.
TEST(ThreadInJaws, GraspedWhileItIsDrawnItStopsWithoutAJerk) {
  for (const double speed : {20.0, 100.0, 200.0}) {
    WorldParams p = with_jaws();
    for (ForcepsParams& f : p.forceps) f.grip_force = 5e3;
    ThreadParams t = nylon({{-20, 0.02, 0}, {6, 0.02, 0}}, 0.05, 130, 1e-3);
    t.clamps = {clamp_at(Kind::last, ClampParams::Hold::position)};
    t.clamps[0].velocity = {speed, 0, 0};
    p.threads = {t};
    World world = make_world(p);
    Hand jaws;
    int grasped = 0;
    double most = 0;
    auto before = world.shape(0).x;
    for (int k = 0; k < 20; ++k) {
      const StepReport r = jaws.step(world, {-2, 0, -1}, k < 10 ? 0.0095 : 0.0045);
      grasped += (r.flags & step_grasped) != 0;
      const auto now = world.shape(0).x;
      most = std::max(most, fastest(before, now, p.step_s));
      before = now;
    }
    EXPECT_EQ(grasped, 1) << speed;
    EXPECT_LT(most, 1.05 * speed);
  }
}

// Jaws that move close on a thread that rests: it never goes faster than they.
TEST(ThreadInJaws, GraspedByMovingJawsItGoesNoFasterThanThey) {
  for (const double speed : {20.0, 100.0, 200.0})
    for (const bool inertial : {false, true}) {
      WorldParams p = with_jaws();
      ThreadParams t = nylon({{-8, 0, 0}, {8, 0, 0}}, 0.05, 80, 1e-4);
      t.inertial = inertial;
      p.threads = {t};
      World world = make_world(p);
      Hand jaws;
      int grasped = 0;
      double most = 0;
      auto before = world.shape(0).x;
      for (int k = 0; k < 40; ++k) {
        const double z = -1 + speed * p.step_s * (k - 10);
        const bool here = z > -1.5 && z < 0.5;
        const StepReport r = jaws.step(world, {0, 0, z}, grasped > 0 || here ? 0.0045 : 0.0095);
        grasped += (r.flags & step_grasped) != 0;
        const auto now = world.shape(0).x;
        most = std::max(most, fastest(before, now, p.step_s));
        before = now;
      }
      EXPECT_EQ(grasped, 1) << speed;
      EXPECT_LT(most, (inertial ? 1.1 : 1.01) * speed) << "a thread with mass whips a little";
    }
}

}  // namespace
}  // namespace ligature::world
