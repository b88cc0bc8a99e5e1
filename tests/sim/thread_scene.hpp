#pragma once
/// Threads at rest for the tests that compare with theory: through the public door of sim/world only.
#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>
#include <utility>
#include <vector>

#include "sim/world/world.hpp"

namespace ligature::world {

inline constexpr double kYoung = 2.5e9, kPoisson = 0.4;  // nylon [Pa]
inline constexpr double kNylonDensity = 1.14e-3;         // [g/mm^3]
inline constexpr double kTen0 = 0.025;                   // diameter of 10-0 [mm]
inline constexpr double kGravity = 9810;                 // [mm/s^2]
/// So little that a step of 30 ms goes where the forces balance: the step is Newton's method to equilibrium.
inline constexpr double kStaticDrag = 1e-9;  // [uN s/mm^2]

/// No bench, no instruments, no gravity; steps that go to equilibrium.
inline WorldParams thread_world(double step_s = 0.03) {
  WorldParams p;
  p.step_s = step_s;
  p.forceps_present = false;
  p.solver.iterations = 200;
  p.solver.residual_target = 1e-10;
  return p;
}

/// A thread without inertia, of nylon, along these points, cut into this many segments.
inline ThreadParams nylon(std::vector<Vec3> points, double diameter_mm, std::size_t segments,
                          double drag = kStaticDrag) {
  ThreadParams t;
  t.points = std::move(points);
  double length = 0;
  for (std::size_t i = 0; i + 1 < t.points.size(); ++i) length += norm(t.points[i + 1] - t.points[i]);
  t.segment_mm = length / static_cast<double>(segments);
  t.diameter_mm = diameter_mm;
  t.inertial = false;
  t.material = round_thread(kYoung, kPoisson, kNylonDensity, diameter_mm, drag);
  return t;
}

inline ClampParams clamp_at(Place::Kind kind, ClampParams::Hold hold) {
  ClampParams c;
  c.at.kind = kind;
  c.hold = hold;
  return c;
}

/// @param ramp_s so that Newton's method does not have to find a large bend in one step
inline ForceParams force_at(Place::Kind kind, Vec3 force, double ramp_s = 0.3) {
  ForceParams f;
  f.at.kind = kind;
  f.force = force;
  f.ramp_s = ramp_s;
  return f;
}

inline World make_world(const WorldParams& p, const Capacity& capacity = {}) {
  auto world = World::create(p, capacity);
  EXPECT_TRUE(world) << (world ? "" : world.error().message);
  return std::move(*world);
}

struct Rest {
  bool reached = false;  ///< nothing moves any more, and the last step converged
  int steps = 0;
  int unconverged = 0;  ///< steps that ended above the residual target
  long iterations = 0;
  double residual = 0;  ///< of the last step
  StepReport last;
};

/// Steps on until no vertex moves further than `still` (of a thread's length) in each of two steps.
/// @param at_least steps that are taken first: ramps and schedules
inline Rest settle(World& world, double step_s = 0.03, int at_least = 12, int at_most = 400, double still = 1e-10) {
  Rest r;
  int quiet = 0;
  while (r.steps < at_most && !r.reached) {
    r.last = world.step({});
    ++r.steps;
    r.iterations += static_cast<long>(r.last.iterations);
    r.residual = r.last.residual;
    const bool converged = !(r.last.flags & step_not_converged);
    if (!converged) ++r.unconverged;
    double moved = 0;
    for (std::size_t i = 0; i < world.thread_count(); ++i) {
      const ThreadMeasure m = world.measure(i, false);
      moved = std::max(moved, m.speed_max_mm_per_s * step_s / m.rest_length_mm);
    }
    quiet = r.steps > at_least && converged && moved < still ? quiet + 1 : 0;
    r.reached = quiet >= 2;
  }
  return r;
}

}  // namespace ligature::world
