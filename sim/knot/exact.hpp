#pragma once
/// Signs of determinants of points, exact for every finite input that fits.
///
/// A sign is first taken in double precision with a bound on its error, then, where that does not decide, from exact
/// sums of doubles (floating-point expansions). Exact means: no rounding, overflow or underflow, which holds for
/// coordinates that are zero or of magnitude 2^-200 to 1 (see Prepared in curves.hpp).
///
/// Source: [Shewchuk 1997]. Differs: one generous error bound instead of four stages.
#include "sim/base/geometry.hpp"

namespace ligature::knot {

/// Sign (-1, 0, 1) of the determinant with rows p1 - p0, q1 - q0, r1 - r0.
int det_sign(Vec3 p0, Vec3 p1, Vec3 q0, Vec3 q1, Vec3 r0, Vec3 r1);

/// Positive where d lies on the side of the plane through a, b, c from which they are seen clockwise.
inline int side(Vec3 a, Vec3 b, Vec3 c, Vec3 d) {
  return det_sign(a, b, a, c, a, d);
}
/// Positive where a, b, c turn left as seen from far along `direction`.
inline int turn(Vec3 a, Vec3 b, Vec3 c, Vec3 direction) {
  return det_sign(a, b, a, c, {}, direction);
}

/// Compares n1 / m1 with n2 / m2, where n_i = det(c_i - a, d_i - c_i, w) and m_i = det(b - a, d_i - c_i, w): where the
/// lines c_i d_i meet the line a b as seen along w. @pre m_i is not 0. Returns -1, 0 or 1.
int compare_places(Vec3 a, Vec3 b, Vec3 c1, Vec3 d1, Vec3 c2, Vec3 d2, Vec3 w);

/// Whether three points lie on one line.
bool collinear(Vec3 a, Vec3 b, Vec3 c);
/// Whether the closed segments a b and c d have a point in common.
bool segments_meet(Vec3 a, Vec3 b, Vec3 c, Vec3 d);
/// Whether the closed segment c d has a point in common with the closed triangle a b e, whose corners are not
/// collinear.
bool segment_meets_triangle(Vec3 a, Vec3 b, Vec3 e, Vec3 c, Vec3 d);
/// Whether a ray from a through x lies in the closed wedge at a between the rays through b and c. @pre not collinear
bool in_wedge(Vec3 a, Vec3 b, Vec3 c, Vec3 x);

}  // namespace ligature::knot
