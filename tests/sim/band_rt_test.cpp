#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sim/rod/band.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::rod {
namespace {

template <int D>
void expect_no_allocation() {
  using Block = typename BlockBand<D>::Block;
  BlockBand<D> band(50), kept(50);
  for (const bool closed : {false, true}) {
    std::vector<double> b(50 * D * 19, 1.0), y(50 * D);
    guard::reset();
    int raised = 0;
    {
      const guard::ForbidAlloc forbid;
      for (const std::size_t n : {7u, 50u}) {
        band.restart(n, closed);
        for (std::size_t i = 0; i < n; ++i) band.add(i, 4 * Block::Identity());
        for (std::size_t i = 0; i + 2 < n; ++i) {
          band.add(i + 1, i, -Block::Identity());
          band.add(i, i + 2, -0.5 * Block::Identity());
        }
        if (closed) band.add(0, n - 1, -Block::Identity());
        band.multiply(b.data(), y.data());
        band.prescribe(2, 0.5, b.data());
        kept = band;  // as a solver does that may have to begin again
        raised += band.factor();
        band.solve(b.data());
        band.solve(b.data(), 19);
      }
    }
    ASSERT_TRUE(guard::active());
    EXPECT_EQ(guard::violations(), 0u) << guard::report();
    EXPECT_EQ(raised, 0);
    for (const double x : b) ASSERT_TRUE(std::isfinite(x));
  }
}

TEST(BlockBandRt, NothingAfterCreationAllocates) {
  expect_no_allocation<1>();
  expect_no_allocation<3>();
  expect_no_allocation<4>();
}

}  // namespace
}  // namespace ligature::rod
