#pragma once
/// One thread: its constants, its state, and the elastic forces assembled over all of it.
#include <Eigen/Core>
#include <vector>

#include "sim/rod_old/band.hpp"
#include "sim/rod_old/energy.hpp"
#include "sim/rod_old/twist.hpp"

namespace ligature::rod_old {

/// Constants of an open rod with n vertices and n-1 edges.
struct RodModel {
  double radius = 0;                            ///< [mm]
  double stretch_stiffness = 0;                 ///< EA [uN]
  double bend_stiffness = 0;                    ///< EI [uN mm^2]
  double twist_stiffness = 0;                   ///< GJ [uN mm^2]
  double rest_length = 0;                       ///< of every edge [mm]
  std::vector<double> mass;                     ///< of each vertex; 0 = low-mass integrator [g]          (n)
  std::vector<double> weight_mass;              ///< what gravity acts on [g]                             (n)
  std::vector<double> drag;                     ///< force per velocity of each vertex [uN s/mm]          (n)
  std::vector<Eigen::Vector2d> rest_curvature;  ///< material components at each vertex; empty = straight (n)

  std::size_t vertices() const { return drag.size(); }
};

/// What moves.
struct RodState {
  std::vector<Vector3d> x;   ///< p_WV_W [mm]                                                      (n)
  std::vector<Vector3d> v;   ///< [mm/s]                                                           (n)
  std::vector<double> ease;  ///< extra drag that lets a released vertex go gently [uN s/mm]       (n)
  Twist twist;               ///< frames
};

/// Energy of stretch and bend at x [uN mm].
double elastic_energy(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist) noexcept;

/// Adds dE/dx of stretch and bend to gradient and their positive semidefinite Hessian to band.
/// gradient: (n). @rt O(n), no allocation
void add_elastic(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist,
                 std::vector<Vector3d>& gradient, BlockBand& band) noexcept;

/// Adds dE/dx of twist, the moments as they are. (Its Hessian is dense and indefinite: it is left out of the step.)
/// gradient: (n). @rt O(n), no allocation
void add_twist(const std::vector<Vector3d>& x, const Twist& twist, std::vector<Vector3d>& gradient) noexcept;

}  // namespace ligature::rod_old
