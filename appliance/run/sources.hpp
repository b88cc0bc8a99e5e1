#pragma once
/// Opens the four cameras that a profile asks for, with the faults that it asks for.
#include <array>
#include <filesystem>
#include <memory>

#include "config/profile_file.hpp"
#include "drivers/camera/frame_source.hpp"
#include "drivers/rig.hpp"

namespace ligature::appliance {

struct CameraSources {
  std::array<std::unique_ptr<drivers::FrameSource>, kCameras> sources;
  double rate_hz = 60;  ///< as found in the recording, or as set for the virtual rig
};

/// @param duration_s  of the run; the virtual rig ends with it
/// Errors: usage, naming the file or key.
Result<CameraSources> open_cameras(const config::Profile& profile, const drivers::Rig& rig, double duration_s);

}  // namespace ligature::appliance
