/// Jaws and a needle: picked up, held as it lies, slipping, let go; and what radius meets what.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "sim/contract/scene_snapshot.hpp"
#include "tests/sim/thread_scene.hpp"

namespace ligature::world {
namespace {

using std::numbers::pi;
using Kind = Place::Kind;

NeedleParams steel(double arc_mm, double arc_rad, double wire_mm) {
  NeedleParams n;
  n.arc_mm = arc_mm;
  n.arc_rad = arc_rad;
  n.wire_mm = wire_mm;
  n.at_last = true;
  n.toward = {0, 1, 0};
  n.material = round_thread(200e9, 0.28, 7.85e-3, wire_mm, 0);
  return n;
}

/// A thread along x at this height whose needle begins at the origin and bends towards y.
ThreadParams with_needle(const NeedleParams& needle, double thread_mm, double height, bool inertial) {
  ThreadParams t = nylon({{-thread_mm, 0, height}, {0, 0, height}}, kTen0, 10, inertial ? 4e-5 : 3e-3);
  t.segment_mm = 0.25;
  t.needle = needle;
  t.inertial = inertial;
  return t;
}

/// Of the rotation whose columns are these axes.
Quat quaternion(Vec3 x, Vec3 y, Vec3 z) {
  const double w = std::sqrt(std::max(0.0, 1 + x.x + y.y + z.z)) / 2;
  if (w > 1e-3) return {(y.z - z.y) / (4 * w), (z.x - x.z) / (4 * w), (x.y - y.x) / (4 * w), w};
  const double a = std::sqrt(std::max(0.0, 1 + x.x - y.y - z.z)) / 2;
  return {a, (y.x + x.y) / (4 * a), (z.x + x.z) / (4 * a), (y.z - z.y) / (4 * a)};
}

/// Jaws that come down onto a wire that runs along `along`, slanted by so much from the vertical.
Quat holding(Vec3 along, double slant) {
  const Vec3 x = -std::cos(slant) * Vec3{0, 0, 1} + std::sin(slant) * along, y = cross(Vec3{0, 0, 1}, along);
  return quaternion(x, y, cross(x, y));
}

struct Scene {
  WorldParams p = thread_world(0.005);
  std::size_t hand = 1;
  InstrumentSample sample;
  SceneSnapshot seen;

  Scene() {
    p.forceps_present = true;
    p.solver.iterations = 20;
    p.solver.residual_target = 1e-6;
    for (ForcepsParams& f : p.forceps) {
      f.grasp_opening_rad = 0.005;
      f.release_opening_rad = 0.009;
      f.grip_force = 1e6;
    }
  }
  StepReport step(World& world, Vec3 tip, Quat q, double opening) {
    InstrumentPose& pose = sample.instruments[hand];
    pose.status = TrackStatus::tracked;
    pose.confidence = 1;
    pose.X_RT = {q, tip};
    pose.opening_rad = opening;
    ++sample.sequence;
    return world.step(sample);
  }
};

// As it was when the jaws had closed, the needle lies in them while they lift and turn it: either hand, on a bench.
TEST(NeedleInJaws, IsPickedUpFromThePlaneTurnedAndLetGo) {
  for (const std::size_t hand : {0u, 1u})
    for (const double wire : {0.05, 0.1}) {
      Scene s;
      s.hand = hand;
      s.p.gravity = {0, 0, -kGravity};
      s.p.obstacles.push_back({});
      s.p.threads = {with_needle(steel(5, 3 * pi / 4, wire), 30, 0.5 * wire + 1e-3, true)};
      World world = make_world(s.p);
      const auto start = world.shape(0).x;
      const std::size_t middle = start.size() - 11, swage = start.size() - 21;
      const Vec3 along = (1 / norm(start[middle + 1] - start[middle - 1])) * (start[middle + 1] - start[middle - 1]);
      const Vec3 at = {start[middle].x, start[middle].y, 0.02};
      const Quat down = holding(along, 0.8);
      StepReport r;
      for (int k = 0; k < 20; ++k) r = s.step(world, at + Vec3{0, 0, 0.3 * (20 - k)}, down, 0.02);
      int grasped = 0;
      for (int k = 0; k <= 40; ++k)
        grasped += (s.step(world, at, down, 0.02 * (1 - k / 40.0)).flags & step_grasped) != 0;
      EXPECT_EQ(grasped, 1);
      for (int k = 0; k < 4; ++k) s.step(world, at, down, 0);
      const auto in_jaws = [&](Quat q) {
        const auto x = world.shape(0).x;
        const Vec3 chord = x.back() - x[swage], bow = x[middle] - x[swage];
        return std::pair(rotate(conjugate(q), (1 / norm(chord)) * chord), rotate(conjugate(q), (1 / norm(bow)) * bow));
      };
      const auto before = in_jaws(down);
      Quat q = down;
      double most = 0;
      for (int k = 1; k <= 160; ++k) {
        const double up = 6 * std::min(1.0, k / 60.0), turn = k > 60 ? 0.01 * (k - 60) : 0.0;
        q = axis_angle({0.6, 0, 0.8}, turn) * down;
        s.step(world, at + Vec3{0, 0, up}, q, 0);
        const auto now = in_jaws(q);
        most = std::max({most, norm(now.first - before.first), norm(now.second - before.second)});
      }
      EXPECT_LT(most, 0.02) << "the needle turned in the jaws [rad]";
      EXPECT_GT(world.shape(0).x[middle].z, 5.9);
      int released = 0;
      for (int k = 1; k <= 80; ++k)
        released += (s.step(world, at + Vec3{0, 0, 6}, q, std::min(0.02, 0.002 * k)).flags & step_released) != 0;
      EXPECT_EQ(released, 1);
      const auto fallen = world.shape(0).x;
      for (std::size_t i = swage; i < fallen.size(); ++i) EXPECT_NEAR(fallen[i].z, 0.5 * wire, 1e-3);
    }
}

// Pulled along the wire by less than the grip it stays, by more it comes out.
TEST(NeedleInJaws, HoldsBelowTheGripAndSlipsAboveIt) {
  for (const double part : {0.8, 0.95, 1.1, 1.5}) {
    Scene s;
    const double grip = 5e4;
    for (ForcepsParams& f : s.p.forceps) f.grip_force = grip;
    ThreadParams t = with_needle(steel(5, 0, 0.1), 5, 0, false);
    ForceParams pull = force_at(Kind::arc, {-part * grip, 0, 0}, 0.1);  // at the swage
    pull.at.s_mm = 5;
    pull.from_s = 0.2;
    t.forces = {pull};
    s.p.threads = {t};
    World world = make_world(s.p);
    const auto start = world.shape(0).x;
    const std::size_t middle = start.size() - 11;
    const Quat down = holding({1, 0, 0}, 0.3);
    for (int k = 0; k <= 40; ++k) s.step(world, start[middle], down, 0.02 * std::max(0.0, 1 - k / 30.0));
    const Vec3 held = world.shape(0).x[middle];
    for (int k = 0; k < 60; ++k) s.step(world, start[middle], down, 0);
    const double slid = norm(world.shape(0).x[middle] - held);
    if (part < 1)
      EXPECT_LT(slid, 0.021) << part << ": the give of the pads";
    else
      EXPECT_GT(slid, 0.2) << part;
  }
}

// A needle that flies between closing jaws stops there; nothing of it, nor of its thread, ever goes faster than it
// flew.
TEST(NeedleInJaws, GraspingAMovingNeedleDoesNotJerkIt) {
  for (const double speed : {20.0, 100.0}) {
    Scene s;
    ThreadParams t = with_needle(steel(5, 0, 0.1), 15, 0, true);
    const Vec3 along = {1, 0, 0};
    t.velocity = speed * along;
    s.p.threads = {t};
    World world = make_world(s.p);
    const auto start = world.shape(0).x;
    const std::size_t middle = start.size() - 11;
    const Vec3 at = start[middle] + 0.1 * t.velocity + Vec3{0, 0.12, 0};  // off the middle between the faces
    const Quat down = holding(along, 0.3);
    double fastest = 0, energy = 1e300, opening = 0.0095;
    int grasped = 0;
    for (int k = 0; k < 60; ++k) {
      const bool near = norm(world.shape(0).x[middle] - at) < 0.13 + 1.6 * speed * 0.005 + 0.05 || grasped > 0;
      opening = near ? 0.0045 : 0.0095;
      const StepReport r = s.step(world, at - Vec3{0, 0, 1}, down, opening);
      grasped += (r.flags & step_grasped) != 0;
      const ThreadMeasure m = world.measure(0, false);
      fastest = std::max(fastest, m.speed_max_mm_per_s);
      const double now = m.kinetic_energy + m.bend_energy + m.twist_energy + m.stretch_energy;
      EXPECT_LT(now, 1.001 * energy + 1e-3) << "step " << k << " at " << speed;
      energy = now;
    }
    EXPECT_EQ(grasped, 1) << speed;
    EXPECT_LT(fastest, 1.01 * speed);
    EXPECT_LT(norm(world.shape(0).x[middle] - at), 1.5) << "it stays in the jaws";
  }
}

/// The smooth centreline, which is what touches, at a parameter that counts vertices.
Vec3 on_curve(const std::vector<Vec3>& x, double u) {
  const double whole = std::floor(u + 0.5), t = u + 0.5 - whole;
  const auto i = static_cast<std::size_t>(whole);
  return 0.5 * (1 - t) * (1 - t) * x[i - 1] + (0.5 + t - t * t) * x[i] + 0.5 * t * t * x[i + 1];
}

// Each section lies its own radius off what it lies on.
TEST(TwoRadii, EachSectionTouchesWithItsOwn) {
  // On a cylinder along y, thread and straight needle side by side across it, drawn down by their weight.
  for (const bool wire : {false, true}) {
    WorldParams p = thread_world(0.005);
    p.solver.iterations = 60;
    p.gravity = {0, 0, -kGravity};
    ObstacleParams post;
    post.shape = ObstacleParams::Shape::cylinder;
    post.from = {wire ? 2.5 : -2.5, -3, -1};
    post.to = {wire ? 2.5 : -2.5, 3, -1};
    post.diameter_mm = 2;
    p.obstacles = {post};
    ThreadParams t = with_needle(steel(5, 0, 0.1), 5, 0.06, false);
    t.clamps = {clamp_at(Kind::first, ClampParams::Hold::position), clamp_at(Kind::last, ClampParams::Hold::position)};
    for (ClampParams& c : t.clamps) {
      c.velocity = {0, 0, -4};
      c.until_s = 0.1;
    }
    p.threads = {t};
    World world = make_world(p);
    for (int k = 0; k < 19; ++k) world.step({});
    int touching = 0;
    for (const ContactMeasure& c : world.contacts()) {
      if (!(c.normal_force > 0)) continue;
      ++touching;
      EXPECT_NEAR(c.gap_mm, 0, 2e-3);
      EXPECT_EQ(c.s_mm > 5, wire);
      const Vec3 over = on_curve(world.shape(0).x, c.s_mm / 0.25);
      EXPECT_NEAR(std::hypot(over.x - post.from.x, over.z + 1) - 1, wire ? 0.05 : 0.0125, 2e-3) << wire;
    }
    EXPECT_GT(touching, 0);
  }
}

TEST(TwoRadii, ANeedleAndAThreadCrossAtTheSumOfTheirs) {
  for (const bool wire : {false, true}) {
    WorldParams p = thread_world(0.005);
    p.solver.iterations = 60;
    ThreadParams t = with_needle(steel(5, 0, 0.1), 5, 0, false);
    t.clamps = {clamp_at(Kind::first, ClampParams::Hold::position), clamp_at(Kind::last, ClampParams::Hold::position)};
    const double at = wire ? 2.5 : -2.5;
    ThreadParams across = nylon({{at, -3, 0.1}, {at, 3, 0.1}}, 0.04, 24, 3e-3);
    across.clamps = {clamp_at(Kind::first, ClampParams::Hold::position),
                     clamp_at(Kind::last, ClampParams::Hold::position)};
    for (ClampParams& c : across.clamps) c.velocity = {0, 0, -2};
    p.threads = {t, across};
    World world = make_world(p);
    for (int k = 0; k < 20; ++k) world.step({});
    int touching = 0;
    for (const ContactMeasure& c : world.contacts()) {
      if (!(c.normal_force > 0)) continue;
      ++touching;
      EXPECT_NEAR(c.gap_mm, 0, 2e-3);
    }
    EXPECT_GT(touching, 0) << wire;
    const Vec3 lower = on_curve(world.shape(0).x, wire ? 30 : 10), upper = on_curve(world.shape(1).x, 12);
    EXPECT_NEAR(upper.z - lower.z, (wire ? 0.05 : 0.0125) + 0.02, 2e-3) << wire;
  }
}

}  // namespace
}  // namespace ligature::world
