#pragma once
/// What the real-time threads share.
///
///   camera 0..3 --Link--> tracking --Link--> physics --Link--> render --Link--> writer (not real-time)
///
/// Every Link is a triple buffer with one writer and one reader. In pace `lockstep` a link hands over every value
/// (the writer waits for the reader); in pace `realtime` it holds the newest and nobody waits.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <opencv2/core/mat.hpp>
#include <optional>
#include <vector>

#include "appliance/rt/signal.hpp"
#include "appliance/rt/spsc_ring.hpp"
#include "appliance/rt/triple_buffer.hpp"
#include "appliance/run/hands.hpp"
#include "appliance/run/sample_log.hpp"
#include "appliance/run/stamps.hpp"
#include "drivers/camera/camera_event.hpp"
#include "drivers/virtual_rig/hand_eye.hpp"
#include "sim/exercise/exercise.hpp"
#include "sim/world/world.hpp"

namespace ligature::appliance {

enum class Pace : std::uint8_t { lockstep, realtime };

/// A presented picture on its way to a file: both eyes side by side, BGRA.
struct PictureSlot {
  std::int64_t time_ns = 0;  ///< session time of the snapshot it shows
  int width_px = 0, height_px = 0;
  std::vector<std::uint8_t> bgra;  ///< memory taken before the start
};

/// A camera's image on its way to the recorder.
struct RecordSlot {
  bool image = false;  ///< false: this trigger has none
  std::uint64_t sequence = 0;
  std::int64_t mid_exposure_ns = 0;
  cv::Mat pixels;  ///< memory taken before the start
};

/// Faults that strike the loops themselves; those of cameras wrap the source. Session times.
struct LoopFaults {
  struct Overrun {
    std::int64_t from_ns = 0, until_ns = 0;
    std::int64_t extra_ns = 0;  ///< the step takes this much longer
    double probability = 1;     ///< per step within the time, drawn from the step's number
  };
  std::vector<Overrun> physics_overrun;
  std::vector<std::int64_t> non_finite_at_ns;      ///< growing
  std::vector<std::int64_t> presenter_lost_at_ns;  ///< growing
};

/// Something worth a line in the report, from a real-time thread to the service thread.
struct LoopEvent {
  enum class Kind : std::uint8_t {
    camera_lost,  ///< index = camera; no image for kLostAfter triggers
    camera_late,  ///< index = camera, value = how many so far; its images came when their triggers were over
    camera_back,
    camera_blind,  ///< index = camera; its images show no marker, others do
    camera_sees,
    skew_compensated,  ///< value = ms between the images of a trigger; from now on above what may be ignored
    skew_gone,
    camera_refused,  ///< index = camera, value = ms that it exposes before or after the others: its images are not used
    camera_accepted,
    regrouped,        ///< drift made other images of the cameras belong together
    instrument_lost,  ///< index = instrument
    instrument_back,
    grasped,  ///< index unused; a grasp began
    released,
    non_finite,          ///< the last good state was restored
    crossing_prevented,  ///< something would have passed through: motion cut short, in the first of such steps in a row
    crossing_found,      ///< the audit found a crossing and the step was undone; likewise
    controlled,          ///< index = Control
    thread_cut,
    physics_behind,   ///< value = s that its step is later than its time, first above PhysicsLoop::kMostBehind
    physics_on_time,  ///< value = s that it was late at most
  };
  Kind kind = Kind::camera_lost;
  std::uint8_t index = 0;
  std::int64_t time_ns = 0;  ///< session time
  double value = 0;
};
using EventRing = rt::SpscRing<LoopEvent, 256>;
using CameraEventRing = rt::SpscRing<drivers::CameraEvent, 64>;

/// What a thread was found to be tied to, for the judge of the exercise.
struct KnotWord {
  std::array<char, 32> throws{};
  std::size_t size = 0;
  std::uint32_t resets = 0;  ///< the scene that it was seen in
};

/// What a session's physics knows of one of its scenarios beside the world.
struct SceneSettings {
  std::optional<exercise::Goal> goal;  ///< none: nothing is judged
  std::vector<double> cuts_s;          ///< of the scene's time: when the cut control is given by itself; growing
};

/// A scene to go on with.
struct FreshScene {
  world::World world;
  std::uint32_t scenario = 0;  ///< among PipelineSettings::scenes
  bool next = false;           ///< because the next one was asked for; else because of a reset
};

struct SceneProgress {
  exercise::Progress progress;
  std::uint32_t scenario = 0;  ///< that it is of
};

struct PipelineSettings {
  Pace pace = Pace::lockstep;
  std::int64_t duration_ns = 0;
  std::int64_t step_ns = 5'000'000;
  std::int64_t sample_delay_ns = 0;  ///< D
  std::int64_t camera_period_ns = 0;
  std::int64_t tracking_timeout_ns = 0;  ///< after a trigger's first image
  bool live = false;                     ///< devices: each counts its own images, triggers are matched by time
  std::int64_t max_skew_ns = 0;          ///< live: images of a trigger further apart are not used together
  HandsParams hands;
  std::int64_t refresh_ns = 0;
  bool pictures = false;  ///< pictures go to the writer
  bool record = false;    ///< camera images go to the recorder
  LoopFaults faults;
  std::vector<SceneSettings> scenes{1};  ///< of the profile's scenarios, in their order
};

/// Made before the first thread starts, destroyed after the last has ended.
struct Pipeline {
  explicit Pipeline(const PipelineSettings& of_this_run);
  ~Pipeline();

  bool realtime() const { return settings.pace == Pace::realtime; }
  bool stopping() const { return stop_flag.load(std::memory_order_acquire); }
  /// Somebody asked to stop: what waits for something that may never come gives up.
  bool abandoned() const { return abandon_flag.load(std::memory_order_acquire); }
  /// Any thread: cameras, tracking and physics end at their next look; picture and files still get what was handed
  /// over.
  void end_input();

  const PipelineSettings settings;
  std::int64_t start_ns = 0;  ///< CLOCK_MONOTONIC at session time 0; set before the threads start
  std::atomic<bool> stop_flag{false}, abandon_flag{false};

  rt::Signal markers_arrived;  ///< rung by every camera for the one tracking thread
  std::array<std::unique_ptr<rt::Link<CameraMarkers>>, kCameras> markers;
  rt::Link<TrackedSample> samples;
  rt::Link<StampedScene> scenes;
  std::unique_ptr<rt::Link<PictureSlot>> pictures;                      ///< null: not wanted
  std::array<std::unique_ptr<rt::Link<RecordSlot>>, kCameras> records;  ///< null: not wanted

  rt::SpscRing<Control, 16> controls;  ///< service -> physics; none is Control::reset or next
  /// service -> physics: the scene to begin anew with. physics -> service: the one that was, to be destroyed. Whoever
  /// takes one out owns it; another is given only once the last was taken back.
  std::atomic<FreshScene*> fresh_scene{nullptr}, worn_scene{nullptr};
  rt::SpscRing<SampleRecord, 4096> sample_log;          ///< physics -> service
  rt::SpscRing<watchdog::FrameRecord, 1024> frame_log;  ///< render -> service
  EventRing tracking_events, physics_events;            ///< -> service
  std::array<CameraEventRing, kCameras> camera_events;  ///< camera -> service
  std::shared_ptr<drivers::HandEye> eye;               ///< physics -> virtual cameras; null: none. Set before the start
  rt::SpscRing<exercise::Event, 128> exercise_events;  ///< physics -> service
  rt::TripleBuffer<SceneProgress> progress;            ///< physics -> service, with every snapshot
  rt::TripleBuffer<KnotWord> knot_words;               ///< service -> physics
  /// physics -> service, a copy once a second of session time and at the end: what knots are named from.
  rt::TripleBuffer<SceneSnapshot> knot_scenes;
  /// camera -> service, tracking -> service: copies of the newest, for those who look.
  std::array<rt::TripleBuffer<drivers::MarkerSet>, kCameras> seen_markers;
  rt::TripleBuffer<InstrumentSample> seen_sample;
};

}  // namespace ligature::appliance
