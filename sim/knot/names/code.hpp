#pragma once
/// Signed Gauss codes as text: "o1+ u2+ | u1+ o2+", o/u = over/under, the crossing from 1, its sign; | parts
/// components.
#include <string>
#include <string_view>

#include "sim/base/result.hpp"
#include "sim/knot/diagram.hpp"

namespace ligature::knot {

/// Blanks between passes may be left out. Error::Kind::usage for anything that is not such a code.
Result<Diagram> parse_code(std::string_view text);

std::string to_code(const Diagram& diagram);

}  // namespace ligature::knot
