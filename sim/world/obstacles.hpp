#pragma once
/// What can be asked of obstacles before there is a world: for whoever reads them from a file.
#include <optional>

#include "sim/base/result.hpp"
#include "sim/world/params.hpp"

namespace ligature::world {

inline constexpr std::size_t kMaxTriangles = 200'000;  ///< of a mesh

/// Whether this is the surface of a solid, which meets itself nowhere; the error says in a few words why not, and
/// where.
Result<void> check_mesh(const std::vector<Vec3>& vertices, const std::vector<std::array<std::uint32_t, 3>>& triangles);

struct Inside {
  std::size_t thread = 0, obstacle = 0;
  std::size_t point = 0;  ///< first point of the straight piece
};
/// The first piece of a thread, as drawn, that is nearer to an obstacle than its radius, or inside of it. (What is
/// drawn touching touches.) @pre every obstacle is well formed
std::optional<Inside> first_inside(const std::vector<ThreadParams>& threads,
                                   const std::vector<ObstacleParams>& obstacles);

}  // namespace ligature::world
