#include "appliance/doctor/camera_list.hpp"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "drivers/camera/v4l2/device_ability.hpp"

namespace ligature::doctor {
namespace {

using drivers::DeviceAbility;
using drivers::DeviceInfo;

/// What to write into a profile.
std::string path_of(const DeviceInfo& device) {
  return device.port.empty() ? device.bus.c_str() : device.port.c_str();
}

std::string rates_of(const drivers::DeviceMode& mode) {
  std::string text;
  for (const double rate : mode.rates_hz) text += fmt::format("{}{:.4g}", text.empty() ? "" : ", ", rate);
  return text.empty() ? "rate not told" : text + " Hz";
}

std::string ability_text(const DeviceAbility& ability) {
  std::string text;
  std::string others;
  for (const auto& mode : ability.modes) {
    if (!mode.usable && others.find(mode.format) == std::string::npos) others += " " + mode.format;
    if (!mode.usable) continue;
    const std::string size = mode.width_px > 0 ? fmt::format("{}x{}", mode.width_px, mode.height_px) : "any size";
    text += fmt::format("    {:<12}{:<12}{}\n", mode.format, size, rates_of(mode));
  }
  if (!others.empty()) text += "    not for us:" + others + "\n";
  for (const auto& control : ability.controls)
    text += fmt::format("    {:<16}{:g} to {:g}, now {:g}   ({})\n", control.key, control.least, control.most,
                        control.now, control.name);
  return text;
}

}  // namespace

CameraList list_cameras(bool abilities, drivers::DeviceCalls& calls) {
  CameraList out;
  std::array<DeviceInfo, drivers::kMaxVideoNodes> devices;
  out.count = drivers::list_devices(calls, devices);
  if (out.count == 0) out.text = "no camera is plugged in\n";
  for (std::size_t i = 0; i < out.count; ++i) {
    const DeviceInfo& d = devices[i];
    out.text += fmt::format("{:<14}{}\n    {}path = \"{}\"{}\n", d.node.c_str(), d.name.c_str(),
                            d.serial.empty() ? "" : fmt::format("serial = \"{}\"  or  ", d.serial.c_str()), path_of(d),
                            d.error != 0 ? fmt::format("   cannot be opened: {}", std::strerror(d.error)) : "");
    if (!abilities || d.error != 0) continue;
    const auto ability = drivers::look_at_device(calls, d);
    out.text += ability ? ability_text(*ability) : "    " + ability.error().message + "\n";
  }
  return out;
}

nlohmann::json camera_report(bool abilities, drivers::DeviceCalls& calls) {
  nlohmann::json rows = nlohmann::json::array();
  std::array<DeviceInfo, drivers::kMaxVideoNodes> devices;
  const std::size_t count = drivers::list_devices(calls, devices);
  for (std::size_t i = 0; i < count; ++i) {
    const DeviceInfo& d = devices[i];
    nlohmann::json row{{"node", d.node.c_str()},
                       {"name", d.name.c_str()},
                       {"serial", d.serial.c_str()},
                       {"path", path_of(d)},
                       {"bus", d.bus.c_str()},
                       {"driver", d.driver.c_str()},
                       {"error", d.error == 0 ? "" : std::strerror(d.error)}};
    if (const auto ability =
            abilities && d.error == 0 ? drivers::look_at_device(calls, d) : Result<DeviceAbility>(DeviceAbility{});
        abilities && ability) {
      row["modes"] = nlohmann::json::array();
      for (const auto& mode : ability->modes)
        row["modes"].push_back({{"format", mode.format},
                                {"usable", mode.usable},
                                {"size_px", {mode.width_px, mode.height_px}},
                                {"rates_hz", mode.rates_hz}});
      row["controls"] = nlohmann::json::array();
      for (const auto& control : ability->controls)
        row["controls"].push_back({{"key", control.key},
                                   {"name", control.name},
                                   {"range", {control.least, control.most}},
                                   {"now", control.now}});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace ligature::doctor
