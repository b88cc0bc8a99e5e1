#include "appliance/calibrate/command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "appliance/arguments.hpp"
#include "appliance/calibrate/calibrate.hpp"

namespace ligature::calibrate {
namespace {

constexpr const char* kBoardHelp =
    "checkerboard:COLSxROWS:SQUAREmm (inner corners) or charuco:COLSxROWS:SQUAREmm:MARKERmm[:DICT] (squares)";

constexpr const char* kIntrinsicsFooter =
    R"(Fill the image with the board from many sides, 20 pictures or more, tilted by 20 to 45 degrees, into the corners too.
Prints the lens with its uncertainty, every rejected picture with its reason, the error of views held out; exit 1 and nothing
written when it fails a limit, unless --force. The other cameras of the file stay.
Example: ligature calibrate intrinsics --board checkerboard:9x6:25mm --camera C0 --images pictures/*.jpg --out rig.toml)";

constexpr const char* kRigFooter =
    R"(DIR/C0 ... C3: folders of pictures (jpg, png, ...; the number that ends a name is its frame) or videos. Hold the board still in
30 places in and round the working volume, tilted, seen by several cameras at once. In the frame --origin it lies on the floor: its
grid's middle is R's origin, its printed side looks up; without it R stays where the last file's cameras fit best.
Exit 1 and nothing written when it fails a limit, unless --force.
Example: ligature calibrate rig --board checkerboard:9x6:25mm --frames board --origin 0 --out rig.toml --picture rig.png)";

constexpr const char* kInstrumentFooter =
    R"(Two recordings in the layout of `track`. --pivot: the closed tip stays in a divot while the forceps are turned and tilted about
it as far as they go, ten seconds. --opening: the forceps held in view, opened and closed slowly a few times; without it T's
directions and the hinge stay. Needs calibrated cameras. Exit 1 and nothing written when it fails a limit, unless --force.
Example: ligature calibrate instrument --instrument left --rig rig.toml --pivot pivot --opening opening --out rig.toml)";

constexpr const char* kCheckFooter =
    R"(Move the bar slowly through the working volume for ten seconds, both balls in view. The answer is the first line:
pass   nothing to do
note   error of the length above 0.10 mm, or a camera 0.5 px off the others: calibrate this week
alert  0.20 mm or 1.0 px: calibrate today
fail   0.50 mm or 3.0 px, or the bar was not seen: nobody trains before it is calibrated
Exit: 0 pass or note, 1 alert or fail, 2 refused.
Example: ligature calibrate check --rig rig.toml --frames bar --bar-mm 80)";

}  // namespace

struct Arguments {
  CLI::App* verb = nullptr;
  CLI::App *intrinsics = nullptr, *rig = nullptr;
  IntrinsicsOptions intrinsics_options;
  RigOptions rig_options;
  CLI::App *instrument = nullptr, *check = nullptr;
  InstrumentOptions instrument_options;
  CheckOptions check_options;
  double max_tip_um = 100, working_distance_mm = 0;
  bool json = false;
};

Command::~Command() = default;

Command::Command(CLI::App& app) : arguments_(std::make_unique<Arguments>()) {
  Arguments& a = *arguments_;
  a.verb = app.add_subcommand("calibrate", "images of a board in, rig file out");
  a.verb->require_subcommand(1);
  a.verb->footer(
      "Example: ligature calibrate rig --board checkerboard:9x6:25mm --frames board --origin 0 --out rig.toml");

  const auto common = [&](CLI::App* verb, CameraOptions& o) {
    verb->add_option("--board", o.board, kBoardHelp)->required();
    verb->add_option("--out", o.out,
                     "rig file to write; when it is there its other parts stay, and drift is told; without: only tell")
        ->check(appliance::named);
    verb->add_option("--picture", o.picture, "coverage and residuals of each camera: FILE.png or FILE.svg")
        ->check(appliance::named);
    verb->add_flag("--force", o.force, "write even what fails its limits");
    verb->add_flag("--json", a.json, "print one JSON object instead of the table");
    verb->add_option("--max-rms-px", o.limits.rms_px, "limit of a camera's reprojection error")
        ->capture_default_str()
        ->check(appliance::within(0.001, 100.0));
    verb->add_option("--min-views", o.limits.views, "views a camera needs for its lens")
        ->capture_default_str()
        ->check(CLI::Range(std::size_t{3}, std::size_t{10000}));
    verb->add_option("--max-frames", o.most_frames, "adjust at most so many, the most different ones")
        ->capture_default_str()
        ->check(CLI::Range(std::size_t{3}, std::size_t{2000}));
  };
  a.intrinsics = a.verb->add_subcommand("intrinsics", "the lens of one camera, from pictures of a board");
  common(a.intrinsics, a.intrinsics_options);
  a.intrinsics->add_option("--camera", a.intrinsics_options.camera, "C0, C1, C2 or C3")->required();
  a.intrinsics->add_option("--images", a.intrinsics_options.images, "pictures, folders or patterns")->required();
  a.intrinsics
      ->add_option("--max-image-px", a.intrinsics_options.limits.image_sigma_px,
                   "limit of the lens's uncertainty, a projected point's over the image")
      ->capture_default_str()
      ->check(appliance::within(0.001, 100.0));
  a.intrinsics->add_option("--working-distance-mm", a.working_distance_mm, "for errors in mm; default 346")
      ->check(appliance::within(1.0, 1e5));
  a.intrinsics->footer(kIntrinsicsFooter);

  a.rig = a.verb->add_subcommand("rig", "lenses and places of all cameras, from a board that several of them saw");
  common(a.rig, a.rig_options);
  a.rig->add_option("--max-tip-um", a.max_tip_um, "limit of the uncertainty of a point over the working volume")
      ->capture_default_str()
      ->check(appliance::within(0.001, 1e6));
  a.rig->add_option("--frames", a.rig_options.frames, "folder that holds C0 ... C3")->required();
  a.rig->add_option("--intrinsics", a.rig_options.intrinsics, "rig file whose lenses are the start");
  a.rig->add_flag("--hold-intrinsics", a.rig_options.hold_intrinsics, "keep those lenses as they are");
  a.rig->add_option("--origin", a.rig_options.origin, "frame in which the board lies on the floor: defines R");
  a.rig
      ->add_option("--board-thickness-mm", a.rig_options.board_thickness_mm,
                   "printed side above the floor in that frame")
      ->capture_default_str();
  a.rig->add_option("--cameras", a.rig_options.cameras, "which cameras, e.g. C0,C1; default: all four")->delimiter(',');
  a.rig->footer(kRigFooter);

  InstrumentOptions& i = a.instrument_options;
  a.instrument = a.verb->add_subcommand("instrument", "where a forceps' markers are, from turning it about its tip");
  a.instrument->add_option("--instrument", i.instrument, "left or right")->required();
  a.instrument->add_option("--rig", i.rig, "rig file of the calibrated cameras")->required();
  a.instrument->add_option("--pivot", i.pivot, "recording: turned about the closed tip in a divot")->required();
  a.instrument->add_option("--opening", i.opening, "recording: opened and closed");
  a.instrument->add_option("--out", i.out, "rig file to write, usually the same; without: only tell");
  a.instrument->add_flag("--force", i.force, "write even what fails its limits");
  a.instrument->add_flag("--json", a.json, "print one JSON object instead of the table");
  a.instrument->footer(kInstrumentFooter);

  CheckOptions& k = a.check_options;
  a.check = a.verb->add_subcommand("check", "the daily check with a bar of known length: pass, note, alert or fail");
  a.check->add_option("--rig", k.rig, "rig file")->required();
  a.check->add_option("--frames", k.frames, "recording of the bar")->required();
  a.check->add_option("--bar-mm", k.bar_mm, "distance of the balls' centres")->required();
  a.check->add_option("--ball-mm", k.ball_mm, "diameter of the balls")->capture_default_str();
  a.check->add_option("--balls", k.balls, "markers whose colours the balls have")
      ->delimiter(',')
      ->capture_default_str();
  a.check->add_flag("--json", a.json, "print one JSON object instead of the table");
  a.check->footer(kCheckFooter);
}

bool Command::asked_for() const {
  return arguments_->verb->parsed();
}

int Command::run(const std::atomic<bool>& stop) const {
  Arguments& a = *arguments_;
  // The config shell's jobs want it through a pipe.
  const bool terminal = isatty(STDERR_FILENO) != 0 || std::getenv("LIGATURE_PROGRESS") != nullptr;
  bool told = false;
  const calibration::ProgressFunction progress = [&](const calibration::Progress& p) {
    if (terminal) {
      const std::string count = p.total > 0 ? fmt::format(" {}/{}", p.done + 1, p.total) : std::string();
      fmt::print(stderr, "\r\033[K{}{}: {}", name_of(p.stage), count, p.what.substr(0, 100));
      std::fflush(stderr);
      told = true;
    }
    return !stop.load();
  };
  a.rig_options.limits.tip_sigma_mm = 0.001 * a.max_tip_um;
  for (CameraOptions* o :
       {static_cast<CameraOptions*>(&a.intrinsics_options), static_cast<CameraOptions*>(&a.rig_options)}) {
    if (a.working_distance_mm > 0) o->working_distance_mm = a.working_distance_mm;
    o->progress = progress;
  }
  a.instrument_options.progress = a.check_options.progress = progress;
  const auto outcome = a.intrinsics->parsed()   ? calibrate_intrinsics(a.intrinsics_options)
                       : a.rig->parsed()        ? calibrate_rig(a.rig_options)
                       : a.instrument->parsed() ? calibrate_instrument(a.instrument_options)
                                                : check_rig(a.check_options);
  if (told) fmt::print(stderr, "\r\033[K");
  if (!outcome) {
    fmt::print(stderr, "{}\n", outcome.error().message);
    return outcome.error().kind == Error::Kind::failed ? 1 : 2;
  }
  if (a.json)
    fmt::print("{}\n", outcome->json);
  else
    fmt::print("{}", outcome->table);
  std::fflush(stdout);
  for (const std::string& line : outcome->complaints) fmt::print(stderr, "{}\n", line);
  return outcome->exit_code;
}

}  // namespace ligature::calibrate
