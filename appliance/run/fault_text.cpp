#include "appliance/run/fault_text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

namespace ligature::appliance {
namespace {

using Kind = config::FaultSettings::Kind;
constexpr std::array<std::pair<std::string_view, Kind>, 7> kKinds{{{"camera_dead", Kind::camera_dead},
                                                                   {"frame_drop", Kind::frame_drop},
                                                                   {"frame_late", Kind::frame_late},
                                                                   {"blob", Kind::blob},
                                                                   {"physics_overrun", Kind::physics_overrun},
                                                                   {"non_finite", Kind::non_finite},
                                                                   {"presenter_lost", Kind::presenter_lost}}};

bool number(std::string_view text, double& out) {
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), out);
  return wrong == std::errc{} && end == text.data() + text.size() && std::isfinite(out) && out >= 0;
}

}  // namespace

Result<config::FaultSettings> parse_fault(const std::string& text) {
  const auto wrong = [&](const std::string& why) {
    return usage_error(
        fmt::format("--fault {}: {}: write KIND[:CAMERA]:FROM_S[:UNTIL_S[:DELAY_MS]], e.g. "
                    "camera_dead:0:3:6 or physics_overrun:2:3:8",
                    text, why));
  };
  std::vector<std::string_view> parts;
  for (std::string_view rest = text;;) {
    const auto colon = rest.find(':');
    parts.push_back(rest.substr(0, colon));
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  config::FaultSettings fault;
  bool known = false;
  for (const auto& [name, kind] : kKinds)
    if (parts[0] == name) fault.kind = kind, known = true;
  if (!known) {
    std::string names;
    for (const auto& [name, kind] : kKinds) names += (names.empty() ? "" : ", ") + std::string(name);
    return wrong("unknown kind, must be one of " + names);
  }
  std::size_t next = 1;
  const bool of_camera =
      fault.kind == Kind::camera_dead || fault.kind == Kind::frame_drop || fault.kind == Kind::frame_late;
  if (of_camera) {
    double camera = -1;
    if (next >= parts.size() || !number(parts[next++], camera) || camera > 3 || camera != std::floor(camera))
      return wrong("CAMERA must be 0..3");
    fault.camera = static_cast<int>(camera);
  }
  if (next >= parts.size() || !number(parts[next++], fault.from_s)) return wrong("FROM_S must be a time in seconds");
  if (next < parts.size() && (!number(parts[next++], fault.until_s) || fault.until_s <= fault.from_s))
    return wrong("UNTIL_S must be a time after FROM_S");
  const bool delays = fault.kind == Kind::frame_late || fault.kind == Kind::physics_overrun;
  if (delays && next == parts.size()) return wrong("DELAY_MS is missing");
  if (next < parts.size() && (!number(parts[next++], fault.delay_ms) || fault.delay_ms > config::kMostDelay_ms ||
                              (delays && fault.delay_ms == 0)))
    return wrong(fmt::format("DELAY_MS must be above 0, up to {:g}", config::kMostDelay_ms));
  if (next < parts.size()) return wrong("too many parts");
  return fault;
}

}  // namespace ligature::appliance
