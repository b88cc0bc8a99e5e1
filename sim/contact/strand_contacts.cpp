#include "sim/contact/strand_contacts.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

#include "sim/contact/edge_places.hpp"

namespace ligature::contact {
namespace {

// Sharpness at which contacts of a kind begin and end, of edges no longer than the strands are wide.
constexpr double kCrossingFrom = 0.9, kCrossingTo = 0.75, kPressedTo = 0.4;
constexpr double kBesideFrom = 0.95, kBesideTo = 1.1;
// Of a vertex of the first of two strands, how fast the distance grows along the other, where that is less than along
// the first: below its contact begins no more, and ends. Likewise of the second, above.
constexpr double kBentFrom = 0.4, kBentTo = 0.3;
constexpr double kLessFrom = 0.8, kLessTo = 0.6;  // ... and over what it is along the first
constexpr double kSecondBentFrom = 0.65, kSecondBentTo = 0.8;
constexpr double kSecondTo = 0.8;       // sharpness of the first, below which the second's contacts end
constexpr double kOnePlace = 0.5;       // edges, no longer than strands are wide: crossings nearer along both are one
constexpr double kOneSide = 1.5;        // likewise: a vertex has one place within that of the other strand
constexpr double kMostRun = 2.0;        // edges that a place is followed by
constexpr double kHeldRun = 0.2;        // edges, after which a place is held where it has come to
constexpr double kBorderReach = 0.075;  // of the radii: a bend that closes on itself is looked at from there
constexpr double kDipPart = 0.2;   // of what a dip changes, from step to step: a force does not act where the strands
                                   // are nearest, and would not settle if it were followed at once
constexpr double kHeirNear = 1.5;  // edges
constexpr double kSideNear = 0.5;  // of the radii: where the side of before counts
constexpr double kSideRun = 0.25;  // of the radii: of a place that runs along its strands by more it does not
constexpr double kFadeFrom = 0.05, kFadeTo = 0.03;  // of the radii: where the normal of before counts
constexpr double kOpposite = -0.5;                  // cosine between normals

constexpr std::size_t pair_capacity(std::size_t edges, std::size_t contacts) {
  return 16 * edges + 64 * contacts;
}

bool ascends(const StrandContact& a, const StrandContact& b) noexcept {
  return std::tie(a.pair, a.kind, a.sa, a.sb) < std::tie(b.pair, b.kind, b.sa, b.sb);
}

bool deeper(const StrandContact& a, const StrandContact& b) noexcept {
  return std::tie(a.gap, a.pair, a.kind, a.sa, a.sb) < std::tie(b.gap, b.pair, b.kind, b.sa, b.sb);
}

// From one place to another, in rest lengths of `edge`.
double difference(const Strand& strand, std::uint32_t edge, double s, std::uint32_t other, double other_s) noexcept {
  if (strand.node) {
    const double *node = strand.node, length = node[edge + 1] - node[edge];
    double d = node[other] + other_s * (node[other + 1] - node[other]) - (node[edge] + s * length);
    if (strand.closed) d -= node[strand.vertices] * std::round(d / node[strand.vertices]);
    return d / length;
  }
  double d = (static_cast<double>(other) + other_s) - (static_cast<double>(edge) + s);
  if (!strand.closed) return d;
  const double round = static_cast<double>(strand.edges());
  if (d > 0.5 * round) d -= round;
  if (d < -0.5 * round) d += round;
  return d;
}

// From one contact to another of the same two strands, along both [edges].
struct Way {
  double a = 0, b = 0;
  bool swapped = false;  // the other contact has the two places of one strand in the other order
  bool within(double limit) const noexcept { return std::abs(a) <= limit && std::abs(b) <= limit; }
};

Way way(const Strand* strands, const StrandContact& from, const StrandContact& to) noexcept {
  const Strand &a = strands[from.pair.strand_a], &b = strands[from.pair.strand_b];
  Way straight{difference(a, from.pair.edge_a, from.sa, to.pair.edge_a, to.sa),
               difference(b, from.pair.edge_b, from.sb, to.pair.edge_b, to.sb)};
  if (from.pair.strand_a != from.pair.strand_b || !a.closed || straight.within(kHeirNear)) return straight;
  const Way swapped{difference(a, from.pair.edge_a, from.sa, to.pair.edge_b, to.sb),
                    difference(b, from.pair.edge_b, from.sb, to.pair.edge_a, to.sa), true};
  return swapped.within(kHeirNear) ? swapped : straight;
}

bool same_strands(const EdgePair& p, const EdgePair& q) noexcept {
  return p.strand_a == q.strand_a && p.strand_b == q.strand_b;
}

// Of those contacts (ascending) that may lie within kHeirNear of this one, and some more.
template <class It, class Visit>
void visit_near(const Strand* strands, const StrandContact& at, It it, It end, Visit visit) noexcept {
  constexpr std::uint32_t kWindow = 2;  // edges
  const Strand& a = strands[at.pair.strand_a];
  const std::uint32_t edge = at.pair.edge_a, edges = static_cast<std::uint32_t>(a.edges());
  const bool seam = a.closed && (edge < kWindow || edge + kWindow >= edges || at.pair.edge_b < kWindow ||
                                 at.pair.edge_b + kWindow >= edges);
  const EdgePair first{at.pair.strand_a, seam || edge < kWindow ? 0 : edge - kWindow, 0, 0};
  it = std::lower_bound(it, end, first, [](const StrandContact& c, const EdgePair& p) { return c.pair < p; });
  for (; it != end && it->pair.strand_a == at.pair.strand_a; ++it) {
    if (!seam && it->pair.edge_a > edge + kWindow) break;
    if (same_strands(it->pair, at.pair)) visit(*it);
  }
}

Vector3d turned(const Vector3d& v, const Vector3d& from, const Vector3d& to) noexcept {
  const double c = from.dot(to);
  if (c < -1 + 1e-9) return v - 2 * from.dot(v) * from;
  const Vector3d axis = from.cross(to), across = axis.cross(v);
  return v + across + axis.cross(across) / (1 + c);
}

Vector3d along(const Strand& strand, std::uint32_t edge) noexcept {
  return strand.x[strand.next(edge)] - strand.x[edge];
}

// Of two strands that meet in a point and were never apart: across both, else across one.
Vector3d any_side(const Vector3d& a, const Vector3d& b) noexcept {
  const Vector3d across = a.cross(b);
  if (across.norm() > 1e-6 * a.norm() * b.norm()) return across.normalized();
  const Vector3d longer = a.squaredNorm() > b.squaredNorm() ? a : b;
  if (!(longer.squaredNorm() > 0)) return Vector3d::UnitZ();
  Vector3d axis = Vector3d::Zero();
  Eigen::Index least = 0;
  longer.cwiseAbs().minCoeff(&least);
  axis[least] = 1;
  return longer.cross(axis).normalized();
}

double parameter(std::uint32_t edge, double s) noexcept {
  return static_cast<double>(edge) + s;
}

// (edge, s) of a parameter that may lie a round off.
void place(const Strand& strand, double u, std::uint32_t& edge, double& s) noexcept {
  const double edges = static_cast<double>(strand.edges());
  if (strand.closed) {
    if (u < 0) u += edges;
    if (u >= edges) u -= edges;
  }
  const double whole = std::clamp(std::floor(u), 0.0, edges - 1);
  edge = static_cast<std::uint32_t>(whole);
  s = std::clamp(u - whole, 0.0, 1.0);
}

// Of a ring's two ways from u to v the one ahead.
double ahead(const Strand& strand, bool same, double u, double v) noexcept {
  return same && strand.closed && v < u ? v + static_cast<double>(strand.edges()) : v;
}

ArcLimits limits_of(const Strand& a, const Strand& b, bool same, double u, bool behind) noexcept {
  ArcLimits limits = arc_limits(a, b, same, u, behind);
  // What was one thread keeps its distance along it.
  const double ring = static_cast<double>(a.ring_edges);
  if (same && !a.closed && ring > 0 && behind)
    limits.low = -ring - limits.high;
  else if (same && !a.closed && ring > 0)
    limits.high = ring - limits.low;
  if (same || edges_along(a, 0, b, 0) == static_cast<std::size_t>(-1)) return limits;
  const double least = arc_limits(a, a, true, u).low;
  const double shift = static_cast<double>(a.first_edge) - static_cast<double>(b.first_edge);
  if (b.first_edge > a.first_edge) return {least + shift, ring > 0 ? ring - least + shift : 1e300};
  return {ring > 0 ? least - ring + shift : -1e300, shift - least};
}

// The place that a vertex is nearest to comes before it on an open strand.
bool behind(const Strand& a, const EdgePair& pair) noexcept {
  return pair.strand_a == pair.strand_b && !a.closed && pair.edge_a > pair.edge_b;
}

// Round a ring every two places are met twice, ahead of the one and of the other: one of them counts.
bool other_way_round(const Strand& a, bool same, double u, double v) noexcept {
  return same && a.closed && v - u > 0.5 * static_cast<double>(a.edges()) + kOneSide;
}

// The vertex at u is of the second of two strands, or of two places of one.
bool second(const Strand& a, const EdgePair& pair, double u, double v) noexcept {
  return pair.strand_a > pair.strand_b || behind(a, pair) || other_way_round(a, pair.strand_a == pair.strand_b, u, v);
}

// How far the curve runs from an edge at most [mm].
double bulge(const Strand& strand, std::uint32_t edge) noexcept {
  const std::size_t n = strand.vertices, next = strand.next(edge);
  double bend = 0;
  for (const std::size_t i : {static_cast<std::size_t>(edge), next}) {
    if (!strand.closed && (i == 0 || i + 1 == n)) continue;
    const Vector3d &before = strand.x[i == 0 ? n - 1 : i - 1], &behind = strand.x[strand.next(i)];
    bend = std::max(bend, (before - 2 * strand.x[i] + behind).squaredNorm());
  }
  return std::sqrt(bend) / 8;
}

// What lies between the vertices of a they see to (l sharp)^2 / 8d: where edges are longer than the strands are wide
// less sharpness makes a contact pointed.
double sharpness_unit(const Strand& a, const Strand& b, const EdgePair& pair) noexcept {
  return std::min(1.0, (a.thickest(pair.edge_a) + b.thickest(pair.edge_b)) / a.length_of(pair.edge_a));
}

// The width of both strands, in edges; 1 where those are no longer. Round a corner of edges that are, two places may
// touch that are no half edge apart.
double width_in_edges(const Strand& a, const Strand& b, const StrandContact& c) noexcept {
  const double longest = std::max(a.length_of(c.pair.edge_a), b.length_of(c.pair.edge_b));
  return std::min(1.0, (a.thickest(c.pair.edge_a) + b.thickest(c.pair.edge_b)) / longest);
}

/// Sum of both radii where the contact is.
double radii_at(const Strand& a, const Strand& b, const StrandContact& c) noexcept {
  return a.radius_at(c.pair.edge_a, c.sa) + b.radius_at(c.pair.edge_b, c.sb);
}

// Where strands touch along a line the vertices of one of them will do: of the one that is bent round the other, whose
// nearest places on that stay where they are. Where neither is, of the first.
// @param known that it has a contact already
bool carries(const Strand* strands, const StrandContact& c, const CurvePlaces& now, bool known) noexcept {
  const Strand &a = strands[c.pair.strand_a], &b = strands[c.pair.strand_b];
  const EdgePair turned{c.pair.strand_b, c.pair.edge_b, c.pair.strand_a, c.pair.edge_a};
  // That the other's vertices see no line, but a crossing.
  const bool crosses = now.sharp_b > kBesideFrom * sharpness_unit(b, a, turned);
  if (!second(a, c.pair, now.u, now.v))
    return crosses || now.bend_b > (known ? kBentTo : kBentFrom) ||
           now.bend_b > (known ? kLessTo : kLessFrom) * now.bend_a;
  if (now.bordered) return known;
  const bool other_crosses = now.sharp_b > (known ? kSecondTo : kBesideFrom) * sharpness_unit(b, a, turned);
  return other_crosses || (now.bend_b > now.bend_a && now.bend_a < (known ? kSecondBentTo : kSecondBentFrom));
}

// The normal that belongs to a distance vector, and the gap along it. @param former zero where there was none
// @param near [radii] the side of before counts where centrelines are nearer
void set_normal(const Strand* strands, const Vector3d& apart, const Vector3d& former, double near,
                StrandContact& c) noexcept {
  const Strand &a = strands[c.pair.strand_a], &b = strands[c.pair.strand_b];
  const double radii = radii_at(a, b, c), d = apart.norm();
  const Vector3d here = d > 1e-9 * radii ? (apart / d).eval() : Vector3d::Zero().eval();
  if (former.isZero(0)) {
    c.normal = d > 1e-9 * radii ? here : any_side(along(a, c.pair.edge_a), along(b, c.pair.edge_b));
  } else if (d >= near * radii) {
    c.normal = here;
  } else {
    const double fade = std::clamp((d / radii - kFadeTo) / (kFadeFrom - kFadeTo), 0.0, 1.0);
    const double side = here.dot(former) < kOpposite ? -1.0 : 1.0;
    const Vector3d blend = fade * side * here + (1 - fade) * former;
    c.normal = blend.norm() > 0 ? blend.normalized() : former;
  }
  c.gap = c.normal.dot(apart) - radii;
}

double gap_at_place(const Strand& a, const Strand& b, const StrandContact& c) noexcept {
  return c.normal.dot(place_on(a.x, a, c.pair.edge_a, c.sa) - place_on(b.x, b, c.pair.edge_b, c.sb)) -
         radii_at(a, b, c);
}

}  // namespace

StrandContacts::StrandContacts(std::size_t most_edges, std::size_t most_contacts)
    : most_(std::max<std::size_t>(most_contacts, 1)), pairs_(most_edges, pair_capacity(most_edges, most_contacts)) {
  contacts_.reserve(2 * most_ + 64);
  gone_.reserve(2 * most_ + 64);
  memory_.reserve(most_);
}

bool StrandContacts::gather_again(const Strand* strands, std::size_t count, double reach) noexcept {
  double widest = 0;
  for (std::size_t k = 0; k < count; ++k)
    for (std::uint32_t i = 0; strands[k].vertices > 2 && i < strands[k].edges(); i += 2)
      widest = std::max(widest, bulge(strands[k], i));
  return pairs_.update(strands, count, reach + 2 * widest);
}

bool StrandContacts::gather(const Strand* strands, std::size_t count, double reach) noexcept {
  contacts_ = memory_;
  for (StrandContact& c : contacts_) c.held = -1;
  first_ = holds_ = true;
  return gather_again(strands, count, reach);
}

bool StrandContacts::followed(const Strand* strands, StrandContact& c, CurvePlaces& now) const noexcept {
  const Strand &a = strands[c.pair.strand_a], &b = strands[c.pair.strand_b];
  const bool same = c.pair.strand_a == c.pair.strand_b;
  const double u = parameter(c.pair.edge_a, c.sa), v = ahead(a, same, u, parameter(c.pair.edge_b, c.sb));
  const ArcLimits limits = limits_of(a, b, same, u, behind(a, c.pair));
  if (c.held < 0) c.held = parameter(c.pair.edge_b, c.sb);
  const double round = b.closed ? static_cast<double>(b.edges()) : 0.0;
  const double held = round > 0 ? c.held + round * std::round((v - c.held) / round) : c.held;
  const bool beside = c.kind == StrandContact::Kind::beside;
  const bool there =
      (beside ? nearest_beside(a, b, u, v, limits, kMostRun, now, holds_ ? &held : nullptr)
              : nearest_crossing(a, b, u, v, limits, kMostRun, now) && !other_way_round(a, same, now.u, now.v));
  if (!there) {  // it stays where it was
    c.gap = gap_at_place(a, b, c);
    return false;
  }
  // One that has run along a strand may have gone round a bend: then another direction is no other side.
  const double run =
      std::abs(now.u - u) * a.length_of(c.pair.edge_a) + std::abs(now.v - v) * b.length_of(c.pair.edge_b);
  if (!beside) place(a, now.u, c.pair.edge_a, c.sa);
  c.glide_a = beside ? 0 : now.glide_a;
  c.glide_b = now.glide_b;
  place(b, now.v, c.pair.edge_b, c.sb);
  if (!holds_ || std::abs(now.v - held) > kHeldRun) c.held = parameter(c.pair.edge_b, c.sb);
  const Vector3d former = c.normal;
  set_normal(strands, now.apart, former, run > kSideRun * radii_at(a, b, c) ? kFadeFrom : kSideNear, c);
  if (first_ && beside) c.dip += kDipPart * (now.dip - c.dip);
  c.force = turned(c.force, former, c.normal);
  return true;
}

void StrandContacts::keep(const Strand* strands) noexcept {
  for (StrandContact& c : contacts_) c.gap = gap_at_place(strands[c.pair.strand_a], strands[c.pair.strand_b], c);
}

void StrandContacts::follow(const Strand* strands) noexcept {
  CurvePlaces now;
  for (StrandContact& c : contacts_) followed(strands, c, now);
}

void StrandContacts::add(const StrandContact& contact) noexcept {
  if (contacts_.size() < contacts_.capacity())
    contacts_.push_back(contact);
  else
    ++lost_;
}

// A least distance from the vertex lies where the slope of the squared distance rises through zero, and at the ends of
// what is allowed. Looked for on half edges, between places that the neighbouring edges see in the same way.
void StrandContacts::find_beside(const Strand* strands, const EdgePair& pair, std::uint32_t vertex,
                                 double reach) noexcept {
  const Strand &a = strands[pair.strand_a], &b = strands[pair.strand_b];
  const bool same = pair.strand_a == pair.strand_b;
  const double radii = a.radius_of(vertex) + b.thickest(pair.edge_b), u = static_cast<double>(vertex);
  const Vector3d p = curve_at(a, u).p, start = b.x[pair.edge_b], e = along(b, pair.edge_b);
  if (!((p - start - 0.5 * e).norm() <= 0.5 * e.norm() + bulge(b, pair.edge_b) + (1 + kBorderReach) * radii + reach))
    return;
  const ArcLimits limits = limits_of(a, b, same, u, behind(a, pair));
  const double first = ahead(a, same, u, parameter(pair.edge_b, 0));
  const double from = std::max(first, u + limits.low), to = std::min(first + 1, u + limits.high);
  if (!(from <= to)) return;
  const double last = static_cast<double>(b.vertices - 1);
  const bool begins = from > first || (!b.closed && from <= 0), ends = to < first + 1 || (!b.closed && to >= last);
  const double half = std::clamp(first + 0.5, from, to);
  const double at[4] = {from, from, half, to};
  double slope[4];
  for (std::size_t k = 1; k < 4; ++k) {
    const CurvePoint c = curve_at(b, at[k]);
    slope[k] = (c.p - p).dot(c.d1);
  }
  slope[0] = begins ? -1.0 : slope[1];
  for (std::size_t k = 0; k < 4; ++k) {
    const double before = slope[k], behind = k < 3 ? slope[k + 1] : ends ? 1.0 : before;
    if (!(before <= 0 && behind >= 0) || (k == 0 && !begins) || (k == 3 && !ends)) continue;
    const double part = k == 0 || k == 3 || !(behind > before) ? 0.0 : before / (before - behind);
    add_beside(strands, pair, u, k < 3 ? at[k] + part * (at[k + 1] - at[k]) : to, limits, reach);
  }
}

void StrandContacts::add_beside(const Strand* strands, const EdgePair& pair, double u, double v,
                                const ArcLimits& limits, double reach) noexcept {
  const Strand &a = strands[pair.strand_a], &b = strands[pair.strand_b];
  StrandContact c;
  c.kind = StrandContact::Kind::beside;
  c.pair = pair;
  place(a, u, c.pair.edge_a, c.sa);
  const auto known = [&](double at) {
    place(b, at, c.pair.edge_b, c.sb);
    bool found = false;
    visit_known(strands, c, [&](const StrandContact& k) {
      found |= k.kind == c.kind && k.pair.edge_a == c.pair.edge_a && k.sa == c.sa &&
               std::abs(difference(b, k.pair.edge_b, k.sb, c.pair.edge_b, c.sb)) < kOneSide * width_in_edges(a, b, k);
    });
    return found;
  };
  if (known(v)) return;
  CurvePlaces now;
  if (!nearest_beside(a, b, u, v, limits, 1.0, now)) return;
  place(b, now.v, c.pair.edge_b, c.sb);
  const double radii = radii_at(a, b, c);
  if (now.bordered ? now.apart.norm() > (1 + kBorderReach) * radii
                   : now.sharp > kBesideFrom * sharpness_unit(a, b, c.pair) || now.apart.norm() > radii + reach)
    return;
  if (known(now.v)) return;
  if (!carries(strands, c, now, false)) return;
  set_normal(strands, now.apart, Vector3d::Zero(), kSideNear, c);
  c.dip = now.dip;
  c.glide_b = now.glide_b;
  add(c);
}

template <class Visit>
void StrandContacts::visit_known(const Strand* strands, const StrandContact& at, Visit visit) const noexcept {
  const auto found = contacts_.begin() + static_cast<std::ptrdiff_t>(followed_);
  visit_near(strands, at, contacts_.begin(), found, visit);
  for (auto it = found; it != contacts_.end(); ++it)
    if (same_strands(it->pair, at.pair)) visit(*it);
}

void StrandContacts::find_crossing(const Strand* strands, const EdgePair& pair, double s, double t,
                                   double reach) noexcept {
  const Strand &a = strands[pair.strand_a], &b = strands[pair.strand_b];
  const bool same = pair.strand_a == pair.strand_b;
  const double u = parameter(pair.edge_a, s), v = ahead(a, same, u, parameter(pair.edge_b, t));
  StrandContact c;
  c.pair = pair;
  const auto known = [&](double at_u, double at_v) {
    place(a, at_u, c.pair.edge_a, c.sa);
    place(b, at_v, c.pair.edge_b, c.sb);
    bool found = false;
    visit_known(strands, c, [&](const StrandContact& k) {
      found |= k.kind == c.kind && way(strands, c, k).within(kOnePlace * width_in_edges(a, b, c));
    });
    return found;
  };
  constexpr double kGuess = 0.6;  // of the sharpness that is needed: the edges' places are not the curves'
  const double unit = sharpness_unit(a, b, pair);
  if (sharpness_at(a, b, u, v) < kGuess * kCrossingFrom * unit || known(u, v)) return;
  CurvePlaces now;
  if (!nearest_crossing(a, b, u, v, limits_of(a, b, same, u, false), 1.0, now) ||
      other_way_round(a, same, now.u, now.v))
    return;
  if (!(now.sharp > kCrossingFrom * unit || now.ended)) return;
  place(a, now.u, c.pair.edge_a, c.sa);
  place(b, now.v, c.pair.edge_b, c.sb);
  if (now.apart.norm() > radii_at(a, b, c) + reach || known(now.u, now.v)) return;
  set_normal(strands, now.apart, Vector3d::Zero(), kSideNear, c);
  c.glide_a = now.glide_a;
  c.glide_b = now.glide_b;
  add(c);
}

// Places that have come together are one from then on.
void StrandContacts::merge(const Strand* strands) noexcept {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < contacts_.size(); ++i) {
    const StrandContact c = contacts_[i];
    const Strand &a = strands[c.pair.strand_a], &b = strands[c.pair.strand_b];
    const double width = width_in_edges(a, b, c);
    const double limit_a = c.kind == StrandContact::Kind::beside ? 0.1 : 0.3 * kOnePlace * width;
    const double limit_b = c.kind == StrandContact::Kind::beside ? 0.3 * width : 0.3 * kOnePlace * width;
    bool same = false;
    for (std::size_t j = kept; j-- > 0 && !same;) {
      const StrandContact& other = contacts_[j];
      if (other.pair.strand_a != c.pair.strand_a || other.pair.edge_a + 1 < c.pair.edge_a) {
        if (!a.closed && contacts_.size() > 64) break;  // ascending
        continue;
      }
      same = other.kind == c.kind && same_strands(other.pair, c.pair) &&
             std::abs(difference(a, c.pair.edge_a, c.sa, other.pair.edge_a, other.sa)) < limit_a &&
             std::abs(difference(b, c.pair.edge_b, c.sb, other.pair.edge_b, other.sb)) < limit_b;
    }
    if (!same)
      contacts_[kept++] = c;
    else if (!c.force.isZero(0) && gone_.size() < gone_.capacity())
      gone_.push_back(c);
  }
  contacts_.resize(kept);
}

void StrandContacts::hand_over(const Strand* strands, const StrandContact& gone) noexcept {
  struct Heir {
    StrandContact* contact = nullptr;
    double far = 0;
    bool swapped = false;
  };
  Heir heirs[2];  // behind, ahead
  const Strand &a = strands[gone.pair.strand_a], &b = strands[gone.pair.strand_b];
  const double turn = along(a, gone.pair.edge_a).dot(along(b, gone.pair.edge_b)) < 0 ? -1 : 1;
  visit_near(strands, gone, contacts_.begin(), contacts_.end(), [&](StrandContact& other) {
    const Way w = way(strands, gone, other);
    if (!w.within(kHeirNear) || gone.normal.dot(other.normal) * (w.swapped ? -1 : 1) <= 0) return;
    const double on_a = w.a * a.length_of(gone.pair.edge_a), on_b = w.b * b.length_of(gone.pair.edge_b),
                 far = std::hypot(on_a, on_b);
    Heir& heir = heirs[(std::abs(on_a) >= std::abs(on_b) ? on_a : turn * on_b) > 0 ? 1 : 0];
    if (!heir.contact || far < heir.far) heir = {&other, far, w.swapped};
  });
  double whole = 0;
  for (const Heir& heir : heirs)
    if (heir.contact) whole += heir.far;
  const bool both = heirs[0].contact && heirs[1].contact;
  for (std::size_t k = 0; k < 2; ++k) {
    const Heir& heir = heirs[k];
    if (!heir.contact) continue;
    const double share = !both ? 1 : whole > 0 ? heirs[1 - k].far / whole : 0.5;
    if (share == 0) continue;
    const double sign = heir.swapped ? -1 : 1;
    if (share >= 0.5 && heir.contact->force.isZero(0)) heir.contact->sliding = gone.sliding;
    heir.contact->force += share * turned(sign * gone.force, sign * gone.normal, heir.contact->normal);
  }
}

std::size_t StrandContacts::find(const Strand* strands, std::size_t count, double reach) noexcept {
  lost_ = 0;
  gone_.clear();
  const auto there = [&](std::uint32_t strand, std::uint32_t edge) {
    return strand < count && strands[strand].vertices > 1 && edge < strands[strand].edges();
  };
  // Within a step none goes that was there, so that its iterations see more and more of them and come to an end.
  const bool begins = first_;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < contacts_.size(); ++i) {
    StrandContact c = contacts_[i];
    if (!there(c.pair.strand_a, c.pair.edge_a) || !there(c.pair.strand_b, c.pair.edge_b)) continue;
    CurvePlaces now;
    // Renamed ones may stand elsewhere than at a vertex: those near them inherit from where they are.
    const bool stray = c.kind == StrandContact::Kind::beside && c.sa != 0 && c.sa != 1;
    bool goes = stray || !followed(strands, c, now);
    const Strand &a = strands[c.pair.strand_a], &b = strands[c.pair.strand_b];
    const double radii = radii_at(a, b, c), unit = sharpness_unit(a, b, c.pair);
    if (c.kind == StrandContact::Kind::beside)
      goes = goes || (now.bordered ? c.gap > 2 * kBorderReach * radii
                                   : now.sharp > kBesideTo * unit || !carries(strands, c, now, true));
    else if (!now.ended)
      goes = goes || now.sharp < unit * (c.gap < 0 || !c.force.isZero(0) ? kPressedTo : kCrossingTo);
    goes = goes || c.gap > reach;
    const bool finite = std::isfinite(c.gap) && c.normal.allFinite() && c.force.allFinite();
    if (!finite || (goes && (begins || c.force.isZero(0)))) {
      if (finite && !c.force.isZero(0)) gone_.push_back(c);
      continue;
    }
    contacts_[kept++] = c;
  }
  contacts_.resize(kept);
  std::sort(contacts_.begin(), contacts_.end(), ascends);
  first_ = false;
  if (begins) merge(strands);
  followed_ = contacts_.size();

  for (EdgePair pair : pairs_.pairs()) {
    if (!there(pair.strand_a, pair.edge_a) || !there(pair.strand_b, pair.edge_b)) continue;
    // Of a ring, from the one whose way to the other is the shorter.
    if (pair.strand_a == pair.strand_b && strands[pair.strand_a].closed &&
        2 * (pair.edge_b - pair.edge_a) > strands[pair.strand_a].edges())
      std::swap(pair.edge_a, pair.edge_b);
    const Strand &a = strands[pair.strand_a], &b = strands[pair.strand_b];
    const Vector3d p = a.x[pair.edge_a], d = along(a, pair.edge_a), q = b.x[pair.edge_b], e = along(b, pair.edge_b);
    const double radii = a.thickest(pair.edge_a) + b.thickest(pair.edge_b);
    const double most = (1 + kBorderReach) * radii + bulge(a, pair.edge_a) + bulge(b, pair.edge_b) + reach;
    const double dd = d.squaredNorm(), ee = e.squaredNorm();
    const double span = most + 0.5 * (std::sqrt(dd) + std::sqrt(ee));
    if (!((p - q + 0.5 * (d - e)).squaredNorm() <= span * span)) continue;
    find_beside(strands, pair, pair.edge_a, reach);
    if (!a.closed && pair.edge_a + 1 == a.edges()) find_beside(strands, pair, pair.edge_a + 1, reach);
    const EdgePair back{pair.strand_b, pair.edge_b, pair.strand_a, pair.edge_a};
    find_beside(strands, back, back.edge_a, reach);
    if (!b.closed && back.edge_a + 1 == b.edges()) find_beside(strands, back, back.edge_a + 1, reach);
    double s = 0, t = 0;
    nearest_of_edges(p, d, q, e, s, t);
    if ((p + s * d - q - t * e).squaredNorm() <= most * most) find_crossing(strands, pair, s, t, reach);
  }

  if (contacts_.size() > most_) {
    lost_ += contacts_.size() - most_;
    std::nth_element(contacts_.begin(), contacts_.begin() + static_cast<std::ptrdiff_t>(most_), contacts_.end(),
                     deeper);
    contacts_.resize(most_);
  }
  std::sort(contacts_.begin(), contacts_.end(), ascends);
  for (const StrandContact& gone : gone_) hand_over(strands, gone);
  return lost_;
}

void StrandContacts::remember() noexcept {
  memory_ = contacts_;
}

void StrandContacts::forget(std::uint32_t strand) noexcept {
  for (Contacts* contacts : {&contacts_, &memory_})
    contacts->erase(
        std::remove_if(contacts->begin(), contacts->end(),
                       [&](const StrandContact& c) { return c.pair.strand_a == strand || c.pair.strand_b == strand; }),
        contacts->end());
}

// Gives every place a new (strand, edge); pairs that come to stand in descending order are turned round.
template <class Rename>
void StrandContacts::rename(std::uint32_t strand, Rename rename) noexcept {
  for (Contacts* contacts : {&contacts_, &memory_}) {
    for (StrandContact& c : *contacts) {
      if (c.pair.strand_a != strand && c.pair.strand_b != strand) continue;
      rename(c.pair.strand_a, c.pair.edge_a, c.sa);
      rename(c.pair.strand_b, c.pair.edge_b, c.sb);
      if (c.kind == StrandContact::Kind::beside) continue;  // is the vertex's
      if (std::tie(c.pair.strand_a, c.pair.edge_a) < std::tie(c.pair.strand_b, c.pair.edge_b)) continue;
      std::swap(c.pair.strand_a, c.pair.strand_b);
      std::swap(c.pair.edge_a, c.pair.edge_b);
      std::swap(c.sa, c.sb);
      c.normal = -c.normal;
      c.force = -c.force;
    }
    std::sort(contacts->begin(), contacts->end(), ascends);
  }
}

void StrandContacts::divide(std::uint32_t strand, std::uint32_t vertex, std::uint32_t piece) noexcept {
  rename(strand, [&](std::uint32_t& k, std::uint32_t& edge, double&) {
    if (k != strand || edge < vertex) return;
    k = piece;
    edge -= vertex;
  });
}

void StrandContacts::open(std::uint32_t strand, std::uint32_t vertex, std::uint32_t edges) noexcept {
  rename(strand, [&](std::uint32_t k, std::uint32_t& edge, double&) {
    if (k == strand && edges > 0) edge = (edge + edges - vertex % edges) % edges;
  });
}

void StrandContacts::regrade(std::uint32_t strand, const EdgeMove* moves) noexcept {
  rename(strand, [&](std::uint32_t k, std::uint32_t& edge, double& s) {
    if (k == strand) moves[edge].take(edge, s);
  });
}

void StrandContacts::add_to(StateHash& hash) const noexcept {
  hash.add(static_cast<std::uint64_t>(memory_.size()));
  for (const StrandContact& c : memory_) {
    for (std::uint32_t k : {c.pair.strand_a, c.pair.edge_a, c.pair.strand_b, c.pair.edge_b})
      hash.add(static_cast<std::uint64_t>(k));
    hash.add(c.sa);
    hash.add(c.sb);
    hash.add(static_cast<std::uint64_t>(c.kind));
    hash.add(c.dip);
    hash.bytes(c.normal.data(), sizeof(double) * 3);
    hash.bytes(c.force.data(), sizeof(double) * 3);
    hash.add(static_cast<std::uint64_t>(c.sliding));
  }
}

}  // namespace ligature::contact
