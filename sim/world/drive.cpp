#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "sim/contact/tolerances.hpp"
#include "sim/world/build.hpp"
#include "sim/world/state.hpp"

namespace ligature::world {
namespace {

// Times are multiples of the step up to rounding: what begins at 0.3 s begins with the step from 0.3 s.
bool within(double from_s, double until_s, double time_s, double step_s) {
  const double t = time_s + 1e-6 * step_s;
  return t >= from_s && t < until_s;
}

bool holds_frame(const Clamp& c) {
  return c.active && c.params.hold == ClampParams::Hold::frame;
}

}  // namespace

void World::State::apply_schedule() noexcept {
  using Key = ScheduleEntry::Key;
  for (; scheduled < params.schedule.size(); ++scheduled) {
    const ScheduleEntry& e = params.schedule[scheduled];
    if (e.time_s > time_s() + 1e-6 * params.step_s) return;
    switch (e.key) {
      case Key::friction_thread_thread:
        params.friction.thread_thread = e.value;
        break;
      case Key::friction_thread_obstacle:
        params.friction.thread_obstacle = e.value;
        break;
      case Key::friction_thread_tissue:
        params.friction.thread_tissue = e.value;
        break;
      case Key::friction_thread_tool:
        params.friction.thread_tool = e.value;
        break;
      case Key::rest_length_scale:
        for (Thread& t : threads)
          if (t.origin == e.index) t.model.rest_length = t.rest_edge * e.value;
        break;
      case Key::drag:
        for (Thread& t : threads)
          if (t.origin == e.index) set_drag(t.model, t.drag = e.value, t.drawn_edge);
        break;
      case Key::gravity:
        gravity = to_eigen(e.vector);
        for (tissue::Tissue& t : tissues) t.pull(gravity);
        break;
      case Key::obstacle_velocity:
        obstacles[e.index].velocity = to_eigen(e.vector);
        break;
      case Key::tissue_velocity:
        tissues[e.index].carry(to_eigen(e.vector));
        break;
    }
  }
}

void World::State::add_obstacle(contact::Obstacle body, const ObstacleParams& p) {
  const auto index = static_cast<std::uint32_t>(obstacles.size());
  const std::size_t group = slot_groups.size();
  slot_groups.resize(group + (body.surface() ? 0 : 1), index);
  obstacles.push_back({.body = std::move(body),
                       .velocity = to_eigen(p.velocity),
                       .from_s = p.from_s,
                       .until_s = p.until_s,
                       .group = group});
  curved = curved || !obstacles.back().flat();
}

// What lags behind is caught up at twice its speed, that of a motion which has ended, or kRecoverySpeed.
void World::State::move_obstacles() noexcept {
  const double dt = params.step_s;
  for (Obstacle& o : obstacles) {
    const Vector3d own = within(o.from_s, o.until_s, time_s(), dt) ? Vector3d(dt * o.velocity) : Vector3d(0, 0, 0);
    const Vector3d wanted = own + o.behind;
    const double most = own.norm() + dt * std::max(o.velocity.norm(), contact::kRecoverySpeed), size = wanted.norm();
    const Vector3d by = size > most ? Vector3d(o.part * most / size * wanted) : Vector3d(o.part * wanted);
    o.behind = wanted;  // less what it makes of it
    o.tried = by.norm();
    o.body.move(by);
  }
}

// Clamps that begin or end now. One that begins takes the thread as it is, while those that end still hold it: the
// order in which they are listed means nothing, and a frame that one clamp takes over from another stays as it is.
void World::State::begin_clamps(Thread& t) noexcept {
  rod::Twist& twist = t.state.twist;
  const auto wanted = [&](const Clamp& c) {
    return within(c.params.from_s, c.params.until_s, time_s(), params.step_s);
  };
  for (Clamp& c : t.clamps) {
    c.force.setZero();
    c.torque.setZero();
    if (c.active || !wanted(c)) continue;
    c.active = true;
    c.turn.setZero();
    c.spin = 0;
    c.place = t.state.x[c.vertex];
    if (c.params.hold == ClampParams::Hold::position || twist.frame_held(c.vertex)) continue;
    // The frames of a thread that nothing held were not carried along; at the start they are as they were put.
    if (step > 0 && !rod::needs_frames(t.model, twist)) twist.restart(t.state.x);
    twist.hold_frame(c.vertex);
  }
  for (Clamp& c : t.clamps) {
    if (!c.active || wanted(c)) continue;
    c.active = false;
    const bool still_held = std::any_of(t.clamps.begin(), t.clamps.end(), [&](const Clamp& other) {
      return holds_frame(other) && other.vertex == c.vertex;
    });
    if (c.params.hold == ClampParams::Hold::frame && !still_held) twist.release_frame(c.vertex);
  }
}

// Weight and dead loads as they are at this time.
void World::State::load_thread(Thread& t, double at_s) const noexcept {
  for (std::size_t i = 0; i < t.state.x.size(); ++i) t.drive.load[i] = t.model.weight_mass[i] * gravity;
  for (const Load& load : t.loads) {
    const ForceParams& f = load.params;
    if (!within(f.from_s, f.until_s, time_s(), params.step_s)) continue;
    const double share = f.ramp_s > 0 ? std::clamp((at_s - f.from_s) / f.ramp_s, 0.0, 1.0) : 1.0;
    t.drive.load[load.vertex] += share * to_eigen(f.force);
  }
}

// What clamps and loads ask of the thread in this step.
void World::State::drive_thread(Thread& t) noexcept {
  const double dt = params.step_s;
  begin_clamps(t);
  t.drive.held.clear();
  t.drive.frames.clear();
  t.moved_by_clamps = false;
  for (Clamp& c : t.clamps) {
    if (!c.active) continue;
    c.place += dt * to_eigen(c.params.velocity);
    t.drive.held.push_back({c.vertex, c.place});
    c.turn += dt * to_eigen(c.params.turn_rad_per_s);  // with what the step before left
    c.spin += dt * c.params.spin_rad_per_s;
    if (c.params.hold == ClampParams::Hold::frame && (c.spin != 0 || c.turn != Vector3d::Zero()))
      t.drive.frames.push_back({c.vertex, c.turn, c.spin});
    t.moved_by_clamps = t.moved_by_clamps || c.place != t.x0[c.vertex] || !t.drive.frames.empty();
  }
  load_thread(t, time_s() + dt);
  if (t.inertial) {
    // Holds may have come and gone, rest lengths changed, since the spans were found.
    if (rod::needs_frames(t.model, t.state.twist) && !t.model.angles_unknown)
      t.state.twist.find_spans(t.model.rest_length);
    t.energy_before = rod::elastic_energy(t.model, t.x0, t.state.twist).sum();
    for (std::size_t i = 0; i < t.x0.size(); ++i) t.energy_before += 0.5 * t.model.mass[i] * t.state.v[i].squaredNorm();
  }
}

void World::State::measure_clamps(Thread& t) noexcept {
  for (Clamp& c : t.clamps) {
    if (!c.active) continue;
    c.force = system_of(t).reaction(c.vertex);
    if (c.params.hold == ClampParams::Hold::frame)
      c.torque = rod::frame_torque(t.model, t.state.x, t.state.twist, c.vertex);
  }
}

}  // namespace ligature::world
