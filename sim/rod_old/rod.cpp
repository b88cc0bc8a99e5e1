#include "sim/rod_old/rod.hpp"

namespace ligature::rod_old {

double elastic_energy(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist) noexcept {
  double energy = 0;
  const double l = model.rest_length;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    energy += stretch_energy(x[i + 1] - x[i], l, model.stretch_stiffness);
    if (i == 0) continue;
    const Vector3d e = x[i] - x[i - 1], f = x[i + 1] - x[i];
    energy += model.rest_curvature.empty() ? bend_straight_energy(e, f, l, model.bend_stiffness)
                                           : bend_curved(e, f, twist.material(i - 1), twist.material(i),
                                                         model.rest_curvature[i], l, model.bend_stiffness)
                                                 .energy;
  }
  return energy;
}

void add_elastic(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist,
                 std::vector<Vector3d>& gradient, BlockBand& band) noexcept {
  const double l = model.rest_length;
  const bool straight = model.rest_curvature.empty();
  Vector3d e = Vector3d::Zero();
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const Vector3d f = x[i + 1] - x[i];
    const EdgeTerm s = stretch(f, l, model.stretch_stiffness);
    gradient[i] -= s.gradient;
    gradient[i + 1] += s.gradient;
    band.add(i, i, s.hessian);
    band.add(i + 1, i, -s.hessian);
    band.add(i + 1, i + 1, s.hessian);
    if (i > 0) {
      const VertexTerm b = straight ? bend_straight(e, f, l, model.bend_stiffness)
                                    : bend_curved(e, f, twist.material(i - 1), twist.material(i),
                                                  model.rest_curvature[i], l, model.bend_stiffness);
      // e = x_i - x_(i-1), f = x_(i+1) - x_i: the chain rule turns edge derivatives into vertex ones.
      gradient[i - 1] -= b.gradient_e;
      gradient[i] += b.gradient_e - b.gradient_f;
      gradient[i + 1] += b.gradient_f;
      const Matrix3d fe = b.hessian_ef.transpose();
      band.add(i - 1, i - 1, b.hessian_ee);
      band.add(i, i - 1, fe - b.hessian_ee);
      band.add(i, i, b.hessian_ee + b.hessian_ff - b.hessian_ef - fe);
      band.add(i + 1, i - 1, -fe);
      band.add(i + 1, i, fe - b.hessian_ff);
      band.add(i + 1, i + 1, b.hessian_ff);
    }
    e = f;
  }
}

void add_twist(const std::vector<Vector3d>& x, const Twist& twist, std::vector<Vector3d>& gradient) noexcept {
  for (std::size_t i = 1; i + 1 < x.size(); ++i) {
    const double moment = twist.moment(i);
    if (moment == 0) continue;
    const TwistGradient g = twist_gradient(x[i] - x[i - 1], x[i + 1] - x[i]);
    gradient[i - 1] -= moment * g.e;
    gradient[i] += moment * (g.e - g.f);
    gradient[i + 1] += moment * g.f;
  }
}

}  // namespace ligature::rod_old
