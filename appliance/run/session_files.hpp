#pragma once
/// The files that make a session complete: report.json for people, session.json and a copy of the rig for the replay,
/// frames.csv with every stage's stamp of every presented picture.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "appliance/watchdog/frame_record.hpp"
#include "config/profile_file.hpp"
#include "drivers/rig.hpp"
#include "sim/base/result.hpp"
#include "sim/world/params.hpp"

namespace ligature::appliance {

/// Indented; bytes that are no UTF-8 (a path may hold any) become the replacement character.
std::string dump(const nlohmann::json& object);

/// Where the rig says that the world lies, and where the forceps' hinges are.
void place_scene(const drivers::Rig& rig, world::WorldParams& params);

/// What the replay must know. Written at the start, with `complete` false, and again at the end.
struct SessionSummary {
  std::uint64_t steps = 0;
  double step_s = 0;
  std::uint64_t state_hash = 0;
  bool complete = false;
  std::uint64_t samples = 0;  ///< records in samples.csv, by which one that lost its end is known
};
/// session.json and rig.toml, each old or new and never half.
Result<void> write_session_files(const std::filesystem::path& directory, const config::Profile& profile,
                                 const drivers::Rig& rig, const SessionSummary& summary);

/// Removes the pictures and the report of a session that ended in this folder: beside the files of the next they would
/// be taken for its own. Other files stay, and so do all where no session was.
void forget_session_before(const std::filesystem::path& directory);

class FrameLogWriter {
 public:
  FrameLogWriter() = default;
  FrameLogWriter(const FrameLogWriter&) = delete;
  FrameLogWriter& operator=(const FrameLogWriter&) = delete;
  ~FrameLogWriter() { close(); }
  Result<void> open(const std::string& path);
  bool write(const watchdog::FrameRecord& record);
  bool flush();
  void close();

 private:
  std::FILE* file_ = nullptr;
};

}  // namespace ligature::appliance
