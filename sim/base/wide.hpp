#pragma once
/// Four doubles side by side, whatever the machine's registers: vectors, matrices and rotations of four elements at
/// once. Every lane rounds as a scalar would.
#include <cmath>
#include <cstdint>

#ifdef __AVX__
#include <immintrin.h>
#endif

namespace ligature {

constexpr std::size_t kWide = 4;
using Wide = double __attribute__((vector_size(8 * kWide)));
using Mask = std::int64_t __attribute__((vector_size(8 * kWide)));

inline Wide spread(double x) {
  return Wide{x, x, x, x};
}
inline Wide root(const Wide& w) {
#ifdef __AVX__
  return _mm256_sqrt_pd(w);  // std::sqrt sets errno, and so takes one lane after the other
#else
  return Wide{std::sqrt(w[0]), std::sqrt(w[1]), std::sqrt(w[2]), std::sqrt(w[3])};
#endif
}
inline Wide larger(const Wide& a, const Wide& b) {
  return a > b ? a : b;
}
inline Wide smaller(const Wide& a, const Wide& b) {
  return a < b ? a : b;
}
inline double largest(const Wide& w) {
  return std::fmax(std::fmax(w[0], w[1]), std::fmax(w[2], w[3]));
}
inline double least(const Wide& w) {
  return std::fmin(std::fmin(w[0], w[1]), std::fmin(w[2], w[3]));
}
inline bool any(const Mask& m) {
#ifdef __AVX__
  return _mm256_testz_si256(reinterpret_cast<__m256i>(m), reinterpret_cast<__m256i>(m)) == 0;
#else
  return (m[0] | m[1] | m[2] | m[3]) != 0;
#endif
}
inline bool all(const Mask& m) {
  return !any(~m);
}
inline double sum(const Wide& w) {
  return (w[0] + w[1]) + (w[2] + w[3]);
}

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
inline Wide dot(const Wide3& a, const Wide3& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
inline Wide3 cross(const Wide3& a, const Wide3& b) {
  return {{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]}};
}

/// By columns.
struct Wide33 {
  Wide3 c[3];
  Wide& operator()(int row, int column) { return c[column][row]; }
  const Wide& operator()(int row, int column) const { return c[column][row]; }
};
inline Wide3 times(const Wide33& m, const Wide3& a) {
  return a[0] * m.c[0] + a[1] * m.c[1] + a[2] * m.c[2];
}
inline Wide3 transposed_times(const Wide33& m, const Wide3& a) {
  return {{dot(m.c[0], a), dot(m.c[1], a), dot(m.c[2], a)}};
}
inline Wide33 times(const Wide33& a, const Wide33& b) {
  return {{times(a, b.c[0]), times(a, b.c[1]), times(a, b.c[2])}};
}
inline Wide33 transposed_times(const Wide33& a, const Wide33& b) {
  return {{transposed_times(a, b.c[0]), transposed_times(a, b.c[1]), transposed_times(a, b.c[2])}};
}
/// (m32 - m23, m13 - m31, m21 - m12): twice the axial vector of the antisymmetric part.
inline Wide3 axial(const Wide33& m) {
  return {{m(2, 1) - m(1, 2), m(0, 2) - m(2, 0), m(1, 0) - m(0, 1)}};
}

struct WideTurn {
  Wide w = spread(1), x{}, y{}, z{};  ///< unit quaternion
};
inline Wide33 matrix(const WideTurn& q) {
  const Wide two = spread(2), one = spread(1);
  const Wide xx = two * q.x * q.x, yy = two * q.y * q.y, zz = two * q.z * q.z, xy = two * q.x * q.y,
             yz = two * q.y * q.z, zx = two * q.z * q.x, wx = two * q.w * q.x, wy = two * q.w * q.y,
             wz = two * q.w * q.z;
  return {
      {{{one - yy - zz, xy + wz, zx - wy}}, {{xy - wz, one - xx - zz, yz + wx}}, {{zx + wy, yz - wx, one - xx - yy}}}};
}
/// q times the rotation by 2 atan(|half|) about `half`.
inline WideTurn turned(const WideTurn& q, const Wide3& half) {
  WideTurn r;
  r.w = q.w - q.x * half[0] - q.y * half[1] - q.z * half[2];
  r.x = q.x + q.w * half[0] + q.y * half[2] - q.z * half[1];
  r.y = q.y + q.w * half[1] + q.z * half[0] - q.x * half[2];
  r.z = q.z + q.w * half[2] + q.x * half[1] - q.y * half[0];
  const Wide scale = spread(1) / root(r.w * r.w + r.x * r.x + r.y * r.y + r.z * r.z);
  return {r.w * scale, r.x * scale, r.y * scale, r.z * scale};
}

}  // namespace ligature
