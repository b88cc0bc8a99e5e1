/// The rig from corners with known noise: what the calibration gets wrong, and whether it knows.
#include <gtest/gtest.h>

#include "drivers/calibration/from_views.hpp"
#include "tests/calibration/synthetic.hpp"

namespace ligature::calibration::test {
namespace {

RigJob job_of(const Scene& scene) {
  RigJob job;
  job.settings.board = scene.board;
  job.origin = "0";
  return job;
}

/// Over the 100 x 80 x 60 mm working volume, in R as the floor board of one frame defines it.
TEST(RigCalibration, ThirtyBoardsWithOutliersLeaveTipsWithinThirtyMicrometres) {
  Scene scene;
  scene.board = *parse_board("checkerboard:9x6:20mm");
  double squares = 0, believed = 0;
  int n = 0;
  for (const auto& k : {std::array<double, 5>{}, std::array<double, 5>{-0.2, 0.05, 0.001, -0.0005, 0},
                        std::array<double, 5>{-0.35, 0.12, 0, 0, 0}})
    for (const std::uint64_t seed : {1, 2}) {
      scene.rig = distorted_rig(k);
      scene.X_RB = board_poses(30, seed);
      const auto result = rig_from(see(scene, {0.1, 0.03, seed}), job_of(scene));
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_TRUE(result->report.good()) << result->report.failures[0];
      EXPECT_TRUE(result->complete);
      const TipError e = tip_error(result->rig.cameras, scene.rig.cameras);
      EXPECT_LT(e.rms_mm, 0.030) << "k1 " << k[0] << " seed " << seed;
      EXPECT_LT(e.shape_mm, 0.010) << "k1 " << k[0] << " seed " << seed;
      EXPECT_NEAR(result->report.sigma_px, 0.1, 0.005);
      squares += e.rms_mm * e.rms_mm, believed += std::pow(result->report.tip_sigma_mm, 2);
      ++n;
    }
  RecordProperty("tip_rms_um", std::to_string(1000 * std::sqrt(squares / n)));
  // Mostly the floor board's pose: six numbers in each of the runs.
  EXPECT_NEAR(std::sqrt(squares / believed), 1, 0.5);
}

}  // namespace
}  // namespace ligature::calibration::test
