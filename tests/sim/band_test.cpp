#include "sim/rod_old/band.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "sim/base/random.hpp"

namespace ligature::rod_old {
namespace {

// A positive definite band with entries that differ by `spread`, and the same matrix dense.
Eigen::MatrixXd random_band(Random& random, std::size_t n, double spread, BlockBand& band) {
  band.set_zero();
  Eigen::MatrixXd dense = Eigen::MatrixXd::Zero(3 * n, 3 * n);
  for (std::size_t i = 0; i < n; ++i) {
    // Sums of squares over three neighbours, as a bending energy gives them, on a small diagonal.
    Eigen::MatrixXd J(3, 9);
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 9; ++c) J(r, c) = random.normal() * std::pow(spread, random.uniform(0, 0.5));
    const std::size_t first = std::min(i, n - std::min<std::size_t>(n, 3));
    const std::size_t blocks = std::min<std::size_t>(n, 3);
    const Eigen::MatrixXd H = J.transpose() * J;
    for (std::size_t r = 0; r < blocks; ++r)
      for (std::size_t c = 0; c < blocks; ++c) {
        Eigen::Matrix3d block = H.block<3, 3>(3 * r, 3 * c);
        if (r == c) block += 0.4 * Eigen::Matrix3d::Identity();
        dense.block<3, 3>(3 * (first + r), 3 * (first + c)) += block;
        if (r >= c) band.add(first + r, first + c, block);
      }
  }
  return dense;
}

TEST(BlockBand, MultipliesLikeTheDenseMatrix) {
  Random random(1);
  for (std::size_t n : {1u, 2u, 3u, 4u, 50u}) {
    BlockBand band(n);
    const Eigen::MatrixXd A = random_band(random, n, 1e2, band);
    const Eigen::VectorXd x = Eigen::VectorXd::Random(3 * n);
    Eigen::VectorXd y(3 * n);
    band.multiply(x.data(), y.data());
    EXPECT_LT((y - A * x).norm(), 1e-12 * (A * x).norm());
  }
}

TEST(BlockBand, SolvesLikeADenseCholesky) {
  Random random(2);
  for (std::size_t n : {1u, 2u, 3u, 7u, 100u}) {
    BlockBand band(n);
    const Eigen::MatrixXd A = random_band(random, n, 1e2, band);
    ASSERT_EQ(band.factor(), 0);
    for (int rhs = 0; rhs < 3; ++rhs) {
      const Eigen::VectorXd b = Eigen::VectorXd::Random(3 * n);
      Eigen::VectorXd x = b;
      band.solve(x.data());
      const Eigen::VectorXd expected = A.llt().solve(b);
      // Backward stable: the residual is a few roundings of |A||x|, whatever the condition.
      EXPECT_LT((A * x - b).norm(), 1e-13 * A.norm() * x.norm());
      EXPECT_LT((x - expected).norm(), 1e-8 * expected.norm());
    }
  }
}

TEST(BlockBand, KeepsTheResidualSmallWhenEntriesDifferBy1e11) {
  Random random(3);
  BlockBand band(60);
  const Eigen::MatrixXd A = random_band(random, 60, 1e11, band);
  ASSERT_EQ(band.factor(), 0);
  const Eigen::VectorXd b = Eigen::VectorXd::Random(180);
  Eigen::VectorXd x = b;
  band.solve(x.data());
  EXPECT_LT((A * x - b).norm(), 1e-13 * A.norm() * x.norm());
}

TEST(BlockBand, RaisesThePivotsOfASingularMatrixAndStaysFinite) {
  BlockBand band(4);
  band.add(0, 0, Eigen::Matrix3d::Identity());
  EXPECT_EQ(band.factor(), 9);
  Eigen::VectorXd x = Eigen::VectorXd::Zero(12);
  x[0] = 1;
  band.solve(x.data());
  EXPECT_TRUE(x.allFinite());
  EXPECT_EQ(x[0], 1);
}

}  // namespace
}  // namespace ligature::rod_old
