#include "sim/tissue/tissue.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <string>

#include "sim/base/wide.hpp"
#include "sim/contact/self_pairs.hpp"
#include "sim/tissue/factor.hpp"
#include "sim/tissue/stiffness.hpp"

namespace ligature::tissue {
namespace {

constexpr std::size_t kHistory = 5;       ///< pairs of the quasi-Newton method
constexpr int kRotationUpdates = 6;       ///< Newton steps to the nearest rotation at most, warm
constexpr int kBacktracks = 6;            ///< shortenings of a move
constexpr double kWarpAngle = 0.05;       ///< by how much nodes turn before the factor is turned anew [rad]
constexpr double kLeastOfFactor = 1e-4;   ///< of what the factor answers, that a pair may say it is
constexpr double kMostStiffer = 1e4;      ///< sigma at most
constexpr double kPoorFactor = 16;        ///< sigma from which on the matrix at rest says nothing any more
constexpr double kRelaxed = 0.1;          ///< of the energy it was factored at, when that says nothing any more
constexpr double kLeastStretch = 0.02;    ///< of |F|: sums of principal stretches are taken as this at least
constexpr std::size_t kMostDense = 1200;  ///< surface nodes whose responses are all kept; of larger surfaces
constexpr std::size_t kMostKept = 256;    ///< those of so many nodes, the ones asked for last
constexpr double kLeastMove = 1e-9;       ///< of all nodes together; what less changes is rounding [mm]

constexpr int kMends = 20;           ///< rounds of mending at most, twice
constexpr double kCornerLeft = 0.2;  ///< of j, that a move leaves at least, ...
constexpr double kFlat = 2e-3;       ///< ... if j is not below this then: else ...
constexpr double kFlatLeft = 0.8;    ///< ... so much of it, ...
constexpr double kLastLeft = 1e-6;   ///< ... and in the end nothing: so flat, j does not fall any more
constexpr int kShortenings = 40;     ///< of a move to that, by kShortening each
constexpr double kShortening = 0.7;
constexpr double kPoorReach = 0.1;  ///< part of a move

/// Four elements' shapes side by side.
struct WideShape {
  Wide3 gradient[8];
  Wide hourglass[4][8];
  Wide bending[12][12];
  Wide mu_v, lambda_v, volume;
  Wide per_corner[8], corner[8];  ///< 1 / (corner's Jacobian at rest); 1 / that
};

/// Four elements; those of the last batch that do not exist repeat the last one without weight.
struct Batch {
  std::uint32_t node[8][kWide];
  std::uint32_t shape = 0;
  Wide weight{};  ///< 1; 0 for one that does not exist; the fraction that is filled
  WideTurn rest;  ///< axes at rest, conjugated
};

struct Strain {
  Wide33 s;       ///< R^T F, symmetric
  Wide3 q[4];     ///< R^T q
  Wide3 hour[4];  ///< C of that
};

/// What is found where the energy is.
struct Evaluation {
  double energy = 0, largest_force = 0;  ///< of E + D [uN mm]; of an element on a node [uN]
  double least_jacobian = 0;
  int inverted = 0;
  bool turned = false;         ///< all elements' rotations are the nearest ones
  std::vector<Strain> strain;  ///< (batches)
};

/// Columns of A0^-1 for forces on surface nodes, as they were asked for: of each (3 x 3ns), slot by slot.
struct Answers {
  std::vector<float> columns;
  std::vector<std::uint32_t> kept;    ///< responder in a slot
  std::vector<std::int32_t> kept_at;  ///< slot of a responder, -1: none                           (ns)
  std::size_t count = 0, next = 0;

  void resize(std::size_t responders, std::size_t slots) {
    columns.resize(9 * responders * slots);
    kept.assign(slots, 0);
    kept_at.assign(responders, -1);
    count = next = 0;
  }
  void forget() noexcept {
    for (std::int32_t& slot : kept_at) slot = -1;
    count = next = 0;
  }
};

/// A node's share in W M W^T: its rows of W, and of W M.
struct Learnt {
  std::uint64_t version = 0;
  std::array<Vector3d, 2 * kHistory> part, half;
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
  std::vector<ElementShape> shape_list;                  ///< one for all that are congruent
  std::vector<Eigen::Matrix<double, 8, 1>> rest_corner;  ///< of each: Jacobians at rest [mm^3]
  std::vector<std::uint32_t> shape_of;                   ///< of an element                (elements)
  Factor<float> single;
  Factor<double> twofold;  ///< where nothing is fixed: the rigid motions need the digits
  // Of what has been deformed until A0 says too little of it: the matrix where it is, instead.
  BlockMatrix deformed_matrix{0};
  Factor<double> deformed;
  bool by_deformed = false;
  bool factored = false;                  ///< in this step
  double energy_then = 0;                 ///< when it was factored where it is [uN mm]
  std::vector<std::int32_t> surface_of;   ///< number among the free surface nodes, -1: none         (n)
  std::vector<std::uint32_t> responders;  ///< free surface nodes                                   (ns)
  Answers at_rest, when_deformed;         ///< of each of the two matrices
  Factor<float> springs;                  ///< of V |F|^2 and hourglasses, for mending
  double hourglass_weight = 0;            ///< in it, over V
  double rounding = 0;                    ///< of forces: what positions' last digits are worth [uN]

  contact::TriangleMesh surface;
  contact::SelfPairs self_pairs;
  bool surface_follows = true;  ///< surface is that of x

  // Where it is.
  double h = 0.005;
  std::vector<Vector3d> x, v;
  std::vector<WideTurn> turns;  ///< R of the elements                                              (batches)
  // At the start of the step.
  std::vector<Vector3d> x0, v0;
  Vector3d carried{0, 0, 0};  // velocity of the fixed nodes
  std::vector<WideTurn> turns0;
  std::vector<Strain> strain0;
  std::vector<Vector3d> drive;  ///< what inertia, gravity and load pull with, once driven         (n)
  bool driven = false;
  // From outside.
  std::vector<Vector3d> force, pushed, more, held;  ///< loads; of contacts; of them since solve()  (n)
  bool pushed_more = false;
  // At x.
  bool evaluated = false;  ///< here, inner, turns belong to x
  Evaluation here;
  std::vector<Vector3d> inner;     ///< gradient of E + D
  std::vector<Vector3d> gradient;  ///< of Phi without contacts
  double phi = 0;
  // Of the move.
  bool solved = false;               ///< base is A0^-1 of the forces so far
  std::vector<Vector3d> base, move;  ///< R A0^-1 R^T (pushed - gradient); H of the same
  // Of the move before: where from, with what.
  bool before = false;
  std::vector<Vector3d> x_before, gradient_before, pushed_before;
  double phi_before = 0;
  // The quasi-Newton pairs, the oldest first by `slot`.
  bool pending = false;  ///< the newest lacks z
  std::size_t pairs = 0;
  std::array<std::size_t, kHistory> slot{0, 1, 2, 3, 4};
  std::array<std::vector<Vector3d>, kHistory> s_pairs, y_pairs, z_pairs;  ///< move; change of gradient; R A0^-1 R^T y
  Eigen::Matrix<double, kHistory, kHistory> sy, yz;                       ///< by slots
  Eigen::Matrix<double, 2 * kHistory, 2 * kHistory> middle;               ///< M, by age: s then z
  double stiffer = 1;                                                     ///< sigma
  double reached = 1;                                                     ///< of the last move, what corners allowed
  std::uint64_t version = 1;                                              ///< of the pairs and M
  std::vector<Learnt> learnt_of;    ///< as far as it was asked for                          (n)
  std::vector<Matrix3d> warp;       ///< R of the nodes that H has                            (n)
  std::vector<Matrix3d> turn_then;  ///< against rest, where A0 was made                      (n)
  std::vector<Eigen::Quaterniond> node_turn, turn_of_warp;  ///< against rest: now; when warp was found (n)
  TissueReport report;
  // Workspace.
  std::vector<Vector3d> trial, trial_inner, trial_gradient, right, spare;
  std::vector<WideTurn> trial_turns, spare_turns;
  Evaluation there, at_spare;  ///< of a trial
  std::vector<double> unknowns, other;
  std::vector<Eigen::Quaterniond> turn_sum;

  bool damped() const { return model.material.relaxation > 0; }
  bool floats() const { return free.size() + model.embedded.size() == mass.size(); }  ///< nothing is fixed

  bool strain(const Batch& b, const Wide3 p[8], WideTurn& turn, Wide33& f, Wide33& r, Strain& out) const noexcept;
  void evaluate(const std::vector<Vector3d>& at, std::vector<WideTurn>& at_turns, std::vector<Vector3d>& out,
                Evaluation& found, bool viscous) const noexcept;
  double place(const std::vector<Vector3d>& at, double inner_energy, const std::vector<Vector3d>& inner_gradient,
               std::vector<Vector3d>& out) noexcept;
  void turn_nodes() noexcept;
  void ask(const std::vector<Vector3d>& right_side, std::vector<double>& to) const noexcept;
  void tell(const std::vector<double>& from, std::vector<Vector3d>& to) const noexcept;
  double product(const std::vector<Vector3d>& a, const std::vector<Vector3d>& b) const noexcept;
  void evaluate_here() noexcept;
  void forget() noexcept { pairs = 0, pending = before = false, ++version; }
  void learn() noexcept;
  void join_pair() noexcept;
  void find_middle() noexcept;
  void turn_factor() noexcept;
  void factor_here() noexcept;
  void factor_at_rest() noexcept;
  void balance() noexcept;
  bool search() noexcept;
  double reach(const std::vector<Vector3d>& motion) const noexcept;
  int mend() noexcept;
  void solve_with(double* b, double* c) noexcept;
  const float* respond(std::size_t responder) noexcept;
  const Learnt& learnt(std::uint32_t node) noexcept;
  void embed(std::vector<Vector3d>& field) const noexcept;
  template <class Visit>
  void for_each_bearer(std::uint32_t node, const Visit& visit) const noexcept;
  void look(TissueReport& out) const noexcept;
  void look_here() noexcept;
};

namespace {

/// The rotation nearest to F, by Newton's method from the one before: at the maximum of tr(R^T F), with S = R^T F,
/// (tr S - S) w = axial(S) turns R by w. For a turned-inside-out F that is the rotation with det R = 1 that is nearest,
/// the least principal stretch then counts negative. @return whether it was reached
bool nearest_rotation(const Wide33& f, WideTurn& turn, Wide33& r, Wide33& s, int updates) noexcept {
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
    if (all(done) && !any(trace < spread(0.0))) return true;
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
    if (all(done) && !any(stuck)) return true;
    if (k == updates) return false;
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

Wide corner_jacobian(const Wide3 p[8], int c) noexcept {
  return dot(p[kJoined[c][0]] - p[c], cross(p[kJoined[c][1]] - p[c], p[kJoined[c][2]] - p[c]));
}

/// b and its derivative.
Wide barrier(const Wide& j, Wide& slope) noexcept {
  const Wide zero{}, solid = spread(kSolid), at = larger(j, solid), beyond = j - at;
  const Wide u = larger(spread(kGuarded) - at, zero), r = spread(1) / at;
  const Wide w = u * r;
  slope = -u * w * (spread(3) + w);
  return u * u * w + beyond * slope;
}

void gather(const Batch& b, const std::vector<Vector3d>& at, Wide3 out[8]) noexcept {
  for (int i = 0; i < 8; ++i) {
    const Vector3d &p0 = at[b.node[i][0]], &p1 = at[b.node[i][1]], &p2 = at[b.node[i][2]], &p3 = at[b.node[i][3]];
    for (int k = 0; k < 3; ++k) out[i][k] = Wide{p0[k], p1[k], p2[k], p3[k]};
  }
  // Differences from the first node, so that far from the origin no digits are lost.
  for (int i = 1; i < 8; ++i) out[i] = out[i] - out[0];
  out[0] = Wide3{};
}

}  // namespace

/// Rotation and strains of four elements; f and r are left for the forces. @return whether the rotation was reached
bool Tissue::Parts::strain(const Batch& b, const Wide3 p[8], WideTurn& turn, Wide33& f, Wide33& r,
                           Strain& out) const noexcept {
  const WideShape& shape = shapes[b.shape];
  // One sum after the other, each in registers.
#pragma GCC unroll 3
  for (int k = 0; k < 3; ++k) {
    Wide3 sum{};
#pragma GCC unroll 7
    for (int i = 1; i < 8; ++i) sum = sum + shape.gradient[i][k] * p[i];
    f.c[k] = sum;
  }
  Wide3 q[4];
#pragma GCC unroll 4
  for (int a = 0; a < 4; ++a) {
    Wide3 sum{};
#pragma GCC unroll 7
    for (int i = 1; i < 8; ++i) sum = sum + shape.hourglass[a][i] * p[i];
    q[a] = sum;
  }
  const bool reached_it = nearest_rotation(f, turn, r, out.s, kRotationUpdates);
  for (int a = 0; a < 4; ++a) out.q[a] = transposed_times(r, q[a]);
  const Wide half = spread(0.5);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < i; ++j) out.s(i, j) = out.s(j, i) = half * (out.s(i, j) + out.s(j, i));
  // C q, what hourglasses answer with.
  for (int a = 0; a < 12; ++a) {
    Wide y{};
#pragma GCC unroll 12
    for (int c = 0; c < 12; ++c) y += shape.bending[a][c] * out.q[c / 3][c % 3];
    out.hour[a / 3][a % 3] = b.weight * y;
  }
  return reached_it;
}

/// E (+ D, when viscous) and its gradient; the elements' rotations follow.
void Tissue::Parts::evaluate(const std::vector<Vector3d>& at, std::vector<WideTurn>& at_turns,
                             std::vector<Vector3d>& out, Evaluation& found, bool viscous) const noexcept {
  const Wide one = spread(1), two = spread(2), half = spread(0.5), none{};
  const Wide damping = spread(viscous ? model.material.relaxation / h : 0.0);
  for (Vector3d& g : out) g.setZero();
  found.turned = true;
  found.inverted = 0;
  Wide energy_sum{}, force_square{}, worst_of = spread(1e300);
  for (std::size_t e = 0; e < batches.size(); ++e) {
    const Batch& b = batches[e];
    const WideShape& shape = shapes[b.shape];
    Wide3 place_of[8];
    gather(b, at, place_of);
    Wide33 f, r;
    Strain& now = found.strain[e];
    if (!strain(b, place_of, at_turns[e], f, r, now)) found.turned = false;
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
    for (int a = 0; a < 4; ++a) {
      hour[a] = now.hour[a];
      for (int k = 0; k < 3; ++k) psi += half * hour[a][k] * now.q[a][k];
    }
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
      for (int a = 0; a < 4; ++a) {
        const Wide3 rate = damping * (hour[a] - then.hour[a]);
        psi += half * dot(now.q[a] - then.q[a], rate);
        hour[a] = hour[a] + rate;
      }
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
    Wide3 g[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      Wide3 sum = times(p, shape.gradient[i]);
#pragma GCC unroll 4
      for (int a = 0; a < 4; ++a) sum = sum + shape.hourglass[a][i] * turned_hour[a];
      g[i] = sum;
    }
    Wide low = spread(1e300);
    for (int c = 0; c < 8; ++c) {
      const Wide j = shape.per_corner[c] * corner_jacobian(place_of, c);
      low = smaller(j, low);
      const Mask near = j < spread(kGuarded);
      if (!any(near)) continue;
      const Wide weight = spread(0.125) * mu;
      Wide slope;
      psi += weight * barrier(j, slope);
      const Wide push_by = weight * slope * shape.per_corner[c];
      const int* to = kJoined[c];
      const Wide3 d0 = place_of[to[0]] - place_of[c], d1 = place_of[to[1]] - place_of[c],
                  d2 = place_of[to[2]] - place_of[c];
      const Wide3 g0 = push_by * cross(d1, d2), g1 = push_by * cross(d2, d0), g2 = push_by * cross(d0, d1);
      g[to[0]] = g[to[0]] + g0;
      g[to[1]] = g[to[1]] + g1;
      g[to[2]] = g[to[2]] + g2;
      g[c] = g[c] - g0 - g1 - g2;
    }
    energy_sum += psi;
    worst_of = smaller(low, worst_of);
    if (!all(low > spread(0.0)))
      for (std::size_t l = 0; l < kWide; ++l)
        if (b.weight[l] > 0 && !(low[l] > 0)) ++found.inverted;
    for (int i = 0; i < 8; ++i) {
      force_square = larger(dot(g[i], g[i]), force_square);
      for (std::size_t l = 0; l < kWide; ++l) out[b.node[i][l]] += Vector3d(g[i][0][l], g[i][1][l], g[i][2][l]);
    }
  }
  found.largest_force = std::sqrt(largest(force_square));
  found.energy = sum(energy_sum);
  found.least_jacobian = least(worst_of);
}

/// Phi, but for a constant, and its gradient over the free nodes, zero at the fixed ones.
double Tissue::Parts::place(const std::vector<Vector3d>& at, double inner_energy,
                            const std::vector<Vector3d>& inner_gradient, std::vector<Vector3d>& out) noexcept {
  if (!driven)
    for (const std::uint32_t i : free) drive[i] = (mass[i] / h) * v0[i] + mass[i] * settings.gravity + force[i];
  driven = true;
  double value = inner_energy;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (free_of[i] < 0) {
      out[i].setZero();
      continue;
    }
    const Vector3d moved = at[i] - x0[i];
    value += (0.5 * stiffness[i] * moved - drive[i]).dot(moved);
    out[i] = inner_gradient[i] + stiffness[i] * moved - drive[i];
  }
  return value;
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
    node_turn[i].coeffs() = turn_sum[i].coeffs() / size;
  }
}

void Tissue::Parts::ask(const std::vector<Vector3d>& right_side, std::vector<double>& to) const noexcept {
  for (std::size_t k = 0; k < free.size(); ++k) {
    const Vector3d local = warp[free[k]].transpose() * right_side[free[k]];
    for (std::size_t axis = 0; axis < 3; ++axis) to[3 * k + axis] = local[static_cast<Eigen::Index>(axis)];
  }
}
void Tissue::Parts::tell(const std::vector<double>& from, std::vector<Vector3d>& to) const noexcept {
  for (std::size_t k = 0; k < free.size(); ++k)
    to[free[k]] = warp[free[k]] * Vector3d(from[3 * k], from[3 * k + 1], from[3 * k + 2]);
}

/// What embedded nodes have of a field on the others.
void Tissue::Parts::embed(std::vector<Vector3d>& field) const noexcept {
  for (std::size_t i = 0; i < model.embedded.size(); ++i) {
    const Embedded& e = model.embedded[i];
    field[i].setZero();
    for (std::size_t c = 0; c < 8; ++c) field[i] += e.weight[c] * field[model.elements[e.element][c]];
  }
}

/// visit(node, weight) for the free nodes that bear what pushes this one.
template <class Visit>
void Tissue::Parts::for_each_bearer(std::uint32_t node, const Visit& visit) const noexcept {
  if (node >= model.embedded.size()) {
    if (free_of[node] >= 0) visit(node, 1.0);
    return;
  }
  const Embedded& e = model.embedded[node];
  for (std::size_t c = 0; c < 8; ++c) {
    const std::uint32_t corner = model.elements[e.element][c];
    if (e.weight[c] != 0 && free_of[corner] >= 0) visit(corner, e.weight[c]);
  }
}

void Tissue::Parts::solve_with(double* b, double* c) noexcept {
  const auto with = [b, c](auto& factor) { c ? factor.solve(b, c) : factor.solve(b); };
  if (by_deformed)
    with(deformed);
  else if (floats())
    with(twofold);
  else
    with(single);
}

const Learnt& Tissue::Parts::learnt(std::uint32_t node) noexcept {
  Learnt& l = learnt_of[node];
  if (l.version == version) return l;
  l.version = version;
  for (std::size_t a = 0; a < 2 * pairs; ++a) l.part[a].setZero();
  for_each_bearer(node, [&](std::uint32_t i, double weight) {
    for (std::size_t a = 0; a < pairs; ++a) {
      l.part[a] += weight * s_pairs[slot[a]][i];
      l.part[pairs + a] += weight * z_pairs[slot[a]][i];
    }
  });
  for (std::size_t a = 0; a < 2 * pairs; ++a) {
    l.half[a].setZero();
    for (std::size_t b = 0; b < 2 * pairs; ++b)
      l.half[a] += middle(static_cast<Eigen::Index>(a), static_cast<Eigen::Index>(b)) * l.part[b];
  }
  return l;
}

/// The three columns of A0^-1 at a surface node, its rows those of the surface; solved for unless kept. In the place of
/// the one that was asked for first, when there is no other.
const float* Tissue::Parts::respond(std::size_t responder) noexcept {
  Answers& all = by_deformed ? when_deformed : at_rest;
  const std::size_t size = 9 * responders.size();
  if (all.kept_at[responder] >= 0) return all.columns.data() + static_cast<std::size_t>(all.kept_at[responder]) * size;
  const std::size_t slot_of = all.next;
  all.next = (all.next + 1) % all.kept.size();
  if (all.count == all.kept.size())
    all.kept_at[all.kept[slot_of]] = -1;
  else
    ++all.count;
  all.kept[slot_of] = static_cast<std::uint32_t>(responder);
  all.kept_at[responder] = static_cast<std::int32_t>(slot_of);
  float* const columns = all.columns.data() + slot_of * size;
  const std::size_t at = 3 * static_cast<std::size_t>(free_of[responders[responder]]);
  const auto keep = [&](const std::vector<double>& answer, std::size_t axis) {
    for (std::size_t i = 0; i < responders.size(); ++i)
      for (std::size_t k = 0; k < 3; ++k)
        columns[3 * axis * responders.size() + 3 * i + k] =
            static_cast<float>(answer[3 * static_cast<std::size_t>(free_of[responders[i]]) + k]);
  };
  std::fill(unknowns.begin(), unknowns.end(), 0.0);
  std::fill(other.begin(), other.end(), 0.0);
  unknowns[at] = other[at + 1] = 1;
  solve_with(unknowns.data(), other.data());
  keep(unknowns, 0);
  keep(other, 1);
  std::fill(unknowns.begin(), unknowns.end(), 0.0);
  unknowns[at + 2] = 1;
  solve_with(unknowns.data(), nullptr);
  keep(unknowns, 2);
  return columns;
}

/// Turns the factor when nodes have turned; what was learnt with it as it was is forgotten.
void Tissue::Parts::turn_factor() noexcept {
  turn_nodes();
  double least_like = 1;  // cosine of half the angle, squared
  for (const std::uint32_t i : free) {
    const double like = node_turn[i].coeffs().dot(turn_of_warp[i].coeffs());
    least_like = std::min(least_like, like * like);
  }
  if (4 * (1 - least_like) <= kWarpAngle * kWarpAngle) return;
  for (const std::uint32_t i : free) warp[i] = node_turn[i].toRotationMatrix() * turn_then[i].transpose();
  turn_of_warp = node_turn;
  forget();
}

/// A0 of where it is. @pre turns are those of x
void Tissue::Parts::factor_here() noexcept {
  factored = true;
  energy_then = here.energy;
  deformed_matrix.set_zero();
  const double viscous = model.material.relaxation / h;
  for (std::size_t e = 0; e < model.elements.size(); ++e) {
    const std::size_t b = e / kWide, l = e % kWide;
    const ElementShape& shape = shape_list[shape_of[e]];
    Eigen::Matrix<double, 3, 8> at;
    for (int i = 0; i < 8; ++i) at.col(i) = x[model.elements[e][static_cast<std::size_t>(i)]];
    const Matrix3d turn =
        Eigen::Quaterniond(turns[b].w[l], turns[b].x[l], turns[b].y[l], turns[b].z[l]).toRotationMatrix();
    const Eigen::Matrix<double, 24, 24> k =
        batches[b].weight[l] * stiffness_at(shape, at, turn, rest_corner[shape_of[e]], viscous);
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j) {
        const std::int32_t row = free_of[model.elements[e][static_cast<std::size_t>(i)]];
        const std::int32_t column = free_of[model.elements[e][static_cast<std::size_t>(j)]];
        if (row < 0 || column < 0) continue;
        deformed_matrix.add(static_cast<std::size_t>(row), static_cast<std::size_t>(column),
                            k.block<3, 3>(3 * i, 3 * j));
      }
  }
  for (std::size_t i = 0; i < free.size(); ++i) deformed_matrix.add(i, i, stiffness[free[i]] * Matrix3d::Identity());
  if (!deformed.refactor(deformed_matrix)) {
    factor_at_rest();
    return;
  }
  by_deformed = true;
  when_deformed.forget();
  turn_nodes();
  for (const std::uint32_t i : free) turn_then[i] = node_turn[i].toRotationMatrix(), warp[i].setIdentity();
  turn_of_warp = node_turn;
  forget();
  stiffer = 1;
}

/// A0 of the shape at rest, turned.
void Tissue::Parts::factor_at_rest() noexcept {
  if (!by_deformed) return;
  by_deformed = false;
  for (const std::uint32_t i : free) turn_then[i].setIdentity(), warp[i] = node_turn[i].toRotationMatrix();
  turn_of_warp = node_turn;
  forget();
  stiffer = 1;
}

void Tissue::Parts::evaluate_here() noexcept {
  if (!evaluated) evaluate(x, turns, inner, here, damped());
  evaluated = true;
  phi = place(x, here.energy, inner, gradient);
}

/// What the last move changed becomes a pair; sigma follows from whether it lowered Phi.
void Tissue::Parts::learn() noexcept {
  if (!before) return;
  before = false;
  double work = 0;
  double ss = 0, yy = 0, sy_new = 0, gg = 0;
  const std::size_t k = pairs < kHistory ? slot[pairs] : slot[0];
  std::vector<Vector3d>&s = s_pairs[k], &y = y_pairs[k];
  // The slot is free, or the oldest's.
  if (pairs == kHistory) {
    std::rotate(slot.begin(), slot.begin() + 1, slot.end());
    --pairs;
  }
  for (const std::uint32_t i : free) {
    s[i] = x[i] - x_before[i], y[i] = gradient[i] - gradient_before[i];
    work += pushed_before[i].dot(s[i]);
    ss += s[i].squaredNorm(), yy += y[i].squaredNorm(), sy_new += s[i].dot(y[i]);
    gg += gradient_before[i].squaredNorm();
  }
  // A move of which corners allow next to nothing is as useless as one that climbs.
  if (phi - phi_before - work > 1e-12 * std::abs(phi) || reached < kPoorReach)
    stiffer = std::min(4 * stiffer, kMostStiffer);
  else
    stiffer = std::max(1.0, 0.5 * stiffer);
  // What nothing holds moves far by forces within rounding: a change of those says nothing of it.
  const double noise = floats() ? static_cast<double>(free.size()) * rounding * rounding : 0.0;
  const double told = std::max(1e-20 * gg, noise);
  if (!(ss > kLeastMove * kLeastMove) || !(sy_new > 1e-8 * std::sqrt(ss * yy)) || !(yy > told)) {
    find_middle();
    return;
  }
  slot[pairs] = k;
  pending = true;
}

/// The newest pair takes part, once z is known.
void Tissue::Parts::join_pair() noexcept {
  const std::size_t k = slot[pairs];
  const auto ki = static_cast<Eigen::Index>(k);
  pending = false;
  sy(ki, ki) = product(s_pairs[k], y_pairs[k]);
  yz(ki, ki) = product(y_pairs[k], z_pairs[k]);
  // A direction in which it is so much stiffer than the factor says that single precision could not tell.
  if (sy(ki, ki) > kLeastOfFactor * yz(ki, ki) / stiffer) {
    std::array<double, kHistory> with_y{}, with_z{};
    for (const std::uint32_t i : free)
      for (std::size_t a = 0; a < pairs; ++a) {
        with_y[a] += s_pairs[slot[a]][i].dot(y_pairs[k][i]);
        with_z[a] += y_pairs[slot[a]][i].dot(z_pairs[k][i]);
      }
    for (std::size_t a = 0; a < pairs; ++a) {
      const auto oi = static_cast<Eigen::Index>(slot[a]);
      sy(oi, ki) = with_y[a];
      yz(oi, ki) = yz(ki, oi) = with_z[a];
    }
    ++pairs;
  }
  find_middle();
}

/// M of the compact form [Byrd 1994, theorem 2.2], with A0^-1 / sigma in the place of the scaled identity.
void Tissue::Parts::find_middle() noexcept {
  const auto m = static_cast<Eigen::Index>(pairs);
  Eigen::Matrix<double, kHistory, kHistory> upper_inverse, inner_part;
  upper_inverse.setZero(), inner_part.setZero();
  const auto at = [&](Eigen::Index a) { return static_cast<Eigen::Index>(slot[static_cast<std::size_t>(a)]); };
  for (Eigen::Index column = 0; column < m; ++column)
    for (Eigen::Index row = column; row >= 0; --row) {
      double sum = row == column ? 1.0 : 0.0;
      for (Eigen::Index k = row + 1; k <= column; ++k) sum -= sy(at(row), at(k)) * upper_inverse(k, column);
      upper_inverse(row, column) = sum / sy(at(row), at(row));
    }
  for (Eigen::Index a = 0; a < m; ++a)
    for (Eigen::Index b = 0; b < m; ++b)
      inner_part(a, b) = yz(at(a), at(b)) / stiffer + (a == b ? sy(at(a), at(a)) : 0.0);
  middle.setZero();
  ++version;
  for (Eigen::Index a = 0; a < m; ++a)
    for (Eigen::Index b = 0; b < m; ++b) {
      double sum = 0;
      for (Eigen::Index c = 0; c < m; ++c)
        for (Eigen::Index d = 0; d < m; ++d) sum += upper_inverse(c, a) * inner_part(c, d) * upper_inverse(d, b);
      middle(a, b) = sum;
      middle(a, m + b) = middle(m + b, a) = -upper_inverse(b, a) / stiffer;
    }
}

/// What nothing holds is moved as a whole to where inertia, drag and load are in balance: exactly, whatever is left
/// elsewhere, so that momentum is kept.
void Tissue::Parts::balance() noexcept {
  if (!floats()) return;
  Vector3d left = Vector3d::Zero();
  double total = 0;
  for (std::size_t i = 0; i < x.size(); ++i) left += gradient[i], total += stiffness[i];
  const Vector3d shift = -left / total;
  for (Vector3d& p : x) p += shift;
  here.turned = false;  // the last digits of its strains are others
  phi = place(x, here.energy, inner, gradient);
}

/// Largest fraction of a move that leaves of every corner that is not inside out a part of its Jacobian: a cubic along
/// the move, bounded from below by its Bernstein coefficients.
double Tissue::Parts::reach(const std::vector<Vector3d>& motion) const noexcept {
  double fraction = 1;
  for (const Batch& b : batches) {
    Wide3 p[8], by[8];
    gather(b, x, p);
    gather(b, motion, by);
    for (int c = 0; c < 8; ++c) {
      const int* to = kJoined[c];
      const Wide3 d0 = p[to[0]] - p[c], d1 = p[to[1]] - p[c], d2 = p[to[2]] - p[c];
      const Wide3 m0 = by[to[0]] - by[c], m1 = by[to[1]] - by[c], m2 = by[to[2]] - by[c];
      const Wide3 d12 = cross(d1, d2), m12 = cross(m1, m2), mixed = cross(m1, d2) + cross(d1, m2);
      const Wide j0 = dot(d0, d12), j1 = dot(m0, d12) + dot(d0, mixed), j2 = dot(m0, mixed) + dot(d0, m12),
                 j3 = dot(m0, m12);
      const Wide third = spread(1.0 / 3.0), rest = shapes[b.shape].corner[c];
      const Wide least_left =
          larger(larger(spread(kCornerLeft) * j0, smaller(spread(kFlatLeft) * j0, spread(kFlat) * rest)),
                 smaller(j0, spread(kLastLeft) * rest));
      for (int k = 0;; ++k, fraction *= kShortening) {
        if (k == kShortenings) return 0;
        const Wide t = spread(fraction);
        const Wide b1 = j0 + third * j1 * t, b2 = j0 + third * (spread(2) * j1 + j2 * t) * t,
                   b3 = j0 + (j1 + (j2 + j3 * t) * t) * t;
        const Mask enough = (smaller(smaller(b1, b2), b3) >= least_left) | (j0 <= Wide{});
        if (all(enough)) break;
      }
    }
  }
  return fraction;
}

/// Turns elements right that are inside out: rounds of rotations to the nodes, nodes to the rotations (as rigid as
/// possible [Sorkine 2007]); from where it is, and when that does not do, or too many are, from the shape at rest.
/// @return elements still inside out
int Tissue::Parts::mend() noexcept {
  TissueReport now;
  look(now);
  const bool beyond = 4 * static_cast<std::size_t>(now.inverted) > model.elements.size();
  for (int start = beyond ? 1 : 0; start < 2; ++start) {
    if (start == 1)
      for (std::size_t e = 0; e < batches.size(); ++e)
        turns[e] = {batches[e].rest.w, -batches[e].rest.x, -batches[e].rest.y, -batches[e].rest.z};
    for (int k = 0; k < kMends; ++k) {
      for (Vector3d& g : spare) g.setZero();
      for (std::size_t e = 0; e < batches.size(); ++e) {
        const Batch& b = batches[e];
        const WideShape& shape = shapes[b.shape];
        Wide3 p[8];
        gather(b, x, p);
        Wide33 f{}, r, s;
        Wide3 q[4]{};
        for (int i = 1; i < 8; ++i) {
          for (int c = 0; c < 3; ++c) f.c[c] = f.c[c] + shape.gradient[i][c] * p[i];
          for (int a = 0; a < 4; ++a) q[a] = q[a] + shape.hourglass[a][i] * p[i];
        }
        if (start == 1 && k == 0)
          r = matrix(turns[e]);
        else
          nearest_rotation(f, turns[e], r, s, 4 * kRotationUpdates);
        const Wide weight = b.weight * shape.volume, hour = weight * spread(hourglass_weight);
        for (int i = 0; i < 8; ++i) {
          Wide3 g{};
          for (int c = 0; c < 3; ++c) g = g + weight * shape.gradient[i][c] * (f.c[c] - r.c[c]);
          for (int a = 0; a < 4; ++a) g = g + hour * shape.hourglass[a][i] * q[a];
          for (std::size_t l = 0; l < kWide; ++l) spare[b.node[i][l]] += Vector3d(g[0][l], g[1][l], g[2][l]);
        }
      }
      for (std::size_t i = 0; i < free.size(); ++i)
        for (std::size_t axis = 0; axis < 3; ++axis)
          unknowns[3 * i + axis] = spare[free[i]][static_cast<Eigen::Index>(axis)];
      springs.solve(unknowns.data());
      for (std::size_t i = 0; i < free.size(); ++i)
        x[free[i]] -= Vector3d(unknowns[3 * i], unknowns[3 * i + 1], unknowns[3 * i + 2]);
      look(now);
      if (now.inverted == 0 && k > 2) break;
    }
    if (now.inverted == 0) break;
  }
  embed(x);
  for (std::size_t e = 0; e < batches.size(); ++e) {
    Wide3 p[8];
    gather(batches[e], x, p);
    Wide33 f, r;
    strain(batches[e], p, turns[e], f, r, here.strain[e]);
  }
  forget();
  evaluated = false;
  return now.inverted;
}

/// Goes along the move as far as Phi falls. @return whether it did
bool Tissue::Parts::search() noexcept {
  const double slope = product(gradient, move);
  if (!(slope < 0)) return false;
  double part = reach(move);
  reached = 1;  // it goes as far as Phi falls
  for (int t = 0; t <= kBacktracks; ++t) {
    trial = x;
    for (const std::uint32_t i : free) trial[i] += part * move[i];
    trial_turns = turns;
    evaluate(trial, trial_turns, trial_inner, there, damped());
    const double trial_phi = place(trial, there.energy, trial_inner, trial_gradient);
    if (trial_phi <= phi + 1e-4 * part * slope + 1e-13 * std::abs(phi)) {
      x_before.swap(x), gradient_before.swap(gradient);
      phi_before = phi, before = true;
      for (Vector3d& f : pushed_before) f.setZero();
      x.swap(trial), turns.swap(trial_turns), inner.swap(trial_inner), gradient.swap(trial_gradient);
      embed(x);
      std::swap(here, there);
      phi = trial_phi;
      return true;
    }
    // The least of the parabola through both values and the slope.
    const double curve = 2 * (trial_phi - phi - slope * part);
    const double least_part = curve > 0 ? -slope * part * part / curve : 0;
    part = std::isfinite(least_part) ? std::clamp(least_part, 0.1 * part, 0.5 * part) : 0.1 * part;
  }
  return false;
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
      low = smaller(shape.per_corner[c] * corner_jacobian(p, c), low);
    }
    worst_of = smaller(low, worst_of);
    for (std::size_t l = 0; l < kWide; ++l)
      if (b.weight[l] > 0 && !(low[l] > 0)) ++out.inverted;
  }
  out.least_jacobian = least(worst_of);
}

void Tissue::Parts::look_here() noexcept {
  if (evaluated && here.turned)
    report.inverted = here.inverted, report.least_jacobian = here.least_jacobian;
  else
    look(report);
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
  if (model.embedded.size() >= n) return usage_error("tissue: every node is embedded");
  for (const Embedded& e : model.embedded)
    if (e.element >= model.elements.size()) return usage_error("tissue: a node is embedded in no element");
  for (const Hexahedron& e : model.elements)
    for (const std::uint32_t i : e)
      if (i < model.embedded.size()) return usage_error("tissue: an element has an embedded node");

  auto parts = std::make_unique<Parts>();
  Parts& p = *parts;
  p.model = std::move(model);
  p.settings = settings;
  p.mass.assign(n, 0);
  std::vector<ElementShape>& shapes = p.shape_list;
  std::vector<std::uint32_t>& shape_of = p.shape_of;
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
    shape_of.push_back(static_cast<std::uint32_t>(same));
    axes.emplace_back(shape->axes);
  }
  for (const auto& c : corners_of) {
    Eigen::Matrix<double, 8, 1>& of = p.rest_corner.emplace_back();
    for (int i = 0; i < 8; ++i) {
      const Vector3d a = c.col(kJoined[i][0]) - c.col(i), b = c.col(kJoined[i][1]) - c.col(i),
                     d = c.col(kJoined[i][2]) - c.col(i);
      of[i] = a.dot(b.cross(d));
    }
  }
  for (std::size_t i = p.model.embedded.size(); i < n; ++i)
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
          w.per_corner[i][l] = 1 / p.rest_corner[of[l]][i];
          w.corner[i][l] = 1 / w.per_corner[i][l];
        }
        for (int i = 0; i < 12; ++i)
          for (int j = 0; j < 12; ++j) w.bending[i][j][l] = s.bending(i, j);
        w.mu_v[l] = s.mu * s.volume, w.lambda_v[l] = s.lambda * s.volume, w.volume[l] = s.volume;
      }
      p.shapes.push_back(w);
    }
    p.batches.push_back(b);
  }

  double far = 0;
  for (const Vector3d& at : p.model.nodes) far = std::max(far, at.norm());
  p.rounding = 1e-14 * m.young * std::cbrt(shapes[0].volume) * far;

  // The matrix of a step at rest, over the free nodes.
  p.free_of.assign(n, 0);
  for (const std::uint32_t i : p.model.fixed) p.free_of[i] = -1;
  std::fill_n(p.free_of.begin(), p.model.embedded.size(), -1);
  for (std::size_t i = 0; i < n; ++i)
    if (p.free_of[i] == 0) {
      p.free_of[i] = static_cast<std::int32_t>(p.free.size());
      p.free.push_back(static_cast<std::uint32_t>(i));
    }
  if (p.free.empty()) return usage_error("tissue: every node is fixed");
  p.stiffness.resize(n);
  for (std::size_t i = 0; i < n; ++i) p.stiffness[i] = p.mass[i] * (1 / settings.dt + m.drag) / settings.dt;
  BlockMatrix matrix(p.free.size());
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
        matrix.add(static_cast<std::size_t>(row), static_cast<std::size_t>(column), k.block<3, 3>(3 * i, 3 * j));
      }
  }
  for (std::size_t k = 0; k < p.free.size(); ++k) matrix.add(k, k, p.stiffness[p.free[k]] * Matrix3d::Identity());
  std::vector<Vector3d> places;
  for (const std::uint32_t i : p.free) places.push_back(p.model.nodes[i]);
  p.unknowns.assign(3 * p.free.size(), 0);
  p.other = p.unknowns;
  const bool positive = p.floats() ? p.twofold.factor(matrix, places) : p.single.factor(matrix, places);
  if (!positive) return failure("tissue: its matrix at rest is not positive definite");
  p.deformed.plan(matrix, places);
  p.deformed_matrix = std::move(matrix);

  // Springs for mending: the same for each axis, an isotropic resistance to hourglasses.
  p.hourglass_weight = shapes[0].bending.trace() / (12 * shapes[0].mu * shapes[0].volume);
  BlockMatrix net(p.free.size());
  double most = 0;
  for (std::size_t e = 0; e < p.model.elements.size(); ++e) {
    const ElementShape& s = shapes[shape_of[e]];
    const Eigen::Matrix<double, 8, 8> k =
        (p.model.filled.empty() ? 1.0 : p.model.filled[e]) * s.volume *
        (s.gradient.transpose() * s.gradient + p.hourglass_weight * s.hourglass.transpose() * s.hourglass);
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j) {
        const std::int32_t row = p.free_of[p.model.elements[e][static_cast<std::size_t>(i)]];
        const std::int32_t column = p.free_of[p.model.elements[e][static_cast<std::size_t>(j)]];
        if (row < 0 || column < 0) continue;
        net.add(static_cast<std::size_t>(row), static_cast<std::size_t>(column), k(i, j) * Matrix3d::Identity());
        most = std::max(most, k(i, j));
      }
  }
  for (std::size_t k = 0; k < p.free.size(); ++k) net.add(k, k, 1e-4 * most * Matrix3d::Identity());
  if (!p.springs.factor(net, places)) return failure("tissue: it hangs together nowhere");

  // What a force on a surface node does to every other: of all of them, or of those that were asked for last.
  p.surface_of.assign(n, -1);
  for (const SurfaceTriangle& t : p.model.surface)
    for (const std::uint32_t corner : t.node)
      p.for_each_bearer(corner, [&p](std::uint32_t i, double) {
        if (p.surface_of[i] >= 0) return;
        p.surface_of[i] = static_cast<std::int32_t>(p.responders.size());
        p.responders.push_back(i);
      });
  const std::size_t kept = std::min(p.responders.size(), p.responders.size() <= kMostDense ? kMostDense : kMostKept);
  p.at_rest.resize(p.responders.size(), kept);
  p.when_deformed.resize(p.responders.size(), std::min(kept, kMostKept));
  if (kept == p.responders.size())
    for (const std::uint32_t i : p.responders) p.respond(static_cast<std::size_t>(p.surface_of[i]));

  // Contact numbers the surface's vertices as the nodes.
  std::size_t vertices = 0;
  std::vector<contact::TriangleMesh::Triangle> triangles;
  for (const SurfaceTriangle& t : p.model.surface) {
    triangles.push_back(t.node);
    for (const std::uint32_t i : t.node) vertices = std::max<std::size_t>(vertices, i + 1);
  }
  auto surface = contact::TriangleMesh::create(
      {p.model.nodes.begin(), p.model.nodes.begin() + static_cast<std::ptrdiff_t>(vertices)}, std::move(triangles));
  if (!surface) return usage_error("tissue: " + surface.error().message);
  p.surface = std::move(*surface);
  if (p.model.skin > 0) p.self_pairs = contact::SelfPairs(p.surface, p.model.skin, p.model.elements);

  const std::vector<Vector3d> zero(n, Vector3d::Zero());
  p.h = settings.dt;
  p.x = p.x0 = p.model.nodes;
  for (auto* list : {&p.v, &p.v0, &p.force, &p.pushed, &p.more, &p.inner, &p.gradient, &p.base, &p.move, &p.x_before,
                     &p.gradient_before, &p.pushed_before, &p.drive, &p.trial, &p.trial_inner, &p.trial_gradient,
                     &p.right, &p.spare})
    *list = zero;
  for (std::size_t k = 0; k < kHistory; ++k) p.s_pairs[k] = p.y_pairs[k] = p.z_pairs[k] = zero;
  p.sy.setZero(), p.yz.setZero(), p.middle.setZero();
  p.warp.assign(n, Matrix3d::Identity());
  p.turn_then = p.warp;
  p.learnt_of.resize(n);
  p.turn_sum.assign(n, Eigen::Quaterniond::Identity());
  p.node_turn = p.turn_of_warp = p.turn_sum;
  for (const Batch& b : p.batches) p.turns.push_back({b.rest.w, -b.rest.x, -b.rest.y, -b.rest.z});
  p.turns0 = p.trial_turns = p.spare_turns = p.turns;
  for (auto* list : {&p.strain0, &p.here.strain, &p.there.strain, &p.at_spare.strain}) list->resize(p.batches.size());
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
bool Tissue::fixed(std::uint32_t node) const noexcept {
  bool moves = false;
  p_->for_each_bearer(node, [&moves](std::uint32_t, double) { moves = true; });
  return !moves;
}
bool Tissue::floats() const noexcept {
  return p_->floats();
}
double Tissue::mass(std::uint32_t node) const noexcept {
  return p_->mass[node];
}
const Vector3d* Tissue::x() const noexcept {
  return p_->x.data();
}
contact::SelfPairs* Tissue::self_pairs() const noexcept {
  return p_->model.skin > 0 ? &p_->self_pairs : nullptr;
}
double Tissue::skin() const noexcept {
  return p_->model.skin;
}
const Vector3d* Tissue::start() const noexcept {
  return p_->x0.data();
}
const Vector3d* Tissue::step() const noexcept {
  return p_->move.data();
}
const contact::TriangleMesh& Tissue::surface() const noexcept {
  if (!p_->surface_follows) {
    p_->surface.deform(p_->x.data());
    p_->surface_follows = true;
  }
  return p_->surface;
}
const std::vector<Vector3d>& Tissue::v() const noexcept {
  return p_->v;
}

double Tissue::elastic_energy(std::vector<Vector3d>& gradient) const noexcept {
  p_->spare_turns = p_->turns;
  p_->evaluate(p_->x, p_->spare_turns, gradient, p_->at_spare, false);
  return p_->at_spare.energy;
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
    Wide33 f{};
    for (int i = 0; i < 8; ++i)
      for (int k = 0; k < 3; ++k) f.c[k] = f.c[k] + shape.gradient[i][k] * at[i];
    total += b.weight * shape.volume * dot(f.c[0], cross(f.c[1], f.c[2]));
  }
  return sum(total);
}

const TissueReport& Tissue::report() const noexcept {
  return p_->report;
}

void Tissue::clear_loads() noexcept {
  for (Vector3d& f : p_->force) f.setZero();
  p_->driven = false;
}
void Tissue::load(std::uint32_t node, const Vector3d& force) noexcept {
  p_->for_each_bearer(node, [&](std::uint32_t i, double weight) { p_->force[i] += weight * force; });
  p_->driven = false;
}

void Tissue::pull(const Vector3d& gravity) noexcept {
  p_->settings.gravity = gravity;
  p_->driven = false;
}
void Tissue::carry(const Vector3d& velocity) noexcept {
  p_->carried = velocity;
}

void Tissue::hold(std::uint32_t node, const Vector3d& target) noexcept {
  Parts& p = *p_;
  if (node < p.model.embedded.size() || p.free_of[node] >= 0 || p.x[node] == target) return;
  p.x[node] = target;
  p.embed(p.x);
  p.surface_follows = false;
  p.evaluated = p.before = false;
}

void Tissue::begin(double dt) noexcept {
  Parts& p = *p_;
  p.h = dt;
  for (std::size_t i = 0; i < p.mass.size(); ++i) p.stiffness[i] = p.mass[i] * (1 / dt + p.model.material.drag) / dt;
  p.x0 = p.x, p.v0 = p.v, p.turns0 = p.turns;
  p.driven = false;
  if (p.damped() && p.evaluated && p.here.turned)
    p.strain0.swap(p.here.strain);  // what strain() would find again
  else if (p.damped())
    for (std::size_t e = 0; e < p.batches.size(); ++e) {
      Wide33 f, r;
      Wide3 at[8];
      gather(p.batches[e], p.x, at);
      p.strain(p.batches[e], at, p.turns[e], f, r, p.strain0[e]);
    }
  if (p.carried != Vector3d::Zero()) {
    for (const std::uint32_t i : p.model.fixed) p.x[i] += dt * p.carried;
    p.embed(p.x);
    p.surface_follows = false;
  }
  p.before = p.evaluated = p.factored = false;
  if (p.by_deformed && p.report.least_jacobian > kGuarded && p.here.energy < kRelaxed * p.energy_then)
    p.factor_at_rest();
  p.turn_factor();
  p.report = {};
}

void Tissue::linearise() noexcept {
  Parts& p = *p_;
  p.evaluate_here();
  p.learn();
  if (p.stiffer > kPoorFactor && !p.factored) p.factor_here();
  for (Vector3d& f : p.pushed) f.setZero();
  for (Vector3d& f : p.more) f.setZero();
  p.pushed_more = p.solved = false;
}

void Tissue::renew(bool again) noexcept {
  if (again || !p_->factored) p_->factor_here();
}

void Tissue::push(std::uint32_t node, const Vector3d& force) noexcept {
  p_->for_each_bearer(node, [&](std::uint32_t i, double weight) {
    p_->more[i] += weight * force;
    p_->pushed_more = true;
  });
}

void Tissue::solve() noexcept {
  Parts& p = *p_;
  if (p.pushed_more)
    for (const std::uint32_t i : p.free) p.pushed[i] += p.more[i];
  if (!p.solved) {
    for (const std::uint32_t i : p.free) p.right[i] = p.pushed[i] - p.gradient[i];
    p.ask(p.right, p.unknowns);
    if (p.pending) {
      const std::size_t newest = p.slot[p.pairs];
      p.ask(p.y_pairs[newest], p.other);
      p.solve_with(p.unknowns.data(), p.other.data());
      p.tell(p.other, p.z_pairs[newest]);
      p.join_pair();
    } else {
      p.solve_with(p.unknowns.data(), nullptr);
    }
    p.tell(p.unknowns, p.base);
    p.solved = true;
  } else if (p.pushed_more) {
    for (const std::uint32_t i : p.free) p.right[i] += p.more[i];
    p.ask(p.more, p.unknowns);
    p.solve_with(p.unknowns.data(), nullptr);
    p.tell(p.unknowns, p.move);
    for (const std::uint32_t i : p.free) p.base[i] += p.move[i];
  }
  if (p.pushed_more)
    for (Vector3d& f : p.more) f.setZero();
  p.pushed_more = false;
  const auto m = static_cast<Eigen::Index>(p.pairs);
  std::array<double, 2 * kHistory> w{}, c{};
  std::array<const Vector3d*, kHistory> s{}, z{};
  for (std::size_t a = 0; a < p.pairs; ++a) s[a] = p.s_pairs[p.slot[a]].data(), z[a] = p.z_pairs[p.slot[a]].data();
  for (const std::uint32_t i : p.free)
    for (std::size_t a = 0; a < p.pairs; ++a) {
      w[a] += s[a][i].dot(p.right[i]);
      w[p.pairs + a] += z[a][i].dot(p.right[i]);
    }
  for (Eigen::Index a = 0; a < 2 * m; ++a)
    for (Eigen::Index b = 0; b < 2 * m; ++b)
      c[static_cast<std::size_t>(a)] += p.middle(a, b) * w[static_cast<std::size_t>(b)];
  const double scale = 1 / p.stiffer;
  for (const std::uint32_t i : p.free) {
    Vector3d move = scale * p.base[i];
    for (std::size_t a = 0; a < p.pairs; ++a) move += c[a] * s[a][i] + c[p.pairs + a] * z[a][i];
    p.move[i] = move;
  }
  p.embed(p.move);
}

Matrix3d Tissue::compliance(std::uint32_t i, std::uint32_t j) const noexcept {
  Parts& p = *p_;
  Matrix3d out = Matrix3d::Zero();
  // Always by the column of the one that comes last, so that the answer is symmetric, and the same whatever is kept.
  const std::uint32_t from = std::max(i, j), to = std::min(i, j);
  const std::size_t stride = 3 * p.responders.size();
  p.for_each_bearer(from, [&](std::uint32_t pushed, double part) {
    if (p.surface_of[pushed] < 0) return;
    const float* const columns = p.respond(static_cast<std::size_t>(p.surface_of[pushed]));
    Matrix3d sum = Matrix3d::Zero();
    p.for_each_bearer(to, [&](std::uint32_t moved, double weight) {
      if (p.surface_of[moved] < 0) return;
      const float* const column = columns + 3 * p.surface_of[moved];
      Matrix3d g;
      for (std::size_t a = 0; a < 3; ++a)
        g.col(static_cast<Eigen::Index>(a)) << column[a * stride], column[a * stride + 1], column[a * stride + 2];
      sum += weight * p.warp[moved] * g;
    });
    out += part * sum * p.warp[pushed].transpose() / p.stiffer;
  });
  const Learnt &mine = p.learnt(to), &other = p.learnt(from);
  for (std::size_t a = 0; a < 2 * p.pairs; ++a) out += mine.part[a] * other.half[a].transpose();
  if (i > j) out.transposeInPlace();
  return out;
}

void Tissue::lead(std::uint32_t node, const Vector3d& step) noexcept {
  Parts& p = *p_;
  double square = 0;
  p.for_each_bearer(node, [&](std::uint32_t, double weight) { square += weight * weight; });
  if (!(square > 0)) return;
  const Vector3d more = step - p.move[node];
  p.for_each_bearer(node, [&](std::uint32_t bearer, double weight) { p.move[bearer] += weight / square * more; });
  p.embed(p.move);
}

double Tissue::reach() const noexcept {
  p_->reached = p_->reach(p_->move);
  return p_->reached;
}

bool Tissue::bears_back(double fraction) const noexcept {
  Parts& p = *p_;
  for (std::size_t i = 0; i < p.x.size(); ++i) p.spare[i] = (1 - fraction) * (p.x0[i] - p.x[i]);
  return fraction == 0 || p.reach(p.spare) >= 1;
}

void Tissue::advance(double fraction) noexcept {
  Parts& p = *p_;
  p.x_before = p.x, p.gradient_before = p.gradient, p.pushed_before = p.pushed;
  p.phi_before = p.phi;
  p.before = fraction > 0;
  for (const std::uint32_t i : p.free) p.x[i] += fraction * p.move[i];
  p.embed(p.x);
  p.evaluated = p.evaluated && !p.before;
  if (p.before) ++p.report.iterations;
  p.surface_follows = false;
}

void Tissue::go_back(double fraction) noexcept {
  Parts& p = *p_;
  if (fraction == 0) {
    p.x = p.x0, p.v = p.v0, p.turns = p.turns0;
    p.forget();
    p.stiffer = 1;
  } else {
    for (std::size_t i = 0; i < p.x.size(); ++i) p.x[i] = p.x0[i] + fraction * (p.x[i] - p.x0[i]);
  }
  p.before = p.evaluated = false;
  p.surface_follows = false;
}

void Tissue::slow(const Vector3d& drift, double left) noexcept {
  for (Vector3d& v : p_->v) v = drift + left * (v - drift);
}

void Tissue::finish() noexcept {
  Parts& p = *p_;
  bool finite = true;
  for (const Vector3d& at : p.x) finite = finite && at.allFinite();
  if (finite) {
    for (std::size_t i = 0; i < p.x.size(); ++i) p.v[i] = (p.x[i] - p.x0[i]) / p.h;
  } else {
    go_back(0);
    for (Vector3d& v : p.v) v.setZero();
  }
  TissueReport& r = p.report;
  r.finite = finite;
  r.residual = 0;
  double load_square = 0, displacement_square = 0;
  for (const std::uint32_t i : p.free) {
    const Vector3d by_contacts = p.pushed[i] + p.more[i];
    r.residual = std::max(r.residual, (p.gradient[i] - by_contacts).cwiseAbs().maxCoeff());
    load_square = std::max(load_square, (p.force[i] + by_contacts).squaredNorm());
  }
  for (std::size_t i = 0; i < p.x.size(); ++i)
    displacement_square = std::max(displacement_square, (p.x[i] - p.model.nodes[i]).squaredNorm());
  r.load = std::sqrt(load_square), r.displacement = std::sqrt(displacement_square);
  r.scale = std::max(r.load, p.here.largest_force);
  r.converged = r.residual <= p.settings.residual_target * r.scale + p.rounding;
  p.look_here();
}

int Tissue::settle(int iterations) noexcept {
  Parts& p = *p_;
  double load = 0;
  for (const std::uint32_t i : p.free) load = std::max(load, (p.force[i] + p.mass[i] * p.settings.gravity).norm());
  int k = 0;
  for (;; ++k) {
    linearise();
    p.balance();
    double residual = 0;
    for (const std::uint32_t i : p.free) residual = std::max(residual, p.gradient[i].cwiseAbs().maxCoeff());
    if (residual <= p.settings.residual_target * std::max(p.here.largest_force, load) + p.rounding || k >= iterations)
      break;
    solve();
    if (!p.search()) {
      if (p.pairs == 0) break;
      p.forget();
    }
  }
  p.report.iterations += k;
  p.surface_follows = false;
  return k;
}

void Tissue::step_alone(double dt) noexcept {
  p_->look_here();
  if (p_->report.inverted > 0) {
    p_->mend();
    for (Vector3d& v : p_->v) v.setZero();
  }
  begin(dt);
  p_->factor_at_rest();
  p_->stiffer = 1;
  p_->find_middle();
  settle(p_->settings.iterations);
  finish();
}

void Tissue::set_state(std::span<const Vector3d> x, std::span<const Vector3d> v) noexcept {
  Parts& p = *p_;
  std::copy(x.begin(), x.end(), p.x.begin());
  p.embed(p.x);
  if (v.empty())
    for (Vector3d& s : p.v) s.setZero();
  else
    std::copy(v.begin(), v.end(), p.v.begin());
  // Far from the rotations before: from rest, with as many updates as it takes.
  for (std::size_t e = 0; e < p.batches.size(); ++e)
    for (int k = 0; k < 10; ++k) {
      Wide3 at[8];
      gather(p.batches[e], p.x, at);
      Wide33 f, r;
      p.strain(p.batches[e], at, p.turns[e], f, r, p.here.strain[e]);
    }
  p.x0 = p.x, p.v0 = p.v, p.turns0 = p.turns;
  p.evaluated = false;
  p.factor_at_rest();
  p.forget();
  p.self_pairs.forget();
  p.stiffer = 1;
  p.surface_follows = false;
}

void Tissue::add_to(StateHash& hash) const noexcept {
  for (const auto* list : {&p_->x, &p_->v})
    for (const Vector3d& a : *list)
      for (int k = 0; k < 3; ++k) hash.add(a[k]);
}

}  // namespace ligature::tissue
