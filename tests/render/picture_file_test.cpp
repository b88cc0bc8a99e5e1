#include "render/picture_file.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <unistd.h>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/videoio.hpp>
#include <vector>

namespace ligature::render {
namespace {

namespace fs = std::filesystem;
const std::string kVersion = "ligature 0.1.0 (abc1234, g++ 12.2)";

class PictureFile : public testing::Test {
 protected:
  PictureFile() : dir_(fs::path(testing::TempDir()) / ("picture_file_test." + std::to_string(getpid()))) {
    fs::create_directories(dir_);
  }
  ~PictureFile() override { fs::remove_all(dir_); }
  std::string path(const char* name) const { return (dir_ / name).string(); }

 private:
  fs::path dir_;
};

struct Painted {
  int width, height;
  std::vector<std::uint8_t> bgra;
  Painted(int w, int h, int shift = 0) : width(w), height(h), bgra(static_cast<std::size_t>(4 * w * h)) {
    for (int y = 0; y < h; ++y)
      for (int x = 0; x < w; ++x) {
        std::uint8_t* p = &bgra[static_cast<std::size_t>(4 * (y * w + x))];
        p[0] = static_cast<std::uint8_t>(x + shift), p[1] = static_cast<std::uint8_t>(y), p[2] = 128, p[3] = 255;
      }
  }
  PictureView view() const { return {bgra.data(), width, height, static_cast<std::size_t>(4 * width)}; }
};

std::string read_all(const std::string& path) {
  std::ifstream f(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}
std::uint32_t u32(const std::string& s, std::size_t at) {
  std::uint32_t v = 0;
  for (std::size_t i = 0; i < 4; ++i) v = v << 8 | static_cast<std::uint8_t>(s[at + i]);
  return v;
}

TEST_F(PictureFile, PngComesBackPixelForPixel) {
  for (const auto& [w, h] : {std::pair{2, 1}, std::pair{67, 33}, std::pair{640, 240}}) {
    const Painted painted(w, h);
    ASSERT_TRUE(write_png(path("a.png"), painted.view(), kVersion));
    const cv::Mat back = cv::imread(path("a.png"), cv::IMREAD_COLOR);
    ASSERT_EQ(back.cols, w);
    ASSERT_EQ(back.rows, h);
    for (int y = 0; y < h; ++y)
      for (int x = 0; x < w; ++x) {
        const auto c = back.at<cv::Vec3b>(y, x);
        ASSERT_EQ(0, std::memcmp(&c, &painted.bgra[static_cast<std::size_t>(4 * (y * w + x))], 3));
      }
  }
}

TEST_F(PictureFile, PngCarriesTheVersionInSoundChunks) {
  ASSERT_TRUE(write_png(path("a.png"), Painted(64, 32).view(), kVersion, "step 12"));
  const std::string png = read_all(path("a.png"));
  std::vector<std::string> types, texts;
  std::size_t at = 8;
  while (at + 12 <= png.size()) {
    const std::uint32_t length = u32(png, at);
    ASSERT_LE(at + 12 + length, png.size());
    types.push_back(png.substr(at + 4, 4));
    if (types.back() == "tEXt") texts.push_back(png.substr(at + 8, length));
    const auto crc = crc32(0, reinterpret_cast<const Bytef*>(&png[at + 4]), length + 4);
    EXPECT_EQ(u32(png, at + 8 + length), crc) << types.back();
    at += 12 + length;
  }
  EXPECT_EQ(at, png.size());
  EXPECT_EQ(types.front(), "IHDR");
  EXPECT_EQ(types.back(), "IEND");
  const std::vector<std::string> expected{std::string("Software") + '\0' + kVersion,
                                          std::string("Comment") + '\0' + "step 12"};
  EXPECT_EQ(texts, expected);
}

TEST_F(PictureFile, PngIsWholeOrAbsent) {
  const auto r = write_png(path("no/such/directory/a.png"), Painted(4, 4).view(), kVersion);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("a.png"), std::string::npos);
  EXPECT_FALSE(write_png(path("b.png"), PictureView{}, kVersion));
  EXPECT_FALSE(fs::exists(path("b.png")));
  ASSERT_TRUE(write_png(path("c.png"), Painted(4, 4).view(), kVersion));
  EXPECT_FALSE(fs::exists(path("c.png.part")));
}

TEST_F(PictureFile, VideoPlaysBackWithAllFrames) {
  auto video = StereoVideo::open(path("a.mp4"), 25, 160, 60, kVersion);
  ASSERT_TRUE(video) << video.error().message;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE((*video)->write(Painted(160, 60, 2 * i).view()));
  EXPECT_EQ((*video)->frames(), 20U);
  ASSERT_TRUE((*video)->close());
  EXPECT_FALSE((*video)->write(Painted(160, 60).view()));

  cv::VideoCapture in(path("a.mp4"), cv::CAP_FFMPEG);
  ASSERT_TRUE(in.isOpened());
  EXPECT_NEAR(in.get(cv::CAP_PROP_FPS), 25, 1e-6);
  cv::Mat frame;
  int frames = 0;
  while (in.read(frame)) {
    ASSERT_EQ(frame.cols, 160);
    ASSERT_EQ(frame.rows, 60);
    EXPECT_NEAR(frame.at<cv::Vec3b>(30, 80)[0], 80 + 2 * frames, 16);  // lossy
    ++frames;
  }
  EXPECT_EQ(frames, 20);
  EXPECT_NE(read_all(path("a.mp4")).find(kVersion), std::string::npos);
}

TEST_F(PictureFile, VideoTakesOddSizesAndRefusesOthers) {
  auto video = StereoVideo::open(path("odd.mp4"), 30, 67, 33, kVersion);
  ASSERT_TRUE(video) << video.error().message;
  EXPECT_TRUE((*video)->write(Painted(67, 33).view()));
  EXPECT_FALSE((*video)->write(Painted(66, 33).view()));
  ASSERT_TRUE((*video)->close());
  cv::VideoCapture in(path("odd.mp4"), cv::CAP_FFMPEG);
  cv::Mat frame;
  ASSERT_TRUE(in.read(frame));
  EXPECT_EQ(frame.cols, 68);
  EXPECT_EQ(frame.rows, 34);
}

TEST_F(PictureFile, VideoThatCannotBeOpenedSaysSo) {
  const auto r = StereoVideo::open(path("no/such/directory/a.mp4"), 30, 64, 48, kVersion);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("a.mp4"), std::string::npos);
  EXPECT_FALSE(StereoVideo::open(path("a.mp4"), 0, 64, 48, kVersion));
}

}  // namespace
}  // namespace ligature::render
