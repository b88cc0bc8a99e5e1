/// Forceps' arms against threads, by the public door of the world: nothing passes through them, the hand gives way as
/// its stiffness says, and a thread over them slides when Coulomb says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>

#include "sim/instrument/forceps.hpp"
#include "tests/sim/thread_scene.hpp"

namespace ligature::world {
namespace {

constexpr double kStiffHand = 1e10;  // gives way by less than a nanometre, but for what no hand bears [uN/mm]
constexpr double kEnd = 1.2;         // of a sweep: the thread pulls less than that then [mm]

/// The jaws point down, their faces towards x.
const Quat kDown = axis_angle({0, 1, 0}, std::numbers::pi / 2) * axis_angle({1, 0, 0}, std::numbers::pi / 2);

struct Scene {
  WorldParams p = thread_world(0.005);
  InstrumentSample sample;

  Scene() {
    p.forceps_present = true;
    p.solver.iterations = 60;
    p.solver.residual_target = 1e-8;
    for (ForcepsParams& f : p.forceps) f.max_speed_mm_per_s = 1e4, f.hand_stiffness = kStiffHand;
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

/// How deep a thread's centreline is in the jaws' metal, by spheres along their axes, closer than a radius; negative
/// outside [mm].
double depth_of(const ThreadShape& thread, const Pose& X_WT, double opening, const ForcepsParams& f) {
  instrument::ForcepsModel model;
  model.tip_radius = f.tip_radius_mm;
  model.jaw_radius = f.jaw_radius_mm;
  const instrument::Forceps tool(model);
  double deepest = -std::numeric_limits<double>::infinity();
  for (int arm = 0; arm < 2; ++arm) {
    const contact::RoundCone cone = tool.cone_A(arm);
    const Quat q = axis_angle({0, 0, 1}, instrument::Forceps::side(arm) * 0.5 * opening);
    const Pose X_TA{q, model.hinge_p_T - rotate(q, model.hinge_p_T)};
    for (int i = 0; i <= 200; ++i) {
      const double t = i / 200.0;
      const Vec3 centre =
          X_WT * (X_TA * Vec3{std::lerp(cone.a.x(), cone.b.x(), t), std::lerp(cone.a.y(), cone.b.y(), t), 0});
      const double radius = std::lerp(cone.radius_a, cone.radius_b, t);
      for (std::size_t v = 0; v + 1 < thread.x.size(); ++v) {
        const Vec3 p = thread.x[v], d = thread.x[v + 1] - p;
        const double s = std::clamp(dot(centre - p, d) / dot(d, d), 0.0, 1.0);
        deepest = std::max(deepest, radius - norm(p + s * d - centre));
      }
    }
  }
  return deepest;
}

/// A thread of 10 mm between two clamps along x, drawn a little, at y = 0.
ThreadParams taut() {
  ThreadParams t = nylon({{-5, 0, 0}, {5, 0, 0}}, kTen0, 100, 1e-4);
  t.rest_length_scale = 0.99;
  t.clamps = {clamp_at(Place::Kind::first, ClampParams::Hold::position),
              clamp_at(Place::Kind::last, ClampParams::Hold::position)};
  return t;
}

TEST(ArmOnThread, JawsSweptAcrossATautThreadTakeItAlong) {
  for (const double opening : {0.0, 0.01})
    for (const double speed : {20.0, 100.0, 200.0, 400.0}) {
      Scene s;
      s.p.threads = {taut()};
      World world = make_world(s.p);
      double y = -1, deepest = -1, lag = 0;
      std::uint32_t found = 0;
      s.step(world, {0.1, y, -2}, kDown, opening);
      while (y < kEnd) {
        y = std::min(kEnd, y + speed * s.p.step_s);
        const StepReport r = s.step(world, {0.1, y, -2}, kDown, opening);
        found += r.crossings_found;
        lag = std::max(lag, r.held_lag_mm);
        deepest = std::max(
            deepest, depth_of(world.shape(0), s.sample.instruments[0].X_RT, opening, s.p.forceps[0]) - r.held_lag_mm);
      }
      for (int i = 0; i < 20; ++i) s.step(world, {0.1, y, -2}, kDown, opening);
      const ThreadShape shape = world.shape(0);
      const double furthest =
          std::max_element(shape.x.begin(), shape.x.end(), [](Vec3 a, Vec3 b) { return a.y < b.y; })->y;
      EXPECT_EQ(found, 0u);
      EXPECT_LT(lag, 0.5) << speed << " mm/s: the jaws wait for the thread";
      EXPECT_LT(deepest, 0) << speed << " mm/s: the centreline came into the metal";
      EXPECT_GT(furthest, kEnd) << speed << " mm/s: the thread is not in front of the jaws";
      // Away again: it springs back.
      for (int i = 0; i < 60; ++i) s.step(world, {0.1, std::max(-3.0, y -= 0.1), -2}, kDown, opening);
      for (const Vec3 x : world.shape(0).x) EXPECT_LT(std::abs(x.y), 0.05) << speed;
    }
}

TEST(ArmOnThread, TheHandGivesWayByForceOverItsStiffness) {
  Scene s;
  const double stiffness = 2e4;
  for (ForcepsParams& f : s.p.forceps) f.hand_stiffness = stiffness;
  s.p.threads = {taut()};
  World world = make_world(s.p);
  double y = -1;
  for (; y < 1; y += 0.02) s.step(world, {0, y, -2}, kDown, 0);
  for (int i = 0; i < 100; ++i) s.step(world, {0, y, -2}, kDown, 0);
  double force = 0;
  for (const ClampMeasure& c : world.clamps()) force -= c.force.y;
  double top = 0;
  for (const Vec3 x : world.shape(0).x) top = std::max(top, x.y);
  // Where the thread lies the jaws are 2 mm behind the tip; two arms side by side share what it pulls.
  const ForcepsParams& f = s.p.forceps[0];
  const double radius = std::lerp(f.tip_radius_mm, f.jaw_radius_mm, 2 / f.jaw_length_mm);
  const double given = y + radius + 0.5 * kTen0 - top;
  EXPECT_GT(force, 5000);
  EXPECT_NEAR(given * 2 * stiffness / force, 1, 0.02) << force << " uN, " << given << " mm";
}

TEST(ArmOnThread, AThreadOverClosedJawsSlidesWhereCoulombSays) {
  const double mu = 0.2, light = 2000, bound = std::exp(mu * std::numbers::pi);
  for (const double share : {0.85, 1.15}) {
    Scene s;
    s.p.friction.thread_tool = mu;
    ThreadParams t = nylon({{-0.6, 0, -6}, {-0.6, 0, 0.9}, {0.6, 0, 0.9}, {0.6, 0, -6}}, kTen0, 300, 1e-4);
    t.forces = {force_at(Place::Kind::first, {0, 0, -light}, 0.2),
                force_at(Place::Kind::last, {0, 0, -light * share * bound}, 0.2)};
    s.p.threads = {t};
    World world = make_world(s.p);
    const Quat along_y = axis_angle({0, 0, 1}, std::numbers::pi / 2) * axis_angle({1, 0, 0}, std::numbers::pi / 2);
    const auto end = [&] { return world.shape(0).x.back().z; };
    for (int i = 0; i < 80; ++i) s.step(world, {0, 3, 0}, along_y, 0);
    const double before = end();
    for (int i = 0; i < 40; ++i) s.step(world, {0, 3, 0}, along_y, 0);
    const double slid = before - end();
    if (share < 1)
      EXPECT_LT(slid, 1e-3) << share;
    else
      EXPECT_GT(slid, 0.2) << share;
  }
}

}  // namespace
}  // namespace ligature::world
