#pragma once
/// A calibration to look at: where in each image there were corners, and how far each lay from its prediction.
#include <filesystem>
#include <vector>

#include "drivers/calibration/calibration.hpp"
#include "drivers/rig.hpp"
#include "sim/base/result.hpp"

namespace ligature::calibrate {

/// @param path FILE.svg or FILE.png, replaced atomically; its folder is made when missing
/// @param cameras those of the report, in its order
/// Errors: usage (another ending), failed (cannot be written)
Result<void> write_picture(const std::filesystem::path& path, const calibration::Report& report,
                           const std::vector<drivers::CameraModel>& cameras);

}  // namespace ligature::calibrate
