#pragma once
/// Two threads wound round each other and drawn apart.
///
/// The law: a strand of tension T presses T kappa on the other, whatever the shape. Both slide along themselves at the
/// same speed in opposite directions, and so past each other along the bisector of their tangents, which cross at b:
/// friction has the share cos(b/2) along the strand. d ln T = mu cos(b/2) kappa ds: ln(T_hi/T_lo) = mu cos(b/2) Theta
/// with Theta the angle by which the strand turns. In a helix wound by phi that crosses its partner at b, Theta = phi
/// sin(b/2): mu phi sin(b/2) cos(b/2). (`mu phi sin(b/2)`, without the cosine, is the limit of small angles.) What is
/// left of friction bends the strands sideways: that changes the angles of both by mu phi sin^2(b/2) from end to end,
/// in opposite directions, and the ratio by less than 2 % at 3.5 turns. Where bending lifts a strand off early, the
/// force at the lift-off bears what the contact would have: no term of first order.
#include <numbers>

#include "tests/sim/knot_scene.hpp"

namespace ligature::world {

struct Pair {
  double angle = 0;      ///< phi: touching, less a quarter turn on either side, where the legs leave along tangents
  double log_ratio = 0;  ///< of the tensions at either end of a strand
  double law = 0;        ///< mu cos(b/2) Theta, from the curves
  double drift = 0;      ///< of log_ratio over the last tenth of the time: 0 once all of it slides
};

inline Pair draw_pair(int half_turns, double seconds, double segment_mm = 0.1, double speed = 2.5,
                      ThreadParams::TwistMode twist = ThreadParams::TwistMode::quasi_static) {
  config::Scenario s = shipped_knot("pair_" + std::to_string(half_turns));
  for (ThreadParams& t : s.params.threads) {
    t.segment_mm = segment_mm;
    t.twist_mode = twist;
    for (ClampParams& c : t.clamps) c.velocity = speed * c.velocity;
  }
  Knot knot(std::move(s));
  const double held = norm(knot.scenario().params.threads[0].forces[0].force);
  const auto log_ratio = [&](double until) {
    double pulled = 0;
    int count = 0;
    knot.run_until(until, 1, [&] {
      for (const ClampMeasure& clamp : knot.world().clamps()) pulled += 0.5 * norm(clamp.force);
      ++count;
      return false;
    });
    return std::log(pulled / count / held);
  };
  knot.run_until(0.8 * seconds);
  const double before = log_ratio(0.9 * seconds);
  Pair out;
  out.angle = (half_turns - 1) * std::numbers::pi, out.log_ratio = log_ratio(seconds);
  out.drift = out.log_ratio - before;
  knot.expect_sound();
  const auto c = knot.curves();
  double turned = 0, share = 0;
  for (std::size_t i = 1; i + 1 < c[0].size(); ++i) {
    const Vec3 a = c[0][i] - c[0][i - 1], b = c[0][i + 1] - c[0][i], along = c[0][i + 1] - c[0][i - 1];
    std::size_t nearest = 1;
    for (std::size_t k = 1; k + 1 < c[1].size(); ++k)
      if (norm(c[1][k] - c[0][i]) < norm(c[1][nearest] - c[0][i])) nearest = k;
    const Vec3 other = c[1][nearest + 1] - c[1][nearest - 1];
    const double angle = std::atan2(norm(cross(a, b)), dot(a, b));
    turned += angle;
    share += angle * std::cos(0.5 * std::acos(dot(along, other) / (norm(along) * norm(other))));
  }
  out.law = knot.scenario().params.friction.thread_thread * share;
  std::printf(
      "%d half turns: ln(T2/T1) %.4f, still rising by %.4f; law %.4f (turns by %.3f, cos b/2 %.3f): off by %+.1f %%; "
      "per turn of contact %.4f\n",
      half_turns, out.log_ratio, out.drift, out.law, turned, share / turned, 100 * (out.log_ratio / out.law - 1),
      out.log_ratio / out.angle * 2 * std::numbers::pi);
  std::fflush(stdout);
  return out;
}

}  // namespace ligature::world
