#include <cmath>
#include <limits>
#include <string>

#include "sim/contact/smooth_curve.hpp"
#include "sim/contact/soft_body.hpp"
#include "sim/world/state.hpp"

namespace ligature::world {
namespace {

constexpr int kAloneIterations = 3;  // linear solves of a tissue that no thread is near
constexpr double kFurthest = 1e4;    // where a hole is looked for [mm]

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
  v.material = {.young = p.young_pa,
                .poisson = p.poisson,
                .density = p.density_g_per_mm3,
                .relaxation = p.relaxation_s,
                .drag = p.drag_per_s};
  return v;
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
  for (std::size_t k = 0; k < params.tissues.size(); ++k) {
    const TissueParams& p = params.tissues[k];
    auto model = tissue::vessel_model(vessel_of(p));
    if (!model) return usage_error(name_of(p, k) + ": " + model.error().message);
    tissue::TissueSettings how;
    how.dt = params.step_s;
    how.iterations = kAloneIterations;
    how.gravity = gravity;
    auto made = tissue::Tissue::create(std::move(*model), how);
    if (!made) return usage_error(name_of(p, k) + ": " + made.error().message);
    tissues.push_back(std::move(*made));
    add_obstacle(contact::Obstacle::soft(tissues.back().surface()), {});
    obstacles.back().soft = &tissues.back();
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
      return usage_error(name + ": its exit comes before its entry along the thread: exchange them");
  }
  rings.renew();
  rings.follow(strands.data(), all_bodies());
  for (std::uint32_t k = 0; k < threads.size(); ++k)
    for (std::uint32_t b = static_cast<std::uint32_t>(rigid); b < obstacles.size(); ++b)
      for (std::size_t i = 0; i < strands[k].vertices; ++i) {
        const auto at = static_cast<double>(i);
        if (contact::passes(rings.passages(), k, b, at - 0.5, at + 0.5)) continue;
        const double gap = obstacles[b].body.signed_distance(strands[k].x[i]) - strands[k].radius;
        if (gap < -1e-6 * strands[k].radius)
          return usage_error("thread '" + params.threads[k].name + "' begins inside " +
                             name_of(params.tissues[b - rigid], b - rigid) + " at vertex " + std::to_string(i) +
                             ": draw it outside, or give it a suture there");
      }
  return {};
}

void World::State::step_tissues_alone() noexcept {
  for (tissue::Tissue& t : tissues) {
    t.begin(params.step_s);
    t.settle(kAloneIterations);
  }
}

// That no thread met a tissue while both went from the start of the step to where they are: the same motion backwards.
bool World::State::apart_from_tissues() noexcept {
  for (std::size_t k = 0; k < threads.size(); ++k) ends[k] = threads[k].x0.data();
  const auto rigid = static_cast<std::uint32_t>(obstacles.size() - tissues.size());
  for (std::uint32_t t = 0; t < tissues.size(); ++t) {
    const contact::SoftMotion back{tissues[t].start(), tissues[t].x(), 1};
    const contact::SoftVerdict verdict = contact::look_soft(strands.data(), threads.size(), ends.data(), tissues[t],
                                                            back, 1, &coupled[0].rings().passages(), rigid + t);
    if (verdict.found + verdict.inside > 0) return false;
  }
  return true;
}

void World::State::undo_tissues(double fraction) noexcept {
  for (tissue::Tissue& t : tissues) t.go_back(fraction);
}

void World::State::finish_tissues() noexcept {
  for (tissue::Tissue& t : tissues) t.finish();
}

}  // namespace ligature::world
