#pragma once
/// How straight a stretch of an open curve runs, seen with steps of a given size: noise smaller than the step does not
/// bend it, nor do finer or coarser points.
#include "sim/knot/curves.hpp"

namespace ligature::knot {

/// The point at a place along a polyline, counted in points: 0 the first, size - 1 the last; places beyond are ends.
/// @pre two points or more
Vec3 point_at(const Curve& curve, double place);

/// The place `distance` of arc further along (back, where it is negative), no farther than the end.
double walked(const Curve& curve, double place, double distance);

/// Chord over length of the stretch between two places, in any order, measured with a pair of compasses set to `step`:
/// each next point is the first one that lies `step` from the last. 1 for a straight line (and for any stretch shorter
/// than `step`), 0 for a closed loop. @pre step > 0, two points or more
double straightness(const Curve& curve, double from, double to, double step);

/// The place of the stretch between two places, in any order, that is nearest to a point. @pre two points or more
double nearest_place(const Curve& curve, double from, double to, Vec3 point);

}  // namespace ligature::knot
