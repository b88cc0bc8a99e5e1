#pragma once
/// Where the shell's thread and the session's service thread meet: one looks and asks, the other shows and does.
/// A mutex between two ordinary threads; no real-time thread comes here.
#include <atomic>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

#include "appliance/run/session_port.hpp"
#include "config/shell/machine.hpp"

namespace ligature::appliance {

class Station final : public shell::Machine, public SessionPort {
 public:
  /// @param sessions_root folder with one folder a session; empty: none are written
  explicit Station(std::filesystem::path sessions_root) : root_(std::move(sessions_root)) {}

  // The thread that starts sessions.
  void session_begins(int commit);
  /// @param why none runs now, one line
  void session_ended(const std::string& why);
  /// No session is ever started here: `ligature shell --serve`.
  void stay_idle() { idle_ = true; }
  bool take_restart() { return restart_.exchange(false); }
  /// Waits until a restart is wanted or `stop` is set. True = restart.
  bool wait_for_restart(const std::atomic<bool>& stop);

  // SessionPort: the service thread.
  void publish(SessionStatus status) override;
  void log(double time_s, const std::string& what) override;
  std::optional<LiveSettings> take_live() override;
  std::vector<Control> take_controls() override;
  bool restart_wanted() const override { return restart_.load(); }

  // Machine: the shell's thread.
  bool session_runs() const override;
  int started_from() const override;
  std::uint64_t settled() const override;
  std::string state() const override;
  shell::View cameras() const override;
  shell::View markers() const override;
  shell::View tracking() const override;
  shell::View exercise() const override;
  shell::View watchdog() const override;
  shell::View threads() const override;
  shell::View version() const override;
  std::vector<std::string> log(std::uint64_t from, std::size_t most, std::uint64_t& next) const override;
  bool apply(const config::Profile& profile, const drivers::Rig& rig) override;
  Result<void> accept(const config::Profile& profile, const drivers::Rig& rig) const override;
  Result<void> restart() override;
  Result<void> control(const std::string& name) override;
  std::vector<std::string> sessions() const override;
  std::filesystem::path session_folder(const std::string& name) const override { return root_ / name; }

 private:
  std::optional<SessionStatus> status() const;
  static shell::View nothing();

  const std::filesystem::path root_;
  bool idle_ = false;
  mutable std::mutex mutex_;
  bool runs_ = false;
  int commit_ = 0;
  std::uint64_t settled_ = 0;
  std::string why_ = "no session was started";
  std::optional<SessionStatus> status_;
  std::optional<LiveSettings> live_;
  std::vector<Control> controls_;  ///< asked for and not yet taken
  std::deque<std::string> lines_;
  std::uint64_t first_line_ = 1;
  std::atomic<bool> restart_{false};
};

}  // namespace ligature::appliance
