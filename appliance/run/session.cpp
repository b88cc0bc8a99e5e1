#include "appliance/run/session.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <utility>

#include "appliance/doctor/doctor.hpp"
#include "appliance/doctor/instance_lock.hpp"
#include "appliance/exercise/exercise_text.hpp"
#include "appliance/rt/thread.hpp"
#include "appliance/run/camera_recorder.hpp"
#include "appliance/run/event_log.hpp"
#include "appliance/run/exercise_watch.hpp"
#include "appliance/run/knot_watch.hpp"
#include "appliance/run/loops.hpp"
#include "appliance/run/picture_writer.hpp"
#include "appliance/run/session_files.hpp"
#include "appliance/run/session_folders.hpp"
#include "appliance/run/session_port.hpp"
#include "appliance/run/sources.hpp"
#include "appliance/version.hpp"
#include "appliance/watchdog/watchdog.hpp"
#include "config/atomic_file.hpp"
#include "config/rig_file.hpp"
#include "config/scenario_file.hpp"
#include "config/scenario_picture.hpp"

namespace ligature::appliance {
namespace {

using nlohmann::json;
using rt::kNsPerMs;
using rt::kNsPerS;

constexpr std::array<const char*, kInstruments> kInstrumentNames{"left", "right"};
constexpr double kShortBy_s = 0.1;  // that a recording may be shorter than what was asked for
constexpr std::array<const char*, kCameras> kCameraThreads{"camera0", "camera1", "camera2", "camera3"};

std::int64_t ns_of(double seconds) {
  return seconds >= 9e9 ? INT64_MAX / 2 : static_cast<std::int64_t>(std::llround(seconds * 1e9));
}
double s_of(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

/// Everything read from files before anything is started.
struct Setup {
  config::Profile profile;
  drivers::Rig rig;
  std::vector<config::Scenario> scenarios;  ///< the profile's, then those that come next
  std::vector<std::filesystem::path> files;
  std::vector<std::vector<TissueSurface>> surfaces;  ///< of each one's tissues, once it has been made
  double step_s = 0;                                 ///< of all of them
  double duration_s = 0;
  std::uint64_t scene_every = 1;  ///< lockstep: steps per picture
};

Result<Setup> read_setup(const RunOptions& options) {
  Setup setup;
  setup.profile = options.profile;
  auto rig = config::load_rig(setup.profile.rig);
  if (!rig) return unexpected(rig.error());
  setup.rig = *rig;
  const config::PlaceSettings& place = setup.profile.place;
  setup.rig.X_RW.p = place.p_RW.value_or(setup.rig.X_RW.p);
  setup.rig.motion_scale = place.motion_scale.value_or(setup.rig.motion_scale);
  setup.files = {setup.profile.scenario};
  setup.files.insert(setup.files.end(), setup.profile.next_scenarios.begin(), setup.profile.next_scenarios.end());
  for (const std::filesystem::path& file : setup.files) {
    auto scenario = config::load_scenario(file, kMaxSnapshotVertices);
    if (!scenario) return unexpected(scenario.error());
    place_scene(setup.rig, scenario->params);
    if (setup.profile.physics.step_ms) scenario->params.step_s = *setup.profile.physics.step_ms * 1e-3;
    if (!setup.scenarios.empty() && scenario->params.step_s != setup.step_s)
      return usage_error(
          fmt::format("{}: key 'next.scenario' is {}, must be a scenario with the step of the first, {} ms: give "
                      "physics.step_ms for all of them",
                      setup.profile.file.string(), file.string(), 1e3 * setup.step_s));
    setup.step_s = scenario->params.step_s;
    setup.scenarios.push_back(std::move(*scenario));
  }
  setup.duration_s = options.duration_s.value_or(setup.profile.duration_s);

  setup.profile.render.params.presenter =
      setup.profile.render.presenter == config::RenderSettings::Presenter::window ? "window"
      : setup.profile.render.presenter == config::RenderSettings::Presenter::none ? "none"
                                                                                  : "offscreen";
  const double slowest_s = std::max(setup.step_s, 1.0 / setup.profile.cameras.rate_hz);
  if (const double longest_ms = 1e3 * static_cast<double>(PhysicsLoop::kPending - 2) * slowest_s;
      setup.profile.sample_delay_ms > longest_ms)
    return usage_error(
        fmt::format("{}: key 'sample_delay_ms' is {}, must be 0..{:.0f} at these rates: more samples would "
                    "wait than there is room for",
                    setup.profile.file.string(), setup.profile.sample_delay_ms, longest_ms));
  const double refresh_s = 1.0 / setup.profile.render.rate_hz;
  setup.scene_every = static_cast<std::uint64_t>(std::max(1.0, std::round(refresh_s / setup.step_s)));
  return setup;
}

PipelineSettings pipeline_settings(const Setup& setup, double camera_rate_hz, bool live, bool pictures, bool record) {
  PipelineSettings s;
  s.pace = setup.profile.pace == config::Pace::realtime ? Pace::realtime : Pace::lockstep;
  s.duration_ns = ns_of(setup.duration_s);
  s.step_ns = ns_of(setup.step_s);
  s.sample_delay_ns = ns_of(setup.profile.sample_delay_ms * 1e-3);
  s.camera_period_ns = ns_of(1.0 / camera_rate_hz);
  s.live = live;
  s.max_skew_ns = ns_of(setup.profile.cameras.max_skew_ms * 1e-3);
  s.tracking_timeout_ns = ns_of(setup.profile.tracking.timeout_ms * 1e-3);
  s.hands = {setup.profile.tracking.filter, setup.profile.tracking.max_lead_ms};
  s.refresh_ns = ns_of(1.0 / setup.profile.render.rate_hz);
  s.pictures = pictures;
  s.record = record;
  s.scenes.clear();
  for (const config::Scenario& scenario : setup.scenarios) {
    SceneSettings& scene = s.scenes.emplace_back();
    if (!scenario.exercise) continue;
    scene.goal = scenario.exercise->goal;
    scene.cuts_s = scenario.exercise->cuts_s;
  }
  using Kind = config::FaultSettings::Kind;
  for (const config::FaultSettings& f : setup.profile.faults) {
    if (f.kind == Kind::physics_overrun)
      s.faults.physics_overrun.push_back({ns_of(f.from_s), ns_of(f.until_s), ns_of(f.delay_ms * 1e-3), f.probability});
    if (f.kind == Kind::non_finite) s.faults.non_finite_at_ns.push_back(ns_of(f.from_s));
    if (f.kind == Kind::presenter_lost) s.faults.presenter_lost_at_ns.push_back(ns_of(f.from_s));
  }
  std::ranges::sort(s.faults.non_finite_at_ns);
  std::ranges::sort(s.faults.presenter_lost_at_ns);
  return s;
}

rt::ThreadSettings thread_settings(const char* name, const config::ThreadSettings& wanted) {
  rt::ThreadSettings s;
  s.name = name;
  s.policy = wanted.policy == config::ThreadSettings::Policy::fifo ? rt::Policy::fifo : rt::Policy::other;
  s.priority = wanted.priority;
  s.core = wanted.core;
  return s;
}

std::string describe(const LoopEvent& event) {
  using Kind = LoopEvent::Kind;
  switch (event.kind) {
    case Kind::camera_lost:
      return fmt::format("camera C{} lost: no image any more, going on with the others", event.index);
    case Kind::camera_late:
      return fmt::format(
          "camera C{} left out: its images come later than tracking.timeout_ms after the first of their trigger, "
          "{:.0f} so "
          "far: allow more, or look what keeps the cores busy",
          event.index, event.value);
    case Kind::camera_back:
      return fmt::format("camera C{} is back", event.index);
    case Kind::camera_blind:
      return fmt::format(
          "camera C{} shows no marker while others do: look at its lens cap, exposure and view; the hands are "
          "tracked by the others",
          event.index);
    case Kind::camera_sees:
      return fmt::format("camera C{} shows markers again", event.index);
    case Kind::skew_compensated:
      return fmt::format(
          "the cameras of a trigger expose {:.2f} ms apart: compensated by each image's own time; a "
          "trigger wire would end it",
          event.value);
    case Kind::skew_gone:
      return fmt::format("the cameras of a trigger expose within {:.2f} ms again", event.value);
    case Kind::camera_refused:
      return fmt::format(
          "camera C{} exposes {:+.2f} ms from the others, more than cameras.max_skew_ms: its images are "
          "NOT USED; wire the trigger, or raise it",
          event.index, event.value);
    case Kind::camera_accepted:
      return fmt::format("camera C{} exposes {:+.2f} ms from the others: its images are used again", event.index,
                         event.value);
    case Kind::regrouped:
      return "the cameras' clocks drifted: other images of them belong together from now on";
    case Kind::instrument_lost:
      return fmt::format("{} forceps lost: lets go gently", kInstrumentNames[event.index]);
    case Kind::instrument_back:
      return fmt::format("{} forceps tracked", kInstrumentNames[event.index]);
    case Kind::grasped:
      return "thread grasped";
    case Kind::released:
      return "thread released";
    case Kind::controlled:
      return fmt::format("control: {}", name_of(static_cast<Control>(event.index)));
    case Kind::thread_cut:
      return "thread cut between the jaws";
    case Kind::non_finite:
      return "physics state was not finite: last good state restored, session goes on";
    case Kind::crossing_prevented:
      return "something would have passed through: motion cut short, what is held may lag";
    case Kind::physics_behind:
      return fmt::format(
          "physics is {:.2f} s BEHIND real time and cannot keep up: what is seen is late, and the hands go ahead of it",
          event.value);
    case Kind::physics_on_time:
      return fmt::format("physics is in time again: it was {:.2f} s behind at most", event.value);
    case Kind::crossing_found:
      return "the audit found strands crossing: step undone, session goes on; keep the sample log";
  }
  return "unknown event";
}

class Session {
 public:
  static Result<std::unique_ptr<Session>> create(const RunOptions& options);
  Result<RunOutcome> run();

 private:
  Session(const RunOptions& options, Setup setup) : options_(options), setup_(std::move(setup)) {}
  Result<void> make_parts();
  Result<void> make_outputs();
  Result<void> start_threads();
  Result<void> abort_start(Result<void> reason);
  void serve();
  void look_after_threads(std::int64_t now_ns);
  void look_after_renderer(std::int64_t now_ns);
  void look_after_disk();
  void drain_rings();
  void tell_of_recording();
  void look_after_knots();
  void look_after_shell(std::int64_t now_ns);
  void look_after_controls();
  std::unique_ptr<FreshScene> make_scene(std::uint32_t scenario, bool next);
  void enter_scenario(std::uint32_t scenario);
  std::vector<std::string> thread_names() const;
  const config::Scenario& scenario() const { return setup_.scenarios[scenario_]; }
  void look_after_exercise();
  void look_at_last_knots();
  void show_progress();
  void report_grants();
  void disk_failed(const std::string& what);
  json make_report();
  std::optional<SessionStatus::Device> device(std::size_t c) const;
  json report_devices() const;
  double now_s() const { return s_of(static_cast<std::int64_t>(physics_->steps()) * pipeline_->settings.step_ns); }
  watchdog::ThreadMonitor& add_monitor(const char* name, std::int64_t period_ns, std::int64_t deadline_ns);
  bool all_finished() const;

  const RunOptions options_;
  Setup setup_;
  std::unique_ptr<doctor::InstanceLock> instance_;
  std::unique_ptr<EventLog> log_;
  std::unique_ptr<Pipeline> pipeline_;
  std::vector<std::unique_ptr<watchdog::ThreadMonitor>> monitors_;
  std::array<std::unique_ptr<CameraLoop>, kCameras> cameras_;
  std::unique_ptr<TrackingLoop> tracking_;
  std::unique_ptr<PhysicsLoop> physics_;
  std::unique_ptr<RenderLoop> render_;
  std::unique_ptr<ExerciseWatch> exercise_;  ///< where there is one
  std::unique_ptr<PictureWriter> writer_;
  std::unique_ptr<CameraRecorder> recorder_;
  std::string renderer_line_;
  render::RenderParams plain_picture_;  ///< without any scene
  watchdog::Watchdog watchdog_;
  watchdog::SdNotifier notifier_;
  rt::ClockWatch clock_watch_;
  doctor::ThrottleWatch throttle_watch_;
  std::unique_ptr<rt::WakeLatencyHold> wake_latency_;  ///< realtime: keeps the cores out of deep idle states
  rt::MemoryReport memory_;
  SampleLogWriter sample_log_;
  FrameLogWriter frame_log_;
  watchdog::Histogram latency_, age_;  ///< of a trigger in its first picture; in every picture
  std::uint64_t last_latency_trigger_ = ~std::uint64_t{0};
  std::int64_t flushed_ns_ = 0, renderer_retry_ns_ = 0, progress_ns_ = 0, throttle_ns_ = 0, published_ns_ = 0;
  int renderer_attempts_ = 0;
  std::uint64_t renderers_made_ = 0, sample_overflow_seen_ = 0;
  bool disk_broken_ = false, asked_to_stop_ = false;
  bool halted_ = false, reset_wanted_ = false, next_wanted_ = false;
  bool scene_given_ = false;                              ///< to physics, which has not given back the one before
  std::uint32_t scenario_ = 0;                            ///< that is shown; physics may be at another for a moment
  bool entering_ = false;                                 ///< the picture is made anew for it
  json attempts_ = json::array();                         ///< at exercises that were left
  std::uint32_t looked_resets_ = 0;                       ///< of the scene whose knots are being named
  std::uint64_t words_ = 0;                               ///< looks whose answer went to physics
  std::string line_;                                      ///< above the picture
  std::unique_ptr<FreshScene> spare_scene_, spare_next_;  ///< for a reset; for the next exercise
  std::vector<std::string> outputs_;
  FolderHold folder_;
  KnotWatch knots_;
  // Last: they end before anything they use goes away.
  std::vector<std::unique_ptr<rt::RtThread>> threads_;
  std::vector<std::thread> helpers_;
};

watchdog::ThreadMonitor& Session::add_monitor(const char* name, std::int64_t period_ns, std::int64_t deadline_ns) {
  watchdog::MonitorSettings s;
  s.name = name;
  s.period_ns = period_ns;
  // Lockstep has no time to be late for: stages are timed, nothing is a miss.
  s.deadline_ns = pipeline_->realtime() ? deadline_ns : 0;
  s.stall_ns = pipeline_->realtime() ? kNsPerS : 30 * kNsPerS;
  monitors_.push_back(std::make_unique<watchdog::ThreadMonitor>(s));
  watchdog_.add(*monitors_.back());
  return *monitors_.back();
}

Result<std::unique_ptr<Session>> Session::create(const RunOptions& options) {
  auto setup = read_setup(options);
  if (!setup) return unexpected(setup.error());
  std::unique_ptr<Session> session(new Session(options, std::move(*setup)));
  if (auto made = session->make_parts(); !made) return unexpected(made.error());
  return session;
}

Result<void> Session::make_parts() {
  std::error_code ignored;
  if (!options_.record.empty() && !options_.out.empty() &&
      std::filesystem::weakly_canonical(options_.record, ignored) ==
          std::filesystem::weakly_canonical(options_.out, ignored))
    return usage_error(fmt::format("--record {}: is the folder of --out, must be another: both write a frames.csv",
                                   options_.record.string()));
  if (!options_.out.empty()) {
    if (const std::string held = drivers::recording_in(options_.out); !held.empty())
      return usage_error(fmt::format("--out {}: holds a recording ({}), whose frames.csv would be lost: name another",
                                     options_.out.string(), held));
    if (std::filesystem::equivalent(options_.out / "rig.toml", setup_.profile.rig, ignored))
      return usage_error(fmt::format(
          "--out {}: holds the profile's rig file, which would be written over: name another", options_.out.string()));
  }
  auto instance = options_.instance_lock.empty() ? doctor::InstanceLock::acquire()
                                                 : doctor::InstanceLock::acquire(options_.instance_lock);
  if (!instance) return unexpected(instance.error());
  instance_ = std::make_unique<doctor::InstanceLock>(std::move(*instance));

  auto opened = open_cameras(setup_.profile, setup_.rig, setup_.duration_s,
                             options_.devices != nullptr ? *options_.devices : drivers::kernel_calls());
  if (!opened) return unexpected(opened.error());

  // The first last: it is the one that begins, and that the picture is made for.
  std::optional<world::World> world;
  setup_.surfaces.resize(setup_.scenarios.size());
  const render::RenderParams plain = setup_.profile.render.params;
  for (std::size_t k = setup_.scenarios.size(); k-- > 0;) {
    auto made = world::World::create(setup_.scenarios[k].params, setup_.scenarios[k].capacity);
    if (!made) return unexpected(config::placed(setup_.scenarios[k], setup_.files[k], made.error()));
    world = std::move(*made);
    setup_.surfaces[k] = world->tissue_surfaces();
    render::RenderParams& shown = setup_.profile.render.params;
    shown = plain;
    config::show_scene(setup_.scenarios[k], setup_.surfaces[k], shown);
    if (auto good = render::check(shown); !shown.tissues.empty() && !good)
      return usage_error(fmt::format("{}: {}", setup_.files[k].string(), good.error().message));
  }
  plain_picture_ = plain;
  auto renderer = render::Renderer::create(setup_.profile.render.params, version_line());
  if (!renderer) return unexpected(renderer.error());
  renderer_line_ = (*renderer)->info().line();
  const bool pictures = static_cast<bool>((*renderer)->picture()) && !options_.out.empty() &&
                        (setup_.profile.output.video || !setup_.profile.output.picture_times_s.empty());
  const bool record = !options_.record.empty();
  pipeline_ = std::make_unique<Pipeline>(pipeline_settings(setup_, opened->rate_hz, opened->live, pictures, record));
  const PipelineSettings& s = pipeline_->settings;
  pipeline_->eye = opened->eye;

  for (std::size_t c = 0; c < kCameras; ++c) {
    auto detector = drivers::MarkerDetector::create(setup_.rig, c);
    if (!detector) return unexpected(detector.error());
    cameras_[c] =
        std::make_unique<CameraLoop>(*pipeline_, add_monitor(kCameraThreads[c], s.camera_period_ns, s.camera_period_ns),
                                     c, std::move(opened->sources[c]), std::move(*detector));
  }
  drivers::TrackerParams tracker_params;
  tracker_params.prediction_ms = setup_.profile.tracking.prediction_ms;
  // What lies further apart has been left out before: nothing may be left out twice, and unsaid.
  if (s.live) tracker_params.max_skew_ms = std::max(tracker_params.max_skew_ms, setup_.profile.cameras.max_skew_ms);
  auto tracker = drivers::Tracker::create(setup_.rig, tracker_params);
  if (!tracker) return unexpected(tracker.error());
  tracking_ = std::make_unique<TrackingLoop>(*pipeline_, add_monitor("tracking", s.camera_period_ns, 2 * kNsPerMs),
                                             std::move(*tracker));
  physics_ = std::make_unique<PhysicsLoop>(*pipeline_, add_monitor("physics", s.step_ns, s.step_ns), std::move(*world),
                                           setup_.scene_every, setup_.surfaces);
  const render::PictureView view = (*renderer)->picture();
  if (pictures)
    pipeline_->pictures->buffer().for_each_slot([&](PictureSlot& slot) {
      slot.bgra.resize(static_cast<std::size_t>(view.width_px) * static_cast<std::size_t>(view.height_px) * 4);
      slot.width_px = view.width_px;
      slot.height_px = view.height_px;
    });
  const int width_px = view.width_px, height_px = view.height_px;
  render_ =
      std::make_unique<RenderLoop>(*pipeline_, add_monitor("render", s.refresh_ns, s.refresh_ns), std::move(*renderer));
  renderers_made_ = 1;
  if (const auto& goal = s.scenes[0].goal)
    exercise_ = std::make_unique<ExerciseWatch>(*goal, *render_, s.scenes.size() > 1);

  if (record) {  // first: a folder that cannot be used must not cost the session that --out still holds
    auto recorder =
        CameraRecorder::create(*pipeline_, setup_.rig, options_.record, opened->rate_hz, setup_.profile.output.codec);
    if (!recorder) return unexpected(recorder.error());
    recorder_ = std::move(*recorder);
  }
  if (auto made = make_outputs(); !made) return made;
  if (pictures) {
    PictureWriterSettings w;
    w.directory = options_.out;
    w.video = setup_.profile.output.video;
    w.video_rate_hz = pipeline_->realtime() ? setup_.profile.render.rate_hz
                                            : 1.0 / (static_cast<double>(setup_.scene_every) * setup_.step_s);
    w.picture_times_s = setup_.profile.output.picture_times_s;
    w.width_px = width_px;
    w.height_px = height_px;
    w.version_line = version_line();
    auto writer = PictureWriter::create(*pipeline_, w);
    if (!writer) return unexpected(writer.error());
    writer_ = std::move(*writer);
  }
  return {};
}

Result<void> Session::make_outputs() {
  std::string log_file;
  if (!options_.out.empty()) {
    std::error_code wrong;
    std::filesystem::create_directories(options_.out, wrong);
    if (wrong)
      return usage_error(fmt::format("--out {}: cannot be made: {}: name a folder that can be written",
                                     options_.out.string(), wrong.message()));
    log_file = options_.out / "ligature.log";
    // Another appliance that begins in the same place removes old sessions, not this one.
    if (auto hold = FolderHold::share(options_.out)) folder_ = std::move(*hold);
    forget_session_before(options_.out);
    const std::string samples = options_.out / "samples.csv", frames = options_.out / "frames.csv";
    if (auto opened = sample_log_.open(samples); !opened) return opened;
    if (auto opened = frame_log_.open(frames); !opened) return opened;
    SessionSummary begun;
    begun.step_s = setup_.step_s;
    if (auto saved = write_session_files(options_.out, setup_.profile, setup_.rig, begun); !saved)
      return unavailable(saved.error().message);
    outputs_.insert(outputs_.end(), {samples, frames, log_file});
  }
  auto log = EventLog::open(log_file);
  if (!log) return unexpected(log.error());
  log_ = std::make_unique<EventLog>(std::move(*log));
  if (options_.port)
    log_->set_listener([port = options_.port](double time_s, const std::string& what) { port->log(time_s, what); });
  for (const std::string& note : options_.notes) log_->event(0, note);
  log_->info(0, version_line());
  log_->info(0, "profile " + setup_.profile.file.string());
  log_->info(0, "picture: " + renderer_line_);
  // Before any real-time thread: what the child would inherit.
  if (const std::string why = knots_.start(thread_names()); !why.empty()) log_->info(0, "knots are not named: " + why);
  return {};
}

Result<void> Session::start_threads() {
  if (setup_.profile.memory.lock) memory_ = rt::lock_memory(std::size_t{64} << 20);
  if (pipeline_->realtime()) wake_latency_ = std::make_unique<rt::WakeLatencyHold>();
  const config::Profile& p = setup_.profile;
  try {
    if (writer_) helpers_.emplace_back([this] { writer_->run(); });
    if (recorder_) helpers_.emplace_back([this] { recorder_->run(); });
  } catch (const std::system_error& wrong) {
    return abort_start(unavailable(fmt::format("a thread cannot be started: {}: raise `ulimit -u`", wrong.what())));
  }

  // A realtime run's session time 0 lies a little ahead, so that no thread starts late.
  pipeline_->start_ns = rt::monotonic_now_ns() + (pipeline_->realtime() ? 100 * kNsPerMs : 0);
  struct Start {
    const char* name;
    const config::ThreadSettings& settings;
    std::function<void()> body;
  };
  std::vector<Start> starts;
  starts.push_back({"render", p.render_thread, [this] { render_->run(); }});
  starts.push_back({"physics", p.physics_thread, [this] { physics_->run(); }});
  starts.push_back({"tracking", p.tracking_thread, [this] { tracking_->run(); }});
  for (std::size_t c = 0; c < kCameras; ++c)
    starts.push_back({kCameraThreads[c], p.camera_threads[c], [this, c] { cameras_[c]->run(); }});
  for (Start& start : starts) {
    auto thread = std::make_unique<rt::RtThread>();
    if (auto started = thread->start(thread_settings(start.name, start.settings), std::move(start.body)); !started) {
      return abort_start(started);
    }
    for (auto& monitor : monitors_)
      if (monitor->settings().name == start.name) monitor->set_grant(thread->grant());
    threads_.push_back(std::move(thread));
  }
  return {};
}

/// Ends what has been started already, whoever waits for whom.
Result<void> Session::abort_start(Result<void> reason) {
  pipeline_->abandon_flag.store(true, std::memory_order_release);
  pipeline_->end_input();
  pipeline_->scenes.stop();
  if (pipeline_->pictures) pipeline_->pictures->stop();
  for (auto& link : pipeline_->records)
    if (link) link->stop();
  for (auto& thread : threads_) thread->join();
  for (std::thread& helper : helpers_) helper.join();
  return reason;
}

void Session::report_grants() {
  for (const auto& thread : threads_)
    if (!thread->grant().granted) log_->event(0, thread->grant().name + ": " + thread->grant().why);
  if (setup_.profile.memory.lock && !memory_.locked) log_->event(0, memory_.why);
  if (wake_latency_ && !wake_latency_->held()) log_->info(0, wake_latency_->why());
}

bool Session::all_finished() const {
  return std::ranges::all_of(monitors_, [](const auto& monitor) { return monitor->finished(); });
}

void Session::disk_failed(const std::string& what) {
  if (disk_broken_) return;
  disk_broken_ = true;
  log_->event(now_s(), "recording stopped, the session goes on: " + what);
  if (writer_) writer_->give_up();
  if (recorder_) recorder_->give_up();
}

/// Images that nobody asked for, and seconds that there were none for.
void Session::tell_of_recording() {
  bool over = false;
  for (std::size_t c = 0; c < kCameras; ++c) {
    if (cameras_[c]->more())
      log_->event(now_s(),
                  fmt::format("C{}: holds images that frames.csv does not name: others may have got their times", c));
    over = over || cameras_[c]->ended();
  }
  const bool recorded = setup_.profile.cameras.source == config::CameraSettings::Source::recorded;
  if (over && recorded && !asked_to_stop_ && options_.duration_s && now_s() < setup_.duration_s - kShortBy_s)
    log_->event(now_s(), fmt::format("the recording was over after {:.2f} of {:.2f} s", now_s(), setup_.duration_s));
}

void Session::drain_rings() {
  SampleRecord sample;
  while (pipeline_->sample_log.pop(sample))
    if (!options_.out.empty() && !disk_broken_ && !sample_log_.write(sample))
      disk_failed("samples.csv cannot be written");
  if (const std::uint64_t lost = pipeline_->sample_log.overflow(); lost != sample_overflow_seen_) {
    sample_overflow_seen_ = lost;
    log_->event(now_s(), fmt::format("{} samples did not reach the log: this session cannot be replayed", lost));
  }
  watchdog::FrameRecord frame;
  while (pipeline_->frame_log.pop(frame)) {
    // A trigger's latency is that of the first picture that shows it; pictures that show it again show old hands.
    if (frame.cameras_alive != 0 && frame.latency_ns() >= 0) {
      if (frame.trigger != last_latency_trigger_) latency_.record(frame.latency_ns());
      last_latency_trigger_ = frame.trigger;
      age_.record(frame.latency_ns());
    }
    if (!options_.out.empty() && !disk_broken_ && !frame_log_.write(frame)) disk_failed("frames.csv cannot be written");
  }
  LoopEvent event;
  for (EventRing* ring : {&pipeline_->tracking_events, &pipeline_->physics_events})
    while (ring->pop(event)) log_->event(s_of(event.time_ns), describe(event));
  drivers::CameraEvent said;
  for (std::size_t c = 0; c < kCameras; ++c)
    while (pipeline_->camera_events[c].pop(said))
      log_->event(std::max(0.0, s_of(said.time_ns)), fmt::format("camera C{}: {}", c, drivers::describe(said)));
}

/// What camera c's device counted; nothing for recordings and the virtual rig.
std::optional<SessionStatus::Device> Session::device(std::size_t c) const {
  const drivers::CaptureCounters* n = cameras_[c]->counters();
  if (n == nullptr) return std::nullopt;
  const auto of = [](const auto& counter) { return counter.load(std::memory_order_relaxed); };
  const auto rounded = [](double value) { return std::round(value * 1e3) / 1e3; };
  SessionStatus::Device d;
  d.lost = of(n->lost), d.overrun = of(n->overrun), d.corrupt = of(n->corrupt), d.bad_time = of(n->bad_time);
  d.connections = of(n->connections), d.restarts = of(n->restarts);
  d.controls_refused = of(n->controls_refused);
  d.streaming = of(n->streaming);
  const std::int64_t period_ns = of(n->period_ns);
  d.rate_hz = period_ns > 0 ? rounded(1e9 / static_cast<double>(period_ns)) : 0;
  d.rate_asked_hz = setup_.profile.cameras.rate_hz;
  d.exposure_ms = rounded(static_cast<double>(of(n->exposure_ns)) * 1e-6);
  d.exposure_asked_ms = setup_.profile.cameras.devices[c].exposure_ms;
  d.skew_ms = rounded(tracking_->skew_ns(c) * 1e-6);
  d.not_used = tracking_->refused(c);
  return d;
}

json Session::report_devices() const {
  json rows = json::array();
  for (std::size_t c = 0; c < kCameras; ++c) {
    const auto d = device(c);
    if (!d) continue;
    rows.push_back({{"name", fmt::format("C{}", c)},
                    {"images", cameras_[c]->counters()->images.load(std::memory_order_relaxed)},
                    {"lost", d->lost},
                    {"overrun", d->overrun},
                    {"corrupt", d->corrupt},
                    {"bad_time", d->bad_time},
                    {"connections", d->connections},
                    {"restarts", d->restarts},
                    {"controls_refused", d->controls_refused},
                    {"rate_hz", d->rate_hz},
                    {"exposure_ms", d->exposure_ms},
                    {"skew_ms", d->skew_ms},
                    {"refused", d->not_used},
                    {"streaming", d->streaming}});
  }
  return rows;
}

void Session::look_after_disk() {
  const std::int64_t now = rt::monotonic_now_ns();
  if (now - flushed_ns_ >= kNsPerS && !options_.out.empty() && !disk_broken_) {
    flushed_ns_ = now;
    if (!sample_log_.flush() || !frame_log_.flush()) disk_failed("the disk refuses (full?)");
  }
  if (writer_ && writer_->broken()) disk_failed("pictures cannot be written");
  if (recorder_ && recorder_->broken()) disk_failed("the cameras' images cannot be written");
}

/// What was done of the exercise, as events, and what is to be done, above the picture.
void Session::look_after_exercise() {
  std::string line = disk_broken_ ? "RECORDING STOPPED: DISK" : "";
  const std::uint32_t told = physics_->scenario();  // before the fetch: what was told of the one before is in it then
  const bool fetched = pipeline_->progress.fetch();
  for (exercise::Event event; pipeline_->exercise_events.pop(event);) {
    log_->event(now_s(), "exercise: " + exercise_text(event));
    if (exercise_) exercise_->happened(event, knots_.throws(exercise_->goal().thread));
  }
  // A scenario without an exercise tells nothing of where it stands.
  if (const std::uint32_t now = fetched ? pipeline_->progress.front().scenario : told;
      now != scenario_ && (fetched || !pipeline_->settings.scenes[now].goal))
    enter_scenario(now);
  if (exercise_) {
    exercise_->look(pipeline_->progress.front().progress);
    if (!disk_broken_) line = exercise_line(pipeline_->progress.front().progress);
  }
  // Refused while the last one was not taken: then again in the next round.
  if (line != line_ && render_->set_message(line)) line_ = line;
}

std::vector<std::string> Session::thread_names() const {
  std::vector<std::string> names;
  for (const world::ThreadParams& thread : scenario().params.threads) names.push_back(thread.name);
  return names;
}

/// Physics has gone on to this scenario: goal, names and picture follow.
void Session::enter_scenario(std::uint32_t next) {
  log_->event(now_s(),
              fmt::format("exercise {} of {}: {}", next + 1, setup_.files.size(), setup_.scenarios[next].title));
  if (exercise_) {
    exercise_->leave();
    for (const json& attempt : exercise_->attempts()) attempts_.push_back(attempt);
  }
  scenario_ = next;
  halted_ = false;
  spare_scene_.reset();
  spare_next_.reset();
  render_->set_sheet({});
  exercise_.reset();
  if (scenario().exercise) exercise_ = std::make_unique<ExerciseWatch>(scenario().exercise->goal, *render_, true);
  knots_.rename(thread_names());
  const render::MicroscopeParams microscope = setup_.profile.render.params.microscope;  // may have been changed
  setup_.profile.render.params = plain_picture_;
  setup_.profile.render.params.microscope = microscope;
  config::show_scene(scenario(), setup_.surfaces[next], setup_.profile.render.params);
  if (setup_.profile.render.presenter != config::RenderSettings::Presenter::window) {
    if (auto renderer = render::Renderer::create(setup_.profile.render.params, version_line()); renderer) {
      ++renderers_made_;
      renderer_line_ = (*renderer)->info().line();
      render_->give_renderer(std::move(*renderer));
      return;
    }
  }
  // A display may be had only once: the picture stands still until the new one is made.
  entering_ = true;
  render_->renew();
}

std::unique_ptr<FreshScene> Session::make_scene(std::uint32_t of, bool next) {
  auto made = world::World::create(setup_.scenarios[of].params, setup_.scenarios[of].capacity);
  if (made) return std::unique_ptr<FreshScene>(new FreshScene{std::move(*made), of, next});
  log_->event(now_s(), "the scene cannot be begun anew: " + made.error().message);
  return nullptr;
}

/// From keys and shell to physics. A scene to begin anew with is made here, where that takes nobody's time.
void Session::look_after_controls() {
  if (FreshScene* worn = pipeline_->worn_scene.exchange(nullptr, std::memory_order_acq_rel)) {
    delete worn;
    scene_given_ = false;
  }
  std::vector<Control> asked;
  if (options_.port) asked = options_.port->take_controls();
  unsigned keys = render_->take_keys();
  if (exercise_ && exercise_->over() && (keys & render::key_pause) != 0) {
    exercise_->toggle_result();
    keys &= ~static_cast<unsigned>(render::key_pause);
  }
  const bool waiting = exercise_ && pipeline_->progress.front().progress.state == exercise::State::waiting;
  if (keys & render::key_pause) asked.push_back(halted_ || waiting ? Control::start : Control::pause);
  if (keys & render::key_cut) asked.push_back(Control::cut);
  if (keys & render::key_reset) asked.push_back(Control::reset);
  if (keys & render::key_next) asked.push_back(Control::next);
  for (const Control control : asked) {
    if (control == Control::reset)
      reset_wanted_ = true;
    else if (control == Control::next && setup_.scenarios.size() > 1)
      next_wanted_ = true;
    else if (control == Control::next) {
      log_->event(now_s(), kNoNextExercise);
      continue;
    } else
      pipeline_->controls.push(control);
    halted_ = control == Control::pause || (halted_ && control == Control::cut);
  }
  // One at a time: which scenario comes next is known once physics has gone on to the last.
  if (scene_given_ || physics_->scenario() != scenario_) return;
  const auto next = (scenario_ + 1) % static_cast<std::uint32_t>(setup_.scenarios.size());
  if (next_wanted_) {
    next_wanted_ = reset_wanted_ = false;
    if (!spare_next_) spare_next_ = make_scene(next, true);
    scene_given_ = spare_next_ != nullptr;
    pipeline_->fresh_scene.store(spare_next_.release(), std::memory_order_release);
  } else if (reset_wanted_) {
    reset_wanted_ = false;
    if (!spare_scene_) spare_scene_ = make_scene(scenario_, false);
    scene_given_ = spare_scene_ != nullptr;
    pipeline_->fresh_scene.store(spare_scene_.release(), std::memory_order_release);
  } else if (!spare_scene_ && exercise_) {
    spare_scene_ = make_scene(scenario_, false);
  } else if (!spare_next_ && setup_.scenarios.size() > 1) {
    spare_next_ = make_scene(next, true);
  }
}

void Session::look_after_renderer(std::int64_t now_ns) {
  if (!render_->wants_renderer()) {
    render_->drop_lost();  // one that another has replaced
    return;
  }
  if (now_ns < renderer_retry_ns_) return;
  if (!std::exchange(entering_, false))
    log_->event(now_s(), "picture lost (device or display): making a new one, physics and recording go on");
  render_->drop_lost();
  auto renderer = render::Renderer::create(setup_.profile.render.params, version_line());
  if (!renderer && ++renderer_attempts_ >= 10) {
    log_->event(now_s(), "the picture cannot be made again, going on without: " + renderer.error().message);
    render::RenderParams none = setup_.profile.render.params;
    none.presenter = "none";
    renderer = render::Renderer::create(none, version_line());
  }
  if (!renderer) {
    renderer_retry_ns_ = now_ns + kNsPerS / 2;
    return;
  }
  ++renderers_made_;
  renderer_line_ = (*renderer)->info().line();
  render_->give_renderer(std::move(*renderer));
}

void Session::look_after_threads(std::int64_t now_ns) {
  for (const std::string& line : watchdog_.poll(now_ns, notifier_).lines) log_->info(now_s(), line);
  if (const auto jump = clock_watch_.look()) {
    if (jump->wall_ns != 0)
      log_->event(now_s(),
                  fmt::format("the wall clock was set by {:+.3f} s: no effect on the session", s_of(jump->wall_ns)));
    if (jump->suspended_ns != 0)
      log_->event(now_s(), fmt::format("the machine slept for {:.3f} s in mid session", s_of(jump->suspended_ns)));
  }
  if (now_ns - throttle_ns_ >= kNsPerS) {
    throttle_ns_ = now_ns;
    if (const long long times = throttle_watch_.look(); times > 0)
      log_->event(now_s(), fmt::format("the processor was throttled {} times: see `ligature doctor`", times));
  }
}

void Session::look_after_knots() {
  if (knots_.idle()) {
    const std::uint32_t resets = physics_->resets();  // first: the scene is of this reset or a later one
    if (pipeline_->knot_scenes.fetch()) {
      looked_resets_ = resets;
      knots_.look_at(pipeline_->knot_scenes.front());
    }
  }
  if (const auto line = knots_.serve()) log_->event(now_s(), *line);
  if (knots_.looks() == words_) return;
  words_ = knots_.looks();
  KnotWord& word = pipeline_->knot_words.back();
  const std::string throws = exercise_ ? knots_.throws(exercise_->goal().thread) : "";
  word.size = std::min(throws.size(), word.throws.size());
  std::copy_n(throws.data(), word.size, word.throws.data());
  word.resets = looked_resets_;
  pipeline_->knot_words.publish();
}

/// What the shell's user wants to see and to have changed.
void Session::look_after_shell(std::int64_t now_ns) {
  if (!options_.port) return;
  if (const auto live = options_.port->take_live()) {
    tracking_->set_prediction_ms(live->prediction_ms);
    tracking_->set_timeout_ns(ns_of(live->timeout_ms * 1e-3));
    setup_.profile.render.params.microscope = live->microscope;  // what a new renderer would be made with
    render_->set_microscope(live->microscope);
    setup_.profile.title = live->title;
    log_->event(now_s(), "settings changed by a commit");
  }
  if (now_ns - published_ns_ < kNsPerS / 4) return;
  published_ns_ = now_ns;
  SessionStatus status;
  status.time_s = now_s();
  status.duration_s = setup_.duration_s;
  status.realtime = pipeline_->realtime();
  status.picture = renderer_line_;
  status.presented = render_->presented();
  status.scenarios = setup_.scenarios.size();
  status.events = log_->events().size();
  status.steps = physics_->steps();
  status.latency_ms_p50 = 1e-6 * static_cast<double>(latency_.percentile_ns(0.5));
  status.latency_ms_p99 = 1e-6 * static_cast<double>(latency_.percentile_ns(0.99));
  for (const auto& monitor : monitors_) status.misses += monitor->misses();
  for (std::size_t c = 0; c < kCameras; ++c) {
    status.cameras[c] = {cameras_[c]->captured(), cameras_[c]->dropped(), cameras_[c]->failed(), device(c)};
    pipeline_->seen_markers[c].fetch();
    status.markers[c] = pipeline_->seen_markers[c].front();
  }
  std::size_t m = 0;
  for (const auto& instrument : setup_.rig.instruments)
    for (const auto& marker : instrument.markers)
      if (m < status.marker_names.size()) status.marker_names[m++] = instrument.name + " " + marker.name;
  pipeline_->seen_sample.fetch();
  status.sample = pipeline_->seen_sample.front();
  for (std::size_t k = 0; k < kInstruments; ++k) status.tracked[k] = tracking_->tracked(k);
  status.threads_json = watchdog_.report().dump();
  status.watchdog_table = watchdog_.table();
  if (exercise_) {
    const exercise::Progress& progress = pipeline_->progress.front().progress;
    status.exercise_text = exercise_->text(progress);
    status.exercise_json = exercise_->report(progress).dump();
  }
  options_.port->publish(std::move(status));
}

/// How it ended, when there is time for it.
void Session::look_at_last_knots() {
  constexpr std::int64_t kPatience_ns = 2 * kNsPerS;
  const std::int64_t until = rt::monotonic_now_ns() + kPatience_ns;
  while (rt::monotonic_now_ns() < until) {
    look_after_knots();
    if (!knots_.watching() || (knots_.idle() && !pipeline_->knot_scenes.pending())) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void Session::show_progress() {
  const std::int64_t now = rt::monotonic_now_ns();
  if (!options_.progress || now - progress_ns_ < kNsPerS / 4) return;
  progress_ns_ = now;
  fmt::print(stderr, "\r{:7.2f} of {:.2f} s   pictures {}   {} events ", now_s(), setup_.duration_s,
             render_->presented(), log_->events().size());
  std::fflush(stderr);
}

void Session::serve() {
  // After the renderer and the helpers, which would inherit it.
  if (pipeline_->realtime()) rt::apply_to_this_thread(thread_settings("service", setup_.profile.service_thread));
  bool input_ended = false;
  while (!all_finished()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::int64_t now = rt::monotonic_now_ns();
    drain_rings();
    look_after_disk();
    look_after_renderer(now);
    look_after_threads(now);
    look_after_knots();
    look_after_controls();
    look_after_exercise();
    look_after_shell(now);
    show_progress();
    const bool restart = options_.port && options_.port->restart_wanted();
    const bool asked = restart || (options_.stop_request != nullptr && options_.stop_request->load());
    const bool physics_over = pipeline_->scenes.closed();
    if (!input_ended && (asked || physics_over || render_->close_requested())) {
      if (asked) {
        log_->event(now_s(), restart ? "asked to start again" : "asked to stop");
        asked_to_stop_ = true;
        pipeline_->abandon_flag.store(true, std::memory_order_release);
      }
      input_ended = true;
      pipeline_->end_input();
    }
  }
  look_at_last_knots();
  look_after_exercise();
  if (options_.progress) fmt::print(stderr, "\n");
}

json Session::make_report() {
  const auto ms = [](std::int64_t ns) { return std::round(static_cast<double>(ns) * 1e-3) * 1e-3; };
  const PhysicsLoop::Totals& totals = physics_->totals();
  json captured = json::array(), dropped = json::array(), late = json::array(), events = json::array();
  for (const auto& camera : cameras_) {
    captured.push_back(camera->captured());
    dropped.push_back(camera->dropped());
  }
  for (std::size_t c = 0; c < kCameras; ++c) late.push_back(tracking_->late(c));
  // In their order: each thread's are read when the service thread comes round.
  std::vector<SessionEvent> in_order = log_->events();
  std::ranges::stable_sort(in_order, {}, &SessionEvent::time_s);
  for (const SessionEvent& event : in_order) events.push_back({{"time_s", event.time_s}, {"what", event.what}});
  json report;
  report["version"] = version_line();
  report["profile"] = setup_.profile.file.string();
  report["title"] = setup_.profile.title;
  report["pace"] = pipeline_->realtime() ? "realtime" : "lockstep";
  report["duration_s"] = now_s();
  report["steps"] = physics_->steps();
  report["state_hash"] = fmt::format("{:016x}", totals.state_hash);
  report["frames"] = {
      {"captured", captured}, {"dropped", dropped}, {"late", late}, {"presented", render_->presented()}};
  report["tracking"] = {{"tracked", tracking_->count(TrackStatus::tracked)},
                        {"predicted", tracking_->count(TrackStatus::predicted)},
                        {"lost", tracking_->count(TrackStatus::lost)}};
  report["hands"] = {{"stream", pipeline_->settings.hands.filter ? "filtered" : "raw"},
                     {"max_lead_ms", pipeline_->settings.hands.max_lead_ms}};
  report["latency_ms"] = {{"p50", ms(latency_.percentile_ns(0.5))},
                          {"p99", ms(latency_.percentile_ns(0.99))},
                          {"max", ms(latency_.max_ns())},
                          {"from", pipeline_->realtime() ? "mid-exposure" : "image handed over"}};
  // Of every picture, also of those that show the same trigger again.
  report["picture_age_ms"] = {
      {"p50", ms(age_.percentile_ns(0.5))}, {"p99", ms(age_.percentile_ns(0.99))}, {"max", ms(age_.max_ns())}};
  if (pipeline_->realtime()) report["physics_behind_max_ms"] = ms(totals.behind_max_ns);
  report["threads"] = watchdog_.report();
  const watchdog::Histogram& skews = tracking_->skews();
  report["skew_ms"] = {{"p50", ms(skews.percentile_ns(0.5))},
                       {"p99", ms(skews.percentile_ns(0.99))},
                       {"max", ms(skews.max_ns())},
                       {"compensated", tracking_->compensated()},
                       {"regrouped", tracking_->regrouped()}};
  if (pipeline_->settings.live) report["devices"] = report_devices();
  report["grasps"] = totals.grasps;
  report["non_finite_resets"] = totals.non_finite_resets;
  report["contacts"] = {{"max", totals.contacts_max},
                        {"overflow", totals.contact_overflows},
                        {"gave_way", totals.gave_way},
                        {"penetration_max_mm", totals.penetration_max_mm}};
  report["solver"] = {{"iterations_max", totals.iterations_max},
                      {"residual_max", totals.residual_max},
                      {"contact_residual_max", totals.contact_residual_max}};
  report["topology"] = {{"crossings_prevented", totals.crossings_prevented},
                        {"crossings_found", totals.crossings_found},
                        {"tool_lag_max_mm", totals.held_lag_max_mm}};
  const auto knots = knots_.report();
  report["knots"] = knots ? json::parse(knots->dump()) : json(nullptr);
  if (const exercise::Exercise* judged = physics_->exercise()) {
    report["exercise"] = exercise_report(judged->goal(), judged->progress(), judged->knot());
    report["attempts"] = attempts_;
    if (exercise_)
      for (const json& attempt : exercise_->attempts()) report["attempts"].push_back(attempt);
  } else if (!attempts_.empty()) {
    report["attempts"] = attempts_;  // at exercises that were left
  }
  report["picture"] = {{"device", renderer_line_}, {"lost", render_->lost()}, {"made", renderers_made_}};
  report["memory_locked"] = memory_.locked;
  json exemptions = json::object();
  for (const rt::ExemptionCount& count : rt::exemption_counts())
    if (count.name != nullptr) exemptions[count.name] = count.entered;
  report["exemptions"] = exemptions;
  report["records_lost"] = pipeline_->sample_log.overflow() + pipeline_->frame_log.overflow() +
                           pipeline_->tracking_events.overflow() + pipeline_->physics_events.overflow();
  report["events"] = events;
  report["outputs"] = outputs_;
  return report;
}

Result<RunOutcome> Session::run() {
  if (auto started = start_threads(); !started) return unexpected(started.error());
  report_grants();
  serve();
  notifier_.stopping();
  for (auto& thread : threads_) thread->join();
  for (std::thread& helper : helpers_) helper.join();
  drain_rings();
  for (const auto& camera : cameras_)
    if (const std::string files = camera->unusable(); !files.empty()) log_->event(now_s(), files);
  tell_of_recording();
  flushed_ns_ = 0;  // whatever the time: the last lines must be on the disk
  look_after_disk();
  sample_log_.close();
  frame_log_.close();
  if (writer_) {
    outputs_.insert(outputs_.end(), writer_->outputs().begin(), writer_->outputs().end());
    if (!writer_->failure_text().empty()) log_->event(now_s(), writer_->failure_text());
  }
  if (recorder_) {
    outputs_.push_back(options_.record);
    if (!recorder_->failure_text().empty()) log_->event(now_s(), recorder_->failure_text());
    if (recorder_->skipped() > 0)
      log_->event(now_s(),
                  fmt::format("{} camera images came faster than they could be recorded", recorder_->skipped()));
  }

  if (exercise_ && physics_->exercise() && physics_->scenario() == scenario_ && !options_.out.empty()) {
    const std::filesystem::path film = options_.out / "exercise.png";
    if (const auto saved = exercise_->write_film(film, physics_->exercise()->progress()); !saved)
      log_->event(now_s(), "no film of the exercise: " + saved.error().message);
    else if (*saved)
      outputs_.push_back(film);
  }

  RunOutcome outcome;
  const auto complain = [&outcome](const std::string& what) {
    outcome.complaint += (outcome.complaint.empty() ? "" : "; ") + what;
  };
  if (!options_.out.empty())
    outputs_.insert(outputs_.end(), {options_.out / "report.json", options_.out / "session.json"});
  outcome.report = dump(make_report());
  outcome.table = watchdog_.table();
  if (!options_.out.empty()) {
    const SessionSummary ended{physics_->steps(), setup_.step_s, physics_->totals().state_hash,
                               !disk_broken_ && pipeline_->sample_log.overflow() == 0, sample_log_.written()};
    for (const auto& saved : {write_session_files(options_.out, setup_.profile, setup_.rig, ended),
                              config::write_file_atomically(options_.out / "report.json", outcome.report + "\n")})
      if (!saved) complain(saved.error().message);
  }
  if (disk_broken_) complain("recording stopped in mid run, see the events");
  for (std::size_t i = 0; i < kInstruments; ++i)
    if (tracking_->tracked(i) == 0 && !asked_to_stop_)
      complain(fmt::format("the {} forceps was never tracked", kInstrumentNames[i]));
  for (std::size_t c = 0; c < kCameras; ++c)
    if (cameras_[c]->failed()) complain(fmt::format("camera C{} broke in mid run", c));
  if (physics_->totals().contact_overflows > 0) complain("contacts overflowed: raise capacity.contacts");
  if (options_.strict)
    for (const auto& monitor : monitors_)
      if (monitor->misses() > 0)
        complain(fmt::format("--strict: {} missed {} deadlines", monitor->settings().name, monitor->misses()));
  outcome.exit_code = outcome.complaint.empty() ? 0 : 1;
  outcome.asked_to_stop = asked_to_stop_;
  return outcome;
}

}  // namespace

Result<void> check_session(const config::Profile& profile) {
  RunOptions options;
  options.profile = profile;
  auto setup = read_setup(options);
  if (!setup) return unexpected(setup.error());
  return check_cameras(setup->profile, setup->rig);
}

Result<RunOutcome> run_session(const RunOptions& options) {
  auto session = Session::create(options);
  if (!session) return unexpected(session.error());
  return (*session)->run();
}

Result<std::filesystem::path> write_test_picture(const config::Profile& profile, const std::filesystem::path& out) {
  render::RenderParams params = profile.render.params;
  params.presenter = "offscreen";
  auto renderer = render::Renderer::create(params, version_line());
  if (!renderer) return unexpected(renderer.error());
  if ((*renderer)->render_test_picture() != render::Outcome::presented)
    return failure("the test picture was lost: run `ligature doctor` for the state of the display");
  std::error_code wrong;
  std::filesystem::create_directories(out, wrong);
  const std::filesystem::path file = out / "test_picture.png";
  if (auto saved = render::write_png(file, (*renderer)->picture(), version_line(), "test picture"); !saved)
    return unavailable(saved.error().message);
  return file;
}

}  // namespace ligature::appliance
