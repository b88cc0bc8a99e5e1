#pragma once
/// `ligature sim`: the physics alone, as fast as it goes. Deterministic: one thread, no clock but for the timings.
#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/result.hpp"

namespace ligature::simulate {

struct SimOptions {
  std::filesystem::path scenario;
  std::filesystem::path out;        ///< folder of summary.json and the tables; empty: none are written
  std::filesystem::path plot;       ///< .svg or .png; empty: no picture
  std::vector<std::string> expect;  ///< "rest", "holds", "opens"
  bool every_step = false;          ///< writes curves and energies after every step, whatever output.every_s says
  bool progress = false;            ///< a line on standard error that moves
  const std::atomic<bool>* stop_request = nullptr;
};

struct SimOutcome {
  int exit_code = 0;      ///< 0, or 1 with a complaint
  std::string summary;    ///< summary.json
  std::string table;      ///< the same for people
  std::string complaint;  ///< one line, or empty
};

/// Error::Kind::usage: nothing was started and nothing written.
Result<SimOutcome> simulate(const SimOptions& options);

/// A file, or the name of a shipped scenario: "thread/catenary".
std::filesystem::path resolve_scenario(const std::string& name, const std::vector<std::filesystem::path>& data_dirs);

}  // namespace ligature::simulate
