#include "sim/contact/obstacle.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "sim/contact/tolerances.hpp"

namespace ligature::contact {
namespace {

constexpr int kMostAdvances = 24;       // of the time towards a first touch
constexpr int kMostBisections = 40;     // of an edge against a cylinder
constexpr double kTouchBand = 1e-3;     // of the radius: so near is a touch
constexpr double kNever = 2;            // no touch within the step
constexpr int kMostTimeHalvings = 20;   // of the step towards the closest approach
constexpr double kLeastSagitta = 1e-4;  // of the radius: what is nearer by less is no nearer
constexpr double kFlat = 0.99;          // cosine of the turn of a normal along half an edge
constexpr double kSlidesOn = 0.95;      // cosine of the turn of a normal within a step up to which it is foreseen
constexpr double kSlides = 0.9;         // of the radius: what is foreseen to be nearer is no sliding along

// The direction of least length that is at right angles to an axis; any will do.
Vector3d any_normal(const Vector3d& axis) {
  Eigen::Index least = 0;
  axis.cwiseAbs().minCoeff(&least);
  return axis.cross(Vector3d::Unit(least)).normalized();
}

Vector3d mix(const Vector3d& p, const Vector3d& q, double s) {
  return (1 - s) * p + s * q;
}

// Whether an edge leaves touching to its ends: where it comes nearer by little and the surface hardly turns along it.
bool touches_by_ends(const Obstacle::Surface& p, const Obstacle::Surface& q, const Obstacle::Surface& at,
                     double touching) {
  const double nearer = std::min(p.distance, q.distance) - at.distance;
  if (nearer <= kLeastSagitta * touching) return true;
  return nearer <= kMostSagitta * touching && std::min(p.normal.dot(at.normal), q.normal.dot(at.normal)) > kFlat;
}

// Of what touches already the place where it will have slid to by the end of the step. The normal of the start would
// lag by the motion over the radius of curvature, and its force with it: as if friction were larger by as much.
const Obstacle::Surface& ahead(const Obstacle::Surface& start, const Obstacle::Surface& end) {
  return end.distance > 0 && end.normal.dot(start.normal) > kSlidesOn ? end : start;
}

// The part of the step after which a distance is least: `approach(t)` is negative while it falls.
template <class Approach>
double closest_approach(const Approach& approach) {
  if (approach(1.0) <= 0) return 1;
  double low = 0, high = 1;
  for (int k = 0; k < kMostTimeHalvings; ++k) {
    const double middle = 0.5 * (low + high);
    (approach(middle) < 0 ? low : high) = middle;
  }
  return low;
}

// The part of the step after which `distance(t)`, which falls no faster than `speed`, first comes down to `touching`.
// What touches already and goes on to slide is looked at where it will be: the normal at the end of the step is the one
// along which an implicit step pushes. (That at its start leans against the motion, by the angle u/R of the slip u on a
// radius R, and acts like as much more friction.)
template <class Distance>
double first_touch(double touching, double speed, const Distance& distance) {
  double t = 0;
  if (distance(0) <= (1 + kTouchBand) * touching && distance(1) >= kSlides * touching) return 1;
  for (int k = 0; k < kMostAdvances; ++k) {
    const double left = distance(t) - touching;
    if (left <= kTouchBand * touching) return t;
    if (left >= (1 - t) * speed) return kNever;
    t += left / speed;
  }
  return t;
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
  Obstacle o;
  o.shape_ = Shape::mesh;
  o.low_ = mesh.low();
  o.high_ = mesh.high();
  o.mesh_ = std::make_shared<const TriangleMesh>(std::move(mesh));
  return o;
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
      if (!near.found) return {within, p, Vector3d(0, 0, 1), 0};
      return {near.distance, near.point, near.normal, 0};
    }
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
      if (!near.found) return {within, p, Vector3d(0, 0, 1), 0};
      return {near.distance, near.point, near.normal, near.s};
    }
  }
  Surface out = local(p + s * d, within);
  out.s = s;
  return out;
}

Obstacle::Surface Obstacle::nearest(const Vector3d& p, double within) const noexcept {
  Surface out = local(p - shift_, within);
  out.point += shift_;
  return out;
}

Obstacle::Surface Obstacle::nearest(const Vector3d& p, const Vector3d& q, double within) const noexcept {
  Surface out = local(p - shift_, q - shift_, within);
  out.point += shift_;
  return out;
}

double Obstacle::box_distance(const Vector3d& low, const Vector3d& high) const noexcept {
  const Vector3d start = shift_ - moved_;
  if (shape_ == Shape::plane) {
    const double lowest = normal_.cwiseMax(0.0).dot(low) + normal_.cwiseMin(0.0).dot(high);
    return lowest - offset_ - std::max(normal_.dot(start), normal_.dot(shift_));
  }
  const Vector3d own_low = low_ + start.cwiseMin(shift_), own_high = high_ + start.cwiseMax(shift_);
  return (low - own_high).cwiseMax(own_low - high).cwiseMax(0.0).norm();
}

void Obstacle::touch(const Vector3d& p, const Vector3d& dp, double touching, double near, Touches& out) const noexcept {
  out.clear();
  const Vector3d p0 = p - (shift_ - moved_), d = dp - moved_;
  const double speed = d.norm(), within = near + 2 * speed;
  const Surface start = local(p0, within);
  if (start.distance >= near + speed) return;
  Vector3d motion = d;
  const auto when = [&] {
    return first_touch(touching, motion.norm(), [&](double at) { return local(p0 + at * motion, within).distance; });
  };
  double t = shape_ == Shape::plane ? 0.0 : when();
  if (t >= 1 && moved_ != Vector3d::Zero()) {  // unless it does not go on as foreseen
    motion = -moved_;
    if (const double still = when(); still < 1 || t == kNever) t = still;
    if (t >= 1) motion = d;
  }
  const bool hits = t > 0 && t < 1;
  if (t == kNever) {
    if (moved_ != Vector3d::Zero()) motion = -moved_;
    t = closest_approach([&](double at) { return local(p0 + at * motion, within).normal.dot(motion); });
  }
  const Vector3d there = p0 + t * motion;
  const auto add = [&](const Vector3d& normal, const Vector3d& point) {
    out.push_back({0, normal, normal.dot(point) + normal.dot(shift_), start.distance});
  };
  if (shape_ == Shape::mesh && start.distance > 0) {
    TriangleMesh::Minima minima;
    mesh_->minima(there, near + speed, minima);
    for (const auto& m : minima)
      if (!out.full()) add(m.normal, m.point);
    if (!out.empty()) return;
  }
  const Surface at = t > 0 ? local(there, within) : ahead(start, local(p0 + d, within));
  if (!(at.distance < near + speed)) return;
  add(at.normal, at.point);
  if (hits) push_along(motion, touching, out.back());
}

// What a body runs into within a step, further than a radius, it pushes before it: all places in its way in the same
// direction, that of the motion. The normals at which it would graze each of them spread the thread apart.
void Obstacle::push_along(const Vector3d& motion, double touching, Touch& touch) const noexcept {
  const double speed = motion.norm();
  if (shape_ == Shape::mesh || !(speed > touching)) return;
  touch.normal = -motion / speed;
  const double along = touch.normal.dot(axis_);
  const double reach = shape_ == Shape::cylinder ? radius_ * std::sqrt(std::max(0.0, 1 - along * along)) : radius_;
  touch.offset = std::max(touch.normal.dot(a_), touch.normal.dot(b_)) + reach + touch.normal.dot(shift_);
}

void Obstacle::touch(const Vector3d& p, const Vector3d& q, const Vector3d& dp, const Vector3d& dq, double touching,
                     double near, Touches& out) const noexcept {
  out.clear();
  if (shape_ == Shape::plane) return;
  const Vector3d start = shift_ - moved_, p0 = p - start, q0 = q - start, d = dp - moved_, e = dq - moved_;
  const double speed = std::sqrt(std::max(d.squaredNorm(), e.squaredNorm())), within = near + 2 * speed;
  const Surface first = local(p0, q0, within);
  if (first.distance >= near + speed) return;
  Vector3d motion_p = d, motion_q = e;
  const auto when = [&] {
    return first_touch(touching, std::max(motion_p.norm(), motion_q.norm()), [&](double at) {
      return at == 0 ? first.distance : local(p0 + at * motion_p, q0 + at * motion_q, within).distance;
    });
  };
  double t = when();
  if (t >= 1 && moved_ != Vector3d::Zero()) {  // unless it does not go on as foreseen
    motion_p = motion_q = -moved_;
    if (const double still = when(); still < 1 || t == kNever) t = still;
    if (t >= 1) motion_p = d, motion_q = e;
  }
  const bool hits = t > 0 && t < 1;
  if (t == kNever) {
    if (moved_ != Vector3d::Zero()) motion_p = motion_q = -moved_;
    t = closest_approach([&](double at) {
      const Surface here = local(p0 + at * motion_p, q0 + at * motion_q, within);
      return here.normal.dot(mix(motion_p, motion_q, here.s));
    });
  }
  const Vector3d pt = p0 + t * motion_p, qt = q0 + t * motion_q;
  const auto add = [&](double s, const Vector3d& normal, const Vector3d& point) {
    const double distance = local(mix(p0, q0, s), within).distance;
    out.push_back({s, normal, normal.dot(point) + normal.dot(shift_), distance});
  };
  if (shape_ == Shape::mesh) {
    TriangleMesh::Minima minima;
    mesh_->minima(pt, qt, near + speed, minima);
    for (const auto& m : minima)
      if (!out.full()) add(m.s, m.normal, m.point);
    return;
  }
  const Surface at = t > 0 ? local(pt, qt, within) : ahead(first, local(p0 + d, q0 + e, within));
  if (at.distance >= near + speed) return;
  if (touches_by_ends(local(pt, within), local(qt, within), at, touching)) return;
  add(at.s, at.normal, at.point);
  if (hits) push_along(mix(motion_p, motion_q, at.s), touching, out.back());
}

double Obstacle::lift(const Vector3d& p, const Vector3d& q, double distance, double touching) const noexcept {
  if (shape_ == Shape::plane || shape_ == Shape::mesh) return 0;
  const Vector3d start = shift_ - moved_;
  const double within = distance + touching;
  const Surface at_p = local(p - start, within), at_q = local(q - start, within);
  const Surface at = local(p - start, q - start, within);
  return touches_by_ends(at_p, at_q, at, touching) ? std::max(0.0, std::min(at_p.distance, at_q.distance) - at.distance)
                                                   : 0.0;
}

void Obstacle::add_to(StateHash& hash) const noexcept {
  if (shape_ == Shape::plane) return hash.add(offset());
  for (const double v : {shift_.x(), shift_.y(), shift_.z()}) hash.add(v);
}

void renew(const Obstacle& obstacle, double thread_radius, const std::vector<Vector3d>& x0,
           const std::vector<Vector3d>& x, Constraint& c) noexcept {
  if (obstacle.shape() == Obstacle::Shape::plane) return;
  const std::size_t next = behind(x, c);
  const bool of_edge = c.of_edge;
  const double within = std::abs(gap(c, place(x, c))) + 4 * thread_radius;
  const Obstacle::Surface at =
      of_edge ? obstacle.nearest(x[c.vertex], x[next], within) : obstacle.nearest(x[c.vertex], within);
  // What lies inside the solid, or far off, keeps the side that it had.
  if (!(at.distance > 0) || at.distance >= within) return;
  if (obstacle.shape() == Obstacle::Shape::mesh && at.normal.dot(c.normal) < kSameSide) return;
  if (of_edge) {
    c.w0 = 1 - at.s;
    c.w1 = at.s;
    c.anchor = mix(x0[c.vertex], x0[next], at.s) + obstacle.moved();
  }
  const double along = c.normal.dot(c.force);
  const Vector3d across = c.force - along * c.normal;
  c.normal = at.normal;
  c.offset = at.normal.dot(at.point) + thread_radius;
  // The force turns with the normal.
  c.force = along * c.normal + (across - c.normal.dot(across) * c.normal);
}

}  // namespace ligature::contact
