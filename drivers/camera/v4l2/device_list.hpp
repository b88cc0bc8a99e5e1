#pragma once
/// Which cameras are plugged in, and which of them is the one that a profile means. /dev/video0 is whatever came first;
/// a serial number or the USB port stays.
#include <array>
#include <cstddef>

#include "drivers/camera/camera_event.hpp"
#include "drivers/camera/v4l2/device_calls.hpp"

namespace ligature::drivers {

inline constexpr int kMaxVideoNodes = 64;

struct DeviceInfo {
  int number = -1;       ///< of /dev/videoN
  FixedText<32> node;    ///< "/dev/video2"
  FixedText<64> name;    ///< of the model
  FixedText<64> serial;  ///< of the USB device; empty where it has none
  FixedText<64> port;    ///< USB port, "1-2.3": bus, hub ports; empty when it is no USB device
  FixedText<64> bus;     ///< the driver's own name of the place, "usb-0000:00:14.0-2.3", "platform:vivid-000"
  FixedText<16> driver;  ///< "uvcvideo", "vivid"
  int error = 0;         ///< errno when it could not be opened: bus and driver are then unknown
};

/// Every node that gives images and can stream them, by number. Nodes that may not be opened are listed with `error`.
/// @return how many are in `out`. @rt no allocation, opens each node once
std::size_t list_devices(DeviceCalls& calls, std::array<DeviceInfo, kMaxVideoNodes>& out) noexcept;

enum class Match { none, one, several };

/// The device with this serial, or at this path: USB port, the driver's name of the place, or a link in
/// /dev/v4l/by-path or by-id, by its full name. An empty text does not count; both given must both be right.
/// @rt no allocation; opens the nodes that could be it
Match find_device(DeviceCalls& calls, const char* serial, const char* path, DeviceInfo& out) noexcept;

}  // namespace ligature::drivers
