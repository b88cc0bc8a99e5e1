#include "appliance/sim/sim_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "appliance/exercise/exercise_text.hpp"
#include "appliance/rt/executor.hpp"
#include "appliance/sim/history.hpp"
#include "appliance/sim/judged_run.hpp"
#include "appliance/sim/knot_names.hpp"
#include "appliance/sim/output_files.hpp"
#include "appliance/sim/plot.hpp"
#include "appliance/sim/rest.hpp"
#include "appliance/sim/stage_times.hpp"
#include "appliance/sim/strand_gap.hpp"
#include "appliance/sim/summary.hpp"
#include "config/scenario_file.hpp"
#include "drivers/virtual_rig/hand_path.hpp"
#include "sim/knot/names/table.hpp"
#include "sim/knot/tie.hpp"
#include "sim/world/world.hpp"

namespace ligature::simulate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSlowSteps = 10;  // one after the other, that a scene with inertia is slow before it counts as at rest

/// The instruments of a scenario, played from their files, in W.
class Instruments {
 public:
  static Result<Instruments> load(const config::Scenario& scenario) {
    Instruments instruments;
    std::array<drivers::ForcepsAims, kInstruments> aims;
    for (const config::ScenarioForceps& f : scenario.forceps) {
      auto path = drivers::load_path(f.path_file.string());
      if (!path) return usage_error(path.error().message);
      const std::size_t hand = f.name == "left" ? 0 : 1;
      instruments.paths_[hand] = std::move(*path);
      if (f.aims_file.empty()) continue;
      auto rows = drivers::load_aims(f.aims_file.string());
      if (!rows) return usage_error(rows.error().message);
      aims[hand] = std::move(*rows);
    }
    if (!aims[0].empty() || !aims[1].empty()) {
      instruments.eye_ = std::make_unique<drivers::HandEye>(std::move(aims));
      instruments.seen_ = std::make_unique<SceneSnapshot>();
    }
    return instruments;
  }
  double end_s() const {
    double end = -1;
    for (const auto& path : paths_)
      if (!path.empty()) end = std::max(end, path.back().t_s);
    return end;
  }
  /// As a perfect tracking would see them at t.
  InstrumentSample at(std::uint64_t step, double t_s) const {
    InstrumentSample sample;
    sample.sequence = step;
    sample.mid_exposure_ns = t_s < 9e9 ? static_cast<std::int64_t>(std::llround(t_s * 1e9)) : 0;
    sample.cameras_alive = (1u << kCameras) - 1;
    for (std::size_t i = 0; i < kInstruments; ++i) {
      if (paths_[i].empty()) continue;
      const drivers::PathKey key = drivers::interpolate(paths_[i], drivers::PathBlend::linear, t_s);
      InstrumentPose& pose = sample.instruments[i];
      pose.status = TrackStatus::tracked;
      pose.cameras = kCameras;
      pose.X_RT = key.X;
      if (eye_) pose.X_RT.p = pose.X_RT.p + eye_->shift(i, t_s);
      pose.opening_rad = key.opening_rad;
      pose.confidence = 1;
    }
    return sample;
  }
  /// Hands that look at what they take do so now.
  void look(const world::World& world) {
    if (!eye_ || !eye_->due(world.time_s())) return;
    world.snapshot(*seen_);
    eye_->look(*seen_, world.time_s());
  }

 private:
  std::array<drivers::ForcepsPath, kInstruments> paths_;
  std::unique_ptr<drivers::HandEye> eye_;  // null: they go by heart
  std::unique_ptr<SceneSnapshot> seen_;
};

constexpr std::string_view kExpectKnot = "knot=";

bool expects(const std::vector<std::string>& expect, const char* what) {
  return std::find(expect.begin(), expect.end(), what) != expect.end();
}

Result<void> check_expectations(const std::vector<std::string>& expect) {
  for (const std::string& e : expect) {
    if (e == "rest" || e == "holds" || e == "opens" || e == "passed") continue;
    if (!e.starts_with(kExpectKnot) || e.size() == kExpectKnot.size())
      return usage_error(fmt::format("--expect {}: must be rest, holds, opens, passed or knot=NAME: mend it", e));
    const std::string_view name = std::string_view(e).substr(kExpectKnot.size());
    if (name != "none" && name != "unknown" && !knot::is_tie(name) && !knot::is_name(name))
      return usage_error(
          fmt::format("--expect {}: no knot has that name: must be a tie (reef), throws (2=1), a knot to ten "
                      "crossings or a link of two to eight (3_1, 3_1#m3_1, 2^2_1), or none: mend it",
                      e));
  }
  if (expects(expect, "holds") && expects(expect, "opens"))
    return usage_error("--expect holds --expect opens: a knot does one or the other: leave one out");
  return {};
}

/// Threads beside this one, that take what parts of a step they come to.
Result<std::unique_ptr<rt::PooledExecutor>> start_workers(std::size_t width) {
  std::vector<rt::ThreadSettings> workers(width - 1);
  for (std::size_t i = 0; i < workers.size(); ++i) workers[i].name = fmt::format("sim-{}", i + 1);
  return rt::PooledExecutor::create(workers);
}

/// ".svg" or ".png", capitals or not; else empty.
std::string picture_kind(const std::filesystem::path& file) {
  std::string ending = file.extension().string();
  for (char& c : ending) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return ending == ".svg" || ending == ".png" ? ending : "";
}

/// The picture's file, before anything is calculated for it.
Result<StreamedFile> open_plot(const std::filesystem::path& file) {
  const auto refuse = [&](const std::string& why) {
    return usage_error(fmt::format("--plot {}: {}: name another file", file.string(), why));
  };
  if (picture_kind(file).empty()) return refuse("must end in .svg or .png");
  std::error_code wrong;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), wrong);
  if (wrong) return refuse("its folder cannot be made: " + wrong.message());
  auto opened = StreamedFile::open(file);
  if (!opened) return usage_error("--plot " + opened.error().message);
  return opened;
}

/// Twist, writhe and link are followed where there may be any.
bool twists(const world::WorldParams& params) {
  return std::any_of(params.threads.begin(), params.threads.end(), [](const world::ThreadParams& t) {
    return t.twist_turns != 0 || std::any_of(t.clamps.begin(), t.clamps.end(), [](const world::ClampParams& c) {
             return c.spin_rad_per_s != 0 || !(c.turn_rad_per_s == Vec3{});
           });
  });
}

bool slow(const world::World& world, double speed_mm_per_s) {
  for (std::size_t k = 0; k < world.thread_count(); ++k)
    if (!(world.measure(k, false).speed_max_mm_per_s < speed_mm_per_s)) return false;
  for (std::size_t k = 0; k < world.tissue_count(); ++k)
    if (!(world.tissue_speed_mm_per_s(k) < speed_mm_per_s)) return false;
  return true;
}

/// The contact problem that a step solved, to a file of its own: STEP.txt, six digits.
Result<void> dump_contacts(const world::World& world, const std::filesystem::path& folder, std::uint64_t step) {
  const std::string problem = world.contact_problem();
  if (problem.empty()) return {};
  auto file = StreamedFile::open(folder / fmt::format("{:06}.txt", step));
  if (!file) return unexpected(file.error());
  file->print("{}", problem);
  if (auto finished = file->finish(); !finished) return finished;
  return file->commit();
}

class Progress {
 public:
  Progress(bool shown, double duration_s) : shown_(shown), duration_s_(duration_s) {}
  void show(double t_s) {
    if (!shown_) return;
    const auto now = Clock::now();
    if (now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    fmt::print(stderr, "\r{:10.3f} of at most {:g} s ", t_s, duration_s_);
    std::fflush(stderr);
    printed_ = true;
  }
  ~Progress() {
    if (printed_) fmt::print(stderr, "\r{:50}\r", "");
  }

 private:
  bool shown_, printed_ = false;
  double duration_s_;
  Clock::time_point last_ = Clock::now();
};

/// When the state is written: every so often, and at the end in any case.
class Period {
 public:
  Period(double every_s, double step_s) : every_s_(every_s), tolerance_(1e-6 * step_s) {}
  bool due(double t_s) {
    if (t_s + tolerance_ < next_ * every_s_) return false;
    next_ = every_s_ > 0 ? std::floor((t_s + tolerance_) / every_s_) + 1 : 0;
    return true;
  }

 private:
  double every_s_, tolerance_, next_ = 0;
};

}  // namespace

std::filesystem::path resolve_scenario(const std::string& name, const std::vector<std::filesystem::path>& data_dirs) {
  std::error_code ignored;
  if (std::filesystem::exists(name, ignored)) return name;
  for (const auto& dir : data_dirs)
    for (const char* ending : {".toml", ""}) {
      const auto shipped = dir / "config" / "scenarios" / (name + ending);
      if (std::filesystem::is_regular_file(shipped, ignored)) return shipped;
    }
  return name;
}

Result<SimOutcome> simulate(const SimOptions& options) {
  if (auto ok = check_expectations(options.expect); !ok) return unexpected(ok.error());
  if (options.width < 1 || options.width > kMostWidth)
    return usage_error(fmt::format("--width is {}, must be 1 to {}", options.width, kMostWidth));
  auto loaded = config::load_scenario(options.scenario);
  if (!loaded) return unexpected(loaded.error());
  config::Scenario scenario = std::move(*loaded);
  const bool ends = std::any_of(scenario.params.threads.begin(), scenario.params.threads.end(),
                                [](const world::ThreadParams& t) { return !t.closed; });
  if (!ends && (expects(options.expect, "holds") || expects(options.expect, "opens")))
    return usage_error(
        fmt::format("{}: --expect holds or opens asks about the ends of threads, and every thread is "
                    "closed: leave it out",
                    options.scenario.string()));
  if (!scenario.exercise && expects(options.expect, "passed"))
    return usage_error(
        fmt::format("{}: --expect passed asks about an exercise, and there is no [exercise]: leave it out",
                    options.scenario.string()));
  auto instruments = Instruments::load(scenario);
  if (!instruments) return unexpected(instruments.error());
  world::WorldParams& params = scenario.params;
  params.X_RW = {};
  params.motion_scale = 1;
  params.forceps_present = !scenario.forceps.empty();
  std::unique_ptr<rt::PooledExecutor> pool;  // outlives the world
  if (options.width > 1) {
    auto started = start_workers(options.width);
    if (!started) return unexpected(started.error());
    pool = std::move(*started);
  }
  auto created = world::World::create(params, scenario.capacity);
  if (!created) return unexpected(config::placed(scenario, options.scenario, created.error()));
  world::World world = std::move(*created);
  world.use_executor(pool.get());
  world.begin(instruments->at(0, 0.0));

  std::optional<StreamedFile> plot_file;
  if (!options.plot.empty()) {
    auto opened = open_plot(options.plot);
    if (!opened) return unexpected(opened.error());
    plot_file = std::move(*opened);
  }
  std::optional<Film> film;
  if (!options.film.file.empty()) {
    auto opened = Film::open(options.film, scenario, world);
    if (!opened) return unexpected(opened.error());
    film = std::move(*opened);
  }
  std::optional<OutputFiles> files;
  if (!options.out.empty()) {
    auto opened = OutputFiles::open(options.out);
    if (!opened) return unexpected(opened.error());
    files = std::move(*opened);
  }

  if (!options.dump_contacts.empty()) {
    std::error_code wrong;
    std::filesystem::create_directories(options.dump_contacts, wrong);
    if (wrong)
      return usage_error(fmt::format("--dump-contacts {}: cannot be made: {}: name another folder",
                                     options.dump_contacts.string(), wrong.message()));
  }

  StageTimes times(params.step_s);
  world.observe_stages(&StageTimes::stage_done, &times);
  Statistics statistics(params, scenario.duration_s,
                        expects(options.expect, "holds") || expects(options.expect, "opens"));
  statistics.start(world);
  const bool otherwise = may_be_tied_otherwise(params, curves_of(world, params));
  std::optional<JudgedRun> judged;
  if (scenario.exercise) judged.emplace(*scenario.exercise, world);
  Ending ending;
  const double calm_s = std::max(calm_from_s(params, scenario.duration_s), instruments->end_s());
  // What has inertia is slow at each turning point of its motion as well; there it does not stay slow.
  const bool inertial = !params.tissues.empty() || std::any_of(params.threads.begin(), params.threads.end(),
                                                               [](const world::ThreadParams& t) { return t.inertial; });
  const int slow_steps_asked = inertial ? kSlowSteps : 1;
  int slow_steps = 0;
  const auto count_slow = [&](const StepReport& report) {
    // A step that did not converge may stand still without being at rest.
    const bool counts = !(report.flags & step_not_converged) && world.time_s() >= calm_s + 0.5 * params.step_s;
    slow_steps = counts && slow(world, scenario.rest_speed_mm_per_s) ? slow_steps + 1 : 0;
  };
  const auto at_rest = [&] { return slow_steps >= slow_steps_asked; };
  // Never longer than asked; a run shorter than a step is one step.
  const auto steps =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::floor(scenario.duration_s / params.step_s + 1e-9)));
  const auto begun = Clock::now();
  Period period(options.every_step ? 0 : scenario.output_every_s, params.step_s);
  History history(twists(params));
  bool written = false;
  const auto write = [&](std::uint64_t step) {
    written = true;
    if (files) files->write_state(world, params, step > 0);
  };
  period.due(0);
  write(0);
  if (plot_file) history.add(world, 0, false);
  if (film) film->look(world, world.time_s());
  {
    Progress progress(options.progress, scenario.duration_s);
    for (std::uint64_t step = 1; step <= steps; ++step) {
      if (options.stop_request && options.stop_request->load()) {
        ending.interrupted = true;
        break;
      }
      const InstrumentSample sample = instruments->at(step, static_cast<double>(step) * params.step_s);
      if (judged) judged->control(world);
      times.begin_step();
      const StepReport report = world.step(sample);
      times.end_step();
      instruments->look(world);
      statistics.add(world, report);
      if (judged) judged->look(world, params, report);
      count_slow(report);
      const double t_s = world.time_s();
      written = false;
      if (files) {
        files->write_timing(step, t_s, times, report);
        if (!files->good()) break;  // commit() says why
      }
      if (period.due(t_s)) {
        write(step);
        if (!options.dump_contacts.empty() && report.contact_iterations > 0)
          if (auto dumped = dump_contacts(world, options.dump_contacts, step); !dumped)
            return failure(dumped.error().message);
      }
      if (plot_file) history.add(world, step, false);
      if (film) film->look(world, world.time_s());
      progress.show(t_s);
      if (scenario.until_rest && at_rest()) break;
    }
  }
  if (!written) write(statistics.steps());
  ending.at_rest = statistics.steps() > 0 && at_rest();
  ending.wall_s = std::chrono::duration<double>(Clock::now() - begun).count();

  auto knots = named_knots(world, params);
  if (knots) ending.knots = *knots;

  SimOutcome outcome;
  nlohmann::ordered_json report = summary(scenario, options.scenario.string(), world, statistics, times, ending);
  if (judged) {
    judged->finish(world, ending.knots.value_or(std::vector<knot::ThreadKnot>{}));
    report["exercise"] =
        appliance::exercise_report(judged->judged().goal(), judged->judged().progress(), judged->judged().knot());
    report["exercise"]["events"] = judged->events();
  }
  outcome.summary = report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  outcome.table = table(report);
  const auto complain = [&outcome](const std::string& what) {
    outcome.complaint += (outcome.complaint.empty() ? "" : "; ") + what;
  };
  if (plot_file) {
    history.add(world, statistics.steps(), true);
    const Drawing drawing = plot(scenario, world, history, report);
    Result<std::string> picture = picture_kind(options.plot) == ".png"
                                      ? drawing.png()
                                      : drawing.svg(scenario.title, report["version"].get<std::string>());
    if (!picture) return failure(picture.error().message);
    plot_file->print("{}", *picture);
    if (auto saved = plot_file->finish(); !saved) return failure(saved.error().message);
  }
  if (film) {
    auto missed = film->finish(world, world.time_s(), scenario.title);
    if (!missed) return unexpected(missed.error());
    outcome.note = std::move(*missed);
  }
  if (files)
    if (auto saved = files->commit(outcome.summary + "\n"); !saved) return failure(saved.error().message);
  if (plot_file)
    if (auto saved = plot_file->commit(); !saved) return failure(saved.error().message);
  if (ending.interrupted)
    complain(fmt::format("interrupted at {:g} of {:g} s: what was written holds the run so far", world.time_s(),
                         scenario.duration_s));
  if (otherwise)
    complain("threads as cut into segments may be tied otherwise than as drawn: give them a shorter segment_mm");
  if (statistics.overflows() > 0)
    complain(fmt::format("contacts overflowed in {} steps: raise capacity.contacts", statistics.overflows()));
  if (statistics.gave_way() > 0)
    complain(
        fmt::format("contacts gave way in {} steps, at the most that one bears: there is no room for what is led, or "
                    "it is led too fast for its steps",
                    statistics.gave_way()));
  for (const std::string& in : statistics.in_obstacles()) complain(in);
  if (statistics.non_finite() > 0)
    complain(fmt::format("the state was not finite after {} steps and the one before was kept: shorten step_ms",
                         statistics.non_finite()));
  if (statistics.topology().changed())
    complain("strands may have passed through each other (topology in the summary): report it, with the scenario");
  if (judged && !knots) complain("nobody names the exercise's knots: " + knots.error().message);
  if (expects(options.expect, "holds"))
    if (const auto why = why_not_held(statistics.watch(), statistics.verdict(), thread_names(world)); !why.empty())
      complain("--expect holds: " + why);
  if (expects(options.expect, "opens"))
    if (const auto why = why_not_open(statistics.watch(), statistics.verdict()); !why.empty())
      complain("--expect opens: " + why);
  for (const std::string& e : options.expect) {
    if (!e.starts_with(kExpectKnot)) continue;
    const std::string why = knots ? why_not_knot(*knots, e.substr(kExpectKnot.size())) : knots.error().message;
    if (!why.empty()) complain(fmt::format("--expect {}: {}", e, why));
  }
  if (expects(options.expect, "passed") && judged->judged().progress().state != exercise::State::passed)
    complain(fmt::format("--expect passed: the exercise is {} at {:g} s{}",
                         report["exercise"]["state"].get<std::string>(), world.time_s(),
                         judged->events().empty() ? "" : ", last: " + judged->events().back()));
  if (expects(options.expect, "rest") && !ending.at_rest)
    complain(fmt::format("--expect rest: not at rest (slower than {:g} mm/s, nothing driven) at {:g} s",
                         scenario.rest_speed_mm_per_s, world.time_s()));
  outcome.exit_code = outcome.complaint.empty() ? 0 : 1;
  return outcome;
}

}  // namespace ligature::simulate
