/// Theory of loose contact, checked against itself, and the shortest of what knot_loose_soak measures.
#include "tests/sim/knot_loose.hpp"

namespace ligature::world {
namespace {

TEST(Braid, BearsThePressureOfTheoryAndCrossesAtTheAngleThatNextOrderUses) {
  for (const int winding : {1, 2}) {
    const measure::Braid braid = measure::solve_braid(winding, winding == 1 ? 8 : 12, 400);
    std::printf("winding %d: sigma %.4f, slope %.4f\n", winding, braid.sigma, braid.slope);
    EXPECT_NEAR(braid.sigma, measure::kBraid[winding].sigma, 0.005 * braid.sigma);
    EXPECT_NEAR(braid.slope, measure::kBraid[winding].slope, 0.01 * braid.slope);
  }
}

TEST(LooseForce, OfNextOrderIsTheLeadingOneWithoutFrictionAndAsTheLoopGrows) {
  for (const int winding : {1, 2}) {
    EXPECT_NEAR(measure::loose_force_next(1e-3, 0, winding), 0.5e-6, 1e-12);
    double before = 1;
    for (const double h_over_r : {1e-4, 1e-6, 1e-8, 1e-10}) {
      const double off =
          measure::loose_force_next(h_over_r, 0.1, winding) / measure::loose_force_leading(h_over_r, 0.1, winding) - 1;
      EXPECT_GT(off, 0);
      EXPECT_LT(off, 0.45 * before);  // as the fourth root of h/R
      before = off;
    }
  }
}

TEST(LooseOverhand, TightenedWithLittleFrictionHasTheForceOfTheory) {
  for (const double friction : {0.0, 0.02}) {
    const Pulled p = pull({1, friction, true, 0.25});
    EXPECT_LT(p.h_over_r, 1e-3);
    EXPECT_NEAR(p.force, p.leading, 0.05 * p.leading) << "mu " << friction;
  }
}

}  // namespace
}  // namespace ligature::world
