/// The step of threads that touch themselves and each other, as its callers meet it: no memory taken, the same bits
/// whoever runs its parts, stages told in order.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "appliance/rt/executor.hpp"
#include "tests/sim/knot_scene.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::world {
namespace {

World tied(const std::string& name) {
  const config::Scenario s = shipped_knot(name);
  auto world = World::create(s.params, s.capacity);
  EXPECT_TRUE(world) << (world ? "" : world.error().message);
  return std::move(*world);
}

class StrandStep : public testing::TestWithParam<const char*> {};

TEST_P(StrandStep, TakesNoMemoryAndNoLock) {
  ASSERT_TRUE(guard::active());
  World world = tied(GetParam());
  std::uint32_t most = 0;
  guard::reset();
  {
    const guard::ForbidAlloc forbid("step");
    for (int k = 0; k < 8; ++k) most = std::max(most, world.step({}).contacts);
  }
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
  EXPECT_GT(most, 10u) << "the strands hardly touched";
}

TEST_P(StrandStep, HasTheSameBitsAtAnyWidth) {
  std::vector<std::uint64_t> hashes;
  for (const std::size_t width : {1u, 2u, 4u}) {
    std::vector<rt::ThreadSettings> workers(width - 1);
    auto pool = rt::PooledExecutor::create(workers);
    ASSERT_TRUE(pool) << pool.error().message;
    World world = tied(GetParam());
    world.use_executor(pool->get());
    std::uint32_t most = 0;
    for (int k = 0; k < 8; ++k) most = std::max(most, world.step({}).contacts);
    EXPECT_GT(most, 10u) << "the strands hardly touched";
    hashes.push_back(world.state_hash());
    world.use_executor(nullptr);
  }
  EXPECT_EQ(hashes[1], hashes[0]);
  EXPECT_EQ(hashes[2], hashes[0]);
}

TEST_P(StrandStep, TellsItsStagesInOrderOncePerLinearisation) {
  World world = tied(GetParam());
  std::vector<StepStage> seen;
  seen.reserve(4096);
  world.observe_stages(
      [](void* context, StepStage stage) noexcept { static_cast<std::vector<StepStage>*>(context)->push_back(stage); },
      &seen);
  const StepReport report = world.step({});
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.front(), StepStage::instruments);
  EXPECT_EQ(seen.back(), StepStage::finish);
  const auto times = [&](StepStage stage) {
    return static_cast<std::uint32_t>(std::count(seen.begin(), seen.end(), stage));
  };
  EXPECT_EQ(times(StepStage::instruments), 1u);
  EXPECT_EQ(times(StepStage::finish), 1u);
  EXPECT_GT(report.iterations, 1u);
  for (const StepStage stage : {StepStage::detect, StepStage::couple, StepStage::integrate, StepStage::continuous})
    EXPECT_GE(times(stage), report.iterations) << static_cast<int>(stage);
  EXPECT_GE(times(StepStage::solve), 1u);  // not where nothing was left to solve for
}

INSTANTIATE_TEST_SUITE_P(Knots, StrandStep, testing::Values("reef_02mm", "trefoil_tight"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace ligature::world
