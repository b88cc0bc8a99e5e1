#include "appliance/track/pose_table.hpp"

#include <fmt/format.h>

#include <iterator>

#include "sim/base/units.hpp"

namespace ligature::tracking {

const char* status_name(TrackStatus status) {
  switch (status) {
    case TrackStatus::tracked:
      return "tracked";
    case TrackStatus::predicted:
      return "predicted";
    default:
      return "lost";
  }
}

void append_pose(std::string& out, std::uint64_t frame, std::int64_t t_ns, const std::string& instrument,
                 const InstrumentPose& pose, const drivers::TipCovariance& covariance) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{},{:.9f},{},{}", frame, units::s_per_ns * static_cast<double>(t_ns), instrument,
                 status_name(pose.status));
  if (pose.status == TrackStatus::lost) {
    out += ",,,,,,,,,0,,,,,,,,";
    return;
  }
  const Vec3& p = pose.X_RT.p;
  const Quat& q = pose.X_RT.q;
  fmt::format_to(to, ",{:.6f},{:.6f},{:.6f},{:.9f},{:.9f},{:.9f},{:.9f},{:.6f},{},", p.x, p.y, p.z, q.x, q.y, q.z, q.w,
                 pose.opening_rad * units::deg_per_rad, pose.cameras);
  if (pose.cameras > 0) fmt::format_to(to, "{:.6f}", pose.residual_px);
  fmt::format_to(to, ",{:.6f}", pose.sigma_tip_mm);
  for (const double c : covariance) fmt::format_to(to, ",{:.9g}", c);
}

void append_filtered(std::string& out, const drivers::FilteredPose& pose) {
  if (pose.status == TrackStatus::lost) {
    out += ",,,,,,,,,";
    return;
  }
  const Vec3& p = pose.X_RT.p;
  const Quat& q = pose.X_RT.q;
  fmt::format_to(std::back_inserter(out), ",{:.6f},{:.6f},{:.6f},{:.9f},{:.9f},{:.9f},{:.9f},{:.6f},{}", p.x, p.y, p.z,
                 q.x, q.y, q.z, q.w, pose.opening_rad * units::deg_per_rad, pose.closed ? 1 : 0);
}

}  // namespace ligature::tracking
