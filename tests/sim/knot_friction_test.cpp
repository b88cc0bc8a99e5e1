/// Coarse brackets of what knot_friction_soak measures.
#include "tests/sim/knot_friction.hpp"

namespace ligature::world {
namespace {

TEST(TieFriction, AReefHoldsWhereAGrannySlidesAndAGriefDoesNotStayTied) {
  TieCase of;
  of.iterations = 50;
  const Trial reef = lower_friction("reef", of, {0.3}, 0.12), granny = lower_friction("granny", of, {0.3}, 0.12);
  EXPECT_TRUE(reef.tied && !reef.opens);
  EXPECT_TRUE(granny.tied && granny.opens);
  EXPECT_FALSE(lower_friction("grief", of, {0.3}, 0.06).tied) << "at " << of.high_friction;
}

// As long as strands cannot turn about their centrelines.
TEST(TieFriction, WithoutTheMomentOfFrictionAReefHoldsWhereAGriefSlides) {
  TieCase of;
  of.turned = false;
  of.iterations = 50;
  EXPECT_FALSE(lower_friction("reef", of, {0.3}, 0.06).opens);
  EXPECT_TRUE(lower_friction("grief", of, {0.3}, 0.06).opens);
}

}  // namespace
}  // namespace ligature::world
