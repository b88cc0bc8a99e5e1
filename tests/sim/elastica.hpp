#pragma once
/// The planar elastica, slowly and by other means than sim's: shooting with Runge-Kutta of order four.
///
///   B theta'' = Fx sin theta - Fy cos theta,   F(s) = P + w (L - s) the load beyond s,   theta(0) = 0,   theta'(L) =
///   k0
///
/// k0 the curvature without load. Dimensionless: B = L = 1. The clamped tangent is x.
#include <array>
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
inline Elastica elastica(double px, double py, double wx = 0, double wy = 0, double natural = 0, int steps = 1000) {
  double curvature = natural, before = natural;
  const int stages = 60;
  for (int k = 1; k <= stages; ++k) {
    const double f = static_cast<double>(k) / stages;
    const auto end = [&](double c) { return shoot(f * px, f * py, f * wx, f * wy, c, steps, nullptr) - natural; };
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

/// In space: a straight rod without twist, clamped along x, loads in any direction. From m' = F x t and m = B t x t',
///
///   t' = m x t / B,   m' = F(s) x t,   t(0) = x,   m(L) = 0
///
/// (the torsion m.t stays 0 as it is at the tip). Shot from the tip: two angles of its tangent are sought.
struct Spatial {
  std::array<double, 3> tip{}, tangent{};  ///< of the tip
};

inline Spatial spatial_elastica(std::array<double, 3> load, std::array<double, 3> weight, int steps = 600) {
  using V = std::array<double, 3>;
  const auto add = [](V a, const V& b, double f) {
    for (std::size_t i = 0; i < 3; ++i) a[i] += f * b[i];
    return a;
  };
  const auto cross = [](const V& a, const V& b) {
    return V{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  };
  struct State {
    V t, m, x;
  };
  // Backwards along u = 1 - s, with a share f of the loads; returns the state at the clamp, x from the tip.
  const auto back = [&](const V& tangent, double f) {
    State a{tangent, {}, {}};
    const auto rate = [&](double u, const State& q) {
      const V force = add(add({}, load, f), weight, f * u);
      const V turn = cross(q.m, q.t), bend = cross(force, q.t);
      return State{add({}, turn, -1), add({}, bend, -1), add({}, q.t, -1)};
    };
    const auto moved = [&](const State& q, const State& k, double h) {
      return State{add(q.t, k.t, h), add(q.m, k.m, h), add(q.x, k.x, h)};
    };
    const double h = 1.0 / steps;
    for (int i = 0; i < steps; ++i) {
      const double u = i * h;
      const State k1 = rate(u, a), k2 = rate(u + h / 2, moved(a, k1, h / 2)), k3 = rate(u + h / 2, moved(a, k2, h / 2)),
                  k4 = rate(u + h, moved(a, k3, h));
      a = moved(moved(moved(moved(a, k1, h / 6), k2, h / 3), k3, h / 3), k4, h / 6);
    }
    return a;
  };
  const auto tangent = [](double y, double z) {  // turned from x by the vector (y, z) in the plane across it
    const double angle = std::hypot(y, z), share = angle > 0 ? std::sin(angle) / angle : 1;
    return V{std::cos(angle), y * share, z * share};
  };
  double y = 0, z = 0;
  const int stages = 20;
  for (int k = 1; k <= stages; ++k)
    for (int i = 0; i < 20; ++i) {
      const double f = static_cast<double>(k) / stages, d = 1e-6;
      const V e = back(tangent(y, z), f).t, ey = back(tangent(y + d, z), f).t, ez = back(tangent(y, z + d), f).t;
      const double a = (ey[1] - e[1]) / d, b = (ez[1] - e[1]) / d, c = (ey[2] - e[2]) / d, g = (ez[2] - e[2]) / d;
      const double determinant = a * g - b * c, dy = (b * e[2] - g * e[1]) / determinant,
                   dz = (c * e[1] - a * e[2]) / determinant;
      y += dy, z += dz;
      if (std::hypot(dy, dz) < 1e-11) break;
    }
  const State clamp = back(tangent(y, z), 1);
  return {add({}, clamp.x, -1), tangent(y, z)};
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
