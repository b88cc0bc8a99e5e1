#pragma once
/// The exact, slow solver that the product's are measured against, written from the conditions alone: Alart-Curnier's
/// semismooth Newton (1991) on dense matrices, with sweeps of one contact after the other where it does not descend.
#include <Eigen/Dense>
#include <cmath>
#include <vector>

#include "sim/contact/cone_problem.hpp"

namespace ligature::contact::oracle {

using Eigen::Index;
using Eigen::Matrix2d;
using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Eigen::VectorXd;

struct Problem {
  MatrixXd w;
  VectorXd q, mu, rho;  ///< rho (m)
  Index m() const { return mu.size(); }
};

inline Problem dense(const ConeProblem& p) {
  Problem out;
  const Index m = static_cast<Index>(p.count);
  using View =
      Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, 0, Eigen::OuterStride<>>;
  out.w = View(p.w, 3 * m, 3 * m, Eigen::OuterStride<>(static_cast<Index>(p.stride)));
  out.q = Eigen::Map<const VectorXd>(p.q, 3 * m);
  out.mu = Eigen::Map<const VectorXd>(p.mu, m);
  out.rho.resize(m);
  for (Index i = 0; i < m; ++i) {
    const double trace = out.w.block<3, 3>(3 * i, 3 * i).trace();
    out.rho(i) = trace > 0 ? 3 / trace : 0;
  }
  return out;
}

inline Vector3d nearest_in_cone(const Vector3d& z, double mu) {
  const double t = z.tail<2>().norm();
  if (t <= mu * z(0)) return z;
  if (mu * t <= -z(0)) return Vector3d::Zero();
  const double n = (z(0) + mu * t) / (1 + mu * mu);
  return Vector3d(n, mu * n * z(1) / t, mu * n * z(2) / t);
}

/// The natural map residual as the header of the product defines it.
inline double residual(const Problem& p, const VectorXd& r) {
  const VectorXd u = p.w * r + p.q;
  double miss = 0, load = 0;
  for (Index i = 0; i < p.m(); ++i) {
    Vector3d v = u.segment<3>(3 * i);
    v(0) += p.mu(i) * v.tail<2>().norm();
    const Vector3d own = r.segment<3>(3 * i);
    miss += (own - nearest_in_cone(own - p.rho(i) * v, p.mu(i))).squaredNorm();
    load += std::pow(p.rho(i) * std::min(p.q(3 * i), 0.0), 2);
  }
  return miss > 0 ? std::sqrt(miss / std::max(load, r.squaredNorm())) : 0;
}

struct Solution {
  VectorXd r, u;
  double residual = 1;
  double penetration() const {  ///< [mm]
    double worst = 0;
    for (Index i = 0; i < u.size(); i += 3) worst = std::max(worst, -u(i));
    return worst;
  }
  double slip() const {  ///< sum over the contacts that are pressed [mm]
    double sum = 0;
    for (Index i = 0; i < u.size(); i += 3) sum += r(i) > 0 ? u.segment<2>(i + 1).norm() : 0;
    return sum;
  }
};

/// One contact after the other, each by fixed steps of the natural map (Uzawa).
inline void sweep(const Problem& p, VectorXd& r, bool backwards) {
  for (Index c = 0; c < p.m(); ++c) {
    const Index i = backwards ? p.m() - 1 - c : c;
    const Matrix3d d = p.w.block<3, 3>(3 * i, 3 * i);
    if (!(d.trace() > 0)) continue;
    Vector3d own = r.segment<3>(3 * i);
    const Vector3d q = p.w.middleRows<3>(3 * i) * r + p.q.segment<3>(3 * i) - d * own;
    const double rho = 1 / d.trace();
    for (int k = 0; k < 60; ++k) {
      Vector3d v = d * own + q;
      v(0) += p.mu(i) * v.tail<2>().norm();
      own = nearest_in_cone(own - rho * v, p.mu(i));
    }
    r.segment<3>(3 * i) = own;
  }
}

/// Newton on r_n = (r_n - rho u_n)+, r_t = the nearest of the disc of radius mu (r_n - rho u_n)+ to r_t - rho u_t,
/// in the unknowns r / rho, so that rows are alike; shifted by `shift` where W has no inverse.
inline VectorXd newton(const Problem& p, VectorXd r, double target, int most, double shift) {
  const Index n = 3 * p.m();
  VectorXd scale(n);
  for (Index i = 0; i < p.m(); ++i) scale.segment<3>(3 * i).setConstant(p.rho(i));
  double best = residual(p, r);
  for (int k = 0; k < most && best > target; ++k) {
    const VectorXd u = p.w * r + p.q;
    MatrixXd g = MatrixXd::Zero(n, n);
    VectorXd f(n);
    for (Index i = 0; i < p.m(); ++i) {
      const double rho = p.rho(i), zn = r(3 * i) - rho * u(3 * i);
      const Vector2d zt = r.segment<2>(3 * i + 1) - rho * u.segment<2>(3 * i + 1);
      Matrix3d d = Matrix3d::Zero();
      Vector3d to = Vector3d::Zero();
      if (zn > 0) {
        d(0, 0) = 1, to(0) = zn;
        const double most_t = p.mu(i) * zn, t = zt.norm();
        if (t <= most_t) {
          d(1, 1) = d(2, 2) = 1, to.tail<2>() = zt;
        } else {
          const Vector2d e = zt / t;
          d.block<2, 2>(1, 1) = most_t / t * (Matrix2d::Identity() - e * e.transpose());
          d.block<2, 1>(1, 0) = p.mu(i) * e;
          to.tail<2>() = most_t * e;
        }
      }
      f.segment<3>(3 * i) = r.segment<3>(3 * i) - to;
      g.middleRows<3>(3 * i) = rho * d * p.w.middleRows<3>(3 * i);
      g.block<3, 3>(3 * i, 3 * i) += Matrix3d::Identity() - d;
    }
    for (Index j = 0; j < n; ++j) {  // unknowns r / rho, rows over rho
      if (!(scale(j) > 0)) continue;
      g.row(j) /= scale(j);
      f(j) /= scale(j);
    }
    for (Index j = 0; j < n; ++j) g.col(j) *= scale(j) > 0 ? scale(j) : 1;
    g.diagonal().array() += shift;
    VectorXd step = g.partialPivLu().solve(-f);
    for (Index j = 0; j < n; ++j) step(j) *= scale(j);
    if (!step.allFinite()) break;
    double part = 1, least = 1e300;
    VectorXd found = r;
    for (int h = 0; h < 12; ++h, part *= 0.5) {
      VectorXd tried = r + part * step;
      for (Index i = 0; i < p.m(); ++i) tried.segment<3>(3 * i) = nearest_in_cone(tried.segment<3>(3 * i), p.mu(i));
      const double now = residual(p, tried);
      if (now < least) least = now, found = tried;
      if (now < best * (1 - 0.1 * part)) break;
    }
    if (!(least < best)) break;
    r = found, best = least;
  }
  return r;
}

/// Alternating directions on the whole problem, in double: where Newton is to begin.
inline VectorXd alternate(const Problem& p, VectorXd z, double sigma, int rounds) {
  const Index n = 3 * p.m();
  VectorXd soft(n), y = VectorXd::Zero(n);
  for (Index i = 0; i < p.m(); ++i) soft.segment<3>(3 * i).setConstant(p.rho(i) > 0 ? sigma / p.rho(i) : 1);
  MatrixXd a = p.w;
  a.diagonal() += soft;
  const Eigen::LLT<MatrixXd> factors(a);
  VectorXd best = z;
  double least = residual(p, z);
  for (int k = 0; k < rounds; ++k) {
    VectorXd g = soft.cwiseProduct(z - y) - p.q;
    for (Index i = 0; i < p.m(); ++i) g(3 * i) -= p.mu(i) * soft(3 * i) * y.segment<2>(3 * i + 1).norm();
    const VectorXd x = factors.solve(g) + y;
    for (Index i = 0; i < p.m(); ++i) z.segment<3>(3 * i) = nearest_in_cone(x.segment<3>(3 * i), p.mu(i));
    y = x - z;
    if (k % 20 == 19)
      if (const double now = residual(p, z); now < least) least = now, best = z;
  }
  return best;
}

inline Solution solve(const ConeProblem& problem, const double* start = nullptr, double target = 1e-11,
                      int rounds = 60) {
  const Problem p = dense(problem);
  Solution out;
  VectorXd r = VectorXd::Zero(3 * p.m());
  if (start != nullptr) r = Eigen::Map<const VectorXd>(start, 3 * p.m());
  for (Index i = 0; i < p.m(); ++i) {
    r.segment<3>(3 * i) = nearest_in_cone(r.segment<3>(3 * i), p.mu(i));
    if (!(p.rho(i) > 0)) r.segment<3>(3 * i).setZero();
  }
  VectorXd best = r;
  double least = residual(p, r);
  for (int k = 0; k < rounds && least > target; ++k) {
    // the last two for W that is soft as a whole and stiff in its parts
    constexpr double kSigmas[] = {0.3, 0.03, 1e-6, 1e-7};
    if (k > 0) r = alternate(p, r, kSigmas[k % 4], 1000);
    if (const double now = residual(p, r); now < least) least = now, best = r;
    if (const VectorXd tried = newton(p, r, target, 40, 0); residual(p, tried) < least)
      least = residual(p, tried), best = tried;
    if (least <= target) break;
    for (int s = 0; s < 20; ++s) sweep(p, r, s % 2 == 1);
    for (const double shift : {0.0, 1e-9, 1e-5}) {
      const VectorXd tried = newton(p, r, target, 40, shift);
      const double now = residual(p, tried);
      if (now < least) least = now, best = tried;
      if (least <= target) break;
    }
    if (residual(p, r) > residual(p, best)) r = best;
  }
  out.r = best, out.u = p.w * best + p.q, out.residual = least;
  return out;
}

}  // namespace ligature::contact::oracle
