#include "drivers/markers/detector.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "drivers/markers/blob_fit.hpp"
#include "drivers/markers/edge_profile.hpp"
#include "drivers/markers/lanes.hpp"
#include "sim/base/units.hpp"

namespace ligature::drivers {
namespace {

constexpr int kCell = 4;                     // pixels of a cell's side
constexpr std::size_t kRegions = 4;          // regions of a colour looked at
constexpr std::size_t kCareful = 8;          // blobs of an image that a second look is spent on
constexpr std::size_t kBlobs = 18;           // blobs of an image fitted
constexpr int kWork = 5000;                  // eights of pixels that an image's fits look at ...
constexpr int kCarefulWork = 1600;           // ... of which a second look needs so many, and the last steps are left
constexpr std::size_t kPixelBudget = 20000;  // pixels of an image looked at closely
static_assert(Patch::kMaxPixels % lanes::kLanes == 0);
constexpr int kMargin = 6;             // pixels round a region's cells that may hold its rim
constexpr int kBlock = 4;              // side of the means that tell whether neighbours' noise is alike
constexpr int kGridX = 7, kGridY = 8;  // of the pixels that tell the background
constexpr int kFirstSteps = 6, kLastSteps = 3;
constexpr float kStartWidth = 0.2F;
constexpr float kWholeArc = 0.85F, kMostOfArc = 0.7F;
// Of the level squared that lies beside an eighth of the disc, into the centre [px^2].
constexpr double kBeside2 = 0.5;
constexpr double kUneven = 2, kRimTogether = 2.3, kMisfitPart = 0.8;
constexpr double kHiddenPart = 0.03, kHiddenSwell = 1.3;
constexpr double kBlurDiffers = 0.2;  // from ball to ball [px^2]
// The same of light beyond its direction, as known beforehand, as if from so many slopes seen, and at most: slopes of a
// tenth under a lamp 240 mm away, over 100 mm.
constexpr double kLightDiffers = 0.004, kLightKnown = 3, kLightDiffersMost = 0.03;
// A dark side is there when it is so many sigmas sure, of the lamp at the best angle from the camera's axis; asked
// first at one that sees something of all.
constexpr double kDarkSide = 4, kDarkSideMaybe = 2.5;
constexpr int kLampSteps = 8, kLampFirst = 4;  // of 15 degrees
constexpr double kLampStep = 15 * units::rad_per_deg;
constexpr int kDarkSideWork = 1500, kShadeSteps = 5;
// Of how bright the lamp is: as known beforehand, and from ball to ball, its place 300 mm away.
constexpr double kShadeSigma = 0.3, kShadeDiffers = 0.12;
constexpr double kMostShared = 0.9;   // of a centre's variance, that it may share with the others
constexpr float kOutside = 0.4F;      // of the radius that a centre may lie outside the picture
constexpr float kMostBeside = 1e-3F;  // of the level squared, that one ball's background says of another's
constexpr float kPoor = 1.5F;         // misfit per pixel at which a plain fit is not believed
constexpr float kForeign = 0.5F;      // colour across the marker's own, of its level: not this marker's
constexpr float kTinge = 0.22F;       // a body of this much of it, that is no brighter than the marker, is another one
constexpr float kTingeDim = 0.2F, kTingeBright = 0.95F;
constexpr float kNoisy = 0.12F;     // noise of the level above which 3x3 means decide what hangs together
constexpr float kRoundGain = 0.2F;  // of the misfit, that makes a disc instead of a ball worth a try
constexpr float kGrossPixels = 3;   // below, nothing can hide a ball's rim
constexpr std::uint8_t kNoName = 255, kFullScale = 254;
constexpr float kFullCounts = 0.3F;  // of a marker's brightest colour
// What a disc that is full all over leaves unknown of its centre [px], and the share that must not be to tell all.
constexpr double kBlind = 0.045, kSeesLight = 0.25;
constexpr std::size_t kRays = 48;  // directions in which the rim is looked for

constexpr double square(double x) {
  return x * x;
}

struct Region {
  int x0 = 1 << 20, x1 = -1, y0 = 1 << 20, y1 = -1;  // cells, inclusive
  float score = 0, best = 0;
  int best_cell = 0;
  std::uint8_t name = kNoName;
};

struct Colour {
  float b = 0, g = 0, r = 0;
  float dot(const Colour& o) const { return b * o.b + g * o.g + r * o.r; }
};

struct Blob {
  Patch patch;
  OutlineShape shape;
  BlobEstimate start, fit;
  BlobPrior prior;     // of `fit`
  Colour level;        // K
  float area_px = 0;   // of the blob as segmented
  float covered = 0;   // share of the disc that something else hides
  float together = 1;  // Level's, of the share
  /// By how much of an error of what is believed of the lamp its own slopes are wrong.
  std::array<float, 2> slope_leans{};
  float cube = 0;  // sum K^3 / |K|^4: photon noise of a share per photon noise of a pixel
  std::uint8_t name = kNoName;
  bool occluded = false;  // an outline fitted to an arc
};

struct Level {  // of one colour of the background
  float mean = 0, variance = 1;
  float cut = 0;       // variance that is missing because black ends at 0
  float together = 1;  // variance of the mean of 4x4 pixels beside what it were if they knew nothing of each other
};

/// What all blobs of an image share, from what each of them says of a projection of it: N unknowns.
template <int N>
class Pool {
 public:
  using Vector = Eigen::Matrix<double, N, 1>;

  /// What is believed beforehand. @param differ what one blob has of its own, standard deviation
  Pool(const Vector& mean, const Vector& sigma, double differ) noexcept : differ2_(differ * differ) {
    information_ = sigma.array().square().inverse().matrix().asDiagonal();
    sum_ = information_ * mean;
  }
  /// A blob found `mean` for a.u, with a prior that is taken out again.
  void add(const Vector& a, float mean, float variance, float prior_mean, float prior_sigma) noexcept {
    const Said said = without_prior(mean, variance, prior_mean, prior_sigma);
    information_ += said.weight * a * a.transpose(), sum_ += said.weight * said.mean * a;
  }
  void remove(const Vector& a, float mean, float variance, float prior_mean, float prior_sigma) noexcept {
    const Said said = without_prior(mean, variance, prior_mean, prior_sigma);
    information_ -= said.weight * a * a.transpose(), sum_ -= said.weight * said.mean * a;
  }
  /// How far what a blob found lies from a.u, squared and beyond what both are uncertain by, and the weight of that
  /// when `differ` is expected.
  std::pair<double, double> beyond(const Vector& a, float mean, float variance, float prior_mean, float prior_sigma,
                                   double differ) const noexcept {
    const Said said = without_prior(mean, variance, prior_mean, prior_sigma);
    if (!(said.weight > 0)) return {};
    const Vector spread = information_.ldlt().solve(a);
    const double off = said.mean - spread.dot(sum_), known = 1 / said.weight - differ2_ + a.dot(spread),
                 expected = known + differ * differ;
    return {off * off - known, 1 / (expected * expected)};
  }
  /// a.u as a blob's prior.
  void take(const Vector& a, float& mean, float& sigma) const noexcept {
    const Vector spread = information_.ldlt().solve(a);
    mean = static_cast<float>(spread.dot(sum_)), sigma = static_cast<float>(std::sqrt(a.dot(spread) + differ2_));
  }
  double variance(int i) const noexcept { return information_.ldlt().solve(Vector::Unit(i))[i]; }

 private:
  struct Said {
    double mean = 0, weight = 0;
  };
  Said without_prior(float mean, float variance, float prior_mean, float prior_sigma) const noexcept {
    const double first = 1 / (static_cast<double>(prior_sigma) * static_cast<double>(prior_sigma));
    const double both = 1 / static_cast<double>(variance), pixels = both - first;
    if (!(pixels > 0)) return {};
    return {(both * static_cast<double>(mean) - first * static_cast<double>(prior_mean)) / pixels,
            1 / (1 / pixels + differ2_)};
  }
  Eigen::Matrix<double, N, N> information_;
  Vector sum_;
  double differ2_;
};

}  // namespace

struct MarkerDetector::State {
  DetectorParams params;
  int width = 0, height = 0, cells_x = 0, cells_y = 0;
  Lens lens;
  std::array<float, kMarkers> hue_x{}, hue_y{};  // unit chroma of each marker
  float min_hue_cos = 0;

  std::array<Level, 3> ground{};
  float sigma = 0;
  std::vector<std::uint8_t> thin_byte, mean_byte, spread_byte;  // one row of cells
  std::vector<std::uint16_t> column_sum;
  std::vector<std::array<std::uint16_t, 3>> cell_sum;
  std::vector<std::uint8_t> cell_name;
  std::vector<float> cell_score;
  std::vector<std::uint32_t> cell_parent, named;  // named: cells that have a name, in order
  std::size_t named_count = 0;
  std::vector<Region> regions;  // by root cell
  std::array<std::array<Region, kRegions>, kMarkers> chosen{};
  std::array<std::size_t, kMarkers> chosen_count{};
  std::vector<Blob> blobs;
  std::size_t blob_count = 0, pixels_left = 0;
  int work_left = 0;
  float beside_others = 0;              // BlobEstimate::beside, mean over blobs and axes
  double shade_differs = 0;             // from ball to ball, standard deviation; 0: no dark sides
  std::array<double, 2> slope_sigma{};  // of the lamp's direction across the camera's axis, as all blobs tell it
  bool overflow = false;

  // One region at a time: colours, along, across and what hangs together.
  std::array<std::vector<float>, 3> planes;  // b g r above the ground
  std::vector<float> along, across, smooth;
  std::vector<std::uint8_t> label, foreign, work;
  std::vector<std::uint16_t> stack;

  void measure_ground(const std::uint8_t* bgr, std::ptrdiff_t stride) noexcept;
  void collect_cells(const std::uint8_t* bgr, std::ptrdiff_t stride) noexcept;
  static void spread_of_cells(const std::uint8_t* rows, std::ptrdiff_t stride, int row_bytes, std::uint8_t* thin_rows,
                              std::uint8_t* mean_of, std::uint8_t* spread) noexcept;
  void collect_regions() noexcept;
  bool recolour(Colour& K, std::size_t whole, float noise2) const noexcept;
  void split(const Colour& K, std::size_t whole, float* share) noexcept;
  static void mean_of_nine(float* plane, float* spare, int w, int h) noexcept;
  void collect_blobs(const Region& region, const std::uint8_t* bgr, std::ptrdiff_t stride) noexcept;
  bool find_arc(Blob& blob) noexcept;
  bool mask_covered(Blob& blob) noexcept;
  bool weigh_colours(Blob& blob, const std::uint8_t* bgr, std::ptrdiff_t stride) noexcept;
  double photon_noise() const noexcept;
  BlobEstimate fit(const Blob& blob, const OutlineShape& shape, const BlobPrior& prior, const BlobEstimate& start,
                   int steps, float start_width) noexcept;
  void look_again(Blob& blob, const BlobPrior& prior, const std::uint8_t* bgr, std::ptrdiff_t stride) noexcept;
  void find_dark_side() noexcept;
  void fit_all(const std::uint8_t* bgr, std::ptrdiff_t stride) noexcept;
  bool answer(const Blob& blob, MarkerBlob& out) const noexcept;

  std::uint32_t root(std::uint32_t i) noexcept {
    while (cell_parent[i] != i) i = cell_parent[i] = cell_parent[cell_parent[i]];
    return i;
  }
  static void mark_full(Blob& blob, const std::uint8_t* bgr, std::ptrdiff_t stride) noexcept;
  void mark_bodies(float limit, const float* bright, int w, int h) noexcept;
  static void dilate(std::uint8_t* mask, std::uint8_t* work, int w, int h) noexcept;
};

/// Mean and variance of each colour over the lower part of its histogram; what is brighter is no background.
void MarkerDetector::State::measure_ground(const std::uint8_t* bgr, std::ptrdiff_t stride) noexcept {
  std::array<std::array<std::uint32_t, 256>, 3> histogram{};
  std::uint32_t total = 0;
  for (int y = kGridY / 2; y < height; y += kGridY)
    for (int x = (3 * y) % kGridX; x < width; x += kGridX, ++total)
      for (std::size_t k = 0; k < 3; ++k) ++histogram[k][bgr[y * stride + 3 * x + static_cast<std::ptrdiff_t>(k)]];
  sigma = 0.3F;
  std::array<int, 3> brightest{};
  for (std::size_t k = 0; k < 3; ++k) {
    const auto quantile = [&](double q) {
      const double want = q * total;
      double seen = 0;
      for (std::size_t v = 0; v < 256; ++v) {
        const double next = seen + histogram[k][v];
        if (next >= want && histogram[k][v] > 0) return static_cast<double>(v) - 0.5 + (want - seen) / histogram[k][v];
        seen = next;
      }
      return 255.0;
    };
    const double median = quantile(0.5), half = std::max(0.5, quantile(0.8413) - median);
    const std::size_t top = static_cast<std::size_t>(std::clamp(median + 3.5 * half + 1, 0.0, 255.0));
    double n = 0, sum = 0, squares = 0;
    for (std::size_t v = 0; v <= top; ++v) {
      const double c = histogram[k][v], x = static_cast<double>(v);
      n += c, sum += c * x, squares += c * x * x;
    }
    const double mean = n > 0 ? sum / n : median;
    const double variance = n > 1 ? (squares - n * mean * mean) / (n - 1) : 1;
    const bool black = histogram[k][0] > 0.02 * total;
    ground[k] = {static_cast<float>(mean), static_cast<float>(std::max(0.09, variance)),
                 black ? static_cast<float>(std::max(0.0, half * half - variance)) : 0.0F};
    sigma = std::max(sigma, std::sqrt(ground[k].variance + ground[k].cut));
    brightest[k] = static_cast<int>(top);
  }
  // A sensor with one colour a pixel, and codecs, make neighbours' noise alike. Differences of 4x4 means side by side
  // do not see how the light falls off.
  std::array<double, 3> squares{};
  std::array<int, 3> pairs{};
  for (int y = kBlock; y + kBlock <= height; y += 7 * kBlock)
    for (int x = (5 * y) % (6 * kBlock); x + 2 * kBlock <= width; x += 6 * kBlock)
      for (std::size_t k = 0; k < 3; ++k) {
        int left = 0, right = 0, most = 0;
        for (int j = 0; j < kBlock; ++j) {
          const std::uint8_t* p = bgr + (y + j) * stride + 3 * x + static_cast<std::ptrdiff_t>(k);
          for (int i = 0; i < kBlock; ++i) {
            left += p[3 * i], right += p[3 * (kBlock + i)];
            most = std::max<int>({most, p[3 * i], p[3 * (kBlock + i)]});
          }
        }
        if (most > brightest[k]) continue;
        squares[k] += (left - right) * (left - right), ++pairs[k];
      }
  for (std::size_t k = 0; k < 3; ++k) {
    constexpr double kDoubt = 1.35;  // four times what chance gives with 220 pairs
    const double together =
        pairs[k] < 30 ? 1 : squares[k] / (2.0 * kBlock * kBlock * pairs[k] * static_cast<double>(ground[k].variance));
    // Neighbouring means are themselves a little alike.
    ground[k].together = together > kDoubt ? static_cast<float>(std::min(1 + 1.2 * (together - 1), 6.0)) : 1.0F;
  }
}

/// Of a row of cells, at every cell's first byte: largest less smallest colour of its mean, in bytes rounded up. Two
/// averages down and two across; between the cells' first bytes lies what nobody reads.
void MarkerDetector::State::spread_of_cells(const std::uint8_t* __restrict rows, std::ptrdiff_t stride, int row_bytes,
                                            std::uint8_t* __restrict thin_rows, std::uint8_t* __restrict mean_of,
                                            std::uint8_t* __restrict spread) noexcept {
  using Byte = std::uint8_t;
  const auto average = [](Byte a, Byte b) { return static_cast<Byte>((a + b + 1) >> 1); };
  const std::uint8_t *r0 = rows, *r1 = r0 + stride, *r2 = r1 + stride, *r3 = r2 + stride;
  for (int i = 0; i < row_bytes; ++i) thin_rows[i] = average(average(r0[i], r1[i]), average(r2[i], r3[i]));
  for (int i = 0; i < row_bytes; ++i)
    mean_of[i] = average(average(thin_rows[i], thin_rows[i + 3]), average(thin_rows[i + 6], thin_rows[i + 9]));
  for (int i = 0; i < row_bytes; ++i) {
    const Byte a = mean_of[i], b = mean_of[i + 1], c = mean_of[i + 2];
    const Byte high = std::max(a, b), low = std::min(a, b);
    spread[i] = static_cast<Byte>(std::max(high, c) - std::min(low, c));
  }
}

void MarkerDetector::State::collect_cells(const std::uint8_t* bgr, std::ptrdiff_t stride) noexcept {
  constexpr float kPixels = kCell * kCell;
  // Chroma's noise: variance 3/2 of a colour's.
  const float least = std::max(static_cast<float>(255 * params.min_level),
                               static_cast<float>(params.noise_sigmas) * sigma * std::sqrt(1.5F) / kCell);
  const float least2 = least * least, saturation2 = static_cast<float>(params.min_saturation * params.min_saturation);
  // The chroma of a colour is at most the spread between its largest and smallest part.
  const int least_spread = static_cast<int>(kPixels * (least - 0.0F) * 0.98F);
  const int ground_spread = static_cast<int>(kPixels * (std::max({ground[0].mean, ground[1].mean, ground[2].mean}) -
                                                        std::min({ground[0].mean, ground[1].mean, ground[2].mean})));
  const int least_sum = least_spread - ground_spread;
  // Byte means round up, by less than two levels in four steps: what they rule out is out.
  const int least_byte = std::max(0, least_sum) / (kCell * kCell) - 2;
  named_count = 0;
  std::fill(cell_name.begin(), cell_name.end(), kNoName);
  const int row_bytes = 3 * kCell * cells_x;
  for (int cy = 0; cy < cells_y; ++cy) {
    const std::uint8_t* p = bgr + kCell * cy * stride;
    spread_of_cells(p, stride, row_bytes, thin_byte.data(), mean_byte.data(), spread_byte.data());
    bool summed = false;
    for (int cx = 0; cx < cells_x; ++cx) {
      if (spread_byte[static_cast<std::size_t>(3 * kCell * cx)] < least_byte) continue;
      if (!summed)
        for (int i = 0; i < row_bytes; ++i)
          column_sum[static_cast<std::size_t>(i)] =
              static_cast<std::uint16_t>(p[i] + p[i + stride] + p[i + 2 * stride] + p[i + 3 * stride]);
      summed = true;
      const std::uint16_t* c = column_sum.data() + 3 * kCell * cx;
      const int b = c[0] + c[3] + c[6] + c[9], g = c[1] + c[4] + c[7] + c[10], r = c[2] + c[5] + c[8] + c[11];
      if (std::max({b, g, r}) - std::min({b, g, r}) < least_sum) continue;
      const std::size_t cell = static_cast<std::size_t>(cy * cells_x + cx);
      const float fb = static_cast<float>(b) / kPixels - ground[0].mean,
                  fg = static_cast<float>(g) / kPixels - ground[1].mean,
                  fr = static_cast<float>(r) / kPixels - ground[2].mean;
      const float x = fr - 0.5F * (fg + fb), y = 0.8660254F * (fg - fb), chroma2 = x * x + y * y;
      if (chroma2 < least2) continue;
      const float top = std::max({fb, fg, fr});
      if (chroma2 < saturation2 * top * top) continue;
      const float chroma = std::sqrt(chroma2);
      float best = min_hue_cos * chroma;
      for (std::size_t m = 0; m < kMarkers; ++m) {
        const float along_hue = x * hue_x[m] + y * hue_y[m];
        if (along_hue > best) best = along_hue, cell_name[cell] = static_cast<std::uint8_t>(m);
      }
      if (cell_name[cell] == kNoName) continue;
      named[named_count++] = static_cast<std::uint32_t>(cell);
      cell_score[cell] = chroma;
      cell_sum[cell] = {static_cast<std::uint16_t>(b), static_cast<std::uint16_t>(g), static_cast<std::uint16_t>(r)};
    }
  }
}

void MarkerDetector::State::collect_regions() noexcept {
  const std::uint32_t across_row = static_cast<std::uint32_t>(cells_x);
  for (std::size_t k = 0; k < named_count; ++k) {
    const std::uint32_t i = named[k], cx = i % across_row, cy = i / across_row;
    const std::uint8_t name = cell_name[i];
    cell_parent[i] = i;
    const auto join = [&](std::uint32_t other) {
      if (cell_name[other] != name) return;
      const std::uint32_t a = root(other), b = root(i);
      cell_parent[std::max(a, b)] = std::min(a, b);
    };
    if (cx > 0) join(i - 1);
    if (cy == 0) continue;
    join(i - across_row);
    if (cx > 0) join(i - across_row - 1);
    if (cx + 1 < across_row) join(i - across_row + 1);
  }
  chosen_count.fill(0);
  const int widest = static_cast<int>(params.max_extent_px) / kCell + 1;
  for (std::size_t k = 0; k < named_count; ++k) {
    const std::uint32_t i = named[k], r = root(i);
    const int cx = static_cast<int>(i % across_row), cy = static_cast<int>(i / across_row);
    Region& region = regions[r];
    if (r == i) region = Region{}, region.name = cell_name[i];  // roots come before their members
    region.x0 = std::min(region.x0, cx), region.x1 = std::max(region.x1, cx);
    region.y0 = std::min(region.y0, cy), region.y1 = std::max(region.y1, cy);
    region.score += cell_score[i];
    if (cell_score[i] > region.best) region.best = cell_score[i], region.best_cell = static_cast<int>(i);
  }
  for (std::size_t n = 0; n < named_count; ++n) {
    const std::uint32_t i = named[n];
    if (cell_parent[i] != i) continue;
    const Region& region = regions[i];
    if (region.x1 - region.x0 >= widest || region.y1 - region.y0 >= widest) continue;
    auto& list = chosen[region.name];
    std::size_t& count = chosen_count[region.name];
    std::size_t at = count;
    while (at > 0 && list[at - 1].score < region.score) --at;
    if (count == kRegions) overflow = true;
    if (at == kRegions) continue;
    for (std::size_t k = std::min(count, kRegions - 1); k > at; --k) list[k] = list[k - 1];
    list[at] = region;
    count = std::min(count + 1, kRegions);
  }
}

/// Every set pixel spreads to its eight neighbours.
void MarkerDetector::State::dilate(std::uint8_t* mask, std::uint8_t* spare, int w, int h) noexcept {
  for (int y = 0; y < h; ++y) {
    const std::uint8_t* m = mask + y * w;
    std::uint8_t* o = spare + y * w;
    for (int x = 0; x < w; ++x)
      o[x] = static_cast<std::uint8_t>(m[x] | m[std::max(0, x - 1)] | m[std::min(w - 1, x + 1)]);
  }
  for (int y = 0; y < h; ++y) {
    const std::uint8_t *a = spare + std::max(0, y - 1) * w, *b = spare + y * w, *c = spare + std::min(h - 1, y + 1) * w;
    for (int x = 0; x < w; ++x) mask[y * w + x] = static_cast<std::uint8_t>(a[x] | b[x] | c[x]);
  }
}

/// A colour K becomes the mean of the pixels that look like it. false, and K left alone, when there are hardly any.
bool MarkerDetector::State::recolour(Colour& K, std::size_t whole, float noise2) const noexcept {
  using namespace lanes;
  const float kk = K.dot(K), inv = 1 / kk, most = std::max(noise2, kForeign * kForeign * kk);
  Lane b{}, g{}, r{}, count{};
  for (std::size_t i = 0; i < whole; i += kLanes) {
    const Lane vb = load(planes[0].data() + i), vg = load(planes[1].data() + i), vr = load(planes[2].data() + i);
    const Lane s = (vb * K.b + vg * K.g + vr * K.r) * inv, rest = vb * vb + vg * vg + vr * vr - s * s * kk;
    const Bits like = (s >= 0.75F) & (s <= 1.6F) & (rest <= most);
    b += like ? vb : Lane{}, g += like ? vg : Lane{}, r += like ? vr : Lane{}, count += like ? spread(1) : Lane{};
  }
  const float pixels = sum(count);
  if (pixels < 4) return false;
  K = {sum(b) / pixels, sum(g) / pixels, sum(r) / pixels};
  return true;
}

/// The planes' pixels along K, in units of it, and `across` it, squared.
void MarkerDetector::State::split(const Colour& K, std::size_t whole, float* share) noexcept {
  using namespace lanes;
  const float inv = 1 / K.dot(K);
  for (std::size_t i = 0; i < whole; i += kLanes) {
    const Lane b = load(planes[0].data() + i), g = load(planes[1].data() + i), r = load(planes[2].data() + i);
    const Lane s = (b * K.b + g * K.g + r * K.r) * inv;
    store(share + i, s), store(across.data() + i, more((b * b + g * g + r * r) * inv - s * s, Lane{}));
  }
}

/// Every pixel becomes the mean of itself and its neighbours, as far as there are any.
void MarkerDetector::State::mean_of_nine(float* __restrict plane, float* __restrict spare, int w, int h) noexcept {
  for (int y = 0; y < h; ++y) {
    const float* p = plane + y * w;
    float* o = spare + y * w;
    if (w == 1) {
      o[0] = p[0];
      continue;
    }
    o[0] = (p[0] + p[1]) / 2, o[w - 1] = (p[w - 2] + p[w - 1]) / 2;
    for (int x = 1; x + 1 < w; ++x) o[x] = (p[x - 1] + p[x] + p[x + 1]) * (1.0F / 3);
  }
  for (int y = 0; y < h; ++y) {
    const float *a = spare + std::max(0, y - 1) * w, *b = spare + y * w, *c = spare + std::min(h - 1, y + 1) * w;
    const bool inner = y > 0 && y + 1 < h;
    for (int x = 0; x < w; ++x)
      plane[y * w + x] = inner    ? (a[x] + b[x] + c[x]) * (1.0F / 3)
                         : h == 1 ? b[x]
                                  : (y == 0 ? b[x] + c[x] : a[x] + b[x]) / 2;
  }
}

/// Grey, skin or a glove differ less from yellow than yellow's own rim may, but not over 3x3 pixels.
void MarkerDetector::State::mark_bodies(float limit, const float* bright, int w, int h) noexcept {
  const std::size_t n = static_cast<std::size_t>(w * h);
  for (std::size_t i = 0; i < n; ++i)
    work[i] = (across[i] > limit) & (bright[i] > kTingeDim) & (bright[i] < kTingeBright);
  for (int y = 1; y + 1 < h; ++y)
    for (int x = 1; x + 1 < w; ++x) {
      const std::uint8_t* p = work.data() + y * w + x;
      if (!(p[0] & p[-1] & p[1] & p[-w - 1] & p[-w] & p[-w + 1] & p[w - 1] & p[w] & p[w + 1])) continue;
      for (int k = -1; k <= 1; ++k) {
        std::fill_n(foreign.data() + (y + k) * w + x - 1, 3, std::uint8_t{1});
        std::fill_n(label.data() + (y + k) * w + x - 1, 3, std::uint8_t{0});
      }
    }
}

/// Pixels that the sensor cut off in a colour that counts.
void MarkerDetector::State::mark_full(Blob& blob, const std::uint8_t* bgr, std::ptrdiff_t stride) noexcept {
  Patch& p = blob.patch;
  const Colour K = blob.level;
  const float counts = kFullCounts * std::max({K.b, K.g, K.r});
  const std::array<bool, 3> counting{K.b > counts, K.g > counts, K.r > counts};
  for (int y = 0; y < p.height; ++y) {
    const std::uint8_t* px = bgr + (p.y0 + y) * stride + 3 * p.x0;
    std::uint8_t* use = p.use.data() + y * p.width;
    for (int x = 0; x < p.width; ++x)
      for (std::size_t k = 0; k < 3; ++k)
        if (counting[k] && px[3 * x + static_cast<int>(k)] >= kFullScale && use[x]) use[x] = Patch::kFull;
  }
}

void MarkerDetector::State::collect_blobs(const Region& region, const std::uint8_t* bgr,
                                          std::ptrdiff_t stride) noexcept {
  const int x0 = std::max(0, kCell * region.x0 - kMargin),
            x1 = std::min(width - 1, kCell * (region.x1 + 1) + kMargin - 1);
  const int y0 = std::max(0, kCell * region.y0 - kMargin),
            y1 = std::min(height - 1, kCell * (region.y1 + 1) + kMargin - 1);
  const int w = x1 - x0 + 1, h = y1 - y0 + 1;
  const std::size_t n = static_cast<std::size_t>(w * h);
  if (n > Patch::kMaxPixels || n > pixels_left) {
    overflow = true;
    return;
  }
  pixels_left -= n;

  // Colours above the ground, one plane each, filled up to whole lanes with ground.
  const std::size_t whole = (n + lanes::kLanes - 1) / lanes::kLanes * lanes::kLanes;
  for (auto& plane : planes)
    std::fill(plane.begin() + static_cast<std::ptrdiff_t>(n), plane.begin() + static_cast<std::ptrdiff_t>(whole), 0.0F);
  for (int y = 0; y < h; ++y) {
    const std::uint8_t* p = bgr + (y0 + y) * stride + 3 * x0;
    const std::size_t row = static_cast<std::size_t>(y * w);
    for (std::size_t k = 0; k < 3; ++k)
      for (int x = 0; x < w; ++x)
        planes[k][row + static_cast<std::size_t>(x)] = p[3 * x + static_cast<int>(k)] - ground[k].mean;
  }
  // The marker's own colour: first the best cell's, then the mean of what looks like it.
  const auto& best = cell_sum[static_cast<std::size_t>(region.best_cell)];
  constexpr float kPixels = kCell * kCell;
  Colour K{best[0] / kPixels - ground[0].mean, best[1] / kPixels - ground[1].mean, best[2] / kPixels - ground[2].mean};
  const float noise2 = 4.5F * 4.5F * 2 * sigma * sigma;
  for (int round = 0; round < 2 && recolour(K, whole, noise2); ++round) {
  }
  const float kk = K.dot(K);
  if (!(kk > 16)) return;
  // A crescent of the marker beside something grey: what the region is mostly of is not the marker.
  if (std::hypot(K.r - 0.5F * (K.g + K.b), 0.8660254F * (K.g - K.b)) <
      static_cast<float>(params.min_saturation) * std::max({K.r, K.g, K.b}))
    return;
  const float inv = 1 / kk;
  const float variance =
      (K.b * K.b * ground[0].variance + K.g * K.g * ground[1].variance + K.r * K.r * ground[2].variance) * inv * inv;
  split(K, whole, along.data());
  // In much noise, means of 3x3 decide; two colours lie across.
  const float* decide = along.data();
  float across_noise = 4.5F * 4.5F * 2 * sigma * sigma * inv;
  if (variance > kNoisy * kNoisy) {
    for (auto& plane : planes) mean_of_nine(plane.data(), smooth.data(), w, h);
    split(K, whole, smooth.data());
    decide = smooth.data();
    across_noise /= 9;
  }
  const float across_limit = std::max(across_noise, kForeign * kForeign);
  for (std::size_t i = 0; i < n; ++i) {
    foreign[i] = across[i] > across_limit;
    label[i] = (across[i] <= across_limit) & (decide[i] > 0.5F) ? 255 : 0;
  }
  mark_bodies(std::max(across_noise, kTinge * kTinge), decide, w, h);

  // What hangs together, largest three.
  struct Piece {
    float area = 0, x = 0, y = 0;
    int pixels = 0;
    std::uint8_t label = 0;
  };
  std::array<Piece, 4> pieces{};
  std::size_t piece_count = 0;
  std::uint8_t next = 1;
  for (std::size_t seed = 0; seed < n && next < 250; ++seed) {
    if (label[seed] != 255) continue;
    Piece piece;
    piece.label = next++;
    std::size_t top = 0;
    stack[top++] = static_cast<std::uint16_t>(seed), label[seed] = piece.label;
    while (top > 0) {
      const int i = stack[--top], x = i % w, y = i / w;
      const float weight = std::clamp(along[static_cast<std::size_t>(i)], 0.0F, 1.0F);
      ++piece.pixels;
      piece.area += weight, piece.x += weight * static_cast<float>(x), piece.y += weight * static_cast<float>(y);
      for (int k = 0; k < 4; ++k) {
        const int nx = x + (k == 0) - (k == 1), ny = y + (k == 2) - (k == 3);
        if (nx < 0 || ny < 0 || nx >= w || ny >= h) continue;
        std::uint8_t& l = label[static_cast<std::size_t>(ny * w + nx)];
        if (l == 255) l = piece.label, stack[top++] = static_cast<std::uint16_t>(ny * w + nx);
      }
    }
    std::size_t place = piece_count;
    while (place > 0 && pieces[place - 1].pixels < piece.pixels) --place;
    if (place == pieces.size()) continue;
    for (std::size_t k = std::min(piece_count, pieces.size() - 1); k > place; --k) pieces[k] = pieces[k - 1];
    pieces[place] = piece;
    piece_count = std::min(piece_count + 1, pieces.size());
  }

  dilate(foreign.data(), work.data(), w, h);
  for (std::size_t k = 0; k < std::min(piece_count, kCandidates); ++k) {
    const Piece& piece = pieces[k];
    if (piece.pixels < params.min_core_px || piece.area <= 0) continue;
    if (blob_count == kBlobs) {
      overflow = true;
      return;
    }
    Blob& blob = blobs[blob_count++];
    blob.name = region.name;
    blob.level = K;
    blob.cube = (K.b * K.b * K.b + K.g * K.g * K.g + K.r * K.r * K.r) * inv * inv;
    blob.area_px = static_cast<float>(piece.pixels), blob.together = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      const float part = c == 0 ? K.b : c == 1 ? K.g : K.r;
      blob.together += part * part * ground[c].variance * ground[c].together * inv * inv / variance;
    }
    blob.occluded = false, blob.covered = 0;
    Patch& patch = blob.patch;
    patch.x0 = x0, patch.y0 = y0, patch.width = w, patch.height = h;
    patch.variance = variance, patch.variance_slope = 0, patch.rim_variance = 0;
    patch.variance_cut =
        (K.b * K.b * ground[0].cut + K.g * K.g * ground[1].cut + K.r * K.r * ground[2].cut) * inv * inv;
    std::copy_n(along.data(), n, patch.share.data());
    // Other pieces of a size to be a ball, and two pixels round them, are another's.
    std::fill_n(patch.use.data(), n, std::uint8_t{0});
    bool others = false;
    for (std::size_t o = 0; o < piece_count; ++o) {
      if (o == k || pieces[o].pixels < params.min_core_px || 4 * pieces[o].pixels < piece.pixels) continue;
      others = true;
      for (std::size_t i = 0; i < n; ++i)
        if (label[i] == pieces[o].label) patch.use[i] = 1;
    }
    if (others) dilate(patch.use.data(), work.data(), w, h), dilate(patch.use.data(), work.data(), w, h);
    for (std::size_t i = 0; i < n; ++i) patch.use[i] = !(patch.use[i] || foreign[i]);
    mark_full(blob, bgr, stride);
    BlobEstimate start;
    start.x = static_cast<float>(x0) + piece.x / piece.area, start.y = static_cast<float>(y0) + piece.y / piece.area;
    start.r = std::sqrt(static_cast<float>(piece.pixels) / 3.14159265F);
    start.blur = {0.3F, 0, 0.3F};
    start.light = {0, 0, 0.1F};
    blob.shape = outline_shape(lens, {start.x, start.y});
    blob.fit = start;
  }
}

/// The outline from the rim: of all circles (in the outline's own coordinates) through three of its points the one that
/// most points lie on.
bool MarkerDetector::State::find_arc(Blob& blob) noexcept {
  const Patch& p = blob.patch;
  const auto& W = blob.shape.M_inverse;
  const BlobEstimate& start = blob.fit;
  const auto sample = [&](float x, float y, bool& known) {
    const float fx = x - static_cast<float>(p.x0), fy = y - static_cast<float>(p.y0);
    const int ix = static_cast<int>(std::floor(fx)), iy = static_cast<int>(std::floor(fy));
    known = ix >= 0 && iy >= 0 && ix + 1 < p.width && iy + 1 < p.height;
    if (!known) return 0.0F;
    const std::size_t i = static_cast<std::size_t>(iy * p.width + ix), j = i + static_cast<std::size_t>(p.width);
    known = p.use[i] && p.use[i + 1] && p.use[j] && p.use[j + 1];
    const float ax = fx - static_cast<float>(ix), ay = fy - static_cast<float>(iy);
    return (1 - ay) * ((1 - ax) * p.share[i] + ax * p.share[i + 1]) +
           ay * ((1 - ax) * p.share[j] + ax * p.share[j + 1]);
  };
  std::array<float, kRays> qx{}, qy{};
  std::size_t points = 0;
  for (std::size_t k = 0; k < kRays; ++k) {
    const float angle = 6.2831853F * static_cast<float>(k) / kRays, ux = std::cos(angle), uy = std::sin(angle);
    // A step in the outline's coordinates is M u in pixels, M = [W3 -W1; -W2 W0].
    const float dx = W[3] * ux - W[1] * uy, dy = W[0] * uy - W[2] * ux;
    float before = 1, found = -1;
    bool before_known = false;
    const int steps = static_cast<int>(2 * (1.8F * start.r + 3));
    for (int s = 0; s <= steps; ++s) {
      const float t = 0.5F * static_cast<float>(s);
      bool known = false;
      const float v = sample(start.x + t * dx, start.y + t * dy, known);
      if (known && before_known && before >= 0.5F && v < 0.5F) found = t - 0.5F * (0.5F - v) / (before - v);
      before = v, before_known = known;
    }
    if (found > 0) qx[points] = found * ux, qy[points] = found * uy, ++points;
  }
  if (points < 12) return false;
  const float tolerance = 0.3F + 1.5F * std::sqrt(p.variance);
  std::size_t most = 0;
  float best_sum = 0, bx = 0, by = 0, br = 0;
  for (std::size_t a = 0; a < points; ++a)
    for (const std::size_t gap : {points / 10, points / 6, points / 4}) {
      const std::size_t b = (a + gap) % points, c = (a + 2 * gap) % points;
      const float x1 = qx[b] - qx[a], y1 = qy[b] - qy[a], x2 = qx[c] - qx[a], y2 = qy[c] - qy[a];
      const float det = 2 * (x1 * y2 - x2 * y1);
      if (std::abs(det) < 0.05F) continue;
      const float s1 = x1 * x1 + y1 * y1, s2 = x2 * x2 + y2 * y2;
      const float cx = (y2 * s1 - y1 * s2) / det, cy = (x1 * s2 - x2 * s1) / det, r = std::sqrt(cx * cx + cy * cy);
      if (r < 0.8F * start.r || r > 2.5F * start.r || r > 40) continue;
      const float ox = qx[a] + cx, oy = qy[a] + cy;
      std::size_t inliers = 0;
      float sum = 0;
      for (std::size_t i = 0; i < points; ++i) {
        const float ex = qx[i] - ox, ey = qy[i] - oy, miss = std::abs(std::sqrt(ex * ex + ey * ey) - r);
        if (miss < tolerance) ++inliers, sum += miss;
      }
      if (inliers > most || (inliers == most && sum < best_sum))
        most = inliers, best_sum = sum, bx = ox, by = oy, br = r;
    }
  if (most < 12) return false;
  blob.fit.x += W[3] * bx - W[1] * by, blob.fit.y += W[0] * by - W[2] * bx, blob.fit.r = br;
  return true;
}

/// Leaves out what should be bright under the present outline and is not, and the pixels beside it. False, and nothing
/// done, when that is not enough to be more than a poor fit.
bool MarkerDetector::State::mask_covered(Blob& blob) noexcept {
  Patch& p = blob.patch;
  const std::size_t n = static_cast<std::size_t>(p.width * p.height);
  const float least = std::max(0.25F, 4.5F * std::sqrt(p.variance));
  std::fill_n(label.data(), n, std::uint8_t{0});
  float disc = 0, dark = 0;
  predict(p, blob.fit, blob.shape, along.data(), across.data());
  for (std::size_t i = 0; i < n; ++i) {
    disc += along[i];
    if (p.use[i] == 1 && along[i] > 0.3F && p.share[i] < across[i] - least) label[i] = 1, dark += along[i];
  }
  if (dark < std::max(1.5F, 0.03F * disc)) return false;
  dilate(label.data(), work.data(), p.width, p.height);
  for (std::size_t i = 0; i < n; ++i)
    if (label[i]) p.use[i] = 0;
  return true;
}

/// Cameras that send half the colour (YUYV, MJPEG, a Bayer pattern's) are sharp in one direction of colour and wrong in
/// others along every rim. From the rim's own residuals E = mean (v - m K)(v - m K)^T, the share that is wrong least is
/// s = w.v / w.K with w = (E + N)^-1 K, N the noise. True when that is clearly better than w = K; the patch then holds
/// it.
bool MarkerDetector::State::weigh_colours(Blob& blob, const std::uint8_t* bgr, std::ptrdiff_t stride) noexcept {
  Patch& p = blob.patch;
  const Colour K = blob.level;
  const auto at = [&](int x, int y) {
    const std::uint8_t* px = bgr + (p.y0 + y) * stride + 3 * (p.x0 + x);
    return Colour{px[0] - ground[0].mean, px[1] - ground[1].mean, px[2] - ground[2].mean};
  };
  Eigen::Matrix3d E = Eigen::Matrix3d::Zero();
  const Eigen::Vector3d k(K.b, K.g, K.r);
  double weight = 0;
  predict(p, blob.fit, blob.shape, along.data(), across.data());
  for (int y = 0; y < p.height; ++y)
    for (int x = 0; x < p.width; ++x) {
      const std::size_t i = static_cast<std::size_t>(y * p.width + x);
      if (p.use[i] != 1 || along[i] < 0.02F || along[i] > 0.98F) continue;
      const Colour v = at(x, y);
      const Eigen::Vector3d e = Eigen::Vector3d(v.b, v.g, v.r) - static_cast<double>(across[i]) * k;
      E += e * e.transpose(), ++weight;
    }
  if (weight < 12) return false;
  E /= weight;
  const Eigen::Vector3d noise(ground[0].variance, ground[1].variance, ground[2].variance);
  E.diagonal() += noise + Eigen::Vector3d::Constant(1e-6 * k.squaredNorm());
  Eigen::Vector3d w = E.inverse() * k;
  const double gain = w.dot(k);
  if (!w.allFinite() || !(gain > 0)) return false;
  w /= gain;
  const Eigen::Vector3d plain = k / k.squaredNorm();
  const double now = plain.dot(E * plain), then = w.dot(E * w);
  if (!(then < 0.6 * now)) return false;
  p.variance = static_cast<float>(w.dot(noise.cwiseProduct(w)));
  p.rim_variance = static_cast<float>(std::max(0.0, then - static_cast<double>(p.variance)));
  blob.cube = static_cast<float>(w.cwiseProduct(w).dot(k));
  for (int y = 0; y < p.height; ++y)
    for (int x = 0; x < p.width; ++x) {
      const Colour v = at(x, y);
      p.share[static_cast<std::size_t>(y * p.width + x)] = static_cast<float>(w.dot(Eigen::Vector3d(v.b, v.g, v.r)));
    }
  return true;
}

namespace {
float misfit(const BlobEstimate& f) {
  return f.ok ? f.chi2 / static_cast<float>(f.pixels) : std::numeric_limits<float>::infinity();
}
bool is_good(const BlobEstimate& f) {
  return misfit(f) < kPoor && f.arc > kWholeArc && f.rim_excess <= 0;
}
}  // namespace

/// Photon noise per level of brightness [levels], pooled over the blobs; negative where white cuts noise off.
double MarkerDetector::State::photon_noise() const noexcept {
  double sum = 0, weight = 0;
  for (std::size_t i = 0; i < blob_count; ++i) {
    const Blob& blob = blobs[i];
    const BlobEstimate& f = blob.fit;
    constexpr float kTaken = 5;  // the fit's unknowns took their part of the squares
    if (!f.ok || f.value_sum < 16) continue;
    const double squares = static_cast<double>(f.value_squares),
                 taken = static_cast<double>(f.value_sum / (f.value_sum - kTaken)),
                 background = static_cast<double>(f.value_sum * (blob.patch.variance + blob.patch.variance_cut));
    const double slope = (taken * (static_cast<double>(f.brightness) + background) - background) / squares;
    sum += squares * slope / static_cast<double>(blob.cube), weight += squares;
  }
  return weight > 0 ? sum / weight : 0;
}

BlobEstimate MarkerDetector::State::fit(const Blob& blob, const OutlineShape& shape, const BlobPrior& prior,
                                        const BlobEstimate& start, int steps, float start_width) noexcept {
  const BlobEstimate found = fit_blob(blob.patch, shape, prior, start, steps, start_width);
  work_left -= found.work;
  return found;
}

void MarkerDetector::State::fit_all(const std::uint8_t* bgr, std::ptrdiff_t stride) noexcept {
  BlobPrior prior;
  const auto set_photon_noise = [&] {
    const float photon = static_cast<float>(photon_noise());
    for (std::size_t i = 0; i < blob_count; ++i) {
      Patch& p = blobs[i].patch;
      p.variance_slope = std::max(photon * blobs[i].cube, -0.8F * (p.variance + p.variance_cut));
    }
  };
  for (std::size_t i = 0; i < blob_count; ++i) {
    Blob& blob = blobs[i];
    blob.start = blob.fit;
    if (work_left > 0)
      blob.fit = fit(blob, blob.shape, prior, blob.start, kFirstSteps, kStartWidth);
    else
      blob_count = i, overflow = true;
  }
  set_photon_noise();
  for (std::size_t i = 0; i < blob_count; ++i) {
    // What looked like a poor fit may be photon noise.
    Blob& blob = blobs[i];
    if (!blob.fit.ok || is_good(blob.fit) || blob.patch.variance_slope < 0.5F * blob.patch.variance) continue;
    blob.fit.rim_excess = 0;
    blob.fit = fit(blob, blob.shape, prior, blob.fit, 1, 0);
  }
  std::size_t careful = 0;
  for (std::size_t i = 0; i < blob_count; ++i) {
    if (is_good(blobs[i].fit)) continue;
    if (careful++ < kCareful && work_left > kCarefulWork)
      look_again(blobs[i], prior, bgr, stride);
    else
      overflow = true;
  }
  set_photon_noise();
  for (std::size_t i = 0; i < blob_count; ++i) blobs[i].prior = prior;
  find_dark_side();
  // The light's slope and dome and the lens's blur are common to all balls.
  const float blur_sigma = 0.7071F * prior.blur_sigma_px2;
  Pool<1> blur(Pool<1>::Vector(prior.blur_px2), Pool<1>::Vector(blur_sigma), kBlurDiffers);
  const auto share_of = [](const Blob& blob, std::size_t k) {
    const auto& axis = blob.shape.axes_C[k];
    return Eigen::Vector4d(axis[0], axis[1], axis[2], k == 2);
  };
  const auto counts = [](const Blob& blob) { return blob.fit.ok && !blob.occluded && misfit(blob.fit) <= 4; };
  const auto each = [&](const Blob& blob, auto&& of_light, auto&& of_blur) {
    const BlobEstimate& f = blob.fit;
    for (std::size_t k = 0; k < 3; ++k)
      of_light(share_of(blob, k), f.light[k], f.light_variance[k], blob.prior.light[k], blob.prior.light_sigma[k]);
    of_blur(Pool<1>::Vector(1), 0.5F * (f.blur[0] + f.blur[2]), f.blur_variance, prior.blur_px2, blur_sigma);
  };
  // Light: the lamp's direction in the camera's axes, and a dome beside what that makes.
  const auto pool_of = [&](double differ) {
    Pool<4> light({0, 0, -0.1, 0}, {0.4, 0.4, shade_differs > 0 ? 0.6 : 0.2, 0.1}, differ);
    for (std::size_t i = 0; i < blob_count; ++i)
      if (counts(blobs[i]))
        each(
            blobs[i], [&](auto&&... said) { light.add(said...); }, [](auto&&...) {});
    return light;
  };
  const double differs = kLightDiffers + 0.5 * shade_differs;
  Pool<4> light = pool_of(differs);
  // By how much it differs from ball to ball, as far as the balls' own pixels tell.
  const double first = differs * differs, known = kLightKnown / (first * first);
  double squares = known * first, weight = known;
  for (std::size_t i = 0; i < blob_count; ++i) {
    if (!counts(blobs[i])) continue;
    Pool<4> others = light;
    each(
        blobs[i], [&](auto&&... said) { others.remove(said...); }, [&](auto&&... said) { blur.add(said...); });
    const BlobEstimate& f = blobs[i].fit;
    for (std::size_t k = 0; k < 2; ++k) {
      const auto [square, w] = others.beyond(share_of(blobs[i], k), f.light[k], f.light_variance[k],
                                             blobs[i].prior.light[k], blobs[i].prior.light_sigma[k], differs);
      squares += w * square, weight += w;
    }
  }
  const double most = kLightDiffersMost + shade_differs;
  const double differ2 = std::clamp(squares / weight, 0.05 * first, most * most);
  light = pool_of(std::sqrt(differ2));
  for (int k = 0; k < 2; ++k) slope_sigma[static_cast<std::size_t>(k)] = std::sqrt(light.variance(k));
  const auto shade_of = [](Pool<3>& shade, const Blob& blob, bool add) {
    for (std::size_t k = 0; k < 3; ++k) {
      const auto& axis = blob.shape.axes_C[k];
      const BlobEstimate& f = blob.fit;
      (shade.*(add ? &Pool<3>::add : &Pool<3>::remove))({axis[0], axis[1], axis[2]}, f.shade[k], f.shade_variance[k],
                                                        blob.prior.shade[k], blob.prior.shade_sigma[k]);
    }
  };
  Pool<3> shade({0, 0, 0}, {2, 2, 2}, shade_differs);
  for (std::size_t i = 0; i < blob_count; ++i)
    if (counts(blobs[i]) && blobs[i].prior.shading == Shading::shaded) shade_of(shade, blobs[i], true);
  for (std::size_t i = 0; i < blob_count; ++i) {
    Blob& blob = blobs[i];
    if (!blob.fit.ok || work_left <= 0) continue;
    // What the others say: a blob's own pixels speak for themselves. Balls in different places differ in their light,
    // and in how far they move within the exposure.
    Pool<4> others_light = light;
    Pool<1> others_blur = blur;
    if (counts(blob))
      each(
          blob, [&](auto&&... said) { others_light.remove(said...); },
          [&](auto&&... said) { others_blur.remove(said...); });
    BlobPrior by_others;
    for (std::size_t k = 0; k < 3; ++k)
      others_light.take(share_of(blob, k), by_others.light[k], by_others.light_sigma[k]);
    others_blur.take(Pool<1>::Vector(1), by_others.blur_px2, by_others.blur_sigma_px2);
    if (blob.prior.shading == Shading::shaded) {
      Pool<3> others_shade = shade;
      if (counts(blob)) shade_of(others_shade, blob, false);
      by_others.shading = Shading::shaded;
      for (std::size_t k = 0; k < 3; ++k) {
        const auto& axis = blob.shape.axes_C[k];
        others_shade.take({axis[0], axis[1], axis[2]}, by_others.shade[k], by_others.shade_sigma[k]);
      }
    }
    blob.fit = fit(blob, blob.shape, by_others, blob.fit, kLastSteps, 0);
    for (std::size_t k = 0; k < 2; ++k) {
      // With pixels' information 1/v - 1/s^2 of a slope that differs from the common one by d: 1 / (1 + d^2 (...)).
      const float s2 = by_others.light_sigma[k] * by_others.light_sigma[k];
      const float pixels = std::max(0.0F, 1 / blob.fit.light_variance[k] - 1 / s2);
      blob.slope_leans[k] = 1 / (1 + static_cast<float>(differ2) * pixels);
    }
  }
  float sum = 0, count = 0, uneven = 0;
  for (std::size_t i = 0; i < blob_count; ++i) {
    const Blob& blob = blobs[i];
    if (!blob.fit.ok || blob.occluded) continue;
    const float beside = 0.5F * (blob.fit.beside[0] + blob.fit.beside[2]);
    sum += beside, ++count, uneven += beside > 0;
  }
  beside_others = uneven > 1 ? std::min(sum / count, kMostBeside) : 0;
}

/// Whether the balls have a dark side. Asked of all of them is what |l . n| would add to their light, with the lamp l
/// on the side to which they grow brighter, at one angle from the camera's axis after the other. Where it is sure to
/// add something they are fitted anew with it, from the best angle on.
void MarkerDetector::State::find_dark_side() noexcept {
  shade_differs = 0;
  const auto counts = [](const Blob& blob) { return blob.fit.ok && !blob.occluded && blob.fit.arc > kMostOfArc; };
  // Across the camera's axis: the slope's mean direction, and its mean size.
  double x = 0, y = 0, size = 0, weight = 0;
  for (std::size_t i = 0; i < blob_count; ++i) {
    const BlobEstimate& f = blobs[i].fit;
    const auto& axes = blobs[i].shape.axes_C;
    if (!counts(blobs[i])) continue;
    const double w = 1 / static_cast<double>(f.light_variance[0] + f.light_variance[1] + 1e-4F);
    for (std::size_t k = 0; k < 2; ++k)
      x += w * static_cast<double>(f.light[k] * axes[k][0]), y += w * static_cast<double>(f.light[k] * axes[k][1]);
    size += w * std::hypot(f.light[0], f.light[1]), weight += w;
  }
  const double slope = std::hypot(x, y);
  if (!(slope > 0) || work_left < kDarkSideWork) return;
  x /= slope, y /= slope, size /= weight;
  // Towards the lamp, along the ball's own axes: it is not far away, so that a ball's own slope has a say in it.
  const auto lamp_of = [&](const Blob& blob, double angle) {
    const double aside = std::sin(angle);
    std::array<double, 2> l;
    const BlobEstimate& f = blob.fit;
    const double own2 = square(0.05),
                 say =
                     counts(blob) ? own2 / (own2 + static_cast<double>(f.light_variance[0] + f.light_variance[1])) : 0;
    for (std::size_t k = 0; k < 2; ++k) {
      const auto& axis = blob.shape.axes_C[k];
      const double common = aside * (x * static_cast<double>(axis[0]) + y * static_cast<double>(axis[1])) -
                            std::cos(angle) * static_cast<double>(axis[2]);
      l[k] = (1 - say) * common + say * (aside / size) * static_cast<double>(f.light[k]);
    }
    const double long_as = std::hypot(l[0], l[1]), shorter = long_as > 0.99 ? 0.99 / long_as : 1;
    const double back = std::copysign(std::sqrt(1 - square(shorter * long_as)), std::cos(angle));
    return std::array<float, 3>{static_cast<float>(shorter * l[0]), static_cast<float>(shorter * l[1]),
                                static_cast<float>(back)};
  };
  struct Answer {
    double strength = 0, sigmas = 0;
  };
  const auto ask = [&](double angle) {
    double pull = 0, information = 0;
    for (std::size_t i = 0; i < blob_count; ++i) {
      const Blob& blob = blobs[i];
      if (!counts(blob)) continue;
      BlobPrior prior = blob.prior;
      prior.light_sigma = {0.5F, 0.5F, 0.5F};
      prior.shading = Shading::asked, prior.shade = lamp_of(blob, angle);
      const BlobEstimate f = fit(blob, blob.shape, prior, blob.fit, 0, 0);
      pull += static_cast<double>(f.pull), information += static_cast<double>(f.information);
    }
    return information > 0 ? Answer{pull / information, pull / std::sqrt(information)} : Answer{};
  };
  std::array<Answer, kLampSteps> at;
  at[kLampFirst - 1] = ask(kLampFirst * kLampStep);
  if (at[kLampFirst - 1].sigmas < kDarkSideMaybe) return;
  std::size_t best = kLampFirst - 1;
  for (std::size_t i = 0; i < kLampSteps; ++i) {
    if (i != kLampFirst - 1) at[i] = ask(static_cast<double>(i + 1) * kLampStep);
    if (at[i].sigmas > at[best].sigmas) best = i;
  }
  if (at[best].sigmas < kDarkSide) return;
  // Between the angles: the top of a parabola.
  double angle = static_cast<double>(best + 1), strength = at[best].strength;
  if (best > 0 && best + 1 < kLampSteps) {
    const double before = square(at[best - 1].sigmas), after = square(at[best + 1].sigmas),
                 curve = before - 2 * square(at[best].sigmas) + after;
    const double off = curve < 0 ? std::clamp(0.5 * (before - after) / curve, -0.5, 0.5) : 0;
    angle += off;
    strength += std::abs(off) * (at[off > 0 ? best + 1 : best - 1].strength - strength);
  }
  strength = std::clamp(strength, 0.05, 1.5);
  shade_differs = kShadeDiffers * strength;
  for (std::size_t i = 0; i < blob_count; ++i) {
    Blob& blob = blobs[i];
    if (!blob.fit.ok) continue;
    BlobPrior prior = blob.prior;
    BlobEstimate start = blob.fit;
    prior.light_sigma = {1, 1, 1}, prior.shading = Shading::shaded;
    const std::array<float, 3> lamp = lamp_of(blob, angle * kLampStep);
    for (std::size_t k = 0; k < 3; ++k) {
      prior.shade[k] = start.shade[k] = static_cast<float>(strength) * lamp[k];
      prior.shade_sigma[k] = static_cast<float>(kShadeSigma * strength);
      start.light[k] *= 0.5F;  // the other half of what it found as a slope is the fold's
    }
    const BlobEstimate f = fit(blob, blob.shape, prior, start, kShadeSteps, 0);
    if (f.ok) blob.fit = f, blob.prior = prior;
  }
}

/// A blob that the plain fit does not explain: another outline, other weights of the colours, or something before it.
void MarkerDetector::State::look_again(Blob& blob, const BlobPrior& prior, const std::uint8_t* bgr,
                                       std::ptrdiff_t stride) noexcept {
  if (!blob.fit.ok || (blob.fit.rim_excess > 0 && blob.fit.round_gain > kRoundGain)) {
    // A disc facing the camera instead of a ball?
    const BlobEstimate round = fit(blob, OutlineShape{}, prior, blob.start, kFirstSteps, kStartWidth);
    if (round.ok && (!blob.fit.ok || round.rim_excess < 0.5F * blob.fit.rim_excess))
      blob.fit = round, blob.shape = OutlineShape{};
  }
  if (blob.fit.ok && blob.fit.rim_excess > 0 && weigh_colours(blob, bgr, stride)) {
    blob.fit.rim_excess = 0;
    blob.fit = fit(blob, blob.shape, prior, blob.fit, kFirstSteps, kStartWidth);
  }
  if (misfit(blob.fit) < kPoor && blob.fit.arc > kWholeArc) return;
  if (blob.fit.ok && blob.fit.gross < kGrossPixels) return;
  const BlobEstimate whole = blob.fit;
  blob.fit = blob.start;
  work_left -= static_cast<int>(kRays * (2 + blob.start.r / 4));
  if (!find_arc(blob) || !mask_covered(blob)) {
    blob.fit = whole;
    return;
  }
  blob.occluded = true;
  for (int round = 0; round < 2; ++round) {
    const BlobEstimate arc = fit(blob, blob.shape, prior, blob.fit, kFirstSteps, kStartWidth);
    if (!arc.ok && round == 0) blob.fit.ok = false;
    if (!arc.ok) return;
    blob.fit = arc;
    if (round == 0) mask_covered(blob);
  }
}

bool MarkerDetector::State::answer(const Blob& blob, MarkerBlob& out) const noexcept {
  const BlobEstimate& f = blob.fit;
  if (!f.ok) return false;
  // A centre far outside the picture is told by an arc too short to tell it from a ball of another size.
  const float outside = kOutside * f.r;
  if (f.x < -outside || f.y < -outside || f.x > static_cast<float>(width - 1) + outside ||
      f.y > static_cast<float>(height - 1) + outside)
    return false;
  if (f.level * f.r * 1.77F < 8 * std::sqrt(blob.patch.variance)) return false;  // no more than noise
  const double misfit_now = static_cast<double>(f.chi2) / (0.92 * std::max(1, f.pixels - 8));
  // Neighbours whose noise is alike count for less than their number; along a rim they are wrong together over a pixel
  // or two anyhow. A misfit that is no noise of pixels has a part of that in it.
  const double rim_own = static_cast<double>(f.rim_own), together = static_cast<double>(blob.together);
  const double alike = (1 - rim_own) * together + rim_own * std::min(kRimTogether, together);
  double swell = alike, unround = 1;
  if (misfit_now > 1.3) {
    const double uneven = std::clamp(1 + kUneven * (static_cast<double>(f.unevenness) - 0.4), 1.0, 4.0);
    swell = misfit_now * (together > 1 ? std::max(1.0, kMisfitPart * alike) : uneven);
    unround = misfit_now * (together > 1 ? 1.0 : uneven);
  }
  // Of what lies beside the disc a part in pixels goes into the centre; what is left of a cover's rim after its pixels
  // are out adds its own part.
  // What other balls of the image have beside them, this one may have where its noise hides it.
  const double elsewhere = blob.occluded ? 0.0 : 0.5 * static_cast<double>(beside_others);
  const double hidden = blob.occluded ? kHiddenPart * (1.0 - static_cast<double>(std::min(1.0F, f.arc))) : 0.0;
  // How the light falls on a disc that is full all over nobody sees.
  const double blind = kBlind * std::max(0.0, 1 - static_cast<double>(f.open) / kSeesLight);
  const double floor = params.centroid_floor_px * params.centroid_floor_px + hidden * hidden + blind * blind;
  if (blob.occluded) swell *= kHiddenSwell, unround *= kHiddenSwell;

  out.u_px = f.x, out.v_px = f.y;
  out.area_px = 3.14159265F * f.r * f.r;
  out.full = 1 - f.open;
  out.quality = std::clamp(f.arc, 0.0F, 1.0F) / static_cast<float>(std::sqrt(unround));
  out.var_uu_px2 =
      static_cast<float>(swell * f.var_xx + floor + kBeside2 * (static_cast<double>(f.beside[0]) + elsewhere));
  out.var_vv_px2 =
      static_cast<float>(swell * f.var_yy + floor + kBeside2 * (static_cast<double>(f.beside[2]) + elsewhere));
  out.var_uv_px2 = static_cast<float>(swell * f.var_xy + kBeside2 * static_cast<double>(f.beside[1]));
  // Where the lamp is taken to be wrongly, all balls of the image are moved; the fit's covariance has it already.
  std::array<double, 4> L{};
  for (std::size_t k = 0; k < 4; ++k)
    for (std::size_t j = 0; j < 2; ++j)
      L[k] += std::sqrt(swell) * static_cast<double>(f.centre_by_slope[k / 2 * 2 + j]) *
              static_cast<double>(blob.slope_leans[j] * blob.shape.axes_C[j][k % 2]) * slope_sigma[k % 2];
  const double part =
      std::max((L[0] * L[0] + L[1] * L[1]) / (swell * f.var_xx), (L[2] * L[2] + L[3] * L[3]) / (swell * f.var_yy));
  const double most = part > kMostShared ? std::sqrt(kMostShared / part) : 1;
  for (std::size_t k = 0; k < 4; ++k) out.shared_px[k] = static_cast<float>(most * L[k]);
  return std::isfinite(out.var_uu_px2 + out.var_vv_px2 + out.var_uv_px2);
}

MarkerDetector::MarkerDetector(std::unique_ptr<State> state) : state_(std::move(state)) {}
MarkerDetector::~MarkerDetector() = default;
MarkerDetector::MarkerDetector(MarkerDetector&&) noexcept = default;
MarkerDetector& MarkerDetector::operator=(MarkerDetector&&) noexcept = default;

Result<MarkerDetector> MarkerDetector::create(const Rig& rig, std::size_t camera_index, const DetectorParams& params) {
  if (camera_index >= rig.cameras.size())
    return usage_error("marker detector: the rig has no camera " + std::to_string(camera_index));
  auto state = std::make_unique<State>();
  std::vector<double> hues;
  for (const InstrumentModel& instrument : rig.instruments)
    for (const Marker& marker : instrument.markers) hues.push_back(marker.colour_hue_deg);
  if (hues.size() != kMarkers)
    return usage_error("marker detector: the rig has " + std::to_string(hues.size()) + " markers, must be " +
                       std::to_string(kMarkers) + ": three on each instrument");
  for (std::size_t i = 0; i < kMarkers; ++i) {
    for (std::size_t j = 0; j < i; ++j)
      if (std::abs(std::remainder(hues[i] - hues[j], 360.0)) < 20)
        return usage_error("marker detector: markers " + std::to_string(j) + " and " + std::to_string(i) +
                           " have hues less than 20 degrees apart: choose colours that differ");
    state->hue_x[i] = static_cast<float>(std::cos(hues[i] * units::rad_per_deg));
    state->hue_y[i] = static_cast<float>(std::sin(hues[i] * units::rad_per_deg));
  }
  if (!(params.min_level > 0 && params.min_level < 1))
    return usage_error("marker detector: min_level must be between 0 and 1");
  if (!(params.hue_tolerance_deg > 0 && params.hue_tolerance_deg <= 60))
    return usage_error("marker detector: hue_tolerance_deg must be above 0, at most 60");
  if (!(params.max_extent_px >= kCell && params.max_extent_px <= 68))
    return usage_error("marker detector: max_extent_px must be 4..68");
  state->params = params;
  const CameraModel& camera = rig.cameras[camera_index];
  state->width = camera.width_px;
  state->height = camera.height_px;
  if (state->width < 1 || state->height < 1 || state->width > 16384 || state->height > 16384)
    return usage_error("marker detector: camera " + camera.name + " must have 1..16384 pixels a side");
  state->lens = Lens(camera);
  state->min_hue_cos = static_cast<float>(std::cos(params.hue_tolerance_deg * units::rad_per_deg));
  state->cells_x = state->width / kCell, state->cells_y = state->height / kCell;
  const std::size_t cells = static_cast<std::size_t>(state->cells_x) * static_cast<std::size_t>(state->cells_y);
  const std::size_t row = static_cast<std::size_t>(3 * state->width);
  state->column_sum.resize(row), state->spread_byte.resize(row);
  state->thin_byte.resize(row + 12), state->mean_byte.resize(row + 12);  // read a cell beyond
  state->cell_sum.resize(cells), state->cell_name.resize(cells), state->cell_score.resize(cells);
  state->cell_parent.resize(cells), state->named.resize(cells), state->regions.resize(cells);
  state->blobs.resize(kBlobs);
  for (auto& plane : state->planes) plane.resize(Patch::kMaxPixels);
  state->along.resize(Patch::kMaxPixels), state->across.resize(Patch::kMaxPixels);
  state->smooth.resize(Patch::kMaxPixels), state->stack.resize(Patch::kMaxPixels);
  state->label.resize(Patch::kMaxPixels), state->foreign.resize(Patch::kMaxPixels);
  state->work.resize(Patch::kMaxPixels);
  EdgeProfile::shared();
  return MarkerDetector(std::move(state));
}

void MarkerDetector::detect(const std::uint8_t* bgr, std::ptrdiff_t stride_bytes, MarkerSet& out) noexcept {
  State& s = *state_;
  out.image = true;
  out.count.fill(0);
  s.overflow = false, s.blob_count = 0, s.pixels_left = kPixelBudget, s.work_left = kWork;
  s.measure_ground(bgr, stride_bytes);
  out.noise_level = s.sigma;
  s.collect_cells(bgr, stride_bytes);
  s.collect_regions();
  // The best region of every colour before the second best of any.
  for (std::size_t k = 0; k < kRegions; ++k)
    for (std::size_t m = 0; m < kMarkers; ++m)
      if (k < s.chosen_count[m]) s.collect_blobs(s.chosen[m][k], bgr, stride_bytes);
  s.fit_all(bgr, stride_bytes);
  out.overflow = s.overflow;
  for (std::size_t i = 0; i < s.blob_count; ++i) {
    const Blob& found = s.blobs[i];
    auto& list = out.blobs[found.name];
    std::uint8_t& count = out.count[found.name];
    MarkerBlob blob;
    if (!s.answer(found, blob)) continue;
    // Fragments of one disc measure to the same place: keep one.
    bool twin = false;
    for (std::size_t k = 0; k < count; ++k)
      twin |= std::hypot(list[k].u_px - blob.u_px, list[k].v_px - blob.v_px) < 0.5F * found.fit.r + 1;
    if (twin) continue;
    std::size_t at = count;
    while (at > 0 && list[at - 1].area_px * list[at - 1].quality < blob.area_px * blob.quality) --at;
    if (at == kCandidates) continue;
    for (std::size_t k = std::min<std::size_t>(count, kCandidates - 1); k > at; --k) list[k] = list[k - 1];
    list[at] = blob;
    if (count < kCandidates) ++count;
  }
}

void MarkerDetector::detect(const Frame& frame, FrameStatus status, MarkerSet& out) noexcept {
  out.sequence = frame.sequence;
  out.mid_exposure_ns = frame.mid_exposure_ns;
  const cv::Mat& m = frame.image;
  if (status == FrameStatus::image && m.type() == CV_8UC3 && m.cols == state_->width && m.rows == state_->height) {
    detect(m.data, static_cast<std::ptrdiff_t>(m.step[0]), out);
  } else {
    out.image = out.overflow = false;
    out.count.fill(0);
  }
}

}  // namespace ligature::drivers
