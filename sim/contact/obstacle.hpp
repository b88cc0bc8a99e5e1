#pragma once
/// Rigid bodies that threads touch: where their surface is and how it moves in a step: without turning, but for a cone,
/// whose two ends go straight where they go. Which places of a thread touch it: body_contacts.hpp.
/// All is said of the body at the end of the step, but where it says otherwise.
#include <Eigen/Core>
#include <algorithm>
#include <memory>
#include <vector>

#include "sim/base/hash.hpp"
#include "sim/contact/mesh.hpp"

namespace ligature::contact {

class Obstacle {
 public:
  enum class Shape : std::uint8_t { plane, sphere, cylinder, capsule, mesh, cone };

  /// The half space below is solid. @param normal of any length but zero
  static Obstacle plane(const Vector3d& point, const Vector3d& normal);
  static Obstacle sphere(const Vector3d& centre, double radius);
  /// Solid, with flat ends. @pre from != to
  static Obstacle cylinder(const Vector3d& from, const Vector3d& to, double radius);
  static Obstacle capsule(const Vector3d& from, const Vector3d& to, double radius);
  static Obstacle mesh(TriangleMesh mesh);
  /// Round cone: spheres along an axis, their radius changes evenly from one end to the other. It is not there until
  /// move_ends(). @pre |radius_to - radius_from| is less than the axis is long
  static Obstacle cone(double radius_from, double radius_to);
  /// The surface of a body that deforms: what deforms it owns the mesh. It does not move() on its own.
  static Obstacle soft(const TriangleMesh& surface);

  Shape shape() const noexcept { return shape_; }
  /// Of a mesh, as it was before it moved, else null. One that deforms may have done so since: SoftBody::surface().
  const TriangleMesh* surface() const noexcept { return mesh_; }

  /// Its surface in triangles, where it was before it moved: of a plane that of a box below it, which reaches 1 m from
  /// the place `near`; of what is round facets that touch it from outside, by 5 um or 0.5 % of its radius, whichever is
  /// less, and twice that at corners of a sphere; 400 a turn at most, for radii up to 160 mm. @pre no cone. Errors:
  /// usage, beyond what a mesh may be
  Result<TriangleMesh> in_facets(const Vector3d& near) const;

  /// Begins a step: by how far it moves in this one.
  void move(const Vector3d& by) noexcept { moved_ = by, shift_ += by; }
  /// Takes back all but a fraction of the step's motion.
  void shorten(double fraction) noexcept {
    shift_ -= (1 - fraction) * moved_;
    moved_ *= fraction;
  }
  const Vector3d& moved() const noexcept { return moved_; }
  /// A cone's ends go straight from where they were to where they are at the end of the step.
  void move_ends(const Vector3d& from0, const Vector3d& to0, const Vector3d& from1, const Vector3d& to1) noexcept;
  void leave() noexcept { there_ = false; }
  bool there() const noexcept { return there_; }
  /// How far a cone stands aside of all that, and how much further it will by the end of the next move [mm].
  void stand_aside(const Vector3d& by, const Vector3d& next) noexcept { shift_ = by, giving_ = next; }
  const Vector3d& giving() const noexcept { return giving_; }
  /// Of a cone, the sphere that comes nearest to p after the fraction `at` of the step.
  struct Sphere {
    Vector3d centre{0, 0, 0};
    double radius = 0;
  };
  Sphere nearest_sphere(const Vector3d& p, double at) const noexcept;
  /// Motion in the step of the body's place that is at p after the fraction `at` of it; of a cone that of the place of
  /// its axis: it does not spin.
  Vector3d moved(const Vector3d& p, double at) const noexcept;
  double travel() const noexcept;  ///< the furthest that a place of it moves in the step [mm]
  /// The most that a place of an edge can come nearer to a place of it, while the edge's ends p and q move by d and e
  /// and the body, so far on its way, makes this part of the step. Of a cone, whose far end may swing much further,
  /// those places are left out that stay further than `near` from the edge.
  double most_against(const Vector3d& p, const Vector3d& d, const Vector3d& q, const Vector3d& e, double at,
                      double part, double near) const noexcept;
  const Vector3d& shift() const noexcept { return shift_; }  ///< since the beginning
  /// Likewise when it has made the fraction `at` of the step's motion. @pre it does not turn
  Vector3d shift(double at) const noexcept { return shift_ - (1 - at) * moved_; }

  /// Of a plane: the unit normal, and normal . x of its surface.
  const Vector3d& normal() const noexcept { return normal_; }
  double offset() const noexcept { return offset_ + normal_.dot(shift_); }

  struct Surface {
    double distance = 0;         ///< of the point or segment; of a point signed, positive outside [mm]
    Vector3d point{0, 0, 0};     ///< on the surface  W [mm]
    Vector3d normal{0, 0, 1};    ///< unit, out of the solid: gradient of the distance  W
    double s = 0;                ///< of a segment: the place on it, [0, 1]
    std::uint32_t triangle = 0;  ///< of a mesh: one that the point is on
  };
  /// Of a mesh only within this distance is it certain; beyond, the distance is at least `within`. @rt no allocation
  /// @param at fraction of the step's motion that it has made
  Surface nearest(const Vector3d& p, double within = 1e9, double at = 1) const noexcept;
  /// The place of the segment p..q that is nearest. Its distance is signed too, but of a mesh.
  Surface nearest(const Vector3d& p, const Vector3d& q, double within = 1e9, double at = 1) const noexcept;
  /// Negative inside: a centreline there has passed through the surface.
  double signed_distance(const Vector3d& p) const noexcept { return nearest(p).distance; }

  /// Half of how thick it is where it is thinnest, as far as that is known [mm]; of a mesh 0.
  double half_thickness() const noexcept { return std::min(radius_, radius_to_); }

  /// A lower bound of the distance of all points of a box from the body on its way through the step.
  double box_distance(const Vector3d& low, const Vector3d& high) const noexcept;

  void add_to(StateHash& hash) const noexcept;

 private:
  Surface local(const Vector3d& p, double within) const noexcept;
  Surface local(const Vector3d& p, const Vector3d& q, double within) const noexcept;
  Sphere own_sphere(const Vector3d& p, double at) const noexcept;
  Surface of_cone(const Vector3d& p, double at) const noexcept;
  Surface of_cone(const Vector3d& p, const Vector3d& q, double at) const noexcept;

  Shape shape_ = Shape::plane;
  Vector3d normal_{0, 0, 1};
  double offset_ = 0;
  Vector3d a_{0, 0, 0}, b_{0, 0, 0};  // centre; ends of the axis
  Vector3d axis_{0, 0, 1};            // unit
  double length_ = 0, radius_ = 0, radius_to_ = 1e9;
  Vector3d low_{0, 0, 0}, high_{0, 0, 0};  // of its box
  std::shared_ptr<const TriangleMesh> own_mesh_;
  const TriangleMesh* mesh_ = nullptr;
  Vector3d shift_{0, 0, 0};   // since the start
  Vector3d moved_{0, 0, 0};   // in this step
  Vector3d turned_{0, 0, 0};  // of a cone: how much further its second end moves
  Vector3d giving_{0, 0, 0};
  bool there_ = true;
};

class RigidSurface;
class SoftBody;
struct Passage;

/// The bodies of a scene, at one moment of the step.
struct Bodies {
  const Obstacle* const* body = nullptr;  ///< (count)
  std::size_t count = 0;
  double at = 0;  ///< fraction of this step's motion that they have made; soft ones are where they are
  /// Those that deform, null for the others; null: none does. Their obstacle is Obstacle::soft(surface()).     (count)
  SoftBody* const* soft = nullptr;
  /// What tissue meets of those that are rigid, null for others and where nothing is soft; or null.            (count)
  RigidSurface* const* rigid = nullptr;
  std::size_t tools = static_cast<std::size_t>(-1);  ///< from this one on they are tools' (tools.hpp), in their order
  const std::vector<Passage>* spared = nullptr;      ///< stretches of strands that a body holds, and does not touch

  SoftBody* soft_of(std::size_t b) const noexcept { return soft ? soft[b] : nullptr; }
  RigidSurface* rigid_of(std::size_t b) const noexcept { return rigid ? rigid[b] : nullptr; }
};

}  // namespace ligature::contact
