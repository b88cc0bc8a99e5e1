/// Two threads wound round each other: friction against wraps, the shortest of what knot_loose_soak measures.
#include "tests/sim/knot_pair.hpp"

namespace ligature::world {
namespace {

TEST(TwistedPair, LogarithmOfTheTensionRatioIsThatOfTheLaw) {
  for (const int half_turns : {2, 4}) {
    const Pair p = draw_pair(half_turns, 0.5);
    EXPECT_NEAR(p.log_ratio, p.law, 0.1 * p.law) << half_turns;
    EXPECT_LT(std::abs(p.drift), 0.02 * p.log_ratio) << half_turns << ": all of it slides";
  }
}

}  // namespace
}  // namespace ligature::world
