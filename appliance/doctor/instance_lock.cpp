#include "appliance/doctor/instance_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace ligature::doctor {
namespace {

long pid_in(int fd) {
  char text[32] = {};
  const ssize_t n = pread(fd, text, sizeof text - 1, 0);
  const long pid = n > 0 ? std::strtol(text, nullptr, 10) : 0;
  return pid > 0 ? pid : -1;
}

}  // namespace

std::string InstanceLock::default_path() {
  if (geteuid() == 0) return "/run/ligature.lock";
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/') return std::string(runtime) + "/ligature.lock";
  return "/tmp/ligature-" + std::to_string(geteuid()) + ".lock";
}

Result<InstanceLock> InstanceLock::acquire(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0)
    return unavailable(path + ": cannot be opened for the instance lock, " + std::strerror(errno) +
                       ": give the user a writable XDG_RUNTIME_DIR");
  InstanceLock lock(fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return unavailable(path + ": cannot be locked, " + std::strerror(errno));
    const long pid = pid_in(fd);
    if (pid < 0) return usage_error(path + ": another ligature runs on this machine already: stop it first");
    return usage_error(path + ": another ligature runs on this machine already, pid " + std::to_string(pid) +
                       ": stop it with 'systemctl stop ligature' or 'kill " + std::to_string(pid) + "'");
  }
  const std::string pid = std::to_string(getpid()) + "\n";
  if (ftruncate(fd, 0) != 0 || pwrite(fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size()))
    return unavailable(path + ": the pid cannot be written, " + std::strerror(errno));
  return lock;
}

long InstanceLock::holder(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return 0;
  const InstanceLock closes(fd);
  if (flock(fd, LOCK_SH | LOCK_NB) == 0) return 0;
  return pid_in(fd);
}

InstanceLock::~InstanceLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace ligature::doctor
