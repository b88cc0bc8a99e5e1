#pragma once
/// Long work, done by child processes: an ordinary thread of its own priority, memory that is not locked, and nothing
/// of it in the process with real-time threads.
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/result.hpp"

namespace ligature::shell {

struct Job {
  enum class State { running, cancelling, done, failed, cancelled };
  int number = 0;
  std::string kind;  ///< "calibrate rig", "export"
  std::string what;  ///< one line for people
  std::string user;
  State state = State::running;
  int exit_code = -1;
  std::int64_t started_s = 0, ended_s = 0;  ///< wall clock
  std::filesystem::path folder;             ///< its own; results lie here
  std::filesystem::path result;             ///< what it shall have made
  std::deque<std::string> lines;            ///< of output, the last kLines
  std::uint64_t lines_seen = 0;             ///< ever
  std::string progress;                     ///< the last line that rewrote itself (ended by \r)
  bool over() const { return state != State::running && state != State::cancelling; }

  static constexpr std::size_t kLines = 400;
};
const char* name_of(Job::State state);

/// One thread. Children die with it.
class Jobs {
 public:
  static constexpr std::size_t kKept = 20, kAtOnce = 2;
  /// @param folder for the jobs' own folders; made on need. Of those of a process before the newest kKept stay
  explicit Jobs(std::filesystem::path folder);
  ~Jobs();
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  /// Starts argv[0] with argv; "{}" in an argument stands for the job's folder, also in `result`.
  /// @param there what stands in `result` before it starts; empty: nothing
  /// Errors: usage when kAtOnce run already, unavailable when it cannot be started.
  Result<int> start(const std::string& kind, const std::string& what, const std::string& user,
                    std::vector<std::string> argv, const std::string& result, const std::string& there = {});
  /// Interrupts it; five seconds later it is killed. Errors: usage.
  Result<void> cancel(int number);
  const Job* find(int number) const;
  const std::deque<Job>& all() const { return jobs_; }  ///< oldest first
  /// Reads what they say, notices who ended. Call it a few times a second. @return numbers of those that ended now
  std::vector<int> poll();

 private:
  struct Child {
    int number = 0;
    pid_t pid = -1;
    int out = -1;
    std::string part;  ///< of a line
    bool escape = false;
    double kill_at_s = 0;
  };
  void take(Child& child, Job& job);
  std::filesystem::path folder_;
  std::deque<Job> jobs_;
  std::vector<Child> children_;
  int last_ = 0;
};

}  // namespace ligature::shell
