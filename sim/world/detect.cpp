#include <algorithm>
#include <cmath>

#include "sim/contact/round_cone.hpp"
#include "sim/contact/tolerances.hpp"
#include "sim/world/state.hpp"

namespace ligature::world {
namespace {

constexpr double kSteep = 0.3;  // sine of the angle to a plane's normal below which a jaw comes from above

}  // namespace

void World::State::detect_obstacles(std::uint32_t thread) noexcept {
  for (const Obstacle& o : obstacles)
    if (o.flat()) detect_plane(thread, o);
}

// Contacts with other bodies, as the step before left them.
void World::State::recall_bodies() noexcept {
  std::vector<contact::BodyContact>& known = coupled[0].bodies().known();
  known.clear();
  for (std::uint32_t k = 0; k < threads.size(); ++k)
    for (std::uint32_t b = 0; b < obstacles.size(); ++b) {
      const Obstacle& o = obstacles[b];
      if (o.flat()) continue;
      for (std::uint32_t i = 0; i < threads[k].x0.size(); ++i)
        for (std::uint32_t number = 0; number < o.body.most_touches(); ++number) {
          Memory& m = memory[obstacle_slot(o.group + number, threads[k], i)];
          if (m.live && known.size() < known.capacity()) {
            contact::BodyContact c;
            c.contact.pair = {k, 0, contact::kNoStrand, b};
            c.contact.normal = m.normal_A;
            c.contact.force = m.force;
            c.vertex = i;
            c.number = number;
            known.push_back(c);
          }
          m = {};
        }
    }
}

void World::State::remember_bodies(StepReport& report) noexcept {
  for (const contact::BodyContact& b : coupled[0].bodies().contacts()) {
    const contact::StrandContact& c = b.contact;
    memory[obstacle_slot(obstacles[c.pair.edge_b].group + b.number, threads[c.pair.strand_a], b.vertex)] = {
        c.force, c.normal, true};
    if (!c.force.isZero(0)) ++report.contacts;
    report.worst_penetration_mm = std::max(report.worst_penetration_mm, -c.gap);
  }
}

void World::State::detect_plane(std::uint32_t thread, const Obstacle& obstacle) noexcept {
  const Thread& t = threads[thread];
  const contact::Obstacle& plane = obstacle.body;
  for (std::size_t i = 0; i < t.x0.size(); ++i) {
    const double offset = plane.offset() + t.model.radius_at(i);
    const double gap = plane.normal().dot(t.x0[i]) - offset;
    Memory& m = memory[obstacle_slot(obstacle.group, t, i)];
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
    c.slot = obstacle_slot(obstacle.group, t, i);
    constraints.push_back(c);
  }
}

// A jaw that comes down beside a thread on the bench would wedge it: with both frictions such a wedge locks, while the
// real thread rolls away. Where the thread lies on a plane the two gaps together leave it a distance along the plane,
//
//      jaw axis o                        h^2 = radius^2 - height^2
//        height |  \ radius
//      ---------+---o thread axis        so that is what the contact asks for, pushing along the plane.
//               | h |
//
// A jaw from straight above keeps its normal.
void World::State::along_bench(const Vector3d& place, const Vector3d& axis0, const Vector3d& axis1, double radius,
                               double thread_radius, Constraint& c, double& gap) const noexcept {
  for (const Obstacle& o : obstacles) {
    if (o.body.shape() != contact::Obstacle::Shape::plane) continue;
    const Vector3d& up = o.body.normal();
    if (up.dot(place) - o.body.offset() > 1.5 * thread_radius || up.dot(c.normal) >= 0) continue;
    const Vector3d along = c.normal - up.dot(c.normal) * up;
    if (along.norm() < kSteep) continue;
    const auto reach = [&](const Vector3d& axis) {
      const double height = up.dot(axis - place);
      return std::sqrt(std::max(0.0, radius * radius - height * height));
    };
    c.normal = along.normalized();
    c.offset = c.normal.dot(axis1) + reach(axis1);
    gap = c.normal.dot(place - axis0) - reach(axis0);
    return;
  }
}

void World::State::detect_arms(std::uint32_t thread) noexcept {
  const Thread& t = threads[thread];
  const std::size_t segments = t.model.edges();
  for (std::size_t f = 0; f < forceps.size(); ++f) {
    const Forceps& tool = forceps[f];
    if (!tool.present()) continue;
    for (int arm = 0; arm < kArms; ++arm) {
      const Pose X_WA0 = tool.X_WA_before(arm), X_WA1 = tool.X_WA(arm), X_AW0 = inverse(X_WA0);
      const contact::RoundCone cone_A = tool.cone_A(arm);
      // Calculated in A as it was at the start of the step, where the arm stands still.
      const auto local = [&](const Vector3d& p) { return to_eigen(X_AW0 * from_eigen(p)); };
      const Vec3 tip0 = X_WA0 * Vec3{}, tip1 = X_WA1 * Vec3{}, back{-tool.model().jaw_length, 0, 0};
      const double motion = std::max(norm(tip1 - tip0), norm(X_WA1 * back - X_WA0 * back));
      Vector3d p = local(t.x0[0]);
      Memory last, before;  // of the segment in front of this one, of this one: as the step before left them
      for (std::size_t j = 0; j < segments; ++j) {
        const std::size_t next = t.model.next(j);
        const Vector3d q = local(t.x0[next]);
        const Vector3d p_begin = std::exchange(p, q);
        Memory& m = memory[arm_slot(kArms * f + static_cast<std::size_t>(arm), t, j)];
        last = std::exchange(before, m);
        const double speed = std::max(t.state.v[j].norm(), t.state.v[next].norm());
        const double reach = tool.model().jaw_radius + t.model.radius + motion + speed * params.step_s + 0.5;
        // The whole segment is further from the tip than the cone is long: no closer look.
        const bool far = (p_begin - cone_A.a).norm() > tool.model().jaw_length + t.model.edge_length(j) + reach;
        const contact::ClosestPoints near = far ? contact::ClosestPoints{} : contact::closest(cone_A, p_begin, q);
        const bool doubled =
            near.s >= 1.0 && (j + 1 < segments || t.model.closed);  // the next segment begins with this very point
        if (far || doubled || near.distance > reach || near_held(f, thread, j)) {
          m = {};
          continue;
        }
        const double thread_radius = t.model.radius_at(j, near.s);
        const double radius = cone_A.radius_a + near.t * (cone_A.radius_b - cone_A.radius_a) + thread_radius;
        const Vector3d axis_A = cone_A.a + near.t * (cone_A.b - cone_A.a);
        const Vector3d place_A = axis_A + near.from_axis;
        // The normal keeps its side: one recomputed from an unsigned distance would let go through what it pushes.
        Vector3d n =
            near.distance > 1e-9 ? Vector3d(near.from_axis / near.distance) : Vector3d(0, -Forceps::side(arm), 0);
        // A thread that runs along the jaws comes with ever new segments: they are on the side of their neighbours.
        const Memory& behind =
            j + 1 < segments ? memory[arm_slot(kArms * f + static_cast<std::size_t>(arm), t, j + 1)] : before;
        const Memory& known = m.live ? m : last.live ? last : behind;
        if (known.live && n.dot(known.normal_A) < 0) n = known.normal_A;
        if (!known.live && near.distance < radius) {
          // Just let go, between the arms: the inner side.
          const Vec3 place_T = inverse(tool.X_WT_before()) * (X_WA0 * from_eigen(place_A));
          const double inner = tool.half_gap(place_T.x) + tool.radius(place_T.x);
          if (std::abs(place_T.z) < tool.radius(place_T.x) && std::abs(place_T.y) < inner && tool.opening() > 0)
            n = Vector3d(0, -Forceps::side(arm), 0);
        }
        m.live = true;
        m.normal_A = n;

        Constraint c;
        c.vertex = static_cast<std::uint32_t>(j);
        c.w0 = 1.0 - near.s;
        c.w1 = near.s;
        const Vector3d place = (1.0 - near.s) * t.x0[j] + near.s * t.x0[next];
        const Vector3d axis0 = to_eigen(X_WA0 * from_eigen(axis_A)), axis1 = to_eigen(X_WA1 * from_eigen(axis_A));
        const Vector3d n0 = to_eigen(rotate(X_WA0.q, from_eigen(n))), n1 = to_eigen(rotate(X_WA1.q, from_eigen(n)));
        c.normal = n1;
        c.offset = n1.dot(axis1) + radius;
        double gap = n0.dot(place - axis0) - radius;
        along_bench(place, axis0, axis1, radius, thread_radius, c, gap);
        c.slack = std::max(0.0, -gap - contact::kRecoverySpeed * params.step_s);
        c.anchor = to_eigen(X_WA1 * from_eigen(place_A));
        c.friction = params.friction.thread_tool;
        c.most = contact::kMostToolForce;
        c.slot = arm_slot(kArms * f + static_cast<std::size_t>(arm), t, j);
        constraints.push_back(c);
      }
    }
  }
}

void World::State::detect(StepReport& report) noexcept {
  constraints.clear();
  recall_bodies();
  for (std::uint32_t k = 0; k < threads.size(); ++k) {
    Thread& t = threads[k];
    t.constraints_first = constraints.size();
    detect_obstacles(k);
    detect_arms(k);
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
      c.engaged = c.normal.dot(c.force) > 0 || contact::gap(c, contact::place(t.x0, c)) + c.slack < 0;
      if (!c.engaged) c.force.setZero();
      const double weight = t.model.weight_mass[i] * gravity.norm();
      const double sluggish = t.model.mass[i] / (dt * dt) + t.model.drag[i] / dt;
      c.k = std::clamp(std::max({c.force.norm(), weight}) / contact::kContactSoftness, 100 * sluggish,
                       std::max(contact::kMostStiffness, 100 * sluggish));
    }
}

}  // namespace ligature::world
