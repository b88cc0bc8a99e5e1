#pragma once
/// Tissue as the picture sees it: the surface of the physics, rounded between its vertices.
///
/// Every triangle becomes n^2 small ones, made once; where they are the vertex shader computes in each frame from the
/// three corners (Phong tessellation [Boubekeur 2008], with half of the displacement, which lies on a circle's arc).
/// The flat facets are what threads lie on: corners are moved back along their normals by half the height of the arcs,
/// so that a thread neither sinks in nor floats.
///
/// Normals are smooth within a part of the wall and have an edge where it was cut. A vertex has one direction of
/// displacement, whatever part a triangle belongs to, so that the rounded surface has no gaps.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/contract/tissue_surface.hpp"

namespace ligature::render {

/// One corner for one part of the wall; the same layout as in soft.vert (std430). W [mm].
struct SoftCorner {
  std::array<float, 4> position{};
  std::array<float, 4> normal{};  ///< unit, what light sees
  std::array<float, 4> bulge{};   ///< unit, the way the surface is rounded
};
static_assert(sizeof(SoftCorner) == 48);

/// A vertex of a small triangle; the same layout as soft.vert reads.
struct SoftVertex {
  std::array<std::uint32_t, 3> corner{};  ///< that it lies between
  std::array<float, 2> weight{};          ///< of the second and the third
  std::array<float, 3> rest{};            ///< [mm], for the surface's pattern: x along the vessel
  float depth = 0;                        ///< from the nearest open end [diameters]: light gets lost in a lumen
  float mottle = 0;                       ///< of its colour, 0..1
  std::uint32_t material = 0;
};
static_assert(sizeof(SoftVertex) == 44);

/// Where a tissue was cut through, at rest.
struct CutEnd {
  Vec3 centre, normal;  ///< unit, out of the tissue
  double radius = 0;    ///< of its rim
  bool held = false;    ///< all of it, by the anatomy: it does not end there
  std::vector<std::uint32_t> vertices;
};
std::vector<CutEnd> cut_ends(const TissueSurface& surface);

class SoftMesh {
 public:
  /// @param surfaces with indices within range  @param pieces n: into how many parts an edge is cut
  SoftMesh(std::span<const TissueSurface> surfaces, std::uint32_t pieces);

  /// The corners of the box that all of it is in, after place().
  Vec3 low() const { return low_; }
  Vec3 high() const { return high_; }
  const std::vector<SoftVertex>& vertices() const { return vertices_; }
  const std::vector<std::uint32_t>& indices() const { return indices_; }
  std::size_t corners() const { return corner_of_.size(); }
  /// Where everything is now. A tissue whose vertices are not those of its surface stays where it was.
  /// @param out corners() of them  @rt O(triangles), no allocation
  void place(const SceneSnapshot& scene, SoftCorner* out) noexcept;
  /// At rest.
  void place_at_rest(SoftCorner* out) noexcept;

 private:
  struct Corner {
    std::uint32_t tissue = 0, vertex = 0;  ///< the latter among all of all tissues
  };
  struct Face {
    std::array<std::uint32_t, 3> corner{};
    bool cut = false;
  };
  struct Tissue {
    std::uint32_t first_vertex = 0, vertices = 0;
    std::uint32_t first_face = 0, faces = 0, first_corner = 0, corners = 0;
  };
  void find_box() noexcept;
  void shade(const Tissue& tissue, SoftCorner* out) noexcept;

  std::vector<Tissue> tissues_;
  Vec3 low_, high_;
  std::vector<SnapshotVertex> rest_;      ///< of all tissues
  std::vector<SnapshotVertex> at_;        ///< now
  std::vector<std::uint32_t> corner_of_;  ///< vertex of every corner
  std::vector<Face> faces_;
  std::vector<Vec3> normal_;  ///< of every corner
  std::vector<Vec3> bulge_;   ///< of every vertex
  std::vector<double> arc_;   ///< of every vertex: height of its farthest neighbour over its tangent plane [mm]
  std::vector<SoftVertex> vertices_;
  std::vector<std::uint32_t> indices_;
};

}  // namespace ligature::render
