#pragma once
/// Pinhole with five-coefficient distortion, forwards and backwards. Normalised coordinates: x = X/Z, y = Y/Z.
///
///   r2 = x^2 + y^2,  g = 1 + k1 r2 + k2 r2^2 + k3 r2^3
///   xd = x g + 2 p1 x y + p2 (r2 + 2 x^2),   yd = y g + p1 (r2 + 2 y^2) + 2 p2 x y,   u = fx xd + cx,  v = fy yd + cy
///
/// Source: [Brown 1966] in the form OpenCV documents (calib3d). @rt everything here: no allocation, bounded.
#include <array>
#include <cmath>

#include "drivers/rig.hpp"

namespace ligature::drivers {

struct Point2 {
  double x = 0, y = 0;
};

class Lens {
 public:
  Lens() = default;
  explicit Lens(const CameraModel& camera)
      : fx_(camera.fx_px), fy_(camera.fy_px), cx_(camera.cx_px), cy_(camera.cy_px), k_(camera.distortion) {}

  double fx_px() const { return fx_; }
  double fy_px() const { return fy_; }

  /// Ideal normalised point -> pixel. @param J optional 2x2, row major: d(u,v)/d(x,y) [px]
  Point2 distort(Point2 n, std::array<double, 4>* J = nullptr) const noexcept {
    const auto [k1, k2, p1, p2, k3] = k_;
    const double x = n.x, y = n.y, r2 = x * x + y * y;
    const double g = 1 + r2 * (k1 + r2 * (k2 + r2 * k3));
    if (J) {
      const double dg = k1 + r2 * (2 * k2 + r2 * 3 * k3);  // dg/dr2
      const double cross = 2 * x * y * dg + 2 * p1 * x + 2 * p2 * y;
      (*J)[0] = fx_ * (g + 2 * x * x * dg + 2 * p1 * y + 6 * p2 * x);
      (*J)[1] = fx_ * cross;
      (*J)[2] = fy_ * cross;
      (*J)[3] = fy_ * (g + 2 * y * y * dg + 6 * p1 * y + 2 * p2 * x);
    }
    return {fx_ * (x * g + 2 * p1 * x * y + p2 * (r2 + 2 * x * x)) + cx_,
            fy_ * (y * g + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y) + cy_};
  }

  /// Pixel -> ideal normalised point: Newton on distort(), started at the distorted point. Eight steps reach
  /// rounding for every lens whose distortion is invertible within the image.
  Point2 undistort(Point2 px) const noexcept {
    Point2 n{(px.x - cx_) / fx_, (px.y - cy_) / fy_};
    for (int i = 0; i < 8; ++i) {
      std::array<double, 4> J;
      const Point2 at = distort(n, &J);
      const double ru = px.x - at.x, rv = px.y - at.y, det = J[0] * J[3] - J[1] * J[2];
      if (!(std::abs(det) > 1e-9 * fx_ * fy_)) break;  // folded image: no inverse there, keep the best so far
      n.x += (J[3] * ru - J[1] * rv) / det;
      n.y += (J[0] * rv - J[2] * ru) / det;
      if (ru * ru + rv * rv < 1e-22) break;
    }
    return n;
  }

 private:
  double fx_ = 600, fy_ = 600, cx_ = 319.5, cy_ = 239.5;
  std::array<double, 5> k_{};
};

/// Centre of the ellipse that a sphere casts on the image plane, normalised, before distortion. The cone of tangent
/// rays (d.c)^2 = |d|^2 (|c|^2 - r^2) cut at Z = 1 has its centre at (X, Y) Z / (Z^2 - r^2), not at (X, Y) / Z.
inline Point2 sphere_image_centre(Vec3 p_C, double radius) noexcept {
  const double s = p_C.z / (p_C.z * p_C.z - radius * radius);
  return {s * p_C.x, s * p_C.y};
}

}  // namespace ligature::drivers
