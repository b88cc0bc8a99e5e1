/// Files of points as nobody would write them: an answer or exit 2, never a crash, a hang or a wrong name.
/// LIGATURE_KNOT_FILES (soak) says how many, LIGATURE_KNOT_SEED with which numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "appliance/knot/homfly_library.hpp"
#include "appliance/knot/identify.hpp"
#include "config/csv_file.hpp"
#include "sim/base/random.hpp"
#include "sim/knot/curves.hpp"

namespace ligature::knot {
namespace {

namespace fs = std::filesystem;

std::uint64_t number(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// One of many kinds of curve, most of them degenerate in some way.
Curve any_curve(Random& random) {
  const std::size_t n = random.next() % 5 == 0 ? random.next() % 4 : 2 + random.next() % 40;
  const auto normal = [&random] {
    const double x = random.normal(), y = random.normal(), z = random.normal();
    return Vec3{x, y, z};
  };
  Curve out;
  const std::uint64_t kind = random.next() % 10;
  Vec3 walk{};
  const Vec3 way = normal();
  for (std::size_t i = 0; i < n; ++i) {
    const double t = static_cast<double>(i);
    switch (kind) {
      case 0:  // random
      case 1:
        out.push_back(normal());
        break;
      case 2:  // a walk
        walk = walk + normal();
        out.push_back(walk);
        break;
      case 3:  // on a small grid: coincidences everywhere
        out.push_back({static_cast<double>(random.next() % 4), static_cast<double>(random.next() % 4),
                       static_cast<double>(random.next() % 4)});
        break;
      case 4:  // straight
        out.push_back(t * way);
        break;
      case 5:  // to and fro on a line
        out.push_back(random.normal() * way);
        break;
      case 6:  // flat
        out.push_back({random.normal(), random.normal(), 0});
        break;
      case 7:  // a torus knot, its points repeated
        for (std::uint64_t k = random.next() % 3; k < 3; ++k)
          out.push_back(
              {(2 + std::cos(3 * t)) * std::cos(2 * t), (2 + std::cos(3 * t)) * std::sin(2 * t), std::sin(3 * t)});
        break;
      case 8:  // a helix
        out.push_back({std::cos(t), std::sin(t), 0.1 * t});
        break;
      default:  // along the axes, one step at a time
        (random.next() % 3 == 0 ? walk.x : random.next() % 2 == 0 ? walk.y : walk.z) += random.next() % 2 == 0 ? 1 : -1;
        out.push_back(walk);
    }
  }
  const double scale = std::pow(10.0, random.uniform(-12, 5));
  if (random.next() % 2 == 0)
    for (Vec3& p : out) p = scale * p;
  if (random.next() % 8 == 0 && !out.empty()) out.push_back(out.front());
  if (random.next() % 8 == 0) out.insert(out.end(), out.begin(), out.end());
  return out;
}

std::string text_of(const Curve& curve, Random& random) {
  std::string out;
  for (const Vec3 p : curve) {
    char line[128];
    std::snprintf(line, sizeof line, random.next() % 4 == 0 ? "%g, %g ,%g\r\n" : "%.17g,%.17g,%.17g\n", p.x, p.y, p.z);
    out += line;
  }
  return out;
}

/// Broken in one place.
std::string spoiled(std::string text, Random& random) {
  if (text.empty()) return text;
  const std::size_t at = random.next() % text.size();
  switch (random.next() % 6) {
    case 0:
      text.resize(at);
      break;
    case 1:
      text[at] = static_cast<char>(random.next());
      break;
    case 2:
      text.insert(at, "nan");
      break;
    case 3:
      text.insert(at, "1e999,");
      break;
    case 4:
      text.erase(at, 1 + random.next() % 5);
      break;
    default:
      text.insert(at, ",,\n");
  }
  return text;
}

TEST(KnotFuzz, AnyFilesAreAnsweredOrRefused) {
  const auto source = homfly_library();
  const std::uint64_t files = number("LIGATURE_KNOT_FILES", 300), seed = number("LIGATURE_KNOT_SEED", 1);
  const fs::path folder = fs::path(testing::TempDir()) / ("knot_fuzz_" + std::to_string(seed));
  fs::create_directories(folder);
  std::size_t answered = 0, refused = 0, unreadable = 0;
  for (std::uint64_t round = 0; round < files; ++round) {
    Random random(seed * 7919 + round);
    Question question;
    question.closed = random.next() % 2 == 0;
    bool readable = true;
    const std::size_t count = random.next() % 4 == 0 ? 2 + random.next() % 2 : 1;
    for (std::size_t k = 0; k < count; ++k) {
      std::string text = text_of(any_curve(random), random);
      if (random.next() % 4 == 0) text = spoiled(text, random);
      const fs::path file = folder / "points.csv";
      std::ofstream(file, std::ios::binary) << text;
      auto points = config::load_points(file);
      if (!points) {
        EXPECT_EQ(points.error().kind, Error::Kind::usage);
        readable = false;
        break;
      }
      question.curves.push_back(std::move(*points));
    }
    if (!readable) {
      ++unreadable;
      continue;
    }
    const auto found = identify(question, *source);
    if (!found) {
      ++refused;
      EXPECT_FALSE(found.error().message.empty());
      continue;
    }
    ++answered;
    if (!question.closed) continue;
    // A loop's name is no matter of how it lies: with its axes exchanged it is the same, mirrored it is the mirror's.
    Question other = question;
    for (auto& curve : other.curves)
      for (Vec3& p : curve) p = {p.y, p.z, p.x};
    const auto again = identify(other, *source);
    ASSERT_TRUE(again) << "seed " << seed << ", round " << round << ": " << again.error().message;
    if (found->answer.name != "unknown" && again->answer.name != "unknown") {
      EXPECT_EQ(again->answer.name, found->answer.name) << "seed " << seed << ", round " << round;
    }
    EXPECT_EQ(again->answer.linking, found->answer.linking) << "seed " << seed << ", round " << round;
  }
  std::printf("%zu answered, %zu refused as curves, %zu as files\n", answered, refused, unreadable);
  EXPECT_GT(answered, files / 4);
  EXPECT_GT(unreadable, files / 20);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace ligature::knot
