#pragma once
/// Continuous collision detection: no strand passes through another or through an obstacle.
///
/// Two independent answers. first_crossing() solves the cubic planarity test for the time at which two moving segments
/// meet (robustly: by the signs of Bernstein coefficients and bisection, with a bound on rounding). certified_apart()
/// proves that they never meet, by distances and bounds on motion alone, and knows nothing of cubics: the audit.
#include <optional>
#include <vector>

#include "sim/contact/strand.hpp"
#include "sim/contact/swept_pairs.hpp"

namespace ligature::contact {

/// A segment whose ends move straight from (p, q) to (p1, q1) while t goes from 0 to 1. [mm]
struct MovingSegment {
  Vector3d p, q, p1, q1;
};

/// The first t in [0, 1] at which the segments have a point in common, conservatively: where rounding leaves it open
/// they do. Parallel, degenerate and resting ones included. @rt bounded
std::optional<double> first_crossing(const MovingSegment& a, const MovingSegment& b) noexcept;

/// True only when the segments provably have no point in common at any t in [0, 1], by halving the time until their
/// distance exceeds what they can still move against each other. @rt bounded number of halvings
bool certified_apart(const MovingSegment& a, const MovingSegment& b) noexcept;

/// What keeps strands from passing through each other while all vertices move straight from x to x1.
class CrossingGuard {
 public:
  CrossingGuard(std::size_t most_edges, std::size_t most_pairs);

  struct Verdict {
    double fraction = 1;        ///< of the motion that all may make without any crossing, below the first one; 1 = all
    std::size_t found = 0;      ///< pairs that would cross
    EdgePair first;             ///< the first of them to do so, when found > 0
    std::size_t looked_at = 0;  ///< pairs that a closer look was needed for
  };
  /// Searches with the certificate first and the cubic where it fails. Pairs that share a vertex cannot cross.
  /// x1: one array a strand, where its vertices would end. @rt no allocation
  Verdict look(const Strand* strands, std::size_t count, const Vector3d* const* x1) noexcept;

  /// The audit: proves by certificates alone, to the last pair, that nothing crosses on the way. `x1` as above.
  /// @returns pairs that could not be proven apart. @rt no allocation
  std::size_t audit(const Strand* strands, std::size_t count, const Vector3d* const* x1) noexcept;

 private:
  SweptPairs near_;
};

}  // namespace ligature::contact
