#include "appliance/track/track_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/base/units.hpp"

namespace ligature::tracking {
namespace {

constexpr double kDoubtfulResidual_px = 0.5;  // a calibrated rig stays well below in the median
constexpr double kDoubtfulShare = 0.7;        // a camera whose views agree less often is out of true
constexpr double kShownSkew_ms = 0.2;
constexpr double kMostSkew_ms = drivers::TrackerParams{}.max_skew_ms;

/// The smallest value that `fraction` of all do not exceed; 0 of none.
double quantile(std::vector<double> values, double fraction) {
  if (values.empty()) return 0;
  const auto n = static_cast<double>(values.size());
  const auto at = static_cast<std::ptrdiff_t>(std::clamp(std::ceil(fraction * n) - 1, 0.0, n - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

/// To the nearest hundred thousandth: px, mm and ms alike.
double rounded(double value) {
  return std::round(value * 1e5) / 1e5;
}

nlohmann::ordered_json spread(const std::vector<double>& values) {
  return {{"p50", rounded(quantile(values, 0.5))},
          {"p99", rounded(quantile(values, 0.99))},
          {"max", rounded(quantile(values, 1))}};
}

}  // namespace

TrackReport::TrackReport(const drivers::Rig& rig, std::string rig_file) : rig_file_(std::move(rig_file)) {
  for (std::size_t i = 0; i < kInstruments; ++i) instruments_[i].name = rig.instruments[i].name;
  for (std::size_t c = 0; c < kCameras; ++c) cameras_[c].name = rig.cameras[c].name;
}

void TrackReport::add(const std::array<drivers::MarkerSet, kCameras>& sets, const InstrumentSample& sample,
                      const std::array<drivers::TrackSupport, kInstruments>& support, std::int64_t work_ns) {
  ++frames_;
  work_ms_.push_back(1e-6 * static_cast<double>(work_ns));
  std::int64_t first = INT64_MAX, last = INT64_MIN;
  std::array<const drivers::MarkerSet*, kCameras> images{};
  for (std::size_t c = 0; c < kCameras; ++c) images[c] = &sets[c];
  const std::int64_t middle = drivers::trigger_middle_ns(images);
  std::array<int, drivers::kMarkers> views{};
  for (std::size_t c = 0; c < kCameras; ++c) {
    ++(sets[c].image ? cameras_[c].images : cameras_[c].missing);
    if (!sets[c].image) continue;
    const std::int64_t t = sets[c].mid_exposure_ns;
    if (const double off_ms = 1e-6 * static_cast<double>(std::abs(t - middle)); off_ms > kMostSkew_ms)
      ++cameras_[c].apart, cameras_[c].apart_ms = std::max(cameras_[c].apart_ms, off_ms);
    else
      first = std::min(first, t), last = std::max(last, t);
    for (std::size_t m = 0; m < drivers::kMarkers; ++m)
      if (sets[c].found(m)) ++views[m], ++cameras_[c].blobs;
    if (sets[c].found() > 0) cameras_[c].full += sets[c].full(), ++cameras_[c].shown;
  }
  if (last > first) skew_ms_max_ = std::max(skew_ms_max_, 1e-6 * static_cast<double>(last - first));
  constexpr std::size_t kEach = drivers::kMarkers / kInstruments;
  for (std::size_t i = 0; i < kInstruments; ++i) {
    const InstrumentPose& pose = sample.instruments[i];
    Instrument& of = instruments_[i];
    ++of.status[static_cast<std::size_t>(pose.status)];
    of.in_view += std::all_of(&views[i * kEach], &views[i * kEach] + kEach, [](int n) { return n >= 2; });
    if (pose.status != TrackStatus::tracked) continue;
    for (std::size_t c = 0; c < kCameras; ++c)
      cameras_[c].seen += support[i].seen[c], cameras_[c].used += support[i].used[c];
    of.residual_px.push_back(pose.residual_px);
    of.sigma_mm.push_back(pose.sigma_tip_mm);
  }
}

bool TrackReport::all_tracked() const {
  return std::all_of(instruments_.begin(), instruments_.end(), [](const Instrument& of) {
    return of.status[static_cast<std::size_t>(TrackStatus::tracked)] > 0;
  });
}

std::vector<std::string> TrackReport::warnings() const {
  std::vector<std::string> lines;
  for (const Camera& camera : cameras_) {
    if (camera.images == 0)
      lines.push_back(fmt::format(
          "{0}: no image could be read: {0}/000000.png, ... or {0}.mkv, .mp4, .avi are missing, damaged, or have no "
          "time in frames.csv: tracked without it",
          camera.name));
    else if (camera.missing > 0)
      lines.push_back(
          fmt::format("{}: {} of {} images are missing or cannot be read", camera.name, camera.missing, frames_));
    if (camera.apart > 0)
      lines.push_back(fmt::format(
          "{}: {} of {} images lie up to {:.2f} ms from the others of their frame, more than {:g} ms: left out; are its "
          "times in frames.csv right?",
          camera.name, camera.apart, camera.images, camera.apart_ms, kMostSkew_ms));
    if (camera.images > 0 && camera.blobs == 0)
      lines.push_back(fmt::format("{}: none of the {} images shows a marker: check its exposure, lens cap and rig file",
                                  camera.name, camera.images));
    if (const double full = camera.full_share(); full > drivers::kOverexposed)
      lines.push_back(fmt::format(
          "{}: {:.0f} % of the markers' pixels are at full scale: lower its exposure, its gain or the lamp; "
          "where a ball is cut off all over, its centre leans towards the light",
          camera.name, 100 * full));
  }
  for (const Camera& camera : cameras_)
    if (camera.seen > 0 && static_cast<double>(camera.used) < kDoubtfulShare * static_cast<double>(camera.seen))
      lines.push_back(fmt::format(
          "{}: only {:.0f} % of the markers it sees lie where the other cameras put them: has it been "
          "moved, is its folder another camera's, or is {} not the rig file of these cameras?",
          camera.name, 100.0 * static_cast<double>(camera.used) / static_cast<double>(camera.seen), rig_file_));
  for (const Instrument& of : instruments_) {
    const std::uint64_t tracked = of.status[static_cast<std::size_t>(TrackStatus::tracked)];
    if (tracked == 0 && of.in_view > 0)
      lines.push_back(
          fmt::format("{}: all its colours were seen in {} frames, and no pose fits them: is {} the rig file "
                      "of these cameras?",
                      of.name, of.in_view, rig_file_));
    else if (tracked == 0)
      lines.push_back(fmt::format("{}: never tracked: its three colours were never seen by two cameras each", of.name));
    else if (const double median = quantile(of.residual_px, 0.5); median > kDoubtfulResidual_px)
      lines.push_back(fmt::format(
          "{}: the residual is {:.2f} px in the median, must be below {} px: {}is {} the rig file of "
          "these cameras, and has none been moved since?",
          of.name, median, kDoubtfulResidual_px,
          skew_ms_max_ > kShownSkew_ms ? "if it is not that images lie apart in time (below), " : "", rig_file_));
  }
  if (skew_ms_max_ > kShownSkew_ms)
    lines.push_back(fmt::format(
        "images of one frame lie up to {:.2f} ms apart: brought together by the estimated motion", skew_ms_max_));
  return lines;
}

nlohmann::ordered_json TrackReport::json() const {
  nlohmann::ordered_json out;
  out["rig"] = rig_file_;
  out["frames"] = frames_;
  for (const Camera& camera : cameras_)
    out["cameras"].push_back({{"name", camera.name},
                              {"images", camera.images},
                              {"missing", camera.missing},
                              {"markers_seen", camera.seen},
                              {"markers_agreeing", camera.used},
                              {"full_scale", rounded(camera.full_share())}});
  for (const Instrument& of : instruments_)
    out["instruments"].push_back({{"name", of.name},
                                  {"tracked", of.status[static_cast<std::size_t>(TrackStatus::tracked)]},
                                  {"predicted", of.status[static_cast<std::size_t>(TrackStatus::predicted)]},
                                  {"lost", of.status[static_cast<std::size_t>(TrackStatus::lost)]},
                                  {"residual_px", spread(of.residual_px)},
                                  {"sigma_tip_mm", spread(of.sigma_mm)}});
  out["skew_ms_max"] = rounded(skew_ms_max_);
  out["detect_and_fit_ms"] = spread(work_ms_);
  out["warnings"] = warnings();
  return out;
}

std::string TrackReport::table() const {
  std::string out = fmt::format("{:<12}{:>9}{:>11}{:>7}{:>15}{:>16}\n", "instrument", "tracked", "predicted", "lost",
                                "residual px", "sigma tip mm");
  for (const Instrument& of : instruments_)
    out += fmt::format("{:<12}{:>9}{:>11}{:>7}{:>15.3f}{:>16.4f}\n", of.name,
                       of.status[static_cast<std::size_t>(TrackStatus::tracked)],
                       of.status[static_cast<std::size_t>(TrackStatus::predicted)],
                       of.status[static_cast<std::size_t>(TrackStatus::lost)], quantile(of.residual_px, 0.5),
                       quantile(of.sigma_mm, 0.5));
  out += fmt::format("{} frames, detection and fit {:.2f} ms a frame (p99 {:.2f})\n", frames_, quantile(work_ms_, 0.5),
                     quantile(work_ms_, 0.99));
  return out;
}

}  // namespace ligature::tracking
