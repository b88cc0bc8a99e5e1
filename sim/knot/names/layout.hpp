#pragma once
/// A diagram laid into the plane, for drawing it and for making curves in space of it.
///
/// Crossings, two places on each edge and faces become circles, tangent where they are neighbours [Koebe 1936;
/// Stephenson 2005, chapter 9]; strands run through the centres as smooth curves. Pieces that lie apart stand side by
/// side.
#include <cstddef>
#include <vector>

#include "sim/base/result.hpp"
#include "sim/knot/diagram.hpp"

namespace ligature::knot {

struct PlanePoint {
  double x = 0, y = 0;
};

struct LaidComponent {
  std::vector<PlanePoint> points;    ///< closed: the last is followed by the first
  std::vector<std::size_t> pass_at;  ///< which point each pass of the component is
};

struct Layout {
  std::vector<LaidComponent> components;
  PlanePoint low, high;  ///< of all points
};

/// What is refused beyond, and by how many points a stretch between two circles is drawn.
inline constexpr std::size_t kMostDrawnCrossings = 300, kPointsPerStretch = 8;

/// Lengths: circles of an average drawing have diameters near 1. Crossings are drawn as their signs say, seen from
/// above. Error::Kind::failed: too many crossings, not planar, or a crossing that alone joins two halves.
Result<Layout> lay_out(const Diagram& diagram);

}  // namespace ligature::knot
