#include "render/renderer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "render/overlay.hpp"
#include "tests/render/demo_scene.hpp"

namespace ligature::render {
namespace {

using Pixels = std::vector<std::uint8_t>;

RenderParams small() {
  RenderParams p;
  p.device = "cpu";
  p.eye_width_px = 320;
  p.eye_height_px = 240;
  p.validation = true;
  p.status_overlay = false;
  return p;
}
std::unique_ptr<Renderer> make(const RenderParams& params) {
  auto r = Renderer::create(params, "ligature test");
  EXPECT_TRUE(r) << r.error().message;
  return r ? std::move(*r) : nullptr;
}
Pixels copy(const PictureView& p) {
  return {p.bgra, p.bgra + p.stride_bytes * static_cast<std::size_t>(p.height_px)};
}
Pixels draw(Renderer& renderer, const SceneSnapshot& scene, std::string_view message = {}) {
  EXPECT_EQ(renderer.render(scene, {.message = message}), Outcome::presented);
  EXPECT_EQ(renderer.validation_messages(), 0U) << renderer.first_validation_message();
  return copy(renderer.picture());
}
struct Bgr {
  int b, g, r;
};
Bgr pixel(const PictureView& p, Eye eye, int x, int y) {
  const std::uint8_t* at = p.bgra + p.stride_bytes * static_cast<std::size_t>(y) +
                           4 * static_cast<std::size_t>(x + (eye == Eye::right ? p.width_px / 2 : 0));
  return {at[0], at[1], at[2]};
}
/// Bytes that differ, and by how much at most.
struct Difference {
  std::size_t count = 0;
  int largest = 0;
};
Difference difference(const Pixels& a, const Pixels& b) {
  EXPECT_EQ(a.size(), b.size());
  Difference d;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (a[i] != b[i]) ++d.count, d.largest = std::max(d.largest, std::abs(int{a[i]} - int{b[i]}));
  return d;
}
std::unique_ptr<SceneSnapshot> thread_only() {
  auto scene = demo_scene();
  for (SnapshotForceps& f : scene->forceps) f = {};
  return scene;
}

/// One renderer for the tests that need no other parameters: each creation compiles the shaders.
class RendererShared : public testing::Test {
 protected:
  static void SetUpTestSuite() { renderer_ = make(small()); }
  static void TearDownTestSuite() { renderer_.reset(); }
  void SetUp() override { ASSERT_NE(renderer_, nullptr); }
  static Renderer& renderer() { return *renderer_; }

 private:
  static inline std::unique_ptr<Renderer> renderer_;
};

TEST_F(RendererShared, SameSnapshotGivesTheSameBytes) {
  const auto scene = demo_scene();
  const Pixels first = draw(renderer(), *scene);
  draw(renderer(), *thread_only());
  EXPECT_EQ(first, draw(renderer(), *scene));
  const auto other = make(small());
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(first, draw(*other, *scene));
}

TEST_F(RendererShared, ThreadIsSeenWhereItsVerticesProject) {
  const auto scene = thread_only();
  draw(renderer(), *scene);
  const PictureView picture = renderer().picture();
  int checked = 0;
  for (std::size_t i = 10; i < scene->vertices.size(); i += 20) {
    const SnapshotVertex& v = scene->vertices[i];
    for (const Eye eye : {Eye::left, Eye::right}) {
      const PixelPoint at = renderer().optics().project(eye, {v.x, v.y, v.z});
      const int x = static_cast<int>(std::lround(at.x_px)), y = static_cast<int>(std::lround(at.y_px));
      if (x < 1 || y < 1 || x > 318 || y > 238) continue;
      ++checked;
      // Violet thread, or its white glint: not the sheet, on which green is well above red.
      bool seen = false;
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          const Bgr c = pixel(picture, eye, x + dx, y + dy);
          seen |= c.r + 10 > c.g && c.b > c.g;
        }
      EXPECT_TRUE(seen) << "vertex " << i << " at " << at.x_px << ", " << at.y_px;
    }
  }
  EXPECT_GT(checked, 20);
}

TEST_F(RendererShared, NearThreadHasTheCrossedDisparityOfTheClosedForm) {
  // A thread that runs up the picture, well above the plane of zero parallax, at one depth.
  const Optics& optics = renderer().optics();
  const Vec3 middle = small().microscope.target_p_W - 14.0 * optics.forward_W();
  auto scene = std::make_unique<SceneSnapshot>();
  for (int i = -10; i <= 10; ++i) {
    const Vec3 p = middle + (0.5 * i) * optics.up_W();
    scene->vertices.push_back({static_cast<float>(p.x), static_cast<float>(p.y), static_cast<float>(p.z)});
  }
  scene->threads.push_back({0, 21, 0.3F, false});
  draw(renderer(), *scene);
  const auto centroid = [&](Eye eye) {
    double sum = 0, weight = 0;
    for (int x = 130; x < 190; ++x) {
      const Bgr c = pixel(renderer().picture(), eye, x, 120);
      const double violet = std::max(0, c.r - c.g + 20);
      sum += violet * x, weight += violet;
    }
    return weight > 0 ? sum / weight : -1e9;
  };
  const double expected = optics.disparity_px(small().microscope.distance_mm - 14);
  EXPECT_GT(expected, 5);
  // The thread is three pixels wide and shaded unevenly across: its centroid is good to half a pixel in each eye.
  EXPECT_NEAR(centroid(Eye::left) - centroid(Eye::right), expected, 1);
}

TEST_F(RendererShared, EveryStateOfAnInstrumentLooksDifferent) {
  auto scene = demo_scene();
  std::vector<Pixels> pictures;
  for (const TrackStatus status : {TrackStatus::tracked, TrackStatus::predicted, TrackStatus::lost}) {
    scene->forceps[1].status = status;
    pictures.push_back(draw(renderer(), *scene));
  }
  scene->forceps[1] = {};  // never seen: not drawn
  pictures.push_back(draw(renderer(), *scene));
  for (std::size_t i = 0; i < pictures.size(); ++i)
    for (std::size_t k = i + 1; k < pictures.size(); ++k)
      EXPECT_GT(difference(pictures[i], pictures[k]).count, 2000U) << i << " and " << k;
}

TEST_F(RendererShared, LostInstrumentTurnsRed) {
  auto scene = demo_scene();
  const auto reds = [&] {
    draw(renderer(), *scene);
    const PictureView p = renderer().picture();
    int count = 0;
    for (int y = 0; y < 240; ++y)
      for (int x = 0; x < 320; ++x) {
        const Bgr c = pixel(p, Eye::right, x, y);
        count += c.r > c.g + 60 && c.r > c.b + 60;
      }
    return count;
  };
  const int before = reds();
  scene->forceps[0].status = TrackStatus::lost;
  EXPECT_GT(reds(), before + 300);
}

TEST_F(RendererShared, OpeningMovesTheArms) {
  auto scene = demo_scene();
  const Pixels closed = draw(renderer(), *scene);
  scene->forceps[0].opening_rad = 0.05;
  EXPECT_GT(difference(closed, draw(renderer(), *scene)).count, 1000U);
}

TEST_F(RendererShared, ShadowOfARisingThreadMovesAwayAndFades) {
  const Pixels empty = draw(renderer(), SceneSnapshot{});
  struct Shadow {
    int darkening = 0, rows_below_thread = 0;
  };
  // One column through a thread that lies across the picture, against the same column without it.
  const auto shadow_at = [&](float z) {
    auto scene = std::make_unique<SceneSnapshot>();
    for (int i = 0; i < 60; ++i) scene->vertices.push_back({static_cast<float>(i) * 0.5F - 15, -2, z});
    scene->threads.push_back({0, 60, 0.3F, false});
    const Pixels with = draw(renderer(), *scene);
    const int thread_row =
        static_cast<int>(std::lround(renderer().optics().project(Eye::left, {0, -2, static_cast<double>(z)}).y_px));
    Shadow s;
    for (int y = 0; y < 240; ++y) {
      const std::size_t at = static_cast<std::size_t>(y) * 640 * 4 + 160 * 4;
      const int green = empty[at + 1] - with[at + 1];
      if (std::abs(y - thread_row) <= 2 || green <= s.darkening) continue;
      s = {green, y - thread_row};
    }
    return s;
  };
  const Shadow low = shadow_at(1), high = shadow_at(8);
  EXPECT_GT(high.darkening, 5);
  EXPECT_GT(low.darkening, high.darkening + 10);
  EXPECT_GT(high.rows_below_thread, low.rows_below_thread + 10);
}

TEST_F(RendererShared, EmptyFullAndBrokenSnapshotsDraw) {
  auto scene = std::make_unique<SceneSnapshot>();
  draw(renderer(), *scene);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t i = 0; i < kMaxSnapshotVertices; ++i) {
    const auto a = static_cast<float>(i) * 0.02F;
    scene->vertices.push_back({8 * std::cos(a), 8 * std::sin(a), 0.1F + 0.002F * static_cast<float>(i)});
  }
  scene->threads.push_back({0, kMaxSnapshotVertices, 0.1F, false});
  const Pixels whole = draw(renderer(), *scene);
  for (std::size_t i = 0; i < kMaxSnapshotVertices; i += 100) scene->vertices[i].z = nan;
  scene->forceps[0].status = TrackStatus::tracked;
  scene->forceps[0].X_WT.p.x = std::numeric_limits<double>::quiet_NaN();
  scene->forceps[1].status = TrackStatus::tracked;
  scene->forceps[1].X_WT.q = {0, 0, 0, 0};
  scene->forceps[1].opening_rad = std::numeric_limits<double>::infinity();
  // A hundredth of the vertices missing from a smooth curve: the spline bridges them within a pixel or two.
  EXPECT_LT(difference(whole, draw(renderer(), *scene)).count, whole.size() / 50);
}

TEST_F(RendererShared, ZoomEnlargesAndRefusesNonsense) {
  const auto scene = demo_scene();
  const MicroscopeParams usual = small().microscope;
  const Pixels before = draw(renderer(), *scene);
  MicroscopeParams closer = usual;
  closer.field_of_view_mm = 20;
  ASSERT_TRUE(renderer().set_microscope(closer));
  EXPECT_GT(difference(before, draw(renderer(), *scene)).count, before.size() / 4);
  closer.field_of_view_mm = 0;
  const auto refused = renderer().set_microscope(closer);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("field_of_view_mm"), std::string::npos);
  ASSERT_TRUE(renderer().set_microscope(usual));
  EXPECT_EQ(before, draw(renderer(), *scene));
}

TEST_F(RendererShared, AKeptPictureIsThePictureOfTheSceneMadeSmall) {
  const auto scene = demo_scene();
  const Pixels plain = draw(renderer(), *scene);
  ASSERT_EQ(renderer().render(*scene, {.message = "NOT IN IT", .keep = 5}), Outcome::presented);
  EXPECT_EQ(renderer().validation_messages(), 0U) << renderer().first_validation_message();
  EXPECT_FALSE(renderer().kept(4, Eye::left));
  const int width = renderer().picture().width_px;
  for (const Eye eye : {Eye::left, Eye::right}) {
    const PictureView kept = renderer().kept(5, eye);
    ASSERT_TRUE(kept);
    ASSERT_EQ(kept.width_px, 80);
    ASSERT_EQ(kept.height_px, 60);
    // A quarter of the picture: the mean of 4 x 4 pixels, which a driver may take from the middle four alone.
    double error = 0;
    for (int y = 0; y < 60; ++y)
      for (int x = 0; x < 80; ++x)
        for (int c = 0; c < 3; ++c) {
          double mean = 0;
          for (const int dy : {1, 2})
            for (const int dx : {1, 2})
              mean += plain[static_cast<std::size_t>(
                  4 * ((4 * y + dy) * width + 4 * x + dx + (eye == Eye::right ? width / 2 : 0)) + c)];
          error += std::abs(
              mean / 4 -
              kept.bgra[static_cast<std::size_t>(y) * kept.stride_bytes + static_cast<std::size_t>(4 * x + c)]);
        }
    EXPECT_LT(error / (60 * 80 * 3), 2) << "mean difference of a byte";
  }
}

TEST_F(RendererShared, ASheetShowsKeptPicturesToEachEyeAndGoesAway) {
  const auto scene = demo_scene();
  const Pixels before = draw(renderer(), *scene);
  ASSERT_EQ(renderer().render(*scene, {.keep = 1}), Outcome::presented);
  Sheet sheet;
  sheet.add(Sheet::Tone::title, "Done");
  sheet.add_frame(1, "1");
  sheet.add_frame(7, "never kept");
  ASSERT_EQ(renderer().render(*scene, {.sheet = &sheet}), Outcome::presented);
  EXPECT_EQ(renderer().validation_messages(), 0U) << renderer().first_validation_message();
  const Pixels shown = copy(renderer().picture());
  // Two frames of 78 x 58.5 px side by side in the middle, above their captions.
  const int top = 164, left = 81, width = renderer().picture().width_px;
  for (const Eye eye : {Eye::left, Eye::right}) {
    const PictureView kept = renderer().kept(1, eye);
    const int offset = eye == Eye::right ? width / 2 : 0;
    double error = 0;
    for (int y = 10; y < 50; ++y)
      for (int x = 10; x < 70; ++x)
        error +=
            std::abs(int{shown[static_cast<std::size_t>(4 * ((top + y) * width + left + x + offset))]} -
                     int{kept.bgra[static_cast<std::size_t>(y) * kept.stride_bytes + 4U * static_cast<unsigned>(x)]});
    EXPECT_LT(error / 2400, 12) << "the kept picture stands there";
    const Bgr blank = pixel(renderer().picture(), eye, 200, 190);
    EXPECT_LT(std::max({blank.b, blank.g, blank.r}) - std::min({blank.b, blank.g, blank.r}), 12) << "never kept";
  }
  // The picture behind it is dark.
  double bright_before = 0, bright = 0;
  for (std::size_t i = 0; i < shown.size() / 2; ++i) bright_before += before[i], bright += shown[i];
  EXPECT_LT(bright, 0.75 * bright_before);
  EXPECT_EQ(before, draw(renderer(), *scene));
}

TEST(Overlay, CaptionsOfAFilmStripStandUnderTheirOwnPictures) {
  std::vector<Mark> marks(kMaxMarks);
  for (const auto& [width, height] : {std::pair{320, 240}, {640, 480}, {960, 1080}, {1920, 1080}}) {
    for (const std::size_t pictures : {std::size_t{1}, std::size_t{3}, kFilmFrames}) {
      Sheet sheet;
      for (std::size_t k = 0; k < pictures; ++k) sheet.add_frame(k, k + 1 == pictures ? "end 12:39" : "7 12:39");
      Overlay overlay(marks.data(), marks.size());
      draw_sheet(overlay, sheet, 0xff, width, height);
      const Mark* picture = nullptr;
      std::size_t glyphs = 0;
      for (std::size_t i = 0; i < overlay.size(); ++i) {
        const Mark& m = marks[i];
        if (m.shape == static_cast<std::uint32_t>(Shape::film)) picture = &m;
        if (m.shape != static_cast<std::uint32_t>(Shape::glyph)) continue;
        ++glyphs;
        ASSERT_NE(picture, nullptr);
        EXPECT_GE(m.x, picture->x);
        EXPECT_LE(m.x + m.width, picture->x + picture->width) << width << " px, " << pictures << " pictures";
        EXPECT_LE(m.y + m.height, static_cast<float>(height));
      }
      EXPECT_EQ(glyphs, 8 + 6 * (pictures - 1));
    }
  }
}

TEST_F(RendererShared, TimesAreOrdered) {
  draw(renderer(), *demo_scene());
  const FrameTiming t = renderer().timing();
  EXPECT_LE(t.begin_ns, t.submit_ns);
  EXPECT_LT(t.submit_ns, t.complete_ns);
}

TEST_F(RendererShared, TestPictureTellsTheEyesApart) {
  ASSERT_EQ(renderer().render_test_picture(), Outcome::presented);
  EXPECT_EQ(renderer().validation_messages(), 0U) << renderer().first_validation_message();
  const PictureView p = renderer().picture();
  const auto count = [&](Eye eye, bool red) {
    int n = 0;
    for (int y = 0; y < 240; ++y)
      for (int x = 0; x < 320; ++x) {
        const Bgr c = pixel(p, eye, x, y);
        n += red ? c.r > 200 && c.g < 100 && c.b < 100 : c.r < 100 && c.g > 180 && c.b > 200;
      }
    return n;
  };
  EXPECT_GT(count(Eye::left, true), 500);
  EXPECT_EQ(count(Eye::left, false), 0);
  EXPECT_GT(count(Eye::right, false), 500);
  EXPECT_EQ(count(Eye::right, true), 0);
  // sRGB: the middle step of eleven is 50 % to the eye, 128 in the file.
  const Bgr middle = pixel(p, Eye::left, 160, static_cast<int>(0.82 * 240));
  EXPECT_NEAR(middle.g, 128, 1);
  EXPECT_NEAR(middle.r, middle.b, 1);
}

TEST(Renderer, OnePassAndTwoPassesGiveTheSamePicture) {
  RenderParams params = small();
  // From far away nothing is clipped, which is where Mesa's multiview is right (see make_passes()).
  params.microscope.distance_mm = 500;
  params.microscope.field_of_view_mm = 420;
  params.microscope.convergence_mm = 500;
  params.status_overlay = true;
  for (const int samples : {1, 4}) {
    params.samples = samples;
    params.passes = "one";
    const auto one = make(params);
    params.passes = "two";
    const auto two = make(params);
    ASSERT_TRUE(one && two);
    EXPECT_TRUE(one->info().multiview);
    EXPECT_FALSE(two->info().multiview);
    EXPECT_EQ(one->info().samples, samples);
    auto scene = demo_scene();
    scene->forceps[1].status = TrackStatus::predicted;
    const Difference d = difference(draw(*one, *scene, "SAME"), draw(*two, *scene, "SAME"));
    EXPECT_EQ(d.count, 0U) << "largest difference " << d.largest;
    ASSERT_EQ(one->render_test_picture(), Outcome::presented);
    ASSERT_EQ(two->render_test_picture(), Outcome::presented);
    EXPECT_EQ(difference(copy(one->picture()), copy(two->picture())).count, 0U);
  }
}

TEST(Renderer, MultisamplingSmoothsEdges) {
  RenderParams params = small();
  params.samples = 1;
  const auto coarse = make(params);
  params.samples = 5;  // the next lower count
  const auto fine = make(params);
  ASSERT_TRUE(coarse && fine);
  EXPECT_EQ(fine->info().samples, 4);
  EXPECT_GT(difference(draw(*coarse, *demo_scene()), draw(*fine, *demo_scene())).count, 1000U);
}

TEST(Renderer, OddSizesDraw) {
  for (const auto& [w, h] : {std::pair{1, 1}, std::pair{333, 77}, std::pair{2, 301}}) {
    RenderParams params = small();
    params.eye_width_px = w;
    params.eye_height_px = h;
    params.status_overlay = true;
    const auto renderer = make(params);
    ASSERT_NE(renderer, nullptr);
    draw(*renderer, *demo_scene(), "A MESSAGE THAT IS LONGER THAN THE PICTURE IS WIDE");
    EXPECT_EQ(renderer->picture().width_px, 2 * w);
    EXPECT_EQ(renderer->picture().height_px, h);
    EXPECT_EQ(renderer->render_test_picture(), Outcome::presented);
  }
}

TEST(Renderer, LostIsReportedAndANewOneDraws) {
  RenderParams params = small();
  params.validation = false;
  auto renderer = make(params);
  ASSERT_NE(renderer, nullptr);
  const auto scene = demo_scene();
  const Pixels before = draw(*renderer, *scene);
  renderer->inject_lost();
  EXPECT_EQ(renderer->render(*scene), Outcome::lost);
  EXPECT_EQ(renderer->render_test_picture(), Outcome::lost);
  renderer.reset();
  renderer = make(params);
  ASSERT_NE(renderer, nullptr);
  EXPECT_EQ(before, draw(*renderer, *scene));
}

TEST(Renderer, NoPresenterNeedsNoDevice) {
  RenderParams params = small();
  params.presenter = "none";
  const auto renderer = make(params);
  ASSERT_NE(renderer, nullptr);
  EXPECT_EQ(renderer->render(*demo_scene()), Outcome::presented);
  EXPECT_FALSE(renderer->picture());
  EXPECT_EQ(renderer->info().line(), "no picture");
}

TEST(Renderer, BadParametersAreNamedWithTheirRange) {
  struct Case {
    void (*spoil)(RenderParams&);
    const char* key;
  };
  const Case cases[] = {
      {[](RenderParams& p) { p.eye_width_px = 0; }, "eye_width_px"},
      {[](RenderParams& p) { p.eye_height_px = 1 << 20; }, "eye_height_px"},
      {[](RenderParams& p) { p.samples = 0; }, "samples"},
      {[](RenderParams& p) { p.device = "tpu"; }, "device"},
      {[](RenderParams& p) { p.presenter = "wall"; }, "presenter"},
      {[](RenderParams& p) { p.passes = "three"; }, "passes"},
      {[](RenderParams& p) { p.microscope.convergence_mm = std::numeric_limits<double>::quiet_NaN(); },
       "convergence_mm"},
      {[](RenderParams& p) { p.forceps[1].hinge_p_T.x = 5; }, "hinge_p_T.x"},
  };
  for (const Case& c : cases) {
    RenderParams params = small();
    c.spoil(params);
    const auto r = Renderer::create(params, "");
    ASSERT_FALSE(r) << c.key;
    EXPECT_EQ(r.error().kind, Error::Kind::usage);
    EXPECT_NE(r.error().message.find(c.key), std::string::npos) << r.error().message;
    EXPECT_NE(r.error().message.find("must be"), std::string::npos) << r.error().message;
  }
}

TEST(Renderer, MissingDeviceIsUnavailable) {
  RenderParams params = small();
  params.device = "gpu";
  const auto r = Renderer::create(params, "");
  if (r) GTEST_SKIP() << "this machine has a GPU: " << (*r)->info().device;
  EXPECT_EQ(r.error().kind, Error::Kind::unavailable);
}

}  // namespace
}  // namespace ligature::render
