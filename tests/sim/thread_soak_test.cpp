// A million steps of random zigzags, in twenty parts that can each be started again by their first seed.
#include <cstdio>

#include "tests/sim/thread_zigzag.hpp"

namespace ligature::world {
namespace {

class Soak : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Soak, RandomZigzagsNeverGainEnergyAndComeToRest) {
  int steps = 0, rested = 0, not_converged = 0;
  std::uint64_t seed = GetParam();
  for (; steps < 50000; ++seed) {
    const Zigzag z = random_zigzag(seed);
    const ZigzagRun run = run_zigzag(z);
    steps += run.steps;
    not_converged += run.not_converged;
    EXPECT_TRUE(run.finite) << z.text << " step " << run.steps;
    EXPECT_LT(run.grew, 0) << z.text << " by " << run.growth;
    if (!z.may_rest) continue;
    ++rested;
    EXPECT_LT(run.speed, 1e-6) << z.text << ", lengths a step";
  }
  std::printf("%d steps, seeds %llu to %llu, %d with time to rest, %d steps not converged\n", steps,
              static_cast<unsigned long long>(GetParam()), static_cast<unsigned long long>(seed - 1), rested,
              not_converged);
}

INSTANTIATE_TEST_SUITE_P(Zigzag, Soak, testing::Range<std::uint64_t>(1000000, 1020000, 1000));

}  // namespace
}  // namespace ligature::world
