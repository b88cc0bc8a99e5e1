#pragma once
/// Knots in open curves: closed in many directions, and what most closures say.
///
/// Both ends go straight to infinity in one direction and meet there. An open curve has no knot type of its own; the
/// share of directions that give the same answer says how far it has one: near 1 for a knot with free ends that point
/// away from it, lower for one that is about to slip off an end or was never drawn through [Millett 2005].
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sim/knot/simplify.hpp"

namespace ligature::knot {

/// Gives a diagram its name. Called once for every different simplified diagram.
using Namer = std::function<std::string(const Diagram&)>;

/// What one part of the directions says.
struct Vote {
  std::string name;
  double share = 0;     ///< of the directions that gave an answer, 0..1
  Projection simplest;  ///< the one with fewest crossings among them; places along the points of shortened curves
};

/// How far beyond the origin drawn out ends go: prepared curves lie within a distance of 2.
inline constexpr double kFar = 4.0;

/// Names of the closures of open curves in `directions` even directions, most frequent first; equal shares by name.
/// Directions in which a drawn out end touches a curve are left out, and fewer are tried where closures keep hundreds
/// of crossings. Errors: usage for what `prepared` (open) refuses; failed where the curves themselves touch or cross.
Result<std::vector<Vote>> closures(const Curves& open, const Namer& namer, std::size_t directions = 64);

/// The part of an open curve that its knot needs: a stretch that still has the name `name` for most directions, found
/// by taking points off each end by halving, then off both in proportion.
struct Core {
  std::size_t begin = 0, end = 0;  ///< points [begin, end) of the curve given
  double length_share = 0;         ///< its length over the whole length: small for a knot that is tight, near 1 for one
                                   ///< that needs the ends where they are
};
/// Errors: as `closures`; failed where the whole curve does not have that name for most directions.
Result<Core> core(const Curve& open, const std::string& name, const Namer& namer, std::size_t directions = 16);

}  // namespace ligature::knot
