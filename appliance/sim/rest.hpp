#pragma once
/// From when on nothing outside changes any more, so that a thread that stands still will go on standing still.
#include "sim/world/params.hpp"

namespace ligature::simulate {

/// The last change within the run: a clamp that comes, goes or moves, a force that grows or ends, a moving obstacle, a
/// scheduled number, a cut. Infinite when something moves to the very end; -1 when nothing ever changes.
double calm_from_s(const world::WorldParams& params, double duration_s);

}  // namespace ligature::simulate
