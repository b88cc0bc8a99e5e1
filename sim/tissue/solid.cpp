#include "sim/tissue/solid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "sim/base/eigen.hpp"
#include "sim/contact/mesh.hpp"

namespace ligature::tissue {
namespace {

using Triangle = std::array<std::uint32_t, 3>;

constexpr int kLines = 6;             // through an element, each way
constexpr double kLeastFilled = 0.1;  // of an element that is there: nodes must hang on something
constexpr double kOnNode = 1e-9;      // of an element's edge: so near a place is on a node, or in the next element, too
constexpr int kMostDivisions = 48;    // of a triangle's side, and of flat faces between ridges
constexpr int kMostFlips = 16;        // sweeps after a division
constexpr double kFlat = 1e-9;        // between the normals of neighbours: one plane

struct Dividing {
  using Side = std::pair<std::uint32_t, std::uint32_t>;  // the smaller number first
  std::vector<Vector3d>& vertices;
  std::vector<Triangle>& triangles;
  double longest = 0;
  std::map<Side, std::array<std::uint32_t, 2>> beside;  // triangles of a side

  void find_sides() {
    beside.clear();
    for (std::uint32_t t = 0; t < triangles.size(); ++t)
      for (std::size_t k = 0; k < 3; ++k) {
        const Side side = std::minmax(triangles[t][k], triangles[t][(k + 1) % 3]);
        const auto [at, added] = beside.try_emplace(side, std::array{t, t});
        if (!added) at->second[1] = t;
      }
  }
  Vector3d normal(std::uint32_t t) const {
    const auto& [a, b, c] = triangles[t];
    return (vertices[b] - vertices[a]).cross(vertices[c] - vertices[a]).normalized();
  }
  bool flat(const std::array<std::uint32_t, 2>& both) const {
    return (normal(both[0]) - normal(both[1])).squaredNorm() < kFlat * kFlat;
  }
  bool too_long(const Side& s) const {
    return (vertices[s.first] - vertices[s.second]).squaredNorm() > longest * longest;
  }
  std::uint32_t across(std::uint32_t t, const Side& s) const {
    for (const std::uint32_t v : triangles[t])
      if (v != s.first && v != s.second) return v;
    return s.first;
  }

  // Within what is flat the other diagonal is taken where Delaunay wants it.
  bool flip() {
    find_sides();
    std::vector<bool> changed(triangles.size(), false);
    bool any = false;
    for (const auto& [side, both] : beside) {
      const auto [t, u] = both;
      if (changed[t] || changed[u] || !flat(both)) continue;
      const std::uint32_t p = across(t, side), q = across(u, side);
      const auto cotangent = [&](std::uint32_t at) {
        const Vector3d a = vertices[side.first] - vertices[at], b = vertices[side.second] - vertices[at];
        return a.dot(b) / a.cross(b).norm();
      };
      if (!(cotangent(p) + cotangent(q) < -kFlat) || beside.contains(std::minmax(p, q))) continue;
      std::size_t k = 0;
      while (triangles[t][k] != p) ++k;
      const std::uint32_t a = triangles[t][(k + 1) % 3], b = triangles[t][(k + 2) % 3];
      triangles[t] = {p, a, q};
      triangles[u] = {p, q, b};
      changed[t] = changed[u] = any = true;
    }
    return any;
  }

  // Halves all sides that are too long: the ridges first.
  bool halve() {
    find_sides();
    std::map<Side, std::uint32_t> middles;
    for (const bool ridges : {true, false}) {
      for (const auto& [side, both] : beside) {
        if (!too_long(side) || (ridges && flat(both))) continue;
        middles.emplace(side, static_cast<std::uint32_t>(vertices.size()));
        vertices.push_back(0.5 * (vertices[side.first] + vertices[side.second]));
      }
      if (!middles.empty()) break;
    }
    if (middles.empty()) return false;
    std::vector<Triangle> out;
    for (const Triangle& t : triangles) {
      std::array<std::uint32_t, 3> m{};  // of the side from corner k
      std::array<bool, 3> has{};
      int count = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        const auto at = middles.find(std::minmax(t[k], t[(k + 1) % 3]));
        if (at != middles.end()) m[k] = at->second, has[k] = true, ++count;
      }
      if (count == 0) {
        out.push_back(t);
      } else if (count == 3) {
        out.insert(out.end(), {{t[0], m[0], m[2]}, {m[0], t[1], m[1]}, {m[2], m[1], t[2]}, {m[0], m[1], m[2]}});
      } else {
        // From the corner where a halved side begins; of two the one that comes first.
        std::size_t k = 0;
        while (!has[k] || (count == 2 && !has[(k + 1) % 3])) ++k;
        const std::uint32_t p = t[k], q = t[(k + 1) % 3], r = t[(k + 2) % 3], a = m[k], b = m[(k + 1) % 3];
        if (count == 1) {
          out.insert(out.end(), {{p, a, r}, {a, q, r}});
          continue;
        }
        out.push_back({a, q, b});
        if ((vertices[a] - vertices[r]).squaredNorm() < (vertices[p] - vertices[b]).squaredNorm())
          out.insert(out.end(), {{p, a, r}, {a, b, r}});
        else
          out.insert(out.end(), {{p, a, b}, {p, b, r}});
      }
    }
    triangles.swap(out);
    return true;
  }
};

/// Sides longer than `longest` are halved, until there are none.
Result<void> divide(std::vector<Vector3d>& vertices, std::vector<Triangle>& triangles, double longest) {
  Dividing d{vertices, triangles, longest, {}};
  for (int pass = 0; pass < kMostDivisions && triangles.size() <= kMostSurfaceTriangles; ++pass) {
    if (!d.halve()) return {};
    for (int k = 0; k < kMostFlips && d.flip(); ++k) {
    }
  }
  return usage_error("the surface has more than " + std::to_string(kMostSurfaceTriangles) +
                     " triangles with sides of at most element_mm: take larger elements, a coarser mesh, or one of less slender triangles");
}

struct Lattice {
  Vector3d low{0, 0, 0}, edge{1, 1, 1};
  std::array<int, 3> count{1, 1, 1};

  std::size_t element(int i, int j, int k) const { return static_cast<std::size_t>((k * count[1] + j) * count[0] + i); }
  std::size_t elements() const { return element(0, 0, count[2]); }
  std::size_t node(int i, int j, int k) const {
    return static_cast<std::size_t>((k * (count[1] + 1) + j) * (count[0] + 1) + i);
  }
  Vector3d place(int i, int j, int k) const { return low + edge.cwiseProduct(Vector3d(i, j, k)); }
};

// Whether the line along the first axis through (y, z) meets the triangle. A side is judged by the same numbers from
// both its triangles, so that a line meets a closed surface an even number of times.
bool meets(const Vector3d& a, const Vector3d& b, const Vector3d& c, double y, double z) {
  bool odd = false;
  const auto side = [&](const Vector3d& one, const Vector3d& two) {
    if ((one.z() > z) == (two.z() > z)) return;
    const Vector3d &p = one.z() > two.z() ? two : one, &q = one.z() > two.z() ? one : two;
    if (y < p.y() + (z - p.z()) / (q.z() - p.z()) * (q.y() - p.y())) odd = !odd;
  };
  side(a, b), side(b, c), side(c, a);
  return odd;
}

/// The fraction of every element that is inside.
std::vector<double> fill(const Lattice& lattice, const std::vector<Vector3d>& vertices,
                         const std::vector<Triangle>& triangles) {
  const int lines_y = kLines * lattice.count[1], lines_z = kLines * lattice.count[2];
  std::vector<std::vector<double>> at(static_cast<std::size_t>(lines_y) * static_cast<std::size_t>(lines_z));
  const double dy = lattice.edge.y() / kLines, dz = lattice.edge.z() / kLines;
  for (const Triangle& t : triangles) {
    const Vector3d &a = vertices[t[0]], &b = vertices[t[1]], &c = vertices[t[2]];
    const Vector3d n = (b - a).cross(c - a);
    if (n.x() == 0) continue;
    const Vector3d first = a.cwiseMin(b).cwiseMin(c) - lattice.low, last = a.cwiseMax(b).cwiseMax(c) - lattice.low;
    const int j0 = std::max(0, static_cast<int>(first.y() / dy - 1)), j1 = static_cast<int>(last.y() / dy + 1);
    const int k0 = std::max(0, static_cast<int>(first.z() / dz - 1)), k1 = static_cast<int>(last.z() / dz + 1);
    for (int k = k0; k <= std::min(k1, lines_z - 1); ++k)
      for (int j = j0; j <= std::min(j1, lines_y - 1); ++j) {
        const double y = lattice.low.y() + (j + 0.5) * dy, z = lattice.low.z() + (k + 0.5) * dz;
        if (!meets(a, b, c, y, z)) continue;
        at[static_cast<std::size_t>(k * lines_y + j)].push_back(a.x() -
                                                                (n.y() * (y - a.y()) + n.z() * (z - a.z())) / n.x());
      }
  }
  std::vector<double> out(lattice.elements(), 0.0);
  for (int k = 0; k < lines_z; ++k)
    for (int j = 0; j < lines_y; ++j) {
      std::vector<double>& x = at[static_cast<std::size_t>(k * lines_y + j)];
      std::sort(x.begin(), x.end());
      for (std::size_t p = 0; p + 1 < x.size(); p += 2) {
        const double from = (x[p] - lattice.low.x()) / lattice.edge.x(),
                     to = (x[p + 1] - lattice.low.x()) / lattice.edge.x();
        for (int i = std::max(0, static_cast<int>(from)); i < lattice.count[0] && i < to; ++i)
          out[lattice.element(i, j / kLines, k / kLines)] +=
              std::max(0.0, std::min(to, i + 1.0) - std::max(from, static_cast<double>(i))) / (kLines * kLines);
      }
    }
  return out;
}

// The elements that a place is in: several where it is on their faces.
template <class Visit>
void for_each_around(const Lattice& lattice, const Vector3d& p, const Visit& visit) {
  std::array<int, 3> first{}, last{};
  for (Eigen::Index a = 0; a < 3; ++a) {
    const auto axis = static_cast<std::size_t>(a);
    const double u = (p[a] - lattice.low[a]) / lattice.edge[a];
    first[axis] = std::clamp(static_cast<int>(std::floor(u - kOnNode)), 0, lattice.count[axis] - 1);
    last[axis] = std::clamp(static_cast<int>(std::floor(u + kOnNode)), 0, lattice.count[axis] - 1);
  }
  for (int k = first[2]; k <= last[2]; ++k)
    for (int j = first[1]; j <= last[1]; ++j)
      for (int i = first[0]; i <= last[0]; ++i) visit(i, j, k);
}

constexpr int kCorner[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};

}  // namespace

Result<TissueModel> solid_model(const Solid& solid) {
  if (!(solid.element > 0 && std::isfinite(solid.element)))
    return usage_error("element_mm is not positive: a quarter of the thinnest place is usual");
  if (const auto surface = contact::TriangleMesh::create(solid.vertices, solid.triangles); !surface)
    return usage_error("not the surface of a solid: " + surface.error().message);
  // Only vertices that triangles have.
  std::vector<Vector3d> vertices;
  std::vector<Triangle> triangles = solid.triangles;
  std::vector<std::int64_t> number(solid.vertices.size(), -1);
  for (Triangle& t : triangles)
    for (std::uint32_t& v : t) {
      if (number[v] < 0) {
        number[v] = static_cast<std::int64_t>(vertices.size());
        vertices.push_back(solid.vertices[v]);
      }
      v = static_cast<std::uint32_t>(number[v]);
    }
  if (auto ok = divide(vertices, triangles, solid.element); !ok) return Unexpected{ok.error()};

  Lattice lattice;
  Vector3d high = vertices[0];
  lattice.low = vertices[0];
  for (const Vector3d& v : vertices) lattice.low = lattice.low.cwiseMin(v), high = high.cwiseMax(v);
  double boxes = 1;
  for (Eigen::Index a = 0; a < 3; ++a) {
    const double length = high[a] - lattice.low[a];
    const double count = std::max(1.0, std::ceil(length / solid.element - 1e-6));
    boxes *= count;
    if (!(boxes <= 64.0 * kMostElements))
      return usage_error("element_mm is far too small for a solid of this size: take larger elements");
    lattice.count[static_cast<std::size_t>(a)] = static_cast<int>(count);
    lattice.edge[a] = length / count;
  }
  std::vector<double> filled = fill(lattice, vertices, triangles);
  for (double& f : filled)
    if (f > 0) f = std::clamp(f, kLeastFilled, 1.0);
  // Every vertex belongs to an element: of several to the fullest.
  const auto home = [&](const Vector3d& p) {
    std::array<int, 3> best{};
    double most = -1;
    for_each_around(lattice, p, [&](int i, int j, int k) {
      if (filled[lattice.element(i, j, k)] > most) most = filled[lattice.element(i, j, k)], best = {i, j, k};
    });
    return best;
  };
  for (const Vector3d& v : vertices) {
    const auto [i, j, k] = home(v);
    double& f = filled[lattice.element(i, j, k)];
    if (!(f > 0)) f = kLeastFilled;
  }

  TissueModel out;
  out.material = solid.material;
  out.skin = solid.skin;
  out.nodes = vertices;
  std::vector<std::int64_t> node_of(lattice.node(0, 0, lattice.count[2] + 1), -1), element_of(filled.size(), -1);
  for (int k = 0; k < lattice.count[2]; ++k)
    for (int j = 0; j < lattice.count[1]; ++j)
      for (int i = 0; i < lattice.count[0]; ++i) {
        const std::size_t e = lattice.element(i, j, k);
        if (!(filled[e] > 0)) continue;
        Hexahedron hexahedron{};
        for (std::size_t c = 0; c < 8; ++c) {
          const int at[] = {i + kCorner[c][0], j + kCorner[c][1], k + kCorner[c][2]};
          std::int64_t& node = node_of[lattice.node(at[0], at[1], at[2])];
          if (node < 0) {
            node = static_cast<std::int64_t>(out.nodes.size());
            out.nodes.push_back(lattice.place(at[0], at[1], at[2]));
          }
          hexahedron[c] = static_cast<std::uint32_t>(node);
        }
        element_of[e] = static_cast<std::int64_t>(out.elements.size());
        out.elements.push_back(hexahedron);
        out.filled.push_back(filled[e]);
      }
  if (out.elements.size() > kMostElements)
    return usage_error("element_mm gives " + std::to_string(out.elements.size()) + " elements, must be at most " +
                       std::to_string(kMostElements) + ": take larger elements");
  std::vector<bool> held(out.nodes.size(), false);
  for (std::size_t b = 0; b < solid.fixed.size(); ++b) {
    const Box& box = solid.fixed[b];
    const Vector3d slack = kOnNode * lattice.edge;
    bool any = false;
    for (std::size_t n = vertices.size(); n < out.nodes.size(); ++n) {
      if ((out.nodes[n] - box.low + slack).minCoeff() < 0 || (box.high + slack - out.nodes[n]).minCoeff() < 0) continue;
      held[n] = any = true;
    }
    if (!any)
      return usage_error("fixed_box_mm: box " + std::to_string(b) +
                         " holds no node of it: move it to where the mesh is, or make it larger than an element");
  }
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    const auto [i, j, k] = home(vertices[v]);
    Embedded& embedded = out.embedded.emplace_back();
    embedded.element = static_cast<std::uint32_t>(element_of[lattice.element(i, j, k)]);
    const Vector3d u = (vertices[v] - lattice.place(i, j, k)).cwiseQuotient(lattice.edge).cwiseMax(0.0).cwiseMin(1.0);
    held[v] = true;
    for (std::size_t c = 0; c < 8; ++c) {
      double w = 1;
      for (Eigen::Index a = 0; a < 3; ++a) w *= kCorner[c][a] ? u[a] : 1 - u[a];
      embedded.weight[c] = w;
      if (w > kOnNode && !held[out.elements[embedded.element][c]]) held[v] = false;
    }
  }
  for (std::uint32_t n = 0; n < out.nodes.size(); ++n)
    if (held[n]) out.fixed.push_back(n);
  for (const Triangle& t : triangles) out.surface.push_back({t, SurfacePart::outer});
  const Eigen::Quaterniond q_WV = to_eigen(solid.X_WV.q).normalized();
  for (Vector3d& n : out.nodes) n = to_eigen(solid.X_WV.p) + q_WV * n;
  return out;
}

}  // namespace ligature::tissue
