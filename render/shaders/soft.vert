#version 460
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
struct Corner {
  vec4 position;
  vec4 normal;
  vec4 bulge;
};
layout(std430, set = 0, binding = 3) readonly buffer Corners { Corner corners[]; };
layout(location = 0) in uvec3 corner;
layout(location = 1) in vec2 weight;
layout(location = 2) in vec3 rest;
layout(location = 3) in vec2 surface;
layout(location = 4) in uint material_in;
layout(location = 0) centroid out vec3 p_W;
layout(location = 1) centroid out vec3 n_W;
layout(location = 2) centroid out vec3 x_W;  // unused: the layout is that of mesh.vert
layout(location = 3) centroid out vec3 to_eye;
layout(location = 4) centroid out vec3 p_mesh;
layout(location = 5) centroid out vec2 uv;
layout(location = 6) flat out uint material;

// What a corner's tangent plane makes of a point of the facet.
vec3 on_plane(vec3 p, Corner c) {
  return p - dot(p - c.position.xyz, c.bulge.xyz) * c.bulge.xyz;
}

void main() {
  Corner a = corners[corner.x], b = corners[corner.y], c = corners[corner.z];
  vec3 w = vec3(1.0 - weight.x - weight.y, weight);
  vec3 flat_p = w.x * a.position.xyz + w.y * b.position.xyz + w.z * c.position.xyz;
  vec3 round_p = w.x * on_plane(flat_p, a) + w.y * on_plane(flat_p, b) + w.z * on_plane(flat_p, c);
  p_W = mix(flat_p, round_p, 0.5);
  n_W = w.x * a.normal.xyz + w.y * b.normal.xyz + w.z * c.normal.xyz;
  x_W = vec3(1.0, 0.0, 0.0);
  to_eye = frame.eye_p_W[EYE].xyz - p_W;
  p_mesh = rest;
  uv = surface;
  material = material_in;
  gl_Position = frame.clip_W[EYE] * vec4(p_W, 1.0);
}
