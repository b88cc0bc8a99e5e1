#include "render/vulkan/shaders.hpp"

#include "spirv_all.h"  // written by CMake: the arrays <name>_spv and <name>_mv_spv

namespace ligature::render {

#define LIGATURE_SHADER(name)                                                         \
  case ShaderName::name:                                                              \
    return multiview ? ShaderCode{name##_mv_spv, sizeof name##_mv_spv} : ShaderCode { \
      name##_spv, sizeof name##_spv                                                   \
    }

ShaderCode shader_code(ShaderName name, bool multiview) {
  switch (name) {
    LIGATURE_SHADER(bench_vert);
    LIGATURE_SHADER(bench_frag);
    LIGATURE_SHADER(shadow_vert);
    LIGATURE_SHADER(shadow_frag);
    LIGATURE_SHADER(tube_vert);
    LIGATURE_SHADER(tube_frag);
    LIGATURE_SHADER(mesh_vert);
    LIGATURE_SHADER(soft_vert);
    LIGATURE_SHADER(steel_frag);
    LIGATURE_SHADER(tissue_frag);
    LIGATURE_SHADER(depth_frag);
    LIGATURE_SHADER(mark_vert);
    LIGATURE_SHADER(mark_frag);
  }
  return {};
}

#undef LIGATURE_SHADER

}  // namespace ligature::render
