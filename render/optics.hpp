#pragma once
/// Where a point of the world lands in each eye's picture.
///
/// Both eyes look along parallel axes f; each frustum is sheared sideways so that the two windows coincide in the
/// plane of zero parallax (off-axis projection; toeing the eyes in would add vertical parallax at the corners).
///
///      L     R          eyes, separation e, o = -e/2 and +e/2
///       \   /           X right, Y up, Z forward from the mid-point between the eyes
///        \ /            t = field_of_view/2 / distance: half height per depth;  a = width/height
///   ------x------ Z=c   c = convergence
///        / \            .
///
/// Eye o sees X at (X - o)/Z and the window's middle, X = 0 at Z = c, at -o/c. Measured from that middle
///     ndc_x = ((X - o)/Z + o/c) / (t a),     ndc_y = -Y / (Z t)      (Vulkan: y down)
/// hence, with clip.w = Z, the matrix of clip_W(). At Z = c both eyes agree for every X, Y. Elsewhere
///     x_L - x_R = e (1/Z - 1/c) / (t a) * width/2   [px]
/// which is positive (crossed disparity) for points nearer than the plane.
#include <array>

#include "render/params.hpp"

namespace ligature::render {

enum class Eye { left = 0, right = 1 };
using Mat4 = std::array<float, 16>;  ///< column-major: element (row r, column c) at [4 c + r]

struct PixelPoint {
  double x_px = 0, y_px = 0;  ///< pixel centres at integers, (0,0) = centre of the top left pixel
  double depth_mm = 0;        ///< Z, along the view axis
};

class Optics {
 public:
  Optics(const MicroscopeParams& microscope, int eye_width_px, int eye_height_px);

  Vec3 right_W() const { return right_W_; }
  Vec3 up_W() const { return up_W_; }
  Vec3 forward_W() const { return forward_W_; }
  Vec3 middle_p_W() const { return middle_p_W_; }  ///< between the eyes
  Vec3 eye_p_W(Eye eye) const;
  /// World to Vulkan clip space (y down, depth 0 at the near plane, 1 at the far plane).
  Mat4 clip_W(Eye eye) const;
  /// Where the eye sees the plane z = plane_z_mm at this place of its picture, in ndc (-1..1, y down); where it looks
  /// past the plane or the plane is farther than the far plane, a point at nearly that distance instead.
  /// `depth_mm` returns Z, which is clip.w.
  Vec3 on_plane(Eye eye, double ndc_x, double ndc_y, double plane_z_mm, double& depth_mm) const;
  /// @pre p_W lies before the eye
  PixelPoint project(Eye eye, Vec3 p_W) const;
  /// The closed form above: x_L - x_R of a point at this depth. [px]
  double disparity_px(double depth_mm) const;
  double px_per_mm() const { return height_px_ / microscope_.field_of_view_mm; }  ///< in the target plane

 private:
  double offset(Eye eye) const { return (eye == Eye::left ? -0.5 : 0.5) * microscope_.eye_separation_mm; }

  MicroscopeParams microscope_;
  double width_px_, height_px_, half_height_, aspect_;
  Vec3 right_W_, up_W_, forward_W_, middle_p_W_;
};

}  // namespace ligature::render
