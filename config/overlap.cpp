#include "config/overlap.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace ligature::config {

namespace {

constexpr double kTouchTolerance = 1e-6;  // of the diameter: threads drawn touching touch
constexpr double kFoldCosine = 0.9962;    // of the 5 degrees between the arms of a fold
constexpr long kMaxPairs = 50'000'000;

struct Piece {
  std::size_t thread, point;
  bool needle;
  double radius;
  Vec3 from, to;
  double arc_from, arc_to, length_of_thread;
  double low, high;  // along the scene's longest side, grown by the radius
};

using Axis = double Vec3::*;

/// The side along which pieces are spread most, so that a sweep along it meets the fewest pairs.
Axis longest_side(const std::vector<world::ThreadParams>& threads) {
  Axis longest = &Vec3::x;
  double most = -1;
  for (const Axis axis : {&Vec3::x, &Vec3::y, &Vec3::z}) {
    double low = 1e300, high = -1e300;
    for (const auto& t : threads)
      for (const Vec3& p : t.points) low = std::min(low, p.*axis), high = std::max(high, p.*axis);
    if (high - low > most) most = high - low, longest = axis;
  }
  return longest;
}

/// Whether a side of the boxes round two pieces keeps their axes at least `reach` apart.
bool apart(const Piece& a, const Piece& b, double reach) {
  for (const Axis axis : {&Vec3::x, &Vec3::y, &Vec3::z})
    if (std::min(a.from.*axis, a.to.*axis) - std::max(b.from.*axis, b.to.*axis) > reach ||
        std::min(b.from.*axis, b.to.*axis) - std::max(a.from.*axis, a.to.*axis) > reach)
      return true;
  return false;
}

}  // namespace

double segment_distance(Vec3 p0, Vec3 p1, Vec3 q0, Vec3 q1) {
  const Vec3 u = p1 - p0, v = q1 - q0, w = p0 - q0;
  const double a = dot(u, u), e = dot(v, v), f = dot(v, w);
  double s = 0, t = 0;
  if (a > 0 && e > 0) {
    const double c = dot(u, w), b = dot(u, v), denominator = a * e - b * b;
    s = denominator > 1e-12 * a * e ? std::clamp((b * f - c * e) / denominator, 0.0, 1.0) : 0.0;
    t = (b * s + f) / e;
    if (t < 0) {
      t = 0;
      s = std::clamp(-c / a, 0.0, 1.0);
    } else if (t > 1) {
      t = 1;
      s = std::clamp((b - c) / a, 0.0, 1.0);
    }
  } else if (a > 0) {
    s = std::clamp(-dot(u, w) / a, 0.0, 1.0);
  } else if (e > 0) {
    t = std::clamp(f / e, 0.0, 1.0);
  }
  return norm((p0 + s * u) - (q0 + t * v));
}

std::optional<Overlap> first_overlap(const std::vector<world::ThreadParams>& threads) {
  const Axis sweep = longest_side(threads);
  std::vector<Piece> pieces;
  for (std::size_t k = 0; k < threads.size(); ++k) {
    const auto& t = threads[k];
    if (t.points.size() < 2) continue;
    const std::size_t first = pieces.size();
    const std::size_t count = t.closed ? t.points.size() : t.points.size() - 1;
    double arc = 0;
    const auto take = [&](std::size_t point, bool needle, Vec3 a, Vec3 b) {
      const double next = arc + norm(b - a), r = 0.5 * (needle ? t.needle->wire_mm : t.diameter_mm);
      pieces.push_back({k, point, needle, r, a, b, arc, next, 0, std::min(a.*sweep, b.*sweep) - r,
                        std::max(a.*sweep, b.*sweep) + r});
      arc = next;
    };
    const std::vector<Vec3> wire = world::wire_of(t);
    if (t.needle && !t.needle->at_last)
      for (std::size_t i = 0; i + 1 < wire.size(); ++i) take(0, true, wire[i], wire[i + 1]);
    for (std::size_t i = 0; i < count; ++i) take(i, false, t.points[i], t.points[(i + 1) % t.points.size()]);
    if (t.needle && t.needle->at_last)
      for (std::size_t i = 0; i + 1 < wire.size(); ++i) take(t.points.size(), true, wire[i], wire[i + 1]);
    for (std::size_t i = first; i < pieces.size(); ++i) pieces[i].length_of_thread = arc;
  }
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return std::tuple(a.low, a.thread, a.arc_from) < std::tuple(b.low, b.thread, b.arc_from);
  });
  long pairs = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    for (std::size_t j = i + 1; j < pieces.size() && pieces[j].low <= pieces[i].high; ++j) {
      if (++pairs > kMaxPairs) return std::nullopt;
      const bool swap =
          std::pair(pieces[j].thread, pieces[j].arc_from) < std::pair(pieces[i].thread, pieces[i].arc_from);
      const Piece &a = pieces[swap ? j : i], &b = pieces[swap ? i : j];
      const double reach = (a.radius + b.radius) * (1 - kTouchTolerance), diameter = a.radius + b.radius;
      if (apart(a, b, reach)) continue;
      if (a.thread == b.thread) {
        double between = b.arc_from - a.arc_to;
        if (threads[a.thread].closed) between = std::min(between, a.arc_from + a.length_of_thread - b.arc_to);
        const Vec3 u = a.to - a.from, v = b.to - b.from;
        const double cosine = -dot(u, v) / (norm(u) * norm(v));
        const bool folded = between <= 0 && cosine > kFoldCosine && std::min(norm(u), norm(v)) > diameter;
        if (between < 2 * diameter && !folded) continue;
      }
      if (segment_distance(a.from, a.to, b.from, b.to) < reach)
        return Overlap{a.thread, b.thread, a.point, b.point, a.needle, b.needle};
    }
  return std::nullopt;
}

}  // namespace ligature::config
