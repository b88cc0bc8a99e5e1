#include "drivers/calibration/board.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace ligature::calibration {
namespace {

constexpr const char* kExample = "write checkerboard:9x6:25mm or charuco:7x5:30mm:22mm:DICT_6X6_250";

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ':')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

template <class Number>
bool parse_whole(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

bool parse_size(std::string_view text, int& cols, int& rows) {
  const auto cross = text.find('x');
  return cross != text.npos && parse_whole(text.substr(0, cross), cols) && parse_whole(text.substr(cross + 1), rows);
}

bool parse_mm(std::string_view text, double& mm) {
  if (!text.ends_with("mm")) return false;
  return parse_whole(text.substr(0, text.size() - 2), mm) && std::isfinite(mm) && mm > 0 && mm <= 1000;
}

std::string mm_text(double mm) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, mm);
  return std::string(buffer, error == std::errc{} ? end : buffer) + "mm";
}

}  // namespace

Vec3 Board::corner_p_B(int id) const {
  const int c = id % corner_cols(), r = id / corner_cols();
  return {square_mm * (c - 0.5 * (corner_cols() - 1)), square_mm * (r - 0.5 * (corner_rows() - 1)), 0};
}

std::string Board::text() const {
  const std::string size = std::to_string(cols) + "x" + std::to_string(rows) + ":" + mm_text(square_mm);
  if (kind == Kind::checkerboard) return "checkerboard:" + size;
  return "charuco:" + size + ":" + mm_text(marker_mm) + (dictionary.empty() ? "" : ":" + dictionary);
}

const std::vector<std::string>& dictionary_names() {
  // The order of OpenCV's PREDEFINED_DICTIONARY_NAME, whose values are the indices here.
  static const std::vector<std::string> names{
      "DICT_4X4_50",         "DICT_4X4_100",        "DICT_4X4_250",       "DICT_4X4_1000",      "DICT_5X5_50",
      "DICT_5X5_100",        "DICT_5X5_250",        "DICT_5X5_1000",      "DICT_6X6_50",        "DICT_6X6_100",
      "DICT_6X6_250",        "DICT_6X6_1000",       "DICT_7X7_50",        "DICT_7X7_100",       "DICT_7X7_250",
      "DICT_7X7_1000",       "DICT_ARUCO_ORIGINAL", "DICT_APRILTAG_16h5", "DICT_APRILTAG_25h9", "DICT_APRILTAG_36h10",
      "DICT_APRILTAG_36h11",
  };
  return names;
}

Result<Board> parse_board(std::string_view text) {
  const auto wrong = [&](const std::string& what) {
    return usage_error("--board " + std::string(text) + ": " + what + ": " + kExample);
  };
  const std::vector<std::string> parts = split(text);
  Board board;
  if (parts[0] == "checkerboard")
    board.kind = Board::Kind::checkerboard;
  else if (parts[0] == "charuco")
    board.kind = Board::Kind::charuco;
  else
    return wrong("the kind '" + parts[0] + "' must be checkerboard or charuco");
  const bool charuco = board.kind == Board::Kind::charuco;
  if (parts.size() < (charuco ? 4U : 3U) || parts.size() > (charuco ? 5U : 3U))
    return wrong(charuco ? "a ChArUco board has a size, a square and a marker"
                         : "a checkerboard has a size and a square");
  if (!parse_size(parts[1], board.cols, board.rows) || board.cols < 3 || board.rows < 3 || board.cols > 60 ||
      board.rows > 60)
    return wrong("the size '" + parts[1] + "' must be COLSxROWS, each 3..60");
  if (!parse_mm(parts[2], board.square_mm))
    return wrong("the square '" + parts[2] + "' must be above 0mm, at most 1000mm");
  if (!charuco) return board;
  if (!parse_mm(parts[3], board.marker_mm) || board.marker_mm >= board.square_mm)
    return wrong("the marker '" + parts[3] + "' must be above 0mm and smaller than the square");
  if (parts.size() == 5) {
    std::string name = parts[4];
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
    if (!name.starts_with("DICT_")) name = "DICT_" + name;
    const auto same = [&](const std::string& known) {
      return std::equal(name.begin(), name.end(), known.begin(), known.end(),
                        [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
    };
    const auto& known = dictionary_names();
    const auto at = std::find_if(known.begin(), known.end(), same);
    if (at == known.end())
      return wrong("the dictionary '" + parts[4] + "' is none of OpenCV's (DICT_4X4_50 ... DICT_APRILTAG_36h11)");
    board.dictionary = *at;
  }
  return board;
}

std::vector<int> symmetries(const Board& board) {
  if (board.kind == Board::Kind::charuco) return {0};
  // A half turn takes square (i, j) of the (cols + 1) x (rows + 1) squares to (cols - i, rows - j), a quarter turn of a
  // square board to (j, cols - i): the colour (i + j) mod 2 stays when cols + rows, or cols, is even.
  std::vector<int> out{0};
  const bool square = board.cols == board.rows, half = (board.cols + board.rows) % 2 == 0;
  if (square && board.cols % 2 == 0) out.push_back(1);
  if (half) out.push_back(2);
  if (square && board.cols % 2 == 0) out.push_back(3);
  return out;
}

int turned_id(const Board& board, int id, int quarters) {
  const int cols = board.corner_cols(), rows = board.corner_rows();
  int c = id % cols, r = id / cols;
  quarters = ((quarters % 4) + 4) % 4;
  if (quarters == 2) return (rows - 1 - r) * cols + (cols - 1 - c);
  for (; quarters > 0; --quarters) {  // only for square grids
    const int was = c;
    c = cols - 1 - r;
    r = was;
  }
  return r * cols + c;
}

}  // namespace ligature::calibration
