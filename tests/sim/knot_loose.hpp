#pragma once
/// Loose overhand knots, drawn together or let out at a steady speed, or let go, and what theory says of them.
#include <numbers>

#include "tests/sim/knot_scene.hpp"
#include "tests/support/loose_knot.hpp"

namespace ligature::world {

struct Pull {
  int winding;
  double friction;
  bool tighten;
  double seconds = 0.5;
  double drag = 4e-6;       ///< a tenth of air's: at air's the fluid takes 1 % of the force [uN s/mm^2]
  double segment_mm = 0.1;  ///< 4 diameters
  double thinner = 1;       ///< times thinner than 10-0, as stiff: the same loop is so many times looser
};

struct Pulled {
  double h_over_r = 0, force = 0;      ///< T h^2/B
  double leading = 0, next_order = 0;  ///< theory's
};

inline void PrintTo(const Pull& p, std::ostream* out) {
  *out << "winding " << p.winding << " mu " << p.friction << (p.tighten ? " tightened" : " loosened");
}

/// Both ends move at 0.5 mm/s; force and radius are means over the second half of the time.
inline Pulled pull(const Pull& p) {
  config::Scenario s = shipped_knot("loose_overhand_" + std::to_string(p.winding));
  s.params.friction.thread_thread = p.friction;
  ThreadParams& thread = s.params.threads[0];
  thread.material.drag = p.drag, thread.segment_mm = p.segment_mm, thread.diameter_mm /= p.thinner;
  s.capacity.vertices = 9000;
  if (!p.tighten)
    for (ClampParams& clamp : thread.clamps) clamp.velocity = -1.0 * clamp.velocity;
  Knot knot(std::move(s));
  double force = 0, radius = 0;
  int count = 0;
  knot.run_until(p.seconds, 5, [&] {
    if (knot.world().time_s() < 0.5 * p.seconds) return false;
    for (const ClampMeasure& clamp : knot.world().clamps()) force += 0.5 * std::abs(clamp.force.x);
    radius += measure::loop_side_radius(knot.curves()[0]);
    ++count;
    return false;
  });
  knot.expect_sound();
  const double h = knot.radius(), stiffness = knot.scenario().params.threads[0].material.bend_stiffness;
  const double signed_friction = p.tighten ? p.friction : -p.friction;
  Pulled out;
  out.h_over_r = h / (radius / count), out.force = force / count * h * h / stiffness;
  out.leading = measure::loose_force_leading(out.h_over_r, signed_friction, p.winding);
  out.next_order = measure::loose_force_next(out.h_over_r, signed_friction, p.winding);
  std::printf("winding %d mu %.3f %s: h/R %.3g, T h^2/B %.4g, off leading order %+.1f %%, off next order %+.1f %%\n",
              p.winding, p.friction, p.tighten ? "tightened" : "loosened", out.h_over_r, out.force,
              100 * (out.force / out.leading - 1), 100 * (out.force / out.next_order - 1));
  std::fflush(stdout);
  return out;
}

}  // namespace ligature::world
