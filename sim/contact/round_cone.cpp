#include "sim/contact/round_cone.hpp"

#include <algorithm>
#include <cmath>

namespace ligature::contact {

ClosestPoints closest(const RoundCone& cone, const Vector3d& p, const Vector3d& q) noexcept {
  const Vector3d along = q - p, axis = cone.b - cone.a, r = p - cone.a;
  const double aa = std::max(along.squaredNorm(), 1e-300), bb = std::max(axis.squaredNorm(), 1e-300);
  const double ab = along.dot(axis), ar = along.dot(r), br = axis.dot(r);
  const double det = aa * bb - ab * ab;
  double s = det > 1e-12 * aa * bb ? std::clamp((ab * br - ar * bb) / det, 0.0, 1.0) : 0.0;
  double t = std::clamp((ab * s + br) / bb, 0.0, 1.0);
  s = std::clamp((ab * t - ar) / aa, 0.0, 1.0);
  // Taper: on the surface the foot point lies r'(t) d / |axis| further towards the thick end.
  const double slope = (cone.radius_b - cone.radius_a) / std::sqrt(bb);
  if (slope != 0) {
    const double d = (p + s * along - cone.a - t * axis).norm();
    t = std::clamp((ab * s + br) / bb + slope * d / std::sqrt(bb), 0.0, 1.0);
    s = std::clamp((ab * t - ar) / aa, 0.0, 1.0);
  }
  ClosestPoints out;
  out.s = s;
  out.t = t;
  out.from_axis = p + s * along - cone.a - t * axis;
  out.distance = out.from_axis.norm();
  return out;
}

}  // namespace ligature::contact
