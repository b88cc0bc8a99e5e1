#include "sim/rod/energy.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

namespace ligature::rod {
namespace {

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

/// m(r, c) = entry(r, c), plus the diagonal.
template <class Entry>
void set(Matrix3d& m, double diagonal, const Entry& entry) {
  for (int c = 0; c < 3; ++c)
    for (int r = 0; r < 3; ++r) m(r, c) = r == c ? entry(r, c) + diagonal : entry(r, c);
}
template <class Entry>
void set_symmetric(Matrix3d& m, double diagonal, const Entry& entry) {
  for (int c = 0; c < 3; ++c) {
    m(c, c) = entry(c, c) + diagonal;
    for (int r = c + 1; r < 3; ++r) m(r, c) = m(c, r) = entry(r, c);
  }
}

// The turn from one edge to the next.
struct Turn {
  Direction e, f;
  Vector3d sine;      // te x tf: relatively exact however small the angle
  double c, inverse;  // cos, 1/(1 + cos)

  Turn(const Vector3d& edge_e, const Vector3d& edge_f)
      : e(edge_e), f(edge_f), sine(cross(e.t, f.t)), c(dot(e.t, f.t)), inverse(1.0 / std::max(1.0 + c, kFolded)) {}

  /// (1-c)/(1+c) = |kb|^2/4, 1-c without cancellation; grows up to the fold.
  double tan2() const { return (c > 0 ? dot(sine, sine) * inverse : 1.0 - c) * inverse; }

  /// Parallel transport from e to f: the rotation by the sine.
  Vector3d carried(const Vector3d& d) const { return c * d + cross(sine, d) + (inverse * dot(sine, d)) * sine; }
};

// The directors midway between those of e and of f, seen in e and carried to f. kb is normal to both edges and is not
// turned from one to the other, so that both see the same components of it.
struct Midway {
  Directors e, f;

  Midway(const Turn& turn, const Directors& de, double twist) {
    const double c = std::cos(0.5 * twist), s = std::sin(0.5 * twist);
    e = {c * de.d1 + s * de.d2, c * de.d2 - s * de.d1};
    f = {turn.carried(e.d1), turn.carried(e.d2)};
  }
  /// kb.d2, -kb.d1 with kb = 2 te x tf/(1+c); d x t is the other director.
  Eigen::Vector2d curvature(const Turn& turn) const {
    return {turn.inverse * (dot(turn.f.t, e.d1) - dot(turn.e.t, f.d1)),
            turn.inverse * (dot(turn.f.t, e.d2) - dot(turn.e.t, f.d2))};
  }
};

}  // namespace

EdgeTerm stretch(const Vector3d& e, double rest_length, double stiffness, Hessian kind) noexcept {
  const Direction d(e);
  const double strain = d.length / rest_length - 1.0, tension = stiffness * strain;
  EdgeTerm out;
  out.energy = 0.5 * rest_length * tension * strain;
  out.gradient = tension * d.t;
  if (kind == Hessian::none) return out;
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
  return (2.0 * turn.inverse) * turn.sine;
}

VertexTerm bend_straight(const Vector3d& e, const Vector3d& f, double rest_length, double stiffness,
                         Hessian kind) noexcept {
  // E = k g(c), g = (1-c)/(1+c), g' = -2/(1+c)^2, g'' = 4/(1+c)^3; with a = tf - c te, b = te - c tf, P = I - t t^T:
  //   dc/de = a/|e|       d2c/de2  = -(te a^T + a te^T + c P_e)/|e|^2
  //   dc/df = b/|f|       d2c/dedf = P_e P_f/(|e||f|),  P_e P_f = I - te te^T - a tf^T
  const Turn turn(e, f);
  const double k = 2.0 * stiffness / rest_length, cosine = turn.c;
  const double inverse = turn.inverse, first = -2.0 * k * inverse * inverse;
  const Vector3d a = cross(turn.sine, turn.e.t), b = cross(turn.f.t, turn.sine);
  VertexTerm out;
  out.energy = k * turn.tan2();
  out.gradient_e = (first * turn.e.inverse) * a;
  out.gradient_f = (first * turn.f.inverse) * b;
  if (kind == Hessian::none) return out;

  const double ee = turn.e.inverse * turn.e.inverse, ef = turn.e.inverse * turn.f.inverse,
               ff = turn.f.inverse * turn.f.inverse;
  const Vector3d &te = turn.e.t, &tf = turn.f.t;
  if (kind == Hessian::exact) {
    const double second = -2.0 * first * inverse, round = -first * cosine;
    const Vector3d a_e = ee * (second * a - first * te), t_e = (ee * first) * (cosine * te - a);
    const Vector3d b_f = ff * (second * b - first * tf), t_f = (ff * first) * (cosine * tf - b);
    const Vector3d a_f = ef * (second * b - first * tf), t_ef = (ef * first) * te;
    set_symmetric(out.hessian_ee, ee * round, [&](int r, int c) { return a[r] * a_e[c] + te[r] * t_e[c]; });
    set_symmetric(out.hessian_ff, ff * round, [&](int r, int c) { return b[r] * b_f[c] + tf[r] * t_f[c]; });
    set(out.hessian_ef, ef * first, [&](int r, int c) { return a[r] * a_f[c] - te[r] * t_ef[c]; });
  } else {
    // J^T J of kb = 2 te x tf/(1+c):  J_e = -(2 [tf] + kb s^T)/((1+c)|e|),  J_f = (2 [te] - kb s^T)/((1+c)|f|),
    // s = te + tf; and, as [tf]^T kb = p, [te]^T kb = q, [tf]^T [te] = c I - te tf^T, their products have closed forms.
    const double ss = 0.5 * k * inverse * inverse, s_ee = ss * ee, s_ff = ss * ff, s_ef = ss * ef;
    const Vector3d kb = (2.0 * inverse) * turn.sine, s = te + tf, p = 2.0 * cross(kb, tf), q = 2.0 * cross(kb, te);
    const Vector3d s_e = p + dot(kb, kb) * s, s_f = dot(kb, kb) * s - q, te4 = 4.0 * te, tf4 = 4.0 * tf;
    set_symmetric(out.hessian_ee, 4.0 * s_ee,
                  [&](int r, int c) { return s_ee * (p[r] * s[c] + s[r] * s_e[c] - tf[r] * tf4[c]); });
    set_symmetric(out.hessian_ff, 4.0 * s_ff,
                  [&](int r, int c) { return s_ff * (s[r] * s_f[c] - q[r] * s[c] - te[r] * te4[c]); });
    set(out.hessian_ef, -4.0 * s_ef * cosine,
        [&](int r, int c) { return s_ef * (te[r] * tf4[c] + p[r] * s[c] + s[r] * s_f[c]); });
  }
  return out;
}

double bend_straight_energy(const Vector3d& e, const Vector3d& f, double rest_length, double stiffness) noexcept {
  return 2.0 * stiffness / rest_length * Turn(e, f).tan2();
}

VertexTerm holonomy(const Vector3d& e, const Vector3d& f, Hessian kind) noexcept {
  // Derivatives of kb/(2|e|), kb/(2|f|), symmetrised on the diagonal; s = (te + tf)/(1 + c):
  //   ee  -(kb (te + s)^T + (te + s) kb^T)/(4|e|^2)       ef  ([te]/(1 + c) - kb s^T/2)/(|e||f|)
  const Turn turn(e, f);
  const double inverse = turn.inverse, ef = turn.e.inverse * turn.f.inverse;
  const Vector3d half = inverse * turn.sine;
  VertexTerm out;
  out.gradient_e = turn.e.inverse * half;
  out.gradient_f = turn.f.inverse * half;
  if (kind != Hessian::exact) return out;
  const Vector3d& te = turn.e.t;
  const Vector3d& tf = turn.f.t;
  const Vector3d s = inverse * (te + tf);
  const Vector3d s_e = (-0.5 * turn.e.inverse * turn.e.inverse) * (te + s),
                 s_f = (-0.5 * turn.f.inverse * turn.f.inverse) * (tf + s), s_ef = -ef * s;
  set_symmetric(out.hessian_ee, 0.0, [&](int r, int c) { return half[r] * s_e[c] + s_e[r] * half[c]; });
  set_symmetric(out.hessian_ff, 0.0, [&](int r, int c) { return half[r] * s_f[c] + s_f[r] * half[c]; });
  set(out.hessian_ef, 0.0, [&](int r, int c) { return half[r] * s_ef[c]; });
  const Vector3d x = (ef * inverse) * te;
  out.hessian_ef(0, 1) -= x[2], out.hessian_ef(1, 0) += x[2];
  out.hessian_ef(0, 2) += x[1], out.hessian_ef(2, 0) -= x[1];
  out.hessian_ef(1, 2) -= x[0], out.hessian_ef(2, 1) += x[0];
  return out;
}

Eigen::Vector2d material_curvature(const Vector3d& e, const Vector3d& f, const Directors& de, double twist) noexcept {
  const Turn turn(e, f);
  return Midway(turn, de, twist).curvature(turn);
}

JointTerm joint(const Vector3d& e, const Vector3d& f, const Directors& of_e, double twist, const JointLaw& law,
                Hessian kind) noexcept {
  const Turn turn(e, f);
  const Midway midway(turn, of_e, twist);
  const Directors &de = midway.e, &df = midway.f;
  const Vector3d &te = turn.e.t, &tf = turn.f.t;
  const double c = turn.c, inverse = turn.inverse, ie = turn.e.inverse, jf = turn.f.inverse;
  const Eigen::Vector2d k = midway.curvature(turn);
  const double bend = law.bend_stiffness / law.rest_length, torsion = law.twist_stiffness / law.rest_length;
  const Eigen::Vector2d off = k - law.rest_curvature, w = bend * off;
  const double moment = torsion * (twist - law.rest_twist);
  // tf and te without their part along the other; as the sine has it, small angles keep their digits.
  const Vector3d a = cross(turn.sine, te), b = cross(tf, turn.sine);

  // k_a = (tf.d - te.h)/(1 + c) with d = d_a midway in e, h the same in f. An edge that moves its tangent by v carries
  // d to d - (d.v) t - (d.v) v/2, hence, r = dd/dangle and P = I - t t^T,
  //   dk/dte = A = P_e(-c d - h - k tf)/(1 + c)       by the angle of d  tf.r_e/(1 + c)
  //   dk/dtf = B = P_f( d + c h - k te)/(1 + c)       by the angle of h -te.r_f/(1 + c)
  // These angles are theta_e + m/2 and theta_f - m/2. Both derivatives by them are the same, their difference D = 0,
  // since h is d carried over: m does not show in the first derivatives by the edges, and each theta has half the sum.
  const auto along_e = [&](const Vector3d& d, const Vector3d& h, double value) -> Vector3d {
    return inverse * (-c * d - h + dot(h, te) * te - value * a);
  };
  const auto along_f = [&](const Vector3d& d, const Vector3d& h, double value) -> Vector3d {
    return inverse * (d - dot(d, tf) * tf + c * h - value * b);
  };
  Eigen::Matrix<double, 8, 3> J;
  const auto strain = [&](int column, const Vector3d& by_e, const Vector3d& by_f, double theta_e, double theta_f) {
    for (int r = 0; r < 3; ++r) J(r, column) = ie * by_e[r], J(3 + r, column) = jf * by_f[r];
    J(6, column) = theta_e, J(7, column) = theta_f;
  };
  const double by_0 = 0.5 * inverse * (dot(tf, de.d2) - dot(te, df.d2));
  const double by_1 = 0.5 * inverse * (dot(te, df.d1) - dot(tf, de.d1));
  strain(0, along_e(de.d1, df.d1, k[0]), along_f(de.d1, df.d1, k[0]), by_0, by_0);
  strain(1, along_e(de.d2, df.d2, k[1]), along_f(de.d2, df.d2, k[1]), by_1, by_1);
  strain(2, inverse * turn.sine, inverse * turn.sine, -1.0, 1.0);

  JointTerm out;
  out.bend_energy = 0.5 * bend * off.squaredNorm();
  out.twist_energy = 0.5 * moment * (twist - law.rest_twist);
  out.energy = out.bend_energy + out.twist_energy;
  out.gradient = w[0] * J.col(0) + w[1] * J.col(1) + moment * J.col(2);
  if (kind == Hessian::none) return out;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j <= i; ++j)
      out.hessian(i, j) = bend * (J(i, 0) * J(j, 0) + J(i, 1) * J(j, 1)) + torsion * (J(i, 2) * J(j, 2));

  if (kind == Hessian::exact) {
    // Second derivatives of k are linear in the directors, so that w.k'' is that of one director w.d. With A, B as
    // above, a = P_e tf, b = P_f te:
    //   ee  -((d/2 + A) a^T + a (d/2 + A)^T)/(1 + c) - (te A^T + A te^T) + (h.te + k c)/(1 + c) P_e         over |e|^2
    //   ff   ((h/2 - B) b^T + b (h/2 - B)^T)/(1 + c) - (tf B^T + B tf^T) - (d.tf - k c)/(1 + c) P_f         over |f|^2
    //   ef  (-(d + A) b^T + a (h - B)^T - k P_e P_f)/(1 + c),  P_e P_f = I - te te^T - a tf^T               over |e||f|
    const Vector3d d = w[0] * de.d1 + w[1] * de.d2, r = w[0] * de.d2 - w[1] * de.d1;
    const Vector3d h = w[0] * df.d1 + w[1] * df.d2, q = w[0] * df.d2 - w[1] * df.d1;
    const double value = w.dot(k), value_e = inverse * dot(tf, r), value_f = -inverse * dot(te, q);
    const Vector3d A = along_e(d, h, value), B = along_f(d, h, value);
    const double around_e = inverse * (dot(h, te) + value * c), around_f = inverse * (dot(d, tf) - value * c);
    const Vector3d A_a = inverse * (0.5 * d + A), B_b = inverse * (0.5 * h - B);
    const Vector3d d_b = inverse * (d + A), h_a = inverse * (h - B);
    const Vector3d zero = Vector3d::Zero();
    const VertexTerm turned = holonomy(e, f);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const double one = i == j ? 1.0 : 0.0;
        const double ef = a[i] * h_a[j] - d_b[i] * b[j] - inverse * value * (one - te[i] * te[j] - a[i] * tf[j]);
        out.hessian(3 + j, i) += ie * jf * ef + moment * turned.hessian_ef(i, j);
        if (j > i) continue;
        const double ee =
            around_e * (one - te[i] * te[j]) - (A_a[i] * a[j] + a[i] * A_a[j]) - (te[i] * A[j] + A[i] * te[j]);
        const double ff =
            B_b[i] * b[j] + b[i] * B_b[j] - around_f * (one - tf[i] * tf[j]) - (tf[i] * B[j] + B[i] * tf[j]);
        out.hessian(i, j) += ie * ie * ee + moment * turned.hessian_ee(i, j);
        out.hessian(3 + i, 3 + j) += jf * jf * ff + moment * turned.hessian_ff(i, j);
      }
    // With theta: half of that of tf.r_e and of -te.r_f. Turned twice d is reversed, by theta_e and theta_f half each;
    // m shows as k dm dm^T/4, from the derivative of D = 0.
    const Vector3d theta_e = 0.5 * ie * (along_e(r, zero, value_e) + along_e(zero, q, value_f));
    const Vector3d theta_f = 0.5 * jf * (along_f(r, zero, value_e) + along_f(zero, q, value_f));
    const double quarter = 0.25 * value;
    for (int i = 0; i < 3; ++i)
      for (int angle = 6; angle < 8; ++angle)
        out.hessian(angle, i) += theta_e[i], out.hessian(angle, 3 + i) += theta_f[i];
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j <= i; ++j) out.hessian(i, j) += quarter * J(i, 2) * J(j, 2);
    out.hessian(6, 6) -= quarter;
    out.hessian(7, 6) -= quarter;
    out.hessian(7, 7) -= quarter;
  }
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < i; ++j) out.hessian(j, i) = out.hessian(i, j);
  return out;
}

double joint_energy(const Vector3d& e, const Vector3d& f, const Directors& de, double twist,
                    const JointLaw& law) noexcept {
  const double off = twist - law.rest_twist;
  return 0.5 * (law.bend_stiffness / law.rest_length) *
             (material_curvature(e, f, de, twist) - law.rest_curvature).squaredNorm() +
         0.5 * (law.twist_stiffness / law.rest_length * off) * off;
}

Vector3d clamp_torque(const Vector3d& tangent, const Vector3d& gradient, double moment) noexcept {
  return cross(tangent, gradient) + moment * tangent;
}

}  // namespace ligature::rod
