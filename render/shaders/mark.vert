#version 460
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
layout(std430, set = 0, binding = 2) readonly buffer Marks { Mark marks[]; };
layout(location = 0) out vec2 at;            // 0..1 within the mark
layout(location = 1) flat out int index;
void main() {
  index = push.first + gl_InstanceIndex;
  Mark mark = marks[index];
  at = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
  vec2 px = mark.box.xy + at * mark.box.zw;
  bool seen = ((mark.kind.y >> EYE) & 1u) != 0u;
  // A mark for the other eye shrinks to nothing; put aside it would be clipped.
  gl_Position = seen ? vec4(px / frame.bench.yz * 2.0 - 1.0, 0.0, 1.0) : vec4(0.0, 0.0, 0.0, 1.0);
}
