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

}  // namespace ligature::contact::kernels
