/// Knots pulled tight: how short they can be, what they stay, and that they come to rest; and threads of different
/// thickness drawn into each other.
#include <numbers>

#include "tests/sim/knot_scene.hpp"
#include "tests/sim/thread_scene.hpp"

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

// Two hairpins of different threads, hooked in each other, drawn apart: where the thin one lies round the thick one
// it has as many contacts as it has vertices there, whichever comes first.
TEST(HookedLoops, AThinThreadLiesOnAThickOne) {
  constexpr double kThick = 0.2, kThin = 0.05, kApart = 0.6, kLegs = 4;
  const auto hairpin = [&](double apex, double back, bool flat) {
    std::vector<Vec3> x;
    const auto at = [&](double along, double aside) {
      x.push_back({apex + back * along, flat ? aside : 0, flat ? 0 : aside});
    };
    at(kLegs, kApart);
    for (int i = 0; i <= 40; ++i) {
      const double angle = std::numbers::pi * i / 40;
      at(kApart * (1 - std::sin(angle)), kApart * std::cos(angle));
    }
    at(kLegs, -kApart);
    return x;
  };
  for (const bool thick_first : {true, false}) {
    ThreadParams thick = nylon(hairpin(0, 1, true), kThick, 200, 3e-6),
                 thin = nylon(hairpin(kApart, -1, false), kThin, 400, 3e-6);
    WorldParams p = thread_world(0.005);
    p.solver.iterations = 50;
    p.solver.residual_target = 1e-7;
    p.friction.thread_thread = 0.3;
    for (const Place::Kind end : {Place::Kind::first, Place::Kind::last}) {
      thick.clamps.push_back(clamp_at(end, ClampParams::Hold::position));
      ForceParams load;
      load.at.kind = end;
      load.force = {-2e5, 0, 0};
      load.ramp_s = 0.3;
      thin.forces.push_back(load);
    }
    p.threads = thick_first ? std::vector{thick, thin} : std::vector{thin, thick};
    World world = make_world(p);
    double deepest = -1e9;
    for (int i = 1; i <= 100; ++i) {
      const StepReport r = world.step({});
      EXPECT_EQ(r.crossings_found, 0u) << i;
      if (i % 10 != 0) continue;
      const std::vector<Curve> curves{world.shape(0).x, world.shape(1).x};
      const double between = measure::nearest(curves, false, 100).distance;
      deepest = std::max(deepest, (0.5 * (kThick + kThin) - between) / (0.5 * kThin));
    }
    std::printf("%s first: %.3g of the thin one's radius deep\n", thick_first ? "thick" : "thin", deepest);
    EXPECT_LT(deepest, 0.05);
    EXPECT_GT(deepest, -0.05) << "they touch";
  }
}

}  // namespace
}  // namespace ligature::world
