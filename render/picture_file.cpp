#include "render/picture_file.hpp"

#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>
#include <utility>
#include <vector>

namespace ligature::render {
namespace {

std::string u32(std::uint32_t v) {
  std::string out(4, '\0');
  for (std::size_t i = 0; i < 4; ++i) out[i] = static_cast<char>(v >> (24 - 8 * i) & 0xFF);
  return out;
}
std::uint32_t get_u32(const std::uint8_t* p) {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
}

/// PNG 1.2, 3.2 and 4.2.3.1: length, type, keyword 0 text, CRC over type and data.
std::string text_chunk(const std::string& keyword, const std::string& text) {
  const std::string body = "tEXt" + keyword + std::string(1, '\0') + text;
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return u32(static_cast<std::uint32_t>(body.size() - 4)) + body + u32(static_cast<std::uint32_t>(crc));
}

/// ISO 14496-12 boxes: size, type, content; the tag itself as in iTunes' "ilst", which players read.
std::string box(const std::string& type, const std::string& content) {
  return u32(static_cast<std::uint32_t>(content.size() + 8)) + type + content;
}
std::string comment_box(const std::string& text) {
  const std::string data = box("data", u32(1) + u32(0) + text);  // 1: UTF-8
  const std::string handler = box("hdlr", u32(0) + u32(0) + "mdirappl" + std::string(9, '\0'));
  return box("udta", box("meta", u32(0) + handler +
                                     box("ilst", box("\xa9"
                                                     "cmt",
                                                     data))));
}

/// Appends the comment to the moov box where that is the file's last box, so that nothing else moves.
bool add_comment(const std::string& path, const std::string& text) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  if (!file) return false;
  file.seekg(0, std::ios::end);
  const std::uint64_t end = static_cast<std::uint64_t>(file.tellg());
  std::uint64_t at = 0;
  while (at + 8 <= end) {
    std::array<std::uint8_t, 16> head{};
    file.seekg(static_cast<std::streamoff>(at));
    file.read(reinterpret_cast<char*>(head.data()), at + 16 <= end ? 16 : 8);
    if (!file) return false;
    const std::uint32_t size = get_u32(head.data());
    std::uint64_t length = size;
    if (size == 1) length = std::uint64_t{get_u32(&head[8])} << 32 | get_u32(&head[12]);
    if (length < 8) return false;
    if (std::memcmp(&head[4], "moov", 4) == 0) {
      if (at + length != end || size < 8) return false;
      // The encoder's own user data would hide ours: rename it to free space.
      std::uint64_t inner = at + 8;
      while (inner + 8 <= end) {
        std::array<std::uint8_t, 8> child{};
        file.seekg(static_cast<std::streamoff>(inner));
        file.read(reinterpret_cast<char*>(child.data()), 8);
        const std::uint32_t child_size = get_u32(child.data());
        if (!file || child_size < 8) return false;
        if (std::memcmp(&child[4], "udta", 4) == 0) {
          file.seekp(static_cast<std::streamoff>(inner + 4));
          file.write("free", 4);
        }
        inner += child_size;
      }
      const std::string udta = comment_box(text);
      const std::string new_size = u32(size + static_cast<std::uint32_t>(udta.size()));
      file.seekp(static_cast<std::streamoff>(end));
      file.write(udta.data(), static_cast<std::streamsize>(udta.size()));
      file.seekp(static_cast<std::streamoff>(at));
      file.write(new_size.data(), 4);
      file.flush();
      return static_cast<bool>(file);
    }
    at += length;
  }
  return false;
}

cv::Mat to_bgr(const PictureView& picture) {
  // OpenCV does not write through this header, it only lacks a const one.
  const cv::Mat bgra(picture.height_px, picture.width_px, CV_8UC4, const_cast<std::uint8_t*>(picture.bgra),
                     picture.stride_bytes);
  cv::Mat bgr;
  cv::cvtColor(bgra, bgr, cv::COLOR_BGRA2BGR);
  return bgr;
}

}  // namespace

Result<void> write_png(const std::string& path, const PictureView& picture, const std::string& version_line,
                       const std::string& comment) {
  if (!picture) return failure(path + ": there is no picture to write: presenter must be \"offscreen\"");
  std::vector<std::uint8_t> png;
  try {
    if (!cv::imencode(".png", to_bgr(picture), png)) return failure(path + ": the picture does not encode as PNG");
  } catch (const cv::Exception& e) {
    return failure(path + ": the picture does not encode as PNG: " + e.what());
  }
  std::string text;
  if (!version_line.empty()) text += text_chunk("Software", version_line);
  if (!comment.empty()) text += text_chunk("Comment", comment);

  const std::string part = path + ".part";
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  constexpr std::size_t header = 8 + 25;  // signature and IHDR; text may follow
  file.write(reinterpret_cast<const char*>(png.data()), header);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.write(reinterpret_cast<const char*>(png.data()) + header, static_cast<std::streamsize>(png.size() - header));
  file.close();
  if (!file || std::rename(part.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    std::remove(part.c_str());
    return failure(path + ": cannot be written (" + why + "): choose another directory or free space on the disk");
  }
  return {};
}

struct StereoVideo::State {
  cv::VideoWriter writer;
  cv::Mat padded;
  std::string path, version, codec;
  int width = 0, height = 0;
  std::uint64_t frames = 0;
};

StereoVideo::StereoVideo(std::unique_ptr<State> state) : state_(std::move(state)) {}
StereoVideo::~StereoVideo() {
  (void)close();
}

Result<std::unique_ptr<StereoVideo>> StereoVideo::open(const std::string& path, double frames_per_s, int width_px,
                                                       int height_px, const std::string& version_line) {
  if (width_px < 1 || height_px < 1 || !(frames_per_s > 0) || frames_per_s > 1000)
    return usage_error(path + ": a video needs a size and 0..1000 frames per second");
  auto state = std::make_unique<State>();
  state->path = path;
  state->version = version_line;
  state->width = width_px;
  state->height = height_px;
  const cv::Size even(width_px + width_px % 2, height_px + height_px % 2);
  state->padded = cv::Mat::zeros(even, CV_8UC3);
  for (const char* codec : {"avc1", "mp4v"}) {
    try {
      if (state->writer.open(path, cv::CAP_FFMPEG, cv::VideoWriter::fourcc(codec[0], codec[1], codec[2], codec[3]),
                             frames_per_s, even)) {
        state->codec = codec;
        return std::unique_ptr<StereoVideo>(new StereoVideo(std::move(state)));
      }
    } catch (const cv::Exception&) {
      continue;
    }
  }
  return unavailable(path + ": no MP4 can be opened there: choose another directory, or install OpenCV with FFmpeg");
}

Result<void> StereoVideo::write(const PictureView& picture) {
  if (!state_->writer.isOpened()) return failure(state_->path + ": the video is closed");
  if (!picture || picture.width_px != state_->width || picture.height_px != state_->height)
    return failure(state_->path + ": a frame of another size than the video's");
  try {
    to_bgr(picture).copyTo(state_->padded(cv::Rect(0, 0, state_->width, state_->height)));
    state_->writer.write(state_->padded);
  } catch (const cv::Exception& e) {
    return failure(state_->path + ": " + e.what());
  }
  ++state_->frames;
  return {};
}

Result<void> StereoVideo::close() {
  if (!state_->writer.isOpened()) return {};
  state_->writer.release();
  if (!state_->version.empty() && !add_comment(state_->path, state_->version))
    return failure(state_->path + ": the video is not complete: is the disk full?");
  return {};
}
const std::string& StereoVideo::codec() const {
  return state_->codec;
}
std::uint64_t StereoVideo::frames() const {
  return state_->frames;
}

}  // namespace ligature::render
