#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "config/scenario_file.hpp"

namespace ligature::config {
namespace {

std::string scene(const std::string& exercise, const std::string& capacity = "") {
  return "[capacity]\n" + capacity +
         "[[thread]]\nname = \"suture\"\npoints_mm = [[-10,0,5],[10,0,5]]\n"
         "[[needle]]\nthread = \"suture\"\narc_mm = 2\n"
         "[[tissue]]\nname = \"a\"\nshape = \"vessel\"\n"
         "[[tissue]]\nname = \"b\"\nshape = \"vessel\"\np_WV_mm = [0, 3, 0]\n"
         "[exercise]\n" +
         exercise;
}
const std::string kWho = "thread = \"suture\"\nfirst = \"b\"\nsecond = \"a\"\n";

std::string refusal(const std::string& exercise, const std::string& capacity = "") {
  const auto read = parse_scenario(scene(exercise, capacity), "x.toml");
  return read ? "" : read.error().message;
}

TEST(ScenarioExercise, ItsCutsTakeMemoryByThemselves) {
  const auto read = parse_scenario(scene(kWho + "cuts_s = [8.5, 9]\n", ""), "x.toml");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->capacity.cuts, 4u) << "two, by either hand";
}

TEST(ScenarioExercise, ItsCutsTakeNoMoreMemoryThanThereIs) {
  for (const auto& [others, cuts, asked] : {std::tuple{4, "[8.5, 9]", 3u}, std::tuple{6, "[8.5]", 1u}}) {
    std::string text = scene(kWho + "cuts_s = " + cuts + "\n");
    for (int k = 0; k < others; ++k)
      text += "[[thread]]\nname = \"t" + std::to_string(k) + "\"\npoints_mm = [[-10,0," + std::to_string(10 + k) +
              "],[10,0," + std::to_string(10 + k) + "]]\n";
    const auto read = parse_scenario(text, "x.toml");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->capacity.cuts, asked) << others;
  }
}

TEST(ScenarioExercise, IsReadInSimsUnits) {
  const auto read =
      parse_scenario(scene(kWho + "name = \"Stitch\"\ntail_mm = 7\nthrows = \"2=1\"\nends_mm = 3\ntear_force_mn = 200\n"
                                  "dropped_after_s = 4\nsettles_s = 1.5\nstart = \"when-told\"\ncuts_s = [8.5, 9]\n",
                           "cuts = 2\n"),
                     "x.toml");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(read->exercise);
  const exercise::Goal& goal = read->exercise->goal;
  EXPECT_EQ(goal.name, "Stitch");
  EXPECT_EQ(goal.first, 1u);
  EXPECT_EQ(goal.second, 0u);
  EXPECT_EQ(goal.throws, "2=1");
  EXPECT_DOUBLE_EQ(goal.tear_force, 2e5);
  EXPECT_DOUBLE_EQ(goal.settles_s, 1.5);
  EXPECT_FALSE(goal.at_once);
  EXPECT_EQ(read->exercise->cuts_s.size(), 2u);
  EXPECT_EQ(read->capacity.cuts, 2u);
}

TEST(ScenarioExercise, IsNotThereUnlessAskedFor) {
  const auto read = parse_scenario("[[thread]]\npoints_mm = [[0,0,0],[10,0,0]]\n", "x.toml");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_FALSE(read->exercise);
  EXPECT_EQ(read->capacity.cuts, 0u);
}

TEST(ScenarioExercise, IsRefusedWithItsLine) {
  EXPECT_EQ(refusal(kWho), "");
  for (const auto& [exercise, says] : std::initializer_list<std::pair<std::string, std::string>>{
           {"first = \"a\"\nsecond = \"b\"\n", "'exercise.thread'"},
           {"thread = \"suture\"\nfirst = \"a\"\nsecond = \"a\"\n", "another tissue than first"},
           {"thread = \"suture\"\nfirst = \"a\"\nsecond = \"c\"\n", "'exercise.second'"},
           {kWho + "throws = \"1+1\"\n", "'exercise.throws'"},
           {kWho + "throws = \"\"\n", "'exercise.throws'"},
           {kWho + "tail_mm = 0\n", "'exercise.tail_mm'"},
           {kWho + "tear_force_mn = nan\n", "'exercise.tear_force_mn'"},
           {kWho + "cuts_s = [2, 1]\n", "growing"},
           {kWho + "cuts_s = [2, 2]\n", "growing"},
           {kWho + "cuts_s = [2, 2.004]\n", "by more than a step"},
           {kWho + "tails = 0\n", "'exercise.tails'"}}) {
    const std::string said = refusal(exercise);
    EXPECT_TRUE(said.starts_with("x.toml:")) << exercise << said;
    EXPECT_NE(said.find(says), std::string::npos) << exercise << said;
  }
  EXPECT_NE(refusal(kWho, "cuts = 7\n").find("'capacity.cuts'"), std::string::npos);
  EXPECT_NE(refusal(kWho + "cuts_s = [2]\n", "cuts = 0\n").find("'capacity.cuts' is 0, must be 1 or more"),
            std::string::npos);
  const std::string planned = refusal(kWho + "cuts_s = [2]\n[[cut]]\nthread = \"suture\"\ns_mm = 5\ntime_s = 1\n");
  EXPECT_NE(planned.find("key 'cut.time_s' is planned beside cuts_s"), std::string::npos) << planned;
}

}  // namespace
}  // namespace ligature::config
