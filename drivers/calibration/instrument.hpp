#pragma once
/// Where a forceps' markers are: from turning it about its closed tip in a divot, and from opening and closing it.
///
///   pivot frame i:    ball m is at  p_divot + R_i p_TM                      the tip stays where it is
///   opening frame j:  ball m is at  X_j (h + Rz(+-opening_j / 2) (p_TM - h)),  h = (-L, 0, 0) the hinge
///
/// T's origin is the point that stays in the divot; its z is the axis the arms turn about and its x runs from the hinge
/// to the tip, which the second recording tells. Three balls tell these directions weakly: only through how their
/// distances change with the opening. So the last file's places hold with 1.5 mm, the hinge with 3 mm (how well balls
/// are glued on); their distances, and the tip in their frame, are the recordings' alone. Without the second recording
/// T keeps the directions that fit the last ones best. All balls' images are fitted at once, under Cauchy's loss.
#include <vector>

#include "drivers/calibration/marker_recording.hpp"

namespace ligature::calibration {

struct InstrumentLimits {
  std::size_t frames = 30;  ///< of the pivot recording with all three markers
  double turn_deg = 30;     ///< how far the forceps must have been turned about its tip
  double opening_deg = 4;   ///< how far it must have been opened
  double rms_px = 1.0;
  double tip_sigma_mm = 0.1;  ///< of the tip against the markers
  double divot_mm = 0.3;      ///< RMS of single frames' tips about the divot: more, and the tip left it
  double tip_shift_mm = 15;   ///< from the last file: more is another instrument, or the wrong recording
};

struct InstrumentResult {
  drivers::InstrumentModel model;
  std::size_t pivot_frames = 0, opening_frames = 0;  ///< used
  double rms_px = 0;                                 ///< both axes together
  double turn_deg = 0, opening_deg = 0;              ///< how far it was turned and opened
  double tip_sigma_mm = 0;                           ///< of the tip in the markers' frame, 3-D
  double divot_rms_mm = 0;                           ///< how far single frames put the tip from the divot
  double direction_sigma_deg = 0;                    ///< of T's axes in the markers' frame, 3-D
  double hinge_sigma_mm = 0;                         ///< of the hinge's distance from the tip; 0: kept
  std::array<double, 3> shift_mm{};                  ///< of each marker against the last file
  Vec3 divot_p_R;
  std::vector<std::string> notes, failures;
  bool good() const { return failures.empty(); }
};

/// @param instrument 0 left, 1 right: its three markers and last model are the rig's
/// Errors: failed, when there are too few frames to fit at all, or "cancelled".
Result<InstrumentResult> fit_instrument(const drivers::Rig& rig, std::size_t instrument,
                                        const std::vector<MarkerFrame>& pivot, const std::vector<MarkerFrame>& opening,
                                        const InstrumentLimits& limits = {}, const ProgressFunction& progress = {});

}  // namespace ligature::calibration
