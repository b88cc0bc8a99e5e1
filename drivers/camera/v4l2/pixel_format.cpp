#include "drivers/camera/v4l2/pixel_format.hpp"

#include <linux/videodev2.h>

#include <array>
#include <cstddef>

namespace ligature::drivers {

const char* name_of(PixelFormat format) {
  constexpr std::array names{"yuyv", "mjpeg", "grey", "bayer_rggb", "bayer_grbg", "bayer_gbrg", "bayer_bggr"};
  return names[static_cast<std::size_t>(format)];
}

std::uint32_t fourcc_of(PixelFormat format) {
  switch (format) {
    case PixelFormat::yuyv:
      return V4L2_PIX_FMT_YUYV;
    case PixelFormat::mjpeg:
      return V4L2_PIX_FMT_MJPEG;
    case PixelFormat::grey:
      return V4L2_PIX_FMT_GREY;
    case PixelFormat::bayer_rggb:
      return V4L2_PIX_FMT_SRGGB8;
    case PixelFormat::bayer_grbg:
      return V4L2_PIX_FMT_SGRBG8;
    case PixelFormat::bayer_gbrg:
      return V4L2_PIX_FMT_SGBRG8;
    case PixelFormat::bayer_bggr:
      return V4L2_PIX_FMT_SBGGR8;
  }
  return 0;
}

}  // namespace ligature::drivers
