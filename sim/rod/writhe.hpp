#pragma once
/// Writhe of a polygon: its average signed number of crossings over all directions of view, exact sum over pairs.
///
///   Wr = 1/(4 pi) sum over i != j of the signed area on the sphere swept by the directions from segment i to segment j
///
/// An open curve is closed by a straight ray along the tangent at each end, joined at infinity by a great circle (which
/// sweeps no area). A ray is a segment whose far end lies at infinity: its directions tend to the ray's own.
/// Together with the twist of Twist this makes link = twist + writhe constant while nothing passes through anything
/// [White 1969], [Fuller 1978]; areas after [Klenin 2000] method 1a.
#include <Eigen/Core>
#include <vector>

namespace ligature::rod {

using Eigen::Vector3d;

class Twist;

/// x: (n). O(n^2), not for the real-time path. [turns]
double writhe_closed(const std::vector<Vector3d>& x) noexcept;

/// @param first_tangent, last_tangent unit, along the curve: the rays run along -first_tangent and +last_tangent
double writhe_open(const std::vector<Vector3d>& x, const Vector3d& first_tangent,
                   const Vector3d& last_tangent) noexcept;

/// Twist from edge to edge / 2 pi + writhe of the same vertices; an open thread's rays run along its held end tangents,
/// or its end edges. This is turns() + writhe, but for frames held between two edges and not midway: these make a small
/// bend there that the polygon does not show and whose writhe is (spherical triangle of edge, frame, edge)/2 pi.
///
/// What is exactly true, as a curve is changed without passing through itself or its rays:
///   closed: constant (an integer where the material frame closes);
///   open, both end frames (t0, d0), (t1, d1) held: 2 pi link = angle from d0, transported from t0 to t1, to d1, about
///   t1, up to whole turns, which are kept: a function of these two frames only. Spinning one adds its turns.
/// @pre twist carried to x [turns]
double link_turns(const Twist& twist, const std::vector<Vector3d>& x) noexcept;

}  // namespace ligature::rod
