#pragma once
/// Deformable tissue: hexahedra, implicit Euler, one bounded minimisation a step.
///
/// A step's positions minimise, over the free nodes,
///
///   Phi(x) = sum_i m_i/2 (|x_i - x0_i - h v0_i|^2 / h^2 + drag |x_i - x0_i|^2 / h) - f.x + E(x) + D(x; x0)
///
///   E = sum_e V (mu |F - R|^2 + lambda/2 (det F - 1)^2) + 1/2 sum_ab (R^T q_a) . C_ab (R^T q_b)
///
/// F: an element's mean deformation, R: the rotation nearest to it, q: its hourglass vectors (element.hpp). The first
/// two terms are the fixed corotated law [Stomakhin 2012]: linear elasticity for small strains, volume kept at large
/// ones, finite for an element turned inside out, which it turns back. D is the same with the change of R^T F and R^T q
/// since the start of the step, times relaxation / h (Kelvin-Voigt). The gradient is exact, the derivative of R in it
/// too, so that inner forces have neither resultant nor moment.
///
/// Minimised by L-BFGS [Nocedal 1980] from the inverse of the Hessian at rest, factored once and turned by the nodes'
/// rotations [Courtecuisse 2010; Liu 2017]: A^-1 ~ R A0^-1 R^T. Every move lowers Phi (backtracking), so no step is
/// unstable, converged or not; what is left over is the residual, and the next step goes on from there.
///
/// A contact solver may come between: within one step forces -> solve() -> positions as often as it likes, with
/// compliance() as what a force at one node does to another in this step.
#include <Eigen/Core>
#include <memory>
#include <span>
#include <vector>

#include "sim/base/hash.hpp"
#include "sim/base/result.hpp"
#include "sim/tissue/model.hpp"

namespace ligature::tissue {

struct TissueSettings {
  double dt = 0.005;              ///< h [s]
  int iterations = 3;             ///< linear solves that one solve() takes at most
  double residual_target = 1e-6;  ///< largest force out of balance over the largest force in an element
  Vector3d gravity{0, 0, 0};      ///< W [mm/s^2]
};

/// Of the last solve(), and of a step the worst of its solves.
struct TissueReport {
  int iterations = 0;         ///< linear solves
  double residual = 0;        ///< largest force out of balance at a node [uN]
  double scale = 0;           ///< largest force of an element or of the load on a node [uN]
  int inverted = 0;           ///< elements with a corner inside out
  double least_jacobian = 1;  ///< of all corners, over that at rest
  bool converged = true, finite = true;
};

class Tissue {
 public:
  /// Factors the matrix at rest and takes all memory.
  /// @return an error when an element is inside out, a number is out of range or not finite, or nodes hang in the air
  static Result<Tissue> create(TissueModel model, const TissueSettings& settings = {});
  Tissue(Tissue&&) noexcept;
  Tissue& operator=(Tissue&&) noexcept;
  ~Tissue();

  // ---- what it is
  std::size_t nodes() const noexcept;
  std::size_t elements() const noexcept;
  const TissueModel& model() const noexcept;
  std::span<const SurfaceTriangle> surface() const noexcept;
  bool fixed(std::uint32_t node) const noexcept;
  double mass(std::uint32_t node) const noexcept;  ///< [g]

  // ---- where it is: W, mm and mm/s
  const std::vector<Vector3d>& x() const noexcept;   ///< now, also within a step                       (n)
  const std::vector<Vector3d>& x0() const noexcept;  ///< at the start of the step                      (n)
  const std::vector<Vector3d>& v() const noexcept;   ///< at the start of the step; of the last between (n)
  double elastic_energy() const noexcept;            ///< E at x() [uN mm]
  /// Its gradient, too, minus which are the inner forces [uN]. @param gradient of n vectors, written whole
  double elastic_energy(std::vector<Vector3d>& gradient) const noexcept;
  double kinetic_energy() const noexcept;
  double volume() const noexcept;  ///< sum over elements of V det F [mm^3]

  // ---- one step; @rt all of it: bounded, no allocation, no exception
  /// Remembers where it is, for undo() and end_step(), and takes all forces away.
  void begin_step() noexcept;
  void clear_forces() noexcept;
  void add_force(std::uint32_t node, const Vector3d& force) noexcept;  ///< dead load during the step, W [uN]
  /// On a point of a surface triangle, by its weights on the three nodes (sum 1).
  void add_force(const SurfaceTriangle& triangle, const Vector3d& weights, const Vector3d& force) noexcept;
  /// Where a fixed node shall be at the end of this step. @pre fixed(node)
  void hold(std::uint32_t node, const Vector3d& target) noexcept;
  /// Moves x() towards the minimum of Phi for the forces so far; may be repeated within a step.
  TissueReport solve() noexcept { return solve(-1); }
  TissueReport solve(int iterations) noexcept;
  /// d x_i / d f_j of this step, about: R_i G0_ij R_j^T of the matrix at rest [mm/uN]; zero for fixed nodes. Nodes not
  /// on the surface: zero.
  Matrix3d compliance(std::uint32_t i, std::uint32_t j) const noexcept;
  /// Velocities from the positions. A state that is not finite is taken back to the start of the step, at rest.
  TissueReport end_step() noexcept;
  /// Back to the start of the step; begin_step() may follow.
  void undo() noexcept;

  // ---- between steps
  /// Puts the nodes anywhere. Fixed nodes too. @param x, v: (n); v empty = at rest
  void set_state(std::span<const Vector3d> x, std::span<const Vector3d> v = {}) noexcept;
  void add_to(StateHash& hash) const noexcept;

 private:
  struct Parts;
  explicit Tissue(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> p_;
};

}  // namespace ligature::tissue
