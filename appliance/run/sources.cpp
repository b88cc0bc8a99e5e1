#include "appliance/run/sources.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "drivers/camera/faulty_camera.hpp"
#include "drivers/camera/recorded.hpp"
#include "drivers/camera/v4l2/device_list.hpp"
#include "drivers/camera/v4l2/v4l2_camera.hpp"
#include "drivers/virtual_rig/hand_path.hpp"
#include "drivers/virtual_rig/virtual_camera.hpp"

namespace ligature::appliance {
namespace {

using Kind = config::FaultSettings::Kind;

Result<std::shared_ptr<const drivers::HandPath>> open_path(const config::Profile& profile, const drivers::Rig& rig,
                                                           std::shared_ptr<drivers::HandEye>& eye) {
  const config::VirtualSettings& v = profile.virtual_rig;
  if (v.path_left.empty() || v.path_right.empty())
    return usage_error(
        fmt::format("{}: key 'virtual.path_left' and 'virtual.path_right' are needed with the virtual rig: "
                    "name CSV files of key frames, e.g. ../../deploy/demo/left.csv",
                    profile.file.string()));
  std::array<drivers::ForcepsPath, kInstruments> keys;
  const std::array<std::filesystem::path, kInstruments> files{v.path_left, v.path_right};
  for (std::size_t i = 0; i < kInstruments; ++i) {
    auto path = drivers::load_path(files[i]);
    if (!path) return unexpected(path.error());
    keys[i] = std::move(*path);
  }
  std::array<drivers::ForcepsAims, kInstruments> aims;
  const std::array<std::filesystem::path, kInstruments> aim_files{v.aims_left, v.aims_right};
  for (std::size_t i = 0; i < kInstruments; ++i) {
    if (aim_files[i].empty()) continue;
    auto rows = drivers::load_aims(aim_files[i]);
    if (!rows) return unexpected(rows.error());
    aims[i] = std::move(*rows);
  }
  if (!aims[0].empty() || !aims[1].empty())
    eye = std::make_shared<drivers::HandEye>(std::move(aims), std::max(keys[0].back().t_s, keys[1].back().t_s));
  drivers::TremorParams tremor;
  tremor.seed = v.seed;
  tremor.rms_mm = v.tremor_um * 1e-3;
  auto path = drivers::HandPath::create(std::move(keys), v.blend, tremor, rig, true, eye);
  if (!path) return unexpected(path.error());
  return std::make_shared<const drivers::HandPath>(std::move(*path));
}

drivers::VirtualRigParams virtual_params(const config::Profile& profile, double duration_s) {
  const config::VirtualSettings& v = profile.virtual_rig;
  drivers::VirtualRigParams p;
  p.seed = v.seed;
  p.rate_hz = profile.cameras.rate_hz;
  p.duration_s = duration_s;
  p.exposure_ms = v.exposure_ms;
  p.noise = v.noise;
  p.brightness = v.brightness;
  p.readout_ms = v.readout_ms;
  p.saturation = v.saturation;
  p.velvet = v.velvet;
  p.shot_noise = v.shot_noise;
  p.defocus_px = v.defocus_px;
  p.highlight = v.highlight;
  p.bodies = v.bodies;
  p.bayer = v.bayer;
  p.jpeg_quality = v.jpeg_quality;
  p.skew_ms = v.skew_ms;
  p.white_balance = v.white_balance;
  for (const config::FaultSettings& f : profile.faults)
    if (f.kind == Kind::blob) {
      drivers::BlobFault blob;
      blob.p_R = f.p_R;
      blob.diameter_mm = f.diameter_mm;
      blob.hue_deg = f.hue_deg;
      blob.saturation = f.saturation, blob.brightness = f.brightness;
      blob.from_s = f.from_s;
      blob.until_s = f.until_s;
      p.blobs.push_back(blob);
    }
  return p;
}

std::vector<drivers::CameraFault> camera_faults(const config::Profile& profile) {
  std::vector<drivers::CameraFault> faults;
  for (const config::FaultSettings& f : profile.faults) {
    drivers::CameraFault fault;
    switch (f.kind) {
      case Kind::camera_dead:
        fault.kind = drivers::CameraFault::Kind::dead;
        break;
      case Kind::frame_drop:
        fault.kind = drivers::CameraFault::Kind::drop;
        break;
      case Kind::frame_late:
        fault.kind = drivers::CameraFault::Kind::late;
        break;
      default:
        continue;
    }
    fault.camera = f.camera;
    fault.from_s = f.from_s;
    fault.until_s = std::min(f.until_s, 1e9);
    fault.probability = f.probability;
    fault.delay_ms = f.delay_ms;
    fault.seed = profile.virtual_rig.seed;
    faults.push_back(fault);
  }
  return faults;
}

/// Triggers per second, from the median interval of the recording's index.
double rate_of(const drivers::RecordingIndex& index, double otherwise_hz) {
  std::vector<std::int64_t> intervals;
  for (std::size_t i = 1; i < index.triggers.size(); ++i)
    intervals.push_back(index.triggers[i].t_ns - index.triggers[i - 1].t_ns);
  if (intervals.empty()) return otherwise_hz;
  const auto middle = intervals.begin() + static_cast<std::ptrdiff_t>(intervals.size() / 2);
  std::nth_element(intervals.begin(), middle, intervals.end());
  return 1e9 / static_cast<double>(*middle);
}

/// What is plugged in, for the line that says why none can be used.
std::string devices_there(drivers::DeviceCalls& calls) {
  std::array<drivers::DeviceInfo, drivers::kMaxVideoNodes> devices;
  const std::size_t count = drivers::list_devices(calls, devices);
  if (count == 0) return "no camera is plugged in";
  std::string text = "there are";
  for (std::size_t i = 0; i < count; ++i)
    text += fmt::format("{} {} (serial '{}', path {})", i == 0 ? "" : ",", devices[i].node.c_str(),
                        devices[i].serial.c_str(),
                        devices[i].port.empty() ? devices[i].bus.c_str() : devices[i].port.c_str());
  return text;
}

Result<void> open_devices(const config::Profile& profile, const drivers::Rig& rig, drivers::DeviceCalls& calls,
                          CameraSources& out) {
  bool any = false;
  std::string missing;
  for (std::size_t c = 0; c < kCameras; ++c) {
    const config::DeviceSettings& d = profile.cameras.devices[c];
    const drivers::CameraModel& model = rig.cameras[c];
    drivers::V4l2Params p;
    p.serial = d.serial;
    p.path = d.path;
    if (p.serial.empty() && p.path.empty()) p.serial = model.serial;
    p.calibrated_serial = model.serial;
    p.format = d.format;
    p.width_px = model.width_px;
    p.height_px = model.height_px;
    p.rate_hz = profile.cameras.rate_hz;
    p.exposure_ms = d.exposure_ms;
    p.gain = d.gain;
    p.white_balance_k = d.white_balance_k;
    p.red_balance = d.red_balance;
    p.blue_balance = d.blue_balance;
    p.readout_ms = d.readout_ms;
    p.stamp = d.stamp;
    p.shutter = d.shutter;
    p.buffers = d.buffers;
    auto camera = drivers::V4l2Camera::create(std::move(p), calls);
    if (!camera) {
      Error why = camera.error();
      why.message = fmt::format("{}: camera {}: {}", profile.file.string(), model.name, why.message);
      return unexpected(why);
    }
    any = any || (*camera)->connected();
    if (!(*camera)->connected()) missing += (missing.empty() ? "" : ", ") + model.name;
    out.sources[c] = std::move(*camera);
  }
  if (!any)
    return unavailable(fmt::format("{}: none of the cameras {} is plugged in: {}", profile.file.string(), missing,
                                   devices_there(calls)));
  return {};
}

}  // namespace

Result<void> check_cameras(const config::Profile& profile, const drivers::Rig& rig) {
  using Source = config::CameraSettings::Source;
  const Source source = profile.cameras.source;
  const std::string file = profile.file.string();
  if (source == Source::virtual_rig) return {};
  for (const config::FaultSettings& f : profile.faults)
    if (f.kind == Kind::blob)
      return usage_error(
          fmt::format("{}: fault 'blob' cannot be put {}, must be used with the virtual rig: choose cameras.source = "
                      "\"virtual\"",
                      file, source == Source::recorded ? "into a recording" : "before a real camera"));
  if (source == Source::recorded) return {};
  if (profile.pace != config::Pace::realtime)
    return usage_error(fmt::format(
        "{}: key 'pace' is lockstep, must be realtime with cameras.source = \"v4l2\": a device does not wait", file));
  for (std::size_t c = 0; c < kCameras; ++c) {
    const config::DeviceSettings& d = profile.cameras.devices[c];
    if (d.serial.empty() && d.path.empty() && rig.cameras[c].serial.empty())
      return usage_error(fmt::format(
          "{}: key 'cameras.device' is missing for {}, must say its serial or path: `ligature doctor` lists those that "
          "are plugged in",
          file, rig.cameras[c].name));
  }
  return {};
}

Result<CameraSources> open_cameras(const config::Profile& profile, const drivers::Rig& rig, double duration_s,
                                   drivers::DeviceCalls& devices) {
  if (auto good = check_cameras(profile, rig); !good) return unexpected(good.error());
  CameraSources out;
  out.rate_hz = profile.cameras.rate_hz;
  if (profile.cameras.source == config::CameraSettings::Source::recorded) {
    const std::string directory = profile.cameras.directory;
    auto index = drivers::load_recording_index(directory);
    if (!index) return unexpected(index.error());
    out.rate_hz = rate_of(*index, out.rate_hz);
    if (!index->triggers.empty() && (index->triggers.front().t_ns < 0 || index->triggers.front().t_ns > 1'000'000'000))
      return usage_error(
          fmt::format("{}/frames.csv:2: key 't_s' is {:.3f}, must be 0..1 in the first row: session time "
                      "starts with the recording, subtract its start from every time",
                      directory, static_cast<double>(index->triggers.front().t_ns) * 1e-9));
    auto recording = drivers::open_recording(
        directory, drivers::ImageSize{rig.cameras.front().width_px, rig.cameras.front().height_px});
    if (!recording) return unexpected(recording.error());
    out.sources = std::move(recording->cameras);
  } else if (profile.cameras.source == config::CameraSettings::Source::v4l2) {
    out.live = true;
    if (auto opened = open_devices(profile, rig, devices, out); !opened) return unexpected(opened.error());
  } else {
    auto path = open_path(profile, rig, out.eye);
    if (!path) return unexpected(path.error());
    const drivers::VirtualRigParams params = virtual_params(profile, duration_s);
    for (std::size_t c = 0; c < kCameras; ++c) {
      auto camera = drivers::make_virtual_camera(params, rig, c, *path);
      if (!camera) return unexpected(camera.error());
      out.sources[c] = std::move(*camera);
    }
  }
  if (const auto faults = camera_faults(profile); !faults.empty())
    for (std::size_t c = 0; c < kCameras; ++c)
      out.sources[c] = std::make_unique<drivers::FaultyCamera>(std::move(out.sources[c]), faults, c);
  return out;
}

}  // namespace ligature::appliance
