#include <gtest/gtest.h>

#include "config/scenario_file.hpp"

namespace ligature::config {
namespace {

using Key = world::ScheduleEntry::Key;

/// Lines 1 to 12; what comes after begins at line 13. Thread a: 50 segments of 0.2 mm; ring b: 40 of them.
const std::string kScene =
    "[[thread]]\nname = \"a\"\npoints_mm = [[0,0,1],[10,0,1]]\n"
    "[[thread]]\nname = \"b.c\"\nclosed = true\nintegrator = \"inertial\"\n"
    "points_mm = [[0,5,1],[2,5,1],[2,7,1],[0,7,1]]\n"
    "[[obstacle]]\nname = \"floor\"\nshape = \"plane\"\npoint_mm = [0,0,-1]\n";

world::WorldParams world_of(const std::string& text) {
  const auto s = parse_scenario(text, "f.toml");
  EXPECT_TRUE(s) << s.error().message << "\nfor\n" << text;
  return s ? s->params : world::WorldParams{};
}

void expect_refused(const std::string& tail, const std::string& says) {
  const auto s = parse_scenario(kScene + tail, "f.toml");
  ASSERT_FALSE(s) << tail;
  EXPECT_EQ(s.error().kind, Error::Kind::usage);
  EXPECT_EQ(s.error().message.find("f.toml:" + says), 0u) << s.error().message << "\nfor\n" << tail;
  EXPECT_NE(s.error().message.find(", must be "), std::string::npos) << s.error().message;
}

std::string entry(const std::string& time, const std::string& key, const std::string& value) {
  return "[[schedule]]\ntime_s = " + time + "\nkey = \"" + key + "\"\nvalue = " + value + "\n";
}

TEST(ScenarioSchedule, EveryKeyIsReadInSimsUnits) {
  const auto w = world_of(
      kScene + entry("1", "friction.thread_thread", "0.25") + entry("2", "friction.thread_obstacle", "0") +
      entry("3", "friction.thread_tissue", "1") + entry("4", "friction.thread_tool", "2") +
      entry("5", "thread.a.rest_length_scale", "0.5") + entry("6", "thread.b.c.drag_mn_s_per_mm2", "0") +
      entry("7", "gravity_m_per_s2", "[0, 0, -9.81]") + entry("8", "obstacle.floor.velocity_mm_per_s", "[0, 0, 3]") +
      entry("9", "thread.a.drag_mn_s_per_mm2", "3e-6"));
  ASSERT_EQ(w.schedule.size(), 9u);
  const std::vector<Key> keys{Key::friction_thread_thread,
                              Key::friction_thread_obstacle,
                              Key::friction_thread_tissue,
                              Key::friction_thread_tool,
                              Key::rest_length_scale,
                              Key::drag,
                              Key::gravity,
                              Key::obstacle_velocity,
                              Key::drag};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(w.schedule[i].key, keys[i]);
    EXPECT_EQ(w.schedule[i].time_s, static_cast<double>(i + 1));
  }
  EXPECT_EQ(w.schedule[0].value, 0.25);
  EXPECT_EQ(w.schedule[4].value, 0.5);
  EXPECT_EQ(w.schedule[4].index, 0u);
  EXPECT_EQ(w.schedule[5].index, 1u) << "names may hold dots";
  EXPECT_DOUBLE_EQ(w.schedule[6].vector.z, -9810);
  EXPECT_EQ(w.schedule[7].vector, (Vec3{0, 0, 3}));
  EXPECT_DOUBLE_EQ(w.schedule[8].value, 3e-3);
}

TEST(ScenarioSchedule, CarriesWhatIsHeldOfATissue) {
  const std::string tissue = "[[tissue]]\nname = \"end\"\nshape = \"vessel\"\np_WV_mm = [0, 20, 5]\n";
  const auto w = world_of(kScene + tissue + "velocity_mm_per_s = [0, 0.5, 0]\n" +
                          entry("1", "tissue.end.velocity_mm_per_s", "[0.1, 0, -1]"));
  ASSERT_EQ(w.schedule.size(), 1u);
  EXPECT_EQ(w.schedule[0].key, Key::tissue_velocity);
  EXPECT_EQ(w.schedule[0].vector, (Vec3{0.1, 0, -1}));
  ASSERT_EQ(w.tissues.size(), 1u);
  EXPECT_EQ(w.tissues[0].velocity, (Vec3{0, 0.5, 0}));
  expect_refused(tissue + entry("1", "tissue.end.velocity_mm_per_s", "[0, 0, 1.01]"),
                 "20: key 'schedule.value[2]' is 1.01");
  expect_refused(tissue + entry("1", "tissue.other.velocity_mm_per_s", "[0, 0, 1]"),
                 "19: key 'schedule.key' is 'tissue.other");
  expect_refused(tissue + "velocity_mm_per_s = [3, 0, 0]\n", "17: key 'tissue.velocity_mm_per_s[0]' is 3");
}

TEST(ScenarioSchedule, IsInOrderOfTime) {
  const auto w = world_of(kScene + entry("2", "friction.thread_thread", "0.2") +
                          entry("0", "friction.thread_thread", "0.0") + entry("1", "friction.thread_thread", "0.1"));
  ASSERT_EQ(w.schedule.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_DOUBLE_EQ(w.schedule[i].value, 0.1 * static_cast<double>(i));
}

TEST(ScenarioSchedule, WrongEntriesAreNamed) {
  expect_refused(entry("1", "friction.thread_threads", "0.25"),
                 "15: key 'schedule.key' is 'friction.thread_threads', must be friction.thread_thread | ");
  expect_refused(entry("1", "thread.z.rest_length_scale", "0.25"),
                 "15: key 'schedule.key' is 'thread.z.rest_length_scale', must be ");
  expect_refused(entry("1", "thread.a.diameter_mm", "0.25"), "15: key 'schedule.key' is 'thread.a.diameter_mm'");
  expect_refused(entry("1", "obstacle.wall.velocity_mm_per_s", "[0,0,0]"), "15: key 'schedule.key' is 'obstacle.wall");
  expect_refused(entry("-1", "friction.thread_thread", "0.25"), "14: key 'schedule.time_s' is -1");
  expect_refused(entry("1e9", "friction.thread_thread", "0.25"), "14: key 'schedule.time_s' is 1e+09");
  expect_refused(entry("nan", "friction.thread_thread", "0.25"), "14: key 'schedule.time_s' is nan");
  expect_refused(entry("1", "friction.thread_thread", "-0.1"), "16: key 'schedule.value' is -0.1, must be 0..10");
  expect_refused(entry("1", "friction.thread_thread", "[0, 0, 0]"),
                 "16: key 'schedule.value' is an array of 3, must be a number, 0..10");
  expect_refused(entry("1", "gravity_m_per_s2", "9.81"), "16: key 'schedule.value' is 9.81, must be an array of 3");
  expect_refused(entry("1", "thread.a.rest_length_scale", "0"), "16: key 'schedule.value' is 0, must be 0.01..100");
  expect_refused(entry("1", "thread.a.drag_mn_s_per_mm2", "0"), "16: key 'schedule.value' is 0, must be above 0");
  expect_refused("[[schedule]]\ntime_s = 1\nvalue = 1\n", "13: key 'schedule.key' is missing");
  expect_refused("[[schedule]]\ntime_s = 1\nkey = \"friction.thread_tool\"\n", "13: key 'schedule.value' is missing");
  expect_refused("[[schedule]]\nkey = \"friction.thread_tool\"\nvalue = 1\n", "13: key 'schedule.time_s' is missing");
  expect_refused(entry("1", "friction.thread_tool", "1") + entry("1", "friction.thread_tool", "2"),
                 "18: key 'schedule.time_s' is 1, must be another time");
}

std::string cut(const std::string& thread, const std::string& s, const std::string& time = "1") {
  return "[[cut]]\nthread = \"" + thread + "\"\ns_mm = " + s + "\ntime_s = " + time + "\n";
}

TEST(ScenarioCut, IsReadInOrderOfTime) {
  const auto w = world_of(kScene + cut("a", "5", "2") + cut("b.c", "0", "1"));
  ASSERT_EQ(w.cuts.size(), 2u);
  EXPECT_EQ(w.cuts[0].thread, 1u);
  EXPECT_EQ(w.cuts[0].s_mm, 0.0);
  EXPECT_EQ(w.cuts[0].time_s, 1.0);
  EXPECT_EQ(w.cuts[1].thread, 0u);
  EXPECT_EQ(w.cuts[1].s_mm, 5.0);
}

TEST(ScenarioCut, LiesInsideTheThread) {
  for (const char* s : {"0.1", "9.9"}) world_of(kScene + cut("a", s));
  expect_refused(cut("a", "0.09"), "15: key 'cut.s_mm' is 0.09, must be 0.100000..9.900000, inside the thread");
  expect_refused(cut("a", "9.95"), "15: key 'cut.s_mm' is 9.95");
  expect_refused(cut("a", "-1"), "15: key 'cut.s_mm' is -1, must be at least 0");
  expect_refused(cut("b.c", "8.1"), "15: key 'cut.s_mm' is 8.1, must be 0.000000..8.000000");
  expect_refused(cut("a", "nan"), "15: key 'cut.s_mm' is nan");
}

TEST(ScenarioCut, WrongOnesAreNamed) {
  expect_refused(cut("z", "5"), "14: key 'cut.thread' is 'z', must be a | b.c");
  expect_refused(cut("a", "5", "-1"), "16: key 'cut.time_s' is -1");
  expect_refused("[[cut]]\nthread = 0\ns_mm = 5\ntime_s = 1\n", "14: key 'cut.thread' is 0, must be a | b.c");
  expect_refused("[[cut]]\nthread = \"a\"\ntime_s = 1\n", "13: key 'cut.s_mm' is missing");
  expect_refused(cut("a", "5") + cut("a", "5.1"), "19: key 'cut.s_mm' is 5.1, must be a segment or more from");
  expect_refused(cut("b.c", "0.05") + cut("b.c", "7.95"), "19: key 'cut.s_mm' is 7.95, must be a segment or more");
}

TEST(ScenarioCut, PiecesAreThreadsToo) {
  std::string cuts = cut("b.c", "4");  // only opens the ring
  for (int i = 1; i <= 6; ++i) cuts += cut("a", std::to_string(i));
  world_of(kScene + cuts);
  expect_refused(cuts + cut("a", "7"), "42: key 'cut.thread' is cut into too many pieces");
}

}  // namespace
}  // namespace ligature::config
