#pragma once
/// What the session's service thread and the config shell leave for each other. The shell never sees a real-time
/// thread, and none of these ever sees the shell: the service thread stands between.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "appliance/run/sample_log.hpp"
#include "drivers/markers/marker_set.hpp"
#include "render/params.hpp"
#include "sim/contract/instrument_sample.hpp"

namespace ligature::appliance {

/// What a running session can take over: nothing of it moves the physics, so that the session still replays.
struct LiveSettings {
  double prediction_ms = 0, timeout_ms = 0;
  render::MicroscopeParams microscope;
  std::string title;
};

struct SessionStatus {
  double time_s = 0, duration_s = 0;
  bool realtime = false;
  std::string picture;  ///< device and presenter
  std::uint64_t presented = 0, events = 0, steps = 0;
  double latency_ms_p50 = 0, latency_ms_p99 = 0;
  std::uint64_t misses = 0;
  /// What a device counted of itself.
  struct Device {
    std::uint64_t lost = 0, overrun = 0, corrupt = 0, bad_time = 0, connections = 0, restarts = 0;
    std::uint32_t controls_refused = 0;
    bool streaming = false;
    double rate_hz = 0, rate_asked_hz = 0;          ///< measured by its own stamps
    double exposure_ms = 0, exposure_asked_ms = 0;  ///< read back
    double skew_ms = 0;                             ///< to the middle of its triggers, averaged
    std::uint64_t not_used = 0;                     ///< images too far from the others
  };
  struct Camera {
    std::uint64_t captured = 0, dropped = 0;
    bool failed = false;
    std::optional<Device> device;  ///< none: a recording or the virtual rig
  };
  std::array<Camera, kCameras> cameras;
  std::array<drivers::MarkerSet, kCameras> markers;  ///< of the newest image
  std::array<std::string, drivers::kMarkers> marker_names;
  InstrumentSample sample;                            ///< the newest
  std::array<std::uint64_t, kInstruments> tracked{};  ///< triggers
  std::string threads_json;                           ///< as in report.json
  std::string exercise_text, exercise_json;           ///< empty: the scene has none
  std::size_t scenarios = 1;                          ///< that the profile names, [[next]] ones counted
  std::string watchdog_table;                         ///< for people
};

/// Why `next` is refused.
inline constexpr const char* kNoNextExercise =
    "there is no next exercise: the profile names one scenario, [[next]] would name more";

/// Called by the service thread.
class SessionPort {
 public:
  virtual ~SessionPort() = default;
  virtual void publish(SessionStatus status) = 0;
  virtual void log(double time_s, const std::string& what) = 0;
  /// The newest settings that were not taken yet.
  virtual std::optional<LiveSettings> take_live() = 0;
  virtual bool restart_wanted() const = 0;
  /// What the trainee asked for since the last call, in order.
  virtual std::vector<Control> take_controls() { return {}; }
};

}  // namespace ligature::appliance
