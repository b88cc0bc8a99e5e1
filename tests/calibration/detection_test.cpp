/// Boards in rendered photographs: found where they are, or refused for the reason that is true.
#include <gtest/gtest.h>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "drivers/calibration/detection.hpp"
#include "tests/calibration/render.hpp"
#include "tests/calibration/synthetic.hpp"

namespace ligature::calibration::test {
namespace {

drivers::CameraModel lens(int w = 640, int h = 480, double f = 600, std::array<double, 5> k = {}) {
  drivers::CameraModel camera;
  camera.width_px = w, camera.height_px = h;
  camera.fx_px = camera.fy_px = f;
  camera.cx_px = 0.5 * (w - 1), camera.cy_px = 0.5 * (h - 1);
  camera.distortion = k;
  return camera;
}

/// In front of the camera, printed side towards it, tilted.
Pose before(double distance_mm, double tilt_deg = 25, double turn_deg = 10, double x = 0, double y = 0) {
  return {axis_angle({0.6, 0.8, 0}, tilt_deg * M_PI / 180) * axis_angle({0, 0, 1}, turn_deg * M_PI / 180),
          {x, y, distance_mm}};
}

struct Errors {
  double rms = 0, worst = 0, mean_u = 0, mean_v = 0;
};
Errors errors_of(const Detection& d, const Board& board, const drivers::CameraModel& camera, const Pose& X_CB) {
  Errors e;
  drivers::CameraModel at = camera;
  at.X_RC = {};
  for (const Corner& k : d.corners) {
    const Vec3 p = X_CB * board.corner_p_B(k.id);
    const auto uv = drivers::Lens(at).distort({p.x / p.z, p.y / p.z});
    const double du = k.u_px - uv.x, dv = k.v_px - uv.y;
    e.rms += du * du + dv * dv;
    e.worst = std::max(e.worst, std::hypot(du, dv));
    e.mean_u += du / static_cast<double>(d.corners.size()), e.mean_v += dv / static_cast<double>(d.corners.size());
  }
  e.rms = std::sqrt(e.rms / static_cast<double>(std::max<std::size_t>(1, d.corners.size())));
  return e;
}

Board board_of(const char* text) {
  auto board = parse_board(text);
  EXPECT_TRUE(board) << text;
  return *board;
}

TEST(BoardText, IsReadAndRefusedWithTheReason) {
  EXPECT_EQ(board_of("checkerboard:9x6:25mm").corners(), 54U);
  EXPECT_EQ(board_of("charuco:7x5:30mm:22mm").corners(), 24U);
  EXPECT_EQ(board_of("charuco:7x5:30mm:22mm:dict_5x5_100").dictionary, "DICT_5X5_100");
  EXPECT_EQ(board_of("charuco:7x5:30mm:22mm:5X5_100").text(), "charuco:7x5:30mm:22mm:DICT_5X5_100");
  for (const char* wrong :
       {"", "chess:9x6:25mm", "checkerboard", "checkerboard:9x6", "checkerboard:9:25mm", "checkerboard:9x6:25",
        "checkerboard:2x6:25mm", "checkerboard:9x6:-1mm", "checkerboard:9x6:nanmm", "checkerboard:9x6:25mm:3mm",
        "charuco:7x5:30mm", "charuco:7x5:30mm:30mm", "charuco:7x5:30mm:22mm:DICT_9", "checkerboard:9x6x2:25mm"}) {
    const auto board = parse_board(wrong);
    ASSERT_FALSE(board) << wrong;
    EXPECT_EQ(board.error().kind, Error::Kind::usage);
    EXPECT_NE(board.error().message.find("checkerboard:9x6:25mm"), std::string::npos);
  }
}

TEST(Checkerboard, CornersAreFoundToATenthOfAPixelAtAnySizeTurnAndLens) {
  struct Case {
    int w, h;
    double f;
    std::array<double, 5> k;
    double distance, tilt, turn;
  };
  const Board board = board_of("checkerboard:9x6:25mm");
  for (const Case& c :
       {Case{640, 480, 600, {}, 330, 25, 10}, Case{640, 480, 600, {-0.35, 0.12, 0, 0, 0}, 300, 30, 100},
        Case{1920, 1080, 1500, {-0.2, 0.05, 0.001, 0, 0}, 420, 35, 200}, Case{480, 640, 600, {}, 380, 20, 80},
        Case{1600, 1200, 1400, {-0.35, 0.12, 0, 0, 0}, 350, 10, 300}, Case{320, 240, 300, {}, 330, 15, 45}}) {
    const auto camera = lens(c.w, c.h, c.f, c.k);
    const Pose X = before(c.distance, c.tilt, c.turn);
    const Detection d = BoardDetector(board).detect(photograph(board, camera, X));
    ASSERT_TRUE(d.found()) << c.w << "x" << c.h << ": " << d.reason;
    EXPECT_GE(d.corners.size(), 50U);
    const Errors e = errors_of(d, board, camera, X);
    EXPECT_LT(e.rms, 0.1) << c.w << "x" << c.h;
    EXPECT_LT(e.worst, 0.35) << c.w << "x" << c.h;
  }
}

TEST(Charuco, CornersAreFoundToATenthOfAPixelInBothLayoutsAndPartly) {
  struct Case {
    const char* board;
    const char* asked;
    bool legacy;
    double distance, x;
    std::array<double, 5> k;
  };
  for (const Case& c :
       {Case{"charuco:7x5:30mm:22mm:DICT_4X4_50", "charuco:7x5:30mm:22mm:DICT_4X4_50", false, 330, 0, {}},
        Case{"charuco:8x6:25mm:18mm:DICT_6X6_250", "charuco:8x6:25mm:18mm", false, 330, 0, {-0.35, 0.12, 0, 0, 0}},
        Case{"charuco:8x6:25mm:18mm:DICT_5X5_100", "charuco:8x6:25mm:18mm", true, 330, 0, {}},
        Case{"charuco:12x9:20mm:15mm:DICT_4X4_100", "charuco:12x9:20mm:15mm", false, 260, 70, {-0.2, 0.05, 0, 0, 0}}}) {
    const Board drawn = board_of(c.board);
    const auto camera = lens(640, 480, 600, c.k);
    const Pose X = before(c.distance, 25, 15, c.x);
    Photo photo;
    photo.legacy_charuco = c.legacy;
    BoardDetector detector(board_of(c.asked));
    const Detection d = detector.detect(photograph(drawn, camera, X, photo));
    ASSERT_TRUE(d.found()) << c.board << ": " << d.reason;
    EXPECT_EQ(detector.board().dictionary.substr(0, 8), drawn.dictionary.substr(0, 8));
    EXPECT_GT(d.corners.size(), drawn.corners() / 3);
    const Errors e = errors_of(d, drawn, camera, X);
    EXPECT_LT(e.rms, 0.1) << c.board;
    EXPECT_LT(std::hypot(e.mean_u, e.mean_v), 0.03) << c.board;
  }
}

TEST(Pictures, AreRefusedForTheReasonThatIsTrue) {
  const Board board = board_of("checkerboard:9x6:25mm");
  const auto camera = lens();
  const auto of = [&](const cv::Mat& image, const char* asked = "checkerboard:9x6:25mm") {
    return BoardDetector(board_of(asked)).detect(image);
  };
  const cv::Mat good = photograph(board, camera, before(340));
  EXPECT_EQ(of(cv::Mat()).reject, Reject::unreadable);
  EXPECT_EQ(of(cv::Mat(480, 640, CV_8U, cv::Scalar(3))).reject, Reject::blank);
  EXPECT_EQ(of(cv::Mat(480, 640, CV_8U, cv::Scalar(250))).reject, Reject::blank);
  EXPECT_EQ(of(cv::Mat(8, 8, CV_8U, cv::Scalar(9))).reject, Reject::no_board);
  EXPECT_EQ(of(good, "checkerboard:8x6:25mm").reject, Reject::other_board) << of(good, "checkerboard:8x6:25mm").reason;
  EXPECT_EQ(of(good, "checkerboard:9x5:25mm").reject, Reject::other_board) << of(good, "checkerboard:9x5:25mm").reason;
  EXPECT_EQ(of(good, "checkerboard:10x7:25mm").reject, Reject::other_board)
      << of(good, "checkerboard:10x7:25mm").reason;
  EXPECT_EQ(of(good, "checkerboard:7x5:25mm").reject, Reject::other_board) << of(good, "checkerboard:7x5:25mm").reason;
  EXPECT_TRUE(of(good, "checkerboard:6x9:25mm").found()) << of(good, "checkerboard:6x9:25mm").reason;
  EXPECT_EQ(of(good, "charuco:7x5:30mm:22mm").reject, Reject::no_board) << of(good, "charuco:7x5:30mm:22mm").reason;

  const Detection partly = of(photograph(board, camera, before(300, 20, 10, 110)));
  EXPECT_EQ(partly.reject, Reject::partly_seen) << partly.reason;
  Photo blurred;
  blurred.blur_px = 14;
  const Detection soft = of(photograph(board, camera, before(340), blurred));
  EXPECT_EQ(soft.reject, Reject::blurred) << soft.reason;
  blurred.blur_px = 0.7, blurred.motion_px = 30;
  const Detection dragged = of(photograph(board, camera, before(340), blurred));
  EXPECT_FALSE(dragged.found()) << dragged.reason;
  cv::Mat turned, cropped = good(cv::Rect(150, 100, 330, 300)).clone();
  cv::rotate(good, turned, cv::ROTATE_90_CLOCKWISE);
  EXPECT_TRUE(of(turned).found());
  EXPECT_EQ(of(cropped).reject, Reject::partly_seen) << of(cropped).reason;
  cv::Mat covered = good.clone();
  cv::rectangle(covered, {250, 180, 90, 70}, cv::Scalar(90), cv::FILLED);
  EXPECT_FALSE(of(covered).found());
  cv::Mat clutter(480, 640, CV_8U);
  cv::randu(clutter, 0, 255);
  EXPECT_EQ(of(clutter).reject, Reject::no_board);
  cv::GaussianBlur(clutter, clutter, {0, 0}, 3);
  cv::normalize(clutter, clutter, 0, 255, cv::NORM_MINMAX);
  EXPECT_FALSE(of(clutter).found());

  const Board charuco = board_of("charuco:7x5:30mm:22mm:DICT_4X4_50");
  const cv::Mat marked = photograph(charuco, camera, before(340));
  EXPECT_EQ(of(marked, "charuco:5x7:30mm:22mm").reject, Reject::other_board)
      << of(marked, "charuco:5x7:30mm:22mm").reason;
  EXPECT_FALSE(of(marked, "charuco:7x5:30mm:22mm:DICT_7X7_50").found());
  EXPECT_FALSE(of(marked).found());
}

TEST(Pictures, MayHaveAnyDepthAndColours) {
  const Board board = board_of("checkerboard:9x6:25mm");
  const cv::Mat grey = photograph(board, lens(), before(340));
  cv::Mat colour, alpha, deep, real;
  cv::cvtColor(grey, colour, cv::COLOR_GRAY2BGR);
  cv::cvtColor(grey, alpha, cv::COLOR_GRAY2BGRA);
  grey.convertTo(deep, CV_16U, 257);
  grey.convertTo(real, CV_32F);
  for (const cv::Mat& image : {colour, alpha, deep}) EXPECT_TRUE(BoardDetector(board).detect(image).found());
  EXPECT_EQ(BoardDetector(board).detect(real).reject, Reject::unreadable);
}

}  // namespace
}  // namespace ligature::calibration::test
