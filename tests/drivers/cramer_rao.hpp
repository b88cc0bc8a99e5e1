#pragma once
/// What no unbiased estimator can beat: the Cramer-Rao bound of the seven numbers of a forceps, for the rig at hand.
///
///   information = sum over views of  J^T J / sigma^2,   J = d(pixel)/d(turn about the tip, shift of the tip, opening)
///
/// J by central differences of the plain projection (sphere, lens), so that nothing of the tracker is in it. A marker
/// whose disc is not wholly in a camera's image is left out. Source: [Kay 1993] section 3.7.
#include <Eigen/Dense>
#include <optional>

#include "drivers/camera/lens.hpp"
#include "drivers/virtual_rig/hand_path.hpp"
#include "sim/base/eigen.hpp"

namespace ligature::drivers::testing {

using Bound = Eigen::Matrix<double, 7, 7>;

/// Centre of the marker's image [px]; nothing when its disc leaves the image or it lies behind the camera.
inline std::optional<Eigen::Vector2d> image_of(const CameraModel& camera, Vec3 p_R, double radius_mm) {
  const Vec3 p_C = inverse(camera.X_RC) * p_R;
  if (p_C.z < 10) return {};
  const Lens lens(camera);
  const Point2 n = sphere_image_centre(p_C, radius_mm);
  if (n.x * n.x + n.y * n.y > 1.5) return {};
  const Point2 px = lens.distort(n);
  const double r = 1.15 * radius_mm / p_C.z * camera.fx_px;  // the ellipse's longer axis, at up to 45 degrees
  if (px.x < r || px.y < r || px.x > camera.width_px - 1 - r || px.y > camera.height_px - 1 - r) return {};
  return Eigen::Vector2d(px.x, px.y);
}

inline ForcepsState stepped(const ForcepsState& at, const Eigen::Matrix<double, 7, 1>& step) {
  const Eigen::Vector3d turn = step.head<3>();
  const Eigen::Quaterniond dq(
      Eigen::AngleAxisd(turn.norm(), turn.norm() > 0 ? turn.normalized() : Eigen::Vector3d::UnitX()));
  return {{from_eigen((dq * to_eigen(at.X_RT.q)).normalized()),
           from_eigen(Eigen::Vector3d(to_eigen(at.X_RT.p) + step.segment<3>(3)))},
          at.opening_rad + step[6]};
}

/// Covariance that an efficient estimator has, in steps (turn in R [rad], shift [mm], opening [rad]).
/// @param cameras bits of those that work  @return nothing when what is in view does not say all seven
inline std::optional<Bound> cramer_rao(const Rig& rig, std::size_t instrument, const ForcepsState& at, double sigma_px,
                                       unsigned cameras = 0xf) {
  const InstrumentModel& model = rig.instruments[instrument];
  Bound information = Bound::Zero();
  for (std::size_t c = 0; c < rig.cameras.size(); ++c)
    for (const Marker& marker : model.markers) {
      const auto centre = [&](const ForcepsState& x) {
        return image_of(rig.cameras[c], x.X_RT * marker_p_T(model, marker, x.opening_rad), 0.5 * marker.diameter_mm);
      };
      if (!(cameras >> c & 1u) || !centre(at)) continue;
      Eigen::Matrix<double, 2, 7> J;
      bool whole = true;
      for (int i = 0; i < 7 && whole; ++i) {
        Eigen::Matrix<double, 7, 1> d = Eigen::Matrix<double, 7, 1>::Zero();
        d[i] = i < 3 || i == 6 ? 1e-5 : 1e-3;
        const auto ahead = centre(stepped(at, d)), behind = centre(stepped(at, -d));
        whole = ahead && behind;
        if (whole) J.col(i) = (*ahead - *behind) / (2 * d[i]);
      }
      if (whole) information += J.transpose() * J / (sigma_px * sigma_px);
    }
  const Eigen::FullPivLU<Bound> lu(information);
  if (lu.rank() < 7) return {};
  return information.inverse();
}

/// 3-D RMS of the tip [mm].
inline double tip_rms(const Bound& covariance) {
  return std::sqrt(covariance.diagonal().segment<3>(3).sum());
}

}  // namespace ligature::drivers::testing
