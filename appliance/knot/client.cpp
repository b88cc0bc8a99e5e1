#include "appliance/knot/client.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

extern char** environ;

namespace ligature::knot {
namespace {

constexpr std::size_t kMostAnswer = 1 << 20;  // bytes; a longer line is no answer

}  // namespace

std::filesystem::path knot_program() {
  if (const char* named = std::getenv("LIGATURE_KNOT_PROGRAM")) return named;
  std::error_code wrong;
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", wrong);
  return wrong ? std::filesystem::path("ligature-knot") : program.replace_filename("ligature-knot");
}

Result<Client> Client::start(const std::filesystem::path& program) {
  int to[2] = {-1, -1}, from[2] = {-1, -1};
  // A socket, since a pipe whose reader has died can only be written to at the risk of SIGPIPE.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, to) != 0 || pipe2(from, O_CLOEXEC) != 0) {
    const std::string why = std::strerror(errno);
    for (const int end : {to[0], to[1]})
      if (end >= 0) close(end);
    return unavailable("ligature-knot cannot be started: " + why);
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  // An ordinary thread's policy and no blocked signals, whoever starts it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  const sched_param ordinary{};
  posix_spawnattr_setschedpolicy(&attributes, SCHED_OTHER);
  posix_spawnattr_setschedparam(&attributes, &ordinary);
  // A group of its own, so that an interrupt at the terminal is for us to deal with.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSCHEDULER | POSIX_SPAWN_SETPGROUP);
  std::string path = program.string(), option = "--serve";
  char* const words[] = {path.data(), option.data(), nullptr};
  pid_t child = -1;
  const int code = posix_spawn(&child, path.c_str(), &actions, &attributes, words, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(to[0]);
  close(from[1]);
  if (code != 0) {
    close(to[1]);
    close(from[0]);
    return unavailable(path + ": cannot be started: " + std::strerror(code) + ": build the target ligature-knot");
  }
  fcntl(to[1], F_SETFL, O_NONBLOCK);
  fcntl(from[0], F_SETFL, O_NONBLOCK);
  return Client(child, to[1], from[0]);
}

Client::Client(Client&& other) noexcept {
  *this = std::move(other);
}

Client& Client::operator=(Client&& other) noexcept {
  if (this != &other) {
    stop();
    child_ = std::exchange(other.child_, -1);
    to_ = std::exchange(other.to_, -1);
    from_ = std::exchange(other.from_, -1);
    outgoing_ = std::move(other.outgoing_);
    incoming_ = std::move(other.incoming_);
    busy_ = std::exchange(other.busy_, false);
  }
  return *this;
}

Client::~Client() {
  stop();
}

void Client::stop() {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  to_ = from_ = -1;
  if (child_ > 0) {
    // It keeps nothing that could be lost.
    kill(child_, SIGKILL);
    while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  child_ = -1;
  busy_ = false;
}

Result<void> Client::ask(const Question& question) {
  if (child_ < 0) return unavailable("ligature-knot is gone");
  if (busy_) return failure("a question is still open");
  outgoing_ = to_json(question) + "\n";
  incoming_.clear();
  busy_ = true;
  return {};
}

std::optional<Result<Answer>> Client::wait(int timeout_ms) {
  const auto gone = [this](const std::string& why) -> Result<Answer> {
    stop();
    return unavailable("ligature-knot is gone: " + why);
  };
  if (child_ < 0) return Result<Answer>(unavailable("ligature-knot is gone"));
  if (!busy_) return std::nullopt;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    std::array<pollfd, 2> ends{{{from_, POLLIN, 0}, {outgoing_.empty() ? -1 : to_, POLLOUT, 0}}};
    const int ready = ::poll(ends.data(), ends.size(), left > 0 ? static_cast<int>(left) : 0);
    if (ready < 0 && errno != EINTR) return gone(std::strerror(errno));
    if (ready > 0 && ends[1].revents != 0) {
      const ssize_t sent = send(to_, outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
      if (sent > 0)
        outgoing_.erase(0, static_cast<std::size_t>(sent));
      else if (sent < 0 && errno != EAGAIN && errno != EINTR)
        return gone(std::strerror(errno));
    }
    if (ready > 0 && ends[0].revents != 0) {
      std::array<char, 4096> part;
      const ssize_t got = read(from_, part.data(), part.size());
      if (got == 0) return gone("it ended");
      if (got < 0 && errno != EAGAIN && errno != EINTR) return gone(std::strerror(errno));
      if (got > 0) incoming_.append(part.data(), static_cast<std::size_t>(got));
      if (const auto newline = incoming_.find('\n'); newline != std::string::npos) {
        busy_ = false;
        auto answer = parse_answer(std::string_view(incoming_).substr(0, newline));
        return answer;
      }
      if (incoming_.size() > kMostAnswer) return gone("it answers without end");
    }
    if (ready <= 0 && left <= 0) return std::nullopt;
  }
}

}  // namespace ligature::knot
