#pragma once
/// How far two vessel ends are apart.
#include <array>
#include <cstdint>
#include <vector>

#include "sim/contract/scene_snapshot.hpp"
#include "sim/contract/tissue_surface.hpp"

namespace ligature::exercise {

/// The least distance between the faces that two vessels were cut at, where nothing holds them.
class EndGap {
 public:
  /// @param tissues as World tells of them; `first` and `second` among them
  EndGap(const std::vector<TissueSurface>& tissues, std::size_t first, std::size_t second);
  /// [mm]; NaN where a vessel has no free end, or is not in the snapshot. @rt O(triangles^2), no allocation
  double of(const SceneSnapshot& scene) const noexcept;

 private:
  struct Face {
    std::size_t tissue = 0;
    std::vector<std::array<std::uint32_t, 3>> triangles;  ///< into the tissue's vertices
    std::vector<std::uint32_t> vertices;
  };
  std::array<Face, 2> faces_;
};

}  // namespace ligature::exercise
