#include "sim/exercise/gap.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

namespace ligature::exercise {
namespace {

/// A square frame 1 x 1 mm at x, its face a quadrilateral cut in two; the far one is held.
TissueSurface face_at(double x) {
  TissueSurface t;
  for (const double far : {0.0, 5.0})
    for (const auto& [y, z] : {std::pair{0., 0.}, {1., 0.}, {1., 1.}, {0., 1.}})
      t.rest.push_back({static_cast<float>(x + (x > 0 ? far : -far)), static_cast<float>(y), static_cast<float>(z)});
  t.triangles = {{{0, 1, 2}, WallPart::cut},
                 {{0, 2, 3}, WallPart::cut},
                 {{4, 5, 6}, WallPart::cut},
                 {{0, 1, 4}, WallPart::outside}};
  t.held = {4, 5, 6, 7};
  return t;
}

std::unique_ptr<SceneSnapshot> shown(const std::vector<TissueSurface>& tissues, float dx, float dy, float dz) {
  auto scene = std::make_unique<SceneSnapshot>();
  for (std::size_t k = 0; k < tissues.size(); ++k) {
    scene->tissues.push_back({static_cast<std::uint32_t>(scene->surface.size()), 8});
    for (SnapshotVertex v : tissues[k].rest) {
      if (k == 1) v.x += dx, v.y += dy, v.z += dz;
      scene->surface.push_back(v);
    }
  }
  return scene;
}

TEST(EndGap, IsTheLeastDistanceBetweenFreeFaces) {
  const std::vector<TissueSurface> tissues{face_at(-0.5), face_at(0.5)};
  const EndGap gap(tissues, 0, 1);
  EXPECT_NEAR(gap.of(*shown(tissues, 0, 0, 0)), 1, 1e-6);
  EXPECT_NEAR(gap.of(*shown(tissues, -0.9f, 0.4f, 0.3f)), 0.1, 1e-6) << "corner over the middle of a face";
  EXPECT_NEAR(gap.of(*shown(tissues, -0.7f, 1.4f, 0.3f)), 0.5, 1e-6) << "edge to edge";
}

TEST(EndGap, IsUnknownWithoutAFreeEnd) {
  std::vector<TissueSurface> tissues{face_at(-0.5), face_at(0.5)};
  EXPECT_TRUE(std::isnan(EndGap(tissues, 0, 2).of(*shown(tissues, 0, 0, 0))));
  tissues[1].held = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_TRUE(std::isnan(EndGap(tissues, 0, 1).of(*shown(tissues, 0, 0, 0))));
}

}  // namespace
}  // namespace ligature::exercise
