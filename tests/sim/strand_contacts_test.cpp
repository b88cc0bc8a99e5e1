#include "sim/contact/strand_contacts.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/sim/strand_shapes.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::contact {
namespace {

constexpr double kRadius = 0.1, kReach = 0.05;
using Kind = StrandContact::Kind;

double u_of(const StrandContact& c) {
  return c.pair.edge_a + c.sa;
}
double v_of(const StrandContact& c) {
  return c.pair.edge_b + c.sb;
}
Vector3d place_a(const std::vector<Strand>& s, const StrandContact& c) {
  const Strand& a = s[c.pair.strand_a];
  return place_on(a.x, a, c.pair.edge_a, c.sa);
}
Vector3d place_b(const std::vector<Strand>& s, const StrandContact& c) {
  const Strand& b = s[c.pair.strand_b];
  return place_on(b.x, b, c.pair.edge_b, c.sb);
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
  std::size_t count(Kind kind) const {
    const auto& all_of_them = contacts.contacts();
    return static_cast<std::size_t>(
        std::count_if(all_of_them.begin(), all_of_them.end(), [=](const StrandContact& c) { return c.kind == kind; }));
  }
};

/// What contacts miss of two strands, against the distances of both curves sampled all over.
struct Missed {
  std::size_t asked = 0;    ///< places where strands are nearest to each other
  std::size_t without = 0;  ///< of them without a contact that says so
  double gap = -1e9;        ///< by how much contacts round about say more, at worst [radii]
  double over = -1e9;       ///< likewise beyond what follows from contacts standing at vertices [radii]
  double below = -1e9;      ///< by how much a contact says less than any place round about [radii]
};

/// The way from one place to another along a strand, the shorter of a ring. [edges]
double along(const Strand& s, double from, double to) {
  const double d = to - from, round = static_cast<double>(s.edges());
  return s.closed ? d - round * std::round(d / round) : d;
}

Missed missed_by(const std::vector<Thread>& threads, const std::vector<StrandContact>& contacts, double reach) {
  const std::vector<Strand> s = strands_of(threads);
  Missed worst;
  for (std::uint32_t k = 0; k < s.size(); ++k)
    for (std::uint32_t m = k; m < s.size(); ++m) {
      const Strand &a = s[k], &b = s[m];
      const double radii = a.radius + b.radius, thin = std::min(a.radius, b.radius);
      const double least = k == m ? pi * a.radius / a.rest_length : -1;
      const auto allowed = [&](double u, double v) {
        return k != m || (v - u >= least && (!a.closed || v - u <= static_cast<double>(a.edges()) - least));
      };
      const auto d = [&](double u, double v) { return (curve_at(a, u).p - curve_at(b, v).p).norm(); };
      // Of either's vertices; u, v: on a, b.
      struct There {
        double u, v, gap;
        bool beside, of_b;
      };
      std::vector<There> these;
      for (const StrandContact& c : contacts) {
        const bool beside = c.kind == Kind::beside;
        if (c.pair.strand_a == k && c.pair.strand_b == m) these.push_back({u_of(c), v_of(c), c.gap, beside, false});
        if (k != m && c.pair.strand_a == m && c.pair.strand_b == k)
          these.push_back({v_of(c), u_of(c), c.gap, beside, true});
      }

      // At every vertex that lies along the other strand: each of its nearest places there has a contact, its own or of
      // the other's vertices on either side.
      constexpr int kFine = 50;
      const int last_b = static_cast<int>(b.edges()) * kFine;
      Points fine;
      for (int j = 0; j <= last_b; ++j) fine.push_back(curve_at(b, static_cast<double>(j) / kFine).p);
      for (std::size_t i = 0; i < a.vertices; ++i) {
        const double u = static_cast<double>(i);
        const Vector3d p = curve_at(a, u).p;
        for (int j = 1; j < last_b; ++j) {
          const auto at = [&](int n) { return (fine[static_cast<std::size_t>(n)] - p).norm(); };
          if (at(j) > radii + reach || at(j) > at(j - 1) || at(j) > at(j + 1)) continue;
          double v = static_cast<double>(j) / kFine;
          if (k == m && a.closed && v < u) v += static_cast<double>(a.edges());
          if (!allowed(u, v - 0.02) || !allowed(u, v + 0.02)) continue;
          const double half_round = 0.5 * static_cast<double>(a.edges());
          if (k == m && a.closed && v - u > half_round - 2) continue;  // the vertices of the other have it, or will
          if (sharpness_at(a, b, u, v) > 0.85) continue;
          ++worst.asked;
          const bool has = std::any_of(these.begin(), these.end(), [&](const There& c) {
            if (!c.beside) return false;
            if (c.of_b) return std::abs(along(b, v, c.v)) < 0.75 && std::abs(along(a, u, c.u)) < 1.5;
            if (k == m && std::abs(along(a, v, c.u)) < 0.75 && std::abs(along(a, u, c.v)) < 1.5) return true;
            return c.u == u &&
                   (std::abs(along(b, v, c.v)) < 0.03 ||  // or another that is nearer, within an edge and a half
                    (std::abs(along(b, v, c.v)) < 1.5 && c.gap <= at(j) - radii));
          });
          if (!has) ++worst.without;
        }
      }

      // Where both are nearest to each other, however the strands lie.
      constexpr int kCoarse = 10;
      const int na = static_cast<int>(a.edges()) * kCoarse, nb = static_cast<int>(b.edges()) * kCoarse;
      const auto param = [](int n) { return static_cast<double>(n) / kCoarse; };
      Points pa, pb;
      for (int i = 0; i <= na; ++i) pa.push_back(curve_at(a, param(i)).p);
      for (int j = 0; j <= nb; ++j) pb.push_back(curve_at(b, param(j)).p);
      for (int i = 1; i < na; ++i)
        for (int j = k == m ? i + 1 : 1; j < nb; ++j) {
          const auto at = [&](int x, int y) {
            return (pa[static_cast<std::size_t>(x)] - pb[static_cast<std::size_t>(y)]).norm();
          };
          const double here = at(i, j), u = param(i), v = param(j);
          if (here > radii + reach) continue;
          bool lowest = true;
          for (int x = -1; x <= 1; ++x)
            for (int y = -1; y <= 1; ++y) lowest &= here <= at(i + x, j + y) && allowed(param(i + x), param(j + y));
          if (!lowest) continue;
          ++worst.asked;
          double gap = 1e9;
          for (const There& c : these) {
            const double near_a = c.of_b ? 2 : 0.65, near_b = c.of_b ? 0.65 : 2;
            const bool straight = std::abs(along(a, u, c.u)) < near_a && std::abs(along(b, v, c.v)) < near_b;
            const bool swapped = k == m && std::abs(along(a, v, c.u)) < near_a && std::abs(along(a, u, c.v)) < near_b;
            if (straight || swapped) gap = std::min(gap, c.gap);
          }
          const double more = gap - (here - radii), sharp = std::min(sharpness_at(a, b, u, v), 1.0);
          const double half = 0.5 * sharp * a.rest_length;
          worst.gap = std::max(worst.gap, more / thin);
          worst.over = std::max(worst.over, (more - half * half / (2 * here)) / thin);
        }

      for (const There& c : these) {
        double nearest = 1e9;
        for (int i = -10; i <= 10; ++i)
          for (int j = -10; j <= 10; ++j) {
            double u = c.u + 0.1 * i, v = c.v + 0.1 * j;
            if (!a.closed) u = std::clamp(u, 0.0, static_cast<double>(a.edges()));
            if (!b.closed) v = std::clamp(v, 0.0, static_cast<double>(b.edges()));
            nearest = std::min(nearest, d(u, v));
          }
        worst.below = std::max(worst.below, (nearest - radii - c.gap) / thin);
      }
    }
  return worst;
}

double least_distance(const Thread& a, const Thread& b) {
  double least = 1e9;
  const std::vector<Thread> both{a, b};
  const std::vector<Strand> s = strands_of(both);
  Points pa, pb;
  for (double u = 0; u <= static_cast<double>(s[0].edges()); u += 0.1) pa.push_back(curve_at(s[0], u).p);
  for (double v = 0; v <= static_cast<double>(s[1].edges()); v += 0.1) pb.push_back(curve_at(s[1], v).p);
  for (const Vector3d& p : pa)
    for (const Vector3d& q : pb) least = std::min(least, (p - q).squaredNorm());
  return std::sqrt(least);
}

Vector3d in_plane(double degrees) {
  return {std::cos(degrees * pi / 180), std::sin(degrees * pi / 180), 0};
}

// ---- how many, and where

TEST(StrandContacts, CrossingStrandsHaveOneContactAtTheCrossing) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> any(0, 1);
  for (double edge : {0.05, 0.1, 0.2})
    for (double degrees : {75.0, 80.0, 90.0, 100.0, 105.0})
      for (int trial = 0; trial < 20; ++trial) {
        const Vector3d up(0, 0, 0.19 + 0.04 * any(random));
        Finder f({straight(Vector3d::Zero(), Vector3d::UnitX(), 3, kRadius, edge, any(random)),
                  straight(up, in_plane(degrees), 3, kRadius, edge, any(random))});
        const auto& found = f.look();
        ASSERT_EQ(found.size(), 1u) << degrees << " " << edge;
        EXPECT_EQ(found[0].kind, Kind::crossing);
        EXPECT_NEAR(found[0].gap, up.z() - 0.2, 1e-9);
        EXPECT_LT(place_a(strands_of(f.threads), found[0]).norm(), 1e-8);
        EXPECT_LT((place_b(strands_of(f.threads), found[0]) - up).norm(), 1e-8);
        EXPECT_NEAR(found[0].normal.z(), -1, 1e-9);
      }
}

TEST(StrandContacts, StrandsThatCrossAtALesserAngleHaveOneAtEveryVertexInReach) {
  // The gap at the crossing is then known to what a vertex half an edge off it sees: (l/2 sin)^2 / 2d.
  std::mt19937 random(2);
  std::uniform_real_distribution<double> any(0, 1);
  for (double edge : {0.05, 0.1, 0.2})
    for (double degrees : {10.0, 25.0, 45.0, 60.0, 120.0, 155.0})
      for (int trial = 0; trial < 20; ++trial) {
        const double z = 0.19 + 0.04 * any(random), sine = std::sin(degrees * pi / 180);
        Finder f({straight(Vector3d::Zero(), Vector3d::UnitX(), 3, kRadius, edge, any(random)),
                  straight({0, 0, z}, in_plane(degrees), 3, kRadius, edge, any(random))});
        f.look();
        EXPECT_EQ(f.count(Kind::crossing), 0u) << degrees;
        double least = 1;
        std::size_t in_reach = 0;
        for (const Vector3d& x : f.threads[0].x)
          if (std::hypot(x.x() * sine, z) < 0.2 + kReach - 1e-9 && std::abs(x.x()) < 1.4) ++in_reach;
        EXPECT_GE(f.count(Kind::beside), in_reach);
        for (const StrandContact& c : f.contacts.contacts()) {
          const double x = place_a(strands_of(f.threads), c).x();
          EXPECT_NEAR(c.gap, std::hypot(x * sine, z) - 0.2, std::abs(x) < 1.3 ? 1e-9 : 1);
          // Between the vertices the strands may be nearer: known to second order, the third derivative is at most
          // this.
          const double third = 0.86 * sine * sine * sine / (z * z), half = edge / 2;
          const double nearest = std::clamp(0.0, x - half, x + half);
          if (std::abs(x) < 1.3) {
            EXPECT_NEAR(c.gap + c.dip, std::hypot(nearest * sine, z) - 0.2, third * half * half * half / 6 + 1e-9);
          }
          least = std::min(least, c.gap);
        }
        EXPECT_LE(least - (z - 0.2), edge * edge * sine * sine / (8 * z) + 1e-9);
      }
}

TEST(StrandContacts, CoarseStrandsThatCrossAtALesserAngleHaveOneAtTheCrossingToo) {
  // Edges of four diameters: no vertex need be in reach of where they cross.
  std::mt19937 random(3);
  std::uniform_real_distribution<double> any(0, 1);
  for (double edge : {0.4, 0.8})
    for (double degrees : {30.0, 45.0, 60.0, 135.0})
      for (int trial = 0; trial < 20; ++trial) {
        const Vector3d up(0, 0, 0.19 + 0.04 * any(random));
        Finder f({straight(Vector3d::Zero(), Vector3d::UnitX(), 6, kRadius, edge, any(random)),
                  straight(up, in_plane(degrees), 6, kRadius, edge, any(random))});
        const auto& found = f.look();
        ASSERT_EQ(found.size(), 1u) << degrees << " " << edge;
        EXPECT_EQ(found[0].kind, Kind::crossing);
        EXPECT_NEAR(found[0].gap, up.z() - 0.2, 1e-9);
        EXPECT_NEAR(found[0].normal.z(), -1, 1e-9);
        EXPECT_EQ(f.look().size(), 1u);
      }
}

TEST(StrandContacts, ABendThatLiesOnAStrandHasOneOnEitherSide) {
  for (double bend : {20.0, 60.0, 100.0}) {
    const double a = 0.5 * bend * pi / 180, c = std::cos(a), s = std::sin(a);
    const Thread bent{{{-c, -s, 0}, {0, 0, 0}, {c, -s, 0}}, false, kRadius, 1.0};
    const double top = -std::min(0.25 * s, kMostCut * kRadius);  // where the curve passes below its vertex
    for (double side : {0.2, -0.2}) {
      Finder f({bent, straight({0, top + side, 0}, Vector3d::UnitZ(), 1, kRadius, 1.0)});
      if (side < 0 && bend > 50) continue;  // a corner sharper than the other strand is thick: its legs touch it
      f.look();
      ASSERT_EQ(f.contacts.contacts().size(), 1u) << bend << " " << side;
      const StrandContact& only = f.contacts.contacts()[0];
      EXPECT_NEAR(only.gap, 0, 1e-12);
      EXPECT_NEAR(u_of(only), 1, 1e-9);
      EXPECT_NEAR(only.normal.y() * side, -0.2, 1e-9);
    }
  }
}

TEST(StrandContacts, ABendOfLongEdgesThatAStrandLiesAcrossHasOneOnEveryLeg) {
  // Edges of twelve diameters, places on both legs that are less than half an edge apart.
  constexpr double kEdge = 2.4;
  for (double bend : {40.0, 60.0, 80.0})
    for (double inside : {0.17, 0.2}) {
      const double a = 0.5 * bend * pi / 180, c = kEdge * std::cos(a), s = kEdge * std::sin(a);
      const Thread bent{
          {{-2 * c, -2 * s, 0}, {-c, -s, 0}, {0, 0, 0}, {c, -s, 0}, {2 * c, -2 * s, 0}}, false, kRadius, kEdge};
      const Vector3d middle(0, -inside, 0.19);
      const Thread across{{middle - Vector3d(1.5 * kEdge, 0, 0), middle - Vector3d(0.5 * kEdge, 0, 0),
                           middle + Vector3d(0.5 * kEdge, 0, 0), middle + Vector3d(1.5 * kEdge, 0, 0)},
                          false,
                          kRadius,
                          kEdge};
      Finder f({bent, across});
      for (int look = 0; look < 2; ++look) {
        const auto& found = f.look(0.02);
        ASSERT_EQ(found.size(), 2u) << bend << " " << inside;
        for (const StrandContact& on : found) {
          EXPECT_EQ(on.kind, Kind::crossing);
          EXPECT_NEAR(on.gap, middle.z() - 2 * kRadius, 1e-9);
          EXPECT_NEAR(std::abs(u_of(on) - 2), inside / s, 1e-9);
        }
        EXPECT_LT(std::abs(u_of(found[0]) - u_of(found[1])), 0.5) << "hidden by each other";
        EXPECT_LT(std::abs(v_of(found[0]) - v_of(found[1])), 0.5);
        f.contacts.remember();
      }
    }
}

TEST(StrandContacts, TwoBendsThatTouchWithTheirOuterSidesHaveOne) {
  const Thread below{{{-1, 0, -0.4}, {0, 0, 0}, {1, 0, -0.4}}, false, kRadius, 1.0};
  const double up = 2 * kRadius - 2 * kMostCut * kRadius;
  const Thread above{{{0, -1, up + 0.4}, {0, 0, up}, {0, 1, up + 0.4}}, false, kRadius, 1.0};
  // In one plane as well, where the tangents are parallel.
  const Thread beside{{{-1, 0, up + 0.4}, {0, 0, up}, {1, 0, up + 0.4}}, false, kRadius, 1.0};
  for (const Thread& other : {above, beside}) {
    Finder f({below, other});
    ASSERT_EQ(f.look().size(), 1u);
    const StrandContact& only = f.contacts.contacts()[0];
    EXPECT_NEAR(u_of(only), 1, 1e-9);
    EXPECT_NEAR(v_of(only), 1, 1e-9);
    EXPECT_NEAR(only.gap, 0, 1e-12);
  }
}

TEST(StrandContacts, StrandsAlongEachOtherHaveOneForEveryVertexOfTheFirst) {
  for (double other : {0.1, 0.07, 0.033})
    for (double phase = 0; phase < 1; phase += 0.09)
      for (double back : {1.0, -1.0}) {
        Finder f({straight(Vector3d::Zero(), Vector3d::UnitX(), 4, kRadius, 0.1, 0.5),
                  straight({0, 0.2, 0}, back * Vector3d::UnitX(), 4.3, kRadius, other, phase)});
        ASSERT_EQ(f.look().size(), f.threads[0].x.size()) << other << " " << phase << " " << back;
        EXPECT_EQ(f.count(Kind::crossing), 0u);
        std::vector<int> at(f.threads[0].x.size(), 0);
        for (const StrandContact& c : f.contacts.contacts()) {
          EXPECT_TRUE(c.sa == 0 || c.sa == 1);
          ++at[static_cast<std::size_t>(u_of(c))];
          EXPECT_NEAR(c.gap, 0, 1e-12);
          const std::vector<Strand> s = strands_of(f.threads);
          EXPECT_LT((place_b(s, c) - place_a(s, c) - Vector3d(0, 0.2, 0)).norm(), 1e-9);
        }
        EXPECT_EQ(at, std::vector<int>(at.size(), 1));
      }
}

TEST(StrandContacts, AStrandWoundRoundAnotherTouchesItBesideEveryVertex) {
  // Steeply, but on a line: sharpness is what tells it from a crossing. Nearest places on the core stay where they are,
  // those on what is wound round it would run: it has the contacts, whichever comes first.
  const Thread core = straight({0, 0, 1.9}, Vector3d::UnitZ(), 3.7, kRadius, 0.1, 0.3);
  const double rise = 0.7 * 2 * kRadius;
  const Thread wound = helix(2 * kRadius, 2 * pi * rise, 4, 0, kRadius, 0.1, 0.2);
  const double curve = std::pow(2 * kRadius, 2) + rise * rise;  // radius over curvature
  for (bool first : {true, false}) {
    Finder f({first ? core : wound, first ? wound : core});
    f.look();
    const std::vector<Strand> s = strands_of(f.threads);
    const std::uint32_t bent = first ? 1 : 0;
    EXPECT_EQ(f.count(Kind::crossing), 0u);
    std::vector<int> at(wound.x.size(), 0);
    for (const StrandContact& c : f.contacts.contacts()) {
      const double on = v_of(c), last = static_cast<double>(s[1 - c.pair.strand_a].edges());
      if (c.pair.strand_a != bent && (on == 0 || on == last)) continue;  // at an end
      ASSERT_EQ(c.pair.strand_a, bent);
      EXPECT_EQ(c.sa == 0 || c.sa == 1, true);
      ++at[static_cast<std::size_t>(u_of(c))];
      if (v_of(c) > 2 && v_of(c) < static_cast<double>(s[1 - bent].edges()) - 2 && u_of(c) > 2 &&
          u_of(c) < static_cast<double>(s[bent].edges()) - 2) {
        EXPECT_LT(sharpness_at(s[bent], s[1 - bent], u_of(c), v_of(c)), 0.3);
        // The curve runs l^2/8R inside its vertices.
        EXPECT_NEAR(c.gap, -0.1 * 0.1 / 8 * 2 * kRadius / curve, 0.003 * kRadius);
      }
    }
    for (std::size_t i = 0; i < at.size(); ++i) {
      const double z = wound.x[i].z();
      if (z < 0.2 || z > 3.5) continue;
      EXPECT_EQ(at[i], 1) << i;
    }
  }
}

/// Along a polyline, evenly.
Thread along_legs(const Points& corners, double radius, double edge) {
  std::vector<double> at{0};
  for (std::size_t i = 1; i < corners.size(); ++i) at.push_back(at.back() + (corners[i] - corners[i - 1]).norm());
  return along_curve(
      [&](double s) -> Vector3d {
        std::size_t i = 1;
        while (i + 1 < at.size() && at[i] < s) ++i;
        return corners[i - 1] + (s - at[i - 1]) / (at[i] - at[i - 1]) * (corners[i] - corners[i - 1]);
      },
      0, at.back(), radius, edge);
}

// The straight one sees a crossing, at one place. What is wound round it touches along a line: its vertices have the
// contacts, whichever comes first.
TEST(StrandContacts, WhatIsDrawnHalfRoundAStrandTouchesItAtEveryVertex) {
  for (const double thin : {kRadius, 0.25 * kRadius}) {
    const double around = kRadius + thin, edge = 0.5 * thin;
    Points wound{{-around, 0, 3}, {-around, 0, 0}};
    for (int i = 1; i < 100; ++i) {
      const double angle = pi * i / 100;
      wound.emplace_back(-around * std::cos(angle), 0, -around * std::sin(angle));
    }
    wound.insert(wound.end(), {{around, 0, 0}, {around, 0, 3}});
    const Points core{{0, -2, 0}, {0, 2, 0}};
    Points both = core, turned;
    both.insert(both.end(), {{0, 2, 3}, {-around, 2, 3}});
    both.insert(both.end(), wound.begin(), wound.end());
    turned.assign(both.rbegin(), both.rend());
    const Thread of_core = along_legs(core, kRadius, edge), of_wound = along_legs(wound, thin, edge);
    std::vector<std::vector<Thread>> scenes{{of_core, of_wound}, {of_wound, of_core}};
    if (thin == kRadius)
      scenes.insert(scenes.end(), {{along_legs(both, thin, edge)}, {along_legs(turned, thin, edge)}});
    for (std::size_t k = 0; k < scenes.size(); ++k) {
      Finder f(scenes[k], 4000);
      f.look(0.02);
      const std::vector<Strand> s = strands_of(f.threads);
      std::size_t asked = 0;
      for (std::uint32_t t = 0; t < s.size(); ++t)
        for (std::uint32_t i = 1; i + 1 < s[t].vertices; ++i) {
          const Vector3d& x = s[t].x[i];
          if (std::abs(x.y()) > 1e-9 || x.z() > -0.1 * around || std::hypot(x.x(), x.z()) < 0.5 * around) continue;
          ++asked;
          const auto at = std::find_if(f.contacts.contacts().begin(), f.contacts.contacts().end(), [&](const auto& c) {
            return c.kind == Kind::beside && c.pair.strand_a == t && u_of(c) == i;
          });
          ASSERT_NE(at, f.contacts.contacts().end()) << "scene " << k << " vertex " << i;
          EXPECT_NEAR(at->gap, 0, 0.3 * edge * edge / around);
          EXPECT_NEAR(at->normal.y(), 0, 1e-6);
        }
      EXPECT_GT(asked, 8u) << k;
    }
  }
}

TEST(StrandContacts, ABendRoundABendHasOneForEveryVertex) {
  // Concentric arcs, the inner one as tight as its thickness allows: vertices of the first, or of the outer one where a
  // place on that would run by twice what the inner one moves or more.
  const auto arc = [](double r, double phase) {
    return along_curve(
        [=](double a) -> Vector3d {
          return {r * std::cos(a), r * std::sin(a), 0};
        },
        0.2, 2.6, kRadius, 0.5 * kRadius, phase);
  };
  for (double phase : {0.0, 0.3, 0.7})
    for (double inner : {1.0, 1.5, 3.0})
      for (bool first : {true, false}) {
        const Thread in = arc(inner * kRadius, phase), out = arc((inner + 2) * kRadius, 0.1);
        Finder f({first ? in : out, first ? out : in});
        f.look();
        const std::uint32_t of = inner / (inner + 2) < 0.5 && first ? 1 : 0;
        std::vector<int> at(f.threads[of].x.size(), 0);
        for (const StrandContact& c : f.contacts.contacts())
          if (c.kind == Kind::beside && c.pair.strand_a == of) ++at[static_cast<std::size_t>(u_of(c))];
        for (std::size_t i = 2; i + 3 < at.size(); ++i) {
          const double angle = std::atan2(f.threads[of].x[i].y(), f.threads[of].x[i].x());
          if (angle < 0.5 || angle > 2.2) continue;
          EXPECT_EQ(at[i], 1) << inner << " " << first << " " << i;
        }
      }
}

// ---- nothing is missed

TEST(StrandContacts, MissNothingOfStrandsTwistedTogether) {
  Missed worst;
  double most = 0;
  for (double edge : {0.5 * kRadius, kRadius, 2 * kRadius})
    for (double pitch : {1.3, 1.6, 2.5, 5.0})
      for (double phase : {0.0, 0.5, 0.8})
        for (int together : {2, 3}) {
          const double around = together == 2 ? kRadius : 2 / std::sqrt(3.0) * kRadius * 1.05;
          std::vector<Thread> threads;
          for (int k = 0; k < together; ++k)
            threads.push_back(helix(around, pitch, 2, 2 * pi * k / together, kRadius, edge, k * phase));
          Finder f(threads);
          const auto& found = f.look();
          const Missed missed = missed_by(f.threads, found, 0.8 * kReach);
          EXPECT_GT(missed.asked, 10u);
          EXPECT_EQ(missed.without, 0u) << edge << " " << pitch << " " << phase << " " << together;
          EXPECT_LT(missed.over, edge > kRadius ? 0.025 : 0.01)
              << edge << " " << pitch << " " << phase << " " << together;
          EXPECT_LT(missed.below, 1e-3);
          worst.gap = std::max(worst.gap, missed.gap);
          double edges = 0;
          for (const Thread& t : threads) edges += static_cast<double>(t.x.size() - 1);
          most = std::max(most, static_cast<double>(found.size()) / edges);
        }
  RecordProperty("missed_radii", std::to_string(worst.gap));
  EXPECT_LT(most, 1.1);  // of three strands each lies along two others, and one of a pair has the contacts
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
      // Neighbours along the ring are listed from PairList::kNeighbourGap on.
      const Missed missed = missed_by(f.threads, found, 0.45 * kRadius);
      EXPECT_EQ(missed.without, 0u) << edge << " " << size;
      EXPECT_LT(missed.over, 0.01) << edge << " " << size;
      EXPECT_LT(missed.below, 1e-3);
    }
}

TEST(StrandContacts, MissNothingOfStrandsAtRandom) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> any(-1, 1);
  Missed worst;
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
    // A distance changes by no more than what it is moved by.
    for (double less = 1; less > 0; less = 2 * kRadius - penetration - least_distance(threads[0], threads[1]))
      for (Vector3d& x : threads[1].x) x.z() += less < 1 ? less + 0.002 * kRadius : 0;
    Finder f(threads);
    const Missed missed = missed_by(f.threads, f.look(), 0.8 * kReach);
    EXPECT_EQ(missed.without, 0u) << trial;
    EXPECT_LT(missed.over, 0.01) << trial;
    EXPECT_LT(missed.below, 1e-3) << trial;
    worst.asked += missed.asked;
    worst.gap = std::max(worst.gap, missed.gap);
  }
  EXPECT_GT(worst.asked, 200u);
  RecordProperty("missed_radii", std::to_string(worst.gap));
}

// ---- one strand

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
      const double arc = std::abs(v_of(c) - u_of(c)) * edge;
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
    EXPECT_GT(static_cast<double>(found.size()), 0.9 / edge) << edge;
    for (const StrandContact& c : found) {
      EXPECT_GE((v_of(c) - u_of(c)) * edge, pi * kRadius - 1e-9);
      EXPECT_GT(std::abs(c.normal.y()), 0.6);
    }
  }
}

TEST(StrandContacts, AKinkSharperThanTheThreadIsThickTouchesAtThatArc) {
  // Legs that open by 60 degrees: where arc allows it first they are nearer than two radii.
  for (double edge : {0.05, 0.1}) {  // of longer edges that arc ends on the next one
    Thread kinked{{}, false, kRadius, edge};
    const int leg = static_cast<int>(std::round(1 / edge));
    const Vector3d u(std::cos(pi / 6), 0.5, 0), v(std::cos(pi / 6), -0.5, 0);
    for (int i = leg; i > 0; --i) kinked.x.push_back(edge * i * u);
    for (int i = 0; i <= leg; ++i) kinked.x.push_back(edge * i * v);
    Finder f({kinked});
    f.look();
    const std::vector<Strand> s = strands_of(f.threads);
    const double least = pi * kRadius / edge;
    double deepest = 1, oracle = 1;
    for (const StrandContact& c : f.contacts.contacts()) deepest = std::min(deepest, c.gap);
    for (int i = 0; i + least < 2 * leg; ++i)
      oracle = std::min(oracle, (curve_at(s[0], i).p - curve_at(s[0], i + least).p).norm() - 2 * kRadius);
    EXPECT_LT(oracle, 0);
    EXPECT_NEAR(deepest, oracle, 1e-9) << edge;
  }
}

TEST(StrandContacts, ARingHasTheSameContactsWhereverItBegins) {
  for (double edge : {0.05, 0.1, 0.15}) {
    const Thread knot = along_curve([&](double u) { return trefoil(u, 1.2 * kRadius); }, 0, 1, kRadius, edge, 0, true);
    const double n = static_cast<double>(knot.x.size());
    Finder first({knot});
    ASSERT_GT(first.look(0.5 * kRadius).size(), 5u);
    const std::vector<Strand> s = strands_of(first.threads);
    for (std::size_t turn : {1u, 7u, 20u}) {
      Thread other = knot;
      std::rotate(other.x.begin(), other.x.begin() + static_cast<std::ptrdiff_t>(turn), other.x.end());
      Finder f({other});
      f.look(0.5 * kRadius);
      const std::vector<Strand> t = strands_of(f.threads);
      for (const StrandContact& c : first.contacts.contacts()) {
        double ahead = v_of(c) - u_of(c);
        if (ahead < 0) ahead += n;
        const bool halfway = std::abs(ahead - 0.5 * n) < 2;  // there either of the two may have it
        int same = 0;
        for (const StrandContact& o : f.contacts.contacts()) {
          const double straight = (place_a(s, c) - place_a(t, o)).norm() + (place_b(s, c) - place_b(t, o)).norm();
          const double turned = (place_a(s, c) - place_b(t, o)).norm() + (place_b(s, c) - place_a(t, o)).norm();
          same += std::min(straight, c.kind == Kind::crossing ? turned : 1) < 1e-7 && std::abs(o.gap - c.gap) < 1e-9;
        }
        if (halfway) continue;
        EXPECT_EQ(same, 1) << edge << " " << turn << " " << u_of(c) << " " << v_of(c);
      }
    }
  }
}

TEST(StrandContacts, PlacesHeldOnARingDoNotKnowWhereItBegins) {
  // Two rings wound round each other, seven times and 35 degrees steep, so that each is bent towards the other (bend
  // 1 - 2 sin^2 35 = 0.34): places are held. One ring creeps along itself past its first vertex in one step.
  const auto wound = [](double phase, double crept) {
    return along_curve(
        [=](double u) -> Vector3d {
          const double t = 2 * pi * (u + crept), p = 7 * t + phase, out = 10 * kRadius + kRadius * std::cos(p);
          return {out * std::cos(t), out * std::sin(t), kRadius * std::sin(p)};
        },
        0, 1, kRadius, 0.5 * kRadius, 0, true);
  };
  const auto crept_by = [&](std::size_t turn) {
    Finder f({wound(0, 0), wound(pi, 0)});
    const auto begin = [&](Thread ring) {
      std::rotate(ring.x.begin(), ring.x.begin() + static_cast<std::ptrdiff_t>(turn), ring.x.end());
      return ring;
    };
    f.threads[1] = begin(wound(pi, 0));
    f.look();
    const auto edges = static_cast<double>(f.threads[1].x.size());
    for (int k = 1; k <= 8; ++k) {
      f.threads[1] = begin(wound(pi, 0.1 * k / edges));
      f.again();
    }
    return f;
  };
  const Finder first = crept_by(0);
  const auto n = static_cast<double>(first.threads[1].x.size());
  ASSERT_GT(first.contacts.contacts().size(), 100u);
  for (std::size_t turn : {1u, 2u, 5u, 60u}) {
    const Finder other = crept_by(turn);
    ASSERT_EQ(other.contacts.contacts().size(), first.contacts.contacts().size()) << turn;
    for (const StrandContact& c : first.contacts.contacts()) {
      std::size_t same = 0;
      for (const StrandContact& o : other.contacts.contacts()) {
        const bool of_ring = c.pair.strand_a == 1;
        const double u = u_of(o) + (of_ring ? static_cast<double>(turn) : 0.0) - u_of(c);
        const double v = v_of(o) + (of_ring ? 0.0 : static_cast<double>(turn)) - v_of(c);
        same += c.kind == o.kind && c.pair.strand_a == o.pair.strand_a && std::abs(u - n * std::round(u / n)) < 1e-6 &&
                std::abs(v - n * std::round(v / n)) < 1e-6 && std::abs(o.gap - c.gap) < 1e-9;
      }
      EXPECT_EQ(same, 1u) << turn << " " << u_of(c) << " " << v_of(c);
    }
  }
}

// ---- sliding

/// Moves a scene in little steps, one iteration each, forces kept. Calls `look(before, now)` for every contact that
/// goes on; counts those that come and that go with a force.
struct Slide {
  std::size_t coming = 0, going = 0;
  double farthest = 0;  ///< of a place along its strand in one step [edges]
};
Slide slide(Finder& f, const std::function<std::vector<Thread>(double)>& scene, double to, int steps) {
  Slide s;
  for (int k = 1; k <= steps; ++k) {
    f.contacts.remember();
    const std::vector<StrandContact> old = f.contacts.contacts();
    f.threads = scene(to * k / steps);
    f.look();
    const std::vector<Strand> strands = strands_of(f.threads);
    std::size_t went_on = 0;
    for (const StrandContact& c : f.contacts.contacts()) {
      double best = 1e9;
      for (const StrandContact& o : old) {
        if (o.kind != c.kind || o.pair.strand_a != c.pair.strand_a || o.pair.strand_b != c.pair.strand_b) continue;
        if (c.kind == Kind::beside && u_of(o) != u_of(c)) continue;
        best = std::min(best, std::max(std::abs(along(strands[c.pair.strand_a], u_of(o), u_of(c))),
                                       std::abs(along(strands[c.pair.strand_b], v_of(o), v_of(c)))));
      }
      if (best > 0.9) {
        ++s.coming;
        continue;
      }
      ++went_on;
      s.farthest = std::max(s.farthest, best);
    }
    s.going += old.size() - std::min(went_on, old.size());
  }
  return s;
}

TEST(StrandContacts, ACrossingGlidesOverVerticesWithItsForce) {
  for (double degrees : {75.0, 90.0, 100.0})
    for (int steps : {10, 100, 1000}) {
      const double edge = 0.1;
      const auto scene = [&](double slid) -> std::vector<Thread> {
        return {straight(Vector3d::Zero(), Vector3d::UnitX(), 2, kRadius, edge),
                straight({slid - 0.15, 0.03, 0.19}, in_plane(degrees), 2, kRadius, 0.07, 0.4)};
      };
      Finder f(scene(0));
      ASSERT_EQ(f.look().size(), 1u);
      const Vector3d force = Vector3d(3, -4, 0) + 50 * f.contacts.contacts()[0].normal;
      f.contacts.contacts()[0].force = force;
      f.contacts.contacts()[0].sliding = true;
      const Slide s = slide(f, scene, 3 * edge, steps);
      EXPECT_EQ(s.coming, 0u);
      EXPECT_EQ(s.going, 0u);
      EXPECT_NEAR(s.farthest, 3.0 / steps, 1e-6);  // as far as it is slid and no further
      ASSERT_EQ(f.contacts.contacts().size(), 1u);
      EXPECT_LT((f.contacts.contacts()[0].force - force).norm(), 1e-9);
      EXPECT_TRUE(f.contacts.contacts()[0].sliding);
    }
}

TEST(StrandContacts, PlacesOfStrandsThatSlideAlongEachOtherGlideWithTheirForces) {
  const double edge = 0.1;
  for (double other : {0.1, 0.08, 0.05})
    for (int steps : {10, 100, 1000}) {
      const auto scene = [&](double slid) -> std::vector<Thread> {
        return {straight(Vector3d::Zero(), Vector3d::UnitX(), 2, kRadius, edge),
                straight({slid, 0.2, 0}, Vector3d::UnitX(), 3, kRadius, other)};
      };
      Finder f(scene(0));
      f.look();
      std::vector<Vector3d> given;
      for (StrandContact& c : f.contacts.contacts())
        given.push_back(c.force = Vector3d(1, -2 - u_of(c), std::sin(u_of(c))));
      const Slide s = slide(f, scene, 3 * edge, steps);
      EXPECT_EQ(s.coming, 0u);
      EXPECT_EQ(s.going, 0u);
      EXPECT_NEAR(s.farthest, 3 * edge / other / steps, 1e-6);
      ASSERT_EQ(f.contacts.contacts().size(), given.size());
      for (std::size_t i = 0; i < given.size(); ++i)
        EXPECT_LT((f.contacts.contacts()[i].force - given[i]).norm(), 1e-9);
    }
}

TEST(StrandContacts, PlacesGlideOnBentStrands) {
  // One round another, and turned about the axis of both: every place moves by what the strand moves, or thrice that.
  const double edge = 0.1;
  const auto twisted = [&](double slid) -> std::vector<Thread> {
    return {helix(kRadius, 1.6, 2, 0, kRadius, edge),
            along_curve(
                [=](double u) -> Vector3d {
                  const double a = 2 * pi * u + pi;
                  return {kRadius * std::cos(a), kRadius * std::sin(a), 1.6 * u};
                },
                -0.5 + slid, 2.5 + slid, kRadius, edge)};
  };
  Finder f(twisted(0));
  f.look();
  const double full = 3 * edge / std::hypot(1.6, 2 * pi * kRadius);
  Slide s = slide(f, twisted, full, 300);
  EXPECT_LT(s.farthest, 3 * 3.0 / 300);
  EXPECT_EQ(s.coming, 0u);
  // Two bights that pull on each other, one drawn through.
  const auto bights = [&](double slid) -> std::vector<Thread> {
    const auto bight = [&](double start) {
      return along_curve(
          [=](double a) -> Vector3d {
            return {0.2 * std::sin(a), 0.2 * std::cos(a), 0};
          },
          -2.5 + start, 2.5 + start, kRadius, edge);
    };
    Thread one = bight(0), two = bight(slid);
    for (Vector3d& x : two.x) x = Vector3d(x.z(), 0.4 - x.y(), x.x());
    return {one, two};
  };
  Finder g(bights(0));
  ASSERT_GT(g.look().size(), 0u);
  s = slide(g, bights, 3 * edge / 0.3, 300);
  EXPECT_LT(s.farthest, 3 * 3.0 / 300);
}

TEST(StrandContacts, ForceGoesFromVertexToVertexWithAShallowCrossing) {
  for (double degrees : {20.0, 45.0, 60.0})
    for (double step : {0.003, 0.02, 0.09}) {
      const auto scene = [&](double x) -> std::vector<Thread> {
        return {straight(Vector3d::Zero(), Vector3d::UnitX(), 3, kRadius, 0.1),
                straight({x, 0.4 * x, -0.2}, in_plane(degrees), 3, kRadius, 0.07)};
      };
      Finder f(scene(-0.5));
      f.look();
      StrandContact& deepest = *std::min_element(f.contacts.contacts().begin(), f.contacts.contacts().end(),
                                                 [](const auto& a, const auto& b) { return a.gap < b.gap; });
      deepest.force = 50 * deepest.normal;
      deepest.sliding = true;
      f.contacts.remember();
      for (double x = -0.5; x < 0.5; x += step) {
        f.threads = scene(x);
        for (int call = 0; call < 2; ++call) {  // the second call of a step carries the same force, once
          double pressing = 0;
          for (const StrandContact& c : call == 0 ? f.look() : f.again()) {
            pressing += c.force.dot(c.normal);
            EXPECT_TRUE(c.sliding || c.force.isZero(0));
          }
          ASSERT_NEAR(pressing, 50, 1e-9 * 50) << degrees << " " << step << " " << x;
        }
        f.contacts.remember();
      }
    }
}

TEST(StrandContacts, ForceAndMomentOfContactsThatEndAreKept) {
  // Strands that slide along each other until their ends have left: the contacts there end, their neighbours inherit.
  const auto scene = [&](double slid) -> std::vector<Thread> {
    return {straight(Vector3d::Zero(), Vector3d::UnitX(), 3, kRadius, 0.1),
            straight({slid, 0.2, 0}, Vector3d::UnitX(), 3, kRadius, 0.08)};
  };
  Finder f(scene(0));
  f.look();
  double whole = 0, along_whole = 0;
  for (StrandContact& c : f.contacts.contacts()) {
    c.force = Vector3d(0, -2 - place_a(strands_of(f.threads), c).x(), -1);
    whole += c.force.dot(c.normal);
    along_whole += c.force.z();
  }
  f.contacts.remember();
  const std::size_t before = f.contacts.contacts().size();
  for (double slid = 0; slid < 0.6; slid += 0.002) {
    f.threads = scene(slid);
    double pressing = 0,
           along_it = 0;  // those past the end lean, so that the sum of vectors is another before they end
    for (const StrandContact& c : f.look()) pressing += c.force.dot(c.normal), along_it += c.force.z();
    f.contacts.remember();
    ASSERT_NEAR(pressing, whole, 1e-9) << slid;
    ASSERT_NEAR(along_it, along_whole, 1e-9) << slid;
  }
  EXPECT_LT(f.contacts.contacts().size(), before);

  // One that ends between two that stay: shares that keep the moment.
  Finder g(scene(0));
  g.look();
  for (StrandContact& c : g.contacts.contacts())
    if (u_of(c) == 14) c.force = Vector3d(0, -8, 0);
  g.contacts.remember();
  g.threads[0].x[14].y() -= 0.002;  // a dent that leaves the other strand
  const std::vector<StrandContact>& found = g.look(0.001);
  double sum = 0, moment = 0;
  for (const StrandContact& c : found) {
    EXPECT_NE(u_of(c), 14);
    sum += c.force.dot(c.normal);
    moment += u_of(c) * c.force.dot(c.normal);
  }
  EXPECT_NEAR(sum, 8, 1e-9);
  EXPECT_NEAR(moment / sum, 14, 0.2);
}

// ---- side and force

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

TEST(StrandContacts, StrandsPushedThroughEachOtherKnowTheirSide) {
  for (double degrees : {0.0, 90.0}) {  // along each other and across
    const auto scene = [&](double z) -> std::vector<Thread> {
      return {straight({0.01, 0, z}, Vector3d::UnitX(), 1, kRadius, 0.1, 0.3),
              straight(Vector3d::Zero(), in_plane(degrees), 1.2, kRadius, 0.1, 0.4)};
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
  double sum = 0;
  for (StrandContact& c : f.contacts.contacts()) c.force = c.pair.edge_a * c.normal, sum += c.pair.edge_a;
  const std::size_t count = f.contacts.contacts().size();
  f.contacts.remember();
  const std::uint32_t at = 120;
  const auto cut = whole.x.begin() + at;
  f.threads = {{{whole.x.begin(), cut + 1}, false, kRadius, 0.1, 7, 0},
               {{cut, whole.x.end()}, false, kRadius, 0.1, 7, at}};
  f.contacts.divide(0, at, 1);
  f.look();
  double after = 0;
  for (const StrandContact& c : f.contacts.contacts()) {
    after += c.force.dot(c.normal);
    if (c.pair.strand_a == c.pair.strand_b)
      EXPECT_GE((v_of(c) - u_of(c)) * 0.1, pi * kRadius - 1e-9);
    else
      EXPECT_GE((v_of(c) + at - u_of(c)) * 0.1, pi * kRadius - 1e-9);
  }
  EXPECT_NEAR(static_cast<double>(f.contacts.contacts().size()), static_cast<double>(count), 4.0);  // at the new ends
  EXPECT_NEAR(after, sum, 1e-9 * sum);
  f.contacts.remember();
  f.contacts.forget(1);
  f.contacts.remember();
  for (const StrandContact& c : f.look()) EXPECT_TRUE(c.pair.strand_b == 0 || c.force.isZero(0));
}

TEST(StrandContacts, FollowARingThatIsCutOpen) {
  const Thread ring = along_curve([&](double u) { return trefoil(u, 1.2 * kRadius); }, 0, 1, kRadius, 0.05, 0, true);
  Finder f({ring});
  f.look(0.5 * kRadius);
  double load = 0;
  for (StrandContact& c : f.contacts.contacts())
    if (c.gap < 0) c.force = c.normal, load += 1;
  ASSERT_GT(load, 5);
  f.contacts.remember();
  Thread open = ring;
  const std::uint32_t at = 5;
  std::rotate(open.x.begin(), open.x.begin() + at, open.x.end());
  open.x.push_back(open.x.front());
  open.closed = false;
  open.cut_from = 7;
  open.first_edge = at;
  open.ring_edges = static_cast<std::uint32_t>(ring.x.size());
  f.threads = {open};
  f.contacts.open(0, at, static_cast<std::uint32_t>(ring.x.size()));
  double kept = 0;
  for (const StrandContact& c : f.look(0.5 * kRadius)) kept += c.force.dot(c.normal);
  // Vertices of the other leg have the contacts now; where none of them has one near, the force is lost.
  EXPECT_LE(kept, load + 1e-9);
  EXPECT_GT(kept, 0.8 * load);
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
        ASSERT_TRUE(k > 0 || c.gap <= std::max(reach, 0.06));  // what a bend is held at may be further
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
