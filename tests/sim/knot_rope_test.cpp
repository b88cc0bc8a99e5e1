/// Knots pulled tight: how short they can be, what they stay, and that they come to rest.
#include <numbers>

#include "tests/sim/knot_scene.hpp"

namespace ligature::world {
namespace {

struct Rope {
  const char* scenario;
  double least;  ///< ropelength of the ideal knot, in diameters (ORACLES)
  long determinant;
};

class ClosedKnot : public testing::TestWithParam<Rope> {};

TEST_P(ClosedKnot, PulledTightIsNeverShorterThanItsIdealAndHardlyPenetrates) {
  Knot knot(shipped_knot(GetParam().scenario));
  double shortest = 1e300;
  knot.run_until(knot.scenario().duration_s, 20, [&] {
    shortest = std::min(shortest, measure::length(knot.curves()[0], true) / knot.diameter());
    return false;
  });
  knot.print(GetParam().scenario);
  const double penetration = knot.penetration();
  std::printf("length %.3f diameters at least, %.3f at the end, speed %.2g mm/s\n", shortest,
              measure::length(knot.curves()[0], true) / knot.diameter(), knot.speed());
  knot.expect_sound();
  EXPECT_EQ(measure::determinant(knot.curves()[0]), GetParam().determinant);
  EXPECT_GE(shortest, GetParam().least);
  EXPECT_LT(measure::length(knot.curves()[0], true) / knot.diameter(), 1.25 * GetParam().least) << "tight";
  EXPECT_LT(penetration, 0.02) << "of the radius, at rest";
}

INSTANTIATE_TEST_SUITE_P(Knot, ClosedKnot,
                         testing::Values(Rope{"trefoil_tight", 16.37, 3}, Rope{"figure_eight_tight", 21.04, 5}),
                         [](const auto& p) { return std::string(p.param.scenario); });

struct Open {
  const char* scenario;
  long determinant;
  Vec3 side;  ///< where its ends may be joined without crossing it
};

class OpenKnot : public testing::TestWithParam<Open> {};

TEST_P(OpenKnot, PulledTightStaysWhatItIsAndComesToRest) {
  Knot knot(shipped_knot(GetParam().scenario));
  knot.run_until(knot.scenario().duration_s);
  knot.print(GetParam().scenario);
  knot.expect_sound();
  const Curve c = knot.curves()[0];
  const std::size_t n = c.size();
  EXPECT_EQ(measure::determinant(measure::closed(c, c[0] - c[1], c[n - 1] - c[n - 2], GetParam().side)),
            GetParam().determinant);
  const auto used = measure::touching({c}, 0, 1.1 * knot.diameter(), 3 * knot.diameter());
  std::printf("takes %.2f diameters of thread from first to last touch, speed %.2g mm/s\n",
              (used.last - used.first) / knot.diameter(), knot.speed());
  EXPECT_LT(knot.penetration(), 0.02) << "of the radius, at rest";
  EXPECT_LT(knot.speed() * knot.scenario().params.step_s, 1e-4 * knot.diameter()) << "at rest";
}

INSTANTIATE_TEST_SUITE_P(Knot, OpenKnot,
                         testing::Values(Open{"overhand_02mm", 3, {0, -1, 0}},
                                         Open{"double_overhand_02mm", 5, {0, -1, 0}},
                                         Open{"figure_eight_02mm", 5, {1, 0, 0}}),
                         [](const auto& p) { return std::string(p.param.scenario); });

}  // namespace
}  // namespace ligature::world
