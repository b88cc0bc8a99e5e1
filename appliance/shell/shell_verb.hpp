#pragma once
/// `ligature shell`, and the shell's service inside `ligature run --config`.
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "appliance/run/session.hpp"
#include "sim/base/result.hpp"

namespace ligature::appliance {

struct ServiceOptions {
  std::filesystem::path state;     ///< configuration, audit, jobs, exports
  std::filesystem::path socket;    ///< empty: the default one
  std::string profile;             ///< what the first commit is made from; empty: "appliance"
  std::filesystem::path sessions;  ///< one folder a session; empty: none
  std::vector<std::filesystem::path> data_dirs;
};

/// /var/lib/ligature for root, otherwise ligature in XDG_STATE_HOME or ~/.local/state.
std::filesystem::path default_state();

class Station;

/// The store, the shell and its thread. Lives across sessions.
class ShellService {
 public:
  /// Opens the store, makes its first commit where it has none, listens.
  static Result<std::unique_ptr<ShellService>> start(const ServiceOptions& options);
  ~ShellService();

  Station& station();
  /// What a session is to be started from now: the profile of the commit that runs, and its number.
  Result<std::pair<config::Profile, int>> running();
  std::string line() const;  ///< where it listens; before that, what was put right of the configuration

 private:
  struct State;
  explicit ShellService(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Sessions from what is committed, one after the other when asked to start again, until one ends by itself or `stop`.
/// @param prepare what the command line adds to every session's options
int run_configured(ShellService& service, const std::atomic<bool>& stop, const std::filesystem::path& sessions,
                   const std::function<void(RunOptions&)>& prepare,
                   const std::function<int(const Result<RunOutcome>&)>& tell);

/// The service alone, for a machine at rest, until `stop`.
Result<int> serve_idle(const ServiceOptions& options, const std::atomic<bool>& stop);

}  // namespace ligature::appliance
