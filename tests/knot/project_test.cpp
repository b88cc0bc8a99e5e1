#include "sim/knot/project.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "codes.hpp"
#include "scenes.hpp"
#include "sim/knot/invariants.hpp"

namespace ligature::knot {
namespace {

TEST(KnotProject, RingHasNoCrossingFromAnywhereItIsSeenRound) {
  const auto seen = project({ring(50)}, {0, 0, 1});
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(seen->components.size(), 1u);
  EXPECT_TRUE(seen->sign.empty());
}

TEST(KnotProject, BraidShowsItsWord) {
  const auto seen = project(closed_braid(2, {1, 1, 1}), {0, 0, 1});
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(seen->sign.size(), 3u);
  EXPECT_TRUE(well_formed(*seen));
  EXPECT_EQ(std::abs(writhe(*seen)), 3);
  EXPECT_EQ(*determinant(*seen), 3);
  const auto other = project(closed_braid(2, {-1, -1, -1}), {0, 0, 1});
  ASSERT_TRUE(other);
  EXPECT_EQ(writhe(*other), -writhe(*seen));
  EXPECT_EQ(*other, mirror(*seen));
}

TEST(KnotProject, SeenFromBehindIsTheSameKnot) {
  const Curves curves = closed_braid(3, {1, -2, 1, -2});
  const auto front = project(curves, {0, 0, 1}), back = project(curves, {0, 0, -1});
  ASSERT_TRUE(front && back);
  EXPECT_EQ(writhe(*front), writhe(*back));
  EXPECT_EQ(*alexander_polynomial(*front), *alexander_polynomial(*back));
}

TEST(KnotProject, EveryViewIsADiagramOfTheSameLink) {
  Random random(1);
  for (int k = 0; k < 200; ++k) {
    std::vector<int> word;
    for (int i = 0; i < 8; ++i)
      word.push_back((random.next() % 2 == 0 ? 1 : -1) * (1 + static_cast<int>(random.next() % 2)));
    const Curves curves = closed_braid(3, word);
    const auto a = project(curves, random_direction(random)), b = project(curves, random_direction(random));
    ASSERT_TRUE(a && b);
    EXPECT_TRUE(well_formed(*a));
    EXPECT_TRUE(well_formed(*b));
    const auto la = linking_numbers(*a), lb = linking_numbers(*b);
    for (std::size_t i = 0; i < la.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) EXPECT_EQ(la[i][j], lb[i][j]);
    const auto da = determinant(*a), db = determinant(*b);
    if (da && db) {
      EXPECT_EQ(*da, *db);
    }
  }
}

TEST(KnotProject, PlacesGrowAlongTheCurve) {
  const auto seen = projection(closed_braid(2, {1, 1, 1, 1, 1}), {0.3, 0.5, 0.2});
  ASSERT_TRUE(seen);
  for (std::size_t c = 0; c < seen->place.size(); ++c) {
    ASSERT_EQ(seen->place[c].size(), seen->diagram.components[c].size());
    for (std::size_t i = 0; i + 1 < seen->place[c].size(); ++i) EXPECT_LE(seen->place[c][i], seen->place[c][i + 1]);
  }
}

TEST(KnotProject, TurnsAwayFromAViewAlongEdges) {
  // A trefoil on a grid: seen along any axis, corners and edges fall on each other.
  const Curve grid{{0, 0, 0},  {3, 0, 0},  {3, 2, 0}, {1, 2, 0},  {1, 2, 2},  {1, -1, 2},
                   {2, -1, 2}, {2, -1, 1}, {2, 3, 1}, {2, 3, -1}, {0, 3, -1}, {0, 0, -1}};
  for (const Vec3 axis : {Vec3{1, 0, 0}, Vec3{0, 1, 0}, Vec3{0, 0, 1}, Vec3{1, 1, 0}, Vec3{1, 1, 1}}) {
    const auto seen = project({grid}, axis);
    ASSERT_TRUE(seen) << seen.error().message;
    EXPECT_TRUE(well_formed(*seen));
  }
}

TEST(KnotProject, StrandsTheWidthOfARoundingApartAreToldApart) {
  // Two rings linked or not by the last bit of a coordinate.
  const double tiny = std::numeric_limits<double>::epsilon();
  const Curve flat{{-1, -1, 0}, {1, -1, 0}, {1, 1, 0}, {-1, 1, 0}};
  const auto pierced = [&](double x) { return Curve{{x, 0, 0.5}, {x, 0, -0.5}, {3, 0, -0.5}, {3, 0, 0.5}}; };
  const auto linked = project({flat, pierced(1 - tiny)}, {0.1, 0.2, 1});
  const auto apart = project({flat, pierced(1 + tiny)}, {0.1, 0.2, 1});
  ASSERT_TRUE(linked && apart);
  EXPECT_EQ(std::abs(linking_numbers(*linked)[0][1]), 1);
  EXPECT_EQ(linking_numbers(*apart)[0][1], 0);
  const auto touching = project({flat, pierced(1)}, {0.1, 0.2, 1});
  ASSERT_FALSE(touching);
  EXPECT_NE(touching.error().message.find("touch"), std::string::npos);
}

TEST(KnotProject, WhatIsNoCurveIsAnError) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(project({}, {0, 0, 1}));
  EXPECT_FALSE(project({{}}, {0, 0, 1}));
  EXPECT_FALSE(project({{{0, 0, 0}}}, {0, 0, 1}));
  EXPECT_FALSE(project({{{0, 0, 0}, {1, 0, 0}}}, {0, 0, 1}));
  EXPECT_FALSE(project({{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}}}, {0, 0, 1}));
  EXPECT_FALSE(project({{{0, 0, 0}, {1, 0, 0}, {2, 0, 0}}}, {0, 0, 1}));  // straight and back
  EXPECT_FALSE(project({{{0, 0, 0}, {nan, 0, 0}, {2, 1, 0}}}, {0, 0, 1}));
  EXPECT_FALSE(project({{{0, 0, 0}, {inf, 0, 0}, {2, 1, 0}}}, {0, 0, 1}));
  EXPECT_FALSE(project({ring(8)}, {0, 0, 0}));
  EXPECT_FALSE(project({ring(8)}, {nan, 0, 1}));
  EXPECT_FALSE(project({ring(8), ring(8)}, {0, 0, 1}));  // one on the other
  EXPECT_FALSE(project({Curve(kMostPoints + 1, Vec3{})}, {0, 0, 1}));
}

TEST(KnotProject, ScaleDoesNotMatter) {
  for (const double scale : {1e-300, 1e-30, 1.0, 1e30, 1e300}) {
    Curves curves = closed_braid(2, {1, 1, 1});
    for (Vec3& p : curves[0]) p = scale * p;
    const auto seen = project(curves, {0.1, 0.3, 1});
    ASSERT_TRUE(seen) << scale << seen.error().message;
    EXPECT_EQ(*determinant(*seen), 3) << scale;
  }
}

}  // namespace
}  // namespace ligature::knot
