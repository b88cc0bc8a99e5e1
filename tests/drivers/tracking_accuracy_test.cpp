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

/// The same on images: each place is looked at `looks` times, through detection and a tracker that stays on it.
struct Place {
  Eigen::Vector3d mean = Eigen::Vector3d::Zero();
  testing::Hands hands;
};

Score score_images(const Rig& rig, double noise, int looks, std::vector<std::array<Eigen::Vector3d, 2>>* biases) {
  Score out;
  Random random(3);
  double centroid_sigma2 = 0, n_centroids = 0;
  for (const double z : {30.0, 60.0, 90.0})
    for (const double y : {-40.0, 0.0, 40.0})
      for (const double x : {-50.0, 0.0, 50.0}) {
        std::array<ForcepsPath, kInstruments> keys;
        testing::Hands hands;
        for (std::size_t h = 0; h < kInstruments; ++h) {
          hands[h] = testing::somewhere(h, random);
          hands[h].X_RT.p = {x, y, z};
          if (h == 1) hands[h].X_RT.p.y += y > 0 ? -8.0 : 8.0;  // beside the other's tip, not in it
          keys[h] = {{0, inverse(rig.X_RW) * hands[h].X_RT, hands[h].opening_rad}};
        }
        TremorParams still;
        still.rms_mm = 0;
        auto path = HandPath::create(keys, PathBlend::minimum_jerk, still, rig, false);
        EXPECT_TRUE(path.has_value());
        VirtualRigParams params;
        params.noise = noise, params.exposure_samples = 1, params.seed = random.next();
        auto cameras = testing::virtual_cameras(params, rig, std::make_shared<const HandPath>(std::move(*path)));
        auto tracker = Tracker::create(rig);
        std::vector<MarkerDetector> detectors;
        for (std::size_t c = 0; c < kCameras; ++c) detectors.push_back(std::move(*MarkerDetector::create(rig, c)));
        std::array<Eigen::Vector3d, 2> mean{Eigen::Vector3d::Zero(), Eigen::Vector3d::Zero()};
        Frame frame;
        for (int look = 0; look < looks; ++look) {
          testing::Sets sets;
          for (std::size_t c = 0; c < kCameras; ++c) {
            const FrameStatus status = cameras[c]->next(frame);
            detectors[c].detect(frame, status, sets[c]);
            for (std::size_t m = 0; m < kMarkers; ++m) {
              const Marker& marker = rig.instruments[m / 3].markers[m % 3];
              const auto px = testing::image_of(
                  rig.cameras[c],
                  hands[m / 3].X_RT * marker_p_T(rig.instruments[m / 3], marker, hands[m / 3].opening_rad),
                  0.5 * marker.diameter_mm);
              if (!px || !sets[c].found(m)) continue;
              const double du = sets[c].blobs[m][0].u_px - px->x(), dv = sets[c].blobs[m][0].v_px - px->y();
              if (du * du + dv * dv < 1) centroid_sigma2 += 0.5 * (du * du + dv * dv), ++n_centroids;
            }
          }
          const InstrumentSample s = tracker->track(testing::pointers(sets));
          for (std::size_t h = 0; h < kInstruments; ++h) {
            const InstrumentPose& pose = s.instruments[h];
            ++out.frames;
            if (pose.status != TrackStatus::tracked) continue;
            const Eigen::Vector3d e = testing::tip_error(pose, hands[h]);
            const auto& v = tracker->tip_covariance(h);
            Eigen::Matrix3d C;
            C << v[0], v[1], v[2], v[1], v[3], v[4], v[2], v[4], v[5];
            const auto bound = testing::cramer_rao(rig, h, hands[h], kNoise_px);
            const double b = testing::tip_rms(*bound), open = pose.opening_rad - hands[h].opening_rad;
            ++out.tracked;
            out.covered += e.dot(C.ldlt().solve(e)) < 7.815;
            out.squared_over_bound += e.squaredNorm() / (b * b), out.opening_over_bound += open * open / (*bound)(6, 6);
            out.squared += e.squaredNorm(), out.bound_squared += b * b;
            out.opening_squared += open * open, out.opening_bound_squared += (*bound)(6, 6);
            out.sum += e, mean[h] += e / looks;
          }
        }
        if (biases) biases->push_back(mean);
      }
  std::printf(
      "noise %.3f: centroids %.3f px; %d of %d tracked, tip %.1f um (bound at 0.1 px %.1f, ratio %.3f), opening "
      "%.4f deg (ratio %.3f), coverage %.3f, mean error %.2f um\n",
      noise, std::sqrt(centroid_sigma2 / n_centroids), out.tracked, out.frames, out.rms_um(), out.bound_um(),
      out.ratio(), out.opening_rms_deg(), out.opening_ratio(), out.coverage(), out.bias_um());
  return out;
}

TEST(TrackingAccuracy, ImagesOfTheVirtualRig) {
  for (const double noise : {0.05}) {
    std::vector<std::array<Eigen::Vector3d, 2>> biases;
    score_images(standard_rig(), noise, 10, &biases);
    double sum = 0, worst = 0;
    for (const auto& b : biases)
      for (const Eigen::Vector3d& e : b) sum += e.squaredNorm(), worst = std::max(worst, e.norm());
    std::printf("  place means: rms %.1f um, worst %.1f um\n",
                1e3 * std::sqrt(sum / (2 * static_cast<double>(biases.size()))), 1e3 * worst);
  }
}

}  // namespace
}  // namespace ligature::drivers
