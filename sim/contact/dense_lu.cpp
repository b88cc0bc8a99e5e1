#include "sim/contact/dense_lu.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/contact/cone_kernels.hpp"

namespace ligature::contact {
namespace {

constexpr double kLeastPivot = 1e-14;  // of the largest entry
constexpr std::size_t kPanel = 8;      // columns that are eliminated together

// Four rows less their factors times the panel's rows, of `width` columns; every entry takes the panel's rows one after
// the other, so that the bits do not depend on how wide a panel is. Rows may be the same one, and
// are padded to eights: what lies behind `width` is spoilt.
void subtract_panel(double* const to[4], const double* const factor[4], const double* rows, std::size_t stride,
                    std::size_t panel, std::size_t width) {
  std::size_t j = 0;
#ifdef __FMA__
  for (; j < width; j += 8) {
    __m256d a0 = _mm256_loadu_pd(to[0] + j), a1 = _mm256_loadu_pd(to[1] + j);
    __m256d a2 = _mm256_loadu_pd(to[2] + j), a3 = _mm256_loadu_pd(to[3] + j);
    __m256d b0 = _mm256_loadu_pd(to[0] + j + 4), b1 = _mm256_loadu_pd(to[1] + j + 4);
    __m256d b2 = _mm256_loadu_pd(to[2] + j + 4), b3 = _mm256_loadu_pd(to[3] + j + 4);
    const double* from = rows + j;
    for (std::size_t k = 0; k < panel; ++k, from += stride) {
      const __m256d a = _mm256_loadu_pd(from), b = _mm256_loadu_pd(from + 4);
      const __m256d l0 = _mm256_broadcast_sd(factor[0] + k), l1 = _mm256_broadcast_sd(factor[1] + k);
      a0 = _mm256_fnmadd_pd(l0, a, a0), b0 = _mm256_fnmadd_pd(l0, b, b0);
      a1 = _mm256_fnmadd_pd(l1, a, a1), b1 = _mm256_fnmadd_pd(l1, b, b1);
      const __m256d l2 = _mm256_broadcast_sd(factor[2] + k), l3 = _mm256_broadcast_sd(factor[3] + k);
      a2 = _mm256_fnmadd_pd(l2, a, a2), b2 = _mm256_fnmadd_pd(l2, b, b2);
      a3 = _mm256_fnmadd_pd(l3, a, a3), b3 = _mm256_fnmadd_pd(l3, b, b3);
    }
    _mm256_storeu_pd(to[0] + j, a0), _mm256_storeu_pd(to[1] + j, a1);
    _mm256_storeu_pd(to[2] + j, a2), _mm256_storeu_pd(to[3] + j, a3);
    _mm256_storeu_pd(to[0] + j + 4, b0), _mm256_storeu_pd(to[1] + j + 4, b1);
    _mm256_storeu_pd(to[2] + j + 4, b2), _mm256_storeu_pd(to[3] + j + 4, b3);
  }
#endif
  for (; j < width; ++j) {
    double v[4];
    for (std::size_t r = 0; r < 4; ++r) {
      v[r] = to[r][j];
      for (std::size_t k = 0; k < panel; ++k) v[r] = kernels::fused(-factor[r][k], rows[k * stride + j], v[r]);
    }
    for (std::size_t r = 0; r < 4; ++r) to[r][j] = v[r];
  }
}

}  // namespace

DenseLu::DenseLu(std::size_t most) : matrix_(most * (most + 8)), columns_(kPanel * most), pivot_(most) {}

void DenseLu::begin(std::size_t n) noexcept {
  n_ = n;
  stride_ = (n + 7) / 8 * 8;
}

bool DenseLu::factor() noexcept {
  const std::size_t n = n_;
  double largest = 0;
  for (std::size_t k = 0; k < n; ++k) largest = std::max(largest, std::abs(row(k)[k]));
  for (std::size_t k0 = 0; k0 < n; k0 += kPanel) {
    const std::size_t k1 = std::min(k0 + kPanel, n), wide = k1 - k0, high = n - k0;
    // The panel by itself, column by column, from row k0 on.
    const auto column = [&](std::size_t k) { return columns_.data() + (k - k0) * high; };
    for (std::size_t i = 0; i < high; ++i)
      for (std::size_t k = k0; k < k1; ++k) column(k)[i] = row(k0 + i)[k];
    for (std::size_t k = k0; k < k1; ++k) {
      double* const own = column(k);
      const std::size_t at = k - k0;
      std::size_t pivot = at;
      for (std::size_t i = at + 1; i < high; ++i)
        if (std::abs(own[i]) > std::abs(own[pivot])) pivot = i;
      if (!(std::abs(own[pivot]) > kLeastPivot * largest)) return false;
      pivot_[k] = k0 + pivot;
      if (pivot != at)
        for (std::size_t c = k0; c < k1; ++c) std::swap(column(c)[at], column(c)[pivot]);
      const double inverse = 1 / own[at];
      for (std::size_t i = at + 1; i < high; ++i) own[i] *= inverse;
      for (std::size_t c = k + 1; c < k1; ++c)
        kernels::subtract(column(c) + at + 1, column(c)[at], own + at + 1, high - at - 1);
    }
    for (std::size_t k = k0; k < k1; ++k)
      if (pivot_[k] != k) std::swap_ranges(row(k), row(k) + n, row(pivot_[k]));
    for (std::size_t i = 0; i < high; ++i)
      for (std::size_t k = k0; k < k1; ++k) row(k0 + i)[k] = column(k)[i];
    if (k1 == n) break;
    for (std::size_t k = k0; k < k1; ++k)  // the panel's rows, behind it
      for (std::size_t i = k + 1; i < k1; ++i) kernels::subtract(row(i) + k1, row(i)[k], row(k) + k1, n - k1);
    for (std::size_t i = k1; i < n; i += 4) {
      double* to[4];
      const double* factor[4];
      for (std::size_t r = 0; r < 4; ++r) {  // where fewer are left, the last one more than once
        double* const of = row(std::min(i + r, n - 1));
        to[r] = of + k1, factor[r] = of + k0;
      }
      subtract_panel(to, factor, row(k0) + k1, stride_, wide, n - k1);
    }
  }
  return true;
}

void DenseLu::solve(double* b) const noexcept {
  const std::size_t n = n_;
  for (std::size_t k = 0; k < n; ++k) std::swap(b[k], b[pivot_[k]]);
  for (std::size_t i0 = 0; i0 < n; i0 += 4) {
    const std::size_t i1 = std::min(i0 + 4, n);
    if (i1 - i0 == 4) {
      const double *r0 = row(i0), *r1 = row(i0 + 1), *r2 = row(i0 + 2), *r3 = row(i0 + 3);
      double s0 = b[i0], s1 = b[i0 + 1], s2 = b[i0 + 2], s3 = b[i0 + 3];
      for (std::size_t k = 0; k < i0; ++k) {
        const double x = b[k];
        s0 = kernels::fused(-r0[k], x, s0), s1 = kernels::fused(-r1[k], x, s1);
        s2 = kernels::fused(-r2[k], x, s2), s3 = kernels::fused(-r3[k], x, s3);
      }
      b[i0] = s0, b[i0 + 1] = s1, b[i0 + 2] = s2, b[i0 + 3] = s3;
    } else {
      for (std::size_t i = i0; i < i1; ++i)
        for (std::size_t k = 0; k < i0; ++k) b[i] = kernels::fused(-row(i)[k], b[k], b[i]);
    }
    for (std::size_t i = i0 + 1; i < i1; ++i)
      for (std::size_t k = i0; k < i; ++k) b[i] = kernels::fused(-row(i)[k], b[k], b[i]);
  }
  for (std::size_t k = n; k-- > 0;) b[k] = (b[k] - kernels::dot(row(k) + k + 1, b + k + 1, n - k - 1)) / row(k)[k];
}

}  // namespace ligature::contact
