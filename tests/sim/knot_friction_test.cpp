/// A coarse bracket of what knot_friction_soak bisects: between the critical friction of a reef and that of a grief.
#include "tests/sim/knot_friction.hpp"

namespace ligature::world {
namespace {

TEST(TieFriction, AReefHoldsWhereAGriefOpens) {
  EXPECT_FALSE(opens("reef", {}, 0.3));
  EXPECT_TRUE(opens("grief", {}, 0.3));
}

}  // namespace
}  // namespace ligature::world
