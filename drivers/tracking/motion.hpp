#pragma once
/// Where a hand goes on to: pose and velocity with their covariance, for prediction, for images taken at other
/// instants, and for what the images do not say.
///
///   d(step)/dt = v,   dv/dt = -v / tau + white noise of spectral density q        per unknown, noise shared by kind
///
/// q follows how well predictions come true (normalised squared innovation, kept near its expectation by doubling or
/// halving q over some ten frames), between a resting and a whipping hand. A measurement enters as the images' own
/// information matrix, which may leave unknowns open: those stay with the prediction, correlated as the images say.
///
/// Source: [Bar-Shalom 2001] sections 6.2 (white-noise acceleration), 5.4 (consistency), 11.6 (adjustable noise).
/// @rt no allocation, bounded
#include "drivers/tracking/fit.hpp"

namespace ligature::drivers {

struct MotionParams {
  double settle_s = 0.5;            ///< tau: an unseen motion dies away
  double speed_sigma = 100;         ///< of a hand just found [mm/s]
  double spin_sigma = 1.5;          ///< [rad/s]
  double opening_rate_sigma = 1;    ///< [rad/s]
  double least_acceleration = 60;   ///< what a resting hand does within a frame [mm/s^2]
  double most_acceleration = 6000;  ///< and a whipping one
  double lever_mm = 50;             ///< acceleration over this is the turn's [rad/s^2]
  double opening_lever_mm = 8;      ///< jaws close faster than hands turn
};

class Motion {
 public:
  using Matrix14 = Eigen::Matrix<double, 14, 14>;

  explicit Motion(const MotionParams& params = {}) : params_(params) {}

  /// A hand just found. @param pose_covariance of the fit
  void start(const ForcepsEstimate& x, const Matrix7& pose_covariance) noexcept;
  /// The hand was not where it was thought to be: put there, its speed as far as it is known.
  void correct(const ForcepsEstimate& x, const Matrix7& pose_covariance) noexcept;
  /// On by dt. @pre start() was called
  void advance(double dt_s) noexcept;
  /// @param seen what the images alone say  @param information theirs
  void update(const ForcepsEstimate& seen, const Matrix7& information) noexcept;
  /// The same when the images leave unknowns open. @param joint what images and prediction say together
  void update_joint(const ForcepsEstimate& joint, const Matrix7& information) noexcept;

  const ForcepsEstimate& pose() const { return x_; }
  const Vector7& speed() const { return v_; }  ///< as a step per second
  Matrix7 pose_covariance() const { return P_.topLeftCorner<7, 7>(); }
  double speed_sigma() const noexcept;  ///< of the tip [mm/s]
  double acceleration() const { return acceleration_; }

 private:
  Matrix7 gain_core(const Matrix7& information) const noexcept;
  void pull_by(const Vector7& pull, const Matrix7& core) noexcept;

  MotionParams params_;
  ForcepsEstimate x_;
  Vector7 v_ = Vector7::Zero();
  Matrix14 P_ = Matrix14::Identity();  // step, velocity
  double acceleration_ = 500;
};

}  // namespace ligature::drivers
