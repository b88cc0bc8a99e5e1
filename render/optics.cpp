#include "render/optics.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/units.hpp"

namespace ligature::render {

Optics::Optics(const MicroscopeParams& microscope, int eye_width_px, int eye_height_px)
    : microscope_(microscope),
      width_px_(eye_width_px),
      height_px_(eye_height_px),
      half_height_(0.5 * microscope.field_of_view_mm / microscope.distance_mm),
      aspect_(width_px_ / height_px_) {
  const double el = microscope.elevation_deg * units::rad_per_deg, az = microscope.azimuth_deg * units::rad_per_deg;
  const Vec3 heading{-std::sin(az), std::cos(az), 0};
  right_W_ = {std::cos(az), std::sin(az), 0};
  forward_W_ = std::cos(el) * heading - std::sin(el) * Vec3{0, 0, 1};
  up_W_ = cross(right_W_, forward_W_);
  middle_p_W_ = microscope.target_p_W - microscope.distance_mm * forward_W_;
}

Vec3 Optics::eye_p_W(Eye eye) const {
  return middle_p_W_ + offset(eye) * right_W_;
}

Mat4 Optics::clip_W(Eye eye) const {
  const double o = offset(eye), c = microscope_.convergence_mm;
  const double near_mm = 0.1 * microscope_.distance_mm, far_mm = 5 * microscope_.distance_mm;
  const double depth = far_mm / (far_mm - near_mm);
  const double sx = 1 / (half_height_ * aspect_), sy = -1 / half_height_;
  // Rows of clip_W as combinations of X, Y, Z and 1, with X = right . (p - middle) and so on.
  const auto row = [this](double x, double y, double z, double one) {
    const Vec3 v = x * right_W_ + y * up_W_ + z * forward_W_;
    return std::array<double, 4>{v.x, v.y, v.z, one - dot(v, middle_p_W_)};
  };
  const std::array<std::array<double, 4>, 4> rows{row(sx, 0, sx * o / c, -sx * o), row(0, sy, 0, 0),
                                                  row(0, 0, depth, -depth * near_mm), row(0, 0, 1, 0)};
  Mat4 m{};
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t k = 0; k < 4; ++k) m[4 * k + r] = static_cast<float>(rows[r][k]);
  return m;
}

Vec3 Optics::on_plane(Eye eye, double ndc_x, double ndc_y, double plane_z_mm, double& depth_mm) const {
  const double o = offset(eye);
  const Vec3 ray = (ndc_x * half_height_ * aspect_ - o / microscope_.convergence_mm) * right_W_ -
                   (ndc_y * half_height_) * up_W_ + forward_W_;  // per unit of Z
  const Vec3 from = eye_p_W(eye);
  const double far_mm = 4.9 * microscope_.distance_mm;
  const double z = ray.z < 0 ? (plane_z_mm - from.z) / ray.z : far_mm;
  depth_mm = z > 0 ? std::min(z, far_mm) : far_mm;
  return from + depth_mm * ray;
}

PixelPoint Optics::project(Eye eye, Vec3 p_W) const {
  const Vec3 p = p_W - middle_p_W_;
  const double X = dot(p, right_W_), Y = dot(p, up_W_), Z = dot(p, forward_W_), o = offset(eye);
  const double ndc_x = ((X - o) / Z + o / microscope_.convergence_mm) / (half_height_ * aspect_);
  const double ndc_y = -Y / (Z * half_height_);
  return {0.5 * (ndc_x + 1) * width_px_ - 0.5, 0.5 * (ndc_y + 1) * height_px_ - 0.5, Z};
}

double Optics::disparity_px(double depth_mm) const {
  return microscope_.eye_separation_mm * (1 / depth_mm - 1 / microscope_.convergence_mm) / (half_height_ * aspect_) *
         0.5 * width_px_;
}

}  // namespace ligature::render
