#pragma once
/// Distance of a segment from a tapered capsule (round cone): one arm of a forceps as the thread meets it.
#include <Eigen/Core>

namespace ligature::contact {

using Eigen::Vector3d;

/// Spheres of radius r(t) = (1-t) radius_a + t radius_b around a + t (b - a), t in [0,1], all of them.
struct RoundCone {
  Vector3d a{0, 0, 0}, b{0, 0, 0};  ///< [mm]
  double radius_a = 0, radius_b = 0;
};

struct ClosestPoints {
  double s = 0;                 ///< along the segment p..q, [0,1]
  double t = 0;                 ///< along the axis a..b, [0,1]
  double distance = 0;          ///< from the axis point to the segment point [mm]
  Vector3d from_axis{0, 0, 0};  ///< axis point to segment point
};

/// Closest points of two segments [Ericson 2005] 5.1.9, then one step towards the point of the axis whose sphere comes
/// nearest (a taper of slope r' leans the normal by asin r'). Parallel segments give their first common point.
ClosestPoints closest(const RoundCone& cone, const Vector3d& p, const Vector3d& q) noexcept;

}  // namespace ligature::contact
