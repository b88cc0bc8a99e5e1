#pragma once
/// Threads without forceps for the tests of integration and robustness: 10-0 nylon, straight, zigzag or curved.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/world/world.hpp"

namespace ligature::world {

inline constexpr double kSutureDiameter = 0.025;  ///< of a 10-0 [mm]

/// One thread, no forceps, no gravity, no obstacle; solved as far as rounding lets it.
inline WorldParams one_thread(std::vector<Vec3> points, std::size_t segments, double step_s = 0.005) {
  WorldParams p;
  p.solver.contact = SolverParams::Contact::none;  // the law of the thread alone
  p.step_s = step_s;
  p.forceps_present = false;
  p.solver.residual_target = 1e-12;
  ThreadParams t;
  t.name = "thread";
  t.points = std::move(points);
  double length = 0;
  for (std::size_t i = 0; i + 1 < t.points.size(); ++i) length += norm(t.points[i + 1] - t.points[i]);
  t.segment_mm = length / static_cast<double>(segments);
  t.diameter_mm = kSutureDiameter;
  t.material = round_thread(2.5e9, 0.4, 1.14e-3, kSutureDiameter, 4e-5);
  p.threads.push_back(std::move(t));
  return p;
}

inline World make_world(const WorldParams& p) {
  auto world = World::create(p, {});
  EXPECT_TRUE(world) << (world ? "" : world.error().message);
  return std::move(*world);
}

inline double total_energy(const ThreadMeasure& m) {
  return m.kinetic_energy + m.stretch_energy + m.bend_energy + m.twist_energy;
}

inline ClampParams hold(Place::Kind end, ClampParams::Hold how = ClampParams::Hold::position) {
  ClampParams c;
  c.at.kind = end;
  c.hold = how;
  return c;
}

inline Place at_vertex(std::size_t vertex) {
  Place p;
  p.kind = Place::Kind::vertex;
  p.vertex = vertex;
  return p;
}

inline Vec3 random_direction(Random& r) {
  for (;;) {
    const Vec3 v{r.normal(), r.normal(), r.normal()};
    if (norm(v) > 0.1) return (1 / norm(v)) * v;
  }
}

}  // namespace ligature::world
