/// `ligature knot` as its users have it: the program, files, exit codes.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "appliance/knot/client.hpp"
#include "appliance/knot/threads.hpp"
#include "sim/base/random.hpp"

namespace ligature::knot {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Outcome {
  int exit_code = -1;
  std::string out, err;
};

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

using Points = std::vector<Vec3>;

Points trefoil(int n) {
  Points out;
  for (int i = 0; i < n; ++i) {
    const double t = 2 * 3.14159265358979323846 * i / n;
    out.push_back({std::sin(t) + 2 * std::sin(2 * t), std::cos(t) - 2 * std::cos(2 * t), -std::sin(3 * t)});
  }
  return out;
}

Points circle(int n, double x, bool upright) {
  Points out;
  for (int i = 0; i < n; ++i) {
    const double t = 2 * 3.14159265358979323846 * (i + 0.3) / n;
    out.push_back(upright ? Vec3{x + std::cos(t), 0.01, std::sin(t)} : Vec3{x + std::cos(t), std::sin(t), 0});
  }
  return out;
}

class KnotVerb : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::path(testing::TempDir()) /
                 (std::string("knot_verb_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name, std::ios::binary) << text;
    return (directory_ / name).string();
  }
  std::string file(const std::string& name, const Points& points) {
    std::string text;
    for (const Vec3 p : points) {
      std::array<char, 96> line;
      std::snprintf(line.data(), line.size(), "%.17g,%.17g,%.17g\n", p.x, p.y, p.z);
      text += line.data();
    }
    return file(name, text);
  }
  Outcome ask(const std::string& arguments) {
    const std::string err = (directory_ / "err").string(), out = (directory_ / "out").string();
    const std::string line = std::string(LIGATURE_KNOT) + " " + arguments + " > '" + out + "' 2> '" + err + "'";
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp(out), slurp(err)};
  }
  json answer(const std::string& arguments) {
    const Outcome run = ask(arguments + " --json");
    EXPECT_EQ(run.exit_code, 0) << arguments << ": " << run.err;
    EXPECT_EQ(run.err, "");
    return run.exit_code == 0 ? json::parse(run.out) : json{};
  }
  fs::path directory_;
};

TEST_F(KnotVerb, NamesALoop) {
  const json a = answer(file("t.csv", trefoil(120)) + " --closed");
  EXPECT_EQ(a["name"], "3_1");
  EXPECT_EQ(a["candidates"], json{"3_1"});
  EXPECT_EQ(a["confidence"], 1.0);
  EXPECT_EQ(a["components"], 1);
  EXPECT_EQ(a["crossings"], 3);
  EXPECT_EQ(a["linking"], json::array());
  EXPECT_TRUE(a["tie"].is_null());
  EXPECT_TRUE(a["throws"].is_null());
  EXPECT_EQ(a["homfly"], "-2*l^2 - l^4 + l^2*m^2");
}

TEST_F(KnotVerb, NamesALinkWithItsLinkingNumber) {
  const std::string first = file("a.csv", circle(40, 0, false));
  Points second = circle(40, 1, true);
  const int linking = answer(first + " " + file("b.csv", second) + " --closed")["linking"][0].get<int>();
  EXPECT_EQ(std::abs(linking), 1);
  std::reverse(second.begin(), second.end());
  const json reversed = answer(first + " " + file("c.csv", second) + " --closed");
  EXPECT_EQ(reversed["linking"][0].get<int>(), -linking);
  EXPECT_EQ(reversed["name"], "2^2_1");
  EXPECT_EQ(reversed["components"], 2);
}

TEST_F(KnotVerb, NamesTheShippedTies) {
  const std::string points = std::string(LIGATURE_SOURCE_DIR) + "/config/scenarios/knot/points/";
  for (const auto& [name, throws] : {std::pair{"reef", "1=1"}, std::pair{"granny", "1x1"}, std::pair{"thief", "1=1"},
                                     std::pair{"grief", "1x1"}, std::pair{"surgeon", "2=1"}}) {
    const json a = answer(points + name + "_02mm_left.csv " + points + name + "_02mm_right.csv");
    EXPECT_EQ(a["name"], name);
    EXPECT_EQ(a["tie"], name);
    EXPECT_EQ(a["throws"], throws);
    EXPECT_GT(a["confidence"].get<double>(), 0.5);
  }
  const json square = answer(points + "square_02mm.csv");
  EXPECT_EQ(square["name"], "3_1#m3_1");
  EXPECT_EQ(square["tie"], "reef");
  // Its own, beside that of the knot.
  EXPECT_GT(square["tie_confidence"].get<double>(), 0.5);
  EXPECT_LE(square["tie_confidence"].get<double>(), 1);
  EXPECT_FALSE(answer(points + "overhand_02mm.csv").contains("tie_confidence"));
}

TEST_F(KnotVerb, ABendIsToldOfTwoThreadsThatAreTiedToEachOther) {
  const std::string data = std::string(LIGATURE_SOURCE_DIR) + "/tests/knot/data/";
  const std::string points = std::string(LIGATURE_SOURCE_DIR) + "/config/scenarios/knot/points/";
  for (const auto& [bend, name] : {std::pair{"carrick_bend", "8^2_7"}, std::pair{"sheet_bend", "2^2_1"}}) {
    const json a = answer(data + bend + "_left.csv " + data + bend + "_right.csv");
    EXPECT_EQ(a["name"], name);
    EXPECT_EQ(a["tie"], "none");
    EXPECT_TRUE(a.value("bend", false)) << bend;
  }
  // A tie is none, nor is a knot that one thread has alone, nor threads that are only wound round each other.
  const std::string beside = file("beside.csv", Points{{-9, 0.4, 0.01}, {0, 0.41, 0.02}, {9, 0.4, 0.03}});
  for (const std::string& pair :
       {points + "reef_02mm_left.csv " + points + "reef_02mm_right.csv", points + "overhand_02mm.csv " + beside,
        points + "pair_6_first.csv " + points + "pair_6_second.csv"})
    EXPECT_FALSE(answer(pair).contains("bend")) << pair;
}

TEST_F(KnotVerb, SlipKnotsAreNoNamedTieButTheSumThatTheirLoopIs) {
  const std::string points = std::string(LIGATURE_SOURCE_DIR) + "/config/scenarios/knot/points/";
  for (const auto& [name, throws, loop] :
       {std::tuple{"slip_granny", "S=S", "3_1#3_1"}, std::tuple{"slip_reef", "SxS", "3_1#m3_1"},
        std::tuple{"slip_three", "SxSxS", "3_1#3_1#m3_1"}}) {
    const json a = answer(points + name + "_02mm_post.csv " + points + name + "_02mm_hitches.csv");
    EXPECT_EQ(a["tie"], "none");
    EXPECT_EQ(a["throws"], throws);
    EXPECT_EQ(a["name"], loop) << "the name of the crossings and the polynomial beside it";
    EXPECT_EQ(a["crossings"], std::string(throws).size() == 3 ? 6 : 9);
    EXPECT_EQ(a["components"], 2);
  }
}

TEST_F(KnotVerb, WhatIsBeingCapsizedHasBothReadingsAsCandidates) {
  const std::string points = std::string(LIGATURE_SOURCE_DIR) + "/tests/knot/data/";
  const json a = answer(points + "reef_capsizing_left.csv " + points + "reef_capsizing_right.csv");
  EXPECT_EQ(a["name"], "reef");
  EXPECT_EQ(a["candidates"], (json{"reef", "SxS"}));
}

TEST_F(KnotVerb, OfManyThreadsEveryTwoThatAreTiedAreTold) {
  const fs::path points = fs::path(LIGATURE_SOURCE_DIR) / "config/scenarios/knot/points";
  const auto moved = [&](const std::string& name, double by) {
    std::string text;
    std::ifstream in(points / (name + ".csv"));
    for (std::string line; std::getline(in, line);) {
      Vec3 p;
      if (std::sscanf(line.c_str(), "%lf,%lf,%lf", &p.x, &p.y, &p.z) == 3)
        text += std::to_string(p.x) + "," + std::to_string(p.y) + "," + std::to_string(p.z + by) + "\n";
    }
    return file(name + ".csv", text);
  };
  const std::string files = moved("reef_02mm_left", 0) + " " + moved("granny_02mm_left", 3) + " " +
                            file("near.csv", Points{{-5, 0.1, 1.5}, {5, 0.3, 1.4}}) + " " +
                            moved("reef_02mm_right", 0) + " " + moved("granny_02mm_right", 3);
  const json a = answer(files);
  EXPECT_TRUE(a["tie"].is_null());
  ASSERT_EQ(a["ties"].size(), 2u) << a.dump();
  EXPECT_EQ(a["ties"][0]["threads"], (json{0, 3}));
  EXPECT_EQ(a["ties"][0]["tie"], "reef");
  EXPECT_EQ(a["ties"][1]["threads"], (json{1, 4}));
  EXPECT_EQ(a["ties"][1]["throws"], "1x1");
  EXPECT_NE(ask(files).out.find("granny_02mm_right.csv: granny, throws 1x1"), std::string::npos);
  EXPECT_FALSE(answer(file("a.csv", Points{{0, 0, 0}, {1, 0, 0}}) + " " + file("b.csv", Points{{0, 1, 0}, {1, 1, 0}}))
                   .contains("ties"));
}

TEST_F(KnotVerb, LinksWithoutATableHaveTheirLinkingNumbers) {
  Points rings[3];
  for (int i = 0; i < 60; ++i) {
    const double t = 2 * 3.14159265358979323846 * i / 60, c = 2 * std::cos(t), s = std::sin(t);
    rings[0].push_back({c, s, 0});
    rings[1].push_back({0, c, s});
    rings[2].push_back({s, 0, c});
  }
  const json borromean =
      answer(file("a.csv", rings[0]) + " " + file("b.csv", rings[1]) + " " + file("c.csv", rings[2]) + " --closed");
  EXPECT_EQ(borromean["name"], "unknown");
  EXPECT_EQ(borromean["confidence"], 0.0);
  EXPECT_EQ(borromean["crossings"], 6);
  EXPECT_EQ(borromean["linking"], (json{0, 0, 0}));
  const json chain = answer(file("a.csv", circle(40, 0, false)) + " " + file("b.csv", circle(40, 1.2, true)) + " " +
                            file("c.csv", circle(40, 2.4, false)) + " --closed");
  EXPECT_EQ(chain["name"], "2^2_1#2^2_1");
  EXPECT_EQ(std::abs(chain["linking"][0].get<int>()), 1);
  EXPECT_EQ(chain["linking"][1], 0);
  EXPECT_EQ(std::abs(chain["linking"][2].get<int>()), 1);
}

TEST_F(KnotVerb, EndsOverrideTheRule) {
  const std::string points = std::string(LIGATURE_SOURCE_DIR) + "/config/scenarios/knot/points/";
  const std::string both = points + "reef_02mm_left.csv " + points + "reef_02mm_right.csv";
  EXPECT_EQ(answer(both + " --ends st,ts")["tie"], "thief");
  EXPECT_EQ(answer(both + " --ends ts,ts")["tie"], "reef");
  for (const char* wrong : {"st", "st,xx", "st,st,st", "''"}) {
    const Outcome run = ask(both + " --ends " + wrong);
    EXPECT_EQ(run.exit_code, std::string(wrong) == "''" ? 0 : 2) << wrong;
  }
}

TEST_F(KnotVerb, DrawsThePicture) {
  const std::string picture = (directory_ / "t.svg").string();
  EXPECT_EQ(ask(file("t.csv", trefoil(90)) + " --closed --plot " + picture).exit_code, 0);
  const std::string svg = slurp(picture);
  EXPECT_EQ(svg.rfind("<svg", 0), 0u);
  EXPECT_NE(svg.find("<title>3_1</title>"), std::string::npos);
  // Three stretches between three gaps.
  std::size_t paths = 0;
  for (std::size_t at = svg.find("<path"); at != std::string::npos; at = svg.find("<path", at + 1)) ++paths;
  EXPECT_EQ(paths, 3u);
  EXPECT_EQ(ask(file("t.csv", trefoil(90)) + " --closed --plot t.bmp").exit_code, 2);
  EXPECT_EQ(ask(file("t.csv", trefoil(90)) + " --closed --plot /nonexistent/t.svg").exit_code, 2);
}

TEST_F(KnotVerb, WrongFilesAndUsageAreExitTwoInOneLine) {
  const std::string good = file("good.csv", trefoil(60));
  const std::vector<std::string> wrong{
      "",
      "/nonexistent.csv",
      directory_.string(),
      file("empty.csv", ""),
      file("one.csv", "1,2,3\n"),
      file("two.csv", "1,2\n3,4\n"),
      file("words.csv", "x,y,z\n1,2,3\n4,5,6\n"),
      file("nan.csv", "1,2,3\nnan,0,0\n1,1,1\n"),
      file("inf.csv", "1,2,3\ninf,0,0\n1,1,1\n"),
      file("binary.csv", std::string("\0\1\2\377,\n", 6)),
      file("half.csv", "1,2,3\n4,5,"),
      file("pair.csv", "0,0,0\n1,1,1\n") + " --closed",
      file("same.csv", "1,1,1\n1,1,1\n1,1,1\n") + " --closed",
      good + " --bogus",
      good + " " + good + " --closed",
      good + " --closed --ends tt",
  };
  for (const std::string& arguments : wrong) {
    const Outcome run = ask(arguments);
    EXPECT_EQ(run.exit_code, 2) << arguments << run.out;
    EXPECT_EQ(run.out, "") << arguments;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << arguments << ": " << run.err;
  }
  EXPECT_NE(ask(file("nan.csv", "1,2,3\nnan,0,0\n1,1,1\n")).err.find("nan.csv:2:"), std::string::npos);
}

TEST_F(KnotVerb, HelpHasAnExample) {
  const Outcome run = ask("--help");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_NE(run.out.find("Example: ligature knot"), std::string::npos);
}

TEST(KnotClient, AsksAnotherProcess) {
  auto client = Client::start(LIGATURE_KNOT);
  ASSERT_TRUE(client) << client.error().message;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(client->ask({{trefoil(2000)}, true, ""}));
    EXPECT_TRUE(client->busy());
    const auto answer = client->wait(20000);
    ASSERT_TRUE(answer);
    ASSERT_TRUE(*answer) << answer->error().message;
    EXPECT_EQ((*answer)->name, "3_1");
    EXPECT_FALSE(client->busy());
  }
  ASSERT_TRUE(client->ask({{{{0, 0, 0}, {1, 1, 1}}}, true, ""}));
  const auto none = client->wait(20000);
  ASSERT_TRUE(none);
  ASSERT_FALSE(*none);
  EXPECT_EQ(none->error().kind, Error::Kind::failed);
}

TEST(KnotClient, SaysWhenTheProgramIsMissingOrDies) {
  EXPECT_FALSE(Client::start("/nonexistent/ligature-knot"));
  auto client = Client::start("/bin/true");
  ASSERT_TRUE(client);
  std::ignore = client->ask({{trefoil(10)}, true, ""});
  const auto answer = client->wait(20000);
  ASSERT_TRUE(answer);
  ASSERT_FALSE(*answer);
  EXPECT_EQ(answer->error().kind, Error::Kind::unavailable);
}

TEST(KnotThreads, AsksAboutRingsThreadsAndPairsThatAreNear) {
  const Points near{{0, 0, 0}, {1, 0, 0}, {1, 1, 1}}, far{{50, 0, 0}, {51, 1, 1}};
  const auto questions = questions_of({{"a", 0, near, false, true, false},
                                       {"ring", 1, trefoil(30), true, false, false},
                                       {"b", 2, near, false, false, true},
                                       {"c", 3, far, false, false, false}});
  ASSERT_EQ(questions.size(), 5u);
  EXPECT_EQ(questions[0].threads, std::vector<std::string>{"ring"});
  EXPECT_TRUE(questions[0].question.closed);
  EXPECT_EQ(questions[4].threads, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(questions[4].origins, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(questions[0].origins, std::vector<std::size_t>{1});
  EXPECT_EQ(questions[4].question.ends, "st,ts");
}

TEST(KnotThreads, TellsOfKnotsOnly) {
  Answer untied, tied;
  untied.name = "0_1";
  tied.name = "reef";
  tied.tie = "reef";
  tied.throws = "1=1";
  const ThreadQuestion one{{"a"}, {0}, {{{}}, false, ""}}, two{{"a", "b"}, {0, 1}, {{{}, {}}, false, "st,st"}};
  EXPECT_FALSE(is_knot(one, untied));
  EXPECT_TRUE(is_knot(two, tied));
  EXPECT_EQ(to_json(ThreadKnot{{"a", "b"}, {0, 1}, tied}).dump(),
            R"({"threads":["a","b"],"name":"reef","confidence":0.0,"tie":"reef","throws":"1=1"})");
  EXPECT_TRUE(is_among({{{"a", "b"}, {0, 1}, tied}}, "1=1"));
  EXPECT_FALSE(is_among({{{"a", "b"}, {0, 1}, tied}}, "granny"));
  EXPECT_TRUE(is_among({}, "none"));
}

}  // namespace
}  // namespace ligature::knot
