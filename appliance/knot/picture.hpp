#pragma once
/// The simplified diagram of a knot as a picture: strands with gaps where they pass under, and the name below.
#include <string>
#include <vector>

#include "sim/base/result.hpp"
#include "sim/knot/diagram.hpp"

namespace ligature::knot {

/// @param name     as name_of writes it; indices are set lower, numbers of components higher
/// @param remarks  lines in small print under the name
/// @return an SVG file's text; Error::Kind::failed: a diagram that cannot be laid out
Result<std::string> picture_svg(const Diagram& diagram, const std::string& name,
                                const std::vector<std::string>& remarks);

}  // namespace ligature::knot
