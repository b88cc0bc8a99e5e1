#pragma once
/// Photographs of a calibration board that nobody took: perspective, lens, blur, vignette, shot noise.
#include <cstdint>
#include <opencv2/core/mat.hpp>

#include "drivers/calibration/board.hpp"
#include "drivers/rig.hpp"

namespace ligature::calibration::test {

struct Photo {
  double blur_px = 0.7;   ///< of the lens, Gaussian
  double noise = 2;       ///< standard deviation at mid grey [0..255], growing with the root of brightness
  double vignette = 0.3;  ///< how much darker the corners are
  double black = 25, white = 215;
  double motion_px = 0;         ///< dragged sideways during the exposure
  bool legacy_charuco = false;  ///< OpenCV's layout before 4.6
  bool clutter = true;          ///< something behind the board
  std::uint64_t seed = 1;
};

/// @param X_CB the board in the camera; @return CV_8UC1 of the camera's size
cv::Mat photograph(const Board& board, const drivers::CameraModel& camera, const Pose& X_CB, const Photo& photo = {});

}  // namespace ligature::calibration::test
