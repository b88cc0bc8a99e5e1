#pragma once
/// Runs the physics again from a sample log: the same scenario and log give the same state, bit for bit.
#include <cstdint>
#include <string>

#include "sim/base/result.hpp"

namespace ligature::appliance {

struct ReplayResult {
  std::uint64_t steps = 0;
  std::uint64_t state_hash = 0;
  std::uint64_t recorded_hash = 0;  ///< what the session itself reported
  bool complete = true;             ///< false: the session was cut off; steps then reach to the log's last line
  std::uint32_t grasps = 0;
};

/// @param directory  the --out directory of a `ligature run` (session.json and samples.csv)
Result<ReplayResult> replay_session(const std::string& directory);

}  // namespace ligature::appliance
