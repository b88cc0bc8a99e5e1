#pragma once
/// What the shell may ask of the appliance around it. Implemented by `appliance`, and by tests.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/profile_file.hpp"
#include "drivers/rig.hpp"
#include "sim/base/result.hpp"

namespace ligature::shell {

/// Something to show, for people and for programs.
struct View {
  std::string text;
  std::string json = "null";  ///< one JSON value
};

/// All methods: the shell's thread, quick (they look at what others have left there), never wait for a real-time
/// thread.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual bool session_runs() const = 0;
  /// The commit that the running session was started from; 0: none runs.
  virtual int started_from() const = 0;
  /// How many sessions came to run, or did not, since the process began.
  virtual std::uint64_t settled() const = 0;
  /// One line: "runs since 12.3 s, commit 4" or why no session runs.
  virtual std::string state() const = 0;
  virtual View cameras() const = 0;
  virtual View markers() const = 0;
  virtual View tracking() const = 0;
  virtual View exercise() const = 0;
  virtual View watchdog() const = 0;
  virtual View threads() const = 0;
  virtual View version() const = 0;
  /// Lines of the log with numbers from `from` on, at most `most`, the newest ones. @param next number after the last
  virtual std::vector<std::string> log(std::uint64_t from, std::size_t most, std::uint64_t& next) const = 0;
  /// A committed configuration: puts to work what can be without a restart.
  /// @return false: no session runs that could
  virtual bool apply(const config::Profile& profile, const drivers::Rig& rig) = 0;
  /// A configuration that its loaders accept: would a session start from it? Errors: usage.
  virtual Result<void> accept(const config::Profile& profile, const drivers::Rig& rig) const = 0;
  /// Ends the session and starts it again from what runs in the store. Errors: unavailable.
  virtual Result<void> restart() = 0;
  /// What the trainee may ask of the exercise, by name. Errors: unavailable (no session runs, too many wait).
  virtual Result<void> control(const std::string& name) = 0;
  /// Folders of sessions that can be exported, by name.
  virtual std::vector<std::string> sessions() const = 0;
  virtual std::filesystem::path session_folder(const std::string& name) const = 0;
};

}  // namespace ligature::shell
