#include "sim/contact/edge_places.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace ligature::contact {
namespace {

constexpr double kPull = 0.03;    // mu: makes 0.2 % of the sum of radii for edges as long as that sum
constexpr double kGoesOn = 0.01;  // slope of the distance below which the next edge comes nearer
constexpr double kAtEnd = 1e-12;  // of an edge
constexpr double kPoint = 1e-9;   // an edge shorter than that part of the radii is a point
constexpr double kNever = std::numeric_limits<double>::infinity();

struct Edge {
  Vector3d start, along{0, 0, 0};  // unit, or zero of a point
  double length = 0;
};

Edge edge_of(const Strand& strand, std::uint32_t index, double point) noexcept {
  Edge e;
  e.start = strand.x[index];
  const Vector3d along = strand.x[strand.next(index)] - e.start;
  const double length = along.norm();
  if (length <= point) return e;
  e.length = length;
  e.along = along / length;
  return e;
}

// t - slope s of places (s, t) that arc allows, in rest lengths of `other`, from `edge` on to `other`, edge < other.
struct Window {
  double low = -kNever, high = kNever, slope = 1;
  bool empty() const { return !(low < 1.0 && high > -slope && low <= high); }
};

Window window_of(const Strand& strand, std::uint32_t edge, std::uint32_t other) noexcept {
  if (strand.node) {
    const double length = strand.length_of(other), least = std::numbers::pi * strand.radius;
    Window w;
    w.slope = strand.length_of(edge) / length;
    w.low = (least - strand.arc_between(edge, other)) / length - w.slope;
    if (edge == other) w.low = kNever;
    if (strand.closed) w.high = (strand.arc_round(edge, other) - least) / length + 1;
    return w;
  }
  const double least = std::numbers::pi * strand.radius / strand.rest_length,
               between = static_cast<double>(other) - static_cast<double>(edge);
  Window w{least - between, kNever};
  if (!(strand.rest_length > 0)) w.low = kNever;
  if (strand.closed) w.high = static_cast<double>(strand.edges()) - between - least;
  return w;
}

double to_end(double s) noexcept {
  return s < kAtEnd ? 0.0 : s > 1.0 - kAtEnd ? 1.0 : s;
}

// One cell: r + x a - y b, pulled with weight mu towards (x_m, y_m).
struct Cell {
  Edge a, b;
  Vector3d r{0, 0, 0};
  double c = 0, mu = 0, xm = 0, ym = 0;

  Cell(const Edge& edge_a, const Edge& edge_b, double radii) noexcept : a(edge_a), b(edge_b), r(a.start - b.start) {
    c = a.along.dot(b.along);
    const double longer = std::max({a.length, b.length, radii});
    const double c2 = c * c, c8 = c2 * c2 * c2 * c2;
    mu = kPull * c8 * (radii / longer) * (radii / longer);
    // Along the mean direction the edges cover [0, end] and [from, to] (in this order or backwards).
    const double turn = c < 0 ? -1.0 : 1.0;
    const Vector3d mean = a.along + turn * b.along;
    const double cosine = 0.5 * mean.norm();
    if (!(cosine > 0) || a.length == 0 || b.length == 0) {
      mu = 0;
      return;
    }
    const Vector3d u = mean / (2 * cosine);
    const double end = a.length * cosine, first = -r.dot(u), second = first + turn * b.length * cosine;
    const double from = std::min(first, second), to = std::max(first, second);
    const double middle = 0.5 * (std::max(0.0, from) + std::min(end, to));
    xm = std::clamp(middle / cosine, 0.0, a.length);
    ym = std::clamp(turn * (middle - first) / cosine, 0.0, b.length);
  }

  double best_x(double y, double pull) const noexcept {
    return std::clamp((c * y - a.along.dot(r) + pull * xm) / (1 + pull), 0.0, a.length);
  }
  double best_y(double x, double pull) const noexcept {
    return std::clamp((c * x + b.along.dot(r) + pull * ym) / (1 + pull), 0.0, b.length);
  }
  double share_x(double x) const noexcept { return a.length > 0 ? to_end(x / a.length) : 0.5; }
  double share_y(double y) const noexcept { return b.length > 0 ? to_end(y / b.length) : 0.5; }

  // The least over the cell. Clamping x, then y, then x again is exact: what is minimised is convex.
  void least(double& s, double& t) const noexcept {
    const double k = 1 + mu, p = mu * xm - a.along.dot(r), q = mu * ym + b.along.dot(r), det = k * k - c * c;
    double x = det > 0 ? std::clamp((k * p + c * q) / det, 0.0, a.length) : xm;
    const double y = best_y(x, mu);
    x = best_x(y, mu);
    s = share_x(x);
    t = share_y(y);
    // From a vertex the other edge needs no pull; and the pairs on both sides of the vertex find the same place.
    const bool s_ends = s == 0 || s == 1, t_ends = t == 0 || t == 1;
    if (s_ends && !t_ends) t = share_y(best_y(x, 0));
    if (t_ends && !s_ends) s = share_x(best_x(y, 0));
  }

  // The least along t - slope s = shift.
  void least_on(double shift, double slope, double& s, double& t) const noexcept {
    const double across = slope * b.length;  // of b, for one s
    const Vector3d at = r - shift * b.length * b.along, g = a.length * a.along - across * b.along;
    const double aa = a.length * a.length, bb = across * across, det = g.squaredNorm() + mu * (aa + bb);
    const double low = std::max(0.0, -shift / slope), high = std::min(1.0, (1.0 - shift) / slope);
    double best = 0.5 * (low + high);
    if (det > 0) best = (mu * (a.length * xm + across * ym - across * b.length * shift) - at.dot(g)) / det;
    best = std::clamp(best, low, high);
    s = to_end(best);
    t = to_end(std::clamp(slope * best + shift, 0.0, 1.0));
  }

  Vector3d apart(double s, double t) const noexcept { return r + s * a.length * a.along - t * b.length * b.along; }
};

// The edge that follows, or nothing at the end of an open strand.
bool edge_behind(const Strand& strand, std::uint32_t edge, std::uint32_t& next) noexcept {
  next = edge + 1;
  if (next < strand.edges()) return true;
  next = 0;
  return strand.closed;
}
bool edge_before(const Strand& strand, std::uint32_t edge, std::uint32_t& previous) noexcept {
  previous = edge > 0 ? edge - 1 : static_cast<std::uint32_t>(strand.edges() - 1);
  return edge > 0 || strand.closed;
}

}  // namespace

bool share_vertex(const Strand& strand, std::uint32_t edge, std::uint32_t other) noexcept {
  const std::uint32_t apart = edge < other ? other - edge : edge - other;
  return apart <= 1 || (strand.closed && apart + 1 == strand.edges());
}

bool arc_allows(const Strand& strand, std::uint32_t edge, std::uint32_t other) noexcept {
  return !window_of(strand, std::min(edge, other), std::max(edge, other)).empty();
}

double distance(const Strand& a, const Strand& b, const EdgePair& pair) noexcept {
  const double radii = a.radius + b.radius;
  const Cell cell(edge_of(a, pair.edge_a, kPoint * radii), edge_of(b, pair.edge_b, kPoint * radii), radii);
  double s = 0, t = 0;
  cell.least(s, t);
  return cell.apart(s, t).norm();
}

bool places(const Strand& a, const Strand& b, const EdgePair& pair, double most, EdgePlaces& out) noexcept {
  const double radii = a.radius + b.radius, point = kPoint * radii;
  const bool same = pair.strand_a == pair.strand_b;
  Window window;
  if (same) {
    window = window_of(a, pair.edge_a, pair.edge_b);
    if (window.empty()) return false;
  }
  const Cell cell(edge_of(a, pair.edge_a, point), edge_of(b, pair.edge_b, point), radii);
  double s = 0, t = 0;
  cell.least(s, t);
  const double shift = t - window.slope * s;
  const bool low = shift < window.low, high = !low && shift > window.high;
  if (low || high) cell.least_on(low ? window.low : window.high, window.slope, s, t);

  const Vector3d w = cell.apart(s, t);
  const double d = w.norm();
  if (!(d <= most)) return false;  // NaN too

  // Which ways lead over the ends of the edges, and whether it goes on falling there. Along the border of what arc
  // allows both places move together; one alone only away from it.
  const double falls = -kGoesOn * d;
  std::uint32_t next_a = 0, next_b = 0, previous = 0;
  const bool goes_a = s < 1 || edge_behind(a, pair.edge_a, next_a),
             goes_b = t < 1 || edge_behind(b, pair.edge_b, next_b);
  const Vector3d ahead_a = s < 1 ? cell.a.along : goes_a ? edge_of(a, next_a, point).along : Vector3d::Zero().eval();
  const Vector3d ahead_b = t < 1 ? cell.b.along : goes_b ? edge_of(b, next_b, point).along : Vector3d::Zero().eval();
  const bool over_a = s == 1 && goes_a && !(same && share_vertex(a, next_a, pair.edge_b)),
             over_b = t == 1 && goes_b && !(same && share_vertex(b, next_b, pair.edge_a));
  if (over_a && !low && w.dot(ahead_a) < falls) return false;
  if (over_b && !high && -w.dot(ahead_b) < falls) return false;
  if ((low || high) && (over_a || over_b) && goes_a && goes_b && w.dot(ahead_a - ahead_b) < falls) return false;
  // The pair of the edge before the vertex has the same place, where there is such a pair.
  const auto elsewhere = [&](const Strand& strand, std::uint32_t edge, std::uint32_t other) {
    return edge_before(strand, edge, previous) && !(same && share_vertex(strand, previous, other));
  };
  if (s == 0 && elsewhere(a, pair.edge_a, pair.edge_b)) return false;
  if (t == 0 && elsewhere(b, pair.edge_b, pair.edge_a)) return false;

  out = {s, t, w, d};
  return true;
}

}  // namespace ligature::contact
