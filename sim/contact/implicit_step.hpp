#pragma once
/// One implicit step of one thread with everything that touches, holds or loads it. The thesis's general form
///
///   x1 - x0 = a + B F,   F = lambda F(x1) + (1 - lambda) F(x0),   F = load - dE/dx
///
/// with 1/B = m/dt^2 + c/dt and a = B m v0/dt: m = 0 is its low-mass integrator (drag * velocity = force), m > 0
/// implicit Euler, lambda = 1 fully implicit, 0 explicit (VRIPHYS paper section 3.3). A held vertex has B = 0 and
/// a = x_dest - x0. For lambda > 0 x1 is a stationary point of
///
///   Phi(x) = 1/2 |x - x0 - a|^2_(1/B) + lambda E(x) - (lambda load + (1 - lambda) F(x0)).x + contact potentials
///
/// found by Newton's method: an iteration is one assembly, one banded factorisation and one solve (one iteration = one
/// linearisation, as the thesis does); then the contacts' multipliers move.
///
/// A thread is nearly inextensible, and an edge that turns by a straight move gets longer; with the tension of that
/// spurious length in its Hessian Newton's method creeps. So tension is carried as an unknown of its own (mixed
/// formulation, eliminated edge by edge): the right-hand side is the same, only the geometric stiffness takes the
/// tension that the last linearisation foresaw. Phi may then rise for a few steps: steps are trusted, the best point is
/// remembered, and where no better one is found within kMostTrusted steps the search goes back to it and takes one step
/// that does descend (watchdog [Chamberlain 1982]). A Hessian that is not positive definite is shifted until it is.
/// Quasi-static twist couples all joints of a span: a rank-one term per span, taken in by the Woodbury identity.
/// Iterations are bounded. Where neither contacts nor a prescribed motion change Phi on the way, the outcome is never
/// above the start in it, so that a step cannot explode; among contacts every iteration descends by itself.
/// Differs from the thesis (one linear solve, then a projected iteration on the coupling matrix): contacts with rigid
/// bodies never leave the band, so the coupling matrix is not needed here.
#include <Eigen/Core>
#include <vector>

#include "sim/contact/constraint.hpp"
#include "sim/rod/band.hpp"
#include "sim/rod/rod.hpp"

namespace ligature::contact {

struct StepSettings {
  double dt = 0.005;              ///< [s]
  int iterations = 50;            ///< linear solves at most
  double residual_target = 1e-9;  ///< relative to the forces that act
  double implicitness = 1;        ///< lambda
  bool scalar = false;            ///< the paper's scalar simplification instead of the Hessian
};

/// A vertex whose place at the end of the step is prescribed.
struct HeldVertex {
  std::size_t vertex = 0;
  Vector3d target;  ///< W [mm]
};

/// A held frame (Twist::hold_frame) that turns during the step.
struct HeldFrame {
  std::size_t vertex = 0;
  Vector3d turn{0, 0, 0};  ///< rotation vector, W [rad]
  double spin = 0;         ///< about its own tangent, before the turn [rad]
};

/// What moves the thread in one step.
struct Drive {
  std::vector<Vector3d> load;     ///< dead force on every vertex at the end of the step: weight and others [uN]  (n)
  std::vector<HeldVertex> held;   ///< each vertex at most once
  std::vector<HeldFrame> frames;  ///< each held frame that moves
};

struct StepOutcome {
  int iterations = 0;   ///< linear solves spent
  double residual = 0;  ///< worst of: force imbalance of a vertex, change of a multiplier; over the load
  double load = 0;      ///< largest of: force in an element, load or drag of a vertex, constraint force [uN]
  bool converged = false;
  bool limited = false;  ///< the travel limit cut in
  bool finite = true;
};

/// Workspace; takes all memory in the constructor.
class ImplicitStep {
 public:
  /// @param frames_like a Twist as large as the largest thread's, for the trial frames
  ImplicitStep(std::size_t most_vertices, std::size_t most_constraints, const rod::Twist& frames_like);

  /// Moves state.x (from the x of the step before, kept in x0 by the caller), the frames of
  /// state.twist and the constraints' forces. Velocities are the caller's. x0, state.x: (n); constraints: (count)
  /// @rt bounded by iterations * (n + count), no allocation
  StepOutcome solve(const rod::RodModel& model, const std::vector<Vector3d>& x0, rod::RodState& state,
                    const Drive& drive, Constraint* constraints, std::size_t count,
                    const StepSettings& settings) noexcept;

  /// Force that a held vertex exerted on the thread in the last solve [uN]. @pre the last solve() was this thread's
  Vector3d reaction(std::size_t vertex) const noexcept { return reaction_[vertex]; }

 private:
  struct Problem;
  /// Trusts some steps without descent, and remembers the best point (a watchdog [Chamberlain 1982]).
  struct Watch {
    int since = -1;  ///< steps since the best point; -1: none yet
    bool strict = false;
    double merit = 0, slope = 0;  ///< there
  };
  struct Imbalance {
    double force = 0, multiplier = 0;  ///< [uN]
    bool finite = true;
  };
  template <int D>
  StepOutcome run(Problem& p) noexcept;
  template <int D>
  Imbalance assemble(Problem& p, rod::Hessian kind) noexcept;
  template <int D>
  void fix_rows(const Problem& p) noexcept;
  template <int D>
  void right_hand_sides(Problem& p) noexcept;
  template <int D>
  bool factor(Problem& p) noexcept;
  template <int D>
  void solve_linear(Problem& p) noexcept;
  template <int D>
  rod::BlockBand<D>& band() noexcept;
  template <int D>
  rod::BlockBand<D>& kept_band() noexcept;
  void carry(Problem& p, rod::Twist& twist, const std::vector<Vector3d>& x,
             const std::vector<double>& theta) const noexcept;
  /// Phi. @param twist carried to x
  double merit(const Problem& p, const std::vector<Vector3d>& x, const rod::Twist& twist,
               const std::vector<double>& theta) const noexcept;
  void start_forces(Problem& p) noexcept;
  void prepare(Problem& p) noexcept;
  double excess(const Problem& p, const std::vector<Vector3d>& x) const noexcept;
  void go_back(Problem& p) noexcept;
  void balance_whole(Problem& p, double most_turn) noexcept;

  std::vector<Vector3d> trial_;                                    ///< x to be judged                               (n)
  std::vector<Vector3d> best_x_;                                   ///< where Phi was least                          (n)
  std::vector<Vector3d> start_force_;                              ///< (1 - lambda) F(x0), without load [uN]        (n)
  std::vector<double> mobility_, inertial_;                        ///< 1/B and (1/B) a of each component         (3 n)
  std::vector<double> outer_;                                      ///< load and start force [uN]                (3 n)
  std::vector<Vector3d> reaction_;                                 ///< dPhi/dx at the end [uN]                      (n)
  std::vector<double> theta_, trial_theta_, theta0_, best_theta_;  ///< angles as unknowns  (n)
  std::vector<double> gradient_;        ///< dPhi/d(unknowns)                             (4 n)
  std::vector<double> step_;            ///< Newton step of the unknowns                  (4 n)
  std::vector<double> scratch_;         ///<                                              (8 n)
  std::vector<double> tension_;         ///< of every edge, of the mixed formulation [uN] (n)
  std::vector<double> right_;           ///< right-hand sides, with the spans' gradients  (4 n x (1 + spans))
  std::vector<double> span_gradients_;  ///< one after the other                       (3 n x spans)
  std::vector<Response> responses_;     ///< of this iteration                            (count)
  std::vector<unsigned char> fixed_;    ///< vertex is prescribed                         (n)
  rod::Twist best_twist_;               ///< where Phi was least; angles unknown
  rod::Twist base_, trial_twist_;       ///< frames at the start of the step, and carried to a trial
  rod::BlockBand<1> band1_;
  rod::BlockBand<3> band3_;
  rod::BlockBand<4> band4_;
  rod::BlockBand<1> kept1_;  ///< the matrix before it was factored
  rod::BlockBand<3> kept3_;
  rod::BlockBand<4> kept4_;
};

}  // namespace ligature::contact
