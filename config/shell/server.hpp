#pragma once
/// The shell's door: a Unix socket, one line in, one JSON object a line out. No network.
///
///   in    run LINE | suggest LINE | stop
///   out   {"type":"hello","text":..,"prompt":..,"role":..}         once; or {"type":"refused","text":..} and the end
///         {"type":"answer","status":..,"text":..,"data":..,"prompt":..,"live":bool,"leave":bool}   one for each run
///         {"type":"live","text":..,"data":..} ... {"type":"end","prompt":..}     after an answer that goes on
///         {"type":"choices","from":n,"choices":[{"word":..,"help":..}],"complete":bool,"text":..}  one for each
///         suggest
///         {"type":"notice","text":..,"prompt":..}                  at any time
///
/// Everybody may knock (mode 0666), so that refusals can be told and audited; who may come in is decided from the
/// kernel's word about the peer. A line that is too long is refused and skipped, one that is longer than 4 MB ends the
/// session. Faster commands than allowed are read later. Boost.Asio stays behind this header.
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "config/shell/shell.hpp"

namespace ligature::shell {

class Server {
 public:
  using Who = std::function<Result<Peer>(int socket)>;
  /// What create() would refuse, asked before anything is made. Errors: usage.
  static Result<void> check(const std::filesystem::path& socket);
  /// Errors: usage when another process listens there, unavailable when the socket cannot be made.
  /// @param who asked of every peer; another one in tests
  static Result<std::unique_ptr<Server>> create(Shell& shell, const std::filesystem::path& socket, Who who = peer_of);
  ~Server();  ///< removes the socket

  /// Serves until stop(). One thread, which also calls everything in Shell.
  void run();
  /// Any thread.
  void stop();

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// /run/ligature/shell.sock for root, otherwise ligature/shell.sock in XDG_RUNTIME_DIR, otherwise one per user in /tmp.
/// @param client looks for one that is there, the machine's first
std::filesystem::path default_socket(bool client);

}  // namespace ligature::shell
