#include "drivers/markers/blob_fit.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <bit>
#include <cmath>

#include "drivers/markers/edge_profile.hpp"
#include "drivers/markers/lanes.hpp"

namespace ligature::drivers {
namespace {

using namespace lanes;

constexpr int kUnknowns = 10;   // x y r sxx sxy syy A gx gy gd
constexpr int kResidual = 10;   // rows of the normal matrix beside the unknowns': the residual ...
constexpr int kRoundness = 11;  // ... and a parameter that is 0 for the ball's outline and 1 for a circle
constexpr int kRows = 12;
constexpr float kRobust2 = 64;                   // squared sigmas at which a residual's weight is a quarter
constexpr float kPsi = 1 / 0.917F;               // undoes what psi takes from a normal deviate's square
constexpr double kSure = 0.97;                   // ... and from the sum of weights, which costs next to no precision
constexpr float kFlatFloor = 0.003F;             // what the model itself may be wrong by, of the level: on the disc ...
constexpr float kRimFloor = 0.006F;              // ... and more where the rim passes
constexpr float kStandStill = 0.01F;             // a step below it [px] is the last: the next would be its square ...
constexpr double kStandStill2 = 0.05;            // ... and so is one this short beside its own error, squared
constexpr float kSharpen = 0.04F;                // by how much the robust width squared shrinks from step to step
constexpr float kFar = 3;                        // widths of the rim beyond it that are looked at
constexpr float kGrossShare = 0.2F, kGross = 9;  // a misfit beyond both, of the level and noise variances
constexpr float kPi = 3.14159265F;

/// The model and its parts at some pixels.
struct Model {
  Lane nx, ny, flat;    // outward normal of the rim; 1 / |grad rho|
  Lane x, inverse_tau;  // distance to the rim over its width; 1 / width [1/px]
  Lane share, slope;    // covered; its derivative by x
  Lane X, Y, D, h;      // place on the disc; light
  Lane rho, round;      // distance from the centre in the outline's coordinates, and in pixels, squared
};

struct Kernel {
  const BlobEstimate& b;
  const OutlineShape& shape;
  const EdgeProfile& profile = EdgeProfile::shared();

  void operator()(const Lane& px, const Lane& py, Model& m) const noexcept {
    const auto& W = shape.M_inverse;
    const Lane dx = px - b.x, dy = py - b.y;
    const Lane qx = W[0] * dx + W[1] * dy, qy = W[2] * dx + W[3] * dy;
    m.rho = more(root(qx * qx + qy * qy), spread(1e-4F)), m.round = dx * dx + dy * dy;
    // v = rho^2 grad log rho points along the rim's normal.
    const Lane vx = W[0] * qx + W[2] * qy, vy = W[1] * qx + W[3] * qy;
    const Lane v = more(root(vx * vx + vy * vy), spread(1e-4F));
    const Lane both = 1.0F / (v * m.rho), inv_v = both * m.rho, inv_rho = both * v;
    m.flat = m.rho * inv_v;
    m.nx = vx * inv_v, m.ny = vy * inv_v;
    const Lane wide = m.nx * (b.blur[0] * m.nx + 2 * b.blur[1] * m.ny) + b.blur[2] * m.ny * m.ny;
    const Lane tau = root(more(wide, Lane{}) + 1.0F / 12);
    const Lane ax = size(m.nx), ay = size(m.ny), larger = more(more(ax, ay), spread(1e-6F));
    const Lane over = 1.0F / (tau * larger), lean = less(ax, ay) * tau * over;
    m.inverse_tau = larger * over;
    m.x = (b.r - m.rho) * m.flat * m.inverse_tau;
    profile.at((1.0F / 12) * m.inverse_tau * m.inverse_tau, lean, m.x, m.share, m.slope);
    // What reaches a pixel beside the rim was lit further in: E[u | u > 0], u normal about its place, tau wide.
    const Lane depth = tau * (m.x + m.slope / more(m.share, spread(1e-3F))) * v * inv_rho;
    const Lane on_disc = less(more(b.r - depth, Lane{}), spread(b.r)) * inv_rho * (1 / b.r);
    m.X = qx * on_disc, m.Y = qy * on_disc;
    m.D = root(more(1.0F - m.X * m.X - m.Y * m.Y, Lane{})) - 0.5F;
    m.h = more(1.0F + b.light[0] * m.X + b.light[1] * m.Y + b.light[2] * m.D, spread(0.05F));
  }
};

struct Window {  // of a patch, in its own pixels, inclusive
  int x0, y0, x1, y1;
};

/// How far from the centre the disc reaches with its blur, in the outline's coordinates.
float reach_of(const BlobEstimate& b, float spare) noexcept {
  const float middle = 0.5F * (b.blur[0] + b.blur[2]), apart = 0.5F * (b.blur[0] - b.blur[2]);
  const float widest = middle + std::sqrt(apart * apart + b.blur[1] * b.blur[1]);
  return b.r + spare + kFar * std::sqrt(widest + 1.0F / 12);
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

/// Of those that are not zero. Puts the numbers in another order.
float median(std::array<float, kFitPixels>& numbers, int count) noexcept {
  std::size_t some = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const float x = numbers[i];
    numbers[some] = x, some += x > 0;
  }
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(some / 2);
  std::nth_element(numbers.begin(), middle, numbers.begin() + static_cast<std::ptrdiff_t>(some));
  return *middle;
}

/// Sums of products of rows, all with all: nine of them at a time stay in registers.
class Gram {
 public:
  Gram(const float (&rows)[kRows][kFitPixels], int count) noexcept {
    static_assert(kRows % 3 == 0);
    for (int a = 0; a < kRows; a += 3)
      for (int b = a; b < kRows; b += 3) block(rows, a, b, count);
  }
  double operator()(int a, int b) const noexcept { return static_cast<double>(a < b ? sums_[a][b] : sums_[b][a]); }

 private:
  void block(const float (&rows)[kRows][kFitPixels], int a, int b, int count) noexcept {
    Lane s[3][3]{};
    for (int at = 0; at < count; at += kLanes) {
      const Lane a0 = load(rows[a] + at), a1 = load(rows[a + 1] + at), a2 = load(rows[a + 2] + at);
      const Lane b0 = load(rows[b] + at), b1 = load(rows[b + 1] + at), b2 = load(rows[b + 2] + at);
      s[0][0] = fused(a0, b0, s[0][0]), s[0][1] = fused(a0, b1, s[0][1]), s[0][2] = fused(a0, b2, s[0][2]);
      s[1][0] = fused(a1, b0, s[1][0]), s[1][1] = fused(a1, b1, s[1][1]), s[1][2] = fused(a1, b2, s[1][2]);
      s[2][0] = fused(a2, b0, s[2][0]), s[2][1] = fused(a2, b1, s[2][1]), s[2][2] = fused(a2, b2, s[2][2]);
    }
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) sums_[a + i][b + k] = sum(s[i][k]);
  }
  float sums_[kRows][kRows];
};

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
      kernel(Lane{0, 1, 2, 3, 4, 5, 6, 7} + static_cast<float>(patch.x0 + x), spread(static_cast<float>(patch.y0 + y)),
             m);
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
  constexpr float kSpare = 0.75F;
  gather(patch, b, shape, kSpare, pixels);
  // Far from the answer every rim pixel is an outlier: the robust width shrinks towards the noise's step by step.
  float soft2 = start_width * start_width;
  const float uncut = 1 / (1.5F * std::sqrt(patch.variance + patch.variance_cut) + 1e-6F);
  alignas(32) float rows[kRows][kFitPixels];
  alignas(32) std::array<float, kFitPixels> squares;
  Model m;
  for (int step = 0;; ++step, soft2 *= kSharpen) {
    if (std::abs(b.x - gathered.x) + std::abs(b.y - gathered.y) + std::abs(b.r - gathered.r) > kSpare) {
      gathered = b;
      gather(patch, b, shape, kSpare, pixels);
    }
    Lane rim{}, counted{}, value_sum{}, value_squares{}, brightness{}, beside_x{}, beside_y{}, beside_count{}, gross{};
    Lane rim_pixels{}, rim_noise{}, rim_beyond{};
    const Kernel kernel{b, shape};
    for (int at = 0; at < pixels.count; at += kLanes) {
      kernel(load(pixels.x.data() + at), load(pixels.y.data() + at), m);
      const Lane seen = load(pixels.share.data() + at);
      const Bits inside = m.x > -EdgeProfile::kReach;
      const auto where = [](const Bits& on, const Lane& v) { return on ? v : Lane{}; };
      const Lane lit = b.level * m.share, value = lit * m.h, residual = seen - value;
      const Lane slope = b.level * m.h * m.slope * m.inverse_tau;  // per pixel of distance
      const Lane floor = kFlatFloor * value, edge_floor = kRimFloor * slope, mixed = 4 * m.share * (1 - m.share);
      const Lane photons = patch.variance_slope * more(value, Lane{});
      const Lane noise = patch.variance + patch.variance_cut * less(more(value * uncut, Lane{}), spread(1)) + photons +
                         floor * floor + edge_floor * edge_floor + mixed * patch.rim_variance;
      const Lane variance = noise + mixed * b.rim_excess, r2 = residual * residual;
      const Lane width = kRobust2 * (variance + soft2), sigma = root(variance);
      const Lane root_weight = where(inside, width / ((width + r2) * sigma)), damp = root_weight * sigma,
                 psi = damp * damp;
      const auto row = [&](int k, const Lane& v) { store(rows[k] + at, root_weight * v); };
      const Lane by_r = slope * m.flat;
      row(0, slope * m.nx), row(1, slope * m.ny), row(2, by_r);
      // tau^2 = n S n + 1/12: d share / d tau^2 = -x slope / (2 tau^2)
      const Lane blur = -0.5F * m.x * slope * m.inverse_tau;
      row(3, blur * m.nx * m.nx), row(4, 2 * blur * m.nx * m.ny), row(5, blur * m.ny * m.ny);
      row(6, m.share * m.h), row(7, lit * m.X), row(8, lit * m.Y), row(9, lit * m.D);
      row(kResidual, residual), row(kRoundness, by_r * (m.rho - root(m.round)));
      // Beside the disc: what lies there unevenly pulls at the rim.
      const Lane beside = where(m.share < 0.02F, damp), pull_out = beside * residual;
      beside_x = fused(pull_out, m.nx, beside_x), beside_y = fused(pull_out, m.ny, beside_y), beside_count += beside;
      counted += where(inside, spread(1)), rim = fused(psi, slope, rim);
      const Lane on = where(m.share > 0.8F, value);
      value_sum += on, value_squares = fused(on, value, value_squares);
      brightness = fused(on, kPsi * psi * r2 - (noise - photons), brightness);
      gross += where(inside & (r2 > more(kGross * noise, spread(kGrossShare * kGrossShare))), spread(1));
      const Bits on_rim = mixed > 0.36F;
      rim_pixels += where(on_rim, spread(1)), rim_noise += where(on_rim, noise);
      rim_beyond += where(on_rim & (r2 > 0.91F * noise), spread(1));
      store(squares.data() + at, where(on_rim, r2));
    }
    const float count = sum(counted);
    if (count < 12) return b;
    // A normal deviate's median square is 0.455. Twice the noise is no chance any more.
    const float on_rim = sum(rim_pixels);
    b.rim_excess = 0;
    if (on_rim >= 8 && 2 * sum(rim_beyond) > on_rim)
      b.rim_excess = std::clamp(median(squares, pixels.count) / 0.455F - sum(rim_noise) / on_rim, 0.0F, 0.04F);
    const Gram gram(rows, (pixels.count + kLanes - 1) / kLanes * kLanes);
    Matrix A;
    Vector y;
    for (int i = 0; i < kUnknowns; ++i) {
      y[i] = gram(i, kResidual);
      for (int k = i; k < kUnknowns; ++k) A(i, k) = A(k, i) = gram(i, k);
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
    const bool stands = longest < static_cast<double>(kStandStill) || d.dot(y) < kStandStill2;
    const bool last = step >= steps || (stands && soft2 < 0.25F * patch.variance + 1e-5F);
    if (last) {
      const Matrix inverse = llt.solve(Matrix::Identity());
      b.var_xx = kSure * inverse(0, 0), b.var_xy = kSure * inverse(0, 1), b.var_yy = kSure * inverse(1, 1);
      for (int k = 0; k < 3; ++k)
        b.light_variance[static_cast<std::size_t>(k)] = static_cast<float>(inverse(7 + k, 7 + k));
      b.blur_variance = static_cast<float>(0.25 * (inverse(3, 3) + inverse(5, 5) + 2 * inverse(3, 5)));
      // A parameter of the outline's way to a circle, all else free: s at its best lowers chi^2 by s^2 own, s = 1 by
      // (2 s - 1) own.
      const Vector across = llt.matrixL().solve(
          Vector::NullaryExpr([&](Eigen::Index k) { return gram(static_cast<int>(k), kRoundness); }));
      const Vector along = llt.matrixL().solve(y);
      const double own = gram(kRoundness, kRoundness) - across.squaredNorm();
      b.round_gain = static_cast<float>((2 * (gram(kResidual, kRoundness) - across.dot(along)) - own) /
                                        (gram(kResidual, kResidual) + 1e-9));
      if (const float n = sum(beside_count); n > 8) {
        // The first harmonic's amplitude, less what noise alone gives it (variance 2 v / n each).
        const float ax = 2 * sum(beside_x) / n, ay = 2 * sum(beside_y) / n, chance = 2 * patch.variance / n;
        b.slant_x = std::copysign(std::sqrt(std::max(0.0F, ax * ax - 4 * chance)), ax);
        b.slant_y = std::copysign(std::sqrt(std::max(0.0F, ay * ay - 4 * chance)), ay);
      }
      b.chi2 = static_cast<float>(gram(kResidual, kResidual)), b.pixels = static_cast<int>(count);
      b.gross = sum(gross);
      b.value_sum = sum(value_sum), b.value_squares = sum(value_squares), b.brightness = sum(brightness);
      b.arc = std::clamp(sum(rim) / (2 * kPi * b.r * b.level), 0.0F, 1.0F);
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
