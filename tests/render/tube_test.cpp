#include "render/tube.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <vector>

#include "render/mesh.hpp"

namespace ligature::render {
namespace {

struct Built {
  std::vector<Ring> rings;
  FixedVector<RingRange, kMaxThreads> ranges;
};
Built build(const SceneSnapshot& scene, double spacing_mm = 0.05, double min_radius_mm = 0) {
  Built b;
  b.rings.resize(kMaxThreadRings);
  TubeBuilder builder;
  b.rings.resize(builder.build(scene, spacing_mm, min_radius_mm, b.rings.data(), kMaxThreadRings, b.ranges));
  return b;
}
double length(const std::array<float, 3>& v) {
  return std::hypot(v[0], v[1], v[2]);
}
double dot3(const std::array<float, 3>& a, const std::array<float, 3>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

std::unique_ptr<SceneSnapshot> curve(int n, bool closed) {
  auto scene = std::make_unique<SceneSnapshot>();
  for (int i = 0; i < n; ++i) {
    const double a = 2 * std::numbers::pi * i / n;
    scene->vertices.push_back({static_cast<float>(10 * std::cos(a)), static_cast<float>(10 * std::sin(a)),
                               static_cast<float>(2 * std::sin(3 * a))});
  }
  scene->threads.push_back({0, static_cast<std::uint32_t>(n), 0.1F, closed});
  return scene;
}

TEST(Tube, PassesThroughEveryVertex) {
  const auto scene = curve(60, false);
  const Built b = build(*scene);
  for (const SnapshotVertex& v : scene->vertices) {
    double nearest = 1e9;
    for (const Ring& r : b.rings)
      nearest = std::min<double>(nearest, std::hypot(r.centre[0] - v.x, r.centre[1] - v.y, r.centre[2] - v.z));
    EXPECT_LT(nearest, 1e-5);
  }
}

TEST(Tube, FramesAreOrthonormalAndTurnSmoothly) {
  for (const bool closed : {false, true}) {
    const Built b = build(*curve(60, closed));
    ASSERT_EQ(b.ranges.size(), 1U);
    for (std::size_t i = 0; i < b.rings.size(); ++i) {
      EXPECT_NEAR(length(b.rings[i].normal), 1, 1e-5);
      EXPECT_NEAR(length(b.rings[i].tangent), 1, 1e-5);
      EXPECT_NEAR(dot3(b.rings[i].normal, b.rings[i].tangent), 0, 1e-5);
      // Neighbours lie at most 0.3 mm apart on a curve of radius above 1.5 mm: less than 0.2 rad.
      if (i > 0) {
        EXPECT_GT(dot3(b.rings[i].normal, b.rings[i - 1].normal), std::cos(0.2));
      }
    }
  }
}

TEST(Tube, ClosedThreadMeetsItself) {
  const Built b = build(*curve(60, true));
  const Ring &first = b.rings.front(), &last = b.rings.back();
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(first.centre[k], last.centre[k], 1e-5);
    EXPECT_NEAR(first.normal[k], last.normal[k], 1e-4);
  }
}

TEST(Tube, OpenThreadEndsInAPoint) {
  const Built b = build(*curve(60, false));
  EXPECT_NEAR(b.rings.front().radius, 0, 1e-6);
  EXPECT_NEAR(b.rings.back().radius, 0, 1e-6);
}

TEST(Tube, BrokenSnapshotsDrawWhatCanBeDrawn) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  auto scene = curve(60, false);
  scene->vertices[0].x = nan;
  scene->vertices[17].y = std::numeric_limits<float>::infinity();
  scene->vertices[30] = scene->vertices[29];
  scene->threads.push_back({50, 4000, 0.1F, false});         // reaches beyond the vertices
  scene->threads.push_back({0xFFFFFFF0U, 100, 0.1F, true});  // starts beyond them, and would overflow
  scene->threads.push_back({0, 1, 0.1F, false});             // a point
  scene->threads.push_back({5, 10, nan, false});
  scene->threads.push_back({5, 10, -1.0F, false});
  const Built b = build(*scene);
  ASSERT_EQ(b.ranges.size(), 2U);
  for (const Ring& r : b.rings)
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_TRUE(std::isfinite(r.centre[k]));
      EXPECT_TRUE(std::isfinite(r.normal[k]));
      EXPECT_TRUE(std::isfinite(r.tangent[k]));
    }
}

TEST(Tube, ThreadThatDoublesBackStaysFinite) {
  auto scene = std::make_unique<SceneSnapshot>();
  for (const float x : {0.0F, 1.0F, 0.0F, 1.0F}) scene->vertices.push_back({x, 0, 0});
  scene->threads.push_back({0, 4, 0.1F, false});
  for (const Ring& r : build(*scene).rings) EXPECT_NEAR(length(r.normal), 1, 1e-4);
}

TEST(Tube, FullSnapshotFits) {
  for (const bool closed : {false, true}) {
    auto scene = std::make_unique<SceneSnapshot>();
    for (std::size_t i = 0; i < kMaxSnapshotVertices; ++i) {
      const double a = 0.05 * static_cast<double>(i);
      scene->vertices.push_back(
          {static_cast<float>(5 * std::cos(a)), static_cast<float>(5 * std::sin(a)), static_cast<float>(0.01 * a)});
    }
    constexpr std::uint32_t each = kMaxSnapshotVertices / kMaxThreads;
    for (std::uint32_t t = 0; t < kMaxThreads; ++t) scene->threads.push_back({t * each, each, 0.1F, closed});
    const Built b = build(*scene, 1e-3);
    EXPECT_EQ(b.ranges.size(), kMaxThreads);
    EXPECT_LE(b.rings.size(), kMaxThreadRings);
  }
}

TEST(Tube, FineThreadKeepsTheLeastWidth) {
  auto scene = curve(60, false);
  scene->threads[0].radius_mm = 0.01F;
  EXPECT_NEAR(build(*scene, 0.05, 0.04).rings[10].radius, 0.04, 1e-7);
}

TEST(ForcepsMesh, JawsAreTheRoundConesOfThePhysics) {
  const ForcepsShape shape;
  for (const ArmStation& s : arm_stations(shape)) {
    if (s.x_mm > -shape.tip_radius_mm || s.x_mm < -shape.jaw_length_mm) continue;
    EXPECT_NEAR(s.centre_y_mm, s.half_y_mm, 1e-9) << "the gripping faces meet in y = 0";
    const double u = (-s.x_mm - shape.tip_radius_mm) / (shape.jaw_length_mm - shape.tip_radius_mm);
    EXPECT_NEAR(s.half_y_mm, shape.tip_radius_mm + u * (shape.jaw_radius_mm - shape.tip_radius_mm), 1e-9);
  }
}

TEST(ForcepsMesh, ClosedJawsTouchAtTheOriginAndDoNotCross) {
  const ForcepsShape shape;
  const Mesh mesh = forceps_mesh(shape);
  float foremost = -1e9F;
  for (const MeshVertex& v : mesh.vertices) {
    foremost = std::max(foremost, v.position[0]);
    EXPECT_NEAR(length(v.normal), 1, 1e-5);
    if (v.part == static_cast<std::uint32_t>(Part::plus)) {
      EXPECT_GE(v.position[1], -1e-5F);
    }
    if (v.part == static_cast<std::uint32_t>(Part::minus)) {
      EXPECT_LE(v.position[1], 1e-5F);
    }
  }
  EXPECT_NEAR(foremost, 0, 1e-6);
  for (const std::uint32_t i : mesh.indices) ASSERT_LT(i, mesh.vertices.size());
}

}  // namespace
}  // namespace ligature::render
