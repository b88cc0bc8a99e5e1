#pragma once
/// The implicit step of one thread that touches no other strand: Newton's method on its system (thread_system.hpp), an
/// iteration being one assembly, one banded factorisation and one solve (one iteration = one linearisation, as the
/// thesis does); then the constraints' multipliers move.
///
/// With the tension carried as an unknown Phi may rise for a few steps: steps are trusted, the best point is
/// remembered, and where no better one is found within kMostTrusted steps the search goes back to it and takes one step
/// that does descend (watchdog [Chamberlain 1982]). Iterations are bounded. Where neither contacts nor a prescribed
/// motion change Phi on the way, the outcome is never above the start in it, so that a step cannot explode; among
/// contacts every iteration descends by itself.
/// Differs from the thesis (one linear solve, then a projected iteration on the coupling matrix): contacts with rigid
/// bodies never leave the band, so the coupling matrix is not needed here.
#include <vector>

#include "sim/contact/thread_system.hpp"

namespace ligature::contact {

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
  ImplicitStep(std::size_t most_vertices, const rod::Twist& frames_like);

  /// Moves state.x (from the x of the step before, kept in x0 by the caller), the frames of state.twist and the
  /// constraints' forces. Velocities are the caller's. The system keeps the reactions.
  /// @rt bounded by iterations * (n + count), no allocation
  StepOutcome solve(ThreadSystem& system, const StepProblem& problem, const StepSettings& settings) noexcept;

 private:
  /// Trusts some steps without descent, and remembers the best point.
  struct Watch {
    int since = -1;  ///< steps since the best point; -1: none yet
    bool strict = false;
    double merit = 0, slope = 0;  ///< there
  };
  StepOutcome run(ThreadSystem& system, const StepSettings& settings) noexcept;
  void go_back(ThreadSystem& system) noexcept;
  bool best_is_within(double most, const ThreadSystem& system) const noexcept;

  std::vector<Vector3d> trial_;                   ///< x to be judged         (n)
  std::vector<Vector3d> best_x_;                  ///< where Phi was least    (n)
  std::vector<double> trial_theta_, best_theta_;  ///< angles as unknowns     (n)
  rod::Twist best_twist_;                         ///< where Phi was least; angles unknown
};

/// True when an edge of x is longer than any of x0, and than kMostStretch and twice the load that pulls
/// at the thread from outside allow. @param load [uN]
bool overstretched(const rod::RodModel& model, const std::vector<Vector3d>& x0, const std::vector<Vector3d>& x,
                   double load) noexcept;

/// Goes back from x towards x0 until no edge is longer than the longest was or than is allowed there: an iteration
/// among contacts and grips that was cut off may leave edges that no force would. True when it did.
bool shorten(const rod::RodModel& model, const std::vector<Vector3d>& x0, std::vector<Vector3d>& x,
             double load) noexcept;

}  // namespace ligature::contact
