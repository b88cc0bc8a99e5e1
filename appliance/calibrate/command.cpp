#include "appliance/calibrate/command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

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

}  // namespace

struct Arguments {
  CLI::App* verb = nullptr;
  CLI::App *intrinsics = nullptr, *rig = nullptr;
  IntrinsicsOptions intrinsics_options;
  RigOptions rig_options;
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
                     "rig file to write; when it is there its other parts stay, and drift is told; without: only tell");
    verb->add_option("--picture", o.picture, "coverage and residuals of each camera: FILE.png or FILE.svg");
    verb->add_flag("--force", o.force, "write even what fails its limits");
    verb->add_flag("--json", a.json, "print one JSON object instead of the table");
    verb->add_option("--max-rms-px", o.limits.rms_px, "limit of a camera's reprojection error")
        ->capture_default_str()
        ->check(CLI::Range(0.001, 100.0));
    verb->add_option("--max-tip-um", a.max_tip_um, "limit of the uncertainty at the working distance")
        ->capture_default_str()
        ->check(CLI::Range(0.001, 1e6));
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
  a.intrinsics->add_option("--working-distance-mm", a.working_distance_mm, "for errors in mm; default 346")
      ->check(CLI::Range(1.0, 1e5));
  a.intrinsics->footer(kIntrinsicsFooter);

  a.rig = a.verb->add_subcommand("rig", "lenses and places of all cameras, from a board that several of them saw");
  common(a.rig, a.rig_options);
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
}

bool Command::asked_for() const {
  return arguments_->verb->parsed();
}

int Command::run(const std::atomic<bool>& stop) const {
  Arguments& a = *arguments_;
  const bool terminal = isatty(STDERR_FILENO) != 0;
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
  for (CameraOptions* o :
       {static_cast<CameraOptions*>(&a.intrinsics_options), static_cast<CameraOptions*>(&a.rig_options)}) {
    o->limits.tip_sigma_mm = 0.001 * a.max_tip_um;
    if (a.working_distance_mm > 0) o->working_distance_mm = a.working_distance_mm;
    o->progress = progress;
  }
  const auto outcome =
      a.intrinsics->parsed() ? calibrate_intrinsics(a.intrinsics_options) : calibrate_rig(a.rig_options);
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
