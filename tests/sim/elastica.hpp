#pragma once
/// The planar elastica, slowly and by other means than sim's: shooting with Runge-Kutta of order four.
///
///   B theta'' = Fx sin theta - Fy cos theta,   F(s) = P + w (L - s) the load beyond s,   theta(0) = 0,   theta'(L) = 0
///
/// Dimensionless: B = L = 1. The clamped tangent is x.
#include <cmath>
#include <functional>
#include <vector>

namespace ligature::oracle {

struct Elastica {
  double x = 0, y = 0, angle = 0;      ///< of the tip
  std::vector<double> xs, ys, thetas;  ///< along s, from the clamp (steps + 1)
};

/// From the clamp with this curvature to the tip; returns the curvature there.
inline double shoot(double px, double py, double wx, double wy, double curvature, int steps, Elastica* out) {
  struct State {
    double theta, kappa, x, y;
  };
  const auto rate = [&](double s, const State& a) {
    const double fx = px + wx * (1 - s), fy = py + wy * (1 - s);
    return State{a.kappa, fx * std::sin(a.theta) - fy * std::cos(a.theta), std::cos(a.theta), std::sin(a.theta)};
  };
  const auto moved = [](const State& a, const State& k, double h) {
    return State{a.theta + h * k.theta, a.kappa + h * k.kappa, a.x + h * k.x, a.y + h * k.y};
  };
  State a{0, curvature, 0, 0};
  if (out) *out = {0, 0, 0, {0}, {0}, {0}};
  const double h = 1.0 / steps;
  for (int i = 0; i < steps; ++i) {
    const double s = i * h;
    const State k1 = rate(s, a), k2 = rate(s + h / 2, moved(a, k1, h / 2)), k3 = rate(s + h / 2, moved(a, k2, h / 2)),
                k4 = rate(s + h, moved(a, k3, h));
    a = moved(moved(moved(moved(a, k1, h / 6), k2, h / 3), k3, h / 3), k4, h / 6);
    if (out) out->xs.push_back(a.x), out->ys.push_back(a.y), out->thetas.push_back(a.theta);
  }
  if (out) out->x = a.x, out->y = a.y, out->angle = a.theta;
  return a.kappa;
}

/// @param px, py tip load P L^2/B @param wx, wy load per length w L^3/B. The branch that grows from the straight one.
inline Elastica elastica(double px, double py, double wx = 0, double wy = 0, int steps = 1000) {
  double curvature = 0, before = 0;
  const int stages = 60;
  for (int k = 1; k <= stages; ++k) {
    const double f = static_cast<double>(k) / stages;
    const auto end = [&](double c) { return shoot(f * px, f * py, f * wx, f * wy, c, steps, nullptr); };
    double a = 2 * curvature - before;  // extrapolated
    before = curvature;
    double b = a + 1e-4, ea = end(a), eb = end(b);
    for (int i = 0; i < 40 && std::abs(eb) > 1e-12 && eb != ea; ++i) {
      const double c = b - eb * (b - a) / (eb - ea);
      a = b, ea = eb, b = c, eb = end(c);
    }
    curvature = b;
  }
  Elastica out;
  shoot(px, py, wx, wy, curvature, steps, &out);
  return out;
}

/// Root of f between a and b, where it changes sign.
inline double root(const std::function<double(double)>& f, double a, double b) {
  const bool rising = f(b) > 0;
  for (int i = 0; i < 200; ++i) {
    const double c = 0.5 * (a + b);
    ((f(c) > 0) == rising ? b : a) = c;
  }
  return 0.5 * (a + b);
}

}  // namespace ligature::oracle
