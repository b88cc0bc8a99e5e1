#include "sim/contact/strand_contacts.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/sim/strand_shapes.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::contact {
namespace {

constexpr double kRadius = 0.1, kReach = 0.05;

Vector3d place_a(const std::vector<Strand>& s, const StrandContact& c) {
  const Strand& a = s[c.pair.strand_a];
  return (1 - c.sa) * a.x[c.pair.edge_a] + c.sa * a.x[a.next(c.pair.edge_a)];
}
Vector3d place_b(const std::vector<Strand>& s, const StrandContact& c) {
  const Strand& b = s[c.pair.strand_b];
  return (1 - c.sb) * b.x[c.pair.edge_b] + c.sb * b.x[b.next(c.pair.edge_b)];
}

/// Contacts of strands that stand still, or that the caller moves.
struct Finder {
  std::vector<Thread> threads;
  StrandContacts contacts;
  std::size_t lost = 0;
  bool all = true;

  explicit Finder(std::vector<Thread> t, std::size_t most = 1000) : threads(std::move(t)), contacts(4000, most) {}
  const std::vector<StrandContact>& look(double reach = kReach, double gather = -1) {
    const std::vector<Strand> s = strands_of(threads);
    all = contacts.gather(s.data(), s.size(), gather < 0 ? reach : gather);
    lost = contacts.find(s.data(), s.size(), reach);
    return contacts.contacts();
  }
  /// Another call of the same step.
  const std::vector<StrandContact>& again(double reach = kReach) {
    const std::vector<Strand> s = strands_of(threads);
    lost = contacts.find(s.data(), s.size(), reach);
    return contacts.contacts();
  }
};

/// By how much any two edges are nearer than the contacts round about say, in radii; looks at all pairs.
double worst_missed(const std::vector<Thread>& threads, const std::vector<StrandContact>& contacts, double reach) {
  const std::vector<Strand> s = strands_of(threads);
  double worst = -1e9;
  for (std::uint32_t k = 0; k < s.size(); ++k)
    for (std::uint32_t m = k; m < s.size(); ++m)
      for (std::uint32_t i = 0; i < s[k].edges(); ++i)
        for (std::uint32_t j = k == m ? i + 1 : 0; j < s[m].edges(); ++j) {
          const double radii = s[k].radius + s[m].radius;
          if (k == m) {  // wholly outside what arc excludes; the border has its own claims
            double apart = j - i - 1.0;
            if (s[k].closed) apart = std::min(apart, static_cast<double>(s[k].edges()) - (j - i) - 1.0);
            if (apart * s[k].rest_length < pi * s[k].radius) continue;
          }
          const Vector3d p = s[k].x[i], p1 = s[k].x[s[k].next(i)], q = s[m].x[j], q1 = s[m].x[s[m].next(j)];
          const double d = segment_distance(p, p1, q, q1);
          if (d > radii + reach) continue;
          double nearest = 1e9;
          for (const StrandContact& c : contacts) {
            if (c.pair.strand_a != k || c.pair.strand_b != m) continue;
            const double far = 2 * radii + s[k].rest_length + s[m].rest_length;
            if ((place_a(s, c) - 0.5 * (p + p1)).norm() > far || (place_b(s, c) - 0.5 * (q + q1)).norm() > far)
              continue;
            nearest = std::min(nearest, c.gap + radii);
          }
          worst = std::max(worst, (nearest - d) / std::min(s[k].radius, s[m].radius));
        }
  return worst;
}

double least_distance(const Thread& a, const Thread& b) {
  double least = 1e9;
  for (std::size_t i = 0; i + 1 < a.x.size(); ++i)
    for (std::size_t j = 0; j + 1 < b.x.size(); ++j)
      least = std::min(least, segment_distance(a.x[i], a.x[i + 1], b.x[j], b.x[j + 1]));
  return least;
}

Vector3d in_plane(double degrees) {
  return {std::cos(degrees * pi / 180), std::sin(degrees * pi / 180), 0};
}

TEST(StrandContacts, CrossingStrandsHaveOneContactAtTheCrossing) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> any(0, 1);
  for (double edge : {0.05, 0.1, 0.2})
    for (double degrees = 25; degrees <= 155; degrees += 10)
      for (int trial = 0; trial < 20; ++trial) {
        const Vector3d up(0, 0, 0.19 + 0.04 * any(random));
        Finder f({straight(Vector3d::Zero(), Vector3d::UnitX(), 3, kRadius, edge, any(random)),
                  straight(up, in_plane(degrees), 3, kRadius, edge, any(random))});
        const auto& found = f.look();
        ASSERT_EQ(found.size(), 1u) << degrees << " " << edge;
        EXPECT_NEAR(found[0].gap, up.z() - 0.2, 0.0025 * kRadius);
        const double off = place_a(strands_of(f.threads), found[0]).norm();
        EXPECT_LT(off, std::abs(90 - degrees) > 50 ? 0.35 * edge : 0.05 * edge + 0.035 * kRadius) << degrees;
        EXPECT_NEAR(found[0].normal.z(), -1, 1e-3);
      }
}

TEST(StrandContacts, OuterSideOfABendHasOneInnerSideOnePerEdge) {
  for (double bend : {20.0, 60.0, 100.0}) {
    const double a = 0.5 * bend * pi / 180, c = std::cos(a), s = std::sin(a);
    const auto bent = [&](double z) { return Thread{{{-c, -s, z}, {0, 0, z}, {c, -s, z}}, false, kRadius, 1.0}; };
    const Vector3d up = Vector3d::UnitY();
    // Across the bend in its plane's normal direction: on top of the vertex, and below it in the inner side.
    Finder outer({bent(0), straight(0.2 * up, Vector3d::UnitZ(), 1, kRadius, 1.0)});
    ASSERT_EQ(outer.look().size(), 1u) << bend;
    EXPECT_NEAR(outer.contacts.contacts()[0].gap, 0, 1e-12);
    EXPECT_EQ(outer.contacts.contacts()[0].pair.edge_a, 0u);
    EXPECT_EQ(outer.contacts.contacts()[0].sa, 1.0);
    Finder inner({bent(0), straight(-0.2 / c * up, Vector3d::UnitZ(), 1, kRadius, 1.0)});
    ASSERT_EQ(inner.look().size(), 2u) << bend;
    for (const StrandContact& k : inner.contacts.contacts()) {
      EXPECT_NEAR(k.gap, 0, 1e-4 * kRadius);
      EXPECT_GT(k.normal.y(), 0.5);
    }
  }
}

TEST(StrandContacts, TwoBendsThatTouchWithTheirVerticesHaveOne) {
  const Thread below{{{-1, 0, -0.4}, {0, 0, 0}, {1, 0, -0.4}}, false, kRadius, 1.0};
  const Thread above{{{0, -1, 0.6}, {0, 0, 0.2}, {0, 1, 0.6}}, false, kRadius, 1.0};
  Finder f({below, above});
  ASSERT_EQ(f.look().size(), 1u);
  EXPECT_EQ(f.contacts.contacts()[0].sa, 1.0);
  EXPECT_EQ(f.contacts.contacts()[0].sb, 1.0);
  EXPECT_NEAR(f.contacts.contacts()[0].gap, 0, 1e-12);
}

TEST(StrandContacts, ParallelStrandsHaveOnePerEdgeOfTheFiner) {
  for (double other : {0.1, 0.07, 0.033})
    for (double phase = 0; phase < 1; phase += 0.09)
      for (double back : {1.0, -1.0}) {
        Finder f({straight(Vector3d::Zero(), Vector3d::UnitX(), 4.05, kRadius, 0.1),
                  straight({0, 0.2, 0}, back * Vector3d::UnitX(), 4.05, kRadius, other, phase)});
        const double edges = 4.0 / other;
        const auto n = static_cast<double>(f.look().size());
        EXPECT_GT(n, 0.95 * 4.0 / 0.1) << other << " " << phase;
        EXPECT_LT(n, 1.2 * edges) << other << " " << phase;
      }
}

TEST(StrandContacts, PlacesOfNearlyParallelEdgesMoveSmoothly) {
  // One long edge turning over another about a point that is not its middle.
  Vector3d last = Vector3d::Zero();
  double most = 0;
  for (double degrees = -30; degrees <= 30; degrees += 0.01) {
    const Vector3d u = in_plane(degrees), pivot(0.06, 0, 0.2);
    Finder f({{{{-0.1, 0, 0}, {0.1, 0, 0}}, false, kRadius, 0.2},
              {{pivot - 0.12 * u, pivot + 0.08 * u}, false, kRadius, 0.2}},
             4);
    ASSERT_EQ(f.look().size(), 1u);
    const Vector3d here = place_a(strands_of(f.threads), f.contacts.contacts()[0]);
    if (degrees > -30) most = std::max(most, (here - last).norm());
    last = here;
  }
  EXPECT_LT(most, 0.002 * 0.2);  // of the edge, for a hundredth of a degree
}

/// No contact jumps: each one that goes on from one little motion to the next moves little.
double farthest_step(const std::function<std::vector<Thread>(double)>& scene, double to, int steps, double& coming) {
  Finder f(scene(0));
  f.look();
  double worst = 0;
  coming = 0;
  for (int k = 1; k <= steps; ++k) {
    f.contacts.remember();
    const std::vector<StrandContact> old = f.contacts.contacts();
    f.threads = scene(to * k / steps);
    for (const StrandContact& c : f.look()) {
      const auto was = std::find_if(old.begin(), old.end(), [&](const StrandContact& o) { return o.pair == c.pair; });
      if (was == old.end()) {
        ++coming;
        continue;
      }
      worst = std::max({worst, std::abs(c.sa - was->sa), std::abs(c.sb - was->sb)});
    }
  }
  return worst;
}

TEST(StrandContacts, PlacesMoveSmoothlyWhenStrandsSlideOrTurn) {
  double coming = 0;
  const double edge = 0.1;
  // Slides by two edges in 400 steps: 0.005 of an edge in each, places between the two by half of that, ends by all.
  EXPECT_LT(farthest_step(
                [&](double slid) -> std::vector<Thread> {
                  return {straight(Vector3d::Zero(), Vector3d::UnitX(), 2.05, kRadius, edge),
                          straight({slid, 0.2, 0}, Vector3d::UnitX(), 2.05, kRadius, edge)};
                },
                2 * edge, 400, coming),
            0.0101);
  EXPECT_LT(farthest_step(
                [&](double degrees) -> std::vector<Thread> {
                  return {straight(Vector3d::Zero(), Vector3d::UnitX(), 2.05, kRadius, edge),
                          straight({0.013, 0, 0.2}, in_plane(degrees - 20), 2.05, kRadius, edge)};
                },
                40, 4000, coming),
            0.02);
  EXPECT_LT(farthest_step(
                [&](double phase) -> std::vector<Thread> {
                  return {helix(kRadius, 1.6, 2, 0, kRadius, edge), helix(kRadius, 1.6, 2, pi, kRadius, edge, phase)};
                },
                0.99, 400, coming),
            0.02);
}

TEST(StrandContacts, MissNothingOfStrandsTwistedTogether) {
  double worst = -1, most = 0;
  for (double edge : {0.5 * kRadius, kRadius, 2 * kRadius})
    for (double pitch : {1.3, 1.6, 2.5, 5.0})
      for (double phase : {0.0, 0.2, 0.5, 0.8})
        for (int together : {2, 3}) {
          const double around = together == 2 ? kRadius : 2 / std::sqrt(3.0) * kRadius * 1.05;
          std::vector<Thread> threads;
          for (int k = 0; k < together; ++k)
            threads.push_back(helix(around, pitch, 2, 2 * pi * k / together, kRadius, edge, k * phase));
          Finder f(threads);
          const auto& found = f.look();
          const double missed = worst_missed(f.threads, found, 0.8 * kReach);
          worst = std::max(worst, missed);
          EXPECT_LT(missed, 0.005) << edge << " " << pitch << " " << phase;
          double edges = 0;
          for (const Thread& t : threads) edges += static_cast<double>(t.x.size() - 1);
          most = std::max(most, static_cast<double>(found.size()) / edges);
        }
  RecordProperty("missed_radii", std::to_string(worst));
  EXPECT_LT(most, 2.05);  // of one strand, that lies along two others
}

Vector3d trefoil(double u, double size) {
  const double a = 2 * pi * u;
  return size * Vector3d(std::sin(a) + 2 * std::sin(2 * a), std::cos(a) - 2 * std::cos(2 * a), -std::sin(3 * a));
}

TEST(StrandContacts, MissNothingOfATightTrefoil) {
  for (double edge : {0.5 * kRadius, kRadius, 2 * kRadius})
    for (double size : {1.0, 1.1, 1.25}) {
      Finder f({along_curve([&](double u) { return trefoil(u, size * kRadius); }, 0, 1, kRadius, edge, 0, true)});
      const auto& found = f.look(2 * kRadius);
      EXPECT_GT(found.size(), 5u);
      EXPECT_LT(worst_missed(f.threads, found, 1.9 * kRadius), 0.005) << edge << " " << size;
    }
}

TEST(StrandContacts, MissNothingOfStrandsAtRandom) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> any(-1, 1);
  double worst = -1;
  for (int trial = 0; trial < 300; ++trial) {
    // Two curves of curvature below 1/(2 h), near each other somewhere.
    const double bend = 0.5 / kRadius * std::abs(any(random)), edge = kRadius * (0.5 + 0.75 * (1 + any(random)));
    std::vector<Thread> threads;
    for (int k = 0; k < 2; ++k) {
      const Eigen::Quaterniond turn =
          Eigen::Quaterniond(any(random), any(random), any(random), any(random)).normalized();
      const double b = std::max(1e-3, bend * std::abs(any(random))), full = std::min(1.0, 2.0 / b);
      threads.push_back(along_curve(
          [=](double s) -> Vector3d { return turn * Vector3d(std::sin(b * s) / b, (1 - std::cos(b * s)) / b, 0); },
          -full, full, kRadius, edge, 0.5 * (1 + any(random))));
    }
    const double penetration = 0.05 * any(random) * kRadius;
    while (least_distance(threads[0], threads[1]) < 2 * kRadius - penetration)
      for (Vector3d& x : threads[1].x) x.z() += 0.02 * kRadius;
    Finder f(threads);
    const double missed = worst_missed(f.threads, f.look(), 0.8 * kReach);
    worst = std::max(worst, missed);
    EXPECT_LT(missed, 0.005) << trial;
  }
  RecordProperty("missed_radii", std::to_string(worst));
}

TEST(StrandContacts, NeighboursAlongAThreadDoNotTouchBelowPiRadiiOfArc) {
  for (double edge : {0.05, 0.1, 0.2}) {
    // A ring just wide enough for its thread: nothing; a hairpin whose legs are nearer than that: its legs.
    const auto count = static_cast<int>(std::round(2 * pi * 1.05 * kRadius / edge * 1.1));
    Thread ring{{}, true, kRadius, edge};
    for (int i = 0; i < std::max(count, 3); ++i) {
      const double a = 2 * pi * i / std::max(count, 3), r = edge / (2 * std::sin(pi / std::max(count, 3)));
      ring.x.emplace_back(r * std::cos(a), r * std::sin(a), 0);
    }
    Finder round({ring});
    for (const StrandContact& c : round.look(0.5 * kRadius)) {
      const double n = static_cast<double>(ring.x.size());
      const double arc = std::abs(c.pair.edge_b + c.sb - c.pair.edge_a - c.sa) * edge;
      EXPECT_GE(std::min(arc, n * edge - arc), pi * kRadius - 1e-9);
    }
    Finder free({straight(Vector3d::Zero(), Vector3d::UnitX(), 3, kRadius, edge)});
    EXPECT_EQ(free.look(0.9 * kRadius).size(), 0u) << edge;

    const double narrow = 0.9 * kRadius;
    Finder hairpin({along_curve(
        [&](double s) -> Vector3d {
          if (s < 1) return {-1 + s, -narrow, 0};
          if (s > 2) return {2 - s, narrow, 0};
          return {narrow * std::sin(pi * (s - 1)), -narrow * std::cos(pi * (s - 1)), 0};
        },
        0, 3, kRadius, edge)});
    const auto& found = hairpin.look();
    EXPECT_GT(static_cast<double>(found.size()), 0.6 / std::max(edge, 0.5 * kRadius)) << edge;
    for (const StrandContact& c : found) {
      EXPECT_GE((c.pair.edge_b + c.sb - c.pair.edge_a - c.sa) * edge, pi * kRadius - 1e-9);
      EXPECT_GT(std::abs(c.normal.y()), 0.6);
    }
  }
}

TEST(StrandContacts, AKinkSharperThanTheThreadIsThickTouchesAtThatArc) {
  // Legs that open by 60 degrees: at pi h of arc they are pi/2 h apart.
  Thread kinked{{}, false, kRadius, 0.1};
  const Vector3d u(std::cos(pi / 6), 0.5, 0), v(std::cos(pi / 6), -0.5, 0);
  for (int i = 10; i > 0; --i) kinked.x.push_back(0.1 * i * u);
  for (int i = 0; i <= 10; ++i) kinked.x.push_back(0.1 * i * v);
  Finder f({kinked});
  f.look();
  ASSERT_GE(f.contacts.contacts().size(), 1u);
  double deepest = 1;
  for (const StrandContact& c : f.contacts.contacts()) deepest = std::min(deepest, c.gap);
  EXPECT_NEAR(deepest, (pi / 2 - 2) * kRadius, 0.005 * kRadius);
}

TEST(StrandContacts, ARingHasTheSameContactsWhereverItBegins) {
  const Thread knot = along_curve([&](double u) { return trefoil(u, 1.2 * kRadius); }, 0, 1, kRadius, 0.1, 0, true);
  Finder first({knot});
  const std::size_t count = first.look(0.5 * kRadius).size();
  std::vector<double> gaps;
  for (const StrandContact& c : first.contacts.contacts()) gaps.push_back(c.gap);
  std::sort(gaps.begin(), gaps.end());
  for (std::size_t turn : {1u, 7u, 20u}) {
    Thread other = knot;
    std::rotate(other.x.begin(), other.x.begin() + static_cast<std::ptrdiff_t>(turn), other.x.end());
    Finder f({other});
    EXPECT_NEAR(static_cast<double>(f.look(0.5 * kRadius).size()), static_cast<double>(count),
                2.0);  // thinned otherwise
    EXPECT_NEAR(std::min_element(f.contacts.contacts().begin(), f.contacts.contacts().end(),
                                 [](const auto& a, const auto& b) { return a.gap < b.gap; })
                    ->gap,
                gaps.front(), 1e-9);
  }
}

TEST(StrandContacts, ForceGoesFromEdgeToEdgeWithASlidingCrossing) {
  for (double degrees : {30.0, 60.0, 90.0})
    for (double step : {0.003, 0.02, 0.09}) {
      const auto scene = [&](double x) -> std::vector<Thread> {
        return {straight(Vector3d::Zero(), Vector3d::UnitX(), 3, kRadius, 0.1),
                straight({x, 0.4 * x, -0.2}, in_plane(degrees), 3, kRadius, 0.07)};
      };
      Finder f(scene(-0.5));
      ASSERT_EQ(f.look().size(), 1u);
      const Vector3d force = Vector3d(3, -4, 0) + 50 * f.contacts.contacts()[0].normal;
      const double load = force.dot(f.contacts.contacts()[0].normal);
      f.contacts.contacts()[0].force = force;
      f.contacts.contacts()[0].sliding = true;
      f.contacts.remember();
      int pairs = 0;
      EdgePair last = f.contacts.contacts()[0].pair;
      for (double x = -0.5; x < 0.5; x += step) {
        f.threads = scene(x);
        for (int call = 0; call < 2; ++call) {  // the second call of a step carries the same force, once
          Vector3d sum = Vector3d::Zero();
          double pressing = 0;
          for (const StrandContact& c : call == 0 ? f.look() : f.again()) {
            sum += c.force;
            pressing += c.force.dot(c.normal);
            EXPECT_TRUE(c.sliding || c.force.isZero(0));
          }
          ASSERT_NEAR(pressing, load, 1e-9 * load) << degrees << " " << step << " " << x;
          ASSERT_LT((sum - force).norm(), 0.03 * 50);  // turned with the normal, that leans where places are pulled
        }
        if (!(f.contacts.contacts()[0].pair == last)) ++pairs;
        last = f.contacts.contacts()[0].pair;
        f.contacts.remember();
      }
      EXPECT_GE(pairs, 7);
    }
}

TEST(StrandContacts, ForceAndMomentOfStrandsThatSlideAlongEachOtherAreKept) {
  const auto scene = [&](double slid) -> std::vector<Thread> {
    return {straight(Vector3d::Zero(), Vector3d::UnitX(), 3.05, kRadius, 0.1),
            straight({slid, 0.2, 0}, Vector3d::UnitX(), 3.05, kRadius, 0.08)};
  };
  Finder f(scene(0));
  f.look();
  Vector3d whole = Vector3d::Zero();
  double moment = 0;
  for (StrandContact& c : f.contacts.contacts()) {
    const double x = place_a(strands_of(f.threads), c).x();
    if (std::abs(x) > 0.5) continue;
    c.force = Vector3d(1, 2 + x, -1);
    whole += c.force;
    moment += x * c.force.y();
  }
  f.contacts.remember();
  for (double slid = 0; slid < 0.24; slid += 0.002) {
    f.threads = scene(slid);
    Vector3d sum = Vector3d::Zero();
    double turning = 0, spread = 0;
    for (const StrandContact& c : f.look()) {
      const double x = place_a(strands_of(f.threads), c).x();
      sum += c.force;
      turning += x * c.force.y();
      if (!c.force.isZero(0)) spread = std::max(spread, std::abs(x));
    }
    f.contacts.remember();
    ASSERT_LT((sum - whole).norm(), 1e-9) << slid;
    EXPECT_LT(std::abs(turning - moment) / whole.y(), slid + 0.02);  // it moves along with the strands at most
    EXPECT_LT(spread, 0.5 + slid + 0.2);
  }
}

TEST(StrandContacts, ForceTurnsWithTheNormal) {
  const auto scene = [&](double degrees) -> std::vector<Thread> {
    const Vector3d side(0, std::cos(degrees * pi / 180), std::sin(degrees * pi / 180));
    return {straight(Vector3d::Zero(), Vector3d::UnitX(), 1, kRadius, 1),
            straight(0.2 * side, Vector3d(0.0, -side.z(), side.y()), 1, kRadius, 1)};
  };
  Finder f(scene(0));
  ASSERT_EQ(f.look().size(), 1u);
  StrandContact& first = f.contacts.contacts()[0];
  first.force = 7 * first.normal + 2 * Vector3d::UnitX();
  for (double degrees = 0; degrees <= 90; degrees += 5) {
    f.threads = scene(degrees);
    ASSERT_EQ(f.again().size(), 1u);
    const StrandContact& c = f.contacts.contacts()[0];
    EXPECT_NEAR(c.force.dot(c.normal), 7, 1e-9);
    EXPECT_NEAR(c.force.x(), 2, 1e-9);
    EXPECT_NEAR(c.force.norm(), std::sqrt(53.0), 1e-9);
  }
}

TEST(StrandContacts, APairPushedThroughItselfKnowsItsSide) {
  const auto scene = [&](double z) -> std::vector<Thread> {
    return {straight({0.01, 0, z}, Vector3d::UnitX(), 1, kRadius, 0.1, 0.3),
            straight(Vector3d::Zero(), in_plane(70), 1, kRadius, 0.1, 0.4)};
  };
  Finder f(scene(0.2));
  f.look();
  f.contacts.remember();
  for (double z : {0.1, 0.02, 0.009, 0.004, 1e-5, 0.0, -1e-5, -0.004, -0.009, -0.03, -0.08}) {
    f.threads = scene(z);
    ASSERT_GE(f.look().size(), 1u) << z;
    for (const StrandContact& c : f.contacts.contacts()) {
      EXPECT_GT(c.normal.z(), 0.9) << z;
      EXPECT_NEAR(c.gap, z - 0.2, 0.01 * kRadius) << z;
    }
    f.contacts.remember();
  }
}

TEST(StrandContacts, KeepTheDeepestWhenThereAreTooMany) {
  std::vector<Thread> threads{straight(Vector3d::Zero(), Vector3d::UnitX(), 8, kRadius, 0.1)};
  std::mt19937 random(3);
  std::uniform_real_distribution<double> any(0.15, 0.24);
  std::vector<double> gaps;
  for (int k = 0; k < 30; ++k) {
    const double z = any(random);
    gaps.push_back(z - 0.2);
    threads.push_back(straight({-3.8 + 0.26 * k, 0, z}, Vector3d::UnitY(), 1, kRadius, 0.1, 0.5));
  }
  std::sort(gaps.begin(), gaps.end());
  Finder f(threads, 5);
  f.look(0.041);
  EXPECT_EQ(f.lost, 25u);
  ASSERT_EQ(f.contacts.contacts().size(), 5u);
  std::vector<double> kept;
  for (const StrandContact& c : f.contacts.contacts()) kept.push_back(c.gap);
  EXPECT_TRUE(std::is_sorted(f.contacts.contacts().begin(), f.contacts.contacts().end(),
                             [](const auto& a, const auto& b) { return a.pair < b.pair; }));
  std::sort(kept.begin(), kept.end());
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(kept[i], gaps[i], 1e-9);
}

TEST(StrandContacts, FollowACut) {
  const Thread whole = along_curve(
      [&](double u) -> Vector3d {
        return {std::cos(6 * u), std::sin(6 * u), 0.2 / (2 * pi) * 6 * u};
      },
      0, 4, kRadius, 0.1);
  Finder f({whole});
  ASSERT_GT(f.look().size(), 20u);
  Vector3d sum = Vector3d::Zero();
  for (StrandContact& c : f.contacts.contacts()) c.force = c.pair.edge_a * c.normal, sum += c.force;
  const std::size_t count = f.contacts.contacts().size();
  f.contacts.remember();
  const std::size_t at = 120;
  const auto cut = whole.x.begin() + at;
  f.threads = {{{whole.x.begin(), cut + 1}, false, kRadius, 0.1}, {{cut, whole.x.end()}, false, kRadius, 0.1}};
  f.contacts.divide(0, at, 1);
  f.look();
  EXPECT_NEAR(static_cast<double>(f.contacts.contacts().size()), static_cast<double>(count), 2.0);  // at the new ends
  Vector3d after = Vector3d::Zero();
  for (const StrandContact& c : f.contacts.contacts()) after += c.force * (c.pair.strand_a <= c.pair.strand_b ? 1 : -1);
  EXPECT_LT((after - sum).norm(), 1e-9 * sum.norm());
  f.contacts.remember();
  f.contacts.forget(1);
  f.contacts.remember();
  for (const StrandContact& c : f.look()) EXPECT_TRUE(c.pair.strand_b == 0 || c.force.isZero(0));
}

TEST(StrandContacts, FollowARingThatIsCutOpen) {
  const Thread ring = along_curve([&](double u) { return trefoil(u, 1.1 * kRadius); }, 0, 1, kRadius, 0.1, 0, true);
  Finder f({ring});
  f.look(0.5 * kRadius);
  double load = 0;
  for (StrandContact& c : f.contacts.contacts()) c.force = c.normal, load += 1;
  f.contacts.remember();
  Thread open = ring;
  const std::size_t at = 5;
  std::rotate(open.x.begin(), open.x.begin() + at, open.x.end());
  open.x.push_back(open.x.front());
  open.closed = false;
  f.threads = {open};
  f.contacts.open(0, at, static_cast<std::uint32_t>(ring.x.size()));
  double kept = 0;
  for (const StrandContact& c : f.look(0.5 * kRadius)) kept += c.force.dot(c.normal);
  EXPECT_NEAR(kept, load, 0.05 * load);
}

TEST(StrandContacts, HashSeesWhatIsRememberedAndNothingElse) {
  const std::vector<Thread> threads{straight(Vector3d::Zero(), Vector3d::UnitX(), 3, kRadius, 0.1),
                                    straight({0, 0.2, 0}, Vector3d::UnitX(), 3, kRadius, 0.1, 0.3)};
  Finder f(threads), g(threads);
  const auto hash = [](const Finder& finder) {
    StateHash h;
    finder.contacts.add_to(h);
    return h.value();
  };
  f.look(), f.contacts.remember();
  g.look(), g.contacts.remember();
  EXPECT_EQ(hash(f), hash(g));
  g.again();
  g.contacts.contacts()[3].force.x() = 1e-300;
  EXPECT_EQ(hash(f), hash(g));
  g.contacts.remember();
  EXPECT_NE(hash(f), hash(g));
  // A step begun again starts from what was remembered.
  f.contacts.contacts()[2].force.y() = 5;
  f.look();
  for (const StrandContact& c : f.contacts.contacts()) EXPECT_TRUE(c.force.isZero(0));
}

TEST(StrandContacts, SurviveWhateverTheyAreGiven) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  std::mt19937 random(9);
  std::uniform_real_distribution<double> any(-1, 1);
  Finder f({});
  const auto finite = [&](double reach) {
    for (int k = 0; k < 2; ++k) {
      for (const StrandContact& c : k ? f.again(reach) : f.look(reach)) {
        ASSERT_TRUE(c.normal.allFinite() && std::isfinite(c.gap) && c.force.allFinite());
        ASSERT_NEAR(c.normal.norm(), 1, 1e-9);
        ASSERT_TRUE(c.sa >= 0 && c.sa <= 1 && c.sb >= 0 && c.sb <= 1);
        ASSERT_LE(c.gap, reach);
      }
      for (StrandContact& c : f.contacts.contacts()) c.force = c.normal;
      f.contacts.remember();
    }
  };
  finite(1);
  const Thread line = straight(Vector3d::Zero(), Vector3d::UnitX(), 1, kRadius, 0.1);
  f.threads = {line, line};  // one in the other
  finite(0.05);
  EXPECT_GT(f.contacts.contacts().size(), 5u);
  f.threads = {{Points(12, Vector3d(1, 2, 3)), true, kRadius, 0.1}, {Points(2, Vector3d(1, 2, 3)), false, 0.03, 0.2}};
  finite(0.05);
  f.threads = {{{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, true, 0.3, 1}, {{{0, 0, 0.1}, {0, 0, 2}}, false, 0.01, 0.01}};
  finite(0.5);
  f.threads = {line, line};
  f.threads[0].x[4] = {nan, 0, 0};
  f.threads[1].x[7] = {inf, -inf, 0};
  finite(0.05);
  for (int trial = 0; trial < 300; ++trial) {
    f.threads.clear();
    for (int k = 0; k < 3; ++k) {
      Thread t{{}, trial % 2 == 0 && k > 0, 0.05 + 0.05 * k, 0.05 + 0.1 * k};
      for (int i = 0; i < 4 + 9 * k; ++i) {
        t.x.emplace_back(any(random), any(random), any(random));
        if (trial % 7 == 0 && i % 5 == 2) t.x.back() = t.x[0];
        if (trial % 11 == 0 && i == 3) t.x.back().y() = nan;
      }
      f.threads.push_back(t);
    }
    finite(0.1);
  }
}

TEST(StrandContacts, NothingAfterCreationAllocates) {
  Finder f({helix(kRadius, 1.3, 3, 0, kRadius, 0.1), helix(kRadius, 1.3, 3, pi, kRadius, 0.1, 0.4)}, 20);
  const std::vector<Strand> s = strands_of(f.threads);
  std::size_t lost = 0;
  guard::reset();
  {
    const guard::ForbidAlloc forbid;
    for (int k = 0; k < 3; ++k) {
      f.contacts.gather(s.data(), s.size(), 0.1);
      for (int n = 0; n < 3; ++n) lost += f.contacts.find(s.data(), s.size(), 0.1);
      for (StrandContact& c : f.contacts.contacts()) c.force = c.normal;
      f.contacts.remember();
      StateHash hash;
      f.contacts.add_to(hash);
    }
    f.contacts.divide(1, 10, 2);
    f.contacts.open(0, 3, 40);
    f.contacts.forget(2);
  }
  ASSERT_TRUE(guard::active());
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
  EXPECT_GT(lost, 0u);
}

}  // namespace
}  // namespace ligature::contact
