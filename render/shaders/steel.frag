#version 460
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
layout(location = 0) centroid in vec3 p_W;
layout(location = 1) centroid in vec3 n_W;
layout(location = 2) centroid in vec3 x_W;
layout(location = 3) centroid in vec3 to_eye;
layout(location = 4) centroid in vec3 p_mesh;
layout(location = 0) out vec4 colour;

// The room a polished instrument mirrors: the lamps above, a dim ceiling, pale drapes all round, the green sheet below.
vec3 room(vec3 r) {
  float box = 1.3 * smoothstep(0.70, 0.96, dot(r, frame.to_light_W.xyz)) +
              0.9 * smoothstep(0.84, 0.985, dot(r, frame.to_microscope_W.xyz));
  vec3 above = mix(vec3(0.22, 0.24, 0.27), vec3(0.66, 0.69, 0.74), smoothstep(0.35, 0.9, r.z));
  float drape = (r.z - 0.16) / 0.20;
  above += vec3(0.74, 0.76, 0.78) * exp(-drape * drape);
  vec3 below = mix(vec3(0.20, 0.23, 0.24), vec3(0.03, 0.12, 0.115), smoothstep(0.0, 0.5, -r.z));
  return mix(below, above, smoothstep(-0.06, 0.06, r.z)) + vec3(1.15, 1.12, 1.05) * box;
}

void main() {
  vec3 n = normalize(n_W), v = normalize(to_eye), x = normalize(x_W);
  vec3 l = frame.to_light_W.xyz, m = frame.to_microscope_W.xyz;
  float s = spot(p_W);
  // Brushed along x: fine streaks across it tilt the normal sideways.
  float width = max(length(fwidth(p_mesh.yz)), 1e-4);
  float streak = noise(vec2(p_mesh.x * 0.6, (p_mesh.y * 1.3 + p_mesh.z) * 14.0)) - 0.5;
  streak *= smoothstep(0.14, 0.03, width);
  vec3 side = normalize(cross(n, x) + 1e-5);
  vec3 nb = normalize(n + 0.10 * streak * side);
  // Turned grip on the handle.
  float grip = smoothstep(-44.0, -47.0, p_mesh.x) * smoothstep(-92.0, -89.0, p_mesh.x);
  nb = normalize(nb + grip * 0.35 * cos(p_mesh.x * 6.2831853) * x);

  vec3 r = reflect(-v, nb);
  vec3 steel = vec3(0.78, 0.79, 0.81);
  vec3 h = normalize(v + l);
  float along = dot(x, h);
  float brushed = pow(max(1.0 - along * along, 0.0), 40.0) * max(dot(nb, l), 0.0);
  float point = pow(max(dot(nb, h), 0.0), 160.0);
  vec3 c = steel * room(r) * (0.35 + 0.65 * s);
  c += s * (0.30 * brushed + 1.2 * point) * vec3(1.0, 0.98, 0.95);
  c += steel * 0.16 * s * (max(dot(nb, l), 0.0) + 0.5 * max(dot(nb, m), 0.0));
  c *= 1.0 + 0.25 * streak;
  float alpha = 1.0;
  if (push.status == 1) {
    // Hidden from the cameras: carried on, shown as a ghost.
    c = mix(c, vec3(0.55, 0.70, 0.80), 0.35);
    alpha = 0.45;
  } else if (push.status == 0) {
    // Lost: red glass, hatched in the instrument's own frame so that both eyes see the hatching on its surface.
    float hatch = smoothstep(0.30, 0.42, abs(fract((p_mesh.x + 1.5 * p_mesh.z) / 3.0) - 0.5) * 2.0);
    float shade = 0.35 + 0.65 * max(dot(n, v), 0.0);
    c = mix(vec3(0.30, 0.010, 0.010), vec3(0.95, 0.08, 0.05), hatch) * shade + 0.25 * point;
    alpha = mix(0.28, 0.62, hatch);
  }
  colour = vec4(tone(c), alpha);
}
