#include "sim/contact/strand_contacts.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

#include "sim/contact/edge_places.hpp"

namespace ligature::contact {
namespace {

constexpr double kSpareNear = 0.7;                  // edges of the finer strand, or ...
constexpr double kSpareRadii = 0.25;                // ... of the radii, if that is more
constexpr double kSpareDeeper = 5e-4;               // of the radii: the same gap, ...
constexpr double kSpareHigher = 1e-2;               // ... up to here, ...
constexpr double kSpareTurn = 0.99;                 // ... with the same normal: cosine between both
constexpr double kLowerTurn = 0.85;                 // much the same normal where the gap is wider than that
constexpr double kLowerFor = 2e-2;                  // of the radii: wider than that, one that was there goes too
constexpr double kMostSpareEdges = 4;               // between the two, along one strand
constexpr double kHeirNear = 1.5;                   // edges
constexpr double kSideNear = 0.5;                   // of the radii: where the side of before counts
constexpr double kFadeFrom = 0.05, kFadeTo = 0.03;  // of the radii: where the normal of before counts
constexpr double kOpposite = -0.5;                  // cosine between normals

constexpr std::size_t pair_capacity(std::size_t edges, std::size_t contacts) {
  return 16 * edges + 64 * contacts;
}

bool ascends(const StrandContact& a, const StrandContact& b) noexcept {
  return a.pair < b.pair;
}

bool deeper(const StrandContact& a, const StrandContact& b) noexcept {
  return std::tie(a.gap, a.pair) < std::tie(b.gap, b.pair);
}

const StrandContact* with_pair(const std::vector<StrandContact>& contacts, const EdgePair& pair) noexcept {
  const auto at = std::lower_bound(contacts.begin(), contacts.end(), pair,
                                   [](const StrandContact& c, const EdgePair& p) { return c.pair < p; });
  return at != contacts.end() && at->pair == pair ? &*at : nullptr;
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
template <class Contacts, class Visit>
void visit_near(const Strand* strands, const StrandContact& at, Contacts& contacts, Visit visit) noexcept {
  constexpr std::uint32_t kWindow = 2;  // edges
  const Strand& a = strands[at.pair.strand_a];
  const std::uint32_t edge = at.pair.edge_a, edges = static_cast<std::uint32_t>(a.edges());
  const bool seam = a.closed && (edge < kWindow || edge + kWindow >= edges || at.pair.edge_b < kWindow ||
                                 at.pair.edge_b + kWindow >= edges);
  const EdgePair first{at.pair.strand_a, seam || edge < kWindow ? 0 : edge - kWindow, 0, 0};
  auto it = std::lower_bound(contacts.begin(), contacts.end(), first,
                             [](const StrandContact& c, const EdgePair& p) { return c.pair < p; });
  for (; it != contacts.end() && it->pair.strand_a == at.pair.strand_a; ++it) {
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

// The ends that a cut made begin where they touch all over; like neighbours along a thread they do not count.
bool across_cut(const Strand& a, const Strand& b, const EdgePair& pair) noexcept {
  const bool cut = pair.strand_a != pair.strand_b || (a.ring_edges > 0 && !a.closed);
  const std::size_t apart = cut ? edges_along(a, pair.edge_a, b, pair.edge_b) : static_cast<std::size_t>(-1);
  if (apart == static_cast<std::size_t>(-1)) return false;
  return apart <= 1 || static_cast<double>(apart - 1) * a.rest_length < std::numbers::pi * a.radius;
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

}  // namespace

StrandContacts::StrandContacts(std::size_t most_edges, std::size_t most_contacts)
    : most_(std::max<std::size_t>(most_contacts, 1)), near_(most_edges, pair_capacity(most_edges, most_contacts)) {
  pairs_.reserve(pair_capacity(most_edges, most_contacts));
  contacts_.reserve(most_);
  before_.reserve(most_);
  memory_.reserve(most_);
  candidates_.reserve(4 * most_ + 64);
}

bool StrandContacts::gather_again(const Strand* strands, std::size_t count, double reach) noexcept {
  double widest = 0;
  for (std::size_t k = 0; k < count; ++k) widest = std::max(widest, strands[k].radius);
  const bool all = near_.find(strands, count, nullptr, reach + 2 * widest);
  pairs_.clear();
  for (const EdgePair& pair : near_.pairs()) {
    const Strand &a = strands[pair.strand_a], &b = strands[pair.strand_b];
    if (pair.strand_a == pair.strand_b && !arc_allows(a, pair.edge_a, pair.edge_b)) continue;
    if (across_cut(a, b, pair)) continue;
    if (pairs_.size() == pairs_.capacity()) break;
    if (distance(a, b, pair) <= a.radius + b.radius + reach) pairs_.push_back(pair);
  }
  return all;
}

bool StrandContacts::gather(const Strand* strands, std::size_t count, double reach) noexcept {
  contacts_ = memory_;
  first_ = true;
  return gather_again(strands, count, reach);
}

// Candidates of all pairs, ascending, each with the contact that its pair had before. When they are too many the deeper
// half goes on.
void StrandContacts::collect(const Strand* strands, double reach, std::size_t& lost) noexcept {
  candidates_.clear();
  for (const EdgePair& pair : pairs_) {
    const Strand &a = strands[pair.strand_a], &b = strands[pair.strand_b];
    const double radii = a.radius + b.radius;
    EdgePlaces found;
    if (!places(a, b, pair, radii + reach, found)) continue;
    if (candidates_.size() == candidates_.capacity()) {
      const std::size_t half = candidates_.size() / 2;
      std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(half), candidates_.end(),
                       [](const Candidate& p, const Candidate& q) { return deeper(p.contact, q.contact); });
      lost += candidates_.size() - half;
      candidates_.resize(half);
    }
    Candidate& candidate = candidates_.emplace_back();
    StrandContact& c = candidate.contact;
    c.pair = pair;
    c.sa = found.sa;
    c.sb = found.sb;
    c.normal = found.apart;  // until set_side()
    c.gap = found.distance - radii;
    candidate.before = with_pair(before_, pair);
    set_side(strands, candidate);
  }
  if (lost > 0)
    std::sort(candidates_.begin(), candidates_.end(),
              [](const Candidate& p, const Candidate& q) { return ascends(p.contact, q.contact); });
}

void StrandContacts::set_side(const Strand* strands, Candidate& candidate) const noexcept {
  StrandContact& c = candidate.contact;
  const Strand &a = strands[c.pair.strand_a], &b = strands[c.pair.strand_b];
  const Vector3d apart = c.normal;
  const double radii = a.radius + b.radius, d = apart.norm();
  if (d >= kSideNear * radii && d > 0) {
    c.normal = apart / d;
    return;
  }
  const StrandContact* former = candidate.before;
  bool swapped = false;
  if (!former) {
    double nearest = kHeirNear * kHeirNear;
    const auto look = [&](const StrandContact& other) {
      const Way w = way(strands, c, other);
      const double far = std::max(w.a * w.a, w.b * w.b);
      if (far >= nearest) return;
      nearest = far;
      former = &other;
      swapped = w.swapped;
    };
    visit_near(strands, c, before_, look);
    if (!former) former = with_pair(memory_, c.pair);
    if (!former) visit_near(strands, c, memory_, look);
  }
  const Vector3d here = d > 1e-9 * radii ? (apart / d).eval() : Vector3d::Zero().eval();
  if (!former) {
    c.normal = d > 1e-9 * radii ? here : any_side(along(a, c.pair.edge_a), along(b, c.pair.edge_b));
  } else {
    const Vector3d kept = swapped ? (-former->normal).eval() : former->normal;
    const double fade = std::clamp((d / radii - kFadeTo) / (kFadeFrom - kFadeTo), 0.0, 1.0);
    const double side = here.dot(kept) < kOpposite ? -1.0 : 1.0;
    c.normal = (fade * side * here + (1 - fade) * kept).normalized();
  }
  c.gap = c.normal.dot(apart) - radii;
}

// A contact that those kept make superfluous.
bool StrandContacts::spare(const Strand* strands, std::size_t candidate) const noexcept {
  const StrandContact& c = candidates_[candidate].contact;
  const Strand &a = strands[c.pair.strand_a], &b = strands[c.pair.strand_b];
  const double radii = a.radius + b.radius, length_a = a.length_of(c.pair.edge_a),
               length_b = b.length_of(c.pair.edge_b),
               near = std::max(kSpareNear * std::min(length_a, length_b), kSpareRadii * radii);
  const auto covers = [&](const Candidate& other) {
    if (!other.kept || !same_strands(other.contact.pair, c.pair)) return false;
    const Way w = way(strands, c, other.contact);
    if (std::abs(w.a) * length_a > near || std::abs(w.b) * length_b > near) return false;
    const double higher = (c.gap - other.contact.gap) / radii,
                 turn = c.normal.dot(other.contact.normal) * (w.swapped ? -1 : 1);
    if (candidates_[candidate].before) return higher > kLowerFor && turn > kLowerTurn;
    return higher >= -kSpareDeeper && turn > (higher > kSpareHigher ? kLowerTurn : kSpareTurn);
  };
  const auto edges = static_cast<std::uint32_t>(1 + std::min(near / length_a, kMostSpareEdges));
  const auto close = [&](const Candidate& other) {
    return other.contact.pair.strand_a == c.pair.strand_a && other.contact.pair.edge_a + edges >= c.pair.edge_a &&
           other.contact.pair.edge_a <= c.pair.edge_a + edges;
  };
  for (std::size_t i = candidate; i-- > 0 && close(candidates_[i]);)
    if (covers(candidates_[i])) return true;
  for (std::size_t i = candidate + 1; i < candidates_.size() && close(candidates_[i]); ++i)
    if (covers(candidates_[i])) return true;
  return false;
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
  visit_near(strands, gone, contacts_, [&](StrandContact& other) {
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
  std::swap(contacts_, before_);
  contacts_.clear();
  std::size_t lost = 0;
  collect(strands, reach, lost);
  for (Candidate& c : candidates_) c.kept = c.before != nullptr;
  const auto thin = [&](auto may_go) {
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (may_go(candidates_[i])) candidates_[i].kept = !spare(strands, i);
  };
  // Within a step none goes that was there, so that its iterations see more and more of them and come to an end.
  if (first_) thin([](const Candidate& c) { return c.before && c.before->force.isZero(0); });
  thin([](const Candidate& c) { return !c.before; });
  thin([](const Candidate& c) { return !c.before && c.kept; });  // a deeper one may have come behind it
  first_ = false;

  candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(), [](const Candidate& c) { return !c.kept; }),
                    candidates_.end());
  if (candidates_.size() > most_) {
    lost += candidates_.size() - most_;
    std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(most_), candidates_.end(),
                     [](const Candidate& p, const Candidate& q) { return deeper(p.contact, q.contact); });
    candidates_.resize(most_);
    std::sort(candidates_.begin(), candidates_.end(),
              [](const Candidate& p, const Candidate& q) { return ascends(p.contact, q.contact); });
  }
  for (const Candidate& candidate : candidates_) {
    StrandContact& c = contacts_.emplace_back(candidate.contact);
    if (!candidate.before) continue;
    c.force = turned(candidate.before->force, candidate.before->normal, c.normal);
    c.sliding = candidate.before->sliding;
  }
  const auto there = [&](std::uint32_t strand, std::uint32_t edge) {
    return strand < count && strands[strand].vertices > 1 && edge < strands[strand].edges();
  };
  for (const StrandContact& old : before_)
    if (!old.force.isZero(0) && there(old.pair.strand_a, old.pair.edge_a) &&
        there(old.pair.strand_b, old.pair.edge_b) && !with_pair(contacts_, old.pair))
      hand_over(strands, old);
  return lost;
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
void StrandContacts::rename(Rename rename) noexcept {
  for (Contacts* contacts : {&contacts_, &memory_}) {
    for (StrandContact& c : *contacts) {
      rename(c.pair.strand_a, c.pair.edge_a, c.sa);
      rename(c.pair.strand_b, c.pair.edge_b, c.sb);
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
  rename([&](std::uint32_t& k, std::uint32_t& edge, double&) {
    if (k != strand || edge < vertex) return;
    k = piece;
    edge -= vertex;
  });
}

void StrandContacts::open(std::uint32_t strand, std::uint32_t vertex, std::uint32_t edges) noexcept {
  rename([&](std::uint32_t k, std::uint32_t& edge, double&) {
    if (k == strand && edges > 0) edge = (edge + edges - vertex % edges) % edges;
  });
}

void StrandContacts::regrade(std::uint32_t strand, const EdgeMove* moves) noexcept {
  rename([&](std::uint32_t k, std::uint32_t& edge, double& s) {
    if (k != strand) return;
    const EdgeMove& m = moves[edge];
    const double u = m.offset + m.scale * s, over = u >= 1 && m.offset + m.scale > 1 ? 1 : 0;
    edge = m.edge + static_cast<std::uint32_t>(over);
    s = u - over;
  });
  for (Contacts* contacts : {&contacts_, &memory_}) {
    std::size_t kept = 0;
    for (StrandContact& c : *contacts) {
      StrandContact* before = kept > 0 ? &(*contacts)[kept - 1] : nullptr;
      if (!before || before->pair != c.pair) {
        (*contacts)[kept++] = c;
        continue;
      }
      const Vector3d force = before->force + c.force;
      if (c.gap < before->gap) *before = c;
      before->force = force;
    }
    contacts->resize(kept);
  }
}

void StrandContacts::add_to(StateHash& hash) const noexcept {
  hash.add(static_cast<std::uint64_t>(memory_.size()));
  for (const StrandContact& c : memory_) {
    for (std::uint32_t k : {c.pair.strand_a, c.pair.edge_a, c.pair.strand_b, c.pair.edge_b})
      hash.add(static_cast<std::uint64_t>(k));
    hash.add(c.sa);
    hash.add(c.sb);
    hash.bytes(c.normal.data(), sizeof(double) * 3);
    hash.bytes(c.force.data(), sizeof(double) * 3);
    hash.add(static_cast<std::uint64_t>(c.sliding));
  }
}

}  // namespace ligature::contact
