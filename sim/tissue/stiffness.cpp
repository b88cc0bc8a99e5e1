#include "sim/tissue/stiffness.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cmath>

namespace ligature::tissue {
namespace {

using Eigen::Matrix;
using Matrix9d = Matrix<double, 9, 9>;
using Vector9d = Matrix<double, 9, 1>;

constexpr double kLeastStretches = 0.02;  ///< of |F|: a sum of two principal stretches counts as this at least

Matrix3d cross_matrix(const Vector3d& a) {
  Matrix3d m;
  m << 0, -a.z(), a.y(), a.z(), 0, -a.x(), -a.y(), a.x(), 0;
  return m;
}

Matrix3d cofactors(const Matrix3d& f) {
  Matrix3d c;
  c << f.col(1).cross(f.col(2)), f.col(2).cross(f.col(0)), f.col(0).cross(f.col(1));
  return c;
}

/// Second derivatives of det F, columns of F one after the other.
Matrix9d determinant_hessian(const Matrix3d& f) {
  Matrix9d h = Matrix9d::Zero();
  h.block<3, 3>(0, 3) = -cross_matrix(f.col(2));
  h.block<3, 3>(0, 6) = cross_matrix(f.col(1));
  h.block<3, 3>(3, 6) = -cross_matrix(f.col(0));
  h.block<3, 3>(3, 0) = h.block<3, 3>(0, 3).transpose();
  h.block<3, 3>(6, 0) = h.block<3, 3>(0, 6).transpose();
  h.block<3, 3>(6, 3) = h.block<3, 3>(3, 6).transpose();
  return h;
}

Matrix9d without_negative(const Matrix9d& h) {
  const Eigen::SelfAdjointEigenSolver<Matrix9d> e(h);
  if (e.eigenvalues()[0] >= 0) return h;
  return e.eigenvectors() * e.eigenvalues().cwiseMax(0).asDiagonal() * e.eigenvectors().transpose();
}

/// Of V (mu |F - R|^2 + lambda/2 (det F - 1)^2) and of the same law's viscous part.
Matrix9d law_hessian(const ElementShape& shape, const Matrix3d& f, const Matrix3d& turn, double viscous) {
  const double mu = shape.mu * shape.volume, lambda = shape.lambda * shape.volume;
  Matrix9d elastic = 2 * mu * Matrix9d::Identity(), viscid = 2 * mu * viscous * Matrix9d::Identity();
  // dR is a turn in the planes of two principal stretches each: of u_i v_j^T - u_j v_i^T, by 2 / (s_i + s_j).
  const Matrix3d s = turn.transpose() * f;
  const Eigen::SelfAdjointEigenSolver<Matrix3d> principal(0.5 * (s + s.transpose()));
  const Matrix3d v = principal.eigenvectors(), u = turn * v;
  const Vector3d stretch = principal.eigenvalues();
  const double floor = kLeastStretches * f.norm() + 1e-30;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < i; ++j) {
      const double both = std::max(stretch[i] + stretch[j], floor);
      const Matrix3d twist = (u.col(i) * v.col(j).transpose() - u.col(j) * v.col(i).transpose()) / std::sqrt(2.0);
      const Eigen::Map<const Vector9d> q(twist.data());
      elastic -= 2 * mu * (2 / both) * q * q.transpose();
      const double uneven = std::min(1.0, std::abs(stretch[i] - stretch[j]) / both);
      viscid -= 2 * mu * viscous * (1 - uneven * uneven) * q * q.transpose();
    }
  const Matrix3d c = cofactors(f);
  const Eigen::Map<const Vector9d> by_volume(c.data()), by_trace(turn.data());
  elastic += lambda * (by_volume * by_volume.transpose() + (f.determinant() - 1) * determinant_hessian(f));
  viscid += lambda * viscous * by_trace * by_trace.transpose();
  return without_negative(elastic) + viscid;
}

/// Of weight b(det D / rest), D the corner's edges.
Matrix9d corner_hessian(const Matrix3d& edges, double rest, double weight) {
  const double j = edges.determinant() / rest, at = std::max(j, kSolid), u = kGuarded - at;
  const double slope = -u * u * (3 + u / at) / at, curve = 2 * u * (3 + u * (3 + u / at) / at) / at;
  const Matrix3d c = cofactors(edges) / rest;
  const Eigen::Map<const Vector9d> by_volume(c.data());
  return without_negative(weight *
                          (curve * by_volume * by_volume.transpose() + slope / rest * determinant_hessian(edges)));
}

}  // namespace

Matrix<double, 24, 24> stiffness_at(const ElementShape& shape, const Matrix<double, 3, 8>& x, const Matrix3d& turn,
                                    const Matrix<double, 8, 1>& rest_corner, double viscous) {
  Matrix<double, 24, 24> k = Matrix<double, 24, 24>::Zero();
  const Matrix3d f = x * shape.gradient.transpose();
  const Matrix9d h = law_hessian(shape, f, turn, viscous);
  std::array<Matrix3d, 16> bending;  // R C_ab R^T
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 4; ++b)
      bending[static_cast<std::size_t>(4 * a + b)] =
          (1 + viscous) * turn * shape.bending.block<3, 3>(3 * a, 3 * b) * turn.transpose();
  for (int i = 0; i < 8; ++i) {
    Matrix<double, 3, 9> half = Matrix<double, 3, 9>::Zero();
    for (int a = 0; a < 3; ++a) half += shape.gradient(a, i) * h.middleRows<3>(3 * a);
    std::array<Matrix3d, 4> bent;
    for (int b = 0; b < 4; ++b) {
      Matrix3d& sum = bent[static_cast<std::size_t>(b)];
      sum.setZero();
      for (int a = 0; a < 4; ++a) sum += shape.hourglass(a, i) * bending[static_cast<std::size_t>(4 * a + b)];
    }
    for (int j = 0; j < 8; ++j) {
      Matrix3d block = Matrix3d::Zero();
      for (int b = 0; b < 3; ++b) block += shape.gradient(b, j) * half.middleCols<3>(3 * b);
      for (int b = 0; b < 4; ++b) block += shape.hourglass(b, j) * bent[static_cast<std::size_t>(b)];
      k.block<3, 3>(3 * i, 3 * j) = block;
    }
  }
  for (int c = 0; c < 8; ++c) {
    const int* const joined = kJoined[c];
    Matrix3d edges;
    for (int a = 0; a < 3; ++a) edges.col(a) = x.col(joined[a]) - x.col(c);
    if (!(edges.determinant() < kGuarded * rest_corner[c])) continue;
    const Matrix9d own = corner_hessian(edges, rest_corner[c], 0.125 * shape.mu * shape.volume);
    // Each edge moves with its far node, and against the corner.
    const auto node = [&](int a) { return a < 3 ? joined[a] : c; };
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < 4; ++b) {
        Matrix3d block = Matrix3d::Zero();
        for (int l = a < 3 ? a : 0; l < (a < 3 ? a + 1 : 3); ++l)
          for (int m = b < 3 ? b : 0; m < (b < 3 ? b + 1 : 3); ++m) block += own.block<3, 3>(3 * l, 3 * m);
        k.block<3, 3>(3 * node(a), 3 * node(b)) += ((a < 3) == (b < 3) ? 1.0 : -1.0) * block;
      }
  }
  return k;
}

}  // namespace ligature::tissue
