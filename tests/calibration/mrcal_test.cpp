/// The same boards given to mrcal [mrcal], another hand's bundle adjustment: both must come to the same rig.
#include <gtest/gtest.h>

extern "C" {
#include <mrcal/mrcal.h>
}

#include <map>

#include "drivers/calibration/bundle.hpp"
#include "drivers/calibration/from_views.hpp"
#include "tests/calibration/synthetic.hpp"

namespace ligature::calibration::test {
namespace {

mrcal_pose_t mrcal_pose(const Pose& X) {
  const PoseVector v = pose_vector(X);
  mrcal_pose_t out;
  for (std::size_t i = 0; i < 3; ++i) out.r.xyz[i] = v[i], out.t.xyz[i] = v[3 + i];
  return out;
}
Pose plain_pose(const mrcal_pose_t& p) {
  return pose_of({p.r.xyz[0], p.r.xyz[1], p.r.xyz[2], p.t.xyz[0], p.t.xyz[1], p.t.xyz[2]});
}

/// Cameras by mrcal_optimize with LENSMODEL_OPENCV4 (k1 k2 p1 p2), in the first camera's frame; outliers by its own
/// rejection. Starts from `start`, whose numbers differ from the truth by what a drawing would.
std::vector<drivers::CameraModel> by_mrcal(const Pictures& pictures, const std::vector<drivers::CameraModel>& start,
                                           const std::vector<Pose>& X_RB, double& rms_px, int& outliers) {
  const int cameras = static_cast<int>(start.size()), cols = pictures.board.corner_cols(),
            rows = pictures.board.corner_rows();
  mrcal_lensmodel_t model{};
  model.type = MRCAL_LENSMODEL_OPENCV4;
  std::vector<double> lenses;
  std::vector<mrcal_pose_t> X_C0;  // extrinsics of the cameras after the first: first camera to camera
  const Pose X_R0 = start[0].X_RC;
  for (int c = 0; c < cameras; ++c) {
    const LensVector l = lens_vector(start[static_cast<std::size_t>(c)]);
    lenses.insert(lenses.end(), l.begin(), l.begin() + 8);
    if (c > 0) X_C0.push_back(mrcal_pose(inverse(start[static_cast<std::size_t>(c)].X_RC) * X_R0));
  }
  // mrcal's board begins at its first corner.
  const Vec3 first = pictures.board.corner_p_B(0);
  std::vector<mrcal_pose_t> frames;
  std::map<std::string, int> index;
  std::vector<mrcal_observation_board_t> boards;
  std::vector<mrcal_point3_t> pool;
  for (const View& v : pictures.views) {
    const auto [at, fresh] = index.emplace(v.frame, static_cast<int>(frames.size()));
    if (fresh)
      frames.push_back(
          mrcal_pose(inverse(X_R0) * X_RB[static_cast<std::size_t>(std::stoi(v.frame))] * Pose{{}, first}));
    mrcal_observation_board_t o{};
    o.icam.intrinsics = v.camera, o.icam.extrinsics = v.camera - 1;
    o.iframe = at->second;
    boards.push_back(o);
    std::vector<mrcal_point3_t> corners(static_cast<std::size_t>(cols) * rows);
    for (auto& p : corners) p.xyz[0] = p.xyz[1] = 0, p.xyz[2] = -1;
    for (const Corner& k : v.corners) {
      auto& p = corners[static_cast<std::size_t>(k.id)];
      p.xyz[0] = k.u_px, p.xyz[1] = k.v_px, p.xyz[2] = 1;
    }
    pool.insert(pool.end(), corners.begin(), corners.end());
  }
  std::vector<int> imager;
  for (int c = 0; c < cameras; ++c)
    imager.push_back(start[static_cast<std::size_t>(c)].width_px),
        imager.push_back(start[static_cast<std::size_t>(c)].height_px);
  mrcal_problem_selections_t selections{};
  selections.do_optimize_intrinsics_core = selections.do_optimize_intrinsics_distortions = true;
  selections.do_optimize_extrinsics = selections.do_optimize_frames = true;
  selections.do_apply_regularization = false;
  selections.do_apply_outlier_rejection = true;
  mrcal_problem_constants_t constants{};
  constants.point_min_range = 1, constants.point_max_range = 1e4;
  const mrcal_stats_t stats = mrcal_optimize(
      nullptr, 0, nullptr, 0, lenses.data(), X_C0.data(), frames.data(), nullptr, nullptr, cameras, cameras - 1,
      static_cast<int>(frames.size()), 0, 0, boards.data(), nullptr, static_cast<int>(boards.size()), 0, pool.data(),
      &model, imager.data(), selections, &constants, pictures.board.square_mm, cols, rows, false, false);
  rms_px = stats.rms_reproj_error__pixels;
  outliers = stats.Noutliers;
  std::vector<drivers::CameraModel> out = start;
  for (int c = 0; c < cameras; ++c) {
    LensVector l{};
    std::copy_n(lenses.begin() + 8 * c, 8, l.begin());
    set_lens(out[static_cast<std::size_t>(c)], l);
    out[static_cast<std::size_t>(c)].X_RC =
        c == 0 ? Pose{} : inverse(plain_pose(X_C0[static_cast<std::size_t>(c - 1)]));
  }
  return out;
}

TEST(Reference, MrcalComesToTheSameRigWithinBothUncertainties) {
  Scene scene;
  scene.board = *parse_board("checkerboard:9x6:20mm");
  scene.rig = distorted_rig({-0.2, 0.05, 0.001, -0.0005, 0});
  scene.X_RB = board_poses(30, 4);
  const Pictures seen = see(scene, {0.1, 0.03, 4});
  RigJob job;
  job.settings.board = scene.board;
  job.origin = "0";
  const auto ours = rig_from(seen, job);
  ASSERT_TRUE(ours) << ours.error().message;

  std::vector<drivers::CameraModel> start = drivers::standard_rig().cameras;
  for (auto& c : start) c.fx_px = c.fy_px = 590;
  double rms = 0;
  int outliers = 0;
  auto theirs = by_mrcal(seen, start, scene.X_RB, rms, outliers);
  ASSERT_GT(rms, 0) << "mrcal did not converge";
  // Their R is the first camera's frame: laid over ours by what both make of the working volume.
  const auto ours_in_R = ours->rig.cameras;
  std::vector<Vec3> here, there;
  for (const Vec3 p : grid_of({0, 0, 60}, {100, 80, 60}, 5)) {
    std::vector<Sight> sights;
    for (std::size_t c = 0; c < ours_in_R.size(); ++c)
      if (const auto uv = image_of(ours_in_R[c], p)) sights.push_back({c, (*uv)[0], (*uv)[1]});
    const auto q = triangulate(theirs, sights);
    if (q) here.push_back(p), there.push_back(*q);
  }
  ASSERT_GT(here.size(), 100U);
  const Pose X = fit_pose(here, there);
  double squares = 0;
  for (std::size_t i = 0; i < here.size(); ++i) squares += std::pow(norm(X * there[i] - here[i]), 2);
  const double apart_mm = std::sqrt(squares / static_cast<double>(here.size()));
  std::printf("mrcal rms %.4f outliers %d, apart %.2f um; ours %.4f\n", rms, outliers, 1000 * apart_mm,
              ours->report.rms_px);
  for (auto& c : theirs) c.X_RC = X * c.X_RC;
  const TipError their_error = tip_error(theirs, scene.rig.cameras),
                 our_error = tip_error(ours_in_R, scene.rig.cameras);
  RecordProperty("apart_um", std::to_string(1000 * apart_mm));
  RecordProperty("their_shape_um", std::to_string(1000 * their_error.shape_mm));
  RecordProperty("our_shape_um", std::to_string(1000 * our_error.shape_mm));
  for (std::size_t c = 0; c < theirs.size(); ++c) {
    const auto& r = ours->report.cameras[c];
    // Same data: they differ by which corners they leave out, by far less than the noise moves either.
    EXPECT_LT(std::abs(ours_in_R[c].fx_px - theirs[c].fx_px), r.sigma_f_px);
    EXPECT_LT(std::abs(ours_in_R[c].fy_px - theirs[c].fy_px), r.sigma_f_px);
    EXPECT_LT(std::abs(ours_in_R[c].cx_px - theirs[c].cx_px), r.sigma_c_px);
    EXPECT_LT(std::abs(ours_in_R[c].cy_px - theirs[c].cy_px), r.sigma_c_px);
    EXPECT_LT(norm(ours_in_R[c].X_RC.p - theirs[c].X_RC.p), r.sigma_p_mm);
  }
  EXPECT_LT(apart_mm, 0.005);
}

}  // namespace
}  // namespace ligature::calibration::test
