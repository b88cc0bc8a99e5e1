#pragma once
/// The rig: where the cameras are, how they see, what the instruments' markers look like, where the scene lies.
/// Plain parameters; `config` reads and writes the TOML file (CONTRACT: rig file).
///
/// Frames: R rig (origin in the centre of the floor, x right, y away from the user, z up), C camera (x right,
/// y down, z forward), T forceps tip, W world. Pixel centres at integers, (0,0) = centre of the top left pixel.
#include <array>
#include <string>
#include <vector>

#include "sim/base/geometry.hpp"
#include "sim/contract/instrument_sample.hpp"

namespace ligature::drivers {

/// Pinhole with OpenCV's five-coefficient distortion.
struct CameraModel {
  std::string name;
  std::string serial;
  int width_px = 640;
  int height_px = 480;
  double fx_px = 600, fy_px = 600, cx_px = 319.5, cy_px = 239.5;
  std::array<double, 5> distortion{};  ///< k1 k2 p1 p2 k3
  Pose X_RC;
  double reprojection_rms_px = 0;
};

enum class MarkerArm { none, plus, minus };  ///< which arm the marker turns with, about the hinge

struct Marker {
  std::string name;
  double colour_hue_deg = 0;  ///< hue circle in degrees: 0 red, 120 green, 240 blue
  double diameter_mm = 5;
  Vec3 p_TM;  ///< marker centre in T with the jaws closed [mm]
  MarkerArm arm = MarkerArm::none;
};

struct InstrumentModel {
  std::string name;
  Vec3 hinge_p_T;  ///< [mm]; the arms turn by +-opening/2 about +z through it
  std::vector<Marker> markers;
};

struct Rig {
  std::string created;
  Vec3 box_mm{400, 300, 300};
  Pose X_RW{{}, {0, 0, 60}};
  double motion_scale = 1.0;
  std::vector<CameraModel> cameras;          ///< exactly kCameras
  std::vector<InstrumentModel> instruments;  ///< exactly kInstruments, left then right
};

/// Where marker m is in T at this opening: arm markers turn about the hinge. [mm]
Vec3 marker_p_T(const InstrumentModel& instrument, const Marker& marker, double opening_rad);

/// The standard rig of the documentation: four cameras in the top corners looking at (0,0,60), six hues.
Rig standard_rig();

}  // namespace ligature::drivers
