#pragma once
/// The picture of a run, for people: the curves from their best side and in perspective, the energies over time, and
/// twist, writhe and link (or the speed) over time.
#include <nlohmann/json_fwd.hpp>

#include "appliance/sim/drawing.hpp"
#include "appliance/sim/history.hpp"
#include "config/scenario_file.hpp"
#include "sim/world/world.hpp"

namespace ligature::simulate {

/// @param summary as of summary()
Drawing plot(const config::Scenario& scenario, const world::World& world, const History& history,
             const nlohmann::ordered_json& summary);

}  // namespace ligature::simulate
