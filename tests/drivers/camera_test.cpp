#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <opencv2/imgcodecs.hpp>

#include "drivers/camera/faulty_camera.hpp"
#include "drivers/camera/recorded.hpp"
#include "drivers/camera/recorder.hpp"
#include "tests/drivers/scene.hpp"

namespace ligature::drivers {
namespace {

namespace fs = std::filesystem;

std::string fresh_dir(const char* name) {
  const fs::path dir = fs::path(::testing::TempDir()) / "ligature_camera_test" / name;
  fs::remove_all(dir);
  fs::create_directories(dir);
  return dir.string();
}

/// A source of small flat images: frame k is grey level 10 + k, gaps where asked.
class Flat final : public FrameSource {
 public:
  Flat(std::size_t camera, int frames) : camera_(camera), frames_(frames) {}
  FrameStatus next(Frame& frame) noexcept override {
    frame.sequence = static_cast<std::uint64_t>(k_);
    frame.mid_exposure_ns = 16'666'667LL * k_ + 1000 * static_cast<std::int64_t>(camera_);
    frame.delivery_ns = frame.mid_exposure_ns + 5'000'000;
    if (k_ == frames_) return FrameStatus::end;
    const bool gap = (k_ + static_cast<int>(camera_)) % 5 == 3;
    frame.image.create(48, 64, CV_8UC3);
    frame.image.setTo(cv::Scalar::all(10 + 4 * k_));
    ++k_;
    return gap ? FrameStatus::missing : FrameStatus::image;
  }

 private:
  std::size_t camera_;
  int frames_, k_ = 0;
};

void record(const std::string& dir, RecordingCodec codec, int frames) {
  RecorderParams params;
  params.codec = codec;
  auto recorder = FrameRecorder::create(dir, params);
  ASSERT_TRUE(recorder.has_value()) << recorder.error().message;
  std::array<Flat, kCameras> cameras{Flat(0, frames), Flat(1, frames), Flat(2, frames), Flat(3, frames)};
  Frame frame;
  for (int k = 0; k < frames; ++k)
    for (std::size_t c = 0; c < kCameras; ++c) {
      const FrameStatus status = cameras[c].next(frame);
      ASSERT_TRUE((*recorder)->write(c, frame, status).has_value());
    }
  ASSERT_TRUE((*recorder)->finish().has_value());
}

void expect_same(const std::string& dir, int frames, double tolerance) {
  auto recording = open_recording(dir, ImageSize{64, 48});
  ASSERT_TRUE(recording.has_value()) << recording.error().message;
  for (std::size_t c = 0; c < kCameras; ++c) {
    EXPECT_TRUE(recording->present[c]);
    Flat truth(c, frames);
    for (int k = 0; k <= frames; ++k) {
      Frame a, b;
      const FrameStatus expected = truth.next(a), got = recording->cameras[c]->next(b);
      ASSERT_EQ(got, expected) << "camera " << c << " frame " << k;
      if (got == FrameStatus::end) break;
      EXPECT_EQ(b.sequence, a.sequence);
      if (got != FrameStatus::image) continue;
      EXPECT_EQ(b.mid_exposure_ns, a.mid_exposure_ns);
      EXPECT_EQ(b.delivery_ns, b.mid_exposure_ns + kRecordedDelivery_ns);
      EXPECT_NEAR(b.image.at<cv::Vec3b>(24, 32)[1], 10 + 4 * k, tolerance) << "camera " << c << " frame " << k;
    }
  }
}

TEST(Recording, PngComesBackWithItsTimesAndGaps) {
  const std::string dir = fresh_dir("png");
  record(dir, RecordingCodec::png, 17);
  expect_same(dir, 17, 0);
}

TEST(Recording, LosslessVideoComesBackWithItsTimesAndGaps) {
  const std::string dir = fresh_dir("ffv1");
  record(dir, RecordingCodec::ffv1, 17);
  expect_same(dir, 17, 1.5);  // FFV1 keeps YUV; there and back rounds
}

TEST(Recording, CompressedVideoComesBackWithItsTimesAndGaps) {
  for (const RecordingCodec codec : {RecordingCodec::h264, RecordingCodec::mjpeg}) {
    const std::string dir = fresh_dir("lossy");
    record(dir, codec, 17);
    expect_same(dir, 17, 4);
  }
}

TEST(Recording, ASkippedImageCostsNoOtherItsPlace) {
  for (const auto codec : {RecordingCodec::png, RecordingCodec::ffv1}) {
    const std::string sub = fresh_dir(codec == RecordingCodec::png ? "skip_png" : "skip_ffv1");
    record(sub, codec, 20);
    auto recording = open_recording(sub, ImageSize{64, 48});
    ASSERT_TRUE(recording.has_value()) << recording.error().message;
    for (std::size_t c = 0; c < kCameras; ++c)
      for (int k = 0; k < 20; ++k) {
        Frame frame;
        if (k % 3 != 0) {
          EXPECT_EQ(recording->cameras[c]->skip(frame), FrameStatus::missing);
        } else if (recording->cameras[c]->next(frame) == FrameStatus::image) {
          EXPECT_EQ(frame.sequence, static_cast<std::uint64_t>(k));
          EXPECT_NEAR(frame.image.at<cv::Vec3b>(24, 32)[1], 10 + 4 * k, 1.5);
        }
      }
  }
}

TEST(Recording, AnUnfinishedOneIsReadable) {
  const std::string dir = fresh_dir("cut");
  auto recorder = FrameRecorder::create(dir, {RecordingCodec::png, 60});
  ASSERT_TRUE(recorder.has_value());
  std::array<Flat, kCameras> cameras{Flat(0, 200), Flat(1, 200), Flat(2, 200), Flat(3, 200)};
  Frame frame;
  for (int k = 0; k < 130; ++k)
    for (std::size_t c = 0; c < kCameras; ++c) {
      const FrameStatus status = cameras[c].next(frame);
      ASSERT_TRUE((*recorder)->write(c, frame, status).has_value());
    }
  const auto index = load_recording_index(dir);  // the recorder still has it open: what a power cut would leave
  ASSERT_TRUE(index.has_value()) << index.error().message;
  EXPECT_EQ(index->triggers.size(), 120u);
}

TEST(Recording, OddImagesLoseNothing) {
  const std::string dir = fresh_dir("odd");
  auto recorder = FrameRecorder::create(dir);
  ASSERT_TRUE(recorder.has_value());
  Frame frame;
  frame.image = cv::Mat(47, 63, CV_8UC3, cv::Scalar(1, 2, 3));
  frame.image.at<cv::Vec3b>(46, 62) = {200, 100, 50};
  for (std::size_t c = 0; c < kCameras; ++c) ASSERT_TRUE((*recorder)->write(c, frame, FrameStatus::image).has_value());
  ASSERT_TRUE((*recorder)->finish().has_value());
  auto recording = open_recording(dir, ImageSize{63, 47});
  ASSERT_TRUE(recording.has_value()) << recording.error().message;
  Frame back;
  ASSERT_EQ(recording->cameras[2]->next(back), FrameStatus::image);
  EXPECT_EQ(back.image.at<cv::Vec3b>(46, 62), cv::Vec3b(200, 100, 50));
}

TEST(Recording, AVideoThatCannotBeWrittenWholeIsToldOf) {
  const std::string dir = fresh_dir("full");
  auto recorder = FrameRecorder::create(dir, {RecordingCodec::mjpeg, 60});
  ASSERT_TRUE(recorder.has_value());
  // No file grows beyond this: what a quota does.
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit less = before;
  less.rlim_cur = 20'000;
  setrlimit(RLIMIT_FSIZE, &less);
  Flat camera(0, 200);
  Frame frame;
  for (int k = 0; k < 200; ++k) {
    const FrameStatus status = camera.next(frame);
    (void)(*recorder)->write(0, frame, status);
  }
  const auto finished = (*recorder)->finish();
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(finished.has_value());
  EXPECT_NE(finished.error().message.find("C0.avi: does not play to its end"), std::string::npos)
      << finished.error().message;
}

TEST(Recording, ImagesThatNoLineNamesAreNoticed) {
  for (const bool lacks : {false, true}) {
    const std::string dir = fresh_dir("lacks");
    record(dir, RecordingCodec::ffv1, 12);
    std::ifstream in(fs::path(dir) / "frames.csv");
    std::string kept;
    int number = 0;
    for (std::string line; std::getline(in, line); ++number)
      if (!lacks || number != 6) kept += line + "\n";
    std::ofstream(fs::path(dir) / "frames.csv") << "\xEF\xBB\xBF" << kept;
    auto recording = open_recording(dir, ImageSize{64, 48});
    ASSERT_TRUE(recording.has_value()) << recording.error().message;
    for (std::size_t c = 0; c < kCameras; ++c) {
      Frame frame;
      while (recording->cameras[c]->next(frame) != FrameStatus::end) {
      }
      EXPECT_EQ(recording->cameras[c]->more(), lacks && c != 3) << "the last has no image of that line";
    }
  }
}

TEST(Recording, ADeadCameraHoldsNothingUp) {
  const std::string dir = fresh_dir("one");
  {
    auto recorder = FrameRecorder::create(dir, {RecordingCodec::png, 60});
    ASSERT_TRUE(recorder.has_value());
    Flat camera(0, 300);
    Frame frame;
    for (int k = 0; k < 200; ++k) {
      const FrameStatus status = camera.next(frame);
      ASSERT_TRUE((*recorder)->write(0, frame, status).has_value());
    }
    EXPECT_GE(load_recording_index(dir)->triggers.size(), 60u);
  }
  auto recording = open_recording(dir);
  ASSERT_TRUE(recording.has_value());
  EXPECT_TRUE(recording->present[0]);
  EXPECT_FALSE(recording->present[1]);
  EXPECT_EQ(recording->triggers, 200u);
  Frame frame;
  for (int k = 0; k < 200; ++k) ASSERT_EQ(recording->cameras[1]->next(frame), FrameStatus::missing);
  EXPECT_EQ(recording->cameras[1]->next(frame), FrameStatus::end);
}

TEST(Recording, IsNeverWrittenOverAnother) {
  const std::string dir = fresh_dir("twice");
  record(dir, RecordingCodec::png, 3);
  const auto again = FrameRecorder::create(dir);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().kind, Error::Kind::usage);
}

TEST(Recording, WithoutTimesItPlaysAt60Hz) {
  const std::string dir = fresh_dir("plain");
  record(dir, RecordingCodec::png, 12);
  fs::remove(fs::path(dir) / "frames.csv");
  auto recording = open_recording(dir);
  ASSERT_TRUE(recording.has_value());
  Frame frame;
  int images = 0, missing = 0;
  for (FrameStatus s; (s = recording->cameras[0]->next(frame)) != FrameStatus::end;) {
    EXPECT_NEAR(1e-9 * static_cast<double>(frame.mid_exposure_ns), static_cast<double>(frame.sequence) / 60, 1e-9);
    ++(s == FrameStatus::image ? images : missing);
  }
  EXPECT_EQ(images + missing, 12);
  EXPECT_EQ(missing, 2);

  const std::string video = fresh_dir("plain_video");
  record(video, RecordingCodec::mjpeg, 10);
  fs::remove(fs::path(video) / "frames.csv");
  auto played = open_recorded(video, 0);
  ASSERT_TRUE(played.has_value());
  int n = 0;
  while ((*played)->next(frame) == FrameStatus::image) ++n;
  EXPECT_EQ(n, 8);  // ten triggers, two without image
}

TEST(Recording, CorruptImagesAreMissing) {
  const std::string dir = fresh_dir("corrupt");
  record(dir, RecordingCodec::png, 3);
  std::ofstream(fs::path(dir) / "C0" / "000001.png") << "not a picture";
  cv::imwrite((fs::path(dir) / "C0" / "000002.png").string(), cv::Mat(10, 10, CV_8UC3, cv::Scalar::all(0)));
  auto source = open_recorded(dir, 0, ImageSize{64, 48});
  ASSERT_TRUE(source.has_value());
  Frame frame;
  EXPECT_EQ((*source)->next(frame), FrameStatus::image);
  EXPECT_EQ((*source)->next(frame), FrameStatus::missing);
  EXPECT_EQ((*source)->next(frame), FrameStatus::missing);  // of the wrong size
  EXPECT_EQ((*source)->next(frame), FrameStatus::end);
}

TEST(Recording, ATruncatedVideoIsMissingToItsEnd) {
  const std::string dir = fresh_dir("truncated");
  record(dir, RecordingCodec::mjpeg, 40);
  const fs::path file = fs::path(dir) / "C0.avi";
  fs::resize_file(file, fs::file_size(file) / 2);
  auto source = open_recorded(dir, 0);
  if (!source) GTEST_SKIP() << "the decoder refuses the file whole: " << source.error().message;
  Frame frame;
  int images = 0, triggers = 0;
  bool after_end = false;
  for (FrameStatus s; (s = (*source)->next(frame)) != FrameStatus::end; ++triggers) {
    images += s == FrameStatus::image;
    after_end |= s == FrameStatus::image && triggers > 35;
  }
  EXPECT_EQ(triggers, 40);
  EXPECT_GT(images, 0);
  EXPECT_FALSE(after_end);
}

/// Makes zeroes of the k-th JPEG of a video. @return whether there was one
bool damage_image(const fs::path& file, int k) {
  std::ifstream in(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::size_t at = std::string::npos;
  for (int n = 0; n <= k; ++n) at = bytes.find("\xff\xd8\xff", at + 1);
  const std::size_t next = bytes.find("00dc", at);
  if (at == std::string::npos || next == std::string::npos) return false;
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(next), '\0');
  std::ofstream(file, std::ios::binary) << bytes;
  return true;
}

TEST(Recording, ADamagedImageOfAVideoCostsNoOtherItsPlace) {
  for (const bool skips : {false, true})
    for (const bool listed : {true, false}) {
      const std::string dir = fresh_dir("damaged");
      record(dir, RecordingCodec::mjpeg, 40);
      const fs::path file = fs::path(dir) / "C0.avi";
      std::vector<bool> is_image;
      {
        auto whole = open_recorded(dir, 0);
        ASSERT_TRUE(whole) << whole.error().message;
        Frame frame;
        for (FrameStatus s; (s = (*whole)->next(frame)) != FrameStatus::end;)
          is_image.push_back(s == FrameStatus::image);
      }
      std::vector<int> frame_of;  // of each image of the video
      for (int k = 0; k < 40; ++k)
        if (is_image[static_cast<std::size_t>(k)]) frame_of.push_back(k);
      ASSERT_LT(frame_of.size(), 40u) << "and there are gaps";
      if (!listed) fs::remove(fs::path(dir) / "frames.csv");
      const std::vector<int> damaged = {9, 20, 21, 22};
      for (auto k = damaged.rbegin(); k != damaged.rend(); ++k) ASSERT_TRUE(damage_image(file, *k));
      auto source = open_recorded(dir, 0);
      ASSERT_TRUE(source) << source.error().message;
      Frame frame;
      for (int k = 0, n = 0; k < static_cast<int>(listed ? 40 : frame_of.size()); ++k) {
        const bool shown = !listed || is_image[static_cast<std::size_t>(k)];
        const bool lost = shown && std::find(damaged.begin(), damaged.end(), n) != damaged.end();
        const bool skip = skips && k % 3 == 1;
        const FrameStatus got = skip ? (*source)->skip(frame) : (*source)->next(frame);
        EXPECT_EQ(got, shown && !lost && !skip ? FrameStatus::image : FrameStatus::missing) << k;
        if (got == FrameStatus::image) {
          EXPECT_NEAR(frame.image.at<cv::Vec3b>(24, 32)[1], 10 + 4 * frame_of[static_cast<std::size_t>(n)], 4) << k;
        }
        n += shown;
      }
      EXPECT_EQ((*source)->next(frame), FrameStatus::end);
      EXPECT_NE((*source)->unusable().find("C0.avi: 4 images of it damaged"), std::string::npos)
          << (*source)->unusable();
    }
}

TEST(Recording, AVideoThatHoldsFewerImagesThanAreListedSaysSo) {
  const std::string dir = fresh_dir("fewer");
  record(dir, RecordingCodec::mjpeg, 40);
  std::ofstream(fs::path(dir) / "frames.csv", std::ios::app) << "40,10,10,10,10,10\n41,10.02,10.02,10.02,10.02,10.02\n";
  auto source = open_recorded(dir, 0);
  ASSERT_TRUE(source) << source.error().message;
  Frame frame;
  while ((*source)->next(frame) != FrameStatus::end) {
  }
  EXPECT_NE((*source)->unusable().find("ends 2 images before"), std::string::npos) << (*source)->unusable();
  ASSERT_TRUE(damage_image(fs::path(dir) / "C0.avi", 5));
  source = open_recorded(dir, 0);
  ASSERT_TRUE(source) << source.error().message;
  while ((*source)->next(frame) != FrameStatus::end) {
  }
  EXPECT_NE((*source)->unusable().find("1 image of it damaged"), std::string::npos) << (*source)->unusable();
  EXPECT_NE((*source)->unusable().find("ends 2 images before"), std::string::npos) << (*source)->unusable();
}

TEST(Recording, BadTimesAreNamedWithFileAndLine) {
  const struct {
    const char *text, *says;
  } cases[] = {
      {"frame,t_s\n0,0.0\n1,abc\n", ":3: t_s is 'abc'"},
      {"frame,t_s\n0,0.0\n0,0.1\n", ":3: frame and t_s must rise"},
      {"frame,t_s\n0,0.2\n1,0.1\n", ":3: frame and t_s must rise"},
      {"frame,t_s,extra\n0,0.0,1\n", ":1: 3 columns"},
      {"frame,t_s\n0,0.0,0,0,0,0\n", ":2: 6 columns"},
      {"frame,t_s\n-1,0.0\n", ":2: frame is '-1'"},
      {"frame,t_s\n0,inf\n", ":2: t_s is 'inf'"},
      {"frame,t_s,t_C0_s,t_C1_s,t_C2_s,t_C3_s\n0,0.0,,x,,\n", ":2: t_C1_s is 'x'"},
      {"frame,t_s\n", ":1: no frame listed"},
      {"frame,t_s,t_C0_s,t_C1_s,t_C2_s,t_C2_s\n0,0.0,,,,\n", ":1: column 't_C2_s', must be"},
      {"frame,t_s,t_C0_s,t_C1_s,t_C2_s,t_C4_s\n0,0.0,,,,\n", ":1: column 't_C4_s', must be"},
      {"frame,time\n0,0.0\n", ":1: the second column is 'time'"},
  };
  const std::string dir = fresh_dir("bad_times");
  const std::string file = (fs::path(dir) / "frames.csv").string();
  for (const auto& c : cases) {
    std::ofstream(file) << c.text;
    const auto index = load_recording_index(dir);
    ASSERT_FALSE(index.has_value()) << c.text;
    EXPECT_EQ(index.error().kind, Error::Kind::usage);
    EXPECT_EQ(index.error().message.find(file + c.says), 0u) << index.error().message;
    EXPECT_EQ(index.error().message.find('\n'), std::string::npos);
  }
}

TEST(Recording, TimesBelongToTheCameraThatTheirColumnNames) {
  const std::string dir = fresh_dir("columns");
  std::ofstream(fs::path(dir) / "frames.csv") << "frame,t_s,t_C3_s,t_C2_s,t_C1_s,t_C0_s\n0,0.0,,0.002,0.001,0.004\n";
  const auto index = load_recording_index(dir);
  ASSERT_TRUE(index.has_value()) << index.error().message;
  EXPECT_EQ(index->triggers[0].mid_exposure_ns,
            (std::array<std::int64_t, kCameras>{4'000'000, 1'000'000, 2'000'000, kNoImage}));
}

TEST(Recording, PicturesThatNoLineNamesAreNoticed) {
  const std::string dir = fresh_dir("unnamed");
  record(dir, RecordingCodec::png, 12);
  for (const bool lacks : {false, true}) {
    if (lacks) fs::rename(fs::path(dir) / "C1" / "000005.png", fs::path(dir) / "C1" / "000012.png");
    auto recording = open_recording(dir, ImageSize{64, 48});
    ASSERT_TRUE(recording.has_value()) << recording.error().message;
    for (std::size_t c = 0; c < kCameras; ++c) EXPECT_EQ(recording->cameras[c]->more(), lacks && c == 1) << c;
  }
}

// Whichever was taken, the other might have been meant.
TEST(Recording, TwoPlacesForOneCamerasImagesAreRefused) {
  const std::string dir = fresh_dir("both");
  record(dir, RecordingCodec::ffv1, 4);
  ASSERT_TRUE(open_recording(dir).has_value());
  EXPECT_EQ(recording_in(dir), "C0.mkv");
  fs::create_directories(fs::path(dir) / "C1");
  const auto folder = open_recording(dir);
  ASSERT_FALSE(folder.has_value());
  EXPECT_EQ(folder.error().kind, Error::Kind::usage);
  EXPECT_NE(folder.error().message.find("both C1 and C1.mkv"), std::string::npos) << folder.error().message;
  fs::remove(fs::path(dir) / "C1");
  fs::copy_file(fs::path(dir) / "C2.mkv", fs::path(dir) / "C2.mp4");
  EXPECT_FALSE(open_recording(dir).has_value());
}

TEST(Recording, WhatIsNotThereIsSaidInOneLine) {
  const std::string dir = fresh_dir("empty");
  EXPECT_EQ(open_recording(dir).error().kind, Error::Kind::usage);
  EXPECT_EQ(open_recording(dir + "/not").error().kind, Error::Kind::usage);
  EXPECT_FALSE(open_recorded(dir, 0).has_value());
  std::ofstream(fs::path(dir) / "C0.mkv") << "not a video";
  const auto junk = open_recording(dir);
  ASSERT_FALSE(junk.has_value());
  EXPECT_NE(junk.error().message.find("C0.mkv"), std::string::npos);
}

TEST(FaultyCamera, DiesAndComesBack) {
  CameraFault dead;
  dead.camera = 2, dead.from_s = 0.1, dead.until_s = 0.2;
  FaultyCamera camera(std::make_unique<Flat>(2, 30), {dead}, 2), other(std::make_unique<Flat>(0, 30), {dead}, 0);
  Flat sound(2, 30), other_sound(0, 30);
  Frame frame, copy;
  for (int k = 0; k < 30; ++k) {
    const FrameStatus expected = sound.next(copy), got = camera.next(frame);
    const double t = 1e-9 * static_cast<double>(copy.mid_exposure_ns);
    EXPECT_EQ(got, t >= 0.1 && t < 0.2 ? FrameStatus::missing : expected);
    EXPECT_EQ(frame.mid_exposure_ns, copy.mid_exposure_ns);
    EXPECT_EQ(other.next(frame), other_sound.next(copy));
  }
}

TEST(FaultyCamera, CanBeKilledAndRevivedByHand) {
  FaultyCamera camera(std::make_unique<Flat>(0, 30), {}, 0);
  Frame frame;
  EXPECT_EQ(camera.next(frame), FrameStatus::image);
  camera.set_dead(true);
  EXPECT_EQ(camera.next(frame), FrameStatus::missing);
  camera.set_dead(false);
  EXPECT_EQ(camera.next(frame), FrameStatus::image);
}

TEST(FaultyCamera, DropsAndDelaysAreSeeded) {
  CameraFault drop, late;
  drop.kind = CameraFault::Kind::drop, drop.probability = 0.3, drop.seed = 7;
  late.kind = CameraFault::Kind::late, late.probability = 0.5, late.delay_ms = 20, late.seed = 8;
  FaultyCamera a(std::make_unique<Flat>(0, 60), {drop, late}, 0), b(std::make_unique<Flat>(0, 60), {drop, late}, 0);
  Frame fa, fb;
  int dropped = 0, delayed = 0;
  for (int k = 0; k < 60; ++k) {
    const FrameStatus sa = a.next(fa), sb = b.next(fb);
    EXPECT_EQ(sa, sb);
    EXPECT_EQ(fa.delivery_ns, fb.delivery_ns);
    dropped += sa == FrameStatus::missing;
    delayed += fa.delivery_ns - fa.mid_exposure_ns == 25'000'000;
  }
  EXPECT_GT(dropped, 12 + 5);  // 12 gaps of the source, then 0.3 of 48
  EXPECT_LT(dropped, 12 + 30);
  EXPECT_GT(delayed, 5);
}

TEST(VirtualCamera, SameSeedSameImages) {
  const Rig rig = testing::distorted_rig();
  const auto path = testing::demo_path(rig);
  VirtualRigParams params;
  params.duration_s = 0.05;
  auto a = testing::virtual_cameras(params, rig, path), b = testing::virtual_cameras(params, rig, path);
  params.seed = 2;
  auto c = testing::virtual_cameras(params, rig, path);
  Frame fa, fb, fc;
  for (int k = 0; k < 3; ++k) {
    ASSERT_EQ(a[0]->next(fa), FrameStatus::image);
    ASSERT_EQ(b[0]->next(fb), FrameStatus::image);
    ASSERT_EQ(c[0]->next(fc), FrameStatus::image);
    EXPECT_EQ(0, std::memcmp(fa.image.data, fb.image.data, fa.image.total() * 3));
    EXPECT_NE(0, std::memcmp(fa.image.data, fc.image.data, fa.image.total() * 3));
  }
  EXPECT_EQ(a[0]->next(fa), FrameStatus::end);
}

TEST(VirtualCamera, HasTheNoiseItIsAskedFor) {
  const Rig rig = testing::distorted_rig();
  VirtualRigParams params;
  params.velvet = 0.3;  // far from both ends, so that nothing is clipped
  params.noise = 0.02;
  auto cameras = testing::virtual_cameras(params, rig, testing::demo_path(rig));
  Frame frame;
  ASSERT_EQ(cameras[0]->next(frame), FrameStatus::image);
  double sum = 0, sum2 = 0;
  const int n = 3 * 640 * 60;
  const std::uint8_t* low = frame.image.ptr(420);  // the last rows hold no marker
  for (int i = 0; i < n; ++i) sum += low[i], sum2 += low[i] * low[i];
  const double sigma = std::sqrt(sum2 / n - sum / n * (sum / n));
  EXPECT_NEAR(sum / n, 0.3 * 255, 0.1);
  EXPECT_NEAR(sigma, std::sqrt(0.02 * 255 * 0.02 * 255 + 1.0 / 12), 0.1);  // and the rounding's own
}

TEST(VirtualCamera, RefusesWhatItCannotDo) {
  const Rig rig = testing::distorted_rig();
  const auto path = testing::demo_path(rig);
  VirtualRigParams params;
  params.noise = 0.9;
  const auto noisy = make_virtual_camera(params, rig, 0, path);
  ASSERT_FALSE(noisy.has_value());
  EXPECT_NE(noisy.error().message.find("noise is 0.9, must be 0..0.5"), std::string::npos);
  EXPECT_FALSE(make_virtual_camera({}, rig, 4, path).has_value());
  EXPECT_FALSE(make_virtual_camera({}, rig, 0, nullptr).has_value());
}

}  // namespace
}  // namespace ligature::drivers
