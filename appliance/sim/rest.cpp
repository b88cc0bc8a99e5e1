#include "appliance/sim/rest.hpp"

#include <algorithm>
#include <limits>

namespace ligature::simulate {

double calm_from_s(const world::WorldParams& params, double duration_s) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  double calm = -1;
  // What happens at the very start or after the end changes nothing that the run could see.
  const auto happens = [&](double t_s) {
    if (t_s > 0 && t_s <= duration_s) calm = std::max(calm, t_s);
  };
  const auto moves = [&](double from_s, double until_s) {
    if (from_s >= duration_s) return;
    if (until_s >= duration_s) calm = kNever;
    happens(until_s);
  };
  for (const world::ThreadParams& t : params.threads) {
    for (const world::ClampParams& c : t.clamps) {
      happens(c.from_s);
      happens(c.until_s);
      const bool turns =
          c.hold == world::ClampParams::Hold::frame && (c.spin_rad_per_s != 0 || !(c.turn_rad_per_s == Vec3{}));
      if (turns || !(c.velocity == Vec3{})) moves(c.from_s, c.until_s);
    }
    for (const world::ForceParams& f : t.forces) {
      if (f.force == Vec3{}) continue;
      happens(f.from_s);
      if (f.ramp_s > 0) moves(f.from_s, std::min(f.from_s + f.ramp_s, f.until_s));
      happens(f.until_s);
    }
  }
  for (std::size_t p = 0; p < params.obstacles.size(); ++p) {
    const world::ObstacleParams& plane = params.obstacles[p];
    bool moving = !(plane.velocity == Vec3{});
    for (const world::ScheduleEntry& e : params.schedule)
      moving |= e.key == world::ScheduleEntry::Key::obstacle_velocity && e.index == p && !(e.vector == Vec3{});
    if (moving) moves(plane.from_s, plane.until_s);
  }
  for (const world::ScheduleEntry& e : params.schedule) happens(e.time_s);
  for (const world::CutParams& c : params.cuts) happens(c.time_s);
  return calm;
}

}  // namespace ligature::simulate
