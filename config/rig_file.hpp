#pragma once
/// The rig file (CONTRACT: rig file) <-> drivers::Rig: this rig's cameras, markers and the place of the scene.
#include <filesystem>
#include <string>
#include <string_view>

#include "drivers/rig.hpp"
#include "sim/base/result.hpp"

namespace ligature::config {

/// Exactly cameras C0..C3 and instruments left, right with three markers each, whatever their order in the file;
/// all of it checked (keys and ranges: config/README.md).
Result<drivers::Rig> load_rig(const std::filesystem::path& path);
/// The same from memory. @param file name for the error lines
Result<drivers::Rig> parse_rig(std::string_view text, const std::filesystem::path& file);

/// A rig that is not whole yet: one to four cameras, of those that were calibrated. Neither `run` nor `track` takes it.
Result<drivers::Rig> load_partial_rig(const std::filesystem::path& path);

/// The rig as TOML; numbers with as many digits as bring back the same bits.
std::string format_rig(const drivers::Rig& rig);
/// Writes it, old or new and never half. A rig that load_rig would refuse is not written.
Result<void> save_rig(const std::filesystem::path& path, const drivers::Rig& rig);
/// The same for what load_partial_rig takes.
Result<void> save_partial_rig(const std::filesystem::path& path, const drivers::Rig& rig);

}  // namespace ligature::config
