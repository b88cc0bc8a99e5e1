#include "drivers/camera/v4l2/pixels.hpp"

#include <turbojpeg.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <opencv2/imgproc.hpp>

#ifndef __AVX__
#pragma GCC diagnostic ignored "-Wpsabi"  // eight words returned in memory: no border of a library is crossed
#endif

namespace ligature::drivers {
namespace {

static_assert(std::endian::native == std::endian::little);  // four bytes of a pair are read and written as a word

/// R = (y + rv v + 2^13) >> 14 and so on, in 14-bit fixed point: within half a grey level of the real numbers.
struct YuvCoefficients {
  int y = 0, offset = 0, rv = 0, gu = 0, gv = 0, bu = 0;
};
constexpr int kShift = 14;

YuvCoefficients coefficients(YuvMatrix matrix, bool full_range) {
  const double kr = matrix == YuvMatrix::bt601 ? 0.299 : 0.2126, kb = matrix == YuvMatrix::bt601 ? 0.114 : 0.0722;
  const double luma = full_range ? 1 : 255.0 / 219, chroma = full_range ? 1 : 255.0 / 224;
  const double rv = 2 * (1 - kr) * chroma, bu = 2 * (1 - kb) * chroma, kg = 1 - kr - kb;
  const auto fixed = [](double x) { return static_cast<int>(std::lround(x * (1 << kShift))); };
  return {fixed(luma), full_range ? 0 : 16, fixed(rv), fixed(kb / kg * bu), fixed(kr / kg * rv), fixed(bu)};
}

std::uint8_t level(int fixed) {
  return static_cast<std::uint8_t>(std::clamp(fixed >> kShift, 0, 255));
}

using Words = std::int32_t __attribute__((vector_size(32)));

inline Words levels(const Words& fixed) {
  const Words whole = fixed >> kShift, positive = whole > 0 ? whole : Words{};
  return positive < 255 ? positive : Words{} + 255;
}

void yuyv_row(const std::uint8_t* __restrict from, std::uint8_t* __restrict to, int width, const YuvCoefficients k) {
  constexpr int kHalf = 1 << (kShift - 1);
  int x = 0;
  // Eight pairs at a time. A pair's six bytes are written as eight: the two beyond are the next pair's, so the last
  // pairs of a row are left to the loop below.
  for (; x + 18 <= width; x += 16, from += 32, to += 48) {
    Words yuyv;
    std::memcpy(&yuyv, from, sizeof yuyv);
    const Words u = ((yuyv >> 8) & 255) - 128, v = ((yuyv >> 24) & 255) - 128;
    const Words r = k.rv * v + kHalf, g = -k.gu * u - k.gv * v + kHalf, b = k.bu * u + kHalf;
    const Words y0 = k.y * ((yuyv & 255) - k.offset), y1 = k.y * (((yuyv >> 16) & 255) - k.offset);
    const Words first = levels(y0 + b) | levels(y0 + g) << 8 | levels(y0 + r) << 16 | levels(y1 + b) << 24,
                rest = levels(y1 + g) | levels(y1 + r) << 8;
    for (int i = 0; i < 8; ++i) {
      const std::uint64_t six = static_cast<std::uint32_t>(first[i]) | static_cast<std::uint64_t>(rest[i]) << 32;
      std::memcpy(to + 6 * i, &six, sizeof six);
    }
  }
  for (; x + 1 < width; x += 2, from += 4, to += 6) {
    const int u = from[1] - 128, v = from[3] - 128;
    const int r = k.rv * v + kHalf, g = -k.gu * u - k.gv * v + kHalf, b = k.bu * u + kHalf;
    const int y0 = k.y * (from[0] - k.offset), y1 = k.y * (from[2] - k.offset);
    to[0] = level(y0 + b), to[1] = level(y0 + g), to[2] = level(y0 + r);
    to[3] = level(y1 + b), to[4] = level(y1 + g), to[5] = level(y1 + r);
  }
  if (width % 2 != 0) {
    const int u = from[1] - 128, v = from[3] - 128, y = k.y * (from[0] - k.offset) + kHalf;
    to[0] = level(y + k.bu * u), to[1] = level(y - k.gu * u - k.gv * v), to[2] = level(y + k.rv * v);
  }
}

void grey_row(const std::uint8_t* __restrict from, std::uint8_t* __restrict to, int width) {
  for (int x = 0; x < width; ++x) to[3 * x] = to[3 * x + 1] = to[3 * x + 2] = from[x];
}

/// OpenCV names the order by the second row's second and third pixel: what V4L2 calls RGGB is its "BG".
int bayer_code(PixelFormat format) {
  switch (format) {
    case PixelFormat::bayer_rggb:
      return cv::COLOR_BayerBG2BGR;
    case PixelFormat::bayer_grbg:
      return cv::COLOR_BayerGB2BGR;
    case PixelFormat::bayer_gbrg:
      return cv::COLOR_BayerGR2BGR;
    default:
      return cv::COLOR_BayerRG2BGR;
  }
}

}  // namespace

std::size_t row_bytes(PixelFormat format, int width_px) {
  if (format == PixelFormat::mjpeg) return 0;
  const auto width = static_cast<std::size_t>(width_px);
  return format == PixelFormat::yuyv ? 2 * ((width + 1) & ~std::size_t{1}) : width;
}

std::size_t image_bytes(const PixelLayout& layout) {
  if (layout.format == PixelFormat::mjpeg) return 0;
  // A driver need not send what pads the last row.
  return static_cast<std::size_t>(layout.height_px - 1) * layout.stride + row_bytes(layout.format, layout.width_px);
}

struct PixelDecoder::Jpeg {
  tjhandle handle = nullptr;
  Jpeg() = default;
  Jpeg(const Jpeg&) = delete;
  Jpeg& operator=(const Jpeg&) = delete;
  ~Jpeg() { forget(); }

  void forget() noexcept {
    if (handle) tjDestroy(handle);
    handle = nullptr;
  }
  Decoded decode(const PixelLayout& layout, const std::uint8_t* data, std::size_t size, cv::Mat& bgr) noexcept {
    if (size < 4) return Decoded::too_short;
    if (!handle) handle = tjInitDecompress();
    int width = 0, height = 0, sampling = 0, space = 0;
    auto* bytes = const_cast<unsigned char*>(data);  // the library's older signatures; it only reads
    const auto length = static_cast<unsigned long>(size);
    if (handle && tjDecompressHeader3(handle, bytes, length, &width, &height, &sampling, &space) == 0 &&
        width == layout.width_px && height == layout.height_px &&
        tjDecompress2(handle, bytes, length, bgr.data, width, static_cast<int>(bgr.step[0]), height, TJPF_BGR,
                      TJFLAG_STOPONWARNING) == 0)
      return Decoded::done;
    // A decoder that met a broken table refuses whole images after it (libjpeg-turbo 2.1.5): begin with a new one.
    forget();
    return Decoded::broken;
  }
};

PixelDecoder::PixelDecoder() : jpeg_(std::make_unique<Jpeg>()) {}
PixelDecoder::~PixelDecoder() = default;
PixelDecoder::PixelDecoder(PixelDecoder&&) noexcept = default;
PixelDecoder& PixelDecoder::operator=(PixelDecoder&&) noexcept = default;

Decoded PixelDecoder::decode(const PixelLayout& layout, const std::uint8_t* data, std::size_t size,
                             cv::Mat& bgr) noexcept {
  try {
    bgr.create(layout.height_px, layout.width_px, CV_8UC3);
    if (layout.format == PixelFormat::mjpeg) return jpeg_->decode(layout, data, size, bgr);
    if (size < image_bytes(layout)) return Decoded::too_short;
    if (layout.format == PixelFormat::yuyv || layout.format == PixelFormat::grey) {
      const YuvCoefficients k = coefficients(layout.matrix, layout.full_range);
      for (int row = 0; row < layout.height_px; ++row) {
        const std::uint8_t* from = data + static_cast<std::size_t>(row) * layout.stride;
        if (layout.format == PixelFormat::yuyv)
          yuyv_row(from, bgr.ptr(row), layout.width_px, k);
        else
          grey_row(from, bgr.ptr(row), layout.width_px);
      }
      return Decoded::done;
    }
    const cv::Mat raw(layout.height_px, layout.width_px, CV_8UC1, const_cast<std::uint8_t*>(data), layout.stride);
    cv::cvtColor(raw, bgr, bayer_code(layout.format));
    return Decoded::done;
  } catch (const std::exception&) {
    return Decoded::broken;
  }
}

}  // namespace ligature::drivers
