#pragma once
/// Parabolic representations of a knot's group over a small field: what the HOMFLY polynomial does not see.
///
/// Meridians go to transvections T_v : w -> w + (v x w) v of the plane over GF(p), v != 0 up to sign. Going along the
/// knot under a strand coloured u, with the crossing's sign e, v becomes T_u^-e v [Eisermann 2007], [Inoue 2010]. With
/// the colour of one place held at v = (1, 0), each colouring sends the longitude there to s (w -> w + c (v x w) v), s
/// = +-1, c in GF(p). How many colourings have which (s, c) does not depend on the diagram; of the mirror image it is
/// generally another, and of a connected sum it is the product, (s, c) (s', c') = (s s', c + c').
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/knot/diagram.hpp"

namespace ligature::knot {

/// How many colourings have the longitude (s, c): place c for s = 1, place p + c for s = -1.  (2p)
using LongitudeCount = std::vector<std::int64_t>;

/// Together these part all prime knots to ten crossings that share a HOMFLY polynomial, and the chiral ones of them
/// from their mirror images (tests/knot). 7 alone leaves 10_48, 11 alone leaves 5_1 and 10_132.
inline constexpr int kCountPrimes[] = {5, 7, 11};

/// Nothing where it takes more than four free colours besides the first, or the code is not of a knot.
/// @param prime 3 to 31
std::optional<LongitudeCount> longitude_count(const Diagram& knot, int prime);

/// Of the connected sum. @pre both of the same prime
LongitudeCount sum_count(const LongitudeCount& a, const LongitudeCount& b);

}  // namespace ligature::knot
