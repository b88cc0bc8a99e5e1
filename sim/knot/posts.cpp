#include "sim/knot/posts.hpp"

#include <algorithm>
#include <cmath>

#include "sim/knot/straightness.hpp"

namespace ligature::knot {

namespace {

// Chord over length from throw to throw. Flat ties, loose to tight: both strands below 0.55. Sliding ones: the post
// above 0.95, the other strand below 0.45. What lies between the two is being capsized.
constexpr double kStraight = 0.85, kBent = 0.6, kHardlyStraight = 0.65, kAlike = 0.05;
constexpr double kBeyond = 3;   // distances between strands by which a post runs on straight on either side
constexpr double kMost = 0.2;   // a throw's outermost places left out on either side: some directions mislead
constexpr double kFarther = 2;  // a strand's places so many times as far from the other one as that one's are off
constexpr std::size_t kMostProbes = 12;  // places of a strand in a throw that are looked at

double quantile(std::vector<double> values, double part) {
  const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

class Shape {
 public:
  Shape(const Curve& first, const Curve& second, const std::vector<Meeting>& throws)
      : curve_{&first, &second}, throws_(throws) {
    Meeting all;
    for (const Meeting& m : throws_) all.add(m);
    for (std::size_t w = 0; w < 2; ++w) end_[w] = static_cast<double>(curve_[w]->size() - 1);
    if (&first == &second) end_[0] = start_[1] = (quantile(all.at[0], 0.9) + quantile(all.at[1], 0.1)) / 2;
    std::vector<double> apart;
    for (Meeting& m : throws_) apart.push_back(mend(m));
    apart_ = quantile(std::move(apart), 0.5);
  }
  /// From throw k to the next one: from middle to middle, and with most of both, of which a post passes both straight.
  double straight(std::size_t strand, std::size_t k) const {
    const std::vector<double>&a = throws_[k].at[strand], &b = throws_[k + 1].at[strand];
    const double between = straight(strand, quantile(a, 0.5), quantile(b, 0.5));
    const double low = std::min(quantile(a, kMost), quantile(b, kMost));
    const double high = std::max(quantile(a, 1 - kMost), quantile(b, 1 - kMost));
    return std::min(between, straight(strand, low, high));
  }

 private:
  double straight(std::size_t strand, double one, double other) const {
    const Curve& curve = *curve_[strand];
    const double from = walked(curve, std::min(one, other), -kBeyond * apart_);
    const double to = walked(curve, std::max(one, other), kBeyond * apart_);
    return straightness(curve, from, to, apart_);
  }
  /// Where the other strand is nearest to this one's places of a throw.
  std::vector<double> partners(const Meeting& m, std::size_t w) const {
    std::vector<double> out;
    for (std::size_t i = 0; i < m.at[w].size(); i += 1 + m.at[w].size() / kMostProbes)
      out.push_back(nearest_place(*curve_[1 - w], start_[1 - w], end_[1 - w], point_at(*curve_[w], m.at[w][i])));
    return out;
  }
  std::vector<double> distances(const Meeting& m, std::size_t w) const {
    std::vector<double> out = partners(m, w);
    const std::size_t step = 1 + m.at[w].size() / kMostProbes;
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = norm(point_at(*curve_[1 - w], out[i]) - point_at(*curve_[w], m.at[w][i * step]));
    return out;
  }
  /// A long stretch that nothing holds, such as a post, is shortened to one line, and places on that are not those on
  /// the strand. Then the other strand's places say where it meets it. The distance between the strands there.
  double mend(Meeting& m) const {
    const double off[2] = {quantile(distances(m, 0), 0.5), quantile(distances(m, 1), 0.5)};
    for (std::size_t w = 0; w < 2; ++w) {
      if (off[w] <= kFarther * off[1 - w]) continue;
      m.at[w] = partners(m, 1 - w);
      return off[1 - w];
    }
    return (off[0] + off[1]) / 2;
  }

  const Curve* curve_[2];
  std::vector<Meeting> throws_;
  double start_[2] = {0, 0}, end_[2] = {0, 0};  ///< the part of each curve that is that strand's
  double apart_ = 0;
};

}  // namespace

Posts posts_of(const Curve& first, const Curve& second, const std::vector<Meeting>& throws) {
  Posts out;
  out.post.resize(throws.size());
  out.likely.resize(throws.size());
  if (throws.size() < 2) return out;
  const Shape shape(first, second, throws);
  for (std::size_t k = 0; k + 1 < throws.size(); ++k) {
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
