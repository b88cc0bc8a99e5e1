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
  double segment_mm = 0.1;        ///< half a diameter
  /// While friction is lowered [uN s/mm^2]: so thick that a step converges and sliding takes time (1 % of the load
  /// missing: 0.19 mm/s), and too thin to hold a tail. In water steps end unconverged near the critical friction, and
  /// creep.
  double drag = 30000;
  /// Friction turns the threads about their centrelines, and their ends are free to turn. Without that a thief needs
  /// more than a grief, whose strands roll on each other.
  bool turned = true;
  int iterations = 300;  ///< at the default 50 a thief that slides ends its steps unconverged and seems to stick
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
  bool opens = false;   ///< it slides at the end of the time given: or it has come apart
  double drawn = 0;     ///< by so much each loaded end has moved away from the tie since it was tied [diameters]
  double friction = 0;  ///< at the end
};

inline constexpr double kReleased_s = 0.45;             ///< all four ends are pulled until then
inline constexpr double kTied_s = 0.65;                 ///< and the tie is at rest
inline constexpr double kSliding = 3.4;                 ///< of each loaded end, while friction is lowered [diameters/s]
inline constexpr double kBallDiameters = 6;             ///< the ties measured here are within 4
inline constexpr double kFrom_mm = 5.5, kTo_mm = 19.5;  ///< of a shipped thread: what is tied, legs and tails of 25 d

/// Tails outside a ball round the tie, {} when its threads have come apart. [mm]
inline std::optional<std::array<double, 2>> tails(const Knot& knot) {
  const auto c = knot.curves();
  const auto middle = middle_of_tie(c, 1.3 * knot.diameter());
  if (!middle) return {};
  return outside(c, *middle, kBallDiameters * knot.diameter()).tail;
}

/// The stretch of a polyline between two arc lengths.
inline std::vector<Vec3> stretch_of(const std::vector<Vec3>& points, double from, double to) {
  std::vector<Vec3> out;
  double s = 0;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const Vec3 edge = points[i + 1] - points[i];
    const double l = norm(edge), a = std::max(from, s), b = std::min(to, s + l);
    if (a < b) {
      if (out.empty()) out.push_back(points[i] + ((a - s) / l) * edge);
      out.push_back(points[i] + ((b - s) / l) * edge);
    }
    s += l;
  }
  return out;
}

/// It is tied while all four ends are pulled, until kReleased_s; from kTied_s on friction takes each of these values in
/// turn, for `given_s`.
inline config::Scenario scenario_of(const std::string& tie, const TieCase& of, const std::vector<double>& values,
                                    double given_s = 0) {
  config::Scenario s = shipped_knot(tie + "_02mm");
  s.params.schedule.clear();
  s.params.friction.thread_thread = of.setting_friction;
  s.params.solver.iterations = of.iterations;
  for (ThreadParams& t : s.params.threads) {
    if (of.turned) t.twist_mode = ThreadParams::TwistMode::unknown;
    t.points = stretch_of(t.points, kFrom_mm, kTo_mm);
    t.segment_mm = of.segment_mm;
    const double h = 0.5 * t.diameter_mm, unit = t.material.bend_stiffness / (h * h);
    t.material.stretch_stiffness = of.stretch * unit;
    t.material.bend_stiffness *= of.bend_factor;
    t.material.twist_stiffness *= of.bend_factor;
    for (ForceParams& f : t.forces) {
      f.force = (of.tension * unit / norm(f.force)) * f.force;
      if (f.until_s < kForever) f.until_s = kReleased_s;
    }
  }
  const auto set_at = [&](double time_s, double value) {
    ScheduleEntry e;
    e.time_s = time_s, e.value = value;
    s.params.schedule.push_back(e);
  };
  set_at(kReleased_s - 0.1, of.high_friction);
  for (std::size_t i = 0; i < s.params.threads.size(); ++i) {
    ScheduleEntry e;
    e.time_s = kReleased_s, e.key = ScheduleEntry::Key::drag, e.index = i, e.value = of.drag;
    s.params.schedule.push_back(e);
  }
  for (std::size_t k = 0; k < values.size(); ++k) set_at(kTied_s + static_cast<double>(k) * given_s, values[k]);
  return s;
}

/// Ties it, then lowers the friction to each of these values in turn, each for `given_s`, until it slides: until each
/// loaded end goes faster than kSliding diameters a second in the second half of that time, which it does when 3.5 % of
/// the load are missing at the drag of TieCase.
///
/// A tie may slip by up to a diameter and hold again in another form (a thief that is set flat rolls over). That is no
/// opening, and given 0.06 s it looks like one.
inline Trial lower_friction(const std::string& tie, const TieCase& of, const std::vector<double>& values,
                            double given_s) {
  Knot knot(scenario_of(tie, of, values, given_s));
  Trial trial;
  const double d = knot.diameter();
  const auto ends_apart = [&] {
    const auto c = knot.curves();
    return 0.5 * norm(c[1][0] - c[0][0]) / d;
  };
  knot.run_until(kTied_s - 0.1);
  const double before = ends_apart();
  knot.run_until(kTied_s);
  const double tied = ends_apart();
  trial.tied = tied - before < 0.2;
  for (std::size_t k = 0; k < values.size() && trial.tied && !trial.opens; ++k) {
    trial.friction = values[k];
    const double end = kTied_s + static_cast<double>(k + 1) * given_s;
    knot.run_until(end - 0.5 * given_s);
    const double half = ends_apart();
    knot.run_until(end);
    trial.drawn = ends_apart() - tied;
    const double speed = (ends_apart() - half) / (0.5 * given_s);
    trial.opens = speed > kSliding;
    std::printf("    %s friction %.2f: %.2f diameters drawn out, %.2f a second, residual %.1g\n", tie.c_str(),
                values[k], trial.drawn, speed, knot.last().residual);
    std::fflush(stdout);
  }
  knot.expect_sound();
  std::printf("  %s T h^2/B %.3g friction %.2f: %s, penetration %.3g\n", tie.c_str(), of.tension / of.bend_factor,
              trial.friction,
              !trial.tied   ? "NOT TIED"
              : trial.opens ? "opens"
                            : "holds",
              knot.penetration());
  return trial;
}

/// Least friction at which it holds, within 0.01: lowered in steps of 0.02 from 0.70 until it opens. Infinity where it
/// does not even stay tied at the friction that it is tied at.
inline double critical(const std::string& tie, const TieCase& of) {
  std::vector<double> steps;
  for (int k = 0; k <= 34; ++k) steps.push_back(0.70 - 0.02 * k);
  const Trial lowered = lower_friction(tie, of, steps, 0.12);
  if (!lowered.tied) return std::numeric_limits<double>::infinity();
  EXPECT_TRUE(lowered.opens) << tie << " at 0.02";
  if (!lowered.opens) return std::numeric_limits<double>::quiet_NaN();
  std::printf("critical friction of %s, T h^2/B %.3g, edges of %.2g mm: %.2f to %.2f\n", tie.c_str(),
              of.tension / of.bend_factor, of.segment_mm, lowered.friction, lowered.friction + 0.02);
  return lowered.friction + 0.01;
}

}  // namespace ligature::world
