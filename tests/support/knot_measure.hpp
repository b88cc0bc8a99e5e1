#pragma once
/// What a knot looks like from outside: length, clearance, loop radius, slip, and a number that says whether it is
/// still the same knot. Calculated from the curves alone, so that no test asks the physics whether the physics is
/// right.
#include <cstddef>
#include <vector>

#include "sim/base/geometry.hpp"

namespace ligature::measure {

/// Vertices of one thread, in order. [mm]
using Curve = std::vector<Vec3>;

double length(const Curve& curve, bool closed);

/// Where two strands are nearest to each other.
struct Nearest {
  double distance = 0;  ///< of the centrelines [mm]
  std::size_t curve_a = 0, curve_b = 0;
  double s_a = 0, s_b = 0;  ///< arc length on each [mm]
};
/// @param skip places of one curve less than so much arc apart are neighbours and do not count: pi h, or what a bend
///   may come near itself by [mm]
Nearest nearest(const std::vector<Curve>& curves, bool closed, double skip);

/// Radius of a stretch: its length over the angle by which it turns.
/// @param from, to vertices
double bend_radius(const Curve& curve, std::size_t from, std::size_t to);

/// Arc length of the first and the last place of curves[which] that touches a strand (itself, without neighbours, or
/// another curve): centrelines nearer than `touch`. {length, 0} when it touches nothing. [mm]
struct Span {
  double first = 0, last = 0;
};
Span touching(const std::vector<Curve>& curves, std::size_t which, double touch, double skip);

/// |Alexander polynomial at -1| of a closed polygon: 1 for a circle (and few knots of ten crossings or fewer), 3
/// trefoil, 5 figure-eight and cinquefoil, 9 reef and granny, 15 surgeon's knot (2=1) with the ends joined. From the
/// colouring matrix of a skew projection.
long determinant(const Curve& loop);

/// An open curve closed by straight rays from its ends, `out_first` and `out_last`, and a wide way round by `side`.
/// The rays must leave the knot, and `side` must not cross it.
Curve closed(const Curve& curve, Vec3 out_first, Vec3 out_last, Vec3 side);
/// Two threads of a tie as one loop: the first ends joined by `side`, the last ones on the other side.
Curve closed(const Curve& a, Vec3 a_first, Vec3 a_last, const Curve& b, Vec3 b_first, Vec3 b_last, Vec3 side);

}  // namespace ligature::measure
