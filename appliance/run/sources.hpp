#pragma once
/// Opens the four cameras that a profile asks for, with the faults that it asks for.
#include <array>
#include <filesystem>
#include <memory>

#include "config/profile_file.hpp"
#include "drivers/camera/frame_source.hpp"
#include "drivers/camera/v4l2/device_calls.hpp"
#include "drivers/rig.hpp"
#include "drivers/virtual_rig/hand_eye.hpp"

namespace ligature::appliance {

struct CameraSources {
  std::array<std::unique_ptr<drivers::FrameSource>, kCameras> sources;
  double rate_hz = 60;                    ///< as found in the recording, or as set for the virtual rig and devices
  bool live = false;                      ///< devices: triggers are matched by time
  std::shared_ptr<drivers::HandEye> eye;  ///< of scripted hands, that physics lets look; null: they go by heart
};

/// What files can tell of it, nothing opened. Errors: usage, naming the key.
Result<void> check_cameras(const config::Profile& profile, const drivers::Rig& rig);

/// @param duration_s  of the run; the virtual rig ends with it
/// Errors: usage, naming the file or key; unavailable, when no camera can be opened. Devices that are not there are no
/// error as long as one is: they are looked for while the session runs.
Result<CameraSources> open_cameras(const config::Profile& profile, const drivers::Rig& rig, double duration_s,
                                   drivers::DeviceCalls& devices = drivers::kernel_calls());

}  // namespace ligature::appliance
