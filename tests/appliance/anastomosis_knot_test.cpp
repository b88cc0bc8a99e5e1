/// The whole stitch of the scripted trainee, anastomosis/reef: from the needle on the bench to the cut end.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "appliance/sim/sim_run.hpp"

namespace {

using nlohmann::json;

TEST(Anastomosis, TheScriptedStitchIsTiedIntoAReefAndCut) {
  setenv("LIGATURE_KNOT_PROGRAM", LIGATURE_KNOT, 1);
  ligature::simulate::SimOptions options;
  options.scenario = std::string(LIGATURE_SOURCE_DIR) + "/config/scenarios/anastomosis/reef.toml";
  const auto outcome = ligature::simulate::simulate(options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->exit_code, 0) << outcome->complaint;
  const json s = json::parse(outcome->summary);

  EXPECT_EQ(s["topology"]["changed"], false);
  EXPECT_EQ(s["topology"]["crossings_found"], 0);
  EXPECT_EQ(s["non_finite_resets"], 0);
  EXPECT_EQ(s["contacts"]["overflow"], 0);
  for (const json& end : s["tissue"]) EXPECT_LE(end["inverted_steps_in_a_row"], 1) << end["name"];

  const json& exercise = s["exercise"];
  EXPECT_EQ(exercise["state"], "passed");
  for (const json& step : exercise["steps"]) EXPECT_EQ(step["passed"], true) << step;
  EXPECT_TRUE(exercise["faults"].empty()) << exercise["faults"];
  EXPECT_EQ(exercise["throws"], "1=1") << "a reef";
  EXPECT_LT(exercise["gap_at_end_mm"], 0.1) << "cut, the ends still held together";
  // 0.3 mm without a knot. A knot of two throws springs open by some tenths once the hands leave it.
  EXPECT_LT(exercise["gap_mm"], 0.2) << "the approximator backed off";
  EXPECT_EQ(s["sutures"].size(), 4u) << "through both walls of the two ends";
}

}  // namespace
