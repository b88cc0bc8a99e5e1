// Threads that get vertices where they are needed and lose those that are not: what that must not change.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "appliance/rt/executor.hpp"
#include "appliance/sim/curves.hpp"
#include "appliance/sim/strand_gap.hpp"
#include "tests/sim/knot_handling.hpp"
#include "tests/sim/knot_scene.hpp"
#include "tests/sim/scene.hpp"
#include "tests/sim/thread_scene.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::world {
namespace {

constexpr double kPi = std::numbers::pi;

/// Made adaptive: segments of segment_mm to `times` of it.
ThreadParams adaptive(ThreadParams t, double times = 16) {
  t.coarsest_mm = times * t.segment_mm;
  return t;
}

ThreadParams straight(double length_mm, std::size_t segments) {
  return nylon({{0, 0, 0}, {length_mm, 0, 0}}, kTen0, segments);
}

ClampParams held_frame(Place::Kind kind) {
  ClampParams c;
  c.at.kind = kind;
  c.hold = ClampParams::Hold::frame;
  return c;
}

void expect_graded(const World& world, std::size_t thread) {
  const ThreadShape s = world.shape(thread);
  for (std::size_t i = 2; i < s.s_mm.size(); ++i) {
    const double a = s.s_mm[i - 1] - s.s_mm[i - 2], b = s.s_mm[i] - s.s_mm[i - 1];
    EXPECT_LT(std::max(a, b), 2.0001 * std::min(a, b)) << i;
  }
}

// Bent to and fro and twisted at its ends, which hold its frames, without coming near itself.
TEST(Adapt, KeepsLengthAndLinkThroughThousandsOfDivisionsAndJoins) {
  WorldParams p = thread_world(0.005);
  p.solver.iterations = 50;
  p.solver.residual_target = 1e-7;
  ThreadParams t = adaptive(straight(20, 1600), 128);
  t.material.drag = 1e-3;
  const double period = 0.2;
  for (int k = 0; k < 70; ++k)  // the last end goes in and out, turns on, and stops to be measured
    for (int half = 0; half < 2; ++half) {
      ClampParams c = held_frame(Place::Kind::last);
      c.velocity = {half == 0 ? -100.0 : 100.0, 0, 0};
      c.turn_rad_per_s = {0, half == 0 ? 25.0 : -25.0, 0};
      c.spin_rad_per_s = k < 1 ? 6 : 0;
      c.from_s = k * period + half * period / 2;
      c.until_s = c.from_s + period / 2;
      t.clamps.push_back(c);
    }
  t.clamps.push_back(held_frame(Place::Kind::first));
  p.threads = {t};
  World world = make_world(p);
  const ThreadMeasure start = world.measure(0);
  std::size_t changes = 0, least = start.vertices, most = start.vertices;
  double link = 0;
  for (int k = 0; k < 2800; ++k) {
    const StepReport r = world.step({});
    changes += r.vertices_added + r.vertices_removed;
    const std::size_t n = world.measure(0, false).vertices;
    least = std::min(least, n);
    most = std::max(most, n);
    if (k == 39) {  // one whole period: as it was, but for what was spun in
      const ThreadMeasure m = world.measure(0);
      link = m.twist_turns + m.writhe;
      EXPECT_NEAR(std::abs(link), 6 * period / (2 * kPi), 1e-6);
    }
  }
  EXPECT_GT(changes, 2000u);
  EXPECT_GT(most, 2 * least);
  const ThreadMeasure end = world.measure(0);
  EXPECT_NEAR(end.rest_length_mm, start.rest_length_mm, 1e-13 * start.rest_length_mm);
  EXPECT_NEAR(end.twist_turns + end.writhe, link, 1e-9);
  expect_graded(world, 0);
}

TEST(Adapt, AFreeThreadThatStraightensKeepsItsMomentum) {
  std::vector<Vec3> arc;
  for (int i = 0; i <= 300; ++i) {
    const double a = 4.0 * i / 300;
    arc.push_back({2 * std::sin(a), 0, 2 * (1 - std::cos(a))});
  }
  WorldParams p = thread_world(0.005);
  p.gravity = {0, 0, -9810};
  ThreadParams t = adaptive(nylon(arc, 0.2, 400), 32);
  t.inertial = true;
  t.material.drag = 0;
  t.velocity = {10, 20, 0};
  p.threads = {t};
  World world = make_world(p);
  const ThreadMeasure start = world.measure(0);
  std::size_t removed = 0;
  for (int k = 0; k < 60; ++k) removed += world.step({}).vertices_removed;
  const ThreadMeasure end = world.measure(0);
  EXPECT_GT(removed, 10u);
  const double mass = start.momentum.x / 10, fall = -mass * 9810 * 0.3, scale = std::abs(fall);
  EXPECT_NEAR(end.momentum.x, start.momentum.x, 1e-9 * scale);
  EXPECT_NEAR(end.momentum.y, start.momentum.y, 1e-9 * scale);
  EXPECT_NEAR(end.momentum.z, fall, 1e-9 * scale);
}

TEST(Adapt, BendsAsAUniformThreadOfFineSegmentsDoes) {
  for (const double load : {2.0, 10.0}) {  // over EI/L^2 [ORACLES: a]
    ThreadMeasure measured[2];
    Vec3 tip[2];
    for (int k = 0; k < 2; ++k) {
      WorldParams p = thread_world();
      ThreadParams t = straight(10, 512);
      if (k == 1) t = adaptive(t, 64);
      t.clamps = {held_frame(Place::Kind::first)};
      t.forces = {force_at(Place::Kind::last, {0, 0, -load * t.material.bend_stiffness / 100})};
      p.threads = {t};
      World world = make_world(p);
      const Rest rest = settle(world);
      EXPECT_TRUE(rest.reached);
      EXPECT_EQ(rest.last.vertices_added + rest.last.vertices_removed, 0u);
      measured[k] = world.measure(0);
      tip[k] = world.shape(0).x.back();
    }
    EXPECT_LT(measured[1].vertices, 60u);
    EXPECT_NEAR(tip[1].x, tip[0].x, 2e-3 * 10);
    EXPECT_NEAR(tip[1].z, tip[0].z, 2e-3 * 10);
    EXPECT_NEAR(measured[1].bend_energy, measured[0].bend_energy, 4e-3 * measured[0].bend_energy);
  }
}

// ------------------------------------------------------------------------------------------------- knots

config::Scenario overhand() {
  config::Scenario s = shipped_knot("overhand_10_0");
  for (ThreadParams& t : s.params.threads) t.coarsest_mm = 16 * t.segment_mm;
  return s;
}

TEST(Adapt, NothingPassesThroughAKnotThatIsPulledTight) {
  ASSERT_TRUE(guard::active());
  const config::Scenario s = overhand();
  World world = make_world(s.params, s.capacity);
  std::vector<simulate::Curve> before = simulate::curves_of(world, s.params);
  std::size_t changes = 0, passed = 0;
  guard::reset();
  for (int k = 0; k < 240; ++k) {
    StepReport r;
    {
      const guard::ForbidAlloc forbid("step");
      r = world.step({});
    }
    EXPECT_EQ(r.crossings_found, 0u) << k;
    changes += r.vertices_added + r.vertices_removed;
    std::vector<simulate::Curve> now = simulate::curves_of(world, s.params);
    passed += simulate::may_have_passed(before, now) ? 1 : 0;
    before = std::move(now);
  }
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
  EXPECT_EQ(passed, 0u);
  EXPECT_GT(changes, 30u);
  const ThreadMeasure m = world.measure(0);
  EXPECT_LT(m.vertices, 260u) << "of 2401";
  expect_graded(world, 0);
  // Tight and at rest: nothing comes or goes, and the finest segments lie in the knot.
  changes = 0;
  double penetration = 0;
  for (int k = 0; k < 40; ++k) {
    const StepReport r = world.step({});
    changes += r.vertices_added + r.vertices_removed;
    penetration = std::max(penetration, r.worst_penetration_mm);
  }
  EXPECT_EQ(changes, 0u);
  EXPECT_LT(penetration, 0.02 * 0.5 * kTen0);
  const ThreadShape shape = world.shape(0);
  std::size_t touches = 0;
  for (const ContactMeasure& c : world.contacts()) {
    const auto behind = std::upper_bound(shape.s_mm.begin(), shape.s_mm.end(), c.s_mm);
    ASSERT_NE(behind, shape.s_mm.end());
    EXPECT_LT(*behind - *(behind - 1), 1.01 * kTen0) << c.s_mm;
    ++touches;
  }
  EXPECT_GT(touches, 5u);
}

// Two loops hooked into each other, their ends whipped at 200 mm/s: 40 diameters a step. One turn of one round the
// other is more than anything but a passage can change in a step.
TEST(Adapt, HookedLoopsThatAreWhippedStayHooked) {
  for (const std::uint64_t seed : {7u, 15u}) {
    knots::Handling h = knots::handling(seed, 120);
    for (ThreadParams& t : h.params.threads) t.coarsest_mm = 8.01 * t.segment_mm;
    World world = make_world(h.params);
    const auto turns = [&] {
      const std::vector<knots::Line> lines = knots::lines_of(world);
      return knots::gauss(lines[0], {0, lines[0].edges() - 1}, lines[1], {0, lines[1].edges() - 1});
    };
    double before = turns();
    std::size_t changes = 0;
    for (int k = 0; k < h.steps; ++k) {
      const StepReport r = world.step({});
      changes += r.vertices_added + r.vertices_removed;
      EXPECT_EQ(r.crossings_found, 0u) << seed << " " << k;
      EXPECT_FALSE(r.flags & step_non_finite_restored);
      const double now = turns();
      EXPECT_NEAR(now, before, 0.3) << seed << " " << k;
      before = now;
    }
    EXPECT_NEAR(std::abs(before), 1, 0.3);
    EXPECT_GT(changes, 100u);
  }
}

TEST(Adapt, HasTheSameBitsAtAnyWidth) {
  const config::Scenario s = overhand();
  std::vector<std::uint64_t> hashes;
  for (const std::size_t width : {1u, 2u, 4u}) {
    std::vector<rt::ThreadSettings> workers(width - 1);
    auto pool = rt::PooledExecutor::create(workers);
    ASSERT_TRUE(pool) << pool.error().message;
    World world = make_world(s.params, s.capacity);
    world.use_executor(pool->get());
    std::size_t changes = 0;
    for (int k = 0; k < 40; ++k) {
      const StepReport r = world.step({});
      changes += r.vertices_added + r.vertices_removed;
    }
    EXPECT_GT(changes, 10u);
    hashes.push_back(world.state_hash());
    world.use_executor(nullptr);
  }
  EXPECT_EQ(hashes[1], hashes[0]);
  EXPECT_EQ(hashes[2], hashes[0]);
}

// ------------------------------------------------------------------------------------------------- limits

TEST(Adapt, AThreadWithoutVerticesToSpareStaysCoarserAndSaysSo) {
  WorldParams p = thread_world();
  ThreadParams t = adaptive(straight(10, 512), 64);
  t.clamps = {held_frame(Place::Kind::first)};
  t.forces = {force_at(Place::Kind::last, {0, 0, -10 * t.material.bend_stiffness / 100})};
  t.most_vertices = 10;
  p.threads = {t};
  World world = make_world(p);
  std::uint32_t flags = 0;
  for (int k = 0; k < 40; ++k) {
    flags |= world.step({}).flags;
    ASSERT_LE(world.measure(0, false).vertices, 10u);
  }
  EXPECT_TRUE(flags & step_vertices_spent);
  EXPECT_FALSE(flags & step_non_finite_restored);
  EXPECT_NEAR(world.measure(0).rest_length_mm, 10, 1e-12);
  t.most_vertices = 8;
  p.threads = {t};
  const auto refused = World::create(p, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("most_vertices"), std::string::npos) << refused.error().message;
}

TEST(Adapt, JawsKeepWhatTheyHold) {
  WorldParams p = thread_over_bench();
  p.threads[0].coarsest_mm = 1.6;
  World world = make_world(p), uniform = [&] {
    p.threads[0].coarsest_mm = 0;
    return make_world(p);
  }();
  std::uint32_t flags = 0;
  std::size_t changes = 0;
  for (int k = 0; k < 1800; ++k) {
    const double t = 0.005 * k;
    const StepReport r = world.step(demo_hands(t));
    uniform.step(demo_hands(t));
    flags |= r.flags;
    changes += r.vertices_added + r.vertices_removed;
    if (k != 600) continue;  // lifted by both
    EXPECT_GE(r.grasped_vertices, 4u);
    double highest[2] = {0, 0};
    const World* both[2] = {&world, &uniform};
    for (int w = 0; w < 2; ++w)
      for (const Vec3& x : both[w]->shape(0).x) highest[w] = std::max(highest[w], x.z);
    EXPECT_GT(highest[1], 8);
    EXPECT_NEAR(highest[0], highest[1], 0.3);
  }
  EXPECT_TRUE(flags & step_grasped);
  EXPECT_TRUE(flags & step_released);
  EXPECT_FALSE(flags & (step_non_finite_restored | step_crossing_found));
  EXPECT_GT(changes, 20u);
  const ThreadMeasure m = world.measure(0);
  EXPECT_NEAR(m.rest_length_mm, 60, 1e-11);
  EXPECT_LT(m.vertices, 200u);
}

}  // namespace
}  // namespace ligature::world
