#pragma once
/// How the virtual rig's cameras behave. Plain parameters; `config` fills them from the profile.
#include <cstdint>
#include <vector>

#include "drivers/rig.hpp"

namespace ligature::drivers {

/// An extra coloured ball standing in the box: what a cuff or a swab does to colour segmentation.
struct BlobFault {
  Vec3 p_R{30, 30, 60};  ///< [mm]
  double diameter_mm = 8;
  double hue_deg = 0;
  double from_s = 0, until_s = 0;  ///< session time, half open
};

/// A marker hidden from one camera, or from all: a finger or the other forceps in the way.
struct HiddenMarkerFault {
  int instrument = 0;  ///< 0 left, 1 right
  int marker = 0;      ///< index in the rig's instrument
  int camera = -1;     ///< -1 = every camera
  double from_s = 0, until_s = 0;
};

struct VirtualRigParams {
  std::uint64_t seed = 1;
  double rate_hz = 60;
  double duration_s = 0;                   ///< 0 = no end
  double exposure_ms = 4.0;                ///< motion is averaged over it
  int exposure_samples = 6;                ///< instants averaged
  std::array<double, kCameras> skew_ms{};  ///< a camera's trigger after the common one
  double noise = 0.02;                     ///< sensor noise, standard deviation / full scale, per pixel and colour
  double brightness = 0.85;                ///< of a fully lit marker / full scale
  double shading = 0.25;                   ///< how much darker a marker is where it faces away from the light above
  double saturation = 0.92;                ///< of the markers' colours
  double velvet = 0.03;                    ///< level of the background / full scale
  double readout_ms = 3.0;                 ///< end of exposure to delivery
  std::vector<BlobFault> blobs;
  std::vector<HiddenMarkerFault> hidden;
};

}  // namespace ligature::drivers
