#pragma once
/// The folders of sessions beside each other: how the newest is called, and which of the old ones go.
///
/// A folder is a session's when it has a session's name and is no link; nothing else in the root is ever touched. One
/// that somebody holds by flock(2) stays: a session shares its own while it runs, an export the one it packs.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ligature::appliance {

/// "2026-11-21T15:47:00Z", or with "-2" and so on behind it where that is taken.
std::filesystem::path new_session_folder(const std::filesystem::path& root, std::int64_t wall_s);
bool is_session_name(const std::string& name);

/// Held until it goes, or the process does.
class FolderHold {
 public:
  FolderHold() = default;
  FolderHold(FolderHold&& other) noexcept;
  FolderHold& operator=(FolderHold&& other) noexcept;
  ~FolderHold();
  /// Beside others who use it. Nothing: it cannot be opened, or is being removed.
  static std::optional<FolderHold> share(const std::filesystem::path& folder);
  /// Alone. Nothing: it cannot be opened, or somebody uses it.
  static std::optional<FolderHold> take(const std::filesystem::path& folder);

 private:
  static std::optional<FolderHold> lock(const std::filesystem::path& folder, int how);
  int fd_ = -1;
};

/// Removes the oldest sessions' folders, by name, until at most `most` with at most `most_bytes` are left.
/// @return what was done and what could not be, one line each
std::vector<std::string> prune_sessions(const std::filesystem::path& root, std::size_t most, std::uintmax_t most_bytes);

}  // namespace ligature::appliance
