#include "sim/tissue/element.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

namespace ligature::tissue {
namespace {

using Eigen::Matrix;
using Corners = Matrix<double, 3, 8>;

constexpr int kSign[8][3] = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1},
                             {-1, -1, 1},  {1, -1, 1},  {1, 1, 1},  {-1, 1, 1}};
/// Derivatives of the shape functions with respect to (xi, eta, zeta), one a column.
Matrix<double, 3, 8> natural_gradient(const Vector3d& p) {
  Matrix<double, 3, 8> d;
  for (int i = 0; i < 8; ++i) {
    const Vector3d s(kSign[i][0], kSign[i][1], kSign[i][2]);
    const Vector3d f = Vector3d::Ones() + s.cwiseProduct(p);
    d.col(i) = 0.125 * Vector3d(s[0] * f[1] * f[2], s[1] * f[0] * f[2], s[2] * f[0] * f[1]);
  }
  return d;
}

/// xx yy zz xy yz zx, shear doubled.
Matrix<double, 6, 1> voigt(const Matrix3d& e) {
  Matrix<double, 6, 1> v;
  v << e(0, 0), e(1, 1), e(2, 2), e(0, 1) + e(1, 0), e(1, 2) + e(2, 1), e(2, 0) + e(0, 2);
  return v;
}

Matrix<double, 6, 6> elastic_law(double mu, double lambda) {
  Matrix<double, 6, 6> d = Matrix<double, 6, 6>::Zero();
  d.topLeftCorner<3, 3>().setConstant(lambda);
  for (int i = 0; i < 3; ++i) {
    d(i, i) += 2 * mu;
    d(3 + i, 3 + i) = mu;
  }
  return d;
}

Matrix<double, 6, 24> strain_of(const Matrix<double, 3, 8>& gradient) {
  Matrix<double, 6, 24> b;
  for (int i = 0; i < 8; ++i)
    for (int k = 0; k < 3; ++k) {
      Matrix3d e = Matrix3d::Zero();
      e.row(k) = gradient.col(i).transpose();
      b.col(3 * i + k) = voigt(0.5 * (e + e.transpose()));
    }
  return b;
}

constexpr int kEnhanced = 15;

/// Strains in natural coordinates that the trilinear displacement lacks: in each direction one linear along it, in each
/// shear two linear, and products that let the volume change of bilinear displacements vanish.
Matrix<double, 6, kEnhanced> enhanced_strain(const Vector3d& p, const Matrix3d& to_natural_t) {
  struct Mode {
    int row, column;
    double value;
  };
  const double x = p[0], y = p[1], z = p[2];
  const std::array<Mode, kEnhanced> modes{{{0, 0, x},
                                           {1, 1, y},
                                           {2, 2, z},
                                           {0, 1, x},
                                           {0, 1, y},
                                           {1, 2, y},
                                           {1, 2, z},
                                           {2, 0, z},
                                           {2, 0, x},
                                           {0, 0, x * y},
                                           {0, 0, x * z},
                                           {1, 1, y * x},
                                           {1, 1, y * z},
                                           {2, 2, z * x},
                                           {2, 2, z * y}}};
  Matrix<double, 6, kEnhanced> m;
  for (int a = 0; a < kEnhanced; ++a) {
    Matrix3d e = Matrix3d::Zero();
    const Mode& mode = modes[static_cast<std::size_t>(a)];
    e(mode.row, mode.column) += 0.5 * mode.value;
    e(mode.column, mode.row) += 0.5 * mode.value;
    m.col(a) = voigt(to_natural_t * e * to_natural_t.transpose());
  }
  return m;
}

}  // namespace

double least_jacobian(const Corners& corners, const Corners& rest) {
  double least = 1e300;
  for (int c = 0; c < 8; ++c) {
    const auto det = [&](const Corners& x) {
      const Vector3d a = x.col(kJoined[c][0]) - x.col(c), b = x.col(kJoined[c][1]) - x.col(c),
                     d = x.col(kJoined[c][2]) - x.col(c);
      return a.dot(b.cross(d));
    };
    least = std::min(least, det(corners) / det(rest));
  }
  return least;
}

std::optional<ElementShape> element_shape(const Corners& corners, double young, double poisson) {
  for (int c = 0; c < 8; ++c) {
    Vector3d p(kSign[c][0], kSign[c][1], kSign[c][2]);
    if (!((natural_gradient(p) * corners.transpose()).determinant() > 0)) return std::nullopt;
  }
  ElementShape s;
  s.mu = young / (2 * (1 + poisson));
  s.lambda = young * poisson / ((1 + poisson) * (1 - 2 * poisson));
  // Axes along the element's middle lines, so that congruent elements have the same shape whichever way they lie.
  const Matrix3d j_world = (natural_gradient(Vector3d::Zero()) * corners.transpose()).transpose();
  s.axes.col(0) = j_world.col(0).normalized();
  s.axes.col(2) = j_world.col(0).cross(j_world.col(1)).normalized();
  s.axes.col(1) = s.axes.col(2).cross(s.axes.col(0));
  const Vector3d centre = corners.rowwise().mean();
  const Corners x = s.axes.transpose() * (corners.colwise() - centre);

  const Matrix<double, 6, 6> d = elastic_law(s.mu, s.lambda);
  const Matrix3d j0 = natural_gradient(Vector3d::Zero()) * x.transpose();  // row r: d x / d natural_r
  const double det0 = j0.determinant();
  const Matrix3d inverse0 = j0.inverse();
  Matrix<double, 24, 24> k = Matrix<double, 24, 24>::Zero();
  Matrix<double, 24, kEnhanced> mixed = Matrix<double, 24, kEnhanced>::Zero();
  Matrix<double, kEnhanced, kEnhanced> own = Matrix<double, kEnhanced, kEnhanced>::Zero();
  s.gradient.setZero();
  s.share.setZero();
  const double g = 1.0 / std::sqrt(3.0);
  for (int c = 0; c < 8; ++c) {
    const Vector3d p = g * Vector3d(kSign[c][0], kSign[c][1], kSign[c][2]);
    const Matrix<double, 3, 8> natural = natural_gradient(p);
    const Matrix3d j = natural * x.transpose();
    const double det = j.determinant();
    const Matrix<double, 3, 8> gradient = j.inverse() * natural;
    s.volume += det;
    s.gradient += det * gradient;
    for (int i = 0; i < 8; ++i)
      s.share[i] += det * 0.125 * (1 + kSign[i][0] * p[0]) * (1 + kSign[i][1] * p[1]) * (1 + kSign[i][2] * p[2]);
    const Matrix<double, 6, 24> b = strain_of(gradient);
    const Matrix<double, 6, kEnhanced> m = (det0 / det) * enhanced_strain(p, inverse0);
    k += det * b.transpose() * d * b;
    mixed += det * b.transpose() * d * m;
    own += det * m.transpose() * d * m;
  }
  s.gradient /= s.volume;
  s.share /= s.volume;
  k -= mixed * own.ldlt().solve(mixed.transpose());
  const Matrix<double, 6, 24> mean = strain_of(s.gradient);
  k -= s.volume * mean.transpose() * d * mean;

  Matrix<double, 8, 4> h;
  for (int i = 0; i < 8; ++i) {
    const int a = kSign[i][0], b = kSign[i][1], c = kSign[i][2];
    h.row(i) << b * c, c * a, a * b, a * b * c;
  }
  s.hourglass = 0.125 * (h.transpose() - (h.transpose() * x.transpose()) * s.gradient);
  // Displacements with one unit hourglass vector each; what is affine in them makes no difference to what is left of k.
  const Matrix<double, 8, 4> unit = h * (s.hourglass * h).inverse();
  Matrix<double, 24, 12> u = Matrix<double, 24, 12>::Zero();
  for (int i = 0; i < 8; ++i)
    for (int a = 0; a < 4; ++a)
      for (int axis = 0; axis < 3; ++axis) u(3 * i + axis, 3 * a + axis) = unit(i, a);
  const Matrix<double, 12, 12> bending = u.transpose() * k * u;
  s.bending = 0.5 * (bending + bending.transpose());
  return s;
}

Matrix<double, 24, 24> rest_stiffness(const ElementShape& s) {
  const Matrix<double, 6, 24> mean = strain_of(s.gradient);
  Matrix<double, 24, 24> k = s.volume * mean.transpose() * elastic_law(s.mu, s.lambda) * mean;
  Matrix<double, 12, 24> q = Matrix<double, 12, 24>::Zero();
  for (int i = 0; i < 8; ++i)
    for (int a = 0; a < 4; ++a)
      for (int axis = 0; axis < 3; ++axis) q(3 * a + axis, 3 * i + axis) = s.hourglass(a, i);
  k += q.transpose() * s.bending * q;
  Matrix<double, 24, 24> turn = Matrix<double, 24, 24>::Zero();
  for (int i = 0; i < 8; ++i) turn.block<3, 3>(3 * i, 3 * i) = s.axes;
  return turn * k * turn.transpose();
}

}  // namespace ligature::tissue
