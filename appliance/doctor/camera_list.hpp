#pragma once
/// The cameras that are plugged in, as a technician needs them for a profile: serial, path, formats, controls.
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "drivers/camera/v4l2/device_calls.hpp"

namespace ligature::doctor {

struct CameraList {
  std::string text;  ///< a line or more for each; says so when there is none
  std::size_t count = 0;
};

/// @param abilities  also what each can do
CameraList list_cameras(bool abilities, drivers::DeviceCalls& calls = drivers::kernel_calls());
/// [{"node", "name", "serial", "path", "bus", "driver", "error", "modes": [...], "controls": [...]}]
nlohmann::json camera_report(bool abilities, drivers::DeviceCalls& calls = drivers::kernel_calls());

}  // namespace ligature::doctor
