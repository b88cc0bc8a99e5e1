#include "sim/knot/posts.hpp"

#include <algorithm>
#include <cmath>

#include "sim/knot/straightness.hpp"

namespace ligature::knot {

namespace {

// Chord over length from throw to throw. Flat ties, loose to tight: both strands below 0.55. Sliding ones: the post
// above 0.95, the other strand below 0.45. What lies between the two is being capsized.
constexpr double kStraight = 0.85, kBent = 0.6, kHardlyStraight = 0.65, kAlike = 0.05;
constexpr double kBeyond = 3;            // distances between strands by which a post runs on straight on either side
constexpr double kMost = 0.2;            // a throw's outermost places left out on either side: some directions mislead
constexpr std::size_t kMostProbes = 24;  // places at which the distance between strands is measured

double quantile(std::vector<double> values, double part) {
  const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

class Shape {
 public:
  Shape(const Curve& first, const Curve& second, const std::vector<Meeting>& throws)
      : curve_{&first, &second}, throws_(throws) {
    for (const Meeting& m : throws) all_.add(m);
    apart_ = distance_between_strands();
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
  double distance_between_strands() const {
    std::vector<double> apart;
    for (std::size_t w = 0; w < 2; ++w) {
      const auto [low, high] = std::minmax_element(all_.at[1 - w].begin(), all_.at[1 - w].end());
      const std::size_t n = all_.at[w].size(), step = 1 + n / kMostProbes;
      for (std::size_t i = 0; i < n; i += step)
        apart.push_back(distance_to(*curve_[1 - w], *low, *high, point_at(*curve_[w], all_.at[w][i])));
    }
    return quantile(std::move(apart), 0.5);
  }

  const Curve* curve_[2];
  const std::vector<Meeting>& throws_;
  Meeting all_;
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
