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

/// x: (n). O(n^2), not for the real-time path. [turns]
double writhe_closed(const std::vector<Vector3d>& x) noexcept;

/// @param first_tangent, last_tangent unit, along the curve: the rays run along -first_tangent and +last_tangent
double writhe_open(const std::vector<Vector3d>& x, const Vector3d& first_tangent,
                   const Vector3d& last_tangent) noexcept;

}  // namespace ligature::rod
