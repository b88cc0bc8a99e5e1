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
    for (const std::uint64_t seed : {k[0] == 0 ? 1 : k[0] > -0.3 ? 2 : 3}) {
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

/// A short, noiseless enough scene for questions of structure.
Scene small_scene(const char* board, std::size_t boards = 14) {
  Scene scene;
  scene.board = *parse_board(board);
  scene.X_RB = board_poses(boards, 7);
  return scene;
}

/// Drops what `gone` says of a camera and a frame.
template <class Gone>
Pictures without(Pictures pictures, Gone gone) {
  std::erase_if(pictures.views, [&](const View& v) { return gone(v.camera, std::stoi(v.frame)); });
  return pictures;
}

TEST(RigCalibration, BoardsThatLookTheSameUpsideDownAreTurnedToAgree) {
  for (const char* text : {"checkerboard:8x6:18mm", "checkerboard:7x7:18mm", "checkerboard:8x8:16mm"}) {
    Scene scene = small_scene(text);
    Pictures seen = see(scene, {0.1, 0, 2});
    // As a detector cannot know better: every view turned by any of the board's symmetries.
    const auto turns = symmetries(scene.board);
    ASSERT_GT(turns.size(), 1U) << text;
    std::mt19937_64 random(4);
    for (View& v : seen.views) {
      const int turn = turns[random() % turns.size()];
      for (Corner& k : v.corners) k.id = turned_id(scene.board, k.id, turn);
    }
    const auto result = rig_from(seen, job_of(scene));
    ASSERT_TRUE(result) << text << ": " << result.error().message;
    EXPECT_TRUE(result->report.good()) << text << ": " << result->report.failures[0];
    EXPECT_LT(tip_error(result->rig.cameras, scene.rig.cameras).rms_mm, 0.1) << text;
  }
}

TEST(RigCalibration, CamerasThatShareNoViewAreNamed) {
  const Scene scene = small_scene("checkerboard:9x6:18mm", 24);
  const Pictures seen = without(see(scene, {0.1, 0, 2}), [](int c, int f) { return c == 3 ? f % 2 == 0 : f % 2 == 1; });
  const auto result = rig_from(seen, job_of(scene));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, Error::Kind::failed);
  EXPECT_EQ(result.error().message.rfind("C3 saw the board in no frame together with C0, C1, C2", 0), 0U)
      << result.error().message;
}

TEST(RigCalibration, CamerasMayBeJoinedByAChainOfPairs) {
  const Scene scene = small_scene("checkerboard:9x6:18mm", 40);
  const Pictures seen = without(see(scene, {0.1, 0.01, 2}), [](int c, int f) {
    if (f == 0) return c > 1;
    const int first = f % 3;  // C0 and C1, C1 and C2, C2 and C3
    return c != first && c != first + 1;
  });
  const auto result = rig_from(seen, job_of(scene));
  ASSERT_TRUE(result) << result.error().message;
  const TipError e = tip_error(result->rig.cameras, scene.rig.cameras);
  EXPECT_LT(e.rms_mm, 0.2);
  EXPECT_LT(e.rms_mm, 3 * result->report.tip_sigma_mm);
}

TEST(RigCalibration, WithoutAFloorBoardRStaysWhereTheLastFilesCamerasAre) {
  const Scene scene = small_scene("checkerboard:9x6:18mm", 20);
  RigJob job = job_of(scene);
  job.origin.clear();
  job.last = scene.rig;
  for (auto& c : job.last->cameras) c.reprojection_rms_px = 0.1;
  const auto result = rig_from(see(scene, {0.1, 0.02, 2}), job);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->report.good()) << result->report.failures[0];
  const TipError e = tip_error(result->rig.cameras, scene.rig.cameras);
  EXPECT_LT(e.shape_mm, 3 * result->report.tip_sigma_mm);
  EXPECT_GT(e.shape_mm, 0.2 * result->report.tip_sigma_mm);
  EXPECT_LT(e.rms_mm, 0.3);
  EXPECT_NEAR(result->report.drift_tip_mm, e.rms_mm, 0.3 * e.rms_mm);
}

TEST(RigCalibration, TellsHowFarACameraHasMovedSinceTheLastTime) {
  const Scene scene = small_scene("checkerboard:9x6:18mm", 20);
  RigJob job = job_of(scene);
  job.last = scene.rig;
  for (auto& c : job.last->cameras) c.reprojection_rms_px = 0.1;
  job.last->cameras[1].X_RC.p = job.last->cameras[1].X_RC.p + Vec3{2, 0, 0};
  const auto result = rig_from(see(scene, {0.1, 0.02, 2}), job);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_NEAR(result->report.cameras[1].drift_p_mm, 2, 0.5);
  EXPECT_LT(result->report.cameras[2].drift_p_mm, 0.6);
  EXPECT_GT(result->report.drift_tip_mm, 0.2);
}

TEST(RigCalibration, HeldLensesStayAndAWrongSquareIsNoticed) {
  Scene scene = small_scene("checkerboard:9x6:18mm");
  RigJob job = job_of(scene);
  job.intrinsics = scene.rig, job.hold_intrinsics = true;
  const auto held = rig_from(see(scene, {0.1, 0, 2}), job);
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_TRUE(held->report.good()) << held->report.failures[0];
  for (const auto& c : held->rig.cameras) EXPECT_EQ(c.fx_px, 600);
  EXPECT_LT(tip_error(held->rig.cameras, scene.rig.cameras).rms_mm, 0.1);

  Pictures seen = see(scene, {0.1, 0, 2});
  seen.board.square_mm = 19;  // what the technician typed
  RigJob wrong = job_of(scene);
  const auto scaled = rig_from(seen, wrong);
  ASSERT_TRUE(scaled) << scaled.error().message;
  bool noticed = false;
  for (const std::string& note : scaled->report.notes) noticed |= note.find("measure the board's squares") != note.npos;
  EXPECT_TRUE(noticed);
}

TEST(RigCalibration, AViewThatMovedIsLeftOutAndNamed) {
  const Scene scene = small_scene("checkerboard:9x6:18mm");
  Pictures seen = see(scene, {0.1, 0, 2});
  std::size_t moved = 0;
  for (View& v : seen.views)
    if (v.frame == "5" && v.camera == 2) {
      for (Corner& k : v.corners) k.u_px += 4, k.v_px -= 3;
      moved = v.report;
    }
  const auto result = rig_from(seen, job_of(scene));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->report.views[moved].reject, Reject::disagrees);
  EXPECT_LT(tip_error(result->rig.cameras, scene.rig.cameras).rms_mm, 0.1);
}

/// Knocked half way: no lens and no place is right for both halves.
TEST(RigCalibration, ACameraThatMovedMeanwhileIsRefusedByNameAndFrame) {
  for (const std::size_t camera : {0, 2})
    for (const double much : {0.3, 1.0, 3.0, 25.0}) {
      const int from = camera == 0 ? 22 : 15;
      const Scene scene = small_scene("checkerboard:9x6:18mm", 30);
      Scene knocked = scene;
      Pose& X_RC = knocked.rig.cameras[camera].X_RC;
      X_RC.p = X_RC.p + Vec3{0, much, 0};
      X_RC.q = X_RC.q * axis_angle({1, 0, 0}, 0.17 * much * M_PI / 180);
      Pictures seen = see(scene, {0.1, 0, 2});
      for (const View& v : see(knocked, {0.1, 0, 3}).views)
        for (View& own : seen.views)
          if (own.camera == v.camera && own.frame == v.frame && std::stoi(v.frame) >= from) own.corners = v.corners;
      const auto result = rig_from(seen, job_of(scene));
      SCOPED_TRACE(testing::Message() << camera << ' ' << much << ' ' << from);
      ASSERT_TRUE(result) << result.error().message;
      ASSERT_FALSE(result->report.good());
      const std::string& why = result->report.failures.back();
      EXPECT_NE(why.find("C" + std::to_string(camera) + ": its pictures lie "), std::string::npos) << why;
      const std::size_t at = why.find("from frame ");
      ASSERT_NE(at, std::string::npos) << why;
      EXPECT_NEAR(std::stoi(why.substr(at + 11)), from, 2) << why;
    }
}

TEST(RigCalibration, OfTwoCamerasBothAreNamedWhenOneMoved) {
  Scene scene = small_scene("checkerboard:9x6:18mm", 30);
  scene.rig.cameras.resize(2);
  Scene knocked = scene;
  knocked.rig.cameras[1].X_RC.q = knocked.rig.cameras[1].X_RC.q * axis_angle({1, 0, 0}, 0.3 * M_PI / 180);
  Pictures seen = see(scene, {0.1, 0, 2});
  for (const View& v : see(knocked, {0.1, 0, 3}).views)
    for (View& own : seen.views)
      if (own.camera == v.camera && own.frame == v.frame && std::stoi(v.frame) >= 15) own.corners = v.corners;
  RigJob job = job_of(scene);
  job.cameras = {"C0", "C1"};
  const auto result = rig_from(seen, job);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_FALSE(result->report.good());
  const std::string& why = result->report.failures.back();
  EXPECT_TRUE(why.starts_with("C0 or C1: ") || why.starts_with("C1 or C0: ")) << why;
}

TEST(RigCalibration, EndsWhenItIsToldTo) {
  const Scene scene = small_scene("checkerboard:9x6:18mm");
  for (const int at : {0, 5, 30}) {
    int calls = 0;
    const auto result = rig_from(see(scene, {0.1, 0, 2}), job_of(scene), [&](const Progress&) { return calls++ < at; });
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message, "cancelled");
    EXPECT_LE(calls, at + 3);
  }
}

TEST(RigCalibration, FewViewsAreRefusedWithTheNumber) {
  const Scene scene = small_scene("checkerboard:9x6:18mm", 4);
  const auto result = rig_from(see(scene, {0.1, 0, 2}), job_of(scene));
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_FALSE(result->report.good());
  EXPECT_NE(result->report.failures[0].find("usable views of 6 needed"), std::string::npos)
      << result->report.failures[0];
  RigJob nowhere = job_of(scene);
  nowhere.origin = "99";
  EXPECT_NE(rig_from(see(scene, {0.1, 0, 2}), nowhere).error().message.find("--origin 99"), std::string::npos);
  EXPECT_EQ(rig_from(see(scene, {0.1, 0, 2}), nowhere).error().kind, Error::Kind::usage);
  nowhere.origin = "-1";  // once taken for frame 1
  EXPECT_EQ(rig_from(see(scene, {0.1, 0, 2}), nowhere).error().kind, Error::Kind::usage);
}

}  // namespace
}  // namespace ligature::calibration::test
