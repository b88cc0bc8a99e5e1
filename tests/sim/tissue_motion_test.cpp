/// Tissue in motion: momentum, energy, recovery, the same bits.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <array>
#include <cmath>

#include "sim/base/random.hpp"
#include "sim/tissue/tissue.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::tissue {
namespace {

constexpr double kStep = 0.005;

Vessel short_vessel() {
  Vessel v;
  v.length = 2, v.around = 16, v.along = 10;
  return v;
}
Tissue tissue_of(const Vessel& v, const TissueSettings& settings = {}) {
  auto model = vessel_model(v);
  EXPECT_TRUE(model.has_value());
  auto t = Tissue::create(std::move(*model), settings);
  EXPECT_TRUE(t.has_value());
  return std::move(*t);
}
Vector3d random_vector(Random& random) {
  return {random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1)};
}
Vector3d momentum(const Tissue& t) {
  Vector3d p = Vector3d::Zero();
  for (std::uint32_t i = 0; i < t.nodes(); ++i) p += t.mass(i) * t.v()[i];
  return p;
}
double largest_displacement(const Tissue& t) {
  return t.report().displacement;
}

TEST(TissueMotion, NothingHeldKeepsItsMomentum) {
  Vessel v = short_vessel();
  v.fix_first = false;
  v.material.drag = 0;
  Tissue t = tissue_of(v);
  Random random(5);
  std::vector<Vector3d> velocity(t.nodes());
  for (Vector3d& p : velocity) p = Vector3d(10, 5, -3) + 20 * random_vector(random);
  t.set_state(t.model().nodes, velocity);
  const Vector3d before = momentum(t);
  for (int k = 0; k < 50; ++k) {
    t.step_alone(kStep);
    // Whatever is left of the minimisation: the sum is exact.
    EXPECT_LT((momentum(t) - before).norm(), 1e-7 * before.norm());
  }
}

TEST(TissueMotion, FallsFreely) {
  Vessel v = short_vessel();
  v.fix_first = false;
  v.material.drag = 0;
  Tissue t = tissue_of(v, {.gravity = {0, 0, -9810}});
  for (int k = 0; k < 20; ++k) t.step_alone(kStep);
  double mass = 0;
  for (std::uint32_t i = 0; i < t.nodes(); ++i) mass += t.mass(i);
  EXPECT_NEAR(momentum(t).z() / mass, -9810 * 20 * kStep, 1e-5 * 9810);
}

TEST(TissueMotion, EnergyNeverRisesWithoutLoad) {
  Tissue t = tissue_of(short_vessel());
  Random random(9);
  std::vector<Vector3d> x = t.model().nodes, velocity(t.nodes());
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!t.fixed(static_cast<std::uint32_t>(i))) {
      x[i] += 0.03 * random_vector(random) + Vector3d(0, 0.2 * x[i].x(), 0);
      velocity[i] = 200 * random_vector(random);
    }
  t.set_state(x, velocity);
  double energy = t.elastic_energy() + t.kinetic_energy();
  for (int k = 0; k < 60; ++k) {
    t.step_alone(kStep);
    const double now = t.elastic_energy() + t.kinetic_energy();
    EXPECT_LE(now, energy * (1 + 1e-9) + 1e-12) << k;
    energy = now;
  }
  EXPECT_LT(largest_displacement(t), 1e-6);
}

TEST(TissueMotion, LetGoItReturns) {
  const Vessel v = short_vessel();
  Tissue t = tissue_of(v);
  t.load(vessel_node(v, 10, 0, 1), {0, 400, 100});
  for (int k = 0; k < 40; ++k) t.step_alone(kStep);
  EXPECT_GT(largest_displacement(t), 0.1);
  EXPECT_EQ(t.report().inverted, 0);
  t.clear_loads();
  for (int k = 0; k < 40; ++k) t.step_alone(kStep);
  EXPECT_LT(largest_displacement(t), 1e-6);
}

TEST(TissueMotion, CarriedByWhatIsHeldItFollowsWhole) {
  const Vessel v = short_vessel();
  Tissue t = tissue_of(v);
  const Vector3d velocity(0.8, -0.4, 0.2);
  t.carry(velocity);
  for (int k = 0; k < 40; ++k) t.step_alone(kStep);
  t.carry(Vector3d::Zero());
  for (int k = 0; k < 100; ++k) t.step_alone(kStep);
  const Vector3d way = 40 * kStep * velocity;
  for (std::uint32_t i = 0; i < t.nodes(); ++i)
    EXPECT_LT((t.x()[i] - t.model().nodes[i] - way).norm(), t.fixed(i) ? 1e-12 : 1e-6) << i;
  EXPECT_LT(t.elastic_energy(), 1e-6);
}

TEST(TissueMotion, KeepsItsVolumeUnderAnyPull) {
  const Vessel v = short_vessel();
  Tissue t = tissue_of(v);
  const double volume = t.volume();
  for (const double force : {100.0, 1000.0, 5000.0}) {  // the last stretches the edge by three diameters
    t.clear_loads();
    t.load(vessel_node(v, 10, 0, 1), {0, force, 0});
    for (int k = 0; k < 150; ++k) t.step_alone(kStep);
    EXPECT_NEAR(t.volume(), volume, 0.01 * volume) << force;
    EXPECT_EQ(t.report().inverted, 0) << force;
  }
}

// Any start, inside out or without any volume: after one step nothing is inside out, and it comes home.
TEST(TissueMotion, WhatIsInsideOutIsTurnedRightInOneStep) {
  Tissue t = tissue_of(short_vessel());
  const std::vector<Vector3d> rest = t.model().nodes;
  Random random(5);
  const auto recovers = [&](const char* name, const auto& put) {
    std::vector<Vector3d> x = rest;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!t.fixed(static_cast<std::uint32_t>(i))) x[i] = put(rest[i]);
    t.set_state(x);
    for (int k = 0; k < 60; ++k) {
      t.step_alone(kStep);
      EXPECT_EQ(t.report().inverted, 0) << name << ", step " << k;
    }
    EXPECT_LT(largest_displacement(t), 1e-5) << name;
  };
  for (const double amplitude : {0.1, 0.3, 1.0, 3.0})
    recovers("random", [&](const Vector3d& p) { return Vector3d(p + amplitude * random_vector(random)); });
  recovers("mirrored", [](const Vector3d& p) { return Vector3d(p.x(), -p.y(), p.z()); });
  recovers("mirrored along", [](const Vector3d& p) { return Vector3d(-p.x(), p.y(), p.z()); });
  recovers("through a point", [](const Vector3d& p) { return Vector3d(-p); });
  recovers("a point", [](const Vector3d&) { return Vector3d(0, 0, 0); });
  recovers("a plane", [](const Vector3d& p) { return Vector3d(p.x(), 0, p.z()); });
  recovers("turned outside in", [](const Vector3d& p) {
    const double r = p.tail<2>().norm(), k = (1 - r) / r;
    return Vector3d(p.x(), k * p.y(), k * p.z());
  });
}

TEST(TissueMotion, ViolentLoadsInvertNothing) {
  const Vessel v = short_vessel();
  Tissue t = tissue_of(v);
  Random random(17);
  int worst = 0, run = 0, longest = 0;
  for (int k = 0; k < 400; ++k) {
    if (k % 3 == 0) {
      t.clear_loads();
      for (int n = 0; n < 4; ++n)  // up to 30 mN on a node: a tenth of what breaks the thread
        t.load(static_cast<std::uint32_t>(random.uniform(0, static_cast<double>(t.nodes()))),
               30000 * random.uniform() * random_vector(random));
    }
    t.step_alone(kStep);
    ASSERT_TRUE(t.report().finite);
    worst = std::max(worst, t.report().inverted);
    run = t.report().inverted > 0 ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  EXPECT_LE(longest, 1) << worst;
  t.clear_loads();
  for (int k = 0; k < 200; ++k) t.step_alone(kStep);
  EXPECT_LT(largest_displacement(t), 1e-4);
}

TEST(TissueMotion, PushedWithoutSearchItStaysBounded) {
  // As contact moves it: no energy is looked at, up to a dozen linearisations a step.
  const Vessel v = short_vessel();
  Tissue t = tissue_of(v);
  Random random(23);
  for (int k = 0; k < 100; ++k) {
    const Vector3d force = 3000 * random_vector(random);
    const auto node = static_cast<std::uint32_t>(random.uniform(0, static_cast<double>(t.nodes())));
    t.begin(kStep);
    for (int n = 0; n < 10; ++n) {
      t.linearise();
      if (k < 60) t.push(node, 0.5 * force);
      t.solve();
      if (k < 60) t.push(node, 0.5 * force);
      t.solve();
      t.advance(t.reach());
    }
    t.finish();
    ASSERT_TRUE(t.report().finite);
    EXPECT_EQ(t.report().inverted, 0) << k;
    EXPECT_LT(largest_displacement(t), 5) << k;
  }
  EXPECT_LT(largest_displacement(t), 1e-3);
}

// The inside of a wall and its outside are led through each other with whatever force that takes, as contacts lead
// nodes: move after move, without a look at energies, and now and then half of a step is taken back.
TEST(TissueMotion, WhateverPushesItNoElementTurnsInsideOut) {
  const Vessel v = short_vessel();
  Tissue t = tissue_of(v);
  const std::array<std::uint32_t, 2> node{vessel_node(v, 10, 3, 0), vessel_node(v, 10, 3, 1)};
  const std::array<Vector3d, 2> to{t.x()[node[1]], t.x()[node[0]]};
  double least = 1;
  for (int k = 0; k < 40; ++k) {
    t.begin(kStep);
    for (int n = 0; n < 12; ++n) {
      t.linearise();
      t.solve();
      Eigen::Matrix<double, 6, 6> c;
      Eigen::Matrix<double, 6, 1> u;
      for (Eigen::Index i = 0; i < 2; ++i) {
        const std::uint32_t at = node[static_cast<std::size_t>(i)];
        u.segment<3>(3 * i) = to[static_cast<std::size_t>(i)] - t.x()[at] - t.step()[at];
        for (Eigen::Index j = 0; j < 2; ++j)
          c.block<3, 3>(3 * i, 3 * j) = t.compliance(at, node[static_cast<std::size_t>(j)]);
      }
      const Eigen::Matrix<double, 6, 1> force = c.inverse() * u;
      t.push(node[0], force.head<3>());
      t.push(node[1], force.tail<3>());
      t.solve();
      t.advance(t.reach());
    }
    if (k % 3 == 0 && t.bears_back(0.5)) t.go_back(0.5);
    t.finish();
    ASSERT_TRUE(t.report().finite);
    EXPECT_EQ(t.report().inverted, 0) << k;
    least = std::min(least, t.report().least_jacobian);
  }
  EXPECT_LT(least, 0.01) << "it has to be tried";
  for (int k = 0; k < 200; ++k) t.step_alone(kStep);
  EXPECT_LT(largest_displacement(t), 1e-4) << "let go it returns";
}

// A cube that is turned from one side to the other: on the straight way between, its nodes draw together.
TEST(TissueMotion, GoesBackOnlyWhereCornersBearIt) {
  TissueModel cube;
  for (int i = 0; i < 8; ++i)
    cube.nodes.emplace_back(i == 1 || i == 2 || i == 5 || i == 6, i == 2 || i == 3 || i == 6 || i == 7, i > 3);
  cube.elements = {{0, 1, 2, 3, 4, 5, 6, 7}};
  for (const std::array<std::uint32_t, 4> f : {std::array<std::uint32_t, 4>{0, 3, 2, 1},
                                               {4, 5, 6, 7},
                                               {0, 1, 5, 4},
                                               {1, 2, 6, 5},
                                               {2, 3, 7, 6},
                                               {3, 0, 4, 7}}) {
    cube.surface.push_back({{f[0], f[1], f[2]}, SurfacePart::outer});
    cube.surface.push_back({{f[0], f[2], f[3]}, SurfacePart::outer});
  }
  cube.fixed = {1, 2, 3, 4, 5, 6, 7};
  auto made = Tissue::create(cube);
  ASSERT_TRUE(made) << made.error().message;
  Tissue t = std::move(*made);
  // Turned as a whole about the edge of its first corner, from -phi to phi.
  const auto turned = [&](double phi) {
    std::vector<Vector3d> x = cube.nodes;
    for (Vector3d& p : x) p = Eigen::AngleAxisd(phi, Vector3d::UnitZ()) * p;
    return x;
  };
  for (const double phi : {0.3, 1.5}) {
    t.set_state(turned(-phi));
    t.begin(kStep);
    const std::vector<Vector3d> to = turned(phi);
    for (std::uint32_t i = 1; i < t.nodes(); ++i) t.hold(i, to[i]);
    // Halfway the cube is cos(phi) as wide, in both directions.
    EXPECT_EQ(t.bears_back(0.5), std::cos(phi) * std::cos(phi) > 0.2) << phi;
    EXPECT_TRUE(t.bears_back(0));
  }
}

TEST(TissueMotion, NeitherAllocatesNorLocks) {
  const Vessel v = short_vessel();
  Tissue t = tissue_of(v);
  guard::reset();
  {
    guard::ForbidAlloc forbid;
    t.load(vessel_node(v, 10, 0, 1), {0, 3000, 100});
    for (int k = 0; k < 5; ++k) t.step_alone(kStep);
    t.begin(kStep);
    t.linearise();
    t.push(3, {1, 2, 3});
    t.solve();
    t.compliance(3, 5);
    t.advance(t.reach());
    t.go_back(0.5);
    t.finish();
  }
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
}

TEST(TissueMotion, SameBitsEveryTime) {
  const Vessel v = short_vessel();
  std::uint64_t first = 0;
  for (int run = 0; run < 2; ++run) {
    Tissue t = tissue_of(v);
    Random random(3);
    for (int k = 0; k < 30; ++k) {
      t.clear_loads();
      t.load(vessel_node(v, 10, k % 16, 1), 500 * random_vector(random));
      t.step_alone(kStep);
    }
    StateHash hash;
    t.add_to(hash);
    if (run == 0)
      first = hash.value();
    else
      EXPECT_EQ(hash.value(), first);
  }
}

}  // namespace
}  // namespace ligature::tissue
