#include "sim/contact/curve_places.hpp"

#include <Eigen/Geometry>
#include <numbers>

namespace ligature::contact {
namespace {

constexpr int kMostSteps = 12;
constexpr double kMostStep = 0.5;     // edges
constexpr double kConverged = 1e-10;  // edges
constexpr double kHeldBend = 0.5;     // of the square of the tangent: below, a place is held
constexpr double kLeastBend = 0.1;    // of the square of the tangent: less of a second derivative is none

double sharpness(const CurvePoint& p, const CurvePoint& q) noexcept {
  const Vector3d w = p.p - q.p;
  const double aa = p.d1.squaredNorm(), ab = p.d1.dot(q.d1), bb = q.d1.squaredNorm();
  const double huu = aa + w.dot(p.d2), hvv = std::max(bb - w.dot(q.d2), kLeastBend * bb);
  return aa > 0 && bb > 0 ? std::sqrt(std::max(huu - ab * ab / hvv, 0.0) / aa) : 0;
}

// Half the second derivative of the squared distance from p along q's curve alone.
double bend_of(const CurvePoint& p, const CurvePoint& q) noexcept {
  return q.d1.squaredNorm() - (p.p - q.p).dot(q.d2);
}

void bends(const CurvePoint& p, const CurvePoint& q, CurvePlaces& out) noexcept {
  const double distance = (p.p - q.p).norm(), aa = p.d1.squaredNorm(), bb = q.d1.squaredNorm();
  const double of_a = bend_of(q, p), of_b = bend_of(p, q);
  out.bend_a = aa > 0 ? of_a / aa : 1;
  out.bend_b = bb > 0 ? of_b / bb : 1;
  // A place that is held glides so much less.
  out.glide_a = aa > 0 ? distance / std::max(of_a, kHeldBend * aa) : 0;
  out.glide_b = bb > 0 ? distance / std::max(of_b, kHeldBend * bb) : 0;
}

double dip(const CurvePoint& p, const CurvePoint& q, double sharp) noexcept {
  const Vector3d w = p.p - q.p;
  const double distance = w.norm();
  if (!(distance > 0)) return 0;
  const double slope = w.dot(p.d1) / distance;
  const double bend = std::max(sharp * sharp * p.d1.squaredNorm() - slope * slope, 0.0) / distance;
  const double to = std::abs(slope) < 0.5 * bend ? -slope / bend : slope > 0 ? -0.5 : 0.5;
  return std::min(slope * to + 0.5 * bend * to * to, 0.0);
}

double last_of(const Strand& s) noexcept {
  return static_cast<double>(s.vertices - 1);
}

std::size_t edge_at(const Strand& s, double u) noexcept {
  return static_cast<std::size_t>(std::clamp(std::floor(u), 0.0, static_cast<double>(s.edges() - 1)));
}

}  // namespace

ArcLimits arc_limits(const Strand& a, const Strand& b, bool same, double u, bool behind) noexcept {
  if (!same) return {};
  if (!(a.rest_length > 0)) return {1, 0};
  const double least =
      std::numbers::pi * std::max(a.radius_near(edge_at(a, u)), b.radii ? 0.0 : b.radius) / a.rest_length;
  const double round = static_cast<double>(a.vertices);
  if (behind && !a.node) return {-1e300, -least};
  if (!a.node) return {least, a.closed ? round - least : 1e300};
  // Edges of different lengths: how many parameters the arc is, from here on.
  const double* const end = a.node + a.edges() + 1;
  const double whole = std::clamp(std::floor(u), 0.0, static_cast<double>(a.edges() - 1));
  const auto edge = static_cast<std::size_t>(whole);
  const double at = a.node[edge] + (u - whole) * (a.node[edge + 1] - a.node[edge]), total = *(end - 1);
  const auto from_here = [&](double arc) {  // of a place so far ahead
    double to = at + arc, rounds = 0;
    if (a.closed && to > total) to -= total, rounds = round;
    const double* next = std::upper_bound(a.node, end, to);
    if (next == end) return 1e300;
    const double before = *(next - 1);
    return static_cast<double>(next - 1 - a.node) + (to - before) / (*next - before) + rounds - u;
  };
  if (behind) {
    if (!(at > least)) return {-1e300, -1e300};
    const double to = at - least;
    const double* const next = std::upper_bound(a.node, end, to);
    return {-1e300, static_cast<double>(next - 1 - a.node) + (to - *(next - 1)) / (*next - *(next - 1)) - u};
  }
  return {from_here(least), a.closed ? from_here(total - least) : 1e300};
}

double sharpness_at(const Strand& a, const Strand& b, double u, double v) noexcept {
  return sharpness(curve_at(a, u), curve_at(b, v));
}

bool nearest_beside(const Strand& a, const Strand& b, double u, double v, const ArcLimits& limits, double most,
                    CurvePlaces& out, const double* held) noexcept {
  const CurvePoint at = curve_at(a, u);
  double hold = 0;
  if (held) {
    const CurvePoint there = curve_at(b, *held);
    hold = std::max(0.0, kHeldBend * there.d1.squaredNorm() - std::max(bend_of(at, there), 0.0));
  }
  double low = u + limits.low, high = u + limits.high;
  if (!b.closed) low = std::max(low, 0.0), high = std::min(high, last_of(b));
  if (!(low <= high)) return false;
  const double from = v;
  v = std::clamp(v, low, high);
  CurvePoint on;
  for (int step = 0; step < kMostSteps; ++step) {
    on = curve_at(b, v);
    const Vector3d w = on.p - at.p;
    const double square = on.d1.squaredNorm(), bend = square + w.dot(on.d2);
    const double slope = w.dot(on.d1) + (hold > 0 ? hold * (v - *held) : 0.0);
    if (!(square > 0)) break;
    const double move = std::clamp(-slope / std::max(bend + hold, kLeastBend * square), -kMostStep, kMostStep);
    const double next = std::clamp(v + move, low, high);
    const bool done = std::abs(next - v) <= kConverged;
    v = next;
    if (done) break;
    if (!(std::abs(v - from) <= most)) return false;
  }
  if (!(std::abs(v - from) <= most)) return false;
  on = curve_at(b, v);
  out.u = u;
  out.v = v;
  out.apart = at.p - on.p;
  out.sharp = sharpness(at, on);
  out.sharp_b = sharpness(on, at);
  bends(at, on, out);
  out.ended = !b.closed && (v <= 0 || v >= last_of(b));
  out.bordered = v <= u + limits.low || v >= u + limits.high;
  out.dip = out.ended || out.bordered ? 0 : dip(at, on, out.sharp);
  return std::isfinite(out.apart.sum());
}

bool nearest_crossing(const Strand& a, const Strand& b, double u, double v, const ArcLimits& limits, double most,
                      CurvePlaces& out) noexcept {
  const double from_u = u, from_v = v;
  const double high_u = a.closed ? 1e300 : last_of(a), low_u = a.closed ? -1e300 : 0;
  const double high_v = b.closed ? 1e300 : last_of(b), low_v = b.closed ? -1e300 : 0;
  CurvePoint p, q;
  bool least = false;
  for (int step = 0; step < kMostSteps; ++step) {
    p = curve_at(a, u);
    q = curve_at(b, v);
    const Vector3d w = p.p - q.p;
    const double aa = p.d1.squaredNorm(), bb = q.d1.squaredNorm(), ab = p.d1.dot(q.d1);
    if (!(aa > 0 && bb > 0)) return false;
    const double gu = w.dot(p.d1), gv = -w.dot(q.d1);
    double huu = aa + w.dot(p.d2), hvv = bb - w.dot(q.d2);
    const double det = huu * hvv - ab * ab, regular = aa * bb - ab * ab;
    least = huu > 0 && hvv > 0 && det > 1e-3 * aa * bb;
    if (!(huu > kLeastBend * aa && hvv > kLeastBend * bb && det > kLeastBend * regular)) {
      huu = aa * (1 + 1e-3);
      hvv = bb * (1 + 1e-3);
    }
    const double d = huu * hvv - ab * ab;
    double du = -(hvv * gu + ab * gv) / d, dv = -(ab * gu + huu * gv) / d;
    // At an open end one of them stays.
    const bool stop_u = (u <= low_u && du < 0) || (u >= high_u && du > 0);
    const bool stop_v = (v <= low_v && dv < 0) || (v >= high_v && dv > 0);
    if (stop_u) du = 0, dv = -gv / std::max(hvv, kLeastBend * bb);
    if (stop_v) dv = 0, du = stop_u ? 0 : -gu / std::max(huu, kLeastBend * aa);
    if (stop_u && stop_v)
      least = true;
    else if (stop_u)
      least = hvv > 0;
    else if (stop_v)
      least = huu > 0;
    const double longest = std::max(std::abs(du), std::abs(dv));
    const double part = longest > kMostStep ? kMostStep / longest : 1;
    const double next_u = std::clamp(u + part * du, low_u, high_u), next_v = std::clamp(v + part * dv, low_v, high_v);
    const bool done = std::abs(next_u - u) <= kConverged && std::abs(next_v - v) <= kConverged;
    u = next_u;
    v = next_v;
    if (!(std::abs(u - from_u) <= most && std::abs(v - from_v) <= most)) return false;
    if (done) break;
    if (step + 1 == kMostSteps && longest > 1e-3) return false;
  }
  if (!least || !(v - u >= limits.low && v - u <= limits.high)) return false;
  p = curve_at(a, u);
  q = curve_at(b, v);
  out.u = u;
  out.v = v;
  out.apart = p.p - q.p;
  out.sharp = sharpness(p, q);
  out.sharp_b = sharpness(q, p);
  bends(p, q, out);
  out.bordered = false;
  out.ended = (!a.closed && (u <= low_u || u >= high_u)) || (!b.closed && (v <= low_v || v >= high_v));
  return std::isfinite(out.apart.sum());
}

}  // namespace ligature::contact
