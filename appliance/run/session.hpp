#pragma once
/// One run of the appliance: makes every part, joins them, watches them, and writes down what happened.
#include <atomic>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "config/profile_file.hpp"
#include "drivers/camera/v4l2/device_calls.hpp"
#include "sim/base/result.hpp"

namespace ligature::appliance {

class SessionPort;

struct RunOptions {
  config::Profile profile;
  std::filesystem::path out;                ///< folder for all results; empty: nothing is written
  std::optional<double> duration_s;         ///< wins over the profile's
  std::filesystem::path record;             ///< what the cameras saw goes here; empty: not recorded
  std::filesystem::path instance_lock;      ///< empty: the machine's own, so that two appliances never run at once
  drivers::DeviceCalls* devices = nullptr;  ///< where cameras are opened; null: the kernel
  const std::atomic<bool>* stop_request = nullptr;  ///< set by SIGINT and SIGTERM
  bool strict = false;                              ///< a missed deadline is exit 1
  SessionPort* port = nullptr;                      ///< the config shell's, where there is one; outlives the session
  std::vector<std::string> notes;                   ///< what was done before the start: its first events
  bool progress = false;                            ///< a line that rewrites itself on standard error
};

struct RunOutcome {
  int exit_code = 0;           ///< 0, or 1: it ran and the answer is no
  std::string report;          ///< one JSON object, the text of report.json
  std::string table;           ///< the watchdog's, for people
  std::string complaint;       ///< why exit_code is 1; empty otherwise
  bool asked_to_stop = false;  ///< it ended because somebody wanted it to
};

/// Whether a session would start from this, as far as files tell. Errors: usage.
Result<void> check_session(const config::Profile& profile);

/// Runs to the end of the recording, the duration, or the stop request.
/// Errors (nothing was started): usage or unavailable, one line with the remedy.
Result<RunOutcome> run_session(const RunOptions& options);

/// The picture that shows which eye is which, through the profile's presenter. @return the file written
Result<std::filesystem::path> write_test_picture(const config::Profile& profile, const std::filesystem::path& out);

}  // namespace ligature::appliance
