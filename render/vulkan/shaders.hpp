#pragma once
/// SPIR-V compiled at build time, each in two forms: for one pass per eye and for multiview.
#include <cstddef>
#include <cstdint>

namespace ligature::render {

struct ShaderCode {
  const std::uint32_t* words = nullptr;
  std::size_t bytes = 0;
};
enum class ShaderName {
  bench_vert,
  bench_frag,
  shadow_vert,
  shadow_frag,
  tube_vert,
  tube_frag,
  mesh_vert,
  soft_vert,
  steel_frag,
  tissue_frag,
  depth_frag,
  mark_vert,
  mark_frag
};
ShaderCode shader_code(ShaderName name, bool multiview);

}  // namespace ligature::render
