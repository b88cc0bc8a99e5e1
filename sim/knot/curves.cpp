#include "sim/knot/curves.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

namespace ligature::knot {

namespace {

// Indices of the points to keep: none equals the one before it.
std::vector<std::size_t> kept(const Curve& curve, bool closed) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < curve.size(); ++i)
    if (out.empty() || !(curve[i] == curve[out.back()])) out.push_back(i);
  while (closed && out.size() > 1 && curve[out.back()] == curve[out.front()]) out.pop_back();
  return out;
}

}  // namespace

Result<Curves> prepared(const Curves& curves, bool closed) {
  if (curves.empty()) return usage_error("no curve: give at least one");
  std::size_t points = 0;
  double largest = 0;
  for (const Curve& curve : curves) {
    points += curve.size();
    for (const Vec3& p : curve)
      for (const double x : {p.x, p.y, p.z}) {
        if (!std::isfinite(x)) return usage_error("a coordinate is not a finite number");
        largest = std::max(largest, std::abs(x));
      }
  }
  if (points > kMostPoints)
    return usage_error("the curves have " + std::to_string(points) + " points, at most " + std::to_string(kMostPoints) +
                       " are taken: resample them");
  int exponent = 0;
  if (largest > 0) std::frexp(largest, &exponent);
  const auto fitted = [exponent](double x) {
    const double y = std::ldexp(x, -exponent);
    return std::abs(y) < 0x1.0p-200 ? 0.0 : y;
  };
  Curves out;
  for (const Curve& curve : curves) {
    Curve scaled;
    scaled.reserve(curve.size());
    for (const Vec3& p : curve) scaled.push_back({fitted(p.x), fitted(p.y), fitted(p.z)});
    Curve& fresh = out.emplace_back();
    for (const std::size_t i : kept(scaled, closed)) fresh.push_back(scaled[i]);
    const std::size_t least = closed ? 3 : 2;
    if (fresh.size() < least)
      return usage_error("curve " + std::to_string(out.size()) + " has " + std::to_string(fresh.size()) +
                         " different points in a row, at least " + std::to_string(least) + " are needed");
  }
  return out;
}

Vec3 direction(std::size_t i) {
  // Two irrational steps of the plastic number's sequence [Roberts 2018], mapped to the sphere with equal areas.
  constexpr double kFirst = 0.7548776662466927, kSecond = 0.5698402909980532;
  const double n = static_cast<double>(i) + 1.0;
  const double u = std::fmod(0.5 + kFirst * n, 1.0), v = std::fmod(0.5 + kSecond * n, 1.0);
  const double z = 2 * u - 1, r = std::sqrt(std::max(0.0, 1 - z * z)), a = 2 * std::numbers::pi * v;
  return {r * std::cos(a), r * std::sin(a), z};
}

}  // namespace ligature::knot
