#pragma once
/// The direct estimate: seven numbers from all rays of all cameras at once.
///
///   min over x   sum_i rho( e_i^T W_i e_i / s )  +  (x - x0)^T P0^-1 (x - x0)        e_i = z_i - pi_c(m_R(x) + dt_c v)
///
/// z_i undistorted centroid, W_i its inverse covariance, pi_c the centre of the sphere's image, dt_c how far the
/// camera's mid-exposure lies from the sample's, v the marker's speed as known. rho is the square up to k = 3 sigma and
/// grows like its logarithm beyond (weight k^2 / e^2), so that of honest views none is bent and a wrong blob has no
/// more say than one 3 sigma off; views beyond 5 sigma are left out in the end when enough remain. s is how much the
/// residuals exceed their variances on this rig. The prior is there only when the images do not say everything.
///
/// Blobs of one image err together by L n, n two numbers of variance 1 (MarkerBlob::shared_px): their inverse
/// covariance is W - W L (1 + L^T W L)^-1 L^T W over the whole image, W of what each blob has of its own.
///
/// Gauss-Newton with analytic derivatives; covariance s (sum J^T W J)^-1 over the views that count.
///
/// Source: [Triggs 2000] sections 3, 4 (robust weights, normal equations).
/// @rt no allocation, bounded
#include "drivers/tracking/sight.hpp"

namespace ligature::drivers {

struct FitInput {
  const std::array<CameraSight, kCameras>* cameras = nullptr;
  const ForcepsShape* shape = nullptr;
  const Sight* sight = nullptr;
  std::array<double, kCameras> dt_s{};  ///< camera's mid-exposure minus the sample's
  Vector7 speed = Vector7::Zero();      ///< as a step per second
  double speed_sigma = 0;               ///< of the tip, what is not known of it [mm/s]
  double scale = 1;                     ///< s above
};

struct Prior {
  ForcepsEstimate x;
  Matrix7 information = Matrix7::Zero();
};

struct Fit {
  bool ok = false;
  ForcepsEstimate x;
  Choice choice;                          ///< the views that count
  Matrix7 information = Matrix7::Zero();  ///< of the images alone, divided by s
  Matrix7 sharp = Matrix7::Zero();        ///< were the speed known and s one: what such views say in themselves
  double chi2 = 0;                        ///< sum e^T W e over the views that count, not divided by s
  double residual_px = 0;                 ///< RMS over them
  int rows = 0;                           ///< two a view
};

/// @param start must lie near enough for Gauss-Newton: a few degrees, some millimetres
Fit fit(const FitInput& in, ForcepsEstimate start, const Choice& choice, const Prior* prior) noexcept;

/// The candidate of each camera nearest to where each marker is expected, within gate_px.
Choice associate(const FitInput& in, const ForcepsEstimate& x, double gate_px) noexcept;

/// The same with a gate in sigmas of where the prediction puts each image and of the view itself: as wide as the
/// prediction is uncertain, and as narrow as it is sure.
/// @param covariance of x as a step
Choice associate_expected(const FitInput& in, const ForcepsEstimate& x, const Matrix7& covariance) noexcept;

/// sum e^T W e over these views at x, not divided by s; infinite where x is behind a camera that has one.
double chi_squared(const FitInput& in, const ForcepsEstimate& x, const Choice& choice) noexcept;

/// How badly x explains what is seen, in units of e^T W e / s: a view counts no more than `cap`, and so does a camera
/// that sees the colour only elsewhere.
double misfit(const FitInput& in, const ForcepsEstimate& x, double cap) noexcept;

}  // namespace ligature::drivers
