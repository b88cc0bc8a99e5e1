#pragma once
/// A random unloaded thread, from a seed: a zigzag of any stiffness, step, integrator and twist, and what it must do.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tests/sim/thread_scenes.hpp"

namespace ligature::world {

struct Zigzag {
  WorldParams params;
  double stiffness = 1;  ///< of nominal
  std::size_t segments = 0;
  int steps = 0;          ///< that it is given
  bool may_rest = false;  ///< within them: 20 times the slowest decay, of its motion and of its longest bend
  std::string text;
};

inline Zigzag random_zigzag(std::uint64_t seed) {
  Random r(Random(seed).next());
  Zigzag z;
  const bool closed = r.uniform() < 0.4;
  const auto legs = static_cast<std::size_t>(r.uniform(closed ? 2 : 1, 9));
  const double leg = std::exp(r.uniform(std::log(0.2), std::log(4.0)));
  std::vector<Vec3> points = {{r.uniform(-5, 5), r.uniform(-5, 5), r.uniform(-5, 5)}};
  for (std::size_t i = 0; i < legs; ++i) points.push_back(points.back() + leg * random_direction(r));
  z.segments = static_cast<std::size_t>(std::exp(r.uniform(std::log(closed ? 7.0 : 2.0), std::log(41.0))));
  const double step = std::exp(r.uniform(std::log(1e-4), std::log(3e-2)));
  z.params = one_thread(points, z.segments, step);
  ThreadParams& t = z.params.threads[0];
  z.params.solver.contact = SolverParams::Contact::none;  // the law of the thread alone
  z.params.solver.residual_target = 1e-9;
  z.stiffness = std::pow(10.0, r.uniform(-3, 9));
  t.closed = closed;
  t.inertial = r.uniform() < 0.6;
  t.twist_mode = r.uniform() < 0.5 ? ThreadParams::TwistMode::quasi_static : ThreadParams::TwistMode::unknown;
  if (r.uniform() < 0.6) t.twist_turns = r.uniform(-3, 3);
  t.rest_length_scale = r.uniform(0.8, 1.2);
  t.material.drag = r.uniform() < 0.5 ? 4e-5 : 3e-3;
  t.material.stretch_stiffness *= z.stiffness;
  t.material.bend_stiffness *= z.stiffness;
  t.material.twist_stiffness *= z.stiffness;
  double length = t.closed ? norm(points.back() - points.front()) : 0.0;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) length += norm(points[i + 1] - points[i]);
  length *= t.rest_length_scale;
  const double of_motion = t.inertial ? t.material.linear_density / t.material.drag : 0.0;
  const double wave = t.closed ? length / 9 : length / 4.73;  // somewhat more than a ring's ovalling; free-free
  const double of_bend = t.material.drag * wave * wave * wave * wave / t.material.bend_stiffness;
  const double few = static_cast<double>(z.segments);  // two segments decay a quarter as fast as a smooth rod
  // A twisted ring near the turns at which it leaves its plane is softer in that one shape.
  const double soft = t.closed && t.twist_turns != 0 ? 4 : 1;
  const double enough = 20 * (2 * of_motion + of_bend * soft * (1 + 12 / (few * few))) / step;
  z.steps = static_cast<int>(std::clamp(enough, 100.0, 1000.0));
  z.may_rest = enough < z.steps;
  z.text = "seed " + std::to_string(seed) + ": " + std::to_string(z.stiffness) + " of nominal, step " +
           std::to_string(1e3 * step) + " ms, " + std::to_string(z.segments) + " segments, " +
           (t.closed ? "closed, " : "open, ") + (t.inertial ? "inertial, " : "low-mass, ") +
           (t.twist_mode == ThreadParams::TwistMode::unknown ? "angles unknown" : "quasi-static") + ", " +
           std::to_string(t.twist_turns) + " turns, drag " + std::to_string(t.material.drag);
  return z;
}

struct ZigzagRun {
  bool finite = true;
  int grew = -1;      ///< first step in which energy grew
  double growth = 0;  ///< by so much of what it was
  double energy0 = 0, energy = 0;
  double speed = 0;       ///< at the end, travel of the fastest vertex in a step over the thread's length
  int not_converged = 0;  ///< steps
  int steps = 0;
};

/// Energy must never grow but by rounding: 1e-12 of it, and what a coordinate's last digits are worth in a stiff edge.
inline ZigzagRun run_zigzag(const Zigzag& z) {
  ZigzagRun out;
  World world = make_world(z.params);
  const ThreadParams& t = z.params.threads[0];
  ThreadMeasure m = world.measure(0, false);
  out.energy0 = out.energy = total_energy(m);
  const double l = m.rest_length_mm / static_cast<double>(z.segments), n = static_cast<double>(m.vertices);
  const double k = 4 * t.material.stretch_stiffness / l + 16 * t.material.bend_stiffness / (l * l * l);
  for (; out.steps < z.steps; ++out.steps) {
    const StepReport report = world.step({});
    out.not_converged += report.flags & step_not_converged ? 1 : 0;
    m = world.measure(0, false);
    const double energy = total_energy(m);
    if (report.flags & step_non_finite_restored || !std::isfinite(energy)) {
      out.finite = false;
      break;
    }
    double extent = 1;
    if (energy > out.energy) {
      for (const Vec3& x : world.shape(0).x) extent = std::max({extent, std::abs(x.x), std::abs(x.y), std::abs(x.z)});
      const double digit = std::numeric_limits<double>::epsilon() * extent;
      const double rounding = digit * std::sqrt(2 * n * k * out.energy) + n * k * digit * digit;
      if (energy > out.energy * (1 + 1e-12) + rounding && energy / out.energy - 1 > out.growth) {
        out.growth = energy / out.energy - 1;
        if (out.grew < 0) out.grew = out.steps;
      }
    }
    out.energy = energy;
    out.speed = m.speed_max_mm_per_s * z.params.step_s / m.rest_length_mm;
  }
  return out;
}

}  // namespace ligature::world
