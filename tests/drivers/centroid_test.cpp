#include "tests/drivers/centroids.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include <opencv2/core/mat.hpp>

namespace ligature::drivers {
namespace {

using testing::centre_errors;
using testing::CentreErrors;

struct Light {
  const char* name;
  double brightness, noise, shot, defocus;
};
constexpr std::array<Light, 6> kLights{{{"bright", 1.0, 0.02, 0, 0},
                                        {"usual", 0.85, 0.02, 0, 0},
                                        {"dim", 0.2, 0.02, 0, 0},
                                        {"photons", 0.85, 0.01, 0.04, 0},
                                        {"blurred", 0.85, 0.02, 0, 1.2},
                                        {"noisy", 0.85, 0.1, 0, 0.5}}};

VirtualRigParams params_of(const Light& light) {
  VirtualRigParams p;
  p.brightness = light.brightness, p.noise = light.noise, p.shot_noise = light.shot, p.defocus_px = light.defocus;
  return p;
}

// The bound knows the light's slope over the ball, the estimator has to learn it from the six markers of an image. A
// sharp rim tells its place from a slope, a blurred one hardly does. Some 2300 centres: the RMS is known to 1.5 %.
TEST(MarkerCentres, ComeNearTheCramerRaoBound) {
  for (const Light& light : kLights) {
    const CentreErrors e = centre_errors(params_of(light), 100, 16, true);
    std::printf("%-8s rms %.4f px, bound %.4f, ratio %.3f, inside 95 %%: %.1f %%\n", light.name, e.rms(), e.bound(),
                e.rms() / e.bound(), 100 * e.inside());
    EXPECT_GE(e.found, 0.998 * e.expected) << light.name;
    EXPECT_LT(e.rms(), (light.defocus < 1 ? 1.25 : 1.45) * e.bound()) << light.name;
    EXPECT_GT(e.rms(), 0.95 * e.bound()) << light.name;
    // The believed covariance is the true one: 95 % within 5.991, by the issue's own margin.
    EXPECT_GT(e.inside(), 0.93) << light.name;
    EXPECT_LT(e.inside(), 0.97) << light.name;
  }
}

TEST(MarkerCentres, AreUnbiasedWhereverInAPixelTheyLie) {
  VirtualRigParams p;
  p.noise = 0.002;
  const CentreErrors e = centre_errors(p, 150);
  std::printf("worst of 64 cells %.4f px, rms %.4f\n", e.worst_bias(), e.rms());
  EXPECT_LT(e.worst_bias(), 0.005);
  EXPECT_LT(e.rms(), 0.006);
}

TEST(MarkerCentres, HaveATenthOfAPixelInTheStandardNoise) {
  const CentreErrors e = centre_errors(tenth_pixel_params(), 150);
  std::printf("rms %.4f px, inside 95 %%: %.1f %%\n", e.rms(), 100 * e.inside());
  EXPECT_NEAR(e.rms(), 0.1, 0.003);
  EXPECT_GE(e.found, 0.998 * e.expected);
  EXPECT_GT(e.inside(), 0.93);
  EXPECT_LT(e.inside(), 0.97);
}

TEST(MarkerCentres, BearWhatHappensInAnImage) {
  struct Case {
    const char* name;
    VirtualRigParams params;
    double alone_px, rms_px, inside;
  };
  std::array<Case, 7> cases{{{"glint", {}, 16, 0.012, 0.92},
                             {"one over another", {}, 4, 0.012, 0.92},
                             {"white balance", {}, 16, 0.012, 0.92},
                             {"pale", {}, 16, 0.02, 0.90},
                             {"bodies", {}, 16, 0.03, 0.92},
                             {"third of the level", {}, 16, 0.13, 0.92},
                             {"lamp in the lid", {}, 16, 0.012, 0.92}}};
  cases[0].params.highlight = 1.5;
  cases[2].params.white_balance = {1.25, 1, 0.8}, cases[2].params.brightness = 0.7;
  cases[3].params.saturation = 0.6;
  cases[4].params.bodies = true;
  cases[5].params.noise = 0.28;
  cases[6].params.lamp_height_mm = 300;
  for (const Case& c : cases) {
    const CentreErrors e = centre_errors(c.params, 60, c.alone_px);
    std::printf("%-18s found %d of %d, rms %.4f px, worst %.3f, inside 95 %%: %.1f %%\n", c.name, e.found, e.expected,
                e.rms(), e.worst, 100 * e.inside());
    EXPECT_GE(e.found, 0.97 * e.expected) << c.name;
    EXPECT_LT(e.rms(), c.rms_px) << c.name;
    EXPECT_GT(e.inside(), c.inside) << c.name;
  }
}

// A matte ball under a small lamp is dark where it turns away from it: down to the light that comes from everywhere
// else, a quarter to three quarters of the whole here. Taken for a slope of the light, that side moves a centre by 0.02
// to 0.06 px, more than anything that these say of themselves.
TEST(MarkerCentres, AreThoseOfBallsThatHaveADarkSide) {
  struct Case {
    const char* name;
    double lambert, shading, lamp_height_mm;
    Vec3 light_R;
    double defocus_px, noise, rms_px;
  };
  const Vec3 lid{0, -0.3, 0.95}, side{0, -0.9, 0.45};
  const std::array<Case, 10> cases{{{"a quarter of it dark", 1, 0.25, 0, lid, 0, 0.02, 0.010},
                                    {"half", 1, 0.5, 0, lid, 0, 0.02, 0.0135},
                                    {"three quarters", 1, 0.75, 0, lid, 0, 0.02, 0.022},
                                    {"lamps that leave half a dark side", 0.5, 0.75, 0, lid, 0, 0.02, 0.018},
                                    {"lamp at the side", 1, 0.5, 0, side, 0, 0.02, 0.0145},
                                    {"three quarters from the side", 1, 0.75, 0, side, 0, 0.02, 0.034},
                                    {"lamp in the lid", 1, 0.5, 300, lid, 0, 0.02, 0.0145},
                                    {"three quarters from the lid", 1, 0.75, 300, lid, 0, 0.02, 0.025},
                                    {"blurred", 1, 0.5, 0, lid, 1.0, 0.02, 0.035},
                                    {"noisy", 1, 0.5, 0, lid, 0.5, 0.08, 0.063}}};
  for (const Case& c : cases) {
    VirtualRigParams p;
    p.lambert = c.lambert, p.shading = c.shading, p.lamp_height_mm = c.lamp_height_mm, p.light_R = c.light_R;
    p.defocus_px = c.defocus_px, p.noise = c.noise;
    const CentreErrors e = centre_errors(p, 60);
    std::printf("%-34s found %d of %d, good %d, rms %.4f px, worst %.3f, inside 95 %%: %.1f %%\n", c.name, e.found,
                e.expected, e.good, e.rms(), e.worst, 100 * e.inside());
    EXPECT_GE(e.found, 0.985 * e.expected) << c.name;
    EXPECT_GE(e.good, 0.97 * e.expected) << c.name;
    EXPECT_LT(e.rms(), c.rms_px) << c.name;
    EXPECT_GT(e.inside(), 0.91) << c.name;
  }
}

// Pixels at full scale are bounds, not values. Where a part of every ball is cut off, as by a lamp that is a third too
// bright, taking them for values moves centres by 0.02 px and more, believed to a third of it; where all of it is, how
// the light falls is unknown, and so are the centres.
TEST(MarkerCentres, AreThoseOfBallsThatAreCutOffAtFullScale) {
  struct Case {
    const char* name;
    double gain, lambert, shading, defocus_px, noise, rms_px, inside;
  };
  const std::array<Case, 8> cases{{{"lit side cut off", 1.3, 0, 0.25, 0, 0.02, 0.0085, 0.93},
                                   {"the same of balls with a dark side", 1.6, 1, 0.5, 0, 0.02, 0.011, 0.93},
                                   {"three times too bright, dark side", 3, 1, 0.75, 0, 0.02, 0.02, 0.93},
                                   {"all cut off", 1.6, 0, 0.25, 0, 0.02, 0.035, 0.93},
                                   {"twice too bright", 2, 0, 0.25, 0, 0.02, 0.04, 0.93},
                                   {"three times", 3, 0, 0.25, 0, 0.02, 0.05, 0.93},
                                   {"twice, blurred", 2, 0, 0.25, 0.8, 0.02, 0.045, 0.93},
                                   {"twice, noisy", 2, 0, 0.25, 0.4, 0.08, 0.04, 0.93}}};
  for (const Case& c : cases) {
    VirtualRigParams p;
    p.lambert = c.lambert, p.shading = c.shading, p.defocus_px = c.defocus_px, p.noise = c.noise;
    p.white_balance = {c.gain, c.gain, c.gain};
    if (c.lambert > 0) p.light_R = {0, -0.3, 0.95};
    const CentreErrors e = centre_errors(p, 60);
    std::printf("%-34s found %d of %d, rms %.4f px, worst %.3f, inside 95 %%: %.1f %%\n", c.name, e.found, e.expected,
                e.rms(), e.worst, 100 * e.inside());
    EXPECT_GE(e.found, 0.98 * e.expected) << c.name;
    EXPECT_LT(e.rms(), c.rms_px) << c.name;
    EXPECT_GT(e.inside(), c.inside) << c.name;
  }
}

// What a Bayer pattern, JPEG and video do to colour along a rim: worse by ten, and said so.
TEST(MarkerCentres, SurviveCamerasThatSendHalfTheColour) {
  VirtualRigParams bayer, jpeg;
  bayer.bayer = true, bayer.defocus_px = 0.5;
  jpeg.jpeg_quality = 85, jpeg.defocus_px = 0.5;
  for (const VirtualRigParams& p : {bayer, jpeg}) {
    const CentreErrors e = centre_errors(p, 40);
    std::printf("%s: found %d of %d, rms %.4f px, inside 95 %%: %.1f %%\n", p.bayer ? "bayer" : "jpeg", e.found,
                e.expected, e.rms(), 100 * e.inside());
    EXPECT_GE(e.found, 0.99 * e.expected);
    EXPECT_GE(e.good, 0.9 * e.expected) << "neighbours that are wrong together make no ball less round";
    EXPECT_LT(e.rms(), 0.06);
    EXPECT_GT(e.inside(), 0.93);
    EXPECT_LT(e.inside(), 0.98);
  }
}

// Cameras whose small images cut through many markers: what is measured is as good as it says, and does not lean
// inwards; a ball that shows less than a third of its width is not measured.
TEST(MarkerCentres, AreUnbiasedOrAbsentWhereTheBorderCutsThem) {
  Rig rig = testing::distorted_rig();
  for (CameraModel& camera : rig.cameras) {
    camera.width_px = 240, camera.height_px = 180;
    camera.cx_px = 119.5, camera.cy_px = 89.5;
  }
  const auto path = testing::scattered_poses(rig, 121, 5);
  for (const auto& [noise, defocus] : {std::pair{0.02, 0.0}, std::pair{0.1, 0.0}, std::pair{0.02, 1.2}}) {
    VirtualRigParams p;
    p.noise = noise, p.defocus_px = defocus, p.rate_hz = 1, p.duration_s = 120, p.exposure_ms = 0,
    p.exposure_samples = 1;
    auto cameras = testing::virtual_cameras(p, rig, path);
    int whole = 0, whole_found = 0, found = 0, inside = 0, gone = 0, gone_found = 0;
    double outwards = 0;
    for (std::size_t c = 0; c < kCameras; ++c) {
      MarkerDetector detector = std::move(*MarkerDetector::create(rig, c));
      const Lens lens(rig.cameras[c]);
      Frame frame;
      MarkerSet set;
      for (FrameStatus s; (s = cameras[c]->next(frame)) != FrameStatus::end;) {
        detector.detect(frame, s, set);
        const auto at = path->evaluate(1e-9 * static_cast<double>(frame.mid_exposure_ns));
        std::array<Point2, kMarkers> truth;
        std::array<double, kMarkers> radius;
        for (std::size_t m = 0; m < kMarkers; ++m) {
          const Vec3 p_C = testing::marker_p_C(rig, c, m, at);
          truth[m] = lens.distort(sphere_image_centre(p_C, 2.5)), radius[m] = 2.5 / p_C.z * rig.cameras[c].fx_px;
        }
        for (std::size_t m = 0; m < kMarkers; ++m) {
          bool alone = true;
          for (std::size_t o = 0; o < kMarkers; ++o)
            alone &= o == m || std::hypot(truth[o].x - truth[m].x, truth[o].y - truth[m].y) > 16;
          const std::array<double, 4> edges{truth[m].x + 0.5, 239.5 - truth[m].x, truth[m].y + 0.5, 179.5 - truth[m].y};
          const auto edge = static_cast<std::size_t>(std::min_element(edges.begin(), edges.end()) - edges.begin());
          const double in = edges[edge] / radius[m];  // of the centre, in radii
          if (!alone || in > 1.5 || in < -1.2) continue;
          const bool seen =
              set.found(m) && std::hypot(set.blobs[m][0].u_px - truth[m].x, set.blobs[m][0].v_px - truth[m].y) < 4;
          if (in > 0) ++whole, whole_found += seen;
          if (in < -0.6) ++gone, gone_found += seen;
          if (!seen) continue;
          const MarkerBlob& b = set.blobs[m][0];
          const double du = b.u_px - truth[m].x, dv = b.v_px - truth[m].y, uu = b.var_uu_px2, uv = b.var_uv_px2,
                       vv = b.var_vv_px2;
          ++found, inside += (vv * du * du - 2 * uv * du * dv + uu * dv * dv) / (uu * vv - uv * uv) < 5.991;
          outwards += edge < 2 ? (edge == 0 ? -du : du) / std::sqrt(uu) : (edge == 2 ? -dv : dv) / std::sqrt(vv);
        }
      }
    }
    std::printf(
        "noise %.2f, defocus %.1f: %d of %d with their centre in the picture, %d cut ones in all, inside 95 %%: "
        "%.1f %%, outwards %.2f sigma; %d of %d beyond\n",
        noise, defocus, whole_found, whole, found, 100.0 * inside / found, outwards / found, gone_found, gone);
    ASSERT_GT(found, 100);
    EXPECT_EQ(whole_found, whole);
    EXPECT_EQ(gone_found, 0);
    EXPECT_GT(inside, 0.93 * found);
    EXPECT_LT(std::abs(outwards / found), 0.4);
  }
}

TEST(MarkerCentres, AreThoseOfTheMiddleOfTheExposure) {
  // 100 mm/s: a streak of 0.7 px at 4 ms.
  const Rig rig = testing::distorted_rig();
  std::array<ForcepsPath, kInstruments> keys;
  for (std::size_t hand = 0; hand < kInstruments; ++hand)
    for (int i = 0; i < 2; ++i) {
      PathKey key;
      key.t_s = i;
      key.X.p = {-50.0 + 80 * i, (hand == 1 ? 30.0 : -30.0) + 50 * i, 33.0 * i};
      if (hand == 1) key.X.q = axis_angle({0, 0, 1}, 3.14159);
      keys[hand].push_back(key);
    }
  TremorParams still;
  still.rms_mm = 0;
  const auto path =
      std::make_shared<const HandPath>(std::move(*HandPath::create(keys, PathBlend::linear, still, rig, false)));
  VirtualRigParams p;
  p.noise = 0.005, p.exposure_samples = 16, p.exposure_ms = 8, p.rate_hz = 60, p.duration_s = 0.9;
  auto cameras = testing::virtual_cameras(p, rig, path);
  MarkerDetector detector = std::move(*MarkerDetector::create(rig, 0));
  const Lens lens(rig.cameras[0]);
  Frame frame;
  MarkerSet set;
  double sum2 = 0, sum_u = 0, sum_v = 0;
  int n = 0;
  for (FrameStatus s; (s = cameras[0]->next(frame)) != FrameStatus::end;) {
    detector.detect(frame, s, set);
    if (frame.mid_exposure_ns < 10'000'000) continue;  // it still stands
    const auto at = path->evaluate(1e-9 * static_cast<double>(frame.mid_exposure_ns));
    for (std::size_t m = 0; m < kMarkers; ++m) {
      const Point2 truth = lens.distort(sphere_image_centre(testing::marker_p_C(rig, 0, m, at), 2.5));
      if (truth.x < 10 || truth.y < 10 || truth.x > 629 || truth.y > 469 || !set.found(m)) continue;
      const double du = static_cast<double>(set.blobs[m][0].u_px) - truth.x,
                   dv = static_cast<double>(set.blobs[m][0].v_px) - truth.y;
      if (std::hypot(du, dv) > 2) continue;
      sum2 += 0.5 * (du * du + dv * dv), sum_u += du, sum_v += dv, ++n;
    }
  }
  ASSERT_GT(n, 150);
  std::printf("rms %.4f px, mean %.4f %.4f\n", std::sqrt(sum2 / n), sum_u / n, sum_v / n);
  EXPECT_LT(std::sqrt(sum2 / n), 0.01);
  EXPECT_LT(std::hypot(sum_u, sum_v) / n, 0.003);
}

}  // namespace
}  // namespace ligature::drivers
