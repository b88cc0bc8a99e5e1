#include <gtest/gtest.h>

#include "drivers/markers/detector.hpp"
#include "drivers/tracking/tracker.hpp"
#include "tests/drivers/scene.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::drivers {
namespace {

TEST(DriversRealTime, DetectionAndFitNeitherAllocateNorLock) {
  ASSERT_TRUE(guard::active());
  const Rig rig = testing::distorted_rig();
  const auto path = testing::demo_path(rig);
  VirtualRigParams params;
  params.rate_hz = 10, params.duration_s = 2;
  HiddenMarkerFault hidden;
  hidden.instrument = 1, hidden.from_s = 0.8, hidden.until_s = 1.2;
  params.hidden = {hidden};
  auto cameras = testing::virtual_cameras(params, rig, path);
  auto tracker = Tracker::create(rig);
  std::vector<MarkerDetector> detectors;
  for (std::size_t c = 0; c < kCameras; ++c) detectors.push_back(std::move(*MarkerDetector::create(rig, c)));
  std::array<Frame, kCameras> frames;
  std::array<MarkerSet, kCameras> sets;
  guard::reset();
  for (int k = 0; k < 20; ++k) {
    for (std::size_t c = 0; c < kCameras; ++c) {
      FrameStatus status = cameras[c]->next(frames[c]);
      ASSERT_EQ(status, FrameStatus::image);
      if (k > 12 && c < 3) status = FrameStatus::missing;  // down to one camera: predicted, lost
      const guard::ForbidAlloc forbid;
      detectors[c].detect(frames[c], status, sets[c]);
    }
    const guard::ForbidAlloc forbid;
    (void)tracker->track({&sets[0], &sets[1], &sets[2], &sets[3]});
    (void)path->evaluate(0.1 * k);
  }
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
}

}  // namespace
}  // namespace ligature::drivers
