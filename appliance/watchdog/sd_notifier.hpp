#pragma once
/// Tells systemd READY, WATCHDOG and STOPPING, and never waits for it.
///
/// Not through sd_notify(3): that blocks for ever when the receiver stops reading. Here a datagram that does not fit is
/// dropped and counted. Protocol: sd_notify(3), one datagram of KEY=VALUE lines to the socket in NOTIFY_SOCKET.
#include <cstdint>
#include <string>

namespace ligature::watchdog {

/// One thread, the service thread. Harmless when there is no socket.
class SdNotifier {
 public:
  /// From the environment: NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID.
  SdNotifier();
  /// @param socket path, or "@name" in the abstract namespace; empty = nobody to tell
  /// @param watchdog_ns systemd's time-out; half of it is kept between two WATCHDOG=1; 0 = none wanted
  SdNotifier(const std::string& socket, std::int64_t watchdog_ns);
  ~SdNotifier();
  SdNotifier(const SdNotifier&) = delete;
  SdNotifier& operator=(const SdNotifier&) = delete;

  bool connected() const { return fd_ >= 0; }
  /// READY=1 until it has been delivered once.
  void ready();
  /// WATCHDOG=1, at most twice per time-out. Call it only when every thread makes progress.
  void watchdog(std::int64_t now_ns);
  /// STOPPING=1 until it has been delivered once.
  void stopping();
  /// STATUS=text, one line for `systemctl status`.
  void status(const std::string& text);

  std::uint64_t sent() const { return sent_; }
  std::uint64_t dropped() const { return dropped_; }  ///< the receiver was not reading

 private:
  bool send(const std::string& message);
  int fd_ = -1;
  std::string address_;
  std::int64_t watchdog_ns_ = 0, last_watchdog_ns_ = 0;
  bool ready_sent_ = false, stopping_sent_ = false;
  std::uint64_t sent_ = 0, dropped_ = 0;
};

}  // namespace ligature::watchdog
