#include <algorithm>
#include <cmath>

#include "sim/contact/tolerances.hpp"
#include "sim/world/state.hpp"

namespace ligature::world {
void World::State::detect_obstacles(std::uint32_t thread) noexcept {
  for (const Obstacle& o : obstacles)
    if (o.flat()) detect_plane(thread, o);
}

// Contacts with other bodies, as the step before left them.
void World::State::recall_bodies() noexcept {
  std::vector<contact::BodyContact>& known = coupled[0].bodies().known();
  known.clear();
  for (std::uint32_t k = 0; k < threads.size(); ++k)
    for (std::uint32_t b = 0; b < bodies.size(); ++b) {
      if (bodies[b]->shape() == contact::Obstacle::Shape::plane || bodies[b]->surface()) continue;
      for (std::uint32_t i = 0; i < threads[k].x0.size(); ++i) {
        Memory& m = memory[slot_of(group_of(b), threads[k], i)];
        if (m.live && known.size() < known.capacity()) {
          contact::BodyContact c;
          c.contact.pair = {k, 0, contact::kNoStrand, b};
          c.contact.normal = m.normal;
          c.contact.force = m.force;
          c.vertex = i;
          known.push_back(c);
        }
        m = {};
      }
    }
}

void World::State::remember_bodies(StepReport& report) noexcept {
  for (const contact::BodyContact& b : coupled[0].bodies().contacts()) {
    const contact::StrandContact& c = b.contact;
    memory[slot_of(group_of(c.pair.edge_b), threads[c.pair.strand_a], b.vertex)] = {c.force, c.normal, true};
    if (!c.force.isZero(0)) ++report.contacts;
    report.worst_penetration_mm = std::max(report.worst_penetration_mm, -c.gap);
  }
  coupled[0].on_meshes().remember();
  for (const contact::BodyContact& b : coupled[0].on_meshes().contacts()) {
    if (b.contact.kind == contact::StrandContact::Kind::stop) continue;
    if (!b.contact.force.isZero(0)) ++report.contacts;
    report.worst_penetration_mm = std::max(report.worst_penetration_mm, -b.contact.gap);
  }
}

void World::State::detect_plane(std::uint32_t thread, const Obstacle& obstacle) noexcept {
  const Thread& t = threads[thread];
  const contact::Obstacle& plane = obstacle.body;
  for (std::size_t i = 0; i < t.x0.size(); ++i) {
    const double offset = plane.offset() + t.model.radius_at(i);
    const double gap = plane.normal().dot(t.x0[i]) - offset;
    Memory& m = memory[slot_of(obstacle.group, t, i)];
    if (gap >= kTravelReach + 2 * t.state.v[i].norm() * params.step_s) {
      m = {};
      continue;
    }
    m.live = true;
    Constraint c;
    c.vertex = static_cast<std::uint32_t>(i);
    c.normal = plane.normal();
    c.offset = offset;
    // Judged where the plane was: what it pushes on during the step is no penetration that may stay.
    c.slack = std::max(0.0, -(gap + plane.normal().dot(plane.moved())) - contact::kRecoverySpeed * params.step_s);
    c.anchor = t.x0[i] + plane.moved();
    c.friction = params.friction.thread_obstacle;
    c.most = contact::kMostBenchForce;
    c.slot = slot_of(obstacle.group, t, i);
    constraints.push_back(c);
  }
}

void World::State::detect(StepReport& report) noexcept {
  constraints.clear();
  recall_bodies();
  for (std::uint32_t k = 0; k < threads.size(); ++k) {
    Thread& t = threads[k];
    t.constraints_first = constraints.size();
    detect_obstacles(k);
    // Only the deepest fit: the order of the rest stays that of detection, so that runs repeat bit for bit.
    const std::size_t found = constraints.size() - t.constraints_first;
    const std::size_t room = capacity.contacts > t.constraints_first ? capacity.contacts - t.constraints_first : 0;
    if (found > room) {
      const auto depth = [&](const Constraint& c) { return contact::gap(c, contact::place(t.x0, c)); };
      const auto begin = constraints.begin() + static_cast<std::ptrdiff_t>(t.constraints_first);
      std::sort(begin, constraints.end(), [&](const Constraint& a, const Constraint& b) {
        const double da = depth(a), db = depth(b);
        return da != db ? da < db : a.slot < b.slot;
      });
      for (std::size_t i = t.constraints_first + room; i < constraints.size(); ++i) {
        if (depth(constraints[i]) < 0.1) report.flags |= step_contact_overflow;
        memory[constraints[i].slot] = {};
      }
      constraints.resize(t.constraints_first + room);
    }
    add_grips(k);
    t.constraints_count = constraints.size() - t.constraints_first;
  }
}

// Forces of the step before, and an augmentation that lets them act within the softness.
void World::State::warm_start() noexcept {
  const double dt = params.step_s;
  for (Thread& t : threads)
    for (std::size_t j = t.constraints_first; j < t.constraints_first + t.constraints_count; ++j) {
      Constraint& c = constraints[j];
      if (c.kind == Constraint::Kind::grip) continue;
      const std::size_t i = c.vertex;
      c.force = memory[c.slot].force;
      c.engaged = c.normal.dot(c.force) > 0 || contact::gap(c, contact::place(t.x0, c)) + c.slack < contact::kLaid;
      if (!c.engaged) c.force.setZero();
      const double weight = t.model.weight_mass[i] * gravity.norm();
      const double sluggish = t.model.mass[i] / (dt * dt) + t.model.drag[i] / dt;
      c.k = std::clamp(std::max({c.force.norm(), weight}) / contact::kContactSoftness, 100 * sluggish,
                       std::max(contact::kMostStiffness, 100 * sluggish));
    }
}

}  // namespace ligature::world
