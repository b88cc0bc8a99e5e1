/// Sequences of facts as a trainee's hands make them, and what the exercise says of them.
#include "sim/exercise/exercise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/rt/rt_section.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::exercise {
namespace {

constexpr double kStep_s = 0.005;
constexpr double kLength_mm = 80;

/// A thread of 80 mm with its needle at the first vertex, two vessels, hands.
struct Scene {
  SceneFacts facts;
  Exercise judge;
  std::vector<Event> events;

  explicit Scene(const Goal& goal = {}, bool at_last = false) : judge(goal) {
    facts.threads.push_back({0, kLength_mm, true, at_last});
  }
  double at(double from_needle_mm, const FactThread& t) const {
    return t.needle_at_last ? t.rest_length_mm - from_needle_mm : from_needle_mm;
  }
  void hold(bool needle) {
    facts.jaws[1] = {};
    facts.jaws[1].hold(0, needle);
    look();
  }
  void let_go() { facts.jaws = {}; }
  void hole(std::uint32_t tissue, std::uint32_t stitch, WallPart wall, double from_needle_mm) {
    facts.holes.push_back({0, tissue, stitch, wall, at(from_needle_mm, facts.threads[0]), 0});
    look();
  }
  void pull(double mm) {  // all holes move away from the needle
    for (FactHole& h : facts.holes) h.s_mm += facts.threads[h.thread].needle_at_last ? -mm : mm;
    look();
  }
  void look(int steps = 1) {
    for (int i = 0; i < steps; ++i) judge.look(facts, kStep_s, 0.05);
    for (Event e; judge.take_event(e);) events.push_back(e);
  }
  std::string said() const {
    std::string all;
    for (const Event& e : events) {
      const bool fault = e.kind == Event::Kind::fault || e.kind == Event::Kind::failed;
      all += e.kind == Event::Kind::step_undone ? "-" : fault ? "!" : e.kind == Event::Kind::passed ? "done" : "";
      if (e.kind == Event::Kind::failed)
        all += "failed";
      else if (e.kind != Event::Kind::passed)
        all += fault ? name_of(e.fault) : name_of(e.step);
      all += ' ';
    }
    return all;
  }
  void stitch() {
    look();
    hold(true);
    hole(0, 0, WallPart::outside, 0.1);
    hole(0, 0, WallPart::inside, 0);
    pull(2);
    hole(1, 1, WallPart::inside, 0.1);
    hole(1, 1, WallPart::outside, 0);
  }
  /// Two answers in a row.
  void tied(std::string_view throws) {
    judge.tied(throws);
    judge.tied(throws);
  }
  void tie() {
    pull(70);
    tied("1");
    look();
    tied("1=1");
    look();
  }
  /// The needle's side is cut off: the thread before the cut keeps its number.
  void cut_needle(double from_needle_mm) {
    const double length = facts.threads[0].rest_length_mm;
    facts.threads[0].rest_length_mm = from_needle_mm;
    facts.threads.push_back({0, length - from_needle_mm, false, false});
    for (FactHole& h : facts.holes) h.thread = 1, h.s_mm -= from_needle_mm;
  }
  void cut_tail(double kept_mm) {
    facts.threads.push_back({0, facts.threads[1].rest_length_mm - kept_mm, false, false});
    facts.threads[1].rest_length_mm = kept_mm;
  }
};

TEST(Exercise, IsPassedStepByStep) {
  for (const bool at_last : {false, true}) {
    Scene s({}, at_last);
    EXPECT_EQ(s.judge.progress().step, Step::pick_up);
    s.stitch();
    EXPECT_EQ(s.judge.progress().step, Step::pull_through);
    s.tie();
    EXPECT_EQ(s.said(), "pick_up pierce_first pierce_second pull_through first_throw last_throw ") << at_last;
    if (at_last) continue;
    s.cut_needle(69);
    s.look();
    EXPECT_EQ(s.judge.progress().step, Step::cut) << "the tail is still long";
    double last = 0;
    for (const FactHole& h : s.facts.holes) last = std::max(last, h.s_mm);
    EXPECT_NEAR(s.judge.progress().ends_mm, s.facts.threads[1].rest_length_mm - last, 1e-9);
    EXPECT_GT(s.judge.progress().ends_mm, s.judge.goal().ends_mm);
    s.cut_tail(6);
    s.look();
    EXPECT_LE(s.judge.progress().ends_mm, s.judge.goal().ends_mm);
    EXPECT_EQ(s.judge.progress().state, State::passed);
    EXPECT_EQ(s.judge.progress().fault_count, 0u);
    EXPECT_DOUBLE_EQ(s.judge.progress().gap_at_end_mm, 0.05);
  }
}

TEST(Exercise, TimesEachStepAndLeavesPausesOut) {
  Scene s;
  s.look(100);
  s.hold(true);
  s.look(199);
  s.judge.pause();
  s.look(1000);
  s.judge.start();
  s.hole(0, 0, WallPart::outside, 0.1);
  s.hole(0, 0, WallPart::inside, 0);
  const Progress& p = s.judge.progress();
  EXPECT_NEAR(p.steps[0].time_s, 101 * kStep_s, 1e-9);
  EXPECT_NEAR(p.steps[1].time_s, 201 * kStep_s, 1e-9);
  EXPECT_NEAR(p.time_s, 302 * kStep_s, 1e-9);
}

TEST(Exercise, TellsThePlacesThatTailsAreMeasuredFrom) {
  Scene s;
  s.stitch();
  EXPECT_NEAR(s.judge.progress().tail_mm, kLength_mm - 2.1, 1e-9);
  s.pull(67.7);
  EXPECT_NEAR(s.judge.progress().tail_mm, 10.2, 1e-9);
  EXPECT_EQ(s.judge.progress().step, Step::pull_through);
  s.pull(0.3);
  EXPECT_EQ(s.judge.progress().step, Step::first_throw);
}

TEST(Exercise, BlamesTheWrongSideUntilItIsUndone) {
  Scene s;
  s.look();
  s.hold(true);
  s.hole(0, 0, WallPart::inside, 0.1);  // out of the first vessel's lumen
  s.look(10);
  EXPECT_EQ(s.said(), "pick_up !wrong_side ");
  EXPECT_TRUE(s.judge.progress().wrong);
  s.hole(0, 0, WallPart::outside, 0);
  s.facts.holes.clear();
  s.look();
  EXPECT_FALSE(s.judge.progress().wrong);
  s.hole(0, 1, WallPart::outside, 0.1);
  s.hole(0, 1, WallPart::inside, 0);
  EXPECT_EQ(s.said(), "pick_up !wrong_side pierce_first ");
}

TEST(Exercise, BlamesBothWallsOfOneVessel) {
  Scene s;
  s.look();
  s.hold(true);
  s.hole(0, 0, WallPart::outside, 0.1);
  s.hole(0, 0, WallPart::inside, 0);
  s.pull(1);
  s.hole(0, 1, WallPart::inside, 0.1);  // the far wall, from the lumen
  s.hole(0, 1, WallPart::outside, 0);
  EXPECT_EQ(s.said(), "pick_up pierce_first !both_walls ");
  s.hole(1, 2, WallPart::inside, 0.1);
  s.hole(1, 2, WallPart::outside, 0);
  EXPECT_EQ(s.judge.progress().step, Step::pierce_second) << "nothing passes while it is wrong";
}

TEST(Exercise, BlamesTheOtherVesselAndTheCutFace) {
  Scene s;
  s.look();
  s.hold(true);
  s.hole(1, 0, WallPart::inside, 0.1);
  EXPECT_EQ(s.said(), "pick_up !wrong_vessel ");
  Scene t;
  t.look();
  t.hold(true);
  t.hole(0, 0, WallPart::cut, 0.1);
  t.hole(0, 0, WallPart::inside, 0);
  EXPECT_EQ(t.said(), "pick_up !cut_face ");
  EXPECT_EQ(t.judge.progress().step, Step::pierce_first);
}

TEST(Exercise, GoesBackWhenAStitchIsPulledOut) {
  Scene s;
  s.stitch();
  s.pull(70);
  EXPECT_EQ(s.judge.progress().step, Step::first_throw);
  s.facts.holes.resize(2);
  s.look();
  EXPECT_EQ(s.said(), "pick_up pierce_first pierce_second pull_through !pulled_out -pierce_second -pull_through ");
  EXPECT_EQ(s.judge.progress().step, Step::pierce_second);
  EXPECT_EQ(s.judge.progress().steps[2].undone, 1u);
  s.hole(1, 7, WallPart::inside, 0.1);
  s.hole(1, 7, WallPart::outside, 0);
  EXPECT_EQ(s.judge.progress().step, Step::first_throw) << "the tail is still short";
}

TEST(Exercise, KnowsAHalfMadeHoleThatIsPulledBack) {
  Scene s;
  s.look();
  s.hold(true);
  s.hole(0, 0, WallPart::outside, 0.1);
  s.facts.holes.clear();
  s.look(5);
  EXPECT_EQ(s.said(), "pick_up ");
  EXPECT_TRUE(std::isnan(s.judge.progress().tail_mm));
}

TEST(Exercise, BlamesKnotsThatAreNoBeginningOfTheOneAskedFor) {
  Scene s;
  s.stitch();
  s.pull(70);
  s.tied("1");
  s.look();
  s.tied("S=S");
  s.look(3);
  s.tied("1x1");
  s.look(3);
  EXPECT_EQ(s.judge.progress().faults[static_cast<std::size_t>(Fault::wrong_knot)], 1u);
  EXPECT_NE(s.judge.progress().state, State::passed);
  EXPECT_TRUE(s.judge.progress().steps[static_cast<std::size_t>(Step::first_throw)].passed) << "that one was right";
  EXPECT_EQ(s.judge.progress().step, Step::last_throw);
  s.tied("1");
  s.look();
  s.tied("1=1");
  s.look();
  EXPECT_EQ(s.judge.progress().step, Step::cut);
  Goal surgeon;
  surgeon.throws = "2=1";
  Scene t(surgeon);
  t.stitch();
  t.pull(70);
  t.tied("1");
  t.look();
  EXPECT_EQ(t.judge.progress().faults[static_cast<std::size_t>(Fault::wrong_knot)], 1u) << "one is no beginning of 2=1";
}

TEST(Exercise, BlamesHalfHitchesThatDoNotSetOnceAHandLetsGo) {
  Scene s;
  s.stitch();
  s.pull(70);
  s.tied("1");
  s.facts.jaws = {};
  s.facts.jaws[0].hold(0, false), s.facts.jaws[1].hold(0, true);
  s.tied("SxS");
  s.look(2000);
  EXPECT_EQ(s.judge.progress().fault_count, 0u) << "it is still being drawn up";
  EXPECT_EQ(s.judge.progress().step, Step::last_throw);
  s.facts.jaws[0] = {};
  s.look(990);
  EXPECT_EQ(s.judge.progress().fault_count, 0u) << "its loops may set yet";
  s.look(20);
  EXPECT_EQ(s.judge.progress().faults[static_cast<std::size_t>(Fault::wrong_knot)], 1u);
  s.facts.jaws[0].hold(0, false);
  s.look();
  EXPECT_FALSE(s.judge.progress().wrong) << "drawn up anew";
  s.tied("1x1");
  s.look();
  EXPECT_EQ(s.judge.progress().faults[static_cast<std::size_t>(Fault::wrong_knot)], 2u) << "no pull makes that a reef";
  s.facts.jaws[0] = {};
  s.tied("1=1");
  s.look();
  s.tied("S=S");
  s.look();
  EXPECT_EQ(s.judge.progress().faults[static_cast<std::size_t>(Fault::wrong_knot)], 3u) << "a granny's hitches";
}

TEST(Exercise, WaitsForAKnotThatSetsAfterItWasCut) {
  for (const bool sets : {true, false}) {
    Scene s;
    s.stitch();
    s.tie();
    EXPECT_EQ(s.judge.progress().step, Step::cut);
    s.let_go();
    s.tied("SxS");
    s.look(700);
    EXPECT_EQ(s.judge.progress().step, Step::cut) << "which end is straight is how it was pulled";
    s.cut_needle(69);
    s.cut_tail(6);
    s.look(100);
    EXPECT_EQ(s.judge.progress().state, State::running) << "not before it is flat";
    EXPECT_EQ(s.judge.progress().fault_count, 0u);
    if (sets) {
      s.tied("1=1");
      s.look();
      EXPECT_EQ(s.judge.progress().state, State::passed);
      EXPECT_EQ(s.judge.progress().steps[static_cast<std::size_t>(Step::last_throw)].undone, 0u);
      continue;
    }
    for (int i = 0; i < 3; ++i) s.judge.tied("SxS");
    s.look(210);
    EXPECT_EQ(s.judge.progress().state, State::failed);
    EXPECT_EQ(s.judge.progress().faults[static_cast<std::size_t>(Fault::wrong_knot)], 1u);
    EXPECT_EQ(s.judge.progress().steps[static_cast<std::size_t>(Step::last_throw)].undone, 1u);
  }
}

TEST(Exercise, DoesNotTakeHitchesForAKnotThatWasNeverFlat) {
  Scene s;
  s.stitch();
  s.pull(70);
  s.tied("1");
  s.look();
  s.let_go();
  s.tied("SxS");
  s.look(300);
  EXPECT_EQ(s.judge.progress().step, Step::last_throw);
  s.cut_needle(69);
  s.look();
  for (int i = 0; i < 3; ++i) s.judge.tied("SxS");
  s.look(690);
  EXPECT_EQ(s.judge.progress().state, State::running) << "it may set";
  s.look(20);
  EXPECT_EQ(s.judge.progress().state, State::failed);
  EXPECT_EQ(s.judge.progress().fault, Fault::cut_early);
}

TEST(Exercise, JudgesACutByTheKnotThatWasCut) {
  for (const std::string_view knot : {"1=1", "1", "SxS"}) {
    Scene s;
    s.stitch();
    s.pull(70);
    s.tied("1");
    s.look();
    if (knot == "SxS") s.tied(knot);
    s.look();
    s.cut_needle(69);
    s.cut_tail(6);
    s.look();
    s.judge.tied("1");  // is of a scene before the cut
    s.look();
    s.judge.tied(knot == "SxS" ? "1=1" : knot);
    s.look();
    EXPECT_EQ(s.judge.progress().state, State::running) << knot << ": one answer is none";
    s.judge.tied(knot == "SxS" ? "1=1" : knot);
    s.look();
    EXPECT_EQ(s.judge.progress().state, knot == "1" ? State::failed : State::passed) << knot;
    EXPECT_EQ(s.judge.progress().faults[static_cast<std::size_t>(Fault::cut_early)], knot == "1" ? 1u : 0u) << knot;
  }
}

TEST(Exercise, LetsASingleThrowSlide) {
  Scene s;
  s.stitch();
  s.pull(70);
  s.let_go();
  s.tied("S");
  s.look(2000);
  EXPECT_EQ(s.judge.progress().step, Step::last_throw);
  EXPECT_EQ(s.judge.progress().fault_count, 0u);
}

TEST(Exercise, EndsWhenTheWallTears) {
  Scene s;
  s.stitch();
  const int window = static_cast<int>(std::lround(0.05 / kStep_s));
  for (int burst = 0; burst < 5; ++burst) {
    s.facts.holes[2].force = 9e7;
    s.look(window - 1);
    s.facts.holes[2].force = 1e3;
    s.look();
  }
  EXPECT_EQ(s.judge.progress().state, State::running) << "what is gone within 50 ms is no pull";
  EXPECT_DOUBLE_EQ(s.judge.progress().hole_force_most, 1e3);
  s.look(window / 2);
  s.facts.holes[2].force = 6e5;
  s.look(window - 1);
  EXPECT_EQ(s.judge.progress().state, State::running);
  s.look();
  EXPECT_EQ(s.judge.progress().state, State::failed);
  EXPECT_EQ(s.said(), "pick_up pierce_first pierce_second !torn !failed ");
  EXPECT_DOUBLE_EQ(s.judge.progress().hole_force_most, 6e5);
  s.tie();
  EXPECT_EQ(s.judge.progress().state, State::failed) << "nothing but a reset leads on";
}

TEST(Exercise, SaysWhenTheThreadWasDropped) {
  Scene s;
  s.look(1000);
  EXPECT_EQ(s.said(), "") << "nobody had it yet";
  s.hold(true);
  s.let_go();
  s.look(399);
  EXPECT_EQ(s.judge.progress().fault_count, 0u);
  s.look(500);
  EXPECT_EQ(s.said(), "pick_up !dropped ");
  s.hold(false);
  s.let_go();
  s.hole(0, 0, WallPart::outside, 0.1);
  s.look(1000);
  EXPECT_EQ(s.said(), "pick_up !dropped ") << "in the wall it is safe";
}

TEST(Exercise, EndsWhenCutTooEarlyOrThroughTheStitch) {
  Scene s;
  s.stitch();
  s.cut_needle(1);
  s.look();
  EXPECT_EQ(s.said(), "pick_up pierce_first pierce_second !cut_early !failed ");
  Scene t;
  t.stitch();
  t.tie();
  t.facts.threads[0].rest_length_mm = 71;
  t.facts.threads.push_back({0, 9, false, false});
  for (FactHole& h : t.facts.holes)
    if (h.tissue == 0) h.thread = 1, h.s_mm -= 71;
  t.look();
  EXPECT_NE(t.said().find("!cut_stitch !failed"), std::string::npos) << t.said();
}

TEST(Exercise, WaitsUntilToldAndBeginsAnewAfterAReset) {
  Goal goal;
  goal.at_once = false;
  Scene s(goal);
  s.hold(true);
  s.look(50);
  EXPECT_EQ(s.said(), "");
  EXPECT_EQ(s.judge.progress().state, State::waiting);
  s.judge.start();
  s.stitch();
  s.tied("1");
  s.judge.reset();
  EXPECT_EQ(s.judge.progress().state, State::waiting);
  EXPECT_EQ(s.judge.progress().time_s, 0);
  EXPECT_EQ(s.judge.knot(), "");
  s.facts.holes.clear();
  s.events.clear();
  s.judge.start();
  s.stitch();
  EXPECT_EQ(s.said(), "pick_up pierce_first pierce_second ");
}

TEST(Exercise, TakesNothingOutOfItsOrder) {
  Scene s;
  s.tied("1=1");
  s.look();
  EXPECT_EQ(s.said(), "");
  s.stitch();
  EXPECT_EQ(s.judge.progress().step, Step::pull_through);
  s.pull(70);
  EXPECT_EQ(s.said(), "pick_up pierce_first pierce_second pull_through first_throw last_throw ");
}

TEST(Exercise, IgnoresOtherThreadsAndOtherTissue) {
  Scene s;
  s.facts.threads.push_back({1, 30, false, false});
  s.facts.holes.push_back({1, 0, 9, WallPart::inside, 5, 1e7});
  s.facts.holes.push_back({0, 2, 10, WallPart::inside, 5, 1});
  s.look(5);
  EXPECT_EQ(s.judge.progress().fault_count, 0u);
}

TEST(Exercise, IsNotOfWhatHandsHoldOfOtherThreads) {
  Scene s;
  s.facts.threads.push_back({1, 30, true, false});
  s.facts.jaws[0].hold(1, true);
  s.look(5);
  EXPECT_EQ(s.judge.progress().step, Step::pick_up) << "another needle";
  s.hold(true);
  EXPECT_EQ(s.judge.progress().step, Step::pierce_first);
  s.facts.jaws[1] = {};
  s.look(500);
  EXPECT_EQ(s.said(), "pick_up !dropped ") << "the other thread is in a hand yet";
}

TEST(Exercise, ASlidingThrowOfMoreWrapsIsTheFirstOneYet) {
  Goal surgeon;
  surgeon.throws = "2=1";
  Scene s(surgeon);
  s.stitch();
  s.pull(70);
  for (const std::string_view knot : {"2", "2=1"}) s.tied(knot), s.look();
  EXPECT_EQ(s.judge.progress().step, Step::cut);
  s.let_go();
  s.cut_needle(69);
  s.tied("2SxS");
  s.look(100);
  EXPECT_EQ(s.judge.progress().state, State::running) << "it may set";
  EXPECT_EQ(s.judge.progress().step, Step::cut);
  s.tied("2=1");
  s.cut_tail(6);
  s.look();
  EXPECT_EQ(s.judge.progress().state, State::passed);
  EXPECT_EQ(s.judge.progress().fault_count, 0u);
}

TEST(Exercise, WaitsForTheNameOfAKnotThatWasCut) {
  for (const bool comes : {true, false}) {
    Scene s;
    s.stitch();
    s.tie();
    s.let_go();
    s.cut_needle(69);
    s.tied("");
    s.look(900);
    EXPECT_EQ(s.judge.progress().state, State::running) << "short ends are hard to name";
    EXPECT_EQ(s.judge.progress().step, Step::cut);
    if (comes) s.tied("1=1");
    s.cut_tail(6);
    s.look(200);
    EXPECT_EQ(s.judge.progress().state, comes ? State::passed : State::failed);
    EXPECT_EQ(s.judge.progress().fault_count, comes ? 0u : 1u);
  }
}

TEST(Exercise, SaysNothingMoreOnceItHasFailed) {
  Scene s;
  s.stitch();
  s.pull(70);
  s.tied("1");
  s.look();
  s.cut_needle(1);
  s.look();
  s.judge.tied("1");
  for (int i = 0; i < 3; ++i) s.judge.tied("1");
  s.look();
  ASSERT_EQ(s.judge.progress().state, State::failed);
  s.tied("1=1");
  s.judge.look(s.facts, kStep_s, 7);
  EXPECT_EQ(s.judge.knot(), "1");
  EXPECT_DOUBLE_EQ(s.judge.progress().gap_mm, 0.05);
}

TEST(Exercise, CountsThrowsAndKnowsThemByTheirKnot) {
  EXPECT_EQ(throw_count(""), 0u);
  EXPECT_EQ(throw_count("2=1x1"), 3u);
  EXPECT_EQ(throws_of("m3_1"), "1");
  EXPECT_EQ(flat_of(""), "");
  EXPECT_EQ(flat_of("2=1x1"), "2=1x1");
  EXPECT_EQ(flat_of("S"), "1");
  EXPECT_EQ(flat_of("SxS"), "1=1") << "a reef capsizes to it";
  EXPECT_EQ(flat_of("S=S"), "1x1") << "and a granny to it";
  EXPECT_EQ(flat_of("S//S"), "1=1") << "the post changes and the hand";
  EXPECT_EQ(flat_of("S//xS"), "1x1");
  EXPECT_EQ(flat_of("2SxS//S=1"), "2=1=1=1") << "beside a flat throw as between flat ones";
  EXPECT_EQ(throws_of("3_1#m3_1"), "1=1");
  EXPECT_EQ(throws_of("m3_1#m3_1"), "1x1");
  EXPECT_EQ(throws_of("m3_1#5_1"), "2=1") << "the surgeon's";
  EXPECT_EQ(throws_of("3_1#5_1"), "2x1");
  EXPECT_EQ(throws_of("m5_1"), "2");
  for (const char* none : {"4_1", "0_1", "", "5_2", "3_1#4_1", "m", "3_1#3_1#m3_1", "2^2_1", "unknown"})
    EXPECT_EQ(throws_of(none), "") << none;
}

TEST(Exercise, BelievesANameThatTwoAnswersInARowGive) {
  Scene s;
  s.stitch();
  s.pull(70);
  const auto answers = [&](std::initializer_list<const char*> all) {
    for (const char* answer : all) {
      s.judge.tied(answer);
      s.look(3);
    }
  };
  answers({"1", "", "1"});
  EXPECT_EQ(s.judge.progress().step, Step::first_throw);
  answers({"1"});
  EXPECT_EQ(s.judge.progress().step, Step::last_throw);
  answers({"", "1", "1x1", "", "2", "1"});
  EXPECT_EQ(s.judge.progress().step, Step::last_throw) << "flickers";
  EXPECT_EQ(s.judge.progress().fault_count, 0u);
  answers({"", ""});
  EXPECT_EQ(s.judge.progress().step, Step::first_throw) << "came open";
  EXPECT_EQ(s.judge.progress().steps[static_cast<std::size_t>(Step::first_throw)].undone, 1u);
}

TEST(Exercise, TakesNoMemoryWhileItRuns) {
  Scene s;
  guard::reset();
  {
    const rt::RtSection section("exercise");
    for (int i = 0; i < 1000; ++i) s.judge.look(s.facts, kStep_s, 0.1);
    s.tied("1=1");
    s.judge.reset();
  }
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
}

}  // namespace
}  // namespace ligature::exercise
