#pragma once
/// How far strands may move before they come too near each other: conservative advancement.
///
/// While all vertices move straight from x to x1 the distance between two centrelines may not fall below
/// kLeastDistance (radius_a + radius_b): surfaces may press into each other for the while of one iteration, which the
/// next one mends, but centrelines stay apart, and so well apart that the side on which one lies of the other is never
/// in doubt. Centrelines that are nearer may go together by a part of what they have above kCurvesApart (radius_a +
/// radius_b): the smooth curves, on which contacts are found, cut corners by less than that, and so do not pass each
/// other unseen. Nearer than that already, they keep nearly all of what they have, and may part; where curves may have
/// passed each other (kCurvesCut), kLastShare of it.
#include <vector>

#include "sim/contact/strand.hpp"
#include "sim/contact/swept_pairs.hpp"

namespace ligature::contact {

class Clearance {
 public:
  Clearance(std::size_t most_edges, std::size_t most_pairs) : near_(most_edges, most_pairs) {}

  /// The largest part of the motion, up to 1, that keeps the distance: a lower bound. x1: one array a strand, where its
  /// vertices would end. Pairs of edges that share a vertex are not looked at; neighbours along a strand that may not
  /// touch (see StrandContacts) only have to keep kNeighbourShare of their distance, and kNeighboursApart (radius_a +
  /// radius_b). @returns 0 when there were too many pairs to be sure.
  /// @rt bounded by pairs, no allocation
  double fraction(const Strand* strands, std::size_t count, const Vector3d* const* x1) noexcept;

 private:
  SweptPairs near_;
};

}  // namespace ligature::contact
