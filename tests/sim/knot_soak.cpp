// A million steps of knots handled roughly: 1600 seeds of 625 steps, every seed a test of its own, so that one can be
// run alone. Most knots that are whipped come open after some hundred steps: hence many short ones. Not part of the
// check; docs/soak.md has the results. The check runs a hundredth: knot_handling_test.cpp.
//   LIGATURE_KNOT_SEEDS=FROM-TO (default 1024-2623)
#include <cstdio>
#include <cstdlib>

#include "tests/sim/knot_handling.hpp"

namespace ligature::world::knots {
namespace {

class KnotSoak : public testing::TestWithParam<std::uint64_t> {};

TEST_P(KnotSoak, NoStrandPassesThroughAnotherAndAllStaysFinite) {
  const Handling h = handling(GetParam(), 625);
  const Outcome out = handle(h);
  report(GetParam(), h, out);
  expect_nothing_lost(h, out);
  if (h.params.solver.iterations == 50) expect_to_follow(h, out);
}

testing::internal::ParamGenerator<std::uint64_t> seeds() {
  unsigned from = 1024, to = 2623;
  if (const char* of = std::getenv("LIGATURE_KNOT_SEEDS")) std::sscanf(of, "%u-%u", &from, &to);
  return testing::Range<std::uint64_t>(from, to + 1);
}

INSTANTIATE_TEST_SUITE_P(Seed, KnotSoak, seeds(), [](const auto& seed) { return std::to_string(seed.param); });

}  // namespace
}  // namespace ligature::world::knots
