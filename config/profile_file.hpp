#pragma once
/// A profile: which rig and scene, where the images come from, how every stage runs and what is written.
/// Plain settings; `appliance` maps them to what each room wants. All keys: config/README.md.
#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/camera/v4l2/exposure_time.hpp"
#include "drivers/camera/v4l2/pixel_format.hpp"
#include "drivers/virtual_rig/hand_path.hpp"
#include "render/params.hpp"
#include "sim/base/result.hpp"
#include "sim/contract/instrument_sample.hpp"

namespace ligature::config {

enum class Pace {
  lockstep,  ///< waits for every camera and sample: a recording always gives the same hash
  realtime,  ///< never waits
};

/// One V4L2 camera: which device it is and how it is to run. Written once for all in [cameras], or for one of them.
struct DeviceSettings {
  std::string serial, path;  ///< both empty: the rig file's serial
  drivers::PixelFormat format = drivers::PixelFormat::mjpeg;
  double exposure_ms = 4;
  std::optional<int> gain, white_balance_k, red_balance, blue_balance;  ///< not given: left as it is, automatic off
  double readout_ms = 3;                                                ///< end of exposure to last byte
  drivers::StampAt stamp = drivers::StampAt::device;
  drivers::Shutter shutter = drivers::Shutter::global;
  int buffers = 4;
};

struct CameraSettings {
  enum class Source { recorded, virtual_rig, v4l2 };
  Source source = Source::recorded;
  std::filesystem::path directory;  ///< recorded: with C0..C3; exists
  double rate_hz = 60;              ///< virtual rig, v4l2, and a recording without frames.csv
  double max_skew_ms = 4;           ///< v4l2: images of one trigger that are further apart are not used together
  std::array<DeviceSettings, kCameras> devices;
};

/// The virtual rig: what the cameras would see of two forceps on these paths.
struct VirtualSettings {
  std::filesystem::path path_left, path_right;  ///< CSV of key frames, pose of T in W; given when used
  std::filesystem::path aims_left, aims_right;  ///< CSV of what a hand looks at on its way; empty: nothing
  drivers::PathBlend blend = drivers::PathBlend::minimum_jerk;
  std::uint64_t seed = 1;
  double noise = 0.02;  ///< standard deviation of a pixel, of full scale
  double exposure_ms = 4;
  double brightness = 0.85;                      ///< of a fully lit marker, of full scale
  double tremor_um = 43;                         ///< RMS of the hand's tremor at the tip
  double readout_ms = 3;                         ///< end of exposure to delivery
  double saturation = 0.92;                      ///< of the markers' colours
  double velvet = 0.03;                          ///< level of the background, of full scale
  double shot_noise = 0;                         ///< photon noise of a full-scale pixel, of full scale
  double defocus_px = 0;                         ///< standard deviation of the lens's blur
  double highlight = 0;                          ///< white reflection of the lamp, of full scale
  bool bodies = false;                           ///< the forceps' dark arms are seen, and hide markers
  bool bayer = false;                            ///< one colour per pixel, filled in
  int jpeg_quality = 0;                          ///< 1..100; 0 = no codec
  std::array<double, kCameras> skew_ms{};        ///< a camera's trigger after the common one
  std::array<double, 3> white_balance{1, 1, 1};  ///< gain of red, green, blue
};

/// Where the scene lies in the box, for a scene that wants another place or finer hands than the rig file gives it.
struct PlaceSettings {
  std::optional<Vec3> p_RW;            ///< of the scene's origin [mm]
  std::optional<double> motion_scale;  ///< world travel per travel of the hand
};

struct TrackingSettings {
  double timeout_ms = 25;      ///< after a trigger's first image: go on with the cameras that came
  double prediction_ms = 150;  ///< a hidden instrument is carried on for at most this long
  bool filter = true;          ///< the hands of physics and picture follow the filtered stream
  double max_lead_ms = 5;      ///< ... which runs ahead of the newest images by at most this
};

struct PhysicsSettings {
  std::optional<double> step_ms;  ///< wins over the scenario's
};

struct RenderSettings {
  enum class Presenter { offscreen, window, none };
  Presenter presenter = Presenter::offscreen;
  double rate_hz = 60;
  render::RenderParams params;  ///< sizes, samples, device, [microscope], [vessel]
};

struct ThreadSettings {
  enum class Policy { other, fifo };
  Policy policy = Policy::other;
  int priority = 1;  ///< fifo: 1..98
  int core = -1;     ///< -1: not pinned. One that the machine lacks is reported when the thread starts
};

struct MemorySettings {
  bool lock = false;  ///< mlockall and pre-fault
};

struct OutputSettings {
  std::filesystem::path directory;  ///< empty: the command decides; need not exist
  bool video = false;
  std::vector<double> picture_times_s;  ///< session times of the stereo PNGs, growing
  bool record_frames = false;           ///< saves what the cameras saw in the recorded format
  enum class Codec { h264, mjpeg, ffv1, png };
  Codec codec = Codec::h264;        ///< of that; ffv1 rounds colours, png keeps them
  std::int64_t keep_sessions = 50;  ///< folders of sessions that `ligature run --config` leaves, the new one included
  double keep_gb = 20;              ///< ... and what those before the new one may hold together
};

inline constexpr double kMostDelay_ms = 10000;  ///< of a frame or a step that is made late

struct FaultSettings {
  enum class Kind { camera_dead, frame_drop, frame_late, blob, physics_overrun, non_finite, presenter_lost };
  Kind kind = Kind::camera_dead;
  int camera = -1;  ///< 0..3 for the camera kinds, else -1
  double from_s = 0;
  double until_s = std::numeric_limits<double>::infinity();
  double probability = 1;                        ///< per frame or step within the time
  double delay_ms = 0;                           ///< frame_late, physics_overrun
  Vec3 p_R{30, 30, 60};                          ///< blob: a ball standing in the box [mm]
  double diameter_mm = 8;                        ///< blob
  double hue_deg = 0;                            ///< blob
  std::optional<double> saturation, brightness;  ///< blob; else the markers'
};

struct Profile {
  std::filesystem::path file;  ///< as it was loaded
  std::string title;
  Pace pace = Pace::lockstep;
  double sample_delay_ms = 0;  ///< D: a step at t uses the newest sample with mid-exposure at or before t - D
  double duration_s = 10;
  std::filesystem::path rig, scenario;                ///< exist; load_rig and load_scenario say whether they are good
  std::vector<std::filesystem::path> next_scenarios;  ///< the exercises after that one, in their order; exist
  CameraSettings cameras;
  VirtualSettings virtual_rig;
  PlaceSettings place;
  TrackingSettings tracking;
  PhysicsSettings physics;
  RenderSettings render;
  std::array<ThreadSettings, kCameras> camera_threads;
  ThreadSettings tracking_thread, physics_thread, render_thread, service_thread;
  MemorySettings memory;
  OutputSettings output;
  std::vector<FaultSettings> faults;
};

Result<Profile> load_profile(const std::filesystem::path& path);
/// The same from memory. @param file name for the error lines, and where relative paths start
Result<Profile> parse_profile(std::string_view text, const std::filesystem::path& file);

/// Where the profile of this name or path is: a path that leads to a file, else NAME.toml in `config/profiles` of
/// $LIGATURE_DATA, then of each of `data_dirs` (the source tree, /usr/share/ligature). The error lists the known names.
Result<std::filesystem::path> resolve_profile(std::string_view name_or_path,
                                              const std::vector<std::filesystem::path>& data_dirs);
/// Names that resolve_profile would find there, sorted, without doubles.
std::vector<std::string> known_profiles(const std::vector<std::filesystem::path>& data_dirs);

}  // namespace ligature::config
