#include "config/shell/jobs.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "config/atomic_file.hpp"

extern char** environ;

namespace ligature::shell {

namespace fs = std::filesystem;

namespace {
constexpr std::size_t kMostLine = 1000;  // bytes
constexpr double kPatience_s = 5;        // between interrupting and killing

double now_s() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::string filled(std::string text, const std::string& folder) {
  for (auto at = text.find("{}"); at != std::string::npos; at = text.find("{}", at + folder.size()))
    text.replace(at, 2, folder);
  return text;
}
}  // namespace

const char* name_of(Job::State state) {
  switch (state) {
    case Job::State::running:
      return "running";
    case Job::State::cancelling:
      return "cancelling";
    case Job::State::done:
      return "done";
    case Job::State::failed:
      return "failed";
    case Job::State::cancelled:
      return "cancelled";
  }
  return "?";
}

Jobs::Jobs(fs::path folder) : folder_(std::move(folder)) {
  std::error_code ignored;
  std::vector<std::pair<int, fs::path>> left;
  for (fs::directory_iterator it(folder_, ignored), end; !ignored && it != end; it.increment(ignored))
    if (const int number = std::atoi(it->path().filename().c_str()); number > 0) left.push_back({number, it->path()});
  std::sort(left.begin(), left.end());
  if (!left.empty()) last_ = left.back().first;
  for (std::size_t i = 0; i + kKept < left.size(); ++i) fs::remove_all(left[i].second, ignored);
}

Jobs::~Jobs() {
  for (Child& child : children_) {
    ::kill(-child.pid, SIGKILL);
    while (::waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    ::close(child.out);
  }
}

const Job* Jobs::find(int number) const {
  const auto at = std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& j) { return j.number == number; });
  return at == jobs_.end() ? nullptr : &*at;
}

Result<int> Jobs::start(const std::string& kind, const std::string& what, const std::string& user,
                        std::vector<std::string> argv, const std::string& result, const std::string& there) {
  if (children_.size() >= kAtOnce)
    return usage_error(std::to_string(kAtOnce) + " jobs run already: wait, or `job cancel N`");
  Job job;
  job.number = last_ + 1;
  job.kind = kind;
  job.what = what;
  job.user = user;
  job.started_s = ::time(nullptr);
  job.folder = folder_ / std::to_string(job.number);
  std::error_code wrong;
  fs::create_directories(job.folder, wrong);
  if (wrong) return unavailable(job.folder.string() + ": cannot be made, " + wrong.message());
  job.result = filled(result, job.folder.string());
  for (std::string& word : argv) word = filled(word, job.folder.string());
  if (!there.empty())
    if (auto written = config::write_file_atomically(job.result, there); !written) return unexpected(written.error());

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return unavailable(std::string("no pipe for the job: ") + std::strerror(errno));
  // Asked for progress also where nobody's terminal is.
  std::vector<char*> environment;
  std::string progress = "LIGATURE_PROGRESS=1";
  for (char** e = environ; *e != nullptr; ++e) environment.push_back(*e);
  environment.push_back(progress.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigemptyset(&all);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ}) sigaddset(&all, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  const sched_param ordinary{};
  posix_spawnattr_setschedpolicy(&attributes, SCHED_BATCH);
  posix_spawnattr_setschedparam(&attributes, &ordinary);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSCHEDULER | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> words;
  for (std::string& word : argv) words.push_back(word.data());
  words.push_back(nullptr);
  pid_t pid = -1;
  const int code = posix_spawn(&pid, words[0], &actions, &attributes, words.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (code != 0) {
    ::close(ends[0]);
    fs::remove_all(job.folder, wrong);
    return unavailable(argv[0] + ": cannot be started: " + std::strerror(code));
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  last_ = job.number;
  children_.push_back({job.number, pid, ends[0], "", 0});
  jobs_.push_back(std::move(job));
  while (jobs_.size() > kKept && jobs_.front().over()) {
    fs::remove_all(jobs_.front().folder, wrong);
    jobs_.pop_front();
  }
  return last_;
}

Result<void> Jobs::cancel(int number) {
  const auto child =
      std::find_if(children_.begin(), children_.end(), [&](const Child& c) { return c.number == number; });
  if (child == children_.end())
    return usage_error("job " + std::to_string(number) + (find(number) ? " is over already" : " is not known"));
  ::kill(-child->pid, SIGTERM);
  child->kill_at_s = now_s() + kPatience_s;
  for (Job& job : jobs_)
    if (job.number == number) job.state = Job::State::cancelling;
  return {};
}

void Jobs::take(Child& child, Job& job) {
  std::array<char, 4096> buffer;
  // Bounded a call: a job that talks without end must not keep the shell.
  for (int round = 0; round < 16; ++round) {
    const ssize_t n = ::read(child.out, buffer.data(), buffer.size());
    if (n <= 0) return;
    for (ssize_t i = 0; i < n; ++i) {
      const char c = buffer[static_cast<std::size_t>(i)];
      if (c == '\033' || (c == '[' && child.escape) || (c == 'K' && child.escape)) {  // "erase the line"
        child.escape = c != 'K';
        continue;
      }
      child.escape = false;
      if (c == '\r') {
        if (!child.part.empty()) job.progress = child.part;
        child.part.clear();
      } else if (c == '\n') {
        job.lines.push_back(child.part);
        ++job.lines_seen;
        if (job.lines.size() > Job::kLines) job.lines.pop_front();
        child.part.clear();
      } else if (child.part.size() < kMostLine && (static_cast<unsigned char>(c) >= 0x20 || c == '\t')) {
        child.part += c;
      }
    }
    if (!child.part.empty()) job.progress = child.part;
  }
}

std::vector<int> Jobs::poll() {
  std::vector<int> ended;
  for (std::size_t i = 0; i < children_.size();) {
    Child& child = children_[i];
    Job& job = *std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& j) { return j.number == child.number; });
    int status = 0;
    const pid_t gone = ::waitpid(child.pid, &status, WNOHANG);
    take(child, job);
    if (gone == 0) {
      if (child.kill_at_s > 0 && now_s() > child.kill_at_s) ::kill(-child.pid, SIGKILL);
      ++i;
      continue;
    }
    if (!child.part.empty()) job.lines.push_back(child.part), ++job.lines_seen;
    job.ended_s = ::time(nullptr);
    job.exit_code = gone > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    job.state = job.state == Job::State::cancelling ? Job::State::cancelled
                : job.exit_code == 0                ? Job::State::done
                                                    : Job::State::failed;
    ended.push_back(job.number);
    ::close(child.out);
    children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return ended;
}

}  // namespace ligature::shell
