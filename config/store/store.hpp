#pragma once
/// The configuration of one appliance on the disk: what runs, what is prepared, what was.
///
///   DIR/running  -> commits/000018      what sessions start from; replaced by one rename, old or new
///   DIR/commits/000018/{profile.toml, rig.toml, commit.json}   whole before it gets its name; never changed again
///   DIR/candidate.json                  what is prepared, where it differs from what runs; survives everything
///   DIR/pending.json                    a commit that waits for its confirmation, what it goes back to and when
///   DIR/aside/000019                    whole commits that were found behind the one that runs
///   DIR/lock                            held by the one process that serves the store
///
/// A process killed at any instant leaves the old configuration or the new one: a commit is a folder that is written
/// and flushed under another name, renamed, and only then named by `running`. What is half written never happened and is
/// removed; whole commits beyond `running`, which may have been pointed back by hand, are moved to aside/, and without
/// `running` several are refused. A confirmed commit writes pending.json before `running`; one that does not fit
/// `running` is void, and where it cannot be read, the commit that it may have been of goes back.
///
/// One thread at a time. Errors: usage (refused, nothing changed), failed (the disk; old or new stands).
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/store/clock.hpp"
#include "config/store/schema.hpp"
#include "sim/base/result.hpp"

namespace ligature::store {

inline constexpr std::size_t kKept = 50;            ///< commits, the running one included
inline constexpr std::size_t kMostText = 1u << 20;  ///< bytes of a profile or rig text
inline constexpr std::size_t kMostComment = 200;    ///< bytes
inline constexpr int kLongestConfirm_min = 24 * 60;

struct Commit {
  int number = 0;  ///< from 1
  std::string time;
  std::string user;
  std::string comment;
  int confirm_min = 0;     ///< it had to be confirmed within so long; 0: not
  int undoes = 0;          ///< made by itself: goes back because this commit was not confirmed
  bool confirmed = false;  ///< of confirm_min > 0
};

struct Pending {
  int commit = 0, back_to = 0;
  int minutes = 0;
  std::string user;
  std::int64_t wall_until_s = 0, running_until_s = 0;
  std::string boot;
};

/// The prepared configuration.
struct Candidate {
  Texts texts;
  int base = 0;      ///< the commit it was made from
  std::string user;  ///< who changed it last; empty: it is what runs
  std::string time;
};

class Store {
 public:
  /// Makes the folder where there is none; puts right what a killed process left. @param clock outlives the store
  /// Errors: usage when another process serves it, unavailable when the folder cannot be used.
  static Result<std::unique_ptr<Store>> open(const std::filesystem::path& folder, const Clock& clock);
  ~Store();

  const std::filesystem::path& folder() const { return folder_; }
  /// No commit was ever made: create() first.
  bool empty() const { return history_.empty(); }
  /// The first commit. Errors: usage when it is refused by judge().
  Result<Commit> create(const Texts& texts, const std::string& user, const std::string& comment);

  const Texts& running() const { return running_; }
  const Commit& running_commit() const { return history_.front(); }
  /// Of the commit that runs: what `ligature run --profile` may be given. Stays as it is whatever is committed later.
  std::filesystem::path running_profile() const;
  /// Newest first, at most kKept.
  const std::vector<Commit>& history() const { return history_; }
  /// @param back 0 = what runs, 1 = the commit before, ... Errors: usage, naming how many there are.
  Result<Texts> texts_back(int back) const;

  const Candidate& candidate() const { return candidate_; }
  bool changed() const { return candidate_.texts != running_; }
  /// Errors: failed when it cannot be written; the candidate is then unchanged. @param user of the change
  Result<void> prepare(const Texts& texts, const std::string& user);
  Result<void> discard();

  Judgement check() const { return judge(candidate_.texts, folder_ / "running"); }
  /// Makes the candidate what runs. @param confirm_min 0: for good
  /// Errors: usage when it is refused or nothing differs.
  Result<Commit> commit(const std::string& user, const std::string& comment, int confirm_min);

  const std::optional<Pending>& pending() const { return pending_; }
  /// Seconds until the pending commit goes back; 0 when it is due.
  std::int64_t pending_s() const;
  Result<void> confirm();
  /// Goes back where a confirmation did not come in time. Call it about once a second. Nothing: nothing was due.
  Result<std::optional<Commit>> tick();
  /// The commit by which open() or tick() last went back by itself, since this process began.
  const std::optional<Commit>& went_back() const { return went_back_; }
  /// What open() had to put right, one line each.
  const std::vector<std::string>& mended() const { return mended_; }

 private:
  Store(std::filesystem::path folder, const Clock& clock) : folder_(std::move(folder)), clock_(clock) {}
  std::filesystem::path commit_folder(int number) const;
  Result<void> load();
  Result<void> set_aside(const std::filesystem::path& commit);
  Result<Commit> write_commit(const Texts& texts, Commit commit, const std::optional<Pending>& pending);
  Result<Commit> go_back();
  Result<void> write_pending(const std::optional<Pending>& pending);
  void forget_old();
  void reset_candidate();

  std::filesystem::path folder_;
  const Clock& clock_;
  int lock_ = -1;
  Texts running_;
  std::vector<Commit> history_;
  Candidate candidate_;
  std::optional<Pending> pending_;
  std::optional<Commit> went_back_;
  std::vector<std::string> mended_;
};

}  // namespace ligature::store
