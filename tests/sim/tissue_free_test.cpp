/// Tissues that nothing holds, where they meet in space: what they have of momentum and energy.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>

#include "sim/base/units.hpp"
#include "tests/sim/thread_scene.hpp"

namespace ligature::world {
namespace {

/// A cube of 1 mm of 0.1 MPa, its low corner there.
TissueParams cube(const Vec3& low) {
  TissueParams t;
  for (int i = 0; i < 8; ++i) t.vertices.push_back({1.0 * (i & 1), 1.0 * (i >> 1 & 1), 1.0 * (i >> 2)});
  t.triangles = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}, {0, 1, 5}, {0, 5, 4},
                 {2, 6, 7}, {2, 7, 3}, {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
  t.element_mm = t.wall_mm = 0.5;
  t.young_pa = 1e5;
  t.drag_per_s = 0;
  t.relaxation_s = 0;
  t.X_WV.p = low;
  return t;
}

/// A wall across x that brings what is before it to 10 mm/s, and stands after 20 ms.
void push(WorldParams& p, const char* name, double at, double towards) {
  ObstacleParams o;
  o.name = name;
  o.point = {at, 0, 0};
  o.normal = {towards, 0, 0};
  o.velocity = {10 * towards, 0, 0};
  ScheduleEntry stop;
  stop.key = ScheduleEntry::Key::obstacle_velocity;
  stop.time_s = 0.02;
  stop.index = p.obstacles.size();
  p.obstacles.push_back(o);
  p.schedule.push_back(stop);
}

/// Over a bench, with gravity.
WorldParams fall(double step, const TissueParams& what) {
  WorldParams p = thread_world(step);
  p.solver.iterations = 50;
  p.gravity = {0, 0, -9810};
  p.friction.tissue_tool = 0.3;
  p.tissues = {what};
  ObstacleParams bench;
  bench.name = "bench";
  p.obstacles = {bench};
  p.threads = {nylon({{30, 0, 30}, {30, 0, 29}}, 0.1, 10)};  // a scene has one
  p.threads[0].clamps = {clamp_at(Place::Kind::first, ClampParams::Hold::position)};
  return p;
}

std::array<Vec3, 2> middles(const World& world) {
  auto shown = std::make_unique<SceneSnapshot>();
  world.snapshot(*shown);
  std::array<Vec3, 2> at{};
  for (std::size_t k = 0; k < 2; ++k) {
    for (std::uint32_t i = 0; i < shown->tissues[k].vertex_count; ++i) {
      const SnapshotVertex& v = shown->surface[shown->tissues[k].first_vertex + i];
      at[k] = at[k] + (1.0 / shown->tissues[k].vertex_count) * Vec3{v.x, v.y, v.z};
    }
  }
  return at;
}

/// Squarely and by an edge, one on one that stands and both on each other, in steps that do not all converge: the sum
/// of their speeds is left, and of their energy there is never more.
TEST(FreeTissue, WhatMeetsKeepsItsMomentumAndGainsNoEnergy) {
  for (const bool both : {false, true})
    for (const double aside : {0.0, 0.3})
      for (const double step : {0.001, 0.002, 0.005, 0.01}) {
        WorldParams p = thread_world(step);
        p.solver.iterations = 12;
        p.solver.residual_target = 1e-6;
        p.tissues = {cube({0, 0, 0}), cube({both ? 1.8 : 1.6, aside, 0})};
        p.tissues[0].name = "left", p.tissues[1].name = "right";
        push(p, "left", -0.04, 1);
        if (both) push(p, "right", 2.84, -1);
        p.threads = {nylon({{1.2, 0, 30}, {1.2, 0, 29}}, 0.1, 10)};  // a scene has one
        p.threads[0].clamps = {clamp_at(Place::Kind::first, ClampParams::Hold::position)};
        World world = make_world(p);
        SCOPED_TRACE(testing::Message() << both << ' ' << aside << ' ' << step);
        constexpr double kWindow = 0.02;  // [s]
        const int per = static_cast<int>(std::lround(kWindow / step));
        auto speeds = [&, before = middles(world)]() mutable {
          for (int k = 0; k < per; ++k) world.step({});
          const std::array<Vec3, 2> now = middles(world);
          const std::array<Vec3, 2> v = {(1 / kWindow) * (now[0] - before[0]), (1 / kWindow) * (now[1] - before[1])};
          before = now;
          return v;
        };
        speeds();
        std::array<Vec3, 2> v = speeds();
        ASSERT_NEAR(v[0].x, 9.75, 0.4);
        const Vec3 momentum = v[0] + v[1];
        double had = dot(v[0], v[0]) + dot(v[1], v[1]);
        for (int i = 0; i < 13; ++i) {
          v = speeds();
          EXPECT_NEAR(norm(v[0] + v[1] - momentum), 0, 0.35) << i;
          EXPECT_LT(dot(v[0], v[0]) + dot(v[1], v[1]), had + 0.5) << i;
        }
        EXPECT_LT(dot(v[0], v[0]) + dot(v[1], v[1]), (both ? 0.05 : 0.6) * had);
      }
}

/// A block of 2 x 2 x 1 mm that falls on its edge by 1 mm lies flat in the end, whatever the step and however stiff,
/// and is nowhere thrown: its centre went down by 3.5 mm, and by where it tips over to the side.
TEST(FreeTissue, ABlockThatFallsOnItsEdgeLiesDown) {
  for (const double young : {3e5, 5e6})
    for (const double step : {0.001, 0.002, 0.005, 0.015}) {
      TissueParams block = cube({0, 0, 4});
      for (Vec3& v : block.vertices) v = {2 * v.x - 1, 2 * v.y - 1, v.z - 0.5};
      block.young_pa = young;
      block.drag_per_s = TissueParams{}.drag_per_s, block.relaxation_s = TissueParams{}.relaxation_s;
      block.X_WV.q = axis_angle({0.6, 0.8, 0}, 0.698);
      World world = make_world(fall(step, block));
      SCOPED_TRACE(testing::Message() << young << " Pa, steps of " << step << " s");
      double furthest = 0;
      for (int k = 0; k < std::lround(0.3 / step); ++k) {
        world.step({});
        furthest = std::max(furthest, world.measure_tissue(0).displacement_mm);
      }
      // Of the corner that goes furthest; how far it slides then differs.
      EXPECT_NEAR(world.measure_tissue(0).displacement_mm, 4.497, 0.12);
      EXPECT_LT(furthest, 4.7);
      EXPECT_LT(world.tissue_speed_mm_per_s(0), 0.5);
    }
}

/// A ball's mesh on an incline of 10 degrees goes no faster than without friction: such balls were flung off at 0.9 and
/// 7.6 m/s.
TEST(FreeTissue, AStiffBallOnAnInclineIsNotThrown) {
  TissueParams ball = cube({0, 0, 0});
  ball.vertices.clear(), ball.triangles.clear();
  // An octahedron, each face in four, on the sphere.
  const std::array<Vec3, 6> poles{{{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}}};
  ball.vertices.assign(poles.begin(), poles.end());
  const auto middle = [&](std::uint32_t a, std::uint32_t b) {
    const Vec3 m = ball.vertices[a] + ball.vertices[b], on = (1 / norm(m)) * m;
    for (std::uint32_t i = 0; i < ball.vertices.size(); ++i)
      if (norm(ball.vertices[i] - on) < 1e-9) return i;
    ball.vertices.push_back(on);
    return static_cast<std::uint32_t>(ball.vertices.size() - 1);
  };
  for (std::uint32_t x : {0u, 1u})
    for (std::uint32_t y : {2u, 3u})
      for (std::uint32_t z : {4u, 5u}) {
        const bool even = ((x ^ y ^ z) & 1) == 0;
        const std::uint32_t a = x, b = even ? y : z, c = even ? z : y;
        const std::uint32_t ab = middle(a, b), bc = middle(b, c), ca = middle(c, a);
        for (const auto& t :
             {std::array{a, ab, ca}, std::array{b, bc, ab}, std::array{c, ca, bc}, std::array{ab, bc, ca}})
          ball.triangles.push_back(t);
      }
  ball.young_pa = 2e7;
  ball.X_WV.p = {0, 0, 1.03};
  const double slope = 10 * units::rad_per_deg;
  WorldParams p = fall(0.0005, ball);
  p.friction.tissue_tool = 0.5;
  p.gravity = {9810 * std::sin(slope), 0, -9810 * std::cos(slope)};
  World world = make_world(p);
  double fastest = 0;
  for (int k = 0; k < 200; ++k) {
    world.step({});
    fastest = std::max(fastest, world.tissue_speed_mm_per_s(0));
  }
  // Its middle by g sin t at most, what is on its rim by twice that.
  EXPECT_LT(fastest, 2 * 9810 * std::sin(slope) * 0.1);
  EXPECT_LT(world.measure_tissue(0).displacement_mm, 12);
}

/// A bench 0.02 mm below the block, and a plane as far above it that comes down with 1 mm/s.
WorldParams press(const TissueParams& block, double friction) {
  WorldParams p = fall(0.005, block);
  p.gravity = {0, 0, 0};
  p.solver.residual_target = 1e-6;
  p.friction.tissue_tool = friction;
  p.threads = {nylon({{30, 0, 0.5}, {31, 0, 0.5}}, 0.1, 10)};
  p.threads[0].clamps = {clamp_at(Place::Kind::first, ClampParams::Hold::position)};
  ObstacleParams top;
  top.name = "top";
  top.point = {0, 0, 1.04};
  top.normal = {0, 0, -1};
  top.velocity = {0, 0, -1};
  p.obstacles.push_back(top);
  return p;
}

TissueParams block_of(double across, double element, double poisson) {
  TissueParams block = cube({0, 0, 0.02});
  for (Vec3& v : block.vertices) v = {across * v.x, across * v.y, v.z};
  block.element_mm = block.wall_mm = element;
  block.poisson = poisson;
  block.drag_per_s = TissueParams{}.drag_per_s, block.relaxation_s = TissueParams{}.relaxation_s;
  return block;
}

/// A box of so many squares a side, each in two triangles.
TissueParams block_of_squares(int across, int high, double poisson) {
  TissueParams block = block_of(1, 1.0 / high + 0.01, poisson);
  block.vertices.clear(), block.triangles.clear();
  std::map<std::array<int, 3>, std::uint32_t> known;
  const std::array<int, 3> cells{across, across, high};
  const auto vertex = [&](const std::array<int, 3>& at) {
    const auto [place, is_new] = known.try_emplace(at, static_cast<std::uint32_t>(block.vertices.size()));
    if (is_new) block.vertices.push_back({1.0 * at[0] / high, 1.0 * at[1] / high, 1.0 * at[2] / high});
    return place->second;
  };
  for (std::size_t k = 0; k < 3; ++k)
    for (const bool far : {false, true}) {
      const std::size_t u = (k + 1) % 3, v = (k + 2) % 3;
      for (int i = 0; i < cells[u]; ++i)
        for (int j = 0; j < cells[v]; ++j) {
          const auto corner = [&](int di, int dj) {
            std::array<int, 3> at{};
            at[k] = far ? cells[k] : 0, at[u] = i + di, at[v] = j + dj;
            return vertex(at);
          };
          const std::array<std::uint32_t, 4> q{corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)};
          block.triangles.push_back({q[0], q[far ? 1u : 2u], q[far ? 2u : 1u]});
          block.triangles.push_back({q[0], q[far ? 2u : 3u], q[far ? 3u : 2u]});
        }
    }
  return block;
}

/// 122 to 290 vertices touch both planes. Nothing holds the block but them, and the middle of a face of four goes where
/// its corners go: hardly a step of most of these converged, and each took all its linearisations.
TEST(FreeTissue, ABlockPressedBetweenPlanesIsSolvedInAFewLinearisations) {
  struct Case {
    int across, high;
    double friction, poisson;
  };
  for (const Case& c : {Case{5, 5, 0, 0.3}, Case{5, 5, 0.3, 0.45}, Case{6, 3, 0, 0}, Case{6, 3, 0.3, 0.45},
                        Case{8, 4, 0, 0.3}, Case{8, 4, 0.3, 0.45}, Case{6, 6, 0, 0.3}}) {
    SCOPED_TRACE(testing::Message() << c.across << ' ' << c.high << ' ' << c.friction << ' ' << c.poisson);
    World world = make_world(press(block_of_squares(c.across, c.high, c.poisson), c.friction));
    for (int k = 0; k < 20; ++k) {
      const StepReport done = world.step({});
      EXPECT_EQ(done.flags & (step_not_converged | step_contact_gave_way), 0u) << k;
      EXPECT_LE(done.iterations, 12u) << k;
    }
    const double across = static_cast<double>(c.across) / c.high;
    EXPECT_LT(world.measure_tissue(0).volume_mm3, 0.997 * across * across) << "pressed by 0.06 mm";
  }
}

/// A block on a block on a bench, the upper one aside and turned: all contacts are of tissue, most with tissue. Hardly a
/// step of these converged, each of 0.7 s.
TEST(FreeTissue, ABlockOnABlockIsSolvedInAFewLinearisations) {
  TissueParams lower = cube({0, 0, 0.001}), upper = cube({0.15, 0.1, 1.003});
  lower.name = "lower", upper.name = "upper";
  upper.X_WV.q = axis_angle({0, 0, 1}, 0.1);
  lower.element_mm = upper.element_mm = 0.34;
  WorldParams p = fall(0.005, lower);
  p.friction.tissue_tissue = 0.3;
  p.tissues.push_back(upper);
  for (TissueParams& t : p.tissues) t.drag_per_s = 50;
  World world = make_world(p);
  for (int k = 0; k < 40; ++k) {
    const StepReport done = world.step({});
    EXPECT_EQ(done.flags & step_not_converged, 0u) << k;
    EXPECT_LE(done.iterations, 12u) << k;
  }
  const double weight = 1.0 * lower.density_g_per_mm3 * 9810;  // of each [uN]
  EXPECT_NEAR(world.measure_tissue(0).obstacle_force.z, 2 * weight, 0.01 * weight);
  EXPECT_EQ(world.measure_tissue(1).obstacle_force.z, 0);
}

/// Held at its foot, which without Poisson's ratio does not hinder it: E A times the strain, which its volume tells.
TEST(FreeTissue, AColumnUnderAPlanePressesBackAsHookeHasIt) {
  for (const double element : {0.21, 0.15}) {
    TissueParams column = block_of(1, element, 0);
    column.fixed.push_back({{-1, -1, -0.1}, {2, 2, 0.05}});
    WorldParams p = press(column, 0);
    ScheduleEntry stop;
    stop.key = ScheduleEntry::Key::obstacle_velocity;
    stop.time_s = 0.06;
    stop.index = 1;
    p.schedule = {stop};
    World world = make_world(p);
    for (int k = 0; k < 60; ++k) EXPECT_EQ(world.step({}).flags & step_not_converged, 0u) << k;
    const TissueMeasure column_now = world.measure_tissue(0);
    const double strain = 1 - column_now.volume_mm3;
    ASSERT_GT(strain, 0.02);
    EXPECT_NEAR(-column_now.obstacle_force.z, 1e5 * strain, 0.02 * 1e5 * strain);
  }
}

/// Its axis leans by 66.5 degrees, so that its centre of mass is 0.3 mm beside its rim: it stood so for good in steps
/// of 10 and 15 ms. In steps of 0.5 ms it comes to lie 4.87 mm from where it was, in steps of 5 ms 4.93.
TEST(FreeTissue, AVesselThatLeansBeyondItsRimFallsOver) {
  for (const double step : {0.010, 0.015}) {
    TissueParams vessel;
    vessel.name = "vessel";
    vessel.length_mm = 4;
    vessel.fix_first = vessel.fix_last = false;
    vessel.wall_mm = 0.1;
    vessel.X_WV = {normalized({-0.370326, 0.740176, -0.327221, -0.455987}), {0, 0, 1}};
    World world = make_world(fall(step, vessel));
    SCOPED_TRACE(step);
    for (int k = 0; k < std::lround(0.6 / step); ++k) world.step({});
    EXPECT_NEAR(world.measure_tissue(0).displacement_mm, 4.95, 0.25);
    EXPECT_LT(world.tissue_speed_mm_per_s(0), 1);
  }
}

}  // namespace
}  // namespace ligature::world
