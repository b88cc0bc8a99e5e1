#include "sim/contact/mesh_contacts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "sim/contact/smooth_curve.hpp"
#include "sim/contact/soft_body.hpp"
#include "sim/contact/tolerances.hpp"
#include "sim/contact/zero_of.hpp"

namespace ligature::contact {
namespace {

constexpr double kConeSlack = 0.1;     // sine by which the way to the curve may leave the normal cone of a feature
constexpr double kLeastDeeper = 1e-4;  // of the radius, that an edge or face is nearer than where it ends
constexpr double kSamePlace = 1e-9;    // [edges]
constexpr double kRounding = 1e-12;    // of half the slope of a squared distance along the curve [mm^2 per edge]
constexpr int kMostLooks = 24;
constexpr double kSaid = 0.01;        // of its radius, that a plane may differ from a feature and stand for it, ...
constexpr double kSaidTurn = 0.9995;  // ... and the cosine between their normals
constexpr double kLeastAcross = 0.2;  // of a normal at the end of a passage, that is across the strand
constexpr double kMissed = 0.25;      // of its radius, that a polyline may be nearer than contacts say: above kMostCut

auto key(const BodyContact& c) {
  return std::tuple(c.contact.pair.strand_a, c.contact.pair.edge_b, c.number, c.feature);
}

double place_of(const BodyContact& c) {
  return c.contact.pair.edge_a + c.contact.sa;
}

// Half an edge on either side of a vertex: less at the end of an open strand, or where a passage begins.
struct Piece {
  const Strand& strand;
  const Vector3d& there;  // where the body is: places are seen from it
  std::uint32_t vertex;
  double first = -0.5, last = 0.5;
  bool begins = false, ends = false;        // there, nothing beside it goes on
  bool from_hole = false, to_hole = false;  // ... but the strand, through a hole
  Vector3d from, to, in, out;               // places of the curve, and its slopes there

  Piece(const Strand& s, std::uint32_t i, const Vector3d& origin) : strand(s), there(origin), vertex(i) {
    if (!s.closed && i == 0) first = 0, begins = true;
    if (!s.closed && i + 1 == s.vertices) last = 0, ends = true;
  }
  // What is left of it beside a passage: nothing, or the part on one side.
  void leave(const Passage& p) {
    const double enters = p.from - vertex, leaves = p.to - vertex;
    if (leaves < first || enters > last) return;
    if (enters > first)
      last = enters, ends = to_hole = true;
    else
      first = leaves, begins = from_hole = true;
  }
  bool empty() const { return !(first <= last); }
  double middle() const { return std::clamp(0.0, first, last); }
  void find_ends() {
    const CurvePoint a = at(first), b = at(last);
    from = a.p, in = a.d1, to = b.p, out = b.d1;
  }
  CurvePoint at(double d) const {
    CurvePoint c = curve_at(strand, vertex + d);
    c.p -= there;
    return c;
  }
  struct Place {
    std::uint32_t edge;
    double s;
  };
  Place place(double d) const {
    double u = vertex + d;
    if (u < 0) u += static_cast<double>(strand.vertices);
    const double edge = std::min(std::floor(u), static_cast<double>(strand.edges() - 1));
    return {static_cast<std::uint32_t>(edge), u - edge};
  }
};

// Where a distance whose slope along the curve is given comes to its least in the piece; none: no place of it.
// @param slope of the distance or of a function that grows with it, at a point of the curve with this tangent
template <class Slope>
bool least_at(const Piece& piece, const Slope& slope, double& d, double hold = 0) {
  const double middle = piece.middle();
  const auto held = [&](double at, double rises) { return rises + hold * (at - middle); };
  const double low = held(piece.first, slope(piece.from, piece.in));
  const double high = held(piece.last, slope(piece.to, piece.out));
  if (piece.begins && low >= 0) return d = piece.first, true;
  if (piece.ends && high < 0) return d = piece.last, true;
  if (!(low < 0 && high >= 0)) return false;
  if (high == 0) return d = piece.last, true;
  d = zero_of(piece.first, low, piece.last, high, kSamePlace, kMostLooks, [&](double at) {
    const CurvePoint c = piece.at(at);
    return held(at, slope(c.p, c.d1));
  });
  return true;
}

// That no surface runs through, outside where its radius is positive.
struct Ball {
  Vector3d centre = Vector3d::Zero();
  double radius = -1e30;
};

double along_segment(const Vector3d& x, const Vector3d& p, const Vector3d& edge) {
  return std::clamp((x - p).dot(edge) / edge.squaredNorm(), 0.0, 1.0);
}

}  // namespace

MeshContacts::MeshContacts(std::size_t most_contacts) : most_(most_contacts) {
  for (std::vector<BodyContact>* v : {&known_, &contacts_, &before_}) v->reserve(most_contacts);
  places_.reserve(most_contacts);
}

void MeshContacts::remember() noexcept {
  known_ = contacts_;
  while (!known_.empty() && known_.back().contact.kind == StrandContact::Kind::stop) known_.pop_back();
}

std::size_t MeshContacts::find(const Strand* strands, std::size_t count, const Bodies& bodies, double least_reach,
                               const std::vector<Passage>* passages, const std::vector<double>* moves) noexcept {
  while (!contacts_.empty() && contacts_.back().contact.kind == StrandContact::Kind::stop) contacts_.pop_back();
  before_.swap(contacts_);
  contacts_.clear();
  std::size_t lost = 0;
  for (std::uint32_t k = 0; k < count; ++k)
    for (std::uint32_t b = 0; b < bodies.count; ++b) {
      const Obstacle& body = *bodies.body[b];
      if (!body.surface()) continue;
      const SoftBody* const soft = bodies.soft_of(b);
      const Strand& s = strands[k];
      const TriangleMesh& mesh = soft ? soft->surface() : *body.surface();
      const Vector3d there = soft ? Vector3d(0, 0, 0) : body.shift(bodies.at);
      Ball clear;
      for (std::uint32_t i = 0; i < s.vertices; ++i) {
        // The curve stays among its control points.
        const std::size_t last = s.vertices - 1, first_end = s.closed ? last : 0, last_end = s.closed ? 0 : last;
        const std::size_t left = i > 0 ? i - 1 : first_end, right = i < last ? i + 1 : last_end;
        const Vector3d &before = s.x[left], &behind = s.x[right];
        const double reach = least_reach + (moves ? std::max({moves[k][left], moves[k][i], moves[k][right]}) : 0.0);
        const double thick = std::max(s.thickest(i > 0 ? i - 1 : s.edges() - 1), s.thickest(i < s.edges() ? i : i - 1));
        if (body.box_distance(before.cwiseMin(s.x[i]).cwiseMin(behind), before.cwiseMax(s.x[i]).cwiseMax(behind)) >
            thick + reach)
          continue;
        Piece piece(s, i, there);
        if (passages)
          for (const Passage& p : *passages)
            if (p.strand == k && p.body == b) piece.leave(p);
        if (piece.empty()) continue;
        piece.find_ends();
        const auto halts = [&](double d) {
          return (piece.begins && d == piece.first) || (piece.ends && d == piece.last);
        };
        const Vector3d corner = s.x[i] - there;  // of the polyline
        const Vector3d low = piece.from.cwiseMin(piece.to).cwiseMin(corner);
        const Vector3d high = piece.from.cwiseMax(piece.to).cwiseMax(corner);
        if (body.box_distance(low + there, high + there) > thick + reach) continue;

        double least = 0;  // gap of all in this piece, where they are deep
        const auto take = [&](double d, const Vector3d& way, double distance, double bend, StrandFeature kind,
                              std::uint32_t feature, const SurfacePlace& on) {
          const auto [edge, part] = piece.place(d);
          // What runs out of a hole has its end where the hole is and not where it was drawn: going along itself it
          // comes no nearer, and is not pushed along.
          Vector3d normal = way;
          double across = 1;
          if (kind != StrandFeature::inside &&
              ((piece.from_hole && d == piece.first) || (piece.to_hole && d == piece.last))) {
            const Vector3d along = piece.at(d).d1.normalized();
            normal -= along.dot(way) * along;
            across = normal.norm();
            if (across < kLeastAcross) return;
            normal /= across;
          }
          BodyContact c;
          c.contact.pair = {k, edge, kNoStrand, b};
          c.contact.sa = part;
          c.contact.kind = StrandContact::Kind::beside;
          c.contact.normal = normal;
          c.contact.gap = (distance - s.radius_at(edge, part)) / across;
          if (c.contact.gap > reach) return;
          least = std::min(least, c.contact.gap);
          c.contact.on = on;
          c.vertex = i;
          c.number = static_cast<std::uint32_t>(kind);
          c.feature = feature;
          c.bend = halts(d) ? 0 : std::max(0.0, bend);
          if (contacts_.size() == most_)
            ++lost;
          else
            contacts_.push_back(c);
        };
        const std::size_t first_here = contacts_.size();
        // Rounding of a gap must not decide.
        const double most = (1 + 1e-12) * (thick + reach);
        mesh.for_each_near(low, high, thick + reach, [&](std::uint32_t t) {
          const TriangleMesh::Triangle& v = mesh.triangle(t);
          const std::array<Vector3d, 3> x{mesh.vertex(v[0]), mesh.vertex(v[1]), mesh.vertex(v[2])};
          // The leaves of the hierarchy hold several.
          const Vector3d own_low = x[0].cwiseMin(x[1]).cwiseMin(x[2]), own_high = x[0].cwiseMax(x[1]).cwiseMax(x[2]);
          if (TriangleMesh::box_gap(low, high, own_low, own_high) > most * most) return;
          // How the distance to each corner changes where the piece begins and where it ends: that to a place of an
          // edge changes by something between.
          std::array<double, 3> leaves{}, arrives{};
          for (std::size_t e = 0; e < 3; ++e) {
            leaves[e] = (piece.from - x[e]).dot(piece.in);
            arrives[e] = (piece.to - x[e]).dot(piece.out);
          }
          const auto may_turn = [&](std::size_t e, std::size_t f) {
            return piece.begins || piece.ends ||
                   (std::min(leaves[e], leaves[f]) < kRounding && std::max(arrives[e], arrives[f]) > -kRounding);
          };
          double d = 0;
          for (std::size_t e = 0; e < 3; ++e) {
            if (mesh.owner(v[e]) == t && may_turn(e, e) &&
                least_at(
                    piece, [&](const Vector3d& c, const Vector3d& along) { return (c - x[e]).dot(along); }, d)) {
              const CurvePoint c = piece.at(d);
              const Vector3d way = c.p - x[e];
              const double distance = way.norm();
              if (distance > 0 && mesh.beyond_vertex(v[e], way / distance, kConeSlack))
                take(d, way / distance, distance, (way.dot(c.d2) + c.d1.squaredNorm()) / distance,
                     StrandFeature::vertex, v[e], {t, Vector3d::Unit(static_cast<Eigen::Index>(e))});
            }
            const std::size_t f = (e + 1) % 3;
            if (mesh.neighbour(t, e) > t || !may_turn(e, f)) continue;
            const Vector3d edge = x[f] - x[e];
            if (!least_at(
                    piece,
                    [&](const Vector3d& c, const Vector3d& along) {
                      return (c - x[e] - along_segment(c, x[e], edge) * edge).dot(along);
                    },
                    d))
              continue;
            const CurvePoint c = piece.at(d);
            const double part = along_segment(c.p, x[e], edge);
            if (!(part > 0 && part < 1)) continue;
            const Vector3d way = c.p - x[e] - part * edge;
            const double distance = way.norm();
            if (!(distance > 0) || !mesh.beyond_edge(t, e, way / distance, kConeSlack)) continue;
            // Beside an edge that lies along the curve its ends say it.
            const double with = c.d1.dot(edge) / edge.squaredNorm(), until = std::min(part, 1 - part);
            const double bend = (way.dot(c.d2) + c.d1.squaredNorm() - with * with * edge.squaredNorm()) / distance;
            if (!halts(d) && bend * until * until < 2 * kLeastDeeper * s.radius * with * with) continue;
            Vector3d weight = Vector3d::Zero();
            weight[static_cast<Eigen::Index>(e)] = 1 - part, weight[static_cast<Eigen::Index>(f)] = part;
            take(d, way / distance, distance, bend, StrandFeature::edge, 3 * t + static_cast<std::uint32_t>(e),
                 {t, weight});
          }
          const Vector3d& n = mesh.face_normal(t);
          const double hold = kFaceHold * s.radius;
          if (!least_at(
                  piece, [&](const Vector3d&, const Vector3d& along) { return n.dot(along); }, d, hold))
            return;
          const CurvePoint c = piece.at(d);
          const double height = n.dot(c.p - x[0]), bend = n.dot(c.d2) + hold;
          if (!(height > 0)) return;
          const Vector3d foot = c.p - height * n;
          for (std::size_t e = 0; e < 3; ++e)
            if (n.cross(x[(e + 1) % 3] - x[e]).dot(foot - x[e]) < 0) return;  // beside it
          take(d, n, height, bend, StrandFeature::face, t, {t, mesh.weights(t, foot)});
        });

        if (!soft) thin(s, first_here);
        // What of the polyline lies deeper. Beside a hole it would take turns with the place where the thread enters
        // it.
        const double radius = s.radius_of(i);
        const auto deeper = [&] {
          if ((piece.to - piece.from).norm() <= 2 * radius) return false;
          if (passages && passes(*passages, k, b, i - 0.5, i + 0.5, true)) return false;
          TriangleMesh::Nearest nearest;
          double d = 0, within = least + radius;
          const auto look = [&](const Vector3d& p, const Vector3d& q, double at) {
            if (p == q || !(within > 0)) return;
            const TriangleMesh::Nearest on = mesh.nearest(p, q, within);
            if (on.found && on.distance < within) nearest = on, within = on.distance, d = at + 0.5 * on.s;
          };
          look(piece.from, corner, -0.5);
          look(corner, piece.to, 0);
          if (!nearest.found || !(nearest.distance > 0)) return false;
          BodyContact wanted;
          wanted.contact.pair = {k, 0, kNoStrand, b};
          wanted.number = static_cast<std::uint32_t>(StrandFeature::polyline), wanted.feature = i;
          const auto was = std::lower_bound(before_.begin(), before_.end(), wanted,
                                            [](const BodyContact& c, const BodyContact& w) { return key(c) < key(w); });
          const bool known = was != before_.end() && key(*was) == key(wanted);
          if (!known && nearest.distance > least + radius - kMissed * radius) return false;
          if (!(mesh.nearest(corner, within + 2 * (high - low).norm()).distance > 0)) return false;
          take(d, nearest.normal, nearest.normal.dot(piece.at(d).p - nearest.point), 0, StrandFeature::polyline, i,
               {nearest.triangle, mesh.weights(nearest.triangle, nearest.point)});
          return true;
        };
        if (deeper()) continue;
        const double middle = piece.middle();
        const Vector3d centre = piece.at(middle).p;
        if ((centre.array() < mesh.low().array()).any() || (centre.array() > mesh.high().array()).any()) continue;
        const double from = (centre - clear.centre).norm();
        if (from < clear.radius) continue;
        const double within =
            std::min((mesh.high() - mesh.low()).norm(), (1 + 1e-12) * (std::abs(clear.radius) + from));
        const TriangleMesh::Nearest out = mesh.nearest(centre, within);
        if (out.found) clear = {centre, out.distance};
        if (out.found && out.distance < 0)
          take(middle, out.normal, out.distance, 0, StrandFeature::inside, i,
               {out.triangle, mesh.weights(out.triangle, out.point)});
      }
    }
  hand_on();
  return lost;
}

// Of those from `first` on, which are of one piece. What was kept before is kept again, so that no two take turns; else
// faces go first, whose places stay at the middle.
void MeshContacts::thin(const Strand& strand, std::size_t first) noexcept {
  const auto begin = contacts_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto known = std::partition(begin, contacts_.end(), [&](const BodyContact& c) {
    const auto was = std::lower_bound(before_.begin(), before_.end(), c,
                                      [](const BodyContact& a, const BodyContact& b) { return key(a) < key(b); });
    return was != before_.end() && key(*was) == key(c);
  });
  const auto earlier = [](const BodyContact& a, const BodyContact& b) {
    const auto rank = [](const BodyContact& c) {
      return std::tuple(c.number != static_cast<std::uint32_t>(StrandFeature::face), c.contact.gap, key(c));
    };
    return rank(a) < rank(b);
  };
  std::sort(begin, known, earlier);
  std::sort(known, contacts_.end(), earlier);
  places_.clear();
  auto kept = begin;
  for (auto c = begin; c != contacts_.end(); ++c) {
    const Vector3d place = curve_at(strand, place_of(*c)).p;
    const auto says = [&](const BodyContact& k, const Vector3d& at) {
      const Vector3d& n = k.contact.normal;
      return n.dot(c->contact.normal) > kSaidTurn &&
             std::abs(n.dot(place - at) + k.contact.gap - c->contact.gap) < kSaid * strand.radius;
    };
    bool said = false;
    for (auto k = begin; k != kept && !said; ++k) said = says(*k, places_[static_cast<std::size_t>(k - begin)]);
    if (said) continue;
    places_.push_back(place);
    if (kept != c) *kept = *c;
    ++kept;
  }
  contacts_.erase(kept, contacts_.end());
}

// Forces of before: of several with one feature that of the nearest place.
void MeshContacts::hand_on() noexcept {
  const auto earlier = [](const BodyContact& a, const BodyContact& b) {
    return key(a) != key(b) ? key(a) < key(b) : place_of(a) < place_of(b);
  };
  std::sort(contacts_.begin(), contacts_.end(), earlier);
  auto first = before_.begin();
  for (auto c = contacts_.begin(); c != contacts_.end(); ++c) {
    while (first != before_.end() && key(*first) < key(*c)) ++first;
    auto best = before_.end();
    for (auto was = first; was != before_.end() && key(*was) == key(*c); ++was)
      if (best == before_.end() || std::abs(place_of(*was) - place_of(*c)) < std::abs(place_of(*best) - place_of(*c)))
        best = was;
    if (best == before_.end()) continue;
    // Two may not have the force of one.
    const auto nearer = [&](const BodyContact& other) {
      return key(other) == key(*c) &&
             std::abs(place_of(*best) - place_of(other)) < std::abs(place_of(*best) - place_of(*c));
    };
    if (std::any_of(contacts_.begin(), contacts_.end(), nearer)) continue;
    c->contact.force = turned(best->contact.force, best->contact.normal, c->contact.normal);
    c->contact.sliding = best->contact.sliding;
  }
}

// Gives every place of the strand a new (strand, edge, part); what counts by the strand's vertices goes with them.
template <class Rename>
void MeshContacts::rename(std::uint32_t strand, Rename rename, std::uint32_t round) noexcept {
  for (std::vector<BodyContact>* contacts : {&known_, &contacts_}) {
    while (!contacts->empty() && contacts->back().contact.kind == StrandContact::Kind::stop) contacts->pop_back();
    for (BodyContact& c : *contacts) {
      EdgePair& pair = c.contact.pair;
      if (pair.strand_a != strand) continue;
      EdgePair of_vertex = pair;  // whose half edges it is on: an end of its edge
      double at = c.vertex == pair.edge_a ? 0.0 : 1.0;
      rename(of_vertex.strand_a, of_vertex.edge_a, at);
      rename(pair.strand_a, pair.edge_a, c.contact.sa);
      c.vertex = of_vertex.edge_a + static_cast<std::uint32_t>(std::lround(at));
      if (std::abs(place_of(c) - c.vertex) > 0.5 + kSamePlace)  // edges are shorter now
        c.vertex = pair.edge_a + static_cast<std::uint32_t>(std::lround(c.contact.sa));
      if (c.vertex == round) c.vertex = 0;
      if (c.number >= static_cast<std::uint32_t>(StrandFeature::polyline)) c.feature = c.vertex;
    }
    std::sort(contacts->begin(), contacts->end(), [](const BodyContact& a, const BodyContact& b) {
      return key(a) != key(b) ? key(a) < key(b) : place_of(a) < place_of(b);
    });
  }
}

void MeshContacts::divide(std::uint32_t strand, std::uint32_t vertex, std::uint32_t piece) noexcept {
  rename(strand, [&](std::uint32_t& k, std::uint32_t& edge, double&) {
    if (edge < vertex) return;
    k = piece;
    edge -= vertex;
  });
}

void MeshContacts::open(std::uint32_t strand, std::uint32_t vertex, std::uint32_t edges) noexcept {
  rename(strand, [&](std::uint32_t&, std::uint32_t& edge, double&) { edge = (edge + edges - vertex) % edges; });
}

void MeshContacts::regrade(std::uint32_t strand, const EdgeMove* moves, std::uint32_t round) noexcept {
  rename(
      strand, [&](std::uint32_t&, std::uint32_t& edge, double& s) { moves[edge].take(edge, s); }, round);
}

void MeshContacts::add_to(StateHash& hash) const noexcept {
  for (const BodyContact& c : contacts_) {
    hash.add(static_cast<std::uint64_t>(c.feature) << 32 | c.number);
    hash.bytes(c.contact.force.data(), sizeof(double) * 3);
    hash.bytes(c.contact.normal.data(), sizeof(double) * 3);
  }
}

}  // namespace ligature::contact
