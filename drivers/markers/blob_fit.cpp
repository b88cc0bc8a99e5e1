#include "drivers/markers/blob_fit.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "drivers/markers/edge_profile.hpp"
#include "drivers/markers/lanes.hpp"

namespace ligature::drivers {
namespace {

using namespace lanes;

/// Rows of the normal matrix: the unknowns' x y r sxx sxy syy A gx gy gd, and kx ky kz where there is a dark side;
/// where there is none, a parameter that is only asked what it would be; last the residual.
struct Layout {
  std::size_t unknowns, rows;  // whole blocks of three, as Gram adds them up
  std::size_t residual() const { return rows - 1; }
};
constexpr std::size_t kAsked = 10, kShade = 10, kMostRows = 15;
constexpr Layout kSmooth{10, 12}, kShaded{13, 15};
static_assert(kSmooth.rows % 3 == 0 && kShaded.rows % 3 == 0 && kShaded.rows == kMostRows);
using Rows = std::array<Lane, kMostRows>;
constexpr std::size_t kGroups = kFitPixels / kLanes;
constexpr float kMedianSquare = 0.455F;          // of a normal deviate
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
constexpr float kChance = 4;                     // squared deviations of a mean that are no news
constexpr float kBrightest = 8;                  // times what is seen of it: cut off at full scale
constexpr float kSteepest = 2;                   // light and its fold over the disc
constexpr double kLambert = 0.15;  // standard deviation of k - g: one small lamp makes them equal, several do not
constexpr float kPi = 3.14159265F;

/// The model and its parts at eight pixels.
struct Model {
  Lane nx, ny, flat;          // outward normal of the rim; 1 / |grad rho|
  Lane x, tau, inverse_tau;   // distance to the rim over its width; width [px]
  Lane lean, inward;          // of the normal, as EdgeProfile wants it; what a pixel inwards is in X, Y times rho
  Lane share, slope;          // covered; its derivative by x
  Lane qx, qy, rho, inv_rho;  // from the centre in the outline's coordinates
  Lane beyond_round;          // rho less the distance in pixels
  Lane X, Y, D, h;            // place on the disc; light
  Lane fold, side;            // |k . n| - |k| / 2; of |k . n| by k . n: 1 where it is lit, -1 where it is dark
};

/// In three strides, each for all pixels before the next: a stride is a chain of roots and quotients that the processor
/// can only overlap with other pixels' chains.
struct Kernel {
  const BlobEstimate& b;
  const OutlineShape& shape;
  Shading shading = Shading::smooth;
  std::array<float, 3> k{};
  float k2 = k[0] * k[0] + k[1] * k[1] + k[2] * k[2], half_k = 0.5F * std::sqrt(k2);
  const EdgeProfile& profile = EdgeProfile::shared();

  void outline(const Lane& px, const Lane& py, Model& m) const noexcept {
    const auto& W = shape.M_inverse;
    const Lane dx = px - b.x, dy = py - b.y;
    m.qx = W[0] * dx + W[1] * dy, m.qy = W[2] * dx + W[3] * dy;
    m.rho = more(root(m.qx * m.qx + m.qy * m.qy), spread(1e-4F));
    m.beyond_round = m.rho - root(dx * dx + dy * dy);
    // v = rho^2 grad log rho points along the rim's normal.
    const Lane vx = W[0] * m.qx + W[2] * m.qy, vy = W[1] * m.qx + W[3] * m.qy;
    const Lane v = more(root(vx * vx + vy * vy), spread(1e-4F));
    const Lane both = 1.0F / (v * m.rho), inv_v = both * m.rho;
    m.inv_rho = both * v, m.flat = m.rho * inv_v, m.inward = v * m.inv_rho;
    m.nx = vx * inv_v, m.ny = vy * inv_v;
  }
  void edge(Model& m) const noexcept {
    const Lane wide = m.nx * (b.blur[0] * m.nx + 2 * b.blur[1] * m.ny) + b.blur[2] * m.ny * m.ny;
    m.tau = root(more(wide, Lane{}) + 1.0F / 12);
    const Lane ax = size(m.nx), ay = size(m.ny), larger = more(more(ax, ay), spread(1e-6F));
    const Lane over = 1.0F / (m.tau * larger);
    m.lean = less(ax, ay) * m.tau * over, m.inverse_tau = larger * over;
    m.x = (b.r - m.rho) * m.flat * m.inverse_tau;
  }
  void light(Model& m) const noexcept {
    profile.at((1.0F / 12) * m.inverse_tau * m.inverse_tau, m.lean, m.x, m.share, m.slope);
    // What reaches a pixel beside the rim was lit further in: E[u | u > 0], u normal about its place, tau wide.
    const Lane depth = m.tau * (m.x + m.slope / more(m.share, spread(1e-3F))) * m.inward;
    const Lane on_disc = less(more(b.r - depth, Lane{}), spread(b.r)) * m.inv_rho * (1 / b.r);
    m.X = m.qx * on_disc, m.Y = m.qy * on_disc;
    m.D = root(more(1.0F - m.X * m.X - m.Y * m.Y, Lane{})) - 0.5F;
    Lane h = 1.0F + b.light[0] * m.X + b.light[1] * m.Y + b.light[2] * m.D;
    if (shading != Shading::smooth) {
      // A pixel sees both sides of the terminator: what it sees of k . n is as wide as k tau / r, and the mean size of
      // that is 0.8 of it where its mean is 0.
      const Lane c = k[0] * m.X + k[1] * m.Y + k[2] * (m.D + 0.5F), seen = m.tau * (1 / b.r);
      const Lane length = root(c * c + (0.64F * k2) * seen * seen + 1e-12F);
      m.fold = length - half_k, m.side = c / length;
      if (shading == Shading::shaded) h += m.fold;
    }
    m.h = more(h, spread(0.05F));
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
  alignas(32) std::array<float, kFitPixels + 1> x, y, share, full;
  int count = 0;
};

/// The usable pixels that the disc may reach, or every n-th of them, filled up to whole lanes with pixels of no weight.
void gather(const Patch& patch, const BlobEstimate& b, const OutlineShape& shape, float spare, Pixels& out) noexcept {
  const Window w = window_of(patch, b, shape, spare);
  const auto& W = shape.M_inverse;
  const float far = reach_of(b, spare), far2 = far * far;
  // Of a row those with |q|^2 < far^2, q = W (p - c): between the roots of a square equation in x.
  const float a = W[0] * W[0] + W[2] * W[2];
  const auto span = [&](int y, int& from, int& to) {
    const float dy = static_cast<float>(patch.y0 + y) - b.y;
    const float half = (W[0] * W[1] + W[2] * W[3]) * dy / a, rest = (W[1] * W[1] + W[3] * W[3]) * dy * dy - far2;
    const float square = half * half - rest / a;
    from = 0, to = -1;
    if (!(square > 0)) return;
    const float middle = b.x - half - static_cast<float>(patch.x0), wide = std::sqrt(square);
    from = std::max(w.x0, static_cast<int>(std::ceil(middle - wide)));
    to = std::min(w.x1, static_cast<int>(std::floor(middle + wide)));
  };
  int all = 0, from = 0, to = 0;
  for (int y = w.y0; y <= w.y1; ++y) span(y, from, to), all += std::max(0, to - from + 1);
  const int every = std::max(1, (all + kFitPixels - 1) / kFitPixels);
  // Written first, then kept or not: no branch to guess.
  std::size_t count = 0;
  int turn = 0;
  for (int y = w.y0; y <= w.y1; ++y) {
    span(y, from, to);
    const std::size_t row = static_cast<std::size_t>(y * patch.width);
    for (int x = from; x <= to; ++x) {
      const std::size_t i = row + static_cast<std::size_t>(x);
      turn += patch.use[i] != 0;
      const bool taken = turn >= every;
      turn = taken ? 0 : turn;
      out.x[count] = static_cast<float>(patch.x0 + x), out.y[count] = static_cast<float>(patch.y0 + y);
      out.share[count] = patch.share[i], out.full[count] = patch.use[i] == Patch::kFull;
      count += taken;
    }
  }
  out.count = static_cast<int>(count);
  for (std::size_t k = static_cast<std::size_t>(out.count); k % kLanes != 0; ++k)
    out.x[k] = out.y[k] = 1e6F, out.share[k] = out.full[k] = 0;
}

/// Median of those that are not zero, to 2 %, between 2^-26 and 4; `some` of them are. By halving: as many looks at all
/// of them whatever they are.
float median(const std::array<float, kFitPixels>& numbers, std::size_t groups, float some) noexcept {
  auto low = std::bit_cast<std::int32_t>(0x1p-26F), high = std::bit_cast<std::int32_t>(4.0F);
  for (int halving = 0; halving < 12; ++halving) {
    const std::int32_t middle = low + (high - low) / 2;
    const Lane at = spread(std::bit_cast<float>(middle));
    Bits above{};
    for (std::size_t g = 0; g < groups; ++g) above -= load(numbers.data() + kLanes * g) > at;
    std::int32_t count = 0;
    for (int i = 0; i < kLanes; ++i) count += above[i];
    (2 * static_cast<float>(count) > some ? low : high) = middle;
  }
  return std::bit_cast<float>(high);
}

/// Sums of products of rows, all with all: nine of them at a time stay in registers.
class Gram {
 public:
  Gram(const std::array<Rows, kGroups>& rows, std::size_t groups, const Layout& layout) noexcept {
    for (std::size_t a = 0; a < layout.rows; a += 3)
      for (std::size_t b = a; b < layout.rows; b += 3) block(rows, a, b, groups);
  }
  double operator()(std::size_t a, std::size_t b) const noexcept {
    return static_cast<double>(a < b ? sums_[a][b] : sums_[b][a]);
  }

 private:
  void block(const std::array<Rows, kGroups>& rows, std::size_t a, std::size_t b, std::size_t groups) noexcept {
    Lane s[3][3]{};
    for (std::size_t g = 0; g < groups; ++g) {
      const Rows& r = rows[g];
      const Lane a0 = r[a], a1 = r[a + 1], a2 = r[a + 2], b0 = r[b], b1 = r[b + 1], b2 = r[b + 2];
      s[0][0] = fused(a0, b0, s[0][0]), s[0][1] = fused(a0, b1, s[0][1]), s[0][2] = fused(a0, b2, s[0][2]);
      s[1][0] = fused(a1, b0, s[1][0]), s[1][1] = fused(a1, b1, s[1][1]), s[1][2] = fused(a1, b2, s[1][2]);
      s[2][0] = fused(a2, b0, s[2][0]), s[2][1] = fused(a2, b1, s[2][1]), s[2][2] = fused(a2, b2, s[2][2]);
    }
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t k = 0; k < 3; ++k) sums_[a + i][b + k] = sum(s[i][k]);
  }
  float sums_[kMostRows][kMostRows];
};

/// A d = y by Cholesky, A = U^T U. Between the unknowns' rows and y's there may be one of a parameter that stays 0.
class NormalEquations {
 public:
  std::array<double, kMostRows> step{};  ///< d
  double gain = 0;                       ///< y A^-1 y: the step beside its own error, squared
  double pull = 0, information = 0;      ///< of that parameter, all else free: where it were 0 and how sure

  NormalEquations(const Gram& gram, const Layout& layout) noexcept : layout_(layout) {
    for (std::size_t i = 0; i < layout.rows; ++i)
      for (std::size_t k = i; k < layout.rows; ++k) rows_[i][k] = gram(i, k);
  }
  /// Unknown i is believed to need a step of `by`, with this weight.
  void expect(std::size_t i, double weight, double by) noexcept {
    rows_[i][i] += weight, rows_[i][layout_.residual()] += weight * by;
  }
  /// Unknown i less unknown k > i is believed to need a step of `by`.
  void expect_between(std::size_t i, std::size_t k, double weight, double by) noexcept {
    expect(i, weight, by), expect(k, weight, -by);
    rows_[i][k] -= weight;
  }
  /// false: singular or not finite
  bool solve() noexcept {
    const std::size_t n = layout_.unknowns, y = layout_.residual();
    for (std::size_t j = 0; j < n; ++j) {
      if (!(rows_[j][j] > 0)) return false;
      const double inverse = 1 / std::sqrt(rows_[j][j]);
      for (std::size_t k = j; k < layout_.rows; ++k) rows_[j][k] *= inverse;
      for (std::size_t i = j + 1; i < y; ++i) {
        const double factor = rows_[j][i];
        for (std::size_t k = i; k < layout_.rows; ++k) rows_[i][k] -= factor * rows_[j][k];
      }
    }
    for (std::size_t i = n; i-- > 0;) {
      double rest = rows_[i][y];
      for (std::size_t k = i + 1; k < n; ++k) rest -= rows_[i][k] * step[k];
      step[i] = rest / rows_[i][i];
      gain += rows_[i][y] * rows_[i][y];
    }
    if (n == kAsked) pull = rows_[kAsked][y], information = rows_[kAsked][kAsked];
    return std::isfinite(gain) && std::all_of(step.begin(), step.end(), [](double d) { return std::isfinite(d); });
  }
  /// After solve(): makes covariance() known.
  void invert() noexcept {
    for (std::size_t j = 0; j < layout_.unknowns; ++j)
      for (std::size_t i = j + 1; i-- > 0;) {  // column j of U^-1, upwards
        double rest = i == j ? 1 : 0;
        for (std::size_t k = i + 1; k <= j; ++k) rest -= rows_[i][k] * inverse_[j][k];
        inverse_[j][i] = rest / rows_[i][i];
      }
  }
  double covariance(std::size_t a, std::size_t b) const noexcept {
    double s = 0;
    for (std::size_t k = std::max(a, b); k < layout_.unknowns; ++k) s += inverse_[k][a] * inverse_[k][b];
    return s;
  }

 private:
  Layout layout_;
  double rows_[kMostRows][kMostRows]{}, inverse_[kMostRows][kMostRows];
};

/// What one look at all pixels adds up, beside the normal equations.
struct Totals {
  Lane rim{}, counted{}, gross{};
  Lane disc{}, open{}, value_sum{}, value_squares{}, brightness{};
  Lane rim_pixels{}, rim_noise{}, rim_beyond{};
};

/// What a full pixel says, which shows `seen` and may be brighter: of log P(v > seen), v normal about the model, the
/// derivative as a residual and the square root of the second one as a weight. Source: [Tobin 1958].
void at_least(const Bits& full, const Lane& sigma, Lane& residual, Lane& weight) noexcept {
  for (int i = 0; i < kLanes; ++i) {
    if (!full[i]) continue;
    const float z = residual[i] / sigma[i];
    if (z < -5) {
      residual[i] = weight[i] = 0;
      continue;
    }
    const float mills = z > 6 ? z + 1 / z : 0.7978846F * std::exp(-0.5F * z * z) / std::erfc(0.7071068F * z);
    const float information = mills * (mills - z);
    residual[i] = sigma[i] * mills / information, weight[i] = std::sqrt(information);
  }
}

/// Weighted residuals and derivatives of eight pixels. @param soft2 misfit squared that is taken for noise
/// @return squared residuals where the rim passes, else 0
Lane weigh(const Model& m, const Lane& seen, const Bits& full, const Patch& patch, const Kernel& kernel, float uncut,
           float soft2, const Layout& layout, Rows& rows, Totals& t) noexcept {
  const BlobEstimate& b = kernel.b;
  const auto where = [](const Bits& on, const Lane& v) { return on ? v : Lane{}; };
  const Bits inside = m.x > -EdgeProfile::kReach;
  const Lane lit = b.level * m.share, value = lit * m.h;
  Lane residual = seen - value;
  const Lane slope = b.level * m.h * m.slope * m.inverse_tau;  // per pixel of distance
  const Lane floor = kFlatFloor * value, edge_floor = kRimFloor * slope, mixed = 4 * m.share * (1 - m.share);
  const Lane photons = patch.variance_slope * more(value, Lane{});
  const Lane noise = patch.variance + patch.variance_cut * less(more(value * uncut, Lane{}), spread(1)) + photons +
                     floor * floor + edge_floor * edge_floor + mixed * patch.rim_variance;
  const Lane off = full ? more(residual, Lane{}) : residual;
  const Lane variance = noise + mixed * b.rim_excess, r2 = off * off;
  const Lane width = kRobust2 * (variance + soft2), sigma = root(variance);
  Lane root_weight = where(inside, width / ((width + r2) * sigma)), said = where(inside, spread(1));
  const Lane damp = root_weight * sigma, psi = damp * damp;
  if (mask(full)) {
    Lane weight = spread(1);
    at_least(full, sigma, residual, weight);
    root_weight *= weight, said *= weight * weight;
  }
  const Lane by_r = slope * m.flat;
  // tau^2 = n S n + 1/12: d share / d tau^2 = -x slope / (2 tau^2)
  const Lane blur = -0.5F * m.x * slope * m.inverse_tau;
  rows[0] = root_weight * (slope * m.nx), rows[1] = root_weight * (slope * m.ny), rows[2] = root_weight * by_r;
  rows[3] = root_weight * (blur * m.nx * m.nx), rows[4] = root_weight * (2 * blur * m.nx * m.ny);
  rows[5] = root_weight * (blur * m.ny * m.ny), rows[6] = root_weight * (m.share * m.h);
  rows[7] = root_weight * (lit * m.X), rows[8] = root_weight * (lit * m.Y), rows[9] = root_weight * (lit * m.D);
  const Lane by_light = root_weight * lit;
  if (kernel.shading == Shading::shaded) {
    const Lane side = by_light * m.side;
    const float away = 0.5F / (2 * kernel.half_k + 1e-6F);  // of |k| / 2, by k
    rows[kShade] = side * m.X - by_light * (away * kernel.k[0]);
    rows[kShade + 1] = side * m.Y - by_light * (away * kernel.k[1]);
    rows[kShade + 2] = side * (m.D + 0.5F) - by_light * (away * kernel.k[2]);
    rows[kShade + 3] = Lane{};
  } else {
    rows[kAsked] = kernel.shading == Shading::asked ? by_light * m.fold : root_weight * (by_r * m.beyond_round);
  }
  rows[layout.residual()] = root_weight * residual;

  t.counted += said, t.rim = fused(psi, slope, t.rim);
  const Bits on_disc = m.share > 0.8F;
  const Lane on = where(on_disc & ~full, value);
  t.disc += where(on_disc, spread(1)), t.open += where(on_disc & ~full, spread(1));
  t.value_sum += on, t.value_squares = fused(on, value, t.value_squares);
  t.brightness = fused(on, kPsi * psi * r2 - (noise - photons), t.brightness);
  t.gross += where(inside & (r2 > more(kGross * noise, spread(kGrossShare * kGrossShare))), spread(1));
  const Bits on_rim = (mixed > 0.36F) & ~full;
  t.rim_pixels += where(on_rim, spread(1)), t.rim_noise += where(on_rim, noise);
  t.rim_beyond += where(on_rim & (r2 > 2 * kMedianSquare * noise), spread(1));
  return where(on_rim, r2);
}

/// What the eighths of the disc say of the centre's error, each by its own misfits.
struct Eighths {
  float unevenness = 0;           // BlobEstimate's
  std::array<float, 3> beside{};  // xx xy yy: sum over eighths of what lies there beside the disc, squared, less chance
};

/// Source of the first: the sandwich covariance of clustered observations, [Liang and Zeger 1986].
Eighths look_at_eighths(const std::array<Model, kGroups>& model, const std::array<Rows, kGroups>& rows,
                        std::size_t groups, const NormalEquations& normal, const Layout& layout) noexcept {
  std::array<std::array<float, kMostRows>, 2> to_centre;
  for (std::size_t a = 0; a < 2; ++a)
    for (std::size_t k = 0; k < layout.unknowns; ++k) to_centre[a][k] = static_cast<float>(normal.covariance(a, k));
  std::array<std::array<Lane, 4>, 8> part{};  // pull x, y; misfit beside, pixels beside
  for (std::size_t g = 0; g < groups; ++g) {
    const Rows& r = rows[g];
    const Model& m = model[g];
    Lane x{}, y{};
    for (std::size_t k = 0; k < layout.unknowns; ++k)
      x = fused(spread(to_centre[0][k]), r[k], x), y = fused(spread(to_centre[1][k]), r[k], y);
    x *= r[layout.residual()], y *= r[layout.residual()];
    const Bits beside = (m.share < 0.02F) & (m.x > -EdgeProfile::kReach);
    const Lane misfit = beside ? r[layout.residual()] : Lane{}, one = beside ? spread(1) : Lane{};
    const Bits left = m.qx < 0.0F, up = m.qy < 0.0F, steep = size(m.qx) < size(m.qy);
    for (unsigned k = 0; k < 8; ++k) {
      const Bits in = (k & 1 ? left : ~left) & (k & 2 ? up : ~up) & (k & 4 ? steep : ~steep);
      part[k][0] += in ? x : Lane{}, part[k][1] += in ? y : Lane{};
      part[k][2] += in ? misfit : Lane{}, part[k][3] += in ? one : Lane{};
    }
  }
  const double xx = normal.covariance(0, 0), xy = normal.covariance(0, 1), yy = normal.covariance(1, 1);
  Eighths out;
  double all = 0;
  for (unsigned k = 0; k < 8; ++k) {
    const double px = static_cast<double>(sum(part[k][0])), py = static_cast<double>(sum(part[k][1]));
    all += (yy * px * px - 2 * xy * px * py + xx * py * py) / (xx * yy - xy * xy);
    const float n = sum(part[k][3]);
    if (n < 3) continue;
    const float mean = sum(part[k][2]) / n, square = std::max(0.0F, mean * mean - kChance / n);
    const float nx = (k & 4 ? 0.3827F : 0.9239F) * (k & 1 ? -1.0F : 1.0F),
                ny = (k & 4 ? 0.9239F : 0.3827F) * (k & 2 ? -1.0F : 1.0F);
    out.beside[0] += square * nx * nx, out.beside[1] += square * nx * ny, out.beside[2] += square * ny * ny;
  }
  out.unevenness = static_cast<float>(0.5 * all);
  return out;
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
  // A column of M in pixels is a step of n; what of it lies across the ray is an axis of the disc.
  const double lens_det = J[0] * J[3] - J[1] * J[2];
  const auto axis = [&](double u, double v) {
    const Vec3 step{(J[3] * u - J[1] * v) / lens_det, (J[0] * v - J[2] * u) / lens_det, 0}, ray{n.x, n.y, 1};
    const Vec3 across = step - (dot(step, ray) / nn) * ray;
    const double length = norm(across);
    return std::array<float, 3>{static_cast<float>(across.x / length), static_cast<float>(across.y / length),
                                static_cast<float>(across.z / length)};
  };
  const double away = -1 / std::sqrt(nn);
  shape.axes_C = {axis(l, m),
                  axis(0, k),
                  {static_cast<float>(away * n.x), static_cast<float>(away * n.y), static_cast<float>(away)}};
  return shape;
}

void predict(const Patch& patch, const BlobEstimate& b, const OutlineShape& shape, float* covered,
             float* value) noexcept {
  std::fill_n(covered, patch.width * patch.height, 0.0F);
  std::fill_n(value, patch.width * patch.height, 0.0F);
  const Window w = window_of(patch, b, shape, 0);
  const Kernel kernel{b, shape, b.shade == std::array<float, 3>{} ? Shading::smooth : Shading::shaded, b.shade};
  Model m;
  for (int y = w.y0; y <= w.y1; ++y)
    for (int x = w.x0; x <= w.x1; x += kLanes) {
      kernel.outline(Lane{0, 1, 2, 3, 4, 5, 6, 7} + static_cast<float>(patch.x0 + x),
                     spread(static_cast<float>(patch.y0 + y)), m);
      kernel.edge(m), kernel.light(m);
      for (int i = 0; i < std::min(kLanes, w.x1 - x + 1); ++i) {
        covered[y * patch.width + x + i] = m.share[i];
        value[y * patch.width + x + i] = b.level * m.share[i] * m.h[i];
      }
    }
}

BlobEstimate fit_blob(const Patch& patch, const OutlineShape& shape, const BlobPrior& prior, BlobEstimate b, int steps,
                      float start_width) noexcept {
  const bool shaded = prior.shading == Shading::shaded;
  const Layout& layout = shaded ? kShaded : kSmooth;
  if (!shaded) b.shade = {};
  const float x_start = b.x, y_start = b.y, r_start = b.r;
  b.ok = false, b.work = 0;
  Pixels pixels;
  BlobEstimate gathered = b;
  constexpr float kSpare = 0.75F;
  gather(patch, b, shape, kSpare, pixels);
  // Far from the answer every rim pixel is an outlier: the robust width shrinks towards the noise's step by step.
  float soft2 = start_width * start_width;
  const float uncut = 1 / (1.5F * std::sqrt(patch.variance + patch.variance_cut) + 1e-6F);
  std::array<Model, kGroups> model;
  std::array<Rows, kGroups> rows;
  alignas(32) std::array<float, kFitPixels> squares;
  for (int step = 0;; ++step, soft2 *= kSharpen) {
    if (std::abs(b.x - gathered.x) + std::abs(b.y - gathered.y) + std::abs(b.r - gathered.r) > kSpare) {
      gathered = b;
      gather(patch, b, shape, kSpare, pixels);
    }
    const Kernel kernel{b, shape, prior.shading, shaded ? b.shade : prior.shade};
    b.work += (pixels.count + kLanes - 1) / kLanes;
    const std::size_t groups = static_cast<std::size_t>((pixels.count + kLanes - 1) / kLanes);
    for (std::size_t g = 0; g < groups; ++g)
      kernel.outline(load(pixels.x.data() + kLanes * g), load(pixels.y.data() + kLanes * g), model[g]);
    for (std::size_t g = 0; g < groups; ++g) kernel.edge(model[g]);
    for (std::size_t g = 0; g < groups; ++g) kernel.light(model[g]);
    Totals t;
    for (std::size_t g = 0; g < groups; ++g)
      store(squares.data() + kLanes * g,
            weigh(model[g], load(pixels.share.data() + kLanes * g), load(pixels.full.data() + kLanes * g) > 0.0F, patch,
                  kernel, uncut, soft2, layout, rows[g], t));
    const float count = sum(t.counted);
    if (count < 12) return b;
    // Twice the noise is no chance any more.
    const float on_rim = sum(t.rim_pixels);
    b.rim_excess = 0;
    if (on_rim >= 8 && 2 * sum(t.rim_beyond) > on_rim)
      b.rim_excess =
          std::clamp(median(squares, groups, on_rim) / kMedianSquare - sum(t.rim_noise) / on_rim, 0.0F, 0.04F);
    const Gram gram(rows, groups, layout);
    NormalEquations normal(gram, layout);
    const auto pull = [&](std::size_t i, double now, double mean, double sigma) {
      normal.expect(i, 1 / (sigma * sigma), mean - now);
    };
    const double blur_sigma = static_cast<double>(prior.blur_sigma_px2);
    pull(3, b.blur[0], prior.blur_px2, blur_sigma);
    pull(4, b.blur[1], 0, 0.7 * blur_sigma);
    pull(5, b.blur[2], prior.blur_px2, blur_sigma);
    for (std::size_t k = 0; k < 3; ++k) {
      pull(7 + k, b.light[k], prior.light[k], prior.light_sigma[k]);
      if (!shaded) continue;
      pull(kShade + k, b.shade[k], prior.shade[k], prior.shade_sigma[k]);
      normal.expect_between(7 + k, kShade + k, 1 / (kLambert * kLambert), b.shade[k] - b.light[k]);
    }
    pull(2, b.r, b.r, 2.0 * static_cast<double>(r_start));  // against a singular matrix only
    pull(6, b.level, b.level, 10);
    if (!normal.solve()) return b;
    if (prior.shading == Shading::asked) {
      b.pull = static_cast<float>(normal.pull), b.information = static_cast<float>(normal.information);
      return b;
    }
    std::array<double, kMostRows> d = normal.step;
    const double longest = std::max({std::abs(d[0]), std::abs(d[1]), std::abs(d[2])});
    // The robust width must have come down to the noise's, too.
    const bool stands = longest < static_cast<double>(kStandStill) || normal.gain < kStandStill2;
    const bool last = step >= steps || (stands && soft2 < 0.25F * patch.variance + 1e-5F);
    if (last) {
      normal.invert();
      b.var_xx = kSure * normal.covariance(0, 0), b.var_xy = kSure * normal.covariance(0, 1);
      b.var_yy = kSure * normal.covariance(1, 1);
      for (std::size_t k = 0; k < 3; ++k) b.light_variance[k] = static_cast<float>(normal.covariance(7 + k, 7 + k));
      for (std::size_t k = 0; shaded && k < 3; ++k)
        b.shade_variance[k] = static_cast<float>(normal.covariance(kShade + k, kShade + k));
      const double xx = normal.covariance(7, 7), xy = normal.covariance(7, 8), yy = normal.covariance(8, 8),
                   det = xx * yy - xy * xy;
      for (std::size_t k = 0; k < 2; ++k) {
        const double by_x = normal.covariance(k, 7), by_y = normal.covariance(k, 8);
        b.centre_by_slope[2 * k] = static_cast<float>((by_x * yy - by_y * xy) / det);
        b.centre_by_slope[2 * k + 1] = static_cast<float>((by_y * xx - by_x * xy) / det);
      }
      b.blur_variance =
          static_cast<float>(0.25 * (normal.covariance(3, 3) + normal.covariance(5, 5) + 2 * normal.covariance(3, 5)));
      const Eighths eighths = look_at_eighths(model, rows, groups, normal, layout);
      b.unevenness = eighths.unevenness;
      for (std::size_t k = 0; k < 3; ++k) b.beside[k] = patch.variance * eighths.beside[k];
      const float excess = 0.7F * b.rim_excess;
      b.rim_own = excess > 0 && on_rim > 0 ? excess / (excess + sum(t.rim_noise) / on_rim) : 0;
      const double chi2 = gram(layout.residual(), layout.residual());
      b.chi2 = static_cast<float>(chi2), b.pixels = static_cast<int>(count);
      // A parameter of the outline's way to a circle, all else free: chi^2 falls by 2 s (its residual) - s^2 (its
      // square).
      b.round_gain = shaded ? 0 : static_cast<float>((2 * normal.pull - normal.information) / (chi2 + 1e-9));
      b.gross = sum(t.gross), b.open = sum(t.open) / std::max(1.0F, sum(t.disc));
      b.value_sum = sum(t.value_sum), b.value_squares = sum(t.value_squares), b.brightness = sum(t.brightness);
      b.arc = std::clamp(sum(t.rim) / (2 * kPi * b.r * b.level), 0.0F, 1.0F);
      b.ok = b.var_xx > 0 && b.var_yy > 0 && std::isfinite(b.chi2) && b.level > 0.2F && b.level < kBrightest &&
             b.r > 0.8F && longest < 0.25 && std::hypot(b.x - x_start, b.y - y_start) < 1.5F * r_start + 2;
    }
    for (double& x : d) x *= std::min(1.0, 1.2 / std::max(1e-9, longest));
    b.x += static_cast<float>(d[0]), b.y += static_cast<float>(d[1]);
    b.r = std::clamp(b.r + static_cast<float>(d[2]), 0.7F, 60.0F);
    b.blur[0] = std::clamp(b.blur[0] + static_cast<float>(d[3]), 0.0F, 25.0F);
    b.blur[2] = std::clamp(b.blur[2] + static_cast<float>(d[5]), 0.0F, 25.0F);
    const float most = 0.95F * std::sqrt(b.blur[0] * b.blur[2]);
    b.blur[1] = std::clamp(b.blur[1] + static_cast<float>(d[4]), -most, most);
    b.level = std::clamp(b.level + static_cast<float>(d[6]), 0.05F, 2 * kBrightest);
    const float steepest = shaded ? kSteepest : 0.9F;
    for (std::size_t k = 0; k < 3; ++k) {
      b.light[k] = std::clamp(b.light[k] + static_cast<float>(d[7 + k]), -steepest, k == 2 ? kSteepest : steepest);
      if (shaded) b.shade[k] = std::clamp(b.shade[k] + static_cast<float>(d[kShade + k]), -kSteepest, kSteepest);
    }
    if (last) return b;
  }
}

}  // namespace ligature::drivers
