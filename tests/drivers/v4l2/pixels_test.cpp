#include "drivers/camera/v4l2/pixels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <vector>

namespace ligature::drivers {
namespace {

struct Colour {
  double r, g, b;
};

/// The definition, forwards, in real numbers: [BT.601], [BT.709].
std::array<double, 3> to_yuv(Colour c, YuvMatrix matrix, bool full_range) {
  const double kr = matrix == YuvMatrix::bt601 ? 0.299 : 0.2126, kb = matrix == YuvMatrix::bt601 ? 0.114 : 0.0722;
  const double y = kr * c.r + (1 - kr - kb) * c.g + kb * c.b;
  const double u = (c.b - y) / (2 * (1 - kb)), v = (c.r - y) / (2 * (1 - kr));
  if (full_range) return {y, 128 + u, 128 + v};
  return {16 + y * 219 / 255, 128 + u * 224 / 255, 128 + v * 224 / 255};
}

std::uint8_t byte(double x) {
  return static_cast<std::uint8_t>(std::clamp(std::lround(x), 0l, 255l));
}

TEST(Pixels, YuyvGivesBackEveryColourInEveryMatrixAndRange) {
  PixelDecoder decoder;
  cv::Mat bgr;
  for (const YuvMatrix matrix : {YuvMatrix::bt601, YuvMatrix::bt709})
    for (const bool full : {false, true})
      for (int r = 0; r <= 255; r += 51)
        for (int g = 0; g <= 255; g += 51)
          for (int b = 0; b <= 255; b += 51) {
            const auto yuv = to_yuv({double(r), double(g), double(b)}, matrix, full);
            const std::vector<std::uint8_t> pixels{byte(yuv[0]), byte(yuv[1]), byte(yuv[0]), byte(yuv[2])};
            const PixelLayout layout{PixelFormat::yuyv, 2, 1, 4, matrix, full};
            ASSERT_EQ(decoder.decode(layout, pixels.data(), pixels.size(), bgr), Decoded::done);
            for (int x = 0; x < 2; ++x) {  // y, u, v were rounded to whole levels: that is worth up to 2.1 levels
              ASSERT_NEAR(bgr.at<cv::Vec3b>(0, x)[2], r, 2.6) << r << " " << g << " " << b << " " << full;
              ASSERT_NEAR(bgr.at<cv::Vec3b>(0, x)[1], g, 2.6) << r << " " << g << " " << b << " " << full;
              ASSERT_NEAR(bgr.at<cv::Vec3b>(0, x)[0], b, 2.6) << r << " " << g << " " << b << " " << full;
            }
          }
}

TEST(Pixels, YuyvAgreesWithOpenCvWhereOpenCvKnowsTheMatrix) {
  cv::Mat raw(48, 64, CV_8UC2), ours, theirs;
  cv::randu(raw, cv::Scalar(16, 0), cv::Scalar(256, 256));  // below black OpenCV takes y as black
  PixelDecoder decoder;
  ASSERT_EQ(decoder.decode({PixelFormat::yuyv, 64, 48, raw.step[0], YuvMatrix::bt601, false}, raw.data,
                           raw.total() * raw.elemSize(), ours),
            Decoded::done);
  cv::cvtColor(raw, theirs, cv::COLOR_YUV2BGR_YUY2);
  EXPECT_LE(cv::norm(ours, theirs, cv::NORM_INF), 1.0);
}

// Wide rows are worked on many pixels at a time, single pairs one by one: both must round alike, and keep to their row.
TEST(Pixels, YuyvOfAWideRowIsThatOfItsPairs) {
  PixelDecoder decoder;
  for (const int width : {17, 18, 19, 33, 34, 64, 65, 127, 640}) {
    const std::size_t stride = row_bytes(PixelFormat::yuyv, width);
    cv::Mat raw(5, static_cast<int>(stride), CV_8UC1), bgr(6, width, CV_8UC3, cv::Scalar::all(77)), pair;
    cv::randu(raw, 0, 256);
    cv::Mat rows = bgr.rowRange(0, 5);
    const PixelLayout layout{PixelFormat::yuyv, width, 5, stride, YuvMatrix::bt709, false};
    ASSERT_EQ(decoder.decode(layout, raw.data, stride * 5, rows), Decoded::done);
    ASSERT_EQ(rows.data, bgr.data);
    for (int y = 0; y < 5; ++y)
      for (int x = 0; x < width; ++x) {
        const PixelLayout one{PixelFormat::yuyv, 2, 1, 4, YuvMatrix::bt709, false};
        std::array<std::uint8_t, 4> bytes{};
        std::copy_n(raw.ptr(y) + 4 * (x / 2), 4, bytes.begin());
        ASSERT_EQ(decoder.decode(one, bytes.data(), 4, pair), Decoded::done);
        ASSERT_EQ(bgr.at<cv::Vec3b>(y, x), pair.at<cv::Vec3b>(0, x % 2)) << width << " " << x << " " << y;
      }
    for (int x = 0; x < width; ++x) ASSERT_EQ(bgr.at<cv::Vec3b>(5, x), cv::Vec3b(77, 77, 77)) << width << " " << x;
  }
}

TEST(Pixels, YuyvOfAnyWidth) {
  PixelDecoder decoder;
  for (int width = 1; width < 40; ++width) {
    const std::size_t stride = row_bytes(PixelFormat::yuyv, width) + 3;
    std::vector<std::uint8_t> raw(stride * 3, 128);
    cv::Mat bgr;
    const PixelLayout layout{PixelFormat::yuyv, width, 3, stride, YuvMatrix::bt601, true};
    ASSERT_EQ(decoder.decode(layout, raw.data(), raw.size(), bgr), Decoded::done);
    for (int x = 0; x < width; ++x) EXPECT_EQ(bgr.at<cv::Vec3b>(2, x), cv::Vec3b(128, 128, 128)) << width << " " << x;
    EXPECT_EQ(decoder.decode(layout, raw.data(), image_bytes(layout), bgr), Decoded::done);
    EXPECT_EQ(decoder.decode(layout, raw.data(), image_bytes(layout) - 1, bgr), Decoded::too_short);
  }
}

/// Red, green and blue of the scene's colour where the filter lets them through; first row, first two; second row.
TEST(Pixels, BayerOrdersAreToldApart) {
  struct Order {
    PixelFormat format;
    const char* filters;
  };
  const std::array<int, 3> colour{200, 120, 40};  // r g b
  PixelDecoder decoder;
  for (const Order& order : {Order{PixelFormat::bayer_rggb, "RGGB"}, Order{PixelFormat::bayer_grbg, "GRBG"},
                             Order{PixelFormat::bayer_gbrg, "GBRG"}, Order{PixelFormat::bayer_bggr, "BGGR"}})
    for (const std::size_t padding : {std::size_t{0}, std::size_t{7}}) {
      constexpr int kWidth = 24, kHeight = 18;
      const std::size_t stride = kWidth + padding;
      std::vector<std::uint8_t> raw(stride * kHeight, 255);
      for (int y = 0; y < kHeight; ++y)
        for (int x = 0; x < kWidth; ++x) {
          const char filter = order.filters[(y % 2) * 2 + x % 2];
          raw[static_cast<std::size_t>(y) * stride + static_cast<std::size_t>(x)] =
              static_cast<std::uint8_t>(filter == 'R'   ? colour[0]
                                        : filter == 'G' ? colour[1]
                                                        : colour[2]);
        }
      cv::Mat bgr;
      ASSERT_EQ(decoder.decode({order.format, kWidth, kHeight, stride}, raw.data(), raw.size(), bgr), Decoded::done);
      for (int y = 0; y < kHeight; ++y)
        for (int x = 0; x < kWidth; ++x)
          ASSERT_EQ(bgr.at<cv::Vec3b>(y, x), cv::Vec3b(40, 120, 200)) << order.filters << " " << x << " " << y;
    }
}

TEST(Pixels, GreyIsGrey) {
  std::vector<std::uint8_t> raw(20 * 16);
  for (std::size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<std::uint8_t>(i);
  cv::Mat bgr;
  PixelDecoder decoder;
  ASSERT_EQ(decoder.decode({PixelFormat::grey, 17, 16, 20}, raw.data(), raw.size(), bgr), Decoded::done);
  EXPECT_EQ(bgr.at<cv::Vec3b>(3, 16), cv::Vec3b(76, 76, 76));
}

TEST(Pixels, JpegOfACameraWithoutHuffmanTables) {
  cv::Mat picture(48, 64, CV_8UC3, cv::Scalar(40, 120, 200));
  std::vector<std::uint8_t> bytes;
  cv::imencode(".jpg", picture, bytes, {cv::IMWRITE_JPEG_QUALITY, 95});
  // What USB cameras send: the standard tables left out (every DHT segment).
  std::vector<std::uint8_t> without;
  for (std::size_t i = 0; i < bytes.size();) {
    if (i + 4 <= bytes.size() && bytes[i] == 0xff && bytes[i + 1] == 0xc4) {
      i += 2u + static_cast<std::size_t>(bytes[i + 2] << 8 | bytes[i + 3]);
      continue;
    }
    if (i + 2 <= bytes.size() && bytes[i] == 0xff && bytes[i + 1] == 0xda) {
      without.insert(without.end(), bytes.begin() + static_cast<std::ptrdiff_t>(i), bytes.end());
      break;
    }
    without.push_back(bytes[i++]);
  }
  ASSERT_LT(without.size(), bytes.size());
  PixelDecoder decoder;
  cv::Mat bgr;
  ASSERT_EQ(decoder.decode({PixelFormat::mjpeg, 64, 48}, without.data(), without.size(), bgr), Decoded::done);
  EXPECT_LE(cv::norm(bgr.row(20), picture.row(20), cv::NORM_INF), 4);
}

TEST(Pixels, NoBytesOfAJpegSpoiltAnyhowCrashOrChangeTheSize) {
  cv::Mat picture(48, 64, CV_8UC3);
  cv::randu(picture, 0, 256);
  std::vector<std::uint8_t> bytes;
  cv::imencode(".jpg", picture, bytes);
  PixelDecoder decoder;
  std::uint64_t seed = 7;
  const auto random = [&seed](std::size_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(seed >> 33) % below;
  };
  int broken = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<std::uint8_t> spoilt = bytes;
    for (std::size_t n = 1 + random(8); n > 0; --n)
      spoilt[random(spoilt.size())] = static_cast<std::uint8_t>(random(256));
    if (random(3) == 0) spoilt.resize(random(spoilt.size()));
    cv::Mat bgr;
    broken += decoder.decode({PixelFormat::mjpeg, 64, 48}, spoilt.data(), spoilt.size(), bgr) != Decoded::done;
    ASSERT_EQ(bgr.size(), cv::Size(64, 48));
  }
  EXPECT_GT(broken, 500);
  cv::Mat bgr;
  EXPECT_EQ(decoder.decode({PixelFormat::mjpeg, 64, 48}, bytes.data(), bytes.size(), bgr), Decoded::done)
      << "and it still works";
}

}  // namespace
}  // namespace ligature::drivers
