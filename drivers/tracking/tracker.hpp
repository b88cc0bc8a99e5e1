#pragma once
/// Marker images of one trigger in, pose and opening of both forceps out: the raw stream, for scoring and recording
/// (the picture's is pose_filter.hpp's).
///
/// Per instrument, in files of their own:
///   sight       what the cameras say, undistorted, with its covariance
///   consensus   points that several cameras' rays agree on; starts: poses these points allow
///   fit         seven numbers from all rays at once, robust, with their covariance
///   motion      where the hand goes on to, and how surely
///   clutter     what else of its colours is about
///
/// The pose that explains most of what is seen wins; rivals are the prediction and every combination of points that
/// the rigid model allows. While the images alone say all seven numbers as well as they usually do, the answer is
/// theirs. What they leave open (a hidden marker, one camera left) is the prediction's, with the covariance that this
/// has: below `max_sigma_tracked_mm` such a pose is still `tracked`, above it `predicted`, and above `max_sigma_tip_mm`
/// or `prediction_ms` without any image of it, `lost`. A blob of the colour elsewhere in the box, with the marker
/// itself hidden, now and then makes a triangle that the rigid model allows: such a pose lies where no hand could have
/// got to, and while what is left of the expected one bridges the gap it does not count. A pose that nothing led up to
/// needs the greater part of the views, and a weak one must repeat itself. Until all its markers have moved and still
/// fit the rigid model (or have stood for a while) it is on trial: a colour that is seen where it should not be, or
/// another pose that explains as much, ends it; and it is not told where balls are seen beside two of its markers and
/// beside the third none, which then may be a ball itself. A colour that most cameras see elsewhere is not taken from
/// the one whose ray passes where it is wanted, and one camera's view of an arm finds no hand: turn and opening bring
/// an arm to any ray. A hand that is seen again elsewhere than it was foretold is not leapt to: the answered tip slides
/// there by 0.25 mm a frame, what is left of the way being part of its covariance; from more than 2 mm off it is `lost`
/// first. The believed covariance is scaled by how far this rig's residuals have lain from their variances.
#include <array>
#include <cstdint>
#include <memory>

#include "drivers/markers/marker_set.hpp"
#include "drivers/rig.hpp"
#include "drivers/tracking/pose_filter.hpp"
#include "sim/base/result.hpp"
#include "sim/contract/instrument_sample.hpp"

namespace ligature::drivers {

struct TrackerParams {
  double prediction_ms = 150;         ///< how long a hidden instrument is carried on before it is lost
  double gate_px = 4.0;               ///< a view further than this from where the others put it is not of the marker
  double max_residual_px = 2.5;       ///< RMS above this: the fit is not believed
  double distance_gate_mm = 3.0;      ///< marker distances may differ this much from the rigid model
  double max_sigma_tracked_mm = 0.3;  ///< a pose less certain than this is predicted
  double max_sigma_tip_mm = 0.8;      ///< and less certain than this it is nothing to follow
  double jump_speed_mm_per_s = 600;   ///< coming back, a weak fit further away than this allows must repeat itself
  int confirm_frames = 3;             ///< ... this many times in a row
  double max_opening_deg = 30;
  double max_skew_ms = 8;  ///< an image further in time from the others' middle is another trigger's
};

/// 3-D covariance of the tip, in R [mm^2]: xx xy xz yy yz zz.
using TipCovariance = std::array<double, 6>;

/// Which cameras an instrument's pose rests on.
struct TrackSupport {
  std::array<std::uint8_t, kCameras> seen{};  ///< of its colours
  std::array<std::uint8_t, kCameras> used{};  ///< views that agree with the pose
};

/// Of the times of a trigger's images, the middle one (the earlier of two); 0 where there is no image.
std::int64_t trigger_middle_ns(const std::array<const MarkerSet*, kCameras>& sets) noexcept;

class Tracker {
 public:
  /// Errors: usage, when the rig has not two to kCameras cameras, two instruments and six markers, or a parameter is
  /// out of range.
  static Result<Tracker> create(const Rig& rig, const TrackerParams& params = {});
  ~Tracker();
  Tracker(Tracker&&) noexcept;
  Tracker& operator=(Tracker&&) noexcept;

  /// One trigger. @param sets camera i's markers; nullptr or image = false: that camera has nothing. Call in time
  /// order. The sample's captured_ns stays 0 (no clock here); sequence and time come from the sets, or go on by the
  /// last interval when there is none at all.
  /// @rt noexcept, no allocation, no lock, bounded
  InstrumentSample track(const std::array<const MarkerSet*, kCameras>& sets) noexcept;
  /// The same for a trigger whose number and time the caller knows: the pose is that of this time.
  InstrumentSample track(const std::array<const MarkerSet*, kCameras>& sets, std::uint64_t sequence,
                         std::int64_t mid_exposure_ns) noexcept;

  /// Of the newest answer; meaningful while tracked or predicted.
  const TipCovariance& tip_covariance(std::size_t instrument) const noexcept;
  PoseVariance pose_variance(std::size_t instrument) const noexcept;
  const TrackSupport& support(std::size_t instrument) const noexcept;

  void reset() noexcept;  ///< forgets everything seen
  /// From the next trigger on; below 0 counts as 0. Same thread as track().
  void set_prediction_ms(double ms) noexcept;

 private:
  struct State;
  explicit Tracker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ligature::drivers
