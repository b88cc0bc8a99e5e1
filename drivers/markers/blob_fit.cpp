#include "drivers/markers/blob_fit.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "drivers/markers/edge_profile.hpp"

namespace ligature::drivers {
namespace {

constexpr int kUnknowns = 10;         // x y r sxx sxy syy A gx gy gd
constexpr int kLanes = 16;            // pixels worked on together
constexpr float kRobust2 = 64;        // squared sigmas at which a residual's weight is a quarter
constexpr float kPsi = 1 / 0.917F;    // undoes what psi takes from a normal deviate's square
constexpr double kSure = 0.97;        // ... and from the sum of weights, which costs next to no precision
constexpr float kFlatFloor = 0.003F;  // what the model itself may be wrong by, of the level: on the disc ...
constexpr float kRimFloor = 0.006F;   // ... and more where the rim passes
constexpr float kStandStill = 0.01F;  // a step below it is the last: the next would be its square
constexpr float kPi = 3.14159265F;

using Lane = Eigen::Array<float, kLanes, 1>;

/// The model and its parts at some pixels.
struct Model {
  Lane nx, ny, steepness;  // outward normal of the rim; |grad rho|
  Lane x, tau;             // distance to the rim over its width; width [px]
  Lane share, slope;       // covered; its derivative by x
  Lane X, Y, D, h;         // place on the disc; light
};

struct Kernel {
  const BlobEstimate& b;
  const OutlineShape& shape;
  const EdgeProfile& profile = EdgeProfile::shared();

  void operator()(const Lane& px, const Lane& py, Model& m) const noexcept {
    const auto& W = shape.M_inverse;
    const Lane dx = px - b.x, dy = py - b.y;
    const Lane qx = W[0] * dx + W[1] * dy, qy = W[2] * dx + W[3] * dy, rho = (qx * qx + qy * qy).sqrt();
    const Lane inv = 1 / rho.max(1e-4F), ux = qx * inv, uy = qy * inv;
    const Lane gx = W[0] * ux + W[2] * uy, gy = W[1] * ux + W[3] * uy;
    m.steepness = (gx * gx + gy * gy).sqrt().max(1e-4F);
    const Lane flat = 1 / m.steepness;
    m.nx = gx * flat, m.ny = gy * flat;
    const Lane tau2 =
        (m.nx * (b.blur[0] * m.nx + 2 * b.blur[1] * m.ny) + b.blur[2] * m.ny * m.ny).max(0.0F) + 1.0F / 12;
    m.tau = tau2.sqrt();
    m.x = (b.r - rho) * flat / m.tau;
    const Lane ax = m.nx.abs(), ay = m.ny.abs(), lean = ax.min(ay) / ax.max(ay).max(1e-6F), box = 1 / (12 * tau2);
    for (int i = 0; i < kLanes; ++i) {
      const EdgeProfile::Value v = profile.at(profile.row(box[i], lean[i]), m.x[i]);
      m.share[i] = v.share, m.slope[i] = v.slope;
    }
    // What reaches a pixel beside the rim was lit further in: E[u | u > 0], u normal about its place, tau wide.
    const Lane depth = m.tau * (m.x + m.slope / m.share.max(1e-3F)) * m.steepness;
    const Lane on_disc = (b.r - depth).max(0.0F).min(b.r) * inv / b.r;
    m.X = qx * on_disc, m.Y = qy * on_disc;
    m.D = (1 - m.X * m.X - m.Y * m.Y).max(0.0F).sqrt() - 0.5F;
    m.h = (1 + b.light[0] * m.X + b.light[1] * m.Y + b.light[2] * m.D).max(0.05F);
  }
};

struct Window {  // of a patch, in its own pixels, inclusive
  int x0, y0, x1, y1;
};

/// How far from the centre the disc reaches with its blur, in the outline's coordinates.
float reach_of(const BlobEstimate& b, float spare) noexcept {
  return b.r + spare + 1.2F * EdgeProfile::kReach * std::sqrt(std::max(b.blur[0], b.blur[2]) + 1.0F / 12);
}

Window window_of(const Patch& patch, const BlobEstimate& b, const OutlineShape& shape, float spare) noexcept {
  const float r = reach_of(b, spare);
  // The ellipse's half sides: M is the inverse of M_inverse, whose determinant is 1.
  const auto& W = shape.M_inverse;
  const float hx = r * std::sqrt(W[3] * W[3] + W[1] * W[1]), hy = r * std::sqrt(W[2] * W[2] + W[0] * W[0]);
  return {std::max(0, static_cast<int>(std::floor(b.x - hx)) - patch.x0),
          std::max(0, static_cast<int>(std::floor(b.y - hy)) - patch.y0),
          std::min(patch.width - 1, static_cast<int>(std::ceil(b.x + hx)) - patch.x0),
          std::min(patch.height - 1, static_cast<int>(std::ceil(b.y + hy)) - patch.y0)};
}

struct Pixels {
  alignas(32) std::array<float, kFitPixels> x, y, share;
  int count = 0;
};

/// The usable pixels that the disc may reach, or every n-th of them, filled up to whole lanes with pixels of no weight.
void gather(const Patch& patch, const BlobEstimate& b, const OutlineShape& shape, float spare, Pixels& out) noexcept {
  const Window w = window_of(patch, b, shape, spare);
  const auto& W = shape.M_inverse;
  const float far = reach_of(b, spare), far2 = far * far;
  const auto near_enough = [&](int x, int y) {
    const float dx = static_cast<float>(patch.x0 + x) - b.x, dy = static_cast<float>(patch.y0 + y) - b.y;
    const float qx = W[0] * dx + W[1] * dy, qy = W[2] * dx + W[3] * dy;
    return patch.use[static_cast<std::size_t>(y * patch.width + x)] != 0 && qx * qx + qy * qy < far2;
  };
  const float area = kPi * far2;  // det M = 1
  int usable = static_cast<int>(area) + 1;
  if (usable > kFitPixels) {
    usable = 0;
    for (int y = w.y0; y <= w.y1; ++y)
      for (int x = w.x0; x <= w.x1; ++x) usable += near_enough(x, y);
  }
  const int every = (usable + kFitPixels - 1) / kFitPixels;
  out.count = 0;
  int turn = 0;
  for (int y = w.y0; y <= w.y1; ++y)
    for (int x = w.x0; x <= w.x1; ++x) {
      if (!near_enough(x, y) || ++turn < every || out.count == kFitPixels) continue;
      turn = 0;
      const std::size_t k = static_cast<std::size_t>(out.count++);
      out.x[k] = static_cast<float>(patch.x0 + x), out.y[k] = static_cast<float>(patch.y0 + y);
      out.share[k] = patch.share[static_cast<std::size_t>(y * patch.width + x)];
    }
  for (std::size_t k = static_cast<std::size_t>(out.count); k % kLanes != 0; ++k)
    out.x[k] = out.y[k] = 1e6F, out.share[k] = 0;
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

void predict(const Patch& patch, const BlobEstimate& b, const OutlineShape& shape, float* covered,
             float* value) noexcept {
  std::fill_n(covered, patch.width * patch.height, 0.0F);
  std::fill_n(value, patch.width * patch.height, 0.0F);
  const Window w = window_of(patch, b, shape, 0);
  const Kernel kernel{b, shape};
  Model m;
  for (int y = w.y0; y <= w.y1; ++y)
    for (int x = w.x0; x <= w.x1; x += kLanes) {
      const Lane px = Lane::LinSpaced(static_cast<float>(patch.x0 + x), static_cast<float>(patch.x0 + x + kLanes - 1));
      kernel(px, Lane::Constant(static_cast<float>(patch.y0 + y)), m);
      for (int i = 0; i < std::min(kLanes, w.x1 - x + 1); ++i) {
        covered[y * patch.width + x + i] = m.share[i];
        value[y * patch.width + x + i] = b.level * m.share[i] * m.h[i];
      }
    }
}

BlobEstimate fit_blob(const Patch& patch, const OutlineShape& shape, const BlobPrior& prior, BlobEstimate b, int steps,
                      float start_width) noexcept {
  using Matrix = Eigen::Matrix<double, kUnknowns, kUnknowns>;
  using Vector = Eigen::Matrix<double, kUnknowns, 1>;
  const float x_start = b.x, y_start = b.y, r_start = b.r;
  b.ok = false, b.slant_x = b.slant_y = 0;
  Pixels pixels;
  BlobEstimate gathered = b;
  constexpr float kSpare = 1;
  gather(patch, b, shape, kSpare, pixels);
  // Far from the answer every rim pixel is an outlier: the robust width shrinks towards the noise's step by step.
  float soft2 = start_width * start_width;
  const float uncut = 1 / (1.5F * std::sqrt(patch.variance + patch.variance_cut) + 1e-6F);
  Model m;
  for (int step = 0;; ++step, soft2 *= 0.15F) {
    if (std::abs(b.x - gathered.x) + std::abs(b.y - gathered.y) + std::abs(b.r - gathered.r) > kSpare) {
      gathered = b;
      gather(patch, b, shape, kSpare, pixels);
    }
    std::array<std::array<Lane, kUnknowns>, kUnknowns> H;  // upper half
    std::array<Lane, kUnknowns> gradient, J;
    for (int a = 0; a < kUnknowns; ++a) {
      gradient[a].setZero();
      for (int k = a; k < kUnknowns; ++k) H[a][k].setZero();
    }
    Lane chi2 = Lane::Zero(), rim = Lane::Zero(), counted = Lane::Zero(), value_sum = Lane::Zero(),
         value_squares = Lane::Zero(), brightness = Lane::Zero(), beside_x = Lane::Zero(), beside_y = Lane::Zero(),
         beside_count = Lane::Zero(), rim_noise = Lane::Zero();
    alignas(32) std::array<float, kFitPixels> rim_squares;
    std::size_t rim_count = 0;
    const Kernel kernel{b, shape};
    for (int at = 0; at < pixels.count; at += kLanes) {
      const Eigen::Map<const Lane> px(pixels.x.data() + at), py(pixels.y.data() + at), seen(pixels.share.data() + at);
      kernel(px, py, m);
      const Lane inside = (m.x > -EdgeProfile::kReach).select(Lane::Constant(1), Lane::Zero());
      const Lane lit = b.level * m.share, value = lit * m.h, residual = seen - value;
      const Lane slope = b.level * m.h * m.slope / m.tau;  // per pixel of distance
      const Lane floor = kFlatFloor * value, edge_floor = kRimFloor * slope, mixed = 4 * m.share * (1 - m.share);
      const Lane noise = patch.variance + patch.variance_cut * (value * uncut).max(0.0F).min(1.0F) +
                         patch.variance_slope * value.max(0.0F) + floor * floor + edge_floor * edge_floor +
                         mixed * patch.rim_variance;
      const Lane variance = noise + mixed * b.rim_excess;
      const Lane r2 = residual * residual, damp = 1 / (1 + r2 / (kRobust2 * (variance + soft2)));
      const Lane psi = inside * damp * damp, weight = psi / variance;
      J[0] = slope * m.nx, J[1] = slope * m.ny, J[2] = slope / m.steepness;
      // tau^2 = n S n + 1/12: d share / d tau^2 = -x slope / (2 tau^2)
      const Lane blur = -0.5F * m.x * slope / m.tau;
      J[3] = blur * m.nx * m.nx, J[4] = 2 * blur * m.nx * m.ny, J[5] = blur * m.ny * m.ny;
      J[6] = m.share * m.h, J[7] = lit * m.X, J[8] = lit * m.Y, J[9] = lit * m.D;
      for (int a = 0; a < kUnknowns; ++a) {
        const Lane wa = weight * J[a];
        gradient[a] += wa * residual;
        for (int k = a; k < kUnknowns; ++k) H[a][k] += wa * J[k];
      }
      // Beside the disc: what lies there unevenly pulls at the rim.
      const Lane beside = (m.share < 0.02F).select(inside, Lane::Zero()) * damp;
      beside_x += beside * residual * m.nx, beside_y += beside * residual * m.ny, beside_count += beside;
      chi2 += weight * r2, counted += inside, rim += psi * slope;
      const Lane on = (m.share > 0.8F).select(value, Lane::Zero());
      value_sum += on, value_squares += on * value;
      brightness += on * (kPsi * psi * r2 - (noise - patch.variance_slope * value.max(0.0F)));
      for (int i = 0; i < kLanes; ++i)
        if (mixed[i] > 0.36F) rim_squares[rim_count++] = r2[i], rim_noise[0] += noise[i];
    }
    if (counted.sum() < 12) return b;
    if (rim_count >= 8) {
      // A normal deviate's median square is 0.455. Twice the noise is no chance any more.
      const auto middle = rim_squares.begin() + static_cast<std::ptrdiff_t>(rim_count / 2);
      std::nth_element(rim_squares.begin(), middle, rim_squares.begin() + static_cast<std::ptrdiff_t>(rim_count));
      const float found = *middle / 0.455F, expected = rim_noise[0] / static_cast<float>(rim_count);
      b.rim_excess = found > 2 * expected ? std::min(0.04F, found - expected) : 0.0F;
    }
    Matrix A;
    Vector y;
    for (int i = 0; i < kUnknowns; ++i) {
      y[i] = gradient[i].sum();
      for (int k = i; k < kUnknowns; ++k) A(i, k) = A(k, i) = H[i][k].sum();
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
    // The robust width must have come down to the noise's, too.
    const bool last =
        step >= steps || (longest < static_cast<double>(kStandStill) && soft2 < 0.25F * patch.variance + 1e-5F);
    if (last) {
      const Matrix inverse = llt.solve(Matrix::Identity());
      b.var_xx = kSure * inverse(0, 0), b.var_xy = kSure * inverse(0, 1), b.var_yy = kSure * inverse(1, 1);
      for (int k = 0; k < 3; ++k)
        b.light_variance[static_cast<std::size_t>(k)] = static_cast<float>(inverse(7 + k, 7 + k));
      b.blur_variance = static_cast<float>(0.25 * (inverse(3, 3) + inverse(5, 5) + 2 * inverse(3, 5)));
      if (const float n = beside_count.sum(); n > 8) {
        // The first harmonic's amplitude, less what noise alone gives it (variance 2 v / n each).
        const float ax = 2 * beside_x.sum() / n, ay = 2 * beside_y.sum() / n, chance = 2 * patch.variance / n;
        b.slant_x = std::copysign(std::sqrt(std::max(0.0F, ax * ax - 4 * chance)), ax);
        b.slant_y = std::copysign(std::sqrt(std::max(0.0F, ay * ay - 4 * chance)), ay);
      }
      b.chi2 = chi2.sum(), b.pixels = static_cast<int>(counted.sum());
      b.value_sum = value_sum.sum(), b.value_squares = value_squares.sum(), b.brightness = brightness.sum();
      b.arc = std::clamp(rim.sum() / (2 * kPi * b.r * b.level), 0.0F, 1.0F);
      b.ok = b.var_xx > 0 && b.var_yy > 0 && std::isfinite(b.chi2) && b.level > 0.2F && b.level < 3 && b.r > 0.8F &&
             longest < 0.25 && std::hypot(b.x - x_start, b.y - y_start) < 1.5F * r_start + 2;
    }
    d *= std::min(1.0, 1.2 / std::max(1e-9, longest));
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
