#include "sim/world/world.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "sim/base/eigen.hpp"
#include "sim/base/hash.hpp"
#include "sim/contact/constraint.hpp"
#include "sim/contact/implicit_step.hpp"
#include "sim/contact/round_cone.hpp"
#include "sim/contact/tolerances.hpp"
#include "sim/instrument/forceps.hpp"
#include "sim/instrument/grasp.hpp"
#include "sim/rod_old/rod.hpp"
#include "sim/world/build.hpp"

namespace ligature::world {
namespace {

using contact::Constraint;
using Eigen::Vector3d;
using instrument::Forceps;
using instrument::Grasp;
using instrument::Held;

constexpr int kArms = 2;
constexpr std::size_t kAllArms = kArms * kInstruments;
constexpr double kTravelLimit = 5.0;   // of a vertex in one step [mm]
constexpr double kEaseSpeed = 20.0;    // at which a released vertex may start to give way [mm/s]
constexpr double kEaseDecay = 0.7;     // of its extra drag, per step
constexpr double kSteep = 0.3;         // sine of the angle to a plane's normal below which a jaw comes from above
constexpr double kGripShedding = 0.5;  // a sliding vertex this far outside the faces is no longer held [mm]

struct Plane {
  Vector3d normal;
  double offset = 0;  // n.x of the surface
};

struct Thread {
  rod_old::RodModel model;
  rod_old::RodState state;
  std::vector<Vector3d> x0;  // at the start of the step: the last good state
  std::size_t first = 0;     // of its vertices among all
  std::size_t constraints_first = 0, constraints_count = 0;
};

/// What a contact remembers from step to step, by persistent identity: (plane, vertex) or (arm, segment).
struct Memory {
  Vector3d force{0, 0, 0};     // W [uN]
  Vector3d normal_A{0, 0, 0};  // of an arm: the side the thread is on
  bool live = false;
};

}  // namespace

struct World::State {
  WorldParams params;
  Capacity capacity;
  instrument::Mount mount;
  std::vector<Plane> planes;
  std::vector<Thread> threads;
  std::vector<Forceps> forceps;
  std::array<Grasp, kInstruments> grasps;
  std::vector<Memory> memory;
  std::vector<Constraint> constraints;  // grouped by thread
  contact::ImplicitStep solver{0, 0};
  contact::StepSettings settings;
  StageObserver observer = nullptr;
  void* observer_context = nullptr;
  bool inject = false;

  std::size_t vertices = 0;
  std::uint64_t step = 0;
  std::uint32_t grasp_count = 0, resets = 0;
  std::uint64_t sample_sequence = 0;
  std::int64_t sample_mid_exposure_ns = 0, sample_captured_ns = 0;
  std::uint8_t cameras_alive = 0;

  void stage(StepStage s) const noexcept {
    if (observer) observer(observer_context, s);
  }
  std::size_t plane_slot(std::size_t plane, const Thread& t, std::size_t vertex) const {
    return plane * vertices + t.first + vertex;
  }
  std::size_t arm_slot(std::size_t arm, const Thread& t, std::size_t segment) const {
    return (planes.size() + arm) * vertices + t.first + segment;
  }

  void move_instruments(const InstrumentSample& sample, StepReport& report) noexcept;
  bool try_grasp(std::size_t f) noexcept;
  void let_go(std::size_t f) noexcept;
  bool is_held(std::size_t f, std::uint32_t thread, std::size_t vertex) const noexcept;
  bool near_held(std::size_t f, std::uint32_t thread, std::size_t segment) const noexcept;
  void detect(StepReport& report) noexcept;
  void detect_planes(std::uint32_t thread) noexcept;
  void detect_arms(std::uint32_t thread) noexcept;
  void along_bench(const Vector3d& place, const Vector3d& axis0, const Vector3d& axis1, double radius,
                   double thread_radius, Constraint& c, double& gap) const noexcept;
  void add_grips(std::uint32_t thread) noexcept;
  void warm_start() noexcept;
  void solve(StepReport& report) noexcept;
  void integrate(StepReport& report) noexcept;
  void update_grips(StepReport& report) noexcept;
};

// ---------------------------------------------------------------------------------------------- instruments

bool World::State::is_held(std::size_t f, std::uint32_t thread, std::size_t vertex) const noexcept {
  for (const Held& h : grasps[f].held)
    if (h.thread == thread && h.vertex == vertex) return true;
  return false;
}

// Closed jaws overlap the thread they hold, and a little of it on both sides: no collision there.
bool World::State::near_held(std::size_t f, std::uint32_t thread, std::size_t segment) const noexcept {
  const double window = 2.0 * forceps[f].model().jaw_radius + 2.0 * threads[thread].model.radius;
  const auto reach = static_cast<std::size_t>(std::ceil(window / threads[thread].model.rest_length)) + 1;
  for (const Held& h : grasps[f].held)
    if (h.thread == thread && segment + reach >= h.vertex && segment <= h.vertex + reach) return true;
  return false;
}

bool World::State::try_grasp(std::size_t f) noexcept {
  const Forceps& tool = forceps[f];
  Grasp& grasp = grasps[f];
  const Pose X_TW = inverse(tool.X_WT());
  grasp.held.clear();
  grasp.frame_held = false;
  for (std::uint32_t k = 0; k < threads.size(); ++k) {
    const Thread& t = threads[k];
    const auto take = [&](std::size_t vertex) {
      if (vertex < t.state.x.size() && !is_held(f, k, vertex))
        grasp.held.push_back({k, static_cast<std::uint32_t>(vertex), X_TW * from_eigen(t.state.x[vertex]), {0, 0, 0}});
    };
    const auto inside = [&](const Vector3d& p) { return tool.between_faces(X_TW * from_eigen(p), t.model.radius); };
    // A long segment may cross the faces with both ends outside; a short one is held together with its neighbour, so
    // that the grip also fixes the direction.
    const double slim = 0.5 * tool.model().tip_radius;
    const int parts = std::clamp(static_cast<int>(std::ceil(t.model.rest_length / slim)), 1, 16);
    for (std::size_t i = 0; i + 1 < t.state.x.size(); ++i) {
      bool crosses = false;
      for (int s = 0; s <= parts && !crosses; ++s)
        crosses = inside(t.state.x[i] + (static_cast<double>(s) / parts) * (t.state.x[i + 1] - t.state.x[i]));
      if (!crosses) continue;
      take(i);
      take(i + 1);
      if (!grasp.frame_held) {
        rod_old::Twist& twist = threads[k].state.twist;
        if (!twist.any_held() && t.model.rest_curvature.empty()) twist.restart(t.state.x);
        grasp.frame_held = true;
        grasp.frame_thread = k;
        grasp.frame_edge = static_cast<std::uint32_t>(i);
        grasp.frame_d1_T = rotate(X_TW.q, from_eigen(twist.material(i).d1));
      }
    }
  }
  grasp.active = !grasp.held.empty();
  return grasp.active;
}

void World::State::let_go(std::size_t f) noexcept {
  Grasp& grasp = grasps[f];
  for (const Held& h : grasp.held) {
    rod_old::RodState& state = threads[h.thread].state;
    state.ease[h.vertex] = std::max(state.ease[h.vertex], h.force_W.norm() / kEaseSpeed);
  }
  if (grasp.frame_held) {
    const Grasp& other = grasps[1 - f];
    const bool shared = other.active && other.frame_held && other.frame_thread == grasp.frame_thread &&
                        other.frame_edge == grasp.frame_edge;
    if (!shared) threads[grasp.frame_thread].state.twist.release(grasp.frame_edge);
  }
  grasp.held.clear();
  grasp.frame_held = grasp.active = grasp.armed = false;
}

void World::State::move_instruments(const InstrumentSample& sample, StepReport& report) noexcept {
  for (std::size_t f = 0; f < forceps.size(); ++f) {
    Forceps& tool = forceps[f];
    Grasp& grasp = grasps[f];
    const bool was_gone = !tool.present() || tool.given_up();
    tool.follow(sample.instruments[f], mount, params.step_s);
    if (tool.status() == TrackStatus::lost) report.flags |= step_instrument_lost;
    if (was_gone && !tool.given_up())  // it appears: no side of it is remembered
      for (std::size_t slot = (planes.size() + kArms * f) * vertices;
           slot < (planes.size() + kArms * (f + 1)) * vertices; ++slot)
        memory[slot] = {};
    if (grasp.active && (tool.opening() > tool.model().release_opening || tool.given_up())) {
      let_go(f);
      report.flags |= step_released;
    }
    if (tool.status() == TrackStatus::lost || grasp.active) continue;
    if (tool.opening() > tool.model().release_opening) grasp.armed = true;
    if (!grasp.armed || tool.opening() >= tool.model().grasp_opening) continue;
    if (try_grasp(f)) {
      report.flags |= step_grasped;
      ++grasp_count;
    } else if (tool.half_gap(0) < tool.model().tip_radius) {
      grasp.armed = false;  // closed on nothing
    }
  }
}

// --------------------------------------------------------------------------------------------------- detect

void World::State::detect_planes(std::uint32_t thread) noexcept {
  const Thread& t = threads[thread];
  for (std::size_t p = 0; p < planes.size(); ++p)
    for (std::size_t i = 0; i < t.x0.size(); ++i) {
      const double offset = planes[p].offset + t.model.radius;
      const double gap = planes[p].normal.dot(t.x0[i]) - offset;
      Memory& m = memory[plane_slot(p, t, i)];
      if (gap >= kTravelLimit) {
        m = {};
        continue;
      }
      m.live = true;
      Constraint c;
      c.vertex = static_cast<std::uint32_t>(i);
      c.normal = planes[p].normal;
      c.offset = offset;
      c.slack = std::max(0.0, -gap - contact::kRecoverySpeed * params.step_s);
      c.anchor = t.x0[i];
      c.friction = params.friction.thread_obstacle;
      c.most = contact::kMostBenchForce;
      c.slot = plane_slot(p, t, i);
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
  for (const Plane& plane : planes) {
    if (plane.normal.dot(place) - plane.offset > 1.5 * thread_radius || plane.normal.dot(c.normal) >= 0) continue;
    const Vector3d along = c.normal - plane.normal.dot(c.normal) * plane.normal;
    if (along.norm() < kSteep) continue;
    const auto reach = [&](const Vector3d& axis) {
      const double height = plane.normal.dot(axis - place);
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
  const std::size_t segments = t.x0.size() - 1;
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
      for (std::size_t j = 0; j < segments; ++j) {
        const Vector3d q = local(t.x0[j + 1]);
        const Vector3d p_begin = std::exchange(p, q);
        Memory& m = memory[arm_slot(kArms * f + static_cast<std::size_t>(arm), t, j)];
        const double speed = std::max(t.state.v[j].norm(), t.state.v[j + 1].norm());
        const double reach = tool.model().jaw_radius + t.model.radius + motion + speed * params.step_s + 0.5;
        // The whole segment is further from the tip than the cone is long: no closer look.
        const bool far = (p_begin - cone_A.a).norm() > tool.model().jaw_length + t.model.rest_length + reach;
        const contact::ClosestPoints near = far ? contact::ClosestPoints{} : contact::closest(cone_A, p_begin, q);
        const bool doubled = near.s >= 1.0 && j + 1 < segments;  // the next segment begins with this very point
        if (far || doubled || near.distance > reach || near_held(f, thread, j)) {
          m = {};
          continue;
        }
        const double radius = cone_A.radius_a + near.t * (cone_A.radius_b - cone_A.radius_a) + t.model.radius;
        const Vector3d axis_A = cone_A.a + near.t * (cone_A.b - cone_A.a);
        const Vector3d place_A = axis_A + near.from_axis;
        // The normal keeps its side: one recomputed from an unsigned distance would let go through what it pushes.
        Vector3d n =
            near.distance > 1e-9 ? Vector3d(near.from_axis / near.distance) : Vector3d(0, -Forceps::side(arm), 0);
        if (m.live && n.dot(m.normal_A) < 0) n = m.normal_A;
        if (!m.live && near.distance < radius) {
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
        const Vector3d place = (1.0 - near.s) * t.x0[j] + near.s * t.x0[j + 1];
        const Vector3d axis0 = to_eigen(X_WA0 * from_eigen(axis_A)), axis1 = to_eigen(X_WA1 * from_eigen(axis_A));
        const Vector3d n0 = to_eigen(rotate(X_WA0.q, from_eigen(n))), n1 = to_eigen(rotate(X_WA1.q, from_eigen(n)));
        c.normal = n1;
        c.offset = n1.dot(axis1) + radius;
        double gap = n0.dot(place - axis0) - radius;
        along_bench(place, axis0, axis1, radius, t.model.radius, c, gap);
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

void World::State::add_grips(std::uint32_t thread) noexcept {
  const Thread& t = threads[thread];
  for (std::size_t f = 0; f < forceps.size(); ++f) {
    Grasp& grasp = grasps[f];
    for (std::size_t h = 0; h < grasp.held.size(); ++h) {
      Held& held = grasp.held[h];
      if (held.thread != thread) continue;
      held.anchor_T = forceps[f].squeezed(held.anchor_T, t.model.radius);
      Constraint c;
      c.kind = Constraint::Kind::grip;
      c.flipped = true;  // the secant: a grip at its bound must not be without stiffness
      c.vertex = held.vertex;
      c.anchor = to_eigen(forceps[f].X_WT() * held.anchor_T);
      c.bound = forceps[f].model().grip_force / static_cast<double>(grasp.held.size());
      c.k = c.bound / contact::kGripGive;
      c.slot = f * instrument::kMostHeld + h;
      constraints.push_back(c);
    }
  }
}

void World::State::detect(StepReport& report) noexcept {
  constraints.clear();
  for (std::uint32_t k = 0; k < threads.size(); ++k) {
    Thread& t = threads[k];
    t.constraints_first = constraints.size();
    detect_planes(k);
    detect_arms(k);
    // Only the deepest fit: the order of the rest stays that of detection, so that runs repeat bit for bit.
    const std::size_t found = constraints.size() - t.constraints_first;
    const std::size_t room = capacity.contacts > t.constraints_first ? capacity.contacts - t.constraints_first : 0;
    if (found > room) {
      const auto depth = [&](const Constraint& c) {
        return contact::gap(c,
                            c.w1 == 0 ? t.x0[c.vertex] : Vector3d(c.w0 * t.x0[c.vertex] + c.w1 * t.x0[c.vertex + 1]));
      };
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

// ---------------------------------------------------------------------------------------------------- solve

// Forces of the step before, and an augmentation that lets them act within the softness.
void World::State::warm_start() noexcept {
  const double dt = params.step_s;
  for (Thread& t : threads)
    for (std::size_t j = t.constraints_first; j < t.constraints_first + t.constraints_count; ++j) {
      Constraint& c = constraints[j];
      if (c.kind == Constraint::Kind::grip) continue;
      const std::size_t i = c.vertex;
      c.force = memory[c.slot].force;
      const Vector3d place = c.w1 == 0 ? t.x0[i] : Vector3d(c.w0 * t.x0[i] + c.w1 * t.x0[i + 1]);
      c.engaged = c.normal.dot(c.force) > 0 || contact::gap(c, place) + c.slack < 0;
      if (!c.engaged) c.force.setZero();
      const double weight = t.model.weight_mass[i] * settings.gravity.norm();
      const double sluggish = t.model.mass[i] / (dt * dt) + t.model.drag[i] / dt;
      c.k = std::clamp(std::max({c.force.norm(), weight}) / contact::kContactSoftness, 100 * sluggish,
                       std::max(contact::kMostStiffness, 100 * sluggish));
    }
}

void World::State::solve(StepReport& report) noexcept {
  for (Thread& t : threads) {
    if (inject) t.state.x[t.state.x.size() / 2].x() = std::numeric_limits<double>::quiet_NaN(), inject = false;
    const contact::StepOutcome out =
        solver.solve(t.model, t.x0, t.state, constraints.data() + t.constraints_first, t.constraints_count, settings);
    report.iterations += static_cast<std::uint32_t>(out.iterations);
    if (!out.finite) {
      // The last good state: where the thread was, at rest, touched by nothing.
      t.state.x = t.x0;
      for (std::size_t i = 0; i < t.x0.size(); ++i) t.state.v[i].setZero();
      for (std::size_t j = t.constraints_first; j < t.constraints_first + t.constraints_count; ++j)
        constraints[j].force.setZero();
      report.flags |= step_non_finite_restored;
      ++resets;
      continue;
    }
    report.residual = std::max(report.residual, out.residual);
    if (!out.converged) report.flags |= step_not_converged;
    if (out.limited) report.flags |= step_limited;
  }
}

// ------------------------------------------------------------------------------------------------ integrate

// A vertex that slid takes its anchor along; out of the faces it is free. New ones come in between the faces.
void World::State::update_grips(StepReport& report) noexcept {
  for (std::size_t f = 0; f < forceps.size(); ++f) {
    Grasp& grasp = grasps[f];
    if (!grasp.active) continue;
    const Forceps& tool = forceps[f];
    const Pose X_TW = inverse(tool.X_WT());
    bool slid = false;
    for (const Thread& t : threads)
      for (std::size_t j = t.constraints_first; j < t.constraints_first + t.constraints_count; ++j) {
        const Constraint& c = constraints[j];
        if (c.kind != Constraint::Kind::grip || c.slot / instrument::kMostHeld != f) continue;
        Held& held = grasp.held[c.slot % instrument::kMostHeld];
        const Vector3d strain = c.anchor - t.state.x[c.vertex];
        const double pull = c.k * strain.norm();
        held.force_W = std::min(1.0, c.bound / std::max(pull, 1e-300)) * c.k * strain;
        if (pull <= c.bound) continue;
        slid = true;
        held.anchor_T = X_TW * from_eigen(t.state.x[c.vertex] + held.force_W / c.k);
      }
    if (!slid) continue;
    std::size_t kept = 0;
    for (std::size_t h = 0; h < grasp.held.size(); ++h) {
      const Held held = grasp.held[h];
      const Vec3 p = held.anchor_T;
      const double room = std::max(kGripShedding, threads[held.thread].model.rest_length);
      const bool out = p.x > room || p.x < -tool.model().grasp_reach - room || std::abs(p.z) > tool.radius(p.x) + room;
      if (!out) grasp.held[kept++] = held;
    }
    grasp.held.resize(kept);
    for (std::uint32_t k = 0; k < threads.size(); ++k)
      for (std::size_t i = 0; i < threads[k].state.x.size(); ++i) {
        const Vec3 p_T = X_TW * from_eigen(threads[k].state.x[i]);
        if (tool.between_faces(p_T, threads[k].model.radius) && !is_held(f, k, i))
          grasp.held.push_back({k, static_cast<std::uint32_t>(i), p_T, {0, 0, 0}});
      }
    if (grasp.frame_held && !is_held(f, grasp.frame_thread, grasp.frame_edge)) {
      threads[grasp.frame_thread].state.twist.release(grasp.frame_edge);
      grasp.frame_held = false;
    }
    if (grasp.held.empty()) {
      let_go(f);
      report.flags |= step_released;
    }
  }
}

void World::State::integrate(StepReport& report) noexcept {
  const double per_dt = 1.0 / params.step_s;
  const bool restored = report.flags & step_non_finite_restored;
  for (Thread& t : threads) {
    for (std::size_t i = 0; i < t.x0.size(); ++i) {
      t.state.v[i] = per_dt * (t.state.x[i] - t.x0[i]);
      t.state.ease[i] *= kEaseDecay;
      if (t.state.ease[i] < 0.1 * t.model.drag[i]) t.state.ease[i] = 0;
    }
    for (std::size_t j = t.constraints_first; j < t.constraints_first + t.constraints_count; ++j) {
      const Constraint& c = constraints[j];
      if (c.kind == Constraint::Kind::grip) continue;
      memory[c.slot].force = c.force;
      if (c.force.squaredNorm() > 0) ++report.contacts;
      const Vector3d p =
          c.w1 == 0 ? t.state.x[c.vertex] : Vector3d(c.w0 * t.state.x[c.vertex] + c.w1 * t.state.x[c.vertex + 1]);
      report.worst_penetration_mm = std::max(report.worst_penetration_mm, -contact::gap(c, p));
    }
  }
  if (!restored) update_grips(report);
  // Frames matter only where one is held, or where the rest shape is drawn in them.
  for (Thread& t : threads)
    if (t.state.twist.any_held() || !t.model.rest_curvature.empty()) t.state.twist.transport(t.state.x);
  for (std::size_t f = 0; f < forceps.size(); ++f) {
    const Grasp& grasp = grasps[f];
    if (grasp.frame_held)
      threads[grasp.frame_thread].state.twist.hold_director(grasp.frame_edge,
                                                            to_eigen(rotate(forceps[f].X_WT().q, grasp.frame_d1_T)));
  }
  for (Thread& t : threads)
    if (t.state.twist.any_held()) t.state.twist.distribute(t.model.twist_stiffness, t.model.rest_length);
}

// --------------------------------------------------------------------------------------------------- public

World::World(std::unique_ptr<State> state) : state_(std::move(state)) {}
World::World(World&&) noexcept = default;
World& World::operator=(World&&) noexcept = default;
World::~World() = default;

Result<World> World::create(const WorldParams& params, const Capacity& capacity) {
  if (auto ok = check(params, capacity); !ok) return Unexpected{ok.error()};
  auto s = std::make_unique<State>();
  s->params = params;
  s->capacity = capacity;
  s->mount = {params.X_RW, params.motion_scale};
  for (const PlaneParams& p : params.planes) {
    const Vector3d n = to_eigen(p.normal).normalized();
    s->planes.push_back({n, n.dot(to_eigen(p.point))});
  }
  std::size_t longest = 0;
  for (const ThreadParams& p : params.threads) {
    Thread t{.model = {}, .state = {{}, {}, {}, rod_old::Twist(resample(p.points, p.segment_mm))}, .x0 = {}};
    t.state.x = resample(p.points, p.segment_mm);
    t.model = build_model(p, t.state.x);
    t.state.v.assign(t.state.x.size(), Vector3d::Zero());
    t.state.ease.assign(t.state.x.size(), 0.0);
    t.x0 = t.state.x;
    t.first = s->vertices;
    s->vertices += t.x0.size();
    longest = std::max(longest, t.x0.size());
    s->threads.push_back(std::move(t));
  }
  if (params.forceps_present)
    for (const ForcepsParams& f : params.forceps) s->forceps.emplace_back(build_forceps(f, params.lost_release_s));
  s->memory.resize((s->planes.size() + kAllArms) * s->vertices);
  s->constraints.reserve(s->memory.size() + kInstruments * instrument::kMostHeld);
  s->solver = contact::ImplicitStep(longest, s->constraints.capacity());
  s->settings = {.dt = params.step_s,
                 .gravity = to_eigen(params.gravity),
                 .iterations = params.solver.iterations,
                 .residual_target = params.solver.residual_target,
                 .travel_limit = kTravelLimit};
  return World(std::move(s));
}

StepReport World::step(const InstrumentSample& sample) noexcept {
  State& s = *state_;
  StepReport report;
  report.step = s.step;
  s.sample_sequence = sample.sequence;
  s.sample_mid_exposure_ns = sample.mid_exposure_ns;
  s.sample_captured_ns = sample.captured_ns;
  s.cameras_alive = sample.cameras_alive;
  s.move_instruments(sample, report);
  s.stage(StepStage::instruments);
  for (Thread& t : s.threads) t.x0 = t.state.x;
  s.detect(report);
  s.stage(StepStage::detect);
  s.warm_start();
  s.stage(StepStage::couple);
  s.solve(report);
  s.stage(StepStage::solve);
  s.integrate(report);
  s.stage(StepStage::integrate);
  for (const Grasp& g : s.grasps) report.grasped_vertices += static_cast<std::uint32_t>(g.held.size());
  ++s.step;
  s.stage(StepStage::finish);
  return report;
}

void World::snapshot(SceneSnapshot& out) const noexcept {
  const State& s = *state_;
  out.step = s.step;
  out.time_ns = static_cast<std::int64_t>(std::llround(static_cast<double>(s.step) * s.params.step_s * 1e9));
  out.sample_sequence = s.sample_sequence;
  out.sample_mid_exposure_ns = s.sample_mid_exposure_ns;
  out.sample_captured_ns = s.sample_captured_ns;
  out.cameras_alive = s.cameras_alive;
  out.grasps = s.grasp_count;
  out.non_finite_resets = s.resets;
  for (std::size_t f = 0; f < kInstruments; ++f) {
    SnapshotForceps& shown = out.forceps[f] = {};
    if (f >= s.forceps.size() || !s.forceps[f].present()) continue;
    shown.status = s.forceps[f].status();
    shown.X_WT = s.forceps[f].X_WT();
    shown.opening_rad = s.forceps[f].opening();
    shown.grasping = s.grasps[f].active;
    shown.confidence = s.forceps[f].confidence();
  }
  out.threads.clear();
  out.vertices.clear();
  for (const Thread& t : s.threads) {
    out.threads.push_back({static_cast<std::uint32_t>(out.vertices.size()), static_cast<std::uint32_t>(t.x0.size()),
                           static_cast<float>(t.model.radius), false});
    for (const Vector3d& x : t.state.x)
      out.vertices.push_back({static_cast<float>(x.x()), static_cast<float>(x.y()), static_cast<float>(x.z())});
  }
}

std::uint64_t World::state_hash() const noexcept {
  const State& s = *state_;
  StateHash hash;
  hash.add(s.step);
  hash.add(static_cast<std::uint64_t>(s.grasp_count) << 32 | s.resets);
  for (const Thread& t : s.threads) {
    hash.bytes(t.state.x.data(), sizeof(Vector3d) * t.state.x.size());
    hash.bytes(t.state.v.data(), sizeof(Vector3d) * t.state.v.size());
    hash.bytes(t.state.ease.data(), sizeof(double) * t.state.ease.size());
    t.state.twist.add_to(hash);
  }
  for (const Forceps& f : s.forceps) f.add_to(hash);
  for (const Grasp& g : s.grasps) {
    hash.add(static_cast<std::uint64_t>(g.active) << 2 | static_cast<std::uint64_t>(g.armed) << 1 |
             static_cast<std::uint64_t>(g.frame_held));
    hash.add(static_cast<std::uint64_t>(g.frame_thread) << 32 | g.frame_edge);
    for (const Held& h : g.held) {
      hash.add(static_cast<std::uint64_t>(h.thread) << 32 | h.vertex);
      for (double v : {h.anchor_T.x, h.anchor_T.y, h.anchor_T.z}) hash.add(v);
      hash.bytes(h.force_W.data(), sizeof(double) * 3);
    }
  }
  for (const Memory& m : s.memory) {
    hash.add(static_cast<std::uint64_t>(m.live));
    if (!m.live) continue;
    hash.bytes(m.force.data(), sizeof(double) * 3);
    hash.bytes(m.normal_A.data(), sizeof(double) * 3);
  }
  return hash.value();
}

std::size_t World::thread_count() const noexcept {
  return state_->threads.size();
}
double World::time_s() const noexcept {
  return static_cast<double>(state_->step) * state_->params.step_s;
}

ThreadMeasure World::measure(std::size_t thread, bool) const {
  const Thread& t = state_->threads[thread];
  ThreadMeasure m;
  m.name = state_->params.threads[thread].name;
  m.vertices = t.x0.size();
  for (std::size_t i = 0; i + 1 < m.vertices; ++i) {
    const double length = (t.state.x[i + 1] - t.state.x[i]).norm();
    m.length_mm += length;
    m.rest_length_mm += t.model.rest_length;
    m.elongation_max = std::max(m.elongation_max, length / t.model.rest_length - 1);
  }
  for (const Vector3d& v : t.state.v) m.speed_max_mm_per_s = std::max(m.speed_max_mm_per_s, v.norm());
  m.stretch_energy = elastic_energy(t.model, t.state.x, t.state.twist);
  return m;
}

ThreadShape World::shape(std::size_t thread) const {
  const Thread& t = state_->threads[thread];
  ThreadShape s;
  for (std::size_t i = 0; i < t.state.x.size(); ++i) {
    s.x.push_back(from_eigen(t.state.x[i]));
    s.twist_rad.push_back(t.state.twist.joint(i));
    s.s_mm.push_back(static_cast<double>(i) * t.model.rest_length);
  }
  return s;
}

std::vector<ClampMeasure> World::clamps() const {
  std::vector<ClampMeasure> out;
  for (std::size_t k = 0; k < state_->params.threads.size(); ++k)
    for (std::size_t c = 0; c < state_->params.threads[k].clamps.size(); ++c) out.push_back({k, c, 0, false, {}, {}});
  return out;
}

std::vector<ContactMeasure> World::contacts() const {
  return {};
}

void World::observe_stages(StageObserver observer, void* context) noexcept {
  state_->observer = observer;
  state_->observer_context = context;
}

void World::inject_non_finite() noexcept {
  state_->inject = true;
}

}  // namespace ligature::world
