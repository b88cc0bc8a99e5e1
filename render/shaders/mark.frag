#version 460
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
layout(std430, set = 0, binding = 2) readonly buffer Marks { Mark marks[]; };
layout(set = 0, binding = 6) uniform sampler2DArray film;   // 4 x 2 pictures, a layer an eye
layout(location = 0) in vec2 at;
layout(location = 1) flat in int index;
layout(location = 0) out vec4 colour;
vec3 linear(vec3 c) { return mix(c / 12.92, pow((c + 0.055) / 1.055, vec3(2.4)), step(0.04045, c)); }
void main() {
  Mark mark = marks[index];
  float alpha = mark.colour.a;
  vec3 c = mark.colour.rgb;
  uint shape = mark.kind.x;
  if (shape == 1u || shape == 2u) {
    float r = length(at - 0.5) * mark.box.z;         // px from the centre
    float d = 0.5 * mark.box.z - 0.5 - r;
    alpha *= shape == 1u ? clamp(d + 0.5, 0.0, 1.0) : clamp(1.2 - abs(d), 0.0, 1.0);
  } else if (shape == 3u) {
    uvec2 cell = min(uvec2(at * vec2(5.0, 7.0)), uvec2(4u, 6u));
    uint bit = cell.y * 5u + cell.x;
    uint set = bit < 32u ? (mark.kind.z >> bit) & 1u : (mark.kind.w >> (bit - 32u)) & 1u;
    if (set == 0u) discard;
  } else if (shape == 4u) {
    c *= at.x;
  }
  if (shape == 5u) {
    vec2 tile = vec2(mark.kind.z % 4u, mark.kind.z / 4u);
    // Never a neighbour's colour: half a texel is left out all round.
    vec2 inset = 0.5 / (vec2(textureSize(film, 0).xy) / vec2(4.0, 2.0));
    colour = vec4(texture(film, vec3((tile + clamp(at, inset, 1.0 - inset)) / vec2(4.0, 2.0), EYE)).rgb, 1.0);
    return;
  }
  colour = vec4(linear(c), alpha);
}
