#include "sim/contact/cone_interior.hpp"

#include <algorithm>
#include <cmath>

#include "sim/contact/cone_kernels.hpp"
#include "sim/contact/cone_problem.hpp"

namespace ligature::contact {
namespace {

constexpr double kFrictionless = 1e-9;  // of mu
constexpr double kGive = 1e-13;         // of a contact's own motion: two at one place would have no forces of their own
constexpr double kInside = 0.995;       // of the way to the boundary
constexpr double kShort = 0.1;          // a step that the corrector has made shorter than this is taken without
constexpr double kPlainCentre = 0.1;    // ... and then aims at this part of s at least
constexpr double kLeastStep = 1e-9;
constexpr double kWarm = 0.02;          // how far inside the cones it begins, from forces that are known
constexpr double kEnd = 1e-18;  // s where nothing more is to be had

// Until when x + t d stays in the second-order cone.
double until(const double* x, const double* d) {
  const double a = d[0] * d[0] - d[1] * d[1] - d[2] * d[2], b = x[0] * d[0] - x[1] * d[1] - x[2] * d[2];
  const double c = x[0] * x[0] - x[1] * x[1] - x[2] * x[2];
  double least = d[0] < 0 ? -x[0] / d[0] : 1e30;
  const double inner = b * b - a * c;
  if (!(inner >= 0)) return least;
  const double root = -(b + std::copysign(std::sqrt(inner), b));
  if (a != 0 && root / a > 0) least = std::min(least, root / a);
  if (root != 0 && c / root > 0) least = std::min(least, c / root);
  return least;
}

// out = a o b.
void product(const double* a, const double* b, double* out) {
  out[0] = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  out[1] = a[0] * b[1] + b[0] * a[1];
  out[2] = a[0] * b[2] + b[0] * a[2];
}

}  // namespace

ConeInterior::ConeInterior(std::size_t most_contacts)
    : most_(most_contacts), m_(9 * most_contacts * most_contacts), system_(3 * most_contacts) {
  for (std::vector<double>* v : {&scale_, &p_, &x_, &z_, &dx_, &dz_, &y_, &lack_, &curve_})
    v->resize(3 * most_contacts);
}

void ConeInterior::start(const ConeProblem& problem, const std::size_t* taken, std::size_t count,
                         const double* warm) noexcept {
  taken_ = taken, count_ = count, n_ = 3 * count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t c = taken[i];
    const bool rubs = problem.mu[c] > kFrictionless;
    double* scale = scale_.data() + 3 * i;
    scale[0] = rubs ? 1 / problem.mu[c] : 1;
    scale[1] = scale[2] = rubs ? 1 : 0;
    double sum = 0;
    for (std::size_t a = 0; a < 3; ++a) {
      const std::size_t k = 3 * c + a;
      sum += scale[a] * scale[a] * problem.w[k * problem.stride + k];
    }
    const double to_one = sum > 0 ? std::sqrt((rubs ? 3 : 1) / sum) : 0;
    for (std::size_t a = 0; a < 3; ++a) scale[a] *= to_one;
  }
  load_ = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    const std::size_t row = 3 * taken[i / 3] + i % 3;
    p_[i] = scale_[i] * problem.q[row];
    load_ = std::max(load_, std::abs(p_[i]));
    const double* from = problem.w + row * problem.stride;
    double* to = m_.data() + i * n_;
    for (std::size_t j = 0; j < n_; ++j) to[j] = scale_[i] * from[3 * taken[j / 3] + j % 3] * scale_[j];
    to[i] += kGive;
  }
  if (!(load_ > 0)) load_ = 1;
  for (std::size_t i = 0; i < n_; ++i) {
    p_[i] /= load_;
    const double to_x = load_ * scale_[i];
    x_[i] = to_x > 0 ? warm[3 * taken[i / 3] + i % 3] / to_x : 0;
  }
  for (std::size_t i = 0; i < n_; ++i) z_[i] = p_[i] + kernels::dot(m_.data() + i * n_, x_.data(), n_);
  for (std::size_t i = 0; i < n_; i += 3) {
    const double slip = std::hypot(z_[i + 1], z_[i + 2]), across = std::hypot(x_[i + 1], x_[i + 2]);
    z_[i] = std::max(z_[i], 0.0) + slip + kWarm;
    x_[i] = std::max(x_[i], across) + kWarm;
  }
}

// Arw(x) A M + Arw(z), A M = M and, in the rows along n, its tangential rows along z_t besides.
void ConeInterior::make_system() noexcept {
  system_.begin(n_);
  for (std::size_t i = 0; i < n_; i += 3) {
    const double* m = m_.data() + i * n_;
    for (std::size_t a = 0; a < 3; ++a) {
      y_[i + a] = p_[i + a] + kernels::dot(m + a * n_, x_.data(), n_);
      lack_[i + a] = y_[i + a] - z_[i + a];
    }
    const double slip = std::hypot(y_[i + 1], y_[i + 2]);
    const double t1 = slip > 0 ? y_[i + 1] / slip : 0, t2 = slip > 0 ? y_[i + 2] / slip : 0;
    lack_[i] += slip;
    const double x0 = x_[i], x1 = x_[i + 1], x2 = x_[i + 2];
    const double blend[3][3] = {
        {x0, x0 * t1 + x1, x0 * t2 + x2}, {x1, x1 * t1 + x0, x1 * t2}, {x2, x2 * t1, x2 * t2 + x0}};
    for (std::size_t a = 0; a < 3; ++a) {
      double* row = system_.row(i + a);
      std::fill_n(row, n_, 0.0);
      kernels::add_rows(row, m, m + n_, m + 2 * n_, blend[a], n_);
      row[i + a] += z_[i];
      if (a > 0) row[i] += z_[i + a], system_.row(i)[i + a] += z_[i + a];
    }
  }
}

// Towards x o z = centre e. @param corrected by what the predictor, in curve_, left out
void ConeInterior::direction(double centre, bool corrected) noexcept {
  for (std::size_t i = 0; i < n_; i += 3) {
    double now[3], lacks[3];
    product(x_.data() + i, z_.data() + i, now);
    product(x_.data() + i, lack_.data() + i, lacks);
    for (std::size_t a = 0; a < 3; ++a)
      dx_[i + a] = (a == 0 ? centre : 0) - now[a] - lacks[a] - (corrected ? curve_[i + a] : 0);
  }
  system_.solve(dx_.data());
  for (std::size_t i = 0; i < n_; i += 3) {
    double by[3];
    for (std::size_t a = 0; a < 3; ++a) by[a] = kernels::dot(m_.data() + (i + a) * n_, dx_.data(), n_);
    const double slip = std::hypot(y_[i + 1], y_[i + 2]);
    if (slip > 0) by[0] += (y_[i + 1] * by[1] + y_[i + 2] * by[2]) / slip;
    for (std::size_t a = 0; a < 3; ++a) dz_[i + a] = by[a] + lack_[i + a];
  }
}

double ConeInterior::longest() const noexcept {
  double least = 1 / kInside;
  for (std::size_t i = 0; i < n_; i += 3)
    least = std::min({least, until(x_.data() + i, dx_.data() + i), until(z_.data() + i, dz_.data() + i)});
  return kInside * least;
}

bool ConeInterior::advance() noexcept {
  make_system();
  const double s = kernels::dot(x_.data(), z_.data(), n_) / static_cast<double>(count_);
  if (!(s > kEnd) || !system_.factor()) return false;
  direction(0, false);
  double step = longest(), foretold = 0;
  for (std::size_t i = 0; i < n_; ++i) foretold += (x_[i] + step * dx_[i]) * (z_[i] + step * dz_[i]);
  const double part = std::max(0.0, foretold / static_cast<double>(count_) / s);
  const double centre = std::clamp(part * part * part, 1e-6, 1.0);
  for (std::size_t i = 0; i < n_; i += 3) product(dx_.data() + i, dz_.data() + i, curve_.data() + i);
  direction(centre * s, true);
  step = longest();
  if (!(step > kShort)) {
    direction(std::max(centre, kPlainCentre) * s, false);
    step = longest();
  }
  if (!(step > kLeastStep)) return false;
  for (std::size_t i = 0; i < n_; ++i) {
    x_[i] += step * dx_[i];
    z_[i] += step * dz_[i];
  }
  return true;
}

void ConeInterior::forces(double* r, std::size_t contacts) const noexcept {
  std::fill_n(r, 3 * contacts, 0.0);
  for (std::size_t i = 0; i < n_; ++i) r[3 * taken_[i / 3] + i % 3] = load_ * scale_[i] * x_[i];
}

}  // namespace ligature::contact
