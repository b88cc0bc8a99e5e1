/// The matrix of crushed tissue: second derivatives where it is, and the factor that is made of them again and again.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <array>
#include <cmath>

#include "sim/base/random.hpp"
#include "sim/tissue/factor.hpp"
#include "sim/tissue/stiffness.hpp"
#include "sim/tissue/tissue.hpp"
#include "tests/sim/tissue_block.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::tissue {
namespace {

using Corners = Eigen::Matrix<double, 3, 8>;
using Matrix24d = Eigen::Matrix<double, 24, 24>;

/// One brick of no special shape.
struct Brick {
  static constexpr double kYoung = 1e6, kPoisson = 0.45;
  Corners rest;
  ElementShape shape;
  Eigen::Matrix<double, 8, 1> rest_corner;
  Tissue tissue;

  static TissueModel model() {
    TissueModel m = bricks({.size = {0.2, 0.15, 0.1}});
    Random random(5);
    for (Vector3d& p : m.nodes)
      p += 0.01 * Vector3d(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1));
    return m;
  }
  Brick() : tissue(std::move(*Tissue::create(model()))) {
    const TissueModel& m = tissue.model();
    for (int i = 0; i < 8; ++i) rest.col(i) = m.nodes[m.elements[0][static_cast<std::size_t>(i)]];
    shape = *element_shape(rest, kYoung, kPoisson);
    for (int i = 0; i < 8; ++i) {
      const Vector3d at = rest.col(i);
      rest_corner[i] =
          (rest.col(kJoined[i][0]) - at).dot((rest.col(kJoined[i][1]) - at).cross(rest.col(kJoined[i][2]) - at));
    }
  }
  /// The rotation nearest to the mean deformation, from the element's axes to W.
  Matrix3d turn(const Corners& x) const {
    const Eigen::JacobiSVD<Matrix3d> svd(x * shape.gradient.transpose(), Eigen::ComputeFullU | Eigen::ComputeFullV);
    Matrix3d r = svd.matrixU() * svd.matrixV().transpose();
    if (r.determinant() < 0) r = svd.matrixU() * Vector3d(1, 1, -1).asDiagonal() * svd.matrixV().transpose();
    return r;
  }
  Matrix24d stiffness(const Corners& x) const { return stiffness_at(shape, x, turn(x), rest_corner, 0); }
  Eigen::Matrix<double, 24, 1> gradient(const Corners& x) {
    const TissueModel& m = tissue.model();
    std::vector<Vector3d> place(8), g(8);
    for (int i = 0; i < 8; ++i) place[m.elements[0][static_cast<std::size_t>(i)]] = x.col(i);
    tissue.set_state(place);
    tissue.elastic_energy(g);
    Eigen::Matrix<double, 24, 1> out;
    for (int i = 0; i < 8; ++i) out.segment<3>(3 * i) = g[m.elements[0][static_cast<std::size_t>(i)]];
    return out;
  }
  Matrix24d numeric(const Corners& x) {
    constexpr double kStep = 1e-6;
    Matrix24d k;
    for (int i = 0; i < 24; ++i) {
      Corners up = x, down = x;
      up(i % 3, i / 3) += kStep, down(i % 3, i / 3) -= kStep;
      k.col(i) = (gradient(up) - gradient(down)) / (2 * kStep);
    }
    return 0.5 * (k + k.transpose());
  }
};

Matrix3d some_rotation() {
  return Eigen::AngleAxisd(1.9, Vector3d(1, -2, 3).normalized()).toRotationMatrix();
}

double least_eigenvalue(const Matrix24d& k) {
  return Eigen::SelfAdjointEigenSolver<Matrix24d>(k).eigenvalues()[0];
}

// Stretched evenly nothing is left out: no eigenvalue is negative, and hourglass vectors are zero, whose turning it
// leaves out.
TEST(Stiffness, IsTheSecondDerivativeOfEnergyWhereThatIsConvex) {
  Brick b;
  EXPECT_LT((b.stiffness(b.rest) - rest_stiffness(b.shape)).norm(), 1e-9 * b.stiffness(b.rest).norm());
  for (const Vector3d& stretch : {Vector3d(1, 1, 1), Vector3d(1.1, 1.02, 1.05), Vector3d(1.3, 0.9, 0.88)}) {
    const Matrix3d f = some_rotation() * stretch.asDiagonal();
    const Corners x = f * b.rest;
    const Matrix24d k = b.stiffness(x), exact = b.numeric(x);
    EXPECT_LT((k - exact).norm(), 1e-6 * exact.norm()) << stretch.transpose();
  }
}

// Crushed to the barriers of its corners: what is left out is negative, so the matrix is never less than the exact one,
// never negative, and the exact one along the way that it is crushed.
TEST(Stiffness, IsNeverLessThanTheSecondDerivativeWhenCrushed) {
  Brick b;
  for (const double left : {0.6, 0.25, 0.12, 0.04})
    for (int axis = 0; axis < 3; ++axis) {
      Vector3d stretch(1.1, 1.1, 1.1);
      stretch[axis] = left;
      const Corners x = some_rotation() * stretch.asDiagonal() * b.rest;
      const Matrix24d k = b.stiffness(x), exact = b.numeric(x);
      const double scale = exact.norm();
      EXPECT_GT(least_eigenvalue(k), -1e-9 * scale) << left << " " << axis;
      EXPECT_GT(least_eigenvalue(k - exact), -1e-5 * scale) << left << " " << axis;
      Vector3d along = Vector3d::Zero();
      along[axis] = 1;
      const Corners crush = some_rotation() * along.asDiagonal() * b.rest;
      const Eigen::Map<const Eigen::Matrix<double, 24, 1>> d(crush.data());
      const double there = d.dot(exact * d);
      EXPECT_GT(there, 0);
      EXPECT_GE(d.dot(k * d), there * (1 - 1e-5));
      EXPECT_LT(d.dot(k * d), 1.05 * there) << left << " " << axis;
    }
}

/// Random, positive definite, of the blocks of a lattice.
BlockMatrix lattice(int side, Random& random, std::vector<Vector3d>& places, Eigen::MatrixXd& dense, BlockMatrix m) {
  places.clear();
  dense.setZero(3 * side * side, 3 * side * side);
  const auto add = [&](int i, int j, const Matrix3d& value) {
    m.add(static_cast<std::size_t>(i), static_cast<std::size_t>(j), value);
    dense.block<3, 3>(3 * i, 3 * j) += value;
  };
  for (int i = 0; i < side * side; ++i) {
    places.emplace_back(i % side, i / side, 0);
    add(i, i, 0.1 * Matrix3d::Identity());
    for (const int j : {i + 1, i + side}) {
      if (j >= side * side || (j == i + 1 && j % side == 0)) continue;
      Matrix3d half;
      for (int k = 0; k < 9; ++k) half(k / 3, k % 3) = random.normal();
      const Matrix3d spring = half * half.transpose();
      add(i, i, spring), add(j, j, spring), add(i, j, -spring), add(j, i, -spring.transpose());
    }
  }
  return m;
}

TEST(Factor, PlannedOnceItSolvesWithEveryMatrixOfTheSameBlocks) {
  constexpr int kSide = 12, kSize = 3 * kSide * kSide;
  Random random(3);
  std::vector<Vector3d> places;
  Eigen::MatrixXd dense;
  BlockMatrix m = lattice(kSide, random, places, dense, BlockMatrix(kSide * kSide));
  Factor<double> planned;
  planned.plan(m, places);
  guard::reset();
  for (int round = 0; round < 3; ++round) {
    {
      const guard::ForbidAlloc forbid;
      ASSERT_TRUE(planned.refactor(m));
    }
    Factor<double> anew;
    ASSERT_TRUE(anew.factor(m, places));
    Eigen::VectorXd b(kSize);
    for (double& value : b) value = random.normal();
    Eigen::VectorXd x = b, y = b;
    planned.solve(x.data());
    anew.solve(y.data());
    EXPECT_EQ((x - y).norm(), 0) << "the same operations in the same order";
    EXPECT_LT((dense * x - b).norm(), 1e-10 * dense.norm() * x.norm());
    m.set_zero();
    m = lattice(kSide, random, places, dense, std::move(m));
  }
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
  m.add(5, 5, -1e3 * Matrix3d::Identity());
  EXPECT_FALSE(planned.refactor(m));
  m.add(5, 5, 1e3 * Matrix3d::Identity());
  EXPECT_TRUE(planned.refactor(m)) << "what failed leaves nothing behind";
}

// A bar of which one end is pressed to a fourteenth of its height: the other is as soft as it was, and what the matrix
// says of a push there is what comes of it.
TEST(TissueCrushed, IsAsSoftAsItWasWhereItIsNotCrushed) {
  const auto held = [](int i, int, int k) { return k == 0 || (k == 2 && i <= 2); };
  auto made = Tissue::create(bricks({.size = {0.8, 0.2, 0.2}, .count = {8, 2, 2}, .fixed = held}));
  ASSERT_TRUE(made);
  Tissue t = std::move(*made);
  const std::vector<Vector3d> rest = t.model().nodes;
  std::uint32_t free = 0, other = 0;
  for (std::uint32_t v = 0; v < rest.size(); ++v)
    if (rest[v].x() > 0.79 && rest[v].z() > 0.19) (rest[v].y() < 0.01 ? free : other) = v;
  const double soft = t.compliance(free, free).norm();
  const auto settle = [&](const Vector3d& push) {
    for (int k = 0; k < 60; ++k) {
      t.linearise();
      t.push(free, push);
      t.solve();
      t.advance(t.reach());
    }
  };
  for (int i = 1; i <= 40; ++i) {
    t.begin(0.005);
    for (const std::uint32_t v : t.model().fixed)
      if (rest[v].z() > 0.1) t.hold(v, rest[v] - Vector3d(0, 0, 0.186 * i / 40));
    settle({0, 0, 0});
    t.finish();
    EXPECT_EQ(t.report().inverted, 0);
  }
  EXPECT_LT(t.report().least_jacobian, 0.1);
  for (int axis = 0; axis < 3; ++axis) {
    Vector3d f = Vector3d::Zero();
    f[axis] = 5;
    t.begin(0.005);
    settle({0, 0, 0});
    const Vector3d before = t.x()[free];
    settle(f);
    const Vector3d moved = t.x()[free] - before;
    t.linearise();
    t.solve();
    const Vector3d own = t.step()[free], aside = t.step()[other];
    t.push(free, f);
    t.solve();
    const Vector3d said = t.compliance(free, free) * f;
    EXPECT_LT((t.step()[free] - own - said).norm(), 1e-4 * said.norm());
    EXPECT_LT((t.step()[other] - aside - t.compliance(other, free) * f).norm(), 1e-4 * said.norm());
    EXPECT_LT((moved - said).norm(), 0.15 * moved.norm())
        << axis << ": " << moved.transpose() << ", said " << said.transpose();
    t.go_back(0);
    t.finish();
  }
  EXPECT_GT(t.compliance(free, free).norm(), 0.8 * soft);
  EXPECT_LT(t.compliance(free, free).norm(), 1.25 * soft);
}

// A bar drawn longer by an eighth stands as a string does, across it many times stiffer than at rest. One that is
// renewed knows, and goes where a push takes it at once.
TEST(TissueRenewed, GoesWhereTheShapeAtRestMisleads) {
  const auto held = [](int i, int, int) { return i == 0 || i == 12; };
  std::array<double, 2> left{}, moved{};
  for (const bool renewed : {false, true}) {
    auto made = Tissue::create(bricks({.size = {1.2, 0.1, 0.1}, .count = {12, 1, 1}, .fixed = held}));
    ASSERT_TRUE(made);
    Tissue t = std::move(*made);
    const std::vector<Vector3d> rest = t.model().nodes;
    std::uint32_t middle = 0;
    for (std::uint32_t v = 0; v < rest.size(); ++v)
      if (std::abs(rest[v].x() - 0.6) < 0.01) middle = v;
    const auto settle = [&](const Vector3d& push, int rounds) {
      double far = 0;
      for (int k = 0; k < rounds; ++k) {
        t.linearise();
        if (renewed && k == 0 && push != Vector3d::Zero()) t.renew(false);
        t.push(middle, push);
        t.solve();
        far = t.step()[middle].norm();
        t.advance(t.reach());
      }
      return far;
    };
    for (int i = 1; i <= 40; ++i) {
      t.begin(0.005);
      for (const std::uint32_t v : t.model().fixed)
        if (rest[v].x() > 1) t.hold(v, rest[v] + Vector3d(0.15 * i / 40, 0, 0));
      settle({0, 0, 0}, 30);
      t.finish();
    }
    t.begin(0.005);
    settle({0, 0, 0}, 30);
    const Vector3d before = t.x()[middle];
    const double last = settle({0, 0, 5}, 5);
    moved[renewed] = t.x()[middle].z() - before.z();
    left[renewed] = last;
  }
  EXPECT_NEAR(moved[1], moved[0], 0.1 * moved[1]);
  EXPECT_LT(left[1], 0.01 * moved[1]);
  EXPECT_GT(left[0], 10 * left[1]) << "not renewed it is still on its way";
}

}  // namespace
}  // namespace ligature::tissue
