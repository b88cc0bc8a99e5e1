#include "appliance/calibrate/calibrate.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "appliance/calibrate/picture.hpp"
#include "config/rig_file.hpp"
#include "drivers/calibration/check.hpp"
#include "drivers/calibration/instrument.hpp"

namespace ligature::calibrate {
namespace {

namespace fs = std::filesystem;
using calibration::CameraReport;
using calibration::Report;
using calibration::ViewReport;
using drivers::CameraModel;
using drivers::Rig;
using nlohmann::json;

std::string now_utc() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

/// The file that stands where the result goes: the last calibration.
Result<std::optional<Rig>> last_rig(const fs::path& out) {
  std::error_code wrong;
  if (out.empty() || !fs::exists(out, wrong)) return std::optional<Rig>{};
  auto rig = config::load_partial_rig(out);
  if (!rig) return usage_error(rig.error().message + " (the file that --out names must be a rig file or not be there)");
  return std::optional<Rig>(std::move(*rig));
}

CameraModel* find_camera(Rig& rig, const std::string& name) {
  const auto at =
      std::find_if(rig.cameras.begin(), rig.cameras.end(), [&](const CameraModel& c) { return c.name == name; });
  return at == rig.cameras.end() ? nullptr : &*at;
}

/// A camera that still stands where the documentation's rig has it was never measured.
constexpr double kFarFromDrawn_mm = 50;

bool is_nominal(const CameraModel& camera) {
  Rig standard = drivers::standard_rig();
  const CameraModel* there = find_camera(standard, camera.name);
  return there && norm(there->X_RC.p - camera.X_RC.p) < 1e-9;
}

json views_json(const std::vector<ViewReport>& views) {
  json list = json::array();
  std::size_t used = 0;
  for (const ViewReport& v : views) {
    used += v.used();
    json one{
        {"source", v.source}, {"camera", v.camera}, {"frame", v.frame}, {"used", v.used()}, {"corners", v.corners}};
    if (v.used())
      one["left_out"] = v.left_out, one["rms_px"] = v.rms_px;
    else
      one["reject"] = name_of(v.reject), one["reason"] = v.reason;
    list.push_back(std::move(one));
  }
  return {{"used", used}, {"rejected", views.size() - used}, {"list", std::move(list)}};
}

json camera_json(const CameraReport& r, const CameraModel& m, bool rig) {
  json out{{"name", r.name},
           {"size_px", {m.width_px, m.height_px}},
           {"fx_px", m.fx_px},
           {"fy_px", m.fy_px},
           {"cx_px", m.cx_px},
           {"cy_px", m.cy_px},
           {"distortion", m.distortion},
           {"distortion_terms", r.distortion_terms},
           {"intrinsics_held", r.intrinsics_held},
           {"views", r.views},
           {"corners", r.corners},
           {"left_out", r.left_out},
           {"rms_px", r.rms_px},
           {"held_out_rms_px", r.held_out_rms_px},
           {"held_out_mm", r.held_out_mm},
           {"coverage", r.coverage},
           {"coverage_cells",
            {{"cols", calibration::kCoverageCols}, {"rows", calibration::kCoverageRows}, {"corners", r.cells}}},
           {"sigma_f_px", r.sigma_f_px},
           {"sigma_c_px", r.sigma_c_px}};
  if (rig) {
    const auto& X = m.X_RC;
    out["p_RC_mm"] = {X.p.x, X.p.y, X.p.z};
    out["q_RC"] = {X.q.x, X.q.y, X.q.z, X.q.w};
    out["sigma_p_mm"] = r.sigma_p_mm;
    out["sigma_q_mdeg"] = r.sigma_q_mdeg;
    out["drift_p_mm"] = r.drift_p_mm;
    out["drift_q_mdeg"] = r.drift_q_mdeg;
  } else {
    out["sigma_image_px"] = r.sigma_image_px;
  }
  out["drift_f_px"] = r.drift_f_px;
  return out;
}

json report_json(const char* what, const Report& r, const std::vector<CameraModel>& cameras) {
  const bool rig = cameras.size() > 1;
  json list = json::array();
  for (std::size_t c = 0; c < cameras.size(); ++c) list.push_back(camera_json(r.cameras[c], cameras[c], rig));
  json out{{"command", what},
           {"board", r.board.text()},
           {"good", r.good()},
           {"frames", r.frames},
           {"sigma_px", r.sigma_px},
           {"rms_px", r.rms_px},
           {"held_out_rms_px", r.held_out_rms_px},
           {"held_out_mm", r.held_out_mm},
           {"working_distance_mm", r.working_distance_mm},
           {"tip_sigma_um", {{"rms", 1000 * r.tip_sigma_mm}, {"worst", 1000 * r.tip_sigma_worst_mm}}},
           {"cameras", std::move(list)},
           {"views", views_json(r.views)},
           {"notes", r.notes},
           {"failures", r.failures},
           {"drift", nullptr}};
  if (rig) out["origin"] = r.origin.empty() ? json(nullptr) : json(r.origin);
  if (r.has_last && rig)
    out["drift"] = {{"tip_rms_um", 1000 * r.drift_tip_mm},
                    {"tip_worst_um", 1000 * r.drift_tip_worst_mm},
                    {"shape_um", 1000 * r.drift_shape_mm}};
  else if (r.has_last)
    out["drift"] = {{"f_px", r.cameras[0].drift_f_px}};
  return out;
}

/// Reasons with how often they came, the commonest first, and an example of each.
std::string rejected_table(const std::vector<ViewReport>& views) {
  struct Group {
    std::size_t n = 0;
    std::string example, reason;
  };
  std::map<std::string, Group> groups;
  std::size_t rejected = 0;
  for (const ViewReport& v : views) {
    if (v.used()) continue;
    ++rejected;
    Group& g = groups[v.camera + name_of(v.reject)];
    if (g.n++ == 0) g.example = v.source, g.reason = v.reason;
  }
  std::vector<Group> ordered;
  for (const auto& [key, g] : groups) ordered.push_back(g);
  std::stable_sort(ordered.begin(), ordered.end(), [](const Group& a, const Group& b) { return a.n > b.n; });
  std::string out = fmt::format("views: {} used, {} not\n", views.size() - rejected, rejected);
  for (const Group& g : ordered)
    out += fmt::format("  {:>4}  {}: {}\n", g.n, g.n == 1 ? g.example : "like " + g.example, g.reason);
  return out;
}

std::string report_table(const Report& r, const std::vector<CameraModel>& cameras) {
  const bool rig = cameras.size() > 1;
  std::string out = fmt::format("board {}, {} board poses\n", r.board.text(), r.frames);
  out += rejected_table(r.views);
  out +=
      "\ncamera  views  corners  left out  error px  held out px  coverage   focal length px        centre px          "
      "distortion\n";
  for (std::size_t c = 0; c < cameras.size(); ++c) {
    const CameraReport& k = r.cameras[c];
    const CameraModel& m = cameras[c];
    out += fmt::format(
        "{:<6} {:>6} {:>8} {:>9} {:>9.3f} {:>12} {:>8.0f} %   {:.2f} {:.2f} +-{:.2f}   {:.2f} {:.2f} +-{:.2f}   {:.4f} "
        "{:.4f} {:.5f} {:.5f} {:.4f}{}\n",
        k.name, k.views, k.corners, k.left_out, k.rms_px,
        k.held_out_rms_px > 0 ? fmt::format("{:.3f}", k.held_out_rms_px) : "-", 100 * k.coverage, m.fx_px, m.fy_px,
        k.sigma_f_px, m.cx_px, m.cy_px, k.sigma_c_px, m.distortion[0], m.distortion[1], m.distortion[2],
        m.distortion[3], m.distortion[4], k.intrinsics_held ? "  held" : "");
  }
  if (rig) {
    out += "\ncamera        place in R, mm             +- mm   direction +- mdeg";
    if (r.has_last) out += "   moved since the last: mm, mdeg, focal px";
    out += "\n";
    for (std::size_t c = 0; c < cameras.size(); ++c) {
      const CameraReport& k = r.cameras[c];
      const Vec3 p = cameras[c].X_RC.p;
      out += fmt::format("{:<6} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>19.2f}", k.name, p.x, p.y, p.z, k.sigma_p_mm,
                         k.sigma_q_mdeg);
      if (r.has_last) out += fmt::format("   {:>22.3f} {:.1f} {:+.2f}", k.drift_p_mm, k.drift_q_mdeg, k.drift_f_px);
      out += "\n";
    }
  }
  out += fmt::format("\ncorner noise          {:.3f} px an axis\n", r.sigma_px);
  if (r.held_out_rms_px > 0)
    out += fmt::format("held-out views        {:.3f} px, {:.3f} mm at the working distance of {:.0f} mm\n",
                       r.held_out_rms_px, r.held_out_mm, r.working_distance_mm);
  if (rig) {
    out += std::isnan(r.tip_sigma_mm)
               ? std::string("tip, from calibration -, the views do not tell\n")
               : fmt::format("tip, from calibration {:.0f} um RMS over the working volume, {:.0f} um at worst\n",
                             1000 * r.tip_sigma_mm, 1000 * r.tip_sigma_worst_mm);
    if (r.has_last)
      out += fmt::format(
          "since the last        a tip moves by {:.0f} um RMS, {:.0f} um at worst; {:.0f} um of it is change of "
          "shape\n",
          1000 * r.drift_tip_mm, 1000 * r.drift_tip_worst_mm, 1000 * r.drift_shape_mm);
  } else {
    out += fmt::format("lens, uncertainty     {:.3f} px over the image, {:.0f} um sideways at {:.0f} mm\n",
                       r.cameras[0].sigma_image_px, 1000 * r.tip_sigma_mm, r.working_distance_mm);
    if (r.has_last) out += fmt::format("since the last        focal length {:+.2f} px\n", r.cameras[0].drift_f_px);
  }
  for (const std::string& note : r.notes) out += "note: " + note + "\n";
  return out;
}

calibration::Settings settings_of(const CameraOptions& options, const calibration::Board& board) {
  calibration::Settings s;
  s.board = board;
  s.limits = options.limits;
  if (options.working_distance_mm) s.working_distance_mm = *options.working_distance_mm;
  s.most_frames = options.most_frames;
  return s;
}

/// A calibration that could not be made at all: what was looked at is still told.
Outcome could_not(const char* what, const Error& error, const std::vector<ViewReport>& views) {
  Outcome out;
  out.exit_code = 1;
  if (!views.empty()) out.table = rejected_table(views);
  out.complaints.push_back(error.message);
  out.json = json{{"command", what},
                  {"good", false},
                  {"written", nullptr},
                  {"views", views_json(views)},
                  {"failures", {error.message}},
                  {"notes", json::array()}}
                 .dump();
  return out;
}

/// Writes the picture and, when it may be, the file; says what was done.
Result<Outcome> finish(const char* what, const CameraOptions& options, const Report& report,
                       const std::vector<CameraModel>& cameras, const Rig& rig) {
  Outcome out;
  out.table = report_table(report, cameras);
  json answer = report_json(what, report, cameras);
  if (!options.picture.empty())
    if (const auto drawn = write_picture(options.picture, report, cameras); !drawn) return unexpected(drawn.error());
  const bool write = !options.out.empty() && (report.good() || options.force);
  answer["written"] = nullptr;
  answer["forced"] = write && !report.good();
  if (write) {
    const bool whole = rig.cameras.size() == kCameras;
    const auto saved = whole ? config::save_rig(options.out, rig) : config::save_partial_rig(options.out, rig);
    if (!saved) return unexpected(saved.error());
    answer["written"] = options.out.string();
    answer["complete"] = whole;
    out.table += "written: " + options.out.string() + "\n";
    if (!whole)
      out.complaints.push_back(options.out.string() + ": holds " + std::to_string(rig.cameras.size()) +
                               " of 4 cameras: run and track do not take it yet");
  }
  for (const std::string& failure : report.failures) out.complaints.push_back(failure);
  if (!report.good()) {
    out.exit_code = write ? 0 : 1;
    out.complaints.push_back(write ? "written all the same, because of --force" : "nothing is written");
  }
  out.json = answer.dump();
  return out;
}

/// Files, folders and patterns to files, each once, in order.
Result<std::vector<fs::path>> expand(const std::vector<std::string>& words) {
  std::vector<fs::path> out;
  const auto take_folder = [&](const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code wrong;
    for (fs::directory_iterator it(folder, wrong), end; !wrong && it != end; it.increment(wrong)) {
      std::string ending = it->path().extension().string();
      std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
      static const std::vector<std::string> kEndings{".jpg",  ".jpeg", ".png", ".bmp", ".tif",
                                                     ".tiff", ".pgm",  ".ppm", ".webp"};
      if (it->is_regular_file() && std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end())
        files.push_back(it->path());
    }
    std::sort(files.begin(), files.end());
    out.insert(out.end(), files.begin(), files.end());
  };
  for (const std::string& word : words) {
    std::error_code wrong;
    if (fs::is_directory(word, wrong)) {
      take_folder(word);
    } else if (fs::exists(word, wrong)) {
      out.emplace_back(word);
    } else if (word.find_first_of("*?[") != std::string::npos) {
      glob_t found{};
      const int code = ::glob(word.c_str(), 0, nullptr, &found);
      for (std::size_t i = 0; code == 0 && i < found.gl_pathc; ++i) out.emplace_back(found.gl_pathv[i]);
      ::globfree(&found);
      if (code != 0) return usage_error("--images " + word + ": no such picture: check the folder and the ending");
    } else {
      return usage_error("--images " + word + ": no such picture: check the folder and the ending");
    }
  }
  std::vector<fs::path> once;
  for (const fs::path& file : out)
    if (std::find(once.begin(), once.end(), file) == once.end()) once.push_back(file);
  if (once.empty()) return usage_error("--images: no pictures there (jpg, png, bmp, tif, pgm, ppm, webp)");
  return once;
}

Result<void> check_outputs(const CameraOptions& options) {
  std::error_code wrong;
  if (!options.out.empty()) {
    const fs::path folder = options.out.has_parent_path() ? options.out.parent_path() : fs::path(".");
    if (!fs::is_directory(folder, wrong))
      return usage_error("--out " + options.out.string() + ": no folder " + folder.string() + ": make it first");
    if (fs::is_directory(options.out, wrong))
      return usage_error("--out " + options.out.string() + ": is a folder, must be a file");
  }
  const std::string ending = options.picture.extension().string();
  if (!options.picture.empty() && ending != ".png" && ending != ".svg")
    return usage_error("--picture " + options.picture.string() + ": must end in .png or .svg");
  return {};
}

}  // namespace

Result<Outcome> calibrate_intrinsics(const IntrinsicsOptions& options) {
  const auto board = calibration::parse_board(options.board);
  if (!board) return unexpected(board.error());
  if (const auto good = check_outputs(options); !good) return unexpected(good.error());
  if (options.camera.size() != 2 || options.camera[0] != 'C' || options.camera[1] < '0' || options.camera[1] > '3')
    return usage_error("--camera " + options.camera + ": must be C0, C1, C2 or C3");
  const auto last = last_rig(options.out);
  if (!last) return unexpected(last.error());
  const auto images = expand(options.images);
  if (!images) return unexpected(images.error());

  Rig rig = *last ? **last : drivers::standard_rig();
  calibration::IntrinsicsJob job;
  job.settings = settings_of(options, *board);
  job.camera = options.camera;
  job.images = *images;
  if (const CameraModel* before = find_camera(rig, options.camera)) job.last = *before;
  std::vector<ViewReport> views;
  const auto result = calibration::calibrate_intrinsics(job, options.progress, &views);
  if (!result) {
    if (result.error().kind == Error::Kind::usage) return unexpected(result.error());
    return could_not("intrinsics", result.error(), views);
  }
  rig.created = now_utc();
  if (CameraModel* there = find_camera(rig, options.camera))
    *there = result->camera;
  else
    rig.cameras.push_back(result->camera);
  std::sort(rig.cameras.begin(), rig.cameras.end(),
            [](const CameraModel& a, const CameraModel& b) { return a.name < b.name; });
  Report report = result->report;
  std::string nominal;
  for (const CameraModel& c : rig.cameras)
    if (c.reprojection_rms_px == 0) nominal += (nominal.empty() ? "" : ", ") + c.name;
  if (!nominal.empty() && !options.out.empty())
    report.notes.push_back("not calibrated yet, as the documentation has them: " + nominal);
  return finish("intrinsics", options, report, {result->camera}, rig);
}

Result<Outcome> calibrate_rig(const RigOptions& options) {
  const auto board = calibration::parse_board(options.board);
  if (!board) return unexpected(board.error());
  if (const auto good = check_outputs(options); !good) return unexpected(good.error());
  if (!(options.board_thickness_mm >= 0 && options.board_thickness_mm <= 100))
    return usage_error(
        fmt::format("--board-thickness is {:g}, must be 0..100 mm: how far the printed side lies above the floor",
                    options.board_thickness_mm));
  auto last = last_rig(options.out);
  if (!last) return unexpected(last.error());
  calibration::RigJob job;
  job.settings = settings_of(options, *board);
  job.frames = options.frames;
  job.cameras = options.cameras;
  job.hold_intrinsics = options.hold_intrinsics;
  job.origin = options.origin;
  job.board_thickness_mm = options.board_thickness_mm;
  if (!options.intrinsics.empty()) {
    auto given = config::load_partial_rig(options.intrinsics);
    if (!given) return unexpected(given.error());
    job.intrinsics = std::move(*given);
  }
  job.last = *last ? *last : job.intrinsics;
  std::vector<ViewReport> views;
  const auto result = calibration::calibrate_rig(job, options.progress, &views);
  if (!result) {
    if (result.error().kind == Error::Kind::usage) return unexpected(result.error());
    return could_not("rig", result.error(), views);
  }
  Rig rig = result->rig;
  rig.created = now_utc();
  Report report = result->report;
  // Nothing has drifted from a rig that was only drawn.
  if (job.last && std::all_of(job.last->cameras.begin(), job.last->cameras.end(), is_nominal)) {
    report.has_last = false;
    for (const CameraReport& c : report.cameras)
      if (c.drift_p_mm > kFarFromDrawn_mm)
        report.notes.push_back(
            fmt::format("{} lies {:.0f} mm from where it is drawn: does the board lie on the floor in the frame of "
                        "--origin, and is every folder that of its camera?",
                        c.name, c.drift_p_mm));
  }
  std::vector<CameraModel> cameras;
  for (const CameraReport& c : report.cameras) cameras.push_back(*find_camera(rig, c.name));
  return finish("rig", options, report, cameras, rig);
}

Result<Outcome> calibrate_instrument(const InstrumentOptions& options) {
  auto loaded = config::load_rig(options.rig);
  if (!loaded) return unexpected(loaded.error());
  Rig& rig = *loaded;
  CameraOptions outputs;
  outputs.out = options.out;
  if (const auto good = check_outputs(outputs); !good) return unexpected(good.error());
  std::size_t which = 0;
  while (which < rig.instruments.size() && rig.instruments[which].name != options.instrument) ++which;
  if (which == rig.instruments.size())
    return usage_error("--instrument " + options.instrument + ": must be left or right");
  const auto answer_error = [&](const Error& error) -> Result<Outcome> {
    if (error.kind == Error::Kind::usage) return unexpected(error);
    Outcome out;
    out.exit_code = 1;
    out.complaints.push_back(error.message);
    out.json = json{{"command", "instrument"}, {"instrument", options.instrument}, {"good", false},
                    {"written", nullptr},      {"failures", {error.message}},      {"notes", json::array()}}
                   .dump();
    return out;
  };
  const auto pivot = calibration::read_markers(rig, options.pivot, options.most_frames, options.progress);
  if (!pivot) return answer_error(pivot.error());
  std::vector<calibration::MarkerFrame> opening;
  if (!options.opening.empty()) {
    auto read = calibration::read_markers(rig, options.opening, options.most_frames, options.progress);
    if (!read) return answer_error(read.error());
    opening = std::move(*read);
  }
  const auto result = calibration::fit_instrument(rig, which, *pivot, opening, {}, options.progress);
  if (!result) return answer_error(result.error());

  // The result may go to another file than the one the cameras came from; that one's other parts stay.
  Rig target = rig;
  if (const auto last = last_rig(options.out); !last)
    return unexpected(last.error());
  else if (*last)
    target = **last;
  target.instruments[which] = result->model;
  Outcome out;
  json markers = json::array();
  out.table = fmt::format(
      "instrument {}: {} pivot frames, turned by {:.0f} degrees; {} opening frames, opened by {:.1f} degrees\n\n"
      "marker     p_TM, mm                       moved since the last, mm\n",
      options.instrument, result->pivot_frames, result->turn_deg, result->opening_frames, result->opening_deg);
  for (std::size_t m = 0; m < result->model.markers.size(); ++m) {
    const auto& k = result->model.markers[m];
    out.table += fmt::format("{:<8} {:>9.3f} {:>9.3f} {:>9.3f} {:>15.3f}\n", k.name, k.p_TM.x, k.p_TM.y, k.p_TM.z,
                             result->shift_mm[m]);
    markers.push_back(
        {{"name", k.name}, {"p_TM_mm", {k.p_TM.x, k.p_TM.y, k.p_TM.z}}, {"shift_mm", result->shift_mm[m]}});
  }
  const Vec3 h = result->model.hinge_p_T;
  out.table += fmt::format(
      "hinge    {:>9.3f} {:>9.3f} {:>9.3f}{}\n\nerror of the balls' images  {:.3f} px\ntip against the markers     "
      "+-{:.0f} um; "
      "single frames put it {:.3f} mm RMS from the divot\n",
      h.x, h.y, h.z,
      result->hinge_sigma_mm > 0 ? fmt::format("  +-{:.2f} mm along the arms", result->hinge_sigma_mm) : "  kept",
      result->rms_px, 1000 * result->tip_sigma_mm, result->divot_rms_mm);
  for (const std::string& note : result->notes) out.table += "note: " + note + "\n";
  json answer{{"command", "instrument"},
              {"instrument", options.instrument},
              {"good", result->good()},
              {"pivot_frames", result->pivot_frames},
              {"opening_frames", result->opening_frames},
              {"turn_deg", result->turn_deg},
              {"opening_deg", result->opening_deg},
              {"rms_px", result->rms_px},
              {"tip_sigma_um", 1000 * result->tip_sigma_mm},
              {"divot_rms_mm", result->divot_rms_mm},
              {"divot_p_R_mm", {result->divot_p_R.x, result->divot_p_R.y, result->divot_p_R.z}},
              {"hinge_p_T_mm", {h.x, h.y, h.z}},
              {"hinge_sigma_mm", result->hinge_sigma_mm},
              {"markers", markers},
              {"notes", result->notes},
              {"failures", result->failures},
              {"written", nullptr}};
  const bool write = !options.out.empty() && (result->good() || options.force);
  if (write) {
    const bool whole = target.cameras.size() == kCameras;
    const auto saved = whole ? config::save_rig(options.out, target) : config::save_partial_rig(options.out, target);
    if (!saved) return unexpected(saved.error());
    answer["written"] = options.out.string();
    out.table += "written: " + options.out.string() + "\n";
  }
  out.complaints = result->failures;
  if (!result->good()) {
    out.exit_code = write ? 0 : 1;
    out.complaints.push_back(write ? "written all the same, because of --force" : "nothing is written");
  }
  out.json = answer.dump();
  return out;
}

Result<Outcome> check_rig(const CheckOptions& options) {
  const auto rig = config::load_rig(options.rig);
  if (!rig) return unexpected(rig.error());
  if (!(options.bar_mm > 0 && options.bar_mm <= 1000))
    return usage_error(fmt::format(
        "--bar-mm is {:g}, must be above 0, at most 1000: the distance of the balls' centres", options.bar_mm));
  if (!(options.ball_mm > 0 && options.ball_mm <= 50))
    return usage_error(
        fmt::format("--ball-mm is {:g}, must be above 0, at most 50: the balls' diameter", options.ball_mm));
  if (options.balls.size() != 2) return usage_error("--balls names two markers, e.g. left.tail,right.tail");
  std::array<std::size_t, 2> ends{};
  for (std::size_t e = 0; e < 2; ++e) {
    bool found = false;
    std::string known;
    for (std::size_t i = 0; i < rig->instruments.size(); ++i)
      for (std::size_t m = 0; m < rig->instruments[i].markers.size(); ++m) {
        const std::string name = rig->instruments[i].name + "." + rig->instruments[i].markers[m].name;
        known += (known.empty() ? "" : ", ") + name;
        if (name == options.balls[e]) ends[e] = 3 * i + m, found = true;
      }
    if (!found) return usage_error("--balls " + options.balls[e] + ": must be one of " + known);
  }
  if (ends[0] == ends[1]) return usage_error("--balls " + options.balls[0] + ": the two balls must differ in colour");
  const auto frames = calibration::read_markers(*rig, options.frames, options.most_frames, options.progress);
  if (!frames) {
    if (frames.error().kind == Error::Kind::usage) return unexpected(frames.error());
    Outcome out;
    out.exit_code = 1;
    out.complaints.push_back(frames.error().message);
    out.json = json{{"command", "check"}, {"verdict", nullptr}, {"reasons", {frames.error().message}}}.dump();
    return out;
  }
  const calibration::BarCheck check =
      calibration::check_bar(*rig, *frames, ends[0], ends[1], options.bar_mm, options.ball_mm);
  Outcome out;
  out.exit_code = check.verdict == calibration::Verdict::alert || check.verdict == calibration::Verdict::fail;
  out.table = fmt::format(
      "{}\n\nbar      {:.3f} mm measured, {:+.3f} +-{:.3f} mm from its length; single frames scatter by {:.3f} mm, "
      "{:.3f} mm at worst\n"
      "frames   {} of {} show both balls\n",
      name_of(check.verdict), check.length_mm, check.error_mm, check.sigma_mm, check.spread_mm, check.worst_mm,
      check.placed, check.frames);
  json cameras = json::array();
  for (std::size_t c = 0; c < check.camera_px.size(); ++c) {
    out.table +=
        fmt::format("{:<8} {}\n", rig->cameras[c].name,
                    check.camera_seen[c] > 0 ? fmt::format("{:.2f} px from where the others put the balls ({} times)",
                                                           check.camera_px[c], check.camera_seen[c])
                                             : "saw none together with two others");
    cameras.push_back({{"name", rig->cameras[c].name}, {"off_px", check.camera_px[c]}, {"seen", check.camera_seen[c]}});
  }
  for (const std::string& reason : check.reasons) out.table += reason + "\n";
  out.json = json{{"command", "check"},           {"verdict", name_of(check.verdict)},
                  {"bar_mm", options.bar_mm},     {"length_mm", check.length_mm},
                  {"error_mm", check.error_mm},   {"sigma_mm", check.sigma_mm},
                  {"spread_mm", check.spread_mm}, {"worst_mm", check.worst_mm},
                  {"frames", check.frames},       {"placed", check.placed},
                  {"cameras", cameras},           {"reasons", check.reasons}}
                 .dump();
  return out;
}

}  // namespace ligature::calibrate
