#pragma once
/// Elastic energies of a discrete rod, each with its gradient and a positive semidefinite Hessian, in one place.
///
///        e = x1 - x0      f = x2 - x1
///   x0 o----------> x1 o----------> o x2       l0 rest length of an edge, l = (|e|_0 + |f|_0)/2 rest length of a
///   vertex
///
///   stretch  E = EA l0/2 (|e|/l0 - 1)^2
///   bend     E = EI/(2 l) |kb - kb0|^2,   kb = 2 e x f / (|e||f| + e.f)   curvature binormal, |kb| = 2 tan(angle/2)
///   twist    E = GJ/(2 l) m^2,            m the angle of the material frame against the parallel-transported one
///
/// Source: [Bergou 2008] sections 4-5, [Bergou 2010] for the material components of kb; thesis 3.3.4 to 3.3.6, whose
/// bending uses the distance of tangents (2 sin(angle/2)) instead.
///
/// Hessians are not the exact second derivatives: bending keeps J^T J (Gauss-Newton), stretching drops the geometric
/// part of a compressed edge. Both are exact at rest and positive semidefinite everywhere, so that the implicit step
/// cannot jump (thesis 3.3.3 clamps for the same reason).
/// Units: mm, uN, hence uN mm for energies. All functions: @rt constant time, no allocation.
#include <Eigen/Core>

namespace ligature::rod_old {

using Eigen::Matrix3d;
using Eigen::Vector3d;

/// Derivatives of an energy of one edge vector e: E, dE/de, and the 3x3 (clamped) d2E/de2.
struct EdgeTerm {
  double energy = 0;
  Vector3d gradient;
  Matrix3d hessian;
};

/// Derivatives with respect to two consecutive edges e, f. hessian_ef = d2E/de df.
struct VertexTerm {
  double energy = 0;
  Vector3d gradient_e, gradient_f;
  Matrix3d hessian_ee, hessian_ef, hessian_ff;
};

/// @param stiffness EA [uN]
EdgeTerm stretch(const Vector3d& e, double rest_length, double stiffness) noexcept;

double stretch_energy(const Vector3d& e, double rest_length, double stiffness) noexcept;

/// kb of two edges; zero for parallel ones, unbounded as they fold back.
Vector3d curvature_binormal(const Vector3d& e, const Vector3d& f) noexcept;

/// Rest shape straight; needs no frames. @param stiffness EI [uN mm^2]
VertexTerm bend_straight(const Vector3d& e, const Vector3d& f, double rest_length, double stiffness) noexcept;

double bend_straight_energy(const Vector3d& e, const Vector3d& f, double rest_length, double stiffness) noexcept;

/// Material directors of an edge: d1, d2 = t x d1, unit, normal to it.
struct Directors {
  Vector3d d1, d2;
};

/// Components of kb along the averaged directors: k1 = kb.(d2e + d2f)/2, k2 = -kb.(d1e + d1f)/2.
Eigen::Vector2d material_curvature(const Vector3d& e, const Vector3d& f, const Directors& de,
                                   const Directors& df) noexcept;

/// Rest shape curved: kb0 given by its material components. Directors move by parallel transport with their edges.
VertexTerm bend_curved(const Vector3d& e, const Vector3d& f, const Directors& de, const Directors& df,
                       const Eigen::Vector2d& rest_curvature, double rest_length, double stiffness) noexcept;

/// Derivative of the holonomy angle (of m) with respect to e and f: kb/(2|e|), kb/(2|f|). [Bergou 2008] eq. 10
struct TwistGradient {
  Vector3d e, f;
};
TwistGradient twist_gradient(const Vector3d& e, const Vector3d& f) noexcept;

}  // namespace ligature::rod_old
