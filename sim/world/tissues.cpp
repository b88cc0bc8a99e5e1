#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "sim/contact/smooth_curve.hpp"
#include "sim/contact/soft_body.hpp"
#include "sim/tissue/solid.hpp"
#include "sim/world/state.hpp"

namespace ligature::world {
namespace {

constexpr int kAloneIterations = 3;  // linear solves of a tissue that no thread is near
constexpr double kHoleOverNeedle = 1.1;
constexpr double kPointLength = 6;    // of the radius: what presses so near the point presses with it
constexpr double kBeside = 4;         // of a hole's radius: within its passage (rings.cpp) and a step
constexpr double kOtherSide = 0.5;    // of the wall: a hole further than this from the one before leads out of it
constexpr double kFurthest = 1e4;     // where a hole is looked for [mm]
constexpr double kLeastApart = 1e-6;  // of tissue and an obstacle when they begin [mm]
constexpr double kAnywhere = 1e6;     // [mm]
constexpr double kNoThrow = 20;       // up to which speed nobody asks where it came from [mm/s]

tissue::Material material_of(const TissueParams& p) {
  return {.young = p.young_pa,
          .poisson = p.poisson,
          .density = p.density_g_per_mm3,
          .relaxation = p.relaxation_s,
          .drag = p.drag_per_s};
}

tissue::Vessel vessel_of(const TissueParams& p) {
  tissue::Vessel v;
  v.outer_diameter = p.outer_diameter_mm;
  v.wall = p.wall_mm;
  v.length = p.length_mm;
  v.X_WV = p.X_WV;
  v.fix_first = p.fix_first;
  v.fix_last = p.fix_last;
  v.around = p.around;
  v.along = p.along;
  v.layers = p.layers;
  v.material = material_of(p);
  return v;
}

constexpr double kSkinOfMesh = 0.05;  // of wall_mm, as a vessel's

tissue::Solid solid_of(const TissueParams& p) {
  tissue::Solid s;
  for (const Vec3& v : p.vertices) s.vertices.push_back(to_eigen(v));
  s.triangles = p.triangles;
  s.X_WV = p.X_WV;
  s.element = p.element_mm;
  for (const BoxParams& box : p.fixed) s.fixed.push_back({to_eigen(box.low), to_eigen(box.high)});
  s.skin = kSkinOfMesh * p.wall_mm;
  s.material = material_of(p);
  return s;
}

std::string name_of(const TissueParams& p, std::size_t number) {
  return "tissue " + (p.name.empty() ? std::to_string(number) : "'" + p.name + "'");
}

// The parameter of the curve's place nearest to p, looked for all along.
double nearest_place(const contact::Strand& s, const Vector3d& p) {
  double best = std::numeric_limits<double>::infinity(), at = 0;
  const auto samples = 4 * s.edges();
  for (std::size_t i = 0; i <= samples; ++i) {
    const double u = 0.25 * static_cast<double>(i), d = (contact::curve_at(s, u).p - p).squaredNorm();
    if (d < best) best = d, at = u;
  }
  return at;
}

}  // namespace

Result<void> World::State::add_tissues() {
  tissues.reserve(params.tissues.size());
  kinetic_before.resize(params.tissues.size()), elastic_before.resize(params.tissues.size());
  joined.resize(params.tissues.size());
  began_close.assign(params.tissues.size(), 0);
  for (std::size_t k = 0; k < params.tissues.size(); ++k) {
    const TissueParams& p = params.tissues[k];
    auto model = p.vertices.empty() ? tissue::vessel_model(vessel_of(p)) : tissue::solid_model(solid_of(p));
    if (!model) return usage_error(name_of(p, k) + ": " + model.error().message);
    tissue::TissueSettings how;
    how.dt = params.step_s;
    how.iterations = kAloneIterations;
    how.gravity = gravity;
    auto made = tissue::Tissue::create(std::move(*model), how);
    if (!made) return usage_error(name_of(p, k) + ": " + made.error().message);
    if (!(norm(p.velocity) <= kMostCarried))
      return usage_error(name_of(p, k) + ": velocity is not within " + std::to_string(kMostCarried) + " mm/s: mend it");
    made->carry(to_eigen(p.velocity));
    tissues.push_back(std::move(*made));
    surface_vertices.push_back(tissues.back().surface().vertices());
    add_obstacle(contact::Obstacle::soft(tissues.back().surface()), {});
    obstacles.back().soft = &tissues.back();
  }
  // Of two that begin in each other no contact could tell the sides.
  for (std::size_t k = 0; k < tissues.size(); ++k)
    for (std::size_t o = 0; o < tissues.size(); ++o) {
      if (o == k) continue;
      const contact::TriangleMesh &own = tissues[k].surface(), &other = tissues[o].surface();
      contact::SoftBody* const both[] = {&tissues[k], &tissues[o]};
      const contact::Obstacle* const none[] = {nullptr, nullptr};
      bool inside = contact::look_tissues({none, 2, 0, both}, {}).inside > 0;
      for (std::size_t v = 0; v < own.vertices() && !inside; ++v) {
        const contact::TriangleMesh::Nearest at =
            other.nearest(own.vertex(v), params.tissues[o].vertices.empty() ? params.tissues[o].wall_mm : kFurthest);
        inside = at.found && at.distance < 0;
      }
      if (inside)
        return usage_error(name_of(params.tissues[k], k) + " begins inside " + name_of(params.tissues[o], o) +
                           ": place them apart");
    }
  return {};
}

// What tissue meets of the obstacles. Of what begins in them no contact could tell the sides.
Result<void> World::State::add_surfaces() {
  rigid_surfaces.assign(bodies.size(), nullptr);
  if (tissues.empty()) return {};
  const std::size_t rigid = obstacles.size() - tissues.size();
  surfaces.reserve(rigid);
  Vector3d middle = Vector3d::Zero();
  for (const tissue::Tissue& t : tissues) middle += 0.5 * (t.surface().low() + t.surface().high());
  middle /= static_cast<double>(tissues.size());
  for (std::size_t b = 0; b < rigid; ++b) {
    auto mesh = obstacles[b].body.in_facets(middle);
    if (!mesh)
      return usage_error("obstacle '" + params.obstacles[b].name + "', as facets that tissue meets: " +
                         mesh.error().message + ": make it smaller, or leave tissue out");
    surfaces.emplace_back(obstacles[b].body, std::move(*mesh));
    const contact::TriangleMesh& facets = surfaces.back().surface();
    for (std::size_t k = 0; k < tissues.size(); ++k) {
      const contact::TriangleMesh& own = tissues[k].surface();
      const contact::Obstacle* const none[] = {nullptr, nullptr};
      contact::SoftBody* const soft[] = {&tissues[k], nullptr};
      contact::RigidSurface* const met[] = {nullptr, &surfaces.back()};
      const contact::Bodies both{none, 2, 0, soft, met};
      bool inside = contact::kept_apart(both, 0, 1) && contact::look_tissues(both, {}).inside > 0;
      const auto begins_in = [&](const contact::TriangleMesh& one, const contact::TriangleMesh& other) {
        for (std::size_t v = 0; v < one.vertices() && !inside; ++v) {
          const Vector3d& p = one.vertex(v);
          if (contact::TriangleMesh::box_gap(p, p, other.low(), other.high()) > kLeastApart * kLeastApart) continue;
          const contact::TriangleMesh::Nearest at = other.nearest(p, kAnywhere);
          inside = at.found && at.distance < kLeastApart;
        }
      };
      begins_in(own, facets), begins_in(facets, own);
      if (inside)
        return usage_error(name_of(params.tissues[k], k) + " begins inside obstacle '" + params.obstacles[b].name +
                           "' or touches it (what is round by its facets, up to 10 um outside): place them apart");
    }
    rigid_surfaces[b] = &surfaces.back();
  }
  return {};
}

// The rings of the sutures, and the proof that threads are outside of tissue elsewhere.
Result<void> World::State::add_sutures() {
  const std::size_t rigid = obstacles.size() - tissues.size();
  contact::Rings& rings = coupled[0].rings();
  for (std::size_t k = 0; k < threads.size(); ++k) strands[k] = strand_of(threads[k]);
  for (std::size_t k = 0; k < params.sutures.size(); ++k) {
    const SutureParams& p = params.sutures[k];
    const std::string name = "suture " + std::to_string(k);
    if (p.thread >= params.threads.size() || p.tissue >= tissues.size())
      return usage_error(name + " is of a thread or a tissue that is not there: name those that are");
    const contact::Strand& s = strands[p.thread];
    const contact::TriangleMesh& surface = tissues[p.tissue].surface();
    for (const Vec3& place : {p.entry, p.exit}) {
      const contact::TriangleMesh::Nearest at = surface.nearest(to_eigen(place), kFurthest);
      if (!(std::abs(at.distance) <= std::max(0.5 * p.hole_diameter_mm, params.tissues[p.tissue].wall_mm)))
        return usage_error(name + ": a hole of it is " + std::to_string(std::abs(at.distance)) +
                           " mm from the surface of " + name_of(params.tissues[p.tissue], p.tissue) +
                           ", must be on it: place it there");
      contact::Ring r;
      r.strand = static_cast<std::uint32_t>(p.thread);
      r.body = static_cast<std::uint32_t>(rigid + p.tissue);
      r.on = {at.triangle, surface.weights(at.triangle, at.point)};
      r.radius = 0.5 * p.hole_diameter_mm;
      r.u = nearest_place(s, at.point);
      r.channel = static_cast<std::uint32_t>(k);
      const double apart = (contact::curve_at(s, r.u).p - at.point).norm();
      if (!(apart <= r.radius + s.radius))
        return usage_error(name + ": the thread passes " + std::to_string(apart) +
                           " mm from the hole, must be at most the hole's radius: draw the thread through both holes");
      rings.list().push_back(r);
    }
    const auto& list = rings.list();
    if (list[list.size() - 2].u >= list.back().u)
      return usage_error(name +
                         ": its exit comes before its entry along the thread: exchange them, or place them on either "
                         "side of the wall");
  }
  channels = static_cast<std::uint32_t>(params.sutures.size());
  rings.renew();
  rings.follow(strands.data(), all_bodies());
  for (std::uint32_t k = 0; k < threads.size(); ++k)
    for (std::uint32_t b = static_cast<std::uint32_t>(rigid); b < obstacles.size(); ++b)
      for (std::size_t i = 0; i < strands[k].vertices; ++i) {
        const auto at = static_cast<double>(i);
        if (contact::passes(rings.passages(), k, b, at - 0.5, at + 0.5)) continue;
        const double radius = strands[k].radius_of(i);
        if (obstacles[b].body.signed_distance(strands[k].x[i]) < (1 - 1e-6) * radius)
          return usage_error("thread '" + params.threads[k].name + "' begins inside " +
                             name_of(params.tissues[b - rigid], b - rigid) + " at vertex " + std::to_string(i) +
                             ": draw it outside, or give it a suture there");
      }
  return {};
}

namespace {

/// Where a strand's polyline goes through a surface.
struct Crossing {
  double u = 0;  // in edges from the strand's first vertex
  std::uint32_t triangle = 0;
  Vector3d place;
  bool out = false;
};
using Crossings = FixedVector<Crossing, 8>;

/// On the way from u to this vertex, in the order of the way.
Crossings crossings(const contact::Strand& s, double u, std::size_t to, const contact::TriangleMesh& surface) noexcept {
  Crossings found;
  const double end = static_cast<double>(to), sign = end > u ? 1 : -1;
  const auto at = [&s](double v) {
    const auto i = std::min(static_cast<std::size_t>(v), s.edges() - 1);
    return Vector3d(s.x[i] + (v - static_cast<double>(i)) * (s.x[i + 1] - s.x[i]));
  };
  for (double from = u; sign * (end - from) > 0;) {
    const double next = sign > 0 ? std::min(end, std::floor(from) + 1) : std::max(end, std::ceil(from) - 1);
    const Vector3d p = at(from), d = at(next) - p;
    const std::size_t first = found.size();
    surface.for_each_near(p.cwiseMin(p + d), p.cwiseMax(p + d), 0, [&](std::uint32_t t) {
      const Vector3d& a = surface.vertex(surface.triangle(t)[0]);
      const Vector3d ab = surface.vertex(surface.triangle(t)[1]) - a, ac = surface.vertex(surface.triangle(t)[2]) - a;
      const Vector3d n = ab.cross(ac);
      const double along = n.dot(d), part = n.dot(a - p) / along;
      if (along == 0 || !(part > 0 && part <= 1)) return;
      const Vector3d place = p + part * d, w = surface.weights(t, place);
      if (!(w.minCoeff() > 0) || found.size() == found.capacity()) return;
      const Vector3d off = place - (w[0] * a + w[1] * (a + ab) + w[2] * (a + ac));
      if (off.norm() < 1e-9 * (1 + n.norm())) found.push_back({from + part * (next - from), t, place, along > 0});
    });
    std::sort(found.begin() + first, found.end(),
              [sign](const Crossing& a, const Crossing& b) { return sign * (b.u - a.u) > 0; });
    from = next;
  }
  return found;
}

}  // namespace

// Where a needle's point is pressed into the wall hard enough, a channel begins; where it comes out, the channel has
// its second hole. Inside the wall nothing holds the point back (the force that cuts is not modelled).
void World::State::pierce(StepReport& report) noexcept {
  if (tissues.empty()) return;
  contact::Rings& rings = coupled[0].rings();
  rings.clear_left();
  const std::size_t rigid = obstacles.size() - tissues.size();
  for (std::uint32_t k = 0; k < threads.size(); ++k) {
    const Thread& t = threads[k];
    const auto [begin, end] = needle_vertices(t);
    if (begin == end) continue;
    const bool at_last = end + 1 == t.x0.size();
    const std::size_t point = at_last ? end : begin, behind = at_last ? end - 1 : begin + 1;
    const Vector3d& tip = t.state.x[point];
    const Vector3d along = (tip - t.state.x[behind]).normalized();
    contact::Ring r;
    r.strand = k;
    r.u = static_cast<double>(point);
    r.to_last = at_last;
    r.radius = kHoleOverNeedle * strand_of(t).radius_of(point);
    if (go_on_in_channel(k, point, r, report)) continue;
    const auto& touches = coupled[0].on_meshes().contacts();
    // Of several places about the point the one that it presses most.
    const contact::BodyContact* most = nullptr;
    for (const contact::BodyContact& b : touches)
      if (b.contact.pair.strand_a == k && b.contact.pair.edge_b >= rigid && b.vertex == point &&
          (!most || b.contact.normal.dot(b.contact.force) > most->contact.normal.dot(most->contact.force)))
        most = &b;
    if (most) {
      const contact::StrandContact& c = most->contact;
      const TissueParams& wall = params.tissues[c.pair.edge_b - rigid];
      // A wall that is dented touches what lies next to the point, too; and steep on either side of it, it still lies
      // across the needle.
      double pressed = 0;
      Vector3d facing = Vector3d::Zero();
      for (const contact::BodyContact& o : touches)
        if (o.contact.pair.strand_a == k && o.contact.pair.edge_b == c.pair.edge_b &&
            (t.state.x[o.vertex] - tip).norm() <= kPointLength * strand_of(t).radius_of(point)) {
          pressed -= o.contact.force.dot(along);
          facing += std::max(0.0, o.contact.normal.dot(o.contact.force)) * o.contact.normal;
        }
      if (pressed < wall.pierce_force || -facing.dot(along) < std::cos(wall.pierce_angle_rad) * facing.norm()) continue;
      r.body = c.pair.edge_b;
      r.channel = channels;
      r.on = c.on;
      if (rings.add(r)) ++channels, report.flags |= step_pierced;
    }
  }
  rings.follow(strands.data(), all_bodies());
}

// A point in a channel comes out where its needle goes through the surface, and where walls lie pressed together it is
// in the next one before anything could press on it: that one is pierced with the first.
// @param hole  what its holes have in common  @returns whether the point is in a channel
bool World::State::go_on_in_channel(std::uint32_t k, std::size_t point, contact::Ring hole,
                                    StepReport& report) noexcept {
  contact::Rings& rings = coupled[0].rings();
  const std::size_t rigid = obstacles.size() - tissues.size();
  const contact::Strand strand = strand_of(threads[k]);
  const Vector3d& tip = threads[k].state.x[point];
  const double tip_arc = strand.arc_at(static_cast<double>(point));
  contact::Ring last;  // the hole next to the point
  bool inside = false, any = false;
  for (const contact::Ring& r : rings.list()) {
    if (r.strand != k || r.left) continue;
    std::size_t holes = 0;
    for (const contact::Ring& o : rings.list()) holes += o.channel == r.channel ? 1 : 0;
    const bool open = holes == 1 && r.to_last == hole.to_last;
    // Beside a hole that it has just come out of nothing holds the point off.
    const bool beside = std::abs(tip_arc - strand.arc_at(r.u)) < kBeside * r.radius;
    if (!open && !beside) continue;
    if (!any || open || (!inside && std::abs(strand.arc_at(r.u) - tip_arc) < std::abs(strand.arc_at(last.u) - tip_arc)))
      last = r, inside = open, any = true;
  }
  if (!any) return false;
  const tissue::Tissue& body = tissues[last.body - rigid];
  const contact::TriangleMesh& surface = body.surface();
  const double apart = kOtherSide * params.tissues[last.body - rigid].wall_mm;
  const Vector3d from = hole_of(last);
  const auto normal_of = [&](std::uint32_t t) {
    const Vector3d& a = surface.vertex(surface.triangle(t)[0]);
    return Vector3d((surface.vertex(surface.triangle(t)[1]) - a).cross(surface.vertex(surface.triangle(t)[2]) - a));
  };
  const bool was_inside = inside;
  bool went_on = false;
  hole.body = last.body;
  hole.radius = last.radius;
  hole.channel = last.channel;
  for (const Crossing& c : crossings(strand, last.u, point, surface)) {
    if (c.out != inside) continue;
    // What lies about the hole that it came from is that hole, unless it faces it.
    if (!went_on &&
        (inside ? (c.place - from).norm() < apart : normal_of(last.on.triangle).dot(normal_of(c.triangle)) > 0))
      continue;
    hole.u = c.u;
    hole.on = {c.triangle, surface.weights(c.triangle, c.place)};
    if (!inside) hole.channel = channels;
    if (!rings.add(hole)) break;
    if (!inside) ++channels;
    report.flags |= step_pierced;
    inside = !inside, went_on = true;
  }
  // Past what it went through, as where two triangles meet.
  if (was_inside && !went_on) {
    const contact::TriangleMesh::Nearest at = surface.nearest(tip, kFurthest);
    if (at.distance > 0 && (at.point - from).norm() >= apart) {
      hole.u = static_cast<double>(point);
      hole.on = {at.triangle, surface.weights(at.triangle, at.point)};
      if (rings.add(hole)) report.flags |= step_pierced;
    }
  }
  return was_inside || inside;
}

void World::State::step_tissues_alone() noexcept {
  for (tissue::Tissue& t : tissues) {
    t.begin(params.step_s);
    t.settle(kAloneIterations);
  }
  for (contact::RigidSurface& r : surfaces) r.lead_to(1, 0);
}

// That no thread, no tool and no other tissue met a tissue while both went from the start of the step to where they
// are: the same motion backwards.
bool World::State::apart_from_tissues() noexcept {
  for (std::size_t k = 0; k < threads.size(); ++k) ends[k] = threads[k].x0.data();
  const auto rigid = static_cast<std::uint32_t>(obstacles.size() - tissues.size());
  contact::Tools& tools = coupled[0].tools();
  tools.clear_forces();
  tools.advance(1);
  tools.find(1, all_bodies(), 0);
  for (const contact::BodyContact& c : tools.contacts())
    if (c.contact.gap < 0) return false;
  const contact::Vector3d* const* back_to = tools.trial_back(1, 0);
  for (std::uint32_t t = 0; t < tissues.size(); ++t) {
    const contact::SoftMotion back{tissues[t].start(), tissues[t].x(), 1};
    const contact::SoftVerdict verdict = contact::look_soft(strands.data(), threads.size(), ends.data(), tissues[t],
                                                            back, 1, &coupled[0].rings().passages(), rigid + t);
    const contact::SoftVerdict of_tools =
        contact::look_soft(tools.strands().data(), tools.strands().size(), back_to, tissues[t], back);
    if (verdict.found + verdict.inside + of_tools.found + of_tools.inside > 0) return false;
  }
  coupled[0].tissues().find(all_bodies(), {});
  for (const contact::TissueContact& c : coupled[0].tissues().contacts())
    if (c.contact.gap < 0) return false;
  const contact::SoftVerdict between = contact::look_tissues(all_bodies(), {0, true});
  return between.found + between.inside == 0;
}

void World::State::undo_tissues(double fraction) noexcept {
  for (tissue::Tissue& t : tissues) t.go_back(fraction);
  for (contact::RigidSurface& r : surfaces) r.go_back(fraction);
}

void World::State::note_energies() noexcept {
  for (std::size_t k = 0; k < tissues.size(); ++k)
    if (tissues[k].floats())
      kinetic_before[k] = tissues[k].kinetic_energy(), elastic_before[k] = tissues[k].elastic_energy();
}

// What begins nearer to another body than skins keep it is put apart in the first step, and that is no velocity.
void World::State::note_close_starts() noexcept {
  if (step > 0) return;
  const std::size_t rigid = obstacles.size() - tissues.size();
  for (const contact::TissueContact& c : coupled[0].tissues().contacts())
    for (const std::uint32_t body : {c.contact.pair.edge_a, c.contact.pair.edge_b})
      if (c.contact.gap < 0 && body >= rigid && body - rigid < tissues.size()) began_close[body - rigid] = 1;
}

// Which of the tissues that nothing holds press on each other, and which of them on anything else but threads.
void World::State::join_tissues() noexcept {
  const std::size_t rigid = obstacles.size() - tissues.size();
  const auto flies = [&](std::uint32_t body) {
    return body >= rigid && body < obstacles.size() && tissues[body - rigid].floats();
  };
  for (std::uint32_t k = 0; k < tissues.size(); ++k) joined[k] = {k, !tissues[k].floats()};
  const auto press = [&](std::uint32_t on, std::uint32_t by) {
    if (!flies(on)) return;
    Joined& j = joined[on - rigid];
    if (!flies(by)) {
      j.borne = true;
      return;
    }
    const std::uint32_t a = j.first, b = joined[by - rigid].first;
    for (Joined& o : joined)
      if (o.first == std::max(a, b)) o.first = std::min(a, b);
  };
  for (const contact::TissueContact& t : coupled[0].tissues().contacts()) {
    if (t.contact.force.isZero(0)) continue;
    press(t.contact.pair.edge_a, t.contact.pair.edge_b), press(t.contact.pair.edge_b, t.contact.pair.edge_a);
  }
  for (const contact::BodyContact& c : coupled[0].tools().contacts())
    if (!c.contact.force.isZero(0) && flies(c.contact.pair.edge_b)) joined[c.contact.pair.edge_b - rigid].borne = true;
  for (const Joined& j : joined) joined[j.first].borne |= j.borne;
}

// Of those that are joined with the first.
World::State::TissueMotion World::State::motion_of_joined(std::uint32_t first) noexcept {
  const auto rigid = static_cast<std::uint32_t>(obstacles.size() - tissues.size());
  TissueMotion m;
  Vector3d momentum = Vector3d::Zero();
  for (std::uint32_t k = first; k < tissues.size(); ++k) {
    const tissue::Tissue& t = tissues[k];
    if (!t.floats() || joined[k].first != first) continue;
    Vector3d fell = Vector3d::Zero();
    for (std::uint32_t i = 0; i < t.nodes(); ++i) {
      m.mass += t.mass(i), momentum += t.mass(i) * t.v()[i];
      fell += t.mass(i) * (t.x()[i] - t.start()[i]);
    }
    m.kinetic += t.kinetic_energy();
    m.had += kinetic_before[k], m.most += kinetic_before[k];
    for (const double gave : {elastic_before[k] - t.elastic_energy(), fell.dot(gravity),
                              coupled[0].work_on(rigid + k, joined[first].borne)})
      m.had += gave, m.most += std::max(0.0, gave);
  }
  if (m.mass > 0) m.drift = momentum / m.mass;
  return m;
}

// A step that did not converge may throw what nothing holds.
// @returns the part of it that gives no tissue more kinetic energy than gravity, contacts and its own deformation had
// for it; of tissue that nothing bears, only as far as limit_tissue_energy() cannot, which leaves it its momentum
double World::State::thrown_by_energy() noexcept {
  double part = 1;
  for (std::uint32_t k = 0; k < tissues.size(); ++k) {
    if (joined[k].first != k || !tissues[k].floats()) continue;
    const TissueMotion m = motion_of_joined(k);
    const double kinetic = joined[k].borne ? m.kinetic : 0.5 * m.mass * m.drift.squaredNorm();
    if (kinetic > m.most + 0.5 * m.mass * kNoThrow * kNoThrow) part = std::min(part, std::sqrt(m.most / kinetic));
  }
  return part;
}

// What others gained is taken from the motion about the centre of mass of those that press on each other: a shorter
// step would take their momentum, too.
void World::State::limit_tissue_energy() noexcept {
  for (std::uint32_t first = 0; first < tissues.size(); ++first) {
    if (joined[first].first != first || joined[first].borne) continue;
    const TissueMotion m = motion_of_joined(first);
    const double about = m.kinetic - 0.5 * m.mass * m.drift.squaredNorm();
    if (!(m.kinetic > m.had) || !(about > 0)) continue;
    const double left = std::sqrt(std::max(0.0, 1 - (m.kinetic - m.had) / about));
    for (std::uint32_t k = first; k < tissues.size(); ++k)
      if (joined[k].first == first) tissues[k].slow(m.drift, left);
  }
}

Vector3d World::State::hole_of(const contact::Ring& ring) const noexcept {
  const tissue::Tissue& body = tissues[ring.body - (obstacles.size() - tissues.size())];
  const auto& corner = body.model().surface[ring.on.triangle].node;
  Vector3d place = Vector3d::Zero();
  for (std::size_t k = 0; k < 3; ++k) place += ring.on.weight[static_cast<Eigen::Index>(k)] * body.x()[corner[k]];
  return place;
}

// What is too large for the picture is left out of it whole.
void World::State::show_tissues(SceneSnapshot& out) const noexcept {
  static_assert(kMaxTissues <= kMaxSurfaces && 2 * kMaxSutures <= kMaxHoles);
  out.tissues.clear();
  out.surface.clear();
  out.holes.clear();
  for (std::size_t k = 0; k < tissues.size(); ++k) {
    const std::size_t count = surface_vertices[k], first = out.surface.size();
    const bool fits = first + count <= kMaxSurfaceVertices;
    out.tissues.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(fits ? count : 0)});
    for (std::size_t v = 0; fits && v < count; ++v) out.surface.push_back(shown_at(tissues[k].x()[v]));
  }
  for (const contact::Ring& ring : coupled[0].rings().list())
    if (!ring.left) out.holes.push_back({shown_at(hole_of(ring)), static_cast<float>(ring.radius)});
}

void World::State::finish_tissues() noexcept {
  for (tissue::Tissue& t : tissues) t.finish();
}

}  // namespace ligature::world
