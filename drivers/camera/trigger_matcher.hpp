#pragma once
/// Which images of free-running cameras belong to one trigger, by their mid-exposure times alone.
///
///   C0  |        |        |        |          period P, each camera with its own phase, which drifts
///   C1    |        |        |        |
///   C2       |        |        |        |
///       cut      cut      cut      cut        a trigger is what lies between two cuts
///
/// The cut is kept in the middle of the largest gap between the cameras' phases on the circle of one period, where no
/// jitter reaches it; then a trigger's images are as near each other as they can be: within 3/4 of the period at worst,
/// within jitter when a wire triggers them. When drift has made another gap larger by a tenth of the period
/// (hysteresis), the cut jumps forward into it, counted as regrouped: one trigger then has only those cameras that lie before it.
///
/// P is followed: the shortest of the cameras' own, each averaged over 64 images. A camera that is silent for five
/// periods has no say.
/// @rt noexcept, no allocation, bounded
#include <array>
#include <cstdint>
#include <optional>

#include "sim/contract/instrument_sample.hpp"

namespace ligature::drivers {

class TriggerMatcher {
 public:
  /// @param period_ns nominal, above 0
  explicit TriggerMatcher(std::int64_t period_ns) noexcept;

  /// The trigger of an image, growing from image to image of a camera; in order of arrival. Nothing: an image of this
  /// trigger was there already (jitter, or a camera that is faster than the others), or its time is not after that of
  /// the camera's image before.
  std::optional<std::uint64_t> assign(std::size_t camera, std::int64_t mid_exposure_ns) noexcept;

  double period_ns() const noexcept { return period_; }
  std::uint64_t regrouped() const noexcept { return regrouped_; }  ///< times that the cut jumped

 private:
  struct Phase {
    bool seen = false;
    std::int64_t mid_ns = 0;
    std::uint64_t trigger = 0;
    double period = 0;
  };
  void follow(Phase& camera, std::int64_t mid_ns) noexcept;
  void place_cut(std::int64_t now_ns) noexcept;
  void move_cut(double by) noexcept;

  std::array<Phase, kCameras> cameras_{};
  bool started_ = false;
  double nominal_, period_;
  std::int64_t cut_ns_ = 0;  ///< trigger `at_` begins here ...
  double cut_rest_ = 0;      ///< ... and this fraction of a nanosecond later
  std::uint64_t at_ = 0;
  std::uint64_t regrouped_ = 0;
};

/// How far apart one trigger's images were taken, and which of them are too far from the others to be used.
struct TriggerSkew {
  int images = 0;                                  ///< that are used: the most that lie within `max_ns` of each other
  std::int64_t reference_ns = 0;                   ///< median of their mid-exposures
  std::int64_t spread_ns = 0;                      ///< the last of them minus the first
  std::array<std::int64_t, kCameras> offset_ns{};  ///< from the reference, where there is an image
  std::uint8_t refused = 0;                        ///< bit c: camera c's image is not among them
};

/// @param present bit c: camera c has an image
TriggerSkew measure_skew(const std::array<std::int64_t, kCameras>& mid_exposure_ns, std::uint8_t present,
                         std::int64_t max_ns) noexcept;

/// Skew that needs no compensation: a tip at 200 mm/s moves 40 um meanwhile, less than a camera resolves.
inline constexpr std::int64_t kSkewIgnored_ns = 200'000;

}  // namespace ligature::drivers
