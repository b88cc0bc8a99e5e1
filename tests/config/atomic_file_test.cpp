#include "config/atomic_file.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "tests/config/temp_dir.hpp"

namespace ligature::config {
namespace {

namespace fs = std::filesystem;
using test::slurp;
using test::TempDir;

std::size_t entries(const fs::path& dir) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(dir), fs::directory_iterator()));
}

TEST(AtomicFile, WritesReplacesAndLeavesNothingBehind) {
  const TempDir dir;
  ASSERT_TRUE(write_file_atomically(dir / "a", "one"));
  EXPECT_EQ(slurp(dir / "a"), "one");
  ASSERT_TRUE(write_file_atomically(dir / "a", ""));
  EXPECT_EQ(slurp(dir / "a"), "");
  const std::string large(3'000'000, 'x');
  ASSERT_TRUE(write_file_atomically(dir / "a", large));
  EXPECT_EQ(slurp(dir / "a"), large);
  EXPECT_EQ(entries(dir.path()), 1u);
}

TEST(AtomicFile, KeepsTheModeAndTheLink) {
  const TempDir dir;
  dir.write("real", "old");
  ::chmod((dir / "real").c_str(), 0600);
  fs::create_symlink("real", dir / "link");
  ASSERT_TRUE(write_file_atomically(dir / "link", "new"));
  EXPECT_TRUE(fs::is_symlink(dir / "link"));
  EXPECT_EQ(slurp(dir / "real"), "new");
  EXPECT_EQ(fs::status(dir / "real").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(AtomicFile, FailuresSayWhyAndChangeNothing) {
  const TempDir dir;
  const auto missing = write_file_atomically(dir / "no/such/a", "x");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("create its folder first"), std::string::npos) << missing.error().message;
  const auto folder = write_file_atomically(dir.path(), "x");
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().message.find("name a file, not a folder"), std::string::npos) << folder.error().message;
}

/// A disk that is full, as far as the process can tell: the limit on a file's size makes write() fail half-way.
TEST(AtomicFile, AFullDiskLeavesTheOldFile) {
  const TempDir dir;
  ASSERT_TRUE(write_file_atomically(dir / "a", "old"));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto result = write_file_atomically(dir / "a", std::string(5000, 'n'));
    const bool said = !result && result.error().message.find("free some space") != std::string::npos;
    ::_exit(said ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(slurp(dir / "a"), "old");
  EXPECT_EQ(entries(dir.path()), 1u) << "the half-written file is gone";
}

/// Kills a writer at odd moments: what can be read is always one of the whole contents.
TEST(AtomicFile, AKilledWriterLeavesOldOrNew) {
  const TempDir dir;
  const std::string a(200'000, 'a'), b(300'000, 'b');
  ASSERT_TRUE(write_file_atomically(dir / "f", a));
  int whole = 0, leftovers = 0;
  for (int round = 0; round < 40; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      while (true) {
        if (!write_file_atomically(dir / "f", b) || !write_file_atomically(dir / "f", a)) ::_exit(1);
      }
    }
    ::usleep(static_cast<useconds_t>(500 + 337 * round));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer failed before it was killed";
    const std::string now = slurp(dir / "f");
    whole += now == a || now == b;
    leftovers += fs::exists(dir / ".f.new");
    ASSERT_LE(entries(dir.path()), 2u) << "at most one leftover, which the next writer reuses";
  }
  EXPECT_EQ(whole, 40);
  ASSERT_TRUE(write_file_atomically(dir / "f", "end"));
  EXPECT_EQ(slurp(dir / "f"), "end");
  EXPECT_EQ(entries(dir.path()), 1u);
  RecordProperty("killed_in_mid_write", leftovers);
}

TEST(AtomicFile, TwoWritersTakeTurns) {
  const TempDir dir;
  const std::string a(50'000, 'a'), b(70'000, 'b');
  std::vector<std::thread> writers;
  std::vector<int> failures(2);
  for (int w = 0; w < 2; ++w)
    writers.emplace_back([&, w] {
      for (int i = 0; i < 50; ++i)
        if (!write_file_atomically(dir / "f", w == 0 ? a : b)) ++failures[static_cast<std::size_t>(w)];
    });
  int torn = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string now = slurp(dir / "f");
    torn += !(now.empty() || now == a || now == b);
  }
  for (auto& w : writers) w.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(failures, (std::vector<int>{0, 0}));
  EXPECT_EQ(entries(dir.path()), 1u);
}

}  // namespace
}  // namespace ligature::config
