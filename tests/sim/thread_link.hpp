#pragma once
/// A twisted thread handled roughly, for the tests of link: held, thrown about, let go and turned, every number from a
/// seed. Along with it what link has to be, from the frames that its clamps hold, and a proof for each step that
/// nothing passed through anything.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/world/world.hpp"

namespace ligature::world::link {

struct Segment {
  Vec3 a, b;
};

/// Smallest distance of two segments [Ericson 2005] section 5.1.9.
inline double distance(const Segment& p, const Segment& q) {
  const Vec3 u = p.b - p.a, v = q.b - q.a, w = p.a - q.a;
  const double uu = dot(u, u), uv = dot(u, v), vv = dot(v, v), uw = dot(u, w), vw = dot(v, w);
  const double den = uu * vv - uv * uv;
  double s = den > 0 ? std::clamp((uv * vw - vv * uw) / den, 0.0, 1.0) : 0.0;
  double t = vv > 0 ? (uv * s + vw) / vv : 0.0;
  if (t < 0 || t > 1) {
    t = std::clamp(t, 0.0, 1.0);
    s = uu > 0 ? std::clamp((uv * t - uw) / uu, 0.0, 1.0) : 0.0;
  }
  return norm(w + s * u - t * v);
}

/// Whether two segments whose ends move evenly from p0, q0 to p1, q1 stay apart; proven by bisecting time until they
/// are further apart than they can come nearer. False also where that would take parts of less than 2^-24.
inline bool stay_apart(const Segment& p0, const Segment& p1, const Segment& q0, const Segment& q1, int depth = 0) {
  const double nearer = std::max(norm(p1.a - p0.a), norm(p1.b - p0.b)) + std::max(norm(q1.a - q0.a), norm(q1.b - q0.b));
  const Vec3 between = 0.5 * (p0.a + p0.b - q0.a - q0.b);
  if (norm(between) - 0.5 * (norm(p0.b - p0.a) + norm(q0.b - q0.a)) > nearer) return true;
  if (distance(p0, q0) > nearer) return true;
  if (depth == 24) return false;
  const Segment p{0.5 * (p0.a + p1.a), 0.5 * (p0.b + p1.b)}, q{0.5 * (q0.a + q1.a), 0.5 * (q0.b + q1.b)};
  return stay_apart(p0, p, q0, q, depth + 1) && stay_apart(p, p1, q, q1, depth + 1);
}

/// The thread as a line without ends: closed, or with a long piece of the rays along its end tangents.
inline std::vector<Segment> line_of(const std::vector<Vec3>& x, bool closed, Vec3 first_tangent, Vec3 last_tangent) {
  constexpr double far = 60;
  std::vector<Segment> out;
  if (!closed) out.push_back({x.front() - far * first_tangent, x.front()});
  for (std::size_t i = 0; i + 1 < x.size(); ++i) out.push_back({x[i], x[i + 1]});
  out.push_back(closed ? Segment{x.back(), x.front()} : Segment{x.back(), x.back() + far * last_tangent});
  return out;
}

inline bool passes_through_itself(const std::vector<Segment>& from, const std::vector<Segment>& to, bool closed) {
  const std::size_t n = from.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 2; j < n; ++j) {
      if (closed && i == 0 && j + 1 == n) continue;
      if (!stay_apart(from[i], to[i], from[j], to[j])) return true;
    }
  return false;
}

inline Vec3 random_in_ball(Random& random, double radius) {
  for (;;) {
    const Vec3 v{random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1)};
    if (norm(v) < 1) return radius * v;
  }
}

/// Angle of the frame (t1, d1) against (t0, d0) transported straight, about t1 [rad].
inline double angle_between(Vec3 t0, Vec3 d0, Vec3 t1, Vec3 d1) {
  const Vec3 axis = cross(t0, t1);
  const double c = dot(t0, t1);
  const Vec3 d = c * d0 + cross(axis, d0) + (dot(axis, d0) / (1 + c)) * axis;
  return std::atan2(dot(cross(d, d1), t1), dot(d, d1));
}

/// An end frame and the windows of its way: every window a clamp, one taking over from the other.
struct Handled {
  Vec3 place, tangent, director;
  std::vector<ClampParams> windows;

  /// Moves on for one step as the clamp of this time prescribes.
  void follow(double time, double dt) {
    for (const ClampParams& c : windows) {
      if (time + 1e-6 * dt < c.from_s || time + 1e-6 * dt >= c.until_s) continue;
      director = rotate(axis_angle(tangent, dt * c.spin_rad_per_s), director);
      const double turn = norm(c.turn_rad_per_s);
      if (turn > 0) {
        const Quat q = axis_angle((1 / turn) * c.turn_rad_per_s, dt * turn);
        tangent = rotate(q, tangent), director = rotate(q, director);
      }
      return;
    }
  }
};

struct Handling {
  WorldParams params;
  Handled ends[2];  ///< of an open thread
  int steps = 0;
};

inline constexpr std::size_t kEdges = 48;

inline WorldParams thread_to_handle(bool closed, double turns, ThreadParams::TwistMode mode, bool inertial) {
  WorldParams p;
  p.solver.contact = SolverParams::Contact::none;  // the law of the thread alone
  p.step_s = 0.005;
  p.forceps_present = false;
  ThreadParams t;
  t.name = "handled";
  t.closed = closed;
  t.twist_mode = mode;
  t.inertial = inertial;
  t.twist_turns = turns;
  t.diameter_mm = 0.1;
  t.material = round_thread(2.5e9, 0.4, 1.14e-3, 0.1, 3e-3);
  if (closed) {
    for (std::size_t i = 0; i < kEdges; ++i) {
      const double a = 2 * std::numbers::pi * static_cast<double>(i) / kEdges;
      t.points.push_back({4 * std::cos(a), 4 * std::sin(a), 0});
    }
    t.segment_mm = norm(t.points[1] - t.points[0]);
  } else {
    t.points = {{-10, 0, 0}, {10, 0, 0}};
    t.segment_mm = 20.0 / kEdges;
  }
  p.threads.push_back(t);
  return p;
}

inline Place vertex_place(std::size_t vertex) {
  Place at;
  at.kind = Place::Kind::vertex;
  at.vertex = vertex;
  return at;
}

/// Grabs of single vertices for short times, and pushes, all over the thread except near the vertices in `kept`.
inline void handle_between(Random& random, ThreadParams& t, int steps, double dt, std::size_t first, std::size_t last,
                           double reach) {
  for (int now = 5; now < steps;) {
    const int length = 4 + static_cast<int>(random.uniform(0, 30));
    const double from = now * dt, until = (now + length) * dt;
    const auto vertex = first + static_cast<std::size_t>(random.uniform() * static_cast<double>(last - first + 1));
    if (random.uniform() < 0.7) {
      ClampParams c;
      c.at = vertex_place(vertex);
      c.velocity = (1 / (length * dt)) * random_in_ball(random, reach);
      c.from_s = from, c.until_s = until;
      t.clamps.push_back(c);
    } else {
      ForceParams f;
      f.at = vertex_place(vertex);
      f.force = random_in_ball(random, 200);
      f.from_s = from, f.until_s = until;
      t.forces.push_back(f);
    }
    now += length + static_cast<int>(random.uniform(0, 15));
  }
}

/// An open thread whose end frames move, turn and spin all the time, jerkily; grabbed in between.
inline Handling open_handling(std::uint64_t seed, int steps, ThreadParams::TwistMode mode) {
  Random random(seed);
  Handling h;
  h.steps = steps;
  h.params = thread_to_handle(false, 0.2, mode, seed % 2 == 0);
  ThreadParams& t = h.params.threads[0];
  const double dt = h.params.step_s;
  for (int end = 0; end < 2; ++end) {
    Handled& e = h.ends[end];
    const Vec3 home{end == 0 ? -8.5 : 8.5, 0, 0};
    Vec3 place{end == 0 ? -10.0 : 10.0, 0, 0}, tangent{1, 0, 0};
    double spun = 0;
    for (int now = 0; now < steps;) {
      const int length = 4 + static_cast<int>(random.uniform(0, 40));
      const double seconds = length * dt;
      const Vec3 target = home + random_in_ball(random, 2.0);
      const Vec3 lean = random_in_ball(random, 1.0);
      Vec3 towards{1, lean.y, lean.z};
      towards = (1 / norm(towards)) * towards;
      const double spin_to = random.uniform(-1.5, 1.5);
      ClampParams c;
      c.at.kind = end == 0 ? Place::Kind::first : Place::Kind::last;
      c.hold = ClampParams::Hold::frame;
      c.velocity = (1 / seconds) * (target - place);
      c.spin_rad_per_s = (spin_to - spun) / seconds;
      const Vec3 axis = cross(tangent, towards);
      const double sine = norm(axis), angle = std::atan2(sine, dot(tangent, towards));
      if (sine > 0) c.turn_rad_per_s = (angle / sine / seconds) * axis;
      c.from_s = now * dt, c.until_s = (now + length) * dt;
      t.clamps.push_back(c);
      e.windows.push_back(c);
      place = target, tangent = towards, spun = spin_to;
      now += length;
    }
    e.tangent = {1, 0, 0};
    e.director = {0, 1, 0};
  }
  handle_between(random, t, steps, dt, 8, kEdges - 8, 2.5);
  return h;
}

/// A ring that two hands hold at opposite places, with the frame in one of them; grabbed in between.
/// @param reach of hands and grabs from where they begin; the ring's radius is 4 [mm]
inline Handling ring_handling(std::uint64_t seed, int steps, ThreadParams::TwistMode mode, double reach = 1.7) {
  Random random(seed);
  Handling h;
  h.steps = steps;
  h.params = thread_to_handle(true, 0.37, mode, seed % 2 == 0);
  ThreadParams& t = h.params.threads[0];
  const double dt = h.params.step_s;
  for (int hand = 0; hand < 2; ++hand) {
    const Vec3 home{hand == 0 ? 4.0 : -4.0, 0, 0};
    Vec3 place = home;
    double spun = 0;
    for (int now = 0; now < steps;) {
      const int length = 4 + static_cast<int>(random.uniform(0, 40));
      const double seconds = length * dt;
      const Vec3 target = home + random_in_ball(random, reach);
      ClampParams c;
      c.at = vertex_place(hand == 0 ? 0 : kEdges / 2);
      c.hold = hand == 0 ? ClampParams::Hold::frame : ClampParams::Hold::position;
      c.velocity = (1 / seconds) * (target - place);
      if (hand == 0) {
        const double spin_to = random.uniform(-1.5, 1.5);
        c.spin_rad_per_s = (spin_to - spun) / seconds;
        spun = spin_to;
      }
      c.from_s = now * dt, c.until_s = (now + length) * dt;
      t.clamps.push_back(c);
      place = target;
      now += length;
    }
  }
  handle_between(random, t, steps, dt, 5, kEdges / 2 - 5, reach);
  return h;
}

struct Outcome {
  double worst = 0;  ///< of link against what it has to be [turns]
  double most_writhe = 0, most_twist = 0;
  int jumps = 0;     ///< such steps
  int passages = 0;  ///< steps in which it is not proven that nothing passed through anything
  int not_converged = 0, limited = 0, restored = 0;
};

inline Outcome handle(Handling h) {
  Outcome out;
  auto world = World::create(h.params, {});
  EXPECT_TRUE(world) << (world ? "" : world.error().message);
  if (!world) return out;
  const double dt = h.params.step_s;
  const auto line = [&] {
    return line_of(world->shape(0).x, h.params.threads[0].closed, h.ends[0].tangent, h.ends[1].tangent);
  };
  const bool closed = h.params.threads[0].closed;
  const double put_in = h.params.threads[0].twist_turns;
  double jumped = 0, turned = 0,
         angle =
             closed ? 0 : angle_between(h.ends[0].tangent, h.ends[0].director, h.ends[1].tangent, h.ends[1].director);
  std::vector<Segment> before = line();
  for (int k = 0; k < h.steps; ++k) {
    const StepReport report = world->step({});
    out.not_converged += (report.flags & step_not_converged) != 0;
    out.limited += (report.flags & step_limited) != 0;
    out.restored += (report.flags & step_non_finite_restored) != 0;
    if (!closed) {
      for (Handled& e : h.ends) e.follow(k * dt, dt);
      const double now = angle_between(h.ends[0].tangent, h.ends[0].director, h.ends[1].tangent, h.ends[1].director);
      turned += std::remainder(now - angle, 2 * std::numbers::pi);
      angle = now;
    }
    std::vector<Segment> after = line();
    const bool passed = passes_through_itself(before, after, closed);
    out.passages += passed;
    before = std::move(after);
    const ThreadMeasure m = world->measure(0);
    double off = m.twist_turns + m.writhe - put_in - turned / (2 * std::numbers::pi) - jumped;
    if (passed && std::abs(off) > 1) {
      const double jump = 2 * std::round(0.5 * off);
      jumped += jump, off -= jump;
      ++out.jumps;
    }
    out.worst = std::max(out.worst, std::abs(off));
    out.most_writhe = std::max(out.most_writhe, std::abs(m.writhe));
    out.most_twist = std::max(out.most_twist, std::abs(m.twist_turns));
  }
  return out;
}

inline void expect_kept(const Outcome& out) {
  EXPECT_LT(out.worst, 1e-9);
  EXPECT_EQ(out.passages, 0);
  EXPECT_EQ(out.restored, 0);
  EXPECT_GT(out.most_writhe, 0.1);  // it did take part
}

}  // namespace ligature::world::link
