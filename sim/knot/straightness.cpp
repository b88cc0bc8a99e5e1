#include "sim/knot/straightness.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace ligature::knot {

namespace {

constexpr double kMostLegs = 4096;  // of a stretch that is walked

double clamped(const Curve& curve, double place) {
  return std::clamp(place, 0.0, static_cast<double>(curve.size() - 1));
}

/// The stretch as a polyline of its own.
Curve cut_out(const Curve& curve, double from, double to) {
  from = clamped(curve, from), to = clamped(curve, to);
  if (from > to) std::swap(from, to);
  Curve out{point_at(curve, from)};
  for (auto i = static_cast<std::size_t>(from) + 1; static_cast<double>(i) < to; ++i) out.push_back(curve[i]);
  out.push_back(point_at(curve, to));
  return out;
}

}  // namespace

Vec3 point_at(const Curve& curve, double place) {
  place = clamped(curve, place);
  const auto i = std::min(static_cast<std::size_t>(place), curve.size() - 2);
  const double part = place - static_cast<double>(i);
  return (1 - part) * curve[i] + part * curve[i + 1];
}

double walked(const Curve& curve, double place, double distance) {
  place = clamped(curve, place);
  const double last = static_cast<double>(curve.size() - 1);
  double left = std::abs(distance);
  while (left > 0 && (distance > 0 ? place < last : place > 0)) {
    const double next = distance > 0 ? std::floor(place) + 1 : std::ceil(place) - 1;
    const double piece = norm(point_at(curve, next) - point_at(curve, place));
    if (piece > left) return place + (next - place) * left / piece;
    left -= piece;
    place = next;
  }
  return place;
}

double straightness(const Curve& curve, double from, double to, double step) {
  const Curve stretch = cut_out(curve, from, to);
  double whole = 0;
  for (std::size_t i = 0; i + 1 < stretch.size(); ++i) whole += norm(stretch[i + 1] - stretch[i]);
  step = std::max(step, whole / kMostLegs);
  if (!(step > 0)) return 1.0;  // a single place
  Vec3 leg = stretch.front(), p = leg;
  double length = 0;
  for (const Vec3 q : stretch) {
    // p is nearer to the standing leg than a step: where on the way to q does the other leg come down?
    while (norm(q - leg) >= step) {
      const Vec3 d = q - p, w = p - leg;
      const double a = dot(d, d), b = dot(w, d), c = dot(w, w) - step * step;
      leg = p + std::clamp((std::sqrt(std::max(0.0, b * b - a * c)) - b) / a, 0.0, 1.0) * d;
      p = leg;
      length += step;
    }
    p = q;
  }
  length += norm(stretch.back() - leg);
  return length > 0 ? norm(stretch.back() - stretch.front()) / length : 1.0;
}

double nearest_place(const Curve& curve, double from, double to, Vec3 point) {
  from = clamped(curve, from), to = clamped(curve, to);
  if (from > to) std::swap(from, to);
  double best = std::numeric_limits<double>::infinity(), found = from, low = from;
  Vec3 start = point_at(curve, from);
  for (auto i = static_cast<std::size_t>(from) + 1; low < to; ++i) {
    const double high = std::min(to, static_cast<double>(i));
    const Vec3 end = high < to ? curve[i] : point_at(curve, to), d = end - start, w = point - start;
    const double a = dot(d, d), t = a > 0 ? std::clamp(dot(w, d) / a, 0.0, 1.0) : 0.0;
    const Vec3 off = w - t * d;
    if (dot(off, off) < best) best = dot(off, off), found = low + t * (high - low);
    low = high;
    start = end;
  }
  return found;
}

}  // namespace ligature::knot
