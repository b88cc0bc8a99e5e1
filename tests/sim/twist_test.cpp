#include "sim/rod/twist.hpp"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "sim/rod/writhe.hpp"
#include "tests/sim/curves.hpp"

namespace ligature::rod {
namespace {

void expect_spread_evenly(const Twist& twist, double rest_length) {
  for (std::size_t v = 0; v < twist.vertices(); ++v)
    for (int h = 0; h < 2; ++h) {
      const std::size_t s = twist.span_of(2 * v + static_cast<std::size_t>(h));
      const double rate = s < twist.span_count() ? twist.span(s).angle / twist.span(s).length : 0.0;
      const double half = twist.frame_held(v) ? twist.half_joint(v, h) : 0.5 * twist.joint(v);
      EXPECT_NEAR(half, 0.5 * rate * rest_length, 1e-11) << v << " " << h;
    }
}

TEST(Twist, StartsWithoutTwist) {
  std::mt19937 random(1);
  Points x = ring(40);
  for (Vector3d& p : x) p += 0.1 * random_vector(random);
  for (bool closed : {false, true}) {
    Twist twist(x, closed, 2);
    EXPECT_NEAR(twist.turns(), 0.0, 1e-14);
    twist.find_spans(0.1);
    twist.spread();
    for (std::size_t i = 0; i < 40; ++i) EXPECT_NEAR(twist.joint(i), 0.0, 1e-13);
  }
}

TEST(Twist, RightHandedIsPositive) {
  Twist twist(straight(11), false, 2);
  ASSERT_TRUE(twist.hold_frame(0));
  ASSERT_TRUE(twist.hold_frame(10));
  const Directors d = twist.frame_material(10);
  twist.set_frame(10, Vector3d::UnitX(), std::cos(0.5) * d.d1 + std::sin(0.5) * d.d2);
  twist.find_spans(1.0);
  twist.spread();
  ASSERT_EQ(twist.span_count(), 1u);
  EXPECT_EQ(twist.span(0).first, 1u);
  EXPECT_EQ(twist.span(0).last, 20u);
  EXPECT_NEAR(twist.span(0).angle, 0.5, 1e-14);
  EXPECT_NEAR(twist.span(0).length, 10.0, 1e-14);
  EXPECT_NEAR(twist.half_joint(0, 1), 0.025, 1e-14);
  EXPECT_NEAR(twist.joint(5), 0.05, 1e-14);
  EXPECT_NEAR(twist.half_joint(10, 0), 0.025, 1e-14);
  EXPECT_EQ(twist.half_joint(10, 1), 0.0);
}

TEST(Twist, InsertedTurnsStayBetweenHeldEnds) {
  Twist twist(straight(21), false, 2);
  twist.insert(-3.7);
  twist.hold_frame(0);
  twist.hold_frame(20);
  EXPECT_NEAR(twist.turns(), -3.7, 1e-13);
  twist.find_spans(1.0);
  twist.spread();
  EXPECT_NEAR(twist.turns(), -3.7, 1e-13);
  expect_spread_evenly(twist, 1.0);
}

TEST(Twist, FreeEndLetsGo) {
  Twist twist(straight(21), false, 2);
  twist.insert(2.0);
  twist.hold_frame(7);
  twist.find_spans(1.0);
  EXPECT_EQ(twist.span_count(), 0u);
  twist.spread();
  for (std::size_t i = 0; i < 21; ++i) EXPECT_NEAR(twist.joint(i), 0.0, 1e-13);
  EXPECT_NEAR(twist.half_joint(7, 0), 0.0, 1e-13);
  twist.release_frame(7);
  EXPECT_FALSE(twist.any_held());
  twist.find_spans(1.0);
  twist.spread();
  EXPECT_NEAR(twist.turns(), 0.0, 1e-13);
}

TEST(Twist, ClosedThreadKeepsAnyNumberOfInsertedTurns) {
  for (double turns : {0.25, -1.0, 17.3}) {
    Twist twist(ring(30), true, 3);
    twist.insert(turns);
    EXPECT_NEAR(twist.turns(), turns, 1e-13);
    twist.find_spans(0.2);
    ASSERT_EQ(twist.span_count(), 1u);
    EXPECT_EQ(twist.span(0).first, 0u);
    EXPECT_EQ(twist.span(0).last, 59u);
    EXPECT_NEAR(twist.span(0).length, 6.0, 1e-13);
    EXPECT_NEAR(twist.span(0).angle, 2 * pi * turns, 1e-12);
    twist.spread();
    expect_spread_evenly(twist, 0.2);
    // Holding changes nothing, wherever it is, the seam included.
    for (std::size_t v : {0u, 7u, 29u}) {
      ASSERT_TRUE(twist.hold_frame(v));
      EXPECT_NEAR(twist.half_joint(v, 0), pi * turns / 30, 1e-13);
      EXPECT_NEAR(twist.half_joint(v, 1), pi * turns / 30, 1e-13);
      twist.find_spans(0.2);
      twist.spread();
      expect_spread_evenly(twist, 0.2);
      EXPECT_NEAR(twist.turns(), turns, 1e-13);
    }
    EXPECT_FALSE(twist.hold_frame(3));
    for (std::size_t v : {0u, 7u, 29u}) twist.release_frame(v);
    EXPECT_NEAR(twist.turns(), turns, 1e-13);
  }
}

TEST(Twist, SpansLieBetweenAllConsecutiveHolders) {
  Twist twist(ring(12), true, 4);
  twist.insert(1.5);
  twist.hold_frame(2);
  twist.find_spans(1.0);
  ASSERT_EQ(twist.span_count(), 1u);
  EXPECT_EQ(twist.span(0).first, 5u);
  EXPECT_EQ(twist.span(0).last, 28u);
  EXPECT_EQ(twist.span_of(4), 0u);
  twist.hold_edge(2);
  twist.hold_edge(11);
  twist.find_spans(1.0);
  ASSERT_EQ(twist.span_count(), 3u);
  EXPECT_EQ(twist.span(0).first, 5u);
  EXPECT_EQ(twist.span(0).last, 5u);
  EXPECT_EQ(twist.span(1).first, 6u);
  EXPECT_EQ(twist.span(1).last, 23u);
  EXPECT_EQ(twist.span(2).first, 0u);
  EXPECT_EQ(twist.span(2).last, 4u);
  EXPECT_NEAR(twist.span(2).length, 2.5, 1e-14);
  double angle = 0, length = 0;
  for (std::size_t s = 0; s < 3; ++s) angle += twist.span(s).angle, length += twist.span(s).length;
  EXPECT_NEAR(angle, 3 * pi, 1e-13);
  EXPECT_NEAR(length, 12.0, 1e-13);
  twist.release_frame(2);
  twist.release_edge(2);
  twist.find_spans(1.0);
  ASSERT_EQ(twist.span_count(), 1u);
  EXPECT_EQ(twist.span(0).first, 0u);
  EXPECT_EQ(twist.span(0).last, 23u);
}

// Any choice of holds: the spans tile what lies between holders, spread() realises them, and find_spans() finds them
// again.
TEST(Twist, SpreadRealisesTheSpansForRandomHolds) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    const bool closed = trial % 2;
    const std::size_t n = 3 + random() % 9;
    Points x;
    for (std::size_t i = 0; i < n; ++i) x.push_back(random_vector(random));
    Twist twist(x, closed, n);
    if (trial % 3) twist.insert(0.1 * static_cast<double>(random() % 100));
    const unsigned frames = static_cast<unsigned>(random()),
                   holds = static_cast<unsigned>(random()) & static_cast<unsigned>(random());
    for (std::size_t i = 0; i < n; ++i) {
      if (frames >> i & frames >> (i + 12) & 1u) twist.hold_frame(i);
      if (i < twist.edges() && (holds >> i & 1u)) twist.hold_edge(i);
    }
    std::size_t holders = 0;
    for (std::size_t i = 0; i < n; ++i)
      holders += std::size_t(twist.frame_held(i)) + std::size_t(i < twist.edges() && twist.edge_held(i));
    for (int again = 0; again < 2; ++again) {
      const double before = twist.turns();
      twist.find_spans(0.3);
      twist.spread();
      if (closed) {
        EXPECT_EQ(twist.span_count(), std::max<std::size_t>(holders, 1));
        EXPECT_NEAR(twist.turns(), before, 1e-12);
      } else {
        EXPECT_EQ(twist.span_count(), holders ? holders - 1 : 0);
      }
      expect_spread_evenly(twist, 0.3);
      double angle = 0;
      for (std::size_t s = 0; s < twist.span_count(); ++s) angle += twist.span(s).angle;
      EXPECT_NEAR(twist.turns(), angle / (2 * pi), 1e-12);
    }
  }
}

TEST(Twist, SpunEndAddsExactlyItsTurns) {
  std::mt19937 random(4);
  Points x = straight(15);
  for (Vector3d& p : x) p += 0.2 * random_vector(random);
  Twist twist(x, false, 2);
  twist.hold_frame(0);
  twist.hold_frame(14);
  const Vector3d t = twist.frame_tangent(14);
  const Directors d = twist.frame_material(14);
  const double start = twist.turns();
  const double step = 0.49;  // of a turn: just below half a turn in each call
  const auto spin_to = [&](double turns) {
    twist.set_frame(14, t, std::cos(2 * pi * turns) * d.d1 + std::sin(2 * pi * turns) * d.d2);
    twist.find_spans(1.0);
    twist.spread();
    EXPECT_NEAR(twist.turns() - start, turns, 1e-12);
  };
  double turns = 0;
  while (turns < 25.5) spin_to(turns = std::min(25.5, turns + step));
  while (turns > 0) spin_to(turns = std::max(0.0, turns - step));
  EXPECT_NEAR(twist.turns(), start, 1e-14);
  expect_spread_evenly(twist, 1.0);
}

TEST(Twist, HeldEdgeTurnsTheSameWay) {
  Twist twist(straight(11), false, 0);
  EXPECT_FALSE(twist.hold_frame(0));
  twist.hold_edge(0);
  twist.hold_edge(6);
  for (int k = 1; k <= 100; ++k) {
    const double a = 0.4 * k;
    const Vector3d d = twist.material(0).d1, e = Vector3d::UnitX().cross(d);
    twist.set_edge_director(6, std::cos(a) * d + std::sin(a) * e);
    twist.find_spans(1.0);
    twist.spread();
    EXPECT_NEAR(twist.span(0).angle, a, 1e-12);
    EXPECT_NEAR(twist.joint(3), a / 6, 1e-12);
    EXPECT_NEAR(twist.joint(7), 0.0, 1e-12);
  }
}

TEST(Twist, FramesAsUnknownsNeedNoSpread) {
  Twist twist(straight(4), false, 2);
  twist.hold_frame(0);
  twist.hold_frame(3);
  twist.set_theta(0, 0.1);
  twist.set_theta(1, 0.4);
  twist.set_theta(2, 9.0);
  EXPECT_NEAR(twist.half_joint(0, 1), 0.1, 1e-14);
  EXPECT_NEAR(twist.joint(1), 0.3, 1e-14);
  EXPECT_NEAR(twist.joint(2), 8.6, 1e-14);
  EXPECT_NEAR(twist.half_joint(3, 0), -9.0, 1e-14);
  EXPECT_NEAR(twist.turns(), 0.0, 1e-14);
}

TEST(Twist, CapturedEndTangentGoesOnAlongTheArc) {
  const Points x = ring(24);  // taken as open: an arc of a circle
  Twist twist(x, false, 2);
  twist.hold_frame(0);
  twist.hold_frame(23);
  EXPECT_LT((twist.frame_tangent(0) - Vector3d(-x[0].y(), x[0].x(), 0)).norm(), 1e-14);
  EXPECT_LT((twist.frame_tangent(23) - Vector3d(-x[23].y(), x[23].x(), 0)).norm(), 1e-14);
  // A joint that turns by 120 degrees says nothing about the tangent beyond the end.
  Twist sharp(ring(3), false, 2);
  sharp.hold_frame(0);
  EXPECT_EQ((sharp.frame_tangent(0) - sharp.tangent(0)).norm(), 0.0);
}

TEST(Twist, CarryingFromOneStartIsAFunctionOfThePlaceOnly) {
  std::mt19937 random(5);
  Points x = ring(20);
  Twist start(x, true, 2);
  start.insert(0.7);
  start.hold_frame(3);
  start.hold_edge(9);
  start.find_spans(0.1);
  start.spread();
  const Points end = Warp(random, 0.3)(x, 1.0);
  Twist a = start, b = start, c = start;
  a.carry(start, end);
  for (int k = 0; k < 50; ++k) b.carry(start, Warp(random, 0.5)(x, 1.0));
  b.carry(start, end);
  c.carry(c, end);
  StateHash ha, hb, hc, hs;
  a.add_to(ha);
  b.add_to(hb);
  c.add_to(hc);
  start.add_to(hs);
  EXPECT_EQ(ha.value(), hb.value());
  EXPECT_EQ(ha.value(), hc.value());
  EXPECT_NE(ha.value(), hs.value());
}

// d(angle) = sum of kb/2 (de/|e| + df/|f|) [Bergou 2008] eq. 10: what the step turns into forces.
TEST(Twist, AngleOfASpanChangesByTheHolonomy) {
  std::mt19937 random(10);
  for (bool closed : {false, true}) {
    const Points x = random_points(random, 9);
    Twist start(x, closed, 3);
    for (std::size_t v : {0u, 4u, 8u}) start.hold_frame(v);
    start.set_frame(4, random_vector(random).normalized(), random_vector(random));
    start.find_spans(1.0);
    std::vector<double> slope(start.span_count(), 0.0);
    const Points way = random_points(random, 9);
    const auto edge = [&](const Points& p, std::size_t i) { return Vector3d(p[(i + 1) % 9] - p[i]); };
    for (std::size_t v = 0; v < 9; ++v) {
      const std::size_t before = v > 0 ? v - 1 : 8;
      if (start.frame_held(v)) {
        const Vector3d& t = start.frame_tangent(v);
        if (closed || v > 0)
          slope[start.span_of(2 * v)] += holonomy(edge(x, before), t).gradient_e.dot(edge(way, before));
        if (closed || v < 8) slope[start.span_of(2 * v + 1)] += holonomy(t, edge(x, v)).gradient_f.dot(edge(way, v));
      } else {
        const VertexTerm turn = holonomy(edge(x, before), edge(x, v));
        slope[start.span_of(2 * v)] += turn.gradient_e.dot(edge(way, before)) + turn.gradient_f.dot(edge(way, v));
      }
    }
    const double h = 1e-5;
    Points forth = x, back = x;
    for (std::size_t v = 0; v < 9; ++v) forth[v] += h * way[v], back[v] -= h * way[v];
    Twist a = start, b = start;
    a.carry(start, forth);
    a.find_spans(1.0);
    b.carry(start, back);
    b.find_spans(1.0);
    ASSERT_EQ(start.span_count(), closed ? 3u : 2u);
    for (std::size_t s = 0; s < start.span_count(); ++s)
      EXPECT_NEAR((a.span(s).angle - b.span(s).angle) / (2 * h), slope[s], 1e-6 * (1 + std::abs(slope[s])));
  }
}

// New vertices come in the middle of edges, everything moves and comes back, and they go again.
TEST(Twist, DividedAndJoinedAgainIsWhatItWas) {
  std::mt19937 random(5);
  constexpr std::uint32_t kNew = Twist::new_vertex;
  for (const bool closed : {false, true})
    for (int round = 0; round < 40; ++round) {
      Points x = ring(24);
      for (Vector3d& p : x) p += 0.05 * random_vector(random);
      Twist start(x, closed, 3);
      start.reserve(48);
      start.insert(1.7);
      start.hold_edge(9);
      for (const std::size_t v : {0u, 14u}) start.hold_frame(v);
      if (!closed) start.hold_frame(23);
      start.find_spans(1.0);
      start.spread();
      std::vector<std::uint32_t> was;
      Points more;
      for (std::uint32_t v = 0; v < 24; ++v) {
        was.push_back(v);
        more.push_back(x[v]);
        if (v >= start.edges() || v == 9 || random() % 2 == 0) continue;
        was.push_back(kNew);
        more.push_back(0.5 * (x[v] + x[(v + 1) % 24]));
      }
      Twist twist = start;
      twist.reserve(48);
      twist.divide(was.data(), was.size());
      ASSERT_EQ(twist.vertices(), was.size());
      EXPECT_NEAR(twist.turns(), start.turns(), 1e-12);
      EXPECT_NEAR(link_turns(twist, more), link_turns(start, x), 1e-9);
      Points moved = more;
      for (Vector3d& p : moved) p += 0.02 * random_vector(random);
      twist.carry(twist, moved);
      twist.find_spans(0.5);
      twist.spread();
      EXPECT_NEAR(link_turns(twist, moved), link_turns(start, x), 1e-9);
      twist.carry(twist, more);
      std::vector<std::uint32_t> stay;
      for (std::uint32_t v = 0; v < was.size(); ++v) {
        if (was[v] != kNew) stay.push_back(v);
        if (was[v] == kNew) {
          EXPECT_TRUE(twist.may_go(v));
        }
      }
      twist.join(stay.data(), stay.size());
      ASSERT_EQ(twist.vertices(), 24u);
      EXPECT_NEAR(link_turns(twist, x), link_turns(start, x), 1e-9);
      twist.find_spans(1.0);
      twist.spread();
      ASSERT_EQ(twist.span_count(), start.span_count());
      for (std::size_t k = 0; k < start.span_count(); ++k) EXPECT_NEAR(twist.span(k).angle, start.span(k).angle, 1e-9);
      for (std::size_t i = 0; i < start.edges(); ++i)
        EXPECT_LT((twist.material(i).d1 - start.material(i).d1).norm(), 1e-9) << i;
    }
}

TEST(Twist, StaysFiniteWhereEdgesVanishOrVerticesAreNotNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (bool closed : {false, true}) {
    Twist twist(ring(6), closed, 2);
    twist.insert(1.0);
    twist.hold_frame(0);
    twist.hold_frame(3);
    for (const Points& x :
         {Points(6, Vector3d::Zero()), Points(6, Vector3d::Constant(nan)),
          Points{{0, 0, 0}, {1, 0, 0}, {0, 0, 0}, {1, 0, 0}, {1e200, 0, 0}, {-1e308, 0, 0}}, ring(6)}) {
      twist.carry(twist, x);
      twist.find_spans(1.0);
      twist.spread();
      for (std::size_t i = 0; i < 6; ++i) EXPECT_TRUE(std::isfinite(twist.joint(i)));
      for (std::size_t i = 0; i < twist.edges(); ++i) EXPECT_NEAR(twist.material(i).d1.norm(), 1.0, 1e-12);
    }
  }
}

}  // namespace
}  // namespace ligature::rod
