#pragma once
/// The stream the picture uses: steady where the hand rests, without lag where it moves. (The raw stream is
/// tracker.hpp's, for scoring and recording.)
///
/// Per group of coordinates (tip; turn; opening) three motion models run side by side and share by how well each
/// foretold the measurement, whose variance the tracker knows:
///
///   rests   x' = x + w                       w: 6 um a frame at 60 Hz
///   drifts  x' = x + v dt,  v' = v + w dt    w: 20 mm/s^2 for a slow hand
///   moves   the same                         w: 300 mm/s^2: at 2 mm and 5 Hz as good as the measurement itself
///
/// (turn and opening in mm at a lever). Interacting multiple models: before each step every model starts from the mix
/// of all, weighted by how probable it is that the hand changed from one to the other.
///
/// Why three: at a tip noise of 49 um and 60 Hz, one constant-velocity filter needs w = 2 mm/s^2 to bring a resting tip
/// below 20 um and then lags by tens of milliseconds; One-Euro (2.5 Hz, 1 /mm) rests at 18 um and lags by 13 ms at 5
/// Hz, 2 mm (0.9 of the amplitude); (2 Hz, 1.5 /mm, derivative 5 Hz) lags by 4 ms but rests at 21 um and cuts slow
/// motion by 90 um. The bank rests at 16 um, lags by 0.1 ms and overshoots by 0.3 %.
///
/// Latency is made up for by going on at the model's speed, for `max_lead_ms` at most: a reversal cannot be foreseen,
/// and at 5 Hz every millisecond costs some 0.8 % of overshoot (4.3 % at 5 ms and 2 mm).
///
/// Source: [Blom 1988] (interacting multiple models); [Casiez 2012] (One-Euro, compared above).
#include <array>
#include <cstdint>

#include "sim/contract/instrument_sample.hpp"

namespace ligature::drivers {

struct PoseFilterParams {
  double max_lead_ms = 5;
  double turn_lever_mm = 50;      ///< a turn is as large as what it moves at this lever
  double hinge_lever_mm = 120;    ///< from hinge to tip: the gap is the opening times this
  double closes_below_mm = 0.07;  ///< gap
  double opens_above_mm = 0.13;
  double slide_s = 0.08;            ///< time constant of the way back after a short loss or a poor prediction
  double slide_most_mm_per_s = 15;  ///< of that way, however long it is
  double slide_above_mm = 0.2;      ///< what a prediction may be off without that
  double slide_within_s = 1.0;      ///< a loss longer than this is no longer slid over: the instrument was gone
};

struct FilteredPose {
  TrackStatus status = TrackStatus::lost;
  Pose X_RT;  ///< in R [mm]; the last known one when lost
  double opening_rad = 0;
  bool closed = false;  ///< jaws, with hysteresis between closes_below_mm and opens_above_mm
};

/// Coordinates of one kind under the three models. @rt no allocation, bounded
class ModelBank {
 public:
  static constexpr int kModels = 3, kAxes = 3;
  /// @param axes how many are used  @param unit what a millimetre of motion is in the coordinates' unit
  ModelBank(int axes, double unit) : axes_(axes), unit_(unit) {}

  void start(const std::array<double, kAxes>& z, const std::array<double, kAxes>& variance) noexcept;
  void step(double dt_s, const std::array<double, kAxes>& z, const std::array<double, kAxes>& variance) noexcept;
  /// Mixed over the models, `lead_s` after the last measurement.
  std::array<double, kAxes> at(double lead_s) const noexcept;
  /// Takes an origin out of the coordinates.
  void shift(const std::array<double, kAxes>& by) noexcept;
  double share(int model) const { return share_[static_cast<std::size_t>(model)]; }

 private:
  struct Axis {
    double x = 0, v = 0, xx = 0, xv = 0, vv = 0;  // state and covariance
  };
  int axes_;
  double unit_;
  std::array<double, kModels> share_{};
  std::array<std::array<Axis, kAxes>, kModels> axis_{};
};

/// One instrument. @rt noexcept, no allocation, bounded
class PoseFilter {
 public:
  explicit PoseFilter(const PoseFilterParams& params = {});

  /// @param t_ns mid-exposure of the pose, rising
  void update(const InstrumentPose& pose, const PoseVariance& variance, std::int64_t t_ns) noexcept;
  /// As it is at t_ns, no further ahead of the newest update than max_lead_ms.
  FilteredPose at(std::int64_t t_ns) const noexcept;

 private:
  PoseFilterParams params_;
  ModelBank tip_, turn_, opening_;
  Quat reference_;  // what turn_ turns
  Vec3 slide_{};    // what is still shown of the place before a loss [mm]
  TrackStatus status_ = TrackStatus::lost;
  double doubt_mm2_ = 0;  // variance of the newest tip
  std::int64_t newest_ns_ = 0;
  bool started_ = false, closed_ = false;
};

}  // namespace ligature::drivers
