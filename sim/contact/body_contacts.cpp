#include "sim/contact/body_contacts.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/contact/rings.hpp"
#include "sim/contact/smooth_curve.hpp"
#include "sim/contact/tolerances.hpp"
#include "sim/contact/zero_of.hpp"

namespace ligature::contact {
namespace {

constexpr int kMostLooks = 16;       // for the nearest place of a piece
constexpr double kSamePlace = 1e-9;  // [edges]
constexpr double kAside = 0.02;      // from there the bend is measured [edges]
constexpr double kOnPlane = 1.5;     // times the radius: a centreline so near to a plane lies on it
constexpr double kTurned = 0.9;      // cosine between the normal that a contact had and that of its polyline
constexpr double kSteep = 0.3;       // sine of the angle to a plane's normal below which a tool comes from above

// A body at one moment of the step.
struct Moment {
  const Obstacle& body;
  double at = 0;

  Obstacle::Surface nearest(const Vector3d& p, double within) const { return body.nearest(p, within, at); }
};

// Where the piece round vertex i is nearest, from -1/2 to 1/2, and the bend there.
struct Place {
  double d = 0, bend = 0;
};
Place nearest_place(const Strand& strand, std::size_t i, const Moment& moment, double within, double most_cut,
                    double hold) {
  const auto rises = [&](double d) {
    const CurvePoint c = curve_at(strand, static_cast<double>(i) + d, most_cut);
    return moment.nearest(c.p, within).normal.dot(c.d1) + hold * d;
  };
  const auto at = [&](double d) -> Place {
    return {d, std::max(0.0, (rises(d + kAside) - rises(d - kAside)) / (2 * kAside))};
  };
  const double here = rises(0);
  if (here == 0) return at(0);
  const double end = here > 0 ? -0.5 : 0.5;
  if (!strand.closed && (here > 0 ? i == 0 : i + 1 == strand.vertices)) return {};
  const double there = rises(end);
  if (here > 0 ? there >= 0 : there <= 0) return {end, 0};
  return at(here > 0 ? zero_of(end, there, 0.0, here, kSamePlace, kMostLooks, rises)
                     : zero_of(0.0, here, end, there, kSamePlace, kMostLooks, rises));
}

// The curve may have come inside where the polyline, which the guard keeps outside, has not: where the polyline of the
// piece round vertex i comes nearest, if that is nearer than `within`.
struct OnPolyline {
  double d = 0;
  Obstacle::Surface surface;
};
std::optional<OnPolyline> nearest_of_polyline(const Strand& s, std::uint32_t i, const Vector3d& from,
                                              const Vector3d& to, const Moment& moment, double within) {
  std::optional<OnPolyline> out;
  const auto look = [&](const Vector3d& p, const Vector3d& q, double at) {
    if (p == q) return;
    const Obstacle::Surface nearest = moment.body.nearest(p, q, within, moment.at);
    if (nearest.distance < within) within = nearest.distance, out = {at + 0.5 * nearest.s, nearest};
  };
  look(from, s.x[i], -0.5);
  look(s.x[i], to, 0);
  return out;
}

bool same(const BodyContact& a, const StrandContact& at, std::uint32_t vertex) {
  return a.vertex == vertex && a.contact.pair.strand_a == at.pair.strand_a && a.contact.pair.edge_b == at.pair.edge_b;
}

bool before(const BodyContact& a, const StrandContact& at, std::uint32_t vertex) {
  const EdgePair& p = a.contact.pair;
  if (p.strand_a != at.pair.strand_a) return p.strand_a < at.pair.strand_a;
  if (p.edge_b != at.pair.edge_b) return p.edge_b < at.pair.edge_b;
  return a.vertex < vertex;
}

// A tool that comes down beside a thread on the bench would wedge it: with both frictions such a wedge locks, while the
// real thread rolls away. Where the thread lies on a plane the two gaps together leave it a distance along the plane,
//
//      tool's axis o                     h^2 = (radius of both)^2 - height^2
//        height |  \ radius of both
//      ---------+---o thread's axis      so that is what the contact asks for, pushing along the plane.
//               | h |
//
// A tool from straight above keeps its normal.
void push_along_plane(const Bodies& bodies, const Obstacle& tool, const Vector3d& place, double radius,
                      StrandContact& c) {
  for (std::size_t b = 0; b < bodies.tools; ++b) {
    const Obstacle& plane = *bodies.body[b];
    if (plane.shape() != Obstacle::Shape::plane) continue;
    const Vector3d& up = plane.normal();
    const double offset = plane.offset() - (1 - bodies.at) * up.dot(plane.moved());
    if (up.dot(place) - offset > kOnPlane * radius || up.dot(c.normal) >= 0) continue;
    const Vector3d along = c.normal - up.dot(c.normal) * up;
    if (along.norm() < kSteep) continue;
    const Obstacle::Sphere sphere = tool.nearest_sphere(place, bodies.at);
    const double height = up.dot(sphere.centre - place), both = sphere.radius + radius;
    c.normal = along.normalized();
    c.gap = c.normal.dot(place - sphere.centre) - std::sqrt(std::max(0.0, both * both - height * height));
    return;
  }
}

double half_thickness(const Obstacle& body, const Vector3d& place, double at) {
  return body.shape() == Obstacle::Shape::cone ? body.nearest_sphere(place, at).radius : body.half_thickness();
}

}  // namespace

BodyContacts::BodyContacts(std::size_t most_contacts) : most_(most_contacts) {
  for (std::vector<BodyContact>* v : {&known_, &contacts_, &before_}) v->reserve(most_contacts);
}

std::size_t BodyContacts::find(const Strand* strands, std::size_t count, const Bodies& bodies, double reach) noexcept {
  before_.swap(contacts_);
  contacts_.clear();
  std::size_t next = 0, lost = 0;  // in before_
  for (std::uint32_t k = 0; k < count; ++k) {
    const Strand& s = strands[k];
    const auto n = static_cast<std::uint32_t>(s.vertices);
    for (std::uint32_t b = 0; b < bodies.count; ++b) {
      const Obstacle& body = *bodies.body[b];
      if (body.shape() == Obstacle::Shape::plane || body.surface()) continue;
      const Moment moment{body, bodies.at};
      for (std::uint32_t i = 0; i < n; ++i) {
        const Vector3d& x = s.x[i];
        const Vector3d& previous = i > 0 ? s.x[i - 1] : s.closed ? s.x[n - 1] : x;
        const Vector3d& following = i + 1 < n ? s.x[i + 1] : s.closed ? s.x[0] : x;
        const Vector3d from = 0.5 * (previous + x), to = 0.5 * (x + following);
        const Vector3d low = from.cwiseMin(to).cwiseMin(x), high = from.cwiseMax(to).cwiseMax(x);
        const double near =
            std::max(i > 0 || s.closed ? s.thickest(i > 0 ? i - 1 : n - 1) : 0.0, i < s.edges() ? s.thickest(i) : 0.0) +
            reach;
        if (body.box_distance(low, high) > near) continue;
        if (bodies.spared && passes(*bodies.spared, k, b, i - 0.5, i + 0.5)) continue;
        const double within = near + (high - low).norm();
        Obstacle::Surface first = moment.nearest(curve_at(s, i).p, within);
        if (first.distance >= within) continue;

        StrandContact at;
        at.pair = {k, 0, kNoStrand, b};
        at.kind = StrandContact::Kind::beside;
        while (next < before_.size() && contact::before(before_[next], at, i)) ++next;
        const StrandContact* const was =
            next < before_.size() && same(before_[next], at, i) ? &before_[next].contact : nullptr;
        const Vector3d& side = was && first.distance <= 0 ? was->normal : first.normal;
        const bool bends = s.closed || (i > 0 && i + 1 < n);
        const Vector3d bend = previous - 2 * x + following;
        const double inwards = bends ? -side.dot(bend) : 0.0, radius = s.radius_of(i);
        double hold = kPlaceHold * radius;
        if (inwards > 0) {
          const double apart = half_thickness(body, x, bodies.at) + radius;
          at.most_cut = kMostCut * (radius + (apart - radius) * inwards / bend.norm());
          hold = std::min(hold + kBumpHold * inwards * inwards / apart, kMostHold * radius);
          first = moment.nearest(curve_at(s, i, at.most_cut).p, within);
        }
        const auto curve = [&](double d) { return curve_at(s, i + d, at.most_cut).p; };
        const Place place = first.distance > 0 ? nearest_place(s, i, moment, within, at.most_cut, hold) : Place{};
        double d = place.d;
        Obstacle::Surface surface = d != 0 ? moment.nearest(curve(d), within) : first;
        const bool is_inside = surface.distance <= 0;
        bool is_out_again = false;
        // Round the tip of a tool only where what it was would push it elsewhere.
        if (is_inside && body.shape() == Obstacle::Shape::cone && was && moment.nearest(x, within).distance > 0) {
          const std::optional<OnPolyline> nearest = nearest_of_polyline(s, i, from, to, moment, s.radius_of(i));
          is_out_again = nearest && nearest->surface.distance > 0 && was->normal.dot(nearest->surface.normal) < kTurned;
          if (is_out_again) {
            d = nearest->d;
            surface = nearest->surface;
            surface.distance = surface.normal.dot(curve(d) - surface.point);
          }
        }
        at.normal = was && is_inside && !is_out_again ? was->normal : surface.normal;
        if (was) {
          at.force = turned(was->force, was->normal, at.normal);
          at.sliding = was->sliding;
        }
        double u = i + d;
        if (u < 0) u += n;  // of a ring
        const double last = static_cast<double>(s.edges() - 1), edge = std::min(std::floor(u), last);
        at.gap = surface.distance - s.radius_at(static_cast<std::size_t>(edge), u - edge);
        if (b >= bodies.tools)
          push_along_plane(bodies, body, curve(d), s.radius_at(static_cast<std::size_t>(edge), u - edge), at);
        if (at.gap > reach) continue;
        if (contacts_.size() == most_) {
          ++lost;
          continue;
        }
        at.pair.edge_a = static_cast<std::uint32_t>(edge);
        at.sa = u - edge;
        contacts_.push_back({at, i, 0, 0, place.bend, hold});
      }
    }
  }
  return lost;
}

}  // namespace ligature::contact
