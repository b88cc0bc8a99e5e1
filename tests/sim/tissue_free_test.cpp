/// Tissues that nothing holds, where they meet in space: what they have of momentum and energy.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>

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

}  // namespace
}  // namespace ligature::world
