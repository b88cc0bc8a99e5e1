#pragma once
/// Polygons in space, made ready for exact predicates.
#include <span>
#include <vector>

#include "sim/base/geometry.hpp"
#include "sim/base/result.hpp"

namespace ligature::knot {

/// A closed polygon: its last point is joined to its first one. Or an open one, where a function says so.
using Curve = std::vector<Vec3>;
using Curves = std::vector<Curve>;

/// Most points of all curves together that a function takes: larger input is an error, never a long wait.
inline constexpr std::size_t kMostPoints = 100000;

/// The same curves scaled by a power of two to a largest coordinate in [0.5, 1), coordinates smaller than 2^-200 set
/// to 0, points that repeat the one before dropped (closed: also a last one that repeats the first). No other
/// coordinate is rounded.
/// Errors (usage): no curves, too many points, a coordinate that is not a finite number, a curve with fewer than
/// three points left (closed) or two (open).
Result<Curves> prepared(const Curves& curves, bool closed);

/// Direction number `i` of a fixed sequence that fills the sphere evenly from the start on. Unit vectors without
/// simple ratios.
Vec3 direction(std::size_t i);

}  // namespace ligature::knot
