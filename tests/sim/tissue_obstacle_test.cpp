/// Tissue on rigid obstacles: what they bear, what friction holds, and that it never gets into them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "sim/contact/obstacle.hpp"
#include "tests/sim/thread_scene.hpp"

namespace ligature::world {
namespace {

constexpr double kG = 9810, kStep = 0.005;  // [mm/s^2], [s]

/// A vessel of 3 mm that nothing holds, along x, its lowest line at z = 0.02.
WorldParams scene() {
  WorldParams p = thread_world(kStep);
  p.solver.iterations = 50;
  p.solver.residual_target = 1e-6;
  p.gravity = {0, 0, -kG};
  TissueParams t;
  t.name = "vessel";
  t.length_mm = 3;
  t.along = 12;
  t.wall_mm = 0.15;
  t.fix_first = false;
  t.X_WV.p = {0, 0, 0.52};
  p.tissues = {t};
  ThreadParams far = nylon({{30, 0, 30}, {30, 0, 29}}, 0.1, 10);  // a scene has one
  far.clamps = {clamp_at(Place::Kind::first, ClampParams::Hold::position)};
  p.threads = {far};
  return p;
}

ObstacleParams bench() {
  ObstacleParams o;
  o.name = "bench";
  return o;
}

ObstacleParams round_body(ObstacleParams::Shape shape, double radius) {
  ObstacleParams o;
  o.name = "post";
  o.shape = shape;
  o.diameter_mm = 2 * radius;
  o.point = {1.5, 0, -radius};
  o.from = {1.5, -4, -radius};
  o.to = {1.5, 4, -radius};
  return o;
}

struct Course {
  World world;
  int inverted = 0;
  double deepest = 0;
  std::uint32_t unproven = 0;

  static Course start(const WorldParams& p) {
    auto world = World::create(p, {});
    EXPECT_TRUE(world) << world.error().message;
    return {std::move(*world)};
  }
  void seconds(double s) {
    for (int i = 0; i < std::lround(s / kStep); ++i) {
      const StepReport r = world.step({});
      const TissueMeasure m = world.measure_tissue(0);
      unproven += r.crossings_found;
      inverted += m.inverted;
      deepest = std::max(deepest, m.in_obstacle_mm);
      EXPECT_FALSE(r.flags & step_non_finite_restored);
    }
  }
};

double weight(const WorldParams& p) {
  const TissueParams& t = p.tissues[0];
  const double outer = 0.5 * t.outer_diameter_mm, inner = outer - t.wall_mm;
  return std::numbers::pi * (outer * outer - inner * inner) * t.length_mm * t.density_g_per_mm3 * kG;
}

TEST(TissueOnObstacles, ABenchBearsItsWeight) {
  WorldParams p = scene();
  p.obstacles = {bench()};
  Course c = Course::start(p);
  c.seconds(1);
  const TissueMeasure m = c.world.measure_tissue(0);
  EXPECT_NEAR(m.obstacle_force.z, weight(p), 1e-3 * weight(p));
  EXPECT_NEAR(m.obstacle_force.x, 0, 1e-2 * weight(p));
  EXPECT_NEAR(m.obstacle_force.y, 0, 1e-2 * weight(p));
  EXPECT_EQ(c.deepest, 0);
  EXPECT_EQ(c.inverted, 0);
  EXPECT_EQ(c.unproven, 0u);
  EXPECT_LT(c.world.tissue_speed_mm_per_s(0), 0.1);
}

/// A vessel that begins nearer to a bench than its skin keeps it is put on it, and stays there: that is no velocity.
TEST(TissueOnObstacles, WhatBeginsWithinItsSkinIsNotThrownOff) {
  for (const double step : {5e-4, 5e-3}) {
    WorldParams p = scene();
    p.step_s = step;
    p.gravity = {0, 0, 0};
    p.tissues[0].X_WV.p.z = 0.508;
    p.obstacles = {bench()};
    World world = Course::start(p).world;
    for (int k = 0; k < 20; ++k) world.step({});
    EXPECT_LT(world.measure_tissue(0).displacement_mm, 0.01) << step;
    EXPECT_LT(world.tissue_speed_mm_per_s(0), 0.05) << step;
  }
}

/// On an incline: held while tan(angle) < mu, else v' = g (sin - mu cos) - drag v, in steps of implicit Euler.
TEST(TissueOnObstacles, SlidesDownAnInclineAsCoulombHasIt) {
  const double mu = 0.3;
  for (const double angle : {0.25, 0.35, 0.6}) {
    WorldParams p = scene();
    p.obstacles = {bench()};
    p.friction.tissue_tool = mu;
    ScheduleEntry tilt;  // once it has fallen on the bench
    tilt.key = ScheduleEntry::Key::gravity;
    tilt.time_s = 0.2;
    tilt.vector = {kG * std::sin(angle), 0, -kG * std::cos(angle)};
    p.schedule = {tilt};
    Course c = Course::start(p);
    c.seconds(0.2);
    const auto middle = [&c] {
      auto shown = std::make_unique<SceneSnapshot>();
      c.world.snapshot(*shown);
      double sum = 0;
      for (const SnapshotVertex& v : shown->surface) sum += v.x;
      return sum / static_cast<double>(shown->surface.size());
    };
    const double before = middle();
    c.seconds(0.1);
    const double slid = middle() - before;
    double theory = 0, v = 0;
    for (int i = 0; i < std::lround(0.1 / kStep); ++i) {
      v = std::max(0.0, v + kStep * kG * (std::sin(angle) - mu * std::cos(angle))) /
          (1 + kStep * p.tissues[0].drag_per_s);
      theory += kStep * v;
    }
    SCOPED_TRACE(angle);
    EXPECT_NEAR(slid, theory, 0.01 * theory + 1e-3);
    EXPECT_EQ(c.deepest, 0);
  }
}

TEST(TissueOnObstacles, NothingDrivesItIntoThem) {
  using Shape = ObstacleParams::Shape;
  for (const double speed : {5.0, 200.0})
    for (const Shape shape : {Shape::plane, Shape::sphere, Shape::cylinder, Shape::capsule}) {
      WorldParams p = scene();
      p.gravity = {0, 0, 0};
      p.tissues[0].fix_first = shape != Shape::plane;
      ObstacleParams o = shape == Shape::plane ? bench() : round_body(shape, 0.4);
      o.velocity = {0, 0, speed};
      o.until_s = 1 / speed;  // it goes 1 mm
      p.obstacles = {o};
      Course c = Course::start(p);
      c.seconds(o.until_s + 0.1);
      SCOPED_TRACE(testing::Message() << speed << " mm/s, shape " << static_cast<int>(shape));
      EXPECT_EQ(c.deepest, 0);
      EXPECT_EQ(c.inverted, 0);
      EXPECT_EQ(c.unproven, 0u);
      EXPECT_GT(c.world.measure_tissue(0).displacement_mm, 0.5);
    }
}

TEST(TissueOnObstacles, WhatBeginsInOneIsRefused) {
  WorldParams p = scene();
  p.obstacles = {bench()};
  for (const double z : {0.5, 0.3, -2.0}) {
    p.tissues[0].X_WV.p = {0, 0, z};
    const auto world = World::create(p, {});
    ASSERT_FALSE(world) << z;
    EXPECT_NE(world.error().message.find("'vessel' begins inside obstacle 'bench'"), std::string::npos);
  }
  // In a wall, where no vertex of the tissue is inside it and no surfaces cross; 2 um from a roller, inside its facets.
  p.tissues[0].X_WV.p = {0, 0, 0.52};
  ObstacleParams grain;
  grain.name = "grain";
  grain.shape = ObstacleParams::Shape::sphere;
  grain.point = {1.4, 0, 0.52 + 0.425};
  grain.diameter_mm = 0.05;
  ObstacleParams roller = round_body(ObstacleParams::Shape::cylinder, 20);
  roller.from.z = roller.to.z = 0.0201 - 0.002 - 20;
  for (const ObstacleParams& o : {grain, roller}) {
    p.obstacles = {o};
    const auto world = World::create(p, {});
    ASSERT_FALSE(world);
    EXPECT_NE(world.error().message.find("begins inside obstacle '" + o.name + "'"), std::string::npos);
  }
}

TEST(TissueOnObstacles, LargeOnesAndPlanesFarAwayBearThemToo) {
  ObstacleParams far = bench(), belt = bench();
  far.point = {3000, 200, 0};
  belt.velocity = {5000, 0, 0};  // along itself: 1.5 m, further than the box that stands for it reaches
  for (const ObstacleParams& o : {far, belt, round_body(ObstacleParams::Shape::cylinder, 100)}) {
    WorldParams p = scene();
    p.obstacles = {o};
    p.friction.tissue_tool = 0;
    if (norm(o.point) > 1000) p.tissues[0].X_WV.p = {o.point.x, o.point.y, 0.52};
    Course c = Course::start(p);
    c.seconds(0.1);
    double bears = 0;
    for (int i = 0; i < 40; ++i) {
      c.seconds(kStep);
      bears += c.world.measure_tissue(0).obstacle_force.z / 40;
    }
    SCOPED_TRACE(testing::Message() << norm(o.point) << " mm, shape " << static_cast<int>(o.shape));
    EXPECT_EQ(c.deepest, 0);
    const bool tossed = norm(o.velocity) > 0;  // on the belt, 25 mm a step
    EXPECT_NEAR(bears, weight(p), (tossed ? 0.25 : 0.1) * weight(p));
    const double now = c.world.measure_tissue(0).obstacle_force.z;
    EXPECT_TRUE(tossed || std::abs(now - weight(p)) < 0.02 * weight(p)) << now;
  }
}

/// Two vessels crosswise on each other: steps of 5 ms do not all converge, and had thrown one of them 18 mm high.
TEST(TissueOnObstacles, StepsThatDoNotConvergeThrowNothing) {
  WorldParams p = scene();
  p.obstacles = {bench()};
  p.tissues.push_back(p.tissues[0]);
  p.tissues[1].name = "upper";
  p.tissues[1].X_WV.p = {1.5, -1.5, 1.57};
  p.tissues[1].X_WV.q = {0, 0, std::sqrt(0.5), std::sqrt(0.5)};
  Course c = Course::start(p);
  double fastest = 0;
  for (int i = 0; i < 40; ++i) {
    c.seconds(kStep);
    fastest = std::max({fastest, c.world.tissue_speed_mm_per_s(0), c.world.tissue_speed_mm_per_s(1)});
  }
  EXPECT_LT(fastest, 300);  // 1400 before; they fall with 37, and roll off each other
  EXPECT_EQ(c.deepest, 0);
}

}  // namespace
}  // namespace ligature::world

namespace ligature::contact {
namespace {

TEST(FacetsOfObstacles, TouchTheSurfaceFromOutside) {
  const Vector3d from(1, 2, 3), to(2, 0, 5);
  for (const Obstacle& body :
       {Obstacle::sphere(from, 0.7), Obstacle::cylinder(from, to, 0.7), Obstacle::capsule(from, to, 0.7)}) {
    SCOPED_TRACE(static_cast<int>(body.shape()));
    const TriangleMesh mesh = *body.in_facets(Vector3d::Zero());
    EXPECT_FALSE(mesh.meets_itself());
    EXPECT_FALSE(mesh.shell_inside_out());
    double least = 1, most = 0;
    for (std::size_t t = 0; t < mesh.triangles(); ++t) {
      const auto& corner = mesh.triangle(t);
      for (int i = 0; i <= 8; ++i)
        for (int k = 0; k <= 8 - i; ++k) {
          const double a = i / 8.0, b = k / 8.0;
          const double d = body.signed_distance(a * mesh.vertex(corner[0]) + b * mesh.vertex(corner[1]) +
                                                (1 - a - b) * mesh.vertex(corner[2]));
          least = std::min(least, d);
          most = std::max(most, d);
        }
    }
    EXPECT_GT(least, -1e-12);
    EXPECT_LT(least, 1e-4 * 0.7);
    EXPECT_LT(most, 0.011 * 0.7);
  }
}

TEST(FacetsOfObstacles, OfAPlaneAreABoxBelowIt) {
  const Obstacle plane = Obstacle::plane({3, 4, 5}, {1, -2, 2});
  const TriangleMesh mesh = *plane.in_facets({100, 200, 300});
  for (const Vector3d& on : {Vector3d(3, 4, 5), Vector3d(-21, 40, 53), Vector3d(100, -50, -98)}) {
    const Vector3d p = on + 0.02 * plane.normal();
    const TriangleMesh::Nearest at = mesh.nearest(p, 1e4);
    EXPECT_NEAR(at.distance, plane.signed_distance(p), 1e-9);
    EXPECT_NEAR((at.normal - plane.normal()).norm(), 0, 1e-9);
  }
}

}  // namespace
}  // namespace ligature::contact
