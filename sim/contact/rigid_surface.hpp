#pragma once
/// The surface of a rigid body as tissue meets it: triangles that go where the body goes and that nothing moves. Tissue
/// touches it as it does another tissue (tissue_contacts.hpp, tissue_guard.hpp); threads touch the body itself.
#include <vector>

#include "sim/contact/mesh.hpp"
#include "sim/contact/obstacle.hpp"
#include "sim/contact/soft_body.hpp"

namespace ligature::contact {

class RigidSurface final : public SoftBody {
 public:
  /// @param body that stays where it is in memory; not one that deforms, nor a cone @param mesh its in_facets()
  RigidSurface(const Obstacle& body, TriangleMesh mesh);

  const TriangleMesh& surface() const noexcept override { return mesh_; }
  std::size_t nodes() const noexcept override { return x_.size(); }
  const Vector3d* start() const noexcept override { return start_.data(); }
  const Vector3d* x() const noexcept override { return x_.data(); }
  const Vector3d* step() const noexcept override { return step_.data(); }
  Eigen::Matrix3d compliance(std::uint32_t, std::uint32_t) const noexcept override { return Eigen::Matrix3d::Zero(); }

  /// Begins the step that the body has begun, at its start. @rt all of these: O(triangles) where it moves, no
  /// allocation
  void begin(double dt) noexcept override;
  /// Is where the body is after the fraction `at` of its step; step() becomes what it makes `ahead` of it. Bodies::at.
  void lead_to(double at, double ahead) noexcept;
  void advance(double fraction) noexcept override;
  void go_back(double fraction) noexcept override;

  double travel() const noexcept { return body_->travel(); }  ///< in this step [mm]

  void linearise() noexcept override {}
  void push(std::uint32_t, const Vector3d&) noexcept override {}
  void solve() noexcept override {}
  void finish() noexcept override {}
  void add_to(StateHash&) const noexcept override {}

 private:
  void put(const Vector3d& shift) noexcept;

  const Obstacle* body_;
  TriangleMesh mesh_;
  std::vector<Vector3d> rest_, start_, x_, step_;           // of its vertices
  Vector3d began_{0, 0, 0}, shift_{0, 0, 0}, by_{0, 0, 0};  // how far the vertices are from rest, and step
  Vector3d along_{0, 0, 0};  // what a plane has moved along itself until the step began: its box stays
};

/// What tissue meets of a body, one that deforms or a rigid one; null: nothing.
inline SoftBody* met_by_tissue(const Bodies& bodies, std::size_t b) noexcept {
  return bodies.soft_of(b) ? bodies.soft_of(b) : bodies.rigid_of(b);
}

/// Whether two different bodies keep their surfaces apart: one that deforms and has a skin, and another such or a rigid
/// one.
inline bool kept_apart(const Bodies& bodies, std::size_t a, std::size_t b) noexcept {
  const auto keeps = [&](std::size_t i) { return bodies.soft_of(i) && bodies.soft_of(i)->skin() > 0; };
  return (keeps(a) && (keeps(b) || bodies.rigid_of(b))) || (keeps(b) && bodies.rigid_of(a));
}

}  // namespace ligature::contact
