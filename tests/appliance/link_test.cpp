#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "appliance/rt/signal.hpp"

namespace ligature::rt {
namespace {

TEST(Signal, NotificationBetweenPrepareAndWaitIsNotLost) {
  Signal signal;
  const std::uint32_t seen = signal.prepare();
  signal.notify();
  EXPECT_TRUE(signal.wait(seen));
}

TEST(Signal, WaitEndsAtItsDeadlineAndNotBefore) {
  Signal signal;
  const std::int64_t deadline = monotonic_now_ns() + 20 * kNsPerMs;
  EXPECT_FALSE(signal.wait(signal.prepare(), deadline));
  EXPECT_GE(monotonic_now_ns(), deadline);
  EXPECT_FALSE(signal.wait(signal.prepare(), 0));
  EXPECT_FALSE(signal.wait(signal.prepare(), -5));
}

TEST(Signal, PingPongLosesNoWakeUp) {
  Signal there, back;
  std::atomic<int> ball{0};
  constexpr int kRounds = 20'000;
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i) {
      for (;;) {
        const std::uint32_t seen = there.prepare();
        if (ball.load() == 2 * i + 1) break;
        there.wait(seen);
      }
      ball.store(2 * i + 2);
      back.notify();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    ball.store(2 * i + 1);
    there.notify();
    for (;;) {
      const std::uint32_t seen = back.prepare();
      if (ball.load() == 2 * i + 2) break;
      ASSERT_TRUE(back.wait(seen, monotonic_now_ns() + 20 * kNsPerS)) << "a wake-up was lost in round " << i;
    }
  }
  other.join();
}

TEST(Link, NewestNeverWaitsForTheReader) {
  Link<int> link(LinkMode::newest);
  for (int i = 1; i <= 100; ++i) {
    link.back() = i;
    EXPECT_TRUE(link.publish());
  }
  EXPECT_EQ(link.take(0), Take::value);
  EXPECT_EQ(link.front(), 100);
  EXPECT_EQ(link.published(), 100u);
  EXPECT_EQ(link.consumed(), 1u);
  EXPECT_EQ(link.take(0), Take::timeout);
}

TEST(Link, LosslessGivesEveryValueInOrderAndThenCloses) {
  Link<int> link(LinkMode::lossless);
  constexpr int kValues = 20'000;
  std::thread writer([&] {
    for (int i = 1; i <= kValues; ++i) {
      link.back() = i;
      if (!link.publish()) return;
    }
    link.close();
  });
  int expected = 1;
  Take take;
  while ((take = link.take(monotonic_now_ns() + 20 * kNsPerS)) == Take::value) {
    if (link.front() != expected) break;
    ++expected;
  }
  EXPECT_EQ(take, Take::closed);
  EXPECT_EQ(expected, kValues + 1);
  link.stop();
  writer.join();
}

TEST(Link, LosslessPublishGivesUpAtItsDeadlineAndKeepsTheValue) {
  Link<int> link(LinkMode::lossless);
  link.back() = 1;
  ASSERT_TRUE(link.publish());
  link.back() = 2;
  EXPECT_FALSE(link.publish(monotonic_now_ns() + kNsPerMs));
  EXPECT_EQ(link.back(), 2);
  ASSERT_EQ(link.take(0), Take::value);
  EXPECT_EQ(link.front(), 1);
  EXPECT_TRUE(link.publish());
  ASSERT_EQ(link.take(0), Take::value);
  EXPECT_EQ(link.front(), 2);
}

TEST(Link, StopWakesBothSides) {
  Link<int> link(LinkMode::lossless), empty(LinkMode::newest);
  link.back() = 1;
  ASSERT_TRUE(link.publish());
  std::atomic<int> refused{0};
  std::thread writer([&] { refused += link.publish() ? 0 : 1; });
  std::thread reader([&] { refused += empty.take() == Take::stopped ? 1 : 0; });
  sleep_until(monotonic_now_ns() + 10 * kNsPerMs);
  link.stop();
  empty.stop();
  writer.join();
  reader.join();
  EXPECT_EQ(refused.load(), 2);
}

TEST(Link, CloseComesAfterTheLastValue) {
  for (const LinkMode mode : {LinkMode::newest, LinkMode::lossless}) {
    Link<int> link(mode);
    link.back() = 7;
    ASSERT_TRUE(link.publish());
    link.close();
    EXPECT_FALSE(link.drained());
    EXPECT_EQ(link.take(), Take::value);
    EXPECT_EQ(link.front(), 7);
    EXPECT_TRUE(link.drained());
    EXPECT_EQ(link.take(), Take::closed);
  }
}

/// A byte that lets the writer in right after the reader has seen nothing new.
class InterruptedByte {
 public:
  explicit InterruptedByte(std::uint8_t value) : byte_(value) {}
  std::uint8_t exchange(std::uint8_t value) { return std::exchange(byte_, value); }
  std::uint8_t peek() const {
    const std::uint8_t seen = byte_;
    if (interruption) std::exchange(interruption, nullptr)();
    return seen;
  }
  static inline std::function<void()> interruption;

 private:
  std::uint8_t byte_;
};

TEST(Link, ValueAndCloseThatComeWhileTheReaderLooksAreBothSeen) {
  Link<int, InterruptedByte> link(LinkMode::newest);
  InterruptedByte::interruption = [&] {
    link.back() = 7;
    link.publish();
    link.close();
  };
  EXPECT_EQ(link.take(0), Take::value) << "the last value must not be lost to the close behind it";
  EXPECT_EQ(link.front(), 7);
  EXPECT_EQ(link.take(0), Take::closed);
}

TEST(Link, OneSignalServesSeveralLinks) {
  Signal any;
  Link<int> a(LinkMode::newest, &any), b(LinkMode::newest, &any);
  const auto run = [](Link<int>& link) {
    for (int i = 1; i <= 1000; ++i) {
      link.back() = i;
      link.publish();
    }
    link.close();
  };
  std::thread first(run, std::ref(a)), second(run, std::ref(b));
  const std::int64_t patience = monotonic_now_ns() + 20 * kNsPerS;
  while (!a.drained() || !b.drained()) {
    const std::uint32_t seen = any.prepare();
    const bool got_a = a.fetch(), got_b = b.fetch();
    if (got_a || got_b || (a.drained() && b.drained())) continue;
    if (!any.wait(seen, patience)) break;
  }
  first.join();
  second.join();
  EXPECT_EQ(a.front(), 1000);
  EXPECT_EQ(b.front(), 1000);
}

}  // namespace
}  // namespace ligature::rt
