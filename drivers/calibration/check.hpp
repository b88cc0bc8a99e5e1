#pragma once
/// The daily check: a bar with a coloured ball at each end, of known length, moved through the working volume.
///
/// Each ball is placed by all cameras that see it. Two questions: is the length right (scale and shape of the rig), and
/// do the cameras agree (has one been knocked)? For the second, each camera's image of a ball is compared with where
/// the other cameras together put it.
#include <string>
#include <vector>

#include "drivers/calibration/marker_recording.hpp"

namespace ligature::calibration {

enum class Verdict { pass, note, alert, fail };
const char* name_of(Verdict verdict);

struct CheckLimits {
  std::size_t frames = 20;                                 ///< with both balls placed: fewer is fail
  double note_mm = 0.10, alert_mm = 0.20, fail_mm = 0.50;  ///< error of the mean length
  double note_px = 0.5, alert_px = 1.0, fail_px = 3.0;     ///< a camera against the others, median
  double spread_mm = 0.30;                                 ///< RMS of single lengths about their mean: more is a note
};

struct BarCheck {
  Verdict verdict = Verdict::fail;
  std::size_t frames = 0, placed = 0;  ///< looked at; with both balls placed
  double length_mm = 0, error_mm = 0;  ///< mean; mean minus the bar's
  double sigma_mm = 0;                 ///< of that mean
  double spread_mm = 0;                ///< RMS about the mean
  double worst_mm = 0;                 ///< of a single length, from the bar's
  std::vector<double> camera_px;       ///< of each camera: median distance from where the others put the balls
  std::vector<std::size_t> camera_seen;
  std::vector<std::string> reasons;  ///< what was found and what to do; empty at pass
};

/// @param a, b which of the rig's six markers have the colours of the bar's balls
/// Frames where a ball is off what its cameras agree on by more than ten times the usual are left out (hands, sleeves).
BarCheck check_bar(const drivers::Rig& rig, const std::vector<MarkerFrame>& frames, std::size_t a, std::size_t b,
                   double bar_mm, double ball_mm, const CheckLimits& limits = {});

}  // namespace ligature::calibration
