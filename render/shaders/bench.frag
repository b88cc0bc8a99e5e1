#version 460
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
#include "shade.glsl"
layout(location = 0) in vec3 p_W;
layout(location = 0) out vec4 colour;

// Lines every `step` mm, anti-aliased to the pixel's footprint `d`.
float lines(vec2 q, float step, float half_width, vec2 d) {
  vec2 a = abs(fract(q / step + 0.5) - 0.5) * step;
  vec2 l = 1.0 - smoothstep(vec2(half_width) - 0.5 * d, vec2(half_width) + d, a);
  return max(l.x, l.y);
}

void main() {
  vec2 q = p_W.xy;
  vec2 d = max(fwidth(q), vec2(1e-4));
  float s = spot(p_W);
  // Rubberised backing sheet: fine grain, slow mottling, a printed millimetre grid.
  // The grain's lattice is turned, so that it does not line up with the grid.
  vec2 turned = vec2(0.8 * q.x - 0.6 * q.y, 0.6 * q.x + 0.8 * q.y);
  float grain = noise(turned * 7.0) * smoothstep(0.25, 0.05, max(d.x, d.y)) + 0.8 * noise(turned * 0.55);
  vec3 base = vec3(0.020, 0.142, 0.138) * (0.84 + 0.20 * grain);
  float fine = lines(q, 1.0, 0.015, d) * smoothstep(0.40, 0.05, max(d.x, d.y));
  float coarse = lines(q, 10.0, 0.035, d);
  base += vec3(0.012, 0.034, 0.032) * fine + vec3(0.035, 0.075, 0.070) * coarse;
  vec3 v = normalize(frame.eye_p_W[0].xyz + frame.eye_p_W[1].xyz - 2.0 * p_W);
  float key = frame.to_light_W.z, lamp = frame.to_microscope_W.z;
  float sheen = pow(max(normalize(v + frame.to_light_W.xyz).z, 0.0), 12.0);
  float sun = lit(tissue_map, in_light(p_W), 2.5, 4);
  vec3 c = base * (0.12 + s * (0.85 * key * sun + 0.45 * lamp)) + s * sun * sheen * vec3(0.020, 0.026, 0.026);
  colour = vec4(tone(c), 1.0);
}
