// Any stiffness, any step, any shape at the start: finite, never more energy, and rest.
#include <cstdio>

#include "tests/sim/thread_zigzag.hpp"

namespace ligature::world {
namespace {

void expect_calm(const ZigzagRun& run, const Zigzag& z) {
  EXPECT_TRUE(run.finite) << z.text << " step " << run.steps;
  EXPECT_LT(run.grew, 0) << z.text << " by " << run.growth;
  if (z.may_rest) {
    EXPECT_LT(run.speed, 1e-6) << z.text << ", lengths a step";
  }
}

// 1e-3 to 1e9 of nominal, 0.1 to 30 ms.
TEST(Robustness, RandomZigzagsNeverGainEnergyAndComeToRest) {
  constexpr std::uint64_t kFirstSeed = 20000;
  int steps = 0;
  std::uint64_t seed = kFirstSeed;
  for (; steps < 10000 || seed < kFirstSeed + 50; ++seed) {
    const Zigzag z = random_zigzag(seed);
    const ZigzagRun run = run_zigzag(z);
    steps += run.steps;
    expect_calm(run, z);
  }
  std::printf("%d steps, seeds %llu to %llu\n", steps, static_cast<unsigned long long>(kFirstSeed),
              static_cast<unsigned long long>(seed - 1));
}

// A scene in which everything smooth acts: clamps that move, spin and turn, forces, gravity.
WorldParams smooth_scene() {
  WorldParams p = one_thread({{0, 0, 0}, {4, 0, 0}, {7, 2, 1}, {10, 2, 3}}, 50, 2e-3);
  p.solver.iterations = 200;
  p.gravity = {500, -300, -9810};
  ThreadParams& t = p.threads[0];
  t.material.drag = 3e-3;
  ClampParams turning = hold(Place::Kind::first, ClampParams::Hold::frame);
  turning.velocity = {3, -2, 4};
  turning.spin_rad_per_s = 2;
  turning.turn_rad_per_s = {1, 0.5, -2};
  ClampParams still = hold(Place::Kind::last, ClampParams::Hold::frame);
  still.spin_rad_per_s = -1;
  t.clamps = {turning, still};
  ForceParams f;
  f.at = at_vertex(20);
  f.force = {20, 30, 50};
  f.ramp_s = 0.1;
  t.forces = {f};
  return p;
}

// Lengths times `length`, masses times `mass`, time as it is; then everything turned.
WorldParams transformed(WorldParams p, double length, double mass, Quat turn) {
  const auto vector = [&](Vec3 v, double factor) { return factor * rotate(turn, v); };
  p.gravity = vector(p.gravity, length);
  for (ThreadParams& t : p.threads) {
    for (Vec3& x : t.points) x = vector(x, length);
    t.segment_mm *= length;
    t.diameter_mm *= length;
    t.velocity = vector(t.velocity, length);
    t.material.stretch_stiffness *= mass * length;
    t.material.bend_stiffness *= mass * length * length * length;
    t.material.twist_stiffness *= mass * length * length * length;
    t.material.linear_density *= mass / length;
    t.material.drag *= mass / length;
    for (ClampParams& c : t.clamps) {
      c.velocity = vector(c.velocity, length);
      c.turn_rad_per_s = vector(c.turn_rad_per_s, 1);
    }
    for (ForceParams& f : t.forces) f.force = vector(f.force, mass * length);
  }
  return p;
}

double difference_after(const WorldParams& a, double length, double mass, Quat turn, int steps) {
  World one = make_world(a), other = make_world(transformed(a, length, mass, turn));
  for (int k = 0; k < steps; ++k) one.step({}), other.step({});
  const ThreadShape x = one.shape(0), y = other.shape(0);
  double worst = 0;
  for (std::size_t i = 0; i < x.x.size(); ++i) worst = std::max(worst, norm(y.x[i] - length * rotate(turn, x.x[i])));
  return worst / (length * one.measure(0, false).rest_length_mm);
}

TEST(Invariance, ASmoothSceneTurnedOrScaledBySimilarityIsTheSameTo1e9OfItsLength) {
  Random random(5);
  for (const bool inertial : {true, false})
    for (const auto mode : {ThreadParams::TwistMode::quasi_static, ThreadParams::TwistMode::unknown}) {
      WorldParams p = smooth_scene();
      p.threads[0].inertial = inertial;
      p.threads[0].twist_mode = mode;
      const std::string which = std::string(inertial ? "inertial" : "low-mass") +
                                (mode == ThreadParams::TwistMode::unknown ? ", angles unknown" : ", quasi-static");
      for (int k = 0; k < 3; ++k) {
        const Quat turn = axis_angle(random_direction(random), random.uniform(0.1, 3));
        EXPECT_LT(difference_after(p, 1, 1, turn, 200), 1e-9) << which << " turned " << k;
      }
      EXPECT_LT(difference_after(p, 10, 1000, {}, 200), 1e-9) << which << " ten times as large, of the same stuff";
      EXPECT_LT(difference_after(p, 10, 1, {}, 200), 1e-9) << which << " ten times as large";
      EXPECT_LT(difference_after(p, 0.1, 0.3, {}, 200), 1e-9) << which << " a tenth as large";
    }
}

TEST(Clamp, AHeldVertexIsExactlyWhereItIsCommandedHoweverFastItMoves) {
  for (const bool inertial : {true, false})
    for (const bool frame : {false, true}) {
      WorldParams p = one_thread({{0, 0, 0}, {10, 0, 0}}, 100, 5e-3);
      p.threads[0].inertial = inertial;
      p.threads[0].clamps = {hold(Place::Kind::first, frame ? ClampParams::Hold::frame : ClampParams::Hold::position)};
      const Vec3 velocity{120, 160, 0};  // 200 mm/s: 1 mm a step, ten segments
      p.threads[0].clamps[0].velocity = velocity;
      World world = make_world(p);
      Vec3 place;
      for (int k = 0; k < 200; ++k) {
        const StepReport report = world.step({});
        ASSERT_FALSE(report.flags & step_non_finite_restored);
        place = place + 0.005 * velocity;
        ASSERT_EQ(world.shape(0).x[0], place) << "step " << k;
        const ThreadMeasure m = world.measure(0, false);
        ASSERT_LT(std::abs(m.elongation_max), 0.01) << "inertial " << inertial << " frame " << frame << " step " << k;
        ASSERT_LT(m.speed_max_mm_per_s, 2000) << "inertial " << inertial << " frame " << frame << " step " << k;
      }
    }
}

TEST(Clamp, ClampsThatComeAndGoForcesThatRampAndSchedulesLeaveTheThreadFiniteAndCalm) {
  for (const bool inertial : {true, false})
    for (const auto mode : {ThreadParams::TwistMode::quasi_static, ThreadParams::TwistMode::unknown}) {
      WorldParams p = one_thread({{0, 0, 0}, {12, 0, 0}}, 60, 5e-3);
      p.solver.residual_target = 1e-9;
      ThreadParams& t = p.threads[0];
      t.inertial = inertial;
      t.twist_mode = mode;
      t.velocity = {0, 30, 0};
      for (std::size_t k = 0; k < 8; ++k) {
        ClampParams c;
        c.at = at_vertex((k * 23) % 61);
        c.hold = k % 2 ? ClampParams::Hold::position : ClampParams::Hold::frame;
        c.from_s = 0.1 * static_cast<double>(k);
        c.until_s = c.from_s + 0.25;
        c.velocity = {10 * std::cos(2.0 * static_cast<double>(k)), 20, -5};
        if (k % 2 == 0) c.spin_rad_per_s = 6, c.turn_rad_per_s = {1, 2, 3};
        t.clamps.push_back(c);
      }
      for (std::size_t k = 0; k < 4; ++k) {
        ForceParams f;
        f.at = at_vertex(5 + 14 * k);
        f.force = {0, k % 2 ? 300.0 : -300.0, 100};
        f.from_s = 0.15 * static_cast<double>(k);
        f.until_s = f.from_s + 0.2;
        f.ramp_s = 0.1;
        t.forces.push_back(f);
      }
      using Key = ScheduleEntry::Key;
      const auto at = [&](double time_s, Key key, double value, Vec3 vector) {
        ScheduleEntry e;
        e.time_s = time_s, e.key = key, e.value = value, e.vector = vector;
        p.schedule.push_back(e);
      };
      at(0.2, Key::gravity, 0, {0, 0, -9810});
      at(0.3, Key::rest_length_scale, 0.5, {});
      at(0.5, Key::gravity, 0, {9810, 0, 0});
      at(0.7, Key::rest_length_scale, 1.3, {});
      at(1.0, Key::gravity, 0, {});
      at(1.0, Key::drag, 3e-3, {});
      World world = make_world(p);
      for (int k = 0; k < 500; ++k) {
        const StepReport report = world.step({});
        ASSERT_FALSE(report.flags & step_non_finite_restored);
        const ThreadMeasure m = world.measure(0, false);
        ASSERT_TRUE(std::isfinite(total_energy(m)));
        ASSERT_LT(m.elongation_max, 2) << k;  // a rest length halved at once, and clamps that part: no more
      }
      const ThreadMeasure m = world.measure(0, false);
      EXPECT_LT(total_energy(m), 1e-3) << inertial;
      EXPECT_NEAR(m.length_mm, 1.3 * 12, 1e-4);
    }
}

TEST(Hash, IsEqualBetweenRunsAndAfterTheWorldHasMoved) {
  const WorldParams p = smooth_scene();
  World a = make_world(p), b = make_world(p);
  for (int k = 0; k < 100; ++k) a.step({}), b.step({});
  EXPECT_EQ(a.state_hash(), b.state_hash());
  World moved = std::move(b);
  b = make_world(p);
  for (int k = 0; k < 100; ++k) a.step({}), moved.step({}), b.step({});
  EXPECT_EQ(a.state_hash(), moved.state_hash());
  EXPECT_NE(a.state_hash(), b.state_hash());
  a = std::move(moved);
  for (int k = 0; k < 100; ++k) a.step({}), b.step({});
  for (int k = 0; k < 100; ++k) b.step({});
  EXPECT_EQ(a.state_hash(), b.state_hash());
}

// What one thread holds must not leak into the next one's step.
TEST(Robustness, AHalfImplicitThreadDoesNotFeelAnothersHeldFrame) {
  WorldParams p = one_thread({{0, 0, 0}, {10, 0, 0}}, 20, 1e-3);
  p.solver.implicitness = 0.5;
  p.threads[0].clamps = {hold(Place::Kind::first, ClampParams::Hold::frame)};
  p.threads.push_back(p.threads[0]);
  p.threads[1].name = "free";
  p.threads[1].clamps.clear();
  for (Vec3& x : p.threads[1].points) x.y += 3;
  auto world = World::create(p, {});
  ASSERT_TRUE(world) << world.error().message;
  for (int k = 0; k < 20; ++k) world->step({});
  EXPECT_LT(world->measure(1, false).speed_max_mm_per_s, 1e-9);
}

TEST(Robustness, TheOrderInWhichClampsAreListedMeansNothing) {
  double turns[2];
  for (const bool old_first : {true, false}) {
    WorldParams p = one_thread({{0, 0, 0}, {10, 0, 0}}, 20, 1e-3);
    p.threads[0].twist_turns = 0.8;
    ClampParams first = hold(Place::Kind::first, ClampParams::Hold::frame),
                last = hold(Place::Kind::last, ClampParams::Hold::frame);
    first.until_s = last.until_s = 0.05;
    ClampParams inner = hold(Place::Kind::vertex, ClampParams::Hold::frame), outer = inner;
    inner.at.vertex = 4;
    outer.at.vertex = 16;
    inner.from_s = outer.from_s = 0.05;
    p.threads[0].clamps = {first, last, inner, outer};
    if (!old_first) p.threads[0].clamps = {inner, outer, first, last};
    auto world = World::create(p, {});
    ASSERT_TRUE(world) << world.error().message;
    for (int k = 0; k < 80; ++k) world->step({});
    turns[old_first] = world->measure(0, false).twist_turns;
  }
  EXPECT_EQ(turns[0], turns[1]);
  EXPECT_NEAR(turns[0], 0.8 * 12 / 20, 1e-9);  // what lies between the new ones
}

}  // namespace
}  // namespace ligature::world
