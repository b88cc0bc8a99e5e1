#pragma once
/// Determinants of links, two ways that know nothing of each other.
#include <cstdint>
#include <optional>

#include "sim/knot/diagram.hpp"
#include "sim/knot/names/polynomial.hpp"

namespace ligature::knot {

/// From the colouring matrix (2 over - before - behind at each crossing) by fraction-free elimination [Bareiss 1968].
/// Nothing where a number does not fit.
std::optional<std::int64_t> determinant(const Diagram& diagram);

/// |P(i, -2)|: the Alexander polynomial at -1 [Lickorish Millett 1987]. Nothing where a number does not fit.
std::optional<std::int64_t> determinant(const Polynomial& homfly);

}  // namespace ligature::knot
