#include "sim/contact/smooth_curve.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "sim/contact/curve_places.hpp"
#include "tests/sim/strand_shapes.hpp"

namespace ligature::contact {
namespace {

constexpr double kRadius = 0.1;

/// Vertices that wander: edges of about 1 that turn by less than a radian; a ring goes round once.
Thread wandering(std::mt19937& random, int vertices, bool closed) {
  std::uniform_real_distribution<double> any(-1, 1);
  Thread t;
  t.closed = closed;
  t.rest_length = 1;
  t.radius = 1;  // no corner is too sharp for it
  Vector3d x(0, 0, 0), along(1, 0, 0);
  for (int i = 0; i < vertices; ++i) {
    const Vector3d off(any(random), any(random), any(random));
    const double angle = 2 * pi * i / vertices, round = 0.5 / std::sin(pi / vertices);
    t.x.push_back(closed ? Vector3d(round * std::cos(angle), round * std::sin(angle), 0) + 0.05 * off : x);
    x += along = (along + 0.4 * off).normalized();
  }
  return t;
}

Strand strand_of(const Thread& t) {
  return {t.x.data(), t.x.size(), t.closed, t.radius, t.rest_length};
}

/// Least distance from a place of `b` within so many edges of `from`, sampled densely and then narrowed down.
double nearest_place(const Strand& b, const Vector3d& p, double from, double within, double low, double high) {
  const int parts = within > 0.1 ? 400 : 4;
  const auto d = [&](double v) { return (curve_at(b, v).p - p).squaredNorm(); };
  const double first = std::max(low, from - within), last = std::min(high, from + within);
  double best = first;
  for (int k = 0; k <= parts; ++k)
    if (const double v = first + (last - first) * k / parts; d(v) < d(best)) best = v;
  double lo = std::max(first, best - 2 * within / parts), hi = std::min(last, best + 2 * within / parts);
  for (int k = 0; k < 60; ++k) {
    const double l = lo + (hi - lo) / 3, r = hi - (hi - lo) / 3;
    (d(l) < d(r) ? hi : lo) = d(l) < d(r) ? r : l;
  }
  return 0.5 * (lo + hi);
}

// ---- the curve

TEST(SmoothCurve, WeightsSumToOneAndNoneIsNegative) {
  for (std::size_t n : {2u, 3u, 9u})
    for (bool closed : {false, true})
      for (std::size_t edge = 0; edge < (closed ? n : n - 1); ++edge)
        for (double s = 0; s <= 1; s += 0.0625) {
          const Blend b = blend_at(n, closed, edge, s);
          double sum = 0;
          for (int k = 0; k < 3; ++k) {
            sum += b.weight[k];
            EXPECT_GE(b.weight[k], 0) << n << " " << edge << " " << s;
            EXPECT_LT(b.vertex[k], n);
          }
          EXPECT_NEAR(sum, 1, 1e-15);
        }
}

TEST(SmoothCurve, BlendAndCurveAreTheSame) {
  std::mt19937 random(1);
  for (bool closed : {false, true}) {
    const Thread t = wandering(random, 9, closed);
    const Strand s = strand_of(t);
    for (std::size_t edge = 0; edge < s.edges(); ++edge)
      for (double part = 0; part <= 1; part += 0.03125)
        EXPECT_LT((place_on(s.x, s, edge, part) - curve_at(s, static_cast<double>(edge) + part).p).norm(), 1e-14);
    if (!closed) continue;
    for (double u = -9; u < 9; u += 0.21) EXPECT_LT((curve_at(s, u).p - curve_at(s, u + 9).p).norm(), 1e-13);
  }
}

TEST(SmoothCurve, CutsNoCornerByMoreThanAPartOfTheRadius) {
  std::mt19937 random(7);
  for (const auto& [radius, most_cut] : {std::pair(0.5, 0.0), {0.1, 0.0}, {0.1, 0.05}, {0.02, 0.0}, {0.02, 0.01}})
    for (bool closed : {false, true}) {
      Thread t = wandering(random, 12, closed);
      t.x[5] += Vector3d(0.3, -0.9, 0.4);  // a sharp one
      t.radius = radius;
      const Strand s = strand_of(t);
      double most = 0;
      for (std::size_t edge = 0; edge < s.edges(); ++edge)
        for (double part = 0; part < 1; part += 0.015625) {
          const double u = static_cast<double>(edge) + part;
          const CurvePoint c = curve_at(s, u, most_cut), next = curve_at(s, u + 1e-6, most_cut);
          StrandContact contact;
          contact.pair.edge_a = static_cast<std::uint32_t>(edge), contact.sa = part, contact.most_cut = most_cut;
          EXPECT_LT((place_of(s.x, s, contact) - c.p).norm(), 1e-14);
          EXPECT_LT(((next.p - c.p) / 1e-6 - c.d1).norm(), 1e-6 * (1 + 10 / radius)) << "the tangent is continuous";
          const Blend b = blend_at(s, edge, part, most_cut);
          EXPECT_NEAR(b.weight[0] + b.weight[1] + b.weight[2], 1, 1e-15);
          for (double weight : b.weight) EXPECT_GE(weight, 0);
          const Blend slope = slope_at(s, edge, part, most_cut);
          Vector3d along = Vector3d::Zero();
          for (int k = 0; k < 3; ++k) along += slope.weight[k] * t.x[slope.vertex[k]];
          EXPECT_LT((along - c.d1).norm(), 1e-14);
          const Vector3d on = (1 - part) * t.x[edge] + part * t.x[s.next(edge)];
          most = std::max(most, (c.p - on).norm());
        }
      const double may = std::max(kMostCut * radius, most_cut);
      EXPECT_LE(most, may * (1 + 1e-12));
      EXPECT_GT(most, 0.9 * may);
    }
}

TEST(SmoothCurve, IsTheLineWhereVerticesAreOnOne) {
  const Thread t = straight({1, 2, 3}, {2, -1, 0.5}, 2, kRadius, 0.1);
  const Strand s = strand_of(t);
  const double last = static_cast<double>(s.edges());
  for (double u = 0; u <= last; u += 0.0625) {
    const CurvePoint c = curve_at(s, u);
    EXPECT_LT((c.p - t.x.front() - u / last * (t.x.back() - t.x.front())).norm(), 1e-14);
    EXPECT_LT(c.d2.norm(), 1e-14);
    EXPECT_NEAR(c.d1.norm(), 0.1, 1e-14);
  }
}

TEST(SmoothCurve, TouchesEdgesAtTheirMiddlesAndPassesVerticesByAnEighthOfTheSecondDifference) {
  std::mt19937 random(2);
  const Thread t = wandering(random, 12, true);
  const Strand s = strand_of(t);
  for (std::size_t i = 0; i < 12; ++i) {
    const Vector3d &x = t.x[i], &next = t.x[(i + 1) % 12], &before = t.x[(i + 11) % 12];
    const CurvePoint middle = curve_at(s, static_cast<double>(i) + 0.5);
    EXPECT_LT((middle.p - 0.5 * (x + next)).norm(), 1e-14);
    EXPECT_LT((middle.d1 - (next - x)).norm(), 1e-14);
    const Vector3d bend = before - 2 * x + next;
    EXPECT_LT((curve_at(s, static_cast<double>(i)).p - x - bend / 8).norm(), 1e-14);
  }
}

TEST(SmoothCurve, OpenStrandsEndAtTheirEndsAndAreStraightThere) {
  std::mt19937 random(3);
  for (int n : {2, 3, 7}) {
    const Thread t = wandering(random, n, false);
    const Strand s = strand_of(t);
    const double last = n - 1;
    EXPECT_EQ((curve_at(s, 0).p - t.x.front()).norm(), 0);
    EXPECT_LT((curve_at(s, last).p - t.x.back()).norm(), 1e-14);
    for (double near : {0.0, 0.2, 0.49}) {
      EXPECT_LT((curve_at(s, near).p - t.x[0] - near * (t.x[1] - t.x[0])).norm(), 1e-14);
      EXPECT_LT(curve_at(s, near).d2.norm(), 1e-14);
      EXPECT_LT(curve_at(s, last - near).d2.norm(), 1e-14);
    }
  }
}

TEST(SmoothCurve, PlaceAndTangentAreContinuousAndAreEachOthersDerivatives) {
  std::mt19937 random(4);
  std::uniform_real_distribution<double> any(0, 1);
  for (bool closed : {false, true}) {
    const Thread t = wandering(random, 9, closed);
    const Strand s = strand_of(t);
    const double last = static_cast<double>(s.edges());
    for (double joint = 0.5; joint < last; joint += 0.5) {
      const CurvePoint before = curve_at(s, joint - 1e-9), behind = curve_at(s, joint + 1e-9);
      EXPECT_LT((before.p - behind.p).norm(), 2e-8);
      EXPECT_LT((before.d1 - behind.d1).norm(), 4e-8);
    }
    for (int k = 0; k < 200; ++k) {
      // Quadratic between middles of edges: central differences are exact but for rounding.
      const double h = 1e-3, u = 0.5 + std::floor((last - 1) * any(random)) + h + (1 - 2 * h) * any(random);
      const CurvePoint c = curve_at(s, u), l = curve_at(s, u - h), r = curve_at(s, u + h);
      EXPECT_LT(((r.p - l.p) / (2 * h) - c.d1).norm(), 1e-11);
      EXPECT_LT(((r.d1 - l.d1) / (2 * h) - c.d2).norm(), 1e-11);
    }
  }
}

// ---- nearest places

TEST(CurvePlaces, NearestBesideIsWhatADenseSearchFinds) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> any(-1, 1);
  int ends = 0, rounds = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const Thread a = wandering(random, 5, false), b = wandering(random, 10, trial % 2 == 0);
    const Strand sa = strand_of(a), sb = strand_of(b);
    const double last = static_cast<double>(b.x.size()) - 1, all = 1e9;
    // A place up to 0.6 off the curve, nearer than its bends are round, or beyond an end of it.
    const double there = b.closed ? 10 * any(random) : std::clamp(1.3 * last * std::abs(any(random)), 0.0, last);
    const CurvePoint c = curve_at(sb, there);
    const Vector3d side = Vector3d(any(random), any(random), any(random)).cross(c.d1).normalized();
    Vector3d p = c.p + 0.6 * any(random) * side;
    if (!b.closed && there == last) p += 0.3 * std::abs(any(random)) * c.d1;
    Thread moved = a;
    const Vector3d by = p - curve_at(sa, 2.3).p;
    for (Vector3d& x : moved.x) x += by;
    const Strand sm = strand_of(moved);
    const double low = b.closed ? -all : 0, high = b.closed ? all : last;
    const double oracle = nearest_place(sb, p, there, 0.4, low, high);
    if (std::abs(oracle - there) > 0.39 && oracle > 0 && oracle < last) continue;  // another is nearer
    CurvePlaces found;
    ASSERT_TRUE(nearest_beside(sm, sb, 2.3, std::clamp(there + 0.3 * any(random), low, high), {}, 1.5, found)) << trial;
    ASSERT_NEAR(found.v, oracle, 2e-6) << trial;
    EXPECT_EQ(found.u, 2.3);
    EXPECT_LT((found.apart - (p - curve_at(sb, oracle).p)).norm(), 1e-5);
    EXPECT_FALSE(found.bordered);
    EXPECT_EQ(found.ended, !b.closed && (found.v == 0 || found.v == last));
    ends += found.ended;
    rounds += b.closed && (found.v < 0 || found.v > 10);
  }
  EXPECT_GT(ends, 100);
  EXPECT_GT(rounds, 100);
}

TEST(CurvePlaces, NearestCrossingIsWhatADenseSearchFinds) {
  std::mt19937 random(6);
  std::uniform_real_distribution<double> any(-1, 1);
  int asked = 0, rounds = 0, ends = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const Thread a = wandering(random, 8, trial % 3 == 0);
    Thread b = wandering(random, 8, trial % 2 == 0);
    const Eigen::Quaterniond turn = Eigen::Quaterniond(any(random), any(random), any(random), any(random)).normalized();
    for (Vector3d& x : b.x) x = turn * x;
    const Strand sa = strand_of(a);
    const double u0 = a.closed ? 8 * any(random) : 3.5 + 3 * any(random);
    double v0 = b.closed ? 8 * any(random) : 3.5 + 4.2 * any(random);
    if (!b.closed) v0 = std::clamp(v0, 0.0, 7.0);
    const CurvePoint at = curve_at(sa, u0), on = curve_at(strand_of(b), v0);
    if (at.d1.normalized().cross(on.d1.normalized()).norm() < 0.5) continue;
    const Vector3d by = at.p - on.p + 0.3 * any(random) * at.d1.cross(on.d1).normalized();
    for (Vector3d& x : b.x) x += by;
    const Strand sb = strand_of(b);
    // The least of both in turns.
    double u = u0, v = v0;
    for (int k = 0; k < 40; ++k) {
      v = nearest_place(sb, curve_at(sa, u).p, v, k < 5 ? 0.3 : 0.01, b.closed ? -100 : 0, b.closed ? 100 : 7);
      u = nearest_place(sa, curve_at(sb, v).p, u, k < 5 ? 0.3 : 0.01, a.closed ? -100 : 0, a.closed ? 100 : 7);
    }
    if (std::abs(u - u0) > 0.5 || std::abs(v - v0) > 0.5 || sharpness_at(sa, sb, u, v) < 0.6) continue;
    ++asked;
    CurvePlaces found;
    ASSERT_TRUE(nearest_crossing(sa, sb, u0, v0, {}, 2, found)) << trial;
    EXPECT_NEAR(found.u, u, 1e-5) << trial;
    EXPECT_NEAR(found.v, v, 1e-5) << trial;
    EXPECT_LT((found.apart - (curve_at(sa, u).p - curve_at(sb, v).p)).norm(), 1e-5);
    ends += found.ended;
    rounds += found.u < 0 || found.v < 0;
  }
  EXPECT_GT(asked, 150);
  EXPECT_GT(ends, 5);
  EXPECT_GT(rounds, 20);
}

TEST(CurvePlaces, SharpnessIsTheSecondDerivativeOfTheDistanceAlongTheFirst) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> any(-1, 1);
  int asked = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const Thread a = wandering(random, 8, false);
    Thread b = wandering(random, 8, false);
    const Strand sa = strand_of(a);
    // Away from the joints, where the second derivative jumps.
    const double u = 4 + 0.3 * any(random), v = 4 + 0.3 * any(random);
    const CurvePoint at = curve_at(sa, u), on = curve_at(strand_of(b), v);
    const Vector3d common = at.d1.cross(on.d1).normalized();
    for (Vector3d& x : b.x) x += at.p - on.p + 0.4 * any(random) * common;
    const Strand sb = strand_of(b);
    const double h = 1e-4;
    const auto f = [&](double x, double y) { return 0.5 * (curve_at(sa, x).p - curve_at(sb, y).p).squaredNorm(); };
    const double uu = (f(u + h, v) - 2 * f(u, v) + f(u - h, v)) / (h * h);
    const double vv = (f(u, v + h) - 2 * f(u, v) + f(u, v - h)) / (h * h);
    const double uv = (f(u + h, v + h) - f(u + h, v - h) - f(u - h, v + h) + f(u - h, v - h)) / (4 * h * h);
    const double bend = (uu - uv * uv / vv) / at.d1.squaredNorm();
    if (bend < 0.05) continue;
    ++asked;
    EXPECT_NEAR(sharpness_at(sa, sb, u, v), std::sqrt(bend), 1e-5) << trial;
  }
  EXPECT_GT(asked, 100);
}

TEST(CurvePlaces, SharpnessOfStraightStrandsIsTheSineAndOfWoundOnesNothing) {
  for (double degrees : {0.0, 10.0, 45.0, 90.0, 135.0}) {
    const double angle = degrees * pi / 180;
    const Thread a = straight({0, 0, 0}, Vector3d::UnitX(), 2, kRadius, 0.1);
    const Thread b = straight({0, 0, 0.2}, {std::cos(angle), std::sin(angle), 0}, 2, kRadius, 0.1);
    EXPECT_NEAR(sharpness_at(strand_of(a), strand_of(b), 10, 10), std::sin(angle), 1e-9);
  }
  const Thread core = straight({0, 0, 1.9}, Vector3d::UnitZ(), 3.8, kRadius, 0.02);
  const Thread wound = helix(0.2, 2 * pi * 0.2, 3, 0, kRadius, 0.02);
  for (double v = 50; v < 200; v += 10.3) {
    CurvePlaces found;
    const double z = curve_at(strand_of(wound), v).p.z();
    ASSERT_TRUE(nearest_beside(strand_of(wound), strand_of(core), v, z / 0.02, {}, 2, found));
    EXPECT_LT(found.sharp, 0.05);
    EXPECT_NEAR(found.apart.norm(), 0.2, 2e-4);
  }
}

// Near the centre of an arc hardly any place of it is nearer than another.
TEST(CurvePlaces, AHeldPlaceRunsNoFurtherThanTwiceTheMotion) {
  const double around = 0.4, edge = 0.02;
  const Thread arc = along_curve(
      [=](double a) -> Vector3d {
        return {around * std::cos(a), around * std::sin(a), 0};
      },
      0.2, 2.9, kRadius, edge);
  const Strand b = strand_of(arc);
  for (const double bend : {0.05, 0.1, 0.3, 0.5, 0.9}) {
    const double off = bend * around;  // from the centre; the arc is nearest on that side
    const auto point = [&](double aside) { return straight({aside, off, 0}, Vector3d::UnitZ(), 0.4, kRadius, edge); };
    const Thread still = point(0), moved = point(0.01 * around);
    CurvePlaces there, free, held;
    ASSERT_TRUE(nearest_beside(strand_of(still), b, 10, 0.5 * static_cast<double>(b.edges()), {}, 20, there));
    EXPECT_NEAR(there.bend_b, bend, 0.01);
    ASSERT_TRUE(nearest_beside(strand_of(still), b, 10, there.v, {}, 20, held, &there.v));
    EXPECT_NEAR(held.v, there.v, 1e-4) << "at the nearest place it stays";
    ASSERT_TRUE(nearest_beside(strand_of(moved), b, 10, there.v, {}, 20, free));
    ASSERT_TRUE(nearest_beside(strand_of(moved), b, 10, there.v, {}, 20, held, &there.v));
    const double run = std::abs(free.v - there.v) * edge, of_held = std::abs(held.v - there.v) * edge;
    EXPECT_NEAR(run, 0.01 * around / bend, 0.05 * run);
    EXPECT_NEAR(of_held, 0.01 * around / std::max(bend, 0.5), 0.05 * of_held);
    EXPECT_LT(held.apart.norm() - free.apart.norm(), 1e-3 * free.apart.norm());
  }
}

// Against the distance of curves that are turned: second differences.
TEST(CurvePlaces, AForceResistsThatAStrandTurnsByHowItsPlaceGlides) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> any(-1, 1);
  int asked = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const Thread a = wandering(random, 9, false);
    Thread b = wandering(random, 9, false);
    const Strand sa = strand_of(a);
    const CurvePoint at = curve_at(sa, 4);
    const Vector3d common = at.d1.cross(curve_at(strand_of(b), 4).d1).normalized();
    const Vector3d apart = at.p - curve_at(strand_of(b), 4).p + 1.5 * common;
    for (Vector3d& x : b.x) x += apart;
    CurvePlaces found;
    if (!nearest_beside(sa, strand_of(b), 4, 4, {}, 0.4, found) || found.bend_b < 0.55 || std::abs(found.v - 4) > 0.4)
      continue;
    ++asked;
    // About the place, in the plane of tangent and distance.
    const CurvePoint on = curve_at(strand_of(b), found.v);
    const Vector3d axis = on.d1.cross(found.apart).normalized();
    const auto distance = [&](double angle) {
      Thread turned = b;
      for (Vector3d& x : turned.x) x = on.p + Eigen::AngleAxisd(angle, axis) * (x - on.p);
      CurvePlaces now;
      EXPECT_TRUE(nearest_beside(sa, strand_of(turned), 4, found.v, {}, 1, now));
      return now.apart.norm();
    };
    const double h = 1e-3, second = (distance(h) - 2 * distance(0) + distance(-h)) / (h * h);
    EXPECT_NEAR(second, -found.glide_b * on.d1.squaredNorm(), 1e-3 * (1 - second)) << trial;
  }
  EXPECT_GT(asked, 50);
}

TEST(CurvePlaces, OfOneStrandNeverComeNearerThanPiRadiiOfArc) {
  // A bend of 0.8 of the radius: its places would run together. Held at the border, both ways round a ring.
  const Thread bend = along_curve(
      [](double a) -> Vector3d {
        return {0.08 * std::cos(a), 0.08 * std::sin(a), 0.01 * a};
      },
      0, 6, kRadius, 0.05);
  const Strand s = strand_of(bend);
  const ArcLimits limits = arc_limits(s, s, true, 0);
  EXPECT_NEAR(limits.low, pi * kRadius / 0.05, 1e-12);
  EXPECT_GT(limits.high, 1e200);
  for (double u : {0.0, 1.0, 2.0}) {
    CurvePlaces found;
    ASSERT_TRUE(nearest_beside(s, s, u, u + limits.low + 0.1, limits, 9, found));
    EXPECT_GE(found.v - u, limits.low - 1e-12);
  }
  Thread ring = bend;
  ring.closed = true;
  const ArcLimits round = arc_limits(strand_of(ring), strand_of(ring), true, 0);
  EXPECT_NEAR(round.low + round.high, static_cast<double>(ring.x.size()), 1e-12);
  const Thread line = straight({0, 0, 0}, Vector3d::UnitX(), 2, kRadius, 0.05);
  const Strand l = strand_of(line);
  CurvePlaces found;
  ASSERT_TRUE(nearest_beside(l, l, 3, 3 + limits.low + 1, limits, 2, found));
  EXPECT_TRUE(found.bordered);
  EXPECT_NEAR(found.v, 3 + limits.low, 1e-12);
  EXPECT_FALSE(nearest_crossing(l, l, 3, 3 + limits.low + 0.1, limits, 2, found));
  EXPECT_TRUE(arc_limits(l, strand_of(bend), false, 0).low < -1e200);
  Thread none = line;
  none.rest_length = 0;
  EXPECT_TRUE(arc_limits(strand_of(none), strand_of(none), true, 0).empty());
  const ArcLimits before = arc_limits(l, l, true, 12, true);
  EXPECT_LT(before.low, -1e200);
  EXPECT_NEAR(before.high, -limits.low, 1e-12);
}

TEST(CurvePlaces, ArcIsCountedInRestLengthsWhereEdgesDiffer) {
  // Edges of 1, 2 and 4 units, open and round.
  const std::vector<double> node{0, 1, 2, 4, 6, 10, 14, 16, 18, 19, 20};
  Thread t = straight({0, 0, 0}, Vector3d::UnitX(), 1, kRadius, 0.1);
  t.x.resize(10);
  for (bool closed : {false, true}) {
    t.closed = closed;
    Strand s = strand_of(t);
    s.node = node.data();
    const auto arc = [&](double u) {
      const double whole = std::floor(u / 10), at = u - 10 * whole;
      const auto i = static_cast<std::size_t>(at);
      return 20 * whole + node[i] + (at - std::floor(at)) * (node[i + 1] - node[i]);
    };
    for (double u : {0.0, 0.3, 2.5, 4.0, 7.25}) {
      const ArcLimits limits = arc_limits(s, s, true, u);
      const double least = pi * kRadius / s.rest_length;
      if (!closed) {
        const ArcLimits before = arc_limits(s, s, true, u, true);
        if (arc(u) > least)
          EXPECT_NEAR(arc(u) - arc(u + before.high), least, 1e-9) << u;
        else
          EXPECT_LT(u + before.high, 0) << "there is none: " << u;
      }
      if (!closed && arc(u) + least > 18) continue;
      EXPECT_NEAR(arc(u + limits.low) - arc(u), least, 1e-9) << u;
      if (!closed) continue;
      EXPECT_NEAR(arc(u + limits.high) - arc(u), 20 - least, 1e-9) << u;
    }
  }
}

TEST(CurvePlaces, SayNoWhereThereIsNone) {
  const Thread a = straight({0, 0, 0}, Vector3d::UnitX(), 2, kRadius, 0.1);
  const Thread b = straight({0, 0, 0.2}, Vector3d::UnitY(), 2, kRadius, 0.1);
  const Strand sa = strand_of(a), sb = strand_of(b);
  CurvePlaces found;
  EXPECT_TRUE(nearest_crossing(sa, sb, 9, 11, {}, 1.1, found));
  EXPECT_FALSE(nearest_crossing(sa, sb, 8, 11, {}, 1.1, found));  // further than that
  EXPECT_FALSE(nearest_beside(sa, sb, 10, 13, {}, 2, found));
  // Inside a ring's bend its nearest places are farthest from the middle of a chord: no least distance of both.
  const Thread ring = along_curve(
      [](double t) -> Vector3d {
        return {std::cos(t), std::sin(t), 0};
      },
      0, 2 * pi, kRadius, 0.1, 0, true);
  Thread inside = straight({-0.5, 0, 0.05}, Vector3d::UnitY(), 0.6, kRadius, 0.1);
  EXPECT_FALSE(nearest_crossing(strand_of(inside), strand_of(ring), 3, 0.5 * static_cast<double>(ring.x.size()) + 1e-9,
                                {}, 0.4, found) &&
               std::abs(found.u - 3) < 0.1);
  Thread broken = a;
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e200}) {
    broken.x[10].y() = bad;
    nearest_beside(strand_of(broken), sb, 10, 10, {}, 2, found);
    EXPECT_TRUE(bad == 1e200 || !nearest_beside(strand_of(broken), sb, 10, 10, {}, 2, found));
    EXPECT_TRUE(bad == 1e200 || !nearest_beside(sb, strand_of(broken), 10, 10, {}, 2, found));
    EXPECT_TRUE(bad == 1e200 || !nearest_crossing(sb, strand_of(broken), 10, 10, {}, 2, found));
  }
  const Thread point{Points(6, Vector3d(0, 0, 0)), false, kRadius, 0.1};
  EXPECT_FALSE(nearest_crossing(strand_of(point), sb, 2, 10, {}, 2, found));
  EXPECT_TRUE(nearest_beside(strand_of(point), sb, 2, 10, {}, 2, found));
  EXPECT_TRUE(nearest_beside(sb, strand_of(point), 2, 2, {}, 2, found));
}

}  // namespace
}  // namespace ligature::contact
