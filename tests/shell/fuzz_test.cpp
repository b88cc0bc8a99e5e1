/// Lines at random, spoilt and malicious; clients that storm the door: no crash, no leak, no half configuration,
/// nothing done above one's role. The check draws its seed, which a failure names and LIGATURE_FUZZ_SEED repeats; the
/// soak has seeds of its own, each a test (docs/soak.md). LIGATURE_FUZZ_LINES looks longer.
#include <gtest/gtest.h>
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstdlib>
#include <random>

#include "tests/shell/storm.hpp"

namespace ligature::shell {
namespace {

using nlohmann::json;
using test::Bench;
using test::Lines;
using test::Service;
using test::Wire;

/// The seed of a test: its parameter, 0 = drawn.
class ShellFuzz : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  static std::uint64_t seed() {
    if (GetParam() != 0) return GetParam();
    if (const char* text = std::getenv("LIGATURE_FUZZ_SEED")) return std::strtoull(text, nullptr, 10);
    return std::random_device{}();
  }
};
INSTANTIATE_TEST_SUITE_P(Seed, ShellFuzz, ::testing::Range<std::uint64_t>(LIGATURE_FUZZ_FIRST, LIGATURE_FUZZ_LAST + 1),
                         [](const auto& test) { return std::to_string(test.param); });

int line_count() {
  if (const char* text = std::getenv("LIGATURE_FUZZ_LINES")) return std::atoi(text);
  return LIGATURE_FUZZ_LINES;
}

void expect_whole(const store::Store& store) {
  const auto judgement = store::judge(store.running(), store.folder() / "running");
  ASSERT_TRUE(judgement.good()) << judgement.problems.front().message;
}

/// What this process holds: of the heap exactly, of the rest as the kernel counts it.
struct Held {
  static Held now() {
    Held h;
    std::ifstream in("/proc/self/statm");
    std::size_t total = 0, resident = 0;
    in >> total >> resident;
    h.resident_kb = resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / 1024;
    const auto heap = ::mallinfo2();
    h.heap_kb = (heap.uordblks + heap.hblkhd) / 1024;
    for (const char* folder : {"/proc/self/fd", "/proc/self/task"})
      for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder))
        ++(folder[11] == 'f' ? h.descriptors : h.threads);
    return h;
  }
  /// As soon as nothing closes any more: the server notices a little later that somebody left.
  static Held settled() {
    Held last = now();
    for (int same = 0, i = 0; same < 5 && i < 100; ++i) {
      ::usleep(50000);
      const Held next = now();
      same = next.descriptors == last.descriptors && next.threads == last.threads ? same + 1 : 0;
      last = next;
    }
    return last;
  }
  /// What stays when everybody left: nothing open, and no more of the heap than caches of bounded size.
  void expect_as(const Held& before, std::size_t more_kb, const char* when) const {
    std::printf("%s: resident %zu -> %zu kB, heap in use %zu -> %zu kB, descriptors %d -> %d, threads %d -> %d\n", when,
                before.resident_kb, resident_kb, before.heap_kb, heap_kb, before.descriptors, descriptors,
                before.threads, threads);
    EXPECT_EQ(descriptors, before.descriptors) << when;
    EXPECT_EQ(threads, before.threads) << when;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they keep what was freed, and look for leaks
    EXPECT_LE(heap_kb, before.heap_kb + more_kb) << when << ": the heap grew";
    EXPECT_LE(resident_kb, before.resident_kb + more_kb + 16384) << when << ": memory grew";
#else
    (void)more_kb;
#endif
  }
  std::size_t resident_kb = 0, heap_kb = 0;
  int descriptors = 0, threads = 0;
};

TEST_P(ShellFuzz, NoLineCrashesLeaksOrDoesWhatItsUserMayNot) {
  const std::uint64_t s = seed();
  SCOPED_TRACE("LIGATURE_FUZZ_SEED=" + std::to_string(s));
  Lines lines(s);
  Limits limits = Bench::generous();
  limits.audit_bytes = 1 << 20;
  Bench bench(limits);
  std::map<std::string, std::unique_ptr<Session>> in;
  for (const char* user : {"vera", "tom", "ada"}) in[user] = bench.login(user);
  const int count = line_count();
  std::optional<Held> warm;  // when history, jobs and caches have what they may have
  int answered_ok = 0, commits = 0;
  for (int i = 0; i < count; ++i) {
    const std::string user = lines.any(std::array{"vera", "tom", "ada"});
    if (lines.below(200) == 0) in[user] = nullptr, in[user] = bench.login(user);
    const std::string line = lines.any_line();
    SCOPED_TRACE(user + ": " + json(line).dump(-1, ' ', true, json::error_handler_t::replace));
    const store::Texts running = bench.store->running(), candidate = bench.store->candidate().texts;
    const int number = bench.store->running_commit().number;
    const Answer a = in[user]->run(line);
    ASSERT_FALSE(json::parse(a.json, nullptr, false).is_discarded());
    if (a.live) (void)a.live();
    answered_ok += a.status == Answer::Status::ok ? 1 : 0;
    if (user == "vera") {
      ASSERT_EQ(bench.store->running_commit().number, number);
      ASSERT_EQ(bench.store->candidate().texts, candidate);
    }
    if (bench.store->running_commit().number != number) {
      ++commits;
      expect_whole(*bench.store);
      if (HasFatalFailure()) return;
    } else {
      ASSERT_EQ(bench.store->running(), running);
    }
    if (user == "tom" && bench.store->running_commit().number != number) {
      const auto profile = config::parse_profile(bench.store->running().profile, bench.path() / "running/profile.toml");
      ASSERT_TRUE(profile->memory.lock ==
                  config::parse_profile(running.profile, bench.path() / "running/profile.toml")->memory.lock);
    }
    (void)in[user]->suggest(line.substr(0, lines.below(line.size() + 1)));
    (void)in[user]->prompt();
    if (a.leave) in[user] = nullptr, in[user] = bench.login(user);
    if (lines.below(50) == 0) bench.clock.pass(static_cast<std::int64_t>(lines.below(100)));
    if (lines.below(20) == 0) bench.shell->tick();
    (void)bench.shell->take_notices();
    if (lines.below(3000) == 0) {  // the process ends and another begins
      in.clear();
      bench.restart();
      expect_whole(*bench.store);
      for (const char* name : {"vera", "tom", "ada"}) in[name] = bench.login(name);
    }
    if (i == count / 2) {
      in.clear();
      bench.restart();
      warm = Held::now();
      for (const char* name : {"vera", "tom", "ada"}) in[name] = bench.login(name);
    }
  }
  EXPECT_GT(answered_ok, count / 10) << "the lines were all nonsense";
  EXPECT_GT(commits, count / 2000) << "hardly anything was committed";
  in.clear();
  bench.restart();
  Held::now().expect_as(*warm, 256, "from half of the lines to their end");
  std::printf("%d lines, %d ok, %d commits, seed %llu\n", count, answered_ok, commits,
              static_cast<unsigned long long>(s));
}

TEST_P(ShellFuzz, TwoHundredClientsThatMisbehaveLeaveTheServerWell) {
  const std::uint64_t s = seed();
  SCOPED_TRACE("LIGATURE_FUZZ_SEED=" + std::to_string(s));
  Limits limits = Bench::generous();
  limits.sessions = 100;  // half of them find no place
  limits.sessions_per_user = 90;
  limits.write_s = 1;
  Bench bench(limits);
  {
    Service service(bench);
    const auto well = [&] {  // those dropped by their own time limits give way
      for (int i = 0; i < 300; ++i, ::usleep(100000)) {
        Wire wire = service.login();
        const json sessions = wire.connected() ? wire.run("show sessions") : json();
        if (sessions.is_object() && sessions["status"] == "ok" && sessions["data"].size() == 1) return true;
      }
      return false;
    };
    const int rounds = line_count() / 500;
    test::storm(service.socket(), s, 200, [&](int i) { return i < std::max(1, rounds / 4); });
    EXPECT_TRUE(well());
    const Held before = Held::settled();
    test::storm(service.socket(), s + 1000, 200, [&](int i) { return i < rounds; });
    EXPECT_TRUE(well());
    Held::settled().expect_as(before, 1024, "over a storm four times the first");
  }
  expect_whole(*bench.store);
  EXPECT_GT(bench.store->running_commit().number, 1) << "nobody got in";
}

TEST_P(ShellFuzz, AServerKilledInAStormLeavesAWholeConfiguration) {
  const std::uint64_t s = seed();
  SCOPED_TRACE("LIGATURE_FUZZ_SEED=" + std::to_string(s));
  Lines lines(s);
  test::TempDir folder;
  const store::Clock clock;
  {
    auto store = store::Store::open(folder.path(), clock);
    ASSERT_TRUE(store);
    ASSERT_TRUE((*store)->create(test::shipped(), "system", "first"));
  }
  const int rounds = std::max(3, line_count() / 3000);
  int last = 1;
  for (int round = 0; round < rounds; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto store = store::Store::open(folder.path(), clock);
      if (!store) ::_exit(3);
      test::FakeMachine machine;
      test::FakeRoles roles;
      ShellSettings settings;
      settings.limits = Bench::generous();
      Shell shell(Shell::Parts{**store,
                               machine,
                               roles,
                               clock,
                               settings,
                               folder.path(),
                               "/bin/echo",
                               [](const std::string& name) -> Result<std::filesystem::path> {
                                 return config::test::kSourceDir / "config/profiles" / (name + ".toml");
                               },
                               {"demo", "virtual"},
                               "rig"});
      auto server = Server::create(shell, folder / "s", [](int) -> Result<Peer> { return test::peer("ada"); });
      if (!server) ::_exit(4);
      (*server)->run();
      ::_exit(5);
    }
    for (int i = 0; i < 500; ++i) {
      if (Wire probe(folder / "s"); probe.connected()) break;
      ::usleep(10000);
    }
    // At any moment after the first commit, however slow the machine.
    std::atomic<bool> committed{false};
    const auto delay_us = static_cast<useconds_t>(lines.below(300000));
    std::thread killer([&] {
      for (int i = 0; i < 1000 && !committed; ++i) ::usleep(10000);
      ::usleep(delay_us);
      ::kill(child, SIGKILL);
    });
    for (int i = 0; i < 3; ++i) {
      Wire wire(folder / "s");
      for (int k = 0; wire.connected() && k < 1000; ++k)
        if (!wire.send("run set profile title \"" + std::to_string(k) + "\"\nrun commit\n", 1000) ||
            !wire.frame_of("answer").is_object() || !wire.frame_of("answer").is_object())
          break;
        else
          committed = true;
    }
    killer.join();
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    auto store = store::Store::open(folder.path(), clock);
    ASSERT_TRUE(store) << store.error().message;
    expect_whole(**store);
    EXPECT_GE((*store)->running_commit().number, last);
    last = (*store)->running_commit().number;
  }
  EXPECT_GT(last, rounds) << "hardly anything was committed";
}

}  // namespace
}  // namespace ligature::shell
