#pragma once
/// What a device can do, for the technician who writes a profile: `ligature doctor --cameras`. Not for real-time
/// threads.
#include <string>
#include <vector>

#include "drivers/camera/v4l2/device_list.hpp"
#include "sim/base/result.hpp"

namespace ligature::drivers {

struct DeviceMode {
  std::string format;               ///< as the profile says it ("mjpeg"), or the driver's four characters
  bool usable = false;              ///< the profile has a name for it
  int width_px = 0, height_px = 0;  ///< 0: any
  std::vector<double> rates_hz;     ///< falling; empty: the driver does not say
};

struct DeviceControl {
  std::string key;                      ///< in the profile
  std::string name;                     ///< the driver's
  double least = 0, most = 0, now = 0;  ///< in the profile's unit
};

struct DeviceAbility {
  std::vector<DeviceMode> modes;
  std::vector<DeviceControl> controls;  ///< those that a profile can lock
};

/// Errors: unavailable, when it cannot be opened.
Result<DeviceAbility> look_at_device(DeviceCalls& calls, const DeviceInfo& device);

}  // namespace ligature::drivers
