#include "appliance/rt/triple_buffer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

namespace ligature::rt {
namespace {

TEST(TripleBuffer, IsEmptyBeforeTheFirstValue) {
  TripleBuffer<int> buffer;
  EXPECT_FALSE(buffer.fetch());
  EXPECT_EQ(buffer.front(), 0);
}

TEST(TripleBuffer, GivesTheNewestValueOnce) {
  TripleBuffer<int> buffer;
  for (int i = 1; i <= 3; ++i) {
    buffer.back() = i;
    buffer.publish();
  }
  EXPECT_TRUE(buffer.pending());
  EXPECT_TRUE(buffer.fetch());
  EXPECT_EQ(buffer.front(), 3);
  EXPECT_FALSE(buffer.fetch());
  EXPECT_EQ(buffer.front(), 3);
}

// Proof 1: every interleaving of the atomic operations. The writer has one (exchange), the reader two (peek, exchange);
// the scripted byte below lets the writer run between the reader's two, wherever the script says so.

struct Script {
  std::uint32_t letters = 0;  // bit i: 1 = the writer publishes, 0 = the reader moves
  int length = 0;
  int at = 0;
  std::function<void()> write;
  std::function<void()> check;
  bool next_is_write() const { return at < length && ((letters >> at) & 1u) != 0; }
};
Script script;

class ScriptedByte {
 public:
  explicit ScriptedByte(std::uint8_t value) : byte_(value) {}
  std::uint8_t exchange(std::uint8_t value) { return std::exchange(byte_, value); }
  std::uint8_t peek() const {
    const std::uint8_t seen = byte_;
    if (!in_writer_)
      while (script.next_is_write()) {
        ++script.at;
        script.write();
        script.check();
      }
    return seen;
  }
  static inline bool in_writer_ = false;

 private:
  mutable std::uint8_t byte_;
};

struct Halves {
  int a = 0, b = 0;  // a is written when the writer begins a value, b when it is done
};

TEST(TripleBuffer, EveryInterleavingGivesTheNewestCompleteValueAndNeverSharesASlot) {
  constexpr int kLength = 14;
  long fetched = 0;
  for (std::uint32_t letters = 0; letters < (1u << kLength); ++letters) {
    TripleBuffer<Halves, ScriptedByte> buffer;
    int published = 0, taken = 0;
    script = {letters, kLength, 0, {}, {}};
    buffer.back().a = 1;  // the first value is under way from the start
    script.write = [&] {
      buffer.back().b = published + 1;
      buffer.publish();
      ++published;
      buffer.back().a = published + 1;  // and the next one begins at once, into the slot just received
    };
    script.check = [&] {
      ASSERT_NE(static_cast<const void*>(&buffer.back()), static_cast<const void*>(&buffer.front()));
      ASSERT_EQ(buffer.front().a, buffer.front().b) << "a value still being written is in the reader's hands";
      ASSERT_EQ(buffer.front().a, taken) << "the reader's value changed under it";
    };
    while (script.at < script.length) {
      if (script.next_is_write()) {
        ++script.at;
        script.write();
      } else {
        ++script.at;
        const int published_before = published;
        const bool got = buffer.fetch();
        // The exchange is the last thing fetch() does: whatever was published by now must be what it brings.
        if (got) {
          ASSERT_GT(published, taken);
          taken = published;
          ++fetched;
        } else {
          ASSERT_EQ(published_before, taken) << "a value was there and was not taken";
        }
      }
      script.check();
      if (HasFatalFailure()) FAIL() << "script " << letters << " at letter " << script.at;
    }
  }
  EXPECT_GT(fetched, 10000);
}

// Proof 3: stress. Torn or stale values show in every build; under ThreadSanitizer a missing order shows as a race.

struct Block {
  std::uint64_t sequence = 0;
  std::array<std::uint64_t, 61> body{};
  std::uint64_t checksum = 0;
};
std::uint64_t checksum_of(const Block& block) {
  std::uint64_t sum = block.sequence * 0x9E3779B97F4A7C15ull;
  for (const std::uint64_t word : block.body) sum = (sum ^ word) * 0x100000001B3ull;
  return sum;
}

TEST(TripleBuffer, StressHasNoTornAndNoOlderValue) {
  constexpr std::uint64_t kValues = 200'000;
  TripleBuffer<Block> buffer;
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (std::uint64_t i = 1; i <= kValues; ++i) {
      Block& block = buffer.back();
      block.sequence = i;
      for (std::size_t k = 0; k < block.body.size(); ++k) block.body[k] = i * (k + 1);
      block.checksum = checksum_of(block);
      buffer.publish();
    }
    done.store(true);
  });
  std::uint64_t last = 0, torn = 0, older = 0, taken = 0;
  for (bool finished = false;;) {
    if (buffer.fetch()) {
      ++taken;
      torn += buffer.front().checksum != checksum_of(buffer.front());
      older += buffer.front().sequence <= last;
      last = buffer.front().sequence;
    } else if (finished) {
      break;
    }
    finished = done.load();
  }
  writer.join();
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(older, 0u);
  EXPECT_EQ(last, kValues);
  EXPECT_GT(taken, 0u);
}

}  // namespace
}  // namespace ligature::rt
