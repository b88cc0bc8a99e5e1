#pragma once
/// The same knot or link with fewer points and fewer crossings.
///
/// In space: a corner is cut off (p v n becomes p n) where no other edge meets the triangle p v n, exactly tested
/// [Koniaris 1991]. On the diagram: a stretch of strand that runs over (or under) everything it meets is lifted off and
/// laid down again along the way that crosses fewest strands, found by breadth first search over the faces. That takes
/// Reidemeister's first and second moves, removable crossings and many third moves in one step. Where no stretch gets
/// shorter, fingers are pushed over other strands and random ways of equal length are taken for a bounded number of
/// rounds, always from the same seed.
/// An alternating diagram, or a sum of such, that no move shortens has the fewest crossings possible [Kauffman 1987,
/// Murasugi 1987, Thistlethwaite 1987]; otherwise what comes out is only an upper bound.
#include <map>
#include <string>

#include "sim/knot/project.hpp"

namespace ligature::knot {

/// Closed polygons without the corners that could be cut off. Same number of curves, same orientation; the points are
/// some of those given. Bounded: at most `kMostPoints` points and a fixed amount of work, after which corners stay.
/// Errors: as `prepared`. Curves that touch stay so (`project` refuses them).
Result<Curves> simplify(const Curves& curves);

/// What is left of curves that came out of `prepared`, and which of their points that is.
struct Shortened {
  Curves curves;
  std::vector<std::vector<std::size_t>> kept;  ///< indices of the points left  (curves x points)
};
Shortened shorten_prepared(const Curves& curves);

/// A straight line that a strand must not be taken through, such as where an open curve's end is drawn out to.
struct Ray {
  Vec3 from, to;  ///< `from` may be an end of a curve
};
/// Open curves out of `prepared`: their ends stay, and nothing is taken through a ray, whichever of them is there. So
/// the result stands for the curves closed along any of the rays.
Shortened shorten_open(const Curves& curves, const std::vector<Ray>& rays);

/// Rounds of random ways that gain nothing before giving up: with these, about one in a thousand diagrams of a table
/// knot with 20 to 300 random crossings more keeps some of them (rounds 0: one in a hundred).
inline constexpr int kThorough = 80, kBrief = 6;

/// A diagram of the same link with as few crossings as were found. Components keep their number, order and
/// orientation; the pass at which a component's walk begins may change.
/// @pre well formed
Diagram simplify(const Diagram& diagram, int rounds = kThorough);

/// The same, keeping for every pass its place along the curve it came from: a pass that is new takes one between those
/// of its neighbours. @pre place has the shape of the diagram's components
Projection simplify(const Projection& projection, int rounds = kThorough);

/// How often diagrams, by their keys, were left with as many crossings by all rounds. Most closures of one tangle end
/// up as a few diagrams, each met again and again.
using InVain = std::map<std::string, int>;

/// From curves to a simplified diagram: shorten, look from `views` directions, simplify the one with fewest crossings.
/// Places count along the prepared curves: the points given without those that repeat the one before.
/// @param in_vain kept from call to call: a diagram that was tried in vain twice is given no more rounds
Result<Projection> simplified_diagram(const Curves& curves, int views = 6, int rounds = kThorough,
                                      InVain* in_vain = nullptr);

/// Whether over and under alternate along every component (a component without passes does).
bool alternating(const Diagram& diagram);

}  // namespace ligature::knot
