#include "sim/contact/soft_body.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "sim/contact/segment_triangle.hpp"

namespace ligature::contact {
namespace {

constexpr int kMostAdvances = 60;
constexpr double kBand = 0.02;  // of what is kept: so near is there

struct Moving {
  std::array<Vector3d, 2> edge, edge_by;      // ends, and their motion
  std::array<Vector3d, 3> corner, corner_by;  // likewise of the triangle
};

// Whether one plane across n separates both, by more than `least`, at the start and at the end: then it does so all the
// way, since the least height of the one over the other is a concave function of time.
bool plane_separates(const Moving& m, const Vector3d& n, double least) {
  for (const double t : {0.0, 1.0}) {
    const double low = std::min(n.dot(m.edge[0] + t * m.edge_by[0]), n.dot(m.edge[1] + t * m.edge_by[1]));
    for (std::size_t c = 0; c < 3; ++c)
      if (!(low - n.dot(m.corner[c] + t * m.corner_by[c]) > least)) return false;
  }
  return true;
}

}  // namespace

SoftVerdict look_soft(const Strand* strands, std::size_t count, const Vector3d* const* x1, const SoftBody& body,
                      const SoftMotion& motion, double share, const std::vector<Passage>* passages,
                      std::uint32_t number, double kept, std::vector<Stopped>* stopped) noexcept {
  SoftVerdict out;
  const TriangleMesh& mesh = body.surface();
  double furthest = 0;
  for (std::size_t v = 0; v < mesh.vertices(); ++v)
    furthest = std::max(furthest, motion.of(static_cast<std::uint32_t>(v)).squaredNorm());
  furthest = std::sqrt(furthest);
  const auto look_at = [&](std::uint32_t k, std::size_t j, double from, double to) {
    const Strand& s = strands[k];
    const std::size_t next = s.next(j);
    Moving m;
    const auto at = [&](const Vector3d* x, double part) -> Vector3d { return x[j] + part * (x[next] - x[j]); };
    m.edge = {at(s.x, from), at(s.x, to)};
    const Vector3d p1 = at(x1[k], from), q1 = at(x1[k], to);
    m.edge_by = {p1 - m.edge[0], q1 - m.edge[1]};
    const double keep = kept * s.thickest(j);
    double edge_fraction = 1;
    // What has come into the body, contact pushes out again: a surface that held it in would hold it for good.
    std::optional<bool> is_in;
    const auto begins_inside = [&] {
      if (!is_in) is_in = mesh.inside(m.edge[0]) || mesh.inside(m.edge[1]);
      return *is_in;
    };
    const Vector3d low = m.edge[0].cwiseMin(m.edge[1]).cwiseMin(p1).cwiseMin(q1);
    const Vector3d high = m.edge[0].cwiseMax(m.edge[1]).cwiseMax(p1).cwiseMax(q1);
    mesh.for_each_near(low, high, furthest + keep, [&](std::uint32_t triangle) {
      for (std::size_t c = 0; c < 3; ++c) {
        const std::uint32_t v = mesh.triangle(triangle)[c];
        m.corner[c] = mesh.vertex(v);
        m.corner_by[c] = motion.of(v);
      }
      const Vector3d n = mesh.face_normal(triangle);
      if (plane_separates(m, n, share * keep) || plane_separates(m, -n, share * keep)) return;
      ++out.looked_at;
      const SegmentTriangle first = closest(m.edge[0], m.edge[1], m.corner[0], m.corner[1], m.corner[2]);
      if (!(first.distance > 0)) {
        ++out.inside;
        return;
      }
      const Vector3d apart = (first.on_segment - first.on_triangle) / first.distance;
      const double least = share * least_apart(first.distance, keep);
      if (plane_separates(m, apart, least)) return;
      // What all of it moves by together brings nothing nearer.
      const Vector3d mean = (m.edge_by[0] + m.edge_by[1] + m.corner_by[0] + m.corner_by[1] + m.corner_by[2]) / 5;
      double edge_speed = 0, corner_speed = 0;
      for (const Vector3d& by : m.edge_by) edge_speed = std::max(edge_speed, (by - mean).norm());
      for (const Vector3d& by : m.corner_by) corner_speed = std::max(corner_speed, (by - mean).norm());
      const double speed = edge_speed + corner_speed;
      double t = 0;
      for (int i = 0; i < kMostAdvances && t < edge_fraction; ++i) {
        const double distance = i == 0 ? first.distance
                                       : closest(m.edge[0] + t * m.edge_by[0], m.edge[1] + t * m.edge_by[1],
                                                 m.corner[0] + t * m.corner_by[0], m.corner[1] + t * m.corner_by[1],
                                                 m.corner[2] + t * m.corner_by[2])
                                             .distance;
        const double left = distance - least;
        if (left >= (1 - t) * speed) return;
        if (left <= kBand * least) break;
        t += left / speed;
      }
      if (t >= edge_fraction && !stopped) return;
      if (begins_inside()) {
        ++out.inside;
        return;
      }
      edge_fraction = std::min(edge_fraction, t);
      if (stopped && stopped->size() < stopped->capacity())
        stopped->push_back({k, static_cast<std::uint32_t>(j), number, triangle, keep, t, from, to});
    });
    if (edge_fraction < 1) ++out.found;
    out.fraction = std::min(out.fraction, edge_fraction);
  };
  for (std::uint32_t k = 0; k < count; ++k)
    for (std::size_t j = 0; j < strands[k].edges(); ++j) {
      const auto edge = static_cast<double>(j);
      if (!passages) {
        look_at(k, j, 0, 1);
        continue;
      }
      for (double from = edge, to = edge + 1; outside(*passages, k, number, from, to); from = to, to = edge + 1)
        look_at(k, j, from - edge, to - edge);
    }
  return out;
}

}  // namespace ligature::contact
