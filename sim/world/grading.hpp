#pragma once
/// Threads whose edges are as long as their shape and their neighbourhood allow.
///
/// A thread is counted in units, its finest edges; blocks of 2^k units are halved over and over where need is:
///
///   |---------------|-------|---|-|-|-|-|---|-------|---------------|
///                                  X
///
/// Edges of 2^j units begin at a multiple of 2^j, neighbours differ by one halving at most. So a place that was divided
/// and joined again has the very edges it had; lengths add up exactly.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/world/params.hpp"

namespace ligature::world {

inline constexpr double kMostTurn = 0.25;     ///< of the tangent along an edge [rad]
inline constexpr double kNearSurfaces = 1.0;  ///< strands nearer than this are divided to the finest [diameter]
inline constexpr double kFineBeside = 2.0;    ///< and so far along the thread on both sides [diameter]

/// Where the vertices of each thread lie as drawn [units]; last the whole, of a closed one its first vertex once more.
/// @pre each thread passed check()
std::vector<std::vector<std::uint32_t>> grade(const std::vector<ThreadParams>& threads);

/// How many vertices a thread may come to have that begins with so many: most_vertices, or twice as many and some.
std::size_t pool_of(const ThreadParams& thread, std::size_t vertices);

}  // namespace ligature::world
