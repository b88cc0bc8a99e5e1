#pragma once
/// From a device's time stamp to the middle of the exposure.
///
///   global shutter            exposure e                readout and transfer r
///                     |<------------------->|<------------------------------>|
///                exposure_start       exposure_end                       frame_end
///                           ^ mid
///
/// A rolling shutter exposes its last row r after the first; the middle row stands for the image, and a marker in the
/// top or bottom row is r/2 off: a limit of rolling shutters, not corrected.
/// @rt no allocation, bounded
#include <cstdint>

namespace ligature::drivers {

/// The moment that a stamp tells.
enum class StampAt : std::uint8_t {
  device,          ///< as the driver's flags say: exposure_start or frame_end
  exposure_start,  ///< V4L2_BUF_FLAG_TSTAMP_SRC_SOE
  exposure_end,    ///< first byte received: what uvcvideo really stamps, whatever it says
  frame_end,       ///< V4L2_BUF_FLAG_TSTAMP_SRC_EOF
};

enum class Shutter : std::uint8_t { global, rolling };

/// What to add to a stamp to reach the mid-exposure. @param at not `device`
constexpr std::int64_t to_mid_exposure_ns(StampAt at, Shutter shutter, std::int64_t exposure_ns,
                                          std::int64_t readout_ns) {
  const std::int64_t half = exposure_ns / 2;
  if (shutter == Shutter::rolling) {
    // Row i of n: exposed from i r/n to i r/n + e, then read at once.
    if (at == StampAt::exposure_start) return readout_ns / 2 + half;
    if (at == StampAt::exposure_end) return readout_ns / 2 - half;  // the first row's bytes come when it is exposed
    return -readout_ns / 2 - half;
  }
  if (at == StampAt::exposure_start) return half;
  if (at == StampAt::exposure_end) return -half;
  return -readout_ns - half;
}

}  // namespace ligature::drivers
