#pragma once
/// The surface of a tissue body as the picture needs it, handed over once: which vertices make which triangles, and
/// where they lay at rest. Where they are now is in every SceneSnapshot.
#include <array>
#include <cstdint>
#include <vector>

#include "sim/contract/scene_snapshot.hpp"

namespace ligature {

/// What is seen of a hollow body: its wall from outside, from inside, and where it was cut through.
enum class WallPart : std::uint8_t { outside, inside, cut };

struct TissueTriangle {
  std::array<std::uint32_t, 3> vertex{};  ///< anticlockwise seen from outside the tissue
  WallPart part = WallPart::outside;
};

struct TissueSurface {
  std::vector<SnapshotVertex> rest;       ///< p_WV_W [mm]                                             (vertices)
  std::vector<TissueTriangle> triangles;  ///< closed
  std::vector<std::uint32_t> held;        ///< vertices that the anatomy holds
};

}  // namespace ligature
