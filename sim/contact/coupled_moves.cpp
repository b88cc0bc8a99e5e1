/// The moves of a coupled step: what is in their way, who gives way to whom, and the way back.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "sim/contact/coupled_step.hpp"
#include "sim/contact/coupled_visits.hpp"
#include "sim/contact/implicit_step.hpp"
#include "sim/contact/rigid_surface.hpp"
#include "sim/contact/segment_triangle.hpp"
#include "sim/contact/tolerances.hpp"

namespace ligature::contact {

void CoupledStep::place_trial(const Given& given, double fraction) noexcept {
  for (std::size_t k = 0; k < given.count; ++k) {
    given.systems[k].place_by(fraction, trial_[k]);
    trial_of_[k] = trial_[k].data();
  }
  for (const Jams::Part& p : jams_.parts())
    if (!p.soft) trial_[p.owner][p.index] = strands_[p.owner].x[p.index] + fraction * p.move;
}

// Pairs that are stopped at once, whatever their nodes give way, go on as one.
// @returns how far that is from what a vertex of a strand would have moved by, at most, in lengths of its edge
double CoupledStep::move_jams_as_one(const ThreadSystem* systems) noexcept {
  std::array<Jams::Part, 6> piece;
  std::size_t parts = 0;
  const auto vertex = [&](std::uint32_t strand, std::size_t index) {
    Jams::Part& p = piece[parts++] = {};
    p.owner = strand, p.index = static_cast<std::uint32_t>(index), p.own = systems[strand].step_of(index);
    for (const HeldVertex& h : systems[strand].problem().drive->held) p.held = p.held || h.vertex == index;
  };
  const auto edge = [&](std::uint32_t strand, std::size_t index) {
    vertex(strand, index);
    vertex(strand, strands_[strand].next(index));
  };
  const auto corners = [&](std::uint32_t body, std::uint32_t triangle) {
    const SoftBody& soft = *met_by_tissue(bodies_, body);
    for (const std::uint32_t v : soft.surface().triangle(triangle)) {
      Jams::Part& p = piece[parts++] = {};
      p.soft = true, p.owner = body, p.index = v, p.own = soft.step()[v];
      p.held = p.own.isZero(0) || bodies_.rigid_of(body);  // what is fixed does not move at all
    }
  };
  const auto join = [&] {
    jams_.join({piece.data(), parts});
    parts = 0;
  };
  // What lies on a rigid body goes with it, and off it by a little.
  for (const StoppedAtObstacle& w : at_obstacles_) {
    const auto same = [&](const StoppedAtObstacle& k) {
      return k.strand == w.strand && k.edge == w.edge && k.obstacle == w.obstacle;
    };
    const bool known = std::any_of(jammed_at_.begin(), jammed_at_.end(), same);
    if (w.part <= kPoorFraction && !known && jammed_at_.size() < jammed_at_.capacity()) jammed_at_.push_back(w);
  }
  for (const StoppedAtObstacle& w : jammed_at_) {
    edge(w.strand, w.edge);
    for (Jams::Part& p : std::span(piece.data(), parts)) {
      if (p.held) continue;
      const Vector3d& x = strands_[w.strand].x[p.index];
      const Obstacle& body = *bodies_.body[w.obstacle];
      const Vector3d off = body.nearest(x, 1e9, bodies_.at).normal;
      p.own = body_motion_ * body.moved(x, bodies_.at) + body.giving() +
              kOffJam * strands_[w.strand].radius_of(p.index) * off;
      p.held = true;
    }
    join();
  }
  for (const Stopped& w : in_way_)
    if (w.part <= kPoorFraction) edge(w.strand, w.edge), corners(w.body, w.triangle), join();
  for (const Stopped& w : folds_in_way_)
    if (w.part <= kPoorFraction) corners(w.strand, w.edge), corners(w.body, w.triangle), join();
  // A strand in a hole stays in it.
  for (const Ring& ring : rings_.list()) {
    if (ring.left) continue;
    const Strand& s = strands_[ring.strand];
    const auto at = static_cast<std::size_t>(std::min(ring.u, static_cast<double>(s.edges() - 1)));
    edge(ring.strand, at), corners(ring.body, ring.on.triangle);
    const bool is_jammed = std::any_of(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(parts),
                                       [&](const Jams::Part& p) { return jams_.has(p.soft, p.owner, p.index); });
    is_jammed ? join() : static_cast<void>(parts = 0);
  }
  jams_.settle();
  double most = 0;
  for (const Jams::Part& p : jams_.parts()) {
    if (p.soft) {
      met_by_tissue(bodies_, p.owner)->lead(p.index, p.move);
      continue;
    }
    const Strand& s = strands_[p.owner];
    const double aside = (p.move - systems[p.owner].step_of(p.index)).norm();
    most = std::max(most, aside / s.length_of(std::min<std::size_t>(p.index, s.edges() - 1)));
  }
  return most;
}

std::uint32_t CoupledStep::number_of(const SoftBody& body) const noexcept {
  std::uint32_t b = 0;
  while (bodies_.soft_of(b) != &body) ++b;
  return b;
}

SoftVerdict CoupledStep::look_tools(const SoftBody& body, const Vector3d* const* to, const SoftMotion& motion,
                                    double share, std::vector<Stopped>* stopped) const noexcept {
  return look_soft(tools_.strands().data(), tools_.strands().size(), to, body, motion, share, nullptr, number_of(body),
                   kAxisKept, stopped);
}

// The part of the move to the trial that keeps the clearance. What cuts it is a contact from the next linearisation on.
double CoupledStep::safe_fraction(const Given& given, double fraction) noexcept {
  const Strand* const strands = given.strands;
  const std::size_t count = given.count;
  double part = given.settings.between ? clearance_.fraction(strands, count, trial_of_.data()) : 1.0;
  in_way_.clear(), tools_in_way_.clear();
  visit_soft([&](const SoftBody& body) {
    part = std::min(part, look_soft(strands, count, trial_of_.data(), body, {body.step(), nullptr, fraction}, 1,
                                    &rings_.passages(), number_of(body), kCentrelineKept, &stops_.found())
                              .fraction);
    in_way_.insert(in_way_.end(), stops_.found().begin(), stops_.found().end());
    stops_.keep(Stops::Of::thread, strands);
    part = std::min(part, look_tools(body, tools_.trial(body_motion_, fraction), {body.step(), nullptr, fraction}, 1,
                                     &stops_.found())
                              .fraction);
    tools_in_way_.insert(tools_in_way_.end(), stops_.found().begin(), stops_.found().end());
    stops_.keep(Stops::Of::tool, strands);
  });
  part = std::min(part, look_tissues(bodies_, {fraction, false}, 1, &stops_.found()).fraction);
  folds_in_way_ = stops_.found();
  stops_.keep(Stops::Of::tissue, strands);
  at_obstacles_.clear();
  if (bodies_.count > 0) {
    const double until = bodies_.at + fraction * body_motion_;
    part = std::min(part, look(strands, count, trial_of_.data(), bodies_,
                               {.at = ObstacleLook::At::others, .until = until, .give = fraction}, &at_obstacles_)
                              .fraction);
  }
  return part >= 1 ? fraction : part * fraction;
}

// Nodes of soft bodies that the move would bring too near go with what they are near to, and against it only so far as
// there is room. @returns whether there are any
bool CoupledStep::give_way(const Strand* strands, double fraction) noexcept {
  const auto make_room = [&](const Stopped& w, const Strand& s, const Vector3d* to) {
    SoftBody* const body = bodies_.soft_of(w.body);
    const TriangleMesh& mesh = body->surface();
    const TriangleMesh::Triangle& t = mesh.triangle(w.triangle);
    const std::size_t j = w.edge, k = s.next(j);
    const Vector3d along = s.x[k] - s.x[j];
    const SegmentTriangle near = closest(s.x[j] + w.from * along, s.x[j] + w.to * along, mesh.vertex(t[0]),
                                         mesh.vertex(t[1]), mesh.vertex(t[2]));
    const double at =
        std::clamp((near.on_segment - s.x[j]).dot(along) / std::max(along.squaredNorm(), 1e-300), 0.0, 1.0);
    const Vector3d led = (1 - at) * (to[j] - s.x[j]) + at * (to[k] - s.x[k]);
    for (const std::uint32_t v : t) {
      const Vector3d by = fraction * body->step()[v];
      body->lead(v, (led + kOfRoom * w.part * (by - led)) / fraction);
    }
  };
  for (const Stopped& w : in_way_) make_room(w, strands[w.strand], trial_[w.strand].data());
  const Vector3d* const* const arms = tools_.trial(body_motion_, fraction);
  for (const Stopped& w : tools_in_way_) make_room(w, tools_.strands()[w.strand], arms[w.strand]);
  for (const Stopped& w : folds_in_way_) {
    SoftBody *const a = met_by_tissue(bodies_, w.strand), *const b = met_by_tissue(bodies_, w.body);
    const TriangleMesh::Triangle &t = a->surface().triangle(w.edge), &u = b->surface().triangle(w.triangle);
    Vector3d mean = Vector3d::Zero();
    for (std::size_t c = 0; c < 3; ++c) mean += (a->step()[t[c]] + b->step()[u[c]]) / 6;
    if (bodies_.rigid_of(w.strand)) mean = a->step()[t[0]];
    if (bodies_.rigid_of(w.body)) mean = b->step()[u[0]];
    for (std::size_t c = 0; c < 3; ++c) {
      a->lead(t[c], mean + kOfRoom * w.part * (a->step()[t[c]] - mean));
      b->lead(u[c], mean + kOfRoom * w.part * (b->step()[u[c]] - mean));
    }
  }
  return !in_way_.empty() || !tools_in_way_.empty() || !folds_in_way_.empty();
}

// Drag near contacts, moves that are cut short and what is left of the imbalance hold threads back as if something else
// did. Those that nothing but each other touches go on as one by what their momentum lacks, which changes nothing
// between them; where another is in the way, with all that they are near to.
void CoupledStep::shift_free(const Given& given) noexcept {
  const StepProblem* const problems = given.problems;
  const Strand* const strands = given.strands;
  const std::size_t count = given.count;
  const auto join = [&](std::size_t a, std::size_t b) {
    const std::size_t to = std::min(group_[a], group_[b]), from = std::max(group_[a], group_[b]);
    std::replace(group_.begin(), group_.begin() + static_cast<std::ptrdiff_t>(count), from, to);
  };
  const auto held = [&](std::size_t k) {
    bool touched = false;
    visit_rigid([&](const BodyContact& b) {
      touched = touched || (b.contact.pair.strand_a == k && !b.contact.force.isZero(0));
    });
    return touched || problems[k].held() || problems[k].borne();
  };
  const auto goes = [&](std::size_t group) {
    ThreadSystem::Whole whole;
    for (std::size_t k = group; k < count; ++k) {
      if (group_[k] != group) continue;
      if (held(k)) return true;  // where it is
      const ThreadSystem::Whole own = given.systems[k].out_of_balance();
      whole.force += own.force;
      whole.per_shift += own.per_shift;
    }
    if (!(whole.per_shift > 0)) return true;
    const Vector3d shift = whole.force / whole.per_shift;
    for (std::size_t k = 0; k < count; ++k) {
      const std::vector<Vector3d>& x = problems[k].state->x;
      for (std::size_t i = 0; i < x.size(); ++i) trial_[k][i] = group_[k] == group ? x[i] + shift : x[i];
      trial_of_[k] = trial_[k].data();
    }
    if (given.settings.between && (clearance_.fraction(strands, count, trial_of_.data()) < 1 ||
                                   guard_.audit(strands, count, trial_of_.data()) > 0))
      return false;
    if (look(strands, count, trial_of_.data(), bodies_, {.until = bodies_.at}).found > 0) return false;
    for (std::size_t k = group; k < count; ++k)
      if (group_[k] == group) std::copy_n(trial_[k].begin(), problems[k].state->x.size(), problems[k].state->x.begin());
    return true;
  };
  bool blocked = true;
  for (const bool near : {false, true}) {
    if (!std::exchange(blocked, false)) return;
    for (std::size_t k = 0; k < count; ++k) group_[k] = k;
    for (const StrandContact& c : contacts_.contacts())
      if (near || !c.force.isZero(0)) join(c.pair.strand_a, c.pair.strand_b);
    for (std::size_t k = 0; k < count; ++k) blocked = (group_[k] == k && !goes(k)) || blocked;
  }
}

// The move up to where something is in its way, once what can give way has given way.
double CoupledStep::let_through(const Given& given, Course& course, double fraction, CoupledOutcome& out) noexcept {
  jams_.clear(), jammed_at_.clear();
  place_trial(given, fraction);
  tools_.foresee();
  double allowed = safe_fraction(given, fraction);
  const auto look_again = [&] {
    visit_soft([&](const SoftBody& body) { fraction = std::min(fraction, body.reach()); });
    place_trial(given, fraction);
    allowed = safe_fraction(given, fraction);
  };
  const auto move_as_one = [&] {
    fraction = std::min(fraction, kJamStretch / std::max(move_jams_as_one(given.systems), kJamStretch));
  };
  // A place where nothing fits must not hold up all others.
  for (int round = 0; round < kMostGivingWay && fraction > 0 && allowed < kPoorFraction * fraction; ++round) {
    if (!give_way(given.strands, fraction)) break;
    look_again();
  }
  for (int round = 0; round < kMostGivingWay && fraction > 0 && allowed < kBlockedFraction * fraction; ++round) {
    const std::size_t at_bodies = jammed_at_.size();
    move_as_one();
    place_trial(given, std::min(allowed, fraction));
    if (jams_.empty() || (round > 0 && !course.among_tissue && jammed_at_.size() == at_bodies)) break;
    look_again();
  }
  // What lies between two arms that give way differently cannot go with both: they stand still.
  for (int round = 0; round < kMostGivingWay && course.hands_wait && fraction > 0 && !tools_in_way_.empty() &&
                      allowed < kBlockedFraction * fraction;
       ++round) {
    for (const Stopped& w : tools_in_way_) tools_.stand(w.strand);
    tools_.foresee();
    if (!jammed_at_.empty()) move_as_one();
    give_way(given.strands, fraction);
    look_again();
  }
  if (allowed < fraction) {
    ++out.prevented;
    course.cut = true;
    place_trial(given, allowed);
  }
  return std::min(allowed, fraction);
}

// As much of the move as the audit finds no crossing in: it knows nothing of how the move was found.
double CoupledStep::proven(const Given& given, double fraction, CoupledOutcome& out) noexcept {
  const auto unproven = [&] {
    if (given.settings.between && guard_.audit(given.strands, given.count, trial_of_.data()) > 0) return true;
    bool through = false;
    visit_soft([&](const SoftBody& body) {
      const SoftMotion motion{body.step(), nullptr, fraction};
      through = through || look_soft(given.strands, given.count, trial_of_.data(), body, motion, kAuditShare,
                                     &rings_.passages(), number_of(body))
                                   .found > 0;
      through = through || look_tools(body, tools_.trial(body_motion_, fraction), motion, kAuditShare).found > 0;
    });
    return through || look_tissues(bodies_, {fraction, false}, kAuditShare).found > 0;
  };
  for (int halving = 0; unproven(); ++halving) {
    fraction = halving < kMostAuditHalvings ? 0.5 * fraction : 0.0;
    place_trial(given, fraction);
    if (fraction > 0) continue;
    ++out.unproven;
    break;
  }
  return fraction;
}

bool CoupledStep::stretched(const Given& given) const noexcept {
  for (std::size_t k = 0; k < given.count; ++k) {
    const StepProblem& p = given.problems[k];
    if (overstretched(*p.model, *p.x0, p.state->x, given.systems[k].outer_load())) return true;
  }
  return false;
}

// Half of the way back to where the step began, all together. @returns whether nothing is in the way of that
bool CoupledStep::go_half_back(const Given& given, Course& course) noexcept {
  const Strand* const strands = given.strands;
  const std::size_t count = given.count;
  for (std::size_t k = 0; k < count; ++k) {
    const std::vector<Vector3d>&x = given.problems[k].state->x, &x0 = *given.problems[k].x0;
    for (std::size_t i = 0; i < x.size(); ++i) trial_[k][i] = 0.5 * (x[i] + x0[i]);
    trial_of_[k] = trial_[k].data();
  }
  if (given.settings.between &&
      (clearance_.fraction(strands, count, trial_of_.data()) < 1 || guard_.audit(strands, count, trial_of_.data()) > 0))
    return false;
  bodies_.at = course.motion;
  tools_.foresee_back();
  if (look(strands, count, trial_of_.data(), bodies_,
           {.at = ObstacleLook::At::others, .until = 0.5 * course.motion, .give = 0.5})
          .found > 0)
    return false;
  bool passes = false;
  visit_soft([&](const SoftBody& body) {
    const SoftMotion motion{body.start(), body.x(), 0.5};
    passes = passes ||
             look_soft(strands, count, trial_of_.data(), body, motion, kAuditShare, &rings_.passages(), number_of(body))
                     .found > 0;
    passes = passes || !body.bears_back(0.5) ||
             look_tools(body, tools_.trial_back(course.motion, 0.5), motion, kAuditShare).found > 0;
  });
  if (passes || look_tissues(bodies_, {0.5, true}, kAuditShare).found > 0) return false;
  visit_soft([](SoftBody& body) { body.go_back(0.5); });
  visit_rigid_surfaces([](RigidSurface& surface) { surface.go_back(0.5); });
  tools_.go_back(0.5);
  course.motion *= 0.5;
  tools_.place(course.motion);
  for (std::size_t k = 0; k < count; ++k) {
    std::copy_n(trial_[k].begin(), given.problems[k].state->x.size(), given.problems[k].state->x.begin());
    given.systems[k].ask_for(course.motion);
    given.systems[k].carry_state();
  }
  return true;
}

// An iteration that was cut off may leave edges that no force would. @returns whether it had to
bool CoupledStep::go_back(const Given& given, Course& course) noexcept {
  if (!stretched(given)) return false;
  for (int halving = 0; halving < kMostHalvingsBack && go_half_back(given, course); ++halving)
    if (!stretched(given)) return true;
  // Something is in the way of that: as it was when the step began, the proof of which stands.
  course.motion = 0;
  visit_soft([](SoftBody& body) { body.go_back(0); });
  visit_rigid_surfaces([](RigidSurface& surface) { surface.go_back(0); });
  tools_.go_back(0);
  for (std::size_t k = 0; k < given.count; ++k) {
    given.systems[k].undo();
    given.systems[k].ask_for(course.motion);
  }
  return true;
}

}  // namespace ligature::contact
