#pragma once
/// What an exercise asks for: plain data, filled by `config` from a scenario's [exercise].
#include <cstddef>
#include <string>

namespace ligature::exercise {

/// One stitch that joins two vessel ends, tied and cut.
struct Goal {
  std::string name;
  std::size_t thread = 0;             ///< that has the needle
  std::size_t first = 0, second = 1;  ///< tissues, in the order in which they are to be pierced
  double tail_mm = 10;                ///< of thread that may be left before the first hole, at most
  std::string throws = "1=1";         ///< the knot, as `ligature knot` names throws
  double ends_mm = 5;                 ///< of thread that may stand off the outer holes once it is cut, at most
  double tear_force = 5e5;            ///< of a thread on a hole, from which on the wall tears [uN]
  double dropped_after_s = 2;         ///< nobody holding the thread for so long has dropped it
  /// Throws that slide are given so long to set once the hands let go, and a knot that was cut to be named again.
  double settles_s = 5;
  bool at_once = true;  ///< begins with the session, else when told
};

}  // namespace ligature::exercise
