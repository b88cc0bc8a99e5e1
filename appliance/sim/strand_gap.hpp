#pragma once
/// How near strands come to each other, from their shapes alone: knows nothing of what detection found.
///
///   gap = distance of the two centrelines - the two radii, least over all pairs of places; places of one thread count
///   from pi h of arc on (h its radius): a thread bent as tightly as its own radius allows comes round in that much
///
/// The centreline is what contact is between: the uniform quadratic B-spline of the vertices, evaluated here anew. It
/// goes through the middles of the edges and passes a vertex by an eighth of the second difference, or a fifth of the
/// radius where that is less.
#include <optional>
#include <vector>

#include "appliance/sim/curves.hpp"

namespace ligature::simulate {

struct StrandGap {
  double gap_mm = 0;
  double over_radius = 0;  ///< of the thinner of the two
  std::size_t thread_a = 0, edge_a = 0, thread_b = 0, edge_b = 0;
};

/// The least gap, where any strands are nearer than `reach` between their surfaces. Measured between polygons of eight
/// sides for an edge, which leave a curve bent to a radius R by an edge's l^2/(512 R) at most. O(edges) where few are
/// near.
/// @param reach_mm below (pi - 2) h: that is the gap of a straight thread to itself
std::optional<StrandGap> smallest_gap(const std::vector<Curve>& curves, double reach_mm);

/// Whether strands may have passed through each other from one shape to the next: false is a proof, for the way on
/// which all vertices move straight and evenly; it is made by halving time until edges are further apart than they can
/// come nearer. The curves are the same threads, in the same order. O(edges^2), for steps that are under suspicion.
/// @param beside_mm places of one thread that are nearer along it are not looked at
bool may_have_passed(std::vector<Curve> before, std::vector<Curve> after, double beside_mm = 0);

/// Whether threads, cut into segments as they are now, may be tied otherwise than as they were drawn: too long a
/// segment goes by the other side of what is beside it. Those with needles are not looked at.
bool may_be_tied_otherwise(const world::WorldParams& drawn, const std::vector<Curve>& now);

/// Places of the segments p0-p1 and q0-q1 that are nearest, as fractions, and their distance.
/// Source: [Ericson 2005] section 5.1.9.
struct Nearest {
  double s = 0, t = 0, distance = 0;
};
Nearest nearest_places(Vec3 p0, Vec3 p1, Vec3 q0, Vec3 q1);

}  // namespace ligature::simulate
