#pragma once
/// Where strands touch bodies whose surface is a mesh, rigid or deforming, with an identity, a normal and a force that
/// persist.
///
/// Contact is on the smooth centreline (smooth_curve.hpp). The surface is a triangle mesh, and of each of its features,
/// a vertex, an edge or a face, it is the place where the curve comes nearest to it,
///
///   distance(c(u), feature) least in u, the way to it in the feature's normal cone
///
/// as long as that lies inside the feature: where it comes to the end of an edge or the side of a face, the vertex or
/// edge there has it already. So a place moves smoothly as strand and surface move, and a strand that bears on several
/// features bears on all of them at once. (Asked piece by piece of the strand for the nearest place of the surface, two
/// that are about as near take turns.) Slack of the normal cones: as for tools (tool_contacts.hpp).
/// Along a face the place is drawn to the middle of each piece, as with rigid bodies (body_contacts.hpp): between its
/// rounded corners a thread is straight, and what lies on a flat wall is held level by a place on either side instead
/// of by one that leaps from end to end. What is given away is at most kFaceHold/32 of the radius.
///
/// The curve may run nearer to the surface than the polyline does, or inside it, and the guards look at polylines: what
/// stops a move has to be what is pushed off. So of a piece longer than wide, half an edge on either side of a vertex,
/// the polyline's nearest place is one more, where that is deeper than all these say.
///
/// A rigid surface may be much finer than the thread: of a piece's features those are left out that say no more than
/// the tangent plane of one that is kept, within kSaid of the radius.
///
/// A piece whose middle has come inside, and its polyline with it, is let out by the nearest way.
///
/// Where a passage through a hole begins, or a strand ends, the curve has its end, and contacts of its own there. The
/// end of a passage stays with its hole as the strand runs through it: of such a place the normal n is taken across the
/// strand, t its tangent,
///
///   normal (n - (n . t) t) / c,   gap (distance - radius) / c,   c = |n - (n . t) t|
///
/// which is the derivative of the distance for a place that does not go along; along n a strand that leans away from
/// the wall there would be pushed along itself, without friction. None is where c is below kLeastAcross, what runs
/// straight at the wall; a depth that is told of such a place is across the strand, too. Beside a hole polylines have
/// no contact: they would take turns with these.
#include <cstdint>
#include <vector>

#include "sim/base/hash.hpp"
#include "sim/contact/body_contacts.hpp"
#include "sim/contact/obstacle.hpp"
#include "sim/contact/rings.hpp"
#include "sim/contact/strand.hpp"

namespace ligature::contact {

/// `number` of a contact of these: what `feature` counts.
enum class StrandFeature : std::uint32_t {
  vertex,    ///< a vertex of the mesh
  edge,      ///< 3 triangle + side, of the later of its two triangles
  face,      ///< a triangle
  polyline,  ///< a vertex of the strand: the nearest place of the polyline about it
  inside,    ///< likewise: the middle of the curve about it, inside the body, and the nearest way out
};

class MeshContacts {
 public:
  explicit MeshContacts(std::size_t most_contacts);

  /// What there is now is what the next step begins with.
  void remember() noexcept;
  /// Goes back to what was remembered.
  void begin() noexcept { contacts_ = known_; }
  void clear() noexcept { known_.clear(), contacts_.clear(); }

  /// Of a strand that was cut at this vertex all from it on is now the strand `piece`.
  void divide(std::uint32_t strand, std::uint32_t vertex, std::uint32_t piece) noexcept;
  /// A closed strand that was cut at this vertex is open and begins there.
  void open(std::uint32_t strand, std::uint32_t vertex, std::uint32_t edges) noexcept;
  /// A strand was divided anew: where each of its edges went. @param round how many vertices it has now if it is closed
  void regrade(std::uint32_t strand, const EdgeMove* moves, std::uint32_t round = kNoStrand) noexcept;

  /// The contacts where strands and bodies are now, surfaces nearer than `reach`; forces are those of before, turned
  /// with their normals. @returns how many did not fit. @rt O(vertices * triangles near), no allocation
  /// @param passages where strands are inside a body and touch its surface no more, or null
  /// @param moves how far each vertex is foreseen to move: beside it surfaces are looked at within that much more [mm]
  /// (strands, each vertices); or null
  std::size_t find(const Strand* strands, std::size_t count, const Bodies& bodies, double reach,
                   const std::vector<Passage>* passages = nullptr, const std::vector<double>* moves = nullptr) noexcept;

  /// In ascending order of strand, body, number, feature, place; behind them what Stops added.
  std::vector<BodyContact>& contacts() noexcept { return contacts_; }
  const std::vector<BodyContact>& contacts() const noexcept { return contacts_; }
  void add_to(StateHash& hash) const noexcept;

 private:
  void thin(const Strand& strand, std::size_t first) noexcept;
  void hand_on() noexcept;
  template <class Rename>
  void rename(std::uint32_t strand, Rename rename, std::uint32_t round = kNoStrand) noexcept;

  std::size_t most_ = 0;
  std::vector<BodyContact> known_, contacts_, before_;  // (most contacts)
  std::vector<Vector3d> places_;                        // of the curve, of those that were kept  (most contacts)
};

}  // namespace ligature::contact
