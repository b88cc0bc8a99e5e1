// What every shader knows of the frame. World W, lengths in mm, colours linear unless a name says otherwise.
#ifdef MULTIVIEW
#extension GL_EXT_multiview : require
#define EYE gl_ViewIndex
#else
#define EYE push.eye
#endif

layout(push_constant) uniform Push {
  int eye;       // two passes: which eye this one is; 2: the key light
  int first;     // first ring or mark
  int model;     // first model matrix of this mesh
  int status;    // 0 lost, 1 predicted, 2 tracked
} push;

layout(std140, set = 0, binding = 0) uniform Frame {
  mat4 clip_W[3];       // of the eyes; of the key light, as for an eye infinitely far away
  vec4 eye_p_W[3];
  vec4 to_light_W;      // unit, key light (oblique); w: tangent of its half angle, which makes the penumbra
  vec4 to_microscope_W; // unit, coaxial light; w: px per mm in the target plane
  vec4 target_p_W;      // w: radius of the light's spot [mm]
  vec4 bench;           // x: height z [mm]; yz: picture size [px]
  vec4 corner_p_W[8];   // where the corners of the left, the right picture see the bench; w: their clip w
  mat4 model_W[7];      // plus, minus, body of the left, of the right forceps; identity
  vec4 holes[64];       // where threads go through walls; w: radius [mm]
  vec4 shade_box;       // in the key light's pictures, 0..1: where shadows may fall; empty without tissue
  ivec4 holes_count;    // x
} frame;

struct Ring {
  vec4 centre_radius;
  vec4 normal_tilt;
  vec4 tangent_strength;
};
const float kWire = 2.0;  // added to the strength of rings of steel
const int LIGHT = 2;
struct Mark {
  vec4 box;             // px: x, y, width, height
  vec4 colour;          // sRGB
  uvec4 kind;           // shape, eyes, glyph low, glyph high
};

float spot(vec3 p) {
  // Distance from the axis of the microscope's lamp.
  vec3 d = p - frame.target_p_W.xyz;
  vec3 a = frame.to_microscope_W.xyz;
  float r = length(d - dot(d, a) * a) / frame.target_p_W.w;
  return mix(0.04, 1.0, 1.0 - smoothstep(0.35, 1.35, r));
}

// Compresses highlights above 0.6 so that a glint keeps its shape; below that, colours pass unchanged.
vec3 tone(vec3 c) {
  vec3 high = max(c - 0.6, 0.0);
  return min(c, 0.6) + 0.4 * high / (0.4 + high);
}

float hash(vec2 p) {
  uvec2 q = uvec2(ivec2(p)) * uvec2(1597334673u, 3812015801u);
  uint n = (q.x ^ q.y) * 1597334673u;
  return float(n >> 8) * (1.0 / 16777216.0);
}
float noise(vec2 p) {
  vec2 i = floor(p), f = p - i;
  f = f * f * (3.0 - 2.0 * f);
  return mix(mix(hash(i), hash(i + vec2(1, 0)), f.x), mix(hash(i + vec2(0, 1)), hash(i + vec2(1, 1)), f.x), f.y);
}
