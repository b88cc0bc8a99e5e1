/// Photographs that others took (tests/data/photographs): they calibrate to a fraction of a pixel, and what was spoilt
/// on the way is found where it still is or refused for what is wrong with it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <opencv2/calib3d.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "drivers/calibration/calibration.hpp"

namespace ligature::calibration::test {
namespace {

namespace fs = std::filesystem;

const fs::path kPhotographs = fs::path(LIGATURE_SOURCE_DIR) / "tests/data/photographs";
constexpr const char* kNumbers[] = {"01", "02", "03", "04", "05", "06", "07", "08", "09", "11", "12", "13", "14"};

Board board_of(const char* text) {
  auto board = parse_board(text);
  EXPECT_TRUE(board) << text;
  return *board;
}

cv::Mat photograph(const std::string& name) {
  cv::Mat image = cv::imread((kPhotographs / name).string(), cv::IMREAD_COLOR);
  EXPECT_FALSE(image.empty()) << name;
  return image;
}

class Photographs : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "ligature_photographs_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }
  fs::path dir_;
};

IntrinsicsJob left_camera() {
  IntrinsicsJob job;
  job.settings.board = board_of("checkerboard:9x6:25mm");
  for (const char* number : kNumbers) job.images.push_back(kPhotographs / (std::string("left") + number + ".jpg"));
  return job;
}

TEST_F(Photographs, OfACheckerboardGiveTheLens) {
  const auto result = calibrate_intrinsics(left_camera());
  ASSERT_TRUE(result) << result.error().message;
  const Report& report = result->report;
  std::printf("left: %zu views, %.3f px, held out %.3f px, f %.2f +- %.2f px\n", report.cameras[0].views, report.rms_px,
              report.held_out_rms_px, result->camera.fx_px, report.cameras[0].sigma_f_px);
  EXPECT_TRUE(report.good());
  EXPECT_EQ(report.cameras[0].views, 13U);
  EXPECT_LT(report.rms_px, 0.25);
  EXPECT_LT(report.held_out_rms_px, 0.3);
  // Square pixels are a fact of the sensor that nothing told the adjustment.
  EXPECT_NEAR(result->camera.fx_px, result->camera.fy_px, 4 * report.cameras[0].sigma_f_px);
}

TEST_F(Photographs, OfAPairOfCamerasGiveTheirPlaces) {
  for (const char* number : kNumbers)
    for (const auto& [folder, side] : {std::pair{"C0", "left"}, std::pair{"C1", "right"}}) {
      fs::create_directories(dir_ / folder);
      fs::copy(kPhotographs / (std::string(side) + number + ".jpg"), dir_ / folder / (std::string(number) + ".jpg"));
    }
  RigJob job;
  job.settings.board = board_of("checkerboard:9x6:25mm");
  job.frames = dir_;
  job.cameras = {"C0", "C1"};
  const auto result = calibrate_rig(job);
  ASSERT_TRUE(result) << result.error().message;
  const Vec3 apart = result->rig.cameras[1].X_RC.p - result->rig.cameras[0].X_RC.p;
  std::printf("pair: %.3f px, held out %.3f px, %.2f mm apart\n", result->report.rms_px, result->report.held_out_rms_px,
              norm(apart));
  EXPECT_LT(result->report.rms_px, 0.3);
  EXPECT_LT(result->report.held_out_rms_px, 0.4);
  EXPECT_NEAR(norm(apart) / 25, 3.34, 0.03) << "3.34 squares, as OpenCV's own stereoCalibrate finds from its corners";
}

/// Largest distance between corners of the same name, `seen` being brought back by `to_plain`.
double apart(const Detection& plain, const Detection& seen, const std::function<cv::Point2d(cv::Point2d)>& to_plain) {
  double worst = 0;
  for (const Corner& k : seen.corners)
    for (const Corner& other : plain.corners)
      if (k.id == other.id) {
        const cv::Point2d p = to_plain({k.u_px, k.v_px});
        worst = std::max(worst, std::hypot(p.x - other.u_px, p.y - other.v_px));
      }
  return worst;
}

TEST_F(Photographs, OfACheckerboardBlurredTurnedOrCut) {
  BoardDetector detector(board_of("checkerboard:9x6:25mm"));
  const auto same = [](cv::Point2d p) { return p; };
  double worst_blurred = 0;
  int found_blurred = 0;
  for (const char* number : kNumbers) {
    const cv::Mat image = photograph(std::string("left") + number + ".jpg");
    const Detection plain = detector.detect(image);
    ASSERT_TRUE(plain.found()) << number << plain.reason;
    ASSERT_GE(plain.corners.size(), 50U) << "glare may blind some";

    cv::Mat spoilt;
    cv::GaussianBlur(image, spoilt, {}, 1.2);
    const Detection blurred = detector.detect(spoilt);
    found_blurred += blurred.found();
    if (blurred.found()) worst_blurred = std::max(worst_blurred, apart(plain, blurred, same));
    cv::GaussianBlur(image, spoilt, {}, 9);
    const Detection gone = detector.detect(spoilt);
    EXPECT_FALSE(gone.found()) << number;
    EXPECT_TRUE(gone.reject == Reject::blurred || gone.reject == Reject::no_board) << number << gone.reason;

    // Upside down: the same corners, named from the other end where the board is its own image.
    cv::rotate(image, spoilt, cv::ROTATE_180);
    const Detection turned = detector.detect(spoilt);
    EXPECT_TRUE(turned.found()) << number << turned.reason;
    if (turned.found()) {
      const auto back = [&](cv::Point2d p) { return cv::Point2d(image.cols - 1 - p.x, image.rows - 1 - p.y); };
      EXPECT_LT(apart(plain, turned, back), 0.6) << number;
    }

    // Half of the board, then all of the picture but the board.
    double left = 1e9, right = 0;
    for (const Corner& k : plain.corners) left = std::min(left, k.u_px), right = std::max(right, k.u_px);
    const int middle = static_cast<int>(0.5 * (left + right));
    const Detection half = detector.detect(image(cv::Rect(0, 0, middle, image.rows)).clone());
    EXPECT_FALSE(half.found()) << number;
    EXPECT_TRUE(half.reject == Reject::partly_seen || half.reject == Reject::no_board ||
                half.reject == Reject::other_board)
        << number << half.reason;
    spoilt = image.clone();
    std::vector<cv::Point> outline;
    for (const Corner& k : plain.corners) outline.emplace_back(cvRound(k.u_px), cvRound(k.v_px));
    cv::Rect box = cv::boundingRect(outline);
    box = (box + cv::Size(80, 80) - cv::Point(40, 40)) & cv::Rect(0, 0, image.cols, image.rows);
    cv::rectangle(spoilt, box, {120, 120, 120}, cv::FILLED);
    EXPECT_EQ(detector.detect(spoilt).reject, Reject::no_board) << number;
  }
  std::printf("blurred by 1.2 px: %d of 13 found, at most %.2f px from the sharp ones\n", found_blurred, worst_blurred);
  EXPECT_GE(found_blurred, 10);
  EXPECT_LT(worst_blurred, 0.6);
}

TEST_F(Photographs, OfAnotherBoardAreRefused) {
  const cv::Mat image = photograph("left01.jpg");
  for (const char* wrong : {"checkerboard:8x6:25mm", "checkerboard:7x5:25mm", "checkerboard:12x9:25mm",
                            "charuco:5x7:40mm:20mm", "charuco:10x7:25mm:18mm"}) {
    const Detection d = BoardDetector(board_of(wrong)).detect(image);
    EXPECT_FALSE(d.found()) << wrong;
    EXPECT_TRUE(d.reject == Reject::other_board || d.reject == Reject::no_board) << wrong << d.reason;
  }
  const Detection d = BoardDetector(board_of("checkerboard:9x6:25mm")).detect(photograph("charuco.jpg"));
  EXPECT_FALSE(d.found());
}

TEST_F(Photographs, OfACharucoBoardAreReadWhateverCoversThem) {
  const cv::Mat image = photograph("charuco.jpg");
  const auto same = [](cv::Point2d p) { return p; };
  BoardDetector detector(board_of("charuco:5x7:40mm:20mm"));
  const Detection plain = detector.detect(image);
  ASSERT_TRUE(plain.found()) << plain.reason;
  ASSERT_GE(plain.corners.size(), 22U);
  // A plane's picture but for the lens: what is left beside a homography is its bend.
  std::vector<cv::Point2d> on_board, seen;
  for (const Corner& k : plain.corners) {
    const Vec3 p = detector.board().corner_p_B(k.id);
    on_board.emplace_back(p.x, p.y), seen.emplace_back(k.u_px, k.v_px);
  }
  std::vector<cv::Point2d> back;
  cv::perspectiveTransform(on_board, back, cv::findHomography(on_board, seen));
  double squares = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) squares += std::pow(cv::norm(back[i] - seen[i]), 2);
  std::printf("charuco: %zu corners, %.3f px beside a plane's picture\n", seen.size(),
              std::sqrt(squares / static_cast<double>(seen.size())));
  EXPECT_LT(std::sqrt(squares / static_cast<double>(seen.size())), 0.5);

  cv::Mat spoilt = image.clone();
  cv::rectangle(spoilt, {180, 90, 130, 150}, {140, 160, 190}, cv::FILLED);
  const Detection covered = detector.detect(spoilt);
  EXPECT_TRUE(covered.found()) << covered.reason;
  EXPECT_LT(covered.corners.size(), plain.corners.size());
  EXPECT_LT(apart(plain, covered, same), 0.5);

  cv::rotate(image, spoilt, cv::ROTATE_90_CLOCKWISE);
  const Detection turned = detector.detect(spoilt);
  EXPECT_TRUE(turned.found()) << turned.reason;
  EXPECT_GE(turned.corners.size(), 22U);
  EXPECT_LT(apart(plain, turned, [&](cv::Point2d p) { return cv::Point2d(p.y, image.rows - 1 - p.x); }), 0.5);

  const Detection cut = detector.detect(image(cv::Rect(0, 0, image.cols, 240)).clone());
  if (cut.found()) {
    EXPECT_LT(apart(plain, cut, same), 0.5);
  }
  EXPECT_EQ(BoardDetector(board_of("charuco:7x5:40mm:20mm")).detect(image).reject, Reject::other_board);
  cv::GaussianBlur(image, spoilt, {}, 8);
  EXPECT_FALSE(detector.detect(spoilt).found());
}

// Files cut off, overwritten in the middle, empty or of something else: none crashes, those that no longer show a board
// are refused, and the lens is that of the others.
TEST_F(Photographs, CorruptOnTheirWayDoNotSpoilTheOthers) {
  std::ifstream in(kPhotographs / "left01.jpg", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  ASSERT_GT(bytes.size(), 1000U);
  IntrinsicsJob job = left_camera();
  job.images.erase(job.images.begin());
  const auto add = [&](const char* name, const std::string& content) {
    std::ofstream(dir_ / name, std::ios::binary) << content;
    job.images.push_back(dir_ / name);
  };
  add("empty.jpg", "");
  add("text.jpg", "no picture");
  add("head.jpg", bytes.substr(0, 400));
  add("third.jpg", bytes.substr(0, bytes.size() / 3));
  for (unsigned seed = 0; seed < 12; ++seed) {
    std::string flipped = bytes;
    for (unsigned k = 0; k < 20; ++k) {
      const std::size_t at = (2654435761U * (20 * seed + k + 1)) % flipped.size();
      flipped[at] = static_cast<char>(flipped[at] ^ (0x55 + static_cast<int>(k)));
    }
    add(("flipped" + std::to_string(seed) + ".jpg").c_str(), flipped);
  }
  const auto good = calibrate_intrinsics(left_camera());
  const auto result = calibrate_intrinsics(job);
  ASSERT_TRUE(good && result) << (result ? "" : result.error().message);
  int refused = 0;
  for (const ViewReport& view : result->report.views) {
    refused += !view.used();
    if (!view.used()) {
      EXPECT_FALSE(view.reason.empty()) << view.source;
    }
  }
  std::printf("%d of 16 corrupt files refused, f %.2f px (%.2f from whole ones)\n", refused, result->camera.fx_px,
              good->camera.fx_px);
  EXPECT_GE(refused, 4);
  EXPECT_LT(result->report.rms_px, 0.3);
  EXPECT_NEAR(result->camera.fx_px, good->camera.fx_px, 4 * good->report.cameras[0].sigma_f_px);
}

}  // namespace
}  // namespace ligature::calibration::test
