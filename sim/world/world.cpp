#include "sim/world/world.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "sim/base/hash.hpp"
#include "sim/contact/obstacle_guard.hpp"
#include "sim/contact/tissue_guard.hpp"
#include "sim/rod/yield.hpp"
#include "sim/world/build.hpp"
#include "sim/world/grading.hpp"
#include "sim/world/state.hpp"

namespace ligature::world {
namespace {

constexpr double kThrough = 0.1;          // of where it may be at least: nearer to a plane a vertex is lifted off it
constexpr double kEaseDecay = 0.7;        // of a released vertex's extra drag, per step
constexpr double kAuditShare = 0.5;       // of the distance from a surface that a cut motion keeps, for its proof
constexpr double kSoftAuditShare = 0.25;  // likewise, from one that deforms
constexpr int kMostShorter = 6;           // halvings of a motion that was cut
constexpr double kLeastPart = 1.0 / 64;   // of its motion that an obstacle tries when something is in its way
constexpr double kCaughtUp = 1e-12;       // [mm]

double kinetic_energy(const Thread& t) {
  double sum = 0;
  for (std::size_t i = 0; i < t.x0.size(); ++i) sum += 0.5 * t.model.mass[i] * t.state.v[i].squaredNorm();
  return sum;
}

}  // namespace

// The last good state: where the thread was, at rest, touched by nothing.
void World::State::restore(Thread& t, StepReport& report) noexcept {
  for (std::size_t i = 0; i < t.x0.size(); ++i) t.state.v[i].setZero();
  for (std::size_t j = t.constraints_first; j < t.constraints_first + t.constraints_count; ++j)
    constraints[j].force.setZero();
  report.flags |= step_non_finite_restored;
  ++resets;
}

void World::State::solve_alone(Thread& t, StepReport& report) noexcept {
  const contact::StepOutcome out = alone[0].solve(system_of(t), problem_of(t), settings);
  report.iterations += static_cast<std::uint32_t>(out.iterations);
  if (!out.finite) return restore(t, report);
  report.residual = std::max(report.residual, out.residual);
  if (!out.converged) report.flags |= step_not_converged;
  if (out.limited) report.flags |= step_limited;
}

void World::State::solve_together(StepReport& report, bool as_met) noexcept {
  for (std::size_t k = 0; k < threads.size(); ++k) problems[k] = problem_of(threads[k]);
  const contact::CoupledSettings how{.step = settings,
                                     .cone = cone_settings,
                                     .most_work = params.solver.work > 0 ? params.solver.work : 1e300,
                                     .friction = params.friction.thread_thread,
                                     .body_friction = params.friction.thread_obstacle,
                                     .soft_friction = params.friction.thread_tissue,
                                     .tool_friction = params.friction.tissue_tool,
                                     .tool_thread_friction = params.friction.thread_tool,
                                     .tissue_friction = params.friction.tissue_tissue,
                                     .between = params.solver.contact != SolverParams::Contact::none,
                                     .as_met = as_met};
  const contact::StageWatch watch{
      [](void* context, StepStage stage) noexcept { static_cast<State*>(context)->stage(stage); }, this};
  const contact::SpareMore more{[](void* context) noexcept { static_cast<State*>(context)->spare_drawn_in(); }, this};
  const contact::CoupledOutcome out =
      coupled[0].solve(systems.data(), problems.data(), strands.data(), threads.size(), how, *executor, watch, more);
  report.iterations += static_cast<std::uint32_t>(out.iterations);
  report.contact_iterations = static_cast<std::uint32_t>(out.cone_iterations);
  report.contact_residual = out.cone_residual;
  left_of_motion = 1 - out.motion;
  // Planes are where they are to be for threads; what tissue holds up stays behind with it.
  if (const double made = out.finite ? out.motion : 0; made < 1)
    for (Obstacle& o : obstacles)
      if (!o.flat() || !tissues.empty()) o.body.shorten(made);
  report.crossings_prevented = out.prevented;
  report.crossings_found = out.unproven;
  if (out.prevented > 0) report.flags |= step_crossing_prevented;
  if (out.unproven > 0) report.flags |= step_crossing_found;
  if (out.overflow) report.flags |= step_contact_overflow;
  if (out.gave_way) report.flags |= step_contact_gave_way;
  if (!out.finite) {
    for (Thread& t : threads) restore(t, report);
    for (std::uint32_t k = 0; k < threads.size(); ++k) coupled[0].contacts().forget(k);
    coupled[0].bodies().contacts().clear();
    coupled[0].on_meshes().clear();
    coupled[0].tools().contacts().clear();
    coupled[0].tissues().contacts().clear();
    coupled[0].stops().clear();
    for (contact::StrandContact& c : coupled[0].rings().contacts()) c.force.setZero();
    for (contact::StrandContact& c : coupled[0].rings().struts()) c.force.setZero();
    return;
  }
  report.residual = out.residual;
  if (!out.converged) report.flags |= step_not_converged;
  if (out.limited) report.flags |= step_limited;
  for (const contact::StrandContact& c : coupled[0].contacts().contacts()) {
    if (!c.force.isZero(0)) ++report.contacts;
    report.worst_penetration_mm = std::max(report.worst_penetration_mm, -c.gap);
  }
}

// A thread has a way round a body: aside; and one that flies, open, has one round every other: over its end. Solved for
// where all are at the end of the step, with normals of there, an impact may roll it that way, move by proven move,
// until it goes on as if nothing had been in the way. In the time of a step it went no such way: the straight one is
// near enough to what it did.
bool World::State::went_round() noexcept {
  if (!tissues.empty() || !forceps.empty() || left_of_motion > 0) return false;
  note_ways();
  if (curved && coupled[0].went_round_body(starts.data(), strands.data(), threads.size(), all_bodies())) return true;
  const bool flies = std::any_of(threads.begin(), threads.end(), [](const Thread& t) {
    return t.inertial && !t.model.closed && t.loads.empty() && t.drive.held.empty();
  });
  return flies && params.solver.contact != SolverParams::Contact::none &&
         !coupled[0].uncrossed(starts.data(), strands.data(), threads.size());
}

// Threads that are near each other, themselves, or a body with a curved surface, move together; else each by itself.
// Where it then turns out that they would have passed through each other or a body they go back and move together.
void World::State::solve(StepReport& report) noexcept {
  double motion = 0;  // of a vertex in this step, as far as it can be foreseen
  for (std::size_t k = 0; k < threads.size(); ++k) {
    Thread& t = threads[k];
    if (inject) t.state.x[t.state.x.size() / 2].x() = std::numeric_limits<double>::quiet_NaN(), inject = false;
    strands[k] = strand_of(t);
    for (std::size_t i = 0; i < t.x0.size(); ++i) moves[k][i] = t.state.v[i].norm() * params.step_s;
    for (const contact::HeldVertex& h : t.drive.held)
      moves[k][h.vertex] = std::max(moves[k][h.vertex], (h.target - t.x0[h.vertex]).norm());
    for (std::size_t i = 0; i < t.x0.size(); ++i) motion = std::max(motion, moves[k][i]);
  }
  foresee_drawn_in();
  spare_held();
  const StepReport before = report;
  left_of_motion = 0;
  bool doubtful = false;
  const bool touch = params.solver.contact != SolverParams::Contact::none;
  bool together = touch && coupled[0].near(strands.data(), threads.size(), motion);
  together |= curved && coupled[0].near_bodies(strands.data(), threads.size(), all_bodies(), motion, moves.data());
  note_close_starts();
  if (!together) {
    constraints_before = constraints;
    for (Thread& t : threads) solve_alone(t, report);
    starts = strands;
    for (std::size_t k = 0; k < threads.size(); ++k) {
      starts[k].x = threads[k].x0.data();
      for (std::size_t i = 0; i < threads[k].x0.size(); ++i) {
        moves[k][i] = std::max(moves[k][i], (threads[k].state.x[i] - threads[k].x0[i]).norm());
        motion = std::max(motion, moves[k][i]);
      }
    }
    together = touch && !coupled[0].apart(starts.data(), strands.data(), threads.size());
    step_tissues_alone();
    together |= curved && !coupled[0].apart_from_bodies(starts.data(), strands.data(), threads.size(), all_bodies());
    together = together || !apart_from_tissues();
    if (together) {
      report = before;
      undo_tissues(0);
      coupled[0].tools().go_back(0);
      for (std::size_t k = 0; k < threads.size(); ++k) systems[k].undo();
      constraints = constraints_before;
      if (touch) coupled[0].near(strands.data(), threads.size(), motion);
      if (curved) coupled[0].near_bodies(strands.data(), threads.size(), all_bodies(), motion, moves.data());
    }
  }
  moved_together = together;
  if (together) {
    note_energies();
    constraints_before = constraints;
    solve_together(report);
    if (went_round()) {
      const std::uint32_t spent = report.iterations;
      report = before;
      report.iterations = spent;
      for (std::size_t k = 0; k < threads.size(); ++k) systems[k].undo();
      constraints = constraints_before;
      coupled[0].near(strands.data(), threads.size(), motion);
      if (curved) coupled[0].near_bodies(strands.data(), threads.size(), all_bodies(), motion, moves.data());
      solve_together(report, true);
    }
    doubtful = report.flags & step_not_converged && !(report.flags & step_non_finite_restored);
    if (doubtful) join_tissues();
    if (const double part = doubtful ? thrown_by_energy() : 1.0; part < 1) {
      go_straight(part);
      report.flags |= step_limited;
    }
  } else {
    finish_tissues();
    coupled[0].tools().finish(1);
  }
  guard_obstacles(report);
  if (doubtful) limit_tissue_energy();
  for (std::size_t k = 0; step == 0 && k < tissues.size(); ++k)
    if (began_close[k] && tissues[k].floats()) tissues[k].slow(Vector3d::Zero(), 0);
  coupled[0].contacts().remember();
  for (Thread& t : threads) {
    measure_clamps(t);
    for (Clamp& c : t.clamps) {
      c.turn *= left_of_motion;
      c.spin *= left_of_motion;
    }
  }
}

// All go only this part of their way from the start of the step, obstacles too. What is held is told again in the next
// step where it should be.
void World::State::cut_motion(double fraction) noexcept {
  // Nor is the straight way back the one that tissues came.
  if (contact::look_tissues(all_bodies(), {fraction, true}, kAuditShare).found > 0) fraction = 0;
  for (const tissue::Tissue& t : tissues)
    if (!t.bears_back(fraction)) fraction = 0;
  for (std::size_t k = 0; k < threads.size(); ++k) {
    Thread& t = threads[k];
    for (std::size_t i = 0; i < t.x0.size(); ++i)
      t.state.x[i] = fraction > 0 ? Vector3d(t.x0[i] + fraction * (t.state.x[i] - t.x0[i])) : t.x0[i];
    systems[k].carry_state();
    systems[k].finish();
  }
  for (Obstacle& o : obstacles) o.body.shorten(fraction);
  undo_tissues(fraction);
  finish_tissues();
  coupled[0].tools().shorten(fraction, all_bodies());
}

// That nothing passes anything while all go straight from the start of the step to where they are now.
bool World::State::straight_way_proven() noexcept {
  const contact::Bodies all = all_bodies();
  if (contact::look(starts.data(), threads.size(), ends.data(), all, {.share = kAuditShare}).found > 0) return false;
  if (!coupled[0].uncrossed(starts.data(), strands.data(), threads.size())) return false;
  // Of bodies that deform, the same motion backwards.
  for (std::size_t k = 0; k < threads.size(); ++k) begins[k] = threads[k].x0.data();
  contact::Tools& tools = coupled[0].tools();
  const contact::Vector3d* const* tools_begin = tools.trial_begin();
  const auto rigid = static_cast<std::uint32_t>(obstacles.size() - tissues.size());
  for (std::uint32_t t = 0; t < tissues.size(); ++t) {
    const contact::SoftMotion back{tissues[t].start(), tissues[t].x(), 1};
    const contact::SoftVerdict of_threads =
        contact::look_soft(strands.data(), threads.size(), begins.data(), tissues[t], back, kSoftAuditShare,
                           &coupled[0].rings().passages(), rigid + t);
    const contact::SoftVerdict of_tools =
        contact::look_soft(tools.strands().data(), tools.strands().size(), tools_begin, tissues[t], back,
                           kSoftAuditShare, nullptr, rigid + t, contact::kAxisKept);
    if (of_threads.found + of_threads.inside + of_tools.found + of_tools.inside > 0) return false;
  }
  return true;
}

void World::State::note_ways() noexcept {
  for (std::size_t k = 0; k < threads.size(); ++k) {
    ends[k] = threads[k].state.x.data();
    starts[k] = strands[k];
    starts[k].x = threads[k].x0.data();
  }
}

// All go this part of their way: straight, which is not how iterations led them, so that it is proven for itself, or
// cut shorter until it is.
void World::State::go_straight(double part) noexcept {
  note_ways();
  cut_motion(part);
  for (int halving = 0; halving <= kMostShorter && !straight_way_proven(); ++halving)
    cut_motion(halving < kMostShorter ? 0.5 : 0.0);
}

// Vertices that a step which has not converged leads through a plane are put on it, as far as they were off it before.
// Were all cut short for them, a violent step would be undone whole, and the next one would do the same for ever.
// Threads alone: among tissue hands, and what they draw at, make the next step another one.
// @returns whether any was moved
bool World::State::lift_off_planes() noexcept {
  bool any = false;
  for (Thread& t : threads) {
    bool lifted = false;
    for (std::size_t i = 0; i < t.x0.size(); ++i) {
      if (std::any_of(t.drive.held.begin(), t.drive.held.end(),
                      [&](const contact::HeldVertex& h) { return h.vertex == i; }))
        continue;
      for (const Obstacle& o : obstacles) {
        if (!o.flat()) continue;
        const double before = o.body.nearest(t.x0[i], 1e9, 0).distance;
        const contact::Obstacle::Surface now = o.body.nearest(t.state.x[i]);
        const double keeps = std::min(before, t.model.radius_at(i));
        if (!(before > 0) || now.distance >= kThrough * keeps) continue;
        t.state.x[i] += (keeps - now.distance) * now.normal;
        lifted = true;
      }
    }
    if (!lifted) continue;
    contact::ThreadSystem& system = system_of(t);
    system.carry_state();
    system.finish();
    any = true;
  }
  return any;
}

// What the solver let pass a plane (a contact that gave way, or was not foreseen) is cut short before it does. Of other
// bodies and of strands every iteration proved its own way.
void World::State::guard_obstacles(StepReport& report) noexcept {
  note_ways();
  const contact::ObstacleVerdict verdict = contact::look(starts.data(), threads.size(), ends.data(), all_bodies(),
                                                         {.at = contact::ObstacleLook::At::planes});
  if (verdict.found > 0) {
    ++report.crossings_prevented;
    report.flags |= step_crossing_prevented;
    const bool lifted = tissues.empty() && lift_off_planes();
    const contact::ObstacleVerdict left = lifted
                                              ? contact::look(starts.data(), threads.size(), ends.data(), all_bodies(),
                                                              {.at = contact::ObstacleLook::At::planes})
                                              : verdict;
    if (left.found > 0 || !straight_way_proven()) go_straight(left.fraction);
  }
  for (std::size_t b = 0; b < obstacles.size(); ++b) {
    Obstacle& o = obstacles[b];
    o.behind -= o.body.moved();
    if (o.behind.squaredNorm() < kCaughtUp * kCaughtUp) o.behind.setZero();
    const bool held_up = (verdict.found > 0 && b == verdict.obstacle) || o.body.moved().norm() < 0.5 * o.tried;
    o.part = held_up ? std::max(0.5 * o.part, kLeastPart) : std::min(2 * o.part, 1.0);
  }
}

// Implicit Euler loses energy where the energy is convex and may gain some where it is not (a buckling thread). A
// thread has no source of energy but its loads and what it touches: what else it gained is taken from its motion about
// its centre of mass.
void World::State::limit_energy(Thread& t) noexcept {
  const double elastic = rod::elastic_energy(t.model, t.state.x, t.state.twist).sum();
  const auto number = static_cast<std::uint32_t>(&t - threads.data());
  double work = moved_together ? coupled[0].work_on_strand(number, systems.data()) : 0.0, mass = 0;
  Vector3d momentum = Vector3d::Zero();
  for (std::size_t i = 0; i < t.x0.size(); ++i) {
    work += t.drive.load[i].dot(t.state.x[i] - t.x0[i]);
    mass += t.model.mass[i];
    momentum += t.model.mass[i] * t.state.v[i];
  }
  bool clamped = false;
  for (const Clamp& c : t.clamps) clamped = clamped || c.active;
  const Vector3d drift = clamped ? Vector3d(0, 0, 0) : Vector3d(momentum / mass);
  const double kinetic = kinetic_energy(t);
  double about = 0;
  for (std::size_t i = 0; i < t.x0.size(); ++i) about += 0.5 * t.model.mass[i] * (t.state.v[i] - drift).squaredNorm();
  const double gained = kinetic + elastic - t.energy_before - work;
  if (gained > 1e-12 * (kinetic + elastic) && about > 0) {
    const double keep = std::sqrt(std::max(0.0, 1.0 - gained / about));
    for (Vector3d& v : t.state.v) v = drift + keep * (v - drift);
  }
}

void World::State::integrate(StepReport& report) noexcept {
  const double per_dt = 1.0 / params.step_s;
  const bool restored = report.flags & step_non_finite_restored;
  const auto& rings = coupled[0].rings().list();
  for (Thread& t : threads) {
    // What planes, grips, clamps that move and the rims of holes do on it is not counted.
    const bool in_hole = std::any_of(rings.begin(), rings.end(), [&](const contact::Ring& r) {
      return !r.left && r.strand == static_cast<std::uint32_t>(&t - threads.data());
    });
    const bool limited =
        t.inertial && t.constraints_count == 0 && settings.implicitness == 1 && !t.moved_by_clamps && !in_hole;
    for (std::size_t i = 0; i < t.x0.size(); ++i) {
      t.state.v[i] = per_dt * (t.state.x[i] - t.x0[i]);
      t.state.ease[i] *= kEaseDecay;
      if (t.state.ease[i] < 0.1 * t.model.drag[i]) t.state.ease[i] = 0;
    }
    if (limited && !restored) limit_energy(t);
    for (std::size_t j = t.constraints_first; j < t.constraints_first + t.constraints_count; ++j) {
      const Constraint& c = constraints[j];
      if (c.kind == Constraint::Kind::grip) continue;
      memory[c.slot].force = c.force;
      if (c.force.squaredNorm() > 0) ++report.contacts;
      if (c.normal.dot(c.force) > (1 - 1e-9) * c.most) report.flags |= step_contact_gave_way;
      report.worst_penetration_mm =
          std::max(report.worst_penetration_mm, -contact::gap(c, contact::place(t.state.x, c)));
    }
  }
  remember_bodies(report);
  for (const Thread& t : threads)
    for (const Clamp& c : t.clamps)
      if (c.active) report.held_lag_mm = std::max(report.held_lag_mm, (c.place - t.state.x[c.vertex]).norm());
  report.held_lag_mm = std::max(report.held_lag_mm, coupled[0].tools().behind());
  report.refused_mm = coupled[0].tools().refused();
  for (const Obstacle& o : obstacles) report.obstacle_lag_mm = std::max(report.obstacle_lag_mm, o.behind.norm());
  if (!restored) update_grips(report);
}

World::World(std::unique_ptr<State> state) : state_(std::move(state)) {}
World::World(World&&) noexcept = default;
World& World::operator=(World&&) noexcept = default;
World::~World() = default;

Result<World> World::create(const WorldParams& params, const Capacity& capacity) {
  if (auto ok = check(params, capacity); !ok) return Unexpected{ok.error()};
  auto s = std::make_unique<State>();
  s->params = params;
  s->capacity = capacity;
  s->mount = {params.X_RW, params.motion_scale};
  s->gravity = to_eigen(params.gravity);
  std::stable_sort(s->params.schedule.begin(), s->params.schedule.end(),
                   [](const ScheduleEntry& a, const ScheduleEntry& b) { return a.time_s < b.time_s; });
  for (const ObstacleParams& p : params.obstacles) s->add_obstacle(build_obstacle(p), p);
  if (auto ok = s->add_tissues(); !ok) return Unexpected{ok.error()};
  std::stable_sort(s->params.cuts.begin(), s->params.cuts.end(),
                   [](const CutParams& a, const CutParams& b) { return a.time_s < b.time_s; });
  const std::size_t most_threads = params.threads.size() + params.cuts.size() + capacity.cuts;
  s->threads.reserve(most_threads);
  std::size_t longest = 0, frames = 0;
  const auto nodes = grade(params.threads);
  for (std::size_t k = 0; k < params.threads.size(); ++k) {
    const std::size_t begins_with = nodes[k].size() - (params.threads[k].closed ? 1 : 0);
    s->threads.push_back(build_thread(params.threads[k], k, nodes[k], pool_of(params.threads[k], begins_with)));
    Thread& t = s->threads.back();
    t.first = s->vertices;
    t.ring_edges = t.model.closed ? t.model.edges() : 0;
    s->vertices += t.pool;
    for (const CutParams& c : params.cuts) s->vertices += c.thread == k ? 1 : 0;
    if (!t.model.closed && t.block == 1) s->vertices += capacity.cuts;
    longest = std::max(longest, t.pool);
    frames = std::max(frames, params.threads[k].clamps.size());
  }
  s->plan_cuts();
  for (const Cut& c : s->cuts)
    for (const Thread& piece : c.pieces) longest = std::max(longest, piece.x0.size());
  if (params.forceps_present)
    for (const ForcepsParams& f : params.forceps) s->forceps.emplace_back(build_forceps(f, params.lost_release_s));
  s->memory.resize((s->slot_groups.size() + (s->forceps.empty() ? 0 : kAllParts)) * s->vertices);
  s->constraints.reserve(s->memory.size() + kInstruments * instrument::kMostHeld);
  s->constraints_before.reserve(s->constraints.capacity());
  // Trial frames as large as any thread's: a ring of distinct points has the most edges.
  std::vector<Vector3d> ring(std::max<std::size_t>(longest, 3));
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(ring.size());
    ring[i] = {std::cos(turn), std::sin(turn), 0};
  }
  rod::Twist frames_like(ring, true, frames);
  frames_like.set_nodes(std::vector<double>(ring.size() + 1));
  s->alone.emplace_back(longest, frames_like);
  const std::size_t kinds = s->slot_groups.size();
  for (std::size_t k = 0; k < most_threads; ++k) {
    std::size_t most = k < s->threads.size() ? s->threads[k].pool : longest;
    for (const Cut& c : s->cuts)  // a ring that is opened gets a vertex more
      if (c.thread == k) most = std::max(most, c.pieces[0].x0.size());
    s->systems.emplace_back(most, kinds * most + kInstruments * instrument::kMostHeld, frames_like);
  }
  s->take_adapt_memory();
  s->strands.resize(s->systems.size());
  s->starts.resize(s->systems.size());
  s->problems.resize(s->systems.size());
  s->ends.resize(s->systems.size());
  s->moves.assign(s->systems.size(), std::vector<double>(s->vertices));
  s->begins.resize(s->systems.size());
  for (const Obstacle& o : s->obstacles) {
    s->bodies.push_back(&o.body);
    s->soft_bodies.push_back(o.soft);
  }
  if (auto ok = s->add_surfaces(); !ok) return Unexpected{ok.error()};
  s->coupled.emplace_back(s->systems.size(), s->vertices, capacity.contacts);
  s->cone_settings = {.method = params.solver.contact == SolverParams::Contact::none
                                    ? contact::ConeMethod::standard
                                    : static_cast<contact::ConeMethod>(params.solver.contact),
                      .iterations = params.solver.contact_iterations};
  s->settings = {.dt = params.step_s,
                 .iterations = params.solver.iterations,
                 .residual_target = params.solver.residual_target,
                 .implicitness = params.solver.implicitness,
                 .scalar = params.solver.linearisation == SolverParams::Linearisation::scalar};
  s->add_tools();
  if (auto ok = s->add_sutures(); !ok) return Unexpected{ok.error()};
  s->apply_schedule();
  for (Thread& t : s->threads) {
    s->begin_clamps(t);
    s->load_thread(t, 0);
    if (rod::needs_frames(t.model, t.state.twist) && !t.model.angles_unknown) {
      t.state.twist.find_spans(t.model.rest_length);
      t.state.twist.spread();
    }
  }
  s->yield();
  return World(std::move(s));
}

// What the threads are bent by at the end of a step, when nothing of it is gone back on any more.
void World::State::yield() noexcept {
  for (Thread& t : threads) rod::yield(t.model, t.state.x, t.state.twist);
}

StepReport World::step(const InstrumentSample& sample) noexcept {
  State& s = *state_;
  StepReport report;
  report.step = s.step;
  s.sample_sequence = sample.sequence;
  s.sample_mid_exposure_ns = sample.mid_exposure_ns;
  s.sample_captured_ns = sample.captured_ns;
  s.cameras_alive = sample.cameras_alive;
  report.grasps = std::exchange(s.grasps_at_start, 0);
  if (report.grasps > 0) report.flags |= step_grasped;
  s.move_instruments(sample, report);
  s.stage(StepStage::instruments);
  s.apply_schedule();
  s.move_obstacles();
  s.apply_cuts(report);
  s.adapt(report);
  for (Thread& t : s.threads) {
    t.x0 = t.state.x;
    s.drive_thread(t);
  }
  s.turn_gripped_frames();
  s.lead_tools();
  s.detect(report);
  s.stage(StepStage::detect);
  s.warm_start();
  s.stage(StepStage::couple);
  s.solve(report);
  s.stage(StepStage::solve);
  s.integrate(report);
  s.yield();
  s.pierce(report);
  s.stage(StepStage::integrate);
  s.stage(StepStage::continuous);
  for (const Grasp& g : s.grasps) report.grasped_vertices += static_cast<std::uint32_t>(g.held.size());
  ++s.step;
  s.stage(StepStage::finish);
  return report;
}

void World::begin(const InstrumentSample& sample) noexcept {
  assert(state_->step == 0);
  StepReport report;
  state_->move_instruments(sample, report);
  state_->grasps_at_start = report.grasps;
  state_->lead_tools();
}

void World::snapshot(SceneSnapshot& out) const noexcept {
  const State& s = *state_;
  out.step = s.step;
  out.time_ns = static_cast<std::int64_t>(std::llround(static_cast<double>(s.step) * s.params.step_s * 1e9));
  out.sample_sequence = s.sample_sequence;
  out.sample_mid_exposure_ns = s.sample_mid_exposure_ns;
  out.sample_captured_ns = s.sample_captured_ns;
  out.cameras_alive = s.cameras_alive;
  out.grasps = s.grasp_count;
  out.non_finite_resets = s.resets;
  for (std::size_t f = 0; f < kInstruments; ++f) {
    SnapshotForceps& shown = out.forceps[f] = {};
    if (f >= s.forceps.size() || !s.forceps[f].present()) continue;
    shown.status = s.forceps[f].status();
    shown.X_WT = s.forceps[f].X_WT();
    shown.opening_rad = s.forceps[f].opening();
    const contact::Tools& tools = s.coupled[0].tools();
    shown.aside = {from_eigen(tools.given(kParts * f + 1)), from_eigen(tools.given(kParts * f))};
    shown.grasping = s.grasps[f].active;
    shown.confidence = s.forceps[f].confidence();
  }
  out.threads.clear();
  out.vertices.clear();
  for (const Thread& t : s.threads) {
    SnapshotThread shown;
    shown.first_vertex = static_cast<std::uint32_t>(out.vertices.size());
    const std::size_t room = out.vertices.capacity() - out.vertices.size();
    shown.vertex_count = static_cast<std::uint32_t>(std::min(t.x0.size(), room));
    shown.origin = static_cast<std::uint32_t>(t.origin);
    shown.radius_mm = static_cast<float>(t.model.radius);
    shown.closed = t.model.closed;
    if (const auto [first, last] = needle_vertices(t); last > first) {
      if (last - first + 1 < t.x0.size())
        shown.radius_mm = static_cast<float>(t.model.radius_at(first > 0 ? 0 : t.x0.size() - 1));
      if (last < shown.vertex_count) {
        shown.needle_first = static_cast<std::uint32_t>(first);
        shown.needle_count = static_cast<std::uint32_t>(last - first + 1);
        shown.needle_radius_mm = static_cast<float>(t.model.radius_at((first + last) / 2));
      }
    }
    out.threads.push_back(shown);
    for (std::size_t i = 0; i < shown.vertex_count; ++i) out.vertices.push_back(shown_at(t.state.x[i]));
  }
  s.show_tissues(out);
}

std::uint64_t World::state_hash() const noexcept {
  const State& s = *state_;
  StateHash hash;
  hash.add(s.step);
  hash.add(static_cast<std::uint64_t>(s.grasp_count) << 32 | s.resets);
  for (const Thread& t : s.threads) {
    hash.bytes(t.state.x.data(), sizeof(Vector3d) * t.state.x.size());
    hash.bytes(t.state.v.data(), sizeof(Vector3d) * t.state.v.size());
    hash.bytes(t.state.ease.data(), sizeof(double) * t.state.ease.size());
    t.state.twist.add_to(hash);
    if (t.model.yield_strain > 0)
      hash.bytes(t.model.rest_curvature.data(), sizeof(Eigen::Vector2d) * t.model.rest_curvature.size());
    for (const Clamp& c : t.clamps) {
      hash.add(static_cast<std::uint64_t>(c.active));
      hash.bytes(c.place.data(), sizeof(double) * 3);
      hash.bytes(c.turn.data(), sizeof(double) * 3);
      hash.add(c.spin);
    }
  }
  hash.add(static_cast<std::uint64_t>(s.channels) << 32 | s.spare_cuts_made << 1 | (s.cut_wanted ? 1u : 0u));
  s.coupled[0].add_to(hash);
  for (const tissue::Tissue& t : s.tissues) t.add_to(hash);
  for (const Obstacle& o : s.obstacles) {
    o.body.add_to(hash);
    hash.bytes(o.behind.data(), sizeof(double) * 3);
    hash.add(o.part);
  }
  for (const Forceps& f : s.forceps) f.add_to(hash);
  for (const Grasp& g : s.grasps) {
    hash.add(static_cast<std::uint64_t>(g.slid) << 3 | static_cast<std::uint64_t>(g.active) << 2 |
             static_cast<std::uint64_t>(g.armed) << 1 | static_cast<std::uint64_t>(g.frame_held));
    hash.add(static_cast<std::uint64_t>(g.frame_thread) << 32 | g.frame_edge);
    for (double v : {g.frame_d1_T.x, g.frame_d1_T.y, g.frame_d1_T.z}) hash.add(v);
    for (const Held& h : g.held) {
      hash.add(static_cast<std::uint64_t>(h.thread) << 32 | h.vertex);
      for (double v : {h.anchor_T.x, h.anchor_T.y, h.anchor_T.z}) hash.add(v);
      hash.bytes(h.force_W.data(), sizeof(double) * 3);
    }
  }
  for (const Memory& m : s.memory) {
    hash.add(static_cast<std::uint64_t>(m.live));
    if (!m.live) continue;
    hash.bytes(m.force.data(), sizeof(double) * 3);
    hash.bytes(m.normal.data(), sizeof(double) * 3);
  }
  return hash.value();
}

std::string World::contact_problem() const {
  if (state_->coupled.empty()) return {};
  const contact::CoupledStep& step = state_->coupled.front();
  const contact::ConeProblem problem = step.last_problem();
  return problem.count > 0 ? contact::print_cone_problem(problem, step.last_start()) : std::string();
}

void World::observe_stages(StageObserver observer, void* context) noexcept {
  state_->observer = observer;
  state_->observer_context = context;
}

void World::use_executor(Executor* executor) noexcept {
  state_->executor = executor ? executor : &state_->here;
}

void World::cut_held() noexcept {
  state_->cut_wanted = true;
}

void World::inject_non_finite() noexcept {
  state_->inject = true;
}

}  // namespace ligature::world
