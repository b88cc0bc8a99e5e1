/// A coarse bracket of what knot_friction_soak measures: between the critical friction of a reef and that of a grief.
#include "tests/sim/knot_friction.hpp"

namespace ligature::world {
namespace {

TEST(TieFriction, AReefHoldsWhereAGriefOpens) {
  TieCase of;
  of.iterations = 50;
  EXPECT_FALSE(lower_friction("reef", of, {0.3}, 0.06).opens);
  EXPECT_TRUE(lower_friction("grief", of, {0.3}, 0.06).opens);
}

}  // namespace
}  // namespace ligature::world
