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

void two_sum(double a, double b, double& high, double& low) {
  high = a + b;
  const double bb = high - a;
  low = (a - (high - bb)) + (b - bb);
}
void two_product(double a, double b, double& high, double& low) {
  high = a * b;
  low = std::fma(a, b, -high);
}

// A sum of at most N doubles that do not overlap, smallest first: exact.
template <int N>
struct Sum {
  int n = 0;
  double x[N];

  void grow(double b) {
    double q = b;
    int out = 0;
    for (int i = 0; i < n; ++i) {
      double high, low;
      two_sum(q, x[i], high, low);
      if (low != 0) x[out++] = low;
      q = high;
    }
    if (q != 0) x[out++] = q;
    n = out;
  }
  template <int M>
  void add(const Sum<M>& f, double factor) {  // factor +1 or -1
    for (int i = 0; i < f.n; ++i) grow(factor * f.x[i]);
  }
  int sign() const { return n == 0 ? 0 : (x[n - 1] > 0) - (x[n - 1] < 0); }
};

template <int A, int B>
Sum<2 * A * B> product(const Sum<A>& a, const Sum<B>& b) {
  Sum<2 * A * B> out;
  for (int i = 0; i < a.n; ++i)
    for (int k = 0; k < b.n; ++k) {
      double high, low;
      two_product(a.x[i], b.x[k], high, low);
      if (low != 0) out.grow(low);
      out.grow(high);
    }
  return out;
}

using Entry = Sum<2>;
using Row = std::array<Entry, 3>;
Entry difference(double a, double b) {
  Entry out;
  double high, low;
  two_sum(a, -b, high, low);
  out.grow(low);
  out.grow(high);
  return out;
}
Row row(Vec3 from, Vec3 to) {
  return {difference(to.x, from.x), difference(to.y, from.y), difference(to.z, from.z)};
}
Sum<16> minor(const Entry& a, const Entry& d, const Entry& b, const Entry& c) {
  Sum<16> out;
  out.add(product(a, d), 1);
  out.add(product(b, c), -1);
  return out;
}
Sum<192> determinant(const Row& p, const Row& q, const Row& r) {
  Sum<192> out;
  out.add(product(minor(q[1], r[2], q[2], r[1]), p[0]), 1);
  out.add(product(minor(q[2], r[0], q[0], r[2]), p[1]), 1);
  out.add(product(minor(q[0], r[1], q[1], r[0]), p[2]), 1);
  return out;
}

// Sign of a b - c d, for sums too long for the stack.
int compare_products(const Sum<192>& a, const Sum<192>& b, const Sum<192>& c, const Sum<192>& d) {
  std::vector<double> sum;
  const auto grow = [&sum](double q) {
    std::size_t out = 0;
    for (const double x : sum) {
      double high, low;
      two_sum(q, x, high, low);
      if (low != 0) sum[out++] = low;
      q = high;
    }
    sum.resize(out);
    if (q != 0) sum.push_back(q);
  };
  const auto add = [&grow](const Sum<192>& e, const Sum<192>& f, double factor) {
    for (int i = 0; i < e.n; ++i)
      for (int k = 0; k < f.n; ++k) {
        double high, low;
        two_product(e.x[i], f.x[k], high, low);
        grow(factor * low);
        grow(factor * high);
      }
  };
  add(a, b, 1);
  add(c, d, -1);
  return sum.empty() ? 0 : (sum.back() > 0) - (sum.back() < 0);
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
  return determinant(row(p0, p1), row(q0, q1), row(r0, r1)).sign();
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
  const Sum<192> n_1 = determinant(row(a, c1), x1, z), m_1 = determinant(u, x1, z);
  const Sum<192> n_2 = determinant(row(a, c2), x2, z), m_2 = determinant(u, x2, z);
  return compare_products(n_1, m_2, n_2, m_1) * m_1.sign() * m_2.sign();
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
