#pragma once
/// The determinant that a HOMFLY polynomial implies: to be compared with that of the diagram (sim/knot/invariants.hpp),
/// which knows nothing of the polynomial.
#include <cstdint>
#include <optional>

#include "sim/knot/names/polynomial.hpp"

namespace ligature::knot {

/// |P(i, -2)|: the Alexander polynomial at -1 [Lickorish 1987]. Nothing where a number does not fit.
std::optional<std::int64_t> determinant(const Polynomial& homfly);

}  // namespace ligature::knot
