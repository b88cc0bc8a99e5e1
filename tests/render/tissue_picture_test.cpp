/// Tissue as it comes out of the renderer, in both eyes.
#include <gtest/gtest.h>

#include <algorithm>

#include "render/renderer.hpp"
#include "tests/render/demo_scene.hpp"
#include "tests/render/tissue_scene.hpp"

namespace ligature::render {
namespace {

struct Rgb {
  int r = 0, g = 0, b = 0;
  int light() const { return r + g + b; }
};

/// A vessel of 1 mm that fills the picture as under the microscope, its open end to the right.
class TissuePicture : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    RenderParams p;
    p.device = "cpu";
    p.eye_width_px = 320;
    p.eye_height_px = 240;
    p.validation = true;
    p.status_overlay = false;
    p.vessel.present = false;
    p.microscope.target_p_W = {2, 0, 0.5};
    p.microscope.field_of_view_mm = 4;
    p.bench_point_W = {0, 0, -0.6};
    p.tissues = {vessel()};
    auto made = Renderer::create(p, "ligature test");
    EXPECT_TRUE(made) << made.error().message;
    if (made) renderer_ = std::move(*made);
  }
  static void TearDownTestSuite() { renderer_.reset(); }
  void SetUp() override { ASSERT_NE(renderer_, nullptr); }
  static TissueSurface vessel() { return tube(20, 20, 0.5, 0.1, 3); }

  static void draw(const SceneSnapshot& scene) {
    ASSERT_EQ(renderer_->render(scene), Outcome::presented);
    EXPECT_EQ(renderer_->validation_messages(), 0U) << renderer_->first_validation_message();
  }
  /// Mean colour of 3 x 3 pixels where this eye sees the point.
  static Rgb at(Eye eye, Vec3 p_W) {
    const PixelPoint place = renderer_->optics().project(eye, p_W);
    const PictureView view = renderer_->picture();
    Rgb sum;
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx) {
        const auto x = std::lround(place.x_px) + dx + (eye == Eye::right ? view.width_px / 2 : 0);
        const std::uint8_t* c = view.bgra + view.stride_bytes * static_cast<std::size_t>(std::lround(place.y_px) + dy) +
                                4 * static_cast<std::size_t>(x);
        sum.b += c[0], sum.g += c[1], sum.r += c[2];
      }
    return {sum.r / 9, sum.g / 9, sum.b / 9};
  }
  static inline std::unique_ptr<Renderer> renderer_;
};

/// A thread across the vessel at this height above its axis.
void add_thread(SceneSnapshot& scene, double x, double z) {
  const auto first = static_cast<std::uint32_t>(scene.vertices.size());
  for (int i = -20; i <= 20; ++i) scene.vertices.push_back(to_vertex({x, 0.05 * i, z}));
  scene.threads.push_back({first, 41, 0.0125F, false});
}

TEST_F(TissuePicture, IsPinkWhereItIsInBothEyes) {
  const auto scene = at_rest(vessel());
  draw(*scene);
  for (const Eye eye : {Eye::left, Eye::right}) {
    for (const double x : {0.8, 1.4, 2.0, 2.6}) {
      const Rgb c = at(eye, {x, -0.3, 0.4});
      EXPECT_GT(c.r, c.g + 20) << x;
      EXPECT_GT(c.r, c.b + 20) << x;
    }
    const Rgb bench = at(eye, {2, -1.4, -0.6});
    EXPECT_LT(bench.r, bench.g) << "green";
  }
  // Lifted, it is seen elsewhere; the bench is seen where it was.
  for (SnapshotVertex& v : scene->surface) v.y += 1.2F;
  draw(*scene);
  const Rgb c = at(Eye::left, {2, -0.3, 0.4});
  EXPECT_LT(c.r, c.g);
}

TEST_F(TissuePicture, ItsLumenIsDarkerThanItsOutside) {
  auto scene = at_rest(vessel());
  // Turned so that the open end faces the microscope.
  const Quat turn = axis_angle({0, 1, 0}, -0.5) * axis_angle({0, 0, 1}, -1.2);
  for (SnapshotVertex& v : scene->surface) v = to_vertex(Vec3{2, 0, 0.5} + rotate(turn, Vec3{v.x - 3, v.y, v.z}));
  draw(*scene);
  for (const Eye eye : {Eye::left, Eye::right}) {
    const Rgb lumen = at(eye, Vec3{2, 0, 0.5} + rotate(turn, {-0.3, 0, 0}));
    const Rgb outside = at(eye, Vec3{2, 0, 0.5} + rotate(turn, {-1.0, -0.3, 0.42}));
    EXPECT_LT(2 * lumen.light(), outside.light() + 120);
    EXPECT_GT(lumen.r, lumen.g);
  }
}

TEST_F(TissuePicture, AThreadThrowsItsShadowOnTheWallTheFurtherTheHigherItIs) {
  const auto bare = at_rest(vessel());
  draw(*bare);
  const Optics& optics = renderer_->optics();
  // The key light, as the renderer has it: the shadow falls away from it, down on the wall's ridge at z = 0.5.
  Vec3 key = -0.45 * optics.forward_W() + Vec3{0, 0, 0.75} - 0.42 * optics.right_W() + 0.1 * optics.up_W();
  key = (1 / norm(key)) * key;
  const auto shade = [&](double height) { return Vec3{2.0 - height * key.x / key.z, -height * key.y / key.z, 0.5}; };
  for (const double height : {0.15, 0.30}) {
    draw(*bare);
    const int before = at(Eye::left, shade(height)).light(), right_before = at(Eye::right, shade(height)).light();
    auto scene = at_rest(vessel());
    add_thread(*scene, 2.0, 0.5 + height);
    draw(*scene);
    EXPECT_LT(at(Eye::left, shade(height)).light(), before - 15) << height;
    EXPECT_LT(at(Eye::right, shade(height)).light(), right_before - 15) << height;
    const double other = height > 0.2 ? 0.15 : 0.30;
    draw(*bare);
    const int elsewhere = at(Eye::left, shade(other)).light();
    draw(*scene);
    EXPECT_NEAR(at(Eye::left, shade(other)).light(), elsewhere, 8) << "only there";
  }
}

TEST_F(TissuePicture, ItThrowsAShadowOnTheBench) {
  auto scene = at_rest(vessel());
  draw(*scene);
  const int in_shade = at(Eye::left, {2.2, -0.33, -0.6}).light();
  for (SnapshotVertex& v : scene->surface) v.y += 1.5F;
  draw(*scene);
  EXPECT_LT(in_shade, 0.8 * at(Eye::left, {2.2, -0.33, -0.6}).light());
}

TEST_F(TissuePicture, AHoleIsADarkPoint) {
  auto scene = at_rest(vessel());
  const Vec3 place{1.5, -0.2939, 0.4045};  // half way round from the ridge to the front
  draw(*scene);
  const int whole = at(Eye::left, place).light(), beside = at(Eye::left, place + Vec3{0.3, 0, 0}).light();
  scene->holes.push_back({to_vertex(place), 0.03F});
  draw(*scene);
  for (const Eye eye : {Eye::left, Eye::right}) EXPECT_LT(2 * at(eye, place).light(), whole);
  EXPECT_NEAR(at(Eye::left, place + Vec3{0.3, 0, 0}).light(), beside, 8);
}

TEST(TissuePictures, TooManyOrWrongSurfacesAreRefused) {
  RenderParams p;
  p.tissues = {tube(64, 64, 0.5, 0.1, 3)};
  ASSERT_FALSE(check(p));
  EXPECT_NE(check(p).error().message.find("8320 vertices"), std::string::npos) << check(p).error().message;
  p.tissues = {tube(12, 5, 0.5, 0.1, 3)};
  EXPECT_TRUE(check(p));
  p.tissues[0].triangles[0].vertex[0] = 9999;
  EXPECT_FALSE(check(p));
}

}  // namespace
}  // namespace ligature::render
