#include "appliance/rt/executor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/rt_guard.hpp"

namespace ligature::rt {
namespace {

std::unique_ptr<PooledExecutor> pool(std::size_t width) {
  std::vector<ThreadSettings> workers(width - 1);
  for (ThreadSettings& w : workers) w.name = "worker";
  auto made = PooledExecutor::create(workers);
  EXPECT_TRUE(made.has_value());
  return std::move(*made);
}

/// Counts how often each part ran; plain numbers, so that ThreadSanitizer sees what is not ordered.
struct Counts {
  std::vector<int> of_part;
  static void count(void* context, std::size_t part) noexcept { ++static_cast<Counts*>(context)->of_part[part]; }
};

TEST(PooledExecutor, RunsEveryPartOnceAndReturnsWhenAllAreDone) {
  for (const std::size_t width : {1u, 2u, 4u}) {
    const auto executor = pool(width);
    EXPECT_EQ(executor->width(), width);
    for (int round = 0; round < 3000; ++round) {
      Counts counts{std::vector<int>(static_cast<std::size_t>(round % 19), 0)};
      executor->run(counts.of_part.size(), &Counts::count, &counts);
      for (const int n : counts.of_part) ASSERT_EQ(n, 1) << "width " << width << ", round " << round;
    }
  }
}

TEST(PooledExecutor, WakesWorkersThatSlept) {
  const auto executor = pool(3);
  for (int round = 0; round < 30; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    Counts counts{std::vector<int>(7, 0)};
    executor->run(counts.of_part.size(), &Counts::count, &counts);
    for (const int n : counts.of_part) ASSERT_EQ(n, 1);
  }
}

TEST(PooledExecutor, SpreadsPartsThatTakeLongOverItsThreads) {
  const auto executor = pool(3);
  // Each part waits for the two others: the run ends only if three threads are at it.
  struct Meeting {
    std::atomic<int> there{0};
    static void meet(void* context, std::size_t) noexcept {
      auto& there = static_cast<Meeting*>(context)->there;
      there.fetch_add(1);
      while (there.load() < 3) std::this_thread::yield();
    }
  } meeting;
  executor->run(3, &Meeting::meet, &meeting);
  EXPECT_EQ(meeting.there.load(), 3);
}

TEST(PooledExecutor, WaitsForAPartThatTakesLongerThanItLooks) {
  const auto executor = pool(2);
  struct Slow {
    int done[2] = {};
    static void sleep(void* context, std::size_t part) noexcept {
      std::this_thread::sleep_for(std::chrono::milliseconds(part == 0 ? 1 : 20));
      static_cast<Slow*>(context)->done[part] = 1;
    }
  };
  for (int round = 0; round < 5; ++round) {
    Slow slow;
    executor->run(2, &Slow::sleep, &slow);
    EXPECT_EQ(slow.done[0] + slow.done[1], 2);
  }
}

TEST(PooledExecutor, NeitherAllocatesNorLocksInARun) {
  const auto executor = pool(3);
  Counts counts{std::vector<int>(40, 0)};
  guard::reset();
  {
    const guard::ForbidAlloc forbid;
    for (int round = 0; round < 100; ++round) executor->run(counts.of_part.size(), &Counts::count, &counts);
  }
  ASSERT_TRUE(guard::active());
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
}

TEST(PooledExecutor, SaysWhatTheMachineGaveItsWorkers) {
  auto made = PooledExecutor::create({{"one", Policy::other, 0, -1}, {"two", Policy::other, 0, 100000}});
  ASSERT_TRUE(made.has_value());
  const auto grants = (*made)->grants();
  ASSERT_EQ(grants.size(), 2u);
  EXPECT_EQ(grants[0].name, "one");
  EXPECT_FALSE(grants[1].granted);  // no such core
  EXPECT_NE(grants[1].why, "");
}

}  // namespace
}  // namespace ligature::rt
