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

// Strands that bend within their own radius lie round each other, so that no place is nearer than another. Steps ended
// with a tenth of the load out of balance there.
TEST(TieFriction, ALimpReefPulledTightConverges) {
  TieCase of;
  of.tension = 1;
  of.turned = false;
  const config::Scenario s = scenario_of("reef", of, {});
  Knot knot(s);
  knot.run_until(0.2);
  int unconverged = 0;
  const int steps = knot.steps();
  while (knot.world().time_s() < 0.3) {
    knot.run_until(knot.world().time_s() + s.params.step_s);
    unconverged += (knot.last().flags & step_not_converged) != 0;
    EXPECT_LT(knot.last().residual, 1e-4);
  }
  EXPECT_LT(unconverged, (knot.steps() - steps) / 4);
  EXPECT_LT(knot.penetration(), 0.02);
  knot.expect_sound();
}

}  // namespace
}  // namespace ligature::world
