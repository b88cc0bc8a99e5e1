/// Names of curves in space: every knot and link of the table, sums of up to three factors, made into a space curve
/// from its code, moved about without crossing itself, turned, mirrored, resampled, shaken. LIGATURE_KNOT_ROUNDS (soak)
/// says how many times each, LIGATURE_KNOT_SEED with which numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "appliance/knot/homfly_library.hpp"
#include "appliance/knot/identify.hpp"
#include "sim/knot/names/table.hpp"
#include "space_curves.hpp"

namespace ligature::knot {
namespace {

HomflySource& source() {
  static const auto library = homfly_library();
  return *library;
}

std::uint64_t number(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// The long run deforms more.
double most_deformed() {
  return std::getenv("LIGATURE_KNOT_ROUNDS") ? 1.0 : 0.4;
}

struct Tally {
  int cases = 0, named = 0, unknown = 0, wrong = 0;
};

/// Deforms the curves, perhaps mirrored, and asks for their name.
void ask(Curves curves, const std::string& name, const std::string& mirror_name, Random& random, double amount,
         Tally& tally, const std::string& how) {
  deform(curves, random, amount);
  const bool mirrored = random.uniform() < 0.5;
  if (mirrored) reflect(curves);
  const double scale = std::exp(random.uniform(-6, 6));
  for (auto& curve : curves)
    for (Vec3& p : curve) p = scale * p;
  ++tally.cases;
  const auto found = identify({curves, true, ""}, source());
  ASSERT_TRUE(found) << name << ": " << found.error().message << how;
  const std::string& wanted = mirrored ? mirror_name : name;
  if (found->answer.name == wanted) {
    ++tally.named;
  } else if (found->answer.name == "unknown") {
    ++tally.unknown;
    std::printf("unknown: %s, %zu crossings%s\n", wanted.c_str(), found->answer.crossings, how.c_str());
  } else {
    ++tally.wrong;
    ADD_FAILURE() << wanted << " was called " << found->answer.name << how;
  }
}

void expect_few_unknown(const Tally& tally) {
  testing::Test::RecordProperty("cases", tally.cases);
  testing::Test::RecordProperty("unknown", tally.unknown);
  std::printf("%d cases: %d named, %d unknown, %d wrong\n", tally.cases, tally.named, tally.unknown, tally.wrong);
  EXPECT_EQ(tally.wrong, 0);
  EXPECT_LE(tally.unknown, tally.cases / 1000);
}

std::string name_of_row(const TableKnot& knot, bool mirrored) {
  PrimeName name = knot.name;
  name.mirrored = mirrored && !knot.amphichiral;
  return to_string(name);
}

TEST(KnotCurves, PrimeKnotsKeepTheirNameHoweverTheyAreMoved) {
  const std::uint64_t rounds = number("LIGATURE_KNOT_ROUNDS", 1), seed = number("LIGATURE_KNOT_SEED", 1);
  Tally tally;
  for (std::uint64_t round = 0; round < rounds; ++round)
    for (std::size_t row = 0; row < Table::instance().knots().size(); ++row) {
      const TableKnot& knot = Table::instance().knots()[row];
      Random random(seed * 1000003 + round * 1009 + row);
      const auto curves = in_space(knot.diagram);
      ASSERT_TRUE(curves);
      ask(*curves, name_of_row(knot, false), name_of_row(knot, true), random, random.uniform(0.1, most_deformed()),
          tally, " (seed " + std::to_string(seed) + ", round " + std::to_string(round) + ")");
    }
  expect_few_unknown(tally);
}

TEST(KnotCurves, LinksKeepTheirName) {
  const std::uint64_t rounds = number("LIGATURE_KNOT_ROUNDS", 1), seed = number("LIGATURE_KNOT_SEED", 1);
  Tally tally;
  for (std::uint64_t round = 0; round < rounds; ++round)
    for (std::size_t row = 0; row < Table::instance().links().size(); ++row) {
      const TableLink& link = Table::instance().links()[row];
      Random random(seed * 2000003 + round * 2003 + row);
      const auto curves = in_space(link.diagram);
      ASSERT_TRUE(curves);
      ask(*curves, to_string(link.name), to_string(link.name), random, random.uniform(0.1, most_deformed()), tally,
          " (seed " + std::to_string(seed) + ", round " + std::to_string(round) + ")");
    }
  expect_few_unknown(tally);
}

/// One diagram tied into another: their codes one after the other are a connected sum.
Diagram sum_of(const Diagram& a, const Diagram& b) {
  Diagram out = a;
  const auto first = static_cast<std::uint32_t>(a.sign.size());
  for (const Pass& pass : b.components[0]) out.components[0].push_back({pass.crossing + first, pass.over});
  out.sign.insert(out.sign.end(), b.sign.begin(), b.sign.end());
  return out;
}

TEST(KnotCurves, SumsOfUpToThreeFactorsAreNamedByTheirFactors) {
  const std::uint64_t rounds = number("LIGATURE_KNOT_ROUNDS", 1), seed = number("LIGATURE_KNOT_SEED", 1);
  Tally tally;
  const auto& knots = Table::instance().knots();
  // Small ones are as likely as large ones.
  std::vector<std::vector<std::size_t>> rows_with(kMostKnotCrossings + 1);
  for (std::size_t row = 1; row < knots.size(); ++row)
    rows_with[static_cast<std::size_t>(knots[row].name.crossings)].push_back(row);
  for (std::uint64_t round = 0; round < 40 * rounds; ++round) {
    Random random(seed * 3000017 + round);
    Diagram whole{{{}}, {}};
    std::vector<PrimeName> names, mirrored_names;
    const std::size_t factors = 2 + random.next() % 2;
    for (std::size_t f = 0; f < factors; ++f) {
      const std::size_t most = factors == 2 ? 10 : 7;
      const auto& rows = rows_with[3 + random.next() % (most - 2)];
      const TableKnot& knot = knots[rows[random.next() % rows.size()]];
      const bool mirrored = random.next() % 2 == 0;
      whole = sum_of(whole, mirrored ? mirror(knot.diagram) : knot.diagram);
      PrimeName name = knot.name;
      name.mirrored = mirrored && !knot.amphichiral;
      names.push_back(name);
      name.mirrored = !mirrored && !knot.amphichiral;
      mirrored_names.push_back(name);
    }
    const auto curves = in_space(whole);
    ASSERT_TRUE(curves) << curves.error().message;
    ask(*curves, joined(names), joined(mirrored_names), random, random.uniform(0.1, 0.7 * most_deformed()), tally,
        " (seed " + std::to_string(seed) + ", round " + std::to_string(round) + ")");
  }
  expect_few_unknown(tally);
}

TEST(KnotCurves, UnknotsThatLookKnottedAreUnknots) {
  const std::uint64_t rounds = number("LIGATURE_KNOT_ROUNDS", 1), seed = number("LIGATURE_KNOT_SEED", 1);
  Tally tally;
  for (std::uint64_t round = 0; round < 2 * rounds; ++round) {
    Random random(seed * 4000037 + round);
    Curves curves{{}};
    for (int i = 0; i < 60; ++i) {
      const double angle = 2 * 3.14159265358979 * i / 60;
      curves[0].push_back({3 * std::cos(angle), 3 * std::sin(angle), 0});
    }
    for (int i = 0; i < 6; ++i) {
      subdivide(curves, 0.7);
      if (curves[0].size() > 500) resample(curves, random, 1.4);
      poke(curves, random, 25, 4.0);
    }
    ask(curves, "0_1", "0_1", random, 0.6, tally,
        " (seed " + std::to_string(seed) + ", round " + std::to_string(round) + ")");
  }
  expect_few_unknown(tally);
}

}  // namespace
}  // namespace ligature::knot
