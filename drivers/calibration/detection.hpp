#pragma once
/// One image in, the corners of the board in it out, or the reason why there are none that can be trusted.
///
/// Checkerboard: OpenCV's classic search, then its sector search (robust to blur and noise); order and colour are made
/// the board's own; the grid is tested square by square, and for going on beyond the corners asked for (another
/// board). ChArUco: OpenCV's marker search; the squares' corners are predicted from the homographies of the markers
/// around them. Every corner is then refined where two pairs of edges meet (cornerSubPix), in a window that ends before
/// the next edge, and must look like a saddle. interpolateCornersCharuco is not used: seen half a pixel off.
#include <opencv2/core/mat.hpp>
#include <string>
#include <vector>

#include "drivers/calibration/board.hpp"

namespace ligature::calibration {

/// Pixel centres at integers, (0,0) = centre of the top left pixel.
struct Corner {
  int id = 0;
  double u_px = 0, v_px = 0;
};

enum class Reject {
  none,
  unreadable,     ///< no image in the file
  size,           ///< another size than the camera's other images
  blank,          ///< too dark, too bright or without contrast
  no_board,       ///< nothing like the board
  partly_seen,    ///< the board leaves the view (a checkerboard must be seen whole), or too few corners
  other_board,    ///< a board, but not the one asked for
  blurred,        ///< edges too wide for the corners' distance
  duplicate,      ///< the same view as an earlier one
  no_number,      ///< a file whose frame cannot be told
  not_chosen,     ///< good, but more views than needed
  disagrees,      ///< does not fit what the other views say: moved during the exposure, or a bent board
  not_connected,  ///< no other camera saw the board then, and it adds nothing to the camera by itself
};
/// The word for files and `--json`: "other_board".
const char* name_of(Reject reject);

struct Detection {
  Reject reject = Reject::no_board;
  std::string reason;           ///< for people; empty when found
  std::vector<Corner> corners;  ///< rising ids; empty unless found
  int width_px = 0, height_px = 0;
  double edge_px = 0;  ///< how wide an edge between squares is, 10 to 90 %
  bool found() const { return reject == Reject::none; }
};

/// Not thread-safe: it remembers the dictionary and the layout that the first images had.
class BoardDetector {
 public:
  explicit BoardDetector(Board board);
  /// @param image 8 or 16 bit, one, three or four channels; empty: unreadable
  Detection detect(const cv::Mat& image);
  /// With the dictionary that was found out.
  const Board& board() const { return board_; }

 private:
  Detection detect_checkerboard(const cv::Mat& grey);
  Detection detect_charuco(const cv::Mat& grey);
  Board board_;
  int dictionary_ = -1;  ///< index into dictionary_names(), -1: not known yet
  int layout_ = -1;  ///< 0: the top left square is black; 1: white (OpenCV before 4.6, even rows); -1: not known yet
};

}  // namespace ligature::calibration
