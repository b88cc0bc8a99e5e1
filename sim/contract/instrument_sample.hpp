#pragma once
/// What the tracking knows about both forceps at one instant. Written by drivers/tracking, read by sim/world.
#include <array>
#include <cstdint>

#include "sim/base/geometry.hpp"

namespace ligature {

inline constexpr std::size_t kInstruments = 2;  ///< 0 = left, 1 = right
inline constexpr std::size_t kCameras = 4;

enum class TrackStatus : std::uint8_t {
  lost,       ///< not seen for longer than the prediction bound: the instrument lets go
  predicted,  ///< hidden now: last rigid fit carried on for a bounded time
  tracked,    ///< fitted to this trigger's images
};

/// Variances of a pose as steps: turn about R's axes [rad^2], shift of the tip [mm^2], opening [rad^2].
struct PoseVariance {
  std::array<double, 3> turn{}, tip{};
  double opening = 0;
};

struct InstrumentPose {
  TrackStatus status = TrackStatus::lost;
  std::uint8_t cameras = 0;  ///< how many cameras contributed
  Pose X_RT;                 ///< forceps frame T in the rig R [mm]; the last known one when lost
  double opening_rad = 0;    ///< full angle between the arms
  double residual_px = 0;    ///< RMS reprojection error of the fit
  double sigma_tip_mm = 0;   ///< square root of the trace of the tip covariance
  double confidence = 0;     ///< 0..1
  PoseVariance variance;     ///< what the estimator believes; meaningful while tracked or predicted
};

struct InstrumentSample {
  std::uint64_t sequence = 0;        ///< trigger number, from 0
  std::int64_t mid_exposure_ns = 0;  ///< session time: mean of the images' mid-exposures
  std::int64_t captured_ns = 0;      ///< CLOCK_MONOTONIC when the last image arrived; never read by sim
  std::uint8_t cameras_alive = 0;    ///< bit i = camera i delivered an image for this trigger
  std::array<InstrumentPose, kInstruments> instruments;
};

}  // namespace ligature
