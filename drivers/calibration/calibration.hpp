#pragma once
/// Calibration of cameras from pictures of a board: one camera's intrinsics, or the whole rig.
///
/// Model: pixel = lens(X_CR X_RB p_B), lens the five-coefficient model of camera/lens.hpp. All intrinsics, camera poses
/// and board poses are adjusted at once, minimising reprojection errors ([Triggs 2000]); corners first under Cauchy's
/// loss, then those beyond 4.5 sigma are left out and the rest is adjusted by least squares, so that the covariance
/// sigma^2 (J^T J)^-1 is that of the estimate. Board poses are eliminated from it (Schur complement).
///
/// The rig's frame R: the board lying flat on the floor in the frame `origin`. Its grid's middle is R's origin, z up on
/// its printed side (plus `board_thickness_mm`), x and y along its rows and columns, turned by the quarter turn that
/// brings the cameras nearest to where the last rig file has them. Without `origin` R is where the cameras' places fit
/// the last rig file best.
///
/// These functions take minutes, allocate, and are not for real-time threads. They write no file.
#include <array>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "drivers/calibration/detection.hpp"
#include "drivers/rig.hpp"
#include "sim/base/result.hpp"

namespace ligature::calibration {

struct Progress {
  enum class Stage { reading, starting, adjusting, testing, judging };
  Stage stage = Stage::reading;
  std::size_t done = 0, total = 0;  ///< of this stage; images while reading
  std::string what;                 ///< the image, or what is being done
};
const char* name_of(Progress::Stage stage);
/// Called often, on the caller's thread. @return false: stop as soon as possible (the job answers "cancelled")
using ProgressFunction = std::function<bool(const Progress&)>;

/// What a result must keep to be written without being forced.
struct Limits {
  double rms_px = 1.0;           ///< reprojection error of each camera, both axes together
  double held_out_rms_px = 1.5;  ///< the same of views that took no part
  double tip_sigma_mm = 0.1;     ///< rig: uncertainty of a triangulated point, 3-D RMS over the working volume
  double image_sigma_px = 0.7;   ///< one lens: uncertainty of a projected point, RMS over the image
  double focal_sigma = 0.02;     ///< relative; beyond it the views were too parallel
  double coverage = 0.15;        ///< share of the image's cells that hold corners
  double outliers = 0.2;         ///< share of corners left out
  std::size_t views = 6;         ///< of each camera whose intrinsics are adjusted
};

struct Settings {
  Board board;
  Limits limits;
  double working_distance_mm = 346;  ///< camera to the middle of the working volume, for intrinsics alone
  Vec3 volume_middle_R{0, 0, 60};    ///< [mm]
  Vec3 volume_size_mm{100, 80, 60};  ///< where the tip's uncertainty is looked at
  std::size_t most_frames = 80;      ///< more are thinned out to the most different ones
  std::size_t most_images = 600;     ///< of each camera that are searched for boards at all
};

struct IntrinsicsJob {
  Settings settings;
  std::string camera = "C0";
  std::vector<std::filesystem::path> images;
  std::optional<drivers::CameraModel> last;  ///< the last calibration: drift, and the pose, which stays
};

struct RigJob {
  Settings settings;
  std::filesystem::path frames;            ///< DIR/C0 ... C3, folders of images or videos
  std::vector<std::string> cameras;        ///< which of them; empty: C0..C3, all of which must be there
  std::optional<drivers::Rig> intrinsics;  ///< start values of the lenses
  bool hold_intrinsics = false;            ///< the lenses stay as given (needs `intrinsics`)
  std::string origin;                      ///< frame in which the board lies on the floor; empty: none
  double board_thickness_mm = 0;           ///< printed side above the floor in that frame
  std::optional<drivers::Rig> last;        ///< the last calibration: drift, instruments, place of the scene
};

/// One image, used or not.
struct ViewReport {
  std::string source;  ///< file name, or FILE#frame of a video
  std::string camera, frame;
  Reject reject = Reject::none;
  std::string reason;        ///< empty when used
  std::size_t corners = 0;   ///< found
  std::size_t left_out = 0;  ///< of them, as outliers
  double rms_px = 0;         ///< of the corners kept
  bool used() const { return reject == Reject::none; }
};

struct CornerResidual {
  double u_px = 0, v_px = 0;    ///< where it was seen
  double du_px = 0, dv_px = 0;  ///< seen minus predicted
  bool left_out = false;
};

inline constexpr int kCoverageCols = 16, kCoverageRows = 12;

struct CameraReport {
  std::string name;
  std::size_t views = 0, corners = 0, left_out = 0;
  double rms_px = 0;           ///< both axes together: sqrt(mean(du^2 + dv^2)), corners kept
  double held_out_rms_px = 0;  ///< of frames that took no part in a second adjustment
  double held_out_mm = 0;      ///< the same at the working distance
  double coverage = 0;         ///< share of the cells that hold a corner
  std::array<int, kCoverageCols * kCoverageRows> cells{};  ///< corners in each cell, rows first
  bool intrinsics_held = false;
  int distortion_terms = 0;                 ///< coefficients adjusted: 3 (k1 p1 p2), 4 (and k2), 5 (and k3)
  double sigma_f_px = 0, sigma_c_px = 0;    ///< of the focal length and the principal point (larger of the axes)
  double sigma_p_mm = 0, sigma_q_mdeg = 0;  ///< of the place and direction in R (3-D RMS); rig only
  double sigma_image_px = 0;                ///< of a projected point, RMS over the image; intrinsics only
  double drift_f_px = 0, drift_p_mm = 0, drift_q_mdeg = 0;  ///< from the last calibration
  std::vector<CornerResidual> residuals;
};

struct Report {
  std::vector<CameraReport> cameras;
  std::vector<ViewReport> views;
  std::size_t frames = 0;  ///< board poses adjusted
  double sigma_px = 0;     ///< noise of a corner, each axis, as the residuals show it
  double rms_px = 0, held_out_rms_px = 0;
  double held_out_mm = 0;  ///< corners of held-out boards, triangulated, against the board: 3-D RMS
  double working_distance_mm = 0;
  /// 3-D RMS over the working volume (rig); sideways at the working distance (intrinsics); NaN: the views do not tell
  double tip_sigma_mm = std::numeric_limits<double>::quiet_NaN();
  double tip_sigma_worst_mm = std::numeric_limits<double>::quiet_NaN();  ///< where it is largest
  bool has_last = false;
  double drift_tip_mm = 0;  ///< how far a tip moves against the last calibration, RMS over the working volume
  double drift_tip_worst_mm = 0;
  double drift_shape_mm = 0;          ///< the same once both are laid over each other (no change of R)
  std::string origin;                 ///< frame that defines R; empty: the last rig file's cameras do
  Board board;                        ///< with the dictionary that was found
  std::vector<std::string> notes;     ///< worth knowing
  std::vector<std::string> failures;  ///< why it is not to be written, each with its remedy; empty: good
  bool good() const { return failures.empty(); }
};

struct IntrinsicsResult {
  Report report;
  drivers::CameraModel camera;
};
struct RigResult {
  Report report;
  drivers::Rig rig;       ///< cameras measured; instruments, world and box of the last rig, or the standard ones
  bool complete = false;  ///< all four cameras are measured
};

/// Errors: usage (a folder or file is not there, a value is out of range); failed: "cancelled", or there is nothing to
/// adjust (no view at all, all views parallel, cameras that share no view), with the views' reasons counted up.
/// `rejected`, when given, gets the views even then.
Result<IntrinsicsResult> calibrate_intrinsics(const IntrinsicsJob& job, const ProgressFunction& progress = {},
                                              std::vector<ViewReport>* views = nullptr);
Result<RigResult> calibrate_rig(const RigJob& job, const ProgressFunction& progress = {},
                                std::vector<ViewReport>* views = nullptr);

}  // namespace ligature::calibration
