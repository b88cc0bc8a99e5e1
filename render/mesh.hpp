#pragma once
/// Meshes made in code: microsurgical forceps, a cut vessel between two clamps, clamps for tissue.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "render/params.hpp"

namespace ligature::render {

enum class Material : std::uint32_t {
  steel,
  vessel_outside,
  vessel_inside,
  vessel_wall,
  clamp,
  soft_outside,  ///< of tissue that deforms: patterned by where it lay at rest
  soft_inside,
  soft_cut
};
enum class Part : std::uint32_t { plus, minus, body };  ///< which arm a vertex turns with

/// The same layout as mesh.vert reads.
struct MeshVertex {
  std::array<float, 3> position{};  ///< [mm] in the frame of its mesh
  std::array<float, 3> normal{};
  float along = 0;  ///< [mm] or [rad], for the surface pattern
  float around = 0;
  std::uint32_t material = 0;
  std::uint32_t part = 0;
};
static_assert(sizeof(MeshVertex) == 40);

struct Mesh {
  std::vector<MeshVertex> vertices;
  std::vector<std::uint32_t> indices;  ///< triangles, counter-clockwise seen from outside
};

/// One point of an arm's centre line with the jaws closed, for the body and for its shadow. Arm plus; minus mirrors y.
struct ArmStation {
  double x_mm = 0;         ///< T's x
  double centre_y_mm = 0;  ///< of the cross-section
  double half_y_mm = 0;    ///< thickness/2
  double half_z_mm = 0;    ///< width/2
};
inline constexpr std::size_t kArmStations = 22;
/// From the tip to the hinge. The gripping faces meet in y = 0 along the jaw; behind it the arms bow apart.
std::array<ArmStation, kArmStations> arm_stations(const ForcepsShape& shape);

Mesh forceps_mesh(const ForcepsShape& shape);  ///< in T, closed
/// In W: the clamps at the ends of tissues that the anatomy holds, standing on the bench. They are drawn only.
Mesh clamps_mesh(std::span<const TissueSurface> tissues, double bench_z_mm);
Mesh vessel_mesh(const VesselParams& vessel, double bench_z_mm);  ///< in W; empty when not present

}  // namespace ligature::render
