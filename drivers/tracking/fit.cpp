#include "drivers/tracking/fit.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

namespace ligature::drivers {
namespace {

constexpr int kSteps = 12;
constexpr double kBend2 = 9, kOut2 = 25;  // 3 and 5 sigma
constexpr double kExpected2 = 20;         // two degrees of freedom: one view in 20 000 lies beyond
constexpr double kLongestTurn = 0.5;      // of one step [rad]

using Matrix27 = Eigen::Matrix<double, 2, 7>;

/// Where the marker's image would be in this camera at this camera's instant.
bool expected(const FitInput& in, std::size_t m, std::size_t c, const ForcepsEstimate& x, Eigen::Vector2d& px,
              Matrix27* J) noexcept {
  Eigen::Matrix<double, 3, 7> J_p;
  const Eigen::Vector3d p_R = in.shape->marker_R(m, x, J_p) + in.dt_s[c] * (J_p * in.speed);
  Eigen::Matrix<double, 2, 3> J_px;
  if (!(*in.cameras)[c].image_of(p_R, in.shape->markers[m].radius, px, J ? &J_px : nullptr)) return false;
  if (J) J->noalias() = J_px * J_p;
  return true;
}

/// A view's weight less what is not known of the motion between the camera's instant and the sample's.
Eigen::Matrix2d weight_of(const FitInput& in, const Eigen::Matrix2d& weight, std::size_t c) noexcept {
  const double blur_mm = in.speed_sigma * std::abs(in.dt_s[c]);
  if (blur_mm < 1e-6) return weight;
  // At the working distance of some 300 mm; exact enough for what is itself an estimate.
  const double var = blur_mm * blur_mm / 3 * std::pow((*in.cameras)[c].f / 300, 2);
  return (Eigen::Matrix2d::Identity() + var * weight).ldlt().solve(weight);
}

struct Sum {
  Matrix7 H = Matrix7::Zero();
  Vector7 g = Vector7::Zero();
  double chi2 = 0, squares = 0;
  int rows = 0;
};

/// @param e2_out per marker and camera: e^T W e / s, untouched where there is no view
bool accumulate(const FitInput& in, const ForcepsEstimate& x, const Choice& choice, double scale, bool robust, Sum& sum,
                std::array<std::array<double, kCameras>, kMarkersEach>& e2_out) noexcept {
  sum = {};
  for (std::size_t c = 0; c < kCameras; ++c) {
    // What the image's blobs share is two unknowns more, of variance 1, that are eliminated at once.
    Eigen::Matrix2d shared = Eigen::Matrix2d::Identity();
    Eigen::Matrix<double, 7, 2> across = Eigen::Matrix<double, 7, 2>::Zero();
    Eigen::Vector2d pull = Eigen::Vector2d::Zero();
    for (std::size_t m = 0; m < kMarkersEach; ++m) {
      if (choice.of[m][c] < 0) continue;
      const View& view = (*in.sight)[m].view[c][static_cast<std::size_t>(choice.of[m][c])];
      Eigen::Vector2d px;
      Matrix27 J;
      if (!expected(in, m, c, x, px, &J)) return false;
      const Eigen::Vector2d e = view.px - px;
      const double e2s = e.dot(weight_of(in, view.weight, c) * e) / scale;
      const double w = robust && e2s > kBend2 ? kBend2 / e2s : 1;
      const Eigen::Matrix2d W = weight_of(in, view.own, c);
      const Eigen::Matrix<double, 7, 2> JW = w * J.transpose() * W;
      const Eigen::Matrix2d LW = w * view.shared.transpose() * W;
      sum.H.noalias() += JW * J;
      sum.g.noalias() += JW * e;
      shared.noalias() += LW * view.shared;
      across.noalias() += JW * view.shared;
      pull.noalias() += LW * e;
      sum.chi2 += e.dot(W * e), sum.squares += e.squaredNorm(), sum.rows += 2;
      e2_out[m][c] = e2s;
    }
    const Eigen::Matrix2d inverse = shared.inverse();
    sum.H.noalias() -= across * inverse * across.transpose();
    sum.g.noalias() -= across * (inverse * pull);
    sum.chi2 -= pull.dot(inverse * pull);
  }
  sum.H /= scale, sum.g /= scale;
  return true;
}

}  // namespace

Fit fit(const FitInput& in, ForcepsEstimate x, const Choice& choice, const Prior* prior) noexcept {
  Fit out;
  out.choice = choice;
  Sum sum;
  std::array<std::array<double, kCameras>, kMarkersEach> e2{};
  double scale = in.scale;
  const auto solve = [&](bool robust) {
    for (int step = 0; step < kSteps; ++step) {
      if (!accumulate(in, x, out.choice, scale, robust, sum, e2)) return false;
      Matrix7 H = sum.H;
      Vector7 g = sum.g;
      if (prior) {
        H += prior->information;
        g += prior->information * between(x, prior->x);
      } else {
        // Never felt (10 rad, 10 m), kept only against a singular matrix.
        H.diagonal().array() += 1e-8;
      }
      Vector7 dx = H.ldlt().solve(g);
      if (!dx.allFinite()) return false;
      const double turn = dx.head<3>().norm();
      if (turn > kLongestTurn) dx *= kLongestTurn / turn;
      x = moved(x, dx);
      if (!x.finite() || std::abs(x.opening) > 2) return false;
      if (dx.head<3>().norm() < 1e-8 && dx.segment<3>(3).norm() < 1e-6 && std::abs(dx[6]) < 1e-8) break;
    }
    return accumulate(in, x, out.choice, scale, robust, sum, e2);
  };
  if (!solve(true)) return out;

  // On a rig that is out of true every view is many sigma off; what is an outlier shows against the others.
  std::array<double, kMarkersEach * kCameras> sorted{};
  std::size_t n = 0;
  for (std::size_t m = 0; m < kMarkersEach; ++m)
    for (std::size_t c = 0; c < kCameras; ++c)
      if (out.choice.of[m][c] >= 0) sorted[n++] = e2[m][c];
  if (n == 0) return out;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(n / 2),
                   sorted.begin() + static_cast<std::ptrdiff_t>(n));
  const double usual = std::max(1.0, sorted[n / 2] / 1.386);  // median of chi squared with two degrees of freedom
  int left = static_cast<int>(n);
  bool changed = false;
  for (std::size_t m = 0; m < kMarkersEach; ++m)
    for (std::size_t c = 0; c < kCameras; ++c)
      if (out.choice.of[m][c] >= 0 && e2[m][c] > kOut2 * usual && left > 4)
        out.choice.of[m][c] = -1, --left, changed = true;
  if (changed || usual > 1.5) {
    scale *= usual > 1.5 ? usual : 1;
    if (!solve(true)) return out;
  }
  out.x = x;
  out.information = sum.H;
  out.chi2 = sum.chi2;
  out.rows = sum.rows;
  out.residual_px = std::sqrt(sum.squares / std::max(1, sum.rows / 2));
  FitInput known = in;
  known.speed_sigma = 0;
  if (!accumulate(known, x, out.choice, 1, false, sum, e2)) return out;
  out.sharp = sum.H;
  out.ok = out.information.allFinite() && out.sharp.allFinite();
  return out;
}

Choice associate(const FitInput& in, const ForcepsEstimate& x, double gate_px) noexcept {
  Choice choice;
  for (std::size_t m = 0; m < kMarkersEach; ++m)
    for (std::size_t c = 0; c < kCameras; ++c) {
      const MarkerViews& views = (*in.sight)[m];
      Eigen::Vector2d px;
      if (views.count[c] == 0 || !expected(in, m, c, x, px, nullptr)) continue;
      double nearest = gate_px;
      for (std::size_t k = 0; k < views.count[c]; ++k)
        if (const double d = (views.view[c][k].px - px).norm(); d < nearest)
          nearest = d, choice.of[m][c] = static_cast<std::int8_t>(k);
    }
  return choice;
}

Choice associate_expected(const FitInput& in, const ForcepsEstimate& x, const Matrix7& covariance) noexcept {
  Choice choice;
  for (std::size_t m = 0; m < kMarkersEach; ++m)
    for (std::size_t c = 0; c < kCameras; ++c) {
      const MarkerViews& views = (*in.sight)[m];
      Eigen::Vector2d px;
      Matrix27 J;
      if (views.count[c] == 0 || !expected(in, m, c, x, px, &J)) continue;
      const Eigen::Matrix2d foretold = J * covariance * J.transpose();
      double nearest = kExpected2;
      for (std::size_t k = 0; k < views.count[c]; ++k) {
        const Eigen::Vector2d e = views.view[c][k].px - px;
        const Eigen::Matrix2d S = foretold + in.scale * weight_of(in, views.view[c][k].weight, c).inverse();
        if (const double d2 = e.dot(S.inverse() * e); d2 < nearest)
          nearest = d2, choice.of[m][c] = static_cast<std::int8_t>(k);
      }
    }
  return choice;
}

double chi_squared(const FitInput& in, const ForcepsEstimate& x, const Choice& choice) noexcept {
  Sum sum;
  std::array<std::array<double, kCameras>, kMarkersEach> e2{};
  return accumulate(in, x, choice, 1, false, sum, e2) ? sum.chi2 : std::numeric_limits<double>::infinity();
}

double misfit(const FitInput& in, const ForcepsEstimate& x, double cap) noexcept {
  double sum = 0;
  for (std::size_t m = 0; m < kMarkersEach; ++m)
    for (std::size_t c = 0; c < kCameras; ++c) {
      const MarkerViews& views = (*in.sight)[m];
      if (views.count[c] == 0) continue;
      double least = cap;
      Eigen::Vector2d px;
      if (expected(in, m, c, x, px, nullptr))
        for (std::size_t k = 0; k < views.count[c]; ++k) {
          const Eigen::Vector2d e = views.view[c][k].px - px;
          least = std::min(least, e.dot(weight_of(in, views.view[c][k].weight, c) * e) / in.scale);
        }
      sum += least;
    }
  return sum;
}

}  // namespace ligature::drivers
