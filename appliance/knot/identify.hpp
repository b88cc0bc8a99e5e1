#pragma once
/// From curves in space to the answer of `ligature knot`.
#include "appliance/knot/answer.hpp"
#include "sim/base/result.hpp"
#include "sim/knot/diagram.hpp"
#include "sim/knot/names/homfly.hpp"

namespace ligature::knot {

struct Found {
  Answer answer;
  Diagram diagram;  ///< simplified: what a picture shows
};

/// Error::Kind::usage, failed: curves that no knot can be read from (too few or too many points, strands that touch).
Result<Found> identify(const Question& question, HomflySource& source);

}  // namespace ligature::knot
