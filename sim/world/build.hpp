#pragma once
/// From parameters to models, with every check of World::create. Not real-time.
#include <vector>

#include "sim/base/result.hpp"
#include "sim/instrument/forceps.hpp"
#include "sim/rod_old/rod.hpp"
#include "sim/world/params.hpp"

namespace ligature::world {

/// One line that names the parameter, its value and the remedy; or nothing.
Result<void> check(const WorldParams& params, const Capacity& capacity);

/// Points at equal arc length along the polyline, the ends kept. @pre at least two points, length > 0
std::vector<Eigen::Vector3d> resample(const std::vector<Vec3>& points, double segment_mm);

rod_old::RodModel build_model(const ThreadParams& thread, const std::vector<Eigen::Vector3d>& x);
instrument::ForcepsModel build_forceps(const ForcepsParams& forceps, double lost_release_s);

}  // namespace ligature::world
