#pragma once
/// What a calibration is worth: uncertainty of lenses, cameras and tips, change since the last one.
#include <Eigen/Core>
#include <optional>
#include <vector>

#include "drivers/calibration/bundle.hpp"
#include "drivers/calibration/calibration.hpp"

namespace ligature::calibration {

/// A pixel of one camera.
struct Sight {
  std::size_t camera = 0;
  double u_px = 0, v_px = 0;
};
/// The point that the sights' pixel errors are least for. Nothing from fewer than two cameras, or from parallel rays.
std::optional<Vec3> triangulate(const std::vector<drivers::CameraModel>& cameras, const std::vector<Sight>& sights);

/// Where the camera has the point in its image, if at all.
std::optional<std::array<double, 2>> image_of(const drivers::CameraModel& camera, Vec3 p_R);

/// Least squares: X_AB that takes each b to its a.
Pose fit_pose(const std::vector<Vec3>& a, const std::vector<Vec3>& b);

/// Points of a box, n of them along each edge.
std::vector<Vec3> grid_of(Vec3 middle, Vec3 size, int n);

/// What keeps R in place when no board does: the cameras' places on the whole, which follow the last calibration.
enum class Gauge { board, places, directions };

/// sigma^2 of the information's inverse, kept to changes that leave the gauge; empty where something is not determined
/// (`undetermined` then names the camera).
Eigen::MatrixXd covariance_of(const Bundle& bundle, const CameraInformation& info, double sigma_px, Gauge gauge,
                              int* undetermined = nullptr);

struct TipSigma {
  double rms_mm = 0, worst_mm = 0;
  std::size_t seen = 0;  ///< points that two cameras or more see
};
/// Uncertainty of points triangulated with these cameras, from the cameras' alone, 3-D.
/// @param own_frame true: R is only a name for where the cameras are, so what moves all points as one rigid body is no
///                  error
TipSigma tip_sigma(const Bundle& bundle, const std::vector<drivers::CameraModel>& cameras,
                   const CameraInformation& info, const Eigen::MatrixXd& covariance, const std::vector<Vec3>& points_R,
                   bool own_frame);

/// The same for one lens: how uncertain the projection of points is once the camera is aimed as well as it can be.
/// @return 2-D RMS over the image  [px]
double image_sigma(const Bundle& bundle, std::array<int, 2> size_px, const CameraInformation& info,
                   const Eigen::MatrixXd& covariance, double distance_mm);

struct Drift {
  double rms_mm = 0, worst_mm = 0, shape_mm = 0;
};
/// Points seen by the new cameras, placed by the old ones.
Drift drift_of(const std::vector<drivers::CameraModel>& now, const std::vector<drivers::CameraModel>& last,
               const std::vector<Vec3>& points_R);

/// The distorted radius grows with the true one as far as the image's farthest corner (what a rig file must keep).
bool lens_folds(const LensVector& lens, std::array<int, 2> size_px);

}  // namespace ligature::calibration
