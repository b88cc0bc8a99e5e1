#pragma once
/// The threads as they are now, as curves: what the judgements of a run (gaps, knots, pictures) are made from.
#include <algorithm>
#include <string>
#include <vector>

#include "sim/world/world.hpp"

namespace ligature::simulate {

struct Curve {
  std::size_t origin = 0;    ///< thread of the scenario that it is, or is a piece of
  std::vector<Vec3> x;       ///< W [mm]                                                   (vertices)
  std::vector<double> s_mm;  ///< rest arc length, growing from 0                          (vertices)
  bool closed = false;
  double radius_mm = 0;          ///< of the thread where it is no needle
  std::vector<double> radii_mm;  ///< at its vertices, where they differ                (vertices, or none)
  double rest_length_mm = 0;     ///< of the whole, of a closed one with its last edge
  double cut_from_mm = 0;        ///< where it begins along the thread that it is a piece of, ...
  double ring_mm = 0;            ///< ... and the length of that if it was a ring, else 0

  std::size_t edges() const { return x.empty() ? 0 : closed ? x.size() : x.size() - 1; }
  std::size_t next(std::size_t vertex) const { return vertex + 1 == x.size() ? 0 : vertex + 1; }
  /// Rest length of an edge [mm].
  double edge_mm(std::size_t edge) const {
    return (edge + 1 < x.size() ? s_mm[edge + 1] : rest_length_mm) - s_mm[edge];
  }
  double radius_at(std::size_t vertex) const { return radii_mm.empty() ? radius_mm : radii_mm[vertex]; }
  double thickest() const { return radii_mm.empty() ? radius_mm : *std::max_element(radii_mm.begin(), radii_mm.end()); }
  /// Rest arc between two places of it, on a closed one the shorter way round.
  double arc_between(double s, double t) const;
};

/// Rest arc between a place of one curve and a place of another as it was before cuts parted them, of a ring the shorter
/// way round; no end of it where they are of different threads [mm].
double arc_before_cuts(const Curve& a, double s, const Curve& b, double t);

std::vector<Curve> curves_of(const world::World& world, const world::WorldParams& params);

}  // namespace ligature::simulate
