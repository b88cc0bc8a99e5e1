/// A coarse bracket of what knot_friction_soak measures: between the critical friction of a reef and that of a grief.
#include "tests/sim/knot_friction.hpp"

namespace ligature::world {
namespace {

TEST(TieFriction, AReefHoldsWhereAGriefOpens) {
  EXPECT_FALSE(lower_friction("reef", {}, {0.3}, 0.15).opens);
  EXPECT_TRUE(lower_friction("grief", {}, {0.3}, 0.15).opens);
}

}  // namespace
}  // namespace ligature::world
