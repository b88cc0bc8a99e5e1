#include "sim/contact/implicit_step.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sim/contact/tolerances.hpp"
#include "sim/rod/lanes.hpp"

namespace ligature::contact {
namespace {

constexpr std::size_t kMostSpans = 12;  // whose rank-one terms are taken in; the moments of more act all the same
using SmallMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, kMostSpans, kMostSpans>;
using SmallVector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kMostSpans, 1>;

// A sum over flat arrays, several entries side by side, in a fixed order.
template <class Term>  // term(load): of the entries that load(array) reads
double sum_over(std::size_t size, const Term& term) {
  namespace lanes = rod::lanes;
  lanes::Wide sums{};
  std::size_t r = 0;
  for (; r + lanes::kLanes <= size; r += lanes::kLanes)
    sums += term([r](const double* from) { return lanes::load(from + r); });
  double sum = lanes::sum(sums);
  for (; r < size; ++r) sum += term([r](const double* from) { return from[r]; });
  return sum;
}
const double* flat(const std::vector<Vector3d>& v) {
  static_assert(sizeof(Vector3d) == 3 * sizeof(double));
  return v.front().data();
}
double* flat(std::vector<Vector3d>& v) {
  return v.front().data();
}

// Forces are differences of coordinates times stiffnesses: below this, an imbalance is rounding.
double rounding_force(const rod::RodModel& model, const std::vector<Vector3d>& x) {
  const Eigen::Map<const Eigen::ArrayXd> entries(flat(x), static_cast<Eigen::Index>(3 * x.size()));
  const double extent = std::max(0.0, entries.abs().maxCoeff());
  const double l = model.rest_length;
  return 4 * std::numeric_limits<double>::epsilon() * extent *
         (2 * model.stretch_stiffness / l + 16 * model.bend_stiffness / (l * l * l));
}

// The multiplier becomes the force that the solve has just balanced, f - K dc: at a new active set that is the Newton
// step of the multiplier. (Evaluating the law at the new point instead would add the error of a wrong active set.)
// A shortened step moves it by the same fraction. True when the constraint changes to another case of its law.
bool move_multiplier(Constraint& c, const Response& r, double fraction, const Vector3d& moved,
                     const std::vector<Vector3d>& x) {
  if (c.kind == Constraint::Kind::grip) {
    const bool first = !c.settled;
    c.settled = c.settled || fraction == 1.0;
    return first;
  }
  if (!c.engaged) {
    c.engaged = gap(c, place(x, c)) + c.slack < 0;
    c.sliding = false;
    return c.engaged;
  }
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

double longest_edge(const rod::RodModel& model, const std::vector<Vector3d>& x) {
  double longest = 0;
  for (std::size_t i = 0; i < model.edges(); ++i) longest = std::max(longest, (x[model.next(i)] - x[i]).squaredNorm());
  return std::sqrt(longest);
}

// An iteration among contacts and grips that was cut off may leave edges that no force would. Goes back towards x0
// until none is longer than the limit or than the longest was: an edge's length is convex along the way.
bool shorten(const rod::RodModel& model, const std::vector<Vector3d>& x0, std::vector<Vector3d>& x) {
  const double limit = std::max(kMostStretch * model.rest_length, longest_edge(model, x0));
  if (longest_edge(model, x) <= limit) return false;
  for (int halving = 0; halving < 12; ++halving) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.5 * (x[i] + x0[i]);
    if (longest_edge(model, x) <= limit) return true;
  }
  std::copy(x0.begin(), x0.end(), x.begin());
  return true;
}

Vector3d rotated(const Vector3d& v, const Vector3d& by) {
  const double angle = by.norm();
  return angle > 0 ? Vector3d(Eigen::AngleAxisd(angle, by / angle) * v) : v;
}

}  // namespace

/// One call of solve(), and what its iterations share.
struct ImplicitStep::Problem {
  const rod::RodModel& model;
  const std::vector<Vector3d>& x0;
  rod::RodState& state;
  const Drive& drive;
  Constraint* constraints;
  std::size_t count;
  const StepSettings& settings;
  bool framed = false;        // frames are carried along
  double motion = 1;          // fraction of the prescribed motion that has been asked for
  double carried_motion = 0;  // that the held frames of state.twist have made
  std::size_t spans = 0;      // whose rank-one terms are taken in
  double element_force = 0;   // of the last assembly
  double load = 0;
  double outer_load = 0;                      // square of the largest load on a vertex
  const double* tension = nullptr;            // as the last linearisation foresaw it; null: as it is
  double per_angle = 0;                       // 1/B of an angle
  std::array<double, kMostSpans> coupling{};  // GJ / length of each span
  bool shifted = false;                       // the last matrix was not positive definite
  double shift = 0;                           // that made the matrix positive definite the last time
};

template <>
rod::BlockBand<1>& ImplicitStep::band<1>() noexcept {
  return band1_;
}
template <>
rod::BlockBand<3>& ImplicitStep::band<3>() noexcept {
  return band3_;
}
template <>
rod::BlockBand<4>& ImplicitStep::band<4>() noexcept {
  return band4_;
}

template <>
rod::BlockBand<1>& ImplicitStep::kept_band<1>() noexcept {
  return kept1_;
}
template <>
rod::BlockBand<3>& ImplicitStep::kept_band<3>() noexcept {
  return kept3_;
}
template <>
rod::BlockBand<4>& ImplicitStep::kept_band<4>() noexcept {
  return kept4_;
}

ImplicitStep::ImplicitStep(std::size_t most_vertices, std::size_t most_constraints, const rod::Twist& frames_like)
    : trial_(most_vertices),
      best_x_(most_vertices),
      start_force_(most_vertices),
      mobility_(3 * most_vertices),
      inertial_(3 * most_vertices),
      outer_(3 * most_vertices),
      reaction_(most_vertices),
      theta_(most_vertices),
      trial_theta_(most_vertices),
      theta0_(most_vertices),
      best_theta_(most_vertices),
      gradient_(4 * most_vertices),
      step_(4 * most_vertices),
      scratch_(8 * most_vertices),
      tension_(most_vertices),
      right_(4 * most_vertices * (1 + kMostSpans)),
      span_gradients_(3 * most_vertices * kMostSpans),
      responses_(most_constraints),
      fixed_(most_vertices),
      best_twist_(frames_like),
      base_(frames_like),
      trial_twist_(frames_like),
      band1_(most_vertices),
      band3_(most_vertices),
      band4_(most_vertices),
      kept1_(most_vertices),
      kept3_(most_vertices),
      kept4_(most_vertices) {}

// Frames as they are at x, starting from those at the start of the step, with the held ones moved. Where angles are
// unknowns they start from the last iterate's: the gradient is that of frames carried straight from there, and carried
// from elsewhere they turn by the area between both ways.
void ImplicitStep::carry(Problem& p, rod::Twist& twist, const std::vector<Vector3d>& x,
                         const std::vector<double>& theta) const noexcept {
  if (!p.framed) return;
  twist.carry(p.model.angles_unknown ? p.state.twist : base_, x);
  for (const HeldFrame& f : p.drive.frames) {
    const Vector3d t0 = base_.frame_tangent(f.vertex), d0 = base_.frame_director(f.vertex);
    const double from = p.model.angles_unknown ? p.carried_motion : 0.0;
    const double largest = (p.motion - from) * std::max(f.turn.norm(), std::abs(f.spin));
    const int parts = static_cast<int>(std::clamp(std::ceil(largest / kFollowedTurn), 1.0, kMostFollowed));
    for (int k = 1; k <= parts; ++k) {
      const double part = from + (p.motion - from) * k / parts;
      const Vector3d turn = part * f.turn;
      twist.set_frame(f.vertex, rotated(t0, turn), rotated(rotated(d0, part * f.spin * t0), turn));
    }
  }
  if (p.model.angles_unknown)
    for (std::size_t i = 0; i < p.model.edges(); ++i) twist.set_theta(i, theta[i]);
  else
    twist.find_spans(p.model.rest_length);
  if (&twist == &p.state.twist) p.carried_motion = p.motion;
}

void ImplicitStep::start_forces(Problem& p) noexcept {
  const double rest = 1.0 - p.settings.implicitness;
  std::fill_n(start_force_.begin(), p.model.vertices(), Vector3d::Zero());
  if (rest <= 0) return;
  const rod::Twist& start = p.framed ? base_ : p.state.twist;
  // Angles take part fully implicitly: they have no motion of their own to be explicit about.
  std::fill(gradient_.begin(), gradient_.end(), 0.0);
  if (p.model.angles_unknown)
    rod::add_elastic<4>(p.model, p.x0, start, rod::Hessian::none, rest, nullptr, gradient_.data(), nullptr);
  else
    rod::add_elastic<3>(p.model, p.x0, start, rod::Hessian::none, rest, nullptr, gradient_.data(), nullptr);
  const std::size_t d = p.model.angles_unknown ? 4 : 3;
  for (std::size_t i = 0; i < p.model.vertices(); ++i)
    start_force_[i] = -Eigen::Map<const Vector3d>(gradient_.data() + d * i);
}

// What does not change during a solve, of every vertex; of a component each, so that loops run straight through.
void ImplicitStep::prepare(Problem& p) noexcept {
  const double per_dt = 1.0 / p.settings.dt;
  for (std::size_t i = 0; i < p.model.vertices(); ++i) {
    const double b = p.model.mass[i] * per_dt * per_dt + (p.model.drag[i] + p.state.ease[i]) * per_dt;
    Eigen::Map<Vector3d>(mobility_.data() + 3 * i).setConstant(b);
    Eigen::Map<Vector3d>(inertial_.data() + 3 * i) = p.model.mass[i] / p.settings.dt * p.state.v[i];
    Eigen::Map<Vector3d>(outer_.data() + 3 * i) = p.drive.load[i] + start_force_[i];
    p.outer_load = std::max(p.outer_load, p.drive.load[i].squaredNorm());
  }
}

// The imbalance and, but for Hessian::none, its derivative in the band.
template <int D>
ImplicitStep::Imbalance ImplicitStep::assemble(Problem& p, rod::Hessian kind) noexcept {
  const bool derivative = kind != rod::Hessian::none;
  constexpr std::size_t stride = D == 1 ? 3 : D;  // of a vertex in gradient_
  const std::size_t n = p.model.vertices();
  const double lambda = p.settings.implicitness;
  rod::BlockBand<D>& a = band<D>();
  using Block = typename rod::BlockBand<D>::Block;
  if (derivative) a.restart(n, p.model.closed);
  const double *x = flat(p.state.x), *x0 = flat(p.x0);
  double largest_motion = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double square = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      const std::size_t r = 3 * i + c;
      const double motion = mobility_[r] * (x[r] - x0[r]) - inertial_[r];
      gradient_[stride * i + c] = motion - outer_[r];
      square += motion * motion;
    }
    largest_motion = square > largest_motion ? square : largest_motion;
  }
  p.load = std::max(largest_motion, p.outer_load);
  if constexpr (D == 4)
    for (std::size_t i = 0; i < n; ++i)
      gradient_[stride * i + 3] = i < p.model.edges() ? p.per_angle * (theta_[i] - theta0_[i]) : 0.0;
  if (derivative)
    for (std::size_t i = 0; i < n; ++i) {
      Eigen::Matrix<double, D, 1> diagonal = Eigen::Matrix<double, D, 1>::Constant(mobility_[3 * i]);
      if constexpr (D == 4) diagonal[3] = i < p.model.edges() ? p.per_angle : 1.0;
      a.add_diagonal(i, diagonal);
    }
  if constexpr (D == 1)
    p.element_force =
        rod::add_elastic_scalar(p.model, p.state.x, p.state.twist, lambda, gradient_.data(), derivative ? &a : nullptr);
  else
    p.element_force = rod::add_elastic<D>(p.model, p.state.x, p.state.twist, kind, lambda, p.tension, gradient_.data(),
                                          derivative ? &a : nullptr);
  p.load = std::max(std::sqrt(p.load), p.element_force);

  Imbalance out;
  for (std::size_t j = 0; j < p.count; ++j) {
    Constraint& c = p.constraints[j];
    const Response& r = responses_[j] = respond(c, place(p.state.x, c));
    p.load = std::max(p.load, r.force.norm());
    if (c.kind == Constraint::Kind::contact)
      out.multiplier = std::max(out.multiplier, (r.force - c.force).cwiseAbs().maxCoeff());
    if (!r.active) continue;
    const std::size_t next = behind(p.state.x, c);
    Eigen::Map<Vector3d>(gradient_.data() + stride * c.vertex) -= c.w0 * r.force;
    if (c.w1 != 0) Eigen::Map<Vector3d>(gradient_.data() + stride * next) -= c.w1 * r.force;
    if (!derivative) continue;
    Block k = Block::Zero();
    if constexpr (D == 1)
      k(0, 0) = c.k;
    else
      k.template topLeftCorner<3, 3>() = r.stiffness;
    a.add(c.vertex, c.w0 * c.w0 * k);
    if (c.w1 == 0) continue;
    a.add(next, c.vertex, c.w0 * c.w1 * k);
    a.add(next, c.w1 * c.w1 * k);
  }
  double sum = 0;  // a maximum would swallow a NaN
  for (std::size_t i = 0; i < n; ++i) {
    const Eigen::Map<const Vector3d> g(gradient_.data() + stride * i);
    sum += g.sum();
    if (!fixed_[i]) out.force = std::max(out.force, g.cwiseAbs().maxCoeff());
    if constexpr (D == 4)
      if (i < p.model.edges() && !p.state.twist.edge_held(i))
        out.force = std::max(out.force, std::abs(gradient_[stride * i + 3]) / p.model.rest_length);
  }
  out.finite = std::isfinite(sum);
  return out;
}

// Rows of what is held, in the band: value = value.
template <int D>
void ImplicitStep::fix_rows(const Problem& p) noexcept {
  constexpr std::size_t own = D == 1 ? 1 : D;
  rod::BlockBand<D>& a = band<D>();
  for (const HeldVertex& h : p.drive.held)
    for (std::size_t c = 0; c < (D == 1 ? 1 : 3); ++c) a.prescribe(own * h.vertex + c, 0.0, nullptr);
  if constexpr (D == 4)
    for (std::size_t i = 0; i < p.model.edges(); ++i)
      if (p.state.twist.edge_held(i)) a.prescribe(own * i + 3, 0.0, nullptr);
}

// The right-hand sides side by side: the imbalance (of the scalar band its three components) less what the prescribed
// motion brings about, then the gradients of the spans' angles. Needs the band as assembled; fixes its rows.
template <int D>
void ImplicitStep::right_hand_sides(Problem& p) noexcept {
  constexpr std::size_t stride = D == 1 ? 3 : D;  // scalars of a vertex in gradient_ and step_
  constexpr std::size_t own = D == 1 ? 1 : D;     // rows of a vertex in the band
  constexpr std::size_t sides = D == 1 ? 3 : 1;
  const std::size_t n = p.model.vertices(), rows = own * n;
  const std::size_t spans = D == 3 ? p.spans : 0, columns = sides + spans;
  rod::BlockBand<D>& a = band<D>();
  const auto prescribed_move = [&](const HeldVertex& h) -> Vector3d {
    return p.x0[h.vertex] + p.motion * (h.target - p.x0[h.vertex]) - p.state.x[h.vertex];
  };
  for (std::size_t r = 0; r < stride * n; ++r) step_[r] = -gradient_[r];
  for (std::size_t s = 0; s < spans; ++s) {
    double* g = span_gradients_.data() + s * rows;
    std::fill_n(g, rows, 0.0);
    rod::span_gradient(p.model, p.state.x, p.state.twist, s, g, 1, 0);
    double turned = 0;
    for (const HeldVertex& h : p.drive.held) turned += prescribed_move(h).dot(Eigen::Map<Vector3d>(g + 3 * h.vertex));
    if (turned != 0)
      for (std::size_t r = 0; r < rows; ++r) step_[r] -= p.coupling[s] * turned * g[r];
    for (const HeldVertex& h : p.drive.held) Eigen::Map<Vector3d>(g + 3 * h.vertex).setZero();
  }
  if constexpr (D == 1) {
    for (std::size_t c = 0; c < sides; ++c) {
      std::fill_n(scratch_.begin(), rows, 0.0);
      for (const HeldVertex& h : p.drive.held) scratch_[h.vertex] = prescribed_move(h)[static_cast<Eigen::Index>(c)];
      a.multiply(scratch_.data(), scratch_.data() + rows);
      for (std::size_t r = 0; r < rows; ++r) step_[r * sides + c] -= scratch_[rows + r];
      for (const HeldVertex& h : p.drive.held) step_[h.vertex * sides + c] = scratch_[h.vertex];
    }
    fix_rows<D>(p);
  } else {
    for (const HeldVertex& h : p.drive.held) {
      const Vector3d move = prescribed_move(h);
      for (std::size_t c = 0; c < 3; ++c)
        a.prescribe(own * h.vertex + c, move[static_cast<Eigen::Index>(c)], step_.data());
    }
    if constexpr (D == 4)
      for (std::size_t i = 0; i < p.model.edges(); ++i)
        if (p.state.twist.edge_held(i)) a.prescribe(own * i + 3, 0.0, step_.data());
  }
  if (spans == 0) return;  // they stand in step_ already
  for (std::size_t r = 0; r < rows; ++r) {
    double* row = right_.data() + r * columns;
    for (std::size_t c = 0; c < sides; ++c) row[c] = step_[r * sides + c];
    for (std::size_t s = 0; s < spans; ++s) row[sides + s] = span_gradients_[s * rows + r];
  }
}

// Factors; a matrix that is not positive definite is shifted, H + s I, s growing until it is. (A small shift keeps
// nearly all of the curvature: a thread that is about to buckle converges as fast as any.) False when that did not
// help.
template <int D>
bool ImplicitStep::factor(Problem& p) noexcept {
  rod::BlockBand<D>& a = band<D>();
  p.shifted = a.factor() > 0;
  if (!p.shifted) return true;
  assemble<D>(p, rod::Hessian::exact);
  fix_rows<D>(p);
  rod::BlockBand<D>& kept = kept_band<D>();
  kept = a;
  // What makes it indefinite is compression, N/l: of a thread that hardly bends that is far above EI/l^3.
  const double l = p.model.rest_length,
               least = kLeastShift * std::max(p.model.bend_stiffness / (l * l * l), p.load / l);
  double shift = std::max(p.shift / (kShiftGrowth * kShiftGrowth), least);
  for (int tries = 0; tries < kMostShifts; ++tries, shift *= kShiftGrowth) {
    if (tries > 0) a = kept;
    using Block = typename rod::BlockBand<D>::Block;
    Block diagonal = shift * Block::Identity();
    if constexpr (D == 4) diagonal(3, 3) *= l * l;
    for (std::size_t i = 0; i < p.model.vertices(); ++i)
      if (!fixed_[i]) a.add(i, diagonal);  // what is held moves as prescribed
    p.shift = shift;
    if (a.factor() == 0) return true;
  }
  return false;
}

// The Newton step. Of quasi-static twist (A + G C G^T)^-1 b = y - Z (C^-1 + G^T Z)^-1 G^T y, y = A^-1 b, Z = A^-1 G.
template <int D>
void ImplicitStep::solve_linear(Problem& p) noexcept {
  constexpr std::size_t own = D == 1 ? 1 : D, sides = D == 1 ? 3 : 1;
  const std::size_t rows = own * p.model.vertices();
  const std::size_t spans = D == 3 ? p.spans : 0, columns = sides + spans;
  band<D>().solve(spans > 0 ? right_.data() : step_.data(), columns);
  if (spans > 0) {
    const auto count = static_cast<Eigen::Index>(spans);
    SmallMatrix inner = SmallMatrix::Zero(count, count);
    SmallVector outer = SmallVector::Zero(count);
    for (std::size_t s = 0; s < spans; ++s) {
      const auto row = static_cast<Eigen::Index>(s);
      const double* g = span_gradients_.data() + s * rows;
      for (std::size_t r = 0; r < rows; ++r) {
        outer[row] += g[r] * right_[r * columns];
        for (std::size_t t = 0; t < spans; ++t)
          inner(row, static_cast<Eigen::Index>(t)) += g[r] * right_[r * columns + sides + t];
      }
      inner(row, row) += 1.0 / p.coupling[s];
    }
    const SmallVector share = inner.ldlt().solve(outer);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t s = 0; s < spans; ++s)
        right_[r * columns] -= share[static_cast<Eigen::Index>(s)] * right_[r * columns + sides + s];
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < sides; ++c) step_[r * sides + c] = right_[r * columns + c];
  }
}

// What inertia, drag and load are of Phi.
double ImplicitStep::excess(const Problem& p, const std::vector<Vector3d>& x) const noexcept {
  return sum_over(3 * p.model.vertices(), [&](const auto& load) {
    const auto moved = load(flat(x)) - load(flat(p.x0));
    return (0.5 * load(mobility_.data()) * moved - (load(inertial_.data()) + load(outer_.data()))) * moved;
  });
}

double ImplicitStep::merit(const Problem& p, const std::vector<Vector3d>& x, const rod::Twist& twist,
                           const std::vector<double>& theta) const noexcept {
  const double lambda = p.settings.implicitness;
  double sum = lambda * rod::elastic_energy(p.model, x, twist).sum();
  sum += excess(p, x);
  if (p.model.angles_unknown)
    for (std::size_t i = 0; i < p.model.edges(); ++i)
      sum += 0.5 * p.per_angle * (theta[i] - theta0_[i]) * (theta[i] - theta0_[i]);
  for (std::size_t j = 0; j < p.count; ++j)
    sum += potential(p.constraints[j], place(x, p.constraints[j]), responses_[j].bound);
  return sum;
}

// To the point of least merit that was seen, with frames carried there and tension as it is there.
void ImplicitStep::go_back(Problem& p) noexcept {
  const rod::RodModel& m = p.model;
  std::copy_n(best_x_.begin(), m.vertices(), p.state.x.begin());
  std::copy_n(best_theta_.begin(), m.vertices(), theta_.begin());
  p.tension = nullptr;
  if (m.angles_unknown) p.state.twist = best_twist_;
  carry(p, p.state.twist, p.state.x, theta_);
}

// The motion of a free thread as a whole is resisted by mass and drag alone, which are lost beside its stiffness in the
// sums of the band: of 1e9 and more between them little is left. Forces inside add up to nothing, and so do their
// moments: the motion as a whole can be balanced by itself, exactly; and beforehand, since Newton's method takes a
// stiff thread round a turn in many small steps.
void ImplicitStep::balance_whole(Problem& p, double most_turn) noexcept {
  const std::size_t n = p.model.vertices();
  const auto pull = [&](std::size_t i) -> Vector3d {
    return Eigen::Map<const Vector3d>(inertial_.data() + 3 * i) + Eigen::Map<const Vector3d>(outer_.data() + 3 * i);
  };
  double before = excess(p, p.state.x);  // without what the shape adds to it
  for (int round = 0; round < kMostWholeRounds; ++round) {
    double sum = 0;
    Vector3d force = Vector3d::Zero(), centre = Vector3d::Zero();
    for (std::size_t i = 0; i < n; ++i) {
      const double b = mobility_[3 * i];
      sum += b;
      force += pull(i) - b * (p.state.x[i] - p.x0[i]);
      centre += b * p.state.x[i];
    }
    if (!(sum > 0)) return;
    centre /= sum;
    Vector3d torque = Vector3d::Zero();
    Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();
    for (std::size_t i = 0; i < n; ++i) {
      const double b = mobility_[3 * i];
      const Vector3d arm = p.state.x[i] - centre;
      torque += arm.cross(pull(i) - b * (p.state.x[i] - p.x0[i]));
      inertia += b * (arm.squaredNorm() * Eigen::Matrix3d::Identity() - arm * arm.transpose());
    }
    inertia += 1e-12 * inertia.trace() * Eigen::Matrix3d::Identity();  // a straight thread has none about itself
    const Vector3d move = force / sum;
    Vector3d turn = inertia.ldlt().solve(torque);
    // Frames that are unknowns would have to turn along; a larger turn is not one of rounding.
    if (p.model.angles_unknown || !(turn.norm() <= most_turn)) turn.setZero();
    if (!std::isfinite(move.sum())) return;
    for (std::size_t i = 0; i < n; ++i) {
      trial_[i] = p.state.x[i];
      const Vector3d arm = p.state.x[i] - centre;
      p.state.x[i] += move + (rotated(arm, turn) - arm);
    }
    const double after = excess(p, p.state.x);
    if (after > before + kMeritNoise * (std::abs(before) + std::abs(after))) {
      std::copy_n(trial_.begin(), n, p.state.x.begin());
      return;
    }
    before = after;
    if (turn.norm() < kSmallWholeTurn) return;
  }
}

template <int D>
StepOutcome ImplicitStep::run(Problem& p) noexcept {
  constexpr std::size_t stride = D == 1 ? 3 : D;
  StepOutcome out;
  const rod::RodModel& model = p.model;
  rod::RodState& state = p.state;
  const std::size_t n = model.vertices();
  const double rounding = rounding_force(model, state.x);
  const double travel_limit = std::max(kTravelLimit, 0.1 * model.whole_length());

  // A prescribed motion of many edge lengths is gone in parts, each linearised anew.
  double furthest_held = 0;
  for (const HeldVertex& h : p.drive.held)
    furthest_held = std::max(furthest_held, (h.target - p.x0[h.vertex]).norm() / (kMotionPart * model.rest_length));
  for (const HeldFrame& f : p.drive.frames) furthest_held = std::max(furthest_held, f.turn.norm() / kTurnPart);
  const int parts = std::clamp(static_cast<int>(std::ceil(furthest_held)), 1,
                               std::min(kMostParts, std::max(1, p.settings.iterations / 2)));
  const bool prescribed = furthest_held > 0;

  Watch watch;
  bool stuck = false;  // no part of the last step would have let Phi fall
  bool still = false;  // the last solve moved nothing: what is left of the residual is force in stiff directions
  for (int iteration = 0;; ++iteration) {
    p.motion = std::min(1.0, static_cast<double>(iteration + 1) / parts);
    const bool moving = prescribed && iteration < parts;
    if (iteration > 0 || !p.drive.frames.empty())
      carry(p, state.twist, state.x, theta_);
    else if (p.framed && !model.angles_unknown)  // still where they were
      state.twist.find_spans(model.rest_length);
    p.spans = model.angles_unknown || !p.framed || !(model.twist_stiffness > 0)
                  ? 0
                  : std::min(kMostSpans, state.twist.span_count());
    for (std::size_t s = 0; s < p.spans; ++s)
      p.coupling[s] = p.settings.implicitness * model.twist_stiffness / state.twist.span(s).length;
    const bool last = still || iteration == p.settings.iterations;
    const Imbalance imbalance = assemble<D>(p, last ? rod::Hessian::none : rod::Hessian::exact);
    const double imbalanced = std::max(imbalance.force, imbalance.multiplier);
    const auto note = [&](const Imbalance& at) {
      out.load = p.load;
      const double worst = std::max(at.force, at.multiplier);
      out.residual = worst > rounding && p.load > 0 ? worst / p.load : 0.0;
    };
    note(imbalance);
    out.finite = imbalance.finite;
    if (!out.finite) return out;
    // What rounding hides of stretch may be all there is in the soft directions: at least one solve looks there.
    const double allowed = iteration == 0 ? 0.0 : p.settings.residual_target * p.load + rounding;
    // A solve that moved nothing leaves rounding in stiff directions; more than that is no equilibrium.
    if (still && imbalanced > kMostLeft * p.load + rounding) stuck = true;
    out.converged = !moving && !stuck && (still || imbalanced <= allowed);
    if (out.converged || stuck || iteration == p.settings.iterations) {
      // Trusted steps may have come to where Phi is not lower.
      if (watch.since >= 0 && (!out.converged || p.count == 0)) {
        const double here = merit(p, state.x, state.twist, theta_);
        if (here > watch.merit + (out.converged ? kMeritNoise * std::abs(here) : 0.0)) {
          go_back(p);
          if (out.converged && iteration < p.settings.iterations) {
            watch = {.since = -1, .strict = true};
            still = false;
            continue;
          }
          note(assemble<D>(p, rod::Hessian::none));
        }
      }
      if (!out.converged && p.count > 0 && shorten(model, p.x0, state.x)) {
        out.limited = true;
        carry(p, state.twist, state.x, theta_);
        note(assemble<D>(p, rod::Hessian::none));
      }
      if (p.count == 0 && p.drive.held.empty()) {
        balance_whole(p, kMostWholeTurn);
        carry(p, state.twist, state.x, theta_);
      }
      for (std::size_t i = 0; i < n; ++i) reaction_[i] = Eigen::Map<const Vector3d>(gradient_.data() + stride * i);
      return out;
    }

    right_hand_sides<D>(p);
    if (!factor<D>(p)) {
      assemble<D>(p, rod::Hessian::positive);
      right_hand_sides<D>(p);
      band<D>().factor();
    }
    solve_linear<D>(p);
    ++out.iterations;
    double sum = 0;  // a maximum would swallow a NaN
    double furthest = 0;
    double fraction = 1.0;
    for (std::size_t i = 0; i < n; ++i) {
      const Eigen::Map<const Vector3d> d(step_.data() + stride * i);
      sum += d.sum();
      furthest = std::max(furthest, d.cwiseAbs().maxCoeff());
      if (moving || !(d.squaredNorm() > travel_limit * travel_limit) || fixed_[i]) continue;
      // From where inertia alone would take it; shortened as a whole, so that the direction stays one of descent.
      const Eigen::Map<const Vector3d> inertial(inertial_.data() + 3 * i);
      const Vector3d from = state.x[i] - p.x0[i] - inertial / std::max(mobility_[3 * i], 1e-300);
      if ((from + d).norm() > travel_limit) fraction = std::min(fraction, travel_limit / d.norm());
    }
    if (!std::isfinite(sum)) return out.finite = false, out;
    if (fraction < 1.0) out.limited = true;

    const auto try_at = [&](double f) {
      for (std::size_t i = 0; i < n; ++i)
        trial_[i] = state.x[i] + f * Eigen::Map<const Vector3d>(step_.data() + stride * i);
      if constexpr (D == 4)
        for (std::size_t i = 0; i < model.edges(); ++i) trial_theta_[i] = theta_[i] + f * step_[stride * i + 3];
    };
    const bool careful = !moving && furthest > kSmallMove * model.rest_length;
    if (careful) {
      const double slope = std::min(  // of Phi along the step, negative
          sum_over(stride * n, [&](const auto& load) { return load(gradient_.data()) * load(step_.data()); }), 0.0);
      const double here = merit(p, state.x, state.twist, theta_), noise = kMeritNoise * std::abs(here);
      if (watch.since < 0 || here <= watch.merit + kArmijo * watch.slope + noise) {
        watch = {.since = 0, .strict = watch.strict, .merit = here, .slope = slope};
        std::copy_n(state.x.begin(), n, best_x_.begin());
        if constexpr (D == 4) std::copy_n(theta_.begin(), n, best_theta_.begin());
        if (model.angles_unknown) best_twist_ = state.twist;
      } else if (p.count == 0 && ++watch.since > kMostTrusted) {
        go_back(p);
        watch = {.since = -1, .strict = true};
        continue;
      }
      // Contacts move their multipliers, and Phi with them: there every step is held to its descent. So is one whose
      // Hessian had to be shifted: Phi has a ridge there, and a trusted step would run along it.
      const bool trusted = p.count == 0 && !watch.strict && !p.shifted;
      watch.strict = false;
      for (int halving = 0;; ++halving) {
        try_at(fraction);
        if (trusted) break;
        carry(p, trial_twist_, trial_, trial_theta_);
        const double after = merit(p, trial_, p.framed ? trial_twist_ : state.twist, trial_theta_);
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
    const bool assembles = iteration + 1 < p.settings.iterations;
    if (assembles) p.tension = tension_.data();
    for (std::size_t i = 0; assembles && i < model.edges();
         ++i) {  // tension as the linearisation sees it after the step
      const std::size_t j = model.next(i);
      const Vector3d e = state.x[j] - state.x[i], d = trial_[j] - trial_[i] - e;
      const double length = std::max(e.norm(), 1e-150);
      tension_[i] = model.stretch_stiffness * ((length + e.dot(d) / length) / model.rest_length - 1);
    }
    if (stuck) continue;  // Phi must not rise: the thread stays where it is
    std::copy_n(trial_.begin(), n, state.x.begin());
    if constexpr (D == 4) std::copy_n(trial_theta_.begin(), model.edges(), theta_.begin());
    if (moving)  // exactly, not to rounding
      for (const HeldVertex& h : p.drive.held)
        state.x[h.vertex] = p.motion == 1.0 ? h.target : p.x0[h.vertex] + p.motion * (h.target - p.x0[h.vertex]);

    still = !moving && fraction * furthest < kStill * model.rest_length;
    for (std::size_t j = 0; j < p.count; ++j) {
      const Constraint& c = p.constraints[j];
      Vector3d moved = c.w0 * Eigen::Map<const Vector3d>(step_.data() + stride * c.vertex);
      if (c.w1 != 0) moved += c.w1 * Eigen::Map<const Vector3d>(step_.data() + stride * behind(state.x, c));
      if (move_multiplier(p.constraints[j], responses_[j], fraction, moved, state.x)) still = false;
    }
  }
}

StepOutcome ImplicitStep::solve(const rod::RodModel& model, const std::vector<Vector3d>& x0, rod::RodState& state,
                                const Drive& drive, Constraint* constraints, std::size_t count,
                                const StepSettings& settings) noexcept {
  Problem p{model, x0, state, drive, constraints, count, settings};
  p.framed = rod::needs_frames(model, state.twist);
  trial_.resize(model.vertices());  // within the memory that was taken
  std::fill(fixed_.begin(), fixed_.end(), static_cast<unsigned char>(0));
  for (const HeldVertex& h : drive.held) fixed_[h.vertex] = 1;
  if (p.framed) base_ = trial_twist_ = state.twist;
  if (model.angles_unknown) {
    for (std::size_t i = 0; i < model.edges(); ++i) theta_[i] = theta0_[i] = state.twist.theta(i);
    // Angles that nothing resists would have no equilibrium: a little of the twisting stiffness stands in.
    p.per_angle = std::max({model.angle_drag / settings.dt, 1e-9 * model.twist_stiffness / model.rest_length, 1e-12});
  }
  start_forces(p);
  prepare(p);
  if (count == 0 && drive.held.empty()) {
    balance_whole(p, kMostGuessedTurn);
    carry(p, state.twist, state.x, theta_);
  }
  const StepOutcome out = model.angles_unknown ? run<4>(p) : settings.scalar ? run<1>(p) : run<3>(p);
  if (!out.finite) {
    std::copy(x0.begin(), x0.end(), state.x.begin());
    if (p.framed) state.twist = base_;
  } else if (p.framed && !model.angles_unknown) {
    state.twist.spread();
  }
  return out;
}

}  // namespace ligature::contact
