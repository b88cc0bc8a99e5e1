#include "drivers/tracking/motion.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

namespace ligature::drivers {
namespace {

constexpr double kCorrelation_s = 0.02;  // an acceleration lasts about this long: q = a^2 times it
constexpr double kFollow = 0.2;          // share of a frame's surprise in the noise level

Vector7 by_kind(double turn, double shift, double opening) {
  Vector7 v;
  for (int i = 0; i < 3; ++i) v[i] = turn, v[3 + i] = shift;
  v[6] = opening;
  return v;
}

}  // namespace

void Motion::start(const ForcepsEstimate& x, const Matrix7& pose_covariance) noexcept {
  x_ = x;
  v_.setZero();
  P_.setZero();
  P_.topLeftCorner<7, 7>() = pose_covariance;
  const Vector7 sigma = by_kind(params_.spin_sigma, params_.speed_sigma, params_.opening_rate_sigma);
  P_.bottomRightCorner<7, 7>().diagonal() = sigma.array().square().matrix();
  acceleration_ = 500;
}

void Motion::correct(const ForcepsEstimate& x, const Matrix7& pose_covariance) noexcept {
  const Vector7 speed = v_;
  start(x, pose_covariance);
  v_ = speed;
}

void Motion::advance(double dt) noexcept {
  const double tau = params_.settle_s, stays = std::exp(-dt / tau), travel = tau * (1 - stays);
  x_ = moved(x_, travel * v_);
  v_ *= stays;
  Matrix14 F = Matrix14::Identity();
  F.topRightCorner<7, 7>().diagonal().setConstant(travel);
  F.bottomRightCorner<7, 7>().diagonal().setConstant(stays);
  P_ = F * P_ * F.transpose();
  const double a2 = acceleration_ * acceleration_ * kCorrelation_s;
  const Vector7 q = by_kind(a2 / (params_.lever_mm * params_.lever_mm), a2,
                            a2 / (params_.opening_lever_mm * params_.opening_lever_mm));
  P_.topLeftCorner<7, 7>().diagonal() += dt * dt * dt / 3 * q;
  P_.topRightCorner<7, 7>().diagonal() += dt * dt / 2 * q;
  P_.bottomLeftCorner<7, 7>().diagonal() += dt * dt / 2 * q;
  P_.bottomRightCorner<7, 7>().diagonal() += dt * q;
}

// Gain in the information form: K = P_x S^-1 with S^-1 = (I + H P_pp)^-1 H, where H may be as singular as it is.
Matrix7 Motion::gain_core(const Matrix7& information) const noexcept {
  const Matrix7 P_pp = P_.topLeftCorner<7, 7>();
  return (Matrix7::Identity() + information * P_pp).partialPivLu().solve(information);
}

void Motion::pull_by(const Vector7& pull, const Matrix7& core) noexcept {
  if (!pull.allFinite() || !core.allFinite()) return;
  const Eigen::Matrix<double, 14, 7> P_x = P_.leftCols<7>();
  const Eigen::Matrix<double, 14, 1> dx = P_x * pull;
  x_ = moved(x_, dx.head<7>());
  v_ += dx.tail<7>();
  P_ -= P_x * core * P_x.transpose();
  P_ = 0.5 * (P_ + P_.transpose()).eval();
}

void Motion::update(const ForcepsEstimate& seen, const Matrix7& information) noexcept {
  const Matrix7 core = gain_core(information);
  const Vector7 innovation = between(x_, seen), pull = core * innovation;
  pull_by(pull, core);
  // Innovations larger than believed: the hand moves more than assumed. (The logarithm of chi squared over its seven
  // degrees of freedom is -0.15 in the mean.)
  const double surprise = std::log(std::clamp(innovation.dot(pull) / 7, 0.1, 20.0)) + 0.15;
  acceleration_ =
      std::clamp(acceleration_ * std::exp(kFollow * surprise), params_.least_acceleration, params_.most_acceleration);
}

void Motion::update_joint(const ForcepsEstimate& joint, const Matrix7& information) noexcept {
  const Matrix7 P_pp = P_.topLeftCorner<7, 7>();
  pull_by(P_pp.ldlt().solve(between(x_, joint)), gain_core(information));
}

double Motion::speed_sigma() const noexcept {
  return std::sqrt(P_.diagonal().segment<3>(10).sum());
}

}  // namespace ligature::drivers
