#version 460
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
// A caster's rings, thrown along the key light onto the bench and widened by the light's penumbra.
layout(std430, set = 0, binding = 1) readonly buffer Rings { Ring rings[]; };
layout(location = 0) out vec4 profile;  // across [mm], half width, penumbra, strength
layout(location = 1) out vec3 p_W;
void main() {
  Ring ring = rings[push.first + (gl_VertexIndex >> 1)];
  float side = float(gl_VertexIndex & 1) * 2.0 - 1.0;
  vec3 l = frame.to_light_W.xyz;
  vec3 p = ring.centre_radius.xyz;
  float height = max(p.z - frame.bench.x, 0.0);
  vec2 on_bench = p.xy - l.xy * (height / l.z);
  vec2 along = ring.tangent_strength.xy - l.xy * (ring.tangent_strength.z / l.z);
  float n = length(along);
  vec2 across = n > 1e-3 ? vec2(-along.y, along.x) / n : vec2(0.0, 1.0);
  float half_width = ring.centre_radius.w;
  float penumbra = height / l.z * frame.to_light_W.w + 0.35 / frame.to_microscope_W.w;
  float reach = half_width + 1.6 * penumbra;
  // Where the caster points at the light its strip has no direction and would fold over itself: it fades there.
  float w = ring.tangent_strength.w, strength = w > kWire ? w - kWire : w;
  profile = vec4(side * reach, half_width, penumbra, strength * smoothstep(0.05, 0.35, n));
  p_W = vec3(on_bench + across * side * reach, frame.bench.x);
  gl_Position = frame.clip_W[EYE] * vec4(p_W, 1.0);
}
