#include "config/overlap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "config/scenario_file.hpp"
#include "sim/base/random.hpp"

namespace ligature::config {
namespace {

world::ThreadParams thread(std::vector<Vec3> points, bool closed = false) {
  world::ThreadParams t;
  t.points = std::move(points);
  t.diameter_mm = 1;
  t.closed = closed;
  return t;
}

TEST(SegmentDistance, IsTheLeastOverASampledGrid) {
  Random random(5);
  const auto point = [&] { return Vec3{random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1)}; };
  for (int i = 0; i < 200; ++i) {
    const Vec3 p0 = point(), p1 = i % 10 == 0 ? p0 : point(), q0 = point(), q1 = i % 15 == 0 ? q0 : point();
    double least = 1e9;
    constexpr int n = 60;
    for (int a = 0; a <= n; ++a)
      for (int b = 0; b <= n; ++b)
        least = std::min(least, norm((p0 + (1.0 * a / n) * (p1 - p0)) - (q0 + (1.0 * b / n) * (q1 - q0))));
    const double d = segment_distance(p0, p1, q0, q1);
    EXPECT_LE(d, least + 1e-12);
    // The grid misses the closest pair by at most half a cell on each segment.
    EXPECT_GE(d, least - 0.5 / n * (norm(p1 - p0) + norm(q1 - q0)) - 1e-12);
  }
}

TEST(Overlap, CrossingThreadsOverlapAndTouchingOnesDoNot) {
  const auto a = thread({{-10, 0, 0}, {10, 0, 0}});
  EXPECT_TRUE(first_overlap({a, thread({{0, -10, 0.9}, {0, 10, 0.9}})}));
  EXPECT_FALSE(first_overlap({a, thread({{0, -10, 1.0}, {0, 10, 1.0}})}));
  EXPECT_FALSE(first_overlap({a, thread({{20, -10, 0}, {20, 10, 0}})}));
  EXPECT_TRUE(first_overlap({a, thread({{10.5, 0, 0}, {20, 0, 0}})})) << "end to end";
}

TEST(Overlap, ACurveMayTurnButNotMeetItself) {
  EXPECT_FALSE(first_overlap({thread({{0, 0, 0}, {10, 0, 0}, {10, 10, 0}})}));
  EXPECT_TRUE(first_overlap({thread({{0, 0, 0}, {10, 0, 0}, {0, 0, 0.1}})})) << "folded back";
  EXPECT_TRUE(first_overlap({thread({{0, 0, 0}, {10, 0, 0}, {10, 5, 0}, {5, 5, 0}, {5, -5, 0}})})) << "loop in a plane";
  EXPECT_FALSE(first_overlap({thread({{0, 0, 0}, {10, 0, 0}, {10, 5, 2}, {5, 5, 2}, {5, -5, 2}})}))
      << "loop over itself";
  std::vector<Vec3> ring;
  for (int i = 0; i < 200; ++i) ring.push_back({5 * std::cos(0.01 * M_PI * i), 5 * std::sin(0.01 * M_PI * i), 0});
  EXPECT_FALSE(first_overlap({thread(ring, true)})) << "finer than its diameter, and closed";
}

TEST(Overlap, NeedlesAreLookedAtWhereTheyGoOn) {
  auto a = thread({{0, 0, 0}, {20, 0, 0}});
  a.segment_mm = 1;
  a.needle.emplace();
  a.needle->arc_mm = 6;
  a.needle->wire_mm = 2;
  a.needle->at_last = true;  // a straight wire from (20, 0, 0) to (26, 0, 0)
  const auto crossing = [](double x, double z) { return thread({{x, -5, z}, {x, 5, z}}); };
  const auto met = first_overlap({a, crossing(24, 1.4)});
  ASSERT_TRUE(met);
  EXPECT_TRUE(met->needle_a);
  EXPECT_FALSE(met->needle_b);
  EXPECT_FALSE(first_overlap({a, crossing(24, 1.6)}));
  EXPECT_FALSE(first_overlap({a, crossing(15, 1.4)})) << "the thread is thinner";
  EXPECT_FALSE(first_overlap({a, crossing(28, 0)}));
  auto b = a;
  std::reverse(b.points.begin(), b.points.end());
  b.needle->at_last = false;
  EXPECT_TRUE(first_overlap({b, crossing(24, 1.4)})->needle_a);
}

TEST(Overlap, ALongFineThreadIsLookedAtWholeWhicheverWayItRuns) {
  for (const Vec3 along : {Vec3{1, 0, 0}, Vec3{0, 1, 0}, Vec3{0, 0, 1}}) {
    const Vec3 across{along.z, along.x, along.y};
    std::vector<Vec3> fine;
    for (int i = 0; i <= 20000; ++i) fine.push_back(0.05 * i * along);
    const auto crossing = [&](double height) {
      const Vec3 up = height * Vec3{along.y, along.z, along.x};
      return thread({999.0 * along - 10.0 * across + up, 999.0 * along + 10.0 * across + up});
    };
    EXPECT_TRUE(first_overlap({thread(fine), crossing(0.9)}));
    EXPECT_FALSE(first_overlap({thread(fine), crossing(1.1)}));
  }
}

TEST(Overlap, TheScenarioSaysWhichThreadAndWhere) {
  const auto s = parse_scenario(
      "[[thread]]\nname = \"a\"\npoints_mm = [[-10,0,0],[10,0,0]]\n"
      "[[thread]]\nname = \"b\"\npoints_mm = [[0,-10,0.1],[0,10,0.1]]\n",
      "f.toml");
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().message,
            "f.toml:6: key 'thread.points_mm' is overlapping thread 'a' at point 0, must be clear of every thread at "
            "the start: move one of the two apart by their radii");
}

}  // namespace
}  // namespace ligature::config
