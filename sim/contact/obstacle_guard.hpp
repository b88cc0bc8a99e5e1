#pragma once
/// No centreline of a strand passes through the surface of an obstacle: proven by distances and bounds on motion
/// alone (conservative advancement [Mirtich 1996]), so that it answers for moving bodies of every shape.
#include <cstddef>
#include <cstdint>
#include <vector>

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

/// An edge that would pass into an obstacle.
struct StoppedAtObstacle {
  std::uint32_t strand = 0, edge = 0, obstacle = 0;
  double part = 0;  ///< of the motion that it may make
};

struct ObstacleLook {
  enum class At : std::uint8_t { all, planes, others };
  At at = At::all;   ///< which bodies
  double until = 1;  ///< fraction of their step's motion that the bodies have made when the strands are at x1
  double give = 1;   ///< of what bodies are about to give way (Obstacle::giving)
  double share = 1;  ///< of the distance that is to be kept: a motion that was cut for all of it is audited with less
};

/// While all vertices move straight from x to x1 and the bodies from where they are (Bodies::at) to how.until.
/// A centreline may come as near to a surface as a twentieth of its radius, or as half of where it begins.
/// @param x1 one array a strand, where its vertices would end
/// @param stopped takes what would pass, as far as it has room
/// @rt bounded, no allocation
ObstacleVerdict look(const Strand* strands, std::size_t count, const Vector3d* const* x1, const Bodies& bodies,
                     const ObstacleLook& how = {}, std::vector<StoppedAtObstacle>* stopped = nullptr) noexcept;

}  // namespace ligature::contact
