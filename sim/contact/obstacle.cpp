#include "sim/contact/obstacle.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace ligature::contact {
namespace {

constexpr int kMostBisections = 40;                 // of an edge against a cylinder or a cone
constexpr double kMostGrowth = 0.99;                // of a cone's radius along its axis
constexpr int kNarrowed = 4;                        // times, the part of a cone that an edge may meet
constexpr double kLeastLength = 1e-9;               // of that axis, when its ends pass each other [mm]
constexpr double kStandOff = 0.005;                 // of facets from what is round [mm]
constexpr std::uint32_t kFewest = 32, kMost = 400;  // facets of a turn
constexpr double kFarAway = 1e3;                    // how far a plane reaches as a box [mm]

// The direction of least length that is at right angles to an axis; any will do.
Vector3d any_normal(const Vector3d& axis) {
  Eigen::Index least = 0;
  axis.cwiseAbs().minCoeff(&least);
  return axis.cross(Vector3d::Unit(least)).normalized();
}

// Facets that touch, from outside, what a line turns about an axis. @param line places along the axis and distances
// from it, the first and the last on it
Result<TriangleMesh> turned(const Vector3d& from, const Vector3d& axis, std::uint32_t round,
                            const std::vector<Eigen::Vector2d>& line) {
  const Vector3d u = any_normal(axis), w = axis.cross(u);
  const double circumscribed = 1 / std::cos(std::numbers::pi / round);
  const auto rings = static_cast<std::uint32_t>(line.size() - 2);
  std::vector<Vector3d> vertices;
  std::vector<TriangleMesh::Triangle> triangles;
  for (std::uint32_t i = 1; i <= rings; ++i)
    for (std::uint32_t k = 0; k < round; ++k) {
      const double turn = 2 * std::numbers::pi * k / round, r = circumscribed * line[i].y();
      vertices.push_back(from + line[i].x() * axis + r * (std::cos(turn) * u + std::sin(turn) * w));
    }
  const std::uint32_t first = rings * round, last = first + 1;
  vertices.push_back(from + line.front().x() * axis);
  vertices.push_back(from + line.back().x() * axis);
  const auto at = [round](std::uint32_t ring, std::uint32_t k) { return ring * round + k % round; };
  for (std::uint32_t k = 0; k < round; ++k) {
    triangles.push_back({first, at(0, k + 1), at(0, k)});
    for (std::uint32_t i = 0; i + 1 < rings; ++i) {
      triangles.push_back({at(i, k), at(i, k + 1), at(i + 1, k + 1)});
      triangles.push_back({at(i, k), at(i + 1, k + 1), at(i + 1, k)});
    }
    triangles.push_back({last, at(rings - 1, k), at(rings - 1, k + 1)});
  }
  return TriangleMesh::create(std::move(vertices), std::move(triangles));
}

// The half space below a plane, as far as it matters. Its corners are listed as those of a cube are counted in binary.
Result<TriangleMesh> box_below(const Vector3d& normal, const Vector3d& on) {
  const Vector3d u = any_normal(normal), w = normal.cross(u);
  std::vector<Vector3d> vertices;
  for (int i = 0; i < 8; ++i)
    vertices.push_back(on - (i & 4 ? 0 : kFarAway) * normal + (i & 1 ? kFarAway : -kFarAway) * u +
                       (i & 2 ? kFarAway : -kFarAway) * w);
  return TriangleMesh::create(std::move(vertices), {{4, 5, 7},
                                                    {4, 7, 6},
                                                    {0, 2, 3},
                                                    {0, 3, 1},
                                                    {0, 1, 5},
                                                    {0, 5, 4},
                                                    {1, 3, 7},
                                                    {1, 7, 5},
                                                    {3, 2, 6},
                                                    {3, 6, 7},
                                                    {2, 0, 4},
                                                    {2, 4, 6}});
}

}  // namespace

Obstacle Obstacle::plane(const Vector3d& point, const Vector3d& normal) {
  Obstacle o;
  o.normal_ = normal.normalized();
  o.offset_ = o.normal_.dot(point);
  return o;
}

Obstacle Obstacle::sphere(const Vector3d& centre, double radius) {
  Obstacle o = capsule(centre, centre, radius);
  o.shape_ = Shape::sphere;
  return o;
}

Obstacle Obstacle::cylinder(const Vector3d& from, const Vector3d& to, double radius) {
  Obstacle o = capsule(from, to, radius);
  o.shape_ = Shape::cylinder;
  return o;
}

Obstacle Obstacle::capsule(const Vector3d& from, const Vector3d& to, double radius) {
  Obstacle o;
  o.shape_ = Shape::capsule;
  o.a_ = from;
  o.b_ = to;
  o.length_ = (to - from).norm();
  if (o.length_ > 0) o.axis_ = (to - from) / o.length_;
  o.radius_ = radius;
  o.low_ = from.cwiseMin(to).array() - radius;
  o.high_ = from.cwiseMax(to).array() + radius;
  return o;
}

Obstacle Obstacle::mesh(TriangleMesh mesh) {
  const auto own = std::make_shared<const TriangleMesh>(std::move(mesh));
  Obstacle o = soft(*own);
  o.own_mesh_ = own;
  return o;
}

Obstacle Obstacle::cone(double radius_from, double radius_to) {
  Obstacle o;
  o.shape_ = Shape::cone;
  o.radius_ = radius_from;
  o.radius_to_ = radius_to;
  o.there_ = false;
  return o;
}

Obstacle Obstacle::soft(const TriangleMesh& surface) {
  Obstacle o;
  o.shape_ = Shape::mesh;
  o.mesh_ = &surface;
  return o;
}

Result<TriangleMesh> Obstacle::in_facets(const Vector3d& near) const {
  if (mesh_) return *mesh_;
  if (shape_ == Shape::plane) return box_below(normal_, near - (normal_.dot(near) - offset_) * normal_);
  const double many = std::numbers::pi / std::sqrt(2 * kStandOff / radius_);
  const auto half = static_cast<std::uint32_t>(std::ceil(0.5 * std::clamp<double>(many, kFewest, kMost)));
  const std::uint32_t even = half + half % 2;  // so that spheres and capsules have an equator
  const Vector3d axis = length_ > 0 ? axis_ : Vector3d(0, 0, 1);
  if (shape_ == Shape::cylinder)
    return turned(a_, axis, 2 * even, {{0, 0}, {0, radius_}, {length_, radius_}, {length_, 0}});
  // Half a turn round each end; the two halves share a ring where there is nothing between them.
  std::vector<Eigen::Vector2d> line;
  const double r = radius_ / std::cos(0.5 * std::numbers::pi / even);
  for (std::uint32_t k = 0; k <= even; ++k) {
    const double turn = std::numbers::pi * k / even, x = -r * std::cos(turn), y = r * std::sin(turn);
    if (2 * k <= even) line.emplace_back(x, y);
    if (2 * k > even || (2 * k == even && length_ > 0)) line.emplace_back(length_ + x, y);
  }
  return turned(a_, axis, 2 * even, line);
}

void Obstacle::move_ends(const Vector3d& from0, const Vector3d& to0, const Vector3d& from1,
                         const Vector3d& to1) noexcept {
  there_ = true;
  a_ = from1;
  b_ = to1;
  moved_ = from1 - from0;
  turned_ = to1 - to0 - moved_;
  const double r = std::max(radius_, radius_to_);
  low_ = from0.cwiseMin(from1).cwiseMin(to0).cwiseMin(to1).array() - r;
  high_ = from0.cwiseMax(from1).cwiseMax(to0).cwiseMax(to1).array() + r;
}

Vector3d Obstacle::moved(const Vector3d& p, double at) const noexcept {
  if (shape_ != Shape::cone) return moved_;
  const Vector3d a = a_ - (1 - at) * moved_, d = b_ - a_ - (1 - at) * turned_;
  return moved_ +
         std::clamp((p - shift_ - a).dot(d) / std::max(d.squaredNorm(), kLeastLength * kLeastLength), 0.0, 1.0) *
             turned_;
}

double Obstacle::travel() const noexcept {
  return std::sqrt(std::max(moved_.squaredNorm(), (moved_ + turned_).squaredNorm()));
}

double Obstacle::most_against(const Vector3d& p, const Vector3d& d, const Vector3d& q, const Vector3d& e, double at,
                              double part, double near) const noexcept {
  const Vector3d one = d - part * moved_, other = e - part * moved_;
  if (shape_ == Shape::plane) return std::max(std::abs(normal_.dot(one)), std::abs(normal_.dot(other)));
  if (shape_ != Shape::cone) return std::sqrt(std::max(one.squaredNorm(), other.squaredNorm()));
  const auto most = [&](double from, double to) {
    double square = 0;
    for (const double end : {from, to})
      square =
          std::max({square, (one - end * part * turned_).squaredNorm(), (other - end * part * turned_).squaredNorm()});
    return std::sqrt(square);
  };
  const Vector3d a = shift_ + a_ - (1 - at) * moved_, along = b_ - a_ - (1 - at) * turned_;
  const double length = std::max(along.norm(), kLeastLength), beside_p = (p - a).dot(along) / length,
               beside_q = (q - a).dot(along) / length;
  double first = 0, last = 1, speed = most(0, 1);
  for (int round = 0; round < kNarrowed; ++round) {
    const double radius = radius_ + (radius_to_ > radius_ ? last : first) * (radius_to_ - radius_);
    const double reach = radius + speed + near;
    first = std::clamp((std::min(beside_p, beside_q) - reach) / length, first, last);
    last = std::clamp((std::max(beside_p, beside_q) + reach) / length, first, last);
    speed = most(first, last);
  }
  return speed;
}

// Of the axis: where the growth of the radius along it is the cosine between axis and normal.
Obstacle::Sphere Obstacle::own_sphere(const Vector3d& p, double at) const noexcept {
  const Vector3d a = a_ - (1 - at) * moved_, d = b_ - a_ - (1 - at) * turned_, r = p - a;
  const double length = std::max(d.norm(), kLeastLength);
  const Vector3d axis = d / length;
  const double growth = std::clamp((radius_to_ - radius_) / length, -kMostGrowth, kMostGrowth), along = axis.dot(r),
               off = (r - along * axis).norm();
  const double z = std::clamp(along + growth * off / std::sqrt(1 - growth * growth), 0.0, length);
  return {a + z * axis, radius_ + growth * z};
}

Obstacle::Sphere Obstacle::nearest_sphere(const Vector3d& p, double at) const noexcept {
  const Sphere own = own_sphere(p - shift_, at);
  return {own.centre + shift_, own.radius};
}

Obstacle::Surface Obstacle::of_cone(const Vector3d& p, double at) const noexcept {
  const Sphere sphere = own_sphere(p, at);
  const Vector3d from = p - sphere.centre;
  const double size = from.norm();
  Surface out;
  out.distance = size - sphere.radius;
  out.normal = size > 1e-12 ? Vector3d(from / size) : any_normal((b_ - a_).normalized());
  out.point = p - out.distance * out.normal;
  return out;
}

Obstacle::Surface Obstacle::of_cone(const Vector3d& p, const Vector3d& q, double at) const noexcept {
  const Vector3d d = q - p;
  double low = 0, high = 1;
  const auto slope = [&](double s) { return of_cone(p + s * d, at).normal.dot(d); };
  if (slope(0) >= 0) {
    high = 0;
  } else if (slope(1) <= 0) {
    low = 1;
  }
  for (int k = 0; k < kMostBisections && low < high; ++k) {
    const double middle = 0.5 * (low + high);
    (slope(middle) < 0 ? low : high) = middle;
  }
  Surface out = of_cone(p + 0.5 * (low + high) * d, at);
  out.s = 0.5 * (low + high);
  return out;
}

// In the body's own axes, in which it stands where it stood at the start of the run.
Obstacle::Surface Obstacle::local(const Vector3d& p, double within) const noexcept {
  Surface out;
  switch (shape_) {
    case Shape::plane:
      out.distance = normal_.dot(p) - offset_;
      out.normal = normal_;
      break;
    case Shape::sphere:
    case Shape::capsule: {
      const Vector3d from = p - (a_ + std::clamp(axis_.dot(p - a_), 0.0, length_) * axis_);
      const double size = from.norm();
      out.distance = size - radius_;
      out.normal = size > 1e-12 ? Vector3d(from / size) : any_normal(axis_);
      break;
    }
    case Shape::cylinder: {
      const double along = axis_.dot(p - a_);
      const Vector3d off = p - a_ - along * axis_;
      const double size = off.norm();
      const Vector3d aside = size > 1e-12 ? Vector3d(off / size) : any_normal(axis_);
      const double beside = size - radius_, beyond = std::max(-along, along - length_);
      const Vector3d end = along < 0.5 * length_ ? Vector3d(-axis_) : axis_;
      if (beside > 0 && beyond > 0) {  // nearest to the rim
        out.distance = std::hypot(beside, beyond);
        out.normal = (beside * aside + beyond * end) / out.distance;
      } else {
        out.distance = std::max(beside, beyond);
        out.normal = beside >= beyond ? aside : end;
      }
      break;
    }
    case Shape::mesh: {
      const TriangleMesh::Nearest near = mesh_->nearest(p, within);
      if (!near.found) return {within, p, Vector3d(0, 0, 1), 0, 0};
      return {near.distance, near.point, near.normal, 0, near.triangle};
    }
    case Shape::cone:
      return of_cone(p, 1);
  }
  out.point = p - out.distance * out.normal;
  return out;
}

// The distance from a convex body is a convex function along a segment.
Obstacle::Surface Obstacle::local(const Vector3d& p, const Vector3d& q, double within) const noexcept {
  const Vector3d d = q - p;
  double s = 0;
  switch (shape_) {
    case Shape::plane:
      s = normal_.dot(d) < 0 ? 1 : 0;
      break;
    case Shape::sphere:
      s = std::clamp(d.dot(a_ - p) / std::max(d.squaredNorm(), 1e-300), 0.0, 1.0);
      break;
    case Shape::capsule: {
      // [Ericson 2005] section 5.1.9; of a segment along the axis the middle of what lies beside it.
      const Vector3d r = p - a_, across = d - axis_.dot(d) * axis_;
      const double dd = std::max(d.squaredNorm(), 1e-300), ad = axis_.dot(d), ar = axis_.dot(r);
      const double det = across.squaredNorm();
      if (det > 1e-12 * dd) {
        s = std::clamp((ad * ar - d.dot(r)) / det, 0.0, 1.0);
      } else {
        const double s0 = -ar / ad, s1 = (length_ - ar) / ad;
        s = 0.5 * (std::clamp(std::min(s0, s1), 0.0, 1.0) + std::clamp(std::max(s0, s1), 0.0, 1.0));
      }
      const double t = ar + s * ad;
      if (t < 0 || t > length_) s = std::clamp((std::clamp(t, 0.0, length_) * ad - d.dot(r)) / dd, 0.0, 1.0);
      break;
    }
    case Shape::cylinder: {
      const auto slope = [&](double at) { return local(p + at * d, within).normal.dot(d); };
      double low = 0, high = 1;
      if (slope(0) >= 0) {
        high = 0;
      } else if (slope(1) <= 0) {
        low = 1;
      }
      for (int k = 0; k < kMostBisections && low < high; ++k) {
        const double middle = 0.5 * (low + high);
        (slope(middle) < 0 ? low : high) = middle;
      }
      s = 0.5 * (low + high);
      break;
    }
    case Shape::mesh: {
      const TriangleMesh::Nearest near = mesh_->nearest(p, q, within);
      if (!near.found) return {within, p, Vector3d(0, 0, 1), 0, 0};
      return {near.distance, near.point, near.normal, near.s, near.triangle};
    }
    case Shape::cone:
      return of_cone(p, q, 1);
  }
  Surface out = local(p + s * d, within);
  out.s = s;
  return out;
}

Obstacle::Surface Obstacle::nearest(const Vector3d& p, double within, double at) const noexcept {
  const bool turns = shape_ == Shape::cone;
  const Vector3d there = turns ? shift_ : shift(at);
  Surface out = turns ? of_cone(p - there, at) : local(p - there, within);
  out.point += there;
  return out;
}

Obstacle::Surface Obstacle::nearest(const Vector3d& p, const Vector3d& q, double within, double at) const noexcept {
  const bool turns = shape_ == Shape::cone;
  const Vector3d there = turns ? shift_ : shift(at);
  Surface out = turns ? of_cone(p - there, q - there, at) : local(p - there, q - there, within);
  out.point += there;
  return out;
}

double Obstacle::box_distance(const Vector3d& low, const Vector3d& high) const noexcept {
  if (!there_) return 1e9;
  if (shape_ == Shape::cone) {
    const Vector3d next = shift_ + giving_;
    return (low - high_ - shift_.cwiseMax(next)).cwiseMax(low_ + shift_.cwiseMin(next) - high).cwiseMax(0.0).norm();
  }
  const Vector3d start = shift_ - moved_;
  if (shape_ == Shape::plane) {
    const double lowest = normal_.cwiseMax(0.0).dot(low) + normal_.cwiseMin(0.0).dot(high);
    return lowest - offset_ - std::max(normal_.dot(start), normal_.dot(shift_));
  }
  const Vector3d own_low = (mesh_ ? mesh_->low() : low_) + start.cwiseMin(shift_);
  const Vector3d own_high = (mesh_ ? mesh_->high() : high_) + start.cwiseMax(shift_);
  return (low - own_high).cwiseMax(own_low - high).cwiseMax(0.0).norm();
}

void Obstacle::add_to(StateHash& hash) const noexcept {
  if (shape_ == Shape::plane) return hash.add(offset());
  for (const double v : {shift_.x(), shift_.y(), shift_.z()}) hash.add(v);
}

}  // namespace ligature::contact
