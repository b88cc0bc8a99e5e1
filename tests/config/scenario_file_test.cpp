#include "config/scenario_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <memory>

#include "sim/world/world.hpp"
#include "tests/config/temp_dir.hpp"

namespace ligature::config {
namespace {

using test::kSourceDir;
using test::slurp;
using test::TempDir;
using test::with;

/// The shipped scene with its thread given as a material.
std::string bench_of_nylon() {
  std::string text = slurp(kSourceDir / "config/scenarios/bench_grasp.toml");
  const auto from = text.find("stretch_stiffness_mn"), until = text.find("drag_mn_s_per_mm2");
  return text.replace(from, until - from, "young_gpa         = 2.5\npoisson           = 0.4\n");
}

TEST(ScenarioFile, TheShippedBenchIsInSimsUnits) {
  const auto s = load_scenario(kSourceDir / "config/scenarios/bench_grasp.toml");
  ASSERT_TRUE(s) << s.error().message;
  const auto& w = s->params;
  EXPECT_DOUBLE_EQ(w.step_s, 0.005);
  EXPECT_DOUBLE_EQ(w.gravity.z, -9810);
  ASSERT_EQ(w.threads.size(), 1u);
  const auto& t = w.threads[0];
  EXPECT_EQ(t.points.front(), (Vec3{-30, 0, 0.1}));
  EXPECT_EQ(t.points.back(), (Vec3{30, 0, 0.1}));
  EXPECT_EQ(t.segment_mm, 0.2);
  EXPECT_EQ(t.diameter_mm, 0.2);
  EXPECT_DOUBLE_EQ(t.material.drag, 3e-3);
  EXPECT_DOUBLE_EQ(t.material.stretch_stiffness, 188000e3);
  EXPECT_DOUBLE_EQ(t.material.bend_stiffness, 2000);
  EXPECT_DOUBLE_EQ(t.material.twist_stiffness, 1500);
  // 1140 kg/m^3 times the cross section of pi (0.1 mm)^2.
  EXPECT_NEAR(t.material.linear_density, 1140e-6 * 3.14159265358979 * 0.01, 1e-15);
  EXPECT_EQ(w.solver.iterations, 6);
  EXPECT_EQ(w.solver.residual_target, 1e-6);
  EXPECT_TRUE(t.clamps.empty() && t.forces.empty() && w.schedule.empty() && w.cuts.empty());
  ASSERT_EQ(w.obstacles.size(), 1u);
  EXPECT_EQ(w.obstacles[0].name, "bench");
  EXPECT_EQ(w.obstacles[0].normal, (Vec3{0, 0, 1}));
  // The file spells out the defaults of the jaws; both must say the same.
  const world::ForcepsParams jaws;
  for (const auto& f : w.forceps) {
    EXPECT_EQ(f.hinge_p_T, jaws.hinge_p_T);
    EXPECT_DOUBLE_EQ(f.jaw_length_mm, jaws.jaw_length_mm);
    EXPECT_DOUBLE_EQ(f.tip_radius_mm, jaws.tip_radius_mm);
    EXPECT_DOUBLE_EQ(f.jaw_radius_mm, jaws.jaw_radius_mm);
    EXPECT_NEAR(f.grasp_opening_rad, jaws.grasp_opening_rad, 0.001);
    EXPECT_NEAR(f.release_opening_rad, jaws.release_opening_rad, 0.001);
    EXPECT_DOUBLE_EQ(f.grasp_reach_mm, jaws.grasp_reach_mm);
  }
  EXPECT_EQ(s->capacity.vertices, 512u);
}

TEST(ScenarioFile, StiffnessesComeFromTheMaterial) {
  const auto s = parse_scenario(bench_of_nylon(), kSourceDir / "config/scenarios/bench_grasp.toml");
  ASSERT_TRUE(s) << s.error().message;
  const auto& m = s->params.threads[0].material;
  // CONTRACT names these stiffnesses for this material; printed there to five digits.
  EXPECT_NEAR(m.stretch_stiffness, 78540e3, 0.5e3);
  EXPECT_NEAR(m.bend_stiffness, 196.35e3, 5);
  EXPECT_NEAR(m.twist_stiffness, 140.25e3, 5);
}

TEST(ScenarioFile, StiffnessesGivenDirectlyWin) {
  const auto s = parse_scenario(
      "[[thread]]\npoints_mm = [[0,0,0],[10,0,0]]\nyoung_gpa = 100.0\nstretch_stiffness_mn = 78540.0\n"
      "bend_stiffness_mn_mm2 = 196.35\n",
      "f.toml");
  ASSERT_TRUE(s) << s.error().message;
  const auto& m = s->params.threads[0].material;
  EXPECT_DOUBLE_EQ(m.stretch_stiffness, 78540e3);
  EXPECT_DOUBLE_EQ(m.bend_stiffness, 196350);
  EXPECT_NEAR(m.twist_stiffness, 140.25e3 * 40, 200) << "of the material, 40 times as stiff";
}

TEST(ScenarioFile, PointsComeFromACsvBesideTheFile) {
  const TempDir dir;
  dir.write("curves/left.csv", "0,0,0\n5,0,0\n10,0,1\n");
  const auto file = dir.write("s.toml", "[[thread]]\nname = \"a\"\npoints_file = \"curves/left.csv\"\n");
  const auto s = load_scenario(file);
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(s->params.threads[0].points.size(), 3u);
  dir.write("curves/left.csv", "0,0,0\n5,0,zero\n");
  const auto bad = load_scenario(file);
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("s.toml:3: key 'thread.points_file' is not readable as points"),
            std::string::npos);
  EXPECT_NE(bad.error().message.find("left.csv:2: key 'z' is 'zero'"), std::string::npos) << bad.error().message;
}

TEST(ScenarioFile, ForcepsPathsAreFound) {
  const TempDir dir;
  dir.write("l.csv", "t_s,x_mm,y_mm,z_mm,qx,qy,qz,qw,opening_deg\n0,0,0,0,0,0,0,1,5\n");
  const std::string thread = "[[thread]]\npoints_mm = [[0,0,0],[10,0,0]]\n";
  const auto s = load_scenario(dir.write("s.toml", thread + "[[forceps]]\nname = \"right\"\npath_file = \"l.csv\"\n"));
  ASSERT_TRUE(s) << s.error().message;
  ASSERT_EQ(s->forceps.size(), 1u);
  EXPECT_EQ(s->forceps[0].name, "right");
  EXPECT_EQ(s->forceps[0].path_file, dir / "l.csv");
  EXPECT_FALSE(load_scenario(dir.write("s.toml", thread + "[[forceps]]\nname = \"right\"\npath_file = \"m.csv\"\n")));
  dir.write("m.csv", "t_s,x_mm,y_mm,z_mm,qx,qy,qz,qw,opening_deg\n0,0,0,0,0,0,0,2,5\n");
  const auto bad =
      load_scenario(dir.write("s.toml", thread + "[[forceps]]\nname = \"right\"\npath_file = \"m.csv\"\n"));
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("key 'forceps.path_file' is not a path"), std::string::npos);
  EXPECT_NE(bad.error().message.find("m.csv:2: "), std::string::npos) << bad.error().message;
}

TEST(ScenarioFile, WhatForcepsLookAtIsFound) {
  const TempDir dir;
  dir.write("l.csv", "t_s,x_mm,y_mm,z_mm,qx,qy,qz,qw,opening_deg\n0,0,0,0,0,0,0,1,5\n");
  const std::string start =
      "[[thread]]\npoints_mm = [[0,0,0],[10,0,0]]\n[[forceps]]\nname = \"right\"\npath_file = \"l.csv\"\n";
  dir.write("a.csv", "1,0.5,0,first,0.2,1,2,3,1,1,1\n");
  const auto s = load_scenario(dir.write("s.toml", start + "aims_file = \"a.csv\"\n"));
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(s->forceps[0].aims_file, dir / "a.csv");
  const auto plain = load_scenario(dir.write("s.toml", start));
  ASSERT_TRUE(plain);
  EXPECT_TRUE(plain->forceps[0].aims_file.empty());

  dir.write("b.csv", "1,0.5,0,first,0.2,1,2,3,1,1,1\n0.5,0.5,0,none,0,0,0,0,0,0,0\n");
  const auto bad = load_scenario(dir.write("s.toml", start + "aims_file = \"b.csv\"\n"));
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("key 'forceps.aims_file' is not aims"), std::string::npos) << bad.error().message;
  EXPECT_NE(bad.error().message.find("b.csv:2: "), std::string::npos) << bad.error().message;
  dir.write("c.csv", "1,0.5,1,first,0.2,1,2,3,1,1,1\n");
  const auto other = load_scenario(dir.write("s.toml", start + "aims_file = \"c.csv\"\n"));
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("must be aims at threads 0..0"), std::string::npos) << other.error().message;
}

TEST(ScenarioFile, TheIntegratorIsLowMassUnlessAskedOtherwise) {
  const std::string thread = "[[thread]]\npoints_mm = [[0,0,0],[10,0,0]]\n";
  const auto plain = parse_scenario(thread, "f.toml");
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->params.threads[0].inertial);
  const auto inertial = parse_scenario(thread + "integrator = \"inertial\"\n", "f.toml");
  ASSERT_TRUE(inertial);
  EXPECT_TRUE(inertial->params.threads[0].inertial);
}

/// The shipped scene is one that the physics takes and keeps at rest where it was drawn.
TEST(ScenarioFile, TheShippedBenchIsAWorldAtRest) {
  const auto s = load_scenario(kSourceDir / "config/scenarios/bench_grasp.toml");
  ASSERT_TRUE(s) << s.error().message;
  auto world = world::World::create(s->params, s->capacity);
  ASSERT_TRUE(world) << world.error().message;
  std::uint32_t flags = 0;
  for (int i = 0; i < 100; ++i) flags |= world->step(InstrumentSample{}).flags;
  EXPECT_EQ(flags & (step_contact_overflow | step_non_finite_restored), 0u);
  auto snapshot = std::make_unique<SceneSnapshot>();
  world->snapshot(*snapshot);
  ASSERT_EQ(snapshot->threads.size(), 1u);
  EXPECT_EQ(snapshot->threads[0].vertex_count, 301u);
  // A tenth of the thread's radius: it was drawn touching the bench.
  for (const auto& v : snapshot->vertices) EXPECT_NEAR(v.z, 0.1f, 0.01f);
}

TEST(ScenarioFile, TheContactSolverIsChosenAndTheThesisOnesStopAfterTen) {
  using Contact = world::SolverParams::Contact;
  const std::string thread = "[[thread]]\npoints_mm = [[0,0,1],[10,0,1]]\n[solver]\n";
  struct Case {
    const char* keys;
    Contact contact;
    int iterations;
  };
  for (const Case& c : {Case{"", Contact::standard, 60}, Case{"contact = \"default\"\n", Contact::standard, 60},
                        Case{"contact = \"nncg\"\n", Contact::nncg, 10}, Case{"contact = \"pgs\"\n", Contact::pgs, 10},
                        Case{"contact = \"pgs\"\ncontact_iterations = 50\n", Contact::pgs, 50},
                        Case{"contact_iterations = 7\n", Contact::standard, 7}}) {
    const auto s = parse_scenario(thread + c.keys, "f.toml");
    ASSERT_TRUE(s) << s.error().message;
    EXPECT_EQ(s->params.solver.contact, c.contact) << c.keys;
    EXPECT_EQ(s->params.solver.contact_iterations, c.iterations) << c.keys;
  }
  for (const char* keys : {"contact = \"lemke\"\n", "contact = 1\n", "contact_iterations = 0\n",
                           "contact_iterations = 1001\n", "contact_iterations = 2.5\n", "contact_iteration = 5\n"}) {
    const auto s = parse_scenario(thread + keys, "f.toml");
    ASSERT_FALSE(s) << keys;
    EXPECT_EQ(s.error().message.rfind("f.toml:4: key 'solver.contact", 0), 0u) << s.error().message;
  }
}

TEST(ScenarioFile, EveryMistakeIsNamedWithItsKey) {
  const std::string good = bench_of_nylon();
  struct Case {
    const char *from, *to, *says;
  };
  const std::vector<Case> cases{
      {"duration_s       = 10.0", "duration_s = 0", "key 'duration_s' is 0, must be above 0"},
      {"step_ms          = 5.0", "step_ms = -5.0", "key 'step_ms' is -5, must be 0.01..100"},
      {"[0.0, 0.0, -9.81]", "[0.0, -9.81]", "key 'gravity_m_per_s2' is an array of 2"},
      {"[0.0, 0.0, -9.81]", "[0.0, nan, -9.81]", "key 'gravity_m_per_s2[1]' is nan"},
      {"thread_thread   = 0.3", "thread_thread = -0.3", "key 'friction.thread_thread' is -0.3, must be 0..10"},
      {"thread_tool ", "thread_tools ", "did you mean 'thread_tool'?"},
      {"vertices = 512", "vertices = 300", "at most 300 vertices, not 301: lengthen the segments or raise capacity"},
      {"vertices = 512", "vertices = 70000", "key 'capacity.vertices' is 70000, must be a whole number 2..65536"},
      {"segment_mm        = 0.2", "segment_mm = 0", "key 'thread.segment_mm' is 0, must be 0.001..1000"},
      {"segment_mm        = 0.2", "segment_mm = 60.0", "must be at most half of the thread's length"},
      {"segment_mm        = 0.2", "segment_mm = 0.001", "must be such that all threads together have at most 512"},
      {"diameter_mm       = 0.2", "diameter_mm = 0.21", "key 'thread.points_mm' is inside plane 'bench' at point 0"},
      {"diameter_mm       = 0.2", "diameter_mm = -1", "key 'thread.diameter_mm' is -1"},
      {"poisson           = 0.4", "poisson = 0.6", "key 'thread.poisson' is 0.6, must be above -1 and at most 0.5"},
      {"young_gpa         = 2.5", "young_gpa = 0", "key 'thread.young_gpa' is 0"},
      {"young_gpa         = 2.5", "young_pa = 2.5e9",
       "key 'thread.young_pa' is unknown, must be a key of [thread]: did "
       "you mean 'young_gpa'?"},
      {"drag_mn_s_per_mm2 = 3e-6", "drag_mn_s_per_mm2 = 0", "key 'thread.drag_mn_s_per_mm2' is 0"},
      {"[[-30.0, 0.0, 0.1], [30.0, 0.0, 0.1]]", "[[-30.0, 0.0, 0.1]]", "key 'thread.points_mm' is an array of 1"},
      {"[[-30.0, 0.0, 0.1], [30.0, 0.0, 0.1]]", "[[-30.0, 0.0, 0.1], [30.0, 0.0]]", "key 'thread.points_mm[1]' is"},
      {"[[-30.0, 0.0, 0.1], [30.0, 0.0, 0.1]]", "[[0, 0, 1], [0, 0, 1], [30.0, 0.0, 0.1]]",
       "key 'thread.points_mm' is standing still at point 1"},
      {"points_mm ", "points_file = \"none.csv\"\npoints_mm ",
       "key 'thread.points_file' is 'none.csv', must be an existing"},
      {"points_mm         = [[-30.0, 0.0, 0.1], [30.0, 0.0, 0.1]]\n", "", "key 'thread.points_mm' is missing"},
      {"shape    = \"plane\"", "shape = \"plain\"", "did you mean 'plane'?"},
      {"normal   = [0.0, 0.0, 1.0]", "normal = [0.0, 0.0, 0.0]", "key 'obstacle.normal' is of zero length"},
      {"release_opening_deg = 2.25", "release_opening_deg = 1.0",
       "key 'forceps_jaws.release_opening_deg' is 1, must be at least grasp_opening_deg"},
      {"grip_force_mn       = 300.0", "grip_force_mn = 0", "key 'forceps_jaws.grip_force_mn' is 0, must be above 0"},
      {"grasp_reach_mm      = 3.0", "grasp_reach_mm = 13.0",
       "key 'forceps_jaws.grasp_reach_mm' is 13, must be at most"},
      {"[friction]", "[frictions]", "key 'frictions' is unknown, must be a key of this file: did you mean 'friction'?"},
  };
  for (const Case& c : cases) {
    const auto s = parse_scenario(with(good, c.from, c.to), "f.toml");
    ASSERT_FALSE(s) << c.to;
    EXPECT_EQ(s.error().kind, Error::Kind::usage);
    EXPECT_NE(s.error().message.find(c.says), std::string::npos) << s.error().message << "\nfor " << c.to;
    EXPECT_EQ(s.error().message.substr(0, 7), "f.toml:");
  }
}

TEST(ScenarioFile, WhatARunNeedsIsRead) {
  const std::string thread = "[[thread]]\npoints_mm = [[0,0,0],[10,0,0]]\n";
  const auto plain = parse_scenario(thread, "f.toml");
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->title, "untitled");
  EXPECT_EQ(plain->duration_s, 3.0);
  EXPECT_FALSE(plain->until_rest);
  EXPECT_EQ(plain->rest_speed_mm_per_s, 1e-4);
  EXPECT_EQ(plain->output_every_s, 0.03);
  EXPECT_EQ(plain->capacity.vertices, 4096u);
  const auto& solver = plain->params.solver;
  EXPECT_EQ(solver.iterations, 50);
  EXPECT_EQ(solver.work, 0);
  EXPECT_EQ(solver.residual_target, 1e-9);
  EXPECT_EQ(solver.implicitness, 1.0);
  EXPECT_EQ(solver.linearisation, world::SolverParams::Linearisation::full);
  const auto s = parse_scenario(
      "title = \"a\"\nduration_s = 5\nuntil = \"rest\"\nrest_speed_mm_per_s = 1e-3\n" + thread +
          "[output]\nevery_s = 0.1\n[capacity]\nvertices = 65536\n[solver]\ncontact = \"default\"\n"
          "iterations = 1\nwork = 240\nresidual_target = 1e-5\nimplicitness = 0.5\nlinearisation = \"scalar\"\n",
      "f.toml");
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(s->title, "a");
  EXPECT_EQ(s->duration_s, 5.0);
  EXPECT_TRUE(s->until_rest);
  EXPECT_EQ(s->rest_speed_mm_per_s, 1e-3);
  EXPECT_EQ(s->output_every_s, 0.1);
  EXPECT_EQ(s->capacity.vertices, 65536u);
  EXPECT_EQ(s->params.solver.iterations, 1);
  EXPECT_EQ(s->params.solver.work, 240);
  EXPECT_EQ(s->params.solver.residual_target, 1e-5);
  EXPECT_EQ(s->params.solver.implicitness, 0.5);
  EXPECT_EQ(s->params.solver.linearisation, world::SolverParams::Linearisation::scalar);
}

TEST(ScenarioFile, APictureBoundsTheVertices) {
  const std::string text = "[[thread]]\npoints_mm = [[0,0,0],[100,0,0]]\nsegment_mm = 0.01\n";
  const std::string roomy = text + "[capacity]\nvertices = 20000\n";
  EXPECT_TRUE(parse_scenario(roomy, "f.toml"));
  const auto s = parse_scenario(roomy, "f.toml", 4096);
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().message.find("f.toml:3: key 'thread.segment_mm' is 0.01, must be such that all threads"), 0u)
      << s.error().message;
  const auto wide =
      parse_scenario("[capacity]\nvertices = 5000\n[[thread]]\npoints_mm = [[0,0,0],[1,0,0]]\n", "f.toml", 4096);
  ASSERT_FALSE(wide);
  EXPECT_NE(wide.error().message.find("f.toml:2: key 'capacity.vertices' is 5000, must be a whole number 2..4096"),
            std::string::npos);
}

TEST(ScenarioFile, AnObstacleMayMove) {
  const std::string thread = "[[thread]]\npoints_mm = [[0,0,1],[10,0,1]]\n";
  const auto s = parse_scenario(thread +
                                    "[[obstacle]]\nshape = \"plane\"\n[[obstacle]]\nname = \"floor\"\n"
                                    "shape = \"plane\"\npoint_mm = [0,0,-1]\nvelocity_mm_per_s = [0,0,2]\n"
                                    "from_s = 0.5\nuntil_s = 1.5\n",
                                "f.toml");
  ASSERT_TRUE(s) << s.error().message;
  ASSERT_EQ(s->params.obstacles.size(), 2u);
  EXPECT_EQ(s->params.obstacles[0].name, "obstacle1");
  EXPECT_EQ(s->params.obstacles[0].until_s, world::kForever);
  const auto& p = s->params.obstacles[1];
  EXPECT_EQ(p.name, "floor");
  EXPECT_EQ(p.velocity, (Vec3{0, 0, 2}));
  EXPECT_EQ(p.from_s, 0.5);
  EXPECT_EQ(p.until_s, 1.5);
  const auto never = parse_scenario(thread + "[[obstacle]]\nshape = \"plane\"\nfrom_s = 2\nuntil_s = 2\n", "f.toml");
  ASSERT_FALSE(never);
  EXPECT_NE(never.error().message.find("f.toml:6: key 'obstacle.until_s' is 2, must be above 2"), std::string::npos)
      << never.error().message;
}

TEST(ScenarioFile, TwoThreadsOfOneNameAndNoThreadAreRefused) {
  const std::string thread = "[[thread]]\nname = \"a\"\npoints_mm = [[0,0,0],[10,0,0]]\n";
  const auto twice = parse_scenario(thread + thread, "f.toml");
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("f.toml:5: key 'thread.name' is 'a' again"), std::string::npos);
  const auto none = parse_scenario("title = \"x\"\n", "f.toml");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("key 'thread' is missing, must be 1..8 tables"), std::string::npos);
}

std::string tetrahedron(bool inside_out = false, bool open = false) {
  const double v[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const int t[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}};
  std::string out = "solid t\n";
  for (int k = 0; k < (open ? 3 : 4); ++k) {
    out += "facet normal 0 0 0\nouter loop\n";
    for (int c = 0; c < 3; ++c) {
      const double* p = v[t[k][inside_out ? 2 - c : c]];
      out += "vertex " + std::to_string(p[0]) + " " + std::to_string(p[1]) + " " + std::to_string(p[2]) + "\n";
    }
    out += "endloop\nendfacet\n";
  }
  return out + "endsolid t\n";
}

TEST(ScenarioObstacle, OfEveryShapeIsRead) {
  const std::filesystem::path dir = std::filesystem::temp_directory_path() / "ligature_scenario_obstacle";
  std::filesystem::create_directories(dir);
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(dir / name) << text; };
  write("good.stl", tetrahedron());
  write("turned.stl", tetrahedron(true));
  write("open.stl", tetrahedron(false, true));
  write("cut.stl", tetrahedron().substr(0, 60));
  write("empty.stl", "");
  write("good.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n");
  write("notes.txt", "no mesh");
  const std::string thread = "[[thread]]\npoints_mm = [[5,0,0],[9,0,0]]\n";
  const auto parsed = [&](const std::string& obstacle) {
    return parse_scenario(thread + "[[obstacle]]\n" + obstacle, dir / "f.toml");
  };
  const auto all = parsed(
      "shape = \"sphere\"\ncentre_mm = [0,1,0]\ndiameter_mm = 3\n[[obstacle]]\nshape = \"capsule\"\n"
      "from_mm = [0,0,0]\nto_mm = [0,0,2]\ndiameter_mm = 1\n[[obstacle]]\nshape = \"mesh\"\nfile = \"good.stl\"\n");
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->params.obstacles.size(), 3u);
  EXPECT_EQ(all->params.obstacles[0].point, (Vec3{0, 1, 0}));
  EXPECT_EQ(all->params.obstacles[0].diameter_mm, 3);
  EXPECT_EQ(all->params.obstacles[1].to, (Vec3{0, 0, 2}));
  EXPECT_EQ(all->params.obstacles[2].vertices.size(), 4u);
  EXPECT_EQ(all->params.obstacles[2].triangles.size(), 4u);
  for (const char* good : {"turned.stl", "good.obj"}) {
    const auto mesh = parsed("shape = \"mesh\"\nfile = \"" + std::string(good) + "\"\n");
    EXPECT_TRUE(mesh) << good << " " << (mesh ? "" : mesh.error().message);
  }
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"shape = \"mesh\"\nfile = \"open.stl\"\n", "5: key 'obstacle.file' is not the surface of a solid"},
      {"shape = \"mesh\"\nfile = \"cut.stl\"\n", "5: key 'obstacle.file' is"},
      {"shape = \"mesh\"\nfile = \"empty.stl\"\n", "5: key 'obstacle.file' is"},
      {"shape = \"mesh\"\nfile = \"notes.txt\"\n", "5: key 'obstacle.file' is not an STL or OBJ file"},
      {"shape = \"mesh\"\nfile = \"none.stl\"\n", "5: key 'obstacle.file'"},
      {"shape = \"mesh\"\n", "key 'obstacle.file' is missing"},
      {"shape = \"sphere\"\n", "key 'obstacle.diameter_mm' is missing"},
      {"shape = \"sphere\"\ndiameter_mm = 0\n", "5: key 'obstacle.diameter_mm' is 0"},
      {"shape = \"capsule\"\nfrom_mm = [0,0,0]\nto_mm = [0,0,0]\ndiameter_mm = 1\n", "6: key 'obstacle.to_mm'"},
      {"shape = \"sphere\"\ncentre_mm = [6,0,0]\ndiameter_mm = 1\n", "2: key 'thread.points_mm' is inside sphere"},
      {"shape = \"plane\"\npoint_mm = [0,0,-1]\ndiameter_mm = 1\n", "6: key 'obstacle.diameter_mm'"},
  };
  for (const auto& [text, says] : wrong) {
    const auto s = parsed(text);
    ASSERT_FALSE(s) << text;
    EXPECT_NE(s.error().message.find(says), std::string::npos) << s.error().message;
    EXPECT_EQ(s.error().message.find('\n'), std::string::npos);
  }
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace ligature::config
