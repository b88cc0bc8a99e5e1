// Two turns round a post, up to where the pull is 150 times what holds back: too long for the check, which has one and
// a half.
#include <gtest/gtest.h>

#include <algorithm>

#include "capstan_scene.hpp"

namespace ligature::world {
namespace {

class TwoTurns : public testing::TestWithParam<double> {};

TEST_P(TwoTurns, HoldBackByTheExponentialOfTheAngle) {
  Capstan c;
  c.friction = GetParam();
  c.turn = 4 * std::numbers::pi;
  c.segment_mm = 0.2;
  c.speed_mm_per_s = 5;
  c.drag = 0.2;
  // The tight end must not stretch by more than some tenths.
  c.load = std::min(2e5, 4e6 * std::exp(-c.friction * c.turn));
  WorldParams p = c.scene();
  p.solver.iterations = 40;
  World world = make_world(p);
  double force = 0;
  int unconverged = 0;
  for (int k = 0; k < 160; ++k) {
    if (world.step({}).flags & step_not_converged) ++unconverged;
    if (k >= 150) force += norm(world.clamps()[0].force) / 10;
  }
  std::printf("friction %.2f: %.4f of theory, %d steps unconverged\n", c.friction, force / c.load / c.ratio(),
              unconverged);
  EXPECT_EQ(unconverged, 0);
  EXPECT_NEAR(force / c.load / c.ratio(), 1, 0.02);
}

INSTANTIATE_TEST_SUITE_P(Capstan, TwoTurns, testing::Values(0.05, 0.2, 0.3, 0.4));

}  // namespace
}  // namespace ligature::world
