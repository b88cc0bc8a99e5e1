#include <gtest/gtest.h>

#include <numbers>

#include "config/scenario_file.hpp"
#include "sim/world/world.hpp"

namespace ligature::config {
namespace {

/// Lines 1 to 4; a needle begins at line 5.
const std::string kThread = "[[thread]]\nname = \"a\"\npoints_mm = [[0,0,1],[20,0,1]]\ndiameter_mm = 0.025\n";

void expect_refused(const std::string& text, const std::string& says) {
  const auto s = parse_scenario(text, "f.toml");
  ASSERT_FALSE(s) << text;
  EXPECT_EQ(s.error().kind, Error::Kind::usage);
  EXPECT_EQ(s.error().message.find("f.toml:" + says), 0u) << s.error().message << "\nfor\n" << text;
  EXPECT_NE(s.error().message.find(", must be "), std::string::npos) << s.error().message;
}

std::string needle(const std::string& rest) {
  return "[[needle]]\nthread = \"a\"\n" + rest;
}

TEST(ScenarioNeedle, IsReadInSimsUnits) {
  const auto s = parse_scenario(kThread + needle("name = \"n\"\nat = \"last\"\narc_mm = 5\narc_deg = 90\n"
                                                 "wire_diameter_mm = 0.08\ntoward = [0, 1, 0]\n"),
                                "f.toml");
  ASSERT_TRUE(s) << s.error().message;
  ASSERT_TRUE(s->params.threads[0].needle);
  const world::NeedleParams& n = *s->params.threads[0].needle;
  EXPECT_EQ(n.name, "n");
  EXPECT_TRUE(n.at_last);
  EXPECT_EQ(n.arc_mm, 5);
  EXPECT_DOUBLE_EQ(n.arc_rad, std::numbers::pi / 2);
  EXPECT_EQ(n.wire_mm, 0.08);
  EXPECT_NEAR(n.material.bend_stiffness, 200e9 * std::numbers::pi * std::pow(0.08, 4) / 64, 1);  // uN mm^2
  // A chord, and where the world puts the point.
  const auto c = parse_scenario(kThread + needle("at = \"last\"\nchord_mm = 4\ntoward = [0, 0, 1]\n"), "f.toml");
  ASSERT_TRUE(c) << c.error().message;
  auto world = world::World::create(c->params, c->capacity);
  ASSERT_TRUE(world) << world.error().message;
  const auto x = world->shape(0);
  const auto m = world->measure(0);
  ASSERT_GT(m.needle_last, m.needle_first);
  EXPECT_EQ(m.needle_last + 1, x.x.size());
  EXPECT_NEAR(norm(x.x.back() - Vec3{20, 0, 1}), 4, 0.02);
  EXPECT_GT(x.x.back().z, 2);
  EXPECT_NEAR(x.x.back().y, 0, 1e-12);
  EXPECT_EQ(x.radius_mm.back(), 0.05);
  EXPECT_EQ(x.radius_mm.front(), 0.0125);
}

TEST(ScenarioNeedle, WhatCannotBeIsRefusedWithItsLine) {
  expect_refused(kThread + needle("arc_mm = 21\n"), "7: key 'needle.arc_mm' is 21");
  expect_refused(kThread + needle("arc_mm = 5\ntoward = [0, 0, 0]\n"), "8: key 'needle.toward' is of no length");
  expect_refused(kThread + needle("chord_mm = 21\n"), "7: key 'needle.chord_mm' is 21");
  expect_refused(kThread + needle("arc_mm = 5\nwire_diameter_mm = 0\n"), "8: key 'needle.wire_diameter_mm' is 0");
  const std::string vessel = "[[tissue]]\nname = \"v\"\nshape = \"vessel\"\np_WV_mm = [0, 9, 9]\nwall_mm = 0.2\n";
  expect_refused(kThread + needle("arc_mm = 5\nwire_diameter_mm = 0.6\n") + vessel,
                 "8: key 'needle.wire_diameter_mm' is 0.6, must be below 0.600000, the lumen of 'v'");
  expect_refused(kThread + needle("arc_mm = 5\n") +
                     "[[schedule]]\ntime_s = 1\nkey = \"thread.a.rest_length_scale\"\nvalue = 0.5\n",
                 "10: key 'schedule.key' is thread.a.rest_length_scale of a thread with a needle");
  expect_refused(kThread + needle("at = \"last\"\narc_mm = 5\narc_deg = 0\ndirection = [-1, 0, 0]\n"),
                 "3: key 'thread.points_mm' is overlapping its needle at point 0");
  expect_refused(kThread + needle("arc_mm = nan\n"), "7: key 'needle.arc_mm' is");
  expect_refused(kThread + needle("arc_mm = 5\nchord_mm = 4\n"), "7: key 'needle.arc_mm' is given beside chord_mm");
  expect_refused(kThread + needle("at = \"last\"\n"), "5: key 'needle.arc_mm' is missing");
  expect_refused(kThread + needle("arc_mm = 5\narc_deg = 400\n"), "8: key 'needle.arc_deg' is 400");
  expect_refused(kThread + needle("arc_mm = 0.3\n"), "7: key 'needle.arc_mm' is 0.3");
  expect_refused(kThread + needle("arc_mm = 5\nyoung_gpa = 0\n"), "8: key 'needle.young_gpa' is 0");
  expect_refused(kThread + needle("arc_mm = 5\ndirection = [1,0,0]\ntoward = [2,0,0]\n"),
                 "9: key 'needle.toward' is along direction");
  expect_refused(kThread + needle("arc_mm = 5\nlength = 3\n"), "8: key 'needle.length' is");
  expect_refused(kThread + "[[needle]]\narc_mm = 5\n", "5: key 'needle.thread' is missing");
  expect_refused(kThread + "[[needle]]\nthread = \"b\"\narc_mm = 5\n", "6: key 'needle.thread' is 'b'");
  expect_refused(kThread + needle("arc_mm = 5\n") + needle("name = \"two\"\narc_mm = 5\nat = \"last\"\n"),
                 "9: key 'needle.thread' is 'a'");
  expect_refused(kThread + "closed = true\n" + needle("arc_mm = 5\n"), "");
  expect_refused(kThread + "adaptive = true\n" + needle("arc_mm = 5\n"), "7: key 'needle.thread' is 'a'");
  expect_refused(kThread + "bend_stiffness_mn_mm2 = 0\n" + needle("arc_mm = 5\n"), "7: key 'needle.thread' is 'a'");
}

TEST(ScenarioNeedle, TheShippedOneIsPickedUpTwice) {
  const auto s = load_scenario(std::string(LIGATURE_SOURCE_DIR) + "/config/scenarios/needle/pick_up.toml");
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(s->forceps.size(), 1u);
  EXPECT_TRUE(s->params.threads[0].needle);
}

}  // namespace
}  // namespace ligature::config
