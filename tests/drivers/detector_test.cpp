#include "drivers/markers/detector.hpp"

#include <cmath>

#include "drivers/camera/lens.hpp"
#include "sim/base/random.hpp"
#include "tests/drivers/scene.hpp"

namespace ligature::drivers {
namespace {

/// Where the centre of marker m's image truly is.
Point2 true_centre(const Rig& rig, std::size_t camera, std::size_t m,
                   const std::array<ForcepsState, kInstruments>& at) {
  const InstrumentModel& instrument = rig.instruments[m / 3];
  const Marker& marker = instrument.markers[m % 3];
  const Vec3 p_R = at[m / 3].X_RT * marker_p_T(instrument, marker, at[m / 3].opening_rad);
  const Vec3 p_C = inverse(rig.cameras[camera].X_RC) * p_R;
  return Lens(rig.cameras[camera]).distort(sphere_image_centre(p_C, 0.5 * marker.diameter_mm));
}

struct Errors {
  int expected = 0, found = 0;
  double sum2 = 0, worst = 0, chi2 = 0;
  double rms() const { return std::sqrt(sum2 / std::max(1, found)); }
};

Errors errors(const VirtualRigParams& params) {
  const Rig rig = testing::distorted_rig();
  const auto path = testing::demo_path(rig);
  auto cameras = testing::virtual_cameras(params, rig, path);
  Errors e;
  for (std::size_t c = 0; c < kCameras; ++c) {
    MarkerDetector detector = std::move(*MarkerDetector::create(rig, c));
    Frame frame;
    MarkerSet set;
    for (FrameStatus s; (s = cameras[c]->next(frame)) != FrameStatus::end;) {
      detector.detect(frame, s, set);
      const auto at = path->evaluate(1e-9 * static_cast<double>(frame.mid_exposure_ns));
      for (std::size_t m = 0; m < kMarkers; ++m) {
        const Point2 truth = true_centre(rig, c, m, at);
        if (truth.x < 8 || truth.y < 8 || truth.x > 631 || truth.y > 471) continue;  // leaves the picture
        ++e.expected;
        if (!set.found(m)) continue;
        const MarkerBlob& b = set.blobs[m][0];
        const double du = b.u_px - truth.x, dv = b.v_px - truth.y, d = std::hypot(du, dv);
        if (d > 3) continue;  // another blob
        ++e.found;
        e.sum2 += 0.5 * d * d, e.worst = std::max(e.worst, d);
        const double det = b.var_uu_px2 * b.var_vv_px2 - b.var_uv_px2 * b.var_uv_px2;
        e.chi2 += (b.var_vv_px2 * du * du - 2 * b.var_uv_px2 * du * dv + b.var_uu_px2 * dv * dv) / det;
      }
    }
  }
  return e;
}

// The oracles' 0.01..0.05 px of grey-weighted centroids, per axis.
TEST(MarkerDetector, CentroidsAreSubPixelAtTwoPercentNoise) {
  VirtualRigParams params;
  params.duration_s = 12, params.rate_hz = 5;
  const Errors e = errors(params);
  EXPECT_EQ(e.found, e.expected);
  EXPECT_LT(e.rms(), 0.05);
  EXPECT_LT(e.worst, 0.5);
  // Two degrees of freedom each: an honest covariance gives 2 on average.
  EXPECT_GT(e.chi2 / e.found, 0.5);
  EXPECT_LT(e.chi2 / e.found, 4);
}

TEST(MarkerDetector, BearsFivePercentNoiseAndLittleLight) {
  VirtualRigParams params;
  params.duration_s = 12, params.rate_hz = 3;
  params.noise = 0.05;
  Errors e = errors(params);
  EXPECT_GE(e.found, 0.99 * e.expected);
  EXPECT_LT(e.rms(), 0.1);
  params.noise = 0.02, params.brightness = 0.5;
  e = errors(params);
  EXPECT_GE(e.found, 0.99 * e.expected);
  EXPECT_LT(e.rms(), 0.08);
}

TEST(MarkerDetector, KeepsTheMarkerBesideABlobOfItsColour) {
  const Rig rig = testing::distorted_rig();
  const auto path = testing::demo_path(rig);
  VirtualRigParams params;
  params.duration_s = 0.5, params.rate_hz = 10;
  BlobFault blob;
  blob.hue_deg = 60, blob.p_R = {0, 30, 60}, blob.until_s = 1;
  params.blobs = {blob};
  auto cameras = testing::virtual_cameras(params, rig, path);
  MarkerDetector detector = std::move(*MarkerDetector::create(rig, 0));
  Frame frame;
  MarkerSet set;
  for (FrameStatus s; (s = cameras[0]->next(frame)) != FrameStatus::end;) {
    detector.detect(frame, s, set);
    ASSERT_EQ(set.count[1], 2);
    const Point2 truth = true_centre(rig, 0, 1, path->evaluate(1e-9 * static_cast<double>(frame.mid_exposure_ns)));
    double nearest = 1e9;
    for (std::size_t k = 0; k < 2; ++k)
      nearest = std::min(nearest, std::hypot(set.blobs[1][k].u_px - truth.x, set.blobs[1][k].v_px - truth.y));
    EXPECT_LT(nearest, 0.3);
  }
}

// Steel, a glove or a finger beside a marker, or over part of it, belongs to it least where both are of two colours.
TEST(MarkerDetector, APaleBodyThatTouchesAMarkerIsNoPartOfIt) {
  const Rig rig = testing::distorted_rig();
  const auto path = testing::demo_path(rig);
  const auto hands = path->evaluate(0);
  struct Body {
    double hue, saturation, brightness;
  };
  std::vector<MarkerDetector> detectors;
  for (std::size_t c = 0; c < kCameras; ++c) detectors.push_back(std::move(*MarkerDetector::create(rig, c)));
  int looks = 0, found = 0;
  for (const Body& body : {Body{0, 0, 0.5}, Body{20, 0.37, 0.6}, Body{30, 0.17, 0.6}})
    for (std::size_t m = 0; m < kMarkers; ++m)
      for (const Vec3 off : {Vec3{2.5, 1, 2.5}, Vec3{-3, 2, 1}}) {
        const InstrumentModel& instrument = rig.instruments[m / 3];
        const Vec3 p_R =
            hands[m / 3].X_RT * marker_p_T(instrument, instrument.markers[m % 3], hands[m / 3].opening_rad);
        VirtualRigParams params;
        params.duration_s = 0.01, params.exposure_ms = 0, params.exposure_samples = 1;
        BlobFault blob;
        blob.hue_deg = body.hue, blob.saturation = body.saturation, blob.brightness = body.brightness;
        blob.p_R = p_R + off, blob.diameter_mm = 5, blob.until_s = 1;
        params.blobs = {blob};
        auto cameras = testing::virtual_cameras(params, rig, path);
        for (std::size_t c = 0; c < kCameras; ++c) {
          const Pose X_CR = inverse(rig.cameras[c].X_RC);
          const Vec3 own = X_CR * p_R, other = X_CR * blob.p_R;
          const double apart_px =
              rig.cameras[c].fx_px * std::hypot(own.x / own.z - other.x / other.z, own.y / own.z - other.y / other.z);
          const double radius_px = rig.cameras[c].fx_px * 2.5 / own.z;
          if (norm(other) < norm(own) && apart_px < 1.2 * radius_px) continue;  // most of it is covered
          Frame frame;
          MarkerSet set;
          const FrameStatus status = cameras[c]->next(frame);
          detectors[c].detect(frame, status, set);
          const Point2 truth = true_centre(rig, c, m, hands);
          if (truth.x < 9 || truth.y < 9 || truth.x > 630 || truth.y > 470) continue;
          SCOPED_TRACE(::testing::Message() << body.hue << ' ' << m << ' ' << off.x << " C" << c);
          ++looks;
          if (!set.found(m)) continue;
          ++found;
          double nearest = 1e9;
          for (std::size_t k = 0; k < set.count[m]; ++k)
            nearest = std::min(nearest, std::hypot(set.blobs[m][k].u_px - truth.x, set.blobs[m][k].v_px - truth.y));
          EXPECT_LT(nearest, 0.3);
        }
      }
  EXPECT_GT(looks, 80);
  EXPECT_GE(found, 0.95 * looks);
}

TEST(MarkerDetector, PartsTouchingMarkersByHue) {
  // Two discs of 9 px side by side, red and blue, drawn with exact coverage steps of a quarter pixel.
  const Rig rig = standard_rig();
  MarkerDetector detector = std::move(*MarkerDetector::create(rig, 0));
  cv::Mat image(480, 640, CV_8UC3, cv::Scalar::all(8));
  const auto disc = [&](double cx, double cy, cv::Vec3d bgr) {
    for (int y = static_cast<int>(cy) - 8; y < cy + 8; ++y)
      for (int x = static_cast<int>(cx) - 8; x < cx + 8; ++x) {
        int in = 0;
        for (int j = 0; j < 8; ++j)
          for (int i = 0; i < 8; ++i) in += std::hypot(x + (i - 3.5) / 8 - cx, y + (j - 3.5) / 8 - cy) < 4.5;
        for (int k = 0; k < 3; ++k) {
          auto& value = image.at<cv::Vec3b>(y, x)[k];
          value = static_cast<std::uint8_t>(value + in / 64.0 * (bgr[k] - value) + 0.5);
        }
      }
  };
  disc(100.3, 100.7, {20, 20, 220});
  disc(109.4, 100.7, {220, 20, 20});
  MarkerSet set;
  detector.detect(image.data, static_cast<std::ptrdiff_t>(image.step[0]), set);
  ASSERT_EQ(set.count[0], 1);  // red is the left tail, blue the right plus
  ASSERT_EQ(set.count[4], 1);
  EXPECT_NEAR(set.blobs[0][0].u_px, 100.3, 0.25);  // the rims touch: the border between them is known to a pixel
  EXPECT_NEAR(set.blobs[0][0].v_px, 100.7, 0.1);
  EXPECT_NEAR(set.blobs[4][0].u_px, 109.4, 0.25);
  EXPECT_LT(set.blobs[0][0].quality, 0.9);
}

TEST(MarkerDetector, IsBoundedOnHostileImages) {
  Rig rig = standard_rig();
  rig.cameras[1].width_px = 101, rig.cameras[1].height_px = 37;  // no whole block fits twice
  MarkerDetector detector = std::move(*MarkerDetector::create(rig, 0)),
                 odd = std::move(*MarkerDetector::create(rig, 1));
  Random random(5);
  MarkerSet set;
  for (const cv::Scalar& colour : {cv::Scalar(255, 255, 255), cv::Scalar(0, 0, 255), cv::Scalar(0, 0, 0)}) {
    cv::Mat flat(480, 640, CV_8UC3, colour);
    detector.detect(flat.data, static_cast<std::ptrdiff_t>(flat.step[0]), set);
    for (std::size_t m = 0; m < kMarkers; ++m) EXPECT_EQ(set.count[m], 0);
  }
  cv::Mat noise(480, 640, CV_8UC3);
  for (int i = 0; i < 480 * 640 * 3; ++i) noise.data[i] = random.uniform() < 0.02 ? 255 : 0;
  detector.detect(noise.data, static_cast<std::ptrdiff_t>(noise.step[0]), set);
  EXPECT_TRUE(set.overflow);  // more runs than the capacity: it says so and stops
  odd.detect(noise.data, static_cast<std::ptrdiff_t>(noise.step[0]), set);
  EXPECT_TRUE(set.image);
}

TEST(MarkerDetector, AnImageOfAnotherSizeIsNoImage) {
  MarkerDetector detector = std::move(*MarkerDetector::create(standard_rig(), 0));
  Frame frame;
  MarkerSet set;
  frame.image.create(100, 100, CV_8UC3);
  detector.detect(frame, FrameStatus::image, set);
  EXPECT_FALSE(set.image);
  frame.image.create(480, 640, CV_8UC1);
  detector.detect(frame, FrameStatus::image, set);
  EXPECT_FALSE(set.image);
  frame.sequence = 7;
  detector.detect(frame, FrameStatus::missing, set);
  EXPECT_FALSE(set.image);
  EXPECT_EQ(set.sequence, 7u);
}

TEST(MarkerDetector, RefusesColoursThatCannotBeToldApart) {
  Rig rig = standard_rig();
  rig.instruments[0].markers[0].colour_hue_deg = 52;
  EXPECT_FALSE(MarkerDetector::create(rig, 0).has_value());
  rig.instruments[0].markers[0].colour_hue_deg = 350;  // across the circle's seam
  rig.instruments[0].markers[1].colour_hue_deg = 5;
  EXPECT_FALSE(MarkerDetector::create(rig, 0).has_value());
  EXPECT_FALSE(MarkerDetector::create(standard_rig(), 4).has_value());
}

}  // namespace
}  // namespace ligature::drivers
