#pragma once
/// The HOMFLY polynomial of a diagram, by whoever can compute it.
///
/// Variables and signs are those of [Lickorish 1987]: P(unknot) = 1 and l P(L+) + l^-1 P(L-) + m P(L0) = 0.
/// The library that computes it brings a garbage collector; it stands behind this door so that no process with
/// real-time threads has to hold it.
#include "sim/base/result.hpp"
#include "sim/knot/diagram.hpp"
#include "sim/knot/names/polynomial.hpp"

namespace ligature::knot {

class HomflySource {
 public:
  virtual ~HomflySource() = default;
  /// @param diagram any link, also split or without crossings; at least one component
  /// Error::Kind::failed where it has more crossings than can be afforded or a number does not fit.
  virtual Result<Polynomial> homfly(const Diagram& diagram) = 0;
};

}  // namespace ligature::knot
