#include "drivers/rig.hpp"

#include <array>
#include <cmath>

namespace ligature::drivers {
namespace {

/// Camera at `p_RC` looking at `target_R` with image rows level: z forward, x right, y down.
Quat look_at(Vec3 p_RC, Vec3 target_R) {
  const Vec3 f = target_R - p_RC;
  const Vec3 z = (1.0 / norm(f)) * f;
  const Vec3 r = cross(z, Vec3{0, 0, 1});
  const Vec3 x = (1.0 / norm(r)) * r;
  const Vec3 y = cross(z, x);
  // Rotation matrix with columns x y z to quaternion, largest component first (Shepperd).
  const double t = x.x + y.y + z.z;
  if (t > 0) return normalized({y.z - z.y, z.x - x.z, x.y - y.x, 1 + t});
  if (x.x >= y.y && x.x >= z.z) return normalized({1 + x.x - y.y - z.z, x.y + y.x, z.x + x.z, y.z - z.y});
  if (y.y >= z.z) return normalized({x.y + y.x, 1 - x.x + y.y - z.z, y.z + z.y, z.x - x.z});
  return normalized({z.x + x.z, y.z + z.y, 1 - x.x - y.y + z.z, x.y - y.x});
}

InstrumentModel standard_instrument(const char* name, double tail_deg, double plus_deg, double minus_deg) {
  return {name,
          {-120, 0, 0},
          {{"tail", tail_deg, 5, {-110, 0, 8}, MarkerArm::none},
           {"plus", plus_deg, 5, {-25, 6, 0}, MarkerArm::plus},
           {"minus", minus_deg, 5, {-25, -6, 0}, MarkerArm::minus}}};
}

}  // namespace

Vec3 marker_p_T(const InstrumentModel& instrument, const Marker& marker, double opening_rad) {
  if (marker.arm == MarkerArm::none) return marker.p_TM;
  const double angle = marker.arm == MarkerArm::plus ? 0.5 * opening_rad : -0.5 * opening_rad;
  return instrument.hinge_p_T + rotate(axis_angle({0, 0, 1}, angle), marker.p_TM - instrument.hinge_p_T);
}

Rig standard_rig() {
  Rig rig;
  rig.created = "2026-11-20T18:00:00Z";
  const std::array<Vec3, kCameras> corners{{{-200, -150, 300}, {200, -150, 300}, {200, 150, 300}, {-200, 150, 300}}};
  for (std::size_t c = 0; c < kCameras; ++c) {
    CameraModel camera;
    camera.name = "C" + std::to_string(c);
    camera.X_RC = {look_at(corners[c], {0, 0, 60}), corners[c]};
    rig.cameras.push_back(camera);
  }
  rig.instruments = {standard_instrument("left", 0, 60, 120), standard_instrument("right", 180, 240, 300)};
  return rig;
}

}  // namespace ligature::drivers
