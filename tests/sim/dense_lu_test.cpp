/// Gauss with partial pivoting in panels: the factors of the textbook, bit for bit, and solutions to rounding.
#include "sim/contact/dense_lu.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "sim/contact/cone_kernels.hpp"

namespace ligature::contact {
namespace {

constexpr std::size_t kLargest = 150;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Matrix at_random(std::size_t n, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  const auto size = static_cast<Eigen::Index>(n);
  Matrix a(size, size);
  for (double& v : a.reshaped()) v = normal(random);
  return a;
}

bool factor(DenseLu& lu, const Matrix& a) {
  const auto n = static_cast<std::size_t>(a.rows());
  lu.begin(n);
  for (std::size_t i = 0; i < n; ++i) std::copy_n(a.data() + i * n, n, lu.row(i));
  return lu.factor();
}

// One column after the other, one entry after the other.
Matrix textbook(Matrix a) {
  for (Eigen::Index k = 0; k < a.rows(); ++k) {
    Eigen::Index pivot = k;
    for (Eigen::Index i = k + 1; i < a.rows(); ++i)
      if (std::abs(a(i, k)) > std::abs(a(pivot, k))) pivot = i;
    if (pivot != k) a.row(k).swap(a.row(pivot));
    const double inverse = 1 / a(k, k);
    for (Eigen::Index i = k + 1; i < a.rows(); ++i) {
      a(i, k) *= inverse;
      for (Eigen::Index j = k + 1; j < a.cols(); ++j) a(i, j) = kernels::fused(-a(i, k), a(k, j), a(i, j));
    }
  }
  return a;
}

TEST(DenseLu, HasTheFactorsOfTheTextbookWhateverItsPanels) {
  std::mt19937_64 random(1);
  DenseLu lu(kLargest);
  for (std::size_t n = 1; n <= kLargest; ++n) {
    const Matrix a = at_random(n, random), expected = textbook(a);
    ASSERT_TRUE(factor(lu, a)) << n;
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_TRUE(std::equal(lu.row(i), lu.row(i) + n, expected.data() + i * n)) << "row " << i << " of " << n;
  }
}

TEST(DenseLu, SolvesToRounding) {
  std::mt19937_64 random(2);
  DenseLu lu(kLargest);
  for (std::size_t n = 1; n <= kLargest; ++n) {
    const Matrix a = at_random(n, random);
    const Eigen::VectorXd b = at_random(n, random).col(0);
    ASSERT_TRUE(factor(lu, a)) << n;
    Eigen::VectorXd x = b;
    lu.solve(x.data());
    // Partial pivoting is backward stable; entries of the factors do not grow by more than a few tens here.
    EXPECT_LT((a * x - b).norm(), 1e-13 * static_cast<double>(n) * a.norm() * x.norm()) << n;
  }
}

TEST(DenseLu, SaysWhereAMatrixIsSingular) {
  std::mt19937_64 random(3);
  for (const std::size_t n : {2, 7, 8, 9, 31, 64}) {
    DenseLu lu(n);
    Matrix a = at_random(n, random);
    a.row(a.rows() - 1) = a.row(0);
    EXPECT_FALSE(factor(lu, a)) << n;
    a.setZero();
    EXPECT_FALSE(factor(lu, a)) << n;
  }
}

}  // namespace
}  // namespace ligature::contact
