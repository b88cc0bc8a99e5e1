#include "sim/contact/cone_problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/contact/cone_kernels.hpp"

namespace ligature::contact {
namespace {

constexpr double kNear = 4;                    // contacts closer than so many of the worst misfits are taken
constexpr int kLastSweeps = 2;                 // of exact local solutions end a splitting
constexpr int kMostRoundsInVain = 40;          // without a better point, ...
constexpr int kMostFromNothing = 120;          // ... where the splitting has begun again from nothing
constexpr std::size_t kUnknownsPerRound = 50;  // a factorisation costs as much as its unknowns over this
constexpr std::size_t kMostSplit = 640;        // contacts; above, sweeps are all there is
constexpr std::size_t kMostNewton = 384;       // contacts that are pressed, of Newton's steps
constexpr std::size_t kMostInterior = 256;     // contacts that may touch, of the interior-point method
constexpr std::size_t kUnknownsPerStep = 25;   // such a step costs as much as its unknowns over this
constexpr int kMostSteps = 6;                  // at a time
constexpr int kMostParts = 2;                  // tries of such a step, each half as long
constexpr double kWorthIt = 0.5;               // of the misfit, that a step must leave no more than

bool finite(const double* x, std::size_t n) {
  double sum = 0;  // a NaN or an infinity survives any sum of products with zero
  for (std::size_t i = 0; i < n; ++i) sum += 0 * x[i];
  return sum == 0;
}

/// u = W r + q by the columns of W.
void move(const ConeProblem& problem, const double* r, double* u) {
  const std::size_t n = 3 * problem.count;
  std::copy_n(problem.q, n, u);
  for (std::size_t i = 0; i < n; i += 3) {
    const double* row = problem.w + i * problem.stride;
    kernels::add_rows(u, row, row + problem.stride, row + 2 * problem.stride, r + i, n);
  }
}

/// The norms of a natural map residual, contact by contact.
struct Norms {
  double miss = 0, force = 0, load = 0, motion = 0;  // all squared
  void add(const LocalCone& contact, const double* q, const double* r, const double* u) {
    const double own = contact.miss(r, u);
    miss += own;
    if (contact.wn > 0) motion = std::max(motion, own / (contact.rho * contact.rho));
    force += r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
    const double pressed = contact.wn > 0 ? contact.rho * std::min(q[0], 0.0) : 0;
    load += pressed * pressed;
  }
  double relative() const { return miss == 0 ? 0 : finite_or_worst(std::sqrt(miss / std::max(force, load))); }
  double most_motion() const { return finite_or_worst(std::sqrt(motion)); }
  // No point with a NaN in it is the best.
  static double finite_or_worst(double x) { return std::isfinite(x) ? x : std::numeric_limits<double>::infinity(); }
};

}  // namespace

double natural_residual(const ConeProblem& problem, const double* r, const double* u) noexcept {
  Norms norms;
  for (std::size_t i = 0; i < problem.count; ++i) {
    LocalCone contact;
    contact.prepare(problem.w + 3 * i * problem.stride + 3 * i, problem.stride, problem.mu[i]);
    norms.add(contact, problem.q + 3 * i, r + 3 * i, u + 3 * i);
  }
  return norms.relative();
}

ConeSolver::ConeSolver(std::size_t most_contacts)
    : most_(most_contacts),
      contact_(most_contacts),
      u_(3 * most_contacts),
      before_(3 * most_contacts),
      u_before_(3 * most_contacts),
      way_(3 * most_contacts),
      u_way_(3 * most_contacts),
      best_(3 * most_contacts),
      swept_(3 * most_contacts),
      taken_(most_contacts),
      splitting_(std::min(most_contacts, kMostSplit)),
      interior_(std::min(most_contacts, kMostInterior)),
      newton_(std::min(most_contacts, kMostNewton)) {}

ConeSolver::Misfit ConeSolver::misfit(const ConeProblem& problem, const double* r) const noexcept {
  Norms norms;
  for (std::size_t i = 0; i < problem.count; ++i)
    norms.add(contact_[i], problem.q + 3 * i, r + 3 * i, u_.data() + 3 * i);
  return {norms.relative(), norms.most_motion()};
}

ConeOutcome ConeSolver::solve(const ConeProblem& problem, const ConeSettings& settings, double* r) noexcept {
  ConeOutcome out;
  const std::size_t m = problem.count, n = 3 * m;
  if (m > most_) {  // no memory for it
    std::fill_n(r, n, 0.0);
    out.residual = std::numeric_limits<double>::infinity();
    return out;
  }
  bool pressed = false;
  for (std::size_t i = 0; i < m; ++i) {
    contact_[i].prepare(problem.w + 3 * i * problem.stride + 3 * i, problem.stride, problem.mu[i]);
    if (!finite(r + 3 * i, 3)) r[3 * i] = 0;
    contact_[i].clip(r + 3 * i);
    pressed = pressed || problem.q[3 * i] < 0;
  }
  move(problem, r, u_.data());
  if (!finite(u_.data(), n) || !finite(problem.mu, m)) {
    std::fill_n(r, n, 0.0);
    std::fill_n(u_.data(), n, 0.0);
    out.residual = std::numeric_limits<double>::infinity();
    return out;
  }
  if (!pressed) {
    std::fill_n(r, n, 0.0);
    std::copy_n(problem.q, n, u_.data());
    return out;
  }
  out.iterations =
      settings.method == ConeMethod::standard ? standard(problem, settings, r) : thesis(problem, settings, r);
  move(problem, r, u_.data());  // free of what the updates left behind
  const Misfit left = misfit(problem, r);
  out.residual = left.relative;
  out.motion = left.motion;
  return out;
}

void ConeSolver::sweep(const ConeProblem& problem, double* r, bool exact) noexcept {
  const std::size_t n = 3 * problem.count;
  for (std::size_t i = 0; i < n; i += 3) {
    LocalCone& contact = contact_[i / 3];
    double q[3], next[3];
    contact.without(u_.data() + i, r + i, q);
    if (exact)
      contact.solve(q, next);
    else
      contact.solve_along_stick(q, next);
    const double x[3] = {next[0] - r[i], next[1] - r[i + 1], next[2] - r[i + 2]};
    if (x[0] == 0 && x[1] == 0 && x[2] == 0) continue;
    r[i] = next[0], r[i + 1] = next[1], r[i + 2] = next[2];
    const double* row = problem.w + i * problem.stride;
    kernels::add_rows(u_.data(), row, row + problem.stride, row + 2 * problem.stride, x, n);
  }
}

bool ConeSolver::reached(const ConeSettings& settings, const Misfit& left) noexcept {
  return left.relative <= settings.residual_target && left.motion <= settings.motion_target;
}

// Projected Gauss-Seidel (thesis, Algorithm 2), and on top of it the conjugate directions of Silcowitz-Hansen et al.
// 2010: what a sweep changes is taken for minus a gradient, Fletcher-Reeves, started afresh where the sweeps grow. The
// thesis bounds the step "to where (3.84) holds"; a sweep leaves pressed contacts at a gap of rounding errors, which
// would forbid every step, so that the bound is taken from the other half of the same condition, (3.85): no normal
// force is driven below zero. W p comes by the same recurrence as p, so that a direction costs no product.
int ConeSolver::thesis(const ConeProblem& problem, const ConeSettings& settings, double* r) noexcept {
  const std::size_t m = problem.count, n = 3 * m;
  const bool conjugate = settings.method == ConeMethod::nncg;
  double square_before = 0;
  int done = 0;
  while (done < settings.iterations) {
    if (settings.residual_target > 0 && reached(settings, misfit(problem, r))) break;
    std::copy_n(r, n, before_.data());
    std::copy_n(u_.data(), n, u_before_.data());
    sweep(problem, r, false);
    ++done;
    if (!conjugate || done == settings.iterations) continue;  // a sweep ends it, never a step along p
    if (settings.residual_target > 0 && reached(settings, misfit(problem, r))) break;
    double square = 0;
    for (std::size_t j = 0; j < n; ++j) square += (r[j] - before_[j]) * (r[j] - before_[j]);
    if (!(square > 0)) break;  // still
    const bool afresh = done == 1 || !(square <= square_before);
    const double beta = done == 1 ? 0 : square / square_before;
    square_before = square;
    if (afresh) {
      // As published: p = 0 after growth, the sweep itself at the start.
      for (std::size_t j = 0; j < n; ++j) {
        way_[j] = done == 1 ? r[j] - before_[j] : 0;
        u_way_[j] = done == 1 ? u_[j] - u_before_[j] : 0;
      }
      continue;
    }
    double part = 1;
    for (std::size_t j = 0; j < n; j += 3) {
      const double step = beta * way_[j];
      if (r[j] + part * step < 0) part = r[j] / -step;
    }
    const double scale = part * beta;
    for (std::size_t j = 0; j < n; ++j) {
      const double swept = r[j] - before_[j], u_swept = u_[j] - u_before_[j];
      r[j] += scale * way_[j];
      u_[j] += scale * u_way_[j];
      way_[j] = beta * way_[j] + swept;
      u_way_[j] = beta * u_way_[j] + u_swept;
    }
    for (std::size_t i = 0; i < m; ++i) {  // back into the cone
      double inside[3] = {r[3 * i], r[3 * i + 1], r[3 * i + 2]};
      contact_[i].clip(inside);
      const double x[3] = {inside[0] - r[3 * i], inside[1] - r[3 * i + 1], inside[2] - r[3 * i + 2]};
      if (x[0] == 0 && x[1] == 0 && x[2] == 0) continue;
      const double* row = problem.w + 3 * i * problem.stride;
      std::copy_n(inside, 3, r + 3 * i);
      kernels::add_rows(u_.data(), row, row + problem.stride, row + 2 * problem.stride, x, n);
    }
  }
  return done;
}

// Away from a solution the contacts' states are wrong, and a step may lead anywhere: it is shortened until the misfit
// falls. `before_` is the target, `u_before_` where the step began.
int ConeSolver::newton(const ConeProblem& problem, const ConeSettings& settings, double* r, int most) noexcept {
  const std::size_t n = 3 * problem.count;
  int done = 0, steps = 0;
  if (!settings.newton) return 0;
  const bool both = settings.residual_target > 0 && settings.motion_target < std::numeric_limits<double>::infinity();
  const auto short_of = [&](const Misfit& m) {  // its target
    return both ? std::max(m.relative / settings.residual_target, m.motion / settings.motion_target) : m.relative;
  };
  Misfit now = misfit(problem, r);
  while (!reached(settings, now)) {
    const std::size_t unknowns = newton_.look(problem, contact_.data(), r, u_.data());
    const int cost = 1 + static_cast<int>(unknowns / kUnknownsPerStep);
    if (unknowns == 0 || done + cost > most || steps++ == kMostSteps) return done;
    done += cost;
    if (!newton_.aim(problem, before_.data())) return done;
    std::copy_n(r, n, u_before_.data());
    Misfit tried;
    double part = 1;
    for (int k = 0; k < kMostParts; ++k, part *= 0.5) {
      for (std::size_t j = 0; j < n; ++j) r[j] = u_before_[j] + part * (before_[j] - u_before_[j]);
      for (std::size_t i = 0; i < problem.count; ++i) contact_[i].project(r + 3 * i);
      move(problem, r, u_.data());
      tried = misfit(problem, r);
      if (short_of(tried) < (1 - 0.1 * part) * short_of(now)) break;
    }
    if (!(short_of(tried) <= kWorthIt * short_of(now))) {
      std::copy_n(u_before_.data(), n, r);
      move(problem, r, u_.data());
      return done;
    }
    now = tried;
  }
  return done;
}

// Sweeps as long as they promise to do; else Newton's method, else the interior-point method where that is allowed,
// else the splitting, from the best so far, among bodies on walls once more from nothing; the best of all is returned.
int ConeSolver::standard(const ConeProblem& problem, const ConeSettings& settings, double* r) noexcept {
  const std::size_t m = problem.count, n = 3 * m;
  Misfit now = misfit(problem, r), least = now;
  std::copy_n(r, n, best_.data());
  int done = 0, kept_at = 0;
  const auto look = [&] {
    now = misfit(problem, r);
    if (!(now.relative < least.relative)) return;
    least = now;
    kept_at = done;
    std::copy_n(r, n, best_.data());
  };
  const auto back = [&] {
    std::copy_n(best_.data(), n, r);
    move(problem, r, u_.data());
    now = least;
  };
  const auto over = [&] { return done >= settings.iterations || reached(settings, least); };
  const auto promising = [&](const Misfit& before) {  // three more like the last would do
    const double a = now.relative / before.relative, b = now.motion / before.motion;
    return a * a * a * now.relative <= settings.residual_target && !(b * b * b * now.motion > settings.motion_target);
  };
  for (Misfit before = now; !over() && (done == 0 || promising(before));) {
    before = now;
    sweep(problem, r, true);
    ++done;
    look();
  }
  if (over()) {
    std::copy_n(best_.data(), n, r);
    return done;
  }
  back();
  const auto finish = [&](int most) {
    done += newton(problem, settings, r, most);
    look();
  };
  std::copy_n(r, n, swept_.data());
  double near = least.motion;
  finish(settings.iterations - done);
  if (over()) {
    std::copy_n(best_.data(), n, r);
    return done;
  }
  // From where the sweeps ended: what Newton's method was stopped at may be good for nothing but its misfit.
  std::copy_n(swept_.data(), n, r);
  move(problem, r, u_.data());
  // Contacts far from touching would cost much and change nothing; the sweeps below see all.
  for (std::size_t i = 0; i < m; ++i) near = std::max(near, -u_[3 * i]);
  std::size_t count = 0;
  for (std::size_t i = 0; i < m; ++i)
    if (contact_[i].wn > 0 && (r[3 * i] > 0 || u_[3 * i] <= kNear * near)) taken_[count++] = i;
  if (settings.newton && settings.interior > 0 && count <= std::min(settings.interior_contacts, interior_.most())) {
    interior_.start(problem, taken_.data(), count, swept_.data());
    for (int k = 0; k < settings.interior && !over() && interior_.advance(); ++k) {
      interior_.forces(r, m);
      move(problem, r, u_.data());
      look();
    }
    back();
    if (!over()) finish(settings.iterations - done);
    if (over()) {
      std::copy_n(best_.data(), n, r);
      return done;
    }
    back();
  }
  const int cost = 1 + static_cast<int>(3 * count / kUnknownsPerRound);
  const int last = settings.newton ? 2 * cost + kLastSweeps : kLastSweeps;
  if (count > 1 && count <= splitting_.most() && done + cost + last < settings.iterations) {
    splitting_.start(problem, contact_.data(), taken_.data(), count, settings.bodies);
    done += cost;
    kept_at = done;
    const auto split = [&](int most_in_vain) {
      while (done + last < settings.iterations && done - kept_at < most_in_vain && !over()) {
        splitting_.round(problem, contact_.data(), r, u_.data());
        ++done;
        look();
      }
    };
    split(kMostRoundsInVain);
    // A body that floats leaves contacts open where the splitting began so, for as good as ever: from nothing it
    // presses all of them, and is soon beyond what it was begun with, but not within rounds in vain.
    if (settings.bodies > 0 && !over()) {
      splitting_.begin();
      std::fill_n(r, n, 0.0);
      std::copy_n(problem.q, n, u_.data());
      kept_at = done;
      split(kMostFromNothing);
    }
    back();
    if (!over()) finish(settings.iterations - done - kLastSweeps);
    back();
  }
  while (!over()) {
    sweep(problem, r, true);
    ++done;
    look();
  }
  std::copy_n(best_.data(), n, r);
  return done;
}

}  // namespace ligature::contact
