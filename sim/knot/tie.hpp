#pragma once
/// Surgical ties: throws counted and told apart by the topology of the strands.
///
/// A throw of w wraps winds the two strands round each other by 2 w + 1 half turns. Its summand of the closed curve is
/// the torus knot T(2, 2 w + 1), left- or right-handed, so a tie's closed curve is a sum of such knots: reef 1=1 is
/// 3_1#m3_1, granny 1x1 is 3_1#3_1, surgeon's 2=1 is 5_1#m3_1 and so on. Two throws of opposite hand in a row are
/// written =, of the same hand x. Which ends are joined tells the rest:
///
///     reef, granny    loaded end with loaded end, tail with tail give the sum; thief, grief: each loaded end with the
///                     other thread's tail does
///
/// The other way of joining, and every view in which the free ends are wound round each other besides, give knots that
/// are no sums (two or more rational tangles and a twist: Montesinos knots, which are prime), so a sum found in some
/// directions is believed unless most closures that show throws show others. Throws stand in the order in which the
/// strands meet them, from the loaded ends on.
/// A slip knot is the same closed knot as the flat one that it capsizes from: that it slides is told by the shape of
/// the strands (posts.hpp). Throws that slide are written S (2S with two wraps), with = between two of the same hand
/// round the same post (identical half hitches), x between two of opposite hand, // where the post changes and the hand
/// too,
/// //x where the post alone changes; beside a flat throw as between flat ones. So a granny capsizes to S=S and a reef
/// to SxS.
/// Source of the notation: [Tera 1976], of that for sliding throws [Trimbos 1984].
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/knot/closure.hpp"

namespace ligature::knot {

enum class Tie { none, reef, granny, thief, grief, surgeon };
/// `none`, `reef`, ... as files and answers write it.
const char* name(Tie tie);
/// Whether a text is the name of a tie (not `none`), or throws as `TieReport::notation` writes them: `2=1`, `SxS`.
bool is_tie(std::string_view text);

/// One throw.
struct Throw {
  int wraps = 0;                    ///< 1 single, 2 double, ...
  int hand = 0;                     ///< +1 right-handed winding, -1 left-handed
  double first = 0;                 ///< where on the first strand, 0 loaded end to 1 tail, by number of points
  double second = 0;                ///< where on the second one
  std::optional<std::size_t> post;  ///< the strand, 0 or 1, round which the other slides; nothing: flat
};

struct TieReport {
  Tie tie = Tie::none;
  std::vector<Throw> throws;  ///< from the loaded ends to the tails; empty: the strands are not tied
  std::string notation;       ///< `1=1`, `1x1`, `2=1`, `2=1=1`, `1`, `S=S`; empty without throws
  std::string might_be;       ///< the same with throws that might slide; empty: none is between flat and sliding
  /// How straight the strands run from each throw to the next (posts.hpp).  (throws - 1)
  std::vector<std::array<double, 2>> straight;
  bool crosswise = false;       ///< each loaded end belongs with the other strand's tail (thief, grief)
  double confidence = 0;        ///< of two throws or more: share of the closures showing throws or a round circle, with
                                ///< this joining, that show these; otherwise `share`
  double share = 0;             ///< of all closures with this joining that give this answer
  int knots_in_one_strand = 0;  ///< summands that one strand forms alone, which are no throws
  /// Of the closures with tail joined to tail the share that are neither throws nor a round circle: near 1 for bends
  /// that are no ties (sheet bend, carrick bend), 0 for strands that are only wound round each other.
  double bound = 0;
  /// Of the closures that show this, the one with fewest crossings; empty where only shorter tails showed it.
  Diagram simplest;
};

/// Two strands, each from its loaded end to its tail.
/// Errors: as `closures`.
Result<TieReport> tie_of(const Curve& first, const Curve& second, std::size_t directions = 24);

/// One thread round tissue: tail, standing part, tail. The standing part is taken to be the longest stretch
/// without passes that most throws have a strand on either side of; places of throws count from its middle. Knots one
/// after the other along it are no throws.
Result<TieReport> tie_of(const Curve& thread, std::size_t directions = 24);

}  // namespace ligature::knot
