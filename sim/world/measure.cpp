#include <algorithm>
#include <cmath>
#include <tuple>

#include "sim/rod/writhe.hpp"
#include "sim/world/state.hpp"

namespace ligature::world {
namespace {

Vector3d end_tangent(const Thread& t, bool last) {
  const rod::Twist& twist = t.state.twist;
  const std::size_t n = t.state.x.size(), vertex = last ? n - 1 : 0;
  if (twist.frame_held(vertex)) return twist.frame_tangent(vertex);
  return last ? (t.state.x[n - 1] - t.state.x[n - 2]).normalized() : (t.state.x[1] - t.state.x[0]).normalized();
}

}  // namespace

std::size_t World::thread_count() const noexcept {
  return state_->threads.size();
}

double World::time_s() const noexcept {
  return state_->time_s();
}

ThreadMeasure World::measure(std::size_t thread, bool writhe) const {
  const Thread& t = state_->threads[thread];
  const std::vector<Vector3d>& x = t.state.x;
  ThreadMeasure m;
  m.name = state_->params.threads[t.origin].name;
  m.closed = t.model.closed;
  m.vertices = x.size();
  m.rest_length_mm = t.model.whole_length();
  for (std::size_t i = 0; i < t.model.edges(); ++i) {
    const double length = (x[t.model.next(i)] - x[i]).norm();
    m.length_mm += length;
    const double elongation = length / t.model.edge_length(i) - 1;
    m.elongation_max = i == 0 ? elongation : std::max(m.elongation_max, elongation);
  }
  const rod::Energies elastic = rod::elastic_energy(t.model, x, t.state.twist);
  m.stretch_energy = elastic.stretch;
  m.bend_energy = elastic.bend;
  m.twist_energy = elastic.twist;
  Vector3d momentum = Vector3d::Zero(), angular = Vector3d::Zero();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Vector3d& v = t.state.v[i];
    m.speed_max_mm_per_s = std::max(m.speed_max_mm_per_s, v.norm());
    m.kinetic_energy += 0.5 * t.model.mass[i] * v.squaredNorm();
    m.potential_energy -= t.drive.load[i].dot(x[i]);
    momentum += t.model.mass[i] * v;
    angular += t.model.mass[i] * x[i].cross(v);
  }
  m.momentum = from_eigen(momentum);
  m.angular_momentum = from_eigen(angular);
  std::tie(m.needle_first, m.needle_last) = needle_vertices(t);
  m.cut_from_mm = static_cast<double>(t.first_edge) * t.model.rest_length;
  m.ring_mm = static_cast<double>(t.ring_edges) * t.model.rest_length;
  const bool framed = rod::needs_frames(t.model, t.state.twist);
  if (framed) m.twist_turns = t.state.twist.turns();
  if (writhe && framed)
    // A frame held off the bisector of its edges bends the curve there, which the polygon does not show.
    m.writhe = rod::link_turns(t.state.twist, x) - m.twist_turns;
  else if (writhe)
    m.writhe = rod::writhe_open(x, end_tangent(t, false), end_tangent(t, true));
  return m;
}

ThreadShape World::shape(std::size_t thread) const {
  const Thread& t = state_->threads[thread];
  ThreadShape s;
  const bool framed = rod::needs_frames(t.model, t.state.twist);
  for (std::size_t i = 0; i < t.state.x.size(); ++i) {
    const bool end = !t.model.closed && (i == 0 || i + 1 == t.state.x.size());
    s.x.push_back(from_eigen(t.state.x[i]));
    s.twist_rad.push_back(framed && !end ? t.state.twist.joint(i) : 0.0);
    s.s_mm.push_back(t.model.rest_arc(i));
    s.radius_mm.push_back(t.model.radius_at(i));
  }
  return s;
}

std::vector<ArmShape> World::arms() const {
  std::vector<ArmShape> out;
  for (const contact::Strand& arm : state_->coupled[0].tools().strands()) {
    ArmShape a;
    for (std::size_t i = 0; i < arm.vertices; ++i) a.x.push_back(from_eigen(arm.x[i]));
    a.tip_radius_mm = arm.radius_at(0, 0);
    a.radius_mm = arm.radius_at(arm.vertices - 2, 1);
    out.push_back(std::move(a));
  }
  return out;
}

std::vector<ClampMeasure> World::clamps() const {
  std::vector<ClampMeasure> out;
  for (std::size_t origin = 0; origin < state_->params.threads.size(); ++origin)
    for (std::size_t index = 0; index < state_->params.threads[origin].clamps.size(); ++index)
      for (std::size_t k = 0; k < state_->threads.size(); ++k)
        for (const Clamp& c : state_->threads[k].clamps)
          if (state_->threads[k].origin == origin && c.index == index)
            out.push_back({k, index, c.vertex, c.active, from_eigen(c.force), from_eigen(c.torque)});
  return out;
}

std::vector<ContactMeasure> World::contacts() const {
  const State& s = *state_;
  std::vector<ContactMeasure> out;
  for (std::size_t k = 0; k < s.threads.size(); ++k) {
    const Thread& t = s.threads[k];
    for (std::size_t j = t.constraints_first; j < t.constraints_first + t.constraints_count; ++j) {
      const Constraint& c = s.constraints[j];
      if (c.kind == Constraint::Kind::grip || c.force == Vector3d::Zero()) continue;
      ContactMeasure m;
      m.thread = k;
      m.s_mm = t.model.rest_arc(c.vertex) + (c.w1 != 0 ? c.w1 * t.model.edge_length(c.vertex) : 0.0);
      const std::size_t group = c.slot / s.vertices;
      m.other = ContactMeasure::Other::obstacle;
      m.index = s.slot_groups[group];
      m.gap_mm = contact::gap(c, contact::place(t.state.x, c));
      m.normal_force = c.normal.dot(c.force);
      m.friction_force = (c.force - m.normal_force * c.normal).norm();
      m.sliding = c.sliding;
      out.push_back(m);
    }
  }
  const auto arc_of = [&](std::uint32_t strand, std::uint32_t edge, double at) {
    return s.threads[strand].model.rest_arc(edge, at);
  };
  const auto add = [&](const contact::StrandContact& c) {
    if (c.force.isZero(0)) return;
    const bool obstacle = c.pair.strand_b == contact::kNoStrand;
    const std::size_t rigid = s.obstacles.size() - s.tissues.size();
    ContactMeasure m;
    m.thread = c.pair.strand_a;
    m.s_mm = arc_of(c.pair.strand_a, c.pair.edge_a, c.sa);
    m.other = obstacle ? ContactMeasure::Other::obstacle : ContactMeasure::Other::thread;
    m.index = obstacle ? c.pair.edge_b : c.pair.strand_b;
    if (obstacle && c.pair.edge_b >= rigid) m.other = ContactMeasure::Other::tissue, m.index = c.pair.edge_b - rigid;
    if (obstacle && c.pair.edge_b >= s.obstacles.size())
      m.other = ContactMeasure::Other::forceps, m.index = (c.pair.edge_b - s.obstacles.size()) / kParts;
    if (!obstacle) m.other_s_mm = arc_of(c.pair.strand_b, c.pair.edge_b, c.sb);
    m.gap_mm = c.gap;
    m.normal_force = c.normal.dot(c.force);
    m.friction_force = (c.force - m.normal_force * c.normal).norm();
    m.sliding = c.sliding;
    out.push_back(m);
  };
  for (const contact::BodyContact& c : s.coupled[0].bodies().contacts()) add(c.contact);
  for (const contact::BodyContact& c : s.coupled[0].on_meshes().contacts()) add(c.contact);
  for (const contact::StrandContact& c : s.coupled[0].rings().contacts()) add(c);
  for (const contact::StrandContact& c : s.coupled[0].contacts().contacts()) add(c);
  return out;
}

std::size_t World::tissue_count() const noexcept {
  return state_->tissues.size();
}

std::vector<TissueSurface> World::tissue_surfaces() const {
  std::vector<TissueSurface> out;
  for (std::size_t k = 0; k < state_->tissues.size(); ++k) {
    const tissue::TissueModel& model = state_->tissues[k].model();
    TissueSurface& shown = out.emplace_back();
    for (std::size_t v = 0; v < state_->surface_vertices[k]; ++v) shown.rest.push_back(shown_at(model.nodes[v]));
    for (const tissue::SurfaceTriangle& f : model.surface)
      shown.triangles.push_back({f.node, f.part == tissue::SurfacePart::outer   ? WallPart::outside
                                         : f.part == tissue::SurfacePart::inner ? WallPart::inside
                                                                                : WallPart::cut});
    for (const std::uint32_t v : model.fixed)
      if (v < shown.rest.size()) shown.held.push_back(v);
  }
  return out;
}

namespace {

// Least signed distance of a vertex of the one from the other, at most `most`. What lies deep is further from the
// surface than what lies beside it: only outside of the other's box is there nothing to look for beyond the least so
// far.
double vertex_gap(const contact::TriangleMesh& of, const contact::TriangleMesh& from, double most) {
  const double within = std::abs(most);
  const auto outside = [&](std::size_t v) {  // at least, squared
    return contact::TriangleMesh::box_gap(of.vertex(v), of.vertex(v), from.low(), from.high());
  };
  const auto look = [&](std::size_t v) {
    const contact::TriangleMesh::Nearest at = from.nearest(of.vertex(v), within);
    if (at.found) most = std::min(most, at.distance);
  };
  std::size_t first = 0;
  for (std::size_t v = 1; v < of.vertices(); ++v)
    if (outside(v) < outside(first)) first = v;
  look(first);
  for (std::size_t v = 0; v < of.vertices(); ++v)
    if (const double square = outside(v); square == 0 || (most > 0 && square < most * most)) look(v);
  return most;
}

}  // namespace

double World::tissue_speed_mm_per_s(std::size_t number) const {
  double square = 0;
  for (const Vector3d& v : state_->tissues[number].v()) square = std::max(square, v.squaredNorm());
  return std::sqrt(square);
}

TissueMeasure World::measure_tissue(std::size_t number) const {
  const State& s = *state_;
  const tissue::Tissue& t = s.tissues[number];
  TissueMeasure m;
  m.name = s.params.tissues[number].name;
  m.elements = t.elements();
  m.displacement_mm = t.report().displacement;
  m.inverted = t.report().inverted;
  m.volume_mm3 = t.volume();
  Vector3d sum = Vector3d::Zero();
  const std::size_t body = s.obstacles.size() - s.tissues.size() + number;
  const auto add = [&](const contact::StrandContact& c) {
    if (c.pair.edge_b != body) return;
    sum -= c.force;
    m.contact_force_most = std::max(m.contact_force_most, c.force.norm());
  };
  for (const contact::BodyContact& c : s.coupled[0].on_meshes().contacts()) add(c.contact);
  for (const contact::StrandContact& c : s.coupled[0].rings().contacts()) add(c);
  m.contact_force = from_eigen(sum);
  const contact::Tools& tools = s.coupled[0].tools();
  Vector3d by_tools = Vector3d::Zero();
  for (const contact::BodyContact& c : tools.contacts())
    if (c.contact.pair.edge_b == body) {
      by_tools -= c.contact.force;
      m.tool_grip += c.contact.normal.dot(c.contact.force);
    }
  m.tool_force = from_eigen(by_tools);
  for (const contact::Strand& arm : tools.strands())
    for (std::size_t i = 0; i + 1 < arm.vertices; ++i) {
      const contact::TriangleMesh::Nearest at = t.surface().nearest(arm.x[i], arm.x[i + 1], m.tool_gap_mm + arm.radius);
      if (at.found) m.tool_gap_mm = std::min(m.tool_gap_mm, at.distance - arm.radius_at(i, at.s));
    }
  Vector3d by_tissues = Vector3d::Zero(), by_obstacles = Vector3d::Zero();
  for (const contact::TissueContact& c : s.coupled[0].tissues().contacts()) {
    const contact::EdgePair& of = c.contact.pair;
    Vector3d& sum_of =
        std::min(of.edge_a, of.edge_b) < s.obstacles.size() - s.tissues.size() ? by_obstacles : by_tissues;
    if (of.edge_a == body) sum_of += c.contact.force;
    if (of.edge_b == body) sum_of -= c.contact.force;
  }
  m.tissue_force = from_eigen(by_tissues);
  m.obstacle_force = from_eigen(by_obstacles);
  for (std::size_t k = 0; k < s.tissues.size(); ++k) {
    if (k == number) continue;
    m.tissue_gap_mm = std::min(m.tissue_gap_mm, vertex_gap(t.surface(), s.tissues[k].surface(), m.tissue_gap_mm));
    m.tissue_gap_mm = std::min(m.tissue_gap_mm, vertex_gap(s.tissues[k].surface(), t.surface(), m.tissue_gap_mm));
  }
  const contact::TriangleMesh& surface = t.surface();
  for (std::size_t b = 0; b < s.obstacles.size() - s.tissues.size(); ++b) {
    const contact::Obstacle& rigid = s.obstacles[b].body;
    if (rigid.box_distance(surface.low(), surface.high()) > 0) continue;
    for (std::size_t v = 0; v < surface.vertices(); ++v)
      if (const double deep = -rigid.signed_distance(surface.vertex(v)); deep > m.in_obstacle_mm)
        m.in_obstacle_mm = deep, m.in_obstacle = b;
  }
  return m;
}

namespace {

// B (kappa^2 - kappa_0^2) / 2, kappa_0 of its shape at rest [uN].
double bend_at(const rod::RodModel& model, const std::vector<contact::Vector3d>& x, std::size_t vertex) {
  if (!model.closed && (vertex == 0 || vertex + 1 >= model.vertices())) return 0;
  const std::size_t before = model.previous(vertex);
  const contact::Vector3d a = (x[vertex] - x[before]).normalized(),
                          b = (x[model.next(vertex)] - x[vertex]).normalized();
  const double turn = 2 * std::asin(std::min(1.0, 0.5 * (b - a).norm()));
  const double at_rest = model.rest_curvature.empty() ? 0 : 2 * std::atan(0.5 * model.rest_curvature[vertex].norm());
  const double length = 0.5 * (model.edge_length(before) + model.edge_length(vertex));
  return 0.5 * model.joint_bend(vertex) * (turn * turn - at_rest * at_rest) / (length * length);
}

// What pulls at it from where it is as at rest: the first integral of the elastica, N . t + M kappa - W with the moment
// M = B (kappa - kappa_0) and the energy W = B (kappa - kappa_0)^2 / 2.
double tension_of(const rod::RodModel& model, const std::vector<contact::Vector3d>& x, std::size_t edge) {
  const std::size_t next = model.next(edge);
  const double stretch = (x[next] - x[edge]).norm() / model.edge_length(edge) - 1;
  return model.edge_stretch(edge) * stretch + 0.5 * (bend_at(model, x, edge) + bend_at(model, x, next));
}

}  // namespace

std::vector<ForcepsMeasure> World::forceps() const {
  const State& s = *state_;
  std::vector<ForcepsMeasure> out;
  for (std::size_t f = 0; f < s.grasps.size(); ++f) {
    ForcepsMeasure m;
    m.held = s.grasps[f].held.size();
    m.grip = from_eigen(s.grasps[f].shed_W);
    for (const instrument::Held& h : s.grasps[f].held) m.grip = m.grip + from_eigen(h.force_W);
    const contact::Tools& tools = s.coupled[0].tools();
    for (std::size_t arm = 0; arm < 2 && kParts * f + arm < tools.count(); ++arm)
      m.pressed[arm] = from_eigen(tools.borne(kParts * f + arm));
    out.push_back(m);
  }
  return out;
}

std::vector<RingMeasure> World::rings() const {
  const State& s = *state_;
  const contact::Rings& rings = s.coupled[0].rings();
  std::vector<RingMeasure> out;
  for (std::size_t i = 0; i < rings.list().size(); ++i) {
    const contact::Ring& r = rings.list()[i];
    const contact::StrandContact& rim = rings.contacts()[i];
    RingMeasure m;
    m.thread = r.strand;
    m.tissue = r.body - (s.obstacles.size() - s.tissues.size());
    m.suture = r.channel;
    m.s_mm = s.threads[r.strand].model.rest_arc(rim.pair.edge_a, rim.sa);
    m.place = from_eigen(s.hole_of(r));
    m.force = from_eigen(rim.force);
    m.edges_before = r.u;
    // Of the next edge on either side: the one in the hole has both.
    const rod::RodModel& model = s.threads[r.strand].model;
    const std::vector<contact::Vector3d>& x = s.threads[r.strand].state.x;
    const std::size_t edge = rim.pair.edge_a, last = model.edges() - 1;
    m.tension_before = tension_of(model, x, edge > 0 ? edge - 1 : model.closed ? last : 0);
    m.tension_after = tension_of(model, x, edge < last ? edge + 1 : model.closed ? 0 : last);
    m.sliding = rim.sliding;
    m.left = r.left;
    const auto is_mate = [&](std::size_t k) { return k < rings.list().size() && rings.list()[k].channel == r.channel; };
    m.exit = is_mate(i + 1) || is_mate(i - 1) ? !r.ahead : !r.to_last;
    out.push_back(m);
  }
  return out;
}

Vec3 World::obstacle_shift(std::size_t obstacle) const noexcept {
  return from_eigen(state_->obstacles[obstacle].body.shift());
}

}  // namespace ligature::world
