#include "drivers/tracking/tracker.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "drivers/camera/lens.hpp"
#include "sim/base/eigen.hpp"
#include "sim/base/units.hpp"

namespace ligature::drivers {
namespace {

using Eigen::Matrix2d;
using Eigen::Matrix3d;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Matrix7 = Eigen::Matrix<double, 7, 7>;
using Vector7 = Eigen::Matrix<double, 7, 1>;

constexpr std::size_t kMarkersEach = kMarkers / kInstruments;
constexpr std::size_t kPoints = 2;  // 3-D candidates kept per marker
constexpr int kFitSteps = 12;
constexpr double kVelocityGain = 0.5;
constexpr double kHiddenTurn = 0.3, kHiddenOpening = 0.2;  // what a hand may do unseen [rad/s]

Matrix3d cross_matrix(const Vector3d& v) {
  Matrix3d m;
  m << 0, -v.z(), v.y(), v.z(), 0, -v.x(), -v.y(), v.x(), 0;
  return m;
}

Eigen::Quaterniond exp_rotation(const Vector3d& w) {
  const double angle = w.norm();
  if (angle < 1e-12) return Eigen::Quaterniond(1, 0.5 * w.x(), 0.5 * w.y(), 0.5 * w.z()).normalized();
  return Eigen::Quaterniond(Eigen::AngleAxisd(angle, w / angle));
}

Vector3d log_rotation(const Eigen::Quaterniond& q) {
  const Eigen::AngleAxisd a(q.w() < 0 ? Eigen::Quaterniond(-q.w(), -q.x(), -q.y(), -q.z()) : q);
  return a.angle() * a.axis();
}

struct CameraState {
  Lens lens;
  double f = 600;  // px per normalised unit, so that residuals read as pixels
  Matrix3d R_CR;
  Vector3d o_R;  // centre of projection
  Vector3d to_camera(const Vector3d& p_R) const { return R_CR * (p_R - o_R); }
};

struct View {          // one blob, undistorted
  Vector2d z;          // normalised
  Vector3d ray_R;      // unit
  Matrix2d weight_px;  // inverse covariance [px^-2], in undistorted pixels f * z
  double sigma_px = 1;
  double quality = 0;
};

struct Views {  // what every camera says about one marker
  std::array<std::array<View, kCandidates>, kCameras> view;
  std::array<std::uint8_t, kCameras> count{};
};

struct Point {  // triangulated marker
  Vector3d p_R = Vector3d::Zero();
  std::array<std::int8_t, kCameras> choice{-1, -1, -1, -1};  // candidate used per camera, -1 none
  int views = 0;
  double residual_px = 0;
};

struct Estimate {
  Eigen::Quaterniond q = Eigen::Quaterniond::Identity();
  Vector3d p = Vector3d::Zero();
  double opening = 0;
};

struct Fit {
  Estimate x;
  Matrix7 covariance = Matrix7::Identity();
  double residual_px = 0;
  double chi2 = 0;
  int rows = 0;
  int cameras = 0;
  int full_markers = 0;  // seen by two cameras or more
  bool ok = false;
};

}  // namespace

struct Tracker::State {
  struct MarkerModel {
    Vector3d p_T;
    double sign = 0;  // of the arm's turn
    double radius = 2.5;
  };
  struct Instrument {
    Vector3d hinge_T;
    std::array<MarkerModel, kMarkersEach> markers;
    bool seen = false;  // has ever been tracked
    TrackStatus status = TrackStatus::lost;
    Estimate last;                                                  // at last_ns
    Vector3d velocity = Vector3d::Zero(), spin = Vector3d::Zero();  // mm/s, rad/s in R
    double residual_px = 0;
    std::int64_t last_ns = 0;   // newest accepted fit
    std::int64_t whole_ns = 0;  // newest fit with every marker seen by two cameras
    double scale = 1;           // running ratio of squared residuals to their variance
    int pending = 0;            // weak fits in a row that agree
    Estimate pending_x;
    TipCovariance covariance{};
    double confidence = 0;
    std::uint8_t cameras = 0;
  };

  TrackerParams params;
  std::array<CameraState, kCameras> cameras;
  std::array<Instrument, kInstruments> instruments;
  std::array<Views, kMarkers> views;
  std::array<double, kCameras> camera_dt{};  // camera's mid-exposure minus the sample's [s]
  std::uint64_t next_sequence = 0;
  std::int64_t now_ns = 0, interval_ns = 16666667;
  bool started = false;

  Vector3d marker_T(const Instrument& in, std::size_t m, double opening) const {
    const MarkerModel& k = in.markers[m];
    const double a = 0.5 * k.sign * opening, c = std::cos(a), s = std::sin(a);
    const Vector3d d = k.p_T - in.hinge_T;
    return in.hinge_T + Vector3d(c * d.x() - s * d.y(), s * d.x() + c * d.y(), d.z());
  }
  Vector3d marker_R(const Instrument& in, std::size_t m, const Estimate& x) const {
    return x.q * marker_T(in, m, x.opening) + x.p;
  }

  void gather(const std::array<const MarkerSet*, kCameras>& sets) noexcept;
  void triangulate(const Views& v, double radius, std::array<Point, kPoints>& out, std::size_t& count) const noexcept;
  bool start_from_points(const Instrument& in, const std::array<const Point*, kMarkersEach>& points,
                         Estimate& x) const noexcept;
  double opening_from_distances(const Instrument& in, const std::array<const Point*, kMarkersEach>& points,
                                double& misfit_mm) const noexcept;
  Fit fit(const Instrument& in, std::size_t first_marker, Estimate x,
          const std::array<std::array<std::int8_t, kCameras>, kMarkersEach>& choice, const Estimate* prior,
          double hidden_s) const noexcept;
  Estimate predict(const Instrument& in, double dt_s) const noexcept;
  void follow(std::size_t index, InstrumentPose& out) noexcept;
};

void Tracker::State::gather(const std::array<const MarkerSet*, kCameras>& sets) noexcept {
  for (std::size_t m = 0; m < kMarkers; ++m)
    for (std::size_t c = 0; c < kCameras; ++c) {
      views[m].count[c] = 0;
      if (!sets[c] || !sets[c]->image) continue;
      const CameraState& camera = cameras[c];
      for (std::size_t k = 0; k < std::min<std::size_t>(sets[c]->count[m], kCandidates); ++k) {
        const MarkerBlob& b = sets[c]->blobs[m][k];
        const Point2 n = camera.lens.undistort({b.u_px, b.v_px});
        if (!(std::isfinite(n.x) && std::isfinite(n.y))) continue;
        // Covariance through the inverse lens: z = D^-1(u), dz = J^-1 du, in pixels of f.
        std::array<double, 4> J;
        camera.lens.distort(n, &J);
        Matrix2d A;
        A << J[0] / camera.f, J[1] / camera.f, J[2] / camera.f, J[3] / camera.f;
        Matrix2d S;
        S << b.var_uu_px2, b.var_uv_px2, b.var_uv_px2, b.var_vv_px2;
        S += 1e-6 * Matrix2d::Identity();
        View& v = views[m].view[c][views[m].count[c]];
        v.z = {n.x, n.y};
        v.ray_R = (camera.R_CR.transpose() * Vector3d(n.x, n.y, 1)).normalized();
        v.weight_px = A.transpose() * S.inverse() * A;
        v.sigma_px = std::sqrt(0.5 * S.trace());
        v.quality = b.quality;
        ++views[m].count[c];
      }
    }
}

/// Exhaustive consensus: every pair of blobs in two cameras is a hypothesis, at most 6 x 9 of them.
void Tracker::State::triangulate(const Views& v, double radius, std::array<Point, kPoints>& out,
                                 std::size_t& count) const noexcept {
  count = 0;
  std::array<std::array<bool, kCandidates>, kCameras> used{};
  const auto miss_px = [&](std::size_t c, std::size_t k, const Vector3d& p_R) {
    const Vector3d p = cameras[c].to_camera(p_R);
    if (p.z() < 1) return std::numeric_limits<double>::infinity();
    const double s = p.z() / (p.z() * p.z() - radius * radius);
    return cameras[c].f * (v.view[c][k].z - s * p.head<2>()).norm();
  };
  const auto nearest = [&](std::size_t c, const Vector3d& p, double& miss) {
    std::int8_t best = -1;
    for (std::size_t k = 0; k < v.count[c]; ++k)
      if (const double d = miss_px(c, k, p); !used[c][k] && d < miss) miss = d, best = static_cast<std::int8_t>(k);
    return best;
  };
  while (count < kPoints) {
    Point best;
    double best_cost = std::numeric_limits<double>::infinity();
    for (std::size_t a = 0; a + 1 < kCameras; ++a)
      for (std::size_t b = a + 1; b < kCameras; ++b)
        for (std::size_t i = 0; i < v.count[a]; ++i)
          for (std::size_t j = 0; j < v.count[b]; ++j) {
            if (used[a][i] || used[b][j]) continue;
            const Vector3d &da = v.view[a][i].ray_R, &db = v.view[b][j].ray_R, w = cameras[b].o_R - cameras[a].o_R;
            const double ab = da.dot(db), det = 1 - ab * ab;
            if (det < 1e-4) continue;
            const double s = (w.dot(da) - w.dot(db) * ab) / det, t = (w.dot(da) * ab - w.dot(db)) / det;
            if (s < 10 || t < 10) continue;
            const Vector3d p = 0.5 * (cameras[a].o_R + s * da + cameras[b].o_R + t * db);
            Point h;
            double cost = 0;
            for (std::size_t c = 0; c < kCameras; ++c) {
              double miss = params.gate_px;
              h.choice[c] = nearest(c, p, miss);
              if (h.choice[c] >= 0)
                ++h.views, cost += miss * miss;
              else if (v.count[c] > 0)
                cost += params.gate_px * params.gate_px;
            }
            if (h.views < 2) continue;
            if (h.views > best.views || (h.views == best.views && cost < best_cost))
              best = h, best.p_R = p, best_cost = cost;
          }
    if (best.views < 2) return;
    // All agreeing rays together: sum (I - d d^T) p = sum (I - d d^T) o.
    Matrix3d A = Matrix3d::Zero();
    Vector3d y = Vector3d::Zero();
    for (std::size_t c = 0; c < kCameras; ++c) {
      if (best.choice[c] < 0) continue;
      const Vector3d& d = v.view[c][static_cast<std::size_t>(best.choice[c])].ray_R;
      const Matrix3d P = Matrix3d::Identity() - d * d.transpose();
      A += P, y += P * cameras[c].o_R;
      used[c][static_cast<std::size_t>(best.choice[c])] = true;
    }
    best.p_R = A.ldlt().solve(y);
    double sum = 0;
    for (std::size_t c = 0; c < kCameras; ++c)
      if (best.choice[c] >= 0) {
        const double d = miss_px(c, static_cast<std::size_t>(best.choice[c]), best.p_R);
        sum += d * d;
      }
    best.residual_px = std::sqrt(sum / best.views);
    out[count++] = best;
  }
}

/// The opening at which the model's marker distances fit the measured ones best, by a scan and a parabola.
double Tracker::State::opening_from_distances(const Instrument& in,
                                              const std::array<const Point*, kMarkersEach>& points,
                                              double& misfit_mm) const noexcept {
  const auto cost = [&](double opening) {
    double sum = 0;
    for (std::size_t a = 0; a < kMarkersEach; ++a)
      for (std::size_t b = 0; b < a; ++b) {
        const double model = (marker_T(in, a, opening) - marker_T(in, b, opening)).norm();
        const double d = (points[a]->p_R - points[b]->p_R).norm() - model;
        sum += d * d;
      }
    return sum;
  };
  constexpr int kScan = 40;
  const double low = -3 * units::rad_per_deg, high = (params.max_opening_deg + 3) * units::rad_per_deg;
  const double step = (high - low) / kScan;
  double best = low, best_cost = cost(low);
  for (int i = 1; i <= kScan; ++i)
    if (const double c = cost(low + i * step); c < best_cost) best = low + i * step, best_cost = c;
  const double l = cost(best - step), r = cost(best + step), bend = l - 2 * best_cost + r;
  if (bend > 0) best += std::clamp(0.5 * (l - r) / bend, -1.0, 1.0) * step;
  misfit_mm = std::sqrt(cost(best));
  return best;
}

/// Pose from three points: the two triangles' axes laid over each other.
bool Tracker::State::start_from_points(const Instrument& in, const std::array<const Point*, kMarkersEach>& points,
                                       Estimate& x) const noexcept {
  double misfit = 0;
  x.opening = opening_from_distances(in, points, misfit);
  if (misfit > params.distance_gate_mm) return false;
  std::array<Vector3d, kMarkersEach> m;
  for (std::size_t k = 0; k < kMarkersEach; ++k) m[k] = marker_T(in, k, x.opening);
  const auto axes = [](const Vector3d& a, const Vector3d& b, const Vector3d& c) {
    Matrix3d R;
    R.col(0) = (0.5 * (b + c) - a).normalized();
    R.col(2) = R.col(0).cross(c - b).normalized();
    R.col(1) = R.col(2).cross(R.col(0));
    return R;
  };
  const Matrix3d R = axes(points[0]->p_R, points[1]->p_R, points[2]->p_R) * axes(m[0], m[1], m[2]).transpose();
  if (!R.allFinite()) return false;
  x.q = Eigen::Quaterniond(R).normalized();
  x.p = (points[0]->p_R + points[1]->p_R + points[2]->p_R) / 3 - x.q * ((m[0] + m[1] + m[2]) / 3);
  return true;
}

Estimate Tracker::State::predict(const Instrument& in, double dt_s) const noexcept {
  const double tau = 1e-3 * params.velocity_decay_ms;
  const double travel = tau > 0 ? tau * (1 - std::exp(-dt_s / tau)) : 0;
  Estimate x = in.last;
  x.p += travel * in.velocity;
  x.q = (exp_rotation(travel * in.spin) * x.q).normalized();
  return x;
}

/// Unknowns: turn about the tip (left, in R), shift of the tip, opening.
Fit Tracker::State::fit(const Instrument& in, std::size_t first_marker, Estimate x,
                        const std::array<std::array<std::int8_t, kCameras>, kMarkersEach>& choice,
                        const Estimate* prior, double hidden_s) const noexcept {
  Fit result;
  std::uint8_t camera_bits = 0;
  int rows = 0;
  bool whole = true;
  for (std::size_t m = 0; m < kMarkersEach; ++m) {
    int n = 0;
    for (std::size_t c = 0; c < kCameras; ++c)
      if (choice[m][c] >= 0) ++n, rows += 2, camera_bits = static_cast<std::uint8_t>(camera_bits | 1u << c);
    result.full_markers += n >= 2;
    whole &= n >= 2;
  }
  result.rows = rows;
  result.cameras = std::popcount(camera_bits);
  if (rows < 8 || result.cameras < 2) return result;
  if (!whole && !prior) return result;

  // Widths of the prior, as weights. Whole: far wider than any image, kept only against a singular matrix. Something
  // hidden: close to the prediction, anew each trigger; the opening closest, because marker distances speak of it so
  // faintly that their bias would walk away with it. What the hand may do unseen meanwhile widens the covariance only.
  const auto weights = [](double turn, double shift, double open) {
    Vector7 w;
    w << Vector3d::Constant(1 / (turn * turn)), Vector3d::Constant(1 / (shift * shift)), 1 / (open * open);
    return w;
  };
  const Vector7 prior_weight = whole ? weights(1, 100, 1) : weights(0.02, 10, 0.002);
  const Vector7 believed_weight =
      whole ? prior_weight
            : weights(0.01 + kHiddenTurn * hidden_s, 10 + 100 * hidden_s, 0.005 + kHiddenOpening * hidden_s);
  const Estimate anchor = prior ? *prior : x;

  Matrix7 H;
  for (int step = 0; step < kFitSteps; ++step) {
    H = prior_weight.asDiagonal();
    Vector7 g;
    g.head<3>() = prior_weight.head<3>().cwiseProduct(log_rotation(anchor.q * x.q.conjugate()));
    g.segment<3>(3) = prior_weight.segment<3>(3).cwiseProduct(anchor.p - x.p);
    g[6] = prior_weight[6] * (anchor.opening - x.opening);
    double sum = 0, chi2 = 0;
    for (std::size_t m = 0; m < kMarkersEach; ++m) {
      const Vector3d m_T = marker_T(in, m, x.opening), arm_R = x.q * m_T, p_R = arm_R + x.p;
      const Vector3d d = m_T - in.hinge_T;
      const Vector3d turn_R = x.q * (0.5 * in.markers[m].sign * Vector3d(-d.y(), d.x(), 0));
      const Vector3d speed = in.velocity + in.spin.cross(arm_R);  // to each camera's own instant
      for (std::size_t c = 0; c < kCameras; ++c) {
        if (choice[m][c] < 0) continue;
        const View& view = views[first_marker + m].view[c][static_cast<std::size_t>(choice[m][c])];
        const CameraState& camera = cameras[c];
        const Vector3d p_C = camera.to_camera(p_R + camera_dt[c] * speed);
        if (p_C.z() < 1) return result;
        const double r2 = in.markers[m].radius * in.markers[m].radius;
        const double s = camera.f * p_C.z() / (p_C.z() * p_C.z() - r2);
        const Vector2d e = camera.f * view.z - s * p_C.head<2>();
        Eigen::Matrix<double, 2, 3> D;
        D << s, 0, -s * p_C.x() / p_C.z(), 0, s, -s * p_C.y() / p_C.z();
        const Eigen::Matrix<double, 2, 3> J_p = D * camera.R_CR;
        Eigen::Matrix<double, 2, 7> J;
        J.leftCols<3>() = -J_p * cross_matrix(arm_R);
        J.middleCols<3>(3) = J_p;
        J.col(6) = J_p * turn_R;
        const double e2 = e.dot(view.weight_px * e);
        // Cauchy with the scale of what this rig's residuals have been, at least three of the blob's own sigmas.
        const double robust = 1 / (1 + e2 / (9 * std::max(1.0, in.scale)));
        const Matrix2d W = robust * view.weight_px;
        H.noalias() += J.transpose() * W * J;
        g.noalias() += J.transpose() * (W * e);
        sum += e.squaredNorm(), chi2 += e2;
      }
    }
    result.residual_px = std::sqrt(sum / (0.5 * rows));
    result.chi2 = chi2;
    const Vector7 dx = H.ldlt().solve(g);
    if (!dx.allFinite()) return result;
    const double turn_step = dx.head<3>().norm(), limit = turn_step > 0.5 ? 0.5 / turn_step : 1.0;
    x.q = (exp_rotation(limit * dx.head<3>()) * x.q).normalized();
    x.p += limit * dx.segment<3>(3);
    x.opening += limit * dx[6];
    if (dx.head<3>().norm() < 1e-8 && dx.segment<3>(3).norm() < 1e-6 && std::abs(dx[6]) < 1e-8) break;
  }
  result.x = x;
  H.diagonal() += believed_weight - prior_weight;
  result.covariance = H.inverse();
  result.ok = result.covariance.allFinite() && x.p.allFinite() && std::isfinite(x.opening);
  return result;
}

void Tracker::State::follow(std::size_t index, InstrumentPose& out) noexcept {
  Instrument& in = instruments[index];
  const std::size_t first = index * kMarkersEach;
  const double since_s = in.seen ? units::s_per_ns * static_cast<double>(now_ns - in.last_ns) : 0;
  const bool fresh = in.seen && in.status != TrackStatus::lost && 1e3 * since_s <= params.prediction_ms;
  const Estimate predicted = fresh ? predict(in, since_s) : in.last;

  std::array<std::array<Point, kPoints>, kMarkersEach> points;
  std::array<std::size_t, kMarkersEach> count{};
  for (std::size_t m = 0; m < kMarkersEach; ++m)
    triangulate(views[first + m], in.markers[m].radius, points[m], count[m]);

  // The combination of candidate points that fits the rigid model, and the prediction when there is one.
  Fit best;
  bool have = false;
  if (count[0] && count[1] && count[2]) {
    double best_cost = std::numeric_limits<double>::infinity();
    std::array<const Point*, kMarkersEach> best_points{};
    Estimate start;
    for (std::size_t i = 0; i < count[0]; ++i)
      for (std::size_t j = 0; j < count[1]; ++j)
        for (std::size_t k = 0; k < count[2]; ++k) {
          const std::array<const Point*, kMarkersEach> trial{&points[0][i], &points[1][j], &points[2][k]};
          Estimate x;
          double misfit = 0;
          opening_from_distances(in, trial, misfit);
          if (!start_from_points(in, trial, x)) continue;
          double cost = misfit * misfit;
          for (std::size_t m = 0; m < kMarkersEach; ++m) {
            cost += 0.1 * trial[m]->residual_px * trial[m]->residual_px - 0.2 * trial[m]->views;
            if (fresh) cost += 0.01 * std::min(400.0, (marker_R(in, m, predicted) - trial[m]->p_R).squaredNorm());
          }
          if (cost < best_cost) best_cost = cost, best_points = trial, start = x;
        }
    if (best_points[0]) {
      std::array<std::array<std::int8_t, kCameras>, kMarkersEach> choice;
      for (std::size_t m = 0; m < kMarkersEach; ++m) choice[m] = best_points[m]->choice;
      best = fit(in, first, start, choice, nullptr, 0);
      have = best.ok && best.residual_px < params.max_residual_px;
    }
  }
  if (!have && fresh) {
    // Something is hidden: whatever view lies where the rigid model expects it still counts.
    std::array<std::array<std::int8_t, kCameras>, kMarkersEach> choice;
    const double reach_mm = 4 + 200 * since_s;
    for (std::size_t m = 0; m < kMarkersEach; ++m)
      for (std::size_t c = 0; c < kCameras; ++c) {
        choice[m][c] = -1;
        const Vector3d p = cameras[c].to_camera(marker_R(in, m, predicted));
        if (p.z() < 1) continue;
        double nearest = cameras[c].f * reach_mm / p.z();
        for (std::size_t k = 0; k < views[first + m].count[c]; ++k)
          if (const double d = cameras[c].f * (views[first + m].view[c][k].z - p.head<2>() / p.z()).norm(); d < nearest)
            nearest = d, choice[m][c] = static_cast<std::int8_t>(k);
      }
    const double hidden_s = units::s_per_ns * static_cast<double>(now_ns - in.whole_ns);
    best = fit(in, first, predicted, choice, &predicted, hidden_s);
    have = best.ok && best.residual_px < params.max_residual_px && best.full_markers >= 1;
  }

  if (have) {
    const double sigma = std::sqrt(std::max(1.0, in.scale) * best.covariance.block<3, 3>(3, 3).trace());
    const bool open_ok = best.x.opening > -0.06 && best.x.opening < (params.max_opening_deg + 3) * units::rad_per_deg;
    have = sigma < params.max_sigma_tip_mm && open_ok;
  }
  if (have) {
    // Sanity of a come-back: three colours at the right distances in three cameras speak for themselves; less must
    // either lie within reach of the last pose or say the same several times running.
    const bool strong =
        best.full_markers == static_cast<int>(kMarkersEach) && best.cameras >= 3 && best.residual_px < 1.0;
    const double reach = 5 + params.jump_speed_mm_per_s * since_s;
    const bool near = in.seen && fresh && (best.x.p - predicted.p).norm() < reach;
    if (!strong && !near) {
      const bool agrees = in.pending > 0 && (best.x.p - in.pending_x.p).norm() < 10;
      in.pending = agrees ? in.pending + 1 : 1;
      in.pending_x = best.x;
      have = in.pending >= params.confirm_frames;
    }
  } else {
    in.pending = 0;
  }

  if (have) {
    in.pending = 0;
    if (fresh && since_s > 0 && since_s < 0.1) {
      const Vector3d v = (best.x.p - in.last.p) / since_s, w = log_rotation(best.x.q * in.last.q.conjugate()) / since_s;
      in.velocity += kVelocityGain * (v - in.velocity);
      in.spin += kVelocityGain * (w - in.spin);
    } else {
      in.velocity.setZero(), in.spin.setZero();
    }
    const int spare = best.rows - 7;
    if (spare > 0 && best.full_markers == static_cast<int>(kMarkersEach))
      in.scale += 0.05 * (std::clamp(best.chi2 / spare, 0.25, 100.0) - in.scale);
    in.last = best.x;
    in.last_ns = now_ns;
    if (best.full_markers == static_cast<int>(kMarkersEach)) in.whole_ns = now_ns;
    in.seen = true;
    in.status = TrackStatus::tracked;
    in.residual_px = best.residual_px;
    in.cameras = static_cast<std::uint8_t>(best.cameras);
    const Matrix3d S = std::max(1.0, in.scale) * best.covariance.block<3, 3>(3, 3);
    in.covariance = {S(0, 0), S(0, 1), S(0, 2), S(1, 1), S(1, 2), S(2, 2)};
    out.X_RT = {from_eigen(in.last.q), from_eigen(in.last.p)};
    in.confidence = std::clamp(1.0 - std::sqrt(S.trace()) / params.max_sigma_tip_mm, 0.0, 1.0) *
                    (0.5 + 0.5 * std::min(1.0, best.rows / 24.0));
    out.confidence = in.confidence;
  } else if (fresh) {
    in.status = TrackStatus::predicted;
    in.cameras = 0;
    out.X_RT = {from_eigen(predicted.q), from_eigen(predicted.p)};
    // Not seen: the hand may have gone anywhere at hand speed; 100 mm/s is the usual upper end.
    const double grown = 100 * since_s * 100 * since_s / 3;
    TipCovariance S = in.covariance;
    S[0] += grown, S[3] += grown, S[5] += grown;
    out.sigma_tip_mm = std::sqrt(S[0] + S[3] + S[5]);
    out.confidence = in.confidence * std::max(0.0, 1 - 1e3 * since_s / params.prediction_ms);
  } else {
    in.status = TrackStatus::lost;
    in.cameras = 0;
    in.velocity.setZero(), in.spin.setZero();
    out.X_RT = {from_eigen(in.last.q), from_eigen(in.last.p)};
    out.sigma_tip_mm = 0;
    out.confidence = 0;
  }
  out.status = in.status;
  out.cameras = in.cameras;
  out.opening_rad = in.last.opening;
  out.residual_px = in.status == TrackStatus::tracked ? in.residual_px : 0;
  if (in.status == TrackStatus::tracked)
    out.sigma_tip_mm = std::sqrt(in.covariance[0] + in.covariance[3] + in.covariance[5]);
}

Tracker::Tracker(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tracker::~Tracker() = default;
Tracker::Tracker(Tracker&&) noexcept = default;
Tracker& Tracker::operator=(Tracker&&) noexcept = default;

Result<Tracker> Tracker::create(const Rig& rig, const TrackerParams& params) {
  if (rig.cameras.size() != kCameras)
    return usage_error("tracker: the rig has " + std::to_string(rig.cameras.size()) + " cameras, must be 4");
  if (rig.instruments.size() != kInstruments)
    return usage_error("tracker: the rig has " + std::to_string(rig.instruments.size()) + " instruments, must be 2");
  if (!(params.gate_px > 0 && params.max_residual_px > 0 && params.prediction_ms >= 0 && params.max_opening_deg > 0))
    return usage_error("tracker: gates and bounds must be above 0");
  auto state = std::make_unique<State>();
  state->params = params;
  for (std::size_t c = 0; c < kCameras; ++c) {
    CameraState& camera = state->cameras[c];
    camera.lens = Lens(rig.cameras[c]);
    camera.f = std::sqrt(rig.cameras[c].fx_px * rig.cameras[c].fy_px);
    if (!(camera.f > 0)) return usage_error("tracker: camera " + rig.cameras[c].name + " has no focal length");
    camera.R_CR = to_eigen(rig.cameras[c].X_RC.q).toRotationMatrix().transpose();
    camera.o_R = to_eigen(rig.cameras[c].X_RC.p);
  }
  for (std::size_t i = 0; i < kInstruments; ++i) {
    const InstrumentModel& model = rig.instruments[i];
    if (model.markers.size() != kMarkersEach)
      return usage_error("tracker: instrument " + model.name + " has " + std::to_string(model.markers.size()) +
                         " markers, must be 3");
    State::Instrument& in = state->instruments[i];
    in.hinge_T = to_eigen(model.hinge_p_T);
    for (std::size_t m = 0; m < kMarkersEach; ++m) {
      const Marker& k = model.markers[m];
      in.markers[m] = {to_eigen(k.p_TM),
                       k.arm == MarkerArm::none   ? 0.0
                       : k.arm == MarkerArm::plus ? 1.0
                                                  : -1.0,
                       0.5 * k.diameter_mm};
    }
    const Vector3d a = in.markers[1].p_T - in.markers[0].p_T, b = in.markers[2].p_T - in.markers[0].p_T;
    if (a.cross(b).norm() < 1)
      return usage_error("tracker: the markers of instrument " + model.name +
                         " lie in one line: its roll cannot be seen");
  }
  return Tracker(std::move(state));
}

InstrumentSample Tracker::track(const std::array<const MarkerSet*, kCameras>& sets) noexcept {
  std::uint64_t sequence = state_->next_sequence;
  std::int64_t sum = 0, base = 0, n = 0;
  for (const MarkerSet* set : sets)
    if (set && set->image) {
      if (n == 0) base = set->mid_exposure_ns, sequence = set->sequence;
      sum += set->mid_exposure_ns - base, ++n;
    }
  if (n == 0)
    for (const MarkerSet* set : sets)
      if (set) return track(sets, set->sequence, set->mid_exposure_ns);
  return track(sets, sequence, n > 0 ? base + sum / n : state_->now_ns + state_->interval_ns);
}

InstrumentSample Tracker::track(const std::array<const MarkerSet*, kCameras>& sets, std::uint64_t sequence,
                                std::int64_t mid_exposure_ns) noexcept {
  State& s = *state_;
  if (s.started && mid_exposure_ns > s.now_ns) s.interval_ns = mid_exposure_ns - s.now_ns;
  s.now_ns = mid_exposure_ns;
  s.started = true;
  s.next_sequence = sequence + 1;
  InstrumentSample sample;
  sample.sequence = sequence;
  sample.mid_exposure_ns = mid_exposure_ns;
  for (std::size_t c = 0; c < kCameras; ++c) {
    const bool alive = sets[c] && sets[c]->image;
    if (alive) sample.cameras_alive = static_cast<std::uint8_t>(sample.cameras_alive | 1u << c);
    s.camera_dt[c] = alive ? units::s_per_ns * static_cast<double>(sets[c]->mid_exposure_ns - mid_exposure_ns) : 0;
  }
  s.gather(sets);
  for (std::size_t i = 0; i < kInstruments; ++i) s.follow(i, sample.instruments[i]);
  return sample;
}

const TipCovariance& Tracker::tip_covariance(std::size_t instrument) const noexcept {
  return state_->instruments[instrument].covariance;
}

void Tracker::reset() noexcept {
  State& s = *state_;
  for (State::Instrument& in : s.instruments) {
    State::Instrument clean;
    clean.hinge_T = in.hinge_T;
    clean.markers = in.markers;
    in = clean;
  }
  s.next_sequence = 0, s.now_ns = 0, s.started = false;
}

}  // namespace ligature::drivers
