#include "sim/contact/continuous.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace ligature::contact {
namespace {

using Four = Eigen::Array4d;

constexpr double kRounding = 4e-15;       // of a separation, to the largest difference: three times its bound
constexpr double kCubicRounding = 4e-14;  // of a Bernstein coefficient, to the product of the largest factors
constexpr double kHold = 0.999;           // of the time over which a plane holds that is taken
constexpr double kShortHold = 1e-6;       // of time, below which a plane is not good enough to look no further
constexpr int kMostPlanes = 128;          // in one search
constexpr int kFewPlanes = 16;            // in a first look
constexpr int kHalvings = 24;             // of the cubic, before planes decide
constexpr double kMargin = 0.9;           // of the time to the first crossing that is given free
constexpr double kLeastFraction = 1e-9;

double size(const Vector3d& v) {
  return v.cwiseAbs().sum();
}

/// All a_i - b_j of two moving hulls, four side by side, and the linear functions of t that a direction makes of them.
template <int Groups>
struct Differences {
  Four x0[Groups], y0[Groups], z0[Groups], x1[Groups], y1[Groups], z1[Groups];
  double rounding = 0;

  void set(int k, const Vector3d& from, const Vector3d& to) {
    const int g = k / 4, lane = k % 4;
    x0[g][lane] = from.x(), y0[g][lane] = from.y(), z0[g][lane] = from.z();
    x1[g][lane] = to.x(), y1[g][lane] = to.y(), z1[g][lane] = to.z();
  }
  void ready() {
    double most = 0;
    for (int g = 0; g < Groups; ++g) {
      const Four sum = (x0[g].abs() + y0[g].abs() + z0[g].abs()).max(x1[g].abs() + y1[g].abs() + z1[g].abs());
      most = std::max(most, sum.maxCoeff());
    }
    rounding = kRounding * most;
  }
  Vector3d at(int k, double t) const {
    const int g = k / 4, lane = k % 4;
    const double s = 1 - t;
    return {s * x0[g][lane] + t * x1[g][lane], s * y0[g][lane] + t * y1[g][lane], s * z0[g][lane] + t * z1[g][lane]};
  }

  /// How long the plane of normal `c` (any length) keeps the hulls farther than `distance` apart, round t.
  /// @returns false when it does not even at t (or anything is not finite)
  bool holds(const Vector3d& c, double t, double distance, double& from, double& to) const {
    const double length = std::sqrt(c.squaredNorm());
    if (!(length > 0) || !std::isfinite(length)) return false;
    const Vector3d n = c / length;
    const double keep = distance + rounding + 4 * std::numeric_limits<double>::epsilon() * distance;
    double left = 0, right = 1;
    for (int g = 0; g < Groups; ++g) {
      const Four e0 = n.x() * x0[g] + n.y() * y0[g] + n.z() * z0[g];
      const Four e1 = n.x() * x1[g] + n.y() * y1[g] + n.z() * z1[g];
      const Four e = (1 - t) * e0 + t * e1;
      if (!(e > keep).all()) return false;
      if ((e0 > keep).all() && (e1 > keep).all()) continue;
      for (int k = 0; k < 4; ++k) {
        const double room = kHold * (e[k] - keep);
        if (!(e0[k] > keep)) left = std::max(left, t - t * room / (e[k] - e0[k]));
        if (!(e1[k] > keep)) right = std::min(right, t + (1 - t) * room / (e[k] - e1[k]));
      }
    }
    from = left, to = right;
    return left <= t && t <= right;
  }

  /// Whether the plane whose normal goes straight from n0 at t0 to n1 at t1 (unit, or shorter) does so between them:
  /// the separations are quadratic in t, their Bernstein coefficients are compared.
  bool holds_turning(const Vector3d& n0, double t0, const Vector3d& n1, double t1, double distance) const {
    const double keep = distance + rounding + 4 * std::numeric_limits<double>::epsilon() * distance;
    for (int g = 0; g < Groups; ++g) {
      const Four xa = (1 - t0) * x0[g] + t0 * x1[g], xb = (1 - t1) * x0[g] + t1 * x1[g];
      const Four ya = (1 - t0) * y0[g] + t0 * y1[g], yb = (1 - t1) * y0[g] + t1 * y1[g];
      const Four za = (1 - t0) * z0[g] + t0 * z1[g], zb = (1 - t1) * z0[g] + t1 * z1[g];
      const Four first = n0.x() * xa + n0.y() * ya + n0.z() * za, last = n1.x() * xb + n1.y() * yb + n1.z() * zb;
      const Four mixed = (n0.x() * xb + n0.y() * yb + n0.z() * zb) + (n1.x() * xa + n1.y() * ya + n1.z() * za);
      if (!(first > keep).all() || !(last > keep).all() || !(0.5 * mixed > keep).all()) return false;
    }
    return true;
  }
};

struct Nearest {
  double s = 0, t = 0, squared = 0;
  Vector3d between{0, 0, 0};  // from b to a
};

/// Nearest points of two segments with directions u, v [Ericson 2005] 5.1.9; `ends` their differences pp, pq, qp, qq.
Nearest nearest(const Vector3d& u, const Vector3d& v, const Vector3d* ends) {
  const Vector3d& w = ends[0];
  const double uu = u.squaredNorm(), vv = v.squaredNorm(), uw = u.dot(w), vw = v.dot(w);
  Nearest out;
  if (!(uu > 0)) {
    out.t = vv > 0 ? std::clamp(vw / vv, 0.0, 1.0) : 0.0;
  } else if (!(vv > 0)) {
    out.s = std::clamp(-uw / uu, 0.0, 1.0);
  } else {
    const double uv = u.dot(v), det = uu * vv - uv * uv;
    if (det > 0) out.s = std::clamp((uv * vw - uw * vv) / det, 0.0, 1.0);
    const double t = (uv * out.s + vw) / vv;
    out.t = t;
    if (!(t > 0 && t < 1)) {
      out.t = t > 0 ? 1.0 : 0.0;
      out.s = std::clamp((uv * out.t - uw) / uu, 0.0, 1.0);
    }
  }
  // In this form an end that is nearest gives its difference without any rounding.
  out.between =
      (1 - out.s) * ((1 - out.t) * ends[0] + out.t * ends[1]) + out.s * ((1 - out.t) * ends[2] + out.t * ends[3]);
  out.squared = out.between.squaredNorm();
  return out;
}

/// The part of c across u: nearest points round to the length of u, not to their distance.
Vector3d across(const Vector3d& c, const Vector3d& u) {
  const double uu = u.squaredNorm();
  return uu > 0 ? Vector3d(c - c.dot(u) / uu * u) : c;
}

bool inside(double s) {
  return s > 0 && s < 1;
}

/// Normals worth trying, the likeliest first.
struct Normals {
  std::array<Vector3d, 24> n;  // uninitialised
  int count = 0;
  void add(const Vector3d& c) { n[count++] = c; }
};

/// Across both, on the side of b from which a is seen. Near parallel ones round along u, where it would show most.
void add_across_both(const Vector3d& u, const Vector3d& v, const Vector3d& between, Normals& out) {
  const Vector3d both = across(u.cross(v), u);
  out.add(both.dot(between) < 0 ? Vector3d(-both) : both);
}

/// From their nearest points.
void add_likely(const Vector3d& u, const Vector3d& v, const Nearest& near, Normals& out) {
  const bool on_a = inside(near.s), on_b = inside(near.t);
  Vector3d c = near.between;
  if (on_a) c = across(across(c, u), u);
  if (on_b && !on_a) c = across(across(c, v), v);
  out.add(c);
  if (on_a && on_b) add_across_both(u, v, near.between, out);
}

/// From each end to the other segment: where near parallel segments leave their nearest points to rounding.
void add_ends(const Vector3d& u, const Vector3d& v, const Vector3d* ends, Normals& out) {
  const auto add = [&](const Vector3d& first, const Vector3d& last, const Vector3d& along, double sign) {
    // The end is seen from a segment that begins `first` and ends `last` away from it.
    const double s = sign * first.dot(along), ll = along.squaredNorm();
    if (!(s > 0)) {
      out.add(first);
    } else if (s >= ll) {
      out.add(last);
    } else {
      out.add(across(across(first, along), along));
    }
  };
  add(ends[0], ends[1], v, 1);
  add(ends[2], ends[3], v, 1);
  add(ends[0], ends[2], u, -1);
  add(ends[1], ends[3], u, -1);
}

/// Two moving segments.
struct SegmentSegment {
  Differences<1> all;
  Vector3d u0, u1, v0, v1;

  SegmentSegment(const MovingSegment& a, const MovingSegment& b)
      : u0(a.q - a.p), u1(a.q1 - a.p1), v0(b.q - b.p), v1(b.q1 - b.p1) {
    all.set(0, a.p - b.p, a.p1 - b.p1);
    all.set(1, a.p - b.q, a.p1 - b.q1);
    all.set(2, a.q - b.p, a.q1 - b.p1);
    all.set(3, a.q - b.q, a.q1 - b.q1);
    all.ready();
  }
  void normals(double t, bool all_there_are, Normals& out) const {
    const Vector3d ends[4] = {all.at(0, t), all.at(1, t), all.at(2, t), all.at(3, t)};
    const Vector3d u = (1 - t) * u0 + t * u1, v = (1 - t) * v0 + t * v1;
    if (all_there_are) {
      add_ends(u, v, ends, out);
      add_across_both(u, v, ends[0], out);
    } else {
      add_likely(u, v, nearest(u, v, ends), out);
    }
  }
};

/// A moving segment and a moving triangle. Differences: p - a, p - b, p - c, q - a, q - b, q - c, the last twice more.
struct SegmentTriangle {
  Differences<2> all;
  Vector3d u0, u1, e0[3], e1[3];  // edges ab, bc, ca

  SegmentTriangle(const MovingSegment& s, const MovingTriangle& f)
      : u0(s.q - s.p), u1(s.q1 - s.p1), e0{f.b - f.a, f.c - f.b, f.a - f.c}, e1{f.b1 - f.a1, f.c1 - f.b1, f.a1 - f.c1} {
    const Vector3d *const corner[3] = {&f.a, &f.b, &f.c}, *const corner1[3] = {&f.a1, &f.b1, &f.c1};
    for (int k = 0; k < 3; ++k) {
      all.set(k, s.p - *corner[k], s.p1 - *corner1[k]);
      all.set(3 + k, s.q - *corner[k], s.q1 - *corner1[k]);
    }
    for (int k = 6; k < 8; ++k) all.set(k, s.q - f.c, s.q1 - f.c1);
    all.ready();
  }
  void normals(double t, bool all_there_are, Normals& out) const {
    const Vector3d u = (1 - t) * u0 + t * u1;
    Vector3d e[3], ends[6];
    for (int k = 0; k < 3; ++k) e[k] = (1 - t) * e0[k] + t * e1[k];
    for (int k = 0; k < 6; ++k) ends[k] = all.at(k, t);
    int longest = 0;
    for (int k = 1; k < 3; ++k)
      if (e[k].squaredNorm() > e[longest].squaredNorm()) longest = k;
    const Vector3d face = across(e[(longest + 1) % 3].cross(e[(longest + 2) % 3]), e[longest]);
    const double area = face.squaredNorm();
    double best = std::numeric_limits<double>::infinity();
    for (int k = 0; k < 3; ++k) {
      const int next = (k + 1) % 3;
      const Vector3d four[4] = {ends[k], ends[next], ends[3 + k], ends[3 + next]};
      if (all_there_are) {
        add_ends(u, e[k], four, out);
        add_across_both(u, e[k], four[0], out);
        continue;
      }
      const Nearest near = nearest(u, e[k], four);
      if (near.squared < best) {
        best = near.squared;
        out.count = 0;
        add_likely(u, e[k], near, out);
      }
    }
    if (!(area > 0)) return;
    for (int end = 0; end < 6; end += 3) {
      const double height = ends[end].dot(face);
      const Vector3d up = height < 0 ? Vector3d(-face) : face;
      bool above = true;  // on the inner side of the three edges
      for (int k = 0; k < 3; ++k) above &= e[k].cross(ends[end + k]).dot(face) >= 0;
      if (all_there_are) {
        out.add(up);
      } else if (above && height * height / area <= best) {
        best = height * height / area;
        out.count = 0;
        out.add(up);
      }
    }
  }
};

/// The interval round t that reaches farthest on of those that the normals prove; its `normal`, unit. @returns false
/// when none does
template <class Pair>
bool proven_round(const Pair& pair, double t, double distance, double& from, double& to, Vector3d& normal) {
  bool any = false;
  for (const bool all_there_are : {false, true}) {
    Normals normals;
    pair.normals(t, all_there_are, normals);
    for (int k = 0; k < normals.count; ++k) {
      double left = t, right = t;
      if (!pair.all.holds(normals.n[k], t, distance, left, right)) continue;
      if (!any || right > to || (right == to && left < from))
        from = left, to = right, normal = normals.n[k].normalized();
      any = true;
      if (from <= 0 && to >= 1) break;
    }
    if (any && (to >= 1 || to - t > kShortHold)) break;
  }
  return any;
}

template <class Pair>
bool proven_turning(const Pair& pair, const Vector3d& normal, double t, double to, double distance) {
  Normals normals;
  pair.normals(to, false, normals);
  for (int k = 0; k < normals.count; ++k)
    if (pair.all.holds_turning(normal, t, normals.n[k].normalized(), to, distance)) return true;
  return false;
}

/// First t in [t, end] that no plane proves: from one plane's end to the next. Straight past each other a distance
/// falls to 1 - kHold at every plane; where they turn a plane that does not falls behind, so that one that turns along
/// is asked to go farther, as often as that succeeds.
template <class Pair>
std::optional<double> march(const Pair& pair, double t, double end, double distance, int most_planes = kMostPlanes) {
  double reach = 1;
  for (int planes = 0; planes < most_planes; ++planes) {
    double from = t, to = t;
    Vector3d normal;
    if (!proven_round(pair, t, distance, from, to, normal)) return t;
    if (to >= end) return std::nullopt;
    if (!(to > t)) return t;
    for (reach *= 2; reach > 1; reach *= 0.5) {
      const double farther = std::min(end, t + reach * (to - t));
      if (!proven_turning(pair, normal, t, farther, distance)) continue;
      if (farther >= end) return std::nullopt;
      to = farther;
      break;
    }
    reach = std::max(reach, 1.0);
    t = to;
  }
  return t;
}

/// All of [0, 1]: by one plane at half time, else one after the other.
template <class Pair>
bool proven(const Pair& pair, double distance, int most_planes = kMostPlanes) {
  double from = 0, to = 0;
  Vector3d normal;
  if (!proven_round(pair, 0.5, distance, from, to, normal)) return false;
  if (from <= 0 && to >= 1) return true;
  return !march(pair, 0, 1, distance, most_planes);
}

/// The planarity cubic in Bernstein form, with a bound on its rounding.
struct Cubic {
  double b[4];
  double rounding;

  Cubic(const Vector3d& w0, const Vector3d& w1, const Vector3d& u0, const Vector3d& u1, const Vector3d& v0,
        const Vector3d& v1) {
    const Vector3d n00 = u0.cross(v0), n11 = u1.cross(v1), mixed = u0.cross(v1) + u1.cross(v0);
    b[0] = w0.dot(n00);
    b[1] = (w1.dot(n00) + w0.dot(mixed)) / 3;
    b[2] = (w0.dot(n11) + w1.dot(mixed)) / 3;
    b[3] = w1.dot(n11);
    rounding =
        kCubicRounding * std::max(size(w0), size(w1)) * std::max(size(u0), size(u1)) * std::max(size(v0), size(v1));
  }
};

bool one_sided(const double* b, double rounding) {
  return (b[0] > rounding && b[1] > rounding && b[2] > rounding && b[3] > rounding) ||
         (b[0] < -rounding && b[1] < -rounding && b[2] < -rounding && b[3] < -rounding);
}
bool vanishes(const double* b, double rounding) {
  return std::abs(b[0]) <= rounding && std::abs(b[1]) <= rounding && std::abs(b[2]) <= rounding &&
         std::abs(b[3]) <= rounding;
}

/// Halves of one interval by de Casteljau's scheme.
void halve(const double* b, double* left, double* right) {
  const double b01 = 0.5 * (b[0] + b[1]), b12 = 0.5 * (b[1] + b[2]), b23 = 0.5 * (b[2] + b[3]);
  const double b012 = 0.5 * (b01 + b12), b123 = 0.5 * (b12 + b23), middle = 0.5 * (b012 + b123);
  left[0] = b[0], left[1] = b01, left[2] = b012, left[3] = middle;
  right[0] = middle, right[1] = b123, right[2] = b23, right[3] = b[3];
}

/// Where in [from, to] one of the cubics may vanish, earliest first, planes decide.
template <std::size_t Count, class Pair>
std::optional<double> search(const Pair& pair, const std::array<Cubic, Count>& cubics, double from, double to,
                             int halvings) {
  bool none = true, flat = false;
  for (const Cubic& cubic : cubics) {
    none &= one_sided(cubic.b, cubic.rounding);
    flat |= vanishes(cubic.b, cubic.rounding);
  }
  if (none) return std::nullopt;
  if (flat || halvings == 0) return march(pair, from, to, 0);
  const double middle = 0.5 * (from + to);
  std::array<Cubic, Count> left = cubics, right = cubics;
  for (std::size_t k = 0; k < Count; ++k) halve(cubics[k].b, left[k].b, right[k].b);
  if (const auto t = search(pair, left, from, middle, halvings - 1)) return t;
  return search(pair, right, middle, to, halvings - 1);
}

}  // namespace

std::optional<double> first_crossing(const MovingSegment& a, const MovingSegment& b) noexcept {
  const SegmentSegment pair(a, b);
  const std::array<Cubic, 1> cubic = {Cubic(b.p - a.p, b.p1 - a.p1, pair.u0, pair.u1, pair.v0, pair.v1)};
  return search(pair, cubic, 0, 1, kHalvings);
}

std::optional<double> first_piercing(const MovingSegment& a, const MovingTriangle& b) noexcept {
  const SegmentTriangle pair(a, b);
  // Apart at first, they meet for the first time when an end reaches the face or the segment an edge.
  double from = 0, to = 0;
  Vector3d normal;
  if (!proven_round(pair, 0, 0, from, to, normal)) return 0.0;
  if (to >= 1) return std::nullopt;
  const auto edge = [&](const Vector3d& p, const Vector3d& p1, int k) {
    return Cubic(p - a.p, p1 - a.p1, pair.u0, pair.u1, pair.e0[k], pair.e1[k]);
  };
  const auto face = [&](const Vector3d& end, const Vector3d& end1) {
    return Cubic(end - b.a, end1 - b.a1, pair.e0[0], pair.e1[0], pair.e0[2], pair.e1[2]);
  };
  const std::array<Cubic, 5> cubics = {edge(b.a, b.a1, 0), edge(b.b, b.b1, 1), edge(b.c, b.c1, 2), face(a.p, a.p1),
                                       face(a.q, a.q1)};
  return search(pair, cubics, 0, 1, kHalvings);
}

std::optional<double> first_within(const MovingSegment& a, const MovingSegment& b, double distance) noexcept {
  return march(SegmentSegment(a, b), 0, 1, distance);
}
std::optional<double> first_within(const MovingSegment& a, const MovingTriangle& b, double distance) noexcept {
  return march(SegmentTriangle(a, b), 0, 1, distance);
}

bool certified_apart(const MovingSegment& a, const MovingSegment& b) noexcept {
  return proven(SegmentSegment(a, b), 0);
}
bool certified_apart(const MovingSegment& a, const MovingTriangle& b) noexcept {
  return proven(SegmentTriangle(a, b), 0);
}
bool certified_farther(const MovingSegment& a, const MovingSegment& b, double distance) noexcept {
  return proven(SegmentSegment(a, b), distance);
}
bool certified_farther(const MovingSegment& a, const MovingTriangle& b, double distance) noexcept {
  return proven(SegmentTriangle(a, b), distance);
}

namespace {

MovingSegment edge(const Strand& strand, const Vector3d* x1, std::size_t i, double part) {
  const std::size_t n = strand.next(i);
  const Vector3d &p = strand.x[i], &q = strand.x[n];
  if (x1 == nullptr) return {p, q, p, q};
  if (part == 1) return {p, q, x1[i], x1[n]};
  return {p, q, p + part * (x1[i] - p), q + part * (x1[n] - q)};
}

struct MovingPair {
  MovingSegment a, b;
};
MovingPair moving(const Strand* strands, const Vector3d* const* x1, const EdgePair& pair, double part) {
  const Vector3d* const to_a = x1 != nullptr ? x1[pair.strand_a] : nullptr;
  const Vector3d* const to_b = x1 != nullptr ? x1[pair.strand_b] : nullptr;
  return {edge(strands[pair.strand_a], to_a, pair.edge_a, part), edge(strands[pair.strand_b], to_b, pair.edge_b, part)};
}

}  // namespace

CrossingGuard::CrossingGuard(std::size_t most_edges, std::size_t most_pairs)
    : near_(most_edges, most_pairs), shortened_(2 * most_edges), ends_(most_edges) {
  open_.reserve(most_pairs);
}

/// Pairs near on the way, or on as much of it (`part`) as they fit.
bool CrossingGuard::near_shortened(const Strand* strands, std::size_t count, const Vector3d* const* x1,
                                   double& part) noexcept {
  part = 1;
  if (near_.find(strands, count, x1, 0)) return near_.skipped() == 0;
  std::size_t vertices = 0;
  for (std::size_t s = 0; s < count; ++s) vertices += strands[s].vertices;
  for (part = 0.25; x1 != nullptr && near_.skipped() == 0 && part > 1e-3; part *= 0.25) {
    if (count > ends_.size() || vertices > shortened_.size()) break;
    Vector3d* next = shortened_.data();
    for (std::size_t s = 0; s < count; ++s) {
      ends_[s] = x1[s] == nullptr ? nullptr : next;
      if (x1[s] == nullptr) continue;
      for (std::size_t i = 0; i < strands[s].vertices; ++i)
        *next++ = strands[s].x[i] + part * (x1[s][i] - strands[s].x[i]);
    }
    if (near_.find(strands, count, ends_.data(), 0)) return false;
  }
  part = 0;
  return false;
}

CrossingGuard::Verdict CrossingGuard::look(const Strand* strands, std::size_t count,
                                           const Vector3d* const* x1) noexcept {
  Verdict verdict;
  double part = 1;
  verdict.complete = near_shortened(strands, count, x1, part);
  verdict.fraction = part;
  if (part == 0 || near_.skipped() > 0) {
    verdict.fraction = 0;
    return verdict;
  }
  open_.clear();
  double first = 1;
  const std::vector<EdgePair>& pairs = near_.pairs();
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const MovingPair both = moving(strands, x1, pairs[k], part);
    if (proven(SegmentSegment(both.a, both.b), 0, kFewPlanes)) continue;
    ++verdict.looked_at;
    const auto t = first_crossing(both.a, both.b);
    if (!t && certified_apart(both.a, both.b)) continue;
    open_.push_back(static_cast<std::uint32_t>(k));
    if (!t) continue;
    if (verdict.found++ == 0 || *t < first) first = *t, verdict.first = pairs[k];
  }
  if (verdict.found > 0) verdict.fraction = part * kMargin * first;
  // What is certified for a motion is so for a part of it; the others must be for the part that is left.
  for (const std::uint32_t k : open_) {
    while (verdict.fraction > 0) {
      const MovingPair both = moving(strands, x1, pairs[k], verdict.fraction);
      if (certified_apart(both.a, both.b)) break;
      verdict.fraction = verdict.fraction > kLeastFraction ? 0.5 * verdict.fraction : 0.0;
    }
  }
  return verdict;
}

std::size_t CrossingGuard::audit(const Strand* strands, std::size_t count, const Vector3d* const* x1) noexcept {
  std::size_t open = near_.find(strands, count, x1, 0) ? 0 : 1;
  open += near_.skipped();
  for (const EdgePair& pair : near_.pairs()) {
    const MovingPair both = moving(strands, x1, pair, 1);
    open += certified_apart(both.a, both.b) ? 0 : 1;
  }
  return open;
}

}  // namespace ligature::contact
