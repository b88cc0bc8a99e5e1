#include "sim/contact/implicit_step.hpp"

#include <algorithm>
#include <cmath>

#include "sim/contact/tolerances.hpp"

namespace ligature::contact {
namespace {

// Length of the edge that is longest for its rest length, as if that were one unit.
double longest_edge(const rod::RodModel& model, const std::vector<Vector3d>& x) {
  double longest = 0;
  for (std::size_t i = 0; i < model.edges(); ++i) {
    const double units = model.graded() ? model.node[i + 1] - model.node[i] : 1.0;
    longest = std::max(longest, (x[model.next(i)] - x[i]).squaredNorm() / (units * units));
  }
  return std::sqrt(longest);
}

// What no force does that acts here. A soft thread may well be longer by a third; what its twist stretches it by, no
// load tells: where a finished step left more, it may slowly go on.
double longest_allowed(const rod::RodModel& model, const std::vector<Vector3d>& x0, double load) noexcept {
  const double pulled = model.stretch_stiffness > 0 ? 2 * load / model.stretch_stiffness : 0;
  const double stretched = (kMostStretch + pulled) * model.rest_length, before = longest_edge(model, x0);
  return before > stretched ? kMostGrowth * before : stretched;
}

}  // namespace

bool overstretched(const rod::RodModel& model, const std::vector<Vector3d>& x0, const std::vector<Vector3d>& x,
                   double load) noexcept {
  return longest_edge(model, x) > longest_allowed(model, x0, load);
}

// An edge's length is convex along the way.
bool shorten(const rod::RodModel& model, const std::vector<Vector3d>& x0, std::vector<Vector3d>& x,
             double load) noexcept {
  const double limit = longest_allowed(model, x0, load);
  if (longest_edge(model, x) <= limit) return false;
  for (int halving = 0; halving < 12; ++halving) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.5 * (x[i] + x0[i]);
    if (longest_edge(model, x) <= limit) return true;
  }
  std::copy(x0.begin(), x0.end(), x.begin());
  return true;
}

ImplicitStep::ImplicitStep(std::size_t most_vertices, const rod::Twist& frames_like)
    : trial_(most_vertices),
      best_x_(most_vertices),
      trial_theta_(most_vertices),
      best_theta_(most_vertices),
      best_twist_(frames_like) {}

// To the point of least merit that was seen, with frames carried there and tension as it is there.
void ImplicitStep::go_back(ThreadSystem& s) noexcept {
  const StepProblem& p = s.problem();
  std::copy_n(best_x_.begin(), p.model->vertices(), p.state->x.begin());
  std::copy_n(best_theta_.begin(), p.model->vertices(), s.theta().begin());
  s.trust_tension(false);
  if (p.model->angles_unknown) p.state->twist = best_twist_;
  s.carry_state();
}

// The point of least merit is no further than this from where the thread is now [mm].
bool ImplicitStep::best_is_within(double most, const ThreadSystem& s) const noexcept {
  const std::vector<Vector3d>& x = s.problem().state->x;
  for (std::size_t i = 0; i < x.size(); ++i)
    if ((best_x_[i] - x[i]).squaredNorm() > most * most) return false;
  return true;
}

StepOutcome ImplicitStep::run(ThreadSystem& s, const StepSettings& settings) noexcept {
  StepOutcome out;
  const StepProblem& p = s.problem();
  const rod::RodModel& model = *p.model;
  rod::RodState& state = *p.state;
  const std::vector<Vector3d>& x0 = *p.x0;
  std::vector<double>& theta = s.theta();
  const std::size_t n = model.vertices(), stride = s.stride();
  const double rounding = s.rounding_force();
  const double travel_limit = std::max(kTravelLimit, 0.1 * model.whole_length());

  // A prescribed motion of many edge lengths is gone in parts, each linearised anew.
  const bool prescribed = s.motion_parts() > 0;
  const int parts = std::clamp(s.motion_parts(), 1, std::max(1, settings.iterations / 2));

  Watch watch;
  bool stuck = false;  // no part of the last step would have let Phi fall
  bool still = false;  // the last solve moved nothing: what is left of the residual is force in stiff directions
  for (int iteration = 0;; ++iteration) {
    s.ask_for(std::min(1.0, static_cast<double>(iteration + 1) / parts));
    const bool moving = prescribed && iteration < parts;
    s.find_frames(iteration == 0);
    const bool last = still || iteration == settings.iterations;
    const ThreadSystem::Imbalance imbalance = s.assemble(last ? rod::Hessian::none : rod::Hessian::exact);
    const double imbalanced = std::max(imbalance.force, imbalance.multiplier);
    const auto note = [&](const ThreadSystem::Imbalance& at) {
      out.load = s.load();
      const double worst = std::max(at.force, at.multiplier);
      out.residual = worst > rounding && s.load() > 0 ? worst / s.load() : 0.0;
    };
    note(imbalance);
    out.finite = imbalance.finite;
    if (!out.finite) return out;
    // What rounding hides of stretch may be all there is in the soft directions: at least one solve looks there.
    const double allowed = iteration == 0 ? 0.0 : settings.residual_target * s.load() + rounding;
    // A solve that moved nothing leaves rounding in stiff directions; more than that is no equilibrium.
    if (still && imbalanced > kMostLeft * s.load() + rounding) stuck = true;
    out.converged = !moving && !stuck && (still || imbalanced <= allowed);
    if (out.converged || stuck || iteration == settings.iterations) {
      // Trusted steps may have come to where Phi is not lower. Contacts have other multipliers by now: what was least
      // by the old ones, and is as far as one solve leaps, may be where friction let go.
      if (watch.since >= 0 && (p.count == 0 || (!out.converged && best_is_within(0.5 * travel_limit, s)))) {
        const double here = s.merit();
        if (here > watch.merit + (out.converged ? kMeritNoise * std::abs(here) : 0.0)) {
          go_back(s);
          if (out.converged && iteration < settings.iterations) {
            watch = {.since = -1, .strict = true};
            still = false;
            continue;
          }
          note(s.assemble(rod::Hessian::none));
        }
      }
      if (!out.converged && p.count > 0 && shorten(model, x0, state.x, s.outer_load())) {
        out.limited = true;
        s.carry_state();
        note(s.assemble(rod::Hessian::none));
      }
      if (p.count == 0 && p.drive->held.empty()) {
        s.balance_whole(kMostWholeTurn);
        s.carry_state();
      }
      s.keep_reactions();
      return out;
    }

    s.linearise();
    s.solve();
    ++out.iterations;
    double sum = 0;  // a maximum would swallow a NaN
    double furthest = 0;
    double fraction = 1.0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto d = s.step_of(i);
      sum += d.sum();
      furthest = std::max(furthest, d.cwiseAbs().maxCoeff());
      if (moving || !(d.squaredNorm() > travel_limit * travel_limit) || s.fixed(i)) continue;
      // From where inertia alone would take it; shortened as a whole, so that the direction stays one of descent.
      const Vector3d from = state.x[i] - x0[i] - s.inertial_of(i) / std::max(s.mobility_of(i), 1e-300);
      if ((from + d).norm() > travel_limit) fraction = std::min(fraction, travel_limit / d.norm());
    }
    if (!std::isfinite(sum)) return out.finite = false, out;
    if (fraction < 1.0) out.limited = true;

    const auto try_at = [&](double f) {
      s.place_by(f, trial_);
      if (stride == 4)
        for (std::size_t i = 0; i < model.edges(); ++i) trial_theta_[i] = s.theta_by(f, i);
    };
    const bool careful = !moving && furthest > kSmallMove * model.rest_length;
    if (careful) {
      const double slope = std::min(  // of Phi along the step, negative
          s.slope(), 0.0);
      const double here = s.merit(), noise = kMeritNoise * std::abs(here);
      if (watch.since < 0 || here <= watch.merit + kArmijo * watch.slope + noise) {
        watch = {.since = 0, .strict = watch.strict, .merit = here, .slope = slope};
        std::copy_n(state.x.begin(), n, best_x_.begin());
        if (stride == 4) std::copy_n(theta.begin(), n, best_theta_.begin());
        if (model.angles_unknown) best_twist_ = state.twist;
      } else if (p.count == 0 && ++watch.since > kMostTrusted) {
        go_back(s);
        watch = {.since = -1, .strict = true};
        continue;
      }
      // Contacts move their multipliers, and Phi with them: there every step is held to its descent. So is one whose
      // Hessian had to be shifted: Phi has a ridge there, and a trusted step would run along it.
      const bool trusted = p.count == 0 && !watch.strict && !s.shifted();
      watch.strict = false;
      for (int halving = 0;; ++halving) {
        try_at(fraction);
        if (trusted) break;
        const double after = s.merit_at(trial_, trial_theta_);
        if (after <= here + kArmijo * fraction * slope + noise) break;
        if (halving == kMostHalvings) {
          stuck = p.count == 0;
          break;
        }
        fraction *= 0.5;
      }
      // A step that was shortened owes only its share of the descent; else its success would be thrown away.
      if (watch.since == 0) watch.slope = fraction * slope;
    } else {
      fraction = 1.0;
      try_at(fraction);
    }
    if (iteration + 1 < settings.iterations) s.foresee_tension(trial_);
    if (stuck) continue;  // Phi must not rise: the thread stays where it is
    std::copy_n(trial_.begin(), n, state.x.begin());
    if (stride == 4) std::copy_n(trial_theta_.begin(), model.edges(), theta.begin());
    if (moving) s.place_held();
    still = !moving && fraction * furthest < kStill * model.rest_length &&
            imbalance.multiplier <= kMostLeft * s.load() + rounding;
    if (s.move_multipliers(fraction)) still = false;
  }
}

StepOutcome ImplicitStep::solve(ThreadSystem& system, const StepProblem& problem,
                                const StepSettings& settings) noexcept {
  trial_.resize(problem.model->vertices());  // within the memory that was taken
  system.begin(problem, settings);
  if (problem.count == 0 && problem.drive->held.empty()) {
    system.balance_whole(kMostGuessedTurn);
    system.carry_state();
  }
  const StepOutcome out = run(system, settings);
  if (out.finite)
    system.finish();
  else
    system.undo();
  return out;
}

}  // namespace ligature::contact
