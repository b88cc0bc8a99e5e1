#pragma once
/// A thread wound round a fixed cylinder, pulled at one end, held back by a dead load at the other.
#include <cmath>
#include <numbers>

#include "thread_scene.hpp"

namespace ligature::world {

struct Capstan {
  double turn = std::numbers::pi;  ///< angle between the two pulls [rad]
  double friction = 0.2;
  double cylinder_mm = 2;  ///< radius
  double diameter_mm = 0.1, segment_mm = 0.1;
  double load = 2e5;          ///< at the slack end [uN]
  double speed_mm_per_s = 1;  ///< of the end that is pulled
  double lead_mm = 6;         ///< straight, at both ends
  double step_s = 0.005;
  double drag = 1;     ///< once it has settled
  double advance = 2;  ///< of the helix, in diameters a turn; 0 within a turn

  double rho() const { return cylinder_mm + 0.5 * diameter_mm; }
  double bend() const {
    const double h = 0.5 * diameter_mm;
    return kYoung * std::numbers::pi * h * h * h * h / 4;
  }
  /// Pull over load, bending taken in: F2 (cos p2 - mu sin p2) = F1 (cos p1 + mu sin p1) exp(mu (turn - p1 - p2)).
  double ratio() const {
    const auto lift = [&](double f) { return std::acos(1 - bend() / (2 * f * rho() * rho())); };
    const double p1 = lift(load);
    double f2 = load * std::exp(friction * turn);
    for (int k = 0; k < 50; ++k) {
      const double p2 = lift(f2);
      f2 = load * (std::cos(p1) + friction * std::sin(p1)) * std::exp(friction * (turn - p1 - p2)) /
           (std::cos(p2) - friction * std::sin(p2));
    }
    return f2 / load;
  }
  /// The helix round the y axis, with straight leads along its end tangents.
  std::vector<Vec3> points() const {
    const double per_turn = turn > 2 * std::numbers::pi - 0.1 ? advance * diameter_mm : 0;
    const double dy = per_turn / (2 * std::numbers::pi),
                 r = rho() + segment_mm * segment_mm / (4 * rho());  // a chord of any part of it clears
    const int pieces = static_cast<int>(std::ceil(turn * r / segment_mm));
    // Drawn outside of the circle, so that no chord cuts it.
    const double part = turn / pieces, out = r / std::cos(0.5 * part);
    const auto on = [&](double a, double at) {
      return Vec3{at * std::cos(a), dy * (a - 0.5 * turn), at * std::sin(a)};
    };
    const auto tangent = [&](double a) {
      const Vec3 t{-r * std::sin(a), dy, r * std::cos(a)};
      return (1 / norm(t)) * t;
    };
    std::vector<Vec3> p{on(0, r) - lead_mm * tangent(0)};
    for (int k = 0; k < pieces; ++k) p.push_back(on((k + 0.5) * part, out));
    p.push_back(on(turn, r) + lead_mm * tangent(turn));
    return p;
  }
  WorldParams scene() const {
    WorldParams p = thread_world(step_s);
    p.friction.thread_obstacle = friction;
    ObstacleParams post;
    post.shape = ObstacleParams::Shape::cylinder;
    post.from = {0, -10, 0};
    post.to = {0, 10, 0};
    post.diameter_mm = 2 * cylinder_mm;
    p.obstacles.push_back(post);
    const std::vector<Vec3> drawn = points();
    ThreadParams t = nylon(drawn, diameter_mm, 10, drag);
    t.segment_mm = segment_mm;
    const std::size_t n = drawn.size();
    Vec3 back = drawn[0] - drawn[1], pull = drawn[n - 1] - drawn[n - 2];
    back = (1 / norm(back)) * back;
    pull = (1 / norm(pull)) * pull;
    t.forces.push_back(force_at(Place::Kind::first, load * back, 0));
    ClampParams c = clamp_at(Place::Kind::last, ClampParams::Hold::position);
    c.velocity = speed_mm_per_s * pull;
    c.from_s = 0;
    t.clamps.push_back(c);
    // Drawn a little too wide: settles on the cylinder slowly, then slides freely.
    t.material.drag = 1e3;
    p.schedule.push_back({.time_s = 0.1, .key = ScheduleEntry::Key::drag, .index = 0, .value = drag, .vector = {}});
    p.threads.push_back(t);
    return p;
  }
};

}  // namespace ligature::world
