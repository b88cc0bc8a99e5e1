#pragma once
/// Out of the dead ends of simplification: a diagram is made larger at random and simplified again.
#include <cstddef>

#include "sim/base/random.hpp"
#include "sim/knot/diagram.hpp"
#include "sim/knot/names/planar.hpp"

namespace ligature::knot {

/// A finger of the strand at `a` pushed over (or under) the strand at `b`: two crossings more (Reidemeister's second).
/// @pre both run round the same face, on their left, on different edges
Diagram with_finger(const Diagram& diagram, const PlanarMap& map, Dart a, Dart b, bool over);

/// With so many fingers at random places.
Diagram with_fingers(Diagram diagram, Random& random, int fingers);

/// What simplification makes of the diagram, again from others of the same link, until it has no more than `wanted`
/// crossings or `tries` are used up. The fewest crossings found; always the same for the same diagram.
Diagram simplified_to(const Diagram& diagram, std::size_t wanted, int tries);

}  // namespace ligature::knot
