#pragma once
/// Frames of 30 ms of the named scenes of knots: the product, the thesis's configuration of it, and Bullet.
#include <string>

#include "tests/bench/table.hpp"

namespace ligature::bench {

inline constexpr int kRealTimeIterations = 2, kRealTimeContactIterations = 20;

struct KnotOptions {
  std::string scene;  ///< its name; empty: all
  int frames = 200;   ///< timed, of 6 steps
  bool ours = true, peer = true;
  /// The product's bounds in real time: linear solves a step, iterations a contact problem. See knot_rows.cpp.
  int iterations = kRealTimeIterations, contact_iterations = kRealTimeContactIterations;
  bool brief = false;  ///< nothing is pulled tight, to see that the harness works
  std::string dump;    ///< a folder for the curves at the end of each run (CSV: x,y,z), to be looked at; empty: none
};

/// @return false when a scene could not be made, or there is none of that name
bool measure_knots(Table& table, const KnotOptions& options);

}  // namespace ligature::bench
