#pragma once
/// Where two smooth strands are nearest to each other, followed from a place nearby by Newton's method.
#include "sim/contact/smooth_curve.hpp"

namespace ligature::contact {

/// What two places of one strand may not come under, in parameters: pi h of arc between them, both ways round a ring.
struct ArcLimits {
  double low = -1e300, high = 1e300;  ///< of v - u
  bool empty() const noexcept { return !(low <= high); }
};
/// @param u of the place on a @param same both are one strand @param behind the other place comes before it, which is
/// for open strands
ArcLimits arc_limits(const Strand& a, const Strand& b, bool same, double u, bool behind = false) noexcept;

struct CurvePlaces {
  double u = 0, v = 0;      ///< parameters on a and b
  Vector3d apart{0, 0, 0};  ///< p_a - p_b                                              W [mm]
  /// How pointed the contact is: half the second derivative of the squared distance along a, b following, over its
  /// tangent's square, square root of it. Sine of the angle where both are straight; 0 where they lie along each other
  /// or one is wound round the other; more than 1 where bends touch with their outer sides.
  double sharp = 0;
  double sharp_b = 0;  ///< likewise along b, a following
  /// Half the second derivative of the squared distance along a and b alone, over their tangents' squares: 1 where they
  /// are straight, 0 where one is bent round the other at the distance that it has. Where that of b is small the place
  /// of b nearest to one of a runs along it at the least motion of that.
  double bend_a = 1, bend_b = 1;
  /// How a force between them resists that a, b turn there, the places gliding: stiffness against the change of the
  /// tangent's component along the force, over the force [1/mm].
  double glide_a = 0, glide_b = 0;
  /// How much nearer a comes within half an edge of u, to second order: what the contact of a vertex has to see to,
  /// since its neighbours see to the rest [mm, at most 0].
  double dip = 0;
  bool bordered = false;  ///< held by the arc limits
  bool ended = false;     ///< at an open end of a or b
};

/// See CurvePlaces::sharp.
double sharpness_at(const Strand& a, const Strand& b, double u, double v) noexcept;

/// The nearest place of b to the place u of a, from v on; v ends within `most` of where it began. False when it runs
/// further, or anything is not finite. @rt constant time
/// @param held a place of b, or null. Where b is bent round a the distance hardly changes along it, and the place would
/// run at the least motion; it stays near the one where it is held, so that no motion moves it by more than twice that
/// of two straight strands.
bool nearest_beside(const Strand& a, const Strand& b, double u, double v, const ArcLimits& limits, double most,
                    CurvePlaces& out, const double* held = nullptr) noexcept;

/// A least distance of both, from (u, v) on, likewise. False too where it is none (a saddle), or leaves the limits.
bool nearest_crossing(const Strand& a, const Strand& b, double u, double v, const ArcLimits& limits, double most,
                      CurvePlaces& out) noexcept;

}  // namespace ligature::contact
