#pragma once
/// Which throws of a tie slide. A flat throw bends both strands alike; of a sliding one the post runs straight and the
/// other strand is thrown round it in half hitches. The closed curve is the same knot either way (a reef and a granny
/// are capsized by pulling one strand straight), so this is told by the shape of the strands.
///
/// Measured is how straight (straightness.hpp: chord over length) each strand runs from one throw to the next, with
/// steps as long as the strands are apart: flat ties turn both strands back, loose or tight. Where throws are is told
/// by where the strands wind round each other (winding.hpp), and not by diagrams, in which a throw may be anywhere
/// along a strand. It depends on no view, size or spacing of points, and on no noise below the distance of strands.
#include <array>
#include <optional>
#include <vector>

#include "sim/knot/curves.hpp"

namespace ligature::knot {

struct Posts {
  std::vector<std::optional<std::size_t>> post;    ///< of each throw: strand 0 or 1; nothing: flat
  std::vector<std::optional<std::size_t>> likely;  ///< the same, with those between flat and sliding taken as sliding
  bool might_slide = false;                        ///< they differ
  /// Chord over length of both strands from each throw to the next.  (throws - 1)
  std::vector<std::array<double, 2>> straight;
};

/// Of throws in their order along the first strand; along the second one likewise, or (crosswise) the other way round.
/// half_turns: of each throw, by which the strands wind round each other.  (throws)
/// @pre both strands have two points or more
Posts posts_of(const Curve& first, const Curve& second, const std::vector<int>& half_turns, bool crosswise);

}  // namespace ligature::knot
