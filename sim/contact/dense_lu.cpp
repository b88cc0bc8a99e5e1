#include "sim/contact/dense_lu.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/contact/cone_kernels.hpp"

namespace ligature::contact {
namespace {

constexpr double kLeastPivot = 1e-14;  // of the largest entry
constexpr std::size_t kPanel = 3;      // columns that are eliminated together

}  // namespace

DenseLu::DenseLu(std::size_t most) : matrix_(most * (most + 8)), pivot_(most) {}

void DenseLu::begin(std::size_t n) noexcept {
  n_ = n;
  stride_ = (n + 3) / 4 * 4 + 4;
}

bool DenseLu::factor() noexcept {
  const std::size_t n = n_;
  double largest = 0;
  for (std::size_t k = 0; k < n; ++k) largest = std::max(largest, std::abs(row(k)[k]));
  for (std::size_t k0 = 0; k0 < n; k0 += kPanel) {
    const std::size_t k1 = std::min(k0 + kPanel, n);
    for (std::size_t k = k0; k < k1; ++k) {  // within the panel's columns
      std::size_t pivot = k;
      for (std::size_t i = k + 1; i < n; ++i)
        if (std::abs(row(i)[k]) > std::abs(row(pivot)[k])) pivot = i;
      if (!(std::abs(row(pivot)[k]) > kLeastPivot * largest)) return false;
      pivot_[k] = pivot;
      // The factors of earlier panels stay where they are: solve() goes by the order that rows had then.
      if (pivot != k) std::swap_ranges(row(k) + k0, row(k) + n, row(pivot) + k0);
      const double inverse = 1 / row(k)[k];
      for (std::size_t i = k + 1; i < n; ++i) {
        double* to = row(i);
        to[k] *= inverse;
        for (std::size_t j = k + 1; j < k1; ++j) to[j] = kernels::fused(-to[k], row(k)[j], to[j]);
      }
    }
    for (std::size_t k = k0; k < k1; ++k)  // the panel's rows, behind it
      for (std::size_t i = k + 1; i < k1; ++i) kernels::subtract(row(i) + k1, row(i)[k], row(k) + k1, n - k1);
    if (k1 - k0 < kPanel) break;
    for (std::size_t i = k1; i < n; ++i) {
      const double x[3] = {-row(i)[k0], -row(i)[k0 + 1], -row(i)[k0 + 2]};
      kernels::add_rows(row(i) + k1, row(k0) + k1, row(k0 + 1) + k1, row(k0 + 2) + k1, x, n - k1);
    }
  }
  return true;
}

void DenseLu::solve(double* b) const noexcept {
  const std::size_t n = n_;
  for (std::size_t k0 = 0; k0 < n; k0 += kPanel) {
    const std::size_t k1 = std::min(k0 + kPanel, n);
    for (std::size_t k = k0; k < k1; ++k) std::swap(b[k], b[pivot_[k]]);
    for (std::size_t k = k0; k < k1; ++k)
      for (std::size_t i = k + 1; i < n; ++i) b[i] = kernels::fused(-row(i)[k], b[k], b[i]);
  }
  for (std::size_t k = n; k-- > 0;) b[k] = (b[k] - kernels::dot(row(k) + k + 1, b + k + 1, n - k - 1)) / row(k)[k];
}

}  // namespace ligature::contact
