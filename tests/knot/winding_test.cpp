/// Where strands wind round each other, against crossings counted in views.
#include "sim/knot/winding.hpp"

#include <gtest/gtest.h>

#include <numbers>

#include "points.hpp"
#include "scenes.hpp"
#include "sim/knot/straightness.hpp"

namespace ligature::knot {
namespace {

constexpr double pi = std::numbers::pi;

/// Legs of two curves that cross, seen along a direction.
int crossings_along(const Curve& a, const Curve& b, Vec3 direction) {
  const auto side = [&](Vec3 p, Vec3 q, Vec3 r) { return dot(direction, cross(q - p, r - p)) > 0; };
  int seen = 0;
  for (std::size_t i = 0; i + 1 < a.size(); ++i)
    for (std::size_t j = 0; j + 1 < b.size(); ++j)
      seen += side(a[i], a[i + 1], b[j]) != side(a[i], a[i + 1], b[j + 1]) &&
                      side(b[j], b[j + 1], a[i]) != side(b[j], b[j + 1], a[i + 1])
                  ? 1
                  : 0;
  return seen;
}

Curve walk(Random& random, std::size_t points) {
  Curve out{random_direction(random)};
  while (out.size() < points) out.push_back(out.back() + random.uniform(0.05, 1) * random_direction(random));
  return out;
}

Curve circle(Vec3 centre, Vec3 x, Vec3 y, double turns, std::size_t legs, double rise = 0) {
  Curve out;
  for (std::size_t i = 0; i <= legs; ++i) {
    const double u = turns * static_cast<double>(i) / static_cast<double>(legs), a = 2 * pi * u;
    out.push_back(centre + std::cos(a) * x + std::sin(a) * y + (rise * u) * cross(x, y));
  }
  return out;
}

TEST(KnotWinding, IsWhatIsCountedInViews) {
  Random random(51);
  for (int round = 0; round < 6; ++round) {
    const Curve a = walk(random, 2 + random.next() % 12), b = walk(random, 2 + random.next() % 12);
    constexpr int kViews = 20000;
    double sum = 0, squares = 0;
    for (int k = 0; k < kViews; ++k) {
      const double n = crossings_along(a, b, random_direction(random));
      sum += n;
      squares += n * n;
    }
    const double mean = sum / kViews, spread = std::sqrt((squares / kViews - mean * mean) / kViews);
    EXPECT_NEAR(Winding(a, b).crossings(), mean, 4 * spread + 0.004) << round;  // far legs count as points
  }
}

TEST(KnotWinding, TwoLongLinesCrossOnce) {
  for (const double angle : {0.2, 1.0, 1.5})
    EXPECT_NEAR(crossings_seen({-1e4, 0, 0}, {1e4, 0, 0}, {-1e4 * std::cos(angle), -1e4 * std::sin(angle), 1},
                               {1e4 * std::cos(angle), 1e4 * std::sin(angle), 1}),
                1, 2e-3)
        << angle;
  EXPECT_EQ(crossings_seen({0, 0, 0}, {1, 0, 0}, {0, 0, 1}, {1, 0, 1}), 0);  // side by side
  EXPECT_EQ(crossings_seen({0, 0, 0}, {1, 0, 0}, {1, 0, 0}, {1, 1, 0}), 0);  // in one plane
}

TEST(KnotWinding, PlacesAreWhereItIsWhateverThePoints) {
  // A post of one leg, and three turns round its second quarter.
  const Curve post{{0, 0, 0}, {0, 0, 40}};
  for (const std::size_t legs : {30u, 300u, 3000u}) {
    Curve round = circle({0, 0, 9.25}, {1, 0, 0}, {0, 1, 0}, 3, legs, 0.5);
    round.insert(round.begin(), {1, -30, 9.25});
    round.push_back({1, 30, 10.75});
    const Winding w(post, round);
    const double z = 40 * w.place(0, 0.5);
    EXPECT_NEAR(z, 10, 0.2) << legs;
    EXPECT_NEAR(point_at(round, w.place(1, 0.5)).z, 10, 0.2) << legs;
    const auto [from, to] = w.core(0, 0.8);
    EXPECT_GT(40 * w.place(0, from), 7);
    EXPECT_LT(40 * w.place(0, to), 13);
    EXPECT_NEAR(to - from, 0.8, 0.05);
  }
}

TEST(KnotWinding, OfVeryManyPointsItLooksWhereTheyCross) {
  // Ten thousand points, and crossings within fifty of them.
  Curve a, b;
  for (int i = 0; i <= 10000; ++i) {
    const double x = 0.01 * (i - 7000), turned = std::clamp(x, -0.25, 0.25) * 12 * pi;  // three turns
    a.push_back({x, 0.02 * std::cos(turned), 0.02 * std::sin(turned)});
    b.push_back({x, -0.02 * std::cos(turned), -0.02 * std::sin(turned)});
  }
  const Winding w(a, b);
  for (std::size_t strand : {0u, 1u}) {
    EXPECT_NEAR(w.place(strand, 0.5), 7000, 3);
    EXPECT_NEAR(w.place(strand, 0.1), 6980, 8);
  }
}

TEST(KnotWinding, AThreadIsDividedWhereItStands) {
  Random random(52);
  for (const char* name : {"reef", "granny", "surgeon"})
    for (const double tail : {0.0, 20.0}) {
      const Curve left = scenario_points(name + std::string("_02mm_left"));
      const Curve right = scenario_points(name + std::string("_02mm_right"));
      Curve thread = reversed(left);
      if (tail > 0) thread.insert(thread.begin(), thread.front() + tail * random_direction(random));
      const std::size_t loop = thread.size();
      thread.push_back(left.front() + Vec3{0, -3, 0});
      thread.push_back(right.front() + Vec3{0, -3, 0});
      thread.insert(thread.end(), right.begin(), right.end());
      const double place = dividing_place(thread);
      // Within a twelfth of either strand (154 points) from the loop.
      EXPECT_GT(place, static_cast<double>(loop) - 12) << name << tail;
      EXPECT_LT(place, static_cast<double>(loop) + 13) << name << tail;
    }
}

}  // namespace
}  // namespace ligature::knot
