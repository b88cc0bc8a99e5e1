/// The scripted trainee's stitch, as `ligature sim anastomosis/stitch` runs it: what it did, told by places and forces.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "appliance/sim/sim_run.hpp"

namespace {

using nlohmann::json;

ligature::Result<ligature::simulate::SimOutcome> simulated(const std::string& name, const char* knot_program,
                                                           std::vector<std::string> expect = {}) {
  setenv("LIGATURE_KNOT_PROGRAM", knot_program, 1);
  ligature::simulate::SimOptions options;
  options.scenario = std::string(LIGATURE_SOURCE_DIR) + "/config/scenarios/anastomosis/" + name + ".toml";
  options.expect = std::move(expect);
  return ligature::simulate::simulate(options);
}

json run(const std::string& name) {
  const auto outcome = simulated(name, LIGATURE_KNOT);
  if (!outcome) throw std::runtime_error(outcome.error().message);
  EXPECT_EQ(outcome->exit_code, 0) << outcome->complaint;
  json s = json::parse(outcome->summary);
  EXPECT_EQ(s["topology"]["changed"], false);
  EXPECT_EQ(s["topology"]["crossings_found"], 0);
  EXPECT_EQ(s["non_finite_resets"], 0);
  for (const json& end : s["tissue"]) EXPECT_LE(end["inverted_steps_in_a_row"], 1) << end["name"];
  return s;
}

TEST(Anastomosis, TheScriptedNeedleGoesThroughBothEndsAndTheThreadFollows) {
  const json s = run("stitch");
  EXPECT_EQ(s["forceps"]["grasps"], 2);

  // Along the thread: into the left end from outside, into its lumen; into the right end's wall from there, out of it.
  struct Hole {
    const char *tissue, *hole;
    double from_axis;  // outer radius 0.5, wall 0.1 [mm]
  };
  const Hole expected[] = {
      {"left end", "entry", 0.5}, {"left end", "exit", 0.4}, {"right end", "entry", 0.4}, {"right end", "exit", 0.5}};
  const json& holes = s["sutures"];
  ASSERT_EQ(holes.size(), 4u) << holes;
  double before = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    const json& hole = holes[k];
    EXPECT_EQ(hole["tissue"], expected[k].tissue) << k;
    EXPECT_EQ(hole["hole"], expected[k].hole) << k;
    EXPECT_FALSE(hole["left"]) << k;
    const double x = hole["place_mm"][0], y = hole["place_mm"][1], z = hole["place_mm"][2];
    EXPECT_NEAR(std::hypot(y, z - 2), expected[k].from_axis, 0.05) << k;
    EXPECT_NEAR(y, 0, 0.1) << k;
    EXPECT_NEAR(std::abs(x), 0.65, 0.3) << k;
    EXPECT_EQ(x > 0, k > 1) << k;
    EXPECT_GT(double(hole["s_mm"]), before) << k;
    before = hole["s_mm"];
  }
  // What the exercise makes of it: all but the knot.
  const json& steps = s["exercise"]["steps"];
  for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(steps[k]["passed"], true) << steps[k];
  EXPECT_EQ(steps[4]["passed"], false);
  EXPECT_TRUE(s["exercise"]["faults"].empty()) << s["exercise"]["faults"];

  // The needle, the last 3 mm of 23, is out, with thread behind it.
  EXPECT_LT(double(holes[3]["s_mm"]), 15);
}

TEST(Anastomosis, ANeedleThatIsLetFallIsBlamedOnceAndMayBePickedUpAgain) {
  const json s = run("drop")["exercise"];
  EXPECT_EQ(s["faults"], json({{"dropped", 1}}));
  EXPECT_EQ(s["state"], "running");
  EXPECT_EQ(s["steps"][0]["passed"], true);
  EXPECT_EQ(s["steps"][1]["passed"], false);
}

TEST(Anastomosis, AnExerciseWhoseKnotsNobodyNamesSaysSo) {
  const auto outcome = simulated("drop", "/nowhere/ligature-knot");
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->exit_code, 1);
  EXPECT_NE(outcome->complaint.find("nobody names the exercise's knots: /nowhere/ligature-knot"), std::string::npos)
      << outcome->complaint;
}

TEST(Anastomosis, AnExerciseThatIsAskedToBePassedAndIsNotIsExitOne) {
  const auto outcome = simulated("torn", LIGATURE_KNOT, {"passed"});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->exit_code, 1);
  EXPECT_NE(outcome->complaint.find("--expect passed: the exercise is failed at"), std::string::npos)
      << outcome->complaint;
  EXPECT_NE(outcome->complaint.find("wall torn"), std::string::npos) << outcome->complaint;
}

TEST(Anastomosis, HandsThatPullAtBothEndsTearTheWallAndEndTheExercise) {
  const json s = run("torn");
  EXPECT_EQ(s["exercise"]["faults"], json({{"torn", 1}}));
  EXPECT_EQ(s["exercise"]["state"], "failed");
  EXPECT_GT(double(s["exercise"]["hole_force_most_mn"]), 15);
  // Both ends are lifted by what the hands pull with; the thread stays in its four holes.
  EXPECT_EQ(s["forceps"]["releases"], 0);
  ASSERT_EQ(s["sutures"].size(), 4u);
  for (const json& hole : s["sutures"]) EXPECT_GT(double(hole["place_mm"][2]), 3.0) << hole;
}

// Its last curve is of free tails; until 0.4 s they are pulled, and the ends, 0.3 mm apart at rest, meet.
TEST(Anastomosis, AStitchDrawsTheEndsTogetherAndLetsThemGo) {
  ligature::simulate::SimOptions options;
  options.scenario = std::string(LIGATURE_SOURCE_DIR) + "/config/scenarios/tissue/vessel_ends.toml";
  const auto outcome = ligature::simulate::simulate(options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  const json s = json::parse(outcome->summary);
  EXPECT_EQ(outcome->exit_code, 0) << outcome->complaint;
  EXPECT_EQ(s["topology"]["changed"], false);
  EXPECT_EQ(s["topology"]["crossings_found"], 0);
  for (const json& end : s["tissue"]) {
    EXPECT_EQ(end["inverted_max"], 0);
    EXPECT_GT(double(end["tissue_gap_min_mm"]), 0.005) << "of the 0.01 mm that surfaces keep";
    EXPECT_LT(double(end["tissue_gap_min_mm"]), 0.011) << "they met";
    EXPECT_NEAR(double(end["tissue_gap_mm"]), 0.3, 0.01) << "they parted";
    EXPECT_LT(double(end["displacement_mm"]), 0.05);
  }
}

TEST(Anastomosis, AVesselEndIsPinchedAndLiftedInStepsThatAreWorkedToTheirEnd) {
  ligature::simulate::SimOptions options;
  options.scenario = std::string(LIGATURE_SOURCE_DIR) + "/config/scenarios/tissue/pinched.toml";
  const auto outcome = ligature::simulate::simulate(options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  const json s = json::parse(outcome->summary);
  EXPECT_EQ(outcome->exit_code, 0) << outcome->complaint;
  EXPECT_EQ(s["topology"]["crossings_found"], 0);
  EXPECT_LE(int(s["solver"]["steps_not_converged"]), int(s["steps"]) / 100);
  const json& vessel = s["tissue"][0];
  EXPECT_EQ(vessel["inverted_max"], 0);
  EXPECT_GT(double(vessel["displacement_max_mm"]), 0.3) << "it was lifted";
  EXPECT_LT(double(vessel["displacement_mm"]), 2e-3) << "let go it returns";
  EXPECT_TRUE(vessel["tissue_gap_mm"].is_null() && vessel["tissue_gap_min_mm"].is_null()) << "there is no other";
}

TEST(TissueFromAMesh, IsPressedByWhatTheThreadIsPulledWithAndComesBack) {
  ligature::simulate::SimOptions options;
  options.scenario = std::string(LIGATURE_SOURCE_DIR) + "/config/scenarios/tissue/pad.toml";
  const auto outcome = ligature::simulate::simulate(options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  const json s = json::parse(outcome->summary);
  EXPECT_EQ(outcome->exit_code, 0) << outcome->complaint;
  EXPECT_EQ(s["topology"]["changed"], false);
  const json& pad = s["tissue"][0];
  EXPECT_EQ(pad["inverted_max"], 0);
  EXPECT_GT(double(pad["displacement_max_mm"]), 0.01);
  EXPECT_LT(double(pad["displacement_mm"]), 0.1 * double(pad["displacement_max_mm"]));
}

}  // namespace
