// Bends that are kept, against theory: springback, work, hysteresis of an elastic, perfectly plastic bend.
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <numbers>

#include "sim/rod/yield.hpp"
#include "tests/sim/thread_scene.hpp"

namespace ligature::world {
namespace {

using Eigen::Vector3d;
constexpr double kDiameter = 0.2, kStrain = 0.02;

double elastic_most() {
  return rod::most_elastic_curvature(kStrain, 0.5 * kDiameter);
}

/// Along an arc of this curvature, in a slanting plane.
std::vector<Vec3> arc(double curvature, double length, std::size_t points) {
  std::vector<Vec3> out;
  for (std::size_t i = 0; i <= points; ++i) {
    const double s = length * static_cast<double>(i) / static_cast<double>(points), a = curvature * s;
    out.push_back({std::sin(a) / curvature, 0.8 * (1 - std::cos(a)) / curvature, 0.6 * (1 - std::cos(a)) / curvature});
  }
  return out;
}

/// Turn of the middle half of a curve over its length [1/mm].
double curvature_of(const std::vector<Vec3>& x) {
  double turn = 0, length = 0;
  for (std::size_t i = x.size() / 4; i < 3 * x.size() / 4; ++i) {
    const Vec3 e = x[i] - x[i - 1], f = x[i + 1] - x[i];
    turn += std::atan2(norm(cross(e, f)), dot(e, f));
    length += 0.5 * (norm(e) + norm(f));
  }
  return turn / length;
}

TEST(ThreadYield, MostElasticCurvatureIsThatOfThePlasticMoment) {
  // Plastic moment of a round section: yield stress times 4/3 r^3, over E times pi/4 r^4.
  EXPECT_NEAR(rod::most_elastic_curvature(0.03, 0.5), 0.03 * (4.0 / 3) / (std::numbers::pi / 4 * 0.5), 1e-12);
}

TEST(ThreadYield, ABendSpringsBackByWhatIsElasticOfIt) {
  for (const double over : {0.6, 1.5, 4.0})
    for (const std::size_t segments : {40u, 80u}) {
      const double drawn = over * elastic_most(), length = 4.0 / drawn;
      ThreadParams t = nylon(arc(drawn, length, 4000), kDiameter, segments);
      t.yield_strain = kStrain;
      WorldParams p = thread_world();
      p.solver.contact = SolverParams::Contact::none;
      p.threads = {t};
      World world = make_world(p);
      const Rest rest = settle(world);
      EXPECT_TRUE(rest.reached);
      EXPECT_NEAR(curvature_of(world.shape(0).x), std::max(0.0, drawn - elastic_most()),
                  (segments == 40 ? 2e-3 : 5e-4) * drawn)
          << over << " " << segments;
      EXPECT_LT(world.measure(0).bend_energy, 1e-9 * t.material.bend_stiffness * drawn * drawn * length);
    }
}

TEST(ThreadYield, WithoutAYieldStrainItStraightens) {
  ThreadParams t = nylon(arc(4 * elastic_most(), 1 / elastic_most(), 4000), kDiameter, 40);
  WorldParams p = thread_world();
  p.solver.contact = SolverParams::Contact::none;
  p.threads = {t};
  World world = make_world(p);
  settle(world);
  EXPECT_LT(curvature_of(world.shape(0).x), 1e-6);
}

TEST(ThreadYield, PiecesOfAThreadKeepTheirBends) {
  const double drawn = 3 * elastic_most();
  ThreadParams t = nylon(arc(drawn, 2 * std::numbers::pi / drawn, 4000), kDiameter, 80);
  t.points.pop_back();
  t.closed = true;
  t.yield_strain = kStrain;
  WorldParams p = thread_world();
  p.solver.contact = SolverParams::Contact::none;
  p.threads = {t};
  p.cuts = {{.thread = 0, .s_mm = 30 * t.segment_mm, .time_s = 0.3},
            {.thread = 0, .s_mm = 70 * t.segment_mm, .time_s = 0.6}};
  World world = make_world(p);
  settle(world, 0.03, 30);
  ASSERT_EQ(world.thread_count(), 2u);
  for (std::size_t k : {0u, 1u}) EXPECT_NEAR(curvature_of(world.shape(k).x), drawn - elastic_most(), 2e-3 * drawn) << k;
}

TEST(ThreadYield, WhatIsSetTurnsWithTheThread) {
  // A hook that was bent, then turned by its clamped end about its tangent and about a slanting axis.
  const double drawn = 3 * elastic_most();
  ThreadParams t = nylon(arc(drawn, 2.5 / drawn, 4000), kDiameter, 40);
  t.yield_strain = kStrain;
  ClampParams hold = clamp_at(Place::Kind::first, ClampParams::Hold::frame);
  hold.spin_rad_per_s = 2;
  hold.turn_rad_per_s = {0.5, -1, 1};
  t.clamps = {hold};
  WorldParams p = thread_world();
  p.solver.contact = SolverParams::Contact::none;
  p.threads = {t};
  World world = make_world(p);
  for (int k = 0; k < 100; ++k) world.step({});
  EXPECT_NEAR(curvature_of(world.shape(0).x), drawn - elastic_most(), 2e-3 * drawn);
  // The tip is where the hook, moved as a rigid body with its clamped edge, has it: as far from the root as ever.
  const double kept = drawn - elastic_most(), angle = kept * 2.5 / drawn;
  const std::vector<Vec3> x = world.shape(0).x;
  EXPECT_NEAR(norm(x.back() - x.front()), 2 * std::sin(0.5 * angle) / kept, 5e-3 / kept);
  EXPECT_LT(world.measure(0).bend_energy, 1e-6 * t.material.bend_stiffness * drawn);
}

TEST(ThreadYield, WhatIsSetIsPartOfTheState) {
  ThreadParams t = nylon(arc(3 * elastic_most(), 1 / elastic_most(), 400), kDiameter, 40);
  WorldParams p = thread_world();
  p.threads = {t};
  p.threads[0].yield_strain = kStrain;
  WorldParams other = p;
  other.threads[0].yield_strain = 1.001 * kStrain;
  EXPECT_NE(make_world(p).state_hash(), make_world(other).state_hash());
}

TEST(ThreadYield, RefusesWhatItCannotBe) {
  WorldParams p = thread_world();
  p.threads = {nylon({{0, 0, 0}, {10, 0, 0}}, kDiameter, 40)};
  for (const double wrong : {-0.01, 11.0, std::nan("")}) {
    p.threads[0].yield_strain = wrong;
    const auto world = World::create(p, {});
    ASSERT_FALSE(world);
    EXPECT_NE(world.error().message.find("yield_strain"), std::string::npos) << world.error().message;
  }
  p.threads[0].yield_strain = kStrain;
  p.threads[0].coarsest_mm = 4 * p.threads[0].segment_mm;
  EXPECT_FALSE(World::create(p, {}));
}

// ---- the law alone

struct Bent {
  rod::RodModel model;
  std::vector<Vector3d> x;
  rod::Twist twist;
  static constexpr std::size_t kJoints = 20;
  static constexpr double kLength = 0.05;

  Bent() : x(shape(0)), twist(x, false, 0) {
    model.angles_unknown = true;
    model.radius = 0.5 * kDiameter;
    model.bend_stiffness = 3;
    model.twist_stiffness = 2;
    model.stretch_stiffness = 1e4;
    model.rest_length = kLength;
    model.yield_strain = kStrain;
    model.mass.assign(x.size(), 0);
    model.weight_mass.assign(x.size(), 0);
    model.drag.assign(x.size(), 1);
    model.rest_curvature.assign(x.size(), Eigen::Vector2d::Zero());
  }
  static std::vector<Vector3d> shape(double curvature) {
    std::vector<Vector3d> out{Vector3d::Zero()};
    const double turn = 2 * std::atan(0.5 * curvature * kLength);
    for (std::size_t i = 0; i <= kJoints; ++i) {
      const double a = turn * static_cast<double>(i);
      out.push_back(out.back() + kLength * Vector3d(std::cos(a), std::sin(a), 0));
    }
    return out;
  }
  double bend(double curvature) { return move(shape(curvature)); }
  double move(const std::vector<Vector3d>& to) {
    twist.carry(twist, to);
    x = to;
    return rod::yield(model, x, twist);
  }
  double whole() const { return model.bend_stiffness * kLength * kJoints; }  // EI times the length of all joints
};

TEST(ThreadYield, LosesTheWorkOfThePlasticMoment) {
  const double most = elastic_most();
  Bent b;
  EXPECT_EQ(b.bend(0.999 * most), 0);
  double lost = 0;
  for (int k = 1; k <= 100; ++k) lost += b.bend((1 + 0.03 * k) * most);
  EXPECT_NEAR(lost, b.whole() * most * 3 * most, 1e-9 * lost);
  // What is elastic of it is at most that of the plastic moment.
  EXPECT_NEAR(rod::elastic_energy(b.model, b.x, b.twist).bend, 0.5 * b.whole() * most * most, 1e-9 * b.whole());
  EXPECT_EQ(b.bend(2.001 * most), 0);  // back by less than twice what is elastic: nothing flows
  EXPECT_GT(b.bend(1.9 * most), 0);
}

TEST(ThreadYield, ALoopOfBendsLosesItsArea) {
  const double most = elastic_most(), high = 2.5 * most;
  Bent b;
  b.bend(high);
  for (int round = 0; round < 3; ++round) {
    double lost = 0;
    for (int k = 0; k < 200; ++k) lost += b.bend(high - high * (k + 1) / 100.0);
    for (int k = 0; k < 200; ++k) lost += b.bend(-high + high * (k + 1) / 100.0);
    EXPECT_NEAR(lost, 4 * b.whole() * most * (high - most), 1e-9 * lost) << round;
  }
}

TEST(ThreadYield, AStifferSectionDoesNot) {
  Bent b;
  b.model.sections = rod::make_sections(
      b.model, {{.from = 0, .to = 0.5, .stretch = 1e8, .bend = 1e5, .twist = 1e5, .radius = 0.5 * kDiameter}});
  b.bend(3 * elastic_most());
  EXPECT_EQ(b.model.rest_curvature[5].norm(), 0);
  EXPECT_GT(b.model.rest_curvature[15].norm(), 0);
}

}  // namespace
}  // namespace ligature::world
