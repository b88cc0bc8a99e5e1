/// kill -9 at any moment of a commit: the old configuration or the new one, whole.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <random>

#include "config/store/store.hpp"
#include "tests/shell/bench.hpp"

namespace ligature::store {
namespace {

using shell::test::shipped;

std::string marked(const std::string& text, const std::string& key, int number) {
  auto tree = Tree::parse(text, "text");
  const Path path =
      key == "title" ? Path{{"title", std::nullopt}} : Path{{"rig", std::nullopt}, {"created", std::nullopt}};
  (void)tree->set(path, toml_string("number " + std::to_string(number)));
  return tree->text({});
}

/// Commits for ever; profile and rig carry the same number.
[[noreturn]] void commit_for_ever(const std::filesystem::path& folder, int from) {
  const Clock clock;
  auto store = Store::open(folder, clock);
  if (!store) _exit(3);
  for (int i = from;; ++i) {
    const Texts& now = (*store)->running();
    if (!(*store)->prepare({marked(now.profile, "title", i), marked(now.rig, "created", i)}, "child")) _exit(4);
    if (!(*store)->commit("child", std::to_string(i), i % 3 == 0 ? 1 : 0)) _exit(5);
  }
}

TEST(StoreKill, AProcessKilledWhileItCommitsLeavesAWholeConfiguration) {
  int rounds = 60;
  if (const char* text = std::getenv("LIGATURE_KILL_ROUNDS")) rounds = std::atoi(text);
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  config::test::TempDir folder;  // a real disk where there is one
  const Clock clock;
  {
    auto store = Store::open(folder.path(), clock);
    ASSERT_TRUE(store);
    ASSERT_TRUE((*store)->create(shipped(), "system", "first"));
  }
  int number = 1, moved = 0;
  for (int round = 0; round < rounds; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) commit_for_ever(folder.path(), number);
    ::usleep(static_cast<useconds_t>(std::uniform_int_distribution<int>(2000, 60000)(random)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << WEXITSTATUS(status);

    auto store = Store::open(folder.path(), clock);
    ASSERT_TRUE(store) << store.error().message;
    const Judgement judgement = judge((*store)->running(), folder.path() / "running");
    ASSERT_TRUE(judgement.good()) << judgement.problems.front().message;
    if ((*store)->running_commit().number == 1) continue;
    ASSERT_EQ(judgement.profile->title, judgement.rig->created) << "profile and rig of one commit";
    const auto from_disk = config::load_profile(folder / "running/profile.toml");
    ASSERT_TRUE(from_disk) << from_disk.error().message;
    EXPECT_EQ(from_disk->title, judgement.profile->title);
    const int now = std::atoi(judgement.profile->title.c_str() + 7);
    EXPECT_EQ(std::to_string(now), (*store)->running_commit().comment);
    EXPECT_GE(now, number - 1) << "what was committed before the kill is there";
    if ((*store)->pending()) {
      EXPECT_EQ((*store)->pending()->commit, (*store)->running_commit().number);
      EXPECT_EQ(now % 3, 0);
    }
    if (now >= number) ++moved;
    number = now + 1;
  }
  EXPECT_GT(moved, rounds / 10) << "the child was killed before it did anything";
}

}  // namespace
}  // namespace ligature::store
