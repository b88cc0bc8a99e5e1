#include "sim/knot/posts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/knot/straightness.hpp"
#include "sim/knot/winding.hpp"

namespace ligature::knot {

namespace {

// Chord over length from throw to throw. Flat ties, loose to tight: both strands below 0.55. Sliding ones: the post
// above 0.95, the other strand below 0.45. What lies between the two is being capsized.
constexpr double kStraight = 0.85, kBent = 0.6, kHardlyStraight = 0.65, kAlike = 0.05;
constexpr double kBeyond = 3;       // distances between strands by which a post runs on straight on either side
constexpr double kCore = 0.8;       // of all crossings, which is where throws are looked for: the rest leads astray
constexpr std::size_t kProbes = 9;  // places of either strand at which the distance to the other one is looked at

class Shape {
 public:
  Shape(const Curve& first, const Curve& second, const std::vector<int>& half_turns, bool crosswise)
      : curve_{&first, &second}, crosswise_{crosswise}, winding_(first, second) {
    double sum = 0;
    for (const int h : half_turns) upto_.push_back(sum += std::abs(h));
    for (double& u : upto_) u /= sum;
    // What crosses besides, a coil round a pole, is no part of the throws.
    const double part = kCore * std::min(1.0, sum / std::max(winding_.crossings(), 1e-9));
    for (std::size_t w = 0; w < 2; ++w) core_[w] = winding_.core(w, part);
    std::vector<double> apart;
    for (std::size_t w = 0; w < 2; ++w)
      for (std::size_t i = 0; i < kProbes; ++i)
        apart.push_back(distance(w, (static_cast<double>(i) + 0.5) / static_cast<double>(kProbes)));
    std::nth_element(apart.begin(), apart.begin() + kProbes, apart.end());
    apart_ = apart[kProbes];
  }
  /// From throw k to the next one: from middle to middle, and with all of both, of which a post passes both straight.
  double straight(std::size_t strand, std::size_t k) const {
    const double from = k == 0 ? 0.0 : upto_[k - 1], between = upto_[k], to = upto_[k + 1];
    return std::min(straight(strand, 0.5 * (from + between), 0.5 * (between + to)), straight(strand, from, to));
  }

 private:
  /// Of a strand, counted in points; share: of the crossings of the core, in the order of the throws.
  double place(std::size_t strand, double share) const {
    const auto [from, to] = core_[strand];
    return winding_.place(strand, strand == 1 && crosswise_ ? to + share * (from - to) : from + share * (to - from));
  }
  double straight(std::size_t strand, double from_share, double to_share) const {
    const Curve& curve = *curve_[strand];
    const double a = place(strand, from_share), b = place(strand, to_share);
    return straightness(curve, walked(curve, std::min(a, b), -kBeyond * apart_),
                        walked(curve, std::max(a, b), kBeyond * apart_), apart_);
  }
  double distance(std::size_t strand, double share) const {
    const Curve& other = *curve_[1 - strand];
    const Vec3 here = point_at(*curve_[strand], place(strand, share));
    return norm(point_at(other, nearest_place(other, place(1 - strand, 0), place(1 - strand, 1), here)) - here);
  }

  std::array<const Curve*, 2> curve_;
  bool crosswise_;
  Winding winding_;
  std::array<std::pair<double, double>, 2> core_;
  std::vector<double> upto_;  ///< shares of the crossings up to the end of each throw
  double apart_ = 0;          ///< the strands, in the middle
};

}  // namespace

Posts posts_of(const Curve& first, const Curve& second, const std::vector<int>& half_turns, bool crosswise) {
  Posts out;
  out.post.resize(half_turns.size());
  out.likely.resize(half_turns.size());
  if (half_turns.size() < 2) return out;
  const Shape shape(first, second, half_turns, crosswise);
  for (std::size_t k = 0; k + 1 < half_turns.size(); ++k) {
    const std::array<double, 2> straight{shape.straight(0, k), shape.straight(1, k)};
    out.straight.push_back(straight);
    const std::size_t post = straight[0] > straight[1] ? 0 : 1;
    if (straight[post] < kHardlyStraight || straight[1 - post] > straight[post] - kAlike) continue;
    for (const std::size_t i : {k, k + 1}) {
      if (!out.likely[i]) out.likely[i] = post;
      if (!out.post[i] && straight[post] > kStraight && straight[1 - post] < kBent) out.post[i] = post;
    }
  }
  out.might_slide = out.post != out.likely;
  return out;
}

}  // namespace ligature::knot
