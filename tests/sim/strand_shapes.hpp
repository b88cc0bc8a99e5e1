#pragma once
/// Strands in the positions in which they touch, for the tests of contact between strands. Lengths in mm.
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numbers>
#include <random>
#include <vector>

#include "sim/contact/strand.hpp"

namespace ligature::contact {

using Points = std::vector<Vector3d>;
inline constexpr double pi = std::numbers::pi;

struct Thread {
  Points x;
  bool closed = false;
  double radius = 0.1, rest_length = 0.1;
  std::uint32_t cut_from = 0xffffffffu, first_edge = 0, ring_edges = 0;  ///< Strand::thread and so on
};

inline std::vector<Strand> strands_of(const std::vector<Thread>& threads) {
  std::vector<Strand> strands;
  for (const Thread& t : threads)
    strands.push_back(
        {t.x.data(), t.x.size(), t.closed, t.radius, t.rest_length, t.cut_from, t.first_edge, t.ring_edges});
  return strands;
}

/// Vertices on a curve at equal distances along it, beginning `phase` of an edge behind its start. Closed: as many as
/// fit round it.
inline Thread along_curve(const std::function<Vector3d(double)>& curve, double from, double to, double radius,
                          double edge, double phase = 0, bool closed = false) {
  constexpr int kFine = 4000;
  std::vector<double> length{0};
  Vector3d last = curve(from);
  for (int i = 1; i <= kFine; ++i) {
    const Vector3d p = curve(from + (to - from) * i / kFine);
    length.push_back(length.back() + (p - last).norm());
    last = p;
  }
  Thread t;
  t.closed = closed;
  t.radius = radius;
  const double whole = length.back(), count = std::floor(whole / edge), step = closed ? whole / count : edge;
  t.rest_length = step;
  std::size_t at = 0;
  const double last_place = closed ? whole - 0.5 * step : whole + 1e-9;
  for (double s = phase * step; s <= last_place; s += step) {
    while (at + 2 < length.size() && length[at + 1] < s) ++at;
    const double u = static_cast<double>(at) + (s - length[at]) / (length[at + 1] - length[at]);
    t.x.push_back(curve(from + (to - from) * u / kFine));
  }
  return t;
}

inline Thread straight(const Vector3d& middle, const Vector3d& along, double length, double radius, double edge,
                       double phase = 0) {
  const Vector3d u = along.normalized();
  return along_curve([=](double s) -> Vector3d { return middle + s * u; }, -0.5 * length, 0.5 * length, radius, edge,
                     phase);
}

/// One of two or more strands twisted round each other at this distance from the common axis; pitch per turn.
inline Thread helix(double around, double pitch, double turns, double angle, double radius, double edge,
                    double phase = 0) {
  return along_curve(
      [=](double u) -> Vector3d {
        const double a = 2 * pi * u + angle;
        return {around * std::cos(a), around * std::sin(a), pitch * u};
      },
      0, turns, radius, edge, phase);
}

/// Distance of the centrelines of two segments, by the closest of interior and all four ends: the oracle.
inline double segment_distance(const Vector3d& p, const Vector3d& p1, const Vector3d& q, const Vector3d& q1) {
  const auto to_point = [](const Vector3d& x, const Vector3d& a, const Vector3d& b) {
    const Vector3d e = b - a;
    const double ee = e.squaredNorm(), s = ee > 0 ? std::clamp((x - a).dot(e) / ee, 0.0, 1.0) : 0.0;
    return (x - a - s * e).norm();
  };
  double best = std::min({to_point(p, q, q1), to_point(p1, q, q1), to_point(q, p, p1), to_point(q1, p, p1)});
  const Vector3d u = p1 - p, v = q1 - q, r = p - q;
  const double uu = u.squaredNorm(), vv = v.squaredNorm(), uv = u.dot(v), det = uu * vv - uv * uv;
  if (det > 1e-14 * uu * vv) {
    const double s = (uv * v.dot(r) - vv * u.dot(r)) / det, t = (uu * v.dot(r) - uv * u.dot(r)) / det;
    if (s > 0 && s < 1 && t > 0 && t < 1) best = std::min(best, (r + s * u - t * v).norm());
  }
  return best;
}

}  // namespace ligature::contact
