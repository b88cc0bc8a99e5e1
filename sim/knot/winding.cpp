#include "sim/knot/winding.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/knot/straightness.hpp"

namespace ligature::knot {

namespace {

constexpr std::size_t kMostLegs = 512;  // of a strand, or of a thread, that are looked at at once, ...
constexpr double kLeastLegs = 128;      // ... and as many or so at least
constexpr int kMostLooks = 8;           // each at the part in which the last one saw crossings
constexpr double kLeftOut = 0.02;       // of the crossings, at either end of that part
constexpr double kFar = 4;              // lengths of two legs from which on they count as points with a direction
constexpr double kEnough = 0.5;         // of the most crossings that two parts of a thread may have with each other
constexpr double kAsMuch = 0.3;         // crossings of what stands between them

double angle_of(Vec3 a, Vec3 b) {
  return std::asin(std::clamp(dot(a, b) / std::sqrt(dot(a, a) * dot(b, b)), -1.0, 1.0));
}

/// A stretch of a curve in legs: from point to point, or over several where there are many, and short where points are
/// far between.
struct Legs {
  const Curve* curve;
  std::vector<double> place;  // counted in points
  Curve at;
  std::vector<double> crossings;  // of each leg
  bool all = true;                // no point is left out

  Legs(const Curve& of, double from, double to) : curve(&of) {
    place.push_back(from);
    for (auto i = static_cast<std::size_t>(from) + 1; static_cast<double>(i) < to; ++i)
      place.push_back(static_cast<double>(i));
    place.push_back(to);
    const std::size_t stride = 1 + (place.size() - 2) / kMostLegs;
    all = stride == 1;
    double length = 0;
    std::vector<double> some;
    for (std::size_t i = 0; i + 1 < place.size(); i += stride) some.push_back(place[i]);
    some.push_back(to);
    for (std::size_t i = 0; i + 1 < some.size(); ++i)
      length += norm(point_at(*curve, some[i + 1]) - point_at(*curve, some[i]));
    place.assign(1, from);
    for (std::size_t i = 0; i + 1 < some.size(); ++i) {
      const double leg = norm(point_at(*curve, some[i + 1]) - point_at(*curve, some[i]));
      const int parts = length > 0 ? 1 + static_cast<int>(kLeastLegs * leg / length) : 1;
      for (int k = 1; k <= parts; ++k) place.push_back(some[i] + (some[i + 1] - some[i]) * k / parts);
    }
    for (const double p : place) at.push_back(point_at(*curve, p));
    crossings.assign(place.size() - 1, 0);
  }
  std::size_t count() const { return crossings.size(); }
  double length(std::size_t i) const { return norm(at[i + 1] - at[i]); }
  /// The part of it in which nearly all is that crosses.
  Legs closer() const {
    double sum_of_all = 0, sum = 0;
    for (const double c : crossings) sum_of_all += c;
    std::size_t from = 0, to = count();
    for (std::size_t i = 0; i < count(); ++i) {
      if (sum <= kLeftOut * sum_of_all) from = i;
      sum += crossings[i];
      if (sum < (1 - kLeftOut) * sum_of_all) continue;
      to = i + 1;
      break;
    }
    return Legs(*curve, place[from], place[to]);
  }
};

void add_crossings(Legs& a, Legs& b) {
  for (std::size_t i = 0; i < a.count(); ++i)
    for (std::size_t j = 0; j < b.count(); ++j) {
      const double seen = crossings_seen(a.at[i], a.at[i + 1], b.at[j], b.at[j + 1]);
      a.crossings[i] += seen;
      b.crossings[j] += seen;
    }
}

/// Of what is before each point with what is behind it.
std::vector<double> add_own_crossings(Legs& legs) {
  std::vector<double> across(legs.count() + 1, 0);
  for (std::size_t i = 0; i < legs.count(); ++i)
    for (std::size_t j = i + 2; j < legs.count(); ++j) {
      const double seen = crossings_seen(legs.at[i], legs.at[i + 1], legs.at[j], legs.at[j + 1]);
      legs.crossings[i] += seen;
      legs.crossings[j] += seen;
      across[i + 1] += seen;
      across[j + 1] -= seen;
    }
  for (std::size_t k = 1; k < across.size(); ++k) across[k] += across[k - 1];
  return across;
}

}  // namespace

double crossings_seen(Vec3 p, Vec3 p_end, Vec3 q, Vec3 q_end) {
  const Vec3 d = p_end - p, e = q_end - q, r = 0.5 * ((q - p) + (q_end - p_end));
  const double apart = norm(r), long_enough = kFar * (norm(d) + norm(e));
  if (apart > long_enough) return std::abs(dot(r, cross(d, e))) / (2 * std::numbers::pi * apart * apart * apart);
  const Vec3 r13 = q - p, r14 = q_end - p, r23 = q - p_end, r24 = q_end - p_end;
  const Vec3 n1 = cross(r13, r14), n2 = cross(r14, r24), n3 = cross(r24, r23), n4 = cross(r23, r13);
  const double least = std::min(std::min(dot(n1, n1), dot(n2, n2)), std::min(dot(n3, n3), dot(n4, n4)));
  if (!(least > 0)) return 0;  // all in one plane
  return std::abs(angle_of(n1, n2) + angle_of(n2, n3) + angle_of(n3, n4) + angle_of(n4, n1)) / (2 * std::numbers::pi);
}

Winding::Winding(const Curve& first, const Curve& second) {
  std::vector<Legs> legs{Legs(first, 0, static_cast<double>(first.size() - 1)),
                         Legs(second, 0, static_cast<double>(second.size() - 1))};
  add_crossings(legs[0], legs[1]);
  for (int look = 1; look < kMostLooks && !(legs[0].all && legs[1].all); ++look) {
    legs = {legs[0].closer(), legs[1].closer()};
    add_crossings(legs[0], legs[1]);
  }
  for (std::size_t w = 0; w < 2; ++w) {
    const Legs& of = legs[w];
    at_[w] = of.place;
    sum_[w] = length_[w] = {0};
    for (std::size_t i = 0; i < of.count(); ++i) {
      sum_[w].push_back(sum_[w].back() + of.crossings[i]);
      length_[w].push_back(length_[w].back() + of.length(i));
    }
    all_ = sum_[w].back();
  }
}

double Winding::place(std::size_t strand, double share) const {
  const std::vector<double>&sum = sum_[strand], &at = at_[strand];
  const double wanted = std::clamp(share, 0.0, 1.0) * sum.back();
  const auto next = std::upper_bound(sum.begin() + 1, sum.end() - 1, wanted);
  const auto i = static_cast<std::size_t>(next - sum.begin());
  const double within = sum[i] - sum[i - 1];
  return at[i - 1] + (within > 0 ? std::clamp((wanted - sum[i - 1]) / within, 0.0, 1.0) : 0.5) * (at[i] - at[i - 1]);
}

std::pair<double, double> Winding::core(std::size_t strand, double part) const {
  const std::vector<double>&sum = sum_[strand], &length = length_[strand];
  std::size_t best_from = 0, best_to = sum.size() - 1;
  for (std::size_t from = 0, to = 0; from < sum.size(); ++from) {
    while (to + 1 < sum.size() && sum[to] - sum[from] < part * sum.back()) ++to;
    if (sum[to] - sum[from] < part * sum.back()) break;
    if (length[to] - length[from] < length[best_to] - length[best_from]) best_from = from, best_to = to;
  }
  const double all = sum.back() > 0 ? sum.back() : 1.0;
  return {sum[best_from] / all, sum[best_to] / all};
}

double dividing_place(const Curve& thread) {
  Legs legs(thread, 0, static_cast<double>(thread.size() - 1));
  std::vector<double> across = add_own_crossings(legs);
  for (int look = 1; look < kMostLooks && !legs.all; ++look) {
    legs = legs.closer();
    across = add_own_crossings(legs);
  }
  const double enough = kEnough * *std::max_element(across.begin(), across.end());
  double longest = -1, length = 0, crossed = 0;
  std::size_t best_from = 0, best_to = legs.count();
  for (std::size_t from = 0, to = 0; to < legs.count();) {
    crossed += legs.crossings[to];
    length += legs.length(to);
    ++to;
    while (from + 1 < to && crossed > kAsMuch) {
      crossed -= legs.crossings[from];
      length -= legs.length(from);
      ++from;
    }
    if (crossed <= kAsMuch && length > longest && across[(from + to) / 2] >= enough)
      longest = length, best_from = from, best_to = to;
  }
  return 0.5 * (legs.place[best_from] + legs.place[best_to]);
}

}  // namespace ligature::knot
