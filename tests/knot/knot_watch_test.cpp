#include "appliance/run/knot_watch.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <type_traits>

#include "config/csv_file.hpp"

namespace ligature::appliance {
namespace {

// Physics copies it in real time.
static_assert(std::is_trivially_copyable_v<SceneSnapshot>);

std::unique_ptr<SceneSnapshot> scene_of(const std::vector<std::string>& files, float apart_mm) {
  auto scene = std::make_unique<SceneSnapshot>();
  float shift = 0;
  for (const std::string& file : files) {
    const auto points = config::load_points(LIGATURE_SOURCE_DIR "/config/scenarios/knot/points/" + file + ".csv");
    EXPECT_TRUE(points);
    SnapshotThread thread;
    thread.first_vertex = static_cast<std::uint32_t>(scene->vertices.size());
    thread.vertex_count = static_cast<std::uint32_t>(points->size());
    for (const Vec3 p : *points)
      scene->vertices.push_back({static_cast<float>(p.x) + shift, static_cast<float>(p.y), static_cast<float>(p.z)});
    thread.origin = static_cast<std::uint32_t>(scene->threads.size());
    scene->threads.push_back(thread);
    shift += apart_mm;
  }
  return scene;
}

/// Serves as the service thread does until the look is over.
std::vector<std::string> serve(KnotWatch& watch) {
  std::vector<std::string> lines;
  for (int i = 0; i < 5000 && !watch.idle() && watch.watching(); ++i) {
    if (const auto line = watch.serve()) lines.push_back(*line);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return lines;
}

TEST(KnotWatch, TellsWhatIsTiedAndWhatHasChanged) {
  setenv("LIGATURE_KNOT_PROGRAM", LIGATURE_KNOT, 1);
  KnotWatch watch;
  ASSERT_EQ(watch.start({"left", "right"}), "");
  EXPECT_FALSE(watch.report());
  const auto reef = scene_of({"reef_02mm_left", "reef_02mm_right"}, 0);
  const auto apart = scene_of({"reef_02mm_left", "reef_02mm_right"}, 500);
  watch.look_at(*reef);
  EXPECT_EQ(serve(watch), std::vector<std::string>{"knots: reef in left and right (1=1)"});
  ASSERT_TRUE(watch.report());
  EXPECT_EQ((*watch.report())[0]["name"], "reef");
  EXPECT_EQ(watch.throws(0), "1=1");
  EXPECT_EQ(watch.throws(1), "1=1");
  EXPECT_EQ(watch.throws(2), "") << "is not in it";
  watch.look_at(*reef);
  EXPECT_TRUE(serve(watch).empty());
  watch.look_at(*apart);
  EXPECT_EQ(serve(watch), std::vector<std::string>{"knots: none"});
  EXPECT_EQ(*watch.report(), nlohmann::ordered_json::array());
  EXPECT_EQ(watch.looks(), 3u);
}

TEST(KnotWatch, GoesOnWithoutTheProgram) {
  setenv("LIGATURE_KNOT_PROGRAM", "/nonexistent/ligature-knot", 1);
  KnotWatch watch;
  EXPECT_NE(watch.start({"left"}), "");
  EXPECT_FALSE(watch.watching());
  EXPECT_FALSE(watch.idle());
  EXPECT_FALSE(watch.serve());
  EXPECT_FALSE(watch.report());
  // A child that ends at once: said in one line, then silence.
  setenv("LIGATURE_KNOT_PROGRAM", "/bin/true", 1);
  KnotWatch other;
  ASSERT_EQ(other.start({"left", "right"}), "");
  other.look_at(*scene_of({"reef_02mm_left"}, 0));
  EXPECT_EQ(serve(other).size(), 1u);
  EXPECT_FALSE(other.watching());
  EXPECT_FALSE(other.serve());
}

}  // namespace
}  // namespace ligature::appliance
