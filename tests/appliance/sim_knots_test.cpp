/// What `ligature sim` judges from shapes and contacts alone: gaps, ties, ends that slide, crossings told.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "appliance/sim/knot_state.hpp"
#include "appliance/sim/strand_gap.hpp"
#include "appliance/sim/topology.hpp"
#include "sim/base/random.hpp"

namespace {

using namespace ligature;
using namespace ligature::simulate;

Curve curve(std::vector<Vec3> x, bool closed = false, double radius = 0.1) {
  Curve c;
  c.x = std::move(x);
  c.closed = closed;
  c.radius_mm = radius;
  double s = 0;
  for (std::size_t i = 0; i < c.x.size(); ++i) {
    c.s_mm.push_back(s);
    s += norm(c.x[c.next(i)] - c.x[i]);
  }
  c.rest_length_mm = closed ? s : c.s_mm.back();
  return c;
}

/// Straight from a to b in edges of a twentieth of the way.
std::vector<Vec3> straight(Vec3 a, Vec3 b) {
  std::vector<Vec3> out;
  for (int i = 0; i <= 20; ++i) out.push_back(a + (i / 20.0) * (b - a));
  return out;
}

/// A polyline through these points, in edges of at most `step`.
std::vector<Vec3> through(const std::vector<Vec3>& points, double step = 0.2) {
  std::vector<Vec3> out{points.front()};
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Vec3 way = points[i] - points[i - 1];
    const int n = std::max(1, static_cast<int>(std::ceil(norm(way) / step)));
    for (int k = 1; k <= n; ++k) out.push_back(points[i - 1] + (static_cast<double>(k) / n) * way);
  }
  return out;
}

/// Long trefoil [Shastri 1992]: (t^3 - 3t, t^4 - 4t^2, t^5 - 10t), with straight tails. @param sign of z turned over
/// where |t| < 1 for an unknot of the same shadow: every crossing over, none under, when `flat`
Curve overhand(bool unknotted = false, double tail = 3) {
  std::vector<Vec3> x;
  const auto at = [&](double t) {
    // Rising all the way, nothing is tied: the shadow is the same.
    const double z = unknotted ? 4 * t : 0.15 * (std::pow(t, 5) - 10 * t);
    return Vec3{t * t * t - 3 * t, std::pow(t, 4) - 4 * t * t, z};
  };
  for (double t = -2.1; t <= 2.1; t += 0.02) x.push_back(at(t));
  const auto beyond = [&](Vec3 end, Vec3 inner) { return end + (tail / norm(end - inner)) * (end - inner); };
  x.insert(x.begin(), beyond(x.front(), x[1]));
  x.push_back(beyond(x.back(), x[x.size() - 2]));
  return curve(x);
}

TEST(StrandGap, OfTwoParallelThreadsIsTheirDistanceLessBothRadii) {
  std::vector<Curve> both{curve(straight({-5, 0, 0}, {5, 0, 0}), false, 0.1),
                          curve(straight({-5, 0.35, 0}, {5, 0.35, 0}), false, 0.2)};
  both[1].origin = 1;
  const auto gap = smallest_gap(both, 0.2);
  ASSERT_TRUE(gap);
  EXPECT_NEAR(gap->gap_mm, 0.05, 1e-12);
  EXPECT_NEAR(gap->over_radius, 0.5, 1e-11) << "of the thinner";
}

TEST(StrandGap, FartherThanTheReachIsNothing) {
  std::vector<Curve> both{curve(straight({-5, 0, 0}, {5, 0, 0})), curve(straight({-5, 1, 0}, {5, 1, 0}))};
  both[1].origin = 1;
  EXPECT_FALSE(smallest_gap(both, 0.1));
}

TEST(StrandGap, TheEndsThatACutMadeAreNeighboursAndWhatComesBackToThemIsNot) {
  std::vector<Curve> pieces{curve(straight({-5, 0, 0}, {0, 0, 0})), curve(straight({0, 0, 0}, {5, 0, 0}))};
  pieces[1].cut_from_mm = 5;
  EXPECT_FALSE(smallest_gap(pieces, 0.1));
  pieces[1].cut_from_mm = 9;  // of another place of the same thread
  EXPECT_TRUE(smallest_gap(pieces, 0.1));
  // A ring that is opened: its two ends.
  std::vector<Vec3> ring;
  for (int i = 0; i <= 60; ++i)
    ring.push_back({3 * std::cos(std::numbers::pi * i / 30), 3 * std::sin(std::numbers::pi * i / 30), 0});
  Curve opened = curve(ring);
  EXPECT_TRUE(smallest_gap({opened}, 0.1));
  opened.ring_mm = opened.rest_length_mm;
  EXPECT_FALSE(smallest_gap({opened}, 0.1));
}

TEST(StrandGap, NeighboursAlongAThreadAreNone) {
  // A half circle of the thread's own radius: what a thread as thick as that can just do.
  std::vector<Vec3> x;
  for (int i = 0; i <= 40; ++i) {
    const double a = std::numbers::pi * i / 40;
    x.push_back({0.1 * std::cos(a), 0.1 * std::sin(a), 0});
  }
  const auto gap = smallest_gap({curve(x)}, 0.1);
  if (gap) {
    EXPECT_GT(gap->gap_mm, -1e-3);
  }
  // The same as a full circle of a thread that is too thick for it.
  std::vector<Vec3> ring;
  for (int i = 0; i < 80; ++i)
    ring.push_back({0.1 * std::cos(std::numbers::pi * i / 40), 0.1 * std::sin(std::numbers::pi * i / 40), 0});
  const auto inside = smallest_gap({curve(ring, true, 0.12)}, 0.1);
  EXPECT_FALSE(inside) << "half way round is less than pi h of arc";
  const auto squeezed = smallest_gap({curve(ring, true, 0.09)}, 0.1);
  ASSERT_TRUE(squeezed);
  EXPECT_GT(squeezed->gap_mm, -0.01);
}

/// The centreline by the weights of the spline, eight sides to an edge; no corner is cut by more than a fifth of the
/// radius.
std::vector<Vec3> axis_of(const Curve& c) {
  std::vector<Vec3> p;
  const long n = static_cast<long>(c.x.size());
  const auto x = [&](long i) {
    if (c.closed) return c.x[static_cast<std::size_t>((i + n) % n)];
    if (i < 0) return 2.0 * c.x[0] - c.x[1];
    return i < n ? c.x[static_cast<std::size_t>(i)] : 2.0 * c.x[c.x.size() - 1] - c.x[c.x.size() - 2];
  };
  for (long k = 0; k <= 8 * static_cast<long>(c.edges()); ++k) {
    const double u = static_cast<double>(k) / 8 + 0.5, t = u - std::floor(u);
    const long i = static_cast<long>(std::floor(u));
    const double bend = norm(x(i - 1) - 2.0 * x(i) + x(i + 1)), w = std::min(1.0, 8 * 0.2 * c.radius_mm / bend);
    const double part = (t - 0.5) / w + 0.5;
    const double before = part <= 0 ? 0.5 - t : part < 1 ? 0.5 * w * (1 - part) * (1 - part) : 0;
    const double behind = part <= 0 ? 0 : part < 1 ? 0.5 * w * part * part : t - 0.5;
    p.push_back(before * x(i - 1) + (1 - before - behind) * x(i) + behind * x(i + 1));
  }
  return p;
}

TEST(StrandGap, IsThatOfEveryPairLookedAt) {
  Random random(3);
  for (int round = 0; round < 30; ++round) {
    std::vector<Curve> curves;
    for (int k = 0; k < 3; ++k) {
      std::vector<Vec3> x{{random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1)}};
      for (int i = 0; i < 40; ++i)
        x.push_back(x.back() + Vec3{random.uniform(-0.2, 0.2), random.uniform(-0.2, 0.2), random.uniform(-0.2, 0.2)});
      curves.push_back(curve(x, k == 2, 0.02));
    }
    double least = 1e9;
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t b = a; b < 3; ++b) {
        const std::vector<Vec3> p = axis_of(curves[a]), q = axis_of(curves[b]);
        const auto s_of = [](const Curve& c, std::size_t k, double part) {
          return c.s_mm[k / 8] + (static_cast<double>(k % 8) + part) / 8 * c.edge_mm(k / 8);
        };
        for (std::size_t i = 0; i + 1 < p.size(); ++i)
          for (std::size_t j = a == b ? i + 1 : 0; j + 1 < q.size(); ++j) {
            const Nearest n = nearest_places(p[i], p[i + 1], q[j], q[j + 1]);
            const double s = s_of(curves[a], i, n.s), t = s_of(curves[b], j, n.t);
            if (a == b && curves[a].arc_between(s, t) < std::numbers::pi * 0.02) continue;
            least = std::min(least, n.distance - 0.04);
          }
      }
    const auto gap = smallest_gap(curves, 0.3);
    ASSERT_EQ(static_cast<bool>(gap), least <= 0.3);
    if (gap) {
      EXPECT_NEAR(gap->gap_mm, least, 1e-12);
    }
  }
}

TEST(StrandGap, IsBetweenTheCurvesThatContactIsBetween) {
  // Two bends that face each other with their outer sides: the curves keep an eighth of the second difference from
  // them, but no more than a fifth of the radius.
  for (const double z : {0.04, 0.5}) {
    const auto bend = [&](double side) { return curve({{-1, 0, side * z}, {0, 0, 0}, {1, 0, side * z}}); };
    Curve above = bend(1);
    const Curve below = bend(-1);
    above.origin = 1;
    const auto gap = smallest_gap({below, above}, 0.1);
    ASSERT_TRUE(gap);
    EXPECT_NEAR(gap->gap_mm, 2 * std::min(2 * z / 8, 0.2 * above.radius_mm) - 2 * above.radius_mm, 1e-12);
  }
}

TEST(Passage, IsProvenAwayOnlyWhereThereIsNone) {
  const Curve rod = curve(straight({-5, 0, 0}, {5, 0, 0}));
  const auto across = [](double z) { return curve(straight({0.1, -5, z}, {0.1, 5, z})); };
  EXPECT_FALSE(may_have_passed({rod, across(0.5)}, {rod, across(0.01)}));
  EXPECT_TRUE(may_have_passed({rod, across(0.5)}, {rod, across(-0.5)}));
  EXPECT_FALSE(may_have_passed({rod, across(0.5)}, {rod, across(0.5)}));
  // Divided anew on the way.
  const auto coarse = [](double z) { return curve({{0.1, -5, z}, {0.1, 3, z}, {0.1, 5, z}}); };
  EXPECT_FALSE(may_have_passed({rod, across(0.5)}, {rod, coarse(0.01)}));
  EXPECT_TRUE(may_have_passed({rod, coarse(0.5)}, {rod, across(-0.5)}));
}

// Drawn down in front of a rod, under it and up again.
TEST(Passage, OfWhatIsCutIntoSegmentsIsToldByWhatWasDrawn) {
  world::WorldParams drawn;
  drawn.threads.resize(2);
  drawn.threads[0].points = {{-5, 0, 0}, {5, 0, 0}};
  drawn.threads[1].points = {{0, -2, 2}, {0, -0.5, -1}, {0, 0.5, -1}, {0, 2, 2}};
  for (world::ThreadParams& t : drawn.threads) t.diameter_mm = 0.2;
  const Curve rod = curve(straight({-5, 0, 0}, {5, 0, 0}));
  const auto cut = [](const std::vector<Vec3>& x) {
    Curve c = curve(x);
    c.origin = 1;
    return c;
  };
  EXPECT_FALSE(may_be_tied_otherwise(drawn, {rod, cut(drawn.threads[1].points)}));
  EXPECT_FALSE(may_be_tied_otherwise(drawn, {rod, cut({{0, -2, 2}, {0, 0, -1}, {0, 2, 2}})}));
  EXPECT_TRUE(may_be_tied_otherwise(drawn, {rod, cut({{0, -2, 2}, {0, 2, 2}})}));
}

TEST(Tied, AnOverhandKnotIsAndItsShadowRisingAllTheWayIsNot) {
  EXPECT_TRUE(tied({overhand()})[0]);
  EXPECT_FALSE(tied({overhand(true)})[0]);
}

TEST(Tied, NothingStraightOrBentOrClosed) {
  EXPECT_FALSE(tied({curve(straight({-5, 0, 0}, {5, 0, 0}))})[0]);
  EXPECT_FALSE(tied({curve(through({{0, 0, 0}, {5, 0, 0}, {5, 5, 0}, {0, 5, 0}, {0, 1, 0}, {3, 1, 0}}))})[0])
      << "a flat spiral";
  Curve ring = overhand();
  ring.closed = true;
  EXPECT_FALSE(tied({ring})[0]);
  std::vector<Vec3> helix;
  for (int i = 0; i < 200; ++i) helix.push_back({std::cos(0.2 * i), std::sin(0.2 * i), 0.05 * i});
  EXPECT_FALSE(tied({curve(helix)})[0]);
}

TEST(Tied, TwoLoopsThroughEachOtherAreAndLyingAcrossAreNot) {
  const Curve left = curve(through({{-10, 1, 0}, {1, 1, 0}, {1, -1, 0}, {-10, -1, 0}}));
  const Curve hooked = curve(through({{10, 0, 1}, {0, 0, 1}, {0, 0, -1}, {10, 0, -1}}));
  const auto both = tied({left, hooked});
  EXPECT_TRUE(both[0] && both[1]);
  const Curve above = curve(through({{10, 0, 3}, {0, 0, 3}, {0, 0, 1}, {10, 0, 1}}));
  const auto across = tied({left, above});
  EXPECT_FALSE(across[0] || across[1]);
}

TEST(Tied, RoundAPoleIsAndBesideItIsNot) {
  const Curve round = curve(through({{-10, 1, 0}, {1, 1, 0}, {1, -1, 0}, {-10, -1, 0}}));
  EXPECT_TRUE(tied({round}, {{{0, 0, -5}, {0, 0, 5}}})[0]);
  EXPECT_FALSE(tied({round}, {{{2, 0, -5}, {2, 0, 5}}})[0]);
}

TEST(Tied, AnEndDrawnBackThroughTheLoopIsNotAnyMore) {
  // Vertex after vertex off one end: at some point the knot is gone, and stays gone.
  Curve c = overhand();
  bool was = true;
  int changes = 0;
  while (c.x.size() > 3) {
    c.x.erase(c.x.begin());
    const bool is = tied({curve(c.x)})[0];
    changes += is != was;
    was = is;
  }
  EXPECT_FALSE(was);
  EXPECT_EQ(changes, 1);
}

std::vector<Touch> knot_at(double from, double to, std::size_t thread = 0) {
  std::vector<Touch> out;
  for (int i = 0; i <= 10; ++i) out.push_back({thread, from + 0.1 * i * (to - from), 10});
  return out;
}

TEST(FreeLength, RunsToTheFirstContactThatCarriesItsShare) {
  auto touches = knot_at(4, 6);
  EXPECT_DOUBLE_EQ(*free_length(touches, 0, 10, false), 4);
  EXPECT_DOUBLE_EQ(*free_length(touches, 0, 10, true), 4);
  touches.push_back({0, 1.0, 0.5});  // a light touch far out
  EXPECT_DOUBLE_EQ(*free_length(touches, 0, 10, false), 4);
  touches.push_back({0, 2.0, 20});
  EXPECT_DOUBLE_EQ(*free_length(touches, 0, 10, false), 2);
  EXPECT_FALSE(free_length(touches, 1, 10, false)) << "nothing presses on this one";
  EXPECT_FALSE(free_length({{0, 5, 0}}, 0, 10, false));
}

TEST(LoadsFull, AreThoseAfterTheLastRamp) {
  world::WorldParams params;
  params.threads.emplace_back();
  EXPECT_EQ(loads_full_s(params, 10), 0);
  auto& t = params.threads[0];
  t.clamps.push_back({});
  t.clamps[0].velocity = {1, 0, 0};
  t.clamps[0].from_s = 0.5;
  EXPECT_EQ(loads_full_s(params, 10), 0.5) << "pulled to the end: from its start";
  t.clamps[0].until_s = 3;
  EXPECT_EQ(loads_full_s(params, 10), 3);
  t.forces.push_back({{}, {1, 0, 0}, 0.2, 1, world::kForever});
  EXPECT_EQ(loads_full_s(params, 10), 1.2) << "forces, where there are any";
  t.forces.push_back({{}, {}, 5, 1, world::kForever});
  t.forces.push_back({{}, {1, 0, 0}, 5, 11, world::kForever});
  EXPECT_EQ(loads_full_s(params, 10), 1.2) << "nothing pulls with none, or after the end";
}

// A thread of 20 mm, 0.2 thick, held at its first end; the knot is somewhere on it.
struct History {
  EndWatch watch{1.0};
  Curve thread = curve(straight({0, 0, 0}, {20, 0, 0}));
  std::vector<Hold> holds{{0, 0}};
  double t_s = 0;
  void step(double from, double to) { watch.add(t_s += 0.5, {thread}, knot_at(from, to), holds); }
};

constexpr KnotVerdict kTied{true, true, true}, kOpened{true, true, false};

TEST(Holds, AKnotThatTightensAndThenStaysDoes) {
  History h;
  h.step(8, 13);
  h.step(9, 13);  // loads full
  ASSERT_TRUE(h.watch.begun());
  for (int i = 0; i < 5; ++i) h.step(11 + 0.1 * i, 13.2);
  ASSERT_EQ(h.watch.ends().size(), 2u);
  EXPECT_FALSE(h.watch.ends()[0].tail);
  EXPECT_TRUE(h.watch.ends()[1].tail);
  EXPECT_NEAR(h.watch.ends()[1].slid_mm, 0.2, 1e-12);
  EXPECT_EQ(why_not_held(h.watch, kTied, {"a"}), "");
}

TEST(Holds, ATailThatIsDrawnInByMoreThanTwoDiametersDoesNot) {
  History h;
  h.step(8, 12);
  h.step(8, 12);
  h.step(8.5, 12.39);
  EXPECT_EQ(why_not_held(h.watch, kTied, {"a"}), "");
  h.step(9, 12.41);
  EXPECT_NE(why_not_held(h.watch, kTied, {"a"}).find("last end of 'a' slid by 0.41 mm"), std::string::npos)
      << why_not_held(h.watch, kTied, {"a"});
  h.step(9, 12);
  EXPECT_NE(why_not_held(h.watch, kTied, {"a"}), "") << "it did slide";
  KnotVerdict open = kTied;
  open.tied_at_end = false;
  EXPECT_TRUE(why_not_held(h.watch, open, {"a"}).starts_with("it came open: the last end of 'a' slid by"));
}

TEST(Holds, WhatSlidBeforeTheLoadsWereFullDoesNotCount) {
  History h;
  h.step(4, 12);  // 0.5 s
  h.step(6, 15);  // 1 s
  h.step(6, 15);
  EXPECT_EQ(why_not_held(h.watch, kTied, {"a"}), "");
}

TEST(Holds, WhereBothEndsAreHeldOneThatIsDrawnInIsASlip) {
  History h;
  h.holds.push_back({0, 20});
  h.step(8, 12);
  h.step(8, 12);
  h.step(9, 11);  // tightens: both free lengths grow
  EXPECT_EQ(why_not_held(h.watch, kTied, {"a"}), "");
  EXPECT_TRUE(h.watch.ends()[0].counts && h.watch.ends()[1].counts);
  h.step(10, 13);
  EXPECT_NE(why_not_held(h.watch, kTied, {"a"}).find("last end"), std::string::npos);
}

TEST(Holds, AStandingEndDoesNotCountBesideATail) {
  History h;
  h.step(8, 12);
  h.step(8, 12);
  h.step(7, 12);
  EXPECT_EQ(why_not_held(h.watch, kTied, {"a"}), "");
}

TEST(Holds, IsDeniedWithItsReasonWhereThereIsNothingToHold) {
  History early;
  early.step(8, 12);
  EXPECT_NE(why_not_held(early.watch, kTied, {"a"}).find("lengthen duration_s"), std::string::npos);
  History h;
  h.step(8, 12);
  h.step(8, 12);
  EXPECT_NE(why_not_held(h.watch, {true, false, false}, {"a"}).find("nothing was tied"), std::string::npos);
  EXPECT_NE(why_not_held(h.watch, kOpened, {"a"}).find("came open"), std::string::npos);
  EndWatch untouched(0);
  untouched.add(1, {h.thread}, {}, {});
  EXPECT_NE(why_not_held(untouched, kTied, {"a"}).find("no strand"), std::string::npos);
}

TEST(Holds, ACutBeginsAnew) {
  History h;
  h.step(8, 12);
  h.step(8, 12);
  h.watch.add(2, {h.thread, h.thread}, knot_at(8, 15, 1), {});
  ASSERT_EQ(h.watch.ends().size(), 2u);
  EXPECT_EQ(h.watch.ends()[0].thread, 1u);
  EXPECT_EQ(h.watch.ends()[1].slid_mm, 0);
}

TEST(Opens, WhatWasTiedAndIsNotAnyMore) {
  History h;
  h.step(8, 12);
  h.step(8, 12);
  EXPECT_EQ(why_not_open(h.watch, kOpened), "");
  EXPECT_NE(why_not_open(h.watch, kTied), "");
  EXPECT_NE(why_not_open(h.watch, {false, false, false}).find("nothing was tied"), std::string::npos);
}

StepReport report_of(std::uint32_t prevented, std::uint32_t found, double lag) {
  StepReport r;
  r.crossings_prevented = prevented;
  r.crossings_found = found;
  r.held_lag_mm = lag;
  return r;
}

TEST(TopologyLog, StepsInARowAreOneEventAndAllAreCounted) {
  TopologyLog log;
  double t = 0;
  for (const int prevented : {0, 1, 2, 1, 0, 0, 3, 0})
    log.add(t += 0.005, 0.005, report_of(static_cast<std::uint32_t>(prevented), 0, 0), false);
  const auto j = log.json();
  EXPECT_EQ(j["crossings_prevented"], 7);
  ASSERT_EQ(j["events"].size(), 2u);
  EXPECT_NEAR(j["events"][0]["t_s"].get<double>(), 0.010, 1e-12);
  EXPECT_NEAR(j["events"][1]["t_s"].get<double>(), 0.035, 1e-12);
  EXPECT_EQ(j["changed"], false);
  EXPECT_EQ(j["audited"], true);
}

TEST(TopologyLog, IsChangedByWhatPassedNotByWhatWasUndone) {
  TopologyLog log;
  log.add(0.005, 0.005, report_of(0, 2, 0), false);
  EXPECT_FALSE(log.changed());
  EXPECT_EQ(log.json()["crossings_found"], 2);
  EXPECT_EQ(log.json()["events"].size(), 1u);
  log.add(0.010, 0.005, report_of(0, 1, 0), true);
  EXPECT_TRUE(log.changed());
}

TEST(TopologyLog, HoldsAHundredEventsAndCountsTheRest) {
  TopologyLog log;
  for (int i = 0; i < 1000; ++i) log.add(0.005 * i, 0.005, report_of(i % 2 == 0, 0, 0), false);
  EXPECT_EQ(log.json()["events"].size(), 100u);
  EXPECT_EQ(log.json()["events_total"], 500);
}

TEST(TopologyLog, TellsTheLongestLagAndItsQuantiles) {
  TopologyLog log;
  for (int i = 0; i < 1000; ++i)
    log.add(0.005 * i, 0.005, report_of(0, 0, i >= 100 && i < 108 ? 0.4 : i == 500 ? 0.06 : 0.01), false);
  const auto j = log.json();
  EXPECT_NEAR(j["tool_lag_longest_ms"].get<double>(), 40, 1e-9);
  EXPECT_NEAR(j["tool_lag_max_mm"].get<double>(), 0.4, 1e-12);
  EXPECT_NEAR(j["tool_lag_p99_mm"].get<double>(), 0.01, 1e-3);
}

}  // namespace
