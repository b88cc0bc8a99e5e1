#include "sim/contact/rings.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "sim/contact/smooth_curve.hpp"
#include "sim/contact/soft_body.hpp"

namespace ligature::contact {
namespace {

constexpr int kMostSteps = 30;        // of Newton's method for the place in a ring
constexpr double kMostStride = 1;     // of one of them [edges]
constexpr double kSamePlace = 1e-12;  // [edges]
constexpr double kAbout = 4;          // of the width of a hole: so far a strand may lie obliquely in its rim
// Of a strand's length in a wall its ends there are apart at least. Ours to choose: the rest is for bends at the rims;
// a turn of a knot of 10-0 is 0.08 mm and more, a fifth of what lies in a wall of 0.1 mm some 0.03.
constexpr double kStretched = 0.8;
constexpr double kLeastClearance = 0.2;  // of the strand's radius, however tight the hole

StrandContact untouched(const Ring& r) {
  StrandContact c;
  c.pair = {r.strand, 0, kNoStrand, r.body};
  c.kind = StrandContact::Kind::beside;
  c.normal.setZero();
  c.on = r.on;
  return c;
}

StrandContact idle_strut(std::uint32_t strand) {
  StrandContact c;
  c.pair = {strand, 0, strand, 0};
  c.gap = 1e9;
  return c;
}

Vector3d centre_of(const Ring& r, const Bodies& bodies) {
  const SoftBody& body = *bodies.soft_of(r.body);
  Vector3d centre = Vector3d::Zero();
  for (std::size_t k = 0; k < 3; ++k)
    centre += r.on.weight[static_cast<Eigen::Index>(k)] * body.x()[body.surface().triangle(r.on.triangle)[k]];
  return centre;
}

// The place nearest to p, from u on.
double nearest_from(const Strand& s, double u, const Vector3d& p) {
  const double last = static_cast<double>(s.edges());
  for (int k = 0; k < kMostSteps; ++k) {
    const CurvePoint c = curve_at(s, u);
    const double slope = c.d1.dot(c.p - p), bend = c.d1.squaredNorm() + c.d2.dot(c.p - p);
    const double step = bend > 0.1 * c.d1.squaredNorm() ? -slope / bend : -slope / c.d1.squaredNorm();
    const double before = u;
    u += std::clamp(step, -kMostStride, kMostStride);
    if (!s.closed) u = std::clamp(u, 0.0, last);
    if (!(std::abs(u - before) > kSamePlace)) break;
  }
  if (s.closed) u -= last * std::floor(u / last);
  return u;
}

}  // namespace

Rings::Rings(std::size_t most) {
  list_.reserve(most);
  contacts_.reserve(most);
  struts_.reserve(most);
  passages_.reserve(2 * most);  // of a closed strand one may run over its first vertex
}

void Rings::renew() noexcept {
  contacts_.clear();
  struts_.clear();
  for (const Ring& r : list_) contacts_.push_back(untouched(r)), struts_.push_back(idle_strut(r.strand));
  order();
}

bool Rings::add(const Ring& ring) noexcept {
  if (list_.size() == list_.capacity()) return false;
  std::size_t at = list_.size();
  for (std::size_t i = 0; i < list_.size(); ++i)
    if (list_[i].channel == ring.channel) at = i + 1;
  list_.insert(list_.begin() + static_cast<std::ptrdiff_t>(at), ring);
  contacts_.insert(contacts_.begin() + static_cast<std::ptrdiff_t>(at), untouched(ring));
  struts_.insert(struts_.begin() + static_cast<std::ptrdiff_t>(at), idle_strut(ring.strand));
  if (at > 0 && paired(at - 1)) order_pair(at - 1);
  return true;
}

bool Rings::paired(std::size_t ring) const noexcept {
  return ring + 1 < list_.size() && list_[ring + 1].channel == list_[ring].channel;
}

void Rings::order_pair(std::size_t first) noexcept {
  list_[first].ahead = list_[first].u <= list_[first + 1].u;
  list_[first + 1].ahead = !list_[first].ahead;
}

void Rings::order() noexcept {
  for (std::size_t i = 0; i < list_.size(); ++i)
    if (paired(i)) order_pair(i);
}

void Rings::clear_left() noexcept {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < list_.size(); ++i) {
    bool all = true;
    for (const Ring& other : list_) all = all && (other.channel != list_[i].channel || other.left);
    if (all) continue;
    list_[kept] = list_[i];
    struts_[kept] = struts_[i];
    contacts_[kept++] = contacts_[i];
  }
  list_.resize(kept);
  contacts_.resize(kept);
  struts_.resize(kept);
}

bool Rings::on(std::uint32_t strand) const noexcept {
  return std::any_of(list_.begin(), list_.end(), [&](const Ring& r) { return r.strand == strand && !r.left; });
}

bool Rings::other_open(std::size_t ring) const noexcept {
  for (const std::size_t o : {ring - 1, ring + 1})
    if (o < list_.size() && list_[o].channel == list_[ring].channel && !list_[o].left) return true;
  return false;
}

// Of a closed strand, from the ring that is ahead to the other, over its first vertex or not.
template <class Beside>
void Rings::add_round(const Ring& one, const Ring& other, double edges, const Beside& beside, double wide,
                      double about) noexcept {
  const Ring &ahead = one.ahead ? one : other, &behind = one.ahead ? other : one;
  const double from = beside(ahead.u, -wide), to = beside(behind.u, wide) + (ahead.u > behind.u ? edges : 0.0);
  const auto add = [&](double first, double last) { passages_.push_back({one.strand, one.body, first, last, about}); };
  if (from < 0)
    add(from + edges, edges + 1), add(-1, to);
  else if (to > edges)
    add(from, edges + 1), add(-1, to - edges);
  else
    add(from, to);
}

void Rings::follow(const Strand* strands, const Bodies& bodies) noexcept {
  for (Ring& r : list_) r.u = nearest_from(strands[r.strand], r.u, centre_of(r, bodies));
  // Nothing of a strand turns round within a wall.
  for (std::size_t i = 0; i < list_.size(); ++i) {
    if (!paired(i) || strands[list_[i].strand].closed) continue;
    Ring &a = list_[i], &b = list_[i + 1];
    if (a.ahead ? a.u > b.u : b.u > a.u) a.u = b.u = 0.5 * (a.u + b.u);
  }
  for (std::size_t i = 0; i < list_.size(); ++i) {
    Ring& r = list_[i];
    StrandContact& c = contacts_[i];
    const Strand& s = strands[r.strand];
    const SoftBody& body = *bodies.soft_of(r.body);
    const Vector3d centre = centre_of(r, bodies);
    const CurvePoint at = curve_at(s, r.u);
    const Vector3d along = at.d1.normalized();
    const Vector3d off = at.p - centre, across = off - along.dot(off) * along;
    const double edge = std::min(std::floor(r.u), static_cast<double>(s.edges() - 1));
    const double thick = s.radius_at(static_cast<std::size_t>(edge), r.u - edge);
    r.clearance = std::max(r.radius - thick, kLeastClearance * thick);
    r.aside = across.norm();
    const double last = static_cast<double>(s.edges());
    const bool had_left = r.left;
    const bool beyond =
        !s.closed && ((r.u == 0 && along.dot(off) > r.radius) || (r.u == last && along.dot(off) < -r.radius));
    // Of the last hole of a channel an end that went by its side, into the wall, would be there without one.
    r.left = beyond && (had_left || other_open(i) || !body.surface().inside(at.p));
    c.on = r.on;
    c.pair.edge_a = static_cast<std::uint32_t>(edge);
    c.sa = r.u - edge;
    if (r.left) {
      c.force.setZero();
      c.gap = r.clearance;
      continue;
    }
    c.gap = r.clearance - r.aside;
    if (r.aside > 1e-3 * r.clearance)
      c.normal = -across / r.aside;
    else if (c.normal.isZero(0))
      c.normal = along.unitOrthogonal();
  }
  for (std::size_t i = 0; i < list_.size(); ++i) follow_strut(i, strands);
  passages_.clear();
  for (std::size_t i = 0; i < list_.size(); ++i) {
    Ring& r = list_[i];
    // The end that has left the other ring of the channel is now inside the wall. It may be in this one, too, already.
    for (const std::size_t o : {i - 1, i + 1})
      if (o < list_.size() && list_[o].channel == r.channel && list_[o].left)
        r.to_last = list_[o].u > 0.5 * static_cast<double>(strands[r.strand].edges());
    if (r.left) continue;
    const Strand& s = strands[r.strand];
    const double thick = s.radius_at(contacts_[i].pair.edge_a, contacts_[i].sa);
    // By length: where edges of two lengths meet a passage must not change as a vertex runs through the ring.
    const double wide = r.radius + thick;
    const auto beside = [&s](double u, double mm) { return s.place_at(s.arc_at(u) + mm); };
    const double about = 1 + std::max(beside(r.u, kAbout * wide) - r.u, r.u - beside(r.u, -kAbout * wide));
    if (paired(i) && !list_[i + 1].left) {
      if (!s.closed) {
        const auto [near, far] = std::minmax(r.u, list_[i + 1].u);
        passages_.push_back({r.strand, r.body, beside(near, -wide), beside(far, wide), about});
      } else {
        add_round(r, list_[i + 1], static_cast<double>(s.edges()), beside, wide, about);
      }
      ++i;
    } else if (r.to_last) {
      passages_.push_back({r.strand, r.body, beside(r.u, -wide), static_cast<double>(s.edges()) + 1, about});
    } else {
      passages_.push_back({r.strand, r.body, -1, beside(r.u, wide), about});
    }
  }
}

void Rings::follow_strut(std::size_t first, const Strand* strands) noexcept {
  Ring& r = list_[first];
  StrandContact& c = struts_[first];
  const Strand& s = strands[r.strand];
  const bool is_one = paired(first) && !r.left && !list_[first + 1].left && list_[first + 1].strand == r.strand;
  if (is_one && !s.closed) {
    const double near = std::min(r.u, list_[first + 1].u), far = std::max(r.u, list_[first + 1].u);
    const Vector3d apart = curve_at(s, far).p - curve_at(s, near).p;
    const double length = s.arc_at(far) - s.arc_at(near), straight = apart.norm();
    if (length > 2 * s.radius && straight > 1e-3 * length) {
      const auto last = static_cast<double>(s.edges() - 1);
      const double edge_a = std::min(std::floor(far), last), edge_b = std::min(std::floor(near), last);
      c.pair = {r.strand, static_cast<std::uint32_t>(edge_a), r.strand, static_cast<std::uint32_t>(edge_b)};
      c.sa = far - edge_a, c.sb = near - edge_b;
      c.normal = apart / straight;
      if (r.straight == 0) r.straight = std::min(1.0, straight / length);
      c.gap = straight - kStretched * r.straight * length;
      c.force = std::max(0.0, c.normal.dot(c.force)) * c.normal;
      return;
    }
  }
  c = idle_strut(r.strand);
}

Rings::Stiffness Rings::stiffness(std::size_t ring, const Strand* strands) const noexcept {
  const Ring& r = list_[ring];
  const StrandContact& c = contacts_[ring];
  const double pressed = c.normal.dot(c.force);
  if (!(pressed > 0)) return {};
  const CurvePoint at = curve_at(strands[r.strand], r.u);
  const double apart = std::max(r.aside, 0.5 * r.clearance), speed2 = at.d1.squaredNorm();
  const double bend = -c.normal.dot(at.d2), both = std::max(speed2 + apart * bend, 0.5 * speed2);
  return {pressed / apart, pressed * bend / both, -pressed * std::sqrt(speed2) / both, -pressed * apart / both};
}

Eigen::Matrix3d Rings::axes(std::size_t ring, const Strand* strands) const noexcept {
  const Vector3d& n = contacts_[ring].normal;
  const Vector3d along = curve_at(strands[list_[ring].strand], list_[ring].u).d1;
  Eigen::Matrix3d axes;
  axes.col(0) = n;
  axes.col(1) = along.cross(n).normalized();
  axes.col(2) = n.cross(axes.col(1));
  return axes;
}

void Rings::regrade(std::uint32_t strand, std::span<const EdgeMove> moves) noexcept {
  const auto move = [&](double& u) {
    const auto edge = std::min(static_cast<std::size_t>(std::max(u, 0.0)), moves.size() - 1);
    const EdgeMove& m = moves[edge];
    u = m.edge + m.offset + m.scale * (u - static_cast<double>(edge));
  };
  for (std::size_t i = 0; i < list_.size(); ++i) {
    Ring& r = list_[i];
    if (r.strand != strand) continue;
    move(r.u);
    contacts_[i].pair.edge_a = static_cast<std::uint32_t>(std::max(r.u, 0.0));
    contacts_[i].sa = r.u - contacts_[i].pair.edge_a;
  }
}

void Rings::add_to(StateHash& hash) const noexcept {
  for (std::size_t i = 0; i < list_.size(); ++i) {
    hash.add(list_[i].u);
    for (const double f : contacts_[i].force) hash.add(f);
    for (const double f : struts_[i].force) hash.add(f);
  }
}

}  // namespace ligature::contact
