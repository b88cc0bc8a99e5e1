/// Friction acts on the surface of a thread, not on its centreline: it turns what it rubs on.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/world/world.hpp"

namespace ligature::world {
namespace {

constexpr double kRadius = 0.1, kHalf = 10, kFriction = 0.3, kPress = 2e5, kTension = 1e6;  // mm, mm, -, uN, uN
constexpr double kSpeed = 2;                                                                // mm/s

/// A thread drawn over another at a right angle: a load at its one end, the other moves along x. The lower one is held
/// at both ends.
WorldParams drawn_over(ClampParams::Hold hold) {
  WorldParams p;
  p.step_s = 0.005;
  p.friction.thread_thread = kFriction;
  p.solver.iterations = 50;
  ThreadParams t;
  t.inertial = false;
  t.segment_mm = 0.1;
  t.diameter_mm = 2 * kRadius;
  t.twist_mode = ThreadParams::TwistMode::unknown;
  t.material = round_thread(2.5e9, 0.4, 1.14e-3, t.diameter_mm, 3e-3);
  ThreadParams under = t, over = t;
  under.name = "under";
  under.segment_mm = 0.2;
  under.points = {{0, -kHalf, 0}, {0, kHalf, 0}};
  under.rest_length_scale = 0.98;
  for (const Place::Kind end : {Place::Kind::first, Place::Kind::last}) {
    ClampParams c;
    c.at.kind = end;
    c.hold = hold;
    under.clamps.push_back(c);
  }
  over.name = "over";
  over.points = {{-5, 0, 2.001 * kRadius}, {5, 0, 2.001 * kRadius}};
  ForceParams load;
  load.at.kind = Place::Kind::first;
  load.force = {-kTension, 0, -kPress};
  load.ramp_s = 0.1;
  over.forces.push_back(load);
  load.at.kind = Place::Kind::last;
  load.force = {kTension, 0, -kPress};
  load.until_s = 0.2;
  over.forces.push_back(load);
  ClampParams pull;
  pull.at.kind = Place::Kind::last;
  pull.velocity = {kSpeed, 0, 0};
  pull.from_s = 0.2;
  over.clamps.push_back(pull);
  p.threads = {under, over};
  return p;
}

struct Drawn {
  double friction = 0;  ///< of all contacts [uN]
  double normal = 0;
  double moment = 0;  ///< about the lower thread, of both its clamps [uN mm]
  double turned = 0;  ///< of the lower thread where it is touched, against its held ends [rad]
  bool sliding = false;
};

Drawn draw(World& world, double until_s) {
  while (world.time_s() < until_s - 1e-6) world.step({});
  Drawn d;
  for (const ContactMeasure& c : world.contacts()) {
    d.friction += c.friction_force;
    d.normal += c.normal_force;
    d.sliding |= c.sliding;
  }
  for (const ClampMeasure& c : world.clamps())
    if (c.thread == 0) d.moment += c.torque.y;
  const ThreadShape under = world.shape(0);
  for (std::size_t i = 0; 2 * i < under.x.size(); ++i) d.turned += under.twist_rad[i];
  return d;
}

TEST(FrictionMoment, AThreadThatIsFreeToTurnIsAPulleyWithoutFriction) {
  auto world = World::create(drawn_over(ClampParams::Hold::position), {});
  ASSERT_TRUE(world) << world.error().message;
  const Drawn d = draw(*world, 0.6);
  EXPECT_GT(d.normal, 1.5 * kPress);
  EXPECT_LT(d.friction, 1e-3 * kFriction * d.normal);
  EXPECT_FALSE(d.sliding);
}

TEST(FrictionMoment, HeldAtItsEndsItIsWoundUpByTheMomentOfFrictionUntilThatSlides) {
  const WorldParams p = drawn_over(ClampParams::Hold::frame);
  auto world = World::create(p, {});
  ASSERT_TRUE(world) << world.error().message;
  // What joints between edges turn by, of one half: not the half edges at the clamp and where it is touched.
  const ThreadParams& under = p.threads[0];
  const double gj = under.material.twist_stiffness, half = under.rest_length_scale * (kHalf - under.segment_mm);
  Drawn d;
  for (const double until : {0.22, 0.24, 0.26, 0.6}) {
    d = draw(*world, until);
    std::printf("%.2f s: friction %.0f normal %.0f uN, moment %.0f uN mm, turned %.4f rad, sliding %d\n", until,
                d.friction, d.normal, d.moment, d.turned, d.sliding);
    // Both halves resist alike.
    EXPECT_NEAR(std::abs(d.moment), kRadius * d.friction, 1e-3 * kRadius * d.friction) << until;
    EXPECT_NEAR(std::abs(d.turned), 0.5 * kRadius * d.friction * half / gj, 2e-3 * std::abs(d.turned)) << until;
  }
  EXPECT_TRUE(d.sliding);
  EXPECT_NEAR(d.friction, kFriction * d.normal, 1e-3 * kFriction * d.normal);
}

TEST(FrictionMoment, WithQuasiStaticTwistThereIsNone) {
  WorldParams p = drawn_over(ClampParams::Hold::position);
  for (ThreadParams& t : p.threads) t.twist_mode = ThreadParams::TwistMode::quasi_static;
  auto world = World::create(p, {});
  ASSERT_TRUE(world) << world.error().message;
  const Drawn d = draw(*world, 0.6);
  EXPECT_TRUE(d.sliding);
  EXPECT_NEAR(d.friction, kFriction * d.normal, 1e-3 * kFriction * d.normal);
}

}  // namespace
}  // namespace ligature::world
