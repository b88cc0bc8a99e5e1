#pragma once
/// The name of a knot or link from its diagram.
///
/// The diagram is simplified and parted into pieces that lie apart and factors of connected sums, each of which is
/// simplified and parted again. A factor of at most ten crossings is one of the table (of at most ten crossings, prime
/// or composite): the HOMFLY polynomial says which, and where it leaves several, counts of parabolic representations
/// part them. A factor that keeps more crossings has no name, however well its polynomial is known: knots of eleven
/// crossings and more share polynomials with small ones.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/knot/diagram.hpp"
#include "sim/knot/names/homfly.hpp"
#include "sim/knot/names/polynomial.hpp"

namespace ligature::knot {

struct Naming {
  std::string name = "unknown";         ///< the one candidate, or "unknown"
  std::vector<std::string> candidates;  ///< what it may be, of what is in the table; at most kMostCandidates
  bool proven = false;                  ///< it is one of the candidates
  std::size_t crossings = 0;            ///< of the simplified diagram, all factors together
  std::size_t components = 0;
  std::optional<Polynomial> homfly;  ///< nothing where it takes too many crossings
  std::vector<Diagram> factors;      ///< simplified; unknots left out
};
inline constexpr std::size_t kMostCandidates = 16;

/// @param diagram well formed
Naming name_of(const Diagram& diagram, HomflySource& source);

}  // namespace ligature::knot
