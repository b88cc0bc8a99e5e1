#pragma once
/// `ligature track`: a recording of the four cameras in, a table of forceps poses out.
#include <atomic>
#include <filesystem>
#include <string>

#include "sim/base/result.hpp"

namespace ligature::tracking {

struct TrackOptions {
  std::filesystem::path rig;
  std::filesystem::path frames;  ///< folder with C0 ... C3 and frames.csv
  std::filesystem::path out;     ///< table of poses; empty or "-": standard output
  bool rows_to_stdout = true;    ///< where `out` is empty: whether rows go to standard output
  bool filter = false;           ///< adds the columns of the filtered stream
  bool progress = false;         ///< a counter on standard error
  const std::atomic<bool>* stop_request = nullptr;
};

struct TrackOutcome {
  int exit_code = 0;      ///< 0, or 1: an instrument was never tracked, the table could not be written, interrupted
  std::string table;      ///< for people
  std::string summary;    ///< one JSON object
  std::string complaint;  ///< lines for standard error
};

/// Errors (usage: nothing was written): a rig file or recording that cannot be used, images that have not the size of
/// the rig's cameras, a table that cannot be made.
Result<TrackOutcome> track(const TrackOptions& options);

}  // namespace ligature::tracking
