#include "sim/rod_old/band.hpp"

#include <algorithm>
#include <cmath>

namespace ligature::rod_old {
namespace {
constexpr std::size_t kHalf = 8;  // scalar half bandwidth: two block columns and the rest of the block's own
}

// The spare columns and entries let the inner loops run over the end without a test.
BlockBand::BlockBand(std::size_t vertices)
    : vertices_(vertices), columns_(3 * vertices + kHalf), work_(3 * vertices + kHalf, 0.0) {
  set_zero();
}

void BlockBand::set_zero() noexcept {
  for (std::size_t j = 0; j < 3 * vertices_ + kHalf; ++j) columns_[j].fill(0.0);
}

void BlockBand::multiply(const double* x, double* y) const noexcept {
  const std::size_t n = 3 * vertices_;
  std::fill(y, y + n, 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    y[j] += columns_[j][0] * x[j];
    for (std::size_t r = 1; r <= kHalf && j + r < n; ++r) {
      y[j + r] += columns_[j][r] * x[j];
      y[j] += columns_[j][r] * x[j + r];
    }
  }
}

int BlockBand::factor(double floor) noexcept {
  const std::size_t n = 3 * vertices_;
  double largest = 0;
  for (std::size_t j = 0; j < n; ++j) largest = std::max(largest, columns_[j][0]);
  const double least = std::max(floor * largest, 1e-300);
  int raised = 0;
  for (std::size_t j = 0; j < n; ++j) {
    auto& column = columns_[j];
    if (!(column[0] > least)) column[0] = least, ++raised;
    const double inverse = 1.0 / column[0];
    std::array<double, 9> scaled;
    for (std::size_t r = 1; r <= kHalf; ++r) scaled[r] = column[r] * inverse;
    for (std::size_t r = 1; r <= kHalf; ++r) {
      auto& below = columns_[j + r];
      for (std::size_t s = r; s <= kHalf; ++s) below[s - r] -= scaled[r] * column[s];
    }
    for (std::size_t r = 1; r <= kHalf; ++r) column[r] = scaled[r];
    column[0] = inverse;
  }
  for (std::size_t j = n; j < n + kHalf; ++j) columns_[j].fill(0.0);
  return raised;
}

void BlockBand::solve(double* b) noexcept {
  const std::size_t n = 3 * vertices_;
  double* w = work_.data();
  std::copy(b, b + n, w);
  std::fill(w + n, w + n + kHalf, 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    const double y = w[j];
    for (std::size_t r = 1; r <= kHalf; ++r) w[j + r] -= columns_[j][r] * y;
    w[j] = y * columns_[j][0];
  }
  std::fill(w + n, w + n + kHalf, 0.0);
  for (std::size_t j = n; j-- > 0;) {
    double sum = w[j];
    for (std::size_t r = 1; r <= kHalf; ++r) sum -= columns_[j][r] * w[j + r];
    w[j] = sum;
  }
  std::copy(w, w + n, b);
}

}  // namespace ligature::rod_old
