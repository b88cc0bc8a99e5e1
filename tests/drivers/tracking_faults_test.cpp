/// What the cameras take away, the tracking says honestly: missing images, a dead camera, hidden markers, wrong blobs.
/// Centroids of the demo's hands with 0.1 px of noise; every fault drawn from a seed.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/drivers/scene.hpp"
#include "tests/drivers/sightings.hpp"

namespace ligature::drivers {
namespace {

constexpr double kNoise_px = 0.1, kRate_hz = 60;

struct Faults {
  double missing_images = 0;    ///< share of each camera's
  double missing_triggers = 0;  ///< share of triggers without any image
  unsigned dead = 0;            ///< bits of cameras
  double hidden = 0;            ///< share of time that a marker is hidden from all cameras
  double hidden_s = 0.15;       ///< ... for as long at a time
  double hidden_views = 0;      ///< share of single views
  bool false_blobs = false;     ///< a ball of each colour stands in the box
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

Tally follow(const Rig& rig, const std::function<testing::Hands(double)>& at, double duration_s, const Faults& f,
             std::uint64_t seed) {
  Random random(seed);
  auto tracker = Tracker::create(rig);
  Curtain curtain;
  std::array<Vec3, kMarkers> balls;
  for (Vec3& ball : balls) ball = {random.uniform(-60, 60), random.uniform(-50, 50), random.uniform(20, 100)};
  std::array<InstrumentPose, kInstruments> before;
  std::array<FilteredPose, kInstruments> shown_before;
  std::array<PoseFilter, kInstruments> filter;
  testing::Hands truth_before;
  Tally out;
  for (int k = 0; k < static_cast<int>(duration_s * kRate_hz); ++k) {
    const double t = k / kRate_hz;
    auto sets = testing::sightings(rig, at, t, static_cast<std::uint64_t>(k), kNoise_px, random);
    const bool none = random.uniform(0, 1) < f.missing_triggers;
    for (std::size_t m = 0; m < kMarkers; ++m)
      if (curtain.hides(m, t, f, random))
        for (MarkerSet& set : sets) set.count[m] = 0;
    for (std::size_t c = 0; c < kCameras; ++c) {
      for (std::size_t m = 0; m < kMarkers; ++m) {
        if (random.uniform(0, 1) < f.hidden_views) sets[c].count[m] = 0;
        if (f.false_blobs && !(f.flicker && random.uniform(0, 1) < 0.5))
          if (const auto px = testing::image_of(rig.cameras[c], balls[m], 3)) {
            // Larger than the marker: detection lists it first.
            testing::add_blob(sets[c], m, *px, kNoise_px, random);
            std::swap(sets[c].blobs[m][0], sets[c].blobs[m][sets[c].count[m] - 1u]);
          }
        if (random.uniform(0, 1) < f.glints)
          testing::add_blob(sets[c], m, {random.uniform(20, 620), random.uniform(20, 460)}, kNoise_px, random);
      }
      if (none || (f.dead >> c & 1u) || random.uniform(0, 1) < f.missing_images)
        sets[c] = MarkerSet{}, sets[c].image = false;
    }
    const InstrumentSample s =
        tracker->track(testing::pointers(sets), static_cast<std::uint64_t>(k), std::llround(1e9 * t));
    const testing::Hands truth = at(t);
    for (std::size_t i = 0; i < kInstruments; ++i) {
      const InstrumentPose& pose = s.instruments[i];
      ++out.frames;
      const double e = testing::tip_error(pose, truth[i]).norm();
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
        const Eigen::Vector3d d = testing::tip_error(pose, truth[i]);
        out.covered += d.dot(C.ldlt().solve(d)) < 7.815;
        out.surprised += d.dot(C.ldlt().solve(d)) > 40;
      }
      if (k > 0 && pose.status != TrackStatus::lost && before[i].status != TrackStatus::lost) {
        const double jump =
            (testing::tip_error(pose, truth[i]) - testing::tip_error(before[i], truth_before[i])).norm();
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

/// The demo's twelve seconds under the faults, several times over.
void expect_honest(const Faults& f, double most_jump_mm, double least_tracked) {
  const Rig rig = testing::distorted_rig();
  const auto path = testing::demo_path(rig);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Tally t = follow(
        rig, [&](double s) { return path->evaluate(s); }, path->duration_s(), f, seed);
    std::printf(
        "tracked %5.1f %%, predicted %4.1f %%, lost %4.1f %%; rms %5.1f um, worst %.3f (predicted %.3f), jump %.3f "
        "(%s), shown %.3f, covered %.3f\n",
        100.0 * t.tracked / t.frames, 100.0 * t.predicted / t.frames, 100.0 * t.lost / t.frames,
        1e3 * std::sqrt(t.squared / std::max(1, t.tracked)), t.worst, t.worst_predicted, t.worst_jump, t.where.c_str(),
        t.worst_shown_jump, static_cast<double>(t.covered) / std::max(1, t.tracked + t.predicted));
    EXPECT_EQ(t.wrong, 0);  // no identity was mistaken
    EXPECT_EQ(t.surprised, 0);
    EXPECT_LT(t.worst_jump, most_jump_mm) << t.where;
    EXPECT_LT(t.worst_shown_jump, 0.5);
    EXPECT_GT(t.tracked, least_tracked * t.frames);
    // Some 1440 rows, of which predicted ones follow each other: within 3 of 95 %.
    EXPECT_GT(static_cast<double>(t.covered) / (t.tracked + t.predicted), 0.92);
  }
}

TEST(TrackingFaults, MissingImagesCostLittle) {
  expect_honest({.missing_images = 0.05}, 0.5, 0.999);
}

TEST(TrackingFaults, TriggersWithoutAnyImageArePredicted) {
  expect_honest({.missing_triggers = 0.05}, 0.5, 0.92);
}

TEST(TrackingFaults, ThreeCamerasDoWithoutTheFourth) {
  expect_honest({.dead = 0b0010}, 0.5, 0.999);
}

// The bound of two cameras is twice that of four: the noise itself moves the tip by up to 0.5 mm between frames.
TEST(TrackingFaults, TwoCamerasDoWithoutTheOthers) {
  expect_honest({.dead = 0b0110}, 0.55, 0.99);
}

TEST(TrackingFaults, MarkersHiddenFromSomeCamerasCostLittle) {
  expect_honest({.hidden_views = 0.2}, 0.5, 0.99);
}

TEST(TrackingFaults, BallsOfEachColourAreNotTakenForMarkers) {
  expect_honest({.false_blobs = true}, 0.5, 0.999);
  expect_honest({.false_blobs = true, .flicker = true}, 0.5, 0.999);
}

TEST(TrackingFaults, GlintsThatOneCameraSeesAreNotTakenForMarkers) {
  expect_honest({.glints = 0.2}, 0.5, 0.999);
}

TEST(TrackingFaults, AllOfThatAtOnce) {
  expect_honest(
      {.missing_images = 0.05, .dead = 1, .hidden_views = 0.2, .false_blobs = true, .flicker = true, .glints = 0.1},
      0.5, 0.99);
}

// Hidden from every camera: what the other two leave open (a turn, or the opening against a turn) is foretold, and a
// hand that turns meanwhile is found again where it is: the answer slides there, `predicted`, with its way in the
// covariance.
TEST(TrackingFaults, MarkersHiddenFromAllCamerasAreBridged) {
  expect_honest({.hidden = 0.2, .hidden_s = 0.05}, 0.5, 0.96);
  expect_honest({.hidden = 0.2, .hidden_s = 0.15}, 0.5, 0.85);
  expect_honest({.missing_images = 0.05, .dead = 1, .hidden = 0.2, .hidden_s = 0.1, .false_blobs = true}, 0.5, 0.8);
}

// The same in many places of the box: a ball's ray passes near a hidden marker's place sooner or later.
TEST(TrackingFaults, BallsDoNotStandInForHiddenMarkers) {
  const Rig rig = testing::distorted_rig();
  const auto path = testing::demo_path(rig);
  const Faults f{.missing_images = 0.05, .dead = 1, .hidden = 0.2, .hidden_s = 0.1, .false_blobs = true};
  int rows = 0, wrong = 0, surprised = 0, covered = 0;
  for (std::uint64_t seed = 5; seed <= 40; ++seed) {
    const Tally t = follow(
        rig, [&](double s) { return path->evaluate(s); }, path->duration_s(), f, seed);
    EXPECT_LT(t.worst_jump, 0.5) << seed << " " << t.where;
    EXPECT_LT(t.worst_shown_jump, 0.5) << seed;
    rows += t.tracked + t.predicted, wrong += t.wrong, surprised += t.surprised, covered += t.covered;
  }
  std::printf("%d rows: %d wrong, %d beyond 6 sigma, covered %.3f\n", rows, wrong, surprised,
              static_cast<double>(covered) / rows);
  EXPECT_EQ(wrong, 0);
  EXPECT_LT(surprised, 6);  // of some 50 000 rows that share few faults
  EXPECT_GT(covered, 0.93 * rows);
}

// Two arms in two cameras, the tail in one: its ray meets the circle that the arms leave it twice.
TEST(TrackingFaults, TheMirrorImageOfAPoseIsNotTakenForIt) {
  const Rig rig = standard_rig();
  Random random(5);
  int told = 0, asked = 0;
  for (int i = 0; i < 400; ++i) {
    auto tracker = Tracker::create(rig);
    const testing::Hands hands{testing::somewhere(0, random), testing::somewhere(1, random)};
    InstrumentSample s;
    for (int k = 0; k < 5; ++k) {
      auto sets = testing::sightings(
          rig, [&](double) { return hands; }, k / kRate_hz, static_cast<std::uint64_t>(k), kNoise_px, random);
      const std::size_t a = static_cast<std::size_t>(i % 4), b = (a + 1) % 4;
      for (std::size_t c = 0; c < kCameras; ++c)
        if (c != a && c != b) sets[c] = MarkerSet{};
      sets[b].count[0] = sets[b].count[3] = 0;
      s = tracker->track(testing::pointers(sets));
    }
    for (std::size_t h = 0; h < kInstruments; ++h) {
      ++asked;
      if (s.instruments[h].status == TrackStatus::lost) continue;
      ++told;
      EXPECT_LT(testing::tip_error(s.instruments[h], hands[h]).norm(), 2) << i << " " << h;
    }
  }
  std::printf("told %d of %d poses from two arms in two cameras and the tail in one\n", told, asked);
  EXPECT_GT(told, asked / 4);
}

// 3 ms between the first and the last camera, 150 mm/s at the fastest: left alone, half a millimetre between cameras.
TEST(TrackingFaults, CamerasOutOfStepAreBroughtTogether) {
  const Rig rig = standard_rig();
  Random random(6);
  const testing::Hands still{testing::somewhere(0, random), testing::somewhere(1, random)};
  const auto at = [&](double t) {
    testing::Hands hands = still;
    for (ForcepsState& hand : hands) {
      hand.X_RT.p = {24 * std::sin(2 * std::numbers::pi * t), 5 * std::cos(2 * std::numbers::pi * t), 60};
      hand.opening_rad = 0.1 + 0.05 * std::sin(9 * t);
    }
    return hands;
  };
  auto tracker = Tracker::create(rig);
  double squared = 0, bound = 0, n = 0;
  int covered = 0;
  for (int k = 0; k < 1800; ++k) {
    const double t = k / kRate_hz;
    const auto sets =
        testing::sightings(rig, at, t, static_cast<std::uint64_t>(k), kNoise_px, random, {0, 1e-3, 2e-3, 3e-3});
    const InstrumentSample s =
        tracker->track(testing::pointers(sets), static_cast<std::uint64_t>(k), std::llround(1e9 * (t + 1.5e-3)));
    if (k < 10) continue;
    const testing::Hands truth = at(t + 1.5e-3);
    for (std::size_t h = 0; h < kInstruments; ++h) {
      ASSERT_EQ(s.instruments[h].status, TrackStatus::tracked) << k;
      const Eigen::Vector3d e = testing::tip_error(s.instruments[h], truth[h]);
      const auto& v = tracker->tip_covariance(h);
      Eigen::Matrix3d C;
      C << v[0], v[1], v[2], v[1], v[3], v[4], v[2], v[4], v[5];
      covered += e.dot(C.ldlt().solve(e)) < 7.815;
      squared += e.squaredNorm(), ++n;
      bound += std::pow(testing::tip_rms(*testing::cramer_rao(rig, h, truth[h], kNoise_px)), 2);
    }
  }
  std::printf("cameras 1 ms apart, up to 150 mm/s: ratio to the bound %.3f, covered %.3f\n", std::sqrt(squared / bound),
              covered / n);
  EXPECT_LT(std::sqrt(squared / bound), 1.2);
  EXPECT_GT(covered / n, 0.93);
  EXPECT_LT(covered / n, 0.97);
}

// Free-running cameras spread over 15 ms: until the hand's speed is known, each view says less of it than it could, and
// the images alone must still be believed, or nothing ever tells the speed. Wherever in the motion tracking begins, at
// every rate, and again after the hands were somewhere else from one trigger to the next.
TEST(TrackingFaults, WhatIsDoubtedAtFirstDoesNotStayDoubted) {
  const Rig rig = testing::distorted_rig();
  const auto path = testing::demo_path(rig, 0);
  const std::array<double, kCameras> skew_s{0, 5e-3, 10e-3, 15e-3};
  constexpr double kLoop_s = 4;
  for (const double rate_hz : {5.0, 10.0, 20.0, 60.0}) {
    double least = 1, n = 0, covered = 0;
    for (int start = 0; start < 40; ++start) {
      const auto at = [&](double t) { return path->evaluate(std::fmod(0.1 * start + t, kLoop_s)); };
      TrackerParams params;
      params.prediction_ms = 400, params.max_skew_ms = 30;
      auto tracker = Tracker::create(rig, params);
      Random random(static_cast<std::uint64_t>(start));
      int frames = 0, tracked = 0;
      for (int k = 0; k < 5 * rate_hz; ++k) {
        const double t = k / rate_hz, middle = k == 0 ? t + 0.01 : t + 0.0075;
        auto sets = testing::sightings(rig, at, t, static_cast<std::uint64_t>(k), kNoise_px, random, skew_s);
        if (k == 0) sets[0] = {};  // the first trigger comes while the cameras are being started
        const InstrumentSample s =
            tracker->track(testing::pointers(sets), static_cast<std::uint64_t>(k), std::llround(1e9 * middle));
        for (std::size_t i = 0; i < kInstruments; ++i) {
          ++frames;
          if (s.instruments[i].status != TrackStatus::tracked) continue;
          ++tracked;
          const auto& v = tracker->tip_covariance(i);
          Eigen::Matrix3d C;
          C << v[0], v[1], v[2], v[1], v[3], v[4], v[2], v[4], v[5];
          const Eigen::Vector3d e = testing::tip_error(s.instruments[i], at(middle)[i]);
          covered += e.dot(C.ldlt().solve(e)) < 7.815, ++n;
        }
      }
      EXPECT_GT(tracked, 0.8 * frames) << rate_hz << " Hz from " << 0.1 * start << " s on";
      least = std::min(least, static_cast<double>(tracked) / frames);
    }
    EXPECT_GT(covered / n, 0.92);
    std::printf("cameras spread over 15 ms at %.0f Hz: %.1f %% tracked at least, covered %.3f\n", rate_hz, 100 * least,
                covered / n);
  }
}

TEST(TrackingFaults, AStartledHandIsFollowed) {
  // 5 mm in 50 ms out of rest, again and again: no frame may be lost to disbelief.
  const auto at = [](double t) {
    Random random(8);
    testing::Hands hands{testing::somewhere(0, random), testing::somewhere(1, random)};
    const double u = std::clamp((t - std::floor(t) - 0.4) / 0.05, 0.0, 1.0), s = u * u * u * (10 + u * (6 * u - 15));
    for (ForcepsState& hand : hands) hand.X_RT.p.x += (static_cast<int>(t) % 2 == 0 ? s : 1 - s) * 5;
    return hands;
  };
  const Tally t = follow(standard_rig(), at, 20, {}, 1);
  EXPECT_EQ(t.tracked, t.frames);
  EXPECT_LT(t.surprised, 0.005 * t.frames);  // the first frame of a start still leans on the rest before
  EXPECT_LT(t.worst_jump, 0.5);
}

}  // namespace
}  // namespace ligature::drivers
