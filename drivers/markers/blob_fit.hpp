#pragma once
/// Where a ball's image lies, by maximum likelihood: the known outline, blurred, laid over the pixels.
///
///   m(p) = A C(p) (1 + g_x X + g_y Y + g_d (D - 1/2)),   (X, Y) = M^-1 (p - c) / r,  D = sqrt(1 - X^2 - Y^2)
///   m(p) = A C(p) (1 + g_x X + g_y Y + g_d (D - 1/2) + |k . (X, Y, D)| - |k| / 2)        of a ball with a dark side
///
///  * C is the share of the pixel inside the ellipse |M^-1 (p - c)| = r, blurred (edge_profile.hpp). A ball's outline
///    is an ellipse whose shape M the camera and the place in its image decide; only its size is unknown.
///  * The blur is a 2x2 matrix S, so that motion within the exposure, which smears along one direction, is part of it.
///  * g is the light: a slope over the disc and a dome. Of a lamp far away it is the lamp's direction along axes_C.
///  * A matte surface that turns away from a small lamp l gets none of it: a + b max(0, n . l), where n = (X, Y, D) is
///    its normal. That is a + (b n . l + |b n . l|) / 2: k is b l / 2, and g is the same, give or take other lamps.
///  * Unknown: c, r, S, A, g, ten numbers, and k, by Gauss-Newton on sum psi(t^2), t^2 = (s - m)^2 / (v0 + v1 m +
///    floor), s the pixel's share of the marker's colour. psi goes flat beyond some sigmas: a white reflection or what
///    covers the disc has no say. Pixels known to be foreign are left out, so that an arc is fitted as an arc. What is
///    at full scale counts as at least so bright.
///  * Covariance of c: its block of the inverse normal matrix. For a whole disc in Gaussian noise that is the
///    Cramer-Rao bound; with part of the rim gone it grows as the remaining arc tells less.
///
/// A ball with more than kFitPixels in its image is fitted to every n-th of them.
///
/// Source: the bound, [Kay 1993] ch. 3; robust weights, [Triggs 2000]. @rt everything here.
#include <array>
#include <cstddef>
#include <cstdint>

#include "drivers/camera/lens.hpp"

namespace ligature::drivers {

inline constexpr int kFitPixels = 512;

/// Pixels round one blob. Arrays are row major, `width * height` of them are used.
struct Patch {
  static constexpr int kMaxPixels = 6400;
  int x0 = 0, y0 = 0, width = 0, height = 0;
  std::array<float, kMaxPixels> share;  ///< of the marker's colour, background 0, full disc about 1
  static constexpr std::uint8_t kFull = 2;
  std::array<std::uint8_t, kMaxPixels> use;  ///< 0: foreign, no part of the fit; kFull: full scale, `share` at least
  float variance = 0;                        ///< of `share` where the marker is not ...
  float variance_cut = 0;                    ///< how much of it black cut off there; back where s > 1.5 of its root
  float variance_slope = 0;                  ///< ... and what a share of 1 adds: photon noise
  float rim_variance = 0;  ///< more of it where the rim passes: what the sensor's colours get wrong there
};

/// Ellipse |M^-1 (p - c)| = r that a small ball's image has about a pixel, det M = 1.
struct OutlineShape {
  std::array<float, 4> M_inverse{1, 0, 0, 1};  ///< row major
  float px_per_rad = 600;                      ///< r / angular radius of the ball
  /// Where X, Y and D point in the camera's axes: across the ray and back along it, unit.
  std::array<std::array<float, 3>, 3> axes_C{{{1, 0, 0}, {0, 1, 0}, {0, 0, -1}}};
};
OutlineShape outline_shape(const Lens& lens, Point2 px) noexcept;

enum class Shading : std::uint8_t {
  smooth,  ///< slope and dome
  asked,   ///< the same; nothing is fitted, but told what |k . n| would add to it, k given
  shaded,  ///< with a dark side, k unknown
};

/// What is known of a blob before its pixels are looked at: mean and standard deviation, Gaussian.
struct BlobPrior {
  std::array<float, 3> light{0, 0, 0.1F}, light_sigma{0.2F, 0.2F, 0.15F};
  float blur_px2 = 0.3F, blur_sigma_px2 = 1.0F;
  Shading shading = Shading::smooth;
  std::array<float, 3> shade{}, shade_sigma{1, 1, 1};  ///< k
};

struct BlobEstimate {
  float x = 0, y = 0, r = 0;     ///< centre of the outline and size [px]
  std::array<float, 3> blur{};   ///< S: xx xy yy [px^2]
  float level = 1;               ///< A
  std::array<float, 3> light{};  ///< g_x g_y g_d
  std::array<float, 3> light_variance{};
  std::array<float, 3> shade{};  ///< k; 0: no dark side
  std::array<float, 3> shade_variance{};
  float pull = 0, information = 0;         ///< Shading::asked: so many times what was asked for would fit best, pull /
                                           ///< information, known to 1 / sqrt(information)
  std::array<float, 4> centre_by_slope{};  ///< d(x, y) / d(g_x, g_y), all else as it is best, row major [px]
  float blur_variance = 0;                 ///< of (S_xx + S_yy) / 2 [px^4]
  double var_xx = 0, var_xy = 0, var_yy = 0;  ///< covariance of the centre [px^2]
  float chi2 = 0;                             ///< robust sum of squared residuals over their variance ...
  int pixels = 0;                             ///< ... over this many
  float value_sum = 0, value_squares = 0;     ///< of the model where the disc is: sum m, sum m^2 ...
  float brightness = 0;                       ///< ... and sum m (squared residual - variance where the marker is not)
  std::array<float, 3> beside{};  ///< xx xy yy: how unevenly bright the background beside the disc is, of the level^2
  float rim_excess = 0;           ///< variance that the rim's median misfit has above all noise, 0 if it has not
  float arc = 0;                  ///< share of the rim that has a say, 0..1
  float unevenness = 0;  ///< error of the centre by how eighths of the disc misfit, beside var_xx, var_yy: 0.4 to 0.6
                         ///< when pixels know nothing of each other, more when neighbours err together
  float rim_own = 0;     ///< share of the rim's variance that is rim_excess
  float gross = 0;       ///< pixels that are far from what the model says
  float open = 1;        ///< share of the disc that is not at full scale
  float round_gain = 0;  ///< share of chi2 that a circle's outline, as of a disc facing the camera, would take away
  int work = 0;          ///< eights of pixels looked at by this fit, those of all its steps
  bool ok = false;
};

/// @param start where to begin. @param steps at most; stops early when it stands still
/// @param start_width misfit, of the level, that the first step takes for noise; shrinks from step to step
/// ok = false: it ran away, nothing else is to be believed
BlobEstimate fit_blob(const Patch& patch, const OutlineShape& shape, const BlobPrior& prior, BlobEstimate start,
                      int steps, float start_width) noexcept;

/// What the model says of every pixel of the patch: how much of it the disc covers, and its share of the colour.
/// Arrays as Patch::share; zero where the disc does not reach.
void predict(const Patch& patch, const BlobEstimate& blob, const OutlineShape& shape, float* covered,
             float* value) noexcept;

}  // namespace ligature::drivers
