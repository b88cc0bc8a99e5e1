// What a scripted hand looks at, and how far it leaves its path for it.
#include "drivers/virtual_rig/hand_eye.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>

#include "drivers/virtual_rig/hand_path.hpp"
#include "tests/drivers/scene.hpp"

namespace ligature::drivers {
namespace {

constexpr std::size_t kLeft = 0, kRight = 1;
constexpr double kReaction = HandEye::kReaction_s;

/// A thread from (10, 1, 2) to the origin's side along -x, in edges of 0.5 mm: 21 vertices.
std::unique_ptr<SceneSnapshot> scene(Vec3 moved = {}) {
  auto s = std::make_unique<SceneSnapshot>();
  s->threads.push_back({3, 21, 0.1f});
  for (int i = 0; i < 3; ++i) s->vertices.push_back({99, 99, 99});  // of another's
  for (int i = 0; i < 21; ++i)
    s->vertices.push_back(
        {static_cast<float>(10 - 0.5 * i + moved.x), static_cast<float>(1 + moved.y), static_cast<float>(2 + moved.z)});
  return s;
}

Aim aim(double t_s, double over_s, Aim::At end, double arc_mm, Vec3 laid, Vec3 follow = {1, 1, 1}) {
  return {t_s, over_s, 0, end, arc_mm, laid, follow};
}

void expect_near(Vec3 a, Vec3 b, double within = 1e-6) {
  EXPECT_NEAR(a.x, b.x, within);
  EXPECT_NEAR(a.y, b.y, within);
  EXPECT_NEAR(a.z, b.z, within);
}

TEST(HandEye, MakesGoodWhatThePlaceIsOffAfterItsReaction) {
  // 1.2 mm from the first end lies (8.8, 1, 2).
  HandEye eye({ForcepsAims{}, {aim(2, 0.4, Aim::At::first, 1.2, {8.5, 1.1, 2}, {1, 0.5, 1})}});
  EXPECT_FALSE(eye.due(1.99));
  EXPECT_TRUE(eye.due(2.0));
  eye.look(*scene(), 2.0);
  EXPECT_FALSE(eye.due(5.0));
  const Vec3 off{0.3, -0.05, 0};
  expect_near(eye.shift(kRight, 2 + kReaction), {});
  expect_near(eye.shift(kRight, 2 + kReaction + 0.2), 0.5 * off);
  expect_near(eye.shift(kRight, 2 + kReaction + 0.4), off);
  expect_near(eye.shift(kRight, 100), off);
  expect_near(eye.shift(kLeft, 100), {});
}

TEST(HandEye, CountsFromEitherEndAndNoFurtherThanTheThreadGoes) {
  HandEye eye({ForcepsAims{aim(1, 0.1, Aim::At::last, 0.75, {0, 1, 2})},
               ForcepsAims{aim(1, 0.1, Aim::At::last, 99, {10, 1, 1})}});
  eye.look(*scene(), 1.0);
  expect_near(eye.shift(kLeft, 2), {0.75, 0, 0});
  expect_near(eye.shift(kRight, 2), {0, 0, 1});
}

TEST(HandEye, GoesFromOneAimToTheNextWithoutAJumpAndBackToItsPath) {
  HandEye eye({ForcepsAims{},
               {aim(1, 0.5, Aim::At::first, 0, {10, 1, 1.5}), aim(2, 0.5, Aim::At::first, 0, {10, 1.2, 2}),
                aim(3, 1, Aim::At::none, 0, {})}});
  for (double t = 0; t < 6; t += 0.005)
    if (eye.due(t)) eye.look(*scene(), t);
  expect_near(eye.shift(kRight, 1.9), {0, 0, 0.5});
  expect_near(eye.shift(kRight, 2.9), {0, -0.2, 0});
  expect_near(eye.shift(kRight, 4.5), {});
  // The fastest of the three moves: 0.54 mm in half a second, at most half as fast again as in the mean.
  for (double t = 0; t < 5; t += 1e-3)
    EXPECT_LE(norm(eye.shift(kRight, t + 1e-3) - eye.shift(kRight, t)), 1.63e-3) << t;
}

TEST(HandEye, DoesNotLeaveItsPathForAThreadThatIsNotThere) {
  Aim other = aim(1, 0.1, Aim::At::first, 0, {});
  other.thread = 5;
  HandEye eye({ForcepsAims{}, {other, aim(2, 0.1, Aim::At::first, 0, {10, 1, 1.5})}});
  eye.look(*scene(), 1.0);
  expect_near(eye.shift(kRight, 1.9), {});
  auto closed = scene();
  closed->threads[0].closed = true;
  eye.look(*closed, 2.0);
  expect_near(eye.shift(kRight, 9), {});
}

TEST(HandEye, LeavesItsPathByTwoMillimetresAtMost) {
  HandEye eye({ForcepsAims{}, {aim(1, 0.1, Aim::At::first, 0, {0, 1, 2})}});
  eye.look(*scene(), 1.0);
  expect_near(eye.shift(kRight, 9), {HandEye::kFarthest_mm, 0, 0});
}

TEST(HandEye, LooksAnewInEveryRoundOfThePath) {
  HandEye eye({ForcepsAims{}, {aim(1, 0.1, Aim::At::first, 0, {10, 1, 1.5})}}, 5.0);
  eye.look(*scene(), 1.0);
  expect_near(eye.shift(kRight, 4.9), {0, 0, 0.5});
  expect_near(eye.shift(kRight, 5.5), {});
  EXPECT_FALSE(eye.due(5.9));
  ASSERT_TRUE(eye.due(6.0));
  // Not looked yet: what was seen in the round before is not taken for it.
  expect_near(eye.shift(kRight, 7), {});
  eye.look(*scene({0, 0, 0.3}), 6.0);
  expect_near(eye.shift(kRight, 7), {0, 0, 0.8}, 1e-5);
}

TEST(HandEye, MovesTheHandsOfThePathThatHasIt) {
  const Rig rig = testing::distorted_rig();
  const ForcepsPath still{{0, {{}, {1, 2, 3}}, 0.05}, {10, {{}, {1, 2, 3}}, 0.05}};
  TremorParams none;
  none.rms_mm = 0;
  const auto eye = std::make_shared<HandEye>(
      std::array<ForcepsAims, kInstruments>{ForcepsAims{}, {aim(1, 0.1, Aim::At::first, 0, {10, 1, 1.5})}}, 10.0);
  const auto path = HandPath::create({still, still}, PathBlend::linear, none, rig, true, eye);
  ASSERT_TRUE(path.has_value());
  eye->look(*scene(), 1.0);
  expect_near(path->evaluate_W(2)[kRight].X.p, {1, 2, 3.5});
  expect_near(path->evaluate_W(2)[kLeft].X.p, {1, 2, 3});
}

TEST(HandEye, FilesAreReadAndMistakesNamedWithTheirLine) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "aims.csv";
  const auto load = [&](const char* text) {
    std::ofstream(file) << text;
    return load_aims(file);
  };
  const auto good = load(
      "t_s,over_s,thread,end,arc_mm,x_mm,y_mm,z_mm,follow_x,follow_y,follow_z\n"
      "1.5,0.25,2,last,0.4,1,2,3,1,0.6,-1\n\n2,1,0,none,0,0,0,0,0,0,0\n");
  ASSERT_TRUE(good) << good.error().message;
  ASSERT_EQ(good->size(), 2u);
  EXPECT_EQ((*good)[0].thread, 2u);
  EXPECT_EQ((*good)[0].end, Aim::At::last);
  EXPECT_EQ((*good)[0].arc_mm, 0.4);
  EXPECT_EQ((*good)[0].laid.z, 3);
  EXPECT_EQ((*good)[0].follow.y, 0.6);
  EXPECT_EQ((*good)[1].end, Aim::At::none);

  const struct {
    const char *text, *says;
  } cases[] = {
      {"", ":1: no row"},
      {"1,1,0,first,0,0,0,0,1,1\n", ":1: 10 columns, must be 11"},
      {"1,1,0,first,0,0,0,nan,1,1,1\n", ":1: 'nan' is not a number"},
      {"1,1,0,middle,0,0,0,0,1,1,1\n", ":1: end is 'middle', must be first, last or none"},
      {"1,0,0,first,0,0,0,0,1,1,1\n", ":1: over_s is 0, must be above 0"},
      {"1,1,0.5,first,0,0,0,0,1,1,1\n", ":1: thread is 0.5, must be a whole number 0..7"},
      {"1,1,8,first,0,0,0,0,1,1,1\n", ":1: thread is 8, must be"},
      {"1,1,-1,first,0,0,0,0,1,1,1\n", ":1: thread is -1, must be"},
      {"1,1,0,first,-1,0,0,0,1,1,1\n", ":1: arc_mm is -1, must be 0 or more"},
      {"1,1,0,first,0,0,0,0,1,1.5,1\n", ":1: a follow is 1.5, must be -1..1"},
      {"t_s,over_s,thread,end,arc_mm,follow_x,follow_y,follow_z,x_mm,y_mm,z_mm\n1,1,0,first,0,0,0,0,1,1,1\n",
       ":1: the columns must be t_s,over_s,thread,end,arc_mm,x_mm"},
      {"\n1,1,0,first,0,0,0,0,1,1,1\n1,1,0,first,0,0,0,0,1,1,1\n", ":3: t_s = 1 does not come after"},
  };
  for (const auto& c : cases) {
    const auto bad = load(c.text);
    ASSERT_FALSE(bad) << c.text;
    EXPECT_NE(bad.error().message.find(file.string() + c.says), std::string::npos) << bad.error().message;
  }
  std::filesystem::remove(file);
  EXPECT_FALSE(load_aims(file));
}

}  // namespace
}  // namespace ligature::drivers
