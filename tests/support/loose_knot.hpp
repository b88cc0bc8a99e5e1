#pragma once
/// Loose overhand knots by theory: the braid in which the two strands touch, solved as a problem of its own, and the
/// force that tightens or loosens the knot, to leading and to next order.
///
/// Strands of radius h cross at a loop of radius R >> h. Their difference D(x) = 2h u(x / L), L = sqrt(2 h R), has
/// |u| >= 1, u'' -> -e_y and +e_y far to the left and right (the loop is curved, the legs are straight) and winds by
/// 2n + 1 half turns between [Audoly, Clauvelin, Neukirch, PRL 99 (2007) 164301]. Elastic energy: int |u''|^2 / 2.
/// From it: pressure of one strand on the other, whole, P = sigma B e^3 / h^2, e = sqrt(h/R); and far out
/// |u_y| = x^2/2 - alpha x + ..., so that in the loop's own picture the strands cross at the angle 2 a e, a = alpha /
/// sqrt 2.
///
/// To leading order T h^2/B = e^4/2 +- mu sigma e^3. The next order comes from the crossing angle alone (derived here):
/// tension plus B kappa^2/2 is the same all along a strand but for friction, T -+ mu P = H = n.t + B kappa^2/2 in the
/// loop, so H = B/(2 R^2) exactly where the loop's tangent is across the pull: R is taken there. The loop carries a
/// force n along the pull that closes it in spite of the angle, the legs bend back over a length sqrt(B/T), and both
/// add to the jump of curvature across the braid that the contact has to bear. Relative order e without friction,
/// sqrt(mu sigma e) with it. Left out are terms of order e^2 and mu e (tension and moments of friction inside the
/// braid).
#include <cmath>
#include <vector>

#include "sim/base/geometry.hpp"

namespace ligature::measure {

/// What a braid far away from itself looks like.
struct Braid {
  double sigma = 0;  ///< whole pressure: P = sigma B e^3 / h^2
  double slope = 0;  ///< a: the strands cross at 2 a e
};

/// Solves the braid's problem with `nodes` on either half of [-reach, reach] (in units of L): finite differences,
/// augmented Lagrangian, Newton's method with a step no longer than keeps the winding.
Braid solve_braid(int winding, double reach, int nodes);

/// The same, solved once (windings 1 and 2); sigma_1 = 0.493 and sigma_2 = 1.468 are the published values.
inline constexpr Braid kBraid[] = {{}, {0.493, 1.476}, {1.468, 4.400}};

/// T h^2/B of a knot with this h/R; friction below 0: loosened.
double loose_force_leading(double h_over_r, double friction, int winding);
double loose_force_next(double h_over_r, double friction, int winding);
/// h/R at which that force is 0 when a knot let go opens: friction above 0.
double release_leading(double friction, int winding);
double release_next(double friction, int winding);

/// Radius of curvature of a loop where its tangent is across x, mean of both sides, each over a stretch of 8 % of the
/// half loop before and behind. The legs lie along x. [mm]
double loop_side_radius(const std::vector<Vec3>& curve);

}  // namespace ligature::measure
