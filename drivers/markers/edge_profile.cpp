#include "drivers/markers/edge_profile.hpp"

#include <numbers>

namespace ligature::drivers {
namespace {

double normal_density(double x) {
  return std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
}
double normal_share(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

/// Once and twice integrated Phi(x / s).
double once(double x, double s) {
  return s < 1e-9 ? std::max(0.0, x) : x * normal_share(x / s) + s * normal_density(x / s);
}
double twice(double x, double s) {
  if (s < 1e-9) return x > 0 ? 0.5 * x * x : 0;
  return 0.5 * ((x * x + s * s) * normal_share(x / s) + x * s * normal_density(x / s));
}

}  // namespace

EdgeProfile::EdgeProfile() : table_(static_cast<std::size_t>(kBoxes * kLeans * kSteps)) {
  for (int i = 0; i < kBoxes; ++i)
    for (int j = 0; j < kLeans; ++j) {
      const double box = std::max(0.02, static_cast<double>(i) / (kBoxes - 1)), tau2 = 1 / (12 * box);
      const double s = std::sqrt(std::max(0.0, tau2 - 1.0 / 12)), tau = std::sqrt(tau2);
      const double lean = std::max(0.02, static_cast<double>(j) / (kLeans - 1)), nx = 1 / std::hypot(1, lean),
                   ny = lean * nx, p = 0.5 * (nx + ny), q = 0.5 * (nx - ny);
      for (int k = 0; k < kSteps; ++k) {
        const double d = tau * (k / static_cast<double>(kPerUnit) - static_cast<double>(kReach));
        const auto blend = [&](auto&& g) {
          return (g(d + p, s) - g(d + q, s) - g(d - q, s) + g(d - p, s)) / (nx * ny);
        };
        table_[static_cast<std::size_t>((i * kLeans + j) * kSteps + k)] = {static_cast<float>(blend(twice)),
                                                                           static_cast<float>(tau * blend(once))};
      }
    }
}

const EdgeProfile& EdgeProfile::shared() {
  static const EdgeProfile profile;
  return profile;
}

}  // namespace ligature::drivers
