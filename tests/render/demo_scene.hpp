#pragma once
/// A plausible instant of a session: a thread on the bench, lifted in a loop by two forceps above a cut vessel.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "render/params.hpp"
#include "sim/contract/scene_snapshot.hpp"

namespace ligature::render {

/// Pose of a forceps whose jaws point along `x_W` and whose arms open along the level direction.
inline Pose forceps_at(Vec3 tip_p_W, Vec3 x_W, double roll_rad = 0) {
  const Vec3 x = (1 / norm(x_W)) * x_W;
  Vec3 y = cross({0, 0, 1}, x);
  y = (1 / norm(y)) * y;
  const Vec3 z = cross(x, y);
  // Rotation matrix with columns x y z as a quaternion, for a trace above -1.
  const double w = 0.5 * std::sqrt(std::max(1e-12, 1 + x.x + y.y + z.z));
  const Quat q = normalized({(y.z - z.y) / (4 * w), (z.x - x.z) / (4 * w), (x.y - y.x) / (4 * w), w});
  return {q * axis_angle({1, 0, 0}, roll_rad), tip_p_W};
}

inline std::unique_ptr<SceneSnapshot> demo_scene() {
  auto scene = std::make_unique<SceneSnapshot>();
  scene->cameras_alive = 0b1111;
  constexpr int n = 301;
  const Vec3 left{-5.5, 1.5, 9}, right{6.5, 2.5, 7.5};
  // Bench, up to the left tip, a hanging loop to the right tip, down again.
  const Vec3 knots[] = {{-27, -6, 0.1}, {-19, -9, 0.1}, {-12, -5, 0.1}, {-8, -1, 2.5}, left,
                        {-2, 0, 5.5},   {1, 0.2, 4.2},  {4, 1.2, 5},    right,         {8, 3.5, 3},
                        {11, 0, 0.15},  {16, -8, 0.1},  {24, -5, 0.1}};
  constexpr int spans = static_cast<int>(std::size(knots)) - 1;
  for (int i = 0; i < n; ++i) {
    const double s = static_cast<double>(i) / (n - 1) * spans;
    const int k = std::min(static_cast<int>(s), spans - 1);
    const double u = s - k;
    const auto at = [&](int j) { return knots[std::clamp(j, 0, spans)]; };
    const Vec3 a = at(k - 1), b = at(k), c = at(k + 1), d = at(k + 2);
    const Vec3 p = 0.5 * (2.0 * b + u * (c - a) + u * u * (2.0 * a - 5.0 * b + 4.0 * c - d) +
                          u * u * u * (3.0 * b - a - 3.0 * c + d));
    scene->vertices.push_back(
        {static_cast<float>(p.x), static_cast<float>(p.y), static_cast<float>(std::max(p.z, 0.1))});
  }
  scene->threads.push_back({0, n, 0.1F, false});
  scene->forceps[0] = {TrackStatus::tracked, forceps_at(left, {0.75, 0.55, -0.55}), 0.004, true, 0.97};
  scene->forceps[1] = {TrackStatus::tracked, forceps_at(right, {-0.8, 0.5, -0.5}), 0.004, true, 0.95};
  return scene;
}

}  // namespace ligature::render
