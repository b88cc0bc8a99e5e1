#pragma once
/// Pixels as cameras send them -> 8-bit BGR, as the detector reads them.
///
/// YUYV is read by the device's own matrix and range: which one it is changes hues by up to ten degrees and clips
/// bright markers. With y, u, v centred (u - 128, v - 128; y - 16 in the limited range) and s = 1, or 255/219 for y and
/// 255/224 for u, v in the limited range:
///   R = s y + s 2(1-Kr) v,  B = s y + s 2(1-Kb) u,  G = (Y - Kr R - Kb B) / (1 - Kr - Kb)
/// Kr, Kb = 0.299, 0.114 (BT.601) or 0.2126, 0.0722 (BT.709). Source: [BT.601], [BT.709]; V4L2's documentation,
/// "colorspaces". Bayer goes through OpenCV (bilinear), JPEG through libjpeg-turbo.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <opencv2/core/mat.hpp>

#include "drivers/camera/v4l2/pixel_format.hpp"

namespace ligature::drivers {

enum class YuvMatrix : std::uint8_t { bt601, bt709 };

/// How an image lies in memory.
struct PixelLayout {
  PixelFormat format = PixelFormat::yuyv;
  int width_px = 0, height_px = 0;
  std::size_t stride = 0;  ///< bytes from row to row, at least a row's own; not with mjpeg
  YuvMatrix matrix = YuvMatrix::bt601;
  bool full_range = false;  ///< YUYV: 0..255 instead of 16..235
};

/// Bytes that one row has at least, and that the whole image needs; 0 for mjpeg.
std::size_t row_bytes(PixelFormat format, int width_px);
std::size_t image_bytes(const PixelLayout& layout);

enum class Decoded : std::uint8_t { done, too_short, broken };

/// One per camera: it keeps the JPEG decoder's memory.
class PixelDecoder {
 public:
  PixelDecoder();
  ~PixelDecoder();
  PixelDecoder(PixelDecoder&&) noexcept;
  PixelDecoder& operator=(PixelDecoder&&) noexcept;

  /// @param bgr  CV_8UC3; made of the layout's size when it is not so already
  /// A JPEG of another size, cut short, or with anything that its decoder even warns of is broken: half an image would
  /// show half a marker.
  /// @rt exempt by name: OpenCV and libjpeg-turbo allocate; YUYV and GREY do not
  Decoded decode(const PixelLayout& layout, const std::uint8_t* data, std::size_t size, cv::Mat& bgr) noexcept;

 private:
  struct Jpeg;
  std::unique_ptr<Jpeg> jpeg_;
};

}  // namespace ligature::drivers
