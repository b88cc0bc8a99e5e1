#pragma once
/// What a tracked recording amounted to: counts, residuals, times, and what a technician should know about it.
#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "drivers/markers/marker_set.hpp"
#include "drivers/rig.hpp"
#include "drivers/tracking/tracker.hpp"
#include "sim/contract/instrument_sample.hpp"

namespace ligature::tracking {

class TrackReport {
 public:
  TrackReport(const drivers::Rig& rig, std::string rig_file);

  /// @param sets what each camera saw of this frame  @param work_ns detection of all images plus fit
  /// @param support which cameras each instrument's pose rests on
  void add(const std::array<drivers::MarkerSet, kCameras>& sets, const InstrumentSample& sample,
           const std::array<drivers::TrackSupport, kInstruments>& support, std::int64_t work_ns);
  /// Whether every instrument was tracked at least once.
  bool all_tracked() const;
  /// One line per thing that is not as it should be.
  std::vector<std::string> warnings() const;

  nlohmann::ordered_json json() const;
  std::string table() const;

 private:
  struct Instrument {
    std::string name;
    std::array<std::uint64_t, 3> status{};  ///< by TrackStatus
    std::uint64_t in_view = 0;              ///< frames in which two cameras or more saw each of its colours
    std::vector<double> residual_px, sigma_mm;
  };
  struct Camera {
    std::string name;
    std::uint64_t images = 0, missing = 0, blobs = 0;
    double full = 0;          ///< sum over images with markers of their share at full scale ...
    std::uint64_t shown = 0;  ///< ... over so many
    double full_share() const { return shown > 0 ? full / static_cast<double>(shown) : 0; }
    std::uint64_t apart = 0;           ///< images of another time than the others of their frame
    double apart_ms = 0;               ///< by so much at most
    std::uint64_t seen = 0, used = 0;  ///< views of tracked instruments, and those that agree with the pose
  };
  std::string rig_file_;
  std::uint64_t frames_ = 0;
  std::array<Instrument, kInstruments> instruments_;
  std::array<Camera, kCameras> cameras_;
  std::vector<double> work_ms_;
  double skew_ms_max_ = 0;
};

}  // namespace ligature::tracking
