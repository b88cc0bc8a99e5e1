/// A minute of scenario files made at random and spoilt: the parser answers a scene or one line, and never falls over.
///
/// LIGATURE_FUZZ_SECONDS  how long to look (60)
/// LIGATURE_FUZZ_SEED     first seed; a failure names the seed of its case, which repeats it as the first one
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>

#include "config/scenario_file.hpp"
#include "sim/world/world.hpp"
#include "tests/config/scenario_grammar.hpp"
#include "tests/config/temp_dir.hpp"

namespace ligature::config {
namespace {

using test::below;
using test::Promise;
using test::ScenarioText;

constexpr unsigned kLongestCaseS = 100;     // then it hangs
constexpr std::size_t kLargestWorld = 300;  // vertices, of those that are built
constexpr int kMostIterations = 3;

double seconds() {
  const char* wanted = std::getenv("LIGATURE_FUZZ_SECONDS");
  return wanted ? std::strtod(wanted, nullptr) : 60.0;
}

std::uint64_t first_seed() {
  if (const char* wanted = std::getenv("LIGATURE_FUZZ_SEED")) return std::strtoull(wanted, nullptr, 10);
  return std::random_device{}();
}

/// Says which case it was when the process dies or hangs; only calls what a signal handler may.
volatile std::uint64_t g_seed = 0;
extern "C" void name_the_case(int signal) {
  char text[] = "scenario_fuzz: signal 00 in the case of LIGATURE_FUZZ_SEED=00000000000000000000\n";
  constexpr std::size_t number = 22, last = sizeof text - 3;
  text[number] = static_cast<char>('0' + signal / 10 % 10);
  text[number + 1] = static_cast<char>('0' + signal % 10);
  std::uint64_t seed = g_seed;
  for (std::size_t i = 0; i < 20; ++i, seed /= 10) text[last - i] = static_cast<char>('0' + seed % 10);
  if (::write(STDERR_FILENO, text, sizeof text - 1) < 0) ::_exit(3);
  ::_exit(2);
}

/// The one line of a refusal; its number, or 0 when it is none.
int line_of(const Error& error, const std::string& file) {
  const std::string& m = error.message;
  const std::string start = file + ":";
  if (error.kind != Error::Kind::usage || m.rfind(start, 0) != 0 || m.size() > 1100) return 0;
  for (const char c : m)
    if (static_cast<unsigned char>(c) < 0x20) return 0;
  if (m.find(", must be ") == std::string::npos || m.find(": ", start.size()) == std::string::npos) return 0;
  return std::atoi(m.c_str() + start.size());
}

struct Counts {
  std::uint64_t cases = 0, good = 0, spoilt = 0, accepted = 0, disturbed = 0, worlds = 0;
};

/// What was accepted is finite and within its bounds, and the physics takes it, or says why not, and takes a step.
void try_world(Scenario s, Counts& counts) {
  ASSERT_TRUE(std::isfinite(s.duration_s) && s.duration_s > 0);
  ASSERT_TRUE(std::isfinite(s.output_every_s) && s.output_every_s > 0);
  ASSERT_TRUE(!s.params.threads.empty());
  double vertices = 0;
  for (const world::ThreadParams& t : s.params.threads) {
    double length = t.closed ? norm(t.points.front() - t.points.back()) : 0;
    for (std::size_t i = 1; i < t.points.size(); ++i) length += norm(t.points[i] - t.points[i - 1]);
    ASSERT_TRUE(std::isfinite(length) && length > 0 && t.segment_mm > 0);
    ASSERT_TRUE(std::isfinite(t.material.stretch_stiffness) && t.material.stretch_stiffness > 0);
    ASSERT_TRUE(t.material.bend_stiffness >= 0 && t.material.twist_stiffness >= 0 && t.material.drag >= 0);
    vertices += length / t.segment_mm + 1;
  }
  if (vertices > kLargestWorld) return;
  s.capacity.vertices = 2 * kLargestWorld;
  s.capacity.contacts = std::min<std::size_t>(s.capacity.contacts, 256);
  s.params.forceps_present = !s.forceps.empty();
  s.params.solver.iterations = std::min(s.params.solver.iterations, kMostIterations);
  s.params.solver.contact_iterations = std::min(s.params.solver.contact_iterations, kMostIterations);
  auto world = world::World::create(s.params, s.capacity);
  if (world) {
    ++counts.worlds;
    world->step(InstrumentSample{});
    for (std::size_t k = 0; k < world->thread_count(); ++k)
      for (const Vec3& x : world->shape(k).x) ASSERT_TRUE(std::isfinite(x.x + x.y + x.z));
    return;
  }
  ASSERT_FALSE(world.error().message.empty());
  ASSERT_EQ(world.error().message.find('\n'), std::string::npos);
}

void one_case(std::uint64_t seed, const std::filesystem::path& file, Counts& counts) {
  Random random(seed);
  ScenarioText text = test::good_scenario(random);
  const std::size_t kind = below(random, 8);
  Promise promise;
  if (kind == 1 || kind == 2) promise = test::spoil(text, random);
  if (kind >= 3)
    for (std::size_t edits = (kind < 6 ? 1 : 0) + below(random, 4); edits > 0; --edits) test::disturb(text, random);
  std::string bytes = text.print();
  if (kind >= 6)
    for (std::size_t edits = 1 + below(random, 3); edits > 0; --edits) bytes = test::scramble(bytes, random);

  SCOPED_TRACE("LIGATURE_FUZZ_SEED=" + std::to_string(seed));
  const auto result = parse_scenario(bytes, file);
  ++counts.cases;
  if (kind == 0) ++counts.good;
  if (promise.refused) ++counts.spoilt;
  if (kind >= 3) ++counts.disturbed;
  if (!result) {
    const std::string& message = result.error().message;
    ASSERT_NE(kind, 0u) << "a good scene is refused: " << message << "\n" << bytes;
    const int line = line_of(result.error(), file.string());
    ASSERT_GT(line, 0) << message << "\n" << bytes;
    ASSERT_EQ(line, promise.line.value_or(line)) << message << "\n" << bytes;
    return;
  }
  if (kind >= 3) ++counts.accepted;
  ASSERT_FALSE(promise.refused) << "this must be refused:\n" << bytes;
  try_world(*result, counts);
  if (testing::Test::HasFatalFailure()) FAIL() << bytes;
}

TEST(ScenarioFuzz, EveryFileEndsInASceneOrInOneLine) {
  const test::TempDir dir;
  dir.write("points.csv", "0,0,5\n4,0,5\n10,0,5\n");
  dir.write("path.csv", "t_s,x_mm,y_mm,z_mm,qx,qy,qz,qw,opening_deg\n0,0,0,50,0,0,0,1,5\n1,0,0,60,0,0,0,1,5\n");
  dir.write("aims.csv", "0.5,0.5,0,first,0.2,1,2,3,1,1,1\n");
  dir.write("block.obj",
            "v 0 0 -5\nv 3 0 -5\nv 0 3 -5\nv 0 0 -2\n"  // a corner of a cube
            "f 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n");
  for (const int signal : {SIGALRM, SIGSEGV, SIGABRT, SIGFPE, SIGBUS}) ::signal(signal, name_the_case);
  const std::uint64_t first = first_seed();
  std::cout << "first seed " << first << std::endl;
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds());
  Counts counts;
  do {
    g_seed = first + counts.cases;
    ::alarm(kLongestCaseS);
    ASSERT_NO_FATAL_FAILURE(one_case(g_seed, dir / "f.toml", counts));
  } while (std::chrono::steady_clock::now() < until);
  ::alarm(0);
  std::cout << counts.cases << " files: " << counts.good << " good, " << counts.spoilt << " spoilt, "
            << counts.disturbed << " disturbed of which " << counts.accepted << " accepted; " << counts.worlds
            << " worlds took a step" << std::endl;
  if (counts.disturbed < 1000) return;
  EXPECT_GT(counts.accepted, counts.disturbed / 40) << "some changes leave a good file";
  EXPECT_LT(counts.accepted, counts.disturbed / 2) << "and most do not";
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(dir.path())) ++files;
  EXPECT_EQ(files, 4u) << "reading writes nothing";
}

}  // namespace
}  // namespace ligature::config
