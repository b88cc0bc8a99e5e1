#pragma once
/// A closed triangle mesh as a body's surface, rigid or deforming: nearest points, with the side they are seen from,
/// and the places where a point has a distance of its own (a local minimum), each of which may become a contact.
///
/// A nearest point lies inside a face, on an edge or on a vertex, its feature. It is a local minimum of the distance
/// where the direction to it lies in the normal cone of the feature: along the face's normal; for an edge beyond both
/// of its faces; for a vertex beyond all of its edges. The side is that of the angle-weighted pseudonormal
/// [Baerentzen 2005]; of a surface that deforms, whose triangles may fold past their neighbours, a place that this has
/// inside is so only where the surface winds round it.
#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/fixed_vector.hpp"
#include "sim/base/result.hpp"

namespace ligature::contact {

using Eigen::Vector3d;

inline constexpr std::size_t kMostTriangles = 200'000;
inline constexpr std::size_t kMostMinima = 12;  ///< that one query keeps, the nearest

class TriangleMesh {
 public:
  using Triangle = std::array<std::uint32_t, 3>;

  /// Closed, every edge in two triangles that run along it in opposite directions, every vertex with one fan, no
  /// triangle without area, and not inside out (anticlockwise seen from outside). The error says which is wrong and
  /// where; whether the surface meets itself is not looked at.
  static Result<TriangleMesh> create(std::vector<Vector3d> vertices, std::vector<Triangle> triangles);

  /// A place where the surface meets itself: two triangles that share no corner touch, or two that do meet elsewhere,
  /// too. Takes a while: O(triangles * those near).
  std::optional<Vector3d> meets_itself() const;
  /// A corner of a connected part that faces inwards and is no hollow of another, if there is one. O(triangles) for
  /// each part that faces inwards
  std::optional<Vector3d> shell_inside_out() const;

  /// The same triangles with their vertices elsewhere. What the surface is like is not looked at again; a triangle that
  /// has lost its area keeps the normal that it had. @param x (vertices) @rt O(vertices + triangles), no allocation
  void deform(const Vector3d* x) noexcept;

  struct Nearest {
    double distance = 0;       ///< positive = outside [mm]
    Vector3d point{0, 0, 0};   ///< on the surface [mm]
    Vector3d normal{0, 0, 1};  ///< unit, out of the solid: the gradient of the distance
    double s = 0;              ///< of a segment: the place on it, [0, 1]
    bool found = false;
    std::uint32_t triangle = 0;  ///< one that the point is on
  };
  /// The nearest point of the surface within this distance. @rt no allocation
  Nearest nearest(const Vector3d& p, double within) const noexcept;
  bool inside(const Vector3d& p) const noexcept;
  /// How often it winds round the place: once inside, not at all outside, by the solid angles of all its triangles
  /// [Oosterom 1983]. @rt O(triangles)
  double winding(const Vector3d& p) const noexcept;
  /// The nearest point for a segment p..q: its distance is not signed, 0 where it goes through the surface.
  Nearest nearest(const Vector3d& p, const Vector3d& q, double within) const noexcept;

  using Minima = FixedVector<Nearest, kMostMinima>;
  /// The local minima of the distance of a point outside, the nearest first. @rt no allocation
  void minima(const Vector3d& p, double within, Minima& out) const noexcept;

  const Vector3d& low() const noexcept { return low_; }
  const Vector3d& high() const noexcept { return high_; }
  std::size_t triangles() const noexcept { return triangles_.size(); }
  std::size_t vertices() const noexcept { return vertices_.size(); }
  const Triangle& triangle(std::size_t t) const noexcept { return triangles_[t]; }
  const Vector3d& vertex(std::size_t v) const noexcept { return vertices_[v]; }
  const Vector3d& face_normal(std::size_t t) const noexcept { return face_normals_[t]; }  ///< unit, outwards
  /// Across the edge k of a triangle, from corner k to k + 1.
  std::uint32_t neighbour(std::size_t t, std::size_t k) const noexcept { return neighbours_[t][k]; }
  std::uint32_t owner(std::size_t v) const noexcept { return owners_[v]; }  ///< one of the triangles round a vertex
  /// Whether d points out of the solid, as far as `slack` (a sine) beyond the normal cone of an edge, of a vertex.
  bool beyond_edge(std::uint32_t t, std::size_t k, const Vector3d& d, double slack) const noexcept;
  bool beyond_vertex(std::uint32_t v, const Vector3d& d, double slack) const noexcept;
  /// Weights of a triangle's corners at a point of it, each in [0, 1], sum 1.
  Vector3d weights(std::size_t t, const Vector3d& point) const noexcept;
  /// The square of the distance of two boxes [mm^2].
  static double box_gap(const Vector3d& low_a, const Vector3d& high_a, const Vector3d& low_b, const Vector3d& high_b) {
    return (low_a - high_b).cwiseMax(low_b - high_a).cwiseMax(0.0).squaredNorm();
  }
  /// visit(triangle) for every one whose box is within reach of this box.
  template <class Visit>
  void for_each_near(const Vector3d& low, const Vector3d& high, double reach, const Visit& visit) const noexcept {
    for_near(low, high, reach, visit);
  }
  /// visit(triangle) for every one of the leaves that near(low, high) does not leave out with their boxes, or with one
  /// round them.
  template <class Near, class Visit>
  void for_each_where(const Near& near, const Visit& visit) const noexcept;

  /// A box of the hierarchy round the triangles, in depth-first order: the first child of a branch comes behind it.
  struct Node {
    Vector3d low, high;
    std::uint32_t first = 0, count = 0;  ///< triangles of a leaf; of a branch count is 0 and first its second child
  };
  static constexpr std::uint32_t kLeaf = 4;  ///< triangles of a leaf at most
  const std::vector<Node>& hierarchy() const noexcept { return nodes_; }
  std::uint32_t listed(std::uint32_t i) const noexcept { return order_[i]; }  ///< the triangle that leaves have at i
  /// visit(node, node), once for every two leaves whose boxes are within reach of each other, and for each with itself.
  template <class Visit>
  void for_each_two_leaves(double reach, const Visit& visit) const noexcept;

 private:
  static constexpr std::size_t kDeepest = 64;  ///< of the hierarchy: halving 200 000 triangles takes 16
  void build(std::uint32_t first, std::uint32_t count);
  template <class Visit>  // visit(triangle), for all whose boxes are within `reach` of this box; may lower reach
  void for_near(const Vector3d& low, const Vector3d& high, const double& reach, const Visit& visit) const noexcept;
  const Vector3d& corner(std::uint32_t t, std::size_t k) const noexcept { return vertices_[triangles_[t][k % 3]]; }
  bool far(std::uint32_t t, const Vector3d& low, const Vector3d& high, double within) const noexcept;
  Vector3d vertex_normal(std::uint32_t v) const noexcept;

  std::vector<Vector3d> vertices_;
  std::vector<Triangle> triangles_;
  std::vector<Triangle> neighbours_;              // of a triangle across its edge k, from corner k to k + 1
  std::vector<Vector3d> face_normals_;            // unit
  std::vector<std::uint32_t> owners_;             // of a vertex: one of its triangles
  std::vector<std::uint32_t> ring_, ring_first_;  // of a vertex: those that edges join it to
  std::vector<std::uint32_t> order_;              // triangles as the leaves list them
  std::vector<Node> nodes_;                       // in depth-first order
  Vector3d low_{0, 0, 0}, high_{0, 0, 0};
  bool deforms_ = false;
};

template <class Visit>
void TriangleMesh::for_near(const Vector3d& low, const Vector3d& high, const double& reach,
                            const Visit& visit) const noexcept {
  struct Waiting {
    std::uint32_t node;
    double gap;
  };
  std::array<Waiting, kDeepest> stack;
  std::size_t depth = 0;
  stack[depth++] = {0, box_gap(low, high, nodes_[0].low, nodes_[0].high)};
  while (depth > 0) {
    const Waiting at = stack[--depth];
    if (at.gap > reach * reach) continue;
    const Node& node = nodes_[at.node];
    if (node.count > 0) {
      for (std::uint32_t i = node.first; i < node.first + node.count; ++i) visit(order_[i]);
      continue;
    }
    // The nearer child first.
    const std::uint32_t first = at.node + 1, second = node.first;
    Waiting near{first, box_gap(low, high, nodes_[first].low, nodes_[first].high)};
    Waiting far{second, box_gap(low, high, nodes_[second].low, nodes_[second].high)};
    if (far.gap < near.gap) std::swap(near, far);
    stack[depth++] = far;
    stack[depth++] = near;
  }
}

template <class Near, class Visit>
void TriangleMesh::for_each_where(const Near& near, const Visit& visit) const noexcept {
  std::array<std::uint32_t, kDeepest> stack;
  std::size_t depth = 0;
  stack[depth++] = 0;
  while (depth > 0) {
    const std::uint32_t at = stack[--depth];
    const Node& node = nodes_[at];
    if (!near(node.low, node.high)) continue;
    if (node.count == 0) stack[depth++] = node.first, stack[depth++] = at + 1;
    for (std::uint32_t i = node.first; i < node.first + node.count; ++i) visit(order_[i]);
  }
}

template <class Visit>
void TriangleMesh::for_each_two_leaves(double reach, const Visit& visit) const noexcept {
  std::array<std::pair<std::uint32_t, std::uint32_t>, 4 * kDeepest> stack;
  std::size_t depth = 0;
  const auto push = [&](std::uint32_t one, std::uint32_t other) {
    const Node &a = nodes_[one], &b = nodes_[other];
    if (box_gap(a.low, a.high, b.low, b.high) <= reach * reach) stack[depth++] = {one, other};
  };
  push(0, 0);
  while (depth > 0) {
    const auto [one, other] = stack[--depth];
    const Node &a = nodes_[one], &b = nodes_[other];
    if (a.count > 0 && b.count > 0) {
      visit(one, other);
    } else if (one == other) {
      push(one + 1, one + 1), push(a.first, a.first), push(one + 1, a.first);
    } else if (a.count > 0) {
      push(one, other + 1), push(one, b.first);
    } else if (b.count > 0) {
      push(one + 1, other), push(a.first, other);
    } else {
      push(one + 1, other + 1), push(one + 1, b.first), push(a.first, other + 1), push(a.first, b.first);
    }
  }
}

}  // namespace ligature::contact
