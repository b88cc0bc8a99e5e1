#pragma once
/// Scenes and hand movements for the tests of sim.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "sim/world/world.hpp"

namespace ligature::world {

inline constexpr double kRadius = 0.1;

/// A nylon thread of 60 mm and 0.2 mm, 301 vertices, at this height of its axis, over the bench z = 0.
inline WorldParams thread_over_bench(double height_mm = kRadius) {
  WorldParams p;
  p.gravity = {0, 0, -9810};
  p.solver.iterations = 8;  // as the appliance affords
  p.solver.residual_target = 1e-6;
  p.obstacles.push_back({});
  ThreadParams t;
  t.name = "thread";
  t.points = {{-30, 0, height_mm}, {30, 0, height_mm}};
  t.segment_mm = 0.2;
  t.diameter_mm = 2 * kRadius;
  t.material = round_thread(2.5e9, 0.4, 1.14e-3, t.diameter_mm, 3e-3);
  p.threads.push_back(t);
  return p;
}

/// Forceps that point straight down, with their faces across the thread: x_T = -z, y_T = y, z_T = x of W.
inline InstrumentPose hand(Vec3 tip, double opening_rad, TrackStatus status = TrackStatus::tracked) {
  InstrumentPose pose;
  pose.status = status;
  pose.confidence = 1;
  pose.X_RT = {axis_angle({0, 1, 0}, 0.5 * std::numbers::pi), tip};
  pose.opening_rad = opening_rad;
  return pose;
}

inline double smooth(double a, double b, double u) {
  u = std::clamp(u, 0.0, 1.0);
  return a + (b - a) * u * u * (3 - 2 * u);
}

/// Both hands grasp at x = +-8, lift by `lift`, cross, come back, let go: 9 s.
inline InstrumentSample demo_hands(double t, double lift = 12) {
  InstrumentSample s;
  for (int f = 0; f < 2; ++f) {
    const double side = f ? 1 : -1;
    double x = side * 8, y = 0, z = smooth(20, 0, t), opening = smooth(0.08, 0, (t - 1.2) / 0.4);
    if (t > 2) z = smooth(0, lift, t - 2);
    if (t > 3) x = side * smooth(8, -3, (t - 3) / 1.2), y = side * smooth(0, 3, (t - 3) / 0.6);
    if (t > 5) x = side * smooth(-3, 8, t - 5);
    if (t > 6) y = side * smooth(3, 0, (t - 6) / 0.5);
    if (t > 7) opening = smooth(0, 0.08, (t - 7) / 0.3);
    s.instruments[static_cast<std::size_t>(f)] = hand({x, y, z}, opening);
  }
  return s;
}

inline std::unique_ptr<SceneSnapshot> look(const World& world) {
  auto out = std::make_unique<SceneSnapshot>();
  world.snapshot(*out);
  return out;
}

inline double longest_edge(const SceneSnapshot& s, const SnapshotThread& t) {
  double longest = 0;
  for (std::uint32_t i = t.first_vertex; i + 1 < t.first_vertex + t.vertex_count; ++i) {
    const auto &a = s.vertices[i], &b = s.vertices[i + 1];
    longest = std::max(longest, static_cast<double>(std::hypot(a.x - b.x, a.y - b.y, a.z - b.z)));
  }
  return longest;
}

}  // namespace ligature::world
