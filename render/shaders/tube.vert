#version 460
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
layout(constant_id = 0) const int kSides = 8;
layout(std430, set = 0, binding = 1) readonly buffer Rings { Ring rings[]; };
layout(location = 0) centroid out vec3 p_W;
layout(location = 1) centroid out vec3 n_W;
layout(location = 2) centroid out vec3 t_W;
layout(location = 3) centroid out vec3 to_eye;
layout(location = 4) centroid out float steel;
void main() {
  Ring ring = rings[push.first + gl_VertexIndex / kSides];
  float phi = float(gl_VertexIndex % kSides) * (6.28318530718 / float(kSides));
  t_W = ring.tangent_strength.xyz;
  steel = ring.tangent_strength.w > kWire ? 1.0 : 0.0;
  vec3 binormal = cross(t_W, ring.normal_tilt.xyz);
  vec3 out_W = cos(phi) * ring.normal_tilt.xyz + sin(phi) * binormal;
  p_W = ring.centre_radius.xyz + ring.centre_radius.w * out_W;
  float tilt = ring.normal_tilt.w;
  n_W = sqrt(max(1.0 - tilt * tilt, 0.0)) * out_W + tilt * t_W;
  to_eye = frame.eye_p_W[EYE].xyz - p_W;
  gl_Position = frame.clip_W[EYE] * vec4(p_W, 1.0);
}
