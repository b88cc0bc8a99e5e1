#include "sim/rod/band.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "sim/base/random.hpp"

namespace ligature::rod {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
// Right-hand sides row by row, as solve() takes them.
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class Dimension>
struct BlockBandOf : testing::Test {
  static constexpr int D = Dimension::value;
  using Band = BlockBand<D>;
  struct Case {
    std::size_t n;
    bool closed;
  };
  static std::vector<Case> cases() {
    std::vector<Case> all;
    for (const std::size_t n : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 30u, 31u}) {
      all.push_back({n, false});
      if (n >= Band::kFewestClosed) all.push_back({n, true});
    }
    return all;
  }
  static std::string name(const Case& c) {
    return (c.closed ? "closed, " : "open, ") + std::to_string(c.n) + " vertices";
  }

  Random random{D};

  VectorXd vector(Index n) {
    VectorXd x(n);
    for (double& v : x) v = random.uniform(-1, 1);
    return x;
  }
  Rows rows(Index n, Index count) {
    Rows x(n, count);
    for (Index r = 0; r < n; ++r) x.row(r) = vector(count);
    return x;
  }

  /// The sum of squares over three neighbours that a bending energy is, factors spread over `spread`, on `diagonal`.
  /// Added block by block from both triangles; the same matrix dense.
  MatrixXd fill(Band& band, const Case& c, double spread, double diagonal = 0.4, std::size_t middle = Band::kBalanced) {
    band.restart(c.n, c.closed, middle);
    const Index n = static_cast<Index>(c.n) * D;
    MatrixXd dense = MatrixXd::Zero(n, n);
    const auto add = [&](std::size_t i, std::size_t j, const typename Band::Block& block) {
      const Index I = static_cast<Index>(i) * D, J = static_cast<Index>(j) * D;
      dense.block(I, J, D, D) += block;
      if (i != j) dense.block(J, I, D, D) += block.transpose();
      if (i == j)
        band.add(i, block);
      else if (random.uniform() < 0.5)
        band.add(i, j, block);
      else
        band.add(j, i, block.transpose());
    };
    for (std::size_t i = 0; i < c.n; ++i) {
      MatrixXd J(2, 3 * D);
      for (double& v : J.reshaped()) v = random.normal() * std::pow(spread, random.uniform(0, 0.5));
      const MatrixXd H = J.transpose() * J;
      add(i, i, diagonal * Band::Block::Identity());
      for (std::size_t r = 0; r < 3; ++r)
        for (std::size_t s = 0; s <= r; ++s) {
          if (!c.closed && i + r >= c.n) continue;
          add((i + r) % c.n, (i + s) % c.n, H.block<D, D>(static_cast<Index>(r) * D, static_cast<Index>(s) * D));
        }
    }
    return dense;
  }
};

using Dimensions =
    testing::Types<std::integral_constant<int, 1>, std::integral_constant<int, 3>, std::integral_constant<int, 4>>;
struct DimensionName {
  template <class T>
  static std::string GetName(int) {
    return "D" + std::to_string(T::value);
  }
};
TYPED_TEST_SUITE(BlockBandOf, Dimensions, DimensionName);

TYPED_TEST(BlockBandOf, MultipliesLikeTheDenseMatrix) {
  typename TestFixture::Band band(40);
  for (const auto& c : this->cases()) {
    const MatrixXd A = this->fill(band, c, 1e11);
    const VectorXd x = this->vector(A.rows());
    VectorXd y(A.rows());
    band.multiply(x.data(), y.data());
    EXPECT_LT((y - A * x).norm(), 1e-14 * A.norm() * x.norm()) << this->name(c);
  }
}

TYPED_TEST(BlockBandOf, SolvesLikeADenseCholesky) {
  typename TestFixture::Band band(600);
  auto cases = this->cases();
  cases.push_back({600, false});
  cases.push_back({600, true});
  for (const auto& c : cases) {
    const MatrixXd A = this->fill(band, c, 1e2);
    ASSERT_EQ(band.factor(), 0) << this->name(c);
    const VectorXd b = this->vector(A.rows());
    VectorXd x = b;
    band.solve(x.data());
    const VectorXd expected = A.llt().solve(b);
    EXPECT_LT((A * x - b).norm(), 1e-14 * A.norm() * x.norm()) << this->name(c);
    EXPECT_LT((x - expected).norm(), 1e-10 * expected.norm()) << this->name(c);
  }
}

TYPED_TEST(BlockBandOf, KeepsTheResidualSmallWhenEntriesDifferBy1e11) {
  typename TestFixture::Band band(600);
  auto cases = this->cases();
  cases.push_back({600, false});
  cases.push_back({600, true});
  for (const auto& c : cases) {
    const MatrixXd A = this->fill(band, c, 1e11);
    ASSERT_EQ(band.factor(), 0) << this->name(c);
    const VectorXd b = this->vector(A.rows());
    VectorXd x = b;
    band.solve(x.data());
    // Backward stable: the residual is a few roundings of |A| |x|, whatever the condition; so is Eigen's.
    EXPECT_LT((A * x - b).norm(), 1e-14 * A.norm() * x.norm()) << this->name(c);
    const VectorXd expected = A.ldlt().solve(b);
    EXPECT_LT((A * (x - expected)).norm(), 1e-13 * A.norm() * x.norm()) << this->name(c);
  }
}

TYPED_TEST(BlockBandOf, SolvesManyRightHandSidesAsItSolvesEachAlone) {
  typename TestFixture::Band band(40);
  for (const auto& c : this->cases()) {
    this->fill(band, c, 1e6);
    ASSERT_EQ(band.factor(), 0);
    for (Index count = 1; count <= 17; ++count) {
      const Rows B = this->rows(static_cast<Index>(c.n) * this->D, count);
      Rows X = B;
      band.solve(X.data(), static_cast<std::size_t>(count));
      for (Index k = 0; k < count; ++k) {
        VectorXd x = B.col(k);
        band.solve(x.data());
        EXPECT_EQ(x, X.col(k)) << this->name(c) << ", " << k << " of " << count;  // to the bit
      }
    }
  }
}

TYPED_TEST(BlockBandOf, SolvesHundredsOfRightHandSidesSideBySide) {
  typename TestFixture::Band band(101);
  for (const bool closed : {false, true}) {
    const MatrixXd A = this->fill(band, {101, closed}, 1e2);
    ASSERT_EQ(band.factor(), 0);
    const Rows B = this->rows(A.rows(), 259);
    Rows X = B;
    band.solve(X.data(), 259);
    EXPECT_LT((A * X - B).norm(), 1e-14 * A.norm() * X.norm());
  }
}

TYPED_TEST(BlockBandOf, PrescribesLikeDenseElimination) {
  typename TestFixture::Band band(40);
  for (const auto& c : this->cases()) {
    MatrixXd A = this->fill(band, c, 1e2);
    const Index n = A.rows();
    VectorXd b = this->vector(n), dense_b = b;
    // The first, the last, one of the border or near it, one in the middle, and some others.
    std::vector<Index> held{0, n - 1, n / 2, std::max<Index>(0, n - 2 * this->D), n / 3};
    std::sort(held.begin(), held.end());
    held.erase(std::unique(held.begin(), held.end()), held.end());
    for (const Index row : held) {
      const double value = this->random.uniform(-2, 2);
      band.prescribe(static_cast<std::size_t>(row), value, b.data());
      dense_b -= value * A.col(row);
      A.row(row).setZero();
      A.col(row).setZero();
      A(row, row) = 1;
      dense_b[row] = value;
    }
    EXPECT_LT((b - dense_b).norm(), 1e-13 * dense_b.norm()) << this->name(c);
    const VectorXd x = this->vector(n);
    VectorXd y(n);
    band.multiply(x.data(), y.data());
    EXPECT_LT((y - A * x).norm(), 1e-14 * A.norm() * x.norm()) << this->name(c);
    ASSERT_EQ(band.factor(), 0);
    const VectorXd expected = A.llt().solve(dense_b);
    VectorXd z = b;
    band.solve(z.data());
    EXPECT_LT((z - expected).norm(), 1e-10 * expected.norm()) << this->name(c);
    for (const Index row : held) EXPECT_EQ(z[row], b[row]) << this->name(c);  // exactly what was asked
  }
}

TYPED_TEST(BlockBandOf, PrescribesZeroWithoutARightHandSide) {
  typename TestFixture::Band with(40), without(40);
  for (const auto& c : this->cases()) {
    const Random before = this->random;
    this->fill(with, c, 1e2);
    this->random = before;
    this->fill(without, c, 1e2);
    VectorXd b = this->vector(static_cast<Index>(c.n) * this->D), same = b;
    for (std::size_t row = 0; row < c.n * this->D; row += 3) {
      with.prescribe(row, 0.0, b.data());
      without.prescribe(row, 0.0, nullptr);
      same[static_cast<Index>(row)] = 0;
    }
    EXPECT_EQ(b, same);
    with.factor();
    without.factor();
    with.solve(b.data());
    without.solve(same.data());
    EXPECT_EQ(b, same) << this->name(c);
  }
}

TYPED_TEST(BlockBandOf, TellsAPositiveMatrixFromAnIndefiniteOne) {
  typename TestFixture::Band band(40);
  for (const auto& c : this->cases()) {
    const Random before = this->random;
    const MatrixXd A = this->fill(band, c, 1e2);
    const VectorXd eigenvalues = Eigen::SelfAdjointEigenSolver<MatrixXd>(A, Eigen::EigenvaluesOnly).eigenvalues();
    // A little less and a little more off the diagonal than the smallest eigenvalue.
    for (const double share : {0.9, 1.1}) {
      this->random = before;
      this->fill(band, c, 1e2, 0.4 - share * eigenvalues[0]);
      const int raised = band.factor();
      if (share < 1) {
        EXPECT_EQ(raised, 0) << this->name(c);
      } else {
        EXPECT_GT(raised, 0) << this->name(c);
      }
      VectorXd x = this->vector(A.rows());
      band.solve(x.data());
      EXPECT_TRUE(x.allFinite()) << this->name(c);
    }
  }
}

TYPED_TEST(BlockBandOf, CountsEveryPivotThatItRaised) {
  typename TestFixture::Band band(40);
  constexpr int kSize = TestFixture::D;
  for (const auto& c : this->cases()) {
    band.restart(c.n, c.closed);
    band.add(0, TestFixture::Band::Block::Identity());
    for (std::size_t i = 1; i < c.n; ++i) band.add(i, TestFixture::Band::Block::Identity() * (i % 2 == 0 ? 1 : -1));
    EXPECT_EQ(band.factor(), static_cast<int>(c.n / 2) * kSize) << this->name(c);
  }
  band.restart(4, false);  // nothing at all
  EXPECT_EQ(band.factor(), 4 * kSize);
  VectorXd x = VectorXd::Zero(4 * kSize);
  band.solve(x.data());
  EXPECT_EQ(x, VectorXd::Zero(4 * kSize));
}

TYPED_TEST(BlockBandOf, EndsMayMeetAtAnyVertex) {
  typename TestFixture::Band band(40), copy(3);
  for (const auto& c : this->cases())
    for (std::size_t middle = 0; middle < c.n; ++middle) {
      const std::string name = this->name(c) + ", middle " + std::to_string(middle);
      const MatrixXd A = this->fill(band, c, 1e2, 0.4, middle);
      const Rows B = this->rows(A.rows(), 11);
      Rows product(A.rows(), 11);
      for (Index k = 0; k < 11; ++k) {
        const VectorXd x = B.col(k);
        VectorXd y(A.rows());
        band.multiply(x.data(), y.data());
        product.col(k) = y;
      }
      EXPECT_LT((product - A * B).norm(), 1e-14 * A.norm() * B.norm()) << name;
      copy = band;
      ASSERT_EQ(copy.factor(), 0) << name;
      Rows X = B;
      copy.solve(X.data(), 11);
      EXPECT_LT((A * X - B).norm(), 1e-14 * A.norm() * X.norm()) << name;
      VectorXd alone = B.col(10);
      copy.solve(alone.data());
      EXPECT_EQ(alone, X.col(10)) << name;
    }
}

TYPED_TEST(BlockBandOf, AMiddleWhereItIsAnywayChangesNoBit) {
  typename TestFixture::Band band(40), same(40);
  for (const auto& c : this->cases()) {
    const std::size_t chain = c.n - (c.closed ? 2 : 0);
    const Random before = this->random;
    this->fill(band, c, 1e6);
    this->random = before;
    this->fill(same, c, 1e6, 0.4, chain > 2 ? (chain + 1) / 2 - 1 : 0);
    band.factor();
    same.factor();
    VectorXd x = this->vector(static_cast<Index>(c.n) * this->D), y = x;
    band.solve(x.data());
    same.solve(y.data());
    EXPECT_EQ(x, y) << this->name(c);
  }
}

TYPED_TEST(BlockBandOf, SolvesInAWindowToTheBitWhatItSolvesWhole) {
  typename TestFixture::Band band(40);
  constexpr Index kOwn = TestFixture::D;
  for (const auto& c : this->cases())
    for (const std::size_t middle : {TestFixture::Band::kBalanced, std::size_t{0}, c.n / 3, c.n - 1}) {
      this->fill(band, c, 1e6, 0.4, middle);
      ASSERT_EQ(band.factor(), 0);
      for (int trial = 0; trial < 12; ++trial) {
        auto first = static_cast<std::size_t>(this->random.uniform() * static_cast<double>(c.n));
        auto last = static_cast<std::size_t>(this->random.uniform() * static_cast<double>(c.n));
        if (!c.closed && first > last) std::swap(first, last);
        const std::size_t asked_first = first, asked = (last + c.n - first) % c.n + 1;
        band.widen(first, last);
        const std::size_t window = (last + c.n - first) % c.n + 1;
        ASSERT_GE(window, asked);
        if (window < c.n) {  // what was asked is inside
          ASSERT_LE((asked_first + c.n - first) % c.n + asked, window);
        }
        const Index count = trial % 2 == 0 ? 19 : trial;
        Rows part = this->rows(static_cast<Index>(window) * kOwn, count);
        if (window > 3) part.topRows(2 * kOwn).leftCols(std::min<Index>(count, 8)).setZero();  // a tile begins later
        Rows whole = Rows::Zero(static_cast<Index>(c.n) * kOwn, count);
        const auto row = [&](std::size_t k) { return static_cast<Index>((first + k) % c.n) * kOwn; };
        for (std::size_t k = 0; k < window; ++k)
          whole.middleRows(row(k), kOwn) = part.middleRows(static_cast<Index>(k) * kOwn, kOwn);
        // Guards on both sides: nothing outside is touched.
        const auto size = static_cast<std::size_t>(part.size());
        std::vector<double> guarded(size + 64, 7.0);
        std::copy_n(part.data(), size, guarded.begin() + 32);
        band.solve_window(guarded.data() + 32, static_cast<std::size_t>(count), first, last);
        band.solve(whole.data(), static_cast<std::size_t>(count));
        for (std::size_t k = 0; k < window; ++k) {
          const Eigen::Map<const Rows> x(guarded.data() + 32, part.rows(), count);
          ASSERT_EQ(x.middleRows(static_cast<Index>(k) * kOwn, kOwn), whole.middleRows(row(k), kOwn))
              << this->name(c) << ", window " << first << ".." << last;
        }
        for (std::size_t k = 0; k < 32; ++k) {
          ASSERT_EQ(guarded[k], 7.0);
          ASSERT_EQ(guarded[size + 32 + k], 7.0);
        }
      }
    }
}

TYPED_TEST(BlockBandOf, ReportsAMatrixThatIsNotANumberAndReturns) {
  typename TestFixture::Band band(40);
  for (const auto& c : this->cases()) {
    this->fill(band, c, 1e2);
    band.add(c.n / 2, TestFixture::Band::Block::Constant(std::nan("")));
    EXPECT_GT(band.factor(), 0) << this->name(c);
  }
}

TYPED_TEST(BlockBandOf, CopiesWhatIsInUse) {
  typename TestFixture::Band band(40), alike(40);
  for (const auto& c : this->cases()) {
    typename TestFixture::Band larger(600), empty;
    this->fill(larger, {600, true}, 1e2);
    this->fill(band, c, 1e6);
    alike = band;
    larger = band;
    empty = band;
    const VectorXd b = this->vector(static_cast<Index>(c.n) * this->D);
    VectorXd first = b;
    band.factor();
    band.solve(first.data());
    for (typename TestFixture::Band* copy : {&alike, &larger, &empty}) {
      ASSERT_EQ(copy->vertices(), c.n);
      ASSERT_EQ(copy->closed(), c.closed);
      VectorXd x = b;
      copy->factor();
      copy->solve(x.data());
      EXPECT_EQ(x, first) << this->name(c);
    }
  }
}

TYPED_TEST(BlockBandOf, ComputesTheSameBitsTwiceAndAfterAnotherRod) {
  typename TestFixture::Band fresh(40), used(600);
  for (const auto& c : this->cases()) {
    this->fill(used, {600, true}, 1e11);
    used.factor();
    const Random before = this->random;
    this->fill(fresh, c, 1e11);
    this->random = before;
    this->fill(used, c, 1e11);
    EXPECT_EQ(fresh.factor(), used.factor());
    Rows x = this->rows(static_cast<Index>(c.n) * this->D, 11), y = x;
    fresh.solve(x.data(), 11);
    used.solve(y.data(), 11);
    EXPECT_EQ(std::memcmp(x.data(), y.data(), sizeof(double) * static_cast<std::size_t>(x.size())), 0) << this->name(c);
  }
}

}  // namespace
}  // namespace ligature::rod
