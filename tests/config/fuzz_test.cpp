/// Shipped files with bytes changed at random: a loader answers a value or one line, and never falls over.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "config/csv_file.hpp"
#include "config/profile_file.hpp"
#include "config/rig_file.hpp"
#include "config/scenario_file.hpp"
#include "sim/base/random.hpp"
#include "tests/config/temp_dir.hpp"

namespace ligature::config {
namespace {

using test::kSourceDir;
using test::slurp;

/// LIGATURE_FUZZ_CASES=100000 looks longer.
int cases_per_file() {
  const char* wanted = std::getenv("LIGATURE_FUZZ_CASES");
  return wanted ? std::max(100, std::atoi(wanted)) : 1500;
}

std::size_t below(Random& random, std::size_t n) {
  return static_cast<std::size_t>(random.next() % n);
}

/// One to four edits of the kinds that hands, disks and editors make.
std::string mutate(std::string text, Random& random) {
  static const std::vector<std::string> tokens{"nan", "inf", "-", "1e308", "\"", "[",    "]",  "[[", "]]",    "=",  "{",
                                               "}",   "'''", "#", "\n",    ",",  "true", "0x", ".",  "1e400", "\\u"};
  for (std::size_t edits = 1 + below(random, 4); edits > 0 && !text.empty(); --edits) {
    const std::size_t at = below(random, text.size());
    switch (below(random, 6)) {
      case 0:
        text[at] = static_cast<char>(random.next() & 0xff);
        break;
      case 1:
        text.erase(at, 1 + below(random, 40));
        break;
      case 2:
        text.insert(at, tokens[below(random, tokens.size())]);
        break;
      case 3:
        text.insert(at, text.substr(below(random, text.size()), 1 + below(random, 80)));
        break;
      case 4:
        text.resize(at);
        break;
      default: {  // a number becomes another one
        const auto digit = text.find_first_of("0123456789", at);
        if (digit != std::string::npos)
          text.replace(digit, 1, tokens[below(random, 5)] + std::to_string(below(random, 1000)));
      }
    }
  }
  return text;
}

template <class Parse>
void fuzz(const std::filesystem::path& file, std::uint64_t seed, const Parse& parse) {
  const std::string good = slurp(file);
  ASSERT_FALSE(good.empty()) << file;
  Random random(seed);
  int refused = 0;
  const int cases = cases_per_file();
  const std::string start = file.string() + ":";
  for (int i = 0; i < cases; ++i) {
    const std::string text = mutate(good, random);
    const auto result = parse(text, file);
    if (result) continue;
    ++refused;
    const std::string& line = result.error().message;
    ASSERT_EQ(line.substr(0, start.size()), start) << "case " << i;
    ASSERT_TRUE(std::isdigit(static_cast<unsigned char>(line[start.size()]))) << line;
    ASSERT_NE(line[start.size()], '0') << line;
    ASSERT_EQ(line.find('\n'), std::string::npos) << line;
    ASSERT_NE(line.find(", must be "), std::string::npos) << line;
    ASSERT_LT(line.size(), 1200u);
    ASSERT_EQ(result.error().kind, Error::Kind::usage);
  }
  EXPECT_GT(refused, cases / 4) << "the mutations bite";
  EXPECT_LT(refused, cases) << "and some do not";
}

TEST(Fuzz, RigFiles) {
  for (const char* name : {"standard", "demo"})
    fuzz(kSourceDir / "config/rigs" / (std::string(name) + ".toml"), 11, parse_rig);
}

TEST(Fuzz, ScenarioFiles) {
  fuzz(kSourceDir / "config/scenarios/bench_grasp.toml", 12,
       [](const std::string& text, const std::filesystem::path& file) { return parse_scenario(text, file); });
}

TEST(Fuzz, ProfileFiles) {
  for (const char* name : {"virtual", "appliance"})
    fuzz(kSourceDir / "config/profiles" / (std::string(name) + ".toml"), 13, parse_profile);
}

TEST(Fuzz, PointFiles) {
  const test::TempDir dir;
  std::string good;
  for (int i = 0; i < 40; ++i) good += std::to_string(i) + "," + std::to_string(0.5 * i) + ",-1e-3\n";
  const auto file = dir.write("points.csv", good);
  fuzz(file, 14, [&](const std::string& text, const std::filesystem::path&) {
    dir.write("points.csv", text);
    return load_points(file);
  });
}

}  // namespace
}  // namespace ligature::config
