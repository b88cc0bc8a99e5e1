#pragma once
/// The centreline that contact between strands sees: the uniform quadratic B-spline with a strand's vertices for
/// control points. It touches every edge at its middle and runs past every vertex at an eighth of the second
/// difference, on the inner side of the bend; its tangent is continuous.
///
/// On the polyline itself the normal of a contact jumps and the gap has a bump at every vertex (l^2/8R, three
/// hundredths of a diameter in a tight knot of segments of half a diameter): strands that slide would catch like gears,
/// and a contact between strands that lie along each other would leap from edge to edge.
///
/// Where edges are longer than a strand is wide and bend sharply, that is far from the polyline: curves would pass each
/// other where the polylines, by which clearance and audit go, do not. So no corner is cut by more than kMostCut. It
/// changes nothing where edges of half a diameter bend by less than 106 degrees.
///
/// The axis of a rigid body (no mesh) that a strand bends round is further off than another strand, and its corners may
/// be cut by as much more (StrandContact::most_cut). With little but the middles of its edges on the curve a thread
/// lies round a body of radius R as a polygon. Of those that touch it with all edges, which turn by x = h/R, the one
/// with all corners alike is shorter than the one with every other corner on the body by x^2/4 of itself, and half an
/// edge on it is the other way round: nothing but a large pull turns that.
///
/// Places are written as on the polyline, (edge, s): parameter edge + s. An open strand ends at its end vertices, where
/// the curve is straight (its first control point mirrored in the end).
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "sim/contact/strand.hpp"

namespace ligature::contact {

/// A place as a sum over vertices; the weights add up to one.
struct Blend {
  std::uint32_t vertex[3] = {};
  double weight[3] = {};
};

inline constexpr double kMostCut = 0.2;  ///< of the radius, that the curve runs past a vertex at most

/// Over what part of both half edges the corner between them is rounded: all, or less where that would cut it by more
/// than kMostCut, or `most_cut` where that is more [mm]. The curve then goes along the edges in between.
inline double rounding_at(const Vector3d& before, const Vector3d& at, const Vector3d& behind, double radius,
                          double most_cut = 0) noexcept {
  const double bend = (before - 2 * at + behind).squaredNorm(), most = 8 * std::max(kMostCut * radius, most_cut);
  return bend > most * most ? most / std::sqrt(bend) : 1;
}

/// @param s in [0, 1] along the edge
inline Blend blend_at(std::size_t vertices, bool closed, std::size_t edge, double s) noexcept {
  const auto n = static_cast<std::uint32_t>(vertices);
  const auto e = static_cast<std::uint32_t>(edge);
  const std::uint32_t i = s < 0.5 ? e : e + 1 == n ? 0 : e + 1;
  const double t = s < 0.5 ? s + 0.5 : s - 0.5;
  const double before = 0.5 * (1 - t) * (1 - t), at = 0.5 + t - t * t, behind = 0.5 * t * t;
  if (!closed && i == 0) return {{0, 1, 0}, {at + 2 * before, behind - before, 0}};
  if (!closed && i + 1 == n) return {{i - 1, i, i}, {before - behind, at + 2 * behind, 0}};
  return {{i == 0 ? n - 1 : i - 1, i, i + 1 == n ? 0 : i + 1}, {before, at, behind}};
}

/// Likewise of a strand as it lies: with its corners cut by no more than kMostCut, or `most_cut` [mm].
inline Blend blend_at(const Strand& strand, std::size_t edge, double s, double most_cut = 0) noexcept {
  Blend b = blend_at(strand.vertices, strand.closed, edge, s);
  if (b.weight[2] == 0 && b.vertex[2] != b.vertex[1] + 1) return b;  // the end of an open strand
  const double w = rounding_at(strand.x[b.vertex[0]], strand.x[b.vertex[1]], strand.x[b.vertex[2]],
                               strand.radius_of(b.vertex[1]), most_cut);
  if (w == 1) return b;
  const double from = s < 0.5 ? s : s - 1, t = from / w + 0.5;  // from the vertex; along what is rounded
  b.weight[0] = t <= 0 ? -from : t < 1 ? 0.5 * w * (1 - t) * (1 - t) : 0;
  b.weight[2] = t <= 0 ? 0 : t < 1 ? 0.5 * w * t * t : from;
  b.weight[1] = 1 - b.weight[0] - b.weight[2];
  return b;
}

/// Its derivative along the curve, in edges: weights that add up to zero, at the vertices of blend_at().
inline Blend slope_at(const Strand& strand, std::size_t edge, double s, double most_cut = 0) noexcept {
  Blend b = blend_at(strand.vertices, strand.closed, edge, s);
  const std::size_t n = strand.vertices, i = s < 0.5 ? edge : edge + 1 == n ? 0 : edge + 1;
  double t = s < 0.5 ? s + 0.5 : s - 0.5;
  const bool begins = !strand.closed && i == 0, ends = !strand.closed && i + 1 == n;
  if (!begins && !ends) {
    const double w = rounding_at(strand.x[b.vertex[0]], strand.x[b.vertex[1]], strand.x[b.vertex[2]],
                                 strand.radius_of(b.vertex[1]), most_cut);
    if (w < 1) t = std::clamp((t - 0.5) / w + 0.5, 0.0, 1.0);
  }
  const double before = t - 1, at = 1 - 2 * t, behind = t;
  if (begins)
    b.weight[0] = at + 2 * before, b.weight[1] = behind - before;
  else if (ends)
    b.weight[0] = before - behind, b.weight[1] = at + 2 * behind;
  else
    b.weight[0] = before, b.weight[1] = at, b.weight[2] = behind;
  return b;
}

/// Of a contact's place on one of its strands.
inline Blend blend_of(const StrandContact& c, const Strand& strand, std::size_t edge, double s) noexcept {
  if (c.kind != StrandContact::Kind::stop) return blend_at(strand, edge, s, c.most_cut);
  const auto e = static_cast<std::uint32_t>(edge), next = static_cast<std::uint32_t>(strand.next(edge));
  return {{e, next, next}, {1 - s, s, 0}};
}

/// @param x the strand's vertices, or where they were: at the same weights
inline Vector3d place_on(const Vector3d* x, const Strand& strand, std::size_t edge, double s) noexcept {
  const Blend b = blend_at(strand, edge, s);
  return b.weight[0] * x[b.vertex[0]] + b.weight[1] * x[b.vertex[1]] + b.weight[2] * x[b.vertex[2]];
}

/// Likewise of a contact's place on its strand a.
inline Vector3d place_of(const Vector3d* x, const Strand& strand, const StrandContact& c) noexcept {
  const Blend b = blend_of(c, strand, c.pair.edge_a, c.sa);
  return b.weight[0] * x[b.vertex[0]] + b.weight[1] * x[b.vertex[1]] + b.weight[2] * x[b.vertex[2]];
}

/// The curve at one parameter: place, first and second derivative.
struct CurvePoint {
  Vector3d p, d1, d2;
};

/// @param u parameter; of an open strand in [0, vertices - 1], of a closed one taken modulo its edges
/// @param most_cut as of rounding_at()
inline CurvePoint curve_at(const Strand& strand, double u, double most_cut = 0) noexcept {
  const auto n = static_cast<long>(strand.vertices);
  const double whole = std::floor(u + 0.5);
  const double t = u + 0.5 - whole;
  long i = static_cast<long>(whole);
  const Vector3d *at = nullptr, *before = nullptr, *behind = nullptr;
  if (strand.closed) {
    i = ((i % n) + n) % n;
    before = strand.x + (i == 0 ? n - 1 : i - 1);
    behind = strand.x + (i + 1 == n ? 0 : i + 1);
  } else {
    i = std::clamp(i, 0L, n - 1);
    before = i > 0 ? strand.x + i - 1 : nullptr;
    behind = i + 1 < n ? strand.x + i + 1 : nullptr;
  }
  at = strand.x + i;
  const Vector3d out = behind ? (*behind - *at).eval() : (*at - *before).eval();
  const Vector3d in = before ? (*at - *before).eval() : out;
  const double w = before && behind
                       ? rounding_at(*before, *at, *behind, strand.radius_of(static_cast<std::size_t>(i)), most_cut)
                       : 1;
  if (w < 1) {
    const double from = t - 0.5, part = from / w + 0.5;
    const Vector3d& along = from < 0 ? in : out;
    if (part <= 0 || part >= 1) return {*at + from * along, along, Vector3d::Zero()};
    return {*at + w * ((part - 0.5) * in + 0.5 * part * part * (out - in)), (1 - part) * in + part * out,
            (out - in) / w};
  }
  CurvePoint c;
  c.d1 = (1 - t) * in + t * out;
  c.d2 = out - in;
  // From the middle of the edge before: x_i - in / 2, then along.
  c.p = *at - 0.5 * in + t * in + 0.5 * t * t * c.d2;
  return c;
}

/// How the surface at a place follows when the edges near it turn about the centreline: by weight * angle * arm. Zero
/// where friction does not turn the strand.
struct Turn {
  std::uint32_t edge[2] = {};
  double weight[2] = {};
  Vector3d arm{0, 0, 0};  ///< tangent x (from the centreline to the surface) [mm]
};

/// @param out unit, from the centreline to the surface that touches
inline Turn turn_at(const Strand& strand, std::size_t edge, double s, const Vector3d& out) noexcept {
  Turn turn;
  if (!strand.turns) return turn;
  // An angle belongs to the middle of its edge.
  const auto e = static_cast<std::uint32_t>(edge), edges = static_cast<std::uint32_t>(strand.edges());
  const bool behind = s >= 0.5;
  const bool alone = !strand.closed && (behind ? e + 1 == edges : e == 0);
  const double far = alone ? 0 : std::abs(s - 0.5);
  turn.edge[0] = e;
  turn.edge[1] = alone ? e : behind ? (e + 1 == edges ? 0 : e + 1) : (e == 0 ? edges - 1 : e - 1);
  turn.weight[0] = 1 - far;
  turn.weight[1] = far;
  const Vector3d along = curve_at(strand, static_cast<double>(edge) + s).d1;
  turn.arm = strand.radius_at(edge, s) / std::max(along.norm(), 1e-300) * along.cross(out);
  return turn;
}

}  // namespace ligature::contact
