#include "drivers/tracking/starts.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/base/units.hpp"

namespace ligature::drivers {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Triangle = std::array<Vector3d, kMarkersEach>;

constexpr double kBelowClosed = 3 * units::rad_per_deg;  // noise may make closed jaws look crossed
constexpr double kWidePoint_mm2 = 1.0;                   // what the distance gate compares with, per view's worth

/// The opening at which the model's marker distances fit the measured ones best, by a scan and a parabola.
double opening_of(const ForcepsShape& shape, const Triangle& at, double max_opening, double& misfit_mm) noexcept {
  const auto cost = [&](double opening) {
    double sum = 0;
    for (std::size_t a = 0; a < kMarkersEach; ++a)
      for (std::size_t b = 0; b < a; ++b) {
        const double d = (at[a] - at[b]).norm() - (shape.marker_T(a, opening) - shape.marker_T(b, opening)).norm();
        sum += d * d;
      }
    return sum;
  };
  constexpr int kScan = 40;
  const double low = -kBelowClosed, step = (max_opening + 2 * kBelowClosed) / kScan;
  double best = low, best_cost = cost(low);
  for (int i = 1; i <= kScan; ++i)
    if (const double c = cost(low + i * step); c < best_cost) best = low + i * step, best_cost = c;
  const double l = cost(best - step), r = cost(best + step), bend = l - 2 * best_cost + r;
  if (bend > 0) best += std::clamp(0.5 * (l - r) / bend, -1.0, 1.0) * step;
  misfit_mm = std::sqrt(cost(best));
  return best;
}

/// Right-handed axes of a triangle: along from the first to the middle of the others, and its normal.
bool axes_of(const Triangle& at, Matrix3d& R) noexcept {
  R.col(0) = (0.5 * (at[1] + at[2]) - at[0]).normalized();
  R.col(2) = R.col(0).cross(at[2] - at[1]).normalized();
  R.col(1) = R.col(2).cross(R.col(0));
  return R.allFinite();
}

bool lay_over(const Triangle& model, const Triangle& seen, ForcepsEstimate& x) noexcept {
  Matrix3d of_model, of_seen;
  if (!axes_of(model, of_model) || !axes_of(seen, of_seen)) return false;
  x.q = Eigen::Quaterniond(Matrix3d(of_seen * of_model.transpose())).normalized();
  x.p = (seen[0] + seen[1] + seen[2]) / 3 - x.q * ((model[0] + model[1] + model[2]) / 3);
  return x.finite();
}

/// Two of the markers at these places, turned by `turn` about the line through them.
bool hang_on_two(const Vector3d& a_T, const Vector3d& b_T, const Vector3d& a_R, const Vector3d& b_R, double turn,
                 ForcepsEstimate& x) noexcept {
  const Vector3d along = (b_R - a_R).normalized();
  const Eigen::Quaterniond q = Eigen::Quaterniond::FromTwoVectors(b_T - a_T, b_R - a_R);
  x.q = (Eigen::Quaterniond(Eigen::AngleAxisd(turn, along)) * q).normalized();
  x.p = 0.5 * (a_R + b_R) - x.q * (0.5 * (a_T + b_T));
  return x.finite();
}

}  // namespace

void Starts::add(const ForcepsEstimate& x, double cost) noexcept {
  if (!(cost < std::numeric_limits<double>::infinity())) return;
  std::size_t at = count;
  while (at > 0 && entry[at - 1].cost > cost) --at;
  if (at >= kCapacity) return;
  count = std::min(count + 1, kCapacity);
  for (std::size_t i = count - 1; i > at; --i) entry[i] = entry[i - 1];
  entry[at] = {x, cost};
}

void starts_from_three(const ForcepsShape& shape, const PointsOfMarkers& points, const StartBounds& bounds,
                       Starts& out) noexcept {
  for (std::size_t i = 0; i < points[0].count; ++i)
    for (std::size_t j = 0; j < points[1].count; ++j)
      for (std::size_t k = 0; k < points[2].count; ++k) {
        const std::array<const ConsensusPoint*, kMarkersEach> trial{&points[0].point[i], &points[1].point[j],
                                                                    &points[2].point[k]};
        Triangle seen, model;
        for (std::size_t m = 0; m < kMarkersEach; ++m) seen[m] = trial[m]->p_R;
        ForcepsEstimate x;
        double misfit_mm = 0;
        x.opening = opening_of(shape, seen, bounds.max_opening, misfit_mm);
        if (misfit_mm > bounds.distance_gate_mm) continue;
        for (std::size_t m = 0; m < kMarkersEach; ++m) model[m] = shape.marker_T(m, x.opening);
        if (!lay_over(model, seen, x)) continue;
        double cost = misfit_mm * misfit_mm / kWidePoint_mm2;
        for (const ConsensusPoint* point : trial)
          cost += 0.1 * point->residual_px * point->residual_px - 0.5 * point->views;
        out.add(x, cost);
      }
}

void starts_from_two(const FitInput& in, const PointsOfMarkers& points, const StartBounds& bounds,
                     Starts& out) noexcept {
  const ForcepsShape& shape = *in.shape;
  constexpr int kTurns = 72;
  for (std::size_t third = 0; third < kMarkersEach; ++third) {
    const std::size_t a = (third + 1) % kMarkersEach, b = (third + 2) % kMarkersEach;
    const MarkerViews& views = (*in.sight)[third];
    if (std::all_of(views.count.begin(), views.count.end(), [](std::uint8_t n) { return n == 0; })) continue;
    const bool arms = shape.markers[a].sign * shape.markers[b].sign < 0;
    for (std::size_t i = 0; i < points[a].count; ++i)
      for (std::size_t j = 0; j < points[b].count; ++j) {
        const Vector3d &a_R = points[a].point[i].p_R, &b_R = points[b].point[j].p_R;
        const double apart = (b_R - a_R).norm();
        // The opening that the distance of two arms tells; otherwise some, and the fit finds which.
        constexpr int kOpenings = 12;
        for (int o = 0; o <= (arms ? 0 : kOpenings); o += arms ? 1 : 4) {
          double opening = bounds.max_opening * o / kOpenings, gap = bounds.distance_gate_mm;
          const auto misfit_at = [&](double at) {
            return std::abs((shape.marker_T(a, at) - shape.marker_T(b, at)).norm() - apart);
          };
          if (arms) {
            for (double at = -kBelowClosed; at <= bounds.max_opening + kBelowClosed; at += 0.1 * kBelowClosed)
              if (misfit_at(at) < gap) gap = misfit_at(at), opening = at;
          } else {
            gap = misfit_at(opening);
          }
          if (gap >= bounds.distance_gate_mm) continue;
          const Vector3d a_T = shape.marker_T(a, opening), b_T = shape.marker_T(b, opening);
          // Squared pixels between the third marker's image and its nearest views, round the circle.
          std::array<double, kTurns> miss{};
          std::array<ForcepsEstimate, kTurns> at;
          for (int t = 0; t < kTurns; ++t) {
            const auto slot = static_cast<std::size_t>(t);
            at[slot].opening = opening;
            miss[slot] = std::numeric_limits<double>::infinity();
            if (!hang_on_two(a_T, b_T, a_R, b_R, 2 * std::numbers::pi * t / kTurns, at[slot])) continue;
            double sum = 0;
            for (std::size_t c = 0; c < kCameras; ++c) {
              Eigen::Vector2d px;
              if (views.count[c] == 0 ||
                  !(*in.cameras)[c].image_of(shape.marker_R(third, at[slot]), shape.markers[third].radius, px))
                continue;
              double least = std::numeric_limits<double>::infinity();
              for (std::size_t k = 0; k < views.count[c]; ++k)
                least = std::min(least, (views.view[c][k].px - px).squaredNorm());
              sum += least;
            }
            miss[slot] = sum;
          }
          for (int t = 0; t < kTurns; ++t) {
            const double here = miss[static_cast<std::size_t>(t)];
            if (here <= miss[static_cast<std::size_t>((t + 1) % kTurns)] &&
                here < miss[static_cast<std::size_t>((t + kTurns - 1) % kTurns)])
              out.add(at[static_cast<std::size_t>(t)], here / (bounds.gate_px * bounds.gate_px) + gap * gap);
          }
        }
      }
  }
}

}  // namespace ligature::drivers
