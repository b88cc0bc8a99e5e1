#pragma once
/// Where tools touch bodies that deform, with an identity, a normal and a force that persist.
///
/// A tool is a round cone, convex and smooth, and the surface a triangle mesh: what must stay outside of the cone is
/// every vertex of the mesh, and of every edge the place that is nearest to it,
///
///   gap(p) = min over the axis of |p - a(t)| - r(t)           convex in p, its gradient the unit vector from a(t) to p
///
/// where that lies inside the edge, likewise a face under an end of the axis. Such a place keeps its feature of the
/// mesh and moves smoothly as tool and surface move; where it comes to an end of its edge it meets the vertex there,
/// which is known already. A tool that bears on several places bears on all of them at once (asked from the tool's
/// side, piece by piece, for the nearest place of the surface, two that are about as near take turns). Features whose
/// normal cones the way to the tool leaves by more than some slack are left out: the other side of the wall.
#include <cstdint>
#include <vector>

#include "sim/contact/body_contacts.hpp"
#include "sim/contact/obstacle.hpp"
#include "sim/contact/strand.hpp"

namespace ligature::contact {

/// `number` of a contact of these: what `vertex` counts.
enum class ToolFeature : std::uint32_t {
  vertex,  ///< a vertex of the mesh
  edge,    ///< 3 triangle + side, of the later of its two triangles
  face,    ///< a triangle under an end of the axis
};

class ToolContacts {
 public:
  explicit ToolContacts(std::size_t most_contacts);

  /// The contacts where tools and bodies are now, surfaces nearer than `reach`; forces are those of before, turned with
  /// their normals. @param tools straight, their spheres evenly spaced, radii linear @returns how many did not fit
  /// @pre the axes are outside of all bodies, where guards keep them: beyond a surface they meet nothing of it
  /// @rt O(triangles near), no allocation
  std::size_t find(const std::vector<Strand>& tools, const Bodies& bodies, double reach) noexcept;

  /// In ascending order of strand, body, number, vertex; behind them what Stops added.
  std::vector<BodyContact>& contacts() noexcept { return contacts_; }
  const std::vector<BodyContact>& contacts() const noexcept { return contacts_; }

 private:
  std::size_t most_ = 0;
  std::vector<BodyContact> contacts_, before_;  // (most contacts)
  std::vector<std::uint64_t> near_;             // triangles, a bit each
};

}  // namespace ligature::contact
