// Shadows that fall on things, from two pictures of the scene as the key light sees it: one of tissue, one of what moves
// over it. Separate, so that a thread on a wall throws its shadow there without a bias that would part them.
layout(set = 0, binding = 4) uniform sampler2DShadow tissue_map;
layout(set = 0, binding = 5) uniform sampler2DShadow tool_map;

vec3 in_light(vec3 p) {
  vec4 q = frame.clip_W[LIGHT] * vec4(p, 1.0);
  return vec3(q.xy * 0.5 + 0.5, q.z);
}
// 1 = lit. `spread`: half width of the filter [texels]; `most`: taps, 1 to 4. Beyond the box of what throws shadows
// there are none; a loop, because a processor that draws runs through both branches of an `if`.
float lit(sampler2DShadow map, vec3 at, float spread, int most) {
  vec4 box = frame.shade_box;
  int taps = all(greaterThan(at.xy, box.xy)) && all(lessThan(at.xy, box.zw)) ? most : 0;
  vec2 aside = vec2(0.93, 0.37) * (spread / float(textureSize(map, 0).x));
  float sum = 0.0;
  for (int i = 0; i < taps; ++i) {
    sum += texture(map, vec3(at.xy + aside, min(at.z, 1.0)));
    aside = most == 2 ? -aside : vec2(-aside.y, aside.x);
  }
  return taps > 0 ? sum / float(taps) : 1.0;
}
