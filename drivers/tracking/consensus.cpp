#include "drivers/tracking/consensus.hpp"

#include <Eigen/Cholesky>
#include <limits>

namespace ligature::drivers {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

/// Middle of the shortest line between two rays. @return false: parallel, or met behind a camera
bool meet(const CameraSight& a, const Vector3d& along_a, const CameraSight& b, const Vector3d& along_b, Vector3d& p_R) {
  const Vector3d w = b.o_R - a.o_R;
  const double ab = along_a.dot(along_b), det = 1 - ab * ab;
  if (det < 1e-4) return false;
  const double s = (w.dot(along_a) - w.dot(along_b) * ab) / det, t = (w.dot(along_a) * ab - w.dot(along_b)) / det;
  if (s < 10 || t < 10) return false;
  p_R = 0.5 * (a.o_R + s * along_a + b.o_R + t * along_b);
  return true;
}

}  // namespace

ConsensusPoints agree(const std::array<CameraSight, kCameras>& cameras, const MarkerViews& views, double radius,
                      double gate_px) noexcept {
  ConsensusPoints out;
  std::array<std::array<bool, kCandidates>, kCameras> used{};
  const auto miss_px = [&](std::size_t c, std::size_t k, const Vector3d& p_R) {
    Eigen::Vector2d px;
    return cameras[c].image_of(p_R, radius, px) ? (views.view[c][k].px - px).norm()
                                                : std::numeric_limits<double>::infinity();
  };
  const auto support = [&](const Vector3d& p_R) {
    ConsensusPoint h;
    h.p_R = p_R;
    double cost = 0;
    for (std::size_t c = 0; c < kCameras; ++c) {
      double miss = gate_px;
      for (std::size_t k = 0; k < views.count[c]; ++k)
        if (const double d = used[c][k] ? gate_px : miss_px(c, k, p_R); d < miss)
          miss = d, h.choice[c] = static_cast<std::int8_t>(k);
      h.views += h.choice[c] >= 0;
      if (h.choice[c] >= 0) cost += miss * miss;
    }
    h.residual_px = std::sqrt(cost / std::max(1, h.views));
    return h;
  };
  while (out.count < kPoints) {
    ConsensusPoint best;
    for (std::size_t a = 0; a + 1 < kCameras; ++a)
      for (std::size_t b = a + 1; b < kCameras; ++b)
        for (std::size_t i = 0; i < views.count[a]; ++i)
          for (std::size_t j = 0; j < views.count[b]; ++j) {
            Vector3d p_R;
            if (used[a][i] || used[b][j] ||
                !meet(cameras[a], views.view[a][i].ray_R, cameras[b], views.view[b][j].ray_R, p_R))
              continue;
            const ConsensusPoint h = support(p_R);
            if (h.views < 2) continue;
            if (h.views > best.views || (h.views == best.views && h.residual_px < best.residual_px)) best = h;
          }
    if (best.views < 2) break;
    // All agreeing rays together: sum (I - d d^T) p = sum (I - d d^T) o.
    Matrix3d A = Matrix3d::Zero();
    Vector3d y = Vector3d::Zero();
    for (std::size_t c = 0; c < kCameras; ++c) {
      if (best.choice[c] < 0) continue;
      const auto k = static_cast<std::size_t>(best.choice[c]);
      const Vector3d& d = views.view[c][k].ray_R;
      const Matrix3d P = Matrix3d::Identity() - d * d.transpose();
      A += P, y += P * cameras[c].o_R;
      used[c][k] = true;
    }
    best.p_R = A.ldlt().solve(y);
    out.point[out.count++] = best;
  }
  return out;
}

}  // namespace ligature::drivers
