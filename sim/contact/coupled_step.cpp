/// The course of a coupled step: from linearisation to linearisation until it is done or may cost no more.
#include "sim/contact/coupled_step.hpp"

#include <algorithm>
#include <cmath>

#include "sim/contact/coupled_visits.hpp"
#include "sim/contact/segment_triangle.hpp"
#include "sim/contact/tolerances.hpp"

namespace ligature::contact {
namespace {

double furthest_step(const SoftBody& body) {
  double square = 0;
  for (std::size_t v = 0; v < body.nodes(); ++v) square = std::max(square, body.step()[v].squaredNorm());
  return std::sqrt(square);
}

double thickest(const Strand* strands, std::size_t count) {
  double radius = 0;
  for (std::size_t k = 0; k < count; ++k) radius = std::max(radius, strands[k].radius);
  return 2 * radius;
}

// Whether the middle of an edge went along its strand, more than across it.
bool slid(const Strand& from, const Vector3d* to, std::uint32_t edge) {
  const Vector3d was = 0.5 * (from.x[edge] + from.x[from.next(edge)]), is = 0.5 * (to[edge] + to[from.next(edge)]);
  double aside = 1e9;
  const auto edges = static_cast<std::uint32_t>(from.edges());
  for (std::uint32_t j = edge - std::min(edge, kSlidesBy); j < std::min(edges, edge + kSlidesBy + 1); ++j) {
    const Vector3d &p = from.x[j], &q = from.x[from.next(j)];
    aside = std::min(aside, (p + closest_places(is, is, p, q).t * (q - p) - is).norm());
  }
  return aside < kSlidesAlong * (is - was).norm();
}

}  // namespace

CoupledStep::CoupledStep(std::size_t most_threads, std::size_t most_vertices, std::size_t most_contacts)
    : contacts_(most_vertices, std::min(most_contacts, kMostContacts)),
      body_contacts_(std::max(most_contacts, 4 * most_vertices)),
      mesh_contacts_(std::max(most_contacts, 8 * most_vertices)),
      rings_(kMostRings),
      tools_(kMostToolContacts),
      tissue_contacts_(kMostTissueContacts),
      stops_(kMostStops),
      soft_coupling_(std::min(most_contacts, kMostContacts)),
      guard_(most_vertices, std::max<std::size_t>(4096, 8 * most_vertices)),
      clearance_(most_vertices, std::max<std::size_t>(4096, 8 * most_vertices)),
      coupling_(std::min(most_contacts, kMostContacts), most_vertices, most_threads),
      solver_(std::min(most_contacts, kMostContacts)),
      jams_(kMostJammed) {
  const std::size_t most = std::min(most_contacts, kMostContacts);
  rows_.reserve(most);
  chosen_.reserve(most);
  axes_.reserve(most);
  for (std::vector<double>* v : {&q_, &force_, &start_}) v->resize(3 * most);
  mu_.resize(most);
  in_way_.reserve(64 * kMostStops), tools_in_way_.reserve(64 * kMostStops), folds_in_way_.reserve(kMostStops);
  at_obstacles_.reserve(kMostJammed), jammed_at_.reserve(kMostStops);
  slid_.resize(most);
  turned_.resize(most);
  springs_.reserve(3 * kMostRings);
  slope_w_.resize(kMostRings * 3 * most);
  inverses_.resize(most_threads);
  group_.resize(most_threads);
  trial_of_.resize(most_threads);
  for (std::size_t k = 0; k < most_threads; ++k) {
    trial_.emplace_back(most_vertices);
    own_drag_.emplace_back(most_vertices);
    in_knot_.emplace_back(most_vertices);
    last_step_.emplace_back(most_vertices);
    foreseen_.emplace_back(most_vertices);
    pressed_.emplace_back(most_vertices);
  }
}

bool CoupledStep::near(const Strand* strands, std::size_t count, double motion) noexcept {
  const double diameter = thickest(strands, count);
  reach_ = kContactReach * diameter + 2 * std::min(motion, diameter);
  while (!contacts_.gather(strands, count, reach_) && reach_ > 1e-3 * diameter) reach_ *= 0.5;
  contacts_.find(strands, count, reach_);
  return std::any_of(contacts_.contacts().begin(), contacts_.contacts().end(),
                     [&](const StrandContact& c) { return c.gap < kTouching * diameter || !c.force.isZero(0); });
}

// Of all bodies whose surface is a mesh, soft ones by what holds them, the furthest in this step.
double CoupledStep::meshes_travel() const noexcept {
  double furthest = 0;
  for (std::size_t b = 0; b < bodies_.count; ++b)
    if (bodies_.body[b]->surface()) furthest = std::max(furthest, bodies_.body[b]->travel());
  return furthest;
}

// A vertex that lay still may be drawn along by one that moves: each is thought to move by some share of the furthest.
template <class Move>
std::size_t CoupledStep::find_on_meshes(const Strand* strands, std::size_t count, double reach, double furthest,
                                        const Move& move) noexcept {
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t i = 0; i < strands[k].vertices; ++i)
      foreseen_[k][i] = std::max(kDrawnAlong * furthest, std::min(furthest, move(k, i)));  // a NaN is as far as any
  return mesh_contacts_.find(strands, count, bodies_, reach, &rings_.passages(), foreseen_.data());
}

bool CoupledStep::near_bodies(const Strand* strands, std::size_t count, const Bodies& bodies, double motion,
                              const std::vector<double>* moves) noexcept {
  bodies_ = bodies;
  body_contacts_.begin();
  mesh_contacts_.begin();
  const double diameter = thickest(strands, count);
  double furthest = 0;
  tools_.begin(strands, count, bodies_);
  for (std::size_t b = 0; b < bodies.count; ++b) furthest = std::max(furthest, bodies.body[b]->travel());
  const double carried = meshes_travel();
  const double most_move = std::max(kMostMoveDiameters * diameter, kMostMove);
  rings_.follow(strands, bodies_);
  const double most = std::min(motion, most_move);
  body_contacts_.find(strands, count, bodies_, most + furthest + kContactReach * diameter);
  tools_.find(0, bodies_, tools_.furthest() + most_move);
  double tissue_move = 0;  // by soft bodies in the step before
  visit_soft([&](const SoftBody& body) {
    for (std::size_t v = 0; v < body.nodes(); ++v)
      tissue_move = std::max(tissue_move, (body.x()[v] - body.start()[v]).squaredNorm());
  });
  visit_rigid_surfaces([&](RigidSurface& surface) {
    surface.begin(0);
    tissue_move = std::max(tissue_move, surface.travel() * surface.travel());
  });
  tissue_move = 2 * std::min(std::sqrt(tissue_move), kMostMove);
  find_on_meshes(strands, count, tissue_move + carried + kContactReach * diameter, most,
                 [&](std::size_t k, std::size_t i) { return moves ? moves[k][i] : most; });
  tissue_contacts_.find(bodies_, reach_of_tissue(tissue_move, false));
  if (tools_.given_way()) return true;
  for (const Ring& r : rings_.list())
    if (!r.left) return true;
  for (const BodyContact& c : tools_.contacts())
    if (c.contact.gap < tools_.furthest() + kTouching * diameter || !c.contact.force.isZero(0)) return true;
  for (const TissueContact& c : tissue_contacts_.contacts())
    if (c.contact.gap < tissue_move || !c.contact.force.isZero(0)) return true;
  const auto touches = [&](const BodyContact& c) {
    const double moved = bodies.body[c.contact.pair.edge_b]->travel();
    return c.contact.gap < moved + kTouching * diameter || !c.contact.force.isZero(0);
  };
  return std::any_of(body_contacts_.contacts().begin(), body_contacts_.contacts().end(), touches) ||
         std::any_of(mesh_contacts_.contacts().begin(), mesh_contacts_.contacts().end(), touches);
}

bool CoupledStep::apart_from_bodies(const Strand* from, const Strand* to, std::size_t count, Bodies bodies) noexcept {
  for (std::size_t k = 0; k < count; ++k) trial_of_[k] = to[k].x;
  if (look(from, count, trial_of_.data(), bodies, {.at = ObstacleLook::At::others}).found > 0) return false;
  bodies.at = 1;
  body_contacts_.find(to, count, bodies, 0);
  mesh_contacts_.find(to, count, bodies, 0);
  const auto apart = [](const BodyContact& c) { return c.contact.gap >= 0; };
  return std::all_of(body_contacts_.contacts().begin(), body_contacts_.contacts().end(), apart) &&
         std::all_of(mesh_contacts_.contacts().begin(), mesh_contacts_.contacts().end(), apart);
}

// In how many parts bodies and tools move, each linearised anew, so that none comes past what it meets in one: by how
// they move against it, if that goes on as in the step before, and no further in a part than a move may go. That is a
// forecast: what comes otherwise is looked for over all of the way, and guards cut moves short.
// @returns 0 only where nothing that is led is near: all motion is then made before the first linearisation.
// @pre soft bodies have not begun the step
int CoupledStep::body_parts(const Given& given, double most_move) const noexcept {
  bool any_led = false;
  double parts = 0;
  const auto meets = [&](const StrandContact& c, const Vector3d& led, const Vector3d& met, double thickness) {
    any_led = true;
    const double way = (led - met).norm();
    if (c.gap >= way + thickness) return;
    parts = std::max({parts, way / (kBodyPart * thickness), led.norm() / most_move});
  };
  visit_rigid([&](const BodyContact& b) {
    const StrandContact& c = b.contact;
    const Obstacle& body = *bodies_.body[c.pair.edge_b];
    const Strand& s = given.strands[c.pair.strand_a];
    if (!(body.travel() > 0)) return;
    const Vector3d* const v = given.problems[c.pair.strand_a].state->v.data();
    meets(c, body.moved(place_of(s.x, s, c), bodies_.at), given.settings.step.dt * place_of(v, s, c),
          body.half_thickness() + s.least_radius());
  });
  if (tools_.furthest() > 0)
    for (const BodyContact& b : tools_.contacts())
      meets(b.contact, tools_.led(b.contact), soft_moved(b.contact, false), tools_.least_radius());
  return any_led ? std::max(1, static_cast<int>(std::ceil(std::min(parts, 1e3)))) : 0;
}

bool CoupledStep::went_round_body(const Strand* from, const Strand* to, std::size_t count,
                                  const Bodies& bodies) noexcept {
  for (std::size_t k = 0; k < count; ++k) trial_of_[k] = to[k].x;
  at_obstacles_.clear();
  look(from, count, trial_of_.data(), bodies, {.at = ObstacleLook::At::others}, &at_obstacles_);
  return !std::all_of(at_obstacles_.begin(), at_obstacles_.end(),
                      [&](const StoppedAtObstacle& s) { return slid(from[s.strand], to[s.strand].x, s.edge); });
}

bool CoupledStep::uncrossed(const Strand* from, const Strand* to, std::size_t count) noexcept {
  for (std::size_t k = 0; k < count; ++k) trial_of_[k] = to[k].x;
  return guard_.look(from, count, trial_of_.data()).fraction >= 1;
}

bool CoupledStep::apart(const Strand* from, const Strand* to, std::size_t count) noexcept {
  if (!uncrossed(from, to, count)) return false;
  // Nor may a thread have folded up to nothing: no later move of it could be proven.
  if (clearance_.fraction(from, count, trial_of_.data()) < 1) return false;
  contacts_.gather(to, count, 0);
  contacts_.find(to, count, 0);
  return std::all_of(contacts_.contacts().begin(), contacts_.contacts().end(),
                     [](const StrandContact& c) { return c.gap >= 0; });
}

// Of two bodies that touch, the least.
double CoupledStep::least_skin() const noexcept {
  double least = 1e9;
  visit_soft([&](const SoftBody& body) {
    if (body.skin() > 0) least = std::min(least, 2 * body.skin());
  });
  return least;
}

// Surfaces are looked at for moves against each other; what lay still may be drawn along by what moves furthest.
TissueReach CoupledStep::reach_of_tissue(double furthest, bool by_step) const noexcept {
  return {kTissueReach * least_skin(), kLikelyMove, kDrawnAlong * furthest, furthest, by_step};
}

bool CoupledStep::strands_press() const noexcept {
  return std::any_of(contacts_.contacts().begin(), contacts_.contacts().end(),
                     [](const StrandContact& c) { return !c.force.isZero(0); });
}

// Nothing holds threads or draws at them: no knot of theirs is tight.
bool CoupledStep::loose(const Given& given, double load) const noexcept {
  for (std::size_t k = 0; k < given.count; ++k) {
    if (given.problems[k].held() || given.systems[k].outer_load() > kLooseLoad * load) return false;
  }
  return true;
}

double CoupledStep::worst_penetration() const noexcept {
  double worst = 0;
  for (const StrandContact& c : contacts_.contacts()) worst = std::max(worst, -c.gap - c.dip);
  for (const BodyContact& c : body_contacts_.contacts()) worst = std::max(worst, -c.contact.gap);
  for (const BodyContact& c : mesh_contacts_.contacts()) worst = std::max(worst, -c.contact.gap);
  for (const StrandContact& c : rings_.contacts()) worst = std::max(worst, -c.gap);
  for (const StrandContact& c : rings_.struts()) worst = std::max(worst, -c.gap);
  for (const BodyContact& c : tools_.contacts()) worst = std::max(worst, -c.contact.gap);
  return worst;
}

bool CoupledStep::tissues_apart() const noexcept {
  const double left = kTissueLeft * least_skin();
  return std::all_of(tissue_contacts_.contacts().begin(), tissue_contacts_.contacts().end(),
                     [&](const TissueContact& c) { return c.contact.gap >= -left; });
}

// Marks the vertices near contacts in in_knot_. @returns the largest imbalance among them [uN]
double CoupledStep::find_knots(const Given& given, double diameter) noexcept {
  for (std::size_t k = 0; k < given.count; ++k) std::fill_n(in_knot_[k].begin(), given.strands[k].vertices, 0);
  const double margin = kChosenMargin * diameter;
  double worst = 0;
  const auto mark = [&](std::uint32_t k, std::uint32_t edge) {
    const Strand& s = given.strands[k];
    const auto n = static_cast<std::ptrdiff_t>(s.vertices);
    for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(edge) - 1; i <= static_cast<std::ptrdiff_t>(edge) + 2; ++i) {
      if (!s.closed && (i < 0 || i >= n)) continue;
      const auto v = static_cast<std::size_t>((i + n) % n);
      in_knot_[k][v] = 1;
      worst = std::max(worst, given.systems[k].imbalance_at(v));
    }
  };
  visit_contacts([&](const StrandContact& c, const Row& row) {
    if (row.of == Row::Of::tool || row.of == Row::Of::tissue || (c.gap > margin && c.force.isZero(0))) return;
    mark(c.pair.strand_a, c.pair.edge_a);
    if (c.pair.strand_b != kNoStrand) mark(c.pair.strand_b, c.pair.edge_b);
  });
  return worst;
}

// Among tissue, and where strands touch bodies alone or are loose: moves near contacts that turn back ask for more drag
// there, moves that go on as before for less.
void CoupledStep::steer_knot_drag(const Given& given, bool first) noexcept {
  double along = 0, now = 0, before = 0;
  for (std::size_t k = 0; k < given.count; ++k)
    for (std::size_t i = 0; i < given.strands[k].vertices; ++i) {
      const Vector3d step = given.systems[k].step_of(i);
      if (in_knot_[k][i]) {
        along += step.dot(last_step_[k][i]);
        now += step.squaredNorm();
        before += last_step_[k][i].squaredNorm();
      }
      last_step_[k][i] = step;
    }
  if (first) return;
  if (along < 0 && now > kBackAndForth * kBackAndForth * before)
    knot_drag_ = std::min(std::max(kDragGrowth * knot_drag_, kFirstDrag), kMostKnotDrag);
  else if (along > kOnward * std::sqrt(now * before))
    knot_drag_ = std::max(knot_drag_ / kDragGrowth, kLeastDrag);
}

CoupledStep::Course CoupledStep::begin(const Given& given) noexcept {
  strands_ = given.strands;
  stops_.begin(given.strands, given.count);
  stops_.add_to(given.strands, tools_.strands(), bodies_, rings_.passages(), mesh_contacts_.contacts(),
                tools_.contacts(), tissue_contacts_.contacts());
  Course course;
  course.diameter = thickest(given.strands, given.count);
  course.most_move = std::max(kMostMoveDiameters * course.diameter, kMostMove);
  course.parts = body_parts(given, course.most_move);
  visit_soft([&](SoftBody& body) {
    body.begin(given.settings.step.dt);
    course.among_tissue = true;
  });
  for (std::size_t k = 0; k < given.count; ++k)
    course.in_hands = course.in_hands || (course.among_tissue && given.problems[k].held());
  for (std::size_t k = 0; k < given.count; ++k) {
    const StepProblem& problem = given.problems[k];
    given.systems[k].begin(problem, given.settings.step);
    course.rest = std::max(course.rest, problem.model->rest_length);
    course.parts = std::max(course.parts, given.systems[k].motion_parts());
    for (const HeldVertex& h : problem.drive->held) {
      const double way = (h.target - (*problem.x0)[h.vertex]).norm();
      course.parts = std::max(course.parts, static_cast<int>(std::ceil(std::min(1e3, way / course.most_move))));
    }
  }
  visit_rigid_surfaces([&](RigidSurface& r) { course.rigid_travel = std::max(course.rigid_travel, r.travel()); });
  const double rigid_parts = std::min(1e3, course.rigid_travel / (kRigidPart * least_skin()));
  course.parts = std::max(course.parts, static_cast<int>(std::ceil(rigid_parts)));
  course.parts = std::min(course.parts, std::max(1, given.settings.step.iterations / 2));
  course.motion = course.parts > 0 ? 0.0 : 1.0;
  course.most_led = course.parts > 0 ? led_ : 1.0;
  for (std::size_t b = 0; b < bodies_.count; ++b)
    course.body_furthest = std::max(course.body_furthest, bodies_.body[b]->travel());
  course.carried = meshes_travel();
  const double in_a_part = course.parts > 1 ? course.body_furthest / course.parts : course.body_furthest;
  course.body_reach = course.most_move + in_a_part + kContactReach * course.diameter;
  course.tool_reach = 2 * course.most_move + tools_.furthest() / std::max(course.parts, 1);
  bodies_.at = course.motion;
  if (given.settings.as_met) drag_ = knot_drag_ = kLeastDrag;
  return course;
}

// Forces of threads and bodies where they are now, those at contacts left out.
CoupledStep::Balance CoupledStep::assemble(const Given& given, const Course& course, bool last) noexcept {
  // Knots alone: what they were measured with.
  const rod::Hessian derivative = last                  ? rod::Hessian::none
                                  : course.among_tissue ? rod::Hessian::exact
                                                        : rod::Hessian::positive;
  Balance balance;
  for (std::size_t k = 0; k < given.count; ++k) {
    ThreadSystem& system = given.systems[k];
    system.ask_for(course.motion);
    system.find_frames(course.iteration == 0);
    const ThreadSystem::Imbalance own = system.assemble(derivative);
    balance.worst.multiplier = std::max(balance.worst.multiplier, own.multiplier);
    balance.worst.finite = balance.worst.finite && own.finite;
    balance.load = std::max(balance.load, system.load());
    balance.rounding = std::max(balance.rounding, system.rounding_force());
  }
  visit_soft([](SoftBody& body) { body.linearise(); });
  given.stage(StepStage::integrate);
  return balance;
}

// Contacts where strands and bodies are after a move, as far as the next one is likely to go.
void CoupledStep::find_again(const Given& given, const Course& course, CoupledOutcome& out) noexcept {
  const Strand* const strands = given.strands;
  const std::size_t count = given.count;
  bodies_.at = course.motion;
  rings_.follow(strands, bodies_);
  // Moves become shorter; one that does not after all is cut short before anything meets that was not looked at.
  const double likely = kLikelyMove * std::max(moved_, soft_moved_);
  const double led = course.led_to(course.motion) - course.motion;
  const double beside = kContactReach * course.diameter;
  stops_.recall(mesh_contacts_.contacts(), tools_.contacts(), tissue_contacts_.contacts());
  const double body_near = std::min(course.body_reach, likely + led * course.body_furthest + beside);
  if (body_contacts_.find(strands, count, bodies_, body_near) > 0) out.overflow = true;
  const double mesh_near = std::min(course.body_reach, kLikelyMove * soft_moved_ + led * course.carried + beside);
  const std::size_t lost =
      find_on_meshes(strands, count, mesh_near, std::min(likely, course.most_move),
                     [&](std::size_t k, std::size_t i) { return kLikelyMove * given.systems[k].step_of(i).norm(); });
  if (lost > 0) out.overflow = true;
  const double tool_near = std::min(course.tool_reach, likely + led * tools_.furthest() + beside);
  if (tools_.find(course.motion, bodies_, tool_near) > 0) out.overflow = true;
  const double soft_likely = std::min(kLikelyMove * soft_moved_ + led * course.rigid_travel, kMostMove);
  if (tissue_contacts_.find(bodies_, reach_of_tissue(soft_likely, true)) > 0) out.overflow = true;
  stops_.add_to(strands, tools_.strands(), bodies_, rings_.passages(), mesh_contacts_.contacts(), tools_.contacts(),
                tissue_contacts_.contacts());
}

// Those with bodies stay as they were met, normals and all.
void CoupledStep::keep_bodies(const Given& given, const Course& course) noexcept {
  bodies_.at = course.motion;
  visit_contacts([&](StrandContact& c, const Row& row) {
    if (row.of == Row::Of::body || row.of == Row::Of::mesh)
      c.gap += course.went * c.normal.dot(relative(c, row, given.systems));
  });
}

// Contacts of strands with each other, found again or kept.
void CoupledStep::find_strands_again(const Given& given, Course& course, CoupledOutcome& out) noexcept {
  contacts_.hold(course.among_tissue || course.iteration >= kPlacesFree);
  if (2 * course.travelled + kContactReach * course.diameter > reach_) {
    contacts_.gather_again(given.strands, given.count, reach_);
    course.travelled = 0;
  }
  if (course.met && !course.cut) {
    contacts_.keep(given.strands);
  } else if (course.cut || course.slid > kRenewMove * course.diameter ||
             course.shifted > kContactReach * course.diameter) {
    if (contacts_.find(given.strands, given.count, reach_) > 0) out.overflow = true;
    course.slid = course.shifted = 0;
  } else {
    contacts_.follow(given.strands);
  }
}

// With the forces at contacts, as far as they are known.
void CoupledStep::add_known_forces(const Given& given, Balance& balance) noexcept {
  tools_.clear_forces();
  visit_contacts([&](const StrandContact& c, const Row& row) {
    if (c.force.isZero(0)) return;
    push(given.systems, c, row, c.force, false);
    if (row.of == Row::Of::tool || row.of == Row::Of::tissue) return;
    balance.load = std::max(balance.load, c.force.norm());
  });
  for (std::size_t k = 0; k < given.count; ++k) {
    const ThreadSystem::Imbalance own = given.systems[k].imbalance();
    balance.worst.force = std::max(balance.worst.force, own.force);
    balance.worst.finite = balance.worst.finite && own.finite;
  }
  given.stage(StepStage::detect);
}

// What the last move was worth, and whether the step is done.
void CoupledStep::judge(const Given& given, Course& course, Balance& balance, CoupledOutcome& out) noexcept {
  const CoupledSettings& settings = given.settings;
  const double left = std::max(balance.worst.force, balance.worst.multiplier);
  const double in_knots = find_knots(given, course.diameter);
  // What flies up to something is not to be slowed down for what it will touch.
  bool flies = loose(given, balance.load), by_bodies = false;
  for (std::size_t k = 0; k < given.count; ++k)
    flies = flies && given.problems[k].model->mass[0] > 0 && !given.problems[k].borne();
  visit_contacts([&](const StrandContact& c, const Row& row) {
    const bool of_strands = row.of != Row::Of::tool && row.of != Row::Of::tissue;
    flies = flies && !(of_strands && !c.force.isZero(0) && c.gap < kTouching * course.diameter);
  });
  visit_rigid([&](const BodyContact&) { by_bodies = true; });
  balance.on_bodies = !course.among_tissue && by_bodies && (!strands_press() || loose(given, balance.load));
  balance.by_moves = course.among_tissue || balance.on_bodies;
  if (course.iteration > 0) {
    if (flies)
      drag_ = kLeastDrag;
    else if (course.over > 1)
      drag_ = std::min(course.in_hands ? kDragGrowth * course.over * drag_ : std::max(kDragGrowth * drag_, kFirstDrag),
                       kMostDrag);
    else if (course.over < kSmallPart || (course.led > 0 && course.furthest <= course.led))
      drag_ = std::max(
          drag_ / (course.in_hands ? std::clamp(kSmallPart / course.over, kDragDecay, kMostDecay) : kDragDecay),
          kLeastDrag);
    const bool by_drag = in_knots < kPoorDrag * course.drag_force;
    if (!balance.by_moves && in_knots > kPoorBalance * course.knots_before && !by_drag)
      knot_drag_ = std::min(std::max(kDragGrowth * knot_drag_, kFirstDrag), kMostKnotDrag);
    else if (!balance.by_moves && (in_knots < kGoodBalance * course.knots_before || by_drag))
      knot_drag_ = std::max(knot_drag_ / kDragDecay, kLeastDrag);
  }
  course.knots_before = in_knots;
  out.residual = left > balance.rounding && balance.load > 0 ? left / balance.load : 0.0;
  // What moves that shorten so are yet to come to [Deuflhard 2011, section 2.1].
  const bool shortens = course.iteration > 1 && moved_ < course.moved_before;
  const double to_come = shortens ? moved_ * moved_ / (course.moved_before - moved_) : moved_;
  course.moved_before = moved_;
  const bool rests =
      moved_ <= std::max(kContactRest, settings.step.residual_target) * course.diameter ||
      (course.among_tissue && to_come <= std::min(kMostRest * course.diameter, kRestShare * course.gone));
  // Forces between strands are as exact as the cone problem was solved.
  const double enough = std::max(settings.step.residual_target, kContactBalance) * balance.load + balance.rounding;
  course.calm = course.iteration > 0 && course.motion == 1.0 && left <= enough && rests;
  out.converged = course.calm && soft_moved_ <= kSoftRest * course.diameter && tissues_apart() &&
                  worst_penetration() <= kPenetrationLeft * course.diameter &&
                  out.cone_residual <= std::max(settings.cone.residual_target, settings.step.residual_target);
}

// The motion without a change of the forces at contacts.
void CoupledStep::linearise(const Given& given, Course& course, const Balance& balance) noexcept {
  course.asked = course.hands_wait ? course.motion : course.led_to(course.motion);
  body_motion_ = course.asked - course.motion;
  visit_rigid_surfaces([&](RigidSurface& surface) { surface.lead_to(course.motion, body_motion_); });
  stiffen_places(given);
  if (!course.among_tissue) let_slide(given);
  course.knot_drag = 0;
  if (course.iteration == 0) course.first_load = balance.load;
  // What a body pushes against its own drag would raise the load, that the drag, and so on.
  const double load = balance.on_bodies ? std::min(balance.load, kMostDragLoad * course.first_load) : balance.load;
  // At its least there is none: beside the inertia of a fine thread even that would be much.
  const auto in_force = [](double drag) { return drag > kLeastDrag ? drag : 0.0; };
  for (std::size_t k = 0; k < given.count; ++k) {
    const std::size_t vertices = given.strands[k].vertices;
    const double drag = in_force(drag_) * load / (course.diameter * static_cast<double>(vertices));
    const double knot_drag = in_force(knot_drag_) * load / (course.diameter * kKnotVertices);
    course.knot_drag = std::max(course.knot_drag, knot_drag);
    for (std::size_t i = 0; i < vertices; ++i) own_drag_[k][i] = in_knot_[k][i] ? knot_drag : 0.0;
    given.systems[k].ask_for(course.asked);
    given.systems[k].linearise(drag, own_drag_[k].data());
    given.systems[k].solve();
  }
  // What learns its stiffness from moves does not learn it from moves that contacts turn to and fro.
  const bool learnt = course.iteration > kLearnt;
  if (learnt || (course.iteration == kPatience && course.calm))
    visit_soft([&](SoftBody& body) {
      if (furthest_step(body) > kSoftRest * course.diameter) body.renew(learnt);
    });
  visit_soft([](SoftBody& body) { body.solve(); });
  given.stage(StepStage::integrate);
}

void CoupledStep::count_work(const Given& given, Course& course, CoupledOutcome& out) noexcept {
  if (given.settings.as_met) {
    const auto met = [&](const StrandContact& c) { return c.gap < course.diameter && !c.force.isZero(0); };
    course.met = course.met || std::any_of(contacts_.contacts().begin(), contacts_.contacts().end(), met);
    // From further away, too: its normal turns less than between two strands, and more with every move.
    visit_rigid([&](const BodyContact& b) { course.met_body = course.met_body || !b.contact.force.isZero(0); });
  }
  ++out.iterations;
  course.work += static_cast<double>(rows_.size()) + kWorkWithout;
  // Hands that are led on in parts may need several; what is left of their way they go in the next step.
  // A step that went back whole is the same again, unless more is done in it.
  const double most_work = went_back_ > kMostBack ? kMostWorkStuck : course.motion == 1 ? 1 : kMostWorkLed;
  course.worked = course.among_tissue && course.work >= most_work * given.settings.most_work;
}

// How far the linearisation leads. @returns whether that is a number
bool CoupledStep::measure(const Given& given, Course& course) noexcept {
  course.furthest = course.led = course.knots_moved = course.most_slid = 0;
  double sum = 0;
  for (std::size_t k = 0; k < given.count; ++k) {
    for (std::size_t i = 0; i < given.strands[k].vertices; ++i) {
      const Vector3d step = given.systems[k].step_of(i);
      sum += step.sum();
      const double far = step.norm();
      course.furthest = std::max(course.furthest, far);
      if (in_knot_[k][i]) course.knots_moved = std::max(course.knots_moved, far);
    }
    for (const HeldVertex& h : given.problems[k].drive->held)
      course.led = std::max(course.led, given.systems[k].step_of(h.vertex).norm());
  }
  sum += tools_.furthest_give();
  visit_soft([&](const SoftBody& body) {
    for (std::size_t v = 0; v < body.nodes(); ++v) sum += body.step()[v].sum();
  });
  if (!std::isfinite(sum)) return false;
  for (const Row& row : rows_) {
    if (row.of == Row::Of::tool || row.of == Row::Of::tissue) continue;
    const StrandContact& c = contact_of(row);
    double part = 1;  // round a thick body the normal turns less than round a strand
    if (row.of == Row::Of::body) {
      const double thickness = 2 * bodies_.body[c.pair.edge_b]->half_thickness();
      if (tool_of(c, row) != kNoTool)
        part = course.diameter / (course.diameter + thickness);
      else if (kMostTurn * (course.diameter + thickness) > 2 * kMostSlid * course.diameter)
        part = 2 * kMostSlid * course.diameter / (kMostTurn * (course.diameter + thickness));
    } else if (row.of == Row::Of::mesh && on_flat(row)) {
      part = 0;  // nothing turns
    }
    course.most_slid = std::max(course.most_slid, part * relative(c, row, given.systems).norm());
  }
  return true;
}

// The trust region: the part of the move for which places and normals of the contacts stay good.
double CoupledStep::trusted(const Given& given, Course& course, CoupledOutcome& out) noexcept {
  const double over_slid = course.most_slid / (kMostSlid * course.diameter);
  const double too_far = std::max(course.furthest / course.most_move, over_slid);
  double fraction = too_far > 1 ? 1 / too_far : 1;
  // Moves that are led are over: a move leaps if it is much longer than the one before, and what the last one of all
  // leaves nobody mends in this step.
  if (course.among_tissue && course.iteration > 0 && course.motion == 1) {
    const bool ends = course.worked || course.iteration + 1 == given.settings.step.iterations;
    const double most = std::max((ends ? 1 : kMostLeap) * course.moved_before, kMostRest * course.diameter);
    fraction = std::min(fraction, most / std::max(course.furthest, most));
  }
  visit_soft([&](const SoftBody& body) { fraction = std::min(fraction, body.reach()); });
  // Drag does not shorten what hands lead: it would stretch the thread behind them.
  course.over = std::max(course.furthest / std::max(course.most_move, kLedMove * course.led), over_slid);
  if (course.furthest > course.most_move) out.limited = true;
  moved_ = course.furthest;
  soft_moved_ = tools_.furthest_give();
  visit_soft([&](const SoftBody& body) { soft_moved_ = std::max(soft_moved_, furthest_step(body)); });
  // Bodies that only tools or each other press and that leap to and fro between two places go half way, and half of
  // that.
  const bool by_tools = course.motion == 1 && !rows_.empty() && std::all_of(rows_.begin(), rows_.end(), between_bodies);
  const bool leaps = soft_moved_ > (1 - (1 - kSoftLeap) * course.relax) * course.soft_before;
  course.relax = !by_tools ? 1.0
                 : leaps   ? std::max(0.5 * course.relax, kLeastRelax)
                           : std::min(1.0, 1.5 * course.relax);
  course.soft_before = soft_moved_;
  return std::min(fraction, course.relax);
}

// Goes this part of the move.
void CoupledStep::advance(const Given& given, Course& course, double fraction) noexcept {
  // Tissue as near to an arm as it may come moves with it or not at all, and with one that turns it cannot exactly:
  // for one linearisation only what the arm gives way by is left, which is alike all over it.
  course.hands_wait =
      !course.hands_wait && fraction < kBlockedFraction && course.asked > course.motion && !tools_in_way_.empty();
  course.went = fraction;
  course.motion += fraction * (course.asked - course.motion);
  if (fraction == 1) course.motion = course.asked;
  tools_.advance(fraction);
  tools_.stand_no_more();
  visit_soft([&](SoftBody& body) { body.advance(fraction); });
  visit_rigid_surfaces([&](RigidSurface& surface) { surface.advance(fraction); });
  for (std::size_t k = 0; k < given.count; ++k) {
    rod::RodState& state = *given.problems[k].state;
    ThreadSystem& system = given.systems[k];
    system.foresee_tension(trial_[k]);
    if (system.stride() == 4)
      for (std::size_t i = 0; i < given.problems[k].model->edges(); ++i)
        system.theta()[i] = system.theta_by(fraction, i);
    std::copy_n(trial_[k].begin(), state.x.size(), state.x.begin());
    system.ask_for(course.motion);
    system.place_held();
  }
  course.travelled += fraction * course.furthest;
  course.gone += fraction * course.furthest;
  course.drag_force = fraction * course.knots_moved * course.knot_drag;
  course.shifted += fraction * course.furthest;
  course.slid += fraction * course.most_slid;
  course.still = course.motion == 1 && fraction == 1 && std::max(course.furthest, soft_moved_) < kStill * course.rest;
  for (std::size_t k = 0; k < given.count; ++k)
    if (given.systems[k].move_multipliers(fraction)) course.still = false;
}

// Contacts, tools, bodies and threads as the next step finds them.
void CoupledStep::finish(const Given& given, const Course& course, CoupledOutcome& out) noexcept {
  stops_.recall(mesh_contacts_.contacts(), tools_.contacts(), tissue_contacts_.contacts());
  visit_contacts([&](const StrandContact& c, const Row&) {
    if (c.force.norm() > (1 - 1e-9) * kMostStrandForce) out.gave_way = true;
  });
  out.motion = course.motion;
  if (!out.finite) {
    tools_.go_back(0);
    visit_rigid_surfaces([](RigidSurface& surface) { surface.go_back(0); });
  }
  tools_.finish(out.finite ? course.motion : 0);
  visit_soft([&](SoftBody& body) {
    if (!out.finite) body.go_back(0);
    body.finish();
  });
  for (std::size_t k = 0; k < given.count; ++k) {
    if (!out.finite) {
      given.systems[k].undo();
      continue;
    }
    given.systems[k].keep_reactions();
    given.systems[k].finish();
  }
}

CoupledOutcome CoupledStep::solve(ThreadSystem* systems, const StepProblem* problems, const Strand* strands,
                                  std::size_t count, const CoupledSettings& settings, Executor& executor,
                                  StageWatch stage, SpareMore spare_more) noexcept {
  const Given given{systems, problems, strands, count, settings, executor, stage, spare_more};
  CoupledOutcome out;
  Course course = begin(given);
  for (;; ++course.iteration) {
    const bool last =
        course.still || course.blocked > kMostBlocked || course.worked || course.iteration == settings.step.iterations;
    Balance balance = assemble(given, course, last);
    if (course.iteration > 0) {
      given.spare_more();
      if (course.met_body && !course.cut)
        keep_bodies(given, course);
      else
        find_again(given, course, out);
      if (settings.between) find_strands_again(given, course, out);
    }
    course.cut = false;
    add_known_forces(given, balance);
    out.finite = balance.worst.finite;
    if (!out.finite) break;
    judge(given, course, balance, out);
    if (out.converged || last) break;

    linearise(given, course, balance);
    couple(given, course.diameter, out);
    count_work(given, course, out);
    if (balance.by_moves) steer_knot_drag(given, course.iteration == 0);
    out.finite = measure(given, course);
    if (!out.finite) break;
    const std::size_t stops_before = stops_.size();
    const double fraction = proven(given, let_through(given, course, trusted(given, course, out), out), out);
    stage(StepStage::continuous);
    if (course.among_tissue)
      recovered_ = fraction < kBlockedFraction ? 0.0
                   : fraction < kPoorFraction  ? 0.5 * recovered_
                                               : std::min(1.0, std::max(2 * recovered_, kLeastRecovered));
    // What is stopped for the first time is pushed off in the next linearisation.
    if (stops_.size() == stops_before)
      course.blocked = fraction < kBlockedFraction && !out.limited ? course.blocked + 1 : 0;
    advance(given, course, fraction);
  }
  const bool went_back = out.finite && !out.converged && go_back(given, course);
  if (went_back) out.limited = true;
  if (out.finite && !course.among_tissue) shift_free(given);
  // Hands that pull on regardless would never let a thread come to rest that is as long as it can be. A step or two of
  // that is how they draw it tight.
  if (course.among_tissue) {
    went_back_ = went_back ? went_back_ + 1 : 0;
    led_ = went_back_ > kMostBack ? std::max(kLedAgain * led_, kLeastLed) : std::min(1.0, 2 * led_);
  }
  finish(given, course, out);
  return out;
}

}  // namespace ligature::contact
