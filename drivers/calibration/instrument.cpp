#include "drivers/calibration/instrument.hpp"

#include <ceres/autodiff_cost_function.h>
#include <ceres/covariance.h>
#include <ceres/iteration_callback.h>
#include <ceres/loss_function.h>
#include <ceres/problem.h>
#include <ceres/rotation.h>
#include <ceres/solver.h>

#include <Eigen/Core>
#include <Eigen/LU>
#include <cmath>
#include <cstdio>

#include "drivers/calibration/bundle.hpp"
#include "drivers/calibration/judge.hpp"

namespace ligature::calibration {
namespace {

using drivers::CameraModel;
using drivers::MarkerArm;

constexpr double kGluedMm = 1.5;  // how well balls are glued on where the file has them
constexpr double kUsualNoise_px = 0.1;
constexpr std::size_t kLeastFrames = 5;

std::string format(const char* pattern, double a, double b = 0) {
  char buffer[200];
  std::snprintf(buffer, sizeof buffer, pattern, a, b);
  return buffer;
}

/// A ball's image, in a camera that is known.
struct BallCost {
  LensVector lens;
  PoseVector X_CR;
  double radius_mm, arm;  // arm: +1/2, -1/2 of the opening, or 0
  double u_px, v_px;

  template <class T>
  bool operator()(const T* p_TM, const T* hinge_x, const T* turn, const T* place, const T* opening, T* out) const {
    using std::cos;
    using std::sin;
    const T a = arm * opening[0], c = cos(a), s = sin(a), x = p_TM[0] - hinge_x[0];
    const T p_T[3] = {hinge_x[0] + c * x - s * p_TM[1], s * x + c * p_TM[1], p_TM[2]};
    T p_R[3], p_C[3];
    ceres::AngleAxisRotatePoint(turn, p_T, p_R);
    for (int i = 0; i < 3; ++i) p_R[i] += place[i];
    const T R_CR[3] = {T(X_CR[0]), T(X_CR[1]), T(X_CR[2])};
    ceres::AngleAxisRotatePoint(R_CR, p_R, p_C);
    for (int i = 0; i < 3; ++i) p_C[i] += X_CR[static_cast<std::size_t>(3 + i)];
    if (!(p_C[2] > radius_mm + 1)) return false;
    const T z = p_C[2] / (p_C[2] * p_C[2] - radius_mm * radius_mm);  // drivers::sphere_image_centre
    const T u = p_C[0] * z, v = p_C[1] * z, r2 = u * u + v * v;
    const double k1 = lens[4], k2 = lens[5], p1 = lens[6], p2 = lens[7], k3 = lens[8];
    const T g = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3));
    out[0] = lens[0] * (u * g + 2.0 * p1 * u * v + p2 * (r2 + 2.0 * u * u)) + lens[2] - u_px;
    out[1] = lens[1] * (v * g + p1 * (r2 + 2.0 * v * v) + 2.0 * p2 * u * v) + lens[3] - v_px;
    return true;
  }
};

/// A weak pull towards the last file.
struct KeepCost {
  std::array<double, 3> at;
  double weight;
  template <class T>
  bool operator()(const T* p, T* out) const {
    for (std::size_t i = 0; i < 3; ++i) out[i] = weight * (p[i] - at[i]);
    return true;
  }
};
struct KeepOneCost {
  double at, weight;
  template <class T>
  bool operator()(const T* p, T* out) const {
    out[0] = weight * (p[0] - at);
    return true;
  }
};

struct Placed {
  const MarkerFrame* frame;
  bool pivot;
  std::array<double, 3> turn{}, place{};
  double opening = 0;
};

double arm_of(MarkerArm arm) {
  return arm == MarkerArm::plus ? 0.5 : arm == MarkerArm::minus ? -0.5 : 0;
}

class StopWhenAsked final : public ceres::IterationCallback {
 public:
  StopWhenAsked(const ProgressFunction& progress, bool& cancelled) : progress_(progress), cancelled_(cancelled) {}
  ceres::CallbackReturnType operator()(const ceres::IterationSummary& s) override {
    cancelled_ =
        progress_ && !progress_({Progress::Stage::adjusting, static_cast<std::size_t>(s.iteration), 0, "markers"});
    return cancelled_ ? ceres::SOLVER_ABORT : ceres::SOLVER_CONTINUE;
  }

 private:
  const ProgressFunction& progress_;
  bool& cancelled_;
};

/// The forceps laid over its three balls: pose, and for an opening frame the opening that fits best.
std::optional<Placed> place_forceps(const drivers::Rig& rig, const drivers::InstrumentModel& model,
                                    std::size_t instrument, const MarkerFrame& frame, bool pivot) {
  std::vector<Vec3> seen;
  for (std::size_t m = 0; m < 3; ++m) {
    const auto p = place_ball(rig.cameras, frame.markers[3 * instrument + m], model.markers[m].diameter_mm);
    if (!p) return {};
    seen.push_back(*p);
  }
  Placed best{&frame, pivot};
  double best_off = 1e300;
  for (double opening = 0; opening <= (pivot ? 0 : 0.6); opening += 0.02) {
    std::vector<Vec3> drawn;
    for (const auto& marker : model.markers) drawn.push_back(drivers::marker_p_T(model, marker, opening));
    const Pose X = fit_pose(seen, drawn);
    double off = 0;
    for (std::size_t m = 0; m < 3; ++m) off += std::pow(norm(X * drawn[m] - seen[m]), 2);
    if (off >= best_off) continue;
    best_off = off;
    const PoseVector v = pose_vector(X);
    best.turn = {v[0], v[1], v[2]}, best.place = {v[3], v[4], v[5]};
    best.opening = opening;
  }
  return best;
}

}  // namespace

Result<InstrumentResult> fit_instrument(const drivers::Rig& rig, std::size_t instrument,
                                        const std::vector<MarkerFrame>& pivot, const std::vector<MarkerFrame>& opening,
                                        const InstrumentLimits& limits, const ProgressFunction& progress) {
  if (instrument >= rig.instruments.size() || rig.instruments[instrument].markers.size() != 3)
    return usage_error("the rig file has no such instrument with three markers");
  const drivers::InstrumentModel& last = rig.instruments[instrument];
  InstrumentResult out;
  out.model = last;
  std::vector<Placed> placed;
  for (const bool is_pivot : {true, false})
    for (const MarkerFrame& frame : is_pivot ? pivot : opening)
      if (auto p = place_forceps(rig, last, instrument, frame, is_pivot)) {
        placed.push_back(*p);
        ++(is_pivot ? out.pivot_frames : out.opening_frames);
      }
  if (out.pivot_frames < kLeastFrames)
    return failure(last.name + ": all three markers were placed in " + std::to_string(out.pivot_frames) + " of " +
                   std::to_string(pivot.size()) + " pivot frames: keep them in view of two cameras or more");

  // The divot to begin with: where the frames' tips are on the whole.
  std::array<double, 3> divot{};
  {
    std::array<std::vector<double>, 3> at;
    for (const Placed& p : placed)
      for (std::size_t i = 0; p.pivot && i < 3; ++i) at[i].push_back(p.place[i]);
    for (std::size_t i = 0; i < 3; ++i) {
      std::nth_element(at[i].begin(), at[i].begin() + static_cast<std::ptrdiff_t>(at[i].size() / 2), at[i].end());
      divot[i] = at[i][at[i].size() / 2];
    }
  }
  std::array<std::array<double, 3>, 3> markers;
  for (std::size_t m = 0; m < 3; ++m)
    markers[m] = {last.markers[m].p_TM.x, last.markers[m].p_TM.y, last.markers[m].p_TM.z};
  double hinge = last.hinge_p_T.x, closed = 0;

  std::vector<LensVector> lenses;
  std::vector<PoseVector> poses;
  for (const CameraModel& c : rig.cameras)
    lenses.push_back(lens_vector(c)), poses.push_back(pose_vector(inverse(c.X_RC)));

  const ceres::CauchyLoss cauchy(1.0);
  ceres::Problem::Options ownership;
  ownership.loss_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
  ceres::Problem problem(ownership);
  std::vector<ceres::ResidualBlockId> balls;
  for (Placed& p : placed)
    for (std::size_t m = 0; m < 3; ++m)
      for (const MarkerSight& s : p.frame->markers[3 * instrument + m]) {
        const auto c = static_cast<std::size_t>(s.camera);
        balls.push_back(problem.AddResidualBlock(
            new ceres::AutoDiffCostFunction<BallCost, 2, 3, 1, 3, 3, 1>(new BallCost{
                lenses[c], poses[c], 0.5 * last.markers[m].diameter_mm, arm_of(last.markers[m].arm), s.u_px, s.v_px}),
            const_cast<ceres::LossFunction*>(static_cast<const ceres::LossFunction*>(&cauchy)), markers[m].data(),
            &hinge, p.turn.data(), p.pivot ? divot.data() : p.place.data(), p.pivot ? &closed : &p.opening));
      }
  problem.SetParameterBlockConstant(&closed);
  for (std::size_t m = 0; m < 3; ++m)
    problem.AddResidualBlock(
        new ceres::AutoDiffCostFunction<KeepCost, 3, 3>(new KeepCost{markers[m], kUsualNoise_px / kGluedMm}), nullptr,
        markers[m].data());
  const bool opened = out.opening_frames >= kLeastFrames;
  if (opened)
    problem.AddResidualBlock(
        new ceres::AutoDiffCostFunction<KeepOneCost, 1, 1>(new KeepOneCost{hinge, kUsualNoise_px / (2 * kGluedMm)}),
        nullptr, &hinge);
  else
    problem.SetParameterBlockConstant(&hinge);

  bool cancelled = false;
  StopWhenAsked stop(progress, cancelled);
  ceres::Solver::Options solver;
  solver.linear_solver_type = ceres::SPARSE_NORMAL_CHOLESKY;
  solver.max_num_iterations = 100;
  solver.function_tolerance = 1e-10;
  solver.logging_type = ceres::SILENT;
  solver.callbacks.push_back(&stop);
  ceres::Solver::Summary summary;
  quiet_solver();
  ceres::Solve(solver, &problem, &summary);
  if (cancelled) return failure("cancelled");
  if (!summary.IsSolutionUsable())
    return failure(last.name +
                   ": the motion cannot be fitted: turn the forceps about its tip, which stays in the divot");

  double squares = 0;
  std::size_t kept = 0;
  std::vector<double> parts;
  {
    std::vector<double> residuals;
    ceres::Problem::EvaluateOptions evaluate;
    evaluate.apply_loss_function = false;
    evaluate.residual_blocks = balls;
    problem.Evaluate(evaluate, nullptr, &residuals, nullptr, nullptr);
    for (const double r : residuals) parts.push_back(std::abs(r));
    std::nth_element(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(parts.size() / 2), parts.end());
    const double sigma = std::max(1e-4, 1.4826 * parts[parts.size() / 2]);
    for (std::size_t i = 0; i + 1 < residuals.size(); i += 2) {
      const double square = residuals[i] * residuals[i] + residuals[i + 1] * residuals[i + 1];
      if (square > 25 * sigma * sigma) continue;
      squares += square, ++kept;
    }
    out.rms_px = kept > 0 ? std::sqrt(squares / static_cast<double>(kept)) : 0;
  }
  const double freedom = 2.0 * static_cast<double>(kept) - 3.0 * static_cast<double>(out.pivot_frames) -
                         7.0 * static_cast<double>(out.opening_frames) - 13;
  const double sigma_px = std::max(1e-6, freedom > 0 ? std::sqrt(squares / freedom) : out.rms_px);

  // Without an opening, turn T about the tip to where the last markers were.
  if (!opened) {
    std::vector<Vec3> was, now;
    for (std::size_t m = 0; m < 3; ++m) {
      const Vec3 p{markers[m][0], markers[m][1], markers[m][2]};
      for (const double sign : {1.0, -1.0}) was.push_back(sign * last.markers[m].p_TM), now.push_back(sign * p);
    }
    const Quat turn = fit_pose(was, now).q;
    for (auto& m : markers) {
      const Vec3 p = rotate(turn, {m[0], m[1], m[2]});
      m = {p.x, p.y, p.z};
    }
    out.notes.push_back(last.name + ": no opening motion: T's directions and the hinge stay as they were");
  } else {
    ceres::Covariance::Options options;
    options.algorithm_type = ceres::SPARSE_QR;
    ceres::Covariance covariance(options);
    double hinge_variance = 0;
    const std::vector<std::pair<const double*, const double*>> blocks{{&hinge, &hinge}};
    if (covariance.Compute(blocks, &problem) && covariance.GetCovarianceBlock(&hinge, &hinge, &hinge_variance))
      out.hinge_sigma_mm = sigma_px * std::sqrt(hinge_variance);
  }
  {
    // The tip in the markers' frame: what the three have in common.
    ceres::Covariance::Options options;
    options.algorithm_type = ceres::SPARSE_QR;
    ceres::Covariance covariance(options);
    std::vector<std::pair<const double*, const double*>> blocks;
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = i; j < 3; ++j) blocks.emplace_back(markers[i].data(), markers[j].data());
    // The gauge left to a weak pull (turns about the tip) is no error of the tip: what turns all markers is taken out.
    if (covariance.Compute(blocks, &problem)) {
      Eigen::Matrix<double, 9, 9> S;
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = i; j < 3; ++j) {
          Eigen::Matrix<double, 3, 3, Eigen::RowMajor> block;
          covariance.GetCovarianceBlock(markers[i].data(), markers[j].data(), block.data());
          S.block<3, 3>(3 * static_cast<int>(i), 3 * static_cast<int>(j)) = block;
          S.block<3, 3>(3 * static_cast<int>(j), 3 * static_cast<int>(i)) = block.transpose();
        }
      // d tip = -(rigid motion that best follows the markers' changes), at the origin: least squares on six numbers.
      Eigen::Matrix<double, 9, 6> J;
      for (int m = 0; m < 3; ++m) {
        const auto& p = markers[static_cast<std::size_t>(m)];
        Eigen::Matrix3d cross_p;
        cross_p << 0, -p[2], p[1], p[2], 0, -p[0], -p[1], p[0], 0;
        J.block<3, 3>(3 * m, 0) = Eigen::Matrix3d::Identity();
        J.block<3, 3>(3 * m, 3) = -cross_p;
      }
      const Eigen::Matrix<double, 6, 6> N = J.transpose() * J;
      const Eigen::Matrix<double, 6, 9> K = N.inverse() * J.transpose();
      const Eigen::Matrix<double, 6, 6> rigid = K * S * K.transpose();
      out.tip_sigma_mm = sigma_px * std::sqrt(std::max(0.0, rigid.topLeftCorner<3, 3>().trace()));
      out.direction_sigma_deg =
          sigma_px * std::sqrt(std::max(0.0, rigid.bottomRightCorner<3, 3>().trace())) * 180 / M_PI;
    }
  }
  for (std::size_t m = 0; m < 3; ++m) {
    out.model.markers[m].p_TM = {markers[m][0], markers[m][1], markers[m][2]};
    out.shift_mm[m] = norm(out.model.markers[m].p_TM - last.markers[m].p_TM);
  }
  out.model.hinge_p_T = {hinge, opened ? 0 : last.hinge_p_T.y, opened ? 0 : last.hinge_p_T.z};
  out.divot_p_R = {divot[0], divot[1], divot[2]};

  // How far it was turned, and where single frames put the tip.
  std::vector<Quat> turns;
  double off = 0;
  std::vector<double> openings;
  for (const Placed& p : placed) {
    if (!p.pivot) {
      openings.push_back(p.opening * 180 / M_PI);
      continue;
    }
    turns.push_back(pose_of({p.turn[0], p.turn[1], p.turn[2], 0, 0, 0}).q);
    if (const auto alone = place_forceps(rig, out.model, instrument, *p.frame, true))
      off += std::pow(norm(Vec3{alone->place[0], alone->place[1], alone->place[2]} - out.divot_p_R), 2);
  }
  out.divot_rms_mm = std::sqrt(off / static_cast<double>(out.pivot_frames));
  for (std::size_t i = 0; i < turns.size(); i += std::max<std::size_t>(1, turns.size() / 60))
    for (const Quat& b : turns) {
      const Quat d = conjugate(turns[i]) * b;
      out.turn_deg =
          std::max(out.turn_deg, 360 / M_PI * std::atan2(std::sqrt(d.x * d.x + d.y * d.y + d.z * d.z), std::abs(d.w)));
    }
  if (!openings.empty()) {
    std::sort(openings.begin(), openings.end());
    out.opening_deg = openings[openings.size() * 98 / 100] - openings[openings.size() * 2 / 100];
  }

  const auto fail = [&](const std::string& what) { out.failures.push_back(last.name + ": " + what); };
  if (out.pivot_frames < limits.frames)
    fail("all three markers in " + std::to_string(out.pivot_frames) + " pivot frames, " +
         std::to_string(limits.frames) + " are needed: record longer");
  if (out.turn_deg < limits.turn_deg)
    fail(format("turned by %.0f degrees, %.0f are needed: turn it further about the tip, in all directions",
                out.turn_deg, limits.turn_deg));
  if (!(out.rms_px <= limits.rms_px))
    fail(format("the fit is off by %.2f px, %.2f are allowed: keep the tip in the divot and closed, calibrate the rig",
                out.rms_px, limits.rms_px));
  if (!(out.tip_sigma_mm > 0 && out.tip_sigma_mm <= limits.tip_sigma_mm))
    fail(format("the tip is uncertain by %.2f mm, %.2f are allowed: turn it further, record longer", out.tip_sigma_mm,
                limits.tip_sigma_mm));
  if (out.divot_rms_mm > limits.divot_mm)
    fail(format(
        "single frames put the tip %.2f mm from the divot, %.2f mm are allowed: keep the closed tip in the divot",
        out.divot_rms_mm, limits.divot_mm));
  if (!opening.empty() && !opened)
    fail("all three markers in " + std::to_string(out.opening_frames) + " opening frames only: keep them in view");
  if (opened && out.opening_deg < limits.opening_deg)
    fail(format("opened by %.1f degrees, %.1f are needed: open it as far as it goes", out.opening_deg,
                limits.opening_deg));
  for (std::size_t m = 0; m < 3; ++m)
    if (out.shift_mm[m] > limits.tip_shift_mm)
      fail("marker " + last.markers[m].name +
           format(" came out %.1f mm from where the rig file had it, %.0f mm are allowed: is this the ",
                  out.shift_mm[m], limits.tip_shift_mm) +
           last.name + " forceps, with its tip in the divot?");
  if (opened && !(hinge < -1))
    fail(format("the hinge came out at x = %.1f mm, it lies behind the tip: open it further", hinge));
  return out;
}

}  // namespace ligature::calibration
