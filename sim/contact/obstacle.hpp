#pragma once
/// Rigid bodies that threads touch: where their surface is, and how it moves in a step (without turning).
#include <Eigen/Core>

#include "sim/base/hash.hpp"

namespace ligature::contact {

using Eigen::Vector3d;

class Obstacle {
 public:
  enum class Shape : std::uint8_t { plane };

  /// The half space below is solid. @param normal of any length but zero
  static Obstacle plane(const Vector3d& point, const Vector3d& normal);

  Shape shape() const noexcept { return shape_; }

  /// Begins a step: by how far it moves in this one. All that follows is said of the end of the step.
  void move(const Vector3d& by) noexcept { moved_ = by, shift_ += by; }
  const Vector3d& moved() const noexcept { return moved_; }

  /// Of a plane: the unit normal, and normal . x of its surface.
  const Vector3d& normal() const noexcept { return normal_; }
  double offset() const noexcept { return offset_ + normal_.dot(shift_); }

  void add_to(StateHash& hash) const noexcept;

 private:
  Shape shape_ = Shape::plane;
  Vector3d normal_{0, 0, 1};
  double offset_ = 0;
  Vector3d shift_{0, 0, 0};  // since the start
  Vector3d moved_{0, 0, 0};  // in this step
};

}  // namespace ligature::contact
