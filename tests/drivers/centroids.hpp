#pragma once
/// How well marker centres are found over the working volume, beside what any unbiased estimator could do.
#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "drivers/camera/lens.hpp"
#include "drivers/markers/detector.hpp"
#include "sim/base/random.hpp"
#include "tests/drivers/scene.hpp"

namespace ligature::drivers::testing {

/// Forceps at rest anywhere in the working volume, another pose at every whole second.
inline std::shared_ptr<const HandPath> scattered_poses(const Rig& rig, int count, std::uint64_t seed) {
  Random random(seed);
  std::array<ForcepsPath, kInstruments> keys;
  for (int i = 0; i < count; ++i)
    for (std::size_t hand = 0; hand < kInstruments; ++hand) {
      PathKey key;
      key.t_s = i;
      key.X.q = axis_angle({0, 0, 1}, random.uniform(-0.5, 0.5) + (hand == 1 ? 3.14159 : 0.0)) *
                axis_angle({0, 1, 0}, random.uniform(-0.3, 0.3)) * axis_angle({1, 0, 0}, random.uniform(-0.5, 0.5));
      key.X.p = {random.uniform(-50, 50), random.uniform(-40, 40), random.uniform(-30, 30)};
      key.opening_rad = random.uniform(0, 0.15);
      keys[hand].push_back(key);
    }
  TremorParams still;
  still.rms_mm = 0;
  auto path = HandPath::create(keys, PathBlend::linear, still, rig, false);
  EXPECT_TRUE(path.has_value());
  return std::make_shared<const HandPath>(std::move(*path));
}

/// Centre of marker m (0..5) in the camera's frame.
inline Vec3 marker_p_C(const Rig& rig, std::size_t camera, std::size_t m,
                       const std::array<ForcepsState, kInstruments>& at) {
  const InstrumentModel& instrument = rig.instruments[m / 3];
  return inverse(rig.cameras[camera].X_RC) *
         (at[m / 3].X_RT * marker_p_T(instrument, instrument.markers[m % 3], at[m / 3].opening_rad));
}

/// Cramer-Rao bound of a whole ball's image centre, mean variance of the two axes [px^2]: no unbiased estimator that
/// has to find brightness and size too can do better.
///
///   F = sum over pixels and colours  (d mu / d theta)(d mu / d theta)^T / (read^2 + shot^2 mu),  theta = u v size
///   level
///
/// mu is drawn here anew, by 12x12 points a pixel, and differentiated by moving the ball. Source: [Kay 1993] ch. 3.
inline double centre_bound(const VirtualRigParams& p, const CameraModel& camera, Vec3 p_C, double radius_mm,
                           std::array<double, 3> colour) {
  const Lens lens(camera);
  const Vec3 light_C = rotate(conjugate(camera.X_RC.q), (1 / norm(p.light_R)) * p.light_R);
  const Point2 centre = lens.distort(sphere_image_centre(p_C, radius_mm));
  constexpr int kHalf = 14, kSide = 2 * kHalf + 1, kPoints = 12;
  const int u0 = static_cast<int>(std::lround(centre.x)) - kHalf, v0 = static_cast<int>(std::lround(centre.y)) - kHalf;
  struct Points {
    std::vector<Vec3> d;
  };
  static thread_local std::vector<Vec3> rays;
  rays.clear();
  for (int v = 0; v < kSide; ++v)
    for (int u = 0; u < kSide; ++u)
      for (int j = 0; j < kPoints; ++j)
        for (int i = 0; i < kPoints; ++i) {
          const Point2 n = lens.undistort({u0 + u + (i + 0.5) / kPoints - 0.5, v0 + v + (j + 0.5) / kPoints - 0.5});
          rays.push_back({n.x, n.y, 1});
        }
  // Light on the ball, blurred: colour and background come after.
  const auto draw = [&](Vec3 c, double r) {
    std::vector<double> image(kSide * kSide);
    for (int px = 0; px < kSide * kSide; ++px)
      for (int k = 0; k < kPoints * kPoints; ++k) {
        const Vec3 d = rays[static_cast<std::size_t>(px * kPoints * kPoints + k)], e = cross(c, d);
        const double depth2 = r * r * dot(d, d) - dot(e, e);
        if (depth2 < 0) continue;
        const double s = (dot(d, c) - std::sqrt(depth2)) / dot(d, d);
        const double cosine = dot((1 / r) * (s * d - c), light_C);
        const double lit = (1 - p.lambert) * (0.5 + 0.5 * cosine) + p.lambert * std::max(0.0, cosine);
        image[static_cast<std::size_t>(px)] += (1 - p.shading * (1 - lit)) / (kPoints * kPoints);
      }
    if (p.defocus_px <= 0) return image;
    for (const int stride : {1, kSide}) {
      std::vector<double> blurred(image.size());
      for (int px = 0; px < kSide * kSide; ++px) {
        const int place = stride == 1 ? px % kSide : px / kSide;
        double sum = 0, weight = 0;
        for (int k = -8; k <= 8; ++k) {
          const double w = std::exp(-0.5 * k * k / (p.defocus_px * p.defocus_px));
          weight += w;
          if (place + k >= 0 && place + k < kSide) sum += w * image[static_cast<std::size_t>(px + k * stride)];
        }
        blurred[static_cast<std::size_t>(px)] = sum / weight;
      }
      image = blurred;
    }
    return image;
  };
  const double step = 0.1 * p_C.z / lens.fx_px();  // a tenth of a pixel
  const auto image = draw(p_C, radius_mm);
  std::array<std::vector<double>, 4> derivative;
  const auto difference = [&](Vec3 a, Vec3 b, double ra, double rb, double over) {
    auto high = draw(a, ra), low = draw(b, rb);
    for (std::size_t i = 0; i < high.size(); ++i) high[i] = (high[i] - low[i]) / over;
    return high;
  };
  const Vec3 du{step, 0, 0}, dv{0, step, 0};
  derivative[0] = difference(p_C + du, p_C - 1.0 * du, radius_mm, radius_mm, 1);
  derivative[1] = difference(p_C + dv, p_C - 1.0 * dv, radius_mm, radius_mm, 1);
  derivative[2] = difference(p_C, p_C, 1.02 * radius_mm, 0.98 * radius_mm, 1);
  derivative[3] = image;
  std::array<std::array<double, 4>, 4> F{};
  for (std::size_t i = 0; i < image.size(); ++i)
    for (const double level : colour) {
      const double mu = p.velvet + level * image[i];  // a ball hides the velvet; the bound barely minds
      const double variance = p.noise * p.noise + p.shot_noise * p.shot_noise * mu;
      const double gain = level - p.velvet;
      for (std::size_t a = 0; a < 4; ++a)
        for (std::size_t b = 0; b < 4; ++b) F[a][b] += gain * gain * derivative[a][i] * derivative[b][i] / variance;
    }
  // Invert F (Gauss-Jordan); its first two rows are the covariance of the ball's shift, in steps of its own.
  std::array<std::array<double, 8>, 4> G{};
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = 0; b < 4; ++b) G[a][b] = F[a][b];
    G[a][4 + a] = 1;
  }
  for (std::size_t k = 0; k < 4; ++k) {
    const double pivot = G[k][k];
    for (double& x : G[k]) x /= pivot;
    for (std::size_t a = 0; a < 4; ++a) {
      if (a == k) continue;
      const double factor = G[a][k];
      for (std::size_t b = 0; b < 8; ++b) G[a][b] -= factor * G[k][b];
    }
  }
  // One unit of shift (2 steps) moves the image's centre by this many pixels.
  const auto moved = [&](Vec3 d) {
    const Point2 a = lens.distort(sphere_image_centre(p_C + d, radius_mm)),
                 b = lens.distort(sphere_image_centre(p_C - 1.0 * d, radius_mm));
    return Point2{a.x - b.x, a.y - b.y};
  };
  const Point2 mu_ = moved(du), mv = moved(dv);
  const double var_u = mu_.x * mu_.x * G[0][4] + 2 * mu_.x * mv.x * G[0][5] + mv.x * mv.x * G[1][5],
               var_v = mu_.y * mu_.y * G[0][4] + 2 * mu_.y * mv.y * G[0][5] + mv.y * mv.y * G[1][5];
  return 0.5 * (var_u + var_v);
}

struct CentreErrors {
  int expected = 0, found = 0, extra = 0, inside95 = 0, bounds = 0;
  int good = 0;  ///< found, and of a quality that calibration takes
  double sum2 = 0, worst = 0, bound2 = 0;
  std::array<std::array<double, 2>, 64> cell_sum{};  ///< by the centre's place in its pixel, 8 x 8
  std::array<int, 64> cell_count{};
  double rms() const { return std::sqrt(sum2 / std::max(1, found)); }
  double bound() const { return std::sqrt(bound2 / std::max(1, bounds)); }
  double inside() const { return static_cast<double>(inside95) / std::max(1, found); }
  double worst_bias() const {
    double worst_cell = 0;
    for (std::size_t i = 0; i < 64; ++i)
      if (cell_count[i] >= 8)
        worst_cell = std::max(worst_cell, std::hypot(cell_sum[i][0], cell_sum[i][1]) / cell_count[i]);
    return worst_cell;
  }
};

/// Errors of the best blob of every marker that is whole in the image and `alone_px` away from any other.
inline CentreErrors centre_errors(VirtualRigParams params, int poses, double alone_px = 16, bool with_bound = false) {
  const Rig rig = distorted_rig();
  params.rate_hz = 1, params.duration_s = poses;
  if (params.exposure_ms == VirtualRigParams{}.exposure_ms) params.exposure_ms = 0, params.exposure_samples = 1;
  const auto path = scattered_poses(rig, poses + 1, params.seed + 77);
  Cameras cameras = virtual_cameras(params, rig, path);
  const double dark = params.brightness * (1 - params.saturation);
  CentreErrors e;
  for (std::size_t c = 0; c < kCameras; ++c) {
    MarkerDetector detector = std::move(*MarkerDetector::create(rig, c));
    const Lens lens(rig.cameras[c]);
    Frame frame;
    MarkerSet set;
    for (FrameStatus s; (s = cameras[c]->next(frame)) != FrameStatus::end;) {
      detector.detect(frame, s, set);
      const auto at = path->evaluate(1e-9 * static_cast<double>(frame.mid_exposure_ns));
      std::array<Point2, kMarkers> truth;
      for (std::size_t m = 0; m < kMarkers; ++m)
        truth[m] = lens.distort(sphere_image_centre(marker_p_C(rig, c, m, at), 2.5));
      for (std::size_t m = 0; m < kMarkers; ++m) {
        bool counts = truth[m].x > 9 && truth[m].y > 9 && truth[m].x < 630 && truth[m].y < 470;
        for (std::size_t o = 0; o < kMarkers; ++o)
          counts &= o == m || std::hypot(truth[o].x - truth[m].x, truth[o].y - truth[m].y) > alone_px;
        if (!counts) continue;
        ++e.expected;
        if (!set.found(m)) continue;
        e.extra += set.count[m] - 1;
        const MarkerBlob& b = set.blobs[m][0];
        const double du = static_cast<double>(b.u_px) - truth[m].x, dv = static_cast<double>(b.v_px) - truth[m].y,
                     d = std::hypot(du, dv);
        if (d > 4) continue;  // another blob
        ++e.found;
        e.good += b.quality >= 0.5F;
        e.sum2 += 0.5 * d * d, e.worst = std::max(e.worst, d);
        const double uu = b.var_uu_px2, uv = b.var_uv_px2, vv = b.var_vv_px2;
        e.inside95 += (vv * du * du - 2 * uv * du * dv + uu * dv * dv) / (uu * vv - uv * uv) < 5.991;
        const auto cell = [](double x) { return std::min(7, static_cast<int>(8 * (x - std::floor(x)))); };
        const std::size_t i = static_cast<std::size_t>(8 * cell(truth[m].y) + cell(truth[m].x));
        e.cell_sum[i][0] += du, e.cell_sum[i][1] += dv, ++e.cell_count[i];
        if (with_bound && e.found % 23 == 0) {
          constexpr std::array<std::array<int, 3>, kMarkers> kLit{
              {{1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 1, 1}, {0, 0, 1}, {1, 0, 1}}};  // r g b of the six hues
          std::array<double, 3> colour;
          for (std::size_t k = 0; k < 3; ++k) colour[k] = kLit[m][k] ? params.brightness : dark;
          e.bound2 += centre_bound(params, rig.cameras[c], marker_p_C(rig, c, m, at), 2.5, colour), ++e.bounds;
        }
      }
    }
  }
  return e;
}

}  // namespace ligature::drivers::testing
