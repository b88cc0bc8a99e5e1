#pragma once
/// The inner loops of the cone solver: fused multiply-adds where the machine has them, always in the same places.
#include <cmath>
#include <cstddef>

#ifdef __FMA__
#include <immintrin.h>
#endif

namespace ligature::contact::kernels {

/// a b + c, rounded once where the machine can.
inline double fused(double a, double b, double c) {
#ifdef __FMA__
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// u += x0 row0 + x1 row1 + x2 row2. (n)
inline void add_rows(double* u, const double* row0, const double* row1, const double* row2, const double* x,
                     std::size_t n) {
  std::size_t j = 0;
#ifdef __FMA__
  const __m256d x0 = _mm256_set1_pd(x[0]), x1 = _mm256_set1_pd(x[1]), x2 = _mm256_set1_pd(x[2]);
  for (; j + 4 <= n; j += 4) {
    __m256d v = _mm256_loadu_pd(u + j);
    v = _mm256_fmadd_pd(x0, _mm256_loadu_pd(row0 + j), v);
    v = _mm256_fmadd_pd(x1, _mm256_loadu_pd(row1 + j), v);
    v = _mm256_fmadd_pd(x2, _mm256_loadu_pd(row2 + j), v);
    _mm256_storeu_pd(u + j, v);
  }
#endif
  for (; j < n; ++j) u[j] = fused(x[2], row2[j], fused(x[1], row1[j], fused(x[0], row0[j], u[j])));
}

/// y -= l x. (n)
inline void subtract(double* y, double l, const double* x, std::size_t n) {
  std::size_t j = 0;
#ifdef __FMA__
  const __m256d f = _mm256_set1_pd(l);
  for (; j + 4 <= n; j += 4)
    _mm256_storeu_pd(y + j, _mm256_fnmadd_pd(f, _mm256_loadu_pd(x + j), _mm256_loadu_pd(y + j)));
#endif
  for (; j < n; ++j) y[j] = fused(-l, x[j], y[j]);
}

inline double dot(const double* x, const double* y, std::size_t n) {
  std::size_t j = 0;
  double sum = 0;
#ifdef __FMA__
  __m256d s0 = _mm256_setzero_pd(), s1 = _mm256_setzero_pd();
  for (; j + 8 <= n; j += 8) {
    s0 = _mm256_fmadd_pd(_mm256_loadu_pd(x + j), _mm256_loadu_pd(y + j), s0);
    s1 = _mm256_fmadd_pd(_mm256_loadu_pd(x + j + 4), _mm256_loadu_pd(y + j + 4), s1);
  }
  s0 = _mm256_add_pd(s0, s1);
  const __m128d half = _mm_add_pd(_mm256_castpd256_pd128(s0), _mm256_extractf128_pd(s0, 1));
  sum = _mm_cvtsd_f64(half) + _mm_cvtsd_f64(_mm_unpackhi_pd(half, half));
#endif
  for (; j < n; ++j) sum = fused(x[j], y[j], sum);
  return sum;
}

/// Rows i to i + rows (four at most) of an upper triangle: a[i][j] -= sum over k in [k0, k1) of a[k][i] a[k][j], for j
/// in [i, n).
inline void subtract_outer(double* a, std::size_t stride, std::size_t k0, std::size_t k1, std::size_t i,
                           std::size_t rows, std::size_t n) {
  std::size_t j = i;
#ifdef __FMA__
  if (rows == 4) {
    double *y0 = a + i * stride, *y1 = y0 + stride, *y2 = y1 + stride, *y3 = y2 + stride;
    for (; j + 8 <= n; j += 8) {
      __m256d a0 = _mm256_loadu_pd(y0 + j), a1 = _mm256_loadu_pd(y0 + j + 4);
      __m256d b0 = _mm256_loadu_pd(y1 + j), b1 = _mm256_loadu_pd(y1 + j + 4);
      __m256d c0 = _mm256_loadu_pd(y2 + j), c1 = _mm256_loadu_pd(y2 + j + 4);
      __m256d d0 = _mm256_loadu_pd(y3 + j), d1 = _mm256_loadu_pd(y3 + j + 4);
      for (std::size_t k = k0; k < k1; ++k) {
        const double* top = a + k * stride;
        const __m256d x0 = _mm256_loadu_pd(top + j), x1 = _mm256_loadu_pd(top + j + 4);
        __m256d l = _mm256_broadcast_sd(top + i);
        a0 = _mm256_fnmadd_pd(l, x0, a0), a1 = _mm256_fnmadd_pd(l, x1, a1);
        l = _mm256_broadcast_sd(top + i + 1);
        b0 = _mm256_fnmadd_pd(l, x0, b0), b1 = _mm256_fnmadd_pd(l, x1, b1);
        l = _mm256_broadcast_sd(top + i + 2);
        c0 = _mm256_fnmadd_pd(l, x0, c0), c1 = _mm256_fnmadd_pd(l, x1, c1);
        l = _mm256_broadcast_sd(top + i + 3);
        d0 = _mm256_fnmadd_pd(l, x0, d0), d1 = _mm256_fnmadd_pd(l, x1, d1);
      }
      _mm256_storeu_pd(y0 + j, a0), _mm256_storeu_pd(y0 + j + 4, a1);
      _mm256_storeu_pd(y1 + j, b0), _mm256_storeu_pd(y1 + j + 4, b1);
      _mm256_storeu_pd(y2 + j, c0), _mm256_storeu_pd(y2 + j + 4, c1);
      _mm256_storeu_pd(y3 + j, d0), _mm256_storeu_pd(y3 + j + 4, d1);
    }
  }
#endif
  if (j < n)
    for (std::size_t p = i; p < i + rows; ++p)
      for (std::size_t k = k0; k < k1; ++k) subtract(a + p * stride + j, a[k * stride + p], a + k * stride + j, n - j);
}

}  // namespace ligature::contact::kernels
