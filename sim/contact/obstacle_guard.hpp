#pragma once
/// No centreline of a strand passes through the surface of an obstacle: proven by distances and bounds on motion
/// alone (conservative advancement [Mirtich 1996]), so that it answers for moving bodies of every shape.
#include <cstddef>
#include <cstdint>

#include "sim/contact/obstacle.hpp"
#include "sim/contact/strand.hpp"

namespace ligature::contact {

struct ObstacleVerdict {
  double fraction = 1;        ///< of the motion, of strands and obstacles alike, that passes nothing; 1 = all
  std::size_t found = 0;      ///< pairs of an edge and an obstacle that would pass, or come too near to tell
  std::size_t inside = 0;     ///< pairs that begin inside already: nothing is said of them
  std::size_t looked_at = 0;  ///< pairs that a closer look was needed for
  std::uint32_t strand = 0, edge = 0, obstacle = 0;  ///< the first to pass, when found > 0
};

/// While all vertices move straight from x to x1 and the obstacles make their motion of this step (move() was called).
/// A centreline may come as near to a surface as a twentieth of its radius, or as half of where it begins.
/// @param x1 one array a strand, where its vertices would end
/// @param share of that distance: a motion that was cut to keep all of it is audited with less
/// @rt bounded, no allocation
ObstacleVerdict look(const Strand* strands, std::size_t count, const Vector3d* const* x1,
                     const Obstacle* const* obstacles, std::size_t obstacle_count, double share = 1) noexcept;

}  // namespace ligature::contact
