#include "sim/contact/cone_splitting.hpp"

#include <algorithm>
#include <cmath>

#include "sim/contact/cone_kernels.hpp"
#include "sim/contact/cone_problem.hpp"

namespace ligature::contact {
namespace {

constexpr std::size_t kPanel = 16;       // rows eliminated before the rest is updated
constexpr std::size_t kMostSoft = 18;    // motions taken out at most before R is measured, with one body; ...
constexpr std::size_t kFewSoft = 6;      // ... taken out beyond the last drop, or a twelfth of all; more a body
constexpr double kSoftDrop = 0.03;       // from one diagonal to the next largest: what was before is soft
constexpr double kLeastSoftness = 1e-9;  // of R, to the diagonal of W
constexpr double kRelaxation = 1.6;      // beyond x

}  // namespace

ConeSplitting::ConeSplitting(std::size_t most_contacts)
    : begin_(most_contacts + 1),
      row_(3 * most_contacts),
      soft_(3 * most_contacts),
      y_(3 * most_contacts),
      upper_(3 * most_contacts * (3 * most_contacts + 12)),
      inverse_(3 * most_contacts),
      b_(3 * most_contacts) {}

// Steps of a Cholesky factorisation of W, each at the largest diagonal that is left in units of the contact's own; the
// rows of the factor stand in upper_, which is not in use yet.
void ConeSplitting::soften(const ConeProblem& problem, const LocalCone* contacts, std::size_t bodies) noexcept {
  double* left = inverse_.data();
  for (std::size_t j = 0; j < n_; ++j) left[j] = problem.w[row_[j] * (problem.stride + 1)];
  const auto measure = [&] {
    for (std::size_t c = 0; c < count_; ++c) {
      double sum = 0;
      for (std::size_t j = begin_[c]; j < begin_[c + 1]; ++j) sum += std::max(left[j], 0.0);
      const double mean = sum / static_cast<double>(begin_[c + 1] - begin_[c]), rho = contacts[taken_[c]].rho;
      for (std::size_t j = begin_[c]; j < begin_[c + 1]; ++j)
        soft_[j] = rho > 0 ? std::max(mean, kLeastSoftness / rho) : 0;
    }
  };
  measure();
  const std::size_t steps = std::min(kMostSoft + kFewSoft * (bodies - 1), n_ / 2);
  const std::size_t few = std::min(kFewSoft * bodies, n_ / 12);
  double before = 0;
  for (std::size_t k = 0, since = 0; k < steps && since <= few; ++k, ++since) {
    std::size_t pivot = 0;
    double largest = 0;
    for (std::size_t j = 0; j < n_; ++j)
      if (const double part = left[j] * contacts[row_[j] / 3].rho; part > largest) largest = part, pivot = j;
    if (!(largest > kLeastSoftness)) break;
    if (largest < kSoftDrop * before) since = 0;
    if (since == 0 || since == few) measure();
    before = largest;
    const double* row = problem.w + row_[pivot] * problem.stride;
    double* to = upper_.data() + k * stride_;
    for (std::size_t j = 0; j < n_; ++j) to[j] = row[row_[j]];
    for (std::size_t l = 0; l < k; ++l) {
      const double* above = upper_.data() + l * stride_;
      kernels::subtract(to, above[pivot], above, n_);
    }
    const double scale = 1 / std::sqrt(left[pivot]);
    for (std::size_t j = 0; j < n_; ++j) {
      to[j] *= scale;
      left[j] -= to[j] * to[j];
    }
    left[pivot] = 0;
  }
}

void ConeSplitting::start(const ConeProblem& problem, const LocalCone* contacts, const std::size_t* taken,
                          std::size_t count, std::size_t bodies) noexcept {
  taken_ = taken;
  count_ = count;
  n_ = 0;
  for (std::size_t c = 0; c < count; ++c) {
    begin_[c] = n_;
    const std::size_t directions = bodies > 0 && !(contacts[taken[c]].mu > 0) ? 1 : 3;
    for (std::size_t a = 0; a < directions; ++a) row_[n_++] = 3 * taken[c] + a;
  }
  begin_[count] = n_;
  stride_ = (n_ + 3) / 4 * 4 + 4;  // no power of two, whose rows fall on each other in the cache
  soften(problem, contacts, std::max<std::size_t>(bodies, 1));
  for (std::size_t i = 0; i < n_; ++i) {
    const double* row = problem.w + row_[i] * problem.stride;
    double* to = upper_.data() + i * stride_;
    for (std::size_t j = i; j < n_; ++j) to[j] = row[row_[j]];
    to[i] += soft_[i];
  }
  std::fill_n(y_.data(), 3 * count, 0.0);
  factor();
}

void ConeSplitting::factor() noexcept {
  for (std::size_t k0 = 0; k0 < n_; k0 += kPanel) {
    const std::size_t k1 = std::min(k0 + kPanel, n_);
    for (std::size_t k = k0; k < k1; ++k) {
      double* top = upper_.data() + k * stride_;
      for (std::size_t l = k0; l < k; ++l) {
        const double* above = upper_.data() + l * stride_;
        kernels::subtract(top + k, above[k], above + k, n_ - k);
      }
      // Every pivot of W + R is above R but for rounding; a contact that nothing moves has neither.
      const double least = 0.5 * soft_[k];
      const double pivot = top[k] > least ? std::sqrt(top[k]) : std::sqrt(least);
      inverse_[k] = pivot > 0 ? 1 / pivot : 0;
      for (std::size_t j = k; j < n_; ++j) top[j] *= inverse_[k];
    }
    for (std::size_t i = k1; i < n_; i += 4)
      kernels::subtract_outer(upper_.data(), stride_, k0, k1, i, std::min<std::size_t>(4, n_ - i), n_);
  }
}

void ConeSplitting::substitute() noexcept {
  for (std::size_t i = 0; i < n_; ++i) {
    b_[i] *= inverse_[i];
    kernels::subtract(b_.data() + i + 1, b_[i], upper_.data() + i * stride_ + i + 1, n_ - i - 1);
  }
  for (std::size_t i = n_; i-- > 0;) {
    const double* row = upper_.data() + i * stride_;
    b_[i] = (b_[i] - kernels::dot(row + i + 1, b_.data() + i + 1, n_ - i - 1)) * inverse_[i];
  }
}

void ConeSplitting::round(const ConeProblem& problem, const LocalCone* contacts, double* r, double* u) noexcept {
  for (std::size_t c = 0; c < count_; ++c) {
    const std::size_t at = begin_[c];
    const double soft = soft_[at];
    const double *y = y_.data() + 3 * c, *v = u + 3 * taken_[c];
    const double shift = contacts[taken_[c]].mu * soft * std::sqrt(y[1] * y[1] + y[2] * y[2]);
    b_[at] = -(v[0] + shift + soft * y[0]);
    for (std::size_t j = at + 1; j < begin_[c + 1]; ++j) b_[j] = -(v[j - at] + soft * y[j - at]);
  }
  substitute();
  for (std::size_t c = 0; c < count_; ++c) {
    const std::size_t i = taken_[c];
    double* y = y_.data() + 3 * c;
    double* own = r + 3 * i;
    double z[3] = {}, x[3];
    for (std::size_t j = begin_[c], a = 0; j < begin_[c + 1]; ++j, ++a)
      z[a] = y[a] = own[a] + y[a] + kRelaxation * b_[j];
    contacts[i].project(z);
    for (std::size_t a = 0; a < 3; ++a) {
      y[a] -= z[a];
      x[a] = z[a] - own[a];
      own[a] = z[a];
    }
    if (x[0] == 0 && x[1] == 0 && x[2] == 0) continue;
    const double* row = problem.w + 3 * i * problem.stride;
    kernels::add_rows(u, row, row + problem.stride, row + 2 * problem.stride, x, 3 * problem.count);
  }
}

}  // namespace ligature::contact
