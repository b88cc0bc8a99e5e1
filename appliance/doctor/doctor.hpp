#pragma once
/// What keeps this machine from real-time work, and the line that mends each: `ligature doctor`.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace ligature::doctor {

enum class Status {
  ok,
  note,  ///< good to know, or not visible here
  warn,  ///< works, with late wake-ups or less comfort
  fail,  ///< the appliance will not run, or not in real time
};
const char* name_of(Status status);

struct Finding {
  std::string name;  ///< stable, for scripts: "kernel", "governor", ...
  Status status = Status::ok;
  std::string found;   ///< what is there, with its unit
  std::string why;     ///< what it does to the appliance; may be empty when ok
  std::string remedy;  ///< one line to type or to write somewhere; empty when there is nothing to do
};

struct ExamineSettings {
  std::string root = "";       ///< in front of /sys, /proc, /dev, /etc, /usr, /run: a picture of another machine
  std::string out_dir = ".";   ///< where sessions will be written; taken as it is, without root
  std::string lock_file = "";  ///< of the running instance; empty = InstanceLock::default_path()
  int cameras_wanted = 4;
};

/// Looks at everything; reads only, takes well under a second, never fails: what cannot be read is said.
std::vector<Finding> examine(const ExamineSettings& settings = {});

/// No finding is a failure.
bool fit(const std::vector<Finding>& findings);

/// Aligned text: status, name, what was found; the reason and the remedy under what is not ok.
std::string table(const std::vector<Finding>& findings);

/// {"fit": bool, "counts": {"ok": n, ...}, "findings": [{"name", "status", "found", "why", "remedy"}]}
nlohmann::json report(const std::vector<Finding>& findings);

/// Notices in mid session that the processor was slowed down for heat. For the service thread, every few seconds.
class ThrottleWatch {
 public:
  /// @param root in front of /sys
  explicit ThrottleWatch(std::string root = "") : root_(std::move(root)) {}
  /// How many times since the look before, over all cores; 0 at the first look and where nothing is visible.
  long long look();

 private:
  std::string root_;
  long long seen_ = -1;
};

}  // namespace ligature::doctor
