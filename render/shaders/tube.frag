#version 460
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
#include "shade.glsl"
layout(location = 0) centroid in vec3 p_W;
layout(location = 1) centroid in vec3 n_W;
layout(location = 2) centroid in vec3 t_W;
layout(location = 3) centroid in vec3 to_eye;
layout(location = 4) centroid in float steel;
layout(location = 0) out vec4 colour;

// Polished wire mirrors the lamps, a dim ceiling and the sheet below.
vec3 wire(vec3 n, vec3 v, vec3 l, vec3 m, float s) {
  vec3 r = reflect(-v, n);
  float box = 1.3 * smoothstep(0.70, 0.96, dot(r, l)) + 0.9 * smoothstep(0.84, 0.985, dot(r, m));
  vec3 above = mix(vec3(0.22, 0.24, 0.27), vec3(0.66, 0.69, 0.74), smoothstep(0.0, 0.9, r.z));
  vec3 below = mix(vec3(0.20, 0.23, 0.24), vec3(0.03, 0.12, 0.115), smoothstep(0.0, 0.5, -r.z));
  vec3 room = mix(below, above, smoothstep(-0.06, 0.06, r.z)) + vec3(1.15, 1.12, 1.05) * box;
  vec3 c = vec3(0.78, 0.79, 0.81) * room * (0.35 + 0.65 * s);
  return c + vec3(0.125) * s * (max(dot(n, l), 0.0) + 0.5 * max(dot(n, m), 0.0));
}

void main() {
  vec3 n = normalize(n_W), v = normalize(to_eye), l = frame.to_light_W.xyz, m = frame.to_microscope_W.xyz;
  float s = spot(p_W);
  // Dyed monofilament: deep violet body, clear glossy skin.
  vec3 body = vec3(0.100, 0.026, 0.260);
  // Under a wall, or inside it, a thread is in the dark.
  float sun = lit(tissue_map, in_light(p_W + (0.01 + 2.0 * frame.bench.w) * l), 0.0, 1);
  s *= mix(0.35, 1.0, sun);
  float key = max(dot(n, l), 0.0), lamp = max(dot(n, m), 0.0);
  float up = 0.5 + 0.5 * n.z;
  vec3 c = body * (s * (0.95 * key + 0.55 * lamp) + 0.10 + 0.10 * up);
  c += vec3(0.010, 0.060, 0.056) * (1.0 - up) * s;  // the sheet's light from below
  float glint = pow(max(dot(n, normalize(v + l)), 0.0), 48.0) * 1.5;
  float sheen = pow(max(dot(n, normalize(v + m)), 0.0), 12.0) * 0.10;
  float rim = pow(1.0 - max(dot(n, v), 0.0), 4.0) * 0.10;
  c += s * (vec3(1.0, 0.97, 0.92) * glint + vec3(0.75, 0.7, 1.0) * sheen + vec3(0.5, 0.55, 0.7) * rim);
  if (steel > 0.5) c = wire(n, v, l, m, s);
  colour = vec4(tone(c), 1.0);
}
