#include "sim/knot/exact.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace ligature::knot {

namespace {

constexpr double kHalfUlp = 0x1.0p-53;
// Three rounded differences, four roundings each of six products and their sums: (7 + small) half ulps of the sum of
// magnitudes [Shewchuk 1997, orient3d]; doubled.
constexpr double kDetError = 16.0 * kHalfUlp;

// A sum of doubles that do not overlap, smallest first: exact.
using Sum = std::vector<double>;

void two_sum(double a, double b, double& high, double& low) {
  high = a + b;
  const double bb = high - a;
  low = (a - (high - bb)) + (b - bb);
}
void two_product(double a, double b, double& high, double& low) {
  high = a * b;
  low = std::fma(a, b, -high);
}

Sum grown(const Sum& e, double b) {
  Sum out;
  out.reserve(e.size() + 1);
  double q = b;
  for (const double x : e) {
    double high, low;
    two_sum(q, x, high, low);
    if (low != 0) out.push_back(low);
    q = high;
  }
  if (q != 0) out.push_back(q);
  return out;
}
Sum added(Sum e, const Sum& f) {
  for (const double x : f) e = grown(e, x);
  return e;
}
Sum scaled(const Sum& e, double b) {
  Sum out;
  for (const double x : e) {
    double high, low;
    two_product(x, b, high, low);
    if (low != 0) out = grown(out, low);
    out = grown(out, high);
  }
  return out;
}
Sum multiplied(const Sum& e, const Sum& f) {
  Sum out;
  for (const double x : f) out = added(std::move(out), scaled(e, x));
  return out;
}
Sum negated(Sum e) {
  for (double& x : e) x = -x;
  return e;
}
int sign_of(const Sum& e) {
  return e.empty() ? 0 : (e.back() > 0) - (e.back() < 0);
}
Sum difference(double a, double b) {
  double high, low;
  two_sum(a, -b, high, low);
  Sum out;
  if (low != 0) out.push_back(low);
  if (high != 0) out.push_back(high);
  return out;
}

using Row = std::array<Sum, 3>;
Row row(Vec3 from, Vec3 to) {
  return {difference(to.x, from.x), difference(to.y, from.y), difference(to.z, from.z)};
}
Sum minor(const Sum& a, const Sum& d, const Sum& b, const Sum& c) {
  return added(multiplied(a, d), negated(multiplied(b, c)));
}
Sum determinant(const Row& p, const Row& q, const Row& r) {
  Sum out = multiplied(minor(q[1], r[2], q[2], r[1]), p[0]);
  out = added(std::move(out), multiplied(minor(q[2], r[0], q[0], r[2]), p[1]));
  return added(std::move(out), multiplied(minor(q[0], r[1], q[1], r[0]), p[2]));
}

struct Bounded {
  double value, error;
};
Bounded det(Vec3 p, Vec3 q, Vec3 r) {
  const double yz = q.y * r.z, zy = q.z * r.y, zx = q.z * r.x, xz = q.x * r.z, xy = q.x * r.y, yx = q.y * r.x;
  const double value = p.x * (yz - zy) + p.y * (zx - xz) + p.z * (xy - yx);
  const double size = std::abs(p.x) * (std::abs(yz) + std::abs(zy)) + std::abs(p.y) * (std::abs(zx) + std::abs(xz)) +
                      std::abs(p.z) * (std::abs(xy) + std::abs(yx));
  return {value, kDetError * size};
}

const std::array<Vec3, 3> kAxes{Vec3{1, 0, 0}, Vec3{0, 1, 0}, Vec3{0, 0, 1}};

// An axis along which the plane of a, b, c is not seen edge-on, and how they turn; 0 when they are collinear.
int turn_in_plane(Vec3 a, Vec3 b, Vec3 c, Vec3& axis) {
  for (const Vec3 k : kAxes) {
    const int s = turn(a, b, c, k);
    if (s != 0) return axis = k, s;
  }
  return 0;
}

bool between(double x, double a, double b) {
  return std::min(a, b) <= x && x <= std::max(a, b);
}
// For points on one line.
bool within(Vec3 x, Vec3 a, Vec3 b) {
  return between(x.x, a.x, b.x) && between(x.y, a.y, b.y) && between(x.z, a.z, b.z);
}

// Closed segments in one plane, seen along an axis not in it.
bool meet_in_plane(Vec3 a, Vec3 b, Vec3 c, Vec3 d, Vec3 axis) {
  const int c_side = turn(a, b, c, axis), d_side = turn(a, b, d, axis);
  const int a_side = turn(c, d, a, axis), b_side = turn(c, d, b, axis);
  if (c_side == 0 && within(c, a, b)) return true;
  if (d_side == 0 && within(d, a, b)) return true;
  if (a_side == 0 && within(a, c, d)) return true;
  if (b_side == 0 && within(b, c, d)) return true;
  return c_side * d_side < 0 && a_side * b_side < 0;
}

}  // namespace

int det_sign(Vec3 p0, Vec3 p1, Vec3 q0, Vec3 q1, Vec3 r0, Vec3 r1) {
  const auto [value, error] = det(p1 - p0, q1 - q0, r1 - r0);
  if (value > error) return 1;
  if (value < -error) return -1;
  if (error == 0) return 0;  // every product has a factor that is exactly 0
  return sign_of(determinant(row(p0, p1), row(q0, q1), row(r0, r1)));
}

int compare_places(Vec3 a, Vec3 b, Vec3 c1, Vec3 d1, Vec3 c2, Vec3 d2, Vec3 w) {
  const Bounded n1 = det(c1 - a, d1 - c1, w), m1 = det(b - a, d1 - c1, w);
  const Bounded n2 = det(c2 - a, d2 - c2, w), m2 = det(b - a, d2 - c2, w);
  if (std::abs(m1.value) > 2 * m1.error && std::abs(m2.value) > 2 * m2.error) {
    const double t1 = n1.value / m1.value, t2 = n2.value / m2.value;
    // Relative to denominators that are right within a factor of two.
    const double e1 = 2 * (n1.error + std::abs(t1) * m1.error) / std::abs(m1.value);
    const double e2 = 2 * (n2.error + std::abs(t2) * m2.error) / std::abs(m2.value);
    const double e = e1 + e2 + 8 * kHalfUlp * (std::abs(t1) + std::abs(t2));
    if (t1 - t2 > e) return 1;
    if (t2 - t1 > e) return -1;
  }
  const Row u = row(a, b), x1 = row(c1, d1), x2 = row(c2, d2), z = row({}, w);
  const Sum N1 = determinant(row(a, c1), x1, z), M1 = determinant(u, x1, z);
  const Sum N2 = determinant(row(a, c2), x2, z), M2 = determinant(u, x2, z);
  const int s = sign_of(added(multiplied(N1, M2), negated(multiplied(N2, M1))));
  return s * sign_of(M1) * sign_of(M2);
}

bool collinear(Vec3 a, Vec3 b, Vec3 c) {
  Vec3 axis;
  return turn_in_plane(a, b, c, axis) == 0;
}

bool segments_meet(Vec3 a, Vec3 b, Vec3 c, Vec3 d) {
  if (side(a, b, c, d) != 0) return false;
  Vec3 axis;
  if (turn_in_plane(a, b, c, axis) != 0 || turn_in_plane(a, b, d, axis) != 0) return meet_in_plane(a, b, c, d, axis);
  if (a == b && !(c == d) && turn_in_plane(c, d, a, axis) != 0) return false;
  return within(c, a, b) || within(d, a, b) || within(a, c, d) || within(b, c, d);
}

bool segment_meets_triangle(Vec3 a, Vec3 b, Vec3 e, Vec3 c, Vec3 d) {
  const int c_side = side(a, b, e, c), d_side = side(a, b, e, d);
  if (c_side * d_side > 0) return false;
  if (c_side == 0 && d_side == 0) {
    Vec3 axis;
    const int s = turn_in_plane(a, b, e, axis);
    const auto inside = [&](Vec3 x) {
      return turn(a, b, x, axis) * s >= 0 && turn(b, e, x, axis) * s >= 0 && turn(e, a, x, axis) * s >= 0;
    };
    return inside(c) || inside(d) || meet_in_plane(a, b, c, d, axis) || meet_in_plane(b, e, c, d, axis) ||
           meet_in_plane(e, a, c, d, axis);
  }
  const int s1 = side(c, d, a, b), s2 = side(c, d, b, e), s3 = side(c, d, e, a);
  return (s1 >= 0 && s2 >= 0 && s3 >= 0) || (s1 <= 0 && s2 <= 0 && s3 <= 0);
}

bool in_wedge(Vec3 a, Vec3 b, Vec3 c, Vec3 x) {
  if (side(a, b, c, x) != 0) return false;
  Vec3 axis;
  const int s = turn_in_plane(a, b, c, axis);
  return turn(a, b, x, axis) * s >= 0 && turn(a, x, c, axis) * s >= 0;
}

}  // namespace ligature::knot
