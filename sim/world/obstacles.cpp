#include "sim/world/obstacles.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/eigen.hpp"
#include "sim/world/build.hpp"

namespace ligature::world {
namespace {

constexpr double kTouchTolerance = 1e-6;  // of the radius

}  // namespace

Result<void> check_mesh(const std::vector<Vec3>& vertices, const std::vector<std::array<std::uint32_t, 3>>& triangles) {
  static_assert(kMaxTriangles == contact::kMostTriangles);
  std::vector<Eigen::Vector3d> places;
  places.reserve(vertices.size());
  for (const Vec3& v : vertices) places.push_back(to_eigen(v));
  const auto mesh = contact::TriangleMesh::create(std::move(places), triangles);
  if (!mesh) return unexpected(mesh.error());
  if (const auto at = mesh->meets_itself())
    return usage_error("it meets itself near (" + std::to_string(at->x()) + ", " + std::to_string(at->y()) + ", " +
                       std::to_string(at->z()) + ") mm");
  return {};
}

std::optional<Inside> first_inside(const std::vector<ThreadParams>& threads,
                                   const std::vector<ObstacleParams>& obstacles) {
  std::vector<contact::Obstacle> bodies;
  for (const ObstacleParams& o : obstacles) bodies.push_back(build_obstacle(o));
  for (std::size_t k = 0; k < threads.size(); ++k) {
    const ThreadParams& t = threads[k];
    if (t.points.size() < 2) continue;
    const double radius = 0.5 * t.diameter_mm, least = radius * (1 - kTouchTolerance) - 1e-12;
    const std::size_t count = t.closed ? t.points.size() : t.points.size() - 1;
    for (std::size_t b = 0; b < bodies.size(); ++b)
      for (std::size_t i = 0; i < count; ++i) {
        const Eigen::Vector3d p = to_eigen(t.points[i]), q = to_eigen(t.points[(i + 1) % t.points.size()]);
        // Of a mesh the distance along a piece has no sign: that of its first point says on which side it is.
        if (bodies[b].box_distance(p.cwiseMin(q), p.cwiseMax(q)) < radius &&
            std::min(bodies[b].signed_distance(p), bodies[b].nearest(p, q).distance) < least)
          return Inside{k, b, i};
      }
  }
  return std::nullopt;
}

}  // namespace ligature::world
