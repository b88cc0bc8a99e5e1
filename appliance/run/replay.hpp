#pragma once
/// Runs the physics again from a sample log: the same scenario and log give the same state, bit for bit.
#include <cstdint>
#include <functional>
#include <string>

#include "config/scenario_file.hpp"
#include "sim/base/result.hpp"
#include "sim/world/world.hpp"

namespace ligature::appliance {

struct ReplayResult {
  std::uint64_t steps = 0;
  std::uint64_t state_hash = 0;
  std::uint64_t recorded_hash = 0;  ///< what the session itself reported
  bool complete = true;             ///< false: the session was cut off; steps then reach to the log's last line
  /// Records that the session wrote and the log no longer has: then steps reach to its last line, too.
  std::uint64_t missing = 0;
  std::uint32_t grasps = 0;
};

/// The session as it is replayed: at its start and after every step.
struct ReplayMoment {
  const config::Scenario& scenario;  ///< of the exercise at hand
  const world::World& world;         ///< not stepped while the session is paused
  double time_s = 0, end_s = 0;      ///< since the session began; when it ends
  bool fresh = false;                ///< the first moment, or the first of another exercise
};
using ReplayWatch = std::function<Result<void>(const ReplayMoment&)>;

/// @param directory  the --out directory of a `ligature run` (session.json and samples.csv)
/// @param watch  sees every moment; its error ends the replay. Or none
Result<ReplayResult> replay_session(const std::string& directory, const ReplayWatch& watch = nullptr);

}  // namespace ligature::appliance
