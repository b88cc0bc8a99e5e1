#include "sim/contact/cone_local.hpp"

#include <cmath>

namespace ligature::contact {
namespace {

constexpr double kLeastPart = 1e-13;  // of the block's mean diagonal: what a motion is taken to give way at least
constexpr double kRootError = 1e-14;  // relative, of |r_t| = mu r_n
constexpr int kMostTries = 40;        // for the root; five are usual

double length(double x, double y) {
  return std::sqrt(x * x + y * y);
}

}  // namespace

void LocalCone::prepare(const double* block, std::size_t stride, double friction) noexcept {
  *this = LocalCone{};
  mu = friction > 0 ? friction : 0;
  const double *row1 = block + stride, *row2 = row1 + stride;
  d[0] = block[0], d[1] = row1[0], d[2] = row2[0], d[3] = row1[1], d[4] = row2[1], d[5] = row2[2];
  const double trace = d[0] + d[3] + d[5];
  if (!(trace > 0)) return;
  rho = 3 / trace;
  const double least = kLeastPart * trace / 3;
  if (!(d[0] > least)) return;  // its rows are zero too, else W were not semidefinite
  wn = d[0];
  const double p = d[3] - d[1] * d[1] / wn, o = d[4] - d[1] * d[2] / wn, q = d[5] - d[2] * d[2] / wn;
  double t = 0;
  if (o != 0) {  // one rotation of Jacobi
    const double tau = (q - p) / (2 * o);
    t = (tau < 0 ? -1 : 1) / (std::abs(tau) + std::sqrt(1 + tau * tau));
  }
  cs = 1 / std::sqrt(1 + t * t);
  sn = -t * cs;
  ax = p - t * o, ay = q + t * o;
  if (!(ax > least)) ax = least;
  if (!(ay > least)) ay = least;
  wx = cs * d[1] + sn * d[2];
  wy = cs * d[2] - sn * d[1];
}

void LocalCone::without(const double* u, const double* r, double* q) const noexcept {
  q[0] = u[0] - (d[0] * r[0] + d[1] * r[1] + d[2] * r[2]);
  q[1] = u[1] - (d[1] * r[0] + d[3] * r[1] + d[4] * r[2]);
  q[2] = u[2] - (d[2] * r[0] + d[4] * r[1] + d[5] * r[2]);
}

ConeState LocalCone::solve(const double* q, double* r) noexcept {
  r[0] = r[1] = r[2] = 0;
  if (!(q[0] < 0) || !(wn > 0)) return ConeState::open;
  const double alone = -q[0] / wn;
  if (!(mu > 0)) {
    r[0] = alone;
    return ConeState::slide;
  }
  const double bx = cs * q[1] + sn * q[2] + wx * alone, by = cs * q[2] - sn * q[1] + wy * alone;
  double x = -bx / ax, y = -by / ay;
  double normal = alone - (wx * x + wy * y) / wn;
  if (normal >= 0 && x * x + y * y <= mu * mu * normal * normal) {
    r[0] = normal, r[1] = cs * x - sn * y, r[2] = sn * x + cs * y;
    return ConeState::stick;
  }
  // mu r_n / |r_t| - 1 grows from below zero at lambda = 0 without bound, nearly along a line.
  double low = 0, high = 0, at = lambda;
  if (!(at > 0)) at = length(bx, by) / (mu * alone);  // where S does not matter
  double tangential = 0;
  for (int i = 0; i < kMostTries; ++i) {
    const double ix = 1 / (ax + at), iy = 1 / (ay + at);
    x = -bx * ix, y = -by * iy;
    const double square = x * x + y * y;
    tangential = std::sqrt(square);
    normal = alone - (wx * x + wy * y) / wn;
    const double left = mu * normal - tangential;
    if (std::abs(left) <= kRootError * tangential) break;
    (left > 0 ? high : low) = at;
    const double normal_slope = (wx * x * ix + wy * y * iy) / wn;
    const double slope = mu * (normal_slope + normal * (x * x * ix + y * y * iy) / square);
    double next = at - left / slope;
    if (!(next > low) || (high > 0 && !(next < high))) next = high > 0 ? 0.5 * (low + high) : 4 * at + 0.1 * (ax + ay);
    if (next == at) break;
    at = next;
  }
  lambda = at;
  if (!(normal > 0) || !(tangential > 0)) {  // not found: the direction is kept, the cone too
    r[0] = alone;
    return ConeState::slide;
  }
  const double scale = mu * normal / tangential;
  x *= scale, y *= scale;
  r[0] = normal, r[1] = cs * x - sn * y, r[2] = sn * x + cs * y;
  return ConeState::slide;
}

ConeState LocalCone::solve_along_stick(const double* q, double* r) const noexcept {
  r[0] = r[1] = r[2] = 0;
  if (!(q[0] < 0) || !(wn > 0)) return ConeState::open;
  const double alone = -q[0] / wn;
  const double bx = cs * q[1] + sn * q[2] + wx * alone, by = cs * q[2] - sn * q[1] + wy * alone;
  double x = -bx / ax, y = -by / ay;
  double normal = alone - (wx * x + wy * y) / wn;
  ConeState state = ConeState::stick;
  const double tangential = length(x, y);
  if (!(tangential <= mu * normal)) {
    state = ConeState::slide;
    x /= tangential, y /= tangential;
    const double gives = wn + mu * (wx * x + wy * y);
    normal = gives > 0 ? -q[0] / gives : alone;
    x *= mu * normal, y *= mu * normal;
  }
  r[0] = normal, r[1] = cs * x - sn * y, r[2] = sn * x + cs * y;
  return state;
}

void LocalCone::project(double* r) const noexcept {
  const double t = length(r[1], r[2]);
  if (wn > 0 && r[0] >= 0 && t <= mu * r[0]) return;
  if (!(wn > 0) || mu * t <= -r[0]) {
    r[0] = r[1] = r[2] = 0;
    return;
  }
  const double normal = (r[0] + mu * t) / (1 + mu * mu), scale = mu * normal / t;
  r[0] = normal, r[1] *= scale, r[2] *= scale;
}

void LocalCone::clip(double* r) const noexcept {
  if (!(r[0] > 0) || !(wn > 0)) {
    r[0] = r[1] = r[2] = 0;
    return;
  }
  const double t = length(r[1], r[2]);
  if (t <= mu * r[0]) return;
  const double scale = mu * r[0] / t;
  r[1] *= scale, r[2] *= scale;
}

double LocalCone::miss(const double* r, const double* u) const noexcept {
  double z[3] = {r[0] - rho * (u[0] + mu * length(u[1], u[2])), r[1] - rho * u[1], r[2] - rho * u[2]};
  project(z);
  const double e0 = r[0] - z[0], e1 = r[1] - z[1], e2 = r[2] - z[2];
  return e0 * e0 + e1 * e1 + e2 * e2;
}

}  // namespace ligature::contact
