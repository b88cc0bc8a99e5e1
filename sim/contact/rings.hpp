#pragma once
/// Holes in soft bodies that strands run through: a suture's channel has one where it enters the wall and one where it
/// leaves it.
///
/// A ring is a round hole about a place of the surface. The strand's centreline stays within `clearance` of it,
/// measured across the strand,
///
///   |c(u) - p| <= clearance,   c'(u) . (c(u) - p) = 0
///
/// and where it lies against the rim that is a contact like any other: normal force from the rim inwards, Coulomb
/// friction across it, so that a strand that turns by phi at a rim and slides has exp(mu phi) of tension ratio (with
/// the bending correction of a pulley without width). Vertices run through a ring in both directions; nothing is tied
/// to them.
///
/// Between the two rings of a channel, and from a single one to the strand's end, a strand is inside the wall: there it
/// has no contact with the surface (Passage). Between two rings an open strand has no room to gather either: its places
/// in them, c(u1) and c(u2), stay about as far apart as it is long,
///
///   |c(u1) - c(u2)| >= kStretched chord/length (length between)
///
/// without friction; chord/length once the channel is longer than the strand is thick: a curved needle leaves a curved
/// one. Else a hole that slides over what is thicker than itself, a knot, would lay that in the wall.
/// Differs from the thesis (3.5.2: no vertices inside, a spring through both piercing points) in that the strand goes
/// on through the wall with its stiffness, and tension on both sides differs by friction.
#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/hash.hpp"
#include "sim/contact/obstacle.hpp"
#include "sim/contact/strand.hpp"

namespace ligature::contact {

inline constexpr std::uint32_t kNoRing = 0xffffffffu;

struct Ring {
  std::uint32_t strand = 0;
  std::uint32_t body = 0;  ///< a soft one, among Bodies
  SurfacePlace on;         ///< its centre
  double radius = 0;       ///< of the hole; what the strand leaves of it is the clearance [mm]
  double u = 0;            ///< where the strand is in it, in edges from its first vertex
  std::uint32_t channel = 0;
  bool to_last = true;   ///< alone in its channel: the strand's last vertex is inside, else its first
  bool left = false;     ///< the strand's end has slid out of it
  double clearance = 0;  ///< [mm]
  double aside = 0;      ///< of the strand from the centre [mm]
  double straight = 0;   ///< of a channel's first: chord over length, once it is longer than thick; 0 before that
  bool ahead = false;    ///< nearer to the strand's first vertex than the other of its channel, however that is crushed
};

/// A stretch of a strand that has no contact with the surface of a body, in edges from its first vertex; as far as
/// `about` on either side of it is beside the hole.
struct Passage {
  std::uint32_t strand = 0, body = 0;
  double from = 0, to = 0;
  double about = 0;
};
/// Whether the stretch from..to of a strand lies, in part, in a passage through this body, or about one.
inline bool passes(const std::vector<Passage>& passages, std::uint32_t strand, std::uint32_t body, double from,
                   double to, bool about = false) noexcept {
  for (const Passage& p : passages) {
    const double more = about ? p.about : 0;
    if (p.strand == strand && p.body == body && p.from - more <= to && from <= p.to + more) return true;
  }
  return false;
}

/// The first part of the stretch from..to of a strand that lies in no passage through this body: from and to become its
/// ends. @returns whether there is any
inline bool outside(const std::vector<Passage>& passages, std::uint32_t strand, std::uint32_t body, double& from,
                    double& to) noexcept {
  for (bool moved = true; moved && from < to;) {
    moved = false;
    for (const Passage& p : passages)
      if (p.strand == strand && p.body == body && p.from <= from && from < p.to) from = p.to, moved = true;
  }
  for (const Passage& p : passages)
    if (p.strand == strand && p.body == body && from < p.from) to = std::min(to, p.from);
  return from < to;
}

class Rings {
 public:
  explicit Rings(std::size_t most);

  /// The rings, with what is known of them; the two of a channel side by side. Whoever changes the list calls renew().
  std::vector<Ring>& list() noexcept { return list_; }
  const std::vector<Ring>& list() const noexcept { return list_; }
  /// Contacts are those of the list anew, without forces.
  void renew() noexcept;
  /// One more, beside the other one of its channel if that is there; forces of the others stay. False when it is full.
  bool add(const Ring& ring) noexcept;
  /// Which of a channel's two rings is ahead, by where the strand is in them now.
  void order() noexcept;
  /// A strand has been divided anew, places move with it; passages do in the next follow().
  /// @param moves of each edge of before
  void regrade(std::uint32_t strand, std::span<const EdgeMove> moves) noexcept;
  /// Forgets the channels whose rings are all left.
  void clear_left() noexcept;

  /// Where strands are in their rings now. Forces stay as vectors: they were found for where the normals have turned
  /// to. Passages go along in every iteration: what is drawn in while they wait hooks on to the surface beside its own
  /// hole. @rt O(rings), no allocation
  void follow(const Strand* strands, const Bodies& bodies) noexcept;
  /// One a ring, in their order: pair = {strand, edge, kNoStrand, body}.
  std::vector<StrandContact>& contacts() noexcept { return contacts_; }
  const std::vector<StrandContact>& contacts() const noexcept { return contacts_; }
  /// What keeps a strand stretched between the rings of a channel: one a ring, of which the first of each two is meant
  /// and the others are far from touching. Between two places of the strand, the farther one first; the gap is between
  /// centrelines.
  std::vector<StrandContact>& struts() noexcept { return struts_; }
  const std::vector<StrandContact>& struts() const noexcept { return struts_; }
  /// How the force of a contact turns with what moves, linearised: what adds to the stiffness matrix of strand and body
  /// is `round` along axis 1 and, in (motion along axis 2; change of the curve's slope against the normal, c' . -n), a
  /// symmetric 2x2 matrix. Second derivative of |c(u) - p| times the normal force, u where it is least. [uN/mm]
  struct Stiffness {
    double round = 0;
    double along = 0, both = 0, slope = 0;
  };
  Stiffness stiffness(std::size_t ring, const Strand* strands) const noexcept;
  /// Of a contact: n, round the rim, along the strand. (columns)
  Eigen::Matrix3d axes(std::size_t ring, const Strand* strands) const noexcept;
  const std::vector<Passage>& passages() const noexcept { return passages_; }
  bool on(std::uint32_t strand) const noexcept;

  void add_to(StateHash& hash) const noexcept;

 private:
  bool other_open(std::size_t ring) const noexcept;  // of its channel
  bool paired(std::size_t ring) const noexcept;      // with the next
  void order_pair(std::size_t first) noexcept;       // ... which it is, of a channel
  void follow_strut(std::size_t first, const Strand* strands) noexcept;
  template <class Beside>
  void add_round(const Ring& one, const Ring& other, double edges, const Beside& beside, double wide,
                 double about) noexcept;

  std::vector<Ring> list_;
  std::vector<StrandContact> contacts_, struts_;
  std::vector<Passage> passages_;
};

}  // namespace ligature::contact
