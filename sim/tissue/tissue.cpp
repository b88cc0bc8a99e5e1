#include "sim/tissue/tissue.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <string>

#include "sim/tissue/factor.hpp"
#include "sim/tissue/wide.hpp"

namespace ligature::tissue {
namespace {

constexpr std::size_t kHistory = 5;       ///< pairs of the quasi-Newton method
constexpr int kRotationUpdates = 6;       ///< Newton steps to the nearest rotation at most, warm
constexpr int kBacktracks = 4;            ///< halvings of a move
constexpr double kLeastStretch = 0.02;    ///< of |F|: sums of principal stretches are taken as this at least
constexpr std::size_t kMostDense = 1200;  ///< surface nodes whose responses are kept in one table

constexpr int kJoined[8][3] = {{1, 3, 4}, {2, 0, 5}, {3, 1, 6}, {0, 2, 7}, {7, 5, 0}, {4, 6, 1}, {5, 7, 2}, {6, 4, 3}};

/// Four elements' shapes side by side.
struct WideShape {
  Wide3 gradient[8];
  Wide hourglass[4][8];
  Wide bending[12][12];
  Wide mu_v, lambda_v, volume;
  Wide per_corner[8];  ///< 1 / (corner's Jacobian at rest)
};

/// Four elements; those of the last batch that do not exist repeat the last one without weight.
struct Batch {
  std::uint32_t node[8][kWide];
  std::uint32_t shape = 0;
  Wide weight{};  ///< 1; 0 for one that does not exist; the fraction that is filled
  WideTurn rest;  ///< axes at rest, conjugated
};

struct Strain {
  Wide33 s;    ///< R^T F, symmetric
  Wide3 q[4];  ///< R^T q
};

}  // namespace

struct Tissue::Parts {
  TissueModel model;
  TissueSettings settings;
  std::vector<double> mass, stiffness;  ///< m; m/h^2 + drag m/h                                    (n)
  std::vector<std::int32_t> free_of;    ///< number among the free nodes, -1: fixed                 (n)
  std::vector<std::uint32_t> free;      ///< nodes
  std::vector<WideShape> shapes;
  std::vector<Batch> batches;
  Factor<float> single;
  Factor<double> twofold;                ///< where nothing is fixed: the rigid motions need the digits
  std::vector<std::int32_t> surface_of;  ///< number among the free surface nodes, -1: none         (n)
  std::vector<float> response;           ///< G0 of free surface nodes, row-major                   (3ns x 3ns)
  std::size_t responders = 0;            ///< ns

  // Where it is.
  std::vector<Vector3d> x, v;
  std::vector<WideTurn> turns;      ///< R of the elements                                          (batches)
  std::vector<Matrix3d> node_turn;  ///< of the nodes, against rest                                 (n)
  // At the start of the step.
  std::vector<Vector3d> x0, v0;
  std::vector<WideTurn> turns0;
  std::vector<Strain> strain0;
  // Of the step.
  std::vector<Vector3d> force, target;  ///< (n)
  bool evaluated = false;               ///< inner, energy, turns belong to x
  std::vector<Vector3d> inner;          ///< gradient of E + D at x
  double energy = 0, element_force = 0;
  TissueReport report, worst;
  // Of the minimisation.
  std::vector<Vector3d> gradient, trial, trial_inner, trial_gradient, move;
  std::vector<WideTurn> trial_turns, spare_turns;
  std::vector<Vector3d> spare;
  std::vector<std::vector<Vector3d>> s_pairs, y_pairs;  ///< (kHistory)
  double rho[kHistory]{};
  std::size_t pairs = 0, newest = 0;
  std::vector<double> unknowns;
  std::vector<Eigen::Quaterniond> turn_sum;

  double h() const { return settings.dt; }
  bool damped() const { return model.material.relaxation > 0; }

  Strain strain(const Batch& b, const std::vector<Vector3d>& at, WideTurn& turn, Wide33& f, Wide33& r) const noexcept;
  double evaluate(const std::vector<Vector3d>& at, std::vector<WideTurn>& at_turns, std::vector<Vector3d>& out,
                  double& largest_force, bool viscous) const noexcept;
  double place(const std::vector<Vector3d>& at, double inner_energy, const std::vector<Vector3d>& inner_gradient,
               std::vector<Vector3d>& out) const noexcept;
  void turn_nodes() noexcept;
  void precondition(const std::vector<Vector3d>& g, std::vector<Vector3d>& out) noexcept;
  void direction() noexcept;
  void remember(const std::vector<Vector3d>& from, const std::vector<Vector3d>& to, const std::vector<Vector3d>& g0,
                const std::vector<Vector3d>& g1) noexcept;
  double product(const std::vector<Vector3d>& a, const std::vector<Vector3d>& b) const noexcept;
  void settle() noexcept;
  void look(TissueReport& out) const noexcept;
};

namespace {

/// The rotation nearest to F, by Newton's method from the one before: at the maximum of tr(R^T F), with S = R^T F,
/// (tr S - S) w = axial(S) turns R by w. For a turned-inside-out F that is the rotation with det R = 1 that is nearest,
/// the least principal stretch then counts negative.
void nearest_rotation(const Wide33& f, WideTurn& turn, Wide33& r, Wide33& s, int updates) noexcept {
  const Wide size = root(dot(f.c[0], f.c[0]) + dot(f.c[1], f.c[1]) + dot(f.c[2], f.c[2]));
  const Wide floor = spread(kLeastStretch) * size + spread(1e-30);
  for (int k = 0;; ++k) {
    r = matrix(turn);
    s = transposed_times(r, f);
    Wide3 a = axial(s);
    const Wide off = dot(a, a);
    const Wide little = spread(1e-26) * size * size;
    const Mask done = off <= little;
    // S symmetric, but at the least of tr(R^T F) instead of the greatest: pushed off.
    const Wide trace = s(0, 0) + s(1, 1) + s(2, 2);
    const Wide m00 = s(1, 1) + s(2, 2), m11 = s(0, 0) + s(2, 2), m22 = s(0, 0) + s(1, 1);
    const Wide half = spread(-0.5);
    const Wide m10 = half * (s(0, 1) + s(1, 0)), m20 = half * (s(0, 2) + s(2, 0)), m21 = half * (s(1, 2) + s(2, 1));
    const Wide d0 = larger(m00, floor);
    const Wide l10 = m10 / d0, l20 = m20 / d0;
    const Wide e1 = m11 - l10 * m10, d1 = larger(e1, floor);
    const Wide c21 = m21 - l20 * m10;
    const Wide l21 = c21 / d1;
    const Wide e2 = m22 - l20 * m20 - l21 * c21, d2 = larger(e2, floor);
    const Mask indefinite = (m00 < floor) | (e1 < floor) | (e2 < floor);
    const Mask stuck = done & indefinite & (trace < spread(0.0));
    const bool all = done[0] && done[1] && done[2] && done[3];
    const bool any_stuck = stuck[0] || stuck[1] || stuck[2] || stuck[3];
    if ((all && !any_stuck) || k == updates) return;
    const Wide none{};
    a[0] += stuck ? spread(0.31) * size : none;
    a[1] += stuck ? spread(0.17) * size : none;
    a[2] += stuck ? spread(-0.23) * size : none;
    Wide3 w;
    const Wide y0 = a[0], y1 = a[1] - l10 * y0, y2 = a[2] - l20 * y0 - l21 * y1;
    w[2] = y2 / d2;
    w[1] = y1 / d1 - l21 * w[2];
    w[0] = y0 / d0 - l10 * w[1] - l20 * w[2];
    const Wide length = root(dot(w, w));
    const Wide scale = spread(0.5) * smaller(spread(1), spread(1) / larger(length, spread(1e-30)));
    turn = turned(turn, scale * w);
  }
}

/// (tr S - S)^-1 a, pivots bounded as above.
Wide3 turn_solve(const Wide33& s, const Wide& floor, const Wide3& a) noexcept {
  const Wide d0 = larger(s(1, 1) + s(2, 2), floor);
  const Wide m10 = -s(1, 0), m20 = -s(2, 0), m21 = -s(2, 1);
  const Wide l10 = m10 / d0, l20 = m20 / d0;
  const Wide d1 = larger(s(0, 0) + s(2, 2) - l10 * m10, floor);
  const Wide c21 = m21 - l20 * m10;
  const Wide l21 = c21 / d1;
  const Wide d2 = larger(s(0, 0) + s(1, 1) - l20 * m20 - l21 * c21, floor);
  Wide3 w;
  const Wide y0 = a[0], y1 = a[1] - l10 * y0, y2 = a[2] - l20 * y0 - l21 * y1;
  w[2] = y2 / d2;
  w[1] = y1 / d1 - l21 * w[2];
  w[0] = y0 / d0 - l10 * w[1] - l20 * w[2];
  return w;
}

void gather(const Batch& b, const std::vector<Vector3d>& at, Wide3 out[8]) noexcept {
  for (int i = 0; i < 8; ++i) {
    const Vector3d &p0 = at[b.node[i][0]], &p1 = at[b.node[i][1]], &p2 = at[b.node[i][2]], &p3 = at[b.node[i][3]];
    for (int k = 0; k < 3; ++k) out[i][k] = Wide{p0[k], p1[k], p2[k], p3[k]};
  }
}

}  // namespace

/// Rotation and strains of four elements; f and r are left for the forces.
Strain Tissue::Parts::strain(const Batch& b, const std::vector<Vector3d>& at, WideTurn& turn, Wide33& f,
                             Wide33& r) const noexcept {
  const WideShape& shape = shapes[b.shape];
  Wide3 p[8];
  gather(b, at, p);
  // Differences from the first node, so that far from the origin no digits are lost.
  for (int i = 1; i < 8; ++i) p[i] = p[i] - p[0];
  f = Wide33{};
  Wide3 q[4]{};
  for (int i = 1; i < 8; ++i) {
    for (int k = 0; k < 3; ++k) f.c[k] = f.c[k] + shape.gradient[i][k] * p[i];
    for (int a = 0; a < 4; ++a) q[a] = q[a] + shape.hourglass[a][i] * p[i];
  }
  Strain out;
  nearest_rotation(f, turn, r, out.s, kRotationUpdates);
  for (int a = 0; a < 4; ++a) out.q[a] = transposed_times(r, q[a]);
  const Wide half = spread(0.5);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < i; ++j) out.s(i, j) = out.s(j, i) = half * (out.s(i, j) + out.s(j, i));
  return out;
}

/// E (+ D, when viscous) and its gradient; the elements' rotations follow. @return the energy [uN mm]
double Tissue::Parts::evaluate(const std::vector<Vector3d>& at, std::vector<WideTurn>& at_turns,
                               std::vector<Vector3d>& out, double& largest_force, bool viscous) const noexcept {
  const Wide one = spread(1), two = spread(2), half = spread(0.5), none{};
  const Wide damping = spread(viscous ? model.material.relaxation / h() : 0.0);
  for (Vector3d& g : out) g.setZero();
  Wide energy_sum{}, force_square{};
  for (std::size_t e = 0; e < batches.size(); ++e) {
    const Batch& b = batches[e];
    const WideShape& shape = shapes[b.shape];
    Wide33 f, r;
    const Strain now = strain(b, at, at_turns[e], f, r);
    const Wide mu = b.weight * shape.mu_v, lambda = b.weight * shape.lambda_v;
    Wide33 t;  // derivative with respect to R^T F at fixed R
    Wide psi{};
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const Wide strain_ij = now.s(i, j) - (i == j ? one : none);
        psi += mu * strain_ij * strain_ij;
        t(i, j) = two * mu * strain_ij;
      }
    Wide3 hour[4];
    const auto bend = [&](const Wide3 q[4], const Wide& weight) {
      for (int a = 0; a < 4; ++a)
        for (int k = 0; k < 3; ++k) {
          Wide y{};
          for (int c = 0; c < 4; ++c)
            for (int l = 0; l < 3; ++l) y += shape.bending[3 * a + k][3 * c + l] * q[c][l];
          hour[a][k] = hour[a][k] + weight * y;
          psi += half * weight * y * q[a][k];
        }
    };
    bend(now.q, b.weight);
    if (viscous) {
      const Strain& then = strain0[e];
      const Wide viscosity = damping * mu;
      Wide trace{};
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
          const Wide rate = now.s(i, j) - then.s(i, j);
          psi += viscosity * rate * rate;
          t(i, j) += two * viscosity * rate;
          if (i == j) trace += rate;
        }
      psi += half * damping * lambda * trace * trace;
      for (int i = 0; i < 3; ++i) t(i, i) += damping * lambda * trace;
      Wide3 change[4];
      for (int a = 0; a < 4; ++a) change[a] = now.q[a] - then.q[a];
      bend(change, damping * b.weight);
    }
    // What turning R would change, carried to F: R^T dF = dS + [w] S, (tr S - S) w = axial(R^T dF).
    Wide33 ts = times(t, now.s);
    Wide3 moment = axial(ts);
    for (int a = 0; a < 4; ++a) moment = moment + cross(now.q[a], hour[a]);
    const Wide size = root(dot(f.c[0], f.c[0]) + dot(f.c[1], f.c[1]) + dot(f.c[2], f.c[2]));
    const Wide3 z = turn_solve(now.s, spread(kLeastStretch) * size + spread(1e-30), moment);
    t(0, 1) += z[2], t(1, 0) -= z[2];
    t(0, 2) -= z[1], t(2, 0) += z[1];
    t(1, 2) += z[0], t(2, 1) -= z[0];
    Wide33 p = times(r, t);
    const Wide3 c0 = cross(f.c[1], f.c[2]), c1 = cross(f.c[2], f.c[0]), c2 = cross(f.c[0], f.c[1]);
    const Wide grown = dot(f.c[0], c0) - one;
    psi += half * lambda * grown * grown;
    const Wide pressure = lambda * grown;
    p.c[0] = p.c[0] + pressure * c0;
    p.c[1] = p.c[1] + pressure * c1;
    p.c[2] = p.c[2] + pressure * c2;
    Wide3 turned_hour[4];
    for (int a = 0; a < 4; ++a) turned_hour[a] = times(r, hour[a]);
    energy_sum += psi;
    for (int i = 0; i < 8; ++i) {
      Wide3 g = times(p, shape.gradient[i]);
      for (int a = 0; a < 4; ++a) g = g + shape.hourglass[a][i] * turned_hour[a];
      force_square = larger(dot(g, g), force_square);
      for (std::size_t l = 0; l < kWide; ++l) out[b.node[i][l]] += Vector3d(g[0][l], g[1][l], g[2][l]);
    }
  }
  largest_force = std::sqrt(largest(force_square));
  return sum(energy_sum);
}

/// Phi, but for a constant, and its gradient over the free nodes, zero at the fixed ones.
double Tissue::Parts::place(const std::vector<Vector3d>& at, double inner_energy,
                            const std::vector<Vector3d>& inner_gradient, std::vector<Vector3d>& out) const noexcept {
  double phi = inner_energy;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (free_of[i] < 0) {
      out[i].setZero();
      continue;
    }
    const Vector3d moved = at[i] - x0[i];
    const Vector3d drive = (mass[i] / h()) * v0[i] + mass[i] * settings.gravity + force[i];
    phi += (0.5 * stiffness[i] * moved - drive).dot(moved);
    out[i] = inner_gradient[i] + stiffness[i] * moved - drive;
  }
  return phi;
}

double Tissue::Parts::product(const std::vector<Vector3d>& a, const std::vector<Vector3d>& b) const noexcept {
  double total = 0;
  for (const std::uint32_t i : free) total += a[i].dot(b[i]);
  return total;
}

/// Means of the rotations of the elements round each node, against rest.
void Tissue::Parts::turn_nodes() noexcept {
  for (Eigen::Quaterniond& q : turn_sum) q.coeffs().setZero();
  for (std::size_t e = 0; e < batches.size(); ++e) {
    const Batch& b = batches[e];
    const WideTurn &t = turns[e], &r = b.rest;
    const Wide w = t.w * r.w - t.x * r.x - t.y * r.y - t.z * r.z, x_ = t.w * r.x + t.x * r.w + t.y * r.z - t.z * r.y,
               y = t.w * r.y - t.x * r.z + t.y * r.w + t.z * r.x, z = t.w * r.z + t.x * r.y - t.y * r.x + t.z * r.w;
    for (std::size_t l = 0; l < kWide; ++l) {
      if (!(b.weight[l] > 0)) continue;
      const Eigen::Vector4d q(x_[l], y[l], z[l], w[l]);
      for (const auto& corner : b.node) {
        Eigen::Vector4d& total = turn_sum[corner[l]].coeffs();
        if (total.dot(q) < 0)
          total -= q;
        else
          total += q;
      }
    }
  }
  for (std::size_t i = 0; i < node_turn.size(); ++i) {
    const double size = turn_sum[i].coeffs().norm();
    if (!(size > 1e-12)) continue;
    turn_sum[i].coeffs() /= size;
    node_turn[i] = turn_sum[i].toRotationMatrix();
  }
}

/// out = R A0^-1 R^T g at the free nodes, zero at the fixed ones.
void Tissue::Parts::precondition(const std::vector<Vector3d>& g, std::vector<Vector3d>& out) noexcept {
  for (std::size_t k = 0; k < free.size(); ++k) {
    const Vector3d local = node_turn[free[k]].transpose() * g[free[k]];
    for (std::size_t axis = 0; axis < 3; ++axis) unknowns[3 * k + axis] = local[static_cast<Eigen::Index>(axis)];
  }
  if (free.size() == x.size())
    twofold.solve(unknowns.data());
  else
    single.solve(unknowns.data());
  for (std::size_t k = 0; k < free.size(); ++k)
    out[free[k]] = node_turn[free[k]] * Vector3d(unknowns[3 * k], unknowns[3 * k + 1], unknowns[3 * k + 2]);
}

/// move = - H gradient, H of the pairs remembered, from the factored matrix [Nocedal 1980].
void Tissue::Parts::direction() noexcept {
  double alpha[kHistory]{};
  trial = gradient;
  for (std::size_t k = 0; k < pairs; ++k) {
    const std::size_t m = (newest + kHistory - k) % kHistory;
    alpha[k] = rho[m] * product(s_pairs[m], trial);
    for (const std::uint32_t i : free) trial[i] -= alpha[k] * y_pairs[m][i];
  }
  precondition(trial, move);
  for (std::size_t k = pairs; k-- > 0;) {
    const std::size_t m = (newest + kHistory - k) % kHistory;
    const double beta = rho[m] * product(y_pairs[m], move);
    for (const std::uint32_t i : free) move[i] += (alpha[k] - beta) * s_pairs[m][i];
  }
  for (const std::uint32_t i : free) move[i] = -move[i];
}

void Tissue::Parts::remember(const std::vector<Vector3d>& from, const std::vector<Vector3d>& to,
                             const std::vector<Vector3d>& g0, const std::vector<Vector3d>& g1) noexcept {
  const std::size_t m = pairs == 0 ? 0 : (newest + 1) % kHistory;
  double sy = 0, ss = 0, yy = 0;
  for (const std::uint32_t i : free) {
    const Vector3d s = to[i] - from[i], y = g1[i] - g0[i];
    s_pairs[m][i] = s, y_pairs[m][i] = y;
    sy += s.dot(y), ss += s.squaredNorm(), yy += y.squaredNorm();
  }
  if (!(sy > 1e-8 * std::sqrt(ss * yy))) {
    // The slot that was overwritten is the oldest's.
    if (pairs == kHistory) --pairs;
    return;
  }
  rho[m] = 1 / sy;
  newest = m;
  pairs = std::min(pairs + 1, kHistory);
}

/// What nothing holds is moved as a whole to where inertia, drag and load are in balance: exactly, whatever is left
/// elsewhere, so that momentum is kept.
void Tissue::Parts::settle() noexcept {
  if (free.size() != x.size()) return;
  Vector3d left = Vector3d::Zero();
  double total = 0;
  for (std::size_t i = 0; i < x.size(); ++i) left += gradient[i], total += stiffness[i];
  const Vector3d shift = -left / total;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += shift, gradient[i] += stiffness[i] * shift;
}

void Tissue::Parts::look(TissueReport& out) const noexcept {
  out.inverted = 0;
  Wide worst_of = spread(1e300);
  for (const Batch& b : batches) {
    const WideShape& shape = shapes[b.shape];
    Wide3 p[8];
    gather(b, x, p);
    Wide low = spread(1e300);
    for (int c = 0; c < 8; ++c) {
      const Wide det = dot(p[kJoined[c][0]] - p[c], cross(p[kJoined[c][1]] - p[c], p[kJoined[c][2]] - p[c]));
      low = smaller(det * shape.per_corner[c], low);
    }
    worst_of = smaller(low, worst_of);
    for (std::size_t l = 0; l < kWide; ++l)
      if (b.weight[l] > 0 && !(low[l] > 0)) ++out.inverted;
  }
  out.least_jacobian = least(worst_of);
}

Tissue::Tissue(std::unique_ptr<Parts> parts) : p_(std::move(parts)) {}
Tissue::Tissue(Tissue&&) noexcept = default;
Tissue& Tissue::operator=(Tissue&&) noexcept = default;
Tissue::~Tissue() = default;

Result<Tissue> Tissue::create(TissueModel model, const TissueSettings& settings) {
  const std::size_t n = model.nodes.size();
  const Material& m = model.material;
  if (n == 0 || model.elements.empty()) return usage_error("tissue: it has no elements");
  if (!(m.young > 0 && m.poisson >= 0 && m.poisson < 0.5 && m.density > 0 && m.relaxation >= 0 && m.drag >= 0))
    return usage_error("tissue: young and density must be positive, poisson 0..0.5, relaxation and drag not negative");
  if (!(settings.dt > 0) || settings.iterations < 1) return usage_error("tissue: the step must be positive");
  if (!model.filled.empty() && model.filled.size() != model.elements.size())
    return usage_error("tissue: one filled fraction for each element");
  for (std::size_t i = 0; i < n; ++i)
    if (!model.nodes[i].allFinite()) return usage_error("tissue: node " + std::to_string(i) + " is not finite");
  for (const auto& list : {model.fixed})
    for (const std::uint32_t i : list)
      if (i >= n) return usage_error("tissue: fixed node " + std::to_string(i) + " is not there");
  for (const SurfaceTriangle& t : model.surface)
    for (const std::uint32_t i : t.node)
      if (i >= n) return usage_error("tissue: surface node " + std::to_string(i) + " is not there");

  auto parts = std::make_unique<Parts>();
  Parts& p = *parts;
  p.model = std::move(model);
  p.settings = settings;
  p.mass.assign(n, 0);
  std::vector<ElementShape> shapes;
  std::vector<std::size_t> shape_of;
  std::vector<Eigen::Matrix<double, 3, 8>> corners_of;
  std::vector<Eigen::Quaterniond> axes;
  for (std::size_t e = 0; e < p.model.elements.size(); ++e) {
    Eigen::Matrix<double, 3, 8> corners;
    for (int i = 0; i < 8; ++i) {
      const std::uint32_t node = p.model.elements[e][static_cast<std::size_t>(i)];
      if (node >= n) return usage_error("tissue: element " + std::to_string(e) + " has a node that is not there");
      corners.col(i) = p.model.nodes[node];
    }
    const auto shape = element_shape(corners, m.young, m.poisson);
    if (!shape) return usage_error("tissue: element " + std::to_string(e) + " is inside out");
    const double filled = p.model.filled.empty() ? 1.0 : p.model.filled[e];
    if (!(filled > 0 && filled <= 1))
      return usage_error("tissue: element " + std::to_string(e) + " must be filled by more than 0 and at most 1");
    for (int i = 0; i < 8; ++i)
      p.mass[p.model.elements[e][static_cast<std::size_t>(i)]] += filled * m.density * shape->volume * shape->share[i];
    // Congruent elements share one shape.
    std::size_t same = 0;
    for (; same < shapes.size(); ++same) {
      const ElementShape& o = shapes[same];
      if ((o.gradient - shape->gradient).norm() < 1e-10 * o.gradient.norm() &&
          (o.bending - shape->bending).norm() < 1e-9 * o.bending.norm())
        break;
      if (same == 64) same = shapes.size() - 1;
    }
    if (same == shapes.size()) {
      shapes.push_back(*shape);
      corners_of.push_back(corners);
    }
    shape_of.push_back(same);
    axes.emplace_back(shape->axes);
  }
  for (std::size_t i = 0; i < n; ++i)
    if (!(p.mass[i] > 0)) return usage_error("tissue: node " + std::to_string(i) + " belongs to no element");

  std::vector<std::array<std::size_t, kWide>> wide_of;
  for (std::size_t first = 0; first < p.model.elements.size(); first += kWide) {
    Batch b;
    std::array<std::size_t, kWide> of{};
    for (std::size_t l = 0; l < kWide; ++l) {
      const std::size_t e = std::min(first + l, p.model.elements.size() - 1);
      for (std::size_t i = 0; i < 8; ++i) b.node[i][l] = p.model.elements[e][i];
      of[l] = shape_of[e];
      b.weight[l] = first + l != e ? 0.0 : p.model.filled.empty() ? 1.0 : p.model.filled[e];
      b.rest.w[l] = axes[e].w(), b.rest.x[l] = -axes[e].x(), b.rest.y[l] = -axes[e].y(), b.rest.z[l] = -axes[e].z();
    }
    const auto found = std::find(wide_of.begin(), wide_of.end(), of);
    b.shape = static_cast<std::uint32_t>(found - wide_of.begin());
    if (found == wide_of.end()) {
      wide_of.push_back(of);
      WideShape w;
      for (std::size_t l = 0; l < kWide; ++l) {
        const ElementShape& s = shapes[of[l]];
        for (int i = 0; i < 8; ++i) {
          for (int k = 0; k < 3; ++k) w.gradient[i][k][l] = s.gradient(k, i);
          for (int a = 0; a < 4; ++a) w.hourglass[a][i][l] = s.hourglass(a, i);
          const auto& c = corners_of[of[l]];
          const Vector3d a = c.col(kJoined[i][0]) - c.col(i), bb = c.col(kJoined[i][1]) - c.col(i),
                         d = c.col(kJoined[i][2]) - c.col(i);
          w.per_corner[i][l] = 1 / a.dot(bb.cross(d));
        }
        for (int i = 0; i < 12; ++i)
          for (int j = 0; j < 12; ++j) w.bending[i][j][l] = s.bending(i, j);
        w.mu_v[l] = s.mu * s.volume, w.lambda_v[l] = s.lambda * s.volume, w.volume[l] = s.volume;
      }
      p.shapes.push_back(w);
    }
    p.batches.push_back(b);
  }

  // The matrix of a step at rest, over the free nodes.
  p.free_of.assign(n, 0);
  for (const std::uint32_t i : p.model.fixed) p.free_of[i] = -1;
  for (std::size_t i = 0; i < n; ++i)
    if (p.free_of[i] == 0) {
      p.free_of[i] = static_cast<std::int32_t>(p.free.size());
      p.free.push_back(static_cast<std::uint32_t>(i));
    }
  if (p.free.empty()) return usage_error("tissue: every node is fixed");
  p.stiffness.resize(n);
  for (std::size_t i = 0; i < n; ++i) p.stiffness[i] = p.mass[i] * (1 / settings.dt + m.drag) / settings.dt;
  std::vector<Eigen::Triplet<double>> entries;
  for (std::size_t e = 0; e < p.model.elements.size(); ++e) {
    ElementShape s = shapes[shape_of[e]];
    s.axes = axes[e].toRotationMatrix();
    const double filled = p.model.filled.empty() ? 1.0 : p.model.filled[e];
    const Eigen::Matrix<double, 24, 24> k = filled * (1 + m.relaxation / settings.dt) * rest_stiffness(s);
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j) {
        const std::int32_t row = p.free_of[p.model.elements[e][static_cast<std::size_t>(i)]];
        const std::int32_t column = p.free_of[p.model.elements[e][static_cast<std::size_t>(j)]];
        if (row < 0 || column < 0) continue;
        for (int a = 0; a < 3; ++a)
          for (int b = 0; b < 3; ++b) entries.emplace_back(3 * row + a, 3 * column + b, k(3 * i + a, 3 * j + b));
      }
  }
  for (const std::uint32_t i : p.free)
    for (int a = 0; a < 3; ++a) entries.emplace_back(3 * p.free_of[i] + a, 3 * p.free_of[i] + a, p.stiffness[i]);
  const auto size = static_cast<Eigen::Index>(3 * p.free.size());
  Eigen::SparseMatrix<double> matrix(size, size);
  matrix.setFromTriplets(entries.begin(), entries.end());
  std::vector<Vector3d> places;
  for (const std::uint32_t i : p.free) places.push_back(p.model.nodes[i]);
  p.unknowns.assign(3 * p.free.size(), 0);
  const bool positive = p.free.size() == n ? p.twofold.factor(matrix, places) : p.single.factor(matrix, places);
  if (!positive) return failure("tissue: its matrix at rest is not positive definite");

  // What a force on a surface node does to every other.
  p.surface_of.assign(n, -1);
  std::vector<std::uint32_t> responders;
  for (const SurfaceTriangle& t : p.model.surface)
    for (const std::uint32_t i : t.node)
      if (p.free_of[i] >= 0 && p.surface_of[i] < 0) {
        p.surface_of[i] = static_cast<std::int32_t>(responders.size());
        responders.push_back(i);
      }
  if (responders.size() <= kMostDense) {
    p.responders = responders.size();
    p.response.resize(9 * p.responders * p.responders);
    for (std::size_t j = 0; j < p.responders; ++j)
      for (std::size_t axis = 0; axis < 3; ++axis) {
        std::fill(p.unknowns.begin(), p.unknowns.end(), 0.0);
        p.unknowns[3 * static_cast<std::size_t>(p.free_of[responders[j]]) + axis] = 1;
        if (p.free.size() == n)
          p.twofold.solve(p.unknowns.data());
        else
          p.single.solve(p.unknowns.data());
        for (std::size_t i = 0; i < p.responders; ++i)
          for (std::size_t k = 0; k < 3; ++k)
            p.response[(3 * j + axis) * 3 * p.responders + 3 * i + k] =
                static_cast<float>(p.unknowns[3 * static_cast<std::size_t>(p.free_of[responders[i]]) + k]);
      }
  }

  const std::vector<Vector3d> zero(n, Vector3d::Zero());
  p.x = p.x0 = p.target = p.model.nodes;
  p.v = p.v0 = p.force = p.inner = p.gradient = p.trial = p.trial_inner = p.trial_gradient = p.move = p.spare = zero;
  p.node_turn.assign(n, Matrix3d::Identity());
  p.turn_sum.assign(n, Eigen::Quaterniond::Identity());
  for (const Batch& b : p.batches) p.turns.push_back({b.rest.w, -b.rest.x, -b.rest.y, -b.rest.z});
  p.turns0 = p.trial_turns = p.spare_turns = p.turns;
  p.strain0.resize(p.batches.size());
  p.s_pairs.assign(kHistory, zero);
  p.y_pairs.assign(kHistory, zero);
  return Tissue(std::move(parts));
}

std::size_t Tissue::nodes() const noexcept {
  return p_->x.size();
}
std::size_t Tissue::elements() const noexcept {
  return p_->model.elements.size();
}
const TissueModel& Tissue::model() const noexcept {
  return p_->model;
}
std::span<const SurfaceTriangle> Tissue::surface() const noexcept {
  return p_->model.surface;
}
bool Tissue::fixed(std::uint32_t node) const noexcept {
  return p_->free_of[node] < 0;
}
double Tissue::mass(std::uint32_t node) const noexcept {
  return p_->mass[node];
}
const std::vector<Vector3d>& Tissue::x() const noexcept {
  return p_->x;
}
const std::vector<Vector3d>& Tissue::x0() const noexcept {
  return p_->x0;
}
const std::vector<Vector3d>& Tissue::v() const noexcept {
  return p_->v;
}

double Tissue::elastic_energy(std::vector<Vector3d>& gradient) const noexcept {
  double largest_force = 0;
  p_->spare_turns = p_->turns;
  return p_->evaluate(p_->x, p_->spare_turns, gradient, largest_force, false);
}
double Tissue::elastic_energy() const noexcept {
  return elastic_energy(p_->spare);
}

double Tissue::kinetic_energy() const noexcept {
  double total = 0;
  for (std::size_t i = 0; i < p_->v.size(); ++i) total += 0.5 * p_->mass[i] * p_->v[i].squaredNorm();
  return total;
}

double Tissue::volume() const noexcept {
  const Parts& p = *p_;
  Wide total{};
  for (const Batch& b : p.batches) {
    const WideShape& shape = p.shapes[b.shape];
    Wide3 at[8];
    gather(b, p.x, at);
    Wide33 f;
    for (int i = 0; i < 8; ++i)
      for (int k = 0; k < 3; ++k) f.c[k] = f.c[k] + shape.gradient[i][k] * at[i];
    total += b.weight * shape.volume * dot(f.c[0], cross(f.c[1], f.c[2]));
  }
  return sum(total);
}

void Tissue::begin_step() noexcept {
  Parts& p = *p_;
  p.x0 = p.x, p.v0 = p.v, p.turns0 = p.turns, p.target = p.x;
  clear_forces();
  if (p.damped())
    for (std::size_t e = 0; e < p.batches.size(); ++e) {
      Wide33 f, r;
      p.strain0[e] = p.strain(p.batches[e], p.x, p.turns[e], f, r);
    }
  p.evaluated = false;
  p.pairs = 0;
  p.worst = {};
}

void Tissue::clear_forces() noexcept {
  for (Vector3d& f : p_->force) f.setZero();
}
void Tissue::add_force(std::uint32_t node, const Vector3d& force) noexcept {
  p_->force[node] += force;
}
void Tissue::add_force(const SurfaceTriangle& triangle, const Vector3d& weights, const Vector3d& force) noexcept {
  for (std::size_t k = 0; k < 3; ++k) p_->force[triangle.node[k]] += weights[static_cast<Eigen::Index>(k)] * force;
}

void Tissue::hold(std::uint32_t node, const Vector3d& target) noexcept {
  if (p_->free_of[node] >= 0 || p_->target[node] == target) return;
  p_->target[node] = target;
  p_->x[node] = target;
  p_->evaluated = false;
}

TissueReport Tissue::solve(int iterations) noexcept {
  Parts& p = *p_;
  if (iterations < 0) iterations = p.settings.iterations;
  TissueReport out;
  if (!p.evaluated) {
    p.energy = p.evaluate(p.x, p.turns, p.inner, p.element_force, p.damped());
    p.turn_nodes();
    p.evaluated = true;
    p.pairs = 0;
  }
  double phi = p.place(p.x, p.energy, p.inner, p.gradient);
  double load = 0;
  for (const std::uint32_t i : p.free) load = std::max(load, (p.force[i] + p.mass[i] * p.settings.gravity).norm());
  for (int k = 0;; ++k) {
    p.settle();
    out.residual = 0;
    for (const std::uint32_t i : p.free) out.residual = std::max(out.residual, p.gradient[i].cwiseAbs().maxCoeff());
    out.scale = std::max(p.element_force, load);
    out.iterations = k;
    out.converged = out.residual <= p.settings.residual_target * out.scale;
    if (out.converged || k >= iterations) break;
    p.direction();
    double slope = p.product(p.gradient, p.move);
    if (!(slope < 0)) {
      p.pairs = 0;
      p.direction();
      slope = p.product(p.gradient, p.move);
      if (!(slope < 0)) break;
    }
    double part = 1;
    bool lower = false;
    for (int t = 0; t <= kBacktracks && !lower; ++t, part *= 0.4) {
      p.trial = p.x;
      for (const std::uint32_t i : p.free) p.trial[i] += part * p.move[i];
      p.trial_turns = p.turns;
      double trial_force = 0;
      const double trial_energy = p.evaluate(p.trial, p.trial_turns, p.trial_inner, trial_force, p.damped());
      const double trial_phi = p.place(p.trial, trial_energy, p.trial_inner, p.trial_gradient);
      lower = trial_phi <= phi + 1e-4 * part * slope + 1e-13 * std::abs(phi);
      if (!lower) continue;
      p.remember(p.x, p.trial, p.gradient, p.trial_gradient);
      p.x.swap(p.trial);
      p.turns.swap(p.trial_turns);
      p.inner.swap(p.trial_inner);
      p.gradient.swap(p.trial_gradient);
      p.energy = trial_energy, p.element_force = trial_force, phi = trial_phi;
      p.turn_nodes();
    }
    if (!lower) {
      if (p.pairs == 0) break;
      p.pairs = 0;
    }
  }
  out.finite = std::isfinite(out.residual) && std::isfinite(phi);
  p.report = out;
  p.worst.iterations += out.iterations;
  p.worst.residual = out.residual, p.worst.scale = out.scale;
  p.worst.converged = out.converged;
  p.worst.finite = p.worst.finite && out.finite;
  return out;
}

Matrix3d Tissue::compliance(std::uint32_t i, std::uint32_t j) const noexcept {
  const Parts& p = *p_;
  if (p.surface_of[i] < 0 || p.surface_of[j] < 0 || p.response.empty()) return Matrix3d::Zero();
  const std::size_t row = 3 * static_cast<std::size_t>(p.surface_of[j]),
                    column = 3 * static_cast<std::size_t>(p.surface_of[i]);
  Matrix3d g;
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 3; ++b)
      g(static_cast<Eigen::Index>(b), static_cast<Eigen::Index>(a)) =
          static_cast<double>(p.response[(row + a) * 3 * p.responders + column + b]);
  return p.node_turn[i] * g * p.node_turn[j].transpose();
}

TissueReport Tissue::end_step() noexcept {
  Parts& p = *p_;
  bool finite = true;
  for (const Vector3d& at : p.x) finite = finite && at.allFinite();
  if (!finite) {
    undo();
    for (Vector3d& v : p.v) v.setZero();
  } else {
    for (std::size_t i = 0; i < p.x.size(); ++i) p.v[i] = (p.x[i] - p.x0[i]) / p.h();
  }
  TissueReport out = p.worst;
  out.finite = finite;
  p.look(out);
  return out;
}

void Tissue::undo() noexcept {
  Parts& p = *p_;
  p.x = p.x0, p.v = p.v0, p.turns = p.turns0, p.target = p.x0;
  p.evaluated = false;
  p.pairs = 0;
}

void Tissue::set_state(std::span<const Vector3d> x, std::span<const Vector3d> v) noexcept {
  Parts& p = *p_;
  std::copy(x.begin(), x.end(), p.x.begin());
  if (v.empty())
    for (Vector3d& s : p.v) s.setZero();
  else
    std::copy(v.begin(), v.end(), p.v.begin());
  // Far from the rotations before: from rest, with as many updates as it takes.
  for (std::size_t e = 0; e < p.batches.size(); ++e)
    for (int k = 0; k < 10; ++k) {
      Wide33 f, r;
      p.strain(p.batches[e], p.x, p.turns[e], f, r);
    }
  p.x0 = p.x, p.v0 = p.v, p.turns0 = p.turns, p.target = p.x;
  p.evaluated = false;
  p.pairs = 0;
}

void Tissue::add_to(StateHash& hash) const noexcept {
  for (const auto* list : {&p_->x, &p_->v})
    for (const Vector3d& a : *list)
      for (int k = 0; k < 3; ++k) hash.add(a[k]);
}

}  // namespace ligature::tissue
