/// The whole appliance: camera images of the virtual rig in, pictures out, on its real threads. Small pictures, short
/// runs; nothing here depends on how fast the machine is.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "appliance/doctor/instance_lock.hpp"
#include "appliance/run/hands.hpp"
#include "appliance/run/replay.hpp"
#include "appliance/run/sample_log.hpp"
#include "appliance/run/session.hpp"
#include "appliance/run/session_files.hpp"
#include "appliance/run/session_port.hpp"
#include "config/profile_file.hpp"
#include "config/rig_file.hpp"
#include "config/scenario_file.hpp"
#include "sim/base/random.hpp"
#include "sim/contract/scene_snapshot.hpp"
#include "sim/world/world.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::appliance {
namespace {

using config::FaultSettings;
using nlohmann::json;

// Sanitizers slow images, markers and physics down by ten times and more: two cores cannot keep real time then, and
// what a realtime run tracks is no claim any more. Races and wrong accesses are looked for all the same.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kKeepsRealTime = false;
#else
constexpr bool kKeepsRealTime = true;
#endif
constexpr double kLockstepRate_hz = kKeepsRealTime ? 60 : 30;

class Pipeline : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() /
                 fmt::format("ligature_pipeline_{}_{}", getpid(),
                             ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  /// The shipped virtual profile, small and short.
  RunOptions options(config::Pace pace, double duration_s) {
    auto profile = config::load_profile(std::filesystem::path(LIGATURE_SOURCE_DIR) / "config/profiles/virtual.toml");
    EXPECT_TRUE(profile) << profile.error().message;
    profile->pace = pace;
    // Realtime runs must not need a fast machine: a sanitizer slows the virtual rig down by more than ten times.
    profile->cameras.rate_hz = pace == config::Pace::realtime ? 20 : kLockstepRate_hz;
    profile->render.params.eye_width_px = 96;
    profile->render.params.eye_height_px = 72;
    profile->render.params.samples = 1;
    profile->render.params.device = "cpu";
    profile->render.rate_hz = 10;
    profile->output.picture_times_s = {};
    profile->output.video = false;
    profile->memory.lock = false;  // a sanitizer's shadow memory cannot be locked
    RunOptions o;
    o.profile = *profile;
    o.duration_s = duration_s;
    o.instance_lock = directory_ / "instance.lock";
    return o;
  }
  static json run(const RunOptions& o) {
    const auto outcome = run_session(o);
    EXPECT_TRUE(outcome) << outcome.error().message;
    if (!outcome) return {};
    return json::parse(outcome->report);
  }
  static bool has_event(const json& report, const std::string& words) { return event_time(report, words) >= 0; }
  /// Session time of the first event after `from_s` with these words; -1 = none.
  static double event_time(const json& report, const std::string& words, double from_s = 0) {
    for (const json& event : report["events"])
      if (event["time_s"].get<double>() >= from_s && event["what"].get<std::string>().find(words) != std::string::npos)
        return event["time_s"].get<double>();
    return -1;
  }
  static FaultSettings fault(FaultSettings::Kind kind, int camera, double from_s, double until_s, double delay_ms = 0) {
    FaultSettings f;
    f.kind = kind;
    f.camera = camera;
    f.from_s = from_s;
    f.until_s = until_s;
    f.delay_ms = delay_ms;
    return f;
  }

  std::filesystem::path directory_;
};

/// Asks for controls once so many pictures were shown, and takes what the session says.
class Hand final : public SessionPort {
 public:
  struct Wish {
    double time_s;
    Control control;
  };
  explicit Hand(std::vector<Wish> wishes) : wishes_(std::move(wishes)) {}
  void publish(SessionStatus status) override { now_s_ = status.time_s; }
  void log(double, const std::string&) override {}
  std::optional<LiveSettings> take_live() override { return std::nullopt; }
  bool restart_wanted() const override { return false; }
  std::vector<Control> take_controls() override {
    std::vector<Control> out;
    for (; next_ < wishes_.size() && wishes_[next_].time_s <= now_s_; ++next_) out.push_back(wishes_[next_].control);
    return out;
  }

 private:
  std::vector<Wish> wishes_;
  std::size_t next_ = 0;
  double now_s_ = 0;
};

// Whatever the trainee asks for, and whenever it gets to physics, the log says in which step it did.
TEST_F(Pipeline, ControlsAreReplayedBitForBit) {
  // A build that cannot keep up makes no steps between pause and start at all: there the frames wait for physics.
  constexpr double kUnit_s = kKeepsRealTime ? 2 : 0.2;
  RunOptions o = options(kKeepsRealTime ? config::Pace::realtime : config::Pace::lockstep, 5 * kUnit_s);
  const auto scenario = directory_ / "cut.toml";
  std::stringstream text;
  text << std::ifstream(o.profile.scenario).rdbuf();
  const std::string whole = text.str();
  const std::size_t at = whole.find("[capacity]\n");
  ASSERT_NE(at, std::string::npos);
  std::ofstream(scenario) << std::string(whole).insert(at + 11, "cuts = 4\n");
  o.profile.scenario = scenario;
  o.out = directory_ / "out";
  Hand hand({{1.0 * kUnit_s, Control::pause},
             {1.5 * kUnit_s, Control::start},
             {2.5 * kUnit_s, Control::cut},
             {3.0 * kUnit_s, Control::reset},
             {4.0 * kUnit_s, Control::cut},
             {4.2 * kUnit_s, Control::pause},
             {4.4 * kUnit_s, Control::reset}});
  o.port = &hand;
  guard::reset();
  const json report = run(o);
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
  for (const char* what : {"control: pause", "control: start", "control: cut"})
    EXPECT_TRUE(has_event(report, what)) << what;
  if (kKeepsRealTime) {  // else a fresh scene may not be made before the session ends
    EXPECT_TRUE(has_event(report, "control: reset"));
    EXPECT_GE(event_time(report, "control: reset"), 3.0);
  }
  const auto replayed = replay_session(o.out);
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_EQ(fmt::format("{:016x}", replayed->state_hash), report["state_hash"]);
  // Who watches a replay sees every step, in the session's time: pauses and a fresh start are a part of it.
  std::uint64_t moments = 0, fresh = 0, paused = 0;
  double last_s = -1, world_s = -1, end_s = 0;
  const auto watched = replay_session(o.out, [&](const ReplayMoment& now) -> Result<void> {
    EXPECT_GT(now.time_s, last_s);
    last_s = now.time_s;
    end_s = now.end_s;
    paused += now.world.time_s() == world_s ? 1 : 0;
    world_s = now.world.time_s();
    fresh += now.fresh ? 1 : 0;
    ++moments;
    return {};
  });
  ASSERT_TRUE(watched) << watched.error().message;
  EXPECT_EQ(watched->state_hash, replayed->state_hash);
  EXPECT_EQ(moments, watched->steps + 1);
  EXPECT_EQ(fresh, 1u);
  EXPECT_TRUE(paused > 0 || !kKeepsRealTime);  // else it pauses and starts between two steps
  EXPECT_EQ(last_s, end_s);
  const auto refused = replay_session(o.out, [](const ReplayMoment&) -> Result<void> { return failure("enough"); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "enough");
  // The log without its controls is another session: where physics keeps up, and makes steps between them.
  if (!kKeepsRealTime) return;
  std::ifstream in(o.out / "samples.csv");
  std::string kept;
  for (std::string line; std::getline(in, line);)
    if (line.find(",control,") == std::string::npos) kept += line + "\n";
  in.close();
  std::ofstream(o.out / "samples.csv") << kept;
  const auto other = replay_session(o.out);
  ASSERT_TRUE(other);
  EXPECT_NE(other->state_hash, replayed->state_hash);
}

/// A scene with two vessels and an exercise.
void write_stitch(const std::filesystem::path& scenario) {
  std::ofstream(scenario) << "title = \"A stitch\"\n[capacity]\ncuts = 2\n"
                             "[[thread]]\nname = \"suture\"\npoints_mm = [[-10,0,8],[10,0,8]]\n"
                             "[[needle]]\nthread = \"suture\"\narc_mm = 2\n"
                             "[[tissue]]\nname = \"a\"\nshape = \"vessel\"\nlength_mm = 2\np_WV_mm = [-2.5, 12, 2]\n"
                             "[[tissue]]\nname = \"b\"\nshape = \"vessel\"\nlength_mm = 2\np_WV_mm = [2.5, 12, 2]\n"
                             "q_WV = [0, 0, 1, 0]\n"
                             "[exercise]\nthread = \"suture\"\nfirst = \"a\"\nsecond = \"b\"\n";
}

// From a scene without an exercise to one with, and on to the first again; the log says in which steps.
TEST_F(Pipeline, TheNextExerciseComesAndAllIsReplayedBitForBit) {
  constexpr double kUnit_s = kKeepsRealTime ? 2 : 0.2;
  RunOptions o = options(kKeepsRealTime ? config::Pace::realtime : config::Pace::lockstep, 6 * kUnit_s);
  o.profile.next_scenarios = {directory_ / "stitch.toml"};
  write_stitch(o.profile.next_scenarios[0]);
  o.out = directory_ / "out";
  Hand hand({{1.0 * kUnit_s, Control::next}, {3.0 * kUnit_s, Control::reset}, {4.0 * kUnit_s, Control::next}});
  o.port = &hand;
  guard::reset();
  const json report = run(o);
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
  if (kKeepsRealTime) {
    EXPECT_TRUE(has_event(report, "control: next"));
    EXPECT_TRUE(has_event(report, "exercise 2 of 2"));
    EXPECT_TRUE(has_event(report, "exercise 1 of 2"));
    EXPECT_FALSE(has_event(report, "picture lost"));
    EXPECT_GE(report["picture"]["made"], 3);
    EXPECT_FALSE(report.contains("exercise")) << "it ended in a scene that has none";
    ASSERT_EQ(report["attempts"].size(), 2u) << "begun again, and left for the next: " << report["attempts"];
    for (const json& attempt : report["attempts"]) EXPECT_EQ(attempt["state"], "left");
  }
  int fresh = 0;
  const auto replayed = replay_session(o.out, [&](const ReplayMoment& now) -> Result<void> {
    fresh += now.fresh ? 1 : 0;
    EXPECT_EQ(now.scenario.title == "A stitch", fresh == 2);
    return {};
  });
  EXPECT_TRUE(fresh == 3 || !kKeepsRealTime) << fresh << ": the first scene, and one for every next";
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_EQ(fmt::format("{:016x}", replayed->state_hash), report["state_hash"]);
}

TEST_F(Pipeline, NextScenariosAreLookedAtBeforeAnythingStarts) {
  RunOptions o = options(config::Pace::lockstep, 0.2);
  o.profile.physics.step_ms.reset();
  o.profile.next_scenarios = {directory_ / "other_step.toml"};
  std::ofstream(o.profile.next_scenarios[0]) << "step_ms = 2.5\n[[thread]]\npoints_mm = [[0,0,5],[9,0,5]]\n";
  const auto refused = run_session(o);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("must be a scenario with the step of the first, 5 ms"), std::string::npos)
      << refused.error().message;
  std::ofstream(o.profile.next_scenarios[0]) << "[[thread]]\npoints_mm = [[0,0,5]]\n";
  EXPECT_FALSE(run_session(o));
}

TEST_F(Pipeline, AnExerciseIsJudgedShownAndReported) {
  constexpr double kDuration_s = kKeepsRealTime ? 1.5 : 0.5;
  RunOptions o = options(config::Pace::lockstep, kDuration_s);
  const auto scenario = directory_ / "stitch.toml";
  write_stitch(scenario);
  o.profile.scenario = scenario;
  o.out = directory_ / "out";
  guard::reset();
  const json report = run(o);
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
  ASSERT_TRUE(report.contains("exercise"));
  const json& judged = report["exercise"];
  EXPECT_EQ(judged["state"], "running");
  EXPECT_EQ(judged["steps"].size(), 7u);
  EXPECT_NEAR(judged["time_s"].get<double>(), kDuration_s, 1e-6);
  EXPECT_NEAR(judged["gap_mm"].get<double>(), 1.0, 0.02) << "two ends of 2 mm, their far ends 5 mm apart";
  EXPECT_TRUE(replay_session(o.out));
}

TEST_F(Pipeline, AnEndedExerciseIsAnAttemptWithAFilm) {
  RunOptions o = options(config::Pace::lockstep, 5);  // pictures come when they can: one must after the cut
  std::stringstream text;
  text << std::ifstream(o.profile.scenario).rdbuf();
  const std::string whole = text.str();
  const std::size_t at = whole.find("[capacity]\n");
  ASSERT_NE(at, std::string::npos);
  o.profile.scenario = directory_ / "cut_early.toml";
  std::ofstream(o.profile.scenario)
      << std::string(whole).insert(at + 11, "cuts = 2\n")
      << "\n[[needle]]\nthread = \"suture\"\narc_mm = 2\n[[tissue]]\nname = \"a\"\nshape = \"vessel\"\nlength_mm = "
         "1\nalong = 2\naround = 8\np_WV_mm = [-2.5, 30, "
         "2]\n"
         "[[tissue]]\nname = \"b\"\nshape = \"vessel\"\nlength_mm = 1\nalong = 2\naround = 8\np_WV_mm = [2.5, 30, 2]\n"
         "[exercise]\nname = \"Hasty\"\nthread = \"suture\"\nfirst = \"a\"\nsecond = \"b\"\ncuts_s = [2.6]\n";
  o.out = directory_ / "out";
  guard::reset();
  const json report = run(o);
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
  ASSERT_EQ(report["attempts"].size(), 1u);
  const json& attempt = report["attempts"][0];
  EXPECT_EQ(attempt["state"], "failed");
  EXPECT_EQ(attempt["faults"]["cut_early"], 1);
  EXPECT_NEAR(attempt["time_s"].get<double>(), 2.6, 0.02);
  EXPECT_EQ(attempt["name"], "Hasty");
  EXPECT_TRUE(std::filesystem::exists(o.out / "exercise.png"));
  EXPECT_TRUE(replay_session(o.out));
}

TEST_F(Pipeline, LockstepGivesTheSameStateEveryTimeOnEitherCore) {
  constexpr double kDuration_s = kKeepsRealTime ? 2.5 : 0.5;  // a race shows at once, and slow builds are slow
  std::string first;
  for (const int core : {1, 0, -1}) {
    RunOptions o = options(config::Pace::lockstep, kDuration_s);
    o.profile.physics_thread.core = core;
    const json report = run(o);
    EXPECT_EQ(report["steps"], static_cast<int>(200 * kDuration_s));
    EXPECT_GT(report["tracking"]["tracked"].get<int>(), static_cast<int>(kLockstepRate_hz * kDuration_s * 5 / 3));
    if (first.empty()) first = report["state_hash"];
    EXPECT_EQ(report["state_hash"], first) << "physics on core " << core;
  }
}

TEST_F(Pipeline, LockstepStateDependsOnTheInput) {
  RunOptions o = options(config::Pace::lockstep, 0.5);
  const json one = run(o);
  o.profile.virtual_rig.seed = 2;
  EXPECT_NE(run(o)["state_hash"], one["state_hash"]);
}

TEST_F(Pipeline, EveryThreadOfARealtimeRunMakesProgressAndNamesItsMisses) {
  const json report = run(options(config::Pace::realtime, 1.5));
  ASSERT_EQ(report["threads"].size(), 7u);
  for (const json& thread : report["threads"]) {
    EXPECT_GT(thread["execution_us"]["max"].get<double>(), 0) << thread["name"];
    std::uint64_t named = 0;
    for (const auto& [cause, count] : thread["causes"].items()) named += count.get<std::uint64_t>();
    EXPECT_EQ(named, thread["deadline_misses"].get<std::uint64_t>()) << thread["name"];
  }
  for (const json& camera : report["frames"]["captured"]) EXPECT_GT(camera.get<int>(), 0);
  EXPECT_GT(report["frames"]["presented"].get<int>(), 0);
  // Where the cameras come too late for any sample, no picture has an age; and physics that is far behind when the
  // session ends makes no steps for it any more.
  if (kKeepsRealTime) {
    EXPECT_GT(report["latency_ms"]["p50"].get<double>(), 0);
    EXPECT_EQ(report["steps"], 300);
  }
  EXPECT_GT(report["steps"].get<int>(), 0);
  EXPECT_LE(report["steps"].get<int>(), 300);
}

TEST_F(Pipeline, RealtimeSessionReplaysBitForBit) {
  RunOptions o = options(config::Pace::realtime, 2.0);
  o.out = directory_ / "session";
  o.profile.faults = {fault(FaultSettings::Kind::non_finite, -1, 1.0, 2.0)};
  const json report = run(o);
  const auto replayed = replay_session(o.out);
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_EQ(replayed->steps, report["steps"]);
  EXPECT_EQ(fmt::format("{:016x}", replayed->state_hash), report["state_hash"]);
  EXPECT_EQ(report["non_finite_resets"], 1);
}

TEST_F(Pipeline, NoAllocationAndNoLockInRealtimeCode) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the guard cannot see aligned allocations under ThreadSanitizer";
#endif
  ASSERT_TRUE(guard::active());
  RunOptions o = options(config::Pace::realtime, 2.0);
  o.out = directory_ / "session";
  o.profile.output.picture_times_s = {0.5, 1.0};
  guard::reset();
  run(o);
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
  EXPECT_FALSE(guard::exempted().empty());
  RecordProperty("exemptions", guard::report());
}

TEST_F(Pipeline, TissueIsShownWithoutAllocationInRealtimeCode) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the guard cannot see aligned allocations under ThreadSanitizer";
#endif
  const std::filesystem::path scenario = directory_ / "vessel.toml";
  std::ofstream(scenario) << "[solver]\niterations = 5\n[[tissue]]\nshape = \"vessel\"\n"
                             "[[thread]]\npoints_mm = [[-2, 0, 1], [6, 0, 1]]\nsegment_mm = 0.5\n";
  RunOptions o = options(config::Pace::lockstep, 0.2);
  o.out = directory_ / "session";
  o.profile.scenario = scenario;
  o.profile.render.params.microscope.field_of_view_mm = 4;
  o.profile.output.picture_times_s = {0.1};
  guard::reset();
  const json report = run(o);
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
  EXPECT_EQ(report["steps"], 40);
  EXPECT_GT(report["frames"]["presented"].get<int>(), 0);
  EXPECT_TRUE(std::filesystem::exists(o.out / "stereo_000.10s.png"));
  const auto replayed = replay_session(o.out);
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_EQ(replayed->state_hash, replayed->recorded_hash);

  std::ofstream(scenario, std::ios::app)
      << "[[tissue]]\nshape = \"vessel\"\np_WV_mm = [0, 5, 0]\naround = 64\nalong = 64\n";
  const auto refused = run_session(o);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("vessel.toml: "), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("vertices"), std::string::npos) << refused.error().message;
}

TEST_F(Pipeline, TwoDeadCamerasLeaveTrackingOn) {
  RunOptions o = options(config::Pace::lockstep, 2.0);
  o.profile.faults = {fault(FaultSettings::Kind::camera_dead, 0, 0.5, 1.5),
                      fault(FaultSettings::Kind::camera_dead, 1, 0.5, 1.5)};
  const json report = run(o);
  EXPECT_TRUE(has_event(report, "camera C0 lost"));
  EXPECT_TRUE(has_event(report, "camera C1 lost"));
  EXPECT_GT(event_time(report, "camera C0 is back"), 1.4);
  EXPECT_EQ(event_time(report, "forceps lost", 0.1), -1) << report["events"].dump(1);
  EXPECT_GT(report["frames"]["dropped"][0].get<int>(), static_cast<int>(kLockstepRate_hz * 5 / 6));
}

TEST_F(Pipeline, EveryCameraThatComesBackIsUsedAgain) {
  RunOptions o = options(config::Pace::realtime, 2.5);
  for (int camera = 0; camera < 4; ++camera)
    o.profile.faults.push_back(fault(FaultSettings::Kind::camera_dead, camera, 0.5, camera < 2 ? 1.2 : 0.5001));
  const json report = run(o);
  if (!kKeepsRealTime) return;
  for (const char* camera : {"C0", "C1"}) {
    EXPECT_TRUE(has_event(report, fmt::format("camera {} lost", camera))) << report["events"].dump(1);
    EXPECT_GT(event_time(report, fmt::format("camera {} is back", camera)), 1.1) << report["events"].dump(1);
  }
}

TEST_F(Pipeline, AllCamerasDeadLoseTheInstrumentsAndFindThemAgain) {
  for (const auto pace : {config::Pace::lockstep, config::Pace::realtime}) {
    RunOptions o = options(pace, 2.5);
    for (int camera = 0; camera < 4; ++camera)
      o.profile.faults.push_back(fault(FaultSettings::Kind::camera_dead, camera, 0.6, 1.4));
    const json report = run(o);
    if (pace == config::Pace::realtime && !kKeepsRealTime) continue;
    for (const char* instrument : {"left", "right"}) {
      const double lost = event_time(report, fmt::format("{} forceps lost", instrument), 0.5);
      EXPECT_GT(lost, 0.6);
      EXPECT_LT(lost, 1.4);
      EXPECT_GT(event_time(report, fmt::format("{} forceps tracked", instrument), lost), 1.35)
          << report["events"].dump(1);
    }
  }
}

TEST_F(Pipeline, InjectedOverrunIsCountedWithItsCause) {
  RunOptions o = options(config::Pace::realtime, 1.0);
  o.profile.faults = {fault(FaultSettings::Kind::physics_overrun, -1, 0.5, 0.6, 9.0)};
  const json report = run(o);
  for (const json& thread : report["threads"])
    if (thread["name"] == "physics") {
      EXPECT_GE(thread["causes"].value("injected overrun", 0), 5);
    }
  // Cameras that cannot keep up end with an earlier image, and physics soon after it.
  if (kKeepsRealTime) {
    EXPECT_EQ(report["steps"], 200) << "an overrun loses no step";
  }
}

// Late by more than the samples that wait for their time, and never to catch up: hands that wait for it would stand
// still for good.
TEST_F(Pipeline, HandsGoOnWhilePhysicsIsBehind) {
  if (!kKeepsRealTime) GTEST_SKIP() << "cameras cannot keep up under a sanitizer";
  RunOptions o = options(config::Pace::realtime, 4.0);
  o.out = directory_ / "session";
  o.profile.faults = {fault(FaultSettings::Kind::physics_overrun, -1, 0.5, 0.505, 1500),
                      fault(FaultSettings::Kind::physics_overrun, -1, 0.6, 4.0, 5)};
  const json report = run(o);
  EXPECT_TRUE(has_event(report, "BEHIND real time"));
  EXPECT_GT(report["physics_behind_max_ms"].get<double>(), 1400);
  std::ifstream samples(o.out / "samples.csv");
  std::size_t late = 0;  // taken while it is behind
  for (std::string line; std::getline(samples, line);)
    if (const int step = std::atoi(line.c_str()); step > 120 && step < 700) ++late;
  EXPECT_GT(late, 10u);
  const auto replayed = replay_session(o.out);
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_EQ(fmt::format("{:016x}", replayed->state_hash), report["state_hash"]);
}

TEST_F(Pipeline, LostPresenterIsMadeAgainWhilePhysicsGoesOn) {
  for (const auto pace : {config::Pace::lockstep, config::Pace::realtime}) {
    constexpr double kDuration_s = kKeepsRealTime ? 2 : 1;
    RunOptions o = options(pace, kDuration_s);
    o.profile.faults = {fault(FaultSettings::Kind::presenter_lost, -1, 0.5, 0.6)};
    const json report = run(o);
    // Cameras that cannot keep up end with an earlier image, and physics soon after it.
    if (pace == config::Pace::realtime && !kKeepsRealTime) continue;
    EXPECT_EQ(report["picture"]["lost"], 1);
    EXPECT_EQ(report["picture"]["made"], 2);
    EXPECT_EQ(report["steps"], static_cast<int>(200 * kDuration_s));
    EXPECT_TRUE(has_event(report, "picture lost"));
  }
}

TEST_F(Pipeline, StopEndsARunWhosePictureIsLost) {
  for (const auto pace : {config::Pace::lockstep, config::Pace::realtime}) {
    std::atomic<bool> stop{false};
    RunOptions o = options(pace, 60.0);
    for (int i = 0; i < 40; ++i)
      o.profile.faults.push_back(fault(FaultSettings::Kind::presenter_lost, -1, 0.1 + 0.05 * i, 60.0));
    o.stop_request = &stop;
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
      stop = true;
    });
    run(o);  // a hang is the failure
    stopper.join();
  }
}

TEST_F(Pipeline, CamerasThatAlwaysComeLateAreTracked) {
  RunOptions o = options(config::Pace::realtime, 2.0);
  for (int camera = 0; camera < 4; ++camera)
    o.profile.faults.push_back(fault(FaultSettings::Kind::frame_late, camera, 0.0, 10.0, 180.0));
  const json report = run(o);
  if (kKeepsRealTime) {
    EXPECT_GT(report["tracking"]["tracked"].get<int>(), 10);
  }
}

TEST_F(Pipeline, LostPresenterDoesNotChangeThePhysics) {
  RunOptions o = options(config::Pace::lockstep, 0.8);
  const json whole = run(o);
  o.profile.faults = {fault(FaultSettings::Kind::presenter_lost, -1, 0.5, 0.6)};
  EXPECT_EQ(run(o)["state_hash"], whole["state_hash"]);
}

TEST_F(Pipeline, SecondInstanceRefusesToStart) {
  RunOptions o = options(config::Pace::realtime, 1.0);
  const auto holder = doctor::InstanceLock::acquire(o.instance_lock);
  ASSERT_TRUE(holder);
  const auto outcome = run_session(o);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, Error::Kind::usage);
  EXPECT_NE(outcome.error().message.find(std::to_string(getpid())), std::string::npos) << outcome.error().message;
}

TEST_F(Pipeline, StopRequestEndsCleanlyWithCompleteFiles) {
  std::atomic<bool> stop{true};
  RunOptions o = options(config::Pace::realtime, 60.0);
  o.out = directory_ / "session";
  o.stop_request = &stop;
  run(o);
  EXPECT_TRUE(replay_session(o.out));
  EXPECT_TRUE(json::accept(std::ifstream(o.out / "report.json")));
}

TEST_F(Pipeline, WhatTheCamerasSawPlaysBackThroughTheSamePipeline) {
  RunOptions o = options(config::Pace::lockstep, 1.0);
  o.record = directory_ / "recording";
  const json seen = run(o);
  RunOptions again = options(config::Pace::lockstep, 1.0);
  again.profile.cameras.source = config::CameraSettings::Source::recorded;
  again.profile.cameras.directory = o.record;
  // What is played, and what any recording holds, is not written over.
  again.out = o.record;
  const auto over = run_session(again);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().kind, Error::Kind::usage);
  EXPECT_NE(over.error().message.find("holds a recording (C0.mkv)"), std::string::npos) << over.error().message;
  again.out.clear();
  const json played = run(again);
  EXPECT_EQ(played["frames"]["captured"], seen["frames"]["captured"]);
  EXPECT_GT(played["tracking"]["tracked"].get<int>(), seen["tracking"]["tracked"].get<int>() * 9 / 10);
}

TEST_F(Pipeline, ASessionInTheFolderOfOneBeforeLeavesNoneOfItsPictures) {
  RunOptions o = options(config::Pace::lockstep, 0.3);
  o.out = directory_ / "session";
  o.profile.output.picture_times_s = {0.1, 0.2};
  run(o);
  EXPECT_TRUE(std::filesystem::exists(o.out / "stereo_last.png"));
  std::ofstream(o.out / "notes.txt") << "kept";
  o.profile.output.picture_times_s = {};
  run(o);
  for (const auto& file : std::filesystem::directory_iterator(o.out))
    EXPECT_NE(file.path().extension(), ".png") << file.path();
  EXPECT_TRUE(std::filesystem::exists(o.out / "notes.txt"));
  EXPECT_TRUE(replay_session(o.out));
}

// Cameras that deliver further apart than the time-out allows are no dead ones.
TEST_F(Pipeline, ImagesThatComeAfterTheTimeOutAreCountedAndNamedLate) {
  RunOptions o = options(config::Pace::realtime, 2.0);
  o.profile.tracking.timeout_ms = 1;
  for (int camera = 1; camera < 4; ++camera)
    o.profile.faults.push_back(fault(FaultSettings::Kind::frame_late, camera, 0.0, 10.0, 12.0 * camera));
  const json report = run(o);
  // A machine that is too slow for the virtual rig drops images before they can be late.
  std::uint64_t late = 0, came = 0;
  for (std::size_t c = 1; c < 4; ++c) {
    late += report["frames"]["late"][c].get<std::uint64_t>();
    came += report["frames"]["captured"][c].get<std::uint64_t>();
  }
  if (came > 60) {
    EXPECT_GT(late, 30U) << report["frames"];
    EXPECT_TRUE(has_event(report, "later than tracking.timeout_ms")) << report["events"];
  }
}

// A camera that gives images, none of which shows a marker: it looks out of the box.
TEST_F(Pipeline, ACameraThatShowsNoMarkerIsTold) {
  const double duration_s = kKeepsRealTime ? 3.0 : 2.5;
  RunOptions o = options(config::Pace::lockstep, duration_s);
  auto rig = config::load_rig(o.profile.rig);
  ASSERT_TRUE(rig) << rig.error().message;
  Pose& pose = rig->cameras[1].X_RC;
  pose.q = pose.q * Quat{0, 1, 0, 0};  // about its own y
  o.profile.rig = directory_ / "away.toml";
  ASSERT_TRUE(config::save_rig(o.profile.rig, *rig));
  const json report = run(o);
  const double told_s = event_time(report, "camera C1 shows no marker");
  EXPECT_GE(told_s, 2.0) << "not before it was blank for two seconds";
  EXPECT_LT(told_s, 2.3);
  EXPECT_LT(event_time(report, "camera C1 shows no marker", told_s + 0.01), 0) << "said once";
  for (const char* other : {"camera C0 shows", "camera C2 shows", "camera C3 shows", "camera C1 lost", "shows markers"})
    EXPECT_FALSE(has_event(report, other)) << other;
  const double images = report["frames"]["captured"][0].get<double>();
  EXPECT_GT(report["tracking"]["tracked"].get<double>(), 0.9 * kInstruments * images) << report["tracking"];
}

/// How far the tips of the picture's forceps stray about their mean in 3-D, RMS over both [um], from 0.5 s on: the
/// world is stepped by the log once more.
double picture_jitter_um(const std::filesystem::path& session, const RunOptions& o, std::uint64_t steps,
                         const std::string& hash) {
  auto scenario = config::load_scenario(o.profile.scenario, kMaxSnapshotVertices);
  place_scene(*config::load_rig(o.profile.rig), scenario->params);
  scenario->params.step_s = 5e-3;
  auto world = world::World::create(scenario->params, scenario->capacity);
  const auto log = read_sample_log(session / "samples.csv");
  Hands hands({o.profile.tracking.filter, o.profile.tracking.max_lead_ms});
  const auto scene = std::make_unique<SceneSnapshot>();
  std::array<std::vector<Vec3>, kInstruments> tips;
  std::size_t next = 0;
  for (std::uint64_t k = 1; k <= steps; ++k) {
    for (; next < log->size() && (*log)[next].step == k; ++next) hands.take((*log)[next].sample);
    world->step(hands.at(static_cast<std::int64_t>(k) * 5'000'000));
    world->snapshot(*scene);
    for (std::size_t i = 0; i < kInstruments; ++i)
      if (k > 100) tips[i].push_back(scene->forceps[i].X_WT.p);
  }
  EXPECT_EQ(fmt::format("{:016x}", world->state_hash()), hash) << "not the world of the session";
  double sum = 0, n = 0;
  for (const auto& of : tips) {
    Vec3 mean{};
    for (const Vec3& p : of) mean = mean + (1.0 / static_cast<double>(of.size())) * p;
    for (const Vec3& p : of) sum += dot(p - mean, p - mean), ++n;
  }
  return 1e3 * std::sqrt(sum / n);
}

TEST_F(Pipeline, ThePictureFollowsSteadiedHandsAndTheLogStaysRaw) {
  RunOptions o = options(config::Pace::lockstep, kKeepsRealTime ? 2.5 : 0.3);
  const auto resting = [&](const char* name, double x_mm, const char* q) {
    const std::filesystem::path file = directory_ / name;
    std::ofstream(file) << "t_s,x_mm,y_mm,z_mm,qx,qy,qz,qw,opening_deg\n"
                        << fmt::format("0,{},-4,12,{},4\n10,{},-4,12,{},4\n", x_mm, q, x_mm, q);
    return file;
  };
  o.profile.virtual_rig.path_left = resting("left.csv", -12, "0,0.3,0,0.954");
  o.profile.virtual_rig.path_right = resting("right.csv", 12, "-0.3,0,0.954,0");
  o.profile.virtual_rig.tremor_um = 0;
  // Pictures that give centroids of 0.1 px (drivers::tenth_pixel_params).
  o.profile.virtual_rig.brightness = 0.4, o.profile.virtual_rig.velvet = 0.06;
  o.profile.virtual_rig.defocus_px = 0.8, o.profile.virtual_rig.noise = 0.0676;
  std::array<double, 2> jitter_um{};
  std::array<std::string, 2> log, hash;
  for (const bool filtered : {false, true}) {
    const std::size_t i = filtered ? 1 : 0;
    o.profile.tracking.filter = filtered;
    o.out = directory_ / (filtered ? "filtered" : "raw");
    const json report = run(o);
    EXPECT_EQ(report["hands"]["stream"], filtered ? "filtered" : "raw");
    hash[i] = report["state_hash"];
    std::ifstream in(o.out / "samples.csv");
    log[i].assign(std::istreambuf_iterator<char>(in), {});
    const auto replayed = replay_session(o.out);
    ASSERT_TRUE(replayed) << replayed.error().message;
    EXPECT_EQ(fmt::format("{:016x}", replayed->state_hash), hash[i]);
    jitter_um[i] = picture_jitter_um(o.out, o, report["steps"].get<std::uint64_t>(), hash[i]);
  }
  std::printf("tips of the picture at rest: raw %.1f um, filtered %.1f um\n", jitter_um[0], jitter_um[1]);
  EXPECT_EQ(log[0], log[1]);
  EXPECT_NE(hash[0], hash[1]);
  if (kKeepsRealTime) {  // the filter needs a while, and sanitizers take minutes for it
    EXPECT_LT(jitter_um[1], 0.5 * jitter_um[0]);
  }
}

TEST_F(Pipeline, ASessionOfBeforeTheFilterReplaysAsItWas) {
  RunOptions o = options(config::Pace::lockstep, 0.5);
  o.out = directory_ / "session";
  o.profile.tracking.filter = false;
  const json report = run(o);
  // What such a session's files do not hold.
  std::ifstream in(o.out / "session.json");
  json session = json::parse(in);
  session.erase("hands");
  std::ofstream(o.out / "session.json") << session;
  std::ifstream log(o.out / "samples.csv");
  std::string line, old;
  while (std::getline(log, line)) {
    std::vector<std::string> cells;
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t comma = std::min(line.find(',', at), line.size());
      cells.push_back(line.substr(at, comma - at));
      at = comma + 1;
    }
    ASSERT_EQ(cells.size(), 4 + 2 * 20);
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (i < 4 || (i - 4) % 20 < 13) old += (i > 0 ? "," : "") + cells[i];
    old += '\n';
  }
  std::ofstream(o.out / "samples.csv") << old;
  const auto replayed = replay_session(o.out);
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_EQ(fmt::format("{:016x}", replayed->state_hash), report["state_hash"]);
}

TEST(PipelineSampleLog, EveryBitSurvivesTheFile) {
  const std::string file = std::filesystem::temp_directory_path() / fmt::format("ligature_log_{}.csv", getpid());
  Random random(7);
  std::vector<SampleRecord> written;
  {
    SampleLogWriter log;
    ASSERT_TRUE(log.open(file));
    for (std::uint64_t step = 1; step < 200; ++step) {
      SampleRecord r;
      r.step = step;
      r.inject_non_finite = step % 50 == 0;
      r.sample.sequence = random.next();
      r.sample.mid_exposure_ns = static_cast<std::int64_t>(random.next() >> 1);
      for (auto& i : r.sample.instruments) {
        i.status = static_cast<TrackStatus>(random.next() % 3);
        i.X_RT = {normalized({random.normal(), random.normal(), random.normal(), random.normal()}),
                  {random.normal() * 1e-9, random.normal() * 1e9, -0.0}};
        i.opening_rad = 0.1 * random.normal();
        i.variance = {{random.normal(), 1, 2}, {3, random.normal(), 4}, random.normal()};
      }
      ASSERT_TRUE(log.write(r));
      written.push_back(r);
    }
  }
  const auto read = read_sample_log(file);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), written.size());
  for (std::size_t k = 0; k < written.size(); ++k) {
    EXPECT_EQ((*read)[k].inject_non_finite, written[k].inject_non_finite);
    if (written[k].inject_non_finite) continue;
    const InstrumentPose &a = (*read)[k].sample.instruments[1], &b = written[k].sample.instruments[1];
    EXPECT_TRUE(a.X_RT.q == b.X_RT.q && a.X_RT.p == b.X_RT.p && std::signbit(a.X_RT.p.z));
    EXPECT_EQ(a.opening_rad, b.opening_rad);
    EXPECT_EQ(a.variance.turn, b.variance.turn);
    EXPECT_EQ(a.variance.tip, b.variance.tip);
    EXPECT_EQ(a.variance.opening, b.variance.opening);
  }
  // A power cut in mid line loses that line only.
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 20);
  const auto cut = read_sample_log(file);
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_EQ(cut->size(), written.size() - 1);
  // Hands that no tracker gives.
  for (const bool turn : {true, false}) {
    {
      SampleLogWriter log;
      ASSERT_TRUE(log.open(file));
      SampleRecord r;
      (turn ? r.sample.instruments[0].X_RT.q.w : r.sample.instruments[1].opening_rad) = 5;
      ASSERT_TRUE(log.write(r));
    }
    const auto wrong = read_sample_log(file);
    ASSERT_FALSE(wrong) << turn;
    EXPECT_NE(wrong.error().message.find(":2: malformed"), std::string::npos);
  }
  EXPECT_FALSE(read_sample_log("/dev/zero"));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace ligature::appliance
