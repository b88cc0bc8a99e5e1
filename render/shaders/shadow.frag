#version 460
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
#include "shade.glsl"
layout(location = 0) in vec4 profile;
layout(location = 1) in vec3 p_W;
layout(location = 0) out vec4 colour;
// A strip of half width w seen against a round light: the step at each edge, blurred over the penumbra p.
float edge(float x, float p) { return smoothstep(-1.6 * p, 1.6 * p, x); }
void main() {
  float x = profile.x, w = profile.y, p = profile.z;
  float covered = edge(x + w, p) - edge(x - w, p);
  colour = vec4(0.0, 0.0, 0.0, clamp(covered * profile.w, 0.0, 1.0) * lit(tissue_map, in_light(p_W), 0.0, 1));
}
