#include "drivers/calibration/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>

#include "drivers/calibration/bundle.hpp"
#include "drivers/calibration/from_views.hpp"
#include "drivers/calibration/images.hpp"
#include "drivers/calibration/judge.hpp"
#include "drivers/calibration/moved.hpp"
#include "drivers/calibration/start.hpp"

namespace ligature::calibration {
namespace {

using drivers::CameraModel;
using drivers::Rig;

constexpr double kGateSigmas = 4.5;      // of both axes together: one good corner in 25000 is beyond
constexpr double kLeastGate_px = 0.02;   // pictures without any noise
constexpr double kBadView = 0.35;        // share of corners beyond the gate that condemns a view
constexpr double kDistortionSigmas = 4;  // a further coefficient must be this certain
constexpr double kParallelDeg = 12;  // boards tilted by less against each other do not tell focal length from distance
constexpr std::size_t kHeldOutEvery = 5;
constexpr std::size_t kLeastHeldOutFrames = 10;
constexpr double kOtherScale = 0.03;  // cameras further apart than last time by this share: a wrong square size?
constexpr int kVolumePoints = 5;      // along each edge of the working volume

std::string format(const char* pattern, double a, double b = 0, double c = 0) {
  char buffer[240];
  std::snprintf(buffer, sizeof buffer, pattern, a, b, c);
  return buffer;
}

double degrees(double rad) {
  return rad * 180 / M_PI;
}
double turn_of(const Quat& q) {
  return 2 * std::atan2(std::sqrt(q.x * q.x + q.y * q.y + q.z * q.z), std::abs(q.w));
}

std::string counted_reasons(const std::vector<ViewReport>& reports, const std::string& camera) {
  std::map<std::string, int> counts;
  for (const ViewReport& r : reports)
    if (r.camera == camera && !r.used()) ++counts[r.reason];
  std::vector<std::pair<int, std::string>> ordered;
  for (const auto& [reason, n] : counts) ordered.emplace_back(n, reason);
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out;
  for (std::size_t i = 0; i < ordered.size() && i < 3; ++i)
    out += (i ? "; " : "") + std::to_string(ordered[i].first) + " times: " + ordered[i].second;
  return out;
}

/// The adjustment on its way: the bundle, and which view each corner belongs to.
struct Work {
  const Settings& settings;
  Pictures& pictures;
  Bundle bundle;
  std::vector<std::size_t> view_of;  // of each corner
  std::vector<std::string> frames;   // of each board
  std::vector<double> sigma_px;      // of each camera, as the middle of its residuals shows it
  std::vector<bool> lens_given;      // camera has a lens to be held at
  const ProgressFunction& progress;
  std::size_t step = 0;
  bool cancelled = false;

  bool tell(Progress::Stage stage, const char* what) {
    if (progress && !progress({stage, step, 0, what})) cancelled = true;
    return !cancelled;
  }

  void run(double cauchy_px, Progress::Stage stage, const char* what) {
    if (cancelled) return;
    BundleOptions options;
    options.cauchy_px = cauchy_px;
    options.go_on = [&] {
      ++step;
      return tell(stage, what);
    };
    adjust(bundle, options);
  }

  void measure_noise() {
    std::vector<std::vector<double>> all(bundle.cameras.size());
    for (const BundleCorner& k : bundle.corners) {
      if (!k.used) continue;
      const auto r = residual(bundle, k);
      for (const double d : r) all[static_cast<std::size_t>(k.camera)].push_back(std::abs(d));
    }
    sigma_px.assign(bundle.cameras.size(), 1);
    for (std::size_t c = 0; c < all.size(); ++c) {
      if (all[c].empty()) continue;
      const auto middle = all[c].begin() + static_cast<std::ptrdiff_t>(all[c].size() / 2);
      std::nth_element(all[c].begin(), middle, all[c].end());
      sigma_px[c] = std::max(1e-6, 1.4826 * *middle);
    }
  }

  double worst_sigma() const { return *std::max_element(sigma_px.begin(), sigma_px.end()); }

  /// Corners beyond the gate are left out, others come back; views with too many of them go altogether.
  void gate() {
    measure_noise();
    std::map<std::size_t, std::pair<int, int>> beyond;  // of each view: beyond, all
    for (std::size_t i = 0; i < bundle.corners.size(); ++i) {
      BundleCorner& k = bundle.corners[i];
      if (!pictures.reports[pictures.views[view_of[i]].report].used()) continue;
      const auto r = residual(bundle, k);
      const double limit = std::max(kLeastGate_px, kGateSigmas * sigma_px[static_cast<std::size_t>(k.camera)]);
      k.used = std::isfinite(r[0]) && std::isfinite(r[1]) && std::hypot(r[0], r[1]) <= limit;
      auto& [bad, n] = beyond[view_of[i]];
      bad += !k.used, ++n;
    }
    for (const auto& [view, counts] : beyond) {
      if (counts.first <= kBadView * counts.second) continue;
      ViewReport& report = pictures.reports[pictures.views[view].report];
      report.reject = Reject::disagrees;
      report.reason =
          format("%.0f of %.0f corners do not fit the other views: the board moved or bent, or it was read wrongly",
                 counts.first, counts.second);
      for (std::size_t i = 0; i < bundle.corners.size(); ++i)
        if (view_of[i] == view) bundle.corners[i].used = false;
    }
  }

  /// From any state near the solution to least squares on the corners that fit.
  void settle() {
    run(1.0, Progress::Stage::adjusting, "all corners, robustly");
    measure_noise();
    run(std::max(0.01, 2.5 * worst_sigma()), Progress::Stage::adjusting, "all corners, at the noise's scale");
    for (int round = 0; round < 3 && !cancelled; ++round) {
      gate();
      run(0, Progress::Stage::adjusting, "corners that fit");
    }
  }
};

/// One camera's views, for its own start.
std::vector<const View*> views_of(const Pictures& pictures, std::size_t camera) {
  std::vector<const View*> out;
  for (const View& v : pictures.views)
    if (v.camera == static_cast<int>(camera)) out.push_back(&v);
  return out;
}

std::array<bool, kLensSize> lens_mask(int terms) {
  std::array<bool, kLensSize> out{true, true, true, true, true, terms >= 4, true, true, terms >= 5};
  return out;
}

/// How many distortion coefficients the pictures can carry: k3 only where it is certain, k2 only where the lens it
/// makes does not fold the image.
void choose_distortion(Work& work) {
  Bundle& bundle = work.bundle;
  std::vector<bool> open(bundle.cameras.size());
  for (std::size_t c = 0; c < bundle.cameras.size(); ++c) open[c] = bundle.cameras[c].lens_free[0];
  if (std::none_of(open.begin(), open.end(), [](bool o) { return o; })) return;
  const Bundle before = bundle;
  for (std::size_t c = 0; c < open.size(); ++c)
    if (open[c]) bundle.cameras[c].lens_free = lens_mask(5);
  work.run(0, Progress::Stage::adjusting, "a fifth distortion coefficient");
  if (work.cancelled) return;
  work.measure_noise();
  const CameraInformation info = camera_information(bundle);
  const bool fixed =
      std::any_of(bundle.boards.begin(), bundle.boards.end(), [](const BundleBoard& b) { return !b.free; });
  const bool anchored = fixed || std::any_of(bundle.cameras.begin(), bundle.cameras.end(),
                                             [](const BundleCamera& k) { return !k.pose_free; });
  const Eigen::MatrixXd covariance =
      covariance_of(bundle, info, work.worst_sigma(), anchored ? Gauge::board : Gauge::places);
  bool back = false;
  for (std::size_t c = 0; c < open.size(); ++c) {
    if (!open[c]) continue;
    const int col = info.lens_col[c][8];
    const bool certain = covariance.size() > 0 && col >= 0 &&
                         std::abs(bundle.cameras[c].lens[8]) > kDistortionSigmas * std::sqrt(covariance(col, col));
    if (certain && !lens_folds(bundle.cameras[c].lens, work.pictures.size_px[c])) continue;
    back = true;
  }
  if (!back) return;
  const std::vector<BundleCamera> tried = bundle.cameras;
  bundle = before;
  for (std::size_t c = 0; c < open.size(); ++c) {
    if (!open[c]) continue;
    const int col = info.lens_col[c][8];
    const bool certain = covariance.size() > 0 && col >= 0 &&
                         std::abs(tried[c].lens[8]) > kDistortionSigmas * std::sqrt(covariance(col, col)) &&
                         !lens_folds(tried[c].lens, work.pictures.size_px[c]);
    bundle.cameras[c].lens_free = lens_mask(certain ? 5 : 4);
    if (certain) bundle.cameras[c].lens[8] = tried[c].lens[8];
    if (!certain) bundle.cameras[c].lens[8] = 0;
  }
  work.run(0, Progress::Stage::adjusting, "as many distortion coefficients as are certain");
  bool folded = false;
  for (std::size_t c = 0; c < open.size(); ++c)
    if (open[c] && lens_folds(bundle.cameras[c].lens, work.pictures.size_px[c])) {
      bundle.cameras[c].lens_free = lens_mask(3);
      bundle.cameras[c].lens[5] = bundle.cameras[c].lens[8] = 0;
      folded = true;
    }
  if (folded) work.run(0, Progress::Stage::adjusting, "one radial coefficient");
}

/// Frames in turn are left out of a second adjustment and then looked at with its cameras.
void test_held_out(const Work& done, const std::vector<CameraModel>& shape, Report& report) {
  const std::size_t boards = done.bundle.boards.size();
  if (boards < kLeastHeldOutFrames) {
    report.notes.push_back("fewer than " + std::to_string(kLeastHeldOutFrames) +
                           " board poses: none could be held out as a test");
    return;
  }
  Bundle trained = done.bundle;
  std::vector<bool> held(boards);
  for (std::size_t b = 0; b < boards; ++b)
    held[b] = done.bundle.boards[b].free && b % kHeldOutEvery == kHeldOutEvery / 2;
  for (BundleCorner& k : trained.corners)
    if (held[static_cast<std::size_t>(k.board)]) k.used = false;
  BundleOptions options;
  bool cancelled = false;
  options.go_on = [&] {
    cancelled = done.progress && !done.progress({Progress::Stage::testing, 0, 0, "views held out"});
    return !cancelled;
  };
  adjust(trained, options);
  if (cancelled) return;
  // Then the boards alone, cameras held.
  Bundle tested = trained;
  for (BundleCamera& camera : tested.cameras) camera.lens_free = {}, camera.pose_free = false;
  for (std::size_t i = 0; i < tested.corners.size(); ++i)
    tested.corners[i].used = done.bundle.corners[i].used && held[static_cast<std::size_t>(tested.corners[i].board)];
  adjust(tested, {});

  std::vector<double> sum(tested.cameras.size());
  std::vector<std::size_t> n(tested.cameras.size());
  std::map<std::pair<int, double>, std::vector<Sight>> seen;  // one corner of one board, by all cameras
  std::map<int, std::map<std::pair<double, double>, std::vector<Sight>>> by_board;
  for (const BundleCorner& k : tested.corners) {
    if (!k.used) continue;
    const auto c = static_cast<std::size_t>(k.camera);
    const auto r = residual(tested, k);
    sum[c] += r[0] * r[0] + r[1] * r[1];
    ++n[c];
    by_board[k.board][{k.p_B.x, k.p_B.y}].push_back({c, k.u_px, k.v_px});
  }
  double all = 0, count = 0;
  for (std::size_t c = 0; c < sum.size(); ++c) {
    if (n[c] == 0) continue;
    report.cameras[c].held_out_rms_px = std::sqrt(sum[c] / static_cast<double>(n[c]));
    report.cameras[c].held_out_mm =
        report.cameras[c].held_out_rms_px * report.working_distance_mm / tested.cameras[c].lens[0];
    all += sum[c], count += static_cast<double>(n[c]);
  }
  if (count > 0) report.held_out_rms_px = std::sqrt(all / count);
  if (shape.size() < 2) {
    report.held_out_mm = report.cameras[0].held_out_mm;
    return;
  }
  std::vector<CameraModel> cameras = shape;
  for (std::size_t c = 0; c < cameras.size(); ++c) {
    set_lens(cameras[c], trained.cameras[c].lens);
    cameras[c].X_RC = inverse(pose_of(trained.cameras[c].X_CR));
  }
  double off = 0;
  std::size_t points = 0;
  for (const auto& [board, corners] : by_board) {
    std::vector<Vec3> placed, drawn;
    for (const auto& [at, sights] : corners)
      if (const auto p = triangulate(cameras, sights)) placed.push_back(*p), drawn.push_back({at.first, at.second, 0});
    if (placed.size() < 6) continue;
    const Pose X = fit_pose(placed, drawn);
    for (std::size_t i = 0; i < placed.size(); ++i) off += std::pow(norm(X * drawn[i] - placed[i]), 2);
    points += placed.size();
  }
  if (points > 0) report.held_out_mm = std::sqrt(off / static_cast<double>(points));
}

/// How far the camera's boards are tilted against each other at most.  [deg]
double tilt_spread(const Work& work, std::size_t camera) {
  std::vector<Vec3> normals;
  std::set<int> boards;
  for (const BundleCorner& k : work.bundle.corners)
    if (k.used && k.camera == static_cast<int>(camera)) boards.insert(k.board);
  const Pose X_CR = pose_of(work.bundle.cameras[camera].X_CR);
  for (const int b : boards)
    normals.push_back(rotate((X_CR * pose_of(work.bundle.boards[static_cast<std::size_t>(b)].X_RB)).q, {0, 0, 1}));
  double most = 0;
  for (std::size_t i = 0; i < normals.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      most = std::max(most, degrees(std::acos(std::clamp(dot(normals[i], normals[j]), -1.0, 1.0))));
  return most;
}

/// Counts, residuals and coverage of every camera; the rest of the views' reports.
void fill_cameras(const Work& work, Report& report) {
  const Bundle& bundle = work.bundle;
  std::vector<std::array<double, 3>> of_view(work.pictures.views.size());  // squares, kept, left out
  double squares = 0, kept = 0;
  for (std::size_t c = 0; c < bundle.cameras.size(); ++c) {
    CameraReport& camera = report.cameras[c];
    const auto size = work.pictures.size_px[c];
    double sum = 0;
    for (std::size_t i = 0; i < bundle.corners.size(); ++i) {
      const BundleCorner& k = bundle.corners[i];
      if (k.camera != static_cast<int>(c)) continue;
      if (!work.pictures.reports[work.pictures.views[work.view_of[i]].report].used()) continue;
      const auto r = residual(bundle, k);
      const double square = r[0] * r[0] + r[1] * r[1];
      auto& view = of_view[work.view_of[i]];
      camera.residuals.push_back({k.u_px, k.v_px, -r[0], -r[1], !k.used});
      if (!k.used) {
        ++camera.left_out, ++view[2];
        continue;
      }
      sum += square, view[0] += square, ++view[1];
      ++camera.corners;
      const int col = std::clamp(static_cast<int>((k.u_px + 0.5) / size[0] * kCoverageCols), 0, kCoverageCols - 1);
      const int row = std::clamp(static_cast<int>((k.v_px + 0.5) / size[1] * kCoverageRows), 0, kCoverageRows - 1);
      ++camera.cells[static_cast<std::size_t>(row * kCoverageCols + col)];
    }
    if (camera.corners > 0) camera.rms_px = std::sqrt(sum / static_cast<double>(camera.corners));
    squares += sum, kept += static_cast<double>(camera.corners);
    camera.coverage =
        static_cast<double>(std::count_if(camera.cells.begin(), camera.cells.end(), [](int n) { return n > 0; })) /
        static_cast<double>(camera.cells.size());
    const auto& open = bundle.cameras[c].lens_free;
    camera.intrinsics_held = !open[0];
    camera.distortion_terms = open[0] ? 3 + open[5] + open[8] : 0;
  }
  std::size_t unknowns = 0;
  for (const BundleCamera& camera : bundle.cameras)
    unknowns += static_cast<std::size_t>(std::count(camera.lens_free.begin(), camera.lens_free.end(), true)) +
                6 * camera.pose_free;
  unknowns += 6 * bundle.boards.size();
  report.rms_px = kept > 0 ? std::sqrt(squares / kept) : 0;
  const double freedom = 2 * kept - static_cast<double>(unknowns);
  report.sigma_px = freedom > 0 ? std::sqrt(squares / freedom) : 0;
  report.frames = bundle.boards.size();
  for (std::size_t v = 0; v < of_view.size(); ++v) {
    ViewReport& view = work.pictures.reports[work.pictures.views[v].report];
    if (!view.used()) continue;
    ++report.cameras[static_cast<std::size_t>(work.pictures.views[v].camera)].views;
    view.left_out = static_cast<std::size_t>(of_view[v][2]);
    view.rms_px = of_view[v][1] > 0 ? std::sqrt(of_view[v][0] / of_view[v][1]) : 0;
  }
}

void judge_lenses(const Work& work, const CameraInformation& info, const Eigen::MatrixXd& covariance, int undetermined,
                  Report& report) {
  const Limits& limits = work.settings.limits;
  const auto parallel = [&](std::size_t c) {
    const double spread = tilt_spread(work, c);
    return spread < kParallelDeg
               ? format(
                     "its boards are tilted by %.0f degrees against each other at most: tilt them by 20 to 45 degrees, "
                     "in different directions",
                     spread)
               : std::string(
                     "take more views, nearer, with the board tilted by 20 to 45 degrees and in the corners too");
  };
  if (covariance.size() == 0)
    for (std::size_t c = 0; c < report.cameras.size(); ++c)
      if ((undetermined < 0 || undetermined == static_cast<int>(c)) && !report.cameras[c].intrinsics_held)
        report.failures.push_back(report.cameras[c].name + ": the views do not determine the lens: " + parallel(c));
  for (std::size_t c = 0; c < report.cameras.size(); ++c) {
    CameraReport& camera = report.cameras[c];
    const LensVector& lens = work.bundle.cameras[c].lens;
    if (!camera.intrinsics_held) {
      if (camera.views < limits.views)
        report.failures.push_back(camera.name + ": only " + std::to_string(camera.views) + " usable views of " +
                                  std::to_string(limits.views) + " needed to know its lens: take more" + [&] {
                                    const std::string why = counted_reasons(work.pictures.reports, camera.name);
                                    return why.empty() ? std::string() : " (" + why + ")";
                                  }());
      if (covariance.size() > 0) {
        const auto sigma = [&](int i) {
          const int col = info.lens_col[c][static_cast<std::size_t>(i)];
          return col >= 0 ? std::sqrt(covariance(col, col)) : 0;
        };
        camera.sigma_f_px = std::max(sigma(0), sigma(1));
        camera.sigma_c_px = std::max(sigma(2), sigma(3));
        const double relative = camera.sigma_f_px / std::min(lens[0], lens[1]);
        const double longer = std::max(work.pictures.size_px[c][0], work.pictures.size_px[c][1]);
        if (!(lens[0] > 0.1 * longer && lens[0] < 50 * longer && lens[1] > 0.1 * longer && lens[1] < 50 * longer))
          report.failures.push_back(
              camera.name + format(": the focal length came out as %.0f px, no camera's: ", lens[0]) + parallel(c));
        else if (!(relative < limits.focal_sigma))
          report.failures.push_back(camera.name +
                                    format(": the focal length is uncertain by %.1f %%, %.1f %% are allowed: ",
                                           100 * relative, 100 * limits.focal_sigma) +
                                    parallel(c));
        else if (!(std::abs(lens[0] / lens[1] - 1) < 0.2))
          report.failures.push_back(camera.name + format(": fx %.0f and fy %.0f differ: ", lens[0], lens[1]) +
                                    parallel(c));
      }
      if (camera.coverage < limits.coverage)
        report.failures.push_back(camera.name +
                                  format(": corners in %.0f %% of the image, %.0f %% are needed: ",
                                         100 * camera.coverage, 100 * limits.coverage) +
                                  "move the board through the whole image");
      if (lens_folds(lens, work.pictures.size_px[c]))
        report.failures.push_back(
            camera.name +
            ": the lens it makes folds the image's corners onto themselves: take views that reach into the corners");
    }
    if (!(camera.rms_px <= limits.rms_px))
      report.failures.push_back(
          camera.name + format(": reprojection error %.2f px, %.2f px are allowed: ", camera.rms_px, limits.rms_px) +
          "a flat board, held still; the right board, and a focus that stays");
    if (camera.held_out_rms_px > limits.held_out_rms_px)
      report.failures.push_back(
          camera.name +
          format(": held-out error %.2f px, %.2f px are allowed: ", camera.held_out_rms_px, limits.held_out_rms_px) +
          "take more different views");
    const double all = static_cast<double>(camera.corners + camera.left_out);
    if (all > 0 && static_cast<double>(camera.left_out) > limits.outliers * all)
      report.failures.push_back(camera.name +
                                format(": %.0f %% of the corners do not fit, %.0f %% are allowed: ",
                                       100 * static_cast<double>(camera.left_out) / all, 100 * limits.outliers) +
                                "a flat board, held still");
  }
}

void compare_cameras(const CameraModel& now, const CameraModel& last, CameraReport& out) {
  out.drift_f_px = 0.5 * (now.fx_px + now.fy_px - last.fx_px - last.fy_px);
  out.drift_p_mm = norm(now.X_RC.p - last.X_RC.p);
  out.drift_q_mdeg = 1000 * degrees(turn_of(conjugate(last.X_RC.q) * now.X_RC.q));
}

const CameraModel* find_camera(const Rig& rig, const std::string& name) {
  for (const CameraModel& c : rig.cameras)
    if (c.name == name) return &c;
  return nullptr;
}

Result<void> check(const Settings& s) {
  if (!(s.working_distance_mm > 1 && s.working_distance_mm < 1e5))
    return usage_error(format("working distance is %g mm, must be 1..100000", s.working_distance_mm));
  if (s.board.corners() < 4) return usage_error("a board needs at least four corners");
  return {};
}

/// The job's cameras by name, or what is wrong with the job.
Result<std::vector<std::string>> cameras_of(const RigJob& job) {
  if (const auto good = check(job.settings); !good) return unexpected(good.error());
  std::vector<std::string> names = job.cameras;
  if (names.empty())
    for (std::size_t c = 0; c < kCameras; ++c) names.push_back("C" + std::to_string(c));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].size() != 2 || names[i][0] != 'C' || names[i][1] < '0' ||
        names[i][1] >= '0' + static_cast<int>(kCameras))
      return usage_error("camera '" + names[i] + "' must be one of C0, C1, C2, C3");
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i))
      return usage_error("camera '" + names[i] + "' is named twice");
  }
  if (names.size() < 2) return usage_error("a rig needs at least two cameras: for one use `calibrate intrinsics`");
  if (job.origin.starts_with('-') || job.origin.starts_with('+'))
    return usage_error("--origin " + job.origin + ": must be a frame's number or its picture's name");
  if (job.hold_intrinsics && !job.intrinsics) return usage_error("lenses can only be held with --intrinsics RIG.toml");
  if (job.intrinsics)
    for (const std::string& name : names)
      if (!find_camera(*job.intrinsics, name))
        return usage_error("--intrinsics: camera " + name + " is not in the file");
  return names;
}

std::string origin_of(const RigJob& job) {
  return job.origin.empty() ? std::string() : frame_of(job.origin);
}

}  // namespace

const char* name_of(Progress::Stage stage) {
  switch (stage) {
    case Progress::Stage::reading:
      return "reading";
    case Progress::Stage::starting:
      return "starting";
    case Progress::Stage::adjusting:
      return "adjusting";
    case Progress::Stage::testing:
      return "testing";
    case Progress::Stage::judging:
      return "judging";
  }
  return "";
}

Result<IntrinsicsResult> calibrate_intrinsics(const IntrinsicsJob& job, const ProgressFunction& progress,
                                              std::vector<ViewReport>* views) {
  if (const auto good = check(job.settings); !good) return unexpected(good.error());
  if (job.images.empty()) return usage_error("no pictures: give --images with pictures of the board");
  auto read = read_pictures(job.settings.board, job.camera, job.images, progress);
  if (!read) return unexpected(read.error());
  return intrinsics_from(std::move(*read), job, progress, views);
}

Result<IntrinsicsResult> intrinsics_from(Pictures pictures, const IntrinsicsJob& job, const ProgressFunction& progress,
                                         std::vector<ViewReport>* views) {
  if (const auto good = check(job.settings); !good) return unexpected(good.error());
  thin_out(pictures, "", job.settings.most_frames);
  if (views) *views = pictures.reports;
  if (pictures.views.empty())
    return failure(job.camera + ": the board " + job.settings.board.text() + " is in none of the " +
                   std::to_string(pictures.reports.size()) +
                   " pictures: " + counted_reasons(pictures.reports, job.camera));
  if (pictures.views.size() < 3)
    return failure(job.camera + ": the board is in " + std::to_string(pictures.views.size()) + " of " +
                   std::to_string(pictures.reports.size()) +
                   " pictures, a lens needs at least 3: " + counted_reasons(pictures.reports, job.camera));

  Work work{job.settings, pictures, {}, {}, {}, {}, {}, progress, 0, false};
  work.tell(Progress::Stage::starting, "a first lens");
  const auto own = views_of(pictures, 0);
  work.bundle = start_camera(own, pictures.board, pictures.size_px[0], nullptr, true,
                             [&] { return work.tell(Progress::Stage::starting, "a first lens"); });
  for (std::size_t v = 0; v < pictures.views.size(); ++v) {
    work.frames.push_back(pictures.views[v].frame);
    for (std::size_t k = 0; k < pictures.views[v].corners.size(); ++k) work.view_of.push_back(v);
  }
  work.settle();
  if (!work.cancelled) choose_distortion(work);
  if (!work.cancelled) work.gate(), work.run(0, Progress::Stage::adjusting, "corners that fit");
  if (work.cancelled) return failure("cancelled");

  work.tell(Progress::Stage::judging, "uncertainty");
  IntrinsicsResult out;
  Report& report = out.report;
  report.board = pictures.board;
  report.working_distance_mm = job.settings.working_distance_mm;
  report.cameras.resize(1);
  report.cameras[0].name = job.camera;
  fill_cameras(work, report);
  if (job.last) out.camera = *job.last;
  out.camera.name = job.camera;
  out.camera.width_px = pictures.size_px[0][0], out.camera.height_px = pictures.size_px[0][1];
  set_lens(out.camera, work.bundle.cameras[0].lens);
  out.camera.reprojection_rms_px = report.cameras[0].rms_px;
  test_held_out(work, {out.camera}, report);

  const CameraInformation info = camera_information(work.bundle);
  int undetermined = -1;
  const Eigen::MatrixXd covariance = covariance_of(work.bundle, info, report.sigma_px, Gauge::board, &undetermined);
  if (covariance.size() > 0) {
    report.cameras[0].sigma_image_px =
        image_sigma(work.bundle, pictures.size_px[0], info, covariance, job.settings.working_distance_mm);
    report.tip_sigma_mm = report.tip_sigma_worst_mm =
        report.cameras[0].sigma_image_px * job.settings.working_distance_mm / out.camera.fx_px;
  }
  judge_lenses(work, info, covariance, undetermined, report);
  if (report.cameras[0].sigma_image_px > job.settings.limits.image_sigma_px)
    report.failures.push_back(job.camera +
                              format(": the lens is uncertain by %.2f px over the image, %.2f px are allowed: ",
                                     report.cameras[0].sigma_image_px, job.settings.limits.image_sigma_px) +
                              "take more different views, into the image's corners too");
  if (job.last) {
    report.has_last = job.last->reprojection_rms_px > 0;
    if (report.has_last)
      report.cameras[0].drift_f_px = 0.5 * (out.camera.fx_px + out.camera.fy_px - job.last->fx_px - job.last->fy_px);
    if (job.last->width_px != out.camera.width_px || job.last->height_px != out.camera.height_px)
      report.notes.push_back(job.camera + ": the image is " + std::to_string(out.camera.width_px) + "x" +
                             std::to_string(out.camera.height_px) + " px, the rig file had " +
                             std::to_string(job.last->width_px) + "x" + std::to_string(job.last->height_px));
  }
  report.views = pictures.reports;
  if (views) *views = pictures.reports;
  return out;
}

Result<RigResult> calibrate_rig(const RigJob& job, const ProgressFunction& progress, std::vector<ViewReport>* views) {
  const auto names = cameras_of(job);
  if (!names) return unexpected(names.error());
  auto read =
      read_recording(job.settings.board, job.frames, *names, origin_of(job), job.settings.most_images, progress);
  if (!read) return unexpected(read.error());
  return rig_from(std::move(*read), job, progress, views);
}

Result<RigResult> rig_from(Pictures pictures, const RigJob& job, const ProgressFunction& progress,
                           std::vector<ViewReport>* views) {
  const auto named = cameras_of(job);
  if (!named) return unexpected(named.error());
  const std::vector<std::string>& names = *named;
  const std::string origin = origin_of(job);
  const Board board = pictures.board;
  thin_out(pictures, origin, job.settings.most_frames);
  if (views) *views = pictures.reports;

  std::string blind;
  for (std::size_t c = 0; c < names.size(); ++c)
    if (views_of(pictures, c).empty()) {
      const std::string why = counted_reasons(pictures.reports, names[c]);
      blind += (blind.empty() ? "" : "; ") + names[c] + " (" + (why.empty() ? "no picture" : why) + ")";
    }
  if (!blind.empty()) return failure("no picture with the board from " + blind);
  if (!origin.empty()) {
    const auto has = [&](const View& v) { return v.frame == origin; };
    if (std::none_of(pictures.views.begin(), pictures.views.end(), has)) {
      std::string why;
      for (const ViewReport& r : pictures.reports)
        if (r.frame == origin) why = r.camera + ": " + r.reason;
      if (why.empty()) return usage_error("--origin " + job.origin + ": there is no such frame");
      return failure("--origin " + job.origin + ": no camera sees the board in that frame: " + why);
    }
  }

  Work work{job.settings, pictures, {}, {}, {}, {}, {}, progress, 0, false};
  // Every camera for itself.
  std::vector<Pose> X_CB(pictures.views.size());
  std::vector<LensVector> lenses(names.size());
  std::vector<bool> hold(names.size());
  const auto go_on = [&] { return work.tell(Progress::Stage::starting, "each camera by itself"); };
  std::vector<std::size_t> poor;  // cameras with too few views for a lens of their own
  const auto start_one = [&](std::size_t c, const LensVector* lens, bool open) {
    const auto own = views_of(pictures, c);
    const Bundle alone = start_camera(own, board, pictures.size_px[c], lens, open, go_on);
    lenses[c] = alone.cameras[0].lens;
    std::size_t k = 0;
    for (std::size_t v = 0; v < pictures.views.size(); ++v)
      if (pictures.views[v].camera == static_cast<int>(c)) X_CB[v] = pose_of(alone.boards[k++].X_RB);
  };
  Report notes;
  for (std::size_t c = 0; c < names.size() && !work.cancelled; ++c) {
    const std::size_t n = views_of(pictures, c).size();
    if (job.intrinsics) {
      const CameraModel& given = *find_camera(*job.intrinsics, names[c]);
      if (given.width_px != pictures.size_px[c][0] || given.height_px != pictures.size_px[c][1])
        return usage_error("--intrinsics: camera " + names[c] + " is " + std::to_string(given.width_px) + "x" +
                           std::to_string(given.height_px) + " px there, its pictures are " +
                           std::to_string(pictures.size_px[c][0]) + "x" + std::to_string(pictures.size_px[c][1]));
      const LensVector lens = lens_vector(given);
      hold[c] = job.hold_intrinsics || n < job.settings.limits.views;
      if (hold[c] && !job.hold_intrinsics)
        notes.notes.push_back(names[c] + ": only " + std::to_string(n) + " views: its lens stays as given");
      start_one(c, &lens, !hold[c]);
    } else if (n < 3) {
      poor.push_back(c);
    } else {
      start_one(c, nullptr, true);
    }
  }
  for (const std::size_t c : poor) {
    // The lens of a camera like it, for a start.
    const LensVector* like = nullptr;
    for (std::size_t o = 0; o < names.size(); ++o)
      if (std::find(poor.begin(), poor.end(), o) == poor.end() && pictures.size_px[o] == pictures.size_px[c])
        like = &lenses[o];
    if (!like)
      return failure(names[c] + ": only " + std::to_string(views_of(pictures, c).size()) +
                     " usable views, and no lens to start from: take more, or give --intrinsics");
    const LensVector copy = *like;
    start_one(c, &copy, false);
  }
  if (work.cancelled) return failure("cancelled");

  std::vector<int> quarters;
  const Placement placement = place_cameras(board, names.size(), pictures.views, X_CB, quarters);
  std::string apart, together;
  for (std::size_t c = 0; c < names.size(); ++c) {
    std::string& list = placement.placed[c] ? together : apart;
    list += (list.empty() ? "" : ", ") + names[c];
  }
  if (!apart.empty())
    return failure(apart + " saw the board in no frame together with " + together +
                   ": record frames where the board is in several cameras' view at once");

  // Boards: where the views of each frame put them, the fullest view's word.
  std::map<std::string, int> board_of;
  std::vector<std::size_t> fullest;
  for (std::size_t v = 0; v < pictures.views.size(); ++v) {
    const View& view = pictures.views[v];
    const auto [at, fresh] = board_of.emplace(view.frame, static_cast<int>(work.frames.size()));
    if (fresh) work.frames.push_back(view.frame), fullest.push_back(v);
    std::size_t& best = fullest[static_cast<std::size_t>(at->second)];
    if (view.corners.size() > pictures.views[best].corners.size()) best = v;
  }
  for (std::size_t c = 0; c < names.size(); ++c) {
    BundleCamera camera;
    camera.lens = lenses[c];
    if (!hold[c]) camera.lens_free = lens_mask(4);
    camera.X_CR = pose_vector(inverse(placement.X_0C[c]));
    camera.pose_free = c != 0;
    work.bundle.cameras.push_back(camera);
  }
  for (const std::size_t v : fullest)
    work.bundle.boards.push_back({pose_vector(placement.X_0C[static_cast<std::size_t>(pictures.views[v].camera)] *
                                              X_CB[v] * quarter_turn(quarters[v])),
                                  true});
  std::map<int, int> seen_by;
  for (const View& view : pictures.views) ++seen_by[board_of[view.frame]];
  for (std::size_t v = 0; v < pictures.views.size(); ++v) {
    const View& view = pictures.views[v];
    const int b = board_of[view.frame];
    if (hold[static_cast<std::size_t>(view.camera)] && seen_by[b] == 1 && view.frame != origin) {
      ViewReport& report = pictures.reports[view.report];
      report.reject = Reject::not_connected;
      report.reason = "no other camera saw the board then, and the lens is held: it adds nothing";
      continue;
    }
    for (const Corner& k : view.corners) {
      const Vec3 p_B = board.corner_p_B(turned_id(board, k.id, -quarters[v]));
      BundleCorner corner{view.camera, b, p_B, k.u_px, k.v_px, true};
      const auto r = residual(work.bundle, corner);
      corner.used = std::isfinite(r[0]) && std::isfinite(r[1]);
      work.bundle.corners.push_back(corner);
      work.view_of.push_back(v);
    }
  }
  work.settle();
  if (!work.cancelled) choose_distortion(work);
  if (work.cancelled) return failure("cancelled");

  // R. Nominal places tell which of four quarter turns, or the whole when no board lies on the floor.
  const Rig nominal = job.last ? *job.last : drivers::standard_rig();
  std::vector<Vec3> wanted, have;
  std::vector<Pose> wanted_poses, have_poses;
  for (std::size_t c = 0; c < names.size(); ++c)
    if (const CameraModel* k = find_camera(nominal, names[c])) {
      wanted_poses.push_back(k->X_RC), wanted.push_back(k->X_RC.p);
      have_poses.push_back(inverse(pose_of(work.bundle.cameras[c].X_CR))), have.push_back(have_poses.back().p);
    }
  Pose X_R0;  // from the first camera's frame
  Gauge gauge = Gauge::board;
  std::size_t origin_board = work.bundle.boards.size();
  if (!origin.empty()) {
    origin_board = static_cast<std::size_t>(board_of[origin]);
    const Pose X_0B = pose_of(work.bundle.boards[origin_board].X_RB);
    double best = 1e300;
    Pose X_RB;
    for (int turn = 0; turn < 4; ++turn) {
      const Pose lying{axis_angle({0, 0, 1}, 0.5 * M_PI * turn) * axis_angle({1, 0, 0}, M_PI),
                       {0, 0, job.board_thickness_mm}};
      const Pose X = lying * inverse(X_0B);
      double off = 0;
      for (std::size_t i = 0; i < have.size(); ++i) off += std::pow(norm(X * have[i] - wanted[i]), 2);
      if (off < best - 1e-6) best = off, X_R0 = X, X_RB = lying;
    }
    work.bundle.boards[origin_board] = {pose_vector(X_RB), false};
  } else {
    Vec3 middle;
    for (const Vec3 p : have) middle = middle + (1.0 / static_cast<double>(have.size())) * p;
    double flat = 0;  // how far the cameras stand off one line
    for (const Vec3 p : have)
      for (const Vec3 q : have) flat = std::max(flat, norm(cross(p - middle, q - middle)));
    if (have.size() >= 3 && flat > 1e3) {
      gauge = Gauge::places;
      X_R0 = fit_pose(wanted, have);
    } else {
      gauge = Gauge::directions;
      std::vector<Vec3> a, b;
      for (std::size_t i = 0; i < have.size(); ++i)
        for (const Vec3 axis : {Vec3{1, 0, 0}, Vec3{0, 1, 0}, Vec3{0, 0, 1}})
          for (const double sign : {1.0, -1.0})
            a.push_back(rotate(wanted_poses[i].q, sign * axis)), b.push_back(rotate(have_poses[i].q, sign * axis));
      X_R0 = {fit_pose(a, b).q, {}};
      Vec3 off;
      for (std::size_t i = 0; i < have.size(); ++i)
        off = off + (1.0 / static_cast<double>(have.size())) * (wanted[i] - X_R0 * have[i]);
      X_R0.p = off;
    }
  }
  for (BundleCamera& camera : work.bundle.cameras) {
    camera.X_CR = pose_vector(pose_of(camera.X_CR) * inverse(X_R0));
    camera.pose_free = true;
  }
  for (std::size_t b = 0; b < work.bundle.boards.size(); ++b)
    if (b != origin_board) work.bundle.boards[b].X_RB = pose_vector(X_R0 * pose_of(work.bundle.boards[b].X_RB));
  if (origin_board == work.bundle.boards.size()) work.bundle.cameras[0].pose_free = false;
  for (int round = 0; round < 2 && !work.cancelled; ++round)
    work.gate(), work.run(0, Progress::Stage::adjusting, "corners that fit");
  if (work.cancelled) return failure("cancelled");
  if (origin_board == work.bundle.boards.size()) work.bundle.cameras[0].pose_free = true;

  work.tell(Progress::Stage::judging, "uncertainty");
  RigResult out;
  Report& report = out.report;
  report.notes = notes.notes;
  report.board = board;
  report.origin = job.origin;
  report.cameras.resize(names.size());
  std::vector<CameraModel> cameras;
  for (std::size_t c = 0; c < names.size(); ++c) {
    report.cameras[c].name = names[c];
    CameraModel camera;
    if (const CameraModel* before = find_camera(nominal, names[c])) camera.serial = before->serial;
    camera.name = names[c];
    camera.width_px = pictures.size_px[c][0], camera.height_px = pictures.size_px[c][1];
    set_lens(camera, work.bundle.cameras[c].lens);
    camera.X_RC = inverse(pose_of(work.bundle.cameras[c].X_CR));
    cameras.push_back(camera);
  }
  double distance = 0;
  for (const CameraModel& camera : cameras)
    distance += norm(job.settings.volume_middle_R - camera.X_RC.p) / static_cast<double>(cameras.size());
  report.working_distance_mm = distance;
  fill_cameras(work, report);
  for (std::size_t c = 0; c < names.size(); ++c) cameras[c].reprojection_rms_px = report.cameras[c].rms_px;
  {
    Work tested = work;
    if (origin_board == work.bundle.boards.size()) tested.bundle.cameras[0].pose_free = false;
    test_held_out(tested, cameras, report);
  }
  if (progress && !progress({Progress::Stage::judging, 0, 0, "uncertainty"})) return failure("cancelled");

  const CameraInformation info = camera_information(work.bundle);
  int undetermined = -1;
  const Eigen::MatrixXd covariance = covariance_of(work.bundle, info, report.sigma_px, gauge, &undetermined);
  judge_lenses(work, info, covariance, undetermined, report);
  const auto volume = grid_of(job.settings.volume_middle_R, job.settings.volume_size_mm, kVolumePoints);
  if (covariance.size() > 0) {
    const TipSigma tip = tip_sigma(work.bundle, cameras, info, covariance, volume, gauge != Gauge::board);
    if (tip.seen > 0) report.tip_sigma_mm = tip.rms_mm, report.tip_sigma_worst_mm = tip.worst_mm;
    if (tip.seen == 0)
      report.failures.push_back(
          "no two cameras see the working volume: is R where it should be? Lay the board on the floor "
          "in the middle of the box and name its frame with --origin");
    else if (tip.seen < volume.size())
      report.notes.push_back(format("%.0f of %.0f points of the working volume are seen by two cameras or more",
                                    static_cast<double>(tip.seen), static_cast<double>(volume.size())));
    for (std::size_t c = 0; c < names.size(); ++c) {
      const int at = info.pose_at[c];
      if (at < 0) continue;
      // Through differences of the pose: place and direction in R.
      Eigen::Matrix<double, 6, 6> J;
      const PoseVector& X_CR = work.bundle.cameras[c].X_CR;
      for (int i = 0; i < 6; ++i) {
        const double h = i < 3 ? 1e-6 : 1e-4;
        PoseVector plus = X_CR, minus = X_CR;
        plus[static_cast<std::size_t>(i)] += h, minus[static_cast<std::size_t>(i)] -= h;
        const Pose a = inverse(pose_of(plus)), b = inverse(pose_of(minus));
        const Vec3 move = (0.5 / h) * (a.p - b.p);
        Quat turn = a.q * conjugate(b.q);
        if (turn.w < 0) turn = {-turn.x, -turn.y, -turn.z, -turn.w};
        J.col(i) << move.x, move.y, move.z, turn.x / h, turn.y / h, turn.z / h;
      }
      const Eigen::Matrix<double, 6, 6> pose = J * covariance.block<6, 6>(at, at) * J.transpose();
      report.cameras[c].sigma_p_mm = std::sqrt(std::max(0.0, pose.topLeftCorner<3, 3>().trace()));
      report.cameras[c].sigma_q_mdeg = 1000 * degrees(std::sqrt(std::max(0.0, pose.bottomRightCorner<3, 3>().trace())));
    }
    if (report.tip_sigma_mm > job.settings.limits.tip_sigma_mm)
      report.failures.push_back(
          format("a tip is uncertain by %.0f um from the calibration alone, %.0f um are allowed: ",
                 1000 * report.tip_sigma_mm, 1000 * job.settings.limits.tip_sigma_mm) +
          "more views by several cameras at once, in and round the working volume");
  } else if (std::all_of(hold.begin(), hold.end(), [](bool h) { return h; })) {
    report.failures.push_back("the views do not determine where the cameras are: take more");
  }
  if (gauge != Gauge::board)
    report.notes.push_back(std::string("no --origin: R lies where the cameras' places fit ") +
                           (job.last ? "the last rig file" : "the standard rig") +
                           " best; a tip's uncertainty does not hold where R lies");

  {
    std::vector<std::size_t> order(work.frames.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return frame_before(work.frames[a], work.frames[b]); });
    Bundle tested = work.bundle;
    if (origin_board == tested.boards.size()) tested.cameras[0].pose_free = false;
    const auto moved =
        find_moved(tested, order, [&] { return work.tell(Progress::Stage::testing, "whether a camera moved"); });
    if (work.cancelled) return failure("cancelled");
    if (moved)
      report.failures.push_back(
          names[moved->camera] + (moved->or_camera ? " or " + names[*moved->or_camera] : "") +
          format(": its pictures lie %.1f px aside, against the other cameras, from frame ", moved->shift_px) +
          work.frames[moved->board] +
          " on: it was knocked, or moved: fasten it and show the board anew, or leave out the frames before or after");
  }

  if (job.last) {
    std::vector<CameraModel> before;
    bool all = true;
    for (std::size_t c = 0; c < names.size(); ++c) {
      const CameraModel* k = find_camera(*job.last, names[c]);
      all &= k != nullptr && k->reprojection_rms_px > 0;
      if (k) before.push_back(*k), compare_cameras(cameras[c], *k, report.cameras[c]);
    }
    report.has_last = all;
    if (all) {
      const Drift drift = drift_of(cameras, before, volume);
      report.drift_tip_mm = drift.rms_mm, report.drift_tip_worst_mm = drift.worst_mm,
      report.drift_shape_mm = drift.shape_mm;
    }
  }
  {
    double now = 0, then = 0;
    for (std::size_t i = 0; i < have.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) now += norm(have[i] - have[j]), then += norm(wanted[i] - wanted[j]);
    if (then > 0 && std::abs(now / then - 1) > kOtherScale)
      report.notes.push_back(format("the cameras stand %.3f times as far apart as in ", now / then) +
                             (job.last ? "the last rig file" : "the standard rig") +
                             ": if nobody moved them, measure the board's squares again");
  }

  out.rig = job.last ? *job.last : drivers::standard_rig();
  out.rig.cameras.clear();
  for (std::size_t c = 0; c < kCameras; ++c)
    for (const CameraModel& camera : cameras)
      if (camera.name == "C" + std::to_string(c)) out.rig.cameras.push_back(camera);
  out.complete = out.rig.cameras.size() == kCameras;
  report.views = pictures.reports;
  if (views) *views = pictures.reports;
  return out;
}

}  // namespace ligature::calibration
