#pragma once
/// How the virtual rig's cameras behave. Plain parameters; `config` fills them from the profile.
#include <cstdint>
#include <optional>
#include <vector>

#include "drivers/rig.hpp"

namespace ligature::drivers {

/// An extra coloured ball standing in the box: what a cuff or a swab does to colour segmentation.
struct BlobFault {
  Vec3 p_R{30, 30, 60};  ///< [mm]
  double diameter_mm = 8;
  double hue_deg = 0;
  std::optional<double> saturation, brightness;  ///< else the markers'
  double from_s = 0, until_s = 0;                ///< session time, half open
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
  double lambert = 0;                      ///< 0: by half the cosine and a half; 1: by the cosine, with a dark side
  Vec3 light_R{0, 0, 1};                   ///< towards the light above, any length
  double lamp_height_mm = 0;               ///< of a small lamp over the floor's middle; 0 = light from far above
  double saturation = 0.92;                ///< of the markers' colours
  double velvet = 0.03;                    ///< level of the background / full scale
  double readout_ms = 3.0;                 ///< end of exposure to delivery
  double shot_noise = 0;                   ///< photon noise of a full-scale pixel / full scale; grows with its root
  double defocus_px = 0;                   ///< standard deviation of the lens's blur
  double highlight = 0;                    ///< white reflection of the lamp at its brightest / full scale
  double highlight_sharpness = 60;         ///< Blinn's exponent: 60 = about a quarter of the radius
  std::array<double, 3> white_balance{1, 1, 1};  ///< gain of red, green, blue on what the lamp lights
  bool bodies = false;                           ///< the forceps' dark arms, and the stubs that carry the markers
  double body_level = 0.06;                      ///< of their metal / full scale
  bool bayer = false;                            ///< one colour per pixel (RGGB), filled in by bilinear interpolation
  int jpeg_quality = 0;                          ///< 1..100: every image through that codec; 0 = no
  std::vector<BlobFault> blobs;
  std::vector<HiddenMarkerFault> hidden;
};

/// The setting at which marker centres have 0.1 px of noise per axis (RMS over all markers, cameras and the working
/// volume of the standard rig): a dim lamp, a lens slightly out of focus, a noisy sensor. A test holds it to 3 %.
inline VirtualRigParams tenth_pixel_params() {
  VirtualRigParams p;
  p.brightness = 0.4, p.velvet = 0.06, p.defocus_px = 0.8, p.noise = 0.0676;
  return p;
}

}  // namespace ligature::drivers
