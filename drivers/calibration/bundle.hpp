#pragma once
/// Bundle adjustment: lenses, camera poses and board poses that make the corners' predictions meet what was seen.
///
///   residual = lens_c(X_CR X_RB p_B) - (u, v)      per corner, loss Cauchy's with scale s on |residual| / s
///
/// The one user of Ceres for cameras; its header stays out of here. Source: [Triggs 2000] sections 2 to 6 and 9
/// (gauge).
#include <Eigen/Core>
#include <array>
#include <functional>
#include <vector>

#include "drivers/rig.hpp"
#include "sim/base/geometry.hpp"

namespace ligature::calibration {

/// fx fy cx cy k1 k2 p1 p2 k3
inline constexpr int kLensSize = 9;
using LensVector = std::array<double, kLensSize>;
/// Rotation vector (angle times axis), then translation: X_AB takes B to A.
using PoseVector = std::array<double, 6>;

LensVector lens_vector(const drivers::CameraModel& camera);
void set_lens(drivers::CameraModel& camera, const LensVector& lens);
PoseVector pose_vector(const Pose& X);
Pose pose_of(const PoseVector& v);

struct BundleCamera {
  LensVector lens{};
  std::array<bool, kLensSize> lens_free{};
  PoseVector X_CR{};
  bool pose_free = true;
};
struct BundleBoard {
  PoseVector X_RB{};
  bool free = true;
};
struct BundleCorner {
  int camera = 0, board = 0;
  Vec3 p_B;
  double u_px = 0, v_px = 0;
  bool used = true;
};
struct Bundle {
  std::vector<BundleCamera> cameras;
  std::vector<BundleBoard> boards;
  std::vector<BundleCorner> corners;
};

/// Predicted minus seen [px]; not finite where the point is behind the camera.
std::array<double, 2> residual(const Bundle& bundle, const BundleCorner& corner);

struct BundleOptions {
  double cauchy_px = 0;  ///< scale of the loss; 0: least squares
  int most_iterations = 100;
  std::function<bool()> go_on;  ///< asked once an iteration; false: stop
};
struct BundleSummary {
  bool converged = false, stopped = false;
  int iterations = 0;
};
/// Ends the solver's own remarks on standard error: what it has to say comes back in its summaries.
void quiet_solver() noexcept;

/// Adjusts what is free, from the corners used. Points that fall behind a camera are left out by the caller first.
BundleSummary adjust(Bundle& bundle, const BundleOptions& options);

/// What the corners know of the cameras once the boards are eliminated, for noise of 1 px on each axis. Parameters:
/// per camera the free lens numbers in order, then, where free, the six of X_CR.
struct CameraInformation {
  Eigen::MatrixXd matrix;
  std::vector<int> lens_at;                          ///< first column of camera c's lens
  std::vector<std::array<int, kLensSize>> lens_col;  ///< column of each lens number, -1: held
  std::vector<int> pose_at;                          ///< first column of camera c's pose, -1: held
};
CameraInformation camera_information(const Bundle& bundle);

/// d(u,v)/d(lens) (2 x 9), d(u,v)/d(X_CR) (2 x 6) and d(u,v)/d(p_R) (2 x 3) of a point in R.
struct ProjectionJacobians {
  Eigen::Matrix<double, 2, kLensSize> lens;
  Eigen::Matrix<double, 2, 6> pose;
  Eigen::Matrix<double, 2, 3> point;
  Eigen::Vector2d uv_px;
};
ProjectionJacobians project(const LensVector& lens, const PoseVector& X_CR, Vec3 p_R);

}  // namespace ligature::calibration
