#include "appliance/shell/shell_verb.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "appliance/run/session_folders.hpp"
#include "appliance/shell/station.hpp"
#include "config/shell/server.hpp"
#include "config/shell/shell.hpp"
#include "config/store/store.hpp"

namespace ligature::appliance {

namespace fs = std::filesystem;

namespace {

constexpr int kNice = 10;  // the shell yields to everything of the session

/// An ordinary thread below all others, whoever starts it, that never takes a core from one that runs; signals are for
/// the main thread. Not idle: it holds the station's mutex, and a thread that starves would keep the service thread.
void humble_this_thread() {
  const sched_param none{};
  ::sched_setscheduler(0, SCHED_BATCH, &none);
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kNice);
  ::pthread_setname_np(::pthread_self(), "shell");
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

std::string host_name() {
  char name[65] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != 0 ? name : "ligature";
}

}  // namespace

fs::path default_state() {
  if (::geteuid() == 0) return "/var/lib/ligature";
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') return fs::path(state) / "ligature";
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? fs::path(home) / ".local/state/ligature" : fs::path("ligature-state");
}

struct ShellService::State {
  explicit State(const ServiceOptions& o) : options(o), station(o.sessions), roles({}) {}
  ~State() {
    if (server) server->stop();
    if (thread.joinable()) thread.join();
    server.reset();
  }
  ServiceOptions options;
  store::Clock clock;
  Station station;
  std::unique_ptr<store::Store> store;
  shell::GroupRoles roles;
  std::unique_ptr<shell::Shell> shell;
  std::unique_ptr<shell::Server> server;
  std::thread thread;
};

ShellService::ShellService(std::unique_ptr<State> state) : state_(std::move(state)) {}
ShellService::~ShellService() = default;
Station& ShellService::station() {
  return state_->station;
}
std::string ShellService::line() const {
  std::string out;
  for (const std::string& mended : state_->store->mended()) out += "configuration: " + mended + "\n";
  return out +
         fmt::format("shell: {}, configuration: {}", state_->options.socket.string(), state_->options.state.string());
}

Result<std::unique_ptr<ShellService>> ShellService::start(const ServiceOptions& given) {
  ServiceOptions options = given;
  std::error_code wrong;
  options.state = fs::absolute(options.state, wrong).lexically_normal();
  if (options.socket.empty()) options.socket = shell::default_socket(false);
  auto state = std::make_unique<State>(options);
  if (auto good = shell::Server::check(options.socket); !good) return unexpected(good.error());
  auto settings = shell::load_shell_settings(options.state / "shell.toml");
  if (!settings) return unexpected(settings.error());
  auto store = store::Store::open(options.state, state->clock);
  if (!store) return unexpected(store.error());
  state->store = std::move(*store);
  if (state->store->empty()) {
    const std::string name = options.profile.empty() ? "appliance" : options.profile;
    const auto file = config::resolve_profile(name, options.data_dirs);
    if (!file) return unexpected(file.error());
    const auto texts = store::import_profile(*file);
    if (!texts) return unexpected(texts.error());
    if (auto made = state->store->create(*texts, "system", "made from the profile " + name); !made)
      return unexpected(made.error());
  }
  state->roles = shell::GroupRoles(settings->groups);
  fs::path program = fs::read_symlink("/proc/self/exe", wrong);
  state->shell = std::make_unique<shell::Shell>(shell::Shell::Parts{
      *state->store, state->station, state->roles, state->clock, *settings, options.state, program,
      [dirs = options.data_dirs](const std::string& name) { return config::resolve_profile(name, dirs); },
      config::known_profiles(options.data_dirs), host_name()});
  auto server = shell::Server::create(*state->shell, options.socket);
  if (!server) return unexpected(server.error());
  state->server = std::move(*server);
  state->thread = std::thread([s = state.get()] {
    humble_this_thread();
    s->server->run();
  });
  return std::unique_ptr<ShellService>(new ShellService(std::move(state)));
}

Result<std::pair<config::Profile, int>> ShellService::running() {
  // Another thread commits meanwhile: the link is read once, and its folder stays as it is.
  std::error_code wrong;
  const fs::path folder = fs::canonical(state_->options.state / "running", wrong);
  if (wrong) return unavailable((state_->options.state / "running").string() + ": " + wrong.message());
  auto profile = config::load_profile(folder / "profile.toml");
  if (!profile) return unexpected(profile.error());
  return std::pair{std::move(*profile), std::atoi(folder.filename().c_str())};
}

int run_configured(ShellService& service, const std::atomic<bool>& stop, const fs::path& sessions,
                   const std::function<void(RunOptions&)>& prepare,
                   const std::function<int(const Result<RunOutcome>&)>& tell) {
  Station& station = service.station();
  for (;;) {
    RunOptions options;
    options.port = &station;
    auto running = service.running();
    Result<RunOutcome> outcome = failure("not started");
    if (running) {
      options.profile = running->first;
      if (!sessions.empty()) {
        const config::OutputSettings& keep = options.profile.output;
        options.notes = prune_sessions(sessions, static_cast<std::size_t>(keep.keep_sessions - 1),
                                       static_cast<std::uintmax_t>(keep.keep_gb * 1e9));
        options.out = new_session_folder(sessions, std::time(nullptr));
      }
      prepare(options);
      station.session_begins(running->second);
      outcome = run_session(options);
    } else {
      outcome = unexpected(running.error());
    }
    station.session_ended(outcome ? "the session ended" : outcome.error().message);
    const int code = tell(outcome);
    if (stop.load()) return code;
    if (station.take_restart()) continue;
    if (outcome) return code;
    // It does not start: the technician must be able to say why, and mend it.
    fmt::print(stderr, "no session runs; mend the configuration with `ligature shell`, then `restart`\n");
    if (!station.wait_for_restart(stop)) return code;
  }
}

Result<int> serve_idle(const ServiceOptions& options, const std::atomic<bool>& stop) {
  auto service = ShellService::start(options);
  if (!service) return unexpected(service.error());
  (*service)->station().stay_idle();
  fmt::print(stderr, "{}\n", (*service)->line());
  while (!stop.load()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return 0;
}

}  // namespace ligature::appliance
