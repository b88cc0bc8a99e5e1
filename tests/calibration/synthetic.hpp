#pragma once
/// Corners as a perfect detector with a given noise would find them: boards held into the virtual rig.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "drivers/calibration/images.hpp"
#include "drivers/calibration/judge.hpp"
#include "drivers/camera/lens.hpp"
#include "drivers/rig.hpp"

namespace ligature::calibration::test {

/// Turns of at most `most_deg` about an axis in the board's plane, then any turn about its normal.
inline Quat random_tilt(std::mt19937_64& random, double least_deg, double most_deg) {
  std::uniform_real_distribution<double> any(-M_PI, M_PI), tilt(least_deg * M_PI / 180, most_deg * M_PI / 180);
  const double a = any(random);
  return axis_angle({std::cos(a), std::sin(a), 0}, tilt(random)) * axis_angle({0, 0, 1}, any(random));
}

/// A board that lies face up: z of B down.
inline const Quat kFaceUp = axis_angle({1, 0, 0}, M_PI);

struct Scene {
  drivers::Rig rig = drivers::standard_rig();
  Board board;
  std::vector<Pose> X_RB;  ///< board poses by frame
};

/// `n` poses in and round the working volume; frame 0 lies flat on the floor in the middle, rows along x.
inline std::vector<Pose> board_poses(std::size_t n, std::uint64_t seed, double most_tilt_deg = 35) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> x(-55, 55), y(-45, 45), z(20, 110);
  std::vector<Pose> out{{kFaceUp, {0, 0, 0}}};
  while (out.size() < n)
    out.push_back({random_tilt(random, 5, most_tilt_deg) * kFaceUp, {x(random), y(random), z(random)}});
  return out;
}

struct Noise {
  double sigma_px = 0.1;
  double outliers = 0;  ///< share of corners moved by up to 10 px
  std::uint64_t seed = 1;
};

/// @param whole a checkerboard counts only when the camera sees all of it; else each corner by itself
inline Pictures see(const Scene& scene, const Noise& noise, bool whole = true) {
  std::mt19937_64 random(noise.seed);
  std::normal_distribution<double> normal(0, noise.sigma_px);
  std::uniform_real_distribution<double> unit(0, 1), wrong(-10, 10);
  Pictures out;
  out.board = scene.board;
  for (const auto& camera : scene.rig.cameras) {
    out.cameras.push_back(camera.name);
    out.size_px.push_back({camera.width_px, camera.height_px});
  }
  for (std::size_t f = 0; f < scene.X_RB.size(); ++f)
    for (std::size_t c = 0; c < scene.rig.cameras.size(); ++c) {
      const auto& camera = scene.rig.cameras[c];
      View view{static_cast<int>(c), std::to_string(f), out.reports.size(), {}};
      const Pose X_CB = inverse(camera.X_RC) * scene.X_RB[f];
      const bool front = dot(rotate(X_CB.q, {0, 0, 1}), X_CB.p) > 0.25 * norm(X_CB.p);
      for (int id = 0; front && id < static_cast<int>(scene.board.corners()); ++id) {
        const auto uv = image_of(camera, scene.X_RB[f] * scene.board.corner_p_B(id));
        if (!uv) continue;
        Corner k{id, (*uv)[0] + normal(random), (*uv)[1] + normal(random)};
        if (unit(random) < noise.outliers) k.u_px += wrong(random), k.v_px += wrong(random);
        view.corners.push_back(k);
      }
      if (view.corners.size() < (whole ? scene.board.corners() : 8)) continue;
      ViewReport report;
      report.source = camera.name + "/" + std::to_string(f) + ".png";
      report.camera = camera.name, report.frame = view.frame, report.corners = view.corners.size();
      out.reports.push_back(report);
      out.views.push_back(std::move(view));
    }
  return out;
}

struct TipError {
  double rms_mm = 0, worst_mm = 0, shape_mm = 0;
};

/// Points of the working volume, seen without noise by the true cameras, triangulated with the calibrated ones. The
/// difference is taken in R as it stands: what the floor board's pose got wrong counts. `shape_mm` is what is left when
/// both clouds are laid over each other.
inline TipError tip_error(const std::vector<drivers::CameraModel>& calibrated,
                          const std::vector<drivers::CameraModel>& truth) {
  const Drift d = drift_of(truth, calibrated, grid_of({0, 0, 60}, {100, 80, 60}, 7));
  return {d.rms_mm, d.worst_mm, d.shape_mm};
}

inline drivers::Rig distorted_rig(std::array<double, 5> k) {
  drivers::Rig rig = drivers::standard_rig();
  for (auto& camera : rig.cameras) camera.distortion = k;
  return rig;
}

}  // namespace ligature::calibration::test
