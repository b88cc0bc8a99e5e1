#include <algorithm>
#include <utility>

#include "sim/world/build.hpp"
#include "sim/world/state.hpp"

namespace ligature::world {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Where a vertex of `from` lies in its piece. What clamps or loads the vertex of the cut stays with the thread before
// the cut.
std::size_t place_in(const Thread& piece, const Thread& from, std::size_t first_vertex, std::size_t vertex) {
  const std::size_t n = from.x0.size(), i = (vertex + n - first_vertex) % n;
  if (from.model.closed) return i == 0 ? n : i;
  if (first_vertex > 0) return vertex > first_vertex ? i : kNone;
  return vertex < piece.x0.size() ? vertex : kNone;
}

void take(Thread& piece, const Thread& from, std::size_t first_vertex) noexcept {
  const std::size_t n = piece.x0.size(), whole = from.x0.size();
  piece.model.rest_length = from.model.rest_length;  // may have been changed by the schedule, as the drag
  piece.model.angle_drag = from.model.angle_drag;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t j = (first_vertex + i) % whole;
    const bool cut = from.model.closed ? i == 0 || i + 1 == n : (i == 0 && j > 0) || (i + 1 == n && j + 1 < whole);
    const double share = cut ? 0.5 : 1.0;
    piece.x0[i] = from.x0[j];
    piece.state.x[i] = from.state.x[j];
    piece.state.v[i] = from.state.v[j];
    piece.state.ease[i] = share * from.state.ease[j];
    piece.model.drag[i] = share * from.model.drag[j];
    if (from.model.yield_strain > 0) piece.model.rest_curvature[i] = from.model.rest_curvature[j];
  }
  rod::Twist& twist = piece.state.twist;
  twist.take_piece(from.state.twist, first_vertex);
  if (!piece.model.angles_unknown && twist.any_held()) {
    twist.find_spans(piece.model.rest_length);
    twist.spread();
  }
  piece.clamps.clear();
  for (const Clamp& c : from.clamps) {
    const std::size_t i = place_in(piece, from, first_vertex, c.vertex);
    if (i == kNone) continue;
    piece.clamps.push_back(c);
    piece.clamps.back().vertex = i;
  }
  piece.loads.clear();
  for (const Load& l : from.loads) {
    const std::size_t i = place_in(piece, from, first_vertex, l.vertex);
    if (i != kNone) piece.loads.push_back({l.params, i});
  }
}

}  // namespace

void World::State::plan_cuts() {
  struct Part {  // what there is of the drawn threads after the cuts planned so far
    std::size_t thread;
    const Thread* shape;
    std::size_t first_drawn;  // its first vertex, counted as drawn
  };
  std::vector<Part> parts;
  for (std::size_t k = 0; k < threads.size(); ++k) parts.push_back({k, &threads[k], 0});
  cuts.reserve(params.cuts.size());
  for (const CutParams& c : params.cuts) {
    const std::size_t drawn = cut_vertex(params.threads[c.thread], c.s_mm), around = threads[c.thread].x0.size();
    for (std::size_t k = 0; k < parts.size(); ++k) {
      Part& part = parts[k];
      if (part.shape->origin != c.thread) continue;
      const Thread& from = *part.shape;
      const bool closed = from.model.closed;
      const std::size_t n = from.x0.size(), vertex = (drawn + around - part.first_drawn) % around;
      if (!closed && (vertex == 0 || vertex + 1 >= n)) continue;
      Cut& made = cuts.emplace_back();
      made.time_s = c.time_s;
      made.thread = part.thread;
      made.vertex = vertex;
      made.pieces.reserve(2);
      if (closed) {
        made.pieces.push_back(build_piece(from, vertex, n + 1));
        part = {part.thread, &made.pieces[0], drawn};
      } else {
        made.pieces.push_back(build_piece(from, 0, vertex + 1));
        made.pieces.push_back(build_piece(from, vertex, n - vertex));
        part.shape = &made.pieces[0];
        parts.push_back({parts.size(), &made.pieces[1], drawn});
      }
      break;
    }
  }
  const Thread* longest = nullptr;
  for (const Thread& t : threads)
    if (!t.model.closed && t.block == 1 && (longest == nullptr || t.x0.size() > longest->x0.size())) longest = &t;
  if (longest == nullptr) return;
  std::size_t clamps = 0, loads = 0, frames = 0;
  for (const Thread& t : threads) {
    if (!t.model.closed && t.block == 1) frames = std::max(frames, t.state.twist.most_held());
    clamps = std::max(clamps, t.clamps.capacity());
    loads = std::max(loads, t.loads.capacity());
  }
  for (std::size_t k = 0; k < capacity.cuts; ++k) {
    Cut& spare = spare_cuts.emplace_back();
    for (int piece = 0; piece < 2; ++piece) {
      Thread& t = spare.pieces.emplace_back(build_piece(*longest, 0, longest->x0.size(), frames));
      t.model.rest_curvature.reserve(longest->x0.size());
      for (auto* v :
           {&t.model.sections.stretch, &t.model.sections.bend, &t.model.sections.twist, &t.model.sections.edge_bend,
            &t.model.sections.edge_twist, &t.model.sections.radius, &t.model.sections.angle_drag})
        v->reserve(longest->x0.size());
      t.clamps.reserve(clamps);
      t.loads.reserve(loads);
      t.drive.held.reserve(clamps);
      t.drive.frames.reserve(clamps);
    }
  }
}

void World::State::apply_cuts(StepReport& report) noexcept {
  bool any = false;
  for (; cuts_made < cuts.size() && cuts[cuts_made].time_s <= time_s() + 1e-6 * params.step_s; ++cuts_made) {
    cut(cuts[cuts_made]);
    any = true;
  }
  if (cut_wanted) {
    for (std::size_t f = 0; f < forceps.size(); ++f)
      if (cut_between_jaws(f)) report.flags |= step_cut, any = true;
    cut_wanted = false;
  }
  if (!any || coupled[0].rings().list().empty()) return;
  for (std::size_t k = 0; k < threads.size(); ++k) strands[k] = strand_of(threads[k]);
  coupled[0].rings().follow(strands.data(), all_bodies());
}

// Of the thread that they hold first, in the middle of what they hold. False: there is none, or it cannot be cut there.
bool World::State::cut_between_jaws(std::size_t f) noexcept {
  if (!grasps[f].active || grasps[f].held.empty() || spare_cuts_made == spare_cuts.size()) return false;
  const std::size_t thread = grasps[f].held[0].thread;
  const Thread& from = threads[thread];
  if (from.model.closed || from.block > 1 || from.x0.size() < 3) return false;
  // The run of it that they hold: of a loop between the jaws not what lies outside.
  std::size_t low = grasps[f].held[0].vertex, high = low;
  while (low > 0 && is_held(f, static_cast<std::uint32_t>(thread), low - 1)) --low;
  while (high + 1 < from.x0.size() && is_held(f, static_cast<std::uint32_t>(thread), high + 1)) ++high;
  const std::size_t n = from.x0.size(), vertex = std::clamp<std::size_t>((low + high) / 2, 1, n - 2);
  if (const auto [first, last] = needle_vertices(from); last > first && vertex >= first && vertex <= last) return false;
  Cut& c = spare_cuts[spare_cuts_made++];
  c.thread = thread;
  c.vertex = vertex;
  shape_piece(c.pieces[0], from, 0, vertex + 1);
  shape_piece(c.pieces[1], from, vertex, n - vertex);
  cut(c);
  return true;
}

// Exchanges memory that was taken at create; what the thread had stays behind in the plan.
void World::State::cut(Cut& c) noexcept {
  Thread& from = threads[c.thread];
  for (std::size_t k = 0; k < c.pieces.size(); ++k) take(c.pieces[k], from, from.model.closed || k > 0 ? c.vertex : 0);
  for (std::size_t k = 0; k < c.pieces.size(); ++k) {
    c.pieces[k].first_edge = from.first_edge + (from.model.closed || k > 0 ? c.vertex : 0);
    c.pieces[k].ring_edges = from.ring_edges;
  }
  divide_memory(c);
  divide_grasps(c);
  divide_contacts(c);
  divide_rings(c);
  std::swap(from, c.pieces[0]);
  if (c.pieces.size() > 1) threads.push_back(std::move(c.pieces[1]));
}

// The slots of a thread's pieces stand in the order of its vertices, as drawn or from its first cut round: the vertex
// that is doubled moves those behind it on by one.
void World::State::divide_memory(Cut& c) noexcept {
  const Thread& from = threads[c.thread];
  const std::size_t n = from.x0.size(), at = from.first + c.vertex;
  std::size_t end = from.first + n;
  for (const Thread& t : threads)
    if (t.origin == from.origin) end = std::max(end, t.first + t.x0.size());
  for (std::size_t group = 0; group * vertices < memory.size(); ++group) {
    const auto slot = [&](std::size_t i) { return memory.begin() + static_cast<std::ptrdiff_t>(group * vertices + i); };
    const auto [before, behind] = from.model.closed ? std::pair{from.first + n, from.first}
                                                    : std::pair{at, at + 1};  // both of the doubled vertex
    if (from.model.closed)
      std::rotate(slot(from.first), slot(at), slot(from.first + n));
    else
      std::copy_backward(slot(at), slot(end), slot(end + 1));
    slot(behind)->force *= 0.5;
    *slot(before) = *slot(behind);
  }
  c.pieces[0].first = from.first;
  if (from.model.closed) return;
  for (Thread& t : threads)
    if (t.origin == from.origin && t.first > from.first) ++t.first;
  c.pieces[1].first = at + 1;
}

// What touches the pieces goes on touching them, with the forces it has.
void World::State::divide_contacts(const Cut& c) noexcept {
  const Thread& from = threads[c.thread];
  const auto thread = static_cast<std::uint32_t>(c.thread), at = static_cast<std::uint32_t>(c.vertex);
  const auto edges = static_cast<std::uint32_t>(from.model.edges()), other = static_cast<std::uint32_t>(threads.size());
  const auto divide = [&](auto& contacts) {
    if (from.model.closed)
      contacts.open(thread, at, edges);
    else
      contacts.divide(thread, at, other);
  };
  divide(coupled[0].contacts());
  divide(coupled[0].on_meshes());
}

// Holes go with the piece that runs through them. Of a channel that was cut between its holes each piece has one, and
// ends inside the wall.
void World::State::divide_rings(const Cut& c) noexcept {
  contact::Rings& rings = coupled[0].rings();
  const auto n = static_cast<double>(threads[c.thread].x0.size()), at = static_cast<double>(c.vertex);
  const bool closed = threads[c.thread].model.closed;
  const auto thread = static_cast<std::uint32_t>(c.thread), other = static_cast<std::uint32_t>(threads.size());
  std::vector<contact::Ring>& list = rings.list();
  for (std::size_t i = 0; i < list.size(); ++i) {
    contact::Ring& r = list[i];
    if (r.strand != thread) continue;
    const bool paired = i + 1 < list.size() && list[i + 1].channel == r.channel && list[i + 1].strand == thread;
    const bool over_first = closed && paired && (r.ahead ? r.u > list[i + 1].u : list[i + 1].u > r.u);
    if (paired && ((r.u > at) != (list[i + 1].u > at)) != over_first) {
      const bool first_ends = over_first ? r.u > list[i + 1].u : r.u <= at;
      list[i + 1].channel = channels++;
      r.to_last = first_ends;
      list[i + 1].to_last = !first_ends;
    }
    if (closed) continue;
    if (r.u <= at) continue;
    r.u -= at;
    r.strand = rings.contacts()[i].pair.strand_a = other;
  }
  if (!closed) return;
  for (contact::Ring& r : list)
    if (r.strand == thread) r.u = r.u > at ? r.u - at : r.u + n - at;
  rings.order();
}

// Jaws that hold the vertex of the cut hold both ends.
void World::State::divide_grasps(const Cut& c) noexcept {
  const Thread& from = threads[c.thread];
  const bool closed = from.model.closed;
  const auto n = static_cast<std::uint32_t>(from.x0.size()), at = static_cast<std::uint32_t>(c.vertex),
             thread = static_cast<std::uint32_t>(c.thread),
             other = closed ? thread : static_cast<std::uint32_t>(threads.size());
  for (Grasp& grasp : grasps) {
    const std::size_t held = grasp.held.size();
    for (std::size_t h = 0; h < held; ++h) {
      Held& own = grasp.held[h];
      if (own.thread != thread) continue;
      if (own.vertex == at) {
        own.force_W *= 0.5;
        Held twin = own;
        twin.thread = other;
        twin.vertex = 0;
        own.vertex = closed ? n : at;
        grasp.held.push_back(twin);
      } else if (closed) {
        own.vertex = (own.vertex + n - at) % n;
      } else if (own.vertex > at) {
        own.thread = other;
        own.vertex -= at;
      }
    }
    if (!grasp.frame_held || grasp.frame_thread != thread) continue;
    if (closed) {
      grasp.frame_edge = (grasp.frame_edge + n - at) % n;
    } else if (grasp.frame_edge >= at) {
      grasp.frame_thread = other;
      grasp.frame_edge -= at;
    }
  }
}

}  // namespace ligature::world
