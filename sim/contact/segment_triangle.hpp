#pragma once
/// Nearest points of points, segments and triangles.
#include <Eigen/Core>
#include <Eigen/Geometry>
#include <algorithm>

namespace ligature::contact {

using Eigen::Vector3d;

struct OnTriangle {
  Vector3d point{0, 0, 0};
  int corner = -1, edge = -1;  // the feature; both -1: the face
};

// [Ericson 2005] section 5.1.5.
inline OnTriangle closest(const Vector3d& p, const Vector3d& a, const Vector3d& b, const Vector3d& c) {
  const Vector3d ab = b - a, ac = c - a, ap = p - a;
  const double d1 = ab.dot(ap), d2 = ac.dot(ap);
  if (d1 <= 0 && d2 <= 0) return {a, 0, -1};
  const Vector3d bp = p - b;
  const double d3 = ab.dot(bp), d4 = ac.dot(bp);
  if (d3 >= 0 && d4 <= d3) return {b, 1, -1};
  const double vc = d1 * d4 - d3 * d2;
  if (vc <= 0 && d1 >= 0 && d3 <= 0) return {a + d1 / (d1 - d3) * ab, -1, 0};
  const Vector3d cp = p - c;
  const double d5 = ab.dot(cp), d6 = ac.dot(cp);
  if (d6 >= 0 && d5 <= d6) return {c, 2, -1};
  const double vb = d5 * d2 - d1 * d6;
  if (vb <= 0 && d2 >= 0 && d6 <= 0) return {a + d2 / (d2 - d6) * ac, -1, 2};
  const double va = d3 * d6 - d5 * d4;
  if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) return {b + (d4 - d3) / ((d4 - d3) + (d5 - d6)) * (c - b), -1, 1};
  const double per = 1 / (va + vb + vc);
  return {a + vb * per * ab + vc * per * ac, -1, -1};
}

struct TwoPlaces {
  double s = 0, t = 0;
  bool inside = false;  // both strictly, and not parallel
};

// Closest points of the segments p..q and a..b [Ericson 2005] section 5.1.9.
inline TwoPlaces closest_places(const Vector3d& p, const Vector3d& q, const Vector3d& a, const Vector3d& b) {
  const Vector3d u = q - p, v = b - a, w = p - a;
  const double uu = std::max(u.squaredNorm(), 1e-300), vv = std::max(v.squaredNorm(), 1e-300);
  const double uv = u.dot(v), uw = u.dot(w), vw = v.dot(w), det = uu * vv - uv * uv;
  TwoPlaces out;
  const bool skew = det > 1e-12 * uu * vv;
  out.s = skew ? std::clamp((uv * vw - uw * vv) / det, 0.0, 1.0) : 0.0;
  out.t = (uv * out.s + vw) / vv;
  if (out.t < 0 || out.t > 1) {
    out.t = std::clamp(out.t, 0.0, 1.0);
    out.s = std::clamp((uv * out.t - uw) / uu, 0.0, 1.0);
  }
  out.inside = skew && out.s > 0 && out.s < 1 && out.t > 0 && out.t < 1;
  return out;
}

struct SegmentTriangle {
  double distance = 0;  ///< 0 where the segment goes through [mm]
  Vector3d on_segment{0, 0, 0}, on_triangle{0, 0, 0};
};

/// Of the segment p..q and the triangle a, b, c.
inline SegmentTriangle closest(const Vector3d& p, const Vector3d& q, const Vector3d& a, const Vector3d& b,
                               const Vector3d& c) {
  SegmentTriangle out;
  double best = -1;
  const auto take = [&](const Vector3d& on_segment, const Vector3d& on_triangle) {
    const double d = (on_segment - on_triangle).squaredNorm();
    if (best >= 0 && d >= best) return;
    best = d;
    out.on_segment = on_segment;
    out.on_triangle = on_triangle;
  };
  const Vector3d n = (b - a).cross(c - a);
  const double hp = n.dot(p - a), hq = n.dot(q - a);
  if (hp * hq < 0) {  // goes through its plane, perhaps through itself
    const Vector3d at = p + hp / (hp - hq) * (q - p);
    const OnTriangle on = closest(at, a, b, c);
    if (on.corner < 0 && on.edge < 0) return {0, at, at};
  }
  take(p, closest(p, a, b, c).point);
  take(q, closest(q, a, b, c).point);
  const Vector3d* const corner[] = {&a, &b, &c, &a};
  for (int k = 0; k < 3; ++k) {
    const TwoPlaces both = closest_places(p, q, *corner[k], *corner[k + 1]);
    take(p + both.s * (q - p), *corner[k] + both.t * (*corner[k + 1] - *corner[k]));
  }
  out.distance = std::sqrt(best);
  return out;
}

}  // namespace ligature::contact
