/// [[tissue]] and [[suture]]: what they mean, and that what is wrong is named with its line.
#include <gtest/gtest.h>

#include <fstream>

#include "config/scenario_file.hpp"
#include "sim/world/world.hpp"
#include "tests/config/temp_dir.hpp"

namespace ligature::config {
namespace {

Result<Scenario> load(const std::string& tail) {
  test::TempDir dir;
  const auto file = dir.path() / "s.toml";
  std::ofstream(file)
      << "[[thread]]\nname = \"t\"\npoints_mm = [[0,0,3],[9,0,3]]\nsegment_mm = 0.1\ndiameter_mm = 0.05\n"
      << tail;
  return load_scenario(file.string());
}
void expect_refused(const std::string& tail, const std::string& says) {
  const auto s = load(tail);
  ASSERT_FALSE(s) << tail;
  EXPECT_NE(s.error().message.find(says), std::string::npos) << s.error().message;
}

TEST(ScenarioTissue, VesselIsReadInItsUnits) {
  const auto s = load(
      "[[tissue]]\nname = \"v\"\nshape = \"vessel\"\nouter_diameter_mm = 2.0\nwall_mm = 0.2\nlength_mm = 5\n"
      "p_WV_mm = [1,2,3]\nfixed = \"last\"\nyoung_kpa = 300\npoisson = 0.49\nrelaxation_ms = 4\n"
      "[[suture]]\nthread = \"t\"\ntissue = \"v\"\nentry_mm = [1,0,3]\nexit_mm = [2,0,3]\nhole_diameter_mm = 0.1\n");
  ASSERT_TRUE(s) << s.error().message;
  ASSERT_EQ(s->params.tissues.size(), 1u);
  const world::TissueParams& t = s->params.tissues[0];
  EXPECT_EQ(t.outer_diameter_mm, 2.0);
  EXPECT_EQ(t.young_pa, 3e5);
  EXPECT_EQ(t.relaxation_s, 0.004);
  EXPECT_FALSE(t.fix_first);
  EXPECT_TRUE(t.fix_last);
  EXPECT_EQ(t.X_WV.p.z, 3);
  ASSERT_EQ(s->params.sutures.size(), 1u);
  EXPECT_EQ(s->params.sutures[0].exit.x, 2);
  EXPECT_EQ(s->params.sutures[0].hole_diameter_mm, 0.1);
}

TEST(ScenarioTissue, WhatIsWrongIsNamedWithItsLine) {
  expect_refused("[[tissue]]\nshape = \"vessel\"\nwall_mm = 0\n", ":8: key 'tissue.wall_mm' is 0");
  expect_refused("[[tissue]]\nshape = \"vessel\"\nwall_mm = 0.5\n", ":8: key 'tissue.wall_mm' is 0.5");
  expect_refused("[[tissue]]\nshape = \"vessel\"\nfixed = \"none\"\nvelocity_mm_per_s = [0, 0, 1]\n",
                 ":9: key 'tissue.velocity_mm_per_s'");
  expect_refused("[[tissue]]\nshape = \"vessel\"\nyoung_kpa = nan\n", ":8: key 'tissue.young_kpa'");
  expect_refused("[[tissue]]\nshape = \"vessel\"\npoisson = 0.5\n", ":8: key 'tissue.poisson' is 0.5");
  expect_refused("[[tissue]]\nshape = \"vessel\"\naround = 256\nalong = 1000\n", ":9: key 'tissue.along' is 1000");
  expect_refused("[[tissue]]\nshape = \"torus\"\n", ":7: key 'tissue.shape'");
  expect_refused("[[tissue]]\nwall_mm = 0.1\n", "key 'tissue.shape'");
  expect_refused("[[tissue]]\nshape = \"vessel\"\nmesh_file = \"a.stl\"\n",
                 ":8: key 'tissue.mesh_file' is given for a vessel");
  const std::string vessel = "[[tissue]]\nname = \"v\"\nshape = \"vessel\"\n";
  expect_refused(vessel + "[[suture]]\nthread = \"u\"\ntissue = \"v\"\nentry_mm = [0,0,0]\nexit_mm = [0,0,1]\n",
                 ":10: key 'suture.thread'");
  expect_refused(vessel + "[[suture]]\nthread = \"t\"\ntissue = \"w\"\nentry_mm = [0,0,0]\nexit_mm = [0,0,1]\n",
                 ":11: key 'suture.tissue'");
  expect_refused(vessel +
                     "[[suture]]\nthread = \"t\"\ntissue = \"v\"\nentry_mm = [0,0,0]\nexit_mm = [0,0,1]\n"
                     "hole_diameter_mm = 0.01\n",
                 ":14: key 'suture.hole_diameter_mm' is 0.01");
  const auto suture = [](const char* entry, const char* exit, const char* hole) {
    return std::string("[[suture]]\nthread = \"t\"\ntissue = \"v\"\nentry_mm = ") + entry + "\nexit_mm = " + exit +
           "\nhole_diameter_mm = " + hole + "\n";
  };
  expect_refused(vessel + suture("[1,0,0.5]", "[1,0,0.4]", "0.6"), ":14: key 'suture.hole_diameter_mm' is 0.6");
  expect_refused(vessel + suture("[1,0,0.5]", "[1,0,0.5]", "0.1"), ":13: key 'suture.exit_mm'");
  expect_refused(vessel + suture("[1,0,0.5]", "[1,0,0.4]", "0.1") + suture("[1,0,0.55]", "[1.2,0,0.4]", "0.1"),
                 ":18: key 'suture.entry_mm'");
  expect_refused(suture("[1,0,0.5]", "[1,0,0.4]", "0.1"), "the name of one, and there is none");
}

std::string obj(bool open, double corner) {
  std::string text;
  for (const char* v : {"0 0 0", "2 0 0", "2 2 0", "0 2 0", "0 0 1", "2 0 1", "0 2 1"})
    text += "v " + std::string(v) + "\n";
  text += "v 2 2 " + std::to_string(corner) + "\n";  // the eighth
  for (const char* f :
       {"1 3 2", "1 4 3", "5 6 8", "5 8 7", "1 2 6", "1 6 5", "4 7 8", "4 8 3", "1 5 7", "1 7 4", "2 3 8"})
    text += "f " + std::string(f) + "\n";
  return text + (open ? "" : "f 2 8 6\n");
}

// A closed mesh is tissue; one that is open, or that meets itself, is not, and the line says so.
TEST(ScenarioTissue, AMeshIsReadAndFilled) {
  test::TempDir dir;
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(dir.path() / name) << text; };
  write("good.obj", obj(false, 1));
  write("open.obj", obj(true, 1));
  write("crossed.obj", obj(false, -1));
  const auto parsed = [&](const std::string& tissue) {
    return parse_scenario(
        "[[thread]]\npoints_mm = [[0,0,3],[9,0,3]]\nsegment_mm = 0.1\ndiameter_mm = 0.05\n[[tissue]]\n" + tissue,
        dir.path() / "s.toml");
  };
  const auto s = parsed(
      "mesh_file = \"good.obj\"\nelement_mm = 0.5\np_WV_mm = [0,0,-5]\nfixed_box_mm = [[3,3,0.1],[-1,-1,-1]]\n"
      "young_kpa = 50\n");
  ASSERT_TRUE(s) << s.error().message;
  const world::TissueParams& t = s->params.tissues[0];
  EXPECT_EQ(t.vertices.size(), 8u);
  EXPECT_EQ(t.triangles.size(), 12u);
  EXPECT_EQ(t.element_mm, 0.5);
  EXPECT_EQ(t.wall_mm, 0.5);
  EXPECT_EQ(t.young_pa, 5e4);
  ASSERT_EQ(t.fixed.size(), 1u);
  EXPECT_EQ(t.fixed[0].low, (Vec3{-1, -1, -1}));
  EXPECT_EQ(t.fixed[0].high, (Vec3{3, 3, 0.1}));
  const auto world = world::World::create(s->params, s->capacity);
  ASSERT_TRUE(world) << world.error().message;
  EXPECT_NEAR(world->measure_tissue(0).volume_mm3, 4, 1e-9);
  EXPECT_EQ(world->measure_tissue(0).elements, 32u);
  // A solid has no lumen that a needle could be too thick for, and a box that holds nothing leaves it to fly.
  const auto sewn = parsed(
      "mesh_file = \"good.obj\"\nelement_mm = 0.5\np_WV_mm = [0,0,-5]\n"
      "[[needle]]\nthread = \"thread1\"\nat = \"last\"\narc_mm = 2\n");
  EXPECT_TRUE(sewn) << sewn.error().message;
  const auto loose = parsed(
      "mesh_file = \"good.obj\"\nelement_mm = 0.5\np_WV_mm = [0,0,-5]\nfixed_box_mm = [[50,50,50],[51,51,51]]\n");
  ASSERT_TRUE(loose) << loose.error().message;
  const auto flies = world::World::create(loose->params, loose->capacity);
  ASSERT_FALSE(flies);
  EXPECT_NE(flies.error().message.find("fixed_box_mm: box 0 holds no node"), std::string::npos)
      << flies.error().message;
  const auto plain = parsed("shape = \"mesh\"\nmesh_file = \"good.obj\"\np_WV_mm = [0,0,-5]\n");
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_NEAR(plain->params.tissues[0].element_mm, 2.0 / 12, 1e-12);
  const std::pair<const char*, const char*> wrong[] = {
      {"mesh_file = \"open.obj\"\n", "6: key 'tissue.mesh_file' is not the surface of a solid: it is not closed"},
      {"mesh_file = \"crossed.obj\"\n", "6: key 'tissue.mesh_file' is not the surface of a solid: it meets itself"},
      {"mesh_file = \"none.obj\"\n", "6: key 'tissue.mesh_file'"},
      {"shape = \"mesh\"\n", "key 'tissue.mesh_file' is missing"},
      {"mesh_file = \"good.obj\"\nelement_mm = 0\n", "7: key 'tissue.element_mm' is 0"},
      {"mesh_file = \"good.obj\"\nelement_mm = 2.5\n", "7: key 'tissue.element_mm' is 2.5"},
      {"mesh_file = \"good.obj\"\naround = 20\n", "7: key 'tissue.around' is unknown"},
      {"mesh_file = \"good.obj\"\nfixed_box_mm = [[0,0,0],[1,1,1],[2,2,2]]\n",
       "7: key 'tissue.fixed_box_mm' is an odd"},
  };
  for (const auto& [text, says] : wrong) {
    const auto refused = parsed(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_NE(refused.error().message.find(says), std::string::npos) << refused.error().message;
  }
  // What only filling it tells has the line of its table.
  const auto fine = parsed("mesh_file = \"good.obj\"\nelement_mm = 0.01\np_WV_mm = [0,0,-5]\n");
  ASSERT_TRUE(fine);
  const auto refused = world::World::create(fine->params, fine->capacity);
  ASSERT_FALSE(refused);
  const std::string line = placed(*fine, "s.toml", refused.error()).message;
  EXPECT_EQ(line.find("s.toml:5: tissue 'tissue1': "), 0u) << line;
}

// What only the world can tell is told at the table that makes the part.
TEST(ScenarioTissue, WhatTheWorldRefusesHasItsLineToo) {
  const std::string text =
      "[[thread]]\nname = \"far\"\npoints_mm = [[0,0,20],[20,0,20]]\n"
      "[[thread]]\nname = \"fa\"\npoints_mm = [[-1,0,0.45],[1,0,0.45]]\ndiameter_mm = 0.025\nsegment_mm = 0.05\n"
      "[[tissue]]\nname = \"v\"\nshape = \"vessel\"\np_WV_mm = [-2, 0, 0]\nlength_mm = 4\n";
  const auto s = parse_scenario(text, "f.toml");
  ASSERT_TRUE(s) << s.error().message;
  const auto world = world::World::create(s->params, s->capacity);
  ASSERT_FALSE(world);
  EXPECT_EQ(placed(*s, "f.toml", world.error()).message.find("f.toml:4: thread 'fa' begins inside"), 0U)
      << placed(*s, "f.toml", world.error()).message;
  EXPECT_EQ(placed(*s, "f.toml", Error{Error::Kind::usage, "nobody knows where"}).message,
            "f.toml: nobody knows where");
}

}  // namespace
}  // namespace ligature::config
