#include "sim/contact/tissue_contacts.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "sim/contact/rigid_surface.hpp"
#include "sim/contact/segment_triangle.hpp"
#include "sim/contact/self_pairs.hpp"
#include "sim/contact/soft_body.hpp"
#include "sim/contact/tolerances.hpp"

namespace ligature::contact {
namespace {

constexpr double kConeSlack = 0.3;     // sine by which a way may leave the normal cone of the feature it begins at
constexpr double kLeastRidge = 0.05;   // turn of the normal across an edge that begins to meet others [rad]
constexpr double kLeastSkew = 1e-4;    // squared sine of two edges that cross
constexpr std::size_t kMostSides = 3;  // of a surface that one vertex meets
constexpr double kMostOfItself =
    0.1;  // that a surface is looked for round itself: its walls bend, and seldom leap [mm]
constexpr double kAtCorner = 1 - 1e-9;

auto key(const TissueContact& c) {
  return std::tuple(c.contact.pair.edge_a, c.contact.pair.edge_b, c.kind, c.first, c.second);
}

// Sine of the turn of the normal across an edge; positive where it is a ridge.
double turn_across(const TriangleMesh& mesh, std::uint32_t t, std::size_t k) {
  const Vector3d &n = mesh.face_normal(t), &other = mesh.face_normal(mesh.neighbour(t, k));
  const TriangleMesh::Triangle& corner = mesh.triangle(t);
  const Vector3d along = mesh.vertex(corner[(k + 1) % 3]) - mesh.vertex(corner[k]);
  return n.cross(other).dot(along) / std::max(along.norm(), 1e-300);
}

double box_distance(const TriangleMesh& mesh, const Vector3d& low, const Vector3d& high) {
  return (low - mesh.high()).cwiseMax(mesh.low() - high).cwiseMax(0.0).norm();
}

Vector3d unit(std::size_t k) {
  return Vector3d::Unit(static_cast<Eigen::Index>(k));
}

std::size_t corner_of(const TriangleMesh::Triangle& triangle, std::uint32_t vertex) {
  return triangle[0] == vertex ? 0 : triangle[1] == vertex ? 1 : 2;
}

// What the anatomy holds gives way to nothing: no force can keep it away from what is held, too.
bool held(const SoftBody& body, const SurfacePlace& place) {
  const TriangleMesh::Triangle& corner = body.surface().triangle(place.triangle);
  for (std::size_t k = 0; k < 3; ++k)
    if (place.weight[static_cast<Eigen::Index>(k)] > 0 && !body.compliance(corner[k], corner[k]).isZero(0))
      return false;
  return true;
}

}  // namespace

// How nodes of the one body are likely to come nearer to the other: by what their moves differ.
struct TissueContacts::Pair {
  std::uint32_t a = 0, b = 0;
  const SoftBody& body_a;
  const SoftBody& body_b;
  double skin = 0;
  const TissueReach& reach;

  Vector3d move(const SoftBody& body, std::uint32_t v) const {
    return reach.by_step ? body.step()[v] : Vector3d(body.x()[v] - body.start()[v]);
  }
  double within(double difference) const {
    return reach.apart + std::min(reach.most, std::max(reach.least, reach.times * difference));
  }
  double furthest() const { return skin + reach.apart + reach.most; }
  // Of a node that moves so, and whatever of a body.
  double within(const Vector3d& moves, const Moves& all) const {
    return within((moves - all.low).cwiseAbs().cwiseMax((moves - all.high).cwiseAbs()).norm());
  }
  // ... and a triangle of it.
  double within(const Vector3d& moves, const SoftBody& body, std::uint32_t triangle) const {
    double square = 0;
    for (const std::uint32_t v : body.surface().triangle(triangle))
      square = std::max(square, (moves - move(body, v)).squaredNorm());
    return within(std::sqrt(square));
  }
  Moves moves_of(const SoftBody& body) const {
    Moves all;
    for (std::uint32_t v = 0; v < body.surface().vertices(); ++v) {
      const Vector3d m = move(body, v);
      all.low = all.low.cwiseMin(m), all.high = all.high.cwiseMax(m);
    }
    return all;
  }
};

TissueContacts::TissueContacts(std::size_t most_contacts) : most_(most_contacts) {
  contacts_.reserve(most_contacts);
  before_.reserve(most_contacts);
  handed_.resize(most_contacts);
  near_.reserve(3 * most_contacts);
}

std::size_t TissueContacts::find(const Bodies& bodies, const TissueReach& reach) noexcept {
  while (!contacts_.empty() && contacts_.back().kind == TissueContact::Kind::stop) contacts_.pop_back();
  before_.swap(contacts_);
  contacts_.clear();
  std::fill_n(handed_.begin(), before_.size(), std::uint8_t{0});
  lost_ = 0;
  for (std::uint32_t a = 0; a < bodies.count; ++a) {
    const SoftBody* const own = bodies.soft_of(a);
    if (own && own->skin() > 0 && own->self_pairs())
      find_self({a, a, *own, *own, 2 * own->skin(), reach}, *own->self_pairs());
    for (std::uint32_t b = a + 1; b < bodies.count; ++b) {
      if (!kept_apart(bodies, a, b)) continue;
      const SoftBody *const of_a = met_by_tissue(bodies, a), *const of_b = met_by_tissue(bodies, b);
      const Pair pair{a, b, *of_a, *of_b, of_a->skin() + of_b->skin(), reach};
      const TriangleMesh& mesh = of_b->surface();
      if (box_distance(of_a->surface(), mesh.low(), mesh.high()) > reach.apart + reach.most + pair.skin) continue;
      const Moves by_a = pair.moves_of(*of_a), by_b = pair.moves_of(*of_b);
      find_vertices(pair, TissueContact::Kind::vertex, by_b);
      find_vertices(pair, TissueContact::Kind::other, by_a);
      find_edges(pair, by_b);
    }
  }
  return lost_;
}

// Vertices of a surface against what of it faces them, the nearest of it. Where edges cross, guards stop them first.
void TissueContacts::find_self(const Pair& pair, SelfPairs& pairs) noexcept {
  const TriangleMesh& mesh = pair.body_a.surface();
  const Moves all = pair.moves_of(pair.body_a);
  const double most = pair.skin + std::min(pair.within((all.high - all.low).norm()), kMostOfItself);
  near_.clear();
  const auto look = [&](std::uint32_t triangle, std::uint32_t at) {
    const TriangleMesh::Triangle& t = mesh.triangle(at);
    for (const std::uint32_t v : mesh.triangle(triangle)) {
      const Vector3d& p = mesh.vertex(v);
      const double height = mesh.face_normal(at).dot(p - mesh.vertex(t[0]));
      if (!(height > 0) || height > most) continue;
      const Vector3d q = closest(p, mesh.vertex(t[0]), mesh.vertex(t[1]), mesh.vertex(t[2])).point;
      const double square = (p - q).squaredNorm();
      if (square > most * most || near_.size() == near_.capacity()) continue;
      if (!mesh.beyond_vertex(v, q - p, kConeSlack)) continue;
      near_.push_back({square, v, at, q});
    }
  };
  for (const SelfPairs::Pair& p : pairs.find(mesh, most)) look(p.a, p.b), look(p.b, p.a);
  std::sort(near_.begin(), near_.end(), [](const Near& a, const Near& b) {
    return std::tuple(a.vertex, a.square, a.triangle) < std::tuple(b.vertex, b.square, b.triangle);
  });
  for (std::size_t i = 0; i < near_.size(); ++i) {
    const Near& n = near_[i];
    if (i > 0 && near_[i - 1].vertex == n.vertex) continue;
    const double distance = std::sqrt(n.square);
    const Vector3d moves = pair.move(pair.body_a, n.vertex);
    if (distance > pair.skin + pair.within(moves, pair.body_a, n.triangle)) continue;
    TissueContact at;
    at.contact.pair = {kNoStrand, pair.a, kNoStrand, pair.a};
    at.contact.normal = (mesh.vertex(n.vertex) - n.point) / distance;
    at.contact.gap = distance - pair.skin;
    at.contact.on = {n.triangle, mesh.weights(n.triangle, n.point)};
    at.of = {mesh.owner(n.vertex), unit(corner_of(mesh.triangle(mesh.owner(n.vertex)), n.vertex))};
    at.kind = TissueContact::Kind::vertex;
    at.first = n.vertex;
    add(pair, at);
  }
}

// Vertices of one against the surface of the other.
void TissueContacts::find_vertices(const Pair& pair, TissueContact::Kind kind, const Moves& others) noexcept {
  const bool swapped = kind == TissueContact::Kind::other;
  const SoftBody &body = swapped ? pair.body_b : pair.body_a, &facing = swapped ? pair.body_a : pair.body_b;
  const TriangleMesh &mesh = body.surface(), &other = facing.surface();
  const std::size_t begun = contacts_.size();
  for (std::uint32_t v = 0; v < mesh.vertices(); ++v) {
    const Vector3d& p = mesh.vertex(v);
    if (box_distance(other, p, p) > pair.furthest()) continue;
    const Vector3d moves = pair.move(body, v);
    const double within = pair.skin + pair.within(moves, others);
    if (box_distance(other, p, p) > within) continue;
    TriangleMesh::Minima sides;
    other.minima(p, within, sides);
    std::uint32_t number = 0;
    for (const TriangleMesh::Nearest& side : sides) {
      if (number == kMostSides) break;
      if (side.distance > pair.skin + pair.within(moves, facing, side.triangle)) continue;
      if (!mesh.beyond_vertex(v, -side.normal, kConeSlack)) continue;
      TissueContact at;
      at.contact.pair = {kNoStrand, pair.a, kNoStrand, pair.b};
      at.contact.normal = swapped ? Vector3d(-side.normal) : side.normal;
      at.contact.gap = side.distance - pair.skin;
      at.kind = kind;
      at.first = v;
      at.number = number;
      const SurfacePlace own{mesh.owner(v), unit(corner_of(mesh.triangle(mesh.owner(v)), v))};
      const SurfacePlace on{side.triangle, other.weights(side.triangle, side.point)};
      at.of = swapped ? on : own;
      at.contact.on = swapped ? own : on;
      // Two vertices that are nearest to each other were met from the first side.
      Eigen::Index corner = 0;
      if (swapped && on.weight.maxCoeff(&corner) > kAtCorner) {
        const std::uint32_t w = other.triangle(on.triangle)[static_cast<std::size_t>(corner)];
        const bool known = std::any_of(
            contacts_.begin(), contacts_.begin() + static_cast<std::ptrdiff_t>(begun), [&](const TissueContact& c) {
              return c.contact.pair == at.contact.pair && c.first == w && c.contact.on.weight.maxCoeff() > kAtCorner &&
                     (c.contact.normal - at.contact.normal).squaredNorm() < 1e-12 &&
                     std::abs(c.contact.gap - at.contact.gap) < 1e-12;
            });
        if (known) continue;
      }
      ++number;
      add(pair, at);
    }
  }
}

// Ridges of the one against ridges of the other, where both places lie inside their edges.
void TissueContacts::find_edges(const Pair& pair, const Moves& others) noexcept {
  const TriangleMesh &mesh = pair.body_a.surface(), &other = pair.body_b.surface();
  for (std::uint32_t t = 0; t < mesh.triangles(); ++t)
    for (std::uint32_t k = 0; k < 3; ++k) {
      if (mesh.neighbour(t, k) > t) continue;
      const TriangleMesh::Triangle& corner = mesh.triangle(t);
      const Vector3d &p = mesh.vertex(corner[k]), &q = mesh.vertex(corner[(k + 1) % 3]);
      const Vector3d low = p.cwiseMin(q), high = p.cwiseMax(q);
      if (box_distance(other, low, high) > pair.furthest()) continue;
      const Vector3d by_p = pair.move(pair.body_a, corner[k]), by_q = pair.move(pair.body_a, corner[(k + 1) % 3]);
      const double most = pair.skin + std::max(pair.within(by_p, others), pair.within(by_q, others));
      if (box_distance(other, low, high) > most) continue;
      const double turn = turn_across(mesh, t, k);
      if (!(turn > 0)) continue;
      const std::size_t begun = contacts_.size();
      other.for_each_near(low, high, most, [&](std::uint32_t u) {
        double within = -1;
        for (std::uint32_t m = 0; m < 3; ++m) {
          if (other.neighbour(u, m) > u) continue;
          const TriangleMesh::Triangle& corners = other.triangle(u);
          const Vector3d &r = other.vertex(corners[m]), &s = other.vertex(corners[(m + 1) % 3]);
          const double gap = TriangleMesh::box_gap(low, high, r.cwiseMin(s), r.cwiseMax(s));
          if (gap > most * most) continue;
          if (within < 0)
            within = pair.skin + std::max(pair.within(by_p, pair.body_b, u), pair.within(by_q, pair.body_b, u));
          if (gap > within * within) continue;
          const Vector3d along = q - p, across = s - r;
          if (along.cross(across).squaredNorm() < kLeastSkew * along.squaredNorm() * across.squaredNorm()) continue;
          const TwoPlaces both = closest_places(p, q, r, s);
          if (!both.inside) continue;
          const Vector3d d = p + both.s * along - (r + both.t * across);
          const double size = d.norm();
          if (size > within || !(size > 0)) continue;
          // One that bears goes on as long as both are ridges at all: else it would come and go with what it does.
          const double least = bears(pair.a, pair.b, 3 * t + k, 3 * u + m) ? 0.0 : kLeastRidge;
          if (!(turn > least) || !(turn_across(other, u, m) > least)) continue;
          if (!mesh.beyond_edge(t, k, -d, kConeSlack) || !other.beyond_edge(u, m, d, kConeSlack)) continue;
          TissueContact at;
          at.contact.pair = {kNoStrand, pair.a, kNoStrand, pair.b};
          at.contact.normal = d / size;
          at.contact.gap = size - pair.skin;
          at.kind = TissueContact::Kind::edges;
          at.first = 3 * t + k;
          at.second = 3 * u + m;
          at.of = {t, (1 - both.s) * unit(k) + both.s * unit((k + 1) % 3)};
          at.contact.on = {u, (1 - both.t) * unit(m) + both.t * unit((m + 1) % 3)};
          add(pair, at);
        }
      });
      std::sort(contacts_.begin() + static_cast<std::ptrdiff_t>(begun), contacts_.end(),
                [](const TissueContact& a, const TissueContact& b) { return a.second < b.second; });
    }
}

bool TissueContacts::bears(std::uint32_t a, std::uint32_t b, std::uint32_t first, std::uint32_t second) const noexcept {
  const std::tuple wanted(a, b, TissueContact::Kind::edges, first, second);
  const auto at = std::lower_bound(before_.begin(), before_.end(), wanted,
                                   [](const TissueContact& c, const auto& k) { return key(c) < k; });
  return at != before_.end() && key(*at) == wanted && !at->contact.force.isZero(0);
}

// With the force that it had before: of several of a vertex the one whose normal was nearest.
void TissueContacts::add(const Pair& pair, TissueContact at) noexcept {
  if (held(pair.body_a, at.of) && held(pair.body_b, at.contact.on)) return;
  if (contacts_.size() == most_) {
    ++lost_;
    return;
  }
  std::size_t best = before_.size();
  double cosine = kSameSide;
  const auto first = std::lower_bound(before_.begin(), before_.end(), key(at),
                                      [](const TissueContact& c, const auto& k) { return key(c) < k; });
  for (auto o = static_cast<std::size_t>(first - before_.begin()); o < before_.size() && key(before_[o]) == key(at);
       ++o) {
    const double own = before_[o].contact.normal.dot(at.contact.normal);
    if (!handed_[o] && own > cosine) cosine = own, best = o;
  }
  if (best < before_.size()) {
    handed_[best] = 1;
    const StrandContact& was = before_[best].contact;
    const double along = was.normal.dot(was.force);
    const Vector3d across = was.force - along * was.normal;
    at.contact.force = along * at.contact.normal + (across - at.contact.normal.dot(across) * at.contact.normal);
    at.contact.sliding = was.sliding;
  }
  contacts_.push_back(at);
}

void TissueContacts::add_to(StateHash& hash) const noexcept {
  for (const TissueContact& c : contacts_) {
    hash.add(static_cast<std::uint64_t>(c.first) << 32 | c.second);
    hash.bytes(c.contact.force.data(), sizeof(double) * 3);
  }
}

}  // namespace ligature::contact
