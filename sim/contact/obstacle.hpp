#pragma once
/// Rigid bodies that threads touch: where their surface is and how it moves in a step (without turning). Which places
/// of a thread touch it: body_contacts.hpp.
/// All is said of the body at the end of the step, but where it says otherwise.
#include <Eigen/Core>
#include <memory>

#include "sim/base/hash.hpp"
#include "sim/contact/mesh.hpp"

namespace ligature::contact {

inline constexpr std::size_t kMostTouches = 3;  ///< of a vertex with one mesh

class Obstacle {
 public:
  enum class Shape : std::uint8_t { plane, sphere, cylinder, capsule, mesh };

  /// The half space below is solid. @param normal of any length but zero
  static Obstacle plane(const Vector3d& point, const Vector3d& normal);
  static Obstacle sphere(const Vector3d& centre, double radius);
  /// Solid, with flat ends. @pre from != to
  static Obstacle cylinder(const Vector3d& from, const Vector3d& to, double radius);
  static Obstacle capsule(const Vector3d& from, const Vector3d& to, double radius);
  static Obstacle mesh(TriangleMesh mesh);
  /// The surface of a body that deforms: what deforms it owns the mesh. It does not move() on its own.
  static Obstacle soft(const TriangleMesh& surface);

  Shape shape() const noexcept { return shape_; }
  /// How many places of touch a vertex can have.
  std::size_t most_touches() const noexcept { return shape_ == Shape::mesh ? kMostTouches : 1; }

  /// Begins a step: by how far it moves in this one.
  void move(const Vector3d& by) noexcept { moved_ = by, shift_ += by; }
  /// Takes back all but a fraction of the step's motion.
  void shorten(double fraction) noexcept {
    shift_ -= (1 - fraction) * moved_;
    moved_ *= fraction;
  }
  const Vector3d& moved() const noexcept { return moved_; }
  const Vector3d& shift() const noexcept { return shift_; }  ///< since the beginning

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
  Surface nearest(const Vector3d& p, double within = 1e9) const noexcept;
  /// The place of the segment p..q that is nearest. Its distance is signed too, but of a mesh.
  Surface nearest(const Vector3d& p, const Vector3d& q, double within = 1e9) const noexcept;
  /// Negative inside: a centreline there has passed through the surface.
  double signed_distance(const Vector3d& p) const noexcept { return nearest(p).distance; }

  /// Of a mesh, the local minima of the distance of a point outside, the nearest first. @pre Shape::mesh
  void minima(const Vector3d& p, double within, TriangleMesh::Minima& out, std::size_t most) const noexcept;
  /// Half of how thick it is where it is thinnest, as far as that is known [mm]; of a mesh 0.
  double half_thickness() const noexcept { return radius_; }

  /// A lower bound of the distance of all points of a box from the body on its way through the step.
  double box_distance(const Vector3d& low, const Vector3d& high) const noexcept;

  void add_to(StateHash& hash) const noexcept;

 private:
  Surface local(const Vector3d& p, double within) const noexcept;
  Surface local(const Vector3d& p, const Vector3d& q, double within) const noexcept;

  Shape shape_ = Shape::plane;
  Vector3d normal_{0, 0, 1};
  double offset_ = 0;
  Vector3d a_{0, 0, 0}, b_{0, 0, 0};  // centre; ends of the axis
  Vector3d axis_{0, 0, 1};            // unit
  double length_ = 0, radius_ = 0;
  Vector3d low_{0, 0, 0}, high_{0, 0, 0};  // of its box
  std::shared_ptr<const TriangleMesh> own_mesh_;
  const TriangleMesh* mesh_ = nullptr;
  Vector3d shift_{0, 0, 0};  // since the start
  Vector3d moved_{0, 0, 0};  // in this step
};

class SoftBody;

/// The bodies of a scene, at one moment of the step.
struct Bodies {
  const Obstacle* const* body = nullptr;  ///< (count)
  std::size_t count = 0;
  double at = 0;  ///< fraction of this step's motion that they have made; soft ones are where they are
  /// Those that deform, null for the others; null: none does. Their obstacle is Obstacle::soft(surface()).     (count)
  SoftBody* const* soft = nullptr;

  SoftBody* soft_of(std::size_t b) const noexcept { return soft ? soft[b] : nullptr; }
};

}  // namespace ligature::contact
