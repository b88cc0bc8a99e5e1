#pragma once
/// Contact problems as knots make them, without a simulation: two threads twisted round each other, their linearised
/// elasticity inverted densely.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/contact/cone_problem.hpp"

namespace ligature::contact::cases {

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// A problem with owned memory, and the warm start of whatever the test wants.
inline StoredConeProblem stored(const RowMajor& w, const VectorXd& q, const VectorXd& mu) {
  StoredConeProblem p;
  p.w.assign(w.data(), w.data() + w.size());
  p.q.assign(q.data(), q.data() + q.size());
  p.mu.assign(mu.data(), mu.data() + mu.size());
  p.warm.assign(p.q.size(), 0.0);
  return p;
}

inline double uniform(std::uint64_t& state, double low, double high) {  // splitmix64
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return low + (high - low) * static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/// Two strands of 10-0 nylon in a helix of `contacts` edges, one held at both ends, the other at its near end and
/// pulled by `pull` times the tension at its far end; forces in uN, lengths in mm.
struct Braid {
  std::size_t contacts = 60;
  double radius = 0.0125;  ///< [mm]
  double tension = 5e4;    ///< of both [uN]
  double pull = 1.5;       ///< over the tension, at the far end of the first strand
  double mu = 0.3;
  double pitch = 14;              ///< of the helix [radii]
  double edge = 1;                ///< [radii]
  double noise = 1e-3;            ///< of the gaps [radii]
  double load = 1;                ///< on the tension and pull that act; the stiffness stays
  bool loose = false;             ///< the near end is pulled with the tension instead: only friction and drag hold it
  double drag_per_length = 8e-3;  ///< over the step [uN/mm^2]
  std::uint64_t seed = 1;
};

inline StoredConeProblem braid(const Braid& b) {
  const double r = b.radius, k = 2 * std::numbers::pi / (b.pitch * r);
  const double bend = 47.9 * std::pow(r / 0.0125, 4), stretch = 1.23e6 * std::pow(r / 0.0125, 2);
  const double rise = b.edge * r / std::sqrt(1 + k * k * r * r);
  const std::size_t inner = b.contacts + 1, tail = 12, n = inner + 2 * tail;
  const auto helix = [&](double s, double phase) {
    return Vector3d(s, r * std::cos(k * s + phase), r * std::sin(k * s + phase));
  };
  std::vector<Vector3d> x[2];
  for (int strand = 0; strand < 2; ++strand) {
    const double phase = strand * std::numbers::pi, last = rise * static_cast<double>(inner - 1);
    const Vector3d in = (helix(0, phase) - helix(-1e-4 * r, phase)).normalized();
    const Vector3d out = (helix(last + 1e-4 * r, phase) - helix(last, phase)).normalized();
    for (std::size_t i = tail; i > 0; --i) x[strand].push_back(helix(0, phase) - in * (4 * r * static_cast<double>(i)));
    for (std::size_t i = 0; i < inner; ++i) x[strand].push_back(helix(rise * static_cast<double>(i), phase));
    for (std::size_t i = 1; i <= tail; ++i)
      x[strand].push_back(helix(last, phase) + out * (4 * r * static_cast<double>(i)));
  }
  MatrixXd inverse[2];
  VectorXd moved[2];
  for (int strand = 0; strand < 2; ++strand) {
    const std::vector<Vector3d>& p = x[strand];
    MatrixXd a = MatrixXd::Zero(3 * n, 3 * n);
    VectorXd f = VectorXd::Zero(3 * n);
    const auto at = [](std::size_t i) { return static_cast<Eigen::Index>(3 * i); };
    for (std::size_t i = 0; i + 1 < n; ++i) {
      const Vector3d e = p[i + 1] - p[i], t = e.normalized();
      const double l = e.norm(), part = static_cast<double>(i) / static_cast<double>(n - 2);
      const double tension = b.tension * (strand == 0 ? 1 + (b.pull - 1) * part : 1.0);
      const Matrix3d along = t * t.transpose();
      const Matrix3d stiff = stretch / l * along + b.tension / l * (Matrix3d::Identity() - along);
      for (std::size_t v = i; v < i + 2; ++v) {
        a.block<3, 3>(at(v), at(v)) += stiff + 0.5 * l * b.drag_per_length * Matrix3d::Identity();
        a.block<3, 3>(at(v), at(2 * i + 1 - v)) -= stiff;
      }
      f.segment<3>(at(i)) += b.load * tension * t;
      f.segment<3>(at(i + 1)) -= b.load * tension * t;
    }
    for (std::size_t i = 1; i + 1 < n; ++i) {
      const double l0 = (p[i] - p[i - 1]).norm(), l1 = (p[i + 1] - p[i]).norm(), l = 0.5 * (l0 + l1);
      const double c[3] = {1 / (l0 * l), -(1 / l0 + 1 / l1) / l, 1 / (l1 * l)};
      const Vector3d bent = c[0] * p[i - 1] + c[1] * p[i] + c[2] * p[i + 1];
      for (std::size_t v = 0; v < 3; ++v) {
        f.segment<3>(at(i - 1 + v)) -= bend * l * c[v] * bent;
        for (std::size_t w = 0; w < 3; ++w)
          a.block<3, 3>(at(i - 1 + v), at(i - 1 + w)) += bend * l * c[v] * c[w] * Matrix3d::Identity();
      }
    }
    const Vector3d first = (p[1] - p[0]).normalized(), last = (p[n - 1] - p[n - 2]).normalized();
    const double held = 1e8;
    f.segment<3>(at(n - 1)) += b.load * b.tension * (strand == 0 ? b.pull : 1.0) * last;
    f.segment<3>(0) -= b.load * b.tension * first;
    if (strand == 1) a.block<3, 3>(at(n - 1), at(n - 1)) += held * Matrix3d::Identity();
    if (strand == 1 || !b.loose) a.block<3, 3>(0, 0) += held * Matrix3d::Identity();
    inverse[strand] = a.llt().solve(MatrixXd::Identity(3 * n, 3 * n));
    moved[strand] = inverse[strand] * f;
  }
  const Eigen::Index m = static_cast<Eigen::Index>(b.contacts), rows = 3 * static_cast<Eigen::Index>(n);
  MatrixXd j[2] = {MatrixXd::Zero(3 * m, rows), MatrixXd::Zero(3 * m, rows)};
  VectorXd q(3 * m);
  std::uint64_t random = b.seed;
  for (Eigen::Index c = 0; c < m; ++c) {
    const std::size_t i = tail + static_cast<std::size_t>(c);
    const double s = 0.3 + 0.4 * uniform(random, 0, 1);
    const Vector3d pa = (1 - s) * x[0][i] + s * x[0][i + 1], ta = (x[0][i + 1] - x[0][i]).normalized();
    std::size_t edge = i;
    double place = 0, nearest = 1e9;
    for (std::size_t e = i - 3; e <= i + 3; ++e) {
      const Vector3d d = x[1][e + 1] - x[1][e];
      const double t = std::clamp((pa - x[1][e]).dot(d) / d.squaredNorm(), 0.0, 1.0);
      if (const double far = (pa - x[1][e] - t * d).norm(); far < nearest) nearest = far, edge = e, place = t;
    }
    Matrix3d axes;
    axes.col(0) = (pa - (1 - place) * x[1][edge] - place * x[1][edge + 1]).normalized();
    axes.col(1) = (ta - ta.dot(axes.col(0)) * axes.col(0)).normalized();
    axes.col(2) = axes.col(0).cross(axes.col(1));
    const auto put = [&](int strand, std::size_t vertex, double weight) {
      j[strand].block<3, 3>(3 * c, static_cast<Eigen::Index>(3 * vertex)) += weight * axes.transpose();
    };
    put(0, i, 1 - s), put(0, i + 1, s), put(1, edge, -(1 - place)), put(1, edge + 1, -place);
    q.segment<3>(3 * c) = Vector3d(b.noise * r * uniform(random, -1, 1), 0, 0);
  }
  RowMajor w = RowMajor::Zero(3 * m, 3 * m);
  for (int strand = 0; strand < 2; ++strand) {
    w += j[strand] * inverse[strand] * j[strand].transpose();
    q += j[strand] * moved[strand];
  }
  w = (0.5 * (w + w.transpose())).eval();
  return stored(w, q, VectorXd::Constant(m, b.mu));
}

/// Any positive semidefinite W of that rank, any load. Scales of the contacts differ by up to 10^spread.
inline StoredConeProblem any(std::size_t contacts, std::size_t rank, double spread, double mu_most,
                             std::uint64_t seed) {
  const Eigen::Index m = static_cast<Eigen::Index>(contacts);
  std::uint64_t random = seed;
  RowMajor j(3 * m, static_cast<Eigen::Index>(rank));
  VectorXd q(3 * m), mu(m);
  for (Eigen::Index c = 0; c < m; ++c) {
    const double scale = std::pow(10.0, uniform(random, -0.5, 0.5) * spread);
    for (Eigen::Index a = 0; a < 3; ++a) {
      for (Eigen::Index k = 0; k < j.cols(); ++k) j(3 * c + a, k) = scale * uniform(random, -1, 1);
      q(3 * c + a) = scale * uniform(random, -1, a == 0 ? 0.3 : 1);
    }
    mu(c) = uniform(random, 0, mu_most);
  }
  // a motion that opens every contact exists, as it does for threads: q lies above W's range by no more than this
  return stored(1e-3 * j * j.transpose(), q, mu);
}

}  // namespace ligature::contact::cases
