#pragma once
/// The pictures of a calibration: which file is which camera's which frame, and the board in each.
#include <filesystem>
#include <string>
#include <vector>

#include "drivers/calibration/calibration.hpp"
#include "drivers/calibration/detection.hpp"

namespace ligature::calibration {

/// A picture whose board was found, and the place of its entry in the list of reports.
struct View {
  int camera = 0;     ///< index into the job's cameras
  std::string frame;  ///< the same text for pictures of the same moment
  std::size_t report = 0;
  std::vector<Corner> corners;
};

struct Pictures {
  std::vector<std::string> cameras;
  std::vector<std::array<int, 2>> size_px;  ///< of each camera; 0 x 0: it has no picture with a board
  std::vector<View> views;
  std::vector<ViewReport> reports;  ///< every picture looked at, in order
  Board board;                      ///< with the dictionary found
};

/// Frame text of a file: the number that ends its stem without leading zeros ("left07.jpg": "7"), else the stem.
std::string frame_of(const std::filesystem::path& file);
/// In time: shorter texts of digits first, so that 9 comes before 10.
bool frame_before(const std::string& a, const std::string& b);

/// One camera's pictures. Errors: usage (a file is not there), failed ("cancelled").
Result<Pictures> read_pictures(const Board& board, const std::string& camera,
                               const std::vector<std::filesystem::path>& images, const ProgressFunction& progress);
/// DIR/C0 ..., folders of images of any name (jpg, png, bmp, tif, pgm, ppm, webp) or videos, matched by frame_of().
/// @param always a frame that is looked at however many there are; may be empty
/// Errors: usage (no such folder, a camera without pictures, two pictures of one frame only differ in their names).
Result<Pictures> read_recording(const Board& board, const std::filesystem::path& dir,
                                const std::vector<std::string>& cameras, const std::string& always, std::size_t most,
                                const ProgressFunction& progress);

/// Drops repetitions and then the frames that add least, until at most `most` are left; their reports say so.
void thin_out(Pictures& pictures, const std::string& always, std::size_t most);

}  // namespace ligature::calibration
