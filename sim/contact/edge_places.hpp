#pragma once
/// Where two edges touch or may touch, seen from this pair of edges alone.
///
/// The squared distance of two polylines is a convex quadratic on each cell (s, t) in [0,1]^2 of two edges, so a cell
/// has one minimum. Over all cells of two strands that lie along each other it is a valley, across cells one by one.
///
///   place   minimises |A(s) - B(t)|^2 + mu c^8 (|s - s_m|^2 l_a^2 + |t - t_m|^2 l_b^2), c = cosine of the edges, s_m,
///   t_m
///           the middle of the length that both have beside each other: the places of parallel edges stand in that
///           middle instead of anywhere, and come to the closest points as the edges turn apart. What it costs in
///           distance is at most mu/16 of l^2 / (r_a + r_b) or, for long edges, of r_a + r_b.
///   kept    inside both edges; or at a vertex that is a nearest one for the edges on both sides of it (thesis 3.61),
///           where the pair of the edge before the vertex has it and no other; not where the next edge comes nearer:
///           its own pair has that place.
///   arc     of one strand, only places with pi h of rest length between them, both ways round a ring: where the
///   minimum
///           has less, the least along the border of what is allowed.
///
/// The four kinds of thesis 3.7.1 follow: segment-segment, segment-vertex, vertex-vertex, and on the inner side of a
/// bend both edges. Source of the clamping: [Ericson 2005] 5.1.9, with a term that keeps it regular.
#include "sim/contact/strand.hpp"

namespace ligature::contact {

struct EdgePlaces {
  double sa = 0, sb = 0;
  Vector3d apart{0, 0, 0};  ///< p_a - p_b                                              W [mm]
  double distance = 0;      ///< |apart|
};

/// Edges of one strand that are the same or share a vertex.
bool share_vertex(const Strand& strand, std::uint32_t edge, std::uint32_t other) noexcept;

/// False when less than pi h of arc lies between any two places of these edges of one strand.
bool arc_allows(const Strand& strand, std::uint32_t edge, std::uint32_t other) noexcept;

/// False where this pair has no place to keep, or further apart than `most` between centrelines, or not finite.
/// Edges without length count as their point. @rt constant time
bool places(const Strand& a, const Strand& b, const EdgePair& pair, double most, EdgePlaces& out) noexcept;

/// Distance between the edges, to the accuracy above, whatever is kept. NaN when not finite. @rt constant time
double distance(const Strand& a, const Strand& b, const EdgePair& pair) noexcept;

}  // namespace ligature::contact
