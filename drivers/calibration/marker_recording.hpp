#pragma once
/// Markers in a recording, for calibrations that look at instruments or at the bar instead of a board.
#include <filesystem>
#include <vector>

#include "drivers/calibration/calibration.hpp"
#include "drivers/markers/marker_set.hpp"

namespace ligature::calibration {

/// The best blob of one marker in one image.
struct MarkerSight {
  int camera = 0;
  double u_px = 0, v_px = 0;
};

/// One trigger: what each camera saw of each of the rig's markers (instrument 0's three, then instrument 1's).
struct MarkerFrame {
  std::string frame;
  std::array<std::vector<MarkerSight>, drivers::kMarkers> markers;
};

/// Blobs of low quality and second blobs of a colour are left out; at most `most` triggers, spread over the recording.
/// Errors: usage (no such folder, a rig without four cameras), failed ("cancelled").
Result<std::vector<MarkerFrame>> read_markers(const drivers::Rig& rig, const std::filesystem::path& dir,
                                              std::size_t most, const ProgressFunction& progress);

/// A ball's centre from its images' centres, which perspective moves off the centre's own image.
std::optional<Vec3> place_ball(const std::vector<drivers::CameraModel>& cameras, const std::vector<MarkerSight>& sights,
                               double diameter_mm);
/// Where the camera should have the ball's image.  [px]
std::array<double, 2> ball_image(const drivers::CameraModel& camera, Vec3 p_R, double diameter_mm);

}  // namespace ligature::calibration
