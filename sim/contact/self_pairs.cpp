#include "sim/contact/self_pairs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <tuple>

#include "sim/contact/segment_triangle.hpp"

namespace ligature::contact {
namespace {

constexpr double kAgainst = 0.5;      // cosine of two normals, below which triangles may face each other
constexpr double kInFront = 1e-6;     // skins, by which a corner is in front, and not rounded to be
constexpr double kApartAtRest = 4;    // skins
constexpr double kLeastSlack = 0.05;  // that more is gathered than asked for [mm]
constexpr double kSlack = 0.5;        // ... of what is asked for
constexpr double kRounding = 1e-12;   // of a distance, relative
constexpr std::size_t kLeastRoom = 4096, kRoom = 32;  // pairs at most; ... for each triangle

struct Box {
  Vector3d low, high;
};

Box box_of(const TriangleMesh& mesh, std::uint32_t triangle) {
  const TriangleMesh::Triangle& t = mesh.triangle(triangle);
  const Vector3d &a = mesh.vertex(t[0]), &b = mesh.vertex(t[1]), &c = mesh.vertex(t[2]);
  return {a.cwiseMin(b).cwiseMin(c), a.cwiseMax(b).cwiseMax(c)};
}

/// Scalar products, rounded as Eigen's are.
Wide product(const Wide3& a, const Wide3& b) {
  return a[0] * b[0] + (a[1] * b[1] + a[2] * b[2]);
}

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

using Hexahedron = std::array<std::uint32_t, 8>;

/// The corners of the triangle that a hexahedron has, a bit for each of its eight.
unsigned common(const Hexahedron& solid, const TriangleMesh::Triangle& triangle) {
  unsigned bits = 0;
  for (std::size_t k = 0; k < solid.size(); ++k)
    for (const std::uint32_t v : triangle) bits |= (solid[k] == v ? 1u : 0u) << k;
  return bits;
}

bool on_one_side(unsigned corners) {
  constexpr std::array<unsigned, 6> kSides{0x0f, 0xf0, 0x33, 0xcc, 0x66, 0x99};
  return std::any_of(kSides.begin(), kSides.end(), [&](unsigned side) { return (corners & ~side) == 0; });
}

/// Of each triangle those of higher number that only a solid, crushed flat, could let it meet.
std::vector<std::vector<std::uint32_t>> across_solids(const TriangleMesh& mesh, std::span<const Hexahedron> solids) {
  std::vector<std::vector<std::uint32_t>> at(mesh.vertices()), out(mesh.triangles());
  for (std::uint32_t t = 0; t < mesh.triangles(); ++t)
    for (const std::uint32_t v : mesh.triangle(t)) at[v].push_back(t);
  std::vector<std::uint32_t> touching;
  for (const Hexahedron& solid : solids) {
    touching.clear();
    for (const std::uint32_t v : solid)
      if (v < at.size()) touching.insert(touching.end(), at[v].begin(), at[v].end());
    std::sort(touching.begin(), touching.end());
    touching.erase(std::unique(touching.begin(), touching.end()), touching.end());
    std::erase_if(touching, [&](std::uint32_t t) { return std::popcount(common(solid, mesh.triangle(t))) < 2; });
    for (std::size_t i = 0; i < touching.size(); ++i)
      for (std::size_t j = i + 1; j < touching.size(); ++j) {
        const unsigned both = common(solid, mesh.triangle(touching[i])) | common(solid, mesh.triangle(touching[j]));
        if (!on_one_side(both)) out[touching[i]].push_back(touching[j]);
      }
  }
  return out;
}

bool joined(const TriangleMesh::Triangle& a, const TriangleMesh::Triangle& b) {
  for (const std::uint32_t v : a)
    if (v == b[0] || v == b[1] || v == b[2]) return true;
  return false;
}

}  // namespace

SelfPairs::SelfPairs(const TriangleMesh& rest, double skin, std::span<const Hexahedron> solids) : skin_(skin) {
  for (std::size_t v = 0; v < rest.vertices(); ++v) then_.push_back(rest.vertex(v));
  static_assert(TriangleMesh::kLeaf <= kWide);
  for (const TriangleMesh::Node& node : rest.hierarchy()) {
    leaf_.push_back(static_cast<std::uint32_t>(faces_.size()));
    if (node.count > 0) faces_.emplace_back();
  }
  pairs_.reserve(std::max(kLeastRoom, kRoom * rest.triangles()));
  std::vector<std::vector<std::uint32_t>> apart = across_solids(rest, solids);
  const double near = kApartAtRest * skin;
  for (std::uint32_t t = 0; t < rest.triangles(); ++t) {
    const Box box = box_of(rest, t);
    rest.for_each_near(box.low, box.high, near, [&](std::uint32_t u) {
      if (u > t && (joined(rest.triangle(t), rest.triangle(u)) || distance(rest, t, u) <= near)) apart[t].push_back(u);
    });
    std::sort(apart[t].begin(), apart[t].end());
    first_apart_.push_back(static_cast<std::uint32_t>(kept_apart_.size()));
    std::unique_copy(apart[t].begin(), apart[t].end(), std::back_inserter(kept_apart_));
  }
  first_apart_.push_back(static_cast<std::uint32_t>(kept_apart_.size()));
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

void SelfPairs::gather_faces(const TriangleMesh& now) noexcept {
  for (std::size_t i = 0; i < leaf_.size(); ++i) {
    const TriangleMesh::Node& node = now.hierarchy()[i];
    if (node.count == 0) continue;
    Faces& f = faces_[leaf_[i]];
    f.count = node.count;
    f.level = spread(std::numeric_limits<double>::infinity());
    for (std::uint32_t lane = 0; lane < node.count; ++lane) {
      const std::uint32_t t = f.triangle[lane] = now.listed(node.first + lane);
      const Box box = box_of(now, t);
      const Vector3d& n = now.face_normal(t);
      for (int k = 0; k < 3; ++k) {
        f.low[k][lane] = box.low[k], f.high[k][lane] = box.high[k], f.normal[k][lane] = n[k];
        for (std::size_t c = 0; c < 3; ++c) f.corner[c][k][lane] = now.vertex(now.triangle(t)[c])[k];
      }
      f.level[lane] = n.dot(now.vertex(now.triangle(t)[0])) + kInFront * skin_;
    }
  }
}

bool SelfPairs::gather(const TriangleMesh& now) noexcept {
  bool fits = true;
  pairs_.clear();
  for (std::size_t v = 0; v < then_.size(); ++v) then_[v] = now.vertex(v);
  gather_faces(now);
  const Wide against = spread(kAgainst), reach = spread((1 + kRounding) * reach_ * reach_), zero{};
  const auto add = [&](std::uint32_t one, std::uint32_t other) {
    const auto [t, u] = std::minmax(one, other);
    if (std::binary_search(kept_apart_.begin() + first_apart_[t], kept_apart_.begin() + first_apart_[t + 1], u)) return;
    const Box a = box_of(now, t), b = box_of(now, u);
    const double gap = std::sqrt(TriangleMesh::box_gap(a.low, a.high, b.low, b.high));
    if (gap > reach_) return;
    fits = fits && pairs_.size() < pairs_.capacity();
    if (fits) pairs_.push_back({t, u, gap});
  };
  now.for_each_two_leaves(reach_, [&](std::uint32_t one, std::uint32_t other) {
    const Faces &a = faces_[leaf_[one]], &b = faces_[leaf_[other]];
    for (std::uint32_t i = 0; i < a.count; ++i) {
      const auto own = [i](const Wide3& w) { return Wide3{{spread(w[0][i]), spread(w[1][i]), spread(w[2][i])}}; };
      const Wide3 normal = own(a.normal), low = own(a.low), high = own(a.high);
      Wide3 between;
      for (int k = 0; k < 3; ++k) between[k] = larger(larger(low[k] - b.high[k], b.low[k] - high[k]), zero);
      Mask faces = (product(normal, b.normal) < against) & (product(between, between) <= reach);
      if (!any(faces)) continue;
      const Wide level = spread(a.level[i]);
      Mask in_front{}, behind{};
      for (int c = 0; c < 3; ++c) {
        in_front |= product(normal, b.corner[c]) > level;
        behind |= product(b.normal, own(a.corner[c])) > b.level;
      }
      faces &= in_front & behind;
      if (!any(faces)) continue;
      for (std::uint32_t j = &a == &b ? i + 1 : 0; j < b.count; ++j)
        if (faces[j] != 0) add(a.triangle[i], b.triangle[j]);
    }
  });
  if (!fits && reach_ > skin_) return false;
  std::sort(pairs_.begin(), pairs_.end(),
            [](const Pair& p, const Pair& q) { return std::tuple(p.gap, p.a, p.b) < std::tuple(q.gap, q.a, q.b); });
  return true;
}

}  // namespace ligature::contact
