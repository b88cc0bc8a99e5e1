#include "appliance/rt/clock.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <thread>

namespace ligature::rt {
namespace {

TEST(Clock, SleepUntilAPastTimeReturns) {
  sleep_until(0);
  sleep_until(-1);
  sleep_until(monotonic_now_ns() - kNsPerS);
}

TEST(Clock, SleepIsNotCutShortBySignals) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  struct sigaction before {};
  sigaction(SIGUSR1, &action, &before);
  const std::int64_t until = monotonic_now_ns() + 50 * kNsPerMs;
  std::atomic<bool> asleep{true}, early{false};
  std::thread sleeper([&] {
    sleep_until(until);
    early = monotonic_now_ns() < until;
    asleep = false;
  });
  while (asleep.load()) {
    pthread_kill(sleeper.native_handle(), SIGUSR1);
    sleep_until(monotonic_now_ns() + kNsPerMs);
  }
  sleeper.join();
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_FALSE(early.load());
}

TEST(Clock, GridKeepsItsPhaseAfterAnOverrun) {
  EXPECT_EQ(next_on_grid(100, 5, 90), 100);
  EXPECT_EQ(next_on_grid(100, 5, 100), 105);
  EXPECT_EQ(next_on_grid(100, 5, 104), 105);
  EXPECT_EQ(next_on_grid(100, 5, 123), 125);
}

TEST(ClockWatch, NamesAWallClockThatWasSetAndASleep) {
  ClockWatch watch;
  EXPECT_FALSE(watch.look(0, 1000 * kNsPerS, 0));
  EXPECT_FALSE(watch.look(kNsPerS, 1001 * kNsPerS + kNsPerMs, kNsPerS)) << "drift is no jump";
  const auto set = watch.look(2 * kNsPerS, 902 * kNsPerS, 2 * kNsPerS);
  ASSERT_TRUE(set);
  EXPECT_EQ(set->suspended_ns, 0);
  EXPECT_NEAR(static_cast<double>(set->wall_ns), -100e9, 0.1e9);
  EXPECT_FALSE(watch.look(3 * kNsPerS, 903 * kNsPerS, 3 * kNsPerS)) << "said once";
  const auto slept = watch.look(4 * kNsPerS, 964 * kNsPerS, 64 * kNsPerS);
  ASSERT_TRUE(slept);
  EXPECT_EQ(slept->suspended_ns, 60 * kNsPerS);
  EXPECT_EQ(slept->wall_ns, 0);
}

TEST(ClockWatch, RealClocksDoNotJumpInATest) {
  ClockWatch watch(kNsPerS);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(watch.look());
}

}  // namespace
}  // namespace ligature::rt
