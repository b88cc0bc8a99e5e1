/// Lines at random, spoilt and malicious; clients that storm the door: no crash, no half configuration, nothing done
/// above one's role. A failure names its seed; LIGATURE_FUZZ_SEED repeats it, LIGATURE_FUZZ_LINES looks longer.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstdlib>
#include <random>

#include "tests/shell/wire.hpp"

namespace ligature::shell {
namespace {

using nlohmann::json;
using test::Bench;
using test::Service;
using test::Wire;

std::uint64_t seed() {
  if (const char* text = std::getenv("LIGATURE_FUZZ_SEED")) return std::strtoull(text, nullptr, 10);
  return std::random_device{}();
}
int line_count() {
  if (const char* text = std::getenv("LIGATURE_FUZZ_LINES")) return std::atoi(text);
  return LIGATURE_FUZZ_LINES;
}

class Lines {
 public:
  explicit Lines(std::uint64_t s) : random_(s) {}
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  template <class List>
  std::string any(const List& list) {
    return std::string(*(std::begin(list) + static_cast<std::ptrdiff_t>(below(std::size(list)))));
  }

  /// A command as the grammar has it, with words for its arguments.
  std::string good() {
    std::string line;
    const Rule& rule = rules()[below(rules().size())];
    std::string_view left = rule.pattern;
    while (!left.empty()) {
      const auto end = std::min(left.find(' '), left.size());
      std::string word(left.substr(0, end));
      left.remove_prefix(std::min(end + 1, left.size()));
      if (word == "<path>")
        word = any(kPaths);
      else if (word == "<value>")
        word = any(kValues);
      else if (word.front() == '<')
        word = any(kWords);
      else if (below(3) == 0)
        word = word.substr(0, 1 + below(word.size()));
      line += (line.empty() ? "" : " ") + word;
    }
    return line;
  }
  std::string any_line() {
    std::string line = good();
    switch (below(12)) {
      case 0:  // noise
        line.resize(below(300));
        for (char& c : line) c = static_cast<char>(below(256));
        break;
      case 1:  // longer than allowed
        line += std::string(4000 + below(3000), below(2) == 0 ? 'x' : ' ');
        break;
      case 2:  // deep
        line = "set profile title " + std::string(below(4000), below(2) == 0 ? '[' : '{');
        break;
      case 3:
      case 4:
      case 5: {
        const std::string other = good();
        line = line.substr(0, below(line.size() + 1)) + other.substr(below(other.size() + 1));
        break;
      }
      case 6:
      case 7:
        for (std::size_t n = 1 + below(4); n > 0 && !line.empty(); --n) {
          const std::size_t at = below(line.size());
          switch (below(4)) {
            case 0:
              line[at] = static_cast<char>(line[at] ^ (1 << below(8)));
              break;
            case 1:
              line.erase(at, 1 + below(3));
              break;
            case 2:
              line.insert(at, any(kSpice));
              break;
            default:
              line.insert(at, line.substr(0, below(line.size())));
          }
        }
        break;
      default:
        break;
    }
    return line;
  }
  std::mt19937_64& random() { return random_; }

 private:
  static constexpr std::array kPaths{
      "profile",
      "rig",
      "profile title",
      "profile tracking prediction_ms",
      "profile tracking timeout_ms",
      "profile microscope field_of_view_mm",
      "profile microscope target_mm",
      "profile render device",
      "profile render samples",
      "profile output picture_times_s",
      "profile thread physics core",
      "profile thread physics",
      "profile thread",
      "profile fault 0 kind",
      "profile fault 0 from_s",
      "profile fault 1",
      "profile memory lock",
      "profile rig",
      "profile scenario",
      "profile cameras source",
      "rig world motion_scale",
      "rig world q_RW",
      "rig camera C0 fx_px",
      "rig camera C4 fx_px",
      "rig camera",
      "rig camera C1 name",
      "rig instrument left marker tail colour_hue_deg",
      "rig instrument left marker",
      "rig rig created",
      "rig rig box_mm",
      "p",
      "profile t",
      "",
  };
  static constexpr std::array kValues{
      "1",         "0",           "-1",           "1e308",       "1e999",   "nan",
      "inf",       "0x10",        "true",         "\"text\"",    "text",    "1 2 3",
      "[1, 2, 3]", "[]",          "[[]]",         "{}",          "{a = 1}", "1979-05-27",
      "'x'",       "\"\\u0000\"", "\"\xc3\xa4\"", "virtual",     "auto",    "150.0",
      "30",        "/etc/passwd", "../../x",      "1\n[x]\ny=1", "\"\"\"",  "9223372036854775808",
  };
  static constexpr std::array kWords{
      "0",    "1",    "5",       "49",      "50",      "-1",       "99999999999999999999",
      "1.5",  "demo", "virtual", "C0",      "C9",      "monday",   "checkerboard:9x6:25mm",
      "/tmp", "show", "why so",  "\"why\"", "--force", "\xff\xfe", "comment"};
  static constexpr std::array kSpice{"\"",   "\\",    "?",    "|", "\t", "\x01", "\x7f", "\xff", "\xc3",
                                     "%s%n", "$(id)", "`id`", ";", "\r", "  ",   "#",    "<",    "\"\""};
  std::mt19937_64 random_;
};

void expect_whole(const store::Store& store) {
  const auto judgement = store::judge(store.running(), store.folder() / "running");
  ASSERT_TRUE(judgement.good()) << judgement.problems.front().message;
}

std::size_t resident_kb() {
  std::ifstream in("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  in >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / 1024;
}

TEST(ShellFuzz, NoLineCrashesLeaksOrDoesWhatItsUserMayNot) {
  const std::uint64_t s = seed();
  SCOPED_TRACE("LIGATURE_FUZZ_SEED=" + std::to_string(s));
  Lines lines(s);
  Limits limits = Bench::generous();
  limits.audit_bytes = 1 << 20;
  Bench bench(limits);
  std::map<std::string, std::unique_ptr<Session>> in;
  for (const char* user : {"vera", "tom", "ada"}) in[user] = bench.login(user);
  const int count = line_count();
  [[maybe_unused]] std::size_t half_kb = 0;  // under a sanitizer memory does grow
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
    if (i == count / 2) half_kb = resident_kb();
  }
  EXPECT_GT(answered_ok, count / 10) << "the lines were all nonsense";
  EXPECT_GT(commits, count / 2000) << "hardly anything was committed";
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(resident_kb(), half_kb + 16384) << "memory grew";
#endif
  std::printf("%d lines, %d ok, %d commits, seed %llu\n", count, answered_ok, commits,
              static_cast<unsigned long long>(s));
}

/// One client of a storm: some of everything that a client should not do.
void misbehave(const std::filesystem::path& socket, std::uint64_t s, int rounds) {
  Lines lines(s);
  for (int i = 0; i < rounds; ++i) {
    Wire wire(socket);
    if (!wire.connected()) continue;
    switch (lines.below(7)) {
      case 0:  // says nothing and goes
        break;
      case 1:  // half a line, and goes
        (void)wire.send("run set profile title", 1000);
        break;
      case 2: {  // does not read
        std::string all;
        for (int k = 0; k < 50; ++k) all += "run show configuration\n";
        (void)wire.send(all, 100);
        break;
      }
      case 3:  // stops sending, reads to the end
        (void)wire.send("run show version\nrun show history\n", 1000);
        wire.end_sending();
        while (wire.frame(2000).is_object()) {
        }
        break;
      case 4:  // a megabyte in one line
        (void)wire.send("run " + std::string(1 << 20, 'x') + "\nrun show version\n", 1000);
        (void)wire.frame(1000);
        break;
      case 5: {  // bytes
        std::string noise(1 + lines.below(20000), ' ');
        for (char& c : noise) c = static_cast<char>(lines.below(256));
        (void)wire.send(noise, 1000);
        break;
      }
      default: {  // works
        for (int k = 0; k < 10; ++k) {
          std::string line = lines.any_line();
          std::replace(line.begin(), line.end(), '\n', ' ');
          (void)wire.send((lines.below(5) == 0 ? "suggest " : lines.below(9) == 0 ? "" : "run ") + line + "\n", 1000);
        }
        (void)wire.send("run discard\nrun set profile title \"" + std::to_string(s + static_cast<std::uint64_t>(i)) +
                            "\"\nrun commit\n",
                        1000);
        wire.end_sending();
        while (wire.frame(2000).is_object()) {
        }
      }
    }
  }
}

void storm(const std::filesystem::path& socket, std::uint64_t s, int clients, int rounds) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([=] {
      {
        std::vector<Wire> held;  // all at once, each with something unfinished; those without a place are told so
        for (int k = 0; k < clients / 8; ++k) {
          held.emplace_back(socket);
          static constexpr std::array kHalf{"run show tracking live\n",
                                            "run set profile",
                                            "run show configuration\n\n\n",
                                            "",
                                            "suggest set rig camera \nrun commit\nrun ",
                                            "\xff\x00\x01"};
          if (held.back().connected()) (void)held.back().send(kHalf[static_cast<std::size_t>(k) % kHalf.size()], 1000);
        }
        misbehave(socket, s + static_cast<std::uint64_t>(t), rounds);
      }
      misbehave(socket, s + 100 + static_cast<std::uint64_t>(t), rounds);
    });
  for (auto& thread : threads) thread.join();
}

TEST(ShellFuzz, TwoHundredClientsThatMisbehaveLeaveTheServerWell) {
  const std::uint64_t s = seed();
  SCOPED_TRACE("LIGATURE_FUZZ_SEED=" + std::to_string(s));
  Limits limits = Bench::generous();
  limits.sessions = 100;  // half of them find no place
  limits.sessions_per_user = 90;
  limits.write_s = 1;
  Bench bench(limits);
  {
    Service service(bench);
    storm(service.socket(), s, 200, line_count() / 500);
    bool well = false;
    for (int i = 0; i < 100 && !well; ++i) {  // those dropped by their own time limits give way
      Wire wire = service.login();
      well = wire.connected() && wire.run("show version")["status"] == "ok";
      if (!well) ::usleep(100000);
    }
    EXPECT_TRUE(well);
  }
  expect_whole(*bench.store);
  EXPECT_GT(bench.store->running_commit().number, 1) << "nobody got in";
}

TEST(ShellFuzz, AServerKilledInAStormLeavesAWholeConfiguration) {
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
