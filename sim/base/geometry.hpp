#pragma once
/// Plain, trivially copyable points and poses for the structs that cross thread and room borders.
/// Inside a room, calculate with Eigen (sim/base/eigen.hpp converts).
///
/// Monogram notation: `X_AB` takes coordinates in B to coordinates in A; `p_PQ_A` runs from P to Q in A's axes.
/// X_AC = X_AB * X_BC: letters that do not cancel are bugs.
#include <cmath>

namespace ligature {

struct Vec3 {
  double x = 0, y = 0, z = 0;
  friend constexpr Vec3 operator+(Vec3 a, Vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend constexpr Vec3 operator-(Vec3 a, Vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  friend constexpr Vec3 operator*(double s, Vec3 a) { return {s * a.x, s * a.y, s * a.z}; }
  friend constexpr bool operator==(Vec3 a, Vec3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }
};
constexpr double dot(Vec3 a, Vec3 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
constexpr Vec3 cross(Vec3 a, Vec3 b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline double norm(Vec3 a) {
  return std::sqrt(dot(a, a));
}

/// Unit quaternion, stored and written x y z w (as every file of the product does).
struct Quat {
  double x = 0, y = 0, z = 0, w = 1;
  friend constexpr Quat operator*(Quat a, Quat b) {
    return {a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
            a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
  }
  friend constexpr bool operator==(Quat a, Quat b) { return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w; }
};
constexpr Quat conjugate(Quat q) {
  return {-q.x, -q.y, -q.z, q.w};
}
constexpr Vec3 rotate(Quat q, Vec3 v) {
  const Vec3 u{q.x, q.y, q.z};
  const Vec3 t = 2.0 * cross(u, v);
  return v + q.w * t + cross(u, t);
}
inline Quat normalized(Quat q) {
  const double n = std::sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
  return n > 0 ? Quat{q.x / n, q.y / n, q.z / n, q.w / n} : Quat{};
}
/// Rotation by `angle_rad` about the unit vector `axis`.
inline Quat axis_angle(Vec3 axis, double angle_rad) {
  const double s = std::sin(0.5 * angle_rad);
  return {s * axis.x, s * axis.y, s * axis.z, std::cos(0.5 * angle_rad)};
}
/// The shorter great-circle interpolation, u in [0,1].
inline Quat slerp(Quat a, Quat b, double u) {
  double c = a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
  const double sign = c < 0 ? -1.0 : 1.0;
  c *= sign;
  double wa = 1 - u, wb = u;
  if (c < 0.9995) {
    const double angle = std::acos(c), s = std::sin(angle);
    wa = std::sin((1 - u) * angle) / s;
    wb = std::sin(u * angle) / s;
  }
  wb *= sign;
  return normalized({wa * a.x + wb * b.x, wa * a.y + wb * b.y, wa * a.z + wb * b.z, wa * a.w + wb * b.w});
}

/// Rigid transform X_AB: p_A = q p_B + p.
struct Pose {
  Quat q;  ///< q_AB
  Vec3 p;  ///< p_AB_A [mm]
  friend constexpr Pose operator*(const Pose& a, const Pose& b) { return {a.q * b.q, rotate(a.q, b.p) + a.p}; }
  friend constexpr Vec3 operator*(const Pose& a, Vec3 v) { return rotate(a.q, v) + a.p; }
};
constexpr Pose inverse(const Pose& x) {
  const Quat q = conjugate(x.q);
  return {q, -1.0 * rotate(q, x.p)};
}

}  // namespace ligature
