#include "sim/contact/implicit_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/contact/tolerances.hpp"

namespace ligature::contact {
namespace {

Vector3d point(const std::vector<Vector3d>& x, const Constraint& c) {
  return c.w1 == 0 ? Vector3d(c.w0 * x[c.vertex]) : Vector3d(c.w0 * x[c.vertex] + c.w1 * x[c.vertex + 1]);
}

// Forces are differences of coordinates times stiffnesses: below this, an imbalance is rounding.
double rounding_force(const rod_old::RodModel& model, const std::vector<Vector3d>& x) {
  double extent = 0;
  for (const Vector3d& p : x) extent = std::max(extent, p.cwiseAbs().maxCoeff());
  const double l = model.rest_length;
  return 4 * std::numeric_limits<double>::epsilon() * extent *
         (2 * model.stretch_stiffness / l + 16 * model.bend_stiffness / (l * l * l));
}

// The multiplier becomes the force that the solve has just balanced, f - K dc: at a new active set that is the Newton
// step of the multiplier. (Evaluating the law at the new point instead would add the error of a wrong active set.)
// A shortened step moves it by the same fraction. True when the constraint changes to another case of its law.
bool move_multiplier(Constraint& c, const Response& r, double fraction, const std::vector<Vector3d>& gradient,
                     const std::vector<Vector3d>& x) {
  if (c.kind == Constraint::Kind::grip) {
    const bool first = !c.settled;
    c.settled = c.settled || fraction == 1.0;
    return first;
  }
  if (!c.engaged) {
    c.engaged = gap(c, point(x, c)) + c.slack < 0;
    c.sliding = false;
    return c.engaged;
  }
  Vector3d moved = -c.w0 * gradient[c.vertex];
  if (c.w1 != 0) moved -= c.w1 * gradient[c.vertex + 1];
  const Vector3d balanced = r.force - r.stiffness * moved;
  const Vector3d force = c.force + fraction * (balanced - c.force);
  const double normal = std::clamp(c.normal.dot(force), 0.0, c.most);
  const Vector3d across = force - c.normal.dot(force) * c.normal;
  const double size = across.norm(), bound = c.friction * normal;
  const bool engaged = normal > 0, sliding = engaged && (c.sliding ? r.sliding : size > bound);
  const bool changed = engaged != c.engaged || sliding != c.sliding;
  c.engaged = engaged;
  c.sliding = sliding;
  c.force = normal * c.normal + (size > bound ? bound / size : 1.0) * across;
  c.k = std::clamp(c.force.norm() / kContactSoftness, c.k, std::min(100 * c.k, kMostStiffness));
  return changed;
}

double longest_edge(const std::vector<Vector3d>& x) {
  double longest = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) longest = std::max(longest, (x[i + 1] - x[i]).squaredNorm());
  return std::sqrt(longest);
}

// An iteration that was cut off may leave edges that no force would. Goes back towards x0 until none is longer than the
// limit or than the longest was: an edge's length is convex along the way. True when it had to.
bool shorten(const rod_old::RodModel& model, const std::vector<Vector3d>& x0, std::vector<Vector3d>& x) {
  const double limit = std::max(kMostStretch * model.rest_length, longest_edge(x0));
  if (longest_edge(x) <= limit) return false;
  for (int halving = 0; halving < 12; ++halving) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.5 * (x[i] + x0[i]);
    if (longest_edge(x) <= limit) return true;
  }
  std::copy(x0.begin(), x0.end(), x.begin());
  return true;
}

}  // namespace

ImplicitStep::ImplicitStep(std::size_t most_vertices, std::size_t most_constraints)
    : trial_(most_vertices),
      twist_(most_vertices),
      gradient_(most_vertices),
      responses_(most_constraints),
      band_(most_vertices) {}

ImplicitStep::Imbalance ImplicitStep::assemble(const rod_old::RodModel& model, const std::vector<Vector3d>& x0,
                                               const rod_old::RodState& state, Constraint* constraints, std::size_t count,
                                               const StepSettings& settings) noexcept {
  const std::size_t n = model.vertices();
  const double per_dt = 1.0 / settings.dt;
  band_.use(n);
  band_.set_zero();
  for (std::size_t i = 0; i < n; ++i) {
    const double inertia = model.mass[i] * per_dt * per_dt, drag = (model.drag[i] + state.ease[i]) * per_dt;
    const Vector3d moved = state.x[i] - x0[i];
    gradient_[i] =
        inertia * (moved - settings.dt * state.v[i]) + drag * moved - model.weight_mass[i] * settings.gravity;
    band_.add(i, i, (inertia + drag) * Matrix3d::Identity());
  }
  rod_old::add_elastic(model, state.x, state.twist, gradient_, band_);
  if (state.twist.active()) {
    std::fill_n(twist_.begin(), n, Vector3d::Zero());
    rod_old::add_twist(state.x, state.twist, twist_);
    for (std::size_t i = 0; i < n; ++i) gradient_[i] += twist_[i];
  }
  Imbalance out;
  for (std::size_t j = 0; j < count; ++j) {
    Constraint& c = constraints[j];
    const Response& r = responses_[j] = respond(c, point(state.x, c));
    if (c.kind == Constraint::Kind::contact)
      out.multiplier = std::max(out.multiplier, (r.force - c.force).cwiseAbs().maxCoeff());
    if (!r.active) continue;
    gradient_[c.vertex] -= c.w0 * r.force;
    band_.add(c.vertex, c.vertex, c.w0 * c.w0 * r.stiffness);
    if (c.w1 != 0) {
      gradient_[c.vertex + 1] -= c.w1 * r.force;
      band_.add(c.vertex + 1, c.vertex, c.w0 * c.w1 * r.stiffness);
      band_.add(c.vertex + 1, c.vertex + 1, c.w1 * c.w1 * r.stiffness);
    }
  }
  double sum = 0;  // a maximum would swallow a NaN
  for (std::size_t i = 0; i < n; ++i) {
    out.vertex = std::max(out.vertex, gradient_[i].cwiseAbs().maxCoeff());
    sum += gradient_[i].sum();
  }
  out.finite = std::isfinite(sum);
  return out;
}

double ImplicitStep::merit(const rod_old::RodModel& model, const std::vector<Vector3d>& x0, const rod_old::RodState& state,
                           const std::vector<Vector3d>& x, const Constraint* constraints, std::size_t count,
                           const StepSettings& settings) const noexcept {
  const double per_dt = 1.0 / settings.dt;
  double sum = rod_old::elastic_energy(model, x, state.twist);
  for (std::size_t i = 0; i < model.vertices(); ++i) {
    const Vector3d moved = x[i] - x0[i];
    sum += 0.5 * model.mass[i] * per_dt * per_dt * (moved - settings.dt * state.v[i]).squaredNorm() +
           0.5 * (model.drag[i] + state.ease[i]) * per_dt * moved.squaredNorm() -
           model.weight_mass[i] * settings.gravity.dot(moved);
  }
  // The moments stand still during an iteration, so the work of twist is linear.
  if (state.twist.active())
    for (std::size_t i = 0; i < model.vertices(); ++i) sum += twist_[i].dot(x[i] - state.x[i]);
  for (std::size_t j = 0; j < count; ++j)
    sum += potential(constraints[j], point(x, constraints[j]), responses_[j].bound);
  return sum;
}

StepOutcome ImplicitStep::solve(const rod_old::RodModel& model, const std::vector<Vector3d>& x0, rod_old::RodState& state,
                                Constraint* constraints, std::size_t count, const StepSettings& settings) noexcept {
  StepOutcome out;
  const std::size_t n = model.vertices();
  double weight = 1e-12;
  for (std::size_t i = 0; i < n; ++i) weight = std::max(weight, model.weight_mass[i] * settings.gravity.norm());
  const double rounding = rounding_force(model, state.x);

  bool still = false;  // the last solve moved nothing: what is left of the residual is force in stiff directions
  for (int iteration = 0;; ++iteration) {
    const Imbalance imbalance = assemble(model, x0, state, constraints, count, settings);
    out.load = weight;
    for (std::size_t j = 0; j < count; ++j) out.load = std::max(out.load, responses_[j].force.norm());
    out.residual = std::max(imbalance.vertex, imbalance.multiplier) / out.load;
    out.finite = imbalance.finite;
    if (!out.finite) return out;
    const double allowed = settings.residual_target * out.load;
    out.converged = still || std::max(imbalance.vertex, imbalance.multiplier) <= allowed + rounding;
    if (out.converged || iteration == settings.iterations) {
      if (!out.converged && shorten(model, x0, state.x)) out.limited = true;
      return out;
    }

    band_.factor();
    band_.solve(gradient_[0].data());
    ++out.iterations;
    double longest = 0, furthest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double after = (state.x[i] - gradient_[i] - x0[i]).norm();
      if (!std::isfinite(after)) return out.finite = false, out;
      longest = std::max(longest, after);
      furthest = std::max(furthest, gradient_[i].cwiseAbs().maxCoeff());
    }
    double fraction = 1.0;
    if (longest > settings.travel_limit) {
      // Shortened as a whole, so that the direction stays one of descent.
      double least = 1.0;
      for (std::size_t i = 0; i < n; ++i) {
        const double step = gradient_[i].norm(), room = settings.travel_limit - (state.x[i] - x0[i]).norm();
        if (step > 0) least = std::min(least, std::max(room, 0.0) / step);
      }
      fraction = least;
      out.limited = true;
    }
    // Halve until the merit falls (or does not rise by more than rounding).
    const bool careful = furthest > kSmallMove;
    const double before = careful ? merit(model, x0, state, state.x, constraints, count, settings) : 0.0;
    for (int halving = 0;; ++halving) {
      for (std::size_t i = 0; i < n; ++i) trial_[i] = state.x[i] - fraction * gradient_[i];
      if (!careful) break;
      const double after = merit(model, x0, state, trial_, constraints, count, settings);
      if (after <= before + kMeritNoise * (std::abs(before) + std::abs(after)) || halving == kMostHalvings) break;
      fraction *= 0.5;
    }
    std::copy_n(trial_.begin(), n, state.x.begin());

    still = fraction * furthest < kStill;
    for (std::size_t j = 0; j < count; ++j)
      if (move_multiplier(constraints[j], responses_[j], fraction, gradient_, state.x)) still = false;
  }
}

}  // namespace ligature::contact
