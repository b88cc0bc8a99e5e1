#pragma once
/// Threads as contact between them sees them: polylines with a radius.
#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ligature::contact {

using Eigen::Vector3d;

/// Stands for strand_b of a contact whose other side is no strand (a rigid obstacle).
inline constexpr std::uint32_t kNoStrand = 0xffffffffu;

/// A thread's vertices, where they are now. Edge i joins vertex i to i+1, of a closed strand the last one to the first.
struct Strand {
  const Vector3d* x = nullptr;  ///< p_WV_W [mm]                                              (vertices)
  std::size_t vertices = 0;
  bool closed = false;
  double radius = 0;       ///< h, where it changes the largest [mm]
  double rest_length = 0;  ///< of an edge, of the finest where `node` is given [mm]
  /// What a cut left: strands with one number were one thread. Its edges were counted from `first_edge` on, all the way
  /// round a ring of `ring_edges` (0: an open thread).
  std::uint32_t thread = 0xffffffffu;
  std::uint32_t first_edge = 0, ring_edges = 0;
  /// Where edges are of different lengths: rest arc of every vertex in units of rest_length, of a closed strand with
  /// that of the first vertex once more, a whole round on                                     (edges + 1); or null
  const double* node = nullptr;
  bool turns = false;          ///< friction turns it about its centreline: the angles of its edges are unknowns
  std::uint32_t division = 0;  ///< another one whenever edges came or went: what was kept by edge means others now

  const double* radii = nullptr;  ///< at the vertices, linear between; null: `radius` everywhere [mm]  (vertices)
  double thinnest = 0;            ///< of `radii` the smallest [mm]
  /// A vertex that is a needle's point: what deforms it does not slide along, it catches
  std::uint32_t point = 0xffffffffu;

  std::size_t edges() const { return closed ? vertices : vertices - 1; }
  std::size_t next(std::size_t vertex) const { return vertex + 1 == vertices ? 0 : vertex + 1; }
  /// At s in [0, 1] along an edge [mm].
  double radius_at(std::size_t edge, double s) const {
    return radii ? (1 - s) * radii[edge] + s * radii[next(edge)] : radius;
  }
  double radius_of(std::size_t vertex) const { return radii ? radii[vertex] : radius; }
  /// The largest along an edge [mm].
  double thickest(std::size_t edge) const {
    return radii ? (radii[edge] < radii[next(edge)] ? radii[next(edge)] : radii[edge]) : radius;
  }
  double least_radius() const { return radii ? thinnest : radius; }
  /// The largest that its surface may have where arc neighbours of an edge count as one bend, pi radii on either side.
  double radius_near(std::size_t edge) const {
    if (!radii) return radius;
    const auto reach = static_cast<std::size_t>(3.2 * radius / rest_length) + 1;
    double most = 0;
    for (std::size_t i = edge > reach ? edge - reach : 0; i < vertices && i <= edge + 1 + reach; ++i)
      if (most < radii[i]) most = radii[i];
    return most;
  }
  /// Rest length of an edge [mm].
  double length_of(std::size_t edge) const { return node ? (node[edge + 1] - node[edge]) * rest_length : rest_length; }
  /// Rest length from the first vertex to the place u, in edges from there [mm].
  double arc_at(double u) const {
    if (!node) return u * rest_length;
    const std::size_t last = edges() - 1;
    const std::size_t edge = u < static_cast<double>(last) ? static_cast<std::size_t>(u) : last;
    return (node[edge] + (u - static_cast<double>(edge)) * (node[edge + 1] - node[edge])) * rest_length;
  }
  /// The other way round: the place that is so far from the first vertex; beyond an end as if its last edge went on.
  double place_at(double arc) const {
    if (!node) return arc / rest_length;
    const double* const last = node + edges() - 1;
    const double* const edge = std::clamp(std::upper_bound(node, last + 1, arc / rest_length) - 1, node, last);
    return static_cast<double>(edge - node) + (arc / rest_length - edge[0]) / (edge[1] - edge[0]);
  }
  /// From the end of `edge` to the beginning of `other`, a later one, in rest lengths [mm].
  double arc_between(std::size_t edge, std::size_t other) const {
    return (node ? node[other] - node[edge + 1] : static_cast<double>(other - edge) - 1) * rest_length;
  }
  /// Likewise from the end of `other` round a closed strand to the beginning of `edge`.
  double arc_round(std::size_t edge, std::size_t other) const {
    if (node) return (node[vertices] - node[other + 1] + node[edge]) * rest_length;
    return (static_cast<double>(vertices) - static_cast<double>(other - edge) - 1) * rest_length;
  }
};

/// Where an edge of before went when its strand was divided anew: the place s of it is now on edge + floor(u), at what
/// is left of u = offset + scale s.
struct EdgeMove {
  std::uint32_t edge = 0;
  double offset = 0, scale = 1;

  /// The place s of the edge becomes that of where it went.
  void take(std::uint32_t& to, double& s) const noexcept {
    const double u = offset + scale * s, over = u >= 1 && offset + scale > 1 ? 1 : 0;
    to = edge + static_cast<std::uint32_t>(over);
    s = u - over;
  }
};

/// From edge to edge along the thread that both strands were cut from: 1 where they shared a vertex. Very many where
/// they were never one.
inline std::size_t edges_along(const Strand& a, std::size_t edge_a, const Strand& b, std::size_t edge_b) noexcept {
  if (a.thread == 0xffffffffu || a.thread != b.thread) return static_cast<std::size_t>(-1);
  const std::size_t i = a.first_edge + edge_a, j = b.first_edge + edge_b, apart = i < j ? j - i : i - j;
  if (a.ring_edges == 0) return apart;
  const std::size_t round = apart % a.ring_edges;
  return round < a.ring_edges - round ? round : a.ring_edges - round;
}

/// Two edges, (strand_a, edge_a) < (strand_b, edge_b) in lexicographic order.
struct EdgePair {
  std::uint32_t strand_a = 0, edge_a = 0, strand_b = 0, edge_b = 0;
  friend auto operator<=>(const EdgePair&, const EdgePair&) = default;
};

/// A place on a soft body's surface: on a triangle, by the weights of its corners.
struct SurfacePlace {
  std::uint32_t triangle = 0;
  Vector3d weight{0, 0, 0};  ///< sum 1
};

/// A place where two strands touch or may touch in this step, on their smooth centrelines (smooth_curve.hpp).
struct StrandContact {
  /// beside: a vertex of a, which stays, and the place of b nearest to it. crossing: the places nearest to each other.
  /// slope: no contact, but how the direction of strand a at the place of one turns (Coupling). stop: its place is on
  /// the polyline of a, where a guard stopped it (stops.hpp).
  enum class Kind : std::uint8_t { beside, crossing, slope, stop };
  EdgePair pair;          ///< where the two places are: of one strand, b is before a only in a ring, and of a strut
  double sa = 0, sb = 0;  ///< along their edges, in [0, 1]
  Kind kind = Kind::crossing;
  Vector3d normal{0, 0, 1};  ///< unit, from b to a, keeps its side while the pair stays near              W
  /// normal . (p_a - p_b) - (radius_a + radius_b); at the end of a passage as mesh_contacts.hpp says [mm]
  double gap = 0;
  /// How much nearer the strands come within half an edge of a vertex (beside), to second order [mm, at most 0].
  double dip = 0;
  Vector3d force{0, 0, 0};  ///< on a; on b the opposite; of the step before when it was found   W [uN]
  bool sliding = false;     ///< at the end of the step
  SurfacePlace on;          ///< of contact with a soft body: where on it
  double most_cut = 0;      ///< with a rigid body, no mesh: what its corner may be cut by (smooth_curve.hpp) [mm]
  double held = -1;         ///< beside: parameter of the place on b where the step or the contact began; -1: not yet
  double glide_a = 0, glide_b = 0;  ///< between strands: CurvePlaces::glide_a of a crossing, glide_b [1/mm]
};

}  // namespace ligature::contact
