/// Threads that touch tissue and run through its wall, by the public door of the world.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <numbers>

#include "tests/sim/scene.hpp"
#include "tests/sim/thread_scene.hpp"

namespace ligature::world {
namespace {

TissueParams vessel() {
  TissueParams t;
  t.name = "vessel";
  t.length_mm = 4;
  t.around = 20;
  t.along = 20;
  return t;
}

WorldParams scene(double step_s = 0.005) {
  WorldParams p = thread_world(step_s);
  p.solver.iterations = 50;
  p.solver.residual_target = 1e-6;
  p.friction.thread_tissue = 0.1;
  return p;
}

struct Course {
  World world;
  int unconverged = 0, inverted = 0;
  std::uint32_t found = 0;

  static Course start(const WorldParams& p) {
    auto world = World::create(p, {});
    EXPECT_TRUE(world) << world.error().message;
    return {std::move(*world)};
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) {
      const StepReport r = world.step({});
      unconverged += r.flags & step_not_converged ? 1 : 0;
      found += r.crossings_found;
      inverted += world.measure_tissue(0).inverted;
      EXPECT_FALSE(r.flags & step_non_finite_restored);
    }
  }
};

std::unique_ptr<SceneSnapshot> seen(const World& world) {
  auto scene = std::make_unique<SceneSnapshot>();
  world.snapshot(*scene);
  return scene;
}

WorldParams sling() {
  WorldParams p = scene();
  p.tissues = {vessel()};
  p.tissues[0].fix_last = true;
  ThreadParams t =
      nylon({{2, -3, 2}, {2, -0.6, -0.2}, {2, -0.3, -0.56}, {2, 0.3, -0.56}, {2, 0.6, -0.2}, {2, 3, 2}}, 0.1, 80, 1e-3);
  for (const Place::Kind end : {Place::Kind::first, Place::Kind::last}) {
    ForceParams f;
    f.at.kind = end;
    f.force = {0, end == Place::Kind::first ? -1000.0 : 1000.0, 1000};
    f.ramp_s = 0.1;
    f.until_s = 0.3;
    t.forces.push_back(f);
  }
  p.threads = {t};
  return p;
}

/// A thread of 10-0 from above through the wall near the free end and out along the lumen, where it is held.
WorldParams stitch(int around, int along) {
  WorldParams p = scene();
  p.tissues = {vessel()};
  p.tissues[0].around = around;
  p.tissues[0].along = along;
  ThreadParams t = nylon({{3.5, 0, 2.5}, {3.5, 0, 0.35}, {3.6, 0, 0.1}, {3.8, 0, 0}, {7, 0, 0}}, 0.025, 80, 1e-3);
  t.segment_mm = 0.05;
  ForceParams f;
  f.at.kind = Place::Kind::first;
  f.force = {0, 0, 3000};
  f.ramp_s = 0.1;
  f.until_s = 0.3;
  t.forces = {f};
  ClampParams c;
  c.at.kind = Place::Kind::last;
  t.clamps = {c};
  p.threads = {t};
  p.sutures = {{0, 0, {3.5, 0, 0.5}, {3.5, 0, 0.4}, 0.06}};
  return p;
}

TEST(TissueThread, SlungUnderAVesselLiftsItAndLetsItDownAgain) {
  Course run = Course::start(sling());
  run.steps(58);
  TissueMeasure m = run.world.measure_tissue(0);
  EXPECT_NEAR(m.contact_force.z, 2000, 5);
  EXPECT_NEAR(m.contact_force.x, 0, 5);
  EXPECT_NEAR(m.contact_force.y, 0, 5);
  EXPECT_GT(m.displacement_mm, 0.02);
  run.steps(60);
  m = run.world.measure_tissue(0);
  EXPECT_LT(m.displacement_mm, 1e-3);
  EXPECT_EQ(run.found, 0u);
  EXPECT_EQ(run.inverted, 0);
}

/// A ring that is thrown at a vessel gives it what it had, however far it goes in a step and however little work a step
/// may be; it does not slow down before it is there.
TEST(TissueThread, WhatIsThrownAtAVesselGivesItItsMomentum) {
  for (const bool little_work : {false, true})
    for (const double speed : {200.0, 400.0}) {
      WorldParams p = scene();
      p.tissues = {vessel()};
      p.tissues[0].fix_last = true;
      if (little_work) p.solver.iterations = 12, p.solver.work = 100;
      std::vector<Vec3> ring;
      for (int i = 0; i < 60; ++i) {
        const double turn = 2 * std::numbers::pi * i / 60;
        ring.push_back({2, 1.5 * std::cos(turn), 10 + 1.5 * std::sin(turn)});
      }
      ThreadParams t = nylon(ring, 0.1, 94, 0);
      t.closed = t.inertial = true;
      t.velocity = {0, 0, -speed};
      p.threads = {t};
      Course run = Course::start(p);
      const double mass = std::numbers::pi * 0.05 * 0.05 * kNylonDensity * 2 * std::numbers::pi * 1.5;
      double given = 0;
      for (int i = 0; i < 14; ++i) {
        run.steps(1);
        given -= 0.005 * run.world.measure_tissue(0).contact_force.z;
      }
      EXPECT_NEAR(given, mass * speed, 0.03 * mass * speed) << little_work << ' ' << speed;
      EXPECT_EQ(run.found, 0u);
    }
}

/// What is bent as it is at rest is drawn by nothing.
TEST(TissueThread, AStiffArcInAHoleIsUnderNoTension) {
  WorldParams p = scene();
  p.tissues = {vessel()};
  p.tissues[0].fix_last = true;
  std::vector<Vec3> arc;
  for (int i = -30; i <= 30; ++i) arc.push_back({2.05 - std::cos(i * 0.02) + 1, 0, 0.45 + std::sin(i * 0.02)});
  ThreadParams t = nylon(arc, 0.07, 60);
  t.material = round_thread(2e11, 0.3, 7.8e-3, 0.07, kStaticDrag);
  t.rest_shape_as_given = true;
  p.threads = {t};
  p.sutures = {{0, 0, {2.05, 0, 0.4}, {2.05, 0, 0.5}, 0.1}};
  Course run = Course::start(p);
  run.steps(10);
  for (const RingMeasure& r : run.world.rings()) {
    EXPECT_NEAR(r.tension_before, 0, 10);  // 118 mN, of which not one pulls, with kappa^2 alone [uN]
    EXPECT_NEAR(r.tension_after, 0, 10);
  }
}

TEST(TissueThread, RunsThroughItsWallAndLiftsIt) {
  Course run = Course::start(stitch(20, 20));
  run.steps(55);
  const TissueMeasure m = run.world.measure_tissue(0);
  const Vec3 held = run.world.clamps()[0].force;
  EXPECT_NEAR(m.contact_force.x, held.x, 30);
  EXPECT_NEAR(m.contact_force.y, held.y, 30);
  EXPECT_NEAR(m.contact_force.z, held.z + 3000, 30);
  EXPECT_GT(m.displacement_mm, 0.3);
  EXPECT_EQ(run.found, 0u);
  EXPECT_EQ(run.inverted, 0);
  ASSERT_EQ(run.world.rings().size(), 2u);
  EXPECT_LT(run.world.rings()[0].s_mm, run.world.rings()[1].s_mm);
  EXPECT_NEAR(run.world.rings()[0].tension_before, 3000, 30) << "the pull";
  EXPECT_NEAR(run.world.rings()[1].tension_after, norm(held), 30) << "the clamp's";
  run.steps(5);
  const int before = run.unconverged;
  run.steps(80);
  EXPECT_LT(run.world.measure_tissue(0).displacement_mm, 0.3 * m.displacement_mm);
  EXPECT_EQ(run.world.measure_tissue(0).inverted, 0);
  EXPECT_LT(run.unconverged - before, 30);
}

/// Linear solves of ten steps with closed jaws 0.35 mm beside a stitched thread, turned by so much a step about their
/// tips, away from it: their other ends go twelve millimetres times that.
int solves_beside(double turn) {
  WorldParams p = stitch(20, 20);
  p.forceps_present = true;
  for (ForcepsParams& f : p.forceps) f.max_speed_mm_per_s = 1e4;
  p.threads[0].forces[0].until_s = 1e9;
  World world = make_world(p);
  InstrumentSample sample;
  const auto step = [&](double angle) {
    InstrumentPose& pose = sample.instruments[0] = hand({3.5, 0.6, 1.5}, 0);
    pose.X_RT.q = axis_angle({1, 0, 0}, angle) * pose.X_RT.q;
    ++sample.sequence;
    return world.step(sample);
  };
  for (int i = 0; i < 100; ++i) step(0);
  int solves = 0;
  for (int i = 1; i <= 10; ++i) solves += static_cast<int>(step(-turn * i).iterations);
  return solves;
}

TEST(TissueThread, ArmsThatTurnAboutTheirTipsBesideItTakeNoMoreSolves) {
  const int still = solves_beside(0), turned = solves_beside(0.05);
  EXPECT_GE(still, 10) << "thread and wall are solved for together";
  EXPECT_LE(turned, still + 10) << "led by how far their other ends go, 0.6 mm, each step takes three";
}

// As drawn its bends are sharper than coarse segments are: compared once the load is on, at 0.1 s. The clamp goes on
// drawing, since where a thread sticks that nothing draws depends on how it came there. Where it is divided anew at a
// hole it may wait for some steps, by half an edge of 0.05 mm, and slip.
TEST(TissueThread, OfAdaptiveSegmentsRunsThroughItsHolesAsOneOfFineOnesDoes) {
  WorldParams p = stitch(20, 20);
  p.threads[0].segment_mm = 0.025;
  p.threads[0].clamps[0].velocity = {2, 0, 0};
  Course fine = Course::start(p);
  p.threads[0].coarsest_mm = 0.8;
  Course adaptive = Course::start(p);
  std::size_t moved = 0;
  constexpr int kFirst = 20, kSteps = 120;
  std::array<double, 2> s_off{}, z_off{};  // in the mean
  for (int i = 0; i < kSteps; ++i) {
    fine.steps(1);
    const std::size_t vertices = adaptive.world.shape(0).s_mm.size();
    adaptive.steps(1);
    moved += adaptive.world.shape(0).s_mm.size() != vertices ? 1 : 0;
    for (std::size_t k = 0; i >= kFirst && k < 2; ++k) {
      const RingMeasure a = adaptive.world.rings()[k], b = fine.world.rings()[k];
      EXPECT_NEAR(a.s_mm, b.s_mm, 0.03) << i;
      EXPECT_NEAR(a.place.z, b.place.z, 0.03) << i;
      s_off[k] += (a.s_mm - b.s_mm) / (kSteps - kFirst);
      z_off[k] += (a.place.z - b.place.z) / (kSteps - kFirst);
    }
  }
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_NEAR(s_off[k], 0, 0.005);
    EXPECT_NEAR(z_off[k], 0, 0.005);
  }
  EXPECT_GT(moved, 5u);
  EXPECT_LT(2 * adaptive.world.shape(0).s_mm.size(), fine.world.shape(0).s_mm.size());
  EXPECT_EQ(adaptive.found, 0u);
}

// Its clamp, which goes at the speed of a hand, bears what the load and the wraps say: 2 mN without friction, with it
// exp(mu pi) of that, since it turns by a quarter circle at each hole. A thread that hooks on to the surface beside its
// own hole is drawn at by its own stretch instead, tens of millinewtons.
TEST(TissueThread, IsDrawnThroughItsHolesWithItsTensionHoweverFast) {
  for (const double friction : {0.0, 0.1})
    for (const double speed : {5.0, 10.0, 30.0}) {
      WorldParams p = scene();
      p.friction.thread_tissue = friction;
      p.tissues = {vessel()};
      p.tissues[0].outer_diameter_mm = 4;
      p.tissues[0].wall_mm = 0.4;
      p.tissues[0].length_mm = 8;
      p.tissues[0].fix_last = true;
      ThreadParams t =
          nylon({{7, 0, 2.1}, {4.2, 0, 2.1}, {4, 0, 2}, {4, 0, 1.6}, {3.8, 0, 1.5}, {1, 0, 1.5}}, 0.025, 80, 1e-5);
      t.segment_mm = 0.05;
      ClampParams c;
      c.at.kind = Place::Kind::first;
      c.velocity = {speed, 0, 0};
      t.clamps = {c};
      ForceParams f;
      f.at.kind = Place::Kind::last;
      f.force = {-2000, 0, 0};
      t.forces = {f};
      p.threads = {t};
      p.sutures = {{0, 0, {4, 0, 2}, {4, 0, 1.6}, 0.06}};
      Course run = Course::start(p);
      const int steps = static_cast<int>(1.5 / speed / 0.005);
      run.steps(steps / 2);
      double pull = 0;
      for (int i = steps / 2; i < steps; ++i) {
        run.steps(1);
        pull += norm(run.world.clamps()[0].force) / (steps - steps / 2);
      }
      const double wanted = 2000 * std::exp(friction * std::numbers::pi);
      EXPECT_NEAR(pull, wanted, (friction > 0 ? 0.1 : 0.01) * wanted) << friction << ", " << speed << " mm/s";
      EXPECT_EQ(run.found, 0u);
    }
}

// Out of a hole and flat over the wall, a quarter turn at the rim: what lies on the wall beside its hole is pushed
// across itself. Limp for the hole (sqrt(B/T) 0.02 mm), and 10-0 under what it draws a knot up with.
TEST(TissueThread, LyingOnTheWallBesideItsHoleIsNotPushedAlong) {
  struct Case {
    double diameter_mm, bend, hole_mm, load, segment_mm;
  };
  for (const Case& k : {Case{0.02, 1e-3, 0.06, 2000, 0.01}, Case{0.025, 0.048, 0.06, 20000, 0.02}})
    for (const double friction : {0.0, 0.1})
      for (const bool out : {true, false}) {
        WorldParams p = scene();
        p.solver.residual_target = 1e-5;
        p.friction.thread_tissue = friction;
        p.tissues = {vessel()};
        p.tissues[0].X_WV.p = {-1, 0, -4};
        p.tissues[0].outer_diameter_mm = 8;
        p.tissues[0].wall_mm = 0.4;
        p.tissues[0].length_mm = 2;
        p.tissues[0].along = 8;
        p.tissues[0].around = 40;
        p.tissues[0].fix_first = p.tissues[0].fix_last = true;
        p.tissues[0].young_pa = 1e8;
        const double height = 0.5 * k.diameter_mm + 1e-3;
        ThreadParams t =
            nylon({{0, 0, -3}, {0, 0, 0}, {0.02, 0, height + 0.01}, {3, 0, height + 0.01}}, k.diameter_mm, 600, 1e-4);
        t.segment_mm = k.segment_mm;
        t.material.bend_stiffness = t.material.twist_stiffness = 1000 * k.bend;
        ClampParams c;
        c.at.kind = out ? Place::Kind::last : Place::Kind::first;
        c.velocity = out ? Vec3{2, 0, 0} : Vec3{0, 0, -2};
        t.clamps = {c};
        ForceParams f;
        f.at.kind = out ? Place::Kind::first : Place::Kind::last;
        f.force = out ? Vec3{0, 0, -k.load} : Vec3{k.load, 0, 0};
        t.forces = {f};
        p.threads = {t};
        p.sutures = {{0, 0, {0, 0, -0.4}, {0, 0, 0}, k.hole_mm}};
        Course run = Course::start(p);
        run.steps(40);
        double pull = 0;
        for (int i = 0; i < 20; ++i) run.steps(1), pull += norm(run.world.clamps()[0].force) / 20;
        const double wanted = k.load * std::exp(friction * 0.5 * std::numbers::pi);
        EXPECT_NEAR(pull, wanted, (friction > 0 ? 0.025 : 0.01) * wanted)
            << k.load << " uN, friction " << friction << (out ? ", drawn out" : ", drawn in");
        EXPECT_EQ(run.found, 0u);
      }
}

// Its holes go with the piece that runs through them; cut between them, each piece ends inside the wall.
TEST(TissueThread, StaysInItsHolesWhenItIsCut) {
  for (const double at_mm : {1.0, 2.05, 4.0}) {
    WorldParams p = stitch(20, 20);
    p.threads[0].forces.clear();
    p.cuts = {{.thread = 0, .s_mm = at_mm, .time_s = 0.02}};
    Course c = Course::start(p);
    c.steps(4);
    SceneFacts before;
    c.world.facts(before);
    ASSERT_EQ(before.holes.size(), 2u);
    EXPECT_EQ(before.holes[0].wall, WallPart::outside);
    EXPECT_EQ(before.holes[1].wall, WallPart::inside);
    c.steps(1);
    SceneFacts after;
    c.world.facts(after);
    ASSERT_EQ(after.threads.size(), 2u) << at_mm;
    ASSERT_EQ(after.holes.size(), 2u) << at_mm;
    const double cut_mm = after.threads[0].rest_length_mm;
    EXPECT_NEAR(cut_mm, at_mm, 0.03);
    for (std::size_t i = 0; i < 2; ++i) {
      const bool behind = before.holes[i].s_mm > cut_mm;
      EXPECT_EQ(after.holes[i].thread, behind ? 1u : 0u) << at_mm;
      if (at_mm != 2.05) {  // cut there, the bent rest springs along its hole in the same step
        EXPECT_NEAR(after.holes[i].s_mm, before.holes[i].s_mm - (behind ? cut_mm : 0), 0.02) << at_mm;
      }
    }
    EXPECT_EQ(after.holes[0].stitch == after.holes[1].stitch, after.holes[0].thread == after.holes[1].thread) << at_mm;
    c.steps(60);
    EXPECT_EQ(c.found, 0u) << at_mm;
    EXPECT_EQ(c.inverted, 0) << at_mm;
  }
}

// Without friction, so that where it comes to rest does not depend on the way there.
TEST(TissueThread, LiftsAFinerVesselAsFar) {
  const auto lift = [](int around, int along) {
    WorldParams p = stitch(around, along);
    p.friction.thread_tissue = 0;
    Course run = Course::start(p);
    const double before = run.world.rings()[0].place.z;
    run.steps(55);
    return run.world.rings()[0].place.z - before;
  };
  const double coarse = lift(14, 14), fine = lift(20, 20);
  EXPECT_GT(fine, 0.3);
  EXPECT_NEAR(coarse, fine, 0.1 * fine);
}

/// A straight needle with a thread behind it, held near the swage and led down on the vessel.
WorldParams needle_above() {
  WorldParams p = scene();
  p.tissues = {vessel()};
  p.tissues[0].fix_last = true;
  p.tissues[0].pierce_force = 2000;
  ThreadParams t = nylon({{2, 0, 3.6}, {2, 0, 2.2}}, 0.025, 14, 1e-3);
  t.segment_mm = 0.1;
  NeedleParams n;
  n.at_last = true;
  n.arc_mm = 1.6;
  n.arc_rad = 0;
  n.wire_mm = 0.1;
  n.direction = {0, 0, -1};
  n.toward = {1, 0, 0};
  n.material = round_thread(200e9, 0.3, 7.8e-3, 0.1, 1e-3);
  t.needle = n;
  ClampParams c;
  c.at.kind = Place::Kind::arc;
  c.at.s_mm = 1.8;
  c.hold = ClampParams::Hold::frame;
  c.velocity = {0, 0, -5};
  t.clamps = {c};
  p.threads = {t};
  return p;
}

TEST(TissueThread, ANeedlePiercesTheWallWhenItIsPressedHardEnough) {
  Course run = Course::start(needle_above());
  double most = 0, force_before = 0;
  int pierced_at = -1, out_at = -1;
  for (int i = 0; i < 120 && out_at < 0; ++i) {
    run.steps(1);
    const TissueMeasure m = run.world.measure_tissue(0);
    const std::size_t holes = run.world.rings().size();
    if (holes == 0) force_before = -m.contact_force.z;
    if (holes == 1 && pierced_at < 0) pierced_at = i;
    if (holes == 2 && out_at < 0) out_at = i;
    most = std::max(most, -m.contact_force.z);
  }
  ASSERT_GT(pierced_at, 0);
  ASSERT_GT(out_at, pierced_at);
  EXPECT_GT(force_before, 1000);
  EXPECT_LT(most, 4000);
  const auto rings = run.world.rings();
  EXPECT_LT(rings[0].s_mm, rings[1].s_mm);
  EXPECT_GT(rings[0].place.z, rings[1].place.z + 0.05) << "in from outside, out into the lumen";
  EXPECT_EQ(run.found, 0u);
  EXPECT_EQ(run.inverted, 0);
}

TEST(TissueThread, ANeedleDrawsItsThreadThroughBothWallsAndOut) {
  WorldParams p = needle_above();
  p.threads[0].clamps[0].velocity = {0, 0, -10};
  Course run = Course::start(p);
  run.steps(40);
  const auto rings = run.world.rings();
  ASSERT_EQ(rings.size(), 4u);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_GT(rings[i].s_mm, rings[i - 1].s_mm);
    EXPECT_LT(rings[i].place.z, rings[i - 1].place.z);
  }
  EXPECT_LT(rings[0].s_mm, 1.4) << "thread in the first wall";
  EXPECT_GT(rings[2].s_mm, 1.4) << "needle in the second";
  run.steps(30);
  EXPECT_EQ(run.world.rings().size(), 2u) << "the end has left the first wall";
  EXPECT_LT(run.world.measure_tissue(0).displacement_mm, 1e-3);
  EXPECT_EQ(run.found, 0u);
  EXPECT_EQ(run.inverted, 0);
  EXPECT_LT(run.unconverged, 15);
}

// The wall about a blunt point is dented until it stands steep on either side of it; across the needle it lies still.
TEST(TissueThread, ANeedlePiercesSoftTissueAsHardAsAStiffOne) {
  struct Pad {
    double young_pa, pierce_force;
  };
  for (const Pad pad : {Pad{30e3, 10e3}, Pad{100e3, 20e3}, Pad{300e3, 30e3}}) {
    WorldParams p = needle_above();
    TissueParams& t = p.tissues[0];
    t.vertices.clear();
    for (const double x : {0.0, 4.0})
      for (const double y : {-2.0, 2.0})
        for (const double z : {0.0, 0.5}) t.vertices.push_back({x, y, z});
    t.triangles = {{0, 1, 3}, {0, 3, 2}, {4, 7, 5}, {4, 6, 7}, {0, 5, 1}, {0, 4, 5},
                   {2, 3, 7}, {2, 7, 6}, {0, 2, 6}, {0, 6, 4}, {1, 7, 3}, {1, 5, 7}};
    t.element_mm = 0.25;
    t.wall_mm = 0.5;
    t.fixed = {{{-1, -3, -1}, {0.1, 3, 1}}, {{3.9, -3, -1}, {5, 3, 1}}};
    t.young_pa = pad.young_pa, t.pierce_force = pad.pierce_force;
    Course run = Course::start(p);
    double before = 0;
    for (int i = 0; i < 150 && run.world.rings().empty(); ++i) {
      before = std::max(before, -run.world.measure_tissue(0).contact_force.z);
      run.steps(1);
    }
    ASSERT_FALSE(run.world.rings().empty()) << pad.young_pa << ": only dented, by " << before << " uN";
    EXPECT_GT(before, 0.9 * pad.pierce_force) << pad.young_pa;
    EXPECT_LT(before, 1.1 * pad.pierce_force) << pad.young_pa;
    EXPECT_EQ(run.found, 0u);
    EXPECT_EQ(run.inverted, 0);
  }
}

// Pressed flat before it is pierced, the far wall lies where the point comes out of the near one.
TEST(TissueThread, ANeedleThroughACollapsedVesselHasTwoHolesInEachWall) {
  for (const double step_s : {0.005, 0.01}) {
    WorldParams p = needle_above();
    p.step_s = step_s;
    p.tissues[0].pierce_force = 10e3;
    ThreadParams& t = p.threads[0];
    t.points = {{2, 0, 7.6}, {2, 0, 3.6}};
    t.needle->arc_mm = 3, t.needle->wire_mm = 0.08;
    t.needle->material = round_thread(200e9, 0.3, 7.8e-3, 0.08, 1e-3);
    t.clamps[0].at.s_mm = 4.5;
    Course run = Course::start(p);
    run.steps(static_cast<int>(0.5 / step_s));
    const auto rings = run.world.rings();
    ASSERT_EQ(rings.size(), 4u) << step_s;
    const double walls[] = {0.5, 0.4, -0.4, -0.5};
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(rings[i].place.z, walls[i], 0.03) << step_s << " " << i;
    EXPECT_NE(rings[1].suture, rings[2].suture) << step_s;
    EXPECT_EQ(run.found, 0u);
    EXPECT_EQ(run.inverted, 0);
  }
}

TEST(TissueThread, ANeedleThatIsNotPressedHardEnoughOnlyDentsTheWall) {
  WorldParams p = needle_above();
  p.tissues[0].pierce_force = 1e9;
  Course run = Course::start(p);
  run.steps(40);
  EXPECT_TRUE(run.world.rings().empty());
  EXPECT_GT(run.world.measure_tissue(0).displacement_mm, 0.02);
  EXPECT_EQ(run.found, 0u);
}

TEST(TissueThread, IsInTheSnapshotWhereItIs) {
  Course c = Course::start(stitch(20, 20));
  const auto surfaces = c.world.tissue_surfaces();
  ASSERT_EQ(surfaces.size(), 1u);
  const TissueSurface& surface = surfaces[0];
  EXPECT_EQ(surface.rest.size(), 2u * 20 * 21);
  EXPECT_EQ(surface.held.size(), 2u * 20) << "the first end";
  EXPECT_EQ(surface.triangles.size(), 2 * surface.rest.size()) << "closed, with one hole through it";
  for (const TissueTriangle& t : surface.triangles) {
    const auto radius = [&](std::size_t k) {
      return std::hypot(surface.rest[t.vertex[k]].y, surface.rest[t.vertex[k]].z);
    };
    for (std::size_t k = 0; k < 3; ++k) {
      if (t.part == WallPart::outside) {
        EXPECT_GT(radius(k), 0.49f);
      }
      if (t.part == WallPart::inside) {
        EXPECT_LT(radius(k), 0.41f);
      }
    }
  }
  const auto largest_shift = [&] {
    const auto scene = seen(c.world);
    EXPECT_EQ(scene->tissues.size(), 1u);
    EXPECT_EQ(scene->tissues[0].vertex_count, surface.rest.size());
    double shift = 0;
    for (std::size_t v = 0; v < surface.rest.size(); ++v) {
      const SnapshotVertex &now = scene->surface[v], &rest = surface.rest[v];
      shift = std::max(shift, static_cast<double>(std::hypot(now.x - rest.x, now.y - rest.y, now.z - rest.z)));
    }
    return shift;
  };
  EXPECT_NEAR(largest_shift(), 0, 1e-6);
  const auto scene = seen(c.world);
  ASSERT_EQ(scene->holes.size(), 2u);
  EXPECT_NEAR(scene->holes[0].place.x, 3.5, 0.01);
  EXPECT_NEAR(scene->holes[0].radius_mm, 0.03, 1e-6);
  c.steps(10);
  // Nodes between the wall's faces move too, but none further than those of its surface does here.
  EXPECT_GT(largest_shift(), 0.05);
  EXPECT_NEAR(largest_shift(), c.world.measure_tissue(0).displacement_mm, 1e-5);
  const auto rings = c.world.rings();
  const auto after = seen(c.world);
  EXPECT_NEAR(after->holes[1].place.z, rings[1].place.z, 1e-5);
}

TEST(TissueThread, RepeatsBitForBit) {
  Course a = Course::start(stitch(14, 14)), b = Course::start(stitch(14, 14));
  a.steps(20);
  b.steps(20);
  EXPECT_EQ(a.world.state_hash(), b.world.state_hash());
}

// A hand that draws at a thread that is as long as it can be has every step taken back, and the thread, drawn anew in
// each, would never lie still in the tissue that it presses.
TEST(TissueThread, ThatIsAsLongAsItCanBeIsNotDrawnAtForEver) {
  WorldParams p = sling();
  p.solver.iterations = 12;
  p.solver.work = 60;
  p.threads[0].forces.clear();
  for (const Place::Kind end : {Place::Kind::first, Place::Kind::last}) {
    ClampParams c;
    c.at.kind = end;
    c.velocity = {0, end == Place::Kind::first ? -20.0 : 20.0, 0};
    p.threads[0].clamps.push_back(c);
  }
  Course run = Course::start(p);
  run.steps(200);
  const double pull = run.world.clamps()[0].force.y;
  for (int k = 0; k < 40; ++k) {
    const StepReport r = run.world.step({});
    EXPECT_LT(r.residual, 0.01) << k;
    EXPECT_GT(r.held_lag_mm, 15);
  }
  EXPECT_NEAR(run.world.clamps()[0].force.y / pull, 1, 0.01);
  EXPECT_EQ(run.found, 0u);
}

TEST(TissueThread, MayBeginAsNearAWallAsItIsThick) {
  WorldParams p = needle_above();
  // Beside the wall, by its own radius and no more; the needle, four times as thick, is elsewhere.
  p.threads[0].points = {{2, 0, 3.6}, {2, 0.5 + 0.0125 + 0.01, 2.2}, {2, 0.5 + 0.0125 + 0.01, 0}};
  std::reverse(p.threads[0].points.begin(), p.threads[0].points.end());
  p.threads[0].needle->direction = {0, 0, 1};
  p.threads[0].clamps.clear();
  const auto world = World::create(p, {});
  EXPECT_TRUE(world) << world.error().message;
  for (Vec3& x : p.threads[0].points) x.y -= x.y > 0 ? 0.02 : 0;
  const auto inside = World::create(p, {});
  ASSERT_FALSE(inside);
  EXPECT_NE(inside.error().message.find("begins inside tissue 'vessel'"), std::string::npos) << inside.error().message;
}

TEST(TissueThread, IsRefusedWhereItCannotBegin) {
  const auto refused = [](const WorldParams& p, const char* words) {
    const auto world = World::create(p, {});
    ASSERT_FALSE(world) << words;
    EXPECT_NE(world.error().message.find(words), std::string::npos) << world.error().message;
  };
  WorldParams p = stitch(14, 14);
  p.sutures.clear();
  refused(p, "begins inside tissue 'vessel'");
  p.tissues.push_back(p.tissues[0]);
  p.tissues[1].X_WV.p.z += 0.95;
  refused(p, "begins inside tissue");
  p = stitch(14, 14);
  std::swap(p.sutures[0].entry, p.sutures[0].exit);
  refused(p, "exit comes before its entry");
  p = stitch(14, 14);
  p.sutures[0].entry = {2, 0, 0.5};
  refused(p, "from the hole");
  p = stitch(14, 14);
  p.sutures[0].tissue = 3;
  refused(p, "not there");
  p = stitch(14, 14);
  p.tissues[0].wall_mm = 0.6;
  refused(p, "wall");
}

}  // namespace
}  // namespace ligature::world
