#pragma once
/// What cameras take away and put in, drawn from a seed, and what tracking makes of it: for the tests of honesty.
#include <cmath>
#include <string>

#include "drivers/tracking/pose_filter.hpp"
#include "tests/drivers/sightings.hpp"

namespace ligature::drivers::testing {

inline constexpr double kNoise_px = 0.1, kRate_hz = 60;

struct Faults {
  double missing_images = 0;    ///< share of each camera's
  double missing_triggers = 0;  ///< share of triggers without any image
  unsigned dead = 0;            ///< bits of cameras
  double hidden = 0;            ///< share of time that a marker is hidden from all cameras
  double hidden_s = 0.15;       ///< ... for as long at a time
  double hidden_views = 0;      ///< share of single views
  bool false_blobs = false;     ///< a ball of each colour stands in the box
  double sway_mm = 0;           ///< ... and is swung to and fro by this much in 6 s
  bool flicker = false;         ///< and each camera sees it only now and then
  double glints = 0;            ///< share of views beside which one camera alone sees a blob of the colour
};

struct Tally {
  int frames = 0, tracked = 0, predicted = 0, lost = 0;
  double worst_jump = 0, worst = 0, worst_predicted = 0, squared = 0;
  int wrong = 0;      ///< tracked rows more than 1 mm off
  int surprised = 0;  ///< rows whose error is beyond 5 believed sigmas
  int covered = 0;
  double worst_shown_jump = 0;  ///< of the filtered stream
  std::string where;
};

/// Hidden by turns: a marker is away for hidden_s, so often that the share holds.
struct Curtain {
  std::array<double, kMarkers> until{};
  bool hides(std::size_t m, double t, const Faults& f, Random& random) {
    if (t < until[m]) return true;
    if (f.hidden > 0 && random.uniform(0, 1) < f.hidden / (1 - f.hidden) / (f.hidden_s * kRate_hz))
      until[m] = t + f.hidden_s;
    return t < until[m];
  }
};

inline Tally follow(const Rig& rig, const std::function<Hands(double)>& at, double duration_s, const Faults& f,
                    std::uint64_t seed) {
  Random random(seed);
  auto tracker = Tracker::create(rig);
  Curtain curtain;
  std::array<Vec3, kMarkers> balls;
  for (Vec3& ball : balls) ball = {random.uniform(-60, 60), random.uniform(-50, 50), random.uniform(20, 100)};
  std::array<InstrumentPose, kInstruments> before;
  std::array<FilteredPose, kInstruments> shown_before;
  std::array<PoseFilter, kInstruments> filter;
  Hands truth_before;
  Tally out;
  for (int k = 0; k < static_cast<int>(duration_s * kRate_hz); ++k) {
    const double t = k / kRate_hz;
    auto sets = sightings(rig, at, t, static_cast<std::uint64_t>(k), kNoise_px, random);
    const bool none = random.uniform(0, 1) < f.missing_triggers;
    for (std::size_t m = 0; m < kMarkers; ++m)
      if (curtain.hides(m, t, f, random))
        for (MarkerSet& set : sets) set.count[m] = 0;
    for (std::size_t c = 0; c < kCameras; ++c) {
      for (std::size_t m = 0; m < kMarkers; ++m) {
        if (random.uniform(0, 1) < f.hidden_views) sets[c].count[m] = 0;
        if (f.false_blobs && !(f.flicker && random.uniform(0, 1) < 0.5))
          if (const auto px = image_of(rig.cameras[c],
                                       balls[m] + Vec3{f.sway_mm * std::sin(t + static_cast<double>(m)), 0, 0}, 3)) {
            // Larger than the marker: detection lists it first.
            add_blob(sets[c], m, *px, kNoise_px, random);
            std::swap(sets[c].blobs[m][0], sets[c].blobs[m][sets[c].count[m] - 1u]);
          }
        if (random.uniform(0, 1) < f.glints)
          add_blob(sets[c], m, {random.uniform(20, 620), random.uniform(20, 460)}, kNoise_px, random);
      }
      if (none || (f.dead >> c & 1u) || random.uniform(0, 1) < f.missing_images)
        sets[c] = MarkerSet{}, sets[c].image = false;
    }
    const InstrumentSample s = tracker->track(pointers(sets), static_cast<std::uint64_t>(k), std::llround(1e9 * t));
    const Hands truth = at(t);
    for (std::size_t i = 0; i < kInstruments; ++i) {
      const InstrumentPose& pose = s.instruments[i];
      ++out.frames;
      const double e = tip_error(pose, truth[i]).norm();
      if (pose.status == TrackStatus::tracked) {
        ++out.tracked, out.worst = std::max(out.worst, e), out.squared += e * e;
        out.wrong += e > 1;
      } else if (pose.status == TrackStatus::predicted) {
        ++out.predicted, out.worst_predicted = std::max(out.worst_predicted, e);
      } else {
        ++out.lost;
      }
      if (pose.status != TrackStatus::lost) {
        const auto& v = tracker->tip_covariance(i);
        Eigen::Matrix3d C;
        C << v[0], v[1], v[2], v[1], v[3], v[4], v[2], v[4], v[5];
        const Eigen::Vector3d d = tip_error(pose, truth[i]);
        out.covered += d.dot(C.ldlt().solve(d)) < 7.815;
        out.surprised += d.dot(C.ldlt().solve(d)) > 40;
      }
      if (k > 0 && pose.status != TrackStatus::lost && before[i].status != TrackStatus::lost) {
        const double jump = (tip_error(pose, truth[i]) - tip_error(before[i], truth_before[i])).norm();
        if (jump > out.worst_jump) {
          out.worst_jump = jump;
          char text[96];
          std::snprintf(text, sizeof text, "at %.3f s, instrument %zu, %d -> %d, %d cameras", t, i,
                        static_cast<int>(before[i].status), static_cast<int>(pose.status), pose.cameras);
          out.where = text;
        }
      }
      filter[i].update(pose, tracker->pose_variance(i), s.mid_exposure_ns);
      const FilteredPose shown = filter[i].at(s.mid_exposure_ns);
      if (k > 0 && shown.status != TrackStatus::lost && shown_before[i].status != TrackStatus::lost)
        out.worst_shown_jump = std::max(out.worst_shown_jump, norm(shown.X_RT.p - shown_before[i].X_RT.p) -
                                                                  norm(truth[i].X_RT.p - truth_before[i].X_RT.p));
      shown_before[i] = shown;
      before[i] = pose;
    }
    truth_before = truth;
  }
  return out;
}

}  // namespace ligature::drivers::testing
