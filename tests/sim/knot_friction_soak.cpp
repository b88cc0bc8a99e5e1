/// The critical friction of the four ties, bisected: their order, and that load and stiffness do not matter.
#include "tests/sim/knot_friction.hpp"

namespace ligature::world {
namespace {

TEST(CriticalFriction, OfReefIsBelowGrannyOfThiefBelowGriefWhichIsHighest) {
  const TieCase of;
  const double reef = critical("reef", of), granny = critical("granny", of), thief = critical("thief", of),
               grief = critical("grief", of);
  std::printf("reef %.3f granny %.3f thief %.3f grief %.3f\n", reef, granny, thief, grief);
  EXPECT_LT(reef, granny);
  EXPECT_LT(thief, grief);
  EXPECT_LT(granny, grief);
}

class TightTie : public testing::TestWithParam<const char*> {};

TEST_P(TightTie, HoldsFromTheSameFrictionOnAtTenTimesTheLoad) {
  TieCase heavy;
  heavy.tension *= 10;
  heavy.drag *= 10;  // kSliding is for the same share of the load
  EXPECT_NEAR(critical(GetParam(), heavy), critical(GetParam(), {}), 0.05);
}

TEST_P(TightTie, HoldsFromTheSameFrictionOnInAThreadATenthAsStiff) {
  TieCase limp;
  limp.bend_factor = 0.1;
  EXPECT_NEAR(critical(GetParam(), limp), critical(GetParam(), {}), 0.05);
}

INSTANTIATE_TEST_SUITE_P(Tie, TightTie, testing::Values("reef", "granny", "thief", "grief"),
                         [](const auto& p) { return std::string(p.param); });

}  // namespace
}  // namespace ligature::world
