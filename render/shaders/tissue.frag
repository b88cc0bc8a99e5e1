#version 460
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
#include "shade.glsl"
layout(location = 0) centroid in vec3 p_W;
layout(location = 1) centroid in vec3 n_W;
layout(location = 3) centroid in vec3 to_eye;
layout(location = 4) centroid in vec3 p_mesh;
layout(location = 5) centroid in vec2 uv;
layout(location = 6) flat in uint material;
layout(location = 0) out vec4 colour;
// Fine red lines along the vessel: its own vessels, branching where the noise turns.
float vasa(vec3 p, float broad, float across) {
  vec2 q = vec2(p.x * 0.9 + 0.6 * broad, p.y * 2.6 + p.z * 1.9 - 0.5 * broad);
  float d = abs(noise(q + 11.0) - 0.5), e = abs(noise(q * 2.3 + 70.0) - 0.5);
  return 1.0 - smoothstep(0.004, 0.014 + across, d) +
         0.5 * smoothstep(0.35, 0.65, broad) * (1.0 - smoothstep(0.004, 0.014 + 2.0 * across, e));
}

// Tissue that deforms carries its pattern along, and takes shadows.
vec3 soft(vec3 n, vec3 v, vec3 l, vec3 m, float s, float key, float lamp, float facing) {
  float px = 1.0 / frame.to_microscope_W.w;
  float near = smoothstep(0.10, 0.02, px);  // details that a pixel cannot hold stay away
  float broad = uv.y;
  float fibre = noise(vec2(p_mesh.x * 5.0, p_mesh.y * 22.0 + p_mesh.z * 17.0));
  float grain = noise(p_mesh.xy * 31.0 + p_mesh.z * 23.0);
  vec3 skin = mix(vec3(0.56, 0.20, 0.175), vec3(0.72, 0.37, 0.31), broad) * (0.94 + 0.12 * near * fibre);
  vec3 deep = vec3(0.42, 0.045, 0.040);
  float gloss = 1.0, inner = 0.0;
  if (material == 5u) {
    skin = mix(skin, vec3(0.60, 0.085, 0.085), 0.34 * near * clamp(vasa(p_mesh, broad, px), 0.0, 1.0));
  } else if (material == 6u) {
    skin = mix(vec3(0.50, 0.13, 0.11), vec3(0.60, 0.21, 0.17), broad);
    gloss = 0.6;
    inner = 1.0;
  } else {
    skin = mix(vec3(0.82, 0.58, 0.49), vec3(0.93, 0.76, 0.66), grain);
    deep = vec3(0.55, 0.16, 0.13);
    gloss = 0.4;
  }
  float texel = frame.bench.w;
  float sun = lit(tissue_map, in_light(p_W + 2.5 * texel * n), 1.5, 2);
  sun *= lit(tool_map, in_light(p_W), 1.3, 4);
  // What of the lamp's light finds its way out again: little, the deeper in the lumen.
  float open = mix(1.0, exp(-1.5 * uv.x), inner);
  float wrap = max((key + 0.30) / 1.30, 0.0) * mix(0.22, 1.0, sun);
  vec3 c = skin * s * (0.86 * wrap + 0.34 * lamp) * open + skin * 0.05 * open;
  c += deep * s * (0.26 * pow(1.0 - facing, 2.0) + 0.10 * max(-key, 0.0)) * open;
  // A wet film: narrow glints, broken by the fibres below it.
  vec3 bumpy = normalize(n + near * (0.22 * (vec3(grain, fibre, broad) - 0.5)));
  float wet = pow(max(dot(bumpy, normalize(v + l)), 0.0), 150.0) * sun;
  float film = pow(max(dot(bumpy, normalize(v + m)), 0.0), 40.0);
  c += s * gloss * open * (vec3(1.0, 0.97, 0.95) * (0.75 * wet + 0.10 * film));
  // Holes: dark, in a reddened dimple.
  for (int i = 0; i < frame.holes_count.x; ++i) {
    float r = max(frame.holes[i].w, 0.9 * px), d = length(p_W - frame.holes[i].xyz);
    c *= mix(vec3(1.0), vec3(0.80, 0.45, 0.42), exp(-max(d - r, 0.0) / (0.9 * r)));
    c = mix(vec3(0.030, 0.004, 0.004), c, smoothstep(0.7 * r, 1.15 * r, d));
  }
  return c;
}

void main() {
  vec3 n = normalize(n_W), v = normalize(to_eye), l = frame.to_light_W.xyz, m = frame.to_microscope_W.xyz;
  float s = spot(p_W);
  float key = dot(n, l), lamp = max(dot(n, m), 0.0), facing = max(dot(n, v), 0.0);
  vec3 c;
  if (material >= 5u) {
    c = soft(n, v, l, m, s, key, lamp, facing);
  } else if (material == 4u) {
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
