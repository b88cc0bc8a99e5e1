#include "sim/world/params.hpp"

#include <numbers>

namespace ligature::world {

ThreadMaterial round_thread(double young_pa, double poisson, double density_g_per_mm3, double diameter_mm,
                            double drag) {
  const double radius = 0.5 * diameter_mm;
  const double area = std::numbers::pi * radius * radius;
  const double second_moment = 0.25 * area * radius * radius;
  const double shear_pa = young_pa / (2.0 * (1.0 + poisson));
  ThreadMaterial m;
  m.stretch_stiffness = young_pa * area;
  m.bend_stiffness = young_pa * second_moment;
  m.twist_stiffness = shear_pa * 2.0 * second_moment;
  m.linear_density = density_g_per_mm3 * area;
  m.drag = drag;
  return m;
}

}  // namespace ligature::world
