#include "sim/contact/coupled_step.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/contact/implicit_step.hpp"
#include "sim/contact/rigid_surface.hpp"
#include "sim/contact/segment_triangle.hpp"
#include "sim/contact/smooth_curve.hpp"
#include "sim/contact/tolerances.hpp"

namespace ligature::contact {
namespace {

// n, then two directions across it: those that the coordinate axes give, so that equal normals have equal axes.
Eigen::Matrix3d axes_of(const Vector3d& n) {
  Eigen::Index least = 0;
  n.cwiseAbs().minCoeff(&least);
  const Vector3d t = n.cross(Vector3d::Unit(least)).normalized();
  Eigen::Matrix3d axes;
  axes.col(0) = n;
  axes.col(1) = t;
  axes.col(2) = n.cross(t);
  return axes;
}

// Sum of weight value(node) over the corners that a place lies between.
template <class Value>
Vector3d blended(const SoftBody& body, const SurfacePlace& place, const Value& value) {
  const TriangleMesh::Triangle& corner = body.surface().triangle(place.triangle);
  return place.weight.x() * value(corner[0]) + place.weight.y() * value(corner[1]) +
         place.weight.z() * value(corner[2]);
}

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

// In how many parts bodies move, each linearised anew, so that none is past a strand in one.
int CoupledStep::body_parts(const Strand* strands) const noexcept {
  double parts = 0;
  visit_rigid([&](const BodyContact& c) {
    const Obstacle& body = *bodies_.body[c.contact.pair.edge_b];
    const Strand& strand = strands[c.contact.pair.strand_a];
    parts = std::max(parts, body.travel() / (kBodyPart * (body.half_thickness() + strand.least_radius())));
  });
  return static_cast<int>(std::ceil(std::min(parts, 1e3)));
}

template <class Visit>
void CoupledStep::visit_soft(const Visit& visit) const noexcept {
  for (std::size_t b = 0; b < bodies_.count; ++b)
    if (SoftBody* const body = bodies_.soft_of(b)) visit(*body);
}

template <class Visit>
void CoupledStep::visit_rigid_surfaces(const Visit& visit) const noexcept {
  for (std::size_t b = 0; b < bodies_.count; ++b)
    if (RigidSurface* const surface = bodies_.rigid_of(b)) visit(*surface);
}

template <class Visit>
void CoupledStep::visit_rigid(const Visit& visit) const noexcept {
  std::for_each(body_contacts_.contacts().begin(), body_contacts_.contacts().end(), visit);
  for (const BodyContact& c : mesh_contacts_.contacts())
    if (is_rigid(c.contact)) visit(c);
}

std::uint32_t CoupledStep::number_of(const SoftBody& body) const noexcept {
  std::uint32_t b = 0;
  while (bodies_.soft_of(b) != &body) ++b;
  return b;
}

template <class Visit>
void CoupledStep::visit_contacts(const Visit& visit) noexcept {
  std::vector<StrandContact>& between = contacts_.contacts();
  for (std::size_t j = 0; j < between.size(); ++j) visit(between[j], Row{j, Row::Of::strands});
  std::vector<BodyContact>& with = body_contacts_.contacts();
  for (std::size_t j = 0; j < with.size(); ++j) visit(with[j].contact, Row{j, Row::Of::body});
  std::vector<BodyContact>& on_mesh = mesh_contacts_.contacts();
  for (std::size_t j = 0; j < on_mesh.size(); ++j) visit(on_mesh[j].contact, Row{j, Row::Of::mesh});
  std::vector<StrandContact>& in = rings_.contacts();
  for (std::size_t j = 0; j < in.size(); ++j) visit(in[j], Row{j, Row::Of::ring});
  std::vector<StrandContact>& along = rings_.struts();
  for (std::size_t j = 0; j < along.size(); ++j) visit(along[j], Row{j, Row::Of::strut});
  std::vector<BodyContact>& by = tools_.contacts();
  for (std::size_t j = 0; j < by.size(); ++j) visit(by[j].contact, Row{j, Row::Of::tool});
  std::vector<TissueContact>& on = tissue_contacts_.contacts();
  for (std::size_t j = 0; j < on.size(); ++j) visit(on[j].contact, Row{j, Row::Of::tissue});
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

ConeProblem CoupledStep::last_problem() const noexcept {
  return {rows_.size(), coupling_.w(), coupling_.stride(), q_.data(), mu_.data()};
}

std::size_t CoupledStep::tool_of(const StrandContact& c, const Row& row) const noexcept {
  if (row.of == Row::Of::tool) return tools_.tool_of(c);
  return row.of == Row::Of::body && c.pair.edge_b >= bodies_.tools ? c.pair.edge_b - bodies_.tools : kNoTool;
}

// Of the place of a contact on a rigid body or a tool: in the move to come, or since the step began.
Vector3d CoupledStep::body_moved(const StrandContact& c, const Row& row, bool ahead) const noexcept {
  const Obstacle& body = *bodies_.body[c.pair.edge_b];
  const double part = ahead ? body_motion_ : bodies_.at;
  const std::size_t tool = tool_of(c, row);
  if (tool == kNoTool) return part * body.moved();
  const Strand& s = strands_[c.pair.strand_a];
  return part * body.moved(place_on(s.x, s, c.pair.edge_a, c.sa), bodies_.at) +
         (ahead ? tools_.gives(tool) : tools_.gave(tool));
}

// Of the place of a contact on a soft body, or on what tissue meets: by its last step(), or since the step began.
Vector3d CoupledStep::soft_moved(const StrandContact& c, bool by_step) const noexcept {
  const SoftBody& soft = *met_by_tissue(bodies_, c.pair.edge_b);
  return blended(soft, c.on, [&](std::uint32_t v) -> Vector3d {
    return by_step ? soft.step()[v] : Vector3d(soft.x()[v] - soft.start()[v]);
  });
}

// Likewise of a's place against b's, of two bodies that tissue meets.
Vector3d CoupledStep::tissue_moved(const Row& row, bool by_step) const noexcept {
  const TissueContact& t = tissue_contacts_.contacts()[row.contact];
  StrandContact own = t.contact;
  own.pair.edge_b = t.contact.pair.edge_a;
  own.on = t.of;
  return soft_moved(own, by_step) - soft_moved(t.contact, by_step);
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

// Motion of a's place against b's by the last step() of their systems, and in it.
Vector3d CoupledStep::relative(const StrandContact& c, const Row& row, const ThreadSystem* systems) const noexcept {
  if (row.of == Row::Of::tool) return tools_.ahead(c, body_motion_) - soft_moved(c, true);
  if (row.of == Row::Of::tissue) return tissue_moved(row, true);
  const auto moved = [&](std::uint32_t strand, std::uint32_t edge, double at, const Vector3d& out) -> Vector3d {
    const ThreadSystem& s = systems[strand];
    const Blend b = blend_of(c, strands_[strand], edge, at);
    Vector3d sum = b.weight[0] * s.step_of(b.vertex[0]) + b.weight[1] * s.step_of(b.vertex[1]) +
                   b.weight[2] * s.step_of(b.vertex[2]);
    if (!strands_[strand].turns) return sum;
    const Turn turn = turn_at(strands_[strand], edge, at, out);
    return sum + (turn.weight[0] * s.turn_of(turn.edge[0]) + turn.weight[1] * s.turn_of(turn.edge[1])) * turn.arm;
  };
  if (c.pair.strand_b == kNoStrand)
    return moved(c.pair.strand_a, c.pair.edge_a, c.sa, Vector3d::Zero()) -
           (bodies_.soft_of(c.pair.edge_b) ? soft_moved(c, true) : body_moved(c, row, true));
  return moved(c.pair.strand_a, c.pair.edge_a, c.sa, -c.normal) - moved(c.pair.strand_b, c.pair.edge_b, c.sb, c.normal);
}

void CoupledStep::push(ThreadSystem* systems, const StrandContact& c, const Row& row, const Vector3d& force,
                       bool right) noexcept {
  const bool between = c.pair.strand_b != kNoStrand;
  const auto on = [&](std::uint32_t strand, std::uint32_t edge, double at, const Vector3d& f, const Vector3d& out) {
    ThreadSystem& s = systems[strand];
    const Blend blend = blend_of(c, strands_[strand], edge, at);
    for (std::uint32_t k = 0; k < 3; ++k) {
      s.push(blend.vertex[k], blend.weight[k] * f);
      if (right) s.push_right(blend.vertex[k], blend.weight[k] * f);
    }
    if (!between || !strands_[strand].turns) return;
    const Turn turn = turn_at(strands_[strand], edge, at, out);
    const double moment = turn.arm.dot(f);
    for (int k = 0; k < 2; ++k) {
      s.turn(turn.edge[k], turn.weight[k] * moment);
      if (right) s.turn_right(turn.edge[k], turn.weight[k] * moment);
    }
  };
  const auto on_soft = [&](std::uint32_t number, const SurfacePlace& place, const Vector3d& f) {
    SoftBody* const soft = bodies_.soft_of(number);
    for (std::size_t k = 0; soft && k < 3; ++k)
      soft->push(soft->surface().triangle(place.triangle)[k], place.weight[static_cast<Eigen::Index>(k)] * f);
  };
  if (const std::size_t tool = tool_of(c, row); tool != kNoTool)
    tools_.push(tool, row.of == Row::Of::tool ? force : Vector3d(-force), touched_by(row));
  if (row.of == Row::Of::tissue)
    on_soft(c.pair.edge_a, tissue_contacts_.contacts()[row.contact].of, force);
  else if (row.of != Row::Of::tool)
    on(c.pair.strand_a, c.pair.edge_a, c.sa, force, -c.normal);
  if (!between) on_soft(c.pair.edge_b, c.on, -force);
  if (between) on(c.pair.strand_b, c.pair.edge_b, c.sb, -force, c.normal);
}

// Motion of a's place against b's in this step.
Vector3d CoupledStep::slid_so_far(const StrandContact& c, const Row& row, const ThreadSystem* systems) const noexcept {
  if (row.of == Row::Of::tool) return tools_.so_far(c, bodies_.at) - soft_moved(c, false);
  if (row.of == Row::Of::tissue) return tissue_moved(row, false);
  const auto moved = [&](std::uint32_t strand, std::uint32_t edge, double at, const Vector3d& out) -> Vector3d {
    const Strand& s = strands_[strand];
    const Blend b = blend_of(c, s, edge, at);
    const std::vector<Vector3d>& x0 = *systems[strand].problem().x0;
    Vector3d sum = Vector3d::Zero();
    for (std::size_t k = 0; k < 3; ++k) sum += b.weight[k] * (s.x[b.vertex[k]] - x0[b.vertex[k]]);
    if (!s.turns) return sum;
    const Turn turn = turn_at(s, edge, at, out);
    const ThreadSystem& system = systems[strand];
    return sum +
           (turn.weight[0] * system.turned(turn.edge[0]) + turn.weight[1] * system.turned(turn.edge[1])) * turn.arm;
  };
  if (c.pair.strand_b == kNoStrand)
    return moved(c.pair.strand_a, c.pair.edge_a, c.sa, Vector3d::Zero()) -
           (bodies_.soft_of(c.pair.edge_b) ? soft_moved(c, false) : body_moved(c, row, false));
  return moved(c.pair.strand_a, c.pair.edge_a, c.sa, -c.normal) - moved(c.pair.strand_b, c.pair.edge_b, c.sb, c.normal);
}

double CoupledStep::work_on(std::uint32_t body) noexcept {
  double work = 0;
  visit_contacts([&](const StrandContact& c, const Row& row) {
    if (c.force.isZero(0) || c.pair.strand_b != kNoStrand) return;
    if (c.pair.edge_b == body) work -= c.force.dot(soft_moved(c, false));
    if (row.of != Row::Of::tissue || c.pair.edge_a != body) return;
    StrandContact own = c;
    own.pair.edge_b = body, own.on = tissue_contacts_.contacts()[row.contact].of;
    work += c.force.dot(soft_moved(own, false));
  });
  return work;
}

bool CoupledStep::strands_press() const noexcept {
  return std::any_of(contacts_.contacts().begin(), contacts_.contacts().end(),
                     [](const StrandContact& c) { return !c.force.isZero(0); });
}

// Nothing holds threads or draws at them: no knot of theirs is tight.
bool CoupledStep::loose(const ThreadSystem* systems, const StepProblem* problems, std::size_t count,
                        double load) const noexcept {
  for (std::size_t k = 0; k < count; ++k) {
    const StepProblem& p = problems[k];
    const auto grips = [](const Constraint& c) { return c.kind == Constraint::Kind::grip; };
    if (!p.drive->held.empty() || std::any_of(p.constraints, p.constraints + p.count, grips)) return false;
    if (systems[k].outer_load() > kLooseLoad * load) return false;
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

// Forces at contacts such that the motion they bring about together with the rest obeys their laws. The systems'
// step() is the motion without a change of these forces; afterwards with it.
void CoupledStep::couple(ThreadSystem* systems, const Strand* strands, std::size_t count,
                         const CoupledSettings& settings, Executor& executor, StageWatch stage,
                         CoupledOutcome& out) noexcept {
  const double margin = kChosenMargin * thickest(strands, count);
  const double tool_margin = kChosenMargin * (tools_.strands().empty() ? 0 : tools_.least_radius());
  const double tissue_margin = kTissueMargin * least_skin();
  rows_.clear();
  chosen_.clear();
  axes_.clear();
  visit_contacts([&](const StrandContact& c, const Row& row) {
    const Vector3d moving = relative(c, row, systems);
    const double left = c.gap + c.dip + c.normal.dot(moving);
    const double near = row.of == Row::Of::tool ? tool_margin : row.of == Row::Of::tissue ? tissue_margin : margin;
    if (left > near && c.force.isZero(0)) return;
    if (rows_.size() == mu_.size()) {
      out.overflow = true;
      return;
    }
    const Eigen::Matrix3d axes = row.of == Row::Of::ring ? rings_.axes(row.contact, strands) : axes_of(c.normal);
    const std::size_t r = rows_.size();
    Eigen::Map<Vector3d> q(q_.data() + 3 * r), f(force_.data() + 3 * r);
    const Vector3d slid = slid_so_far(c, row, systems);
    q = axes.transpose() * (slid + moving);
    slid_[r] = {axes.col(1).dot(slid), axes.col(2).dot(slid)};
    const bool is_stop = row.of == Row::Of::tissue
                             ? tissue_contacts_.contacts()[row.contact].kind == TissueContact::Kind::stop
                             : c.kind == StrandContact::Kind::stop;
    const bool between = c.pair.strand_b != kNoStrand;
    const bool on_soft = !between && !is_stop && bodies_.soft_of(c.pair.edge_b);
    q[0] = left - (on_soft && c.gap < 0 ? (1 - recovered_) * c.gap : 0.0);
    f = axes.transpose() * c.force;
    const bool at_point =
        row.of == Row::Of::mesh && mesh_contacts_.contacts()[row.contact].vertex == strands[c.pair.strand_a].point;
    mu_[r] = row.of == Row::Of::strands        ? settings.friction
             : row.of == Row::Of::strut        ? 0.0
             : row.of == Row::Of::tool         ? settings.tool_friction
             : row.of == Row::Of::tissue       ? (on_rigid(c) ? settings.tool_friction : settings.tissue_friction)
             : c.pair.edge_b >= bodies_.tools  ? settings.tool_thread_friction
             : !bodies_.soft_of(c.pair.edge_b) ? settings.body_friction
             : at_point                        ? std::max(kPointFriction, settings.soft_friction)
                                               : settings.soft_friction;
    rows_.push_back(row);
    chosen_.push_back(c);
    if (row.of == Row::Of::tool) chosen_.back().pair.strand_a = kNoStrand;
    axes_.push_back(axes);
  });
  if (rows_.empty()) {
    out.cone_residual = 0;
    stage(StepStage::couple);
    return;
  }
  add_rim_slopes(systems, strands);
  for (std::size_t k = 0; k < count; ++k) {
    inverses_[k] = systems + k;
    // Where the contacts are, so that the next band is eliminated towards them.
    double sum = 0, touches = 0;
    for (const StrandContact& c : chosen_) {
      if (c.pair.strand_a == k) sum += c.pair.edge_a, ++touches;
      if (c.pair.strand_b == k) sum += c.pair.edge_b, ++touches;
    }
    if (touches > 0) systems[k].meet_at(static_cast<std::size_t>(sum / touches));
  }
  coupling_.build(strands, count, inverses_.data(), chosen_.data(), axes_.data(), chosen_.size(), executor);
  add_soft_coupling();
  stage(StepStage::couple);

  // The motion q is that with the forces so far: take their share out.
  const std::size_t rows = 3 * rows_.size();
  std::copy_n(force_.begin(), rows, start_.begin());
  for (std::size_t r = 0; r < 3 * chosen_.size(); ++r) {
    const double* w = coupling_.w() + r * coupling_.stride();
    double sum = 0;
    for (std::size_t c = 0; c < rows; ++c) sum += w[c] * start_[c];
    q_[r] -= sum;
  }
  turn_with_rims();
  ConeSettings cone = settings.cone;
  cone.residual_target = std::clamp(kForcing * out.residual, kLeastConeTarget,
                                    std::max(cone.residual_target, kForcing * settings.step.residual_target));
  cone.motion_target = std::clamp(kForcing * moved_, kLeastMotionTarget * thickest(strands, count),
                                  kMostMotionTarget * thickest(strands, count));
  // A guard allows nothing that a loose answer leaves undone.
  if (stops_.size() > 0) {
    cone.residual_target = kLeastConeTarget;
    cone.motion_target = kLeastMotionTarget * thickest(strands, count);
  }
  // Between strands alone sweeps are as exact as a step's first linearisations, and cheaper.
  cone.newton = out.iterations >= kSweptAlone || (out.residual < kSettled && rows_.size() <= kFewContacts) ||
                std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.of != Row::Of::strands; });
  // Of tissues flung at each other or drawn together fewer steps converge with the interior-point method.
  if (2 * std::count_if(rows_.begin(), rows_.end(), between_bodies) > static_cast<std::ptrdiff_t>(rows_.size()))
    cone.interior = 0;
  // Wound round a body many contacts slide as one, held by the thread's drag alone: nothing else solves that.
  if (std::all_of(rows_.begin(), rows_.end(), [&](const Row& row) {
        return row.of == Row::Of::body || (row.of == Row::Of::mesh && is_rigid(contact_of(row)));
      }))
    cone.interior_contacts = kInteriorOnBodies;
  const ConeOutcome solved = solver_.solve(last_problem(), cone, force_.data());
  out.cone_iterations += solved.iterations;
  out.cone_residual = solved.residual;
  std::fill_n(turned_.begin(), rows_.size(), Vector3d(0, 0, 0));
  pull_rims(systems);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    StrandContact& c = contact_of(rows_[r]);
    const Eigen::Map<const Vector3d> f(force_.data() + 3 * r), u(solver_.motion() + 3 * r);
    Vector3d force = axes_[r] * f;
    force += turned_[r];
    // Strands that cannot come free in this step press with no more than any thread bears.
    if (force.norm() > kMostStrandForce) force *= kMostStrandForce / force.norm();
    push(systems, c, rows_[r], force - c.force, true);
    c.force = force;
    c.sliding = f[0] > 0 && f.tail<2>().norm() >= (1 - 1e-6) * mu_[r] * f[0] && u.tail<2>().norm() > 0;
  }
  for (std::size_t k = 0; k < count; ++k) systems[k].solve();
  visit_soft([](SoftBody& body) { body.solve(); });
  stage(StepStage::solve);
}

// The slopes of strands in rings, behind the contacts: the springs there are between motions and slopes.
void CoupledStep::add_rim_slopes(const ThreadSystem* systems, const Strand* strands) noexcept {
  springs_.clear();
  for (std::size_t r = 0; r < rows_.size() && chosen_.size() < mu_.size(); ++r) {
    if (rows_[r].of != Row::Of::ring) continue;
    const Rings::Stiffness by = rings_.stiffness(rows_[r].contact, strands);
    if (!(by.round > 0)) continue;
    const std::size_t slope = chosen_.size();
    StrandContact c = chosen_[r];
    c.kind = StrandContact::Kind::slope;
    const Blend b = slope_at(strands[c.pair.strand_a], c.pair.edge_a, c.sa);
    Vector3d turned = Vector3d::Zero();
    for (std::size_t k = 0; k < 3; ++k) turned += b.weight[k] * systems[c.pair.strand_a].step_of(b.vertex[k]);
    Eigen::Map<Vector3d>(q_.data() + 3 * slope) = axes_[r].transpose() * turned;
    Eigen::Map<Vector3d>(start_.data() + 3 * slope).setZero();
    chosen_.push_back(c);
    axes_.push_back(axes_[r]);
    springs_.push_back({r, slope, {{3 * r + 1, 3 * r + 1}, {1, 0}}, by.round, slid_[r][0]});
    // The eigenvectors of the symmetric matrix of the other two; the normal is minus what slopes are told against.
    const double half = 0.5 * (by.along - by.slope), far = std::hypot(half, by.both);
    const double high = 0.5 * (by.along + by.slope) + far, low = by.along + by.slope - high;
    const double turn = 0.5 * std::atan2(by.both, half), c1 = std::cos(turn), s1 = std::sin(turn);
    springs_.push_back({r, slope, {{3 * r + 2, 3 * slope}, {c1, -s1}}, high, c1 * slid_[r][1]});
    springs_.push_back({r, slope, {{3 * r + 2, 3 * slope}, {-s1, -c1}}, low, -s1 * slid_[r][1]});
  }
}

// Along a narrow rim the normal turns much within a move; linearised, that are springs between strand and body. They
// are taken into the matrix and the free motion [Sherman and Morrison 1950].
void CoupledStep::turn_with_rims() noexcept {
  for (RimSpring& s : springs_) s.stiffness = coupling_.stiffen(s.along, s.stiffness, s.at, q_.data());
  const std::size_t rows = 3 * rows_.size();
  for (std::size_t slope = rows_.size(); slope < chosen_.size(); ++slope)
    std::copy_n(coupling_.w() + 3 * slope * coupling_.stride(), rows, slope_w_.data() + (slope - rows_.size()) * rows);
  coupling_.keep(rows_.size());
}

// The forces of these springs: of those on the contacts, added to them; of those on slopes, to the strand.
void CoupledStep::pull_rims(ThreadSystem* systems) noexcept {
  const std::size_t rows = 3 * rows_.size();
  for (const RimSpring& s : springs_) {
    const auto moved = [&](std::size_t row) {
      if (row < rows) return solver_.motion()[row];
      const double* w = slope_w_.data() + (s.slope - rows_.size()) * rows;
      double sum = q_[row];
      for (std::size_t c = 0; c < rows; ++c) sum += w[c] * force_[c];
      return sum;
    };
    const double off = s.along.share[0] * moved(s.along.row[0]) + s.along.share[1] * moved(s.along.row[1]) - s.at;
    const double pull = -s.stiffness * off;
    const StrandContact& c = chosen_[s.slope];
    turned_[s.row] += pull * s.along.share[0] * axes_[s.row].col(static_cast<Eigen::Index>(s.along.row[0] % 3));
    if (s.along.row[1] < rows) continue;
    const Blend b = slope_at(strands_[c.pair.strand_a], c.pair.edge_a, c.sa);
    const Vector3d on_slope = pull * s.along.share[1] * axes_[s.slope].col(0);
    for (std::size_t k = 0; k < 3; ++k) systems[c.pair.strand_a].push_right(b.vertex[k], b.weight[k] * on_slope);
  }
}

// What contacts with one soft body have to do with each other by way of it, and those of one tool by the hand.
void CoupledStep::add_soft_coupling() noexcept {
  for (std::uint32_t b = 0; b < bodies_.count; ++b) {
    const SoftBody* const body = bodies_.soft_of(b);
    if (!body) continue;
    soft_coupling_.begin(*body);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const StrandContact& c = chosen_[i];
      if (c.pair.strand_b != kNoStrand) continue;
      if (rows_[i].of == Row::Of::tissue && c.pair.edge_a == b)
        soft_coupling_.touch(i, tissue_contacts_.contacts()[rows_[i].contact].of, 1);
      if (c.pair.edge_b == b) soft_coupling_.touch(i, c.on, -1);
    }
    soft_coupling_.add_to(coupling_, axes_.data());
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const std::size_t tool = tool_of(contact_of(rows_[i]), rows_[i]);
    if (tool == kNoTool) continue;
    for (std::size_t j = 0; j <= i; ++j) {
      const std::size_t other = tool_of(contact_of(rows_[j]), rows_[j]);
      if (other == kNoTool) continue;
      const double gives = tools_.compliance(tool, touched_by(rows_[i]), other, touched_by(rows_[j]));
      if (gives == 0) continue;
      // Tissue is pushed by a tool, a strand pushes it: the other way round.
      const double sign = rows_[i].of == rows_[j].of ? 1 : -1;
      coupling_.add(i, j, sign * gives * axes_[i].transpose() * axes_[j]);
    }
  }
}

void CoupledStep::place_trial(const ThreadSystem* systems, std::size_t count, double fraction) noexcept {
  for (std::size_t k = 0; k < count; ++k) {
    systems[k].place_by(fraction, trial_[k]);
    trial_of_[k] = trial_[k].data();
  }
  for (const Jams::Part& p : jams_.parts())
    if (!p.soft) trial_[p.owner][p.index] = strands_[p.owner].x[p.index] + fraction * p.move;
}

double CoupledStep::find_knots(const ThreadSystem* systems, const Strand* strands, std::size_t count) noexcept {
  for (std::size_t k = 0; k < count; ++k) std::fill_n(in_knot_[k].begin(), strands[k].vertices, 0);
  const double margin = kChosenMargin * thickest(strands, count);
  double worst = 0;
  const auto mark = [&](std::uint32_t k, std::uint32_t edge) {
    const Strand& s = strands[k];
    const auto n = static_cast<std::ptrdiff_t>(s.vertices);
    for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(edge) - 1; i <= static_cast<std::ptrdiff_t>(edge) + 2; ++i) {
      if (!s.closed && (i < 0 || i >= n)) continue;
      const auto v = static_cast<std::size_t>((i + n) % n);
      in_knot_[k][v] = 1;
      worst = std::max(worst, systems[k].imbalance_at(v));
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
void CoupledStep::steer_knot_drag(const ThreadSystem* systems, const Strand* strands, std::size_t count,
                                  bool first) noexcept {
  double along = 0, now = 0, before = 0;
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t i = 0; i < strands[k].vertices; ++i) {
      const Vector3d step = systems[k].step_of(i);
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

// A place glides towards where a strand that turns comes nearer, and the force with it: that holds the strand level.
// Along a blunt body neighbours take over from each other, and the force stays where it is.
void CoupledStep::stiffen_places(ThreadSystem* systems, const Strand* strands) const noexcept {
  const auto stiffen = [&](const BodyContact& b) {
    const StrandContact& c = b.contact;
    const double pressed = c.normal.dot(c.force);
    if (!(pressed > 0) || !(b.bend > 0)) return;
    const Strand& s = strands[c.pair.strand_a];
    const double hold = bodies_.body[c.pair.edge_b]->surface() ? kFaceHold : kPlaceHold;
    const double sharp = std::max(0.0, 1 - hold * s.radius / b.bend);
    const Blend slope = slope_at(s, c.pair.edge_a, c.sa);
    systems[c.pair.strand_a].stiffen(slope.vertex, slope.weight, std::sqrt(sharp * pressed / b.bend) * c.normal);
  };
  for (const StrandContact& c : contacts_.contacts()) {
    const double pressed = c.normal.dot(c.force);
    if (!(pressed > 0)) continue;
    const auto level = [&](std::uint32_t strand, std::uint32_t edge, double at, double glide) {
      if (!(glide > 0)) return;
      const Blend slope = slope_at(strands[strand], edge, at);
      systems[strand].stiffen(slope.vertex, slope.weight, std::sqrt(pressed * glide) * c.normal);
    };
    level(c.pair.strand_a, c.pair.edge_a, c.sa, c.glide_a);
    level(c.pair.strand_b, c.pair.edge_b, c.sb, c.glide_b);
  }
  std::for_each(body_contacts_.contacts().begin(), body_contacts_.contacts().end(), stiffen);
  std::for_each(mesh_contacts_.contacts().begin(), mesh_contacts_.contacts().end(), stiffen);
}

// A thread that slides round a body takes the contacts' normals along: their forces turn with it, and what these forces
// do along its way is just what the geometric stiffness of its tension holds against (T/l |u1 - u0|^2 / 2 across the
// edge, and u1 - u0 = s (t1 - t0) where all slide by s). Left out of the Hessian, since no part of it is positive
// definite without the contact, that stiffness resists every slide by T times the angle over the radius, and Newton's
// method creeps. So both are left out, as far as contacts and not bending bear what tension presses inwards with.
void CoupledStep::let_slide(ThreadSystem* systems, const Strand* strands, std::size_t count) noexcept {
  for (std::size_t k = 0; k < count; ++k) std::fill_n(pressed_[k].begin(), strands[k].vertices, Vector3d::Zero());
  visit_rigid([&](const BodyContact& b) {
    const StrandContact& c = b.contact;
    const Blend at = blend_of(c, strands[c.pair.strand_a], c.pair.edge_a, c.sa);
    const Vector3d force = c.normal.dot(c.force) * c.normal;
    for (std::size_t j = 0; j < 3; ++j) pressed_[c.pair.strand_a][at.vertex[j]] += at.weight[j] * force;
  });
  struct Bend {
    double share = 0;       // of what tension presses the vertex inwards with, that contacts bear
    Vector3d out{0, 0, 0};  // unit, away from the bend's inner side
  };
  for (std::size_t k = 0; k < count; ++k) {
    const Strand& s = strands[k];
    const std::vector<Vector3d>& pressed = pressed_[k];
    const auto bend_at = [&](std::size_t i) -> Bend {
      if (pressed[i].isZero(0) || (!s.closed && (i == 0 || i + 1 == s.vertices))) return {};
      const std::size_t before = i == 0 ? s.vertices - 1 : i - 1;
      const Vector3d in = (s.x[i] - s.x[before]).normalized(), onward = (s.x[s.next(i)] - s.x[i]).normalized();
      const Vector3d turned = systems[k].tension_of(i) * onward - systems[k].tension_of(before) * in;
      const double size = (in - onward).norm();
      if (!(size > 0)) return {};
      const Vector3d out = (in - onward) / size;
      const double inwards = -turned.dot(out);
      return {inwards > 0 ? std::clamp(pressed[i].dot(out) / inwards, 0.0, 1.0) : 0.0, out};
    };
    Bend here = bend_at(0);
    for (std::size_t i = 0; i < s.edges(); ++i) {
      const Bend next = bend_at(s.next(i));
      const double share = std::min(here.share, next.share);
      if (share > 0) systems[k].let_slide(i, share, here.out, next.out);
      here = next;
    }
  }
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

SoftVerdict CoupledStep::look_tools(const SoftBody& body, const Vector3d* const* to, const SoftMotion& motion,
                                    double share, std::vector<Stopped>* stopped) const noexcept {
  return look_soft(tools_.strands().data(), tools_.strands().size(), to, body, motion, share, nullptr, number_of(body),
                   kAxisKept, stopped);
}

// The part of the move to the trial that keeps the clearance. What cuts it is a contact from the next linearisation on.
double CoupledStep::safe_fraction(const Strand* strands, std::size_t count, double fraction,
                                  const CoupledSettings& settings) noexcept {
  double part = settings.between ? clearance_.fraction(strands, count, trial_of_.data()) : 1.0;
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
void CoupledStep::shift_free(ThreadSystem* systems, const StepProblem* problems, const Strand* strands,
                             std::size_t count, const CoupledSettings& settings) noexcept {
  const auto join = [&](std::size_t a, std::size_t b) {
    const std::size_t to = std::min(group_[a], group_[b]), from = std::max(group_[a], group_[b]);
    std::replace(group_.begin(), group_.begin() + static_cast<std::ptrdiff_t>(count), from, to);
  };
  const auto held = [&](std::size_t k) {
    const StepProblem& p = problems[k];
    const auto presses = [](const Constraint& c) { return c.kind == Constraint::Kind::grip || !c.force.isZero(0); };
    bool touched = false;
    visit_rigid([&](const BodyContact& b) {
      touched = touched || (b.contact.pair.strand_a == k && !b.contact.force.isZero(0));
    });
    return touched || !p.drive->held.empty() || std::any_of(p.constraints, p.constraints + p.count, presses);
  };
  const auto goes = [&](std::size_t group) {
    ThreadSystem::Whole whole;
    for (std::size_t k = group; k < count; ++k) {
      if (group_[k] != group) continue;
      if (held(k)) return true;  // where it is
      const ThreadSystem::Whole own = systems[k].out_of_balance();
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
    if (settings.between && (clearance_.fraction(strands, count, trial_of_.data()) < 1 ||
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

CoupledOutcome CoupledStep::solve(ThreadSystem* systems, const StepProblem* problems, const Strand* strands,
                                  std::size_t count, const CoupledSettings& settings, Executor& executor,
                                  StageWatch stage) noexcept {
  strands_ = strands;
  stops_.begin(strands, count);
  stops_.add_to(strands, tools_.strands(), bodies_, rings_.passages(), mesh_contacts_.contacts(), tools_.contacts(),
                tissue_contacts_.contacts());
  CoupledOutcome out;
  const double diameter = thickest(strands, count);
  visit_soft([&](SoftBody& body) { body.begin(settings.step.dt); });
  const double most_move = std::max(kMostMoveDiameters * diameter, kMostMove);
  int parts = 0;
  for (std::size_t k = 0; k < count; ++k) {
    systems[k].begin(problems[k], settings.step);
    parts = std::max(parts, systems[k].motion_parts());
    for (const HeldVertex& h : problems[k].drive->held)
      parts = std::max(
          parts,
          static_cast<int>(std::ceil(std::min(1e3, (h.target - (*problems[k].x0)[h.vertex]).norm() / most_move))));
  }
  parts = std::max(parts, body_parts(strands));
  double rigid_travel = 0;  // of what tissue meets
  visit_rigid_surfaces([&](const RigidSurface& r) { rigid_travel = std::max(rigid_travel, r.travel()); });
  parts = std::max(parts, static_cast<int>(std::ceil(std::min(1e3, rigid_travel / (kRigidPart * least_skin())))));
  if (!tools_.contacts().empty())
    parts = std::max(
        parts, static_cast<int>(std::ceil(std::min(1e3, tools_.furthest() / (kBodyPart * tools_.least_radius())))));
  parts = std::min(parts, std::max(1, settings.step.iterations / 2));
  double motion = parts > 0 ? 0.0 : 1.0;
  double body_furthest = 0;
  for (std::size_t b = 0; b < bodies_.count; ++b) body_furthest = std::max(body_furthest, bodies_.body[b]->travel());
  const double carried = meshes_travel();
  const double body_reach = most_move + (parts > 1 ? body_furthest / parts : body_furthest) + kContactReach * diameter;
  const double tool_reach = 2 * most_move + tools_.furthest() / std::max(parts, 1);
  // What fraction of the prescribed motion will be made after the next linearisation.
  const double most_led = parts > 0 ? led_ : 1.0;
  const auto asked_from = [&](double made) {
    return parts > 0 && made < most_led ? std::min(most_led, made + most_led / parts) : most_led;
  };
  bodies_.at = motion;
  double travelled = 0;          // since pairs were gathered, at most [mm]
  double shifted = 0, slid = 0;  // since contacts were found: of any vertex, of contacts against each other [mm]
  double knots_before = 0, drag_force = 0;  // imbalance in knots, and what the drag of the last move was of it [uN]
  double moved_before = 0, gone = 0;        // the move before the last, all moves of the step, at most [mm]
  double first_load = 0;                    // when the step began [uN]
  double over = 0;                          // of the last move, over what is trusted
  double soft_before = 1e9, relax = 1;      // last move of soft bodies, and what part of it is made now
  double work = 0;                          // so far
  bool still = false, cut = false, worked = false;
  bool hands_wait = false;  // for one linearisation
  int blocked = 0;
  bool among_tissue = false, met = false;
  if (settings.as_met) drag_ = knot_drag_ = kLeastDrag;
  visit_soft([&](const SoftBody&) { among_tissue = true; });
  // Knots alone: what they were measured with.
  const rod::Hessian derivative = among_tissue ? rod::Hessian::exact : rod::Hessian::positive;

  for (int iteration = 0;; ++iteration) {
    const bool last = still || blocked > kMostBlocked || worked || iteration == settings.step.iterations;
    ThreadSystem::Imbalance worst;
    double load = 0, rounding = 0;
    for (std::size_t k = 0; k < count; ++k) {
      systems[k].ask_for(motion);
      systems[k].find_frames(iteration == 0);
      const ThreadSystem::Imbalance b = systems[k].assemble(last ? rod::Hessian::none : derivative);
      worst.multiplier = std::max(worst.multiplier, b.multiplier);
      worst.finite = worst.finite && b.finite;
      load = std::max(load, systems[k].load());
      rounding = std::max(rounding, systems[k].rounding_force());
    }
    visit_soft([](SoftBody& body) { body.linearise(); });
    stage(StepStage::integrate);
    if (iteration > 0) {
      bodies_.at = motion;
      rings_.follow(strands, bodies_);
      // Moves become shorter; one that does not after all is cut short before anything meets that was not looked at.
      const double likely = kLikelyMove * std::max(moved_, soft_moved_), led = asked_from(motion) - motion;
      const double body_near = std::min(body_reach, likely + led * body_furthest + kContactReach * diameter);
      stops_.recall(mesh_contacts_.contacts(), tools_.contacts(), tissue_contacts_.contacts());
      const double tool_near = std::min(tool_reach, likely + led * tools_.furthest() + kContactReach * diameter);
      if (body_contacts_.find(strands, count, bodies_, body_near) > 0) out.overflow = true;
      const double mesh_near = kLikelyMove * soft_moved_ + led * carried + kContactReach * diameter;
      const std::size_t lost =
          find_on_meshes(strands, count, std::min(mesh_near, body_reach), std::min(likely, most_move),
                         [&](std::size_t k, std::size_t i) { return kLikelyMove * systems[k].step_of(i).norm(); });
      if (lost > 0) out.overflow = true;
      if (tools_.find(motion, bodies_, tool_near) > 0) out.overflow = true;
      const double soft_likely = std::min(kLikelyMove * soft_moved_ + led * rigid_travel, kMostMove);
      if (tissue_contacts_.find(bodies_, reach_of_tissue(soft_likely, true)) > 0) out.overflow = true;
      stops_.add_to(strands, tools_.strands(), bodies_, rings_.passages(), mesh_contacts_.contacts(), tools_.contacts(),
                    tissue_contacts_.contacts());
    }
    tools_.clear_forces();
    if (iteration > 0 && settings.between) {
      contacts_.hold(among_tissue || iteration >= kPlacesFree);
      if (2 * travelled + kContactReach * diameter > reach_) {
        contacts_.gather_again(strands, count, reach_);
        travelled = 0;
      }
      if (met && !cut) {
        contacts_.keep(strands);
      } else if (cut || slid > kRenewMove * diameter || shifted > kContactReach * diameter) {
        if (contacts_.find(strands, count, reach_) > 0) out.overflow = true;
        slid = shifted = 0;
      } else {
        contacts_.follow(strands);
      }
    }
    cut = false;
    visit_contacts([&](const StrandContact& c, const Row& row) {
      if (c.force.isZero(0)) return;
      push(systems, c, row, c.force, false);
      if (row.of == Row::Of::tool || row.of == Row::Of::tissue) return;
      load = std::max(load, c.force.norm());
    });
    for (std::size_t k = 0; k < count; ++k) {
      const ThreadSystem::Imbalance b = systems[k].imbalance();
      worst.force = std::max(worst.force, b.force);
      worst.finite = worst.finite && b.finite;
    }
    stage(StepStage::detect);
    out.finite = worst.finite;
    if (!out.finite) break;
    const double left = std::max(worst.force, worst.multiplier);
    const double in_knots = find_knots(systems, strands, count);
    bool by_bodies = false;
    visit_rigid([&](const BodyContact&) { by_bodies = true; });
    const bool on_bodies = !among_tissue && by_bodies && (!strands_press() || loose(systems, problems, count, load));
    const bool by_moves = among_tissue || on_bodies;
    // Forces between strands are as exact as the cone problem was solved.
    const double enough = std::max(settings.step.residual_target, kContactBalance) * load + rounding;
    if (iteration > 0) {  // what the last move was worth
      if (over > 1)
        drag_ = std::min(std::max(kDragGrowth * drag_, kFirstDrag), kMostDrag);
      else if (over < kSmallPart)
        drag_ = std::max(drag_ / kDragDecay, kLeastDrag);
      const bool by_drag = in_knots < kPoorDrag * drag_force;
      if (!by_moves && in_knots > kPoorBalance * knots_before && !by_drag)
        knot_drag_ = std::min(std::max(kDragGrowth * knot_drag_, kFirstDrag), kMostKnotDrag);
      else if (!by_moves && (in_knots < kGoodBalance * knots_before || by_drag))
        knot_drag_ = std::max(knot_drag_ / kDragDecay, kLeastDrag);
    }
    knots_before = in_knots;
    out.residual = left > rounding && load > 0 ? left / load : 0.0;
    // What moves that shorten so are yet to come to [Deuflhard 2011, section 2.1].
    const bool shortens = iteration > 1 && moved_ < moved_before;
    const double to_come = shortens ? moved_ * moved_ / (moved_before - moved_) : moved_;
    moved_before = moved_;
    const bool rests = moved_ <= std::max(kContactRest, settings.step.residual_target) * diameter ||
                       (among_tissue && to_come <= std::min(kMostRest * diameter, kRestShare * gone));
    const bool calm = iteration > 0 && motion == 1.0 && !cut && left <= enough && rests;
    out.converged = calm && soft_moved_ <= kSoftRest * diameter && tissues_apart() &&
                    worst_penetration() <= kPenetrationLeft * diameter &&
                    out.cone_residual <= std::max(settings.cone.residual_target, settings.step.residual_target);
    if (out.converged || last) break;

    const double asked = hands_wait ? motion : asked_from(motion);
    body_motion_ = asked - motion;
    visit_rigid_surfaces([&](RigidSurface& surface) { surface.lead_to(motion, body_motion_); });
    stiffen_places(systems, strands);
    if (!among_tissue) let_slide(systems, strands, count);
    double knot_drag_used = 0;
    if (iteration == 0) first_load = load;
    // What a body pushes against its own drag would raise the load, that the drag, and so on.
    const double drag_load = on_bodies ? std::min(load, kMostDragLoad * first_load) : load;
    for (std::size_t k = 0; k < count; ++k) {
      // At its least there is none: beside the inertia of a fine thread even that would be much.
      const auto in_force = [](double drag) { return drag > kLeastDrag ? drag : 0.0; };
      const double drag = in_force(drag_) * drag_load / (diameter * static_cast<double>(strands[k].vertices));
      systems[k].ask_for(asked);
      const double knot_drag = in_force(knot_drag_) * drag_load / (diameter * kKnotVertices);
      knot_drag_used = std::max(knot_drag_used, knot_drag);
      for (std::size_t i = 0; i < strands[k].vertices; ++i) own_drag_[k][i] = in_knot_[k][i] ? knot_drag : 0.0;
      systems[k].linearise(drag, own_drag_[k].data());
      systems[k].solve();
    }
    if (iteration == kPatience && calm)
      visit_soft([&](SoftBody& body) {
        if (furthest_step(body) > kSoftRest * diameter) body.renew();
      });
    visit_soft([](SoftBody& body) { body.solve(); });
    stage(StepStage::integrate);
    couple(systems, strands, count, settings, executor, stage, out);
    if (settings.as_met)
      met = met || std::any_of(contacts_.contacts().begin(), contacts_.contacts().end(),
                               [&](const StrandContact& c) { return c.gap < diameter && !c.force.isZero(0); });
    ++out.iterations;
    work += static_cast<double>(rows_.size()) + kWorkWithout;
    // Hands that are led on in parts may need several; what is left of their way they go in the next step.
    // A step that went back whole is the same again, unless more is done in it.
    const double most_work = went_back_ > kMostBack ? kMostWorkStuck : motion == 1 ? 1 : kMostWorkLed;
    worked = among_tissue && work >= most_work * settings.most_work;

    if (by_moves) steer_knot_drag(systems, strands, count, iteration == 0);
    double furthest = 0, led = 0, sum = 0, rest = 0, knots_moved = 0;
    for (std::size_t k = 0; k < count; ++k) {
      rest = std::max(rest, problems[k].model->rest_length);
      for (std::size_t i = 0; i < strands[k].vertices; ++i) {
        sum += systems[k].step_of(i).sum();
        const double far = systems[k].step_of(i).norm();
        furthest = std::max(furthest, far);
        if (in_knot_[k][i]) knots_moved = std::max(knots_moved, far);
      }
      for (const HeldVertex& h : problems[k].drive->held) led = std::max(led, systems[k].step_of(h.vertex).norm());
    }
    sum += tools_.furthest_give();
    visit_soft([&](const SoftBody& body) {
      for (std::size_t v = 0; v < body.nodes(); ++v) sum += body.step()[v].sum();
    });
    if (!std::isfinite(sum)) {
      out.finite = false;
      break;
    }
    double most_slid = 0;
    for (const Row& row : rows_) {
      if (row.of == Row::Of::tool || row.of == Row::Of::tissue) continue;
      const StrandContact& c = contact_of(row);
      double part = 1;  // round a thick body the normal turns less than round a strand
      if (row.of == Row::Of::body) {
        const double thickness = 2 * bodies_.body[c.pair.edge_b]->half_thickness();
        if (tool_of(c, row) != kNoTool)
          part = diameter / (diameter + thickness);
        else if (kMostTurn * (diameter + thickness) > 2 * kMostSlid * diameter)
          part = 2 * kMostSlid * diameter / (kMostTurn * (diameter + thickness));
      } else if (row.of == Row::Of::mesh && on_flat(row)) {
        part = 0;  // nothing turns
      }
      most_slid = std::max(most_slid, part * relative(c, row, systems).norm());
    }
    // The trust region: moves for which places and normals of the contacts stay good.
    const double over_slid = most_slid / (kMostSlid * diameter);
    const double too_far = std::max(furthest / most_move, over_slid);
    double fraction = too_far > 1 ? 1 / too_far : 1;
    // Moves that are led are over: a move leaps if it is much longer than the one before, and what the last one of all
    // leaves nobody mends in this step.
    if (among_tissue && iteration > 0 && motion == 1) {
      const bool ends = worked || iteration + 1 == settings.step.iterations;
      const double most = std::max((ends ? 1 : kMostLeap) * moved_before, kMostRest * diameter);
      fraction = std::min(fraction, most / std::max(furthest, most));
    }
    visit_soft([&](const SoftBody& body) { fraction = std::min(fraction, body.reach()); });
    // Drag does not shorten what hands lead: it would stretch the thread behind them.
    over = std::max(furthest / std::max(most_move, kLedMove * led), over_slid);
    if (furthest > most_move) out.limited = true;
    moved_ = furthest;
    soft_moved_ = tools_.furthest_give();
    visit_soft([&](const SoftBody& body) { soft_moved_ = std::max(soft_moved_, furthest_step(body)); });
    // Bodies that only tools or each other press and that leap to and fro between two places go half way, and half of
    // that.
    const bool by_tools = motion == 1 && !rows_.empty() && std::all_of(rows_.begin(), rows_.end(), between_bodies);
    relax = !by_tools                                                   ? 1.0
            : soft_moved_ > (1 - (1 - kSoftLeap) * relax) * soft_before ? std::max(0.5 * relax, kLeastRelax)
                                                                        : std::min(1.0, 1.5 * relax);
    soft_before = soft_moved_;
    fraction = std::min(fraction, relax);
    jams_.clear(), jammed_at_.clear();
    place_trial(systems, count, fraction);
    tools_.foresee();
    const std::size_t stops_before = stops_.size();
    double allowed = safe_fraction(strands, count, fraction, settings);
    // A place where nothing fits must not hold up all others.
    for (int round = 0; round < kMostGivingWay && fraction > 0 && allowed < kPoorFraction * fraction; ++round) {
      if (!give_way(strands, fraction)) break;
      visit_soft([&](const SoftBody& body) { fraction = std::min(fraction, body.reach()); });
      place_trial(systems, count, fraction);
      allowed = safe_fraction(strands, count, fraction, settings);
    }
    for (int round = 0; round < kMostGivingWay && fraction > 0 && allowed < kBlockedFraction * fraction; ++round) {
      const std::size_t at_bodies = jammed_at_.size();
      fraction = std::min(fraction, kJamStretch / std::max(move_jams_as_one(systems), kJamStretch));
      if (jams_.empty() || (round > 0 && !among_tissue && jammed_at_.size() == at_bodies)) break;
      visit_soft([&](const SoftBody& body) { fraction = std::min(fraction, body.reach()); });
      place_trial(systems, count, fraction);
      allowed = safe_fraction(strands, count, fraction, settings);
    }
    // What lies between two arms that give way differently cannot go with both: they stand still.
    for (int round = 0; round < kMostGivingWay && hands_wait && fraction > 0 && !tools_in_way_.empty() &&
                        allowed < kBlockedFraction * fraction;
         ++round) {
      for (const Stopped& w : tools_in_way_) tools_.stand(w.strand);
      tools_.foresee();
      if (!jammed_at_.empty())
        fraction = std::min(fraction, kJamStretch / std::max(move_jams_as_one(systems), kJamStretch));
      give_way(strands, fraction);
      visit_soft([&](const SoftBody& body) { fraction = std::min(fraction, body.reach()); });
      place_trial(systems, count, fraction);
      allowed = safe_fraction(strands, count, fraction, settings);
    }
    if (allowed < fraction) {
      ++out.prevented;
      fraction = allowed;
      cut = true;
      place_trial(systems, count, fraction);
    }
    // The audit knows nothing of how the move was found.
    const auto unproven = [&] {
      if (settings.between && guard_.audit(strands, count, trial_of_.data()) > 0) return true;
      bool passes = false;
      visit_soft([&](const SoftBody& body) {
        const SoftMotion motion_of{body.step(), nullptr, fraction};
        passes = passes || look_soft(strands, count, trial_of_.data(), body, motion_of, kAuditShare, &rings_.passages(),
                                     number_of(body))
                                   .found > 0;
        passes = passes || look_tools(body, tools_.trial(body_motion_, fraction), motion_of, kAuditShare).found > 0;
      });
      return passes || look_tissues(bodies_, {fraction, false}, kAuditShare).found > 0;
    };
    for (int halving = 0; unproven(); ++halving) {
      fraction = halving < kMostAuditHalvings ? 0.5 * fraction : 0.0;
      place_trial(systems, count, fraction);
      if (fraction > 0) continue;
      ++out.unproven;
      break;
    }
    stage(StepStage::continuous);
    if (among_tissue)
      recovered_ = fraction < kBlockedFraction ? 0.0
                   : fraction < kPoorFraction  ? 0.5 * recovered_
                                               : std::min(1.0, std::max(2 * recovered_, kLeastRecovered));
    // What is stopped for the first time is pushed off in the next linearisation.
    if (stops_.size() == stops_before) blocked = fraction < kBlockedFraction && !out.limited ? blocked + 1 : 0;

    // Tissue as near to an arm as it may come moves with it or not at all, and with one that turns it cannot exactly:
    // for one linearisation only what the arm gives way by is left, which is alike all over it.
    hands_wait = !hands_wait && fraction < kBlockedFraction && asked > motion && !tools_in_way_.empty();
    motion += fraction * (asked - motion);
    if (fraction == 1) motion = asked;
    tools_.advance(fraction);
    tools_.stand_no_more();
    visit_soft([&](SoftBody& body) { body.advance(fraction); });
    visit_rigid_surfaces([&](RigidSurface& surface) { surface.advance(fraction); });
    for (std::size_t k = 0; k < count; ++k) {
      rod::RodState& state = *problems[k].state;
      systems[k].foresee_tension(trial_[k]);
      if (systems[k].stride() == 4)
        for (std::size_t i = 0; i < problems[k].model->edges(); ++i)
          systems[k].theta()[i] = systems[k].theta_by(fraction, i);
      std::copy_n(trial_[k].begin(), state.x.size(), state.x.begin());
      systems[k].ask_for(motion);
      systems[k].place_held();
    }
    travelled += fraction * furthest;
    gone += fraction * furthest;
    drag_force = fraction * knots_moved * knot_drag_used;
    shifted += fraction * furthest;
    slid += fraction * most_slid;
    still = motion == 1 && fraction == 1 && std::max(furthest, soft_moved_) < kStill * rest;
    for (std::size_t k = 0; k < count; ++k)
      if (systems[k].move_multipliers(fraction)) still = false;
  }
  // An iteration that was cut off may leave edges that no force would: all go back together, if nothing is in the way.
  bool went_back = false;
  const auto stretched = [&] {
    for (std::size_t k = 0; k < count; ++k)
      if (overstretched(*problems[k].model, *problems[k].x0, problems[k].state->x, systems[k].outer_load()))
        return true;
    return false;
  };
  for (int halving = 0; out.finite && !out.converged && halving < kMostHalvingsBack && stretched(); ++halving) {
    out.limited = went_back = true;
    for (std::size_t k = 0; k < count; ++k) {
      const std::vector<Vector3d>&x = problems[k].state->x, &x0 = *problems[k].x0;
      for (std::size_t i = 0; i < x.size(); ++i) trial_[k][i] = 0.5 * (x[i] + x0[i]);
      trial_of_[k] = trial_[k].data();
    }
    if (settings.between && (clearance_.fraction(strands, count, trial_of_.data()) < 1 ||
                             guard_.audit(strands, count, trial_of_.data()) > 0))
      break;
    bodies_.at = motion;
    tools_.foresee_back();
    if (look(strands, count, trial_of_.data(), bodies_,
             {.at = ObstacleLook::At::others, .until = 0.5 * motion, .give = 0.5})
            .found > 0)
      break;
    bool passes = false;
    visit_soft([&](const SoftBody& body) {
      passes = passes || look_soft(strands, count, trial_of_.data(), body, {body.start(), body.x(), 0.5}, kAuditShare,
                                   &rings_.passages(), number_of(body))
                                 .found > 0;
      passes = passes || !body.bears_back(0.5) ||
               look_tools(body, tools_.trial_back(motion, 0.5), {body.start(), body.x(), 0.5}, kAuditShare).found > 0;
    });
    if (passes || look_tissues(bodies_, {0.5, true}, kAuditShare).found > 0) break;
    visit_soft([](SoftBody& body) { body.go_back(0.5); });
    visit_rigid_surfaces([](RigidSurface& surface) { surface.go_back(0.5); });
    tools_.go_back(0.5);
    motion *= 0.5;
    tools_.place(motion);
    for (std::size_t k = 0; k < count; ++k) {
      std::copy_n(trial_[k].begin(), problems[k].state->x.size(), problems[k].state->x.begin());
      systems[k].ask_for(motion);
      systems[k].carry_state();
    }
  }
  // Something is in the way of that: as it was when the step began, the proof of which stands.
  if (out.finite && !out.converged && stretched()) {
    out.limited = went_back = true;
    motion = 0;
    visit_soft([](SoftBody& body) { body.go_back(0); });
    visit_rigid_surfaces([](RigidSurface& surface) { surface.go_back(0); });
    tools_.go_back(0);
    for (std::size_t k = 0; k < count; ++k) {
      systems[k].undo();
      systems[k].ask_for(motion);
    }
  }
  if (out.finite && !among_tissue) shift_free(systems, problems, strands, count, settings);
  // Hands that pull on regardless would never let a thread come to rest that is as long as it can be. A step or two of
  // that is how they draw it tight.
  if (among_tissue) {
    went_back_ = went_back ? went_back_ + 1 : 0;
    led_ = went_back_ > kMostBack ? std::max(kLedAgain * led_, kLeastLed) : std::min(1.0, 2 * led_);
  }
  stops_.recall(mesh_contacts_.contacts(), tools_.contacts(), tissue_contacts_.contacts());
  visit_contacts([&](const StrandContact& c, const Row&) {
    if (c.force.norm() > (1 - 1e-9) * kMostStrandForce) out.gave_way = true;
  });
  out.motion = motion;
  if (!out.finite) {
    tools_.go_back(0);
    visit_rigid_surfaces([](RigidSurface& surface) { surface.go_back(0); });
  }
  tools_.finish(out.finite ? motion : 0);
  visit_soft([&](SoftBody& body) {
    if (!out.finite) body.go_back(0);
    body.finish();
  });
  for (std::size_t k = 0; k < count; ++k) {
    if (!out.finite) {
      systems[k].undo();
      continue;
    }
    systems[k].keep_reactions();
    systems[k].finish();
  }
  return out;
}

}  // namespace ligature::contact
