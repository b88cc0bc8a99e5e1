#include "sim/contact/thread_system.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>

#include "sim/contact/tolerances.hpp"
#include "sim/rod/lanes.hpp"

namespace ligature::contact {
namespace {

constexpr double kUpright = 1e-3;         // of an edge, its part along faces
constexpr std::size_t kMostColumns = 64;  // of one solve_window()
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

Vector3d rotated(const Vector3d& v, const Vector3d& by) {
  const double angle = by.norm();
  return angle > 0 ? Vector3d(Eigen::AngleAxisd(angle, by / angle) * v) : v;
}

}  // namespace

ThreadSystem::ThreadSystem(std::size_t most_vertices, std::size_t most_constraints, const rod::Twist& frames_like)
    : trial_(most_vertices),
      start_force_(most_vertices),
      mobility_(3 * most_vertices),
      inertial_(3 * most_vertices),
      outer_(3 * most_vertices),
      reaction_(most_vertices),
      theta_(most_vertices),
      theta0_(most_vertices),
      per_angle_(most_vertices),
      gradient_(4 * most_vertices),
      answer_(4 * most_vertices),
      step_(4 * most_vertices),
      scratch_(4 * most_vertices),
      tension_(most_vertices),
      span_gradients_(3 * most_vertices * kMostSpans),
      span_answers_(3 * most_vertices * kMostSpans),
      responses_(most_constraints),
      fixed_(most_vertices),
      gripped_(most_vertices),
      base_(frames_like),
      trial_twist_(frames_like),
      band1_(most_vertices),
      kept1_(most_vertices),
      band3_(most_vertices),
      kept3_(most_vertices),
      band4_(most_vertices),
      kept4_(most_vertices) {
  more_rounding_.reserve(most_vertices);
}

template <>
rod::BlockBand<1>& ThreadSystem::band<1>() noexcept {
  return band1_;
}
template <>
rod::BlockBand<3>& ThreadSystem::band<3>() noexcept {
  return band3_;
}
template <>
rod::BlockBand<4>& ThreadSystem::band<4>() noexcept {
  return band4_;
}

template <>
rod::BlockBand<1>& ThreadSystem::kept_band<1>() noexcept {
  return kept1_;
}
template <>
rod::BlockBand<3>& ThreadSystem::kept_band<3>() noexcept {
  return kept3_;
}
template <>
rod::BlockBand<4>& ThreadSystem::kept_band<4>() noexcept {
  return kept4_;
}

void ThreadSystem::begin(const StepProblem& problem, const StepSettings& settings) noexcept {
  p_ = problem;
  settings_ = settings;
  const rod::RodModel& model = *p_.model;
  dimension_ = model.angles_unknown ? 4 : settings.scalar ? 1 : 3;
  framed_ = rod::needs_frames(model, p_.state->twist);
  motion_ = 1;
  carried_motion_ = shift_ = outer_load_ = 0;
  tension_known_ = false;
  body_turn_.setZero();
  trial_.resize(model.vertices());  // within the memory that was taken
  std::fill(fixed_.begin(), fixed_.end(), static_cast<unsigned char>(0));
  for (const HeldVertex& h : p_.drive->held) fixed_[h.vertex] = 1;
  if (framed_) base_ = trial_twist_ = p_.state->twist;
  if (model.angles_unknown) {
    for (std::size_t i = 0; i < model.edges(); ++i) theta_[i] = theta0_[i] = p_.state->twist.theta(i);
    // Angles that nothing resists would have no equilibrium: a little of the twisting stiffness stands in.
    for (std::size_t i = 0; i < model.edges(); ++i)
      per_angle_[i] =
          std::max({model.edge_angle_drag(i) / settings.dt, 1e-9 * model.twist_stiffness / model.rest_length, 1e-12});
  }
  find_rounding();
  start_forces();
  prepare();
}

void ThreadSystem::undo() noexcept {
  std::copy(p_.x0->begin(), p_.x0->end(), p_.state->x.begin());
  if (framed_) p_.state->twist = base_;
}

void ThreadSystem::finish() noexcept {
  if (framed_ && !p_.model->angles_unknown) p_.state->twist.spread();
}

int ThreadSystem::motion_parts() const noexcept {
  double furthest = 0;
  for (const HeldVertex& h : p_.drive->held)
    furthest = std::max(furthest, (h.target - (*p_.x0)[h.vertex]).norm() / (kMotionPart * p_.model->rest_length));
  for (const HeldFrame& f : p_.drive->frames) furthest = std::max(furthest, f.turn.norm() / kTurnPart);
  return furthest > 0 ? std::clamp(static_cast<int>(std::ceil(furthest)), 1, kMostParts) : 0;
}

void ThreadSystem::place_held() noexcept {
  for (const HeldVertex& h : p_.drive->held)
    p_.state->x[h.vertex] = motion_ == 1.0 ? h.target : (*p_.x0)[h.vertex] + motion_ * (h.target - (*p_.x0)[h.vertex]);
}

void ThreadSystem::keep_reactions() noexcept {
  for (std::size_t i = 0; i < p_.model->vertices(); ++i)
    reaction_[i] = Eigen::Map<const Vector3d>(gradient_.data() + stride() * i);
}

// Forces are differences of coordinates times stiffnesses: below this, an imbalance is rounding.
double ThreadSystem::rounding_force() const noexcept {
  const Eigen::Map<const Eigen::ArrayXd> entries(flat(p_.state->x), static_cast<Eigen::Index>(3 * p_.state->x.size()));
  const double extent = std::max(0.0, entries.abs().maxCoeff());
  const double l = p_.model->rest_length;
  return 4 * std::numeric_limits<double>::epsilon() * extent *
         (2 * p_.model->stretch_stiffness / l + 16 * p_.model->bend_stiffness / (l * l * l));
}

// A stiffer section rounds more: what of that a soft one would not show is none of its imbalance.
void ThreadSystem::find_rounding() noexcept {
  const rod::RodModel& model = *p_.model;
  more_rounding_.clear();
  if (model.sections.empty()) return;
  const double l = model.rest_length, soft = rounding_force();
  const double unit =
      soft / (2 * model.stretch_stiffness / l + 16 * model.bend_stiffness / (l * l * l));  // of all stiffnesses
  for (std::size_t i = 0; i < model.vertices(); ++i) {
    double stiffest = 0;
    const std::size_t last = model.edges() - 1, from = i > 2 ? i - 2 : 0, to = std::min(i + 1, last);
    for (std::size_t e = from; e <= to; ++e)
      stiffest = std::max(stiffest, 2 * model.edge_stretch(e) / l + 16 * model.edge_bend(e) / (l * l * l));
    more_rounding_.push_back(std::max(0.0, unit * stiffest - soft));
  }
}

void ThreadSystem::find_frames(bool unmoved) noexcept {
  if (!unmoved || !p_.drive->frames.empty())
    carry_state();
  else if (framed_ && !p_.model->angles_unknown)
    p_.state->twist.find_spans(p_.model->rest_length);
  spans_ = p_.model->angles_unknown || !framed_ || !(p_.model->twist_stiffness > 0)
               ? 0
               : std::min(kMostSpans, p_.state->twist.span_count());
  for (std::size_t s = 0; s < spans_; ++s)
    coupling_[s] = settings_.implicitness * p_.model->twist_stiffness / p_.state->twist.span(s).length;
}

void ThreadSystem::foresee_tension(const std::vector<Vector3d>& x) noexcept {
  const rod::RodModel& model = *p_.model;
  for (std::size_t i = 0; i < model.edges(); ++i) {
    const std::size_t j = model.next(i);
    const Vector3d e = p_.state->x[j] - p_.state->x[i], d = x[j] - x[i] - e;
    const double length = std::max(e.norm(), 1e-150);
    // Where a stiff section turned as a body its shape says how it is strained.
    const bool turned = !body_turn_.isZero(0) && i >= model.sections.body_first && i < model.sections.body_last;
    const double then = turned ? (x[j] - x[i]).norm() : length + e.dot(d) / length;
    tension_[i] = model.edge_stretch(i) * (then / model.edge_length(i) - 1);
  }
  tension_known_ = true;
}

double ThreadSystem::slope() const noexcept {
  return sum_over(stride() * p_.model->vertices(),
                  [&](const auto& load) { return load(gradient_.data()) * load(step_.data()); });
}

double ThreadSystem::merit_at(const std::vector<Vector3d>& x, const std::vector<double>& theta) noexcept {
  carry(trial_twist_, x, theta);
  return merit(x, framed_ ? trial_twist_ : p_.state->twist, theta);
}

// Frames as they are at x, starting from those at the start of the step, with the held ones moved. Where angles are
// unknowns they start from the last iterate's: the gradient is that of frames carried straight from there, and carried
// from elsewhere they turn by the area between both ways.
void ThreadSystem::carry(rod::Twist& twist, const std::vector<Vector3d>& x, const std::vector<double>& theta) noexcept {
  if (!framed_) return;
  twist.carry(p_.model->angles_unknown ? p_.state->twist : base_, x);
  for (const HeldFrame& f : p_.drive->frames) {
    const Vector3d t0 = base_.frame_tangent(f.vertex), d0 = base_.frame_director(f.vertex);
    const double from = p_.model->angles_unknown ? carried_motion_ : 0.0;
    const double largest = (motion_ - from) * std::max(f.turn.norm(), std::abs(f.spin));
    const int parts = static_cast<int>(std::clamp(std::ceil(largest / kFollowedTurn), 1.0, kMostFollowed));
    for (int k = 1; k <= parts; ++k) {
      const double part = from + (motion_ - from) * k / parts;
      const Vector3d turn = part * f.turn;
      twist.set_frame(f.vertex, rotated(t0, turn), rotated(rotated(d0, part * f.spin * t0), turn));
    }
  }
  if (p_.model->angles_unknown)
    for (std::size_t i = 0; i < p_.model->edges(); ++i) twist.set_theta(i, theta[i]);
  else
    twist.find_spans(p_.model->rest_length);
  if (&twist == &p_.state->twist) carried_motion_ = motion_;
}

void ThreadSystem::start_forces() noexcept {
  const double rest = 1.0 - settings_.implicitness;
  std::fill_n(start_force_.begin(), p_.model->vertices(), Vector3d::Zero());
  if (rest <= 0) return;
  const rod::Twist& start = framed_ ? base_ : p_.state->twist;
  // Angles take part fully implicitly: they have no motion of their own to be explicit about.
  std::fill(gradient_.begin(), gradient_.end(), 0.0);
  if (p_.model->angles_unknown)
    rod::add_elastic<4>(*p_.model, *p_.x0, start, rod::Hessian::none, rest, nullptr, gradient_.data(), nullptr);
  else
    rod::add_elastic<3>(*p_.model, *p_.x0, start, rod::Hessian::none, rest, nullptr, gradient_.data(), nullptr);
  const std::size_t d = p_.model->angles_unknown ? 4 : 3;
  for (std::size_t i = 0; i < p_.model->vertices(); ++i)
    start_force_[i] = -Eigen::Map<const Vector3d>(gradient_.data() + d * i);
}

// What does not change during a solve, of every vertex; of a component each, so that loops run straight through.
void ThreadSystem::prepare() noexcept {
  const double per_dt = 1.0 / settings_.dt;
  for (std::size_t i = 0; i < p_.model->vertices(); ++i) {
    const double b = p_.model->mass[i] * per_dt * per_dt + (p_.model->drag[i] + p_.state->ease[i]) * per_dt;
    Eigen::Map<Vector3d>(mobility_.data() + 3 * i).setConstant(b);
    Eigen::Map<Vector3d>(inertial_.data() + 3 * i) = p_.model->mass[i] / settings_.dt * p_.state->v[i];
    Eigen::Map<Vector3d>(outer_.data() + 3 * i) = p_.drive->load[i] + start_force_[i];
    outer_load_ = std::max(outer_load_, p_.drive->load[i].squaredNorm());
  }
}

// The imbalance and, but for Hessian::none, its derivative in the band.
template <int D>
ThreadSystem::Imbalance ThreadSystem::assemble_as(rod::Hessian kind) noexcept {
  const bool derivative = kind != rod::Hessian::none;
  string_by_foresight_ = tension_known_ && kind == rod::Hessian::exact;
  constexpr std::size_t stride = D == 1 ? 3 : D;  // of a vertex in gradient_
  const std::size_t n = p_.model->vertices();
  const double lambda = settings_.implicitness;
  rod::BlockBand<D>& a = band<D>();
  using Block = typename rod::BlockBand<D>::Block;
  if (derivative) a.restart(n, p_.model->closed, middle_);
  const double *x = flat(p_.state->x), *x0 = flat(*p_.x0);
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
  load_ = std::max(largest_motion, outer_load_);
  if constexpr (D == 4)
    for (std::size_t i = 0; i < n; ++i)
      gradient_[stride * i + 3] = i < p_.model->edges() ? per_angle_[i] * (theta_[i] - theta0_[i]) : 0.0;
  if (derivative)
    for (std::size_t i = 0; i < n; ++i) {
      Eigen::Matrix<double, D, 1> diagonal = Eigen::Matrix<double, D, 1>::Constant(mobility_[3 * i]);
      if constexpr (D == 4) diagonal[3] = i < p_.model->edges() ? per_angle_[i] : 1.0;
      a.add_diagonal(i, diagonal);
    }
  if constexpr (D == 1)
    element_force_ = rod::add_elastic_scalar(*p_.model, p_.state->x, p_.state->twist, lambda, gradient_.data(),
                                             derivative ? &a : nullptr);
  else
    element_force_ =
        rod::add_elastic<D>(*p_.model, p_.state->x, p_.state->twist, kind, lambda,
                            tension_known_ ? tension_.data() : nullptr, gradient_.data(), derivative ? &a : nullptr);
  load_ = std::max(std::sqrt(load_), element_force_);

  find_leaving();
  Imbalance out;
  for (std::size_t j = 0; j < p_.count; ++j) {
    Constraint& c = p_.constraints[j];
    const Response& r = responses_[j] = respond(c, place(p_.state->x, c));
    load_ = std::max(load_, r.force.norm());
    if (c.kind == Constraint::Kind::contact)
      out.multiplier = std::max(out.multiplier, (r.force - c.force).cwiseAbs().maxCoeff());
    if (!r.active) continue;
    const std::size_t next = behind(p_.state->x, c);
    Eigen::Map<Vector3d>(gradient_.data() + stride * c.vertex) -= c.w0 * r.force;
    if (c.w1 != 0) Eigen::Map<Vector3d>(gradient_.data() + stride * next) -= c.w1 * r.force;
    if (!derivative) continue;
    Block k = Block::Zero();
    if constexpr (D == 1)
      k(0, 0) = c.kind == Constraint::Kind::grip ? c.stiffer * c.k : c.k;
    else
      k.template topLeftCorner<3, 3>() = r.stiffness;
    a.add(c.vertex, c.w0 * c.w0 * k);
    if (c.w1 == 0) continue;
    a.add(next, c.vertex, c.w0 * c.w1 * k);
    a.add(next, c.w1 * c.w1 * k);
  }
  const Imbalance balance = imbalance();
  out.force = balance.force;
  out.finite = balance.finite;
  return out;
}

// What the vertices from the outermost one to the middle of those between the faces are pressed by to the side of the
// normal. Not by the outermost alone: as a lever, a strand that leaves aslant presses the next ones to the other side.
double ThreadSystem::pressed_at_end(std::size_t vertex, bool ahead) const noexcept {
  double sum = 0;
  std::size_t count = 0;
  const auto pressed = [&](std::size_t i) { return -across_faces(p_.constraints[gripped_[i] - 1], p_.state->x[i]); };
  for (std::size_t i = vertex; i != kNoVertex && gripped_[i] && count < p_.count; i = beside(i, !ahead)) ++count;
  for (std::size_t k = 0, i = vertex; k < (count + 1) / 2; ++k, i = beside(i, !ahead))
    sum += (2 * k + 1 == count && count > 1 ? 0.5 : 1) * pressed(i);
  return sum;
}

// The strand that leaves the faces there, if one does.
Leaving ThreadSystem::leaving_at(const Constraint& c, bool ahead) const noexcept {
  const std::vector<Vector3d>& x = p_.state->x;
  const rod::Sections& s = p_.model->sections;
  const std::size_t next = beside(c.vertex, ahead), inner = beside(c.vertex, !ahead);
  if (next == kNoVertex || gripped_[next]) return {};
  if (s.body_last > s.body_first && next >= s.body_first && next <= s.body_last) return {};
  const Vector3d edge = x[next] - x[c.vertex];
  const double length = edge.norm(), lift = edge.dot(c.normal) / length;
  Leaving out;
  Vector3d along = edge - edge.dot(c.normal) * c.normal;
  out.angle = std::asin(std::min(1.0, std::abs(lift)));
  const bool alone = inner == kNoVertex || !gripped_[inner];
  // Straight away from the faces it tells nothing of where along them it came from.
  if (const Vector3d run = alone ? along : x[c.vertex] - x[inner];
      run.dot(along) < 0 || (!alone && along.norm() < kUpright * length))
    along = run - run.dot(c.normal) * c.normal, out.angle = std::numbers::pi / 2;
  if (const double size = along.norm(); size > 0) out.along = along / size;
  if (alone && inner != kNoVertex) {
    const std::size_t e = ahead ? c.vertex : next;
    out.press = std::max(0.0, p_.model->edge_stretch(e) * (length / p_.model->edge_length(e) - 1)) * std::abs(lift);
  } else {
    out.press = std::max(0.0, pressed_at_end(c.vertex, ahead) * (lift < 0 ? -1 : 1));
  }
  return out;
}

// How the thread leaves the faces, at the outermost of the vertices that a holder has between them.
void ThreadSystem::find_leaving() noexcept {
  std::uint32_t holders = 0;
  const auto grips = [&](const auto& do_for) {
    for (std::size_t j = 0; j < p_.count; ++j)
      if (p_.constraints[j].kind == Constraint::Kind::grip) do_for(p_.constraints[j], j);
  };
  grips([&](Constraint& c, std::size_t) { c.leaving = {}, holders = std::max(holders, c.holder + 1); });
  for (std::uint32_t holder = 0; holder < holders; ++holder) {
    const auto runs_on = [&](const Constraint& c) { return c.holder == holder && c.bends && c.settled; };
    grips([&](const Constraint& c, std::size_t j) {
      if (runs_on(c)) gripped_[c.vertex] = j + 1;
    });
    grips([&](Constraint& c, std::size_t) {
      if (runs_on(c)) c.leaving = {leaving_at(c, false), leaving_at(c, true)};
    });
    grips([&](const Constraint& c, std::size_t) { gripped_[c.vertex] = 0; });
  }
}

ThreadSystem::Imbalance ThreadSystem::imbalance() const noexcept {
  Imbalance out;
  double sum = 0;  // a maximum would swallow a NaN
  for (std::size_t i = 0; i < p_.model->vertices(); ++i) {
    const Eigen::Map<const Vector3d> g(gradient_.data() + stride() * i);
    sum += g.sum();
    const double more = more_rounding_.empty() ? 0.0 : more_rounding_[i];
    if (!fixed_[i]) out.force = std::max(out.force, g.cwiseAbs().maxCoeff() - more);
    if (dimension_ == 4 && i < p_.model->edges() && !p_.state->twist.edge_held(i))
      out.force = std::max(out.force, std::abs(gradient_[4 * i + 3]) / p_.model->rest_length - more);
  }
  out.finite = std::isfinite(sum);
  return out;
}

// Rows of what is held, in the band: value = value.
template <int D>
void ThreadSystem::fix_rows() noexcept {
  constexpr std::size_t own = D == 1 ? 1 : D;
  rod::BlockBand<D>& a = band<D>();
  for (const HeldVertex& h : p_.drive->held)
    for (std::size_t c = 0; c < (D == 1 ? 1 : 3); ++c) a.prescribe(own * h.vertex + c, 0.0, nullptr);
  if constexpr (D == 4)
    for (std::size_t i = 0; i < p_.model->edges(); ++i)
      if (p_.state->twist.edge_held(i)) a.prescribe(own * i + 3, 0.0, nullptr);
}

// The right-hand side: the imbalance (of the scalar band its three components) less what the prescribed motion brings
// about; and the gradients of the spans' angles. Needs the band as assembled; fixes its rows.
template <int D>
void ThreadSystem::right_hand_sides() noexcept {
  constexpr std::size_t stride = D == 1 ? 3 : D;  // scalars of a vertex in gradient_ and answer_
  constexpr std::size_t own = D == 1 ? 1 : D;     // rows of a vertex in the band
  constexpr std::size_t sides = D == 1 ? 3 : 1;
  const std::size_t n = p_.model->vertices(), rows = own * n;
  const std::size_t spans = D == 3 ? spans_ : 0;
  rod::BlockBand<D>& a = band<D>();
  const auto prescribed_move = [&](const HeldVertex& h) -> Vector3d {
    return (*p_.x0)[h.vertex] + motion_ * (h.target - (*p_.x0)[h.vertex]) - p_.state->x[h.vertex];
  };
  for (std::size_t r = 0; r < stride * n; ++r) answer_[r] = -gradient_[r];
  for (std::size_t s = 0; s < spans; ++s) {
    double* g = span_gradients_.data() + s * rows;
    std::fill_n(g, rows, 0.0);
    rod::span_gradient(*p_.model, p_.state->x, p_.state->twist, s, g, 1, 0);
    double turned = 0;
    for (const HeldVertex& h : p_.drive->held) turned += prescribed_move(h).dot(Eigen::Map<Vector3d>(g + 3 * h.vertex));
    if (turned != 0)
      for (std::size_t r = 0; r < rows; ++r) answer_[r] -= coupling_[s] * turned * g[r];
    for (const HeldVertex& h : p_.drive->held) Eigen::Map<Vector3d>(g + 3 * h.vertex).setZero();
  }
  if constexpr (D == 1) {
    for (std::size_t c = 0; c < sides; ++c) {
      std::fill_n(scratch_.begin(), rows, 0.0);
      for (const HeldVertex& h : p_.drive->held) scratch_[h.vertex] = prescribed_move(h)[static_cast<Eigen::Index>(c)];
      a.multiply(scratch_.data(), scratch_.data() + rows);
      for (std::size_t r = 0; r < rows; ++r) answer_[r * sides + c] -= scratch_[rows + r];
      for (const HeldVertex& h : p_.drive->held) answer_[h.vertex * sides + c] = scratch_[h.vertex];
    }
    fix_rows<D>();
  } else {
    for (const HeldVertex& h : p_.drive->held) {
      const Vector3d move = prescribed_move(h);
      for (std::size_t c = 0; c < 3; ++c)
        a.prescribe(own * h.vertex + c, move[static_cast<Eigen::Index>(c)], answer_.data());
    }
    if constexpr (D == 4)
      for (std::size_t i = 0; i < p_.model->edges(); ++i)
        if (p_.state->twist.edge_held(i)) a.prescribe(own * i + 3, 0.0, answer_.data());
  }
}

// Factors; a matrix that is not positive definite is shifted, H + s I, s growing until it is. (A small shift keeps
// nearly all of the curvature: a thread that is about to buckle converges as fast as any.) False when that did not
// help.
template <int D>
bool ThreadSystem::factor(double drag) noexcept {
  using Block = typename rod::BlockBand<D>::Block;
  rod::BlockBand<D>& a = band<D>();
  const double l = p_.model->rest_length;
  const auto add_shift = [&](double shift) {
    Block diagonal = shift * Block::Identity();
    if constexpr (D == 4) diagonal(3, 3) *= l * l;
    for (std::size_t i = 0; i < p_.model->vertices(); ++i)
      if (!fixed_[i]) a.add(i, diagonal);  // what is held moves as prescribed
  };
  const auto add_drag = [&] {
    if (drag > 0) add_shift(drag);
    if (!own_drag_) return;
    for (std::size_t i = 0; i < p_.model->vertices(); ++i) {
      if (fixed_[i] || !(own_drag_[i] > 0)) continue;
      Block diagonal = own_drag_[i] * Block::Identity();
      if constexpr (D == 4) diagonal(3, 3) = 0;
      a.add(i, diagonal);
    }
  };
  add_drag();
  shifted_ = a.factor() > 0;
  if (!shifted_) return true;
  std::copy_n(gradient_.begin(), stride() * p_.model->vertices(), scratch_.begin());  // with what was pushed
  // Among contacts what is compressed is a place or two in a knot, and a shift that is enough there would hold a free
  // end of the thread fast: there the compression is left out instead.
  if (own_drag_) {
    assemble_as<D>(rod::Hessian::positive);
    std::copy_n(scratch_.begin(), stride() * p_.model->vertices(), gradient_.begin());
    right_hand_sides<D>();
    add_drag();
    if (a.factor() == 0) return true;
    std::copy_n(gradient_.begin(), stride() * p_.model->vertices(), scratch_.begin());
  }
  assemble_as<D>(rod::Hessian::exact);
  std::copy_n(scratch_.begin(), stride() * p_.model->vertices(), gradient_.begin());
  fix_rows<D>();
  add_drag();
  rod::BlockBand<D>& kept = kept_band<D>();
  kept = a;
  // What makes it indefinite is compression, N/l: of a thread that hardly bends that is far above EI/l^3.
  const double least = kLeastShift * std::max(p_.model->bend_stiffness / (l * l * l), load_ / l);
  double shift = std::max({shift_ / (kShiftGrowth * kShiftGrowth), least, drag});
  for (int tries = 0; tries < kMostShifts; ++tries, shift *= kShiftGrowth) {
    if (tries > 0) a = kept;
    add_shift(shift);
    shift_ = shift;
    if (a.factor() == 0) return true;
  }
  return false;
}

// Of quasi-static twist (A + G C G^T)^-1 b = y - Z (C^-1 + G^T Z)^-1 G^T y, y = A^-1 b, Z = A^-1 G.
template <int D>
void ThreadSystem::linearise_as(double drag) noexcept {
  right_hand_sides<D>();
  if (!factor<D>(drag)) {
    std::copy_n(gradient_.begin(), stride() * p_.model->vertices(), scratch_.begin());
    assemble_as<D>(rod::Hessian::positive);
    std::copy_n(scratch_.begin(), stride() * p_.model->vertices(), gradient_.begin());
    right_hand_sides<D>();
    band<D>().factor();
  }
  if (D != 3 || spans_ == 0) return;
  const std::size_t rows = 3 * p_.model->vertices();
  for (std::size_t s = 0; s < spans_; ++s)
    for (std::size_t r = 0; r < rows; ++r) span_answers_[r * spans_ + s] = span_gradients_[s * rows + r];
  band<D>().solve(span_answers_.data(), spans_);
  const auto count = static_cast<Eigen::Index>(spans_);
  SmallMatrix inner = SmallMatrix::Zero(count, count);
  for (std::size_t s = 0; s < spans_; ++s) {
    const auto row = static_cast<Eigen::Index>(s);
    const double* g = span_gradients_.data() + s * rows;
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t t = 0; t < spans_; ++t)
        inner(row, static_cast<Eigen::Index>(t)) += g[r] * span_answers_[r * spans_ + t];
    inner(row, row) += 1.0 / coupling_[s];
  }
  Eigen::Map<SmallMatrix>(inner_.data(), count, count) = inner.ldlt().solve(SmallMatrix::Identity(count, count));
}

template <int D>
void ThreadSystem::solve_as() noexcept {
  const std::size_t rows = 3 * p_.model->vertices();
  std::copy_n(answer_.begin(), stride() * p_.model->vertices(), step_.begin());
  band<D>().solve(step_.data(), D == 1 ? 3 : 1);
  if (D != 3 || spans_ == 0) return;
  const auto count = static_cast<Eigen::Index>(spans_);
  SmallVector outer = SmallVector::Zero(count);
  for (std::size_t s = 0; s < spans_; ++s) {
    const double* g = span_gradients_.data() + s * rows;
    for (std::size_t r = 0; r < rows; ++r) outer[static_cast<Eigen::Index>(s)] += g[r] * step_[r];
  }
  const SmallVector share = Eigen::Map<const SmallMatrix>(inner_.data(), count, count) * outer;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t s = 0; s < spans_; ++s)
      step_[r] -= share[static_cast<Eigen::Index>(s)] * span_answers_[r * spans_ + s];
}

ThreadSystem::Imbalance ThreadSystem::assemble(rod::Hessian kind) noexcept {
  return dimension_ == 4 ? assemble_as<4>(kind) : dimension_ == 1 ? assemble_as<1>(kind) : assemble_as<3>(kind);
}

void ThreadSystem::linearise(double drag, const double* own_drag) noexcept {
  own_drag_ = own_drag;
  dimension_ == 4 ? linearise_as<4>(drag) : dimension_ == 1 ? linearise_as<1>(drag) : linearise_as<3>(drag);
}

void ThreadSystem::widen(std::size_t& first, std::size_t& last) const noexcept {
  dimension_ == 4 ? band4_.widen(first, last) : dimension_ == 1 ? band1_.widen(first, last) : band3_.widen(first, last);
}

// Of quasi-static twist as in solve_as: G^T A^-1 b = Z^T b.
void ThreadSystem::solve_window(double* b, std::size_t count, std::size_t first, std::size_t last) const noexcept {
  // What is prescribed answers to no force.
  for (const HeldVertex& h : p_.drive->held) {
    const bool inside = first <= last ? h.vertex >= first && h.vertex <= last : h.vertex >= first || h.vertex <= last;
    if (!inside) continue;
    const std::size_t row = stride() * (h.vertex >= first ? h.vertex - first : h.vertex + p_.model->vertices() - first);
    std::fill_n(b + row * count, 3 * count, 0.0);
  }
  if (dimension_ == 4) {
    const std::size_t edges = p_.model->edges(), n = p_.model->vertices();
    for (std::size_t v = first, row = 0;; v = v + 1 == n ? 0 : v + 1, row += 4) {
      if (v < edges && p_.state->twist.edge_held(v)) std::fill_n(b + (row + 3) * count, count, 0.0);
      if (v == last) break;
    }
    return band4_.solve_window(b, count, first, last);
  }
  if (dimension_ == 1) return band1_.solve_window(b, 3 * count, first, last);
  if (spans_ == 0) return band3_.solve_window(b, count, first, last);
  const std::size_t n = p_.model->vertices(), rows = 3 * (first <= last ? last - first + 1 : last + n - first + 1);
  const auto answer = [&](std::size_t row, std::size_t s) {  // Z, of a window that may go round
    std::size_t r = 3 * first + row;
    if (r >= 3 * n) r -= 3 * n;
    return span_answers_[r * spans_ + s];
  };
  assert(count <= kMostColumns);
  std::array<double, kMostSpans * kMostColumns> turned;
  std::fill_n(turned.begin(), spans_ * count, 0.0);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t s = 0; s < spans_; ++s)
      for (std::size_t k = 0; k < count; ++k) turned[s * count + k] += answer(r, s) * b[r * count + k];
  band3_.solve_window(b, count, first, last);
  std::array<double, kMostSpans * kMostColumns> share;
  std::fill_n(share.begin(), spans_ * count, 0.0);
  for (std::size_t s = 0; s < spans_; ++s)
    for (std::size_t t = 0; t < spans_; ++t)
      for (std::size_t k = 0; k < count; ++k) share[s * count + k] += inner_[t * spans_ + s] * turned[t * count + k];
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t s = 0; s < spans_; ++s)
      for (std::size_t k = 0; k < count; ++k) b[r * count + k] -= answer(r, s) * share[s * count + k];
}

// As solve_window(), from both sides: A^-1 - Z inner Z^T, and what is prescribed answers to no force.
bool ThreadSystem::couple(rod::ContactSide* sides, std::size_t count, std::size_t contacts, double* w,
                          std::size_t stride, double* work) const noexcept {
  static_assert(rod::BlockBand<4>::work_of_couple(1, 4) <= work_of_couple(1, 4) &&
                rod::BlockBand<4>::work_of_couple(1000, 4) <= work_of_couple(1000, 4) &&
                rod::BlockBand<4>::work_of_couple(1000, 9000) <= work_of_couple(1000, 9000) && 2 * kMostSpans <= 48);
  if (dimension_ == 1) return false;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t e = 0; e < 3; ++e)
      if (fixed_[sides[i].first + e]) sides[i].weight[e] = 0;
  if (dimension_ == 4)
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t e = 0; e < 3; ++e)
        if (sides[i].turn[e] != 0 && p_.state->twist.edge_held(sides[i].first + e)) sides[i].turn[e] = 0;
  if (dimension_ == 4) return band4_.couple(sides, count, contacts, w, stride, work);
  if (!band3_.couple(sides, count, contacts, w, stride, work)) return false;
  if (spans_ == 0) return true;
  double *turned = work, *share = work + spans_ * stride;
  std::fill_n(turned, 2 * spans_ * stride, 0.0);
  for (std::size_t i = 0; i < count; ++i) {
    const rod::ContactSide& side = sides[i];
    for (std::size_t s = 0; s < spans_; ++s)
      for (std::size_t a = 0; a < 3; ++a) {
        double sum = 0;
        for (std::size_t e = 0; e < 3; ++e)
          for (std::size_t c = 0; c < 3; ++c)
            sum += side.weight[e] * span_answers_[(3 * (side.first + e) + c) * spans_ + s] * side.axes[3 * a + c];
        turned[s * stride + 3 * side.contact + a] += sum;
      }
  }
  for (std::size_t s = 0; s < spans_; ++s)
    for (std::size_t t = 0; t < spans_; ++t)
      for (std::size_t c = 0; c < 3 * contacts; ++c)
        share[s * stride + c] -= inner_[t * spans_ + s] * turned[t * stride + c];
  rod::add_outer(w, stride, 3 * contacts, turned, share, spans_);
  return true;
}

void ThreadSystem::solve() noexcept {
  dimension_ == 4 ? solve_as<4>() : dimension_ == 1 ? solve_as<1>() : solve_as<3>();
  find_body_turn();
}

// The turn that fits best what the section's vertices do about the one where the thread begins, which goes straight.
void ThreadSystem::find_body_turn() noexcept {
  const rod::Sections& s = p_.model->sections;
  body_turn_.setZero();
  if (s.body_last == s.body_first || dimension_ != 4) return;
  body_pivot_ = s.body_first == 0 ? s.body_last : s.body_first;
  for (std::size_t i = s.body_first; i <= s.body_last; ++i)
    if (fixed_[i]) return;  // led: the mixed formulation takes it there as well
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();
  Vector3d momentum = Vector3d::Zero();
  for (std::size_t i = s.body_first; i <= s.body_last; ++i) {
    const Vector3d arm = p_.state->x[i] - p_.state->x[body_pivot_];
    momentum += arm.cross(step_of(i) - step_of(body_pivot_));
    inertia += arm.squaredNorm() * Eigen::Matrix3d::Identity() - arm * arm.transpose();
  }
  inertia += 1e-9 * inertia.trace() * Eigen::Matrix3d::Identity();  // a straight one has none about itself
  const Vector3d turn = inertia.ldlt().solve(momentum);
  if (turn.norm() <= kMostGuessedTurn) body_turn_ = turn;
}

void ThreadSystem::place_by(double fraction, std::vector<Vector3d>& x) const noexcept {
  const std::vector<Vector3d>& from = p_.state->x;
  const std::size_t n = p_.model->vertices();
  for (std::size_t i = 0; i < n; ++i) x[i] = from[i] + fraction * step_of(i);
  if (body_turn_.isZero(0)) return;
  const rod::Sections& s = p_.model->sections;
  const Eigen::AngleAxisd by(fraction * body_turn_.norm(), body_turn_.normalized());
  for (std::size_t i = s.body_first; i <= s.body_last; ++i) {
    const Vector3d arm = from[i] - from[body_pivot_];
    const Vector3d strain = step_of(i) - step_of(body_pivot_) - body_turn_.cross(arm);
    x[i] = x[body_pivot_] + by * (arm + fraction * strain);
  }
}

// Angles count from frames that are carried straight to where the tangent goes: what a turn adds to that is its own
// turn about the tangent (swing and twist). To first order that is in the step already.
double ThreadSystem::theta_by(double fraction, std::size_t edge) const noexcept {
  const double straight = theta_[edge] + fraction * step_[4 * edge + 3];
  const rod::Sections& s = p_.model->sections;
  if (body_turn_.isZero(0) || edge < s.body_first || edge >= s.body_last || p_.state->twist.edge_held(edge))
    return straight;
  const Vector3d along = (p_.state->x[edge + 1] - p_.state->x[edge]).normalized(), turn = fraction * body_turn_;
  const double angle = turn.norm(), spin = turn.dot(along);
  if (!(angle > 0)) return straight;
  return straight - spin + 2 * std::atan2(std::sin(0.5 * angle) * spin / angle, std::cos(0.5 * angle));
}

template <int D>
void ThreadSystem::stiffen_as(const std::uint32_t* vertex, const double* weight, const Vector3d& n) noexcept {
  using Block = typename rod::BlockBand<D>::Block;
  Block outer = Block::Zero();
  if constexpr (D == 1)
    outer(0, 0) = n.squaredNorm();
  else
    outer.template topLeftCorner<3, 3>() = n * n.transpose();
  for (int i = 0; i < 3; ++i) {
    if (weight[i] == 0) continue;
    for (int j = 0; j <= i; ++j) {
      if (weight[j] == 0) continue;
      if (vertex[i] == vertex[j])
        band<D>().add(vertex[i], (i == j ? 1 : 2) * weight[i] * weight[j] * outer);
      else
        band<D>().add(vertex[i], vertex[j], weight[i] * weight[j] * outer);
    }
  }
}

void ThreadSystem::stiffen(const std::uint32_t* vertex, const double* weight, const Vector3d& n) noexcept {
  dimension_ == 4   ? stiffen_as<4>(vertex, weight, n)
  : dimension_ == 1 ? stiffen_as<1>(vertex, weight, n)
                    : stiffen_as<3>(vertex, weight, n);
}

double ThreadSystem::tension_of(std::size_t edge) const noexcept {
  if (string_by_foresight_) return tension_[edge];
  const rod::RodModel& model = *p_.model;
  const double length = (p_.state->x[model.next(edge)] - p_.state->x[edge]).norm();
  return model.edge_stretch(edge) * (length / model.edge_length(edge) - 1);
}

// Adds stiffness ((n1.u1 - n0.u0)^2 - (m.(u1 - u0))^2) / 2 to what the band is the derivative of.
template <int D>
void ThreadSystem::let_slide_as(std::size_t edge, double stiffness, const Vector3d& m, const Vector3d& n0,
                                const Vector3d& n1) noexcept {
  using Block = typename rod::BlockBand<D>::Block;
  const std::size_t next = p_.model->next(edge);
  const auto block = [&](const Vector3d& a, const Vector3d& b) {
    Block out = Block::Zero();
    out.template topLeftCorner<3, 3>() = stiffness * (a * b.transpose() - m * m.transpose());
    return out;
  };
  band<D>().add(edge, block(n0, n0));
  band<D>().add(next, block(n1, n1));
  band<D>().add(next, edge, -block(n1, n0));
}

void ThreadSystem::let_slide(std::size_t edge, double share, const Vector3d& n0, const Vector3d& n1) noexcept {
  const double tension = tension_of(edge);
  if (dimension_ == 1 || !(tension > 0)) return;
  const Vector3d e = p_.state->x[p_.model->next(edge)] - p_.state->x[edge];
  const double length = e.norm();
  if (!(length > 0)) return;
  const Vector3d sum = n0 + n1, across = sum - e.dot(sum) / (length * length) * e;
  const double size = across.norm();
  if (!(size > kLeastLevel)) return;
  const double stiffness = settings_.implicitness * share * tension / length;
  const Vector3d m = across / size;
  dimension_ == 4 ? let_slide_as<4>(edge, stiffness, m, n0, n1) : let_slide_as<3>(edge, stiffness, m, n0, n1);
}

void ThreadSystem::push_right(std::size_t vertex, const Vector3d& force) noexcept {
  if (!fixed_[vertex]) Eigen::Map<Vector3d>(answer_.data() + stride() * vertex) += force;
}

Vector3d ThreadSystem::moved(const Constraint& c) const noexcept {
  Vector3d out = c.w0 * step_of(c.vertex);
  if (c.w1 != 0) out += c.w1 * step_of(behind(p_.state->x, c));
  return out;
}

bool ThreadSystem::move_multipliers(double fraction) noexcept {
  bool changed = false;
  for (std::size_t j = 0; j < p_.count; ++j) {
    Constraint& c = p_.constraints[j];
    changed |= move_multiplier(c, responses_[j], fraction, moved(c), gap(c, place(p_.state->x, c)));
  }
  return changed;
}

// What inertia, drag and load are of Phi.
double ThreadSystem::excess(const std::vector<Vector3d>& x) const noexcept {
  return sum_over(3 * p_.model->vertices(), [&](const auto& load) {
    const auto moved = load(flat(x)) - load(flat(*p_.x0));
    return (0.5 * load(mobility_.data()) * moved - (load(inertial_.data()) + load(outer_.data()))) * moved;
  });
}

double ThreadSystem::merit(const std::vector<Vector3d>& x, const rod::Twist& twist,
                           const std::vector<double>& theta) const noexcept {
  const double lambda = settings_.implicitness;
  double sum = lambda * rod::elastic_energy(*p_.model, x, twist).sum();
  sum += excess(x);
  if (p_.model->angles_unknown)
    for (std::size_t i = 0; i < p_.model->edges(); ++i)
      sum += 0.5 * per_angle_[i] * (theta[i] - theta0_[i]) * (theta[i] - theta0_[i]);
  for (std::size_t j = 0; j < p_.count; ++j)
    sum += potential(p_.constraints[j], place(x, p_.constraints[j]), responses_[j]);
  return sum;
}

// The motion of a free thread as a whole is resisted by mass and drag alone, which are lost beside its stiffness in the
// sums of the band: of 1e9 and more between them little is left. Forces inside add up to nothing, and so do their
// moments: the motion as a whole can be balanced by itself, exactly; and beforehand, since Newton's method takes a
// stiff thread round a turn in many small steps.
ThreadSystem::Whole ThreadSystem::out_of_balance() const noexcept {
  Whole out;
  for (std::size_t i = 0; i < p_.model->vertices(); ++i) {
    const double b = mobility_[3 * i];
    out.per_shift += b;
    out.force += Eigen::Map<const Vector3d>(inertial_.data() + 3 * i) +
                 Eigen::Map<const Vector3d>(outer_.data() + 3 * i) - b * (p_.state->x[i] - (*p_.x0)[i]);
  }
  return out;
}

void ThreadSystem::balance_whole(double most_turn) noexcept {
  const std::size_t n = p_.model->vertices();
  const auto pull = [&](std::size_t i) -> Vector3d {
    return Eigen::Map<const Vector3d>(inertial_.data() + 3 * i) + Eigen::Map<const Vector3d>(outer_.data() + 3 * i);
  };
  double before = excess(p_.state->x);  // without what the shape adds to it
  for (int round = 0; round < kMostWholeRounds; ++round) {
    double sum = 0;
    Vector3d force = Vector3d::Zero(), centre = Vector3d::Zero();
    for (std::size_t i = 0; i < n; ++i) {
      const double b = mobility_[3 * i];
      sum += b;
      force += pull(i) - b * (p_.state->x[i] - (*p_.x0)[i]);
      centre += b * p_.state->x[i];
    }
    if (!(sum > 0)) return;
    centre /= sum;
    Vector3d torque = Vector3d::Zero();
    Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();
    for (std::size_t i = 0; i < n; ++i) {
      const double b = mobility_[3 * i];
      const Vector3d arm = p_.state->x[i] - centre;
      torque += arm.cross(pull(i) - b * (p_.state->x[i] - (*p_.x0)[i]));
      inertia += b * (arm.squaredNorm() * Eigen::Matrix3d::Identity() - arm * arm.transpose());
    }
    inertia += 1e-12 * inertia.trace() * Eigen::Matrix3d::Identity();  // a straight thread has none about itself
    const Vector3d move = force / sum;
    Vector3d turn = inertia.ldlt().solve(torque);
    // Frames that are unknowns would have to turn along; a larger turn is not one of rounding.
    if (p_.model->angles_unknown || !(turn.norm() <= most_turn)) turn.setZero();
    if (!std::isfinite(move.sum())) return;
    for (std::size_t i = 0; i < n; ++i) {
      trial_[i] = p_.state->x[i];
      const Vector3d arm = p_.state->x[i] - centre;
      p_.state->x[i] += move + (rotated(arm, turn) - arm);
    }
    const double after = excess(p_.state->x);
    if (after > before + kMeritNoise * (std::abs(before) + std::abs(after))) {
      std::copy_n(trial_.begin(), n, p_.state->x.begin());
      return;
    }
    before = after;
    if (turn.norm() < kSmallWholeTurn) return;
  }
}

}  // namespace ligature::contact
