#pragma once
/// What the cameras say about one instrument's markers, undistorted, with the camera that said it.
///
/// Pixels here are ideal ones, f (x, y) with the principal point at 0: residuals read as pixels whatever the lens. A
/// blob's covariance goes through the inverse lens: z = D^-1(u), dz = J^-1 du.
/// @rt everything here: no allocation, bounded
#include <Eigen/Core>
#include <array>
#include <cstdint>

#include "drivers/camera/lens.hpp"
#include "drivers/markers/marker_set.hpp"
#include "drivers/tracking/forceps_shape.hpp"

namespace ligature::drivers {

struct CameraSight {
  Lens lens;
  double f = 600;                                      ///< [px]
  Eigen::Matrix3d R_CR = Eigen::Matrix3d::Identity();  ///< turns R's axes into the camera's
  Eigen::Vector3d o_R = Eigen::Vector3d::Zero();       ///< centre of projection [mm]

  CameraSight() = default;
  explicit CameraSight(const CameraModel& camera);

  /// Centre of a sphere's image, ideal pixels. @param J derivative by p_R, (2 x 3)
  /// @return false: it is not in front of the camera
  bool image_of(const Eigen::Vector3d& p_R, double radius, Eigen::Vector2d& px,
                Eigen::Matrix<double, 2, 3>* J = nullptr) const noexcept;
};

struct View {                                        ///< one blob
  Eigen::Vector2d px;                                ///< ideal pixels
  Eigen::Vector3d ray_R;                             ///< unit
  Eigen::Matrix2d weight = Eigen::Matrix2d::Zero();  ///< inverse covariance [px^-2]
  Eigen::Matrix2d own = Eigen::Matrix2d::Zero();     ///< inverse of what is left of it without ...
  Eigen::Matrix2d shared =
      Eigen::Matrix2d::Zero();  ///< ... L L^T, of two errors that all blobs of the image share [px]
};

struct MarkerViews {  ///< of one marker
  std::array<std::array<View, kCandidates>, kCameras> view;
  std::array<std::uint8_t, kCameras> count{};
  std::array<std::uint8_t, kCameras> known{};  ///< taken out, as something else of the colour (clutter.hpp)
};
using Sight = std::array<MarkerViews, kMarkersEach>;

/// Which candidate of which camera is taken for each marker; -1 none.
struct Choice {
  std::array<std::array<std::int8_t, kCameras>, kMarkersEach> of;
  Choice() {
    for (auto& marker : of) marker.fill(-1);
  }
  int views() const {
    int n = 0;
    for (const auto& marker : of)
      for (const std::int8_t k : marker) n += k >= 0;
    return n;
  }
  std::uint8_t camera_bits() const {
    std::uint8_t bits = 0;
    for (const auto& marker : of)
      for (std::size_t c = 0; c < kCameras; ++c)
        if (marker[c] >= 0) bits = static_cast<std::uint8_t>(bits | 1u << c);
    return bits;
  }
  friend bool operator==(const Choice&, const Choice&) = default;
};

/// @param usable per camera: whether its image belongs to this trigger
void gather(const std::array<CameraSight, kCameras>& cameras, const std::array<const MarkerSet*, kCameras>& sets,
            std::size_t first_marker, Sight& out) noexcept;

}  // namespace ligature::drivers
