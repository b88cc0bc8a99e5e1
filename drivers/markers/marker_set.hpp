#pragma once
/// What one camera saw of the coloured markers in one image. Trivially copyable: crosses threads by value.
#include <algorithm>
#include <array>
#include <cstdint>

#include "sim/contract/instrument_sample.hpp"

namespace ligature::drivers {

inline constexpr std::size_t kMarkers = 6;     ///< both instruments' markers, in the rig file's order
inline constexpr double kOverexposed = 0.5;    ///< MarkerSet::full() from which on a camera is told to be
inline constexpr std::size_t kCandidates = 3;  ///< blobs of one colour kept, best first

/// One blob. Pixel coordinates are raw (distorted); pixel centres at integers.
struct MarkerBlob {
  float u_px = 0, v_px = 0;
  float area_px = 0;                                     ///< covered area, sub-pixel
  float quality = 0;                                     ///< 0..1: round, alone and whole
  float full = 0;                                        ///< share of it at full scale: how bright it is is unknown
  float var_uu_px2 = 0, var_uv_px2 = 0, var_vv_px2 = 0;  ///< covariance of the centroid
  /// L, row major, (2 x 2): the part L L^T of the covariance is of two errors, of variance 1, that all blobs of the
  /// image share (they err together).
  std::array<float, 4> shared_px{};
};

struct MarkerSet {
  std::uint64_t sequence = 0;
  std::int64_t mid_exposure_ns = 0;
  bool image = false;                          ///< false: this trigger had no image
  bool overflow = false;                       ///< the image held more bright runs than fit; the rest was not looked at
  float noise_level = 0;                       ///< of the background, standard deviation [0..255]
  std::array<std::uint8_t, kMarkers> count{};  ///< candidates of marker m
  std::array<std::array<MarkerBlob, kCandidates>, kMarkers> blobs{};

  bool found(std::size_t marker) const { return count[marker] > 0; }
  std::size_t found() const {
    return static_cast<std::size_t>(std::count_if(count.begin(), count.end(), [](auto n) { return n > 0; }));
  }
  /// Share of the markers' pixels that are at full scale, 0 without markers.
  double full() const {
    double sum = 0;
    for (std::size_t m = 0; m < kMarkers; ++m) sum += found(m) ? static_cast<double>(blobs[m][0].full) : 0;
    return sum / static_cast<double>(std::max<std::size_t>(1, found()));
  }
};

}  // namespace ligature::drivers
