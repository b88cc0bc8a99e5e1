#pragma once
/// A knot or link as a signed Gauss code: what a projection of closed curves to a plane keeps of them.
///
/// Each component is walked once in its direction; every crossing is met twice, once on the strand above and once on
/// the one below. The sign says which way the lower strand passes, so the code fixes the diagram on a sphere up to
/// how its connected parts lie to each other, which changes neither the knot nor the link.
///
///     \ /              \ /
///      /   +1 (right)   \   -1 (left)      both strands run upwards
///     / \              / \                 +1: turn the upper direction counter-clockwise to the lower one
///
/// Source: [Kauffman 1999] for signed Gauss codes and their genus.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ligature::knot {

/// One meeting of a crossing on the walk along a component.
struct Pass {
  std::uint32_t crossing;  ///< index into Diagram::sign
  bool over;               ///< on the upper strand
  friend bool operator==(const Pass&, const Pass&) = default;
};

/// A signed Gauss code of a knot or link; components with no passes are round circles.
struct Diagram {
  std::vector<std::vector<Pass>> components;  ///< passes in the order in which each component is walked
  std::vector<std::int8_t> sign;              ///< +1 or -1 per crossing, right-handed positive  (crossings)
  friend bool operator==(const Diagram&, const Diagram&) = default;
};

/// Whether every crossing is met exactly twice, once over and once under, every sign is +1 or -1, and the code can be
/// drawn in the plane (genus 0). All other functions of this room take only diagrams that are well formed.
bool well_formed(const Diagram& diagram);

/// The same letters for diagrams that differ only in where the walk along a component begins and in the numbering of
/// crossings: equal keys mean equal diagrams. Components keep their order and direction. Links, and knots of more than
/// a hundred crossings, keep the walks that they have: then different keys may mean equal diagrams.
std::string key(const Diagram& diagram);

/// Sum of the signs of all crossings.
int writhe(const Diagram& diagram);

/// Linking numbers, symmetric: half the sum of the signs where components i and j cross; on the diagonal the writhe
/// of the component alone, which is no invariant.  (components x components)
std::vector<std::vector<int>> linking_numbers(const Diagram& diagram);

/// Seen in a mirror that lies in the plane of the diagram: over becomes under.
Diagram mirror(const Diagram& diagram);

/// Every component walked backwards.
Diagram reverse(const Diagram& diagram);
/// Only this component walked backwards: its crossings with others change sign.
Diagram reverse(const Diagram& diagram, std::size_t component);

/// Connected parts of the diagram, as indices of components, in order of their first component. Components in
/// different parts can be drawn apart from each other.
std::vector<std::vector<std::size_t>> connected_parts(const Diagram& diagram);

/// The diagram of these components alone, in this order; crossings with others are dropped, the rest renumbered in
/// the order in which they are met.
Diagram part(const Diagram& diagram, const std::vector<std::size_t>& components);

}  // namespace ligature::knot
