/// Continuous detection: no crossing missed, nothing seen where there is none, certificates that hold.
///
/// Oracles: crossings built from integers, exact in doubles; and time sampled densely in long double, the cubic's sign
/// changes bisected there.
#include "sim/contact/continuous.hpp"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>

#include "sim/base/random.hpp"
#include "tests/sim/moving_oracle.hpp"
#include "tests/sim/strand_scenes.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::contact {
namespace {

using test::anywhere;
using test::Scene;

constexpr std::uint64_t kSeed = 20240611;

/// Small integers: sums and products with eighths are exact.
Vector3d whole(Random& random, int most = 40) {
  const auto one = [&] { return std::floor(random.uniform(-most, most + 1)); };
  return {one(), one(), one()};
}
double eighths(Random& random) {
  return static_cast<double>(random.next() % 9) / 8;
}
Vector3d lerp(const Vector3d& x, const Vector3d& y, double t) {
  return (1 - t) * x + t * y;
}

void map(MovingSegment& m, const auto& f) {
  for (Vector3d* v : {&m.p, &m.q, &m.p1, &m.q1}) *v = f(*v);
}
void map(MovingTriangle& m, const auto& f) {
  for (Vector3d* v : {&m.a, &m.b, &m.c, &m.a1, &m.b1, &m.c1}) *v = f(*v);
}

struct Crossing {
  MovingSegment a, b;
  double s = 0, r = 0, t = 0;
};

/// Segments that share the places s, r at time t, exactly; degenerate in one of many ways.
Crossing exact_crossing(Random& random) {
  Crossing c;
  for (MovingSegment* m : {&c.a, &c.b}) *m = {whole(random), whole(random), whole(random), whole(random)};
  c.s = eighths(random), c.r = eighths(random), c.t = eighths(random);
  switch (random.next() % 10) {
    case 0:  // parallel all the time
      c.a.q1 = c.a.p1 + (c.a.q - c.a.p);
      c.b.q = c.b.p + 2 * (c.a.q - c.a.p), c.b.q1 = c.b.p1 + 2 * (c.a.q - c.a.p);
      break;
    case 1:  // in one plane all the time
      for (MovingSegment* m : {&c.a, &c.b}) map(*m, [](Vector3d v) { return Vector3d(v.x(), v.y(), 3); });
      break;
    case 2:  // on one line all the time
      for (MovingSegment* m : {&c.a, &c.b}) map(*m, [](Vector3d v) { return Vector3d(v.x(), -v.x(), 2 * v.x()); });
      break;
    case 3:  // a point
      c.a.q = c.a.p, c.a.q1 = c.a.p1;
      break;
    case 4:  // two points
      for (MovingSegment* m : {&c.a, &c.b}) m->q = m->p, m->q1 = m->p1;
      break;
    case 5:  // at rest
      for (MovingSegment* m : {&c.a, &c.b}) m->p1 = m->p, m->q1 = m->q;
      break;
    case 6:  // one at rest, one of which shrinks to a point
      c.a.p1 = c.a.p, c.a.q1 = c.a.q, c.b.q1 = c.b.p1;
      break;
    case 7:  // carried along together
      c.a.p1 = c.a.p + (c.b.p1 - c.b.p), c.a.q1 = c.a.q + (c.b.p1 - c.b.p), c.b.q1 = c.b.q + (c.b.p1 - c.b.p);
      break;
    default:
      break;
  }
  const Vector3d at_a = lerp(lerp(c.a.p, c.a.q, c.s), lerp(c.a.p1, c.a.q1, c.s), c.t);
  const Vector3d at_b = lerp(lerp(c.b.p, c.b.q, c.r), lerp(c.b.p1, c.b.q1, c.r), c.t);
  map(c.b, [&](Vector3d v) { return Vector3d(v + at_a - at_b); });
  return c;
}

void expect_found(const Crossing& c, double slack) {
  const auto t = first_crossing(c.a, c.b);
  ASSERT_TRUE(t.has_value());
  EXPECT_GE(*t, 0);
  EXPECT_LE(*t, c.t + slack);
  ASSERT_FALSE(certified_apart(c.a, c.b));
  ASSERT_TRUE(first_within(c.a, c.b, 0).has_value());
}

MovingSegment turned(const MovingSegment& m) {
  return {m.q, m.p, m.q1, m.p1};
}

TEST(FirstCrossing, MissesNoneThatIsExact) {
  RecordProperty("seed", std::to_string(kSeed));
  Random random(kSeed);
  for (int trial = 0; trial < 20000; ++trial) {
    SCOPED_TRACE(trial);
    Crossing c = exact_crossing(random);
    expect_found(c, 0);
    expect_found({turned(c.a), c.b, 1 - c.s, c.r, c.t}, 0);
    expect_found({c.b, c.a, c.r, c.s, c.t}, 0);
    if (HasFatalFailure()) return;
    // An offset of integers and a scale of a power of two change nothing, all of it stays exact.
    const Vector3d offset = 1024 * whole(random);
    const double scale = std::ldexp(1, static_cast<int>(random.next() % 41) - 20);
    for (MovingSegment* m : {&c.a, &c.b}) map(*m, [&](Vector3d v) { return Vector3d(scale * (v + offset)); });
    expect_found(c, 0);
    if (HasFatalFailure()) return;
  }
}

TEST(FirstCrossing, MissesNoneAtAnyScaleOrDirection) {
  Random random(kSeed + 1);
  for (int trial = 0; trial < 20000; ++trial) {
    SCOPED_TRACE(trial);
    Crossing c = exact_crossing(random);
    const double scale = std::pow(10, random.uniform(-6, 6)) / 40;
    const Eigen::Quaterniond turn(Eigen::AngleAxisd(random.uniform(0, 3), anywhere(random).normalized()));
    for (MovingSegment* m : {&c.a, &c.b}) map(*m, [&](Vector3d v) { return Vector3d(scale * (turn * v)); });
    expect_found(c, 1);
    if (HasFatalFailure()) return;
  }
}

/// Through each other's inside, at an angle, with a change of sides: rounding of an offset of 1e3 cannot undo that.
TEST(FirstCrossing, MissesNoneFarFromTheOrigin) {
  Random random(kSeed + 2);
  int trials = 0;
  while (trials < 5000) {
    Crossing c;
    for (MovingSegment* m : {&c.a, &c.b}) {
      *m = {anywhere(random), anywhere(random), Vector3d::Zero(), Vector3d::Zero()};
      m->p1 = m->p + 0.3 * anywhere(random), m->q1 = m->q + 0.3 * anywhere(random);
    }
    c.s = random.uniform(0.1, 0.9), c.r = random.uniform(0.1, 0.9), c.t = random.uniform(0.1, 0.9);
    const auto at = [](const MovingSegment& m, double s, double t) {
      return lerp(lerp(m.p, m.q, s), lerp(m.p1, m.q1, s), t);
    };
    const Vector3d move = at(c.a, c.s, c.t) - at(c.b, c.r, c.t);
    map(c.b, [&](Vector3d v) { return Vector3d(v + move); });
    const auto known = test::first_simple_crossing(c.a, c.b);
    if (!known || *known > c.t + 1e-9) continue;  // grazing
    ++trials;
    const double scale = std::pow(10, random.uniform(-2, 2));
    for (MovingSegment* m : {&c.a, &c.b})
      map(*m, [&](Vector3d v) { return Vector3d(scale * v + Vector3d(1e3, -1e3, 1e3)); });
    expect_found(c, 1e-6);
    if (HasFatalFailure()) return;
  }
}

/// In planes a distance apart, whatever they do in them.
TEST(FirstCrossing, SeesNoneInPlanesApart) {
  Random random(kSeed + 3);
  for (int trial = 0; trial < 20000; ++trial) {
    SCOPED_TRACE(trial);
    const double scale = std::pow(10, random.uniform(-6, 6));
    const double apart = std::pow(10, random.uniform(-11.5, 1));
    const Eigen::Quaterniond turn(Eigen::AngleAxisd(random.uniform(0, 3), anywhere(random).normalized()));
    MovingSegment a, b;
    for (MovingSegment* m : {&a, &b}) {
      *m = {anywhere(random), anywhere(random), anywhere(random), anywhere(random)};
      if (random.next() % 4 == 0) m->p1 = m->p, m->q1 = m->q;
      if (random.next() % 4 == 0) m->q = m->p, m->q1 = m->p1;
    }
    const double angle = std::pow(10, random.uniform(-17, 0));
    if (random.next() % 3 == 0) {  // near parallel, sliding along each other
      b.q = b.p + (a.q - a.p) + angle * anywhere(random);
      b.q1 = b.p1 + (a.q1 - a.p1) + angle * anywhere(random);
    }
    map(a, [&](Vector3d v) { return Vector3d(scale * (turn * Vector3d(v.x(), v.y(), 0))); });
    map(b, [&](Vector3d v) { return Vector3d(scale * (turn * Vector3d(v.x(), v.y(), apart))); });
    ASSERT_FALSE(first_crossing(a, b).has_value()) << apart << " " << angle;
    ASSERT_TRUE(certified_apart(a, b)) << apart << " " << angle;
    ASSERT_TRUE(certified_farther(a, b, 0.999 * scale * (apart - 2e-13)));
  }
}

/// In one plane, a line between them.
TEST(FirstCrossing, SeesNoneOnTwoSidesOfALine) {
  Random random(kSeed + 4);
  for (int trial = 0; trial < 20000; ++trial) {
    SCOPED_TRACE(trial);
    const double apart = std::pow(10, random.uniform(-11.5, 1));
    const Eigen::Quaterniond turn(Eigen::AngleAxisd(random.uniform(0, 3), anywhere(random).normalized()));
    MovingSegment a{anywhere(random), anywhere(random), anywhere(random), anywhere(random)};
    MovingSegment b{anywhere(random), anywhere(random), anywhere(random), anywhere(random)};
    const bool line = random.next() % 4 == 0;  // all on one line
    const auto place = [&](double side) {
      return [&, side](Vector3d v) {
        const Vector3d flat(side * std::abs(v.x()) + (side < 0 ? -apart : 0), line ? 0 : v.y(), 0);
        return Vector3d(turn * flat);
      };
    };
    map(a, place(1));
    map(b, place(-1));
    ASSERT_FALSE(first_crossing(a, b).has_value()) << apart;
    ASSERT_TRUE(certified_apart(a, b)) << apart;
  }
}

TEST(FirstCrossing, AgreesWithDenseSamplesOfRandomMotions) {
  Random random(kSeed + 5);
  int crossed = 0, clear = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    SCOPED_TRACE(trial);
    const double far = std::pow(10, random.uniform(-1.5, 0.5));
    MovingSegment a, b;
    for (MovingSegment* m : {&a, &b}) {
      *m = {anywhere(random), anywhere(random), Vector3d::Zero(), Vector3d::Zero()};
      m->p1 = m->p + far * anywhere(random), m->q1 = m->q + far * anywhere(random);
    }
    const auto known = test::first_simple_crossing(a, b);
    const double least = test::least_distance(a, b);
    const auto t = first_crossing(a, b);
    if (known) {
      ++crossed;
      ASSERT_TRUE(t.has_value());
      EXPECT_LE(*t, *known + 1e-12);
      EXPECT_GT(*t, *known - 1e-9);
      ASSERT_FALSE(certified_apart(a, b));
    } else if (least > 1e-9) {
      ++clear;
      EXPECT_FALSE(t.has_value()) << least;
      EXPECT_TRUE(certified_apart(a, b)) << least;
      EXPECT_TRUE(certified_farther(a, b, 0.999 * least)) << least;
      EXPECT_FALSE(certified_farther(a, b, 1.001 * least)) << least;
      const auto touch = first_within(a, b, 1.001 * least);
      ASSERT_TRUE(touch.has_value());
      EXPECT_LE(test::distance(a, b, *touch), 1.01 * least);
    }
  }
  EXPECT_GT(crossed, 200);
  EXPECT_GT(clear, 1500);
}

/// Whipped past each other by many lengths, turning over, at 1e-3 to 1e-10 of the motion.
TEST(FirstCrossing, SeesPastAFastMissNearby) {
  Random random(kSeed + 6);
  for (int trial = 0; trial < 5000; ++trial) {
    SCOPED_TRACE(trial);
    const double far = std::pow(10, random.uniform(0, 3)), apart = std::pow(10, random.uniform(-9, -3)) * far;
    MovingSegment a{anywhere(random), anywhere(random), anywhere(random), anywhere(random)};
    MovingSegment b{anywhere(random), anywhere(random), anywhere(random), anywhere(random)};
    const Vector3d way(random.uniform(-far, far), random.uniform(-far, far), 0);
    a.p.z() = a.q.z() = a.p1.z() = a.q1.z() = 0;
    for (Vector3d* v : {&b.p, &b.q, &b.p1, &b.q1}) v->z() = apart * (1 + std::abs(v->z()));
    b.p -= way, b.q -= way, b.p1 += way, b.q1 += way;
    const Vector3d together = 100 * far * anywhere(random);
    for (MovingSegment* m : {&a, &b}) m->p1 += together, m->q1 += together;
    if (apart < 1e-13 * together.norm()) continue;
    ASSERT_FALSE(first_crossing(a, b).has_value());
    ASSERT_TRUE(certified_apart(a, b));
  }
}

TEST(FirstCrossing, CrossesAtOnceWhereAnythingIsNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const MovingSegment fine{{0, 0, 0}, {1, 0, 0}, {0, 0, 0}, {1, 0, 0}};
  const MovingTriangle face{{0, 0, 9}, {1, 0, 9}, {0, 1, 9}, {0, 0, 9}, {1, 0, 9}, {0, 1, 9}};
  for (const double bad : {nan, inf, -inf, 1e308, -1e200}) {
    for (int k = 0; k < 12; ++k) {
      MovingSegment m{{0, 0, 5}, {1, 1, 5}, {0, 0, 5}, {1, 1, 5}};
      Vector3d* const all[] = {&m.p, &m.q, &m.p1, &m.q1};
      (*all[k / 3])[k % 3] = bad;
      const auto t = first_crossing(m, fine), pierced = first_piercing(m, face);
      if (std::isfinite(bad)) continue;  // too large to be told from that or not, but it comes back
      EXPECT_EQ(t, 0.0);
      EXPECT_EQ(pierced, 0.0);
      EXPECT_FALSE(certified_apart(m, fine));
      EXPECT_FALSE(certified_apart(m, face));
    }
  }
}

TEST(FirstWithin, IsTheTimeASphereIsTouched) {
  // Closed form: a point comes down on a resting segment's inside, and on its end.
  const MovingSegment edge{{-1, 0, 0}, {1, 0, 0}, {-1, 0, 0}, {1, 0, 0}};
  const MovingSegment inner{{0.3, 0, 4}, {0.3, 0, 4}, {0.3, 0, -4}, {0.3, 0, -4}};
  EXPECT_NEAR(first_within(edge, inner, 1).value(), 3.0 / 8, 1e-12);
  const MovingSegment outer{{1 + 0.6, 0, 4}, {1 + 0.6, 0, 4}, {1 + 0.6, 0, -4}, {1 + 0.6, 0, -4}};
  EXPECT_NEAR(first_within(edge, outer, 1).value(), (4 - 0.8) / 8, 1e-12);
  EXPECT_FALSE(first_within(edge, outer, 0.599).has_value());
  EXPECT_TRUE(certified_farther(edge, outer, 0.599));
  EXPECT_FALSE(certified_farther(edge, outer, 0.601));
  const MovingTriangle face{{-5, -5, 0}, {5, -5, 0}, {0, 5, 0}, {-5, -5, 1}, {5, -5, 1}, {0, 5, 1}};
  EXPECT_NEAR(first_within(inner, face, 1).value(), 3.0 / 9, 1e-12);
}

TEST(FirstPiercing, MissesNoneThatIsExact) {
  Random random(kSeed + 7);
  for (int trial = 0; trial < 20000; ++trial) {
    SCOPED_TRACE(trial);
    MovingSegment a{whole(random), whole(random), whole(random), whole(random)};
    MovingTriangle f{whole(random), whole(random), whole(random), whole(random), whole(random), whole(random)};
    switch (random.next() % 8) {
      case 0:  // in one plane all the time
        map(a, [](Vector3d v) { return Vector3d(v.x(), v.y(), 3); });
        map(f, [](Vector3d v) { return Vector3d(v.x(), v.y(), 3); });
        break;
      case 1:  // a triangle without area
        f.c = 2 * f.b - f.a, f.c1 = 2 * f.b1 - f.a1;
        break;
      case 2:  // a point
        a.q = a.p, a.q1 = a.p1;
        break;
      case 3:  // only carried along
        f.a1 = f.a + whole(random), f.b1 = f.b + (f.a1 - f.a), f.c1 = f.c + (f.a1 - f.a);
        break;
      case 4:
        f.b = f.c = f.a, f.b1 = f.c1 = f.a1;
        break;
      default:
        break;
    }
    const double s = eighths(random), t = eighths(random), u = eighths(random), v = (1 - u) * eighths(random);
    const auto on_face = [&](const Vector3d& x, const Vector3d& y, const Vector3d& z) {
      return Vector3d(u * x + v * y + (1 - u - v) * z);
    };
    const Vector3d at_a = lerp(lerp(a.p, a.q, s), lerp(a.p1, a.q1, s), t);
    const Vector3d at_f = lerp(on_face(f.a, f.b, f.c), on_face(f.a1, f.b1, f.c1), t);
    map(a, [&](Vector3d x) { return Vector3d(x + at_f - at_a); });
    for (int turn = 0; turn < 4; ++turn) {
      const auto found = first_piercing(a, f);
      ASSERT_TRUE(found.has_value());
      EXPECT_LE(*found, t + (turn == 3 ? 1 : 0));
      ASSERT_FALSE(certified_apart(a, f));
      f = {f.b, f.c, f.a, f.b1, f.c1, f.a1};
      if (turn == 1) a = turned(a), f = {f.b, f.a, f.c, f.b1, f.a1, f.c1};
      if (turn == 2) {
        const double scale = std::pow(10, random.uniform(-6, 6)) / 40;
        map(a, [&](Vector3d x) { return Vector3d(scale * x); });
        map(f, [&](Vector3d x) { return Vector3d(scale * x); });
      }
    }
  }
}

TEST(FirstPiercing, AgreesWithDenseSamplesOfRandomMotions) {
  Random random(kSeed + 8);
  int pierced = 0, clear = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    SCOPED_TRACE(trial);
    const double far = std::pow(10, random.uniform(-1.5, 0.5));
    MovingSegment a{anywhere(random), anywhere(random), Vector3d::Zero(), Vector3d::Zero()};
    a.p1 = a.p + far * anywhere(random), a.q1 = a.q + far * anywhere(random);
    MovingTriangle f{anywhere(random), anywhere(random), anywhere(random), {}, {}, {}};
    f.a1 = f.a + far * anywhere(random), f.b1 = f.b + far * anywhere(random), f.c1 = f.c + far * anywhere(random);
    const double least = test::least_distance(a, f);
    const auto t = first_piercing(a, f);
    const bool proof = certified_apart(a, f);
    if (const auto known = test::first_sampled_piercing(a, f)) {
      ++pierced;
      ASSERT_TRUE(t.has_value());
      EXPECT_LE(*t, *known);
      EXPECT_LE(test::distance(a, f, *t), 1e-9);
      ASSERT_FALSE(proof);
    } else if (least > 1e-9) {
      ++clear;
      EXPECT_FALSE(t.has_value()) << least;
      EXPECT_TRUE(proof) << least;
      EXPECT_TRUE(certified_farther(a, f, 0.999 * least));
      EXPECT_FALSE(certified_farther(a, f, 1.001 * least));
    }
  }
  EXPECT_GT(pierced, 130);
  EXPECT_GT(clear, 300);
}

TEST(FirstPiercing, SeesNoneOnTheOtherSideOfThePlane) {
  Random random(kSeed + 9);
  for (int trial = 0; trial < 10000; ++trial) {
    SCOPED_TRACE(trial);
    const double scale = std::pow(10, random.uniform(-6, 6)), apart = std::pow(10, random.uniform(-11.5, 1));
    const Eigen::Quaterniond turn(Eigen::AngleAxisd(random.uniform(0, 3), anywhere(random).normalized()));
    MovingSegment a{anywhere(random), anywhere(random), anywhere(random), anywhere(random)};
    MovingTriangle f{anywhere(random), anywhere(random), anywhere(random),
                     anywhere(random), anywhere(random), anywhere(random)};
    const bool above = random.next() % 2;  // the segment anywhere above, or in its own plane
    map(a, [&](Vector3d v) {
      return Vector3d(scale * (turn * Vector3d(v.x(), v.y(), apart + (above ? std::abs(v.z()) : 0))));
    });
    map(f, [&](Vector3d v) { return Vector3d(scale * (turn * Vector3d(v.x(), v.y(), 0))); });
    ASSERT_FALSE(first_piercing(a, f).has_value()) << apart;
    ASSERT_TRUE(certified_apart(a, f)) << apart;
  }
}

// --- the guard

/// Signed crossings of two rings seen from above, half of them all: how often they are linked.
int linked(const std::vector<Vector3d>& a, const std::vector<Vector3d>& b) {
  int sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      const Vector3d &p = a[i], &q = a[(i + 1) % a.size()], &r = b[j], &s = b[(j + 1) % b.size()];
      const auto area = [](const Vector3d& x, const Vector3d& y, const Vector3d& z) {
        return (y.x() - x.x()) * (z.y() - x.y()) - (y.y() - x.y()) * (z.x() - x.x());
      };
      const double r_side = area(p, q, r), s_side = area(p, q, s), p_side = area(r, s, p), q_side = area(r, s, q);
      if (r_side * s_side >= 0 || p_side * q_side >= 0) continue;
      const double u = p_side / (p_side - q_side), v = r_side / (r_side - s_side);
      const int above = lerp(p, q, u).z() > lerp(r, s, v).z() ? 1 : -1;
      const double turn = (q.x() - p.x()) * (s.y() - r.y()) - (q.y() - p.y()) * (s.x() - r.x());
      sum += above * (turn > 0 ? 1 : -1);
    }
  }
  return sum / 2;
}

std::vector<Vector3d> ring(std::size_t n, const Vector3d& centre, const Vector3d& x, const Vector3d& y) {
  std::vector<Vector3d> out;
  for (std::size_t i = 0; i < n; ++i) {
    const double a = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
    out.push_back(centre + std::cos(a) * x + std::sin(a) * y);
  }
  return out;
}

TEST(CrossingGuard, KeepsLinkedRingsLinkedAndOthersApart) {
  for (const bool guarded : {true, false}) {
    Random random(kSeed + 10);
    Scene scene;
    scene.add(ring(24, {0, 0, 0}, {1, 0.1, 0}, {0, 1, 0.2}), true);
    scene.add(ring(24, {1.03, 0.02, 0.01}, {1, 0, 0.1}, {0, 0.1, 1}), true);
    scene.add(ring(24, {0.5, 3, 0}, {1, 0, 0.1}, {0, 0.1, 1}), true);
    scene.ready();
    CrossingGuard guard(scene.edges(), 20000);
    ASSERT_NE(linked(scene.x[0], scene.x[1]), 0);
    ASSERT_EQ(linked(scene.x[0], scene.x[2]), 0);
    const int before = linked(scene.x[0], scene.x[1]);
    std::size_t found = 0, cut = 0, changed = 0;
    double went = 0;
    for (int step = 0; step < 1500; ++step) {
      // Rings pulled to and fro as a whole, their vertices shaken by half an edge.
      for (std::size_t s = 0; s < 3; ++s) {
        const Vector3d pull = 0.3 * anywhere(random) - (step % 40 < 20 ? 0.1 : -0.1) * scene.x[s][0];
        for (std::size_t i = 0; i < 24; ++i)
          scene.x1[s][i] = scene.x[s][i] + pull + 0.1 * anywhere(random) +
                           0.3 * (0.5 * (scene.x[s][(i + 1) % 24] + scene.x[s][(i + 23) % 24]) - scene.x[s][i]);
      }
      double fraction = 1;
      if (guarded) {
        const auto verdict = guard.look(scene.strands.data(), 3, scene.ends());
        ASSERT_TRUE(verdict.complete);
        fraction = verdict.fraction;
        found += verdict.found, cut += fraction < 1;
        if (fraction < 1)
          for (std::size_t s = 0; s < 3; ++s)
            for (std::size_t i = 0; i < 24; ++i)
              scene.x1[s][i] = scene.x[s][i] + fraction * (scene.x1[s][i] - scene.x[s][i]);
        ASSERT_EQ(guard.audit(scene.strands.data(), 3, scene.ends()), 0u) << step;
      }
      went += fraction;
      for (std::size_t s = 0; s < 3; ++s) scene.x[s] = scene.x1[s];
      scene.ready();
      if (linked(scene.x[0], scene.x[1]) != before || linked(scene.x[0], scene.x[2]) != 0) ++changed;
    }
    if (guarded) {
      EXPECT_EQ(changed, 0u);
      EXPECT_GT(found, 100u);
      RecordProperty("motions_cut", std::to_string(cut));
      RecordProperty("went", std::to_string(went));
    } else {
      EXPECT_GT(changed, 100u) << "the test cannot fail";
    }
  }
}

TEST(CrossingGuard, FindsWhatEveryPairAskedFinds) {
  Random random(kSeed + 11);
  std::size_t crossings = 0, cut = 0;
  for (int trial = 0; trial < 150; ++trial) {
    SCOPED_TRACE(trial);
    Scene scene;
    const double scale = std::pow(10, random.uniform(-6, 6));
    for (std::size_t s = 0, count = 1 + random.next() % 3; s < count; ++s)
      scene.add(test::wander(random, 2 + random.next() % 30, 0.4 * scale, scale), random.next() % 2);
    scene.move(random, std::pow(10, random.uniform(-3, 0)) * scale);
    scene.ready();
    CrossingGuard guard(scene.edges(), 100000);
    const auto verdict = guard.look(scene.strands.data(), scene.strands.size(), scene.ends());
    ASSERT_TRUE(verdict.complete);
    std::size_t found = 0;
    double first = 2;
    for (std::size_t s = 0; s < scene.strands.size(); ++s) {
      for (std::size_t r = s; r < scene.strands.size(); ++r) {
        for (std::size_t i = 0; i < scene.strands[s].edges(); ++i) {
          for (std::size_t j = r == s ? i + 1 : 0; j < scene.strands[r].edges(); ++j) {
            const std::size_t ni = scene.strands[s].next(i), nj = scene.strands[r].next(j);
            if (r == s && (ni == j || nj == i)) continue;
            const MovingSegment a{scene.x[s][i], scene.x[s][ni], scene.x1[s][i], scene.x1[s][ni]};
            const MovingSegment b{scene.x[r][j], scene.x[r][nj], scene.x1[r][j], scene.x1[r][nj]};
            const auto t = test::first_simple_crossing(a, b);
            found += t.has_value();
            if (t) first = std::min(first, *t);
          }
        }
      }
    }
    EXPECT_EQ(verdict.found, found);
    EXPECT_LE(verdict.fraction, first);
    if (found == 0) {
      EXPECT_EQ(verdict.fraction, 1);
    }
    if (found > 0) {
      EXPECT_NEAR(verdict.fraction, 0.9 * first, 1e-6);
    }
    const std::size_t open = guard.audit(scene.strands.data(), scene.strands.size(), scene.ends());
    EXPECT_EQ(open, found);
    crossings += found, cut += found > 0;
  }
  EXPECT_GT(crossings, 250u);
  EXPECT_GT(cut, 50u);
  EXPECT_LT(cut, 140u);
}

TEST(CrossingGuard, StaysSafeWhenPairsDoNotFit) {
  Random random(kSeed + 12);
  Scene scene;
  scene.add(test::wander(random, 120, 0.05, 1), false);
  scene.copy_ends();
  for (Vector3d& v : scene.x1[0]) v += 20 * anywhere(random);
  scene.ready();
  CrossingGuard guard(scene.edges(), 300);
  const auto verdict = guard.look(scene.strands.data(), 1, scene.ends());
  EXPECT_FALSE(verdict.complete);
  EXPECT_LT(verdict.fraction, 0.3);
  EXPECT_GT(verdict.fraction, 0);
  EXPECT_GT(guard.audit(scene.strands.data(), 1, scene.ends()), 0u);
  for (std::size_t i = 0; i < 120; ++i)
    scene.x1[0][i] = scene.x[0][i] + verdict.fraction * (scene.x1[0][i] - scene.x[0][i]);
  CrossingGuard large(scene.edges(), 100000);
  EXPECT_EQ(large.audit(scene.strands.data(), 1, scene.ends()), 0u);
  // Not even at rest, or fewer edges than there are: nothing may move.
  for (auto [edges, pairs] : {std::pair<std::size_t, std::size_t>{119, 0}, {50, 300}, {0, 0}}) {
    CrossingGuard tiny(edges, pairs);
    const auto none = tiny.look(scene.strands.data(), 1, scene.ends());
    EXPECT_FALSE(none.complete);
    if (edges < 119) {
      EXPECT_EQ(none.fraction, 0);
    }
    if (edges < 119) {
      EXPECT_GT(tiny.audit(scene.strands.data(), 1, scene.ends()), 0u);
    }
  }
}

TEST(CrossingGuard, LetsNothingMoveToWhatIsNotFinite) {
  Random random(kSeed + 13);
  Scene scene;
  scene.add(test::wander(random, 50, 0.1, 1), false);
  scene.copy_ends();
  scene.ready();
  CrossingGuard guard(scene.edges(), 1000);
  EXPECT_EQ(guard.look(scene.strands.data(), 1, scene.ends()).fraction, 1);
  EXPECT_EQ(guard.look(scene.strands.data(), 1, nullptr).fraction, 1);
  EXPECT_EQ(guard.audit(scene.strands.data(), 1, nullptr), 0u);
  scene.x1[0][20].z() = std::numeric_limits<double>::quiet_NaN();
  const auto verdict = guard.look(scene.strands.data(), 1, scene.ends());
  EXPECT_EQ(verdict.fraction, 0);
  EXPECT_FALSE(verdict.complete);
  EXPECT_EQ(guard.audit(scene.strands.data(), 1, scene.ends()), 2u);
}

TEST(CrossingGuard, DoesNotAllocate) {
  Random random(kSeed + 14);
  Scene scene = test::tight_knot(600, 0.025);
  for (Vector3d& v : scene.x1[0]) v += 0.05 * anywhere(random);
  scene.ready();
  CrossingGuard guard(600, 20000), small(600, 200);
  guard::reset();
  CrossingGuard::Verdict verdict, cut;
  std::size_t open = 0;
  {
    const guard::ForbidAlloc forbid;
    verdict = guard.look(scene.strands.data(), 1, scene.ends());
    cut = small.look(scene.strands.data(), 1, scene.ends());
    open = guard.audit(scene.strands.data(), 1, scene.ends());
  }
  ASSERT_TRUE(guard::active());
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
  EXPECT_GT(verdict.found, 0u);
  EXPECT_GE(open, verdict.found);
  EXPECT_FALSE(cut.complete);
}

/// Not a claim: what it costs here.
TEST(CrossingGuard, PrintsItsCost) {
  for (const std::size_t n : {600u, 2400u}) {
    for (const double far : {0.005, 0.3}) {
      Scene scene = test::tight_knot(n, 0.025);
      Random random(kSeed + 15);
      for (std::size_t i = 0; i < n; ++i) scene.x1[0][i] = scene.x[0][i] + far * 0.025 * anywhere(random);
      scene.ready();
      CrossingGuard guard(n, 20000);
      CrossingGuard::Verdict verdict;
      double look = 1e9, audit = 1e9;
      const auto now = [] { return std::chrono::steady_clock::now(); };
      const auto since = [&](auto start) { return std::chrono::duration<double, std::micro>(now() - start).count(); };
      SweptPairs pairs(n, 20000);
      pairs.find(scene.strands.data(), 1, scene.ends(), 0);
      double near = 1e9;
      for (int k = 0; k < 200; ++k) {
        auto start = now();
        verdict = guard.look(scene.strands.data(), 1, scene.ends());
        look = std::min(look, since(start));
        start = now();
        guard.audit(scene.strands.data(), 1, scene.ends());
        audit = std::min(audit, since(start));
        start = now();
        pairs.find(scene.strands.data(), 1, scene.ends(), 0);
        near = std::min(near, since(start));
      }
      std::printf(
          "%zu edges, motion %.3f d: %zu pairs, %zu cross, fraction %.3f; pairs %.1f, look %.1f, audit %.1f us\n",
          n - 1, far, pairs.pairs().size(), verdict.found, verdict.fraction, near, look, audit);
    }
  }
}

}  // namespace
}  // namespace ligature::contact
