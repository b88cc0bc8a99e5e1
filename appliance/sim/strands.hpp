#pragma once
/// Threads drawn as tubes, nearer ones over farther ones with a gap left free round them, so that over and under can be
/// told apart and a knot judged by its picture.
#include <limits>
#include <vector>

#include "appliance/sim/chart.hpp"
#include "appliance/sim/drawing.hpp"
#include "sim/base/geometry.hpp"

namespace ligature::simulate {

/// Right and up on the paper, orthonormal, W.
struct Projection {
  Vec3 right, up;
  Point of(Vec3 p) const { return {dot(right, p), dot(up, p)}; }
  /// Grows towards the eye.
  double nearness(Vec3 p) const { return dot(cross(right, up), p); }
};

struct Extents {
  double left = std::numeric_limits<double>::infinity(), right = -left, low = left, high = -left;
  void take(Point p);
  double width() const { return right - left; }
  double height() const { return high - low; }
};

/// From millimetres to the paper's pixels.
struct Paper {
  Projection view;
  double scale = 1, x0 = 0, y0 = 0;
  Point of(Vec3 p) const {
    const Point q = view.of(p);
    return {x0 + scale * q.x, y0 - scale * q.y};
  }
};
/// Such that the extents fit into the box, with this margin in pixels.
Paper fit(const Projection& view, const Extents& extents, const Box& box, double margin);

struct Tube {
  std::vector<Vec3> x;  ///< of a closed thread the first vertex again at the end
  double diameter_mm = 0;
  Colour colour;
};

/// @param box  nothing is drawn outside; @param least_width of a tube, in pixels, however thin it is
void draw_tubes(Drawing& drawing, const Paper& paper, const std::vector<Tube>& tubes, const Box& box,
                double least_width);

}  // namespace ligature::simulate
