/// The shipped scenarios of threads and obstacles: each must show what its first line claims.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "appliance/sim/sim_run.hpp"
#include "tests/config/temp_dir.hpp"

namespace {

using nlohmann::json;

json run(const std::string& name) {
  const ligature::config::test::TempDir dir;
  ligature::simulate::SimOptions options;
  options.scenario = std::filesystem::path(LIGATURE_SOURCE_DIR) / "config/scenarios/contact" / (name + ".toml");
  options.out = dir.path();
  const auto outcome = ligature::simulate::simulate(options);
  EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error().message);
  if (!outcome) return {};
  EXPECT_EQ(outcome->exit_code, 0) << outcome->complaint;
  json summary = json::parse(outcome->summary);
  EXPECT_FALSE(summary["topology"]["changed"]);
  EXPECT_EQ(summary["contacts"]["overflow"], 0);
  return summary;
}

double pull(const json& summary) {
  const json& f = summary["clamps"][0]["reaction_mn"];
  return std::hypot(f[0].get<double>(), f[1].get<double>(), f[2].get<double>());
}

TEST(ContactScenario, CapstanHoldsBackByTheExponentialOfTheAngle) {
  EXPECT_NEAR(pull(run("capstan_half_turn")) / (1.868 * 200), 1, 0.02);
  EXPECT_NEAR(pull(run("capstan_full_turn")) / (3.495 * 200), 1, 0.02);
}

TEST(ContactScenario, AFastThinWireTakesTheThreadAlong) {
  const json summary = run("moving_post");
  EXPECT_GT(summary["contacts"]["max"], 0);
  EXPECT_LT(summary["threads"][0]["last_mm"][2], 0.55) << "its ends follow";
}

TEST(ContactScenario, AThreadStaysInTheRingThatMoves) {
  const json summary = run("ring_pulled_aside");
  EXPECT_GT(summary["contacts"]["last"], 0);
  EXPECT_LT(summary["clamps"][0]["reaction_mn"][2], -2) << "the ring pulls sideways";
}

}  // namespace
