#pragma once
/// The client's side of the shell: one connection, lines and answers; a prompt with history, completion and pages.
#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/result.hpp"

namespace ligature::shell {

struct ClientOptions {
  std::filesystem::path socket;
  std::vector<std::string> commands;  ///< run these and end; the first that is not ok ends it
  std::vector<std::string> places;    ///< of the commands, for errors: "FILE:12"; empty: none
  bool json = false;                  ///< one object of all answers on standard output
  bool echo = false;                  ///< each command of a script after its prompt, as at a terminal
  bool interactive = false;           ///< a prompt on the terminal
  bool history = true;                ///< kept in the user's home
};

/// @return the exit code: 0 all were ok, 1 refused or failed, 2 wrong
/// Errors: unavailable when nobody listens or the server does not let this user in.
Result<int> run_client(const ClientOptions& options);

}  // namespace ligature::shell
