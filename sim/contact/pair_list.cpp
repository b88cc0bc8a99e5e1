#include "sim/contact/pair_list.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/contact/edge_places.hpp"

namespace ligature::contact {
namespace {

constexpr double kAlong = 1.1;  // of the reach, skin and all: arc that neighbours have at least, or a straight strand
                                // would not be seen as such

std::size_t vertices_of(const Strand& strand) {
  return strand.x == nullptr || strand.vertices < 2 ? 0 : strand.vertices;
}

bool same_thread(const Strand& a, const Strand& b) noexcept {
  return vertices_of(a) == vertices_of(b) && a.closed == b.closed && a.radius == b.radius &&
         a.rest_length == b.rest_length && a.node == b.node && a.division == b.division && a.thread == b.thread &&
         a.first_edge == b.first_edge && a.ring_edges == b.ring_edges;
}

}  // namespace

bool across_cut(const Strand& a, const Strand& b, const EdgePair& pair) noexcept {
  const bool cut = pair.strand_a != pair.strand_b || (a.ring_edges > 0 && !a.closed);
  const std::size_t apart = cut ? edges_along(a, pair.edge_a, b, pair.edge_b) : static_cast<std::size_t>(-1);
  if (apart == static_cast<std::size_t>(-1)) return false;
  return apart <= 1 || static_cast<double>(apart - 1) * a.rest_length < std::numbers::pi * a.radius;
}

PairList::PairList(std::size_t most_edges, std::size_t most_pairs)
    : most_edges_(most_edges), near_(most_edges, most_pairs), places_(2 * most_edges) {
  pairs_.reserve(most_pairs);
  strands_.reserve(most_edges);
}

// Whether no pair can have come into reach that was not listed. What is not finite lets nothing stand.
bool PairList::stands(const Strand* strands, std::size_t count, double reach) const noexcept {
  if (!valid_ || count != strands_.size() || !(reach <= reach_ && reach >= reach_ - kMuchLess / kSkin * skin_))
    return false;
  const double most = 0.25 * skin_ * skin_;
  const Vector3d* was = places_.data();
  for (std::size_t k = 0; k < count; ++k) {
    if (!same_thread(strands[k], strands_[k])) return false;
    double furthest = 0;
    bool all = true;
    for (std::size_t i = 0; i < vertices_of(strands[k]); ++i, ++was) {
      const double moved = (strands[k].x[i] - *was).squaredNorm();
      furthest = std::max(furthest, moved);
      all &= moved <= most;
    }
    if (!all) return false;
  }
  return true;
}

double PairList::reach_of(const Strand* strands, const EdgePair& pair, double reach) const noexcept {
  if (pair.strand_a != pair.strand_b) return reach;
  const Strand& strand = strands[pair.strand_a];
  double arc = strand.arc_between(pair.edge_a, pair.edge_b);
  if (strand.closed) arc = std::min(arc, strand.arc_round(pair.edge_a, pair.edge_b));
  return arc < kNeighbourArc * widest_ ? std::min(reach, kNeighbourGap * strand.radius) : reach;
}

bool PairList::update(const Strand* strands, std::size_t count, double reach) noexcept {
  if (stands(strands, count, reach)) return true;
  ++renewals_;
  double widest = 0;
  std::size_t vertices = 0;
  for (std::size_t k = 0; k < count; ++k) {
    widest = std::max(widest, strands[k].radius);
    vertices += vertices_of(strands[k]);
  }
  widest_ = widest;
  reach_ = reach;
  skin_ = kSkin * widest;
  Nearness what;
  what.reach = 2 * widest + reach + skin_;
  what.neighbour_reaches = std::max(kAlong, kNeighbourArc * widest / what.reach);
  what.neighbour_reach = 2 + kNeighbourGap + kSkin;
  what.least_arc = std::numbers::pi;
  bool all = near_.find_nearer(strands, count, nullptr, what);
  pairs_.clear();
  for (const EdgePair& pair : near_.pairs()) {
    const Strand &a = strands[pair.strand_a], &b = strands[pair.strand_b];
    if (pair.strand_a == pair.strand_b && !arc_allows(a, pair.edge_a, pair.edge_b)) continue;
    if (!across_cut(a, b, pair)) pairs_.push_back(pair);
  }
  valid_ = all && vertices <= places_.size() && count <= strands_.capacity();
  if (!valid_) return all;
  strands_.assign(strands, strands + count);
  Vector3d* place = places_.data();
  for (std::size_t k = 0; k < count; ++k) place = std::copy_n(strands[k].x, vertices_of(strands[k]), place);
  return all;
}

}  // namespace ligature::contact
