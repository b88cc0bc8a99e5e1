/// Broad phase against every pair looked at one by one.
#include "sim/contact/swept_pairs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>

#include "sim/base/random.hpp"
#include "sim/contact/round_cone.hpp"
#include "tests/sim/strand_scenes.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::contact {
namespace {

using test::Scene;

/// The definition, edge by edge: no gap wider than reach on any axis.
std::vector<EdgePair> by_definition(const Scene& scene, double reach) {
  struct Edge {
    std::uint32_t strand, edge;
    Vector3d low, high;
    bool finite;
  };
  std::vector<Edge> all;
  for (std::size_t s = 0; s < scene.strands.size(); ++s) {
    const Strand& strand = scene.strands[s];
    for (std::size_t e = 0; e < strand.edges(); ++e) {
      const std::size_t n = strand.next(e);
      const Vector3d &a = strand.x[e], &b = strand.x[n], &a1 = scene.x1[s][e], &b1 = scene.x1[s][n];
      all.push_back({static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(e),
                     a.cwiseMin(b).cwiseMin(a1).cwiseMin(b1), a.cwiseMax(b).cwiseMax(a1).cwiseMax(b1),
                     a.allFinite() && b.allFinite() && a1.allFinite() && b1.allFinite()});
    }
  }
  std::vector<EdgePair> pairs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      if (!all[i].finite || !all[j].finite) continue;
      if (all[i].strand == all[j].strand) {
        const Strand& strand = scene.strands[all[i].strand];
        if (strand.next(all[i].edge) == all[j].edge || strand.next(all[j].edge) == all[i].edge) continue;
      }
      if ((all[i].low - all[j].high).maxCoeff() > reach || (all[j].low - all[i].high).maxCoeff() > reach) continue;
      pairs.push_back({all[i].strand, all[i].edge, all[j].strand, all[j].edge});
    }
  }
  return pairs;
}

void expect_same(const Scene& scene, double reach) {
  const std::vector<EdgePair> expected = by_definition(scene, reach);
  SweptPairs swept(scene.edges(), expected.size());
  ASSERT_TRUE(swept.find(scene.strands.data(), scene.strands.size(), scene.ends(), reach));
  EXPECT_TRUE(std::is_sorted(swept.pairs().begin(), swept.pairs().end()));
  EXPECT_TRUE(swept.pairs() == expected) << swept.pairs().size() << " against " << expected.size();
}

TEST(SweptPairs, FindsWhatTheDefinitionSays) {
  constexpr std::uint64_t kSeed = 20240611;
  RecordProperty("seed", std::to_string(kSeed));
  Random random(kSeed);
  std::size_t found = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const double scale = std::pow(10, random.uniform(-6, 6));
    const double length = scale * std::pow(10, random.uniform(-1.5, 0.5));
    Scene scene;
    for (std::size_t s = 0, count = 1 + random.next() % 8; s < count; ++s)
      scene.add(test::wander(random, 2 + random.next() % 60, length, scale), random.next() % 3 == 0);
    scene.move(random, random.next() % 2 ? length : 0.01 * length);
    scene.shift(Vector3d(1, -2, 3) * scale * (trial % 4 == 0 ? 1e9 : trial % 4 == 1 ? 1e3 : 0));
    scene.ready();
    const double reach = trial % 5 == 0 ? 0 : length * random.uniform(0, 2);
    expect_same(scene, reach);
    found += by_definition(scene, reach).size();
  }
  EXPECT_GT(found, 10000u);
}

double distance_of(const Strand& a, const Vector3d* a1, std::size_t i, const Strand& b, const Vector3d* b1,
                   std::size_t j, double t) {
  const auto at = [&](const Strand& s, const Vector3d* x1, std::size_t v) -> Vector3d {
    return (1 - t) * s.x[v] + t * x1[v];
  };
  return closest(RoundCone{at(a, a1, i), at(a, a1, a.next(i)), 0, 0}, at(b, b1, j), at(b, b1, b.next(j))).distance;
}

TEST(SweptPairs, LeavesOutOnlyWhatStaysApart) {
  constexpr std::uint64_t kSeed = 20261122;
  RecordProperty("seed", std::to_string(kSeed));
  Random random(kSeed);
  std::size_t by_boxes = 0, nearer = 0, left_out = 0, neighbours = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const double radius = 0.0125, edge = radius * std::pow(2, random.uniform(-1, 2));
    Scene scene;
    for (std::size_t s = 0, count = 1 + random.next() % 3; s < count; ++s) {
      // From nearly straight to a tangle.
      std::vector<Vector3d> x(2 + random.next() % 60);
      const double wild = std::pow(10, random.uniform(-2, 0));
      Vector3d along = test::anywhere(random).normalized();
      x[0] = 4 * edge * test::anywhere(random);
      for (std::size_t i = 1; i < x.size(); ++i)
        x[i] = x[i - 1] + edge * (trial % 2 == 0 ? random.uniform(1, 3) : 1) *
                              (along = (along + wild * test::anywhere(random)).normalized());
      scene.add(x, random.next() % 3 == 0);
    }
    scene.move(random, radius * std::pow(10, random.uniform(-3, 0.5)));
    scene.shift(Vector3d(1, -2, 3) * (trial % 3 == 0 ? 20 : 0));
    scene.ready();
    // Every other time of edges of different lengths.
    std::vector<std::vector<double>> nodes(scene.strands.size());
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      Strand& strand = scene.strands[k];
      strand.rest_length = edge;
      nodes[k] = {0};
      for (std::size_t i = 0; i < strand.edges(); ++i)
        nodes[k].push_back(nodes[k].back() + (strand.x[strand.next(i)] - strand.x[i]).norm() / edge);
      if (trial % 2 == 0) strand.node = nodes[k].data();
    }
    Nearness what;
    what.reach = radius * random.uniform(0.5, 4);
    what.neighbour_radii = trial % 4 == 0 ? 0 : random.uniform(2, 6);
    what.neighbour_reaches = trial % 4 == 1 ? random.uniform(0.5, 2) : 0;
    what.neighbour_reach = random.uniform(0.5, 4);
    what.neighbour_share = trial % 2 ? random.uniform(0.1, 0.6) : 0;
    what.least_arc = trial % 5 < 2 ? std::numbers::pi : 0;
    SweptPairs boxes(300, 100000), swept(300, 100000);
    ASSERT_TRUE(boxes.find(scene.strands.data(), scene.strands.size(), scene.ends(), what.reach));
    ASSERT_TRUE(swept.find_nearer(scene.strands.data(), scene.strands.size(), scene.ends(), what));
    EXPECT_TRUE(std::is_sorted(swept.pairs().begin(), swept.pairs().end()));
    EXPECT_TRUE(std::includes(boxes.pairs().begin(), boxes.pairs().end(), swept.pairs().begin(), swept.pairs().end()));
    by_boxes += boxes.pairs().size();
    nearer += swept.pairs().size();
    for (const EdgePair& pair : boxes.pairs()) {
      if (std::binary_search(swept.pairs().begin(), swept.pairs().end(), pair)) continue;
      const Strand &a = scene.strands[pair.strand_a], &b = scene.strands[pair.strand_b];
      const auto distance = [&](double t) {
        return distance_of(a, scene.x1[pair.strand_a].data(), pair.edge_a, b, scene.x1[pair.strand_b].data(),
                           pair.edge_b, t);
      };
      double reach = what.reach;
      if (pair.strand_a == pair.strand_b) {
        const double along = a.arc_between(pair.edge_a, pair.edge_b),
                     both = a.length_of(pair.edge_a) + a.length_of(pair.edge_b),
                     arc = a.closed ? std::min(along, a.arc_round(pair.edge_a, pair.edge_b)) : along;
        if (arc + both <= what.least_arc * radius) continue;
        if (arc < std::max(what.neighbour_radii * radius, what.neighbour_reaches * what.reach)) {
          ++neighbours;
          reach = std::min(reach, what.neighbour_reach * radius);
          if (what.neighbour_share > 0) reach = std::min(reach, what.neighbour_share * distance(0));
          // Of places with so much arc between them; the edges as a whole may be nearer.
          if (what.least_arc > 0 && arc < what.least_arc * radius) continue;
        }
      }
      ++left_out;
      for (int k = 0; k <= 20; ++k) ASSERT_GT(distance(k / 20.0), reach) << trial;
    }
  }
  EXPECT_GT(left_out, 5000u);
  EXPECT_GT(neighbours, 1000u);
  EXPECT_LT(2 * nearer, by_boxes);
}

TEST(SweptPairs, FindsTouchingBoxesOnly) {
  // A lattice: gaps of exactly 0 and of exactly the reach count, one ulp more does not.
  Scene scene;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) scene.add({{i * 1.0, j * 1.0, 0}, {i + 0.5, j + 0.5, 1}}, false);
  scene.ready();
  expect_same(scene, 0);
  expect_same(scene, 0.5);
  expect_same(scene, std::nextafter(0.5, 0));
  expect_same(scene, std::nextafter(0.5, 1));
  EXPECT_GT(by_definition(scene, 0.5).size(), by_definition(scene, std::nextafter(0.5, 0)).size());
}

TEST(SweptPairs, BearsMotionsAcrossEverything) {
  Random random(7);
  Scene scene;
  scene.add(test::wander(random, 300, 0.1, 5), false);
  scene.add(test::wander(random, 200, 0.1, 5), true);
  scene.copy_ends();
  scene.x1[0][100] += Vector3d(1e6, 0, 0);
  scene.x1[1][17] = Vector3d(-1e300, 1e300, 1e308);
  scene.x1[0][3] = Vector3d(1e-310, -1e-310, 0);
  scene.ready();
  expect_same(scene, 0);
  expect_same(scene, 0.3);
  expect_same(scene, 1e300);
  expect_same(scene, std::numeric_limits<double>::infinity());
}

TEST(SweptPairs, LeavesOutWhatIsNotFinite) {
  Random random(8);
  Scene scene;
  for (const bool closed : {false, true}) scene.add(test::wander(random, 100, 0.1, 1), closed);
  scene.copy_ends();
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  scene.x[0][0].y() = nan;
  scene.x1[0][50].x() = inf;
  scene.x[1][0].z() = -inf;
  scene.x1[1][99] = Vector3d(nan, inf, -inf);
  scene.ready();
  expect_same(scene, 0.2);
  SweptPairs swept(scene.edges(), 100000);
  EXPECT_TRUE(swept.find(scene.strands.data(), 2, scene.ends(), 0.2));
  EXPECT_EQ(swept.skipped(), 1u + 2u + 3u);
  EXPECT_FALSE(swept.find(scene.strands.data(), 2, scene.ends(), nan));
  EXPECT_TRUE(swept.pairs().empty());
  // What seems to go on in one direction but begins anew behind a gap.
  for (std::size_t gap = 1; gap < 39; ++gap) {
    Scene line;
    std::vector<Vector3d> x(40);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = {static_cast<double>(i < gap ? i : i - gap), 0.01, 0};
    x[gap] = {nan, 0, 0};
    line.add(x, false);
    line.ready();
    for (Strand& strand : line.strands) strand.radius = 0.1, strand.rest_length = 1;
    expect_same(line, 0);
    Nearness what;
    what.reach = 0.2;
    what.neighbour_radii = what.least_arc = 3;
    what.neighbour_reach = 2;
    SweptPairs nearer(40, 10000);
    EXPECT_TRUE(nearer.find_nearer(line.strands.data(), 1, nullptr, what));
    const std::vector<EdgePair> pairs = by_definition(line, 0);
    EXPECT_TRUE(std::includes(nearer.pairs().begin(), nearer.pairs().end(), pairs.begin(), pairs.end())) << gap;
  }
  for (auto& x : scene.x) std::fill(x.begin(), x.end(), Vector3d::Constant(nan));
  EXPECT_TRUE(swept.find(scene.strands.data(), 2, scene.ends(), 0.2));
  EXPECT_TRUE(swept.pairs().empty());
}

TEST(SweptPairs, KnowsNeighboursOfShortAndClosedStrands) {
  for (std::size_t n = 2; n < 12; ++n) {
    for (const bool closed : {false, true}) {
      Scene scene;
      scene.add(std::vector<Vector3d>(n, Vector3d(1, 2, 3)), closed);
      scene.ready();
      expect_same(scene, 0);
      const std::size_t edges = closed ? n : n - 1;
      const std::size_t joints = closed ? (n == 2 ? 1 : n) : n - 2;
      EXPECT_EQ(by_definition(scene, 0).size(), edges * (edges - 1) / 2 - joints);
    }
  }
}

TEST(SweptPairs, TakesStrandsWithoutEdgesAndMissingEnds) {
  const std::vector<Vector3d> a = {{0, 0, 0}, {1, 0, 0}}, b = {{0, 0, 0.1}, {1, 0, 0.1}},
                              lower = {{0, 0, 0}, {1, 0, -1}};
  const std::vector<Strand> strands = {{a.data(), 0}, {a.data(), 1, true}, {nullptr, 0}, {a.data(), 2}, {b.data(), 2}};
  SweptPairs swept(10, 10);
  EXPECT_TRUE(swept.find(strands.data(), strands.size(), nullptr, 0.2));
  ASSERT_EQ(swept.pairs().size(), 1u);
  EXPECT_EQ(swept.pairs()[0], (EdgePair{3, 0, 4, 0}));
  EXPECT_TRUE(swept.find(strands.data(), strands.size(), nullptr, 0));
  EXPECT_TRUE(swept.pairs().empty());
  const Vector3d* const ends[] = {nullptr, nullptr, nullptr, nullptr, lower.data()};
  EXPECT_TRUE(swept.find(strands.data(), strands.size(), ends, 0));
  EXPECT_EQ(swept.pairs().size(), 1u);
  EXPECT_TRUE(swept.find(strands.data(), 3, nullptr, 1));
  EXPECT_TRUE(swept.find(nullptr, 0, nullptr, 1));
  EXPECT_TRUE(swept.pairs().empty());
}

TEST(SweptPairs, SaysWhenItIsFullAndKeepsTheFirst) {
  Random random(9);
  Scene scene;
  scene.add(test::wander(random, 200, 0.1, 0.5), false);
  scene.ready();
  const std::vector<EdgePair> all = by_definition(scene, 0.2);
  for (const std::size_t most : {std::size_t{0}, std::size_t{1}, std::size_t{37}, all.size() - 1}) {
    SweptPairs swept(scene.edges(), most);
    EXPECT_FALSE(swept.find(scene.strands.data(), 1, scene.ends(), 0.2));
    EXPECT_TRUE(std::equal(swept.pairs().begin(), swept.pairs().end(), all.begin(), all.begin() + most));
    EXPECT_EQ(swept.pairs().size(), most);
  }
  SweptPairs small(50, all.size());
  EXPECT_FALSE(small.find(scene.strands.data(), 1, scene.ends(), 0.2));
  for (const EdgePair& pair : small.pairs()) EXPECT_LT(pair.edge_b, 50u);
  EXPECT_FALSE(small.pairs().empty());
  SweptPairs none(0, 0);
  EXPECT_FALSE(none.find(scene.strands.data(), 1, scene.ends(), 0.2));
}

TEST(SweptPairs, GivesTheSameEachTimeWithoutAllocating) {
  const Scene knot = test::tight_knot(600, 0.025), other = test::tight_knot(2400, 0.025);
  SweptPairs swept(2400, 100000), fresh(5000, 100000);
  guard::reset();
  {
    const guard::ForbidAlloc forbid;
    swept.find(other.strands.data(), 1, other.ends(), 0.05);
    swept.find(knot.strands.data(), 1, knot.ends(), 0.03);
  }
  ASSERT_TRUE(guard::active());
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
  fresh.find(knot.strands.data(), 1, knot.ends(), 0.03);
  EXPECT_TRUE(swept.pairs() == fresh.pairs());
  expect_same(knot, 0.03);
}

TEST(SweptPairs, HoldsSixtyFiveThousandEdges) {
  // Cost is recorded, not asserted.
  for (const std::size_t n : {600u, 2400u, 65536u}) {
    const Scene knot = test::tight_knot(n, 0.025);
    SweptPairs swept(n, 400000);
    for (const double reach : {0.0, 0.03}) {
      ASSERT_TRUE(swept.find(knot.strands.data(), 1, knot.ends(), reach));
      double best = 1e9;
      for (int k = 0; k < (n > 10000 ? 5 : 200); ++k) {
        const auto start = std::chrono::steady_clock::now();
        swept.find(knot.strands.data(), 1, knot.ends(), reach);
        best =
            std::min(best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
      }
      std::printf("%6zu edges, reach %.3f: %zu pairs, %.1f us\n", n - 1, reach, swept.pairs().size(), best);
    }
  }
}

}  // namespace
}  // namespace ligature::contact
