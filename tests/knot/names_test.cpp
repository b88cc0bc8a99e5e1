#include "sim/knot/names/name.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <set>

#include "appliance/knot/homfly_library.hpp"
#include "appliance/knot/make_table.hpp"
#include "sim/base/random.hpp"
#include "sim/knot/names/code.hpp"
#include "sim/knot/names/determinant.hpp"
#include "sim/knot/names/escape.hpp"
#include "sim/knot/names/layout.hpp"
#include "sim/knot/names/parabolic.hpp"
#include "sim/knot/names/parts.hpp"
#include "sim/knot/names/planar.hpp"
#include "sim/knot/names/table.hpp"

namespace ligature::knot {
namespace {

HomflySource& source() {
  static const auto library = homfly_library();
  return *library;
}

Diagram code(const char* text) {
  auto out = parse_code(text);
  EXPECT_TRUE(out) << text;
  return *out;
}

std::string name_of_code(const char* text) {
  return name_of(code(text), source()).name;
}

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

constexpr const char* kTrefoil = "o1- u2- o3- u1- o2- u3-";

TEST(KnotPolynomial, TextIsReadBackExactly) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Term> terms;
    for (int i = 0; i < 8; ++i)
      terms.push_back({static_cast<int>(random.next() % 9) - 4, static_cast<int>(random.next() % 9) - 4,
                       static_cast<std::int64_t>(random.next() % 7) - 3});
    const auto p = Polynomial::of(terms);
    ASSERT_TRUE(p);
    EXPECT_EQ(parse_polynomial(to_string(*p)), *p) << to_string(*p);
    EXPECT_EQ(p->mirrored().mirrored(), *p);
  }
  EXPECT_EQ(to_string(*Polynomial::of({{0, 0, -1}, {2, 0, 1}, {-1, 3, -2}})), "-2*l^3*m^-1 - 1 + m^2");
  for (const char* wrong : {"", "l^", "2*", "x", "l l^2 3", "--1", "99999999999999999999", "l^99999999999"})
    EXPECT_FALSE(parse_polynomial(wrong)) << wrong;
}

TEST(KnotPolynomial, WhatDoesNotFitIsRefusedNotWrapped) {
  const std::int64_t big = std::int64_t{1} << 40;
  const auto p = *Polynomial::of({{0, 0, big}});
  EXPECT_FALSE(product(p, p));
  EXPECT_FALSE(Polynomial::of({{0, 0, INT64_MAX}, {0, 0, 1}}));
}

TEST(KnotCode, IsReadAndWritten) {
  for (const char* text : {"", kTrefoil, "o1+ u2+ | u1+ o2+", "| |", "o1+ u1+ |"}) {
    EXPECT_TRUE(well_formed(code(text)));
    EXPECT_EQ(code(to_code(code(text)).c_str()), code(text)) << to_code(code(text));
  }
  for (const char* wrong : {"o1", "o1+", "o1+ u1-", "o1+ o1+", "x1+", "o0+ u0+", "o3+ u3+", "o99999999999+"})
    EXPECT_FALSE(parse_code(wrong)) << wrong;
}

TEST(Homfly, SkeinRelationHolds) {
  // l P(L+) + l^-1 P(L-) + m P(L0) = 0 at the first crossing of every row.
  for (const TableKnot& knot : Table::instance().knots()) {
    const Diagram& d = knot.diagram;
    if (d.sign.empty()) continue;
    Diagram changed = d, smoothed;
    const std::uint32_t c = d.components[0][0].crossing;
    for (Pass& pass : changed.components[0])
      if (pass.crossing == c) pass.over = !pass.over;
    changed.sign[c] = static_cast<std::int8_t>(-changed.sign[c]);
    smoothed.sign = d.sign;
    smoothed.components.resize(1);
    for (std::size_t i = 1; i < d.components[0].size(); ++i) {
      if (d.components[0][i].crossing == c)
        smoothed.components.emplace_back();
      else
        smoothed.components.back().push_back(d.components[0][i]);
    }
    // The smoothed crossing's number goes to the last one.
    const auto last = static_cast<std::uint32_t>(smoothed.sign.size() - 1);
    for (auto& component : smoothed.components)
      for (Pass& pass : component)
        if (pass.crossing == last) pass.crossing = c;
    smoothed.sign[c] = smoothed.sign[last];
    smoothed.sign.pop_back();
    ASSERT_TRUE(well_formed(smoothed)) << to_string(knot.name);
    const auto before = source().homfly(d), after = source().homfly(changed), between = source().homfly(smoothed);
    ASSERT_TRUE(before && after && between);
    std::vector<Term> sum;
    const bool positive = d.sign[c] > 0;
    for (const Term& t : before->terms()) sum.push_back({t.m, t.l + (positive ? 1 : -1), t.coefficient});
    for (const Term& t : after->terms()) sum.push_back({t.m, t.l + (positive ? -1 : 1), t.coefficient});
    for (const Term& t : between->terms()) sum.push_back({t.m + 1, t.l, t.coefficient});
    EXPECT_TRUE(Polynomial::of(sum)->terms().empty()) << to_string(knot.name);
  }
}

TEST(Homfly, CirclesWithoutCrossingsAreFactors) {
  EXPECT_EQ(to_string(*source().homfly(code(""))), "1");
  EXPECT_EQ(to_string(*source().homfly(code("|"))), "-l^-1*m^-1 - l*m^-1");
  const auto with_circle = source().homfly(code("o1- u2- o3- u1- o2- u3- |"));
  EXPECT_EQ(*with_circle, *product(*source().homfly(code(kTrefoil)), *source().homfly(code("|"))));
  EXPECT_FALSE(source().homfly({}));
}

TEST(Homfly, TooManyCrossingsAreRefused) {
  Diagram kinks{{{}}, {}};
  for (std::uint32_t c = 0; c <= kMostCrossings; ++c) {
    kinks.components[0].push_back({c, true});
    kinks.components[0].push_back({c, false});
    kinks.sign.push_back(1);
  }
  EXPECT_FALSE(source().homfly(kinks));
}

TEST(KnotTable, IsWhatItsSourcesMake) {
  const std::string folder = LIGATURE_SOURCE_DIR "/sim/knot/names/";
  const auto made = make_table(slurp(folder + "prime_knots_gauss.csv"), slurp(folder + "links_gauss.csv"), source());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(*made == slurp(folder + "table_data.inc")) << "run ligature-knot-table";
}

TEST(KnotTable, RefusesRowsThatAreWrong) {
  const char* const link = "2^2_1,2,o1+ u2+ | u1+ o2+\n";
  for (const char* row : {"3_1,4,o1- u2- o3- u1- o2- u3-\n", "3_1,3,o1- u2- o3- u1- o2-\n", "3_1\n",
                          "3_1,3,o1- u2- o3+ u1- o2- u3+\n", "3_1,6,o1- u2- o3- u1- o2- u3- o4- u5- o6- u4- o5- u6-\n"})
    EXPECT_FALSE(make_table(row, link, source())) << row;
  EXPECT_TRUE(make_table("3_1,3,o1- u2- o3- u1- o2- u3-\r\n", link, source()));
}

/// [Rolfsen 1976], appendix C.
TEST(KnotTable, HasTheDeterminantsOfTheBooks) {
  const std::vector<std::vector<int>> determinants{
      {3},
      {5},
      {5, 7},
      {9, 11, 13},
      {7, 11, 13, 15, 17, 19, 21},
      {13, 17, 17, 19, 21, 23, 23, 25, 25, 27, 27, 29, 29, 31, 33, 35, 37, 45, 3, 9, 15},
      {9,  15, 19, 21, 23, 27, 29, 31, 31, 33, 33, 35, 37, 37, 39, 39, 39, 41, 41, 41, 43, 43, 45, 45, 47,
       47, 49, 51, 51, 53, 55, 59, 61, 69, 27, 37, 45, 57, 55, 75, 49, 7,  13, 17, 23, 9,  27, 27, 25}};
  const std::size_t counts[] = {1, 1, 2, 3, 7, 21, 49, 165};
  std::vector<std::size_t> seen(8, 0);
  for (const TableKnot& knot : Table::instance().knots()) {
    if (knot.name.crossings == 0) continue;
    const auto row = static_cast<std::size_t>(knot.name.crossings - 3);
    EXPECT_EQ(knot.name.index, static_cast<int>(++seen[row]));
    EXPECT_EQ(knot.determinant % 2, 1) << to_string(knot.name);
    if (row < determinants.size()) {
      EXPECT_EQ(knot.determinant, determinants[row][seen[row] - 1]) << to_string(knot.name);
    }
  }
  for (std::size_t row = 0; row < 8; ++row) EXPECT_EQ(seen[row], counts[row]);
  EXPECT_EQ(Table::instance().links().size(), 30u);
}

/// The twenty of the literature [Hoste 1998], which no invariant here was told.
TEST(KnotTable, FindsTheAmphichiralKnots) {
  const std::set<std::string> known{"0_1",   "4_1",   "6_3",   "8_3",    "8_9",    "8_12",   "8_17",
                                    "8_18",  "10_17", "10_33", "10_37",  "10_43",  "10_45",  "10_79",
                                    "10_81", "10_88", "10_99", "10_109", "10_115", "10_118", "10_123"};
  std::set<std::string> found;
  for (const TableKnot& knot : Table::instance().knots())
    if (knot.amphichiral) found.insert(to_string(knot.name));
  EXPECT_EQ(found, known);
}

TEST(LongitudeCount, PartsWhatThePolynomialDoesNot) {
  // Every two knots to ten crossings, mirror images included, differ in their polynomial or their counts.
  struct Known {
    std::string name;
    Diagram diagram;
  };
  std::map<Polynomial, std::vector<Known>> same;
  for (const TableKnot& knot : Table::instance().knots()) {
    same[knot.homfly].push_back({to_string(knot.name), knot.diagram});
    if (!knot.amphichiral) same[knot.homfly.mirrored()].push_back({"m" + to_string(knot.name), mirror(knot.diagram)});
  }
  int groups = 0;
  for (const auto& [homfly, knots] : same) {
    if (knots.size() < 2) continue;
    ++groups;
    std::set<std::vector<LongitudeCount>> counts;
    for (const Known& knot : knots) {
      std::vector<LongitudeCount> all;
      for (const int prime : kCountPrimes) {
        const auto count = longitude_count(knot.diagram, prime);
        ASSERT_TRUE(count) << knot.name;
        all.push_back(*count);
      }
      counts.insert(all);
    }
    EXPECT_EQ(counts.size(), knots.size()) << knots[0].name << " and " << knots[1].name;
  }
  EXPECT_EQ(groups, 16);
}

TEST(LongitudeCount, DoesNotDependOnWhereTheKnotBeginsOrItsDirection) {
  for (const TableKnot& knot : Table::instance().knots()) {
    if (knot.name.crossings > 8) break;
    Diagram d = knot.diagram;
    const auto count = longitude_count(d, 7);
    for (std::size_t i = 0; i + 1 < d.components[0].size(); i += 3) {
      std::rotate(d.components[0].begin(), d.components[0].begin() + 3, d.components[0].end());
      EXPECT_EQ(longitude_count(d, 7), count) << to_string(knot.name);
    }
  }
}

TEST(LongitudeCount, OfASumIsTheProduct) {
  const auto three = *longitude_count(code(kTrefoil), 7);
  EXPECT_EQ(*longitude_count(code("o1- u2- o3- u1- o2- u3- o4- u5- o6- u4- o5- u6-"), 7), sum_count(three, three));
  const auto mirrored = *longitude_count(mirror(code(kTrefoil)), 7);
  EXPECT_EQ(*longitude_count(code("o1- u2- o3- u1- o2- u3- u4+ o5+ u6+ o4+ u5+ o6+"), 7), sum_count(three, mirrored));
}

TEST(KnotNames, EveryRowAndItsMirrorImageIsItself) {
  for (const TableKnot& knot : Table::instance().knots()) {
    const Naming naming = name_of(knot.diagram, source());
    PrimeName name = knot.name;
    EXPECT_EQ(naming.name, to_string(name));
    name.mirrored = !knot.amphichiral;
    EXPECT_EQ(name_of(mirror(knot.diagram), source()).name, to_string(name));
    EXPECT_EQ(name_of(reverse(knot.diagram), source()).name, to_string(knot.name));
  }
}

TEST(KnotNames, EveryLinkKeepsItsNameMirroredOrReversed) {
  for (const TableLink& link : Table::instance().links())
    for (const Diagram& d : {link.diagram, mirror(link.diagram), reverse(link.diagram, 0), reverse(link.diagram)})
      EXPECT_EQ(name_of(d, source()).name, to_string(link.name));
}

TEST(KnotNames, FactorsAreSorted) {
  EXPECT_EQ(name_of_code("u1+ o2+ u3+ o1+ u2+ o3+ o4- u5- o6- u4- o5- u6-"), "3_1#m3_1");
  EXPECT_EQ(name_of_code("o1- u2- o3+ u4+ o2- u1- o4+ u3+ o5- u6- o7- u5- o6- u7-"), "3_1#4_1");
  EXPECT_EQ(joined({{9, 1, 12, true}, {5, 1, 2, false}, {5, 1, 2, true}, {3, 1, 1, true}, {0, 1, 1, false}}),
            "m3_1#5_2#m5_2#m9_12");
  EXPECT_EQ(joined({{0, 1, 1, false}, {0, 1, 1, false}}), "0_1");
}

TEST(KnotNames, SumsInsideSumsComeApart) {
  // A trefoil tied into an edge of a trefoil that is tied into an edge of a figure eight.
  EXPECT_EQ(name_of_code("o1- u2- o3+ u4+ o5- o8- u9- o10- u8- o9- u10- u6- o7- u5- o6- u7- o2- u1- o4+ u3+"),
            "3_1#3_1#4_1");
}

TEST(KnotNames, FactorsInARingAreTheSameSum) {
  const Diagram nested = code("o1- u2- o3+ u4+ o5- o8- u9- o10- u8- o9- u10- u6- o7- u5- o6- u7- o2- u1- o4+ u3+");
  const Diagram ring = factors_in_a_ring(nested);
  ASSERT_TRUE(well_formed(ring));
  EXPECT_EQ(*source().homfly(ring), *source().homfly(nested));
  EXPECT_TRUE(lay_out(ring));
}

TEST(KnotNames, ThatNothingHasAreTold) {
  for (const TableKnot& k : Table::instance().knots()) {
    EXPECT_TRUE(is_name(to_string(k.name)));
    EXPECT_EQ(is_name("m" + to_string(k.name)), !k.amphichiral) << to_string(k.name);
  }
  for (const TableLink& l : Table::instance().links()) EXPECT_TRUE(is_name(to_string(l.name)));
  for (const char* name : {"3_1#m3_1", "3_1#4_1#10_165", "3_1+0_1", "4_1+3_1#3_1", "0^2_1", "0^12_1", "2^2_1#3_1"})
    EXPECT_TRUE(is_name(name)) << name;
  for (const char* name :
       {"",        "blah",   "3",    "3_",    "3_2",   "_1",    "^",    "m",     "mm3_1",    "m4_1",
        "m2^2_1",  "10_166", "11_1", "9^2_1", "0^1_1", "0^2_2", "0^",   "0^x_1", "m3_1#3_1", "4_1#3_1",
        "3_1#0_1", "3_1#",   "#3_1", "3_1+",  "+",     "3_1 ",  " 3_1", "03_1",  "3_01"})
    EXPECT_FALSE(is_name(name)) << name;
}

TEST(KnotNames, SplitLinks) {
  EXPECT_EQ(name_of_code("|"), "0^2_1");
  EXPECT_EQ(name_of_code("o1+ u1+ | o2- u2- |"), "0^3_1");
  EXPECT_EQ(name_of_code("| o1- u2- o3- u1- o2- u3-"), "3_1+0_1");
  // One circle lying over the other.
  EXPECT_EQ(name_of_code("o1+ o2- | u1+ u2-"), "0^2_1");
}

TEST(KnotNames, SumsWithLinks) {
  EXPECT_EQ(name_of_code("o1+ u2+ o3+ u4+ | u1+ o2+ | u3+ o4+"), "2^2_1#2^2_1");
  EXPECT_EQ(name_of_code("o1+ u2+ o3- u4- o5- u3- o4- u5- | u1+ o2+"), "2^2_1#3_1");
}

TEST(KnotNames, ElevenCrossingsHaveNoName) {
  // The closed braid of T(2,11).
  Diagram d{{{}}, std::vector<std::int8_t>(11, 1)};
  for (std::uint32_t i = 0; i < 22; ++i) d.components[0].push_back({i % 11, i % 2 == 0});
  ASSERT_TRUE(well_formed(d));
  const Naming naming = name_of(d, source());
  EXPECT_EQ(naming.name, "unknown");
  EXPECT_FALSE(naming.proven);
  EXPECT_TRUE(naming.candidates.empty());
  EXPECT_EQ(naming.crossings, 11u);
  EXPECT_TRUE(naming.homfly);
}

TEST(KnotEscape, FingersChangeNoKnot) {
  Random random(3);
  for (const TableKnot& knot : Table::instance().knots()) {
    if (knot.diagram.sign.empty()) continue;
    const Diagram d = with_fingers(knot.diagram, random, 3);
    ASSERT_TRUE(well_formed(d)) << to_string(knot.name) << ": " << to_code(d);
    EXPECT_EQ(*source().homfly(d), knot.homfly) << to_string(knot.name);
  }
  for (const TableLink& link : Table::instance().links()) {
    const Diagram d = with_fingers(link.diagram, random, 3);
    ASSERT_TRUE(well_formed(d)) << to_string(link.name) << ": " << to_code(d);
    EXPECT_EQ(*source().homfly(d), link.homfly[0]) << to_string(link.name);
  }
}

TEST(KnotEscape, DeadEndsAreLeft) {
  Random random(4);
  for (const TableKnot& knot : Table::instance().knots()) {
    if (knot.diagram.sign.empty()) continue;
    const Diagram d = simplified_to(with_fingers(knot.diagram, random, 12), kMostKnotCrossings, 64);
    EXPECT_LE(d.sign.size(), static_cast<std::size_t>(kMostKnotCrossings)) << to_string(knot.name);
  }
}

TEST(KnotLayout, DrawsEveryRowAsItsCodeSays) {
  for (const TableKnot& knot : Table::instance().knots()) {
    const auto layout = lay_out(knot.diagram);
    ASSERT_TRUE(layout) << to_string(knot.name) << layout.error().message;
    const auto& component = layout->components[0];
    const std::size_t n = component.points.size();
    // Both passes of a crossing are at one point, and turn as its sign says.
    std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> at;
    for (std::size_t i = 0; i < component.pass_at.size(); ++i) {
      const Pass pass = knot.diagram.components[0][i];
      (pass.over ? at[pass.crossing].first : at[pass.crossing].second) = component.pass_at[i];
    }
    const auto way = [&](std::size_t i) {
      const PlanePoint a = component.points[(i + n - 1) % n], b = component.points[(i + 1) % n];
      return PlanePoint{b.x - a.x, b.y - a.y};
    };
    std::size_t met = 0;
    for (const auto& [crossing, places] : at) {
      const PlanePoint p = component.points[places.first], q = component.points[places.second];
      EXPECT_NEAR(std::hypot(p.x - q.x, p.y - q.y), 0, 1e-9);
      const PlanePoint over = way(places.first), under = way(places.second);
      EXPECT_GT((over.x * under.y - over.y * under.x) * knot.diagram.sign[crossing], 0) << to_string(knot.name);
    }
    // And nothing else crosses.
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 2; j < n; ++j) {
        const auto side = [](PlanePoint a, PlanePoint b, PlanePoint c) {
          return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
        };
        const PlanePoint a = component.points[i], b = component.points[(i + 1) % n], c = component.points[j],
                         d = component.points[(j + 1) % n];
        if ((j + 1) % n == i) continue;
        if (side(a, b, c) * side(a, b, d) < -1e-12 && side(c, d, a) * side(c, d, b) < -1e-12) ++met;
      }
    EXPECT_LE(met, knot.diagram.sign.size()) << to_string(knot.name);
  }
}

}  // namespace
}  // namespace ligature::knot
