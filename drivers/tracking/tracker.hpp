#pragma once
/// Marker images of one trigger in, pose and opening of both forceps out.
///
/// Per marker: every pair of views is tried as a hypothesis, the point with most views in agreement wins (an outlier
/// camera or a second blob of the colour loses); up to two points per marker are kept. Per instrument: the combination
/// of points whose mutual distances fit the rigid model (and, when known, the prediction) starts a Gauss-Newton fit of
///
///   min over (omega, p, opening)  sum rho( | z - pi_c(X_RT m(opening)) |^2 )  +  prior      7 unknowns
///
/// on the pixel residuals of all cameras at once, z undistorted, pi the centre of the sphere's image, rho Cauchy's.
/// The prior pulls towards the prediction only as far as something is hidden: its width is out of proportion while
/// every marker is seen, so that the answer is raw; it carries the opening or the roll when the images say nothing.
/// The covariance is the inverse normal matrix, scaled by a running estimate of how well residuals match their
/// variance.
///
/// Source: [Hartley 2004] ch. 12; [Triggs 2000] for robust weights.
#include <array>
#include <cstdint>
#include <memory>

#include "drivers/markers/marker_set.hpp"
#include "drivers/rig.hpp"
#include "sim/base/result.hpp"
#include "sim/contract/instrument_sample.hpp"

namespace ligature::drivers {

struct TrackerParams {
  double prediction_ms = 150;        ///< how long a hidden instrument is carried on before it is lost
  double velocity_decay_ms = 60;     ///< a predicted motion dies away with this time constant
  double gate_px = 3.0;              ///< a view further than this from the others' point is an outlier
  double max_residual_px = 2.5;      ///< RMS above this: the fit is not believed
  double distance_gate_mm = 3.0;     ///< marker distances may differ this much from the rigid model
  double max_sigma_tip_mm = 2.0;     ///< a fit less certain than this is not tracked
  double jump_speed_mm_per_s = 600;  ///< coming back, a weak fit further away than this allows must repeat itself
  int confirm_frames = 3;            ///< ... this many times in a row
  double max_opening_deg = 30;
};

/// 3-D covariance of the tip, in R [mm^2]: xx xy xz yy yz zz.
using TipCovariance = std::array<double, 6>;

class Tracker {
 public:
  /// Errors: usage, when the rig has not kCameras cameras, two instruments and six markers, or a parameter is out of
  /// range.
  static Result<Tracker> create(const Rig& rig, const TrackerParams& params = {});
  ~Tracker();
  Tracker(Tracker&&) noexcept;
  Tracker& operator=(Tracker&&) noexcept;

  /// One trigger. @param sets camera i's markers; nullptr or image = false: that camera has nothing. Call in time
  /// order. The sample's captured_ns stays 0 (no clock here); sequence and time come from the sets, or go on by the
  /// last interval when there is none at all.
  /// @rt noexcept, no allocation, no lock, bounded
  InstrumentSample track(const std::array<const MarkerSet*, kCameras>& sets) noexcept;
  /// The same for a trigger whose number and time the caller knows (all cameras dead).
  InstrumentSample track(const std::array<const MarkerSet*, kCameras>& sets, std::uint64_t sequence,
                         std::int64_t mid_exposure_ns) noexcept;

  /// Of the newest answer; meaningful while tracked or predicted.
  const TipCovariance& tip_covariance(std::size_t instrument) const noexcept;

  void reset() noexcept;  ///< forgets everything seen

 private:
  struct State;
  explicit Tracker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ligature::drivers
