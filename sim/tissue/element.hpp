#pragma once
/// One hexahedron at rest, reduced to what its forces need: a mean deformation and four hourglass vectors.
///
/// The displacement of eight nodes splits into an affine part, F = sum x_i g_i^T, and hourglass vectors q_a = sum
/// gamma_a,i x_i that no affine motion changes [Flanagan 1981]. A stiffness that passes the patch test is block
/// diagonal in the two:
///
///   K = V g D g^T  +  gamma C gamma^T            D: elastic law, C: 12 x 12, resistance to bending and warping
///
/// C comes from the trilinear element with 15 enhanced assumed strains, condensed [Simo 1990; modes of Andelfinger
/// 1993]: it neither locks in bending (one layer through a thin wall is enough) nor at Poisson's ratios near 0.5. Of
/// that element only C is taken, so that the patch test is passed by construction.
///
///        7------6        nodes i and the signs of (xi, eta, zeta) at them:
///       /|     /|        0 ---   1 +--   2 ++-   3 -+-
///      4------5 |        4 --+   5 +-+   6 +++   7 -++
///      | 3----|-2
///      0------1
#include <Eigen/Core>
#include <Eigen/Geometry>
#include <array>
#include <cstdint>
#include <optional>

namespace ligature::tissue {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Hexahedron = std::array<std::uint32_t, 8>;

/// Of a corner: the three it is joined to, anticlockwise seen from inside, so that a right-handed cube has det > 0.
inline constexpr int kJoined[8][3] = {{1, 3, 4}, {2, 0, 5}, {3, 1, 6}, {0, 2, 7},
                                      {7, 5, 0}, {4, 6, 1}, {5, 7, 2}, {6, 4, 3}};

// Corners: a barrier on j, their Jacobian over that at rest. b(j) = (kGuarded - j)^3 / j below kGuarded, from kSolid
// down its tangent, so that it is finite where a corner is inside out. At kSolid a corner of a wall of 0.1 mm is pushed
// with 30 N, at 0.025 with 0.1 N.
inline constexpr double kGuarded = 0.3;
inline constexpr double kSolid = 1e-3;

struct ElementShape {
  Eigen::Matrix<double, 3, 8> gradient;   ///< g: mean gradient of the shape functions, in the element's axes [1/mm]
  Eigen::Matrix<double, 4, 8> hourglass;  ///< gamma, no unit
  Eigen::Matrix<double, 12, 12> bending;  ///< C, rows 3 a + axis [uN/mm]
  Eigen::Matrix<double, 8, 1> share;      ///< of the volume, that each node has
  double volume = 0;                      ///< V [mm^3]
  double mu = 0, lambda = 0;              ///< Lame's constants [Pa]
  Matrix3d axes = Matrix3d::Identity();   ///< the element's axes at rest in W, one a column
};

/// @param corners at rest, W [mm]; @param young [Pa]; @param poisson below 0.5
/// @return nothing where the map from the cube turns inside out somewhere (a corner's Jacobian is not positive)
std::optional<ElementShape> element_shape(const Eigen::Matrix<double, 3, 8>& corners, double young, double poisson);

/// K of the element at rest, in W's axes, rows 3 i + axis [uN/mm].
Eigen::Matrix<double, 24, 24> rest_stiffness(const ElementShape& shape);

/// Least Jacobian determinant of the eight corners, over that of the rest shape there: 1 at rest, <= 0 inside out.
double least_jacobian(const Eigen::Matrix<double, 3, 8>& corners, const Eigen::Matrix<double, 3, 8>& rest);

}  // namespace ligature::tissue
