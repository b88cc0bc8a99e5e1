#include <cmath>
#include <fstream>

#include "drivers/camera/lens.hpp"
#include "sim/base/random.hpp"
#include "tests/drivers/scene.hpp"

namespace ligature::drivers {
namespace {

TEST(Lens, UndistortInvertsDistort) {
  Random random(1);
  for (int lens_no = 0; lens_no < 20; ++lens_no) {
    CameraModel camera;
    camera.distortion = {random.uniform(-0.3, 0.2), random.uniform(-0.1, 0.1), random.uniform(-0.002, 0.002),
                         random.uniform(-0.002, 0.002), random.uniform(-0.05, 0.05)};
    const Lens lens(camera);
    for (int i = 0; i < 200; ++i) {
      const Point2 n{random.uniform(-0.55, 0.55), random.uniform(-0.42, 0.42)};
      const Point2 back = lens.undistort(lens.distort(n));
      EXPECT_NEAR(back.x, n.x, 1e-10);
      EXPECT_NEAR(back.y, n.y, 1e-10);
    }
  }
}

TEST(Lens, JacobianIsTheDerivative) {
  CameraModel camera;
  camera.distortion = {-0.2, 0.05, 0.001, -0.002, 0.01};
  const Lens lens(camera);
  const double h = 1e-6;
  for (const Point2 n : {Point2{0, 0}, Point2{0.4, -0.3}, Point2{-0.5, 0.1}}) {
    std::array<double, 4> J;
    lens.distort(n, &J);
    const Point2 px = lens.distort({n.x + h, n.y}), mx = lens.distort({n.x - h, n.y});
    const Point2 py = lens.distort({n.x, n.y + h}), my = lens.distort({n.x, n.y - h});
    const std::array<double, 4> numeric{(px.x - mx.x) / (2 * h), (py.x - my.x) / (2 * h), (px.y - mx.y) / (2 * h),
                                        (py.y - my.y) / (2 * h)};
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(J[i], numeric[i], 1e-5);  // 600 px * third derivative * h^2, rounding
  }
}

TEST(HandPath, TremorHasTheWantedSizeAndBand) {
  const Rig rig = testing::distorted_rig();
  ForcepsPath still{{0, {{}, {1, 2, 3}}, 0.05}};
  TremorParams tremor;
  const auto path = HandPath::create({still, still}, PathBlend::minimum_jerk, tremor, rig, false);
  ASSERT_TRUE(path.has_value());
  double sum2 = 0, low2 = 0;
  Vec3 window{};
  constexpr int n = 60000;
  for (int i = 0; i < n; ++i) {
    const Vec3 d = path->evaluate_W(0.001 * i)[0].X.p - Vec3{1, 2, 3};
    sum2 += dot(d, d);
    window = window + d;
    if (i % 1000 == 999) low2 += dot(window, window) * 1e-6, window = {};  // mean over a second: what lies below 1 Hz
  }
  // 30 tones over 60 s: the sample RMS strays from the wanted one by beats of close tones, a few percent.
  EXPECT_NEAR(std::sqrt(sum2 / n), tremor.rms_mm, 0.1 * tremor.rms_mm);
  EXPECT_LT(std::sqrt(low2 / (n / 1000)), 0.1 * tremor.rms_mm);
}

TEST(HandPath, IsAFunctionOfTimeAlone) {
  const Rig rig = testing::distorted_rig();
  const auto path = testing::demo_path(rig);
  const auto a = path->evaluate(5.4321);
  (void)path->evaluate(1.0);
  const auto b = path->evaluate(5.4321);
  EXPECT_EQ(a[1].X_RT.p, b[1].X_RT.p);
  EXPECT_EQ(a[1].X_RT.q, b[1].X_RT.q);
}

// The first images are exposed from before the start on: not of a hand on its way from the last place to the first.
TEST(HandPath, HandsThatStartAgainWaitAtTheirFirstPlaceBeforeTheStart) {
  const ForcepsPath far{{0, {{0, 0, 0, 1}, {1, 2, 3}}, 0.1}, {2, {{0, 0, 0, 1}, {40, 0, 9}}, 0.0}};
  TremorParams none;
  none.rms_mm = 0;
  const auto path = HandPath::create({far, far}, PathBlend::linear, none, Rig{}, true);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->evaluate_W(-1e-3)[0].X.p, far.front().X.p);
  EXPECT_EQ(path->evaluate_W(-3.0)[1].opening_rad, 0.1);
  EXPECT_NEAR(path->evaluate_W(3.0)[0].X.p.x, 20.5, 1e-12);  // again half way
}

TEST(HandPath, KeyframesAreReachedAndLeftAtRest) {
  const Rig rig = testing::distorted_rig();
  const auto path = testing::demo_path(rig, 0.0);
  const auto keys = load_path(testing::demo_file("left.csv"));
  ASSERT_TRUE(keys.has_value());
  for (const PathKey& key : *keys) {
    const double h = 1e-4;
    const PathKey at = path->evaluate_W(key.t_s)[0];
    EXPECT_NEAR(norm(at.X.p - key.X.p), 0, 1e-12);
    EXPECT_NEAR(at.opening_rad, key.opening_rad, 1e-12);
    // Minimum jerk starts like u^3: speed after h is below 30 d h^2 / T^3, with d < 40 mm and T > 0.15 s.
    EXPECT_LT(norm(path->evaluate_W(key.t_s + h)[0].X.p - at.X.p) / h, 30 * 40 * h * h / 0.003 + 1e-6);
  }
}

TEST(HandPath, DemoKeepsTheForcepsApartAndAboveTheBench) {
  const Rig rig = testing::distorted_rig();
  const auto path = testing::demo_path(rig);
  for (double t = 0; t < path->duration_s(); t += 0.05) {
    const auto at = path->evaluate_W(t);
    for (const PathKey& k : at) EXPECT_GT(k.X.p.z, 0.1) << t;  // jaws of 0.25 mm radius touch the bench, no more
    double nearest = 1e9;
    for (double a = 0; a <= 120; a += 3)
      for (double b = 0; b <= 120; b += 3)
        nearest = std::min(nearest, norm(at[0].X * Vec3{-a, 0, 0} - at[1].X * Vec3{-b, 0, 0}));
    EXPECT_GT(nearest, 5) << t;
  }
}

TEST(PathFile, ComesBackAsWritten) {
  Random random(3);
  ForcepsPath path;
  for (int i = 0; i < 20; ++i)
    path.push_back({0.1 * i,
                    {normalized({random.normal(), random.normal(), random.normal(), random.normal()}),
                     {random.normal(), random.normal(), random.normal()}},
                    0.01 * i});
  const std::string file = ::testing::TempDir() + "path_round_trip.csv";
  ASSERT_TRUE(save_path(file, path).has_value());
  const auto back = load_path(file);
  ASSERT_TRUE(back.has_value()) << back.error().message;
  ASSERT_EQ(back->size(), path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    EXPECT_NEAR(norm((*back)[i].X.p - path[i].X.p), 0, 1e-6);
    EXPECT_NEAR((*back)[i].opening_rad, path[i].opening_rad, 1e-8);
    EXPECT_NEAR((*back)[i].X.q.x, path[i].X.q.x, 1e-9);
  }
}

TEST(PathFile, MayBeginWithAByteOrderMark) {
  const std::string file = ::testing::TempDir() + "path_marked.csv";
  std::ofstream(file) << "\xef\xbb\xbft_s,x_mm,y_mm,z_mm,qx,qy,qz,qw,opening_deg\n0,1,2,3,0,0,0,1,0\n";
  const auto path = load_path(file);
  ASSERT_TRUE(path.has_value()) << path.error().message;
  EXPECT_EQ(path->size(), 1u);
}

TEST(PathFile, BadLinesAreNamed) {
  const struct {
    const char *text, *says;
  } cases[] = {
      {"t_s,x_mm,y_mm,z_mm,qx,qy,qz,qw,opening_deg\n0,0,0,0,0,0,0,1\n", ":2: 8 columns"},
      {"t_s,y_mm,x_mm,z_mm,qx,qy,qz,qw,opening_deg\n0,0,0,0,0,0,0,1,0\n", ":1: columns must be t_s,x_mm,"},
      {"0,0,0,zero,0,0,0,1,0\n", ":1: 'zero' is not a number"},
      {"0,0,0,0,0,0,0,1,0\n0,0,0,0,0,0,0,1,0\n", ":2: t_s = 0 does not come after"},
      {"0,0,0,0,0,0,0,2,0\n", ":1: quaternion has length 2"},
      {"0,0,0,nan,0,0,0,1,0\n", ":1: 'nan' is not a number"},
      {"0,0,0,1e30,0,0,0,1,0\n", ":1: beyond 1e6 s, 1e4 mm"},
      {"0,0,0,0,0,0,0,1,1e30\n", ":1: beyond 1e6 s, 1e4 mm or 180 degrees"},
      {"", ":1: no row"},
  };
  const std::string file = ::testing::TempDir() + "path_bad.csv";
  for (const auto& c : cases) {
    std::ofstream(file) << c.text;
    const auto path = load_path(file);
    ASSERT_FALSE(path.has_value()) << c.text;
    EXPECT_EQ(path.error().kind, Error::Kind::usage);
    EXPECT_NE(path.error().message.find(file + c.says), std::string::npos) << path.error().message;
  }
  EXPECT_FALSE(load_path(file + ".not").has_value());
  const auto endless = load_path("/dev/zero");
  ASSERT_FALSE(endless.has_value());
  EXPECT_NE(endless.error().message.find("/dev/zero: is no regular file"), std::string::npos);
}

}  // namespace
}  // namespace ligature::drivers
