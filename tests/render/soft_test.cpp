#include "render/soft.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "render/mesh.hpp"
#include "tests/render/tissue_scene.hpp"

namespace ligature::render {
namespace {

/// What soft.vert makes of a vertex.
Vec3 drawn_at(const SoftVertex& v, const std::vector<SoftCorner>& corners) {
  const std::array<double, 3> w{1.0 - v.weight[0] - v.weight[1], v.weight[0], v.weight[1]};
  const auto vec = [](const std::array<float, 4>& a) { return Vec3{a[0], a[1], a[2]}; };
  Vec3 flat, round;
  for (std::size_t k = 0; k < 3; ++k) flat = flat + w[k] * vec(corners[v.corner[k]].position);
  for (std::size_t k = 0; k < 3; ++k) {
    const Vec3 p = vec(corners[v.corner[k]].position), n = vec(corners[v.corner[k]].bulge);
    round = round + w[k] * (flat - dot(flat - p, n) * n);
  }
  return 0.5 * (flat + round);
}

std::vector<SoftCorner> placed(SoftMesh& mesh, const SceneSnapshot& scene) {
  std::vector<SoftCorner> corners(mesh.corners());
  mesh.place(scene, corners.data());
  return corners;
}

TEST(SoftMesh, IsClosedHoweverFinelyItIsCut) {
  const TissueSurface vessel = tube(12, 5, 0.5, 0.1, 3);
  for (const std::uint32_t pieces : {1U, 2U, 3U, 4U}) {
    SoftMesh mesh({&vessel, 1}, pieces);
    EXPECT_EQ(mesh.indices().size(), 3 * pieces * pieces * vessel.triangles.size());
    const auto corners = placed(mesh, *at_rest(vessel));
    // Vertices on the edge of the cut are there twice, with two normals: they are the same place.
    std::map<std::array<long, 3>, std::uint32_t> places;
    std::vector<std::uint32_t> place_of;
    for (const SoftVertex& v : mesh.vertices()) {
      const Vec3 p = drawn_at(v, corners);
      const std::array<long, 3> key{std::lround(p.x * 1e4), std::lround(p.y * 1e4), std::lround(p.z * 1e4)};
      place_of.push_back(places.try_emplace(key, static_cast<std::uint32_t>(places.size())).first->second);
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> sides;
    const auto& index = mesh.indices();
    for (std::size_t t = 0; t < index.size(); t += 3)
      for (std::size_t k = 0; k < 3; ++k) {
        const std::uint32_t a = place_of[index[t + k]], b = place_of[index[t + (k + 1) % 3]];
        sides[std::minmax(a, b)] += a < b ? 1 : -1;
      }
    int open = 0;
    for (const auto& [edge, sum] : sides) open += sum != 0 ? 1 : 0;
    EXPECT_EQ(open, 0) << pieces;
    EXPECT_EQ(sides.size() * 2, index.size()) << pieces;
  }
}

TEST(SoftMesh, IsRoundWhereTheFacetsAreFlat) {
  constexpr double kRadius = 0.5;
  constexpr std::uint32_t kAround = 20;
  const TissueSurface vessel = tube(kAround, 10, kRadius, 0.1, 3);
  SoftMesh mesh({&vessel, 1}, 4);
  const auto corners = placed(mesh, *at_rest(vessel));
  const double flat = kRadius * (1 - std::cos(std::numbers::pi / kAround));  // a facet's depth below the circle
  double least = 1, most = 0;
  for (const SoftVertex& v : mesh.vertices()) {
    if (v.material != static_cast<std::uint32_t>(Material::soft_outside)) continue;
    const Vec3 p = drawn_at(v, corners);
    if (p.x < 0.31 || p.x > 2.69) continue;
    least = std::min(least, std::hypot(p.y, p.z)), most = std::max(most, std::hypot(p.y, p.z));
  }
  EXPECT_LT(most - least, 0.06 * flat) << "a circle";
  EXPECT_NEAR(0.5 * (most + least), kRadius - 0.5 * flat, 0.1 * flat) << "half way between corners and facets";
}

TEST(SoftMesh, NormalsFaceOutOfTheWall) {
  const TissueSurface vessel = tube(16, 6, 0.5, 0.1, 3);
  SoftMesh mesh({&vessel, 1}, 2);
  const auto corners = placed(mesh, *at_rest(vessel));
  for (const SoftVertex& v : mesh.vertices()) {
    const Vec3 p = drawn_at(v, corners);
    for (std::size_t k = 0; k < 3; ++k) {
      const auto& n = corners[v.corner[k]].normal;
      const double out = p.y * n[1] + p.z * n[2];
      if (v.material == static_cast<std::uint32_t>(Material::soft_outside)) {
        EXPECT_GT(out, 0);
      }
      if (v.material == static_cast<std::uint32_t>(Material::soft_inside)) {
        EXPECT_LT(out, 0);
      }
      if (v.material == static_cast<std::uint32_t>(Material::soft_cut)) {
        EXPECT_NEAR(n[0], p.x > 1 ? 1 : -1, 1e-5);
      }
    }
  }
}

TEST(SoftMesh, AnEndThatIsHeldIsNoOpening) {
  const TissueSurface vessel = tube(16, 6, 0.5, 0.1, 3);
  const auto ends = cut_ends(vessel);
  ASSERT_EQ(ends.size(), 2U);
  const CutEnd &held = ends[0].held ? ends[0] : ends[1], &open = ends[0].held ? ends[1] : ends[0];
  EXPECT_TRUE(held.held);
  EXPECT_FALSE(open.held);
  EXPECT_NEAR(held.normal.x, -1, 1e-6);
  EXPECT_NEAR(open.normal.x, 1, 1e-6);
  EXPECT_NEAR(open.centre.x, 3, 1e-6);
  EXPECT_NEAR(open.radius, 0.5, 1e-6);
  EXPECT_EQ(open.vertices.size(), 32U);
  SoftMesh mesh({&vessel, 1}, 1);
  float deepest = 0, rim = 9;
  for (const SoftVertex& v : mesh.vertices()) deepest = std::max(deepest, v.depth), rim = std::min(rim, v.depth);
  EXPECT_NEAR(deepest, 3, 0.02) << "diameters";
  EXPECT_EQ(rim, 0);
  EXPECT_FALSE(clamps_mesh({&vessel, 1}, -1).indices.empty());
  EXPECT_TRUE(clamps_mesh({&vessel, 1}, 2).indices.empty()) << "below the bench";
}

TEST(SoftMesh, WhatIsNotItsOwnLeavesItWhereItWas) {
  const TissueSurface vessel = tube(12, 5, 0.5, 0.1, 3);
  SoftMesh mesh({&vessel, 1}, 2);
  auto scene = at_rest(vessel);
  for (SnapshotVertex& v : scene->surface) v.z += 1;
  const auto moved = placed(mesh, *scene);
  EXPECT_GT(moved[0].position[2] + moved[1].position[2], 0.5F);
  const auto same = [&](const SceneSnapshot& other) {
    const auto corners = placed(mesh, other);
    return std::equal(corners.begin(), corners.end(), moved.begin(),
                      [](const SoftCorner& a, const SoftCorner& b) { return a.position == b.position; });
  };
  EXPECT_TRUE(same(SceneSnapshot{}));
  scene->surface[7].y = std::nanf("");
  EXPECT_TRUE(same(*scene));
  scene->surface[7].y = 0;
  scene->tissues[0].first_vertex = 1;
  EXPECT_TRUE(same(*scene)) << "beyond the end";
}

}  // namespace
}  // namespace ligature::render
