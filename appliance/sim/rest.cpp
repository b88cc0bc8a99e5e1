#include "appliance/sim/rest.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

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
    const world::ObstacleParams& body = params.obstacles[p];
    std::vector<std::pair<double, Vec3>> velocities{{0, body.velocity}};  // each from this time on
    for (const world::ScheduleEntry& e : params.schedule)
      if (e.key == world::ScheduleEntry::Key::obstacle_velocity && e.index == p)
        velocities.emplace_back(e.time_s, e.vector);
    std::stable_sort(velocities.begin(), velocities.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < velocities.size(); ++i) {
      const double end = i + 1 < velocities.size() ? velocities[i + 1].first : kNever;
      const double from = std::max(body.from_s, velocities[i].first), until = std::min(body.until_s, end);
      if (!(velocities[i].second == Vec3{}) && from < until) moves(from, until);
    }
  }
  for (const world::ScheduleEntry& e : params.schedule) happens(e.time_s);
  for (const world::CutParams& c : params.cuts) happens(c.time_s);
  return calm;
}

}  // namespace ligature::simulate
