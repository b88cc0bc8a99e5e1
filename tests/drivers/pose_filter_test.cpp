/// The picture's stream: how steady at rest, how late and how far over in motion. Centroid noise 0.1 px, 60 Hz, the
/// standard rig, through the tracker.
#include "drivers/tracking/pose_filter.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/drivers/sightings.hpp"

namespace ligature::drivers {
namespace {

constexpr double kPi = std::numbers::pi, kRate_hz = 60, kNoise_px = 0.1;

struct Sample {
  double t_s;
  testing::Hands truth;  // at the time asked for
  std::array<InstrumentPose, kInstruments> raw;
  std::array<FilteredPose, kInstruments> shown;
};

/// @param lead_ms how far ahead of the newest frame the filter is asked
std::vector<Sample> watch(const std::function<testing::Hands(double)>& at, int frames, std::uint64_t seed,
                          double lead_ms = 0, const PoseFilterParams& params = {}) {
  const Rig rig = standard_rig();
  auto tracker = Tracker::create(rig);
  std::array<PoseFilter, kInstruments> filter{PoseFilter(params), PoseFilter(params)};
  Random random(seed);
  std::vector<Sample> out;
  for (int k = 0; k < frames; ++k) {
    const double t = k / kRate_hz;
    const auto sets = testing::sightings(rig, at, t, static_cast<std::uint64_t>(k), kNoise_px, random);
    const InstrumentSample s = tracker->track(testing::pointers(sets));
    Sample& sample = out.emplace_back();
    sample.t_s = t + 1e-3 * lead_ms;
    sample.truth = at(sample.t_s);
    for (std::size_t i = 0; i < kInstruments; ++i) {
      filter[i].update(s.instruments[i], tracker->pose_variance(i), s.mid_exposure_ns);
      sample.raw[i] = s.instruments[i];
      sample.shown[i] = filter[i].at(std::llround(1e9 * sample.t_s));
    }
  }
  return out;
}

testing::Hands resting() {
  Random random(11);
  testing::Hands hands{testing::somewhere(0, random), testing::somewhere(1, random)};
  hands[0].X_RT.p = {-10, 5, 60}, hands[1].X_RT.p = {12, -4, 55};
  return hands;
}

/// Both tips to and fro along x.
std::function<testing::Hands(double)> swinging(double amplitude_mm, double hz) {
  return [=, still = resting()](double t) {
    testing::Hands hands = still;
    for (ForcepsState& hand : hands) hand.X_RT.p.x += amplitude_mm * std::sin(2 * kPi * hz * t);
    return hands;
  };
}

struct Swing {
  double gain, lag_ms;
};
/// Amplitude and delay of what is shown against the truth, from the fundamental.
Swing swing_of(const std::vector<Sample>& samples, std::size_t i, double amplitude_mm, double hz) {
  const double still = resting()[i].X_RT.p.x;
  double c = 0, s = 0, n = 0;
  for (const Sample& sample : samples) {
    if (sample.t_s < 1) continue;
    const double x = sample.shown[i].X_RT.p.x - still, phase = 2 * kPi * hz * sample.t_s;
    c += x * std::cos(phase), s += x * std::sin(phase), ++n;
  }
  c *= 2 / n, s *= 2 / n;
  return {std::hypot(c, s) / amplitude_mm, -1e3 * std::atan2(c, s) / (2 * kPi * hz)};
}

TEST(PoseFilter, ARestingTipIsSteady) {
  const auto samples = watch([hands = resting()](double) { return hands; }, 3600, 1);
  for (std::size_t i = 0; i < kInstruments; ++i) {
    double raw = 0, shown = 0, n = 0;
    for (const Sample& s : samples) {
      if (s.t_s < 1) continue;
      raw += std::pow(norm(s.raw[i].X_RT.p - s.truth[i].X_RT.p), 2);
      shown += std::pow(norm(s.shown[i].X_RT.p - s.truth[i].X_RT.p), 2), ++n;
    }
    std::printf("resting: raw %.1f um, shown %.1f um\n", 1e3 * std::sqrt(raw / n), 1e3 * std::sqrt(shown / n));
    EXPECT_LT(1e3 * std::sqrt(shown / n), 20);
    EXPECT_GT(1e3 * std::sqrt(raw / n), 40);
  }
}

TEST(PoseFilter, MotionIsShownWithoutLagOrOvershoot) {
  for (const double amplitude_mm : {1.0, 2.0})
    for (const double hz : {1.0, 2.0, 5.0})
      for (const double lead_ms : {0.0, 5.0}) {
        const auto samples = watch(swinging(amplitude_mm, hz), 1200, 2, lead_ms);
        for (std::size_t i = 0; i < kInstruments; ++i) {
          const Swing swing = swing_of(samples, i, amplitude_mm, hz);
          std::printf("%.0f mm, %.0f Hz, lead %.0f ms: gain %.4f, lag %.2f ms\n", amplitude_mm, hz, lead_ms, swing.gain,
                      swing.lag_ms);
          EXPECT_LT(swing.lag_ms, 2);                                            // asked: 8
          EXPECT_LT(swing.gain, lead_ms > 0 && amplitude_mm < 2 ? 1.07 : 1.05);  // asked of 2 mm at 5 Hz: 1.05
          EXPECT_GT(swing.gain, 0.97);
        }
      }
}

/// Poses, directions and noise that the constants were never looked at with: these numbers are the claims'. (The tests
/// around are where the constants were chosen.)
struct HeldOut {
  static constexpr int kPlaces = 24;
  static testing::Hands hands(int place) {
    Random random(9000 + static_cast<std::uint64_t>(place));
    return {testing::somewhere(0, random), testing::somewhere(1, random)};
  }
  static std::uint64_t seed(int place) { return 7000 + static_cast<std::uint64_t>(place); }
};

TEST(PoseFilterHeldOut, RestingTipsAllOverTheVolumeAreSteady) {
  for (const double lead_ms : {0.0, 5.0}) {
    double raw = 0, shown = 0, n = 0, worst = 0;
    for (int place = 0; place < HeldOut::kPlaces; ++place) {
      const auto samples =
          watch([hands = HeldOut::hands(place)](double) { return hands; }, 600, HeldOut::seed(place), lead_ms);
      for (std::size_t i = 0; i < kInstruments; ++i) {
        double here = 0, m = 0;
        for (const Sample& s : samples) {
          if (s.t_s < 1) continue;
          raw += std::pow(norm(s.raw[i].X_RT.p - s.truth[i].X_RT.p), 2);
          here += std::pow(norm(s.shown[i].X_RT.p - s.truth[i].X_RT.p), 2), ++m;
        }
        shown += here, n += m, worst = std::max(worst, here / m);
      }
    }
    std::printf("held out, lead %.0f ms: resting raw %.1f um, shown %.1f um, worst place %.1f um\n", lead_ms,
                1e3 * std::sqrt(raw / n), 1e3 * std::sqrt(shown / n), 1e3 * std::sqrt(worst));
    EXPECT_LT(1e3 * std::sqrt(shown / n), 20);
  }
}

TEST(PoseFilterHeldOut, TwoMillimetresAtFiveHertzAnywhereInAnyDirection) {
  constexpr double kAmplitude_mm = 2, kHz = 5;
  for (const double lead_ms : {0.0, 5.0}) {
    double lag = 0, gain = 0, worst_lag = -1e9, worst_gain = 0;
    for (int place = 0; place < HeldOut::kPlaces; ++place) {
      const testing::Hands still = HeldOut::hands(place);
      Random random(HeldOut::seed(place) + 500);
      const Vec3 drawn{random.normal(), random.normal(), random.normal()}, way = (1 / norm(drawn)) * drawn;
      const double phase = random.uniform(0, 6);
      const auto at = [&](double t) {
        testing::Hands hands = still;
        for (ForcepsState& hand : hands)
          hand.X_RT.p = hand.X_RT.p + (kAmplitude_mm * std::sin(2 * kPi * kHz * t + phase)) * way;
        return hands;
      };
      const auto samples = watch(at, 600, HeldOut::seed(place), lead_ms);
      for (std::size_t i = 0; i < kInstruments; ++i) {
        double c = 0, s = 0, n = 0;
        for (const Sample& sample : samples) {
          if (sample.t_s < 1) continue;
          const double x = dot(sample.shown[i].X_RT.p - still[i].X_RT.p, way), a = 2 * kPi * kHz * sample.t_s + phase;
          c += x * std::cos(a), s += x * std::sin(a), ++n;
        }
        const double g = std::hypot(c, s) * 2 / n / kAmplitude_mm, l = -1e3 * std::atan2(c, s) / (2 * kPi * kHz);
        gain += g / (2 * HeldOut::kPlaces), lag += l / (2 * HeldOut::kPlaces);
        worst_gain = std::max(worst_gain, g), worst_lag = std::max(worst_lag, l);
      }
    }
    std::printf("held out, lead %.0f ms: 2 mm at 5 Hz: gain %.4f (most %.4f), lag %.2f ms (most %.2f)\n", lead_ms, gain,
                worst_gain, lag, worst_lag);
    EXPECT_LT(worst_lag, 8);
    EXPECT_LT(worst_gain, 1.05);
    EXPECT_GT(gain, 0.97);
  }
}

TEST(PoseFilter, AStepOfTheHandIsNotOvershot) {
  // 2 mm in a tenth of a second, minimum jerk, again and again.
  const auto at = [still = resting()](double t) {
    testing::Hands hands = still;
    const double u = std::clamp((t - std::floor(t) - 0.4) / 0.1, 0.0, 1.0);
    for (ForcepsState& hand : hands) hand.X_RT.p.x += 2 * u * u * u * (10 + u * (6 * u - 15));
    return hands;
  };
  const auto samples = watch(at, 1800, 3);
  for (std::size_t i = 0; i < kInstruments; ++i) {
    double over = 0, n = 0;  // mean of what is shown in the 80 ms after the step, so that noise is averaged
    for (const Sample& s : samples)
      if (const double u = s.t_s - std::floor(s.t_s); s.t_s > 1 && u > 0.5 && u < 0.58)
        over += s.shown[i].X_RT.p.x - s.truth[i].X_RT.p.x, ++n;
    std::printf("after a step of 2 mm: %.1f um too far\n", 1e3 * over / n);
    EXPECT_LT(over / n, 0.1);
  }
}

TEST(PoseFilter, ClosedAndOpenByATenthOfADegreeAreToldApart) {
  // 0.2 mm of gap at 120 mm from the hinge, a second each.
  const double opening = 0.2 / 120;
  const auto at = [=, still = resting()](double t) {
    testing::Hands hands = still;
    for (ForcepsState& hand : hands) hand.opening_rad = std::fmod(t, 2) < 1 ? 0 : opening;
    return hands;
  };
  int wrong = 0, asked = 0, changes = 0;
  const auto samples = watch(at, 7200, 4);
  for (std::size_t i = 0; i < kInstruments; ++i)
    for (std::size_t k = 1; k < samples.size(); ++k) {
      const double since = std::fmod(samples[k].t_s, 1);
      changes += samples[k].shown[i].closed != samples[k - 1].shown[i].closed;
      if (since < 0.25) continue;  // it takes some frames to be sure of 1.5 sigma
      ++asked;
      wrong += samples[k].shown[i].closed != (std::fmod(samples[k].t_s, 2) < 1);
    }
  std::printf("closed or open: %d of %d wrong, %d changes (%d true)\n", wrong, asked, changes, 2 * 119);
  EXPECT_LT(wrong, 0.01 * asked);
  EXPECT_LT(changes, 1.1 * 2 * 119);
}

TEST(PoseFilter, AfterAShortLossItSlidesToWhereTheHandIs) {
  PoseFilter filter;
  PoseVariance variance;
  variance.tip.fill(1e-3), variance.turn.fill(1e-6), variance.opening = 1e-6;
  InstrumentPose pose;
  pose.status = TrackStatus::tracked;
  const auto ns = [](int k) { return std::llround(k * 1e9 / 60); };
  for (int k = 0; k < 30; ++k) filter.update(pose, variance, ns(k));
  pose.status = TrackStatus::lost;
  for (int k = 30; k < 50; ++k) filter.update(pose, variance, ns(k));
  EXPECT_EQ(filter.at(ns(49)).status, TrackStatus::lost);
  pose.status = TrackStatus::tracked;
  pose.X_RT.p = {1.5, 0, 0};
  double before = 0;
  for (int k = 50; k < 90; ++k) {
    filter.update(pose, variance, ns(k));
    const double x = filter.at(ns(k)).X_RT.p.x;
    EXPECT_LT(x - before, 0.5) << k;
    before = x;
  }
  EXPECT_NEAR(before, 1.5, 0.01);
}

TEST(PoseFilter, NothingSeenIsLost) {
  const PoseFilter filter;
  EXPECT_EQ(filter.at(0).status, TrackStatus::lost);
  EXPECT_EQ(filter.at(0).X_RT.q.w, 1);
}

}  // namespace
}  // namespace ligature::drivers
