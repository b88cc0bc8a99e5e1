#pragma once
/// Whether threads, as drawn, overlap each other or themselves at the start.
#include <cstddef>
#include <optional>
#include <vector>

#include "sim/world/params.hpp"

namespace ligature::config {

struct Overlap {
  std::size_t thread_a = 0, thread_b = 0;   ///< a <= b; the same for a thread that overlaps itself
  std::size_t point_a = 0, point_b = 0;     ///< first points of the two straight pieces
  bool needle_a = false, needle_b = false;  ///< it is a piece of the thread's needle, which has no points
};

/// Needles are looked at as the wires that go on where the points end. Two pieces overlap when their axes are nearer
/// than the sum of the radii. Along one thread, pieces less than two diameters of arc apart are neighbours and may be
/// near, but a corner may not fold back by less than 5 degrees. At most 5e7 pairs are looked at; a scene more crowded
/// than that answers for the pairs seen.
std::optional<Overlap> first_overlap(const std::vector<world::ThreadParams>& threads);

/// Shortest distance between the segments p0-p1 and q0-q1. Source: [Ericson 2005] section 5.1.9.
double segment_distance(Vec3 p0, Vec3 p1, Vec3 q0, Vec3 q1);

}  // namespace ligature::config
