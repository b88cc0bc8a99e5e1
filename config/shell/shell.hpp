#pragma once
/// The shell without its socket: who is connected, what a line does, what it answers, what is written into the audit.
///
/// One thread calls everything here. Nothing waits: the longest a command takes is a commit's flush to the disk.
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/shell/audit.hpp"
#include "config/shell/grammar.hpp"
#include "config/shell/jobs.hpp"
#include "config/shell/machine.hpp"
#include "config/shell/roles.hpp"
#include "config/store/store.hpp"

namespace ligature::shell {

struct Answer {
  enum class Status {
    ok,
    error,    ///< the command or value is wrong: nothing changed
    refused,  ///< right, but not for this user or not now: nothing changed
    failed,   ///< it ran and the answer is no
  };
  Status status = Status::ok;
  std::string text;           ///< for people; lines end with \n but the last
  std::string json = "null";  ///< for programs
  bool leave = false;         ///< the session ends
  /// Goes on: called twice a second until it answers nothing or somebody stops it.
  std::function<std::optional<Answer>()> live;
  /// What its end says: asked once, when `live` has ended.
  std::function<Status()> verdict;
};
const char* name_of(Answer::Status status);

class Shell;

/// One connection.
class Session final : public Context {
 public:
  Session(Shell& shell, std::uint64_t number, Peer peer, Role role);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  std::uint64_t number() const { return number_; }
  const Peer& peer() const { return peer_; }
  Role role() const override { return role_; }
  const std::string& since() const { return since_; }
  std::string prompt() const;
  std::string greeting() const;

  /// One line typed; into the audit with its answer.
  Answer run(std::string_view line);
  Suggestions suggest(std::string_view line) const;

  std::vector<Choice> names(std::string_view argument) const override;
  store::Walk walk(const std::vector<std::string>& words, bool add) const override;
  std::string describe(const store::Walk& walk) const override;

 private:
  Answer execute(const Parsed& parsed);
  Answer set(const Parsed& parsed);
  Answer erase(const Parsed& parsed);
  Answer change(store::Part part, store::Tree tree, const std::string& key, bool refuse_own_problems);
  Answer commit(const Parsed& parsed);
  Answer take(const store::Texts& texts, const std::string& what);
  Answer calibrate(const Parsed& parsed);
  Answer load_calibration(const Parsed& parsed);
  Answer export_session(const Parsed& parsed);
  Answer configuration(const store::Texts& texts, const Parsed& parsed, const std::string& what) const;
  std::optional<Answer> not_editor();

  Shell& shell_;
  std::uint64_t number_;
  Peer peer_;
  Role role_;
  std::string since_;
};

class Shell {
 public:
  struct Parts {
    store::Store& store;
    Machine& machine;
    Roles& roles;
    const store::Clock& clock;
    ShellSettings settings;
    std::filesystem::path state;                                               ///< audit, jobs and exports lie here
    std::filesystem::path program;                                             ///< `ligature`, for jobs
    std::function<Result<std::filesystem::path>(const std::string&)> profile;  ///< a shipped profile's file
    std::vector<std::string> profiles;                                         ///< their names
    std::string host;                                                          ///< in the prompt
  };
  explicit Shell(Parts parts);

  const Limits& limits() const { return parts_.settings.limits; }
  /// A peer at the door. One that knocks too often is turned away before anything is looked up.
  /// Errors: usage, what it is told; refusals are in the audit.
  Result<std::unique_ptr<Session>> admit(Peer peer);
  /// Call it about ten times a second: confirmations that did not come, jobs that ended.
  void tick();

  struct Notice {
    std::uint64_t session = 0;  ///< 0: everybody ...
    std::uint64_t except = 0;   ///< ... but this one, which knows
    std::string text;
    bool leave = false;  ///< and the session is ended
  };
  std::vector<Notice> take_notices();
  void say(const std::string& text, std::uint64_t except = 0);

 private:
  friend class Session;
  struct Bucket {
    double tokens = 0;
    double at_s = 0;
    std::string user;  ///< as it was when it was last looked up
  };
  const store::Schema& schema();
  const store::Tree& tree(store::Part part);
  std::vector<std::string> waiting() const;
  std::string effects(const store::Texts& before, const store::Texts& after, const store::Judgement& judgement);
  void refuse(const Peer& peer, const std::string& why);
  /// @param said what stands for the answer; empty: its first line
  void write_audit(const Session& session, std::string_view line, const Answer& answer, bool flush,
                   const std::string& said = {});

  Parts parts_;
  Audit audit_;
  Jobs jobs_;
  std::set<Session*> sessions_;
  std::uint64_t last_session_ = 0;
  std::uint64_t editor_ = 0;  ///< the session that changes the candidate; 0: nobody
  std::map<uid_t, Bucket> doors_;
  std::vector<Notice> notices_;
  std::optional<store::Schema> schema_;
  std::string schema_of_;  ///< the profile it was learnt from
  std::optional<store::Tree> trees_[2];
  store::Texts trees_of_;
  std::int64_t last_tick_s_ = -1;
};

}  // namespace ligature::shell
