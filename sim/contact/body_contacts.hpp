#pragma once
/// Where strands touch rigid bodies with a curved surface, with an identity, a normal and a force that persist.
///
/// Contact is on the smooth centreline (smooth_curve.hpp): every vertex has half an edge of it on either side, and one
/// contact where that piece is nearest to the body,
///
///   u = i + d,  |d| <= 1/2,   distance(u) + hold/2 d^2 least                                   (d in edges)
///
/// so that a sharp body (a wire) is met where it is, while a thread that lies along a body, where all places are
/// equally near, keeps its contacts evenly at its vertices. Round a circle of radius R in edges that turn by x all are
/// not: the curve's distance from the middle is R x^4/128 more at vertices than at edges. So the hold is kPlaceHold of
/// the strand's radius and kBumpHold of R x^4, kMostHold of the radius at most; what is given away by it is a 32nd of
/// it.
///
/// All is said of one moment of the step: bodies are as far on their way as the strands (Bodies::at). The normal is the
/// gradient of the distance; a place that has come inside the solid keeps the normal that it had, but of a cone takes
/// that of its polyline, where this is still outside and has turned away from it.
/// Left out are planes, where neither the normal nor the places of contact change, and forces stay in the thread's band
/// (constraint.hpp); and meshes, which have a contact of every feature (mesh_contacts.hpp).
#include <vector>

#include "sim/contact/obstacle.hpp"
#include "sim/contact/strand.hpp"
#include "sim/contact/tolerances.hpp"

namespace ligature::contact {

/// Identity: strand, body, vertex; with a mesh strand, body, number, feature (mesh_contacts.hpp).
struct BodyContact {
  /// pair = {strand, edge, kNoStrand, body}; normal from the body to the strand, force on the strand
  StrandContact contact;
  std::uint32_t vertex = 0;   ///< whose half edges it is on
  std::uint32_t number = 0;   ///< of a mesh: what kind of feature it belongs to, ...
  std::uint32_t feature = 0;  ///< ... and which
  /// How much the slope n . dc/du changes along the curve where the contact is; the place moves by minus what the slope
  /// changes over this. 0: it stays [mm / edge^2]
  double bend = 0;
  double hold = 0;  ///< of a body: what of that draws the place to its vertex [mm / edge^2]
};

/// A contact's force, turned with its normal; none where that has changed its side.
inline Vector3d turned(const Vector3d& force, const Vector3d& from, const Vector3d& to) noexcept {
  if (from.dot(to) < kSameSide) return Vector3d::Zero();
  const double along = from.dot(force);
  const Vector3d across = force - along * from;
  return along * to + (across - to.dot(across) * to);
}

class BodyContacts {
 public:
  explicit BodyContacts(std::size_t most_contacts);

  /// What was known when the step began: cleared by the caller, then filled in ascending order of strand, body, vertex.
  /// Only identity, normal and force are read.
  std::vector<BodyContact>& known() noexcept { return known_; }
  /// Goes back to what was known when the step began.
  void begin() noexcept { contacts_ = known_; }
  /// The contacts where strands and bodies are now, surfaces nearer than `reach`; forces are those of before, turned
  /// with their normals. Meshes are left to MeshContacts. @returns how many did not fit.
  /// @rt O(vertices * bodies), no allocation
  std::size_t find(const Strand* strands, std::size_t count, const Bodies& bodies, double reach) noexcept;

  /// In ascending order of strand, body, vertex.
  std::vector<BodyContact>& contacts() noexcept { return contacts_; }
  const std::vector<BodyContact>& contacts() const noexcept { return contacts_; }

 private:
  std::size_t most_ = 0;
  std::vector<BodyContact> known_, contacts_, before_;  // (most contacts)
};

}  // namespace ligature::contact
