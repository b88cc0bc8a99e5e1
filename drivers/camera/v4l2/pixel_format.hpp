#pragma once
/// How a camera sends its pixels.
#include <cstdint>

namespace ligature::drivers {

enum class PixelFormat : std::uint8_t { yuyv, mjpeg, grey, bayer_rggb, bayer_grbg, bayer_gbrg, bayer_bggr };

/// As a profile says it.
const char* name_of(PixelFormat format);
/// As V4L2 says it.
std::uint32_t fourcc_of(PixelFormat format);

}  // namespace ligature::drivers
