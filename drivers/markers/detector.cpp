#include "drivers/markers/detector.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/base/units.hpp"

namespace ligature::drivers {
namespace {

constexpr std::size_t kRuns = 4096;
constexpr std::size_t kCores = 256;
constexpr int kBlock = 32;  // pixels looked at together in the fast pass
constexpr int kMargin = 4;  // pixels round a core that may hold its rim
constexpr float kRampLow = 0.2F, kRampHigh = 0.8F;
constexpr std::uint8_t kNoName = 255;

struct Run {
  std::int16_t y, x0, x1;  // inclusive
  std::uint8_t name;       // marker whose hue it has
  std::uint16_t parent;
};

struct Core {
  std::int32_t pixels = 0;
  std::int64_t sum_x = 0, sum_y = 0;
  int x0 = 1 << 20, x1 = -1, y0 = 1 << 20, y1 = -1;
  std::uint8_t name = kNoName;
  float x() const { return static_cast<float>(sum_x) / static_cast<float>(pixels); }
  float y() const { return static_cast<float>(sum_y) / static_cast<float>(pixels); }
  float radius() const { return std::sqrt(static_cast<float>(pixels) / 3.14159265F); }
};

/// Plain max over a block; the compiler turns it into byte-wide vector maxima.
bool any_above(const std::uint8_t* p, std::uint8_t level) {
  std::uint8_t m = 0;
  for (int i = 0; i < 3 * kBlock; ++i) m = std::max(m, p[i]);
  return m > level;
}

}  // namespace

struct MarkerDetector::State {
  DetectorParams params;
  int width = 0, height = 0;
  std::array<float, kMarkers> hue_x{}, hue_y{};  // unit chroma of each marker
  float min_hue_cos = 0;
  std::vector<Run> runs;
  std::vector<Core> cores;
  std::vector<std::uint16_t> core_of_run;
  std::size_t run_count = 0, core_count = 0;
  float ground = 0, sigma = 0;
  std::uint8_t threshold = 0;

  void measure_ground(const std::uint8_t* bgr, std::ptrdiff_t stride) noexcept;
  std::uint8_t name_of(const std::uint8_t* px) const noexcept;
  bool collect_runs(const std::uint8_t* bgr, std::ptrdiff_t stride) noexcept;
  void collect_cores() noexcept;
  bool measure(const Core& core, const std::uint8_t* bgr, std::ptrdiff_t stride, MarkerBlob& out) const noexcept;

  std::uint16_t root(std::uint16_t i) noexcept {
    while (runs[i].parent != i) i = runs[i].parent = runs[runs[i].parent].parent;
    return i;
  }
};

/// Median and upper half-spread of about 5000 bytes on a grid: markers cover well under a percent of it.
void MarkerDetector::State::measure_ground(const std::uint8_t* bgr, std::ptrdiff_t stride) noexcept {
  std::array<std::uint32_t, 256> histogram{};
  std::uint32_t total = 0;
  const int row_bytes = 3 * width;
  for (int y = 3; y < height; y += 8)
    for (int i = (7 * y) % 23; i < row_bytes; i += 23) ++histogram[bgr[y * stride + i]], ++total;
  const auto quantile = [&](double q) {
    const double want = q * total;
    double seen = 0;
    for (std::size_t v = 0; v < 256; ++v) {
      const double next = seen + histogram[v];
      if (next >= want && histogram[v] > 0)
        return static_cast<float>(static_cast<double>(v) - 0.5 + (want - seen) / histogram[v]);
      seen = next;
    }
    return 255.0F;
  };
  ground = std::max(0.0F, quantile(0.5));
  sigma = std::max(0.5F, quantile(0.8413) - ground);
  const double level = std::max(255 * params.min_level, ground + params.noise_sigmas * sigma);
  threshold = static_cast<std::uint8_t>(std::clamp(level, 1.0, 254.0));
}

std::uint8_t MarkerDetector::State::name_of(const std::uint8_t* px) const noexcept {
  const float b = px[0], g = px[1], r = px[2];
  const float cx = r - 0.5F * (g + b), cy = 0.8660254F * (g - b);
  const float chroma2 = cx * cx + cy * cy, top = std::max(std::max(b, g), r) - ground;
  const float least = static_cast<float>(params.min_saturation) * top;
  if (chroma2 < least * least) return kNoName;
  std::uint8_t best = kNoName;
  float best_cos = min_hue_cos * std::sqrt(chroma2);
  for (std::size_t m = 0; m < kMarkers; ++m) {
    const float c = cx * hue_x[m] + cy * hue_y[m];
    if (c > best_cos) best_cos = c, best = static_cast<std::uint8_t>(m);
  }
  return best;
}

/// False when the run capacity is used up.
bool MarkerDetector::State::collect_runs(const std::uint8_t* bgr, std::ptrdiff_t stride) noexcept {
  run_count = 0;
  std::size_t above = 0, above_end = 0;  // runs of the row above
  for (int y = 0; y < height; ++y) {
    const std::uint8_t* row = bgr + y * stride;
    const std::size_t row_begin = run_count;
    for (int x0 = 0; x0 < width; x0 += kBlock) {
      if (x0 + kBlock <= width && !any_above(row + 3 * x0, threshold)) continue;
      const int x1 = std::min(width, x0 + kBlock);
      for (int x = x0; x < x1; ++x) {
        const std::uint8_t* px = row + 3 * x;
        if (std::max(std::max(px[0], px[1]), px[2]) <= threshold) continue;
        const std::uint8_t name = name_of(px);
        if (name == kNoName) continue;
        if (run_count > row_begin && runs[run_count - 1].name == name && runs[run_count - 1].x1 == x - 1) {
          runs[run_count - 1].x1 = static_cast<std::int16_t>(x);
          continue;
        }
        if (run_count == kRuns) return false;
        runs[run_count] = {static_cast<std::int16_t>(y), static_cast<std::int16_t>(x), static_cast<std::int16_t>(x),
                           name, static_cast<std::uint16_t>(run_count)};
        ++run_count;
      }
    }
    // Join with the row above where columns meet, corners included; both rows are sorted by column.
    std::size_t j = above;
    for (std::size_t i = row_begin; i < run_count; ++i) {
      while (j < above_end && runs[j].x1 < runs[i].x0 - 1) ++j;
      for (std::size_t k = j; k < above_end && runs[k].x0 <= runs[i].x1 + 1; ++k)
        if (runs[k].name == runs[i].name) {
          const std::uint16_t a = root(static_cast<std::uint16_t>(k)), b = root(static_cast<std::uint16_t>(i));
          runs[std::max(a, b)].parent = std::min(a, b);
        }
    }
    above = row_begin, above_end = run_count;
  }
  return true;
}

void MarkerDetector::State::collect_cores() noexcept {
  core_count = 0;
  for (std::size_t i = 0; i < run_count; ++i) {
    const std::uint16_t r = root(static_cast<std::uint16_t>(i));
    if (r == i) {  // roots come before their members
      core_of_run[i] =
          core_count < kCores ? static_cast<std::uint16_t>(core_count) : static_cast<std::uint16_t>(kCores);
      if (core_count < kCores) cores[core_count++] = Core{};
    }
    const std::uint16_t c = core_of_run[r];
    if (c == kCores) continue;
    Core& core = cores[c];
    const Run& run = runs[i];
    const int n = run.x1 - run.x0 + 1;
    core.pixels += n;
    core.sum_x += static_cast<std::int64_t>(n) * (run.x0 + run.x1) / 2;
    core.sum_y += static_cast<std::int64_t>(n) * run.y;
    core.x0 = std::min<int>(core.x0, run.x0), core.x1 = std::max<int>(core.x1, run.x1);
    core.y0 = std::min<int>(core.y0, run.y), core.y1 = std::max<int>(core.y1, run.y);
    core.name = run.name;
  }
}

bool MarkerDetector::State::measure(const Core& core, const std::uint8_t* bgr, std::ptrdiff_t stride,
                                    MarkerBlob& out) const noexcept {
  const float cx = core.x(), cy = core.y(), r = core.radius();
  const int x0 = std::max(0, core.x0 - kMargin), x1 = std::min(width - 1, core.x1 + kMargin);
  const int y0 = std::max(0, core.y0 - kMargin), y1 = std::min(height - 1, core.y1 + kMargin);

  // Colour and level of the middle of the disc.
  float mb = 0, mg = 0, mr = 0, n = 0;
  const float inner2 = std::max(1.5F, 0.36F * r * r);
  for (int y = core.y0; y <= core.y1; ++y)
    for (int x = core.x0; x <= core.x1; ++x) {
      const float dx = static_cast<float>(x) - cx, dy = static_cast<float>(y) - cy;
      if (dx * dx + dy * dy > inner2) continue;
      const std::uint8_t* px = bgr + y * stride + 3 * x;
      mb += px[0], mg += px[1], mr += px[2], n += 1;
    }
  if (n < 1) return false;
  mb = mb / n - ground, mg = mg / n - ground, mr = mr / n - ground;
  const float level = std::sqrt(mb * mb + mg * mg + mr * mr);
  if (level < 4 * sigma) return false;
  const float eb = mb / level, eg = mg / level, er = mr / level;

  // Light from one side makes the disc's level a plane: s = level (1 + gx dx + gy dy). Dividing by it keeps the
  // darker rim from being cut deeper than the brighter one.
  double fxx = 0, fxy = 0, fyy = 0, fx = 0, fy = 0, sx = 0, sy = 0;
  for (int y = core.y0; y <= core.y1; ++y)
    for (int x = core.x0; x <= core.x1; ++x) {
      const float dx = static_cast<float>(x) - cx, dy = static_cast<float>(y) - cy;
      if (dx * dx + dy * dy > inner2) continue;
      const std::uint8_t* px = bgr + y * stride + 3 * x;
      const float s = (eb * (px[0] - ground) + eg * (px[1] - ground) + er * (px[2] - ground)) / level - 1;
      fxx += dx * dx, fxy += dx * dy, fyy += dy * dy, fx += s * dx, fy += s * dy, sx += dx, sy += dy;
    }
  fxx -= sx * sx / n, fxy -= sx * sy / n, fyy -= sy * sy / n;  // about the disc's own mean; s has mean 0
  const double det = fxx * fyy - fxy * fxy;
  float gx = 0, gy = 0;
  if (n >= 8 && det > 1) {
    gx = static_cast<float>((fyy * fx - fxy * fy) / det), gy = static_cast<float>((fxx * fy - fxy * fx) / det);
    const float steep = std::hypot(gx, gy) * r;
    if (steep > 0.35F) gx *= 0.35F / steep, gy *= 0.35F / steep;
  }

  // Other markers close by: a pixel belongs to the disc whose rim it is nearer to.
  constexpr std::size_t kNear = 4;
  std::array<std::array<float, 3>, kNear> near{};
  std::size_t near_count = 0;
  bool touching = false;
  for (std::size_t i = 0; i < core_count && near_count < kNear; ++i) {
    const Core& o = cores[i];
    if (&o == &core || o.pixels < params.min_core_px || 4 * o.pixels < core.pixels) continue;
    if (o.x0 > x1 + kMargin || o.x1 < x0 - kMargin || o.y0 > y1 + kMargin || o.y1 < y0 - kMargin) continue;
    near[near_count++] = {o.x(), o.y(), o.radius()};
    touching |= std::hypot(o.x() - cx, o.y() - cy) < o.radius() + r + 2.5F;
  }

  const float inv_level = 1 / level, gain = 1 / (kRampHigh - kRampLow);
  double sw = 0, swx = 0, swy = 0, swxx = 0, swyy = 0, swxy = 0;
  double ex = 0, ey = 0, exx = 0, eyy = 0, exy = 0, en = 0;  // pixels on the ramp: only their noise moves w
  for (int y = y0; y <= y1; ++y)
    for (int x = x0; x <= x1; ++x) {
      const std::uint8_t* px = bgr + y * stride + 3 * x;
      const float s0 = (eb * (px[0] - ground) + eg * (px[1] - ground) + er * (px[2] - ground)) * inv_level;
      if (s0 <= 0.5F * kRampLow) continue;
      const float dx = static_cast<float>(x) - cx, dy = static_cast<float>(y) - cy;
      const float s = s0 / std::clamp(1 + gx * dx + gy * dy, 0.5F, 1.5F);
      if (s <= kRampLow) continue;
      if (near_count > 0) {
        const float own = std::sqrt(dx * dx + dy * dy) - r;
        bool foreign = false;
        for (std::size_t i = 0; i < near_count; ++i)
          foreign |=
              std::hypot(static_cast<float>(x) - near[i][0], static_cast<float>(y) - near[i][1]) - near[i][2] < own;
        if (foreign) continue;
      }
      const double w = std::min(1.0F, gain * (s - kRampLow));
      sw += w, swx += w * dx, swy += w * dy, swxx += w * dx * dx, swyy += w * dy * dy, swxy += w * dx * dy;
      if (w < 1) en += 1, ex += dx, ey += dy, exx += dx * dx, eyy += dy * dy, exy += dx * dy;
    }
  if (sw < params.min_core_px) return false;
  const double mx = swx / sw, my = swy / sw;
  const double vxx = swxx / sw - mx * mx, vyy = swyy / sw - my * my, vxy = swxy / sw - mx * my;
  const double mean = 0.5 * (vxx + vyy), spread = std::sqrt(0.25 * (vxx - vyy) * (vxx - vyy) + vxy * vxy);
  const double major = mean + spread, minor = std::max(0.0, mean - spread);

  out.u_px = static_cast<float>(cx + mx);
  out.v_px = static_cast<float>(cy + my);
  out.area_px = static_cast<float>(sw);
  // A full ellipse has area 4 pi sqrt(major minor); less of it, or a long one, is a poorer marker.
  const double fill = std::min(1.0, sw / (4 * 3.14159265 * std::sqrt(std::max(1e-9, major * minor))));
  double quality = fill * std::sqrt(minor / std::max(1e-9, major));
  const double noise = gain * sigma * inv_level, f = noise * noise / (sw * sw);
  const double floor = params.centroid_floor_px * params.centroid_floor_px;
  double extra = 0;
  if (touching) quality *= 0.5, extra += 0.01 * r * r;  // part of it may be covered
  const bool at_border = core.x0 == 0 || core.y0 == 0 || core.x1 == width - 1 || core.y1 == height - 1;
  if (at_border) quality *= 0.25, extra += 0.25 * r * r;
  out.quality = static_cast<float>(quality);
  out.var_uu_px2 = static_cast<float>(f * (exx - 2 * mx * ex + en * mx * mx) + floor + extra);
  out.var_vv_px2 = static_cast<float>(f * (eyy - 2 * my * ey + en * my * my) + floor + extra);
  out.var_uv_px2 = static_cast<float>(f * (exy - mx * ey - my * ex + en * mx * my));
  return true;
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
  state->params = params;
  state->width = rig.cameras[camera_index].width_px;
  state->height = rig.cameras[camera_index].height_px;
  if (state->width < 1 || state->height < 1 || state->width > 16384 || state->height > 16384)
    return usage_error("marker detector: camera " + rig.cameras[camera_index].name +
                       " must have 1..16384 pixels a side");
  state->min_hue_cos = static_cast<float>(std::cos(params.hue_tolerance_deg * units::rad_per_deg));
  state->runs.resize(kRuns);
  state->cores.resize(kCores);
  state->core_of_run.resize(kRuns);
  return MarkerDetector(std::move(state));
}

void MarkerDetector::detect(const std::uint8_t* bgr, std::ptrdiff_t stride_bytes, MarkerSet& out) noexcept {
  State& s = *state_;
  out.image = true;
  out.count.fill(0);
  s.measure_ground(bgr, stride_bytes);
  out.noise_level = s.sigma;
  out.overflow = !s.collect_runs(bgr, stride_bytes);
  s.collect_cores();
  for (std::size_t i = 0; i < s.core_count; ++i) {
    const Core& core = s.cores[i];
    const int extent = std::max(core.x1 - core.x0, core.y1 - core.y0) + 1;
    if (core.pixels < s.params.min_core_px || extent > s.params.max_extent_px) continue;
    auto& list = out.blobs[core.name];
    std::uint8_t& count = out.count[core.name];
    MarkerBlob blob;
    if (!s.measure(core, bgr, stride_bytes, blob)) continue;
    // Fragments of one disc measure to the same place: keep one.
    bool twin = false;
    for (std::size_t k = 0; k < count; ++k)
      twin |= std::hypot(list[k].u_px - blob.u_px, list[k].v_px - blob.v_px) < 0.5F * s.cores[i].radius() + 1;
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
