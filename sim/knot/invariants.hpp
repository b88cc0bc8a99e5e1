#pragma once
/// Numbers and polynomials that a diagram shares with every other diagram of its knot or link.
/// (Linking numbers and the writhe, which is none, stand in diagram.hpp.)
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/knot/diagram.hpp"

namespace ligature::knot {

/// Alexander polynomial in one variable, coefficients from t^0 up. Known up to units +-t^k: the lowest and the highest
/// coefficient are not 0 and a knot's has the value 1 at t = 1, a link's a positive highest coefficient; empty is 0
/// (split links and some others). Orientation matters for links, mirror images share it.
///
/// From the arcs between undercrossings: row (1 - t) over, t in, -1 out (right-handed; left-handed in and out swapped),
/// any minor of one row and column less; evaluated modulo the prime 2^61 - 1 at as many t as the degree can have, and
/// interpolated. Source: [Alexander 1928].
/// Nothing (nullopt) for more than 59 crossings, where coefficients need not fit: simplify first.
std::optional<std::vector<std::int64_t>> alexander_polynomial(const Diagram& diagram);

/// |Alexander polynomial at -1|: does not depend on orientation; odd for knots, 0 for split links. Nothing for more
/// than 59 crossings.
std::optional<std::int64_t> determinant(const Diagram& diagram);

}  // namespace ligature::knot
