#pragma once
/// From parameters to models: checks, resampling, masses. Used by World::create only.
#include <vector>

#include "sim/base/result.hpp"
#include "sim/instrument/forceps.hpp"
#include "sim/rod/rod.hpp"
#include "sim/world/params.hpp"
#include "sim/world/state.hpp"

namespace ligature::world {

inline constexpr std::size_t kMostVertices = 65536;

/// First complaint about parameters or capacity, as one line with its remedy.
Result<void> check(const WorldParams& params, const Capacity& capacity);

/// Vertices along the drawn polyline, as near to segment_mm apart as divides the whole; of a closed thread the first is
/// not repeated.
std::vector<Eigen::Vector3d> resample(const ThreadParams& thread);

/// Drag per length [uN s/mm^2] for edges of this drawn length [mm].
void set_drag(rod::RodModel& model, double drag, double edge_mm);

/// @param origin its index in WorldParams::threads
Thread build_thread(const ThreadParams& params, std::size_t origin);

instrument::ForcepsModel build_forceps(const ForcepsParams& forceps, double lost_release_s);

}  // namespace ligature::world
