#include "sim/contact/self_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "sim/contact/segment_triangle.hpp"

namespace ligature::contact {
namespace {

constexpr double kAgainst = 0.5;      // cosine of two normals, below which triangles may face each other
constexpr double kInFront = 1e-6;     // skins, by which a corner is in front, and not rounded to be
constexpr double kApartAtRest = 4;    // skins
constexpr double kLeastSlack = 0.05;  // that more is gathered than asked for [mm]
constexpr double kSlack = 0.5;        // ... of what is asked for
constexpr std::size_t kLeastRoom = 4096, kRoom = 32;  // pairs at most; ... for each triangle

struct Box {
  Vector3d low, high;
  Box(const TriangleMesh& mesh, std::uint32_t triangle) {
    const TriangleMesh::Triangle& t = mesh.triangle(triangle);
    const Vector3d &a = mesh.vertex(t[0]), &b = mesh.vertex(t[1]), &c = mesh.vertex(t[2]);
    low = a.cwiseMin(b).cwiseMin(c), high = a.cwiseMax(b).cwiseMax(c);
  }
};

/// Of two triangles that do not pass through each other.
double distance(const TriangleMesh& mesh, std::uint32_t s, std::uint32_t t) {
  const TriangleMesh::Triangle &a = mesh.triangle(s), &b = mesh.triangle(t);
  const auto v = [&mesh](std::uint32_t i) -> const Vector3d& { return mesh.vertex(i); };
  double least = 1e9;
  for (std::size_t k = 0; k < 3; ++k) {
    least = std::min(least, closest(v(a[k]), v(a[(k + 1) % 3]), v(b[0]), v(b[1]), v(b[2])).distance);
    least = std::min(least, closest(v(b[k]), v(b[(k + 1) % 3]), v(a[0]), v(a[1]), v(a[2])).distance);
  }
  return least;
}

bool joined(const TriangleMesh::Triangle& a, const TriangleMesh::Triangle& b) {
  for (const std::uint32_t v : a)
    if (v == b[0] || v == b[1] || v == b[2]) return true;
  return false;
}

}  // namespace

SelfPairs::SelfPairs(const TriangleMesh& rest, double skin) : skin_(skin) {
  for (std::size_t v = 0; v < rest.vertices(); ++v) then_.push_back(rest.vertex(v));
  faces_.resize(rest.triangles());
  pairs_.reserve(std::max(kLeastRoom, kRoom * rest.triangles()));
  const double near = kApartAtRest * skin;
  for (std::uint32_t t = 0; t < rest.triangles(); ++t) {
    near_at_rest_.push_back(static_cast<std::uint32_t>(near_list_.size()));
    const Box box(rest, t);
    rest.for_each_near(box.low, box.high, near, [&](std::uint32_t u) {
      if (u > t && (joined(rest.triangle(t), rest.triangle(u)) || distance(rest, t, u) <= near))
        near_list_.push_back(u);
    });
    std::sort(near_list_.begin() + near_at_rest_.back(), near_list_.end());
  }
  near_at_rest_.push_back(static_cast<std::uint32_t>(near_list_.size()));
}

std::span<const SelfPairs::Pair> SelfPairs::find(const TriangleMesh& now, double within) noexcept {
  Vector3d mean = Vector3d::Zero();
  for (std::size_t v = 0; v < then_.size(); ++v) mean += now.vertex(v) - then_[v];
  mean /= static_cast<double>(then_.size());
  double square = 0;
  for (std::size_t v = 0; v < then_.size(); ++v)
    square = std::max(square, (now.vertex(v) - then_[v] - mean).squaredNorm());
  double moved = 2 * std::sqrt(square);
  if (within + moved > reach_) {
    // What does not fit is looked for within less.
    reach_ = within + std::max(kLeastSlack, kSlack * within);
    while (!gather(now)) reach_ *= 0.5;
    moved = 0;
  }
  known_ = reach_ - moved;
  const auto end = std::upper_bound(pairs_.begin(), pairs_.end(), within + moved,
                                    [](double gap, const Pair& p) { return gap < p.gap; });
  return {pairs_.begin(), end};
}

bool SelfPairs::gather(const TriangleMesh& now) noexcept {
  bool fits = true;
  pairs_.clear();
  for (std::size_t v = 0; v < then_.size(); ++v) then_[v] = now.vertex(v);
  for (std::uint32_t t = 0; t < now.triangles(); ++t) {
    const Box box(now, t);
    const Vector3d& n = now.face_normal(t);
    faces_[t] = {box.low, box.high, n, n.dot(now.vertex(now.triangle(t)[0])) + kInFront * skin_};
  }
  const auto in_front = [&](const Face& f, std::uint32_t other) {
    for (const std::uint32_t v : now.triangle(other))
      if (f.normal.dot(then_[v]) > f.level) return true;
    return false;
  };
  for (std::uint32_t t = 0; t < now.triangles(); ++t) {
    const auto near = near_list_.begin() + near_at_rest_[t], near_end = near_list_.begin() + near_at_rest_[t + 1];
    const Face& face = faces_[t];
    now.for_each_near(face.low, face.high, reach_, [&](std::uint32_t u) {
      if (u <= t || !fits || face.normal.dot(faces_[u].normal) >= kAgainst) return;
      const double gap = std::sqrt(TriangleMesh::box_gap(face.low, face.high, faces_[u].low, faces_[u].high));
      if (gap > reach_ || !in_front(face, u) || !in_front(faces_[u], t) || std::binary_search(near, near_end, u))
        return;
      fits = pairs_.size() < pairs_.capacity();
      if (fits) pairs_.push_back({t, u, gap});
    });
  }
  if (!fits && reach_ > skin_) return false;
  std::sort(pairs_.begin(), pairs_.end(),
            [](const Pair& p, const Pair& q) { return std::tuple(p.gap, p.a, p.b) < std::tuple(q.gap, q.a, q.b); });
  return true;
}

}  // namespace ligature::contact
