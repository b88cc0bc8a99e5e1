#include "appliance/sim/strand_gap.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numbers>
#include <utility>

namespace ligature::simulate {
namespace {

constexpr std::size_t kParts = 8;  // of an edge

struct Edge {
  std::uint32_t thread, edge;
  Vec3 a, b;
  double bulge = 0;                // how far the centreline runs from a-b at most
  std::array<Vec3, kParts + 1> p;  // on the centreline
};

Vec3 between(Vec3 a, Vec3 b, double t) {
  return (1 - t) * a + t * b;
}

Vec3 second_difference(const Curve& c, std::size_t i) {
  const std::size_t n = c.x.size();
  if (!c.closed && (i == 0 || i + 1 == n)) return {};
  return c.x[i == 0 ? n - 1 : i - 1] - 2.0 * c.x[i] + c.x[c.next(i)];
}

// From the middle of the edge before a vertex to that of the edge behind it a parabola, or one that begins and ends
// nearer to the vertex so that it cuts no more than kMostCut off; at an open end half an edge.
Vec3 about_vertex(const Curve& c, std::size_t i, double t) {
  constexpr double kMostCut = 0.2;  // of the radius
  const std::size_t n = c.x.size(), before = i == 0 ? n - 1 : i - 1, behind = c.next(i);
  const Vec3 x = c.x[i];
  if (!c.closed && i == 0) return between(x, c.x[behind], t - 0.5);
  if (!c.closed && i + 1 == n) return between(c.x[before], x, 0.5 + t);
  const Vec3 bend = second_difference(c, i);
  const double most = 8 * kMostCut * c.radius_at(i), rounded = norm(bend) > most ? most / norm(bend) : 1.0;
  const Vec3 on_edge = between(x, t < 0.5 ? c.x[before] : c.x[behind], std::abs(t - 0.5));
  const double in = std::max(0.5 * rounded - std::abs(t - 0.5), 0.0);
  return rounded > 0 ? on_edge + (0.5 * in * in / rounded) * bend : on_edge;
}

Edge edge_of(const Curve& c, std::size_t thread, std::size_t i) {
  const std::size_t next = c.next(i);
  Edge e{static_cast<std::uint32_t>(thread), static_cast<std::uint32_t>(i), c.x[i], c.x[next], 0, {}};
  e.bulge = std::max(norm(second_difference(c, i)), norm(second_difference(c, next))) / 8;
  for (std::size_t k = 0; k <= kParts; ++k) {
    const double t = static_cast<double>(k) / kParts;
    e.p[k] = 2 * k <= kParts ? about_vertex(c, i, t + 0.5) : about_vertex(c, next, t - 0.5);
  }
  return e;
}

struct Cell {
  std::int32_t x, y, z;
  friend auto operator<=>(const Cell&, const Cell&) = default;
};

struct Segment {
  Vec3 a, b;
};

Segment halfway(const Segment& p, const Segment& q) {
  return {0.5 * (p.a + q.a), 0.5 * (p.b + q.b)};
}

bool stay_apart(const Segment& p0, const Segment& p1, const Segment& q0, const Segment& q1, int depth = 0) {
  constexpr int kHalvings = 24;
  const double nearer = std::max(norm(p1.a - p0.a), norm(p1.b - p0.b)) + std::max(norm(q1.a - q0.a), norm(q1.b - q0.b));
  const Vec3 between = 0.5 * (p0.a + p0.b - q0.a - q0.b);
  if (norm(between) - 0.5 * (norm(p0.b - p0.a) + norm(q0.b - q0.a)) > nearer) return true;
  if (nearest_places(p0.a, p0.b, q0.a, q0.b).distance > nearer) return true;
  if (depth == kHalvings) return false;
  const Segment p = halfway(p0, p1), q = halfway(q0, q1);
  return stay_apart(p0, p, q0, q, depth + 1) && stay_apart(p, p1, q, q1, depth + 1);
}

}  // namespace

Nearest nearest_places(Vec3 p0, Vec3 p1, Vec3 q0, Vec3 q1) {
  const Vec3 u = p1 - p0, v = q1 - q0, w = p0 - q0;
  const double uu = dot(u, u), uv = dot(u, v), vv = dot(v, v), uw = dot(u, w), vw = dot(v, w);
  const double den = uu * vv - uv * uv;
  double s = den > 0 ? std::clamp((uv * vw - vv * uw) / den, 0.0, 1.0) : 0.0;
  double t = vv > 0 ? (uv * s + vw) / vv : 0.0;
  if (t < 0 || t > 1) {
    t = std::clamp(t, 0.0, 1.0);
    s = uu > 0 ? std::clamp((uv * t - uw) / uu, 0.0, 1.0) : 0.0;
  }
  return {s, t, norm(w + s * u - t * v)};
}

std::optional<StrandGap> smallest_gap(const std::vector<Curve>& curves, double reach_mm) {
  std::vector<Edge> edges;
  double longest = 0, thickest = 0, farthest = 0;  // of edges with their centrelines
  for (std::size_t k = 0; k < curves.size(); ++k) {
    const Curve& c = curves[k];
    thickest = std::max(thickest, c.thickest());
    for (std::size_t i = 0; i < c.edges(); ++i) {
      edges.push_back(edge_of(c, k, i));
      longest = std::max(longest, norm(edges.back().b - edges.back().a) + 2 * edges.back().bulge);
      for (const double v : {edges.back().a.x, edges.back().a.y, edges.back().a.z})
        farthest = std::max(farthest, std::abs(v));
    }
  }
  // Edges go into the cell of their middle; those near each other are then in neighbouring cells.
  const double size = longest + 2 * thickest + reach_mm;
  if (!(size > 0) || !(farthest / size < 1e9)) return std::nullopt;
  std::vector<std::pair<Cell, std::uint32_t>> cells;
  cells.reserve(edges.size());
  const auto index = [size](double v) { return static_cast<std::int32_t>(std::floor(v / size)); };
  for (std::uint32_t e = 0; e < edges.size(); ++e) {
    const Vec3 m = 0.5 * (edges[e].a + edges[e].b);
    cells.push_back({{index(m.x), index(m.y), index(m.z)}, e});
  }
  std::sort(cells.begin(), cells.end());

  std::optional<StrandGap> best;
  const auto look = [&](const Edge& p, const Edge& q) {
    if (p.thread == q.thread && p.edge == q.edge) return;
    const Curve &a = curves[p.thread], &b = curves[q.thread];
    // Of an edge of which one end is thicker, the place counts as its nearer end.
    const auto radius = [](const Curve& c, std::size_t edge, double at) {
      return c.radius_at(at < 0.5 ? edge : c.next(edge));
    };
    const double radii =
        std::max(radius(a, p.edge, 0), radius(a, p.edge, 1)) + std::max(radius(b, q.edge, 0), radius(b, q.edge, 1));
    const auto most = [&] { return radii + (best ? std::min(best->gap_mm, reach_mm) : reach_mm); };
    if (nearest_places(p.a, p.b, q.a, q.b).distance - p.bulge - q.bulge > most()) return;
    for (std::size_t k = 0; k < kParts; ++k)
      for (std::size_t l = 0; l < kParts; ++l) {
        const double halves = 0.5 * (norm(p.p[k + 1] - p.p[k]) + norm(q.p[l + 1] - q.p[l]));
        if (0.5 * norm(p.p[k] + p.p[k + 1] - q.p[l] - q.p[l + 1]) - halves > most()) continue;
        const Nearest near = nearest_places(p.p[k], p.p[k + 1], q.p[l], q.p[l + 1]);
        const double at_a = (static_cast<double>(k) + near.s) / kParts;
        const double at_b = (static_cast<double>(l) + near.t) / kParts;
        const double radius_a = radius(a, p.edge, at_a), radius_b = radius(b, q.edge, at_b);
        const double gap = near.distance - radius_a - radius_b;
        if (gap > reach_mm || (best && gap >= best->gap_mm)) continue;
        if (a.origin == b.origin) {  // the ends that a cut made lie on each other
          const double s = a.s_mm[p.edge] + at_a * a.edge_mm(p.edge), t = b.s_mm[q.edge] + at_b * b.edge_mm(q.edge);
          const double arc = a.closed ? a.arc_between(s, t) : arc_before_cuts(a, s, b, t);
          if (arc < std::numbers::pi * std::max(radius_a, radius_b)) continue;
        }
        best = {gap, gap / std::min(radius_a, radius_b), p.thread, p.edge, q.thread, q.edge};
      }
  };
  for (std::size_t first = 0; first < cells.size();) {
    const Cell at = cells[first].first;
    std::size_t last = first;
    while (last < cells.size() && cells[last].first == at) ++last;
    // Every pair of cells once: this one, and the thirteen neighbours behind it in the order of cells.
    for (std::int32_t dx = 0; dx <= 1; ++dx)
      for (std::int32_t dy = dx == 0 ? 0 : -1; dy <= 1; ++dy)
        for (std::int32_t dz = dx == 0 && dy == 0 ? 0 : -1; dz <= 1; ++dz) {
          const Cell other{at.x + dx, at.y + dy, at.z + dz};
          const bool same = other == at;
          const auto behind = cells.begin() + static_cast<std::ptrdiff_t>(same ? first : last);
          auto it = std::lower_bound(behind, cells.end(), std::pair<Cell, std::uint32_t>{other, 0});
          for (; it != cells.end() && it->first == other; ++it)
            for (std::size_t i = first; i < last; ++i)
              if (!same || cells[i].second < it->second) look(edges[cells[i].second], edges[it->second]);
        }
    first = last;
  }
  return best;
}

namespace {

/// The curve with a vertex at each of these arcs, its own among them.
Curve divided(const Curve& c, const std::vector<double>& at) {
  Curve out = c;
  out.x.clear();
  out.s_mm = at;
  std::size_t i = 0;
  for (const double s : at) {
    while (i + 1 < c.edges() && c.s_mm[i + 1] <= s) ++i;
    out.x.push_back(c.x[i] + (s - c.s_mm[i]) / c.edge_mm(i) * (c.x[c.next(i)] - c.x[i]));
  }
  return out;
}

/// Rest arc from the end of one edge to the start of another [mm].
double arc_behind(const Curve& c, std::size_t edge, std::size_t other) {
  return c.arc_between(c.s_mm[edge] + c.edge_mm(edge), c.s_mm[other]);
}

/// An edge on its way: the box round where it was and where it is.
struct Swept {
  std::size_t thread = 0, edge = 0;
  std::array<double, 3> low{}, high{};
};

std::vector<Swept> swept_edges(const std::vector<Curve>& before, const std::vector<Curve>& after) {
  std::vector<Swept> out;
  for (std::size_t k = 0; k < before.size(); ++k)
    for (std::size_t i = 0; i < before[k].edges(); ++i) {
      const std::size_t next = before[k].next(i);
      Swept s{k, i, {}, {}};
      s.low.fill(std::numeric_limits<double>::infinity());
      s.high.fill(-std::numeric_limits<double>::infinity());
      for (const Vec3 p : {before[k].x[i], before[k].x[next], after[k].x[i], after[k].x[next]}) {
        const std::array<double, 3> at{p.x, p.y, p.z};
        for (std::size_t a = 0; a < 3; ++a)
          s.low[a] = std::min(s.low[a], at[a]), s.high[a] = std::max(s.high[a], at[a]);
      }
      out.push_back(s);
    }
  return out;
}

/// The axis along which they are spread furthest.
std::size_t longest_axis(const std::vector<Swept>& all) {
  std::size_t longest = 0;
  double most = -1;
  for (std::size_t a = 0; a < 3; ++a) {
    const auto [low, high] = std::minmax_element(all.begin(), all.end(),
                                                 [a](const Swept& p, const Swept& q) { return p.low[a] < q.low[a]; });
    if (low != all.end() && high->low[a] - low->low[a] > most) most = high->low[a] - low->low[a], longest = a;
  }
  return longest;
}

bool meet(const Swept& p, const Swept& q) {
  for (std::size_t a = 0; a < 3; ++a)
    if (p.low[a] > q.high[a] || q.low[a] > p.high[a]) return false;
  return true;
}

/// An adaptive thread may have other vertices afterwards: both get those of both.
void divide_alike(Curve& a, Curve& b) {
  std::vector<double> at;
  std::merge(a.s_mm.begin(), a.s_mm.end(), b.s_mm.begin(), b.s_mm.end(), std::back_inserter(at));
  const double same = 1e-9 * a.rest_length_mm;
  at.erase(std::unique(at.begin(), at.end(), [same](double p, double q) { return q - p < same; }), at.end());
  a = divided(a, at);
  b = divided(b, at);
}

}  // namespace

bool may_have_passed(std::vector<Curve> before, std::vector<Curve> after, double beside_mm) {
  if (before.size() != after.size()) return true;
  for (std::size_t k = 0; k < before.size(); ++k) {
    if (before[k].closed != after[k].closed) return true;
    if (before[k].s_mm == after[k].s_mm) continue;
    if (std::abs(before[k].rest_length_mm - after[k].rest_length_mm) > 1e-9 * after[k].rest_length_mm) return true;
    divide_alike(before[k], after[k]);
  }
  std::vector<Swept> all = swept_edges(before, after);
  const std::size_t axis = longest_axis(all);
  std::sort(all.begin(), all.end(), [axis](const Swept& p, const Swept& q) { return p.low[axis] < q.low[axis]; });
  for (std::size_t p = 0; p < all.size(); ++p)
    for (std::size_t q = p + 1; q < all.size() && all[q].low[axis] <= all[p].high[axis]; ++q) {
      if (!meet(all[p], all[q])) continue;
      const auto [k, i] = std::pair(all[p].thread, all[p].edge);
      const auto [l, j] = std::pair(all[q].thread, all[q].edge);
      const std::size_t i1 = before[k].next(i), j1 = before[l].next(j);
      if (k == l && (i1 == j || j1 == i)) continue;
      if (k == l && std::min(arc_behind(before[k], i, j), arc_behind(before[k], j, i)) < beside_mm) continue;
      if (!stay_apart({before[k].x[i], before[k].x[i1]}, {after[k].x[i], after[k].x[i1]},
                      {before[l].x[j], before[l].x[j1]}, {after[l].x[j], after[l].x[j1]}))
        return true;
    }
  return false;
}

bool may_be_tied_otherwise(const world::WorldParams& drawn, const std::vector<Curve>& now) {
  std::vector<Curve> before = now;
  double thickest = 0;
  for (std::size_t k = 0; k < std::min(before.size(), drawn.threads.size()); ++k) {
    const world::ThreadParams& t = drawn.threads[k];
    thickest = std::max(thickest, 0.5 * t.diameter_mm);
    if (t.needle || t.points.size() < 2) continue;
    Curve& c = before[k];
    c.x = t.points;
    c.s_mm.assign(1, 0);
    for (std::size_t i = 0; i + 1 < c.x.size(); ++i) c.s_mm.push_back(c.s_mm.back() + norm(c.x[i + 1] - c.x[i]));
    const double length = c.s_mm.back() + (c.closed ? norm(c.x.front() - c.x.back()) : 0);
    for (double& s : c.s_mm) s *= c.rest_length_mm / length;
  }
  return may_have_passed(std::move(before), now, std::numbers::pi * thickest);
}

}  // namespace ligature::simulate
