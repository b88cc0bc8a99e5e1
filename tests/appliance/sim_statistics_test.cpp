/// The figures of summary.json, gathered in memory that does not grow.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "appliance/sim/chart.hpp"
#include "appliance/sim/history.hpp"
#include "appliance/sim/knot_state.hpp"
#include "appliance/sim/quantiles.hpp"
#include "appliance/sim/rest.hpp"
#include "appliance/sim/summary.hpp"

namespace {

using namespace ligature;
using namespace ligature::simulate;

TEST(TailMean, IsExactlyThatOfTheLastTenthOfAShortRun) {
  for (const int rows : {1, 2, 9, 10, 11, 100, 1003}) {
    TailMean mean(2);
    for (int i = 0; i < rows; ++i) mean.add({static_cast<double>(i), 1.0});
    const int counted = (rows + 9) / 10;
    EXPECT_NEAR(mean.mean()[0], rows - 1 - 0.5 * (counted - 1), 1e-9) << rows;
    EXPECT_NEAR(mean.mean()[1], 1, 1e-12) << rows;
  }
}

TEST(TailMean, OfALongRunTakesATenthAndAtMostTwoThousandthsMore) {
  for (const int rows : {5000, 10240, 123457, 1000000}) {
    TailMean mean(1);
    for (int i = 0; i < rows; ++i) mean.add({static_cast<double>(i)});
    const double counted = 2 * (rows - 1 - mean.mean()[0]) + 1;
    EXPECT_GE(counted, 0.1 * rows - 1) << rows;
    EXPECT_LE(counted, 0.102 * rows + 1) << rows;
  }
}

TEST(Quantiles, AreWithinFourThousandthsOverManyDecades) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> decade(-20, 9);
  Quantiles q;
  std::vector<double> all;
  for (int i = 0; i < 20001; ++i) {
    all.push_back(std::pow(10.0, decade(random)));
    q.add(all.back());
  }
  std::sort(all.begin(), all.end());
  for (const double f : {0.01, 0.5, 0.99}) {
    const double exact = all[static_cast<std::size_t>(std::ceil(f * 20001)) - 1];
    EXPECT_NEAR(q.at(f), exact, 0.004 * exact) << f;
  }
  EXPECT_EQ(q.max(), all.back());
  EXPECT_EQ(q.at(1), all.back());
}

TEST(Quantiles, TakeZeroAndWhatIsNoNumber) {
  Quantiles q;
  EXPECT_EQ(q.at(0.5), 0);
  for (const double v : {0.0, 0.0, 0.0, 1e-300, 2.0}) q.add(v);
  EXPECT_EQ(q.at(0.5), 0);
  EXPECT_EQ(q.at(1), 2);
  q.add(std::numeric_limits<double>::infinity());
  q.add(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(q.count(), 7u);
}

TEST(History, KeepsTheSameNumberOfSamplesOfEveryOctave) {
  int early = 0, late = 0, all = 0;
  for (std::uint64_t step = 0; step < (1u << 20); ++step) {
    if (!kept(step, 4)) continue;
    ++all;
    early += step >= 1024 && step < 2048;
    late += step >= (1u << 19);
  }
  EXPECT_EQ(early, 16);
  EXPECT_EQ(late, 16);
  EXPECT_LT(all, 16 * 18);
  for (std::uint64_t step = 0; step < 32; ++step) EXPECT_TRUE(kept(step, 4)) << step;
}

world::WorldParams one_thread() {
  world::WorldParams params;
  params.threads.emplace_back();
  return params;
}

TEST(Calm, IsFromTheStartWhereNothingChanges) {
  world::WorldParams params = one_thread();
  params.threads[0].clamps.emplace_back();
  params.threads[0].forces.push_back({{}, {0, 0, -1}, 0, 0, world::kForever});
  EXPECT_LE(calm_from_s(params, 10), 0);
}

TEST(Calm, ComesAfterTheLastChangeWithinTheRun) {
  const auto with = [](auto&& change) {
    world::WorldParams params = one_thread();
    change(params);
    return calm_from_s(params, 10);
  };
  const double never = std::numeric_limits<double>::infinity();
  EXPECT_EQ(with([](auto& p) { p.threads[0].forces.push_back({{}, {1, 0, 0}, 2, 1, world::kForever}); }), 3);
  EXPECT_EQ(with([](auto& p) { p.threads[0].forces.push_back({{}, {1, 0, 0}, 0, 1, 4}); }), 4);
  EXPECT_EQ(with([](auto& p) { p.threads[0].forces.push_back({{}, {1, 0, 0}, 100, 1, world::kForever}); }), never);
  EXPECT_LE(with([](auto& p) { p.threads[0].forces.push_back({{}, {1, 0, 0}, 2, 11, world::kForever}); }), 0);
  EXPECT_EQ(with([](auto& p) { p.cuts.push_back({0, 1, 5}); }), 5);
  EXPECT_EQ(with([](auto& p) { p.schedule.push_back({6, {}, 0, 0.1, {}}); }), 6);
  const auto clamp = [](double spin, double until_s) {
    world::ClampParams c;
    c.hold = world::ClampParams::Hold::frame;
    c.spin_rad_per_s = spin;
    c.until_s = until_s;
    return c;
  };
  EXPECT_EQ(with([&](auto& p) { p.threads[0].clamps.push_back(clamp(1, world::kForever)); }), never);
  EXPECT_EQ(with([&](auto& p) { p.threads[0].clamps.push_back(clamp(1, 2)); }), 2);
  EXPECT_EQ(with([&](auto& p) { p.threads[0].clamps.push_back(clamp(0, 7)); }), 7);
  EXPECT_EQ(with([](auto& p) {
              p.obstacles.emplace_back();
              p.obstacles[0].velocity = {0, 0, 1};
            }),
            never);
  // Set going at 1 s, and stopped again or not.
  const auto led = [&](std::vector<std::pair<double, double>> velocities, double until_s) {
    return with([&](auto& p) {
      p.obstacles.emplace_back();
      p.obstacles[0].until_s = until_s;
      for (const auto& [time_s, speed] : velocities)
        p.schedule.push_back({time_s, world::ScheduleEntry::Key::obstacle_velocity, 0, 0, {speed, 0, 0}});
    });
  };
  EXPECT_EQ(led({{1, 5}, {2, 0}}, world::kForever), 2);
  EXPECT_EQ(led({{2, 0}, {1, 5}}, world::kForever), 2);
  EXPECT_EQ(led({{1, 5}, {2, 0}}, 1.5), 2) << "an entry is a change";
  EXPECT_EQ(led({{1, 5}}, 4), 4);
  EXPECT_EQ(led({{1, 5}, {2, 3}}, world::kForever), never);
}

TEST(Poles, AreWhereTheirObstaclesHaveCome) {
  world::WorldParams params;
  params.obstacles.resize(2);
  params.obstacles[1].shape = world::ObstacleParams::Shape::cylinder;
  params.obstacles[1].from = {0, -1, 0}, params.obstacles[1].to = {0, 1, 0};
  const std::vector<Pole> poles = poles_of(params, {{9, 9, 9}, {3, 0, 0}});
  ASSERT_EQ(poles.size(), 1u);
  EXPECT_EQ(poles[0].from, (Vec3{3, -1, 0}));
  EXPECT_EQ(poles[0].to, (Vec3{3, 1, 0}));
}

TEST(Axis, TicksAreRoundNumbers) {
  for (const double range : {1e-7, 0.03, 1.0, 60.0, 4e5}) {
    const double step = nice_step(range, 6);
    const double mantissa = step / std::pow(10, std::floor(std::log10(step) + 1e-9));
    EXPECT_TRUE(std::abs(mantissa - 1) < 1e-9 || std::abs(mantissa - 2) < 1e-9 || std::abs(mantissa - 5) < 1e-9);
    EXPECT_LE(range / step, 10);
    EXPECT_GE(range / step, 3);
  }
  EXPECT_EQ(tick_text(0.30000000000000004, 0.1), "0.3");
  EXPECT_EQ(tick_text(1e-17, 0.1), "0");
  EXPECT_EQ(tick_text(-20, 5), "-20");
}

}  // namespace
