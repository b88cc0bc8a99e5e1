#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "sim/rod/twist.hpp"
#include "sim/rod/writhe.hpp"
#include "tests/sim/curves.hpp"

namespace ligature::rod {
namespace {

// Angle of the second frame against the first one, transported straight: the link of an open thread, up to whole turns.
double angle_between(const Vector3d& t0, const Vector3d& d0, const Vector3d& t1, const Vector3d& d1) {
  const Vector3d d = parallel_transport(d0, t0, t1);
  return std::atan2(d.cross(d1).dot(t1), d.dot(d1));
}

double angle_between_ends(const Twist& twist) {
  const std::size_t last = twist.vertices() - 1;
  return angle_between(twist.frame_tangent(0), twist.frame_director(0), twist.frame_tangent(last),
                       twist.frame_director(last));
}

// The whole line: edges, and of an open thread the rays along its end tangents.
struct Line {
  Points x;
  Vector3d t0, t1;
  bool closed;

  std::size_t pieces() const { return closed ? x.size() : x.size() + 1; }
  void piece(std::size_t i, Vector3d& from, Vector3d& along, double& low, double& high) const {
    low = 0, high = 1;
    if (closed) {
      from = x[i], along = x[(i + 1) % x.size()] - x[i];
    } else if (i == 0) {
      from = x.front(), along = t0, low = -1e300, high = 0;
    } else if (i == x.size()) {
      from = x.back(), along = t1, high = 1e300;
    } else {
      from = x[i - 1], along = x[i] - x[i - 1];
    }
  }
  double volume(std::size_t i, std::size_t j) const {
    Vector3d p, e, q, f;
    double unused;
    piece(i, p, e, unused, unused);
    piece(j, q, f, unused, unused);
    return (p - q).dot(e.cross(f));
  }
  // Of two pieces in one plane.
  bool meet(std::size_t i, std::size_t j) const {
    Vector3d p, e, q, f;
    double a0, a1, b0, b1;
    piece(i, p, e, a0, a1);
    piece(j, q, f, b0, b1);
    const Vector3d normal = e.cross(f);
    const double a = (q - p).cross(f).dot(normal) / normal.squaredNorm();
    const double b = (q - p).cross(e).dot(normal) / normal.squaredNorm();
    return a0 < a && a < a1 && b0 < b && b < b1;
  }
};

// Tangents of rays keep their direction only: that is all they are asked for.
Line between(const Line& a, const Line& b, double s) {
  Line line = a;
  for (std::size_t i = 0; i < a.x.size(); ++i) line.x[i] = (1 - s) * a.x[i] + s * b.x[i];
  line.t0 = (1 - s) * a.t0 + s * b.t0;
  line.t1 = (1 - s) * a.t1 + s * b.t1;
  return line;
}

// How often pieces pass through each other from a to b: +1 where a left-handed crossing becomes a right-handed one. The
// volume of two pieces is a cubic in time; between its extrema it has at most one zero, found by bisection.
int passages(const Line& a, const Line& b) {
  int sum = 0;
  const Line before = between(a, b, -1), twice = between(a, b, 2);
  for (std::size_t i = 0; i < a.pieces(); ++i)
    for (std::size_t j = i + 2; j < a.pieces(); ++j) {
      if (a.closed && i == 0 && j + 1 == a.pieces()) continue;
      const double c0 = a.volume(i, j), even = 0.5 * (b.volume(i, j) + before.volume(i, j)),
                   odd = 0.5 * (b.volume(i, j) - before.volume(i, j));
      const double c2 = even - c0, c3 = (twice.volume(i, j) - c0 - 4 * c2 - 2 * odd) / 6, c1 = odd - c3;
      std::vector<double> times = {0, 1};
      if (const double root = c2 * c2 - 3 * c3 * c1; root > 0) {
        const double q = -(c2 + std::copysign(std::sqrt(root), c2));
        for (double t : {q / (3 * c3), c1 / q})
          if (t > 0 && t < 1) times.push_back(t);
      }
      std::sort(times.begin(), times.end());
      for (std::size_t k = 0; k + 1 < times.size(); ++k) {
        double low = times[k], high = times[k + 1];
        const bool right = between(a, b, low).volume(i, j) > 0;
        if (right == (between(a, b, high).volume(i, j) > 0)) continue;
        for (int half = 0; half < 50; ++half) {
          const double s = 0.5 * (low + high);
          ((between(a, b, s).volume(i, j) > 0) == right ? low : high) = s;
        }
        if (between(a, b, high).meet(i, j)) sum += right ? -1 : 1;
      }
    }
  return sum;
}

TEST(Link, ClosedRingKeepsItsLink) {
  std::mt19937 random(6);
  for (double turns : {0.0, 2.0, -5.3}) {
    const Points x = ring(120);
    Twist twist(x, true, 2);
    twist.insert(turns);
    const Warp warp(random, 0.8);
    double most_writhe = 0, worst = 0;
    for (int k = 0; k <= 2000; ++k) {
      const Points y = warp(x, 0.01 * k);
      twist.carry(twist, y);
      twist.find_spans(0.1);
      twist.spread();
      if (k % 50) continue;
      most_writhe = std::max(most_writhe, std::abs(writhe_closed(y)));
      worst = std::max(worst, std::abs(link_turns(twist, y) - turns));
    }
    RecordProperty("worst", std::to_string(worst));
    EXPECT_LT(worst, 1e-12);
    EXPECT_GT(most_writhe, 0.1);
  }
}

// A ring turned into a figure of eight, lifted where it crosses itself: over, it trades a turn of twist for one of
// writhe; flattened and lifted the other way, it has passed through itself.
TEST(Link, RingTurnedIntoAnEightTradesTwistForWrithe) {
  const auto shape = [](double eight, double lift) {
    Points x;
    for (int i = 0; i < 100; ++i) {
      const double a = 2 * pi * i / 100;
      x.emplace_back(std::cos(a), (1 - eight) * std::sin(a) + eight * std::sin(2 * a), lift * std::sin(a));
    }
    return x;
  };
  for (double side : {1.0, -1.0}) {
    Twist twist(shape(0, 0), true, 0);
    twist.insert(1.0);
    const auto move_to = [&](double eight, double lift) {
      twist.carry(twist, shape(eight, lift));
      return link_turns(twist, shape(eight, lift));
    };
    for (int k = 0; k <= 100; ++k) EXPECT_NEAR(move_to(0.01 * k, side * 0.003 * k), 1.0, 1e-12);
    for (int k = 0; k < 99; ++k) EXPECT_NEAR(move_to(1.0, side * (0.3 - 0.003 * k)), 1.0, 1e-12);
    EXPECT_NEAR(twist.turns(), 1.0 - side, 0.01);
    for (int k = 0; k < 99; ++k) EXPECT_NEAR(move_to(1.0, -side * (0.003 + 0.003 * k)), 1.0 - 2 * side, 1e-12);
    for (int k = 100; k >= 0; --k) EXPECT_NEAR(move_to(0.01 * k, -side * 0.003 * k), 1.0 - 2 * side, 1e-12);
    EXPECT_NEAR(twist.turns(), 1.0 - 2 * side, 1e-12);
  }
}

TEST(Link, OpenThreadsLinkIsAFunctionOfItsEndFrames) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 6; ++trial) {
    Points x = straight(40);
    for (Vector3d& p : x) p = 0.05 * p - Vector3d(1, 0, 0);
    Twist twist(x, false, 2);
    twist.insert(0.4 * trial);
    twist.hold_frame(0);
    twist.hold_frame(39);
    const Warp warp(random, 0.2);
    const Vector3d axis0 = random_vector(random).normalized(), axis1 = random_vector(random).normalized();
    const Directors f0 = twist.frame_material(0), f1 = twist.frame_material(39);
    const Vector3d t0 = twist.frame_tangent(0), t1 = twist.frame_tangent(39);
    double followed = 2 * pi * 0.4 * trial, worst = 0, most_writhe = 0;
    EXPECT_NEAR(link_turns(twist, x), 0.4 * trial, 1e-13);
    for (int k = 0; k <= 1000; ++k) {
      // Half the time the frames move as well: they swing by up to 50 degrees and spin.
      const double s = k < 500 ? 0.01 * k : 5.0;
      const Eigen::AngleAxisd turn0(0.9 * std::sin(s), axis0), turn1(0.9 * std::sin(1.3 * s), axis1);
      const Eigen::AngleAxisd spin(2.2 * s, t1);
      twist.set_frame(0, turn0 * t0, turn0 * f0.d1);
      twist.set_frame(39, turn1 * t1, turn1 * (spin * f1.d1));
      const Points y = warp(x, 0.01 * k);
      twist.carry(twist, y);
      twist.find_spans(0.05);
      twist.spread();
      const double angle = angle_between_ends(twist);
      followed = angle + 2 * pi * std::round((followed - angle) / (2 * pi));
      if (k % 4) continue;
      const double link = link_turns(twist, y);
      worst = std::max(worst, std::abs(link - followed / (2 * pi)));
      most_writhe = std::max(most_writhe, std::abs(link - twist.turns()));
    }
    EXPECT_LT(worst, 1e-12) << trial;
    EXPECT_GT(most_writhe, 0.005);
  }
}

// The whole claim, for any polygon (joints turn by anything up to 180 degrees) and straight motion of any size: link
// changes by 2 for each passage through itself, found here by brute force, and by nothing else.
TEST(Link, ChangesByTwoAtEachPassageAndByNothingElse) {
  std::mt19937 random(8);
  for (double size : {0.02, 0.3, 2.0}) {
    int passed = 0;
    double worst = 0, worst_split = 0, sharpest = 1;
    for (int trial = 0; trial < 60; ++trial) {
      const bool closed = trial % 2, between = trial % 4 >= 2;
      const std::size_t n = 4 + random() % 6;
      Points x = random_points(random, n);
      Twist twist(x, closed, 3);
      twist.insert(1.3);
      if (!closed) twist.hold_frame(0), twist.hold_frame(n - 1);
      if (between) twist.hold_frame(n / 2);
      const auto line_of = [&](const Points& points) {
        return closed ? Line{points, Vector3d::UnitX(), Vector3d::UnitX(), true}
                      : Line{points, twist.frame_tangent(0), twist.frame_tangent(n - 1), false};
      };
      double link = link_turns(twist, x);
      for (int step = 0; step < 30; ++step) {
        Points y = x;
        for (Vector3d& p : y) p = (p + size * random_vector(random)) / std::sqrt(1 + size * size);
        const int through = passages(line_of(x), line_of(y));
        twist.carry(twist, y);
        twist.find_spans(1.0);
        twist.spread();
        x = y;
        passed += std::abs(through);
        const double now = link_turns(twist, x);
        worst = std::max(worst, std::abs(now - link - 2 * through));
        link = now;
        for (std::size_t i = 1; i < n; ++i)
          if (i < twist.edges()) sharpest = std::min(sharpest, twist.tangent(i - 1).dot(twist.tangent(i)));
        // What is twist and what is writhe: a frame held between two edges adds a small bend.
        double rest = link - twist.turns();
        rest -= closed ? writhe_closed(x) : writhe_open(x, twist.frame_tangent(0), twist.frame_tangent(n - 1));
        if (between)
          rest -= spherical_area(twist.tangent(n / 2 - 1), twist.frame_tangent(n / 2), twist.tangent(n / 2)) / (2 * pi);
        worst_split = std::max(worst_split, std::abs(std::remainder(rest, 2.0)));
      }
    }
    EXPECT_LT(worst, 1e-11) << size;
    EXPECT_LT(worst_split, 1e-11) << size;
    EXPECT_GT(passed, 20);
    EXPECT_LT(sharpest, std::cos(170 * pi / 180));
  }
}

// End frames turned anywhere at once and spun by up to half a turn, the thread at rest.
TEST(Link, FollowsEndFramesThatTurnFar) {
  constexpr int parts = 2000;
  std::mt19937 random(9);
  double worst = 0;
  int passed = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const std::size_t n = 2 + random() % 6, last = n - 1;
    const Points x = random_points(random, n);
    Twist twist(x, false, 2);
    twist.hold_frame(0);
    twist.hold_frame(last);
    double link = link_turns(twist, x);
    for (int step = 0; step < 25; ++step) {
      const std::size_t v = random() % 2 ? 0 : last;
      const Vector3d a = twist.frame_tangent(v), b = random_vector(random).normalized();
      const double spin = (step % 2 ? 0.95 : 0.1) * pi * (step % 3 ? 1 : -1);
      const Line before = {x, twist.frame_tangent(0), twist.frame_tangent(last), false};
      Line after = before;
      (v == 0 ? after.t0 : after.t1) = b;
      const int through = passages(before, after);
      passed += std::abs(through);
      // The angle between the ends, followed in small turns of this one.
      const Vector3d other_t = twist.frame_tangent(last - v), other_d = twist.frame_director(last - v);
      Vector3d t = a, d = twist.frame_director(v);
      double angle = angle_between_ends(twist), turned = 0;
      for (int k = 1; k <= parts; ++k) {
        const Vector3d next = ((1 - k / double(parts)) * a + k / double(parts) * b).normalized();
        d = parallel_transport(d, t, next);
        t = next;
        const double now = v == 0 ? angle_between(t, d, other_t, other_d) : angle_between(other_t, other_d, t, d);
        turned += std::remainder(now - angle, 2 * pi);
        angle = now;
      }
      twist.set_frame(v, b, std::cos(spin) * d + std::sin(spin) * b.cross(d));
      twist.find_spans(1.0);
      twist.spread();
      const double now = link_turns(twist, x);
      EXPECT_NEAR(now, twist.turns() + writhe_open(x, twist.frame_tangent(0), twist.frame_tangent(last)), 1e-12);
      const double wanted = (turned + (v == 0 ? -spin : spin)) / (2 * pi) + 2 * through;
      worst = std::max(worst, std::abs(now - link - wanted));
      link = now;
    }
  }
  EXPECT_LT(worst, 1e-11);
  EXPECT_GT(passed, 10);
}

}  // namespace
}  // namespace ligature::rod
