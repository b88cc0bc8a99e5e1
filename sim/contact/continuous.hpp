#pragma once
/// Continuous collision detection: no strand passes through another or through an obstacle.
///
/// Two answers by two ways. first_crossing() finds by the cubic planarity test when two moving segments can meet at all
/// [Provot 1997; thesis 3.8]: with u, v their directions and w between their first ends, all linear in t,
///
///   f(t) = w . (u x v) = sum b_i B_i(t),   i = 0..3      no root where all b_i lie on one side beyond their rounding
///
/// and decides what is left by separating planes. certified_apart() proves by separating planes alone that they never
/// meet, and knows nothing of cubics: the audit. A plane of normal c separates over a whole interval of time when
///
///   c . (a_i(t) - b_j(t)) > 0   at both of its ends, for all pairs of ends i, j
///
/// because that is linear in t: however c was found, that is a proof. c is taken from the nearest points at one t, and
/// holds as far as it holds; then comes the next. A normal that turns, straight from c0 to c1, makes it quadratic, and
/// three coefficients are compared. Motion along the plane costs nothing, common motion cancels. So both answers rest
/// on the same few lines that check a plane; the cubic only spares planes where it says that none is needed. All
/// differences are taken between coordinates of the same time, so that neither an offset nor a scale is felt:
/// "rounding" below is some 4e-15 of the largest such difference.
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/contact/strand.hpp"
#include "sim/contact/swept_pairs.hpp"

namespace ligature::contact {

/// A segment whose ends move straight from (p, q) to (p1, q1) while t goes from 0 to 1. [mm] A moving point: p = q.
struct MovingSegment {
  Vector3d p, q, p1, q1;
};
/// Likewise a triangle. [mm]
struct MovingTriangle {
  Vector3d a, b, c, a1, b1, c1;
};

/// The first t in [0, 1] at which the segments have a point in common, conservatively: where rounding leaves it open
/// they do, and the t is below the true one by rounding. Parallel, degenerate and resting ones included; what is not
/// finite crosses at 0. @rt bounded
std::optional<double> first_crossing(const MovingSegment& a, const MovingSegment& b) noexcept;
/// Likewise a segment and a triangle, its edges and its face (thesis 3.8: a vertex reaches the face or the segment an
/// edge: five cubics). One that begins inside crosses at 0.
std::optional<double> first_piercing(const MovingSegment& a, const MovingTriangle& b) noexcept;

/// The first t in [0, 1] at which they are no farther apart than `distance` >= 0, conservatively as above: of a capsule
/// its axis and radius, of a sphere its centre as a segment of no length. @rt bounded
std::optional<double> first_within(const MovingSegment& a, const MovingSegment& b, double distance) noexcept;
std::optional<double> first_within(const MovingSegment& a, const MovingTriangle& b, double distance) noexcept;

/// True only when they provably have no point in common at any t in [0, 1]; false means unknown.
/// @rt bounded number of planes
bool certified_apart(const MovingSegment& a, const MovingSegment& b) noexcept;
bool certified_apart(const MovingSegment& a, const MovingTriangle& b) noexcept;
/// True only when they provably stay farther apart than `distance` >= 0.
bool certified_farther(const MovingSegment& a, const MovingSegment& b, double distance) noexcept;
bool certified_farther(const MovingSegment& a, const MovingTriangle& b, double distance) noexcept;

/// What keeps strands from passing through each other while all vertices move straight from x to x1.
class CrossingGuard {
 public:
  /// Takes all memory. @param most_pairs whose boxes overlap on the way, without any reach
  CrossingGuard(std::size_t most_edges, std::size_t most_pairs);

  struct Verdict {
    double fraction = 1;        ///< of the motion that all may make without any crossing, below the first one; 1 = all
    std::size_t found = 0;      ///< pairs that would cross
    EdgePair first;             ///< the first of them to do so, when found > 0
    std::size_t looked_at = 0;  ///< pairs that a closer look was needed for
    bool complete = true;       ///< false: more pairs than fit, or a place that is not finite. Then the motion that was
                                ///< searched was cut until they fitted, at worst to nothing: `fraction` stays safe
  };
  /// Searches with the certificate first and the cubic where it fails. Pairs that share a vertex cannot cross.
  /// `fraction` is below 1 only where it has to be; it leaves a tenth of the way to the first crossing, and moving
  /// every vertex to x + fraction (x1 - x) is proven by certificates. 0 when even the start cannot be. x1: one array a
  /// strand, where its vertices would end; null as in SweptPairs. @rt no allocation
  Verdict look(const Strand* strands, std::size_t count, const Vector3d* const* x1) noexcept;

  /// The audit: proves by certificates alone, to the last pair, that nothing crosses on the way. `x1` as above.
  /// @returns pairs that could not be proven apart, and one for each edge that is not finite and one if pairs did not
  /// fit. @rt no allocation
  std::size_t audit(const Strand* strands, std::size_t count, const Vector3d* const* x1) noexcept;

 private:
  bool near_shortened(const Strand* strands, std::size_t count, const Vector3d* const* x1, double& part) noexcept;

  SweptPairs near_;
  std::vector<std::uint32_t> open_;  ///< pairs that the certificate left open
  std::vector<Vector3d> shortened_;  ///< ends of a motion cut short, when pairs did not fit
  std::vector<const Vector3d*> ends_;
};

}  // namespace ligature::contact
