#include "sim/rod/energy.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

namespace ligature::rod {
namespace {

// Four lanes (the last one zero) fill a register, which three do not.
using Lanes = Eigen::Array4d;

Lanes lanes(const Vector3d& v) {
  return {v[0], v[1], v[2], 0.0};
}

template <class Expression>
void set_column(Matrix3d& m, int c, const Expression& lane) {
  const Lanes v = lane;
  m(0, c) = v[0], m(1, c) = v[1], m(2, c) = v[2];
}

// An edge shorter than this has no direction: tangent and 1/length are zero then, and so are its forces.
constexpr double kNoLength = 1e-30;
// 1 + cos vanishes when the rod folds back on itself; this keeps the curvature finite (|kb| < 3e4).
constexpr double kFolded = 1e-8;

struct Direction {
  double length, inverse;
  Vector3d t;

  explicit Direction(const Vector3d& e)
      : length(std::sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2])),
        inverse(length > kNoLength ? 1.0 / length : 0.0),
        t(inverse * e[0], inverse * e[1], inverse * e[2]) {}
};

Vector3d cross(const Vector3d& a, const Vector3d& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

double dot(const Vector3d& a, const Vector3d& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// What the bend of a straight rod is made of.
struct Turn {
  Direction e, f;
  Vector3d sine;  // te x tf: relatively exact however small the angle
  double c, chi;  // cos, 1 + cos

  Turn(const Vector3d& edge_e, const Vector3d& edge_f)
      : e(edge_e), f(edge_f), sine(cross(e.t, f.t)), c(dot(e.t, f.t)), chi(std::max(1.0 + c, kFolded)) {}

  /// (1-c)/(1+c) = |kb|^2/4, 1-c without cancellation; grows up to the fold.
  double tan2() const { return (c > 0 ? dot(sine, sine) / chi : 1.0 - c) / chi; }
};

}  // namespace

EdgeTerm stretch(const Vector3d& e, double rest_length, double stiffness, Hessian kind) noexcept {
  const Direction d(e);
  const double strain = d.length / rest_length - 1.0, tension = stiffness * strain;
  EdgeTerm out;
  out.energy = 0.5 * rest_length * tension * strain;
  out.gradient = tension * d.t;
  double across = tension * d.inverse;  // string stiffness
  if (kind == Hessian::positive) across = std::max(0.0, across);
  const double along = stiffness / rest_length - across;
  for (int c = 0; c < 3; ++c) {
    for (int r = 0; r < 3; ++r) out.hessian(r, c) = along * (d.t[r] * d.t[c]);
    out.hessian(c, c) += across;
  }
  return out;
}

double stretch_energy(const Vector3d& e, double rest_length, double stiffness) noexcept {
  const double strain = Direction(e).length / rest_length - 1.0;
  return 0.5 * rest_length * (stiffness * strain) * strain;
}

Vector3d curvature_binormal(const Vector3d& e, const Vector3d& f) noexcept {
  const Turn turn(e, f);
  return (2.0 / turn.chi) * turn.sine;
}

VertexTerm bend_straight(const Vector3d& e, const Vector3d& f, double rest_length, double stiffness,
                         Hessian kind) noexcept {
  // E = k g(c), g = (1-c)/(1+c), g' = -2/(1+c)^2, g'' = 4/(1+c)^3; with a = tf - c te, b = te - c tf, P = I - t t^T:
  //   dc/de = a/|e|       d2c/de2  = -(te a^T + a te^T + c P_e)/|e|^2
  //   dc/df = b/|f|       d2c/dedf = P_e P_f/(|e||f|),  P_e P_f = I - te te^T - a tf^T
  const Turn turn(e, f);
  const double k = 2.0 * stiffness / rest_length, cosine = turn.c;
  const double inverse = 1.0 / turn.chi, first = -2.0 * k * inverse * inverse;
  const Vector3d a3 = cross(turn.sine, turn.e.t), b3 = cross(turn.f.t, turn.sine);
  VertexTerm out;
  out.energy = k * turn.tan2();
  out.gradient_e = (first * turn.e.inverse) * a3;
  out.gradient_f = (first * turn.f.inverse) * b3;

  const double ee = turn.e.inverse * turn.e.inverse, ef = turn.e.inverse * turn.f.inverse,
               ff = turn.f.inverse * turn.f.inverse;
  const Lanes te = lanes(turn.e.t), tf = lanes(turn.f.t);
  double diagonal_ee, diagonal_ef, diagonal_ff;
  if (kind == Hessian::exact) {
    const double second = -2.0 * first * inverse;
    const Lanes a = lanes(a3), b = lanes(b3);
    const Lanes a_ee = ee * (second * a - first * te), t_ee = ee * first * (cosine * te - a);
    const Lanes b_ff = ff * (second * b - first * tf), t_ff = ff * first * (cosine * tf - b);
    const Lanes a_ef = ef * (second * b - first * tf), t_ef = (-ef * first) * te;
    for (int c = 0; c < 3; ++c) {
      set_column(out.hessian_ee, c, a * a_ee[c] + te * t_ee[c]);
      set_column(out.hessian_ff, c, b * b_ff[c] + tf * t_ff[c]);
      set_column(out.hessian_ef, c, a * a_ef[c] + te * t_ef[c]);
    }
    diagonal_ee = -first * cosine * ee, diagonal_ff = -first * cosine * ff, diagonal_ef = first * ef;
  } else {
    // J^T J of kb = 2 te x tf/(1+c):  J_e = -(2 [tf] + kb s^T)/((1+c)|e|),  J_f = (2 [te] - kb s^T)/((1+c)|f|),
    // s = te + tf; and, as [tf]^T kb = p, [te]^T kb = q, [tf]^T [te] = c I - te tf^T, their products have closed forms.
    const double ss = 0.5 * k * inverse * inverse;
    const Vector3d kb = (2.0 * inverse) * turn.sine;
    const Lanes p = lanes(cross(kb, turn.f.t)), q = lanes(cross(kb, turn.e.t)), s = te + tf;
    const Lanes s_e = 2.0 * p + dot(kb, kb) * s, s_f = dot(kb, kb) * s - 2.0 * q;
    for (int c = 0; c < 3; ++c) {
      set_column(out.hessian_ee, c, ss * ee * (p * (2.0 * s[c]) + s * s_e[c] - tf * (4.0 * tf[c])));
      set_column(out.hessian_ff, c, ss * ff * (s * s_f[c] - q * (2.0 * s[c]) - te * (4.0 * te[c])));
      set_column(out.hessian_ef, c, ss * ef * (te * (4.0 * tf[c]) + p * (2.0 * s[c]) + s * s_f[c]));
    }
    diagonal_ee = 4.0 * ss * ee, diagonal_ff = 4.0 * ss * ff, diagonal_ef = -4.0 * ss * ef * cosine;
  }
  for (int c = 0; c < 3; ++c) {
    out.hessian_ee(c, c) += diagonal_ee;
    out.hessian_ff(c, c) += diagonal_ff;
    out.hessian_ef(c, c) += diagonal_ef;
  }
  return out;
}

double bend_straight_energy(const Vector3d& e, const Vector3d& f, double rest_length, double stiffness) noexcept {
  return 2.0 * stiffness / rest_length * Turn(e, f).tan2();
}

VertexTerm holonomy(const Vector3d& e, const Vector3d& f) noexcept {
  // Derivatives of kb/(2|e|), kb/(2|f|), symmetrised on the diagonal; s = (te + tf)/(1 + c):
  //   ee  -(kb (te + s)^T + (te + s) kb^T)/(4|e|^2)       ef  ([te]/(1 + c) - kb s^T/2)/(|e||f|)
  const Turn turn(e, f);
  const double inverse = 1.0 / turn.chi, ef = turn.e.inverse * turn.f.inverse;
  const Vector3d half = inverse * turn.sine;
  VertexTerm out;
  out.gradient_e = turn.e.inverse * half;
  out.gradient_f = turn.f.inverse * half;
  const Vector3d& te = turn.e.t;
  const Vector3d& tf = turn.f.t;
  const Vector3d s = inverse * (te + tf);
  const Vector3d s_e = (-0.5 * turn.e.inverse * turn.e.inverse) * (te + s),
                 s_f = (-0.5 * turn.f.inverse * turn.f.inverse) * (tf + s), s_ef = -ef * s;
  for (int c = 0; c < 3; ++c)
    for (int r = 0; r < 3; ++r) {
      out.hessian_ee(r, c) = half[r] * s_e[c] + s_e[r] * half[c];
      out.hessian_ff(r, c) = half[r] * s_f[c] + s_f[r] * half[c];
      out.hessian_ef(r, c) = half[r] * s_ef[c];
    }
  const Vector3d x = (ef * inverse) * te;
  out.hessian_ef(0, 1) -= x[2], out.hessian_ef(1, 0) += x[2];
  out.hessian_ef(0, 2) += x[1], out.hessian_ef(2, 0) -= x[1];
  out.hessian_ef(1, 2) -= x[0], out.hessian_ef(2, 1) += x[0];
  return out;
}

}  // namespace ligature::rod
