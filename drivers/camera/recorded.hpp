#pragma once
/// Recorded camera frames: DIR/C0 ... C3, folders of 000000.png or one video file each, and DIR/frames.csv.
///
/// frames.csv has one line per trigger: `frame,t_s` (one mid-exposure time for all cameras), or
/// `frame,t_s,t_C0_s,...,t_C3_s` with each camera's own, in any order, and an empty cell where it has no image. A video
/// holds one image per filled cell, a folder the file FRAME.png (six digits; a file that is not there is a missing
/// image). Without frames.csv triggers come at 60 Hz from 0.
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drivers/camera/frame_source.hpp"
#include "sim/contract/instrument_sample.hpp"

namespace ligature::drivers {

/// A recording does not know when its images arrived; a global-shutter USB camera of this size exposes for about 4 ms
/// and is read out in 3: half of the one plus the other.
inline constexpr std::int64_t kRecordedDelivery_ns = 5'000'000;

inline constexpr std::int64_t kNoImage = std::numeric_limits<std::int64_t>::min();

/// The triggers of a recording, common to its cameras.
struct RecordingIndex {
  struct Trigger {
    std::uint64_t frame = 0;
    std::int64_t t_ns = 0;                                 ///< nominal time of the trigger
    std::array<std::int64_t, kCameras> mid_exposure_ns{};  ///< kNoImage where the cell is empty
  };
  std::vector<Trigger> triggers;  ///< frame and time rising; a gap in `frame` means triggers were lost
  bool from_file = false;  ///< false: there is no frames.csv; triggers is then made as long as the longest folder,
                           ///< or empty when a video decides
};

/// The name in DIR of a camera's images, the first that is found; empty: DIR holds no recording.
std::string recording_in(const std::string& dir);

/// Errors (usage, one line, FILE:LINE): wrong column count, columns whose names are others or come twice, not a number,
/// frame or time not rising, no row. No frames.csv at all is no error.
Result<RecordingIndex> load_recording_index(const std::string& dir);

struct ImageSize {
  int width_px = 0, height_px = 0;
};

/// One camera of the recording. @param expected when given, images of another size are refused (video: at open, usage
/// error; folder: the image counts as missing).
/// Errors: usage when DIR is not there, has neither folder nor video for this camera or several, or the video cannot be
/// opened.
/// A corrupt image is `missing`; a video that ends early is `missing` for the triggers that are left, then `end`.
Result<std::unique_ptr<FrameSource>> open_recorded(const std::string& dir, std::size_t camera_index,
                                                   std::shared_ptr<const RecordingIndex> index,
                                                   std::optional<ImageSize> expected = {});
/// The same, reading frames.csv by itself.
Result<std::unique_ptr<FrameSource>> open_recorded(const std::string& dir, std::size_t camera_index,
                                                   std::optional<ImageSize> expected = {});

struct Recording {
  std::array<std::unique_ptr<FrameSource>, kCameras> cameras;
  std::array<bool, kCameras> present{};  ///< false: no images in DIR, the source answers `missing` for every trigger
  std::size_t triggers = 0;              ///< 0 when only a video knows
};

/// All four at once. A camera without images is no error as long as another has some: it plays as a dead camera.
Result<Recording> open_recording(const std::string& dir, std::optional<ImageSize> expected = {});

}  // namespace ligature::drivers
