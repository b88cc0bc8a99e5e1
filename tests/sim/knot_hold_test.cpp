/// Knots under their load: a reef in 10-0 nylon for a minute, a clove hitch whose tail is free.
#include <array>

#include "tests/sim/knot_friction.hpp"

namespace ligature::world {
namespace {

// At the friction asked for, 0.25, it slides (knot_tie_test): it needs a little more.
TEST(ReefOfTenZero, AtAFrictionOf027HoldsItsLoadForAMinuteAndStandsStill) {
  config::Scenario s = shipped_knot("reef_10_0");
  s.params.friction.thread_thread = 0.27;
  Knot knot(std::move(s));
  knot.run_until(1.0);  // set, tails let go, in air from here on
  const auto set = tails(knot);
  ASSERT_TRUE(set);
  knot.run_until(10.0);
  const auto early = tails(knot);
  ASSERT_TRUE(early);
  knot.run_until(60.0);
  const auto late = tails(knot);
  ASSERT_TRUE(late);
  knot.print("reef 10-0 at 0.27");
  knot.expect_sound();
  for (std::size_t i : {0u, 1u}) {
    std::printf("slid by %.3f diameters in the first 10 s, by %.2g in the other 50\n",
                ((*set)[i] - (*early)[i]) / knot.diameter(), ((*early)[i] - (*late)[i]) / knot.diameter());
    EXPECT_LT((*set)[i] - (*late)[i], knot.diameter());
    EXPECT_LT((*early)[i] - (*late)[i], 1e-6 * knot.diameter()) << "creeps";
  }
  EXPECT_LT(knot.penetration(), 0.02);
  EXPECT_LT(knot.last().residual, 1e-6);
}

/// Where the loaded ends are, outwards [mm].
std::array<double, 2> loaded(Knot& knot) {
  return {-knot.world().shape(0).x.front().x, knot.world().shape(1).x.front().x};
}

/// By how many diameters the loaded ends go out in what is left of the run once it has been set, tails let go, in air.
std::array<double, 2> slid(config::Scenario s, double until) {
  Knot knot(std::move(s));
  knot.run_until(1.5);
  const std::array<double, 2> set = loaded(knot);
  knot.run_until(until);
  const std::array<double, 2> late = loaded(knot);
  knot.expect_sound();
  std::array<double, 2> out{};
  for (std::size_t i : {0u, 1u}) out[i] = (late[i] - set[i]) / knot.diameter();
  std::printf("slid by %.4f and %.4f diameters, residual %.1e\n", out[0], out[1], knot.last().residual);
  return out;
}

// Bent round its own diameter nylon does not come back: what holds is friction and the work of bending on.
TEST(ReefOfTenZero, ThatKeepsItsBendsHoldsAtTheFrictionAtWhichAnElasticOneSlides) {
  const config::Scenario kept = shipped_knot("reef_10_0_kept");
  ASSERT_EQ(kept.params.friction.thread_thread, 0.25);
  for (const double d : slid(kept, 60.0)) EXPECT_LT(std::abs(d), 0.01);
  config::Scenario elastic = kept, slippery = kept;
  for (ThreadParams& t : elastic.params.threads) t.yield_strain = 0;
  for (const double d : slid(elastic, 2.2)) EXPECT_GT(d, 2);
  slippery.params.friction.thread_thread = 0;
  for (const double d : slid(slippery, 1.8)) EXPECT_GT(d, 1) << "without friction it opens";
}

/// How far the loaded end of the hitch goes down between two times [diameters].
double run_out(config::Scenario s, double from, double until) {
  Knot knot(std::move(s));
  knot.run_until(from);
  const double before = knot.world().shape(0).x.front().z;
  knot.run_until(until);
  knot.expect_sound();
  const double out = (before - knot.world().shape(0).x.front().z) / knot.diameter();
  std::printf("runs out by %.4f diameters, residual %.1e\n", out, knot.last().residual);
  return out;
}

TEST(CloveHitch, DrawnTightHoldsItsLoadWithNothingOnItsTail) {
  const config::Scenario kept = shipped_knot("clove_hitch_02mm");
  const double let_go = kept.params.threads[0].forces[1].until_s;
  EXPECT_LT(std::abs(run_out(kept, let_go + 1, let_go + 2)), 0.01);
  config::Scenario slippery = kept;
  slippery.params.friction.thread_thread = slippery.params.friction.thread_obstacle = 0.05;
  EXPECT_GT(run_out(slippery, let_go, let_go + 0.1), 1);
}

}  // namespace
}  // namespace ligature::world
