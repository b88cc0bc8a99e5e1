#pragma once
/// Which knots the threads are tied into, asked of `ligature-knot`: `knots` in the summary, `--expect knot=NAME`.
#include <string>
#include <vector>

#include "appliance/knot/threads.hpp"
#include "sim/base/result.hpp"
#include "sim/world/world.hpp"

namespace ligature::simulate {

/// As the threads lie now. Error::Kind::unavailable: `ligature-knot` is not there or does not answer.
Result<std::vector<knot::ThreadKnot>> named_knots(const world::World& world, const world::WorldParams& params);

/// Empty where a knot of that name is among them; else what is there instead.
std::string why_not_knot(const std::vector<knot::ThreadKnot>& knots, const std::string& name);

}  // namespace ligature::simulate
