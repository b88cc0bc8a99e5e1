/// What it costs to make a camera's bytes a picture, 640x480, one core; and to match an image to its trigger. The
/// picture is a still of the virtual rig, whose dark velvet a JPEG coder likes; `in` says how much it had to read.
#include <fmt/format.h>

#include <opencv2/imgcodecs.hpp>

#include "drivers/camera/trigger_matcher.hpp"
#include "drivers/camera/v4l2/pixels.hpp"
#include "tests/bench/table.hpp"

namespace ligature::bench {

void measure_capture(Table& table) {
  using drivers::PixelFormat;
  cv::Mat scene(480, 640, CV_8UC3), bgr;
  cv::randu(scene, 0, 24);  // velvet with noise
  for (int i = 0; i < 6; ++i)
    scene(cv::Rect(60 + 90 * i, 200 + 20 * i, 14, 14)) = cv::Scalar(i % 2 * 200 + 20, i % 3 * 100 + 20, 220 - 30 * i);
  drivers::PixelDecoder decoder;
  constexpr int kRounds = 400;
  for (const PixelFormat format : {PixelFormat::yuyv, PixelFormat::grey, PixelFormat::bayer_rggb, PixelFormat::mjpeg}) {
    drivers::PixelLayout layout;
    layout.format = format;
    layout.width_px = 640, layout.height_px = 480;
    layout.stride = drivers::row_bytes(format, 640);
    std::vector<std::uint8_t> bytes(layout.stride * 480);
    if (format == PixelFormat::mjpeg)
      cv::imencode(".jpg", scene, bytes, {cv::IMWRITE_JPEG_QUALITY, 90});
    else
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = scene.data[i % (640 * 480 * 3)];
    table.measure(fmt::format("{} -> BGR, 640x480", drivers::name_of(format)), kRounds,
                  [&] { (void)decoder.decode(layout, bytes.data(), bytes.size(), bgr); });
    if (format == PixelFormat::mjpeg) table.remark(fmt::format("{} kB of JPEG in", bytes.size() / 1000));
  }
  drivers::TriggerMatcher matcher(16'666'667);
  std::int64_t now = 0;
  table.measure("match the images of four cameras", 20 * kRounds, [&] {
    now += 16'666'667;
    for (std::size_t c = 0; c < kCameras; ++c) (void)matcher.assign(c, now + 1'000'000 * static_cast<std::int64_t>(c));
  });
}

}  // namespace ligature::bench
