#include "sim/base/geometry.hpp"

#include <gtest/gtest.h>

#include "sim/base/random.hpp"

namespace ligature {
namespace {

Pose random_pose(Random& random) {
  return {normalized({random.normal(), random.normal(), random.normal(), random.normal()}),
          {random.normal(), random.normal(), random.normal()}};
}

TEST(Pose, InverseCancels) {
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    const Pose X_AB = random_pose(random);
    const Vec3 p_A{random.normal(), random.normal(), random.normal()};
    EXPECT_NEAR(norm(X_AB * (inverse(X_AB) * p_A) - p_A), 0, 1e-13);
  }
}

TEST(Pose, ProductActsLikeItsFactors) {
  Random random(2);
  for (int i = 0; i < 100; ++i) {
    const Pose X_AB = random_pose(random), X_BC = random_pose(random);
    const Vec3 p_C{random.normal(), random.normal(), random.normal()};
    EXPECT_NEAR(norm((X_AB * X_BC) * p_C - X_AB * (X_BC * p_C)), 0, 1e-13);
  }
}

TEST(Quat, AxisAngleTurnsRightHanded) {
  const Vec3 y = rotate(axis_angle({0, 0, 1}, 0.5 * 3.14159265358979323846), {1, 0, 0});
  EXPECT_NEAR(norm(y - Vec3{0, 1, 0}), 0, 1e-15);
}

TEST(Quat, SlerpHalfwayIsHalfTheAngle) {
  const Quat half = slerp({}, axis_angle({0, 0, 1}, 1.0), 0.5);
  EXPECT_NEAR(half.z, std::sin(0.25), 1e-15);
  EXPECT_NEAR(half.w, std::cos(0.25), 1e-15);
}

TEST(Random, NormalHasUnitVariance) {
  Random random(3);
  constexpr int n = 100000;
  double sum = 0, sum2 = 0;
  for (int i = 0; i < n; ++i) {
    const double v = random.normal();
    sum += v, sum2 += v * v;
  }
  // Standard errors of mean and variance are 1/sqrt(n) and sqrt(2/n); five of them.
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(sum2 / n, 1, 5 * std::sqrt(2.0 / n));
}

}  // namespace
}  // namespace ligature
