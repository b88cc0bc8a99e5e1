#include "drivers/calibration/judge.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <cmath>

#include "drivers/camera/lens.hpp"

namespace ligature::calibration {
namespace {

using drivers::CameraModel;
using drivers::Lens;
using drivers::Point2;

Eigen::Vector3d eigen(Vec3 v) {
  return {v.x, v.y, v.z};
}
Vec3 plain(const Eigen::Vector3d& v) {
  return {v.x(), v.y(), v.z()};
}

Vec3 place_of(const PoseVector& X_CR) {
  return inverse(pose_of(X_CR)).p;
}

/// d(place of the camera in R)/d(X_CR) and d(rotation vector in R)/d(X_CR), by differences.
void pose_jacobians(const PoseVector& X_CR, Eigen::Matrix<double, 3, 6>& place, Eigen::Matrix<double, 3, 6>& turn) {
  const Pose X_RC = inverse(pose_of(X_CR));
  for (int i = 0; i < 6; ++i) {
    const double h = i < 3 ? 1e-6 : 1e-4;
    PoseVector plus = X_CR, minus = X_CR;
    plus[static_cast<std::size_t>(i)] += h, minus[static_cast<std::size_t>(i)] -= h;
    const Pose a = inverse(pose_of(plus)), b = inverse(pose_of(minus));
    place.col(i) = eigen((0.5 / h) * (a.p - b.p));
    const auto small_turn = [&](const Pose& X) {
      Quat q = X.q * conjugate(X_RC.q);
      if (q.w < 0) q = {-q.x, -q.y, -q.z, -q.w};
      return Vec3{2 * q.x, 2 * q.y, 2 * q.z};
    };
    turn.col(i) = eigen((0.5 / h) * (small_turn(a) - small_turn(b)));
  }
}

}  // namespace

std::optional<std::array<double, 2>> image_of(const CameraModel& camera, Vec3 p_R) {
  const Vec3 p_C = inverse(camera.X_RC) * p_R;
  if (p_C.z < 1) return {};
  const Point2 uv = Lens(camera).distort({p_C.x / p_C.z, p_C.y / p_C.z});
  if (uv.x < -0.5 || uv.y < -0.5 || uv.x > camera.width_px - 0.5 || uv.y > camera.height_px - 0.5) return {};
  return std::array<double, 2>{uv.x, uv.y};
}

std::optional<Vec3> triangulate(const std::vector<CameraModel>& cameras, const std::vector<Sight>& sights) {
  if (sights.size() < 2) return {};
  Eigen::Matrix3d A = Eigen::Matrix3d::Zero();
  Eigen::Vector3d b = Eigen::Vector3d::Zero();
  std::vector<Lens> lenses;
  for (const Sight& s : sights) {
    const CameraModel& camera = cameras[s.camera];
    lenses.emplace_back(camera);
    const Point2 n = lenses.back().undistort({s.u_px, s.v_px});
    const Eigen::Vector3d d = eigen(rotate(camera.X_RC.q, {n.x, n.y, 1})).normalized();
    const Eigen::Matrix3d across = Eigen::Matrix3d::Identity() - d * d.transpose();
    A += across;
    b += across * eigen(camera.X_RC.p);
  }
  const Eigen::LDLT<Eigen::Matrix3d> start(A);
  if (start.rcond() < 1e-6) return {};
  Eigen::Vector3d p = start.solve(b);
  for (int step = 0; step < 5; ++step) {
    Eigen::Matrix3d N = Eigen::Matrix3d::Zero();
    Eigen::Vector3d g = Eigen::Vector3d::Zero();
    for (std::size_t i = 0; i < sights.size(); ++i) {
      const Pose X_CR = inverse(cameras[sights[i].camera].X_RC);
      const Vec3 c = X_CR * plain(p);
      if (c.z < 1e-3) return {};
      std::array<double, 4> J;
      const Point2 uv = lenses[i].distort({c.x / c.z, c.y / c.z}, &J);
      Eigen::Matrix2d J_n;
      J_n << J[0], J[1], J[2], J[3];
      Eigen::Matrix<double, 2, 3> J_c;
      J_c << 1 / c.z, 0, -c.x / (c.z * c.z), 0, 1 / c.z, -c.y / (c.z * c.z);
      Eigen::Matrix3d turn;
      for (int k = 0; k < 3; ++k)
        turn.col(k) = eigen(rotate(X_CR.q, Vec3{k == 0 ? 1. : 0., k == 1 ? 1. : 0., k == 2 ? 1. : 0.}));
      const Eigen::Matrix<double, 2, 3> J_p = J_n * J_c * turn;
      N += J_p.transpose() * J_p;
      g += J_p.transpose() * Eigen::Vector2d(sights[i].u_px - uv.x, sights[i].v_px - uv.y);
    }
    const Eigen::Vector3d move = N.ldlt().solve(g);
    if (!move.allFinite()) return {};
    p += move;
    if (move.norm() < 1e-9) break;
  }
  return plain(p);
}

Pose fit_pose(const std::vector<Vec3>& a, const std::vector<Vec3>& b) {
  Eigen::Vector3d ma = Eigen::Vector3d::Zero(), mb = ma;
  const double n = static_cast<double>(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) ma += eigen(a[i]) / n, mb += eigen(b[i]) / n;
  Eigen::Matrix3d H = Eigen::Matrix3d::Zero();
  for (std::size_t i = 0; i < a.size(); ++i) H += (eigen(a[i]) - ma) * (eigen(b[i]) - mb).transpose();
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(H, Eigen::ComputeFullU | Eigen::ComputeFullV);
  Eigen::Matrix3d flip = Eigen::Matrix3d::Identity();
  flip(2, 2) = (svd.matrixU() * svd.matrixV().transpose()).determinant() < 0 ? -1 : 1;
  const Eigen::Matrix3d R = svd.matrixU() * flip * svd.matrixV().transpose();
  const Eigen::Quaterniond q(R);
  return {{q.x(), q.y(), q.z(), q.w()}, plain(ma - R * mb)};
}

std::vector<Vec3> grid_of(Vec3 middle, Vec3 size, int n) {
  std::vector<Vec3> out;
  const auto at = [&](int i) { return static_cast<double>(i) / (n - 1) - 0.5; };
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k) out.push_back(middle + Vec3{size.x * at(i), size.y * at(j), size.z * at(k)});
  return out;
}

Eigen::MatrixXd covariance_of(const Bundle& bundle, const CameraInformation& info, double sigma_px, Gauge gauge,
                              int* undetermined) {
  const Eigen::Index n = info.matrix.rows();
  if (undetermined) *undetermined = -1;
  if (n == 0) return {};
  // Lens numbers and millimetres differ by many orders: one scale for all, then eigenvalues mean something.
  Eigen::VectorXd scale(n);
  for (Eigen::Index i = 0; i < n; ++i) scale[i] = info.matrix(i, i) > 0 ? 1 / std::sqrt(info.matrix(i, i)) : 1;
  Eigen::MatrixXd S = scale.asDiagonal() * info.matrix * scale.asDiagonal();

  Eigen::MatrixXd C(0, n);  // the gauge's constraints, C d = 0
  if (gauge != Gauge::board) {
    C = Eigen::MatrixXd::Zero(6, n);
    Vec3 middle;
    double cameras = 0;
    for (const BundleCamera& camera : bundle.cameras) middle = middle + place_of(camera.X_CR), ++cameras;
    middle = (1 / cameras) * middle;
    for (std::size_t c = 0; c < bundle.cameras.size(); ++c) {
      const int at = info.pose_at[c];
      if (at < 0) continue;
      Eigen::Matrix<double, 3, 6> place, turn;
      pose_jacobians(bundle.cameras[c].X_CR, place, turn);
      const Vec3 arm = place_of(bundle.cameras[c].X_CR) - middle;
      Eigen::Matrix3d cross_arm;
      cross_arm << 0, -arm.z, arm.y, arm.z, 0, -arm.x, -arm.y, arm.x, 0;
      C.block<3, 6>(0, at) = place;
      C.block<3, 6>(3, at) = gauge == Gauge::places ? Eigen::Matrix<double, 3, 6>(cross_arm * place) : turn;
    }
    C = (C * scale.asDiagonal()).eval();
    for (int i = 0; i < 6; ++i) C.row(i) /= std::max(C.row(i).norm(), 1e-300);
  }
  // Within the constraints' null space Z: covariance = Z (Z^T S Z)^-1 Z^T.
  Eigen::MatrixXd Z = Eigen::MatrixXd::Identity(n, n);
  if (C.rows() > 0) {
    const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(C.transpose());
    const Eigen::MatrixXd Q = qr.householderQ();
    Z = Q.rightCols(n - C.rows());
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eig(Z.transpose() * S * Z);
  const Eigen::VectorXd& values = eig.eigenvalues();
  if (values.size() == 0 || !(values[0] > 1e-13 * values[values.size() - 1])) {
    if (undetermined && values.size() > 0) {
      Eigen::Index worst = 0;
      (Z * eig.eigenvectors().col(0)).cwiseAbs().maxCoeff(&worst);
      for (std::size_t c = 0; c < info.lens_at.size(); ++c)
        if (info.lens_at[c] <= worst) *undetermined = static_cast<int>(c);
    }
    return {};
  }
  const Eigen::MatrixXd V = scale.asDiagonal() * (Z * eig.eigenvectors());
  return sigma_px * sigma_px * V * values.cwiseInverse().asDiagonal() * V.transpose();
}

TipSigma tip_sigma(const Bundle& bundle, const std::vector<CameraModel>& cameras, const CameraInformation& info,
                   const Eigen::MatrixXd& covariance, const std::vector<Vec3>& points_R, bool own_frame) {
  TipSigma out;
  const Eigen::Index n = covariance.rows();
  Eigen::MatrixXd all(3 * static_cast<Eigen::Index>(points_R.size()), n), rigid(all.rows(), 6);
  Eigen::Index rows = 0;
  for (const Vec3 p : points_R) {
    Eigen::Matrix3d N = Eigen::Matrix3d::Zero();
    Eigen::MatrixXd B = Eigen::MatrixXd::Zero(3, n);
    int seen = 0;
    for (std::size_t c = 0; c < cameras.size(); ++c) {
      if (!image_of(cameras[c], p)) continue;
      ++seen;
      const ProjectionJacobians J = project(bundle.cameras[c].lens, bundle.cameras[c].X_CR, p);
      N += J.point.transpose() * J.point;
      for (int i = 0; i < kLensSize; ++i)
        if (const int col = info.lens_col[c][static_cast<std::size_t>(i)]; col >= 0)
          B.col(col).noalias() += J.point.transpose().lazyProduct(J.lens.col(i));
      if (info.pose_at[c] >= 0) B.middleCols<6>(info.pose_at[c]).noalias() += J.point.transpose().lazyProduct(J.pose);
    }
    if (seen < 2) continue;
    all.middleRows<3>(rows) = N.ldlt().solve(B);
    Eigen::Matrix3d cross_p;
    const Vec3 q = p - points_R[0];
    cross_p << 0, -q.z, q.y, q.z, 0, -q.x, -q.y, q.x, 0;
    rigid.block<3, 3>(rows, 0) = Eigen::Matrix3d::Identity();
    rigid.block<3, 3>(rows, 3) = cross_p;
    rows += 3;
    ++out.seen;
  }
  if (out.seen == 0) return out;
  all.conservativeResize(rows, n);
  rigid.conservativeResize(rows, 6);
  if (own_frame && out.seen >= 3) all -= (rigid * rigid.colPivHouseholderQr().solve(all)).eval();
  double sum = 0;
  for (Eigen::Index r = 0; r < rows; r += 3) {
    const Eigen::MatrixXd K = all.middleRows<3>(r);
    const double variance = std::max(0.0, (K * covariance * K.transpose()).trace());
    sum += variance;
    out.worst_mm = std::max(out.worst_mm, std::sqrt(variance));
  }
  out.rms_mm = std::sqrt(sum / static_cast<double>(out.seen));
  return out;
}

double image_sigma(const Bundle& bundle, std::array<int, 2> size_px, const CameraInformation& info,
                   const Eigen::MatrixXd& covariance, double distance_mm) {
  const BundleCamera& camera = bundle.cameras[0];
  drivers::CameraModel model;
  set_lens(model, camera.lens);
  const Lens lens(model);
  std::vector<Vec3> points;
  constexpr int across = 9, down = 7;
  for (int i = 0; i < across; ++i)
    for (int j = 0; j < down; ++j)
      for (const double depth : {0.92, 1.08}) {  // two planes: a change of distance is not a change of focal length
        const Point2 n = lens.undistort({(size_px[0] - 1) * static_cast<double>(i) / (across - 1),
                                         (size_px[1] - 1) * static_cast<double>(j) / (down - 1)});
        points.push_back(depth * distance_mm * Vec3{n.x, n.y, 1});
      }
  const Eigen::Index rows = 2 * static_cast<Eigen::Index>(points.size());
  Eigen::MatrixXd J_pose(rows, 6), J_lens = Eigen::MatrixXd::Zero(rows, covariance.rows());
  for (std::size_t k = 0; k < points.size(); ++k) {
    const ProjectionJacobians J = project(camera.lens, PoseVector{}, points[k]);
    J_pose.middleRows<2>(2 * static_cast<Eigen::Index>(k)) = J.pose;
    for (int i = 0; i < kLensSize; ++i)
      if (const int col = info.lens_col[0][static_cast<std::size_t>(i)]; col >= 0)
        J_lens.col(col).segment<2>(2 * static_cast<Eigen::Index>(k)) = J.lens.col(i);
  }
  J_lens -= (J_pose * J_pose.colPivHouseholderQr().solve(J_lens)).eval();
  const double sum = (J_lens * covariance * J_lens.transpose()).trace();
  return std::sqrt(std::max(0.0, sum) / static_cast<double>(points.size()));
}

Drift drift_of(const std::vector<CameraModel>& now, const std::vector<CameraModel>& last,
               const std::vector<Vec3>& points_R) {
  Drift out;
  std::vector<Vec3> here, there;
  double sum = 0;
  for (const Vec3 p : points_R) {
    std::vector<Sight> sights;
    for (std::size_t c = 0; c < now.size(); ++c)
      if (const auto uv = image_of(now[c], p)) sights.push_back({c, (*uv)[0], (*uv)[1]});
    const auto q = triangulate(last, sights);
    if (!q) continue;
    const double off = norm(*q - p);
    sum += off * off;
    out.worst_mm = std::max(out.worst_mm, off);
    here.push_back(p), there.push_back(*q);
  }
  if (here.size() < 4) return out;
  out.rms_mm = std::sqrt(sum / static_cast<double>(here.size()));
  const Pose X = fit_pose(here, there);
  double shape = 0;
  for (std::size_t i = 0; i < here.size(); ++i) shape += std::pow(norm(X * there[i] - here[i]), 2);
  out.shape_mm = std::sqrt(shape / static_cast<double>(here.size()));
  return out;
}

bool lens_folds(const LensVector& lens, std::array<int, 2> size_px) {
  const double x = std::max(lens[2], size_px[0] - 1 - lens[2]) / lens[0];
  const double y = std::max(lens[3], size_px[1] - 1 - lens[3]) / lens[1];
  const double corner = std::hypot(x, y);
  for (int i = 0; i <= 100; ++i) {
    const double r2 = std::pow(corner * i / 100.0, 2);
    if (1 + r2 * (3 * lens[4] + r2 * (5 * lens[5] + r2 * 7 * lens[8])) <= 0) return true;
  }
  return false;
}

}  // namespace ligature::calibration
