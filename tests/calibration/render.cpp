#include "tests/calibration/render.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <opencv2/aruco.hpp>
#include <opencv2/imgproc.hpp>
#include <random>

#include "drivers/camera/lens.hpp"

namespace ligature::calibration::test {
namespace {

constexpr int kSub = 5;  // samples along each side of a pixel

/// What is printed: 0 black, 1 white, -1 nothing.
class Print {
 public:
  Print(const Board& board, bool legacy) : board_(board), charuco_(board.kind == Board::Kind::charuco) {
    cols_ = charuco_ ? board.cols : board.cols + 1;
    rows_ = charuco_ ? board.rows : board.rows + 1;
    if (!charuco_) return;
    const auto& names = dictionary_names();
    const std::string name = board.dictionary.empty() ? "DICT_4X4_50" : board.dictionary;
    const int index = static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
    const auto dictionary =
        cv::aruco::getPredefinedDictionary(static_cast<cv::aruco::PREDEFINED_DICTIONARY_NAME>(index));
    bits_ = dictionary->markerSize + 2;
    white_ = legacy && rows_ % 2 == 0 ? 0 : 1;
    int id = 0;
    for (int r = 0; r < rows_; ++r)
      for (int c = 0; c < cols_; ++c) {
        if ((c + r) % 2 != white_) continue;
        cv::Mat marker;
        cv::aruco::drawMarker(dictionary, id++, bits_, marker, 1);
        markers_[r * cols_ + c] = marker;
      }
  }

  double at(double x_mm, double y_mm) const {
    const double u = x_mm / board_.square_mm + 0.5 * cols_, v = y_mm / board_.square_mm + 0.5 * rows_;
    constexpr double quiet = 0.6;  // white paper round the squares
    if (u < -quiet || v < -quiet || u > cols_ + quiet || v > rows_ + quiet) return -1;
    if (u < 0 || v < 0 || u >= cols_ || v >= rows_) return 1;
    const int c = static_cast<int>(u), r = static_cast<int>(v);
    // A checkerboard's first inner square, (1, 1), is black as the outer one at (0, 0).
    if ((c + r) % 2 != white_) return 0;
    if (!charuco_) return 1;
    const double side = board_.marker_mm / board_.square_mm;
    const double a = (u - c - 0.5) / side + 0.5, b = (v - r - 0.5) / side + 0.5;
    if (a < 0 || b < 0 || a >= 1 || b >= 1) return 1;
    return markers_.at(r * cols_ + c).at<unsigned char>(static_cast<int>(b * bits_), static_cast<int>(a * bits_)) > 0;
  }

 private:
  Board board_;
  bool charuco_;
  int cols_ = 0, rows_ = 0, bits_ = 0, white_ = 1;
  std::map<int, cv::Mat> markers_;
};

/// Normalised ray of every pixel corner: one more in each direction than pixels.
const cv::Mat& rays_of(const drivers::CameraModel& k) {
  static std::map<std::array<double, 11>, cv::Mat> known;
  const std::array<double, 11> key{static_cast<double>(k.width_px),
                                   static_cast<double>(k.height_px),
                                   k.fx_px,
                                   k.fy_px,
                                   k.cx_px,
                                   k.cy_px,
                                   k.distortion[0],
                                   k.distortion[1],
                                   k.distortion[2],
                                   k.distortion[3],
                                   k.distortion[4]};
  cv::Mat& rays = known[key];
  if (rays.empty()) {
    const drivers::Lens lens(k);
    rays.create(k.height_px + 1, k.width_px + 1, CV_64FC2);
    for (int r = 0; r <= k.height_px; ++r)
      for (int c = 0; c <= k.width_px; ++c) {
        const auto n = lens.undistort({c - 0.5, r - 0.5});
        rays.at<cv::Vec2d>(r, c) = {n.x, n.y};
      }
  }
  return rays;
}

}  // namespace

cv::Mat photograph(const Board& board, const drivers::CameraModel& camera, const Pose& X_CB, const Photo& photo) {
  const Print print(board, photo.legacy_charuco);
  const cv::Mat& rays = rays_of(camera);
  std::mt19937_64 random(photo.seed);
  std::uniform_real_distribution<double> unit(0, 1);
  cv::Mat image(camera.height_px, camera.width_px, CV_32F);
  for (int r = 0; r < image.rows; ++r)
    for (int c = 0; c < image.cols; ++c)
      image.at<float>(r, c) = 60 + 40.0F * static_cast<float>(c) / static_cast<float>(image.cols);
  if (photo.clutter)
    for (int i = 0; i < 12; ++i) {
      const cv::Point a(static_cast<int>(unit(random) * image.cols), static_cast<int>(unit(random) * image.rows));
      const cv::Size s(10 + static_cast<int>(unit(random) * image.cols / 4),
                       10 + static_cast<int>(unit(random) * image.rows / 4));
      cv::rectangle(image, {a, s}, cv::Scalar(20 + 180 * unit(random)), cv::FILLED);
    }

  // The plane of the board: n . p = h; a ray d meets it at d h / (n . d).
  const Vec3 n = rotate(X_CB.q, {0, 0, 1}), ex = rotate(X_CB.q, {1, 0, 0}), ey = rotate(X_CB.q, {0, 1, 0});
  const double h = dot(n, X_CB.p);
  for (int r = 0; r < image.rows; ++r)
    for (int c = 0; c < image.cols; ++c) {
      const auto a = rays.at<cv::Vec2d>(r, c), b = rays.at<cv::Vec2d>(r, c + 1), d = rays.at<cv::Vec2d>(r + 1, c),
                 e = rays.at<cv::Vec2d>(r + 1, c + 1);
      const auto board_at = [&](double u, double v, double& x, double& y) {
        const double rx = (1 - v) * ((1 - u) * a[0] + u * b[0]) + v * ((1 - u) * d[0] + u * e[0]);
        const double ry = (1 - v) * ((1 - u) * a[1] + u * b[1]) + v * ((1 - u) * d[1] + u * e[1]);
        const double along = n.x * rx + n.y * ry + n.z;
        const double t = h / along;
        if (!(t > 0) || h <= 0) return false;  // behind the camera, or its back
        const Vec3 q = Vec3{t * rx, t * ry, t} - X_CB.p;
        x = dot(q, ex), y = dot(q, ey);
        return true;
      };
      double x, y;
      if (!board_at(0.5, 0.5, x, y) || print.at(x * 0.97, y * 0.97) < 0) continue;
      // Most pixels show one square only.
      constexpr std::array<std::array<double, 2>, 4> kEnds{{{0.02, 0.02}, {0.98, 0.02}, {0.02, 0.98}, {0.98, 0.98}}};
      const double middle = print.at(x, y);
      bool one = true;
      for (const auto& [u, v] : kEnds) one = one && board_at(u, v, x, y) && print.at(x, y) == middle;
      if (one) {
        if (middle >= 0) image.at<float>(r, c) = static_cast<float>(photo.black + middle * (photo.white - photo.black));
        continue;
      }
      double sum = 0;
      for (int i = 0; i < kSub; ++i)
        for (int j = 0; j < kSub; ++j) {
          double level = -1;
          if (board_at((i + 0.5) / kSub, (j + 0.5) / kSub, x, y)) level = print.at(x, y);
          sum += level < 0 ? image.at<float>(r, c) : photo.black + level * (photo.white - photo.black);
        }
      image.at<float>(r, c) = static_cast<float>(sum / (kSub * kSub));
    }
  if (photo.motion_px > 0) {
    const int width = std::max(1, static_cast<int>(std::lround(photo.motion_px)));
    cv::blur(image, image, {width, 1});
  }
  if (photo.blur_px > 0) cv::GaussianBlur(image, image, {0, 0}, photo.blur_px);
  cv::Mat out(image.size(), CV_8U);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> field(1 << 16);
  for (float& v : field) v = normal(random);
  std::size_t at = 0;
  for (int r = 0; r < out.rows; ++r) {
    at = random();
    for (int c = 0; c < out.cols; ++c) {
      const double u = 2.0 * c / out.cols - 1, v = 2.0 * r / out.rows - 1;
      const double level = image.at<float>(r, c) * (1 - photo.vignette * 0.5 * (u * u + v * v));
      const double noise = photo.noise * std::sqrt(std::max(level, 4.0) / 128) * field[at++ & 0xFFFF];
      out.at<unsigned char>(r, c) = cv::saturate_cast<unsigned char>(level + noise);
    }
  }
  return out;
}

}  // namespace ligature::calibration::test
