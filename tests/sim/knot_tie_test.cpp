/// Two-thread ties: which hold, which open.
#include "tests/sim/knot_friction.hpp"

namespace ligature::world {
namespace {

TEST(ReefOfTenZero, HoldsItsLoad) {
  Knot knot(shipped_knot("reef_10_0"));
  knot.run_until(1.0);  // the load is full at 0.5 s
  const auto before = tails(knot);
  ASSERT_TRUE(before);
  knot.run_until(2.0);
  knot.print("reef 10-0");
  knot.expect_sound();
  const auto after = tails(knot);
  ASSERT_TRUE(after) << "still tied";
  for (std::size_t i : {0u, 1u}) {
    std::printf("tail %.3f mm, slid by %.4f diameters in the second after tightening\n", (*after)[i],
                ((*before)[i] - (*after)[i]) / knot.diameter());
    EXPECT_LT((*before)[i] - (*after)[i], knot.diameter());
  }
  EXPECT_LT(knot.penetration(), 0.02);
}

TEST(ReefOfTenZero, OpensWithoutFriction) {
  Knot knot(shipped_knot("reef_10_0_slippery"));
  const bool opened = knot.run_until(knot.scenario().duration_s, 20, [&] { return !tails(knot); });
  knot.print("reef 10-0 without friction");
  knot.expect_sound();
  EXPECT_TRUE(opened);
}

}  // namespace
}  // namespace ligature::world
