#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/rod/twist.hpp"
#include "tests/sim/curves.hpp"
#include "tests/sim/scene.hpp"
#include "tests/sim/thread_scene.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::world {
namespace {

using Hold = ClampParams::Hold;
using Kind = Place::Kind;

constexpr double kTwoPi = 2 * std::numbers::pi;

ClampParams clamp_at_vertex(std::size_t vertex, Hold hold) {
  ClampParams c = clamp_at(Kind::vertex, hold);
  c.at.vertex = vertex;
  return c;
}

/// 20 mm along x in 20 segments, 10-0 nylon.
ThreadParams straight(double diameter_mm = kTen0) {
  ThreadParams t = nylon({{0, 0, 0}, {20, 0, 0}}, diameter_mm, 20);
  t.name = "left";
  return t;
}

ThreadParams ring(double radius_mm, std::size_t segments) {
  std::vector<Vec3> points;
  for (std::size_t i = 0; i < segments; ++i) {
    const double a = kTwoPi * static_cast<double>(i) / static_cast<double>(segments);
    points.push_back({radius_mm * std::cos(a), radius_mm * std::sin(a), 0});
  }
  ThreadParams t = nylon(points, kTen0, segments);
  t.name = "ring";
  t.closed = true;
  t.segment_mm = 2 * radius_mm * std::sin(std::numbers::pi / static_cast<double>(segments));
  return t;
}

void steps(World& world, int count) {
  for (int k = 0; k < count; ++k) {
    const StepReport report = world.step({});
    ASSERT_FALSE(report.flags & step_non_finite_restored) << k;
  }
}

TEST(Cut, ATautThreadSpringsBackOnBothSides) {
  WorldParams p = thread_world();
  ThreadParams t = straight();
  t.rest_length_scale = 0.95;
  t.clamps = {clamp_at(Kind::first, Hold::position), clamp_at(Kind::last, Hold::position)};
  p.threads = {t};
  p.cuts = {{.thread = 0, .s_mm = 0.95 * 8, .time_s = 0.09}};
  World world = make_world(p);
  steps(world, 3);
  const double tension = t.material.stretch_stiffness * (1 / 0.95 - 1);
  ASSERT_EQ(world.thread_count(), 1u);
  EXPECT_NEAR(world.clamps()[0].force.x, -tension, 1e-6 * tension);
  EXPECT_NEAR(world.clamps()[1].force.x, tension, 1e-6 * tension);
  steps(world, 1);
  ASSERT_EQ(world.thread_count(), 2u);
  settle(world);
  const ThreadMeasure a = world.measure(0), b = world.measure(1);
  EXPECT_EQ(a.vertices, 9u);
  EXPECT_EQ(b.vertices, 13u);
  EXPECT_NEAR(a.rest_length_mm, 0.95 * 8, 1e-12);
  EXPECT_NEAR(b.rest_length_mm, 0.95 * 12, 1e-12);
  EXPECT_NEAR(a.length_mm, a.rest_length_mm, 1e-8);
  EXPECT_NEAR(b.length_mm, b.rest_length_mm, 1e-8);
  const auto clamps = world.clamps();
  ASSERT_EQ(clamps.size(), 2u);
  EXPECT_EQ(clamps[0].thread, 0u);
  EXPECT_EQ(clamps[1].thread, 1u);
  EXPECT_EQ(clamps[1].vertex, 12u);
  for (const ClampMeasure& c : clamps) {
    EXPECT_TRUE(c.active);
    EXPECT_LT(norm(c.force), 1e-6 * tension);
  }
  EXPECT_EQ(world.shape(0).x.front(), (Vec3{0, 0, 0}));
  EXPECT_EQ(world.shape(1).x.back(), (Vec3{20, 0, 0}));
  EXPECT_EQ(a.name, b.name);
}

TEST(Cut, KeepsMassAndMomentumOfAFlyingThread) {
  for (double step_s : {1e-4, 1e-3}) {
    WorldParams p = thread_world(step_s);
    ThreadParams t = straight(0.2);
    t.points = {{0, 0, 0}, {8, 3, 0}, {14, -2, 5}, {20, 1, 1}};
    t.segment_mm = 0.5;
    t.inertial = true;
    t.material.drag = 0;
    t.velocity = {40, -30, 120};
    p.threads = {t};
    p.cuts = {{.thread = 0, .s_mm = 11, .time_s = 20 * step_s}};
    World world = make_world(p);
    const auto sum = [&] {
      ThreadMeasure all;
      for (std::size_t k = 0; k < world.thread_count(); ++k) {
        const ThreadMeasure m = world.measure(k, false);
        all.momentum = all.momentum + m.momentum;
        all.angular_momentum = all.angular_momentum + m.angular_momentum;
        all.rest_length_mm += m.rest_length_mm;
        all.kinetic_energy += m.kinetic_energy;
      }
      return all;
    };
    const ThreadMeasure start = sum();
    steps(world, 20);
    const ThreadMeasure before = sum();
    steps(world, 1);
    ASSERT_EQ(world.thread_count(), 2u);
    const ThreadMeasure after = sum();
    EXPECT_LT(norm(after.momentum - before.momentum), 1e-12 * norm(before.momentum));
    EXPECT_NEAR(after.rest_length_mm, start.rest_length_mm, 1e-12 * start.rest_length_mm);
    EXPECT_GT(norm(before.momentum), 0);
    steps(world, 20);
    EXPECT_LT(norm(sum().momentum - start.momentum), 1e-9 * norm(start.momentum));
  }
}

// Weight is mass: two pieces that hang from clamps weigh together what one did.
TEST(Cut, KeepsWeight) {
  WorldParams p = thread_world();
  p.gravity = {0, 0, -kGravity};
  ThreadParams t = straight(0.2);
  t.clamps = {clamp_at(Kind::first, Hold::frame), clamp_at(Kind::last, Hold::frame)};
  p.threads = {t};
  p.cuts = {{.thread = 0, .s_mm = 7, .time_s = 0.3}};
  World world = make_world(p);
  const auto carried = [&] {
    double sum = 0;
    for (const ClampMeasure& c : world.clamps()) sum += c.force.z;
    return sum;
  };
  const double weight = t.material.linear_density * 20 * kGravity;
  steps(world, 10);
  EXPECT_NEAR(carried(), weight, 1e-6 * weight);
  EXPECT_TRUE(settle(world).reached);
  ASSERT_EQ(world.thread_count(), 2u);
  EXPECT_NEAR(carried(), weight, 1e-6 * weight);
  const auto clamps = world.clamps();
  EXPECT_NEAR(clamps[0].force.z, weight * 7 / 20, 1e-6 * weight);
  EXPECT_NEAR(clamps[1].force.z, weight * 13 / 20, 1e-6 * weight);
}

TEST(Cut, OpensARingWhichStraightens) {
  WorldParams p = thread_world();
  ThreadParams t = ring(4, 40);
  t.twist_turns = 0.6;
  t.material.drag = 1e-6;
  p.threads = {t};
  const double edge = t.segment_mm;
  p.cuts = {{.thread = 0, .s_mm = 13 * edge, .time_s = 0.09}};
  World world = make_world(p);
  steps(world, 3);
  const ThreadShape before = world.shape(0);
  EXPECT_NEAR(world.measure(0).twist_turns + world.measure(0).writhe, 0.6, 1e-6);
  EXPECT_GT(world.measure(0).twist_energy, 0);
  steps(world, 1);
  ASSERT_EQ(world.thread_count(), 1u);
  ThreadMeasure m = world.measure(0);
  EXPECT_FALSE(m.closed);
  EXPECT_FALSE(look(world)->threads[0].closed);
  EXPECT_EQ(m.vertices, 41u);
  EXPECT_NEAR(m.rest_length_mm, 40 * edge, 1e-9);
  EXPECT_EQ(m.twist_turns, 0);
  EXPECT_EQ(m.twist_energy, 0);
  EXPECT_TRUE(settle(world, 0.03, 12, 400, 1e-9).reached);
  const auto x = world.shape(0).x;
  EXPECT_NEAR(norm(x.back() - x.front()), 40 * edge, 1e-6 * edge);
  EXPECT_LT(world.measure(0).bend_energy, 1e-6);
}

TEST(Cut, BeginsAndEndsTheOpenedRingAtTheCut) {
  WorldParams p = thread_world(1e-5);
  ThreadParams t = ring(4, 40);
  t.material.drag = 1;  // nothing moves far
  p.threads = {t};
  p.cuts = {{.thread = 0, .s_mm = 13 * t.segment_mm, .time_s = 0}};
  const auto drawn = make_world([&] {
                       WorldParams whole = p;
                       whole.cuts.clear();
                       return whole;
                     }())
                         .shape(0)
                         .x;
  World world = make_world(p);
  steps(world, 1);
  const auto x = world.shape(0).x;
  ASSERT_EQ(x.size(), 41u);
  for (std::size_t i = 0; i <= 40; ++i) EXPECT_LT(norm(x[i] - drawn[(13 + i) % 40]), 1e-3) << i;
}

// The rest shape goes along: a ring that is round at rest stays as it is when it is cut and turned about itself.
TEST(Cut, KeepsTheRestShapeOfARing) {
  WorldParams p = thread_world();
  ThreadParams t = ring(4, 40);
  t.rest_shape_as_given = true;
  t.material.drag = 1e-6;
  p.threads = {t};
  for (double at : {0.0, 13.0}) {
    p.cuts = {{.thread = 0, .s_mm = at * t.segment_mm, .time_s = 0.03}};
    World world = make_world(p);
    const auto drawn = world.shape(0).x;
    steps(world, 60);
    ASSERT_EQ(world.measure(0).vertices, 41u);
    EXPECT_LT(world.measure(0).bend_energy, 1e-9);
    EXPECT_LT(world.measure(0).twist_energy, 1e-9);
    const auto x = world.shape(0).x;
    for (std::size_t i = 0; i <= 40; ++i)
      EXPECT_LT(norm(x[i] - drawn[(static_cast<std::size_t>(at) + i) % 40]), 1e-6) << i;
  }
}

TEST(Cut, LeavesTwistBetweenFramesThatStillHold) {
  for (bool unknown : {false, true}) {
    WorldParams p = thread_world();
    ThreadParams t = straight(0.2);
    if (unknown) t.twist_mode = ThreadParams::TwistMode::unknown;
    ClampParams spun = clamp_at(Kind::first, Hold::frame);
    spun.spin_rad_per_s = kTwoPi;
    spun.until_s = kForever;
    t.clamps = {spun, clamp_at_vertex(8, Hold::frame), clamp_at(Kind::last, Hold::frame)};
    t.clamps[2].spin_rad_per_s = -2 * kTwoPi;
    p.threads = {t};
    p.cuts = {{.thread = 0, .s_mm = 13, .time_s = 0.09}};
    World world = make_world(p);
    steps(world, 3);
    const auto before = world.clamps();
    const double gj = t.material.twist_stiffness;
    EXPECT_NEAR(std::abs(before[0].torque.x), gj * kTwoPi * 0.09 / 8, 1e-3 * gj);
    EXPECT_NEAR(std::abs(before[2].torque.x), gj * 2 * kTwoPi * 0.09 / 12, 1e-3 * gj);
    steps(world, 1);
    ASSERT_EQ(world.thread_count(), 2u);
    // The first turned on meanwhile; what hangs on the last one follows without twist.
    const auto after = world.clamps();
    EXPECT_NEAR(std::abs(after[0].torque.x), gj * kTwoPi * 0.12 / 8, 1e-3 * gj) << unknown;
    EXPECT_NEAR(after[0].torque.x / before[0].torque.x, 4.0 / 3, 1e-6);
    if (!unknown) {
      EXPECT_LT(std::abs(after[2].torque.x), 1e-9 * gj);
    }
    EXPECT_EQ(after[2].thread, 1u);
    EXPECT_EQ(after[2].vertex, 7u);
    EXPECT_NEAR(std::abs(world.measure(0).twist_turns), 0.12, 1e-6) << unknown;
    steps(world, 3);
    EXPECT_LT(std::abs(world.clamps()[2].torque.x), 1e-6 * gj) << unknown;
  }
}

TEST(Cut, AtAClampLeavesItWithThePieceBefore) {
  WorldParams p = thread_world();
  ThreadParams t = straight(0.2);
  t.clamps = {clamp_at_vertex(8, Hold::frame)};
  t.forces = {force_at(Kind::vertex, {0, 0, 5}, 0), force_at(Kind::last, {0, 0, 3}, 0)};
  t.forces[0].at.vertex = 8;
  t.material.drag = 1e-3;
  p.threads = {t};
  p.cuts = {{.thread = 0, .s_mm = 8, .time_s = 0.06}};
  World world = make_world(p);
  steps(world, 2);
  const Vec3 held = world.clamps()[0].force;
  steps(world, 1);
  ASSERT_EQ(world.thread_count(), 2u);
  EXPECT_EQ(world.clamps()[0].thread, 0u);
  EXPECT_EQ(world.clamps()[0].vertex, 8u);
  steps(world, 20);
  EXPECT_NEAR(world.clamps()[0].force.z, -5, 1e-6);
  EXPECT_GT(norm(held), 5);
  EXPECT_GT(world.shape(1).x[0].z, 1) << "the piece behind flies off with its load";
  EXPECT_LT(norm(world.shape(0).x[8] - Vec3{8, 0, 0}), 1e-12);
}

TEST(Cut, TwiceAndAtOneTimeInTwoThreads) {
  WorldParams p = thread_world();
  for (double y : {0.0, 5.0}) {
    ThreadParams t = straight();
    t.points = {{0, y, 0}, {20, y, 0}};
    t.rest_length_scale = 0.98;
    t.name = y > 0 ? "right" : "left";
    t.clamps = {clamp_at(Kind::first, Hold::position), clamp_at(Kind::last, Hold::position)};
    t.forces = {force_at(Kind::last, {0, 0, 0}, 0)};
    p.threads.push_back(t);
  }
  // The second of the left thread meets the piece behind, the third the piece before; not in order of time.
  p.cuts = {{.thread = 0, .s_mm = 0.98 * 3, .time_s = 0.12},
            {.thread = 0, .s_mm = 0.98 * 7, .time_s = 0.03},
            {.thread = 1, .s_mm = 0.98 * 15, .time_s = 0.03},
            {.thread = 0, .s_mm = 0.98 * 12, .time_s = 0.06}};
  World world = make_world(p);
  steps(world, 1);
  for (std::size_t expected : {4u, 5u, 5u, 6u}) {
    steps(world, 1);
    EXPECT_EQ(world.thread_count(), expected);
  }
  steps(world, 60);
  // left 0..3, right 0..15, left 7..12, right 15..20, left 12..20, left 3..7
  const std::vector<std::size_t> vertices = {4, 16, 6, 6, 9, 5};
  double left = 0, right = 0;
  for (std::size_t k = 0; k < 6; ++k) {
    const ThreadMeasure m = world.measure(k, false);
    EXPECT_EQ(m.vertices, vertices[k]) << k;
    EXPECT_NEAR(m.length_mm, m.rest_length_mm, 1e-6) << k;
    (m.name == "left" ? left : right) += m.rest_length_mm;
  }
  EXPECT_NEAR(left, 19.6, 1e-9);
  EXPECT_NEAR(right, 19.6, 1e-9);
  const auto clamps = world.clamps();
  ASSERT_EQ(clamps.size(), 4u);
  const std::vector<std::size_t> on = {0, 4, 1, 3};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(clamps[i].thread, on[i]) << i;
  const auto s = look(world);
  EXPECT_EQ(s->threads.size(), 6u);
  EXPECT_EQ(s->vertices.size(), 46u);
  const auto middle = world.shape(2).x;  // between two cuts: nothing moved its centre
  EXPECT_NEAR(0.5 * (middle.front().x + middle.back().x), 9.5, 0.5);
}

TEST(Cut, OpensARingAndThenDividesItAcrossItsSeam) {
  WorldParams p = thread_world();
  ThreadParams t = ring(4, 40);
  t.rest_shape_as_given = true;
  p.threads = {t};
  p.cuts = {{.thread = 0, .s_mm = 30 * t.segment_mm, .time_s = 0.03},
            {.thread = 0, .s_mm = 10 * t.segment_mm, .time_s = 0.06},
            {.thread = 0, .s_mm = 35 * t.segment_mm, .time_s = 0.06}};
  World world = make_world(p);
  const auto drawn = world.shape(0).x;
  steps(world, 30);
  ASSERT_EQ(world.thread_count(), 3u);
  // 30..35, 10..30, 35..50
  const std::vector<std::pair<std::size_t, std::size_t>> parts = {{30, 6}, {10, 21}, {35, 16}};
  for (std::size_t k = 0; k < 3; ++k) {
    const auto x = world.shape(k).x;
    ASSERT_EQ(x.size(), parts[k].second) << k;
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_LT(norm(x[i] - drawn[(parts[k].first + i) % 40]), 1e-6) << k;
    EXPECT_LT(world.measure(k, false).bend_energy, 1e-9) << k;
  }
}

TEST(Cut, FollowsWhatTheScheduleChanged) {
  WorldParams p = thread_world();
  p.threads = {straight()};
  p.schedule = {{.time_s = 0.03, .key = ScheduleEntry::Key::rest_length_scale, .value = 0.9, .vector = {}},
                {.time_s = 0.15, .key = ScheduleEntry::Key::rest_length_scale, .value = 0.8, .vector = {}}};
  p.cuts = {{.thread = 0, .s_mm = 5, .time_s = 0.09}};
  World world = make_world(p);
  steps(world, 5);
  ASSERT_EQ(world.thread_count(), 2u);
  EXPECT_NEAR(world.measure(0).rest_length_mm, 0.9 * 5, 1e-12);
  EXPECT_NEAR(world.measure(1).rest_length_mm, 0.9 * 15, 1e-12);
  steps(world, 5);
  EXPECT_NEAR(world.measure(1).rest_length_mm, 0.8 * 15, 1e-12);
}

double distance_to(const SceneSnapshot& s, std::size_t thread, Vec3 p) {
  double nearest = 1e9;
  const SnapshotThread& t = s.threads[thread];
  for (std::uint32_t i = t.first_vertex; i < t.first_vertex + t.vertex_count; ++i) {
    const SnapshotVertex& v = s.vertices[i];
    nearest = std::min(nearest, norm(Vec3{v.x, v.y, v.z} - p));
  }
  return nearest;
}

// Both hands hold the thread 12 mm above the bench; each keeps its half, the twist hold included.
TEST(Cut, LeavesEachHandWhatItHolds) {
  for (double s_mm : {30.0, 22.0}) {  // between the hands; where the left one holds
    WorldParams p = thread_over_bench();
    p.cuts = {{.thread = 0, .s_mm = s_mm, .time_s = 3.0}};
    World world = make_world(p);
    std::uint32_t held = 0;
    for (int k = 0; k < 1300; ++k) {
      const double t = 0.005 * k;
      const StepReport report = world.step(demo_hands(t));
      ASSERT_FALSE(report.flags & step_non_finite_restored) << t;
      const auto s = look(world);
      ASSERT_EQ(s->threads.size(), t < 2.9999 ? 1u : 2u) << t;
      for (const SnapshotThread& thread : s->threads) ASSERT_LT(longest_edge(*s, thread), 0.2 * 1.05) << t;
      if (t < 2.9) held = report.grasped_vertices;
      if (t < 3 || t > 5.8) continue;  // later, uncut threads slip between the jaws too
      EXPECT_TRUE(s->forceps[0].grasping && s->forceps[1].grasping) << t;
      if (t < 3.5) {
        EXPECT_EQ(report.grasped_vertices, held + (s_mm < 25 ? 1 : 0)) << t;
      }
      EXPECT_LT(distance_to(*s, 0, s->forceps[0].X_WT.p), 0.5) << t;
      EXPECT_LT(distance_to(*s, 1, s->forceps[1].X_WT.p), 0.5) << t;
      if (s_mm < 25) {
        EXPECT_LT(distance_to(*s, 1, s->forceps[0].X_WT.p), 0.5) << t;
      }
    }
    for (int k = 1300; k < 1800; ++k) world.step(demo_hands(0.005 * k));
    const auto s = look(world);
    EXPECT_FALSE(s->forceps[0].grasping || s->forceps[1].grasping);
    // One may have come down on the other, and lean on it: a thread is stiff for its weight.
    for (const auto& v : s->vertices) EXPECT_GT(v.z, kRadius - 0.02);
  }
}

Capacity with_cuts(std::size_t cuts) {
  Capacity c;
  c.cuts = cuts;
  return c;
}

World cut_by_hand(const WorldParams& p, std::size_t cuts) {
  auto world = World::create(p, with_cuts(cuts));
  if (!world) throw std::runtime_error(world.error().message);
  return std::move(*world);
}

TEST(Cut, ByHandsIsBetweenTheJawsThatHold) {
  const WorldParams p = thread_over_bench();
  World world = cut_by_hand(p, 2);
  world.cut_held();
  world.step(demo_hands(0));
  EXPECT_EQ(world.thread_count(), 1u) << "nobody holds anything";
  for (int k = 0; k < 600; ++k) world.step(demo_hands(0.005 * k));
  const double whole = world.measure(0).rest_length_mm;
  world.cut_held();
  StepReport report = world.step(demo_hands(3.0));
  EXPECT_TRUE(report.flags & step_cut);
  ASSERT_EQ(world.thread_count(), 3u) << "one cut a hand";
  double pieces = 0;
  for (std::size_t k = 0; k < 3; ++k) pieces += world.measure(k).rest_length_mm;
  EXPECT_NEAR(pieces, whole, 1e-9 * whole);
  const auto s = look(world);
  for (std::size_t f = 0; f < kInstruments; ++f) {
    int ends = 0;  // of pieces, in these jaws
    for (const SnapshotThread& t : s->threads)
      for (const std::uint32_t v : {t.first_vertex, t.first_vertex + t.vertex_count - 1}) {
        const SnapshotVertex& x = s->vertices[v];
        ends += norm(Vec3{x.x, x.y, x.z} - s->forceps[f].X_WT.p) < 3.5 ? 1 : 0;
      }
    EXPECT_EQ(ends, 2) << f;
    EXPECT_TRUE(s->forceps[f].grasping) << f;
  }
  world.cut_held();
  report = world.step(demo_hands(3.005));
  EXPECT_FALSE(report.flags & step_cut) << "there were two";
  for (int k = 602; k < 1500; ++k)
    ASSERT_FALSE(world.step(demo_hands(0.005 * k)).flags & (step_non_finite_restored | step_crossing_found)) << k;
}

// The longest thread has no frame: the pieces of another keep theirs.
TEST(Cut, ByHandsLeavesFramesToThePiecesOfTheShorterThread) {
  WorldParams p = thread_over_bench();
  ThreadParams longer = p.threads[0];
  longer.name = "longer";
  longer.points = {{-40, 5, kRadius}, {40, 5, kRadius}};
  p.threads[0].clamps = {clamp_at(Kind::first, Hold::frame)};
  p.threads[0].clamps[0].spin_rad_per_s = 1;
  p.threads.push_back(longer);
  World world = cut_by_hand(p, 2);
  for (int k = 0; k < 600; ++k) world.step(demo_hands(0.005 * k));
  world.cut_held();
  ASSERT_TRUE(world.step(demo_hands(3.0)).flags & step_cut);
  ASSERT_EQ(world.thread_count(), 4u);
  for (int k = 601; k < 700; ++k) ASSERT_FALSE(world.step(demo_hands(0.005 * k)).flags & step_non_finite_restored) << k;
  ASSERT_EQ(world.clamps().size(), 1u);
  EXPECT_TRUE(world.clamps()[0].active);
  EXPECT_TRUE(std::isfinite(norm(world.clamps()[0].torque)));
  EXPECT_GT(norm(world.clamps()[0].torque), 0) << "it spins the end that it holds";
}

TEST(Cut, ByHandsTakesNoMemoryAndRepeatsBitForBit) {
  const WorldParams p = thread_over_bench(1);
  World a = cut_by_hand(p, 3), b = cut_by_hand(p, 3), uncut = cut_by_hand(p, 3);
  guard::reset();
  {
    const guard::ForbidAlloc forbid;
    for (int k = 0; k < 700; ++k) {
      if (k == 600) a.cut_held();
      a.step(demo_hands(0.005 * k));
    }
  }
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
  for (int k = 0; k < 700; ++k) {
    if (k == 600) b.cut_held();
    b.step(demo_hands(0.005 * k));
    uncut.step(demo_hands(0.005 * k));
  }
  EXPECT_EQ(a.thread_count(), 3u);
  EXPECT_EQ(a.state_hash(), b.state_hash());
  EXPECT_NE(a.state_hash(), uncut.state_hash());
}

TEST(Cut, ByHandsIsRefusedWhereCutsArePlanned) {
  WorldParams p = thread_over_bench();
  EXPECT_FALSE(World::create(p, with_cuts(8))) << "more pieces than there may be threads";
  p.cuts = {{.thread = 0, .s_mm = 30, .time_s = 1}};
  const auto world = World::create(p, with_cuts(1));
  ASSERT_FALSE(world);
  EXPECT_NE(world.error().message.find("capacity.cuts is 1"), std::string::npos) << world.error().message;
}

// A thread at rest on the bench does not notice: what its contacts remember goes along.
TEST(Cut, DoesNotStirAThreadThatLies) {
  WorldParams p = thread_over_bench();
  p.threads.push_back(p.threads[0]);
  p.threads[1].points = {{-10, 5, kRadius}, {10, 5, kRadius}};
  p.cuts = {{.thread = 0, .s_mm = 20, .time_s = 1}, {.thread = 0, .s_mm = 40, .time_s = 1.1}};
  World world = make_world(p);
  for (int k = 0; k < 200; ++k) world.step({});
  const double weight = p.threads[0].material.linear_density * 80 * 9810;
  for (int k = 0; k < 40; ++k) {
    const StepReport report = world.step({});
    EXPECT_LT(report.worst_penetration_mm, 1e-5) << k;
    EXPECT_LE(report.iterations, 6u) << k;
    EXPECT_EQ(report.contacts, 301u + 101u + (k < 20 ? 1 : 2)) << k;
    double carried = 0;
    for (const ContactMeasure& c : world.contacts()) carried += c.normal_force;
    EXPECT_NEAR(carried, weight, 1e-3 * weight) << k;
  }
  const auto s = look(world);
  ASSERT_EQ(s->threads.size(), 4u);
  for (const auto& v : s->vertices) EXPECT_NEAR(v.z, kRadius, 1e-5);
}

TEST(Cut, RepeatsBitForBitAndCountsInTheHash) {
  WorldParams p = thread_over_bench(1);
  p.cuts = {{.thread = 0, .s_mm = 30, .time_s = 1}, {.thread = 0, .s_mm = 10, .time_s = 4}};
  World a = make_world(p), b = make_world(p);
  p.cuts.pop_back();
  World c = make_world(p);
  for (int k = 0; k < 1000; ++k) {
    const InstrumentSample hands = demo_hands(0.005 * k);
    a.step(hands), b.step(hands), c.step(hands);
    ASSERT_EQ(a.state_hash(), b.state_hash()) << k;
  }
  EXPECT_NE(a.state_hash(), c.state_hash());
}

// A thread that rests across another, and is cut beside the crossing: the piece on top goes on being carried.
TEST(Cut, KeepsWhatItsPiecesTouch) {
  WorldParams p = thread_world();
  p.friction.thread_thread = 0.3;
  p.gravity = {0, 0, -9810};
  ThreadParams low = nylon({{0, -10, 0}, {0, 10, 0}}, 0.2, 40), high = nylon({{-10, 0, 0.2}, {10, 0, 0.2}}, 0.2, 40);
  low.name = "low", high.name = "high";
  low.clamps = {clamp_at(Kind::first, Hold::position), clamp_at(Kind::last, Hold::position)};
  high.clamps = low.clamps;
  p.threads = {low, high};
  // Between the crossing at 10 mm and the end: the piece that comes last carries nothing, the other still does.
  p.cuts = {{.thread = 1, .s_mm = 13, .time_s = 0.06}};
  World world = make_world(p);
  steps(world, 2);
  const auto carried = [&](std::size_t thread) {
    double sum = 0;
    for (const ContactMeasure& c : world.contacts())
      if (c.other == ContactMeasure::Other::thread && (c.thread == thread || c.index == thread)) sum += c.normal_force;
    return sum;
  };
  ASSERT_GT(carried(1), 0);
  steps(world, 1);
  ASSERT_EQ(world.thread_count(), 3u);
  EXPECT_GT(carried(1), 0);
  EXPECT_EQ(carried(2), 0);
  const StepReport report = world.step({});
  EXPECT_FALSE(report.flags & (step_crossing_found | step_non_finite_restored));
}

TEST(Cut, TakesNoMemory) {
  WorldParams p = thread_over_bench(1);
  p.threads[0].clamps = {clamp_at(Kind::first, Hold::frame), clamp_at_vertex(200, Hold::frame)};
  p.threads.push_back(ring(4, 40));
  for (Vec3& x : p.threads[1].points) x.z = 6;
  p.cuts = {{.thread = 0, .s_mm = 20, .time_s = 1},
            {.thread = 1, .s_mm = 5, .time_s = 1},
            {.thread = 1, .s_mm = 10, .time_s = 1},
            {.thread = 0, .s_mm = 50, .time_s = 1.005}};
  World world = make_world(p);
  guard::reset();
  {
    const guard::ForbidAlloc forbid;
    for (int k = 0; k < 250; ++k) world.step(demo_hands(0.005 * k));
  }
  ASSERT_TRUE(guard::active());
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
  EXPECT_EQ(world.thread_count(), 5u);
}

TEST(Cut, IsRefusedWhereItCannotBeMade) {
  struct Bad {
    const char* names;
    std::vector<CutParams> cuts;
    Capacity capacity;
  };
  const std::vector<Bad> bad = {
      {"capacity.vertices", {{0, 10, 1}}, {.vertices = 21}},
      {"thread 3", {{3, 10, 1}}, {}},
      {"cut.s_mm", {{0, 21, 1}}, {}},
      {"cut.s_mm", {{0, std::numeric_limits<double>::quiet_NaN(), 1}}, {}},
      {"cut.time_s", {{0, 10, std::numeric_limits<double>::infinity()}}, {}},
      {"another cut", {{0, 10, 1}, {0, 10.2, 2}}, {}},
      {"at most 8", {{0, 2, 1}, {0, 4, 1}, {0, 6, 1}, {0, 8, 1}, {0, 10, 1}, {0, 12, 1}, {0, 14, 1}, {0, 16, 1}}, {}},
  };
  WorldParams p = thread_world();
  p.threads = {straight()};
  for (const Bad& b : bad) {
    p.cuts = b.cuts;
    const auto world = World::create(p, b.capacity);
    ASSERT_FALSE(world) << b.names;
    EXPECT_NE(world.error().message.find(b.names), std::string::npos) << world.error().message;
  }
  p.cuts = {{0, 10, 1}};
  EXPECT_TRUE(World::create(p, {.vertices = 22}));
}

}  // namespace
}  // namespace ligature::world

namespace ligature::rod {
namespace {

// Joint by joint, of a ring with a seam and of an open thread, with holds of both kinds.
TEST(Twist, APieceHasTheJointsOfTheWhole) {
  std::mt19937 random(5);
  const Points start = ring(30);
  for (bool closed : {true, false})
    for (std::size_t first : {0u, 7u, 22u}) {
      Twist whole(start, closed, 3);
      whole.insert(2.3);
      whole.hold_frame(12);
      whole.hold_frame(first);
      whole.hold_edge(25);
      const Points x = Warp(random, 0.3)(start, 1.0);
      whole.carry(whole, x);
      const std::size_t n = closed ? 31 : 30 - first;
      Points own(n);
      for (std::size_t i = 0; i < n; ++i) own[i] = x[(first + i) % 30];
      Twist piece(own, false, 3);
      piece.take_piece(whole, first);
      for (std::size_t i = 1; i + 1 < n; ++i)
        EXPECT_DOUBLE_EQ(piece.joint(i), whole.joint((first + i) % 30)) << first << " " << i;
      if (first <= 12) {
        EXPECT_TRUE(piece.frame_held(12 - first));
      }
      EXPECT_EQ(piece.frame_held(0), !closed && first == 0);
      EXPECT_EQ(piece.frame_held(n - 1), closed);
      EXPECT_TRUE(piece.edge_held(25 - first));
      // Spread, it is the same on spans that are whole, and goes on being so.
      Twist next = piece, whole_next = whole;
      const Points y = Warp(random, 0.2)(x, 1.0);
      for (std::size_t i = 0; i < n; ++i) own[i] = y[(first + i) % 30];
      next.carry(piece, own);
      whole_next.carry(whole, y);
      next.find_spans(1.0);
      next.spread();
      whole_next.find_spans(1.0);
      whole_next.spread();
      if (first > 12 && !closed) continue;  // one holder: no span
      // Between frame 12 and edge 25; round the ring from edge 25 to frame 12.
      const std::size_t begin = first > 12 ? 26 : 13, end = first > 12 ? 42 : 26;
      for (std::size_t i = begin; i < end; ++i)
        EXPECT_NEAR(next.joint(i - first), whole_next.joint(i % 30), 1e-12) << first << " " << i;
    }
}

}  // namespace
}  // namespace ligature::rod
