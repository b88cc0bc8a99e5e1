#include "sim/contact/cone_newton.hpp"

#include <algorithm>
#include <cmath>

#include "sim/contact/cone_problem.hpp"

namespace ligature::contact {
namespace {

constexpr double kLeastGive = 1e-15;    // of a contact's own motion: two at one place would have no forces of their own
constexpr double kFrictionless = 1e-9;  // of |z_t|: a bound below is none

}  // namespace

ConeNewton::ConeNewton(std::size_t most_contacts)
    : most_(most_contacts), system_(3 * most_contacts), right_(3 * most_contacts) {
  unknowns_.reserve(3 * most_contacts);
}

std::size_t ConeNewton::look(const ConeProblem& problem, const LocalCone* contacts, const double* r,
                             const double* u) noexcept {
  unknowns_.clear();
  std::size_t taken = 0;
  for (std::size_t i = 0; i < problem.count; ++i) {
    const LocalCone& c = contacts[i];
    const double *own = r + 3 * i, *moves = u + 3 * i;
    const double zn = own[0] - c.rho * moves[0];
    if (!(c.wn > 0) || !(zn > 0)) continue;
    if (++taken > most_) return 0;
    const double z1 = own[1] - c.rho * moves[1], z2 = own[2] - c.rho * moves[2], t = std::sqrt(z1 * z1 + z2 * z2);
    const double least = kLeastGive / c.rho;
    if (t <= c.mu * zn) {
      unknowns_.push_back({i, {1, 0, 0}, {1, 0, 0}, least});
      unknowns_.push_back({i, {0, 1, 0}, {0, 1, 0}, least});
      unknowns_.push_back({i, {0, 0, 1}, {0, 0, 1}, least});
      continue;
    }
    const double e1 = z1 / t, e2 = z2 / t, b = c.mu * zn / t;
    unknowns_.push_back({i, {1, c.mu * e1, c.mu * e2}, {1, 0, 0}, least});
    if (b > kFrictionless) unknowns_.push_back({i, {0, -e2, e1}, {0, -e2, e1}, (1 - b) / (b * c.rho) + least});
  }
  return unknowns_.size();
}

bool ConeNewton::aim(const ConeProblem& problem, double* target) noexcept {
  const std::size_t n = unknowns_.size();
  system_.begin(n);
  for (std::size_t k = 0; k < n; ++k) {
    const Unknown& equation = unknowns_[k];
    const double* w = problem.w + 3 * equation.contact * problem.stride;
    const double* q = problem.q + 3 * equation.contact;
    const double *along = equation.along, *w1 = w + problem.stride, *w2 = w1 + problem.stride;
    double* row = system_.row(k);
    for (std::size_t j = 0; j < n; ++j) {
      const Unknown& x = unknowns_[j];
      const std::size_t at = 3 * x.contact;
      double sum = 0;
      for (std::size_t a = 0; a < 3; ++a)
        if (x.force[a] != 0) sum += x.force[a] * (along[0] * w[at + a] + along[1] * w1[at + a] + along[2] * w2[at + a]);
      row[j] = sum;
    }
    row[k] += equation.give;
    right_[k] = -(along[0] * q[0] + along[1] * q[1] + along[2] * q[2]);
  }
  if (!system_.factor()) return false;
  system_.solve(right_.data());
  std::fill_n(target, 3 * problem.count, 0.0);
  double sum = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const Unknown& x = unknowns_[k];
    for (std::size_t a = 0; a < 3; ++a) target[3 * x.contact + a] += x.force[a] * right_[k];
    sum += 0 * right_[k];
  }
  return sum == 0;  // finite
}

}  // namespace ligature::contact
