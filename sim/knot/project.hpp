#pragma once
/// From closed polygons in space to a planar diagram: which strand is above which, decided exactly.
///
/// Seen from far along a direction w, segments a b and c d cross where the signs of det(b-a, c-a, w) and three like it
/// say so; which is above is the sign of det(b-a, d-c, a-c) det(b-a, d-c, w). A view in which a corner lies on another
/// strand, an edge is seen from its end, or three strands cross in one point is turned away from; nothing is guessed.
#include "sim/knot/curves.hpp"
#include "sim/knot/diagram.hpp"

namespace ligature::knot {

/// A diagram with the place of every pass along its curve.
struct Projection {
  Diagram diagram;
  /// Along the prepared curve, as the number of its edge (from point i to i + 1) plus the part of that edge, growing
  /// along each component.  (components x passes)
  std::vector<std::vector<double>> place;
  Vec3 direction;  ///< from which it is seen, unit vector; the one asked for or one near it
};

/// Closed polygons (several for a link) seen from `direction`, or from the first one near it that shows no
/// coincidence. Component i of the diagram is curve i, walked from its first point.
/// Errors: usage for what `prepared` refuses, a direction that is not finite or zero, more than a million crossings;
/// failed where the curves touch or cross themselves or each other, so that there is no knot, or no view will do.
Result<Projection> projection(const Curves& curves, Vec3 direction);
Result<Diagram> project(const Curves& curves, Vec3 direction);

/// The same for curves that come out of `prepared` (closed) already.
Result<Projection> projection_of_prepared(const Curves& curves, Vec3 direction);

}  // namespace ligature::knot
