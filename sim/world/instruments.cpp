#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "sim/contact/tolerances.hpp"
#include "sim/world/state.hpp"

namespace ligature::world {
namespace {

constexpr double kEaseSpeed = 20.0;       // at which a released vertex may start to give way [mm/s]
constexpr std::size_t kMostSpheres = 64;  // of an arm
constexpr int kMostPlaces = 64;           // of jaws on their way in a step
constexpr double kSliding = 0.5;          // of its bound: a grip that may slide
constexpr double kDrawnIn = 0.5;          // of what is spared on either side of jaws: drawn in further, it is more
constexpr double kLikelyDrawn = 2;        // times what a step has drawn in so far
constexpr double kMostlyUndone = 0.5;     // of a step's motion, left
constexpr double kGripShedding = 0.5;     // a sliding vertex this far outside the faces is no longer held [mm]

// Of the stiff body that a thread may have, a needle.
bool in_body(const rod::RodModel& model, std::size_t vertex) {
  const rod::Sections& s = model.sections;
  return s.body_last > s.body_first && vertex >= s.body_first && vertex <= s.body_last;
}

// How far outside the faces a sliding vertex is held yet: what it stands for reaches to the next one.
double shedding(const rod::RodModel& model, std::size_t vertex) noexcept {
  double longest = kGripShedding;
  if (model.closed || vertex > 0) longest = std::max(longest, model.edge_length(model.previous(vertex)));
  if (model.closed || vertex + 1 < model.vertices()) longest = std::max(longest, model.edge_length(vertex));
  return longest;
}

}  // namespace

bool World::State::is_held(std::size_t f, std::uint32_t thread, std::size_t vertex) const noexcept {
  for (const Held& h : grasps[f].held)
    if (h.thread == thread && h.vertex == vertex) return true;
  return false;
}

// Closed jaws overlap the thread they hold, and what of it leaves them as far as it is still between their faces:
//
//   distance of its centreline from an arm's axis  sqrt(radius^2 + z^2) < radius + thread_radius
//
// which is so far along a thread that leaves them straight to the side, and further where it leaves them aslant.
double World::State::beside_jaws(std::size_t f, const Held& held) const noexcept {
  const double own = threads[held.thread].model.radius_at(held.vertex), jaw = forceps[f].radius(held.anchor_T.x);
  return std::sqrt((2 * jaw + own) * own);
}

// What slides through the faces by this draws in what runs behind it, which was outside when the step began: were it
// met by the arms there, they would hold it, by any force. @returns whether that is more than was thought
bool World::State::draw_in(std::size_t f, Held& held, const Vector3d& slid_W, double likely) noexcept {
  const Thread& t = threads[held.thread];
  const std::size_t last = t.state.x.size() - 1, i = held.vertex;
  const std::size_t next = i < last ? i + 1 : t.model.closed ? 0 : last;
  const std::size_t previous = i > 0 ? i - 1 : t.model.closed ? last : 0;
  double& side = slid_W.dot(t.state.x[next] - t.state.x[previous]) > 0 ? held.before : held.behind;
  const double by = slid_W.norm();
  if (!(by > side + kDrawnIn * beside_jaws(f, held))) return false;
  side = likely * by;
  return true;
}

// Before the step: what slides goes on sliding as it did. Jaws that go further in a step than they are wide draw in
// what of the thread lies between where they were and where they go, from either side.
void World::State::foresee_drawn_in() noexcept {
  for (std::size_t f = 0; f < forceps.size(); ++f)
    for (Held& h : grasps[f].held) {
      const Thread& t = threads[h.thread];
      const Vector3d back = to_eigen(jaws(f) * h.anchor_T) - t.state.x[h.vertex];
      const double bound = forceps[f].model().grip_force / static_cast<double>(grasps[f].held.size());
      const bool wide = back.norm() > forceps[f].radius(h.anchor_T.x);
      h.before = h.behind = wide && (grasps[f].slid || h.force_W.norm() > kSliding * bound) ? back.norm() : 0;
      if (grasps[f].slid) draw_in(f, h, params.step_s * t.state.v[h.vertex] - back, 1);
    }
}

// In the course of it: what loads, clamps and other jaws draw through faces is known only as they do.
void World::State::spare_drawn_in() noexcept {
  bool more = false;
  for (const Thread& t : threads)
    for (std::size_t j = t.constraints_first; j < t.constraints_first + t.constraints_count; ++j) {
      const Constraint& c = constraints[j];
      if (c.kind != Constraint::Kind::grip || !c.settled) continue;
      const std::size_t f = c.slot / instrument::kMostHeld;
      const Vector3d slid = contact::grip_at(c, t.state.x[c.vertex]).slid;
      if (!slid.isZero(0) && draw_in(f, grasps[f].held[c.slot % instrument::kMostHeld], slid, kLikelyDrawn))
        more = true;
    }
  if (more) spare_held();
}

// Jaws that go further in a step than they are wide are looked for on the way between, too.
void World::State::spare_held() noexcept {
  spared.clear();
  for (std::size_t f = 0; f < forceps.size(); ++f)
    for (const Held& h : grasps[f].held) {
      const Pose X_TW = inverse(jaws(f));
      const rod::RodModel& model = threads[h.thread].model;
      const double jaw = forceps[f].radius(h.anchor_T.x);
      // From the jaws as they go to them as they were, seen from the thread, which stays.
      const Vector3d back = to_eigen(jaws(f) * h.anchor_T) - threads[h.thread].x0[h.vertex];
      const int places = back.norm() > jaw ? std::min(static_cast<int>(std::ceil(back.norm() / jaw)), kMostPlaces) : 0;
      // In edges, also where they are of different lengths.
      const auto edges = [&](bool ahead) {
        const double reach = beside_jaws(f, h) + (ahead ? h.behind : h.before);
        double count = 0, arc = 0;
        const std::size_t most = model.edges();
        double over = 0;
        const auto between = [&](std::size_t i) {
          const Vector3d& x = threads[h.thread].x0[i];
          for (int k = 0; k <= places; ++k)
            if (forceps[f].overlap(X_TW * from_eigen(k == 0 ? x : x + (static_cast<double>(k) / places) * back),
                                   model.radius_at(i)))
              return true;
          return false;
        };
        for (std::size_t i = h.vertex; (arc < reach || between(i)) && count < static_cast<double>(most); ++count) {
          if (!ahead && i == 0 && !model.closed) break;
          const std::size_t edge = ahead ? i : i > 0 ? i - 1 : most - 1;
          if (edge >= most) break;
          const double last = model.edge_length(edge);
          arc += last;
          over = std::clamp((arc - reach) / last, 0.0, arc - last < reach ? 1.0 : 0.0);
          i = ahead ? model.next(edge) : edge;
        }
        return count - over + 1;
      };
      const double from = h.vertex - edges(false), to = h.vertex + edges(true);
      const auto round = static_cast<double>(model.edges());
      for (std::size_t part = 0; part < kParts; ++part) {
        const auto body = static_cast<std::uint32_t>(obstacles.size() + kParts * f + part);
        spared.push_back({h.thread, body, from, to, 0});
        if (model.closed && from < 0) spared.push_back({h.thread, body, from + round, to + round, 0});
        if (model.closed && to > round) spared.push_back({h.thread, body, from - round, to - round, 0});
      }
    }
}

Pose World::State::jaws(std::size_t f) const noexcept {
  Pose X = forceps[f].X_WT();
  X.p = X.p + grasps[f].aside_W;
  return X;
}

bool World::State::try_grasp(std::size_t f) noexcept {
  const Forceps& tool = forceps[f];
  Grasp& grasp = grasps[f];
  const Pose X_TW = inverse(jaws(f));
  grasp.held.clear();
  grasp.frame_held = false;
  for (std::uint32_t k = 0; k < threads.size(); ++k) {
    const Thread& t = threads[k];
    const auto take = [&](std::size_t vertex) {
      if (vertex < t.state.x.size() && !is_held(f, k, vertex))
        grasp.held.push_back({k, static_cast<std::uint32_t>(vertex), X_TW * from_eigen(t.state.x[vertex]), {0, 0, 0}});
    };
    // A long segment may cross the faces with both ends outside; a short one is held together with its neighbour, so
    // that the grip also fixes the direction.
    const double slim = 0.5 * tool.model().tip_radius;
    for (std::size_t i = 0; i < t.model.edges(); ++i) {
      const int parts = std::clamp(static_cast<int>(std::ceil(t.model.edge_length(i) / slim)), 1, 16);
      const std::size_t next = t.model.next(i);
      bool crosses = false;
      for (int s = 0; s <= parts && !crosses; ++s) {
        const double at = static_cast<double>(s) / parts;
        const Vector3d p = t.state.x[i] + at * (t.state.x[next] - t.state.x[i]);
        crosses = tool.between_faces(X_TW * from_eigen(p), t.model.radius_at(i, at), grasp.parted);
      }
      if (!crosses) continue;
      take(i);
      take(next);
      if (!grasp.frame_held) {
        rod::Twist& twist = threads[k].state.twist;
        if (!rod::needs_frames(t.model, twist)) twist.restart(t.state.x);  // frames were not carried so far
        grasp.frame_held = true;
        grasp.frame_thread = k;
        grasp.frame_edge = static_cast<std::uint32_t>(i);
        twist.hold_edge(i);
        grasp.frame_d1_T = rotate(X_TW.q, from_eigen(twist.material(i).d1));
      }
    }
  }
  grasp.active = !grasp.held.empty();
  return grasp.active;
}

// The edge stays held where the other forceps holds it too.
void World::State::release_frame(std::size_t f) noexcept {
  Grasp& grasp = grasps[f];
  const Grasp& other = grasps[1 - f];
  if (!grasp.frame_held) return;
  const bool shared = other.active && other.frame_held && other.frame_thread == grasp.frame_thread &&
                      other.frame_edge == grasp.frame_edge;
  if (!shared) threads[grasp.frame_thread].state.twist.release_edge(grasp.frame_edge);
  grasp.frame_held = false;
}

void World::State::let_go(std::size_t f) noexcept {
  Grasp& grasp = grasps[f];
  for (const Held& h : grasp.held) {
    rod::RodState& state = threads[h.thread].state;
    state.ease[h.vertex] = std::max(state.ease[h.vertex], h.force_W.norm() / kEaseSpeed);
  }
  release_frame(f);
  grasp.held.clear();
  grasp.shed_W.setZero();
  grasp.frame_held = grasp.active = grasp.armed = grasp.slid = false;
}

void World::State::move_instruments(const InstrumentSample& sample, StepReport& report) noexcept {
  for (std::size_t f = 0; f < forceps.size(); ++f) {
    Forceps& tool = forceps[f];
    Grasp& grasp = grasps[f];
    const contact::Tools& tools = coupled[0].tools();
    const Vector3d &by_minus = tools.given(kParts * f), &by_plus = tools.given(kParts * f + 1);
    const bool was_gone = !tool.present() || tool.given_up();
    tool.follow(sample.instruments[f], mount, params.step_s);
    grasp.aside_W = from_eigen(0.5 * (by_minus + by_plus));
    grasp.parted = 0.5 * to_eigen(rotate(tool.X_WT().q, {0, 1, 0})).dot(by_plus - by_minus);
    if (tool.status() == TrackStatus::lost) report.flags |= step_instrument_lost;
    if (was_gone && !tool.given_up())  // it appears: no side of it is remembered
      for (std::size_t slot = (slot_groups.size() + kParts * f) * vertices;
           slot < (slot_groups.size() + kParts * (f + 1)) * vertices; ++slot)
        memory[slot] = {};
    if (grasp.active && (tool.opening() > tool.model().release_opening || tool.given_up())) {
      let_go(f);
      report.flags |= step_released, ++report.releases;
    }
    if (tool.status() == TrackStatus::lost || grasp.active) continue;
    if (tool.opening() > tool.model().release_opening) grasp.armed = true;
    const bool from_start = std::exchange(grasp.fresh, false);
    if ((!grasp.armed && !from_start) || tool.opening() >= tool.model().grasp_opening) continue;
    if (try_grasp(f)) {
      report.flags |= step_grasped, ++report.grasps;
      ++grasp_count;
    } else if (tool.half_gap(0) < tool.model().tip_radius) {
      grasp.armed = false;  // closed on nothing
    }
  }
}

// The closing faces push what they hold to the middle. A stiff body is shifted and turned by them, not bent: the
// straight through its vertices goes where its ends are pushed, what stands off it stays; and no faster than the faces
// close, or what stood out between them would be thrown.
void World::State::squeeze(std::size_t f, std::uint32_t thread) noexcept {
  const Forceps& tool = forceps[f];
  Grasp& grasp = grasps[f];
  const rod::RodModel& model = threads[thread].model;
  double n = 0, at = 0, y = 0, at2 = 0, at_y = 0;
  const Held *first = nullptr, *last = nullptr;
  for (Held& h : grasp.held) {
    if (h.thread != thread) continue;
    if (!in_body(model, h.vertex)) {
      h.anchor_T = tool.squeezed(h.anchor_T, model.radius_at(h.vertex));
      continue;
    }
    const auto place = static_cast<double>(h.vertex);
    n += 1, at += place, y += h.anchor_T.y, at2 += place * place, at_y += place * h.anchor_T.y;
    if (!first || h.vertex < first->vertex) first = &h;
    if (!last || h.vertex > last->vertex) last = &h;
  }
  if (!first) return;
  const double spread = n * at2 - at * at, slope = spread > 0.5 ? (n * at_y - at * y) / spread : 0.0;
  // How far an end of the straight is pushed.
  const auto pushed = [&](const Held& h) {
    const double middle = y / n + slope * (static_cast<double>(h.vertex) - at / n), x = h.anchor_T.x;
    const double closes = std::tan(0.5 * tool.opening_before()) - std::tan(0.5 * tool.opening());
    const double most = std::abs(closes) * (x - tool.model().hinge_p_T.x) + contact::kRecoverySpeed * params.step_s;
    return std::clamp(tool.squeezed({x, middle, h.anchor_T.z}, model.radius_at(h.vertex)).y - middle, -most, most);
  };
  const double from = pushed(*first), to = pushed(*last), begin = static_cast<double>(first->vertex);
  const double length = static_cast<double>(last->vertex) - begin;
  for (Held& h : grasp.held)
    if (h.thread == thread && in_body(model, h.vertex))
      h.anchor_T.y += from + (length > 0 ? (static_cast<double>(h.vertex) - begin) / length : 0.0) * (to - from);
}

void World::State::add_grips(std::uint32_t thread) noexcept {
  for (std::size_t f = 0; f < forceps.size(); ++f) {
    Grasp& grasp = grasps[f];
    squeeze(f, thread);
    for (std::size_t h = 0; h < grasp.held.size(); ++h) {
      Held& held = grasp.held[h];
      if (held.thread != thread) continue;
      Constraint c;
      c.kind = Constraint::Kind::grip;
      c.flipped = true;  // the secant: a grip at its bound must not be without stiffness
      c.vertex = held.vertex;
      c.anchor = to_eigen(jaws(f) * held.anchor_T);
      c.normal = to_eigen(rotate(jaws(f).q, {0, 1, 0}));
      c.bound = forceps[f].model().grip_force / static_cast<double>(grasp.held.size());
      c.bends = !in_body(threads[thread].model, held.vertex);
      c.friction = params.friction.thread_tool;
      c.holder = static_cast<std::uint32_t>(f);
      c.k = c.bound / contact::kGripGive;
      c.stiffer = contact::kGripAcross;
      c.slot = f * instrument::kMostHeld + h;
      constraints.push_back(c);
    }
  }
}

// All that was held slid out in one step: a thread that still runs past the faces, by no more than it slid, runs
// between them. Of its vertices, not its ends, the nearest one is held, where the faces are.
void World::State::keep_beside(std::size_t f, const Held& left, double slid_mm) noexcept {
  const Forceps& tool = forceps[f];
  const Thread& t = threads[left.thread];
  const rod::RodModel& model = t.model;
  const Pose X_TW = inverse(jaws(f));
  const double room = std::max(shedding(model, left.vertex), slid_mm);
  double least = room;
  Held nearest;
  nearest.thread = left.thread;
  const auto look_at = [&](std::size_t i) {
    if (!model.closed && (i == 0 || i + 1 == t.state.x.size())) return;
    const Vec3 p = X_TW * from_eigen(t.state.x[i]);
    Vec3 inside = tool.squeezed(p, model.radius_at(i));
    inside.x = std::clamp(p.x, -tool.model().grasp_reach, 0.0);
    inside.z = std::clamp(p.z, -tool.radius(inside.x), tool.radius(inside.x));
    if (const double off = norm(p - inside); off < least)
      least = off, nearest.vertex = static_cast<std::uint32_t>(i), nearest.anchor_T = inside;
  };
  // What was held last slid by so much from the other edge of the faces, at most.
  const double reach = room + slid_mm + 2 * tool.radius(left.anchor_T.x);
  look_at(left.vertex);
  for (const bool ahead : {false, true}) {
    double arc = 0;
    for (std::size_t i = left.vertex; arc < reach;) {
      if (!ahead && i == 0 && !model.closed) break;
      const std::size_t edge = ahead ? i : i > 0 ? i - 1 : model.edges() - 1;
      if (edge >= model.edges()) break;
      arc += model.edge_length(edge);
      i = ahead ? model.next(edge) : edge;
      if (i == left.vertex) break;
      look_at(i);
    }
  }
  if (least < room) grasps[f].held.push_back(nearest);
}

// What is drawn in over an arm's edge, beside what is held, runs on between the faces and not through the arm.
void World::State::draw_between(std::size_t f) noexcept {
  Grasp& grasp = grasps[f];
  const Pose X_TW = inverse(jaws(f));
  for (std::size_t h = 0, count = grasp.held.size(); h < count; ++h)
    for (const bool ahead : {false, true}) {
      const std::uint32_t thread = grasp.held[h].thread;
      const rod::RodModel& model = threads[thread].model;
      const std::size_t last = model.vertices() - 1;
      for (std::size_t i = grasp.held[h].vertex;;) {
        if (i == (ahead ? last : 0) && !model.closed) break;
        i = ahead ? (i == last ? 0 : i + 1) : (i == 0 ? last : i - 1);
        const Vec3 p_T = X_TW * from_eigen(threads[thread].state.x[i]);
        if (in_body(model, i) || is_held(f, thread, i) || !forceps[f].within_arm(p_T)) break;
        grasp.held.push_back({thread, static_cast<std::uint32_t>(i), p_T, {0, 0, 0}});
      }
    }
}

// A vertex that slid takes its anchor along; out of the faces it is free. New ones come in between the faces.
void World::State::update_grips(StepReport& report) noexcept {
  for (std::size_t f = 0; f < forceps.size(); ++f) {
    Grasp& grasp = grasps[f];
    if (!grasp.active) continue;
    const Forceps& tool = forceps[f];
    const Pose X_TW = inverse(jaws(f));
    grasp.slid = false;
    double slid_mm = 0;
    grasp.shed_W.setZero();
    for (const Thread& t : threads)
      for (std::size_t j = t.constraints_first; j < t.constraints_first + t.constraints_count; ++j) {
        const Constraint& c = constraints[j];
        if (c.kind != Constraint::Kind::grip || c.slot / instrument::kMostHeld != f) continue;
        if (!c.settled) continue;  // cut short before it went with the jaws: what it lags is no pull
        Held& held = grasp.held[c.slot % instrument::kMostHeld];
        const contact::GripAt grip = contact::grip_at(c, t.state.x[c.vertex]);
        if (left_of_motion < kMostlyUndone) held.force_W = grip.force;  // nor is it where most was undone
        if (grip.slid.isZero(0)) continue;
        grasp.slid = true;
        slid_mm = std::max(slid_mm, grip.slid.norm());
        held.anchor_T = X_TW * from_eigen(c.anchor + grip.slid);
      }
    if (!grasp.slid) continue;
    std::size_t kept = 0;
    const std::optional<Held> left = grasp.held.empty() ? std::nullopt : std::optional(grasp.held[0]);
    for (std::size_t h = 0; h < grasp.held.size(); ++h) {
      const Held held = grasp.held[h];
      const Vec3 p = held.anchor_T;
      const double room = shedding(threads[held.thread].model, held.vertex);
      const bool out = p.x > room || p.x < -tool.model().grasp_reach - room || std::abs(p.z) > tool.radius(p.x) + room;
      if (out)
        grasp.shed_W += held.force_W;
      else
        grasp.held[kept++] = held;
    }
    grasp.held.resize(kept);
    for (std::uint32_t k = 0; k < threads.size(); ++k)
      for (std::size_t i = 0; i < threads[k].state.x.size(); ++i) {
        const Vec3 p_T = X_TW * from_eigen(threads[k].state.x[i]);
        if (tool.between_faces(p_T, threads[k].model.radius_at(i), grasp.parted) && !is_held(f, k, i))
          grasp.held.push_back({k, static_cast<std::uint32_t>(i), p_T, {0, 0, 0}});
      }
    draw_between(f);
    if (grasp.held.empty() && left) keep_beside(f, *left, slid_mm);
    if (grasp.frame_held && !is_held(f, grasp.frame_thread, grasp.frame_edge)) release_frame(f);
    if (grasp.held.empty()) {
      let_go(f);
      report.flags |= step_released, ++report.releases;
    }
  }
}

// Against tissue an arm is a row of spheres, as far apart as the tip is thick.
void World::State::add_tools() {
  for (const Forceps& tool : forceps)
    for (int part = 0; part < kParts; ++part) {
      const contact::RoundCone cone = part < kArms ? tool.cone_A(part) : tool.seam_T();
      const auto spheres = static_cast<std::size_t>(std::ceil((cone.b - cone.a).norm() / cone.radius_a)) + 1;
      std::vector<double> radius(std::clamp<std::size_t>(spheres, 2, kMostSpheres));
      for (std::size_t i = 0; i < radius.size(); ++i)
        radius[i] =
            std::lerp(cone.radius_a, cone.radius_b, static_cast<double>(i) / static_cast<double>(radius.size() - 1));
      along_arm.resize(std::max(along_arm.size(), radius.size()));
      if (part < kArms)
        coupled[0].tools().add(std::move(radius), 1 / tool.model().hand_stiffness);
      else
        coupled[0].tools().add_filling(std::move(radius));
    }
  for (std::size_t k = 0; k < coupled[0].tools().count(); ++k) {
    bodies.push_back(&coupled[0].tools().body(k));
    soft_bodies.push_back(nullptr);
    rigid_surfaces.push_back(nullptr);
    curved = true;
  }
  spared.reserve(2 * kAllParts * instrument::kMostHeld);
}

void World::State::lead_tools() noexcept {
  contact::Tools& tools = coupled[0].tools();
  for (std::size_t k = 0; k < tools.count(); ++k) {
    const Forceps& tool = forceps[k / kParts];
    const int part = static_cast<int>(k % kParts);
    const bool seam = part == kArms;
    if (!tool.present() || tool.given_up() || (seam && !tool.seamless())) {
      tools.leave(k);
      continue;
    }
    const contact::RoundCone cone = seam ? tool.seam_T() : tool.cone_A(part);
    const Pose X_WA = seam ? tool.X_WT() : tool.X_WA(part);
    const std::size_t last = tools.spheres(k) - 1;
    for (std::size_t i = 0; i <= last; ++i)
      along_arm[i] =
          to_eigen(X_WA * from_eigen(cone.a + static_cast<double>(i) / static_cast<double>(last) * (cone.b - cone.a)));
    tools.lead(k, along_arm.data());
  }
}

// A gripped edge's frame turns with the forceps.
void World::State::turn_gripped_frames() noexcept {
  for (std::size_t f = 0; f < forceps.size(); ++f) {
    const Grasp& grasp = grasps[f];
    if (grasp.frame_held)
      threads[grasp.frame_thread].state.twist.set_edge_director(
          grasp.frame_edge, to_eigen(rotate(forceps[f].X_WT().q, grasp.frame_d1_T)));
  }
}

}  // namespace ligature::world
