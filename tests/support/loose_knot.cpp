#include "tests/support/loose_knot.hpp"

#include <Eigen/Sparse>
#include <algorithm>
#include <cstddef>
#include <numbers>

namespace ligature::measure {
namespace {

using Eigen::VectorXd;
using Matrix = Eigen::SparseMatrix<double>;
using Entries = std::vector<Eigen::Triplet<double>>;

/// The problem between its constraints: K u - f is the gradient of the energy, u = (y_0, z_0, y_1, ...).
struct Strand {
  int nodes;
  double dx;
  Entries entries;
  Matrix k;
  VectorXd f;

  Strand(int half, double reach) : nodes(2 * half + 1), dx(reach / half) {
    const double c[] = {1, -2, 1};
    for (int i = 1; i + 1 < nodes; ++i)
      for (int xy = 0; xy < 2; ++xy)
        for (int a = 0; a < 3; ++a)
          for (int b = 0; b < 3; ++b)
            entries.emplace_back(2 * (i - 1 + a) + xy, 2 * (i - 1 + b) + xy, c[a] * c[b] / (dx * dx * dx));
    k.resize(2 * nodes, 2 * nodes);
    k.setFromTriplets(entries.begin(), entries.end());
    f = VectorXd::Zero(2 * nodes);  // the end moments: u_y'' is +1 on the right and -1 on the left
    f(2 * (nodes - 1)) = 1 / dx, f(2 * (nodes - 2)) = -1 / dx;
    f(2) = 1 / dx, f(0) = -1 / dx;
  }
};

/// Augmented Lagrangian of |u| >= 1: multipliers (force per node) and penalty.
struct Contact {
  VectorXd force;
  double penalty;

  double at(const VectorXd& u, int i) const {
    return std::max(0.0, force(i) - penalty * (std::hypot(u(2 * i), u(2 * i + 1)) - 1));
  }
};

double energy(const Strand& s, const Contact& c, const VectorXd& u) {
  double e = 0.5 * u.dot(s.k * u) - s.f.dot(u);
  for (int i = 0; i < s.nodes; ++i) e += std::pow(c.at(u, i), 2) / (2 * c.penalty);
  return e;
}

VectorXd gradient(const Strand& s, const Contact& c, const VectorXd& u) {
  VectorXd g = s.k * u - s.f;
  for (int i = 0; i < s.nodes; ++i) g.segment<2>(2 * i) -= c.at(u, i) * u.segment<2>(2 * i).normalized();
  return g;
}

/// @param exact else with a stiffness that is positive for sure
VectorXd newton_step(const Strand& s, const Contact& c, const VectorXd& u, const VectorXd& g, bool exact) {
  Entries entries = s.entries;
  const int n = 2 * s.nodes;
  for (int i = 0; i < n; ++i) entries.emplace_back(i, i, 1e-7 * s.dx);  // the pair may drift along z and turn
  for (int i = 0; i < s.nodes; ++i) {
    const double p = c.at(u, i);
    if (p <= 0) continue;
    const Eigen::Vector2d normal = u.segment<2>(2 * i).normalized(), side(-normal.y(), normal.x());
    const double across = exact ? -p / u.segment<2>(2 * i).norm() : 1e-3 * c.penalty;
    const Eigen::Matrix2d h = c.penalty * normal * normal.transpose() + across * side * side.transpose();
    for (int a = 0; a < 2; ++a)
      for (int b = 0; b < 2; ++b) entries.emplace_back(2 * i + a, 2 * i + b, h(a, b));
  }
  Matrix h(n, n);
  h.setFromTriplets(entries.begin(), entries.end());
  const Eigen::SimplicialLDLT<Matrix, Eigen::Lower, Eigen::NaturalOrdering<int>> solver(h);
  if (solver.info() != Eigen::Success) return exact ? newton_step(s, c, u, g, false) : VectorXd(-g);
  const VectorXd d = -solver.solve(g);
  return exact && !(d.dot(g) < 0) ? newton_step(s, c, u, g, false) : d;
}

/// Minimises for the multipliers that stand.
void relax(const Strand& s, const Contact& c, VectorXd& u, int most) {
  for (int k = 0; k < most; ++k) {
    const VectorXd g = gradient(s, c, u);
    if (g.cwiseAbs().maxCoeff() < 1e-8) return;
    const VectorXd d = newton_step(s, c, u, g, true);
    double t = std::min(1.0, 0.1 / d.cwiseAbs().maxCoeff());
    const double before = energy(s, c, u);
    for (int h = 0; h < 30 && energy(s, c, u + t * d) > before + 1e-4 * t * d.dot(g) + 1e-12 * std::abs(before); ++h)
      t *= 0.5;
    u += t * d;
  }
}

/// Closing force of a loop over its invariant H: int cos(phi) / kappa dphi = 0 from theta to 2 pi - theta, kappa =
/// kappa_side sqrt(1 - force cos(phi)).
double closing_force(double theta) {
  const auto gap = [&](double force) {
    double sum = 0;
    const int n = 400;
    const double step = (2 * std::numbers::pi - 2 * theta) / n;
    for (int i = 0; i < n; ++i) {
      const double c = std::cos(theta + (i + 0.5) * step);
      sum += c / std::sqrt(1 - force * c) * step;
    }
    return sum;
  };
  double low = -0.9, high = 0.9;
  for (int k = 0; k < 50; ++k) (gap(0.5 * (low + high)) < 0 ? low : high) = 0.5 * (low + high);
  return 0.5 * (low + high);
}

}  // namespace

Braid solve_braid(int winding, double reach, int half) {
  const Strand s(half, reach);
  VectorXd u(2 * s.nodes);
  const double w = 1.6 * (winding + 1);
  for (int i = 0; i < s.nodes; ++i) {
    const double x = (i - half) * s.dx, v = std::clamp((x / w + 1) / 2, 0.0, 1.0);
    const double phi = std::numbers::pi * (1 + (2 * winding + 1) * v * v * (3 - 2 * v));
    const double r = 1.02 + 0.5 * std::pow(std::max(0.0, std::abs(x) - w), 2);
    u(2 * i) = r * std::cos(phi), u(2 * i + 1) = r * std::sin(phi);
  }
  Contact c{VectorXd::Zero(s.nodes), 300 * s.dx};
  for (int outer = 0; outer < 50; ++outer) {
    if (outer > 0 && outer % 6 == 0 && outer <= 30) c.penalty *= 3;
    relax(s, c, u, outer < 3 ? 2000 : 60);
    for (int i = 0; i < s.nodes; ++i) c.force(i) = c.at(u, i);
  }
  // The braid may lie anywhere along the strands: what it is shifted by adds to one slope and takes from the other.
  const auto slope = [&](int side) {
    const int a = half + side * static_cast<int>(0.8 * half), b = half + side * static_cast<int>(0.95 * half);
    const auto rest = [&](int i) { return side * u(2 * i) - 0.5 * std::pow((i - half) * s.dx, 2); };
    return (rest(b) - rest(a)) / (std::abs(b - a) * s.dx);
  };
  return {c.force.sum() * std::numbers::sqrt2 / 4, -0.5 * (slope(1) + slope(-1)) / std::numbers::sqrt2};
}

double loose_force_leading(double h_over_r, double friction, int winding) {
  return 0.5 * h_over_r * h_over_r + friction * kBraid[winding].sigma * std::pow(h_over_r, 1.5);
}

double loose_force_next(double h_over_r, double friction, int winding) {
  const Braid& braid = kBraid[winding];
  // h = B = 1: lengths in h, forces in B / h^2.
  const double side = h_over_r, invariant = 0.5 * side * side;
  double theta = 0, tension = invariant;
  for (int k = 0; k < 200; ++k) {
    const double at_braid = side * std::sqrt(1 - closing_force(theta) * std::cos(theta));
    const double of_leg = 2 * std::sqrt(std::max(0.0, tension)) * std::sin(0.5 * theta);
    const double e = std::sqrt(at_braid - of_leg);
    const double next = invariant + friction * braid.sigma * std::pow(e, 3);
    if (std::abs(-braid.slope * e - theta) + std::abs(next / tension - 1) < 1e-9) break;
    theta = -braid.slope * e, tension = next;
  }
  return tension;
}

double release_leading(double friction, int winding) {
  return std::pow(2 * friction * kBraid[winding].sigma, 2);
}

double release_next(double friction, int winding) {
  double low = 1e-8, high = 4 * release_leading(friction, winding);
  for (int k = 0; k < 40; ++k) {
    const double middle = std::sqrt(low * high);
    (loose_force_next(middle, -friction, winding) < 0 ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

double loop_side_radius(const std::vector<Vec3>& c) {
  std::vector<double> s(c.size(), 0.0);
  for (std::size_t i = 1; i < c.size(); ++i) s[i] = s[i - 1] + norm(c[i] - c[i - 1]);
  std::vector<std::size_t> across;
  for (std::size_t i = 2; i + 2 < c.size(); ++i)
    if ((c[i].x - c[i - 1].x) * (c[i + 1].x - c[i].x) <= 0) across.push_back(i);
  if (across.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  const double reach = 0.08 * (s[across.back()] - s[across.front()]);
  const auto curvature = [&](std::size_t middle) {
    double turned = 0, along = 0;
    for (std::size_t i = 1; i + 1 < c.size(); ++i) {
      if (std::abs(s[i] - s[middle]) > reach) continue;
      const Vec3 a = c[i] - c[i - 1], b = c[i + 1] - c[i];
      turned += std::atan2(norm(cross(a, b)), dot(a, b));
      along += 0.5 * (norm(a) + norm(b));
    }
    return turned / along;
  };
  return 2 / (curvature(across.front()) + curvature(across.back()));
}

}  // namespace ligature::measure
