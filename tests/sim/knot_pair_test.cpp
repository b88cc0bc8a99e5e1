/// Two threads wound round each other: friction against wraps, the shortest of what knot_loose_soak measures.
#include "tests/sim/knot_pair.hpp"

namespace ligature::world {
namespace {

using Mode = ThreadParams::TwistMode;

TEST(TwistedPair, LogarithmOfTheTensionRatioIsThatOfTheLaw) {
  for (const int half_turns : {2, 4}) {
    const Pair p = draw_pair(half_turns, 0.5);
    EXPECT_NEAR(p.log_ratio, p.law, 0.1 * p.law) << half_turns;
    EXPECT_LT(std::abs(p.drift), 0.02 * p.log_ratio) << half_turns << ": all of it slides";
  }
}

// Turning by both, surfaces that touch at an angle follow any sliding: the strands screw apart.
TEST(TwistedPair, StrandsThatAreFreeToTurnHaveNoFriction) {
  const Pair p = draw_pair(2, 0.3, 0.1, 2.5, Mode::unknown);
  EXPECT_NEAR(p.log_ratio, 0, 0.03 * p.law);
}

}  // namespace
}  // namespace ligature::world
