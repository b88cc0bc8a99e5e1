#include "drivers/calibration/start.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <opencv2/calib3d.hpp>

#include "drivers/camera/lens.hpp"

namespace ligature::calibration {
namespace {

constexpr double kAgreeMm = 12, kAgreeRad = 0.06;  // between proposals of one relative pose, before any adjustment

struct Planar {
  Pose X_CB;
  double rms = 1e9;  // of normalised coordinates
};

Pose to_pose(const cv::Mat& rvec, const cv::Mat& tvec) {
  PoseVector v;
  for (int i = 0; i < 3; ++i) {
    v[static_cast<std::size_t>(i)] = rvec.at<double>(i);
    v[static_cast<std::size_t>(3 + i)] = tvec.at<double>(i);
  }
  return pose_of(v);
}

/// Pose of a plane from undistorted, normalised points.
Planar place_board(const std::vector<cv::Point3d>& p_B, const std::vector<cv::Point2d>& seen) {
  Planar best;
  std::vector<cv::Mat> rvecs, tvecs;
  const cv::Mat unit = cv::Mat::eye(3, 3, CV_64F);
  cv::solvePnPGeneric(p_B, seen, unit, {}, rvecs, tvecs, false, cv::SOLVEPNP_IPPE);
  for (std::size_t k = 0; k < rvecs.size(); ++k) {
    const Pose X = to_pose(rvecs[k], tvecs[k]);
    double sum = 0;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const Vec3 p = X * Vec3{p_B[i].x, p_B[i].y, p_B[i].z};
      sum += p.z > 0 ? std::pow(p.x / p.z - seen[i].x, 2) + std::pow(p.y / p.z - seen[i].y, 2) : 1e3;
    }
    const double rms = std::sqrt(sum / static_cast<double>(seen.size()));
    if (rms < best.rms) best = {X, rms};
  }
  return best;
}

Planar place_board(const View& view, const Board& board, const LensVector& lens) {
  drivers::CameraModel camera;
  set_lens(camera, lens);
  const drivers::Lens model(camera);
  std::vector<cv::Point3d> p_B;
  std::vector<cv::Point2d> seen;
  for (const Corner& k : view.corners) {
    const Vec3 p = board.corner_p_B(k.id);
    const drivers::Point2 n = model.undistort({k.u_px, k.v_px});
    p_B.emplace_back(p.x, p.y, p.z);
    seen.emplace_back(n.x, n.y);
  }
  try {
    return place_board(p_B, seen);
  } catch (const std::exception&) {  // too few corners, or all on a line
    return {};
  }
}

/// The lens without distortion under which the boards fit best as planes.
LensVector guess_lens(const std::vector<const View*>& views, const Board& board, std::array<int, 2> size_px) {
  const double w = size_px[0], h = size_px[1], longer = std::max(w, h);
  std::vector<const View*> some;
  for (std::size_t i = 0; i < views.size(); i += std::max<std::size_t>(1, views.size() / 20)) some.push_back(views[i]);
  LensVector best{};
  double best_cost = 1e300;
  for (double f = 0.4 * longer; f < 5 * longer; f *= 1.22) {
    const LensVector lens{f, f, 0.5 * (w - 1), 0.5 * (h - 1), 0, 0, 0, 0, 0};
    std::vector<double> errors;
    for (const View* v : some) errors.push_back(f * place_board(*v, board, lens).rms);
    std::sort(errors.begin(), errors.end());
    double cost = 0;  // of the better three quarters: a bad view has no say
    const std::size_t n = std::max<std::size_t>(1, errors.size() * 3 / 4);
    for (std::size_t i = 0; i < n; ++i) cost += errors[i] * errors[i];
    if (cost < best_cost) best_cost = cost, best = lens;
  }
  return best;
}

double turn_of(const Quat& q) {
  return 2 * std::atan2(std::sqrt(q.x * q.x + q.y * q.y + q.z * q.z), std::abs(q.w));
}
bool agree(const Pose& a, const Pose& b) {
  return norm(a.p - b.p) < kAgreeMm && turn_of(conjugate(a.q) * b.q) < kAgreeRad;
}

}  // namespace

Pose quarter_turn(int quarters) {
  return {axis_angle({0, 0, 1}, 0.5 * M_PI * quarters), {}};
}

Bundle start_camera(const std::vector<const View*>& views, const Board& board, std::array<int, 2> size_px,
                    const LensVector* lens, bool free, const std::function<bool()>& go_on) {
  Bundle bundle;
  BundleCamera camera;
  camera.lens = lens ? *lens : guess_lens(views, board, size_px);
  camera.pose_free = false;
  bundle.cameras.push_back(camera);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const Planar placed = place_board(*views[i], board, camera.lens);
    bundle.boards.push_back({pose_vector(placed.X_CB), true});
    const bool good = placed.rms < 1e3 && placed.X_CB.p.z > 0;
    for (const Corner& k : views[i]->corners) {
      BundleCorner corner{0, static_cast<int>(i), board.corner_p_B(k.id), k.u_px, k.v_px, good};
      const auto r = residual(bundle, corner);
      corner.used = good && std::isfinite(r[0]) && std::isfinite(r[1]);
      bundle.corners.push_back(corner);
    }
  }
  BundleOptions options;
  options.go_on = go_on;
  auto& open = bundle.cameras[0].lens_free;
  if (free && !lens) {
    open[0] = open[1] = open[4] = true;
    options.cauchy_px = 5, options.most_iterations = 30;
    adjust(bundle, options);
  }
  if (free) {
    open = {true, true, true, true, true, true, true, true, false};
    options.cauchy_px = 2, options.most_iterations = 40;
    adjust(bundle, options);
  }
  options.cauchy_px = 0.7, options.most_iterations = 60;
  adjust(bundle, options);
  return bundle;
}

Placement place_cameras(const Board& board, std::size_t cameras, const std::vector<View>& views,
                        const std::vector<Pose>& X_CB, std::vector<int>& quarters) {
  const auto turns = symmetries(board);
  std::map<std::string, std::vector<std::size_t>> by_frame;
  for (std::size_t v = 0; v < views.size(); ++v) by_frame[views[v].frame].push_back(v);

  Placement out;
  out.X_0C.resize(cameras);
  out.placed.assign(cameras, false);
  out.shared.assign(cameras, 0);
  for (const auto& [frame, seen] : by_frame)
    if (seen.size() > 1)
      for (const std::size_t v : seen) ++out.shared[static_cast<std::size_t>(views[v].camera)];

  struct Edge {
    std::size_t a, b;
    Pose X_ab;
    std::size_t weight;
  };
  std::vector<Edge> edges;
  for (std::size_t a = 0; a < cameras; ++a)
    for (std::size_t b = a + 1; b < cameras; ++b) {
      std::vector<std::vector<Pose>> proposals;  // by frame, by turn
      for (const auto& [frame, seen] : by_frame) {
        const Pose *X_aB = nullptr, *X_bB = nullptr;
        for (const std::size_t v : seen) {
          if (views[v].camera == static_cast<int>(a)) X_aB = &X_CB[v];
          if (views[v].camera == static_cast<int>(b)) X_bB = &X_CB[v];
        }
        if (!X_aB || !X_bB) continue;
        proposals.emplace_back();
        for (const int turn : turns) proposals.back().push_back(*X_aB * quarter_turn(turn) * inverse(*X_bB));
      }
      Edge edge{a, b, {}, 0};
      double best_spread = 1e300;
      for (const auto& frame : proposals)
        for (const Pose& candidate : frame) {
          std::size_t votes = 0;
          double spread = 0;
          for (const auto& other : proposals)
            for (const Pose& p : other)
              if (agree(candidate, p)) {
                ++votes;
                spread += norm(candidate.p - p.p) / kAgreeMm + turn_of(conjugate(candidate.q) * p.q) / kAgreeRad;
                break;
              }
          if (votes > edge.weight || (votes == edge.weight && spread < best_spread)) {
            edge.weight = votes, edge.X_ab = candidate;
            best_spread = spread;
          }
        }
      if (edge.weight > 0) edges.push_back(edge);
    }
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& x, const Edge& y) { return x.weight > y.weight; });
  if (cameras > 0) out.placed[0] = true;
  for (bool grown = true; grown;) {  // Prim: the heaviest edge out of what is placed
    grown = false;
    for (const Edge& e : edges) {
      if (out.placed[e.a] == out.placed[e.b]) continue;
      if (out.placed[e.a])
        out.X_0C[e.b] = out.X_0C[e.a] * e.X_ab, out.placed[e.b] = true;
      else
        out.X_0C[e.a] = out.X_0C[e.b] * inverse(e.X_ab), out.placed[e.a] = true;
      grown = true;
      break;
    }
  }

  // Each frame's views agree on how the board is turned: relative to the frame's first view of a placed camera.
  quarters.assign(views.size(), 0);
  for (const auto& [frame, seen] : by_frame) {
    const std::size_t first = seen[0];
    const Pose X_0B = out.X_0C[static_cast<std::size_t>(views[first].camera)] * X_CB[first];
    for (const std::size_t v : seen) {
      double best = 1e300;
      for (const int turn : turns) {
        const Pose X = out.X_0C[static_cast<std::size_t>(views[v].camera)] * X_CB[v] * quarter_turn(turn);
        const double off = norm(X.p - X_0B.p) / kAgreeMm + turn_of(conjugate(X.q) * X_0B.q) / kAgreeRad;
        if (off < best) best = off, quarters[v] = turn;
      }
    }
  }
  return out;
}

}  // namespace ligature::calibration
