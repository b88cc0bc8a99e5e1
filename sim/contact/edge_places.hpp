#pragma once
/// What a pair of edges says before any curve is looked at: their distance as straight lines, and the arc between them.
#include "sim/contact/strand.hpp"

namespace ligature::contact {

/// Edges of one strand that are the same or share a vertex.
bool share_vertex(const Strand& strand, std::uint32_t edge, std::uint32_t other) noexcept;

/// False when less than pi h of rest length lies between any two places of these edges of one strand.
bool arc_allows(const Strand& strand, std::uint32_t edge, std::uint32_t other) noexcept;

/// Distance between two edges. NaN when one is not finite. Source: [Ericson 2005] 5.1.9. @rt constant time
double distance(const Strand& a, const Strand& b, const EdgePair& pair) noexcept;

}  // namespace ligature::contact
