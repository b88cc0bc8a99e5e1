/// What a trainee reads when an exercise is over.
#include "appliance/exercise/result_sheet.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "appliance/exercise/exercise_text.hpp"

namespace ligature::appliance {
namespace {

using exercise::Fault;
using exercise::Progress;
using exercise::State;
using Tone = render::Sheet::Tone;

Progress ended() {
  Progress p;
  p.state = State::passed;
  p.time_s = 83.4;
  for (std::size_t k = 0; k < exercise::kSteps; ++k) {
    p.steps[k].passed = true;
    p.steps[k].time_s = 10 + static_cast<double>(k);
    p.steps[k].passed_at_s = 11 * static_cast<double>(k + 1);
  }
  p.gap_mm = 0.054;
  p.tail_mm = 6.04;
  p.hole_force_most = 2740;
  return p;
}

const render::Sheet::Line* line(const render::Sheet& sheet, std::string_view words) {
  for (const render::Sheet::Line& l : sheet.lines)
    if (l.view().find(words) != std::string_view::npos) return &l;
  return nullptr;
}

TEST(ResultSheet, APassedExerciseIsToldWithItsNumbersAndItsFilm) {
  Progress p = ended();
  p.steps[3].undone = 2;
  const render::Sheet sheet = result_sheet(p, "reef (1=1)", "r: again");
  EXPECT_EQ(sheet.lines[0].view(), "Done in 1:23");
  ASSERT_NE(line(sheet, "undone 2x"), nullptr);
  EXPECT_EQ(line(sheet, "undone 2x")->tone, Tone::good);
  EXPECT_NE(line(sheet, "Knot: reef (1=1)"), nullptr);
  EXPECT_NE(line(sheet, "Ends 0.05 mm apart   Tail 6.0 mm   Pull 0.0027 N"), nullptr);
  EXPECT_NE(line(sheet, "No mistakes"), nullptr);
  EXPECT_NE(line(sheet, "r: again"), nullptr);
  ASSERT_EQ(sheet.film.size(), exercise::kSteps + 1);
  EXPECT_EQ(sheet.film[1].view(), "2 0:22");
  EXPECT_EQ(sheet.film[7].kept, kLastFrame);
  EXPECT_EQ(sheet.film[7].view(), "end 1:23");
}

TEST(ResultSheet, AFailedOneSaysWhyAndShowsOnlyWhatWasReached) {
  Progress p = ended();
  p.state = State::failed;
  p.fault = Fault::torn;
  p.faults[static_cast<std::size_t>(Fault::torn)] = 1;
  p.faults[static_cast<std::size_t>(Fault::dropped)] = 3;
  p.fault_count = 4;
  for (std::size_t k = 2; k < exercise::kSteps; ++k) p.steps[k] = {};
  p.gap_mm = std::numeric_limits<double>::quiet_NaN();
  const render::Sheet sheet = result_sheet(p, "", "");
  EXPECT_NE(sheet.lines[0].view().find(text_of(Fault::torn)), std::string_view::npos);
  ASSERT_NE(line(sheet, "3x "), nullptr);
  EXPECT_EQ(line(sheet, "3x ")->tone, Tone::bad);
  EXPECT_NE(line(sheet, "Knot: none"), nullptr);
  EXPECT_EQ(line(sheet, "apart"), nullptr) << "unknown is not said";
  EXPECT_EQ(sheet.film.size(), 3U);
}

TEST(ResultSheet, ThrowsAreCalledByTheNameThatTheyHave) {
  EXPECT_EQ(tie_text("1=1"), "reef (1=1)");
  EXPECT_EQ(tie_text("1x1"), "granny (1x1)");
  EXPECT_EQ(tie_text("2=1"), "surgeon (2=1)");
  EXPECT_EQ(tie_text("1"), "1");
  EXPECT_EQ(tie_text(""), "");
}

TEST(ResultSheet, WithEveryMistakeWhatToDoNowIsStillSaid) {
  Progress p = ended();
  p.faults.fill(2);
  p.fault_count = 20;
  const render::Sheet sheet = result_sheet(p, std::string(200, 'k'), "r: again");
  EXPECT_NE(line(sheet, "r: again"), nullptr);
  EXPECT_TRUE(sheet.lines.full());
}

}  // namespace
}  // namespace ligature::appliance
