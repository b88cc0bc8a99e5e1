#include "render/soft.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "render/mesh.hpp"

namespace ligature::render {
namespace {

constexpr double kFlatArc =
    1.0 / 8;  // of a neighbour's height over the tangent plane: half the height of the arc to it

Vec3 to_vec(const SnapshotVertex& v) {
  return {v.x, v.y, v.z};
}
std::array<float, 4> to_float(Vec3 v) {
  return {static_cast<float>(v.x), static_cast<float>(v.y), static_cast<float>(v.z), 0};
}
Vec3 unit_or(Vec3 v, Vec3 otherwise) {
  const double length = norm(v);
  return length > 0 ? (1 / length) * v : otherwise;
}

Material material_of(WallPart part) {
  switch (part) {
    case WallPart::outside:
      return Material::soft_outside;
    case WallPart::inside:
      return Material::soft_inside;
    case WallPart::cut:
      break;
  }
  return Material::soft_cut;
}

/// How far every vertex is from an end that nothing holds, in diameters of that end; far where there is none.
std::vector<double> depths_of(const TissueSurface& surface, const std::vector<CutEnd>& ends) {
  constexpr double kFar = 10;
  std::vector<double> out(surface.rest.size(), kFar);
  for (const CutEnd& end : ends) {
    if (end.held) continue;
    for (std::size_t v = 0; v < out.size(); ++v)
      for (const std::uint32_t rim : end.vertices)
        out[v] = std::min(out[v], norm(to_vec(surface.rest[v]) - to_vec(surface.rest[rim])) / (2 * end.radius));
  }
  return out;
}

/// Clouds of colour some tenths of a millimetre wide, 0..1.
double mottle(Vec3 p) {
  const double a = std::sin(3.1 * p.x + 2.3 * std::sin(2.7 * p.y + 1.3)) * std::sin(4.3 * p.y + 3.7 * p.z + 0.7);
  const double b = std::sin(7.9 * p.x - 5.3 * p.z + 2.0 * std::sin(6.1 * p.y)) * std::sin(8.7 * p.z + 2.9 * p.x);
  return std::clamp(0.5 + 0.35 * a + 0.2 * b, 0.0, 1.0);
}

/// A frame at this place whose x axis has this direction.
Pose along(Vec3 origin, Vec3 x) {
  const Vec3 turn = cross({1, 0, 0}, x);
  const double sine = norm(turn), angle = std::atan2(sine, x.x);
  return {axis_angle(sine > 1e-9 ? (1 / sine) * turn : Vec3{0, 0, 1}, angle), origin};
}

}  // namespace

std::vector<CutEnd> cut_ends(const TissueSurface& surface) {
  // Cut triangles that hang together are one end.
  std::vector<std::uint32_t> root(surface.rest.size());
  for (std::uint32_t v = 0; v < root.size(); ++v) root[v] = v;
  const auto find = [&root](std::uint32_t v) {
    while (root[v] != v) v = root[v] = root[root[v]];
    return v;
  };
  for (const TissueTriangle& t : surface.triangles)
    if (t.part == WallPart::cut)
      for (const std::size_t k : {1U, 2U}) root[find(t.vertex[k])] = find(t.vertex[0]);

  std::map<std::uint32_t, CutEnd> ends;
  std::vector<bool> taken(root.size(), false);
  for (const TissueTriangle& t : surface.triangles) {
    if (t.part != WallPart::cut) continue;
    CutEnd& end = ends[find(t.vertex[0])];
    const Vec3 a = to_vec(surface.rest[t.vertex[0]]);
    end.normal = end.normal + cross(to_vec(surface.rest[t.vertex[1]]) - a, to_vec(surface.rest[t.vertex[2]]) - a);
    for (const std::uint32_t v : t.vertex)
      if (!taken[v]) taken[v] = true, end.vertices.push_back(v);
  }
  std::vector<bool> held(root.size(), false);
  for (const std::uint32_t v : surface.held) held[v] = true;
  std::vector<CutEnd> out;
  for (auto& [first, end] : ends) {
    for (const std::uint32_t v : end.vertices)
      end.centre = end.centre + (1.0 / static_cast<double>(end.vertices.size())) * to_vec(surface.rest[v]);
    for (const std::uint32_t v : end.vertices)
      end.radius = std::max(end.radius, norm(to_vec(surface.rest[v]) - end.centre));
    end.normal = unit_or(end.normal, {0, 0, 1});
    end.held = std::all_of(end.vertices.begin(), end.vertices.end(), [&](std::uint32_t v) { return held[v]; });
    if (end.radius > 0) out.push_back(std::move(end));
  }
  return out;
}

SoftMesh::SoftMesh(std::span<const TissueSurface> surfaces, std::uint32_t pieces) {
  const auto n = std::max<std::uint32_t>(pieces, 1);
  for (const TissueSurface& surface : surfaces) {
    Tissue tissue;
    tissue.first_vertex = static_cast<std::uint32_t>(rest_.size());
    tissue.vertices = static_cast<std::uint32_t>(surface.rest.size());
    tissue.first_face = static_cast<std::uint32_t>(faces_.size());
    tissue.faces = static_cast<std::uint32_t>(surface.triangles.size());
    tissue.first_corner = static_cast<std::uint32_t>(corner_of_.size());
    rest_.insert(rest_.end(), surface.rest.begin(), surface.rest.end());
    const std::vector<CutEnd> ends = cut_ends(surface);
    const std::vector<double> depth = depths_of(surface, ends);
    const Vec3 other_pattern{17.0 * static_cast<double>(tissues_.size()), 0, 0};  // no two look the same
    const Pose X_VW = ends.empty() ? Pose{} : inverse(along(ends.front().centre, ends.front().normal));

    std::map<std::pair<std::uint32_t, WallPart>, std::uint32_t> corners;
    const auto corner = [&](std::uint32_t vertex, WallPart part) {
      const auto [at, added] = corners.try_emplace({vertex, part}, static_cast<std::uint32_t>(corner_of_.size()));
      if (added) corner_of_.push_back(tissue.first_vertex + vertex);
      return at->second;
    };
    // Small triangles share what lies on their common corners and edges.
    using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // two corners, steps from the first
    std::map<Key, std::uint32_t> shared;
    for (const TissueTriangle& t : surface.triangles) {
      Face face;
      for (std::size_t k = 0; k < 3; ++k) face.corner[k] = corner(t.vertex[k], t.part);
      face.cut = t.part == WallPart::cut;
      faces_.push_back(face);
      const auto at = [&](std::uint32_t i, std::uint32_t j) {  // i steps towards the second corner, j to the third
        SoftVertex v;
        v.corner = face.corner;
        v.weight = {static_cast<float>(i) / static_cast<float>(n), static_cast<float>(j) / static_cast<float>(n)};
        v.material = static_cast<std::uint32_t>(material_of(t.part));
        const std::array<double, 3> w{1.0 - v.weight[0] - v.weight[1], v.weight[0], v.weight[1]};
        Vec3 rest = other_pattern;
        for (std::size_t k = 0; k < 3; ++k) {
          rest = rest + w[k] * (X_VW * to_vec(surface.rest[t.vertex[k]]));
          v.depth += static_cast<float>(w[k] * depth[t.vertex[k]]);
        }
        v.mottle = static_cast<float>(mottle(rest));
        v.rest = {static_cast<float>(rest.x), static_cast<float>(rest.y), static_cast<float>(rest.z)};
        const std::array<std::uint32_t, 3> steps{n - i - j, i, j};
        for (std::size_t k = 0; k < 3; ++k) {
          const std::size_t a = (k + 1) % 3, b = (k + 2) % 3;
          if (steps[k] != 0) continue;
          const std::uint32_t ca = face.corner[a], cb = face.corner[b];
          Key key = ca < cb ? Key{ca, cb, steps[b]} : Key{cb, ca, steps[a]};
          if (steps[a] == 0) key = {cb, cb, 0};
          if (steps[b] == 0) key = {ca, ca, 0};
          const auto [place, added] = shared.try_emplace(key, static_cast<std::uint32_t>(vertices_.size()));
          if (added) vertices_.push_back(v);
          return place->second;
        }
        vertices_.push_back(v);
        return static_cast<std::uint32_t>(vertices_.size() - 1);
      };
      std::vector<std::uint32_t> row;
      for (std::uint32_t j = 0; j <= n; ++j) {
        std::vector<std::uint32_t> next;
        for (std::uint32_t i = 0; i + j <= n; ++i) next.push_back(at(i, j));
        for (std::size_t i = 0; i + 1 < row.size(); ++i) {
          indices_.insert(indices_.end(), {row[i], row[i + 1], next[i]});
          if (i + 1 < next.size()) indices_.insert(indices_.end(), {row[i + 1], next[i + 1], next[i]});
        }
        row = std::move(next);
      }
    }
    tissue.corners = static_cast<std::uint32_t>(corner_of_.size()) - tissue.first_corner;
    tissues_.push_back(tissue);
  }
  at_ = rest_;
  normal_.resize(corner_of_.size());
  bulge_.resize(rest_.size());
  arc_.resize(rest_.size());
}

void SoftMesh::place(const SceneSnapshot& scene, SoftCorner* out) noexcept {
  for (std::size_t k = 0; k < tissues_.size(); ++k) {
    const Tissue& tissue = tissues_[k];
    if (k < scene.tissues.size() && scene.tissues[k].vertex_count == tissue.vertices &&
        scene.tissues[k].first_vertex + tissue.vertices <= scene.surface.size()) {
      const SnapshotVertex* now = scene.surface.data() + scene.tissues[k].first_vertex;
      const bool finite = std::all_of(now, now + tissue.vertices, [](const SnapshotVertex& v) {
        return std::isfinite(v.x + v.y + v.z) && std::abs(v.x) < 1e5F && std::abs(v.y) < 1e5F && std::abs(v.z) < 1e5F;
      });
      if (finite) std::copy_n(now, tissue.vertices, at_.data() + tissue.first_vertex);
    }
    shade(tissue, out);
  }
  find_box();
}

void SoftMesh::place_at_rest(SoftCorner* out) noexcept {
  at_ = rest_;
  for (const Tissue& tissue : tissues_) shade(tissue, out);
  find_box();
}

void SoftMesh::find_box() noexcept {
  if (at_.empty()) return;
  low_ = high_ = to_vec(at_.front());
  for (const SnapshotVertex& v : at_) {
    low_ = {std::min<double>(low_.x, v.x), std::min<double>(low_.y, v.y), std::min<double>(low_.z, v.z)};
    high_ = {std::max<double>(high_.x, v.x), std::max<double>(high_.y, v.y), std::max<double>(high_.z, v.z)};
  }
}

void SoftMesh::shade(const Tissue& tissue, SoftCorner* out) noexcept {
  const std::size_t end = tissue.first_vertex + tissue.vertices;
  for (std::size_t v = tissue.first_vertex; v < end; ++v) bulge_[v] = {}, arc_[v] = 0;
  for (std::size_t c = tissue.first_corner; c < tissue.first_corner + tissue.corners; ++c) normal_[c] = {};
  const auto at = [&](std::uint32_t corner) { return to_vec(at_[corner_of_[corner]]); };
  const auto faces = [&](const auto& visit) {
    for (std::size_t f = tissue.first_face; f < tissue.first_face + tissue.faces; ++f) visit(faces_[f]);
  };
  // Weighted by area: large triangles know better where a surface faces.
  faces([&](const Face& f) {
    const Vec3 a = at(f.corner[0]), area = cross(at(f.corner[1]) - a, at(f.corner[2]) - a);
    for (const std::uint32_t c : f.corner) {
      normal_[c] = normal_[c] + area;
      if (!f.cut) bulge_[corner_of_[c]] = bulge_[corner_of_[c]] + area;
    }
  });
  for (std::size_t v = tissue.first_vertex; v < end; ++v) bulge_[v] = unit_or(bulge_[v], {});
  faces([&](const Face& f) {
    if (f.cut) return;
    for (std::size_t k = 0; k < 3; ++k)
      for (const std::size_t other : {(k + 1) % 3, (k + 2) % 3}) {
        const std::uint32_t v = corner_of_[f.corner[k]];
        const double height = dot(at(f.corner[other]) - at(f.corner[k]), bulge_[v]);
        if (std::abs(height) > std::abs(arc_[v])) arc_[v] = height;
      }
  });
  for (std::size_t c = tissue.first_corner; c < tissue.first_corner + tissue.corners; ++c) {
    const std::uint32_t v = corner_of_[c];
    out[c].position = to_float(to_vec(at_[v]) + (kFlatArc * arc_[v]) * bulge_[v]);
    out[c].normal = to_float(unit_or(normal_[c], {0, 0, 1}));
    out[c].bulge = to_float(bulge_[v]);
  }
}

}  // namespace ligature::render
