/// The contacts of a coupled step: how their places move against each other, what their forces do, and which forces
/// they come to.
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "sim/contact/coupled_step.hpp"
#include "sim/contact/coupled_visits.hpp"
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

}  // namespace

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
  return part * body.moved(place_of(s.x, s, c), bodies_.at) + (ahead ? tools_.gives(tool) : tools_.gave(tool));
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

// Motion of a strand's own place of a contact in this step, where it touches on its side `out`.
Vector3d CoupledStep::strand_slid(const StrandContact& c, std::uint32_t strand, std::uint32_t edge, double at,
                                  const Vector3d& out, const ThreadSystem* systems) const noexcept {
  const Strand& s = strands_[strand];
  const ThreadSystem& system = systems[strand];
  const Blend b = blend_of(c, s, edge, at);
  const std::vector<Vector3d>& x0 = *system.problem().x0;
  Vector3d sum = Vector3d::Zero();
  for (std::size_t k = 0; k < 3; ++k) sum += b.weight[k] * (s.x[b.vertex[k]] - x0[b.vertex[k]]);
  if (!s.turns) return sum;
  const Turn turn = turn_at(s, edge, at, out);
  return sum + (turn.weight[0] * system.turned(turn.edge[0]) + turn.weight[1] * system.turned(turn.edge[1])) * turn.arm;
}

// Motion of a's place against b's in this step.
Vector3d CoupledStep::slid_so_far(const StrandContact& c, const Row& row, const ThreadSystem* systems) const noexcept {
  if (row.of == Row::Of::tool) return tools_.so_far(c, bodies_.at) - soft_moved(c, false);
  if (row.of == Row::Of::tissue) return tissue_moved(row, false);
  const bool alone = c.pair.strand_b == kNoStrand;
  const Vector3d a =
      strand_slid(c, c.pair.strand_a, c.pair.edge_a, c.sa, alone ? Vector3d(0, 0, 0) : Vector3d(-c.normal), systems);
  if (alone) return a - (bodies_.soft_of(c.pair.edge_b) ? soft_moved(c, false) : body_moved(c, row, false));
  return a - strand_slid(c, c.pair.strand_b, c.pair.edge_b, c.sb, c.normal, systems);
}

double CoupledStep::work_on_strand(std::uint32_t strand, const ThreadSystem* systems) noexcept {
  double work = 0;
  visit_contacts([&](const StrandContact& c, const Row& row) {
    if (c.force.isZero(0) || row.of == Row::Of::tool || row.of == Row::Of::tissue) return;
    const bool alone = c.pair.strand_b == kNoStrand;
    const Vector3d out = alone ? Vector3d(0, 0, 0) : Vector3d(-c.normal);
    if (c.pair.strand_a == strand) work += c.force.dot(strand_slid(c, strand, c.pair.edge_a, c.sa, out, systems));
    if (c.pair.strand_b == strand) work -= c.force.dot(strand_slid(c, strand, c.pair.edge_b, c.sb, c.normal, systems));
  });
  return work;
}

double CoupledStep::work_on(std::uint32_t body, bool by_tissue) noexcept {
  double work = 0;
  visit_contacts([&](const StrandContact& c, const Row& row) {
    if (c.force.isZero(0) || c.pair.strand_b != kNoStrand) return;
    const bool tissues = row.of == Row::Of::tissue;
    if (tissues && !by_tissue) return;
    if (c.pair.edge_b == body) work -= c.force.dot(soft_moved(c, false));
    if (!tissues || c.pair.edge_a != body) return;
    StrandContact own = c;
    own.pair.edge_b = body, own.on = tissue_contacts_.contacts()[row.contact].of;
    work += c.force.dot(soft_moved(own, false));
  });
  return work;
}

// Forces at contacts such that the motion they bring about together with the rest obeys their laws. The systems'
// step() is the motion without a change of these forces; afterwards with it.
void CoupledStep::couple(const Given& given, double diameter, CoupledOutcome& out) noexcept {
  choose(given, diameter, out);
  if (rows_.empty()) {
    out.cone_residual = 0;
    given.stage(StepStage::couple);
    return;
  }
  add_rim_slopes(given.systems, given.strands);
  build_coupling(given);
  given.stage(StepStage::couple);
  take_out_known_forces();
  turn_with_rims();
  const ConeOutcome solved = solver_.solve(last_problem(), cone_settings(given, diameter, out), force_.data());
  out.cone_iterations += solved.iterations;
  out.cone_residual = solved.residual;
  put_on(given.systems);
  for (std::size_t k = 0; k < given.count; ++k) given.systems[k].solve();
  visit_soft([](SoftBody& body) { body.solve(); });
  given.stage(StepStage::solve);
}

// The contacts that would be left near, or that bear forces: rows_, with axes, friction and free motion of each.
void CoupledStep::choose(const Given& given, double diameter, CoupledOutcome& out) noexcept {
  const CoupledSettings& settings = given.settings;
  const Strand* const strands = given.strands;
  const double margin = kChosenMargin * diameter;
  const double tool_margin = kChosenMargin * (tools_.strands().empty() ? 0 : tools_.least_radius());
  const double tissue_margin = kTissueMargin * least_skin();
  rows_.clear();
  chosen_.clear();
  axes_.clear();
  visit_contacts([&](const StrandContact& c, const Row& row) {
    const Vector3d moving = relative(c, row, given.systems);
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
    const Vector3d slid = slid_so_far(c, row, given.systems);
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
}

void CoupledStep::build_coupling(const Given& given) noexcept {
  for (std::size_t k = 0; k < given.count; ++k) {
    inverses_[k] = given.systems + k;
    // Where the contacts are, so that the next band is eliminated towards them.
    double sum = 0, touches = 0;
    for (const StrandContact& c : chosen_) {
      if (c.pair.strand_a == k) sum += c.pair.edge_a, ++touches;
      if (c.pair.strand_b == k) sum += c.pair.edge_b, ++touches;
    }
    if (touches > 0) given.systems[k].meet_at(static_cast<std::size_t>(sum / touches));
  }
  coupling_.build(given.strands, given.count, inverses_.data(), chosen_.data(), axes_.data(), chosen_.size(),
                  given.executor);
  add_soft_coupling();
}

// The motion q is that with the forces so far: takes their share out.
void CoupledStep::take_out_known_forces() noexcept {
  const std::size_t rows = 3 * rows_.size();
  std::copy_n(force_.begin(), rows, start_.begin());
  for (std::size_t r = 0; r < 3 * chosen_.size(); ++r) {
    const double* w = coupling_.w() + r * coupling_.stride();
    double sum = 0;
    for (std::size_t c = 0; c < rows; ++c) sum += w[c] * start_[c];
    q_[r] -= sum;
  }
}

ConeSettings CoupledStep::cone_settings(const Given& given, double diameter, const CoupledOutcome& out) noexcept {
  const CoupledSettings& settings = given.settings;
  ConeSettings cone = settings.cone;
  cone.residual_target = std::clamp(kForcing * out.residual, kLeastConeTarget,
                                    std::max(cone.residual_target, kForcing * settings.step.residual_target));
  cone.motion_target = std::clamp(kForcing * moved_, kLeastMotionTarget * diameter, kMostMotionTarget * diameter);
  // A guard allows nothing that a loose answer leaves undone.
  if (stops_.size() > 0) {
    cone.residual_target = kLeastConeTarget;
    cone.motion_target = kLeastMotionTarget * diameter;
  }
  // Between strands alone sweeps are as exact as a step's first linearisations, and cheaper.
  cone.newton = out.iterations >= kSweptAlone || (out.residual < kSettled && rows_.size() <= kFewContacts) ||
                std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.of != Row::Of::strands; });
  // Of tissues flung at each other or drawn together fewer steps converge with the interior-point method.
  if (2 * std::count_if(rows_.begin(), rows_.end(), between_bodies) > static_cast<std::ptrdiff_t>(rows_.size()))
    cone.interior = 0;
  const auto of_tissue = [](const Row& row) { return row.of == Row::Of::tissue; };
  const auto on_wall = [&](const Row& row) { return of_tissue(row) && on_rigid(contact_of(row)); };
  const auto of_blocks = [&] {
    return 2 * std::count_if(rows_.begin(), rows_.end(), on_wall) > static_cast<std::ptrdiff_t>(rows_.size()) ||
           std::all_of(rows_.begin(), rows_.end(), of_tissue);
  };
  if (cone.method == ConeMethod::standard && rows_.size() > kFewOnWalls && rows_.size() <= kMostOnWalls &&
      of_blocks()) {
    visit_soft([&](const SoftBody&) { ++cone.bodies; });
    cone.iterations += static_cast<int>(kRoundsOnWalls * static_cast<double>(rows_.size()));
  }
  // Wound round a body many contacts slide as one, held by the thread's drag alone: nothing else solves that.
  if (std::all_of(rows_.begin(), rows_.end(), [&](const Row& row) {
        return row.of == Row::Of::body || (row.of == Row::Of::mesh && is_rigid(contact_of(row)));
      }))
    cone.interior_contacts = kInteriorOnBodies;
  return cone;
}

// The forces of the solved problem, on strands, bodies and tools.
void CoupledStep::put_on(ThreadSystem* systems) noexcept {
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

// A place glides towards where a strand that turns comes nearer, and the force with it: that holds the strand level.
// Along a blunt body neighbours take over from each other, and the force stays where it is.
void CoupledStep::stiffen_places(const Given& given) const noexcept {
  ThreadSystem* const systems = given.systems;
  const Strand* const strands = given.strands;
  const auto stiffen = [&](const BodyContact& b) {
    const StrandContact& c = b.contact;
    const double pressed = c.normal.dot(c.force);
    if (!(pressed > 0) || !(b.bend > 0)) return;
    const Strand& s = strands[c.pair.strand_a];
    const double hold = bodies_.body[c.pair.edge_b]->surface() ? kFaceHold * s.radius : b.hold;
    const double sharp = std::max(0.0, 1 - hold / b.bend);
    const Blend slope = slope_at(s, c.pair.edge_a, c.sa, c.most_cut);
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
void CoupledStep::let_slide(const Given& given) noexcept {
  ThreadSystem* const systems = given.systems;
  const Strand* const strands = given.strands;
  for (std::size_t k = 0; k < given.count; ++k) std::fill_n(pressed_[k].begin(), strands[k].vertices, Vector3d::Zero());
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
  for (std::size_t k = 0; k < given.count; ++k) {
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

}  // namespace ligature::contact
