#include "sim/world/world.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "sim/base/random.hpp"
#include "tests/sim/scene.hpp"

namespace ligature::world {
namespace {

World make(const WorldParams& p) {
  auto world = World::create(p, {});
  EXPECT_TRUE(world) << (world ? "" : world.error().message);
  return std::move(*world);
}

TEST(World, ADroppedThreadComesToRestOnTheBench) {
  World world = make(thread_over_bench(5));
  StepReport last;
  for (int k = 0; k < 400; ++k) {
    last = world.step({});
    EXPECT_LT(last.worst_penetration_mm, 1e-3) << "step " << k;
  }
  const auto s = look(world);
  for (const auto& v : s->vertices) EXPECT_NEAR(v.z, kRadius, 1e-4);
  EXPECT_EQ(last.flags & step_not_converged, 0u);
  EXPECT_EQ(last.contacts, 301u);
}

TEST(World, ForcepsGraspLiftCrossAndLetGo) {
  World world = make(thread_over_bench());
  double highest = 0;
  std::uint32_t flags = 0;
  for (int k = 0; k < 1800; ++k) {
    const double t = 0.005 * k;
    flags |= world.step(demo_hands(t)).flags;
    const auto s = look(world);
    for (const auto& v : s->vertices) ASSERT_TRUE(std::isfinite(v.x + v.y + v.z)) << t;
    ASSERT_LT(longest_edge(*s, s->threads[0]), 0.2 * 1.05) << t;
    if (t > 3) highest = std::max(highest, static_cast<double>(s->vertices[150].z));
    if (t > 3 && t < 6.9) {
      EXPECT_TRUE(s->forceps[0].grasping && s->forceps[1].grasping) << t;
      EXPECT_GT(s->vertices[110].z, 8) << t;
    }
  }
  EXPECT_GT(highest, 8);
  EXPECT_TRUE(flags & step_grasped);
  EXPECT_TRUE(flags & step_released);
  EXPECT_FALSE(flags & step_non_finite_restored);
  const auto s = look(world);
  EXPECT_EQ(s->grasps, 2u);
  EXPECT_FALSE(s->forceps[0].grasping || s->forceps[1].grasping);
  for (const auto& v : s->vertices) EXPECT_NEAR(v.z, kRadius, 0.02);
}

TEST(World, RepeatsBitForBit) {
  World a = make(thread_over_bench(1)), b = make(thread_over_bench(1));
  for (int k = 0; k < 500; ++k) a.step(demo_hands(0.005 * k)), b.step(demo_hands(0.005 * k));
  EXPECT_EQ(a.state_hash(), b.state_hash());
  b.step({});
  EXPECT_NE(a.state_hash(), b.state_hash());
}

TEST(World, ANonFiniteVertexIsRestoredAndCounted) {
  World world = make(thread_over_bench());
  for (int k = 0; k < 10; ++k) world.step({});
  world.inject_non_finite();
  EXPECT_TRUE(world.step({}).flags & step_non_finite_restored);
  for (int k = 0; k < 10; ++k) EXPECT_FALSE(world.step({}).flags & step_non_finite_restored);
  const auto s = look(world);
  EXPECT_EQ(s->non_finite_resets, 1u);
  for (const auto& v : s->vertices) EXPECT_NEAR(v.z, kRadius, 1e-4);
}

TEST(World, ABenchThatTiltsLessThanTheFrictionAngleHoldsTheThread) {
  for (double direction : {0.0, 0.7, 1.570796}) {
    for (double ratio : {0.95, 1.05}) {
      WorldParams p = thread_over_bench();
      const double slope = std::atan(ratio * p.friction.thread_obstacle);
      p.gravity = {9810 * std::sin(slope) * std::cos(direction), 9810 * std::sin(slope) * std::sin(direction),
                   -9810 * std::cos(slope)};
      World world = make(p);
      for (int k = 0; k < 20; ++k) world.step({});
      const auto early = look(world);
      for (int k = 0; k < 200; ++k) world.step({});
      const auto late = look(world);
      const auto &a = early->vertices[150], &b = late->vertices[150];
      const double moved = std::hypot(b.x - a.x, b.y - a.y);
      if (ratio < 1) {
        EXPECT_LT(moved, 1e-5) << direction;  // float rounding of 30 mm
      } else {
        // Terminal speed of the wet drag: w (sin - mu cos) / drag, about 1.15 mm/s, for one second.
        const double w = 1.14e-3 * std::numbers::pi * kRadius * kRadius * 9810;
        const double speed = w * (std::sin(slope) - p.friction.thread_obstacle * std::cos(slope)) / 3e-3;
        EXPECT_NEAR(moved, speed, 0.03 * speed) << direction;
      }
    }
  }
}

TEST(Forceps, AJawSweptAtToolSpeedPushesTheThreadAndDoesNotTunnel) {
  for (double speed : {20.0, 100.0, 200.0}) {
    World world = make(thread_over_bench());
    // Closed jaws pointing down, tip 0.05 mm above the bench, from y = -2 on.
    for (int k = 0; k * 0.005 * speed < 12; ++k) {
      const double y = -2 + 0.005 * speed * k;
      InstrumentSample sample;
      sample.instruments[0] = hand({0, y, 0.05}, 0.0);
      world.step(sample);
      const auto s = look(world);
      // Closed jaws reach 0.5 mm ahead of the tip; the thread's axis stays in front of the jaws' own.
      if (y > 0) {
        EXPECT_GT(s->vertices[150].y, y + 0.2) << speed << " mm/s at y = " << y;
      }
    }
  }
}

TEST(Forceps, ThatLetGoAsSoonAsTheyAreLostHoldWhileTheyAreSeen) {
  WorldParams p = thread_over_bench();
  p.lost_release_s = 0;
  World world = make(p);
  for (int k = 0; k < 600; ++k) world.step(demo_hands(0.005 * k));
  ASSERT_TRUE(look(world)->forceps[0].grasping);
  const double lifted = world.shape(0).x[110].z;
  EXPECT_GT(lifted, 5);
  InstrumentSample sample = demo_hands(3);
  for (auto& hand : sample.instruments) hand.status = TrackStatus::lost;
  world.step(sample);
  world.step(sample);
  EXPECT_FALSE(look(world)->forceps[0].grasping);
}

TEST(Forceps, ALostInstrumentLetsGoGentlyAfterItsTime) {
  World world = make(thread_over_bench());
  int k = 0;
  for (; k * 0.005 < 3; ++k) world.step(demo_hands(0.005 * k));
  ASSERT_TRUE(look(world)->forceps[0].grasping);
  InstrumentSample sample = demo_hands(3);
  for (int f = 0; f < 2; ++f) sample.instruments[static_cast<std::size_t>(f)].status = TrackStatus::predicted;
  for (int i = 0; i < 100; ++i) world.step(sample);
  EXPECT_TRUE(look(world)->forceps[0].grasping) << "a predicted instrument still holds";
  auto before = look(world);
  int released_after = -1;
  for (int i = 0; i < 600; ++i) {
    for (auto& hand : sample.instruments) hand.status = TrackStatus::lost, hand.X_RT.p.x += 50;  // whatever it says
    const StepReport report = world.step(sample);
    EXPECT_TRUE(report.flags & step_instrument_lost);
    if (report.flags & step_released && released_after < 0) released_after = i;
    auto now = look(world);
    for (std::size_t v = 0; v < now->vertices.size(); ++v) {
      const auto &a = before->vertices[v], &b = now->vertices[v];
      ASSERT_LT(std::hypot(a.x - b.x, a.y - b.y, a.z - b.z), 1.0) << "a jump of vertex " << v << " in step " << i;
    }
    before = std::move(now);
  }
  EXPECT_NEAR(released_after, 0.3 / 0.005, 1.5);
  EXPECT_FALSE(before->forceps[0].grasping);
  for (const auto& v : before->vertices) EXPECT_NEAR(v.z, kRadius, 0.05);
}

TEST(Forceps, ClosedJawsThatMeetAThreadDoNotGraspIt) {
  World world = make(thread_over_bench());
  for (int k = 0; k < 400; ++k) {
    InstrumentSample sample;
    sample.instruments[0] = hand({0, 0.002 * k, smooth(10, 0.1, 0.005 * k)}, 0.0);
    EXPECT_FALSE(world.step(sample).flags & step_grasped);
  }
}

TEST(Forceps, FollowTheHandThroughTheMountAndItsScale) {
  WorldParams p = thread_over_bench();
  p.X_RW = {axis_angle({0, 0, 1}, 0.5 * std::numbers::pi), {10, 20, 60}};
  p.motion_scale = 0.5;
  World world = make(p);
  InstrumentSample sample;
  sample.instruments[1].status = TrackStatus::tracked;
  sample.instruments[1].X_RT = {p.X_RW.q, {10, 26, 100}};  // 6 mm along y of R = x of W, 40 above
  world.step(sample);
  const auto s = look(world);
  EXPECT_NEAR(norm(s->forceps[1].X_WT.p - Vec3{3, 0, 20}), 0, 1e-12);
  EXPECT_NEAR(s->forceps[1].X_WT.q.w, 1, 1e-12);
  EXPECT_EQ(s->forceps[0].status, TrackStatus::lost);
}

TEST(World, SurvivesViolentJumpsOfTheTracking) {
  for (std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    Random random(seed);
    World world = make(thread_over_bench());
    InstrumentSample sample;
    for (int k = 0; k < 800; ++k) {
      for (auto& h : sample.instruments) {
        if (random.uniform() > (seed % 2 ? 0.2 : 0.02)) continue;
        h.status = random.uniform() < 0.8 ? TrackStatus::tracked : TrackStatus::lost;
        h.X_RT.p = {random.uniform(-40, 40), random.uniform(-5, 5), random.uniform(-1, 15)};
        h.X_RT.q = normalized({random.normal(), random.normal(), random.normal(), random.normal()});
        h.opening_rad = random.uniform() < 0.5 ? 0.0 : 0.1;
        if (random.uniform() < 0.05) h.X_RT.p.x = std::numeric_limits<double>::quiet_NaN();
        if (random.uniform() < 0.05) h.opening_rad = std::numeric_limits<double>::infinity();
        if (random.uniform() < 0.02) h.X_RT.p.y = 1e30;
      }
      const StepReport report = world.step(sample);
      ASSERT_FALSE(report.flags & step_non_finite_restored) << seed << " step " << k;
      const auto s = look(world);
      for (const auto& v : s->vertices) ASSERT_TRUE(std::isfinite(v.x + v.y + v.z));
      ASSERT_LT(longest_edge(*s, s->threads[0]), 1.2001 * 0.2) << seed << " step " << k;
    }
    // Left alone it calms down.
    for (int k = 0; k < 800; ++k) world.step({});
    const auto s = look(world);
    EXPECT_LT(longest_edge(*s, s->threads[0]), 0.2 * 1.01) << seed;
    for (const auto& v : s->vertices) EXPECT_GT(v.z, kRadius - 1e-3) << seed;
  }
}

TEST(World, SeveralThreadsLiveSideBySide) {
  WorldParams p = thread_over_bench(2);
  p.threads.push_back(p.threads[0]);
  p.threads[1].name = "second";
  p.threads[1].points = {{-10, 5, 1}, {10, 5, 1}};
  World world = make(p);
  for (int k = 0; k < 300; ++k) world.step({});
  const auto s = look(world);
  ASSERT_EQ(s->threads.size(), 2u);
  EXPECT_EQ(s->threads[1].first_vertex, 301u);
  EXPECT_EQ(s->threads[1].vertex_count, 101u);
  for (const auto& v : s->vertices) EXPECT_NEAR(v.z, kRadius, 1e-4);
}

TEST(World, TooManyContactsKeepTheDeepestAndSaySo) {
  auto world = World::create(thread_over_bench(), {.vertices = 4096, .contacts = 200});
  ASSERT_TRUE(world);
  std::uint32_t flags = 0;
  for (int k = 0; k < 20; ++k) {
    const StepReport report = world->step({});
    flags |= report.flags;
    EXPECT_LE(report.contacts, 200u);
  }
  EXPECT_TRUE(flags & step_contact_overflow);
}

// The bench bears 100 N at a place; what presses harder sinks in.
TEST(World, AContactThatGivesWaySaysSo) {
  for (const double force : {0.5e8, 2e8}) {
    WorldParams p = thread_over_bench();
    ForceParams f;
    f.at.kind = Place::Kind::first;
    f.force = {0, 0, -force};
    p.threads[0].forces.push_back(f);
    World world = make(p);
    std::uint32_t flags = 0;
    for (int k = 0; k < 100; ++k) flags |= world.step({}).flags;
    EXPECT_EQ((flags & step_contact_gave_way) != 0, force > 1e8) << force;
  }
}

TEST(World, ObserverSeesEachStageOnceInOrder) {
  World world = make(thread_over_bench());
  std::vector<StepStage> seen;
  world.observe_stages(
      [](void* context, StepStage stage) noexcept { static_cast<std::vector<StepStage>*>(context)->push_back(stage); },
      &seen);
  world.step({});
  ASSERT_EQ(seen.size(), static_cast<std::size_t>(kStepStages));
  for (int i = 0; i < kStepStages; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], static_cast<StepStage>(i));
}

struct BadCase {
  const char* names;  // what the message must name
  void (*spoil)(WorldParams&);
};
constexpr BadCase kBad[] = {
    {"gravity", [](WorldParams& p) { p.gravity.x = std::numeric_limits<double>::quiet_NaN(); }},
    {"step_s", [](WorldParams& p) { p.step_s = 0; }},
    {"thread_obstacle", [](WorldParams& p) { p.friction.thread_obstacle = -0.1; }},
    {"solver.iterations", [](WorldParams& p) { p.solver.iterations = 0; }},
    {"'thread'.points_mm", [](WorldParams& p) { p.threads[0].points.resize(1); }},
    {"'thread'.segment_mm", [](WorldParams& p) { p.threads[0].segment_mm = -1; }},
    {"'thread'.diameter_mm", [](WorldParams& p) { p.threads[0].diameter_mm = 0; }},
    {"'thread'.stretch_stiffness", [](WorldParams& p) { p.threads[0].material.stretch_stiffness = 0; }},
    {"'thread'.drag", [](WorldParams& p) { p.threads[0].material.drag = -1; }},
    {"'thread'.twist_turns", [](WorldParams& p) { p.threads[0].twist_turns = 1e9; }},
    {"capacity.vertices", [](WorldParams& p) { p.threads[0].segment_mm = 0.001; }},
    {"overlaps obstacle 0", [](WorldParams& p) { p.obstacles[0].point.z = 0.05; }},
    {"obstacle 0 normal",
     [](WorldParams& p) {
       p.obstacles[0].normal = {0, 0, 0};
     }},
    {"forceps right release_opening_rad", [](WorldParams& p) { p.forceps[1].release_opening_rad = 0.001; }},
    {"motion_scale", [](WorldParams& p) { p.motion_scale = 0; }},
    {"no thread", [](WorldParams& p) { p.threads.clear(); }},
};

TEST(World, RefusesBadParametersWithOneLineThatNamesThem) {
  for (const BadCase& bad : kBad) {
    WorldParams p = thread_over_bench();
    bad.spoil(p);
    const auto world = World::create(p, {});
    ASSERT_FALSE(world) << bad.names;
    EXPECT_EQ(world.error().kind, Error::Kind::usage);
    EXPECT_NE(world.error().message.find(bad.names), std::string::npos) << world.error().message;
    EXPECT_EQ(world.error().message.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace ligature::world
