#pragma once
/// At which friction a tie opens: tied and pulled tight at high friction, then the friction is lowered to a trial
/// value.
#include <array>
#include <limits>
#include <optional>

#include "tests/sim/knot_scene.hpp"

namespace ligature::world {

/// What a tie is made of and pulled with, in its own units.
struct TieCase {
  double tension = 0.4;    ///< T h^2/B: bending no longer holds it open above 0.3
  double stretch = 200;    ///< EA h^2/B: 4 in a solid round thread, which a load as high as here would tear
  double bend_factor = 1;  ///< of the bending stiffness of nylon; load and EA stay those that `tension` and 1 give
  double setting_friction = 0.1;  ///< while all four ends are pulled, so that nothing stays slack inside
  double high_friction = 0.95;    ///< from before the tails are let go on
};

/// Thread that lies outside a ball round the knot, on both sides of it. Where strands touch is no measure of a tail
/// that lies along another strand; but that, too, leaves the ball.
struct Outside {
  std::array<double, 2> leg{}, tail{};  ///< of both threads, arc [mm]
};

/// Middle of the places where the threads of a tie touch each other: their median in every coordinate, since tails
/// that touch outside the knot are fewer. Empty when they do not touch.
inline std::optional<Vec3> middle_of_tie(const std::vector<Curve>& c, double touch) {
  std::vector<double> x, y, z;
  for (const Vec3& p : c[0])
    for (const Vec3& q : c[1]) {
      const Vec3 d = p - q;
      if (dot(d, d) > touch * touch) continue;
      const Vec3 m = 0.5 * (p + q);
      x.push_back(m.x), y.push_back(m.y), z.push_back(m.z);
    }
  if (x.empty()) return {};
  const auto median = [](std::vector<double>& v) {
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
  };
  return Vec3{median(x), median(y), median(z)};
}

inline Outside outside(const std::vector<Curve>& c, Vec3 middle, double radius) {
  Outside out;
  for (std::size_t i : {0u, 1u}) {
    // From either end to where the curve first enters the ball, within an edge.
    const auto way = [&](auto at, std::size_t n) {
      double s = 0;
      for (std::size_t k = 0; k + 1 < n; ++k) {
        const Vec3 a = at(k), b = at(k + 1);
        const double from = norm(a - middle) - radius, to = norm(b - middle) - radius;
        if (from <= 0) return s;
        if (to <= 0) return s + norm(b - a) * from / (from - to);
        s += norm(b - a);
      }
      return s;
    };
    const std::size_t n = c[i].size();
    out.leg[i] = way([&](std::size_t k) { return c[i][k]; }, n);
    out.tail[i] = way([&](std::size_t k) { return c[i][n - 1 - k]; }, n);
  }
  return out;
}

struct Trial {
  bool tied = false;    ///< with high friction it held
  bool opens = false;   ///< a tail slid into the knot by more than two diameters, or the threads came apart
  double slid = 0;      ///< by so much, before it stopped or opened [diameters]
  double speed = 0;     ///< of the fastest vertex at the end [mm/s]
  double friction = 0;  ///< at the end
};

inline constexpr double kReleased_s = 0.8;   ///< all four ends are pulled until then, the fluid is thinned at 1.0 s
inline constexpr double kTied_s = 1.2;       ///< and the tie is at rest
inline constexpr double kBallDiameters = 6;  ///< the ties measured here are within 4

/// Ties it, then lowers the friction to each of these values in turn, each for `given_s`, until it opens.
inline Trial lower_friction(const std::string& tie, const TieCase& of, const std::vector<double>& values,
                            double given_s) {
  config::Scenario s = shipped_knot(tie + "_02mm");
  std::erase_if(s.params.schedule,
                [](const ScheduleEntry& e) { return e.key == ScheduleEntry::Key::friction_thread_thread; });
  s.params.friction.thread_thread = of.setting_friction;
  for (ThreadParams& t : s.params.threads) {
    const double h = 0.5 * t.diameter_mm, unit = t.material.bend_stiffness / (h * h);
    t.material.stretch_stiffness = of.stretch * unit;
    t.material.bend_stiffness *= of.bend_factor;
    t.material.twist_stiffness *= of.bend_factor;
    for (ForceParams& f : t.forces) f.force = (of.tension * unit / norm(f.force)) * f.force;
  }
  const auto set_at = [&](double time_s, double value) {
    ScheduleEntry e;
    e.time_s = time_s, e.value = value;
    s.params.schedule.push_back(e);
  };
  set_at(kReleased_s - 0.1, of.high_friction);
  for (std::size_t k = 0; k < values.size(); ++k) set_at(kTied_s + static_cast<double>(k) * given_s, values[k]);
  Knot knot(std::move(s));
  Trial trial;
  std::optional<Outside> before;
  const double d = knot.diameter();
  const auto slid = [&] {
    const auto c = knot.curves();
    const auto middle = middle_of_tie(c, 1.3 * d);
    if (!middle) return 1e3;  // apart
    const Outside now = outside(c, *middle, kBallDiameters * d);
    if (!before) before = now;
    return std::max(before->tail[0] - now.tail[0], before->tail[1] - now.tail[1]) / d;
  };
  knot.run_until(kTied_s - 0.1);
  slid();
  knot.run_until(kTied_s);
  trial.slid = slid();
  trial.tied = trial.slid < 1;
  before.reset();
  slid();
  for (std::size_t k = 0; k < values.size() && trial.tied && !trial.opens; ++k) {
    trial.friction = values[k];
    int calm = 0;
    knot.run_until(kTied_s + static_cast<double>(k + 1) * given_s, 5, [&] {
      trial.slid = slid();
      trial.opens = trial.slid > 2;
      calm = knot.speed() * knot.scenario().params.step_s < 1e-5 * d ? calm + 1 : 0;
      return trial.opens || (calm >= 3 && k + 1 == values.size());
    });
  }
  trial.speed = knot.speed();
  knot.expect_sound();
  std::printf(
      "  %s T h^2/B %.3g friction %.4f: %s, slid %.2f diameters at %.3f s, speed %.2g mm/s, residual %.1g, penetration "
      "%.3g\n",
      tie.c_str(), of.tension / of.bend_factor, trial.friction,
      !trial.tied   ? "NOT TIED"
      : trial.opens ? "opens"
                    : "holds",
      trial.slid, knot.world().time_s(), trial.speed, knot.last().contact_residual, knot.penetration());
  std::fflush(stdout);
  return trial;
}

inline bool opens(const std::string& tie, const TieCase& of, double friction) {
  return lower_friction(tie, of, {friction}, 0.5).opens;
}

/// Least friction at which it holds, to 0.01: first lowered in steps of 0.05 until it opens; between that and the step
/// before bisected, tied anew for each value.
inline double critical(const std::string& tie, const TieCase& of) {
  std::vector<double> steps;
  for (int k = 1; k <= 19; ++k) steps.push_back(std::max(0.0, of.high_friction - 0.05 * k));
  const Trial lowered = lower_friction(tie, of, steps, 0.1);
  EXPECT_TRUE(lowered.tied) << tie;
  EXPECT_TRUE(lowered.opens) << tie << " without friction";
  if (!lowered.tied || !lowered.opens) return std::numeric_limits<double>::quiet_NaN();
  double low = lowered.friction, high = low + 0.05;
  while (low > 0 && !opens(tie, of, low)) high = low, low = std::max(0.0, low - 0.05);
  if (low == lowered.friction)
    while (high < of.high_friction && opens(tie, of, high)) low = high, high += 0.05;
  while (high - low > 0.0101) {
    const double middle = 0.5 * (low + high);
    (opens(tie, of, middle) ? low : high) = middle;
  }
  std::printf("critical friction of %s, T h^2/B %.3g: %.3f to %.3f\n", tie.c_str(), of.tension / of.bend_factor, low,
              high);
  return 0.5 * (low + high);
}

}  // namespace ligature::world
