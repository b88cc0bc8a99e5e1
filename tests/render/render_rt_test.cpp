#include <gtest/gtest.h>

#include <vector>

#include "render/overlay.hpp"
#include "render/soft.hpp"
#include "render/tube.hpp"
#include "tests/render/demo_scene.hpp"
#include "tests/render/tissue_scene.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::render {
namespace {

TEST(RenderRealTime, GeometryAndOverlayNeitherAllocateNorLock) {
  ASSERT_TRUE(guard::active());
  const auto scene = demo_scene();
  TubeBuilder builder;
  std::vector<Ring> rings(kMaxThreadRings);
  std::vector<Mark> marks(kMaxMarks);
  FixedVector<RingRange, kMaxThreads> ranges;
  const TissueSurface vessel = tube(20, 20, 0.5, 0.1, 3);
  const auto tissue = at_rest(vessel);
  SoftMesh soft({&vessel, 1}, 2);
  std::vector<SoftCorner> corners(soft.corners());
  guard::reset();
  {
    guard::ForbidAlloc forbid("render");
    builder.build(*scene, 0.1, 0.01, rings.data(), rings.size(), ranges);
    soft.place(*tissue, corners.data());
    Overlay overlay(marks.data(), marks.size());
    draw_status(overlay, *scene, "RECORDING STOPPED: DISK FULL", 640, 480);
    draw_test_picture(overlay, 640, 480, 10);
  }
  EXPECT_EQ(guard::violations(), 0U) << guard::report();
  EXPECT_GT(ranges.size(), 0U);
}

}  // namespace
}  // namespace ligature::render
