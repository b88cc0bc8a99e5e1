#pragma once
/// Broad phase: which edges of all strands come near each other while every vertex moves straight from x to x1.
///
/// A tree of boxes over the edges in their order, eight children to a node, searched eight boxes at a time:
///
///   level 1                    [ 0..7 | 8..15 | 16..23 | ... ]        a lane is the box of a whole block below
///   level 0   [0 1 2 ... 7] [8 9 ... 15] [16 ... 23] ...              a lane is one edge, swept from x to x1
///
/// Neighbours along a strand are near in space, so the order of the edges is the sorting. Differs from the thesis
/// (4.1.4, spatial hashing): no cell size to choose, an edge costs the same however far it moves, and pairs come out in
/// order without sorting. Boxes of the tree are floats rounded outwards; what they let through is decided in doubles.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/contact/strand.hpp"

namespace ligature::contact {

class SweptPairs {
 public:
  /// Takes all memory. @param most_edges of all strands together; @param most_pairs that find() can return
  SweptPairs(std::size_t most_edges, std::size_t most_pairs);

  /// All pairs of edges whose boxes, swept from x to x1 and grown by `reach` in sum, overlap, in ascending order;
  /// without edges that are the same, share a vertex or did before it was cut. Overlap: on every axis no gap is wider than `reach`. Edges with
  /// a coordinate that is not finite are in no pair; skipped() counts them. A strand of fewer than two vertices has no
  /// edges.
  /// @param x1 where each strand's vertices end, one array a strand; null: they stay where they are (all, or one)
  /// @param reach beyond the centrelines, of both together [mm]; the caller adds radii
  /// @returns false when there were more than fit (those that fit stay in ascending order: they are the first ones),
  /// more edges than most_edges (pairs among the first of them are found) or no number as reach (none is). @rt no
  /// allocation; O(n log n + pairs) for strands that do not fill space over and over, O(n^2) at worst
  bool find(const Strand* strands, std::size_t count, const Vector3d* const* x1, double reach) noexcept;
  const std::vector<EdgePair>& pairs() const noexcept { return pairs_; }
  /// Edges of the last find() that were left out because where they are or go is not finite.
  std::size_t skipped() const noexcept { return skipped_; }

 private:
  static constexpr std::size_t kWidth = 8;
  struct Box {
    std::array<double, 3> low, high;  ///< [mm]
  };
  struct alignas(32) Block {
    float low[3][kWidth], high[3][kWidth];  ///< about an origin, grown by half the reach [mm]
  };
  struct Name {
    std::uint32_t strand, edge;
  };

  bool sweep(const Strand* strands, std::size_t count, const Vector3d* const* x1) noexcept;
  void sweep_edge(std::size_t edge, const Box& box, bool finite) noexcept;
  void build(double reach) noexcept;
  void gather(std::size_t level, std::size_t block, std::size_t asking, const Block& box, std::size_t lane) noexcept;
  bool emit(const Strand* strands, std::size_t asking, double reach) noexcept;

  std::size_t most_edges_, most_pairs_;
  std::size_t edges_ = 0, skipped_ = 0;
  std::vector<Box> boxes_;                  ///< of edges, exact; low > high where skipped          (edges)
  std::vector<Name> names_;                 ///<                                                    (edges)
  std::vector<std::vector<Block>> levels_;  ///< leaves first, one block at the end
  std::vector<std::size_t> used_;           ///< blocks of each level
  std::vector<std::uint32_t> near_;         ///< leaves that the asking one overlaps, itself first
  std::array<double, 3> origin_{};
  std::vector<EdgePair> pairs_;
};

}  // namespace ligature::contact
