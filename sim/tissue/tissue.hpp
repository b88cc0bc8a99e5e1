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
/// A corner whose Jacobian falls below 0.3 of that at rest meets a barrier, (0.3 - j)^3 / j, and no move takes more
/// than four fifths of it away, nor anything of the last 1e-6: an element that is not inside out stays so.
///
/// Minimised by L-BFGS [Nocedal 1980; compact form of Byrd 1994] from the inverse of the Hessian at rest, factored once
/// and turned by the nodes' rotations [Courtecuisse 2010; Liu 2017]:
///
///   H = R A0^-1 R^T / sigma + W M W^T        W: the last moves and what they changed, M: 2m x 2m
///
/// Alone (step_alone), every move lowers Phi by backtracking, so no step is unstable, converged or not. With contact
/// (sim/contact/soft_body.hpp) moves are made as they are proven safe, sigma grows where they do not lower Phi, and
/// renew() puts the Hessian of where it is in the place of A0.
/// What is left over is the residual, and the next step goes on from there.
#include <Eigen/Core>
#include <memory>
#include <span>
#include <vector>

#include "sim/base/hash.hpp"
#include "sim/base/result.hpp"
#include "sim/contact/soft_body.hpp"
#include "sim/tissue/model.hpp"

namespace ligature::tissue {

struct TissueSettings {
  double dt = 0.005;              ///< h that the matrix at rest is made for [s]
  int iterations = 2;             ///< linear solves that step_alone() takes at most
  double residual_target = 1e-6;  ///< largest force out of balance over the largest force in an element
  Vector3d gravity{0, 0, 0};      ///< W [mm/s^2]
};

/// Of a step.
struct TissueReport {
  int iterations = 0;         ///< linearisations that were solved
  double residual = 0;        ///< largest force out of balance at a node, when last looked at [uN]
  double scale = 0;           ///< largest force of an element or of the load on a node [uN]
  double load = 0;            ///< largest force from outside on a node [uN]
  double displacement = 0;    ///< of a node from rest, the largest [mm]
  int inverted = 0;           ///< elements with a corner inside out
  double least_jacobian = 1;  ///< of all corners, over that at rest
  bool converged = true, finite = true;
};

class Tissue final : public contact::SoftBody {
 public:
  /// Factors the matrix at rest and takes all memory.
  /// @return an error when an element is inside out, a number is out of range or not finite, a node hangs in the air or
  /// the surface is not closed
  static Result<Tissue> create(TissueModel model, const TissueSettings& settings = {});
  Tissue(Tissue&&) noexcept;
  Tissue& operator=(Tissue&&) noexcept;
  ~Tissue() override;

  // ---- what it is
  std::size_t elements() const noexcept;
  const TissueModel& model() const noexcept;
  bool fixed(std::uint32_t node) const noexcept;
  bool floats() const noexcept;                    ///< nothing of it is fixed
  double mass(std::uint32_t node) const noexcept;  ///< [g]

  // ---- where it is
  const std::vector<Vector3d>& v() const noexcept;  ///< at the end of the last step [mm/s]             (n)
  double elastic_energy() const noexcept;           ///< E at x() [uN mm]
  /// Its gradient, too, minus which are the inner forces [uN]. @param gradient of n vectors, written whole
  double elastic_energy(std::vector<Vector3d>& gradient) const noexcept;
  double kinetic_energy() const noexcept;
  double volume() const noexcept;  ///< sum over elements of V det F [mm^3]
  /// Of the step that was finished last.
  const TissueReport& report() const noexcept;

  // ---- what acts on it from step to step; @rt
  void clear_loads() noexcept;
  void load(std::uint32_t node, const Vector3d& force) noexcept;  ///< adds a dead force, there until cleared [uN]
  void pull(const Vector3d& gravity) noexcept;                    ///< from now on instead of settings.gravity [mm/s^2]
  /// Every fixed node goes on at this velocity from the next step on [mm/s]. A step that is cut short takes it less
  /// far.
  void carry(const Vector3d& velocity) noexcept;
  /// Where a fixed node shall be at the end of the step that was begun. @pre fixed(node)
  void hold(std::uint32_t node, const Vector3d& target) noexcept;

  // ---- one step with contact; @rt bounded, no allocation, no exception
  const contact::TriangleMesh& surface() const noexcept override;
  std::size_t nodes() const noexcept override;
  const Vector3d* start() const noexcept override;
  const Vector3d* x() const noexcept override;
  double skin() const noexcept override;
  contact::SelfPairs* self_pairs() const noexcept override;
  void begin(double dt) noexcept override;
  void linearise() noexcept override;
  void renew(bool again) noexcept override;
  void push(std::uint32_t node, const Vector3d& force) noexcept override;
  void solve() noexcept override;
  const Vector3d* step() const noexcept override;
  void lead(std::uint32_t node, const Vector3d& step) noexcept override;
  /// Of surfaces with more than 1200 nodes a node's first answer costs three solves; the last 256 are kept.
  Matrix3d compliance(std::uint32_t i, std::uint32_t j) const noexcept override;
  double reach() const noexcept override;
  bool bears_back(double fraction) const noexcept override;
  void advance(double fraction) noexcept override;
  void go_back(double fraction) noexcept override;
  void finish() noexcept override;
  /// Scales its velocities relative to `drift` by `left`: after finish(). The motion of the step stays as it was.
  /// @param drift [mm/s]
  void slow(const Vector3d& drift, double left) noexcept;
  /// One step without contact: begin, settings.iterations moves at most, finish.
  void step_alone(double dt) noexcept;
  /// The moves alone, between begin() and finish(). @return linear solves
  int settle(int iterations) noexcept;

  // ---- between steps
  /// Puts the nodes anywhere, fixed ones too; embedded ones go along. @param x, v: (n); v empty = at rest
  void set_state(std::span<const Vector3d> x, std::span<const Vector3d> v = {}) noexcept;
  void add_to(StateHash& hash) const noexcept override;

 private:
  struct Parts;
  explicit Tissue(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> p_;
};

}  // namespace ligature::tissue
