#include "drivers/calibration/bundle.hpp"

#include <ceres/autodiff_cost_function.h>
#include <ceres/iteration_callback.h>
#include <ceres/loss_function.h>
#include <ceres/manifold.h>
#include <ceres/ordered_groups.h>
#include <ceres/problem.h>
#include <ceres/rotation.h>
#include <ceres/solver.h>
#include <glog/logging.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <memory>

namespace ligature::calibration {
namespace {

template <class T>
void lens_project(const T* lens, const T* p_C, T* uv) {
  const T x = p_C[0] / p_C[2], y = p_C[1] / p_C[2], r2 = x * x + y * y;
  const T &k1 = lens[4], &k2 = lens[5], &p1 = lens[6], &p2 = lens[7], &k3 = lens[8];
  const T g = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3));
  uv[0] = lens[0] * (x * g + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x)) + lens[2];
  uv[1] = lens[1] * (y * g + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y) + lens[3];
}

template <class T>
void transform(const T* X_AB, const T* p_B, T* p_A) {
  ceres::AngleAxisRotatePoint(X_AB, p_B, p_A);
  for (int i = 0; i < 3; ++i) p_A[i] += X_AB[3 + i];
}

struct CornerCost {
  Vec3 p_B;
  double u_px, v_px;

  template <class T>
  bool operator()(const T* lens, const T* X_CR, const T* X_RB, T* out) const {
    const T p[3] = {T(p_B.x), T(p_B.y), T(p_B.z)};
    T p_R[3], p_C[3];
    transform(X_RB, p, p_R);
    transform(X_CR, p_R, p_C);
    if (!(p_C[2] > 1e-6)) return false;  // behind the camera: this step is refused
    lens_project(lens, p_C, out);
    out[0] -= u_px;
    out[1] -= v_px;
    return true;
  }
};
using CornerFunction = ceres::AutoDiffCostFunction<CornerCost, 2, kLensSize, 6, 6>;

struct PointCost {
  template <class T>
  bool operator()(const T* lens, const T* X_CR, const T* p_R, T* out) const {
    T p_C[3];
    transform(X_CR, p_R, p_C);
    lens_project(lens, p_C, out);
    return true;
  }
};

class StopWhenAsked final : public ceres::IterationCallback {
 public:
  explicit StopWhenAsked(const std::function<bool()>& go_on) : go_on_(go_on) {}
  ceres::CallbackReturnType operator()(const ceres::IterationSummary&) override {
    return !go_on_ || go_on_() ? ceres::SOLVER_CONTINUE : ceres::SOLVER_ABORT;
  }

 private:
  const std::function<bool()>& go_on_;
};

}  // namespace

LensVector lens_vector(const drivers::CameraModel& c) {
  const auto& d = c.distortion;
  return {c.fx_px, c.fy_px, c.cx_px, c.cy_px, d[0], d[1], d[2], d[3], d[4]};
}

void set_lens(drivers::CameraModel& c, const LensVector& lens) {
  c.fx_px = lens[0], c.fy_px = lens[1], c.cx_px = lens[2], c.cy_px = lens[3];
  for (std::size_t i = 0; i < 5; ++i) c.distortion[i] = lens[4 + i];
}

PoseVector pose_vector(const Pose& X) {
  const double q[4] = {X.q.w, X.q.x, X.q.y, X.q.z};
  PoseVector v{0, 0, 0, X.p.x, X.p.y, X.p.z};
  ceres::QuaternionToAngleAxis(q, v.data());
  return v;
}

Pose pose_of(const PoseVector& v) {
  double q[4];
  ceres::AngleAxisToQuaternion(v.data(), q);
  return {normalized({q[1], q[2], q[3], q[0]}), {v[3], v[4], v[5]}};
}

std::array<double, 2> residual(const Bundle& bundle, const BundleCorner& corner) {
  const BundleCamera& camera = bundle.cameras[static_cast<std::size_t>(corner.camera)];
  std::array<double, 2> out{NAN, NAN};
  CornerCost{corner.p_B, corner.u_px, corner.v_px}(camera.lens.data(), camera.X_CR.data(),
                                                   bundle.boards[static_cast<std::size_t>(corner.board)].X_RB.data(),
                                                   out.data());
  return out;
}

void quiet_solver() noexcept {
  FLAGS_minloglevel = google::GLOG_FATAL;
}

BundleSummary adjust(Bundle& bundle, const BundleOptions& options) {
  ceres::Problem::Options ownership;
  ownership.loss_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
  ceres::Problem problem(ownership);
  const ceres::CauchyLoss cauchy(options.cauchy_px > 0 ? options.cauchy_px : 1.0);
  ceres::LossFunction* loss = options.cauchy_px > 0
                                  ? const_cast<ceres::LossFunction*>(static_cast<const ceres::LossFunction*>(&cauchy))
                                  : nullptr;

  std::vector<bool> board_seen(bundle.boards.size()), camera_seen(bundle.cameras.size());
  for (const BundleCorner& k : bundle.corners) {
    if (!k.used) continue;
    BundleCamera& camera = bundle.cameras[static_cast<std::size_t>(k.camera)];
    BundleBoard& board = bundle.boards[static_cast<std::size_t>(k.board)];
    problem.AddResidualBlock(new CornerFunction(new CornerCost{k.p_B, k.u_px, k.v_px}), loss, camera.lens.data(),
                             camera.X_CR.data(), board.X_RB.data());
    board_seen[static_cast<std::size_t>(k.board)] = camera_seen[static_cast<std::size_t>(k.camera)] = true;
  }
  BundleSummary out;
  if (problem.NumResidualBlocks() == 0) return out;

  auto order = std::make_shared<ceres::ParameterBlockOrdering>();
  for (std::size_t c = 0; c < bundle.cameras.size(); ++c) {
    if (!camera_seen[c]) continue;
    BundleCamera& camera = bundle.cameras[c];
    std::vector<int> held;
    for (int i = 0; i < kLensSize; ++i)
      if (!camera.lens_free[static_cast<std::size_t>(i)]) held.push_back(i);
    if (held.size() == kLensSize)
      problem.SetParameterBlockConstant(camera.lens.data());
    else if (!held.empty())
      problem.SetManifold(camera.lens.data(), new ceres::SubsetManifold(kLensSize, held));
    if (!camera.pose_free) problem.SetParameterBlockConstant(camera.X_CR.data());
    order->AddElementToGroup(camera.lens.data(), 1);
    order->AddElementToGroup(camera.X_CR.data(), 1);
  }
  for (std::size_t b = 0; b < bundle.boards.size(); ++b) {
    if (!board_seen[b]) continue;
    if (!bundle.boards[b].free) problem.SetParameterBlockConstant(bundle.boards[b].X_RB.data());
    order->AddElementToGroup(bundle.boards[b].X_RB.data(), 0);
  }

  ceres::Solver::Options solver;
  solver.linear_solver_type = ceres::DENSE_SCHUR;
  solver.linear_solver_ordering = order;
  solver.max_num_iterations = options.most_iterations;
  // A robust pass only prepares the next one.
  solver.function_tolerance = options.cauchy_px > 0 ? 1e-6 : 1e-10;
  solver.parameter_tolerance = 1e-11;
  solver.gradient_tolerance = 1e-12;
  solver.use_nonmonotonic_steps = options.cauchy_px > 0;
  solver.logging_type = ceres::SILENT;
  solver.num_threads = 1;
  StopWhenAsked stop(options.go_on);
  solver.callbacks.push_back(&stop);
  ceres::Solver::Summary summary;
  quiet_solver();
  ceres::Solve(solver, &problem, &summary);
  out.converged = summary.termination_type == ceres::CONVERGENCE;
  out.stopped = summary.termination_type == ceres::USER_FAILURE;
  out.iterations = static_cast<int>(summary.iterations.size());
  return out;
}

CameraInformation camera_information(const Bundle& bundle) {
  CameraInformation info;
  int size = 0;
  for (const BundleCamera& camera : bundle.cameras) {
    info.lens_at.push_back(size);
    std::array<int, kLensSize> columns;
    for (std::size_t i = 0; i < kLensSize; ++i) columns[i] = camera.lens_free[i] ? size++ : -1;
    info.lens_col.push_back(columns);
    info.pose_at.push_back(camera.pose_free ? size : -1);
    if (camera.pose_free) size += 6;
  }
  info.matrix = Eigen::MatrixXd::Zero(size, size);
  std::vector<Eigen::Matrix<double, 6, 6>> board_board(bundle.boards.size(), Eigen::Matrix<double, 6, 6>::Zero());
  std::vector<Eigen::MatrixXd> camera_board(bundle.boards.size());

  for (const BundleCorner& k : bundle.corners) {
    if (!k.used) continue;
    const auto c = static_cast<std::size_t>(k.camera), b = static_cast<std::size_t>(k.board);
    const BundleCamera& camera = bundle.cameras[c];
    const CornerFunction cost(new CornerCost{k.p_B, k.u_px, k.v_px});
    std::array<double, 2> at;
    Eigen::Matrix<double, 2, kLensSize, Eigen::RowMajor> J_lens;
    Eigen::Matrix<double, 2, 6, Eigen::RowMajor> J_camera, J_board;
    const double* parameters[3] = {camera.lens.data(), camera.X_CR.data(), bundle.boards[b].X_RB.data()};
    double* jacobians[3] = {J_lens.data(), J_camera.data(), J_board.data()};
    if (!cost.Evaluate(parameters, at.data(), jacobians)) continue;
    // The camera's few columns, gathered.
    Eigen::Matrix<double, 2, kLensSize + 6> J;
    std::array<int, kLensSize + 6> column;
    int n = 0;
    for (int i = 0; i < kLensSize; ++i)
      if (const int at_column = info.lens_col[c][static_cast<std::size_t>(i)]; at_column >= 0) {
        J.col(n) = J_lens.col(i);
        column[static_cast<std::size_t>(n++)] = at_column;
      }
    if (camera.pose_free)
      for (int i = 0; i < 6; ++i) {
        J.col(n) = J_camera.col(i);
        column[static_cast<std::size_t>(n++)] = info.pose_at[c] + i;
      }
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        info.matrix(column[static_cast<std::size_t>(i)], column[static_cast<std::size_t>(j)]) += J.col(i).dot(J.col(j));
    if (!bundle.boards[b].free) continue;
    board_board[b] += J_board.transpose() * J_board;
    if (camera_board[b].size() == 0) camera_board[b] = Eigen::MatrixXd::Zero(size, 6);
    for (int i = 0; i < n; ++i)
      camera_board[b].row(column[static_cast<std::size_t>(i)]) += J.col(i).transpose() * J_board;
  }
  for (std::size_t b = 0; b < bundle.boards.size(); ++b) {
    if (camera_board[b].size() == 0) continue;
    const Eigen::LDLT<Eigen::Matrix<double, 6, 6>> factor(board_board[b]);
    info.matrix -= camera_board[b] * factor.solve(camera_board[b].transpose());
  }
  info.matrix = (0.5 * (info.matrix + info.matrix.transpose())).eval();
  return info;
}

ProjectionJacobians project(const LensVector& lens, const PoseVector& X_CR, Vec3 p_R) {
  ProjectionJacobians out;
  const ceres::AutoDiffCostFunction<PointCost, 2, kLensSize, 6, 3> cost(new PointCost);
  const double p[3] = {p_R.x, p_R.y, p_R.z};
  Eigen::Matrix<double, 2, kLensSize, Eigen::RowMajor> J_lens;
  Eigen::Matrix<double, 2, 6, Eigen::RowMajor> J_pose;
  Eigen::Matrix<double, 2, 3, Eigen::RowMajor> J_point;
  const double* parameters[3] = {lens.data(), X_CR.data(), p};
  double* jacobians[3] = {J_lens.data(), J_pose.data(), J_point.data()};
  cost.Evaluate(parameters, out.uv_px.data(), jacobians);
  out.lens = J_lens, out.pose = J_pose, out.point = J_point;
  return out;
}

}  // namespace ligature::calibration
