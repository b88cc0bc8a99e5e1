#include "sim/knot/simplify.hpp"

#include <gtest/gtest.h>

#include "codes.hpp"
#include "scenes.hpp"
#include "sim/knot/invariants.hpp"

namespace ligature::knot {
namespace {

std::vector<int> random_word(Random& random, int strands, int length) {
  std::vector<int> word;
  for (int i = 0; i < length; ++i)
    word.push_back((random.next() % 2 == 0 ? 1 : -1) *
                   (1 + static_cast<int>(random.next() % static_cast<unsigned>(strands - 1))));
  return word;
}

TEST(KnotSimplify, LeavesSmallestDiagramsAlone) {
  for (const char* text : {kTrefoil, kFigureEight, kHopf, kSolomon, kWhitehead}) {
    const Diagram d = simplify(code(text));
    EXPECT_TRUE(well_formed(d));
    EXPECT_EQ(d.sign.size(), code(text).sign.size());
    EXPECT_EQ(writhe(d), writhe(code(text)));
  }
}

TEST(KnotSimplify, RemovesLoopsAndBigons) {
  EXPECT_EQ(simplify(code("o1+ u1+")), code(""));
  EXPECT_EQ(simplify(code("o1+ o2- | u1+ u2-")), code("|"));
  EXPECT_EQ(simplify(code("o1+ u1+ | o2+ u3+ | u2+ o3+")).sign.size(), 2u);
}

TEST(KnotSimplify, BraidAndItsInverseAreRings) {
  Random random(3);
  for (int k = 0; k < 60; ++k) {
    std::vector<int> word = random_word(random, 4, 3 + k);
    const std::size_t n = word.size();
    for (std::size_t i = n; i-- > 0;) word.push_back(-word[i]);
    const auto seen = project(closed_braid(4, word), {0, 0, 1});
    ASSERT_TRUE(seen);
    const Diagram d = simplify(*seen);
    EXPECT_EQ(d.components.size(), 4u);
    EXPECT_EQ(d.sign.size(), 0u) << k;
  }
}

TEST(KnotSimplify, StabilisedBraidsAreTheKnotTheyWere) {
  // Markov's moves: conjugation by a random word, then a new strand with either sign.
  Random random(4);
  for (int k = 0; k < 60; ++k) {
    std::vector<int> word{1, 1, 1};
    int strands = 2;
    for (int move = 0; move < 4; ++move) {
      const std::vector<int> around = strands > 2 || move > 0 ? random_word(random, strands, 4) : std::vector<int>{1};
      std::vector<int> fresh = around;
      fresh.insert(fresh.end(), word.begin(), word.end());
      for (std::size_t i = around.size(); i-- > 0;) fresh.push_back(-around[i]);
      fresh.push_back(random.next() % 2 == 0 ? strands : -strands);
      word = fresh;
      ++strands;
    }
    const auto seen = project(closed_braid(strands, word), {0, 0, 1});
    ASSERT_TRUE(seen);
    const Diagram d = simplify(*seen);
    EXPECT_TRUE(well_formed(d));
    EXPECT_EQ(d.sign.size(), 3u) << k << " of " << seen->sign.size();
    EXPECT_EQ(*determinant(d), 3);
  }
}

TEST(KnotSimplify, KeepsInvariants) {
  Random random(5);
  for (int k = 0; k < 300; ++k) {
    const int strands = 2 + k % 4;
    const auto seen =
        project(closed_braid(strands, random_word(random, strands, 4 + k % 40)), random_direction(random));
    ASSERT_TRUE(seen);
    const Diagram d = simplify(*seen);
    ASSERT_TRUE(well_formed(d));
    ASSERT_EQ(d.components.size(), seen->components.size());
    EXPECT_LE(d.sign.size(), seen->sign.size());
    const auto before = linking_numbers(*seen), after = linking_numbers(d);
    for (std::size_t i = 0; i < before.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) EXPECT_EQ(before[i][j], after[i][j]);
    const auto a = alexander_polynomial(*seen), b = alexander_polynomial(d);
    if (a && b) {
      EXPECT_EQ(*a, *b);
    }
    // Each component alone, orientation and all.
    for (std::size_t c = 0; c < before.size(); ++c) {
      const auto x = alexander_polynomial(part(*seen, {c})), y = alexander_polynomial(part(d, {c}));
      if (x && y) {
        EXPECT_EQ(*x, *y);
      }
    }
  }
}

TEST(KnotShorten, RingBecomesATriangle) {
  const auto left = simplify({ring(200)});
  ASSERT_TRUE(left);
  EXPECT_EQ((*left)[0].size(), 3u);
}

TEST(KnotShorten, KeepsTheKnotAndThePoints) {
  Random random(6);
  for (int k = 0; k < 40; ++k) {
    Curves curves = closed_braid(3, random_word(random, 3, 12));
    for (Curve& c : curves) c = resampled(c, 3);
    const auto left = simplify(curves);
    ASSERT_TRUE(left);
    for (std::size_t c = 0; c < curves.size(); ++c)
      for (const Vec3& p : (*left)[c]) EXPECT_NE(std::find(curves[c].begin(), curves[c].end(), p), curves[c].end());
    const auto a = project(curves, {0, 0, 1}), b = project(*left, {0, 0, 1});
    ASSERT_TRUE(a && b);
    EXPECT_EQ(*alexander_polynomial(simplify(*a)), *alexander_polynomial(simplify(*b)));
  }
}

TEST(KnotShorten, NothingIsTakenThroughARay) {
  // Closed far away along any of the rays, what is left is the knot that the whole was.
  Random random(12);
  std::size_t points = 0, left = 0, knotted = 0;
  for (int k = 0; k < 60; ++k) {
    Curve c;
    for (int i = 0; i < 14; ++i) c.push_back({random.normal(), random.normal(), random.normal()});
    const auto open = prepared({resampled(c, 4)}, false);
    ASSERT_TRUE(open);
    const Curve& whole = (*open)[0];
    std::vector<Ray> rays;
    for (std::size_t d = 0; d < 24; ++d)
      for (const Vec3 end : {whole.front(), whole.back()}) rays.push_back({end, end + 4.0 * direction(d)});
    const Shortened few = shorten_open({whole}, rays);
    points += whole.size(), left += few.curves[0].size();
    for (std::size_t d = 0; d < rays.size(); d += 2) {
      const auto closed = [&](Curve curve) {
        curve.push_back(rays[d + 1].to);
        curve.push_back(rays[d].to);
        return simplified_diagram({curve}, 3);
      };
      const auto a = closed(whole), b = closed(few.curves[0]);
      ASSERT_TRUE(a && b);
      knotted += a->diagram.sign.empty() ? 0 : 1;
      EXPECT_EQ(*alexander_polynomial(a->diagram), *alexander_polynomial(b->diagram)) << k << ' ' << d / 2;
    }
  }
  EXPECT_LT(2 * left, points);
  EXPECT_GT(knotted, 100u);
}

TEST(KnotSimplify, WhatIsTriedInVainTwiceIsNotTriedAgain) {
  // 8_20 does not alternate and has no fewer crossings.
  const Curves knot = closed_braid(3, {1, 1, 1, -2, -1, -1, -1, -2});
  InVain in_vain;
  for (int k = 0; k < 5; ++k) {
    const auto seen = simplified_diagram(knot, 3, kBrief, &in_vain);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->diagram.sign.size(), 8u);
    EXPECT_EQ(*determinant(seen->diagram), 9);
    ASSERT_EQ(in_vain.size(), 1u);
    EXPECT_EQ(in_vain.begin()->second, std::min(k + 1, 2));
  }
}

TEST(KnotShorten, WhatCouldNotBeUndoneByHandIsUndone) {
  // Rings shaken until they are tangled, with every move checked to cross nothing.
  Random random(7);
  std::size_t most = 0;
  for (int k = 0; k < 6; ++k) {
    Curves curves{ring(60)};
    shaken(curves, random, 6000, 0.7);
    const auto seen = project(curves, {0, 0, 1});
    ASSERT_TRUE(seen);
    most = std::max(most, seen->sign.size());
    EXPECT_EQ(simplify(*seen).sign.size(), 0u) << "from " << seen->sign.size();
    const auto d = simplified_diagram(curves);
    ASSERT_TRUE(d);
    EXPECT_EQ(d->diagram.sign.size(), 0u);
  }
  EXPECT_GE(most, 200u);
}

TEST(KnotShorten, WhatIsTooTangledEndsToo) {
  Random random(9);
  const auto points = [&random](std::size_t n, bool walk) {
    Curve c;
    Vec3 p;
    for (std::size_t i = 0; i < n; ++i) {
      const Vec3 step{random.normal(), random.normal(), random.normal()};
      p = walk ? p + step : step;
      c.push_back(p);
    }
    return c;
  };
  for (const Curve& c : {points(300, false), points(3000, true)}) {
    const auto d = simplified_diagram({c});
    ASSERT_TRUE(d);
    EXPECT_TRUE(well_formed(d->diagram));
  }
  const auto refused = simplified_diagram({points(10000, false)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Error::Kind::usage);
}

TEST(KnotShorten, ShakenKnotsStayWhatTheyAre) {
  Random random(8);
  for (int k = 0; k < 10; ++k) {
    const bool eight = k % 2 == 0;
    Curves curves = eight ? closed_braid(3, {1, -2, 1, -2}) : closed_braid(2, {1, 1, 1});
    for (Curve& c : curves) c = resampled(c, 4);
    shaken(curves, random, 4000, 0.9);
    const auto d = simplified_diagram(curves);
    ASSERT_TRUE(d);
    EXPECT_EQ(d->diagram.sign.size(), eight ? 4u : 3u);
    EXPECT_EQ(*determinant(d->diagram), eight ? 5 : 3);
  }
}

}  // namespace
}  // namespace ligature::knot
