#pragma once
/// Replaces a file so that a power cut leaves the old one or the new one, never half.
#include <filesystem>
#include <string_view>

#include "sim/base/result.hpp"

namespace ligature::config {

/// Writes `.NAME.new` beside the target, flushes it to the disk, renames it over the target and flushes the folder.
///
/// A symbolic link stays one: its target is replaced. The mode of an existing file is kept. Two writers take turns
/// (flock on the new file); the later one wins. What a killed writer leaves behind, the next one reuses.
/// @return Error::Kind::failed with the reason (no space, no permission, no such folder); the target is then untouched
Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view content);

}  // namespace ligature::config
