/// The whole stitch of the scripted trainee, from the needle on the bench to the cut end: with a reef, with a granny.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "appliance/sim/sim_run.hpp"

namespace {

using nlohmann::json;

/// What `ligature sim anastomosis/NAME` says of it, and what must hold of any hands.
json run(const std::string& name, int exit_code) {
  setenv("LIGATURE_KNOT_PROGRAM", LIGATURE_KNOT, 1);
  ligature::simulate::SimOptions options;
  options.scenario = std::string(LIGATURE_SOURCE_DIR) + "/config/scenarios/anastomosis/" + name + ".toml";
  const auto outcome = ligature::simulate::simulate(options);
  if (!outcome) {
    ADD_FAILURE() << outcome.error().message;
    return json::object();
  }
  EXPECT_EQ(outcome->exit_code, exit_code) << outcome->complaint;
  json s = json::parse(outcome->summary);
  EXPECT_EQ(s["topology"]["changed"], false);
  EXPECT_EQ(s["topology"]["crossings_found"], 0);
  EXPECT_EQ(s["non_finite_resets"], 0);
  EXPECT_EQ(s["contacts"]["overflow"], 0);
  for (const json& end : s["tissue"]) EXPECT_LE(end["inverted_steps_in_a_row"], 1) << end["name"];
  EXPECT_EQ(s["sutures"].size(), 4u) << "through both walls of the two ends";
  return s;
}

TEST(Anastomosis, TheScriptedStitchIsTiedIntoAReefAndCut) {
  const json s = run("reef", 0);
  ASSERT_TRUE(s.contains("exercise"));
  const json& exercise = s["exercise"];
  EXPECT_EQ(exercise["state"], "passed");
  for (const json& step : exercise["steps"]) EXPECT_EQ(step["passed"], true) << step;
  EXPECT_TRUE(exercise["faults"].empty()) << exercise["faults"];
  EXPECT_EQ(exercise["throws"], "1=1") << "a reef";
  EXPECT_LT(exercise["gap_at_end_mm"], 0.1) << "cut, the ends still held together";
  // 0.3 mm without a knot. A knot of two throws springs open by some tenths once the hands leave it.
  EXPECT_LT(exercise["gap_mm"], 0.1) << "the approximator backed off";
}

// Both throws laid round the same way: everything is as in the reef but the knot, which is named.
TEST(Anastomosis, ASecondThrowLaidRoundAsTheFirstIsNamedAGranny) {
  const json s = run("granny", 0);
  ASSERT_TRUE(s.contains("exercise"));
  const json& exercise = s["exercise"];
  EXPECT_EQ(exercise["state"], "failed");
  EXPECT_EQ(exercise["throws"], "1x1") << "a granny";
  EXPECT_EQ(exercise["faults"]["wrong_knot"], 1) << exercise["faults"];
  int passed = 0;
  for (const json& step : exercise["steps"]) passed += step["passed"] == true ? 1 : 0;
  EXPECT_EQ(passed, 5) << "all but the last throw and the cut: " << exercise["steps"];
}

}  // namespace
