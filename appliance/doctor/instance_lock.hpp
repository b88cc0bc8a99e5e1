#pragma once
/// One appliance per machine: the second instance refuses to start and names the first.
#include <string>
#include <utility>

#include "sim/base/result.hpp"

namespace ligature::doctor {

/// Holds an exclusive flock(2) on a file with this process's number in it. The kernel lets go when the process ends,
/// however it ends, so a file left behind locks nobody out.
class InstanceLock {
 public:
  /// /run/ligature.lock for root, otherwise ligature.lock in XDG_RUNTIME_DIR, otherwise one per user in /tmp.
  static std::string default_path();
  /// Errors: another instance holds it (usage: nothing was started; the line names its pid), or the file cannot be
  /// opened (unavailable).
  static Result<InstanceLock> acquire(const std::string& path = default_path());
  /// The pid that holds the lock now; 0 = nobody, -1 = somebody who has not said who.
  static long holder(const std::string& path = default_path());

  InstanceLock(InstanceLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  InstanceLock& operator=(InstanceLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~InstanceLock();

 private:
  explicit InstanceLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace ligature::doctor
