#include "config/atomic_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace ligature::config {

namespace fs = std::filesystem;

namespace {

struct Descriptor {
  int fd = -1;
  Descriptor() = default;
  explicit Descriptor(int f) : fd(f) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(-1); }
  void reset(int f) {
    if (fd >= 0) ::close(fd);
    fd = f;
  }
};

Unexpected system_error(const fs::path& path, std::string_view what) {
  const int code = errno;
  const char* remedy = code == ENOSPC || code == EDQUOT || code == EFBIG  ? "free some space"
                       : code == EACCES || code == EPERM || code == EROFS ? "check the permissions of its folder"
                       : code == ENOENT || code == ENOTDIR                ? "create its folder first"
                       : code == EISDIR                                   ? "name a file, not a folder"
                                                                          : "look at the disk";
  return failure(path.string() + ": cannot " + std::string(what) + " (" + std::strerror(code) +
                 "), the file is unchanged: " + remedy);
}

/// Opens `fresh` and holds its lock; the file behind the name may have been renamed away while waiting.
int open_locked(const fs::path& fresh) {
  while (true) {
    const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) return -1;
    struct stat mine {
    }, named{};
    if (::flock(fd, LOCK_EX) == 0 && ::fstat(fd, &mine) == 0) {
      if (::stat(fresh.c_str(), &named) == 0 && mine.st_ino == named.st_ino && mine.st_dev == named.st_dev) return fd;
      ::close(fd);
      continue;
    }
    const int code = errno;
    ::close(fd);
    if (code == EINTR) continue;
    errno = code;
    return -1;
  }
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

Result<void> write_file_atomically(const fs::path& path, std::string_view content) {
  std::error_code ignored;
  fs::path target = path;
  if (fs::is_symlink(path, ignored)) {
    const fs::path resolved = fs::weakly_canonical(path, ignored);
    if (!ignored) target = resolved;
  }
  if (target.filename().empty() || fs::is_directory(target, ignored)) {
    errno = EISDIR;
    return system_error(path, "write");
  }
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const fs::path fresh = folder / ("." + target.filename().string() + ".new");

  const Descriptor file(open_locked(fresh));
  if (file.fd < 0) return system_error(path, "write");
  const auto give_up = [&](std::string_view what) {
    auto error = system_error(path, what);
    ::unlink(fresh.c_str());  // ours: the lock is held and the name still meant this file
    return error;
  };
  struct stat old {};
  const mode_t mode = ::stat(target.c_str(), &old) == 0 ? old.st_mode & 07777 : 0644;
  if (::ftruncate(file.fd, 0) != 0 || !write_all(file.fd, content)) return give_up("write");
  if (::fchmod(file.fd, mode) != 0) return give_up("set the permissions");
  if (::fsync(file.fd) != 0) return give_up("flush");
  if (::rename(fresh.c_str(), target.c_str()) != 0) return give_up("replace");
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // The new file stands; only whether it survives a power cut in this second is open.
  if (directory.fd >= 0) ::fsync(directory.fd);
  return {};
}

}  // namespace ligature::config
