#pragma once
/// What a pair of edges says before any curve is looked at: where they are nearest as straight lines, the arc between.
#include "sim/contact/strand.hpp"

namespace ligature::contact {

/// Edges of one strand that are the same or share a vertex.
bool share_vertex(const Strand& strand, std::uint32_t edge, std::uint32_t other) noexcept;

/// False when less than pi h of rest length lies between any two places of these edges of one strand.
bool arc_allows(const Strand& strand, std::uint32_t edge, std::uint32_t other) noexcept;

/// The places s and t, in [0, 1], where the edges p + s d and q + t e are nearest to each other [mm]; of parallel ones
/// those about the middle of the first. Source: [Ericson 2005] 5.1.9. @rt constant time
void nearest_of_edges(const Vector3d& p, const Vector3d& d, const Vector3d& q, const Vector3d& e, double& s,
                      double& t) noexcept;

/// Distance between two edges [mm]. NaN when one is not finite. @rt constant time
double distance(const Strand& a, const Strand& b, const EdgePair& pair) noexcept;

}  // namespace ligature::contact
