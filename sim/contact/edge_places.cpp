#include "sim/contact/edge_places.hpp"

#include <algorithm>
#include <numbers>

namespace ligature::contact {

bool share_vertex(const Strand& strand, std::uint32_t edge, std::uint32_t other) noexcept {
  const std::uint32_t apart = edge < other ? other - edge : edge - other;
  return apart <= 1 || (strand.closed && apart + 1 == strand.edges());
}

bool arc_allows(const Strand& strand, std::uint32_t edge, std::uint32_t other) noexcept {
  if (edge == other || !(strand.rest_length > 0)) return false;
  const std::uint32_t first = std::min(edge, other), last = std::max(edge, other);
  const double least = std::numbers::pi * std::max(strand.radius_near(first), strand.radius_near(last));
  const double both = strand.length_of(first) + strand.length_of(last), ahead = strand.arc_between(first, last);
  if (!(ahead + both > least)) return false;
  if (!strand.closed) return true;
  const double round = strand.arc_round(first, last);
  return round + both > least && ahead + both + round >= 2 * least;
}

void nearest_of_edges(const Vector3d& p, const Vector3d& d, const Vector3d& q, const Vector3d& e, double& s,
                      double& t) noexcept {
  const Vector3d r = p - q;
  const double dd = d.squaredNorm(), ee = e.squaredNorm(), de = d.dot(e), dr = d.dot(r), er = e.dot(r);
  const double det = dd * ee - de * de;
  s = det > 1e-12 * dd * ee ? std::clamp((de * er - dr * ee) / det, 0.0, 1.0) : 0.5;
  t = ee > 0 ? std::clamp((de * s + er) / ee, 0.0, 1.0) : 0.0;
  s = dd > 0 ? std::clamp((de * t - dr) / dd, 0.0, 1.0) : 0.0;
}

double distance(const Strand& a, const Strand& b, const EdgePair& pair) noexcept {
  const Vector3d p = a.x[pair.edge_a], d = a.x[a.next(pair.edge_a)] - p;
  const Vector3d q = b.x[pair.edge_b], e = b.x[b.next(pair.edge_b)] - q;
  double s = 0, t = 0;
  nearest_of_edges(p, d, q, e, s, t);
  return (p - q + s * d - t * e).norm();
}

}  // namespace ligature::contact
