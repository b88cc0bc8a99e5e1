#include "drivers/calibration/detection.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <opencv2/aruco.hpp>
#include <opencv2/calib3d.hpp>
#include <opencv2/imgproc.hpp>
#include <optional>

namespace ligature::calibration {
namespace {

constexpr int kSearchWidthPx = 1280;         // larger images are searched smaller and refined as they are
constexpr double kLeastContrast = 4;         // standard deviation of a picture with anything in it [0..255]
constexpr double kLeastSquareContrast = 10;  // between black and white squares [0..255]
constexpr double kUnclear_px = 0.4;          // that a corner moves with the window it is looked for in
constexpr double kWidestEdge = 0.4;          // of the corners' distance: beyond it the squares run into one another
constexpr std::size_t kLeastCharucoCorners = 6;

std::string format(const char* pattern, double a, double b = 0) {
  char buffer[160];
  std::snprintf(buffer, sizeof buffer, pattern, a, b);
  return buffer;
}

std::string size_text(int cols, int rows) {
  return std::to_string(cols) + "x" + std::to_string(rows);
}

/// 8 bit, one channel; empty when it is nothing of the kind.
cv::Mat to_grey(const cv::Mat& image) {
  cv::Mat bytes = image;
  if (image.empty() || image.dims != 2) return {};
  if (image.depth() == CV_16U)
    image.convertTo(bytes, CV_8U, 1.0 / 257.0);
  else if (image.depth() != CV_8U)
    return {};
  cv::Mat grey;
  if (bytes.channels() == 3)
    cv::cvtColor(bytes, grey, cv::COLOR_BGR2GRAY);
  else if (bytes.channels() == 4)
    cv::cvtColor(bytes, grey, cv::COLOR_BGRA2GRAY);
  else if (bytes.channels() == 1)
    grey = bytes.isContinuous() ? bytes : bytes.clone();
  return grey;
}

bool inside(const cv::Mat& grey, cv::Point2f p, double margin = 1) {
  return p.x >= margin && p.y >= margin && p.x <= grey.cols - 1 - margin && p.y <= grey.rows - 1 - margin;
}

double sample(const cv::Mat& grey, double x, double y) {
  x = std::clamp(x, 0.0, grey.cols - 1.001);
  y = std::clamp(y, 0.0, grey.rows - 1.001);
  const int ix = static_cast<int>(x), iy = static_cast<int>(y);
  const double fx = x - ix, fy = y - iy;
  const auto at = [&](int r, int c) {
    return static_cast<double>(grey.at<unsigned char>(std::min(r, grey.rows - 1), std::min(c, grey.cols - 1)));
  };
  return (1 - fy) * ((1 - fx) * at(iy, ix) + fx * at(iy, ix + 1)) +
         fy * ((1 - fx) * at(iy + 1, ix) + fx * at(iy + 1, ix + 1));
}

/// Two pairs of opposite quadrants, one dark and one bright: the sign along a circle changes four times and comes back
/// the same half a turn on.
bool is_saddle(const cv::Mat& grey, cv::Point2f p, double radius) {
  if (!inside(grey, p, radius)) return false;
  constexpr int n = 24;
  std::array<double, n> ring;
  for (int i = 0; i < n; ++i)
    ring[i] = sample(grey, p.x + radius * std::cos(2 * M_PI * i / n), p.y + radius * std::sin(2 * M_PI * i / n));
  const auto [low, high] = std::minmax_element(ring.begin(), ring.end());
  if (*high - *low < kLeastSquareContrast) return false;
  const double middle = 0.5 * (*low + *high), dead = 0.12 * (*high - *low);
  int changes = 0, last = 0, first = 0, alike = 0;
  for (int i = 0; i < n; ++i) {
    const double v = ring[i] - middle;
    const int sign = std::abs(v) < dead ? 0 : (v > 0 ? 1 : -1);
    alike += (ring[i] - middle) * (ring[(i + n / 2) % n] - middle) > 0;
    if (sign == 0) continue;
    if (first == 0) first = sign;
    changes += last != 0 && sign != last;
    last = sign;
  }
  changes += last != first;
  return changes == 4 && alike >= n - 8;
}

/// Where two pairs of edges meet, looked for within `window` pixels. @return false when it ran away: OpenCV then hands
/// back the very point it was given
bool refine(const cv::Mat& grey, cv::Point2f& p, double window) {
  const int half = static_cast<int>(std::clamp(std::floor(window), 2.0, 15.0));
  if (!inside(grey, p, half + 2)) return false;
  std::vector<cv::Point2f> one{p};
  cv::cornerSubPix(grey, one, {half, half}, {-1, -1}, {cv::TermCriteria::EPS | cv::TermCriteria::COUNT, 60, 0.0005});
  const double moved = std::hypot(one[0].x - p.x, one[0].y - p.y);
  p = one[0];
  // Two edges that cross are so in a smaller window, too; a glare beside them is not.
  const int inner = std::max(2, 2 * half / 3);
  cv::cornerSubPix(grey, one, {inner, inner}, {-1, -1}, {cv::TermCriteria::EPS | cv::TermCriteria::COUNT, 60, 0.0005});
  const bool stays = std::hypot(one[0].x - p.x, one[0].y - p.y) < kUnclear_px;
  return moved > 0 && moved < half && stays && inside(grey, p, half);
}

/// A grid of points in the image, rows first.
struct Grid {
  int cols = 0, rows = 0;
  std::vector<cv::Point2f> points;
  const cv::Point2f& at(int c, int r) const { return points[static_cast<std::size_t>(r) * cols + c]; }
  /// The shortest way to a neighbour.
  double spacing(int c, int r) const {
    double best = 1e9;
    const auto look = [&](int cc, int rr) {
      if (cc < 0 || rr < 0 || cc >= cols || rr >= rows) return;
      best = std::min<double>(best, std::hypot(at(cc, rr).x - at(c, r).x, at(cc, rr).y - at(c, r).y));
    };
    look(c - 1, r), look(c + 1, r), look(c, r - 1), look(c, r + 1);
    return best;
  }
  double median_spacing() const {
    std::vector<double> all;
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < cols; ++c) all.push_back(spacing(c, r));
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    return all[all.size() / 2];
  }
};

/// Mean brightness round the middle of square (c, r), which lies between corners (c, r) and (c + 1, r + 1).
double square_level(const cv::Mat& grey, const Grid& g, int c, int r) {
  const cv::Point2f a = g.at(c, r), b = g.at(c + 1, r), d = g.at(c, r + 1), e = g.at(c + 1, r + 1);
  double sum = 0;
  int n = 0;
  for (double u = 0.35; u < 0.7; u += 0.15)
    for (double v = 0.35; v < 0.7; v += 0.15, ++n) {
      const double wa = (1 - u) * (1 - v), wb = u * (1 - v), wd = (1 - u) * v, we = u * v;
      sum += sample(grey, wa * a.x + wb * b.x + wd * d.x + we * e.x, wa * a.y + wb * b.y + wd * d.y + we * e.y);
    }
  return sum / n;
}

struct Colours {
  bool first_dark = false;  ///< the square right of and below corner 0
  double agree = 0;         ///< share of squares darker or brighter than their neighbours as a checkerboard's are
  double contrast = 0;      ///< median, bright minus dark
};

Colours colours_of(const cv::Mat& grey, const Grid& g) {
  const int w = g.cols - 1, h = g.rows - 1;
  std::vector<double> level(static_cast<std::size_t>(w) * h);
  for (int r = 0; r < h; ++r)
    for (int c = 0; c < w; ++c) level[static_cast<std::size_t>(r) * w + c] = square_level(grey, g, c, r);
  std::vector<double> steps;  // of even squares above their odd neighbours
  for (int r = 0; r < h; ++r)
    for (int c = 0; c < w; ++c) {
      const double here = level[static_cast<std::size_t>(r) * w + c];
      const double sign = (c + r) % 2 == 0 ? 1 : -1;
      if (c + 1 < w) steps.push_back(sign * (here - level[static_cast<std::size_t>(r) * w + c + 1]));
      if (r + 1 < h) steps.push_back(sign * (here - level[static_cast<std::size_t>(r + 1) * w + c]));
    }
  Colours out;
  if (steps.empty()) return out;
  std::nth_element(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2), steps.end());
  const double median = steps[steps.size() / 2];
  out.first_dark = median < 0;
  out.contrast = std::abs(median);
  out.agree = static_cast<double>(std::count_if(steps.begin(), steps.end(), [&](double s) { return s * median > 0; })) /
              static_cast<double>(steps.size());
  return out;
}

/// Median width of the edges that leave the corners along x or y, 10 to 90 % of the step.
double edge_width(const cv::Mat& grey, const Grid& g) {
  std::array<std::vector<double>, 2> widths;
  for (int r = 0; r < g.rows; ++r)
    for (int c = 0; c < g.cols; ++c)
      for (int way = 0; way < 2; ++way) {
        const int c2 = c + (way == 0), r2 = r + (way == 1);
        if (c2 >= g.cols || r2 >= g.rows) continue;
        const cv::Point2f a = g.at(c, r), b = g.at(c2, r2);
        const double length = std::hypot(b.x - a.x, b.y - a.y);
        if (length < 4) continue;
        const double nx = -(b.y - a.y) / length, ny = (b.x - a.x) / length, reach = 0.45 * length;
        const double mx = 0.5 * (a.x + b.x), my = 0.5 * (a.y + b.y);
        const double low = sample(grey, mx - reach * nx, my - reach * ny);
        const double high = sample(grey, mx + reach * nx, my + reach * ny);
        if (std::abs(high - low) < kLeastSquareContrast) continue;
        // The share of the profile that lies between the levels is the width, however noisy it is.
        int between = 0;
        constexpr int n = 64;
        for (int i = 0; i < n; ++i) {
          const double t = -reach + 2 * reach * (i + 0.5) / n;
          const double v = (sample(grey, mx + t * nx, my + t * ny) - low) / (high - low);
          between += v > 0.1 && v < 0.9;
        }
        widths[static_cast<std::size_t>(way)].push_back(2 * reach * between / n);
      }
  double out = 0;
  for (auto& w : widths) {
    if (w.empty()) continue;
    std::nth_element(w.begin(), w.begin() + static_cast<std::ptrdiff_t>(w.size() / 2), w.end());
    out = std::max(out, w[w.size() / 2]);
  }
  return out;
}

/// x to the right of y as printed, and the square after corner 0 dark where the board's colours can tell.
void put_in_order(const cv::Mat& grey, const Board& board, Grid& g) {
  const cv::Point2f x = g.at(g.cols - 1, 0) - g.at(0, 0), y = g.at(0, g.rows - 1) - g.at(0, 0);
  if (x.x * y.y - x.y * y.x < 0)
    for (int r = 0; r < g.rows; ++r) std::reverse(g.points.begin() + r * g.cols, g.points.begin() + (r + 1) * g.cols);
  const auto ways = symmetries(board);
  const auto same = [&](int quarters) { return std::find(ways.begin(), ways.end(), quarters) != ways.end(); };
  if (colours_of(grey, g).first_dark) return;
  const int quarters = !same(2) ? 2 : (g.cols == g.rows && !same(1) ? 1 : 0);
  if (quarters == 0) return;
  std::vector<cv::Point2f> turned(g.points.size());
  for (std::size_t i = 0; i < g.points.size(); ++i)
    turned[static_cast<std::size_t>(turned_id(board, static_cast<int>(i), quarters))] = g.points[i];
  g.points = std::move(turned);
}

/// A side of the grid beyond which the checkerboard goes on: the board has more corners than were asked for.
bool goes_on(const cv::Mat& grey, const Grid& g) {
  const auto beyond = [&](bool along_rows, bool at_end) {
    const int n = along_rows ? g.rows : g.cols, last = (along_rows ? g.cols : g.rows) - 1;
    int tried = 0, saddles = 0;
    for (int i = 0; i < n; ++i) {
      const int edge = at_end ? last : 0, inner = at_end ? last - 1 : 1;
      const cv::Point2f a = along_rows ? g.at(edge, i) : g.at(i, edge);
      const cv::Point2f b = along_rows ? g.at(inner, i) : g.at(i, inner);
      cv::Point2f p = a + (a - b);
      const double spacing = along_rows ? g.spacing(edge, i) : g.spacing(i, edge);
      if (!inside(grey, p, 0.4 * spacing + 4)) continue;
      ++tried;
      const cv::Point2f guess = p;
      saddles += refine(grey, p, 0.3 * spacing) && std::hypot(p.x - guess.x, p.y - guess.y) < 0.2 * spacing + 1 &&
                 is_saddle(grey, p, std::max(2.0, 0.35 * spacing));
    }
    // A frame or a hand behind the board may look like a corner or two.
    return tried >= std::max(3, n / 2) && saddles * 10 >= tried * 8;
  };
  return beyond(true, false) || beyond(true, true) || beyond(false, false) || beyond(false, true);
}

/// Rows and columns of corners that follow one another as a smooth grid does.
bool is_smooth(const Grid& g) {
  int bad = 0;
  const auto bends = [](cv::Point2f a, cv::Point2f b, cv::Point2f c) {
    const double step = std::max(std::hypot(c.x - b.x, c.y - b.y), std::hypot(b.x - a.x, b.y - a.y));
    return std::hypot(a.x - 2 * b.x + c.x, a.y - 2 * b.y + c.y) > 0.35 * step;
  };
  for (int r = 0; r < g.rows; ++r)
    for (int c = 0; c < g.cols; ++c) {
      if (c > 0 && c + 1 < g.cols) bad += bends(g.at(c - 1, r), g.at(c, r), g.at(c + 1, r));
      if (r > 0 && r + 1 < g.rows) bad += bends(g.at(c, r - 1), g.at(c, r), g.at(c, r + 1));
    }
  return bad == 0;
}

cv::Mat smaller(const cv::Mat& grey, double& scale) {
  scale = std::min(1.0, static_cast<double>(kSearchWidthPx) / std::max(grey.cols, grey.rows));
  if (scale == 1.0) return grey;
  cv::Mat out;
  cv::resize(grey, out, {}, scale, scale, cv::INTER_AREA);
  return out;
}

/// Pixel centres of the smaller picture to those of the whole one.
void scale_up(Grid& g, double scale) {
  for (cv::Point2f& p : g.points) {
    p.x = static_cast<float>((p.x + 0.5) / scale - 0.5);
    p.y = static_cast<float>((p.y + 0.5) / scale - 0.5);
  }
}

enum class Search { sectors, squares };

/// By sectors: a tenth of a second, board or not. By squares: faster where there is a board and nothing else, but
/// seconds to minutes in leaves and writing.
std::optional<Grid> search_grid(const cv::Mat& grey, int cols, int rows, Search how) {
  double scale = 1;
  const cv::Mat small = smaller(grey, scale);
  Grid g{cols, rows, {}};
  const bool found = how == Search::sectors
                         ? cv::findChessboardCornersSB(small, {cols, rows}, g.points, cv::CALIB_CB_NORMALIZE_IMAGE)
                         : cv::findChessboardCorners(
                               small, {cols, rows}, g.points,
                               cv::CALIB_CB_ADAPTIVE_THRESH | cv::CALIB_CB_NORMALIZE_IMAGE | cv::CALIB_CB_FAST_CHECK);
  if (!found || g.points.size() != static_cast<std::size_t>(cols) * rows || !is_smooth(g)) return {};
  scale_up(g, scale);
  return g;
}

/// Any checkerboard, as large as it can be seen: to tell what is there instead of the one asked for.
std::optional<Grid> search_any_grid(const cv::Mat& grey) {
  double scale = 1;
  const cv::Mat small = smaller(grey, scale);
  Grid g;
  cv::Mat meta;
  if (!cv::findChessboardCornersSB(small, {3, 3}, g.points, cv::CALIB_CB_NORMALIZE_IMAGE | cv::CALIB_CB_LARGER, meta))
    return {};
  g.cols = meta.cols, g.rows = meta.rows;
  if (g.points.size() != static_cast<std::size_t>(g.cols) * g.rows) return {};
  scale_up(g, scale);
  return g;
}

/// Regular, in two colours and with saddles for corners, as a grid found by chance is not.
bool looks_real(const cv::Mat& grey, const Grid& g) {
  const Colours colours = colours_of(grey, g);
  if (!is_smooth(g) || colours.agree < 0.95 || colours.contrast < 2 * kLeastSquareContrast) return false;
  std::size_t saddles = 0;
  for (int r = 0; r < g.rows; ++r)
    for (int c = 0; c < g.cols; ++c) saddles += is_saddle(grey, g.at(c, r), std::max(2.0, 0.35 * g.spacing(c, r)));
  return saddles * 10 >= g.points.size() * 9;
}

/// A square's length beyond the outermost corners of the grid lies outside the picture somewhere.
bool reaches_border(const cv::Mat& grey, const Grid& g) {
  const auto out = [&](cv::Point2f edge, cv::Point2f inner) { return !inside(grey, edge + 1.3F * (edge - inner), 3); };
  for (int r = 0; r < g.rows; ++r)
    if (out(g.at(0, r), g.at(1, r)) || out(g.at(g.cols - 1, r), g.at(g.cols - 2, r))) return true;
  for (int c = 0; c < g.cols; ++c)
    if (out(g.at(c, 0), g.at(c, 1)) || out(g.at(c, g.rows - 1), g.at(c, g.rows - 2))) return true;
  return false;
}

/// Steepest steps against the picture's contrast: small when nothing in it is sharp.
bool all_blurred(const cv::Mat& grey) {
  cv::Mat soft, dx, dy, steep;
  cv::GaussianBlur(grey, soft, {0, 0}, 1.0);  // noise is no edge
  cv::Sobel(soft, dx, CV_32F, 1, 0, 3, 1.0 / 8);
  cv::Sobel(soft, dy, CV_32F, 0, 1, 3, 1.0 / 8);
  cv::magnitude(dx, dy, steep);
  std::vector<float> all(steep.begin<float>(), steep.end<float>());
  const auto at = all.begin() + static_cast<std::ptrdiff_t>(0.999 * static_cast<double>(all.size()));
  std::nth_element(all.begin(), at, all.end());
  std::vector<unsigned char> levels(soft.begin<unsigned char>(), soft.end<unsigned char>());
  const auto quantile = [&](double q) {
    const auto k = levels.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(levels.size() - 1));
    std::nth_element(levels.begin(), k, levels.end());
    return static_cast<double>(*k);
  };
  const double range = quantile(0.995) - quantile(0.005);
  return range > 4 * kLeastContrast && *at < 0.09 * range;
}

Detection rejected(Reject reject, std::string reason) {
  Detection d;
  d.reject = reject;
  d.reason = std::move(reason);
  return d;
}

// --- ChArUco ---

/// Where marker `id` lies: squares that bear markers are counted along the rows from the top left.
/// @param layout 0: the top left square is black (bears none), 1: it is white
std::optional<std::array<cv::Point2f, 4>> marker_outline(const Board& board, int layout, int id) {
  int n = 0;
  for (int r = 0; r < board.rows; ++r)
    for (int c = 0; c < board.cols; ++c) {
      if ((c + r) % 2 != (layout == 0 ? 1 : 0)) continue;
      if (n++ != id) continue;
      const double x = board.square_mm * (c + 0.5 - 0.5 * board.cols),
                   y = board.square_mm * (r + 0.5 - 0.5 * board.rows);
      const auto h = static_cast<float>(0.5 * board.marker_mm), fx = static_cast<float>(x), fy = static_cast<float>(y);
      return std::array<cv::Point2f, 4>{
          cv::Point2f{fx - h, fy - h}, {fx + h, fy - h}, {fx + h, fy + h}, {fx - h, fy + h}};
    }
  return {};
}

int marker_count(const Board& board) {
  return (board.cols * board.rows) / 2;
}

struct Markers {
  std::vector<int> ids;
  std::vector<std::vector<cv::Point2f>> outlines;
};

Markers search_markers(const cv::Mat& grey, int dictionary) {
  Markers out;
  auto parameters = cv::aruco::DetectorParameters::create();
  parameters->adaptiveThreshWinSizeMax = 53;
  parameters->minMarkerPerimeterRate = 0.02;
  parameters->minDistanceToBorder = 2;
  const auto names = cv::aruco::getPredefinedDictionary(static_cast<cv::aruco::PREDEFINED_DICTIONARY_NAME>(dictionary));
  cv::aruco::detectMarkers(grey, names, out.outlines, out.ids, parameters);
  return out;
}

/// Which of the markers lie as on the board. Lens distortion bends the whole, so the tolerance is half a marker.
std::vector<std::size_t> as_on_board(const Board& board, int layout, const Markers& markers) {
  std::vector<cv::Point2f> from, to;
  std::vector<std::size_t> whose;
  double side = 0;
  for (std::size_t i = 0; i < markers.ids.size(); ++i) {
    const auto outline = marker_outline(board, layout, markers.ids[i]);
    if (!outline) continue;
    for (std::size_t k = 0; k < 4; ++k) from.push_back((*outline)[k]), to.push_back(markers.outlines[i][k]);
    whose.push_back(i);
    side += std::hypot(to[to.size() - 1].x - to[to.size() - 2].x, to[to.size() - 1].y - to[to.size() - 2].y);
  }
  if (whose.empty()) return {};
  side /= static_cast<double>(whose.size());
  cv::Mat inlier;
  const cv::Mat H = cv::findHomography(from, to, cv::RANSAC, std::max(2.0, 0.35 * side), inlier);
  if (H.empty()) return {};
  std::vector<std::size_t> out;
  for (std::size_t k = 0; k < whose.size(); ++k) {
    int n = 0;
    for (std::size_t j = 0; j < 4; ++j) n += inlier.at<unsigned char>(static_cast<int>(4 * k + j)) != 0;
    if (n == 4) out.push_back(whose[k]);
  }
  return out;
}

}  // namespace

const char* name_of(Reject reject) {
  switch (reject) {
    case Reject::none:
      return "none";
    case Reject::unreadable:
      return "unreadable";
    case Reject::size:
      return "size";
    case Reject::blank:
      return "blank";
    case Reject::no_board:
      return "no_board";
    case Reject::partly_seen:
      return "partly_seen";
    case Reject::other_board:
      return "other_board";
    case Reject::blurred:
      return "blurred";
    case Reject::duplicate:
      return "duplicate";
    case Reject::no_number:
      return "no_number";
    case Reject::not_chosen:
      return "not_chosen";
    case Reject::disagrees:
      return "disagrees";
    case Reject::not_connected:
      return "not_connected";
  }
  return "";
}

BoardDetector::BoardDetector(Board board) : board_(std::move(board)) {
  const auto& names = dictionary_names();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == board_.dictionary) dictionary_ = static_cast<int>(i);
}

Detection BoardDetector::detect(const cv::Mat& image) {
  const cv::Mat grey = to_grey(image);
  Detection d;
  if (grey.empty()) {
    d = rejected(Reject::unreadable, "no image that can be decoded: copy the file again");
    return d;
  }
  try {
    cv::Scalar mean, deviation;
    cv::meanStdDev(grey, mean, deviation);
    if (grey.cols < 64 || grey.rows < 64)
      d = rejected(Reject::no_board, "too small for a board: " + size_text(grey.cols, grey.rows) + " pixels");
    else if (deviation[0] < kLeastContrast)
      d = rejected(Reject::blank,
                   mean[0] < 40
                       ? "dark all over: more light, a longer exposure, or, of 12 bits in 16, values up to 65535"
                   : mean[0] > 215 ? "bright all over: less light, or a shorter exposure"
                                   : "of one grey all over: nothing to be seen in it");
    else
      d = board_.kind == Board::Kind::charuco ? detect_charuco(grey) : detect_checkerboard(grey);
  } catch (const std::exception& wrong) {  // the image library's own complaint about one image
    d = rejected(Reject::no_board, std::string("cannot be searched: ") + wrong.what());
  }
  d.width_px = grey.cols, d.height_px = grey.rows;
  return d;
}

Detection BoardDetector::detect_checkerboard(const cv::Mat& grey) {
  std::optional<Grid> grid = search_grid(grey, board_.cols, board_.rows, Search::sectors);
  const std::string asked = size_text(board_.cols, board_.rows);
  if (!grid) {
    // What is there instead; where it is a board, the other search may still find it whole.
    std::optional<Grid> any = search_any_grid(grey);
    if (any && !looks_real(grey, *any)) any.reset();
    if (any) grid = search_grid(grey, board_.cols, board_.rows, Search::squares);
    if (!grid && any) {
      const int a = std::max(any->cols, any->rows), b = std::min(any->cols, any->rows);
      const int c = std::max(board_.cols, board_.rows), d = std::min(board_.cols, board_.rows);
      const std::string seen = size_text(a, b);
      // Of a blurred board any part may look like a whole one.
      if ((a != c || b != d) && (all_blurred(grey) || edge_width(grey, *any) > kWidestEdge * any->median_spacing()))
        return rejected(Reject::blurred, "blurred: of the board's corners only " + seen + " are to be made out");
      if (a <= c && b <= d && reaches_border(grey, *any))
        return rejected(Reject::partly_seen, "only " + seen + " of " + size_text(c, d) +
                                                 " corners are in the picture: a checkerboard must be seen whole");
      if (a != c || b != d)
        return rejected(Reject::other_board, "shows " + seen + " inner corners where " + asked +
                                                 " are asked for: another board, or part of it is covered");
    }
    if (!grid && all_blurred(grey))
      return rejected(Reject::blurred, "blurred all over: focus the lens, hold the board still, expose for less time");
    if (!grid) return rejected(Reject::no_board, "no checkerboard of " + asked + " inner corners seen");
  }

  put_in_order(grey, board_, *grid);
  std::vector<bool> sharp;
  for (int r = 0; r < grid->rows; ++r)
    for (int c = 0; c < grid->cols; ++c) {
      cv::Point2f& p = grid->points[static_cast<std::size_t>(r) * grid->cols + c];
      sharp.push_back(refine(grey, p, 0.4 * grid->spacing(c, r)));
      if (!inside(grey, p, 2))
        return rejected(Reject::partly_seen, "the board leaves the picture: a checkerboard must be seen whole");
    }
  const double spacing = grid->median_spacing(), edge = edge_width(grey, *grid);
  if (edge > kWidestEdge * spacing)
    return rejected(Reject::blurred,
                    format("blurred: edges are %.1f px wide where corners lie %.1f px apart", edge, spacing));
  if (!is_smooth(*grid)) return rejected(Reject::no_board, "what looked like a checkerboard is no regular grid");
  const Colours colours = colours_of(grey, *grid);
  if (colours.agree < 0.9)
    return rejected(
        Reject::no_board,
        format("only %.0f %% of the squares are dark and bright in turn: no checkerboard of ", 100 * colours.agree) +
            asked);
  if (colours.contrast < kLeastSquareContrast)
    return rejected(Reject::blank, "black and white squares are hardly to be told apart: more light");
  if (goes_on(grey, *grid))
    return rejected(Reject::other_board, "the squares go on beyond the " + asked +
                                             " inner corners asked for: another board, or count its corners again");
  Detection d;
  d.edge_px = edge;
  for (std::size_t i = 0; i < grid->points.size(); ++i)
    if (sharp[i]) d.corners.push_back({static_cast<int>(i), grid->points[i].x, grid->points[i].y});
  if (10 * d.corners.size() < 8 * grid->points.size())
    return rejected(Reject::blurred, "only " + std::to_string(d.corners.size()) + " of " +
                                         std::to_string(grid->points.size()) + " corners are clear");
  d.reject = Reject::none;
  return d;
}

Detection BoardDetector::detect_charuco(const cv::Mat& grey) {
  const int needed = marker_count(board_);
  std::vector<int> dictionaries;
  if (dictionary_ >= 0) {
    dictionaries = {dictionary_};
  } else {
    // Of each family the smallest that has enough markers: a larger one starts with the same, but corrects fewer bits.
    constexpr std::array<std::pair<int, int>, 21> sizes{
        {{0, 50},   {1, 100},   {2, 250},   {3, 1000}, {4, 50},    {5, 100},   {6, 250},
         {7, 1000}, {8, 50},    {9, 100},   {10, 250}, {11, 1000}, {12, 50},   {13, 100},
         {14, 250}, {15, 1000}, {16, 1024}, {17, 30},  {18, 35},   {19, 2320}, {20, 587}}};
    int family_done = -1;
    for (const auto& [index, size] : sizes) {
      const int family = index < 16 ? index / 4 : index;
      if (family == family_done || size < needed) continue;
      dictionaries.push_back(index);
      family_done = family;
    }
  }

  int best_dictionary = -1, best_layout = 0;
  Markers best;
  std::vector<std::size_t> best_good;
  std::size_t seen = 0;
  for (const int dictionary : dictionaries) {
    Markers markers = search_markers(grey, dictionary);
    seen = std::max(seen, markers.ids.size());
    for (int layout = 0; layout < (board_.rows % 2 == 0 ? 2 : 1); ++layout) {
      if (layout_ >= 0 && layout != layout_) continue;
      auto good = as_on_board(board_, layout, markers);
      if (good.size() <= best_good.size()) continue;
      best_good = std::move(good);
      best_dictionary = dictionary, best_layout = layout;
      best = markers;
    }
  }
  // One or two markers lie as on any board.
  if (best_good.size() < 3 || 2 * best_good.size() < best.ids.size()) {
    if (seen >= 4)
      return rejected(Reject::other_board, std::to_string(seen) + " markers seen, but not where a " + board_.text() +
                                               " board has them: another board, or its columns and rows are swapped");
    if (all_blurred(grey))
      return rejected(Reject::blurred, "blurred all over: focus the lens, hold the board still, expose for less time");
    if (seen > 0)
      return rejected(Reject::partly_seen, "only " + std::to_string(seen) + " of " + std::to_string(needed) +
                                               " markers seen: at least three that lie as on the board are needed");
    return rejected(Reject::no_board,
                    "no markers" + (dictionary_ >= 0 ? " of " + board_.dictionary : std::string()) + " seen");
  }
  if (best_good.size() >= 4) {
    dictionary_ = best_dictionary, layout_ = best_layout;
    board_.dictionary = dictionary_names()[static_cast<std::size_t>(best_dictionary)];
  }

  struct Placed {
    cv::Point2f middle_B;
    std::array<cv::Point2f, 4> outline_B;
    std::size_t index;
  };
  std::vector<Placed> placed;
  for (const std::size_t i : best_good) {
    const auto outline = *marker_outline(board_, best_layout, best.ids[i]);
    placed.push_back({0.5F * (outline[0] + outline[2]), outline, i});
  }
  // A corner touches two white squares; a homography of the markers near it says where it is to a pixel.
  const double square = board_.square_mm, margin = 0.5 * (square - board_.marker_mm);
  Detection d;
  std::vector<double> edges;
  std::size_t unclear = 0;
  for (int id = 0; id < static_cast<int>(board_.corners()); ++id) {
    const Vec3 p_B = board_.corner_p_B(id);
    const cv::Point2f at_B(static_cast<float>(p_B.x), static_cast<float>(p_B.y));
    std::vector<cv::Point2f> from, to;
    bool touches = false;
    for (const Placed& m : placed) {
      const double away = std::hypot(m.middle_B.x - at_B.x, m.middle_B.y - at_B.y);
      touches |= away < 0.8 * square;
      if (away > 1.7 * square) continue;
      for (std::size_t k = 0; k < 4; ++k) from.push_back(m.outline_B[k]), to.push_back(best.outlines[m.index][k]);
    }
    if (!touches) continue;
    const cv::Mat H = cv::findHomography(from, to, 0);
    if (H.empty()) continue;
    const auto s = static_cast<float>(square);
    const std::vector<cv::Point2f> here{at_B, {at_B.x + s, at_B.y}, {at_B.x, at_B.y + s}};
    std::vector<cv::Point2f> there;
    cv::perspectiveTransform(here, there, H);
    const double spacing = std::min(std::hypot(there[1].x - there[0].x, there[1].y - there[0].y),
                                    std::hypot(there[2].x - there[0].x, there[2].y - there[0].y));
    const double margin_px = margin / square * spacing;
    cv::Point2f p = there[0];
    if (!inside(grey, p, 3)) continue;
    if (!refine(grey, p, std::min(margin_px, 0.4 * spacing)) ||
        !is_saddle(grey, p, std::clamp(margin_px, 2.0, 0.35 * spacing))) {
      ++unclear;
      continue;
    }
    d.corners.push_back({id, p.x, p.y});
  }
  int rows = 0, cols = 0;
  {
    std::vector<bool> row(static_cast<std::size_t>(board_.corner_rows())),
        col(static_cast<std::size_t>(board_.corner_cols()));
    for (const Corner& c : d.corners)
      row[static_cast<std::size_t>(c.id / board_.corner_cols())] =
          col[static_cast<std::size_t>(c.id % board_.corner_cols())] = true;
    rows = static_cast<int>(std::count(row.begin(), row.end(), true));
    cols = static_cast<int>(std::count(col.begin(), col.end(), true));
  }
  if (d.corners.size() < kLeastCharucoCorners || rows < 2 || cols < 2) {
    const bool blurred = unclear > d.corners.size() && unclear >= kLeastCharucoCorners;
    return rejected(
        blurred ? Reject::blurred : Reject::partly_seen,
        std::to_string(best_good.size()) + " markers seen, but only " + std::to_string(d.corners.size()) +
            (blurred ? " corners are clear: blurred" : " corners: too little of the board is in the picture"));
  }
  d.reject = Reject::none;
  return d;
}

}  // namespace ligature::calibration
