#include "drivers/camera/v4l2/device_list.hpp"

#include <linux/videodev2.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace ligature::drivers {
namespace {

constexpr std::size_t kPath = 512;

/// `usb1/1-2/1-2.3/1-2.3:1.0/video4linux/video0`: the component before the interface (the one with a colon after a
/// port's name) is the USB device. @return where the path up to the device ends; 0 = no USB device
std::size_t usb_device_end(const char* path, FixedText<64>& port) {
  const char* start = path;
  const char *before = nullptr, *before_end = nullptr;
  while (*start != 0) {
    const char* slash = std::strchr(start, '/');
    const char* end = slash ? slash : start + std::strlen(start);
    const auto length = static_cast<std::size_t>(end - start);
    if (before != nullptr) {
      const auto named = static_cast<std::size_t>(before_end - before);
      if (length > named && start[named] == ':' && std::strncmp(start, before, named) == 0 &&
          std::memchr(before, '-', named) != nullptr) {
        char text[64] = {};
        std::memcpy(text, before, named < 63 ? named : 63);
        port.assign(text);
        return static_cast<std::size_t>(before_end - path);
      }
    }
    before = start, before_end = end;
    start = slash ? slash + 1 : end;
  }
  return 0;
}

/// What sysfs knows without opening the device. @return false: there is no such node
bool look(DeviceCalls& calls, int number, DeviceInfo& out) noexcept {
  char file[kPath + 64], place[kPath], text[256];
  std::snprintf(file, sizeof file, "/sys/class/video4linux/video%d", number);
  if (calls.read_link(file, place, sizeof place) <= 0) return false;
  out = {};
  out.number = number;
  std::snprintf(text, sizeof text, "/dev/video%d", number);
  out.node.assign(text);
  std::snprintf(file, sizeof file, "/sys/class/video4linux/video%d/name", number);
  if (calls.read_line(file, text, sizeof text) > 0) out.name.assign(text);
  if (const std::size_t end = usb_device_end(place, out.port); end > 0) {
    place[end] = 0;
    // The link is relative to /sys/class/video4linux.
    const char* from = place;
    while (std::strncmp(from, "../", 3) == 0) from += 3;
    std::snprintf(file, sizeof file, "/sys/%s/serial", from);
    if (calls.read_line(file, text, sizeof text) > 0) out.serial.assign(text);
  }
  return true;
}

/// Asks the driver. @return true when it gives images and streams them, or cannot be asked
bool ask(DeviceCalls& calls, DeviceInfo& out) noexcept {
  const int fd = calls.open(out.node.c_str());
  if (fd < 0) {
    out.error = -fd;
    return fd != -ENODEV && fd != -ENXIO && fd != -ENOENT;
  }
  v4l2_capability can{};
  const int asked = calls.ioctl(fd, VIDIOC_QUERYCAP, &can);
  calls.close(fd);
  if (asked < 0) return false;
  const std::uint32_t caps = (can.capabilities & V4L2_CAP_DEVICE_CAPS) != 0 ? can.device_caps : can.capabilities;
  char text[64] = {};
  std::memcpy(text, can.bus_info, sizeof can.bus_info);
  out.bus.assign(text);
  std::memset(text, 0, sizeof text);
  std::memcpy(text, can.driver, sizeof can.driver);
  out.driver.assign(text);
  return (caps & V4L2_CAP_VIDEO_CAPTURE) != 0 && (caps & V4L2_CAP_STREAMING) != 0;
}

/// Number of the node that a link such as /dev/v4l/by-path/... leads to; -1 = none.
int number_of_link(DeviceCalls& calls, const char* path) noexcept {
  char to[kPath];
  if (std::strncmp(path, "/dev/v4l/", 9) != 0 || calls.read_link(path, to, sizeof to) <= 0) return -1;
  const char* last = std::strrchr(to, '/');
  last = last ? last + 1 : to;
  int number = -1;
  char rest = 0;
  return std::sscanf(last, "video%d%c", &number, &rest) == 1 ? number : -1;
}

}  // namespace

std::size_t list_devices(DeviceCalls& calls, std::array<DeviceInfo, kMaxVideoNodes>& out) noexcept {
  std::size_t count = 0;
  for (int number = 0; number < kMaxVideoNodes; ++number)
    if (DeviceInfo info; look(calls, number, info) && ask(calls, info)) out[count++] = info;
  return count;
}

Match find_device(DeviceCalls& calls, const char* serial, const char* path, DeviceInfo& out) noexcept {
  const bool by_serial = serial[0] != 0, by_path = path[0] != 0;
  if (!by_serial && !by_path) return Match::none;
  const int linked = by_path ? number_of_link(calls, path) : -1;
  int found = 0;
  for (int number = 0; number < kMaxVideoNodes; ++number) {
    DeviceInfo info;
    if (!look(calls, number, info)) continue;
    if (by_serial && std::strcmp(info.serial.c_str(), serial) != 0) continue;
    const bool here = !by_path || linked == number || std::strcmp(info.port.c_str(), path) == 0;
    // A USB device at another port cannot be it under another name, unless it is the driver's.
    if (!here && std::strchr(path, ':') == nullptr) continue;
    if (!ask(calls, info)) continue;
    if (!here && std::strcmp(info.bus.c_str(), path) != 0) continue;
    // Some cameras have several nodes that give images: the first is the camera's main one.
    if (found > 0 && !info.port.empty() && info.port == out.port) continue;
    if (found++ == 0) out = info;
  }
  return found == 0 ? Match::none : found == 1 ? Match::one : Match::several;
}

}  // namespace ligature::drivers
