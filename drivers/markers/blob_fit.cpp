#include "drivers/markers/blob_fit.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "drivers/markers/edge_profile.hpp"

namespace ligature::drivers {
namespace {

constexpr int kUnknowns = 10, kPadded = 16;  // x y r sxx sxy syy A gx gy gd
constexpr float kRobust2 = 64;               // squared sigmas at which a residual's weight is a quarter
constexpr float kFlatFloor = 0.004F;         // what the model itself may be wrong by, of the level: on the disc ...
constexpr float kRimFloor = 0.01F;           // ... and more where the rim passes
constexpr std::size_t kRimSamples = 256;
constexpr float kPi = 3.14159265F;

struct Geometry {  // of one pixel relative to the outline
  float qx, qy, rho;
  float nx, ny;     // outward normal [-]
  float distance;   // how far the rim lies beyond the pixel's centre [px]
  float steepness;  // |grad rho|
};

Geometry look(const BlobEstimate& b, const OutlineShape& shape, float x, float y) noexcept {
  const auto& W = shape.M_inverse;
  const float dx = x - b.x, dy = y - b.y;
  Geometry g;
  g.qx = W[0] * dx + W[1] * dy, g.qy = W[2] * dx + W[3] * dy;
  g.rho = std::sqrt(g.qx * g.qx + g.qy * g.qy);
  const float inv = 1 / std::max(g.rho, 1e-4F), ux = g.qx * inv, uy = g.qy * inv;
  const float gx = W[0] * ux + W[2] * uy, gy = W[1] * ux + W[3] * uy;
  g.steepness = std::max(1e-4F, std::sqrt(gx * gx + gy * gy));
  g.nx = gx / g.steepness, g.ny = gy / g.steepness;
  g.distance = (b.r - g.rho) / g.steepness;
  return g;
}

struct Light {
  float X, Y, D, h;
};
Light light_on(const BlobEstimate& b, const Geometry& g) noexcept {
  const float inv = 1 / std::max(b.r, g.rho);  // a rim pixel is lit as the rim
  Light l{g.qx * inv, g.qy * inv, 0, 1};
  l.D = std::sqrt(std::max(0.0F, 1 - l.X * l.X - l.Y * l.Y)) - 0.5F;
  l.h = std::max(0.05F, 1 + b.light[0] * l.X + b.light[1] * l.Y + b.light[2] * l.D);
  return l;
}

}  // namespace

OutlineShape outline_shape(const Lens& lens, Point2 px) noexcept {
  // A ball in direction n = (x, y, 1) casts the image of a circle normal to n: to first order in its angular radius a
  // the matrix of the ellipse is a^2 |n|^2 [1+x^2 xy; xy 1+y^2], and J . J^T behind the lens.
  const Point2 n = lens.undistort(px);
  std::array<double, 4> J;
  lens.distort(n, &J);
  const double nn = 1 + n.x * n.x + n.y * n.y, a = nn * (1 + n.x * n.x), b = nn * n.x * n.y, c = nn * (1 + n.y * n.y);
  const double e = J[0] * (J[0] * a + J[1] * b) + J[1] * (J[0] * b + J[1] * c),
               f = J[2] * (J[0] * a + J[1] * b) + J[3] * (J[0] * b + J[1] * c),
               g = J[2] * (J[2] * a + J[3] * b) + J[3] * (J[2] * b + J[3] * c);
  const double det = e * g - f * f;
  OutlineShape shape;
  if (!(det > 0 && e > 0)) return shape;
  const double size = std::sqrt(std::sqrt(det));
  // M = Cholesky factor [l 0; m k] of the matrix over its size, here inverted.
  const double l = std::sqrt(e) / size, m = f / (size * size * l), k = 1 / l;
  shape.M_inverse = {static_cast<float>(1 / l), 0, static_cast<float>(-m / (l * k)), static_cast<float>(1 / k)};
  shape.px_per_rad = static_cast<float>(size);
  return shape;
}

void predict_pixel(const BlobEstimate& b, const OutlineShape& shape, float x, float y, float& covered,
                   float& value) noexcept {
  const Geometry g = look(b, shape, x, y);
  const float s2 = g.nx * (b.blur[0] * g.nx + 2 * b.blur[1] * g.ny) + b.blur[2] * g.ny * g.ny;
  const EdgeProfile::Edge edge(EdgeProfile::shared(), std::abs(g.nx), std::abs(g.ny), s2);
  covered = edge.at(g.distance / edge.tau_px()).share;
  value = b.level * covered * light_on(b, g).h;
}

BlobEstimate fit_blob(const Patch& patch, const OutlineShape& shape, const BlobPrior& prior, BlobEstimate b, int steps,
                      float start_width) noexcept {
  using Matrix = Eigen::Matrix<double, kUnknowns, kUnknowns>;
  using Vector = Eigen::Matrix<double, kUnknowns, 1>;
  const EdgeProfile& profile = EdgeProfile::shared();
  const float x_start = b.x, y_start = b.y, r_start = b.r;
  b.ok = false;
  // Far from the answer every rim pixel is an outlier: the robust width shrinks towards the noise's step by step.
  float soft2 = start_width * start_width / 0.15F;
  for (int step = 0;; ++step) {
    alignas(32) std::array<std::array<float, kPadded>, kUnknowns> H{};
    alignas(32) std::array<float, kPadded> J{};
    alignas(32) std::array<float, kPadded> gradient{};
    soft2 *= 0.15F;
    std::array<float, kRimSamples> rim_misfit;
    std::size_t rim_count = 0;
    float rim_noise = 0;
    float chi2 = 0, rim = 0, flat2 = 0, flat_value = 0;
    int flat = 0;
    int pixels = 0;
    const float reach = b.r + 1.2F * EdgeProfile::kReach * std::sqrt(std::max(b.blur[0], b.blur[2]) + 1.0F / 12);
    // The ellipse's half sides: M = inverse of M_inverse, whose determinant is 1.
    const float hx = reach * std::hypot(shape.M_inverse[3], shape.M_inverse[1]),
                hy = reach * std::hypot(shape.M_inverse[2], shape.M_inverse[0]);
    const int x0 = std::max(0, static_cast<int>(std::floor(b.x - hx)) - patch.x0),
              x1 = std::min(patch.width - 1, static_cast<int>(std::ceil(b.x + hx)) - patch.x0),
              y0 = std::max(0, static_cast<int>(std::floor(b.y - hy)) - patch.y0),
              y1 = std::min(patch.height - 1, static_cast<int>(std::ceil(b.y + hy)) - patch.y0);
    for (int py = y0; py <= y1; ++py)
      for (int px = x0; px <= x1; ++px) {
        const std::size_t i = static_cast<std::size_t>(py * patch.width + px);
        if (!patch.use[i]) continue;
        const Geometry g = look(b, shape, static_cast<float>(px + patch.x0), static_cast<float>(py + patch.y0));
        const float s2 = g.nx * (b.blur[0] * g.nx + 2 * b.blur[1] * g.ny) + b.blur[2] * g.ny * g.ny;
        const EdgeProfile::Edge edge(profile, std::abs(g.nx), std::abs(g.ny), s2);
        const float x = g.distance / edge.tau_px();
        if (x <= -EdgeProfile::kReach) continue;
        const EdgeProfile::Value c = edge.at(x);
        const Light l = light_on(b, g);
        const float m = b.level * c.share * l.h, residual = patch.share[i] - m;
        const float slope = b.level * l.h * c.slope / edge.tau_px();  // per pixel of distance
        const float floor = kFlatFloor * m, edge_floor = kRimFloor * slope;
        const float variance = patch.variance + patch.variance_slope * std::max(0.0F, m) + floor * floor +
                               edge_floor * edge_floor +
                               4 * c.share * (1 - c.share) * (patch.rim_variance + b.rim_excess);
        const float r2 = residual * residual, t2 = r2 / variance, damp = 1 / (1 + r2 / (kRobust2 * (variance + soft2))),
                    psi = damp * damp;
        if (c.share > 0.1F && c.share < 0.9F && rim_count < kRimSamples) {
          rim_misfit[rim_count++] = r2;
          rim_noise += variance - 4 * c.share * (1 - c.share) * b.rim_excess;
        }
        const float weight = psi / variance;
        J[0] = slope * g.nx, J[1] = slope * g.ny, J[2] = slope / g.steepness;
        // tau^2 = n S n + 1/12: d share / d tau^2 = -x slope / (2 tau^2)
        const float blur = -0.5F * x * b.level * l.h * c.slope / (edge.tau_px() * edge.tau_px());
        J[3] = blur * g.nx * g.nx, J[4] = 2 * blur * g.nx * g.ny, J[5] = blur * g.ny * g.ny;
        const float lit = b.level * c.share;
        J[6] = c.share * l.h, J[7] = lit * l.X, J[8] = lit * l.Y, J[9] = lit * l.D;
        for (std::size_t a = 0; a < kUnknowns; ++a) {
          const float wa = weight * J[a];
          for (std::size_t k = 0; k < kPadded; ++k) H[a][k] += wa * J[k];
        }
        const float wr = weight * residual;
        for (std::size_t k = 0; k < kPadded; ++k) gradient[k] += wr * J[k];
        chi2 += psi * t2, ++pixels;
        if (x > 0.8F * EdgeProfile::kReach) flat2 += psi * residual * residual, flat_value += m, ++flat;
        rim += psi * slope;
      }
    if (pixels < 12) return b;
    if (rim_count >= 8) {
      // A normal deviate's median square is 0.455. Twice the noise is no chance any more.
      const auto middle = rim_misfit.begin() + static_cast<std::ptrdiff_t>(rim_count / 2);
      std::nth_element(rim_misfit.begin(), middle, rim_misfit.begin() + static_cast<std::ptrdiff_t>(rim_count));
      const float seen = *middle / 0.455F, noise = rim_noise / static_cast<float>(rim_count);
      b.rim_excess = seen > 2 * noise ? std::min(0.04F, seen - noise) : 0.0F;
    }
    Matrix A;
    Vector y;
    for (int i = 0; i < kUnknowns; ++i) {
      y[i] = gradient[static_cast<std::size_t>(i)];
      for (int k = 0; k < kUnknowns; ++k) A(i, k) = H[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)];
    }
    const auto pull = [&](int i, double now, double mean, double sigma) {
      A(i, i) += 1 / (sigma * sigma), y[i] += (mean - now) / (sigma * sigma);
    };
    const double blur_sigma = static_cast<double>(prior.blur_sigma_px2);
    pull(3, b.blur[0], prior.blur_px2, blur_sigma);
    pull(4, b.blur[1], 0, 0.7 * blur_sigma);
    pull(5, b.blur[2], prior.blur_px2, blur_sigma);
    for (std::size_t k = 0; k < 3; ++k) pull(static_cast<int>(7 + k), b.light[k], prior.light[k], prior.light_sigma[k]);
    pull(2, b.r, b.r, 2.0 * static_cast<double>(r_start));  // against a singular matrix only
    pull(6, b.level, b.level, 10);
    const Eigen::LLT<Matrix> llt(A);
    if (llt.info() != Eigen::Success) return b;
    Vector d = llt.solve(y);
    if (!d.allFinite()) return b;
    const double longest = std::max({std::abs(d[0]), std::abs(d[1]), std::abs(d[2])});
    const bool last = step >= steps || (step > 0 && longest < 0.002);
    if (last) {
      const Matrix inverse = llt.solve(Matrix::Identity());
      b.var_xx = inverse(0, 0), b.var_xy = inverse(0, 1), b.var_yy = inverse(1, 1);
      for (int k = 0; k < 3; ++k)
        b.light_variance[static_cast<std::size_t>(k)] = static_cast<float>(inverse(7 + k, 7 + k));
      b.chi2 = chi2, b.pixels = pixels;
      b.flat = flat, b.flat_value = flat_value, b.flat_squares = flat2;
      b.arc = std::clamp(rim / (2 * kPi * b.r * b.level), 0.0F, 1.0F);
      b.ok = b.var_xx > 0 && b.var_yy > 0 && std::isfinite(b.chi2) && b.level > 0.2F && b.level < 3 && b.r > 0.8F &&
             longest < 0.25 && std::hypot(b.x - x_start, b.y - y_start) < 1.5F * r_start + 2;
    }
    const double limit = std::min(1.0, 1.2 / std::max(1e-9, longest));
    d *= limit;
    b.x += static_cast<float>(d[0]), b.y += static_cast<float>(d[1]);
    b.r = std::clamp(b.r + static_cast<float>(d[2]), 0.7F, 60.0F);
    b.blur[0] = std::clamp(b.blur[0] + static_cast<float>(d[3]), 0.0F, 25.0F);
    b.blur[2] = std::clamp(b.blur[2] + static_cast<float>(d[5]), 0.0F, 25.0F);
    const float most = 0.95F * std::sqrt(b.blur[0] * b.blur[2]);
    b.blur[1] = std::clamp(b.blur[1] + static_cast<float>(d[4]), -most, most);
    b.level = std::clamp(b.level + static_cast<float>(d[6]), 0.05F, 5.0F);
    for (std::size_t k = 0; k < 3; ++k)
      b.light[k] = std::clamp(b.light[k] + static_cast<float>(d[7 + static_cast<int>(k)]), -0.9F, 0.9F);
    if (last) return b;
  }
}

}  // namespace ligature::drivers
