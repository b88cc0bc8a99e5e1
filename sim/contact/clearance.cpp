#include "sim/contact/clearance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "sim/contact/round_cone.hpp"

namespace ligature::contact {
namespace {

constexpr double kLeastDistance = 0.45;  // of the radii's sum
constexpr double kCurvesCut = 0.2;  // likewise: by which curves may be nearer than polylines, kMostCut of each radius
constexpr double kCurvesApart = 0.25;      // likewise: polylines that are farther apart than that never come as near
constexpr double kLeastShare = 0.8;        // of the distance beyond that which two centrelines have
constexpr double kNeighbourShare = 0.3;    // likewise of neighbours along a strand, which bending brings near
constexpr double kNeighboursApart = 0.02;  // of the radii's sum: folded up, they come no nearer
// Nearer than that already, they keep so much of what they have beyond the last distance: they may go on, and apart.
constexpr double kCurvesLast = 0.225, kNeighboursLast = 0.015;  // of the radii's sum
constexpr double kLastShare = 0.95;
constexpr double kMostKept = 1 - 1e-6;  // of what they have, or they could never part
constexpr double kLookedAt = 0.6;       // of the radii's sum: pairs that come no nearer stop nothing
constexpr double kLookedShare = 0.32;   // likewise of the distance of neighbours
constexpr double kLookedLeast = 0.025;  // ... but at least of the radii's sum
constexpr double kArrived = 0.02;       // of the distance above the bound that ends the advance
constexpr int kMostAdvances = 40;

double distance(const Vector3d& p0, const Vector3d& p1, const Vector3d& q0, const Vector3d& q1) {
  return closest(RoundCone{p0, p1, 0, 0}, q0, q1).distance;
}

}  // namespace

double Clearance::fraction(const Strand* strands, std::size_t count, const Vector3d* const* x1) noexcept {
  double radius = 0;
  for (std::size_t k = 0; k < count; ++k) radius = std::max(radius, strands[k].radius);
  Nearness what;
  what.reach = kLookedAt * 2 * radius;
  what.neighbour_radii = std::numbers::pi;
  what.neighbour_reach = kLookedAt * 2;
  what.neighbour_share = kLookedShare;
  what.neighbour_least = kLookedLeast * 2;
  if (!near_.find_nearer(strands, count, x1, what)) return 0;
  double whole = 1;
  for (const EdgePair& pair : near_.pairs()) {
    const Strand &a = strands[pair.strand_a], &b = strands[pair.strand_b];
    const std::size_t i = pair.edge_a, i1 = a.next(i), j = pair.edge_b, j1 = b.next(j);
    const Vector3d &a0 = a.x[i], &a1 = a.x[i1], &b0 = b.x[j], &b1 = b.x[j1];
    const Vector3d da0 = x1[pair.strand_a][i] - a0, da1 = x1[pair.strand_a][i1] - a1;
    const Vector3d db0 = x1[pair.strand_b][j] - b0, db1 = x1[pair.strand_b][j1] - b1;
    const double speed = std::sqrt(std::max(
        {(da0 - db0).squaredNorm(), (da0 - db1).squaredNorm(), (da1 - db0).squaredNorm(), (da1 - db1).squaredNorm()}));
    const double start = distance(a0, a1, b0, b1);
    const double sum = a.thickest(i) + b.thickest(j);
    const std::size_t between = edges_along(a, i, b, j);  // over a cut
    double arc = between == static_cast<std::size_t>(-1) ? std::numeric_limits<double>::infinity()
                                                         : (static_cast<double>(between) - 1) * a.rest_length;
    if (pair.strand_a == pair.strand_b) {
      arc = std::min(arc, a.arc_between(i, j));
      if (a.closed) arc = std::min(arc, a.arc_round(i, j));
    }
    const bool neighbours = arc < std::numbers::pi * a.radius;
    const double apart = neighbours ? kNeighboursApart : kCurvesApart,
                 last = neighbours ? kNeighboursLast : kCurvesLast;
    double kept = apart * sum, share = neighbours ? kNeighbourShare : kLeastShare;
    if (start <= kept) kept = last * sum, share = kLastShare;
    if (start <= kept) kept = !neighbours && start <= kCurvesCut * sum ? 0 : start;
    const double least = std::min({kLeastDistance * sum, kept + share * (start - kept), kMostKept * start});
    const double ends = kArrived * (start - least);
    double here = start, t = 0;
    for (int advance = 0; t < whole; ++advance) {
      if (here - speed * (whole - t) > least) break;  // it cannot get there any more
      if (here - least <= ends || advance == kMostAdvances) {
        whole = t;
        break;
      }
      t += (here - least) / speed;
      if (t >= whole) break;
      here = distance(a0 + t * da0, a1 + t * da1, b0 + t * db0, b1 + t * db1);
    }
  }
  return whole;
}

}  // namespace ligature::contact
