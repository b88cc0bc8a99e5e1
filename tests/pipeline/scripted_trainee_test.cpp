/// The scripted trainee through cameras: trembling hands that four cameras see stitch, tie and cut, as profile
/// anastomosis has it; without pictures.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "appliance/run/replay.hpp"
#include "appliance/run/session.hpp"
#include "config/profile_file.hpp"

namespace ligature::appliance {
namespace {

using nlohmann::json;

class ScriptedTrainee : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() / fmt::format("ligature_trainee_{}", getpid());
    std::filesystem::create_directories(directory_);
    setenv("LIGATURE_KNOT_PROGRAM", LIGATURE_KNOT, 1);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path directory_;
};

TEST_F(ScriptedTrainee, TiesAReefThroughCamerasWithTremblingHands) {
  auto profile = config::load_profile(std::filesystem::path(LIGATURE_SOURCE_DIR) / "config/profiles/anastomosis.toml");
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_GT(profile->virtual_rig.tremor_um, 40);
  EXPECT_TRUE(profile->tracking.filter);
  profile->render.presenter = config::RenderSettings::Presenter::none;
  profile->output.video = false;
  RunOptions options;
  options.profile = *profile;
  options.out = directory_ / "session";
  options.instance_lock = directory_ / "instance.lock";
  const auto outcome = run_session(options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  const json report = json::parse(outcome->report);
  const json& exercise = report["exercise"];
  std::printf("%s\n", exercise.dump(1).c_str());
  EXPECT_EQ(exercise["state"], "passed");
  EXPECT_EQ(exercise["throws"], "1=1");
  EXPECT_TRUE(exercise["faults"].empty());
  EXPECT_LT(exercise["gap_at_end_mm"].get<double>(), 0.1);
  EXPECT_EQ(report["topology"]["crossings_found"].get<int>(), 0);
  EXPECT_EQ(report["non_finite_resets"].get<int>(), 0);
  // What the eye moved is in the samples, as what any hand does.
  const auto replayed = replay_session(options.out);
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_EQ(fmt::format("{:016x}", replayed->state_hash), report["state_hash"]);
}

}  // namespace
}  // namespace ligature::appliance
