#pragma once
/// Where a deforming surface may meet itself: pairs of its triangles that face each other.
///
/// Two triangles that share no corner are a pair when each has a corner in front of the other, their normals are
/// turned against each other, they were apart at rest, and they are near. Through a wall triangles lie back to back:
/// what is between them keeps them apart. So it is where they meet as an element between them is crushed flat. Pairs
/// are gathered within more than is asked for, down the surface's hierarchy, four triangles beside each other at a
/// time, and kept as long as nothing has moved by that much against the rest of the surface.
#include <array>
#include <span>
#include <vector>

#include "sim/base/wide.hpp"
#include "sim/contact/mesh.hpp"

namespace ligature::contact {

class SelfPairs {
 public:
  /// That pairs are looked for within at most [mm].
  static constexpr double kMostReach = 0.4;

  struct Pair {
    std::uint32_t a = 0, b = 0;  ///< a < b
    double gap = 0;              ///< of their boxes, when they were gathered [mm]
  };

  SelfPairs() = default;
  /// @param rest the surface at rest @param skin that it keeps of a distance [mm]: what is nearer at rest than a few of
  /// it is no pair @param solids hexahedra under the surface, corners as element.hpp numbers them: triangles that have
  /// two corners each of one of them, on different sides of it, are no pair
  SelfPairs(const TriangleMesh& rest, double skin, std::span<const std::array<std::uint32_t, 8>> solids = {});

  /// All that are nearer than `within`, and more. @param within at most kMostReach [mm]
  /// @returns those that were nearest first. @rt O(triangles * those near), most often O(vertices); no allocation
  std::span<const Pair> find(const TriangleMesh& now, double within) noexcept;
  /// Within what find() has found all [mm]: less than was asked for where too many are near.
  double known() const noexcept { return known_; }
  /// Gathers anew when asked next.
  void forget() noexcept { reach_ = -1; }

 private:
  struct Faces {  // of a leaf of the surface's hierarchy, side by side
    std::array<std::uint32_t, kWide> triangle{};
    std::uint32_t count = 0;
    Wide3 low{}, high{}, normal{}, corner[3]{};
    Wide level{};  // along its normal, from which on others are in front of a face; infinite where there is none
  };
  bool gather(const TriangleMesh& now) noexcept;  ///< whether all within reach_ fit
  void gather_faces(const TriangleMesh& now) noexcept;

  double skin_ = 0, reach_ = -1, known_ = 0;
  std::vector<Vector3d> then_;  // vertices, when pairs were gathered
  // Of each triangle those of higher number that are no pair with it, in ascending order.
  std::vector<std::uint32_t> first_apart_, kept_apart_;
  std::vector<Pair> pairs_;
  std::vector<Faces> faces_;         // when pairs were gathered                                (leaves)
  std::vector<std::uint32_t> leaf_;  // of a node of the hierarchy the number of its faces      (nodes)
};

}  // namespace ligature::contact
