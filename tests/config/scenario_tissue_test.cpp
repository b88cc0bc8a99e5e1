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
  expect_refused("[[tissue]]\nshape = \"vessel\"\nyoung_kpa = nan\n", ":8: key 'tissue.young_kpa'");
  expect_refused("[[tissue]]\nshape = \"vessel\"\npoisson = 0.5\n", ":8: key 'tissue.poisson' is 0.5");
  expect_refused("[[tissue]]\nshape = \"vessel\"\naround = 256\nalong = 1000\n", ":9: key 'tissue.along' is 1000");
  expect_refused("[[tissue]]\nshape = \"torus\"\n", ":7: key 'tissue.shape'");
  expect_refused("[[tissue]]\nwall_mm = 0.1\n", "key 'tissue.shape'");
  expect_refused("[[tissue]]\nshape = \"vessel\"\nmesh_file = \"a.stl\"\n", ":8: ");
  const std::string vessel = "[[tissue]]\nname = \"v\"\nshape = \"vessel\"\n";
  expect_refused(vessel + "[[suture]]\nthread = \"u\"\ntissue = \"v\"\nentry_mm = [0,0,0]\nexit_mm = [0,0,1]\n",
                 ":10: key 'suture.thread'");
  expect_refused(vessel + "[[suture]]\nthread = \"t\"\ntissue = \"w\"\nentry_mm = [0,0,0]\nexit_mm = [0,0,1]\n",
                 ":11: key 'suture.tissue'");
  expect_refused(vessel +
                     "[[suture]]\nthread = \"t\"\ntissue = \"v\"\nentry_mm = [0,0,0]\nexit_mm = [0,0,1]\n"
                     "hole_diameter_mm = 0.01\n",
                 ":14: key 'suture.hole_diameter_mm' is 0.01");
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
