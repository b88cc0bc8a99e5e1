#include "config/mesh_file.hpp"

#include <assimp/postprocess.h>
#include <assimp/scene.h>

#include <algorithm>
#include <assimp/Importer.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "config/document.hpp"
#include "sim/world/obstacles.hpp"

namespace ligature::config {

namespace {

constexpr std::uintmax_t kMaxBytes = 64u << 20;

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

/// One line, short: messages of the library may hold what the file holds.
std::string printable(const char* message) {
  std::string out;
  for (const char* c = message; *c != 0 && out.size() < 120; ++c) out += *c >= ' ' && *c <= '~' ? *c : ' ';
  return out;
}

/// The library trusts the count that a binary STL gives: it must be that of the file.
bool is_binary_stl_of_wrong_size(const std::string& bytes) {
  if (bytes.compare(0, 5, "solid") == 0 && bytes.find("facet") != std::string::npos) return false;
  std::uint32_t count = 0;
  if (bytes.size() < 84) return true;
  std::memcpy(&count, bytes.data() + 80, 4);
  return bytes.size() != 84 + 50 * static_cast<std::size_t>(count);
}

}  // namespace

Result<MeshFile> load_mesh(const std::filesystem::path& path) {
  const std::string kind = lower(path.extension().string());
  if (kind != ".stl" && kind != ".obj") return usage_error("not an STL or OBJ file by its name");
  std::error_code failed;
  const auto size = std::filesystem::file_size(path, failed);
  if (failed || size > kMaxBytes) return usage_error(failed ? "not readable" : "larger than 64 MiB");
  auto bytes = read_file(path, kMaxBytes);
  if (!bytes) return usage_error("not readable");
  if (constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf"; kind == ".obj" && bytes->starts_with(kByteOrderMark))
    bytes->erase(0, kByteOrderMark.size());
  if (bytes->empty()) return usage_error("empty");
  if (kind == ".stl" && is_binary_stl_of_wrong_size(*bytes))
    return usage_error(
        "broken: neither an ASCII STL (solid, facet in small letters) nor a binary one of the size that its count of "
        "triangles says");

  Assimp::Importer importer;
  const aiScene* scene = nullptr;
  try {
    importer.SetPropertyInteger("AI_CONFIG_PP_SBP_REMOVE", aiPrimitiveType_POINT | aiPrimitiveType_LINE);
    scene = importer.ReadFileFromMemory(bytes->data(), bytes->size(), aiProcess_Triangulate, kind.c_str() + 1);
  } catch (const std::exception& e) {
    return usage_error("broken: " + printable(e.what()));
  }
  if (scene == nullptr || scene->mNumMeshes == 0)
    return usage_error("broken: " + printable(scene == nullptr ? importer.GetErrorString() : "no triangles"));

  MeshFile out;
  std::map<std::array<float, 3>, std::uint32_t> known;
  double volume = 0;
  for (unsigned m = 0; m < scene->mNumMeshes; ++m) {
    const aiMesh& part = *scene->mMeshes[m];
    for (unsigned f = 0; f < part.mNumFaces; ++f) {
      const aiFace& face = part.mFaces[f];
      if (face.mNumIndices != 3) return usage_error("broken: it has points or lines beside its triangles");
      if (out.triangles.size() == world::kMaxTriangles)
        return usage_error("too large: more than " + std::to_string(world::kMaxTriangles) + " triangles");
      std::array<std::uint32_t, 3> corners{};
      for (unsigned k = 0; k < 3; ++k) {
        if (face.mIndices[k] >= part.mNumVertices) return usage_error("broken: a triangle without its vertex");
        const aiVector3D& v = part.mVertices[face.mIndices[k]];
        if (!std::isfinite(v.x) || !std::isfinite(v.y) || !std::isfinite(v.z))
          return usage_error("broken: a vertex that is not a number");
        const std::array<float, 3> place{v.x + 0.0f, v.y + 0.0f, v.z + 0.0f};  // -0 is 0
        const auto [at, added] = known.try_emplace(place, static_cast<std::uint32_t>(out.vertices.size()));
        if (added) out.vertices.push_back({place[0], place[1], place[2]});
        corners[k] = at->second;
      }
      out.triangles.push_back(corners);
      const Vec3 o = out.vertices[0];
      volume += dot(out.vertices[corners[0]] - o, cross(out.vertices[corners[1]] - o, out.vertices[corners[2]] - o));
    }
  }
  if (volume < 0) {
    out.turned = true;
    for (auto& t : out.triangles) std::swap(t[0], t[1]);
  }
  if (const auto mesh = world::check_mesh(out.vertices, out.triangles); !mesh)
    return usage_error("not the surface of a solid: " + mesh.error().message);
  return out;
}

}  // namespace ligature::config
