#pragma once
/// Elastic energies of a discrete rod, each with its gradient and its Hessian, in one place.
///
///        e = x1 - x0      f = x2 - x1
///   x0 o----------> x1 o----------> o x2       l rest length of the vertex: (|e|_0 + |f|_0)/2
///
///   stretch  E = EA l0/2 (|e|/l0 - 1)^2        l0 rest length of the edge
///   bend     E = EI/(2 l) |kb - kb0|^2         kb = 2 e x f / (|e||f| + e.f), |kb| = 2 tan(angle/2)
///   twist    E = GJ/(2 l) (m - m0)^2           m angle of the material frame against the parallel-transported one
///
/// kb is the curvature binormal.
///
/// Source: [Bergou 2008] sections 4-5, [Bergou 2010] for material components and second derivatives; thesis 3.3.4 to
/// 3.3.6, whose bending uses the distance of tangents (2 sin(angle/2)) instead.
///
/// A held frame (clamp) prescribes the tangent at a vertex: an element of half a segment, of the same energies with
/// l = l0/2, joins it to each neighbouring edge; the held tangent then stands for e or f and only the other one moves.
/// (Holding the first edge instead would shorten a beam by half a segment.)
///
/// Each Hessian comes in two kinds, or not at all (`none`: it must not be read). `exact`: the second derivatives,
/// symmetric, indefinite under compression or far from rest. `positive`: a positive semidefinite substitute, equal to
/// the exact one at rest: bending keeps J^T J (Gauss-Newton), stretching drops the geometric part of a compressed edge,
/// the holonomy contributes nothing (thesis 3.3.3 clamps for the same reason). An edge shorter than 1e-30 mm has no
/// direction: no force acts on it. A turn within 1e-4 rad of the fold has the energy of its angle and bounded
/// derivatives. Units: mm, uN, hence uN mm for energies. All functions: @rt constant time, no allocation.
#include <Eigen/Core>

namespace ligature::rod {

using Eigen::Matrix3d;
using Eigen::Vector3d;

enum class Hessian { exact, positive, none };

/// Derivatives of an energy of one edge vector e: E, dE/de, d2E/de2.
struct EdgeTerm {
  double energy = 0;
  Vector3d gradient;
  Matrix3d hessian;
};

/// Derivatives with respect to two consecutive edges e, f. hessian_ef = d2E/de df: row e, column f.
struct VertexTerm {
  double energy = 0;
  Vector3d gradient_e, gradient_f;
  Matrix3d hessian_ee, hessian_ef, hessian_ff;
};

/// @param stiffness EA [uN]
EdgeTerm stretch(const Vector3d& e, double rest_length, double stiffness, Hessian kind) noexcept;

double stretch_energy(const Vector3d& e, double rest_length, double stiffness) noexcept;

/// kb of two edges; zero for parallel ones, bounded by 3e4 as they fold back.
Vector3d curvature_binormal(const Vector3d& e, const Vector3d& f) noexcept;

/// Rest shape straight; needs no frames. @param stiffness EI [uN mm^2]
VertexTerm bend_straight(const Vector3d& e, const Vector3d& f, double rest_length, double stiffness,
                         Hessian kind) noexcept;

double bend_straight_energy(const Vector3d& e, const Vector3d& f, double rest_length, double stiffness) noexcept;

/// The holonomy part of m: its value changes with e and f by these (its value itself is followed by Twist).
/// energy is not used. Gradient kb/(2|e|), kb/(2|f|) [Bergou 2008] eq. 10; Hessian [Bergou 2010] appendix: that of the
/// function m(x) whose frames are carried straight from this state to x. The derivative of the gradient field itself
/// has an antisymmetric part more in ee and ff, since a director carried around a loop turns; it does no work.
/// @param kind exact, or the gradient alone
VertexTerm holonomy(const Vector3d& e, const Vector3d& f, Hessian kind = Hessian::exact) noexcept;

/// Material directors of an edge: d1, d2 = t x d1, unit, normal to it.
struct Directors {
  Vector3d d1, d2;
};

/// Components of kb along the directors midway between those of e and of f: k1 = kb.d2, k2 = -kb.d1. Those of f are
/// those of e, carried over and turned by the twist m; midway lies half of it. (The mean of both, as in [Bergou 2008],
/// is cos(m/2) long: it would make a twisted thread softer.) @param de of e @param twist m [rad]
Eigen::Vector2d material_curvature(const Vector3d& e, const Vector3d& f, const Directors& de, double twist) noexcept;

/// Constants of one joint in the frame formulation.
struct JointLaw {
  double rest_length = 0;                ///< l [mm]
  double bend_stiffness = 0;             ///< EI [uN mm^2]
  double twist_stiffness = 0;            ///< GJ [uN mm^2]
  Eigen::Vector2d rest_curvature{0, 0};  ///< kb0 in material components
  double rest_twist = 0;                 ///< m0 [rad]
};

/// Derivatives of bend + twist of one joint with respect to (e, f, theta_e, theta_f), in this order.
struct JointTerm {
  double energy = 0, bend_energy = 0, twist_energy = 0;
  Eigen::Matrix<double, 8, 1> gradient;
  Eigen::Matrix<double, 8, 8> hessian;
};

/// Frames as unknowns: the directors turn with theta and move with their edges by parallel transport.
/// @param de of e; those of f follow from the twist
/// @param twist m at this state [rad] (dm/dtheta_e = -1, dm/dtheta_f = 1, dm/de and dm/df as in holonomy())
JointTerm joint(const Vector3d& e, const Vector3d& f, const Directors& de, double twist, const JointLaw& law,
                Hessian kind) noexcept;

double joint_energy(const Vector3d& e, const Vector3d& f, const Directors& de, double twist,
                    const JointLaw& law) noexcept;

/// Torque [uN mm] that a held frame exerts on the thread through one half element: the derivative of the energy when
/// tangent and director turn together. Both halves of a clamp add up.
///   joint()        gradient = its rows of the held tangent, moment = its row of the held theta
///   bend_straight  gradient = dE/dt of the held tangent + M times that of holonomy(), moment = M behind the joint
///                  (tangent stands for f), -M before it (for e); M = GJ/l (m - m0)
/// @param tangent unit @param gradient dE/d tangent [uN mm] @param moment dE/d theta [uN mm]
Vector3d clamp_torque(const Vector3d& tangent, const Vector3d& gradient, double moment) noexcept;

}  // namespace ligature::rod
