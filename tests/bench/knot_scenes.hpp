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
  double prepare_s = 2;     ///< at most: the scene is pulled tight, not timed
  std::vector<Tail> tails;  ///< free ends: what slips through the knot shows there
  double budget_ms = 0;     ///< what a frame may cost at p99 on one core; 0 = none is set
};

/// All of them, in the order of the table. @param config the folder `config` of the sources
Result<std::vector<KnotScene>> knot_scenes(const std::string& config);

}  // namespace ligature::bench
