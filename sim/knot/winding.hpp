#pragma once
/// Where two strands wind round each other: how often parts of them are seen to cross, in the mean over all directions
/// of view (average crossing number: [Freedman & He 1991]; of two legs: the solid angle of [Klenin & Langowski 2000],
/// equations 13 to 15, without its sign, over 2 pi). It hangs on no view, no diagram and, but for strands of very many
/// points, on no spacing; strands that move little have it move little.
#include <array>
#include <utility>
#include <vector>

#include "sim/knot/curves.hpp"

namespace ligature::knot {

/// Crossings of two legs, p to p_end and q to q_end, in the mean over all directions of view: 0 to 1.
double crossings_seen(Vec3 p, Vec3 p_end, Vec3 q, Vec3 q_end);

/// Crossings of two strands with each other, summed up along either.
class Winding {
 public:
  /// @pre two points or more each. Of strands with very many points stretches that do not cross are left out.
  Winding(const Curve& first, const Curve& second);
  double crossings() const { return all_; }
  /// The place on a strand, counted in points, up to which this share of the crossings lies.
  double place(std::size_t strand, double share) const;
  /// The shares between which a strand crosses so much (0 to 1) of it in the shortest stretch: far places where one
  /// happens to lie across the other are outside.
  std::pair<double, double> core(std::size_t strand, double part) const;

 private:
  std::array<std::vector<double>, 2> at_, sum_, length_;  ///< of points: place, crossings and length up to there
  double all_ = 0;
};

/// The place, counted in points, that divides a thread into the two strands of a tie, its standing part: the middle of
/// the longest stretch that crosses next to nothing and on either side of which the thread crosses itself at least half
/// as often as at any place. @pre three points or more
double dividing_place(const Curve& thread);

}  // namespace ligature::knot
