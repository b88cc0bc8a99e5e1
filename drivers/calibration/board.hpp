#pragma once
/// The calibration board, as the technician names it on the command line.
///
/// Frame B: origin in the middle of the grid of corners, x along a row as printed, y down the rows, z into the board,
/// so that a board seen from its printed side has its x to the right where its y is down, like an image.
///
///   checkerboard:9x6:25mm              inner corners: 9 in a row, 6 rows; squares of 25 mm
///   charuco:7x5:30mm:22mm[:DICT]       squares: 7 in a row, 5 rows; squares of 30 mm, markers of 22 mm
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/geometry.hpp"
#include "sim/base/result.hpp"

namespace ligature::calibration {

struct Board {
  enum class Kind { checkerboard, charuco };
  Kind kind = Kind::checkerboard;
  int cols = 9, rows = 6;  ///< as written: inner corners of a checkerboard, squares of a ChArUco board
  double square_mm = 25;
  double marker_mm = 0;    ///< ChArUco only
  std::string dictionary;  ///< OpenCV's name, e.g. DICT_6X6_250; empty: found out from the first images

  int corner_cols() const { return kind == Kind::charuco ? cols - 1 : cols; }
  int corner_rows() const { return kind == Kind::charuco ? rows - 1 : rows; }
  std::size_t corners() const { return static_cast<std::size_t>(corner_cols()) * corner_rows(); }
  /// Corner `id`, counted along the rows from the first one.  [mm, B]
  Vec3 corner_p_B(int id) const;
  /// As on the command line.
  std::string text() const;
};

/// Errors: usage, naming the part of the text that is wrong, its range and an example.
Result<Board> parse_board(std::string_view text);

/// By how many quarter turns a checkerboard may be turned so that its squares' colours fall onto one another; always
/// holds 0. A ChArUco board's markers tell it from all of them.
std::vector<int> symmetries(const Board& board);
/// The id that a corner has once the grid is turned by `quarters` quarter turns (rows and columns must be as many when
/// `quarters` is odd).
int turned_id(const Board& board, int id, int quarters);

/// The dictionaries that a ChArUco board may be printed from, OpenCV's names.
const std::vector<std::string>& dictionary_names();

}  // namespace ligature::calibration
