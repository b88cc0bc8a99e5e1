#pragma once
/// Coloured markers in one camera's image: threshold, hue, connected runs, sub-pixel centroid.
///
///  1. Background level and noise from a sparse grid; bright = max(B,G,R) above both that and `min_level`.
///  2. Rows in blocks of 32 pixels; only blocks holding a bright byte are looked at pixel by pixel.
///  3. A bright pixel's chroma (R - (G+B)/2, sqrt(3)/2 (G-B)) points to its hue; the nearest marker's hue names it.
///     Runs of one name, joined over rows (union-find), are cores; touching markers part here.
///  4. Round each core the share of every pixel that the marker covers, w = ramp(colour . (pixel - background)) in
///     0.2..0.8 of the core's level: a saturating ramp, so that shading inside the disc does not pull the centroid.
///     centroid = sum w p / sum w;  covariance from the pixels on the ramp, whose noise alone moves w.
///
/// One thread per detector. @rt detect(): no allocation, no lock, bounded by image size and fixed capacities.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "drivers/camera/frame_source.hpp"
#include "drivers/markers/marker_set.hpp"
#include "drivers/rig.hpp"

namespace ligature::drivers {

struct DetectorParams {
  double min_level = 0.22;          ///< darkest pixel that may belong to a core / full scale
  double noise_sigmas = 6;          ///< and this far above the background's noise
  double hue_tolerance_deg = 28;    ///< from the marker's hue
  double min_saturation = 0.35;     ///< chroma / brightness
  double min_core_px = 6;           ///< smaller cores are noise
  double max_extent_px = 120;       ///< wider ones are no marker
  double centroid_floor_px = 0.02;  ///< what the centroid's own errors never fall below
};

class MarkerDetector {
 public:
  /// Errors: usage, when the rig has not six markers, two hues lie closer than 20 degrees, or a parameter is out of
  /// range. Allocates all memory detect() will ever use.
  static Result<MarkerDetector> create(const Rig& rig, std::size_t camera_index, const DetectorParams& params = {});
  ~MarkerDetector();
  MarkerDetector(MarkerDetector&&) noexcept;
  MarkerDetector& operator=(MarkerDetector&&) noexcept;

  /// @param bgr rows of interleaved B,G,R bytes, stride_bytes apart, of the size the rig's camera has
  /// Fills everything but sequence and mid_exposure_ns.
  void detect(const std::uint8_t* bgr, std::ptrdiff_t stride_bytes, MarkerSet& out) noexcept;

  /// The same for a source's answer: anything but an image of the right size and type gives `out.image = false`.
  void detect(const Frame& frame, FrameStatus status, MarkerSet& out) noexcept;

 private:
  struct State;
  explicit MarkerDetector(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ligature::drivers
