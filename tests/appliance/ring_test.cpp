#include <gtest/gtest.h>

#include <thread>

#include "appliance/rt/spsc_ring.hpp"

namespace ligature::rt {
namespace {

TEST(SpscRing, RefusesAndCountsWhatDoesNotFit) {
  SpscRing<int, 4> ring;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring.push(i));
  EXPECT_FALSE(ring.push(4));
  EXPECT_FALSE(ring.push(5));
  EXPECT_EQ(ring.overflow(), 2u);
  int record = -1;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(ring.pop(record));
    EXPECT_EQ(record, i);
  }
  EXPECT_FALSE(ring.pop(record));
}

TEST(SpscRing, KeepsOrderAcrossThreadsAndAccountsForEveryRecord) {
  struct Record {
    std::uint64_t number, copy;
  };
  SpscRing<Record, 64> ring;
  constexpr std::uint64_t kRecords = 200'000;
  std::thread producer([&] {
    for (std::uint64_t i = 1; i <= kRecords; ++i) ring.push({i, ~i});
    while (!ring.push({kRecords + 1, ~(kRecords + 1)})) std::this_thread::yield();
  });
  std::uint64_t last = 0, popped = 0, wrong = 0, before_end = 0;
  for (Record record{}; last != kRecords + 1;) {
    if (!ring.pop(record)) continue;
    wrong += record.copy != ~record.number || record.number <= last;
    last = record.number;
    ++popped;
    before_end += record.number <= kRecords;
  }
  producer.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(popped, before_end + 1);
  EXPECT_GE(before_end + ring.overflow(), kRecords);
}

}  // namespace
}  // namespace ligature::rt
