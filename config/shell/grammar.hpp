#pragma once
/// The commands, as one table: parsing, abbreviation, completion and help all read it, so that none can lag behind.
///
/// A rule is a pattern: words, and arguments in <>:  `show log <lines>`, `set <path> <value>`, `commit comment <text>`.
/// Words may be abbreviated as long as they are unambiguous.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/shell/roles.hpp"
#include "config/store/schema.hpp"

namespace ligature::shell {

using store::Choice;

enum class Action {
  show_status,
  show_cameras,
  show_markers,
  show_tracking,
  show_exercise,
  show_watchdog,
  show_threads,
  show_version,
  show_configuration,
  show_candidate,
  show_rollback,
  show_differences,
  show_history,
  show_sessions,
  show_jobs,
  show_job,
  show_log,
  show_audit,
  show_exports,
  set,
  erase,
  check,
  discard,
  commit,
  rollback,
  load_profile,
  load_calibration,
  calibrate,
  job_watch,
  job_cancel,
  export_session,
  control,
  restart,
  disconnect,
  help,
  exit,
};

/// One argument of a rule, by the name that stands in the pattern.
struct Argument {
  enum class Kind { number, name, path, value, text };
  std::string_view name;
  Kind kind;
  std::string_view help;
  long low = 0, high = 0;  ///< number
};

struct Rule {
  Action action;
  Role least;
  std::string_view pattern, help;
  bool live = false;  ///< goes on until it is stopped
};
const std::vector<Rule>& rules();

/// What the grammar must know of the moment.
class Context {
 public:
  virtual ~Context() = default;
  virtual Role role() const = 0;
  /// Words that an argument of kind name may be: cameras, jobs, profiles...
  virtual std::vector<Choice> names(std::string_view argument) const = 0;
  virtual store::Walk walk(const std::vector<std::string>& words, bool add) const = 0;
  virtual std::string describe(const store::Walk& walk) const = 0;
};

struct Parsed {
  const Rule* rule = nullptr;
  struct Given {
    std::string_view name;
    std::string text;
    long number = 0;
  };
  std::vector<Given> given;  ///< in the pattern's order; of kinds number, name, text
  store::Walk walk;          ///< of <path>
  std::vector<std::string> value;
  bool value_quoted = false;
  std::size_t value_column = 0;
  const Given* find(std::string_view name) const;
};

struct Mistake {
  std::size_t column = 0;  ///< byte in the line
  std::string message;
  bool role = false;  ///< it is a command, of a higher role
};
/// The line with a caret under the mistake, and what it is.
std::string with_caret(std::string_view line, const Mistake& mistake);

struct Reading {
  std::optional<Parsed> parsed;
  Mistake mistake;  ///< without parsed
  bool empty = false;
};
/// @param line one printable line of UTF-8, or it is refused
Reading read_line(std::string_view line, const Context& context);

struct Suggestions {
  std::size_t from = 0;         ///< byte in the line where the words below begin
  std::vector<Choice> choices;  ///< those in <> cannot be typed as they stand
  bool complete = false;        ///< the line is a command already
  std::string mistake;          ///< or why nothing fits
};
/// What may stand at the end of this line.
Suggestions suggest(std::string_view line, const Context& context);

/// All that `help` says, for this role.
std::string help_text(Role role, std::string_view word);

}  // namespace ligature::shell
