/// Theory of loose contact: overhand knots with a loop much larger than the thread, and twisted pairs.
#include <numbers>

#include "tests/sim/knot_scene.hpp"

namespace ligature::world {
namespace {

/// sigma_n of [Audoly 2007], winding 1 and 2.
constexpr double kSigma[] = {0, 0.493, 1.468};

/// Radius of the half of the loop that lies away from the winding.
double loop_radius(const Curve& c, double drawn_end) {
  const double length = measure::length(c, false);
  const auto at = [&](double s) { return static_cast<std::size_t>(s / length * static_cast<double>(c.size() - 1)); };
  const double middle = 0.5 * length, loop = length - 2 * drawn_end;
  return measure::bend_radius(c, at(middle - 0.25 * loop), at(middle + 0.25 * loop));
}

struct Pull {
  int winding;
  double friction;
  bool tighten;
};

class LooseOverhand : public testing::TestWithParam<Pull> {};

TEST_P(LooseOverhand, ForceAgainstLoopRadiusIsThatOfTheory) {
  const Pull pull = GetParam();
  config::Scenario s = shipped_knot("loose_overhand_" + std::to_string(pull.winding));
  s.params.friction.thread_thread = pull.friction;
  if (!pull.tighten)
    for (ClampParams& clamp : s.params.threads[0].clamps) clamp.velocity = -1.0 * clamp.velocity;
  Knot knot(std::move(s));
  const double h = knot.radius(), stiffness = knot.scenario().params.threads[0].material.bend_stiffness;
  double force = 0, radius = 0;
  int count = 0;
  knot.run_until(3.0, 10, [&] {
    if (knot.world().time_s() < 2.0) return false;
    for (const ClampMeasure& clamp : knot.world().clamps()) force += 0.5 * norm(clamp.force);
    radius += loop_radius(knot.curves()[0], 500 * knot.diameter());
    ++count;
    return false;
  });
  force /= count;
  radius /= count;
  knot.print("loose overhand");
  knot.expect_sound();
  const double e = std::sqrt(h / radius), sign = pull.tighten ? 1 : -1;
  const double measured = force * h * h / stiffness;
  const double expected = 0.5 * std::pow(e, 4) + sign * pull.friction * kSigma[pull.winding] * std::pow(e, 3);
  std::printf("winding %d mu %.3f %s: h/R %.3g, T h^2/B %.4g, theory %.4g, off by %.1f %%\n", pull.winding,
              pull.friction, pull.tighten ? "tightened" : "loosened", h / radius, measured, expected,
              100 * (measured / expected - 1));
  EXPECT_LT(h / radius, 1e-3);
  EXPECT_NEAR(measured, expected, 0.05 * expected);
}

INSTANTIATE_TEST_SUITE_P(Pull, LooseOverhand,
                         testing::Values(Pull{1, 0.0, true}, Pull{1, 0.1, true}, Pull{1, 0.02, false},
                                         Pull{2, 0.03, true}, Pull{2, 0.005, false}));

class ReleasedOverhand : public testing::TestWithParam<int> {};

TEST_P(ReleasedOverhand, OpensOnlyToTheRadiusOfTheory) {
  const int winding = GetParam();
  Knot knot(shipped_knot("release_overhand_" + std::to_string(winding)));
  const double start = loop_radius(knot.curves()[0], 60 * knot.diameter());
  knot.run_until(knot.scenario().duration_s);
  knot.print("released overhand");
  knot.expect_sound();
  const double mu = knot.scenario().params.friction.thread_thread;
  const double expected = knot.radius() / std::pow(2 * mu * kSigma[winding], 2);
  const double radius = loop_radius(knot.curves()[0], 60 * knot.diameter());
  std::printf("winding %d: from %.1f to %.1f diameters, theory %.1f, speed %.2g\n", winding, start / knot.diameter(),
              radius / knot.diameter(), expected / knot.diameter(), knot.speed());
  EXPECT_NEAR(radius, expected, 0.2 * expected);
}

INSTANTIATE_TEST_SUITE_P(Winding, ReleasedOverhand, testing::Values(1, 2));

TEST(TwistedPair, LogarithmOfTheTensionRatioIsProportionalToTheWraps) {
  std::vector<double> angle, log_ratio, theory;
  for (const int half_turns : {2, 4, 6, 8}) {
    Knot knot(shipped_knot("pair_" + std::to_string(half_turns)));
    knot.run_until(knot.scenario().duration_s);
    knot.print("pair");
    knot.expect_sound();
    const auto c = knot.curves();
    double pulled = 0;
    for (const ClampMeasure& clamp : knot.world().clamps()) pulled += 0.5 * norm(clamp.force);
    const double held = norm(knot.scenario().params.threads[0].forces[0].force);
    // Legs leave along the tangents of the winding: they cross at b, the first of one thread and of the other.
    const Vec3 leg_a = c[0][10] - c[0][0], leg_b = c[1][10] - c[1][0];
    const double crossing = std::acos(dot(leg_a, leg_b) / norm(leg_a) / norm(leg_b));
    const double phi = (half_turns - 1) * std::numbers::pi;  // touching, less a quarter turn on either side
    const double mu = knot.scenario().params.friction.thread_thread;
    angle.push_back(phi);
    log_ratio.push_back(std::log(pulled / held));
    theory.push_back(mu * phi * std::sin(0.5 * crossing));
    std::printf("%d half turns: T2/T1 %.4f, ln %.4f, per turn %.4f; crossing %.1f deg, theory %.4f\n", half_turns,
                pulled / held, log_ratio.back(), log_ratio.back() / phi * 2 * std::numbers::pi,
                crossing * 180 / std::numbers::pi, theory.back());
  }
  for (std::size_t i = 0; i < angle.size(); ++i) {
    EXPECT_NEAR(log_ratio[i] / angle[i], log_ratio.back() / angle.back(), 0.1 * log_ratio.back() / angle.back());
    EXPECT_NEAR(log_ratio[i], theory[i], 0.1 * theory[i]);
  }
}

}  // namespace
}  // namespace ligature::world
