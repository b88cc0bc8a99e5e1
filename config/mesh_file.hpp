#pragma once
/// A closed triangle mesh from a file, STL (text or binary) or OBJ, in mm; read by assimp, which stays behind this
/// header.
#include <array>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "sim/base/geometry.hpp"
#include "sim/base/result.hpp"

namespace ligature::config {

struct MeshFile {
  std::vector<Vec3> vertices;  ///< [mm]
  std::vector<std::array<std::uint32_t, 3>> triangles;
  bool turned = false;  ///< it was inside out, and was turned
};

/// Corners at the same place, bit for bit, become one vertex. The error says what is wrong in a few words: no such
/// format, broken, or not the surface of a solid (open, more than two triangles at an edge, without area, meeting
/// itself...).
Result<MeshFile> load_mesh(const std::filesystem::path& path);

}  // namespace ligature::config
