#include "sim/knot/closure.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "codes.hpp"
#include "points.hpp"
#include "scenes.hpp"
#include "sim/knot/invariants.hpp"

namespace ligature::knot {
namespace {

std::string by_determinant(const Diagram& d) {
  const auto det = determinant(d);
  return std::to_string(d.components.size()) + ":" + (det ? std::to_string(*det) : "?");
}

TEST(KnotClosure, LongTailsMakeTheKnotCertain) {
  const struct {
    const char* file;
    const char* want;
  } cases[] = {{"overhand_02mm", "1:3"},
               {"double_overhand_02mm", "1:5"},
               {"square_02mm", "1:9"},
               {"slack_02mm", "1:1"},
               {"figure_eight_02mm", "1:5"}};
  for (const auto& c : cases) {
    const auto votes = closures({scenario_points(c.file)}, by_determinant);
    ASSERT_TRUE(votes) << votes.error().message;
    EXPECT_EQ(votes->front().name, c.want) << c.file;
    EXPECT_GT(votes->front().share, 0.5) << c.file;
    double sum = 0;
    for (const Vote& v : *votes) sum += v.share;
    EXPECT_NEAR(sum, 1.0, 1e-12);
  }
}

TEST(KnotClosure, AKnotThatIsThereIsToldFromOneThatIsNot) {
  // The overhand thread drawn back through its loop, a little at a time: certain, doubtful, gone.
  const Curve whole = scenario_points("overhand_02mm");
  const auto knot = core(whole, "1:3", by_determinant);
  ASSERT_TRUE(knot) << knot.error().message;
  EXPECT_LT(knot->length_share, 0.75);
  EXPECT_GT(knot->begin, 0u);
  EXPECT_LT(knot->end, whole.size());
  const auto votes_of = [&](std::size_t end) {
    const auto votes =
        closures({Curve(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(end))}, by_determinant);
    EXPECT_TRUE(votes);
    for (const Vote& v : *votes)
      if (v.name == "1:3") return v.share;
    return 0.0;
  };
  EXPECT_GT(votes_of(whole.size()), 0.9);
  EXPECT_GT(votes_of(knot->end), 0.5);
  EXPECT_LT(votes_of(knot->begin + (knot->end - knot->begin) / 2), 0.2);
  const auto none = core(scenario_points("slack_02mm"), "1:3", by_determinant);
  EXPECT_FALSE(none);
}

TEST(KnotClosure, SeveralCurvesAreALink) {
  const auto votes = closures({scenario_points("pair_4_first"), scenario_points("pair_4_second")}, by_determinant);
  ASSERT_TRUE(votes);
  EXPECT_EQ(votes->front().simplest.diagram.components.size(), 2u);
}

TEST(KnotClosure, KeysDoNotDependOnWhereTheWalkBegins) {
  Diagram d = code(kFigureEight);
  const std::string k = key(d);
  for (int i = 0; i < 8; ++i) {
    std::rotate(d.components[0].begin(), d.components[0].begin() + 1, d.components[0].end());
    EXPECT_EQ(key(d), k);
  }
  EXPECT_NE(key(code(kTrefoil)), key(mirror(code(kTrefoil))));
  EXPECT_NE(key(code(kTrefoil)), k);
}

// Whatever comes in: an answer or an error, and the answer is that of a curve.
TEST(KnotClosure, TakesAnyPoints) {
  Random random(31);
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const double special[] = {0.0, -0.0, 1.0, -1.0, 1e-320, 1e-200, 1e200, 1e308, -1e308, 0.5, 1.0 + 1e-16};
  std::size_t answers = 0, errors = 0;
  for (int k = 0; k < 3000; ++k) {
    const std::size_t curves = 1 + random.next() % 2;
    const int kind = static_cast<int>(random.next() % 8);
    Curves c(curves);
    for (Curve& s : c) {
      const std::size_t n = random.next() % 14;
      const Vec3 along = random_direction(random);
      for (std::size_t i = 0; i < n; ++i) {
        const auto small = [&] { return static_cast<double>(random.next() % 3); };
        const auto any = [&] { return special[random.next() % std::size(special)]; };
        Vec3 p{random.normal(), random.normal(), random.normal()};
        if (kind == 0) p = {small(), small(), small()};                  // on a grid: coincidences
        if (kind == 1) p = random.uniform(-5, 5) * along;                // on a line
        if (kind == 2) p = {any(), any(), any()};                        // of all sizes
        if (kind == 3 && i > 0 && random.next() % 2 == 0) p = s.back();  // repeated
        if (kind == 4) p.z = 0;                                          // in a plane
        if (kind == 5 && random.next() % 20 == 0) p.x = random.next() % 2 == 0 ? nan : inf;
        if (kind == 6) p = p + Vec3{1e12, -1e12, 1e12};  // far away
        s.push_back(p);
      }
    }
    if (kind == 7 && curves == 2) c[1] = c[0];  // coincident strands
    const auto votes = closures(c, by_determinant, 4);
    (votes ? answers : errors) += 1;
    const auto closed = simplified_diagram(c);
    if (closed) {
      EXPECT_TRUE(well_formed(closed->diagram));
    }
    if (kind == 7 && curves == 2) {
      EXPECT_FALSE(votes);
    }
  }
  EXPECT_GT(answers, 500u);
  EXPECT_GT(errors, 200u);
}

}  // namespace
}  // namespace ligature::knot
