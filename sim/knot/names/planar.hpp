#pragma once
/// The planar map of a diagram: which faces lie left and right of each edge. From the signed code alone.
///
/// Edge e runs from pass e to the next pass of its component; passes are numbered through all components in order.
/// At a positive crossing over-out, under-out, over-in, under-in stand counterclockwise, at a negative one over-out,
/// under-in, over-in, under-out. Components without crossings have no edges.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/knot/diagram.hpp"

namespace ligature::knot {

struct PlanarMap {
  std::vector<Pass> pass;                ///< all passes, one component after the other  (2n)
  std::vector<std::uint32_t> component;  ///< of each pass  (2n)
  std::vector<std::uint32_t> next;       ///< pass that follows in its component  (2n)
  std::vector<std::uint32_t> before;     ///< pass that goes before  (2n)
  std::vector<std::uint32_t> over_at;    ///< pass over each crossing  (n)
  std::vector<std::uint32_t> under_at;   ///< pass under each crossing  (n)
  std::vector<std::uint32_t> left;       ///< face left of each edge  (2n)
  std::vector<std::uint32_t> right;      ///< face right of each edge  (2n)
  std::vector<std::uint32_t> piece;      ///< which connected piece of the diagram each crossing belongs to  (n)
  std::size_t faces = 0;                 ///< each piece has a face outside of its own
  std::size_t pieces = 0;
};

/// A way along an edge.
struct Dart {
  std::uint32_t edge = 0;
  bool forward = true;
};
/// The dart that goes on round the face on the left.
Dart next_round_face(const PlanarMap& map, const Diagram& diagram, Dart dart);

/// @pre every crossing is passed once over and once under
PlanarMap planar_map(const Diagram& diagram);

/// Whether each piece of it can lie in the plane: crossings - edges + faces = 2.
bool is_planar(const PlanarMap& map);

}  // namespace ligature::knot
