#pragma once
/// What a piece of tissue is made of: nodes, hexahedra, surface, material, what holds it. A vessel end by code.
#include <array>
#include <cstdint>
#include <vector>

#include "sim/base/geometry.hpp"
#include "sim/base/result.hpp"
#include "sim/tissue/element.hpp"

namespace ligature::tissue {

enum class SurfacePart : std::uint8_t { outer, inner, first_end, last_end };

/// Nodes anticlockwise seen from outside the tissue.
struct SurfaceTriangle {
  std::array<std::uint32_t, 3> node{};
  SurfacePart part = SurfacePart::outer;
};

struct Material {
  double young = 1e6;         ///< [Pa]
  double poisson = 0.45;      ///< below 0.5
  double density = 1.05e-3;   ///< [g/mm^3]
  double relaxation = 0.002;  ///< Kelvin-Voigt: viscous stress = relaxation * elastic law of the strain's rate [s]
  double drag = 100;          ///< of the surroundings: force = drag * mass * velocity [1/s]
};

/// Of a node that belongs to no element: where it is.
struct Embedded {
  std::uint32_t element = 0;
  std::array<double, 8> weight{};  ///< of its corners, sum 1
};

struct TissueModel {
  std::vector<Vector3d> nodes;           ///< at rest, W [mm]
  std::vector<Hexahedron> elements;      ///< corners in the order of element.hpp
  std::vector<double> filled;            ///< fraction of an element that is tissue; empty: all of it
  std::vector<SurfaceTriangle> surface;  ///< closed; on nodes 0 .. s - 1, each of which it has
  std::vector<Embedded> embedded;        ///< of nodes 0 .. e - 1: they go along with an element; empty: none does
  std::vector<std::uint32_t> fixed;      ///< nodes that do not move, or only as they are told
  Material material;
  double skin = 0;  ///< that its surface keeps of the distance to another tissue's [mm]; 0: it meets none
};

/// A straight vessel end, with its own axis x: from x = 0 (the first end) to x = length (the last).
struct Vessel {
  double outer_diameter = 1.0;  ///< [mm]
  double wall = 0.1;            ///< [mm]
  double length = 4.0;          ///< [mm]
  Pose X_WV;                    ///< vessel in W
  Material material;
  bool fix_first = true, fix_last = false;  ///< ends that the anatomy holds
  int around = 20, along = 20, layers = 1;  ///< elements
};

/// All values looked at; the error names the one that is wrong and its range.
Result<TissueModel> vessel_model(const Vessel& vessel);

/// Number of node (i along, j around, k from the inside to the outside): those of the surface come first.
std::uint32_t vessel_node(const Vessel& vessel, int i, int j, int k);

}  // namespace ligature::tissue
