/// How near the fit comes to what the pixels allow, and whether it knows: against the Cramer-Rao bound of the rig at
/// hand, over poses all over the working volume. Noise is 0.1 px per axis where nothing else is said.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "drivers/markers/detector.hpp"
#include "tests/drivers/scene.hpp"
#include "tests/drivers/sightings.hpp"

namespace ligature::drivers {
namespace {

constexpr double kNoise_px = 0.1;
constexpr double kPixelNoise = 0.1;  // of full scale, five times a usual camera's

struct Score {
  int frames = 0, tracked = 0, covered = 0;
  double squared_over_bound = 0, opening_over_bound = 0;  // sums of e^2 / bound^2
  double squared = 0, opening_squared = 0, bound_squared = 0, opening_bound_squared = 0;
  Eigen::Vector3d sum = Eigen::Vector3d::Zero();
  double ratio() const { return std::sqrt(squared_over_bound / tracked); }
  double opening_ratio() const { return std::sqrt(opening_over_bound / tracked); }
  double rms_um() const { return 1e3 * std::sqrt(squared / tracked); }
  double bound_um() const { return 1e3 * std::sqrt(bound_squared / tracked); }
  double opening_rms_deg() const { return units::deg_per_rad * std::sqrt(opening_squared / tracked); }
  double opening_bound_deg() const { return units::deg_per_rad * std::sqrt(opening_bound_squared / tracked); }
  double coverage() const { return static_cast<double>(covered) / tracked; }
  double bias_um() const { return 1e3 * (sum / tracked).norm(); }
};

/// `poses` random poses, each looked at `looks` times by a tracker that knows nothing of the pose before.
Score score(const Rig& rig, int poses, int looks, unsigned cameras = 0xf, std::uint64_t seed = 1) {
  Random random(seed);
  Score out;
  auto tracker = Tracker::create(rig);
  EXPECT_TRUE(tracker.has_value()) << (tracker ? "" : tracker.error().message);
  std::uint64_t k = 0;
  for (int i = 0; i < poses; ++i) {
    testing::Hands hands;
    for (std::size_t h = 0; h < kInstruments; ++h) hands[h] = testing::somewhere(h, random);
    std::array<std::optional<testing::Bound>, kInstruments> bound;
    for (std::size_t h = 0; h < kInstruments; ++h) bound[h] = testing::cramer_rao(rig, h, hands[h], kNoise_px, cameras);
    for (int look = 0; look < looks; ++look, ++k) {
      const double t = static_cast<double>(k) / 60 + 10.0 * i;  // far enough apart to be lost in between
      auto sets = testing::sightings(
          rig, [&](double) { return hands; }, t, k, kNoise_px, random);
      for (std::size_t c = 0; c < kCameras; ++c)
        if (!(cameras >> c & 1u)) sets[c].image = false;
      const InstrumentSample s = tracker->track(testing::pointers(sets));
      for (std::size_t h = 0; h < kInstruments; ++h) {
        if (!bound[h]) continue;
        ++out.frames;
        const InstrumentPose& pose = s.instruments[h];
        if (pose.status != TrackStatus::tracked) continue;
        const Eigen::Vector3d e = testing::tip_error(pose, hands[h]);
        const auto& v = tracker->tip_covariance(h);
        Eigen::Matrix3d C;
        C << v[0], v[1], v[2], v[1], v[3], v[4], v[2], v[4], v[5];
        const double open = pose.opening_rad - hands[h].opening_rad, b = testing::tip_rms(*bound[h]);
        ++out.tracked;
        out.covered += e.dot(C.ldlt().solve(e)) < 7.815;
        out.squared_over_bound += e.squaredNorm() / (b * b);
        out.opening_over_bound += open * open / (*bound[h])(6, 6);
        out.squared += e.squaredNorm(), out.bound_squared += b * b;
        out.opening_squared += open * open, out.opening_bound_squared += (*bound[h])(6, 6);
        out.sum += e;
      }
    }
  }
  std::printf(
      "%d of %d tracked, tip %.1f um (bound %.1f, ratio %.3f), opening %.4f deg (bound %.4f, ratio %.3f), "
      "coverage %.3f, bias %.2f um\n",
      out.tracked, out.frames, out.rms_um(), out.bound_um(), out.ratio(), out.opening_rms_deg(),
      out.opening_bound_deg(), out.opening_ratio(), out.coverage(), out.bias_um());
  return out;
}

TEST(TrackingAccuracy, ReachesTheBoundAndKnowsItsErrorAllOverTheWorkingVolume) {
  const Score s = score(standard_rig(), 300, 20);
  EXPECT_GT(s.tracked, 0.999 * s.frames);
  EXPECT_LT(s.ratio(), 1.05);  // asked: 1.2
  EXPECT_LT(s.opening_ratio(), 1.05);
  EXPECT_GT(s.coverage(), 0.93);
  EXPECT_LT(s.coverage(), 0.97);
}

TEST(TrackingAccuracy, SoDoTwoAndThreeCamerasWhateverTheirLens) {
  for (const unsigned cameras : {0b0111u, 0b1101u, 0b0011u, 0b0101u, 0b1010u}) {
    const Score s = score(testing::distorted_rig(), 100, 10, cameras, 7 + cameras);
    // Two cameras found anew must say the same three times: two of ten looks go by.
    EXPECT_GT(s.tracked, (std::popcount(cameras) > 2 ? 0.98 : 0.78) * s.frames) << cameras;
    EXPECT_LT(s.ratio(), 1.2) << cameras;
    EXPECT_GT(s.coverage(), 0.93) << cameras;
    EXPECT_LT(s.coverage(), 0.97) << cameras;
  }
}

/// The same on images: the hands visit 27 places all over the working volume and rest at each for `looks` frames.
struct Pictures {
  double sigma_px = 0;  ///< of the centroids, as found
  double tip_um = 0, ratio = 0, opening_deg = 0, opening_ratio = 0, coverage = 0, tracked = 0;
  double mean_um = 0;        ///< of all errors
  double place_bias_um = 0;  ///< RMS over places of what is left of an error with many looks
};
Pictures score_pictures(VirtualRigParams params, int looks, std::uint64_t seed) {
  constexpr double kDwell_s = 1.0;
  const Rig rig = standard_rig();
  Random random(seed);
  std::array<ForcepsPath, kInstruments> keys;
  std::vector<testing::Hands> places;
  for (const double z : {30.0, 60.0, 90.0})
    for (const double y : {-40.0, 0.0, 40.0})
      for (const double x : {-50.0, 0.0, 50.0}) {
        testing::Hands& hands = places.emplace_back();
        for (std::size_t h = 0; h < kInstruments; ++h) {
          hands[h] = testing::somewhere(h, random);
          hands[h].X_RT.p = {x, y, z};
          if (h == 1) hands[h].X_RT.p.y += y > 0 ? -15.0 : 15.0;  // beside the other's tip, not in it
          const double t = kDwell_s * static_cast<double>(places.size() - 1);
          keys[h].push_back({t, inverse(rig.X_RW) * hands[h].X_RT, hands[h].opening_rad});
          keys[h].push_back({t + 0.5 * kDwell_s, keys[h].back().X, hands[h].opening_rad});
        }
      }
  TremorParams still;
  still.rms_mm = 0;
  auto path = HandPath::create(keys, PathBlend::minimum_jerk, still, rig, false);
  EXPECT_TRUE(path.has_value());
  params.rate_hz = 2 * looks / kDwell_s;  // half of the frames at rest, the others on the way: skipped
  params.exposure_samples = 1;
  auto cameras = testing::virtual_cameras(params, rig, std::make_shared<const HandPath>(std::move(*path)));
  auto tracker = Tracker::create(rig);
  std::vector<MarkerDetector> detectors;
  for (std::size_t c = 0; c < kCameras; ++c) detectors.push_back(std::move(*MarkerDetector::create(rig, c)));

  double centroids = 0, n_centroids = 0, squared = 0, bound = 0, open = 0, open_bound = 0, n = 0;
  int covered = 0, frames = 0;
  Eigen::Vector3d sum = Eigen::Vector3d::Zero();
  std::vector<Eigen::Vector3d> means;
  Frame frame;
  for (const testing::Hands& hands : places) {
    std::array<std::vector<std::pair<Eigen::Vector3d, double>>, kInstruments> seen;
    std::array<std::optional<testing::Bound>, kInstruments> C0;
    for (std::size_t h = 0; h < kInstruments; ++h) C0[h] = testing::cramer_rao(rig, h, hands[h], 1);
    std::array<Eigen::Vector3d, kInstruments> mean{Eigen::Vector3d::Zero(), Eigen::Vector3d::Zero()};
    for (int look = 0; look < 2 * looks; ++look) {
      testing::Sets sets;
      for (std::size_t c = 0; c < kCameras; ++c) {
        const FrameStatus status = look < looks ? cameras[c]->next(frame) : cameras[c]->skip(frame);
        detectors[c].detect(frame, status, sets[c]);
        if (look >= looks) continue;
        for (std::size_t m = 0; m < kMarkers; ++m) {
          const InstrumentModel& model = rig.instruments[m / 3];
          const Marker& marker = model.markers[m % 3];
          const auto px =
              testing::image_of(rig.cameras[c], hands[m / 3].X_RT * marker_p_T(model, marker, hands[m / 3].opening_rad),
                                0.5 * marker.diameter_mm);
          if (!px || !sets[c].found(m)) continue;
          const Eigen::Vector2d e(sets[c].blobs[m][0].u_px - px->x(), sets[c].blobs[m][0].v_px - px->y());
          if (e.norm() < 1) centroids += 0.5 * e.squaredNorm(), ++n_centroids;  // further off: partly covered
        }
      }
      const InstrumentSample s = tracker->track(testing::pointers(sets));
      if (look >= looks) continue;
      for (std::size_t h = 0; h < kInstruments; ++h) {
        ++frames;
        const InstrumentPose& pose = s.instruments[h];
        if (pose.status != TrackStatus::tracked || !C0[h]) continue;
        const Eigen::Vector3d e = testing::tip_error(pose, hands[h]);
        const auto& v = tracker->tip_covariance(h);
        Eigen::Matrix3d C;
        C << v[0], v[1], v[2], v[1], v[3], v[4], v[2], v[4], v[5];
        covered += e.dot(C.ldlt().solve(e)) < 7.815;
        const double o = pose.opening_rad - hands[h].opening_rad;
        squared += e.squaredNorm(), bound += std::pow(testing::tip_rms(*C0[h]), 2);
        open += o * o, open_bound += (*C0[h])(6, 6);
        sum += e, mean[h] += e / looks, ++n;
      }
    }
    for (const Eigen::Vector3d& m : mean) means.push_back(m);
  }
  Pictures out;
  out.sigma_px = std::sqrt(centroids / n_centroids);
  out.tip_um = 1e3 * std::sqrt(squared / n), out.ratio = std::sqrt(squared / bound) / out.sigma_px;
  out.opening_deg = units::deg_per_rad * std::sqrt(open / n);
  out.opening_ratio = std::sqrt(open / open_bound) / out.sigma_px;
  out.coverage = covered / n, out.tracked = n / frames, out.mean_um = 1e3 * (sum / n).norm();
  double mean2 = 0;
  for (const Eigen::Vector3d& m : means) mean2 += m.squaredNorm();
  // What the noise leaves in a mean of that many looks, taken away.
  out.place_bias_um = 1e3 * std::sqrt(std::max(0.0, mean2 / static_cast<double>(means.size()) - squared / n / looks));
  std::printf(
      "centroids %.3f px: tip %.1f um (ratio to the bound %.3f), opening %.4f deg (ratio %.3f), covered %.3f of %.0f, "
      "mean error %.2f um; means of places: bias %.1f um RMS\n",
      out.sigma_px, out.tip_um, out.ratio, out.opening_deg, out.opening_ratio, out.coverage, n, out.mean_um,
      out.place_bias_um);
  return out;
}

void expect_within_the_bound(const Pictures& seen, double least_coverage) {
  EXPECT_GT(seen.tracked, 0.99);
  EXPECT_LT(seen.ratio, 1.2);
  EXPECT_LT(seen.opening_ratio, 1.2);
  EXPECT_LT(seen.mean_um, 10);
  EXPECT_LT(seen.place_bias_um, 10);
  EXPECT_GT(seen.coverage, least_coverage);
  EXPECT_LT(seen.coverage, 0.97);
}

TEST(TrackingAccuracy, ImagesOfTheVirtualRigReachItTooWithoutBias) {
  VirtualRigParams params;
  params.noise = kPixelNoise;
  expect_within_the_bound(score_pictures(params, 8, 3), 0.93);
}

// Pictures so noisy that centroids have the 0.1 px that the claims are made for.
TEST(TrackingAccuracy, SoDoImagesThatGiveATenthOfAPixel) {
  const Pictures seen = score_pictures(tenth_pixel_params(), LIGATURE_LOOKS, 3);
  EXPECT_NEAR(seen.sigma_px, 0.1, 0.01);
  expect_within_the_bound(seen, 0.93);
}

// Light, lens and noise that nothing was tuned for, other places. 432 looks know a coverage to 0.01, all to 0.005.
TEST(TrackingAccuracy, WhatItBelievesHoldsUnderOtherLightToo) {
  std::array<VirtualRigParams, 7> lights;
  lights[0].brightness = 0.25, lights[0].noise = 0.03, lights[0].velvet = 0.04, lights[0].defocus_px = 0.5;
  lights[1].brightness = 0.9, lights[1].noise = 0.09, lights[1].shading = 0.1, lights[1].defocus_px = 0.3;
  lights[2].brightness = 0.6, lights[2].noise = 0.01, lights[2].shot_noise = 0.05, lights[2].defocus_px = 0.6;
  lights[3].brightness = 0.5, lights[3].noise = 0.06, lights[3].saturation = 0.7, lights[3].defocus_px = 0.8;
  lights[4].defocus_px = 1.2, lights[4].noise = 0.04;
  lights[5].lambert = 1, lights[5].shading = 0.5, lights[5].light_R = {0, -0.3, 0.95}, lights[5].noise = 0.04;
  lights[6].lambert = 1, lights[6].shading = 0.75, lights[6].lamp_height_mm = 350, lights[6].defocus_px = 0.4;
  double covered = 0;
  for (std::size_t i = 0; i < lights.size(); ++i) {
    lights[i].seed = 40 + i;
    const Pictures seen = score_pictures(lights[i], 8, 60 + i);
    EXPECT_GT(seen.tracked, 0.99) << i;
    EXPECT_LT(seen.place_bias_um, 10) << i;
    EXPECT_GT(seen.coverage, 0.91) << i;
    covered += seen.coverage / static_cast<double>(lights.size());
  }
  std::printf("covered %.3f under all of them\n", covered);
  EXPECT_GT(covered, 0.93);
  EXPECT_LT(covered, 0.97);
}

}  // namespace
}  // namespace ligature::drivers
