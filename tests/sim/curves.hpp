#pragma once
/// Curves and motions that the tests of twist and writhe share.
#include <Eigen/Geometry>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <random>
#include <vector>

namespace ligature::rod {

using Eigen::Vector3d;
using Points = std::vector<Vector3d>;
inline constexpr double pi = std::numbers::pi;

inline Vector3d random_vector(std::mt19937& random) {
  std::normal_distribution<double> normal;
  const double a = normal(random), b = normal(random), c = normal(random);
  return {a, b, c};
}

inline Points random_points(std::mt19937& random, std::size_t n) {
  Points x;
  for (std::size_t i = 0; i < n; ++i) x.push_back(random_vector(random));
  return x;
}

inline Points straight(std::size_t n) {
  Points x;
  for (std::size_t i = 0; i < n; ++i) x.emplace_back(static_cast<double>(i), 0, 0);
  return x;
}

inline Points ring(std::size_t n) {
  Points x;
  for (std::size_t i = 0; i < n; ++i) {
    const double a = 2 * pi * static_cast<double>(i) / static_cast<double>(n);
    x.emplace_back(std::cos(a), std::sin(a), 0);
  }
  return x;
}

/// A one-to-one map of space at every time: three shears after each other. A fine polygon goes through it as the smooth
/// curve would, so that nothing passes through anything.
struct Warp {
  Vector3d amplitude[3], wave[3], phase;

  explicit Warp(std::mt19937& random, double size) {
    for (int k = 0; k < 3; ++k) {
      wave[k] = random_vector(random);
      amplitude[k] = size * wave[k].cross(random_vector(random)).normalized();
    }
    phase = random_vector(random);
  }
  Points operator()(const Points& x, double time) const {
    Points y = x;
    for (Vector3d& p : y)
      for (int k = 0; k < 3; ++k)
        p += amplitude[k] * std::sin(time * (1.0 + 0.3 * k)) * std::sin(wave[k].dot(p) + phase[k] + 0.7 * time);
    return y;
  }
};

}  // namespace ligature::rod
