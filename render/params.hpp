#pragma once
/// How the stereo picture looks. Plain parameters; `config` fills them from the profile.
#include <array>
#include <string>
#include <vector>

#include "sim/base/geometry.hpp"
#include "sim/contract/instrument_sample.hpp"
#include "sim/contract/tissue_surface.hpp"

namespace ligature::render {

/// The operating microscope: two eyes that converge on one point of the scene.
struct MicroscopeParams {
  Vec3 target_p_W{0, 0, 4};       ///< what it looks at, in the middle of both pictures [mm]
  double distance_mm = 200;       ///< working distance, target to the mid-point between the eyes
  double elevation_deg = 50;      ///< above the bench; 90 = straight down
  double azimuth_deg = 0;         ///< 0 = the trainee sits at -y and looks along +y
  double field_of_view_mm = 46;   ///< height of the picture in the target plane: the zoom
  double eye_separation_mm = 16;  ///< distance between the two entrance pupils
  double convergence_mm = 200;    ///< distance of the plane of zero parallax, along the view axis
};

struct VesselParams {  ///< drawn only, for scenes without tissue
  bool present = true;
  Vec3 from_p_W{-14, 14, 1.2};
  Vec3 to_p_W{14, 14, 1.2};
  double diameter_mm = 2.0;
  double gap_mm = 1.0;  ///< between its two cut ends
};

struct ForcepsShape {  ///< the drawn body, same numbers as the physics
  Vec3 hinge_p_T{-120, 0, 0};
  double tip_radius_mm = 0.25;
  double jaw_radius_mm = 0.6;
  double jaw_length_mm = 12;
};

struct RenderParams {
  int eye_width_px = 640;
  int eye_height_px = 480;
  int samples = 4;                      ///< multisampling; the device's next lower count is taken
  std::string device = "auto";          ///< auto (a GPU when there is one) | cpu | gpu
  std::string presenter = "offscreen";  ///< offscreen (pixels in memory) | window (side by side) | none (no picture)
  bool fullscreen = false;              ///< window only
  std::string passes = "auto";  ///< both eyes in one (multiview) | two | auto: one where the device does it right
  bool status_overlay = true;   ///< camera dots, instrument states and the message line
  bool validation = false;      ///< Khronos validation layer, for the tests
  MicroscopeParams microscope;
  VesselParams vessel;
  Vec3 bench_point_W;
  std::array<ForcepsShape, kInstruments> forceps;
  std::vector<TissueSurface> tissues;  ///< those that snapshots will tell of, in their order
};

}  // namespace ligature::render
