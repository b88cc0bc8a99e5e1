#pragma once
/// Coloured markers in one camera's image: where their balls' outlines lie, and how well that is known.
///
///  1. Background level and noise, per colour, from a grid of pixels.
///  2. Means of 4x4 pixels: sixteen times less noise variance, and a sixteenth of the work. A cell whose chroma
///     (R - (G+B)/2, sqrt(3)/2 (G-B)) stands out of the noise is named by the marker whose hue is nearest. Cells of one
///     name that meet are a region; too wide ones are no marker; per colour the kRegions with most colour are looked
///     at.
///  3. In a region each pixel is split along and across the marker's own colour K (measured there, so brightness and
///     white balance do not matter): share s = K.(I - ground) / K.K; what lies across is another colour or a white
///     reflection and has no part in what follows, nor have its neighbours. Pixels with s > 1/2 that hang together are
///     a blob; two balls of a colour part here.
///  4. Each blob is fitted as the blurred image of a ball (blob_fit.hpp). Where the fit says that part of the disc is
///     dark, something stands before it: the outline is found again from the rim's points that lie on one ellipse
///     (consensus), what is covered is left out, and the rest is fitted.
///  5. The image's own noise where the markers are bright (photon noise) is pooled over the blobs, and so is the lamp:
///     its direction in the camera's axes, of which each ball's light shows the part across its own ray, by how much
///     balls differ from that, and a dome. Every blob takes last steps with what the others say as its prior.
///
/// What is left unknown of the lamp moves all balls of an image together: MarkerBlob::shared_px.
///
/// Covariance: the fit's, times what the image says of its own pixels: how alike neighbours' noise is (a colour
/// filter's and a codec's is), how far the fit misses its pixels beyond noise, and by eighths of the disc; and what
/// lies beside the disc, there or, where this ball's noise hides it, beside others. A ball that the picture's border
/// cuts is fitted as an arc; one whose centre lies further out than 0.4 of its radius is not measured.
///
/// Fits look at kWork eights of pixels of an image, no more: what is left over has no second look, or is no marker, and
/// the image says `overflow`. The best blob of every colour comes before the second best of any.
///
/// One thread per detector; nothing is remembered from image to image. @rt detect(): no allocation, no lock; work is
/// bounded by the image's size and the fixed numbers below, not by what it shows.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "drivers/camera/frame_source.hpp"
#include "drivers/markers/marker_set.hpp"
#include "drivers/rig.hpp"

namespace ligature::drivers {

struct DetectorParams {
  double min_level = 0.08;           ///< least chroma of a 4x4 cell / full scale
  double noise_sigmas = 5;           ///< and this far above the background's noise
  double hue_tolerance_deg = 30;     ///< from the marker's hue
  double min_saturation = 0.35;      ///< chroma / brightness of a cell
  double min_core_px = 6;            ///< smaller blobs are noise
  double max_extent_px = 64;         ///< wider regions are no marker; at most 68
  double centroid_floor_px = 0.002;  ///< what a centre's own error never falls below
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
