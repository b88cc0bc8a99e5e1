#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/world/build.hpp"
#include "sim/world/grading.hpp"
#include "sim/world/state.hpp"

namespace ligature::world {
namespace {

constexpr std::size_t kMostAtOnce = 64;  // vertices that one thread gets, or loses, in a step
constexpr double kJoinTurn = 0.6;        // of kMostTurn: edges are joined where the new one would turn by no more
constexpr double kBentByTouch = 0.05;    // a contact that would turn an edge by more asks for the finest [rad]
constexpr double kJoinBent = 0.3;        // of that: edges are not joined near a contact that turns them by more
constexpr double kJoinBeside = 1.5;      // of kFineBeside: that near
constexpr double kTouchAside = 0.02;     // of the diameter: a vertex beside a strand goes only if it moves by less
constexpr double kMostAside = 0.2;       // of an edge, that its middle moves when it is divided
constexpr auto kNew = rod::Twist::new_vertex;
constexpr auto kGone = rod::Twist::new_vertex;

double turn_between(const Vector3d& e, const Vector3d& f) {
  return std::atan2(e.cross(f).norm(), e.dot(f));
}

bool is_adaptive(const Thread& t) {
  return t.block > 1;
}

double units_of(const Thread& t, std::size_t edge) {
  return t.model.node[edge + 1] - t.model.node[edge];
}

}  // namespace

void World::State::take_adapt_memory() {
  std::size_t most = 0;
  for (const Thread& t : threads) most = is_adaptive(t) ? std::max(most, t.pool) : most;
  adapting.allowed.resize(most);
  adapting.kept.resize(most);
  adapting.marked.resize(most);
  adapting.touched.resize(most);
  adapting.old_vertex.resize(most);
  adapting.new_vertex.resize(most);
  adapting.moves.resize(most);
  for (std::size_t k = 0; k < systems.size(); ++k) {
    const std::size_t pool = k < threads.size() && is_adaptive(threads[k]) ? threads[k].pool : 0;
    adapting.aims.emplace_back(pool);
    adapting.fresh.emplace_back(pool);
    adapting.going.emplace_back(pool);
  }
}

/// Vertices that something holds or pulls, or will.
bool World::State::pinned(std::uint32_t thread, std::size_t vertex) const noexcept {
  const Thread& t = threads[thread];
  const auto at_it = [&](const auto& of) { return of.vertex == vertex; };
  if (std::any_of(t.clamps.begin(), t.clamps.end(), at_it) || std::any_of(t.loads.begin(), t.loads.end(), at_it))
    return true;
  for (std::size_t f = 0; f < kInstruments; ++f)
    if (is_held(f, thread, vertex)) return true;
  return !t.state.twist.may_go(vertex);
}

/// What each edge may be long [units]: at most kMostTurn along it by the bend at its ends, and the finest near
/// contacts.
void World::State::ask(std::uint32_t thread, bool of_shape) noexcept {
  const Thread& t = threads[thread];
  const std::size_t edges = t.model.edges(), n = t.x0.size();
  const std::vector<Vector3d>& x = t.state.x;
  const auto edge = [&](std::size_t i) -> Vector3d { return x[t.model.next(i)] - x[i]; };
  const auto bend = [&](std::size_t v) {  // turn per unit
    const bool before = t.model.closed || v > 0, behind = t.model.closed || v + 1 < n;
    if (before && behind)
      return turn_between(edge(t.model.previous(v)), edge(v)) /
             (0.5 * (units_of(t, t.model.previous(v)) + units_of(t, v)));
    if (!t.state.twist.frame_held(v)) return 0.0;
    const std::size_t e = before ? v - 1 : v;
    return turn_between(edge(e), t.state.twist.frame_tangent(v)) / (0.5 * units_of(t, e));
  };
  const double whole = static_cast<double>(t.block);
  double last = bend(0);
  for (std::size_t i = 0; i < edges; ++i) {
    const double next = bend(t.model.next(i)), most = std::max(last, next);
    adapting.kept[i] = most * whole > kJoinTurn * kMostTurn ? kJoinTurn * kMostTurn / most : whole;
    adapting.allowed[i] = of_shape && most * whole > kMostTurn ? kMostTurn / most : whole;
    adapting.touched[i] = 0;
    last = next;
  }
  const auto near = [&](std::uint32_t strand, std::size_t at_edge, double s, double force) {
    if (strand != thread) return;
    adapting.touched[at_edge] = 1;
    // What a force turns a thread by is at most force/tension, and force length^2/EI.
    const double length = t.model.edge_length(at_edge);
    const double tension = t.model.stretch_stiffness * (edge(at_edge).norm() / length - 1);
    const double resists = std::max({tension, t.model.bend_stiffness / (length * length), 1e-300});
    if (force <= kJoinBent * kBentByTouch * resists) return;
    const bool fine = force > kBentByTouch * resists;
    const double unit = t.model.rest_length, beside = kFineBeside * 2 * t.model.radius / unit;
    const double at = t.model.node[at_edge] + s * units_of(t, at_edge), round = t.model.node.back();
    const auto visit = [&](std::size_t i) {  // false: too far away
      double apart = std::max({t.model.node[i] - at, at - t.model.node[i + 1], 0.0});
      if (t.model.closed)
        apart = std::min(
            {apart, std::max(0.0, t.model.node[i] + round - at), std::max(0.0, at + round - t.model.node[i + 1])});
      if (apart > kJoinBeside * beside) return false;
      adapting.kept[i] = 1;
      if (fine && apart <= beside) adapting.allowed[i] = 1;
      return true;
    };
    std::size_t i = at_edge;
    for (std::size_t k = 0; k < edges && visit(i); ++k) {
      if (!t.model.closed && i + 1 == edges) break;
      i = i + 1 < edges ? i + 1 : 0;
    }
    i = at_edge;
    for (std::size_t k = 0; k < edges && visit(i); ++k) {
      if (!t.model.closed && i == 0) break;
      i = i > 0 ? i - 1 : edges - 1;
    }
  };
  for (const contact::StrandContact& c : coupled[0].contacts().contacts()) {
    near(c.pair.strand_a, c.pair.edge_a, c.sa, c.force.norm());
    near(c.pair.strand_b, c.pair.edge_b, c.sb, c.force.norm());
  }
  for (const contact::StrandContact& c : coupled[0].rings().contacts())
    near(c.pair.strand_a, c.pair.edge_a, c.sa, c.force.norm());
}

/// Marks edges that are longer than allowed, and those beside them that would be more than twice as long as they.
std::size_t World::State::choose_divisions(std::uint32_t thread) noexcept {
  const Thread& t = threads[thread];
  const std::size_t edges = t.model.edges();
  const auto may = [&](std::size_t i) { return units_of(t, i) > 1 && !t.state.twist.edge_held(i); };
  std::size_t count = 0;
  for (std::size_t i = 0; i < edges; ++i) {
    adapting.marked[i] = units_of(t, i) > adapting.allowed[i] && may(i) && count < kMostAtOnce;
    count += adapting.marked[i];
  }
  const auto size = [&](std::size_t i) { return adapting.marked[i] ? 0.5 * units_of(t, i) : units_of(t, i); };
  const auto follow = [&](std::size_t i, std::size_t neighbour) {
    if (adapting.marked[i] || size(i) <= 2 * size(neighbour) || !may(i)) return;
    adapting.marked[i] = 1;
    ++count;
  };
  for (int round = 0; round < (t.model.closed ? 2 : 1); ++round) {
    for (std::size_t i = t.model.closed ? 0 : 1; i < edges; ++i) follow(i, i > 0 ? i - 1 : edges - 1);
    for (std::size_t i = t.model.closed ? edges : edges - 1; i-- > 0;) follow(i, i + 1 < edges ? i + 1 : 0);
  }
  return count;
}

/// Tells all that names a vertex of the thread its new number. @param now of every vertex of before, or kGone;
/// @param edges of before
void World::State::renumber(std::uint32_t thread, const std::uint32_t* now, std::size_t edges) noexcept {
  Thread& t = threads[thread];
  ++t.division;
  for (Clamp& c : t.clamps) c.vertex = now[c.vertex];
  for (Load& l : t.loads) l.vertex = now[l.vertex];
  for (Grasp& g : grasps) {
    for (Held& h : g.held)
      if (h.thread == thread) h.vertex = now[h.vertex];
    if (g.frame_held && g.frame_thread == thread) g.frame_edge = now[g.frame_edge];
  }
  contact::StrandContacts& contacts = coupled[0].contacts();
  contacts.regrade(thread, adapting.moves.data());
  coupled[0].on_meshes().regrade(thread, adapting.moves.data(),
                                 t.model.closed ? static_cast<std::uint32_t>(t.x0.size()) : contact::kNoStrand);
  coupled[0].rings().regrade(thread, {adapting.moves.data(), edges});
  double sum = 0, touches = 0;
  for (const contact::StrandContact& c : contacts.contacts()) {
    if (c.force.isZero(0)) continue;
    if (c.pair.strand_a == thread) sum += c.pair.edge_a, ++touches;
    if (c.pair.strand_b == thread) sum += c.pair.edge_b, ++touches;
  }
  systems[thread].meet_at(touches > 0 ? static_cast<std::size_t>(sum / touches) : rod::BlockBand<3>::kBalanced);
}

/// Marked edges get a vertex in their middle, on the straight: the shape stays what it was.
void World::State::divide(std::uint32_t thread, std::size_t count) noexcept {
  Thread& t = threads[thread];
  rod::RodModel& m = t.model;
  rod::RodState& state = t.state;
  const std::size_t edges = m.edges(), old = state.x.size(), n = old + count;
  std::size_t i = 0;
  for (std::size_t v = 0; v < old; ++v) {
    adapting.new_vertex[v] = static_cast<std::uint32_t>(i);
    adapting.old_vertex[i++] = static_cast<std::uint32_t>(v);
    if (v >= edges) continue;
    adapting.moves[v] = {adapting.new_vertex[v], 0, adapting.marked[v] ? 2.0 : 1.0};
    if (adapting.marked[v]) adapting.old_vertex[i++] = kNew;
  }
  state.twist.divide(adapting.old_vertex.data(), n);
  const double round = m.node.back();
  for (auto* v : {&state.x, &state.v, &t.x0, &t.drive.load}) v->resize(n);
  for (auto* v : {&m.mass, &m.weight_mass, &m.drag, &state.ease}) v->resize(n);
  m.node.resize(m.closed ? n + 1 : n);
  t.slots.resize(n);
  std::vector<unsigned char>& added = adapting.fresh[thread];
  const Vector3d first = state.x[0], first_v = state.v[0];
  for (i = n; i-- > 0;) {
    added[i] = adapting.old_vertex[i] == kNew;
    if (!added[i]) {
      const std::size_t from = adapting.old_vertex[i];
      state.x[i] = state.x[from];
      state.v[i] = state.v[from];
      state.ease[i] = state.ease[from];
      m.node[i] = m.node[from];
      t.slots[i] = t.slots[from];
      continue;
    }
    // What stands behind has its new place already.
    const std::size_t before = adapting.old_vertex[i - 1];
    const bool last = i + 1 == n;
    state.x[i] = 0.5 * (state.x[before] + (last ? first : state.x[i + 1]));
    state.v[i] = 0.5 * (state.v[before] + (last ? first_v : state.v[i + 1]));
    state.ease[i] = 0;
    m.node[i] = 0.5 * (m.node[before] + (last ? round : m.node[i + 1]));
    t.slots[i] = t.free_slots.back();
    t.free_slots.pop_back();
    for (std::size_t slot = t.first + t.slots[i]; slot < memory.size(); slot += vertices) memory[slot] = {};
  }
  if (m.closed) m.node[n] = round;
  state.twist.set_nodes(m.node);
  weigh(t);
  renumber(thread, adapting.new_vertex.data(), edges);
}

/// Pairs of edges that are two halves, longer than need be, with nothing on the vertex between them. Marks that vertex.
std::size_t World::State::choose_joins(std::uint32_t thread) noexcept {
  const Thread& t = threads[thread];
  const std::size_t edges = t.model.edges();
  std::vector<unsigned char>& goes = adapting.going[thread];
  std::fill_n(goes.begin(), t.state.x.size(), static_cast<unsigned char>(0));
  std::size_t count = 0;
  for (std::size_t i = 0; i + 1 < edges && count < kMostAtOnce; ++i) {
    const double size = units_of(t, i), both = 2 * size;
    if (units_of(t, i + 1) != size || both > static_cast<double>(t.block) || std::fmod(t.model.node[i], both) != 0)
      continue;
    if (both > adapting.kept[i] || both > adapting.kept[i + 1] || adapting.fresh[thread][i] ||
        adapting.fresh[thread][i + 1] ||
        (i + 2 < adapting.fresh[thread].size() && i + 2 < t.state.x.size() && adapting.fresh[thread][i + 2]))
      continue;
    const bool has_before = t.model.closed || i > 0, has_behind = t.model.closed || i + 2 < edges;
    if (has_before && units_of(t, i > 0 ? i - 1 : edges - 1) < size) continue;
    if (has_behind && units_of(t, i + 2 < edges ? i + 2 : 0) < size) continue;
    if (pinned(thread, i + 1)) continue;
    const Vector3d& at = t.state.x[i + 1];
    const double aside = (0.5 * (t.state.x[i] + t.state.x[t.model.next(i + 1)]) - at).norm();
    if ((adapting.touched[i] || adapting.touched[i + 1]) && aside > kTouchAside * 2 * t.model.radius) continue;
    goes[i + 1] = 1;
    ++count;
    ++i;
  }
  return count;
}

/// Where new vertices belong, on the cubic through those round them, and those that go: on the straight.
void World::State::aim(std::uint32_t thread) noexcept {
  const Thread& t = threads[thread];
  const std::vector<Vector3d>& x = t.state.x;
  const std::size_t n = x.size();
  for (std::size_t i = 0; i < n; ++i) adapting.aims[thread][i] = x[i];
  for (std::size_t i = 0; i < n; ++i) {
    if (adapting.going[thread][i]) adapting.aims[thread][i] = 0.5 * (x[t.model.previous(i)] + x[t.model.next(i)]);
    if (!adapting.fresh[thread][i] || adapting.touched[t.model.previous(i)] || adapting.touched[i]) continue;
    // Of its neighbours those beyond which the thread goes on; a new one beside them is left out.
    const std::size_t b = t.model.previous(i), c = t.model.next(i);
    const auto beyond = [&](std::size_t from, bool back) {
      const bool end = !t.model.closed && (back ? from == 0 : from + 1 == n);
      if (end) return n;
      const std::size_t next = back ? t.model.previous(from) : t.model.next(from);
      if (!adapting.fresh[thread][next]) return next;
      return back ? t.model.previous(next) : t.model.next(next);
    };
    const std::size_t a = beyond(b, true), d = beyond(c, false);
    const double round = t.model.node.back(), at = t.model.node[i];
    const auto place = [&](std::size_t k) {  // from the new vertex, round a ring the shorter way
      double u = t.model.node[k] - at;
      if (t.model.closed) u -= round * std::round(u / round);
      return u;
    };
    // Lagrange's polynomial at 0, less the straight.
    const std::size_t points[4] = {a, b, c, d};
    Vector3d sum = Vector3d::Zero();
    for (std::size_t p : points) {
      if (p == n) continue;
      double weight = 1;
      for (std::size_t q : points)
        if (q != n && q != p) weight *= place(q) / (place(q) - place(p));
      sum += weight * x[p];
    }
    Vector3d aside = sum - x[i];
    const double most = kMostAside * (x[c] - x[b]).norm(), size = aside.norm();
    if (!(size < 1e9)) continue;
    if (size > most) aside *= most / size;
    adapting.aims[thread][i] = x[i] + aside;
  }
}

/// Vertices that go, each on the straight between its neighbours, are taken out.
void World::State::join(std::uint32_t thread) noexcept {
  Thread& t = threads[thread];
  rod::RodModel& m = t.model;
  rod::RodState& state = t.state;
  const std::size_t old = state.x.size(), edges = m.edges();
  const std::vector<unsigned char>& goes = adapting.going[thread];
  // Momentum, and what eases them, go to both sides.
  std::vector<Vector3d>& over = adapting.aims[thread];  // momentum, of a unit's mass
  std::fill_n(over.begin(), old, Vector3d::Zero());
  for (std::size_t v = 0; v < old; ++v) {
    if (!goes[v]) continue;
    const std::size_t a = m.previous(v), b = m.next(v);
    const Vector3d half = 0.5 * units_of(t, v) * (state.v[v] - 0.5 * (state.v[a] + state.v[b]));
    over[a] += half;
    over[b] += half;
    state.ease[a] += 0.5 * state.ease[v];
    state.ease[b] += 0.5 * state.ease[v];
  }
  for (std::size_t v = 0; v < old; ++v) {
    if (over[v] == Vector3d::Zero()) continue;
    double units = m.joint_length(v) / m.rest_length;
    if ((m.closed || v > 0) && goes[m.previous(v)]) units += 0.5 * units_of(t, m.previous(v));
    if ((m.closed || v + 1 < old) && goes[m.next(v)]) units += 0.5 * units_of(t, v);
    state.v[v] += over[v] / units;
  }
  std::size_t n = 0;
  for (std::size_t v = 0; v < old; ++v) {
    const bool second = goes[v];  // this edge is the second half of one
    const bool first = v + 1 < old && goes[v + 1];
    if (v < edges) {
      const auto edge = static_cast<std::uint32_t>(second ? n - 1 : n);
      adapting.moves[v] = {edge, second ? 0.5 : 0.0, first || second ? 0.5 : 1.0};
    }
    adapting.new_vertex[v] = second ? kGone : static_cast<std::uint32_t>(n);
    if (second) {
      for (std::size_t slot = t.first + t.slots[v]; slot < memory.size(); slot += vertices) memory[slot] = {};
      t.free_slots.push_back(t.slots[v]);
      continue;
    }
    adapting.old_vertex[n] = static_cast<std::uint32_t>(v);
    state.x[n] = state.x[v];
    state.v[n] = state.v[v];
    state.ease[n] = state.ease[v];
    m.node[n] = m.node[v];
    t.slots[n] = t.slots[v];
    ++n;
  }
  state.twist.join(adapting.old_vertex.data(), n);
  const double round = m.node[m.closed ? old : old - 1];
  for (auto* v : {&state.x, &state.v, &t.x0, &t.drive.load}) v->resize(n);
  for (auto* v : {&m.mass, &m.weight_mass, &m.drag, &state.ease}) v->resize(n);
  m.node.resize(m.closed ? n + 1 : n);
  if (m.closed) m.node[n] = round;
  t.slots.resize(n);
  state.twist.set_nodes(m.node);
  weigh(t);
  renumber(thread, adapting.new_vertex.data(), edges);
}

// Adding vertices on the straight and taking them from it changes no shape. What moves in between (new ones to the
// curve, those that go to the straight) is proven to cross nothing; else they stay on the straight, and none goes.
void World::State::adapt(StepReport& report) noexcept {
  std::size_t moved = 0, gone = 0;
  for (std::uint32_t k = 0; k < threads.size(); ++k) {
    Thread& t = threads[k];
    if (!is_adaptive(t)) continue;
    std::fill_n(adapting.fresh[k].begin(), t.pool, static_cast<unsigned char>(0));
    std::fill_n(adapting.going[k].begin(), t.pool, static_cast<unsigned char>(0));
    ask(k, true);
    std::size_t count = choose_divisions(k);
    if (count > t.pool - t.state.x.size()) {
      report.flags |= step_vertices_spent;
      ask(k, false);  // contacts first
      count = choose_divisions(k);
      if (count > t.pool - t.state.x.size()) count = 0;
    }
    if (count > 0) {
      divide(k, count);
      ask(k, true);
      report.vertices_added += static_cast<std::uint32_t>(count);
    }
    const std::size_t joins = choose_joins(k);
    if (count + joins == 0) continue;
    moved += count + joins;
    gone += joins;
    aim(k);
  }
  if (moved == 0) return;
  for (std::size_t k = 0; k < threads.size(); ++k) {
    const Thread& t = threads[k];
    starts[k] = strand_of(t);
    strands[k] = starts[k];
    const auto any = [](const std::vector<unsigned char>& of) {
      return std::find(of.begin(), of.end(), 1) != of.end();
    };
    if (is_adaptive(t) && (any(adapting.fresh[k]) || any(adapting.going[k]))) strands[k].x = adapting.aims[k].data();
  }
  const bool clear = coupled[0].uncrossed(starts.data(), strands.data(), threads.size());
  for (std::uint32_t k = 0; k < threads.size(); ++k) {
    Thread& t = threads[k];
    if (strands[k].x == t.state.x.data()) continue;
    const bool framed = rod::needs_frames(t.model, t.state.twist);
    if (clear) {
      std::copy_n(adapting.aims[k].begin(), t.state.x.size(), t.state.x.begin());
      if (framed) t.state.twist.carry(t.state.twist, t.state.x);
      const std::size_t before = t.state.x.size();
      join(k);
      report.vertices_removed += static_cast<std::uint32_t>(before - t.state.x.size());
    }
    if (framed && !t.model.angles_unknown) {
      t.state.twist.find_spans(t.model.rest_length);
      t.state.twist.spread();
    }
  }
}

}  // namespace ligature::world
