#pragma once
/// Frames of 30 ms of the named scenes of knots: the product, the thesis's configuration of it, and Bullet.
#include <string>

#include "tests/bench/table.hpp"

namespace ligature::bench {

struct KnotOptions {
  std::string scene;  ///< its name; empty: all
  int frames = 200;   ///< timed, of 6 steps
  bool ours = true, peer = true;
  std::string dump;  ///< a folder for the curves at the end of each run (CSV: x,y,z), to be looked at; empty: none
};

/// @return false when a scene could not be made, or there is none of that name
bool measure_knots(Table& table, const KnotOptions& options);

}  // namespace ligature::bench
