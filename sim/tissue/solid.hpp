#pragma once
/// Any solid as tissue: what a closed triangle surface encloses, filled with a lattice of hexahedra.
///
/// The lattice has the axes of the surface's own frame and fits the surface's box. An element that the surface cuts
/// takes part with the fraction of it that is inside (the finite cell method's weight [Parvizian 2007], one number an
/// element, found along lines parallel to its first axis); the vertices of the surface are embedded: each is where the
/// trilinear map of its element takes it, and what pushes it pushes the element's nodes by the same weights, so that
/// resultant and moment are kept. The surface that contact meets is that of the file, its triangles divided until no
/// side is longer than an element.
///
/// What the lattice cannot see: a gap narrower than an element, whose sides are joined through it.
#include "sim/tissue/model.hpp"

namespace ligature::tissue {

struct Box {
  Vector3d low{0, 0, 0}, high{0, 0, 0};
};

struct Solid {
  std::vector<Vector3d> vertices;                       ///< in its own frame V [mm]
  std::vector<std::array<std::uint32_t, 3>> triangles;  ///< closed, anticlockwise seen from outside
  Pose X_WV;
  Material material;
  double element = 0;      ///< longest edge of an element [mm]
  std::vector<Box> fixed;  ///< in V: nodes in one of them, its faces included, do not move
  double skin = 0;         ///< [mm]
};

inline constexpr std::size_t kMostElements = 8192;           ///< of one tissue: about 20 ms a step
inline constexpr std::size_t kMostSurfaceTriangles = 12288;  ///< of one tissue, divided

/// Surface first: nodes 0 .. s - 1 are the embedded ones. Errors name element_mm or the surface.
Result<TissueModel> solid_model(const Solid& solid);

}  // namespace ligature::tissue
