#pragma once
/// What moving segments and triangles do, by dense samples of time in long double: slow, plain, and by no means of the
/// code under test.
#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "sim/contact/continuous.hpp"

namespace ligature::contact::test {

using Real = long double;
using Vector3l = Eigen::Matrix<Real, 3, 1>;

inline Vector3l at(const Vector3d& x, const Vector3d& x1, Real t) {
  return (1 - t) * x.cast<Real>() + t * x1.cast<Real>();
}

inline Real point_segment(const Vector3l& x, const Vector3l& p, const Vector3l& q) {
  const Vector3l u = q - p;
  const Real uu = u.squaredNorm();
  const Real s = uu > 0 ? std::clamp<Real>((x - p).dot(u) / uu, 0, 1) : Real(0);
  return (x - p - s * u).norm();
}

/// Places on the lines p q and r s where they are nearest, if they are not parallel.
inline std::optional<std::array<Real, 2>> crossing_places(const Vector3l& p, const Vector3l& q, const Vector3l& r,
                                                          const Vector3l& s) {
  const Vector3l u = q - p, v = s - r, n = u.cross(v), w = r - p;
  const Real nn = n.squaredNorm();
  if (!(nn > 0)) return std::nullopt;
  return std::array<Real, 2>{w.cross(v).dot(n) / nn, w.cross(u).dot(n) / nn};
}

inline Real segment_segment(const Vector3l& p, const Vector3l& q, const Vector3l& r, const Vector3l& s) {
  Real least =
      std::min({point_segment(p, r, s), point_segment(q, r, s), point_segment(r, p, q), point_segment(s, p, q)});
  const auto places = crossing_places(p, q, r, s);
  if (places && (*places)[0] > 0 && (*places)[0] < 1 && (*places)[1] > 0 && (*places)[1] < 1) {
    const Vector3l n = (q - p).cross(s - r);
    least = std::min(least, std::abs((r - p).dot(n)) / n.norm());
  }
  return least;
}

/// Barycentric places of x in the plane of a b c; all positive: above the face.
inline std::array<Real, 3> places_on(const Vector3l& x, const Vector3l& a, const Vector3l& b, const Vector3l& c) {
  const Vector3l n = (b - a).cross(c - a);
  const Real nn = n.squaredNorm();
  const Real v = (x - a).cross(c - a).dot(n) / nn, w = (b - a).cross(x - a).dot(n) / nn;
  return {1 - v - w, v, w};
}
inline bool on_face(const std::array<Real, 3>& places) {
  return places[0] >= 0 && places[1] >= 0 && places[2] >= 0;
}

inline bool pierces(const Vector3l& p, const Vector3l& q, const Vector3l& a, const Vector3l& b, const Vector3l& c) {
  const Vector3l n = (b - a).cross(c - a);
  const Real hp = (p - a).dot(n), hq = (q - a).dot(n);
  if (hp * hq > 0 || hp == hq) return false;
  return on_face(places_on(p + hp / (hp - hq) * (q - p), a, b, c));
}

inline Real distance(const MovingSegment& m, const MovingSegment& o, Real t) {
  return segment_segment(at(m.p, m.p1, t), at(m.q, m.q1, t), at(o.p, o.p1, t), at(o.q, o.q1, t));
}
inline Real distance(const MovingSegment& m, const MovingTriangle& f, Real t) {
  const Vector3l p = at(m.p, m.p1, t), q = at(m.q, m.q1, t);
  const Vector3l a = at(f.a, f.a1, t), b = at(f.b, f.b1, t), c = at(f.c, f.c1, t);
  if (pierces(p, q, a, b, c)) return 0;
  Real least = std::min({segment_segment(p, q, a, b), segment_segment(p, q, b, c), segment_segment(p, q, c, a)});
  const Vector3l n = (b - a).cross(c - a).normalized();
  for (const Vector3l& end : {p, q})
    if (on_face(places_on(end, a, b, c))) least = std::min(least, std::abs((end - a).dot(n)));
  return least;
}

constexpr int kSamples = 400;

/// Least distance over the time, each local minimum of the samples refined by golden section.
template <class A, class B>
double least_distance(const A& a, const B& b) {
  std::array<Real, kSamples + 1> d;
  for (int k = 0; k <= kSamples; ++k) d[k] = distance(a, b, Real(k) / kSamples);
  Real least = *std::min_element(d.begin(), d.end());
  for (int k = 0; k <= kSamples; ++k) {
    if ((k > 0 && d[k - 1] < d[k]) || (k < kSamples && d[k + 1] < d[k])) continue;
    Real from = Real(std::max(k - 1, 0)) / kSamples, to = Real(std::min(k + 1, kSamples)) / kSamples;
    const Real golden = (std::sqrt(Real(5)) - 1) / 2;
    for (int i = 0; i < 90; ++i) {
      const Real x = to - golden * (to - from), y = from + golden * (to - from);
      const Real dx = distance(a, b, x), dy = distance(a, b, y);
      least = std::min({least, dx, dy});
      (dx < dy ? to : from) = dx < dy ? y : x;
    }
  }
  return static_cast<double>(least);
}

/// First time at which two segments pass through each other's inside, by sign changes of the planarity cubic between
/// samples. None where they only graze.
inline std::optional<double> first_simple_crossing(const MovingSegment& m, const MovingSegment& o) {
  const auto planarity = [&](Real t) {
    const Vector3l p = at(m.p, m.p1, t);
    return (at(o.p, o.p1, t) - p).dot((at(m.q, m.q1, t) - p).cross(at(o.q, o.q1, t) - at(o.p, o.p1, t)));
  };
  Real before = planarity(0);
  for (int k = 1; k <= kSamples; ++k) {
    const Real now = planarity(Real(k) / kSamples);
    if ((before < 0) != (now < 0)) {
      Real from = Real(k - 1) / kSamples, to = Real(k) / kSamples;
      for (int i = 0; i < 70; ++i) {
        const Real middle = (from + to) / 2;
        ((planarity(middle) < 0) == (before < 0) ? from : to) = middle;
      }
      const Real t = (from + to) / 2;
      const auto s = crossing_places(at(m.p, m.p1, t), at(m.q, m.q1, t), at(o.p, o.p1, t), at(o.q, o.q1, t));
      if (s && (*s)[0] >= 0 && (*s)[0] <= 1 && (*s)[1] >= 0 && (*s)[1] <= 1) return static_cast<double>(t);
    }
    before = now;
  }
  return std::nullopt;
}

inline std::optional<double> first_sampled_piercing(const MovingSegment& m, const MovingTriangle& f) {
  for (int k = 0; k <= kSamples; ++k)
    if (distance(m, f, Real(k) / kSamples) == 0) return static_cast<double>(k) / kSamples;
  return std::nullopt;
}

}  // namespace ligature::contact::test
