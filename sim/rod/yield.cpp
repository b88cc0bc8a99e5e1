#include "sim/rod/yield.hpp"

#include <numbers>

namespace ligature::rod {

double most_elastic_curvature(double yield_strain, double radius) noexcept {
  return 16 / (3 * std::numbers::pi) * yield_strain / radius;
}

double yield(RodModel& model, const std::vector<Vector3d>& x, const Twist& twist) noexcept {
  if (!(model.yield_strain > 0) || model.rest_curvature.empty()) return 0;
  constexpr double kStiffer = 1 + 1e-9;
  const std::size_t n = model.vertices();
  double lost = 0;
  for (std::size_t i = model.closed ? 0 : 1; i < (model.closed ? n : n - 1); ++i) {
    if (model.joint_bend(i) > kStiffer * model.bend_stiffness || twist.frame_held(i)) continue;
    const std::size_t before = model.previous(i);
    const Eigen::Vector2d off =
        material_curvature(x[i] - x[before], x[model.next(i)] - x[i], twist.material(before), twist.joint(i)) -
        model.rest_curvature[i];
    const double length = model.joint_length(i), size = off.norm();
    const double most = most_elastic_curvature(model.yield_strain, model.radius_at(i)) * length;
    if (!(size > most)) continue;
    model.rest_curvature[i] += (1 - most / size) * off;
    lost += model.joint_bend(i) / length * most * (size - most);
  }
  return lost;
}

}  // namespace ligature::rod
