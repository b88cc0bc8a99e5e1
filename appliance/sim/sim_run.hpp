#pragma once
/// `ligature sim`: the physics alone, as fast as it goes. Deterministic: no clock but for the timings, and the same
/// bits whatever number of threads it runs on.
#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "appliance/sim/film.hpp"
#include "sim/base/result.hpp"

namespace ligature::simulate {

inline constexpr std::size_t kMostWidth = 16;

struct SimOptions {
  std::filesystem::path scenario;
  std::filesystem::path out;   ///< folder of summary.json and the tables; empty: none are written
  std::filesystem::path plot;  ///< .svg or .png; empty: no picture
  FilmOptions film;
  std::filesystem::path dump_contacts;  ///< folder of contact problems between strands; empty: none are written
  std::vector<std::string> expect;      ///< "rest", "holds", "opens", "knot=NAME"
  std::size_t width = 1;    ///< threads that share the work of a step, the caller's one of them; 1 to kMostWidth
  bool every_step = false;  ///< writes curves and energies after every step, whatever output.every_s says
  bool progress = false;    ///< a line on standard error that moves
  const std::atomic<bool>* stop_request = nullptr;
};

struct SimOutcome {
  int exit_code = 0;      ///< 0, or 1 with a complaint
  std::string summary;    ///< summary.json
  std::string table;      ///< the same for people
  std::string complaint;  ///< one line, or empty
  std::string note;       ///< what was asked for and is not there without fault of the run: one line, or empty
};

/// Error::Kind::usage: nothing was started and nothing written; unavailable: no threads to be had.
Result<SimOutcome> simulate(const SimOptions& options);

/// A file, or the name of a shipped scenario: "thread/catenary".
std::filesystem::path resolve_scenario(const std::string& name, const std::vector<std::filesystem::path>& data_dirs);

}  // namespace ligature::simulate
