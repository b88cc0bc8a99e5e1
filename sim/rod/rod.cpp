#include "sim/rod/rod.hpp"

namespace ligature::rod {

double elastic_energy(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist) noexcept {
  double energy = 0;
  const double l = model.rest_length;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    energy += stretch(x[i + 1] - x[i], l, model.stretch_stiffness).energy;
    if (i == 0) continue;
    const Vector3d e = x[i] - x[i - 1], f = x[i + 1] - x[i];
    energy += model.rest_curvature.empty() ? bend_straight(e, f, l, model.bend_stiffness).energy
                                           : bend_curved(e, f, twist.material(i - 1), twist.material(i),
                                                         model.rest_curvature[i], l, model.bend_stiffness)
                                                 .energy;
    energy += 0.5 * model.twist_stiffness / l * twist.joint(i) * twist.joint(i);
  }
  return energy;
}

void add_elastic(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist,
                 std::vector<Vector3d>& gradient, BlockBand* band) noexcept {
  const double l = model.rest_length;
  const bool straight = model.rest_curvature.empty();
  Vector3d e = Vector3d::Zero();
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const Vector3d f = x[i + 1] - x[i];
    const EdgeTerm s = stretch(f, l, model.stretch_stiffness);
    gradient[i] -= s.gradient;
    gradient[i + 1] += s.gradient;
    if (band) {
      band->add(i, i, s.hessian);
      band->add(i + 1, i, -s.hessian);
      band->add(i + 1, i + 1, s.hessian);
    }
    if (i > 0) {
      VertexTerm b = straight ? bend_straight(e, f, l, model.bend_stiffness)
                              : bend_curved(e, f, twist.material(i - 1), twist.material(i), model.rest_curvature[i], l,
                                            model.bend_stiffness);
      if (twist.active()) {
        const TwistGradient g = twist_gradient(e, f);
        b.gradient_e += twist.moment(i) * g.e;
        b.gradient_f += twist.moment(i) * g.f;
      }
      // e = x_i - x_(i-1), f = x_(i+1) - x_i: the chain rule turns edge derivatives into vertex ones.
      gradient[i - 1] -= b.gradient_e;
      gradient[i] += b.gradient_e - b.gradient_f;
      gradient[i + 1] += b.gradient_f;
      if (band) {
        const Matrix3d fe = b.hessian_ef.transpose();
        band->add(i - 1, i - 1, b.hessian_ee);
        band->add(i, i - 1, fe - b.hessian_ee);
        band->add(i, i, b.hessian_ee + b.hessian_ff - b.hessian_ef - fe);
        band->add(i + 1, i - 1, -fe);
        band->add(i + 1, i, fe - b.hessian_ff);
        band->add(i + 1, i + 1, b.hessian_ff);
      }
    }
    e = f;
  }
}

}  // namespace ligature::rod
