#pragma once
/// Poses to start the fit from when nothing is known beforehand, and rivals of a pose that is.
///
/// Three points (one per marker) give the opening by their distances and the pose by laying the triangles over each
/// other. Two points and single views of the third marker leave a turn about the line through the two (and, when they
/// are not the two arms, the opening): it is scanned for the places where the third marker's image meets its view.
/// Such a turn may meet it twice: the mirror image is a start of its own, and the caller must choose.
/// @rt no allocation, bounded
#include <array>
#include <cstddef>

#include "drivers/tracking/consensus.hpp"
#include "drivers/tracking/fit.hpp"

namespace ligature::drivers {

struct Starts {
  static constexpr std::size_t kCapacity = 8;
  struct Entry {
    ForcepsEstimate x;
    double cost = 0;  ///< smaller is better; comparable within one list
  };
  std::array<Entry, kCapacity> entry;
  std::size_t count = 0;
  /// Keeps the best kCapacity, in order.
  void add(const ForcepsEstimate& x, double cost) noexcept;
};

struct StartBounds {
  double distance_gate_mm = 3;  ///< distances of points may differ this much from the rigid model
  double max_opening = 0.52;    ///< [rad]
  double gate_px = 4;           ///< how well the third marker's image must meet its views
};

using PointsOfMarkers = std::array<ConsensusPoints, kMarkersEach>;

void starts_from_three(const ForcepsShape& shape, const PointsOfMarkers& points, const StartBounds& bounds,
                       Starts& out) noexcept;
void starts_from_two(const FitInput& in, const PointsOfMarkers& points, const StartBounds& bounds,
                     Starts& out) noexcept;

}  // namespace ligature::drivers
