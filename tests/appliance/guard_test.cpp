#include <gtest/gtest.h>
#include <pthread.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "appliance/rt/clock.hpp"
#include "appliance/rt/rt_section.hpp"
#include "appliance/rt/signal.hpp"
#include "appliance/rt/spsc_ring.hpp"
#include "appliance/watchdog/thread_monitor.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature {
namespace {

using guard::Call;

class Guard : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(guard::active());
    guard::reset();
  }
};

TEST_F(Guard, OrdinaryCodeMayDoAnything) {
  std::vector<int> numbers(1000);
  std::mutex mutex;
  const std::lock_guard lock(mutex);
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
}

TEST_F(Guard, PlantedAllocationIsCaughtWithItsSection) {
  {
    rt::RtSection section("physics");
    void* volatile block = std::malloc(16);
    std::free(block);
  }
  EXPECT_EQ(guard::violations(Call::allocate), 1u);
  EXPECT_EQ(guard::violations(Call::release), 1u);
  ASSERT_EQ(guard::first_violations().size(), 2u);
  EXPECT_STREQ(guard::first_violations()[0].section, "physics");
  EXPECT_FALSE(guard::first_violations()[0].where.empty());
  EXPECT_NE(guard::report().find("allocation in 'physics'"), std::string::npos);
}

TEST_F(Guard, EveryWayToAllocateIsCaught) {
  std::uint64_t expected = 0;
  const auto expect_one_more = [&](const char* way) {
    ++expected;
    EXPECT_EQ(guard::violations(Call::allocate), expected) << way;
    expected = guard::violations(Call::allocate);
  };
  struct alignas(128) Wide {
    char bytes[128];
  };
  void* volatile block = nullptr;
  const auto within = [&](auto&& allocate) {
    const guard::ForbidAlloc forbid;
    allocate();
  };
  within([&] { block = std::malloc(8); });
  expect_one_more("malloc");
  within([&] { block = std::realloc(block, 4096); });
  expect_one_more("realloc");
  std::free(block);
  within([&] { block = std::calloc(2, 8); });
  expect_one_more("calloc");
  std::free(block);
#ifndef __SANITIZE_THREAD__  // whose hooks do not see these two
  within([&] { block = std::aligned_alloc(64, 64); });
  expect_one_more("aligned_alloc");
  std::free(block);
  within([&] {
    void* out = nullptr;
    if (posix_memalign(&out, 64, 64) == 0) block = out;
  });
  expect_one_more("posix_memalign");
  std::free(block);
#endif
  int* volatile number = nullptr;
  within([&] { number = new int(3); });
  expect_one_more("new");
  delete number;
  Wide* volatile wide = nullptr;
  within([&] { wide = new Wide; });
  expect_one_more("aligned new");
  delete wide;
}

TEST_F(Guard, PlantedLockIsCaught) {
  std::mutex mutex;
  std::shared_mutex shared;
  {
    rt::RtSection section("tracking");
    mutex.lock();
    mutex.unlock();
    shared.lock_shared();
    shared.unlock_shared();
    shared.lock();
    shared.unlock();
  }
  EXPECT_EQ(guard::violations(Call::lock), 3u) << guard::report();
  EXPECT_STREQ(guard::first_violations()[0].section, "tracking");
}

TEST_F(Guard, ExemptCallsAreCountedByNameAndAreNoViolation) {
  {
    rt::RtSection section("camera 0");
    rt::RtExempt exempt("opencv decode");
    std::mutex mutex;
    mutex.lock();
    mutex.unlock();
    void* volatile block = std::malloc(16);
    std::free(block);
  }
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
  ASSERT_EQ(guard::exempted().size(), 1u);
  EXPECT_EQ(guard::exempted()[0].name, "opencv decode");
  EXPECT_EQ(guard::exempted()[0].allocations, 1u);
  EXPECT_EQ(guard::exempted()[0].releases, 1u);
  EXPECT_EQ(guard::exempted()[0].locks, 1u);
}

TEST_F(Guard, ExemptionEndsWithItsScopeAndASectionInsideItIsGuardedAgain) {
  rt::RtSection section("render");
  void* volatile block = nullptr;
  {
    rt::RtExempt exempt("vulkan");
    block = std::malloc(1);
    {
      rt::RtSection inner("callback");
      std::free(block);
    }
    block = std::malloc(1);
  }
  std::free(block);
  EXPECT_EQ(guard::violations(Call::allocate), 0u);
  EXPECT_EQ(guard::violations(Call::release), 2u);
}

TEST_F(Guard, MarksBelongToTheirThread) {
  rt::RtSection section("physics");
  std::uint64_t before = 0, after = 0;
  {
    rt::RtExempt exempt("thread start");
    std::thread other([&] {
      before = guard::violations();
      const std::vector<int> numbers(100);
      after = guard::violations() + numbers[0];
    });
    other.join();
  }
  EXPECT_EQ(before, after);
}

TEST_F(Guard, ProductCountsExemptionsByName) {
  const auto entered = [](const std::string& name) {
    for (const rt::ExemptionCount& row : rt::exemption_counts())
      if (row.name != nullptr && name == row.name) return row.entered;
    return std::uint64_t{0};
  };
  const std::uint64_t before = entered("frame copy");
  {
    rt::RtSection section("camera 0");
    for (int i = 0; i < 5; ++i) rt::RtExempt exempt("frame copy");
  }
  { rt::RtExempt outside("frame copy"); }
  EXPECT_EQ(entered("frame copy"), before + 5) << "outside real-time code nothing is exempt";
}

TEST_F(Guard, RealTimePlumbingNeitherAllocatesNorLocks) {
  struct Value {
    int numbers[100];
  };
  rt::Link<Value> newest(rt::LinkMode::newest), lossless(rt::LinkMode::lossless);
  rt::SpscRing<int, 8> ring;
  watchdog::ThreadMonitor monitor({"physics", 5'000'000, 5'000'000});
  std::thread reader([&] {
    rt::RtSection section("reader");
    while (lossless.take() == rt::Take::value) {
    }
  });
  {
    rt::RtSection section("writer");
    std::int64_t next = rt::monotonic_now_ns();
    for (int i = 0; i < 200; ++i) {
      monitor.begin(next, rt::monotonic_now_ns());
      newest.back().numbers[0] = i;
      newest.publish();
      newest.fetch();
      lossless.back().numbers[0] = i;
      lossless.publish();
      monitor.waited("reader", rt::monotonic_now_ns());
      ring.push(i);
      monitor.stage("solve", rt::monotonic_now_ns() + (i % 10 == 0 ? 9'000'000 : 0));
      monitor.end(rt::monotonic_now_ns() + (i % 10 == 0 ? 9'000'000 : 0));
      newest.take(rt::monotonic_now_ns() + 1000);
      next += 100'000;
      rt::sleep_until(next);
    }
    lossless.close();
  }
  reader.join();
  EXPECT_GE(monitor.misses(), 20u);
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
}

}  // namespace
}  // namespace ligature
