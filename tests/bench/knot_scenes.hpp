#pragma once
/// The named scenes of the benchmark of knots: shipped scenarios where there is one, with the friction held.
#include <string>
#include <vector>

#include "sim/base/result.hpp"
#include "sim/world/params.hpp"

namespace ligature::bench {

struct Tail {
  std::size_t thread = 0;
  bool last = true;  ///< which end of the thread
};

struct KnotScene {
  std::string name, title;
  world::WorldParams params;
  world::Capacity capacity;
  double prepare_s = 3;            ///< the scene is pulled tight, not timed
  std::vector<Tail> tails;         ///< free ends: what slips through the knot shows there
  double budget_ms = 0;            ///< what a frame may cost at p99 on one core; 0 = none is set
  double work_spin_rad_per_s = 0;  ///< of held frames while the scene is worked, instead of loads; see work()
};

/// So that nothing sleeps while it is timed: loads that last swing by a fifth up and down at 2 Hz, linearly; held
/// frames that are to turn do so to and fro.
inline constexpr double kWorkShare = 0.2, kWorkPeriod_s = 0.5;
/// Adds the work from then on, for `lasting_s`, to the loads and clamps. @param spin_rad_per_s see KnotScene
void work(world::WorldParams& params, double spin_rad_per_s, double from_s, double lasting_s);

/// All of them, in the order of the table. @param config the folder `config` of the sources
Result<std::vector<KnotScene>> knot_scenes(const std::string& config);

}  // namespace ligature::bench
