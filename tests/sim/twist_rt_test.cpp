#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "sim/rod/twist.hpp"
#include "sim/rod/writhe.hpp"
#include "tests/sim/curves.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::rod {
namespace {

TEST(TwistRt, NothingAfterCreationAllocates) {
  std::mt19937 random(11);
  for (bool closed : {false, true}) {
    const Points x = ring(30), y = Warp(random, 0.3)(x, 1.0), far = random_points(random, 30);
    Twist start(x, closed, 3), twist = start;
    double sum = 0;
    guard::reset();
    {
      const guard::ForbidAlloc forbid;
      start.restart(x);
      start.insert(2.0);
      start.hold_edge(5);
      start.set_edge_director(5, Vector3d::UnitZ());
      for (std::size_t v : {0u, 10u, 29u, 20u}) start.hold_frame(v);
      start.set_frame(10, Vector3d::UnitX(), Vector3d::UnitY());
      for (const Points* to : {&y, &far, &x}) {
        twist.carry(start, *to);
        twist.carry(twist, *to);
        twist.find_spans(1.0);
        twist.spread();
        sum += twist.turns() + link_turns(twist, *to) + twist.frame_material(0).d1.x() + twist.material(3).d2.y();
      }
      twist.release_edge(5);
      twist.release_frame(10);
      StateHash hash;
      twist.add_to(hash);
    }
    ASSERT_TRUE(guard::active());
    EXPECT_EQ(guard::violations(), 0u) << guard::report();
    EXPECT_TRUE(std::isfinite(sum));
  }
}

}  // namespace
}  // namespace ligature::rod
