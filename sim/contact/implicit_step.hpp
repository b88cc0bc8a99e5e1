#pragma once
/// One implicit step of one thread with everything that touches it: find x with
///
///   m/dt^2 (x - x0 - v0 dt) + c/dt (x - x0) + dE/dx(x) - m g = sum of constraint forces(x)
///
/// m = 0 gives the thesis's low-mass integrator (drag * velocity = force), m > 0 implicit Euler. Newton's method on the
/// elastic energy and on the augmented Lagrangian of the constraints at once: an iteration is one assembly, one banded
/// factorisation and one solve; then the multipliers move. Bounded iterations; the displacement of a vertex in one
/// step is bounded too, so a step cannot explode.
/// Differs from the thesis (one linear solve, then a projected iteration on the coupling matrix): contacts with rigid
/// bodies never leave the band, so the coupling matrix is not needed here.
#include <Eigen/Core>
#include <vector>

#include "sim/contact/constraint.hpp"
#include "sim/rod_old/band.hpp"
#include "sim/rod_old/rod.hpp"

namespace ligature::contact {

struct StepSettings {
  double dt = 0.005;              ///< [s]
  Vector3d gravity{0, 0, 0};      ///< [mm/s^2]
  int iterations = 8;             ///< linear solves at most
  double residual_target = 1e-6;  ///< relative to the load
  double travel_limit = 5.0;      ///< of a vertex in one step [mm]
};

struct StepOutcome {
  int iterations = 0;   ///< linear solves spent
  double residual = 0;  ///< worst of: force imbalance of a vertex, change of a multiplier; over the load
  double load = 0;      ///< largest of: weight of a vertex, constraint force [uN]
  bool converged = false;
  bool limited = false;  ///< the travel limit cut in
  bool finite = true;
};

/// Workspace; takes all memory in the constructor.
class ImplicitStep {
 public:
  ImplicitStep(std::size_t most_vertices, std::size_t most_constraints);

  /// Moves state.x (from the x of the step before, kept in x0 by the caller) and the constraints' forces.
  /// Velocities and frames are the caller's. x0, state.x: (n); constraints: (count)
  /// @rt bounded by iterations * (n + count), no allocation
  StepOutcome solve(const rod_old::RodModel& model, const std::vector<Vector3d>& x0, rod_old::RodState& state,
                    Constraint* constraints, std::size_t count, const StepSettings& settings) noexcept;

 private:
  struct Imbalance {
    double vertex = 0, multiplier = 0;  ///< [uN]
    bool finite = true;
  };
  Imbalance assemble(const rod_old::RodModel& model, const std::vector<Vector3d>& x0, const rod_old::RodState& state,
                     Constraint* constraints, std::size_t count, const StepSettings& settings) noexcept;

  /// What the solve minimises, with bounds and multipliers as they are: sum of energies [uN mm].
  double merit(const rod_old::RodModel& model, const std::vector<Vector3d>& x0, const rod_old::RodState& state,
               const std::vector<Vector3d>& x, const Constraint* constraints, std::size_t count,
               const StepSettings& settings) const noexcept;

  std::vector<Vector3d> trial_;      ///< x to be judged      (n)
  std::vector<Vector3d> twist_;      ///< dE/dx of twist [uN]  (n)
  std::vector<Vector3d> gradient_;   ///< dPhi/dx [uN]       (n)
  std::vector<Response> responses_;  ///< of this iteration (count)
  rod_old::BlockBand band_;
};

}  // namespace ligature::contact
