#include "sim/rod/writhe.hpp"

#include <Eigen/Geometry>
#include <cmath>
#include <numbers>

#include "sim/rod/twist.hpp"

namespace ligature::rod {
namespace {

// Of a corner of the swept region: its direction d and, to scale it, its length.
struct Corner {
  Vector3d d;
  double length;
};

Corner corner(const Vector3d& d) {
  return {d, d.norm()};
}

// tan(area/2) of the spherical triangle below a plane one is volume / this [Oosterom 1983].
double denominator(const Corner& a, const Corner& b, const Corner& c) {
  return a.length * b.length * c.length + a.d.dot(b.d) * c.length + b.d.dot(c.d) * a.length + c.d.dot(a.d) * b.length;
}

// Below this the four points lie in one plane to rounding; the two segments then sweep nothing, and where they cross,
// both signs are as good.
bool flat(double volume, const Corner& a, const Corner& b, const Corner& c) {
  return std::abs(volume) <= 1e-15 * a.length * b.length * c.length;
}

// Half the area that the directions from segment i to segment j sweep, i: x0 to x1, j: y0 to y1. Positive for a
// right-handed crossing. The differences y - x fill a parallelogram; its two triangles span the same volume.
double half_area(const Vector3d& x0, const Vector3d& x1, const Vector3d& y0, const Vector3d& y1) {
  const Corner a = corner(y0 - x0), b = corner(y0 - x1), c = corner(y1 - x1), d = corner(y1 - x0);
  const double volume = -a.d.dot((x1 - x0).cross(y1 - y0));
  if (flat(volume, a, b, c) || flat(volume, a, c, d)) return 0.0;
  const double p = denominator(a, b, c), q = denominator(a, c, d);
  return std::atan2(volume * (p + q), p * q - volume * volume);  // the sum of both angles, which is below pi
}

// The same with the ray from y along the unit vector `far`; `along` is the curve's own direction there, far or -far.
double half_area_ray(const Vector3d& x0, const Vector3d& x1, const Vector3d& y, const Vector3d& far,
                     const Vector3d& along) {
  const Corner a = corner(y - x0), b = corner(y - x1), c = {far, 1.0};
  const double volume = -a.d.dot((x1 - x0).cross(along));
  if (flat(volume, a, b, c)) return 0.0;
  return std::atan2(volume, denominator(a, b, c));
}

double sum_of_segments(const std::vector<Vector3d>& x, std::size_t edges) {
  double sum = 0;
  for (std::size_t i = 0; i + 2 < edges; ++i) {
    double row = 0;
    for (std::size_t j = i + 2; j < edges; ++j) {
      const std::size_t end = j + 1 < x.size() ? j + 1 : 0;
      if (end != i) row += half_area(x[i], x[i + 1], x[j], x[end]);
    }
    sum += row;
  }
  return sum;
}

}  // namespace

// Each pair counts twice in the double sum, and the areas are halved: 2 * 2 / (4 pi).
double writhe_closed(const std::vector<Vector3d>& x) noexcept {
  return x.size() < 3 ? 0.0 : sum_of_segments(x, x.size()) / std::numbers::pi;
}

double writhe_open(const std::vector<Vector3d>& x, const Vector3d& first_tangent,
                   const Vector3d& last_tangent) noexcept {
  if (x.size() < 2) return 0.0;
  const std::size_t edges = x.size() - 1;
  double sum = sum_of_segments(x, edges);
  for (std::size_t i = 0; i < edges; ++i) {
    if (i > 0) sum += half_area_ray(x[i], x[i + 1], x.front(), -first_tangent, first_tangent);
    if (i + 1 < edges) sum += half_area_ray(x[i], x[i + 1], x.back(), last_tangent, last_tangent);
  }
  // Both rays: from the vector between their ends to both of their directions.
  const Corner a = corner(x.back() - x.front()), b = {last_tangent, 1.0}, c = {first_tangent, 1.0};
  const double volume = -a.d.dot(first_tangent.cross(last_tangent));
  if (!flat(volume, a, b, c)) sum += std::atan2(volume, denominator(a, b, c));
  return sum / std::numbers::pi;
}

double link_turns(const Twist& twist, const std::vector<Vector3d>& x) noexcept {
  const std::size_t n = twist.vertices();
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += twist.edge_to_edge(i);
  if (twist.closed()) return sum / (2.0 * std::numbers::pi) + writhe_closed(x);
  const bool first = twist.frame_held(0), last = twist.frame_held(n - 1);
  if (first) sum += twist.half_joint(0, 1);
  if (last) sum += twist.half_joint(n - 1, 0);
  return sum / (2.0 * std::numbers::pi) + writhe_open(x, first ? twist.frame_tangent(0) : twist.tangent(0),
                                                      last ? twist.frame_tangent(n - 1) : twist.tangent(n - 2));
}

}  // namespace ligature::rod
