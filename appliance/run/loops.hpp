#pragma once
/// The body of each real-time thread. Each is made on an ordinary thread, runs once, and is read after it has ended;
/// members marked "anybody" may be read while it runs.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "appliance/rt/rt_section.hpp"
#include "appliance/run/hands.hpp"
#include "appliance/run/pipeline.hpp"
#include "appliance/run/scene.hpp"
#include "appliance/watchdog/histogram.hpp"
#include "appliance/watchdog/thread_monitor.hpp"
#include "drivers/camera/frame_source.hpp"
#include "drivers/camera/trigger_matcher.hpp"
#include "drivers/markers/detector.hpp"
#include "drivers/tracking/tracker.hpp"
#include "render/renderer.hpp"
#include "sim/exercise/exercise.hpp"
#include "sim/exercise/gap.hpp"
#include "sim/world/world.hpp"

namespace ligature::appliance {

/// Image in, markers out, at the pace of the camera.
class CameraLoop {
 public:
  CameraLoop(Pipeline& pipeline, watchdog::ThreadMonitor& monitor, std::size_t index,
             std::unique_ptr<drivers::FrameSource> source, drivers::MarkerDetector detector);
  void run() noexcept;
  // anybody
  std::uint64_t captured() const { return captured_.load(std::memory_order_relaxed); }
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }  ///< triggers without an image
  bool failed() const { return failed_.load(std::memory_order_relaxed); }             ///< the source broke
  const drivers::CaptureCounters* counters() const { return source_->counters(); }    ///< null: not a device
  // after the thread has ended
  // of a recording, see drivers::FrameSource
  std::string unusable() const { return source_->unusable(); }
  bool ended() const { return ended_; }  ///< before it was told to stop
  bool more() { return ended_ && source_->more(); }

 private:
  void wait_until(std::int64_t due_ns) noexcept;
  void hand_to_recorder(bool image) noexcept;
  Pipeline& pipeline_;
  watchdog::ThreadMonitor& monitor_;
  std::size_t index_;
  std::unique_ptr<drivers::FrameSource> source_;
  drivers::MarkerDetector detector_;
  drivers::Frame frame_;
  std::atomic<std::uint64_t> captured_{0}, dropped_{0};
  std::atomic<bool> failed_{false};
  bool ended_ = false;
};

/// Markers of all cameras in, the forceps' poses out.
class TrackingLoop {
 public:
  TrackingLoop(Pipeline& pipeline, watchdog::ThreadMonitor& monitor, drivers::Tracker tracker);
  void run() noexcept;
  // anybody
  /// Instruments times triggers with this outcome.
  std::uint64_t count(TrackStatus status) const {
    return counts_[static_cast<std::size_t>(status)].load(std::memory_order_relaxed);
  }
  /// Triggers in which this instrument was tracked.
  std::uint64_t tracked(std::size_t instrument) const {
    return tracked_of_[instrument].load(std::memory_order_relaxed);
  }
  TrackStatus status(std::size_t instrument) const { return status_[instrument].load(std::memory_order_relaxed); }
  /// How camera c's images lay to the middle of their triggers, averaged [ns]; 0 before the first.
  double skew_ns(std::size_t camera) const { return skew_of_[camera].load(std::memory_order_relaxed); }
  /// Images of camera c that came when their trigger was over: the time-out is shorter than cameras deliver apart.
  std::uint64_t late(std::size_t camera) const { return late_of_[camera].load(std::memory_order_relaxed); }
  /// Images of camera c that were too far from the others.
  std::uint64_t refused(std::size_t camera) const { return refused_of_[camera].load(std::memory_order_relaxed); }
  std::uint64_t compensated() const { return compensated_.load(std::memory_order_relaxed); }  ///< triggers
  // after the thread has ended
  const watchdog::Histogram& skews() const { return skews_; }  ///< first to last image of a trigger
  std::uint64_t regrouped() const { return matcher_.regrouped(); }
  double camera_period_ns() const { return matcher_.period_ns(); }  ///< as followed, devices only
  /// From the next trigger on.
  void set_prediction_ms(double ms) { prediction_ms_.store(ms, std::memory_order_relaxed); }
  void set_timeout_ns(std::int64_t ns) { timeout_ns_.store(ns, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kLostAfter = 5;  ///< triggers in a row without an image: a camera is lost
  /// Without a marker in its images while other cameras show some: it is blind (cap, exposure, dirt, a hand before it).
  static constexpr std::int64_t kBlindAfter_ns = 2'000'000'000;
  using Sets = std::array<const drivers::MarkerSet*, kCameras>;
  void run_lockstep() noexcept;
  void run_realtime() noexcept;
  bool all_lost() const noexcept;
  bool publish(const Sets& sets, std::uint64_t sequence, std::int64_t mid_exposure_ns, std::int64_t due_ns,
               const watchdog::FrameRecord& record) noexcept;
  void note_instrument(std::size_t k, TrackStatus status, std::int64_t time_ns) noexcept;
  void note_camera(std::size_t c, bool image, std::int64_t time_ns) noexcept;
  void note_sight(const Sets& sets, std::int64_t time_ns) noexcept;
  void match(std::size_t c) noexcept;
  std::uint8_t note_skew(const Sets& sets, std::int64_t time_ns) noexcept;
  Pipeline& pipeline_;
  watchdog::ThreadMonitor& monitor_;
  drivers::Tracker tracker_;
  drivers::TriggerMatcher matcher_;
  std::array<std::uint64_t, kCameras> trigger_of_{};  ///< that the image at the front of a camera's link belongs to
  std::array<bool, kCameras> matched_{};              ///< ... if it belongs to any
  std::uint64_t regrouped_seen_ = 0;
  std::int64_t regrouped_said_ns_ = INT64_MIN / 2;
  bool skewed_ = false;
  std::uint32_t skew_streak_ = 0;  ///< triggers in a row that say the contrary of skewed_
  std::array<bool, kCameras> camera_refused_{};
  std::array<std::uint32_t, kCameras> refusal_streak_{};
  watchdog::Histogram skews_;
  std::array<std::atomic<double>, kCameras> skew_of_{};
  std::array<std::atomic<std::uint64_t>, kCameras> refused_of_{}, late_of_{};
  std::array<std::uint64_t, kCameras> late_before_{};  // when an image of it was last used
  std::atomic<std::uint64_t> compensated_{0};
  std::array<std::atomic<std::uint64_t>, 3> counts_{};
  std::array<std::atomic<std::uint64_t>, kInstruments> tracked_of_{};
  std::array<std::atomic<TrackStatus>, kInstruments> status_{};
  std::atomic<double> prediction_ms_{-1};  ///< below 0: the tracker's own
  std::atomic<std::int64_t> timeout_ns_;
  std::array<bool, kCameras> lost_{};
  std::array<std::uint32_t, kCameras> missed_{};   ///< triggers in a row
  std::array<std::int64_t, kCameras> blank_ns_{};  ///< since the last marker, time in which others showed some
  std::uint8_t blind_ = 0;                         ///< bit i = camera i
  std::int64_t looked_ns_ = INT64_MAX;             ///< mid-exposure at the last look; before the first, far ahead
};

/// Forceps' poses in, the world moved, a snapshot out; every 5 ms of session time.
class PhysicsLoop {
 public:
  /// @param scene_every  lockstep: hand every n-th step's snapshot to the picture
  /// @param surfaces  of the tissues of every scenario
  PhysicsLoop(Pipeline& pipeline, watchdog::ThreadMonitor& monitor, world::World world, std::uint64_t scene_every,
              const std::vector<std::vector<TissueSurface>>& surfaces);
  void run() noexcept;
  /// Read it after the thread has ended; none: nothing was judged.
  const exercise::Exercise* exercise() const { return exercise_; }
  // anybody
  std::uint64_t steps() const { return steps_.load(std::memory_order_relaxed); }
  /// How often the scene was begun anew; what is left behind for naming knots then is of this scene or a later one.
  std::uint32_t resets() const { return resets_.load(std::memory_order_acquire); }
  std::uint32_t scenario() const { return scenario_.load(std::memory_order_acquire); }  ///< whose scene it steps

  /// Samples that may wait for t - D to reach them: D of 0.2 s at 1000 Hz, and more.
  static constexpr std::size_t kPending = 256;
  /// Real time: physics that is later than that takes the hands no later for it, as they were D and this before the
  /// newest sample. Hands that stood still until it has caught up would be worse than hands ahead of its clock.
  static constexpr std::int64_t kMostBehind_ns = 250'000'000;

  /// Over the whole run; read it after the thread has ended.
  struct Totals {
    std::uint64_t state_hash = 0;
    std::uint32_t grasps = 0, non_finite_resets = 0;
    std::uint32_t contacts_max = 0, iterations_max = 0;
    std::uint64_t contact_overflows = 0;  ///< steps
    std::uint64_t gave_way = 0;           ///< steps in which a contact bore all that one can
    double penetration_max_mm = 0, residual_max = 0, contact_residual_max = 0;
    std::uint64_t crossings_prevented = 0, crossings_found = 0;
    double held_lag_max_mm = 0;      ///< of what is held, behind where it was told to be
    std::int64_t behind_max_ns = 0;  ///< later than its time by so much
  };
  const Totals& totals() const { return totals_; }

 private:
  static void stage_done(void* context, StepStage stage) noexcept;
  bool take_samples(std::int64_t until_ns) noexcept;
  void push_pending(const TrackedSample& sample) noexcept;
  void take_oldest() noexcept;
  void advance(std::int64_t until_ns) noexcept;
  void note_behind(std::int64_t late_ns, std::int64_t time_ns) noexcept;
  void inject_overrun(std::uint64_t step, std::int64_t time_ns) noexcept;
  void account(const StepReport& report, std::int64_t time_ns) noexcept;
  void take_controls(std::uint64_t step, std::int64_t time_ns) noexcept;
  void obey(Control control, std::uint64_t step, std::int64_t time_ns) noexcept;
  void enter(std::uint32_t scenario) noexcept;
  void judge() noexcept;
  void guide(std::int64_t time_ns) noexcept;
  void show_exercise(const SceneSnapshot& scene) noexcept;

  Pipeline& pipeline_;
  watchdog::ThreadMonitor& monitor_;
  Scene scene_;
  struct Judge {
    exercise::Exercise exercise;
    exercise::EndGap end_gap;
  };
  std::vector<std::optional<Judge>> judges_;  ///< of every scenario; nothing is made once it runs
  exercise::Exercise* exercise_ = nullptr;    ///< of the scene; null: nothing is judged
  exercise::EndGap* end_gap_ = nullptr;
  SceneFacts facts_;
  double gap_mm_;
  std::int64_t gap_ns_ = INT64_MIN / 2;  ///< session time at which it was measured
  std::size_t next_cut_ = 0;             ///< of those that come by themselves
  std::uint64_t scene_every_;
  std::int64_t knots_shown_s_ = 0;  ///< whole seconds of session time at the last snapshot for naming knots
  TrackedSample current_;
  Hands hands_;
  bool fresh_ = false;  ///< current_ has not been used by a step yet
  bool ended_ = false;
  bool preventing_ = false, finding_ = false;  ///< crossings, in the step before
  std::int64_t newest_ns_ = INT64_MIN / 2;     ///< mid-exposure of the newest sample
  std::int64_t behind_ns_ = 0;                 ///< by how much it is later than kMostBehind at most; 0: it is not
  std::array<TrackedSample, kPending> pending_;
  std::size_t pending_first_ = 0, pending_count_ = 0;
  Totals totals_;
  std::atomic<std::uint64_t> steps_{0};
  std::atomic<std::uint32_t> resets_{0}, scenario_{0};
};

/// Snapshots in, stereo pictures out.
class RenderLoop {
 public:
  RenderLoop(Pipeline& pipeline, watchdog::ThreadMonitor& monitor, std::unique_ptr<render::Renderer> renderer);
  ~RenderLoop();
  void run() noexcept;

  // The service thread: making a renderer is nothing for a real-time thread (the driver's workers inherit its policy).
  /// The renderer was lost and given up; a new one is wanted.
  bool wants_renderer() const { return wanted_.load(std::memory_order_acquire); }
  /// Destroys the lost one. Before the new one is made: a display or a device may be had only once.
  void drop_lost() { delete discarded_.exchange(nullptr, std::memory_order_acq_rel); }
  /// Draws with it from the next picture on.
  void give_renderer(std::unique_ptr<render::Renderer> renderer);
  /// Gives up the one that there is, as if it were lost: another scene needs another.
  void renew() { renew_.store(true, std::memory_order_release); }
  /// One line shown above the picture, at most 96 characters; false = the last one is still on its way.
  bool set_message(std::string_view text);
  /// What an exercise ended with, over the picture; an empty sheet takes it away.
  void set_sheet(const render::Sheet& sheet) {
    sheets_.back() = sheet;
    sheets_.publish();
  }
  /// The next picture that is free to is kept, small. @pre frame < render::kFilmFrames
  void keep_picture(std::size_t frame) { keep_.fetch_or(1U << frame, std::memory_order_relaxed); }
  /// What it drew with, when run() is over; null when that was lost.
  const render::Renderer* renderer() const { return renderer_.get(); }
  /// Zoom, eye distance and the like from the next picture on. One that is out of range changes nothing.
  void set_microscope(const render::MicroscopeParams& microscope) {
    microscopes_.back() = microscope;
    microscopes_.publish();
  }
  // anybody
  std::uint64_t presented() const { return presented_.load(std::memory_order_relaxed); }
  std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
  bool close_requested() const { return close_requested_.load(std::memory_order_relaxed); }
  /// Keys pressed in the window since the last call, as bits of render::Key.
  unsigned take_keys() { return keys_.exchange(0, std::memory_order_relaxed); }

 private:
  struct Message {
    std::array<char, 96> text{};
    std::size_t size = 0;
  };
  void hand_to_writer(std::int64_t time_ns) noexcept;
  Pipeline& pipeline_;
  watchdog::ThreadMonitor& monitor_;
  std::unique_ptr<render::Renderer> renderer_;
  std::atomic<render::Renderer*> incoming_{nullptr};
  std::atomic<render::Renderer*> discarded_{nullptr};
  rt::Link<Message> messages_{rt::LinkMode::newest};
  rt::TripleBuffer<render::MicroscopeParams> microscopes_;
  rt::TripleBuffer<render::Sheet> sheets_;
  std::atomic<bool> wanted_{false}, close_requested_{false}, renew_{false};
  std::atomic<unsigned> keys_{0}, keep_{0};
  std::atomic<std::uint64_t> presented_{0}, lost_{0};
};

}  // namespace ligature::appliance
