/// The torsion test of thesis 4.2.3, four times as fast as shipped.
#include "tests/sim/knot_scene.hpp"

namespace ligature::world {
namespace {

TEST(TorsionTest, ASoftThreadWindsRoundItselfAndTakesAllTurnsThatItsEndsMake) {
  constexpr double kFaster = 4, kTurned_s = 4;
  config::Scenario s = shipped_knot("torsion_thesis");
  double rate = 0;  // of both ends together [turns/s]
  for (ClampParams& c : s.params.threads[0].clamps) {
    c.spin_rad_per_s *= kFaster;
    rate += std::abs(c.spin_rad_per_s) / (2 * std::numbers::pi);
  }
  Knot knot(std::move(s));
  const auto link = [&] {
    const ThreadMeasure m = knot.world().measure(0, true);
    return m.twist_turns + m.writhe;
  };
  const double before = link();
  knot.run_until(kTurned_s);
  knot.print("torsion");
  knot.expect_sound();
  const ThreadMeasure m = knot.world().measure(0, true);
  std::printf("link %.3f of %.3f turns, writhe %.3f, longest edge %.2f of its rest length\n", link() - before,
              rate * kTurned_s, m.writhe, 1 + m.elongation_max);
  EXPECT_NEAR(link() - before, rate * kTurned_s, 0.05);
  EXPECT_GT(m.writhe, 0.85 * rate * kTurned_s);
  EXPECT_GT(knot.last().contacts, 5u);
  EXPECT_GT(m.elongation_max, 0.2) << "softer than what a cut-off step may stretch a thread by";
  EXPECT_LT(knot.penetration(), 0.02);
}

}  // namespace
}  // namespace ligature::world
