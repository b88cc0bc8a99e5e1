/// `ligature calibrate` on pictures: rendered, written to files under various names, read back and calibrated.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "config/rig_file.hpp"
#include "drivers/calibration/calibration.hpp"
#include "drivers/calibration/marker_recording.hpp"
#include "tests/calibration/render.hpp"
#include "tests/calibration/synthetic.hpp"

namespace ligature::calibration::test {
namespace {

namespace fs = std::filesystem;

class PictureFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "ligature_calibration_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }
  fs::path write(const std::string& name, const cv::Mat& image) {
    fs::create_directories((dir_ / name).parent_path());
    EXPECT_TRUE(cv::imwrite((dir_ / name).string(), image));
    return dir_ / name;
  }
  fs::path write_text(const std::string& name, const std::string& text) {
    fs::create_directories((dir_ / name).parent_path());
    std::ofstream(dir_ / name, std::ios::binary) << text;
    return dir_ / name;
  }

  struct Answer {
    int code = -1;
    std::string out;
    nlohmann::json json() const { return nlohmann::json::parse(out); }
  };
  Answer ligature(const std::string& arguments) {
    Answer answer;
    FILE* pipe = popen(
        (std::string(LIGATURE_PROGRAM) + " calibrate " + arguments + " 2>" + (dir_ / "stderr.txt").string()).c_str(),
        "r");
    if (!pipe) return answer;
    std::array<char, 4096> buffer;
    for (std::size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) answer.out.append(buffer.data(), n);
    const int status = pclose(pipe);
    answer.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return answer;
  }
  std::string complaint() {
    std::ifstream in(dir_ / "stderr.txt");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  fs::path dir_;
};

/// Single-camera views: the board before the lens, tilted every way, over the whole image.
std::vector<Pose> lens_poses(std::size_t n, double distance_mm, double reach_mm, double tilt_deg = 38) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> any(-1, 1);
  std::vector<Pose> out;
  while (out.size() < n)
    out.push_back({random_tilt(random, 0.6 * tilt_deg, tilt_deg),
                   {reach_mm * any(random), 0.7 * reach_mm * any(random), distance_mm * (1 + 0.15 * any(random))}});
  return out;
}

TEST_F(PictureFiles, GiveTheLensOfOneCamera) {
  const Board board = *parse_board("charuco:10x7:20mm:15mm:DICT_5X5_100");
  drivers::CameraModel camera;
  camera.width_px = 960, camera.height_px = 720;
  camera.fx_px = 850, camera.fy_px = 848, camera.cx_px = 471, camera.cy_px = 366;
  camera.distortion = {-0.35, 0.12, 0.001, -0.0007, 0};
  std::size_t i = 0;
  for (const Pose& X : lens_poses(16, 230, 70)) {
    Photo photo;
    photo.seed = ++i;
    cv::imwrite((dir_ / ("view " + std::to_string(i) + ".jpg")).string(), photograph(board, camera, X, photo),
                {cv::IMWRITE_JPEG_QUALITY, 92});
  }
  write_text("broken.jpg", "this is no picture");
  const Answer answer =
      ligature("intrinsics --board charuco:10x7:20mm:15mm --camera C2 --images '" + dir_.string() + "/*.jpg' --out " +
               (dir_ / "rig.toml").string() + " --picture " + (dir_ / "lens.svg").string() + " --json");
  ASSERT_EQ(answer.code, 0) << complaint() << answer.out;
  const auto json = answer.json();
  EXPECT_EQ(json["board"], "charuco:10x7:20mm:15mm:DICT_5X5_50")
      << "the smallest dictionary that begins with these markers";
  EXPECT_EQ(json["views"]["rejected"], 1);
  EXPECT_LT(json["rms_px"], 0.15);
  const auto& c = json["cameras"][0];
  const double sigma_f = c["sigma_f_px"], sigma_c = c["sigma_c_px"];
  EXPECT_LT(sigma_f, 1.0);
  EXPECT_NEAR(c["fx_px"], 850, 5 * sigma_f);
  EXPECT_NEAR(c["fy_px"], 848, 5 * sigma_f);
  EXPECT_NEAR(c["cx_px"], 471, 5 * sigma_c);
  EXPECT_NEAR(c["cy_px"], 366, 5 * sigma_c);
  EXPECT_TRUE(fs::exists(dir_ / "lens.svg"));
  const auto rig = config::load_rig(dir_ / "rig.toml");
  ASSERT_TRUE(rig) << rig.error().message;
  EXPECT_EQ(rig->cameras[2].width_px, 960);
  EXPECT_EQ(rig->cameras[0].reprojection_rms_px, 0) << "C0 was not calibrated";
  EXPECT_EQ(rig->instruments.size(), 2U);

  const double sigma_image = c["sigma_image_px"];
  const auto limited = [&](double most) {
    return ligature("intrinsics --board charuco:10x7:20mm:15mm --camera C2 --images '" + dir_.string() +
                    "/*.jpg' --out " + (dir_ / "other.toml").string() + " --max-image-px " + std::to_string(most));
  };
  EXPECT_EQ(limited(0.9 * sigma_image).code, 1) << "as uncertain as that it may not be";
  EXPECT_FALSE(fs::exists(dir_ / "other.toml"));
  EXPECT_EQ(limited(1.1 * sigma_image).code, 0);
  EXPECT_TRUE(fs::exists(dir_ / "other.toml"));
}

TEST_F(PictureFiles, AllParallelDoNotTellTheFocalLength) {
  const Board board = *parse_board("checkerboard:9x6:20mm");
  drivers::CameraModel camera;
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> any(-1, 1);
  for (int i = 0; i < 8; ++i) {
    Photo photo;
    photo.seed = static_cast<std::uint64_t>(i) + 1;
    write("v" + std::to_string(i) + ".png",
          photograph(board, camera, {axis_angle({0, 0, 1}, any(random)), {25 * any(random), 15 * any(random), 300}},
                     photo));
  }
  write_text("rig.toml", "this was here before");
  fs::remove(dir_ / "rig.toml");
  const Answer answer = ligature("intrinsics --board checkerboard:9x6:20mm --camera C0 --images " + dir_.string() +
                                 " --out " + (dir_ / "rig.toml").string() + " --json");
  EXPECT_EQ(answer.code, 1) << answer.out;
  EXPECT_NE(complaint().find("tilt"), std::string::npos) << complaint();
  EXPECT_FALSE(fs::exists(dir_ / "rig.toml"));
  EXPECT_FALSE(answer.json()["good"]);
}

/// Four cameras at half size, so that rendering stays quick.
drivers::Rig small_rig() {
  drivers::Rig rig = drivers::standard_rig();
  for (auto& c : rig.cameras) {
    c.width_px = 480, c.height_px = 360, c.fx_px = c.fy_px = 450, c.cx_px = 239.5, c.cy_px = 179.5;
    c.distortion = {-0.1, 0.02, 0, 0, 0};
  }
  return rig;
}

TEST_F(PictureFiles, OfFourCamerasGiveTheRig) {
  const drivers::Rig rig = small_rig();
  const Board board = *parse_board("charuco:11x8:18mm:14mm:DICT_4X4_50");
  const auto poses = board_poses(16, 8, 30);
  // Names as others give them: jpg here, png there, gaps, no frames.csv; not every camera has every frame.
  for (std::size_t f = 0; f < poses.size(); ++f)
    for (std::size_t c = 0; c < 4; ++c) {
      if (f > 0 && (f + c) % 5 == 0) continue;
      Photo photo;
      photo.seed = 10 * f + c;
      const std::string number = std::to_string(3 * f + 7);
      const std::string name =
          c == 0 ? "C0/img" + number + ".jpg"
                 : "C" + std::to_string(c) + "/" + std::string(6 - number.size(), '0') + number + ".png";
      write(name, photograph(board, rig.cameras[c], inverse(rig.cameras[c].X_RC) * poses[f], photo));
    }
  write_text("C1/000400.png", "broken");
  cv::Mat other = cv::imread((dir_ / "C0/img7.jpg").string());
  cv::resize(other, other, {}, 1.25, 1.25);
  write("C0/img500.jpg", other);
  const std::string out = (dir_ / "rig.toml").string();
  const std::string words =
      "rig --board charuco:11x8:18mm:14mm:4X4_50 --frames " + dir_.string() + " --origin 7 --out " + out;
  const Answer answer = ligature(words + " --picture " + (dir_ / "rig.png").string() + " --json");
  ASSERT_EQ(answer.code, 0) << complaint() << answer.out;
  const auto json = answer.json();
  std::size_t size = 0, unreadable = 0;
  for (const auto& v : json["views"]["list"]) {
    if (v["used"]) continue;
    size += v["reject"] == "size" && v["source"].get<std::string>().ends_with("img500.jpg");
    unreadable += v["reject"] == "unreadable" && v["source"].get<std::string>().ends_with("000400.png");
  }
  EXPECT_EQ(size, 1U);
  EXPECT_EQ(unreadable, 1U);
  EXPECT_GT(json["views"]["used"], 40);
  EXPECT_TRUE(json["drift"].is_null());
  const auto made = config::load_rig(out);
  ASSERT_TRUE(made) << made.error().message;
  const TipError e = tip_error(made->cameras, rig.cameras);
  EXPECT_LT(e.rms_mm, 0.06);
  EXPECT_LT(e.shape_mm, 0.02);
  EXPECT_LT(e.rms_mm, 3e-3 * json["tip_sigma_um"]["rms"].get<double>());
  EXPECT_GT(fs::file_size(dir_ / "rig.png"), 10000U);
  RecordProperty("tip_um", std::to_string(1000 * e.rms_mm));
  RecordProperty("tip_sigma_um", std::to_string(json["tip_sigma_um"]["rms"].get<double>()));

  // Again over the same file: nothing has drifted, and what the file held beside the cameras stays.
  auto kept = *made;
  kept.motion_scale = 0.5;
  kept.instruments[0].markers[0].diameter_mm = 4.5;
  ASSERT_TRUE(config::save_rig(out, kept));
  const Answer again = ligature(words + " --json");
  ASSERT_EQ(again.code, 0) << complaint();
  EXPECT_LT(again.json()["drift"]["tip_rms_um"].get<double>(), 1.0);
  EXPECT_EQ(config::load_rig(out)->motion_scale, 0.5);
  EXPECT_EQ(config::load_rig(out)->instruments[0].markers[0].diameter_mm, 4.5);

  // Two of them only: a file that says so, and that run would refuse.
  const Answer two = ligature("rig --board charuco:11x8:18mm:14mm:4X4_50 --cameras C0,C1 --frames " + dir_.string() +
                              " --origin 7 --out " + (dir_ / "two.toml").string() + " --json --max-tip-um 500");
  EXPECT_EQ(two.code, 0) << complaint();
  EXPECT_FALSE(config::load_rig(dir_ / "two.toml"));
  EXPECT_TRUE(config::load_partial_rig(dir_ / "two.toml"));

  // A limit that nothing keeps: the file stays as it was.
  const auto before = fs::last_write_time(out);
  const Answer strict = ligature(words + " --max-rms-px 0.001 --json");
  EXPECT_EQ(strict.code, 1);
  EXPECT_TRUE(strict.json()["written"].is_null());
  EXPECT_EQ(fs::last_write_time(out), before);
}

TEST_F(PictureFiles, WordsThatAreWrongAreRefusedInOneLine) {
  write("C0/0.png", cv::Mat(100, 100, CV_8U, cv::Scalar(80)));
  write_text("other.toml", "title = 'not a rig'");
  const std::string dir = dir_.string();
  for (const std::string& words :
       {std::string("rig --board checkerboard:9x6 --frames ") + dir,
        std::string("rig --board checkerboard:9x6:25mm --frames /nonexistent"),
        std::string("rig --board checkerboard:9x6:25mm --frames ") + dir,
        std::string("rig --board checkerboard:9x6:25mm --cameras C0,C7 --frames ") + dir,
        std::string("rig --board checkerboard:9x6:25mm --cameras C0 --frames ") + dir,
        std::string("rig --board checkerboard:9x6:25mm --hold-intrinsics --frames ") + dir,
        std::string("rig --board checkerboard:9x6:25mm --board-thickness-mm -2 --frames ") + dir,
        std::string("intrinsics --board checkerboard:9x6:25mm --camera C9 --images ") + dir + "/C0",
        std::string("intrinsics --board checkerboard:9x6:25mm --camera C0 --images ") + dir + "/none*.jpg",
        std::string("intrinsics --board checkerboard:9x6:25mm --camera C0 --images ") + dir +
            "/C0 --out /nonexistent/rig.toml",
        std::string("intrinsics --board checkerboard:9x6:25mm --camera C0 --images ") + dir + "/C0 --out " + dir +
            "/other.toml",
        std::string("intrinsics --board checkerboard:9x6:25mm --camera C0 --images ") + dir + "/C0 --picture a.bmp",
        std::string("check --rig /nonexistent --frames . --bar-mm 80"),
        std::string("instrument --rig ") + LIGATURE_SOURCE_DIR +
            "/config/rigs/standard.toml --instrument third --pivot " + dir,
        std::string("check --rig ") + LIGATURE_SOURCE_DIR + "/config/rigs/standard.toml --frames " + dir +
            " --bar-mm -1",
        std::string("check --rig ") + LIGATURE_SOURCE_DIR + "/config/rigs/standard.toml --frames " + dir +
            " --bar-mm 80 --balls left.tail,left.nose",
        std::string("fly"), std::string()}) {
    const Answer answer = ligature(words);
    EXPECT_EQ(answer.code, 2) << words << ": " << complaint();
    EXPECT_TRUE(answer.out.empty()) << words;
    const std::string line = complaint();
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << words << ": " << line;
  }
  // No board in any picture: it ran, and the answer is no.
  const Answer none = ligature("intrinsics --board checkerboard:9x6:25mm --camera C0 --json --images " + dir + "/C0");
  EXPECT_EQ(none.code, 1);
  EXPECT_EQ(none.json()["views"]["list"][0]["reject"], "blank");
}

/// The daily check and the instrument's recordings, drawn as coloured discs.
TEST_F(PictureFiles, OfABarAnswerTheDailyCheck) {
  const drivers::Rig rig = drivers::standard_rig();
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> any(-1, 1);
  for (int i = 0; i < 24; ++i) {
    const Pose X{axis_angle({0, 0, 1}, M_PI * any(random)),
                 {15 * any(random), 15 * any(random), 60 + 20 * any(random)}};
    for (std::size_t c = 0; c < 4; ++c) {
      cv::Mat image(480, 640, CV_8UC3, cv::Scalar(8, 8, 8));
      for (const double end : {1.0, -1.0}) {
        const Vec3 p_R = X * Vec3{40 * end, 0, 0};
        const auto uv = ball_image(rig.cameras[c], p_R, 5);
        const double radius = 2.5 * 600 / (inverse(rig.cameras[c].X_RC) * p_R).z;
        cv::circle(image, {static_cast<int>(std::lround(16 * uv[0])), static_cast<int>(std::lround(16 * uv[1]))},
                   static_cast<int>(std::lround(16 * radius)),
                   end > 0 ? cv::Scalar(10, 10, 220) : cv::Scalar(220, 220, 10), cv::FILLED, cv::LINE_AA, 4);
      }
      cv::GaussianBlur(image, image, {0, 0}, 0.7);
      char name[32];
      std::snprintf(name, sizeof name, "C%zu/%06d.png", c, i);
      write(name, image);
    }
  }
  const std::string words =
      std::string("check --rig ") + LIGATURE_SOURCE_DIR + "/config/rigs/standard.toml --frames " + dir_.string();
  const Answer good = ligature(words + " --bar-mm 80 --json");
  EXPECT_EQ(good.code, 0) << complaint() << good.out;
  EXPECT_EQ(good.json()["verdict"], "pass") << good.out;
  const Answer wrong = ligature(words + " --bar-mm 79 --json");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_EQ(wrong.json()["verdict"], "fail");
}

}  // namespace
}  // namespace ligature::calibration::test
