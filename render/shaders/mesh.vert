#version 460
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 surface;
layout(location = 3) in uvec2 material_part;
layout(location = 0) centroid out vec3 p_W;
layout(location = 1) centroid out vec3 n_W;
layout(location = 2) centroid out vec3 x_W;       // the mesh's x axis: the brushing
layout(location = 3) centroid out vec3 to_eye;
layout(location = 4) centroid out vec3 p_mesh;
layout(location = 5) centroid out vec2 uv;
layout(location = 6) flat out uint material;
invariant gl_Position;
void main() {
  mat4 model = frame.model_W[push.model + int(material_part.y)];
  p_mesh = position;
  p_W = (model * vec4(position, 1.0)).xyz;
  n_W = mat3(model) * normal;
  x_W = model[0].xyz;
  uv = surface;
  material = material_part.x;
  to_eye = frame.eye_p_W[EYE].xyz - p_W;
  gl_Position = frame.clip_W[EYE] * vec4(p_W, 1.0);
}
