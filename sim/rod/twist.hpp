#pragma once
/// Frames and twist of one thread.
///
/// Reference directors u are carried along in time by parallel transport of each edge's tangent [Bergou 2010]; theta is
/// the angle of the material frame against u. At a vertex, between edges i-1 and i,
///
///   m_i = theta_i - theta_(i-1) + r_i      r_i: angle from u_(i-1), transported to edge i, to u_i
///
/// is the twist angle of the joint. r is followed continuously, so turns beyond 2 pi count. A held frame stands at a
/// vertex, between its two edges, and splits the joint there into two halves:
///
///   edge i-1          vertex i          edge i
///   o-----------o   [ t, d held ]   o-----------o
///                 half          half                 each with half the rest length of a joint
///
/// At the ends of an open thread there is a joint only where a frame is held, of one half.
///
/// Quasi-static twist (thesis 4.1.3, [Bergou 2008] section 5.1: a twist wave runs 0.9 m in a millisecond): between
/// consecutive holders (held edges, held frames) lies a span, along which twist is spread evenly, m = angle (joint
/// length)/(span length). A free end lets go of its twist. A closed thread that nobody holds is one span, round the
/// ring.
#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/base/hash.hpp"
#include "sim/rod/energy.hpp"

namespace ligature::rod {

/// Between two holders of the frame. Joints are counted in halves: half h of vertex v is 2 v + h, h = 0 before the
/// vertex and 1 behind it; an ordinary joint is both halves of its vertex.
struct TwistSpan {
  std::size_t first = 0, last = 0;  ///< halves, both in the span; of a closed thread last may lie beyond 2 n (wraps)
  double angle = 0;                 ///< total twist [rad]
  double length = 0;                ///< rest length of its joints [mm]
};

class Twist {
 public:
  /// Reference frames along these vertices, transported in space from the first edge; no frame held, no twist.
  /// x: (n), n >= 2, closed: n >= 3 (edge n-1 joins the last vertex to the first). @param most_held frames at vertices
  Twist(const std::vector<Vector3d>& x, bool closed, std::size_t most_held);

  std::size_t vertices() const noexcept { return n_; }
  std::size_t edges() const noexcept { return closed_ ? n_ : n_ - 1; }
  bool closed() const noexcept { return closed_; }
  std::size_t most_held() const noexcept { return frames_.size(); }

  /// Forgets all twist and all holds. @rt O(n), no allocation
  void restart(const std::vector<Vector3d>& x) noexcept;
  /// Becomes `from` with its frames carried to the vertices x; follows the turns. Holds stay. `from` may be *this; a
  /// solver tries several x from the same start, so that the result does not depend on the tries between.
  /// Turns are followed for vertices that move along straight lines, however far, and joints that turn by any angle:
  /// link (writhe.hpp) changes where something passes through something, and nowhere else.
  /// @pre made with the same n, closed and most_held  @rt O(n), no allocation
  void carry(const Twist& from, const std::vector<Vector3d>& x) noexcept;
  /// Twists by so many turns more, evenly along the rest length: 1/edges of them at each joint. Of a closed thread that
  /// is all of them (what does not close is kept as an angle of the seam before edge 0); an open one has half a joint
  /// at each end only once a frame is held there, which then takes its share. An open thread that stays free at an end
  /// lets go of it at the first spread(). @pre nothing held
  void insert(double turns) noexcept;

  /// Becomes the piece of `from` that begins at this vertex, of as many vertices as this thread has: frames, twist and
  /// holds as they are there (a ring's piece may go once round it, back to where it begins). A frame held where the
  /// piece was cut off goes to the piece before the cut. Finds no spans.
  /// @pre open, with room for all held frames of the piece  @rt O(n), no allocation
  void take_piece(const Twist& from, std::size_t first_vertex) noexcept;
  /// Has this many vertices, two or more; what there is of them means nothing before take_piece().
  /// @rt no allocation within those that it was made or reserved for
  void shrink(std::size_t n) noexcept { resize(n); }

  // ---- holds. A holder keeps the material frame of an edge, or of a vertex together with the tangent there.
  void hold_edge(std::size_t edge) noexcept;
  /// Turns a held edge so that its d1 is this (made normal to the edge); the turn nearest to what it was.
  void set_edge_director(std::size_t edge, const Vector3d& d1) noexcept;
  void release_edge(std::size_t edge) noexcept;
  bool edge_held(std::size_t edge) const noexcept;
  /// Holds tangent and material frame at this vertex as they are: the tangent by half the turning of the nearest joint
  /// (ends) or midway between both edges, the director such that twist stays as spread as it is.
  /// False when most_held frames are held already.
  bool hold_frame(std::size_t vertex) noexcept;
  /// Moves a held frame to this tangent and director; turns are followed. @pre frame_held(vertex)
  void set_frame(std::size_t vertex, const Vector3d& tangent, const Vector3d& director) noexcept;
  void release_frame(std::size_t vertex) noexcept;
  bool frame_held(std::size_t vertex) const noexcept { return slot_[vertex] >= 0; }
  const Vector3d& frame_tangent(std::size_t vertex) const noexcept;
  const Vector3d& frame_director(std::size_t vertex) const noexcept;
  bool any_held() const noexcept;

  /// Edges of different lengths: rest arcs of vertices as in RodModel::node, so many as edges and one; none: of one
  /// length. @rt O(n), no allocation within the memory of the largest `node` so far
  void set_nodes(const std::vector<double>& node) noexcept;

  // ---- the thread divided anew. Joints that are left have the twist they had, and so has the whole.
  /// Takes memory for threads of up to so many vertices. Not for real-time code.
  void reserve(std::size_t most_vertices);
  /// Vertices join in the middle of edges, on the straight: `old_vertex` of every vertex what it was, or new_vertex.
  /// @param old_vertex (n), ascending, no two that join side by side
  /// @pre n within the memory reserved; an edge that is held is not divided. Finds no spans. @rt O(n), no allocation
  void divide(const std::uint32_t* old_vertex, std::size_t n) noexcept;
  /// Vertices go whose two edges have one tangent: `old_vertex` of every vertex that stays what it was.
  /// @pre all that go may_go(), of an open thread not the last. @rt as divide()
  void join(const std::uint32_t* old_vertex, std::size_t n) noexcept;
  /// False where a frame, or an edge on either side, is held, and at the first vertex.
  bool may_go(std::size_t vertex) const noexcept;
  static constexpr std::uint32_t new_vertex = 0xffffffffu;

  // ---- quasi-static
  /// Finds the spans and their angles from frames and holds. O(n), no allocation.
  void find_spans(double rest_length) noexcept;
  std::size_t span_count() const noexcept { return span_count_; }
  const TwistSpan& span(std::size_t s) const noexcept { return spans_[s]; }
  /// Span of a half (0 .. 2 n - 1), span_count() when it lies in none. Both halves of a joint that is not split lie in
  /// the same span.
  std::size_t span_of(std::size_t half) const noexcept {
    return span_of_[half] < 0 ? span_count_ : std::size_t(span_of_[half]);
  }
  /// Spreads the angles over the spans (theta of every edge); free ends without twist. After find_spans().
  void spread() noexcept;

  // ---- frames as unknowns
  double theta(std::size_t edge) const noexcept { return theta_[edge]; }
  void set_theta(std::size_t edge, double angle) noexcept { theta_[edge] = angle; }

  // ---- what is there now
  const Vector3d& tangent(std::size_t edge) const noexcept { return tangent_[edge]; }
  Directors material(std::size_t edge) const noexcept;
  Directors frame_material(std::size_t vertex) const noexcept;  ///< @pre frame_held(vertex)
  /// Twist of the half before (0) or behind (1) a vertex whose frame is held [rad]; 0 where there is no edge.
  double half_joint(std::size_t vertex, int half) const noexcept;
  /// Twist of the joint at a vertex, both halves together [rad]; 0 at a free end.
  double joint(std::size_t vertex) const noexcept;
  /// Twist from the edge before a vertex straight to the edge behind, whatever frame is held between; 0 at an end. The
  /// same as joint() where no frame is held or where it lies midway.
  double edge_to_edge(std::size_t vertex) const noexcept;
  /// Sum of all joints / 2 pi.
  double turns() const noexcept;
  void add_to(StateHash& hash) const noexcept;

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  std::size_t edge_before(std::size_t vertex) const noexcept;
  std::size_t edge_behind(std::size_t vertex) const noexcept;
  double seam(std::size_t vertex) const noexcept { return vertex == seam_vertex_ ? seam_ : 0.0; }
  double reference_angle(std::size_t vertex) const noexcept;
  double half_reference_angle(std::size_t vertex, int half) const noexcept;
  double neighbour_twist(std::size_t vertex) const noexcept;
  double half_units(std::size_t vertex, int half) const noexcept;
  double share_before(std::size_t vertex, bool before) const noexcept;
  void resize(std::size_t n) noexcept;

  std::size_t n_ = 0;
  bool closed_ = false;
  std::vector<Vector3d> tangent_;   ///< of each edge                                        (edges)
  std::vector<double> length_;      ///< of each edge                                        (edges) [mm]
  std::vector<Vector3d> director_;  ///< reference director u of each edge                   (edges)
  std::vector<double> reference_;   ///< r of each joint, edge to edge, turns followed           (n)     [rad]
  std::vector<double> theta_;       ///< material angle against u                            (edges) [rad]
  double seam_ = 0;                 ///< of a closed thread or its piece: added to the joint at ...  [rad]
  std::size_t seam_vertex_ = 0;     ///< ... this vertex, the first of the closed thread

  struct Frame {
    std::size_t vertex = none;  ///< none: free slot
    Vector3d tangent = Vector3d::UnitX(), director = Vector3d::UnitY();
    double reference[2] = {0, 0};  ///< r from the edge before to the frame, from the frame to the edge behind [rad]
  };
  std::vector<Frame> frames_;             ///<                                                (most_held)
  std::vector<int> slot_;                 ///< of the held frame of a vertex, or -1           (n)
  std::vector<unsigned char> edge_held_;  ///<                                                (edges)
  std::size_t held_ = 0;                  ///< edges and frames

  std::vector<double> node_;  ///< as in set_nodes()                                          (edges + 1, or none)

  std::vector<TwistSpan> spans_;  ///< the first span_count_                                  (edges + most_held + 1)
  std::vector<int> span_of_;      ///< of each half, or -1                                    (2 n)
  std::size_t span_count_ = 0;
};

/// Parallel transport of v from unit tangent a to unit tangent b: the smallest rotation that takes a to b.
Vector3d parallel_transport(const Vector3d& v, const Vector3d& a, const Vector3d& b) noexcept;

/// Area of the spherical triangle of three unit vectors, counterclockwise from outside positive, in (-2 pi, 2 pi).
double spherical_area(const Vector3d& a, const Vector3d& b, const Vector3d& c) noexcept;

}  // namespace ligature::rod
