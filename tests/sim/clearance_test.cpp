/// How far strands may move, against every pair looked at one by one.
#include "sim/contact/clearance.hpp"

#include <gtest/gtest.h>
#include <Eigen/Geometry>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/base/random.hpp"
#include "sim/contact/edge_places.hpp"
#include "sim/contact/round_cone.hpp"
#include "sim/contact/smooth_curve.hpp"
#include "tests/sim/strand_scenes.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::contact {
namespace {

using test::Scene;

constexpr double kRadius = 0.0125;

double distance_at(const Scene& scene, const EdgePair& pair, double t) {
  const auto at = [&](std::uint32_t k, std::size_t v) -> Vector3d {
    return (1 - t) * scene.x[k][v] + t * scene.x1[k][v];
  };
  const Strand &a = scene.strands[pair.strand_a], &b = scene.strands[pair.strand_b];
  return closest(RoundCone{at(pair.strand_a, pair.edge_a), at(pair.strand_a, a.next(pair.edge_a)), 0, 0},
                 at(pair.strand_b, pair.edge_b), at(pair.strand_b, b.next(pair.edge_b)))
      .distance;
}

/// As clearance.hpp says: 0.45 of both radii, or the share of what it has above 0.25 of them; nearer, 0.95 of what it
/// has above 0.225.
double least_of(const Scene& scene, const EdgePair& pair) {
  const Strand &a = scene.strands[pair.strand_a], &b = scene.strands[pair.strand_b];
  const double radii = a.radius + b.radius, start = distance_at(scene, pair, 0);
  double apart = 0.25 * radii, last = 0.225 * radii, share = 0.8;
  if (pair.strand_a == pair.strand_b) {
    double arc = a.arc_between(pair.edge_a, pair.edge_b);
    if (a.closed) arc = std::min(arc, a.arc_round(pair.edge_a, pair.edge_b));
    if (arc < std::numbers::pi * a.radius) apart = 0.02 * radii, last = 0.015 * radii, share = 0.3;
  }
  const bool neighbours = share < 0.5;
  const double kept = start > apart ? apart : start > last ? last : neighbours || start > 0.2 * radii ? start : 0;
  if (start <= apart) share = 0.95;
  return std::min({0.45 * radii, kept + share * (start - kept), (1 - 1e-6) * start});
}

std::vector<EdgePair> all_pairs(const Scene& scene) {
  std::vector<EdgePair> pairs;
  for (std::uint32_t k = 0; k < scene.strands.size(); ++k)
    for (std::uint32_t l = k; l < scene.strands.size(); ++l)
      for (std::uint32_t i = 0; i < scene.strands[k].edges(); ++i)
        for (std::uint32_t j = k == l ? i + 1 : 0; j < scene.strands[l].edges(); ++j)
          if (k != l || !share_vertex(scene.strands[k], i, j)) pairs.push_back({k, i, l, j});
  return pairs;
}

/// Threads beside each other, that wind a little.
Scene bundle(Random& random, double edge) {
  Scene scene;
  for (std::size_t s = 0, count = 1 + random.next() % 3; s < count; ++s) {
    std::vector<Vector3d> x(3 + random.next() % 50);
    const double wild = std::pow(10, random.uniform(-2, -0.2));
    Vector3d along = test::anywhere(random).normalized();
    x[0] = 3 * kRadius * test::anywhere(random);
    for (std::size_t i = 1; i < x.size(); ++i)
      x[i] = x[i - 1] + edge * (along = (along + wild * test::anywhere(random)).normalized());
    scene.add(x, random.next() % 4 == 0);
  }
  return scene;
}

TEST(Clearance, KeepsTheDistanceOfEveryPairAndNoMore) {
  constexpr std::uint64_t kSeed = 20261123;
  RecordProperty("seed", std::to_string(kSeed));
  Random random(kSeed);
  int whole = 0, shortened = 0, early = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const double edge = kRadius * std::pow(2, random.uniform(-1, 2));
    Scene scene = bundle(random, edge);
    scene.move(random, kRadius * std::pow(10, random.uniform(-2.5, 0.5)));
    scene.shift(Vector3d(1, -2, 3) * (trial % 3 == 0 ? 20 : 0));
    scene.ready();
    for (Strand& strand : scene.strands) strand.radius = kRadius * random.uniform(0.6, 1), strand.rest_length = edge;
    Clearance clearance(300, 100000);
    const double fraction = clearance.fraction(scene.strands.data(), scene.strands.size(), scene.ends());
    ++(fraction < 1 ? shortened : whole);
    bool stopped = fraction == 1;
    double furthest = 0;
    for (std::size_t k = 0; k < scene.x.size(); ++k)
      for (std::size_t i = 0; i < scene.x[k].size(); ++i)
        furthest = std::max(furthest, (scene.x1[k][i] - scene.x[k][i]).norm());
    for (const EdgePair& pair : all_pairs(scene)) {
      const double least = least_of(scene, pair), start = distance_at(scene, pair, 0);
      if (start - 2 * furthest > least) continue;
      for (int k = 0; k <= 20; ++k) ASSERT_GE(distance_at(scene, pair, k / 20.0 * fraction), least - 1e-12) << trial;
      // What stopped it has arrived.
      const double end = distance_at(scene, pair, fraction);
      // A pair that begins too near has hardly any room: it may stop on its way.
      stopped |= end - least <= 0.05 * (start - least) + 1e-12 || start - least < 1e-5 * start;
    }
    early += !stopped;
  }
  EXPECT_GT(whole, 30);
  EXPECT_GT(shortened, 30);
  EXPECT_LE(20 * early, shortened);  // a pair may take so many advances that it stops on its way
}

TEST(Clearance, LetsCurvesNeverMeetHoweverOftenStrandsArePressedTogether) {
  // Hooked into each other: the curves are on the inner sides of the corners.
  for (const double edge : {1.0, 4.0, 12.0}) {
    Scene scene;
    const double l = kRadius * edge, rise = 0.4 * l;
    scene.add({{-l, 0, rise}, {0, 0, 0}, {l, 0, rise}}, false);
    scene.add({{0, -l, kRadius - rise}, {0, 0, kRadius}, {0, l, kRadius - rise}}, false);
    scene.copy_ends();
    scene.ready();
    for (Strand& strand : scene.strands) strand.radius = kRadius, strand.rest_length = l;
    Clearance clearance(10, 100);
    for (int iteration = 0; iteration < 300; ++iteration) {
      for (std::size_t i = 0; i < 3; ++i) scene.x1[1][i] = scene.x[1][i] - Vector3d(0, 0, 0.5 * kRadius);
      const double fraction = clearance.fraction(scene.strands.data(), 2, scene.ends());
      for (std::size_t i = 0; i < 3; ++i) scene.x[1][i].z() -= fraction * 0.5 * kRadius;
      const double curves = curve_at(scene.strands[1], 1).p.z() - curve_at(scene.strands[0], 1).p.z();
      ASSERT_GT(curves, 0.049 * kRadius) << edge << " after " << iteration;
    }
    EXPECT_LT(distance_at(scene, {0, 0, 1, 0}, 0), 0.26 * 2 * kRadius) << "as near as they may";
    for (std::size_t i = 0; i < 3; ++i) scene.x1[1][i] = scene.x[1][i] + Vector3d(0, 0, 0.5 * kRadius);
    EXPECT_EQ(clearance.fraction(scene.strands.data(), 2, scene.ends()), 1) << "apart they may go";
  }
}

TEST(Clearance, LetsNoFoldCloseHoweverOftenItIsPressed) {
  // Edges 0 and 2 are neighbours, which bending may bring near.
  Scene scene;
  const double l = 2 * kRadius;
  scene.add({{0, 0, 0}, {l, 0, 0}, {0.5 * l, 0.8 * l, 0}, {0.5 * l, 0.3 * l, 0}}, false);
  scene.copy_ends();
  scene.ready();
  scene.strands[0].radius = kRadius, scene.strands[0].rest_length = l;
  Clearance clearance(10, 100);
  for (int iteration = 0; iteration < 300; ++iteration) {
    scene.x1 = scene.x;
    scene.x1[0][3].y() -= 0.5 * l;
    scene.to[0] = scene.x1[0].data();
    const double fraction = clearance.fraction(scene.strands.data(), 1, scene.ends());
    scene.x[0][3] += fraction * (scene.x1[0][3] - scene.x[0][3]);
    ASSERT_GE(distance_at(scene, {0, 0, 0, 2}, 0), 0.01499 * 2 * kRadius) << iteration;
  }
  EXPECT_LT(distance_at(scene, {0, 0, 0, 2}, 0), 0.03 * 2 * kRadius);
  scene.x1[0][3] = scene.x[0][3] + Vector3d(0, 0.1 * l, 0);
  EXPECT_EQ(clearance.fraction(scene.strands.data(), 1, scene.ends()), 1) << "it may open";
}

TEST(Clearance, LetsAThreadSwingHoweverFar) {
  for (const double edge : {0.5, 1.0, 2.0, 4.0}) {
    std::vector<Vector3d> x(200);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = kRadius * edge * static_cast<double>(i) * Vector3d(0.6, 0.48, 0.64);
    Scene scene;
    scene.add(x, false);
    scene.copy_ends();
    // Turned by a third of a right angle about its beginning, and away.
    const Eigen::AngleAxisd turn(std::numbers::pi / 6, Vector3d(0.8, -0.36, -0.48).normalized());
    for (Vector3d& v : scene.x1[0]) v = turn * v + Vector3d(1, 2, 3);
    scene.ready();
    scene.strands[0].radius = kRadius;
    scene.strands[0].rest_length = kRadius * edge;
    Clearance clearance(200, 10);  // not one pair to look at
    EXPECT_EQ(clearance.fraction(scene.strands.data(), 1, scene.ends()), 1.0) << edge;
  }
}

TEST(Clearance, IsZeroWhenPairsDoNotFitAndAllocatesNothing) {
  Scene knot = test::tight_knot(600, 0.025);
  for (Vector3d& v : knot.x1[0]) v *= 0.9;
  for (std::size_t i = 0; i < 300; ++i) knot.x1[0][i].z() += 0.2;
  knot.ready();
  Clearance small(600, 3), clearance(600, 10000);
  double fraction = 0;
  guard::reset();
  {
    const guard::ForbidAlloc forbid;
    EXPECT_EQ(small.fraction(knot.strands.data(), 1, knot.ends()), 0.0);
    fraction = clearance.fraction(knot.strands.data(), 1, knot.ends());
  }
  ASSERT_TRUE(guard::active());
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
  EXPECT_GT(fraction, 0.0);
  EXPECT_LT(fraction, 1.0);
}

}  // namespace
}  // namespace ligature::contact
