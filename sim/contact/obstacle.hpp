#pragma once
/// Rigid bodies that threads touch: where their surface is, how it moves in a step (without turning), and which places
/// of a thread may come to touch it.
///
///   kind of place      where                                                    shapes
///   vertex             at a vertex of the thread                                all
///   inside an edge     where an edge comes nearer than both of its ends         all but the plane, which has none
///
/// Of a convex body a vertex and an edge have one place each; on the outer side of a bend the vertex is the nearest
/// for both edges and is one contact. A mesh may have several: one for every local minimum of the distance.
/// Where an edge comes nearer than its ends by no more than kMostSagitta of the thread's radius its ends touch for it,
/// farther off by as much (lift()). Contacts inside all edges of a thread wound round a body would be as good as
/// dependent: forces that alternate from edge to edge cancel at the vertices between them.
/// A place is linearised: gap = n . (c - point) - h, n from the surface to the thread. The direction n is that at the
/// first touch along the motion foreseen for the step (conservative advancement [Mirtich 1996]), relative to the body:
/// so a thin body that flies past a thread in one step pushes it from the side that it came from. renew() finds n and
/// the place again where an iteration has brought the thread to.
/// All is said of the body at the end of the step, but where it says otherwise.
#include <Eigen/Core>
#include <memory>

#include "sim/base/fixed_vector.hpp"
#include "sim/base/hash.hpp"
#include "sim/contact/constraint.hpp"
#include "sim/contact/mesh.hpp"

namespace ligature::contact {

inline constexpr std::size_t kMostTouches = 3;  ///< of a vertex or an edge with one mesh

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

  Shape shape() const noexcept { return shape_; }
  /// How many places a vertex and (but for a plane) an edge can have.
  std::size_t most_touches() const noexcept { return shape_ == Shape::mesh ? kMostTouches : 1; }
  bool touches_edges() const noexcept { return shape_ != Shape::plane; }

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
    double distance = 0;       ///< of the point or segment; of a point signed, positive outside [mm]
    Vector3d point{0, 0, 0};   ///< on the surface  W [mm]
    Vector3d normal{0, 0, 1};  ///< unit, out of the solid: gradient of the distance  W
    double s = 0;              ///< of a segment: the place on it, [0, 1]
  };
  /// Of a mesh only within this distance is it certain; beyond, the distance is at least `within`. @rt no allocation
  Surface nearest(const Vector3d& p, double within = 1e9) const noexcept;
  /// The place of the segment p..q that is nearest. Its distance is signed too, but of a mesh.
  Surface nearest(const Vector3d& p, const Vector3d& q, double within = 1e9) const noexcept;
  /// Negative inside: a centreline there has passed through the surface.
  double signed_distance(const Vector3d& p) const noexcept { return nearest(p).distance; }

  struct Touch {
    double s = 0;              ///< place on the edge; of a vertex 0
    Vector3d normal{0, 0, 1};  ///< W
    double offset = 0;         ///< normal . surface point, at the end of the step [mm]
    double distance = 0;       ///< at the start of the step, signed [mm]
  };
  using Touches = FixedVector<Touch, kMostTouches>;
  /// Places at which the vertex p, about to move by dp, may come nearer than `near` within the step.
  /// @param touching distance at which it touches: the thread's radius
  void touch(const Vector3d& p, const Vector3d& dp, double touching, double near, Touches& out) const noexcept;
  /// Likewise places inside the edge p..q that come nearer than its ends.
  void touch(const Vector3d& p, const Vector3d& q, const Vector3d& dp, const Vector3d& dq, double touching, double near,
             Touches& out) const noexcept;

  /// By how much the edge p..q, as it is at the start of the step, comes nearer than its ends, if these touch for it;
  /// else 0. @param distance of p there [mm]
  double lift(const Vector3d& p, const Vector3d& q, double distance, double touching) const noexcept;

  /// A lower bound of the distance of all points of a box from the body on its way through the step.
  double box_distance(const Vector3d& low, const Vector3d& high) const noexcept;

  void add_to(StateHash& hash) const noexcept;

 private:
  Surface local(const Vector3d& p, double within) const noexcept;
  Surface local(const Vector3d& p, const Vector3d& q, double within) const noexcept;

  void push_along(const Vector3d& motion, double touching, Touch& touch) const noexcept;

  Shape shape_ = Shape::plane;
  Vector3d normal_{0, 0, 1};
  double offset_ = 0;
  Vector3d a_{0, 0, 0}, b_{0, 0, 0};  // centre; ends of the axis
  Vector3d axis_{0, 0, 1};            // unit
  double length_ = 0, radius_ = 0;
  Vector3d low_{0, 0, 0}, high_{0, 0, 0};  // of its box
  std::shared_ptr<const TriangleMesh> mesh_;
  Vector3d shift_{0, 0, 0};  // since the start
  Vector3d moved_{0, 0, 0};  // in this step
};

/// Normal, place and anchor of a contact with this body again, for the thread at x: what an iteration over a curved
/// surface needs to be exact at the end of the step. @param x0 the thread at the start of the step
/// @rt constant time (of a mesh its logarithm), no allocation
void renew(const Obstacle& obstacle, double thread_radius, const std::vector<Vector3d>& x0,
           const std::vector<Vector3d>& x, Constraint& constraint) noexcept;

}  // namespace ligature::contact
