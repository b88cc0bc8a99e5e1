/// `ligature sim` as a user types it: CONTRACT's promises about exit codes, files and numbers.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <thread>

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Answer {
  int exit_code = -1;
  std::string out, err;
};

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

int lines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

/// Rows of cells, the header first.
std::vector<std::vector<std::string>> csv(const fs::path& path) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    if (!line.empty() && line.back() == ',') cells.emplace_back();
    rows.push_back(cells);
  }
  return rows;
}

// A short stiff thread that falls through air: at work from the first step to the last.
const char* const kFalling = R"(title = "A thread falls"
duration_s = 0.3
gravity_m_per_s2 = [0, 0, -9.81]
[[thread]]
name = "loose"
points_mm = [[-5, 0, 20], [0, 1, 20], [5, 0, 20]]
segment_mm = 0.5
integrator = "inertial"
drag_mn_s_per_mm2 = 1e-9
[output]
every_s = 0.03
)";

const std::array<std::pair<const char*, const char*>, 6> kHeaders{{
    {"threads.csv", "t_s,thread,vertex,s_mm,x_mm,y_mm,z_mm,twist_deg"},
    {"clamps.csv", "t_s,thread,at,fx_mn,fy_mn,fz_mn,tx_mn_mm,ty_mn_mm,tz_mn_mm"},
    {"contacts.csv", "t_s,thread_a,s_a_mm,kind_b,name_b,s_b_mm,gap_mm,normal_mn,friction_mn,state"},
    {"energies.csv", "t_s,thread,stretch_mn_mm,bend_mn_mm,twist_mn_mm,kinetic_mn_mm,potential_mn_mm,total_mn_mm"},
    {"sutures.csv", "t_s,suture,hole,thread,tissue,s_mm,x_mm,y_mm,z_mm,fx_mn,fy_mn,fz_mn,sliding,left"},
    {"timing.csv",
     "step,t_s,total_ms,integrate_ms,detect_ms,couple_ms,solve_ms,continuous_ms,instruments_ms,finish_ms,iterations,"
     "residual,contacts,contact_iterations,contact_residual,crossings_prevented,held_lag_mm,processor_ms"},
}};

class SimVerb : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / ("ligature_sim_" + std::to_string(getpid()) + "_" +
                                              ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(directory_);
  }
  void TearDown() override {
    std::error_code ignored;
    fs::permissions(directory_, fs::perms::owner_all, fs::perm_options::add, ignored);
    fs::remove_all(directory_, ignored);
  }

  Answer sim(const std::string& arguments, const std::string& before = "") {
    const std::string err_file = directory_ / "stderr.txt";
    Answer answer;
    FILE* pipe = popen((before + LIGATURE_PROGRAM " sim " + arguments + " 2>" + err_file).c_str(), "r");
    if (!pipe) return answer;
    std::array<char, 4096> buffer;
    for (std::size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) answer.out.append(buffer.data(), n);
    const int status = pclose(pipe);
    answer.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    answer.err = slurp(err_file);
    return answer;
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
    return directory_ / name;
  }
  std::string scenario(const std::string& text = kFalling) const { return write("scenario.toml", text); }
  std::string out() const { return directory_ / "out"; }

  void expect_whole(const fs::path& folder) const {
    for (const auto& [name, header] : kHeaders) {
      const std::string text = slurp(folder / name);
      ASSERT_FALSE(text.empty()) << name;
      EXPECT_EQ(text.substr(0, text.find('\n')), header) << name;
      EXPECT_EQ(text.back(), '\n') << name;
      const auto rows = csv(folder / name);
      for (const auto& row : rows) ASSERT_EQ(row.size(), rows[0].size()) << name;
    }
    EXPECT_TRUE(json::accept(slurp(folder / "summary.json")));
    for (const auto& entry : fs::directory_iterator(folder))
      EXPECT_NE(entry.path().filename().string()[0], '.') << "left behind: " << entry.path();
  }

  fs::path directory_;
};

std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST_F(SimVerb, JsonIsOneObjectWithEveryKeyOfTheContractAndNothingElse) {
  const Answer answer = sim(scenario() + " --json --out " + out());
  ASSERT_EQ(answer.exit_code, 0) << answer.err;
  EXPECT_EQ(answer.err, "");
  const json s = json::parse(answer.out, nullptr, false);
  ASSERT_FALSE(s.is_discarded()) << answer.out;
  for (const char* key :
       {"title", "steps", "at_rest", "state_hash", "threads", "clamps", "contacts", "solver", "topology", "knots",
        "non_finite_resets", "window_ms", "window_processor_ms", "step_ms", "interrupted"})
    EXPECT_TRUE(s.contains(key)) << key;
  EXPECT_EQ(s["title"], "A thread falls");
  EXPECT_EQ(s["steps"], 60);
  EXPECT_EQ(s["state_hash"].get<std::string>().size(), 16u);
  EXPECT_EQ(s["state_hash"].get<std::string>().find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_TRUE(s["knots"].is_array());
  ASSERT_EQ(s["threads"].size(), 1u);
  for (const char* key : {"name", "vertices", "rest_length_mm", "length_mm", "elongation_max", "first_mm", "last_mm",
                          "speed_max_mm_per_s", "bend_energy_mn_mm", "twist_energy_mn_mm", "stretch_energy_mn_mm",
                          "link", "twist_turns", "writhe"})
    EXPECT_TRUE(s["threads"][0].contains(key)) << key;
  EXPECT_EQ(s["threads"][0]["first_mm"].size(), 3u);
  for (const char* key : {"max", "last", "overflow", "gave_way", "gap_min_mm", "gap_min_over_radius"})
    EXPECT_TRUE(s["contacts"].contains(key)) << key;
  for (const char* key : {"iterations_max", "residual_p50", "residual_max"})
    EXPECT_TRUE(s["solver"].contains(key)) << key;
  for (const char* key : {"changed", "events", "tool_lag_max_mm"}) EXPECT_TRUE(s["topology"].contains(key)) << key;
  for (const char* key : {"total", "integrate", "detect", "couple", "solve", "continuous"})
    EXPECT_TRUE(s["step_ms"].contains(key)) << key;
  for (const char* key : {"p50", "p99", "max"}) {
    EXPECT_GT(s["window_ms"][key].get<double>(), 0);
    EXPECT_GT(s["window_processor_ms"][key].get<double>(), 0);
    EXPECT_GT(s["step_ms"]["total"][key].get<double>(), 0);
  }
  EXPECT_LE(s["window_ms"]["p50"].get<double>(), s["window_ms"]["max"].get<double>());
  EXPECT_EQ(json::parse(slurp(out() + "/summary.json")), s);
}

TEST_F(SimVerb, WithoutJsonPrintsATableForPeople) {
  const Answer answer = sim(scenario());
  EXPECT_EQ(answer.exit_code, 0);
  EXPECT_EQ(answer.err, "") << "quiet in a pipe";
  EXPECT_NE(answer.out.find("A thread falls"), std::string::npos);
  EXPECT_NE(answer.out.find("loose"), std::string::npos);
}

// A thread pushed on another that is held, with too few linear solves: of one that falls there is nothing to say.
TEST_F(SimVerb, TheTableSaysWhatItsFiguresAreWorth) {
  const Answer fine = sim(scenario());
  for (const char* word : {"unconverged", "deepest", "cut short", "behind"})
    EXPECT_EQ(fine.out.find(word), std::string::npos) << fine.out;
  const std::string pressed =
      "title = \"Pressed\"\nduration_s = 0.1\n[solver]\niterations = 1\n"
      "[[thread]]\npoints_mm = [[-3, 0, 0], [3, 0, 0]]\nsegment_mm = 0.2\ndiameter_mm = 0.2\n"
      "[[thread.clamp]]\nat = \"first\"\n[[thread.clamp]]\nat = \"last\"\n"
      "[[thread]]\npoints_mm = [[0, -3, 0.25], [0, 3, 0.25]]\nsegment_mm = 0.2\ndiameter_mm = 0.2\n"
      "[[thread.clamp]]\nat = \"first\"\nvelocity_mm_per_s = [0, 0, -10]\n"
      "[[thread.clamp]]\nat = \"last\"\nvelocity_mm_per_s = [0, 0, -10]\n";
  const Answer poor = sim(scenario(pressed) + " --out " + out());
  ASSERT_EQ(poor.exit_code, 0) << poor.err;
  const json told = json::parse(slurp(fs::path(out()) / "summary.json"));
  const int missed = told["solver"]["steps_not_converged"].get<int>();
  ASSERT_GT(missed, 0);
  EXPECT_NE(poor.out.find(std::to_string(missed) + " of 20 steps ended unconverged"), std::string::npos) << poor.out;
  ASSERT_LT(told["contacts"]["gap_min_mm"].get<double>(), 0);
  EXPECT_NE(poor.out.find("deepest in each other: "), std::string::npos) << poor.out;
}

TEST_F(SimVerb, FilesHaveTheHeadersAndTimesOfTheContract) {
  ASSERT_EQ(sim(scenario() + " --out " + out()).exit_code, 0);
  expect_whole(out());
  const json s = json::parse(slurp(out() + "/summary.json"));
  const auto threads = csv(out() + "/threads.csv");
  const std::size_t vertices = s["threads"][0]["vertices"];
  std::set<std::string> times;
  for (std::size_t r = 1; r < threads.size(); ++r) times.insert(threads[r][0]);
  EXPECT_EQ(times.size(), 11u) << "0, 0.03, ..., 0.3";
  EXPECT_EQ(threads.size(), 1 + 11 * vertices);
  const auto& last = threads.back();
  EXPECT_EQ(last[1], "loose");
  EXPECT_EQ(last[2], std::to_string(vertices - 1));
  EXPECT_EQ(std::stod(last[6]), s["threads"][0]["last_mm"][2].get<double>()) << "bit for bit";
  EXPECT_EQ(csv(out() + "/timing.csv").size(), 1 + s["steps"].get<std::size_t>());
  const auto energies = csv(out() + "/energies.csv");
  EXPECT_EQ(energies.size(), 12u);
  const auto& e = energies.back();
  double sum = 0;
  for (std::size_t c = 2; c < 7; ++c) sum += std::stod(e[c]);
  EXPECT_NEAR(std::stod(e[7]), sum, 1e-12 * std::abs(sum));
}

TEST_F(SimVerb, EveryStepAndAPeriodOfZeroWriteEveryStep) {
  ASSERT_EQ(sim(scenario() + " --every-step --out " + out()).exit_code, 0);
  EXPECT_EQ(csv(out() + "/energies.csv").size(), 1u + 1 + 60);
}

TEST_F(SimVerb, TheEndIsWrittenWhereverThePeriodFalls) {
  ASSERT_EQ(sim(scenario(with(kFalling, "every_s = 0.03", "every_s = 0.2")) + " --out " + out()).exit_code, 0);
  const auto energies = csv(out() + "/energies.csv");
  ASSERT_EQ(energies.size(), 4u);
  EXPECT_NEAR(std::stod(energies[3][0]), 0.3, 1e-12);
}

TEST_F(SimVerb, TellsOfBothHolesOfASutureAsTheSummaryDoes) {
  const std::string stitch = slurp(std::string(LIGATURE_SOURCE_DIR) + "/config/scenarios/tissue/vessel_stitch.toml");
  const std::string file = scenario(with(stitch, "duration_s = 0.7", "duration_s = 0.06"));
  ASSERT_EQ(sim(file + " --out " + out()).exit_code, 0);
  const auto rows = csv(out() + "/sutures.csv");
  ASSERT_EQ(rows.size(), 1u + 2 * 2);
  const json told = json::parse(slurp(out() + "/summary.json"))["sutures"];
  ASSERT_EQ(told.size(), 2u);
  for (std::size_t k = 0; k < 2; ++k) {
    const std::vector<std::string>& row = rows[3 + k];
    const json& hole = told[k];
    EXPECT_EQ(row[2], hole["hole"]);
    EXPECT_EQ(row[3], hole["thread"]);
    EXPECT_EQ(row[4], hole["tissue"]);
    EXPECT_DOUBLE_EQ(std::stod(row[5]), hole["s_mm"].get<double>());
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_DOUBLE_EQ(std::stod(row[6 + c]), hole["place_mm"][c].get<double>());
      EXPECT_DOUBLE_EQ(std::stod(row[9 + c]), hole["force_mn"][c].get<double>());
    }
  }
  EXPECT_EQ(rows[3][2], "entry");
  EXPECT_EQ(rows[4][2], "exit");
}

// The thread is pulled at 3 mN one way, and drawn back.
TEST_F(SimVerb, TellsHowMuchThreadRanThroughAHoleAndHowTautItWas) {
  const std::string stitch = slurp(std::string(LIGATURE_SOURCE_DIR) + "/config/scenarios/tissue/vessel_stitch.toml");
  ASSERT_EQ(sim(scenario(stitch) + " --every-step --out " + out()).exit_code, 0);
  const json holes = json::parse(slurp(out() + "/summary.json"))["sutures"];
  const auto rows = csv(out() + "/sutures.csv");
  for (std::size_t k = 0; k < 2; ++k) {
    double to_and_fro = 0;
    for (std::size_t i = k + 3; i < rows.size(); i += 2)
      to_and_fro += std::abs(std::stod(rows[i][5]) - std::stod(rows[i - 2][5]));
    EXPECT_NEAR(holes[k]["vertices_passed"].get<double>(), to_and_fro / 0.05, 2) << k;
  }
  EXPECT_NEAR(holes[0]["tension_max_mn"].get<double>(), 3, 0.06);
  EXPECT_LT(holes[1]["tension_mn"][1].get<double>(), 0.1) << "let go";

  // A cut a millimetre before the first hole leaves a thread of which twenty vertices fewer are before it.
  const std::string cut = "\n[[cut]]\nthread = \"suture\"\ns_mm = 1\ntime_s = 0.4\n";
  ASSERT_EQ(sim(scenario(stitch + cut) + " --out " + out()).exit_code, 0);
  const json after = json::parse(slurp(out() + "/summary.json"))["sutures"];
  EXPECT_NEAR(after[0]["s_mm"].get<double>(), holes[0]["s_mm"].get<double>() - 1, 0.2);
  for (std::size_t k = 0; k < 2; ++k)
    EXPECT_NEAR(after[k]["vertices_passed"].get<double>(), holes[k]["vertices_passed"].get<double>(), 3) << k;
}

TEST_F(SimVerb, PiecesOfACutThreadHaveNamesOfTheirOwn) {
  const std::string three = R"(duration_s = 0.02
[[thread]]
name = "a"
points_mm = [[0, 0, 0], [10, 0, 0]]
[[thread]]
name = "a#2"
points_mm = [[0, 5, 0], [10, 5, 0]]
[[cut]]
thread = "a"
s_mm = 5
time_s = 0.01
)";
  const json summary = json::parse(sim(scenario(three) + " --json").out);
  std::set<std::string> names;
  for (const json& thread : summary["threads"]) names.insert(thread["name"]);
  EXPECT_EQ(names, (std::set<std::string>{"a", "a#2", "a#3"}));
}

TEST_F(SimVerb, TheSameScenarioGivesTheSameBits) {
  const std::string first = out() + "1", second = out() + "2";
  ASSERT_EQ(sim(scenario() + " --out " + first).exit_code, 0);
  ASSERT_EQ(sim(scenario() + " --out " + second).exit_code, 0);
  for (const char* name : {"threads.csv", "clamps.csv", "contacts.csv", "energies.csv"})
    EXPECT_EQ(slurp(first + "/" + name), slurp(second + "/" + name)) << name;
  EXPECT_EQ(json::parse(slurp(first + "/summary.json"))["state_hash"],
            json::parse(slurp(second + "/summary.json"))["state_hash"]);
}

TEST_F(SimVerb, TheWidthChangesNoBit) {
  const std::string knot = std::string(LIGATURE_SOURCE_DIR) + "/config/scenarios/knot/trefoil_tight.toml";
  const std::string points = std::string(LIGATURE_SOURCE_DIR) + "/config/scenarios/knot/points/";
  const std::string file = scenario(with(with(slurp(knot), "duration_s = 3.0", "duration_s = 0.03"),
                                         "points/trefoil_02mm.csv", points + "trefoil_02mm.csv"));
  std::set<std::string> hashes;
  for (const char* width : {"1", "2", "4"}) {
    const Answer answer = sim(file + " --json --width " + width);
    ASSERT_EQ(answer.exit_code, 0) << answer.err;
    const json summary = json::parse(answer.out);
    EXPECT_GT(summary["contacts"]["max"].get<int>(), 10);
    hashes.insert(summary["state_hash"].get<std::string>());
  }
  EXPECT_EQ(hashes.size(), 1u);
}

TEST_F(SimVerb, ARefusedScenarioIsExitTwoInOneLineAndNothingIsWritten) {
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"segment_mm = 0.5", "segment_mm = -1"},
                                                        {"segment_mm = 0.5", "segment_mm = nan"},
                                                        {"duration_s = 0.3", "duration_s = inf"},
                                                        {"name = \"loose\"", "nose = \"loose\""},
                                                        {"[output]", "[ouput]"},
                                                        {"duration_s = 0.3", "duration_s = "},
                                                        {"[[-5, 0, 20], [0, 1, 20], [5, 0, 20]]", "[[0, 0, 0]]"}}) {
    const std::string file = scenario(with(kFalling, from, to));
    const Answer answer = sim(file + " --json --out " + out() + " --plot " + out() + "/p.svg");
    EXPECT_EQ(answer.exit_code, 2) << to;
    EXPECT_EQ(lines(answer.err), 1) << answer.err;
    EXPECT_EQ(answer.err.rfind(file + ":", 0), 0u) << answer.err;
    EXPECT_EQ(answer.out, "") << to;
    EXPECT_FALSE(fs::exists(out())) << to;
  }
}

TEST_F(SimVerb, WrongUsageIsExitTwoInOneLine) {
  const std::string file = scenario();
  for (const std::string& arguments :
       {std::string(), std::string("/nonexistent.toml"), directory_.string(), file + " --bogus",
        file + " --expect wrest", file + " --expect", file + " --expect knot=", file + " --expect knot=blah",
        file + " --expect knot=3_2", file + " --expect holds --expect opens", file + " --expect rest --expect knot",
        file + " --expect passed", file + " --out ''", file + " --width 0", file + " --width 17", file + " --width 1.5",
        file + " --width -1", file + " --width", file + " " + file}) {
    const Answer answer = sim(arguments);
    EXPECT_EQ(answer.exit_code, 2) << arguments;
    EXPECT_EQ(lines(answer.err), 1) << arguments << ": " << answer.err;
    EXPECT_EQ(answer.out, "") << arguments;
  }
}

TEST_F(SimVerb, SegmentsThatUntieWhatWasDrawnAreTold) {
  const std::string points = std::string(LIGATURE_SOURCE_DIR) + "/config/scenarios/knot/points/overhand_02mm.csv";
  for (const char* segment : {"0.1", "0.6", "1", "4"}) {
    const Answer answer = sim(scenario("title = \"t\"\nduration_s = 0.01\n[[thread]]\nname = \"t\"\npoints_file = \"" +
                                       points + "\"\nsegment_mm = " + segment + "\ndiameter_mm = 0.2\n") +
                              " --json");
    const bool kept = !json::parse(answer.out)["knots"].empty();
    EXPECT_EQ(kept, std::stod(segment) < 1) << segment;
    EXPECT_EQ(answer.exit_code, kept ? 0 : 1) << segment << ": " << answer.err;
    EXPECT_EQ(answer.err.find("may be tied otherwise than as drawn") == std::string::npos, kept) << answer.err;
  }
}

TEST_F(SimVerb, KnotsAreNamedAndExpected) {
  const auto scene = [this](const std::string& from) {
    const std::string points = std::string(LIGATURE_SOURCE_DIR) + "/config/scenarios/knot/points/";
    std::string text = "title = \"t\"\nduration_s = 0.01\n";
    for (const char* side : {"left", "right"})
      text += "[[thread]]\nname = \"" + std::string(side) + "\"\npoints_file = \"" + points + from + "_02mm_" + side +
              ".csv\"\nsegment_mm = 0.1\ndiameter_mm = 0.2\n";
    return scenario(text);
  };
  for (const char* name : {"reef", "granny"}) {
    const Answer answer = sim(scene(name) + " --json --expect knot=" + name);
    EXPECT_EQ(answer.exit_code, 0) << answer.err;
    const json knots = json::parse(answer.out)["knots"];
    ASSERT_EQ(knots.size(), 1u) << knots;
    EXPECT_EQ(knots[0]["name"], name);
    EXPECT_EQ(knots[0]["threads"], (json{"left", "right"}));
    EXPECT_GT(knots[0]["confidence"].get<double>(), 0.5);
  }
  const Answer other = sim(scene("reef") + " --json --expect knot=granny");
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_EQ(other.err, "--expect knot=granny: reef in left and right (1=1)\n");
  const Answer nothing = sim(scenario() + " --json --expect knot=none");
  EXPECT_EQ(nothing.exit_code, 0) << nothing.err;
  EXPECT_EQ(json::parse(nothing.out)["knots"], json::array());
}

TEST_F(SimVerb, AReefThatIsDrawnStraightEndsAsASlipKnot) {
  const std::string scene = std::string(LIGATURE_SOURCE_DIR) + "/config/scenarios/knot/reef_capsizes_02mm.toml";
  const Answer answer = sim(scene + " --json --expect knot=SxS");
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  const json knots = json::parse(answer.out)["knots"];
  ASSERT_EQ(knots.size(), 1u) << knots;
  EXPECT_EQ(knots[0]["tie"], "none");
  EXPECT_EQ(knots[0]["throws"], "SxS");
  EXPECT_EQ(knots[0]["name"], "3_1#m3_1") << "the same closed knot as before";
}

// Two posts with no room between them for the thread.
TEST_F(SimVerb, WhatIsLedWhereThereIsNoRoomIsExitOne) {
  const Answer answer = sim(scenario(R"(
duration_s = 0.1
[[thread]]
name        = "pinched"
points_mm   = [[-5, 0, 0], [5, 0, 0]]
segment_mm  = 0.2
diameter_mm = 0.2
drag_mn_s_per_mm2 = 1e-5
[[obstacle]]
name        = "below"
shape       = "cylinder"
from_mm     = [0, -5, -0.6]
to_mm       = [0, 5, -0.6]
diameter_mm = 1
[[obstacle]]
name        = "above"
shape       = "cylinder"
from_mm     = [0, -5, 0.8]
to_mm       = [0, 5, 0.8]
diameter_mm = 1
velocity_mm_per_s = [0, 0, -20]
until_s     = 0.05
)") + " --json");
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_NE(answer.err.find("gave way"), std::string::npos) << answer.err;
  EXPECT_GT(json::parse(answer.out)["contacts"]["gave_way"], 0);
}

TEST_F(SimVerb, WhatIsNotTiedNeitherHoldsNorOpens) {
  for (const char* expect : {"holds", "opens"}) {
    const Answer answer = sim(scenario() + " --json --expect " + expect);
    EXPECT_EQ(answer.exit_code, 1) << expect;
    EXPECT_EQ(lines(answer.err), 1) << answer.err;
    EXPECT_EQ(answer.err.rfind(std::string("--expect ") + expect + ": nothing was tied", 0), 0u) << answer.err;
    EXPECT_FALSE(json::parse(answer.out)["tied"]["at_start"].get<bool>());
  }
}

TEST_F(SimVerb, HoldsOfRingsAloneIsExitTwo) {
  const Answer answer = sim(scenario(R"(duration_s = 0.05
[[thread]]
points_mm = [[0, 0, 0], [5, 0, 0], [5, 5, 0], [0, 5, 0]]
closed = true
)") + " --expect holds");
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_NE(answer.err.find("closed"), std::string::npos) << answer.err;
}

TEST_F(SimVerb, TheSummaryTellsOfCrossingsAndLag) {
  const Answer answer = sim(scenario() + " --json");
  const json topology = json::parse(answer.out)["topology"];
  EXPECT_TRUE(topology["audited"].get<bool>());
  EXPECT_FALSE(topology["changed"].get<bool>());
  for (const char* key : {"events_total", "crossings_prevented", "crossings_found", "tool_lag_max_mm",
                          "tool_lag_p99_mm", "tool_lag_longest_ms", "obstacle_lag_max_mm"})
    EXPECT_EQ(topology[key].get<double>(), 0) << key;
}

TEST_F(SimVerb, AFolderThatCannotBeWrittenIsExitTwo) {
  const std::string file = write("a_file", "x");
  for (const std::string& folder : {file, file + "/below", std::string("/proc/nowhere")}) {
    const Answer answer = sim(scenario() + " --out " + folder);
    EXPECT_EQ(answer.exit_code, 2) << folder;
    EXPECT_EQ(lines(answer.err), 1) << answer.err;
    EXPECT_EQ(answer.out, "");
  }
  EXPECT_EQ(slurp(file), "x");
}

TEST_F(SimVerb, AFullDiskIsExitOneAndLeavesNoHalfFile) {
  // Files may hold at most 4 blocks of 512 bytes; what the run writes is more.
  const Answer answer = sim(scenario() + " --json --out " + out(), "ulimit -f 4; ");
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_EQ(lines(answer.err), 1) << answer.err;
  EXPECT_NE(answer.err.find("free some space"), std::string::npos) << answer.err;
  EXPECT_EQ(answer.out, "");
  EXPECT_TRUE(!fs::exists(out()) || fs::is_empty(out()));
}

TEST_F(SimVerb, AFullDiskLeavesTheFilesOfTheRunBefore) {
  ASSERT_EQ(sim(scenario() + " --out " + out()).exit_code, 0);
  const std::string before = slurp(out() + "/threads.csv"), summary = slurp(out() + "/summary.json");
  EXPECT_EQ(sim(scenario(with(kFalling, "0.3", "0.5")) + " --out " + out(), "ulimit -f 4; ").exit_code, 1);
  EXPECT_EQ(slurp(out() + "/threads.csv"), before);
  EXPECT_EQ(slurp(out() + "/summary.json"), summary);
  expect_whole(out());
}

TEST_F(SimVerb, FullStandardOutputIsExitOne) {
  EXPECT_EQ(sim(scenario() + " --json >/dev/full").exit_code, 1);
}

TEST_F(SimVerb, ExpectRestFailsWhereItStillMoves) {
  const Answer answer = sim(scenario() + " --json --expect rest");
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_EQ(lines(answer.err), 1) << answer.err;
  EXPECT_NE(answer.err.find("--expect rest"), std::string::npos);
  EXPECT_TRUE(json::accept(answer.out)) << "the summary is printed all the same";
}

// A beam that its weight bends until it rests.
const char* const kBeam = R"(title = "A <beam> & its \u00b5-weight"
duration_s = 100
until = "rest"
gravity_m_per_s2 = [0, 0, -9.81]
[[thread]]
name = "beam"
points_mm = [[0, 0, 0], [20, 0, 0]]
segment_mm = 1
diameter_mm = 0.025
[[thread.clamp]]
at = "first"
hold = "frame"
[[thread.force]]
at = { s_mm = 10 }
force_mn = [0, 0, 1e-5]
ramp_s = 0.1
)";

TEST_F(SimVerb, UntilRestEndsAtRestAndTellsWhatTheClampCarries) {
  const Answer answer = sim(scenario(kBeam) + " --json --expect rest --out " + out());
  ASSERT_EQ(answer.exit_code, 0) << answer.err;
  expect_whole(out());
  const json s = json::parse(answer.out);
  EXPECT_TRUE(s["at_rest"].get<bool>());
  EXPECT_LT(s["time_s"].get<double>(), 100);
  EXPECT_LT(s["threads"][0]["speed_max_mm_per_s"].get<double>(), 1e-4);
  ASSERT_EQ(s["clamps"].size(), 1u);
  EXPECT_EQ(s["clamps"][0]["thread"], "beam");
  EXPECT_EQ(s["clamps"][0]["at"], "first");
  const double weight = 5.489639e-6 * 20;
  EXPECT_NEAR(s["clamps"][0]["reaction_mn"][2].get<double>(), weight - 1e-5, 1e-4 * weight);
  const auto clamps = csv(out() + "/clamps.csv");
  ASSERT_GT(clamps.size(), 2u);
  EXPECT_EQ(clamps[1][1], "beam");
  EXPECT_EQ(clamps[1][2], "first");
  EXPECT_GT(std::stod(clamps[1][0]), 0) << "before the first step no clamp has exerted anything";
}

const std::string kHangs = R"([[thread]]
name = "still"
points_mm = [[50, 0, 6], [50, 0, 1]]
segment_mm = 1
[[thread.clamp]]
at = "first"
)";

// The thread hangs still from the first step on; the vessel has yet to bend under its weight.
TEST_F(SimVerb, NothingIsAtRestWhileTissueMoves) {
  const std::string scene = R"(duration_s = 3
until = "rest"
gravity_m_per_s2 = [0, 0, -9.81]
)" + kHangs + R"([[tissue]]
shape = "vessel"
outer_diameter_mm = 3
wall_mm = 0.3
length_mm = 20
around = 12
along = 20
layers = 1
young_kpa = 100
poisson = 0.3
)";
  const auto bent = [&](const std::string& text) {
    const json s = json::parse(sim(scenario(text) + " --json").out);
    return std::pair(s["tissue"][0]["displacement_mm"].get<double>(), s["at_rest"].get<bool>());
  };
  const auto [at_rest, rests] = bent(scene);
  const auto [late, still] = bent(with(scene, "until = \"rest\"\n", ""));
  EXPECT_TRUE(rests);
  EXPECT_TRUE(still);
  EXPECT_GT(late, 1);
  EXPECT_NEAR(at_rest, late, 1e-4 * late);
}

TEST_F(SimVerb, TissueFallsOnTheBenchAndStaysThere) {
  const std::string scene = R"(duration_s = 0.5
gravity_m_per_s2 = [0, 0, -9.81]
)" + kHangs + R"([[obstacle]]
name = "bench"
shape = "plane"
normal = [0, 0, 1]
[[tissue]]
name = "vessel"
shape = "vessel"
p_WV_mm = [0, 0, 1]
fixed = "none"
)";
  const Answer falls = sim(scenario(scene) + " --json");
  EXPECT_EQ(falls.exit_code, 0) << falls.err;
  const json vessel = json::parse(falls.out)["tissue"][0];
  EXPECT_EQ(vessel["in_obstacle_max_mm"].get<double>(), 0);
  EXPECT_NEAR(vessel["displacement_mm"].get<double>(), 0.5, 0.1);
  EXPECT_GT(vessel["obstacle_force_mn"][2].get<double>(), 0.005);
  const Answer begins = sim(scenario(with(scene, "p_WV_mm = [0, 0, 1]", "p_WV_mm = [0, 0, 0.3]")));
  EXPECT_EQ(begins.exit_code, 2);
  EXPECT_NE(begins.err.find("tissue 'vessel' begins inside obstacle 'bench'"), std::string::npos) << begins.err;
}

TEST_F(SimVerb, StandingStillBeforeTheLastChangeIsNoRest) {
  // Straight and unloaded, at rest from the first step on; the force comes at 0.5 s.
  const std::string late = with(with(kBeam, "gravity_m_per_s2 = [0, 0, -9.81]\n", ""), "ramp_s = 0.1", "from_s = 0.5");
  const Answer answer = sim(scenario(late) + " --json --expect rest");
  ASSERT_EQ(answer.exit_code, 0) << answer.err;
  EXPECT_GT(json::parse(answer.out)["time_s"].get<double>(), 0.5);
}

TEST_F(SimVerb, WhatIsDrivenToTheEndIsNeverAtRest) {
  // A straight thread that is only twisted has no speed anywhere.
  const std::string spun = with(with(with(kBeam, "hold = \"frame\"", "hold = \"frame\"\nspin_deg_per_s = 90"),
                                     "duration_s = 100", "duration_s = 0.2"),
                                "gravity_m_per_s2 = [0, 0, -9.81]\n", "");
  const Answer answer =
      sim(scenario(with(spun, "force_mn = [0, 0, 1e-5]", "force_mn = [0, 0, 0]")) + " --json --expect rest");
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_FALSE(json::parse(answer.out)["at_rest"].get<bool>());
  EXPECT_EQ(json::parse(answer.out)["steps"], 40);
}

TEST_F(SimVerb, PlotsAnSvgThatIsXmlAndAPng) {
  const std::string svg = directory_ / "plots/picture.svg", png = directory_ / "picture.png";
  ASSERT_EQ(sim(scenario(kBeam) + " --plot " + svg).exit_code, 0) << "and the folder is made";
  const std::string text = slurp(svg);
  EXPECT_EQ(text.rfind("<svg ", 0), 0u);
  EXPECT_EQ(text.substr(text.size() - 7), "</svg>\n");
  EXPECT_NE(text.find("A &lt;beam&gt; &amp; its \u00b5-weight"), std::string::npos);
  for (const char* word : {"Energy, mN mm", "time, s", "x, mm", "z, mm", "frame held", "force", " mm<"})
    EXPECT_NE(text.find(word), std::string::npos) << word;
  for (const char* word : {"nan", "inf "}) EXPECT_EQ(text.find(word), std::string::npos) << word;
  EXPECT_EQ(std::count(text.begin(), text.end(), '<'), std::count(text.begin(), text.end(), '>'));

  ASSERT_EQ(sim(scenario(kBeam) + " --plot " + png).exit_code, 0);
  const std::string bytes = slurp(png);
  EXPECT_EQ(bytes.substr(1, 3), "PNG");
  EXPECT_EQ(bytes.substr(16, 4), std::string("\0\0\x05\x78", 4)) << "1400 pixels wide";
}

TEST_F(SimVerb, DrawsAFilmStripOfTheRun) {
  const std::string film = directory_ / "films/strip.png";
  const auto width_of = [](const std::string& bytes) {
    return static_cast<unsigned char>(bytes[18]) * 256 + static_cast<unsigned char>(bytes[19]);
  };
  ASSERT_EQ(sim(scenario() + " --film " + film + " --film-pictures 2").exit_code, 0) << "and the folder is made";
  const std::string two = slurp(film);
  EXPECT_EQ(two.substr(1, 3), "PNG");
  EXPECT_EQ(width_of(two), 2 * 560 + 3 * 6);
  ASSERT_EQ(sim(scenario() + " --film " + film + " --film-times 0,0.1,0.2 --film-view demo").exit_code, 0);
  EXPECT_EQ(width_of(slurp(film)), 2 * 640 + 3 * 6) << "two rows, pictures of the profile's size";
  const Answer beyond = sim(scenario() + " --film " + film + " --film-times 0,0.1,70,80 --film-view demo");
  EXPECT_EQ(beyond.exit_code, 0) << beyond.err;
  EXPECT_NE(beyond.err.find("before 70 s and 1 more: the last picture is of its end"), std::string::npos) << beyond.err;
  ASSERT_EQ(sim(scenario() + " --film " + film + " --film-pictures 1 --film-eyes both").exit_code, 0);
  EXPECT_EQ(width_of(slurp(film)), 2 * 560 + 2 * 6);
  const std::string file = write("a_file", "x");
  for (const std::string& wrong : {std::string("--film ") + std::string(directory_ / "p.jpg"),
                                   "--film " + file + "/p.png", "--film " + film + " --film-pictures 0",
                                   "--film " + film + " --film-times 0.2,0.1", "--film " + film + " --film-eyes right",
                                   "--film " + film + " --film-view nowhere", std::string("--film-pictures 3")}) {
    const Answer answer = sim(scenario() + " --json --out " + out() + " " + wrong);
    EXPECT_EQ(answer.exit_code, 2) << wrong;
    EXPECT_EQ(lines(answer.err), 1) << answer.err;
    EXPECT_EQ(answer.out, "");
    EXPECT_FALSE(fs::exists(out())) << wrong;
  }
}

TEST_F(SimVerb, APlotThatCannotBeIsExitTwoBeforeAnythingStarts) {
  const std::string file = write("a_file", "x");
  fs::create_directories(directory_ / "folder.svg");
  for (const std::string& plot : {std::string(directory_ / "p.jpg"), file, file + "/p.svg",
                                  std::string(directory_ / "folder.svg"), std::string("/proc/p.png")}) {
    const Answer answer = sim(scenario() + " --json --out " + out() + " --plot " + plot);
    EXPECT_EQ(answer.exit_code, 2) << plot;
    EXPECT_EQ(lines(answer.err), 1) << answer.err;
    EXPECT_EQ(answer.out, "");
    EXPECT_FALSE(fs::exists(out())) << plot;
  }
}

TEST_F(SimVerb, APlotOfARunWithoutAStepOrWithoutMotionIsDrawn) {
  const char* const still = R"(duration_s = 1e-6
[[thread]]
points_mm = [[0, 0, 0], [0, 0, 5]]
segment_mm = 1
)";
  EXPECT_EQ(sim(scenario(still) + " --plot " + out() + "/p.svg").exit_code, 0);
  EXPECT_EQ(sim(scenario(still) + " --plot " + out() + "/p.png").exit_code, 0);
}

TEST_F(SimVerb, AShippedScenarioIsFoundByItsName) {
  const Answer answer = sim("thread/elongation_10_0 --json");
  ASSERT_EQ(answer.exit_code, 0) << answer.err;
  EXPECT_NEAR(json::parse(answer.out)["threads"][0]["last_mm"][0].get<double>(), 64.889, 1e-3);
}

class SimVerbSignal : public SimVerb, public ::testing::WithParamInterface<int> {};

TEST_P(SimVerbSignal, EndsCleanlyWithWholeFiles) {
  const std::string file = scenario(with(kFalling, "duration_s = 0.3", "duration_s = 100000"));
  const std::string printed = directory_ / "printed.json";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!freopen(printed.c_str(), "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(99);
    execl(LIGATURE_PROGRAM, LIGATURE_PROGRAM, "sim", file.c_str(), "--json", "--out", out().c_str(), nullptr);
    _exit(98);
  }
  while (!fs::exists(out() + "/.threads.csv.new") || fs::file_size(out() + "/.threads.csv.new") == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(fs::exists(out() + "/threads.csv")) << "nothing half written under its own name";
  kill(child, GetParam());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  expect_whole(out());
  const json s = json::parse(slurp(printed), nullptr, false);
  ASSERT_FALSE(s.is_discarded());
  EXPECT_TRUE(s["interrupted"].get<bool>());
  EXPECT_EQ(csv(out() + "/timing.csv").size(), 1 + s["steps"].get<std::size_t>());
}

INSTANTIATE_TEST_SUITE_P(Both, SimVerbSignal, ::testing::Values(SIGINT, SIGTERM));

TEST_F(SimVerb, TwoRunsIntoOneFolderDoNotMix) {
  const std::string file = scenario(with(kFalling, "duration_s = 0.3", "duration_s = 100000"));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(99);
    execl(LIGATURE_PROGRAM, LIGATURE_PROGRAM, "sim", file.c_str(), "--out", out().c_str(), nullptr);
    _exit(98);
  }
  while (!fs::exists(out() + "/.timing.csv.new") || fs::file_size(out() + "/.timing.csv.new") == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const Answer second = sim(file + " --out " + out());
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_NE(second.err.find("another run"), std::string::npos) << second.err;
  kill(child, SIGTERM);
  int status = 0;
  waitpid(child, &status, 0);
  expect_whole(out());
}

TEST_F(SimVerb, HelpHasAnExampleAndTheListOfFiles) {
  const Answer answer = sim("--help");
  EXPECT_EQ(answer.exit_code, 0);
  EXPECT_NE(answer.out.find("Example: ligature sim "), std::string::npos);
  for (const auto& [name, header] : kHeaders) EXPECT_NE(answer.out.find(name), std::string::npos) << name;
}

TEST_F(SimVerb, ForcepsFromAFileGraspTheThread) {
  write("left.csv",
        "t_s,x_mm,y_mm,z_mm,qx,qy,qz,qw,opening_deg\n"
        "0,0.5,0,0.1,0.5,0.5,0.5,0.5,10\n"
        "0.2,0.5,0,0.1,0.5,0.5,0.5,0.5,0\n"
        "0.6,0.5,0,5.1,0.5,0.5,0.5,0.5,0\n");  // its faces above and below the thread
  const std::string file = scenario(R"(duration_s = 0.7
[[thread]]
name = "held"
points_mm = [[-5, -1, 0.1], [5, -1, 0.1]]
segment_mm = 0.25
[[forceps]]
name = "left"
path_file = "left.csv"
)");
  const Answer answer = sim(file + " --json");
  ASSERT_EQ(answer.exit_code, 0) << answer.err;
  const json s = json::parse(answer.out);
  EXPECT_EQ(s["forceps"]["grasps"], 1) << answer.out;
}

/// The first row of a path is where the hand is when the run begins: it has come from there after the first step.
TEST_F(SimVerb, HandsThatMoveFromTheStartTakeThreadsAlong) {
  write("left.csv",
        "t_s,x_mm,y_mm,z_mm,qx,qy,qz,qw,opening_deg\n"
        "0,6,0,0,0,0,0,1,0\n"
        "0.1,6,0,20,0,0,0,1,0\n");  // closed, 0.3 mm below it, 1 mm further up after a step
  const std::string file = scenario(R"(duration_s = 0.15
step_ms = 5
[[thread]]
name = "across"
points_mm = [[0, -8, 0.8], [0, 8, 0.8]]
segment_mm = 0.1
diameter_mm = 0.1
integrator = "low-mass"
[[forceps]]
name = "left"
path_file = "left.csv"
)");
  const Answer answer = sim(file + " --out " + out());
  ASSERT_EQ(answer.exit_code, 0) << answer.err;
  const auto rows = csv(out() + "/threads.csv");
  EXPECT_GT(std::stod(rows[rows.size() - 80][6]), 18) << "the middle of it";
}

}  // namespace
