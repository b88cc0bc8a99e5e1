#pragma once
/// One thread's implicit step, linearised: what it minimises, its gradient, its banded Hessian and their solution. The
/// thesis's general form of a step
///
///   x1 - x0 = a + B F,   F = lambda F(x1) + (1 - lambda) F(x0),   F = load - dE/dx
///
/// with 1/B = m/dt^2 + c/dt and a = B m v0/dt: m = 0 is its low-mass integrator (drag * velocity = force), m > 0
/// implicit Euler, lambda = 1 fully implicit, 0 explicit (VRIPHYS paper section 3.3). A held vertex has B = 0 and
/// a = x_dest - x0. For lambda > 0 x1 is a stationary point of
///
///   Phi(x) = 1/2 |x - x0 - a|^2_(1/B) + lambda E(x) - (lambda load + (1 - lambda) F(x0)).x + contact potentials
///
/// A thread is nearly inextensible, and an edge that turns by a straight move gets longer; with the tension of that
/// spurious length in its Hessian Newton's method creeps. So tension is carried as an unknown of its own (mixed
/// formulation, eliminated edge by edge): the right-hand side is the same, only the geometric stiffness takes the
/// tension that the last linearisation foresaw. A Hessian that is not positive definite is shifted until it is;
/// among contacts the compression that makes it so is left out instead.
/// Quasi-static twist couples all joints of a span: a rank-one term per span, taken in by the Woodbury identity.
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "sim/contact/constraint.hpp"
#include "sim/contact/coupling.hpp"
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

inline constexpr std::size_t kNoVertex = ~std::size_t{0};

/// What moves the thread in one step.
struct Drive {
  std::vector<Vector3d> load;     ///< dead force on every vertex at the end of the step: weight and others [uN]  (n)
  std::vector<HeldVertex> held;   ///< each vertex at most once
  std::vector<HeldFrame> frames;  ///< each held frame that moves
};

/// One thread in one step: what is solved for.
struct StepProblem {
  const rod::RodModel* model = nullptr;
  const std::vector<Vector3d>* x0 = nullptr;  ///< at the start of the step                           (n)
  rod::RodState* state = nullptr;             ///< x and frames: moved                                (n)
  const Drive* drive = nullptr;
  Constraint* constraints = nullptr;  ///< inside the band: forces moved                              (count)
  std::size_t count = 0;

  /// By a clamp or between jaws.
  bool held() const noexcept {
    return !drive->held.empty() || std::any_of(constraints, constraints + count,
                                               [](const Constraint& c) { return c.kind == Constraint::Kind::grip; });
  }
  /// A constraint bears.
  bool borne() const noexcept {
    return std::any_of(constraints, constraints + count, [](const Constraint& c) { return !c.force.isZero(0); });
  }
};

inline constexpr std::size_t kMostSpans =
    12;  ///< whose rank-one terms are taken in; the moments of more act all the same

/// Workspace of one thread; takes all memory in the constructor.
class ThreadSystem final : public ThreadInverse {
 public:
  struct Imbalance {
    double force = 0, multiplier = 0;  ///< largest component of the forces not in balance, change of a multiplier [uN]
    bool finite = true;
  };

  /// @param frames_like a Twist as large as the largest thread's, for the trial frames
  ThreadSystem(std::size_t most_vertices, std::size_t most_constraints, const rod::Twist& frames_like);

  /// Begins a step. The problem's parts must outlive it. @rt all of this class after construction: O(n), no allocation
  void begin(const StepProblem& problem, const StepSettings& settings) noexcept;

  const StepProblem& problem() const noexcept { return p_; }
  bool framed() const noexcept { return framed_; }
  bool fixed(std::size_t vertex) const noexcept { return fixed_[vertex] != 0; }  ///< prescribed
  double shift() const noexcept { return shift_; }
  bool shifted() const noexcept { return shifted_; }  ///< the last Hessian was not positive definite
  double load() const noexcept { return load_; }      ///< of the last assembly: largest force that acts [uN]
  double outer_load() const noexcept {
    return std::sqrt(outer_load_);
  }  ///< largest dead force on a vertex in this step [uN]
  /// The fraction of the prescribed motion that is asked for from now on.
  double motion() const noexcept { return motion_; }
  void ask_for(double motion) noexcept { motion_ = motion; }
  /// In how many parts a prescribed motion of many edge lengths goes, each linearised anew; 0: nothing moves.
  int motion_parts() const noexcept;
  /// Puts what is held where the fraction of the motion has it: exactly, not to rounding.
  void place_held() noexcept;

  // ---- where the thread is
  std::vector<double>& theta() noexcept { return theta_; }  ///< angles as unknowns (n)
  /// Frames of state.twist carried to state.x. @param unmoved since begin()
  void find_frames(bool unmoved) noexcept;
  /// Frames as they are at x, starting from those at the start of the step, with the held ones moved.
  void carry(rod::Twist& twist, const std::vector<Vector3d>& x, const std::vector<double>& theta) noexcept;
  void carry_state() noexcept { carry(p_.state->twist, p_.state->x, theta_); }
  /// Phi at state.x, and at x with its angles.
  double merit() const noexcept { return merit(p_.state->x, p_.state->twist, theta_); }
  double merit_at(const std::vector<Vector3d>& x, const std::vector<double>& theta) noexcept;
  /// Of Phi along step(), at state.x as assembled. [uN mm]
  double slope() const noexcept;
  /// Tension that the last linearisation foresees once `x` is reached, for the next.
  void foresee_tension(const std::vector<Vector3d>& x) noexcept;
  /// The next assembly takes the tension that was foreseen; else that of the shape.
  void trust_tension(bool trust) noexcept { tension_known_ = trust; }
  /// Moves a free thread as a whole to where inertia, drag and load are in balance: exactly, since in the sums of the
  /// band they are lost beside its stiffness. @param most_turn larger turns are left alone [rad]
  void balance_whole(double most_turn) noexcept;
  /// The force that inertia, drag and load lack of balance in all, where internal ones sum to zero, and the force that
  /// a shift of all vertices takes: out / per_shift is where they balance.
  struct Whole {
    Vector3d force{0, 0, 0};  ///< W [uN]
    double per_shift = 0;     ///< [uN/mm]
  };
  Whole out_of_balance() const noexcept;
  /// What rounding may leave of an imbalance at state.x [uN]; that of stiffer sections is no imbalance anyway.
  double rounding_force() const noexcept;

  // ---- linearisation
  /// The vertex near which the contacts are: the band is eliminated towards it from now on.
  void meet_at(std::size_t vertex) noexcept { middle_ = vertex; }
  /// The gradient of Phi and, but for Hessian::none, its derivative in the band.
  Imbalance assemble(rod::Hessian kind) noexcept;
  /// The largest imbalance now.
  Imbalance imbalance() const noexcept;
  /// Adds a force on a vertex to what is assembled [uN].
  void push(std::size_t vertex, const Vector3d& force) noexcept {
    Eigen::Map<Vector3d>(gradient_.data() + stride() * vertex) -= force;
  }
  /// Adds a moment about an edge's tangent [uN mm]. @pre angles are unknowns
  void turn(std::size_t edge, double moment) noexcept { gradient_[4 * edge + 3] -= moment; }
  void turn_right(std::size_t edge, double moment) noexcept {
    if (!p_.state->twist.edge_held(edge)) answer_[4 * edge + 3] += moment;
  }
  /// Angle that an edge has turned by in this step, and by step(). @pre as above
  double turned(std::size_t edge) const noexcept { return theta_[edge] - theta0_[edge]; }
  double turn_of(std::size_t edge) const noexcept { return step_[4 * edge + 3]; }
  /// Adds stiffness a a^T to the assembled band, a = sum of weight e_vertex n over up to three vertices at most two
  /// apart.
  void stiffen(const std::uint32_t* vertex, const double* weight, const Vector3d& n) noexcept;
  /// Of an edge: what its geometric stiffness was assembled with [uN].
  double tension_of(std::size_t edge) const noexcept;
  /// Of `share` of an edge's tension: its vertices are resisted in moving across the edge where they do so along n0 and
  /// n1, one each, and no longer where they slide round what presses them along these. Changes the assembled band,
  /// which stays as definite as it was.
  /// @param n0, n1 unit, across the thread at the edge's first and second vertex  W
  void let_slide(std::size_t edge, double share, const Vector3d& n0, const Vector3d& n1) noexcept;
  /// Right-hand side from what is assembled, less what the prescribed motion brings about; factors, shifting the
  /// Hessian where it is not positive definite, and by `drag` in any case [uN/mm]. Spoils the assembled band.
  /// @param own_drag of each vertex, on top of it [uN/mm], or null; with it a Hessian that is not positive definite
  /// does without its negative parts, edge by edge, instead of a shift                                           (n)
  void linearise(double drag = 0, const double* own_drag = nullptr) noexcept;
  /// Adds a force on a vertex to the right-hand side [uN]. A prescribed vertex does not feel it.
  void push_right(std::size_t vertex, const Vector3d& force) noexcept;
  /// step() = what the linearised system answers to the right-hand side, which stays.
  void solve() noexcept;
  /// Where vertices go by a fraction of step(): straight, but a stiff section turns as a body does, since moved
  /// straight it would be strained by the square of its turn. x: (n) or more
  void place_by(double fraction, std::vector<Vector3d>& x) const noexcept;
  /// Likewise the angle of an edge. @pre angles are unknowns
  double theta_by(double fraction, std::size_t edge) const noexcept;
  std::size_t rows() const noexcept override { return stride(); }
  void widen(std::size_t& first, std::size_t& last) const noexcept override;
  void solve_window(double* b, std::size_t count, std::size_t first, std::size_t last) const noexcept override;
  bool couple(rod::ContactSide* sides, std::size_t count, std::size_t contacts, double* w, std::size_t stride,
              double* work) const noexcept override;

  std::size_t stride() const noexcept { return dimension_ == 4 ? 4 : 3; }  ///< scalars of a vertex in these: (stride n)
  const double* gradient() const noexcept { return gradient_.data(); }
  /// Force that is not in balance at a vertex; zero where it is prescribed [uN].
  double imbalance_at(std::size_t vertex) const noexcept {
    if (fixed_[vertex]) return 0.0;
    const double force = Eigen::Map<const Vector3d>(gradient_.data() + stride() * vertex).cwiseAbs().maxCoeff();
    return more_rounding_.empty() ? force : std::max(0.0, force - more_rounding_[vertex]);
  }
  const double* step() const noexcept { return step_.data(); }
  Eigen::Map<const Vector3d> step_of(std::size_t vertex) const noexcept {
    return Eigen::Map<const Vector3d>(step_.data() + stride() * vertex);
  }
  Eigen::Map<const Vector3d> inertial_of(std::size_t vertex) const noexcept {
    return Eigen::Map<const Vector3d>(inertial_.data() + 3 * vertex);
  }
  double mobility_of(std::size_t vertex) const noexcept { return mobility_[3 * vertex]; }
  const Response& response(std::size_t constraint) const noexcept { return responses_[constraint]; }
  /// Makes the forces of the constraints what this fraction of step() balanced. True when one of them changed to
  /// another case of its law.
  bool move_multipliers(double fraction) noexcept;

  /// What each vertex needs to stay where it is: of a held one, what its holder exerts [uN].
  Vector3d reaction(std::size_t vertex) const noexcept { return reaction_[vertex]; }
  void keep_reactions() noexcept;
  /// Back to the start of the step.
  void undo() noexcept;
  /// When the step is done: spreads quasi-static twist.
  void finish() noexcept;

 private:
  template <int D>
  Imbalance assemble_as(rod::Hessian kind) noexcept;
  template <int D>
  void stiffen_as(const std::uint32_t* vertex, const double* weight, const Vector3d& n) noexcept;
  template <int D>
  void let_slide_as(std::size_t edge, double stiffness, const Vector3d& m, const Vector3d& n0,
                    const Vector3d& n1) noexcept;
  template <int D>
  void fix_rows() noexcept;
  template <int D>
  void right_hand_sides() noexcept;
  template <int D>
  bool factor(double drag) noexcept;
  template <int D>
  void linearise_as(double drag) noexcept;
  template <int D>
  void solve_as() noexcept;
  template <int D>
  rod::BlockBand<D>& band() noexcept;
  template <int D>
  rod::BlockBand<D>& kept_band() noexcept;
  double merit(const std::vector<Vector3d>& x, const rod::Twist& twist,
               const std::vector<double>& theta) const noexcept;
  double excess(const std::vector<Vector3d>& x) const noexcept;
  Vector3d moved(const Constraint& c) const noexcept;  // the place of a constraint, by step()
  void start_forces() noexcept;
  void prepare() noexcept;
  void find_rounding() noexcept;
  void find_body_turn() noexcept;
  void find_leaving() noexcept;
  double pressed_at_end(std::size_t vertex, bool ahead) const noexcept;
  Leaving leaving_at(const Constraint& grip, bool ahead) const noexcept;
  std::size_t beside(std::size_t vertex, bool ahead) const noexcept {
    const std::size_t last = p_.model->vertices() - 1;
    if (vertex == (ahead ? last : 0)) return !p_.model->closed ? kNoVertex : ahead ? 0 : last;
    return ahead ? vertex + 1 : vertex - 1;
  }

  StepProblem p_;
  StepSettings settings_;
  int dimension_ = 3;
  bool framed_ = false;                        // frames are carried along
  double motion_ = 1;                          // fraction of the prescribed motion that has been asked for
  double carried_motion_ = 0;                  // that the held frames of state.twist have made
  std::size_t spans_ = 0;                      // whose rank-one terms are taken in
  std::array<double, kMostSpans> coupling_{};  // GJ / length of each
  std::size_t middle_ = rod::BlockBand<3>::kBalanced;
  double load_ = 0, element_force_ = 0;  // of the last assembly
  double outer_load_ = 0;                // square of the largest load on a vertex
  bool tension_known_ = false;
  bool string_by_foresight_ = false;  // in the last assembly's geometric stiffness
  Vector3d body_turn_{0, 0, 0};       // of the stiff section by step_ [rad]
  std::size_t body_pivot_ = 0;        // the vertex about which it turns
  bool shifted_ = false;
  double shift_ = 0;  // that made the matrix positive definite the last time

  std::vector<Vector3d> trial_;              ///<                                                        (n)
  std::vector<Vector3d> start_force_;        ///< (1 - lambda) F(x0), without load [uN]                  (n)
  std::vector<double> mobility_, inertial_;  ///< 1/B and (1/B) a of each component                    (3 n)
  std::vector<double> outer_;                ///< load and start force [uN]                            (3 n)
  std::vector<Vector3d> reaction_;           ///< dPhi/dx at the end [uN]                                (n)
  std::vector<double> theta_, theta0_;       ///< angles as unknowns, and at the start                   (n)
  std::vector<double> per_angle_;            ///< 1/B of an angle [uN mm]                                (n)
  std::vector<double> more_rounding_;        ///< of stiffer sections [uN]                         (n, or none)
  std::vector<double> gradient_;             ///< dPhi/d(unknowns)                                     (4 n)
  std::vector<double> answer_;               ///< right-hand side of the linearisation                 (4 n)
  std::vector<double> step_;                 ///< Newton step of the unknowns                          (4 n)
  std::vector<double> scratch_;              ///<                                                      (4 n)
  std::vector<double> tension_;              ///< of every edge, of the mixed formulation [uN]           (n)
  std::vector<double> span_gradients_;       ///< g of each span, one after the other          (3 n x spans)
  std::vector<double> span_answers_;         ///< A^-1 g, side by side                         (3 n x spans)
  std::array<double, kMostSpans * kMostSpans> inner_{};  ///< inverse of C^-1 + G^T A^-1 G
  std::vector<Response> responses_;                      ///< of the last assembly                               (count)
  std::vector<unsigned char> fixed_;                     ///< vertex is prescribed                                   (n)
  std::vector<std::size_t> gripped_;                     ///< 1 + the grip there; all 0 outside find_leaving()       (n)
  rod::Twist base_, trial_twist_;                        ///< frames at the start of the step, and carried to a trial
  rod::BlockBand<1> band1_, kept1_;                      ///< factored, and as it was before
  rod::BlockBand<3> band3_, kept3_;
  rod::BlockBand<4> band4_, kept4_;
  const double* own_drag_ = nullptr;
};

}  // namespace ligature::contact
