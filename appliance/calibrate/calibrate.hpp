#pragma once
/// `ligature calibrate`: pictures of a board in, rig file out. The calculations are drivers/calibration's; here are the
/// files, the table, the JSON and the picture.
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "drivers/calibration/calibration.hpp"
#include "sim/base/result.hpp"

namespace ligature::calibrate {

/// What is asked of every calibration of cameras.
struct CameraOptions {
  std::string board;              ///< as CONTRACT writes it: checkerboard:9x6:25mm
  std::filesystem::path out;      ///< rig file; empty: only tell
  std::filesystem::path picture;  ///< FILE.png or FILE.svg; empty: none
  bool force = false;             ///< write what fails its limits
  calibration::Limits limits;
  std::optional<double> working_distance_mm;
  std::size_t most_frames = 80;
  calibration::ProgressFunction progress;
};

struct IntrinsicsOptions : CameraOptions {
  std::string camera = "C0";
  std::vector<std::string> images;  ///< files, folders, or patterns that the shell left alone
};

struct RigOptions : CameraOptions {
  std::filesystem::path frames, intrinsics;
  std::vector<std::string> cameras;
  bool hold_intrinsics = false;
  std::string origin;
  double board_thickness_mm = 0;
};

struct Outcome {
  int exit_code = 0;
  std::string table;                    ///< for people
  std::string json;                     ///< one object
  std::vector<std::string> complaints;  ///< lines for standard error
};

struct InstrumentOptions {
  std::filesystem::path rig;             ///< rig file of calibrated cameras
  std::filesystem::path pivot, opening;  ///< recordings; opening may be empty
  std::string instrument = "left";
  std::filesystem::path out;  ///< empty: only tell
  bool force = false;
  std::size_t most_frames = 300;
  calibration::ProgressFunction progress;
};

struct CheckOptions {
  std::filesystem::path rig, frames;
  double bar_mm = 0, ball_mm = 5;
  std::vector<std::string> balls{"left.tail", "right.tail"};  ///< whose colours the bar's balls have
  std::size_t most_frames = 300;
  calibration::ProgressFunction progress;
};

/// Errors: usage; nothing was written. A calibration that cannot be made or fails its limits is an outcome (exit 1).
Result<Outcome> calibrate_intrinsics(const IntrinsicsOptions& options);
Result<Outcome> calibrate_rig(const RigOptions& options);
Result<Outcome> calibrate_instrument(const InstrumentOptions& options);
/// pass and note: exit 0; alert and fail: exit 1. Writes nothing.
Result<Outcome> check_rig(const CheckOptions& options);

}  // namespace ligature::calibrate
