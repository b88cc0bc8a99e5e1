// Link over 10^5 steps of rough handling, for an open thread and for a ring: ten seeds of 10^4 steps each, every seed a
// test of its own, so that one can be run alone. Not part of the check; docs/soak.md has the results.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>

#include "tests/sim/thread_link.hpp"

namespace ligature::world::link {
namespace {

constexpr int kSteps = 10000;

// Seeds go through both ways to treat twist, and (in the handling) through both ways to move.
ThreadParams::TwistMode mode_of(std::uint64_t seed) {
  return seed % 4 < 2 ? ThreadParams::TwistMode::quasi_static : ThreadParams::TwistMode::unknown;
}

void report(const char* what, std::uint64_t seed, const Outcome& out) {
  std::printf(
      "%s, seed %2d: link off by %.1e turns at most, writhe up to %.2f, twist up to %.2f, %d steps not proven "
      "free of passages, %d not converged, %d limited\n",
      what, static_cast<int>(seed), out.worst, out.most_writhe, out.most_twist, out.passages, out.not_converged,
      out.limited);
  expect_kept(out);
}

class LinkSoak : public testing::TestWithParam<std::uint64_t> {};

TEST_P(LinkSoak, OpenThreadHandledRoughlyFollowsItsEndFrames) {
  report("open", GetParam(), handle(open_handling(GetParam(), kSteps, mode_of(GetParam()))));
}

TEST_P(LinkSoak, RingHandledRoughlyKeepsIt) {
  report("ring", GetParam(), handle(ring_handling(GetParam(), kSteps, mode_of(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(Seed, LinkSoak, testing::Range<std::uint64_t>(1, 11),
                         [](const auto& seed) { return std::to_string(seed.param); });

}  // namespace
}  // namespace ligature::world::link
