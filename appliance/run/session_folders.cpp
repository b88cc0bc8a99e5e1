#include "appliance/run/session_folders.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "config/store/clock.hpp"

namespace ligature::appliance {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kShape = "0000-00-00T00:00:00Z";

std::uintmax_t bytes_in(const fs::path& folder) {
  std::uintmax_t sum = 0;
  std::error_code wrong;
  for (fs::recursive_directory_iterator it(folder, wrong), end; !wrong && it != end; it.increment(wrong)) {
    std::error_code gone;
    if (it->is_regular_file(gone) && !it->is_symlink(gone))
      if (const auto size = it->file_size(gone); !gone) sum += size;
  }
  return sum;
}

}  // namespace

bool is_session_name(const std::string& name) {
  if (name.size() < kShape.size()) return false;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const bool digit = std::isdigit(static_cast<unsigned char>(name[i])) != 0;
    if (kShape[i] == '0' ? !digit : name[i] != kShape[i]) return false;
  }
  const std::string rest = name.substr(kShape.size());
  return rest.empty() || (rest.size() > 1 && rest.front() == '-' &&
                          std::all_of(rest.begin() + 1, rest.end(), [](char c) { return c >= '0' && c <= '9'; }));
}

fs::path new_session_folder(const fs::path& root, std::int64_t wall_s) {
  const std::string name = store::utc(wall_s);
  fs::path folder = root / name;
  std::error_code gone;
  for (int i = 2; fs::exists(folder, gone); ++i) folder = root / (name + "-" + std::to_string(i));
  return folder;
}

FolderHold::FolderHold(FolderHold&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
FolderHold& FolderHold::operator=(FolderHold&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
FolderHold::~FolderHold() {
  if (fd_ >= 0) ::close(fd_);
}

std::optional<FolderHold> FolderHold::share(const fs::path& folder) {
  return lock(folder, LOCK_SH);
}
std::optional<FolderHold> FolderHold::take(const fs::path& folder) {
  return lock(folder, LOCK_EX);
}
std::optional<FolderHold> FolderHold::lock(const fs::path& folder, int how) {
  FolderHold hold;
  hold.fd_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (hold.fd_ < 0 || ::flock(hold.fd_, how | LOCK_NB) != 0) return std::nullopt;
  return hold;
}

std::vector<std::string> prune_sessions(const fs::path& root, std::size_t most, std::uintmax_t most_bytes) {
  struct Folder {
    std::string name;
    std::uintmax_t bytes;
  };
  std::vector<Folder> all;
  std::uintmax_t sum = 0;
  std::error_code wrong;
  for (fs::directory_iterator it(root, wrong), end; !wrong && it != end; it.increment(wrong)) {
    std::error_code gone;
    const std::string name = it->path().filename().string();
    if (!is_session_name(name) || it->is_symlink(gone) || !it->is_directory(gone)) continue;
    all.push_back({name, bytes_in(it->path())});
    sum += all.back().bytes;
  }
  // By number, not by letter, where several began in one second.
  std::sort(all.begin(), all.end(), [](const Folder& a, const Folder& b) {
    const auto key = [](const std::string& n) { return std::pair(n.substr(0, kShape.size()), n.size()); };
    return key(a.name) != key(b.name) ? key(a.name) < key(b.name) : a.name < b.name;
  });
  std::vector<std::string> said;
  std::size_t left = all.size(), removed = 0;
  std::uintmax_t freed = 0;
  std::string first, last;
  for (const Folder& folder : all) {
    // However large it is, the newest stays; what cannot go is not made up for by others.
    if (left <= most && (sum <= most_bytes || &folder == &all.back())) break;
    const auto keep = [&] { --left, sum -= folder.bytes; };
    const fs::path path = root / folder.name;
    const auto hold = FolderHold::take(path);
    if (!hold) {
      said.push_back(
          fmt::format("the old session {} is in use: kept beyond output.keep_sessions and keep_gb", folder.name));
      keep();
      continue;
    }
    std::error_code failed;
    fs::remove_all(path, failed);
    if (failed) {
      said.push_back(fmt::format("the old session {} cannot be removed: {}", path.string(), failed.message()));
      keep();
      continue;
    }
    ++removed, --left;
    sum -= folder.bytes, freed += folder.bytes;
    if (first.empty()) first = folder.name;
    last = folder.name;
  }
  if (removed > 0)
    said.push_back(fmt::format("{} old session{} removed, {}{} ({:.1f} MB), as output.keep_sessions and keep_gb ask",
                               removed, removed == 1 ? "" : "s", first, removed == 1 ? "" : " to " + last,
                               static_cast<double>(freed) * 1e-6));
  return said;
}

}  // namespace ligature::appliance
