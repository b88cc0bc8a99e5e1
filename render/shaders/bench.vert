#version 460
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
layout(location = 0) out vec3 p_W;
void main() {
  // Exactly the picture's corners, so that nothing is clipped: see make_passes() about clipping and multiview.
  vec2 ndc = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 2.0 - 1.0;
  vec4 corner = frame.corner_p_W[EYE * 4 + gl_VertexIndex];
  p_W = corner.xyz;
  float depth = (frame.clip_W[EYE] * vec4(p_W, 1.0)).z;
  gl_Position = vec4(ndc * corner.w, clamp(depth, 0.0, corner.w), corner.w);
}
