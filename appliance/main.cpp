/// The `ligature` command: verbs first, one line per error, exit 0 = done, 1 = the answer is no, 2 = wrong usage.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "appliance/arguments.hpp"
#include "appliance/calibrate/command.hpp"
#include "appliance/doctor/camera_list.hpp"
#include "appliance/doctor/doctor.hpp"
#include "appliance/run/fault_text.hpp"
#include "appliance/run/replay.hpp"
#include "appliance/run/session.hpp"
#include "appliance/shell/shell_verb.hpp"
#include "appliance/sim/sim_run.hpp"
#include "appliance/track/track_run.hpp"
#include "appliance/version.hpp"
#include "config/profile_file.hpp"
#include "config/shell/client.hpp"
#include "config/shell/server.hpp"

namespace {

using namespace ligature;

std::atomic<bool> stop_request{false};
extern "C" void on_signal(int) {
  stop_request.store(true);
}

int complain(const Error& error) {
  fmt::print(stderr, "{}\n", error.message);
  return error.kind == Error::Kind::usage || error.kind == Error::Kind::unavailable ? 2 : 1;
}

/// Where shipped profiles, rigs and scenarios are: the tree the program was built in, or where the package put them.
std::vector<std::filesystem::path> data_dirs() {
  return {LIGATURE_SOURCE_DIR, "/usr/share/ligature"};
}

struct RunArguments {
  std::string profile = "demo", out, record, pace, presenter, config, socket;
  double duration_s = 0;
  std::vector<std::string> faults;
  bool json = false, strict = false, test_picture = false;
};

/// What the command line adds to a profile's session. Errors: usage.
Result<void> apply_arguments(const RunArguments& arguments, appliance::RunOptions& options) {
  config::Profile& profile = options.profile;
  for (const std::string& text : arguments.faults) {
    const auto fault = appliance::parse_fault(text);
    if (!fault) return unexpected(fault.error());
    profile.faults.push_back(*fault);
  }
  if (arguments.pace == "realtime") profile.pace = config::Pace::realtime;
  if (arguments.pace == "lockstep") profile.pace = config::Pace::lockstep;
  using Presenter = config::RenderSettings::Presenter;
  if (arguments.presenter == "offscreen") profile.render.presenter = Presenter::offscreen;
  if (arguments.presenter == "window") profile.render.presenter = Presenter::window;
  if (arguments.presenter == "none") profile.render.presenter = Presenter::none;
  options.record = arguments.record;
  if (options.record.empty() && profile.output.record_frames && !options.out.empty())
    options.record = options.out / "recording";
  if (arguments.duration_s > 0) options.duration_s = arguments.duration_s;
  options.stop_request = &stop_request;
  options.strict = arguments.strict;
  options.progress = isatty(STDERR_FILENO) != 0;
  return {};
}

int tell(const RunArguments& arguments, const Result<appliance::RunOutcome>& outcome) {
  if (!outcome) return complain(outcome.error());
  fmt::print(stderr, "{}", outcome->table);
  if (arguments.json) fmt::print("{}\n", outcome->report);
  if (!outcome->complaint.empty()) fmt::print(stderr, "{}\n", outcome->complaint);
  return outcome->exit_code;
}

/// From the committed configuration, with the config shell beside it.
int run_configured(const RunArguments& arguments, bool profile_given) {
  appliance::ServiceOptions service_options;
  service_options.state = arguments.config;
  service_options.socket = arguments.socket;
  service_options.data_dirs = data_dirs();
  if (profile_given) service_options.profile = arguments.profile;
  service_options.sessions =
      arguments.out.empty() ? service_options.state / "sessions" : std::filesystem::path(arguments.out);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, on_signal);
  appliance::RunOptions probe;  // wrong words are told before anything starts
  if (const auto good = apply_arguments(arguments, probe); !good) return complain(good.error());
  auto service = appliance::ShellService::start(service_options);
  if (!service) return complain(service.error());
  fmt::print(stderr, "{}\n", (*service)->line());
  return appliance::run_configured(
      **service, stop_request, service_options.sessions,
      [&](appliance::RunOptions& options) { (void)apply_arguments(arguments, options); },
      [&](const Result<appliance::RunOutcome>& outcome) { return tell(arguments, outcome); });
}

int run(const RunArguments& arguments) {
  const auto path = config::resolve_profile(arguments.profile, data_dirs());
  if (!path) return complain(path.error());
  auto profile = config::load_profile(*path);
  if (!profile) return complain(profile.error());
  const std::filesystem::path out =
      arguments.out.empty() ? profile->output.directory : std::filesystem::path(arguments.out);

  appliance::RunOptions options;
  options.profile = *profile;
  options.out = out;
  if (const auto good = apply_arguments(arguments, options); !good) return complain(good.error());
  if (arguments.test_picture) {
    const auto file = appliance::write_test_picture(*profile, out.empty() ? "." : out);
    if (!file) return complain(file.error());
    fmt::print("{}\n", file->string());
    return 0;
  }

  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, on_signal);
  return tell(arguments, appliance::run_session(options));
}

struct ShellArguments {
  std::string socket, file, config, profile;
  std::vector<std::string> commands;
  bool json = false, serve = false, ssh = false, echo = false;
};

int shell(const ShellArguments& arguments) {
  if (arguments.serve) {
    appliance::ServiceOptions options;
    options.state = arguments.config;
    options.socket = arguments.socket;
    options.profile = arguments.profile;
    options.sessions = options.state / "sessions";
    options.data_dirs = data_dirs();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, on_signal);
    const auto code = appliance::serve_idle(options, stop_request);
    return code ? *code : complain(code.error());
  }
  shell::ClientOptions options;
  options.socket = arguments.socket.empty() ? shell::default_socket(true) : std::filesystem::path(arguments.socket);
  options.json = arguments.json;
  options.commands = arguments.commands;
  for (const std::string& command : options.commands)
    if (command.find('\n') != std::string::npos)
      return complain({Error::Kind::usage, "-c: a command is one line: give -c once for each"});
  options.echo = arguments.echo && !arguments.json;
  if (arguments.ssh) {
    // sshd's forced command: what the user asked for is a command of this shell, or nothing.
    options.history = false;
    if (const char* asked = std::getenv("SSH_ORIGINAL_COMMAND"); asked != nullptr && *asked != 0)
      options.commands = {asked};
  }
  const auto add_script = [&options](std::istream& in, const std::string& name) {
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      if (number == 0 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // what some editors begin a file with
      options.commands.push_back(line);
      options.places.resize(options.commands.size());
      options.places.back() = name + ":" + std::to_string(++number);
    }
  };
  if (!arguments.file.empty()) {
    std::ifstream in(arguments.file);
    if (!in || std::filesystem::is_directory(arguments.file))
      return complain({Error::Kind::usage, arguments.file + ": cannot be read: check the path"});
    add_script(in, arguments.file);
  } else if (options.commands.empty()) {
    options.interactive = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0 && !arguments.json;
    if (!options.interactive) add_script(std::cin, "standard input");
  }
  const auto code = shell::run_client(options);
  return code ? *code : complain(code.error());
}

/// Replaces this process by a program that stands beside it: ligature-bench alone links the peers, ligature-knot alone
/// the garbage collector of the library that computes knot polynomials.
int become(const char* name, const char* self, const std::vector<std::string>& arguments) {
  std::error_code wrong;
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", wrong);
  if (wrong) program = self;
  program.replace_filename(name);
  std::vector<std::string> words{program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  fmt::print(stderr, "{}: cannot be started: {}: build the target {}\n", program.string(), std::strerror(errno), name);
  return 2;
}

struct FilmArguments {
  std::string file, eyes = "left", view;
  std::size_t pictures = simulate::FilmOptions{}.pictures;
  std::vector<double> times;
};

const char* unnamed(const std::string& text) {
  return text.empty() ? "an empty name" : "";
}

void add_film_options(CLI::App* verb, FilmArguments& arguments) {
  CLI::Option* film =
      verb->add_option("--film", arguments.file,
                       "film strip as the microscope shows it: FILE.png; its folder is made when missing")
          ->check(unnamed);
  CLI::Option* pictures = verb->add_option("--film-pictures", arguments.pictures,
                                           "how many, spread evenly over the run from its start to its end")
                              ->check(CLI::Range(std::size_t{1}, simulate::kMostFilmPictures))
                              ->capture_default_str()
                              ->needs(film);
  verb->add_option("--film-times", arguments.times, "when they are taken, in s: 0,0.5,1.2")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->excludes(pictures)
      ->needs(film);
  verb->add_option("--film-eyes", arguments.eyes, "left, or both side by side")
      ->check(CLI::IsMember({"left", "both"}))
      ->capture_default_str()
      ->needs(film);
  verb->add_option("--film-view", arguments.view,
                   "the profile whose microscope it is seen through; else the tissue, or the threads, fill the picture")
      ->check(unnamed)
      ->needs(film);
}

Result<simulate::FilmOptions> film_options(const FilmArguments& arguments) {
  simulate::FilmOptions film;
  film.file = arguments.file;
  film.pictures = arguments.pictures;
  film.times_s = arguments.times;
  film.both_eyes = arguments.eyes == "both";
  if (arguments.view.empty()) return film;
  const auto path = config::resolve_profile(arguments.view, data_dirs());
  if (!path) return unexpected(path.error());
  const auto profile = config::load_profile(*path);
  if (!profile) return unexpected(profile.error());
  film.view = profile->render.params;
  return film;
}

struct SimArguments {
  std::string scenario, out, plot, dump_contacts;
  FilmArguments film;
  std::vector<std::string> expect;
  std::size_t width = 1;
  bool json = false, every_step = false;
};

int sim(const SimArguments& arguments) {
  simulate::SimOptions options;
  options.scenario = simulate::resolve_scenario(arguments.scenario, data_dirs());
  options.out = arguments.out;
  options.plot = arguments.plot;
  options.dump_contacts = arguments.dump_contacts;
  auto film = film_options(arguments.film);
  if (!film) return complain(film.error());
  options.film = std::move(*film);
  options.expect = arguments.expect;
  options.width = arguments.width;
  options.every_step = arguments.every_step;
  options.progress = isatty(STDERR_FILENO) != 0;
  options.stop_request = &stop_request;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, on_signal);
  const auto outcome = simulate::simulate(options);
  if (!outcome) return complain(outcome.error());
  fmt::print("{}", arguments.json ? outcome->summary + "\n" : outcome->table);
  for (const std::string& said : {outcome->complaint, outcome->note})
    if (!said.empty()) fmt::print(stderr, "{}\n", said);
  return outcome->exit_code;
}

struct TrackArguments {
  std::string rig, frames, out;
  bool filter = false, json = false;
};

int track(const TrackArguments& arguments) {
  tracking::TrackOptions options;
  options.rig = arguments.rig;
  options.frames = arguments.frames;
  options.out = arguments.out;
  options.rows_to_stdout = !arguments.json;
  options.filter = arguments.filter;
  options.progress = isatty(STDERR_FILENO) != 0;
  options.stop_request = &stop_request;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, on_signal);
  if (arguments.json && arguments.out == "-") {
    fmt::print(stderr, "--out is -, must be a file with --json: standard output holds the one JSON object\n");
    return 2;
  }
  const auto outcome = tracking::track(options);
  if (!outcome) return complain(outcome.error());
  const bool rows_on_stdout = arguments.out.empty() || arguments.out == "-";
  if (arguments.json)
    fmt::print("{}\n", outcome->summary);
  else
    fmt::print(rows_on_stdout ? stderr : stdout, "{}", outcome->table);
  fmt::print(stderr, "{}", outcome->complaint);
  return outcome->exit_code;
}

constexpr const char* kTrackFooter =
    R"(DIR holds C0 ... C3, each a folder of 000000.png ... or a video C0.mkv ..., and frames.csv: frame,t_s (one time for
all), or frame,t_s,t_C0_s,...,t_C3_s with the mid-exposure time of each image, empty where there is none. Without it 60 Hz.
The table has one row per frame and instrument, poses of the forceps frame T in the rig R, unfiltered:
  frame,t_s,instrument,status,x_mm,y_mm,z_mm,qx,qy,qz,qw,opening_deg,cameras,residual_px,sigma_tip_mm,
  cov_xx_mm2,cov_xy_mm2,cov_xz_mm2,cov_yy_mm2,cov_yz_mm2,cov_zz_mm2
status is tracked, predicted (hidden now, carried on from what was seen) or lost (its numbers are empty cells); the
covariance is that of the tip position, as believed. --filter adds the stream the picture uses, at the same times:
  filtered_x_mm,filtered_y_mm,filtered_z_mm,filtered_qx,filtered_qy,filtered_qz,filtered_qw,filtered_opening_deg,
  filtered_closed
steady at rest, without lag in motion; filtered_closed is 1 from a gap below 0.07 mm until one above 0.13 mm. Without --out the table goes to standard output, with --json nowhere.
Exit: 0 both instruments were tracked at some time, 1 one never was, or interrupted, 2 refused: nothing was written.
Example: ligature track --rig config/rigs/demo.toml --frames deploy/demo --out out/poses.csv)";

constexpr const char* kSimFooter =
    R"(Files in DIR, each whole or not there:
  summary.json   what --json prints
  threads.csv    t_s,thread,vertex,s_mm,x_mm,y_mm,z_mm,twist_deg
  energies.csv   t_s,thread,stretch_mn_mm,bend_mn_mm,twist_mn_mm,kinetic_mn_mm,potential_mn_mm,total_mn_mm
  clamps.csv     t_s,thread,at,fx_mn,fy_mn,fz_mn,tx_mn_mm,ty_mn_mm,tz_mn_mm: what each clamp exerts on its thread
  contacts.csv   t_s,thread_a,s_a_mm,kind_b,name_b,s_b_mm,gap_mm,normal_mn,friction_mn,state
  sutures.csv    t_s,suture,hole,thread,tissue,s_mm,x_mm,y_mm,z_mm,fx_mn,fy_mn,fz_mn,sliding,left: the thread at its holes
  timing.csv     one row a step, a column a stage, ms
--plot draws the curves at the start, between and at the end from two sides, nearer strands over farther ones, a close-up
of where strands meet with their contacts, the energies, and twist, writhe and link (where anything is twisted) or the
speed over time.
--film draws the run through the operating microscope (Vulkan; Mesa's software driver will do), with shadows, several
pictures in one PNG, each with its time.
--dump-contacts writes STEP.txt as often as the state is written (--every-step: each step): mu, q, warm start and matrix of
the last contact problem between strands that the step solved, u = W r + q, rows (n, t1, t2) of each contact, mm and uN.
--expect rest    every vertex is slower than rest_speed_mm_per_s at the end, and nothing drives or changes anything
--expect holds   something was tied when the loads were full (all ramps over) and is at the end, and no tail slid by more
                 than two diameters in between: an end that nothing holds or pulls, by as much thread as was drawn into
                 the knot from there; of a thread without such ends both ends count
--expect opens   something was tied at the start or when the loads were full, and nothing is at the end: every open
                 thread could be pulled straight without passing through itself, another thread, a pole or a mesh
--expect passed  the exercise was passed
--expect knot=NAME  at the end some threads are tied into NAME: a surgical tie (reef, granny, thief, grief, surgeon) or its
                 throws (1=1, 2=1), or a knot or link as `ligature knot` names it (3_1, 2^2_1); none: no knot at all
Exit: 0 done, 1 interrupted, contacts overflowed, state not finite, a strand passed through
another or --expect failed, 2 refused: nothing was written.
Example: ligature sim thread/catenary --out out/catenary --plot out/catenary.png --expect rest)";

constexpr const char* kBenchFooter =
    R"(A word after `bench` asks for one table: capture (a camera's bytes to a picture), rod (a thread of 100 to 30000 vertices, beside LAPACK and Eigen), coupling
(the matrix between contacts), tissue (a vessel end alone and stitched, with elements and stitches growing), cones (contact
forces against iterations, with and without warm start; VRIPHYS figure 6) or knots (frames of 30 ms of named knots, beside the thesis's solver and Bullet); without
one all of them, after the plumbing and the stages on the demo recording. Further options go to ligature-bench:
  --json --profile FILE
  cones: --plot FILE.svg|FILE.png
  tissue: --plot FILE.svg|FILE.png --brief
  knots: --scene NAME --frames N --no-peer --peer-only --iterations N --contact-iterations N --brief --dump FOLDER
Exit: 0 measured, 1 the stages or knots could not be measured, 2 refused.
Example: ligature bench knots --scene reef-10-0 --frames 50 --no-peer)";

constexpr const char* kShellFooter =
    R"(Without -c and -f: a prompt; `?` helps anywhere, Tab completes, `exit` leaves. Who may is decided by the groups
ligature-viewer, ligature-service and ligature-admin (docs/technician.md).
Exit: 0 all done, 1 refused or failed, 2 wrong command or value, or nobody listens; one line on standard error.
Example: ligature shell -c 'show cameras'
Example: ligature shell -c 'set profile microscope field_of_view_mm 30' -c 'commit confirmed 5 comment zoom'
Example: ligature shell --json -c 'show tracking')";

int replay(const std::string& directory, const FilmArguments& film_arguments, bool json) {
  const auto options = film_options(film_arguments);
  if (!options) return complain(options.error());
  std::optional<simulate::Film> film;
  const auto draw = [&](const appliance::ReplayMoment& now) -> Result<void> {
    if (!film) {
      config::Scenario session = now.scenario;
      session.duration_s = now.end_s;
      auto opened = simulate::Film::open(*options, session, now.world);
      if (!opened) return unexpected(opened.error());
      film = std::move(*opened);
    } else if (now.fresh) {
      if (auto changed = film->change(now.scenario, now.world); !changed) return changed;
    }
    film->look(now.world, now.time_s);
    if (now.time_s < now.end_s) return {};
    const auto missed = film->finish(now.world, now.time_s, now.scenario.title);
    if (!missed) return unexpected(missed.error());
    if (!missed->empty()) fmt::print(stderr, "{}\n", *missed);
    return {};
  };
  const auto result = appliance::replay_session(directory, options->file.empty() ? appliance::ReplayWatch{} : draw);
  if (!result) return complain(result.error());
  // A log that lost its end shows what it has, and proves nothing.
  const bool same = result->missing == 0 && (!result->complete || result->state_hash == result->recorded_hash);
  const std::string verdict =
      result->missing > 0 ? fmt::format("the log lacks {} of its records, nothing to compare with", result->missing)
      : !result->complete ? "the session was cut off, nothing to compare with"
      : same              ? "the same"
                          : "DIFFERENT";
  const bool compared = result->missing == 0 && result->complete;
  if (json)
    fmt::print(
        "{{\"steps\":{},\"state_hash\":\"{:016x}\",\"recorded_hash\":{},\"complete\":{},\"same\":{},"
        "\"missing_records\":{},\"grasps\":{}}}\n",
        result->steps, result->state_hash,
        result->complete ? fmt::format("\"{:016x}\"", result->recorded_hash) : "null", result->complete,
        compared ? fmt::to_string(same) : "null", result->missing, result->grasps);
  else if (!result->complete)
    fmt::print("{} steps, state {:016x}: {}\n", result->steps, result->state_hash, verdict);
  else
    fmt::print("{} steps, state {:016x}, recorded {:016x}: {}\n", result->steps, result->state_hash,
               result->recorded_hash, verdict);
  return same ? 0 : 1;
}

int diagnose(bool as_json, bool only_cameras) {
  if (only_cameras) {
    const doctor::CameraList cameras = doctor::list_cameras(true);
    fmt::print("{}", as_json ? nlohmann::json{{"cameras", doctor::camera_report(true)}}.dump(2) + "\n" : cameras.text);
    return cameras.count > 0 ? 0 : 1;
  }
  const auto findings = doctor::examine();
  if (as_json) {
    nlohmann::json report = doctor::report(findings);
    report["cameras"] = doctor::camera_report(false);
    fmt::print("{}\n", report.dump(2));
  } else {
    fmt::print("{}", doctor::table(findings));
    if (const doctor::CameraList cameras = doctor::list_cameras(false); cameras.count > 0)
      fmt::print("\nCameras, as a profile names them:\n{}", cameras.text);
  }
  return doctor::fit(findings) ? 0 : 1;
}

int run_command(int argc, char** argv) {
  CLI::App app{"Ligature: the firmware of a microsurgery training appliance"};
  app.set_version_flag("--version", appliance::version_line());
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);

  RunArguments arguments;
  CLI::App* run_verb = app.add_subcommand("run", "the appliance: cameras, tracking, physics, stereo picture, watchdog");
  run_verb
      ->add_option("--profile", arguments.profile,
                   "name of a shipped profile (demo, virtual, appliance, rig) or a file")
      ->capture_default_str()
      ->take_last();
  run_verb->add_option("--duration", arguments.duration_s, "seconds of session time; default: the profile's")
      ->check(appliance::within(0.01, 1e6));
  run_verb->add_option("--out", arguments.out, "folder for pictures, video, report.json and logs; made when missing")
      ->check(appliance::named)
      ->take_last();
  run_verb->add_option("--record", arguments.record, "folder to save what the cameras saw, in the recorded format")
      ->check(appliance::named);
  run_verb->add_option("--pace", arguments.pace, "wins over the profile's pace")
      ->check(CLI::IsMember({"lockstep", "realtime"}));
  run_verb->add_option("--presenter", arguments.presenter, "wins over the profile's presenter")
      ->check(CLI::IsMember({"offscreen", "window", "none"}));
  run_verb->add_option(
      "--fault", arguments.faults,
      "inject a fault, repeatable: KIND[:CAMERA]:FROM_S[:UNTIL_S[:DELAY_MS]], KIND one of camera_dead, "
      "frame_drop, frame_late, blob, physics_overrun, non_finite, presenter_lost; frame_late and physics_overrun need "
      "DELAY_MS");
  CLI::Option* const test_picture = run_verb->add_flag("--test-picture", arguments.test_picture,
                                                       "write the picture that shows which eye is which, and end");
  run_verb->add_flag("--strict", arguments.strict, "a missed deadline is exit 1");
  run_verb->add_flag("--json", arguments.json, "print the report as one JSON object on standard output");
  run_verb->footer("Example: ligature run --profile virtual --duration 20 --out out/virtual --json");

  run_verb
      ->add_option("--config", arguments.config,
                   "run what is committed in DIR, and serve the config shell; made from --profile when DIR is empty")
      ->expected(0, 1)
      ->excludes(test_picture)
      ->default_str(appliance::default_state());
  run_verb->add_option("--socket", arguments.socket, "where the config shell listens; with --config");

  bool doctor_json = false, doctor_cameras = false;
  CLI::App* doctor_verb = app.add_subcommand("doctor", "is this machine fit for real time, and what to do if not");
  doctor_verb->add_flag("--json", doctor_json, "print the findings as one JSON object");
  doctor_verb->add_flag("--cameras", doctor_cameras,
                        "only the cameras: serial, path, formats, sizes, rates, controls; exit 1 when there is none");
  doctor_verb->footer("Example: ligature doctor --cameras");

  CLI::App* bench_verb = app.add_subcommand(
      "bench", "the benchmark tables: stages, capture, markers, rod, tissue, coupling, cones, knots");
  bench_verb->prefix_command();
  bench_verb->footer(kBenchFooter);

  CLI::App* knot_verb = app.add_subcommand("knot", "which knot is this curve (these curves)");
  knot_verb->prefix_command();
  knot_verb->set_help_flag();  // ligature-knot has its own
  knot_verb->footer("Example: ligature knot left.csv right.csv --json");

  SimArguments sim_arguments;
  CLI::App* sim_verb = app.add_subcommand("sim", "physics alone, as fast as it goes, deterministic");
  sim_verb->add_option("SCENARIO", sim_arguments.scenario, "a TOML file, or a shipped scenario such as thread/catenary")
      ->required();
  sim_verb->add_option("--out", sim_arguments.out, "folder for summary.json and the tables; made when missing")
      ->check(unnamed);
  sim_verb
      ->add_option("--plot", sim_arguments.plot,
                   "picture of curves, energies and twist: FILE.svg or FILE.png; its folder is made when missing")
      ->check(unnamed);
  add_film_options(sim_verb, sim_arguments.film);
  sim_verb
      ->add_option("--dump-contacts", sim_arguments.dump_contacts,
                   "folder for the contact problems between strands, one file a written state; made when missing")
      ->check(unnamed);
  sim_verb
      ->add_option("--expect", sim_arguments.expect,
                   "exit 1 unless it ends so; repeatable: rest, holds, opens, passed, knot=NAME")
      ->allow_extra_args(false);
  sim_verb
      ->add_option("--width", sim_arguments.width,
                   "threads that share the work of a step, 1 to 16; the result has the same bits at any width")
      ->check(CLI::Range(std::size_t{1}, simulate::kMostWidth))
      ->capture_default_str();
  sim_verb->add_flag("--every-step", sim_arguments.every_step,
                     "write the state after every step, whatever output.every_s says");
  sim_verb->add_flag("--json", sim_arguments.json, "print summary.json on standard output instead of a table");
  sim_verb->footer(kSimFooter);

  TrackArguments track_arguments;
  CLI::App* track_verb = app.add_subcommand("track", "camera frames in, forceps poses out");
  track_verb->add_option("--rig", track_arguments.rig, "rig file of the cameras that made the frames")->required();
  track_verb->add_option("--frames", track_arguments.frames, "folder of the recording")->required();
  track_verb->add_option("--out", track_arguments.out, "table of poses, CSV; its folder is made when missing")
      ->check(unnamed);
  track_verb->add_flag("--filter", track_arguments.filter, "add the filtered_* columns, the stream the picture uses");
  track_verb->add_flag("--json", track_arguments.json, "print a summary as one JSON object on standard output");
  track_verb->footer(kTrackFooter);

  const calibrate::Command calibrate_verb(app);

  ShellArguments shell_arguments;
  CLI::App* shell_verb = app.add_subcommand("shell", "the service technician's config shell");
  shell_verb->add_option("-c", shell_arguments.commands, "run this command and end; repeatable")
      ->allow_extra_args(false);
  shell_verb->add_option("-f", shell_arguments.file, "run the commands of a file, until the first that fails");
  shell_verb->add_flag("--echo", shell_arguments.echo, "print each command of -c or -f after its prompt");
  shell_verb->add_flag("--json", shell_arguments.json, "print all answers as one JSON object");
  shell_verb->add_option("--socket", shell_arguments.socket, "where ligature listens");
  shell_verb->add_flag("--ssh", shell_arguments.ssh,
                       "as sshd's forced command: runs SSH_ORIGINAL_COMMAND, keeps no history");
  shell_verb->add_flag("--serve", shell_arguments.serve, "listen, on a machine where no session shall run");
  shell_arguments.config = appliance::default_state();
  shell_verb->add_option("--config", shell_arguments.config, "--serve: folder of the configuration")
      ->capture_default_str();
  shell_verb->add_option("--profile", shell_arguments.profile,
                         "--serve: what an empty folder's first commit is made from");
  shell_verb->footer(kShellFooter);

  std::string replay_directory;
  bool replay_json = false;
  CLI::App* replay_verb = app.add_subcommand("replay", "run a session's physics again from its log of samples");
  replay_verb->add_option("DIR", replay_directory, "the --out folder of a `ligature run`")->required();
  replay_verb->add_flag("--json", replay_json, "print the result as one JSON object");
  FilmArguments replay_film;
  add_film_options(replay_verb, replay_film);
  replay_verb->footer(
      "--film draws the session's scene, in its own time, pauses and fresh starts included.\n"
      "Exit: 0 the same state, or the session was cut off, 1 another state, 2 wrong folder or option, or nothing that "
      "draws.\n"
      "Example: ligature replay out/virtual\n"
      "Example: ligature replay out/anastomosis --film film.png --film-times 4,12,20,30,39 --film-eyes both");

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& wrong) {
    const auto verbs = app.get_subcommands([](const CLI::App*) { return true; });
    const std::string word = argc > 1 ? argv[1] : "";
    const bool known =
        std::any_of(verbs.begin(), verbs.end(), [&](const CLI::App* v) { return v->get_name() == word; });
    fmt::print(stderr, "ligature: {}: see `ligature --help`\n",
               known || word.empty() || word[0] == '-' ? wrong.what() : "there is no verb '" + word + "'");
    return 2;
  }

  if (*run_verb) {
    if (run_verb->count("--config") == 0) {
      if (!arguments.socket.empty())
        return complain({Error::Kind::usage, "--socket: needs --config, which serves the shell: add it"});
      return run(arguments);
    }
    return run_configured(arguments, run_verb->count("--profile") > 0);
  }
  if (*shell_verb) return shell(shell_arguments);
  if (*bench_verb) return become("ligature-bench", argv[0], bench_verb->remaining());
  if (*knot_verb) return become("ligature-knot", argv[0], knot_verb->remaining());
  if (*sim_verb) return sim(sim_arguments);
  if (*track_verb) return track(track_arguments);
  if (calibrate_verb.asked_for()) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, on_signal);
    return calibrate_verb.run(stop_request);
  }
  if (*replay_verb) return replay(replay_directory, replay_film, replay_json);
  return diagnose(doctor_json, doctor_cameras);
}

}  // namespace

int main(int argc, char** argv) {
  // A write that fails is an answer to deal with, not a reason to die.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // What the decoders have to say of a broken file is said by us, in one line.
  setenv("OPENCV_LOG_LEVEL", "SILENT", 0);
  setenv("OPENCV_FFMPEG_LOGLEVEL", "-8", 0);
  int code = 1;
  try {
    code = run_command(argc, argv);
  } catch (const std::exception& wrong) {
    std::fprintf(stderr, "ligature: ended by an error that nothing foresaw: %s\n", wrong.what());
    return 1;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "ligature: standard output cannot be written: %s\n", std::strerror(errno));
    return 1;
  }
  return code;
}
