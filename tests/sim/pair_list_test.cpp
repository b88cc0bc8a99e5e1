/// The list of pairs that may touch against every pair looked at one by one, while everything moves.
#include "sim/contact/pair_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/base/random.hpp"
#include "sim/contact/edge_places.hpp"
#include "sim/contact/round_cone.hpp"
#include "tests/sim/strand_scenes.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::contact {
namespace {

using test::Scene;

double distance_of(const Strand& a, std::size_t i, const Strand& b, std::size_t j) {
  return closest(RoundCone{a.x[i], a.x[a.next(i)], 0, 0}, b.x[j], b.x[b.next(j)]).distance;
}

/// Of places with at least pi h of arc between, sampled.
double distance_along(const Strand& strand, std::size_t i, std::size_t j) {
  constexpr int kSamples = 12;
  const double ring = strand.closed ? static_cast<double>(strand.edges()) : 1e9,
               least = std::numbers::pi * strand.radius / strand.rest_length;
  double nearest = 1e9;
  for (int m = 0; m <= kSamples; ++m)
    for (int n = 0; n <= kSamples; ++n) {
      const double s = m / double{kSamples}, t = n / double{kSamples};
      const double arc = static_cast<double>(j - i) + t - s;
      if (std::min(arc, ring - arc) < least) continue;
      const Vector3d p = (1 - s) * strand.x[i] + s * strand.x[strand.next(i)],
                     q = (1 - t) * strand.x[j] + t * strand.x[strand.next(j)];
      nearest = std::min(nearest, (p - q).norm());
    }
  return nearest;
}

/// All that must be in it is, and nothing that is far away.
void expect_complete(const Scene& scene, const PairList& list, double reach, double widest) {
  const std::vector<EdgePair>& pairs = list.pairs();
  EXPECT_TRUE(std::is_sorted(pairs.begin(), pairs.end()));
  for (std::uint32_t k = 0; k < scene.strands.size(); ++k)
    for (std::uint32_t l = k; l < scene.strands.size(); ++l) {
      const Strand &a = scene.strands[k], &b = scene.strands[l];
      for (std::uint32_t i = 0; i < a.edges(); ++i)
        for (std::uint32_t j = k == l ? i + 1 : 0; j < b.edges(); ++j) {
          const double far = distance_of(a, i, b, j), radii = a.radius + b.radius;
          const EdgePair pair{k, i, l, j};
          const bool listed = std::binary_search(pairs.begin(), pairs.end(), pair);
          if (listed) {
            EXPECT_LE(far, 2 * widest + reach + (2.01 * PairList::kSkin + PairList::kMuchLess) * widest);
            EXPECT_FALSE(k == l && share_vertex(a, i, j));
            continue;
          }
          if (k == l && (share_vertex(a, i, j) || !arc_allows(a, i, j))) continue;
          if (far > radii + reach) continue;
          if (k == l) {
            std::size_t between = j - i - 1;
            if (a.closed) between = std::min(between, a.edges() - (j - i) - 1);
            const double asked = list.reach_of(scene.strands.data(), pair, reach);
            if (static_cast<double>(between) * a.rest_length < PairList::kNeighbourArc * widest * (1 - 1e-9)) {
              EXPECT_EQ(asked, std::min(reach, PairList::kNeighbourGap * a.radius));
              EXPECT_GT(distance_along(a, i, j), radii + asked) << i << " " << j;
              continue;
            }
            EXPECT_EQ(asked, reach);
          }
          ADD_FAILURE() << "strands " << k << " " << l << " edges " << i << " " << j << " at " << far / radii;
        }
    }
}

TEST(PairList, HasAllThatAreNearWhileEverythingMoves) {
  constexpr std::uint64_t kSeed = 20261121;
  RecordProperty("seed", std::to_string(kSeed));
  Random random(kSeed);
  std::size_t pairs = 0, renewals = 0, updates = 0;
  for (int trial = 0; trial < 40; ++trial) {
    Scene scene;
    const double edge = 0.025 * std::pow(2, random.uniform(-2, 1)), radius = 0.0125;
    for (std::size_t s = 0, count = 1 + random.next() % 3; s < count; ++s) {
      std::vector<Vector3d> x(10 + random.next() % 70);
      Vector3d along = test::anywhere(random).normalized();
      x[0] = 0.2 * test::anywhere(random);
      const double wild = random.next() % 3 == 0 ? 1.0 : 0.2;
      for (std::size_t i = 1; i < x.size(); ++i) {
        along = (along + wild * test::anywhere(random)).normalized();
        x[i] = x[i - 1] + edge * along;
      }
      scene.add(x, random.next() % 3 == 0);
    }
    scene.shift(Vector3d(1, 2, -3) * (trial % 2 == 0 ? 50 : 0));
    scene.ready();
    double widest = 0;
    for (Strand& strand : scene.strands) {
      strand.rest_length = edge;
      strand.radius = radius * random.uniform(0.5, 1);
      widest = std::max(widest, strand.radius);
    }
    PairList list(300, 100000);
    // A whole motion and a fast end, each vertex on its own, now and then nothing.
    for (int step = 0; step < 12; ++step) {
      const double reach = widest * (step < 6 ? 1.0 : random.uniform(0, 5));
      ASSERT_TRUE(list.update(scene.strands.data(), scene.strands.size(), reach));
      expect_complete(scene, list, reach, widest);
      pairs += list.pairs().size();
      ++updates;
      const double each = radius * std::pow(10, random.uniform(-4, -0.5)), all = step % 4 == 3 ? 0.1 : 0.3 * each;
      const Vector3d together = all * test::anywhere(random);
      for (auto& x : scene.x) {
        const Vector3d end = step % 3 == 2 ? Vector3d(20 * each * test::anywhere(random)) : Vector3d::Zero();
        for (std::size_t i = 0; i < x.size(); ++i) {
          const double part = static_cast<double>(i) / static_cast<double>(x.size());
          x[i] += together + each * test::anywhere(random) + part * part * end;
        }
      }
    }
    renewals += list.renewals();
  }
  EXPECT_GT(pairs, 10000u);
  EXPECT_LT(renewals, updates);  // it was really kept
  EXPECT_GT(renewals, 80u);      // and really renewed
}

TEST(PairList, IsEmptyForAThreadThatDoesNotTurn) {
  constexpr double kRadius = 0.1;
  for (const double edge : {0.25, 0.5, 1.0, 2.0, 5.0}) {
    for (const double bent : {0.0, 0.01, 0.05}) {  // turn over one radius
      std::vector<Vector3d> x(400);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double arc = edge * kRadius * static_cast<double>(i), k = bent / kRadius;
        // A coil of that curvature, wide enough not to come back to itself.
        x[i] = bent == 0 ? Vector3d(arc, 0.2 * arc, -arc)
                         : Vector3d(std::cos(k * arc) / k, std::sin(k * arc) / k, 0.5 * arc) / std::sqrt(1.25);
      }
      if (bent == 0)
        for (Vector3d& v : x) v /= std::sqrt(2.04);
      Strand strand{x.data(), x.size(), false, kRadius, edge * kRadius};
      PairList list(400, 100000);
      for (const double reach : {0.0, 0.1, 0.5}) {
        ASSERT_TRUE(list.update(&strand, 1, reach));
        // Where 16 edges turn too far to be seen as straight, or 8 are shorter than 3 radii, single pairs may be left.
        if (16 * edge * bent < 0.5 && edge >= 0.5) {
          EXPECT_TRUE(list.pairs().empty()) << edge << " " << bent << " " << reach;
        }
        EXPECT_LE(list.pairs().size(), 4 * x.size());
        for (auto& v : x) v += Vector3d(1, 0.5, -0.2);
      }
    }
  }
}

TEST(PairList, StandsWhileLittleMovesAndNotLonger) {
  Scene scene = test::tight_knot(600, 0.025);
  const double skin = PairList::kSkin * 0.0125;
  PairList list(600, 100000);
  const auto update = [&](double reach) { return list.update(scene.strands.data(), 1, reach); };
  ASSERT_TRUE(update(0.01));
  const std::vector<EdgePair> first = list.pairs();
  EXPECT_FALSE(first.empty());
  scene.x[0][300] += Vector3d(0.49 * skin, 0, 0);
  ASSERT_TRUE(update(0.01));
  ASSERT_TRUE(update(0.005));
  EXPECT_EQ(list.renewals(), 1u);
  EXPECT_TRUE(list.pairs() == first);
  scene.x[0][300] += Vector3d(0.02 * skin, 0, 0);
  ASSERT_TRUE(update(0.01));
  EXPECT_EQ(list.renewals(), 2u);
  ASSERT_TRUE(update(0.011));
  EXPECT_EQ(list.renewals(), 3u);
  // What a cut leaves is no longer the same strand, and what is not finite moved.
  scene.strands[0].vertices = 400;
  ASSERT_TRUE(update(0.011));
  EXPECT_EQ(list.renewals(), 4u);
  for (const EdgePair& pair : list.pairs()) EXPECT_LT(pair.edge_b, 399u);
  scene.x[0][100].y() = std::numeric_limits<double>::quiet_NaN();
  ASSERT_TRUE(update(0.011));
  ASSERT_TRUE(update(0.011));
  EXPECT_EQ(list.renewals(), 6u);
  for (const EdgePair& pair : list.pairs())
    for (const std::uint32_t edge : {pair.edge_a, pair.edge_b}) EXPECT_TRUE(edge != 99 && edge != 100);
}

TEST(PairList, SaysWhenItIsFullAndDoesNotAllocate) {
  Scene scene = test::tight_knot(600, 0.025);
  PairList list(600, 100000), small(600, 50);
  ASSERT_TRUE(list.update(scene.strands.data(), 1, 0.03));
  ASSERT_GT(list.pairs().size(), 50u);
  guard::reset();
  {
    const guard::ForbidAlloc forbid;
    for (int k = 0; k < 3; ++k) {
      EXPECT_FALSE(small.update(scene.strands.data(), 1, 0.03));
      list.update(scene.strands.data(), 1, 0.03 + 0.01 * k);
    }
  }
  ASSERT_TRUE(guard::active());
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
  EXPECT_LE(small.pairs().size(), 50u);
}

}  // namespace
}  // namespace ligature::contact
