#include "sim/rod_old/energy.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

namespace ligature::rod_old {
namespace {

// |e||f| + e.f vanishes when the rod folds back on itself; this keeps the curvature finite (|kb| < 1e4).
double fold_guard(double length_e, double length_f, double dot) {
  return std::max(length_e * length_f + dot, 1e-8 * length_e * length_f + 1e-300);
}

double safe_norm(const Vector3d& v) {
  return std::max(v.norm(), 1e-150);
}

}  // namespace

EdgeTerm stretch(const Vector3d& e, double rest_length, double stiffness) noexcept {
  const double length = safe_norm(e);
  const Vector3d t = e / length;
  const double strain = length / rest_length - 1.0;
  EdgeTerm out;
  out.energy = 0.5 * stiffness * rest_length * strain * strain;
  out.gradient = stiffness * strain * t;
  const double across = std::max(0.0, stiffness * strain / length);  // string stiffness, of a taut edge only
  out.hessian = across * Matrix3d::Identity() + (stiffness / rest_length - across) * t * t.transpose();
  return out;
}

double stretch_energy(const Vector3d& e, double rest_length, double stiffness) noexcept {
  const double strain = e.norm() / rest_length - 1.0;
  return 0.5 * stiffness * rest_length * strain * strain;
}

Vector3d curvature_binormal(const Vector3d& e, const Vector3d& f) noexcept {
  return 2.0 * e.cross(f) / fold_guard(safe_norm(e), safe_norm(f), e.dot(f));
}

VertexTerm bend_straight(const Vector3d& e, const Vector3d& f, double rest_length, double stiffness) noexcept {
  const double le = safe_norm(e), lf = safe_norm(f), ef = e.dot(f);
  const double inverse = 1.0 / fold_guard(le, lf, ef);
  const Vector3d kb = 2.0 * inverse * e.cross(f);
  const double kb2 = kb.squaredNorm();
  // d(2 e x f) = -2 [f] de + 2 [e] df,  d(|e||f| + e.f) = a.de + b.df, hence
  //   J_e = -inverse (2 [f] + kb a^T),   J_f = inverse (2 [e] - kb b^T)
  // and, as [f]^T kb = p, [e]^T kb = q, [f]^T [e] = (e.f) I - e f^T, their products have closed forms.
  const Vector3d a = lf / le * e + f, b = le / lf * f + e, p = kb.cross(f), q = kb.cross(e);
  const double s = stiffness / rest_length, ss = s * inverse * inverse;
  VertexTerm out;
  out.energy = 0.5 * s * kb2;
  out.gradient_e = -s * inverse * (2.0 * p + kb2 * a);
  out.gradient_f = s * inverse * (2.0 * q - kb2 * b);
  for (int c = 0; c < 3; ++c) {
    out.hessian_ee.col(c) = ss * ((2.0 * a[c]) * p + (2.0 * p[c] + kb2 * a[c]) * a - (4.0 * f[c]) * f);
    out.hessian_ff.col(c) = ss * ((-2.0 * b[c]) * q + (kb2 * b[c] - 2.0 * q[c]) * b - (4.0 * e[c]) * e);
    out.hessian_ef.col(c) = ss * ((4.0 * f[c]) * e + (2.0 * b[c]) * p + (kb2 * b[c] - 2.0 * q[c]) * a);
    out.hessian_ee(c, c) += 4.0 * ss * lf * lf;
    out.hessian_ff(c, c) += 4.0 * ss * le * le;
    out.hessian_ef(c, c) -= 4.0 * ss * ef;
  }
  return out;
}

double bend_straight_energy(const Vector3d& e, const Vector3d& f, double rest_length, double stiffness) noexcept {
  return 0.5 * stiffness / rest_length * curvature_binormal(e, f).squaredNorm();
}

Eigen::Vector2d material_curvature(const Vector3d& e, const Vector3d& f, const Directors& de,
                                   const Directors& df) noexcept {
  const Vector3d kb = curvature_binormal(e, f);
  return {0.5 * kb.dot(de.d2 + df.d2), -0.5 * kb.dot(de.d1 + df.d1)};
}

VertexTerm bend_curved(const Vector3d& e, const Vector3d& f, const Directors& de, const Directors& df,
                       const Eigen::Vector2d& rest_curvature, double rest_length, double stiffness) noexcept {
  const double le = safe_norm(e), lf = safe_norm(f);
  const Vector3d te = e / le, tf = f / lf;
  const double chi = std::max(1.0 + te.dot(tf), 1e-8);
  const Vector3d t = (te + tf) / chi, d1 = (de.d1 + df.d1) / chi, d2 = (de.d2 + df.d2) / chi;
  const Eigen::Vector2d k = material_curvature(e, f, de, df);
  // [Bergou 2010] appendix: derivatives of the material curvatures, directors transported in parallel.
  Eigen::Matrix<double, 3, 2> k_e, k_f;
  k_e.col(0) = (-k[0] * t + tf.cross(d2)) / le;
  k_e.col(1) = (-k[1] * t - tf.cross(d1)) / le;
  k_f.col(0) = (-k[0] * t - te.cross(d2)) / lf;
  k_f.col(1) = (-k[1] * t + te.cross(d1)) / lf;
  const double s = stiffness / rest_length;
  const Eigen::Vector2d moment = s * (k - rest_curvature);
  VertexTerm out;
  out.energy = 0.5 * moment.dot(k - rest_curvature);
  out.gradient_e = k_e * moment;
  out.gradient_f = k_f * moment;
  out.hessian_ee = s * k_e * k_e.transpose();
  out.hessian_ef = s * k_e * k_f.transpose();
  out.hessian_ff = s * k_f * k_f.transpose();
  return out;
}

TwistGradient twist_gradient(const Vector3d& e, const Vector3d& f) noexcept {
  const Vector3d kb = curvature_binormal(e, f);
  return {0.5 * kb / safe_norm(e), 0.5 * kb / safe_norm(f)};
}

}  // namespace ligature::rod_old
