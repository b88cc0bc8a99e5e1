/// The V4L2 camera against a device that misbehaves in every way that we know of.
#include "drivers/camera/v4l2/v4l2_camera.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/drivers/v4l2/fake_device.hpp"

namespace ligature::drivers {
namespace {

using testing::FakeCamera;
using testing::FakeMachine;
using testing::grey_level;
using Kind = CameraEvent::Kind;

constexpr std::int64_t kMs = 1'000'000, kS = 1'000'000'000;

FakeCamera usual() {
  FakeCamera c;
  c.number = 4;
  c.serial = "ABC123";
  c.port = "1-2.3";
  c.controls = {{V4L2_CID_EXPOSURE_AUTO, {3, 0, 3}},
                {V4L2_CID_EXPOSURE_AUTO_PRIORITY, {1, 0, 1}},
                {V4L2_CID_EXPOSURE_ABSOLUTE, {500, 1, 5000}},
                {V4L2_CID_AUTOGAIN, {1, 0, 1}},
                {V4L2_CID_GAIN, {10, 0, 255}},
                {V4L2_CID_AUTO_WHITE_BALANCE, {1, 0, 1}},
                {V4L2_CID_WHITE_BALANCE_TEMPERATURE, {3000, 2800, 6500}}};
  return c;
}

V4l2Params params() {
  V4l2Params p;
  p.serial = "ABC123";
  p.format = PixelFormat::yuyv;
  p.width_px = 64, p.height_px = 48;
  p.gain = 32;
  p.white_balance_k = 4600;
  return p;
}

/// A camera that runs, its session begun, and what it said.
struct Rig {
  explicit Rig(FakeCamera camera = usual(), V4l2Params p = params()) : fake(&machine.add(std::move(camera))) {
    auto made = V4l2Camera::create(std::move(p), machine);
    EXPECT_TRUE(made) << made.error().message;
    if (!made) return;
    source = std::move(*made);
    source->begin(machine.time_ns);
    start_ns = machine.time_ns;
    listen();
  }
  /// The next answer that is not `timeout`, within some time.
  FrameStatus next(double patience_s = 5) {
    FrameStatus status = FrameStatus::timeout;
    const std::int64_t until = machine.time_ns + static_cast<std::int64_t>(patience_s * 1e9);
    while (status == FrameStatus::timeout && machine.time_ns < until) {
      status = source->next(frame);
      listen();
    }
    return status;
  }
  void run(int frames) {
    for (int i = 0; i < frames; ++i) next();
  }
  void listen() {
    for (CameraEvent event; source->take_event(event);) events.push_back(event);
  }
  int said(Kind kind) const {
    int n = 0;
    for (const auto& event : events) n += event.kind == kind ? 1 : 0;
    return n;
  }
  const CameraEvent* event(Kind kind) const {
    for (const auto& e : events)
      if (e.kind == kind) return &e;
    return nullptr;
  }
  std::uint64_t image_of_frame() const {  // which image of the fake's life the frame's time says
    return static_cast<std::uint64_t>((start_ns + frame.mid_exposure_ns - fake->phase_ns) / fake->period_ns);
  }
  const CaptureCounters& counters() const { return *source->counters(); }

  FakeMachine machine;
  FakeCamera* fake;
  std::unique_ptr<V4l2Camera> source;
  Frame frame;
  std::vector<CameraEvent> events;
  std::int64_t start_ns = 0;
};

TEST(V4l2Camera, GivesImagesWithTheMiddleOfTheirExposure) {
  Rig rig;
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(rig.next(), FrameStatus::image);
    const std::uint64_t k = rig.image_of_frame();
    const std::int64_t mid = rig.fake->phase_ns + static_cast<std::int64_t>(k) * rig.fake->period_ns + 2 * kMs;
    EXPECT_NEAR(static_cast<double>(rig.start_ns + rig.frame.mid_exposure_ns), static_cast<double>(mid), 1000.0);
    EXPECT_NEAR(rig.frame.image.at<cv::Vec3b>(20, 30)[1], (grey_level(k) - 16) * 255.0 / 219, 1.0);
    EXPECT_EQ(rig.frame.sequence, static_cast<std::uint64_t>(i));
    EXPECT_EQ(rig.frame.lost, 0u);
  }
  EXPECT_EQ(rig.counters().images.load(), 20u);
  EXPECT_EQ(rig.said(Kind::connected), 1);
  EXPECT_EQ(rig.events.size(), 1u) << describe(rig.events.back());
}

TEST(V4l2Camera, EveryKindOfStampLeadsToTheSameMidExposure) {
  struct Case {
    FakeCamera::Stamp stamp;
    std::uint32_t source_flag;
    StampAt told;
    const char* driver;
    const char* hardware_stamps;
  };
  for (const Case& c :
       {Case{FakeCamera::Stamp::exposure_start, V4L2_BUF_FLAG_TSTAMP_SRC_SOE, StampAt::device, "fake", ""},
        Case{FakeCamera::Stamp::frame_end, V4L2_BUF_FLAG_TSTAMP_SRC_EOF, StampAt::device, "fake", ""},
        Case{FakeCamera::Stamp::exposure_end, V4L2_BUF_FLAG_TSTAMP_SRC_EOF, StampAt::exposure_end, "fake", ""},
        // uvcvideo flags "start of exposure" whatever it stamps.
        Case{FakeCamera::Stamp::exposure_end, V4L2_BUF_FLAG_TSTAMP_SRC_SOE, StampAt::device, "uvcvideo", "N"},
        Case{FakeCamera::Stamp::exposure_end, V4L2_BUF_FLAG_TSTAMP_SRC_SOE, StampAt::device, "uvcvideo", ""},
        Case{FakeCamera::Stamp::exposure_start, V4L2_BUF_FLAG_TSTAMP_SRC_SOE, StampAt::device, "uvcvideo", "Y"}}) {
    FakeMachine machine;
    if (*c.hardware_stamps != 0) machine.files["/sys/module/uvcvideo/parameters/hwtimestamps"] = c.hardware_stamps;
    FakeCamera camera = usual();
    camera.stamp = c.stamp;
    camera.driver = c.driver;
    camera.stamp_flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC | c.source_flag;
    machine.add(camera);
    V4l2Params p = params();
    p.stamp = c.told;
    auto source = V4l2Camera::create(p, machine);
    ASSERT_TRUE(source);
    (*source)->begin(0);
    Frame frame;
    ASSERT_EQ((*source)->next(frame), FrameStatus::image);
    const std::int64_t into = frame.mid_exposure_ns % camera.period_ns;
    EXPECT_NEAR(static_cast<double>(into), 2e6, 1000.0) << c.driver << " " << c.hardware_stamps;
  }
}

TEST(V4l2Camera, TheExposureReadBackIsWhatCounts) {
  FakeCamera camera = usual();
  camera.controls[V4L2_CID_EXPOSURE_ABSOLUTE] = {80, 80, 80};  // 8 ms, whatever is asked for
  camera.exposure_ns = 8 * kMs;
  Rig rig(camera);
  ASSERT_EQ(rig.next(), FrameStatus::image);
  EXPECT_DOUBLE_EQ(rig.source->exposure_ms(), 8.0);
  EXPECT_NEAR(static_cast<double>((rig.start_ns + rig.frame.mid_exposure_ns) % camera.period_ns), 4e6, 1000.0);
  ASSERT_NE(rig.event(Kind::control_refused), nullptr);
  EXPECT_EQ(describe(*rig.event(Kind::control_refused)), "NOT LOCKED: exposure_ms is 8 on the device, 4 wanted");
}

TEST(V4l2Camera, LocksExposureGainAndWhiteBalance) {
  Rig rig;
  const auto& controls = rig.fake->controls;
  EXPECT_EQ(controls.at(V4L2_CID_EXPOSURE_AUTO).value, V4L2_EXPOSURE_MANUAL);
  EXPECT_EQ(controls.at(V4L2_CID_EXPOSURE_AUTO_PRIORITY).value, 0);
  EXPECT_EQ(controls.at(V4L2_CID_EXPOSURE_ABSOLUTE).value, 40);
  EXPECT_EQ(controls.at(V4L2_CID_AUTOGAIN).value, 0);
  EXPECT_EQ(controls.at(V4L2_CID_GAIN).value, 32);
  EXPECT_EQ(controls.at(V4L2_CID_AUTO_WHITE_BALANCE).value, 0);
  EXPECT_EQ(controls.at(V4L2_CID_WHITE_BALANCE_TEMPERATURE).value, 4600);
  EXPECT_EQ(rig.counters().controls_refused.load(), 0u);
}

TEST(V4l2Camera, SaysEveryControlThatTheDeviceRefuses) {
  FakeCamera camera = usual();
  camera.controls[V4L2_CID_EXPOSURE_AUTO].refuse = EBUSY;
  camera.controls[V4L2_CID_GAIN].stuck = true;
  camera.controls[V4L2_CID_WHITE_BALANCE_TEMPERATURE].maximum = 4000;  // clamped
  camera.controls[V4L2_CID_AUTO_WHITE_BALANCE].reset_by_stream = true;
  camera.controls[V4L2_CID_AUTO_WHITE_BALANCE].minimum = 1;
  camera.controls.erase(V4L2_CID_EXPOSURE_ABSOLUTE);
  Rig rig(camera);
  std::string all;
  for (const auto& event : rig.events) all += describe(event) + "\n";
  EXPECT_NE(all.find("NOT LOCKED: exposure_ms (automatic off) is 3 on the device, 1 wanted: Device or resource busy"),
            std::string::npos)
      << all;
  EXPECT_NE(all.find("NOT LOCKED: gain is 10 on the device, 32 wanted"), std::string::npos) << all;
  EXPECT_NE(all.find("NOT LOCKED: white_balance_k is 4000 on the device, 4600 wanted"), std::string::npos) << all;
  EXPECT_NE(all.find("NOT LOCKED: white_balance_k (automatic off) is 1"), std::string::npos) << all;
  EXPECT_NE(all.find("cannot be told exposure_ms (4 wanted)"), std::string::npos) << all;
  EXPECT_EQ(rig.counters().controls_refused.load(), 5u);
  EXPECT_EQ(rig.next(), FrameStatus::image) << "what is refused is said; the stream goes on";
}

TEST(V4l2Camera, CountsWhatTheDeviceLost) {
  Rig rig;
  rig.run(5);
  const std::uint64_t k = rig.image_of_frame();
  rig.fake->lose = {k + 2, k + 3, k + 6};
  std::uint64_t lost = 0;
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(rig.next(), FrameStatus::image);
    lost += rig.frame.lost;
    EXPECT_EQ(rig.frame.sequence, rig.image_of_frame() - k + 4);
  }
  EXPECT_EQ(lost, 3u);
  EXPECT_EQ(rig.counters().lost.load(), 3u);
  EXPECT_EQ(rig.said(Kind::frames_lost), 1) << "at most every ten seconds";
}

TEST(V4l2Camera, HandsOverTheNewestWhenNobodyFetchedInTime) {
  Rig rig;
  rig.run(3);
  const std::uint64_t k = rig.image_of_frame();
  rig.machine.time_ns += 3 * rig.fake->period_ns;  // three more wait now
  ASSERT_EQ(rig.next(), FrameStatus::image);
  EXPECT_EQ(rig.image_of_frame(), k + 3);
  EXPECT_EQ(rig.frame.lost, 2u);
  EXPECT_EQ(rig.counters().overrun.load(), 2u);
  EXPECT_EQ(rig.counters().lost.load(), 0u) << "the device lost none";
  rig.run(50);
  EXPECT_EQ(rig.counters().lost.load(), 0u) << "every buffer was given back";
}

TEST(V4l2Camera, AReaderSlowerThanTheCameraStillGetsFreshImages) {
  Rig rig;
  rig.machine.work_ns = 0;
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(rig.next(), FrameStatus::image);
    const std::int64_t age = rig.machine.time_ns - rig.start_ns - rig.frame.mid_exposure_ns;
    EXPECT_LT(age, 2 * rig.fake->period_ns);
    rig.machine.time_ns += 40 * kMs;
  }
}

TEST(V4l2Camera, AReaderThatSleptDoesNotBlameTheStamps) {
  Rig rig;
  rig.run(5);
  for (int i = 0; i < 20; ++i) {
    rig.machine.time_ns += 6 * kS;
    ASSERT_EQ(rig.next(), FrameStatus::image);
  }
  EXPECT_EQ(rig.counters().bad_time.load(), 0u);
}

TEST(V4l2Camera, IncompleteImagesAreMissing) {
  for (const PixelFormat format : {PixelFormat::yuyv, PixelFormat::mjpeg, PixelFormat::grey, PixelFormat::bayer_rggb}) {
    V4l2Params p = params();
    p.format = format;
    Rig rig(usual(), p);
    rig.run(2);
    const std::uint64_t k = rig.image_of_frame();
    rig.fake->truncate = {k + 1};
    rig.fake->flag_error = {k + 3};
    EXPECT_EQ(rig.next(), FrameStatus::missing) << name_of(format);
    EXPECT_EQ(rig.next(), FrameStatus::image);
    EXPECT_EQ(rig.next(), FrameStatus::missing);
    EXPECT_EQ(rig.next(), FrameStatus::image);
    EXPECT_EQ(rig.counters().corrupt.load(), 2u);
    EXPECT_EQ(rig.said(Kind::corrupt), 2);
    EXPECT_EQ(rig.counters().lost.load(), 0u) << "came, only unusable";
  }
}

TEST(V4l2Camera, ACorruptJpegIsMissing) {
  V4l2Params p = params();
  p.format = PixelFormat::mjpeg;
  Rig rig(usual(), p);
  rig.run(2);
  const std::uint64_t k = rig.image_of_frame();
  rig.fake->picture = [k](const FakeCamera& c, std::uint64_t image) -> std::vector<std::uint8_t> {
    std::vector<std::uint8_t> bytes = testing::solid(c, grey_level(image));
    if (image == k + 1) return {};                                    // nothing
    if (image == k + 2) bytes[0] = 0;                                 // no start of image
    if (image == k + 3) std::fill(bytes.begin(), bytes.end(), 0xff);  // nothing but markers
    if (image == k + 4) bytes.resize(bytes.size() - 20);              // its end is missing
    if (image == k + 5) {                                             // of another size
      FakeCamera other = c;
      other.set_width = 32;
      bytes = testing::solid(other, 99);
    }
    return bytes;
  };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(rig.next(), FrameStatus::missing) << i;
  EXPECT_EQ(rig.next(), FrameStatus::image);
  EXPECT_EQ(rig.said(Kind::corrupt), 1) << "said once for a row of them";
}

TEST(V4l2Camera, StridesWiderThanARowAreRead) {
  for (const PixelFormat format : {PixelFormat::yuyv, PixelFormat::grey, PixelFormat::bayer_rggb}) {
    FakeCamera camera = usual();
    camera.stride_extra = 13;
    V4l2Params p = params();
    p.format = format;
    p.width_px = 50, p.height_px = 37;
    Rig rig(camera, p);
    ASSERT_EQ(rig.next(), FrameStatus::image);
    const std::uint8_t level = grey_level(rig.image_of_frame());
    const double expected = format == PixelFormat::yuyv ? (level - 16) * 255.0 / 219 : level;
    for (int row : {0, 18, 36})
      for (int column : {0, 25, 49})
        EXPECT_NEAR(rig.frame.image.at<cv::Vec3b>(row, column)[2], expected, 1) << row << " " << column;
  }
}

TEST(V4l2Camera, ComesBackAfterItWasUnplugged) {
  FakeCamera camera = usual();
  Rig rig(camera);
  rig.run(10);
  const std::uint64_t number = rig.frame.sequence;
  const std::int64_t last = rig.frame.mid_exposure_ns;
  rig.fake->unplug_ns = rig.machine.time_ns + 5 * kMs;
  rig.fake->replug_ns = rig.machine.time_ns + 7 * kS;
  rig.fake->number_after_replug = 9;  // another node now
  EXPECT_EQ(rig.next(3), FrameStatus::timeout);
  EXPECT_EQ(rig.machine.descriptors(), 0) << "an open descriptor keeps the dead device's node";
  EXPECT_FALSE(rig.counters().streaming.load());
  ASSERT_EQ(rig.next(10), FrameStatus::image);
  EXPECT_NEAR(static_cast<double>(rig.frame.mid_exposure_ns - last), 7e9, 1.2e9);
  EXPECT_EQ(rig.source->device().number, 9);
  const double periods = static_cast<double>(rig.frame.mid_exposure_ns - last) / static_cast<double>(camera.period_ns);
  EXPECT_NEAR(static_cast<double>(rig.frame.sequence - number), periods, 1.0);
  EXPECT_EQ(rig.said(Kind::gone), 1);
  EXPECT_EQ(rig.said(Kind::connected), 2);
  EXPECT_EQ(rig.said(Kind::not_found), 1) << "said once, not at every look";
  EXPECT_EQ(rig.fake->controls.at(V4L2_CID_GAIN).value, 32) << "locked again";
  EXPECT_EQ(rig.counters().connections.load(), 2u);
  rig.source.reset();
  EXPECT_EQ(rig.fake->opened, rig.fake->closed);
  EXPECT_EQ(rig.fake->mapped, rig.fake->unmapped);
}

TEST(V4l2Camera, UnpluggedAThousandTimesLeaksNothing) {
  Rig rig;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_NE(rig.next(), FrameStatus::timeout) << i;
    rig.fake->unplug_ns = rig.machine.time_ns + (i % 17) * kMs;
    rig.fake->replug_ns = rig.fake->unplug_ns + 1 + (i % 5) * 100 * kMs;
    while (rig.machine.time_ns < rig.fake->replug_ns) rig.source->next(rig.frame), rig.listen();
    rig.next();
  }
  rig.source.reset();
  EXPECT_EQ(rig.machine.descriptors(), 0);
  EXPECT_EQ(rig.fake->mapped, rig.fake->unmapped);
}

TEST(V4l2Camera, IsOftenThereBeforeTheSessionAndSometimesNot) {
  FakeCamera camera = usual();
  camera.unplug_ns = 0;
  camera.replug_ns = 12 * kS;
  Rig rig(camera);
  EXPECT_FALSE(rig.source->connected());
  EXPECT_EQ(rig.said(Kind::not_found), 1);
  EXPECT_EQ(rig.next(1), FrameStatus::timeout);
  EXPECT_EQ(rig.next(5), FrameStatus::image);
  EXPECT_EQ(rig.counters().lost.load(), 0u);
}

TEST(V4l2Camera, AStreamThatBreaksIsStartedAgain) {
  for (const int error : {EIO, EPIPE, EINVAL}) {
    Rig rig;
    rig.run(3);
    rig.fake->dequeue_error = {{rig.image_of_frame() + 2, error}};
    rig.run(3);
    EXPECT_EQ(rig.fake->streams, 2u) << error;
    EXPECT_EQ(rig.said(Kind::stalled), 1);
    EXPECT_EQ(rig.next(), FrameStatus::image);
    EXPECT_EQ(rig.counters().restarts.load(), 1u);
  }
}

TEST(V4l2Camera, AStreamThatFallsSilentIsStartedAgain) {
  Rig rig;
  rig.run(3);
  rig.fake->stall_from_ns = rig.machine.time_ns;
  rig.fake->stall_until_ns = rig.machine.time_ns + 3 * kS;
  ASSERT_EQ(rig.next(10), FrameStatus::image);
  EXPECT_GE(rig.fake->streams, 2u);
  EXPECT_LE(rig.fake->streams, 5u) << "not in a frenzy";
  EXPECT_GT(rig.said(Kind::stalled), 0);
}

TEST(V4l2Camera, NeverSpinsWhateverPollSays) {
  Rig rig;
  rig.run(2);
  rig.fake->always_poll_error = true;
  const std::uint64_t calls = rig.machine.calls;
  const std::int64_t from = rig.machine.time_ns;
  for (int i = 0; i < 500; ++i) rig.source->next(rig.frame);
  EXPECT_GT(rig.machine.time_ns - from, 5 * kS) << "it waits between attempts";
  EXPECT_LT(rig.machine.calls - calls, 100'000u);
  rig.fake->always_poll_error = false;
  EXPECT_EQ(rig.next(), FrameStatus::image);
}

TEST(V4l2Camera, ASequenceThatJumpsIsNotBelieved) {
  for (const std::int64_t jump : {std::int64_t{1'000'000}, std::int64_t{-1'000'000}, std::int64_t{-3}}) {
    Rig rig;
    rig.run(20);
    const std::uint64_t before = rig.frame.sequence;
    rig.fake->sequence_jump = {{rig.image_of_frame() + 1, jump}};
    rig.run(5);
    EXPECT_EQ(rig.frame.sequence, before + 5) << jump;
    EXPECT_EQ(rig.counters().lost.load(), 0u) << jump;
    EXPECT_EQ(rig.said(Kind::sequence_restart), 1);
  }
}

TEST(V4l2Camera, ASequenceThatWrapsGoesOn) {
  FakeCamera camera = usual();
  camera.sequence_jump = {{0, 0xFFFF'FFF0}};
  Rig rig(camera);
  rig.run(40);
  EXPECT_EQ(rig.frame.sequence, 39u);
  EXPECT_EQ(rig.said(Kind::sequence_restart), 0);
}

TEST(V4l2Camera, ADriverThatDoesNotCountIsCountedByTime) {
  FakeCamera camera = usual();
  camera.counts = false;
  Rig rig(camera);
  rig.run(10);
  const std::uint64_t k = rig.image_of_frame();
  rig.fake->lose = {k + 3, k + 4};
  rig.run(10);
  EXPECT_EQ(rig.frame.sequence, 21u);
  EXPECT_EQ(rig.counters().lost.load(), 2u);
  EXPECT_EQ(rig.said(Kind::sequence_restart), 1);
}

TEST(V4l2Camera, StampsThatCannotBeAreReplacedByArrival) {
  for (const std::int64_t wrong : {5 * kS, -5 * kS, -40 * kMs, 20 * kMs}) {
    Rig rig;
    rig.run(10);
    const std::int64_t before = rig.frame.mid_exposure_ns;
    rig.fake->stamp_error_ns = {{rig.image_of_frame() + 1, wrong}};
    ASSERT_EQ(rig.next(), FrameStatus::image);
    EXPECT_NEAR(static_cast<double>(rig.frame.mid_exposure_ns - before), static_cast<double>(rig.fake->period_ns), 1e5)
        << wrong;
    EXPECT_EQ(rig.counters().bad_time.load(), 1u);
    EXPECT_EQ(rig.said(Kind::bad_time), 1);
    rig.run(5);
    EXPECT_EQ(rig.counters().bad_time.load(), 1u);
    EXPECT_EQ(rig.counters().lost.load(), 0u);
  }
}

TEST(V4l2Camera, StampsThatAreWrongTooOftenAreNotLookedAtAnyMore) {
  // As the kernel's vivid does when told to stamp the end of frames: nine tenths of a period ahead.
  FakeCamera camera = usual();
  for (std::uint64_t k = 0; k < 3000; ++k) camera.stamp_error_ns[k] = k % 3 == 0 ? 0 : 15 * kMs;
  Rig rig(camera);
  rig.run(1000);
  EXPECT_EQ(rig.said(Kind::distrusted), 1);
  EXPECT_EQ(rig.said(Kind::bad_time), 1);
  EXPECT_LT(rig.counters().bad_time.load(), 20u);
  EXPECT_EQ(rig.counters().images.load(), 1000u);
  EXPECT_EQ(rig.counters().lost.load(), 0u);
  rig.fake->unplug_ns = rig.machine.time_ns;
  rig.fake->replug_ns = rig.machine.time_ns + kS;
  rig.fake->stamp_error_ns.clear();
  rig.run(100);
  const std::uint64_t bad = rig.counters().bad_time.load();
  rig.run(100);
  EXPECT_EQ(rig.counters().bad_time.load(), bad) << "connected anew, it is believed again";
}

TEST(V4l2Camera, WithoutMonotonicStampsArrivalCounts) {
  FakeCamera camera = usual();
  camera.stamp_flags = V4L2_BUF_FLAG_TIMESTAMP_UNKNOWN;
  Rig rig(camera);
  rig.run(10);
  EXPECT_EQ(rig.said(Kind::no_device_time), 1);
  EXPECT_NEAR(static_cast<double>((rig.start_ns + rig.frame.mid_exposure_ns) % camera.period_ns), 2e6, 1e4);
}

TEST(V4l2Camera, ImagesFromBeforeTheSessionAreNotHandedOver) {
  FakeMachine machine;
  machine.add(usual());
  auto source = V4l2Camera::create(params(), machine);
  ASSERT_TRUE(source);
  (*source)->begin(machine.time_ns + kS / 10);
  Frame frame;
  while ((*source)->next(frame) != FrameStatus::image) {
  }
  EXPECT_GE(frame.mid_exposure_ns, 0);
  EXPECT_EQ((*source)->counters()->lost.load(), 0u);
}

TEST(V4l2Camera, WhatWaitedBeforeTheSessionIsNobodysLoss) {
  FakeMachine machine;
  machine.add(usual());
  auto source = V4l2Camera::create(params(), machine);
  ASSERT_TRUE(source);
  machine.time_ns += 30 * kS;  // making the renderer took its time; all buffers are full since then
  (*source)->begin(machine.time_ns + kS / 10);
  Frame frame;
  for (int images = 0; images < 20;) images += (*source)->next(frame) == FrameStatus::image;
  EXPECT_EQ((*source)->counters()->lost.load(), 0u);
  EXPECT_EQ((*source)->counters()->bad_time.load(), 0u);
  for (CameraEvent event; (*source)->take_event(event);)
    EXPECT_EQ(static_cast<int>(event.kind), static_cast<int>(Kind::connected)) << describe(event);
}

TEST(V4l2Camera, MidExposuresGrowWhateverHappens) {
  FakeCamera camera = usual();
  camera.replug_ns = INT64_MAX;
  Rig rig(camera);
  std::int64_t last = -1;
  std::uint64_t number = 0;
  std::uint64_t seed = 12345;
  const auto random = [&seed](std::uint64_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
  };
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t k =
        static_cast<std::uint64_t>((rig.machine.time_ns - rig.fake->phase_ns) / rig.fake->period_ns);
    switch (random(12)) {
      case 0:
        rig.fake->lose.insert(k + 1 + random(4));
        break;
      case 1:
        rig.fake->truncate.insert(k + 1 + random(4));
        break;
      case 2:
        rig.fake->flag_error.insert(k + 1 + random(4));
        break;
      case 3:
        rig.fake->dequeue_error[k + 1 + random(4)] = random(2) != 0 ? EIO : ENODEV;
        break;
      case 4:
        rig.fake->stamp_error_ns[k + 1 + random(4)] = static_cast<std::int64_t>(random(100)) * kMs - 50 * kMs;
        break;
      case 5:
        rig.fake->sequence_jump[k + 1 + random(4)] = static_cast<std::int64_t>(random(2000)) - 1000;
        break;
      case 6:
        if (random(10) == 0) {
          rig.fake->unplug_ns = rig.machine.time_ns + static_cast<std::int64_t>(random(30)) * kMs;
          rig.fake->replug_ns = rig.fake->unplug_ns + static_cast<std::int64_t>(random(900)) * kMs;
        }
        break;
      default:
        break;
    }
    const FrameStatus status = rig.source->next(rig.frame);
    rig.listen();
    if (status != FrameStatus::image && status != FrameStatus::missing) continue;
    ASSERT_GT(rig.frame.mid_exposure_ns, last) << i;
    if (last >= 0) {
      ASSERT_GT(rig.frame.sequence, number) << i;
    }
    ASSERT_LT(rig.frame.lost, 10'000u) << i;
    last = rig.frame.mid_exposure_ns;
    number = rig.frame.sequence;
  }
  EXPECT_GT(rig.counters().images.load(), 1000u);
  rig.source.reset();
  EXPECT_EQ(rig.machine.descriptors(), 0);
  EXPECT_EQ(rig.fake->mapped, rig.fake->unmapped);
}

TEST(V4l2Camera, ADeviceThatCannotDoItIsRefusedWithItsReason) {
  struct Case {
    const char* what;
    std::function<void(FakeCamera&, V4l2Params&)> change;
    const char* words;
    Error::Kind kind;
  };
  const std::vector<Case> cases{
      {"another format", [](FakeCamera& c, V4l2Params&) { c.formats = {V4L2_PIX_FMT_GREY}; },
       "refuses format yuyv: it offers GREY instead", Error::Kind::usage},
      {"another size", [](FakeCamera& c, V4l2Params&) { c.width = 320, c.height = 240; },
       "refuses 64 x 48 px as the rig file says: it offers 320 x 240", Error::Kind::usage},
      {"interlaced", [](FakeCamera& c, V4l2Params&) { c.field = V4L2_FIELD_INTERLACED; }, "interlaced",
       Error::Kind::usage},
      {"busy", [](FakeCamera& c, V4l2Params&) { c.refuses[VIDIOC_REQBUFS] = EBUSY; }, "another program streams from it",
       Error::Kind::unavailable},
      {"forbidden", [](FakeCamera& c, V4l2Params&) { c.open_error = EACCES; }, "usermod -aG video",
       Error::Kind::unavailable},
      {"no bandwidth", [](FakeCamera& c, V4l2Params&) { c.refuses[VIDIOC_STREAMON] = ENOSPC; }, "start the stream",
       Error::Kind::unavailable},
      {"one buffer", [](FakeCamera& c, V4l2Params&) { c.buffers_most = 1; }, "two image buffers", Error::Kind::usage},
      {"neither serial nor path", [](FakeCamera&, V4l2Params& p) { p.serial.clear(); }, "ligature doctor",
       Error::Kind::usage},
      {"range", [](FakeCamera&, V4l2Params& p) { p.buffers = 99; }, "out of range", Error::Kind::usage},
  };
  for (const Case& c : cases) {
    FakeMachine machine;
    FakeCamera camera = usual();
    V4l2Params p = params();
    c.change(camera, p);
    machine.add(camera);
    const auto source = V4l2Camera::create(p, machine);
    ASSERT_FALSE(source) << c.what;
    EXPECT_NE(source.error().message.find(c.words), std::string::npos) << c.what << ": " << source.error().message;
    EXPECT_EQ(static_cast<int>(source.error().kind), static_cast<int>(c.kind)) << c.what;
    EXPECT_EQ(source.error().message.find('\n'), std::string::npos);
    EXPECT_EQ(machine.descriptors(), 0) << c.what;
  }
}

TEST(V4l2Camera, EverySystemCallThatFailsLeavesNothingOpen) {
  for (const unsigned long request : {VIDIOC_QUERYCAP, VIDIOC_S_FMT, VIDIOC_REQBUFS, VIDIOC_QUERYBUF, VIDIOC_QBUF,
                                      VIDIOC_STREAMON, VIDIOC_S_PARM, VIDIOC_QUERYCTRL, VIDIOC_S_CTRL, VIDIOC_G_CTRL})
    for (const int error : {EINVAL, EIO, ENODEV, ENOTTY}) {
      FakeMachine machine;
      FakeCamera camera = usual();
      camera.refuses[request] = error;
      auto& fake = machine.add(camera);
      {
        auto source = V4l2Camera::create(params(), machine);
        Frame frame;
        if (source)
          for (int i = 0; i < 10; ++i) (*source)->next(frame);
      }
      EXPECT_EQ(machine.descriptors(), 0) << request << " " << error;
      EXPECT_EQ(fake.mapped, fake.unmapped);
    }
}

TEST(V4l2Camera, AnotherRateIsSaid) {
  FakeCamera camera = usual();
  camera.rate_granted_hz = 30;
  Rig rig(camera);
  ASSERT_NE(rig.event(Kind::rate_differs), nullptr);
  EXPECT_EQ(describe(*rig.event(Kind::rate_differs)), "sends 30 images a second, 60 wanted");
}

TEST(V4l2Camera, ACameraThatTheRigFileDoesNotKnowIsSaid) {
  V4l2Params p = params();
  p.serial.clear();
  p.path = "1-2.3";
  p.calibrated_serial = "XYZ";
  Rig rig(usual(), p);
  ASSERT_NE(rig.event(Kind::other_serial), nullptr);
  EXPECT_NE(describe(*rig.event(Kind::other_serial)).find("ABC123"), std::string::npos);
}

}  // namespace
}  // namespace ligature::drivers
