#pragma once
/// Centroids without images: what detection would say of a forceps somewhere, with Gaussian noise of a known size.
/// Thousands of frames a second, so that shares of a percent can be measured.
#include <functional>

#include "drivers/tracking/tracker.hpp"
#include "sim/base/random.hpp"
#include "sim/base/units.hpp"
#include "tests/drivers/cramer_rao.hpp"

namespace ligature::drivers::testing {

using Hands = std::array<ForcepsState, kInstruments>;
using Sets = std::array<MarkerSet, kCameras>;

inline void add_blob(MarkerSet& set, std::size_t marker, Eigen::Vector2d px, double sigma_px, Random& random) {
  if (set.count[marker] >= kCandidates) return;
  MarkerBlob& b = set.blobs[marker][set.count[marker]++];
  b.u_px = static_cast<float>(px.x() + sigma_px * random.normal());
  b.v_px = static_cast<float>(px.y() + sigma_px * random.normal());
  b.area_px = 80, b.quality = 1;
  b.var_uu_px2 = b.var_vv_px2 = static_cast<float>(sigma_px * sigma_px);
}

/// @param at the hands at a time [s]: each camera looks at its own mid-exposure, t_s + skew
inline Sets sightings(const Rig& rig, const std::function<Hands(double)>& at, double t_s, std::uint64_t sequence,
                      double sigma_px, Random& random, const std::array<double, kCameras>& skew_s = {}) {
  Sets sets;
  for (std::size_t c = 0; c < kCameras; ++c) {
    sets[c].sequence = sequence;
    sets[c].mid_exposure_ns = std::llround(1e9 * (t_s + skew_s[c]));
    if (c >= rig.cameras.size()) continue;
    sets[c].image = true;
    const Hands hands = at(t_s + skew_s[c]);
    for (std::size_t m = 0; m < kMarkers; ++m) {
      const InstrumentModel& model = rig.instruments[m / 3];
      const Marker& marker = model.markers[m % 3];
      const auto px = image_of(rig.cameras[c], hands[m / 3].X_RT * marker_p_T(model, marker, hands[m / 3].opening_rad),
                               0.5 * marker.diameter_mm);
      if (px) add_blob(sets[c], m, *px, sigma_px, random);
    }
  }
  return sets;
}

inline std::array<const MarkerSet*, kCameras> pointers(const Sets& sets) {
  return {&sets[0], &sets[1], &sets[2], &sets[3]};
}

/// Held as surgeons do: from the side, pointing down by 20 to 60 degrees, the tip in the working volume.
inline ForcepsState somewhere(std::size_t instrument, Random& random) {
  const double turn = (instrument == 0 ? 0.0 : 180.0) + random.uniform(-40, 40), pitch = random.uniform(20, 60),
               roll = random.uniform(-30, 30);
  using Eigen::AngleAxisd, Eigen::Vector3d;
  const Eigen::Quaterniond q(AngleAxisd(turn * units::rad_per_deg, Vector3d::UnitZ()) *
                             AngleAxisd(pitch * units::rad_per_deg, Vector3d::UnitY()) *
                             AngleAxisd(roll * units::rad_per_deg, Vector3d::UnitX()));
  return {{from_eigen(q), {random.uniform(-50, 50), random.uniform(-40, 40), random.uniform(30, 90)}},
          random.uniform(0, 20) * units::rad_per_deg};
}

inline Eigen::Vector3d tip_error(const InstrumentPose& pose, const ForcepsState& truth) {
  return to_eigen(pose.X_RT.p - truth.X_RT.p);
}

}  // namespace ligature::drivers::testing
