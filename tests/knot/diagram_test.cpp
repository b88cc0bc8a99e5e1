#include "sim/knot/diagram.hpp"

#include <gtest/gtest.h>

#include "codes.hpp"

namespace ligature::knot {
namespace {

TEST(KnotDiagram, KnownCodesAreWellFormed) {
  for (const char* text : {"", kTrefoil, kFigureEight, kHopf, kSolomon, kWhitehead, "o1+ u1+", "o1+ u1+ | | o2- u2-"})
    EXPECT_TRUE(well_formed(code(text))) << text;
}

TEST(KnotDiagram, WhatCannotBeDrawnIsRefused) {
  EXPECT_FALSE(well_formed(code("o1+ u2+ u1+ o2+")));  // virtual trefoil: genus 1
  EXPECT_FALSE(well_formed(code("o1+ u2- o3+ u1+ o2- u3+")));
  EXPECT_FALSE(well_formed(code("o1+ o1+")));
  EXPECT_FALSE(well_formed(code("o1+ u2+")));
  Diagram d = code(kTrefoil);
  d.sign[1] = 0;
  EXPECT_FALSE(well_formed(d));
  d = code(kTrefoil);
  d.components[0][2].crossing = 7;
  EXPECT_FALSE(well_formed(d));
  d = code(kTrefoil);
  d.components[0].push_back(d.components[0][0]);
  EXPECT_FALSE(well_formed(d));
}

TEST(KnotDiagram, MirrorAndReverseStayWellFormed) {
  for (const char* text : {kTrefoil, kFigureEight, kHopf, kSolomon, kWhitehead}) {
    const Diagram d = code(text);
    EXPECT_TRUE(well_formed(mirror(d)));
    EXPECT_TRUE(well_formed(reverse(d)));
    EXPECT_TRUE(well_formed(reverse(d, 0)));
    EXPECT_EQ(mirror(mirror(d)), d);
    EXPECT_EQ(reverse(reverse(d, 0), 0), d);
    EXPECT_EQ(writhe(mirror(d)), -writhe(d));
    EXPECT_EQ(writhe(reverse(d)), writhe(d));
  }
}

TEST(KnotDiagram, LinkingNumbersTurnWithMirrorAndReverse) {
  EXPECT_EQ(linking_numbers(code(kHopf))[0][1], 1);
  EXPECT_EQ(linking_numbers(code(kSolomon))[0][1], -2);
  EXPECT_EQ(linking_numbers(code(kWhitehead))[1][0], 0);
  EXPECT_EQ(linking_numbers(mirror(code(kSolomon)))[0][1], 2);
  EXPECT_EQ(linking_numbers(reverse(code(kSolomon), 1))[0][1], 2);
  EXPECT_EQ(linking_numbers(reverse(code(kSolomon)))[0][1], -2);
}

TEST(KnotDiagram, PartsAreFoundAndTakenOut) {
  const Diagram d = code("o1+ u2+ | o3+ u3+ | u1+ o2+ |");
  const auto parts = connected_parts(d);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0], (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(part(d, parts[0]), code(kHopf));
  EXPECT_EQ(part(d, {0}), code(""));
  EXPECT_EQ(part(d, {3, 1}), code("| o3+ u3+"));
}

}  // namespace
}  // namespace ligature::knot
