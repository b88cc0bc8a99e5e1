// Shadows that fall on things, from two pictures of the scene as the key light sees it: one of tissue, one of what moves
// over it. Separate, so that a thread on a wall throws its shadow there without a bias that would part them.
layout(set = 0, binding = 4) uniform sampler2DShadow tissue_map;
layout(set = 0, binding = 5) uniform sampler2DShadow tool_map;

vec3 in_light(vec3 p) {
  vec4 q = frame.clip_W[LIGHT] * vec4(p, 1.0);
  return vec3(q.xy * 0.5 + 0.5, q.z);
}
// 1 = lit. `spread`: half width of the filter [texels].
float lit(sampler2DShadow map, vec3 at, float spread) {
  if (frame.holes_count.y == 0) return 1.0;
  float texel = spread / float(textureSize(map, 0).x);
  const vec2 taps[5] = vec2[5](vec2(0.0), vec2(0.93, 0.37), vec2(-0.37, 0.93), vec2(-0.93, -0.37), vec2(0.37, -0.93));
  float sum = 0.0;
  for (int i = 0; i < 5; ++i) sum += texture(map, vec3(at.xy + taps[i] * texel, min(at.z, 1.0)));
  return sum / 5.0;
}
