#pragma once
/// The summands of a knot that its diagram shows.
#include <vector>

#include "sim/knot/diagram.hpp"

namespace ligature::knot {

/// For every pass of a knot's walk the number of the summand that it belongs to, in the order in which they are taken
/// out: again and again the shortest stretch of the walk in which every crossing is met twice. A summand that the
/// diagram does not show as such a stretch is not found.
/// Time: cubic in the number of passes at worst.
/// @pre walk meets every crossing twice
std::vector<std::size_t> summands(const std::vector<Pass>& walk);

}  // namespace ligature::knot
