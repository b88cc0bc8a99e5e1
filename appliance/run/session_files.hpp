#pragma once
/// The files that make a session complete: report.json for people, session.json and a copy of the rig for the replay,
/// frames.csv with every stage's stamp of every presented picture.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "appliance/watchdog/frame_record.hpp"
#include "config/profile_file.hpp"
#include "drivers/rig.hpp"
#include "sim/base/result.hpp"
#include "sim/world/params.hpp"

namespace ligature::appliance {

/// Where the rig says that the world lies, and where the forceps' hinges are.
void place_scene(const drivers::Rig& rig, world::WorldParams& params);

/// Old or new, never half.
Result<void> write_session_files(const std::filesystem::path& directory, const config::Profile& profile,
                                 const drivers::Rig& rig, std::uint64_t steps, double step_s, std::uint64_t state_hash,
                                 const std::string& report);

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
