#include "sim/rod/twist.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

namespace ligature::rod {
namespace {

constexpr double two_pi = 2.0 * std::numbers::pi;

Vector3d any_normal(const Vector3d& t) {
  Vector3d axis = Vector3d::Zero();
  int smallest = 0;
  t.cwiseAbs().minCoeff(&smallest);
  axis[smallest] = 1.0;
  return t.cross(axis).normalized();
}

Vector3d unit_or(const Vector3d& v, const Vector3d& otherwise) {
  const double length = v.norm();
  return length > 1e-150 && length < 1e150 ? Vector3d(v / length) : otherwise;
}

Vector3d made_normal(const Vector3d& v, const Vector3d& t) {
  const Vector3d across = v - t.dot(v) * t;
  return across.squaredNorm() > 1e-12 ? Vector3d(across.normalized()) : any_normal(t);
}

// Angle from a to b about t, in (-pi, pi].
double signed_angle(const Vector3d& a, const Vector3d& b, const Vector3d& t) {
  return std::atan2(a.cross(b).dot(t), a.dot(b));
}

// From unit tangent a towards b by this part of the angle between them; away from it where the part is negative.
Vector3d turned_towards(const Vector3d& a, const Vector3d& b, double part) {
  const Vector3d across = b - a.dot(b) * a;
  const double sine = across.norm(), angle = part * std::atan2(sine, a.dot(b));
  if (!(sine > 1e-12)) return a;
  return (std::cos(angle) * a + std::sin(angle) / sine * across).normalized();
}

double nearest_turn(double angle, double to) {
  if (std::abs(to - angle) < std::numbers::pi) return angle;
  return angle + two_pi * std::round((to - angle) / two_pi);
}

// Two tangents that a joint joins.
struct Pair {
  Vector3d before, behind;
};

// By how much r of a joint grows as its tangents turn from `a` to `b`: the area that the arc between them sweeps over
// the sphere, as the holonomy round (before, behind, behind', before') is that area. First one moves, then the other.
double swept(const Pair& a, const Pair& b) {
  return spherical_area(a.before, a.behind, b.behind) + spherical_area(a.before, b.behind, b.before);
}

// True where it does not matter which of both moves first, nor how fast: on no way they come to point against each
// other. (Together they move by less than the distance, at the start or at the end, of one from the other's opposite.)
bool any_order(const Pair& a, const Pair& b) {
  const double moved2 = (b.before - a.before).squaredNorm() + (b.behind - a.behind).squaredNorm();
  return 2.0 * moved2 < std::max((a.before + a.behind).squaredNorm(), (b.before + b.behind).squaredNorm());
}

// True where besides |swept| < pi, so that the nearest angle is the right one.
bool sweeps_little(const Pair& a, const Pair& b) {
  const double old_turn = a.before.dot(a.behind), new_turn = b.before.dot(b.behind);
  const double before = a.before.dot(b.before), behind = a.behind.dot(b.behind);
  // Four arcs below 75.5 degrees: together less than 2 pi, so no opposites on the way, and they enclose less than pi
  // (isoperimetric inequality of the sphere).
  if (std::min(std::min(old_turn, new_turn), std::min(before, behind)) > 0.25) return true;
  if (!any_order(a, b)) return false;
  // Each triangle below pi/2.
  const double diagonal = a.before.dot(b.behind);
  const double den_behind = 1.0 + old_turn + behind + diagonal, den_before = 1.0 + diagonal + new_turn + before;
  return den_behind > std::abs(a.before.dot(a.behind.cross(b.behind))) &&
         den_before > std::abs(a.before.dot(b.behind.cross(b.before)));
}

// Follows two edges that move evenly from e0, f0 to e1, f1, in steps as small as it takes to be told from other ways.
double swept_evenly(const Vector3d& e0, const Vector3d& f0, const Vector3d& e1, const Vector3d& f1, const Pair& a,
                    const Pair& b) {
  constexpr int most_tries = 200;
  constexpr double least = 1.0 / 65536.0;
  double area = 0, s = 0, step = 1;
  Pair p = a;
  for (int k = 0; k < most_tries && s < 1; ++k) {
    step = std::min(step, 1.0 - s);
    const double u = s + step;
    const Pair q =
        u < 1 ? Pair{unit_or((1.0 - u) * e0 + u * e1, b.before), unit_or((1.0 - u) * f0 + u * f1, b.behind)} : b;
    if (step > least && !any_order(p, q)) {
      step *= 0.5;
      continue;
    }
    area += swept(p, q);
    p = q;
    s = u;
    step *= 2;
  }
  return s < 1 ? area + swept(p, b) : area;
}

}  // namespace

// Two reflections, which lose no digits as a and b turn away from each other.
Vector3d parallel_transport(const Vector3d& v, const Vector3d& a, const Vector3d& b) noexcept {
  const Vector3d h = a + b;
  const double h2 = h.squaredNorm();
  if (h2 < 1e-24) return v;  // folded back: no smallest rotation exists, any half turn does
  return v - (2.0 * h.dot(v) / h2) * h + (2.0 * a.dot(v)) * b;
}

// tan(area/2) = a.(b x c) / (1 + a.b + b.c + c.a) [Oosterom 1983].
double spherical_area(const Vector3d& a, const Vector3d& b, const Vector3d& c) noexcept {
  return 2.0 * std::atan2(a.dot(b.cross(c)), 1.0 + a.dot(b) + b.dot(c) + c.dot(a));
}

Twist::Twist(const std::vector<Vector3d>& x, bool closed, std::size_t most_held)
    : n_(x.size()),
      closed_(closed),
      tangent_(edges()),
      length_(edges(), 0.0),
      director_(edges()),
      reference_(n_, 0.0),
      theta_(edges(), 0.0),
      frames_(most_held),
      slot_(n_, -1),
      edge_held_(edges(), 0),
      spans_(edges() + most_held + 1),
      span_of_(2 * n_, -1) {
  assert(n_ >= (closed ? 3u : 2u));
  restart(x);
}

std::size_t Twist::edge_before(std::size_t vertex) const noexcept {
  if (vertex > 0) return vertex - 1;
  return closed_ ? n_ - 1 : none;
}

std::size_t Twist::edge_behind(std::size_t vertex) const noexcept {
  return vertex < edges() ? vertex : none;
}

double Twist::reference_angle(std::size_t vertex) const noexcept {
  const std::size_t a = edge_before(vertex), b = edge_behind(vertex);
  return signed_angle(parallel_transport(director_[a], tangent_[a], tangent_[b]), director_[b], tangent_[b]);
}

double Twist::half_reference_angle(std::size_t vertex, int half) const noexcept {
  const Frame& f = frames_[static_cast<std::size_t>(slot_[vertex])];
  if (half == 0) {
    const std::size_t e = edge_before(vertex);
    return signed_angle(parallel_transport(director_[e], tangent_[e], f.tangent), f.director, f.tangent);
  }
  const std::size_t e = edge_behind(vertex);
  return signed_angle(parallel_transport(f.director, f.tangent, tangent_[e]), director_[e], tangent_[e]);
}

void Twist::restart(const std::vector<Vector3d>& x) noexcept {
  assert(x.size() == n_);
  for (std::size_t i = 0; i < edges(); ++i) {
    const std::size_t next = i + 1 < n_ ? i + 1 : 0;
    tangent_[i] = unit_or(x[next] - x[i], i ? tangent_[i - 1] : Vector3d::UnitX());
    length_[i] = (x[next] - x[i]).dot(tangent_[i]);
    director_[i] = i == 0
                       ? any_normal(tangent_[0])
                       : made_normal(parallel_transport(director_[i - 1], tangent_[i - 1], tangent_[i]), tangent_[i]);
  }
  for (std::size_t i = 0; i < n_; ++i)
    reference_[i] = edge_before(i) == none || edge_behind(i) == none ? 0.0 : reference_angle(i);
  seam_ = closed_ ? -reference_[0] : 0.0;  // the material frame starts without twist, hence with a jump there
  seam_vertex_ = 0;
  for (double& angle : theta_) angle = 0;
  for (Frame& frame : frames_) frame = Frame{};
  for (int& slot : slot_) slot = -1;
  for (unsigned char& held : edge_held_) held = 0;
  for (int& span : span_of_) span = -1;
  held_ = 0;
  span_count_ = 0;
}

void Twist::carry(const Twist& from, const std::vector<Vector3d>& x) noexcept {
  assert(x.size() == n_ && from.n_ == n_ && from.closed_ == closed_ && from.frames_.size() == frames_.size());
  if (this != &from) {
    std::copy(from.theta_.begin(), from.theta_.end(), theta_.begin());
    seam_ = from.seam_;
    seam_vertex_ = from.seam_vertex_;
    std::copy(from.frames_.begin(), from.frames_.end(), frames_.begin());
    std::copy(from.slot_.begin(), from.slot_.end(), slot_.begin());
    std::copy(from.edge_held_.begin(), from.edge_held_.end(), edge_held_.begin());
    held_ = from.held_;
    span_count_ = from.span_count_;
    std::copy_n(from.spans_.begin(), span_count_, spans_.begin());
    std::copy(from.span_of_.begin(), from.span_of_.end(), span_of_.begin());
  }
  const std::size_t m = edges();
  struct Was {  // an edge before it is carried, since `from` may be this one
    Vector3d tangent = Vector3d::Zero();
    double length = 0;
    Vector3d edge() const { return length * tangent; }
  };
  const Was first = {from.tangent_[0], from.length_[0]};
  const auto follow_joint = [&](std::size_t i, const Was& before, const Was& behind) {
    const std::size_t a = edge_before(i), b = edge_behind(i);
    if (a != none && b != none) {
      const Pair was = {before.tangent, behind.tangent}, is = {tangent_[a], tangent_[b]};
      double to = from.reference_[i];
      if (!sweeps_little(was, is))
        to += swept_evenly(before.edge(), behind.edge(), length_[a] * is.before, length_[b] * is.behind, was, is);
      reference_[i] = nearest_turn(reference_angle(i), to);
    }
    if (slot_[i] < 0) return;
    // Where one tangent stands still the other one's way over the sphere is one arc, whatever its length does.
    Frame& f = frames_[static_cast<std::size_t>(slot_[i])];
    if (a != none)
      f.reference[0] = nearest_turn(half_reference_angle(i, 0),
                                    f.reference[0] + spherical_area(before.tangent, f.tangent, tangent_[a]));
    if (b != none)
      f.reference[1] = nearest_turn(half_reference_angle(i, 1),
                                    f.reference[1] + spherical_area(f.tangent, behind.tangent, tangent_[b]));
  };
  Was before;
  for (std::size_t i = 0; i < m; ++i) {
    const Was was = {from.tangent_[i], from.length_[i]};
    const Vector3d e = x[i + 1 < n_ ? i + 1 : 0] - x[i];
    const Vector3d t = unit_or(e, was.tangent);
    director_[i] = made_normal(parallel_transport(from.director_[i], was.tangent, t), t);
    tangent_[i] = t;
    length_[i] = e.dot(t);
    if (i > 0 || !closed_) follow_joint(i, before, was);
    before = was;
  }
  follow_joint(closed_ ? 0 : n_ - 1, before, first);
}

void Twist::set_nodes(const std::vector<double>& node) noexcept {
  assert(node.empty() || node.size() == edges() + 1);
  node_ = node;
}

// Rest length of half a joint, in halves of a unit.
double Twist::half_units(std::size_t vertex, int half) const noexcept {
  const std::size_t e = half == 0 ? edge_before(vertex) : edge_behind(vertex);
  return e == none ? 0.0 : node_.empty() ? 1.0 : node_[e + 1] - node_[e];
}

void Twist::insert(double turns) noexcept {
  assert(held_ == 0);
  if (!node_.empty()) {
    const double each = two_pi * turns / node_.back();
    for (std::size_t i = 0; i < edges(); ++i) theta_[i] += each * 0.5 * (node_[i] + node_[i + 1] - node_[1]);
    if (closed_) seam_ += two_pi * turns;
    return;
  }
  const double each = two_pi * turns / static_cast<double>(edges());
  for (std::size_t i = 0; i < edges(); ++i) theta_[i] += each * static_cast<double>(i);
  if (closed_) seam_ += two_pi * turns;
}

void Twist::take_piece(const Twist& from, std::size_t first_vertex) noexcept {
  assert(!closed_ && this != &from && first_vertex + n_ <= from.n_ + (from.closed_ ? first_vertex + 1 : 0));
  const auto there = [&](std::size_t i) { return (first_vertex + i) % from.n_; };
  const bool cut_off = from.closed_ || first_vertex > 0;
  seam_ = 0;
  seam_vertex_ = 0;
  held_ = 0;
  span_count_ = 0;
  for (int& span : span_of_) span = -1;
  for (Frame& frame : frames_) frame = Frame{};
  std::size_t slots = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    const std::size_t j = there(i);
    const bool inside = i > 0 && i + 1 < n_;
    reference_[i] = inside ? from.reference_[j] : 0.0;
    if (inside && j == from.seam_vertex_) {
      seam_ = from.seam_;
      seam_vertex_ = i;
    }
    slot_[i] = -1;
    if (from.slot_[j] >= 0 && !(i == 0 && cut_off) && slots < frames_.size()) {
      Frame& f = frames_[slots];
      f = from.frames_[static_cast<std::size_t>(from.slot_[j])];
      f.vertex = i;
      if (i + 1 == n_) f.reference[1] = 0;
      slot_[i] = static_cast<int>(slots++);
      ++held_;
    }
    if (i + 1 == n_) break;
    tangent_[i] = from.tangent_[j];
    length_[i] = from.length_[j];
    director_[i] = from.director_[j];
    theta_[i] = from.theta_[j];
    edge_held_[i] = from.edge_held_[j];
    if (edge_held_[i]) ++held_;
  }
}

void Twist::reserve(std::size_t most) {
  for (auto* v : {&tangent_, &director_}) v->reserve(most);
  for (auto* v : {&length_, &reference_, &theta_}) v->reserve(most);
  node_.reserve(most + 1);
  slot_.reserve(most);
  edge_held_.reserve(most);
  spans_.reserve(most + frames_.size() + 1);
  span_of_.reserve(2 * most);
}

void Twist::resize(std::size_t n) noexcept {
  n_ = n;
  for (auto* v : {&tangent_, &director_}) v->resize(edges());
  for (auto* v : {&length_, &theta_}) v->resize(edges());
  reference_.resize(n);
  slot_.resize(n);
  edge_held_.resize(edges());
  spans_.resize(edges() + frames_.size() + 1);
  span_of_.assign(2 * n, -1);
  span_count_ = 0;
  node_.clear();
}

bool Twist::may_go(std::size_t vertex) const noexcept {
  const std::size_t a = edge_before(vertex), b = edge_behind(vertex);
  return vertex > 0 && a != none && b != none && slot_[vertex] < 0 && !edge_held_[a] && !edge_held_[b] &&
         (seam_ == 0 || vertex != seam_vertex_);
}

void Twist::divide(const std::uint32_t* old_vertex, std::size_t n) noexcept {
  const std::size_t edges_now = closed_ ? n : n - 1;
  resize(n);
  for (std::size_t i = n; i-- > 0;) {
    const bool added = old_vertex[i] == new_vertex, halved = i + 1 < n && old_vertex[i + 1] == new_vertex;
    const std::size_t from = added ? old_vertex[i - 1] : old_vertex[i];
    reference_[i] = added ? 0.0 : reference_[from];
    slot_[i] = added ? -1 : slot_[from];
    if (slot_[i] >= 0) frames_[static_cast<std::size_t>(slot_[i])].vertex = i;
    if (i >= edges_now) continue;
    tangent_[i] = tangent_[from];
    length_[i] = (added || halved ? 0.5 : 1.0) * length_[from];
    director_[i] = director_[from];
    theta_[i] = theta_[from];
    edge_held_[i] = added ? 0 : edge_held_[from];
  }
  std::size_t seam = 0;
  while (old_vertex[seam] != seam_vertex_) ++seam;
  seam_vertex_ = seam;
}

// The joint that is left takes the angle from the director before those that went to the one behind them.
void Twist::join(const std::uint32_t* old_vertex, std::size_t n) noexcept {
  const std::size_t was = n_, edges_now = closed_ ? n : n - 1;
  double turn = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t from = old_vertex[i], next = i + 1 < n ? old_vertex[i + 1] : was;
    if (from == seam_vertex_) seam_vertex_ = i;
    slot_[i] = slot_[from];
    if (slot_[i] >= 0) frames_[static_cast<std::size_t>(slot_[i])].vertex = i;
    reference_[i] = reference_[from];
    if (i > 0) {
      reference_[i] += turn;
      if (slot_[i] >= 0) frames_[static_cast<std::size_t>(slot_[i])].reference[0] += turn;
    }
    turn = 0;
    if (i >= edges_now) continue;
    double length = length_[from];
    for (std::size_t k = from + 1; k < next; ++k) {
      turn += reference_[k];
      length += length_[k];
    }
    tangent_[i] = tangent_[from];
    length_[i] = length;
    director_[i] = director_[from];
    theta_[i] = theta_[from];
    edge_held_[i] = edge_held_[from];
  }
  if (closed_) {
    reference_[0] += turn;
    if (slot_[0] >= 0) frames_[static_cast<std::size_t>(slot_[0])].reference[0] += turn;
  }
  resize(n);
}

void Twist::hold_edge(std::size_t edge) noexcept {
  if (edge_held_[edge]) return;
  edge_held_[edge] = 1;
  ++held_;
}

void Twist::set_edge_director(std::size_t edge, const Vector3d& d1) noexcept {
  assert(edge_held(edge));
  const Vector3d wanted = made_normal(d1, tangent_[edge]);
  theta_[edge] = nearest_turn(signed_angle(director_[edge], wanted, tangent_[edge]), theta_[edge]);
}

void Twist::release_edge(std::size_t edge) noexcept {
  if (!edge_held_[edge]) return;
  edge_held_[edge] = 0;
  --held_;
}

bool Twist::edge_held(std::size_t edge) const noexcept {
  return edge_held_[edge] != 0;
}

// The part of a joint's angle that belongs to its half before the vertex, or behind: as its rest length.
double Twist::share_before(std::size_t vertex, bool before) const noexcept {
  const double a = half_units(vertex, 0), b = half_units(vertex, 1);
  return (before ? a : b) / (a + b);
}

// Twist that half a joint at this end of an open thread has when it goes on as beside it.
double Twist::neighbour_twist(std::size_t vertex) const noexcept {
  const bool first = vertex == 0;
  const std::size_t next = first ? 1 : n_ - 2;
  if (slot_[next] >= 0) return half_joint(next, first ? 0 : 1);
  return share_before(next, first) * joint(next);
}

bool Twist::hold_frame(std::size_t vertex) noexcept {
  if (slot_[vertex] >= 0) return true;
  std::size_t slot = 0;
  while (slot < frames_.size() && frames_[slot].vertex != none) ++slot;
  if (slot == frames_.size()) return false;
  Frame& f = frames_[slot];
  const std::size_t a = edge_before(vertex), b = edge_behind(vertex);
  double half = 0;
  if (a != none && b != none) {
    const double before = share_before(vertex, true);
    half = before * joint(vertex);
    f.tangent = before == 0.5 ? unit_or(tangent_[a] + tangent_[b], tangent_[a])
                              : turned_towards(tangent_[a], tangent_[b], before);
  } else {
    // The bisector of the nearest joint, mirrored at the end edge: turned on by half the angle of that joint.
    half = neighbour_twist(vertex);
    const std::size_t e = a == none ? b : a;
    f.tangent = tangent_[e];
    if (n_ > 2) {
      const Vector3d& other = tangent_[a == none ? 1 : n_ - 3];
      if (tangent_[e].dot(other) > 0.0) {
        const double own = share_before(a == none ? 1 : n_ - 2, a == none);
        const Vector3d bisector = (tangent_[e] + other).normalized();
        f.tangent = own == 0.5 ? (2.0 * tangent_[e].dot(bisector) * tangent_[e] - bisector).normalized()
                               : turned_towards(tangent_[e], other, -own);
      }
    }
  }
  // From the edge before, turned by the half joint; at the first vertex from the edge behind, turned back.
  const std::size_t e = a == none ? b : a;
  const Vector3d carried = made_normal(parallel_transport(material(e).d1, tangent_[e], f.tangent), f.tangent);
  const double turn = a == none ? -half : half;
  f.director = std::cos(turn) * carried + std::sin(turn) * f.tangent.cross(carried);
  f.vertex = vertex;
  slot_[vertex] = static_cast<int>(slot);
  ++held_;
  f.reference[0] = f.reference[1] = 0;
  if (a != none) f.reference[0] = nearest_turn(half_reference_angle(vertex, 0), half + theta_[a]);
  if (b != none) f.reference[1] = nearest_turn(half_reference_angle(vertex, 1), half - theta_[b] - seam(vertex));
  return true;
}

void Twist::set_frame(std::size_t vertex, const Vector3d& tangent, const Vector3d& director) noexcept {
  assert(frame_held(vertex));
  Frame& f = frames_[static_cast<std::size_t>(slot_[vertex])];
  const Vector3d was = f.tangent, carried_from = f.director;
  f.tangent = unit_or(tangent, was);
  f.director = made_normal(director, f.tangent);
  const double spin = signed_angle(parallel_transport(carried_from, was, f.tangent), f.director, f.tangent);
  if (const std::size_t e = edge_before(vertex); e != none)
    f.reference[0] = nearest_turn(half_reference_angle(vertex, 0),
                                  f.reference[0] + spin + spherical_area(tangent_[e], was, f.tangent));
  if (const std::size_t e = edge_behind(vertex); e != none)
    f.reference[1] = nearest_turn(half_reference_angle(vertex, 1),
                                  f.reference[1] - spin + spherical_area(was, tangent_[e], f.tangent));
}

void Twist::release_frame(std::size_t vertex) noexcept {
  if (slot_[vertex] < 0) return;
  frames_[static_cast<std::size_t>(slot_[vertex])] = Frame{};
  slot_[vertex] = -1;
  --held_;
}

const Vector3d& Twist::frame_tangent(std::size_t vertex) const noexcept {
  return frames_[static_cast<std::size_t>(slot_[vertex])].tangent;
}

const Vector3d& Twist::frame_director(std::size_t vertex) const noexcept {
  return frames_[static_cast<std::size_t>(slot_[vertex])].director;
}

bool Twist::any_held() const noexcept {
  return held_ > 0;
}

// Walks along the thread once (closed: from the first holder round to itself); theta of edges between holders cancels.
void Twist::find_spans(double rest_length) noexcept {
  span_count_ = 0;
  for (int& span : span_of_) span = -1;
  if (held_ == 0 && !closed_) return;

  const std::size_t m = edges();
  std::size_t start = 0;  // vertex to begin at
  bool open_span = false;
  TwistSpan now;
  std::size_t halves = 0;
  double units = 0;  // rest length of these halves, in halves of a unit
  const auto begin = [&](std::size_t first, double angle) {
    now = TwistSpan{first, first, angle, 0};
    halves = 0;
    units = 0;
    open_span = true;
  };
  const auto end = [&](double angle) {
    if (open_span) {
      now.angle += angle;
      now.last = now.first + halves - 1;
      now.length = 0.5 * rest_length * units;
      for (std::size_t h = now.first; h <= now.last; ++h)
        span_of_[h < 2 * n_ ? h : h - 2 * n_] = static_cast<int>(span_count_);
      spans_[span_count_++] = now;
    }
    open_span = false;
  };

  if (closed_) {
    if (held_ == 0) {
      begin(0, 0.0);
      for (std::size_t i = 0; i < n_; ++i) now.angle += reference_[i];
      halves = 2 * n_;
      units = node_.empty() ? static_cast<double>(halves) : 2 * node_.back();
      end(seam_);
      return;
    }
    while (slot_[start] < 0 && !edge_held_[start]) ++start;
  }
  // Vertex, then the edge behind it; of a closed thread the first holder comes once more at the end.
  for (std::size_t k = 0; k <= (closed_ ? n_ : n_ - 1); ++k) {
    const std::size_t i = start + k < n_ ? start + k : start + k - n_;
    const bool again = closed_ && k == n_;
    if (slot_[i] >= 0) {
      const Frame& f = frames_[static_cast<std::size_t>(slot_[i])];
      if (open_span) {
        ++halves;
        units += half_units(i, 0);
      }
      end(f.reference[0]);
      if (again) break;
      if (edge_behind(i) == none) break;
      begin(2 * i + 1, f.reference[1] + seam(i));
      ++halves;
      units += half_units(i, 1);
    } else if (open_span) {
      now.angle += reference_[i] + seam(i);
      halves += 2;
      units += half_units(i, 0) + half_units(i, 1);
    }
    if (i < m && edge_held_[i]) {
      end(theta_[i]);
      if (again) break;
      const std::size_t first = 2 * (i + 1);
      begin(first < 2 * n_ ? first : 0, -theta_[i]);
    }
  }
}

void Twist::spread() noexcept {
  const std::size_t m = edges();
  if (span_count_ == 0 && held_ == 0) {
    for (std::size_t i = 1; i < m; ++i) theta_[i] = theta_[i - 1] - reference_[i] - seam(i);
    return;
  }
  std::size_t first_holder = m, last_holder = 0;  // edges of an open thread whose theta is known from the spans
  for (std::size_t s = 0; s < span_count_; ++s) {
    const TwistSpan& span = spans_[s];
    double units = 0;
    for (std::size_t k = span.first; k <= span.last; ++k)
      units += half_units((k < 2 * n_ ? k : k - 2 * n_) / 2, static_cast<int>(k % 2));
    const double half = span.angle / units;
    std::size_t h = span.first;
    while (h <= span.last) {
      const std::size_t v = h < 2 * n_ ? h / 2 : h / 2 - n_, b = edge_behind(v);
      if (h % 2 == 1) {  // behind a held frame
        if (!edge_held_[b])
          theta_[b] = half * half_units(v, 1) - frames_[static_cast<std::size_t>(slot_[v])].reference[1] - seam(v);
        h += 1;
      } else {
        const bool joint = h < span.last;  // otherwise half of one, before a held frame
        if (joint && !edge_held_[b] && !(held_ == 0 && b == 0))
          theta_[b] = theta_[edge_before(v)] + (half_units(v, 0) + half_units(v, 1)) * half - reference_[v] - seam(v);
        h += joint ? 2 : 1;
      }
    }
  }
  if (closed_) return;
  for (std::size_t i = 0; i < m; ++i) {
    const bool known = edge_held_[i] || span_of_[2 * i + 1] >= 0 || span_of_[2 * i + 2] >= 0;
    if (!known) continue;
    first_holder = std::min(first_holder, i);
    last_holder = i;
  }
  if (first_holder == m) {
    // One frame and nothing else: no span, both sides free.
    std::size_t v = 0;
    while (slot_[v] < 0) ++v;
    const Frame& f = frames_[static_cast<std::size_t>(slot_[v])];
    if (v < m) theta_[v] = -f.reference[1] - seam(v);
    if (v > 0) theta_[v - 1] = f.reference[0];
    first_holder = v > 0 ? v - 1 : 0;
    last_holder = v < m ? v : m - 1;
  } else {
    // A frame may hold the end of the last span, with a free tail beyond it.
    if (slot_[first_holder] >= 0 && first_holder > 0) {
      theta_[first_holder - 1] = frames_[static_cast<std::size_t>(slot_[first_holder])].reference[0];
      --first_holder;
    }
    if (slot_[last_holder + 1] >= 0 && last_holder + 1 < m) {
      theta_[last_holder + 1] =
          -frames_[static_cast<std::size_t>(slot_[last_holder + 1])].reference[1] - seam(last_holder + 1);
      ++last_holder;
    }
  }
  for (std::size_t i = first_holder; i-- > 0;) theta_[i] = theta_[i + 1] + reference_[i + 1] + seam(i + 1);
  for (std::size_t i = last_holder + 1; i < m; ++i) theta_[i] = theta_[i - 1] - reference_[i] - seam(i);
}

Directors Twist::material(std::size_t edge) const noexcept {
  const Vector3d u = director_[edge], v = tangent_[edge].cross(u);
  const double c = std::cos(theta_[edge]), s = std::sin(theta_[edge]);
  return {c * u + s * v, c * v - s * u};
}

Directors Twist::frame_material(std::size_t vertex) const noexcept {
  const Frame& f = frames_[static_cast<std::size_t>(slot_[vertex])];
  return {f.director, f.tangent.cross(f.director)};
}

double Twist::half_joint(std::size_t vertex, int half) const noexcept {
  const Frame& f = frames_[static_cast<std::size_t>(slot_[vertex])];
  if (half == 0) {
    const std::size_t e = edge_before(vertex);
    return e == none ? 0.0 : f.reference[0] - theta_[e];
  }
  const std::size_t e = edge_behind(vertex);
  return e == none ? 0.0 : theta_[e] + f.reference[1] + seam(vertex);
}

double Twist::joint(std::size_t vertex) const noexcept {
  return slot_[vertex] >= 0 ? half_joint(vertex, 0) + half_joint(vertex, 1) : edge_to_edge(vertex);
}

double Twist::edge_to_edge(std::size_t vertex) const noexcept {
  const std::size_t a = edge_before(vertex), b = edge_behind(vertex);
  if (a == none || b == none) return 0.0;
  return theta_[b] - theta_[a] + reference_[vertex] + seam(vertex);
}

double Twist::turns() const noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < n_; ++i) sum += joint(i);
  return sum / two_pi;
}

void Twist::add_to(StateHash& hash) const noexcept {
  for (double place : node_) hash.add(place);
  for (const Vector3d& t : tangent_) hash.bytes(t.data(), sizeof(double) * 3);
  for (const Vector3d& u : director_) hash.bytes(u.data(), sizeof(double) * 3);
  for (double angle : theta_) hash.add(angle);
  hash.add(seam_);
  hash.bytes(edge_held_.data(), edge_held_.size());
  for (std::size_t i = 0; i < n_; ++i) {
    hash.add(reference_[i]);
    if (slot_[i] < 0) continue;
    const Frame& f = frames_[static_cast<std::size_t>(slot_[i])];
    hash.add(static_cast<std::uint64_t>(i));
    hash.bytes(f.tangent.data(), sizeof(double) * 3);
    hash.bytes(f.director.data(), sizeof(double) * 3);
    for (double angle : f.reference) hash.add(angle);
  }
}

}  // namespace ligature::rod
