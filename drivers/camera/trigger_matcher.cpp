#include "drivers/camera/trigger_matcher.hpp"

#include <algorithm>
#include <cmath>

namespace ligature::drivers {
namespace {

constexpr double kHysteresis = 0.1;  // of the period
constexpr double kSlew = 1.0 / 8;    // of its distance from the middle of the gap that the cut moves per image
constexpr double kPeriodGain = 1.0 / 64;
constexpr double kSilent = 5;  // periods

/// The first `count` of a few values, growing.
template <class T>
void sort_few(std::array<T, kCameras>& values, std::size_t count) {
  for (std::size_t i = 1; i < count; ++i)
    for (std::size_t j = i; j > 0 && values[j] < values[j - 1]; --j) std::swap(values[j], values[j - 1]);
}

}  // namespace

TriggerMatcher::TriggerMatcher(std::int64_t period_ns) noexcept
    : nominal_(static_cast<double>(period_ns)), period_(static_cast<double>(period_ns)) {}

void TriggerMatcher::follow(Phase& camera, std::int64_t mid_ns) noexcept {
  if (!camera.seen) {
    camera.period = period_;
    return;
  }
  const auto interval = static_cast<double>(mid_ns - camera.mid_ns);
  const double periods = std::max(1.0, std::round(interval / period_));
  if (periods > kSilent) return;
  // Nobody runs four times faster or slower than the profile says; a stamp that says so is wrong.
  const double one = std::clamp(interval / periods, nominal_ / 4, nominal_ * 4);
  camera.period += kPeriodGain * (one - camera.period);
}

void TriggerMatcher::move_cut(double by) noexcept {
  const double whole = std::floor(cut_rest_ + by);
  cut_ns_ += static_cast<std::int64_t>(whole);
  cut_rest_ += by - whole;
}

void TriggerMatcher::place_cut(std::int64_t now_ns) noexcept {
  std::array<double, kCameras> phases{};
  std::size_t count = 0;
  double shortest = 0;
  for (const Phase& camera : cameras_) {
    if (!camera.seen || static_cast<double>(now_ns - camera.mid_ns) > kSilent * period_) continue;
    shortest = count == 0 ? camera.period : std::min(shortest, camera.period);
    const double since = static_cast<double>(camera.mid_ns - cut_ns_) - cut_rest_;
    phases[count++] = since - std::floor(since / period_) * period_;
  }
  if (count == 0) return;
  period_ = shortest;
  sort_few(phases, count);
  const double around = phases[0] + period_ - phases[count - 1];  // the gap that the cut lies in
  std::size_t widest = 0;
  for (std::size_t i = 1; i < count; ++i)
    if (widest == 0 || phases[i] - phases[i - 1] > phases[widest] - phases[widest - 1]) widest = i;
  if (widest != 0 && phases[widest] - phases[widest - 1] > around + kHysteresis * period_) {
    move_cut(0.5 * (phases[widest] + phases[widest - 1]));
    ++at_;  // no image from after the jump joins a trigger from before it
    ++regrouped_;
    return;
  }
  move_cut(kSlew * (phases[0] - 0.5 * around));
}

std::optional<std::uint64_t> TriggerMatcher::assign(std::size_t camera, std::int64_t mid_exposure_ns) noexcept {
  Phase& of = cameras_[camera];
  if (of.seen && mid_exposure_ns <= of.mid_ns) return std::nullopt;
  if (!started_) {
    started_ = true;
    cut_ns_ = mid_exposure_ns;
    at_ = 1;
    move_cut(-0.5 * period_);
  }
  follow(of, mid_exposure_ns);
  const bool first = !of.seen;
  const std::uint64_t before = of.trigger;
  of.seen = true;
  of.mid_ns = mid_exposure_ns;
  place_cut(mid_exposure_ns);

  const double since = static_cast<double>(mid_exposure_ns - cut_ns_) - cut_rest_;
  const double steps = std::floor(since / period_);
  if (steps > 0) {
    at_ += static_cast<std::uint64_t>(steps);
    move_cut(steps * period_);
  }
  const std::uint64_t back = steps < 0 ? static_cast<std::uint64_t>(-steps) : 0;
  const std::uint64_t trigger = back >= at_ ? 0 : at_ - back;
  if (!first && trigger <= before) return std::nullopt;
  of.trigger = trigger;
  return trigger;
}

TriggerSkew measure_skew(const std::array<std::int64_t, kCameras>& mid_exposure_ns, std::uint8_t present,
                         std::int64_t max_ns) noexcept {
  TriggerSkew skew;
  std::array<std::int64_t, kCameras> sorted{};
  std::size_t count = 0;
  for (std::size_t c = 0; c < kCameras; ++c)
    if ((present >> c & 1u) != 0) sorted[count++] = mid_exposure_ns[c];
  if (count == 0) return skew;
  sort_few(sorted, count);
  // The most images that lie within the width; of equals the earliest, so that the choice does not flicker.
  std::size_t from = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t n = 0;
    for (std::size_t j = i; j < count && sorted[j] - sorted[i] <= max_ns; ++j) ++n;
    if (static_cast<int>(n) > skew.images) skew.images = static_cast<int>(n), from = i;
  }
  const std::size_t last = from + static_cast<std::size_t>(skew.images) - 1;
  const std::int64_t low = sorted[from + (last - from) / 2], high = sorted[from + (last - from + 1) / 2];
  skew.reference_ns = low + (high - low) / 2;
  skew.spread_ns = sorted[last] - sorted[from];
  for (std::size_t c = 0; c < kCameras; ++c) {
    if ((present >> c & 1u) == 0) continue;
    skew.offset_ns[c] = mid_exposure_ns[c] - skew.reference_ns;
    if (mid_exposure_ns[c] < sorted[from] || mid_exposure_ns[c] > sorted[last])
      skew.refused = static_cast<std::uint8_t>(skew.refused | 1u << c);
  }
  return skew;
}

}  // namespace ligature::drivers
