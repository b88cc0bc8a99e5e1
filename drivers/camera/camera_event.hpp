#pragma once
/// What a camera has to say beside its images: to be made on the camera's thread, put into words elsewhere.
#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace ligature::drivers {

/// Text of bounded length, cut when longer; always ends in 0.
template <std::size_t N>
struct FixedText {
  std::array<char, N> chars{};
  const char* c_str() const noexcept { return chars.data(); }
  bool empty() const noexcept { return chars[0] == 0; }
  void assign(const char* text) noexcept {
    std::size_t i = 0;
    for (; i + 1 < N && text[i] != 0; ++i) chars[i] = text[i];
    for (; i < N; ++i) chars[i] = 0;
  }
  bool operator==(const FixedText&) const = default;
};

/// Trivially copyable: crosses threads by value.
struct CameraEvent {
  enum class Kind : std::uint8_t {
    connected,         ///< text = node and name
    gone,              ///< the device left (error = errno); looked for until it is back
    not_found,         ///< no device has this serial or path; text = what is looked for
    ambiguous,         ///< several devices have it; text = what is looked for
    refused,           ///< found, but it cannot be used: text = what it refused, error = errno
    other_serial,      ///< text = the device's serial; the rig file's calibration is of another camera
    control_missing,   ///< the device has no such control; text = its key in the profile
    control_refused,   ///< text = key, wanted, got, error
    rate_differs,      ///< wanted, got [Hz]
    no_device_time,    ///< no monotonic time stamps: those of arrival are used
    bad_time,          ///< a stamp that cannot be, got ms from now: arrival is used; at most every ten seconds
    distrusted,        ///< such stamps came too often: arrival counts until it is connected anew
    frames_lost,       ///< got = how many since it was said last, at most every ten seconds
    sequence_restart,  ///< the device counts from somewhere else: time says what was lost
    corrupt,           ///< image incomplete or not decodable, the first in a row
    stalled,           ///< no image for got seconds: the stream is started again
  };
  Kind kind = Kind::connected;
  int error = 0;
  double wanted = 0, got = 0;
  std::int64_t time_ns = 0;  ///< session time
  FixedText<96> text;
};

/// One line: what happened, what it does, what to do.
std::string describe(const CameraEvent& event);

/// Counted by the camera's thread, read by anybody.
struct CaptureCounters {
  std::atomic<std::uint64_t> images{0};
  std::atomic<std::uint64_t> lost{0};              ///< gaps in the device's sequence
  std::atomic<std::uint64_t> overrun{0};           ///< older than the newest when we came to fetch
  std::atomic<std::uint64_t> corrupt{0};           ///< flagged by the driver, too short, not decodable
  std::atomic<std::uint64_t> bad_time{0};          ///< stamps that could not be
  std::atomic<std::uint64_t> connections{0};       ///< 1 + times that it came back
  std::atomic<std::uint64_t> restarts{0};          ///< of a stalled or broken stream
  std::atomic<std::uint32_t> controls_refused{0};  ///< at the newest connection
  std::atomic<std::int64_t> exposure_ns{0};        ///< read back, or as asked where the device does not tell; likewise
  std::atomic<std::int64_t> period_ns{0};          ///< of its images, by its own stamps
  std::atomic<bool> streaming{false};
};

}  // namespace ligature::drivers
