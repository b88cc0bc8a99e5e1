/// The command as a user types it: exit codes, one line per error, one JSON object, nothing started on a mistake.
#include <gtest/gtest.h>
#include <unistd.h>

#include <sys/wait.h>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>

namespace {

struct Answer {
  int exit_code = -1;
  std::string out, err;
};

class Cli : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() / ("ligature_cli_" + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  Answer ligature(const std::string& arguments) {
    const std::string err_file = directory_ / "stderr.txt";
    Answer answer;
    FILE* pipe = popen((std::string(LIGATURE_PROGRAM) + " " + arguments + " 2>" + err_file).c_str(), "r");
    if (!pipe) return answer;
    std::array<char, 4096> buffer;
    for (std::size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) answer.out.append(buffer.data(), n);
    const int status = pclose(pipe);
    answer.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    std::ifstream err(err_file);
    answer.err.assign(std::istreambuf_iterator<char>(err), {});
    return answer;
  }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name) << text;
    return directory_ / name;
  }
  std::filesystem::path directory_;
};

int lines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

TEST_F(Cli, VersionNamesCommitCompilerAndLibraries) {
  const Answer answer = ligature("--version");
  EXPECT_EQ(answer.exit_code, 0);
  for (const char* part : {"commit", "gcc", "Eigen", "OpenCV", "Vulkan"})
    EXPECT_NE(answer.out.find(part), std::string::npos) << answer.out;
  EXPECT_EQ(lines(answer.out), 1);
}

TEST_F(Cli, EveryVerbHasHelpWithAnExample) {
  for (const char* verb : {"run", "sim", "track", "doctor", "replay"}) {
    const Answer answer = ligature(std::string(verb) + " --help");
    EXPECT_EQ(answer.exit_code, 0);
    EXPECT_NE(answer.out.find("Example: ligature "), std::string::npos) << answer.out;
  }
}

TEST_F(Cli, WrongUsageIsExitTwoInOneLine) {
  for (const char* arguments : {"",
                                "fly",
                                "run --profile nosuch",
                                "run --duration x",
                                "run --duration -1",
                                "run --bogus",
                                "run --fault warp:1:2",
                                "run --fault camera_dead:9:1",
                                "run --fault non_finite",
                                "replay /nonexistent",
                                "run --pace sometimes",
                                "run --presenter hologram",
                                "run --duration nan",
                                "run --record same --out same",
                                "run --fault blob:1",
                                "run --fault frame_late:0:1:2",
                                "run --fault frame_late:0:1:2:0",
                                "run --out ''",
                                "run --record ''",
                                "shell -f .",
                                "shell -c 'show status\nshow version'",
                                "calibrate rig --board checkerboard:9x6:20mm --frames x --max-tip-um nan",
                                "track",
                                "track --rig x.toml",
                                "track --rig x.toml --frames /nonexistent"}) {
    const Answer answer = ligature(arguments);
    EXPECT_EQ(answer.exit_code, 2) << arguments;
    EXPECT_EQ(lines(answer.err), 1) << arguments << ": " << answer.err;
    EXPECT_TRUE(answer.out.empty()) << arguments;
  }
}

TEST_F(Cli, BadProfileNamesFileLineKeyRangeAndRemedyAndStartsNothing) {
  std::ifstream in(std::string(LIGATURE_SOURCE_DIR) + "/config/profiles/virtual.toml");
  std::string text(std::istreambuf_iterator<char>(in), {});
  const auto at = text.find("noise       = 0.02");
  ASSERT_NE(at, std::string::npos);
  const int line = 1 + lines(text.substr(0, at));
  text.replace(at, 18, "noise       = 7.00");
  const std::string root = LIGATURE_SOURCE_DIR;
  for (std::size_t p; (p = text.find("\"../")) != std::string::npos;) text.replace(p, 4, "\"" + root + "/config/");
  for (std::size_t p; (p = text.find(root + "/config/../")) != std::string::npos;)
    text.replace(p, root.size() + 11, root + "/");
  const std::string file = write("bad.toml", text);
  const std::string out = directory_ / "out";
  const Answer answer = ligature("run --profile " + file + " --out " + out);
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_EQ(lines(answer.err), 1) << answer.err;
  EXPECT_NE(answer.err.find(file + ":" + std::to_string(line) + ": key 'virtual.noise' is 7"), std::string::npos)
      << answer.err;
  EXPECT_NE(answer.err.find("must be"), std::string::npos) << answer.err;
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(Cli, RunPrintsOneJsonObjectAndLeavesAReplayableSession) {
  const std::string out = directory_ / "session";
  const Answer answer =
      ligature("run --profile virtual --pace lockstep --presenter none --duration 3.5 --json --out " + out);
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  const auto report = nlohmann::json::parse(answer.out, nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << answer.out;
  for (const char* key : {"profile", "duration_s", "state_hash", "frames", "tracking", "latency_ms", "threads",
                          "grasps", "outputs", "version"})
    EXPECT_TRUE(report.contains(key)) << key;
  for (const auto& file : report["outputs"]) EXPECT_TRUE(std::filesystem::exists(file.get<std::string>())) << file;
  EXPECT_EQ(ligature("replay " + out).exit_code, 0);
  const std::filesystem::path film = std::filesystem::path(out) / "film.png";
  EXPECT_EQ(ligature("replay " + out + " --film " + film.string() + " --film-times 0,0.1").exit_code, 0);
  EXPECT_GT(std::filesystem::file_size(film), 10'000u);
  EXPECT_EQ(ligature("replay " + out + " --film film.gif").exit_code, 2);
  EXPECT_EQ(ligature("replay " + out + " > /dev/full").exit_code, 1);

  std::ifstream session_in(out + "/session.json");
  const auto session = nlohmann::json::parse(session_in);
  auto longer = session;
  longer["steps"] = 999'999'999;
  std::ofstream(out + "/session.json") << longer;
  const Answer endless = ligature("replay " + out);
  EXPECT_EQ(endless.exit_code, 2);
  EXPECT_NE(endless.err.find("not of this session"), std::string::npos) << endless.err;
  for (const auto& [where, value, key] : {std::tuple{"/step_s", nlohmann::json(-5), "step_s"},
                                          {"/hands/max_lead_ms", nlohmann::json(-7), "max_lead_ms"},
                                          {"/state_hash", nlohmann::json("zz94"), "state_hash"}}) {
    auto wrong = session;
    wrong[nlohmann::json::json_pointer(where)] = value;
    std::ofstream(out + "/session.json") << wrong;
    const Answer refused = ligature("replay " + out);
    EXPECT_EQ(refused.exit_code, 2) << key;
    EXPECT_NE(refused.err.find(std::string("session.json: not a session file: ") + key), std::string::npos)
        << refused.err;
  }
  std::ofstream(out + "/session.json") << session;

  std::ifstream in(out + "/samples.csv");
  std::string log(std::istreambuf_iterator<char>(in), {});
  in.close();
  log.resize(log.find('\n', log.size() / 3) + 1);  // the hands stand still before they have grasped
  std::ofstream(out + "/samples.csv") << log;
  const Answer cut = ligature("replay " + out);
  EXPECT_EQ(cut.exit_code, 1) << "a changed log must not pass as the same session";
  EXPECT_NE(cut.out.find("of its records"), std::string::npos) << cut.out;
  EXPECT_EQ(cut.out.find("DIFFERENT"), std::string::npos) << cut.out;
  const auto replayed = nlohmann::json::parse(ligature("replay --json " + out).out, nullptr, false);
  EXPECT_GT(replayed["missing_records"].get<int>(), 0);
  EXPECT_TRUE(replayed["same"].is_null()) << "nothing was compared";
}

TEST_F(Cli, TheLastProfileAndOutWin) {
  // deploy/quickstart run hands its user's options on behind its own.
  const std::string first = directory_ / "first", second = directory_ / "second";
  const Answer answer = ligature("run --profile demo --out " + first +
                                 " --profile virtual --pace lockstep --presenter none --duration 0.2 --out " + second);
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  EXPECT_FALSE(std::filesystem::exists(first));
  EXPECT_TRUE(std::filesystem::exists(second + "/report.json"));
}

TEST_F(Cli, FullStandardOutputIsExitOne) {
  EXPECT_EQ(
      ligature("run --profile virtual --pace lockstep --presenter none --duration 0.2 --json >/dev/full").exit_code, 1);
}

TEST_F(Cli, KilledSessionReplaysUpToItsLog) {
  const std::string out = directory_ / "session";
  // Killed once some of the log is on the disk, however long that takes.
  ligature("run --profile virtual --presenter none --duration 60 --out " + out + " & for i in $(seq 200); do [ $(cat " +
           out + "/samples.csv 2>/dev/null | wc -l) -gt 20 ] && break; sleep 0.25; done; kill -9 $!; true");
  const Answer answer = ligature("replay --json " + out);
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  const auto replayed = nlohmann::json::parse(answer.out, nullptr, false);
  ASSERT_FALSE(replayed.is_discarded()) << answer.out;
  EXPECT_FALSE(replayed["complete"].get<bool>());
  EXPECT_TRUE(replayed["same"].is_null() && replayed["recorded_hash"].is_null()) << answer.out;
  EXPECT_GT(replayed["steps"].get<int>(), 0);
}

TEST_F(Cli, InstrumentsNeverTrackedIsExitOne) {
  const Answer answer = ligature(
      "run --profile virtual --pace lockstep --presenter none --duration 0.3 --fault camera_dead:0:0 --fault "
      "camera_dead:1:0 "
      "--fault camera_dead:2:0 --fault camera_dead:3:0");
  EXPECT_EQ(answer.exit_code, 1) << answer.err;
  EXPECT_NE(answer.err.find("never tracked"), std::string::npos) << answer.err;
}

TEST_F(Cli, TestPictureIsWrittenWithTheVersionInside) {
  const Answer answer = ligature("run --test-picture --profile virtual --out " + directory_.string());
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  std::ifstream in(directory_ / "test_picture.png", std::ios::binary);
  const std::string png(std::istreambuf_iterator<char>(in), {});
  EXPECT_EQ(png.substr(1, 3), "PNG");
  EXPECT_NE(png.find("commit"), std::string::npos);
}

TEST_F(Cli, DoctorJsonIsOneObject) {
  const Answer answer = ligature("doctor --json");
  EXPECT_TRUE(nlohmann::json::accept(answer.out)) << answer.out;
  EXPECT_TRUE(answer.exit_code == 0 || answer.exit_code == 1);
}

TEST(Readme, NamesEveryPackageThatTheBootstrapInstallsAndNoOther) {
  const std::string root = LIGATURE_SOURCE_DIR;
  std::ifstream list(root + "/deploy/packages.txt"), readme(root + "/README.md");
  std::set<std::string> wanted, named;
  for (std::string line; std::getline(list, line);)
    if (!line.empty() && line[0] != '#') wanted.insert(line.substr(0, line.find_first_of(" #")));
  bool libraries = false;
  for (std::string line; std::getline(readme, line);) {
    if (line.rfind("## ", 0) == 0) libraries = line == "## Libraries";
    if (libraries && line.rfind("| `", 0) == 0) named.insert(line.substr(3, line.find('`', 3) - 3));
  }
  EXPECT_FALSE(wanted.empty());
  EXPECT_EQ(named, wanted);
}

TEST(Readme, EveryRoomHasOne) {
  for (const char* room : {"sim", "drivers", "render", "config", "appliance", "tests", "deploy"})
    EXPECT_TRUE(std::filesystem::exists(std::string(LIGATURE_SOURCE_DIR) + "/" + room + "/README.md")) << room;
}

}  // namespace
