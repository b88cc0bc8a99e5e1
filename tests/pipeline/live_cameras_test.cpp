/// The whole appliance on four devices that run by their own clocks: pictures of the virtual rig, sent as cameras send
/// them, fetched through V4L2's calls.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/videodev2.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>

#include "appliance/run/session.hpp"
#include "appliance/shell/station.hpp"
#include "config/profile_file.hpp"
#include "config/rig_file.hpp"
#include "drivers/virtual_rig/hand_path.hpp"
#include "drivers/virtual_rig/virtual_camera.hpp"
#include "tests/pipeline/live_machine.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::appliance {
namespace {

using drivers::PixelFormat;
using drivers::testing::FakeCamera;
using nlohmann::json;

constexpr double kRate_hz = 10;
constexpr std::size_t kImages = 40;  // of each camera, to and fro: hands never leap
constexpr std::array<PixelFormat, kCameras> kFormats{PixelFormat::yuyv, PixelFormat::mjpeg, PixelFormat::bayer_rggb,
                                                     PixelFormat::yuyv};
constexpr std::array<double, kCameras> kPhase_ms{0, 5, 10, 15};

/// A picture as this camera's driver lays it into memory.
std::vector<std::uint8_t> send(const cv::Mat& bgr, PixelFormat format) {
  std::vector<std::uint8_t> bytes;
  if (format == PixelFormat::mjpeg) {
    cv::imencode(".jpg", bgr, bytes, {cv::IMWRITE_JPEG_QUALITY, 95});
    return bytes;
  }
  for (int y = 0; y < bgr.rows; ++y)
    for (int x = 0; x < bgr.cols; ++x) {
      const cv::Vec3b& p = bgr.at<cv::Vec3b>(y, x);
      if (format == PixelFormat::bayer_rggb) {
        bytes.push_back(p[y % 2 == 0 ? (x % 2 == 0 ? 2 : 1) : (x % 2 == 0 ? 1 : 0)]);
        continue;
      }
      const cv::Vec3b& q = bgr.at<cv::Vec3b>(y, x ^ 1);
      const auto luma = [](const cv::Vec3b& c) { return 0.299 * c[2] + 0.587 * c[1] + 0.114 * c[0]; };
      const double mean = 0.5 * (luma(p) + luma(q)), blue = 0.5 * (p[0] + q[0]), red = 0.5 * (p[2] + q[2]);
      const double chroma = x % 2 == 0 ? (blue - mean) / 1.772 : (red - mean) / 1.402;
      bytes.push_back(cv::saturate_cast<std::uint8_t>(16 + luma(p) * 219 / 255));
      bytes.push_back(cv::saturate_cast<std::uint8_t>(128 + chroma * 224 / 255));
    }
  return bytes;
}

class PipelineLive : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() / fmt::format("ligature_live_{}", getpid());
    std::filesystem::create_directories(directory_);
    const std::filesystem::path source(LIGATURE_SOURCE_DIR);
    auto profile = config::load_profile(source / "config/profiles/rig.toml");
    ASSERT_TRUE(profile) << profile.error().message;
    profile->rig = source / "config/rigs/demo.toml";
    profile->cameras.rate_hz = kRate_hz;
    profile->cameras.max_skew_ms = 30;
    profile->sample_delay_ms = 100;
    profile->tracking.timeout_ms = 90;
    profile->tracking.prediction_ms = 400;
    profile->render.presenter = config::RenderSettings::Presenter::none;
    profile->memory.lock = false;
    for (std::size_t c = 0; c < kCameras; ++c) {
      profile->cameras.devices[c].format = kFormats[c];
      profile->cameras.devices[c].serial = fmt::format("SERIAL{}", c);
      profile->cameras.devices[c].path.clear();
    }
    options_.profile = *profile;
    options_.instance_lock = directory_ / "instance.lock";
    options_.devices = &machine_;

    const auto rig = config::load_rig(profile->rig);
    ASSERT_TRUE(rig);
    auto left = drivers::load_path((source / "deploy/demo/left.csv").string());
    auto right = drivers::load_path((source / "deploy/demo/right.csv").string());
    ASSERT_TRUE(left && right);
    auto path = drivers::HandPath::create({*left, *right}, drivers::PathBlend::minimum_jerk, {}, *rig, true);
    ASSERT_TRUE(path);
    const auto hands = std::make_shared<const drivers::HandPath>(std::move(*path));
    drivers::VirtualRigParams params;
    params.rate_hz = kRate_hz;
    params.skew_ms = kPhase_ms;
    for (std::size_t c = 0; c < kCameras; ++c) {
      auto camera = drivers::make_virtual_camera(params, *rig, c, hands);
      ASSERT_TRUE(camera);
      drivers::Frame frame;
      for (auto& picture : pictures_[c]) {
        ASSERT_EQ((*camera)->next(frame), drivers::FrameStatus::image);
        picture = send(frame.image, kFormats[c]);
      }
      FakeCamera fake;
      fake.number = static_cast<int>(10 + c);
      fake.serial = fmt::format("SERIAL{}", c);
      fake.port = fmt::format("1-{}", c + 1);
      fake.period_ns = static_cast<std::int64_t>(1e9 / kRate_hz);
      fake.phase_ns = static_cast<std::int64_t>(kPhase_ms[c] * 1e6);
      fake.controls = {{V4L2_CID_EXPOSURE_ABSOLUTE, {10, 1, 500}},
                       {V4L2_CID_GAIN, {10, 0, 255}},
                       {V4L2_CID_WHITE_BALANCE_TEMPERATURE, {3000, 2800, 6500}}};
      fake.picture = [this, c](const FakeCamera&, std::uint64_t k) {
        const std::size_t i = k % (2 * kImages - 2);
        return pictures_[c][std::min(i, 2 * kImages - 2 - i)];
      };
      machine_.fake.add(fake);
    }
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  // How many triggers there are depends on the machine; what becomes of them does not.
  static double share_tracked(const json& report) {
    const json& n = report["tracking"];
    const double tracked = n["tracked"].get<double>();
    return tracked / (tracked + n["predicted"].get<double>() + n["lost"].get<double>());
  }
  static bool has_event(const json& report, const std::string& words) {
    for (const json& event : report["events"])
      if (event["what"].get<std::string>().find(words) != std::string::npos) return true;
    return false;
  }

  std::filesystem::path directory_;
  testing::LiveMachine machine_;
  std::array<std::array<std::vector<std::uint8_t>, kImages>, kCameras> pictures_;
  RunOptions options_;
};

TEST_F(PipelineLive, FreeRunningCamerasAreTrackedThroughAnUnpluggedOne) {
  FakeCamera& third = machine_.fake.cameras[2];
  int sent = 0;
  third.picture = [&, inner = third.picture](const FakeCamera& c, std::uint64_t k) {
    if (++sent == 12) {
      third.unplug_ns = machine_.fake.time_ns + 1'000'000;
      third.replug_ns = machine_.fake.time_ns + 1'500'000'000;
      third.number_after_replug = 33;
    }
    return inner(c, k);
  };
  machine_.fake.cameras[1].controls.erase(V4L2_CID_GAIN);
  Station station({});
  station.session_begins(1);
  options_.port = &station;
  options_.duration_s = 5;
  guard::reset();
  const auto outcome = run_session(options_);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
  const json report = json::parse(outcome->report);
  SCOPED_TRACE(report.dump(1));
  for (const json& n : report["frames"]["captured"]) EXPECT_GT(n.get<int>(), 0);
  EXPECT_GT(share_tracked(report), 0.8);
  EXPECT_NEAR(report["skew_ms"]["max"].get<double>(), 15, 0.5) << "phases of 0, 5, 10, 15 ms";
  EXPECT_GE(report["skew_ms"]["compensated"].get<int>(), 5);
  EXPECT_TRUE(has_event(report, "compensated by each image's own time"));
  EXPECT_TRUE(has_event(report, "camera C2: unplugged"));
  EXPECT_TRUE(has_event(report, "camera C2: connected: /dev/video33"));
  EXPECT_TRUE(has_event(report, "camera C2 lost"));
  EXPECT_TRUE(has_event(report, "camera C2 is back"));
  ASSERT_EQ(report["devices"].size(), 4u);
  for (std::size_t c = 0; c < kCameras; ++c) {
    const json& device = report["devices"][c];
    EXPECT_EQ(device["connections"], c == 2 ? 2 : 1);
    EXPECT_EQ(device["corrupt"], 0);
    EXPECT_EQ(device["refused"], 0);
    EXPECT_EQ(device["controls_refused"], c == 1 ? 1 : 0);
    EXPECT_LE(std::abs(device["skew_ms"].get<double>()), kPhase_ms.back());
  }
  // Whichever of the others a trigger holds.
  EXPECT_LT(report["devices"][0]["skew_ms"].get<double>(), 0);
  EXPECT_GT(report["devices"][3]["skew_ms"].get<double>(), 0);
  // The same for the technician, as it stood when it was last published.
  const shell::View view = station.cameras();
  SCOPED_TRACE(view.text);
  const json cameras = json::parse(view.json);
  ASSERT_EQ(cameras.size(), 4u);
  for (std::size_t c = 0; c < kCameras; ++c) {
    const json& device = cameras[c]["device"];
    EXPECT_EQ(device["replugs"], c == 2 ? 1 : 0);
    EXPECT_EQ(device["controls_refused"], c == 1 ? 1 : 0);
    EXPECT_EQ(device["sequence_gaps"], report["devices"][c]["lost"]);
    EXPECT_EQ(device["incomplete"], 0);
    EXPECT_EQ(device["exposure_ms"], device["exposure_asked_ms"]);
    EXPECT_NEAR(device["rate_hz"].get<double>(), kRate_hz, 0.05) << "the fake's stamps keep their grid";
    EXPECT_EQ(device["rate_asked_hz"], kRate_hz);
  }
  for (const char* row : {"rate Hz (asked 10)", "exposure ms / asked", "sequence gaps", "incomplete images", "replugs",
                          "controls refused", "skew ms"})
    EXPECT_NE(view.text.find(row), std::string::npos) << row;
}

TEST_F(PipelineLive, ACameraTooFarFromTheOthersIsNotUsedAndSaid) {
  options_.profile.cameras.max_skew_ms = 12;
  options_.duration_s = 3;
  const auto outcome = run_session(options_);
  ASSERT_TRUE(outcome) << outcome.error().message;
  const json report = json::parse(outcome->report);
  SCOPED_TRACE(report.dump(1));
  EXPECT_TRUE(has_event(report, "camera C3 exposes"));
  EXPECT_TRUE(has_event(report, "NOT USED"));
  EXPECT_GE(report["devices"][3]["refused"].get<int>(), 5);  // as many in a row make the event
  EXPECT_EQ(report["devices"][1]["refused"], 0);
  EXPECT_LT(report["skew_ms"]["max"].get<double>(), 12.0);
  EXPECT_GT(share_tracked(report), 0.8);
}

TEST_F(PipelineLive, NothingPluggedInIsRefusedWithWhatIsThere) {
  for (FakeCamera& c : machine_.fake.cameras) c.serial = "SOMETHING";
  const auto outcome = run_session(options_);
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("none of the cameras C0, C1, C2, C3 is plugged in: there are /dev/video10 "
                                         "(serial 'SOMETHING', path 1-1), "),
            std::string::npos)
      << outcome.error().message;
}

TEST_F(PipelineLive, AnUnusableCameraIsRefusedByName) {
  machine_.fake.cameras[1].formats = {V4L2_PIX_FMT_YUYV};
  const auto outcome = run_session(options_);
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("camera C1: the device refuses format mjpeg: it offers YUYV instead"),
            std::string::npos)
      << outcome.error().message;
  EXPECT_EQ(machine_.fake.descriptors(), 0);
}

}  // namespace
}  // namespace ligature::appliance
