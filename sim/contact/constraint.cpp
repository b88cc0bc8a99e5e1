#include "sim/contact/constraint.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/contact/tolerances.hpp"

namespace ligature::contact {
namespace {

constexpr double kFlat = 1e-6;  // an angle whose sine is the angle

// Projects the trial force on the ball of radius `bound` in the subspace of projector `across`.
//
//   inside:   f = trial,                  -df/dc = k across
//   outside:  f = bound trial/|trial|,    -df/dc = k bound/|trial| (across - d d^T),  d = trial/|trial|
//
// A slip that reversed in the course of the step keeps the d d^T part (the secant): a majoriser, which cannot hop
// from one side of the sticking solution to the other for ever. Of a grip a sixteenth of it: the secant is ten times as
// stiff as 10 mm of the thread that is drawn through, so that an iteration left nine tenths of the way; without any a
// thread that nothing else holds would be without stiffness.
void project(Constraint& constraint, const Vector3d& trial, double bound, const Matrix3d& across, Response& out) {
  const double size = trial.norm();
  out.bound = bound;
  if (size <= bound) {
    out.force += trial;
    out.stiffness += constraint.k * across;
    out.sliding = false;
    constraint.direction.setZero();
  } else {
    const Vector3d d = trial / size;
    if (constraint.direction.dot(d) < 0) constraint.flipped = true;
    constraint.direction = d;
    out.force += bound * d;
    const double secant = constraint.k * bound / size;
    out.stiffness += secant * across;
    const double along = !constraint.flipped ? 0.0 : constraint.kind == Constraint::Kind::grip ? kGripAlong : 1.0;
    out.stiffness -= ((1 - along) * secant) * d * d.transpose();
    out.sliding = true;
  }
}

// Integral of the projected force over the trial force, over k (Huber's function).
double huber(double size, double bound, double k) {
  return (size <= bound ? 0.5 * size * size : bound * (size - 0.5 * bound)) / k;
}

// What a grip holds along the faces: |f_t - pulley| <= bound. Unbounded before it is settled.
struct Hold {
  Vector3d pulley{0, 0, 0};
  double bound = std::numeric_limits<double>::infinity();
};

// The force on the thread along the faces if nothing slid.
Vector3d along_faces(const Constraint& grip, const Vector3d& c) {
  const Vector3d strain = grip.anchor - c;
  return grip.k * (strain - grip.normal.dot(strain) * grip.normal);
}

// @param trial along_faces()
Hold hold_of(const Constraint& grip, const Vector3d& trial) {
  if (!grip.settled) return {};
  Hold out{{0, 0, 0}, grip.bound};
  for (const Leaving& l : grip.leaving) out.pulley += l.press * std::tan(0.5 * l.angle) * l.along;
  for (const Leaving& l : grip.leaving) {
    const double turn = std::max(l.angle, kFlat), rubs = grip.friction * turn;
    const bool drawn_out = (trial - out.pulley).dot(l.along) < 0;
    out.bound += l.press / std::sin(turn) * (drawn_out ? -std::expm1(-rubs) : std::expm1(rubs));
  }
  return out;
}

}  // namespace

double potential(const Constraint& constraint, const Vector3d& c, const Response& frozen) noexcept {
  if (constraint.kind == Constraint::Kind::grip) {
    const double off = constraint.normal.dot(constraint.anchor - c);
    return 0.5 * constraint.stiffer * constraint.k * off * off +
           huber((along_faces(constraint, c) - frozen.pulley).norm(), frozen.bound, constraint.k) +
           frozen.pulley.dot(constraint.anchor - c);
  }
  const Vector3d trial = constraint.force - constraint.k * (c - constraint.anchor);
  const Vector3d& n = constraint.normal;
  const double across = huber((trial - n.dot(trial) * n).norm(), frozen.bound, constraint.k);
  const double k = constraint.stiffer * constraint.k;
  const double trial_normal = n.dot(constraint.force) - k * (gap(constraint, c) + constraint.slack);
  const double normal_force = constraint.engaged ? std::abs(trial_normal) : std::max(0.0, trial_normal);
  return huber(normal_force, constraint.most, k) + across;
}

GripAt grip_at(const Constraint& grip, const Vector3d& c) noexcept {
  const Vector3d along = along_faces(grip, c);
  const Hold hold = hold_of(grip, along);
  const Vector3d about = along - hold.pulley;
  GripAt out{across_faces(grip, c) * grip.normal + along, {0, 0, 0}};
  const double beyond = about.norm() - hold.bound;
  if (beyond <= 0) return out;
  const Vector3d over = beyond / about.norm() * about;
  return {out.force - over, -over / grip.k};
}

Response respond(Constraint& constraint, const Vector3d& c) noexcept {
  Response out;
  out.force.setZero();
  out.stiffness.setZero();
  const Vector3d& n = constraint.normal;
  if (constraint.kind == Constraint::Kind::grip) {
    const Vector3d along = along_faces(constraint, c);
    const Hold hold = hold_of(constraint, along);
    const Matrix3d nn = n * n.transpose();
    out.active = true;
    out.pulley = hold.pulley;
    out.force = across_faces(constraint, c) * n + hold.pulley;
    out.stiffness = constraint.stiffer * constraint.k * nn;
    project(constraint, along - hold.pulley, hold.bound, Matrix3d::Identity() - nn, out);
    return out;
  }
  if (!constraint.engaged) {
    constraint.direction.setZero();
    return out;
  }
  const Vector3d trial = constraint.force - constraint.k * (c - constraint.anchor);
  out.lack = gap(constraint, c) + constraint.slack;
  const double k = constraint.stiffer * constraint.k;
  const double normal_force = n.dot(constraint.force) - k * out.lack;
  out.active = true;
  const Matrix3d nn = n * n.transpose();
  out.force = std::min(normal_force, constraint.most) * n;
  // Where the body gives way, the secant: a tangent of zero would send the thread to the moon.
  out.stiffness = k * std::min(1.0, constraint.most / std::max(normal_force, 1e-300)) * nn;
  if (normal_force <= 0) out.stiffness = k * nn;
  const double bound =
      constraint.sliding ? constraint.friction * n.dot(constraint.force) : std::numeric_limits<double>::infinity();
  project(constraint, trial - n.dot(trial) * n, bound, Matrix3d::Identity() - nn, out);
  return out;
}

// The multiplier becomes the force that the solve has just balanced, f - K dc: at a new active set that is the Newton
// step of the multiplier. (Evaluating the law at the new point instead would add the error of a wrong active set.)
// A shortened step moves it by the same fraction. True when the constraint changes to another case of its law.
bool move_multiplier(Constraint& c, const Response& r, double fraction, const Vector3d& moved,
                     double gap_now) noexcept {
  if (c.kind == Constraint::Kind::grip) {
    const bool first = !c.settled;
    c.settled = c.settled || fraction == 1.0;
    return first;
  }
  if (!c.engaged) {
    c.engaged = gap_now + c.slack < 0;
    c.sliding = c.engaged;
    return c.engaged;
  }
  const Vector3d balanced = r.force - r.stiffness * moved;
  const Vector3d force = c.force + fraction * (balanced - c.force);
  const double normal = std::clamp(c.normal.dot(force), 0.0, c.most);
  const Vector3d across = force - c.normal.dot(force) * c.normal;
  const double size = across.norm(), bound = c.friction * normal;
  const bool engaged = normal > 0;
  bool sliding = engaged && (c.sliding ? r.sliding : size > bound);
  // Along the secant what sticks just below its bound would come back to its anchor by the ratio of the two in each
  // solve.
  c.within_bound = sliding && c.flipped && size < bound ? c.within_bound + 1 : 0;
  if (c.within_bound == kMostWithinBound) sliding = false;
  const bool changed = engaged != c.engaged || sliding != c.sliding;
  c.engaged = engaged;
  c.sliding = sliding;
  c.force = normal * c.normal + (size > bound ? bound / size : 1.0) * across;
  c.k = std::clamp(c.force.norm() / kContactSoftness, c.k, std::min(100 * c.k, kMostStiffness));
  // The thread is stiffer than that: a solve left most of what was lacking.
  const double lack = std::abs(gap_now + c.slack), k = c.stiffer * c.k;
  const double rounding = 16 * std::numeric_limits<double>::epsilon() * c.anchor.norm();
  const bool slow = fraction == 1.0 && engaged && !changed && k < kMostStiffness && lack > rounding &&
                    lack > kSlowGap * std::abs(r.lack) && k * lack > kSmallChange * normal;
  if (slow) c.stiffer *= kStiffer;
  return changed || slow;
}

}  // namespace ligature::contact
