#include <algorithm>
#include <cmath>

#include "sim/world/state.hpp"

namespace ligature::world {
namespace {

WallPart wall_of(tissue::SurfacePart part) noexcept {
  return part == tissue::SurfacePart::outer   ? WallPart::outside
         : part == tissue::SurfacePart::inner ? WallPart::inside
                                              : WallPart::cut;
}

}  // namespace

void World::facts(SceneFacts& out) const noexcept {
  const State& s = *state_;
  out.threads.clear();
  out.holes.clear();
  for (const Thread& t : s.threads) {
    const auto [first, last] = needle_vertices(t);
    out.threads.push_back({.origin = static_cast<std::uint32_t>(t.origin),
                           .rest_length_mm = t.model.whole_length(),
                           .needle = last > first,
                           .needle_at_last = last > first && last + 1 == t.x0.size()});
  }
  const contact::Rings& rings = s.coupled[0].rings();
  const std::size_t rigid = s.obstacles.size() - s.tissues.size();
  for (std::size_t i = 0; i < rings.list().size(); ++i) {
    const contact::Ring& r = rings.list()[i];
    if (r.left) continue;
    const contact::StrandContact& rim = rings.contacts()[i];
    const std::size_t tissue = r.body - rigid;
    out.holes.push_back({.thread = r.strand,
                         .tissue = static_cast<std::uint32_t>(tissue),
                         .stitch = r.channel,
                         .wall = wall_of(s.tissues[tissue].model().surface[r.on.triangle].part),
                         .s_mm = s.threads[r.strand].model.rest_arc(rim.pair.edge_a, rim.sa),
                         .force = rim.force.norm()});
  }
  for (std::size_t f = 0; f < kInstruments; ++f) {
    FactJaws& jaws = out.jaws[f] = {};
    for (const Held& h : s.grasps[f].held) {
      const auto [first, last] = needle_vertices(s.threads[h.thread]);
      const bool wire = last > first && h.vertex >= first && h.vertex <= last;
      jaws.hold(s.threads[h.thread].origin, wire);
    }
  }
}

}  // namespace ligature::world
