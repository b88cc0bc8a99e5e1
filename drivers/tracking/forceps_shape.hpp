#pragma once
/// The seven numbers of a pair of forceps, small steps between them, and where its markers are.
///
///   step = (turn about the tip, shift of the tip, opening), both vectors in R [rad, mm, rad];  x + step means
///   q' = exp(turn) q,  p' = p + shift,  opening' = opening + d;  between(a, b) is the step that leads from a to b.
///
/// Source: [Sola 2018] for steps on the rotation group (here: multiplied from the left).
/// @rt everything here: no allocation, bounded
#include <Eigen/Core>
#include <Eigen/Geometry>
#include <array>
#include <cmath>

#include "drivers/markers/marker_set.hpp"
#include "drivers/rig.hpp"
#include "sim/base/eigen.hpp"

namespace ligature::drivers {

inline constexpr std::size_t kMarkersEach = kMarkers / kInstruments;

using Vector7 = Eigen::Matrix<double, 7, 1>;
using Matrix7 = Eigen::Matrix<double, 7, 7>;

struct ForcepsEstimate {
  Eigen::Quaterniond q = Eigen::Quaterniond::Identity();  ///< q_RT
  Eigen::Vector3d p = Eigen::Vector3d::Zero();            ///< tip in R [mm]
  double opening = 0;                                     ///< [rad]

  bool finite() const { return q.coeffs().allFinite() && p.allFinite() && std::isfinite(opening); }
};

inline Eigen::Quaterniond exp_rotation(const Eigen::Vector3d& w) {
  const double angle = w.norm();
  if (angle < 1e-12) return Eigen::Quaterniond(1, 0.5 * w.x(), 0.5 * w.y(), 0.5 * w.z()).normalized();
  return Eigen::Quaterniond(Eigen::AngleAxisd(angle, w / angle));
}
inline Eigen::Vector3d log_rotation(const Eigen::Quaterniond& q) {
  const double sign = q.w() < 0 ? -1 : 1, s = q.vec().norm();
  if (s < 1e-12) return 2 * sign * q.vec();
  return (2 * sign * std::atan2(s, sign * q.w()) / s) * q.vec();
}
inline ForcepsEstimate moved(const ForcepsEstimate& x, const Vector7& step) {
  return {(exp_rotation(step.head<3>()) * x.q).normalized(), x.p + step.segment<3>(3), x.opening + step[6]};
}
inline Vector7 between(const ForcepsEstimate& from, const ForcepsEstimate& to) {
  Vector7 step;
  step.head<3>() = log_rotation(to.q * from.q.conjugate());
  step.segment<3>(3) = to.p - from.p;
  step[6] = to.opening - from.opening;
  return step;
}

/// One instrument's markers in T, as the fit needs them.
struct ForcepsShape {
  struct Marker {
    Eigen::Vector3d p_T = Eigen::Vector3d::Zero();  ///< jaws closed
    double sign = 0;                                ///< of the arm's turn: opening / 2 times this about +z of the hinge
    double radius = 2.5;
  };
  Eigen::Vector3d hinge_T = Eigen::Vector3d::Zero();
  std::array<Marker, kMarkersEach> markers;

  Eigen::Vector3d marker_T(std::size_t m, double opening) const {
    const Marker& k = markers[m];
    const double a = 0.5 * k.sign * opening, c = std::cos(a), s = std::sin(a);
    const Eigen::Vector3d d = k.p_T - hinge_T;
    return hinge_T + Eigen::Vector3d(c * d.x() - s * d.y(), s * d.x() + c * d.y(), d.z());
  }
  Eigen::Vector3d marker_R(std::size_t m, const ForcepsEstimate& x) const { return x.q * marker_T(m, x.opening) + x.p; }
  /// The same with its derivative by a step, (3 x 7).
  Eigen::Vector3d marker_R(std::size_t m, const ForcepsEstimate& x, Eigen::Matrix<double, 3, 7>& J) const {
    const Eigen::Vector3d m_T = marker_T(m, x.opening), arm_R = x.q * m_T, d = m_T - hinge_T;
    J.col(0) << 0, -arm_R.z(), arm_R.y();  // e_i x arm
    J.col(1) << arm_R.z(), 0, -arm_R.x();
    J.col(2) << -arm_R.y(), arm_R.x(), 0;
    J.middleCols<3>(3).setIdentity();
    J.col(6) = x.q * (0.5 * markers[m].sign * Eigen::Vector3d(-d.y(), d.x(), 0));
    return arm_R + x.p;
  }
};

}  // namespace ligature::drivers
