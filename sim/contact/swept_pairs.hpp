#pragma once
/// Broad phase: which edges of all strands come near each other while every vertex moves straight from x to x1.
/// Spatial hashing of swept boxes (thesis 4.1.4).
#include <vector>

#include "sim/contact/strand.hpp"

namespace ligature::contact {

class SweptPairs {
 public:
  /// Takes all memory. @param most_edges of all strands together; @param most_pairs that find() can return
  SweptPairs(std::size_t most_edges, std::size_t most_pairs);

  /// All pairs of edges whose boxes, swept from x to x1 and grown by `reach` in sum, overlap, in ascending order;
  /// without edges that are the same or share a vertex.
  /// @param x1 where each strand's vertices end, one array a strand; null: they stay where they are
  /// @param reach beyond the centrelines, of both together [mm]; the caller adds radii
  /// @returns false when there were more than fit (those that fit stay in ascending order). @rt no allocation
  bool find(const Strand* strands, std::size_t count, const Vector3d* const* x1, double reach) noexcept;
  const std::vector<EdgePair>& pairs() const noexcept { return pairs_; }

 private:
  std::vector<EdgePair> pairs_;
};

}  // namespace ligature::contact
