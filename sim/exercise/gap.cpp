#include "sim/exercise/gap.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/geometry.hpp"

namespace ligature::exercise {
namespace {

Vec3 place(const SnapshotVertex& v) {
  return {v.x, v.y, v.z};
}

// Of p to the segment a b, squared.
double to_segment(const Vec3& p, const Vec3& a, const Vec3& b) {
  const Vec3 along = b - a;
  const double length2 = dot(along, along);
  const double s = length2 > 0 ? std::clamp(dot(p - a, along) / length2, 0.0, 1.0) : 0;
  const Vec3 off = p - (a + s * along);
  return dot(off, off);
}

// Of p to the triangle, squared: to its plane where p lies over it, else to its nearest edge.
double to_triangle(const Vec3& p, const Vec3& a, const Vec3& b, const Vec3& c) {
  const Vec3 n = cross(b - a, c - a);
  const double area2 = dot(n, n);
  const bool over = area2 > 0 && dot(cross(b - a, p - a), n) >= 0 && dot(cross(c - b, p - b), n) >= 0 &&
                    dot(cross(a - c, p - c), n) >= 0;
  if (over) return dot(p - a, n) * dot(p - a, n) / area2;
  return std::min({to_segment(p, a, b), to_segment(p, b, c), to_segment(p, c, a)});
}

}  // namespace

EndGap::EndGap(const std::vector<TissueSurface>& tissues, std::size_t first, std::size_t second) {
  for (std::size_t k = 0; k < 2; ++k) {
    Face& face = faces_[k];
    face.tissue = k == 0 ? first : second;
    if (face.tissue >= tissues.size()) continue;
    const TissueSurface& t = tissues[face.tissue];
    for (const TissueTriangle& f : t.triangles) {
      const bool held = std::any_of(f.vertex.begin(), f.vertex.end(), [&](std::uint32_t v) {
        return std::find(t.held.begin(), t.held.end(), v) != t.held.end();
      });
      if (f.part == WallPart::cut && !held) face.triangles.push_back(f.vertex);
    }
    for (const auto& f : face.triangles) face.vertices.insert(face.vertices.end(), f.begin(), f.end());
    std::sort(face.vertices.begin(), face.vertices.end());
    face.vertices.erase(std::unique(face.vertices.begin(), face.vertices.end()), face.vertices.end());
  }
}

double EndGap::of(const SceneSnapshot& scene) const noexcept {
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < 2; ++k) {
    const Face &own = faces_[k], &other = faces_[1 - k];
    if (own.tissue >= scene.tissues.size() || other.tissue >= scene.tissues.size()) continue;
    const SnapshotTissue &a = scene.tissues[own.tissue], &b = scene.tissues[other.tissue];
    if (a.vertex_count == 0 || b.vertex_count == 0) continue;
    const SnapshotVertex *at = scene.surface.data() + a.first_vertex, *of_other = scene.surface.data() + b.first_vertex;
    for (const std::uint32_t v : own.vertices)
      for (const auto& f : other.triangles)
        best = std::min(best,
                        to_triangle(place(at[v]), place(of_other[f[0]]), place(of_other[f[1]]), place(of_other[f[2]])));
  }
  return std::isfinite(best) ? std::sqrt(best) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace ligature::exercise
