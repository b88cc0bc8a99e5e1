#pragma once
/// Eight floats side by side: a register where the processor has it, plain code elsewhere. Every lane rounds as a
/// scalar would, and a fused multiply-add is one only where it is written. For .cpp files of this room.
#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __AVX__
#include <immintrin.h>
#else
#pragma GCC diagnostic ignored "-Wpsabi"  // eight floats returned in memory: no border of a library is crossed
#endif

namespace ligature::drivers::lanes {

constexpr int kLanes = 8;
using Lane = float __attribute__((vector_size(4 * kLanes)));
using Bits = std::int32_t __attribute__((vector_size(4 * kLanes)));  // of a comparison: all or none

inline Lane spread(float x) {
  return x - Lane{};
}
inline Lane load(const float* from) {
  Lane w;
  std::memcpy(&w, from, sizeof w);
  return w;
}
inline void store(float* to, const Lane& w) {
  std::memcpy(to, &w, sizeof w);
}
inline Lane less(const Lane& a, const Lane& b) {
#ifdef __AVX__
  return _mm256_min_ps(a, b);  // b where either is no number, as below
#else
  return a < b ? a : b;
#endif
}
inline Lane more(const Lane& a, const Lane& b) {
#ifdef __AVX__
  return _mm256_max_ps(a, b);
#else
  return a > b ? a : b;
#endif
}
inline Lane size(const Lane& a) {
  return more(a, -a);
}
inline Lane root(const Lane& w) {
#ifdef __AVX__
  return _mm256_sqrt_ps(w);
#else
  Lane r;
  for (int k = 0; k < kLanes; ++k) r[k] = std::sqrt(w[k]);
  return r;
#endif
}
/// a b + c, rounded once where the processor can. The same in every build for one processor.
inline Lane fused(const Lane& a, const Lane& b, const Lane& c) {
#ifdef __FMA__
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}
inline float sum(const Lane& w) {
  return ((w[0] + w[4]) + (w[2] + w[6])) + ((w[1] + w[5]) + (w[3] + w[7]));
}
/// One bit a lane, lane 0 lowest.
inline unsigned mask(const Bits& b) {
#ifdef __AVX__
  return static_cast<unsigned>(_mm256_movemask_ps(reinterpret_cast<__m256>(b)));
#else
  unsigned bits = 0;
  for (int k = 0; k < kLanes; ++k) bits |= b[k] != 0 ? 1U << k : 0U;
  return bits;
#endif
}

/// Four floats that lie together, from a place for each lane, turned into four lanes.
inline void load4(const float* table, const Bits& place, Lane& a, Lane& b, Lane& c, Lane& d) {
#ifdef __AVX__
  const auto pair = [&](int low, int high) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(table + place[low])),
                                _mm_loadu_ps(table + place[high]), 1);
  };
  const __m256 p = pair(0, 4), q = pair(1, 5), r = pair(2, 6), s = pair(3, 7);
  const __m256 pq_low = _mm256_unpacklo_ps(p, q), pq_high = _mm256_unpackhi_ps(p, q), rs_low = _mm256_unpacklo_ps(r, s),
               rs_high = _mm256_unpackhi_ps(r, s);
  a = _mm256_shuffle_ps(pq_low, rs_low, 0x44), b = _mm256_shuffle_ps(pq_low, rs_low, 0xee);
  c = _mm256_shuffle_ps(pq_high, rs_high, 0x44), d = _mm256_shuffle_ps(pq_high, rs_high, 0xee);
#else
  for (int k = 0; k < kLanes; ++k) {
    const float* from = table + place[k];
    a[k] = from[0], b[k] = from[1], c[k] = from[2], d[k] = from[3];
  }
#endif
}

}  // namespace ligature::drivers::lanes
