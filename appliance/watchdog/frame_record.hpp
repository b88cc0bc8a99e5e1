#pragma once
/// When one trigger of the cameras passed each stage. Filled along the way, sent to the recorder by value.
#include <cstdint>

namespace ligature::watchdog {

/// CLOCK_MONOTONIC [ns] unless it says otherwise; 0 = did not happen (yet).
struct FrameRecord {
  std::uint64_t trigger = 0;                 ///< sequence of the InstrumentSample the picture shows
  std::uint64_t step = 0;                    ///< of the snapshot
  std::uint64_t picture = 0;                 ///< number of the presented picture
  std::int64_t mid_exposure_session_ns = 0;  ///< session time
  std::int64_t mid_exposure_ns = 0;          ///< the same instant on CLOCK_MONOTONIC
  std::int64_t captured_ns = 0;              ///< last image of the trigger arrived
  std::int64_t detected_ns = 0;              ///< last camera's markers found
  std::int64_t tracked_ns = 0;               ///< InstrumentSample published
  std::int64_t physics_start_ns = 0;
  std::int64_t physics_end_ns = 0;
  std::int64_t snapshot_ns = 0;  ///< SceneSnapshot published
  std::int64_t render_start_ns = 0;
  std::int64_t presented_ns = 0;
  std::uint8_t cameras_alive = 0;  ///< bit i = camera i contributed
  std::uint8_t cameras_blind = 0;  ///< bit i = it has shown no marker for a while, and others do; not logged

  /// Mid-exposure to presented picture; -1 when one of them is missing.
  std::int64_t latency_ns() const {
    return mid_exposure_ns == 0 || presented_ns == 0 ? -1 : presented_ns - mid_exposure_ns;
  }
};

}  // namespace ligature::watchdog
