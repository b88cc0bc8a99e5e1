#version 460
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
layout(location = 0) centroid in vec3 p_W;
layout(location = 1) centroid in vec3 n_W;
layout(location = 3) centroid in vec3 to_eye;
layout(location = 5) centroid in vec2 uv;
layout(location = 6) flat in uint material;
layout(location = 0) out vec4 colour;
void main() {
  vec3 n = normalize(n_W), v = normalize(to_eye), l = frame.to_light_W.xyz, m = frame.to_microscope_W.xyz;
  float s = spot(p_W);
  float key = dot(n, l), lamp = max(dot(n, m), 0.0), facing = max(dot(n, v), 0.0);
  vec3 c;
  if (material == 4u) {
    // Clamp: satin black polymer.
    float g = pow(max(dot(n, normalize(v + l)), 0.0), 24.0);
    c = vec3(0.020, 0.022, 0.026) * (0.3 + s * (max(key, 0.0) + 0.5 * lamp)) + s * vec3(0.10, 0.11, 0.12) * g;
    c += vec3(0.02) * pow(1.0 - facing, 3.0);
  } else {
    // Soft tissue: light that entered elsewhere wraps round the edge and comes out redder.
    float mottle = noise(vec2(uv.x * 1.1, sin(uv.y) * 2.0 + 7.0)) * 0.6 + noise(vec2(uv.x * 3.3 + cos(uv.y), sin(uv.y + 1.0) * 5.0 + 20.0)) * 0.4;
    vec3 skin = mix(vec3(0.56, 0.215, 0.185), vec3(0.70, 0.36, 0.30), mottle);
    vec3 deep = vec3(0.42, 0.045, 0.040);
    float gloss = 1.0;
    if (material == 2u) skin = vec3(0.36, 0.050, 0.045), gloss = 0.5;
    if (material == 3u) skin = vec3(0.86, 0.60, 0.51), deep = vec3(0.55, 0.16, 0.13), gloss = 0.6;
    float wrap = max((key + 0.45) / 1.45, 0.0);
    c = skin * s * (0.72 * wrap + 0.40 * lamp) + skin * 0.08;
    c += deep * s * 0.30 * pow(1.0 - facing, 2.0) + deep * s * 0.10 * max(-key, 0.0);
    float wet = pow(max(dot(n, normalize(v + l)), 0.0), 70.0) * (0.5 + mottle);
    float film = pow(max(dot(n, normalize(v + m)), 0.0), 14.0) * 0.10;
    c += s * gloss * (vec3(1.0, 0.96, 0.94) * wet * 0.8 + film);
    if (material == 2u) c *= exp(-0.55 * max(uv.x, 0.0));
  }
  colour = vec4(tone(c), 1.0);
}
