#pragma once
/// A slow oracle for threads in holes: a plane elastica that slides through a channel of two rims without width.
///
/// Between rims and on from them the thread bears a constant force N, and its moment follows B t'' = N x t [Love, A
/// treatise on the mathematical theory of elasticity, 4th ed., art. 262]. Where it lies against a rim, that adds
/// p (n - mu t). Far from the channel the thread is straight; from there to a rim the first integral
/// M^2 = 2 B T (1 - cos a) holds, a by which it turns. One rim alone is `rim_ratio`; with two, a thread too stiff for
/// the channel is a lever: it lies against both, harder than its turning asks for, and friction has the more to bear.
/// Found by Newton's method on differences. Nothing of it is shared with sim/contact: no edges, no time.
#include <Eigen/Core>
#include <Eigen/LU>
#include <cmath>
#include <numbers>
#include <optional>

namespace ligature::oracle {

/// T_hi/T_lo at one rim that a thread turns round, infinitely long on both sides. @param turn [rad]
inline double rim_ratio(double turn, double mu) {
  double ratio = 1;
  for (int k = 0; k < 200; ++k) {
    double low = 0, high = turn;  // angle on the side of T_lo
    for (int i = 0; i < 60; ++i) {
      const double a = 0.5 * (low + high);
      ((1 - std::cos(a)) > ratio * (1 - std::cos(turn - a)) ? high : low) = a;
    }
    ratio = (std::cos(low) + mu * std::sin(low)) / (std::cos(turn - low) - mu * std::sin(turn - low));
  }
  return ratio;
}

struct ThreadInChannel {
  double bending = 1;    ///< [uN mm^2]
  double clearance = 0;  ///< of the centreline about the middle of either rim [mm]
  double length = 0.1;   ///< of the channel [mm]
  double mu = 0.3;
  double tension = 1;       ///< far off where the thread comes from [uN]
  double from = 0, to = 1;  ///< its directions far off, against the channel's axis; to > from [rad]
};

/// Where a thread lies in a rim: on the inner side of its bend, or on the outer one, as of a lever.
enum class RimSide { inner, outer };

/// T_hi/T_lo of a thread that lies against both rims on these sides. Nothing where there is no such state.
inline std::optional<double> channel_ratio(const ThreadInChannel& c, RimSide first_side, RimSide second_side) {
  using Vector2 = Eigen::Vector2d;
  using Vector5 = Eigen::Matrix<double, 5, 1>;
  const auto along = [](double a) { return Vector2(std::cos(a), std::sin(a)); };
  const auto across = [](double a) { return Vector2(-std::sin(a), std::cos(a)); };
  const auto sign = [](RimSide side) { return side == RimSide::outer ? 1.0 : -1.0; };
  const double first = sign(first_side), second = sign(second_side), T = c.tension;
  // x: angle in the first rim, forces of both over T, T_hi over T, length between over the channel's.
  const auto misses = [&](const Vector5& x) -> Vector5 {
    const Vector2 force = T * along(c.from) - x[1] * T * (first * across(x[0]) - c.mu * along(x[0]));
    Eigen::Vector4d y;  // place, angle, curvature
    y << -first * c.clearance * across(x[0]), x[0], 2 * std::sqrt(T / c.bending) * std::sin(0.5 * (x[0] - c.from));
    const auto slope = [&](const Eigen::Vector4d& at) {
      const Vector2 t = along(at[2]);
      return Eigen::Vector4d(t[0], t[1], at[3], -(t[0] * force[1] - t[1] * force[0]) / c.bending);
    };
    const int steps = 400;
    const double h = x[4] * c.length / steps;
    for (int k = 0; k < steps; ++k) {
      const Eigen::Vector4d a = slope(y), b = slope(y + 0.5 * h * a), d = slope(y + 0.5 * h * b), e = slope(y + h * d);
      y += h / 6 * (a + 2 * b + 2 * d + e);
    }
    const Vector2 left = force - x[2] * T * (second * across(y[2]) - c.mu * along(y[2])) - x[3] * T * along(c.to);
    const Vector2 off = y.head<2>() - (Vector2(c.length, 0) - second * c.clearance * across(y[2]));
    const double curved = 2 * std::sqrt(std::abs(x[3]) * T / c.bending) * std::sin(0.5 * (c.to - y[2]));
    Vector5 r;
    r << left / T, off / c.length, (y[3] - curved) * c.length;
    return r;
  };
  for (const double at : {0.0, 0.1, 0.3, 0.5})
    for (const double pressed : {0.05, 0.2, 0.5, 1.0}) {
      Vector5 x(c.from + at * (c.to - c.from), pressed, 1 + pressed, 1.4, 1);
      Vector5 r = misses(x);
      for (int k = 0; k < 60 && r.norm() > 1e-11; ++k) {
        Eigen::Matrix<double, 5, 5> J;
        for (int j = 0; j < 5; ++j) {
          Vector5 y = x;
          y[j] += 1e-7;
          J.col(j) = (misses(y) - r) / 1e-7;
        }
        const Vector5 way = -J.fullPivLu().solve(r);
        double step = 1;
        while (step > 1e-4 && !(misses(x + step * way).norm() < r.norm())) step *= 0.5;
        x += step * way;
        r = misses(x);
      }
      if (r.norm() < 1e-9 && x[1] > 0 && x[2] > 0 && x[4] > 0.5 && x[4] < 3) return x[3];
    }
  return std::nullopt;
}

}  // namespace ligature::oracle
