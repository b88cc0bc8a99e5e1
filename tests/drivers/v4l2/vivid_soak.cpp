/// The V4L2 camera on the kernel's own virtual cameras (`modprobe vivid n_devs=4`), run by vivid_vm in a machine of its
/// own. What a fake device cannot tell: that the kernel's answers are what we take them for.
///
///   vivid_soak --press PLACE NAME VALUE   sets a control by its name ("Disconnect"), and ends
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/videodev2.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "drivers/camera/trigger_matcher.hpp"
#include "drivers/camera/v4l2/v4l2_camera.hpp"

namespace {

/// False: no such node or control.
bool press(const char* node, const char* name, int value) {
  const int fd = open(node, O_RDWR);
  if (fd < 0) return false;
  v4l2_queryctrl query{};
  query.id = V4L2_CTRL_FLAG_NEXT_CTRL;
  bool done = false;
  while (!done && ioctl(fd, VIDIOC_QUERYCTRL, &query) == 0) {
    if (std::strcmp(reinterpret_cast<const char*>(query.name), name) == 0) {
      v4l2_control control{query.id, value};
      done = ioctl(fd, VIDIOC_S_CTRL, &control) == 0;
      break;
    }
    query.id |= V4L2_CTRL_FLAG_NEXT_CTRL;
  }
  close(fd);
  return done;
}

}  // namespace

namespace ligature::drivers {
namespace {

using Kind = CameraEvent::Kind;

std::string place(int camera) {
  return "platform:vivid-00" + std::to_string(camera);
}

V4l2Params params(int camera, PixelFormat format = PixelFormat::yuyv) {
  V4l2Params p;
  p.path = place(camera);
  p.format = format;
  p.rate_hz = 25;
  p.exposure_ms = 4;
  p.readout_ms = 3;
  return p;
}

struct Camera {
  explicit Camera(V4l2Params p) {
    auto made = V4l2Camera::create(std::move(p));
    EXPECT_TRUE(made) << made.error().message;
    if (!made) return;
    source = std::move(*made);
    source->begin(kernel_calls().now_ns());
    set("Timestamp Source", 1);  // start of exposure; the other one lies in the future
    listen();
  }
  FrameStatus next(double patience_s = 10) {
    const std::int64_t until = kernel_calls().now_ns() + static_cast<std::int64_t>(patience_s * 1e9);
    FrameStatus status = FrameStatus::timeout;
    while (status == FrameStatus::timeout && kernel_calls().now_ns() < until) {
      status = source->next(frame);
      listen();
    }
    return status;
  }
  void listen() {
    for (CameraEvent event; source->take_event(event);) {
      std::printf("    %s\n", describe(event).c_str());
      events.push_back(event);
    }
  }
  int said(Kind kind) const {
    int n = 0;
    for (const auto& event : events) n += event.kind == kind ? 1 : 0;
    return n;
  }
  const char* node() const { return source->device().node.c_str(); }
  bool set(const char* name, int value) const { return press(node(), name, value); }

  std::unique_ptr<V4l2Camera> source;
  Frame frame;
  std::vector<CameraEvent> events;
};

/// All four leave the bus with their nodes, open or not, as unplugged cameras do; and come back.
void plug(bool in) {
  ASSERT_EQ(std::system(in ? "echo vivid.0 > /sys/bus/platform/drivers/vivid/bind"
                           : "echo vivid.0 > /sys/bus/platform/drivers/vivid/unbind"),
            0);
}

TEST(Vivid, FourCamerasAreListedByTheirPlaces) {
  std::array<DeviceInfo, kMaxVideoNodes> found;
  const std::size_t count = list_devices(kernel_calls(), found);
  ASSERT_EQ(count, 4u) << "outputs, VBI, metadata and radio nodes are no cameras";
  for (std::size_t i = 0; i < count; ++i) {
    std::printf("    %s  %s  %s\n", found[i].node.c_str(), found[i].name.c_str(), found[i].bus.c_str());
    DeviceInfo again;
    EXPECT_EQ(find_device(kernel_calls(), "", found[i].bus.c_str(), again), Match::one);
    EXPECT_EQ(again.number, found[i].number);
  }
}

/// 100 % bars: white yellow cyan green magenta red blue black.
TEST(Vivid, EveryFormatShowsTheSameColourBars) {
  const cv::Vec3b bars[8] = {{255, 255, 255}, {0, 255, 255}, {255, 255, 0}, {0, 255, 0},
                             {255, 0, 255},   {0, 0, 255},   {255, 0, 0},   {0, 0, 0}};
  for (const PixelFormat format : {PixelFormat::yuyv, PixelFormat::bayer_rggb, PixelFormat::bayer_grbg,
                                   PixelFormat::bayer_gbrg, PixelFormat::bayer_bggr, PixelFormat::grey}) {
    Camera camera(params(0, format));
    ASSERT_TRUE(camera.source) << name_of(format);
    ASSERT_TRUE(camera.set("Test Pattern", 1));   // 100 % bars
    ASSERT_TRUE(camera.set("OSD Text Mode", 2));  // none
    for (int i = 0; i < 8; ++i) ASSERT_EQ(camera.next(), FrameStatus::image) << name_of(format);
    for (int bar = 0; bar < 8; ++bar) {
      const cv::Vec3b got = camera.frame.image.at<cv::Vec3b>(300, 80 * bar + 40);
      if (format == PixelFormat::grey) {
        EXPECT_EQ(got[0], got[2]);
        continue;
      }
      for (int channel = 0; channel < 3; ++channel)
        EXPECT_NEAR(got[channel], bars[bar][channel], 4) << name_of(format) << " bar " << bar << " channel " << channel;
    }
  }
}

/// The driver tells matrix and range in the format; the colours must not depend on them.
TEST(Vivid, TheDevicesOwnMatrixAndRangeAreRead) {
  for (const int encoding : {1, 2})   // 601, 709
    for (const int range : {1, 2}) {  // full, limited
      {
        Camera set(params(1));
        ASSERT_TRUE(set.source && set.set("Test Pattern", 1) && set.set("OSD Text Mode", 2));
        ASSERT_TRUE(set.set("Y'CbCr Encoding", encoding) && set.set("Quantization", range));
      }
      Camera camera(params(1));
      for (int i = 0; i < 5; ++i) ASSERT_EQ(camera.next(), FrameStatus::image);
      const cv::Vec3b red = camera.frame.image.at<cv::Vec3b>(300, 80 * 5 + 40);
      EXPECT_NEAR(red[2], 255, 4) << encoding << " " << range;
      EXPECT_NEAR(red[1], 0, 4) << encoding << " " << range;
      EXPECT_NEAR(red[0], 0, 4) << encoding << " " << range;
      const cv::Vec3b green = camera.frame.image.at<cv::Vec3b>(300, 80 * 3 + 40);
      EXPECT_NEAR(green[1], 255, 4) << encoding << " " << range;
    }
}

TEST(Vivid, TimesGrowAndSayTheMiddleOfTheExposure) {
  for (const int source : {0, 1}) {  // end of frame, start of exposure
    Camera camera(params(2));
    ASSERT_TRUE(camera.source && camera.set("Timestamp Source", source));
    for (int i = 0; i < 5; ++i) camera.next();
    std::int64_t last = -1;
    std::uint64_t number = 0;
    for (int i = 0; i < 60; ++i) {
      ASSERT_EQ(camera.next(), FrameStatus::image);
      ASSERT_GT(camera.frame.mid_exposure_ns, last);
      if (last >= 0) {
        EXPECT_EQ(camera.frame.sequence, number + 1 + camera.frame.lost);
      }
      last = camera.frame.mid_exposure_ns, number = camera.frame.sequence;
    }
    // The driver hands images over at once, and then says that they end nine tenths of a period later.
    EXPECT_EQ(camera.said(Kind::bad_time) + camera.said(Kind::distrusted) > 0, source == 0);
    EXPECT_EQ(camera.said(Kind::no_device_time), 0);
  }
}

TEST(Vivid, GainIsLockedAndReadBack) {
  V4l2Params p = params(0);
  p.gain = 100;
  Camera camera(p);
  EXPECT_EQ(camera.said(Kind::control_refused), 0);
  p.gain = 100'000;
  camera.source.reset();
  Camera beyond(p);
  EXPECT_EQ(beyond.said(Kind::control_refused), 1);
}

TEST(Vivid, WhatTheDeviceDropsIsCounted) {
  Camera camera(params(3));
  for (int i = 0; i < 10; ++i) camera.next();
  const std::uint64_t before = camera.source->counters()->lost.load();
  ASSERT_TRUE(camera.set("Percentage of Dropped Buffers", 30));
  for (int i = 0; i < 100; ++i) ASSERT_EQ(camera.next(), FrameStatus::image);
  ASSERT_TRUE(camera.set("Percentage of Dropped Buffers", 0));
  const std::uint64_t lost = camera.source->counters()->lost.load() - before;
  std::printf("    lost %llu of %llu\n", static_cast<unsigned long long>(lost),
              static_cast<unsigned long long>(100 + lost));
  EXPECT_GT(lost, 15u) << "30 in a hundred; a starved machine loses more by itself";
}

TEST(Vivid, AnImageMarkedAsBrokenIsMissing) {
  Camera camera(params(3));
  for (int i = 0; i < 5; ++i) camera.next();
  ASSERT_TRUE(camera.set("Inject V4L2_BUF_FLAG_ERROR", 1));
  for (int i = 0; i < 20; ++i) camera.next();
  EXPECT_EQ(camera.source->counters()->corrupt.load(), 1u);
}

TEST(Vivid, AFatalStreamingErrorIsSurvived) {
  Camera camera(params(3));
  for (int i = 0; i < 5; ++i) camera.next();
  ASSERT_TRUE(camera.set("Inject Fatal Streaming Error", 1));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(camera.next(), FrameStatus::image);
  EXPECT_EQ(camera.said(Kind::stalled), 1);
  EXPECT_EQ(camera.source->counters()->restarts.load(), 1u);
}

TEST(Vivid, ASecondReaderIsTurnedAway) {
  Camera camera(params(2));
  const auto second = V4l2Camera::create(params(2));
  ASSERT_FALSE(second);
  std::printf("    %s\n", second.error().message.c_str());
  EXPECT_NE(second.error().message.find("another program"), std::string::npos);
  EXPECT_EQ(camera.next(), FrameStatus::image);
}

TEST(Vivid, UnpluggedAndPluggedInAgain) {
  for (int round = 0; round < 3; ++round) {
    Camera camera(params(0));
    for (int i = 0; i < 5; ++i) ASSERT_EQ(camera.next(), FrameStatus::image);
    plug(false);
    EXPECT_EQ(camera.next(2), FrameStatus::timeout);
    EXPECT_EQ(camera.said(Kind::gone), 1);
    EXPECT_EQ(camera.said(Kind::not_found), 1);
    EXPECT_FALSE(camera.source->connected());
    plug(true);
    for (int i = 0; i < 20; ++i) ASSERT_EQ(camera.next(), FrameStatus::image);
    EXPECT_EQ(camera.source->counters()->connections.load(), 2u);
  }
}

/// The driver's own idea of it: the nodes stay, all calls fail until the last one has closed.
TEST(Vivid, ADisconnectThatLeavesTheNodesIsSurvived) {
  Camera camera(params(1));
  for (int i = 0; i < 5; ++i) ASSERT_EQ(camera.next(), FrameStatus::image);
  ASSERT_TRUE(camera.set("Disconnect", 1));
  for (int i = 0; i < 20; ++i) ASSERT_EQ(camera.next(), FrameStatus::image);
  EXPECT_EQ(camera.said(Kind::gone), 1);
  EXPECT_EQ(camera.source->counters()->connections.load(), 2u);
}

TEST(Vivid, FourFreeRunningCamerasAreMatched) {
  std::array<std::unique_ptr<Camera>, kCameras> cameras;
  const std::int64_t start = kernel_calls().now_ns();
  for (std::size_t c = 0; c < kCameras; ++c) {
    cameras[c] = std::make_unique<Camera>(params(static_cast<int>(c), PixelFormat::grey));
    ASSERT_TRUE(cameras[c]->source);
    ASSERT_TRUE(cameras[c]->set("Timestamp Source", 1));
    cameras[c]->source->begin(start);
  }
  TriggerMatcher matcher(1'000'000'000 / 25);
  std::array<std::uint64_t, kCameras> matched{};
  std::uint64_t last = 0, unused = 0;
  for (int i = 0; i < 400; ++i) {
    const std::size_t c = static_cast<std::size_t>(i) % kCameras;
    if (cameras[c]->next() != FrameStatus::image) continue;
    if (const auto trigger = matcher.assign(c, cameras[c]->frame.mid_exposure_ns))
      ++matched[c], last = std::max(last, *trigger);
    else
      ++unused;
  }
  std::printf("    matched %llu %llu %llu %llu, unused %llu, triggers %llu, period %.2f ms, regrouped %llu\n",
              static_cast<unsigned long long>(matched[0]), static_cast<unsigned long long>(matched[1]),
              static_cast<unsigned long long>(matched[2]), static_cast<unsigned long long>(matched[3]),
              static_cast<unsigned long long>(unused), static_cast<unsigned long long>(last),
              matcher.period_ns() * 1e-6, static_cast<unsigned long long>(matcher.regrouped()));
  for (const std::uint64_t n : matched) EXPECT_GT(n, 80u);
  EXPECT_LT(unused, 20u);
}

}  // namespace
}  // namespace ligature::drivers

int main(int argc, char** argv) {
  if (argc == 5 && std::strcmp(argv[1], "--press") == 0) {
    ligature::drivers::DeviceInfo found;
    const bool there =
        find_device(ligature::drivers::kernel_calls(), "", argv[2], found) == ligature::drivers::Match::one;
    return there && press(found.node.c_str(), argv[3], std::atoi(argv[4])) ? 0 : 1;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
