/// `ligature track` as a technician types it, on recordings of the virtual rig, whole and spoilt.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <sstream>
#include <string>

#include "config/rig_file.hpp"
#include "drivers/camera/recorder.hpp"
#include "sim/base/units.hpp"
#include "tests/drivers/scene.hpp"

namespace {

namespace fs = std::filesystem;
using namespace ligature;
using nlohmann::json;

constexpr int kFrames = 24;
constexpr const char* kColumns =
    "frame,t_s,instrument,status,x_mm,y_mm,z_mm,qx,qy,qz,qw,opening_deg,cameras,residual_px,sigma_tip_mm,"
    "cov_xx_mm2,cov_xy_mm2,cov_xz_mm2,cov_yy_mm2,cov_yz_mm2,cov_zz_mm2";

struct Answer {
  int exit_code = -1;
  std::string out, err;
};

using Row = std::map<std::string, std::string>;

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::string cell;
  for (const char c : line + ",") c == ',' ? (cells.push_back(cell), cell.clear()) : cell.push_back(c);
  return cells;
}

std::vector<Row> rows_of(const std::string& text) {
  std::istringstream in(text);
  std::string line;
  std::getline(in, line);
  const auto names = cells_of(line);
  std::vector<Row> rows;
  while (std::getline(in, line)) {
    const auto cells = cells_of(line);
    EXPECT_EQ(cells.size(), names.size()) << line;
    Row& row = rows.emplace_back();
    for (std::size_t i = 0; i < std::min(cells.size(), names.size()); ++i) row[names[i]] = cells[i];
  }
  return rows;
}

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

int lines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

class TrackVerb : public ::testing::Test {
 protected:
  /// One whole recording, PNG and a lossless video, made once; each test spoils a copy.
  static void SetUpTestSuite() {
    root_ = fs::temp_directory_path() / ("ligature_track_" + std::to_string(getpid()));
    const drivers::Rig rig = drivers::testing::distorted_rig();
    fs::create_directories(root_);
    ASSERT_TRUE(config::save_rig(root_ / "rig.toml", rig));
    path_ = drivers::testing::demo_path(rig);
    drivers::VirtualRigParams params;
    params.duration_s = kFrames / 60.0;
    params.skew_ms = {0, 0.5, 1.0, -0.5};
    auto cameras = drivers::testing::virtual_cameras(params, rig, path_);
    drivers::RecorderParams png, video;
    png.codec = drivers::RecordingCodec::png;
    video.codec = drivers::RecordingCodec::ffv1;
    auto folders = drivers::FrameRecorder::create(root_ / "whole", png);
    auto videos = drivers::FrameRecorder::create(root_ / "video", video);
    ASSERT_TRUE(folders && videos);
    drivers::Frame frame;
    for (int k = 0; k < kFrames; ++k)
      for (std::size_t c = 0; c < kCameras; ++c) {
        const auto status = cameras[c]->next(frame);
        ASSERT_TRUE((*folders)->write(c, frame, status));
        ASSERT_TRUE((*videos)->write(c, frame, status));
      }
    ASSERT_TRUE((*folders)->finish());
    ASSERT_TRUE((*videos)->finish());
  }
  static void TearDownTestSuite() {
    fs::remove_all(root_);
    path_.reset();
  }
  void SetUp() override {
    dir_ = root_ / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(dir_);
    frames_ = dir_ / "frames";
    out_ = dir_ / "poses.csv";
  }

  void copy_whole() { fs::copy(root_ / "whole", frames_, fs::copy_options::recursive); }

  Answer track(const std::string& more = "") { return track(root_ / "rig.toml", frames_, more); }
  Answer track(const fs::path& rig, const fs::path& frames, const std::string& more) {
    const fs::path err = dir_ / "stderr.txt";
    const std::string command = std::string(LIGATURE_PROGRAM) + " track --rig " + rig.string() + " --frames " +
                                frames.string() + " --out " + out_.string() + " " + more + " 2>" + err.string();
    Answer answer;
    FILE* pipe = popen(command.c_str(), "r");
    if (!pipe) return answer;
    std::array<char, 4096> buffer;
    for (std::size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) answer.out.append(buffer.data(), n);
    const int status = pclose(pipe);
    answer.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    answer.err = read(err);
    return answer;
  }

  /// Distance of a row's tip from the truth. [mm]
  static double error_mm(const Row& row) {
    const auto truth = path_->evaluate(std::stod(row.at("t_s")));
    const Vec3 p{std::stod(row.at("x_mm")), std::stod(row.at("y_mm")), std::stod(row.at("z_mm"))};
    return norm(p - truth[row.at("instrument") == "left" ? 0 : 1].X_RT.p);
  }
  static int count(const std::vector<Row>& rows, const std::string& status) {
    return static_cast<int>(
        std::count_if(rows.begin(), rows.end(), [&](const Row& row) { return row.at("status") == status; }));
  }

  static inline fs::path root_;
  static inline std::shared_ptr<const drivers::HandPath> path_;
  fs::path dir_, frames_, out_;
};

TEST_F(TrackVerb, FoldersAndVideosGiveTheSameTable) {
  const Answer folders = track(root_ / "rig.toml", root_ / "whole", "--json");
  EXPECT_EQ(folders.exit_code, 0) << folders.err;
  const std::string table = read(out_);
  EXPECT_EQ(table.substr(0, table.find('\n')), kColumns);
  const auto rows = rows_of(table);
  ASSERT_EQ(rows.size(), 2u * kFrames);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].at("frame"), std::to_string(i / 2));
    EXPECT_EQ(rows[i].at("instrument"), i % 2 == 0 ? "left" : "right");
    ASSERT_EQ(rows[i].at("status"), "tracked");
    EXPECT_LT(error_mm(rows[i]), 0.2);
    double trace = 0;
    for (const char* name : {"cov_xx_mm2", "cov_yy_mm2", "cov_zz_mm2"}) trace += std::stod(rows[i].at(name));
    EXPECT_NEAR(std::stod(rows[i].at("sigma_tip_mm")), std::sqrt(trace), 1e-5);
  }
  const json summary = json::parse(folders.out);
  EXPECT_EQ(summary["frames"], kFrames);
  EXPECT_EQ(summary["instruments"][0]["tracked"], kFrames);
  EXPECT_EQ(summary["outputs"][0], out_.string());
  EXPECT_NEAR(summary["skew_ms_max"], 1.5, 1e-6);
  fs::remove(out_);
  EXPECT_EQ(track(root_ / "rig.toml", root_ / "video", "").exit_code, 0);
  EXPECT_EQ(read(out_), table);
}

TEST_F(TrackVerb, WithoutAFileTheTableGoesToStandardOutput) {
  out_ = "-";
  const Answer answer = track(root_ / "rig.toml", root_ / "whole", "");
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  EXPECT_EQ(lines(answer.out), 1 + 2 * kFrames);
  EXPECT_EQ(track(root_ / "rig.toml", root_ / "whole", "--json").exit_code, 2);
}

TEST_F(TrackVerb, TheFilteredStreamStandsBesideTheRawOne) {
  EXPECT_EQ(track(root_ / "rig.toml", root_ / "whole", "--filter").exit_code, 0);
  const std::string table = read(out_);
  EXPECT_EQ(table.substr(0, table.find('\n')),
            std::string(kColumns) +
                ",filtered_x_mm,filtered_y_mm,filtered_z_mm,filtered_qx,filtered_qy,filtered_qz,filtered_qw,"
                "filtered_opening_deg,filtered_closed");
  for (Row row : rows_of(table)) {
    EXPECT_NEAR(std::stod(row.at("filtered_opening_deg")), std::stod(row.at("opening_deg")), 0.5);
    EXPECT_EQ(row.at("filtered_closed"), "0");
    for (const char* name : {"x_mm", "y_mm", "z_mm"}) row[name] = row.at(std::string("filtered_") + name);
    EXPECT_LT(error_mm(row), 0.2);
  }
}

TEST_F(TrackVerb, GapsAreBridgedAndToldOf) {
  copy_whole();
  fs::remove(frames_ / "C0" / "000003.png");
  fs::resize_file(frames_ / "C1" / "000004.png", 2000);  // truncated
  std::ofstream(frames_ / "C2" / "000005.png") << "no picture at all";
  std::ofstream(frames_ / "C3" / "000006.png", std::ios::trunc);
  for (std::size_t c = 0; c < 4; ++c) fs::remove(frames_ / ("C" + std::to_string(c)) / "000012.png");
  const Answer answer = track("--json");
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  const auto rows = rows_of(read(out_));
  ASSERT_EQ(rows.size(), 2u * kFrames);
  for (const Row& row : rows) {
    EXPECT_EQ(row.at("status"), row.at("frame") == "12" ? "predicted" : "tracked");
    EXPECT_LT(error_mm(row), 0.5);
    if (row.at("frame") == "12") {
      EXPECT_EQ(row.at("cameras"), "0");
      EXPECT_EQ(row.at("residual_px"), "");
    }
  }
  const json summary = json::parse(answer.out);
  for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(summary["cameras"][c]["missing"], 2);
  EXPECT_NE(answer.err.find("C1: 2 of 24 images are missing or cannot be read"), std::string::npos) << answer.err;
  for (const char* file : {"C1/000004.png", "C2/000005.png", "C3/000006.png"})
    EXPECT_NE(answer.err.find(std::string(file) + ": cannot be decoded: counted as missing"), std::string::npos)
        << answer.err;
}

TEST_F(TrackVerb, ThreeFoldersAndNoTimesAreEnough) {
  copy_whole();
  fs::remove_all(frames_ / "C2");
  fs::remove(frames_ / "frames.csv");
  const Answer answer = track();
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  EXPECT_NE(answer.err.find("C2: no image"), std::string::npos) << answer.err;
  const auto rows = rows_of(read(out_));
  EXPECT_EQ(count(rows, "tracked"), 2 * kFrames);
  for (const Row& row : rows) EXPECT_LT(error_mm(row), 0.3);  // 1.5 ms of skew nobody knows of
}

TEST_F(TrackVerb, EmptyCellsAreMissingImages) {
  copy_whole();
  std::ofstream csv(frames_ / "frames.csv");
  csv << "frame,t_s,t_C0_s,t_C1_s,t_C2_s,t_C3_s\r\n";
  for (int k = 0; k < kFrames; ++k) {
    const double t = k / 60.0;
    csv << k << "," << t << "," << t << ",";
    if (k % 3 != 0) csv << t + 5e-4;
    csv << "," << t + 1e-3 << "," << t - 5e-4 << "\r\n";
  }
  csv.close();
  const Answer answer = track("--json");
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  EXPECT_EQ(json::parse(answer.out)["cameras"][1]["missing"], kFrames / 3);
  for (const Row& row : rows_of(read(out_))) EXPECT_EQ(row.at("status"), "tracked");
}

TEST_F(TrackVerb, WhatCannotBeUsedIsRefusedInOneLineAndNothingIsWritten) {
  const auto refused = [&](const Answer& answer, const std::string& part) {
    EXPECT_EQ(answer.exit_code, 2) << answer.err;
    EXPECT_EQ(lines(answer.err), 1) << answer.err;
    EXPECT_NE(answer.err.find(part), std::string::npos) << answer.err;
    EXPECT_TRUE(answer.out.empty());
    EXPECT_FALSE(fs::exists(out_));
  };
  refused(track(root_ / "rig.toml", dir_ / "nosuch", ""), "no such directory");
  refused(track(dir_ / "nosuch.toml", root_ / "whole", ""), "nosuch.toml");
  fs::create_directories(dir_ / "empty" / "C0");
  refused(track(root_ / "rig.toml", dir_ / "empty", ""), "000000.png");

  copy_whole();
  std::ofstream(frames_ / "frames.csv") << "frame,t_s\n0,0\n1,0.0166\n2,0.0166\n";
  refused(track(), "frames.csv:4: frame and t_s must rise");
  std::ofstream(frames_ / "frames.csv") << "frame,t_s,t_C0_s\n0,0,0\n";
  refused(track(), "frames.csv:1: 3 columns");
  fs::remove(frames_ / "frames.csv");
  for (int k = 0; k < kFrames; ++k) {
    char name[16];
    std::snprintf(name, sizeof name, "%06d.png", k);
    cv::imwrite((frames_ / "C3" / name).string(), cv::Mat(240, 320, CV_8UC3, cv::Scalar(8, 8, 8)));
  }
  refused(track(), "is 320x240, the rig file says 640x480 for C3");
  for (std::size_t c = 0; c < 4; ++c) {
    fs::remove_all(frames_ / ("C" + std::to_string(c)));
    std::ofstream(frames_ / ("C" + std::to_string(c) + ".mkv")) << "no video";
  }
  refused(track(), "C0.mkv: not a video");
}

TEST_F(TrackVerb, WhatIsReadIsNotWrittenOver) {
  const fs::path rig = dir_ / "rig.toml", times = root_ / "whole" / "frames.csv";
  fs::copy_file(root_ / "rig.toml", rig);
  for (const auto& [file, what] :
       {std::pair{rig, "is the rig file that is read"}, std::pair{times, "is a file of the recording"}}) {
    const std::string before = read(file);
    out_ = file;
    const Answer answer = track(rig, root_ / "whole", "");
    EXPECT_EQ(answer.exit_code, 2);
    EXPECT_EQ(lines(answer.err), 1) << answer.err;
    EXPECT_NE(answer.err.find(what), std::string::npos) << answer.err;
    EXPECT_EQ(read(file), before);
  }
}

TEST_F(TrackVerb, BlackImagesGiveLostRowsAndExitOne) {
  for (std::size_t c = 0; c < 4; ++c) {
    const fs::path folder = frames_ / ("C" + std::to_string(c));
    fs::create_directories(folder);
    for (int k = 0; k < 3; ++k)
      cv::imwrite((folder / ("00000" + std::to_string(k) + ".png")).string(), cv::Mat::zeros(480, 640, CV_8UC3));
  }
  const Answer answer = track("--json");
  EXPECT_EQ(answer.exit_code, 1);
  const auto rows = rows_of(read(out_));
  ASSERT_EQ(rows.size(), 6u);
  for (const Row& row : rows) {
    EXPECT_EQ(row.at("status"), "lost");
    EXPECT_EQ(row.at("x_mm"), "");
    EXPECT_EQ(row.at("cameras"), "0");
  }
  EXPECT_NE(answer.err.find("left: never tracked"), std::string::npos) << answer.err;
  EXPECT_EQ(json::parse(answer.out)["instruments"][1]["lost"], 3);
}

TEST_F(TrackVerb, OverexposedMarkersAreToldOfAndTracked) {
  copy_whole();
  for (const auto& file : fs::recursive_directory_iterator(frames_))
    if (file.path().extension() == ".png" && file.path().parent_path().filename() != "C3")
      cv::imwrite(file.path().string(), 1.7 * cv::imread(file.path().string()));
  const Answer answer = track("--json");
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  const json report = json::parse(answer.out);
  for (std::size_t c = 0; c < kCameras; ++c) {
    const std::string name = "C" + std::to_string(c);
    EXPECT_EQ(answer.err.find(name + ": 9") != std::string::npos, c < 3) << answer.err;  // ninety-odd percent
    EXPECT_EQ(report["cameras"][c]["full_scale"].get<double>() > 0.5, c < 3) << name;
  }
  const auto rows = rows_of(read(out_));
  EXPECT_EQ(count(rows, "tracked"), 2 * kFrames);
  for (const Row& row : rows) EXPECT_LT(error_mm(row), 0.1) << row.at("t_s");
}

TEST_F(TrackVerb, CamerasThatAreNotTheRigFilesAreNoticed) {
  copy_whole();
  fs::rename(frames_ / "C0", frames_ / "x");
  fs::rename(frames_ / "C1", frames_ / "C0");
  fs::rename(frames_ / "x", frames_ / "C1");
  const Answer swapped = track();
  EXPECT_TRUE(swapped.exit_code == 1 || swapped.err.find("is its folder another camera's") != std::string::npos)
      << swapped.err;

  drivers::Rig rig = drivers::testing::distorted_rig();
  for (drivers::CameraModel& camera : rig.cameras) camera.distortion = {};
  rig.cameras[1].X_RC.p.x += 2;
  ASSERT_TRUE(config::save_rig(dir_ / "other.toml", rig));
  const Answer other = track(dir_ / "other.toml", root_ / "whole", "");
  EXPECT_NE(other.err.find("rig file of these cameras"), std::string::npos) << other.err;
}

}  // namespace
