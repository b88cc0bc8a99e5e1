#pragma once
/// What else of a marker's colour is about: where each camera saw a blob of it while the marker stood elsewhere.
///
/// A ball that is always there is no mystery while the marker is seen beside it, and a trap when the marker is hidden:
/// now and then it makes a triangle with the other two that the rigid model allows. So its place in each image is
/// remembered, a blob that is seen there again is taken for it, and neither for the marker nor for evidence against a
/// pose. A view of the marker itself that passes over such a place goes with it, in that one camera, for as long as
/// the centres lie within some sigmas of each other. Places are learnt only from poses that stand on their own, need
/// some frames to be believed, and are not when nothing has been seen there for a while.
///
/// Source: [Reid 1979] (what is about is tracked as well as what is sought), here one image at a time.
/// @rt no allocation, bounded
#include "drivers/tracking/fit.hpp"

namespace ligature::drivers {

class Clutter {
 public:
  /// Takes out of `sight` what is known to be something else; MarkerViews::known says where that was.
  void strip(Sight& sight, std::int64_t now_ns) const noexcept;
  /// @param in its sight: after strip()  @param all before it
  /// @param x where the markers certainly are  @param choice of `in.sight`
  void learn(const FitInput& in, const Sight& all, const ForcepsEstimate& x, const Choice& choice,
             std::int64_t now_ns) noexcept;

 private:
  static constexpr std::size_t kPlaces = 4;  // of a colour in a camera
  struct Place {
    Eigen::Vector2d px = Eigen::Vector2d::Zero();
    Eigen::Vector2d px_per_s = Eigen::Vector2d::Zero();
    int times = 0;  // seen there; 0: none
    std::int64_t newest_ns = 0;
  };
  static Eigen::Vector2d foretold(const Place& place, std::int64_t now_ns) noexcept;
  bool known(const Place& place, const View& view, std::int64_t now_ns) const noexcept;

  std::array<std::array<std::array<Place, kPlaces>, kCameras>, kMarkersEach> place_;
};

}  // namespace ligature::drivers
