/// Two-thread ties: which hold, which open.
#include <numbers>

#include "tests/sim/knot_scene.hpp"

namespace ligature::world {
namespace {

TEST(ReefOfTenZero, HoldsItsLoad) {
  Knot knot(shipped_knot("reef_10_0"));
  knot.run_until(1.0);  // the load is full at 0.5 s
  const double before[] = {knot.tail(0), knot.tail(1)};
  knot.run_until(2.0);
  knot.print("reef 10-0");
  knot.expect_sound();
  for (std::size_t i : {0u, 1u}) {
    std::printf("tail %.3f mm, slid by %.4f diameters in the second after tightening\n", knot.tail(i),
                (before[i] - knot.tail(i)) / knot.diameter());
    EXPECT_GT(knot.tail(i), knot.diameter()) << "still tied";
    EXPECT_LT(before[i] - knot.tail(i), knot.diameter());
  }
  EXPECT_LT(knot.penetration(), 0.02);
}

TEST(ReefOfTenZero, OpensWithoutFriction) {
  Knot knot(shipped_knot("reef_10_0_slippery"));
  const bool opened = knot.run_until(knot.scenario().duration_s, 20,
                                     [&] { return knot.tail(0) < knot.diameter() || knot.tail(1) < knot.diameter(); });
  knot.print("reef 10-0 without friction");
  knot.expect_sound();
  EXPECT_TRUE(opened);
}

}  // namespace
}  // namespace ligature::world
