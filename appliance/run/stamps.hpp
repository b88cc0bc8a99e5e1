#pragma once
/// What travels between the real-time threads: a value of `sim/contract` or `drivers`, and beside it the record of
/// when its stages were done. The stamps stay in the appliance; no physics ever sees them.
#include "appliance/watchdog/frame_record.hpp"
#include "drivers/markers/marker_set.hpp"
#include "sim/contract/instrument_sample.hpp"
#include "sim/contract/scene_snapshot.hpp"

namespace ligature::appliance {

struct CameraMarkers {
  drivers::MarkerSet markers;
  std::int64_t captured_ns = 0;  ///< CLOCK_MONOTONIC
  std::int64_t detected_ns = 0;
};

struct TrackedSample {
  InstrumentSample sample;
  watchdog::FrameRecord record;
};

struct StampedScene {
  SceneSnapshot scene;
  watchdog::FrameRecord record;
};

}  // namespace ligature::appliance
