#pragma once
/// A vessel's end as the physics hands it to the picture: a tube with a wall, cut at both ends, held at its first.
#include <cmath>
#include <memory>
#include <numbers>
#include <utility>

#include "sim/contract/tissue_surface.hpp"

namespace ligature::render {

inline SnapshotVertex to_vertex(Vec3 p) {
  return {static_cast<float>(p.x), static_cast<float>(p.y), static_cast<float>(p.z)};
}

/// Along x from 0 to `length`, its axis at height z.
inline TissueSurface tube(std::uint32_t around, std::uint32_t along, double radius, double wall, double length,
                          double z = 0) {
  TissueSurface t;
  // Vertex (i along, j around, k outside) is 2 (i around + j) + k.
  for (std::uint32_t i = 0; i <= along; ++i)
    for (std::uint32_t j = 0; j < around; ++j)
      for (const double r : {radius - wall, radius}) {
        const double angle = 2 * std::numbers::pi * j / around;
        t.rest.push_back(to_vertex({length * i / along, r * std::cos(angle), z + r * std::sin(angle)}));
        if (i == 0) t.held.push_back(static_cast<std::uint32_t>(t.rest.size() - 1));
      }
  const auto at = [around](std::uint32_t i, std::uint32_t j, std::uint32_t k) {
    return 2 * (i * around + j % around) + k;
  };
  const auto quad = [&t](std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d, WallPart part) {
    t.triangles.push_back({{a, b, c}, part});
    t.triangles.push_back({{a, c, d}, part});
  };
  for (std::uint32_t j = 0; j < around; ++j) {
    for (std::uint32_t i = 0; i < along; ++i) {
      quad(at(i, j, 1), at(i, j + 1, 1), at(i + 1, j + 1, 1), at(i + 1, j, 1), WallPart::outside);
      quad(at(i, j, 0), at(i + 1, j, 0), at(i + 1, j + 1, 0), at(i, j + 1, 0), WallPart::inside);
    }
    quad(at(0, j, 0), at(0, j + 1, 0), at(0, j + 1, 1), at(0, j, 1), WallPart::cut);
    quad(at(along, j, 0), at(along, j, 1), at(along, j + 1, 1), at(along, j + 1, 0), WallPart::cut);
  }
  return t;
}

/// The tissue where it lay at rest, and nothing else.
inline std::unique_ptr<SceneSnapshot> at_rest(const TissueSurface& tissue) {
  auto scene = std::make_unique<SceneSnapshot>();
  scene->tissues.push_back({0, static_cast<std::uint32_t>(tissue.rest.size())});
  for (const SnapshotVertex& v : tissue.rest) scene->surface.push_back(v);
  return scene;
}

}  // namespace ligature::render
