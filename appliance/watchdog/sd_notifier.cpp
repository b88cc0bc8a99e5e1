#include "appliance/watchdog/sd_notifier.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace ligature::watchdog {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::int64_t watchdog_from_environment() {
  const std::string pid = environment("WATCHDOG_PID");
  if (!pid.empty() && std::strtol(pid.c_str(), nullptr, 10) != getpid()) return 0;
  return std::strtoll(environment("WATCHDOG_USEC").c_str(), nullptr, 10) * 1000;
}

}  // namespace

SdNotifier::SdNotifier() : SdNotifier(environment("NOTIFY_SOCKET"), watchdog_from_environment()) {}

SdNotifier::SdNotifier(const std::string& socket_name, std::int64_t watchdog_ns)
    : watchdog_ns_(std::max<std::int64_t>(watchdog_ns, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_name.size() < 2 || socket_name.size() >= sizeof address.sun_path) return;
  if (socket_name[0] != '/' && socket_name[0] != '@') return;
  std::memcpy(address.sun_path, socket_name.data(), socket_name.size());
  if (socket_name[0] == '@') address.sun_path[0] = '\0';
  // An abstract name ends where the address ends; a path has its terminating zero, which is not counted either.
  const std::size_t length = offsetof(sockaddr_un, sun_path) + socket_name.size();
  address_.assign(reinterpret_cast<const char*>(&address), length);
  fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

SdNotifier::~SdNotifier() {
  if (fd_ >= 0) close(fd_);
}

bool SdNotifier::send(const std::string& message) {
  if (fd_ < 0) return false;
  const auto* address = reinterpret_cast<const sockaddr*>(address_.data());
  const ssize_t written = sendto(fd_, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL, address,
                                 static_cast<socklen_t>(address_.size()));
  const bool delivered = written == static_cast<ssize_t>(message.size());
  ++(delivered ? sent_ : dropped_);
  return delivered;
}

void SdNotifier::ready() {
  if (!ready_sent_) ready_sent_ = send("READY=1\n");
}

void SdNotifier::watchdog(std::int64_t now_ns) {
  if (watchdog_ns_ == 0) return;
  if (last_watchdog_ns_ != 0 && now_ns - last_watchdog_ns_ < watchdog_ns_ / 2) return;
  if (send("WATCHDOG=1\n")) last_watchdog_ns_ = now_ns;
}

void SdNotifier::stopping() {
  if (!stopping_sent_) stopping_sent_ = send("STOPPING=1\n");
}

void SdNotifier::status(const std::string& text) {
  std::string line = text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  send("STATUS=" + line + "\n");
}

}  // namespace ligature::watchdog
