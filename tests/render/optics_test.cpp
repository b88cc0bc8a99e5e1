#include "render/optics.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/base/random.hpp"
#include "sim/base/units.hpp"

namespace ligature::render {
namespace {

constexpr int kWidth = 640, kHeight = 480;

MicroscopeParams skewed() {
  MicroscopeParams m;
  m.target_p_W = {3, -2, 5};
  m.azimuth_deg = 35;
  m.elevation_deg = 62;
  m.distance_mm = 220;
  m.convergence_mm = 205;
  return m;
}
Vec3 at(const Optics& o, double right, double up, double depth) {
  return o.middle_p_W() + right * o.right_W() + up * o.up_W() + depth * o.forward_W();
}

TEST(Optics, AxesAreRightHandedAndLookAtTheTarget) {
  const MicroscopeParams m = skewed();
  const Optics o(m, kWidth, kHeight);
  EXPECT_NEAR(norm(cross(o.right_W(), o.up_W()) + o.forward_W()), 0, 1e-12);
  EXPECT_NEAR(norm(o.middle_p_W() + m.distance_mm * o.forward_W() - m.target_p_W), 0, 1e-10);
  EXPECT_GT(o.up_W().z, 0);
}

TEST(Optics, AzimuthZeroSitsAtMinusYAndSeesXToTheRight) {
  const Optics o(MicroscopeParams{}, kWidth, kHeight);
  EXPECT_LT(o.middle_p_W().y, 0);
  EXPECT_NEAR(norm(o.right_W() - Vec3{1, 0, 0}), 0, 1e-12);
  EXPECT_LT(o.eye_p_W(Eye::left).x, o.eye_p_W(Eye::right).x);
}

TEST(Optics, StraightDownStillHasAnUpwardDirection) {
  MicroscopeParams m;
  m.elevation_deg = 90;
  const Optics o(m, kWidth, kHeight);
  EXPECT_NEAR(norm(o.up_W() - Vec3{0, 1, 0}), 0, 1e-12);
}

TEST(Optics, PlaneOfZeroParallaxFallsOnTheSamePixelInBothEyes) {
  const MicroscopeParams m = skewed();
  const Optics o(m, kWidth, kHeight);
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    const Vec3 p = at(o, random.uniform(-30, 30), random.uniform(-20, 20), m.convergence_mm);
    const PixelPoint l = o.project(Eye::left, p), r = o.project(Eye::right, p);
    EXPECT_NEAR(l.x_px, r.x_px, 1e-9);
    EXPECT_NEAR(l.y_px, r.y_px, 1e-9);
  }
}

TEST(Optics, NearerPointsHaveCrossedDisparityOfTheClosedForm) {
  const MicroscopeParams m = skewed();
  const Optics o(m, kWidth, kHeight);
  Random random(2);
  for (int i = 0; i < 100; ++i) {
    const double depth = random.uniform(0.5 * m.convergence_mm, 2 * m.convergence_mm);
    const Vec3 p = at(o, random.uniform(-30, 30), random.uniform(-20, 20), depth);
    const double disparity = o.project(Eye::left, p).x_px - o.project(Eye::right, p).x_px;
    // By similar triangles on the screen plane: e (c - Z) / Z mm there, times px per mm there.
    const double screen_mm = m.eye_separation_mm * (m.convergence_mm - depth) / depth;
    const double px_per_mm = kHeight / (m.field_of_view_mm * m.convergence_mm / m.distance_mm);
    EXPECT_NEAR(disparity, screen_mm * px_per_mm, 1e-9);
    EXPECT_NEAR(disparity, o.disparity_px(depth), 1e-9);
    EXPECT_EQ(disparity > 0, depth < m.convergence_mm);
    EXPECT_NEAR(o.project(Eye::left, p).y_px, o.project(Eye::right, p).y_px, 1e-9);  // no vertical parallax
  }
}

TEST(Optics, FieldOfViewIsTheHeightInTheTargetPlane) {
  const MicroscopeParams m = skewed();
  const Optics o(m, kWidth, kHeight);
  const PixelPoint top = o.project(Eye::left, m.target_p_W + (0.5 * m.field_of_view_mm) * o.up_W());
  EXPECT_NEAR(top.y_px, -0.5, 1e-9);
}

TEST(Optics, MatrixAgreesWithTheProjection) {
  const Optics o(skewed(), kWidth, kHeight);
  Random random(3);
  for (const Eye eye : {Eye::left, Eye::right}) {
    const Mat4 m = o.clip_W(eye);
    for (int i = 0; i < 100; ++i) {
      const Vec3 p = at(o, random.uniform(-30, 30), random.uniform(-20, 20), random.uniform(120, 300));
      std::array<double, 4> clip{};
      for (std::size_t r = 0; r < 4; ++r) clip[r] = m[r] * p.x + m[4 + r] * p.y + m[8 + r] * p.z + m[12 + r];
      const PixelPoint px = o.project(eye, p);
      // Single precision of the matrix: 2^-24 relative, coordinates of 300 mm, 640 px: 2e-4 px with some room.
      EXPECT_NEAR(0.5 * (clip[0] / clip[3] + 1) * kWidth - 0.5, px.x_px, 5e-4);
      EXPECT_NEAR(0.5 * (clip[1] / clip[3] + 1) * kHeight - 0.5, px.y_px, 5e-4);
      EXPECT_GT(clip[2], 0);
      EXPECT_LT(clip[2], clip[3]);
    }
  }
}

TEST(Optics, CornersOfThePictureMeetTheBench) {
  const Optics o(skewed(), kWidth, kHeight);
  for (const Eye eye : {Eye::left, Eye::right})
    for (const double x : {-1.0, 1.0})
      for (const double y : {-1.0, 1.0}) {
        double depth = 0;
        const Vec3 p = o.on_plane(eye, x, y, 0.7, depth);
        const PixelPoint px = o.project(eye, p);
        EXPECT_NEAR(p.z, 0.7, 1e-9);
        EXPECT_NEAR(px.depth_mm, depth, 1e-9);
        EXPECT_NEAR(px.x_px, 0.5 * (x + 1) * kWidth - 0.5, 1e-9);
        EXPECT_NEAR(px.y_px, 0.5 * (y + 1) * kHeight - 0.5, 1e-9);
      }
}

}  // namespace
}  // namespace ligature::render
