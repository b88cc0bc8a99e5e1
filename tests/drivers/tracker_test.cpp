#include "drivers/tracking/tracker.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "drivers/markers/detector.hpp"
#include "sim/base/units.hpp"
#include "tests/drivers/scene.hpp"

namespace ligature::drivers {
namespace {

struct Summary {
  int frames = 0, tracked = 0, predicted = 0, lost = 0;
  double sum2 = 0, worst = 0, opening2 = 0, sigma2 = 0;
  void add(const InstrumentPose& pose, const ForcepsState& truth) {
    ++frames;
    if (pose.status == TrackStatus::predicted) ++predicted;
    if (pose.status == TrackStatus::lost) ++lost;
    if (pose.status != TrackStatus::tracked) return;
    ++tracked;
    const double e = norm(pose.X_RT.p - truth.X_RT.p), o = pose.opening_rad - truth.opening_rad;
    sum2 += e * e, opening2 += o * o, worst = std::max(worst, e), sigma2 += pose.sigma_tip_mm * pose.sigma_tip_mm;
  }
  double rms() const { return std::sqrt(sum2 / std::max(1, tracked)); }
  double opening_rms_deg() const { return units::deg_per_rad * std::sqrt(opening2 / std::max(1, tracked)); }
  double believed() const { return std::sqrt(sigma2 / std::max(1, tracked)); }
};

/// Runs the virtual rig through detection and tracking; `spoil` may change what a camera saw.
template <class Spoil>
std::array<Summary, kInstruments> follow(const Rig& rig, const VirtualRigParams& params, Spoil spoil) {
  const auto path = testing::demo_path(rig);
  auto cameras = testing::virtual_cameras(params, rig, path);
  auto tracker = Tracker::create(rig);
  EXPECT_TRUE(tracker.has_value());
  std::vector<MarkerDetector> detectors;
  for (std::size_t c = 0; c < kCameras; ++c) detectors.push_back(std::move(*MarkerDetector::create(rig, c)));
  std::array<Summary, kInstruments> summary;
  std::array<Frame, kCameras> frames;
  std::array<MarkerSet, kCameras> sets;
  for (;;) {
    for (std::size_t c = 0; c < kCameras; ++c) {
      const FrameStatus status = cameras[c]->next(frames[c]);
      if (status == FrameStatus::end) return summary;
      detectors[c].detect(frames[c], status, sets[c]);
      spoil(c, sets[c]);
    }
    const InstrumentSample sample = tracker->track({&sets[0], &sets[1], &sets[2], &sets[3]});
    const auto truth = path->evaluate(units::s_per_ns * static_cast<double>(sample.mid_exposure_ns));
    for (std::size_t i = 0; i < kInstruments; ++i) summary[i].add(sample.instruments[i], truth[i]);
  }
}

// Raw images with 2 % noise. The noise alone would leave about 20 um (CONTRACT's oracle scaled to the centroids'
// noise); shading and pixels add a bias of the same order. 0.1 mm is a third of what the demo recording must reach.
TEST(Tracker, ReadsUncompressedImagesToATenthOfAMillimetre) {
  VirtualRigParams params;
  params.duration_s = 12;
  params.rate_hz = 20;
  for (const Summary& s : follow(testing::distorted_rig(), params, [](std::size_t, MarkerSet&) {})) {
    EXPECT_EQ(s.tracked, s.frames);
    EXPECT_LT(s.rms(), 0.1);
    EXPECT_LT(s.opening_rms_deg(), 0.05);
  }
}

TEST(Tracker, GoesOnWithTwoCameras) {
  VirtualRigParams params;
  params.duration_s = 12;
  params.rate_hz = 20;
  const auto kill = [](std::size_t c, MarkerSet& set) {
    if (c < 2 && set.mid_exposure_ns > 1'000'000'000) set.image = false, set.count.fill(0);
  };
  for (const Summary& s : follow(testing::distorted_rig(), params, kill)) {
    EXPECT_GT(s.tracked, 0.95 * s.frames);
    EXPECT_LT(s.rms(), 0.3);
  }
}

}  // namespace
}  // namespace ligature::drivers
