/// Which images of cameras that run freely belong together. Cameras are simulated by period, phase, drift and jitter.
#include "drivers/camera/trigger_matcher.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

namespace ligature::drivers {
namespace {

constexpr double kPeriod = 16'666'667;

struct Clock {
  double phase_ns = 0;
  double drift_ppm = 0;
  double jitter_ns = 0;
  double drop = 0;  ///< probability
  double dead_from_s = 1e9, dead_until_s = 1e9;
  double period_ns = kPeriod;
};

struct Image {
  std::size_t camera;
  std::int64_t mid_ns;
};

/// All images in order of time.
std::vector<Image> images(const std::array<Clock, kCameras>& clocks, double duration_s, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<Image> all;
  for (std::size_t c = 0; c < kCameras; ++c) {
    const Clock& clock = clocks[c];
    for (std::int64_t k = 0;; ++k) {
      const double t = clock.phase_ns + static_cast<double>(k) * clock.period_ns * (1 + clock.drift_ppm * 1e-6);
      if (t > duration_s * 1e9) break;
      const double stamp = t + clock.jitter_ns * normal(random);
      if (uniform(random) < clock.drop || (t >= clock.dead_from_s * 1e9 && t < clock.dead_until_s * 1e9)) continue;
      all.push_back({c, 1'000'000'000'000 + std::llround(stamp)});
    }
  }
  std::sort(all.begin(), all.end(), [](const Image& a, const Image& b) { return a.mid_ns < b.mid_ns; });
  return all;
}

struct Outcome {
  std::map<std::uint64_t, std::vector<Image>> triggers;
  std::size_t unused = 0;
  std::uint64_t regrouped = 0;
  double period_ns = 0;

  double complete() const {
    std::size_t n = 0;
    for (const auto& [number, of] : triggers) n += of.size() == kCameras ? 1 : 0;
    return static_cast<double>(n) / static_cast<double>(triggers.size());
  }
  double longest_spread() const {
    double longest = 0;
    for (const auto& [number, of] : triggers)
      longest = std::max(longest, static_cast<double>(of.back().mid_ns - of.front().mid_ns));
    return longest;
  }
};

/// @param skip  images at the start that are not looked at: the matcher sees the phases for the first time
Outcome match(const std::vector<Image>& all, double nominal_ns = kPeriod, std::size_t skip = 0) {
  TriggerMatcher matcher(static_cast<std::int64_t>(nominal_ns));
  Outcome out;
  std::array<std::uint64_t, kCameras> last{};
  std::array<bool, kCameras> any{};
  std::size_t n = 0;
  for (const Image& image : all) {
    const auto trigger = matcher.assign(image.camera, image.mid_ns);
    if (trigger && any[image.camera]) {
      EXPECT_GT(*trigger, last[image.camera]);
    }
    if (trigger) last[image.camera] = *trigger, any[image.camera] = true;
    if (n++ < skip) continue;
    if (trigger)
      out.triggers[*trigger].push_back(image);
    else
      ++out.unused;
  }
  if (skip > 0) out.triggers.erase(out.triggers.begin());  // begun before what was skipped ended
  out.triggers.erase(std::prev(out.triggers.end()));
  out.regrouped = matcher.regrouped();
  out.period_ns = matcher.period_ns();
  return out;
}

TEST(TriggerMatcher, WiredCamerasShareEveryTrigger) {
  std::array<Clock, kCameras> clocks;
  for (Clock& c : clocks) c.jitter_ns = 100e3;
  const Outcome out = match(images(clocks, 60));
  EXPECT_EQ(out.complete(), 1.0);
  EXPECT_EQ(out.unused, 0u);
  EXPECT_EQ(out.regrouped, 0u);
  EXPECT_LT(out.longest_spread(), 1.2e6);
  EXPECT_NEAR(out.period_ns, kPeriod, 30e3);
}

TEST(TriggerMatcher, FreeRunningCamerasLieWithinThreeQuartersOfThePeriodWhateverTheirPhases) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> phase(0, kPeriod);
  for (unsigned i = 0; i < 200; ++i) {
    std::array<Clock, kCameras> clocks;
    for (Clock& c : clocks) c.phase_ns = phase(random), c.jitter_ns = 20e3;
    const Outcome out = match(images(clocks, 3, i), kPeriod, 40);
    EXPECT_LE(out.longest_spread(), (0.75 + 0.1) * kPeriod) << i;
    EXPECT_GE(out.complete(), 1.0) << i;
    EXPECT_EQ(out.unused, 0u) << i;
  }
}

TEST(TriggerMatcher, PhasesThatDriftThroughEachOtherCostOneTriggerAtEachNewGrouping) {
  // 200 ppm between crystals: once round the whole period in 83 s.
  std::array<Clock, kCameras> clocks;
  for (std::size_t c = 0; c < kCameras; ++c) {
    clocks[c].phase_ns = 0.2 * kPeriod * static_cast<double>(c);
    clocks[c].drift_ppm = 100.0 * static_cast<double>(c) - 150;
    clocks[c].jitter_ns = 50e3;
  }
  const Outcome out = match(images(clocks, 600), kPeriod, 40);
  EXPECT_GT(out.regrouped, 5u);
  EXPECT_LT(out.regrouped, 100u);
  EXPECT_EQ(out.unused, 0u);
  EXPECT_LE(out.longest_spread(), 0.9 * kPeriod);
  EXPECT_GE(out.complete(), 0.998);
}

TEST(TriggerMatcher, TwoCamerasWhoseDriftWrapsStayTogether) {
  std::array<Clock, kCameras> clocks;
  clocks[1].drift_ppm = 300;
  clocks[2].dead_from_s = clocks[3].dead_from_s = 0;
  const Outcome out = match(images(clocks, 300), kPeriod, 10);
  EXPECT_LE(out.longest_spread(), (0.5 + 0.11) * kPeriod) << "two can be half a period apart, and the hysteresis";
  std::size_t both = 0;
  for (const auto& [number, of] : out.triggers) both += of.size() == 2;
  EXPECT_GE(static_cast<double>(both), 0.998 * static_cast<double>(out.triggers.size()));
}

TEST(TriggerMatcher, DropsLeaveTheOthersWhereTheyBelong) {
  std::array<Clock, kCameras> clocks;
  for (std::size_t c = 0; c < kCameras; ++c) {
    clocks[c].drop = 0.3;
    clocks[c].jitter_ns = 100e3;
    clocks[c].phase_ns = 1e6 * static_cast<double>(c);
  }
  const Outcome out = match(images(clocks, 120));
  EXPECT_EQ(out.unused, 0u);
  EXPECT_EQ(out.regrouped, 0u);
  for (const auto& [number, of] : out.triggers) {
    const double first = static_cast<double>(of.front().mid_ns);
    for (const Image& image : of) ASSERT_LT(static_cast<double>(image.mid_ns) - first, 5e6);
  }
}

TEST(TriggerMatcher, ACameraThatWentComesBackIntoItsTriggers) {
  std::array<Clock, kCameras> clocks;
  for (Clock& c : clocks) c.jitter_ns = 50e3;
  clocks[2].dead_from_s = 5, clocks[2].dead_until_s = 25;
  clocks[0].dead_from_s = 40, clocks[0].dead_until_s = 41;
  const Outcome out = match(images(clocks, 60));
  EXPECT_EQ(out.unused, 0u);
  EXPECT_LT(out.longest_spread(), 1e6);
  EXPECT_NEAR(out.complete(), (60.0 - 21) / 60, 0.005);
}

TEST(TriggerMatcher, AllSilentForAnHourThenOn) {
  std::array<Clock, kCameras> clocks;
  for (Clock& c : clocks) c.dead_from_s = 10, c.dead_until_s = 3610, c.jitter_ns = 20e3;
  const Outcome out = match(images(clocks, 3620), kPeriod);
  EXPECT_EQ(out.unused, 0u);
  EXPECT_LT(out.longest_spread(), 1e6);
  EXPECT_GE(out.complete(), 0.99);
}

TEST(TriggerMatcher, FollowsARateThatIsNotTheProfiles) {
  for (const double rate_hz : {25.0, 30.0, 50.0, 75.0, 90.0, 120.0}) {
    std::array<Clock, kCameras> clocks;
    for (std::size_t c = 0; c < kCameras; ++c) {
      clocks[c].period_ns = 1e9 / rate_hz;
      clocks[c].phase_ns = 0.1e6 * static_cast<double>(c);
      clocks[c].jitter_ns = 20e3;
    }
    const Outcome out = match(images(clocks, 30), kPeriod, 1000);
    EXPECT_EQ(out.complete(), 1.0) << rate_hz;
    EXPECT_EQ(out.unused, 0u) << rate_hz;
    EXPECT_LT(out.longest_spread(), 1e6) << rate_hz;
  }
}

TEST(TriggerMatcher, ACameraAtHalfTheRateJoinsEverySecondTrigger) {
  std::array<Clock, kCameras> clocks;
  clocks[3].period_ns = 2 * kPeriod;
  for (Clock& c : clocks) c.jitter_ns = 50e3;
  const Outcome out = match(images(clocks, 60), kPeriod, 100);
  EXPECT_EQ(out.unused, 0u);
  EXPECT_NEAR(out.complete(), 0.5, 0.01);
  EXPECT_LT(out.longest_spread(), 1e6);
}

TEST(TriggerMatcher, TimesThatGoBackAreNotUsed) {
  TriggerMatcher matcher(static_cast<std::int64_t>(kPeriod));
  ASSERT_TRUE(matcher.assign(0, 1'000'000'000));
  EXPECT_FALSE(matcher.assign(0, 1'000'000'000));
  EXPECT_FALSE(matcher.assign(0, 999'000'000));
  EXPECT_TRUE(matcher.assign(1, 999'500'000)) << "another camera may be earlier";
  EXPECT_TRUE(matcher.assign(0, 1'016'666'667));
}

TEST(TriggerMatcher, WildTimesNeverMakeATriggerGoBack) {
  std::mt19937_64 random(11);
  TriggerMatcher matcher(static_cast<std::int64_t>(kPeriod));
  std::array<std::uint64_t, kCameras> last{};
  std::array<bool, kCameras> any{};
  std::int64_t now = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::size_t c = random() % kCameras;
    now += static_cast<std::int64_t>(random() % 20'000'000);
    if (random() % 1000 == 0) now += 3'600'000'000'000;
    const std::int64_t mid = now + static_cast<std::int64_t>(random() % 60'000'000) - 30'000'000;
    if (const auto trigger = matcher.assign(c, mid)) {
      if (any[c]) {
        ASSERT_GT(*trigger, last[c]);
      }
      last[c] = *trigger, any[c] = true;
    }
  }
  EXPECT_TRUE(std::isfinite(matcher.period_ns()));
  EXPECT_GT(matcher.period_ns(), 1e6);
}

TEST(TriggerSkew, MeasuresSpreadAndOffsets) {
  const TriggerSkew skew = measure_skew({1000, 3000, 2000, 4000}, 0xf, 10'000);
  EXPECT_EQ(skew.images, 4);
  EXPECT_EQ(skew.reference_ns, 2500);
  EXPECT_EQ(skew.spread_ns, 3000);
  EXPECT_EQ(skew.offset_ns, (std::array<std::int64_t, kCameras>{-1500, 500, -500, 1500}));
  EXPECT_EQ(skew.refused, 0);
}

TEST(TriggerSkew, RefusesThoseAwayFromTheMost) {
  EXPECT_EQ(measure_skew({0, 1, 2, 100}, 0xf, 10).refused, 0b1000);
  EXPECT_EQ(measure_skew({0, 100, 101, 102}, 0xf, 10).refused, 0b0001);
  EXPECT_EQ(measure_skew({0, 1, 100, 101}, 0xf, 10).refused, 0b1100) << "two against two: the earlier, always";
  EXPECT_EQ(measure_skew({0, 100, 200, 300}, 0xf, 10).refused, 0b1110) << "one at least is left";
  EXPECT_EQ(measure_skew({0, 100, 0, 0}, 0b0011, 10).refused, 0b0010);
  EXPECT_EQ(measure_skew({0, 0, 0, 0}, 0, 10).images, 0);
  EXPECT_EQ(measure_skew({7, 0, 0, 0}, 0b0001, 10).spread_ns, 0);
}

}  // namespace
}  // namespace ligature::drivers
