#pragma once
/// Broad phase: which edges of all strands come near each other while every vertex moves straight from x to x1.
///
/// A tree of boxes over the edges in their order, eight children to a node, searched eight boxes at a time:
///
///   level 1                    [ 0..7 | 8..15 | 16..23 | ... ]        a lane is the box of a whole block below
///   level 0   [0 1 2 ... 7] [8 9 ... 15] [16 ... 23] ...              a lane is one edge, swept from x to x1
///
/// Neighbours along a strand are near in space, so the order of the edges is the sorting; every strand begins a block.
/// Differs from the thesis (4.1.4, spatial hashing): no cell size to choose, an edge costs the same however far it
/// moves, and pairs come out in order without sorting. Coordinates are floats about an origin, with a bound on their
/// rounding that grows the boxes.
///
/// Boxes of edges that follow each other overlap, however straight a thread is, and so do those of edges side by side.
/// find_nearer() leaves out what it can prove to stay apart, eight edges at a time:
///
///   plane      c . (a - b) > reach |c| for all ends a, b of the two edges, at the start and at the end: linear in
///              time, so between too. c joins the nearest points at half time.
///   stretch    16 edges in a row, each of which goes on by a share of its rest length along one axis, at the start and
///              at the end: two of them are that share of the arc between them apart, and need not be looked at.
#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/contact/strand.hpp"

namespace ligature::contact {

/// What find_nearer() is asked for. Neighbours: edges of one strand with less arc (rest length of the edges between)
/// than so many radii or times the reach. They are near each other at all times, and other distances matter.
struct Nearness {
  double reach = 0;              ///< of two centrelines [mm]
  double neighbour_radii = 0;    ///< arc of neighbours, in radii of the strand, ...
  double neighbour_reaches = 0;  ///< ... or times `reach` if that is more
  double neighbour_reach = 0;    ///< of neighbours, where `reach` is more [radii]
  double neighbour_share = 0;    ///< and no more than that part of what their nearer ends have at the start; 0: any
  double neighbour_least = 0;    ///< ... but no less than that [radii]
  double least_arc = 0;          ///< of neighbours only places with so much arc between them count [radii]
};

class SweptPairs {
 public:
  /// Takes all memory. @param most_edges of all strands together; @param most_pairs that find() can return
  SweptPairs(std::size_t most_edges, std::size_t most_pairs);

  /// All pairs of edges whose boxes, swept from x to x1 and grown by `reach` in sum, overlap, in ascending order;
  /// without edges that are the same, share a vertex or did before it was cut. Overlap: on every axis no gap is wider
  /// than `reach`. Edges with a coordinate that is not finite are in no pair; skipped() counts them. A strand of fewer
  /// than two vertices has no edges.
  /// @param x1 where each strand's vertices end, one array a strand; null: they stay where they are (all, or one)
  /// @param reach beyond the centrelines, of both together [mm]; the caller adds radii
  /// @returns false when there were more pairs than fit (those that fit stay in ascending order: they are the first
  /// ones), more edges than most_edges (pairs among the first of them are found) or no number as reach (none is). @rt
  /// no allocation; O(n log n + pairs) for strands that do not fill space over and over, O(n^2) at worst
  bool find(const Strand* strands, std::size_t count, const Vector3d* const* x1, double reach) noexcept;

  /// Of these pairs all that may come nearer than asked for, at any time of the motion, and few others: which others
  /// depends on rounding, so that whoever asks must decide. Otherwise as find().
  bool find_nearer(const Strand* strands, std::size_t count, const Vector3d* const* x1, const Nearness& what) noexcept;

  const std::vector<EdgePair>& pairs() const noexcept { return pairs_; }
  /// Edges of the last find() that were left out because where they are or go is not finite.
  std::size_t skipped() const noexcept { return skipped_; }

 private:
  static constexpr std::size_t kWidth = 8;
  struct alignas(32) Block {
    float low[3][kWidth], high[3][kWidth];  ///< about the origin, grown by half the reach and rounding [mm]
  };
  struct Name {
    std::uint32_t strand, first;  ///< its strand, the first of its edges
    std::uint32_t valid;          ///< lanes with an edge that is finite, a bit each
    std::uint32_t straight;       ///< its edges and the next block's are one stretch
    std::uint32_t broken;         ///< has an edge that is not finite
    std::uint32_t rising;         ///< all its edges go up, or down, along an axis by more than the reach: a bit each
  };
  struct Near {
    std::uint32_t block, lanes;  ///< lanes of the asking block that overlap the box of this one
  };
  struct Bound;  ///< what Nearness says of one strand

  bool search(const Strand* strands, std::size_t count, const Vector3d* const* x1, double reach,
              const Nearness* what) noexcept;
  bool place(const Strand* strands, std::size_t count, const Vector3d* const* x1, bool arcs) noexcept;
  void lay_out(const Strand& strand, std::size_t base, std::size_t edges) noexcept;
  bool convert(const Vector3d* x, std::size_t vertices, bool round, std::size_t base, std::size_t which) noexcept;
  void leave_out(const Strand& strand, const Vector3d* x1, std::size_t block, std::size_t edges) noexcept;
  void build(double reach) noexcept;
  void mark_stretches(const Strand* strands, const Nearness& what) noexcept;
  Bound bound_of(const Strand& strand, const Nearness& what) const noexcept;
  bool follow(std::size_t block, std::size_t other) const noexcept;
  void gather_groups(std::size_t level, std::size_t block, std::size_t asking) noexcept;
  void gather(std::size_t asking) noexcept;
  bool emit(const Strand* strands, const Vector3d* const* x1, std::size_t asking, double reach,
            const Nearness* what) noexcept;
  unsigned not_apart(std::size_t asking, std::size_t lane, std::size_t block, unsigned mask, double reach,
                     const Bound* bound) const noexcept;

  std::size_t most_edges_, most_pairs_;
  std::size_t edges_ = 0, blocks_ = 0, skipped_ = 0;
  std::array<Eigen::ArrayXf, 3> at_[2];     ///< vertices about the origin at the start, at the end [mm]  (8 a block)
  Eigen::ArrayXf arc_;                      ///< of the same vertices along their strand, at rest [mm]
  std::vector<Name> names_;                 ///<                                                         (blocks)
  std::vector<std::vector<Block>> levels_;  ///< leaves first, one block at the end
  std::vector<std::size_t> used_;           ///< blocks of each level
  std::size_t top_ = 0;                     ///< first level that has one
  std::vector<std::uint32_t> groups_;       ///< blocks of level 1 that the asking one overlaps, itself first
  std::vector<Near> near_;                  ///< leaves that the asking one overlaps, itself first
  std::array<double, 3> origin_{};
  double furthest_ = 0, rounding_ = 0;  ///< of all coordinates from the origin; bound of what a difference is wrong by
  std::vector<EdgePair> pairs_;
};

}  // namespace ligature::contact
