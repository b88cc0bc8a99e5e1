#pragma once
/// Several doubles side by side: as many as a register of this machine has, plain code elsewhere. Every lane rounds as
/// a scalar would, so that neither the number of lanes nor the optimiser shows in a result. For .cpp files of sim.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace ligature::rod::lanes {

#ifdef __AVX__
constexpr std::size_t kLanes = 4;
#else
constexpr std::size_t kLanes = 2;
#endif
using Wide = double __attribute__((vector_size(8 * kLanes)));
using Mask = std::int64_t __attribute__((vector_size(8 * kLanes)));

inline Wide spread(double x) {
#ifdef __AVX__
  return Wide{x, x, x, x};
#else
  return Wide{x, x};
#endif
}

inline Wide load(const double* from) {
  Wide w;
  std::memcpy(&w, from, sizeof w);
  return w;
}
inline void store(double* to, const Wide& w) {
  std::memcpy(to, &w, sizeof w);
}

/// One lane on: {last of before, all of now but the last}.
inline Wide shifted(const Wide& before, const Wide& now) {
#ifdef __AVX__
  return __builtin_shuffle(before, now, Mask{3, 4, 5, 6});
#else
  return __builtin_shuffle(before, now, Mask{1, 2});
#endif
}

inline Wide root(const Wide& w) {
#if defined(__AVX__)
  return _mm256_sqrt_pd(w);
#elif defined(__SSE2__)
  return _mm_sqrt_pd(w);
#else
  Wide r;
  for (std::size_t i = 0; i < kLanes; ++i) r[i] = std::sqrt(w[i]);
  return r;
#endif
}

/// The larger; a where b is no number.
inline Wide larger(const Wide& a, const Wide& b) {
  return b > a ? b : a;
}

inline double sum(const Wide& w) {
  double s = w[0];
  for (std::size_t i = 1; i < kLanes; ++i) s += w[i];
  return s;
}

/// A vector of each lane.
struct Wide3 {
  Wide v[3];
  Wide& operator[](int i) { return v[i]; }
  const Wide& operator[](int i) const { return v[i]; }
};
inline Wide3 operator+(const Wide3& a, const Wide3& b) {
  return {{a[0] + b[0], a[1] + b[1], a[2] + b[2]}};
}
inline Wide3 operator-(const Wide3& a, const Wide3& b) {
  return {{a[0] - b[0], a[1] - b[1], a[2] - b[2]}};
}
inline Wide3 operator*(const Wide& s, const Wide3& a) {
  return {{s * a[0], s * a[1], s * a[2]}};
}
inline Wide3 operator*(double s, const Wide3& a) {
  return {{s * a[0], s * a[1], s * a[2]}};
}
inline Wide dot(const Wide3& a, const Wide3& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
inline Wide3 cross(const Wide3& a, const Wide3& b) {
  return {{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]}};
}
inline Wide3 shifted(const Wide3& before, const Wide3& now) {
  return {{shifted(before[0], now[0]), shifted(before[1], now[1]), shifted(before[2], now[2])}};
}

}  // namespace ligature::rod::lanes
