#include "sim/rod/writhe.hpp"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

namespace ligature::rod {
namespace {

using Points = std::vector<Vector3d>;
constexpr double pi = std::numbers::pi;

Points torus_knot(int p, int q, std::size_t n) {
  Points x;
  for (std::size_t i = 0; i < n; ++i) {
    const double s = 2 * pi * static_cast<double>(i) / static_cast<double>(n);
    const double r = 2 + std::cos(q * s);
    x.emplace_back(r * std::cos(p * s), r * std::sin(p * s), -std::sin(q * s));
  }
  return x;
}

// Gauss' double integral of a smooth closed curve, midpoint rule on shifted grids: no polygon in it.
template <class Curve>
double gauss_integral(const Curve& curve, int n) {
  const double h = 1.0 / n, d = 1e-5;
  double sum = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const double s = i * h, u = (j + 0.5) * h;
      const Vector3d ds = (curve(s + d) - curve(s - d)) / (2 * d), du = (curve(u + d) - curve(u - d)) / (2 * d);
      const Vector3d w = curve(s) - curve(u);
      sum += w.dot(ds.cross(du)) / std::pow(w.norm(), 3) * h * h;
    }
  return sum / (4 * pi);
}

TEST(Writhe, OfATrefoilMatchesGaussIntegral) {
  const auto curve = [](double s) {
    const double r = 2 + std::cos(6 * pi * s);
    return Vector3d(r * std::cos(4 * pi * s), r * std::sin(4 * pi * s), -std::sin(6 * pi * s));
  };
  const double gauss = gauss_integral(curve, 600);
  const double coarse = writhe_closed(torus_knot(2, 3, 100)), fine = writhe_closed(torus_knot(2, 3, 200));
  EXPECT_NEAR(std::abs(gauss), 3.4, 0.3);
  EXPECT_NEAR(fine, gauss, 5e-3);
  EXPECT_NEAR((coarse - gauss) / (fine - gauss), 4.0, 0.3);  // second order
}

}  // namespace
}  // namespace ligature::rod
