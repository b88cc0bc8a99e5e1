#pragma once
/// Saves what cameras saw in the recorded format (recorded.hpp): one video or PNG folder per camera, and frames.csv.
///
/// frames.csv is written as triggers complete and flushed every second or so. A video keeps one image per filled cell
/// of its column; it reaches the disk in pieces of 256 kB, which after a power cut is what plays: all but the last
/// seconds of cameras whose images have noise, less of pictures that are cleaner. Images of odd width or height are
/// saved as PNG, whatever the codec: videos would lose a column or row.
#include <memory>
#include <string>

#include "drivers/camera/frame_source.hpp"
#include "drivers/camera/recorded.hpp"

namespace ligature::drivers {

enum class RecordingCodec {
  h264,   ///< .mkv, lossy, small (libx264); quality as CRF
  mjpeg,  ///< .avi, lossy, large, cheap to write
  ffv1,   ///< .mkv, lossless but for the rounding of YUV, about 480 kB and 60 ms per 640x480 image
  png,    ///< a folder of PNG, lossless, about 25 ms per image
};

struct RecorderParams {
  RecordingCodec codec = RecordingCodec::h264;
  double rate_hz = 60;  ///< written into the video; frames.csv has the true times
};

/// Thread safety: write() may be called from one thread per camera at once, or from one thread for all.
/// Not for a real-time thread: it encodes, locks and writes files.
class FrameRecorder {
 public:
  /// Makes DIR. Errors: usage when DIR already holds a recording; failed when it cannot be made.
  static Result<std::unique_ptr<FrameRecorder>> create(const std::string& dir, const RecorderParams& params = {});
  virtual ~FrameRecorder() = default;

  /// One trigger of one camera, in the camera's order; `missing` and `timeout` become empty cells, `end` and `failed`
  /// are ignored. After an error this camera, or all (disk full), stop recording; the error is told once, later calls
  /// succeed and do nothing.
  virtual Result<void> write(std::size_t camera_index, const Frame& frame, FrameStatus status) = 0;

  /// Closes the videos and writes what frames.csv still lacks. Called by the destructor if need be.
  virtual Result<void> finish() = 0;
};

}  // namespace ligature::drivers
