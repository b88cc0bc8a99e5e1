/// The shipped knot scenarios: each loads, says what it claims, starts loose, and is the knot that its name says,
/// calculated here by other means than where the curves were drawn.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "config/scenario_file.hpp"
#include "tests/support/knot_measure.hpp"

namespace ligature {
namespace {

namespace fs = std::filesystem;
using measure::Curve;

const fs::path kFolder = fs::path(LIGATURE_SOURCE_DIR) / "config/scenarios/knot";

constexpr Vec3 kBelow{0, -1, 0};

std::vector<fs::path> scenarios() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(kFolder))
    if (entry.path().extension() == ".toml") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

Vec3 outwards(const Curve& c, bool first) {
  const Vec3 d = first ? c[0] - c[1] : c[c.size() - 1] - c[c.size() - 2];
  return (1 / norm(d)) * d;
}

TEST(KnotScenarios, EachLoadsAndSaysWhatItClaims) {
  EXPECT_GE(scenarios().size(), 35u);
  for (const fs::path& path : scenarios()) {
    const auto scenario = config::load_scenario(path);
    EXPECT_TRUE(scenario) << scenario.error().message;
    std::ifstream in(path);
    std::string line;
    std::getline(in, line);
    EXPECT_EQ(line.rfind("# Claim: ", 0), 0u) << path;
  }
}

TEST(KnotScenarios, EachStartsLooseAndGentlyBent) {
  for (const fs::path& path : scenarios()) {
    const auto scenario = config::load_scenario(path);
    ASSERT_TRUE(scenario);
    std::vector<Curve> curves;
    for (const auto& t : scenario->params.threads) curves.push_back(t.points);
    const auto& first = scenario->params.threads[0];
    const measure::Nearest n = measure::nearest(curves, first.closed, 1.6 * first.diameter_mm);
    EXPECT_GT(n.distance, 1.3 * first.diameter_mm) << path << " at " << n.s_a << " and " << n.s_b;
    for (const Curve& c : curves)
      for (std::size_t i = 1; i + 2 < c.size(); ++i) {
        const Vec3 a = c[i] - c[i - 1], b = c[i + 1] - c[i];
        EXPECT_GT(dot(a, b), 0.9 * norm(a) * norm(b)) << path << " point " << i;
      }
  }
}

TEST(KnotScenarios, OneThreadIsTheKnotThatItsNameSays) {
  const std::map<std::string, long> expected = {
      {"overhand_02mm", 3},    {"overhand_10_0", 3},      {"double_overhand_02mm", 5}, {"loose_overhand_1", 3},
      {"loose_overhand_2", 5}, {"figure_eight_02mm", 5},  {"square_02mm", 9},          {"two_squares_02mm", 81},
      {"trefoil_tight", 3},    {"figure_eight_tight", 5}, {"release_overhand_1", 3},   {"release_overhand_2", 5}};
  for (const auto& [name, determinant] : expected) {
    const auto scenario = config::load_scenario(kFolder / (name + ".toml"));
    ASSERT_TRUE(scenario) << name;
    const auto& t = scenario->params.threads[0];
    const Curve loop = t.closed ? t.points
                                : measure::closed(t.points, outwards(t.points, true), outwards(t.points, false),
                                                  name == "figure_eight_02mm" ? Vec3{1, 0, 0} : kBelow);
    EXPECT_EQ(measure::determinant(loop), determinant) << name;
  }
}

TEST(KnotScenarios, TwoThreadsAreTheTieThatTheirNameSays) {
  for (const std::string size : {"_thesis", "_02mm", "_10_0"})
    for (const std::string name : {"reef", "granny", "thief", "grief"}) {
      const auto scenario = config::load_scenario(kFolder / (name + size + ".toml"));
      ASSERT_TRUE(scenario) << name;
      const auto& threads = scenario->params.threads;
      const Curve &a = threads[0].points, &b = threads[1].points;
      // Closed below and above: a thief and a grief are a reef and a granny with one thread run the other way.
      const bool same_side = (a.back().y > a.front().y) == (b.back().y > b.front().y);
      const Curve up = same_side ? b : Curve(b.rbegin(), b.rend());
      const Curve loop = measure::closed(a, outwards(a, true), outwards(a, false), up, outwards(up, true),
                                         outwards(up, false), kBelow);
      EXPECT_EQ(measure::determinant(loop), 9) << name;
      EXPECT_EQ(same_side, name == "reef" || name == "granny") << name << size;
      ASSERT_EQ(threads[0].forces.size(), 2u) << "load, and tail until the knot is set";
      for (std::size_t i : {0u, 1u}) {
        const auto& force = threads[i].forces[0];
        EXPECT_EQ(force.at.kind, world::Place::Kind::first) << "the loaded end comes first";
        EXPECT_GT(dot(force.force, outwards(threads[i].points, true)), 0) << "pulled outwards";
      }
    }
}

/// Of the crossings between two open curves seen along z, in a band of y: the sum of their signs.
int hand(const Curve& a, const Curve& b, double y_from, double y_to) {
  int sum = 0;
  for (std::size_t i = 0; i + 1 < a.size(); ++i)
    for (std::size_t j = 0; j + 1 < b.size(); ++j) {
      const Vec3 p = a[i], q = a[i + 1], r = b[j], s = b[j + 1];
      const double x1 = q.x - p.x, y1 = q.y - p.y, x2 = s.x - r.x, y2 = s.y - r.y, det = x1 * y2 - y1 * x2;
      if (det == 0) continue;
      const double t = ((r.x - p.x) * y2 - (r.y - p.y) * x2) / det, u = ((r.x - p.x) * y1 - (r.y - p.y) * x1) / det;
      if (t < 0 || t >= 1 || u < 0 || u >= 1) continue;
      const double y = p.y + t * y1;
      if (y < y_from || y > y_to) continue;
      const bool over = p.z + t * (q.z - p.z) > r.z + u * (s.z - r.z);
      sum += (det > 0) == over ? 1 : -1;
    }
  return sum;
}

TEST(KnotScenarios, AReefHasThrowsOfOppositeHandAGrannyOfTheSame) {
  for (const std::string size : {"_thesis", "_02mm", "_10_0"})
    for (const std::string name : {"reef", "granny", "thief", "grief"}) {
      const auto scenario = config::load_scenario(kFolder / (name + size + ".toml"));
      ASSERT_TRUE(scenario) << name;
      const auto& threads = scenario->params.threads;
      const double middle = 3.4 * threads[0].diameter_mm;
      const int low = hand(threads[0].points, threads[1].points, -1e9, middle);
      const int high = hand(threads[0].points, threads[1].points, middle, 1e9);
      EXPECT_EQ(std::abs(low), 3) << name;
      EXPECT_EQ(std::abs(high), 3) << name;
      EXPECT_EQ(low == high, name == "granny" || name == "grief") << name << size;
    }
}

}  // namespace
}  // namespace ligature
