#pragma once
/// Where a marker may be: points that the rays of several cameras agree on, whatever was before.
///
/// Every pair of blobs in two cameras is a hypothesis, at most 6 x 9 of them; the point that most views lie near wins
/// (then the least squared distance), its views are taken away, and the next is sought: a blob of the colour that
/// stands elsewhere in the box gives a point of its own, a blob that one camera alone sees gives none.
///
/// Source: [Hartley 2004] ch. 12 for triangulation from rays.
/// @rt no allocation, bounded
#include <Eigen/Core>
#include <array>
#include <cstdint>

#include "drivers/tracking/sight.hpp"

namespace ligature::drivers {

inline constexpr std::size_t kPoints = kCandidates;  ///< at most as many as blobs of one colour are kept

struct ConsensusPoint {
  Eigen::Vector3d p_R = Eigen::Vector3d::Zero();
  std::array<std::int8_t, kCameras> choice{-1, -1, -1, -1};  ///< candidate used per camera, -1 none
  int views = 0;
  double residual_px = 0;  ///< RMS
};

struct ConsensusPoints {
  std::array<ConsensusPoint, kPoints> point;
  std::size_t count = 0;
};

/// @param gate_px a view further than this from a point says nothing of it
ConsensusPoints agree(const std::array<CameraSight, kCameras>& cameras, const MarkerViews& views, double radius,
                      double gate_px) noexcept;

}  // namespace ligature::drivers
