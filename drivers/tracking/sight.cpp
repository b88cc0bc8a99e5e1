#include "drivers/tracking/sight.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

namespace ligature::drivers {
namespace {

constexpr double kLeastVariance_px2 = 1e-6;  // a thousandth of a pixel: no centroid is better

}  // namespace

CameraSight::CameraSight(const CameraModel& camera)
    : lens(camera),
      f(std::sqrt(camera.fx_px * camera.fy_px)),
      R_CR(to_eigen(camera.X_RC.q).toRotationMatrix().transpose()),
      o_R(to_eigen(camera.X_RC.p)) {}

bool CameraSight::image_of(const Eigen::Vector3d& p_R, double radius, Eigen::Vector2d& px,
                           Eigen::Matrix<double, 2, 3>* J) const noexcept {
  const Eigen::Vector3d p = R_CR * (p_R - o_R);
  if (!(p.z() > 2 * radius + 1)) return false;
  const Point2 n = sphere_image_centre({p.x(), p.y(), p.z()}, radius);
  px = f * Eigen::Vector2d(n.x, n.y);
  if (J) {
    const double zz = p.z() * p.z(), rr = radius * radius, d = zz - rr, s = f * p.z() / d,
                 ds = -f * (zz + rr) / (d * d);
    Eigen::Matrix<double, 2, 3> by_camera;
    by_camera << s, 0, ds * p.x(), 0, s, ds * p.y();
    J->noalias() = by_camera * R_CR;
  }
  return true;
}

void gather(const std::array<CameraSight, kCameras>& cameras, const std::array<const MarkerSet*, kCameras>& sets,
            std::size_t first_marker, Sight& out) noexcept {
  for (std::size_t m = 0; m < kMarkersEach; ++m)
    for (std::size_t c = 0; c < kCameras; ++c) {
      std::uint8_t& n = out[m].count[c];
      n = 0, out[m].known[c] = 0;
      if (!sets[c] || !sets[c]->image) continue;
      const CameraSight& camera = cameras[c];
      const auto& blobs = sets[c]->blobs[first_marker + m];
      for (std::size_t k = 0; k < std::min<std::size_t>(sets[c]->count[first_marker + m], kCandidates); ++k) {
        const MarkerBlob& b = blobs[k];
        const Point2 z = camera.lens.undistort({b.u_px, b.v_px});
        if (!(std::isfinite(z.x) && std::isfinite(z.y) && std::abs(z.x) < 10 && std::abs(z.y) < 10)) continue;
        std::array<double, 4> J;
        camera.lens.distort(z, &J);
        Eigen::Matrix2d A, S;
        A << J[0] / camera.f, J[1] / camera.f, J[2] / camera.f, J[3] / camera.f;
        S << b.var_uu_px2, b.var_uv_px2, b.var_uv_px2, b.var_vv_px2;
        S += kLeastVariance_px2 * Eigen::Matrix2d::Identity();
        // What is then no variance belongs to a blob that says nothing of itself.
        if (!(S.allFinite() && S(0, 0) > 0 && S(1, 1) > 0 && S.determinant() > 1e-6 * S(0, 0) * S(1, 1))) continue;
        View& v = out[m].view[c][n++];
        v.px = camera.f * Eigen::Vector2d(z.x, z.y);
        v.ray_R = (camera.R_CR.transpose() * Eigen::Vector3d(z.x, z.y, 1)).normalized();
        v.weight.noalias() = A.transpose() * S.inverse() * A;
        Eigen::Matrix2d L;
        L << b.shared_px[0], b.shared_px[1], b.shared_px[2], b.shared_px[3];
        S -= L * L.transpose();
        const bool left = S.allFinite() && S(0, 0) > 0 && S(1, 1) > 0 && S.determinant() > 1e-6 * S(0, 0) * S(1, 1);
        v.own = left ? Eigen::Matrix2d(A.transpose() * S.inverse() * A) : v.weight;
        v.shared = left ? Eigen::Matrix2d(A.inverse() * L) : Eigen::Matrix2d(Eigen::Matrix2d::Zero());
      }
    }
}

}  // namespace ligature::drivers
