/// The shipped demo recording, read the way `ligature run` reads it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "config/rig_file.hpp"
#include "drivers/camera/recorded.hpp"
#include "drivers/markers/detector.hpp"
#include "drivers/tracking/tracker.hpp"
#include "tests/drivers/scene.hpp"

namespace ligature::drivers {
namespace {

TEST(DemoRecording, GivesTheTipToATenthOfAMillimetre) {
  const char* other = std::getenv("LIGATURE_TEST_RECORDING");
  const std::string dir = other ? other : LIGATURE_DEMO_DIR;
  const auto loaded = config::load_rig(LIGATURE_DEMO_RIG);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  const Rig& rig = *loaded;
  auto recording = open_recording(dir, ImageSize{640, 480});
  ASSERT_TRUE(recording.has_value()) << recording.error().message;
  const auto left = load_path(dir + "/truth_left.csv"), right = load_path(dir + "/truth_right.csv");
  ASSERT_TRUE(left && right);
  auto tracker = Tracker::create(rig);
  std::vector<MarkerDetector> detectors;
  for (std::size_t c = 0; c < kCameras; ++c) detectors.push_back(std::move(*MarkerDetector::create(rig, c)));

  std::array<Frame, kCameras> frames;
  std::array<MarkerSet, kCameras> sets;
  std::array<double, kInstruments> sum2{}, believed{}, worst{};
  std::array<Vec3, kInstruments> mean{};
  std::array<int, kInstruments> tracked{};
  int triggers = 0;
  for (bool over = false; !over;) {
    for (std::size_t c = 0; c < kCameras; ++c) {
      const FrameStatus status = recording->cameras[c]->next(frames[c]);
      if ((over = status == FrameStatus::end)) break;
      ASSERT_EQ(status, FrameStatus::image) << "camera " << c << " trigger " << triggers;
      detectors[c].detect(frames[c], status, sets[c]);
    }
    if (over) break;
    const InstrumentSample sample = tracker->track({&sets[0], &sets[1], &sets[2], &sets[3]});
    for (std::size_t i = 0; i < kInstruments; ++i) {
      if (sample.instruments[i].status != TrackStatus::tracked) continue;
      ++tracked[i];
      const PathKey& truth = (i == 0 ? *left : *right)[static_cast<std::size_t>(triggers)];
      ASSERT_NEAR(truth.t_s, 1e-9 * static_cast<double>(sample.mid_exposure_ns), 1e-6);
      const Vec3 e = sample.instruments[i].X_RT.p - rig.X_RW * truth.X.p;
      sum2[i] += dot(e, e), mean[i] = mean[i] + e, worst[i] = std::max(worst[i], norm(e));
      believed[i] += sample.instruments[i].sigma_tip_mm * sample.instruments[i].sigma_tip_mm;
    }
    ++triggers;
  }
  EXPECT_GE(triggers, 700);
  for (std::size_t i = 0; i < kInstruments; ++i) {
    const double n = std::max(1, tracked[i]), rms = std::sqrt(sum2[i] / n);
    std::printf("%s: tip %.4f mm RMS, worst %.3f, bias %.4f %.4f %.4f, believed %.4f, tracked %d of %d, noise %.2f\n",
                i == 0 ? "left" : "right", rms, worst[i], mean[i].x / n, mean[i].y / n, mean[i].z / n,
                std::sqrt(believed[i] / n), tracked[i], triggers, static_cast<double>(sets[0].noise_level));
    EXPECT_EQ(tracked[i], triggers);
    EXPECT_LT(rms, 0.1);
  }
}

}  // namespace
}  // namespace ligature::drivers
