#pragma once
/// Asks `ligature-knot`, a process of its own beside this one, which knot some curves are. No call waits unless it says
/// so; a child that dies or stalls is an error, never a hang.
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "appliance/knot/answer.hpp"

namespace ligature::knot {

/// `ligature-knot` beside the program that runs, or what `$LIGATURE_KNOT_PROGRAM` names.
std::filesystem::path knot_program();

class Client {
 public:
  /// Starts the child, with the lowest priority there is. Error::Kind::unavailable: it cannot be started.
  static Result<Client> start(const std::filesystem::path& program = knot_program());
  Client(Client&& other) noexcept;
  Client& operator=(Client&& other) noexcept;
  ~Client();  ///< ends the child

  /// Hands over a question. @pre not busy
  Result<void> ask(const Question& question);
  /// A question was asked and its answer not taken.
  bool busy() const { return busy_; }
  /// The answer, when it has come; nothing while it has not. Error::Kind::failed: the curves have no answer;
  /// unavailable: the child is gone. Sends on what of the question the pipe did not take before.
  std::optional<Result<Answer>> poll() { return wait(0); }
  /// The same, waiting so long. [ms]
  std::optional<Result<Answer>> wait(int timeout_ms);

 private:
  Client(pid_t child, int to, int from) : child_(child), to_(to), from_(from) {}
  void stop();
  pid_t child_ = -1;
  int to_ = -1, from_ = -1;
  std::string outgoing_, incoming_;
  bool busy_ = false;
};

}  // namespace ligature::knot
