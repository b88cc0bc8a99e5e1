#include <gtest/gtest.h>

#include <numbers>

#include "config/scenario_file.hpp"
#include "tests/config/temp_dir.hpp"

namespace ligature::config {
namespace {

using world::ClampParams;
using world::Place;
using world::ThreadParams;

/// 50 segments of 0.2 mm, vertices 0..50. Lines 1 to 3; what comes after begins at line 4.
const std::string kThread = "[[thread]]\nname = \"a\"\npoints_mm = [[0,0,1],[10,0,1]]\n";
/// 40 segments of 0.2 mm, vertices 0..39.
const std::string kRing = "[[thread]]\nclosed = true\npoints_mm = [[0,0,1],[2,0,1],[2,2,1],[0,2,1]]\n";

ThreadParams thread_of(const std::string& text) {
  const auto s = parse_scenario(text, "f.toml");
  EXPECT_TRUE(s) << s.error().message << "\nfor\n" << text;
  return s ? s->params.threads.at(0) : ThreadParams{};
}

struct Case {
  std::string text, says;
};

void expect_refused(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const auto s = parse_scenario(c.text, "f.toml");
    ASSERT_FALSE(s) << c.text;
    EXPECT_EQ(s.error().kind, Error::Kind::usage);
    EXPECT_EQ(s.error().message.find("f.toml:" + c.says), 0u) << s.error().message << "\nfor\n" << c.text;
    EXPECT_NE(s.error().message.find(", must be "), std::string::npos) << s.error().message;
    EXPECT_EQ(s.error().message.find('\n'), std::string::npos);
  }
}

TEST(ScenarioThread, DefaultsAreThoseOfTheContract) {
  const auto t = thread_of("[[thread]]\npoints_mm = [[0,0,1],[10,0,1]]\n");
  EXPECT_EQ(t.name, "thread1");
  EXPECT_FALSE(t.closed);
  EXPECT_FALSE(t.inertial);
  EXPECT_FALSE(t.rest_shape_as_given);
  EXPECT_EQ(t.rest_length_scale, 1.0);
  EXPECT_EQ(t.twist_turns, 0.0);
  EXPECT_EQ(t.twist_mode, ThreadParams::TwistMode::quasi_static);
  EXPECT_EQ(t.yield_strain, 0.0);
  EXPECT_EQ(thread_of(kThread + "yield_strain = 0.08\n").yield_strain, 0.08);
  EXPECT_EQ(t.velocity, Vec3{});
  EXPECT_DOUBLE_EQ(t.material.drag, 4e-5);
  EXPECT_TRUE(t.clamps.empty());
  EXPECT_TRUE(t.forces.empty());
}

TEST(ScenarioThread, AnAdaptiveOneHasSegmentsOfSixteenUnitsUnlessTold) {
  EXPECT_EQ(thread_of(kThread).coarsest_mm, 0);
  const auto t = thread_of(kThread + "adaptive = true\nsegment_mm = 0.02\n");
  EXPECT_DOUBLE_EQ(t.coarsest_mm, 0.32);
  EXPECT_EQ(t.most_vertices, 0u);
  const auto told = thread_of(kThread + "adaptive = true\ncoarsest_mm = 0.5\nmost_vertices = 300\n");
  EXPECT_DOUBLE_EQ(told.coarsest_mm, 0.5);
  EXPECT_EQ(told.most_vertices, 300u);
}

TEST(ScenarioThread, AdaptiveIsRefusedWhereItMeansNothing) {
  const std::string on = kThread + "adaptive = true\n";
  expect_refused({
      {kThread + "coarsest_mm = 0.5\n", "4: key 'thread.coarsest_mm'"},
      {kThread + "adaptive = false\nmost_vertices = 9\n", "5: key 'thread.most_vertices'"},
      {on + "coarsest_mm = 0.3\n", "5: key 'thread.coarsest_mm' is 0.3"},
      {on + "rest_shape = \"as-given\"\n", "4: key 'thread.adaptive'"},
      {on + "twist = \"unknown\"\n", "4: key 'thread.adaptive'"},
      {on + "yield_strain = 0.08\n", "4: key 'thread.adaptive'"},
      {kThread + "yield_strain = -0.08\n", "4: key 'thread.yield_strain'"},
      {kThread + "yield_strain = \"some\"\n", "4: key 'thread.yield_strain'"},
      {on + "[[thread.clamp]]\nat = 3\n", "6: key 'thread.clamp.at' is 3"},
  });
}

TEST(ScenarioThread, EverythingOfARodIsRead) {
  const auto t = thread_of(kThread +
                           "integrator = \"inertial\"\nrest_shape = \"as-given\"\nrest_length_scale = 0.9\n"
                           "twist_turns = -2.5\ntwist = \"unknown\"\nvelocity_mm_per_s = [1, -2, 3]\n"
                           "drag_mn_s_per_mm2 = 0\nbend_stiffness_mn_mm2 = 0\ntwist_stiffness_mn_mm2 = 0.0\n");
  EXPECT_TRUE(t.inertial);
  EXPECT_TRUE(t.rest_shape_as_given);
  EXPECT_EQ(t.rest_length_scale, 0.9);
  EXPECT_EQ(t.twist_turns, -2.5);
  EXPECT_EQ(t.twist_mode, ThreadParams::TwistMode::unknown);
  EXPECT_EQ(t.velocity, (Vec3{1, -2, 3}));
  EXPECT_EQ(t.material.drag, 0.0);
  EXPECT_EQ(t.material.bend_stiffness, 0.0) << "limp";
  EXPECT_EQ(t.material.twist_stiffness, 0.0);
}

TEST(ScenarioThread, StiffnessRunsFarEnoughForEveryExperiment) {
  const auto t = thread_of(kThread + "stretch_stiffness_mn = 7.854e13\nbend_stiffness_mn_mm2 = 1.9635e11\n");
  EXPECT_DOUBLE_EQ(t.material.stretch_stiffness, 7.854e16);
}

TEST(ScenarioThread, WrongNumbersAreNamed) {
  expect_refused({
      {kThread + "stretch_stiffness_mn = 0\n", "4: key 'thread.stretch_stiffness_mn' is 0, must be above 0"},
      {kThread + "stretch_stiffness_mn = -1\n", "4: key 'thread.stretch_stiffness_mn' is -1"},
      {kThread + "bend_stiffness_mn_mm2 = -1e-9\n", "4: key 'thread.bend_stiffness_mn_mm2' is -1e-09, must be 0.."},
      {kThread + "twist_stiffness_mn_mm2 = inf\n", "4: key 'thread.twist_stiffness_mn_mm2' is inf"},
      {kThread + "rest_length_scale = 0.001\n", "4: key 'thread.rest_length_scale' is 0.001, must be 0.01..100"},
      {kThread + "rest_length_scale = 101\n", "4: key 'thread.rest_length_scale' is 101, must be 0.01..100"},
      {kThread + "twist_turns = nan\n", "4: key 'thread.twist_turns' is nan"},
      {kThread + "twist = \"quasistatic\"\n",
       "4: key 'thread.twist' is 'quasistatic', must be quasi-static | unknown: did you mean 'quasi-static'?"},
      {kThread + "rest_shape = \"given\"\n", "4: key 'thread.rest_shape' is 'given', must be straight | as-given"},
      {kThread + "drag_mn_s_per_mm2 = 0\n", "4: key 'thread.drag_mn_s_per_mm2' is 0, must be above 0"},
      {kThread + "integrator = \"inertial\"\ndensity_kg_per_m3 = 0\n", "5: key 'thread.density_kg_per_m3' is 0"},
      {kThread + "velocity_mm_per_s = [0, 0, 1]\n",
       "4: key 'thread.velocity_mm_per_s' is not zero, must be [0, 0, 0]: only integrator = \"inertial\""},
      {kThread + "velocity_mm_per_s = [0, inf, 1]\n", "4: key 'thread.velocity_mm_per_s[1]' is inf"},
      {"[[thread]]\nname = \"a,b\"\npoints_mm = [[0,0,1],[10,0,1]]\n", "2: key 'thread.name' is 'a,b'"},
      {"[[thread]]\nname = \"\"\npoints_mm = [[0,0,1],[10,0,1]]\n", "2: key 'thread.name' is ''"},
      {"[[thread]]\npoints_mm = [[0,0,1],[2e5,0,1]]\n", "2: key 'thread.points_mm' is far away at point 1"},
  });
}

TEST(ScenarioThread, AClosedThreadIsALoop) {
  const auto ring = thread_of(kRing + "twist_turns = 3\n");
  EXPECT_TRUE(ring.closed);
  EXPECT_EQ(ring.points.size(), 4u);
  EXPECT_EQ(ring.twist_turns, 3.0);
  const auto repeated = thread_of("[[thread]]\nclosed = true\npoints_mm = [[0,0,1],[2,0,1],[2,2,1],[0,2,1],[0,0,1]]\n");
  EXPECT_EQ(repeated.points, ring.points) << "a repeated first point is dropped";
}

TEST(ScenarioThread, AClosedThreadHasARightNumberOfSegments) {
  const std::string ring = kRing + "diameter_mm = 0.1\nsegment_mm = ";
  thread_of(ring + "1.6\n");
  expect_refused({
      {ring + "2.0\n", "5: key 'thread.segment_mm' is 2, must be at most a fifth of the closed thread's length, 8.0"},
      {"[[thread]]\nclosed = true\npoints_mm = [[0,0,1],[2,0,1]]\n",
       "3: key 'thread.points_mm' is a closed thread of 2 different points, must be three or more"},
      {"[[thread]]\nclosed = true\npoints_mm = [[0,0,1],[2,0,1],[0,0,1]]\n",
       "3: key 'thread.points_mm' is a closed thread of 2 different points"},
  });
}

TEST(ScenarioThread, AClosedThreadDoesNotOverlapItselfAtItsSeam) {
  thread_of(kRing);
  thread_of("[[thread]]\nclosed = true\npoints_mm = [[0.05,0,1],[2,0,1],[2,2,1],[0,2,1],[0,0,1]]\n");
  expect_refused({
      {"[[thread]]\nclosed = true\npoints_mm = [[0,0,1],[2,0,1],[2,2,1],[1,-1,1]]\n",
       "3: key 'thread.points_mm' is overlapping itself at points 0 and 2"},
      {"[[thread]]\nclosed = true\npoints_mm = [[0,0,1],[2,0,1],[2,2,1],[2.5,0.05,1]]\n",
       "3: key 'thread.points_mm' is overlapping itself"},
      {kRing + "[[thread]]\npoints_mm = [[0,1,1.05],[-2,1,1.05]]\n",
       "5: key 'thread.points_mm' is overlapping thread 'thread1' at point 0"},
      {kRing + "[[obstacle]]\nshape = \"plane\"\npoint_mm = [0,0,0.95]\n",
       "3: key 'thread.points_mm' is inside plane 'obstacle1'"},
  });
}

TEST(ScenarioClamp, EveryKeyIsRead) {
  const auto t = thread_of(kThread +
                           "[[thread.clamp]]\nat = \"first\"\n"
                           "[[thread.clamp]]\nat = \"last\"\nhold = \"frame\"\nvelocity_mm_per_s = [1,2,3]\n"
                           "spin_deg_per_s = 360\nturn_deg_per_s = [0, 0, 180]\nfrom_s = 1\nuntil_s = 2.5\n"
                           "[[thread.clamp]]\nat = 7\n[[thread.clamp]]\nat = { s_mm = 5.0 }\n");
  ASSERT_EQ(t.clamps.size(), 4u);
  const auto& first = t.clamps[0];
  EXPECT_EQ(first.at.kind, Place::Kind::first);
  EXPECT_EQ(first.hold, ClampParams::Hold::position);
  EXPECT_EQ(first.velocity, Vec3{});
  EXPECT_EQ(first.from_s, 0.0);
  EXPECT_EQ(first.until_s, world::kForever);
  const auto& last = t.clamps[1];
  EXPECT_EQ(last.at.kind, Place::Kind::last);
  EXPECT_EQ(last.hold, ClampParams::Hold::frame);
  EXPECT_EQ(last.velocity, (Vec3{1, 2, 3}));
  EXPECT_DOUBLE_EQ(last.spin_rad_per_s, 2 * std::numbers::pi);
  EXPECT_DOUBLE_EQ(last.turn_rad_per_s.z, std::numbers::pi);
  EXPECT_EQ(last.from_s, 1.0);
  EXPECT_EQ(last.until_s, 2.5);
  EXPECT_EQ(t.clamps[2].at.kind, Place::Kind::vertex);
  EXPECT_EQ(t.clamps[2].at.vertex, 7u);
  EXPECT_EQ(t.clamps[3].at.kind, Place::Kind::arc);
  EXPECT_EQ(t.clamps[3].at.s_mm, 5.0);
}

TEST(ScenarioClamp, APlaceLiesOnTheThread) {
  const std::string clamp = kThread + "[[thread.clamp]]\nat = ";
  for (const char* at : {"0", "50", "{ s_mm = 0 }", "{ s_mm = 10.0 }"}) thread_of(clamp + at + "\n");
  thread_of(kThread + "rest_length_scale = 2.0\n[[thread.clamp]]\nat = { s_mm = 19.0 }\n");
  expect_refused({
      {clamp + "51\n", "5: key 'thread.clamp.at' is 51, must be a whole number 0..50"},
      {clamp + "-1\n", "5: key 'thread.clamp.at' is -1, must be a whole number 0..50"},
      {clamp + "1.0\n", "5: key 'thread.clamp.at' is 1, must be \"first\", \"last\", a vertex number or"},
      {clamp + "true\n", "5: key 'thread.clamp.at' is true, must be \"first\""},
      {clamp + "\"frist\"\n", "5: key 'thread.clamp.at' is 'frist', must be first | last: did you mean 'first'?"},
      {clamp + "{ s_mm = 10.1 }\n", "5: key 'thread.clamp.at.s_mm' is 10.1, must be 0..10.000000"},
      {clamp + "{ s_mm = -0.1 }\n", "5: key 'thread.clamp.at.s_mm' is -0.1, must be at least 0"},
      {clamp + "{ s = 1 }\n", "5: key 'thread.clamp.at.s_mm' is missing"},
      {clamp + "{ s_mm = 1, t = 2 }\n", "5: key 'thread.clamp.at.t' is unknown"},
      {kThread + "[[thread.clamp]]\nhold = \"frame\"\n", "4: key 'thread.clamp.at' is missing, must be \"first\""},
  });
}

TEST(ScenarioClamp, AClosedThreadBeginsButDoesNotEnd) {
  thread_of(kRing + "[[thread.clamp]]\nat = \"first\"\n[[thread.clamp]]\nat = 39\n");
  expect_refused({
      {kRing + "[[thread.clamp]]\nat = \"last\"\n", "5: key 'thread.clamp.at' is 'last', must be \"first\", a vertex"},
      {kRing + "[[thread.clamp]]\nat = 40\n", "5: key 'thread.clamp.at' is 40, must be a whole number 0..39"},
      {kRing + "[[thread.clamp]]\nat = 0\n[[thread.clamp]]\nat = { s_mm = 8 }\n",
       "7: key 'thread.clamp.at' is vertex 0, which another clamp holds"},
  });
}

TEST(ScenarioClamp, OnlyAFrameTurns) {
  const std::string clamp = kThread + "[[thread.clamp]]\nat = 0\n";
  thread_of(clamp + "spin_deg_per_s = 0\nturn_deg_per_s = [0,0,0]\n");
  expect_refused({
      {clamp + "spin_deg_per_s = 1\n", "6: key 'thread.clamp.spin_deg_per_s' is 1, must be 0: only hold = \"frame\""},
      {clamp + "hold = \"position\"\nturn_deg_per_s = [0,1,0]\n", "7: key 'thread.clamp.turn_deg_per_s' is not zero"},
      {clamp + "hold = \"frames\"\n", "6: key 'thread.clamp.hold' is 'frames', must be position | frame"},
  });
}

TEST(ScenarioClamp, OneVertexIsHeldByOneClampAtATime) {
  const std::string last = kThread + "[[thread.clamp]]\nat = \"last\"\nuntil_s = 1.0\n";
  thread_of(last + "[[thread.clamp]]\nat = 50\nfrom_s = 1.0\n");
  thread_of(last + "[[thread.clamp]]\nat = 49\n");
  expect_refused({
      {last + "[[thread.clamp]]\nat = 50\nfrom_s = 0.9\n",
       "8: key 'thread.clamp.at' is vertex 50, which another clamp holds at the same time, must be held by one"},
      {last + "[[thread.clamp]]\nat = { s_mm = 9.95 }\n", "8: key 'thread.clamp.at' is vertex 50, which another"},
      {kThread + "[[thread.clamp]]\nat = 3\nfrom_s = 2\nuntil_s = 2\n",
       "7: key 'thread.clamp.until_s' is 2, must be above 2"},
      {kThread + "[[thread.clamp]]\nat = 3\nfrom_s = -1\n", "6: key 'thread.clamp.from_s' is -1"},
  });
}

TEST(ScenarioForce, EveryKeyIsRead) {
  const auto t = thread_of(kThread +
                           "[[thread.force]]\nat = \"last\"\nforce_mn = [1000.0, 0, -2]\nramp_s = 0.2\nfrom_s = 0.1\n"
                           "until_s = 2\n[[thread.force]]\nat = 50\nforce_mn = [0,0,1]\n");
  ASSERT_EQ(t.forces.size(), 2u) << "forces on one vertex add";
  EXPECT_EQ(t.forces[0].at.kind, Place::Kind::last);
  EXPECT_EQ(t.forces[0].force, (Vec3{1e6, 0, -2000}));
  EXPECT_EQ(t.forces[0].ramp_s, 0.2);
  EXPECT_EQ(t.forces[0].from_s, 0.1);
  EXPECT_EQ(t.forces[0].until_s, 2.0);
  EXPECT_EQ(t.forces[1].ramp_s, 0.0);
  EXPECT_EQ(t.forces[1].until_s, world::kForever);
}

TEST(ScenarioForce, WrongOnesAreNamed) {
  const std::string force = kThread + "[[thread.force]]\nat = \"last\"\n";
  expect_refused({
      {force, "4: key 'thread.force.force_mn' is missing"},
      {force + "force_mn = [1, 2]\n", "6: key 'thread.force.force_mn' is an array of 2"},
      {force + "force_mn = [1, 2, nan]\n", "6: key 'thread.force.force_mn[2]' is nan"},
      {force + "force_mn = [1, 2, 3]\nramp_s = -1\n", "7: key 'thread.force.ramp_s' is -1"},
      {force + "force_mn = [1, 2, 3]\nforce_n = 1\n", "7: key 'thread.force.force_n' is unknown"},
      {kThread + "[[thread.force]]\nat = 51\nforce_mn = [1,2,3]\n", "5: key 'thread.force.at' is 51"},
  });
}

}  // namespace
}  // namespace ligature::config
