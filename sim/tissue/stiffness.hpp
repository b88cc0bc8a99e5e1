#pragma once
/// Second derivatives of a hexahedron's energy (tissue.hpp) where it is, made positive semidefinite.
///
///   K = g H g^T + gamma R C R^T gamma^T + barriers of the corners         H: 9 x 9, of the mean deformation's energy
///
/// Negative eigenvalues of H, and of a corner's barrier as a function of its three edges, are left out: blocks that
/// are each positive semidefinite add up to a matrix that is [Teran 2005]. Exact but for that, for how hourglass
/// vectors turn with R, and for what the viscous stress of the step so far adds.
#include <Eigen/Core>

#include "sim/tissue/element.hpp"

namespace ligature::tissue {

/// @param x corners, W [mm]; @param turn R: the rotation nearest to F, from the element's axes to W;
/// @param rest_corner Jacobians at rest, corner by corner [mm^3]; @param viscous relaxation / h
/// @return rows 3 i + axis [uN/mm]
Eigen::Matrix<double, 24, 24> stiffness_at(const ElementShape& shape, const Eigen::Matrix<double, 3, 8>& x,
                                           const Matrix3d& turn, const Eigen::Matrix<double, 8, 1>& rest_corner,
                                           double viscous);

}  // namespace ligature::tissue
