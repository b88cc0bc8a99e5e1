// Knots handled roughly, a hundredth of the soak: 10^4 steps, and as many with two linearisations a step. First, that
// the look at it sees what it has to see.
#include <cstdio>

#include "tests/sim/knot_handling.hpp"

namespace ligature::world::knots {
namespace {

Line straight(Vec3 a, Vec3 b) {
  Line line;
  for (int i = 0; i <= 20; ++i) line.x.push_back(a + (i / 20.0) * (b - a));
  return line;
}

TEST(PassageLook, ProvesWhatMovesAsideAndSeesWhatPasses) {
  const Line rod = straight({-2, 0, 0}, {2, 0, 0});
  const auto across = [](double z) { return straight({0.1, -2, z}, {0.13, 2, z}); };
  const Look aside = look({rod, across(0.1)}, {rod, across(1.0)}, 0.1);
  EXPECT_EQ(aside.unproven, 0);
  const Look through = look({rod, across(0.1)}, {rod, across(-0.1)}, 0.1);
  EXPECT_GT(through.unproven, 0);
  EXPECT_GT(through.passed, 0);
}

TEST(PassageLook, SeesAFineThreadPassAtFullSpeed) {
  const Line rod = straight({-2, 0, 0}, {2, 0, 0});
  const auto across = [](double z) { return straight({0.1, -2, z}, {0.13, 2, z}); };
  EXPECT_GT(look({rod, across(0.5)}, {rod, across(-0.5)}, 0.025).passed, 0) << "40 diameters in a step";
}

TEST(PassageLook, DoesNotTakeATouchOfTheWayForAPassage) {
  // The straight way from before to after goes through the other thread, though both ends are on the same side of it.
  Line rod = straight({-2, 0, 0}, {2, 0, 0}), bent = straight({0.1, -2, 0.05}, {0.13, 2, 0.05}), after = bent;
  for (Vec3& v : bent.x) v.z -= 0.08 * std::exp(-4 * (v.y - 0.5) * (v.y - 0.5));
  for (Vec3& v : after.x) v.z -= 0.08 * std::exp(-4 * (v.y + 0.5) * (v.y + 0.5));
  EXPECT_EQ(look({rod, bent}, {rod, after}, 0.1).passed, 0);
}

TEST(PassageLook, SeesAThreadPassThroughItself) {
  Line loop;  // a full turn, its ends crossing with a distance
  for (int i = 0; i <= 60; ++i) {
    const double a = 2 * std::numbers::pi * (i / 60.0) * 1.2 - 0.2 * std::numbers::pi;
    loop.x.push_back({std::cos(a), std::sin(a), 0.2 * (i / 60.0 - 0.5)});
  }
  Line opened = loop, through = loop;
  for (std::size_t i = 0; i < loop.x.size(); ++i) {
    opened.x[i].z *= 1.5;
    through.x[i].z *= -0.5;
  }
  EXPECT_EQ(look({loop}, {opened}, 0.05).unproven, 0);
  EXPECT_GT(look({loop}, {through}, 0.05).unproven, 0);
}

class KnotHandling : public testing::TestWithParam<std::uint64_t> {};

TEST_P(KnotHandling, NoStrandPassesThroughAnotherAndAllStaysFinite) {
  const Handling h = handling(GetParam(), 625);
  const Outcome out = handle(h);
  report(GetParam(), h, out);
  expect_nothing_lost(h, out);
  if (h.params.solver.iterations == 50) expect_to_follow(h, out);
}

INSTANTIATE_TEST_SUITE_P(Seed, KnotHandling, testing::Range<std::uint64_t>(16, 32),
                         [](const auto& seed) { return std::to_string(seed.param); });
INSTANTIATE_TEST_SUITE_P(TwoLinearisations, KnotHandling, testing::Range<std::uint64_t>(112, 128),
                         [](const auto& seed) { return std::to_string(seed.param); });
// Where curves met that clearance did not see, contacts did not know of each other, or a thread that moved by itself
// folded up (docs/soak.md).
INSTANTIATE_TEST_SUITE_P(OnceLost, KnotHandling, testing::Values(1644, 2069, 2205, 2493, 2711, 4959),
                         [](const auto& seed) { return std::to_string(seed.param); });

}  // namespace
}  // namespace ligature::world::knots
