#pragma once
/// A shell on a folder of its own, with an appliance, a clock and groups that a test can turn.
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/shell/shell.hpp"
#include "config/store/store.hpp"
#include "tests/config/temp_dir.hpp"

namespace ligature::shell::test {

using config::test::slurp;
using config::test::TempDir;

class FakeClock final : public store::Clock {
 public:
  std::int64_t wall_s() const override { return wall; }
  std::int64_t running_s() const override { return running; }
  std::string boot() const override { return boot_id; }
  void pass(std::int64_t seconds) { wall += seconds, running += seconds; }
  std::int64_t wall = 1'795'000'000, running = 1000;
  std::string boot_id = "first";
};

class FakeMachine final : public Machine {
 public:
  bool session_runs() const override { return started > 0; }
  int started_from() const override { return started; }
  std::uint64_t settled() const override { return restarts_done; }
  std::string state() const override { return started > 0 ? "a session runs" : "no session runs"; }
  View cameras() const override { return {"four cameras", "[0,1,2,3]"}; }
  View markers() const override { return {"look " + std::to_string(++looks), "{}"}; }
  View tracking() const override { return {"look " + std::to_string(++looks), "{}"}; }
  View exercise() const override { return {"2/7 Pierce", "{\"state\":\"running\"}"}; }
  View watchdog() const override { return {"all well", "{}"}; }
  View threads() const override { return {"seven", "[]"}; }
  View version() const override { return {"ligature 0", "\"ligature 0\""}; }
  std::vector<std::string> log(std::uint64_t from, std::size_t, std::uint64_t& next) const override {
    next = 3;
    return from < 3 ? std::vector<std::string>{"one", "two"} : std::vector<std::string>{};
  }
  bool apply(const config::Profile& profile, const drivers::Rig&) override {
    ++applied;
    prediction_ms = profile.tracking.prediction_ms;
    return started > 0;
  }
  Result<void> accept(const config::Profile&, const drivers::Rig&) const override { return {}; }
  Result<void> restart() override {
    ++restarts;
    return {};
  }
  Result<void> control(const std::string& name) override {
    if (started == 0) return unavailable("no session runs");
    controlled.push_back(name);
    return {};
  }
  std::vector<std::string> sessions() const override { return {"monday"}; }
  std::filesystem::path session_folder(const std::string& name) const override { return folder / name; }

  int started = 1, applied = 0, restarts = 0;
  double prediction_ms = 0;
  std::vector<std::string> controlled;
  std::filesystem::path folder;
  std::uint64_t restarts_done = 0;
  mutable int looks = 0;
};

/// Users by name; others are outsiders.
class FakeRoles final : public Roles {
 public:
  std::optional<Role> role_of(const Peer& peer) const override {
    const auto at = roles.find(peer.user);
    return at == roles.end() ? std::nullopt : std::optional<Role>(at->second);
  }
  std::map<std::string, Role> roles{
      {"vera", Role::viewer}, {"tom", Role::service}, {"tina", Role::service}, {"ada", Role::admin}};
};

inline Peer peer(const std::string& user) {
  Peer p;
  p.user = user;
  p.uid = static_cast<uid_t>(1000 + std::hash<std::string>{}(user) % 50000);
  p.pid = 42;
  return p;
}

inline store::Texts shipped(const std::string& profile = "virtual") {
  auto texts = store::import_profile(config::test::kSourceDir / "config/profiles" / (profile + ".toml"));
  if (!texts) throw std::runtime_error(texts.error().message);
  return *texts;
}

/// Fsync on a memory file system costs nothing, and the shell's promises about order are the same there.
inline std::filesystem::path quick_folder() {
  return std::filesystem::exists("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path();
}

class Bench {
 public:
  explicit Bench(Limits limits = generous()) : limits_(limits) {
    std::string pattern = (quick_folder() / "ligature_shell_XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
    path_ = pattern;
    open();
    if (!store->create(shipped(), "system", "made for a test")) throw std::runtime_error("no first commit");
    make_shell();
  }
  ~Bench() {
    shell.reset();
    store.reset();
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  /// The process ends and another begins.
  void restart() {
    shell.reset();
    store.reset();
    open();
    make_shell();
  }
  std::unique_ptr<Session> login(const std::string& user) {
    auto session = shell->admit(peer(user));
    if (!session) throw std::runtime_error(session.error().message);
    return std::move(*session);
  }
  std::string audit() const { return slurp(path_ / "audit.jsonl"); }
  const std::filesystem::path& path() const { return path_; }
  static Limits generous() {
    Limits l;
    l.connections_per_s = 1e6;
    l.commands_per_s = 1e6;
    return l;
  }

  FakeClock clock;
  FakeMachine machine;
  FakeRoles roles;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<Shell> shell;

 private:
  void open() {
    auto opened = store::Store::open(path_, clock);
    if (!opened) throw std::runtime_error(opened.error().message);
    store = std::move(*opened);
  }
  void make_shell() {
    machine.folder = path_ / "sessions";
    ShellSettings settings;
    settings.limits = limits_;
    shell =
        std::make_unique<Shell>(Shell::Parts{*store,
                                             machine,
                                             roles,
                                             clock,
                                             settings,
                                             path_,
                                             "/bin/echo",
                                             [](const std::string& name) -> Result<std::filesystem::path> {
                                               return config::test::kSourceDir / "config/profiles" / (name + ".toml");
                                             },
                                             {"demo", "virtual"},
                                             "rig"});
  }
  Limits limits_;
  std::filesystem::path path_;
};

}  // namespace ligature::shell::test
