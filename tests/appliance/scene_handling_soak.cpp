// A million steps of forceps at random over the whole scene of the anastomosis: 1000 seeds of 1000 steps, every seed a
// test of its own, so that one can be run alone. From the start, with the needle in hand, with it in the first wall, or
// with the thread through both. Not part of the check; docs/soak.md has the results.
#include <cstdio>

#include "tests/appliance/scene_handling.hpp"

namespace ligature::world::handled {
namespace {

class SceneSoak : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SceneSoak, NothingPassesOrBreaks) {
  constexpr std::array kFrom_s{0.0, 1.0, 0.0, 1.0, 4.2, 0.0, 1.0, 0.0, 1.0, 8.0};
  const Case c{.seed = GetParam(), .script_s = kFrom_s[GetParam() % kFrom_s.size()], .steps = 1000, .step_ms = 0};
  const Outcome o = handle(c);
  report(c, o);
  expect_nothing_broken(o);
}

INSTANTIATE_TEST_SUITE_P(Seed, SceneSoak, testing::Range<std::uint64_t>(1000, 2000),
                         [](const auto& seed) { return std::to_string(seed.param); });

}  // namespace
}  // namespace ligature::world::handled
