#pragma once
/// Loosely tied knots as polylines, to be pulled tight; and what is measured of polylines whoever moved them.
#include <cstddef>
#include <vector>

#include "sim/base/geometry.hpp"

namespace ligature::bench {

/// A centreline with a thickness. [mm]
struct Curve {
  std::vector<Vec3> x;
  double radius = 0;
};

/// Both bights in one thread, as the two ends of a stitch: tail, bight, a round loop of `loop` length on the side y >
/// 0, bight, tail.
std::vector<Vec3> reef_of_one_thread(double loop, double tail);

std::vector<Vec3> scaled(std::vector<Vec3> points, double factor);
double length_of(const std::vector<Vec3>& points);

/// How far surfaces overlap at worst, over the smaller radius; 0 when nothing touches. Places of one curve less than
/// pi h of arc apart are neighbours and do not count, as in sim/contact/strand_contacts.hpp.
/// @param smooth of tubes round the uniform quadratic B-spline of the vertices (what our contact is between), eight
/// sides to an edge; else of capsules round the polylines
double worst_penetration(const std::vector<Curve>& curves, bool smooth);

/// Arc from an end of a curve to the first place that is nearer than 1.25 diameters to another curve: the free tail.
/// What it loses has slipped through the knot. The whole length when there is no such place.
double free_tail(const std::vector<Curve>& curves, std::size_t curve, bool last);

}  // namespace ligature::bench
