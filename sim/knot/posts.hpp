#pragma once
/// Which throws of a tie slide. A flat throw bends both strands alike; of a sliding one the post runs straight and the
/// other strand is thrown round it in half hitches. The closed curve is the same knot either way (a reef and a granny
/// are capsized by pulling one strand straight), so this is told by the shape of the strands.
///
/// Measured is how straight (straightness.hpp: chord over length) each strand runs from one throw to the next, with
/// steps as long as the strands are apart: flat ties turn both strands back, loose or tight. It depends on no view,
/// size or spacing of points, and on no noise below the distance of strands.
#include <array>
#include <optional>
#include <vector>

#include "sim/knot/curves.hpp"

namespace ligature::knot {

/// Where the strands of one throw meet in the diagrams that show it: places on the curve of each strand, counted in
/// points.
struct Meeting {
  std::vector<double> at[2];

  void add(const Meeting& other) {
    for (std::size_t w = 0; w < 2; ++w) at[w].insert(at[w].end(), other.at[w].begin(), other.at[w].end());
  }
};

struct Posts {
  std::vector<std::optional<std::size_t>> post;    ///< of each throw: strand 0 or 1; nothing: flat
  std::vector<std::optional<std::size_t>> likely;  ///< the same, with those between flat and sliding taken as sliding
  bool might_slide = false;                        ///< they differ
  /// Chord over length of both strands from each throw to the next.  (throws - 1)
  std::vector<std::array<double, 2>> straight;
};

/// Of throws in their order along the strands. The curves may be one and the same.
/// @pre curves out of `prepared`; every throw meets on both strands
Posts posts_of(const Curve& first, const Curve& second, const std::vector<Meeting>& throws);

}  // namespace ligature::knot
