#pragma once
/// Pictures and videos as files, each with the program's version in its metadata. Not for real-time threads.
#include <memory>
#include <string>

#include "render/renderer.hpp"

namespace ligature::render {

/// PNG with tEXt chunks "Software" and "Comment". Written beside its name first, so that a file is whole or absent.
/// @param version_line, comment Latin-1 without newlines or zero bytes; an empty one is left out
Result<void> write_png(const std::string& path, const PictureView& picture, const std::string& version_line,
                       const std::string& comment = {});

/// MP4 of both eyes side by side: H.264 where OpenCV's FFmpeg can encode it, else MPEG-4 part 2.
/// Odd sizes are padded by one pixel, which the codecs need.
class StereoVideo {
 public:
  /// @param version_line becomes the file's "comment" tag.
  static Result<std::unique_ptr<StereoVideo>> open(const std::string& path, double frames_per_s, int width_px,
                                                   int height_px, const std::string& version_line);
  ~StereoVideo();  ///< closes
  /// The picture must have the size given at open.
  Result<void> write(const PictureView& picture);
  /// Completes the file; writes after this fail.
  Result<void> close();
  const std::string& codec() const;  ///< "avc1" or "mp4v"
  std::uint64_t frames() const;

 private:
  struct State;
  explicit StereoVideo(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ligature::render
