#pragma once
/// Pairs of edges that may touch, kept over many steps.
///
/// Pairs are looked for with a skin: farther than they are asked for. As long as no vertex has gone half the skin
/// since, no other pair can have come near enough, and the list stands; a thread that rests or is pulled tight costs no
/// more than finding that out. What moves fast is looked for again each time.
///
/// Neighbours along a strand are always near, and touch only where it turns a lot: with pi h of arc between two places
/// a straight strand has a gap of 1.14 h. They are listed with a gap below kNeighbourGap, however long the reach is.
#include <vector>

#include "sim/contact/strand.hpp"
#include "sim/contact/swept_pairs.hpp"

namespace ligature::contact {

/// Ends that a cut made begin where they touch all over: like neighbours along a thread they do not count.
bool across_cut(const Strand& a, const Strand& b, const EdgePair& pair) noexcept;

class PairList {
 public:
  static constexpr double kNeighbourArc = 9;    ///< between edges of neighbours, less than that [radii of the thickest]
  static constexpr double kNeighbourGap = 0.5;  ///< between surfaces of neighbours [radii]
  static constexpr double kSkin = 0.5;          ///< [radii of the thickest]
  static constexpr double kMuchLess = 1;        ///< reach than it was looked for with: then it is renewed [likewise]

  /// Takes all memory. @param most_edges of all strands together
  PairList(std::size_t most_edges, std::size_t most_pairs);

  /// Sees to it that pairs() has every pair of edges that may touch and whose surfaces are nearer than `reach`, where
  /// the strands are now: not those that share a vertex, that have less than pi h of arc between all their places
  /// (arc_allows) or less across a cut; of neighbours those nearer than the less of `reach` and kNeighbourGap. There
  /// are others in it too, and which ones depends on what was before: whoever takes them must decide by their distance,
  /// or results depend on it.
  /// @param reach for more than 5 radii of the thickest strand neighbours are more: kNeighbourArc, or 1.1 times 2.5
  /// radii and the reach
  /// @returns false when there were more pairs than fit (the first of them are there).
  /// @rt no allocation; O(vertices) when little moved, else as SweptPairs
  bool update(const Strand* strands, std::size_t count, double reach) noexcept;

  /// How near the surfaces of a pair must be for every list to have it: `reach`, or kNeighbourGap if that is less and
  /// they are neighbours. What is nearer is a matter of the strands alone, not of what was before.
  double reach_of(const Strand* strands, const EdgePair& pair, double reach) const noexcept;

  const std::vector<EdgePair>& pairs() const noexcept { return pairs_; }  ///< ascending
  std::size_t renewals() const noexcept { return renewals_; }             ///< times that pairs were looked for

 private:
  bool stands(const Strand* strands, std::size_t count, double reach) const noexcept;

  std::size_t most_edges_;
  SweptPairs near_;
  std::vector<EdgePair> pairs_;
  bool valid_ = false;
  double widest_ = 0;             ///< radius [mm]
  double reach_ = 0, skin_ = 0;   ///< that they were looked for with [mm]
  std::vector<Strand> strands_;   ///< as they were then; x and what `node` points to not
  std::vector<Vector3d> places_;  ///< of all vertices then
  std::size_t renewals_ = 0;
};

}  // namespace ligature::contact
